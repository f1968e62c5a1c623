/* metadata.c: reads an object's owner, finalizers and deletion from the text of its body, so that the functions cannot
 * fail. Any thread. */
#include <kinformer/unstructured.h>

#include "src/object/body.h"
#include "src/object/json_text.h"

static bool is_controlled_by(ki_str references, const char *uid) {
    for (ki_str rest = ki_json_text_inside(references, '['); rest.size;) {
        ki_str reference = ki_json_text_take(&rest);
        if (ki_str_equals(ki_json_text_member(reference, KI_STR("controller")), "true"))
            return ki_json_text_is(ki_json_text_member(reference, KI_STR("uid")), ki_str_of(uid));
    }
    return false;
}

bool ki_object_is_controlled_by(const ki_object *obj, const ki_object *owner) {
    if (!obj || !owner || !*ki_object_uid(owner))
        return false;
    ki_body body = ki_body_open_surely(obj);
    bool is_controlled = is_controlled_by(ki_body_metadata(&body, KI_STR("ownerReferences")), ki_object_uid(owner));
    ki_body_close(obj, &body);
    return is_controlled;
}

bool ki_object_is_being_deleted(const ki_object *obj) {
    if (!obj)
        return false;
    ki_body body = ki_body_open_surely(obj);
    ki_str value = ki_body_metadata(&body, KI_STR("deletionTimestamp"));
    bool is_set = value.size > 0 && !ki_str_equals(value, "null");
    ki_body_close(obj, &body);
    return is_set;
}

static bool has_text(ki_str array, const char *text) {
    for (ki_str rest = ki_json_text_inside(array, '['); rest.size;) {
        if (ki_json_text_is(ki_json_text_take(&rest), ki_str_of(text)))
            return true;
    }
    return false;
}

bool ki_object_has_finalizer(const ki_object *obj, const char *finalizer) {
    if (!obj || !finalizer)
        return false;
    ki_body body = ki_body_open_surely(obj);
    bool has_finalizer = has_text(ki_body_metadata(&body, KI_STR("finalizers")), finalizer);
    ki_body_close(obj, &body);
    return has_finalizer;
}
