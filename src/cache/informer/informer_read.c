/* informer_read.c: the public functions that read an informer's resource, objects and snapshots. Any thread. */
#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"

ki_status ki_informer_object_from_json(const ki_informer *informer, const char *json, size_t size, ki_object **ret_obj,
                                       ki_error *err) {
    if (!informer || !json || !ret_obj)
        return ki_error_missing(err, "ki_informer_object_from_json");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    ki_object_format *format = informer->options.format;
    if (!format)
        return ki_error_set(err, KI_ERR_INVALID, "the informer's objects are not made from JSON");
    const ki_selection *selection = ki_selection_found(informer->options.selection);
    if (!selection)
        return ki_error_set(err, KI_ERR_STATE, "%s is not found yet", informer->options.selection->name);
    return ki_object_from_json(format, (ki_str){ json, size }, selection->api_version, selection->resource.kind,
                               ret_obj, err);
}

const ki_resource *ki_informer_resource(const ki_informer *informer) {
    const ki_selection *found = ki_selection_found(informer->options.selection);
    return found ? &found->resource : &informer->options.selection->resource;
}

ki_snapshot *ki_informer_snapshot(const ki_informer *informer) {
    return informer && !ki_engine_is_forked(informer->options.engine) ? ki_store_snapshot(informer->store) : NULL;
}

ki_object *ki_informer_get(const ki_informer *informer, const char *key) {
    return informer && key && !ki_engine_is_forked(informer->options.engine) ? ki_store_get(informer->store, key)
                                                                             : NULL;
}
