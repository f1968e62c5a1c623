/* reflector_watch.c: the watch, and the streaming list: a watch that begins with an event for every object
 * (KEP-3157). */
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/reflector/reflector_steps.h"

#define STREAM_SILENCE KI_SECONDS(30) /* without a byte for this long, a plain list takes its place */
#define STREAM_TOTAL KI_SECONDS(300)
#define VERY_SHORT_WATCH KI_SECONDS(1)
#define REOPEN_JITTER KI_SECONDS(1)
#define GOOD_WATCH \
    KI_SECONDS(5) /* a proxy ends a silent watch cleanly after some seconds: it is reopened without a backoff */
#define GOOD_LOST_WATCH KI_SECONDS(30) /* a lost connection after as long as the longest backoff: the same */
enum {
    WATCH_TIMEOUT_S = 300, /* times U[1,2) */
    HTTP_BAD_REQUEST = 400,
    HTTP_UNPROCESSABLE = 422
};

/* Returns true for failures that keep the resource version valid: 429, no connection, no descriptor. */
static bool is_retriable(const ki_error *err, bool opened) {
    bool is_unreached = err->code == KI_ERR_CONNECT || err->code == KI_ERR_SYSTEM;
    return err->http_status == 429 || (!opened && is_unreached);
}

static bool is_lost_connection(const ki_error *err) {
    return err->code == KI_ERR_TIMEOUT || err->code == KI_ERR_UNEXPECTED_EOF || err->code == KI_ERR_CONNECT;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* The source has passed everything that had arrived by the time `until`: so the queue has it. Without an event since
 * the last call nothing shows that the server still sends. */
static void on_read(int64_t until, void *user) {
    ki_reflector *reflector = user;
    if (reflector->watch.has_queued_events && reflector->phase == KI_REFLECTOR_WATCHES)
        ki_freshness_set_queued_at(reflector->shared.freshness, until);
    reflector->watch.has_queued_events = false;
}

/* Records that the last complete event is in the queue. */
static void note_queued(ki_reflector *reflector) {
    reflector->watch.has_queued_events = true;
    if (!reflector->watch.reports_reading)
        on_read(ki_engine_now(reflector->options.engine), reflector);
}

static void count_event(ki_reflector *reflector) {
    reflector->heard_at = ki_engine_now(reflector->options.engine);
    if (reflector->phase == KI_REFLECTOR_WATCHES)
        ki_freshness_succeeded(reflector->shared.freshness);
    reflector->watch.events++;
}

static void on_bytes(void *user) {
    ki_reflector *reflector = user;
    reflector->heard_at = ki_engine_now(reflector->options.engine);
    reflector->watch.reports_reading = true;
}

static void count_watch(ki_reflector *reflector) {
    KI_ASSERT(reflector->phase == KI_REFLECTOR_WATCHES);
    ki_metrics_add(reflector->shared.metrics, KI_METRIC_WATCHES, 1);
    reflector->watches.is_counted = true;
    reflector->watches.since = ki_engine_now(reflector->options.engine);
    reflector->watches.events_before = reflector->watch.events;
}

void ki_reflector_count_watch_end(ki_reflector *reflector) {
    if (!reflector->watches.is_counted)
        return;
    reflector->watches.is_counted = false;
    int64_t lasted = ki_engine_now(reflector->options.engine) - reflector->watches.since;
    ki_metrics_observe(reflector->shared.metrics, KI_METRIC_WATCH_DURATION, (double)lasted / (double)KI_SECONDS(1));
    ki_metrics_observe(reflector->shared.metrics, KI_METRIC_ITEMS_PER_WATCH,
                       (double)(reflector->watch.events - reflector->watches.events_before));
}

static void on_open(void *user) {
    ki_reflector *reflector = user;
    KI_ASSERT(reflector->phase == KI_REFLECTOR_WATCHES || reflector->phase == KI_REFLECTOR_STREAMS);
    reflector->watch.is_accepted = true;
    reflector->missing.responses = 0;
    if (reflector->phase == KI_REFLECTOR_WATCHES)
        count_watch(reflector);
    bool lists = reflector->phase == KI_REFLECTOR_STREAMS;
    if (lists && reflector->streams_since == KI_NEVER)
        reflector->streams_since = ki_engine_now(reflector->options.engine);
    ki_reflector_set_state(reflector, lists ? KI_STATE_LISTING : KI_STATE_WATCHING);
}

/* Returns the place of a collected object, counted from 1; 0: there is none. */
static size_t collected_place(const ki_reflector *reflector, const char *key) {
    return (uintptr_t)ki_map_get(&reflector->listed.places, ki_str_of(key));
}

void ki_reflector_drop_collected(ki_reflector *reflector, const char *key) {
    size_t place = collected_place(reflector, key);
    if (!place)
        return;
    ki_map_remove(&reflector->listed.places, ki_str_of(key));
    ki_reflector_put_listed(reflector, place - 1, NULL);
}

static ki_status stage_first(ki_reflector *reflector, ki_object *obj) {
    KI_ASSERT(collected_place(reflector, ki_object_key(obj)) == 0);
    ki_status status = ki_reflector_append(reflector, obj);
    if (status)
        return status;
    size_t place = reflector->listed.count;
    return ki_map_put(&reflector->listed.places, ki_str_of(ki_object_key(reflector->listed.objects[place - 1])),
                      (void *)(uintptr_t)place, NULL);
}

/* Adds an event to the collected objects. Initial events arrive in any order, mixed with changes. */
static ki_status stage(ki_reflector *reflector, ki_event_type type, ki_object *obj) {
    const char *key = ki_object_key(obj);
    const char *version = type == KI_EVENT_DELETE ? "" : ki_object_resource_version(obj);
    ki_unreadable_marks_remove(&reflector->listed.unreadable, key, version);
    size_t place = collected_place(reflector, key);
    const ki_object *before = place ? reflector->listed.objects[place - 1] : NULL;
    if (before && ki_reflector_is_older(ki_object_resource_version(obj), ki_object_resource_version(before)))
        return KI_OK;
    if (type == KI_EVENT_DELETE) {
        ki_reflector_drop_collected(reflector, key);
        return KI_OK;
    }
    if (!before)
        return stage_first(reflector, obj);
    ki_reflector_put_listed(reflector, place - 1, ki_reflector_known_instance(reflector, obj));
    return KI_OK;
}

/* Transforms the object and queues the event. If the transform fails, skips the event; a deletion is queued as a
 * tombstone. */
static ki_status queue_event(ki_reflector *reflector, ki_event_type type, ki_object *obj, ki_error *err) {
    ki_object *transformed = NULL;
    ki_queue *queue = reflector->options.queue;
    bool has_failed = reflector->options.transform.transform &&
                      !ki_reflector_transform(reflector, obj, type == KI_EVENT_DELETE, &transformed);
    if (reflector->phase != KI_REFLECTOR_WATCHES)
        return KI_ERR_CANCELLED; /* the failed transform ended the watch */
    if (has_failed && type != KI_EVENT_DELETE)
        return KI_OK;
    const ki_change change = { .type = type,
                               .obj = transformed ? transformed : obj,
                               .final_state_unknown = has_failed };
    ki_status status = queue->ops->put(queue, &change, err);
    ki_object_unref(transformed);
    if (status)
        return status;
    const char *version = ki_object_resource_version(obj);
    ki_unreadable_settle(reflector->shared.unreadable, ki_object_key(obj), type == KI_EVENT_DELETE ? "" : version);
    if (type == KI_EVENT_DELETE)
        ki_past_deletions_add(&reflector->watches.past_deletions, ki_engine_allocator(reflector->options.engine), obj,
                              version);
    return KI_OK;
}

/* Returns false for an event that changes nothing in the store: the server may not be as far as the cache. Notes a
 * change with an old version: of an object that had its version before it was shown or hidden, or of a server whose
 * versions are those of single objects. `order`: of the event's version and the reflector's. */
static bool brings_change(ki_reflector *reflector, ki_event_type type, ki_object *obj, ki_order order) {
    ki_object *known = ki_reflector_known(reflector, ki_object_key(obj));
    const ki_change change = { .type = type, .obj = obj };
    bool changes = known ? !ki_unreadable_drops(reflector->shared.unreadable, &change, known)
                         : type != KI_EVENT_DELETE || (order != KI_ORDER_OLDER && order != KI_ORDER_SAME);
    /* A deletion with the version of the known state: the object is hidden and can come back as it is. */
    bool is_hidden = type == KI_EVENT_DELETE && known &&
                     ki_resource_version_compare(ki_object_resource_version(obj), ki_object_resource_version(known)) ==
                         KI_ORDER_SAME;
    bool is_old = order == KI_ORDER_OLDER || is_hidden;
    ki_object_unref(known);
    reflector->watch.has_older_change = reflector->watch.has_older_change || (changes && is_old);
    return changes;
}

/* Advances the resource version. Never moves it back within a watch: a resume from there would resurrect deleted
 * objects. */
static bool advance_to(ki_reflector *reflector, const char *version) {
    reflector->watch.holds_version = false;
    return !ki_reflector_is_older(version, reflector->resource_version) && ki_reflector_advance(reflector, version);
}

/* Takes an event of a streaming list. */
static void collect_event(ki_reflector *reflector, ki_event_type type, ki_object *obj) {
    KI_ASSERT(reflector->phase == KI_REFLECTOR_STREAMS);
    ki_object *kept;
    if (!ki_reflector_transform(reflector, obj, type == KI_EVENT_DELETE, &kept))
        return;
    ki_status status = stage(reflector, type, kept);
    ki_object_unref(kept);
    if (status) {
        ki_error err = KI_ERROR_INIT;
        ki_error_no_memory(&err, "listing");
        ki_reflector_give_up(reflector, &err);
        return;
    }
    reflector->options.on_listed(reflector->listed.places.count, -1, reflector->options.user);
}

/* Advances to the version of an event. A watch from no version first sends what exists, as ADDED events in any order:
 * the first other event advances to the highest version of all of them. */
static bool advance_by(ki_reflector *reflector, ki_event_type type, const char *version) {
    if (!reflector->watch.holds_version)
        return advance_to(reflector, version);
    char *highest = reflector->watch.version;
    if (!ki_reflector_is_older(version, highest))
        (void)ki_reflector_copy_version(highest, version, NULL); /* too long: the queue rejects the event */
    return type != KI_EVENT_ADD && advance_to(reflector, highest);
}

/* Takes an event of a watch, unless it would bring back an object whose deletion was read. */
static void take_event(ki_reflector *reflector, ki_event_type type, ki_object *obj) {
    KI_ASSERT(reflector->phase == KI_REFLECTOR_WATCHES);
    ki_error err = KI_ERROR_INIT;
    ki_order order = ki_resource_version_compare(ki_object_resource_version(obj), reflector->resource_version);
    if (type != KI_EVENT_DELETE && order == KI_ORDER_OLDER &&
        ki_past_deletions_have(reflector->watches.past_deletions, obj)) {
        ki_metrics_add(reflector->shared.metrics, KI_METRIC_REPEATED, 1);
        return;
    }
    bool is_change = brings_change(reflector, type, obj, order);
    if (is_change)
        ki_reflector_note_version_known(reflector);
    ki_status status = queue_event(reflector, type, obj, &err);
    if (status == KI_ERR_CANCELLED)
        return;
    if (status) {
        ki_reflector_give_up(reflector, &err);
        return;
    }
    ki_metrics_add(reflector->shared.metrics, KI_METRIC_EVENTS, 1);
    if (!advance_by(reflector, type, ki_object_resource_version(obj)))
        reflector->options.on_progress(reflector->options.user); /* the queue grew, at the same version */
    if (is_change)
        note_queued(reflector);
}

static void on_event(ki_event_type type, ki_object *obj, void *user) {
    ki_reflector *reflector = user;
    KI_ON_LOOP(reflector->options.engine);
    KI_ASSERT(reflector->is_open && reflector->watch.is_accepted);
    count_event(reflector);
    if (reflector->shared.namespace_name && ki_reflector_skips(reflector, obj))
        return;
    reflector->watch.before_bookmark[0] = '\0';
    if (reflector->phase == KI_REFLECTOR_STREAMS)
        collect_event(reflector, type, obj);
    else
        take_event(reflector, type, obj);
}

/* Removes the NULL items of deleted objects. */
static void close_gaps(ki_reflector *reflector) {
    size_t count = 0;
    if (reflector->listed.count == reflector->listed.places.count)
        return;
    for (size_t i = 0; i < reflector->listed.count; i++)
        if (reflector->listed.objects[i])
            reflector->listed.objects[count++] = reflector->listed.objects[i];
    KI_ASSERT(count == reflector->listed.places.count);
    reflector->listed.count = count;
}

static ki_status end_of_initial_events(ki_reflector *reflector, const char *version, ki_error *err) {
    KI_ASSERT(reflector->phase == KI_REFLECTOR_STREAMS);
    char checked[KI_RESOURCE_VERSION_MAX + 1];
    ki_status status = ki_reflector_copy_version(checked, version, err);
    if (status)
        return status;
    close_gaps(reflector);
    size_t count = reflector->listed.count;
    status = ki_reflector_replace(reflector, checked, err);
    if (status)
        return status;
    reflector->options.on_listed(count, (int64_t)count, reflector->options.user);
    reflector->phase = KI_REFLECTOR_WATCHES;
    reflector->watch.holds_version = false;
    memcpy(reflector->watch.version, checked, sizeof checked);
    reflector->watch.before_bookmark[0] = '\0';
    note_queued(reflector);
    ki_timer_cancel(&reflector->timer);
    count_watch(reflector);
    ki_reflector_set_state(reflector, KI_STATE_WATCHING);
    return KI_OK;
}

static void on_bookmark(const char *version, bool initial_events_end, void *user) {
    ki_reflector *reflector = user;
    if (reflector->phase == KI_REFLECTOR_WATCHES && ki_reflector_is_older(version, reflector->watch.version)) {
        ki_reflector_fail_behind(reflector, version);
        return;
    }
    count_event(reflector);
    if (reflector->phase == KI_REFLECTOR_STREAMS) {
        ki_error err = KI_ERROR_INIT;
        if (initial_events_end && end_of_initial_events(reflector, version, &err))
            ki_reflector_give_up(reflector, &err);
        return;
    }
    ki_reflector_note_version_known(reflector);
    char before[sizeof reflector->watch.before_bookmark];
    memcpy(before, reflector->resource_version, sizeof before);
    if (advance_to(reflector, version))
        memcpy(reflector->watch.before_bookmark, before, sizeof before);
    note_queued(reflector);
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    ki_reflector *reflector = user;
    count_event(reflector);
    if (reflector->phase == KI_REFLECTOR_STREAMS)
        ki_reflector_skip_listed(reflector, bad);
    else
        ki_reflector_bad_event(reflector, bad);
}

/* --- how a streaming list ends ------------------------------------------------------------------------------------ */

/* Returns true for a stream that ended in the middle, as when a server is shut down. It is streamed again, for
 * STREAM_TOTAL at most: a server that never sends the whole of it is listed. */
static bool is_streamed_again(const ki_reflector *reflector, const ki_error *err, bool opened, bool in_stream) {
    int64_t now = ki_engine_now(reflector->options.engine);
    bool is_very_short = reflector->watch.events == 0 && now - reflector->watch.opened_at < VERY_SHORT_WATCH;
    return opened && !in_stream && (!err || is_lost_connection(err)) && !is_very_short &&
           now - reflector->streams_since < STREAM_TOTAL;
}

/* Returns true if the server has no streaming lists. */
static bool is_without_streams(const ki_error *err, bool opened) {
    return !opened && (err->http_status == HTTP_BAD_REQUEST || err->http_status == HTTP_UNPROCESSABLE);
}

static void stream_ended(ki_reflector *reflector, const ki_error *err, bool opened, bool in_stream) {
    ki_error cut = KI_ERROR_INIT;
    bool is_again = is_streamed_again(reflector, err, opened, in_stream);
    if (!err) {
        ki_error_set(&cut, KI_ERR_UNEXPECTED_EOF, "the streaming list was closed before its end");
        err = &cut;
    }
    if (is_again || is_retriable(err, opened) || err->code == KI_ERR_NO_MEMORY) {
        ki_reflector_fail(reflector, err, KI_REFLECT_BEGIN);
        return;
    }
    if (err->code == KI_ERR_EXPIRED || err->code == KI_ERR_TOO_LARGE_RV) {
        bool may_help = !reflector->is_unavailable && reflector->resource_version[0] != '\0';
        reflector->is_unavailable = true;
        if (may_help)
            ki_reflector_list_instead(reflector, err, KI_REFLECT_BEGIN);
        else
            ki_reflector_fail(reflector, err, KI_REFLECT_BEGIN);
        return;
    }
    if (is_without_streams(err, opened) && err->retry_after_ms <= 0) { /* no failure, as in client-go */
        ki_reflector_schedule(reflector, KI_REFLECT_LIST);
        return;
    }
    ki_reflector_list_instead(reflector, err, KI_REFLECT_LIST); /* this list; the next one is streamed */
}

static int64_t stream_deadline(const ki_reflector *reflector) {
    int64_t silence = reflector->heard_at + STREAM_SILENCE;
    int64_t total = reflector->watch.opened_at + STREAM_TOTAL;
    return silence < total ? silence : total;
}

void ki_reflector_stream_deadline(ki_reflector *reflector) {
    int64_t now = ki_engine_now(reflector->options.engine);
    if (now < stream_deadline(reflector)) {
        ki_timer_set(&reflector->timer, stream_deadline(reflector));
        return;
    }
    reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "the streaming list is incomplete after %d s; a plain list follows",
                 (int)((now - reflector->watch.opened_at) / KI_SECONDS(1)));
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_INFO, "reflector", "%s: %s", reflector->options.name,
                 ki_error_message(&err));
    ki_reflector_list_instead(reflector, &err, KI_REFLECT_LIST);
}

