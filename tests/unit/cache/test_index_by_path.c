/* test_index_by_path.c: changes of the values that an index has by a path, and what they read of the state before. */
#include "src/cache/store/store.h"
#include "src/object/pack.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static ki_store *new_store(void) {
    ki_store *store = NULL;
    assert_int_equal(ki_store_new(NULL, &store, NULL), KI_OK);
    return store;
}

static void put_json(ki_store *store, const char *json) {
    ki_object *obj = make_object_from_json(json);
    assert_int_equal(ki_store_put(store, obj, NULL, NULL), KI_OK);
    ki_object_unref(obj);
}

/* Compares the keys with this value, which are letters, in any order. */
static void assert_has(const ki_store *store, const char *index, const char *value, const char *keys) {
    ki_snapshot *snapshot = ki_store_snapshot(store);
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t count = 0;
    for (const ki_object *obj; (obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor)) != NULL; count++)
        assert_non_null(strstr(keys, ki_object_key(obj)));
    assert_int_equal(count, strlen(keys));
    ki_snapshot_free(snapshot);
}

TEST(of_several_values_by_path_those_that_went_are_removed) {
    ki_store *store = new_store();
    const ki_indexer indexers[] = { { .name = "ip", .path = "s.ips[*]" }, { .name = "first", .path = "s.ips[0]" } };
    assert_int_equal(ki_store_add_indexers(store, indexers, 2, NULL), KI_OK);
    put_json(store, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"1\"},\"s\":{\"ips\":[3,4]}}");
    put_json(store, "{\"metadata\":{\"name\":\"y\",\"resourceVersion\":\"1\"},\"s\":{\"ips\":[3]}}");
    assert_has(store, "ip", "3", "xy");
    assert_has(store, "ip", "4", "x");
    assert_has(store, "first", "3", "xy");
    assert_has(store, "first", "4", "");
    put_json(store, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"2\"},\"s\":{\"ips\":[3]}}");
    assert_has(store, "ip", "3", "xy");
    assert_has(store, "ip", "4", "");
    assert_has(store, "first", "3", "xy");
    put_json(store, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"3\"},\"s\":{\"ips\":[4]}}");
    assert_has(store, "first", "3", "y");
    assert_has(store, "first", "4", "x");
    put_json(store, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"4\"},\"s\":{}}");
    assert_has(store, "first", "3", "y");
    assert_has(store, "first", "4", "");
    ki_store_free(store);
}

static ki_object *make_on_node(ki_object_format *format, unsigned version, const char *node) {
    char json[512];
    ki_object *obj = NULL;
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"%u\"},\"spec\":{\"node\":\"%s\",\"text\":\"a text "
             "that is packed, a text that is packed, a text that is packed\"}}",
             version, node);
    assert_int_equal(ki_object_format_read(format, json, strlen(json), &obj, NULL), KI_OK);
    return obj;
}

/* As an informer stores a change. */
static void put_packed(ki_store *store, ki_object *packed, const ki_object *plain) {
    assert_int_equal(ki_store_begin(store, NULL, NULL), KI_OK);
    assert_int_equal(ki_store_stage_put(store, packed, plain), KI_OK);
    assert_true(ki_store_publish_staged(store));
}

TEST(a_change_that_keeps_its_value_by_path_does_not_unpack_the_state_before) {
    scarce_memory memory; /* of the objects; the first unpacking allocates */
    const ki_indexer by_node = { .name = "node", .path = "spec.node" };
    ki_object_format *format = NULL;
    scarce_memory_init(&memory, SIZE_MAX);
    assert_int_equal(ki_object_format_new(&memory.allocator, NULL, &format, NULL), KI_OK);
    ki_body_contexts *contexts = ki_body_contexts_new(&memory.allocator);
    ki_object_format_set_pack(format, contexts, 1);
    ki_object *first = make_on_node(format, 1, "n1"), *same = make_on_node(format, 2, "n1"),
              *moved = make_on_node(format, 3, "n2");
    ki_object_format_train(format, &first, 1, 1);
    ki_object *packed[] = { ki_object_pack(ki_object_ref(first)), ki_object_pack(ki_object_ref(same)) };
    assert_true(ki_object_is_packed(packed[0]) && ki_object_is_packed(packed[1]));
    ki_store *store = new_store();
    assert_int_equal(ki_store_add_indexers(store, &by_node, 1, NULL), KI_OK);
    put_packed(store, packed[0], first);
    size_t calls = atomic_load(&memory.calls);
    assert_int_equal(ki_store_put(store, same, NULL, NULL), KI_OK);
    assert_int_equal(atomic_load(&memory.calls), calls);
    assert_has(store, "node", "n1", "x");
    put_packed(store, packed[1], same);
    assert_int_equal(atomic_load(&memory.calls), calls);
    assert_int_equal(ki_store_put(store, moved, NULL, NULL), KI_OK);
    assert_true(atomic_load(&memory.calls) > calls);
    assert_has(store, "node", "n1", "");
    assert_has(store, "node", "n2", "x");
    ki_store_free(store);
    ki_object_unref(packed[0]);
    ki_object_unref(packed[1]);
    ki_object_unref(first);
    ki_object_unref(same);
    ki_object_unref(moved);
    ki_body_contexts_unref(contexts);
    ki_object_format_unref(format);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
