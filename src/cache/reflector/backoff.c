/* backoff.c: see backoff.h. */
#include "src/cache/reflector/backoff.h"

#define FIRST_STEP_NS INT64_C(800000000)
#define LAST_STEP_NS INT64_C(30000000000)
#define RESET_AFTER_NS INT64_C(120000000000)

int64_t ki_backoff_next(ki_backoff *backoff, int64_t now_ns, double random) {
    if (backoff->step > 0 && now_ns - backoff->last_failure_ns >= RESET_AFTER_NS)
        backoff->step = 0;
    int64_t wait = FIRST_STEP_NS;
    for (unsigned i = 0; i < backoff->step && wait < LAST_STEP_NS; i++)
        wait *= 2;
    if (wait >= LAST_STEP_NS)
        wait = LAST_STEP_NS;
    else
        backoff->step++;
    backoff->last_failure_ns = now_ns;
    return wait + (int64_t)((double)wait * random);
}
