/* queue.h: what stands between reflector and controller: delta_fifo.h or in_order_fifo.h. All on the loop, no locks.
 *
 * A list or resync of many objects is taken at once and worked off in slices: a pop does a part of it, so that no step of the loop is long.
 * What comes in meanwhile stands behind it. */
#ifndef KI_CACHE_QUEUE_H
#define KI_CACHE_QUEUE_H

#include <kinformer/error.h>
#include <kinformer/lister.h>
#include <kinformer/object.h>

#include <stdbool.h>

typedef struct ki_queue ki_queue;

typedef enum ki_delta_type {
    KI_DELTA_ADDED,
    KI_DELTA_UPDATED,
    KI_DELTA_DELETED,
    KI_DELTA_REPLACED, /* from a list: added or updated, the store tells */
    KI_DELTA_SYNC      /* from a resync: nothing new */
} ki_delta_type;

/* One change of one key. A tombstone is a Deleted whose object is the last one known and perhaps not the last state
 * (client-go's DeletedFinalStateUnknown); its object is NULL where none was ever known. */
typedef struct ki_delta {
    ki_delta_type type;
    bool tombstone;
    bool is_in_initial_list; /* part of the initial population */
    ki_object *obj;          /* a reference of the delta's; NULL only for a tombstone */
} ki_delta;

enum {
    KI_QUEUE_SLICE =
        100 /* units (objects) that one pop does at most; also the longest time that the change lock is held */
};

/* A whole list; borrowed during the call, but for `objects`. What is known and not in it is gone, but for what is kept. */
typedef struct ki_listing {
    ki_object **objects; /* references, in a block of the queue's allocator; may be NULL where there is none */
    size_t count;
    const char *const *kept; /* keys that are listed with a state that could not be read: what is known of them stays */
    size_t kept_count;
    bool keeps_all; /* something is listed whose key could not be read: nothing is gone */
    const char *resource_version;
} ki_listing;

/* What a pop hands over. */
typedef enum ki_deltas_kind {
    KI_DELTAS_OF_KEY,  /* one key with all that happened to it, oldest first */
    KI_DELTAS_BATCH,   /* one delta each of different keys, in the order of their arrival */
    KI_DELTAS_REPLACE, /* a whole list: what is known and not in it is gone */
    KI_DELTAS_RESYNC   /* everything that is known; no deltas */
} ki_deltas_kind;

/* Borrowed during the call. */
typedef struct ki_deltas {
    ki_deltas_kind kind;
    const char *key; /* with KI_DELTAS_OF_KEY; else NULL */
    const ki_delta *items;
    size_t count;
    bool is_in_initial_list;
    /* With KI_DELTAS_REPLACE, as in ki_listing; `count` objects and no items. */
    ki_object *const *objects;
    const char *const *kept;
    size_t kept_count;
    bool keeps_all;
    const char *resource_version; /* with KI_DELTAS_REPLACE: the list's; else NULL */
} ki_deltas;

/* KI_OK: done; with `*ret_requeue` true (a list or resync) only a part of it is, and it is handed over again. Anything else: the item was not
 * processed; with `*ret_requeue` true it stays the first of the queue. Must not change the queue or pop from it. */
typedef ki_status (*ki_process)(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err);

/* A walk over the objects that are known; all zero before it begins. */
typedef struct ki_known_walk {
    ki_snapshot *snapshot;
    ki_cursor cursor;
} ki_known_walk;

/* Objects known downstream (the store), for Replace, Delete and Resync. They do not change while a list or resync is worked off. */
typedef struct ki_known_objects {
    ki_object *(*get)(const char *key, void *user);      /* a reference, or NULL */
    ki_object *(*next)(ki_known_walk *walk, void *user); /* borrowed until the walk ends; NULL: there are no more */
    void (*end)(ki_known_walk *walk, void *user);        /* also in the middle, and of a walk that has not begun */
    void *user;
} ki_known_objects;

/* All but pop and close fail with KI_ERR_NO_MEMORY, leaving the queue as it was, or KI_ERR_CLOSED. */
typedef struct ki_queue_ops {
    ki_status (*add)(ki_queue *queue, ki_object *obj, ki_error *err);
    ki_status (*update)(ki_queue *queue, ki_object *obj, ki_error *err);
    /* `is_last_state` false: the object is gone, and `obj` only names it: a tombstone. */
    ki_status (*remove)(ki_queue *queue, ki_object *obj, bool is_last_state, ki_error *err);
    /* With KI_OK `objects` is the queue's. The caller may look at it until it returns to the loop. */
    ki_status (*replace)(ki_queue *queue, const ki_listing *list, ki_error *err);
    ki_status (*resync)(ki_queue *queue, ki_error *err);
    /* Is a resync queued, or part of one? */
    bool (*is_resyncing)(const ki_queue *queue);
    /* Does a part of a list or resync that has come in (KI_OK, or KI_ERR_NO_MEMORY: to be tried again), or hands one item to `process`. KI_ERR_NOT_FOUND: empty now; KI_ERR_CLOSED: empty and closed; else what process returned. Never blocks
     * (ours: the controller is told by `ready` when there is something; client-go's Pop blocks). */
    ki_status (*pop)(ki_queue *queue, ki_process process, void *user, ki_error *err);
    /* Nothing more is taken; what is queued is still handed out. */
    void (*close)(ki_queue *queue);
    /* Is the initial population popped and processed? */
    bool (*has_synced)(const ki_queue *queue);
    size_t (*length)(const ki_queue *queue); /* keys or events queued, without what is being processed */
    void (*free)(ki_queue *queue);
} ki_queue_ops;

struct ki_queue {
    const ki_queue_ops *ops;
    void (*ready)(void *user); /* called when an empty queue has something, and on close; may be NULL */
    void *ready_user;
    size_t slice; /* the units that a pop may do; set before it; 0: KI_QUEUE_SLICE */
    size_t work;  /* the units that the last pop did beside processing */
};

static inline size_t ki_queue_slice(const ki_queue *queue) {
    return queue->slice && queue->slice < KI_QUEUE_SLICE ? queue->slice : KI_QUEUE_SLICE;
}

#endif
