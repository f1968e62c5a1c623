/* fifo_stage.c: see fifo_stage.h. */
#include "tests/support/fifo_stage.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static fifo_objects objects_of(const char *text) {
    fifo_objects list = { .count = 0 };
    char copy[FIFO_TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *version = strchr(word, '=');
        *version++ = '\0';
        list.items[list.count++] = make_object(word, version, NULL);
    }
    return list;
}

static void objects_free(fifo_objects *list) {
    for (size_t i = 0; i < list->count; i++)
        ki_object_unref(list->items[i]);
    list->count = 0;
}

ki_object *fifo_known(const char *key, void *stage) {
    const fifo_stage *f = stage;
    for (size_t i = 0; i < f->known.count; i++)
        if (strcmp(ki_object_key(f->known.items[i]), key) == 0)
            return ki_object_ref(f->known.items[i]);
    return NULL;
}

static ki_object *known_next(ki_known_walk *walk, void *user) {
    const fifo_stage *f = user;
    return walk->cursor.index[0] < f->known.count ? f->known.items[walk->cursor.index[0]++] : NULL;
}

static void known_end(ki_known_walk *walk, void *user) {
    (void)user;
    walk->cursor.index[0] = 0;
}

static void count_ready(void *user) {
    ((fifo_stage *)user)->ready++;
}

static void watch_queue(fifo_stage *f) {
    f->queue->ready = count_ready;
    f->queue->ready_user = f;
}

void delta_fifo_open(fifo_stage *f, const char *known, const ki_allocator *allocator) {
    *f = (fifo_stage){ .allocator = allocator, .is_delta_fifo = true };
    ki_delta_fifo_options options = { .allocator = allocator, .seed = 3 };
    if (known) {
        f->known = objects_of(known);
        options.known = (ki_known_objects){ fifo_known, known_next, known_end, f };
    }
    assert_int_equal(ki_delta_fifo_new(&options, &f->queue, NULL), KI_OK);
    watch_queue(f);
}

void fifo_know(fifo_stage *f, const char *known) {
    objects_free(&f->known);
    f->known = objects_of(known);
}

void in_order_fifo_open(fifo_stage *f, size_t batch_size, const ki_allocator *allocator) {
    *f = (fifo_stage){ .allocator = allocator };
    ki_in_order_fifo_options options = { .allocator = allocator,
                                         .known = { fifo_known, known_next, known_end, f },
                                         .batch_size = batch_size ? batch_size : 1000,
                                         .seed = 3 };
    assert_int_equal(ki_in_order_fifo_new(&options, &f->queue, NULL), KI_OK);
    watch_queue(f);
}

