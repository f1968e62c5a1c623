/* controller.h: the process loop: pops items from the queue and processes them, as many as a step of the loop allows.
 * On the loop. After a failure the controller backs off and then retries the same item. It pops nothing meanwhile, so
 * the order does not change. */
#ifndef KI_CACHE_CONTROLLER_H
#define KI_CACHE_CONTROLLER_H

#include "src/cache/backoff.h"
#include "src/cache/queue.h"
#include "src/engine/engine.h"

typedef struct ki_cache_controller_options {
    ki_engine *engine;
    ki_queue *queue; /* borrowed; the controller sets its `ready` */
    ki_process process;
    /* Called when the queue is empty. After a failure the controller backs off and calls it again. */
    ki_status (*on_drained)(void *user, ki_error *err);
    /* Called when an item could not be processed; the retry is in `retry_ns`. err NULL: the retry succeeded. */
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

/* Initializes an embedded controller. The caller closes it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_cache_controller_open(ki_cache_controller *controller, const ki_cache_controller_options *options,
                                   ki_error *err);
/* Posts a task that pops from the queue. */
void ki_cache_controller_wake(ki_cache_controller *controller);
/* Stops the controller. Also accepts a zeroed or closed controller. */
void ki_cache_controller_close(ki_cache_controller *controller);

#endif
