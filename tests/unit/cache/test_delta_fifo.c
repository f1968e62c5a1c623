/* test_delta_fifo.c: what the queue makes of adds, updates, deletions, lists and resyncs, as scripts; then its
 * edges. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "tests/support/fifo_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what comes out ----------------------------------------------------------------------------------------------- */

TEST(changes_come_out_by_key_in_order_of_first_arrival) {
    static const struct {
        const char *known; /* NULL: nobody can say */
        const char *script;
        const char *popped;
    } cases[] = {
        { NULL, "", "" },
        { NULL, "+a=1; +b=2; +c=3", "[+a=1] [+b=2] [+c=3]" },
        { NULL, "+a=1; ~a=2; ~a=3; -a=4", "[+a=1 ~a=2 ~a=3 -a=4]" },
        { NULL, "+n/a=1; +m/a=2; ~n/a=3", "[+n/a=1 ~n/a=3] [+m/a=2]" },
        /* A deletion of what is neither queued nor known is nothing. */
        { NULL, "+foo=10; ~bar=15; +qux=17; -qux=18; -baz=20", "[+foo=10] [~bar=15] [+qux=17 -qux=18]" },
        { "foo=5 bar=6 baz=7", "+foo=10; ~bar=15; -baz=20; -other=1", "[+foo=10] [~bar=15] [-baz=20]" },
        { "", "+foo=5; -foo=6", "[+foo=5 -foo=6]" },
        /* Two in a row are one: the later version. Else the older, unless it is a tombstone. */
        { "a=1", "-a=2; -a=2", "[-a=2]" },
        { "a=1", "-a=2; -a=3", "[-a=3]" },
        { "a=1", "-a=3; -a=2", "[-a=3]" },
        { "a=1", "{9:}; -a=3", "[-a=3]" },
        { "a=1", "{9:}; -a=3; {9:}", "[-a=3]" },
        { "a=1", "-a=2; +a=3; -a=4", "[-a=2 +a=3 -a=4]" },
        { "a=1", "-a=2; +a=3; -a=4; -a=5", "[-a=2 +a=3 -a=5]" },
        /* Lists. */
        { NULL, "+foo=10; {9: foo=15}", "[+foo=10 foo=15]" },
        { "foo=1", "-foo=1; {9: foo=2}", "[-foo=1 foo=2]" },
        { NULL, "{9: a=1 b=2}; {9: b=3 a=4}", "[a=1i a=4] [b=2i b=3]" },
        { NULL, "{9: a=1 a=2}", "[a=1i a=2i]" },
        { "foo=5 bar=6 baz=7", "-baz=10; {9: foo=5}", "[?bar=6] [-baz=10] [foo=5]" },
        { "foo=5 bar=6 baz=7", "+baz=10; {9: foo=5}", "[?bar=6] [+baz=10 ?baz=10] [foo=5]" },
        { NULL, "+baz=10; {9: foo=5}", "[+baz=10 ?baz=10] [foo=5]" },
        { NULL, "+baz=10; -baz=11; {9: foo=5}", "[+baz=10 -baz=11] [foo=5]" },
        { "foo=5 bar=6 baz=7", "-bar=6; +bar=100; {9: foo=5}", "[?baz=7] [-bar=6 +bar=100 ?bar=100] [foo=5]" },
        { "foo=5 bar=6 baz=7", "{9: bar=100 foo=5}; {9: foo=5}", "[?baz=7] [bar=100i ?bar=100] [foo=5i foo=5]" },
        /* What a list deletes comes before all others: another object can have its address. */
        { "a=1", "{9: b=2}", "[?a=1i] [b=2i]" },
        { "a=1", "+b=1; {9: b=2}", "[?a=1] [+b=1 b=2]" },
        { "", "+b=1; +a=1; {9: b=2}", "[+a=1 ?a=1] [+b=1 b=2]" },
        { "a=1 k=1", "+b=1; {9: b=2 k=1}; {10: b=2}", "[?a=1] [k=1 ?k=1] [+b=1 b=2 b=2]" },
        { "foo=5 bar=6", "{9:}", "[?foo=5i] [?bar=6i]" },
        { "foo=5 bar=6 baz=7", "{9: foo=5}", "[?bar=6i] [?baz=7i] [foo=5i]" },
        { NULL, "+foo=10; +bar=11; ~foo=12; -foo=15; {9:}; +bar=16; {9:}",
          "[+foo=10 ~foo=12 -foo=15] [+bar=11 ?bar=11 +bar=16 ?bar=16]" },
        { "foo=5", "{9:}; {9:}", "[?foo=5]" },
        { "foo=5", "{9:}; {9: foo=6}", "[?foo=5i foo=6]" },
        /* After a restore from a backup versions are lower, and a watch may repeat the deletion: it is of a time before
         * the tombstone's. */
        { "foo=5", "{9:}; -foo=7", "[-foo=7]" },
        { "foo=5", "{9:}; -foo=3", "[?foo=5i]" },
        /* A watch that repeats older deletions: the cache skips those, and the object's end must remain. */
        { "foo=5", "-foo=3; -foo=7", "[-foo=7]" },
        { "foo=1", "{9: foo=5}; -foo=3; -foo=7", "[foo=5i -foo=7]" },
        { "foo=5", "-foo=3; {9:}", "[?foo=5]" },
        { "foo=1", "{9: foo=5}; -foo=3; {9:}", "[foo=5i ?foo=5]" },
        { "foo=5", "-foo=7; {9:}", "[-foo=7]" },
        { "foo=5", "-foo=3#u; {9:}", "[-foo=3 ?foo=5]" },
        { "foo=1", "{9: foo=5}; -foo=3#u; {9:}", "[foo=5i -foo=3 ?foo=5]" },
        { "foo=1", "{9: foo=5}; -foo=3#u; -foo=4#v; {9:}", "[foo=5i -foo=3 -foo=4 ?foo=5]" },
        { "foo=5", "+foo=2#u; -foo=3#u; {9:}", "[+foo=2 -foo=3 ?foo=5]" },
        { "foo=5", "-foo=7#u; {9:}", "[-foo=7]" },
        /* Tombstones for objects that are only in the queue. */
        { NULL, "+a=1; {9:}", "[+a=1 ?a=1]" },
        { NULL, "{9: a=1}; {9:}", "[a=1i ?a=1]" },
        { NULL, "+a=1; -a=2; {9:}", "[+a=1 -a=2]" },
        { NULL, "+a=1; {9:}; {9:}", "[+a=1 ?a=1]" },
        { NULL, "+a=1; -a=2; +a=3; {9:}", "[+a=1 -a=2 +a=3 ?a=3]" },
        { NULL, "+a=2; {9: a=2}; {9:}", "[+a=2 a=2 ?a=2]" },
        { NULL, "+a=2; {9: a=2}; {9: a=2}; {9:}", "[+a=2 a=2 a=2 ?a=2]" },
        { "", "+a=1; {9:}", "[+a=1 ?a=1]" },
        { "", "+a=1; -a=2; {9:}", "[+a=1 -a=2]" },
        { "", "+a=1; {9:}; {9:}", "[+a=1 ?a=1]" },
        { "", "+a=1; -a=2; +a=3; {9:}", "[+a=1 -a=2 +a=3 ?a=3]" },
        { "", "+a=2; {9: a=2}; {9:}", "[+a=2 a=2 ?a=2]" },
        { "", "+a=2; {9: a=2}; {9: a=2}; {9:}", "[+a=2 a=2 a=2 ?a=2]" },
        { "a=0", "resync; {9:}", "[a=0r ?a=0i]" },
        /* Resyncs. */
        { NULL, "resync", "" },
        { "", "+a=1; resync", "[+a=1]" },
        { "foo=5", "resync", "[foo=5r]" },
        { "foo=5", "-foo=10; resync", "[-foo=10]" },
        { "foo=5", "~foo=6; resync", "[~foo=6]" },
        { "foo=5 bar=6", "~foo=6; resync; resync", "[~foo=6] [bar=6r]" },
        { "foo=5", "resync; ~foo=6; -foo=7", "[foo=5r ~foo=6 -foo=7]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        fifo_open(&f, KI_QUEUE_DELTA_FIFO, cases[i].known, &ki_allocator_default);
        fifo_play(&f, cases[i].script);
        if (strcmp(fifo_pop_all(&f), cases[i].popped) != 0)
            fail_msg("%s\ngives: %s\nnot:   %s", cases[i].script, f.popped, cases[i].popped);
        fifo_close(&f);
    }
}

TEST(many_keys_come_out_as_they_went_in) {
    enum {
        KEYS = 20000
    };
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, NULL, &ki_allocator_default);
    char text[64];
    for (int round = 0; round < 2; round++) { /* the table and the entries are given back between them */
        for (int i = 0; i < KEYS; i++) {
            snprintf(text, sizeof text, "+k%d=%d", i, i);
            assert_int_equal(fifo_step(&f, text, NULL), KI_OK);
        }
        assert_int_equal(f.queue->ops->length(f.queue), KEYS);
        for (int i = 0; i < KEYS; i++) {
            snprintf(text, sizeof text, "[+k%d=%d]", i, i);
            assert_string_equal(fifo_pop_one(&f), text);
        }
        assert_int_equal(f.queue->ops->length(f.queue), 0);
    }
    fifo_close(&f);
}

