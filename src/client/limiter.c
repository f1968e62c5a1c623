/* limiter.c: a token bucket in whole nanoseconds: no rounding errors add up. */
#include "src/client/limiter.h"

#include "src/base/assert.h"

enum {
    NANOSECONDS_PER_SECOND = 1000000000
};

void ki_limiter_init(ki_limiter *limiter, int per_second, int burst, int64_t now_ns) {
    if (burst < 1)
        burst = 1;
    int64_t cost = per_second > 0 ? NANOSECONDS_PER_SECOND / per_second : 0; /* above a billion per second: no limit */
    *limiter = (ki_limiter){ .cost_ns = cost, .full_ns = cost * burst, .credit_ns = cost * burst, .at_ns = now_ns };
}

static void refill(ki_limiter *limiter, int64_t now_ns) {
    KI_ASSERT(limiter->credit_ns >= 0 && limiter->credit_ns <= limiter->full_ns);
    /* Unsigned: the difference may exceed INT64_MAX. */
    uint64_t passed = now_ns > limiter->at_ns ? (uint64_t)now_ns - (uint64_t)limiter->at_ns : 0;
    uint64_t room = (uint64_t)(limiter->full_ns - limiter->credit_ns);
    limiter->credit_ns += (int64_t)(passed < room ? passed : room);
    limiter->at_ns = now_ns;
}

bool ki_limiter_take(ki_limiter *limiter, int64_t now_ns) {
    refill(limiter, now_ns);
    if (limiter->credit_ns < limiter->cost_ns)
        return false;
    limiter->credit_ns -= limiter->cost_ns;
    KI_ASSERT(limiter->credit_ns >= 0);
    return true;
}

int64_t ki_limiter_wait(ki_limiter *limiter, int64_t now_ns, uint64_t ahead) {
    refill(limiter, now_ns);
    if (limiter->cost_ns == 0)
        return 0;
    if (ahead >= (uint64_t)(INT64_MAX / limiter->cost_ns))
        return INT64_MAX;
    int64_t needed = (int64_t)(ahead + 1) * limiter->cost_ns;
    return needed > limiter->credit_ns ? needed - limiter->credit_ns : 0;
}
