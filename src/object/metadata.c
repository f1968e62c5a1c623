/* metadata.c: reads an object's owner, finalizers and deletion from the text of its body, so that the functions cannot
 * fail. Any thread. */
#include <kinformer/unstructured.h>

#include "src/object/json_text.h"
#include "src/object/object.h"

static ki_str metadata_member(const ki_object *obj, ki_str name) {
    return ki_json_text_member(ki_json_text_member(ki_object_body(obj), KI_STR("metadata")), name);
}

bool ki_object_is_controlled_by(const ki_object *obj, const ki_object *owner) {
    if (!obj || !owner || !*ki_object_uid(owner))
        return false;
    for (ki_str rest = ki_json_text_inside(metadata_member(obj, KI_STR("ownerReferences")), '['); rest.size;) {
        ki_str reference = ki_json_text_take(&rest);
        if (ki_str_equals(ki_json_text_member(reference, KI_STR("controller")), "true"))
            return ki_json_text_is(ki_json_text_member(reference, KI_STR("uid")), ki_str_of(ki_object_uid(owner)));
    }
    return false;
}

bool ki_object_is_being_deleted(const ki_object *obj) {
    ki_str value = obj ? metadata_member(obj, KI_STR("deletionTimestamp")) : (ki_str){ NULL, 0 };
    return value.size > 0 && !ki_str_equals(value, "null");
}

bool ki_object_has_finalizer(const ki_object *obj, const char *finalizer) {
    if (!obj || !finalizer)
        return false;
    for (ki_str rest = ki_json_text_inside(metadata_member(obj, KI_STR("finalizers")), '['); rest.size;) {
        if (ki_json_text_is(ki_json_text_take(&rest), ki_str_of(finalizer)))
            return true;
    }
    return false;
}