/* --- the initial population --------------------------------------------------------------------------------------- */

typedef struct watcher {
    fifo_stage *f;
    bool pops; /* from inside the callback */
    ki_status response;
    bool requeue;
    bool synced_inside;
    bool initial; /* a delta is part of the initial population */
} watcher;

static ki_status look(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    watcher *w = user;
    fifo_note(deltas, w->f, ret_requeue, err);
    w->initial = false;
    for (size_t i = 0; i < deltas->count; i++)
        w->initial = w->initial || deltas->items[i].is_in_initial_list;
    if (w->pops)
        assert_int_equal(w->f->queue->ops->pop(w->f->queue, look, w, NULL), KI_ERR_STATE);
    w->synced_inside = w->f->queue->ops->has_synced(w->f->queue);
    if (w->requeue)
        *ret_requeue = true; /* else left as it was */
    return w->response ? ki_error_set(err, w->response, "not now") : KI_OK;
}

/* --- failures and calls from inside ------------------------------------------------------------------------------- */

TEST(a_key_that_lacked_memory_stays_first_and_is_still_awaited) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, NULL, &ki_allocator_default);
    fifo_play(&f, "{9: a=1 b=1}");
    watcher w = { .f = &f, .response = KI_ERR_NO_MEMORY, .requeue = true };
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_ERR_NO_MEMORY);
    assert_int_equal(f.queue->ops->length(f.queue), 2);
    assert_false(f.queue->ops->has_synced(f.queue));
    fifo_play(&f, "~a=2");
    assert_string_equal(fifo_pop_one(&f), "[a=1i ~a=2]");
    assert_string_equal(fifo_pop_one(&f), "[b=1i]");
    assert_true(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

/* --- what could not be read --------------------------------------------------------------------------------------- */

TEST(a_deletion_that_cannot_be_read_is_a_tombstone) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, "a=1", &ki_allocator_default);
    fifo_play(&f, "?a=1; +b=1; ?b=1; ?unknown=1");
    assert_string_equal(fifo_pop_all(&f), "[?a=1] [+b=1 ?b=1]");
    fifo_close(&f);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

