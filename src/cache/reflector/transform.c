/* transform.c: see transform.h. */
#include "src/cache/reflector/transform.h"

#include "src/base/error.h"
#include "src/object/format.h"

#include <string.h>

ki_status ki_transform_object(const ki_transform_step *step, ki_object *obj, ki_object **ret_obj, ki_error *err) {
    if (!step->transform) {
        *ret_obj = ki_object_ref(obj);
        return KI_OK;
    }
    ki_object *changed = NULL;
    ki_error cause = KI_ERROR_INIT;
    ki_status status = step->transform(obj, &changed, step->user, &cause);
    const char *key = ki_object_key(obj);
    if (status)
        return ki_error_set(err, status, "transform of %s: %s", key,
                            cause.code ? ki_error_message(&cause) : ki_status_name(status));
    if (!changed)
        return ki_error_set(err, KI_ERR_INVALID, "transform of %s: it returned no object", key);
    if (strcmp(ki_object_key(changed), key) != 0) {
        ki_object_unref(changed);
        return ki_error_set(err, KI_ERR_INVALID, "transform of %s: it returned an object with another key", key);
    }
    status = ki_object_view_only(changed, ret_obj, err);
    ki_object_unref(changed);
    return status;
}
