/* process_loop.c: a process loop of the program's own, without an informer: the functions of
 * <kinformer/parts/process_loop.h>. An informer has a step of its own (process_item.c). */
#include <kinformer/parts/process_loop.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/shared_informer.h"
#include "src/cache/informer/step_loop.h"
#include "src/cache/queue/queue.h"

#include <string.h>

enum {
    RETRY_SLICE = 64 /* failed items that one step queues again */
};

struct ki_process_loop {
    /* Constant. */
    ki_process_loop_options options;
    int64_t resync_ns; /* 0: none */
    /* Loop. */
    ki_step_loop steps;
    ki_timer resync_timer;
    ki_timer retry_timer;     /* the failed items are queued again */
    int64_t retry_at;         /* its time */
    ki_backoff retry_backoff; /* of this timer */
    size_t retries;           /* failed items that the next steps queue again */
    bool has_failed;          /* the last call of `process` */
};

static void report(const ki_process_loop *loop, const ki_error *err, int64_t retry_ms) {
    if (loop->options.on_error)
        loop->options.on_error(err, retry_ms, loop->options.user);
}

static ki_status process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    ki_process_loop *loop = user;
    ki_status status = loop->options.process(deltas, loop->options.user, ret_requeue, err);
    if (status && err->code == KI_OK) /* the program did not say why */
        ki_error_set(err, status, "processing a change: %s", ki_status_name(status));
    loop->has_failed = status != KI_OK;
    return status;
}

/* Returns the delay before the failed items are queued again. */
static int64_t delay_retry(ki_process_loop *loop) {
    ki_engine *engine = loop->options.engine;
    int64_t now = ki_engine_now(engine);
    if (!ki_timer_is_set(&loop->retry_timer)) {
        loop->retry_at = now + ki_backoff_next(&loop->retry_backoff, now, ki_engine_random(engine));
        ki_timer_set(&loop->retry_timer, loop->retry_at);
    }
    return loop->retry_at - now;
}

static void retry(ki_timer *timer, void *user) {
    (void)timer;
    ki_process_loop *loop = user;
    loop->retries = loop->options.queue->failed;
    ki_step_loop_wake(&loop->steps);
}

/* Queues a slice of the failed items again. What could not be queued waits for the next delay. */
static void retry_some(ki_process_loop *loop) {
    ki_queue *queue = loop->options.queue;
    size_t max = loop->retries < RETRY_SLICE ? loop->retries : RETRY_SLICE;
    size_t done = max ? queue->ops->retry(queue, max) : 0;
    loop->retries = done < max ? 0 : loop->retries - done;
    (void)ki_engine_work(loop->options.engine, (int)done);
    if (queue->failed && !loop->retries)
        (void)delay_retry(loop);
}

static ki_status step(void *user, ki_error *err) {
    ki_process_loop *loop = user;
    ki_queue *queue = loop->options.queue;
    retry_some(loop);
    loop->has_failed = false;
    size_t failed = queue->failed;
    ki_status status = ki_queue_pop_bounded(queue, loop->options.engine, process, loop, err);
    if (!status || !loop->has_failed || queue->stays_first)
        return status;
    report(loop, err, queue->failed > failed ? delay_retry(loop) / KI_MILLISECONDS(1) : -1);
    return KI_OK;
}

static void on_stuck(const ki_error *err, int64_t retry_ns, void *user) {
    if (err)
        report(user, err, retry_ns / KI_MILLISECONDS(1));
}

static void on_ready(void *user) {
    ki_process_loop *loop = user;
    ki_step_loop_wake(&loop->steps);
}

static void resync(ki_timer *timer, void *user) {
    ki_process_loop *loop = user;
    const ki_process_loop_options *options = &loop->options;
    ki_queue *queue = options->queue;
    ki_error err = KI_ERROR_INIT;
    ki_timer_set(timer, ki_engine_now(options->engine) + loop->resync_ns);
    if (queue->ops->is_resyncing(queue) || (options->should_resync && !options->should_resync(options->user)))
        return;
    if (queue->ops->resync(queue, &err))
        report(loop, &err, loop->resync_ns / KI_MILLISECONDS(1));
}

static void open_loop(ki_process_loop *loop) {
    ki_engine *engine = loop->options.engine;
    const ki_step_loop_options steps = { .engine = engine, .step = step, .on_stuck = on_stuck, .user = loop };
    ki_step_loop_open(&loop->steps, &steps);
    ki_timer_init(&loop->resync_timer, engine, resync, loop);
    ki_timer_init(&loop->retry_timer, engine, retry, loop);
    loop->options.queue->ready = on_ready;
    loop->options.queue->ready_user = loop;
    ki_step_loop_wake(&loop->steps);
    if (loop->resync_ns)
        ki_timer_set(&loop->resync_timer, ki_engine_now(engine) + loop->resync_ns);
}

ki_status ki_process_loop_new(const ki_process_loop_options *options, ki_process_loop **ret_loop, ki_error *err) {
    ki_process_loop_options given = { .size = sizeof given };
    if (!ret_loop || !options)
        return ki_error_missing(err, "ki_process_loop_new");
    if (options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID,
                            "ki_process_loop_options without a size: use KI_PROCESS_LOOP_OPTIONS()");
    memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    if (!given.engine || !given.queue || !given.process)
        return ki_error_missing(err, "ki_process_loop_new");
    if (ki_engine_check_process(given.engine, err))
        return KI_ERR_STATE;
    const ki_allocator *allocator = ki_engine_allocator(given.engine);
    ki_process_loop *loop = ki_alloc_zero(allocator, sizeof *loop);
    if (!loop)
        return ki_error_no_memory(err, "making a process loop");
    loop->options = given;
    loop->resync_ns = ki_period_ns(given.resync_ms, KI_RESYNC_MIN_MS);
    open_loop(loop);
    *ret_loop = loop;
    return KI_OK;
}

void ki_process_loop_free(ki_process_loop *loop) {
    if (!loop || ki_engine_is_forked(loop->options.engine))
        return;
    loop->options.queue->ready = NULL;
    ki_step_loop_close(&loop->steps);
    ki_timer_close(&loop->resync_timer);
    ki_timer_close(&loop->retry_timer);
    ki_free(ki_engine_allocator(loop->options.engine), loop);
}
