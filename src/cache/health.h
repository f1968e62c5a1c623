/* health.h: how an informer is, kept up by the loop, read by any thread. Its own small lock, held for a copy only. */
#ifndef KI_CACHE_HEALTH_H
#define KI_CACHE_HEALTH_H

#include <kinformer/informer.h>

#include "src/engine/thread.h"

/* Times are the engine's, in nanoseconds. */
typedef struct ki_health_record {
    ki_mutex mutex;
    /* under it */
    ki_state state; /* the reflector's */
    ki_error cause;
    int64_t since;
    int64_t retry_at; /* -1: nothing planned */
    bool is_stuck;    /* the controller cannot go on: that outweighs what the reflector does */
    ki_error stuck_cause;
    int64_t stuck_since, stuck_retry_at;
    size_t listed;
    int64_t list_total;
    uint64_t skipped;
    ki_attempt failed, next; /* what backing off and blocked are about */
} ki_health_record;

ki_status ki_health_init(ki_health_record *record, int64_t now, ki_error *err);
void ki_health_destroy(ki_health_record *record);

/* Both tell whether the state that shows has changed. */
bool ki_health_set_state(ki_health_record *record, ki_state state, const ki_error *cause, int64_t retry_at,
                         int64_t now);
bool ki_health_set_stuck(ki_health_record *record, const ki_error *cause, int64_t retry_at,
                         int64_t now); /* NULL: no more */
/* Before a state that waits: what has failed and what comes after. */
void ki_health_set_attempts(ki_health_record *record, ki_attempt failed, ki_attempt next);
void ki_health_set_listed(ki_health_record *record, size_t listed, int64_t total);
void ki_health_count_skipped(ki_health_record *record);

/* All but `objects`, `staleness_ms`, `failures` and `words`. Gives what has failed. */
ki_attempt ki_health_read(ki_health_record *record, int64_t now, ki_health *ret_health);

/* The cause in a person's words: "forbidden: list pods at cluster scope". `namespace_name` "": all. */
void ki_health_describe(ki_health *health, ki_attempt failed, const ki_resource *resource, const char *namespace_name);

#endif