/* --- how a watch ends --------------------------------------------------------------------------------------------- */

/* Returns the watch, or the check or list that must precede it. A watch that brought an older change does not show
 * where it was, and a watch from any version does not show what was deleted before it: a list finds what the next watch
 * would miss. */
static ki_reflector_step next_watch(const ki_reflector *reflector) {
    if (reflector->watch.has_older_change || ki_reflector_is_any(reflector->resource_version))
        return KI_REFLECT_BEGIN;
    return ki_reflector_needs_check(reflector) ? KI_REFLECT_CHECK : KI_REFLECT_WATCH;
}

/* The jitter spreads the clients of a restarted server. It also limits the requests to a server that closes each watch
 * after one event. */
void ki_reflector_reopen(ki_reflector *reflector, bool with_jitter) {
    ki_engine *engine = reflector->options.engine;
    int64_t delay = with_jitter ? (int64_t)(ki_engine_random(engine) * (double)REOPEN_JITTER) : 0;
    ki_reflector_set_state(reflector, KI_STATE_CONNECTING);
    ki_reflector_step next = next_watch(reflector);
    ki_reflector_count_relist(reflector, next,
                              reflector->watch.has_older_change ? KI_RELIST_OLDER_CHANGE : KI_RELIST_NO_VERSION);
    ki_reflector_schedule_at(reflector, next, ki_engine_now(engine) + delay);
}

