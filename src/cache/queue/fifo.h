/* fifo.h: what both queues have in common: the changes, lists and resyncs that have arrived, in their order. The
 * functions implement operations of queue.h. Loop only. */
#ifndef KI_CACHE_FIFO_H
#define KI_CACHE_FIFO_H

#include "src/base/ring.h"
#include "src/cache/queue/queue.h"
#include "src/cache/queue/queued_list.h"

typedef struct ki_arrival {
    ki_change change;     /* owns its object */
    ki_queued_list *list; /* owned; NULL: a change */
} ki_arrival;

/* The changes of one key, whose processing failed and is to be retried. */
typedef struct ki_failed ki_failed;
struct ki_failed {
    ki_failed *before, *next;
    size_t count;
    uint64_t behind;     /* arrivals that come before a retry, counted as `dropped` */
    bool is_initial;     /* part of the initial population */
    ki_change changes[]; /* own their objects */
};

typedef struct ki_fifo ki_fifo;
struct ki_fifo {
    ki_queue queue; /* first */
    /* Constant. */
    ki_queue_options options;
    ki_allocator allocator;
    /* DeltaFIFO only: queues a change by key, at once, and takes its reference. NULL: each change is an arrival, and a
     * list's deletions come first (queued_list.h). */
    ki_status (*queue_change)(ki_fifo *fifo, const ki_change *change);

    ki_ring arrivals;  /* not worked off */
    uint64_t dropped;  /* arrivals that are worked off, since the start */
    size_t initial;    /* the initial list and entries of it that are not processed */
    size_t resyncs;    /* resyncs and entries of them that are not processed */
    size_t lists;      /* of the arrivals: lists and resyncs */
    bool is_populated; /* the queue has received a change or a list */

    /* queue.failed items, at most one of a key. A newer change of its key takes its place, and so does a list. */
    ki_map failed;                         /* key to ki_failed */
    ki_failed *first_failed, *last_failed; /* in the order of their failures */
    ki_failed *next_failed;                /* that the first arrival, a list, has not looked at; NULL: none */
    bool is_looking;                       /* the first arrival looks at the failed items */
};

/* Make an empty queue of one kind (ki_queue_new). `options` are complete. Return NULL without memory. */
ki_queue *ki_delta_fifo_new(const ki_queue_options *options);
ki_queue *ki_in_order_fifo_new(const ki_queue_options *options);
/* Makes an empty queue in `size` bytes, which begin with a ki_fifo. `options` are complete. Returns NULL without
 * memory. */
void *ki_fifo_new(size_t size, const ki_queue_ops *ops, const ki_queue_options *options);
/* Frees the arrivals and the queue. */
void ki_fifo_free(ki_fifo *fifo);

/* Takes a reference to the change's object. A change goes straight into the queue (`queue_change`) unless an arrival
 * waits before it. */
ki_status ki_fifo_put(ki_queue *queue, const ki_change *change, ki_error *err);
ki_status ki_fifo_replace(ki_queue *queue, const ki_listing *listing, ki_error *err);
ki_status ki_fifo_resync(ki_queue *queue, ki_error *err);
size_t ki_fifo_retry(ki_queue *queue, size_t max);
bool ki_fifo_is_resyncing(const ki_queue *queue);
bool ki_fifo_has_synced(const ki_queue *queue);
void ki_fifo_close(ki_queue *queue);

/* Sets the error of a pop from an empty queue: it is empty, or closed. */
ki_status ki_fifo_set_empty(const ki_fifo *fifo, ki_error *err);
/* The first arrival; NULL: none. */
ki_arrival *ki_fifo_first(const ki_fifo *fifo);
/* Drops the first arrival: it is worked off. */
void ki_fifo_drop(ki_fifo *fifo);
/* `process` returned for an item, and wants it requeued. Returns true if the item stays the first one: all others would
 * fail, too. Else its changes, which are of one key, have failed, and the caller drops the item. */
bool ki_fifo_stays(ki_fifo *fifo, const ki_change *changes, size_t count, ki_status status);
/* Changes are queued, or processed. Drops what has failed of their keys: it is older. What a resync passes is not
 * newer. */
void ki_fifo_note_passed(ki_fifo *fifo, const ki_change *changes, size_t count);
/* A unit of the first arrival, a list that has not begun. Drops the next failed item that it is newer than. Returns
 * false if no failed item is left. */
bool ki_fifo_look_at_failed(ki_fifo *fifo, const ki_queued_list *list);

#endif
