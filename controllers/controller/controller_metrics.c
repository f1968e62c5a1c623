/* controller_metrics.c: a controller's metrics, and its queue's. The names, labels and buckets are controller-runtime's
 * (pkg/internal/controller/metrics). */
#include "controllers/controller/controller.h"

#include "controllers/workqueue/workqueue.h"
#include "src/base/assert.h"

#include <string.h>

static const ki_metric_bound bounds[] = {
    KI_METRIC_BOUND(0.005), KI_METRIC_BOUND(0.01), KI_METRIC_BOUND(0.025), KI_METRIC_BOUND(0.05), KI_METRIC_BOUND(0.1),
    KI_METRIC_BOUND(0.15),  KI_METRIC_BOUND(0.2),  KI_METRIC_BOUND(0.25),  KI_METRIC_BOUND(0.3),  KI_METRIC_BOUND(0.35),
    KI_METRIC_BOUND(0.4),   KI_METRIC_BOUND(0.45), KI_METRIC_BOUND(0.5),   KI_METRIC_BOUND(0.6),  KI_METRIC_BOUND(0.7),
    KI_METRIC_BOUND(0.8),   KI_METRIC_BOUND(0.9),  KI_METRIC_BOUND(1.0),   KI_METRIC_BOUND(1.25), KI_METRIC_BOUND(1.5),
    KI_METRIC_BOUND(1.75),  KI_METRIC_BOUND(2.0),  KI_METRIC_BOUND(2.5),   KI_METRIC_BOUND(3.0),  KI_METRIC_BOUND(3.5),
    KI_METRIC_BOUND(4.0),   KI_METRIC_BOUND(4.5),  KI_METRIC_BOUND(5.0),   KI_METRIC_BOUND(6.0),  KI_METRIC_BOUND(7.0),
    KI_METRIC_BOUND(8.0),   KI_METRIC_BOUND(9.0),  KI_METRIC_BOUND(10.0),  KI_METRIC_BOUND(15.0), KI_METRIC_BOUND(20.0),
    KI_METRIC_BOUND(25.0),  KI_METRIC_BOUND(30.0), KI_METRIC_BOUND(40.0),  KI_METRIC_BOUND(50.0), KI_METRIC_BOUND(60.0),
};

static const ki_metric total = { .name = "controller_runtime_reconcile",
                                 .help = "Reconciles by their result",
                                 .type = KI_METRIC_COUNTER };
static const ki_metric errors = { .name = "controller_runtime_reconcile_errors",
                                  .help = "Reconciles that ended with an error",
                                  .type = KI_METRIC_COUNTER };
static const ki_metric terminal_errors = { .name = "controller_runtime_terminal_reconcile_errors",
                                           .help = "Reconciles that ended with an error that is not retried",
                                           .type = KI_METRIC_COUNTER };
static const ki_metric unseen = {
    .name = "controller_unseen_writes",
    .help = "Waits for the writes of a key's last reconcile that ended after 10 s without them",
    .type = KI_METRIC_COUNTER
};
static const ki_metric duration = { .name = "controller_runtime_reconcile_time_seconds",
                                    .help = "How long a reconcile takes",
                                    .type = KI_METRIC_HISTOGRAM,
                                    .unit = "seconds",
                                    KI_METRIC_BOUNDS(bounds) };
static const ki_metric workers = { .name = "controller_runtime_max_concurrent_reconciles",
                                   .help = "Reconciles that may run at once",
                                   .type = KI_METRIC_GAUGE };
static const ki_metric active = { .name = "controller_runtime_active_workers",
                                  .help = "Reconciles that run now",
                                  .type = KI_METRIC_GAUGE };

static const char *const result_names[KI_COUNT_RESULTS] = {
    [KI_COUNT_SUCCESS] = "success",
    [KI_COUNT_REQUEUE] = "requeue",
    [KI_COUNT_REQUEUE_AFTER] = "requeue_after",
    [KI_COUNT_ERROR] = "error",
};

/* Passes a counter or gauge with the controller's failure. */
static void pass(const ki_controller_failure *failure, const ki_metrics_visit *to, const ki_metric *metric,
                 const ki_label *labels, size_t count, double value) {
    const ki_sample sample = {
        .metric = metric, .labels = labels, .label_count = count, .value = value, .failure = failure
    };
    to->visit(&sample, to->user);
}

void ki_controller_visit_metrics(const ki_component *component, const ki_metrics_visit *to) {
    ki_controller *controller = ki_controller_of(component);
    uint64_t counts[KI_COUNTS];
    ki_controller_failure failure;
    ki_controller_get_failure(controller, &failure);
    ki_mutex_lock(&controller->mutex);
    memcpy(counts, controller->results.counts, sizeof counts);
    const ki_histogram times = controller->results.times;
    size_t running = controller->running;
    ki_mutex_unlock(&controller->mutex);
    ki_label labels[] = { { "controller", controller->name }, { "result", NULL } };
    for (int i = 0; i < KI_COUNT_RESULTS; i++) {
        labels[1].value = result_names[i];
        pass(&failure, to, &total, labels, 2, (double)counts[i]);
    }
    pass(&failure, to, &errors, labels, 1, (double)counts[KI_COUNT_ERROR]);
    pass(&failure, to, &terminal_errors, labels, 1, (double)counts[KI_COUNT_TERMINAL]);
    pass(&failure, to, &unseen, labels, 1, (double)counts[KI_COUNT_UNSEEN]);
    ki_metrics_pass_histogram(to, &duration, labels, 1, &times);
    pass(&failure, to, &workers, labels, 1, (double)controller->given.workers);
    pass(&failure, to, &active, labels, 1, (double)running);
    ki_workqueue_pass_metrics(controller->queue, controller->name, to);
}

void ki_controller_count_end(ki_controller *controller, ki_controller_count result, bool is_terminal,
                             int64_t duration_ns) {
    KI_HELD(&controller->mutex);
    KI_ASSERT(result < KI_COUNT_RESULTS);
    controller->results.counts[result]++;
    if (is_terminal)
        controller->results.counts[KI_COUNT_TERMINAL]++;
    ki_histogram_observe(&controller->results.times, &duration, duration_ns);
}
