/* state.c: the steps from one state of a key to the next, which adding, processing and delays are made of. The caller holds the lock. */
#include "src/workqueue/parts.h"

#include "src/base/memory.h"

#include <string.h>

void ki_work_unlock(ki_workqueue *queue, const ki_work_after *after) {
    ki_mutex_unlock(&queue->lock);
    /* Signals come after the unlock: a thread that wakes up finds the lock free. */
    if (after->wake_all)
        ki_cond_broadcast(&queue->ready_cond);
    else
        for (size_t i = 0; i < after->wakes; i++)
            ki_cond_signal(&queue->ready_cond);
    if (after->wake_drained)
        ki_cond_broadcast(&queue->drained_cond);
    if (after->post_task)
        ki_task_post(&queue->task);
    if (queue->has_library)
        ki_work_tell_library(queue, after);
    ki_free(queue->allocator, after->freed);
}

int64_t ki_work_deadline(int64_t timeout_ms) {
    if (timeout_ms < 0)
        return INT64_MAX;
    int64_t now = ki_monotonic_now(), timeout = ki_work_delay_ns(timeout_ms);
    return timeout < INT64_MAX - now ? now + timeout : INT64_MAX;
}

/* --- lists ----------------------------------------------------------------------------------------------------------------------- */

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

/* --- ready keys ------------------------------------------------------------------------------------------------------------------ */

size_t ki_work_ready_count(const ki_workqueue *queue) {
    return queue->by_priority ? queue->ready_heap.count : queue->ready.count;
}

void ki_work_push_ready(ki_workqueue *queue, ki_work_item *item, ki_work_after *after) {
    if (ki_work_ready_count(queue) == 0 && queue->on_ready) {
        queue->has_to_tell_ready = true;
        after->post_task = true;
    }
    if (queue->by_priority)
        ki_item_heap_push(&queue->ready_heap, item, -(int64_t)item->priority, item->sequence);
    else
        ki_work_list_append(&queue->ready, item);
    if (queue->sleeping > queue->woken) {
        queue->woken++;
        after->wakes++;
    }
}

ki_work_item *ki_work_pop_ready(ki_workqueue *queue) {
    if (queue->by_priority) {
        const ki_item_slot *first = ki_item_heap_first(&queue->ready_heap);
        if (!first)
            return NULL;
        ki_work_item *item = first->item;
        ki_item_heap_remove(&queue->ready_heap, item);
        return item;
    }
    ki_work_item *item = queue->ready.first;
    if (item)
        ki_work_list_remove(&queue->ready, item);
    return item;
}

void ki_work_mark_dirty(ki_workqueue *queue, ki_work_item *item, int64_t now, ki_work_after *after) {
    if (item->is_dirty)
        return;
    item->is_dirty = true;
    item->added_at = now;
    queue->dirty_count++;
    queue->adds++;
    after->adds++;
    if (!item->is_processing)
        ki_work_push_ready(queue, item, after);
}

/* --- items ----------------------------------------------------------------------------------------------------------------------- */

ki_work_item *ki_work_find(const ki_workqueue *queue, const void *key) {
    if (!key)
        return NULL;
    size_t size = queue->key_size ? queue->key_size : strlen(key);
    if (size > KI_WORKQUEUE_KEY_MAX)
        return NULL;
    return ki_key_table_find(&queue->items, key, size, ki_key_table_hash(&queue->items, key, size));
}

void ki_work_release(ki_workqueue *queue, ki_work_item *item, ki_work_after *after) {
    if (item->is_dirty || item->is_waiting || item->is_processing || item->failures > 0)
        return;
    ki_key_table_remove(&queue->items, item);
    after->freed = item;
}

void ki_work_trim(ki_workqueue *queue) {
    size_t waiting = queue->waiting.count;
    ki_item_heap_trim(&queue->waiting, waiting);
    if (queue->by_priority)
        ki_item_heap_trim(&queue->ready_heap, queue->dirty_count + waiting);
}

/* --- the end ----------------------------------------------------------------------------------------------------------------------- */

bool ki_work_is_drained(const ki_workqueue *queue) {
    return queue->is_shut_down && queue->processing.count == 0 && queue->dirty_count == 0;
}

void ki_work_note_drained(ki_workqueue *queue, ki_work_after *after) {
    if (!ki_work_is_drained(queue))
        return;
    after->wake_drained = queue->draining > 0;
    if (queue->on_drained && !queue->has_told_drained)
        after->post_task = true;
}
