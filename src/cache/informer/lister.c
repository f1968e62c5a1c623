/* lister.c: listers: each call reads the informer's current snapshot, never the network. Any thread. */
#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/store/snapshot.h"

ki_status ki_lister_list(const ki_informer *informer, const char *namespace_name, const char *label_selector,
                         ki_object_list *ret_list, ki_error *err) {
    if (!informer || !ret_list)
        return ki_error_missing(err, "ki_lister_list");
    if (ki_engine_check_process(informer->engine, err))
        return KI_ERR_STATE;
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    ki_status status = ki_snapshot_list(snapshot, namespace_name, label_selector, ret_list, err);
    ki_snapshot_free(snapshot);
    return status;
}

ki_status ki_lister_get(const ki_informer *informer, const char *namespace_name, const char *name, ki_object **ret_obj,
                        ki_error *err) {
    if (!informer || !name || !ret_obj)
        return ki_error_missing(err, "ki_lister_get");
    if (ki_engine_check_process(informer->engine, err))
        return KI_ERR_STATE;
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    ki_status status = ki_snapshot_lookup(snapshot, namespace_name, name, ret_obj, err);
    ki_snapshot_free(snapshot);
    return status;
}
