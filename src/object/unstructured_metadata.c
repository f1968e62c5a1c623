/* unstructured_metadata.c: owner references, finalizers and fencing tokens of a ki_unstructured. One thread at a
 * time. */
#include "src/base/error.h"
#include "src/object/unstructured.h"

#include <stdio.h>
#include <stdlib.h>

static const char references_path[] = "metadata.ownerReferences";
static const char finalizers_path[] = "metadata.finalizers";
static const char annotations_path[] = "metadata.annotations";

static yyjson_mut_val *metadata_of(ki_unstructured *object) {
    return yyjson_mut_obj_get(yyjson_mut_doc_get_root(object->doc), "metadata");
}

static bool is_text(yyjson_mut_val *value, const char *text) {
    return yyjson_mut_is_str(value) &&
           ki_str_equals((ki_str){ yyjson_mut_get_str(value), yyjson_mut_get_len(value) }, text);
}

/* Sets a member of a map. `name` is static. */
static bool put_member(ki_unstructured *object, yyjson_mut_val *map, const char *name, yyjson_mut_val *value) {
    yyjson_mut_val *key = yyjson_mut_str(object->doc, name);
    return key && value && yyjson_mut_obj_put(map, key, value);
}

static bool put_text(ki_unstructured *object, yyjson_mut_val *map, const char *name, const char *text) {
    return put_member(object, map, name, yyjson_mut_strcpy(object->doc, text));
}

static bool put_true(ki_unstructured *object, yyjson_mut_val *map, const char *name) {
    return put_member(object, map, name, yyjson_mut_bool(object->doc, true));
}

/* Returns the map `name` of a map, and creates it if it is missing or null. `name` is static. */
static yyjson_mut_val *map_of(ki_unstructured *object, yyjson_mut_val *parent, const char *name, const char *path) {
    yyjson_mut_val *map = yyjson_mut_obj_get(parent, name);
    if (map && !yyjson_mut_is_null(map))
        return map;
    map = yyjson_mut_obj(object->doc);
    if (put_member(object, parent, name, map))
        return map;
    ki_unstructured_fail_no_memory(object, path);
    return NULL;
}

yyjson_mut_val *ki_unstructured_array(ki_unstructured *object, const char *parent, const char *name, const char *path) {
    yyjson_mut_val *map = map_of(object, yyjson_mut_doc_get_root(object->doc), parent, path);
    if (!map)
        return NULL;
    yyjson_mut_val *array = yyjson_mut_obj_get(map, name);
    if (yyjson_mut_is_arr(array))
        return array;
    if (!yyjson_mut_is_obj(map) || (array && !yyjson_mut_is_null(array))) {
        ki_unstructured_fail(object, KI_ERR_INVALID, path, "not an array");
        return NULL;
    }
    array = yyjson_mut_arr(object->doc);
    if (put_member(object, map, name, array))
        return array;
    ki_unstructured_fail_no_memory(object, path);
    return NULL;
}

/* Removes an empty array of the metadata: an object without the field means the same. */
static void remove_if_empty(ki_unstructured *object, yyjson_mut_val *array, const char *name) {
    if (yyjson_mut_arr_size(array) == 0)
        yyjson_mut_obj_remove_key(metadata_of(object), name);
}

/* --- owner references --------------------------------------------------------------------------------------------- */

static bool is_reference_to(yyjson_mut_val *reference, const ki_object *owner) {
    return is_text(yyjson_mut_obj_get(reference, "uid"), ki_object_uid(owner));
}

