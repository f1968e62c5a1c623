/* watch.c: see watch.h. */
#include "testing/request/watch.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/view.h"
#include "testing/request/form.h"
#include "testing/request/status.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    DEFAULT_TIMEOUT_MS =
        30 * 60 * 1000, /* plus a random time of up to the same length, so that not all watches end together */
    LAST_BOOKMARK_BEFORE_END_MS = 2000
};

struct kt_watch {
    kt_watcher watcher; /* first member */
    kt_cluster *cluster;
    kt_selector *selector;
    kt_shape shape;

    kt_snapshot *initial; /* objects to send first; NULL: none (left) */
    size_t initial_index;
    bool initial_end; /* the bookmark after the initial events is still to send */
    uint64_t initial_revision;

    uint64_t seq;       /* sequence number of the next event */
    uint64_t revision;  /* events up to here are sent or skipped */
    uint64_t too_large; /* a requested revision that does not exist yet; the watch sends only an error; 0: none */
    bool has_columns;   /* the table's columns are sent */
    bool bookmarks;
    int64_t next_bookmark_ms;
    int64_t end_ms;

    kt_object **ret_shared; /* of the read that runs: gets a large object; NULL: large objects are copied */
    bool has_shared;        /* the read ends: `ret_shared` has an object */
};

/* Returns a revision `events` changes before `revision`, or the oldest one in the history. */
static uint64_t earlier(const kt_cluster *cluster, uint64_t revision, int64_t events) {
    uint64_t back = (uint64_t)events;
    return revision > cluster->compacted && revision - cluster->compacted > back ? revision - back : cluster->compacted;
}

static ki_status start_at(kt_watch *watch, const kt_list_options *options, const kt_injection *injection) {
    kt_storage *storage = watch->watcher.storage;
    const kt_cluster *cluster = watch->cluster;
    bool at_now = options->revision == 0;
    bool initial = options->has_send_initial ? options->send_initial : at_now;
    if (initial && options->revision > cluster->revision) {
        watch->too_large = options->revision;
        return KI_OK;
    }
    watch->revision = at_now || initial ? cluster->revision : options->revision;
    if (injection->stale_by && (at_now || initial))
        watch->revision = earlier(cluster, watch->revision, injection->stale_by);
    if (injection->repeat_by && !at_now && !initial && watch->revision > cluster->compacted)
        watch->revision = earlier(cluster, watch->revision, injection->repeat_by);
    if (initial) {
        ki_status status = watch->revision == cluster->revision
                               ? kt_storage_present(storage, &watch->initial)
                               : kt_storage_past(storage, watch->revision, &watch->initial);
        if (status)
            return status;
        watch->initial_end = options->has_send_initial && options->bookmarks;
        watch->initial_revision = watch->revision;
    }
    watch->seq = kt_storage_seq_after(storage, watch->revision);
    if (watch->revision < cluster->compacted)
        watch->seq = 0; /* sequence numbers start at 1: this position is compacted */
    return KI_OK;
}

static void schedule_bookmark(kt_watch *watch, int64_t now_ms) {
    watch->next_bookmark_ms = now_ms + watch->cluster->options.bookmark_every_ms;
    int64_t last = watch->end_ms - LAST_BOOKMARK_BEFORE_END_MS;
    if (last > now_ms && last < watch->next_bookmark_ms)
        watch->next_bookmark_ms = last;
}

ki_status kt_watch_open(kt_call *call, const kt_list_options *options, kt_selector *selector) {
    KT_HOLDS(call->cluster);
    kt_watch *watch = ki_alloc_zero(call->allocator, sizeof *watch);
    if (!watch) {
        kt_selector_free(selector);
        return KI_ERR_NO_MEMORY;
    }
    watch->cluster = call->cluster;
    watch->watcher.storage = call->storage;
    watch->selector = selector;
    watch->bookmarks = options->bookmarks;
    ki_status status = kt_shape_of(call, &watch->shape);
    if (!status)
        status = start_at(watch, options, &call->injection);
    if (status) {
        kt_snapshot_unref(watch->initial);
        kt_selector_free(selector);
        ki_free(call->allocator, watch);
        return status;
    }
    watch->end_ms = call->now_ms;
    if (options->timeout_s > 0 && options->timeout_s < INT64_MAX / 1000 - call->now_ms / 1000 - 1)
        watch->end_ms += options->timeout_s * 1000;
    else
        watch->end_ms += DEFAULT_TIMEOUT_MS + (int64_t)(kt_cluster_random(call->cluster) % DEFAULT_TIMEOUT_MS);
    schedule_bookmark(watch, call->now_ms);
    kt_watcher_add(&watch->watcher, call->storage);
    call->response->status = 200;
    call->response->content_type = "application/json";
    call->response->watch = watch;
    return KT_RESPONDED;
}

