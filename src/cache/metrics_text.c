/* metrics_text.c: writes an informer's metrics as OpenMetrics text, or as gauges to the program's own library. Any thread. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/openmetrics.h"
#include "src/cache/callback.h"
#include "src/cache/informer_parts.h"
#include "src/cache/listener.h"
#include "src/cache/snapshot.h"

/* --- text -------------------------------------------------------------------------------------------------------------------- */

/* Writes a sample with the informer's labels and, if `label_value` is not NULL, the metric's own. */
static void append_sample(ki_buffer *out, const ki_metrics_record *record, const ki_metric *metric, const char *suffix,
                          const char *label_value, double value) {
    ki_label labels[KI_INFORMER_LABELS + 1];
    memcpy(labels, record->labels, sizeof labels);
    labels[KI_INFORMER_LABELS] = (ki_label){ metric->label, label_value };
    ki_openmetrics_sample(out, metric, suffix, labels, KI_INFORMER_LABELS + (label_value ? 1u : 0u), value);
}

/* --- pending notifications ----------------------------------------------------------------------------------------------------- */

/* The sum over all registrations of one name. Separate series would add one more for each handler that is added and removed. */
typedef struct handler_pending {
    char *name;
    size_t pending;
} handler_pending;

static void free_pending(const ki_allocator *allocator, handler_pending *handlers, size_t count) {
    for (size_t i = 0; i < count; i++)
        ki_free(allocator, handlers[i].name);
    ki_free(allocator, handlers);
}

/* Caller holds change_lock. */
static ki_status gather(const ki_informer *informer, handler_pending **ret_handlers, size_t *ret_count) {
    const ki_allocator *allocator = ki_engine_allocator(informer->engine);
    size_t count = 0, most = 0;
    for (const ki_listener *listener = informer->processor.first; listener; listener = listener->next)
        most++;
    handler_pending *handlers = ki_alloc_array(allocator, most ? most : 1, sizeof *handlers);
    if (!handlers)
        return KI_ERR_NO_MEMORY;
    for (const ki_listener *listener = informer->processor.first; listener; listener = listener->next) {
        size_t at = 0;
        while (at < count && strcmp(handlers[at].name, listener->name) != 0)
            at++;
        if (at == count) {
            handlers[at] = (handler_pending){ .name = ki_strdup(allocator, listener->name) };
            if (!handlers[at].name) {
                free_pending(allocator, handlers, count);
                return KI_ERR_NO_MEMORY;
            }
            count++;
        }
        handlers[at].pending += ki_listener_pending(listener);
    }
    *ret_handlers = handlers;
    *ret_count = count;
    return KI_OK;
}

static ki_status pending_of(ki_informer *informer, handler_pending **ret_handlers, size_t *ret_count) {
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = gather(informer, ret_handlers, ret_count);
    ki_fair_mutex_unlock(&informer->change_lock);
    return status;
}

/* --- gauges -------------------------------------------------------------------------------------------------------------------- */

static bool number_of(const char *version, double *ret_number) {
    double number = 0;
    for (const char *c = version; *c; c++) {
        if (*c < '0' || *c > '9')
            return false;
        number = number * 10 + (*c - '0');
    }
    *ret_number = number;
    return version[0] != '\0';
}

/* Gets a gauge that has one value. Returns false if it has none now. */
static bool gauge(const ki_informer *informer, ki_metric_id id, double *ret_value) {
    const ki_metrics_record *record = &informer->metrics;
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    bool has_value = true;
    int64_t staleness;
    switch (id) {
    case KI_METRIC_LAST_RESOURCE_VERSION:
        has_value = number_of(ki_snapshot_resource_version(snapshot), ret_value);
        break;
    case KI_METRIC_OBJECTS:
        *ret_value = (double)ki_snapshot_count(snapshot);
        break;
    case KI_METRIC_OBJECT_BYTES:
        *ret_value = (double)snapshot->object_bytes;
        break;
    case KI_METRIC_QUEUE_DEPTH:
        *ret_value = (double)atomic_load_explicit(&record->queue_depth, memory_order_relaxed);
        break;
    case KI_METRIC_SYNCED:
        *ret_value = atomic_load(&informer->synced) ? 1 : 0;
        break;
    case KI_METRIC_STALENESS:
        staleness = ki_metrics_staleness(record, ki_engine_clock(informer->engine));
        has_value = staleness >= 0;
        *ret_value = (double)staleness / (double)KI_SECONDS(1);
        break;
    default:
        has_value = false;
    }
    ki_snapshot_free(snapshot);
    return has_value;
}

