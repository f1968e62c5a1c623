/* controller.h: the process loop: pops the queue's keys and hands their deltas on, as much as a step allows. On the loop.
 * A key that could not be processed is tried again after a while, and nothing is popped meanwhile: order is kept. */
#ifndef KI_CACHE_CONTROLLER_H
#define KI_CACHE_CONTROLLER_H

#include "src/cache/backoff.h"
#include "src/cache/queue.h"
#include "src/engine/engine.h"

typedef struct ki_cache_controller_options {
    ki_engine *engine;
    ki_queue *queue; /* borrowed; its `ready` is the controller's */
    ki_process process;
    /* Nothing is queued any more. A failure makes it come again. */
    ki_status (*on_drained)(void *user, ki_error *err);
    /* Something was not processed; it is tried again in `retry_ns`. With err NULL: that is over. */
    void (*on_stuck)(const ki_error *err, int64_t retry_ns, void *user);
    void *user;
} ki_cache_controller_options;

typedef struct ki_cache_controller {
    ki_cache_controller_options options;
    ki_task task;
    ki_timer retry;
    ki_backoff backoff;
    bool is_open, is_stuck;
} ki_cache_controller;

/* Embedded; to be closed. */
ki_status ki_cache_controller_open(ki_cache_controller *controller, const ki_cache_controller_options *options,
                                   ki_error *err);
/* Looks at the queue soon. */
void ki_cache_controller_wake(ki_cache_controller *controller);
/* Also on one that is zeroed or closed. */
void ki_cache_controller_close(ki_cache_controller *controller);

#endif
