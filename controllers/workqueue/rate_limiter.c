/* rate_limiter.c: the limits of client-go's util/workqueue (default_rate_limiters.go). A bucket works as
 * golang.org/x/time/rate: a reservation may take tokens in advance and waits until they exist. */
#include "controllers/workqueue/rate_limiter.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/engine/engine.h"

#define NANOSECONDS_PER_SECOND 1e9

static const ki_rate_limit default_limits[] = { KI_RATE_LIMIT_EXPONENTIAL(5, 1000000), KI_RATE_LIMIT_BUCKET(10, 100) };

static const char *what_is_wrong(const ki_rate_limit *limit) {
    if (limit->max_wait_ms < 0)
        return "max_wait_ms is negative";
    switch (limit->type) {
    case KI_RATE_LIMIT_EXPONENTIAL:
    case KI_RATE_LIMIT_FAST_SLOW:
        return limit->base_ms < 0 || limit->max_ms < 0 ? "a delay is negative" : NULL;
    case KI_RATE_LIMIT_BUCKET:
        return limit->per_second > 0 && limit->count > 0 ? NULL : "a bucket needs a rate and a burst above 0";
    case KI_RATE_LIMIT_CUSTOM:
        return limit->delay_ms ? NULL : "delay_ms is NULL";
    default:
        return "unknown type";
    }
}

ki_status ki_rate_limiter_init(ki_rate_limiter *limiter, const ki_rate_limit *limits, size_t count, int64_t now,
                               ki_error *err) {
    if (!limits) {
        limits = default_limits;
        count = sizeof default_limits / sizeof *default_limits;
    }
    if (count > KI_WORKQUEUE_LIMITS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "%zu rate limits: a work queue accepts at most %d", count,
                            KI_WORKQUEUE_LIMITS_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *wrong = what_is_wrong(&limits[i]);
        if (wrong)
            return ki_error_set(err, KI_ERR_INVALID, "rate limit %zu: %s", i, wrong);
        limiter->limits[i] = limits[i];
        limiter->buckets[i].tokens = limits[i].count;
        limiter->buckets[i].at = now;
    }
    limiter->count = count;
    return KI_OK;
}

int64_t ki_work_delay_ns(int64_t ms) {
    if (ms <= 0)
        return 0;
    return ms < INT64_MAX / KI_MILLISECONDS(1) ? KI_MILLISECONDS(ms) : INT64_MAX;
}

/* Returns base · 2ⁿ, at most the longest delay. */
static int64_t exponential_delay(const ki_rate_limit *limit, int failures) {
    KI_ASSERT(failures >= 0);
    int64_t base = ki_work_delay_ns(limit->base_ms), longest = ki_work_delay_ns(limit->max_ms);
    if (base == 0)
        return 0;
    if (failures >= 63 || base > longest >> failures)
        return longest;
    return base << failures;
}

static int64_t bucket_delay(ki_rate_limiter *limiter, size_t number, int64_t now) {
    const ki_rate_limit *limit = &limiter->limits[number];
    double tokens = limiter->buckets[number].tokens, rate = limit->per_second;
    if (now > limiter->buckets[number].at)
        tokens += (double)(now - limiter->buckets[number].at) / NANOSECONDS_PER_SECOND * rate;
    if (!(tokens < limit->count))
        tokens = limit->count;
    tokens -= 1;
    limiter->buckets[number].tokens = tokens;
    limiter->buckets[number].at = now;
    if (tokens >= 0)
        return 0;
    double delay = -tokens / rate * NANOSECONDS_PER_SECOND;
    return delay < (double)INT64_MAX ? (int64_t)delay : INT64_MAX;
}

static int64_t delay_of(ki_rate_limiter *limiter, size_t number, const void *key, int failures, int64_t now) {
    const ki_rate_limit *limit = &limiter->limits[number];
    switch (limit->type) {
    case KI_RATE_LIMIT_EXPONENTIAL:
        return exponential_delay(limit, failures);
    case KI_RATE_LIMIT_FAST_SLOW:
        return ki_work_delay_ns(failures < limit->count ? limit->base_ms : limit->max_ms);
    case KI_RATE_LIMIT_BUCKET:
        return bucket_delay(limiter, number, now);
    default:
        return ki_work_delay_ns(limit->delay_ms(key, failures, limit->user));
    }
}

int64_t ki_rate_limiter_delay(ki_rate_limiter *limiter, const void *key, int failures, int64_t now) {
    int64_t longest = 0;
    for (size_t i = 0; i < limiter->count; i++) {
        int64_t delay = delay_of(limiter, i, key, failures, now),
                most = ki_work_delay_ns(limiter->limits[i].max_wait_ms);
        if (most > 0 && delay > most)
            delay = most;
        if (delay > longest)
            longest = delay;
    }
    KI_ASSERT(longest >= 0);
    return longest;
}
