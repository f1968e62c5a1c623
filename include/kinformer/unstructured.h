/* unstructured.h: an object that a program writes: made from a template or from a cached object, changed field by field, sent as JSON.
 *
 *     ki_unstructured *deployment = ki_unstructured_new(template_json);
 *     ki_unstructured_set_string(deployment, "metadata.name", foo->deployment_name);
 *     ki_unstructured_set_string(deployment, "metadata.namespace", ki_object_namespace(owner));
 *     ki_unstructured_set_int(deployment, "spec.replicas", foo->replicas);
 *     ki_unstructured_set_controller(deployment, owner);
 *     const char *json = ki_unstructured_json(deployment, &err);
 *     if (json) …ki_client_create(client, KI_DEPLOYMENTS, namespace_name, json, NULL, NULL, &err)
 *     ki_unstructured_free(deployment);
 *
 * The functions that change an object return nothing: the object keeps the first failure, later changes do nothing, and
 * ki_unstructured_json reports the failure. Paths are those of ki_object_field. A change makes the maps that are missing on the way
 * (or null); it makes no array: the element "[0]" must exist. Numbers that a program does not change are written as they were read,
 * whatever their size.
 *
 * Threads: one at a time. */
#ifndef KINFORMER_UNSTRUCTURED_H
#define KINFORMER_UNSTRUCTURED_H

#include <kinformer/object.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef struct ki_unstructured ki_unstructured;

enum {
    KI_UNSTRUCTURED_SIZE_MAX = 64 << 20, /* bytes of JSON, read or written: what ki_client sends */
    KI_UNSTRUCTURED_DEPTH_MAX = 1000     /* maps and arrays within each other */
};

/* Makes an object from JSON text (a map), or from a copy of an object. NULL, and text that is no map, are failures that
 * ki_unstructured_json reports. So is lack of memory, for which NULL is returned: all functions accept NULL.
 * Ownership: the caller's, freed with ki_unstructured_free; a copy of `obj` before the allocator of its engine goes. Blocks: no. */
KI_API ki_unstructured *ki_unstructured_new(const char *json);
KI_API ki_unstructured *ki_unstructured_from_object(const ki_object *obj);
KI_API void ki_unstructured_free(ki_unstructured *object);

/* Sets the field under `path`, in place of what is there. `value` NULL in set_string, and set_null, write null. `json` is any JSON
 * value. */
KI_API void ki_unstructured_set_string(ki_unstructured *object, const char *path, const char *value);
KI_API void ki_unstructured_set_int(ki_unstructured *object, const char *path, int64_t value);
KI_API void ki_unstructured_set_double(ki_unstructured *object, const char *path, double value);
KI_API void ki_unstructured_set_bool(ki_unstructured *object, const char *path, bool value);
KI_API void ki_unstructured_set_null(ki_unstructured *object, const char *path);
KI_API void ki_unstructured_set_json(ki_unstructured *object, const char *path, const char *json);
/* Removes the field or array element; does nothing where there is none. */
KI_API void ki_unstructured_remove(ki_unstructured *object, const char *path);

/* Adds an owner reference to `owner`, or updates the one with the owner's uid. set_controller marks the owner as the controller
 * (controller and blockOwnerDeletion true): KI_ERR_EXISTS where an object with another uid is the controller already. add_owner leaves
 * these two members as they are. An owner with a namespace owns only objects with the same metadata.namespace: else KI_ERR_INVALID. */
KI_API void ki_unstructured_set_controller(ki_unstructured *object, const ki_object *owner);
KI_API void ki_unstructured_add_owner(ki_unstructured *object, const ki_object *owner);
/* Removes the references with the owner's uid; does nothing where there is none. */
KI_API void ki_unstructured_remove_owner(ki_unstructured *object, const ki_object *owner);

/* Adds a finalizer, or removes it. Returns true where that changed something. */
KI_API bool ki_unstructured_add_finalizer(ki_unstructured *object, const char *finalizer);
KI_API bool ki_unstructured_remove_finalizer(ki_unstructured *object, const char *finalizer);

/* Returns the object as compact JSON, or NULL where anything before failed: `err` names the first failure and its path.
 * Ownership: borrowed until the next change or the end of `object`. Blocks: no.
 * Errors: KI_ERR_PARSE (a path, or JSON), KI_ERR_INVALID (a path through something that is no map, text that is not UTF-8, a number that
 * JSON has not, an owner), KI_ERR_EXISTS (another controller), KI_ERR_LIMIT (size or depth), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK const char *ki_unstructured_json(ki_unstructured *object, ki_error *err);

/* ---- what reconcilers ask of cached objects: any thread, no memory needed, false for NULL ---- */

/* Returns true where `owner` is the controller of `obj`, by uid. */
KI_API bool ki_object_is_controlled_by(const ki_object *obj, const ki_object *owner);
/* Writes the key of the object of `owner` that is the controller of `obj`, by its owner references: group and kind are compared, the version is not.
 * Returns false where there is none, the key does not fit (KI_OBJECT_KEY_MAX bytes always do), or memory runs out. */
enum {
    KI_OBJECT_KEY_MAX = 512 /* bytes of a key of valid names, with the closing zero */
};
KI_API bool ki_object_controller_key(const ki_object *obj, const ki_resource *owner, char *ret_key, size_t size);
/* Returns true where metadata.deletionTimestamp is set: the object is being deleted, and waits for its finalizers. */
KI_API bool ki_object_is_being_deleted(const ki_object *obj);
KI_API bool ki_object_has_finalizer(const ki_object *obj, const char *finalizer);

KI_END_DECLS

#endif
