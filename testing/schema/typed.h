/* typed.h: the operations of server-side apply on objects with a schema: the fields of an object, comparison,
 * merging, removal of fields, type check. Recursive: json.h limits the depth of bodies. One thread. */
#ifndef KT_SCHEMA_TYPED_H
#define KT_SCHEMA_TYPED_H

#include "testing/schema/field_set.h"
#include "testing/schema/schema.h"

typedef struct kt_comparison {
    kt_set *added;
    kt_set *modified;
    kt_set *removed;
} kt_comparison;

/* Returns the fields that `val` sets. */
kt_set *kt_typed_fields(kt_arena *arena, const kt_spot *spot, yyjson_val *val);
/* Compares two values. Either can be NULL: an absent value. `is_new`: the object around them is new, so that even
 * fields that Go always writes are added. */
void kt_typed_compare(kt_arena *arena, const kt_spot *spot, yyjson_val *old, yyjson_val *val, bool is_new,
                      kt_comparison *ret);
/* Returns `old` with all fields that `config` sets. NULL on failure (the arena has failed). */
yyjson_mut_val *kt_typed_merge(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                               yyjson_val *config);
/* Returns `val` without the members of `set`; NULL if nothing is left. */
yyjson_mut_val *kt_typed_remove(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *val,
                                const kt_set *set);
/* What in a value does not fit its schema. */
typedef struct kt_type_errors {
    size_t count;
    ki_buffer list; /* the real server's messages, such as ".spec.replicas: expected …", with line ends between */
    ki_buffer missing_key; /* the first key that an element of a built-in type's list lacks: spec.ports[0].port */
    ki_buffer path;        /* of the value that is checked: .spec.ports[port=80] */
    ki_buffer field;       /* the same as field errors have it: spec.ports[0] */
} kt_type_errors;

void kt_type_errors_init(kt_type_errors *errors, const ki_allocator *allocator);
void kt_type_errors_free(kt_type_errors *errors);
/* Adds what does not fit the schema. As in the real server, only the first unknown member of each object counts. */
void kt_typed_check(kt_arena *arena, const kt_spot *spot, yyjson_val *val, kt_type_errors *out);

#endif
