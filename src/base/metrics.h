/* metrics.h: what the collectors of metrics share: passing samples to a visitor, and histograms. A collector has one
 * function that passes all its samples; text and the program's metrics library are visitors. */
#ifndef KI_BASE_METRICS_H
#define KI_BASE_METRICS_H

#include "src/base/internal_api.h"

#include <kinformer/metrics.h>

enum {
    KI_HISTOGRAM_BOUNDS = 40 /* most bounds of a metric */
};

#define KI_METRIC_NANOSECONDS 1e9 /* in a second, the unit of all durations */
/* A bound and its text from one literal, which must be OpenMetrics' canonical number. */
#define KI_METRIC_BOUND(number) \
    { number, #number }
/* The members `bounds` and `bound_count` from an array. */
#define KI_METRIC_BOUNDS(array) .bounds = (array), .bound_count = sizeof(array) / sizeof *(array)

typedef struct ki_metrics_visit {
    ki_sample_visitor visit;
    void *user;
} ki_metrics_visit;

/* Observations of one series. Zero at first. The owner's lock guards it. */
typedef struct ki_histogram {
    uint64_t counts[KI_HISTOGRAM_BOUNDS + 1]; /* observations above the bound before and up to this one */
    uint64_t sum_ns;
} ki_histogram;

/* Adds a duration; a negative one counts as 0. */
KI_INTERNAL_API void ki_histogram_observe(ki_histogram *histogram, const ki_metric *metric, int64_t duration_ns);

/* Pass a sample of a counter or gauge; of a histogram. */
KI_INTERNAL_API void ki_metrics_pass(const ki_metrics_visit *to, const ki_metric *metric, const ki_label *labels,
                                     size_t label_count, double value);
KI_INTERNAL_API void ki_metrics_pass_histogram(const ki_metrics_visit *to, const ki_metric *metric,
                                               const ki_label *labels, size_t label_count,
                                               const ki_histogram *histogram);

#endif
