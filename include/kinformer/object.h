/* object.h: one object of the cluster, immutable and reference-counted. The body is the server's JSON, without
 * managedFields unless the informer keeps them. An informer can keep less of its objects (ki_keep).
 *
 * Objects from getters, listers and events are borrowed. ki_object_ref keeps an object for as long as the program
 * wants, on any thread, also after the informer is freed. Key, name, labels and the like are stored decoded. All other
 * fields are read by path, which looks for each of them in the JSON. For fields that a program reads often, use a view
 * (view.h). */
#ifndef KINFORMER_OBJECT_H
#define KINFORMER_OBJECT_H

#include <kinformer/error.h>
#include <kinformer/value.h>
#include <kinformer/view.h>

KI_BEGIN_DECLS

typedef struct ki_object ki_object;

/* What a cache keeps of each object (ki_informer_options.keep). Handlers, lookups and waits work with each of these.
 *
 * Without its content an object has key, namespace, name, uid, resource version, apiVersion and kind. An object whose
 * view has metadata.labels as a ki_string_map has its labels, too. A function that reads what an object does not have
 * returns KI_ERR_STATE. A function that cannot return an error, such as ki_object_int or ki_object_label, returns what
 * it returns for an object without the field. */
typedef enum ki_keep {
    KI_KEEP_OBJECT = 0, /* all of it */
    /* apiVersion, kind and metadata. The server is asked for no more (PartialObjectMetadata). kind and apiVersion are
     * those of the resource. An object does not have its other fields: ki_object_field and the like return KI_ERR_STATE
     * for them, and a view with one of them is KI_ERR_INVALID for the informer. What is made of such an object is
     * written as a patch (ki_unstructured_from_object). */
    KI_KEEP_METADATA = 1,
    /* The view, without the content. */
    KI_KEEP_VIEW = 2,
    /* Nothing else. The object of a change is whole: ki_event.obj of an add, of an update that is no resync, and of a
     * delete without final_state_unknown. What comes from the cache has no content: the objects of other events,
     * ki_event.old, and the adds for a handler that is added to a running informer. */
    KI_KEEP_KEYS = 3
} ki_keep;

/* Returns `obj` with one more reference. NULL is accepted. Threads: any. Blocks: no. */
KI_API ki_object *ki_object_ref(const ki_object *obj);
/* Releases a reference; the last one frees the object. NULL is accepted. Threads: any. Blocks: no. */
KI_API void ki_object_unref(const ki_object *obj);

/* ---- decoded fields: strings are never NULL, "" if the object has none; borrowed from `obj`, which must not be
 * NULL; any thread ---- */

/* Returns "namespace/name", or "name" for a cluster-scoped object. */
KI_API const char *ki_object_key(const ki_object *obj);
/* Returns metadata.namespace. */
KI_API const char *ki_object_namespace(const ki_object *obj);
/* Returns metadata.name. */
KI_API const char *ki_object_name(const ki_object *obj);
/* Returns metadata.uid. */
KI_API const char *ki_object_uid(const ki_object *obj);
/* Returns metadata.resourceVersion, an opaque text; ki_resource_version_compare compares two. */
KI_API const char *ki_object_resource_version(const ki_object *obj);
/* Returns apiVersion, such as "apps/v1". */
KI_API const char *ki_object_api_version(const ki_object *obj);
/* Returns kind, such as "Deployment". */
KI_API const char *ki_object_kind(const ki_object *obj);

/* Returns the value of a label; NULL if the object has no such label. Values that are not strings are skipped; a value
 * with a zero character (\u0000) ends there. If JSON repeats a name, this function, ki_string_map_get and a path have
 * the first value; ki_object_label_at, ki_object_label_count and a view's map have each.
 * Ownership: borrowed from `obj`. Threads: any. Blocks: no. */
KI_API const char *ki_object_label(const ki_object *obj, const char *name);
/* Gets the label number `index`, counted from 0. Returns false past the last. Ownership, Threads, Blocks: as
 * ki_object_label. */
