/* schema.h: the types of API objects: their fields, how fields are encoded, and how lists and maps merge.
 *
 * The built-in types are a constant table (builtin.inc, generated). A "spot" is the schema of one place in an
 * object. Callers walk an object from its root spot along member and element spots. Constant data; any thread. */
#ifndef KT_SCHEMA_SCHEMA_H
#define KT_SCHEMA_SCHEMA_H

#include <kinformer/resource.h>

#include "src/base/string_view.h"

#include <yyjson.h>

/* The kind of one value. */
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
    KT_VALUE_FIELDS_V1, /* managedFields' set of fields */
    KT_VALUE_STRINGS,   /* a list of strings, as the value of a map */
    KT_VALUE_SCHEMA_OR_ARRAY,
    KT_VALUE_SCHEMA_OR_BOOL,
    KT_VALUE_SCHEMA_OR_STRINGS,
    KT_VALUE_OBJECT /* an object of a type of the same schema */
} kt_value_kind;

typedef enum kt_wrap {
    KT_WRAP_ONE,
    KT_WRAP_LIST,
    KT_WRAP_MAP
} kt_wrap;

enum {
    KT_FIELD_POINTER = 1 << 0,    /* absent and zero are different */
    KT_FIELD_OMIT_EMPTY = 1 << 1, /* zero is not written */
    KT_FIELD_REQUIRED = 1 << 2,
    KT_FIELD_INLINE = 1 << 3,  /* the JSON has its fields among the parent's fields */
    KT_FIELD_SET = 1 << 4,     /* a list of unique values */
    KT_FIELD_KEYED = 1 << 5,   /* a list whose elements `list_keys` identify */
    KT_FIELD_ATOMIC = 1 << 6,  /* one manager owns the whole value; types have this flag too */
    KT_FIELD_MERGE = 1 << 7,   /* a strategic merge patch merges the list, by `merge_key` if there is one */
    KT_FIELD_RETAIN = 1 << 8,  /* a strategic merge patch can list the keys to keep ($retainKeys) */
    KT_FIELD_REPLACE = 1 << 9, /* a strategic merge patch replaces the value */
    KT_FIELD_WRITTEN = 1 << 10 /* Go writes the field of an object that does not have it */
};

typedef struct kt_field {
    const char *name;
    const char *list_keys; /* "containerPort,protocol"; NULL: none */
    const char *merge_key;
    uint16_t number; /* in protobuf */
    uint16_t type;   /* index of the type, for KT_VALUE_OBJECT */
    uint16_t flags;
    uint8_t wrap; /* a kt_wrap */
    uint8_t kind; /* a kt_value_kind */
} kt_field;

typedef struct kt_type {
    const char *name;    /* "PodSpec" */
    const char *package; /* "io.k8s.api.core.v1", the prefix of the name in OpenAPI */
    uint32_t first;      /* index of its first field */
    uint16_t count;
    uint16_t flags;
} kt_type;

typedef struct kt_schema {
    const kt_type *types;
    const kt_field *fields;
    size_t type_count;
} kt_schema;

/* How server-side apply treats the parts of a value (structured-merge-diff). */
typedef enum kt_layout {
    KT_LAYOUT_SCALAR, /* a single value */
    KT_LAYOUT_ATOMIC, /* a list or object that is replaced as a whole */
    KT_LAYOUT_STRUCT,
    KT_LAYOUT_MAP,
    KT_LAYOUT_SET,
    KT_LAYOUT_KEYED,
    KT_LAYOUT_ANY /* unknown type: objects merge by member, lists are replaced */
} kt_layout;

typedef struct kt_spot {
    const kt_schema *schema;
    const kt_field *field; /* NULL at the root, for elements, and for unknown members */
    const kt_type *type;   /* the struct type, also of a list's or map's elements */
    kt_layout layout;
    yyjson_val *node; /* the structural schema of a custom resource's place (then no field or type); otherwise NULL */
    const struct kt_structural *structural; /* the index of `node`; may be NULL */
    bool is_root;                           /* the root of a custom resource */
} kt_spot;

const kt_schema *kt_schema_builtin(void);
/* Returns the built-in type of a kind; NULL if there is none. */
const kt_type *kt_schema_kind(ki_str group, ki_str version, ki_str kind);
const kt_type *kt_schema_kind_of(const ki_resource *resource);
/* Returns the kind at `index`; NULL after the last one. */
const kt_type *kt_schema_kind_at(size_t index, const char **ret_group, const char **ret_version);

/* Returns the field with this JSON name, also from an inlined type; NULL if there is none. */
const kt_field *kt_type_field(const kt_schema *schema, const kt_type *type, ki_str name);
/* Returns each field, inlined ones included. `*cursor` starts at 0. NULL after the last one. */
const kt_field *kt_type_next(const kt_schema *schema, const kt_type *type, size_t *cursor);

/* Returns the spot of a whole object. `type` NULL: an unknown type. */
kt_spot kt_spot_root(const kt_schema *schema, const kt_type *type);
/* Returns the spot of a whole custom resource. `root` is its openAPIV3Schema. Borrows both; `structural` may be
 * NULL. */
kt_spot kt_spot_structural(yyjson_val *root, const struct kt_structural *structural);
/* Returns the spot of any object's metadata. */
kt_spot kt_spot_metadata(void);
/* Returns the kind of a scalar at this spot; KT_VALUE_JSON for unknown types. */
kt_value_kind kt_spot_kind(const kt_spot *spot);
/* Returns the spot of a member. `*ret_known`: the schema has or allows the member. `ret_known` may be NULL. */
kt_spot kt_spot_member(const kt_spot *spot, ki_str name, bool *ret_known);
/* Returns the spot of a list's element. */
kt_spot kt_spot_element(const kt_spot *spot);

/* ---- spots of custom resources: in structural.c, called by schema.c ---- */
kt_spot kt_spot_structural_member(const kt_spot *spot, ki_str name, bool *ret_known);
kt_spot kt_spot_structural_element(const kt_spot *spot);

#endif
