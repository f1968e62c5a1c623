/* schema_patterns.c: see schema_patterns.h. */
#include "testing/crd/schema_patterns.h"

#include "src/base/array.h"
#include "src/base/memory.h"
#include "testing/values/json.h"

#include <stdlib.h>

static ki_status add_pattern(kt_schema_patterns *patterns, yyjson_val *source) {
    kt_pattern_problem problem;
    kt_pattern *pattern = NULL;
    if (patterns->steps > KT_SCHEMA_PATTERN_STEPS_MAX)
        return KI_OK;
    ki_status status = kt_pattern_compile(patterns->allocator, kt_json_str(source), &pattern, &problem);
    if (status)
        return status == KI_ERR_NO_MEMORY ? status : KI_OK;
    if (KI_ARRAY_RESERVE(patterns->allocator, patterns->all, patterns->count, patterns->capacity)) {
        kt_pattern_free(pattern);
        return KI_ERR_NO_MEMORY;
    }
    patterns->all[patterns->count++] = (kt_schema_pattern){ source, pattern };
    patterns->steps += pattern->count;
    if (pattern->count > patterns->longest)
        patterns->longest = pattern->count;
    return KI_OK;
}

static ki_status collect(kt_schema_patterns *patterns, yyjson_val *schema, int depth) {
    yyjson_val *source = yyjson_obj_get(schema, "pattern"), *key, *property;
    ki_status status = yyjson_is_str(source) ? add_pattern(patterns, source) : KI_OK;
    size_t index, count;
    if (!yyjson_is_obj(schema) || depth > KT_SCHEMA_DEPTH_MAX)
        return status;
    yyjson_obj_foreach(yyjson_obj_get(schema, "properties"), index, count, key, property) {
        status = status ? status : collect(patterns, property, depth + 1);
    }
    status = status ? status : collect(patterns, yyjson_obj_get(schema, "additionalProperties"), depth + 1);
    return status ? status : collect(patterns, yyjson_obj_get(schema, "items"), depth + 1);
}

static int compare(const void *a, const void *b) {
    uintptr_t first = (uintptr_t)((const kt_schema_pattern *)a)->source;
    uintptr_t second = (uintptr_t)((const kt_schema_pattern *)b)->source;
    return (first > second) - (first < second);
}

ki_status kt_schema_patterns_init(kt_schema_patterns *patterns, const ki_allocator *allocator, yyjson_val *root) {
    *patterns = (kt_schema_patterns){ .allocator = allocator };
    ki_status status = collect(patterns, root, 0);
    if (patterns->count)
        qsort(patterns->all, patterns->count, sizeof *patterns->all, compare);
    return status;
}

void kt_schema_patterns_free(kt_schema_patterns *patterns) {
    for (size_t i = 0; i < patterns->count; i++)
        kt_pattern_free(patterns->all[i].pattern);
    ki_free(patterns->allocator, patterns->all);
}

const kt_pattern *kt_schema_patterns_find(const kt_schema_patterns *patterns, yyjson_val *source) {
    size_t low = 0, high = patterns->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)patterns->all[middle].source < (uintptr_t)source)
            low = middle + 1;
        else
            high = middle;
    }
    return low < patterns->count && patterns->all[low].source == source ? patterns->all[low].pattern : NULL;
}
