/* keep.c: see keep.h. */
#include "src/object/keep.h"

#include "src/object/format.h"

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

bool ki_keep_has_field(ki_keep keep, ki_str path) {
    if (ki_str_starts_with(path, KI_STR(".")))
        path = (ki_str){ path.data + 1, path.size - 1 };
    if (keep == KI_KEEP_METADATA)
        return ki_str_starts_with(path, KI_STR("metadata")) || ki_str_equals(path, "kind") ||
               ki_str_equals(path, "apiVersion");
    return keep == KI_KEEP_OBJECT;
}
