/* parts.h: a work queue's members and internal functions, for the files of this folder only. */
#ifndef KI_WORKQUEUE_PARTS_H
#define KI_WORKQUEUE_PARTS_H

#include <kinformer/workqueue.h>

#include "src/base/metrics.h"
#include "src/engine/engine.h"
#include "src/engine/thread.h"
#include "src/workqueue/inbox.h"
#include "src/workqueue/item_heap.h"
#include "src/workqueue/key_table.h"
#include "src/workqueue/rate_limiter.h"

#include <stdatomic.h>

#define KI_WORK_NEVER INT64_MAX

enum {
    KI_WORK_TAKEN = 64,     /* size of `taken`; a power of two */
    KI_WORK_PRIORITIES = 25 /* as in controller-runtime: priorities whose depths are counted one by one */
};

/* The queued keys of one priority. */
typedef struct ki_work_depth {
    int priority;
    size_t count;
} ki_work_depth;

typedef struct ki_work_list {
    ki_work_item *first, *last;
    size_t count;
} ki_work_list;

struct ki_workqueue {
    /* Constant after new. */
    ki_workqueue *self; /* for functions with a const queue that lock */
    ki_engine *engine;
    const ki_allocator *allocator;
    char *name;
    size_t key_size; /* 0: strings */
    bool by_priority;
    bool is_measured; /* durations are measured: the queue has a name */
    bool has_inbox;
    void (*on_ready)(ki_workqueue *queue, void *user);
    void (*on_drained)(ki_workqueue *queue, void *user);
    void *user;

    /* Loop only. */
    ki_timer timer;

    ki_task task; /* ki_work_on_loop; any thread posts it */
    ki_cond ready_cond;
    ki_cond drained_cond;
    ki_inbox inbox; /* any thread */

    /* Under `lock`. */
    ki_mutex lock;
    ki_key_table items;
    ki_rate_limiter rate_limiter;
    uint64_t next_sequence;

    ki_work_list ready;                 /* keys that can be taken, without by_priority */
    ki_item_heap ready_heap;            /* keys that can be taken, with by_priority; rank: -priority */
    ki_item_heap waiting;               /* rank: the time at which the key becomes ready */
    ki_work_list processing;            /* oldest `started_at` first */
    _Atomic size_t ready_count;         /* read without the lock by a spinning thread */
    ki_work_item *taken[KI_WORK_TAKEN]; /* some of the keys being processed, by the key's address */
    size_t dirty_count;
    int64_t timer_at; /* the time that the timer has, or that the posted task will set; KI_WORK_NEVER: none */

    size_t sleeping;  /* threads that wait for ready_cond */
    size_t woken;     /* sleeping threads that were signalled and have not left the wait yet */
    bool is_spinning; /* a thread waits without sleeping */
    size_t draining;  /* threads that wait for drained_cond */
    _Atomic bool is_shut_down;
    bool has_reported_drained;
    bool must_report_ready;
    bool must_report_closed;
    uint64_t shutdowns; /* calls of ki_workqueue_shut_down; each ends all drains */

    uint64_t adds, retries;
    ki_histogram queue_duration, work_duration;
    int64_t started_sum; /* sum of started_at of all keys being processed; wraps around */
    /* With by_priority: `dirty_count` by priority. Priorities that once had a key stay; the last place has all that
     * came too late for a place. */
    ki_work_depth depths[KI_WORK_PRIORITIES + 1];
    size_t depth_count;
};

/* Actions of a function that follow the unlock. Zero at first. */
typedef struct ki_work_after {
    bool wake_all;
    bool wake_drained;
    bool post_task;
    ki_work_item *freed; /* linked by `chain` */
} ki_work_after;

/* Returns the engine's time if the queue is measured; else 0, since the clock costs as much as the rest of the
 * operation. */
int64_t ki_work_now(const ki_workqueue *queue);
/* Locks the queue and empties its inbox. */
void ki_work_lock(ki_workqueue *queue, ki_work_after *after);
/* Unlocks the queue and does the actions in `after`. */
void ki_work_unlock(ki_workqueue *queue, ki_work_after *after);

/* The caller of the functions below holds the lock. */

/* Moves items of the inbox into the queue. */
void ki_work_move_inbox(ki_workqueue *queue, ki_work_item *added, ki_work_after *after);
/* Marks the inbox if threads sleep and none of them is woken, so that the next add wakes one. */
void ki_work_request_wake(ki_workqueue *queue, ki_work_after *after);
/* Returns the item of a key; NULL if there is none. */
ki_work_item *ki_work_find(const ki_workqueue *queue, const void *key);
/* Records that a worker has an item, or has returned the item. ki_work_find then finds the item by the address of its
 * key. */
void ki_work_note_taken(ki_workqueue *queue, ki_work_item *item);
void ki_work_note_done(ki_workqueue *queue, const ki_work_item *item);
/* Marks an item dirty; does nothing if it is dirty. The item becomes ready at once unless it is being processed. The
 * caller has reserved room in the heap. */
void ki_work_mark_dirty(ki_workqueue *queue, ki_work_item *item, int64_t now, ki_work_after *after);
/* Makes a dirty item ready. */
void ki_work_push_ready(ki_workqueue *queue, ki_work_item *item, ki_work_after *after);
/* Removes the first ready item from its list or heap and returns it; NULL if there is none. */
ki_work_item *ki_work_pop_ready(ki_workqueue *queue);
/* Removes an item from the table if nothing keeps it; ki_work_unlock frees the item. */
void ki_work_release(ki_workqueue *queue, ki_work_item *item, ki_work_after *after);
/* Returns true if the queue is shut down and no key is queued or being processed. */
bool ki_work_is_drained(const ki_workqueue *queue);
/* Wakes the threads that wait for the drain if the queue is drained. */
void ki_work_note_drained(ki_workqueue *queue, ki_work_after *after);
/* Frees chunks of the heaps that are not needed any more. */
void ki_work_trim(ki_workqueue *queue);

void ki_work_list_append(ki_work_list *list, ki_work_item *item);
void ki_work_list_remove(ki_work_list *list, ki_work_item *item);

/* Loop only, without the lock: makes due keys ready, sets the timer, calls the program's callbacks. */
void ki_work_on_loop(ki_task *task, void *user);
void ki_work_on_timer(ki_timer *timer, void *user);

/* Returns the time `timeout_ms` from now on CLOCK_MONOTONIC; INT64_MAX if `timeout_ms` is negative. */
int64_t ki_work_deadline(int64_t timeout_ms);

/* metrics.c. The caller holds the lock. */

/* Adds a duration to `queue_duration` or `work_duration`. */
void ki_work_observe(ki_histogram *durations, int64_t duration_ns);
/* Returns the place of `depths` that counts the keys of a priority. */
size_t *ki_work_depth_of(ki_workqueue *queue, int priority);

#endif
