/* controller_metrics.c: a controller's metrics under controller-runtime's names (pkg/internal/controller/metrics), and
 * its queue's metrics. */
#include "src/base/openmetrics.h"
#include "src/controller/controller.h"
#include "src/workqueue/workqueue.h"

#define NANOSECONDS_PER_SECOND 1e9

typedef enum controller_metric {
    METRIC_TOTAL,
    METRIC_ERRORS,
    METRIC_TERMINAL_ERRORS,
    METRIC_TIME,
    METRIC_WORKERS,
    METRIC_ACTIVE,
    METRIC_COUNT
} controller_metric;

static const ki_metric table[METRIC_COUNT] = {
    [METRIC_TOTAL] = { "controller_runtime_reconcile", "Reconciles by their result", KI_METRIC_COUNTER, "result" },
    [METRIC_ERRORS] = { "controller_runtime_reconcile_errors", "Reconciles that ended with an error", KI_METRIC_COUNTER,
                        NULL },
    [METRIC_TERMINAL_ERRORS] = { "controller_runtime_terminal_reconcile_errors",
                                 "Reconciles that ended with an error that is not retried", KI_METRIC_COUNTER, NULL },
    [METRIC_TIME] = { "controller_runtime_reconcile_time_seconds", "How long a reconcile takes", KI_METRIC_SUMMARY,
                      NULL },
    [METRIC_WORKERS] = { "controller_runtime_max_concurrent_reconciles", "Reconciles that may run at once",
                         KI_METRIC_GAUGE, NULL },
    [METRIC_ACTIVE] = { "controller_runtime_active_workers", "Reconciles that run now", KI_METRIC_GAUGE, NULL },
};

static const char *const result_names[KI_COUNT_RESULTS] = {
    [KI_COUNT_SUCCESS] = "success",
    [KI_COUNT_REQUEUE] = "requeue",
    [KI_COUNT_REQUEUE_AFTER] = "requeue_after",
    [KI_COUNT_ERROR] = "error",
};

const ki_metric *ki_controller_metric_at(size_t index) {
    return index < METRIC_COUNT ? &table[index] : NULL;
}

static const ki_controller *of_source(const ki_metric_source *source, size_t offset) {
    return (const ki_controller *)(const void *)((const char *)source - offset);
}

/* --- text ------------------------------------------------------------------------------------------------------------------------ */

/* Copy of the members that the mutex guards. */
typedef struct measured {
    uint64_t counts[KI_COUNTS];
    uint64_t time_count;
    double time_sum;
    size_t running;
} measured;

static measured measure(const ki_controller *controller) {
    ki_controller *locked = controller->self;
    measured now_measured;
    ki_mutex_lock(&locked->mutex);
    for (int i = 0; i < KI_COUNTS; i++)
        now_measured.counts[i] = controller->counts[i];
    now_measured.time_count = controller->time_count;
    now_measured.time_sum = controller->time_sum;
    now_measured.running = controller->running;
    ki_mutex_unlock(&locked->mutex);
    return now_measured;
}

static double value_of(const ki_controller *controller, const measured *from, size_t index) {
    switch ((controller_metric)index) {
    case METRIC_ERRORS:
        return (double)from->counts[KI_COUNT_ERROR];
    case METRIC_TERMINAL_ERRORS:
        return (double)from->counts[KI_COUNT_TERMINAL];
    case METRIC_WORKERS:
        return (double)controller->workers;
    case METRIC_ACTIVE:
        return (double)from->running;
    default:
        return 0;
    }
}

static ki_status write_metric(const ki_metric_source *source, size_t index, ki_buffer *out) {
    const ki_controller *controller = of_source(source, offsetof(ki_controller, metrics));
    const ki_metric *metric = &table[index];
    measured from = measure(controller);
    ki_label labels[] = { { "controller", controller->name }, { metric->label, NULL } };
    if (index == METRIC_TOTAL) {
        for (int i = 0; i < KI_COUNT_RESULTS; i++) {
            labels[1].value = result_names[i];
            ki_openmetrics_sample(out, metric, "_total", labels, 2, (double)from.counts[i]);
        }
    } else if (index == METRIC_TIME) {
        ki_openmetrics_sample(out, metric, "_count", labels, 1, (double)from.time_count);
        ki_openmetrics_sample(out, metric, "_sum", labels, 1, from.time_sum);
    } else {
        ki_openmetrics_sample(out, metric, metric->type == KI_METRIC_COUNTER ? "_total" : "", labels, 1,
                              value_of(controller, &from, index));
    }
    return out->failed;
}

static ki_status write_queue_metric(const ki_metric_source *source, size_t index, ki_buffer *out) {
    return ki_workqueue_metrics_write(of_source(source, offsetof(ki_controller, queue_metrics))->queue, index, out);
}

/* --- the program's metrics library ------------------------------------------------------------------------------------------------ */

static void set_gauges(const ki_metric_source *source) {
    const ki_controller *controller = of_source(source, offsetof(ki_controller, metrics));
    const ki_metrics *library = controller->library;
    if (!library || !library->gauge_set)
        return;
    measured from = measure(controller);
    const ki_label label = { "controller", controller->name };
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (table[i].type == KI_METRIC_GAUGE)
            library->gauge_set(&table[i], &label, 1, value_of(controller, &from, i), library->user);
}

static void set_queue_gauges(const ki_metric_source *source) {
    ki_workqueue_update_gauges(of_source(source, offsetof(ki_controller, queue_metrics))->queue);
}

static void report_to_library(const ki_controller *controller, ki_controller_count result, bool is_terminal,
                              double seconds) {
    const ki_metrics *library = controller->library;
    const ki_label labels[] = { { "controller", controller->name },
                                { table[METRIC_TOTAL].label, result_names[result] } };
    if (library->counter_add) {
        library->counter_add(&table[METRIC_TOTAL], labels, 2, 1, library->user);
        if (result == KI_COUNT_ERROR)
            library->counter_add(&table[METRIC_ERRORS], labels, 1, 1, library->user);
        if (is_terminal)
            library->counter_add(&table[METRIC_TERMINAL_ERRORS], labels, 1, 1, library->user);
    }
    if (library->observe)
        library->observe(&table[METRIC_TIME], labels, 1, seconds, library->user);
}

void ki_controller_count_end(ki_controller *controller, ki_controller_count result, bool is_terminal,
                             int64_t duration_ns) {
    double seconds = duration_ns > 0 ? (double)duration_ns / NANOSECONDS_PER_SECOND : 0;
    ki_mutex_lock(&controller->mutex);
    controller->counts[result]++;
    if (is_terminal)
        controller->counts[KI_COUNT_TERMINAL]++;
    controller->time_count++;
    controller->time_sum += seconds;
    ki_mutex_unlock(&controller->mutex);
    if (controller->library)
        report_to_library(controller, result, is_terminal, seconds);
}

/* --- new -------------------------------------------------------------------------------------------------------------------------- */

static size_t count_queue_metrics(void) {
    size_t count = 0;
    while (ki_workqueue_metric_at(count))
        count++;
    return count;
}

void ki_controller_init_metrics(ki_controller *controller) {
    static const ki_metric_table own = { table, METRIC_COUNT };
    controller->queue_table = (ki_metric_table){ ki_workqueue_metric_at(0), count_queue_metrics() };
    controller->queue_metrics = (ki_metric_source){ .table = &controller->queue_table,
                                                    .write = write_queue_metric,
                                                    .set_gauges = set_queue_gauges };
    controller->metrics = (ki_metric_source){
        .next = &controller->queue_metrics, .table = &own, .write = write_metric, .set_gauges = set_gauges
    };
}