typedef struct crowd {
    fifo_stage *f;
    scarce_memory *memory;
    int count;
} crowd;

/* Queues so many others, from when on there is no memory any more, and wants its own key back in the
 * queue. */
static ki_status crowd_out(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    const crowd *c = user;
    (void)deltas;
    (void)err;
    for (int i = 0; i < c->count; i++) {
        char text[32];
        sprintf(text, "+k%d=1", i);
        fifo_play(c->f, text);
    }
    c->memory->fail_at = c->memory->calls;
    c->memory->forever = true;
    *ret_requeue = true;
    return KI_ERR_STATE;
}

TEST(without_memory_a_key_that_fails_stays_in_the_queue) {
    for (int count = 0; count < 40; count++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        fifo_stage f;
        fifo_open(&f, KI_QUEUE_DELTA_FIFO, NULL, &memory.allocator);
        fifo_play(&f, "+x=1");
        crowd c = { &f, &memory, count };
        assert_int_equal(fifo_pop(&f, crowd_out, &c, NULL), KI_ERR_STATE);
        fifo_play(&f, "~x=2"); /* found again: there is an entry with room */
        assert_int_equal(f.queue->ops->length(f.queue), count + 1);
        assert_non_null(strstr(fifo_pop_all(&f), "[+x=1 ~x=2]"));
        fifo_close(&f);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(nothing_is_allocated_in_the_steady_state) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, NULL, &memory.allocator);
    fifo_play(&f, "+d=1; +e=2; +f=3");
    fifo_pop_all(&f);
    size_t calls = memory.calls;
    for (int i = 0; i < 100; i++) {
        fifo_play(&f, "+d=1; ~d=2; +e=2; +f=3");
        fifo_pop_all(&f);
    }
    assert_int_equal(memory.calls, calls);
    fifo_close(&f);
}

