/* throttle.c: the queue in front of the limiter. First come, first served: no request passes while others wait. */
#include "src/client/throttle.h"

#include "src/base/assert.h"

#include <stddef.h>

static void set_timer(ki_throttle *throttle) {
    KI_ON_LOOP(throttle->engine);
    if (!throttle->queue.first) {
        ki_timer_cancel(&throttle->timer);
        return;
    }
    int64_t now = ki_engine_now(throttle->engine);
    ki_timer_set(&throttle->timer, ki_time_after(now, ki_limiter_wait(&throttle->limiter, now, 0)));
}

/* Grants at most one ticket, since `granted` may change the queue. The timer fires again for the next ticket. */
static void due(ki_timer *timer, void *user) {
    (void)timer;
    ki_throttle *throttle = user;
    ki_ticket *ticket = throttle->queue.first;
    bool goes = ticket && ki_limiter_take(&throttle->limiter, ki_engine_now(throttle->engine));
    if (goes)
        ki_ticket_queue_remove(&throttle->queue, ticket);
    set_timer(throttle);
    KI_ASSERT(ki_timer_is_set(&throttle->timer) == (throttle->queue.first != NULL));
    if (goes)
        ticket->granted(ticket->user);
}

void ki_throttle_init(ki_throttle *throttle, ki_engine *engine, int per_second, int burst) {
    *throttle = (ki_throttle){ .engine = engine };
    ki_limiter_init(&throttle->limiter, per_second, burst, ki_engine_now(engine));
    ki_timer_init(&throttle->timer, engine, due, throttle);
}

void ki_throttle_close(ki_throttle *throttle) {
    ki_timer_close(&throttle->timer);
    while (throttle->queue.first)
        ki_ticket_queue_remove(&throttle->queue, throttle->queue.first);
}

bool ki_throttle_pass(ki_throttle *throttle, ki_ticket *ticket, void (*granted)(void *user), void *user) {
    if (!throttle || (!throttle->queue.first && ki_limiter_take(&throttle->limiter, ki_engine_now(throttle->engine))))
        return true;
    ki_ticket_queue_append(&throttle->queue, ticket, granted, user);
    if (throttle->queue.first == ticket)
        set_timer(throttle);
    return false;
}

int64_t ki_throttle_delay(ki_throttle *throttle, size_t ahead) {
    return throttle
               ? ki_limiter_wait(&throttle->limiter, ki_engine_now(throttle->engine), throttle->queue.count + ahead)
               : 0;
}

void ki_throttle_leave(ki_throttle *throttle, ki_ticket *ticket) {
    if (!throttle || !ticket->waiting)
        return;
    ki_ticket_queue_remove(&throttle->queue, ticket);
    set_timer(throttle);
    KI_ASSERT(ki_timer_is_set(&throttle->timer) == (throttle->queue.first != NULL));
}
