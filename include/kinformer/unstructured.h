/* unstructured.h: an object that the program builds to write: made from YAML, JSON or a cached object, changed field by
 * field, and given to a function that writes it (client.h, kinformer-controllers/controller.h).
 *
 *     ki_unstructured *deployment = ki_unstructured_new(template_yaml);
 *     ki_unstructured_set_string(deployment, "metadata.name", foo->deployment_name);
 *     ki_unstructured_set_string(deployment, "metadata.namespace", ki_object_namespace(owner));
 *     ki_unstructured_set_int(deployment, "spec.replicas", foo->replicas);
 *     ki_unstructured_set_controller(deployment, owner);
 *     return ki_client_create(client, KI_DEPLOYMENTS, deployment, NULL, NULL, err);           frees the deployment
 *
 * The functions that make and change an object return no error. The object keeps the first failure, later changes do
 * nothing, and the function that writes the object returns the failure, as ki_unstructured_json does. Paths are those
 * of ki_object_field. A change creates maps on the path that are missing or null. A change never creates an array
 * element: "[0]" must exist. Numbers that the program does not change are written as they were read, also above 64
 * bits.
 *
 * Threads: one at a time. */
#ifndef KINFORMER_UNSTRUCTURED_H
#define KINFORMER_UNSTRUCTURED_H

#include <kinformer/object.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef struct ki_unstructured ki_unstructured;

enum {
    KI_UNSTRUCTURED_SIZE_MAX = 64 << 20, /* bytes of JSON, read or written; the same as KI_CLIENT_BODY_MAX */
    KI_UNSTRUCTURED_DEPTH_MAX = 1000     /* nested maps and arrays */
};

/* ---- new, free ---- */

/* Makes an object from text, which must be a map: YAML as Kubernetes' tools read it, or JSON. Other text, a second YAML
 * document and NULL are failures: KI_ERR_PARSE names line and column. Returns NULL if memory runs out; all functions
 * accept NULL as an object with the failure KI_ERR_NO_MEMORY.
 * Ownership: a function that writes the object frees it; otherwise the caller does with ki_unstructured_free.
 * Blocks: no. */
KI_API ki_unstructured *ki_unstructured_new(const char *text);
/* Makes an object from a file with such text, of at most 4 MiB. Further failures: KI_ERR_NOT_FOUND, KI_ERR_CONFIG (the
 * file cannot be read). Ownership: as ki_unstructured_new. Blocks: on the file. */
KI_API ki_unstructured *ki_unstructured_from_file(const char *path);
/* Makes an object with only apiVersion, kind and name, and with the namespace unless it is NULL or "". `name` NULL or
 * "": no name; for metadata.generateName. Further failure: KI_ERR_INVALID (a resource without a version or a kind).
 * Ownership, Blocks: as ki_unstructured_new. */
KI_API ki_unstructured *ki_unstructured_for(const ki_resource *resource, const char *namespace_name, const char *name);
/* Makes an object from a copy of `obj`. Failures: as ki_unstructured_new; KI_ERR_STATE (`obj` has no content: ki_keep).
 *
 * If `obj` has metadata alone (KI_KEEP_METADATA), the server would take the fields that the copy lacks for removed
 * ones. So the copy is for ki_client_patch, which leaves them alone. All other functions that write it return
 * KI_ERR_STATE, and its conditions cannot be changed (condition.h). For these, get the object with ki_client_get,
 * without an informer of metadata in the options. Text from ki_unstructured_json is not checked.
 *
 * Ownership: as ki_unstructured_new, and the object is freed while the allocator of `obj`'s engine still exists.
 * Blocks: no. */
KI_API ki_unstructured *ki_unstructured_from_object(const ki_object *obj);
/* Makes a copy of `object`, with its failure. Ownership: as ki_unstructured_new. Threads: several may copy the same
 * object, such as a template, while none changes it. Blocks: no. */
KI_API ki_unstructured *ki_unstructured_copy(const ki_unstructured *object);
/* Frees an object. NULL is accepted. */
KI_API void ki_unstructured_free(ki_unstructured *object);

/* ---- fields: each function sets the field under `path`, or replaces its value ---- */

