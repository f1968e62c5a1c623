/* backoff.h: the wait after a failure: 0.8 s, 1.6 s, 3.2 s, … up to 30 s, each times U[1,2). Two minutes without a
 * failure reset the backoff. After a refused connection the first three waits are shorter: 0.1 s, 0.2 s, 0.4 s. One
 * thread. */
#ifndef KI_BASE_BACKOFF_H
#define KI_BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    KI_BACKOFF_MIN_MS = 10,                 /* of a first step */
    KI_BACKOFF_MAX_MS = 24 * 60 * 60 * 1000 /* of both options */
};

/* Zero: the defaults. */
typedef struct ki_backoff {
    int64_t first_ns, longest_ns; /* steps; 0: 0.8 s, 30 s */
    int64_t last_failure_ns;
    unsigned step;    /* consecutive failures, until the longest wait is reached */
    unsigned refused; /* short waits since the last success */
} ki_backoff;

/* Sets the first and the longest step; 0: the default. A first step below KI_BACKOFF_MIN_MS is raised. One of the two
 * that is a default gives way to the other. */
void ki_backoff_init(ki_backoff *backoff, int64_t first_ms, int64_t longest_ms);

/* Records a failure at `now_ns` and returns the wait in nanoseconds. `random` is uniform in [0, 1). */
int64_t ki_backoff_next(ki_backoff *backoff, int64_t now_ns, double random);
/* The same after a failure to connect: no server did any work. */
int64_t ki_backoff_next_unreached(ki_backoff *backoff, int64_t now_ns, double random);
/* Records a success: the next failure to connect begins with the short waits again. The steps do not start over. */
void ki_backoff_succeeded(ki_backoff *backoff);

/* Returns the longest step in nanoseconds. */
int64_t ki_backoff_longest(const ki_backoff *backoff);

#endif
