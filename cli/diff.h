/* diff.h: what changed between two states of an object, for a person. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include <stdio.h>

enum {
    DIFF_SHOWN = 3
}; /* fields that are shown; the others are counted */

typedef struct diff_sum {
    size_t
        changes; /* fields that differ, those not shown too; without what every write changes, and without heartbeats */
    size_t heartbeats; /* times that a component renews to say that it is alive */
} diff_sum;

/* Prints "status.phase: Pending → Running, spec.replicas: 2 → 3, metadata.finalizers: + a (+4 more)" to `out`, the important fields first, in colour
 * where stdout is a terminal; nothing where only fields that every write changes, or heartbeats, differ. */
diff_sum diff_print(const char *old_json, size_t old_size, const char *new_json, size_t new_size, FILE *out);

#endif
