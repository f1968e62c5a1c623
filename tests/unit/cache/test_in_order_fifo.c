/* test_in_order_fifo.c: what the in-order queue hands out, told as scripts; then its edges. What becomes of it: test_in_order_informer.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/in_order_fifo.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- help ------------------------------------------------------------------------------------------------------------------- */

enum {
    MANY = 16,
    TEXT = 2048
};

/* Objects by "key=version", as many as are named in a text. */
typedef struct objects {
    ki_object *items[MANY];
    size_t count;
} objects;

typedef struct fixture {
    ki_queue *queue;
    const ki_allocator *allocator;
    int ready;
    char popped[TEXT]; /* what was handed out, as text */
} fixture;

static objects objects_of(const char *text) {
    objects list = { .count = 0 };
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *version = strchr(word, '=');
        *version++ = '\0';
        list.items[list.count++] = make_object(word, version, NULL);
    }
    return list;
}

static void count_ready(void *user) {
    ((fixture *)user)->ready++;
}

static void set_up(fixture *f, size_t batch_size, const ki_allocator *allocator) {
    *f = (fixture){ .allocator = allocator };
    ki_in_order_fifo_options options = { .allocator = allocator,
                                         .batch_size = batch_size ? batch_size : 1000,
                                         .seed = 3 };
    assert_int_equal(ki_in_order_fifo_new(&options, &f->queue, NULL), KI_OK);
    f->queue->ready = count_ready;
    f->queue->ready_user = f;
}

static void tear_down(fixture *f) {
    f->queue->ops->free(f->queue);
}

/* Of "replace@20" the 20. */
static const char *list_version(const char *text, size_t verb) {
    static char version[8];
    const char *at = memchr(text, '@', verb);
    if (!at)
        return "9";
    snprintf(version, sizeof version, "%.*s", (int)(verb - (size_t)(at + 1 - text)), at + 1);
    return version;
}

/* A list as "key=version", "key=!" for a key whose state could not be read, and "?=!" for one whose key could not be read either. */
static ki_status replace(const fixture *f, const objects *list, const char *version, ki_error *err) {
    ki_object **good = ki_alloc_array(f->allocator, MANY, sizeof(ki_object *));
    const char *kept[MANY];
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

/* One change by a word and what it needs: "add foo=1", "delete foo=2", "replace foo=3 bar=1" (at version 9, or "replace@20 …"), "resync". */
static ki_status change(const fixture *f, const char *text, ki_error *err) {
    ki_queue *queue = f->queue;
    size_t verb = strcspn(text, " ");
    objects list = objects_of(text + verb);
    ki_status status;
    if (strncmp(text, "add", verb) == 0)
        status = queue->ops->add(queue, list.items[0], err);
    else if (strncmp(text, "update", verb) == 0)
        status = queue->ops->update(queue, list.items[0], err);
    else if (strncmp(text, "delete", verb) == 0)
        status = queue->ops->remove(queue, list.items[0], true, err);
    else if (strncmp(text, "lose", verb) == 0)
        status = queue->ops->remove(queue, list.items[0], false, err);
    else if (strncmp(text, "replace", strlen("replace")) == 0)
        status = replace(f, &list, list_version(text, verb), err);
    else
        status = queue->ops->resync(queue, err);
    for (size_t i = 0; i < list.count; i++)
        ki_object_unref(list.items[i]);
    return status;
}

static void script(const fixture *f, const char *text) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *line = strtok_r(copy, ";", &rest); line; line = strtok_r(NULL, ";", &rest)) {
        ki_error err = KI_ERROR_INIT;
        ki_status status = change(f, line + strspn(line, " "), &err);
        if (status)
            fail_msg("%s: %s", line, ki_error_message(&err));
    }
}

