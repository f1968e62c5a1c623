/* keep.c: see keep.h; and what one object has of what its cache keeps. */
#include "src/object/keep.h"

#include "src/base/error.h"
#include "src/object/object.h"

const char *ki_keep_name(ki_keep keep) {
    static const char *const names[] = { "object", "metadata", "view", "keys", "view at a memory limit", "view" };
    return keep >= KI_KEEP_OBJECT && keep <= KI_KEEP_VIEW_AND_LABELS ? names[keep] : NULL;
}

ki_keep ki_keep_of_all(const ki_informer_options *options, const ki_object_format *format) {
    if (options->keep_at_limit)
        return KI_KEEP_AT_LIMIT;
    bool has_labels = options->keep == KI_KEEP_VIEW && format && ki_object_format_has_labels(format);
    return has_labels ? KI_KEEP_VIEW_AND_LABELS : options->keep;
}

bool ki_keep_has_labels(ki_keep keep) {
    return keep == KI_KEEP_OBJECT || keep == KI_KEEP_METADATA || keep == KI_KEEP_AT_LIMIT ||
           keep == KI_KEEP_VIEW_AND_LABELS;
}

bool ki_keep_has_metadata(ki_keep keep) {
    return keep == KI_KEEP_OBJECT || keep == KI_KEEP_METADATA;
}

bool ki_keep_has_field(ki_keep keep, const ki_path *path) {
    return keep == KI_KEEP_OBJECT || (keep == KI_KEEP_METADATA && ki_path_is_of_metadata(path));
}

/* --- one object --------------------------------------------------------------------------------------------------- */

ki_keep ki_object_keep(const ki_object *obj) {
    const ki_object_format *format = ki_format_of(obj);
    if (obj->body_size)
        return obj->is_partial ? KI_KEEP_METADATA : KI_KEEP_OBJECT;
    return format->limits.drops_content ? KI_KEEP_AT_LIMIT : format->keep;
}

bool ki_object_has_content(const ki_object *obj) {
    return obj->body_size != 0;
}

bool ki_object_has_labels(const ki_object *obj) {
    const ki_object_format *format = ki_format_of(obj);
    return obj->body_size || format->limits.drops_content || ki_object_format_has_labels(format);
}

ki_status ki_object_check_content(const ki_object *obj, ki_error *err) {
    ki_keep keep = ki_object_keep(obj);
    if (obj->body_size)
        return KI_OK;
    if (keep == KI_KEEP_AT_LIMIT)
        return ki_error_set(err, KI_ERR_STATE, "%s has no content: the cache dropped it at its memory limit",
                            ki_object_key(obj));
    return ki_error_set(err, KI_ERR_STATE, "%s has no content: the cache keeps only the %s", ki_object_key(obj),
                        ki_keep_name(keep));
}
