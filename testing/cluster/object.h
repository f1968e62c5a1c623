/* object.h: one state of one object: immutable, shared by the storage, its history and every watch and list that still
 * needs it. Its JSON is written once; what selectors ask for lies beside it. Under the cluster's guard. */
#ifndef KT_CLUSTER_OBJECT_H
#define KT_CLUSTER_OBJECT_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"
#include "src/object/resource_table.h"

#include <yyjson.h>

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
    ki_str json;            /* compact: kind, apiVersion, metadata, the rest */
    size_t bare;            /* where metadata starts in `json`: a list's item is "{" and what follows here */
    size_t meta_end;        /* just behind metadata's closing brace in `json` */
    size_t status_start;    /* where `,"status":` or, without one, the closing brace is in `json` */
    size_t revision_offset; /* where the digits of metadata.resourceVersion start in `json` */
    kt_pair *labels;
    size_t label_count;
    kt_pair *fields; /* what field selectors may ask for, but for metadata.name and metadata.namespace */
    size_t field_count;
} kt_object;

/* The metadata that the server writes, in its order. Everything is borrowed. */
typedef struct kt_meta {
    ki_str name;
    ki_str generate_name;
    ki_str ns;
    ki_str uid;
    uint64_t generation; /* 0: none */
    ki_str created;
    ki_str deleted;     /* deletionTimestamp, or empty */
    int64_t grace;      /* deletionGracePeriodSeconds; -1: none */
    yyjson_val *labels; /* objects and arrays, or NULL */
    yyjson_val *annotations;
    yyjson_val *owner_references;
    yyjson_val *finalizers;
    ki_str managed_fields; /* a JSON array, or empty */
} kt_meta;

/* `root` gives all but metadata and status; status comes from `status_root` (NULL: none). `scratch` is emptied and used. */
ki_status kt_object_new(const ki_allocator *allocator, const ki_resource_info *info, const kt_meta *meta,
                        yyjson_val *root, yyjson_val *status_root, uint64_t revision, ki_buffer *scratch,
                        kt_object **ret_obj);
/* The same state with another resource version, as a deletion's event has it. */
ki_status kt_object_with_revision(const kt_object *obj, uint64_t revision, ki_buffer *scratch, kt_object **ret_obj);
kt_object *kt_object_ref(kt_object *obj);
void kt_object_unref(kt_object *obj); /* NULL is allowed */

/* The paths of a resource's own selectable fields, ended by NULL. */
const char *const *kt_object_field_paths(const ki_resource_info *info);
/* What the selector key `name` means for this object; data NULL where it has no such label (field). */
ki_str kt_object_label(const kt_object *obj, ki_str name);
ki_str kt_object_field(const kt_object *obj, ki_str name);

/* "v1" or "apps/v1". */
ki_status kt_append_api_version(ki_buffer *out, const ki_resource *resource);

#endif
