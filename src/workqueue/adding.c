/* adding.c: adds keys to a work queue: at once, later, with a priority, or after the delay of the rate limits. Only
 * a key that the queue does not know needs memory: no later step can fail. */
#include "src/workqueue/parts.h"

#include "src/base/memory.h"

#include <limits.h>
#include <string.h>

/* Arguments of one add. */
typedef struct addition {
    const void *key;
    size_t key_size;
    int priority;
    int64_t delay_ns; /* 0 or less: none */
    bool is_delayed;  /* the caller gave a delay, possibly 0 */
    bool is_rate_limited;
} addition;

static ki_status measure(const ki_workqueue *queue, const void *key, size_t *ret_size) {
    if (!queue || !key)
        return KI_ERR_INVALID;
    if (ki_engine_is_forked(queue->engine))
        return KI_ERR_STATE;
    if (queue->key_size) {
        *ret_size = queue->key_size;
        return KI_OK;
    }
    size_t size = strnlen(key, KI_WORKQUEUE_KEY_MAX + 1);
    if (size == 0)
        return KI_ERR_INVALID;
    if (size > KI_WORKQUEUE_KEY_MAX)
        return KI_ERR_LIMIT;
    *ret_size = size;
    return KI_OK;
}

/* --- states (caller holds the lock) ------------------------------------------------------------------------------- */

/* Returns the item of a key, which is made if the queue does not know the key; NULL without memory. */
static ki_work_item *item_of(ki_workqueue *queue, const addition *add) {
    const ki_str key = { add->key, add->key_size };
    ki_map_slot *slot = ki_map_slot_of(&queue->items, key);
    if (!slot || slot->value)
        return slot ? slot->value : NULL;
    ki_work_item *item = ki_alloc(queue->allocator, sizeof *item + key.size + 1);
    if (!item) {
        ki_map_remove(&queue->items, key);
        return NULL;
    }
    *item = (ki_work_item){ .key_size = (uint16_t)key.size };
    memcpy(item->key, key.data, key.size);
    item->key[key.size] = '\0';
    slot->key = item->key;
    slot->value = item;
    return item;
}

static void wait_until(ki_workqueue *queue, ki_work_item *item, int64_t ready_at) {
    if (item->is_waiting && item->node.rank < ready_at)
        ready_at = item->node.rank;
    item->is_waiting = true;
    ki_heap_put(&queue->waiting, &item->node, ready_at, item->node.sequence);
    if (queue->waiting.first->rank < queue->timer_at) {
        queue->timer_at = queue->waiting.first->rank;
        queue->posts_task = true;
    }
}

/* As in client-go, a waiting key and a queued key are independent: a key can be both. */
static void put_in_order(ki_workqueue *queue, ki_work_item *item, const addition *add, int64_t now) {
    if (add->is_delayed || add->is_rate_limited)
        queue->counts.retries++;
    if (add->delay_ns <= 0) {
        ki_work_mark_dirty(queue, item, now);
        return;
    }
    item->node.sequence = queue->next_sequence++;
    wait_until(queue, item, ki_time_after(now, add->delay_ns));
}

/* As in controller-runtime, a key is either queued or waits. Adding it again keeps the earliest time and the highest
 * priority. */
static void put_by_priority(ki_workqueue *queue, ki_work_item *item, const addition *add, int64_t now) {
    bool is_new = !item->is_dirty && !item->is_waiting;
    if (add->delay_ns > 0)
        queue->counts.retries++;
    if (is_new || add->priority > item->priority) {
        if (item->is_dirty) {
            --*ki_work_depth_of(queue, item->priority);
            ++*ki_work_depth_of(queue, add->priority);
        }
        item->priority = add->priority;
        item->node.sequence = queue->next_sequence++;
        if (item->is_dirty && !item->is_processing)
            ki_heap_put(&queue->ready_heap, &item->node, -(int64_t)item->priority, item->node.sequence);
    }
    if (item->is_dirty)
        return;
    if (add->delay_ns > 0) {
        wait_until(queue, item, ki_time_after(now, add->delay_ns));
        return;
    }
    if (item->is_waiting) {
        item->is_waiting = false;
        ki_heap_remove(&queue->waiting, &item->node);
    }
    ki_work_mark_dirty(queue, item, now);
}

static void limit_rate(ki_workqueue *queue, ki_work_item *item, addition *add, int64_t now) {
    int64_t delay = ki_rate_limiter_delay(&queue->rate_limiter, item->key, item->failures, now);
    if (item->failures < INT_MAX)
        item->failures++;
    if (!add->is_delayed || delay < add->delay_ns)
        add->delay_ns = delay;
}

static ki_status add_locked(ki_workqueue *queue, addition *add, int64_t now) {
    if (queue->is_shut_down)
        return KI_ERR_CLOSED;
    ki_work_item *item = item_of(queue, add);
    if (!item)
        return KI_ERR_NO_MEMORY;
    if (add->is_rate_limited)
        limit_rate(queue, item, add, now);
    if (queue->by_priority)
        put_by_priority(queue, item, add, now);
    else
        put_in_order(queue, item, add, now);
    return KI_OK;
}

/* --- public functions --------------------------------------------------------------------------------------------- */

static ki_status add_key(ki_workqueue *queue, addition *add) {
    ki_status status = measure(queue, add->key, &add->key_size);
    if (status)
        return status;
    bool needs_time = add->delay_ns > 0 || add->is_rate_limited;
    int64_t now = needs_time ? ki_engine_now(queue->engine) : ki_work_now(queue);
    ki_mutex_lock_short(&queue->lock);
    status = add_locked(queue, add, now);
    ki_work_unlock(queue);
    return status;
}

ki_status ki_workqueue_add(ki_workqueue *queue, const void *key) {
    return add_key(queue, &(addition){ .key = key });
}

ki_status ki_workqueue_add_after(ki_workqueue *queue, const void *key, int64_t delay_ms) {
    return add_key(queue, &(addition){ .key = key, .delay_ns = ki_work_delay_ns(delay_ms), .is_delayed = true });
}

ki_status ki_workqueue_add_rate_limited(ki_workqueue *queue, const void *key) {
    return add_key(queue, &(addition){ .key = key, .is_rate_limited = true });
}

ki_status ki_workqueue_add_with(ki_workqueue *queue, const void *key, const ki_add_options *options) {
    ki_add_options given = { .size = 0 };
    if (options) {
        if (options->size == 0)
            return KI_ERR_INVALID;
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    }
    return add_key(queue, &(addition){ .key = key,
                                       .priority = given.priority,
                                       .delay_ns = ki_work_delay_ns(given.after_ms),
                                       .is_delayed = given.after_ms != 0,
                                       .is_rate_limited = given.rate_limited });
}
