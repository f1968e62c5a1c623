/* queue.h: the interface of the queue between reflector and controller. delta_fifo.h and in_order_fifo.h implement it.
 * Loop only, no locks.
 *
 * A queue takes a list or resync of many objects at once and processes it in slices. One pop does one slice, so that
 * each step of the loop stays short. Later changes wait behind the list or resync. */
#ifndef KI_CACHE_QUEUE_H
#define KI_CACHE_QUEUE_H

#include <kinformer/error.h>
#include <kinformer/lister.h>

#include "src/cache/queue/change.h"

typedef struct ki_queue ki_queue;

enum {
    KI_QUEUE_SLICE = 100 /* maximum units (objects) of one pop */
};

/* A whole list. Borrowed during the call, except `objects`. Known objects that are neither in the list nor kept are
 * deleted. */
typedef struct ki_listing {
    ki_object **objects; /* references, in a block of the queue's allocator; may be NULL if there are none */
    size_t count;
    const char *const *kept; /* keys in the list whose object could not be read: their known objects stay */
    size_t kept_count;
    bool keeps_all; /* the list contains an object without a readable key: no known object is deleted */
    const char *resource_version;
} ki_listing;

/* What a pop passes to `process`: changes, oldest first. Those of one key follow each other. Borrowed during the
 * call. */
typedef struct ki_deltas {
    const ki_change *items;
    size_t count;
    bool is_part;                 /* of a list or resync; the next pop passes more of it */
    const char *resource_version; /* of a list; else NULL */
} ki_deltas;

/* Processes changes. With `*ret_requeue` true they are not processed: they stay first in the queue, or the list or
 * resync starts over. Must not change the queue or pop from it. */
typedef ki_status (*ki_process)(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err);

/* A walk over the known objects. All zero before it begins. */
typedef struct ki_known_walk {
    ki_snapshot *snapshot;
    ki_cursor cursor;
} ki_known_walk;

/* The known objects (the store's), for Replace, Delete and Resync. They do not change while a list or resync is
 * processed. */
typedef struct ki_known_objects {
    ki_object *(*get)(const char *key, void *user);      /* a reference, or NULL */
    ki_object *(*next)(ki_known_walk *walk, void *user); /* borrowed until the walk ends; NULL after the last */
    void (*end)(ki_known_walk *walk, void *user);        /* also in the middle of a walk or before its begin */
    void *user;
} ki_known_objects;

/* put, replace and resync can fail with KI_ERR_NO_MEMORY, which leaves the queue unchanged, and with KI_ERR_CLOSED. */
typedef struct ki_queue_ops {
    /* Adds a change from a watch, and takes a reference to its object. */
    ki_status (*put)(ki_queue *queue, const ki_change *change, ki_error *err);
    /* With KI_OK the queue owns `objects`. The caller may read them until it returns to the loop. */
    ki_status (*replace)(ki_queue *queue, const ki_listing *list, ki_error *err);
    ki_status (*resync)(ki_queue *queue, ki_error *err);
    /* Returns true if a resync, or a part of one, is queued. */
    bool (*is_resyncing)(const ki_queue *queue);
    /* Does a slice of a queued list or resync, or passes one item to `process`. Never blocks: `ready` wakes the
     * controller (client-go's Pop blocks). Returns KI_OK after a slice, KI_ERR_NO_MEMORY if the slice must be retried,
     * KI_ERR_NOT_FOUND if the queue is empty, KI_ERR_CLOSED if it is empty and closed, KI_ERR_STATE inside `process`,
     * else the status of `process`. */
    ki_status (*pop)(ki_queue *queue, ki_process process, void *user, ki_error *err);
    /* Rejects further changes. Queued items are still passed on. */
    void (*close)(ki_queue *queue);
    /* Returns true once the first list is popped and processed. */
    bool (*has_synced)(const ki_queue *queue);
    size_t (*length)(const ki_queue *queue); /* queued keys or events, without the one being processed */
    void (*free)(ki_queue *queue);
} ki_queue_ops;

struct ki_queue {
    const ki_queue_ops *ops;
    void (*ready)(void *user); /* called when an empty queue gets an item, and on close; may be NULL */
    void *ready_user;
    size_t slice; /* units that the next pop may do; 0: KI_QUEUE_SLICE */
    size_t work;  /* units that the last pop did besides processing */
};

static inline size_t ki_queue_slice(const ki_queue *queue) {
    return queue->slice && queue->slice < KI_QUEUE_SLICE ? queue->slice : KI_QUEUE_SLICE;
}

#endif
