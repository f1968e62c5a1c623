/* parts.h: a work queue's members and internal functions, for the files of this folder only. */
#ifndef KI_WORKQUEUE_PARTS_H
#define KI_WORKQUEUE_PARTS_H

#include <kinformer-controllers/workqueue.h>

#include "controllers/workqueue/rate_limiter.h"
#include "src/base/heap.h"
#include "src/base/map.h"
#include "src/base/metrics.h"
#include "src/engine/engine.h"
#include "src/engine/thread.h"

#define KI_WORK_NEVER INT64_MAX

enum {
    KI_WORK_PRIORITIES = 25 /* as in controller-runtime: priorities whose depths are counted one by one */
};

/* The queued keys of one priority. */
typedef struct ki_work_depth {
    int priority;
    size_t count;
} ki_work_depth;

/* What the metrics show. */
typedef struct ki_work_counts {
    uint64_t adds, retries;
    size_t failing; /* keys with failures */
    size_t dirty;   /* dirty keys, also those that a worker has and that were added again */
    ki_histogram queue_duration, work_duration;
    uint64_t started_sum; /* sum of started_at of all keys being processed; wraps around */
    /* With by_priority: `dirty` by priority. Priorities that once had a key stay; the last place has all that came too
     * late for a place. */
    ki_work_depth depths[KI_WORK_PRIORITIES + 1];
    size_t depth_count;
} ki_work_counts;

/* One key and its state. The queue's lock guards every member except `key`.
 *
 * An item exists while at least one of these is true: it is dirty, it waits, it is being processed, it has failures. */
typedef struct ki_work_item {
    ki_heap_node node; /* in `waiting` or `ready.heap`; its sequence is the order among items of one rank */
    /* Links of the list of ready keys, or of the list of keys being processed. */
    struct ki_work_item *next, *previous;
    int64_t added_at;   /* while dirty: engine time of the first add; meaningless unless is_measured */
    int64_t started_at; /* while being processed: engine time of ki_workqueue_get; meaningless unless is_measured */
    int failures;
    int priority;       /* while dirty or waiting */
    int taken_priority; /* while being processed */
    uint16_t key_size;
    bool is_dirty : 1;                /* must be processed; also ready, unless is_processing */
    bool is_waiting : 1;              /* in the heap `waiting` */
    bool is_processing : 1;           /* a worker processes the key */
    _Alignas(max_align_t) char key[]; /* with a closing zero */
} ki_work_item;

typedef struct ki_work_list {
    ki_work_item *first;
    size_t count;
} ki_work_list;

/* The keys that can be taken. */
typedef struct ki_work_ready {
    ki_work_list list; /* without by_priority */
    ki_heap heap;      /* with by_priority; rank: -priority */
    size_t count;
} ki_work_ready;

/* The loop's part (delays.c). */
typedef struct ki_work_due {
    ki_task task;     /* ki_work_on_loop; any thread posts it */
    ki_timer timer;   /* loop only */
    int64_t timer_at; /* the time that the timer has, or that the posted task will set; KI_WORK_NEVER: none */
} ki_work_due;

/* Threads that wait for a key. */
typedef struct ki_work_threads {
    ki_cond ready;
    size_t sleeping; /* they wait for `ready` */
    bool is_waking;  /* one of them was signalled, and none has left the wait since */
} ki_work_threads;

typedef struct ki_work_shutdown {
    bool is_begun;
    bool has_reported; /* on_drained was called */
    bool must_report;  /* the loop is to call on_ready once more */
    uint64_t count;    /* calls of ki_workqueue_shut_down; each ends all drains */
    ki_cond drained;
} ki_work_shutdown;

/* What ki_work_unlock does after the unlock. */
typedef struct ki_work_after {
    bool wakes_all, wakes_drained, posts_task;
    ki_work_item *freed; /* one at most: each hold of the lock releases one key at most */
} ki_work_after;

struct ki_workqueue {
    /* Constant after new. */
    ki_workqueue *self; /* for functions with a const queue that lock */
    ki_engine *engine;
    const ki_allocator *allocator;
    char *name;
    size_t key_size; /* 0: strings */
    bool by_priority;
    bool is_measured; /* durations are measured: the queue has a name */
    void (*on_drained)(ki_workqueue *queue, void *user);
    void *user;

    /* Under `lock`. */
    ki_mutex lock;
    ki_map items; /* by key */
    ki_rate_limiter rate_limiter;
    uint64_t next_sequence : 63; /* as in ki_heap_node */
    ki_work_ready ready;
    ki_heap waiting;                                   /* rank: the time at which the key becomes ready */
    ki_work_list processing;                           /* oldest `started_at` first */
    void (*on_ready)(ki_workqueue *queue, void *user); /* only the loop changes it */
    bool must_report_ready;
    ki_work_due due;
    ki_work_threads threads;
    ki_work_shutdown shutdown;
    ki_work_after after;
    ki_work_counts counts;
};

/* Returns the engine's time if the queue is measured; else 0, since the clock costs as much as the rest of the
 * operation. */
int64_t ki_work_now(const ki_workqueue *queue);
/* Unlocks the queue, wakes a thread if a key is ready, and does what the functions below left to do. */
void ki_work_unlock(ki_workqueue *queue);

/* The caller of the functions below holds the lock. None of them can fail. */

/* Returns the item of a key; NULL if there is none. */
ki_work_item *ki_work_find(const ki_workqueue *queue, const void *key);
/* Marks an item dirty; does nothing if it is dirty. The item becomes ready at once unless it is being processed. */
void ki_work_mark_dirty(ki_workqueue *queue, ki_work_item *item, int64_t now);
/* Makes a dirty item ready. With by_priority also moves a ready item after its priority changed. */
void ki_work_push_ready(ki_workqueue *queue, ki_work_item *item);
/* Removes the first ready item from its list or heap and returns it; NULL if there is none. */
ki_work_item *ki_work_pop_ready(ki_workqueue *queue);
/* Removes an item if nothing keeps it; ki_work_unlock frees the item. */
void ki_work_release(ki_workqueue *queue, ki_work_item *item);
/* Returns true if the queue is shut down and no key is queued or being processed. */
bool ki_work_is_drained(const ki_workqueue *queue);
/* Wakes the threads that wait for the drain if the queue is drained. */
void ki_work_note_drained(ki_workqueue *queue);

void ki_work_list_append(ki_work_list *list, ki_work_item *item);
void ki_work_list_remove(ki_work_list *list, ki_work_item *item);

/* Loop only, without the lock: makes due keys ready, sets the timer, calls the program's callbacks. */
void ki_work_on_loop(ki_task *task, void *user);
void ki_work_on_timer(ki_timer *timer, void *user);

/* metrics.c. The caller holds the lock. */

/* Adds a duration to one of the two histograms. */
void ki_work_observe(ki_histogram *durations, int64_t duration_ns);
/* Returns the count of the dirty keys of a priority. */
size_t *ki_work_depth_of(ki_workqueue *queue, int priority);

#endif
