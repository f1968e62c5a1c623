/* jsonpath.h: a parsed JSONPath template: a list of parts, each a list of steps; and values as text. Immutable once
 * parsed. */
#ifndef KI_PRINT_JSONPATH_H
#define KI_PRINT_JSONPATH_H

#include <kinformer-print/jsonpath.h>

#include "src/base/buffer.h"

#include <yyjson.h>

typedef enum ki_step_type {
    KI_STEP_TEXT,
    KI_STEP_FIELD,
    KI_STEP_WILDCARD,
    KI_STEP_RECURSIVE,
    KI_STEP_ARRAY,
    KI_STEP_UNION,
    KI_STEP_FILTER,
    KI_STEP_INT,
    KI_STEP_FLOAT,
    KI_STEP_BOOL
} ki_step_type;

typedef enum ki_comparison {
    KI_COMPARE_EXISTS,
    KI_COMPARE_EQUAL,
    KI_COMPARE_NOT_EQUAL,
    KI_COMPARE_LESS,
    KI_COMPARE_LESS_EQUAL,
    KI_COMPARE_GREATER,
    KI_COMPARE_GREATER_EQUAL
} ki_comparison;

/* Start, end or step of a slice. */
typedef struct ki_bound {
    int64_t value;
    bool is_known;
    bool is_derived; /* the end that follows from a single index */
} ki_bound;

typedef struct ki_step ki_step;

typedef struct ki_steps {
    ki_step *first;
    ki_step *last;
    struct ki_steps *next; /* next member of a union */
} ki_steps;

struct ki_step {
    ki_step_type type;
    ki_step *next;
    ki_str text; /* texts and fields */
    int64_t integer;
    double number;
    bool boolean;
    ki_bound bounds[3];
    ki_comparison comparison;
    ki_steps *lists; /* a union's members; a filter's left side, and its right side unless it is EXISTS */
};

/* A text, or the content of braces. */
typedef struct ki_part {
    ki_steps steps;
    bool is_range;
    bool is_end;
    struct ki_part *next;
    struct ki_part *end; /* a range's end; NULL: not closed */
} ki_part;

/* All parsed data is in blocks, which are freed together. */
typedef struct ki_block {
    struct ki_block *next;
    max_align_t data[];
} ki_block;

struct ki_jsonpath {
    ki_allocator allocator;
    bool allows_missing;
    size_t max_output;
    ki_part *first;
    ki_block *blocks;
};

/* Parses `text` into an empty path. After a failure `path->blocks` keeps the memory. */
ki_status ki_jsonpath_parse(ki_jsonpath *path, ki_str text, ki_error *err);

/* ki_jsonpath_each for a parsed value. */
ki_status ki_jsonpath_each_of(const ki_jsonpath *path, yyjson_val *json,
                              bool (*visit)(const ki_value *value, void *user), void *user, ki_error *err);

/* ---- values as text (jsonpath_text.c) ---- */

/* Appends a number as Go's fmt: 1e+06, 0.1, 3. */
void ki_append_go_double(ki_buffer *out, double number);
/* Appends JSON as Go's encoding/json: sorted names; <, > and & escaped. Errors: KI_ERR_LIMIT (nesting or the buffer's
 * limit), KI_ERR_NO_MEMORY. */
ki_status ki_append_go_json(ki_buffer *out, yyjson_val *value);

#endif
