/* diff.h: the fields that changed between two versions of an object, the important ones first, as text for a person. */
#ifndef CLI_LINES_DIFF_H
#define CLI_LINES_DIFF_H

#include <kinformer/diff.h>

#include <stdio.h>

enum {
    DIFF_SHOWN = 3,       /* fields that diff_print prints; the others are counted */
    DIFF_FIELDS_MAX = 32, /* fields that are kept; the others are counted */
    DIFF_PATH_MAX = 200,
    DIFF_VALUE_MAX = 60,
    DIFF_MEMBERS_MAX = 2 * DIFF_VALUE_MAX + 8
};

/* The order in which changes are printed. */
typedef enum diff_rank {
    RANK_PHASE,
    RANK_READY,
    RANK_REPLICAS,
    RANK_IMAGE,
    RANK_NODE,
    RANK_CONTENT,
    RANK_METADATA,
    RANK_TEXT, /* texts of conditions */
    RANK_TIME
} diff_rank;

typedef struct diff_field {
    char path[DIFF_PATH_MAX];
    char before[DIFF_VALUE_MAX];
    char after[DIFF_VALUE_MAX];
    char members[DIFF_MEMBERS_MAX]; /* elements that a list gained or lost: "+ a, b - c"; else "" */
    diff_rank rank;
} diff_field;

typedef struct diff {
    diff_field fields[DIFF_FIELDS_MAX];   /* in the order in which they were found */
    unsigned char order[DIFF_FIELDS_MAX]; /* indexes of `fields`, the important ones first */
    size_t count;                         /* number of `fields` */
    size_t changes;    /* changed fields, without heartbeats and without those that every write changes */
    size_t heartbeats; /* changed times that a component only renews to show that it is alive */
} diff;

/* Compares two versions. Errors: KI_ERR_NO_MEMORY. */
ki_status diff_read(const ki_object *before, const ki_object *after, diff *ret_diff, ki_error *err);
/* Returns true if only heartbeats differ. */
bool diff_is_heartbeat(const diff *d);
/* Returns a field by its importance, counted from 0; NULL past the last. */
const diff_field *diff_at(const diff *d, size_t index);
/* Prints the shortest end of the field's path that is no end of another changed path: "image" for
 * "spec.containers[web].image", "cost" for "metadata.annotations['example.com/cost']", "Ready" for
 * "status.conditions[Ready].status". Other ends that say little alone ("reason") are longer. */
void diff_print_short_path(const diff *d, const diff_field *field, FILE *out);
/* Prints "False → True", or "+ a - b". Uses colour if stdout is a terminal. */
void diff_print_value(const diff_field *field, FILE *out);
/* Prints "status.phase: Pending → Running, spec.replicas: 2 → 3, metadata.finalizers: + a (+4 more)". Prints nothing if
 * only heartbeats and fields that every write changes differ. */
void diff_print(const diff *d, FILE *out);

#endif
