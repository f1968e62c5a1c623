/* metrics.c: see metrics.h. */
#include "src/base/metrics.h"

#include "src/base/assert.h"

void ki_histogram_observe(ki_histogram *histogram, const ki_metric *metric, int64_t duration_ns) {
    KI_ASSERT(metric->bound_count <= KI_HISTOGRAM_BOUNDS);
    uint64_t duration = duration_ns > 0 ? (uint64_t)duration_ns : 0;
    double seconds = (double)duration / KI_METRIC_NANOSECONDS;
    size_t at = 0;
    while (at < metric->bound_count && seconds > metric->bounds[at].value)
        at++;
    histogram->counts[at]++;
    histogram->sum_ns += duration;
}

void ki_metrics_pass(const ki_metrics_visit *to, const ki_metric *metric, const ki_label *labels, size_t label_count,
                     double value) {
    KI_ASSERT(metric && metric->name);
    to->visit(&(ki_sample){ .metric = metric, .labels = labels, .label_count = label_count, .value = value }, to->user);
}

void ki_metrics_pass_histogram(const ki_metrics_visit *to, const ki_metric *metric, const ki_label *labels,
                               size_t label_count, const ki_histogram *histogram) {
    KI_ASSERT(metric->bound_count <= KI_HISTOGRAM_BOUNDS);
    uint64_t buckets[KI_HISTOGRAM_BOUNDS], count = 0;
    for (size_t i = 0; i < metric->bound_count; i++)
        buckets[i] = count += histogram->counts[i];
    count += histogram->counts[metric->bound_count];
    to->visit(&(ki_sample){ .metric = metric,
                            .labels = labels,
                            .label_count = label_count,
                            .value = (double)histogram->sum_ns / KI_METRIC_NANOSECONDS,
                            .count = count,
                            .buckets = buckets },
              to->user);
}
