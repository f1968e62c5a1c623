/* openmetrics.h: metrics as OpenMetrics 1.0 text, which parsers of Prometheus' text format also accept. The buffer
 * keeps failures. */
#ifndef KI_BASE_OPENMETRICS_H
#define KI_BASE_OPENMETRICS_H

#include <kinformer/metrics.h>

#include "src/base/buffer.h"

/* Writes a metric's TYPE and HELP lines. */
void ki_openmetrics_head(ki_buffer *out, const ki_metric *metric);
/* Writes one line: the metric's name and `suffix`, the labels, the value. */
void ki_openmetrics_sample(ki_buffer *out, const ki_metric *metric, const char *suffix, const ki_label *labels,
                           size_t label_count, double value);
/* Copies a text for a caller that frees it with ki_metrics_text_free. */
ki_status ki_openmetrics_copy(const ki_allocator *allocator, const ki_buffer *text, char **ret_text);

#endif
