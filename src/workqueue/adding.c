/* adding.c: adds keys to a work queue: at once, later, with a priority, or after the delay of the rate limits. Reserves
 * all memory that a key can need until it is processed, so that no later step can fail. */
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

/* --- memory (caller holds the lock) ------------------------------------------------------------------------------- */

/* Reserves room in the heaps for one more key. */
static ki_status reserve(ki_workqueue *queue, const addition *add) {
    ki_status status = KI_OK;
    if (queue->by_priority)
        status = ki_item_heap_reserve(&queue->ready_heap, queue->dirty_count + queue->waiting.count + 1);
    if (!status && (add->delay_ns > 0 || add->is_rate_limited))
        status = ki_item_heap_reserve(&queue->waiting, queue->waiting.count + 1);
    return status;
}

static ki_work_item *make_item(const ki_workqueue *queue, const addition *add, uint32_t hash) {
    ki_work_item *item = ki_alloc(queue->allocator, sizeof *item + add->key_size + 1);
    if (!item)
        return NULL;
    *item = (ki_work_item){ .hash = hash, .place = KI_WORK_ITEM_OUT, .key_size = (uint16_t)add->key_size };
    memcpy(item->key, add->key, add->key_size);
    item->key[add->key_size] = '\0';
    return item;
}

/* --- states (caller holds the lock) ------------------------------------------------------------------------------- */

static void wait_until(ki_workqueue *queue, ki_work_item *item, int64_t ready_at, ki_work_after *after) {
    if (!item->is_waiting) {
        item->is_waiting = true;
        ki_item_heap_push(&queue->waiting, item, ready_at, item->sequence);
    } else {
        int64_t before = ki_item_heap_rank(&queue->waiting, item);
        ki_item_heap_move(&queue->waiting, item, ready_at < before ? ready_at : before, item->sequence);
    }
    int64_t first = ki_item_heap_first(&queue->waiting)->rank;
    if (first < queue->timer_at) {
        queue->timer_at = first;
        after->post_task = true;
    }
}

/* As in client-go, a waiting key and a queued key are independent: a key can be both. */
static void put_in_order(ki_workqueue *queue, ki_work_item *item, const addition *add, int64_t now,
                         ki_work_after *after) {
    if (add->is_delayed || add->is_rate_limited)
        queue->retries++;
    if (add->delay_ns <= 0) {
        ki_work_mark_dirty(queue, item, now, after);
        return;
    }
    item->sequence = queue->next_sequence++;
    wait_until(queue, item, ki_time_after(now, add->delay_ns), after);
}

/* As in controller-runtime, a key is either queued or waits. Adding it again keeps the earliest time and the highest
 * priority. */
static void put_by_priority(ki_workqueue *queue, ki_work_item *item, const addition *add, int64_t now,
                            ki_work_after *after) {
    bool is_new = !item->is_dirty && !item->is_waiting;
    if (add->delay_ns > 0)
        queue->retries++;
    if (is_new || add->priority > item->priority) {
        if (item->is_dirty) {
            --*ki_work_depth_of(queue, item->priority);
            ++*ki_work_depth_of(queue, add->priority);
        }
        item->priority = add->priority;
        item->sequence = queue->next_sequence++;
        if (item->is_dirty && !item->is_processing)
            ki_item_heap_move(&queue->ready_heap, item, -(int64_t)item->priority, item->sequence);
    }
    if (item->is_dirty)
        return;
    if (add->delay_ns > 0) {
        wait_until(queue, item, ki_time_after(now, add->delay_ns), after);
        return;
    }
    if (item->is_waiting) {
        item->is_waiting = false;
        ki_item_heap_remove(&queue->waiting, item);
    }
    ki_work_mark_dirty(queue, item, now, after);
}

static void limit_rate(ki_workqueue *queue, ki_work_item *item, addition *add, int64_t now) {
    int64_t delay = ki_rate_limiter_delay(&queue->rate_limiter, item->key, item->failures, now);
    if (item->failures < INT_MAX)
        item->failures++;
    if (!add->is_delayed || delay < add->delay_ns)
        add->delay_ns = delay;
}

static ki_status add_locked(ki_workqueue *queue, addition *add, uint32_t hash, int64_t now, ki_work_after *after) {
    if (queue->is_shut_down)
        return KI_ERR_CLOSED;
    ki_work_item *item = ki_key_table_find(&queue->items, add->key, add->key_size, hash);
    if (reserve(queue, add))
        return KI_ERR_NO_MEMORY;
    if (!item) {
        item = make_item(queue, add, hash);
        if (!item)
            return KI_ERR_NO_MEMORY;
        ki_key_table_add(&queue->items, item);
    }
    if (add->is_rate_limited)
        limit_rate(queue, item, add, now);
    if (queue->by_priority)
        put_by_priority(queue, item, add, now, after);
    else
        put_in_order(queue, item, add, now, after);
    return KI_OK;
}

/* --- public functions --------------------------------------------------------------------------------------------- */

/* Adds a key that is ready at once. Takes the lock only to wake a thread that found the queue empty. */
static ki_status add_to_inbox(ki_workqueue *queue, const addition *add, uint32_t hash) {
    ki_work_item *item = make_item(queue, add, hash);
    if (!item)
        return KI_ERR_NO_MEMORY;
    item->added_at = ki_work_now(queue);
    bool must_empty;
    ki_status status = ki_inbox_add(&queue->inbox, item, &must_empty);
    if (status) {
        ki_free(queue->allocator, item);
    } else if (must_empty) {
        ki_work_after after = { 0 };
        ki_work_lock(queue, &after);
        ki_work_unlock(queue, &after);
    }
    return status;
}

static ki_status add_key(ki_workqueue *queue, addition *add) {
    ki_status status = measure(queue, add->key, &add->key_size);
    if (status)
        return status;
    uint32_t hash = ki_key_table_hash(&queue->items, add->key, add->key_size);
    if (queue->has_inbox && !add->is_delayed && !add->is_rate_limited)
        return add_to_inbox(queue, add, hash);
    ki_work_after after = { 0 };
    bool needs_time = add->delay_ns > 0 || add->is_rate_limited;
    int64_t now = needs_time ? ki_engine_now(queue->engine) : ki_work_now(queue);
    ki_work_lock(queue, &after);
    status = add_locked(queue, add, hash, now, &after);
    ki_work_unlock(queue, &after);
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
