/* workqueue.c: creates, shuts down, drains and frees a work queue. */
#include "controllers/workqueue/parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/base/string_view.h"

/* --- new ---------------------------------------------------------------------------------------------------------- */

/* What set_up_on_loop takes and returns. */
typedef struct loop_setup {
    ki_workqueue *queue;
    uint64_t seed;
} loop_setup;

static void set_up_on_loop(void *user) {
    loop_setup *setup = user;
    ki_workqueue *queue = setup->queue;
    KI_ON_LOOP(queue->engine);
    ki_timer_init(&queue->due.timer, queue->engine, ki_work_on_timer, queue);
    setup->seed = (uint64_t)(ki_engine_random(queue->engine) * (double)(UINT64_C(1) << 53));
}

static void tear_down_on_loop(void *user) {
    ki_workqueue *queue = user;
    KI_ON_LOOP(queue->engine);
    ki_timer_close(&queue->due.timer);
    ki_task_cancel(&queue->due.task);
}

static ki_status open_locks(ki_workqueue *queue, ki_error *err) {
    ki_status status = ki_mutex_init(&queue->lock, err);
    if (status)
        return status;
    status = ki_cond_init(&queue->threads.ready, err);
    if (status)
        goto no_ready_cond;
    status = ki_cond_init(&queue->shutdown.drained, err);
    if (!status)
        return KI_OK;
    ki_cond_destroy(&queue->threads.ready);
no_ready_cond:
    ki_mutex_destroy(&queue->lock);
    return status;
}

static void close_locks(ki_workqueue *queue) {
    ki_cond_destroy(&queue->shutdown.drained);
    ki_cond_destroy(&queue->threads.ready);
    ki_mutex_destroy(&queue->lock);
}

static ki_status read_options(ki_workqueue *queue, const ki_workqueue_options *given, ki_error *err) {
    if (given->key_size > KI_WORKQUEUE_KEY_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "keys of %zu bytes: a work queue accepts at most %d bytes",
                            given->key_size, KI_WORKQUEUE_KEY_MAX);
    if (given->name && !ki_str_is_utf8(ki_str_of(given->name)))
        return ki_error_set(err, KI_ERR_INVALID, "a work queue whose name is not UTF-8");
    queue->key_size = given->key_size;
    queue->by_priority = given->by_priority;
    queue->is_measured = given->name && given->name[0];
    queue->on_ready = given->on_ready;
    queue->on_drained = given->on_drained;
    queue->user = given->user;
    queue->name = ki_strdup(queue->allocator, given->name ? given->name : "");
    if (!queue->name)
        return ki_error_no_memory(err, "making a work queue");
    return ki_rate_limiter_init(&queue->rate_limiter, given->rate_limits, given->rate_limit_count,
                                ki_engine_now(queue->engine), err);
}

static void set_up(ki_workqueue *queue) {
    loop_setup setup = { .queue = queue };
    ki_engine_call(queue->engine, set_up_on_loop, &setup);
    ki_task_init(&queue->due.task, queue->engine, ki_work_on_loop, queue);
    ki_map_init(&queue->items, queue->allocator, setup.seed);
}

/* Frees the members of a queue that no thread uses any more, also of a partly made queue. */
static void destroy(ki_workqueue *queue) {
    ki_engine_call(queue->engine, tear_down_on_loop, queue);
    KI_ASSERT(!queue->after.freed);
    size_t cursor = 0;
    void *item;
    while (ki_map_next(&queue->items, &cursor, NULL, &item))
        ki_free(queue->allocator, item);
    ki_map_free(&queue->items);
    close_locks(queue);
    ki_free(queue->allocator, queue->name);
    ki_free(queue->allocator, queue);
}

