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

TEST(events_come_out_in_batches_in_the_order_of_their_arrival) {
    static const struct {
        size_t batch_size;
        const char *script;
        const char *popped;
    } cases[] = {
        { 0, "", "" },
        /* None is merged, and none is left out, known or not. */
        { 0, "+foo=10; ~foo=12; -foo=15", "[+foo=10] [~foo=12] [-foo=15]" },
        { 0, "+foo=10; ~bar=15; +qux=17; -qux=18; -baz=20", "[+foo=10 ~bar=15 +qux=17] [-qux=18 -baz=20]" },
        { 0, "+foo=10; ~bar=15; -baz=20", "[+foo=10 ~bar=15 -baz=20]" },
        { 0, "+foo=5; -foo=6", "[+foo=5] [-foo=6]" },
        { 0, "-foo=6; -foo=7", "[-foo=6] [-foo=7]" },
        { 0, "+n/a=1; +m/a=2", "[+n/a=1 +m/a=2]" },
        /* A batch ends before a key that it has, at its size, and before a list or a resync. */
        { 0, "+a=1; +b=1; +c=1", "[+a=1 +b=1 +c=1]" },
        { 2, "+a=1; +b=1; +c=1", "[+a=1 +b=1] [+c=1]" },
        { 1, "+a=1; +b=1", "[+a=1] [+b=1]" },
        { 0, "{9: a=1 b=1}; ~b=2; ~c=2", "{9: a=1i b=1i} [~b=2 ~c=2]" },
        { 0, "{9: a=1}; ~a=2; ~a=3", "{9: a=1i} [~a=2] [~a=3]" },
        { 2, "{9: a=1 b=1}; ~c=1; ~d=1", "{9: a=1i b=1i} [~c=1 ~d=1]" },
        { 2, "{9: a=1 b=1 c=1}; ~d=1", "{9: a=1i b=1i c=1i} [~d=1]" },
        { 0, "+a=1; resync; +b=2", "[+a=1] [] [+b=2]" },
        /* A list is one item, whatever is queued or known. */
        { 0, "{9:}", "{9:}" },
        { 0, "-foo=1; {9: foo=2}", "[-foo=1] {9: foo=2}" },
        { 0, "+foo=10; {9: foo=15}", "[+foo=10] {9: foo=15}" },
        { 0, "+foo=2; {9:}", "[+foo=2] {9:}" },
        { 0, "+foo=2; {9: foo=2}; {9: foo=2}; {9:}", "[+foo=2] {9: foo=2} {9: foo=2} {9:}" },
        { 0, "+a=1; -a=2; +a=3; {9:}; {9:}", "[+a=1] [-a=2] [+a=3] {9:} {9:}" },
        { 0, "+foo=2; {10: foo=2}; {20: foo=2}; {56:}",
          "[+foo=2] {10: foo=2} {20: foo=2} {56:}" }, /* each at its own version */
        { 2, "{9:}; ~a=1; ~b=1; ~c=1", "{9:} [~a=1 ~b=1] [~c=1]" },
        { 0, "{9: a=1 a=2 b=1}", "{9: a=2i b=1i}" }, /* the last object of a key */
        { 0, "{9: b=1 a=1}; {9: a=2}", "{9: b=1i a=1i} {9: a=2}" },
        /* A resync is one item too. */
        { 0, "resync", "[]" },
        { 0, "~foo=6; resync", "[~foo=6] []" },
        { 0, "-foo=10; resync", "[-foo=10] []" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        fifo_open_in_order(&f, cases[i].batch_size ? cases[i].batch_size : 1000);
        fifo_play(&f, cases[i].script);
        if (strcmp(fifo_pop_all(&f), cases[i].popped) != 0)
            fail_msg("%s\ngives: %s\nnot:   %s", cases[i].script, f.popped, cases[i].popped);
        fifo_close(&f);
    }
}

/* --- the initial population --------------------------------------------------------------------------------------- */

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

TEST(a_whole_batch_is_a_thousand_events) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_IN_ORDER, "", &ki_allocator_default);
    for (int i = 0; i < 2500; i++) {
        char text[64];
        snprintf(text, sizeof text, "+k%d=%d", i, i);
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

TEST(a_list_is_passed_on_and_released_a_slice_at_a_time) {
    enum {
        SLICE = 2,
        UNITS = 14 /* five keys, four known objects, five listed ones */
    };
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_IN_ORDER, "", &ki_allocator_default);
    fifo_know(&f, "x=1 a=1 y=1 z=1");
    f.queue->slice = SLICE;
    fifo_play(&f, "{9: a=1 b=1 c=1 d=1 e=1 y=!}; +f=1; resync");
    size_t pops = 0;
    do {
        assert_false(f.queue->ops->has_synced(f.queue));
        size_t before = strlen(f.popped);
        assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, NULL), KI_OK);
        assert_in_range(f.queue->work, 1, SLICE);
        assert_true(strlen(f.popped) - before <= strlen("{9: ?x=1i ?z=1i"));
        pops++;
    } while (!strchr(f.popped, '}'));
    assert_string_equal(f.popped, "{9: ?x=1i ?z=1i a=1i b=1i c=1i d=1i e=1i}");
    assert_true(pops >= UNITS / SLICE);
    for (pops = 0; !f.queue->ops->has_synced(f.queue); pops++)
        assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, NULL), KI_OK);
    assert_in_range(pops, 2, 3); /* five objects are released, the first ones with the last part */
    assert_true(f.queue->ops->is_resyncing(f.queue));
    assert_string_equal(fifo_pop_all(&f), "[+f=1] [x=1r a=1r y=1r z=1r]");
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
    once->f->is_in_part = false;
    *ret_requeue = true;
    return ki_error_no_memory(err, "testing");
}

