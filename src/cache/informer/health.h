/* health.h: the health of an informer, and of each of its feeds. The loop writes it; any thread reads it. A lock of its
 * own, held only to copy. */
#ifndef KI_CACHE_HEALTH_H
#define KI_CACHE_HEALTH_H

#include <kinformer/informer.h>

#include "src/engine/thread.h"
#include "src/object/selection.h"

/* The process loop waits for a retry; health then shows this in place of the reflector's state. Times are the engine's,
 * in nanoseconds. */
typedef struct ki_health_stuck {
    bool is_stuck;
    ki_error cause; /* in place: a cause is true without memory, too */
    int64_t since, retry_at;
} ki_health_stuck;

typedef struct ki_health_record {
    ki_mutex mutex;
    ki_health_stuck *stuck; /* constant; borrowed, and under `mutex`; NULL: of a feed */
    /* under mutex */
    ki_state state; /* the reflector's */
    ki_error cause; /* in place */
    int64_t since;
    int64_t retry_at; /* -1: none planned */
    size_t listed;
    int64_t list_total;
    uint64_t skipped;
    ki_attempt failed_attempt, next_attempt; /* while backing off or blocked: the failed attempt, and the next one */
    ki_selection *selection;                 /* what the state is of; owned reference; NULL: not set */
} ki_health_record;

ki_status ki_health_init(ki_health_record *record, ki_health_stuck *stuck, int64_t now, ki_error *err);
void ki_health_destroy(ki_health_record *record);

/* Both return true if the visible state changed; the first also for a new cause. */
bool ki_health_set_state(ki_health_record *record, ki_state state, const ki_error *cause, int64_t retry_at,
                         int64_t now);
/* `cause` NULL: no longer stuck. */
bool ki_health_set_stuck(ki_health_record *record, const ki_error *cause, int64_t retry_at, int64_t now);
/* Sets what the next state is of: an informer of several namespaces shows the state of one. Takes a reference. */
void ki_health_set_selection(ki_health_record *record, ki_selection *selection);
/* Sets the failed and the next attempt. Called before the state becomes backing off or blocked. */
void ki_health_set_attempts(ki_health_record *record, ki_attempt failed, ki_attempt next);
/* Sets the progress of a list. `total` -1: unknown; the last total then stays unless `listed` is 0. */
void ki_health_set_listed(ki_health_record *record, size_t listed, int64_t total);
void ki_health_count_skipped(ki_health_record *record);

/* Fills `*ret_health` from the record. Returns the failed attempt. The other members are the caller's:
 * ki_informer_health_sized. `*ret_selection`: a reference to what the state is of, or NULL; may be NULL. */
ki_attempt ki_health_read(ki_health_record *record, int64_t now, ki_health *ret_health, ki_selection **ret_selection);

/* Sets the message, the cause for a person: "forbidden: list pods in all namespaces (user "jane")". */
void ki_health_describe(ki_health *health, ki_attempt failed, const ki_selection *selection, bool has_synced);

#endif