/* Checks the owner's namespace: garbage collection looks for a namespaced owner only in the object's own namespace. */
static bool check_owner(ki_unstructured *object, const ki_object *owner) {
    if (!owner)
        return ki_unstructured_fail(object, KI_ERR_INVALID, references_path, "no owner");
    if (!*ki_object_uid(owner) || !*ki_object_kind(owner) || !*ki_object_api_version(owner))
        return ki_unstructured_fail(object, KI_ERR_INVALID, references_path,
                                    "the owner has no uid, kind or apiVersion");
    yyjson_mut_val *namespace_name = yyjson_mut_obj_get(metadata_of(object), "namespace");
    if (!*ki_object_namespace(owner) || is_text(namespace_name, ki_object_namespace(owner)))
        return true;
    if (yyjson_mut_get_len(namespace_name) == 0)
        return ki_unstructured_fail(object, KI_ERR_INVALID, references_path,
                                    "the owner has a namespace, the object has none in metadata.namespace");
    ki_error_set(&object->failure, KI_ERR_INVALID, "the owner %.63s/%.253s is in another namespace",
                 ki_object_namespace(owner), ki_object_name(owner));
    return false;
}

/* Checks that no other object is the controller. */
static bool check_controller(ki_unstructured *object, yyjson_mut_val *references, const ki_object *owner) {
    size_t index, count;
    yyjson_mut_val *reference;
    yyjson_mut_arr_foreach(references, index, count, reference) {
        if (!yyjson_mut_get_bool(yyjson_mut_obj_get(reference, "controller")) || is_reference_to(reference, owner))
            continue;
        const char *kind = yyjson_mut_get_str(yyjson_mut_obj_get(reference, "kind"));
        const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(reference, "name"));
        ki_error_set(&object->failure, KI_ERR_EXISTS, "%s: the object is controlled by %.100s %.200s already",
                     references_path, kind ? kind : "", name ? name : "");
        return false;
    }
    return true;
}

/* Returns the reference to `owner`, or adds one at the end of the array; NULL if out of memory. */
static yyjson_mut_val *reference_to(ki_unstructured *object, yyjson_mut_val *references, const ki_object *owner) {
    size_t index, count;
    yyjson_mut_val *reference;
    yyjson_mut_arr_foreach(references, index, count, reference) {
        if (is_reference_to(reference, owner))
            return reference;
    }
    return yyjson_mut_arr_add_obj(object->doc, references);
}

static void set_owner(ki_unstructured *object, const ki_object *owner, bool controls) {
    if (!ki_unstructured_change(object) || !check_owner(object, owner))
        return;
    yyjson_mut_val *references = ki_unstructured_array(object, "metadata", "ownerReferences", references_path);
    if (!references || (controls && !check_controller(object, references, owner)))
        return;
    yyjson_mut_val *reference = reference_to(object, references, owner);
    bool set = reference && put_text(object, reference, "apiVersion", ki_object_api_version(owner)) &&
               put_text(object, reference, "kind", ki_object_kind(owner)) &&
               put_text(object, reference, "name", ki_object_name(owner)) &&
               put_text(object, reference, "uid", ki_object_uid(owner));
    if (set && controls)
        set = put_true(object, reference, "controller") && put_true(object, reference, "blockOwnerDeletion");
    if (!set)
        ki_unstructured_fail_no_memory(object, references_path);
}

void ki_unstructured_set_controller(ki_unstructured *object, const ki_object *owner) {
    set_owner(object, owner, true);
}

void ki_unstructured_add_owner(ki_unstructured *object, const ki_object *owner) {
    set_owner(object, owner, false);
}

void ki_unstructured_remove_owner(ki_unstructured *object, const ki_object *owner) {
    if (!ki_unstructured_change(object))
        return;
    if (!owner) {
        ki_unstructured_fail(object, KI_ERR_INVALID, references_path, "no owner");
        return;
    }
    yyjson_mut_val *references = yyjson_mut_obj_get(metadata_of(object), "ownerReferences");
    for (size_t i = yyjson_mut_arr_size(references); i-- > 0;) {
        if (is_reference_to(yyjson_mut_arr_get(references, i), owner))
            yyjson_mut_arr_remove(references, i);
    }
    remove_if_empty(object, references, "ownerReferences");
}

/* --- finalizers --------------------------------------------------------------------------------------------------- */