ki_status ki_workqueue_new(ki_engine *engine, const ki_workqueue_options *options, ki_workqueue **ret_queue,
                           ki_error *err) {
    ki_workqueue_options given;
    if (!engine || !ret_queue)
        return ki_error_set(err, KI_ERR_INVALID, "ki_workqueue_new: engine or ret_queue is NULL");
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    if (KI_OPTIONS_TAKE(options, &given, "KI_WORKQUEUE_OPTIONS", err))
        return KI_ERR_INVALID;
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_workqueue *queue = ki_alloc_zero(allocator, sizeof *queue);
    if (!queue)
        return ki_error_no_memory(err, "making a work queue");
    queue->self = queue;
    queue->engine = engine;
    queue->allocator = allocator;
    queue->due.timer_at = KI_WORK_NEVER;
    ki_status status = open_locks(queue, err);
    if (status) {
        ki_free(allocator, queue);
        return status;
    }
    status = read_options(queue, &given, err);
    if (status) {
        destroy(queue);
        return status;
    }
    set_up(queue);
    *ret_queue = queue;
    return KI_OK;
}

void ki_workqueue_free(ki_workqueue *queue) {
    if (!queue || ki_engine_is_forked(queue->engine))
        return;
    ki_workqueue_shut_down(queue);
    destroy(queue);
}

/* --- shutdown ----------------------------------------------------------------------------------------------------- */

static void close_queue(ki_workqueue *queue) {
    KI_HELD(&queue->lock);
    if (queue->shutdown.is_begun)
        return;
    queue->shutdown.is_begun = true;
    queue->after.wakes_all = true;
    queue->shutdown.must_report = queue->on_ready != NULL;
    queue->after.posts_task = true; /* calls the callbacks and cancels the timer */
    ki_work_note_drained(queue);
}

void ki_workqueue_shut_down(ki_workqueue *queue) {
    if (ki_engine_is_forked(queue->engine))
        return;
    ki_mutex_lock_short(&queue->lock);
    close_queue(queue);
    queue->shutdown.count++;
    queue->after.wakes_drained = true;
    ki_work_unlock(queue);
}

/* Waits until the queue is drained, or until ki_workqueue_shut_down ends the wait (more shutdowns than `shutdowns`). */
static ki_status wait_for_drain(ki_workqueue *queue, uint64_t shutdowns, int64_t deadline, ki_error *err) {
    KI_HELD(&queue->lock);
    bool in_time = true;
    while (!ki_work_is_drained(queue)) {
        if (ki_engine_on_loop(queue->engine))
            return ki_error_set(err, KI_ERR_DEADLOCK, "draining a work queue on the loop's own thread");
        if (queue->shutdown.count != shutdowns)
            return ki_error_set(err, KI_ERR_CANCELLED, "the work queue was shut down without draining it");
        if (!in_time)
            return ki_error_set(err, KI_ERR_TIMEOUT, "%zu keys are queued and %zu are being processed",
                                queue->ready.count, queue->processing.count);
        in_time = ki_cond_wait_until(&queue->shutdown.drained, &queue->lock, deadline);
    }
    return KI_OK;
}

ki_status ki_workqueue_shut_down_with_drain(ki_workqueue *queue, int64_t timeout_ms, ki_error *err) {
    if (!queue)
        return ki_error_missing(err, "ki_workqueue_shut_down_with_drain");
    if (ki_engine_check_process(queue->engine, err))
        return KI_ERR_STATE;
    ki_mutex_lock_short(&queue->lock);
    uint64_t shutdowns = queue->shutdown.count;
    close_queue(queue);
    ki_work_unlock(queue);
    ki_mutex_lock_short(&queue->lock);
    ki_status status = wait_for_drain(queue, shutdowns, ki_time_after_ms(ki_monotonic_now(), timeout_ms), err);
    ki_mutex_unlock(&queue->lock);
    return status;
}

bool ki_workqueue_is_shut_down(const ki_workqueue *queue) {
    if (ki_engine_is_forked(queue->engine))
        return true;
    ki_mutex_lock_short(&queue->self->lock);
    bool is_shut_down = queue->shutdown.is_begun;
    ki_mutex_unlock(&queue->self->lock);
    return is_shut_down;
}
