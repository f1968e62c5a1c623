/* workqueue.h: a queue of keys for any number of workers. A queued key is processed once, however often it was added.
 *
 *     ki_workqueue_add(queue, "default/web-1");                     on any thread; does not wait
 *
 *     const char *key;
 *     while ((key = ki_workqueue_get(queue, -1, NULL))) {           waits; NULL after ki_workqueue_shut_down
 *         if (process(key))
 *             ki_workqueue_forget(queue, key);
 *         else
 *             ki_workqueue_add_rate_limited(queue, key);            queues the key again, with a growing delay
 *         ki_workqueue_done(queue, key);
 *     }
 *
 * Adding a queued key again has no effect. A key that is added while a worker processes it is queued when that worker
 * calls ki_workqueue_done: two workers never have the same key. The semantics are those of client-go's util/workqueue
 * and, with `by_priority`, of controller-runtime's priority queue.
 *
 * Most programs use a ki_controller (controller.h), which has a queue and workers of its own.
 *
 * Threads: every function may be called on any thread, unless its comment says otherwise.
 * Fork: see kinformer/engine.h. */
#ifndef KINFORMER_CONTROLLERS_WORKQUEUE_H
#define KINFORMER_CONTROLLERS_WORKQUEUE_H

#include <kinformer/engine.h>
#include <kinformer/metrics.h>

KI_BEGIN_DECLS

typedef struct ki_workqueue ki_workqueue;

enum {
    KI_WORKQUEUE_KEY_MAX = 4096, /* bytes of a string key, without its closing zero */
    KI_WORKQUEUE_LIMITS_MAX = 8, /* rate limits of one queue */
    KI_PRIORITY_LOW = -100       /* priority of keys that controllers add for the initial list and resyncs */
};

/* ---- rate limits ---- */

typedef enum ki_rate_limit_type {
    KI_RATE_LIMIT_EXPONENTIAL = 1,
    KI_RATE_LIMIT_BUCKET = 2,
    KI_RATE_LIMIT_FAST_SLOW = 3,
    KI_RATE_LIMIT_CUSTOM = 4
} ki_rate_limit_type;

/* A rule for the delay of ki_workqueue_add_rate_limited. Made by one of the macros below. */
typedef struct ki_rate_limit {
    ki_rate_limit_type type;
    int64_t base_ms;     /* exponential: the first delay; fast-slow: the fast delay */
    int64_t max_ms;      /* exponential: the longest delay; fast-slow: the slow delay */
    double per_second;   /* bucket: keys per second in the long run */
    int count;           /* bucket: keys at once; fast-slow: number of fast tries */
    int64_t max_wait_ms; /* longest delay of this limit; 0: no maximum. Not set by the macros */
    /* custom: returns the delay in milliseconds. `failures` is the number of earlier ki_workqueue_add_rate_limited
     * calls for this key since the last ki_workqueue_forget. The queue's lock is held: the function must not call the
     * queue. */
    int64_t (*delay_ms)(const void *key, int failures, void *user) KI_NOEXCEPT;
    void *user;
} ki_rate_limit;

/* base · 2ⁿ milliseconds for the n-th failure of a key, counted from 0; at most `max`. */
#define KI_RATE_LIMIT_EXPONENTIAL(base, max) \
    { KI_RATE_LIMIT_EXPONENTIAL, (base), (max), 0.0, 0, 0, NULL, NULL }
/* A token bucket that all keys share: `rate` keys per second after `burst` keys at once. Both must be above 0. */
#define KI_RATE_LIMIT_BUCKET(rate, burst) \
    { KI_RATE_LIMIT_BUCKET, 0, 0, (rate), (burst), 0, NULL, NULL }
/* `fast` milliseconds for each of the first `tries` failures of a key, then `slow`. */
#define KI_RATE_LIMIT_FAST_SLOW(fast, slow, tries) \
    { KI_RATE_LIMIT_FAST_SLOW, (fast), (slow), 0.0, (tries), 0, NULL, NULL }
/* The delay that `function` returns. */
#define KI_RATE_LIMIT_CUSTOM(function, user) \
    { KI_RATE_LIMIT_CUSTOM, 0, 0, 0.0, 0, 0, (function), (user) }

