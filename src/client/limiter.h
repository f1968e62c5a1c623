/* limiter.h: a token bucket: requests per second and a burst. Plain arithmetic; time is an argument. One thread. */
#ifndef KI_CLIENT_LIMITER_H
#define KI_CLIENT_LIMITER_H

#include "src/base/internal_api.h"

#include <stdbool.h>
#include <stdint.h>

/* Credit is kept as nanoseconds: a token costs `cost_ns`, and passed time adds credit up to `full_ns` (the burst). */
typedef struct ki_limiter {
    int64_t cost_ns; /* 0: no limit */
    int64_t full_ns;
    int64_t credit_ns;
    int64_t at_ns; /* the time of `credit_ns` */
} ki_limiter;

/* Starts with a full burst. `per_second` ≤ 0: no limit. A `burst` below 1 counts as 1. */
void ki_limiter_init(ki_limiter *limiter, int per_second, int burst, int64_t now_ns);
/* Takes a token; returns false if there is none. A time before the last one counts as no time passed. */
KI_INTERNAL_API bool ki_limiter_take(ki_limiter *limiter, int64_t now_ns);
/* Returns the nanoseconds until a token is free after `ahead` earlier requests; INT64_MAX on overflow. */
int64_t ki_limiter_wait(ki_limiter *limiter, int64_t now_ns, uint64_t ahead);

#endif