void kt_watch_free(kt_watch *watch) {
    KT_HOLDS(watch->cluster);
    kt_watcher_remove(&watch->watcher);
    kt_snapshot_unref(watch->initial);
    kt_selector_free(watch->selector);
    ki_free(&watch->cluster->allocator, watch);
}

bool kt_watch_is_cut(const kt_watch *watch) {
    return watch->watcher.is_cut;
}

void kt_watch_set_wake(kt_watch *watch, void (*wake)(void *user), void *user) {
    watch->watcher.wake = wake;
    watch->watcher.user = user;
    watch->watcher.woken = false;
}

void kt_watch_set_gone(kt_watch *watch, bool (*is_gone)(void *user)) {
    watch->watcher.is_gone = is_gone;
}

int64_t kt_watch_deadline(const kt_watch *watch) {
    return watch->bookmarks && watch->next_bookmark_ms < watch->end_ms ? watch->next_bookmark_ms : watch->end_ms;
}

static ki_status append_event(kt_watch *watch, const char *type, kt_object *obj, int64_t now_ms, ki_buffer *out) {
    ki_status begun = ki_buffer_printf(out, "{\"type\":\"%s\",\"object\":", type);
    if (!begun && watch->ret_shared && watch->shape.form == KT_FORM_OBJECT && obj->json.size >= KT_WATCH_SHARED_MIN) {
        *watch->ret_shared = kt_object_ref(obj);
        watch->has_shared = true;
        return KI_OK;
    }
    ki_status status = kt_shape_append(&watch->shape, obj, now_ms, !watch->has_columns, out);
    watch->has_columns = true;
    return status ? status : ki_buffer_append_string(out, KT_WATCH_FRAME_END);
}

static ki_status append_bookmark(kt_watch *watch, uint64_t revision, bool initial_end, ki_buffer *out) {
    ki_buffer_append_string(out, "{\"type\":\"BOOKMARK\",\"object\":");
    kt_shape_append_bookmark(&watch->shape, revision, initial_end, out);
    return ki_buffer_append_string(out, KT_WATCH_FRAME_END);
}

static ki_status append_expired(kt_watch *watch, ki_buffer *out) {
    char text[96];
    int size = snprintf(text, sizeof text, "too old resource version: %" PRIu64 " (%" PRIu64 ")", watch->revision,
                        watch->cluster->compacted);
    ki_buffer_append_string(out, "{\"type\":\"ERROR\",\"object\":");
    kt_status_append(out, 410, "Expired", NULL, (ki_str){ text, (size_t)size });
    return ki_buffer_append_string(out, KT_WATCH_FRAME_END);
}

/* Appends an event as the selector shows it: an update can become ADDED or DELETED. */
static ki_status append_selected(kt_watch *watch, const kt_event *event, int64_t now_ms, ki_buffer *out) {
    const kt_selector *selector = watch->selector; /* NULL: all objects */
    bool before = event->old && (!selector || kt_selector_matches(selector, event->old));
    bool after = event->type != KT_DELETED && (!selector || kt_selector_matches(selector, event->obj));
    if (after)
        return append_event(watch, before ? "MODIFIED" : "ADDED", event->obj, now_ms, out);
    if (!before)
        return KI_OK;
    if (event->type == KT_DELETED)
        return append_event(watch, "DELETED", event->obj, now_ms, out);
    kt_object *last; /* the last selected version, with the revision of the update */
    ki_status status = kt_object_with_revision(event->old, event->revision, &watch->cluster->scratch, &last);
    if (status)
        return status;
    status = append_event(watch, "DELETED", last, now_ms, out);
    kt_object_unref(last);
    return status;
}

/* Appends an event in the version of the watch, which can be another than the stored one. */
static ki_status append_converted(kt_watch *watch, const kt_event *event, int64_t now_ms, ki_buffer *out) {
    kt_event own = *event;
    own.obj = own.old = NULL;
    ki_status status = kt_view_object(watch->watcher.storage, event->obj, &own.obj);
    if (!status && event->old)
        status = kt_view_object(watch->watcher.storage, event->old, &own.old);
    if (!status)
        status = append_selected(watch, &own, now_ms, out);
    kt_object_unref(own.obj);
    kt_object_unref(own.old);
    return status;
}

