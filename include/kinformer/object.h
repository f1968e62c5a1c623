/* object.h: one object of the cluster, as the server sent it: immutable and shared.
 *
 * An object that a getter, lister or event gives is borrowed; ki_object_ref keeps it for as long as the program wants, on any
 * thread, past the life of the informer. The frequent fields are read directly; any other field by its path, which unpacks the
 * body each time: bind the fields that a program reads often to a view (view.h). */
#ifndef KINFORMER_OBJECT_H
#define KINFORMER_OBJECT_H

#include <kinformer/error.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef struct ki_object ki_object;

/* Another owner of `obj`, and one less. Both accept NULL. Threads: any. Blocks: no. */
KI_API ki_object *ki_object_ref(const ki_object *obj);
KI_API void ki_object_unref(const ki_object *obj);

/* The frequent fields. Strings are never NULL; "" where the object has none.
 * Ownership: borrowed from `obj`. Threads: any. Blocks: no. */
KI_API const char *ki_object_key(const ki_object *obj); /* "namespace/name", or "name" for cluster-scoped ones */
KI_API const char *ki_object_namespace(const ki_object *obj);
KI_API const char *ki_object_name(const ki_object *obj);
KI_API const char *ki_object_uid(const ki_object *obj);
KI_API const char *ki_object_resource_version(const ki_object *obj); /* opaque, but for ki_resource_version_compare */
KI_API const char *ki_object_api_version(const ki_object *obj);
KI_API const char *ki_object_kind(const ki_object *obj);

/* The value of a label, or NULL. A value with a zero character (\u0000) in it ends there; one that is no string is left out.
 * Ownership: borrowed from `obj`. Threads: any. Blocks: no. */
KI_API const char *ki_object_label(const ki_object *obj, const char *name);
/* Labels by number from 0; false past the last. */
KI_API bool ki_object_label_at(const ki_object *obj, size_t index, const char **ret_name, const char **ret_value);
KI_API size_t ki_object_label_count(const ki_object *obj);

/* The program's struct, filled while the object was parsed (view.h); NULL where the informer has no view.
 * Ownership: borrowed from `obj`, its strings too. Threads: any. Blocks: no. */
KI_API const void *ki_object_view(const ki_object *obj);

/* What a path leads to. */
typedef enum ki_value_type {
    KI_VALUE_NULL = 0,
    KI_VALUE_BOOL = 1,
    KI_VALUE_INT = 2,    /* a number without fraction that fits int64_t */
    KI_VALUE_DOUBLE = 3, /* any other number */
    KI_VALUE_STRING = 4,
    KI_VALUE_ARRAY = 5,
    KI_VALUE_OBJECT = 6
} ki_value_type;

typedef struct ki_value {
    ki_value_type type;
    bool boolean;
    int64_t integer;
    double number;     /* also set for KI_VALUE_INT */
    char *text;        /* the string, or compact JSON for arrays and objects, zero-terminated; else NULL */
    size_t text_size;  /* without the closing zero */
    const void *owner; /* private */
} ki_value;

#define KI_VALUE_INIT \
    { KI_VALUE_NULL, false, 0, 0.0, NULL, 0, NULL }

/* Any field by its path: "spec.nodeName", "spec.containers[0].image", "spec.containers[-1].name",
 * "metadata.labels['app.kubernetes.io/name']". A leading dot is accepted.
 * Ownership: `*ret_value` is the caller's, to be freed with ki_value_clear before `obj`'s engine's allocator goes.
 * Threads: any. Blocks: no; it unpacks and parses the body.
 * Errors: KI_ERR_PARSE for the path, KI_ERR_NOT_FOUND where the object has no such field, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_field(const ki_object *obj, const char *path, ki_value *ret_value,
                                               ki_error *err);

/* Returns the number under `path`; `otherwise` where there is none, or no memory to read it. As ki_object_field. */
KI_API int64_t ki_object_int(const ki_object *obj, const char *path, int64_t otherwise);

/* An annotation; as ki_object_field for metadata.annotations. */
KI_API KI_MUST_CHECK ki_status ki_object_annotation(const ki_object *obj, const char *name, ki_value *ret_value,
                                                    ki_error *err);

/* The whole object as compact JSON with apiVersion and kind, without managedFields unless the informer keeps them.
 * Ownership, threads, errors as ki_object_field; `ret_value->type` is KI_VALUE_OBJECT. */
KI_API KI_MUST_CHECK ki_status ki_object_json(const ki_object *obj, ki_value *ret_value, ki_error *err);

/* A copy of `obj` whose content is `json` (an object of `size` bytes) in place of its own, for transforms. What the getters above
 * give, key to kind, stays that of `obj`, whatever `json` says or lacks; labels, view, fields and ki_object_json are those of `json`.
 * Ownership: `*ret_obj` is a reference, the caller's. Threads: any. Blocks: no. Errors: KI_ERR_PARSE, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_with_json(const ki_object *obj, const char *json, size_t size,
                                                   ki_object **ret_obj, ki_error *err);

/* Frees what a ki_value holds and empties it. */
KI_API void ki_value_clear(ki_value *value);

/* One entry of metadata.ownerReferences. Strings are never NULL. */
typedef struct ki_owner_reference {
    const char *api_version;
    const char *kind;
    const char *name;
    const char *uid;
    bool controller;
    bool block_owner_deletion;
} ki_owner_reference;

/* All owner references, in the object's order; `*ret_count` 0 and `*ret_references` NULL where there are none.
 * Ownership: one block, the caller's, freed with ki_owner_references_free.
 * Threads: any. Blocks: no. Errors: KI_ERR_NO_MEMORY, KI_ERR_PARSE. */
KI_API KI_MUST_CHECK ki_status ki_object_owner_references(const ki_object *obj, ki_owner_reference **ret_references,
                                                          size_t *ret_count, ki_error *err);
KI_API void ki_owner_references_free(ki_owner_reference *references);

/* How two resource versions of one resource stand to each other. */
typedef enum ki_order {
    KI_ORDER_OLDER = -1,
    KI_ORDER_SAME = 0,
    KI_ORDER_NEWER = 1,
    KI_ORDER_UNKNOWN = 2 /* one of them is not a decimal integer */
} ki_order;

/* Is `a` older, the same or newer than `b`? Decimal integers of any length are compared, as Kubernetes promises since 1.35
 * (KEP-5504); anything else is the same where equal byte for byte, else unknown. Threads: any. */
KI_API ki_order ki_resource_version_compare(const char *a, const char *b);

KI_END_DECLS

#endif
