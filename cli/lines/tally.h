/* tally.h: objects counted by their status.
 *
 *      PODS  READY  STATUS
 *     1,812  1,800  Running
 *        12      0  Pending */
#ifndef CLI_LINES_TALLY_H
#define CLI_LINES_TALLY_H

#include "row.h"

enum {
    STATUS_MAX = 64 /* bytes of a status, with the closing zero; longer ones are cut */
};

/* How an object is. */
typedef struct condition {
    char status[STATUS_MAX]; /* "Running"; "": the resource has no column for it */
    bool is_ready;           /* all that the column Ready counts is ready */
} condition;

typedef struct tally_row {
    condition of; /* its status */
    size_t count;
    size_t ready;
} tally_row;

/* {0} is empty. */
typedef struct tally {
    tally_row *rows;
    size_t count;
    size_t objects;
    size_t ready;
} tally;

/* Reads how an object is, from its cells. An Event's status is its type and reason. */
condition condition_of(const ki_columns *columns, const row *r, bool is_event);
/* Returns true if the columns say, beside the status, how many of an object's parts are ready. */
bool columns_have_ready(const ki_columns *columns);

/* Returns false if out of memory. */
bool tally_add(tally *t, const condition *one);
/* Takes back a tally_add. */
void tally_remove(tally *t, const condition *one);
/* Copies the counts into `*ret_copy`, which is empty. Returns false if out of memory. */
bool tally_copy(tally *ret_copy, const tally *t);
/* Returns how many objects have this status. */
size_t tally_count(const tally *t, const char *status);
void tally_clear(tally *t);
/* Writes a table with the most frequent status first, each line in at most `width` columns (0: any). `plural` is what
 * is counted: "pods". Sorts the rows. */
void tally_write(tally *t, const char *plural, bool has_ready, size_t width, FILE *out);

#endif