static void burst(fifo_stage *f, int count) {
    char text[32];
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "+k%d=1", i);
        fifo_play(f, text);
    }
    for (int i = 0; i < count; i++)
        fifo_pop_one(f);
}

/* A process loop does not pop from a queue that it has emptied. */
TEST(what_a_burst_took_is_given_back_whenever_a_pop_empties_the_queue) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, NULL, &memory.allocator);
    burst(&f, 1);
    size_t least = memory.bytes + 2000; /* with some entries that stay */
    burst(&f, 2000);
    assert_true(memory.bytes > least + 100000);
    for (int i = 0; i < 10; i++)
        burst(&f, 200); /* what these need stays */
    size_t calls = memory.calls;
    burst(&f, 200);
    assert_int_equal(memory.calls, calls);
    for (int i = 0; i < 10; i++)
        burst(&f, 1);
    assert_in_range(memory.bytes, 0, least + 8000); /* the table of 200 keys */
    burst(&f, 2000);
    for (int i = 0; i < 20; i++)
        burst(&f, 1);
    assert_in_range(memory.bytes, 0, least);
    fifo_close(&f);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(a_key_may_have_any_number_of_changes) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, NULL, &ki_allocator_default);
    for (int round = 0; round < 2; round++) {
        char text[32], expected[NOTATION_TEXT] = "[";
        for (int i = 1; i <= 100; i++) {
            sprintf(text, "~a=%d", i);
            fifo_play(&f, text);
            sprintf(expected + strlen(expected), "%s~a=%d", i > 1 ? " " : "", i);
        }
        strcat(expected, "]");
        assert_string_equal(fifo_pop_all(&f), expected);
    }
    fifo_close(&f);
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

enum {
    KNOWN = 4
};

/* A DeltaFIFO over a store of a, b, k and l that works off one unit in each pop. */
static void open_slicing(fifo_stage *f) {
    fifo_open(f, KI_QUEUE_DELTA_FIFO, "a=1 b=1 k=1 l=1", &ki_allocator_default);
    f->queue->slice = 1;
}

/* Pops until a key has been handed out. Returns the units that were worked off before it. */
static size_t pop(fifo_stage *f) {
    size_t slices = 0;
    f->popped[0] = '\0';
    do {
        assert_int_equal(f->queue->ops->pop(f->queue, fifo_note, f, NULL), KI_OK);
        assert_true(f->queue->work <= 1);
        assert_true(f->popped[0] == '\0' || f->queue->work == 0);
        slices += f->queue->work;
    } while (f->queue->work);
    return slices;
}

TEST(a_list_is_worked_off_a_slice_at_a_time_before_any_key_is_handed_out) {
    static const char *const rest[] = { "[?l=1]", "[~k=2 ?k=2]", "[~a=2 a=3 ~a=4]", "[c=3]", "[+d=5]" };
    fifo_stage f;
    open_slicing(&f);
    fifo_play(&f, "~a=2; ~k=2; {3: a=3 c=3}; ~a=4; -b=4; +d=5; resync");
    assert_true(pop(&f) > 10);
    assert_string_equal(f.popped, "[-b=4]");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        assert_int_equal(pop(&f), 0);
        assert_string_equal(f.popped, rest[i]);
    }
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    fifo_close(&f);
}

/* --- a first list ------------------------------------------------------------------------------------------------- */

