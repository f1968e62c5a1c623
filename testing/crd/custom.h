/* custom.h: one version of a CustomResourceDefinition: its resource, columns, subresources and schema, and the
 * checks of objects and definitions. cluster/crd_sync.c serves the resources. */
#ifndef KT_CRD_CUSTOM_H
#define KT_CRD_CUSTOM_H

#include "print/columns.h"
#include "src/base/buffer.h"
#include "src/object/resource_table.h"
#include "testing/crd/schema_patterns.h"
#include "testing/schema/schema.h"
#include "testing/schema/structural.h"

#include <yyjson.h>

enum {
    KT_CRD_MAX = 2000,                        /* custom resources in one cluster; each version counts */
    KT_CRD_FIELDS_MAX = 8,                    /* selectable fields, as in the real server */
    KT_CUSTOM_BIT = 1 << 30,                  /* set in `verbs` of a ki_resource_info that is the head of a kt_custom */
    KT_CRD_VERSIONS_MAX = 64,                 /* versions of one definition; each keeps a copy of it */
    KT_SCHEMA_STEPS_MAX = 50 * 1000 * 1000,   /* steps for one object; later checks are skipped */
    KT_CUSTOM_MEMORY_MAX = 128 * 1024 * 1024, /* bytes that one object can fill with its schema's defaults */
    KT_CUSTOM_SIZE_MAX = 6 * 1024 * 1024      /* bytes of an object with its defaults */
};

struct kt_causes;

/* One version of a definition. Constant. */
typedef struct kt_custom {
    ki_resource_info info; /* first member, so that kt_custom_of can convert a pointer to it */
    ki_resource resource;
    ki_subresource_info subresources[3]; /* those of `info` */
    const ki_allocator *allocator;
    yyjson_doc *doc; /* the definition; all other pointers point into it */
    yyjson_val *names;
    yyjson_val *schema;                       /* openAPIV3Schema; NULL: none */
    kt_structural structural;                 /* the index of `schema` */
    kt_schema_patterns patterns;              /* of `schema` */
    ki_columns *columns;                      /* from additionalPrinterColumns */
    bool preserves;                           /* spec.preserveUnknownFields */
    char *deprecation;                        /* the Warning header for requests of this version; NULL: none */
    yyjson_val *scale;                        /* subresources.scale; NULL: none */
    const char *paths[KT_CRD_FIELDS_MAX + 1]; /* selectable fields without the leading dot */
    struct kt_custom *next_old;               /* list of replaced definitions of a storage */
} kt_custom;

/* Returns the custom resource of an info; NULL for built-in resources. */
static inline const kt_custom *kt_custom_of(const ki_resource_info *info) {
    return info->verbs & KT_CUSTOM_BIT ? (const kt_custom *)(const void *)info : NULL;
}

/* Reads version `index` of a definition (JSON). Errors: KI_ERR_NOT_FOUND if the version is not served,
 * KI_ERR_NO_MEMORY. */
ki_status kt_custom_new(const ki_allocator *allocator, ki_str json, size_t index, kt_custom **ret_custom);
void kt_custom_free(kt_custom *custom);

/* Adds the problems of a definition. */
void kt_crd_validate(struct kt_causes *causes, const ki_allocator *allocator, yyjson_val *root);

/* Adds the reasons why `schema` is not structural. `path` is its place in messages. */
void kt_crd_validate_schema(struct kt_causes *causes, const ki_allocator *allocator, const char *path,
                            yyjson_val *schema);

/* Returns the schema of a whole object of this resource, built-in or custom. */
kt_spot kt_spot_of(const ki_resource_info *info);

/* Removes the fields that the schema does not have, and fills in the schema's defaults. Drops null where the schema is
 * not nullable, unless `keeps_null` (the real server does not for an apply).
 * Ownership: the caller frees the document.
 * Errors: KI_ERR_LIMIT if the defaults exceed KT_CUSTOM_MEMORY_MAX or the object exceeds KT_CUSTOM_SIZE_MAX;
 * KI_ERR_NO_MEMORY. */
ki_status kt_custom_prepare(const kt_custom *custom, yyjson_val *root, bool keeps_null, yyjson_doc **ret_doc);
/* Removes unknown fields only, for an object that is read in another version. */
ki_status kt_custom_prune(const kt_custom *custom, yyjson_val *root, yyjson_doc **ret_doc);
/* Adds the problems of an object. `only_status`: of its status. */
void kt_custom_validate(struct kt_causes *causes, const kt_custom *custom, yyjson_val *root, bool only_status);

#endif
