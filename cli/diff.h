/* diff.h: the fields that changed between two versions of an object, as text for a person. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include <kinformer/diff.h>

#include <stdio.h>

enum {
    DIFF_SHOWN = 3 /* fields that are printed; the others are counted */
};

typedef struct diff_sum {
    size_t changes;    /* changed fields, without heartbeats and without those that every write changes */
    size_t heartbeats; /* changed times that a component only renews to show that it is alive */
} diff_sum;

/* Prints "status.phase: Pending → Running, spec.replicas: 2 → 3, metadata.finalizers: + a (+4 more)" to `out`, the
 * important fields first. Uses colour if stdout is a terminal. Prints nothing if only heartbeats and fields that every
 * write changes differ. Errors: KI_ERR_NO_MEMORY. */
ki_status diff_print(const ki_object *before, const ki_object *after, FILE *out, diff_sum *ret_sum, ki_error *err);

#endif
