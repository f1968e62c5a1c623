/* diff.h: what changed between two states of an object, for a person. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include <stdio.h>

enum {
    DIFF_SHOWN = 3
}; /* fields that are shown; the others are counted */

/* Prints "status.phase: Pending → Running, spec.replicas: 2 → 3 (+4 more)"; nothing where only fields that every write changes differ.
 * Gives the number of changed fields. */
size_t diff_print(const char *old_json, size_t old_size, const char *new_json, size_t new_size, FILE *out);

#endif
