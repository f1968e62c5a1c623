/* metrics.c: the table of metrics, and counting. */
#include "src/cache/metrics.h"

#include "src/cache/callback.h"

static const ki_metric table[KI_METRIC_COUNT] = {
    [KI_METRIC_LISTS] = { "reflector_lists", "Started lists, including streaming lists", KI_METRIC_COUNTER, NULL },
    [KI_METRIC_WATCHES] = { "reflector_watches", "Watches that the server accepted", KI_METRIC_COUNTER, NULL },
    [KI_METRIC_SHORT_WATCHES] = { "reflector_short_watches", "Watches that ended within a second without an event",
                                  KI_METRIC_COUNTER, NULL },
    [KI_METRIC_FAILURES] = { "informer_failures", "Lists and watches that failed", KI_METRIC_COUNTER, NULL },
    [KI_METRIC_SKIPPED] = { "informer_skipped_objects", "Objects that could not be used", KI_METRIC_COUNTER, NULL },
    [KI_METRIC_INDEX_ERRORS] = { "informer_index_errors", "Objects that an index skipped because its function failed",
                                 KI_METRIC_COUNTER, NULL },
    [KI_METRIC_CONSISTENCY_CHECKS] = { "informer_consistency_checks",
                                       "Completed consistency checks, periodic and of streaming lists",
                                       KI_METRIC_COUNTER, NULL },
    [KI_METRIC_DIFFERENCES] = { "informer_consistency_differences", "Differing objects that consistency checks found",
                                KI_METRIC_COUNTER, NULL },
    [KI_METRIC_RELISTS] = { "informer_relists", "Lists after the first one, by cause", KI_METRIC_COUNTER, "cause" },
    [KI_METRIC_LIST_DURATION] = { "reflector_list_duration_seconds", "Duration of a list with all its pages",
                                  KI_METRIC_SUMMARY, NULL },
    [KI_METRIC_ITEMS_PER_LIST] = { "reflector_items_per_list", "Objects in a list", KI_METRIC_SUMMARY, NULL },
    [KI_METRIC_WATCH_DURATION] = { "reflector_watch_duration_seconds", "Duration of a watch", KI_METRIC_SUMMARY, NULL },
    [KI_METRIC_ITEMS_PER_WATCH] = { "reflector_items_per_watch", "Events and bookmarks of a watch", KI_METRIC_SUMMARY,
                                    NULL },
    [KI_METRIC_LAST_RESOURCE_VERSION] = { "reflector_last_resource_version",
                                          "Resource version of the cache, if it is a number", KI_METRIC_GAUGE, NULL },
    [KI_METRIC_OBJECTS] = { "informer_objects", "Objects in the cache", KI_METRIC_GAUGE, NULL },
    [KI_METRIC_OBJECT_BYTES] = { "informer_object_bytes", "Memory of the objects in the cache, without the indexes",
                                 KI_METRIC_GAUGE, NULL },
    [KI_METRIC_QUEUE_DEPTH] = { "informer_queue_depth", "Changed keys that are not in the cache yet", KI_METRIC_GAUGE,
                                NULL },
    [KI_METRIC_SYNCED] = { "informer_synced", "1 once the first list is in the cache", KI_METRIC_GAUGE, NULL },
    [KI_METRIC_STALENESS] = { "informer_staleness_seconds",
                              "Seconds since the last event, bookmark or list that is fully in the cache",
                              KI_METRIC_GAUGE, NULL },
    [KI_METRIC_PENDING] = { "informer_pending_notifications", "Changes that wait for handlers of this name",
                            KI_METRIC_GAUGE, "handler" },
};

const ki_metric *ki_metric_at(size_t index) {
    return index < KI_METRIC_COUNT ? &table[index] : NULL;
}

void ki_metrics_init(ki_metrics_record *record, const ki_metrics *library, const void *owner) {
    record->owner = owner;
    record->has_library = library != NULL;
    if (library)
        record->library = *library;
    atomic_init(&record->queued_at, KI_NEVER);
    atomic_init(&record->stored_at, KI_NEVER);
}

/* Adds without an atomic read-modify-write: the loop is the only writer. */
static void add(_Atomic uint64_t *counter, uint64_t by) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

static void pass_count(const ki_metrics_record *record, ki_metric_id id, const char *label_value, double by) {
    if (!record->has_library || !record->library.counter_add)
        return;
    ki_label labels[KI_INFORMER_LABELS + 1];
    size_t count = KI_INFORMER_LABELS;
    memcpy(labels, record->labels, sizeof labels);
    if (label_value)
        labels[count++] = (ki_label){ table[id].label, label_value };
    ki_callback callback;
    ki_callback_enter(&callback, record->owner);
    record->library.counter_add(&table[id], labels, count, by, record->library.user);
    ki_callback_leave(&callback);
}

void ki_metrics_add(ki_metrics_record *record, ki_metric_id id, uint64_t by) {
    if (!record || by == 0)
        return;
    add(&record->counters[id], by);
    pass_count(record, id, NULL, (double)by);
}

void ki_metrics_relist(ki_metrics_record *record, int cause) {
    if (!record)
        return;
    add(&record->relists[cause], 1);
    pass_count(record, KI_METRIC_RELISTS, ki_relist_cause_name(cause), 1);
}

const char *ki_relist_cause_name(int cause) {
    return cause == KI_RELIST_INCONSISTENT ? "inconsistent" : ki_status_name((ki_status)cause);
}

void ki_metrics_observe(ki_metrics_record *record, ki_metric_id id, double value) {
    if (!record)
        return;
    size_t at = (size_t)(id - KI_METRIC_LIST_DURATION);
    double sum = atomic_load_explicit(&record->summaries[at].sum, memory_order_relaxed);
    atomic_store_explicit(&record->summaries[at].sum, sum + value, memory_order_relaxed);
    add(&record->summaries[at].count, 1);
    if (!record->has_library || !record->library.observe)
        return;
    ki_callback callback;
    ki_callback_enter(&callback, record->owner);
    record->library.observe(&table[id], record->labels, KI_INFORMER_LABELS, value, record->library.user);
    ki_callback_leave(&callback);
}

void ki_metrics_failed(ki_metrics_record *record, bool failed) {
    if (record && failed)
        add(&record->failures_in_row, 1);
    else if (record)
        atomic_store_explicit(&record->failures_in_row, 0, memory_order_relaxed);
}

/* --- age of the cache --------------------------------------------------------------------------------------------------------- */

void ki_metrics_set_queued_at(ki_metrics_record *record, int64_t at) {
    if (record && at > atomic_load_explicit(&record->queued_at, memory_order_relaxed))
        atomic_store_explicit(&record->queued_at, at, memory_order_relaxed);
}

void ki_metrics_queue(ki_metrics_record *record, size_t depth) {
    atomic_store_explicit(&record->queue_depth, depth, memory_order_relaxed);
    if (depth == 0)
        atomic_store_explicit(&record->stored_at, atomic_load_explicit(&record->queued_at, memory_order_relaxed),
                              memory_order_relaxed);
}

int64_t ki_metrics_staleness(const ki_metrics_record *record, int64_t now) {
    int64_t current = atomic_load_explicit(&record->stored_at, memory_order_relaxed);
    bool is_empty = atomic_load_explicit(&record->queue_depth, memory_order_relaxed) == 0;
    if (current != KI_NEVER && is_empty)
        current = atomic_load_explicit(&record->queued_at, memory_order_relaxed);
    if (current == KI_NEVER)
        return KI_NEVER;
    return current < now ? now - current : 0;
}
