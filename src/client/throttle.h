/* throttle.h: the client's rate limit as a queue, shared by all requests of one client or factory. Loop only. */
#ifndef KI_CLIENT_THROTTLE_H
#define KI_CLIENT_THROTTLE_H

#include "src/client/limiter.h"
#include "src/client/ticket.h"
#include "src/engine/engine.h"

typedef struct ki_throttle {
    ki_engine *engine;
    ki_limiter limiter;
    ki_timer timer;
    ki_ticket_queue queue;
} ki_throttle;

/* Sets the limit (see ki_limiter_init) and makes the timer. */
void ki_throttle_init(ki_throttle *throttle, ki_engine *engine, int per_second, int burst);
/* Closes the timer and empties the queue without calling `granted`. Accepts a zeroed throttle. */
void ki_throttle_close(ki_throttle *throttle);
/* Returns true if the caller may send now. Otherwise queues `ticket` and calls `granted` at its turn (first come, first
 * served), never from inside this function. `throttle` NULL: no limit. */
bool ki_throttle_pass(ki_throttle *throttle, ki_ticket *ticket, void (*granted)(void *user), void *user);
/* Returns how long a new ticket would wait behind `ahead` more, in nanoseconds. NULL: 0. */
int64_t ki_throttle_delay(ki_throttle *throttle, size_t ahead);
/* Removes the ticket from the queue; does nothing if the ticket does not wait. */
void ki_throttle_leave(ki_throttle *throttle, ki_ticket *ticket);

#endif
