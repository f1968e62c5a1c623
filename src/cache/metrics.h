/* metrics.h: what one informer counts and measures. The loop writes plain fields; any thread reads them; the text and the gauges are made when
 * somebody asks. A program's own metrics library is told at once. */
#ifndef KI_CACHE_METRICS_H
#define KI_CACHE_METRICS_H

#include <kinformer/metrics.h>

#include "src/base/buffer.h"
#include "src/engine/engine.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct ki_informer ki_informer;

/* In the order of the table in metrics.c. */
typedef enum ki_metric_id {
    KI_METRIC_LISTS,
    KI_METRIC_WATCHES,
    KI_METRIC_SHORT_WATCHES,
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
    KI_METRIC_LAST_RESOURCE_VERSION,
    KI_METRIC_OBJECTS,
    KI_METRIC_OBJECT_BYTES,
    KI_METRIC_QUEUE_DEPTH,
    KI_METRIC_SYNCED,
    KI_METRIC_STALENESS,
    KI_METRIC_PENDING,
    KI_METRIC_COUNT
} ki_metric_id;

enum {
    KI_METRIC_COUNTERS = KI_METRIC_RELISTS, /* the simple ones come first */
    KI_METRIC_SUMMARIES = 4,
    KI_RELIST_INCONSISTENT = KI_ERR_CLOSED + 1, /* beside each ki_status: audit or check found a difference */
    KI_RELIST_CAUSES,
    KI_INFORMER_LABELS = 6,
    KI_NEVER = -1
};

typedef struct ki_metrics_record {
    /* Constant. */
    const void *owner; /* of the callbacks */
    bool has_library;
    ki_metrics library;
    ki_label labels[KI_INFORMER_LABELS + 1]; /* the last one is the metric's own; values borrowed from the informer */
    /* Written on the loop. */
    _Atomic uint64_t counters[KI_METRIC_COUNTERS];
    _Atomic uint64_t relists[KI_RELIST_CAUSES];
    struct {
        _Atomic uint64_t count;
        _Atomic double sum;
    } summaries[KI_METRIC_SUMMARIES];
    _Atomic size_t queue_depth;
    _Atomic uint64_t failures_in_row;
    _Atomic int64_t told_at;    /* the server last said that this is all; KI_NEVER */
    _Atomic int64_t current_at; /* of what was told by then all was in the store; KI_NEVER */
} ki_metrics_record;

/* `library` may be NULL. */
void ki_metrics_init(ki_metrics_record *record, const ki_metrics *library, const void *owner);

/* On the loop. `record` may be NULL: nothing is counted. */
void ki_metrics_add(ki_metrics_record *record, ki_metric_id id, uint64_t by);
void ki_metrics_observe(ki_metrics_record *record, ki_metric_id id, double value);
void ki_metrics_relist(ki_metrics_record *record, int cause); /* a ki_status, or KI_RELIST_INCONSISTENT */
const char *ki_relist_cause_name(int cause);
void ki_metrics_failed(ki_metrics_record *record, bool failed);
void ki_metrics_told(ki_metrics_record *record, int64_t at);
/* The queue is that long now; at 0 all that was told is in the store. */
void ki_metrics_queue(ki_metrics_record *record, size_t depth);

/* Nanoseconds that the copy may be behind; KI_NEVER where there is none. Any thread. */
int64_t ki_metrics_staleness(const ki_metrics_record *record, int64_t now);

/* Any thread. The samples of one metric of one informer, as lines. Failures are the buffer's. */
ki_status ki_metrics_write(ki_informer *informer, ki_metric_id id, ki_buffer *out);
/* Tells the informer's library its gauges. */
ki_status ki_metrics_set_gauges(ki_informer *informer, ki_error *err);

#endif
