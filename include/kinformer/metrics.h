/* metrics.h: metrics of informers, controllers, electors and work queues: as OpenMetrics text, or passed to the
 * program's metrics library.
 *
 * For text, call ki_factory_metrics_text at each scrape. For a metrics library, set ki_factory_options.metrics: the
 * library functions are called for each count and observation, and for the gauges by ki_factory_update_gauges. Names
 * with the prefix reflector_ are client-go's and have the same meaning; names with the prefix informer_ are
 * kinformer's. */
#ifndef KINFORMER_METRICS_H
#define KINFORMER_METRICS_H

#include <kinformer/error.h>

KI_BEGIN_DECLS

struct ki_factory;

typedef enum ki_metric_type {
    KI_METRIC_COUNTER = 0,
    KI_METRIC_GAUGE = 1,
    KI_METRIC_SUMMARY = 2 /* observations; the text has their count and sum */
} ki_metric_type;

/* One metric. Static: its address identifies it. */
typedef struct ki_metric {
    const char *name; /* without the suffix "_total" of counters */
    const char *help;
    ki_metric_type type;
    const char *label; /* name of the metric's own label, after the informer's labels; NULL: none */
} ki_metric;

/* A label of a sample. */

typedef struct ki_label {
    const char *name;
    const char *value;
} ki_label;

/* The program's metrics library. Each function may be NULL. The labels of an informer's metric are group, version,
 * resource, namespace, label_selector and field_selector, in this order ("" without a value), then the metric's own
 * label. Controllers have the label `controller`, work queues and electors the label `name`. Labels are borrowed for
 * the call.
 * Threads: counter_add and observe are called on the loop; for controllers and work queues on any thread. gauge_set is
 * called on the thread that calls ki_factory_update_gauges. The functions must not block. */
typedef struct ki_metrics {
    void (*counter_add)(const ki_metric *metric, const ki_label *labels, size_t label_count, double by,
                        void *user) KI_NOEXCEPT;
    void (*observe)(const ki_metric *metric, const ki_label *labels, size_t label_count, double value,
                    void *user) KI_NOEXCEPT;
    void (*gauge_set)(const ki_metric *metric, const ki_label *labels, size_t label_count, double value,
                      void *user) KI_NOEXCEPT;
    void *user;
} ki_metrics;

/* Returns the metric number `index` of informers, counted from 0; NULL past the last. For registration in the program's
 * metrics library.
 * Ownership: static. Threads: any. */
KI_API const ki_metric *ki_metric_at(size_t index);

/* Writes all metrics of the factory's informers, controllers and electors as OpenMetrics text that ends with "# EOF".
 * Prometheus reads the text, too. Its HTTP content type is KI_METRICS_CONTENT_TYPE.
 * Ownership: the caller frees `*ret_text` with ki_metrics_text_free before the factory's engine is freed. Threads: any.
 * Blocks: until the loop has applied its current change.
 * Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_metrics_text(struct ki_factory *factory, char **ret_text, ki_error *err);
/* Frees a text of ki_factory_metrics_text or ki_workqueue_metrics_text. NULL is accepted. */
KI_API void ki_metrics_text_free(char *text);
#define KI_METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Sets all gauges of the factory in the program's metrics library (ki_factory_options.metrics). Does nothing without a
 * library.
 * Threads: any. Blocks, Errors: as ki_factory_metrics_text. */
KI_API KI_MUST_CHECK ki_status ki_factory_update_gauges(struct ki_factory *factory, ki_error *err);

KI_END_DECLS

#endif
