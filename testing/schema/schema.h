/* schema.h: what the server knows of types: the fields of each, how they are encoded, and how lists and maps merge.
 *
 * The built-in types are a constant table (builtin.inc, generated). A schema is walked from its root with spots: a spot says what
 * may stand at one place of an object. Constant data; any thread. */
#ifndef KT_SCHEMA_SCHEMA_H
#define KT_SCHEMA_SCHEMA_H

#include <kinformer/resource.h>

#include "src/base/string_view.h"

#include <yyjson.h>

/* What one value is. */
typedef enum kt_value_kind {
    KT_VALUE_STRING,
    KT_VALUE_BOOL,
    KT_VALUE_INT32,
    KT_VALUE_INT64,
    KT_VALUE_DOUBLE,
    KT_VALUE_BYTES,
    KT_VALUE_TIME,
    KT_VALUE_MICRO_TIME,
    KT_VALUE_QUANTITY,
    KT_VALUE_INT_OR_STRING,
    KT_VALUE_RAW,       /* any object */
    KT_VALUE_JSON,      /* any value */
    KT_VALUE_FIELDS_V1, /* a set of fields */
    KT_VALUE_STRINGS,   /* a list of strings as a map's value */
    KT_VALUE_SCHEMA_OR_ARRAY,
    KT_VALUE_SCHEMA_OR_BOOL,
    KT_VALUE_SCHEMA_OR_STRINGS,
    KT_VALUE_OBJECT /* of a type of the same schema */
} kt_value_kind;

typedef enum kt_wrap {
    KT_WRAP_ONE,
    KT_WRAP_LIST,
    KT_WRAP_MAP
} kt_wrap;

enum {
    KT_FIELD_POINTER = 1 << 0,    /* absent and zero differ */
    KT_FIELD_OMIT_EMPTY = 1 << 1, /* zero is not written */
    KT_FIELD_REQUIRED = 1 << 2,
    KT_FIELD_INLINE = 1 << 3,  /* its fields are written as if they were the parent's */
    KT_FIELD_SET = 1 << 4,     /* a list whose values are apart */
    KT_FIELD_KEYED = 1 << 5,   /* a list whose elements are told apart by `list_keys` */
    KT_FIELD_ATOMIC = 1 << 6,  /* one manager sets all of it; for types too */
    KT_FIELD_MERGE = 1 << 7,   /* a strategic merge patch merges the list, by `merge_key` where there is one */
    KT_FIELD_RETAIN = 1 << 8,  /* a strategic merge patch may say which keys stay */
    KT_FIELD_REPLACE = 1 << 9, /* a strategic merge patch replaces it */
};

typedef struct kt_field {
    const char *name;
    const char *list_keys; /* "containerPort,protocol", or NULL */
    const char *merge_key;
    uint16_t number; /* in protobuf */
    uint16_t type;   /* of OBJECT: its index */
    uint16_t flags;
    uint8_t wrap; /* kt_wrap */
    uint8_t kind; /* kt_value_kind */
} kt_field;

typedef struct kt_type {
    const char *name;    /* "PodSpec" */
    const char *package; /* "io.k8s.api.core.v1": goes before the name in OpenAPI */
    uint32_t first;      /* its fields */
    uint16_t count;
    uint16_t flags;
} kt_type;

typedef struct kt_schema {
    const kt_type *types;
    const kt_field *fields;
    size_t type_count;
} kt_schema;

/* How the members of a value belong together. */
typedef enum kt_layout {
    KT_LAYOUT_SCALAR, /* or whatever is one piece */
    KT_LAYOUT_ATOMIC, /* a list or object that is one piece */
    KT_LAYOUT_STRUCT,
    KT_LAYOUT_MAP,
    KT_LAYOUT_SET,
    KT_LAYOUT_KEYED,
    KT_LAYOUT_ANY /* nothing is known: objects by member, lists in one piece */
} kt_layout;

typedef struct kt_spot {
    const kt_schema *schema;
    const kt_field *field; /* NULL at the root and where nothing is known */
    const kt_type *type;   /* of a struct, and of the elements of a list or map of structs */
    kt_layout layout;
    yyjson_val *node; /* of a custom resource: the structural schema of this place, and no field or type; else NULL */
    const struct kt_structural *structural; /* of `node`; may be NULL */
    bool is_root;                           /* of a custom resource */
} kt_spot;

const kt_schema *kt_schema_builtin(void);
/* The built-in type of a kind; NULL where it is not known. */
const kt_type *kt_schema_kind(ki_str group, ki_str version, ki_str kind);
const kt_type *kt_schema_kind_of(const ki_resource *resource);
/* The kinds by index, NULL at the end. */
const kt_type *kt_schema_kind_at(size_t index, const char **ret_group, const char **ret_version);

/* A field by its JSON name, also where it is an inlined type's; NULL: there is none. */
const kt_field *kt_type_field(const kt_schema *schema, const kt_type *type, ki_str name);
/* Every field with its inlined ones: start with *cursor 0; NULL at the end. */
const kt_field *kt_type_next(const kt_schema *schema, const kt_type *type, size_t *cursor);
const kt_type *kt_field_type(const kt_schema *schema, const kt_field *field); /* NULL: not an object */

/* Of a whole object; `type` NULL: nothing is known of it. */
kt_spot kt_spot_root(const kt_schema *schema, const kt_type *type);
/* Of a whole object of a custom resource, by its openAPIV3Schema. Borrows both; `structural` may be NULL. */
kt_spot kt_spot_structural(yyjson_val *root, const struct kt_structural *structural);
/* Of any object's metadata. */
kt_spot kt_spot_metadata(void);
/* What a scalar at this spot is; KT_VALUE_JSON where nothing is known. */
kt_value_kind kt_spot_kind(const kt_spot *spot);
/* Of a member of an object. `ret_known` (may be NULL): does the schema name or allow it? */
kt_spot kt_spot_member(const kt_spot *spot, ki_str name, bool *ret_known);
/* Of a list's element. */
kt_spot kt_spot_element(const kt_spot *spot);

/* ---- structural.c, for schema.c ---- */
kt_spot kt_spot_structural_member(const kt_spot *spot, ki_str name, bool *ret_known);
kt_spot kt_spot_structural_element(const kt_spot *spot);

#endif
