/* processing.c: hands keys to workers (get) and takes them back (done); forget, priority, length. */
#include "src/workqueue/parts.h"

#include "src/base/error.h"

enum {
    SPINS = 30, /* checks of the queue before a thread sleeps: about 10 microseconds in total */
    SPIN_PAUSES = 16
};

/* Hands out a popped item. The caller holds the lock. */
static void take(ki_workqueue *queue, ki_work_item *item, int64_t now) {
    item->is_dirty = false;
    queue->dirty_count--;
    if (queue->by_priority)
        --*ki_work_depth_of(queue, item->priority);
    item->is_processing = true;
    item->taken_priority = item->priority;
    item->started_at = now;
    queue->started_sum = (int64_t)((uint64_t)queue->started_sum + (uint64_t)now);
    ki_work_list_append(&queue->processing, item);
    ki_work_note_taken(queue, item);
    if (queue->is_measured)
        ki_work_observe(&queue->queue_duration, now - item->added_at);
    ki_work_trim(queue);
}

/* Caller holds the lock. */
static bool has_to_wait(const ki_workqueue *queue) {
    return queue->ready_count == 0 && !queue->is_shut_down;
}

/* Called without the lock. */
static bool is_anything_new(const ki_workqueue *queue) {
    return atomic_load_explicit(&queue->ready_count, memory_order_relaxed) > 0 || ki_inbox_has_items(&queue->inbox) ||
           atomic_load_explicit(&queue->is_shut_down, memory_order_relaxed);
}

/* Waits a few microseconds without sleeping, so that an add does not have to wake a thread. One thread at a time. The
 * caller holds the lock; spin releases it while it waits. */
static void spin(ki_workqueue *queue, ki_work_after *after) {
    if (queue->is_spinning)
        return;
    queue->is_spinning = true;
    ki_mutex_unlock(&queue->lock);
    for (int i = 0; i < SPINS && !is_anything_new(queue); i++)
        for (int pause = 0; pause < SPIN_PAUSES; pause++)
            ki_thread_pause();
    ki_work_lock(queue, after);
    queue->is_spinning = false;
}

/* Waits for a ready key or the shutdown. The caller holds the lock, which is released during the wait. */
static ki_status wait_for_key(ki_workqueue *queue, int64_t deadline, ki_work_after *after) {
    bool in_time = true;
    spin(queue, after);
    while (has_to_wait(queue)) {
        if (!in_time)
            return KI_ERR_TIMEOUT;
        queue->sleeping++;
        ki_work_request_wake(queue, after);
        if (has_to_wait(queue))
            in_time = ki_cond_wait_until(&queue->ready_cond, &queue->lock, deadline);
        queue->sleeping--;
        /* A thread that leaves counts as woken, also after its deadline: at worst a thread is signalled without
         * need. */
        if (queue->woken > 0)
            queue->woken--;
        ki_work_move_inbox(queue, ki_inbox_take(&queue->inbox), after);
    }
    return KI_OK;
}

static ki_status set_no_key_error(ki_status status, ki_error *err) {
    switch (status) {
    case KI_ERR_CLOSED:
        return ki_error_set(err, status, "the work queue is shut down");
    case KI_ERR_DEADLOCK:
        return ki_error_set(err, status, "waiting for a key on the loop's own thread");
    default:
        return ki_error_set(err, KI_ERR_TIMEOUT, "timed out waiting for a key");
    }
}

const void *ki_workqueue_get(ki_workqueue *queue, int64_t timeout_ms, ki_error *err) {
    ki_status status = KI_OK;
    if (ki_engine_check_process(queue->engine, err))
        return NULL;
    ki_work_after after = { 0 };
    int64_t now = ki_work_now(queue);
    ki_work_lock(queue, &after);
    if (has_to_wait(queue)) {
        if (timeout_ms == 0)
            status = KI_ERR_TIMEOUT;
        else if (ki_engine_on_loop(queue->engine))
            status = KI_ERR_DEADLOCK;
        else
            status = wait_for_key(queue, ki_work_deadline(timeout_ms), &after);
        now = ki_work_now(queue);
    }
    ki_work_item *item = status ? NULL : ki_work_pop_ready(queue);
    if (item)
        take(queue, item, now);
    else if (!status)
        status = KI_ERR_CLOSED;
    ki_work_unlock(queue, &after);
    if (item)
        return item->key;
    set_no_key_error(status, err);
    return NULL;
}

ki_status ki_workqueue_done(ki_workqueue *queue, const void *key) {
    if (!queue)
        return KI_ERR_INVALID;
    if (ki_engine_is_forked(queue->engine))
        return KI_ERR_STATE;
    ki_work_after after = { 0 };
    int64_t now = ki_work_now(queue);
    ki_work_lock(queue, &after);
    ki_work_item *item = ki_work_find(queue, key);
    if (!item || !item->is_processing) {
        ki_work_unlock(queue, &after);
        return KI_ERR_NOT_FOUND;
    }
    item->is_processing = false;
    ki_work_list_remove(&queue->processing, item);
    ki_work_note_done(queue, item);
    queue->started_sum = (int64_t)((uint64_t)queue->started_sum - (uint64_t)item->started_at);
    if (queue->is_measured)
        ki_work_observe(&queue->work_duration, now - item->started_at);
    if (item->is_dirty)
        ki_work_push_ready(queue, item, &after);
    else
        ki_work_release(queue, item, &after);
    ki_work_note_drained(queue, &after);
    ki_work_unlock(queue, &after);
    return KI_OK;
}

int ki_workqueue_priority(const ki_workqueue *queue, const void *key) {
    if (ki_engine_is_forked(queue->engine))
        return 0;
    ki_mutex_lock_short(&queue->self->lock);
    const ki_work_item *item = ki_work_find(queue, key);
    int priority = item && item->is_processing ? item->taken_priority : 0;
    ki_mutex_unlock(&queue->self->lock);
    return priority;
}

size_t ki_workqueue_length(const ki_workqueue *queue) {
    if (ki_engine_is_forked(queue->engine))
        return 0;
    ki_work_after after = { 0 };
    ki_work_lock(queue->self, &after);
    size_t length = queue->ready_count;
    ki_work_unlock(queue->self, &after);
    return length;
}

void ki_workqueue_forget(ki_workqueue *queue, const void *key) {
    if (ki_engine_is_forked(queue->engine))
        return;
    ki_work_after after = { 0 };
    ki_mutex_lock_short(&queue->lock);
    ki_work_item *item = ki_work_find(queue, key);
    if (item) {
        item->failures = 0;
        ki_work_release(queue, item, &after);
    }
    ki_work_unlock(queue, &after);
}

int ki_workqueue_num_requeues(const ki_workqueue *queue, const void *key) {
    if (ki_engine_is_forked(queue->engine))
        return 0;
    ki_mutex_lock_short(&queue->self->lock);
    const ki_work_item *item = ki_work_find(queue, key);
    int failures = item ? item->failures : 0;
    ki_mutex_unlock(&queue->self->lock);
    return failures;
}
