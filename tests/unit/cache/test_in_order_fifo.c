/* test_in_order_fifo.c: what the in-order queue hands out, as scripts; then its edges. What an informer does with it:
 * test_in_order_informer.c. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "tests/support/fifo_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what comes out ----------------------------------------------------------------------------------------------- */

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
        { 0, "replace", "{9:} " },
        { 0, "delete foo=1; replace foo=2", "[-foo=1] {9: foo=2} " },
        { 0, "add foo=10; replace foo=15", "[+foo=10] {9: foo=15} " },
        { 0, "add foo=2; replace", "[+foo=2] {9:} " },
        { 0, "add foo=2; replace foo=2; replace foo=2; replace", "[+foo=2] {9: foo=2} {9: foo=2} {9:} " },
        { 0, "add a=1; delete a=2; add a=3; replace; replace", "[+a=1] [-a=2] [+a=3] {9:} {9:} " },
        { 0, "add foo=2; replace@10 foo=2; replace@20 foo=2; replace@56",
          "[+foo=2] {10: foo=2} {20: foo=2} {56:} " }, /* each at its own version */
        { 2, "replace; update a=1; update b=1; update c=1", "{9:} [~a=1 ~b=1] [~c=1] " },
        { 0, "replace a=1 a=2 b=1", "*{9: a=2 b=1} " }, /* the last object of a key */
        { 0, "replace b=1 a=1; replace a=2", "*{9: b=1 a=1} {9: a=2} " },
        /* A resync is one item too. */
        { 0, "resync", "resync " },
        { 0, "update foo=6; resync", "[~foo=6] resync " },
        { 0, "delete foo=10; resync", "[-foo=10] resync " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        in_order_fifo_open(&f, cases[i].batch_size, &ki_allocator_default);
        fifo_play(&f, cases[i].script);
        if (strcmp(fifo_pop_all(&f), cases[i].popped) != 0)
            fail_msg("%s\ngives: %s\nnot:   %s", cases[i].script, f.popped, cases[i].popped);
        fifo_close(&f);
    }
}

static void a_key_does_not_jump_the_line(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 1, &ki_allocator_default);
    fifo_play(&f, "add foo=10; add bar=1; add foo=11; add foo=13; add zab=30");
    assert_string_equal(fifo_pop_one(&f), "[+foo=10] ");
    fifo_play(&f, "add foo=14");
    assert_string_equal(fifo_pop_all(&f), "[+bar=1] [+foo=11] [+foo=13] [+zab=30] [+foo=14] ");
    fifo_close(&f);
}

/* --- the initial population --------------------------------------------------------------------------------------- */

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
        fifo_stage f;
        in_order_fifo_open(&f, 0, &ki_allocator_default);
        assert_false(f.queue->ops->has_synced(f.queue));
        fifo_play(&f, cases[i].script);
        for (int pops = 0; pops < cases[i].pops; pops++) {
            if (f.queue->ops->has_synced(f.queue))
                fail_msg("%s: too early, after %d", cases[i].script, pops);
            fifo_pop_one(&f);
        }
        if (!f.queue->ops->has_synced(f.queue))
            fail_msg("%s: too late", cases[i].script);
        fifo_pop_all(&f);
        assert_true(f.queue->ops->has_synced(f.queue));
        fifo_close(&f);
    }
}

/* --- processing --------------------------------------------------------------------------------------------------- */

typedef struct watcher {
    fifo_stage *f;
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
        fifo_play(w->f, w->queues);
    assert_int_equal(w->f->queue->ops->pop(w->f->queue, fifo_note, w->f, NULL), KI_ERR_STATE); /* one at a time */
    *ret_requeue = w->requeue;
    return w->status ? ki_error_set(err, w->status, "no") : KI_OK;
}

