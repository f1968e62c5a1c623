/* fifo.c: see fifo.h. */
#include "src/cache/queue/fifo.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <string.h>

enum {
    BATCH_SIZE = 1000 /* as client-go's */
};

/* ---- new, free ---- */

ki_status ki_queue_new(const ki_queue_options *options, ki_queue **ret_queue, ki_error *err) {
    ki_queue_options given = { .size = sizeof given };
    if (!ret_queue)
        return ki_error_missing(err, "ki_queue_new");
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_queue_options without a size: use KI_QUEUE_OPTIONS()");
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    if (given.kind != KI_QUEUE_IN_ORDER && given.kind != KI_QUEUE_DELTA_FIFO)
        return ki_error_set(err, KI_ERR_INVALID, "%d is no kind of queue", (int)given.kind);
    if (!given.allocator)
        given.allocator = &ki_allocator_default;
    if (!given.batch_size)
        given.batch_size = BATCH_SIZE;
    bool is_in_order = given.kind == KI_QUEUE_IN_ORDER;
    ki_queue *queue = is_in_order ? ki_in_order_fifo_new(&given) : ki_delta_fifo_new(&given);
    if (!queue)
        return ki_error_no_memory(err, "making a queue");
    *ret_queue = queue;
    return KI_OK;
}

void *ki_fifo_new(size_t size, const ki_queue_ops *ops, const ki_queue_options *options) {
    ki_fifo *fifo = ki_alloc_zero(options->allocator, size);
    if (!fifo)
        return NULL;
    fifo->queue.ops = ops;
    fifo->options = *options;
    fifo->allocator = *options->allocator;
    fifo->options.allocator = &fifo->allocator;
    ki_ring_init(&fifo->arrivals, &fifo->allocator, sizeof(ki_arrival));
    return fifo;
}

void ki_fifo_free(ki_fifo *fifo) {
    while (ki_fifo_first(fifo))
        ki_fifo_drop(fifo);
    ki_ring_free(&fifo->arrivals);
    ki_allocator allocator = fifo->allocator;
    ki_free(&allocator, fifo);
}

/* ---- adding ---- */

static ki_fifo *of(ki_queue *queue) {
    return (ki_fifo *)queue;
}

static ki_status check_open(const ki_fifo *fifo, ki_error *err) {
    return fifo->is_closed ? ki_error_set(err, KI_ERR_CLOSED, "the queue is closed") : KI_OK;
}

static size_t length(const ki_fifo *fifo) {
    return fifo->queue.ops->length(&fifo->queue);
}

static void signal_ready(const ki_fifo *fifo) {
    if (fifo->queue.ready)
        fifo->queue.ready(fifo->queue.ready_user);
}

ki_status ki_fifo_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    ki_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    bool was_empty = length(fifo) == 0;
    ki_object_ref(change->obj);
    if (fifo->queue_change && !fifo->arrivals.count)
        status = fifo->queue_change(fifo, change);
    else
        status = ki_ring_push(&fifo->arrivals, &(ki_arrival){ .change = *change });
    if (status) {
        ki_object_unref(change->obj);
        return ki_error_no_memory(err, "queueing a change");
    }
    fifo->is_populated = true;
    if (was_empty && length(fifo))
        signal_ready(fifo);
    return KI_OK;
}

/* Queues a list, or a resync if it is NULL. */
static ki_status put_list(ki_fifo *fifo, const ki_listing *listing, ki_error *err) {
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    ki_queued_list *list = NULL;
    if (!ki_ring_reserve(&fifo->arrivals, 1))
        list = ki_queued_list_new(&fifo->allocator, fifo->options.seed, &fifo->options.known, listing);
    if (!list)
        return ki_error_no_memory(err, listing ? "queueing a list" : "queueing a resync");
    list->deletes_first = !fifo->queue_change;
    list->is_first = true; /* when it begins; unless the DeltaFIFO says otherwise */
    list->is_initial = listing && (listing->is_initial || (!listing->namespace_name && !fifo->is_populated));
    fifo->initial += list->is_initial;
    fifo->is_populated = fifo->is_populated || listing;
    fifo->resyncs += !listing;
    fifo->listed += listing ? listing->bytes : 0;
    bool was_empty = length(fifo) == 0;
    (void)ki_ring_push(&fifo->arrivals, &(ki_arrival){ .list = list });
    if (was_empty)
        signal_ready(fifo);
    return KI_OK;
}

ki_status ki_fifo_replace(ki_queue *queue, const ki_listing *listing, ki_error *err) {
    return put_list(of(queue), listing, err);
}

ki_status ki_fifo_resync(ki_queue *queue, ki_error *err) {
    return put_list(of(queue), NULL, err);
}

void ki_fifo_close(ki_queue *queue) {
    ki_fifo *fifo = of(queue);
    if (fifo->is_closed)
        return;
    fifo->is_closed = true;
    signal_ready(fifo);
}

/* ---- reading ---- */

bool ki_fifo_is_resyncing(const ki_queue *queue) {
    return ((const ki_fifo *)queue)->resyncs > 0;
}

bool ki_fifo_has_synced(const ki_queue *queue) {
    const ki_fifo *fifo = (const ki_fifo *)queue;
    return fifo->is_populated && fifo->initial == 0;
}

size_t ki_fifo_listed_bytes(const ki_queue *queue) {
    return ((const ki_fifo *)queue)->listed;
}

/* ---- popping ---- */

ki_status ki_fifo_set_empty(const ki_fifo *fifo, ki_error *err) {
    ki_status status = check_open(fifo, err);
    return status ? status : ki_error_set(err, KI_ERR_NOT_FOUND, "the queue is empty");
}

ki_arrival *ki_fifo_first(const ki_fifo *fifo) {
    return ki_ring_at(&fifo->arrivals, 0);
}

void ki_fifo_drop(ki_fifo *fifo) {
    ki_arrival dropped = { .list = NULL };
    (void)ki_ring_pop(&fifo->arrivals, &dropped);
    if (dropped.list) {
        fifo->initial -= dropped.list->is_initial;
        fifo->resyncs -= dropped.list->is_resync;
    }
    ki_object_unref(dropped.change.obj);
    ki_queued_list_free(dropped.list);
}
