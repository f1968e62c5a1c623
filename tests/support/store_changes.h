/* store_changes.h: whole changes of a store in one call, for tests and benchmarks; an informer stages its changes. */
#ifndef TESTS_SUPPORT_STORE_CHANGES_H
#define TESTS_SUPPORT_STORE_CHANGES_H

#include "src/cache/store/index_build.h"
#include "src/cache/store/store.h"

#include <stdint.h>

/* Puts an object. `ret_old` (NULL is allowed) gets a reference to the object before, or NULL. */
static inline ki_status store_put(ki_store *store, ki_object *obj, const char *resource_version, ki_object **ret_old,
                                  ki_error *err) {
    ki_object *old = ki_store_get(store, ki_object_key(obj));
    ki_status status = ki_store_begin(store, resource_version, err);
    if (!status)
        status = ki_store_end(store, ki_store_stage_put(store, obj), "putting an object", err);
    if (!status && ret_old)
        *ret_old = old;
    else
        ki_object_unref(old);
    return status;
}

/* Puts an object whose reference the caller gives away. */
static inline ki_status store_take(ki_store *store, ki_object *obj, const char *resource_version) {
    ki_status status = store_put(store, obj, resource_version, NULL, NULL);
    ki_object_unref(obj);
    return status;
}

/* Deletes an object, as store_put. */
static inline ki_status store_delete(ki_store *store, const char *key, const char *resource_version,
                                     ki_object **ret_old, ki_error *err) {
    ki_object *old = ki_store_get(store, key);
    ki_status status = ki_store_begin(store, resource_version, err);
    if (!status)
        status = ki_store_end(store, ki_store_stage_delete(store, key), "deleting an object", err);
    if (!status && ret_old)
        *ret_old = old;
    else
        ki_object_unref(old);
    return status;
}

/* Replaces all objects. */
static inline ki_status store_replace(ki_store *store, ki_object *const *objects, size_t count,
                                      const char *resource_version, ki_error *err) {
    ki_status status = ki_store_begin(store, resource_version, err);
    if (status)
        return status;
    ki_snapshot *before = ki_store_snapshot(store);
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    while (!status && (obj = ki_tree_next(&before->items, &cursor)) != NULL)
        status = ki_store_stage_delete(store, ki_object_key(obj));
    ki_snapshot_free(before);
    for (size_t i = 0; !status && i < count; i++)
        status = ki_store_stage_put(store, objects[i]);
    return ki_store_end(store, status, "replacing all objects", err);
}

/* Adds indexers, all or none. */
static inline ki_status store_add_indexers(ki_store *store, const ki_indexer *indexers, size_t count, ki_error *err) {
    ki_index_build build;
    ki_status status = ki_index_build_begin(&build, store, indexers, count, err);
    if (status)
        return status;
    bool is_done = false;
    while (!status && !is_done) {
        status = ki_index_build_catch_up(&build, err);
        if (!status)
            status = ki_index_build_publish(&build, SIZE_MAX, &is_done, err);
    }
    ki_index_build_end(&build);
    return status;
}

#endif
