/* backoff.h: how long to wait after a failure: 0.8 s, 1.6, 3.2, … up to 30 s, each times U[1,2); from the beginning again after two
 * minutes without one. One thread. */
#ifndef KI_CACHE_BACKOFF_H
#define KI_CACHE_BACKOFF_H

#include <stdint.h>

typedef struct ki_backoff {
    int64_t last_failure_ns;
    unsigned step; /* failures in a row; 0: none yet */
} ki_backoff;

/* There was a failure at `now_ns`: what to wait for, in nanoseconds. `random` is uniform in [0, 1). */
int64_t ki_backoff_next(ki_backoff *backoff, int64_t now_ns, double random);

#endif