/* "[+a=1 ~b=2 -c=3 ?d=4] " with a tombstone of d, "{9: a=1 !b ?} " for a list in which b could not be read, nor the key of another one, "resync "; with a "*" before what is of the initial population. */
static ki_status note(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    static const char signs[] = { '+', '~', '-', 0, 0 };
    fixture *f = user;
    (void)ret_requeue;
    (void)err;
    char *at = f->popped + strlen(f->popped);
    if (deltas->kind == KI_DELTAS_RESYNC) {
        strcpy(at, "resync ");
        return KI_OK;
    }
    bool is_list = deltas->kind == KI_DELTAS_REPLACE;
    assert_null(deltas->key);
    assert_true(is_list || deltas->kind == KI_DELTAS_BATCH);
    at += sprintf(at, "%s%s%s%s", deltas->is_in_initial_list ? "*" : "", is_list ? "{" : "[",
                  is_list ? deltas->resource_version : "", is_list ? ":" : "");
    for (size_t i = 0; is_list && i < deltas->count; i++)
        at += sprintf(at, " %s=%s", ki_object_key(deltas->objects[i]), ki_object_resource_version(deltas->objects[i]));
    for (size_t i = 0; !is_list && i < deltas->count; i++) {
        const ki_delta *delta = &deltas->items[i];
        assert_int_equal(delta->is_in_initial_list, deltas->is_in_initial_list);
        at += sprintf(at, "%s", i > 0 ? " " : "");
        if (signs[delta->type])
            *at++ = delta->tombstone ? '?' : signs[delta->type];
        at += sprintf(at, "%s=%s", ki_object_key(delta->obj), ki_object_resource_version(delta->obj));
    }
    for (size_t i = 0; i < deltas->kept_count; i++)
        at += sprintf(at, " !%s", deltas->kept[i]);
    if (deltas->keeps_all)
        at += sprintf(at, " ?");
    strcpy(at, is_list ? "} " : "] ");
    return KI_OK;
}

/* Pops all, which gives the text of it. */
static const char *pop_all(fixture *f) {
    f->popped[0] = '\0';
    while (f->queue->ops->length(f->queue))
        assert_int_equal(f->queue->ops->pop(f->queue, note, f, NULL), KI_OK);
    return f->popped;
}

static const char *pop_one(fixture *f) {
    f->popped[0] = '\0';
    assert_int_equal(f->queue->ops->pop(f->queue, note, f, NULL), KI_OK);
    return f->popped;
}

/* --- what comes out --------------------------------------------------------------------------------------------------------- */

