/* pattern.h: regular expressions of schemas, in the syntax of Go's package regexp. A pattern is compiled once for each
 * schema. Matching takes at most (steps of the pattern × characters of the text) and no memory of its own; the caller
 * counts the steps of all matches of a request. schema_patterns.c and schema.c call it. */
#ifndef KT_CRD_PATTERN_H
#define KT_CRD_PATTERN_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

enum {
    KT_PATTERN_MAX = 4096,         /* bytes of a pattern */
    KT_PATTERN_STEPS_MAX = 10000,  /* steps of a pattern, after expanding its repetitions */
    KT_PATTERN_RANGES_MAX = 10000, /* ranges of characters in a pattern */
    KT_PATTERN_DEPTH_MAX = 200,    /* groups in groups */
    KT_PATTERN_REPEAT_MAX = 1000   /* Go's limit for {n} */
};

typedef enum kt_pattern_kind {
    KT_PATTERN_SET, /* a character in one of `count` ranges from range `to` on */
    KT_PATTERN_NOT_SET,
    KT_PATTERN_SPLIT, /* both the next step and the one at `to` */
    KT_PATTERN_JUMP,
    KT_PATTERN_BEGIN_TEXT,
    KT_PATTERN_END_TEXT,
    KT_PATTERN_BEGIN_LINE,
    KT_PATTERN_END_LINE,
    KT_PATTERN_WORD_EDGE,
    KT_PATTERN_NO_WORD_EDGE,
    KT_PATTERN_MATCH
} kt_pattern_kind;

typedef struct kt_pattern_step {
    uint16_t kind;  /* kt_pattern_kind */
    uint16_t count; /* ranges */
    int32_t to;     /* the first range; for a split and a jump relative to this step */
} kt_pattern_step;

typedef struct kt_pattern_range {
    uint32_t first, last;
} kt_pattern_range;

/* Constant after its compilation. */
typedef struct kt_pattern {
    const ki_allocator *allocator;
    kt_pattern_step *steps;
    size_t count;
    kt_pattern_range *ranges;
} kt_pattern;

/* Why a pattern was not compiled: Go's text, and the part of the pattern that is wrong. */
typedef struct kt_pattern_problem {
    const char *reason; /* static */
    ki_str part;        /* borrowed from the source */
} kt_pattern_problem;

/* Errors: KI_ERR_INVALID, KI_ERR_LIMIT (too large), both with `*ret_problem`; KI_ERR_NO_MEMORY. */
ki_status kt_pattern_compile(const ki_allocator *allocator, ki_str source, kt_pattern **ret_pattern,
                             kt_pattern_problem *ret_problem);
void kt_pattern_free(kt_pattern *pattern);

/* The memory of matches, for patterns of at most `capacity` steps. */
typedef struct kt_pattern_room {
    uint32_t *marks;      /* for each step the position at which it was reached last */
    uint32_t *stack;      /* steps to visit */
    uint32_t *now, *next; /* steps that take the current and the next character */
    uint32_t position;    /* counts on over all matches */
} kt_pattern_room;

ki_status kt_pattern_room_init(kt_pattern_room *room, const ki_allocator *allocator, size_t capacity);
void kt_pattern_room_free(kt_pattern_room *room, const ki_allocator *allocator);

/* Returns whether a part of `text` matches, and subtracts the steps from `*left`. Returns true once none are left. */
bool kt_pattern_matches(const kt_pattern *pattern, ki_str text, kt_pattern_room *room, uint64_t *left);

#endif
