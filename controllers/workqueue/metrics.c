/* metrics.c: a work queue's metrics. The names, labels and buckets are controller-runtime's (pkg/internal/metrics):
 * those of client-go with two more buckets, the controller and the depth of each priority. */
#include "controllers/workqueue/workqueue.h"

#include "controllers/workqueue/parts.h"
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/openmetrics.h"

#include <stdio.h>

/* ExponentialBuckets(10e-9, 10, 12), with Go's rounding. */
static const ki_metric_bound bounds[] = {
    KI_METRIC_BOUND(1e-08),
    KI_METRIC_BOUND(1e-07),
    KI_METRIC_BOUND(1e-06),
    KI_METRIC_BOUND(9.999999999999999e-06),
    KI_METRIC_BOUND(9.999999999999999e-05),
    KI_METRIC_BOUND(0.001),
    KI_METRIC_BOUND(0.01),
    KI_METRIC_BOUND(0.1),
    KI_METRIC_BOUND(1.0),
    KI_METRIC_BOUND(10.0),
    KI_METRIC_BOUND(100.0),
    KI_METRIC_BOUND(1000.0),
};

static const ki_metric depth = {
    .name = "workqueue_depth",
    .help = "Keys that have to be processed, also those that were added while they are processed",
    .type = KI_METRIC_GAUGE
};
static const ki_metric adds = { .name = "workqueue_adds", .help = "Keys queued", .type = KI_METRIC_COUNTER };
static const ki_metric queue_duration = { .name = "workqueue_queue_duration_seconds",
                                          .help = "How long a key is queued before a worker takes it",
                                          .type = KI_METRIC_HISTOGRAM,
                                          .unit = "seconds",
                                          KI_METRIC_BOUNDS(bounds) };
static const ki_metric work_duration = { .name = "workqueue_work_duration_seconds",
                                         .help = "How long processing a key takes",
                                         .type = KI_METRIC_HISTOGRAM,
                                         .unit = "seconds",
                                         KI_METRIC_BOUNDS(bounds) };
static const ki_metric unfinished = {
    .name = "workqueue_unfinished_work_seconds",
    .help = "Age of all keys that are being processed, added up: grows if workers are stuck",
    .type = KI_METRIC_GAUGE,
    .unit = "seconds"
};
static const ki_metric longest = { .name = "workqueue_longest_running_processor_seconds",
                                   .help = "Age of the key that has been processed for the longest time",
                                   .type = KI_METRIC_GAUGE,
                                   .unit = "seconds" };
static const ki_metric retries = { .name = "workqueue_retries",
                                   .help = "Keys added with a delay",
                                   .type = KI_METRIC_COUNTER };
static const ki_metric failing = { .name = "workqueue_failing_keys",
                                   .help = "Keys that were added with the delay of the rate limits and not forgotten",
                                   .type = KI_METRIC_GAUGE };

/* --- counting (caller holds the lock) ----------------------------------------------------------------------------- */

void ki_work_observe(ki_histogram *durations, int64_t duration_ns) {
    ki_histogram_observe(durations, &work_duration, duration_ns); /* both histograms have the same bounds */
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

static double age(int64_t ns) {
    return ns > 0 ? (double)ns / KI_METRIC_NANOSECONDS : 0;
}

/* As in controller-runtime, a priority has a sample once it had a key. `labels` has room for one more. */
static void pass_depths(const ki_work_counts *counts, const ki_metrics_visit *to, ki_label *labels, size_t count) {
    for (size_t i = 0; i < counts->depth_count; i++) {
        char priority[16];
        snprintf(priority, sizeof priority, "%d", counts->depths[i].priority);
        labels[count] = (ki_label){ "priority", i < KI_WORK_PRIORITIES ? priority : "exceeded_cardinality_limit" };
        ki_metrics_pass(to, &depth, labels, count + 1, (double)counts->depths[i].count);
    }
}

void ki_workqueue_pass_metrics(const ki_workqueue *queue, const char *controller, const ki_metrics_visit *to) {
    ki_label labels[3] = { { "name", queue->name }, { "controller", controller } };
    size_t count = controller ? 2 : 1;
    int64_t now = ki_engine_now(queue->engine);
    ki_mutex_lock_short(&queue->self->lock);
    const ki_work_counts counts = queue->counts;
    const ki_work_item *oldest = queue->processing.first;
    /* Ages are negative if a key was taken after the clock was read. Both terms wrap around; their difference is
     * correct. */
    int64_t unfinished_ns = (int64_t)((uint64_t)now * queue->processing.count - counts.started_sum);
    int64_t longest_ns = oldest ? now - oldest->started_at : 0;
    ki_mutex_unlock(&queue->self->lock);
    if (queue->by_priority)
        pass_depths(&counts, to, labels, count);
    else
        ki_metrics_pass(to, &depth, labels, count, (double)counts.dirty);
    ki_metrics_pass(to, &adds, labels, count, (double)counts.adds);
    if (queue->is_measured) {
        ki_metrics_pass_histogram(to, &queue_duration, labels, count, &counts.queue_duration);
        ki_metrics_pass_histogram(to, &work_duration, labels, count, &counts.work_duration);
        ki_metrics_pass(to, &unfinished, labels, count, age(unfinished_ns));
        ki_metrics_pass(to, &longest, labels, count, age(longest_ns));
    }
    ki_metrics_pass(to, &retries, labels, count, (double)counts.retries);
    ki_metrics_pass(to, &failing, labels, count, (double)counts.failing);
}

ki_status ki_workqueue_visit_metrics(const ki_workqueue *queue, ki_sample_visitor visit, void *user, ki_error *err) {
    if (!queue || !visit)
        return ki_error_missing(err, "ki_workqueue_visit_metrics");
    if (ki_engine_check_process(queue->engine, err))
        return KI_ERR_STATE;
    ki_workqueue_pass_metrics(queue, NULL, &(ki_metrics_visit){ visit, user });
    return KI_OK;
}

ki_status ki_workqueue_metrics_text(const ki_workqueue *queue, char **ret_text, ki_error *err) {
    if (!queue || !ret_text)
        return ki_error_missing(err, "ki_workqueue_metrics_text");
    if (ki_engine_check_process(queue->engine, err))
        return KI_ERR_STATE;
    ki_openmetrics text;
    ki_openmetrics_init(&text, queue->allocator);
    ki_workqueue_pass_metrics(queue, NULL, &(ki_metrics_visit){ ki_openmetrics_add, &text });
    return ki_openmetrics_end(&text, ret_text) ? ki_error_no_memory(err, "writing metrics") : KI_OK;
}
