/* schema_patterns.h: the compiled patterns of one schema. Constant after its init. custom.c keeps them with the
 * schema. */
#ifndef KT_CRD_SCHEMA_PATTERNS_H
#define KT_CRD_SCHEMA_PATTERNS_H

#include "testing/crd/pattern.h"

#include <yyjson.h>

enum {
    KT_SCHEMA_DEPTH_MAX = 64,                /* deeper values are not checked */
    KT_SCHEMA_PATTERN_STEPS_MAX = 200 * 1000 /* steps of all patterns of a schema */
};

typedef struct kt_schema_pattern {
    yyjson_val *source;
    kt_pattern *pattern;
} kt_schema_pattern;

typedef struct kt_schema_patterns {
    const ki_allocator *allocator;
    kt_schema_pattern *all; /* sorted by the address of `source` */
    size_t count, capacity;
    size_t steps;   /* of all patterns */
    size_t longest; /* steps of the longest pattern */
} kt_schema_patterns;

/* Compiles all patterns below `root`, which is borrowed and may be NULL. Skips those that cannot be compiled and those
 * beyond the limit: kt_crd_validate_schema rejects them. Errors: KI_ERR_NO_MEMORY; the caller frees it then too. */
ki_status kt_schema_patterns_init(kt_schema_patterns *patterns, const ki_allocator *allocator, yyjson_val *root);
void kt_schema_patterns_free(kt_schema_patterns *patterns);
/* Returns the compiled pattern of a value of the schema; NULL if there is none. */
const kt_pattern *kt_schema_patterns_find(const kt_schema_patterns *patterns, yyjson_val *source);

#endif
