/* test_snapshot.c: snapshots that are given back a part at a time, by threads too, in any order; and changes that are
 * staged and thrown away. */

#include "src/base/memory.h"
#include "src/cache/store/snapshot.h"
#include "src/cache/store/store.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/store_changes.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_status index_label(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_label(obj, "a"));
}

static const ki_indexer label_indexer = { .name = "labels", .index = index_label };

static ki_store *new_store(const ki_allocator *allocator) {
    ki_store_options options = {
        .size = sizeof(ki_store_options), .allocator = allocator, .seed = 5, .namespaced = true
    };
    ki_store *store = NULL;
    assert_int_equal(ki_store_new(&options, &store, NULL), KI_OK);
    return store;
}

static void put(ki_store *store, const char *key, const char *version, const char *labels) {
    assert_int_equal(store_take(store, make_object(key, version, labels), version), KI_OK);
}

/* Whatever the units, whoever else has the snapshot: the rest stays whole, and nothing is left in the end. */
TEST(a_snapshot_is_given_back_a_part_at_a_time) {
    for (size_t units = 1; units < 40; units += 7) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_store *store = new_store(&memory.allocator);
        assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
        for (int i = 0; i < 100; i++) {
            char key[32], labels[32];
            snprintf(key, sizeof key, "ns%d/k%d", i % 3, i);
            snprintf(labels, sizeof labels, "a=%d", i % 5);
            put(store, key, "1", labels);
        }
        ki_snapshot_drain shared, last;
        ki_snapshot *other = ki_store_snapshot(store);
        ki_snapshot_drain_begin(&shared, ki_store_snapshot(store));
        size_t left = 1;
        assert_true(ki_snapshot_drain_some(&shared, &left)); /* somebody else has it */
        ki_store_free(store);
        size_t turns = 0;
        ki_snapshot_drain_begin(&last, other);
        do {
            left = units;
            turns++;
        } while (!ki_snapshot_drain_some(&last, &left));
        assert_true(turns >= 100 / units);
        ki_snapshot_drain_begin(&last, NULL);
        assert_true(ki_snapshot_drain_some(&last, &left));
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(a_change_that_is_staged_can_be_abandoned) {
    ki_store *store = new_store(&ki_allocator_default);
    put(store, "default/a", "1", NULL);
    assert_null(ki_store_abandon(store));
    assert_int_equal(ki_store_begin(store, "2", NULL), KI_OK);
    assert_int_equal(ki_store_stage_delete(store, "default/a"), KI_OK);
    assert_false(ki_store_is_overtaken(store));
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    assert_true(ki_store_is_overtaken(store));
    ki_snapshot_free(ki_store_abandon(store));
    assert_false(ki_store_is_overtaken(store));
    assert_int_equal(ki_store_begin(store, "2", NULL), KI_OK);
    assert_int_equal(ki_store_set_resource_version(store, "3", NULL), KI_OK);
    assert_true(ki_store_is_overtaken(store)); /* its snapshot would follow one that has another successor */
    ki_snapshot_free(ki_store_abandon(store));
    assert_int_equal(ki_store_count(store), 1);
    assert_false(ki_store_publish_staged(store));
    assert_int_equal(ki_store_begin(store, "2", NULL), KI_OK);
    assert_int_equal(ki_store_stage_delete(store, "default/a"), KI_OK);
    ki_store_free(store); /* with what is staged */
}

TEST(a_change_that_has_begun_goes_on_until_it_is_published) {
    ki_store *store = new_store(&ki_allocator_default);
    put(store, "default/a", "1", NULL);
    put(store, "default/b", "1", NULL);
    assert_int_equal(ki_store_begin(store, "2", NULL), KI_OK);
    assert_int_equal(ki_store_stage_delete(store, "default/a"), KI_OK);
    assert_int_equal(ki_store_begin(store, "3", NULL), KI_OK);
    assert_int_equal(ki_store_stage_delete(store, "default/b"), KI_OK);
    assert_true(ki_store_publish_staged(store));
    ki_snapshot *now = ki_store_snapshot(store);
    assert_int_equal(ki_snapshot_count(now), 0);
    assert_string_equal(ki_snapshot_resource_version(now), "2");
    ki_snapshot_free(now);
    ki_store_free(store);
}

/* --- chains of snapshots ------------------------------------------------------------------------------------------ */

enum {
    CHAIN_KEYS = 60,
    CHAIN_HELD = 6,
    CHAIN_STEPS = 2000,
    CHAIN_VALUES = 5
};

typedef struct chain {
    scarce_memory memory;
    ki_store *store;
    unsigned model[CHAIN_KEYS]; /* the version of each object; 0: none */
    ki_snapshot *held[CHAIN_HELD];
    unsigned held_model[CHAIN_HELD][CHAIN_KEYS];
    uint64_t random;
} chain;

static const ki_indexer chain_indexers[] = { { .name = "labels", .index = index_label },
                                             { .name = "path", .path = "metadata.labels.a" } };

static unsigned chain_random(chain *c, unsigned below) {
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(c->random >> 33) % below;
}

static ki_object *chain_object(unsigned key, unsigned version) {
    char name[32], text[16], labels[16];
    snprintf(name, sizeof name, "ns%u/k%u", key % 3, key);
    snprintf(text, sizeof text, "%u", version);
    snprintf(labels, sizeof labels, "a=%u", version % CHAIN_VALUES);
    return make_object(name, text, labels);
}

static void chain_stage(chain *c, unsigned key, unsigned version) {
    ki_object *obj = chain_object(key, version ? version : 1);
    if (version)
        assert_int_equal(ki_store_stage_put(c->store, obj, obj), KI_OK);
    else
        assert_int_equal(ki_store_stage_delete(c->store, ki_object_key(obj)), KI_OK);
    ki_object_unref(obj);
}

/* Stages a few changes, and publishes or abandons them. */
static void chain_change(chain *c, unsigned step, bool is_abandoned) {
    unsigned before[CHAIN_KEYS];
    memcpy(before, c->model, sizeof before);
    assert_int_equal(ki_store_begin(c->store, "1", NULL), KI_OK);
    for (unsigned n = 1 + chain_random(c, 4); n > 0; n--) {
        unsigned key = chain_random(c, CHAIN_KEYS), version = chain_random(c, 3) ? step : 0;
        chain_stage(c, key, version);
        c->model[key] = version;
    }
    if (!is_abandoned) {
        assert_true(ki_store_publish_staged(c->store));
        return;
    }
    ki_snapshot_free(ki_store_abandon(c->store));
    memcpy(c->model, before, sizeof before);
}

/* Replaces all objects: the next snapshot shares nothing. */
static void chain_replace(chain *c, unsigned step) {
    ki_object *objects[CHAIN_KEYS];
    for (unsigned key = 0; key < CHAIN_KEYS; key++) {
        objects[key] = chain_object(key, step);
        c->model[key] = step;
    }
    assert_int_equal(ki_store_replace(c->store, objects, CHAIN_KEYS, "1", NULL), KI_OK);
    for (unsigned key = 0; key < CHAIN_KEYS; key++)
        ki_object_unref(objects[key]);
}

static void assert_index_like(const ki_snapshot *snapshot, const char *index, size_t count) {
    if (!ki_snapshot_has_index(snapshot, index))
        return;
    for (unsigned value = 0; value < CHAIN_VALUES; value++) {
        char text[16];
        ki_cursor cursor = KI_CURSOR_INIT;
        snprintf(text, sizeof text, "%u", value);
        for (const ki_object *obj; (obj = ki_snapshot_next_by_index(snapshot, index, text, &cursor)); count--) {
            assert_string_equal(ki_object_label(obj, "a"), text);
            assert_ptr_equal(ki_snapshot_get(snapshot, ki_object_key(obj)), obj);
        }
    }
    assert_int_equal(count, 0);
}

static void assert_held_is_like_its_model(const chain *c, unsigned at) {
    const ki_snapshot *snapshot = c->held[at];
    size_t count = 0;
    if (!snapshot)
        return;
    for (unsigned key = 0; key < CHAIN_KEYS; key++) {
        char name[32];
        snprintf(name, sizeof name, "ns%u/k%u", key % 3, key);
        const ki_object *obj = ki_snapshot_get(snapshot, name);
        assert_int_equal(obj ? strtoul(ki_object_resource_version(obj), NULL, 10) : 0, c->held_model[at][key]);
        count += obj != NULL;
    }
    assert_int_equal(ki_snapshot_count(snapshot), count);
    assert_index_like(snapshot, "labels", count);
    assert_index_like(snapshot, "path", count);
}

/* Whoever is released first, and in however many parts: the others stay whole. In the end nothing is left. */
TEST(snapshots_of_one_store_are_released_in_any_order) {
    for (unsigned seed = 1; seed <= 4; seed++) {
        chain c = { .random = seed };
        ki_snapshot_drain drain = { .snapshot = NULL };
        scarce_memory_init(&c.memory, SIZE_MAX);
        c.store = new_store(&c.memory.allocator);
        for (unsigned step = 1; step <= CHAIN_STEPS; step++) {
            unsigned what = chain_random(&c, 100), at = chain_random(&c, CHAIN_HELD);
            if (step == CHAIN_STEPS / 3)
                assert_int_equal(ki_store_add_indexers(c.store, chain_indexers, 2, NULL), KI_OK);
            if (what < 70)
                chain_change(&c, step, what < 10);
            else if (what < 72)
                chain_replace(&c, step);
            size_t units = 1 + chain_random(&c, 3);
            if (what < 80 || !ki_snapshot_drain_some(&drain, &units)) /* one is released in parts, beside the others */
                continue;
            assert_held_is_like_its_model(&c, at);
            ki_snapshot_drain_begin(&drain, c.held[at]);
            c.held[at] = ki_store_snapshot(c.store);
            memcpy(c.held_model[at], c.model, sizeof c.model);
        }
        size_t all = SIZE_MAX;
        if (seed % 2)
            ki_store_free(c.store);
        for (unsigned at = 0; at < CHAIN_HELD; at++) {
            assert_held_is_like_its_model(&c, at);
            ki_snapshot_free(c.held[at]);
        }
        if (seed % 2 == 0)
            ki_store_free(c.store);
        assert_true(ki_snapshot_drain_some(&drain, &all));
        assert_int_equal(scarce_memory_in_use(&c.memory), 0);
    }
}

TEST(a_snapshot_that_is_held_keeps_nothing_of_what_came_and_went) {
    chain c = { .random = 1 };
    size_t few = 0;
    scarce_memory_init(&c.memory, SIZE_MAX);
    c.store = new_store(&c.memory.allocator);
    assert_int_equal(ki_store_add_indexers(c.store, chain_indexers, 2, NULL), KI_OK);
    chain_replace(&c, 1);
    ki_snapshot *held = ki_store_snapshot(c.store);
    for (unsigned step = 1; step <= 100; step++) {
        for (unsigned key = 0; key < CHAIN_KEYS; key++)
            assert_int_equal(store_take(c.store, chain_object(key, step), "1"), KI_OK);
        few = step == CHAIN_VALUES ? scarce_memory_in_use(&c.memory) : few;
    }
    assert_int_equal(scarce_memory_in_use(&c.memory), few);
    ki_snapshot_free(held);
    ki_store_free(c.store);
    assert_int_equal(scarce_memory_in_use(&c.memory), 0);
}

typedef struct chain_reader {
    ki_store *store;
    pthread_t thread;
    uint64_t random;
    _Atomic bool has_ended;
    _Atomic size_t rounds;
} chain_reader;

/* Holds a few snapshots, and releases one at a time. */
static void *hold_and_release(void *user) {
    chain_reader *reader = user;
    ki_snapshot *held[4] = { NULL };
    chain own = { .random = reader->random };
    while (!atomic_load(&reader->has_ended)) {
        unsigned at = chain_random(&own, 4);
        size_t count = 0;
        ki_cursor cursor = KI_CURSOR_INIT;
        while (ki_snapshot_next(held[at], &cursor))
            count++;
        if (held[at])
            assert_index_like(held[at], "path", count);
        ki_snapshot_free(held[at]);
        held[at] = ki_store_snapshot(reader->store);
        atomic_fetch_add(&reader->rounds, 1);
    }
    for (unsigned at = 0; at < 4; at++)
        ki_snapshot_free(held[at]);
    return NULL;
}

/* Worth running under the thread sanitizer. */
TEST(threads_release_snapshots_while_the_next_ones_are_published) {
    enum {
        READERS = 3
    };
    chain c = { .random = 3 };
    chain_reader readers[READERS];
    c.store = new_store(&ki_allocator_default);
    assert_int_equal(ki_store_add_indexers(c.store, chain_indexers, 2, NULL), KI_OK);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (chain_reader){ .store = c.store, .random = i };
        assert_int_equal(pthread_create(&readers[i].thread, NULL, hold_and_release, &readers[i]), 0);
    }
    for (unsigned step = 1; step <= CHAIN_STEPS || atomic_load(&readers[0].rounds) < 100; step++) {
        if (step % 500 == 0)
            chain_replace(&c, step);
        else
            chain_change(&c, step, step % 50 == 0);
    }
    for (unsigned i = 0; i < READERS; i++) {
        atomic_store(&readers[i].has_ended, true);
        pthread_join(readers[i].thread, NULL);
    }
    ki_store_free(c.store);
}