static void a_whole_batch_is_a_thousand_events(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    for (int i = 0; i < 2500; i++) {
        char text[64];
        snprintf(text, sizeof text, "add k%d=%d", i, i);
        fifo_play(&f, text);
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
    fifo_close(&f);
}

static void it_has_not_synced_while_the_list_is_processed(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    fifo_play(&f, "replace a=1; add b=1");
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
    fifo_close(&f);
}

static void a_list_is_passed_on_and_released_a_slice_at_a_time(void **state) {
    enum {
        SLICE = 2,
        UNITS = 14 /* five keys, four known objects, five listed ones */
    };
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    fifo_know(&f, "x=1 a=1 y=1 z=1");
    f.queue->slice = SLICE;
    fifo_play(&f, "replace a=1 b=1 c=1 d=1 e=1 y=!; add f=1; resync");
    size_t pops = 0;
    do {
        assert_false(f.queue->ops->has_synced(f.queue));
        size_t before = strlen(f.popped);
        assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, NULL), KI_OK);
        assert_in_range(f.queue->work, 1, SLICE);
        assert_true(strlen(f.popped) - before <= strlen("*{9: ?x=1 ?z=1"));
        pops++;
    } while (!strchr(f.popped, '}'));
    assert_string_equal(f.popped, "*{9: ?x=1 ?z=1 a=1 b=1 c=1 d=1 e=1} ");
    assert_true(pops >= UNITS / SLICE);
    for (pops = 0; !f.queue->ops->has_synced(f.queue); pops++)
        assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, NULL), KI_OK);
    assert_in_range(pops, 2, 3); /* five objects are released, the first ones with the last part */
    assert_true(f.queue->ops->is_resyncing(f.queue));
    assert_string_equal(fifo_pop_all(&f), "[+f=1] resync x=1 a=1 y=1 z=1 ");
    assert_false(f.queue->ops->is_resyncing(f.queue));
    fifo_close(&f);
}

typedef struct failing {
    fifo_stage *f;
    size_t calls, fails_at;
} failing;

static ki_status fail_once(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    failing *once = user;
    if (once->calls++ != once->fails_at)
        return fifo_note(deltas, once->f, ret_requeue, err);
    once->f->popped[0] = '\0';
    once->f->is_in_list = false;
    *ret_requeue = true;
    return ki_error_no_memory(err, "testing");
}

/* With the part that is not processed all of the list comes again. */
static void a_list_that_is_requeued_starts_over(void **state) {
    (void)state;
    size_t failures = 0;
    for (failing once = { .fails_at = 0 }; once.calls >= once.fails_at; once.fails_at++) {
        fifo_stage f;
        in_order_fifo_open(&f, 2, &ki_allocator_default);
        fifo_know(&f, "x=1 a=1 z=1");
        fifo_play(&f, "replace a=2 b=1 c=1 b=2; add f=1");
        once.f = &f;
        once.calls = 0;
        while (!f.queue->ops->has_synced(f.queue))
            failures += f.queue->ops->pop(f.queue, fail_once, &once, NULL) == KI_ERR_NO_MEMORY;
        assert_string_equal(f.popped, "*{9: ?x=1 ?z=1 a=2 c=1 b=2} ");
        fifo_close(&f);
    }
    assert_in_range(failures, 3, 5); /* five changes, two in a part */
}

static void what_is_requeued_stays_in_its_place(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    fifo_play(&f, "add a=1; add b=1; update a=2");
    watcher w = { .f = &f, .status = KI_ERR_STATE, .requeue = true, .queues = "update b=2; replace" };
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_ERR_STATE);
    assert_string_equal(fifo_pop_all(&f), "[+a=1 +b=1] [~a=2 ~b=2] {9:} ");
    fifo_close(&f);
}

static void a_failure_without_requeue_counts_as_processed(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    fifo_play(&f, "replace a=1; add b=1");
    watcher w = { .f = &f, .status = KI_ERR_INVALID };
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_ERR_INVALID);
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_string_equal(fifo_pop_all(&f), "[+b=1] ");
    fifo_close(&f);
}

static void ready_is_called_when_there_is_something_again(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    fifo_play(&f, "add a=1; add b=1; resync; replace");
    assert_int_equal(f.ready, 1);
    fifo_pop_all(&f);
    fifo_play(&f, "resync");
    assert_int_equal(f.ready, 2);
    fifo_pop_all(&f);
    f.queue->ready = NULL;
    fifo_play(&f, "add a=1");
    fifo_close(&f);
}

static void a_closed_queue_hands_out_the_rest_and_takes_nothing(void **state) {
    (void)state;
    static const char *const changes[] = { "add a=1", "update a=1", "delete a=1", "replace a=1", "resync" };
    fifo_stage f;
    ki_error err = KI_ERROR_INIT;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, &err), KI_ERR_NOT_FOUND);
    fifo_play(&f, "add a=1");
    f.queue->ops->close(f.queue);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 2);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_int_equal(fifo_change(&f, changes[i], &err), KI_ERR_CLOSED);
    assert_string_equal(fifo_pop_all(&f), "[+a=1] ");
    assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, &err), KI_ERR_CLOSED);
    fifo_close(&f);
}

