/* test_queues.c: what both queues promise, once with each. What only one does: test_delta_fifo.c and
 * test_in_order_fifo.c. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "tests/support/fifo_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_queue_kind kind;
static int column; /* of the tables: 0 the DeltaFIFO, 1 the in-order queue */

static void play_as(const char *known, const char *script, const char *popped) {
    fifo_stage f;
    fifo_open(&f, kind, known, &ki_allocator_default);
    fifo_play(&f, script);
    if (strcmp(fifo_pop_all(&f), popped) != 0)
        fail_msg("%s\ngives: %s\nnot:   %s", script, f.popped, popped);
    assert_true(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

TEST(a_key_that_was_popped_does_not_jump_the_line) {
    static const char *const first[] = { "[+foo=10 +foo=11 +foo=13]", "[+foo=10 +bar=1]" };
    static const char *const rest[] = { "[+bar=1] [+zab=30] [+foo=14]", "[+foo=11] [+foo=13 +zab=30] [+foo=14]" };
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    fifo_play(&f, "+foo=10; +bar=1; +foo=11; +foo=13; +zab=30");
    assert_string_equal(fifo_pop_one(&f), first[column]);
    fifo_play(&f, "+foo=14");
    assert_string_equal(fifo_pop_all(&f), rest[column]);
    fifo_close(&f);
}

TEST(a_list_of_a_namespace_deletes_only_there) {
    static const struct {
        const char *known;
        const char *script;
        const char *popped[2];
    } cases[] = {
        { "n/a=1 n/b=2 m/a=3 nn/a=4", "{n/9: n/a=5}", { "[?n/b=2] [n/a=5]", "{9: ?n/b=2 n/a=5}" } },
        { "n/a=1 m/a=3 default/a=4", "{n/9:}", { "[?n/a=1]", "{9: ?n/a=1}" } },
        { "n/a=1 m/a=3", "{:}", { "[?n/a=1i] [?m/a=3i]", "{: ?n/a=1i ?m/a=3i}" } },
        { "n/a=1 m/a=3", "{/:}", { "", "{:}" } },
        { "n/a=1 m/a=3", "{n/9: n/a=! }", { "", "{9:}" } },
        { "n/a=1 n/b=1 m/a=3", "{n/9: ?=!}; {m/9:}", { "[?m/a=3]", "{9:} {9: ?m/a=3}" } },
        /* What is queued counts as known; the in-order queue's store does not have it. */
        { "", "+n/a=1; +m/a=2; {n/9:}", { "[+n/a=1 ?n/a=1] [+m/a=2]", "[+n/a=1 +m/a=2] {9:}" } },
        { "n/a=1",
          "{n/9: n/a=2}; {m/9: m/a=2}; {n/10:}",
          { "[n/a=2 ?n/a=2] [m/a=2]", "{9: n/a=2} {9: m/a=2} {10: ?n/a=1}" } },
        { "n/a=1", "{n/:}; {n/9: n/a=1}", { "[?n/a=1 n/a=1]", "{: ?n/a=1} {9: n/a=1}" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        play_as(cases[i].known, cases[i].script, cases[i].popped[column]);
}

/* Each initial list counts, wherever it stands; no other list of a namespace does. */
TEST(the_first_lists_of_namespaces_are_initial) {
    static const struct {
        const char *script;
        const char *popped[2];
    } cases[] = {
        { "{n/9 i: n/a=1}; {m/9 i: m/a=1}", { "[n/a=1i] [m/a=1i]", "{9: n/a=1i} {9: m/a=1i}" } },
        { "{n/9 i: n/a=1}; {m/9: m/a=1}", { "[n/a=1i] [m/a=1]", "{9: n/a=1i} {9: m/a=1}" } },
        { "{n/9: n/a=1}; {m/9 i: m/a=1}", { "[n/a=1] [m/a=1i]", "{9: n/a=1} {9: m/a=1i}" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        play_as("", cases[i].script, cases[i].popped[column]);
    fifo_stage f;
    fifo_open(&f, kind, "", &ki_allocator_default);
    fifo_play(&f, "+n/b=1; {n/9 i: n/a=1}");
    assert_false(f.queue->ops->has_synced(f.queue));
    fifo_play(&f, "{m/9 i: m/a=1}");
    for (int pops = 0; pops < 3; pops++) {
        assert_false(f.queue->ops->has_synced(f.queue));
        fifo_pop_one(&f);
    }
    fifo_pop_all(&f);
    assert_true(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

/* --- the initial population --------------------------------------------------------------------------------------- */

TEST(it_has_synced_once_the_first_list_is_processed) {
    static const struct {
        const char *known;
        const char *script;
        int pops[2]; /* how many it takes */
    } cases[] = {
        { NULL, "+a=1", { 0, 0 } },
        { NULL, "~a=1", { 0, 0 } },
        { "", "-a=1", { 0, 0 } },
        { NULL, "{9:}", { 0, 1 } }, /* to the DeltaFIFO an empty list is no item */
        { NULL, "{9:}; +b=1", { 0, 1 } },
        { NULL, "{9: a=1}", { 1, 1 } },
        { NULL, "{9: a=1 b=1}", { 2, 1 } },
        { NULL, "{9: a=1 a=2}", { 1, 1 } },
        { "", "{9: a=1 b=1 c=1}", { 3, 1 } },
        { NULL, "{9: a=1}; +b=1", { 1, 1 } },
        { NULL, "{9: a=1}; {9:}", { 1, 1 } },
        { NULL, "{9: a=1 b=1}; {9: c=1}", { 2, 1 } },
        { NULL, "+a=1; {9: a=1 b=1}", { 0, 0 } },
        { "foo=5 bar=6 baz=7", "{9: foo=5}", { 3, 1 } },
        { "foo=5", "resync; {9: bar=1}", { 2, 2 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        fifo_open(&f, kind, cases[i].known, &ki_allocator_default);
        assert_false(f.queue->ops->has_synced(f.queue));
        fifo_play(&f, cases[i].script);
        for (int pops = 0; pops < cases[i].pops[column]; pops++) {
            if (f.queue->ops->has_synced(f.queue))
                fail_msg("%s: too early, after %d", cases[i].script, pops);
            if (!strchr(fifo_pop_one(&f), 'i') && kind == KI_QUEUE_DELTA_FIFO)
                fail_msg("%s: not of the initial population: %s", cases[i].script, f.popped);
        }
        if (kind == KI_QUEUE_DELTA_FIFO && cases[i].pops[column] == 0) { /* an empty list is worked off */
            ki_status expected = f.queue->ops->length(f.queue) ? KI_OK : KI_ERR_NOT_FOUND;
            assert_int_equal(f.queue->ops->pop(f.queue, fifo_note, &f, NULL), expected);
        }
        if (!f.queue->ops->has_synced(f.queue))
            fail_msg("%s: too late", cases[i].script);
        fifo_pop_all(&f);
        assert_true(f.queue->ops->has_synced(f.queue));
        fifo_close(&f);
    }
}

TEST(a_resync_alone_does_not_make_it_synced) {
    fifo_stage f;
    fifo_open(&f, kind, "a=1", &ki_allocator_default);
    fifo_play(&f, "resync");
    fifo_pop_all(&f);
    assert_false(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

/* --- processing --------------------------------------------------------------------------------------------------- */

typedef struct watcher {
    fifo_stage *f;
    ki_status status; /* what it returns */
    bool requeue;
    bool synced; /* what it saw */
    size_t length;
} watcher;

static ki_status look(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    watcher *w = user;
    fifo_note(deltas, w->f, ret_requeue, err);
    w->length = w->f->queue->ops->length(w->f->queue);
    w->synced = w->f->queue->ops->has_synced(w->f->queue);
    assert_int_equal(w->f->queue->ops->pop(w->f->queue, look, w, NULL), KI_ERR_STATE); /* one at a time */
    if (w->requeue)
        *ret_requeue = true; /* else left as it was */
    return w->status ? ki_error_set(err, w->status, "not now") : KI_OK;
}

TEST(it_has_not_synced_while_the_first_list_is_processed) {
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    fifo_play(&f, "{9: a=1}; +b=1");
    const watcher rounds[] = { { .status = KI_ERR_NO_MEMORY, .requeue = true }, { .requeue = true }, { .f = NULL } };
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        watcher w = rounds[i];
        w.f = &f;
        w.synced = true;
        f.popped[0] = '\0';
        assert_int_equal(fifo_pop(&f, look, &w, NULL), w.status);
        assert_string_equal(f.popped, kind == KI_QUEUE_DELTA_FIFO ? "[a=1i]" : "{9: a=1i}");
        assert_false(w.synced);
        assert_int_equal(w.length, 1);
        assert_int_equal(f.queue->ops->has_synced(f.queue), !w.requeue);
    }
    assert_string_equal(fifo_pop_all(&f), "[+b=1]");
    fifo_close(&f);
}

TEST(a_failure_without_requeue_counts_as_processed) {
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    fifo_play(&f, "{9: a=1}; +b=1");
    watcher w = { .f = &f, .status = KI_ERR_INVALID };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(fifo_pop(&f, look, &w, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "not now");
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_int_equal(f.queue->ops->length(f.queue), 1);
    assert_string_equal(fifo_pop_all(&f), "[+b=1]");
    fifo_close(&f);
}

TEST(ready_is_called_when_there_is_something_again) {
    fifo_stage f;
    fifo_open(&f, kind, "k=1", &ki_allocator_default);
    if (kind == KI_QUEUE_DELTA_FIFO)
        fifo_play(&f, "-unknown=1");
    assert_int_equal(f.ready, 0);
    fifo_play(&f, "+a=1");
    assert_int_equal(f.ready, 1);
    fifo_play(&f, "+b=1; ~a=2; resync; {9: a=3}");
    assert_int_equal(f.ready, 1);
    fifo_pop_all(&f);
    fifo_play(&f, "{9:}");
    assert_int_equal(f.ready, 2);
    fifo_pop_all(&f);
    fifo_play(&f, "resync");
    assert_int_equal(f.ready, 3);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 4);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 4);
    fifo_close(&f);
}

TEST(ready_may_be_missing) {
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    f.queue->ready = NULL;
    fifo_play(&f, "+a=1");
    f.queue->ops->close(f.queue);
    fifo_close(&f);
}

TEST(a_closed_queue_hands_out_the_rest_and_takes_nothing) {
    static const char *const steps[] = { "+a=1", "~a=1", "-a=1", "{9: a=1}", "resync" };
    fifo_stage f;
    fifo_open(&f, kind, "a=0", &ki_allocator_default);
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(fifo_pop(&f, fifo_note, &f, &err), KI_ERR_NOT_FOUND);
    fifo_play(&f, "+b=1");
    f.queue->ops->close(f.queue);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 2);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_equal(fifo_step(&f, steps[i], &err), KI_ERR_CLOSED);
    assert_string_equal(fifo_pop_one(&f), "[+b=1]");
    assert_int_equal(fifo_pop(&f, fifo_note, &f, &err), KI_ERR_CLOSED);
    fifo_close(&f);
}

/* --- what fails, and comes again ---------------------------------------------------------------------------------- */

typedef struct failing {
    fifo_stage *f;
    const char *bad; /* fails all items with this key; NULL: none */
} failing;

static ki_status fail_bad(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    const failing *self = user;
    for (size_t i = 0; self->bad && i < deltas->count; i++) {
        if (strcmp(ki_object_name(deltas->items[i].obj), self->bad) == 0) {
            *ret_requeue = true;
            return ki_error_set(err, KI_ERR_STATE, "a bad key");
        }
    }
    return fifo_note(deltas, self->f, ret_requeue, err);
}

/* Pops until nothing is queued but what has failed. */
static const char *pop_failing(failing *self) {
    ki_queue *queue = self->f->queue;
    self->f->popped[0] = '\0';
    for (int pops = 0; queue->ops->length(queue); pops++) {
        ki_status status = queue->ops->pop(queue, fail_bad, self, NULL);
        assert_true(status == KI_OK || status == KI_ERR_STATE);
        assert_true(pops < 100);
    }
    assert_int_equal(queue->ops->pop(queue, fail_bad, self, NULL), KI_ERR_NOT_FOUND);
    return self->f->popped;
}

TEST(what_fails_comes_again_behind_the_others) {
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    failing self = { &f, "a" };
    fifo_play(&f, "+a=1; +b=1; +c=1");
    assert_string_equal(pop_failing(&self), "[+b=1] [+c=1]");
    assert_int_equal(ki_queue_length(f.queue), 1);
    fifo_play(&f, "+d=1");
    assert_int_equal(f.queue->ops->retry(f.queue, 10), 1);
    assert_string_equal(pop_failing(&self), "[+d=1]"); /* it fails again, and blocks nothing */
    fifo_play(&f, "+e=1");
    self.bad = NULL;
    assert_int_equal(f.queue->ops->retry(f.queue, 10), 1);
    assert_string_equal(pop_failing(&self), kind == KI_QUEUE_DELTA_FIFO ? "[+e=1] [+a=1]" : "[+e=1 +a=1]");
    assert_int_equal(ki_queue_length(f.queue), 0);
    fifo_close(&f);
}

/* Also without a process loop. */
TEST(a_pop_that_finds_nothing_else_tries_what_failed) {
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    failing self = { &f, "a" };
    fifo_play(&f, "+a=1; +b=1");
    assert_string_equal(pop_failing(&self), "[+b=1]");
    self.bad = NULL;
    f.popped[0] = '\0';
    assert_int_equal(ki_queue_pop(f.queue, fail_bad, &self, NULL), KI_OK);
    assert_string_equal(f.popped, "[+a=1]");
    assert_int_equal(ki_queue_pop(f.queue, fail_bad, &self, NULL), KI_ERR_NOT_FOUND);
    fifo_close(&f);
}

TEST(newer_changes_and_lists_take_the_place_of_what_failed) {
    static const struct {
        const char *known, *script, *later; /* `later` arrives when a has failed */
        const char *popped[2];
        size_t failed; /* that are left */
    } rows[] = {
        { "", "+a=1; +b=1", "~a=2", { "[~a=2]", "[~a=2]" }, 0 },
        { "a=0", "~a=1; +b=1", "-a=2; +c=1", { "[-a=2] [+c=1]", "[-a=2 +c=1]" }, 0 },
        { "a=0", "~a=1", "{9: a=3}", { "[a=3]", "{9: a=3}" }, 0 },
        { "a=0", "~a=1", "{9: b=3}", { "[?a=0] [b=3]", "{9: ?a=0 b=3}" }, 0 },
        { "", "+a=1", "{9: b=3}", { "[b=3]", "{9: b=3}" }, 0 }, /* a was never known */
        { "", "+a=1", "{9: a=! b=3}", { "[b=3]", "{9: b=3}" }, 1 },
        { "", "+a=1", "{9: ?=! b=3}", { "[b=3]", "{9: b=3}" }, 1 },
        { "", "+a=1", "{9: ?=! a=3}", { "[a=3]", "{9: a=3}" }, 0 },
        { "", "+m/a=1", "{n/9: n/b=3}", { "[n/b=3]", "{9: n/b=3}" }, 1 },
        { "", "+n/a=1", "{n/9: n/b=3}", { "[n/b=3]", "{9: n/b=3}" }, 0 },
        { "a=0", "~a=1", "resync", { "[a=0r]", "[a=0r]" }, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fifo_stage f;
        fifo_open(&f, kind, rows[i].known, &ki_allocator_default);
        failing self = { &f, "a" };
        fifo_play(&f, rows[i].script);
        pop_failing(&self);
        assert_int_equal(f.queue->failed, 1);
        fifo_play(&f, rows[i].later);
        self.bad = NULL;
        if (strcmp(pop_failing(&self), rows[i].popped[column]) != 0)
            fail_msg("%s, %s\ngives: %s\nnot:   %s", rows[i].script, rows[i].later, f.popped, rows[i].popped[column]);
        assert_int_equal(f.queue->failed, rows[i].failed);
        assert_int_equal(f.queue->ops->retry(f.queue, 10), rows[i].failed);
        fifo_pop_all(&f);
        fifo_close(&f);
    }
}

/* The newer change is queued when the older one fails. The DeltaFIFO has both in one item. */
TEST(what_failed_does_not_come_again_behind_a_queued_newer_change) {
    if (kind == KI_QUEUE_DELTA_FIFO)
        return;
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    failing self = { &f, "a" };
    fifo_play(&f, "+a=1; ~a=2; +b=1");
    assert_int_equal(f.queue->ops->pop(f.queue, fail_bad, &self, NULL), KI_ERR_STATE);
    assert_int_equal(f.queue->failed, 1);
    self.bad = NULL;
    assert_int_equal(f.queue->ops->retry(f.queue, 10), 0);
    assert_string_equal(pop_failing(&self), "[~a=2 +b=1]");
    assert_int_equal(f.queue->failed, 0);
    fifo_close(&f);
}

TEST(what_fails_twice_comes_again_once) {
    fifo_stage f;
    fifo_open(&f, kind, NULL, &ki_allocator_default);
    failing self = { &f, "a" };
    fifo_play(&f, "+a=1");
    pop_failing(&self);
    fifo_play(&f, "{9: ?=! a=3}; +b=1");
    for (int pops = 0; pops < 20; pops++)
        (void)f.queue->ops->pop(f.queue, fail_bad, &self, NULL);
    self.bad = NULL;
    assert_true(f.queue->failed <= 1);
    fifo_pop_all(&f);
    (void)f.queue->ops->retry(f.queue, 10);
    fifo_pop_all(&f);
    assert_null(strstr(f.popped, "a=1"));
    fifo_close(&f);
}

TEST(what_failed_does_not_come_again_behind_a_newer_list) {
    fifo_stage f;
    fifo_open(&f, kind, "", &ki_allocator_default);
    failing self = { &f, "a" };
    fifo_play(&f, "+a=1");
    pop_failing(&self);
    fifo_play(&f, "{9: a=3}");
    assert_int_equal(f.queue->ops->retry(f.queue, 10), 0);
    self.bad = NULL;
    assert_string_equal(pop_failing(&self), kind == KI_QUEUE_DELTA_FIFO ? "[a=3]" : "{9: a=3}");
    assert_int_equal(f.queue->failed, 0);
    fifo_close(&f);
}

TEST(a_key_of_the_first_list_that_failed_is_still_awaited) {
    if (kind == KI_QUEUE_IN_ORDER)
        return; /* there a list is one item, which starts over */
    fifo_stage f;
    fifo_open(&f, kind, "", &ki_allocator_default);
    failing self = { &f, "a" };
    fifo_play(&f, "{9: a=1 b=1}");
    assert_string_equal(pop_failing(&self), "[b=1i]");
    assert_false(f.queue->ops->has_synced(f.queue));
    self.bad = NULL;
    assert_int_equal(f.queue->ops->retry(f.queue, 10), 1);
    assert_false(f.queue->ops->has_synced(f.queue));
    assert_string_equal(pop_failing(&self), "[a=1i]");
    assert_true(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

/* --- what could not be read --------------------------------------------------------------------------------------- */

TEST(what_could_not_be_read_is_not_deleted) {
    static const struct {
        const char *known, *script, *popped[2];
    } rows[] = {
        { "a=1 b=1", "{9: a=!}", { "[?b=1i]", "{9: ?b=1i}" } },
        { "a=1 b=1", "{9: b=2 ?=!}", { "[b=2i]", "{9: b=2i}" } },
        { "a=1 b=1 c=1 d=1", "{9: a=1 b=! c=!}", { "[?d=1i] [a=1i]", "{9: ?d=1i a=1i}" } },
        { "a=1 b=1 c=1", "{9: b=! e=!}", { "[?a=1i] [?c=1i]", "{9: ?a=1i ?c=1i}" } },
        { "a=1 b=1", "{9: ?=!}", { "", "{9:}" } },
        { "a=1 b=1 c=1", "{9: ?=! a=1}", { "[a=1i]", "{9: a=1i}" } },
        { "a=1 b=1 c=1", "{9: ?=! a=1 b=!}", { "[a=1i]", "{9: a=1i}" } },
        { "", "+a=1; +b=1; {9: a=!}", { "[+b=1 ?b=1] [+a=1]", "[+a=1 +b=1] {9:}" } },
        { "", "+a=1; {9: ?=!}", { "[+a=1]", "[+a=1] {9:}" } },
        { "", "{9: new=!}", { "", "{9:}" } },
        { "a=1", "{9: a=!}; {9:}", { "[?a=1]", "{9:} {9: ?a=1}" } },
        /* A deletion that cannot be read is a tombstone. The DeltaFIFO knows what there is to delete. */
        { "a=1", "?a=1; +b=1; ?b=1; ?unknown=1", { "[?a=1] [+b=1 ?b=1]", "[?a=1 +b=1] [?b=1 ?unknown=1]" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        play_as(rows[i].known, rows[i].script, rows[i].popped[column]);
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static unsigned next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
}

/* What an informer does: what is known downstream becomes what the deltas say. A failure now and then,
 * with a requeue. */
static ki_status apply(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    static uint64_t random = 5;
    fifo_stage *f = user;
    (void)err;
    if (next_random(&random) % 8 == 0) {
        *ret_requeue = true;
        return KI_ERR_STATE;
    }
    for (size_t d = 0; d < deltas->count; d++) {
        ki_object *obj = ki_object_ref(deltas->items[d].obj); /* it may be the known one */
        size_t i = 0;
        while (i < f->known.count && strcmp(ki_object_key(f->known.items[i]), ki_object_key(obj)) != 0)
            i++;
        if (i < f->known.count) {
            ki_object_unref(f->known.items[i]);
            f->known.items[i] = f->known.items[--f->known.count];
        }
        if (deltas->items[d].type != KI_EVENT_DELETE)
            f->known.items[f->known.count++] = obj;
        else
            ki_object_unref(obj);
    }
    return KI_OK;
}

/* Whatever comes in and is popped in between: once the queue is empty, what is known is what the source
 * has. */
TEST(what_is_known_ends_as_what_the_source_has) {
    enum {
        KEYS = FIFO_OBJECTS,
        ROUNDS = 30,
        CHANGES = 300
    };
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        fifo_stage f;
        fifo_open(&f, kind, "", &ki_allocator_default);
        unsigned source[KEYS] = { 0 }; /* versions; 0: not there */
        uint64_t random = seed;
        for (unsigned version = 1; version <= CHANGES; version++) {
            unsigned what = next_random(&random) % 100, key = next_random(&random) % KEYS;
            char text[NOTATION_TEXT] = "resync";
            if (what < 50) {
                sprintf(text, "%ck%u=%u", source[key] ? '~' : '+', key, version);
                source[key] = version;
            } else if (what < 70 && source[key]) {
                sprintf(text, "-k%u=%u", key, version);
                source[key] = 0;
            } else if (what < 75) { /* some changes were missed */
                strcpy(text, "{9:");
                for (unsigned k = 0; k < KEYS; k++) {
                    unsigned fate = next_random(&random) % 4;
                    source[k] = fate == 0 ? 0 : fate == 1 ? version : source[k];
                    if (source[k])
                        sprintf(text + strlen(text), " k%u=%u", k, source[k]);
                }
                strcat(text, "}");
            }
            fifo_play(&f, text);
            for (unsigned pops = next_random(&random) % 4; pops; pops--)
                fifo_pop(&f, apply, &f, NULL);
            if (next_random(&random) % 8 == 0)
                (void)f.queue->ops->retry(f.queue, 2);
        }
        while (ki_queue_length(f.queue)) {
            (void)f.queue->ops->retry(f.queue, 2);
            fifo_pop(&f, apply, &f, NULL);
        }
        assert_true(f.queue->ops->has_synced(f.queue));
        for (unsigned k = 0; k < KEYS; k++) {
            char key[32];
            sprintf(key, "default/k%u", k);
            ki_object *obj = fifo_known(key, &f);
            assert_int_equal(obj ? strtoul(ki_object_resource_version(obj), NULL, 10) : 0, source[k]);
            ki_object_unref(obj);
        }
        fifo_close(&f);
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum {
    OWN_ALLOCATIONS = 1 /* making the queue takes so many */
};

TEST(lack_of_memory_leaves_the_queue_as_it_was) {
    static const char *const popped[] = {
        "[?k=1] [-b=6] [+a=1 ~a=2 ~a=3 -a=4 +a=5 a=7 ?a=7] [c=8 c=9 c=10 ?c=10] [d=11 ?d=11] [+e=12 ?e=12 ~e=13] "
        "[+g=1]",
        "[+a=1] [~a=2] [~a=3] [-a=4] [+a=5 -b=6] {9: ?b=1 ?k=1 a=7 c=10 d=11} [+e=12] [b=1r k=1r] {9: ?b=1 ?k=1} "
        "[~e=13 +g=1]"
    };
    scarce_memory memory = SCARCE_MEMORY_FROM(OWN_ALLOCATIONS);
    while (scarce_memory_next(&memory)) {
        fifo_stage f;
        fifo_open(&f, kind, "b=1 k=1", &memory.allocator);
        fifo_play_scarce(&f, "+a=1; ~a=2; ~a=3; -a=4; +a=5; -b=6; {9: a=7 c=8 c=9 c=10 d=11}; +e=12; resync; {9:}; "
                             "~e=13; +g=1");
        assert_string_equal(fifo_pop_all(&f), popped[column]);
        fifo_close(&f);
    }
}

TEST(lack_of_memory_leaves_a_resync_behind_other_changes_as_it_was) {
    static const char *const popped[] = { "[+e=12] [a=1r] [b=2r] [c=3r]", "[+e=12] [a=1r b=2r c=3r]" };
    scarce_memory memory = SCARCE_MEMORY_FROM(OWN_ALLOCATIONS);
    while (scarce_memory_next(&memory)) {
        fifo_stage f;
        fifo_open(&f, kind, "a=1 b=2 c=3", &memory.allocator);
        fifo_play_scarce(&f, "+e=12; resync");
        assert_string_equal(fifo_pop_all(&f), popped[column]);
        fifo_close(&f);
    }
}

TEST(lack_of_memory_leaves_a_first_list_as_it_was) {
    static const char *const popped[][2] = { { "[a=1i] [b=1i] [c=1i ~c=2]", "{9: a=1i b=1i c=1i} [~c=2]" },
                                             { "[a=1i a=2i] [b=1i] [~c=2]", "{9: b=1i a=2i} [~c=2]" } };
    static const char *const lists[] = { "{9: a=1 b=1 c=1}", "{9: a=1 b=1 a=2}" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(OWN_ALLOCATIONS);
        while (scarce_memory_next(&memory)) {
            fifo_stage f;
            fifo_open(&f, kind, "", &memory.allocator);
            f.queue->slice = 1;
            fifo_play_scarce(&f, lists[i]);
            for (int pops = 0; pops < 6; pops++) {
                ki_status status = f.queue->ops->pop(f.queue, fifo_note, &f, NULL);
                assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
            }
            char begun[NOTATION_TEXT];
            strcpy(begun, f.popped);
            fifo_play_scarce(&f, "~c=2");
            f.popped[0] = '\0';
            strcpy(f.popped, begun);
            while (f.queue->ops->length(f.queue)) {
                ki_status status = f.queue->ops->pop(f.queue, fifo_note, &f, NULL);
                assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
            }
            assert_string_equal(f.popped, popped[i][column]);
            fifo_close(&f);
        }
    }
}

TEST(no_queue_is_made_without_memory) {
    for (size_t fail_at = 0; fail_at < OWN_ALLOCATIONS; fail_at++) {
        scarce_memory memory;
        scarce_memory_init(&memory, fail_at);
        const ki_queue_options options = KI_QUEUE_OPTIONS(.kind = kind, .allocator = &memory.allocator);
        ki_queue *queue = NULL;
        assert_int_equal(ki_queue_new(&options, &queue, NULL), KI_ERR_NO_MEMORY);
        assert_null(queue);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(what_is_queued_is_freed_with_the_queue) {
    for (unsigned pops = 0; pops < 40; pops++) {
        fifo_stage f;
        bool is_first = pops % 2; /* a first list, with changes behind it */
        fifo_open(&f, kind, is_first ? "" : "a=1 b=1 k=1 l=1", &ki_allocator_default);
        f.queue->slice = 1;
        fifo_play(&f, is_first ? "{3: a=3 c=3 d=3 e=3}; ~d=4; -e=4; -x=4" : "~a=2; {3: a=3 c=3}; resync; ~a=4");
        for (unsigned i = 0; i < pops / 2; i++)
            (void)f.queue->ops->pop(f.queue, fifo_note, &f, NULL);
        fifo_close(&f);
    }
}

static int use_delta_fifo(void **state) {
    (void)state;
    kind = KI_QUEUE_DELTA_FIFO;
    column = 0;
    return 0;
}

static int use_in_order_fifo(void **state) {
    (void)state;
    kind = KI_QUEUE_IN_ORDER;
    column = 1;
    return 0;
}

TEST_GROUP(delta_fifo, use_delta_fifo, NULL);
TEST_GROUP(in_order_fifo, use_in_order_fifo, NULL);
