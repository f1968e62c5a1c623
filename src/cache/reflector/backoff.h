/* backoff.h: the wait after a failure: 0.8 s, 1.6 s, 3.2 s, … up to 30 s, each times U[1,2). Two minutes without a
 * failure reset the backoff. One thread. */
#ifndef KI_CACHE_BACKOFF_H
#define KI_CACHE_BACKOFF_H

#include <stdint.h>

typedef struct ki_backoff {
    int64_t last_failure_ns;
    unsigned step; /* consecutive failures, until the longest wait is reached */
} ki_backoff;

/* Records a failure at `now_ns` and returns the wait in nanoseconds. `random` is uniform in [0, 1). */
int64_t ki_backoff_next(ki_backoff *backoff, int64_t now_ns, double random);

#endif
