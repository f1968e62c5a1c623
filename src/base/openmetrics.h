/* openmetrics.h: writes samples as OpenMetrics 1.0 text, which parsers of Prometheus' text format also accept; or as
 * Prometheus' text format 0.0.4, whose parsers then have the type and help of counters, too. */
#ifndef KI_BASE_OPENMETRICS_H
#define KI_BASE_OPENMETRICS_H

#include <kinformer/metrics.h>

#include "src/base/buffer.h"
#include "src/base/internal_api.h"

/* A text in the making. Its metrics stand together, in the order of their first samples. */
typedef struct ki_openmetrics {
    const ki_allocator *allocator;
    struct ki_openmetrics_family *families;
    size_t count, capacity;
    bool is_prometheus; /* set it after init: Prometheus' text format */
    ki_status failed;   /* KI_OK, KI_ERR_NO_MEMORY */
} ki_openmetrics;

KI_INTERNAL_API void ki_openmetrics_init(ki_openmetrics *text, const ki_allocator *allocator);
/* Adds a sample. `text` is a ki_openmetrics; a failure is kept for ki_openmetrics_end. */
KI_INTERNAL_API void ki_openmetrics_add(const ki_sample *sample, void *text);
/* Ends the text, and frees everything else. The caller frees `*ret_text` with ki_metrics_text_free.
 * Errors: KI_ERR_NO_MEMORY. */
KI_INTERNAL_API ki_status ki_openmetrics_end(ki_openmetrics *text, char **ret_text);
/* Returns `size` bytes that ki_metrics_text_free frees; NULL without memory. */
char *ki_metrics_text_new(const ki_allocator *allocator, size_t size);

#endif