void fifo_close(fifo_stage *f) {
    f->queue->ops->free(f->queue);
    objects_free(&f->known);
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static ki_status replace(const fifo_stage *f, const fifo_objects *list, const char *version, ki_error *err) {
    ki_object **good = ki_alloc_array(f->allocator, FIFO_OBJECTS, sizeof(ki_object *));
    const char *kept[FIFO_OBJECTS];
    if (!good)
        return ki_error_no_memory(err, "listing");
    ki_listing listing = { .objects = good, .kept = kept, .resource_version = version };
    for (size_t i = 0; i < list->count; i++) {
        const char *key = ki_object_key(list->items[i]);
        bool is_bad = strcmp(ki_object_resource_version(list->items[i]), "!") == 0;
        if (!is_bad)
            good[listing.count++] = ki_object_ref(list->items[i]);
        else if (strcmp(key, "?") == 0)
            listing.keeps_all = true;
        else
            kept[listing.kept_count++] = key;
    }
    ki_status status = f->queue->ops->replace(f->queue, &listing, err);
    for (size_t i = 0; status && i < listing.count; i++)
        ki_object_unref(good[i]);
    if (status)
        ki_free(f->allocator, good);
    return status;
}

ki_status fifo_change(fifo_stage *f, const char *change, ki_error *err) {
    ki_queue *queue = f->queue;
    char verb[16] = "", version[8] = "9";
    assert_true(sscanf(change, "%15[a-z]@%7[0-9]", verb, version) >= 1);
    fifo_objects list = objects_of(change + strcspn(change, " "));
    ki_status status;
    if (strcmp(verb, "replace") == 0) {
        status = replace(f, &list, version, err);
    } else if (strcmp(verb, "resync") == 0) {
        status = queue->ops->resync(queue, err);
    } else {
        bool is_lost = strcmp(verb, "lose") == 0;
        ki_change put = { .obj = list.items[0], .final_state_unknown = is_lost };
        put.type = strcmp(verb, "add") == 0      ? KI_EVENT_ADD
                   : strcmp(verb, "update") == 0 ? KI_EVENT_UPDATE
                                                 : KI_EVENT_DELETE;
        status = queue->ops->put(queue, &put, err);
    }
    objects_free(&list);
    return status;
}

/* Plays each change; `is_scarce` allows each to fail once for lack of memory. */
static void play(fifo_stage *f, const char *script, bool is_scarce) {
    char copy[FIFO_TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", script);
    for (char *line = strtok_r(copy, ";", &rest); line; line = strtok_r(NULL, ";", &rest)) {
        ki_error err = KI_ERROR_INIT;
        size_t length = f->queue->ops->length(f->queue);
        const char *change = line + strspn(line, " ");
        ki_status status = fifo_change(f, change, &err);
        if (status && is_scarce) {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            assert_int_equal(err.code, KI_ERR_NO_MEMORY);
            assert_int_equal(f->queue->ops->length(f->queue), length);
            status = fifo_change(f, change, &err);
        }
        if (status)
            fail_msg("%s: %s", change, ki_error_message(&err));
    }
}

void fifo_play(fifo_stage *f, const char *script) {
    play(f, script, false);
}

void fifo_play_scarce(fifo_stage *f, const char *script) {
    play(f, script, true);
}

/* --- what comes out ----------------------------------------------------------------------------------------------- */

static const char *name_of(const ki_change *delta) {
    static const char *const names[] = {
        [KI_EVENT_ADD] = "Added", [KI_EVENT_UPDATE] = "Updated", [KI_EVENT_DELETE] = "Deleted"
    };
    assert_true(!delta->final_state_unknown || delta->type == KI_EVENT_DELETE);
    assert_true(!(delta->is_listed || delta->is_resync) || delta->type != KI_EVENT_ADD);
    if (delta->type == KI_EVENT_DELETE && delta->final_state_unknown)
        return "Tombstone";
    return delta->is_listed ? "Replaced" : delta->is_resync ? "Sync" : names[delta->type];
}

static void note_key(const ki_deltas *deltas, char *at) {
    const char *key = ki_object_key(deltas->items[0].obj);
    at += sprintf(at, "%s:", key);
    for (size_t i = 0; i < deltas->count; i++) {
        const ki_change *delta = &deltas->items[i];
        assert_string_equal(ki_object_key(delta->obj), key);
        at += sprintf(at, " %s %s", name_of(delta), ki_object_resource_version(delta->obj));
    }
    strcpy(at, "; ");
}

static char *note_change(const ki_change *delta, char *at) {
    static const char signs[] = { [KI_EVENT_ADD] = '+', [KI_EVENT_UPDATE] = '~', [KI_EVENT_DELETE] = '-' };
    if (!delta->is_listed && !delta->is_resync)
        *at++ = delta->final_state_unknown ? '?' : signs[delta->type];
    return at + sprintf(at, "%s=%s", ki_object_key(delta->obj), ki_object_resource_version(delta->obj));
}

static void note_batch(const ki_deltas *deltas, char *at) {
    *at++ = '[';
    for (size_t i = 0; i < deltas->count; i++) {
        assert_false(deltas->items[i].is_in_initial_list || deltas->items[i].is_listed);
        at += sprintf(at, "%s", i > 0 ? " " : "");
        at = note_change(&deltas->items[i], at);
    }
    strcpy(at, "] ");
}

/* Notes a part of a list, or of a resync. */
static void note_part(fifo_stage *f, const ki_deltas *deltas, char *at) {
    const char *version = deltas->resource_version;
    if (!f->is_in_list && version)
        at += sprintf(at, "%s{%s:", deltas->count && deltas->items[0].is_in_initial_list ? "*" : "", version);
    else if (!f->is_in_list)
        at += sprintf(at, "resync");
    for (size_t i = 0; i < deltas->count; i++) {
        assert_int_equal(deltas->items[i].is_resync, !version);
        *at++ = ' ';
        at = note_change(&deltas->items[i], at);
    }
    f->is_in_list = deltas->is_part;
    if (!deltas->is_part)
        at += sprintf(at, "%s ", version ? "}" : "");
    *at = '\0';
}

ki_status fifo_note(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    fifo_stage *f = user;
    char *at = f->popped + strlen(f->popped);
    (void)ret_requeue;
    (void)err;
    if (f->is_delta_fifo)
        note_key(deltas, at);
    else if (deltas->resource_version || deltas->count == 0 || deltas->items[0].is_resync)
        note_part(f, deltas, at);
    else
        note_batch(deltas, at);
    return KI_OK;
}

typedef struct noted_process {
    ki_process process;
    void *user;
    bool is_called;
} noted_process;

static ki_status call_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    noted_process *noted = user;
    noted->is_called = !deltas->is_part;
    return noted->process(deltas, noted->user, ret_requeue, err);
}

ki_status fifo_pop(fifo_stage *f, ki_process process, void *user, ki_error *err) {
    ki_status status;
    noted_process noted = { process, user, false };
    do
        status = f->queue->ops->pop(f->queue, call_process, &noted, err);
    while (!status && !noted.is_called && f->queue->ops->length(f->queue));
    return status;
}

const char *fifo_pop_one(fifo_stage *f) {
    f->popped[0] = '\0';
    assert_int_equal(fifo_pop(f, fifo_note, f, NULL), KI_OK);
    return f->popped;
}

const char *fifo_pop_all(fifo_stage *f) {
    f->popped[0] = '\0';
    while (f->queue->ops->length(f->queue)) {
        ki_status status = fifo_pop(f, fifo_note, f, NULL);
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
    }
    return f->popped;
}
