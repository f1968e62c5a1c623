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

static void changes_come_out_by_key_in_order_of_first_arrival(void **state) {
    (void)state;
    static const struct {
        const char *known; /* NULL: nobody can say */
        const char *script;
        const char *popped;
    } cases[] = {
        { NULL, "", "" },
        { NULL, "add a=1; add b=2; add c=3", "a: Added 1; b: Added 2; c: Added 3; " },
        { NULL, "add a=1; update a=2; update a=3; delete a=4", "a: Added 1 Updated 2 Updated 3 Deleted 4; " },
        { NULL, "add n/a=1; add m/a=2; update n/a=3", "n/a: Added 1 Updated 3; m/a: Added 2; " },
        /* A deletion of what is neither queued nor known is nothing. */
        { NULL, "add foo=10; update bar=15; add qux=17; delete qux=18; delete baz=20",
          "foo: Added 10; bar: Updated 15; qux: Added 17 Deleted 18; " },
        { "foo=5 bar=6 baz=7", "add foo=10; update bar=15; delete baz=20; delete other=1",
          "foo: Added 10; bar: Updated 15; baz: Deleted 20; " },
        { "", "add foo=5; delete foo=6", "foo: Added 5 Deleted 6; " },
        /* Two in a row are one: the later version. Else the older, unless it is a tombstone. */
        { "a=1", "delete a=2; delete a=2", "a: Deleted 2; " },
        { "a=1", "delete a=2; delete a=3", "a: Deleted 3; " },
        { "a=1", "delete a=3; delete a=2", "a: Deleted 3; " },
        { "a=1", "replace; delete a=3", "a: Deleted 3; " },
        { "a=1", "replace; delete a=3; replace", "a: Deleted 3; " },
        { "a=1", "delete a=2; add a=3; delete a=4", "a: Deleted 2 Added 3 Deleted 4; " },
        { "a=1", "delete a=2; add a=3; delete a=4; delete a=5", "a: Deleted 2 Added 3 Deleted 5; " },
        /* Lists. */
        { NULL, "add foo=10; replace foo=15", "foo: Added 10 Replaced 15; " },
        { "foo=1", "delete foo=1; replace foo=2", "foo: Deleted 1 Replaced 2; " },
        { NULL, "replace a=1 b=2; replace b=3 a=4", "a: Replaced 1 Replaced 4; b: Replaced 2 Replaced 3; " },
        { NULL, "replace a=1 a=2", "a: Replaced 1 Replaced 2; " },
        { "foo=5 bar=6 baz=7", "delete baz=10; replace foo=5", "baz: Deleted 10; foo: Replaced 5; bar: Tombstone 6; " },
        { "foo=5 bar=6 baz=7", "add baz=10; replace foo=5",
          "baz: Added 10 Tombstone 10; foo: Replaced 5; bar: Tombstone 6; " },
        { NULL, "add baz=10; replace foo=5", "baz: Added 10 Tombstone 10; foo: Replaced 5; " },
        { NULL, "add baz=10; delete baz=11; replace foo=5", "baz: Added 10 Deleted 11; foo: Replaced 5; " },
        { "foo=5 bar=6 baz=7", "delete bar=6; add bar=100; replace foo=5",
          "bar: Deleted 6 Added 100 Tombstone 100; foo: Replaced 5; baz: Tombstone 7; " },
        { "foo=5 bar=6 baz=7", "replace bar=100 foo=5; replace foo=5",
          "bar: Replaced 100 Tombstone 100; foo: Replaced 5 Replaced 5; baz: Tombstone 7; " },
        { "foo=5 bar=6", "replace", "foo: Tombstone 5; bar: Tombstone 6; " },
        { "foo=5 bar=6 baz=7", "replace foo=5", "foo: Replaced 5; bar: Tombstone 6; baz: Tombstone 7; " },
        { NULL, "add foo=10; add bar=11; update foo=12; delete foo=15; replace; add bar=16; replace",
          "foo: Added 10 Updated 12 Deleted 15; bar: Added 11 Tombstone 11 Added 16 Tombstone 16; " },
        { "foo=5", "replace; replace", "foo: Tombstone 5; " },
        { "foo=5", "replace; replace foo=6", "foo: Tombstone 5 Replaced 6; " },
        /* After a restore from a backup versions are lower, and a watch may repeat the deletion: it is of a time before
         * the tombstone's. */
        { "foo=5", "replace; delete foo=7", "foo: Deleted 7; " },
        { "foo=5", "replace; delete foo=3", "foo: Tombstone 5; " },
        /* A watch that repeats older deletions: the cache skips those, and the object's end must remain. */
        { "foo=5", "delete foo=3; delete foo=7", "foo: Deleted 7; " },
        { "foo=1", "replace foo=5; delete foo=3; delete foo=7", "foo: Replaced 5 Deleted 7; " },
        { "foo=5", "delete foo=3; replace", "foo: Tombstone 5; " },
        { "foo=1", "replace foo=5; delete foo=3; replace", "foo: Replaced 5 Tombstone 5; " },
        { "foo=5", "delete foo=7; replace", "foo: Deleted 7; " },
        /* Tombstones for objects that are only in the queue. */
        { NULL, "add a=1; replace", "a: Added 1 Tombstone 1; " },
        { NULL, "replace a=1; replace", "a: Replaced 1 Tombstone 1; " },
        { NULL, "add a=1; delete a=2; replace", "a: Added 1 Deleted 2; " },
        { NULL, "add a=1; replace; replace", "a: Added 1 Tombstone 1; " },
        { NULL, "add a=1; delete a=2; add a=3; replace", "a: Added 1 Deleted 2 Added 3 Tombstone 3; " },
        { NULL, "add a=2; replace a=2; replace", "a: Added 2 Replaced 2 Tombstone 2; " },
        { NULL, "add a=2; replace a=2; replace a=2; replace", "a: Added 2 Replaced 2 Replaced 2 Tombstone 2; " },
        { "", "add a=1; replace", "a: Added 1 Tombstone 1; " },
        { "", "add a=1; delete a=2; replace", "a: Added 1 Deleted 2; " },
        { "", "add a=1; replace; replace", "a: Added 1 Tombstone 1; " },
        { "", "add a=1; delete a=2; add a=3; replace", "a: Added 1 Deleted 2 Added 3 Tombstone 3; " },
        { "", "add a=2; replace a=2; replace", "a: Added 2 Replaced 2 Tombstone 2; " },
        { "", "add a=2; replace a=2; replace a=2; replace", "a: Added 2 Replaced 2 Replaced 2 Tombstone 2; " },
        { "a=0", "resync; replace", "a: Sync 0 Tombstone 0; " },
        /* Resyncs. */
        { NULL, "resync", "" },
        { "", "add a=1; resync", "a: Added 1; " },
        { "foo=5", "resync", "foo: Sync 5; " },
        { "foo=5", "delete foo=10; resync", "foo: Deleted 10; " },
        { "foo=5", "update foo=6; resync", "foo: Updated 6; " },
        { "foo=5 bar=6", "update foo=6; resync; resync", "foo: Updated 6; bar: Sync 6; " },
        { "foo=5", "resync; update foo=6; delete foo=7", "foo: Sync 5 Updated 6 Deleted 7; " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        delta_fifo_open(&f, cases[i].known, &ki_allocator_default);
        fifo_play(&f, cases[i].script);
        if (strcmp(fifo_pop_all(&f), cases[i].popped) != 0)
            fail_msg("%s\ngives: %s\nnot:   %s", cases[i].script, f.popped, cases[i].popped);
        fifo_close(&f);
    }
}

static void a_key_that_was_popped_does_not_jump_the_line(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    fifo_play(&f, "add foo=10; add bar=1; add foo=11; add foo=13; add zab=30");
    assert_string_equal(fifo_pop_one(&f), "foo: Added 10 Added 11 Added 13; ");
    fifo_play(&f, "add foo=14");
    assert_string_equal(fifo_pop_all(&f), "bar: Added 1; zab: Added 30; foo: Added 14; ");
    fifo_close(&f);
}

static void many_keys_come_out_as_they_went_in(void **state) {
    (void)state;
    enum {
        KEYS = 20000
    };
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    char text[64];
    for (int round = 0; round < 2; round++) { /* the table and the entries are given back between them */
        for (int i = 0; i < KEYS; i++) {
            snprintf(text, sizeof text, "add k%d=%d", i, i);
            assert_int_equal(fifo_change(&f, text, NULL), KI_OK);
        }
        assert_int_equal(f.queue->ops->length(f.queue), KEYS);
        for (int i = 0; i < KEYS; i++) {
            snprintf(text, sizeof text, "k%d: Added %d; ", i, i);
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

static void it_has_synced_once_the_first_list_is_processed(void **state) {
    (void)state;
    static const struct {
        const char *known;
        const char *script;
        int pops; /* how many it takes */
    } cases[] = {
        { NULL, "add a=1", 0 },
        { NULL, "update a=1", 0 },
        { "", "delete a=1", 0 },
        { NULL, "replace", 0 },
        { NULL, "replace a=1", 1 },
        { NULL, "replace a=1 b=1", 2 },
        { NULL, "replace a=1 a=2", 1 },
        { NULL, "replace a=1; add b=1", 1 },
        { NULL, "replace a=1 b=1; replace c=1", 2 },
        { NULL, "add a=1; replace a=1 b=1", 0 },
        { "foo=5 bar=6 baz=7", "replace foo=5", 3 },
        { "foo=5", "resync; replace bar=1", 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fifo_stage f;
        delta_fifo_open(&f, cases[i].known, &ki_allocator_default);
        assert_false(f.queue->ops->has_synced(f.queue));
        fifo_play(&f, cases[i].script);
        for (int pops = 0; pops < cases[i].pops; pops++) {
            if (f.queue->ops->has_synced(f.queue))
                fail_msg("%s: too early, after %d", cases[i].script, pops);
            watcher w = { .f = &f };
            assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_OK);
            if (!w.initial)
                fail_msg("%s: not of the initial population: %s", cases[i].script, f.popped);
            f.popped[0] = '\0';
        }
        if (cases[i].pops == 0) { /* an empty list is worked off */
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

static void a_resync_alone_does_not_make_it_synced(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, "a=1", &ki_allocator_default);
    fifo_play(&f, "resync");
    fifo_pop_all(&f);
    assert_false(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

static void it_has_not_synced_while_the_last_one_is_processed(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    fifo_play(&f, "replace a=1; add b=1");
    watcher w = { .f = &f };
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_OK);
    assert_true(w.initial);
    assert_false(w.synced_inside);
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_OK);
    assert_false(w.initial);
    fifo_close(&f);
}

static void a_failure_without_requeue_counts_as_processed(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    fifo_play(&f, "replace a=1");
    watcher w = { .f = &f, .response = KI_ERR_INVALID };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(fifo_pop(&f, look, &w, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "not now");
    assert_true(f.queue->ops->has_synced(f.queue));
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    fifo_close(&f);
}

/* --- failures and calls from inside ------------------------------------------------------------------------------- */

static void a_key_whose_processing_failed_stays_first_and_is_still_awaited(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    fifo_play(&f, "replace a=1 b=1");
    watcher w = { .f = &f, .response = KI_ERR_STATE, .requeue = true };
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_ERR_STATE);
    assert_int_equal(f.queue->ops->length(f.queue), 2);
    assert_false(f.queue->ops->has_synced(f.queue));
    fifo_play(&f, "update a=2");
    assert_string_equal(fifo_pop_one(&f), "a: Replaced 1 Updated 2; ");
    assert_string_equal(fifo_pop_one(&f), "b: Replaced 1; ");
    assert_true(f.queue->ops->has_synced(f.queue));
    fifo_close(&f);
}

static void the_callback_may_not_pop(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    fifo_play(&f, "add a=1; add b=1");
    watcher w = { .f = &f, .pops = true };
    assert_int_equal(fifo_pop(&f, look, &w, NULL), KI_OK);
    assert_string_equal(fifo_pop_all(&f), "b: Added 1; ");
    fifo_close(&f);
}

static void ready_is_called_when_there_is_something_again(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, "k=1", &ki_allocator_default);
    fifo_play(&f, "delete unknown=1");
    assert_int_equal(f.ready, 0);
    fifo_play(&f, "add a=1");
    assert_int_equal(f.ready, 1);
    fifo_play(&f, "add b=1; update a=2; replace a=3");
    assert_int_equal(f.ready, 1);
    fifo_pop_all(&f);
    fifo_play(&f, "replace");
    assert_int_equal(f.ready, 2);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 3);
    f.queue->ops->close(f.queue);
    assert_int_equal(f.ready, 3);
    fifo_close(&f);
}

static void a_closed_queue_hands_out_the_rest_and_takes_nothing(void **state) {
    (void)state;
    static const char *const changes[] = { "add a=1", "update a=1", "delete a=1", "replace a=1", "resync" };
    fifo_stage f;
    delta_fifo_open(&f, "a=0", &ki_allocator_default);
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(fifo_pop(&f, fifo_note, &f, &err), KI_ERR_NOT_FOUND);
    fifo_play(&f, "add b=1");
    f.queue->ops->close(f.queue);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_int_equal(fifo_change(&f, changes[i], &err), KI_ERR_CLOSED);
    assert_string_equal(fifo_pop_one(&f), "b: Added 1; ");
    assert_int_equal(fifo_pop(&f, fifo_note, &f, &err), KI_ERR_CLOSED);
    fifo_close(&f);
}

/* --- what could not be read --------------------------------------------------------------------------------------- */

static void a_listed_object_that_cannot_be_read_is_not_deleted(void **state) {
    static const struct {
        const char *known, *script, *popped;
    } rows[] = {
        { "a=1 b=1", "replace a=!", "b: Tombstone 1; " },
        { "a=1 b=1", "replace b=2 ?=!", "b: Replaced 2; " },
        { "", "add a=1; add b=1; replace a=!", "a: Added 1; b: Added 1 Tombstone 1; " },
        { "", "add a=1; replace ?=!", "a: Added 1; " },
        { "", "replace new=!", "" },
        { "a=1", "replace a=!; replace", "a: Tombstone 1; " },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fifo_stage f;
        delta_fifo_open(&f, rows[i].known, &ki_allocator_default);
        fifo_play(&f, rows[i].script);
        assert_string_equal(fifo_pop_all(&f), rows[i].popped);
        assert_true(f.queue->ops->has_synced(f.queue));
        fifo_close(&f);
    }
}

static void a_deletion_that_cannot_be_read_is_a_tombstone(void **state) {
    fifo_stage f;
    (void)state;
    delta_fifo_open(&f, "a=1", &ki_allocator_default);
    fifo_play(&f, "lose a=1; add b=1; lose b=1; lose unknown=1");
    assert_string_equal(fifo_pop_all(&f), "a: Tombstone 1; b: Added 1 Tombstone 1; ");
    fifo_close(&f);
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
        size_t i = 0;
        while (i < f->known.count && strcmp(ki_object_key(f->known.items[i]), ki_object_key(deltas->items[d].obj)) != 0)
            i++;
        if (i < f->known.count) {
            ki_object_unref(f->known.items[i]);
            f->known.items[i] = f->known.items[--f->known.count];
        }
        if (deltas->items[d].type != KI_EVENT_DELETE)
            f->known.items[f->known.count++] = ki_object_ref(deltas->items[d].obj);
    }
    return KI_OK;
}

/* Whatever comes in and is popped in between: once the queue is empty, what is known is what the source
 * has. */
static void what_is_known_ends_as_what_the_source_has(void **state) {
    (void)state;
    enum {
        KEYS = FIFO_OBJECTS,
        ROUNDS = 30,
        CHANGES = 300
    };
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        fifo_stage f;
        delta_fifo_open(&f, "", &ki_allocator_default);
        unsigned source[KEYS] = { 0 }; /* versions; 0: not there */
        uint64_t random = seed;
        for (unsigned version = 1; version <= CHANGES; version++) {
            unsigned what = next_random(&random) % 100, key = next_random(&random) % KEYS;
            char text[FIFO_TEXT] = "resync";
            if (what < 50) {
                sprintf(text, "%s k%u=%u", source[key] ? "update" : "add", key, version);
                source[key] = version;
            } else if (what < 70 && source[key]) {
                sprintf(text, "delete k%u=%u", key, version);
                source[key] = 0;
            } else if (what < 75) { /* some changes were missed */
                strcpy(text, "replace");
                for (unsigned k = 0; k < KEYS; k++) {
                    unsigned fate = next_random(&random) % 4;
                    source[k] = fate == 0 ? 0 : fate == 1 ? version : source[k];
                    if (source[k])
                        sprintf(text + strlen(text), " k%u=%u", k, source[k]);
                }
            }
            fifo_play(&f, text);
            for (unsigned pops = next_random(&random) % 4; pops; pops--)
                fifo_pop(&f, apply, &f, NULL);
        }
        while (f.queue->ops->length(f.queue))
            fifo_pop(&f, apply, &f, NULL);
        assert_true(f.queue->ops->has_synced(f.queue));
        for (unsigned k = 0; k < KEYS; k++) {
            char key[8];
            sprintf(key, "k%u", k);
            ki_object *obj = fifo_known(key, &f);
            assert_int_equal(obj ? strtoul(ki_object_resource_version(obj), NULL, 10) : 0, source[k]);
            ki_object_unref(obj);
        }
        fifo_close(&f);
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void lack_of_memory_leaves_the_queue_as_it_was(void **state) {
    (void)state;
    scarce_memory memory = SCARCE_MEMORY_FROM(1); /* making the queue takes one */
    while (scarce_memory_next(&memory)) {
        fifo_stage f;
        delta_fifo_open(&f, "b=1 k=1", &memory.allocator);
        fifo_play_scarce(&f, "add a=1; update a=2; update a=3; delete a=4; add a=5; delete b=6; "
                             "replace a=7 c=8 c=9 c=10 d=11; add e=12; resync; replace");
        assert_string_equal(fifo_pop_all(&f),
                            "a: Added 1 Updated 2 Updated 3 Deleted 4 Added 5 Replaced 7 Tombstone 7; b: Deleted 6; "
                            "c: Replaced 8 Replaced 9 Replaced 10 Tombstone 10; d: Replaced 11 Tombstone 11; "
                            "k: Tombstone 1; e: Added 12 Tombstone 12; ");
        fifo_close(&f);
    }
}

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
        sprintf(text, "add k%d=1", i);
        fifo_play(c->f, text);
    }
    c->memory->fail_at = c->memory->calls;
    c->memory->forever = true;
    *ret_requeue = true;
    return KI_ERR_STATE;
}

static void a_requeue_needs_no_memory(void **state) {
    (void)state;
    for (int count = 0; count < 40; count++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        fifo_stage f;
        delta_fifo_open(&f, NULL, &memory.allocator);
        fifo_play(&f, "add x=1");
        crowd c = { &f, &memory, count };
        assert_int_equal(fifo_pop(&f, crowd_out, &c, NULL), KI_ERR_STATE);
        fifo_play(&f, "update x=2"); /* found again: there is an entry with room */
        assert_int_equal(f.queue->ops->length(f.queue), count + 1);
        assert_non_null(strstr(fifo_pop_all(&f), "x: Added 1 Updated 2; "));
        fifo_close(&f);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

static void no_queue_is_made_without_memory(void **state) {
    (void)state;
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_delta_fifo_options options = { .allocator = &memory.allocator };
    ki_queue *queue = NULL;
    assert_int_equal(ki_delta_fifo_new(&options, &queue, NULL), KI_ERR_NO_MEMORY);
    assert_null(queue);
}

static void nothing_is_allocated_in_the_steady_state(void **state) {
    (void)state;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    fifo_stage f;
    delta_fifo_open(&f, NULL, &memory.allocator);
    fifo_play(&f, "add d=1; add e=2; add f=3");
    fifo_pop_all(&f);
    size_t calls = memory.calls;
    for (int i = 0; i < 100; i++) {
        fifo_play(&f, "add d=1; update d=2; add e=2; add f=3");
        fifo_pop_all(&f);
    }
    assert_int_equal(memory.calls, calls);
    fifo_close(&f);
}

static void a_key_may_have_any_number_of_changes(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, NULL, &ki_allocator_default);
    for (int round = 0; round < 2; round++) {
        char text[32], expected[FIFO_TEXT] = "a:";
        for (int i = 1; i <= 100; i++) {
            sprintf(text, "update a=%d", i);
            fifo_play(&f, text);
            sprintf(expected + strlen(expected), " Updated %d", i);
        }
        strcat(expected, "; ");
        assert_string_equal(fifo_pop_all(&f), expected);
    }
    fifo_close(&f);
}

static void what_is_queued_is_freed_with_the_queue(void **state) {
    (void)state;
    fifo_stage f;
    delta_fifo_open(&f, "k=1", &ki_allocator_default);
    fifo_play(&f, "add a=1; update a=2; update a=3; replace b=1");
    fifo_close(&f);
}

KT_TESTS(delta_fifo) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_come_out_by_key_in_order_of_first_arrival),
        cmocka_unit_test(a_key_that_was_popped_does_not_jump_the_line),
        cmocka_unit_test(many_keys_come_out_as_they_went_in),
        cmocka_unit_test(it_has_synced_once_the_first_list_is_processed),
        cmocka_unit_test(a_resync_alone_does_not_make_it_synced),
        cmocka_unit_test(it_has_not_synced_while_the_last_one_is_processed),
        cmocka_unit_test(a_failure_without_requeue_counts_as_processed),
        cmocka_unit_test(a_key_whose_processing_failed_stays_first_and_is_still_awaited),
        cmocka_unit_test(the_callback_may_not_pop),
        cmocka_unit_test(ready_is_called_when_there_is_something_again),
        cmocka_unit_test(a_closed_queue_hands_out_the_rest_and_takes_nothing),
        cmocka_unit_test(what_is_known_ends_as_what_the_source_has),
        cmocka_unit_test(lack_of_memory_leaves_the_queue_as_it_was),
        cmocka_unit_test(a_requeue_needs_no_memory),
        cmocka_unit_test(no_queue_is_made_without_memory),
        cmocka_unit_test(nothing_is_allocated_in_the_steady_state),
        cmocka_unit_test(a_key_may_have_any_number_of_changes),
        cmocka_unit_test(what_is_queued_is_freed_with_the_queue),
        cmocka_unit_test(a_listed_object_that_cannot_be_read_is_not_deleted),
        cmocka_unit_test(a_deletion_that_cannot_be_read_is_a_tombstone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