KI_API bool ki_object_label_at(const ki_object *obj, size_t index, const char **ret_name, const char **ret_value);
/* Returns the number of labels. Threads: any. */
KI_API size_t ki_object_label_count(const ki_object *obj);

/* Returns the program's struct, filled when the object was decoded (view.h); NULL if the informer has no view.
 * Ownership: borrowed from `obj`, with the strings in the struct. Threads: any. Blocks: no. */
KI_API const void *ki_object_view(const ki_object *obj);
/* ---- fields by path; NULL for an object, a path or a name is KI_ERR_INVALID ---- */

/* Gets a field by its path: "spec.nodeName", "spec.containers[0].image", "spec.containers[-1].name",
 * "metadata.labels['app.kubernetes.io/name']". A leading dot is accepted. The text of an array or object is the
 * server's, with its escapes and numbers. "[*]" stands for all elements of an array: the value of
 * "spec.containers[*].image" is an array of what the elements have. It is empty if no element has it, and if there is
 * no such array. Several "[*]" give one flat array. Quotes are single or double; a backslash escapes the next
 * character, with and without quotes: ["it's"] and ['it\'s'] are the same name, and so are ['a.b'] and .a\.b. A path is
 * no JSONPath: "{.spec.nodeName}", "$.spec.nodeName" and "spec.containers[].image" are KI_ERR_PARSE; in
 * "spec.containers.0.image" the 0 is the name of a member, which an array does not have.
 * Ownership: the caller empties `*ret_value` with ki_value_clear while the allocator of the object's engine still
 * exists. Threads: any. Blocks: no; scans the JSON.
 * Errors: KI_ERR_PARSE (the path, for any object), KI_ERR_NOT_FOUND (the object has no such field), KI_ERR_END (an
 * index past the end of its array: no higher one has a value), KI_ERR_STATE (ki_keep: the object has no content, or it
 * has metadata alone and the path leads elsewhere, so that the field is unknown), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_field(const ki_object *obj, const char *path, ki_value *ret_value,
                                               ki_error *err);

/* The functions below read one field in one line. A Deployment's strategy, replicas, paused and an annotation:
 *     char strategy[32], owner[256];
 *     … ki_object_string(obj, "spec.strategy.type", "RollingUpdate", strategy, sizeof strategy)
 *     … ki_object_int(obj, "spec.replicas", 1)
 *     … ki_object_bool(obj, "spec.paused", false)
 *     … ki_object_string(obj, "metadata.annotations['example.com/owner']", NULL, owner, sizeof owner)
 * They return `default_value` if the object has no such field, if the field is null or of another type, if the cache
 * does not keep the field (ki_keep), if memory runs out, and if `obj` or `path` is NULL or `path` cannot be parsed.
 * ki_object_field says which of these it is. A path that cannot be parsed gives the default for every object: a test of
 * the program calls ki_object_field once with each of its paths, on any object, and expects no KI_ERR_PARSE. With "[*]"
 * the value is an array, so these functions return the default; a view's string has the first match.
 * Threads, Blocks: as ki_object_field. */

/* Copies the string under `path`, with a closing zero, into `ret_text` of `size` bytes, and returns `ret_text`. A
 * string that does not fit is not cut: the function returns `default_value`, which can be NULL, and leaves `ret_text`
 * as it was; ki_object_field then returns KI_OK. KI_OBJECT_KEY_MAX is enough for any name. A string with a zero
 * character (\u0000) ends there. */
KI_API KI_MUST_CHECK const char *ki_object_string(const ki_object *obj, const char *path, const char *default_value,
                                                  char *ret_text, size_t size);
/* Returns the integer under `path`. Numbers with a point or an exponent, also 1.0 and 1e2, and those that do not fit
 * int64_t are of another type. */
KI_API int64_t ki_object_int(const ki_object *obj, const char *path, int64_t default_value);
/* Returns the boolean under `path`. */
KI_API bool ki_object_bool(const ki_object *obj, const char *path, bool default_value);

