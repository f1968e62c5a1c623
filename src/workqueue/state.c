/* state.c: the state changes of a key, used by adding.c, processing.c and delays.c. The caller holds the lock. */
#include "src/workqueue/parts.h"

#include "src/base/memory.h"

#include <string.h>

int64_t ki_work_now(const ki_workqueue *queue) {
    return queue->is_measured ? ki_engine_now(queue->engine) : 0;
}

void ki_work_lock(ki_workqueue *queue, ki_work_after *after) {
    ki_mutex_lock_short(&queue->lock);
    if (ki_inbox_has_items(&queue->inbox))
        ki_work_move_inbox(queue, ki_inbox_take(&queue->inbox), after);
}

void ki_work_move_inbox(ki_workqueue *queue, ki_work_item *added, ki_work_after *after) {
    for (const ki_work_item *item = added; item; item = item->next)
        ki_key_table_prefetch(&queue->items, item->hash);
    while (added) {
        ki_work_item *item = added;
        added = added->next;
        ki_work_item *existing = ki_key_table_find(&queue->items, item->key, item->key_size, item->hash);
        if (existing) {
            item->chain = after->freed;
            after->freed = item;
        } else {
            ki_key_table_add(&queue->items, item);
            existing = item;
        }
        ki_work_mark_dirty(queue, existing, item->added_at, after);
    }
}

void ki_work_request_wake(ki_workqueue *queue, ki_work_after *after) {
    while (queue->has_inbox && queue->sleeping > 0 && queue->woken == 0 && !queue->is_spinning &&
           !ki_inbox_request_wake(&queue->inbox))
        ki_work_move_inbox(queue, ki_inbox_take(&queue->inbox), after);
}

/* Returns true if a sleeping thread must be woken. One at a time: a woken thread takes a key and wakes the next if more
 * keys are ready. */
static bool must_wake(const ki_workqueue *queue) {
    return queue->sleeping > 0 && queue->woken == 0 && queue->ready_count > (queue->is_spinning ? 1 : 0);
}

void ki_work_unlock(ki_workqueue *queue, ki_work_after *after) {
    ki_work_request_wake(queue, after);
    bool wakes = must_wake(queue);
    if (wakes)
        queue->woken++;
    ki_mutex_unlock(&queue->lock);
    /* Signals follow the unlock, so that a woken thread finds the lock free. */
    if (after->wake_all)
        ki_cond_broadcast(&queue->ready_cond);
    else if (wakes)
        ki_cond_signal(&queue->ready_cond);
    if (after->wake_drained)
        ki_cond_broadcast(&queue->drained_cond);
    if (after->post_task)
        ki_task_post(&queue->task);
    while (after->freed) {
        ki_work_item *item = after->freed;
        after->freed = item->chain;
        ki_free(queue->allocator, item);
    }
}

int64_t ki_work_deadline(int64_t timeout_ms) {
    return ki_time_after_ms(ki_monotonic_now(), timeout_ms);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

void ki_work_list_append(ki_work_list *list, ki_work_item *item) {
    item->next = NULL;
    item->previous = list->last;
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->count++;
}

void ki_work_list_remove(ki_work_list *list, ki_work_item *item) {
    if (item->previous)
        item->previous->next = item->next;
    else
        list->first = item->next;
    if (item->next)
        item->next->previous = item->previous;
    else
        list->last = item->previous;
    list->count--;
}

/* --- ready keys --------------------------------------------------------------------------------------------------- */

static void set_ready_count(ki_workqueue *queue, size_t count) {
    atomic_store_explicit(&queue->ready_count, count, memory_order_relaxed);
}

void ki_work_push_ready(ki_workqueue *queue, ki_work_item *item, ki_work_after *after) {
    if (queue->ready_count == 0 && queue->on_ready) {
        queue->must_report_ready = true;
        after->post_task = true;
    }
    if (queue->by_priority)
        ki_item_heap_push(&queue->ready_heap, item, -(int64_t)item->priority, item->sequence);
    else
        ki_work_list_append(&queue->ready, item);
    set_ready_count(queue, queue->ready_count + 1);
}

/* Prefetches the next key: with many keys, neither the item nor its bucket is in a CPU cache. */
static void prefetch_next(const ki_workqueue *queue) {
    const ki_work_item *next = queue->ready.first;
    if (!next)
        return;
    ki_key_table_prefetch(&queue->items, next->hash);
    if (next->next)
        __builtin_prefetch(next->next);
}

ki_work_item *ki_work_pop_ready(ki_workqueue *queue) {
    if (queue->ready_count == 0)
        return NULL;
    set_ready_count(queue, queue->ready_count - 1);
    ki_work_item *item;
    if (queue->by_priority) {
        item = ki_item_heap_first(&queue->ready_heap)->item;
        ki_item_heap_remove(&queue->ready_heap, item);
    } else {
        item = queue->ready.first;
        ki_work_list_remove(&queue->ready, item);
        prefetch_next(queue);
    }
    return item;
}

void ki_work_mark_dirty(ki_workqueue *queue, ki_work_item *item, int64_t now, ki_work_after *after) {
    if (item->is_dirty)
        return;
    item->is_dirty = true;
    item->added_at = now;
    queue->dirty_count++;
    queue->adds++;
    if (queue->by_priority)
        ++*ki_work_depth_of(queue, item->priority);
    if (!item->is_processing)
        ki_work_push_ready(queue, item, after);
}

/* --- items -------------------------------------------------------------------------------------------------------- */

static size_t taken_place(const void *key) {
    return (uintptr_t)key / sizeof(ki_work_item) % KI_WORK_TAKEN;
}

void ki_work_note_taken(ki_workqueue *queue, ki_work_item *item) {
    queue->taken[taken_place(item->key)] = item;
}

void ki_work_note_done(ki_workqueue *queue, const ki_work_item *item) {
    ki_work_item **place = &queue->taken[taken_place(item->key)];
    if (*place == item)
        *place = NULL;
}

ki_work_item *ki_work_find(const ki_workqueue *queue, const void *key) {
    if (!key)
        return NULL;
    ki_work_item *taken = queue->taken[taken_place(key)];
    if (taken && taken->key == key)
        return taken;
    size_t size = queue->key_size ? queue->key_size : strlen(key);
    if (size > KI_WORKQUEUE_KEY_MAX)
        return NULL;
    return ki_key_table_find(&queue->items, key, size, ki_key_table_hash(&queue->items, key, size));
}

void ki_work_release(ki_workqueue *queue, ki_work_item *item, ki_work_after *after) {
    if (item->is_dirty || item->is_waiting || item->is_processing || item->failures > 0)
        return;
    ki_key_table_remove(&queue->items, item);
    item->chain = after->freed;
    after->freed = item;
}

void ki_work_trim(ki_workqueue *queue) {
    size_t waiting = queue->waiting.count;
    ki_item_heap_trim(&queue->waiting, waiting);
    if (queue->by_priority)
        ki_item_heap_trim(&queue->ready_heap, queue->dirty_count + waiting);
}

/* --- drained ------------------------------------------------------------------------------------------------------ */

bool ki_work_is_drained(const ki_workqueue *queue) {
    return queue->is_shut_down && queue->processing.count == 0 && queue->dirty_count == 0;
}

void ki_work_note_drained(ki_workqueue *queue, ki_work_after *after) {
    if (!ki_work_is_drained(queue))
        return;
    after->wake_drained = queue->draining > 0;
    if (queue->on_drained && !queue->has_reported_drained)
        after->post_task = true;
}
