/* bench_store.c: the cost of the store: CPU time of each put, get, delete and visited object, bytes for each object in
 * trees and indexes, with 1,000, 20,000 and 200,000 objects. */
#include "src/base/memory.h"
#include "src/cache/store/store.h"
#include "src/object/format.h"
#include <kinformer/parts/store.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    NAMESPACES = 100,
    NODES = 500
};

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void need(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

static ki_object *make(ki_object_format *format, unsigned number, unsigned version) {
    char json[256];
    ki_object *obj = NULL;
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"pod-%08x-%05u\",\"namespace\":\"namespace-%u\",\"resourceVersion\":\"%u\","
             "\"labels\":{\"node\":\"node-%u\"}}}",
             number * 2654435761u, number, number % NAMESPACES, version, number % NODES);
    need(!ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL), "object");
    return obj;
}

static ki_status index_node(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_label(obj, "node"));
}

static void report(const char *what, int64_t from, unsigned count) {
    printf("  %-34s %8.0f ns\n", what, (double)(now_ns() - from) / count);
}

static ki_store *new_store(bool namespaced) {
    ki_store_options options = {
        .size = sizeof(ki_store_options), .allocator = &ki_allocator_default, .seed = 42, .namespaced = namespaced
    };
    ki_store *store = NULL;
    need(!ki_store_new(&options, &store, NULL), "store");
    return store;
}

/* Events do not arrive in the order of keys. */
static unsigned shuffled(unsigned i, unsigned count) {
    return (unsigned)((uint64_t)i * 7919 % count);
}

static void bench_indexes(ki_object **old, ki_object **new, unsigned count, int indexes) {
    const ki_indexer indexer = { .name = "node", .index = index_node };
    ki_store *store = new_store(indexes > 0);
    if (indexes > 1)
        need(!ki_store_add_indexers(store, &indexer, 1, NULL), "index");
    printf(" %u objects, %d indexes\n", count, indexes);
    size_t before = mallinfo2().uordblks;
    int64_t from = now_ns();
    need(!ki_store_replace(store, old, count, "1", NULL), "replace");
    report("replace, each", from, count);
    printf("  %-34s %8.1f bytes\n", "trees, each object", (double)(mallinfo2().uordblks - before) / count);
    from = now_ns();
    for (unsigned i = 0; i < count; i++)
        need(!ki_store_put(store, new[shuffled(i, count)], "2", NULL), "put");
    report("put of an update", from, count);
    from = now_ns();
    for (unsigned i = 0; i < count; i++)
        ki_object_unref(ki_store_get(store, ki_object_key(old[shuffled(i, count)])));
    report("get", from, count);
    ki_snapshot *snapshot = ki_store_snapshot(store);
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t walked = 0;
    from = now_ns();
    while (ki_snapshot_next(snapshot, &cursor))
        walked++;
    report("snapshot walk, each", from, count);
    need(walked == count, "walk");
    ki_snapshot_free(snapshot);
    from = now_ns();
    for (unsigned i = 0; i < count; i++)
        need(!ki_store_delete(store, ki_object_key(new[shuffled(i, count)]), "3", NULL), "delete");
    report("delete", from, count);
    from = now_ns();
    for (unsigned i = 0; i < count; i++)
        need(!ki_store_put(store, new[shuffled(i, count)], "4", NULL), "put");
    report("put of a new one", from, count);
    ki_store_free(store);
}

int main(void) {
    static const unsigned sizes[] = { 1000, 20000, 200000 };
    ki_object_format *format = NULL;
    need(!ki_object_format_new(&ki_allocator_default, NULL, &format, NULL), "format");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        unsigned count = sizes[s];
        ki_object **old = calloc(count, sizeof *old), **new = calloc(count, sizeof *new);
        need(old && new, "memory");
        for (unsigned i = 0; i < count; i++) {
            old[i] = make(format, i, 1);
            new[i] = make(format, i, 2);
        }
        for (int indexes = 0; indexes < 3; indexes++)
            bench_indexes(old, new, count, indexes);
        for (unsigned i = 0; i < count; i++) {
            ki_object_unref(old[i]);
            ki_object_unref(new[i]);
        }
        free(old);
        free(new);
    }
    ki_object_format_unref(format);
    return 0;
}
