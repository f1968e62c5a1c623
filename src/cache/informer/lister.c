/* lister.c: listers: each call reads the informer's current snapshot, never the network. Any thread. */
#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/store/published.h"
#include "src/object/keep.h"
#include "src/object/object.h"
#include "src/object/selector.h"

/* Called after the cache was read, since a removed informer's cache is empty. Errors: KI_ERR_STATE. */
static ki_status check_not_removed(const ki_informer *informer, ki_error *err) {
    if (atomic_load(&informer->removal.is_begun))
        return ki_error_set(err, KI_ERR_STATE, "the informer of %s was removed", informer->options.selection->name);
    return KI_OK;
}

/* Opens the informer's current snapshot for a lister; the caller frees it, also after an error. Errors: KI_ERR_STATE (a
 * forked process, a removed informer). */
static ki_status open_snapshot(const ki_informer *informer, ki_snapshot **ret_snapshot, ki_error *err) {
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    *ret_snapshot = ki_informer_snapshot(informer);
    return check_not_removed(informer, err);
}

/* Parses the selectors of a list. Errors: KI_ERR_INVALID also while the cache is empty (what it does not keep). */
static ki_status make_selector(const ki_informer *informer, const char *label_selector, const char *field_selector,
                               ki_selector **ret_selector, ki_error *err) {
    ki_keep keep = ki_keep_of_all(&informer->options.given, informer->options.format);
    ki_status status = ki_selector_new_of(ki_engine_allocator(informer->options.engine), label_selector, field_selector,
                                          ret_selector, err);
    return status ? status : ki_selector_check_keep(*ret_selector, keep, err);
}

ki_status ki_lister_list(const ki_informer *informer, const char *namespace_name, const char *label_selector,
                         const char *field_selector, ki_object_list *ret_list, ki_error *err) {
    if (!informer || !ret_list)
        return ki_error_missing(err, "ki_lister_list");
    ki_snapshot *snapshot = NULL;
    ki_selector *selector = NULL;
    ki_status status = open_snapshot(informer, &snapshot, err);
    if (!status)
        status = make_selector(informer, label_selector, field_selector, &selector, err);
    if (!status)
        status = ki_snapshot_list(snapshot, namespace_name, selector, ret_list, err);
    ki_selector_free(selector);
    ki_snapshot_unref(snapshot);
    return status;
}

ki_status ki_lister_list_by_index(const ki_informer *informer, const char *index, const char *value,
                                  ki_object_list *ret_list, ki_error *err) {
    if (!informer || !index || !value || !ret_list)
        return ki_error_missing(err, "ki_lister_list_by_index");
    ki_snapshot *snapshot = NULL;
    ki_status status = open_snapshot(informer, &snapshot, err);
    if (!status)
        status = ki_snapshot_list_by_index(snapshot, index, value, ret_list, err);
    ki_snapshot_unref(snapshot);
    return status;
}

/* Returns the object with `value` in `index`, a reference; NULL if there is none. `except`: only an object that does
 * not exist there; NULL: any. */
static ki_object *get_by_index(const ki_snapshot *snapshot, const char *index, const char *value,
                               const ki_snapshot *except) {
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj, *there;
    do {
        obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor);
        there = obj && except ? ki_snapshot_get(except, ki_object_key(obj)) : NULL;
    } while (there && ki_object_is_same(obj, there));
    return ki_object_ref(obj);
}

/* Returns the deleted object with `value` in `index`, a reference; NULL if there is none. `now` was taken before. */
static ki_object *get_deleted_by_index(const ki_informer *informer, const ki_snapshot *now, const char *index,
                                       const char *value) {
    ki_reading reading;
    const ki_snapshot *deleted = ki_store_enter(informer->deleted.objects.store, &reading);
    ki_object *obj = get_by_index(deleted, index, value, now);
    ki_store_leave(informer->deleted.objects.store, reading);
    return obj;
}

/* `ret_is_deleted` NULL: no deleted object is wanted. */
static ki_status find_by_index(const ki_informer *informer, const char *index, const char *value, ki_object **ret_obj,
                               bool *ret_is_deleted, ki_error *err) {
    ki_reading reading;
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    const ki_snapshot *now = ki_store_enter(informer->store, &reading);
    ki_status status = check_not_removed(informer, err);
    if (!status)
        status = ki_snapshot_check_index(now, index, err);
    ki_object *obj = status ? NULL : get_by_index(now, index, value, NULL);
    bool is_deleted = !status && !obj && ret_is_deleted && informer->deleted.objects.store;
    if (is_deleted)
        obj = get_deleted_by_index(informer, now, index, value);
    ki_store_leave(informer->store, reading);
    if (is_deleted && !obj) /* a removed informer's deleted objects go */
        status = check_not_removed(informer, err);
    if (status)
        return status;
    if (!obj)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "no object has %s=%.100s", index, value);
    *ret_obj = obj;
    if (ret_is_deleted)
        *ret_is_deleted = is_deleted;
    return KI_OK;
}

ki_status ki_informer_get_by_index(const ki_informer *informer, const char *index, const char *value,
                                   ki_object **ret_obj, ki_error *err) {
    if (!informer || !index || !value || !ret_obj)
        return ki_error_missing(err, "ki_informer_get_by_index");
    return find_by_index(informer, index, value, ret_obj, NULL, err);
}

ki_status ki_informer_get_by_index_or_deleted(const ki_informer *informer, const char *index, const char *value,
                                              ki_object **ret_obj, bool *ret_is_deleted, ki_error *err) {
    bool is_deleted = false;
    if (!informer || !index || !value || !ret_obj)
        return ki_error_missing(err, "ki_informer_get_by_index_or_deleted");
    ki_status status = find_by_index(informer, index, value, ret_obj, &is_deleted, err);
    if (!status && ret_is_deleted)
        *ret_is_deleted = is_deleted;
    return status;
}

ki_object *ki_informer_get_or_deleted(const ki_informer *informer, const char *key, bool *ret_is_deleted) {
    ki_object *obj = ki_informer_get(informer, key);
    bool is_deleted = !obj && informer && key && informer->deleted.objects.store &&
                      !ki_engine_is_forked(informer->options.engine) && !atomic_load(&informer->removal.is_begun);
    if (is_deleted)
        obj = ki_store_get(informer->deleted.objects.store, key);
    if (ret_is_deleted)
        *ret_is_deleted = is_deleted && obj;
    return obj;
}

ki_status ki_lister_get(const ki_informer *informer, const char *namespace_name, const char *name, ki_object **ret_obj,
                        ki_error *err) {
    if (!informer || !name || !ret_obj)
        return ki_error_missing(err, "ki_lister_get");
    ki_snapshot *snapshot = NULL;
    ki_status status = open_snapshot(informer, &snapshot, err);
    if (!status)
        status = ki_snapshot_lookup(snapshot, namespace_name, name, ret_obj, err);
    ki_snapshot_unref(snapshot);
    return status;
}
