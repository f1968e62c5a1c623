/* backoff.c: see backoff.h. */
#include "src/base/backoff.h"

#define MS(n) (INT64_C(1000000) * (n))
#define FIRST_STEP_NS MS(800)
#define LAST_STEP_NS MS(30000)
#define RESET_AFTER_NS MS(120000)
enum {
    SHORT_WAITS = 3,     /* half, a quarter and an eighth of the first step, in the other order */
    RESET_AFTER_LAST = 4 /* the least reset time, in longest steps: a wait takes up to two of them */
};

static int64_t first_step(const ki_backoff *backoff) {
    return backoff->first_ns ? backoff->first_ns : FIRST_STEP_NS;
}

int64_t ki_backoff_longest(const ki_backoff *backoff) {
    return backoff->longest_ns ? backoff->longest_ns : LAST_STEP_NS;
}

void ki_backoff_init(ki_backoff *backoff, int64_t first_ms, int64_t longest_ms) {
    *backoff = (ki_backoff){ .first_ns = FIRST_STEP_NS, .longest_ns = LAST_STEP_NS };
    if (first_ms > 0)
        backoff->first_ns = MS(first_ms < KI_BACKOFF_MIN_MS ? KI_BACKOFF_MIN_MS : first_ms);
    if (longest_ms > 0)
        backoff->longest_ns = MS(longest_ms);
    if (backoff->longest_ns < backoff->first_ns && longest_ms > 0)
        backoff->first_ns = backoff->longest_ns;
    else if (backoff->longest_ns < backoff->first_ns)
        backoff->longest_ns = backoff->first_ns;
}

static int64_t with_jitter(int64_t wait, double random) {
    return wait + (int64_t)((double)wait * random);
}

/* Starts over after a long time without a failure. */
static void note_failure(ki_backoff *backoff, int64_t now_ns) {
    int64_t reset_after = RESET_AFTER_LAST * ki_backoff_longest(backoff);
    if (reset_after < RESET_AFTER_NS)
        reset_after = RESET_AFTER_NS;
    if (now_ns - backoff->last_failure_ns >= reset_after)
        backoff->step = 0;
    backoff->last_failure_ns = now_ns;
}

int64_t ki_backoff_next(ki_backoff *backoff, int64_t now_ns, double random) {
    note_failure(backoff, now_ns);
    int64_t wait = first_step(backoff), longest = ki_backoff_longest(backoff);
    for (unsigned i = 0; i < backoff->step && wait < longest; i++)
        wait *= 2;
    if (wait >= longest)
        wait = longest;
    else
        backoff->step++;
    return with_jitter(wait, random);
}

int64_t ki_backoff_next_unreached(ki_backoff *backoff, int64_t now_ns, double random) {
    if (backoff->refused == SHORT_WAITS)
        return ki_backoff_next(backoff, now_ns, random);
    note_failure(backoff, now_ns);
    return with_jitter(first_step(backoff) >> (SHORT_WAITS - backoff->refused++), random);
}

void ki_backoff_succeeded(ki_backoff *backoff) {
    backoff->refused = 0;
}
