/* test_index_set.c: the objects of an index value, where there is one of them and where there are more. */

#include "src/base/memory.h"
#include "src/cache/store/index_set.h"
#include "src/cache/store/snapshot.h"
#include "src/cache/store/store.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/store_changes.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 12,
    TEXT = 256
};

static ki_status index_label(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_label(obj, "a"));
}

static const ki_indexer label_indexer = { .name = "labels", .index = index_label };

static ki_store *new_store(const ki_allocator *allocator) {
    ki_store *store = NULL;
    const ki_store_options options = KI_STORE_OPTIONS(.allocator = allocator, .seed = 5, .namespaced = true);
    if (ki_store_new(&options, &store, NULL))
        return NULL;
    if (ki_store_add_indexers(store, &label_indexer, 1, NULL) == KI_OK)
        return store;
    ki_store_free(store);
    return NULL;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends "VALUE:KEY=VERSION,…" for the objects of a value, by key; checks that a walk and the count agree. */
static void describe(const ki_snapshot *snapshot, const char *index, const char *value, char *text) {
    const char *parts[STEPS_MAX];
    char words[STEPS_MAX][64];
    size_t count = 0;
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const ki_object *obj; (obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor)); count++) {
        assert_true(count < STEPS_MAX);
        snprintf(words[count], sizeof words[count], "%s=%s", ki_object_name(obj), ki_object_resource_version(obj));
        parts[count] = words[count];
    }
    assert_null(ki_snapshot_next_by_index(snapshot, index, value, &cursor)); /* and afterwards */
    assert_int_equal(ki_snapshot_count_by_index(snapshot, index, value), count);
    qsort(parts, count, sizeof *parts, compare);
    sprintf(text + strlen(text), "%s%s:", *text ? " " : "", value);
    for (size_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%s", i ? "," : "", parts[i]);
}

static void describe_all(const ki_snapshot *snapshot, char text[TEXT]) {
    text[0] = '\0';
    describe(snapshot, "labels", "x", text);
    describe(snapshot, "labels", "y", text);
    describe(snapshot, KI_NAMESPACE_INDEX, "n", text);
}

static const struct {
    const char *key, *version, *label; /* version NULL: deleted */
    const char *then;
} steps[] = {
    { "n/a", "1", "a=x", "x:a=1 y: n:a=1" },
    { "n/a", "2", "a=x", "x:a=2 y: n:a=2" },
    { "n/a", "3", "a=y", "x: y:a=3 n:a=3" },
    { "n/b", "4", "a=y", "x: y:a=3,b=4 n:a=3,b=4" },
    { "n/b", "5", "a=y", "x: y:a=3,b=5 n:a=3,b=5" },
    { "n/c", "6", "a=y", "x: y:a=3,b=5,c=6 n:a=3,b=5,c=6" },
    { "n/a", NULL, NULL, "x: y:b=5,c=6 n:b=5,c=6" },
    { "n/c", "7", "a=x", "x:c=7 y:b=5 n:b=5,c=7" },
    { "n/b", "8", "a=y", "x:c=7 y:b=8 n:b=8,c=7" },
    { "n/c", NULL, NULL, "x: y:b=8 n:b=8" },
    { "n/b", NULL, NULL, "x: y: n:" },
};
enum {
    STEPS = sizeof steps / sizeof *steps
};

static ki_status take_step(ki_store *store, size_t i) {
    if (!steps[i].version)
        return ki_store_delete(store, steps[i].key, NULL, NULL);
    return store_take(store, make_object(steps[i].key, steps[i].version, steps[i].label), steps[i].version);
}

static void expect(const ki_snapshot *snapshot, size_t step) {
    char text[TEXT];
    describe_all(snapshot, text);
    assert_string_equal(text, steps[step].then);
}

TEST(a_set_grows_and_shrinks_and_older_snapshots_keep_theirs) {
    for (unsigned held = 0; held < 1u << STEPS; held += 37) { /* the steps whose snapshots are held, as bits */
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_store *store = new_store(&memory.allocator);
        ki_snapshot *snapshots[STEPS] = { NULL };
        for (size_t i = 0; i < STEPS; i++) {
            assert_int_equal(take_step(store, i), KI_OK);
            ki_snapshot *now = ki_store_snapshot(store);
            expect(now, i);
            if (held >> i & 1)
                snapshots[i] = now;
            else
                ki_snapshot_free(now);
        }
        ki_store_free(store);
        for (size_t i = 0; i < STEPS; i++) {
            for (size_t j = i; j < STEPS; j++)
                if (snapshots[j])
                    expect(snapshots[j], j);
            ki_snapshot_free(snapshots[i]);
        }
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(changes_of_several_sets_are_published_together) {
    ki_store *store = new_store(&ki_allocator_default);
    assert_int_equal(ki_store_begin(store, "9", NULL), KI_OK);
    for (size_t i = 0; i + 1 < STEPS; i++) { /* each on sets of the same version */
        ki_object *obj = steps[i].version ? make_object(steps[i].key, steps[i].version, steps[i].label) : NULL;
        assert_int_equal(obj ? ki_store_stage_put(store, obj, obj) : ki_store_stage_delete(store, steps[i].key), KI_OK);
        ki_object_unref(obj);
    }
    assert_true(ki_store_publish_staged(store));
    ki_snapshot *now = ki_store_snapshot(store);
    expect(now, STEPS - 2);
    ki_snapshot_free(now);
    ki_store_free(store);
}

TEST(a_set_changes_as_a_whole_whatever_allocation_fails) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_store *store = new_store(&memory.allocator);
        for (size_t i = 0; store && i < STEPS; i++) {
            ki_status status = take_step(store, i);
            if (status) {
                assert_int_equal(status, KI_ERR_NO_MEMORY);
                ki_snapshot *now = ki_store_snapshot(store);
                if (i > 0)
                    expect(now, i - 1);
                ki_snapshot_free(now);
                assert_int_equal(take_step(store, i), KI_OK);
            }
            ki_snapshot *now = ki_store_snapshot(store);
            expect(now, i);
            ki_snapshot_free(now);
        }
        ki_store_free(store);
    }
}

/* An index of unique values, such as addresses, has nothing but the set for each of them. */
TEST(a_set_of_one_has_no_tree) {
    enum {
        OBJECTS = 500
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_store *store = new_store(&memory.allocator);
    size_t blocks = scarce_memory_in_use(&memory);
    for (int i = 0; i < OBJECTS; i++) {
        char key[32], label[32];
        snprintf(key, sizeof key, "n/k%d", i);
        snprintf(label, sizeof label, "a=%d", i);
        assert_int_equal(store_take(store, make_object(key, "1", label), "1"), KI_OK);
    }
    /* A set for each, and the nodes of three trees: all objects, those of the namespace, the sets. */
    assert_true(scarce_memory_in_use(&memory) - blocks < OBJECTS * 2);
    ki_store_free(store);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
