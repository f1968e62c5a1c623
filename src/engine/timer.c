/* timer.c: one-shot timers in a heap, ordered by deadline, then by order of setting; and the timerfd that tells a host
 * between its steps that the first timer is due. The timerfd is set lazily: a deadline that moves to a later time costs
 * at most one step that finds nothing to do. Loop only. */
#include "src/engine/loop.h"

#include "src/base/assert.h"
#include "src/base/error.h"

#include <errno.h>
#include <sys/timerfd.h>

void ki_timer_init(ki_timer *timer, ki_engine *engine, void (*fire)(ki_timer *timer, void *user), void *user) {
    KI_ASSERT(engine && fire);
    *timer = (ki_timer){ .engine = engine, .fire = fire, .user = user };
}

void ki_timer_set(ki_timer *timer, int64_t deadline_ns) {
    ki_engine *engine = timer->engine;
    KI_ON_LOOP(engine);
    ki_heap_put(&engine->timers, &timer->node, deadline_ns, engine->timer_sequence++);
    /* A host may be waiting with an older timeout. */
    if (engine->timers.first == &timer->node)
        ki_engine_wake(engine);
}

void ki_timer_cancel(ki_timer *timer) {
    if (!timer->engine)
        return;
    KI_ON_LOOP(timer->engine);
    ki_heap_remove(&timer->engine->timers, &timer->node);
}

bool ki_timer_is_set(const ki_timer *timer) {
    return timer->engine && timer->node.is_in;
}

void ki_timer_close(ki_timer *timer) {
    if (!timer->engine)
        return;
    ki_timer_cancel(timer);
    timer->engine = NULL;
}

bool ki_engine_fire_timer(ki_engine *engine) {
    KI_ON_LOOP(engine);
    ki_heap_node *node = engine->timers.first;
    if (!node || node->rank > engine->now)
        return false;
    ki_heap_remove(&engine->timers, node);
    ki_timer *timer = (ki_timer *)(void *)node; /* the node is the first member */
    KI_ASSERT(timer->engine == engine && !ki_timer_is_set(timer));
    timer->fire(timer, timer->user);
    return true;
}

/* Sets timer_fd to a time of CLOCK_MONOTONIC; INT64_MAX: never. This also ends that it is readable. */
static ki_status set_timer_fd(ki_engine *engine, int64_t deadline, ki_error *err) {
    KI_ON_LOOP(engine);
    struct itimerspec at = { .it_value = { .tv_nsec = 0 } }; /* zero: never */
    if (deadline != INT64_MAX) {
        int64_t time = deadline > 1 ? deadline : 1;
        at.it_value.tv_sec = (time_t)(time / KI_SECONDS(1));
        at.it_value.tv_nsec = (long)(time % KI_SECONDS(1));
    }
    if (timerfd_settime(engine->timer_fd, TFD_TIMER_ABSTIME, &at, NULL))
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot set descriptor %d, a timer of the engine",
                                  engine->timer_fd);
    engine->armed = deadline;
    return KI_OK;
}

ki_status ki_engine_arm(ki_engine *engine, ki_error *err) {
    KI_ON_LOOP(engine);
    const ki_heap_node *first = engine->timers.first;
    int64_t due = first ? first->rank : INT64_MAX;
    if (engine->ready_next < engine->ready_count || due <= engine->now || engine->own_tasks ||
        atomic_load(&engine->posted_count) > 0) {
        ki_engine_wake(engine);
        return KI_OK;
    }
    if (engine->clock.now || (due >= engine->armed && engine->armed > engine->now))
        return KI_OK;
    return set_timer_fd(engine, due, err);
}

void ki_engine_disarm(ki_engine *engine) {
    KI_ON_LOOP(engine);
    if (engine->armed != INT64_MAX)
        (void)set_timer_fd(engine, INT64_MAX, NULL);
}
