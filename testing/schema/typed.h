/* typed.h: what server-side apply does with objects, by their schema: which fields one has, what differs between two, merging one
 * into the other, taking fields out. Recursive; bodies are limited in depth (json.h). One thread. */
#ifndef KT_SCHEMA_TYPED_H
#define KT_SCHEMA_TYPED_H

#include "testing/schema/field_set.h"
#include "testing/schema/schema.h"

typedef struct kt_comparison {
    kt_set *added;
    kt_set *modified;
    kt_set *removed;
} kt_comparison;

/* The fields that `val` sets. */
kt_set *kt_typed_fields(kt_arena *arena, const kt_spot *spot, yyjson_val *val);
/* What is different. Either may be NULL: nothing. */
void kt_typed_compare(kt_arena *arena, const kt_spot *spot, yyjson_val *old, yyjson_val *val, kt_comparison *ret);
/* `old` with all that `config` sets. NULL for lack of memory (as arena->failed says as well). */
yyjson_mut_val *kt_typed_merge(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                               yyjson_val *config);
/* `val` without the members of `set`; NULL where nothing is left of it. */
yyjson_mut_val *kt_typed_remove(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *val,
                                const kt_set *set);
/* How a value does not fit. */
typedef struct kt_misfit {
    ki_buffer why;   /* .spec.replicas: expected …, in the server's words */
    ki_buffer field; /* spec.ports[0].port */
    bool is_missing; /* a list's element is without its key, which is `field` */
} kt_misfit;

void kt_misfit_init(kt_misfit *misfit, const ki_allocator *allocator);
void kt_misfit_free(kt_misfit *misfit);
/* Does `val` fit its schema? */
bool kt_typed_check(kt_arena *arena, const kt_spot *spot, yyjson_val *val, kt_misfit *out);

#endif
