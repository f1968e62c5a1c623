/* unstructured.h: an object that a program writes: made from a template or from a cached object, changed field by field, sent as JSON.
 *
 *     ki_unstructured *deployment = ki_unstructured_new(template_json);
 *     ki_unstructured_set_string(deployment, "metadata.name", foo->deployment_name);
 *     ki_unstructured_set_int(deployment, "spec.replicas", foo->replicas);
 *     ki_unstructured_set_controller(deployment, owner);
 *     const char *json = ki_unstructured_json(deployment, &err);
 *     if (json) …ki_client_create(client, KI_DEPLOYMENTS, namespace_name, json, NULL, NULL, &err)
 *     ki_unstructured_free(deployment);
 *
 * The functions that change it return nothing: the first failure is kept, later changes do nothing, and ki_unstructured_json reports it.
 * Paths are those of ki_object_field; a map on the way that does not exist is made, an array is not: "[0]" must exist.
 *
 * Threads: one at a time. */
#ifndef KINFORMER_UNSTRUCTURED_H
#define KINFORMER_UNSTRUCTURED_H

#include <kinformer/object.h>

KI_BEGIN_DECLS

typedef struct ki_unstructured ki_unstructured;

/* Makes one from JSON text (a map), or from a copy of an object. NULL, and text that is no map, are failures that
 * ki_unstructured_json reports; so is lack of memory, for which NULL is returned: all functions accept NULL.
 * Ownership: the caller's, freed with ki_unstructured_free. Blocks: no. */
KI_API ki_unstructured *ki_unstructured_new(const char *json);
KI_API ki_unstructured *ki_unstructured_from_object(const ki_object *obj);
KI_API void ki_unstructured_free(ki_unstructured *object);

/* Sets the field under `path`, which replaces what is there. `value` NULL in set_string, and set_null, write null. `json` is any JSON value. */
KI_API void ki_unstructured_set_string(ki_unstructured *object, const char *path, const char *value);
KI_API void ki_unstructured_set_int(ki_unstructured *object, const char *path, int64_t value);
KI_API void ki_unstructured_set_double(ki_unstructured *object, const char *path, double value);
KI_API void ki_unstructured_set_bool(ki_unstructured *object, const char *path, bool value);
KI_API void ki_unstructured_set_json(ki_unstructured *object, const char *path, const char *json);
/* Removes the field; nothing happens where there is none. */
KI_API void ki_unstructured_remove(ki_unstructured *object, const char *path);

/* Adds an owner reference to `owner`, or updates the one with its uid. set_controller marks it as the controller (controller and blockOwnerDeletion
 * true): KI_ERR_EXISTS where another object is the controller already. The owner of a namespaced object is cluster-scoped or in
 * the same namespace: else KI_ERR_INVALID. */
KI_API void ki_unstructured_set_controller(ki_unstructured *object, const ki_object *owner);
KI_API void ki_unstructured_add_owner(ki_unstructured *object, const ki_object *owner);
KI_API void ki_unstructured_remove_owner(ki_unstructured *object, const ki_object *owner);

/* Adds a finalizer, or removes it. Returns true where that changed something. */
KI_API bool ki_unstructured_add_finalizer(ki_unstructured *object, const char *finalizer);
KI_API bool ki_unstructured_remove_finalizer(ki_unstructured *object, const char *finalizer);

/* Returns the object as compact JSON, or NULL where anything before failed: `err` names the first failure and its path.
 * Ownership: borrowed until the next change or the end of `object`.
 * Errors: KI_ERR_PARSE (a path, or JSON), KI_ERR_INVALID (a path through something that is no map), KI_ERR_EXISTS, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK const char *ki_unstructured_json(ki_unstructured *object, ki_error *err);

/* ---- what reconcilers ask of cached objects ---- */

/* Returns true where `owner` is the controller of `obj`, by uid. */
KI_API bool ki_object_is_controlled_by(const ki_object *obj, const ki_object *owner);
/* Returns true where metadata.deletionTimestamp is set: the object is being deleted, and waits for its finalizers. */
KI_API bool ki_object_is_being_deleted(const ki_object *obj);
KI_API bool ki_object_has_finalizer(const ki_object *obj, const char *finalizer);

KI_END_DECLS

#endif
