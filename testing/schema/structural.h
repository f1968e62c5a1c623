/* structural.h: finds the properties of a structural schema by name in logarithmic time, so that a wide object with
 * a wide schema takes no quadratic time. Constant after its init; any thread. */
#ifndef KT_SCHEMA_STRUCTURAL_H
#define KT_SCHEMA_STRUCTURAL_H

#include "testing/values/index.h"

enum {
    KT_STRUCTURAL_FEW = 32 /* a list of at most this many properties has no index */
};

typedef struct kt_structural_node {
    yyjson_val *properties;
    kt_index index;
    struct kt_structural_node *next;
} kt_structural_node;

typedef struct kt_structural {
    kt_arena arena;
    kt_structural_node **nodes; /* sorted by the address of `properties` */
    size_t count;
} kt_structural;

/* Indexes all schemas below `root`, which is borrowed and may be NULL. Errors: KI_ERR_NO_MEMORY; the caller frees it
 * then too. */
ki_status kt_structural_init(kt_structural *structural, const ki_allocator *allocator, yyjson_val *root);
void kt_structural_free(kt_structural *structural);
/* Returns the schema of a property of `node`; NULL if there is none. `structural` may be NULL. */
yyjson_val *kt_structural_property(const kt_structural *structural, yyjson_val *node, ki_str name);

#endif
