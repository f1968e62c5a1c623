/* fifo_stage.c: see fifo_stage.h. */
#include "tests/support/fifo_stage.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static fifo_objects objects_of(const char *text) {
    fifo_objects list;
    noted_change changes[NOTATION_LIST];
    list.count = notation_read_changes(text, changes);
    assert_true(list.count <= FIFO_OBJECTS);
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = notation_object(&changes[i]);
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

static void open_queue(fifo_stage *f, ki_queue_kind kind, size_t batch_size, const char *known,
                       const ki_allocator *allocator) {
    *f = (fifo_stage){ .allocator = allocator };
    if (known)
        f->known = objects_of(known);
    const ki_known_objects objects = { fifo_known, known_next, known_end, f };
    ki_queue_options options = {
        .size = sizeof(ki_queue_options), .kind = kind, .allocator = allocator, .batch_size = batch_size, .seed = 3
    };
    if (known || kind == KI_QUEUE_IN_ORDER)
        options.known = objects;
    assert_int_equal(ki_queue_new(&options, &f->queue, NULL), KI_OK);
    f->queue->ready = count_ready;
    f->queue->ready_user = f;
}

void fifo_open(fifo_stage *f, ki_queue_kind kind, const char *known, const ki_allocator *allocator) {
    open_queue(f, kind, 1000, known, allocator);
}

void fifo_open_in_order(fifo_stage *f, size_t batch_size) {
    open_queue(f, KI_QUEUE_IN_ORDER, batch_size, "", &ki_allocator_default);
}

void fifo_know(fifo_stage *f, const char *known) {
    objects_free(&f->known);
    f->known = objects_of(known);
}

void fifo_close(fifo_stage *f) {
    f->queue->ops->free(f->queue);
    objects_free(&f->known);
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static ki_status replace(const fifo_stage *f, const noted_list *list, ki_error *err) {
    ki_object **good = ki_alloc_array(f->allocator, NOTATION_LIST, sizeof(ki_object *));
    const char *kept[NOTATION_LIST];
    if (!good)
        return ki_error_no_memory(err, "listing");
    ki_listing listing = { .objects = good, .kept = kept, .resource_version = list->version };
    char namespace_name[NOTATION_WORD];
    const char *slash = strchr(list->version, '/');
    if (slash) {
        snprintf(namespace_name, sizeof namespace_name, "%.*s", (int)(slash - list->version), list->version);
        listing.resource_version = slash + 1;
        listing.namespace_name = namespace_name;
        listing.is_initial = strcmp(list->token, "i") == 0;
    }
    for (size_t i = 0; i < list->count; i++) {
        const noted_change *item = &list->changes[i];
        if (!item->is_unreadable)
            good[listing.count++] = notation_object(item);
        else if (!item->key[0])
            listing.keeps_all = true;
        else
            kept[listing.kept_count++] = item->key;
    }
    ki_status status = f->queue->ops->replace(f->queue, &listing, err);
    for (size_t i = 0; status && i < listing.count; i++)
        ki_object_unref(good[i]);
    if (status)
        ki_free(f->allocator, good);
    return status;
}

ki_status fifo_step(fifo_stage *f, const char *step, ki_error *err) {
    noted_list list;
    noted_change noted;
    if (strcmp(step, "resync") == 0)
        return f->queue->ops->resync(f->queue, err);
    if (notation_read_list(step, &list))
        return replace(f, &list, err);
    if (!notation_read_change(step, &noted) || !noted.sign)
        fail_msg("\"%s\" is no change", step);
    ki_object *obj = notation_object(&noted);
    const ki_change change = { .type = noted.sign == '+'   ? KI_EVENT_ADD
                                       : noted.sign == '~' ? KI_EVENT_UPDATE
                                                           : KI_EVENT_DELETE,
                               .obj = obj,
                               .final_state_unknown = noted.sign == '?' };
    ki_status status = f->queue->ops->put(f->queue, &change, err);
    ki_object_unref(obj);
    return status;
}

static void play(const char *step, void *user) {
    ki_error err = KI_ERROR_INIT;
    if (fifo_step(user, step, &err))
        fail_msg("%s: %s", step, ki_error_message(&err));
}

static void play_scarce(const char *step, void *user) {
    fifo_stage *f = user;
    ki_error err = KI_ERROR_INIT;
    size_t length = f->queue->ops->length(f->queue);
    ki_status status = fifo_step(f, step, &err);
    if (!status)
        return;
    assert_int_equal(status, KI_ERR_NO_MEMORY);
    assert_int_equal(err.code, KI_ERR_NO_MEMORY);
    assert_int_equal(f->queue->ops->length(f->queue), length);
    play(step, f);
}

void fifo_play(fifo_stage *f, const char *script) {
    notation_play(script, play, f);
}

void fifo_play_scarce(fifo_stage *f, const char *script) {
    notation_play(script, play_scarce, f);
}

/* --- what comes out ----------------------------------------------------------------------------------------------- */

static noted_word word_of(const ki_change *change) {
    static const char signs[] = { [KI_EVENT_ADD] = '+', [KI_EVENT_UPDATE] = '~', [KI_EVENT_DELETE] = '-' };
    char sign = signs[change->type];
    assert_true(!change->final_state_unknown || change->type == KI_EVENT_DELETE);
    if (change->is_listed || change->is_resync) {
        assert_int_equal(change->type, KI_EVENT_UPDATE);
        sign = '\0';
    } else if (change->final_state_unknown) {
        sign = '?';
    }
    return notation_change(sign, NULL, change->obj, change->is_in_initial_list ? "i" : change->is_resync ? "r" : "");
}

ki_status fifo_note(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    fifo_stage *f = user;
    const char *version = deltas->resource_version;
    char text[NOTATION_TEXT] = "";
    (void)ret_requeue;
    (void)err;
    if (!f->is_in_part)
        snprintf(text, sizeof text, "%s%s%s", version ? "{" : "[", version ? version : "", version ? ":" : "");
    for (size_t i = 0; i < deltas->count; i++) {
        const char *separator = i || f->is_in_part || version ? " " : "";
        strcat(strcat(text, separator), word_of(&deltas->items[i]).text);
    }
    if (!deltas->is_part)
        strcat(text, version ? "}" : "]");
    notation_add(f->popped, f->is_in_part ? "" : " ", text);
    f->is_in_part = deltas->is_part;
    return KI_OK;
}

void fifo_list_numbered(ki_queue *queue, const ki_allocator *allocator, int count) {
    ki_object **objects = ki_alloc_array(allocator, (size_t)count, sizeof(ki_object *));
    assert_non_null(objects);
    for (int i = 0; i < count; i++) {
        char text[32];
        noted_change change;
        snprintf(text, sizeof text, "k%d=1", i);
        assert_true(notation_read_change(text, &change));
        objects[i] = notation_object(&change);
    }
    const ki_listing list = { .objects = objects, .count = (size_t)count, .resource_version = "9" };
    assert_int_equal(queue->ops->replace(queue, &list, NULL), KI_OK);
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