static void events_come_out_in_batches_in_the_order_of_their_arrival(void **state) {
    (void)state;
    static const struct {
        size_t batch_size;
        const char *script;
        const char *popped;
    } cases[] = {
        { 0, "", "" },
        /* None is merged, and none is left out, known or not. */
        { 0, "add foo=10; update foo=12; delete foo=15", "[+foo=10] [~foo=12] [-foo=15] " },
        { 0, "add foo=10; update bar=15; add qux=17; delete qux=18; delete baz=20",
          "[+foo=10 ~bar=15 +qux=17] [-qux=18 -baz=20] " },
        { 0, "add foo=10; update bar=15; delete baz=20", "[+foo=10 ~bar=15 -baz=20] " },
        { 0, "add foo=5; delete foo=6", "[+foo=5] [-foo=6] " },
        { 0, "delete foo=6; delete foo=7", "[-foo=6] [-foo=7] " },
        { 0, "add n/a=1; add m/a=2", "[+n/a=1 +m/a=2] " },
        /* A batch ends before a key that it has, at its size, and before a list or a resync. */
        { 0, "add a=1; add b=1; add c=1", "[+a=1 +b=1 +c=1] " },
        { 2, "add a=1; add b=1; add c=1", "[+a=1 +b=1] [+c=1] " },
        { 1, "add a=1; add b=1", "[+a=1] [+b=1] " },
        { 0, "replace a=1 b=1; update b=2; update c=2", "*{9: a=1 b=1} [~b=2 ~c=2] " },
        { 0, "replace a=1; update a=2; update a=3", "*{9: a=1} [~a=2] [~a=3] " },
        { 2, "replace a=1 b=1; update c=1; update d=1", "*{9: a=1 b=1} [~c=1 ~d=1] " },
        { 2, "replace a=1 b=1 c=1; update d=1", "*{9: a=1 b=1 c=1} [~d=1] " },
        { 0, "add a=1; resync; add b=2", "[+a=1] resync [+b=2] " },
        /* A list is one item, whatever is queued or known. */
        { 0, "replace", "*{9:} " },
        { 0, "delete foo=1; replace foo=2", "[-foo=1] {9: foo=2} " },
        { 0, "add foo=10; replace foo=15", "[+foo=10] {9: foo=15} " },
        { 0, "add foo=2; replace", "[+foo=2] {9:} " },
        { 0, "add foo=2; replace foo=2; replace foo=2; replace", "[+foo=2] {9: foo=2} {9: foo=2} {9:} " },
        { 0, "add a=1; delete a=2; add a=3; replace; replace", "[+a=1] [-a=2] [+a=3] {9:} {9:} " },
        { 0, "add foo=2; replace@10 foo=2; replace@20 foo=2; replace@56",
          "[+foo=2] {10: foo=2} {20: foo=2} {56:} " }, /* each at its own version */
        { 2, "replace; update a=1; update b=1; update c=1", "*{9:} [~a=1 ~b=1] [~c=1] " },
        { 0, "replace a=1 a=2", "*{9: a=1 a=2} " },
        { 0, "replace b=1 a=1; replace a=2", "*{9: b=1 a=1} {9: a=2} " },
        /* A resync is one item too. */
        { 0, "resync", "resync " },
        { 0, "update foo=6; resync", "[~foo=6] resync " },
        { 0, "delete foo=10; resync", "[-foo=10] resync " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        set_up(&f, cases[i].batch_size, &ki_allocator_default);
        script(&f, cases[i].script);
        if (strcmp(pop_all(&f), cases[i].popped) != 0)
            fail_msg("%s\ngives: %s\nnot:   %s", cases[i].script, f.popped, cases[i].popped);
        tear_down(&f);
    }
}

static void a_key_does_not_jump_the_line(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 1, &ki_allocator_default);
    script(&f, "add foo=10; add bar=1; add foo=11; add foo=13; add zab=30");
    assert_string_equal(pop_one(&f), "[+foo=10] ");
    script(&f, "add foo=14");
    assert_string_equal(pop_all(&f), "[+bar=1] [+foo=11] [+foo=13] [+zab=30] [+foo=14] ");
    tear_down(&f);
}

/* --- the initial population ------------------------------------------------------------------------------------------------- */

static void it_has_synced_once_the_first_list_is_processed(void **state) {
    (void)state;
    static const struct {
        const char *script;
        int pops; /* how many it takes */
    } cases[] = {
        { "add a=1", 0 },
        { "update a=1", 0 },
        { "delete a=1", 0 },
        { "replace", 1 },
        { "replace a=1 b=1", 1 },
        { "replace a=1 a=2", 1 },
        { "replace; add b=1", 1 },
        { "replace a=1; replace", 1 },
        { "add a=1; replace a=1 b=1", 0 },
        { "resync; replace a=1", 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        set_up(&f, 0, &ki_allocator_default);
        assert_false(f.queue->ops->has_synced(f.queue));
        script(&f, cases[i].script);
        for (int pops = 0; pops < cases[i].pops; pops++) {
            if (f.queue->ops->has_synced(f.queue))
                fail_msg("%s: too early, after %d", cases[i].script, pops);
            pop_one(&f);
        }
        if (!f.queue->ops->has_synced(f.queue))
            fail_msg("%s: too late", cases[i].script);
        pop_all(&f);
        assert_true(f.queue->ops->has_synced(f.queue));
        tear_down(&f);
    }
}

/* --- processing ------------------------------------------------------------------------------------------------------------- */

typedef struct watcher {
    fixture *f;
    ki_status status;
    bool requeue;
    size_t length; /* that it saw */
    bool synced;
    const char *queues;
    size_t count; /* deltas */
} watcher;

static ki_status look(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    watcher *w = user;
    w->length = w->f->queue->ops->length(w->f->queue);
    w->synced = w->f->queue->ops->has_synced(w->f->queue);
    w->count = deltas->count;
    if (w->queues)
        script(w->f, w->queues);
    assert_int_equal(w->f->queue->ops->pop(w->f->queue, note, w->f, NULL), KI_ERR_STATE); /* one at a time */
    *ret_requeue = w->requeue;
    return w->status ? ki_error_set(err, w->status, "no") : KI_OK;
}

static void a_whole_batch_is_a_thousand_events(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    for (int i = 0; i < 2500; i++) {
        char text[64];
        snprintf(text, sizeof text, "add k%d=%d", i, i);
        script(&f, text);
    }
    static const size_t counts[] = { 1000, 1000, 500 };
    size_t left = 2500;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        watcher w = { .f = &f };
        assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_OK);
        assert_int_equal(w.count, counts[i]);
        assert_int_equal(w.length, left -= counts[i]);
    }
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    tear_down(&f);
}

