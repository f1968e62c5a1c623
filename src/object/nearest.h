/* nearest.h: which of many names did a misspelt word mean? Plain comparison; any thread. */
#ifndef KI_OBJECT_NEAREST_H
#define KI_OBJECT_NEAREST_H

#include "src/base/string_view.h"

typedef struct ki_nearest {
    ki_str word; /* up to its first dot */
    size_t best_distance;
    const char *best; /* NULL: nothing was close */
} ki_nearest;

/* False where the word is too short or too long to guess. */
bool ki_nearest_begin(ki_nearest *nearest, const char *word);
/* One candidate, and what to answer where it is the closest so far. */
void ki_nearest_try(ki_nearest *nearest, const char *candidate, const char *answer);

bool ki_equal_ignoring_case(ki_str text, const char *other);

#endif