/* Returns the index of a text in the array, or SIZE_MAX. */
static size_t find_text(yyjson_mut_val *array, const char *text) {
    size_t index, count;
    yyjson_mut_val *value;
    yyjson_mut_arr_foreach(array, index, count, value) {
        if (is_text(value, text))
            return index;
    }
    return SIZE_MAX;
}

static bool check_finalizer(ki_unstructured *object, const char *finalizer) {
    if (!finalizer || !*finalizer)
        return ki_unstructured_fail(object, KI_ERR_INVALID, finalizers_path, "no finalizer");
    if (!ki_str_is_utf8(ki_str_of(finalizer)))
        return ki_unstructured_fail(object, KI_ERR_INVALID, finalizers_path, "the finalizer is not UTF-8");
    return true;
}

bool ki_unstructured_add_finalizer(ki_unstructured *object, const char *finalizer) {
    yyjson_mut_doc *doc = ki_unstructured_change(object);
    if (!doc || !check_finalizer(object, finalizer))
        return false;
    yyjson_mut_val *finalizers = ki_unstructured_array(object, "metadata", "finalizers", finalizers_path);
    if (!finalizers || find_text(finalizers, finalizer) != SIZE_MAX)
        return false;
    return yyjson_mut_arr_add_strcpy(doc, finalizers, finalizer) ||
           ki_unstructured_fail_no_memory(object, finalizers_path);
}

bool ki_unstructured_remove_finalizer(ki_unstructured *object, const char *finalizer) {
    if (!ki_unstructured_change(object) || !check_finalizer(object, finalizer))
        return false;
    yyjson_mut_val *finalizers = yyjson_mut_obj_get(metadata_of(object), "finalizers");
    bool removed = false;
    for (size_t i; (i = find_text(finalizers, finalizer)) != SIZE_MAX; removed = true)
        yyjson_mut_arr_remove(finalizers, i);
    if (removed)
        remove_if_empty(object, finalizers, "finalizers");
    return removed;
}

/* --- fencing ------------------------------------------------------------------------------------------------------ */

/* Reads the token of an annotation, digits. Returns false for another value. */
static bool read_token(yyjson_mut_val *annotation, int64_t *ret_token) {
    const char *text = yyjson_mut_get_str(annotation);
    size_t digits = text ? strspn(text, "0123456789") : 0;
    *ret_token = digits ? strtoll(text, NULL, 10) : 0;
    return digits > 0 && digits == yyjson_mut_get_len(annotation);
}

void ki_unstructured_set_fencing_token(ki_unstructured *object, const char *annotation, int64_t token) {
    if (!ki_unstructured_change(object))
        return;
    if (!annotation || !*annotation || !ki_str_is_utf8(ki_str_of(annotation))) {
        ki_unstructured_fail(object, KI_ERR_INVALID, annotations_path, "no annotation for a fencing token");
        return;
    }
    if (token < 0) {
        ki_unstructured_fail(object, KI_ERR_CANCELLED, annotation, "this process does not lead");
        return;
    }
    yyjson_mut_val *metadata = map_of(object, yyjson_mut_doc_get_root(object->doc), "metadata", annotations_path);
    yyjson_mut_val *annotations = metadata ? map_of(object, metadata, "annotations", annotations_path) : NULL;
    yyjson_mut_val *before = yyjson_mut_obj_get(annotations, annotation);
    int64_t last = 0;
    if (!annotations)
        return;
    if (!yyjson_mut_is_obj(annotations) || (before && !read_token(before, &last)))
        ki_unstructured_fail(object, KI_ERR_INVALID, annotation, "not a fencing token");
    else if (last > token)
        ki_unstructured_fail(object, KI_ERR_CANCELLED, annotation, "a later leader has written the object");
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)token);
    yyjson_mut_val *key = yyjson_mut_strcpy(object->doc, annotation), *value = yyjson_mut_strcpy(object->doc, text);
    if (!key || !value || !yyjson_mut_obj_put(annotations, key, value))
        ki_unstructured_fail_no_memory(object, annotation);
    object->is_fenced = true;
}
