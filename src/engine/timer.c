/* timer.c: one-shot timers in a heap, ordered by deadline, then by order of setting. Loop only. */
#include "src/engine/loop.h"

ki_status ki_timer_init(ki_timer *timer, ki_engine *engine, void (*fire)(ki_timer *timer, void *user), void *user) {
    *timer = (ki_timer){ .fire = fire, .user = user };
    timer->engine = engine;
    return KI_OK;
}

void ki_timer_set(ki_timer *timer, int64_t deadline_ns) {
    ki_engine *engine = timer->engine;
    ki_heap_put(&engine->timers, &timer->node, deadline_ns, engine->timer_sequence++);
    /* A host may be waiting with an older timeout. */
    if (engine->timers.first == &timer->node)
        ki_engine_wake(engine);
}

void ki_timer_cancel(ki_timer *timer) {
    if (timer->engine)
        ki_heap_remove(&timer->engine->timers, &timer->node);
}

bool ki_timer_is_set(const ki_timer *timer) {
    return timer->engine && ki_heap_has(&timer->node);
}

void ki_timer_close(ki_timer *timer) {
    if (!timer->engine)
        return;
    ki_timer_cancel(timer);
    timer->engine = NULL;
}

bool ki_engine_fire_timer(ki_engine *engine) {
    ki_heap_node *node = engine->timers.first;
    if (!node || node->rank > engine->now)
        return false;
    ki_heap_remove(&engine->timers, node);
    ki_timer *timer = (ki_timer *)(void *)node; /* the node is the first member */
    timer->fire(timer, timer->user);
    return true;
}