/* ---- new, free ---- */

typedef struct ki_workqueue_options {
    size_t size; /* sizeof(ki_workqueue_options); set by the macro */
    /* Label `name` of the queue's metrics; UTF-8; copied. NULL or "": the queue counts keys but does not measure times,
     * which halves the cost of a key. (In client-go a queue without a name has no metrics.) */
    const char *name;
    /* 0: keys are strings. Else a key is a struct of this many bytes; keys are compared byte by byte, so zero the
     * padding. */
    size_t key_size;
    bool by_priority; /* keys leave the queue by priority, highest first; else in the order of arrival */
    /* The delay of a rate-limited key is the longest of these limits. Copied. NULL: KI_RATE_LIMIT_EXPONENTIAL(5,
     * 1000000) and KI_RATE_LIMIT_BUCKET(10, 100), as in client-go. An array with a count of 0: no delay. */
    const ki_rate_limit *rate_limits;
    size_t rate_limit_count;
    /* For programs that take keys on the loop (ki_workqueue_get with a timeout of 0). Called on the loop when the queue
     * is no longer empty, and once after the shutdown. Must not block. NULL: not called. */
    void (*on_ready)(ki_workqueue *queue, void *user) KI_NOEXCEPT;
    /* Called once on the loop after the shutdown, when no key is queued or processed. NULL: not called. */
    void (*on_drained)(ki_workqueue *queue, void *user) KI_NOEXCEPT;
    void *user; /* of on_ready and on_drained */
} ki_workqueue_options;

#define KI_WORKQUEUE_OPTIONS(...) KI_SIZED_(ki_workqueue_options, __VA_ARGS__)

/* Makes a queue. Delays are timers of `engine`: they pass only while the engine is driven. `options` may be NULL.
 * Ownership: the caller frees the queue with ki_workqueue_free before the engine. Blocks: until the loop, on another
 * thread, has finished its current callback.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_workqueue_new(ki_engine *engine, const ki_workqueue_options *options,
                                                ki_workqueue **ret_queue, ki_error *err);

/* Shuts the queue down and frees it with all its keys. NULL is accepted.
 * Threads: not while another thread uses the queue, and not in a callback of the queue. Blocks: as ki_workqueue_new. */
KI_API void ki_workqueue_free(ki_workqueue *queue);

/* ---- adding keys ---- */

/* Queues a key, unless it is queued already. The other functions that add keys have the same Ownership, Blocks and
 * Errors.
 * Ownership: the key is copied. Blocks: no.
 * Errors: KI_ERR_INVALID (a NULL or empty key), KI_ERR_LIMIT (a key longer than KI_WORKQUEUE_KEY_MAX), KI_ERR_CLOSED
 * (the queue is shut down; the key is ignored), KI_ERR_NO_MEMORY (never for a key that is queued or delayed, or that a
 * worker has). */
KI_API ki_status ki_workqueue_add(ki_workqueue *queue, const void *key);

/* Queues a key after `delay_ms`; at once if `delay_ms` is 0 or less. A key that has a delay already keeps the earlier
 * time. Without `by_priority` a key can be queued and delayed at the same time: it is processed now, and again after
 * the delay. With `by_priority` it is processed once, at the earlier time. */
KI_API ki_status ki_workqueue_add_after(ki_workqueue *queue, const void *key, int64_t delay_ms);

/* Counts a failure of the key, and queues the key after the delay of the queue's rate limits. */
KI_API ki_status ki_workqueue_add_rate_limited(ki_workqueue *queue, const void *key);

typedef struct ki_add_options {
    size_t size;       /* sizeof(ki_add_options); set by the macro */
    int priority;      /* with `by_priority`; a queued key keeps the higher priority */
    int64_t after_ms;  /* delay, as in ki_workqueue_add_after */
    bool rate_limited; /* as ki_workqueue_add_rate_limited; with a nonzero after_ms the shorter delay applies */
} ki_add_options;

#define KI_ADD_OPTIONS(...) KI_SIZED_(ki_add_options, __VA_ARGS__)

/* Adds a key with a priority, a delay, or both. `options` may be NULL. A queued key whose priority rises moves behind
 * the keys that have this priority already. A key that is added while a worker processes it gets the priority of that
 * call. */