static ki_status read_initial(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t limit) {
    KI_ASSERT(watch->initial_index <= watch->initial->count);
    const kt_snapshot *initial = watch->initial;
    ki_status status = KI_OK;
    while (!status && watch->initial_index < initial->count && out->size < limit && !watch->has_shared) {
        kt_object *obj = initial->objects[watch->initial_index];
        if (kt_selector_matches(watch->selector, obj))
            status = append_event(watch, "ADDED", obj, now_ms, out);
        if (!status)
            watch->initial_index++;
    }
    if (!status && watch->initial_index == initial->count) {
        kt_snapshot_unref(watch->initial);
        watch->initial = NULL;
    }
    return status;
}

/* Returns the next event of the watch; NULL if there is none yet, or none before its close. */
static const kt_event *next_event(const kt_watch *watch) {
    const kt_watcher *watcher = &watch->watcher;
    return watcher->closed && watch->seq >= watcher->closed_seq ? NULL : kt_storage_event(watcher->storage, watch->seq);
}

static ki_status read_changes(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t limit) {
    const kt_event *event;
    while (out->size < limit && !watch->has_shared && (event = next_event(watch)) != NULL) {
        if (event->revision > watch->revision) { /* a watch from a future revision skips events before it */
            ki_status status = watch->watcher.storage->converts ? append_converted(watch, event, now_ms, out)
                                                                : append_selected(watch, event, now_ms, out);
            if (status)
                return status;
            watch->revision = event->revision;
        }
        KI_ASSERT(watch->revision >= event->revision);
        watch->seq++;
    }
    return KI_OK;
}

static ki_status read_frames(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t limit) {
    if (watch->too_large) {
        watch->watcher.ended = true;
        ki_buffer_append_string(out, "{\"type\":\"ERROR\",\"object\":");
        kt_append_too_large(out, watch->too_large, watch->cluster->revision);
        return ki_buffer_append_string(out, KT_WATCH_FRAME_END);
    }
    if (watch->initial) {
        ki_status status = read_initial(watch, now_ms, out, limit);
        if (status || watch->initial || watch->has_shared)
            return status;
    }
    if (watch->initial_end) {
        ki_status status = append_bookmark(watch, watch->initial_revision, true, out);
        if (status)
            return status;
        watch->initial_end = false;
    }
    if (watch->seq < watch->watcher.storage->store->first_seq) {
        watch->watcher.ended = true;
        return append_expired(watch, out);
    }
    return read_changes(watch, now_ms, out, limit);
}

ki_status kt_watch_read(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t max, kt_object **ret_shared,
                        kt_watch_state *ret_state) {
    KT_HOLDS(watch->cluster);
    KI_ASSERT(!ret_shared || !*ret_shared);
    size_t start = out->size, limit = max < SIZE_MAX - start ? start + max : SIZE_MAX;
    *ret_state = KT_WATCH_ENDED;
    watch->ret_shared = ret_shared;
    watch->has_shared = false;
    if (watch->watcher.ended)
        return KI_OK;
    if (limit == start)
        limit++; /* at least one frame */
    ki_status status = read_frames(watch, now_ms, out, limit);
    if (!status && out->failed)
        status = out->failed;
    if (status) { /* never send half a frame */
        if (watch->has_shared) {
            kt_object_unref(*ret_shared);
            *ret_shared = NULL;
        }
        ki_buffer_truncate(out, start);
        watch->watcher.ended = true;
        return status;
    }
    if (watch->watcher.ended)
        return KI_OK;
    if (watch->has_shared || watch->initial || next_event(watch)) {
        *ret_state = KT_WATCH_MORE;
        return KI_OK;
    }
    if (watch->watcher.closed || now_ms >= watch->end_ms) {
        watch->watcher.ended = true;
        return KI_OK;
    }
    if (watch->bookmarks && now_ms >= watch->next_bookmark_ms) {
        schedule_bookmark(watch, now_ms);
        if (watch->revision <=
            watch->cluster->revision) { /* like the real server, no bookmark before a future revision is reached */
            watch->revision = watch->cluster->revision;
            status = append_bookmark(watch, watch->revision, false, out);
        }
    }
    watch->watcher.woken = false;
    *ret_state = KT_WATCH_WAITS;
    return status;
}
