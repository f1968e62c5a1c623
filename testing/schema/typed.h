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
/* Compares two values. Either can be NULL: an absent value. */
void kt_typed_compare(kt_arena *arena, const kt_spot *spot, yyjson_val *old, yyjson_val *val, kt_comparison *ret);
/* Returns `old` with all fields that `config` sets. NULL on failure (the arena has failed). */
yyjson_mut_val *kt_typed_merge(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                               yyjson_val *config);
/* Returns `val` without the members of `set`; NULL if nothing is left. */
yyjson_mut_val *kt_typed_remove(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *val,
                                const kt_set *set);
/* A value that does not fit its schema. */
typedef struct kt_type_error {
    ki_buffer message;   /* .spec.replicas: expected …, the real server's message */
    ki_buffer field;     /* spec.ports[0].port */
    bool is_missing_key; /* an element of a list lacks the key `field` */
} kt_type_error;

void kt_type_error_init(kt_type_error *type_error, const ki_allocator *allocator);
void kt_type_error_free(kt_type_error *type_error);
/* Returns true if `val` fits its schema; otherwise fills `out`. */
bool kt_typed_check(kt_arena *arena, const kt_spot *spot, yyjson_val *val, kt_type_error *out);

#endif
