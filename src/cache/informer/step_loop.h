/* step_loop.h: the process loop, client-go's Controller: takes steps while a step of the engine's loop allows it, and
 * while there is work. On the loop. After a failure it backs off and then steps again, so the order does not change. */
#ifndef KI_CACHE_STEP_LOOP_H
#define KI_CACHE_STEP_LOOP_H

#include "src/cache/reflector/backoff.h"
#include "src/engine/engine.h"

typedef struct ki_step_loop_options {
    ki_engine *engine;
    /* Does some work; counts the units beyond the first. KI_ERR_NOT_FOUND: there is nothing to do until
     * ki_step_loop_wake. KI_ERR_CLOSED: there never will be. Any other status is a failure. */
    ki_status (*step)(void *user, ki_error *err);
    /* Called after the last of some steps, whatever its status but KI_ERR_CLOSED; NULL: nothing. */
    void (*on_pause)(void *user);
    /* Called when a step failed; the retry is in `retry_ns`. err NULL: the retry succeeded. */
    void (*on_stuck)(const ki_error *err, int64_t retry_ns, void *user);
    void *user;
} ki_step_loop_options;

typedef struct ki_step_loop {
    ki_step_loop_options options;
    ki_task task;
    ki_timer retry;
    ki_backoff backoff;
    bool is_open, is_stuck;
} ki_step_loop;

/* Initializes an embedded process loop. The caller closes it. */
void ki_step_loop_open(ki_step_loop *loop, const ki_step_loop_options *options);
/* Posts a task that takes the steps. */
void ki_step_loop_wake(ki_step_loop *loop);
/* Stops the loop. Also accepts a zeroed or closed one. */
void ki_step_loop_close(ki_step_loop *loop);

#endif
