/* custom.h: custom resources: what a CustomResourceDefinition says, and the storages that come and go with it. Under the cluster's guard.
 *
 * Each served version of a definition has a storage of its own; they share their objects (view.h). */
#ifndef KT_CRD_CUSTOM_H
#define KT_CRD_CUSTOM_H

#include "src/base/buffer.h"
#include "src/object/resource_table.h"
#include "src/print/columns.h"
#include "testing/schema/structural.h"

#include <yyjson.h>

enum {
    KT_CRD_MAX = 2000,                        /* custom resources (versions counted) in one cluster */
    KT_CRD_FIELDS_MAX = 8,                    /* selectable fields, as in the real server */
    KT_CUSTOM_BIT = 1 << 30,                  /* in the verbs of an info: it is the head of a kt_custom */
    KT_CRD_VERSIONS_MAX = 64,                 /* of one definition: each keeps a copy of it */
    KT_SCHEMA_STEPS_MAX = 50 * 1000 * 1000,   /* for one object; what would come after them is not looked at */
    KT_CUSTOM_MEMORY_MAX = 128 * 1024 * 1024, /* that an object may fill with its schema's defaults */
    KT_CUSTOM_SIZE_MAX = 6 * 1024 * 1024,     /* bytes of such an object */
    KT_SCHEMA_DEPTH_MAX = 64,                 /* objects below this are not looked at */
    KT_SCHEMA_CAUSES_MAX = 100                /* told of one object */
};

struct kt_causes;

/* One version of a definition. Constant. */
typedef struct kt_custom {
    ki_resource_info info; /* first, so that an info leads here */
    ki_resource resource;
    const ki_allocator *allocator;
    yyjson_doc *doc; /* the definition; everything else points into it */
    yyjson_val *names;
    yyjson_val *schema;                       /* openAPIV3Schema, or NULL */
    kt_structural structural;                 /* of it */
    ki_columns *columns;                      /* what its additionalPrinterColumns say */
    bool preserves;                           /* spec.preserveUnknownFields */
    char *deprecation;                        /* the text that a request of this version is warned with, or NULL */
    yyjson_val *scale;                        /* subresources.scale, or NULL */
    const char *paths[KT_CRD_FIELDS_MAX + 1]; /* selectable fields, without the dot in front */
    struct kt_custom *next_old;
} kt_custom;

/* The custom resource behind an info; NULL for built-in ones. */
static inline const kt_custom *kt_custom_of(const ki_resource_info *info) {
    return info->verbs & KT_CUSTOM_BIT ? (const kt_custom *)(const void *)info : NULL;
}

/* The version number `index` of a definition (its JSON); KI_ERR_NOT_FOUND where it is not served. */
ki_status kt_custom_new(const ki_allocator *allocator, ki_str json, size_t index, kt_custom **ret_custom);
void kt_custom_free(kt_custom *custom);

/* What is wrong with a definition. */
void kt_crd_validate(struct kt_causes *causes, const ki_allocator *allocator, yyjson_val *root);

/* Adds what keeps `schema`, which stands at `path`, from being structural. */
void kt_crd_validate_schema(struct kt_causes *causes, const ki_allocator *allocator, const char *path,
                            yyjson_val *schema);

struct kt_strict;
/* An object of a custom resource as it came, without duplicates, its metadata as its type; what is unknown or double is noted. NULL for lack of memory
 * (the arena has failed) or where it is refused. */
yyjson_mut_val *kt_custom_read(struct kt_strict *strict, const kt_custom *custom, yyjson_val *root);

/* An object of a custom resource without the fields that its schema does not know, and with the schema's defaults.
 * Ownership: the caller frees the document. Errors: KI_ERR_LIMIT where the defaults fill more than KT_CUSTOM_MEMORY_MAX, or make more of it than KT_CUSTOM_SIZE_MAX. */
ki_status kt_custom_prepare(const kt_custom *custom, yyjson_val *root, yyjson_doc **ret_doc);
/* The same without the defaults, as an object of another version is read. */
ki_status kt_custom_prune(const kt_custom *custom, yyjson_val *root, yyjson_doc **ret_doc);
/* What is wrong with it. */
void kt_custom_validate(struct kt_causes *causes, const kt_custom *custom, yyjson_val *root);

#endif
