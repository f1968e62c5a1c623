/* structural.h: the properties of a structural schema by name, so that a wide object with a wide schema costs no square of its width. Constant once it is
 * made; any thread. */
#ifndef KT_SCHEMA_STRUCTURAL_H
#define KT_SCHEMA_STRUCTURAL_H

#include "testing/values/index.h"

enum {
    KT_STRUCTURAL_FEW = 32 /* properties that are looked through one by one */
};

typedef struct kt_structural_node {
    yyjson_val *properties;
    kt_index index;
    struct kt_structural_node *next;
} kt_structural_node;

typedef struct kt_structural {
    kt_arena arena;
    kt_structural_node **nodes; /* in the order of their addresses */
    size_t count;
} kt_structural;

/* Indexes what stands below `root` (borrowed; NULL: nothing). Errors: KI_ERR_NO_MEMORY; free it then too. */
ki_status kt_structural_init(kt_structural *structural, const ki_allocator *allocator, yyjson_val *root);
void kt_structural_free(kt_structural *structural);
/* Returns the schema of a property of `node`, or NULL. `structural` may be NULL. */
yyjson_val *kt_structural_property(const kt_structural *structural, yyjson_val *node, ki_str name);

#endif
