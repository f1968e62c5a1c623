/* workqueue.h: keys that wait to be processed: each key once, in order, by any number of workers.
 *
 *     ki_workqueue_add(queue, "default/web-1");                     from any thread; does not wait
 *
 *     const char *key;
 *     while ((key = ki_workqueue_get(queue, -1, NULL))) {           waits; NULL after ki_workqueue_shut_down
 *         if (process(key))
 *             ki_workqueue_forget(queue, key);
 *         else
 *             ki_workqueue_add_rate_limited(queue, key);            again later, after a longer wait each time
 *         ki_workqueue_done(queue, key);
 *     }
 *
 * A key that is added twice before a worker gets it is processed once. A key that is added while a worker processes it is queued
 * when that worker calls ki_workqueue_done: two workers never have the same key. The semantics are those of client-go's
 * util/workqueue and, with `by_priority`, of controller-runtime's priority queue.
 *
 * Most programs use a ki_controller (controller.h), which has a queue and workers of its own.
 *
 * Threads: every function may be called from any thread, unless its comment says otherwise. */
#ifndef KINFORMER_WORKQUEUE_H
#define KINFORMER_WORKQUEUE_H

#include <kinformer/engine.h>
#include <kinformer/metrics.h>

KI_BEGIN_DECLS

typedef struct ki_workqueue ki_workqueue;

enum {
    KI_WORKQUEUE_KEY_MAX = 4096, /* bytes of a key */
    KI_WORKQUEUE_LIMITS_MAX = 8, /* rate limits of one queue */
    KI_PRIORITY_LOW = -100       /* the priority that controllers give to initial and resync events */
};

/* ---- rate limits ---- */

typedef enum ki_rate_limit_type {
    KI_RATE_LIMIT_EXPONENTIAL = 1,
    KI_RATE_LIMIT_BUCKET = 2,
    KI_RATE_LIMIT_FAST_SLOW = 3,
    KI_RATE_LIMIT_CUSTOM = 4
} ki_rate_limit_type;

/* How long ki_workqueue_add_rate_limited delays a key. Made by one of the macros below. */
typedef struct ki_rate_limit {
    ki_rate_limit_type type;
    int64_t base_ms;   /* exponential: the first delay; fast-slow: the fast delay */
    int64_t max_ms;    /* exponential: the longest delay; fast-slow: the slow delay */
    double per_second; /* bucket: keys per second in the long run */
    int count;         /* bucket: keys at once; fast-slow: how many tries are fast */
    int64_t wait_ms;   /* the longest delay that this limit may give; 0: no bound. Not set by the macros */
    /* custom: returns the delay in milliseconds. `failures` counts the calls of ki_workqueue_add_rate_limited for this key since it
     * was last forgotten, from 0. The queue's lock is held: the function must not call the queue. */
    int64_t (*delay_ms)(const void *key, int failures, void *user) KI_NOEXCEPT;
    void *user;
} ki_rate_limit;

/* base · 2ⁿ for the n-th failure of a key, counted from 0, and `max` at most. */
#define KI_RATE_LIMIT_EXPONENTIAL(base, max) \
    { KI_RATE_LIMIT_EXPONENTIAL, (base), (max), 0.0, 0, 0, NULL, NULL }
/* A token bucket for all keys together: `rate` keys per second after `burst` at once. Both are above 0. */
#define KI_RATE_LIMIT_BUCKET(rate, burst) \
    { KI_RATE_LIMIT_BUCKET, 0, 0, (rate), (burst), 0, NULL, NULL }
/* `fast` for the first `tries` failures of a key, then `slow`. */
#define KI_RATE_LIMIT_FAST_SLOW(fast, slow, tries) \
    { KI_RATE_LIMIT_FAST_SLOW, (fast), (slow), 0.0, (tries), 0, NULL, NULL }
/* The delay that `function` returns. */
#define KI_RATE_LIMIT_CUSTOM(function, user) \
    { KI_RATE_LIMIT_CUSTOM, 0, 0, 0.0, 0, 0, (function), (user) }

/* ---- a queue's life ---- */

