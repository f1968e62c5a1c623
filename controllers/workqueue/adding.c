/* adding.c: adds keys to a work queue: at once, later, with a priority, or after the delay of the rate limits. Only
 * a key that the queue does not know needs memory: no later step can fail. */
#include "controllers/workqueue/parts.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/base/options.h"

#include <limits.h>
#include <string.h>

static ki_status measure(const ki_workqueue *queue, const void *key, ki_str *ret_key) {
    if (!queue || !key)
        return KI_ERR_INVALID;
    if (ki_engine_is_forked(queue->engine))
        return KI_ERR_STATE;
    if (queue->key_size) {
        *ret_key = (ki_str){ key, queue->key_size };
        return KI_OK;
    }
    size_t size = strnlen(key, KI_WORKQUEUE_KEY_MAX + 1);
    if (size == 0)
        return KI_ERR_INVALID;
    if (size > KI_WORKQUEUE_KEY_MAX)
        return KI_ERR_LIMIT;
    *ret_key = (ki_str){ key, size };
    return KI_OK;
}

/* --- states (caller holds the lock) ------------------------------------------------------------------------------- */

/* Returns the item of a key, which is made if the queue does not know the key; NULL without memory. */
static ki_work_item *item_of(ki_workqueue *queue, ki_str key) {
    KI_HELD(&queue->lock);
    ki_map_slot *slot = ki_map_slot_of(&queue->items, key);
    if (!slot)
        return NULL;
    if (slot->value) {
        ki_work_item *known = slot->value;
        KI_ASSERT(known->is_dirty || known->is_waiting || known->is_processing || known->failures > 0);
        return known;
    }
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

static void wait_until(ki_workqueue *queue, ki_work_item *item, int64_t ready_at, uint64_t sequence) {
    KI_HELD(&queue->lock);
    KI_ASSERT(item->is_waiting || !item->node.is_in);
    if (item->is_waiting && item->node.rank < ready_at)
        ready_at = item->node.rank;
    item->is_waiting = true;
    ki_heap_put(&queue->waiting, &item->node, ready_at, sequence);
    KI_ASSERT(item->node.is_in && queue->waiting.first->rank <= ready_at);
    if (queue->waiting.first->rank < queue->due.timer_at) {
        queue->due.timer_at = queue->waiting.first->rank;
        queue->after.posts_task = true;
    }
}

/* As in client-go, a waiting key and a queued key are independent: a key can be both. `is_retry`: the caller gave a
 * delay, also of 0, or asked for that of the rate limits. */
static void put_in_order(ki_workqueue *queue, ki_work_item *item, int64_t delay_ns, bool is_retry, int64_t now) {
    KI_ASSERT(!queue->by_priority && !queue->ready.heap.first);
    if (is_retry)
        queue->counts.retries++;
    if (delay_ns <= 0) {
        ki_work_mark_dirty(queue, item, now);
        return;
    }
    wait_until(queue, item, ki_time_after(now, delay_ns), queue->next_sequence++);
}

/* As in controller-runtime, a key is either queued or waits. Adding it again keeps the earliest time and the highest
 * priority. */
static void put_by_priority(ki_workqueue *queue, ki_work_item *item, int64_t delay_ns, int priority, int64_t now) {
    KI_ASSERT(queue->by_priority && queue->ready.list.count == 0);
    KI_ASSERT(!(item->is_dirty && item->is_waiting));
    bool is_new = !item->is_dirty && !item->is_waiting;
    uint64_t sequence = item->node.sequence; /* a node in a heap does not change */
    if (delay_ns > 0)
        queue->counts.retries++;
    if (is_new || priority > item->priority) {
        if (item->is_dirty) {
            --*ki_work_depth_of(queue, item->priority);
            ++*ki_work_depth_of(queue, priority);
        }
        item->priority = priority;
        sequence = queue->next_sequence++;
        if (item->is_dirty && !item->is_processing)
            ki_heap_put(&queue->ready.heap, &item->node, -(int64_t)item->priority, sequence);
        else if (!item->is_waiting)
            item->node.sequence = sequence & (UINT64_MAX >> 1);
    }
    if (item->is_dirty)
        return;
    if (delay_ns > 0) {
        wait_until(queue, item, ki_time_after(now, delay_ns), sequence);
        return;
    }
    if (item->is_waiting) {
        item->is_waiting = false;
        ki_heap_remove(&queue->waiting, &item->node);
        item->node.sequence = sequence & (UINT64_MAX >> 1);
    }
    ki_work_mark_dirty(queue, item, now);
}

/* Counts a failure of the key. Returns the delay of the rate limits. */
static int64_t count_failure(ki_workqueue *queue, ki_work_item *item, int64_t now) {
    KI_HELD(&queue->lock);
    int64_t delay_ns = ki_rate_limiter_delay(&queue->rate_limiter, item->key, item->failures, now);
    queue->counts.failing += item->failures == 0;
    if (item->failures < INT_MAX)
        item->failures++;
    return delay_ns;
}

static ki_status add_locked(ki_workqueue *queue, ki_str key, const ki_add_options *options, bool is_delayed,
                            int64_t now) {
    KI_HELD(&queue->lock);
    if (queue->shutdown.is_begun)
        return KI_ERR_CLOSED;
    ki_work_item *item = item_of(queue, key);
    if (!item)
        return KI_ERR_NO_MEMORY;
    int64_t delay_ns = options->after_ms > 0 ? ki_work_delay_ns(options->after_ms) : 0;
    if (options->rate_limited) {
        int64_t limited_ns = count_failure(queue, item, now);
        delay_ns = is_delayed && delay_ns < limited_ns ? delay_ns : limited_ns;
    }
    if (queue->by_priority)
        put_by_priority(queue, item, delay_ns, options->priority, now);
    else
        put_in_order(queue, item, delay_ns, is_delayed || options->rate_limited, now);
    return KI_OK;
}

/* --- public functions --------------------------------------------------------------------------------------------- */

/* `is_delayed`: the caller gave a delay, also of 0. */
static ki_status add_key(ki_workqueue *queue, const void *given, const ki_add_options *options, bool is_delayed) {
    ki_str key;
    ki_status status = measure(queue, given, &key);
    if (status)
        return status;
    bool needs_time = options->after_ms > 0 || options->rate_limited;
    int64_t now = needs_time ? ki_engine_now(queue->engine) : ki_work_now(queue);
    ki_mutex_lock_short(&queue->lock);
    status = add_locked(queue, key, options, is_delayed, now);
    ki_work_unlock(queue);
    return status;
}

ki_status ki_workqueue_add(ki_workqueue *queue, const void *key) {
    return add_key(queue, key, &KI_ADD_OPTIONS(.after_ms = 0), false);
}

ki_status ki_workqueue_add_after(ki_workqueue *queue, const void *key, int64_t delay_ms) {
    return add_key(queue, key, &KI_ADD_OPTIONS(.after_ms = delay_ms), true);
}

ki_status ki_workqueue_add_rate_limited(ki_workqueue *queue, const void *key) {
    return add_key(queue, key, &KI_ADD_OPTIONS(.rate_limited = true), false);
}

ki_status ki_workqueue_add_with(ki_workqueue *queue, const void *key, const ki_add_options *options) {
    ki_add_options given;
    if (KI_OPTIONS_TAKE(options, &given, "KI_ADD_OPTIONS", NULL))
        return KI_ERR_INVALID;
    return add_key(queue, key, &given, given.after_ms != 0);
}