/* Gets an entry of a ConfigMap or Secret. The bytes of a Secret's data and of a ConfigMap's binaryData are decoded from
 * base64: `text` has `text_size` bytes, which may be zero characters. The type is KI_VALUE_STRING.
 * Ownership, Threads, Blocks: as ki_object_field.
 * Errors: KI_ERR_NOT_FOUND (the object has no such entry), KI_ERR_PARSE (not base64), KI_ERR_STATE (the object has no
 * content, or metadata alone: ki_keep), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_data(const ki_object *obj, const char *name, ki_value *ret_value,
                                              ki_error *err);

/* Gets the whole object as compact JSON with apiVersion and kind, and without managedFields unless the informer keeps
 * them. With KI_KEEP_METADATA the object ends after its metadata: an update with this text removes all other fields.
 * The type is KI_VALUE_OBJECT. Ownership, Threads, Blocks, Errors: as ki_object_field. */
KI_API KI_MUST_CHECK ki_status ki_object_json(const ki_object *obj, ki_value *ret_value, ki_error *err);

/* Makes an object with the identity of `obj` and the content of `json`, `size` bytes; for transforms. Key, namespace,
 * name, uid, resource version, apiVersion and kind are those of `obj`, even if `json` has others. Labels, view, fields
 * and ki_object_json are those of `json`. If `obj` has metadata alone (ki_keep), other fields that `json` lacks stay
 * unknown.
 * Ownership: `*ret_obj` is a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_with_json(const ki_object *obj, const char *json, size_t size,
                                                   ki_object **ret_obj, ki_error *err);

/* ---- owner references ---- */

/* One entry of metadata.ownerReferences. Strings are never NULL. */
typedef struct ki_owner_reference {
    const char *api_version;
    const char *kind;
    const char *name;
    const char *uid;
    bool controller;
    bool block_owner_deletion;
} ki_owner_reference;

/* Gets all owner references in the object's order. Without any, `*ret_count` is 0 and `*ret_references` is NULL.
 * Ownership: the caller frees the array with ki_owner_references_free. Threads: any. Blocks: no.
 * Errors: KI_ERR_STATE (the object has no content: ki_keep), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_owner_references(const ki_object *obj, ki_owner_reference **ret_references,
                                                          size_t *ret_count, ki_error *err);
/* Frees the array with its strings. NULL is accepted. */
KI_API void ki_owner_references_free(ki_owner_reference *references);

/* ---- keys ---- */

enum {
    KI_OBJECT_KEY_MAX = 512 /* bytes of any key of valid names, with the closing zero */
};
/* Writes the key of a namespace (NULL or "" for a cluster-scoped object) and a name. Returns false if `size` is too
 * small; KI_OBJECT_KEY_MAX is enough. Threads: any. */
KI_API KI_MUST_CHECK bool ki_key_join(const char *namespace_name, const char *name, char *ret_key, size_t size);
/* Returns the name in a key, and writes its namespace, "" for a cluster-scoped object, of at most `size` bytes with the
 * closing zero; `ret_namespace` may be NULL. Returns NULL if the key is none ("", "a/b/c") or `size` is too small;
 * KI_OBJECT_KEY_MAX is enough.
 * Ownership: borrowed from `key`. Threads: any. */
KI_API const char *ki_key_split(const char *key, char *ret_namespace, size_t size);

/* ---- resource versions ---- */

/* The order of two resource versions of one resource. */
typedef enum ki_order {
    KI_ORDER_OLDER = -1,
    KI_ORDER_SAME = 0,
    KI_ORDER_NEWER = 1,
    KI_ORDER_UNKNOWN = 2 /* the versions differ, and one of them is not a decimal integer */
} ki_order;

/* Compares the resource version `a` with `b`: KI_ORDER_OLDER means that `a` is older. Decimal integers of any length
 * are compared by value, which Kubernetes guarantees since 1.35 (KEP-5504). Other texts are the same if they are equal,
 * else KI_ORDER_UNKNOWN. Threads: any. */
KI_API ki_order ki_resource_version_compare(const char *a, const char *b);

KI_END_DECLS

#endif