static void it_has_not_synced_while_the_list_is_processed(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    script(&f, "replace a=1; add b=1");
    watcher w = { .f = &f, .status = KI_ERR_NO_MEMORY, .requeue = true, .synced = true };
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_ERR_NO_MEMORY);
    assert_false(w.synced);
    assert_int_equal(w.length, 1);
    assert_false(f.queue->ops->has_synced(f.queue));
    w.status = KI_OK; /* a part of it is done */
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_OK);
    assert_false(w.synced);
    assert_false(f.queue->ops->has_synced(f.queue));
    w.requeue = false;
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_OK);
    assert_false(w.synced);
    assert_true(f.queue->ops->has_synced(f.queue));
    tear_down(&f);
}

static void a_list_that_is_processed_is_released_a_slice_at_a_time(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    f.queue->slice = 2;
    script(&f, "replace a=1 b=1 c=1 d=1 e=1; add f=1; resync");
    assert_string_equal(pop_one(&f), "*{9: a=1 b=1 c=1 d=1 e=1} ");
    assert_false(f.queue->ops->has_synced(f.queue));
    assert_string_equal(pop_one(&f), "");
    assert_string_equal(pop_one(&f), "");
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_true(f.queue->ops->is_resyncing(f.queue));
    assert_string_equal(pop_all(&f), "[+f=1] resync ");
    assert_false(f.queue->ops->is_resyncing(f.queue));
    tear_down(&f);
}

static void what_is_requeued_stays_in_its_place(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    script(&f, "add a=1; add b=1; update a=2");
    watcher w = { .f = &f, .status = KI_ERR_STATE, .requeue = true, .queues = "update b=2; replace" };
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_ERR_STATE);
    assert_string_equal(pop_all(&f), "[+a=1 +b=1] [~a=2 ~b=2] {9:} ");
    tear_down(&f);
}

static void a_failure_without_requeue_counts_as_processed(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    script(&f, "replace a=1; add b=1");
    watcher w = { .f = &f, .status = KI_ERR_INVALID };
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_ERR_INVALID);
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_string_equal(pop_all(&f), "[+b=1] ");
    tear_down(&f);
}

static void ready_is_called_when_there_is_something_again(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    script(&f, "add a=1; add b=1; resync; replace");
    assert_int_equal(f.ready, 1);
    pop_all(&f);
    script(&f, "resync");
    assert_int_equal(f.ready, 2);
    pop_all(&f);
    f.queue->ready = NULL;
    script(&f, "add a=1");
    tear_down(&f);
}

static void a_closed_queue_hands_out_the_rest_and_takes_nothing(void **state) {
    (void)state;
    static const char *const changes[] = { "add a=1", "update a=1", "delete a=1", "replace a=1", "resync" };
    fixture f;
    ki_error err = KI_ERROR_INIT;
    set_up(&f, 0, &ki_allocator_default);
    assert_int_equal(f.queue->ops->pop(f.queue, note, &f, &err), KI_ERR_NOT_FOUND);
    script(&f, "add a=1");
    f.queue->ops->close(f.queue);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 2);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_int_equal(change(&f, changes[i], &err), KI_ERR_CLOSED);
    assert_string_equal(pop_all(&f), "[+a=1] ");
    assert_int_equal(f.queue->ops->pop(f.queue, note, &f, &err), KI_ERR_CLOSED);
    tear_down(&f);
}

/* --- what could not be read --------------------------------------------------------------------------------------------------- */

