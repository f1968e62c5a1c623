/* test_deferred_free.c: what nobody needs any more goes in small steps, and none of it stays. */

#include "src/base/memory.h"
#include "src/cache/store/deferred_free.h"
#include "src/cache/store/store.h"
#include "src/object/format.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"
#include <kinformer/parts/store.h>

#include <stdio.h>

enum {
    MANY = 200,
    AT_ONCE = 10,
    AROUND = 8 /* nodes and sets of a tree that go with some objects */
};

typedef struct stage {
    scarce_memory memory;
    test_engine engine;
    ki_object_format *format;
    ki_deferred deferred;
} stage;

static ki_object *new_object(stage *s, unsigned number) {
    char json[128];
    ki_object *obj = NULL;
    snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"ns%u\",\"name\":\"k%u\",\"resourceVersion\":\"1\"}}",
             number % 3, number);
    assert_int_equal(ki_object_from_json(s->format, ki_str_of(json), "v1", "ConfigMap", &obj, NULL), KI_OK);
    return obj;
}

static void open_stage(stage *s) {
    scarce_memory_init(&s->memory, SIZE_MAX);
    assert_true(test_engine_open(&s->engine, &s->memory.allocator, 1));
    assert_int_equal(ki_object_format_new(&s->memory.allocator, NULL, &s->format, NULL), KI_OK);
    ki_deferred_init(&s->deferred, s->engine.engine);
    ki_object_unref(new_object(s, 0)); /* what the format keeps is there from now on */
}

static void close_stage(stage *s) {
    ki_deferred_stop(&s->deferred);
    ki_deferred_free(&s->deferred);
    ki_object_format_unref(s->format);
    test_engine_close(&s->engine);
    assert_int_equal(scarce_memory_in_use(&s->memory), 0);
}

/* Every fifth place is a gap. */
static ki_object **new_objects(stage *s, unsigned count) {
    ki_object **objects = ki_alloc_array(&s->memory.allocator, count, sizeof(ki_object *));
    assert_non_null(objects);
    for (unsigned i = 0; i < count; i++)
        objects[i] = i % 5 == 0 ? NULL : new_object(s, i);
    return objects;
}

/* Of a store that is no more. */
static ki_snapshot *new_snapshot(stage *s, unsigned count) {
    ki_store_options options = {
        .size = sizeof(ki_store_options), .allocator = &s->memory.allocator, .seed = 5, .namespaced = true
    };
    ki_store *store = NULL;
    assert_int_equal(ki_store_new(&options, &store, NULL), KI_OK);
    for (unsigned i = 0; i < count; i++) {
        ki_object *obj = new_object(s, i);
        assert_int_equal(ki_store_put(store, obj, "1", NULL), KI_OK);
        ki_object_unref(obj);
    }
    ki_snapshot *snapshot = ki_store_snapshot(store);
    ki_store_free(store);
    return snapshot;
}

/* Returns how many steps it took until nothing was left. */
static unsigned step_until_idle(stage *s) {
    unsigned steps = 0;
    for (; ki_engine_timeout(s->engine.engine) == 0; steps++) {
        size_t before = scarce_memory_in_use(&s->memory);
        assert_int_equal(ki_engine_step(s->engine.engine, AT_ONCE, NULL), KI_OK);
        assert_true(before - scarce_memory_in_use(&s->memory) <= AT_ONCE * 2 + AROUND);
    }
    return steps;
}

TEST(objects_are_released_a_few_in_a_step) {
    stage s;
    open_stage(&s);
    size_t before = scarce_memory_in_use(&s.memory);
    ki_deferred_add_objects(&s.deferred, new_objects(&s, MANY), MANY);
    ki_deferred_add_objects(&s.deferred, new_objects(&s, MANY), MANY);
    assert_true(step_until_idle(&s) >= 2 * MANY / AT_ONCE);
    assert_int_equal(scarce_memory_in_use(&s.memory), before);
    close_stage(&s);
}

TEST(an_array_of_any_size_is_released) {
    stage s;
    open_stage(&s);
    size_t before = scarce_memory_in_use(&s.memory);
    for (unsigned count = 1; count < 5; count++)
        ki_deferred_add_objects(&s.deferred, new_objects(&s, count), count);
    ki_deferred_add_objects(&s.deferred, NULL, 0);
    step_until_idle(&s);
    assert_int_equal(scarce_memory_in_use(&s.memory), before);
    close_stage(&s);
}