typedef struct ki_workqueue_options {
    size_t size; /* sizeof(ki_workqueue_options); set by the macro */
    /* The label `name` of the queue's metrics, UTF-8; copied. NULL or "": the queue counts, but takes no times, which saves half of a key's cost.
     * As in client-go, where a queue without a name has no metrics. */
    const char *name;
    size_t
        key_size; /* 0: keys are strings; else a key is a struct of this many bytes, compared byte by byte: clear its padding */
    bool by_priority; /* hand out higher priorities first; else in the order of arrival */
    /* The delay of a rate-limited key is the longest that any of these gives. Copied. NULL: KI_RATE_LIMIT_EXPONENTIAL(5, 1000000) and
     * KI_RATE_LIMIT_BUCKET(10, 100), as in client-go. A count of 0 with an array: no delay. */
    const ki_rate_limit *rate_limits;
    size_t rate_limit_count;
    /* The program's metrics library; copied; NULL: none. Called on the thread that adds, takes or ends a key, under no lock. */
    const ki_metrics *metrics;
    /* Called on the loop when a key can be taken and none could be before, and once after the shutdown: for a program that takes keys on the
     * loop (ki_workqueue_get with a timeout of 0). Must not block. NULL: not called. */
    void (*on_ready)(ki_workqueue *queue, void *user) KI_NOEXCEPT;
    /* Called on the loop once after the shutdown, when no key is queued or being processed any more. NULL: not called. */
    void (*on_drained)(ki_workqueue *queue, void *user) KI_NOEXCEPT;
    void *user;
} ki_workqueue_options;

#define KI_WORKQUEUE_OPTIONS(...) ((ki_workqueue_options){ .size = sizeof(ki_workqueue_options), __VA_ARGS__ })

/* Makes a queue. Its delays are timers of `engine`: they pass only while the program runs, starts or steps the engine. `options` may
 * be NULL. Ownership: the caller's, freed with ki_workqueue_free before the engine. Blocks: while the loop, on another thread, finishes the
 * callback at hand. Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_workqueue_new(ki_engine *engine, const ki_workqueue_options *options,
                                                ki_workqueue **ret_queue, ki_error *err);

/* Shuts the queue down and frees it with all its keys. NULL is accepted.
 * Threads: no other thread may be inside a function of the queue, or call one afterwards; not from the queue's own callbacks.
 * Blocks: as ki_workqueue_new. */
KI_API void ki_workqueue_free(ki_workqueue *queue);

/* ---- adding keys ---- */

/* Queues a key, unless it is queued already.
 * Ownership: the key is copied. Blocks: no function that adds does.
 * Errors of all functions that add: KI_ERR_INVALID (no key, or an empty one), KI_ERR_LIMIT (a key over KI_WORKQUEUE_KEY_MAX),
 * KI_ERR_CLOSED (the queue is shut down; the key is ignored), KI_ERR_NO_MEMORY. */
KI_API ki_status ki_workqueue_add(ki_workqueue *queue, const void *key);

/* Queues a key once `delay_ms` have passed; at once where that is 0 or less. Where the key waits already, the earlier time wins.
 * Without `by_priority` a key may wait and be queued at once: it is processed now, and again when its time comes. With `by_priority` the two
 * merge: the key is processed once, at the earlier time. */
KI_API ki_status ki_workqueue_add_after(ki_workqueue *queue, const void *key, int64_t delay_ms);

/* Queues a key after the delay of the queue's rate limits, and counts a failure of the key. */
KI_API ki_status ki_workqueue_add_rate_limited(ki_workqueue *queue, const void *key);

typedef struct ki_add_options {
    size_t size;       /* sizeof(ki_add_options); set by the macro */
    int priority;      /* with `by_priority`: a key that is queued already keeps the higher one */
    int64_t after_ms;  /* as ki_workqueue_add_after */
    bool rate_limited; /* as ki_workqueue_add_rate_limited; with an after_ms other than 0 the shorter delay counts */
} ki_add_options;

#define KI_ADD_OPTIONS(...) ((ki_add_options){ .size = sizeof(ki_add_options), __VA_ARGS__ })

