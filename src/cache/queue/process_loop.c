/* process_loop.c: see process_loop.h. A task pops; one timer retries after a failure, one resyncs, and one queues again
 * what has failed. */
#include "src/cache/queue/process_loop.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"

enum {
    RETRY_SLICE = 64 /* failed items that one step queues again */
};
#define RESYNC_RETRY KI_SECONDS(1) /* after a resync that failed; no period is shorter */

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
    KI_ON_LOOP(loop->options.engine);
    ki_engine *engine = loop->options.engine;
    int64_t now = ki_engine_now(engine);
    if (!ki_timer_is_set(&loop->retry_timer))
        ki_timer_set(&loop->retry_timer, now + ki_backoff_next(&loop->retry_backoff, now, ki_engine_random(engine)));
    return loop->retry_timer.node.rank - now;
}

static void retry(ki_timer *timer, void *user) {
    (void)timer;
    ki_process_loop *loop = user;
    loop->retries = loop->options.queue->failed;
    ki_process_loop_wake(loop);
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

/* What a step leads to. */
typedef enum progress {
    MORE,    /* the queue can have more */
    DRAINED, /* the queue has no item to pop */
    STUCK,   /* the first item, or what follows the last one, must be tried again */
    CLOSED   /* the queue is closed and empty */
} progress;

/* Pops once. STUCK sets `err`. */
static progress step(ki_process_loop *loop, ki_error *err) {
    KI_ON_LOOP(loop->options.engine);
    KI_ASSERT(loop->is_open);
    ki_engine *engine = loop->options.engine;
    ki_queue *queue = loop->options.queue;
    if (queue->failed || loop->retries)
        retry_some(loop);
    loop->has_failed = false;
    size_t failed = queue->failed;
    int work_left = ki_engine_work_left(engine);
    queue->slice = work_left > 0 ? (size_t)work_left : 1;
    ki_status status = queue->ops->pop(queue, process, loop, err);
    if (queue->work > 1) /* the caller counts the first unit */
        (void)ki_engine_work(engine, (int)queue->work - 1);
    if (status == KI_ERR_CLOSED && !loop->has_failed)
        return CLOSED;
    if (loop->resync_ns && !ki_timer_is_set(&loop->resync_timer) && !queue->ops->is_resyncing(queue))
        ki_timer_set(&loop->resync_timer, ki_engine_now(engine));
    if (status && loop->has_failed && !queue->stays_first) {
        report(loop, err, queue->failed > failed ? delay_retry(loop) / KI_MILLISECONDS(1) : -1);
        status = KI_OK;
    }
    bool is_empty = status == KI_ERR_NOT_FOUND && !loop->has_failed;
    if (status && !is_empty)
        return STUCK;
    /* Without the pop that finds the queue empty; a closed one says so in that pop. */
    if (!is_empty && (loop->retries || queue->is_closed || queue->ops->length(queue) > 0))
        return MORE;
    return loop->hooks->on_drained && loop->hooks->on_drained(loop->options.user, err) ? STUCK : DRAINED;
}

static void wait_and_retry(ki_process_loop *loop, const ki_error *err) {
    KI_ASSERT(err->code && !ki_timer_is_set(&loop->stuck_timer));
    ki_engine *engine = loop->options.engine;
    int64_t now = ki_engine_now(engine);
    int64_t wait = ki_backoff_next(&loop->backoff, now, ki_engine_random(engine));
    loop->is_stuck = true;
    ki_timer_set(&loop->stuck_timer, now + wait);
    if (loop->hooks->on_stuck)
        loop->hooks->on_stuck(err, wait, loop->options.user);
    else
        report(loop, err, wait / KI_MILLISECONDS(1));
}

static void run(ki_task *task, void *user) {
    ki_process_loop *loop = user;
    progress last;
    ki_error err = KI_ERROR_INIT;
    bool has_time = true;
    if (ki_timer_is_set(&loop->stuck_timer))
        return;
    do {
        last = step(loop, &err);
        if (last == MORE)
            has_time = ki_engine_work(loop->options.engine, 1);
    } while (last == MORE && has_time);
    if (last == CLOSED) {
        if (loop->hooks->on_closed)
            loop->hooks->on_closed(loop->options.user);
        return;
    }
    if (loop->hooks->on_pause)
        loop->hooks->on_pause(loop->options.user);
    if (last == STUCK) {
        wait_and_retry(loop, &err);
        return;
    }
    if (loop->is_stuck && loop->hooks->on_stuck)
        loop->hooks->on_stuck(NULL, 0, loop->options.user);
    loop->is_stuck = false;
    if (last == MORE)
        ki_task_post(task);
}

static void pop_again(ki_timer *timer, void *user) {
    (void)timer;
    ki_process_loop_wake(user);
}

static void on_ready(void *user) {
    ki_process_loop *loop = user;
    ki_task_post(&loop->task);
}

/* Which listeners need a resync is determined when it is queued, so the next one waits until this one is processed. */
static void resync(ki_timer *timer, void *user) {
    ki_process_loop *loop = user;
    const ki_process_loop_options *options = &loop->options;
    int64_t now = ki_engine_now(options->engine);
    ki_error err = KI_ERROR_INIT;
    if (options->queue->is_closed || options->queue->ops->is_resyncing(options->queue))
        return; /* a step sets the timer again */
    ki_timer_set(timer, now + loop->resync_ns);
    if (options->should_resync && !options->should_resync(options->user))
        return;
    if (options->queue->ops->resync(options->queue, &err)) {
        ki_timer_set(timer, now + RESYNC_RETRY);
        report(loop, &err, RESYNC_RETRY / KI_MILLISECONDS(1));
    } else if (loop->hooks->on_resync) {
        loop->hooks->on_resync(options->user);
    }
}

void ki_process_loop_open(ki_process_loop *loop, const ki_process_loop_options *options, int64_t resync_ns,
                          const ki_process_loop_hooks *hooks) {
    ki_engine *engine = options->engine;
    *loop = (ki_process_loop){ .options = *options, .hooks = hooks, .resync_ns = resync_ns, .is_open = true };
    ki_task_init(&loop->task, engine, run, loop);
    ki_timer_init(&loop->stuck_timer, engine, pop_again, loop);
    ki_timer_init(&loop->resync_timer, engine, resync, loop);
    ki_timer_init(&loop->retry_timer, engine, retry, loop);
    options->queue->ready = on_ready;
    options->queue->ready_user = loop;
    if (resync_ns)
        ki_timer_set(&loop->resync_timer, ki_engine_now(engine) + resync_ns);
}

void ki_process_loop_wake(ki_process_loop *loop) {
    ki_task_post(&loop->task);
}

void ki_process_loop_close(ki_process_loop *loop) {
    if (!loop->is_open)
        return;
    loop->is_open = false;
    loop->options.queue->ready = NULL;
    ki_task_cancel(&loop->task);
    ki_timer_close(&loop->stuck_timer);
    ki_timer_close(&loop->resync_timer);
    ki_timer_close(&loop->retry_timer);
}

/* ---- of a program's own ------------------------------------------------------------------------------------------ */

ki_status ki_process_loop_new(const ki_process_loop_options *options, ki_process_loop **ret_loop, ki_error *err) {
    static const ki_process_loop_hooks none = { .on_drained = NULL };
    ki_process_loop_options given;
    if (!ret_loop || !options)
        return ki_error_missing(err, "ki_process_loop_new");
    if (KI_OPTIONS_TAKE(options, &given, "KI_PROCESS_LOOP_OPTIONS", err))
        return KI_ERR_INVALID;
    if (!given.engine || !given.queue || !given.process)
        return ki_error_missing(err, "ki_process_loop_new");
    if (ki_engine_check_process(given.engine, err))
        return KI_ERR_STATE;
    const ki_allocator *allocator = ki_engine_allocator(given.engine);
    ki_process_loop *loop = ki_alloc_zero(allocator, sizeof *loop);
    if (!loop)
        return ki_error_no_memory(err, "making a process loop");
    ki_process_loop_open(loop, &given, ki_period_ns(given.resync_ms, KI_RESYNC_MIN_MS), &none);
    ki_process_loop_wake(loop);
    *ret_loop = loop;
    return KI_OK;
}

void ki_process_loop_free(ki_process_loop *loop) {
    if (!loop || ki_engine_is_forked(loop->options.engine))
        return;
    ki_process_loop_close(loop);
    ki_free(ki_engine_allocator(loop->options.engine), loop);
}