/* Whether the queue makes entries of a first list or hands out its objects themselves, the same comes out. */
TEST(a_first_list_merges_with_what_arrives_meanwhile) {
    static const struct {
        const char *list;
        size_t pops; /* keys that are handed out before the rest arrives */
        const char *rest;
        const char *popped;
    } cases[] = {
        { "{9: a=1 b=1 c=1}", 0, "~a=2; +d=2", "[a=1i ~a=2] [b=1i] [c=1i] [+d=2]" },
        { "{9: a=1 b=1 c=1}", 1, "~a=2; ~b=2", "[a=1i] [b=1i ~b=2] [c=1i] [~a=2]" },
        { "{9: a=1 b=1 c=1}", 2, "-c=2; ~b=2", "[a=1i] [b=1i] [c=1i -c=2] [~b=2]" },
        { "{9: a=1 b=1 c=1}", 3, "~c=2", "[a=1i] [b=1i] [c=1i] [~c=2]" },
        { "{9: a=1 b=1 c=1}", 1, "{9: b=2 d=2}", "[a=1i] [c=1i ?c=1] [b=1i b=2] [d=2]" },
        { "{9: a=1 b=1 c=1}", 1, "{9:}; ~b=3", "[a=1i] [b=1i ?b=1 ~b=3] [c=1i ?c=1]" },
        { "{9: a=1 b=1 c=1}", 1, "resync", "[a=1i] [b=1i] [c=1i]" },
        { "{9: a=1 b=1 c=1}", 1, "~c=2; ~d=2; ~c=3; ~d=3", "[a=1i] [b=1i] [c=1i ~c=2 ~c=3] [~d=2 ~d=3]" },
        { "{9: a=1 b=1 c=1}", 1, "~c=2; +d=2; ~a=2; {9: b=3 a=3}",
          "[a=1i] [c=1i ~c=2 ?c=2] [+d=2 ?d=2] [b=1i b=3] [~a=2 a=3]" },
        { "{9: a=1 b=1 c=1}", 1, "~c=2; {9: b=3}; ~c=4; {9: c=5}", "[a=1i] [b=1i b=3 ?b=3] [c=1i ~c=2 ?c=2 ~c=4 c=5]" },
        { "{9: a=1 b=1 c=1}", 1, "+d=2; resync; ~d=3", "[a=1i] [b=1i] [c=1i] [+d=2 ~d=3]" },
        /* A deletion counts only if the list has its object, or the object is known, or queued. */
        { "{9: a=1 b=1 c=1}", 1, "-c=2; -c=3; +c=4; -c=5", "[a=1i] [b=1i] [c=1i -c=3 +c=4 -c=5]" },
        { "{9: a=1 b=1 c=1}", 1, "-c=2#u; -c=3; -c=4", "[a=1i] [b=1i] [c=1i -c=2 -c=4]" },
        { "{9: a=1 b=1 c=1}", 1, "-a=2; -x=2; -x=3#u; ~b=2", "[a=1i] [b=1i ~b=2] [c=1i]" },
        { "{9: a=1 b=1 c=1}", 1, "-x=2; +d=2; +x=3; -x=4; -x=5", "[a=1i] [b=1i] [c=1i] [+d=2] [+x=3 -x=5]" },
        { "{9: a=1 b=1 c=1}", 3, "-c=2; +d=2", "[a=1i] [b=1i] [c=1i] [+d=2]" },
        { "{9: a=1 b=1 c=1}", 1, "-c=2; {9: b=3}", "[a=1i] [c=1i -c=2] [b=1i b=3]" },
        { "{9: a=1 b=1 c=1}", 1, "-c=2; -x=2; {9: b=3 x=3 d=3}", "[a=1i] [c=1i -c=2] [b=1i b=3] [x=3] [d=3]" },
        { "{9: a=1 b=1 c=1}", 1, "-x=2; +d=2; {9: d=3 x=3}", "[a=1i] [b=1i ?b=1] [c=1i ?c=1] [+d=2 d=3] [x=3]" },
        { "{9: a=1 b=1 c=1}", 1, "+d=2; -x=2; {9: x=3 e=3}", "[a=1i] [b=1i ?b=1] [c=1i ?c=1] [+d=2 ?d=2] [x=3] [e=3]" },
        { "{9: a=1 b=1 c=1}", 1, "-x=2; {9:}; {9: b=3}", "[a=1i] [c=1i ?c=1] [b=1i ?b=1 b=3]" },
        /* A key listed twice is one item. */
        { "{9: a=1 b=1 a=2 c=1}", 0, "", "[a=1i a=2i] [b=1i] [c=1i]" },
        { "{9: a=1 b=1 a=2 c=1}", 1, "~b=2", "[a=1i a=2i] [b=1i ~b=2] [c=1i]" },
        /* An object that could not be read. */
        { "{9: a=1 b=! c=1}", 1, "+b=2; {9: b=!}", "[a=1i] [c=1i ?c=1] [+b=2]" },
        /* A change before the list. */
        { "+z=1; {9: a=1 z=!}", 0, "", "[+z=1] [a=1]" },
        { "+z=1; {9: a=1}", 0, "", "[+z=1 ?z=1] [a=1]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        char popped[NOTATION_TEXT] = "";
        fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &ki_allocator_default);
        f.queue->slice = 1;
        fifo_play(&f, cases[i].list);
        for (size_t pops = 0; pops < cases[i].pops; pops++) {
            pop(&f);
            strcat(strcat(popped, *popped ? " " : ""), f.popped);
        }
        fifo_play(&f, cases[i].rest);
        fifo_pop_all(&f);
        strcat(strcat(popped, *popped && *f.popped ? " " : ""), f.popped);
        if (strcmp(popped, cases[i].popped) != 0)
            fail_msg("%s, %zu keys, %s\ngives: %s\nnot:   %s", cases[i].list, cases[i].pops, cases[i].rest, popped,
                     cases[i].popped);
        assert_true(f.queue->ops->has_synced(f.queue));
        assert_int_equal(f.queue->ops->length(f.queue), 0);
        fifo_close(&f);
    }
}