/* With the part that is not processed all of the list comes again. */
TEST(a_list_that_is_requeued_starts_over) {
    size_t failures = 0;
    for (failing once = { .fails_at = 0 }; once.calls >= once.fails_at; once.fails_at++) {
        fifo_stage f;
        fifo_open_in_order(&f, 2);
        fifo_know(&f, "x=1 a=1 z=1");
        fifo_play(&f, "{9: a=2 b=1 c=1 b=2}; +f=1");
        once.f = &f;
        once.calls = 0;
        while (!f.queue->ops->has_synced(f.queue))
            failures += f.queue->ops->pop(f.queue, fail_once, &once, NULL) == KI_ERR_NO_MEMORY;
        assert_string_equal(f.popped, "{9: ?x=1i ?z=1i a=2i c=1i b=2i}");
        fifo_close(&f);
    }
    assert_in_range(failures, 3, 5); /* five changes, two in a part */
}

/* The keys of a list of new objects are freed before its first object. */
TEST(a_list_of_new_objects_that_is_requeued_starts_over) {
    static const struct {
        const char *list, *popped;
    } cases[] = { { "{9: a=2 b=1 c=1 d=1}", "{9: a=2i b=1i c=1i d=1i}" },
                  { "{9: a=2 b=1 c=1 b=2}", "{9: a=2i c=1i b=2i}" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (failing once = { .fails_at = 0 }; once.calls >= once.fails_at; once.fails_at++) {
            fifo_stage f;
            fifo_open_in_order(&f, 2);
            fifo_play(&f, cases[i].list);
            once.f = &f;
            once.calls = 0;
            while (!f.queue->ops->has_synced(f.queue))
                (void)f.queue->ops->pop(f.queue, fail_once, &once, NULL);
            assert_string_equal(f.popped, cases[i].popped);
            fifo_close(&f);
        }
    }
}

static ki_status measure_bytes(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    (void)ret_requeue, (void)err;
    const scarce_memory *memory = user;
    assert_true(deltas->count == 0 || memory->bytes < 100000);
    return KI_OK;
}

TEST(a_list_of_new_objects_keeps_no_keys_while_it_is_passed_on) {
    enum {
        OBJECTS = 5000
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    const ki_queue_options options = KI_QUEUE_OPTIONS(.allocator = &memory.allocator, .batch_size = 100);
    ki_queue *queue = NULL;
    assert_int_equal(ki_queue_new(&options, &queue, NULL), KI_OK);
    fifo_list_numbered(queue, &memory.allocator, OBJECTS);
    while (!queue->ops->has_synced(queue))
        assert_int_equal(queue->ops->pop(queue, measure_bytes, &memory, NULL), KI_OK);
    queue->ops->free(queue);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(what_lacked_memory_stays_in_its_place) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_IN_ORDER, "", &ki_allocator_default);
    fifo_play(&f, "+a=1; +b=1; ~a=2");
    watcher w = { .f = &f, .status = KI_ERR_NO_MEMORY, .requeue = true, .queues = "~b=2; {9:}" };
    assert_int_equal(f.queue->ops->pop(f.queue, look, &w, NULL), KI_ERR_NO_MEMORY);
    assert_string_equal(fifo_pop_all(&f), "[+a=1 +b=1] [~a=2 ~b=2] {9:}");
    fifo_close(&f);
}

/* --- what could not be read --------------------------------------------------------------------------------------- */

/* --- memory ------------------------------------------------------------------------------------------------------- */

TEST(options_without_their_size_are_rejected) {
    const ki_queue_options options = { .batch_size = 1 };
    ki_queue *queue = NULL;
    assert_int_equal(ki_queue_new(&options, &queue, NULL), KI_ERR_INVALID);
    assert_null(queue);
}

TEST(nothing_is_allocated_in_the_steady_state) {
    fifo_stage f;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    fifo_open(&f, KI_QUEUE_IN_ORDER, "", &memory.allocator);
    size_t calls = 0;
    for (int round = 0; round < 100; round++) {
        fifo_play(&f, "+a=1; ~b=2; ~a=3; -b=4; resync; +c=1");
        fifo_pop_all(&f);
        if (round == 1)
            calls = memory.calls;
    }
    assert_int_equal(memory.calls, calls + 98); /* one block for each resync */
    fifo_close(&f);
}