/* Returns true if the watch lasted long for its end (`err`; NULL: a clean one) or delivered an event or bookmark. A
 * bookmark that repeats the version does not count if the watch ended within a second: such a server would otherwise
 * receive requests without a pause. */
static bool was_good(const ki_reflector *reflector, int64_t lasted, const ki_error *err) {
    const ki_watch_progress *watch = &reflector->watch;
    int64_t long_enough = err ? GOOD_LOST_WATCH : GOOD_WATCH;
    return lasted >= long_enough || (watch->shows_version && (watch->has_advanced || lasted >= VERY_SHORT_WATCH));
}

/* Handles a clean close or a lost connection. The received events stay valid, and the next watch resumes from the last
 * version. */
static void watch_closed(ki_reflector *reflector, const ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    int64_t lasted = ki_engine_now(reflector->options.engine) - reflector->watch.opened_at;
    if (lasted < VERY_SHORT_WATCH && reflector->watch.events == 0) {
        ki_metrics_add(reflector->shared.metrics, KI_METRIC_SHORT_WATCHES, 1);
        ki_error_set(&cause, KI_ERR_PROTOCOL, "very short watch: closed within a second, without an event");
        ki_reflector_fail(reflector, err ? err : &cause, KI_REFLECT_BEGIN);
        return;
    }
    if (err)
        ki_reflector_report(reflector, err);
    ki_reflector_count_silent_watch(reflector);
    bool is_good = was_good(reflector, lasted, err);
    if (is_good) {
        reflector->watches.has_reopened = false;
        ki_backoff_succeeded(&reflector->backoff);
    }
    if (reflector->watches.has_reopened) {
        ki_error_set(&cause, KI_ERR_UNEXPECTED_EOF, "the server repeatedly closes the watch without an event");
        ki_reflector_wait(reflector, err ? err : &cause, next_watch(reflector));
        return;
    }
    reflector->watches.has_reopened = !is_good;
    bool was_silent = is_good && !reflector->watch.shows_version; /* the proxy ends the streams of all clients */
    ki_reflector_reopen(reflector, err != NULL || lasted < VERY_SHORT_WATCH || was_silent);
}

