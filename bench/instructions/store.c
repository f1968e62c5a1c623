/* store.c: a store with two indexes: an object takes the place of its earlier state. */
#include "bench/instructions/paths.h"

#include <kinformer/parts/object_format.h>
#include <kinformer/parts/store.h>

#include <stdio.h>

enum {
    OBJECTS = 2000,
    PUTS = 500,
    STATES = 2
};

static ki_object_format *format;
static ki_store *store;
static ki_object *objects[STATES][OBJECTS];
static unsigned round_number;

static ki_object *make_object(unsigned number, unsigned state) {
    char json[256];
    ki_object *obj = NULL;
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"pod-%08x\",\"namespace\":\"namespace-%02u\",\"resourceVersion\":\"%u\"},\"spec\":{"
        "\"nodeName\":\"node-%u\"},\"status\":{\"podIP\":\"10.0.%u.%u\"}}",
        number * 2654435761u, number % 100, state + 1, number % 20, number >> 8, number & 255);
    need(!ki_object_format_read(format, json, strlen(json), &obj, NULL), "object");
    return obj;
}

static void begin(void) {
    static const ki_indexer indexers[] = { { .name = "ip", .path = "status.podIP" },
                                           { .name = "node", .path = "spec.nodeName" } };
    const ki_store_options options = KI_STORE_OPTIONS(.allocator = &fixed_memory, .seed = 42, .namespaced = true);
    need(!ki_object_format_new(&fixed_memory, NULL, &format, NULL) && !ki_store_new(&options, &store, NULL) &&
             !ki_store_add_indexers(store, indexers, 2, NULL),
         "store");
    for (unsigned state = 0; state < STATES; state++)
        for (unsigned i = 0; i < OBJECTS; i++)
            objects[state][i] = make_object(i, state);
    need(!ki_store_replace(store, objects[0], OBJECTS, "1", NULL), "replace");
}

static void put_some(void) {
    ki_object *const *state = objects[++round_number % STATES];
    for (unsigned i = 0; i < PUTS; i++)
        need(!ki_store_put(store, state[i * 7919 % OBJECTS], "2", NULL), "put");
}

static void end(void) {
    ki_store_free(store);
    for (unsigned state = 0; state < STATES; state++)
        for (unsigned i = 0; i < OBJECTS; i++)
            ki_object_unref(objects[state][i]);
    ki_object_format_unref(format);
}

const path path_store_put = { "store-put", PUTS, 10, begin, NULL, put_some, end };