KI_API ki_status ki_workqueue_add_with(ki_workqueue *queue, const void *key, const ki_add_options *options);

/* Resets the key's failures to 0. Call it when a key was processed successfully. Does not remove the key from the
 * queue. */
KI_API void ki_workqueue_forget(ki_workqueue *queue, const void *key);
/* Returns the number of ki_workqueue_add_rate_limited calls for the key since the last ki_workqueue_forget. */
KI_API int ki_workqueue_num_requeues(const ki_workqueue *queue, const void *key);

/* ---- processing keys ---- */

/* Takes the next key. Waits for one for at most `timeout_ms` (0: does not wait; < 0: no limit). Returns NULL after an
 * error. Keys are aligned for any type.
 * Ownership: borrowed until ki_workqueue_done. Blocks: up to `timeout_ms`.
 * Errors: KI_ERR_CLOSED (the queue is shut down and empty), KI_ERR_TIMEOUT, KI_ERR_DEADLOCK (waiting on the loop's
 * thread). */
KI_API const void *ki_workqueue_get(ki_workqueue *queue, int64_t timeout_ms, ki_error *err);

/* Ends the processing of a key from ki_workqueue_get. A key that was added meanwhile is queued now.
 * Errors: KI_ERR_INVALID (no queue), KI_ERR_NOT_FOUND (no worker processes the key). */
KI_API ki_status ki_workqueue_done(ki_workqueue *queue, const void *key);

/* Returns the priority with which a worker took the key; 0 if no worker processes the key. */
KI_API int ki_workqueue_priority(const ki_workqueue *queue, const void *key);

/* Returns the number of keys that workers can take now: without delayed keys, and without keys that are being
 * processed. Other threads may change the number at any time. */
KI_API size_t ki_workqueue_length(const ki_workqueue *queue);

/* ---- shutdown ---- */

/* Shuts the queue down: ignores new keys and drops delayed keys. Workers get the queued keys, then NULL. Ends a running
 * ki_workqueue_shut_down_with_drain. Repeatable. Blocks: no. */
KI_API void ki_workqueue_shut_down(ki_workqueue *queue);

/* Shuts the queue down, and waits until no key is queued or processed, for at most `timeout_ms` (< 0: no limit).
 * Workers still get the queued keys, also keys that were added while they were processed. (client-go's
 * ShutDownWithDrain does not wait for queued keys while no key is being processed.) Several threads may wait.
 * Blocks: yes. Errors, each after the shutdown: KI_ERR_TIMEOUT, KI_ERR_CANCELLED (ki_workqueue_shut_down was called
 * meanwhile), KI_ERR_DEADLOCK (called on the loop's thread; use on_drained there). */
KI_API KI_MUST_CHECK ki_status ki_workqueue_shut_down_with_drain(ki_workqueue *queue, int64_t timeout_ms,
                                                                 ki_error *err);

/* Returns true after a shutdown. */
KI_API bool ki_workqueue_is_shut_down(const ki_workqueue *queue);

/* ---- metrics ---- */

/* Calls `visit` for each sample of the queue's metrics, under controller-runtime's names: workqueue_depth,
 * workqueue_adds, workqueue_queue_duration_seconds, workqueue_work_duration_seconds, workqueue_unfinished_work_seconds,
 * workqueue_longest_running_processor_seconds, workqueue_retries; and workqueue_failing_keys, the keys that failed and
 * wait for a retry. ki_factory_visit_metrics includes the queues of controllers.
 * Threads: any; `visit` is called on this thread, under no lock. Blocks: no. Errors: KI_ERR_INVALID. */
KI_API KI_MUST_CHECK ki_status ki_workqueue_visit_metrics(const ki_workqueue *queue, ki_sample_visitor visit,
                                                          void *user, ki_error *err);
/* Writes these samples as OpenMetrics text that ends with "# EOF".
 * Ownership: the caller frees `*ret_text` with ki_metrics_text_free. Blocks: no. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_workqueue_metrics_text(const ki_workqueue *queue, char **ret_text, ki_error *err);

KI_END_DECLS

#endif