TEST(an_object_of_a_first_list_whose_processing_failed_stays_first) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &ki_allocator_default);
    fifo_play(&f, "{9: a=1 b=1}");
    watcher w = { .f = &f, .response = KI_ERR_NO_MEMORY, .requeue = true, .pops = true };
    for (int round = 0; round < 2; round++) {
        f.popped[0] = '\0';
        assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_ERR_NO_MEMORY);
        assert_string_equal(f.popped, "[a=1i]");
        assert_int_equal(f.queue->ops->length(f.queue), 2);
        w.pops = false;
    }
    fifo_play(&f, "~a=2; +c=2"); /* finds it queued */
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_ERR_NO_MEMORY);
    assert_false(f.queue->ops->has_synced(f.queue));
    fifo_play(&f, "-a=3");
    f.popped[0] = '\0';
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_ERR_NO_MEMORY);
    assert_string_equal(f.popped, "[a=1i ~a=2 -a=3]");
    fifo_play(&f, "~b=2; {9: c=4}");
    assert_string_equal(fifo_pop_all(&f), "[a=1i ~a=2 -a=3] [b=1i ~b=2 ?b=2] [+c=2 c=4]");
    fifo_close(&f);
}

TEST(a_deletion_of_a_known_object_amid_a_first_list_is_queued) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &ki_allocator_default);
    fifo_play(&f, "{9: a=1 b=1 c=1}");
    assert_string_equal(fifo_pop_one(&f), "[a=1i]");
    fifo_know(&f, "a=1 k=1");
    fifo_play(&f, "-a=2; -x=2; ~d=2; resync");
    assert_string_equal(fifo_pop_all(&f), "[b=1i] [c=1i] [-a=2] [~d=2] [k=1r]");
    fifo_close(&f);
}

TEST(the_last_object_of_a_first_list_makes_it_synced_whatever_arrived_meanwhile) {
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &ki_allocator_default);
    fifo_play(&f, "{9: a=1 b=1}; -b=2; +c=2; -x=2");
    assert_string_equal(fifo_pop_one(&f), "[a=1i]");
    assert_false(f.queue->ops->has_synced(f.queue));
    assert_string_equal(fifo_pop_one(&f), "[b=1i -b=2]");
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_string_equal(fifo_pop_all(&f), "[+c=2]");
    fifo_close(&f);
}

