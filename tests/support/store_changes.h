/* store_changes.h: a change of a store with an object that the test makes for it. */
#ifndef TESTS_SUPPORT_STORE_CHANGES_H
#define TESTS_SUPPORT_STORE_CHANGES_H

#include <kinformer/parts/store.h>

/* Puts an object whose reference the caller gives away. */
static inline ki_status store_take(ki_store *store, ki_object *obj, const char *resource_version) {
    ki_status status = ki_store_put(store, obj, resource_version, NULL);
    ki_object_unref(obj);
    return status;
}

#endif
