/* state.c: the state changes of a key, used by adding.c, processing.c and delays.c. The caller holds the lock. */
#include "controllers/workqueue/parts.h"

#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/memory.h"

#include <string.h>

enum {
    LOOKS = 8 /* keys being processed that are compared by address */
};

int64_t ki_work_now(const ki_workqueue *queue) {
    return queue->is_measured ? ki_engine_now(queue->engine) : 0;
}

/* Wakes one sleeping thread at a time: a woken thread takes a key and wakes the next if more keys are ready. */
void ki_work_unlock(ki_workqueue *queue) {
    KI_HELD(&queue->lock);
    bool wakes_all = queue->after.wakes_all, wakes_drained = queue->after.wakes_drained,
         posts_task = queue->after.posts_task;
    ki_work_item *freed = queue->after.freed;
    bool wakes = queue->ready.count > 0 && queue->threads.sleeping > 0 && !queue->threads.is_waking;
    queue->threads.is_waking |= wakes;
    queue->after.wakes_all = queue->after.wakes_drained = queue->after.posts_task = false;
    queue->after.freed = NULL;
    ki_mutex_unlock(&queue->lock);
    /* Signals follow the unlock, so that a woken thread finds the lock free. */
    if (wakes_all)
        ki_cond_broadcast(&queue->threads.ready);
    else if (wakes)
        ki_cond_signal(&queue->threads.ready);
    if (wakes_drained)
        ki_cond_broadcast(&queue->shutdown.drained);
    if (posts_task)
        ki_task_post(&queue->due.task);
    ki_free(queue->allocator, freed);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

void ki_work_list_append(ki_work_list *list, ki_work_item *item) {
    KI_LIST_APPEND(list->first, item);
    list->count++;
}

void ki_work_list_remove(ki_work_list *list, ki_work_item *item) {
    KI_ASSERT(list->count > 0);
    KI_LIST_REMOVE(list->first, item);
    list->count--;
    KI_ASSERT((list->first != NULL) == (list->count > 0));
}

/* --- counts ------------------------------------------------------------------------------------------------------- */

size_t *ki_work_depth_of(ki_workqueue *queue, int priority) {
    KI_HELD(&queue->lock);
    KI_ASSERT(queue->by_priority && queue->counts.depth_count <= KI_WORK_PRIORITIES + 1);
    ki_work_depth *depths = queue->counts.depths;
    size_t at = 0;
    while (at < queue->counts.depth_count && at < KI_WORK_PRIORITIES && depths[at].priority != priority)
        at++;
    if (at == queue->counts.depth_count)
        depths[queue->counts.depth_count++].priority = priority;
    return &depths[at].count;
}

/* --- what must hold ----------------------------------------------------------------------------------------------- */

/* Do the states of an item agree with each other, and with the counts of the queue? */
static bool is_legal(const ki_workqueue *queue, const ki_work_item *item) {
    bool is_exclusive = !queue->by_priority || !(item->is_dirty && item->is_waiting);
    return is_exclusive && item->failures >= 0 && (!item->is_dirty || queue->counts.dirty > 0) &&
           (!item->is_processing || queue->processing.count > 0) && (!item->is_waiting || queue->waiting.first) &&
           queue->ready.count <= queue->counts.dirty;
}

/* --- ready keys --------------------------------------------------------------------------------------------------- */

void ki_work_push_ready(ki_workqueue *queue, ki_work_item *item) {
    KI_HELD(&queue->lock);
    KI_ASSERT(item->is_dirty && !item->is_processing);
    KI_ASSERT(!queue->by_priority || !item->node.is_in);
    if (queue->ready.count++ == 0 && queue->on_ready)
        queue->must_report_ready = queue->after.posts_task = true;
    if (queue->by_priority)
        ki_heap_put(&queue->ready.heap, &item->node, -(int64_t)item->priority, item->node.sequence);
    else
        ki_work_list_append(&queue->ready.list, item);
    KI_ASSERT(queue->by_priority || queue->ready.count == queue->ready.list.count);
    KI_ASSERT(queue->ready.count <= queue->counts.dirty);
}

ki_work_item *ki_work_pop_ready(ki_workqueue *queue) {
    KI_HELD(&queue->lock);
    KI_ASSERT(queue->by_priority ? (queue->ready.count > 0) == (queue->ready.heap.first != NULL)
                                 : queue->ready.count == queue->ready.list.count);
    if (queue->ready.count == 0)
        return NULL;
    queue->ready.count--;
    ki_work_item *item = queue->ready.list.first;
    if (queue->by_priority) {
        item = (ki_work_item *)(void *)queue->ready.heap.first; /* the node is the first member */
        ki_heap_remove(&queue->ready.heap, &item->node);
    } else {
        ki_work_list_remove(&queue->ready.list, item);
    }
    KI_ASSERT(item->is_dirty && !item->is_processing);
    return item;
}

void ki_work_mark_dirty(ki_workqueue *queue, ki_work_item *item, int64_t now) {
    KI_HELD(&queue->lock);
    if (item->is_dirty)
        return;
    item->is_dirty = true;
    item->added_at = now;
    queue->counts.dirty++;
    queue->counts.adds++;
    if (queue->by_priority)
        ++*ki_work_depth_of(queue, item->priority);
    if (!item->is_processing)
        ki_work_push_ready(queue, item);
    KI_ASSERT(is_legal(queue, item));
}

/* --- items -------------------------------------------------------------------------------------------------------- */

ki_work_item *ki_work_find(const ki_workqueue *queue, const void *key) {
    KI_HELD(&queue->lock);
    if (!key)
        return NULL;
    /* A worker gives back the pointer that it got. */
    int looks = 0;
    for (ki_work_item *item = queue->processing.first; item && looks < LOOKS; item = item->next, looks++)
        if (item->key == key)
            return item;
    return ki_map_get(&queue->items, (ki_str){ key, queue->key_size ? queue->key_size : strlen(key) });
}

void ki_work_release(ki_workqueue *queue, ki_work_item *item) {
    KI_HELD(&queue->lock);
    KI_ASSERT(is_legal(queue, item));
    if (item->is_dirty || item->is_waiting || item->is_processing || item->failures > 0)
        return;
    const void *removed = ki_map_remove(&queue->items, (ki_str){ item->key, item->key_size });
    KI_ASSERT(removed == item && !queue->after.freed);
    (void)removed;
    KI_ASSERT(!item->node.is_in);
    queue->after.freed = item;
}

/* --- drained ------------------------------------------------------------------------------------------------------ */

bool ki_work_is_drained(const ki_workqueue *queue) {
    KI_HELD(&queue->lock);
    return queue->shutdown.is_begun && queue->processing.count == 0 && queue->counts.dirty == 0;
}

void ki_work_note_drained(ki_workqueue *queue) {
    KI_HELD(&queue->lock);
    if (!ki_work_is_drained(queue))
        return;
    queue->after.wakes_drained = true;
    if (queue->on_drained && !queue->shutdown.has_reported)
        queue->after.posts_task = true;
}
