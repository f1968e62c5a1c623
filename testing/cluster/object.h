/* object.h: one version of one object: immutable, with its JSON written once. The storage, its history, lists and
 * watches share it by reference count. Labels and selectable fields are stored beside the JSON. The caller holds the
 * cluster. */
#ifndef KT_CLUSTER_OBJECT_H
#define KT_CLUSTER_OBJECT_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"
#include "src/object/resource_table.h"

#include <yyjson.h>

struct kt_storage;

typedef struct kt_pair {
    ki_str name;
    ki_str value;
} kt_pair;

typedef struct kt_object {
    uint32_t refs;
    const ki_allocator *allocator;
    uint64_t revision;
    uint64_t generation;
    ki_str key; /* "namespace/name" or "name" */
    ki_str ns;
    ki_str name;
    ki_str uid;
    ki_str created;         /* creationTimestamp */
    ki_str json;            /* compact: kind, apiVersion, metadata, other fields, status */
    size_t meta_start;      /* offset of metadata in `json`; a list's item is "{" and the text from here */
    size_t meta_end;        /* offset after metadata's closing brace */
    size_t status_start;    /* offset of `,"status":`, or of the closing brace if there is no status */
    size_t revision_offset; /* offset of the digits of metadata.resourceVersion */
    kt_pair *labels;
    size_t label_count;
    kt_pair *fields; /* selectable fields except metadata.name and metadata.namespace */
    size_t field_count;
    struct kt_owners *owners; /* while it is in a store (owners.h); NULL: none */
} kt_object;

/* The metadata that the server writes, in its order. All members are borrowed. */
typedef struct kt_meta {
    ki_str name;
    ki_str generate_name;
    ki_str ns;
    ki_str uid;
    uint64_t generation; /* 0: none */
    ki_str created;
    ki_str deleted;     /* deletionTimestamp; empty: none */
    int64_t grace;      /* deletionGracePeriodSeconds; -1: none */
    yyjson_val *labels; /* this and the next three: an object or array; NULL: none */
    yyjson_val *annotations;
    yyjson_val *owner_references;
    yyjson_val *finalizers;
    ki_str managed_fields; /* a JSON array; empty: none */
} kt_meta;

/* Creates an object of a storage's resource. `root` has all fields except metadata and status; `status_root` has status
 * (NULL: none). Overwrites `scratch`. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_object_new(const struct kt_storage *storage, const kt_meta *meta, yyjson_val *root,
                        yyjson_val *status_root, uint64_t revision, ki_buffer *scratch, kt_object **ret_obj);
/* Returns a copy with another resource version, for a deletion's event. */
ki_status kt_object_with_revision(const kt_object *obj, uint64_t revision, ki_buffer *scratch, kt_object **ret_obj);
kt_object *kt_object_ref(kt_object *obj);
void kt_object_unref(kt_object *obj); /* NULL is allowed */

/* Returns the paths of a built-in resource's own selectable fields; NULL ends them. */
const char *const *kt_object_field_paths(const ki_resource *resource);
/* Returns the value of a label or selectable field; data is NULL if the object does not have it. */
ki_str kt_object_label(const kt_object *obj, ki_str name);
ki_str kt_object_field(const kt_object *obj, ki_str name);

#endif