TEST(snapshots_are_released_a_few_objects_in_a_step) {
    stage s;
    open_stage(&s);
    size_t before = scarce_memory_in_use(&s.memory);
    ki_deferred_add_snapshot(&s.deferred, new_snapshot(&s, MANY));
    ki_deferred_add_snapshot(&s.deferred, NULL);
    ki_deferred_add_snapshot(&s.deferred, new_snapshot(&s, MANY));
    assert_true(step_until_idle(&s) >= 2 * MANY / AT_ONCE);
    assert_int_equal(scarce_memory_in_use(&s.memory), before);
    close_stage(&s);
}

/* One of the sizes ends with the last unit of a step. */
TEST(the_end_of_a_snapshot_is_not_the_start_of_all_others) {
    for (unsigned count = MANY; count < MANY + 2 * AT_ONCE; count++) {
        stage s;
        open_stage(&s);
        size_t before = scarce_memory_in_use(&s.memory);
        for (int i = 0; i < 3; i++)
            ki_deferred_add_snapshot(&s.deferred, new_snapshot(&s, count));
        assert_true(step_until_idle(&s) >= 3 * count / AT_ONCE);
        assert_int_equal(scarce_memory_in_use(&s.memory), before);
        close_stage(&s);
    }
}

/* Releases the versions of a store, each of which replaced an object, and returns the steps that it took. */
static unsigned release_versions(unsigned count) {
    stage s;
    open_stage(&s);
    ki_store_options options = {
        .size = sizeof(ki_store_options), .allocator = &s.memory.allocator, .seed = 5, .namespaced = true
    };
    ki_store *store = NULL;
    ki_snapshot *snapshots[4 * MANY];
    assert_int_equal(ki_store_new(&options, &store, NULL), KI_OK);
    for (unsigned i = 0; i < 2 * count; i++) {
        ki_object *obj = new_object(&s, i % count);
        assert_int_equal(ki_store_put(store, obj, "1", NULL), KI_OK);
        ki_object_unref(obj);
        if (i >= count)
            snapshots[i - count] = ki_store_snapshot(store);
    }
    for (unsigned i = 0; i < count; i++)
        ki_deferred_add_snapshot(&s.deferred, snapshots[i]);
    unsigned steps = 0;
    for (; ki_engine_timeout(s.engine.engine) == 0; steps++)
        assert_int_equal(ki_engine_step(s.engine.engine, AT_ONCE, NULL), KI_OK);
    ki_store_free(store);
    close_stage(&s);
    return steps;
}

TEST(twice_as_many_versions_take_twice_as_long) {
    unsigned some = release_versions(2 * MANY), twice = release_versions(4 * MANY);
    if (twice > 3 * some)
        fail_msg("%u and %u steps", some, twice);
}

TEST(a_snapshot_that_somebody_has_stays) {
    stage s;
    open_stage(&s);
    ki_snapshot *kept = new_snapshot(&s, MANY);
    ki_deferred_add_snapshot(&s.deferred, ki_snapshot_ref(kept));
    step_until_idle(&s);
    assert_int_equal(ki_snapshot_count(kept), MANY);
    assert_non_null(ki_snapshot_get(kept, "ns0/k0"));
    ki_snapshot_free(kept);
    close_stage(&s);
}

TEST(what_is_left_after_a_stop_goes_with_free) {
    for (int steps = 0; steps < 30; steps++) {
        stage s;
        open_stage(&s);
        ki_deferred_add_objects(&s.deferred, new_objects(&s, MANY), MANY);
        ki_deferred_add_snapshot(&s.deferred, new_snapshot(&s, MANY));
        ki_deferred_add_snapshot(&s.deferred, new_snapshot(&s, MANY));
        for (int i = 0; i < steps; i++)
            assert_int_equal(ki_engine_step(s.engine.engine, AT_ONCE * 3, NULL), KI_OK);
        close_stage(&s);
    }
}

TEST(a_snapshot_that_the_loop_frees_goes_in_steps) {
    stage s;
    open_stage(&s);
    ki_snapshot *snapshot = new_snapshot(&s, MANY);
    ki_deferred_serve(&s.deferred, snapshot);
    assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK); /* this thread is the loop */
    size_t before = scarce_memory_in_use(&s.memory);
    ki_snapshot_free(snapshot);
    assert_int_equal(scarce_memory_in_use(&s.memory), before);
    s.deferred.served = NULL; /* it goes with the last snapshot of a store that is no more */
    assert_true(step_until_idle(&s) >= MANY / AT_ONCE);
    close_stage(&s);
}
