/* test_snapshot.c: snapshots that are given back a part at a time, and changes that are staged and thrown away. */

#include "src/base/memory.h"
#include "src/cache/store/snapshot.h"
#include "src/cache/store/store.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/store_changes.h"
#include "tests/support/test.h"

#include <stdio.h>

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
