/* limiter.h: a token bucket: so many requests a second, and a burst. Plain arithmetic: time is an argument. One thread. */
#ifndef KI_CLIENT_LIMITER_H
#define KI_CLIENT_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

/* Credit is kept as time: a token costs `cost_ns`, and time that passes is credit, up to a burst's. */
typedef struct ki_limiter {
    int64_t cost_ns; /* 0: no limit */
    int64_t full_ns;
    int64_t credit_ns;
    int64_t at_ns; /* when credit_ns was right */
} ki_limiter;

/* Full at `now_ns`. `per_second` ≤ 0: no limit; a `burst` below 1 counts as 1. */
void ki_limiter_init(ki_limiter *limiter, int per_second, int burst, int64_t now_ns);
/* Takes a token if there is one. A time before the last one counts as no time passed. */
bool ki_limiter_take(ki_limiter *limiter, int64_t now_ns);
/* Nanoseconds from now until the token after `ahead` others is there; INT64_MAX where it is further than can be counted. */
int64_t ki_limiter_wait(ki_limiter *limiter, int64_t now_ns, uint64_t ahead);

#endif
