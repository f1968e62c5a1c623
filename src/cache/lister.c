/* lister.c: listers: each call reads the informer's current snapshot, never the network. Any thread. */
#include "src/base/error.h"
#include "src/cache/snapshot.h"

ki_status ki_lister_list(const ki_informer *informer, const char *namespace_name, const char *label_selector,
                         ki_object_list *ret_list, ki_error *err) {
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    if (!snapshot)
        return ki_error_set(err, KI_ERR_INVALID, "no informer to list from");
    ki_status status = ki_snapshot_list(snapshot, namespace_name, label_selector, ret_list, err);
    ki_snapshot_free(snapshot);
    return status;
}

ki_status ki_lister_get(const ki_informer *informer, const char *namespace_name, const char *name, ki_object **ret_obj,
                        ki_error *err) {
    ki_snapshot *snapshot = name ? ki_informer_snapshot(informer) : NULL;
    if (!snapshot)
        return ki_error_set(err, KI_ERR_INVALID, "no informer to get from, or no name");
    ki_status status = ki_snapshot_lookup(snapshot, namespace_name, name, ret_obj, err);
    ki_snapshot_free(snapshot);
    return status;
}