TEST(lack_of_memory_leaves_a_first_list_and_its_changes_as_they_were) {
    static const char *const rest[] = { NULL, "{9: b=8 x=8}" };
    static const char *const popped[] = { "[a=1i] [b=1i ~b=2 ~b=3 ~b=4] [c=1i -c=2] [+d=2]",
                                          "[a=1i] [c=1i -c=2] [+d=2 ?d=2] [b=1i ~b=2 ~b=3 ~b=4 b=8] [x=8]" };
    for (size_t i = 0; i < 2; i++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(1);
        while (scarce_memory_next(&memory)) {
            fifo_stage f;
            fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &memory.allocator);
            fifo_play_scarce(&f, "{9: a=1 b=1 c=1}; ~b=2");
            char begun[NOTATION_TEXT];
            f.popped[0] = '\0';
            while (fifo_pop(&f, fifo_note, &f, NULL)) {}
            strcpy(begun, f.popped);
            fifo_play_scarce(&f, "-c=2; ~b=3; ~b=4; -x=2; +d=2");
            if (rest[i])
                fifo_play_scarce(&f, rest[i]);
            assert_string_equal(strcat(strcat(begun, " "), fifo_pop_all(&f)), popped[i]);
            fifo_close(&f);
        }
    }
}

enum {
    OBJECTS = 5000, /* of a first list */
    CHANGED = 100,
    LIST_BYTES = OBJECTS * sizeof(ki_object *) + 2000,
    CHANGE_BYTES = 200 /* at most, for a waiting change of another key */
};

/* Once the table of the list's keys is freed. Before, it takes more than the entries of all changes. */
TEST(changes_amid_a_first_list_need_memory_for_their_own_keys_alone) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &memory.allocator);
    fifo_list_numbered(f.queue, &memory.allocator, OBJECTS);
    size_t most = 0;
    for (int i = 0; i < OBJECTS; i++) {
        char text[64];
        for (int k = 0; i % 1000 == 0 && k < CHANGED / 5; k++) {
            int at = i + 1 + k * (OBJECTS - i - 2) / (CHANGED / 5);
            snprintf(text, sizeof text, k % 2 ? "-k%d=2" : "~k%d=2", at);
            fifo_play(&f, text);
        }
        fifo_pop_one(&f);
        snprintf(text, sizeof text, "[k%d=1i", i);
        assert_int_equal(strncmp(f.popped, text, strlen(text)), 0);
        most = memory.bytes > most ? memory.bytes : most;
    }
    assert_in_range(most, LIST_BYTES, LIST_BYTES + CHANGED * CHANGE_BYTES);
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    fifo_close(&f);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(a_first_list_needs_no_memory_for_each_object_while_it_is_handed_out) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    fifo_stage f;
    fifo_open(&f, KI_QUEUE_DELTA_FIFO, "", &memory.allocator);
    fifo_list_numbered(f.queue, &memory.allocator, OBJECTS);
    assert_int_equal(f.queue->ops->length(f.queue), 1); /* until the list has begun */
    assert_string_equal(fifo_pop_one(&f), "[k0=1i]");
    size_t calls = memory.calls;
    assert_in_range(memory.bytes, OBJECTS * sizeof(ki_object *), OBJECTS * sizeof(ki_object *) + 2000);
    for (int i = 1; i < OBJECTS; i++) {
        char text[32];
        snprintf(text, sizeof text, "[k%d=1i]", i);
        assert_int_equal(f.queue->ops->length(f.queue), OBJECTS - i);
        assert_false(f.queue->ops->has_synced(f.queue));
        assert_string_equal(fifo_pop_one(&f), text);
    }
    assert_int_equal(memory.calls, calls);
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    assert_true(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(a_resync_is_under_way_until_its_last_key_is_processed) {
    fifo_stage f;
    open_slicing(&f);
    assert_false(f.queue->ops->is_resyncing(f.queue));
    fifo_play(&f, "resync; +z=1");
    for (size_t i = 0; i < KNOWN; i++) {
        assert_true(f.queue->ops->is_resyncing(f.queue));
        pop(&f);
        assert_non_null(strstr(f.popped, "=1r]"));
    }
    assert_false(f.queue->ops->is_resyncing(f.queue));
    pop(&f);
    assert_string_equal(f.popped, "[+z=1]");
    fifo_close(&f);
}
