/* keep.c: see keep.h; and what one object has of what its cache keeps. */
#include "src/object/keep.h"

#include "src/base/error.h"
#include "src/object/object.h"

const char *ki_keep_name(ki_keep keep) {
    static const char *const names[] = { "object", "metadata", "view", "keys", "view" };
    return keep >= KI_KEEP_OBJECT && keep <= KI_KEEP_VIEW_AND_LABELS ? names[keep] : NULL;
}

ki_keep ki_keep_of_all(const ki_informer_options *options, const ki_object_format *format) {
    bool has_labels = options->keep == KI_KEEP_VIEW && format && ki_object_format_has_labels(format);
    return has_labels ? KI_KEEP_VIEW_AND_LABELS : options->keep;
}

bool ki_keep_has_labels(ki_keep keep) {
    return keep == KI_KEEP_OBJECT || keep == KI_KEEP_METADATA || keep == KI_KEEP_VIEW_AND_LABELS;
}

bool ki_keep_has_metadata(ki_keep keep) {
    return keep == KI_KEEP_OBJECT || keep == KI_KEEP_METADATA;
}

bool ki_keep_has_field(ki_keep keep, const ki_path *path) {
    return keep == KI_KEEP_OBJECT || (keep == KI_KEEP_METADATA && ki_path_is_of_metadata(path));
}

/* --- one object --------------------------------------------------------------------------------------------------- */

ki_keep ki_object_keep(const ki_object *obj) {
    if (obj->body_size)
        return obj->is_partial ? KI_KEEP_METADATA : KI_KEEP_OBJECT;
    return ki_format_of(obj)->keep;
}

bool ki_object_has_labels(const ki_object *obj) {
    return obj->body_size || ki_object_format_has_labels(ki_format_of(obj));
}

ki_status ki_object_check_content(const ki_object *obj, ki_error *err) {
    if (obj->body_size)
        return KI_OK;
    return ki_error_set(
        err, KI_ERR_STATE,
        "%s has no content: the cache keeps only the %s; keep a view with the field, or the whole object",
        ki_object_key(obj), ki_keep_name(ki_object_keep(obj)));
}
