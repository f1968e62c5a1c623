/* metrics.c: counting. */
#include "src/cache/reflector/metrics.h"

const ki_metric_bound ki_processing_bounds[KI_PROCESSING_BOUNDS] = {
    KI_METRIC_BOUND(0.001), KI_METRIC_BOUND(0.005), KI_METRIC_BOUND(0.01), KI_METRIC_BOUND(0.025),
    KI_METRIC_BOUND(0.05),  KI_METRIC_BOUND(0.1),   KI_METRIC_BOUND(0.25), KI_METRIC_BOUND(0.5),
    KI_METRIC_BOUND(1.0),   KI_METRIC_BOUND(2.5),   KI_METRIC_BOUND(5.0),  KI_METRIC_BOUND(10.0),
};

void ki_freshness_init(ki_freshness *freshness) {
    atomic_init(&freshness->queued_at, KI_NEVER);
    atomic_init(&freshness->stored_at, KI_NEVER);
}

/* Adds without an atomic read-modify-write: the loop is the only writer. */
static void add_to_counter(_Atomic uint64_t *counter, uint64_t by) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

void ki_metrics_add(ki_metrics_record *record, ki_metric_id id, uint64_t by) {
    if (record)
        add_to_counter(&record->counters[id], by);
}

void ki_metrics_relist(ki_metrics_record *record, int cause) {
    if (record)
        add_to_counter(&record->relists[cause], 1);
}

const char *ki_relist_cause_name(int cause) {
    return cause == KI_RELIST_INCONSISTENT   ? "inconsistent"
           : cause == KI_RELIST_OLDER_CHANGE ? "older change"
           : cause == KI_RELIST_NO_VERSION   ? "no version"
                                             : ki_status_name((ki_status)cause);
}

void ki_metrics_observe(ki_metrics_record *record, ki_metric_id id, double value) {
    if (!record)
        return;
    size_t at = (size_t)(id - KI_METRIC_LIST_DURATION);
    double sum = atomic_load_explicit(&record->summaries[at].sum, memory_order_relaxed);
    atomic_store_explicit(&record->summaries[at].sum, sum + value, memory_order_relaxed);
    add_to_counter(&record->summaries[at].count, 1);
}

void ki_metrics_processed(ki_metrics_record *record, int64_t duration_ns) {
    double seconds = (double)duration_ns / KI_METRIC_NANOSECONDS;
    size_t at = 0;
    while (at < KI_PROCESSING_BOUNDS && seconds > ki_processing_bounds[at].value)
        at++;
    atomic_fetch_add_explicit(&record->processing[at], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&record->processing_ns, duration_ns > 0 ? (uint64_t)duration_ns : 0,
                              memory_order_relaxed);
}

void ki_freshness_failed(ki_freshness *freshness) {
    if (freshness)
        add_to_counter(&freshness->failures_in_row, 1);
}

void ki_freshness_succeeded(ki_freshness *freshness) {
    if (freshness)
        atomic_store_explicit(&freshness->failures_in_row, 0, memory_order_relaxed);
}

/* --- age of the cache --------------------------------------------------------------------------------------------- */

void ki_freshness_set_queued_at(ki_freshness *freshness, int64_t at) {
    if (freshness && at > atomic_load_explicit(&freshness->queued_at, memory_order_relaxed))
        atomic_store_explicit(&freshness->queued_at, at, memory_order_relaxed);
}

/* Released: who reads the time, then the store, finds all of it. */
void ki_freshness_set_stored_at(ki_freshness *freshness, int64_t at) {
    if (at > atomic_load_explicit(&freshness->stored_at, memory_order_relaxed))
        atomic_store_explicit(&freshness->stored_at, at, memory_order_release);
}

int64_t ki_freshness_age(const ki_freshness *freshness, const ki_metrics_record *record, int64_t now) {
    int64_t current = atomic_load_explicit(&freshness->stored_at, memory_order_acquire);
    bool is_empty = atomic_load_explicit(&record->queue_depth, memory_order_relaxed) == 0;
    if (current != KI_NEVER && is_empty)
        current = atomic_load_explicit(&freshness->queued_at, memory_order_relaxed);
    if (current == KI_NEVER)
        return KI_NEVER;
    return current < now ? now - current : 0;
}
