/* metrics.c: a work queue's metrics under client-go's names: as OpenMetrics text, or for the program's metrics library. */
#include "src/workqueue/workqueue.h"

#include "src/base/error.h"
#include "src/base/openmetrics.h"
#include "src/workqueue/parts.h"

#define NANOSECONDS_PER_SECOND 1e9

static const ki_metric table[KI_WORK_METRIC_COUNT] = {
    [KI_WORK_METRIC_DEPTH] = { "workqueue_depth",
                               "Keys that have to be processed, also those that were added while they are processed",
                               KI_METRIC_GAUGE, NULL },
    [KI_WORK_METRIC_ADDS] = { "workqueue_adds", "Keys queued", KI_METRIC_COUNTER, NULL },
    [KI_WORK_METRIC_QUEUE_DURATION] = { "workqueue_queue_duration_seconds",
                                        "How long a key is queued before a worker takes it", KI_METRIC_SUMMARY, NULL },
    [KI_WORK_METRIC_WORK_DURATION] = { "workqueue_work_duration_seconds", "How long processing a key takes",
                                       KI_METRIC_SUMMARY, NULL },
    [KI_WORK_METRIC_UNFINISHED] = { "workqueue_unfinished_work_seconds",
                                    "Age of all keys that are being processed, added up: grows if workers are stuck",
                                    KI_METRIC_GAUGE, NULL },
    [KI_WORK_METRIC_LONGEST_RUNNING] = { "workqueue_longest_running_processor_seconds",
                                         "Age of the key that has been processed for the longest time", KI_METRIC_GAUGE,
                                         NULL },
    [KI_WORK_METRIC_RETRIES] = { "workqueue_retries", "Keys added with a delay", KI_METRIC_COUNTER, NULL },
};

const ki_metric *ki_workqueue_metric_at(size_t index) {
    return index < KI_WORK_METRIC_COUNT ? &table[index] : NULL;
}

/* Returns false for durations of a queue that does not measure them. */
static bool is_measured(const ki_workqueue *queue, size_t index) {
    return queue->is_measured || index == KI_WORK_METRIC_DEPTH || index == KI_WORK_METRIC_ADDS ||
           index == KI_WORK_METRIC_RETRIES;
}

/* All values, read under one lock. */
typedef struct measured {
    double values[KI_WORK_METRIC_COUNT]; /* a summary's sum */
    double counts[KI_WORK_METRIC_COUNT]; /* of summaries only */
} measured;

static measured measure(const ki_workqueue *queue) {
    measured now_measured = { .values = { 0 } };
    double *values = now_measured.values, *counts = now_measured.counts;
    int64_t now = ki_engine_now(queue->engine);
    ki_work_after after = { 0 };
    ki_work_lock(queue->self, &after);
    const ki_work_item *oldest = queue->processing.first;
    /* Both terms wrap around; their difference is correct. */
    uint64_t unfinished = (uint64_t)now * queue->processing.count - (uint64_t)queue->started_sum;
    values[KI_WORK_METRIC_DEPTH] = (double)queue->dirty_count;
    values[KI_WORK_METRIC_ADDS] = (double)queue->adds;
    values[KI_WORK_METRIC_QUEUE_DURATION] = (double)queue->queue_duration.sum_ns / NANOSECONDS_PER_SECOND;
    counts[KI_WORK_METRIC_QUEUE_DURATION] = (double)queue->queue_duration.count;
    values[KI_WORK_METRIC_WORK_DURATION] = (double)queue->work_duration.sum_ns / NANOSECONDS_PER_SECOND;
    counts[KI_WORK_METRIC_WORK_DURATION] = (double)queue->work_duration.count;
    /* Negative if a key was taken after the clock was read. */
    values[KI_WORK_METRIC_UNFINISHED] = (int64_t)unfinished > 0 ? (double)unfinished / NANOSECONDS_PER_SECOND : 0;
    values[KI_WORK_METRIC_LONGEST_RUNNING] =
        oldest && now > oldest->started_at ? (double)(now - oldest->started_at) / NANOSECONDS_PER_SECOND : 0;
    values[KI_WORK_METRIC_RETRIES] = (double)queue->retries;
    ki_work_unlock(queue->self, &after);
    return now_measured;
}

/* --- text ------------------------------------------------------------------------------------------------------------------------ */

static void write_metric(const ki_workqueue *queue, const measured *from, size_t index, ki_buffer *out) {
    const ki_metric *metric = &table[index];
    const ki_label label = { "name", queue->name };
    if (!is_measured(queue, index))
        return;
    if (metric->type == KI_METRIC_SUMMARY) {
        ki_openmetrics_sample(out, metric, "_count", &label, 1, from->counts[index]);
        ki_openmetrics_sample(out, metric, "_sum", &label, 1, from->values[index]);
    } else {
        ki_openmetrics_sample(out, metric, metric->type == KI_METRIC_COUNTER ? "_total" : "", &label, 1,
                              from->values[index]);
    }
}

ki_status ki_workqueue_metrics_write(const ki_workqueue *queue, size_t index, ki_buffer *out) {
    measured now_measured = measure(queue);
    write_metric(queue, &now_measured, index, out);
    return out->failed;
}

ki_status ki_workqueue_metrics_text(const ki_workqueue *queue, char **ret_text, ki_error *err) {
    if (!queue || !ret_text)
        return ki_error_missing(err, "ki_workqueue_metrics_text");
    if (ki_engine_check_process(queue->engine, err))
        return KI_ERR_STATE;
    measured now_measured = measure(queue);
    ki_buffer out;
    ki_buffer_init(&out, queue->allocator, 0);
    for (size_t i = 0; i < KI_WORK_METRIC_COUNT; i++) {
        ki_openmetrics_head(&out, &table[i]);
        write_metric(queue, &now_measured, i, &out);
    }
    ki_buffer_append_string(&out, "# EOF\n");
    ki_status status = out.failed;
    if (!status)
        status = ki_openmetrics_copy(queue->allocator, &out, ret_text);
    ki_buffer_free(&out);
    return status ? ki_error_no_memory(err, "writing metrics") : KI_OK;
}

/* --- the program's metrics library ------------------------------------------------------------------------------------------------- */

void ki_workqueue_update_gauges(ki_workqueue *queue) {
    if (!queue->has_library || !queue->library.gauge_set || ki_engine_is_forked(queue->engine))
        return;
    measured now_measured = measure(queue);
    const ki_label label = { "name", queue->name };
    for (size_t i = 0; i < KI_WORK_METRIC_COUNT; i++)
        if (table[i].type == KI_METRIC_GAUGE)
            queue->library.gauge_set(&table[i], &label, 1, now_measured.values[i], queue->library.user);
}

void ki_work_report_to_library(const ki_workqueue *queue, const ki_work_after *after) {
    const ki_metrics *library = &queue->library;
    const ki_label label = { "name", queue->name };
    if (library->counter_add && after->adds)
        library->counter_add(&table[KI_WORK_METRIC_ADDS], &label, 1, after->adds, library->user);
    if (library->counter_add && after->retries)
        library->counter_add(&table[KI_WORK_METRIC_RETRIES], &label, 1, after->retries, library->user);
    if (library->observe && after->has_queue_duration)
        library->observe(&table[KI_WORK_METRIC_QUEUE_DURATION], &label, 1,
                         (double)after->queue_duration / NANOSECONDS_PER_SECOND, library->user);
    if (library->observe && after->has_work_duration)
        library->observe(&table[KI_WORK_METRIC_WORK_DURATION], &label, 1,
                         (double)after->work_duration / NANOSECONDS_PER_SECOND, library->user);
}
