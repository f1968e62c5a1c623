/* schema.h: the schema of one resource, found in an OpenAPI document or a CustomResourceDefinition. */
#ifndef CLI_GEN_SCHEMA_H
#define CLI_GEN_SCHEMA_H

#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <yyjson.h>

enum {
    GEN_TEXT_MAX = 256 /* bytes of a group, version, plural or kind with its zero */
};

typedef struct gen_schema {
    yyjson_doc *doc;     /* owns the values below, but for a custom resource's root */
    yyjson_doc *own_doc; /* the root of a custom resource, with the fields of metadata; else NULL */
    yyjson_val *schemas; /* the schemas by name; NULL: none */
    yyjson_val *root;    /* of the resource's kind */
    char group[GEN_TEXT_MAX], version[GEN_TEXT_MAX], plural[GEN_TEXT_MAX], kind[GEN_TEXT_MAX];
} gen_schema;

/* What a value of a schema is. */
typedef enum gen_kind {
    GEN_ANY, /* no type, or more than one */
    GEN_STRING,
    GEN_TIME,
    GEN_QUANTITY,
    GEN_INT_OR_STRING,
    GEN_BOOL,
    GEN_INT32,
    GEN_INT64,
    GEN_DOUBLE,
    GEN_OBJECT, /* with named members */
    GEN_MAP,    /* with members of any name */
    GEN_LIST
} gen_kind;

typedef struct gen_type {
    gen_kind kind;
    yyjson_val *schema;      /* with references followed */
    yyjson_val *element;     /* the schema of a map's or list's elements; NULL: any */
    const char *description; /* may be NULL */
} gen_type;

/* Finds the schema of the resource that `name` means, or of exactly `resource` if it is not NULL, in the JSON documents
 * of `text`. `source` names the text in messages.
 * Errors: KI_ERR_PARSE; KI_ERR_NOT_FOUND (with the nearest name); KI_ERR_NO_MEMORY. */
ki_status gen_schema_find(const char *text, size_t size, const char *source, const char *name,
                          const ki_resource *resource, gen_schema *ret_schema, ki_error *err);
void gen_schema_free(gen_schema *schema);

gen_type gen_schema_type(const gen_schema *schema, yyjson_val *value);
/* Returns the schema of an object's member; NULL if the object has no member of this name. */
yyjson_val *gen_schema_member(const gen_type *type, const char *name, size_t size);
/* Returns true if each object must have this member. */
bool gen_schema_is_required(const gen_type *type, const char *name);
/* Returns "a string", "a list", … */
const char *gen_kind_name(gen_kind kind);

/* Fills `err`, which can be NULL. Returns `code`. */
ki_status gen_fail(ki_error *err, ki_status code, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

#endif
