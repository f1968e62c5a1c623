/* delays.c: a work queue's work on the loop: makes due keys ready, sets the timer to the next time, calls the program's
 * callbacks. */
#include "controllers/workqueue/parts.h"

#include "controllers/workqueue/workqueue.h"
#include "src/base/assert.h"

enum {
    SLICE = 64, /* keys that become ready under one hold of the lock */
    UNITS = 2   /* work units per key: with a million keys one costs as much as two handler calls */
};

/* Makes up to `most` due keys ready and returns their number. */
static int make_ready(ki_workqueue *queue, int64_t now, int most) {
    KI_HELD(&queue->lock);
    int made = 0;
    for (; made < most; made++) {
        ki_heap_node *first = queue->waiting.first;
        if (!first || first->rank > now)
            break;
        ki_work_item *item = (ki_work_item *)(void *)first; /* the node is the first member */
        KI_ASSERT(item->is_waiting);
        ki_heap_remove(&queue->waiting, first);
        item->is_waiting = false;
        item->node.sequence = queue->next_sequence++;
        ki_work_mark_dirty(queue, item, now);
    }
    return made;
}

/* Returns true once no key is due, false if the step has no work left. */
static bool make_slices_ready(ki_workqueue *queue, int64_t now) {
    for (;;) {
        ki_mutex_lock_short(&queue->lock);
        /* After a shutdown no key becomes ready. */
        int made = queue->shutdown.is_begun ? 0 : make_ready(queue, now, SLICE);
        ki_work_unlock(queue);
        if (made < SLICE)
            return true;
        if (!ki_engine_work(queue->engine, made * UNITS))
            return false;
    }
}

void ki_work_on_loop(ki_task *task, void *user) {
    ki_workqueue *queue = user;
    KI_ON_LOOP(queue->engine);
    KI_ASSERT(task == &queue->due.task);
    bool is_done = make_slices_ready(queue, ki_engine_now(queue->engine));
    ki_mutex_lock_short(&queue->lock);
    const ki_heap_node *first = queue->shutdown.is_begun ? NULL : queue->waiting.first;
    int64_t at = first ? first->rank : KI_WORK_NEVER;
    if (is_done)
        queue->due.timer_at = at;
    bool is_ready = queue->shutdown.must_report || (queue->must_report_ready && queue->ready.count > 0);
    queue->must_report_ready = queue->shutdown.must_report = false;
    bool is_drained = !queue->shutdown.has_reported && ki_work_is_drained(queue);
    queue->shutdown.has_reported |= is_drained;
    ki_mutex_unlock(&queue->lock);
    if (!is_done)
        ki_task_post(task);
    else if (at == KI_WORK_NEVER)
        ki_timer_cancel(&queue->due.timer);
    else
        ki_timer_set(&queue->due.timer, at);
    if (is_ready && queue->on_ready)
        queue->on_ready(queue, queue->user);
    if (is_drained && queue->on_drained)
        queue->on_drained(queue, queue->user);
}

void ki_workqueue_forget_on_ready(ki_workqueue *queue) {
    KI_ON_LOOP(queue->engine);
    ki_mutex_lock_short(&queue->lock);
    queue->on_ready = NULL;
    ki_mutex_unlock(&queue->lock);
}

void ki_work_on_timer(ki_timer *timer, void *user) {
    ki_workqueue *queue = user;
    (void)timer;
    ki_work_on_loop(&queue->due.task, queue);
}