static const char *name_of_stream(const ki_reflector *reflector) {
    return reflector->phase == KI_REFLECTOR_STREAMS ? "streaming list" : "watch";
}

static void log_end(const ki_reflector *reflector, const ki_error *err) {
    int64_t lasted = ki_engine_now(reflector->options.engine) - reflector->watch.opened_at;
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_DEBUG, "reflector",
                 "%s: %s ended after %.1f s, %llu events: %s", reflector->options.name, name_of_stream(reflector),
                 (double)lasted / (double)KI_SECONDS(1), (unsigned long long)reflector->watch.events,
                 err ? ki_error_message(err) : "closed by the server");
}

static void on_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    ki_reflector *reflector = user;
    ki_reflector_count_watch_end(reflector);
    log_end(reflector, err);
    if (reflector->phase == KI_REFLECTOR_STREAMS) {
        stream_ended(reflector, err, opened, in_stream);
        return;
    }
    if (in_stream)
        ki_reflector_note_version_known(reflector); /* an ERROR event counts as an event */
    if (!err || (opened && !in_stream && is_lost_connection(err)))
        watch_closed(reflector, err);
    else
        ki_reflector_fail(reflector, err, is_retriable(err, opened) ? next_watch(reflector) : KI_REFLECT_BEGIN);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static ki_status open_watch(ki_reflector *reflector, const char *version, bool initial_events, ki_error *err) {
    ki_engine *engine = reflector->options.engine;
    ki_watch_options options = {
        .resource_version = version,
        .allow_bookmarks = true,
        .send_initial_events = initial_events,
        .timeout_s = WATCH_TIMEOUT_S + (int64_t)(ki_engine_random(engine) * WATCH_TIMEOUT_S),
        .idle_timeout_ns = KI_REFLECTOR_IDLE,
    };
    ki_watch_handler handler = {
        .on_open = on_open,
        .on_bytes = on_bytes,
        .on_read = on_read,
        .on_event = on_event,
        .on_bookmark = on_bookmark,
        .on_bad_object = on_bad_object,
        .on_end = on_end,
        .user = reflector,
    };
    int64_t now = ki_engine_now(engine);
    reflector->heard_at = now;
    reflector->watch = (ki_watch_progress){ .opened_at = now, .holds_version = ki_reflector_is_any(version) };
    memcpy(reflector->watch.version, reflector->resource_version, sizeof reflector->resource_version);
    ki_log_write(ki_engine_log(engine), KI_LOG_DEBUG, "reflector", "%s: %s opened at \"%s\", for %lld s",
                 reflector->options.name, name_of_stream(reflector), version, (long long)options.timeout_s);
    ki_reflector_set_state(reflector, KI_STATE_CONNECTING);
    ki_list_watch *list_watch = reflector->options.list_watch;
    return ki_error_fill(err, list_watch->ops->watch(list_watch, &options, &handler, err), "the watch function");
}

void ki_reflector_stream(ki_reflector *reflector) {
    ki_error err = KI_ERROR_INIT;
    ki_reflector_drop_objects(reflector);
    reflector->options.on_listed(0, -1, reflector->options.user);
    reflector->list = (ki_list_progress){ .began_at = ki_engine_now(reflector->options.engine) };
    ki_metrics_add(reflector->shared.metrics, KI_METRIC_LISTS, 1);
    reflector->phase = KI_REFLECTOR_STREAMS;
    if (open_watch(reflector, reflector->is_unavailable ? "" : reflector->resource_version, true, &err)) {
        stream_ended(reflector, &err, false, false);
        return;
    }
    if (reflector->phase == KI_REFLECTOR_STREAMS) /* the source may have ended it at once */
        ki_timer_set(&reflector->timer, stream_deadline(reflector));
}

void ki_reflector_watch(ki_reflector *reflector) {
    ki_error err = KI_ERROR_INIT;
    reflector->phase = KI_REFLECTOR_WATCHES;
    if (open_watch(reflector, reflector->resource_version, false, &err))
        on_end(&err, false, false, reflector);
}
