/* metrics_library.h: a program's metrics library that collects samples and notes what has changed since its last
 * collection: "name+2" a counter, "name~0.5" one observation, "name~3:0.5" three observations with this sum, "name=3" a
 * gauge (with `has_gauges`, whether changed or not), "name/LABEL+2" a metric with a label of its own. */
#ifndef TESTS_SUPPORT_METRICS_LIBRARY_H
#define TESTS_SUPPORT_METRICS_LIBRARY_H

#include <kinformer/metrics.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct metrics_series {
    char name[256];
    double value;
    uint64_t count;
} metrics_series;

typedef struct metrics_library {
    size_t common_labels; /* labels that all metrics have */
    bool has_gauges;
    /* Called for each sample if not NULL; checks the labels. */
    void (*on_sample)(const ki_sample *sample, void *user);
    void *user;
    char notes[4096];
    metrics_series series[256];
    size_t series_count;
} metrics_library;

/* A ki_sample_visitor. */
void metrics_library_visit(const ki_sample *sample, void *library);
void metrics_library_expect(metrics_library *self, const char *notes); /* asserts the notes since the last check */

/* Reads a text of OpenMetrics. Fails the test at what the format does not allow, and at a family or series that comes
 * twice. */
void openmetrics_read_strictly(const char *text);

#endif
