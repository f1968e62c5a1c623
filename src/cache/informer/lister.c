/* lister.c: listers: each call reads the informer's current snapshot, never the network. Any thread. */
#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/store/snapshot.h"

/* Opens the informer's current snapshot for a lister. Errors: KI_ERR_STATE (a forked process). */
static ki_status open_snapshot(const ki_informer *informer, ki_snapshot **ret_snapshot, ki_error *err) {
    if (ki_engine_check_process(informer->engine, err))
        return KI_ERR_STATE;
    *ret_snapshot = ki_informer_snapshot(informer);
    return KI_OK;
}

ki_status ki_lister_list(const ki_informer *informer, const char *namespace_name, const char *label_selector,
                         const char *field_selector, ki_object_list *ret_list, ki_error *err) {
    if (!informer || !ret_list)
        return ki_error_missing(err, "ki_lister_list");
    ki_snapshot *snapshot = NULL;
    ki_status status = open_snapshot(informer, &snapshot, err);
    if (!status)
        status = ki_snapshot_list(snapshot, namespace_name, label_selector, field_selector, ret_list, err);
    ki_snapshot_free(snapshot);
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
    ki_snapshot_free(snapshot);
    return status;
}

ki_status ki_informer_get_by_index(const ki_informer *informer, const char *index, const char *value,
                                   ki_object **ret_obj, ki_error *err) {
    if (!informer || !index || !value || !ret_obj)
        return ki_error_missing(err, "ki_informer_get_by_index");
    ki_snapshot *snapshot = NULL;
    ki_status status = open_snapshot(informer, &snapshot, err);
    if (!status)
        status = ki_snapshot_check_index(snapshot, index, err);
    if (!status) {
        ki_cursor cursor = KI_CURSOR_INIT;
        const ki_object *obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor);
        if (obj)
            *ret_obj = ki_object_ref(obj);
        else
            status = ki_error_set(err, KI_ERR_NOT_FOUND, "no object has %s=%.100s", index, value);
    }
    ki_snapshot_free(snapshot);
    return status;
}

ki_status ki_lister_get(const ki_informer *informer, const char *namespace_name, const char *name, ki_object **ret_obj,
                        ki_error *err) {
    if (!informer || !name || !ret_obj)
        return ki_error_missing(err, "ki_lister_get");
    ki_snapshot *snapshot = NULL;
    ki_status status = open_snapshot(informer, &snapshot, err);
    if (!status)
        status = ki_snapshot_lookup(snapshot, namespace_name, name, ret_obj, err);
    ki_snapshot_free(snapshot);
    return status;
}
