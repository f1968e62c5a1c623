/* process_loop.h: what takes the queued changes to the store, client-go's Controller: pops from a queue while a step of
 * the engine's loop allows it, and while there is something, and has a function process it; resyncs. On the loop.
 *
 * An informer has one, and a program that builds its own cache (<kinformer/parts/process_loop.h>). When popping fails
 * and the item stays the first one, the loop backs off and pops again, so the order does not change. */
#ifndef KI_CACHE_PROCESS_LOOP_H
#define KI_CACHE_PROCESS_LOOP_H

#include <kinformer/parts/process_loop.h>

#include "src/base/backoff.h"
#include "src/cache/queue/queue.h"
#include "src/engine/engine.h"

#define KI_RESYNC_MIN_MS INT64_C(1000)
#define KI_PERIOD_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

/* Converts a period to nanoseconds, raised to `minimum_ms`, lowered to KI_PERIOD_MAX_MS. Returns 0 for 0 and below:
 * none. */
static inline int64_t ki_period_ns(int64_t period_ms, int64_t minimum_ms) {
    if (period_ms <= 0)
        return 0;
    if (period_ms < minimum_ms)
        period_ms = minimum_ms;
    return KI_MILLISECONDS(period_ms < KI_PERIOD_MAX_MS ? period_ms : KI_PERIOD_MAX_MS);
}

/* What an informer has besides the options; each gets their `user`, and NULL is nothing. */
typedef struct ki_process_loop_hooks {
    /* The queue is empty, or a pop emptied it. A failure is retried. */
    ki_status (*on_drained)(void *user, ki_error *err);
    /* Called after the last of some pops, unless the queue is closed and empty. */
    void (*on_pause)(void *user);
    /* The queue is closed and empty. May close the loop and free the queue. */
    void (*on_closed)(void *user);
    /* Instead of the option `on_error`, when a pop failed whose item stays the first one; the retry is in `retry_ns`.
     * err NULL: the retry succeeded. */
    void (*on_stuck)(const ki_error *err, int64_t retry_ns, void *user);
    /* A resync is queued. */
    void (*on_resync)(void *user);
} ki_process_loop_hooks;

struct ki_process_loop {
    ki_process_loop_options options;
    const ki_process_loop_hooks *hooks;
    int64_t resync_ns; /* 0: none */
    ki_task task;
    ki_backoff backoff;
    ki_timer stuck_timer;     /* the first item is popped again */
    ki_timer resync_timer;    /* not set while a resync is due and the last one is not finished */
    ki_timer retry_timer;     /* the failed items are queued again */
    ki_backoff retry_backoff; /* of this timer */
    size_t retries;           /* failed items that the next pops queue again */
    bool is_open, is_stuck;
    bool has_failed; /* the last call of `process` */
};

/* Opens an embedded process loop, with complete options. `hooks` is constant. The caller closes it. */
void ki_process_loop_open(ki_process_loop *loop, const ki_process_loop_options *options, int64_t resync_ns,
                          const ki_process_loop_hooks *hooks);
/* Posts the task that pops. */
void ki_process_loop_wake(ki_process_loop *loop);
/* Ends it. Also accepts a zeroed or closed one. */
void ki_process_loop_close(ki_process_loop *loop);

#endif
