/* metrics.h: what informers count and measure: as text for a scrape, or told to the program's own metrics library.
 *
 * The text needs no preparation: ki_factory_metrics_text at each scrape. A library of the program's own is named once, in
 * ki_factory_options; it is told of every count and observation as they happen, and of the gauges when the program asks for that.
 * Names beginning with reflector_ are client-go's and mean what they mean there; those beginning with informer_ are our own. */
#ifndef KINFORMER_METRICS_H
#define KINFORMER_METRICS_H

#include <kinformer/error.h>

KI_BEGIN_DECLS

struct ki_factory;

typedef enum ki_metric_type {
    KI_METRIC_COUNTER = 0,
    KI_METRIC_GAUGE = 1,
    KI_METRIC_SUMMARY = 2 /* observations; the text has their number and sum */
} ki_metric_type;

/* One metric. Static: its address may serve as its identity. */
typedef struct ki_metric {
    const char *name; /* without the counters' "_total" */
    const char *help;
    ki_metric_type type;
    const char *label; /* the name of the label that comes after those of the informer; NULL: none */
} ki_metric;

typedef struct ki_label {
    const char *name;
    const char *value;
} ki_label;

/* The program's metrics library. Any of the functions may be NULL. Labels are those of the informer (group, version, resource,
 * namespace, label_selector, field_selector, in this order, "" where there is none), then the metric's own; borrowed for the length of the call.
 * Controllers and work queues have their own labels (`controller`, `name`). Threads: counter_add and observe are called on the loop, those of
 * controllers and work queues on any thread; gauge_set on the thread that calls ki_factory_update_gauges. They must not block. */
typedef struct ki_metrics {
    void (*counter_add)(const ki_metric *metric, const ki_label *labels, size_t label_count, double by,
                        void *user) KI_NOEXCEPT;
    void (*observe)(const ki_metric *metric, const ki_label *labels, size_t label_count, double value,
                    void *user) KI_NOEXCEPT;
    void (*gauge_set)(const ki_metric *metric, const ki_label *labels, size_t label_count, double value,
                      void *user) KI_NOEXCEPT;
    void *user;
} ki_metrics;

/* Metrics by number from 0, to register them; NULL past the last. Ownership: static. Threads: any. */
KI_API const ki_metric *ki_metric_at(size_t index);

/* All metrics of all informers, controllers and electors of the factory as OpenMetrics text, which readers of Prometheus' text format understand too; ends
 * with "# EOF". Its HTTP content type is KI_METRICS_CONTENT_TYPE.
 * Ownership: `*ret_text` is the caller's, freed with ki_metrics_text_free before the factory's engine goes. Threads: any. Blocks: while the loop
 * finishes the change at hand. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_metrics_text(struct ki_factory *factory, char **ret_text, ki_error *err);
KI_API void ki_metrics_text_free(char *text);
#define KI_METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Tells every gauge of every informer to the library of ki_factory_options; nothing happens where there is none.
 * Threads: any. Blocks and errors: as ki_factory_metrics_text. */
KI_API KI_MUST_CHECK ki_status ki_factory_update_gauges(struct ki_factory *factory, ki_error *err);

KI_END_DECLS

#endif
