/* rate_limiter.h: the delay before a failed key is processed again. Plain arithmetic: time and failures are arguments.
 * Guarded by the queue's lock. */
#ifndef KI_WORKQUEUE_RATE_LIMITER_H
#define KI_WORKQUEUE_RATE_LIMITER_H

#include <kinformer-controllers/workqueue.h>

typedef struct ki_rate_limiter {
    size_t count;
    ki_rate_limit limits[KI_WORKQUEUE_LIMITS_MAX];
    /* Token buckets, by the index of their limit. */
    struct {
        double tokens;
        int64_t at; /* the time of `tokens` */
    } buckets[KI_WORKQUEUE_LIMITS_MAX];
} ki_rate_limiter;

/* Copies `limits`; NULL: client-go's defaults. Buckets start full. Errors: KI_ERR_INVALID, KI_ERR_LIMIT. */
ki_status ki_rate_limiter_init(ki_rate_limiter *limiter, const ki_rate_limit *limits, size_t count, int64_t now,
                               ki_error *err);
/* Returns the longest delay of all limits in nanoseconds. Takes a token from each bucket. */
int64_t ki_rate_limiter_delay(ki_rate_limiter *limiter, const void *key, int failures, int64_t now);

/* Converts milliseconds to nanoseconds: negative becomes 0, overflow INT64_MAX. */
int64_t ki_work_delay_ns(int64_t ms);

#endif
