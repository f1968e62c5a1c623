/* transform.c: see transform.h. */
#include "src/cache/transform.h"

#include "src/base/error.h"

#include <string.h>

ki_status ki_transform_object(const ki_transform_step *step, ki_object *obj, ki_object **ret_obj) {
    *ret_obj = NULL;
    if (!step->transform) {
        *ret_obj = ki_object_ref(obj);
        return KI_OK;
    }
    ki_object *changed = NULL;
    ki_status status = step->transform(obj, &changed, step->transform_user);
    const char *key = ki_object_key(obj);
    const char *why = status ? ki_status_name(status) : "it gave nothing";
    if (!status && changed) {
        if (strcmp(ki_object_key(changed), key) == 0) {
            *ret_obj = changed;
            return KI_OK;
        }
        ki_object_unref(changed);
        why = "it gave an object with another key";
    }
    if (status == KI_ERR_NO_MEMORY)
        return status;
    if (step->on_error) {
        ki_error err = KI_ERROR_INIT;
        ki_error_set(&err, status ? status : KI_ERR_INVALID, "transform of %s: %s", key, why);
        step->on_error(&err, key, step->on_error_user);
    }
    return KI_OK;
}
