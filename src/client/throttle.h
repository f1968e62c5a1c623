/* throttle.h: the client's own limit as a queue: who may send now, and who next. Shared by all that one client or factory sends.
 * Loop only. */
#ifndef KI_CLIENT_THROTTLE_H
#define KI_CLIENT_THROTTLE_H

#include "src/client/limiter.h"
#include "src/engine/engine.h"

/* A place in the queue, embedded in what waits; zeroed before its first use. */
typedef struct ki_ticket {
    struct ki_ticket *next, *previous; /* private, as all below */
    bool waiting;
    void (*granted)(void *user);
    void *user;
} ki_ticket;

typedef struct ki_throttle {
    ki_engine *engine;
    ki_limiter limiter;
    ki_timer timer;
    ki_ticket *first, *last;
    uint64_t count;
} ki_throttle;

ki_status ki_throttle_init(ki_throttle *throttle, ki_engine *engine, int per_second, int burst);
/* Whoever waits is never called. Harmless on a zeroed one. */
void ki_throttle_close(ki_throttle *throttle);
/* True: go now. False: `granted` is called when its turn has come, in the order of coming, never from inside. NULL: no limit. */
bool ki_throttle_pass(ki_throttle *throttle, ki_ticket *ticket, void (*granted)(void *user), void *user);
/* How long one that comes now would wait, in nanoseconds. NULL: 0. */
int64_t ki_throttle_delay(ki_throttle *throttle);
/* Leaves the queue; nothing where it does not wait. */
void ki_throttle_leave(ki_throttle *throttle, ki_ticket *ticket);

#endif