/* --- what could not be read --------------------------------------------------------------------------------------- */

static void what_could_not_be_read_is_not_deleted(void **state) {
    static const struct {
        const char *script;
        const char *popped;
    } cases[] = {
        { "replace a=1 b=! c=!", "*{9: ?d=1 a=1} " },
        { "replace b=! e=!", "*{9: ?a=1 ?c=1 ?d=1} " },
        { "lose a=1", "[?a=1] " },
        { "replace ?=!", "{9:} " },
        { "replace ?=! a=1", "*{9: a=1} " },
        { "replace ?=! a=1 b=!", "*{9: a=1} " },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        in_order_fifo_open(&f, 0, &ki_allocator_default);
        fifo_know(&f, "a=1 b=1 c=1 d=1");
        fifo_play(&f, cases[i].script);
        if (strcmp(fifo_pop_all(&f), cases[i].popped) != 0)
            fail_msg("%s\ngives: %s\nnot:   %s", cases[i].script, f.popped, cases[i].popped);
        fifo_close(&f);
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void lack_of_memory_leaves_the_queue_as_it_was(void **state) {
    (void)state;
    scarce_memory memory = SCARCE_MEMORY_FROM(4); /* making the queue takes four */
    while (scarce_memory_next(&memory)) {
        fifo_stage f;
        in_order_fifo_open(&f, 0, &memory.allocator);
        fifo_play_scarce(&f, "add a=1; update a=2; resync; replace c=8 d=9; add e=12; delete a=13; update f=14; "
                             "replace; add g=1; add h=1");
        assert_string_equal(fifo_pop_all(&f),
                            "[+a=1] [~a=2] resync {9: c=8 d=9} [+e=12 -a=13 ~f=14] {9:} [+g=1 +h=1] ");
        fifo_close(&f);
    }
}

static void a_batch_size_of_0_is_rejected(void **state) {
    (void)state;
    ki_queue *queue = NULL;
    assert_int_equal(
        ki_in_order_fifo_new(&(ki_in_order_fifo_options){ .allocator = &ki_allocator_default }, &queue, NULL),
        KI_ERR_INVALID);
    assert_null(queue);
}

static void no_queue_is_made_without_memory(void **state) {
    (void)state;
    for (size_t fail_at = 0; fail_at < 4; fail_at++) {
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
    fifo_stage f;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    in_order_fifo_open(&f, 0, &memory.allocator);
    size_t calls = 0;
    for (int round = 0; round < 100; round++) {
        fifo_play(&f, "add a=1; update b=2; update a=3; delete b=4; resync; add c=1");
        fifo_pop_all(&f);
        if (round == 1)
            calls = memory.calls;
    }
    assert_int_equal(memory.calls, calls + 98); /* one block for each resync */
    fifo_close(&f);
}

static void what_is_queued_is_freed_with_the_queue(void **state) {
    (void)state;
    fifo_stage f;
    in_order_fifo_open(&f, 0, &ki_allocator_default);
    fifo_play(&f, "replace a=1 b=2; add c=3; resync; update c=4");
    fifo_close(&f);
}

KT_TESTS(in_order_fifo) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_out_in_batches_in_the_order_of_their_arrival),
        cmocka_unit_test(a_key_does_not_jump_the_line),
        cmocka_unit_test(a_whole_batch_is_a_thousand_events),
        cmocka_unit_test(it_has_synced_once_the_first_list_is_processed),
        cmocka_unit_test(it_has_not_synced_while_the_list_is_processed),
        cmocka_unit_test(a_list_is_passed_on_and_released_a_slice_at_a_time),
        cmocka_unit_test(a_list_that_is_requeued_starts_over),
        cmocka_unit_test(what_is_requeued_stays_in_its_place),
        cmocka_unit_test(a_failure_without_requeue_counts_as_processed),
        cmocka_unit_test(ready_is_called_when_there_is_something_again),
        cmocka_unit_test(a_closed_queue_hands_out_the_rest_and_takes_nothing),
        cmocka_unit_test(lack_of_memory_leaves_the_queue_as_it_was),
        cmocka_unit_test(a_batch_size_of_0_is_rejected),
        cmocka_unit_test(no_queue_is_made_without_memory),
        cmocka_unit_test(nothing_is_allocated_in_the_steady_state),
        cmocka_unit_test(what_is_queued_is_freed_with_the_queue),
        cmocka_unit_test(what_could_not_be_read_is_not_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