/* Adds a key with a priority, a delay, or both. `options` may be NULL. A key that is added with a higher priority than it is queued with
 * goes behind the keys that have this priority already. A key that is added while it is being processed gets the priority of that add. */
KI_API ki_status ki_workqueue_add_with(ki_workqueue *queue, const void *key, const ki_add_options *options);

/* Sets the key's count of failures to 0: call it when the key was processed. Does not remove the key from the queue. */
KI_API void ki_workqueue_forget(ki_workqueue *queue, const void *key);
/* Returns how often the key was added rate-limited since it was last forgotten. */
KI_API int ki_workqueue_num_requeues(const ki_workqueue *queue, const void *key);

/* ---- processing keys ---- */

/* Takes the next key, aligned for any type. Waits until there is one, for at most `timeout_ms` (0: not at all; < 0: for ever).
 * Returns NULL where there is none; `err` says why: KI_ERR_CLOSED (the queue is shut down and empty), KI_ERR_TIMEOUT, KI_ERR_DEADLOCK (it
 * would wait on the loop's own thread).
 * Ownership: borrowed until ki_workqueue_done. Blocks: as `timeout_ms` says. */
KI_API const void *ki_workqueue_get(ki_workqueue *queue, int64_t timeout_ms, ki_error *err);

/* Ends the processing of a key that ki_workqueue_get returned. Where the key was added meanwhile, it is queued now.
 * Errors: KI_ERR_NOT_FOUND where nobody processes the key: then nothing happens. */
KI_API ki_status ki_workqueue_done(ki_workqueue *queue, const void *key);

/* Returns the priority that a key was taken with; 0 where nobody processes it. */
KI_API int ki_workqueue_priority(const ki_workqueue *queue, const void *key);

/* Returns the number of keys that a worker could take now: without those that wait for their time or are being processed. For
 * information: other threads change it meanwhile. */
KI_API size_t ki_workqueue_length(const ki_workqueue *queue);

/* ---- shutdown ---- */

/* Ignores all keys from now on. Workers get what is queued, then NULL. Keys that wait for their time are dropped. Ends the wait of
 * ki_workqueue_shut_down_with_drain. Repeatable. Blocks: no. */
KI_API void ki_workqueue_shut_down(ki_workqueue *queue);

/* The same, and waits until no key is queued or being processed, for at most `timeout_ms` (< 0: for ever). Workers still get the keys that
 * are queued, also those that were added while they were processed. (client-go's does not wait for queued keys while no key is being
 * processed.) Several threads may wait. Blocks: yes. Errors, all after the shutdown: KI_ERR_TIMEOUT, KI_ERR_CANCELLED
 * (ki_workqueue_shut_down was called meanwhile), KI_ERR_DEADLOCK (it would wait on the loop's own thread: on_drained tells the end there). */
KI_API KI_MUST_CHECK ki_status ki_workqueue_shut_down_with_drain(ki_workqueue *queue, int64_t timeout_ms,
                                                                 ki_error *err);

KI_API bool ki_workqueue_is_shut_down(const ki_workqueue *queue);

/* ---- metrics ---- */

/* Returns the metrics of a queue by number from 0, to register them; NULL past the last. Ownership: static. */
KI_API const ki_metric *ki_workqueue_metric_at(size_t index);

/* Writes the queue's metrics as OpenMetrics text, ending with "# EOF". The names are client-go's: workqueue_depth, workqueue_adds,
 * workqueue_queue_duration_seconds, workqueue_work_duration_seconds, workqueue_unfinished_work_seconds,
 * workqueue_longest_running_processor_seconds, workqueue_retries. The ages of keys that are being processed are those of this moment. A
 * controller's queue is part of ki_factory_metrics_text.
 * Ownership: `*ret_text` is the caller's, freed with ki_metrics_text_free. Blocks: no. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_workqueue_metrics_text(const ki_workqueue *queue, char **ret_text, ki_error *err);

/* Sets the gauges in the program's metrics library (`metrics` of the options). Does nothing where there is none. */
KI_API void ki_workqueue_update_gauges(ki_workqueue *queue);

KI_END_DECLS

#endif
