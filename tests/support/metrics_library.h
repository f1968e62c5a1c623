/* metrics_library.h: a program's metrics library that notes its calls: "name+2" a counter, "name~0.5" a summary, "name=3" a
 * gauge, "name/LABEL+2" a metric with a label of its own. */
#ifndef TESTS_SUPPORT_METRICS_LIBRARY_H
#define TESTS_SUPPORT_METRICS_LIBRARY_H

#include <kinformer/metrics.h>

#include <stddef.h>

typedef struct metrics_library {
    char notes[4096];
    /* Called for each note; checks the labels. */
    void (*on_note)(const ki_metric *metric, const ki_label *labels, size_t count, void *user);
    void *user;
} metrics_library;

/* Returns the functions; `self` outlives their user. */
ki_metrics metrics_library_functions(metrics_library *self);
void metrics_library_expect(metrics_library *self, const char *notes); /* asserts the notes since the last check */

#endif
