/* metrics.h: the counters and measurements of one informer. The loop writes atomic fields and any thread reads them. */
#ifndef KI_CACHE_METRICS_H
#define KI_CACHE_METRICS_H

#include "src/base/metrics.h"
#include "src/engine/engine.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct ki_informer ki_informer;

/* In the order of the table in metrics_visit.c. */
typedef enum ki_metric_id {
    KI_METRIC_LISTS,
    KI_METRIC_WATCHES,
    KI_METRIC_SHORT_WATCHES,
    KI_METRIC_EVENTS,
    KI_METRIC_REPEATED,
    KI_METRIC_FAILURES,
    KI_METRIC_SKIPPED,
    KI_METRIC_INDEX_ERRORS,
    KI_METRIC_CONSISTENCY_CHECKS,
    KI_METRIC_DIFFERENCES,
    KI_METRIC_RELISTS,
    KI_METRIC_LIST_DURATION,
    KI_METRIC_ITEMS_PER_LIST,
    KI_METRIC_WATCH_DURATION,
    KI_METRIC_ITEMS_PER_WATCH,
    KI_METRIC_VIEW_MISMATCHES,
    KI_METRIC_STORE_RESOURCE_VERSION,
    KI_METRIC_OBJECTS,
    KI_METRIC_OBJECT_BYTES,
    KI_METRIC_QUEUED_ITEMS,
    KI_METRIC_SYNCED,
    KI_METRIC_STALENESS,
    KI_METRIC_OVER_LIMIT,
    KI_METRIC_PENDING,
    KI_METRIC_PROCESSING,
    KI_METRIC_COUNT
} ki_metric_id;

enum {
    KI_METRIC_COUNTERS = KI_METRIC_RELISTS, /* plain counters come first */
    KI_METRIC_SUMMARIES = 4,
    KI_RELIST_INCONSISTENT = KI_ERR_CLOSED + 1, /* after the ki_status values: a check found a difference */
    KI_RELIST_OLDER_CHANGE,                     /* a watch brought a change with an old version */
    KI_RELIST_NO_VERSION,                       /* a watch from no version ended before it had one */
    KI_RELIST_CAUSES,
    KI_INFORMER_LABELS = 8,
    KI_PROCESSING_BOUNDS = 12,
    KI_NEVER = -1
};

typedef struct ki_metrics_record {
    /* Written on the loop. */
    _Atomic uint64_t counters[KI_METRIC_COUNTERS];
    _Atomic uint64_t relists[KI_RELIST_CAUSES];
    struct {
        _Atomic uint64_t count;
        _Atomic double sum;
    } summaries[KI_METRIC_SUMMARIES];
    _Atomic uint64_t processing[KI_PROCESSING_BOUNDS + 1]; /* by bound, the last one infinity */
    _Atomic uint64_t processing_ns;                        /* sum */
    _Atomic size_t queue_depth;
} ki_metrics_record;

/* What is known of one reflector. The loop writes it; any thread reads it. */
typedef struct ki_freshness {
    _Atomic int64_t queued_at; /* the queue has everything up to this time; KI_NEVER */
    _Atomic int64_t stored_at; /* the store has everything up to this time; KI_NEVER: not its first list */
    _Atomic uint64_t failures_in_row;
} ki_freshness;

/* Of the time that processing took. */
extern const ki_metric_bound ki_processing_bounds[KI_PROCESSING_BOUNDS];

void ki_freshness_init(ki_freshness *freshness);

/* On the loop. `record` may be NULL: counts nothing. */
void ki_metrics_add(ki_metrics_record *record, ki_metric_id id, uint64_t by);
/* Adds a value to a summary. */
void ki_metrics_observe(ki_metrics_record *record, ki_metric_id id, double value);
/* Adds the time that processing what was popped from the queue took. */
void ki_metrics_processed(ki_metrics_record *record, int64_t duration_ns);
void ki_metrics_relist(ki_metrics_record *record, int cause); /* a ki_status, or a KI_RELIST_ above */
const char *ki_relist_cause_name(int cause);
/* Counts a consecutive failure. NULL: counts nothing. */
void ki_freshness_failed(ki_freshness *freshness);
/* Ends a row of failures. NULL: does nothing. */
void ki_freshness_succeeded(ki_freshness *freshness);
/* Records that the queue has all changes that the server made up to `at`. Ignores a time before the recorded one. NULL:
 * records nothing. */
void ki_freshness_set_queued_at(ki_freshness *freshness, int64_t at);
/* Records that the store has all changes that the server made up to `at`. Ignores a time before the recorded one. */
void ki_freshness_set_stored_at(ki_freshness *freshness, int64_t at);
/* Returns nanoseconds since the last event, bookmark or list that is fully in the cache; KI_NEVER before the first
 * list. Any thread. */
int64_t ki_freshness_age(const ki_freshness *freshness, const ki_metrics_record *record, int64_t now);

/* Passes all samples of the informer. Any thread; the caller holds no lock. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_metrics_visit_informer(ki_informer *informer, const ki_metrics_visit *to);

#endif
