/* severity.h: how bad a status is, from a table of Kubernetes' words.
 *
 * A word that the table does not have is bad for pods, whose other statuses are reasons of failures (CrashLoopBackOff,
 * Evicted, OOMKilled), and plain for other kinds, whose words mean what their controllers want. An object that is not
 * all ready is a warning at least: a pod that runs with 1/2, a deployment with 2/3. */
#ifndef CLI_ROWS_SEVERITY_H
#define CLI_ROWS_SEVERITY_H

#include "cli/lines/tally.h"

/* From the best to the worst. */
typedef enum severity {
    SEVERITY_GOOD,
    SEVERITY_PLAIN,   /* nothing is known */
    SEVERITY_WAITING, /* it starts or ends, or not all of it is ready */
    SEVERITY_BAD
} severity;

/* Returns how bad the condition of an object with these columns is. */
severity severity_of(const ki_columns *columns, const condition *one);
/* Returns the worst of the objects that are counted, and in `*ret_count` how many are that bad; SEVERITY_GOOD and 0 if
 * there are none. */
severity severity_of_all(const ki_columns *columns, const tally *t, size_t *ret_count);

#endif