/* Sets a string; NULL sets null. */
KI_API void ki_unstructured_set_string(ki_unstructured *object, const char *path, const char *value);
/* Sets an integer. */
KI_API void ki_unstructured_set_int(ki_unstructured *object, const char *path, int64_t value);
/* Sets a number; infinity and NaN are failures. */
KI_API void ki_unstructured_set_double(ki_unstructured *object, const char *path, double value);
/* Sets true or false. */
KI_API void ki_unstructured_set_bool(ki_unstructured *object, const char *path, bool value);
/* Sets null. */
KI_API void ki_unstructured_set_null(ki_unstructured *object, const char *path);
/* Sets any JSON value. */
KI_API void ki_unstructured_set_json(ki_unstructured *object, const char *path, const char *json);
/* Removes a field or an array element. Does nothing if there is none. */
KI_API void ki_unstructured_remove(ki_unstructured *object, const char *path);

/* ---- owner references; the owner must be cluster-scoped, or in the object's namespace (else KI_ERR_INVALID) ---- */

/* Adds an owner reference to `owner` with controller and blockOwnerDeletion true, or updates the reference with the
 * owner's uid. The failure is KI_ERR_EXISTS if another object is the controller already. */
KI_API void ki_unstructured_set_controller(ki_unstructured *object, const ki_object *owner);
/* Adds an owner reference to `owner`, or updates the reference with the owner's uid without changing its controller and
 * blockOwnerDeletion. */
KI_API void ki_unstructured_add_owner(ki_unstructured *object, const ki_object *owner);
/* Removes the owner references with the owner's uid. Does nothing if there is none. */
KI_API void ki_unstructured_remove_owner(ki_unstructured *object, const ki_object *owner);

/* ---- finalizers ---- */

/* Adds a finalizer. Returns true if the object did not have the finalizer. */
KI_API bool ki_unstructured_add_finalizer(ki_unstructured *object, const char *finalizer);
/* Removes a finalizer. Returns true if the object had the finalizer. */
KI_API bool ki_unstructured_remove_finalizer(ki_unstructured *object, const char *finalizer);

/* ---- fencing ---- */

/* Writes `token` (ki_elector_fencing_token) into an annotation such as "example.com/fencing-token", so that a write of
 * an earlier leader never replaces one of a later leader. Before, the object's token is compared: the failure is
 * KI_ERR_CANCELLED if it is higher, and if `token` is negative (this process does not lead).
 *
 * What the server checks is the resource version: the write only replaces the state whose token was compared. So
 * `object` is from ki_unstructured_from_object and is updated, or it is new and is created; any other function that
 * writes the object returns KI_ERR_INVALID. A server keeps annotations of an update of the status only for some
 * resources, no custom ones: there the token is compared and not raised. */
KI_API void ki_unstructured_set_fencing_token(ki_unstructured *object, const char *annotation, int64_t token);

/* ---- the result ---- */

/* For requests that take text. Returns the object as compact JSON, or NULL after a failure: `err` has the first failure
 * with its path.
 * Ownership: borrowed until the next change of `object`. Blocks: no.
 * Errors: KI_ERR_PARSE (a path, JSON or YAML), KI_ERR_INVALID (a path through a value that is not a map or array, text
 * that is not UTF-8, infinity or NaN, or an owner), KI_ERR_EXISTS (another controller), KI_ERR_LIMIT (size or depth),
 * KI_ERR_NO_MEMORY; those of the function that made the object. */
KI_API KI_MUST_CHECK const char *ki_unstructured_json(ki_unstructured *object, ki_error *err);

/* ---- cached objects in reconcilers: any thread; false for NULL, and for one without its content (ki_keep) ---- */

/* Returns true if `owner` is the controller of `obj`, by uid. */
KI_API bool ki_object_is_controlled_by(const ki_object *obj, const ki_object *owner);
/* Writes the key of the controller of `obj`, if the owner references name a controller with the group and kind of
 * `owner`; the version may differ. Returns false if there is no such controller, if `size` is too small
 * (KI_OBJECT_KEY_MAX is enough), or if memory runs out. */
KI_API bool ki_object_controller_key(const ki_object *obj, const ki_resource *owner, char *ret_key, size_t size);
/* Returns true if metadata.deletionTimestamp is set: the object is being deleted and has finalizers or a grace period
 * left. */
KI_API bool ki_object_is_being_deleted(const ki_object *obj);
/* Returns true if the object has the finalizer. */
KI_API bool ki_object_has_finalizer(const ki_object *obj, const char *finalizer);

KI_END_DECLS

#endif