static void what_could_not_be_read_is_handed_over_by_its_key(void **state) {
    fixture f;
    (void)state;
    set_up(&f, 0, &ki_allocator_default);
    script(&f, "replace a=1 b=! c=!; lose a=1; replace ?=!; replace ?=! a=1");
    assert_string_equal(pop_all(&f), "*{9: a=1 !b !c} [?a=1] {9: ?} {9: a=1 ?} ");
    tear_down(&f);
}

/* --- memory ----------------------------------------------------------------------------------------------------------------- */

static void lack_of_memory_leaves_the_queue_as_it_was(void **state) {
    (void)state;
    static const char *const changes[] = { "add a=1",     "update a=2",  "resync",  "replace c=8 d=9", "add e=12",
                                           "delete a=13", "update f=14", "replace", "add g=1",         "add h=1" };
    static const char expected[] = "[+a=1] [~a=2] resync {9: c=8 d=9} [+e=12 -a=13 ~f=14] {9:} [+g=1 +h=1] ";
    for (size_t fail_at = 3;; fail_at++) { /* making the queue takes three */
        scarce_memory memory;
        scarce_memory_init(&memory, fail_at);
        fixture f;
        set_up(&f, 0, &memory.allocator);
        size_t length = 0;
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            ki_error err = KI_ERROR_INIT;
            ki_status status = change(&f, changes[i], &err);
            if (status) {
                assert_int_equal(status, KI_ERR_NO_MEMORY);
                assert_int_equal(err.code, KI_ERR_NO_MEMORY);
                assert_int_equal(f.queue->ops->length(f.queue), length);
                assert_int_equal(change(&f, changes[i], NULL), KI_OK);
            }
            length = f.queue->ops->length(f.queue);
        }
        assert_string_equal(pop_all(&f), expected);
        tear_down(&f);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        if (!scarce_memory_failed(&memory))
            break;
    }
}

static void no_queue_is_made_without_memory(void **state) {
    (void)state;
    for (size_t fail_at = 0; fail_at < 3; fail_at++) {
        scarce_memory memory;
        scarce_memory_init(&memory, fail_at);
        ki_in_order_fifo_options options = { .allocator = &memory.allocator, .batch_size = 1000 };
        ki_queue *queue = NULL;
        assert_int_equal(ki_in_order_fifo_new(&options, &queue, NULL), KI_ERR_NO_MEMORY);
        assert_null(queue);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

static void nothing_is_allocated_in_the_steady_state(void **state) {
    (void)state;
    fixture f;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    set_up(&f, 0, &memory.allocator);
    size_t calls = 0;
    for (int round = 0; round < 100; round++) {
        script(&f, "add a=1; update b=2; update a=3; delete b=4; resync; add c=1");
        pop_all(&f);
        if (round == 1)
            calls = memory.calls;
    }
    assert_int_equal(memory.calls, calls);
    tear_down(&f);
}

static void what_is_queued_is_freed_with_the_queue(void **state) {
    (void)state;
    fixture f;
    set_up(&f, 0, &ki_allocator_default);
    script(&f, "replace a=1 b=2; add c=3; resync; update c=4");
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_out_in_batches_in_the_order_of_their_arrival),
        cmocka_unit_test(a_key_does_not_jump_the_line),
        cmocka_unit_test(a_whole_batch_is_a_thousand_events),
        cmocka_unit_test(it_has_synced_once_the_first_list_is_processed),
        cmocka_unit_test(it_has_not_synced_while_the_list_is_processed),
        cmocka_unit_test(a_list_that_is_processed_is_released_a_slice_at_a_time),
        cmocka_unit_test(what_is_requeued_stays_in_its_place),
        cmocka_unit_test(a_failure_without_requeue_counts_as_processed),
        cmocka_unit_test(ready_is_called_when_there_is_something_again),
        cmocka_unit_test(a_closed_queue_hands_out_the_rest_and_takes_nothing),
        cmocka_unit_test(lack_of_memory_leaves_the_queue_as_it_was),
        cmocka_unit_test(no_queue_is_made_without_memory),
        cmocka_unit_test(nothing_is_allocated_in_the_steady_state),
        cmocka_unit_test(what_is_queued_is_freed_with_the_queue),
        cmocka_unit_test(what_could_not_be_read_is_handed_over_by_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