static void pass_gauge(const ki_metrics_record *record, ki_metric_id id, const char *label_value, double value) {
    const ki_metric *metric = ki_metric_at(id);
    ki_label labels[KI_INFORMER_LABELS + 1];
    memcpy(labels, record->labels, sizeof labels);
    labels[KI_INFORMER_LABELS] = (ki_label){ metric->label, label_value };
    ki_callback callback;
    ki_callback_enter(&callback, record->owner);
    record->library.gauge_set(metric, labels, KI_INFORMER_LABELS + (label_value ? 1u : 0u), value,
                              record->library.user);
    ki_callback_leave(&callback);
}

ki_status ki_metrics_set_gauges(ki_informer *informer, ki_error *err) {
    const ki_metrics_record *record = &informer->metrics;
    if (!record->has_library || !record->library.gauge_set)
        return KI_OK;
    handler_pending *handlers = NULL;
    size_t count = 0;
    if (pending_of(informer, &handlers, &count))
        return ki_error_no_memory(err, "setting gauges");
    double value;
    for (ki_metric_id id = KI_METRIC_LAST_RESOURCE_VERSION; id < KI_METRIC_PENDING; id++)
        if (gauge(informer, id, &value))
            pass_gauge(record, id, NULL, value);
    for (size_t i = 0; i < count; i++)
        pass_gauge(record, KI_METRIC_PENDING, handlers[i].name, (double)handlers[i].pending);
    free_pending(ki_engine_allocator(informer->engine), handlers, count);
    return KI_OK;
}

/* --- all metrics ------------------------------------------------------------------------------------------------------------- */

static ki_status write_pending(ki_informer *informer, ki_buffer *out) {
    handler_pending *handlers = NULL;
    size_t count = 0;
    ki_status status = pending_of(informer, &handlers, &count);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        append_sample(out, &informer->metrics, ki_metric_at(KI_METRIC_PENDING), "", handlers[i].name,
                      (double)handlers[i].pending);
    free_pending(ki_engine_allocator(informer->engine), handlers, count);
    return KI_OK;
}

static void write_relists(const ki_metrics_record *record, ki_buffer *out) {
    for (int cause = 0; cause < KI_RELIST_CAUSES; cause++) {
        uint64_t count = atomic_load_explicit(&record->relists[cause], memory_order_relaxed);
        if (count > 0)
            append_sample(out, record, ki_metric_at(KI_METRIC_RELISTS), "_total", ki_relist_cause_name(cause),
                          (double)count);
    }
}

ki_status ki_metrics_write(ki_informer *informer, ki_metric_id id, ki_buffer *out) {
    const ki_metrics_record *record = &informer->metrics;
    const ki_metric *metric = ki_metric_at(id);
    double value;
    if (id == KI_METRIC_PENDING)
        return write_pending(informer, out);
    if (id == KI_METRIC_RELISTS) {
        write_relists(record, out);
    } else if (metric->type == KI_METRIC_COUNTER) {
        append_sample(out, record, metric, "_total", NULL,
                      (double)atomic_load_explicit(&record->counters[id], memory_order_relaxed));
    } else if (metric->type == KI_METRIC_SUMMARY) {
        size_t at = (size_t)(id - KI_METRIC_LIST_DURATION);
        append_sample(out, record, metric, "_count", NULL,
                      (double)atomic_load_explicit(&record->summaries[at].count, memory_order_relaxed));
        append_sample(out, record, metric, "_sum", NULL,
                      atomic_load_explicit(&record->summaries[at].sum, memory_order_relaxed));
    } else if (gauge(informer, id, &value)) {
        append_sample(out, record, metric, "", NULL, value);
    }
    return out->failed;
}
