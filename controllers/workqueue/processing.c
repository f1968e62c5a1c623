/* processing.c: hands keys to workers (get) and takes them back (done); forget, num_requeues, priority, length. */
#include "controllers/workqueue/workqueue.h"

#include "controllers/workqueue/parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"

/* Hands out a popped item. */
static void take(ki_workqueue *queue, ki_work_item *item, int64_t now) {
    KI_HELD(&queue->lock);
    KI_ASSERT(item->is_dirty && !item->is_processing);
    KI_ASSERT(queue->counts.dirty > 0);
    item->is_dirty = false;
    queue->counts.dirty--;
    if (queue->by_priority)
        --*ki_work_depth_of(queue, item->priority);
    item->is_processing = true;
    item->taken_priority = item->priority;
    item->started_at = now;
    queue->counts.started_sum += (uint64_t)now;
    ki_work_list_append(&queue->processing, item);
    if (queue->is_measured)
        ki_work_observe(&queue->counts.queue_duration, now - item->added_at);
}

static bool has_to_wait(const ki_workqueue *queue) {
    KI_HELD(&queue->lock);
    return queue->ready.count == 0 && !queue->shutdown.is_begun;
}

/* Waits for a ready key or the shutdown. The caller holds the lock, which is released during the wait. */
static ki_status wait_for_key(ki_workqueue *queue, int64_t deadline) {
    KI_HELD(&queue->lock);
    KI_ASSERT(!ki_engine_on_loop(queue->engine));
    bool in_time = true;
    while (has_to_wait(queue)) {
        if (!in_time)
            return KI_ERR_TIMEOUT;
        queue->threads.sleeping++;
        in_time = ki_cond_wait_until(&queue->threads.ready, &queue->lock, deadline);
        KI_ASSERT(queue->threads.sleeping > 0);
        queue->threads.sleeping--;
        queue->threads.is_waking = false; /* also after the deadline: at worst a thread is signalled without need */
    }
    return KI_OK;
}

const void *ki_workqueue_get(ki_workqueue *queue, int64_t timeout_ms, ki_error *err) {
    ki_status status = KI_OK;
    if (ki_engine_check_process(queue->engine, err))
        return NULL;
    int64_t now = ki_work_now(queue);
    ki_mutex_lock_short(&queue->lock);
    if (has_to_wait(queue)) {
        if (timeout_ms == 0)
            status = KI_ERR_TIMEOUT;
        else if (ki_engine_on_loop(queue->engine))
            status = KI_ERR_DEADLOCK;
        else
            status = wait_for_key(queue, ki_time_after_ms(ki_monotonic_now(), timeout_ms));
        now = ki_work_now(queue);
    }
    ki_work_item *item = status ? NULL : ki_work_pop_ready(queue);
    if (item)
        take(queue, item, now);
    else if (!status)
        status = KI_ERR_CLOSED;
    ki_work_unlock(queue);
    if (item)
        return item->key;
    ki_error_set(err, status, "%s",
                 status == KI_ERR_CLOSED     ? "the work queue is shut down"
                 : status == KI_ERR_DEADLOCK ? "waiting for a key on the loop's own thread"
                                             : "timed out waiting for a key");
    return NULL;
}

static void forget_failures(ki_workqueue *queue, ki_work_item *item) {
    KI_HELD(&queue->lock);
    KI_ASSERT(!item->failures || queue->counts.failing > 0);
    queue->counts.failing -= item->failures > 0;
    item->failures = 0;
}

ki_status ki_workqueue_finish(ki_workqueue *queue, const void *key, bool forgets) {
    if (ki_engine_is_forked(queue->engine))
        return KI_ERR_STATE;
    int64_t now = ki_work_now(queue);
    ki_mutex_lock_short(&queue->lock);
    ki_work_item *item = ki_work_find(queue, key);
    if (!item || !item->is_processing) {
        ki_work_unlock(queue);
        return KI_ERR_NOT_FOUND;
    }
    KI_ASSERT(queue->processing.count > 0);
    item->is_processing = false;
    ki_work_list_remove(&queue->processing, item);
    queue->counts.started_sum -= (uint64_t)item->started_at;
    if (queue->is_measured)
        ki_work_observe(&queue->counts.work_duration, now - item->started_at);
    if (forgets)
        forget_failures(queue, item);
    if (item->is_dirty)
        ki_work_push_ready(queue, item);
    else
        ki_work_release(queue, item);
    if (queue->shutdown.is_begun)
        ki_work_note_drained(queue);
    ki_work_unlock(queue);
    return KI_OK;
}

ki_status ki_workqueue_done(ki_workqueue *queue, const void *key) {
    return queue ? ki_workqueue_finish(queue, key, false) : KI_ERR_INVALID;
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
    ki_mutex_lock_short(&queue->self->lock);
    size_t length = queue->ready.count;
    ki_mutex_unlock(&queue->self->lock);
    return length;
}

void ki_workqueue_forget(ki_workqueue *queue, const void *key) {
    if (ki_engine_is_forked(queue->engine))
        return;
    ki_mutex_lock_short(&queue->lock);
    ki_work_item *item = ki_work_find(queue, key);
    if (item) {
        forget_failures(queue, item);
        ki_work_release(queue, item);
    }
    ki_work_unlock(queue);
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
