/* metrics.h: metrics of informers, requests, controllers, electors and work queues: as OpenMetrics text, or as samples
 * for the program's metrics library; and whether the informers are ready.
 *
 * For text, call ki_factory_metrics_text at each scrape. For a metrics library, call ki_factory_visit_metrics at each
 * of its collections: the program's function gets each sample with its labels and its current value. The names, labels
 * and buckets of metrics with the prefixes workqueue_ (but workqueue_failing_keys, which is kinformer's) and
 * controller_runtime_ are controller-runtime's. Those of informer_queued_items, informer_processing_latency_seconds,
 * informer_store_resource_version, rest_client_requests and rest_client_request_duration_seconds (no others of
 * rest_client_) and of the prefix leader_election_ are those of client-go 0.37 (k8s.io/component-base), with further
 * labels; a request's duration is that of one attempt, without the waits before it, and watches have none. All other
 * names with the prefixes informer_ and reflector_, and controller_unseen_writes, are kinformer's. (client-go 0.37 has
 * an interface for metrics of reflectors, and measures none.)
 *
 * Two factories of one process: give each a name (ki_factory_options), and its controllers, queues and electors names
 * of their own; then no two samples have the same metric and labels. */
#ifndef KINFORMER_METRICS_H
#define KINFORMER_METRICS_H

#include <kinformer/error.h>

KI_BEGIN_DECLS

struct ki_factory;
struct ki_informer;
struct ki_elector;

typedef enum ki_metric_type {
    KI_METRIC_COUNTER = 0,
    KI_METRIC_GAUGE = 1,
    KI_METRIC_SUMMARY = 2,  /* count and sum of observations */
    KI_METRIC_HISTOGRAM = 3 /* count and sum of observations, and their counts by bounds */
} ki_metric_type;

/* The upper bound of a histogram's bucket. */
typedef struct ki_metric_bound {
    double value;
    const char *text; /* value of the label `le` */
} ki_metric_bound;

/* One metric. Static: its address identifies it. */
typedef struct ki_metric {
    const char *name; /* without the suffix "_total" of counters */
    const char *help;
    ki_metric_type type;
    const char *unit;              /* "seconds", "bytes"; NULL: none */
    const ki_metric_bound *bounds; /* of a histogram, ascending, without the last one, infinity; otherwise NULL */
    size_t bound_count;
} ki_metric;

/* A label of a sample. */
typedef struct ki_label {
    const char *name;
    const char *value;
} ki_label;

enum {
    KI_CONTROLLER_KEY_MAX = 512 /* bytes of ki_controller_failure.key, with the closing zero; longer keys are cut */
};

/* A key of a controller whose last reconcile failed. */
typedef struct ki_controller_failure {
    char key[KI_CONTROLLER_KEY_MAX]; /* "": no key */
    int failures;                    /* in a row */
    bool is_retried;                 /* false: the error was terminal */
    int64_t ago_ms;                  /* time since the last failure */
    ki_error cause;                  /* the error of the last failure */
} ki_controller_failure;

/* The current value of one series. Labels of informers' metrics: name (the factory's), group, version, resource,
 * namespace, label_selector, field_selector and keep ("" without a value); keep is "object", "metadata", "view" or
 * "keys" (ki_keep); then `cause` of informer_relists, and `handler` of informer_pending_notifications. The cause is the
 * failure (ki_status_name), "inconsistent" (a consistency check), "no version" (neither the list nor a change of the
 * watch had one) or "older change" (the watch brought a change below the cache's version).
 * Labels of requests' metrics: name (the factory's), code ("<error>" without a response), method and host; of their
 * durations name, verb and host. Labels of controllers' metrics: controller; then `result` of
 * controller_runtime_reconcile. Labels of work queues' metrics: name; then `controller` of a controller's queue; then,
 * of the depth of a queue by priority, `priority`. Label of electors' metrics: name. */
typedef struct ki_sample {
    const ki_metric *metric;
    const ki_label *labels;
    size_t label_count;
    double value;            /* of a summary or histogram the sum of its observations */
    uint64_t count;          /* of a summary or histogram the number of its observations; otherwise 0 */
    const uint64_t *buckets; /* of a histogram, for each bound: the number of observations up to it; otherwise NULL */
    /* Whose sample it is, and what no metric has. Of other metrics NULL. */
    const struct ki_informer *informer;   /* for ki_informer_health */
    const struct ki_elector *elector;     /* for ki_elector_check */
    const char *leader;                   /* of an elector: the identity of the Lease's holder; "": nobody */
    const ki_controller_failure *failure; /* of a controller: as ki_controller_get_failure gives it */
} ki_sample;

/* Gets one sample. Everything in the sample is borrowed for the call. Must not wait for the library: no stop, free or
 * wait function of the factory, its informers, controllers and electors. */
typedef void (*ki_sample_visitor)(const ki_sample *sample, void *user) KI_NOEXCEPT;

/* Calls `visit` for each sample of the factory's informers, requests, controllers with their queues, and electors. The
 * samples of one metric need not follow each other.
 * Threads: any; `visit` is called on this thread, under no lock. Blocks: until the loop has applied its current change.
 * Errors: KI_ERR_NO_MEMORY (some samples are missing), KI_ERR_INVALID. */
KI_API KI_MUST_CHECK ki_status ki_factory_visit_metrics(struct ki_factory *factory, ki_sample_visitor visit, void *user,
                                                        ki_error *err);

/* Writes the samples of ki_factory_visit_metrics as OpenMetrics text that ends with "# EOF". Prometheus reads the text,
 * too. Its HTTP content type is KI_METRICS_CONTENT_TYPE.
 * Ownership: the caller frees `*ret_text` with ki_metrics_text_free before the factory's engine is freed. Threads,
 * Blocks: as ki_factory_visit_metrics. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_metrics_text(struct ki_factory *factory, char **ret_text, ki_error *err);
/* Writes whether the program is ready: all informers of the factory have synced, and none is stopped. `*ret_text` is
 * the text of /readyz?verbose of libkinformer-status: a line for each informer, work queue and elector, the informers
 * that need a person first, such as "[-]informer pods in shop: blocked, not synced, 0 objects: forbidden: list pods in
 * namespace shop". A name from outside has "?" in place of controls and marks that change the direction of text.
 * `ret_text` may be NULL. For a program that has its own HTTP server, or a watchdog; needs no other thread.
 * Ownership, Threads, Blocks: as ki_factory_metrics_text, also in a handler. Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID,
 * KI_ERR_STATE (the process was forked), KI_ERR_LIMIT (a text of more than 16 MiB); nothing is written. */
KI_API KI_MUST_CHECK ki_status ki_factory_readiness_text(struct ki_factory *factory, bool *ret_is_ready,
                                                         char **ret_text, ki_error *err);
/* Frees a text of ki_factory_metrics_text, ki_factory_readiness_text or ki_workqueue_metrics_text. NULL is accepted. */
KI_API void ki_metrics_text_free(char *text);
#define KI_METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

KI_END_DECLS

#endif
