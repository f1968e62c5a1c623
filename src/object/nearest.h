/* nearest.h: finds the name that a misspelt name may mean. Any thread. */
#ifndef KI_OBJECT_NEAREST_H
#define KI_OBJECT_NEAREST_H

#include "src/base/string_view.h"

typedef struct ki_nearest {
    ki_str name; /* the name up to its first dot */
    size_t best_distance;
    const char *best; /* NULL: no candidate is close */
} ki_nearest;

/* Begins a search. Returns false if the name is too short or too long to guess. */
bool ki_nearest_begin(ki_nearest *nearest, const char *name);
/* Tries one candidate. `result` is the result if the candidate is the closest so far. */
void ki_nearest_try(ki_nearest *nearest, const char *candidate, const char *result);

bool ki_equal_ignoring_case(ki_str text, const char *other);

#endif
