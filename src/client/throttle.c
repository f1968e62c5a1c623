/* throttle.c: the queue in front of the limiter. First come, first served: no request passes while others wait. */
#include "src/client/throttle.h"

#include <stddef.h>

static void set_timer(ki_throttle *throttle) {
    if (!throttle->first) {
        ki_timer_cancel(&throttle->timer);
        return;
    }
    int64_t now = ki_engine_now(throttle->engine);
    ki_timer_set(&throttle->timer, ki_time_after(now, ki_limiter_wait(&throttle->limiter, now, 0)));
}

static void unlink_ticket(ki_throttle *throttle, ki_ticket *ticket) {
    if (ticket->previous)
        ticket->previous->next = ticket->next;
    else
        throttle->first = ticket->next;
    if (ticket->next)
        ticket->next->previous = ticket->previous;
    else
        throttle->last = ticket->previous;
    ticket->next = ticket->previous = NULL;
    ticket->waiting = false;
    throttle->count--;
}

/* Grants at most one ticket, since `granted` may change the queue. The timer fires again for the next ticket. */
static void due(ki_timer *timer, void *user) {
    (void)timer;
    ki_throttle *throttle = user;
    ki_ticket *ticket = throttle->first;
    bool goes = ticket && ki_limiter_take(&throttle->limiter, ki_engine_now(throttle->engine));
    if (goes)
        unlink_ticket(throttle, ticket);
    set_timer(throttle);
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
    while (throttle->first)
        unlink_ticket(throttle, throttle->first);
}

bool ki_throttle_pass(ki_throttle *throttle, ki_ticket *ticket, void (*granted)(void *user), void *user) {
    if (!throttle || (!throttle->first && ki_limiter_take(&throttle->limiter, ki_engine_now(throttle->engine))))
        return true;
    *ticket = (ki_ticket){ .previous = throttle->last, .waiting = true, .granted = granted, .user = user };
    if (throttle->last)
        throttle->last->next = ticket;
    else
        throttle->first = ticket;
    throttle->last = ticket;
    throttle->count++;
    if (throttle->first == ticket)
        set_timer(throttle);
    return false;
}

int64_t ki_throttle_delay(ki_throttle *throttle) {
    return throttle ? ki_limiter_wait(&throttle->limiter, ki_engine_now(throttle->engine), throttle->count) : 0;
}

void ki_throttle_leave(ki_throttle *throttle, ki_ticket *ticket) {
    if (!throttle || !ticket->waiting)
        return;
    unlink_ticket(throttle, ticket);
    set_timer(throttle);
}
