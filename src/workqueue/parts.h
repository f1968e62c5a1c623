/* parts.h: a work queue's inside, for the files of this folder only. */
#ifndef KI_WORKQUEUE_PARTS_H
#define KI_WORKQUEUE_PARTS_H

#include <kinformer/workqueue.h>

#include "src/engine/engine.h"
#include "src/engine/thread.h"
#include "src/workqueue/inbox.h"
#include "src/workqueue/item_heap.h"
#include "src/workqueue/key_table.h"
#include "src/workqueue/rate_limiter.h"

#include <stdatomic.h>

#define KI_WORK_NEVER INT64_MAX

enum {
    KI_WORK_TAKEN = 64 /* a power of two */
};

/* In the order of the table in metrics.c. */
typedef enum ki_work_metric {
    KI_WORK_METRIC_DEPTH,
    KI_WORK_METRIC_ADDS,
    KI_WORK_METRIC_QUEUE_DURATION,
    KI_WORK_METRIC_WORK_DURATION,
    KI_WORK_METRIC_UNFINISHED,
    KI_WORK_METRIC_LONGEST_RUNNING,
    KI_WORK_METRIC_RETRIES,
    KI_WORK_METRIC_COUNT
} ki_work_metric;

typedef struct ki_work_summary {
    uint64_t count;
    uint64_t sum_ns;
} ki_work_summary;

typedef struct ki_work_list {
    ki_work_item *first, *last;
    size_t count;
} ki_work_list;

struct ki_workqueue {
    /* Constant after new. */
    ki_workqueue *self; /* for functions that only read, and lock */
    ki_engine *engine;
    const ki_allocator *allocator;
    char *name;
    size_t key_size; /* 0: strings */
    bool by_priority;
    bool is_measured; /* times are taken: the queue has a name or a metrics library */
    bool has_inbox;
    bool has_library;
    ki_metrics library;
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
    ki_item_heap ready_heap;            /* keys that can be taken, with by_priority: by -priority */
    ki_item_heap waiting;               /* by the time at which they become ready */
    ki_work_list processing;            /* in order of the time they were taken */
    _Atomic size_t ready_count;         /* read without the lock by a thread that spins */
    ki_work_item *taken[KI_WORK_TAKEN]; /* some of the keys that are being processed, by address */
    size_t dirty_count;
    int64_t timer_at; /* what the timer is set to, or the posted task will set it to; KI_WORK_NEVER: none */

    size_t sleeping;  /* threads that wait in ready_cond */
    size_t woken;     /* of them, those that were signalled and have not left yet */
    bool is_spinning; /* a thread waits without sleeping */
    size_t draining;  /* threads that wait in drained_cond */
    _Atomic bool is_shut_down;
    bool has_told_drained;
    bool has_to_tell_ready;
    bool has_to_tell_closed;
    uint64_t shutdowns; /* plain ones; each of them ends all drains */

    uint64_t adds, retries;
    ki_work_summary queue_duration, work_duration;
    int64_t started_sum; /* of started_at of all keys that are being processed; wraps around */
};

/* What a function that changed the queue does once it has unlocked it. Zero at first. */
typedef struct ki_work_after {
    bool wake_all;
    bool wake_drained;
    bool post_task;
    ki_work_item *freed; /* linked by `chain` */
    /* For the program's metrics library. */
    unsigned adds, retries;
    bool has_queue_duration, has_work_duration;
    int64_t queue_duration, work_duration;
} ki_work_after;

/* Returns engine time where the queue is measured, else 0: reading the clock costs as much as all the rest. */
int64_t ki_work_now(const ki_workqueue *queue);
/* Locks the queue and looks into its inbox. */
void ki_work_lock(ki_workqueue *queue, ki_work_after *after);
/* Unlocks the queue and does what `after` says. */
void ki_work_unlock(ki_workqueue *queue, ki_work_after *after);

/* The functions below need the lock. */

/* Puts keys from the inbox where they belong. */
void ki_work_look(ki_workqueue *queue, ki_work_item *added, ki_work_after *after);
/* Makes the next add look into the inbox, where threads sleep and none of them is on its way. */
void ki_work_ask(ki_workqueue *queue, ki_work_after *after);
/* Returns the item of a key of the program's; NULL where there is none. */
ki_work_item *ki_work_find(const ki_workqueue *queue, const void *key);
/* Notes that a worker has an item, or has it no more: its key's address is enough then to find it. */
void ki_work_note_taken(ki_workqueue *queue, ki_work_item *item);
void ki_work_note_done(ki_workqueue *queue, const ki_work_item *item);
/* Marks an item dirty, unless it is. It is ready at once where nobody processes it. Its room in the heap was reserved. */
void ki_work_mark_dirty(ki_workqueue *queue, ki_work_item *item, int64_t now, ki_work_after *after);
/* Makes a dirty item ready. */
void ki_work_push_ready(ki_workqueue *queue, ki_work_item *item, ki_work_after *after);
/* Takes the first ready item out of its list or heap; NULL where there is none. */
ki_work_item *ki_work_pop_ready(ki_workqueue *queue);
/* Frees an item after unlocking, where nothing keeps it. */
void ki_work_release(ki_workqueue *queue, ki_work_item *item, ki_work_after *after);
/* Is the queue shut down, with no key queued or being processed? */
bool ki_work_is_drained(const ki_workqueue *queue);
/* Wakes those who wait for the queue's end, where it came. */
void ki_work_note_drained(ki_workqueue *queue, ki_work_after *after);
/* Gives back room in the heaps. */
void ki_work_trim(ki_workqueue *queue);

void ki_work_list_append(ki_work_list *list, ki_work_item *item);
void ki_work_list_remove(ki_work_list *list, ki_work_item *item);

/* Loop only, without the lock: moves the keys whose time has come, sets the timer, calls the program's callbacks. */
void ki_work_on_loop(ki_task *task, void *user);
void ki_work_on_timer(ki_timer *timer, void *user);

/* Returns CLOCK_MONOTONIC in `timeout_ms`; INT64_MAX where it is negative. */
int64_t ki_work_deadline(int64_t timeout_ms);

/* Without the lock: tells the program's metrics library. */
void ki_work_tell_library(const ki_workqueue *queue, const ki_work_after *after);

#endif
