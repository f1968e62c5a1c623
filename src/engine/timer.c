/* timer.c: one-shot timers in a heap, ordered by deadline, then by order of setting. Loop only. */
#include "src/engine/loop.h"

static const ki_timer *timer_of(const ki_heap_node *node) {
    return (const ki_timer *)(const void *)node; /* the node is the first member */
}

bool ki_timer_less(const ki_heap_node *a, const ki_heap_node *b) {
    const ki_timer *left = timer_of(a), *right = timer_of(b);
    if (left->deadline != right->deadline)
        return left->deadline < right->deadline;
    return left->sequence < right->sequence;
}

ki_status ki_timer_init(ki_timer *timer, ki_engine *engine, void (*fire)(ki_timer *timer, void *user), void *user) {
    *timer = (ki_timer){ .fire = fire, .user = user };
    ki_heap_node_init(&timer->node);
    if (ki_heap_reserve(&engine->timers, engine->timer_count + 1))
        return KI_ERR_NO_MEMORY;
    engine->timer_count++;
    timer->engine = engine;
    return KI_OK;
}

void ki_timer_set(ki_timer *timer, int64_t deadline_ns) {
    ki_engine *engine = timer->engine;
    ki_heap_remove(&engine->timers, &timer->node);
    timer->deadline = deadline_ns;
    timer->sequence = engine->timer_sequence++;
    if (ki_heap_push(&engine->timers, &timer->node))
        return; /* impossible: ki_timer_init reserved its place */
    /* A host may be waiting with an older timeout. */
    if (ki_heap_peek(&engine->timers) == &timer->node)
        ki_engine_wake(engine);
}

void ki_timer_cancel(ki_timer *timer) {
    if (timer->engine)
        ki_heap_remove(&timer->engine->timers, &timer->node);
}

bool ki_timer_is_set(const ki_timer *timer) {
    return timer->engine && timer->node.index != KI_HEAP_OUT;
}

void ki_timer_close(ki_timer *timer) {
    if (!timer->engine)
        return;
    ki_timer_cancel(timer);
    timer->engine->timer_count--;
    timer->engine = NULL;
}

bool ki_engine_fire_timer(ki_engine *engine) {
    ki_heap_node *node = ki_heap_peek(&engine->timers);
    if (!node || timer_of(node)->deadline > engine->now)
        return false;
    ki_heap_pop(&engine->timers);
    ki_timer *timer = (ki_timer *)(void *)node;
    timer->fire(timer, timer->user);
    return true;
}
