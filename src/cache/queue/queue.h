/* queue.h: the interface of the queue between reflector and process loop. delta_fifo.c and in_order_fifo.c implement
 * it. <kinformer/parts/queue.h> has the types that pass through it, and what a program calls. Loop only, no locks.
 *
 * A queue takes a list or resync of many objects at once and processes it in slices. One pop does one slice, so that
 * each step of the loop stays short. Later changes wait behind the list or resync. */
#ifndef KI_CACHE_QUEUE_H
#define KI_CACHE_QUEUE_H

#include <kinformer/parts/queue.h>

#include "src/engine/engine.h"

#include <stdbool.h>

enum {
    KI_QUEUE_SLICE = 100 /* units that a pop does of a list or a resync, if `slice` is 0 */
};

/* put, replace and resync can fail with KI_ERR_NO_MEMORY, which leaves the queue unchanged, and with KI_ERR_CLOSED. */
typedef struct ki_queue_ops {
    /* Adds a change from a watch, and takes a reference to its object. */
    ki_status (*put)(ki_queue *queue, const ki_change *change, ki_error *err);
    /* With KI_OK the queue owns `objects`. The caller may read them until it returns to the loop. */
    ki_status (*replace)(ki_queue *queue, const ki_listing *list, ki_error *err);
    ki_status (*resync)(ki_queue *queue, ki_error *err);
    /* Returns true if a resync, or a part of one, is queued. */
    bool (*is_resyncing)(const ki_queue *queue);
    /* Does a slice of a queued list or resync, or passes one item to `process`. Never blocks
     * (client-go's Pop does). Returns KI_OK after a slice, KI_ERR_NO_MEMORY if the slice must be retried,
     * KI_ERR_NOT_FOUND if the queue is empty, KI_ERR_CLOSED if it is empty and closed, KI_ERR_STATE inside `process`,
     * else the status of `process`. */
    ki_status (*pop)(ki_queue *queue, ki_process process, void *user, ki_error *err);
    /* Queues at most `max` of the failed items again, behind all others. Returns how many: none while a list or resync
     * is queued (a list is newer), or without memory; and none that failed before something that is still queued. */
    size_t (*retry)(ki_queue *queue, size_t max);
    /* Rejects further changes. Queued items are still passed on. */
    void (*close)(ki_queue *queue);
    /* Returns true once the first list is popped and processed. */
    bool (*has_synced)(const ki_queue *queue);
    /* Returns the number of queued keys or events, without the one being processed and those that have failed. */
    size_t (*length)(const ki_queue *queue);
    void (*free)(ki_queue *queue);
} ki_queue_ops;

struct ki_queue {
    const ki_queue_ops *ops;
    /* Called when an empty queue gets an item, and on close; NULL: nobody is woken. */
    void (*ready)(void *user);
    void *ready_user;
    size_t slice;     /* units that the next pop may do; 0: KI_QUEUE_SLICE, and a whole batch of events */
    size_t work;      /* units that the last pop did besides processing */
    size_t failed;    /* items that are not queued: their processing failed, and they wait for `retry` */
    bool stays_first; /* the last pop's item is still the first one */
    bool is_closed;
};

/* Returns true for a watch's event that repeats the known state of its object, or an older one, as after a resume. */
bool ki_change_is_repeated(const ki_change *change, const ki_object *known);

static inline size_t ki_queue_slice(const ki_queue *queue) {
    return queue->slice && queue->slice < KI_QUEUE_SLICE ? queue->slice : KI_QUEUE_SLICE;
}

#endif
