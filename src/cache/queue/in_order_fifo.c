/* in_order_fifo.c: see in_order_fifo.h.
 *
 * A ring of items. An item that pop hands over stays at the front of the ring until it is processed. After a failure
 * the order is thus unchanged. */
#include "src/cache/queue/in_order_fifo.h"

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/base/ring.h"
#include "src/cache/queue/queued_list.h"

typedef struct item {
    ki_change change;     /* an event; owns its object */
    ki_queued_list *list; /* owned; NULL: an event */
    bool is_processed;    /* a list: pop releases the objects, a slice at a time */
} item;

typedef struct in_order_fifo {
    ki_queue queue; /* first */
    ki_in_order_fifo_options options;
    ki_allocator allocator;
    ki_ring items;
    size_t processing; /* front items that are being processed */
    size_t initial;    /* front items of the initial population */
    size_t resyncs;    /* queued resyncs */
    bool populated;    /* the queue has received an event or a list */
    bool closed;
    ki_map keys;      /* of the current batch; empty between pops, with room for a whole batch */
    ki_change *batch; /* the current batch, with room for a whole batch */
} in_order_fifo;

static in_order_fifo *of(ki_queue *queue) {
    return (in_order_fifo *)queue;
}

/* ---- adding ---- */

static ki_status check_open(const in_order_fifo *fifo, ki_error *err) {
    return fifo->closed ? ki_error_set(err, KI_ERR_CLOSED, "the queue is closed") : KI_OK;
}

static void signal_ready(const in_order_fifo *fifo) {
    if (fifo->queue.ready)
        fifo->queue.ready(fifo->queue.ready_user);
}

/* Cannot fail: the caller has made room. */
static void push(in_order_fifo *fifo, const item *pushed) {
    (void)ki_ring_push(&fifo->items, pushed);
    if (fifo->items.count == 1)
        signal_ready(fifo);
}

static ki_status fifo_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    in_order_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    if (ki_ring_reserve(&fifo->items, 1))
        return ki_error_no_memory(err, "queueing a change");
    ki_object_ref(change->obj);
    fifo->populated = true;
    push(fifo, &(item){ .change = *change });
    return KI_OK;
}

/* Queues a list, or a resync if it is NULL. */
static ki_status push_list(in_order_fifo *fifo, const ki_listing *listing, ki_error *err) {
    const ki_in_order_fifo_options *options = &fifo->options;
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    ki_queued_list *list = NULL;
    if (!ki_ring_reserve(&fifo->items, 1))
        list = ki_queued_list_new(&fifo->allocator, options->seed, &options->known, listing);
    if (!list)
        return ki_error_no_memory(err, listing ? "queueing a list" : "queueing a resync");
    list->deletes_first = true;
    list->is_initial = listing && !fifo->populated;
    if (list->is_initial)
        fifo->initial = fifo->items.count + 1;
    fifo->populated = fifo->populated || listing;
    fifo->resyncs += !listing;
    push(fifo, &(item){ .list = list });
    return KI_OK;
}

static ki_status fifo_replace(ki_queue *queue, const ki_listing *listing, ki_error *err) {
    return push_list(of(queue), listing, err);
}

static ki_status fifo_resync(ki_queue *queue, ki_error *err) {
    return push_list(of(queue), NULL, err);
}

static bool fifo_is_resyncing(const ki_queue *queue) {
    return ((const in_order_fifo *)queue)->resyncs > 0;
}

/* ---- popping ---- */

static item *at(const in_order_fifo *fifo, size_t index) {
    return ki_ring_at(&fifo->items, index);
}

/* Returns true if item `count` is an event and the batch has room for it. */
static bool fits_batch(const in_order_fifo *fifo, size_t count) {
    const item *next = at(fifo, count);
    bool has_room = count < fifo->options.batch_size && (!fifo->queue.slice || count < fifo->queue.slice);
    return has_room && next && !next->list;
}

/* Copies event `count` into the batch. Returns false if the batch has an event with its key. */
static bool add_to_batch(in_order_fifo *fifo, size_t count) {
    const ki_change *change = &at(fifo, count)->change;
    /* Cannot fail: the map has room for a whole batch. */
    ki_map_slot *slot = ki_map_slot_of(&fifo->keys, ki_str_of(ki_object_key(change->obj)));
    if (!slot || slot->value)
        return false;
    fifo->batch[count] = *change;
    slot->value = &fifo->batch[count];
    return true;
}

/* Fills the batch with events from the front. Returns their number, at least 1. */
static size_t gather(in_order_fifo *fifo) {
    size_t count = 0;
    if (!at(fifo, 1)) { /* one event, the usual case: no keys to compare */
        fifo->batch[0] = at(fifo, 0)->change;
        return 1;
    }
    while (fits_batch(fifo, count) && add_to_batch(fifo, count))
        count++;
    for (size_t i = 0; i < count; i++)
        ki_map_remove(&fifo->keys, ki_str_of(ki_object_key(fifo->batch[i].obj)));
    return count;
}

/* Drops items from the front. */
static void drop(in_order_fifo *fifo, size_t count) {
    item dropped;
    for (size_t i = 0; i < count && ki_ring_pop(&fifo->items, &dropped); i++) {
        fifo->resyncs -= dropped.list && dropped.list->is_resync;
        ki_object_unref(dropped.change.obj);
        ki_queued_list_free(dropped.list);
    }
    fifo->initial -= fifo->initial < count ? fifo->initial : count;
}

static ki_status pop_events(in_order_fifo *fifo, ki_process process, void *user, ki_error *err) {
    const ki_deltas deltas = { .items = fifo->batch, .count = gather(fifo) };
    bool requeue = false;
    fifo->processing = deltas.count;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->processing = 0;
    if (!requeue)
        drop(fifo, deltas.count);
    return status;
}

/* Releases a slice of a processed list's objects. Drops the list after the last one. */
static void release_some(in_order_fifo *fifo, ki_queued_list *list) {
    size_t slice = ki_queue_slice(&fifo->queue), left = slice - fifo->queue.work;
    if (ki_queued_list_release_some(list, &left))
        drop(fifo, 1);
    fifo->queue.work = slice - left;
}

/* Fills the batch with a slice of the list's changes. Returns KI_ERR_NOT_FOUND after the last. */
static ki_status gather_part(in_order_fifo *fifo, ki_queued_list *list, size_t *ret_count) {
    ki_queue *queue = &fifo->queue;
    size_t slice = ki_queue_slice(queue), count = 0;
    ki_status status = KI_OK;
    for (; !status && queue->work < slice && count < fifo->options.batch_size; queue->work++) {
        status = ki_queued_list_next(list, &fifo->batch[count]);
        count += !status && fifo->batch[count].obj;
    }
    *ret_count = count;
    return status;
}

/* Passes a slice of a list or resync on as a part, or releases one. A part that is not processed starts the list over:
 * what was staged of it is dropped. */
static ki_status pop_list(in_order_fifo *fifo, ki_process process, void *user, ki_error *err) {
    ki_queued_list *list = at(fifo, 0)->list;
    if (at(fifo, 0)->is_processed) {
        release_some(fifo, list);
        return KI_OK;
    }
    ki_deltas deltas = { .items = fifo->batch, .resource_version = list->resource_version };
    ki_status status = gather_part(fifo, list, &deltas.count);
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, "processing a list");
    deltas.is_part = status != KI_ERR_NOT_FOUND;
    if (deltas.is_part && deltas.count == 0)
        return KI_OK;
    bool requeue = false;
    fifo->processing = 1;
    status = process(&deltas, user, &requeue, err);
    fifo->processing = 0;
    if (requeue) {
        ki_queued_list_rewind(list);
    } else if (!deltas.is_part) {
        at(fifo, 0)->is_processed = true;
        release_some(fifo, list);
    }
    return status;
}

static ki_status fifo_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    in_order_fifo *fifo = of(queue);
    queue->work = 0;
    if (fifo->items.count == 0) {
        ki_status status = check_open(fifo, err);
        return status ? status : ki_error_set(err, KI_ERR_NOT_FOUND, "the queue is empty");
    }
    if (fifo->processing)
        return ki_error_set(err, KI_ERR_STATE, "an item of the queue is being processed");
    return at(fifo, 0)->list ? pop_list(fifo, process, user, err) : pop_events(fifo, process, user, err);
}

static void fifo_close(ki_queue *queue) {
    in_order_fifo *fifo = of(queue);
    if (fifo->closed)
        return;
    fifo->closed = true;
    signal_ready(fifo);
}

static bool fifo_has_synced(const ki_queue *queue) {
    const in_order_fifo *fifo = (const in_order_fifo *)queue;
    return fifo->populated && fifo->initial == 0;
}

static size_t fifo_length(const ki_queue *queue) {
    const in_order_fifo *fifo = (const in_order_fifo *)queue;
    return fifo->items.count - fifo->processing;
}

/* ---- new, free ---- */

static void fifo_free(ki_queue *queue) {
    in_order_fifo *fifo = of(queue);
    drop(fifo, fifo->items.count);
    ki_ring_free(&fifo->items);
    ki_map_free(&fifo->keys);
    ki_allocator allocator = fifo->allocator;
    ki_free(&allocator, fifo->batch);
    ki_free(&allocator, fifo);
}

static const ki_queue_ops in_order_fifo_ops = {
    .put = fifo_put,
    .replace = fifo_replace,
    .resync = fifo_resync,
    .is_resyncing = fifo_is_resyncing,
    .pop = fifo_pop,
    .close = fifo_close,
    .has_synced = fifo_has_synced,
    .length = fifo_length,
    .free = fifo_free,
};

ki_status ki_in_order_fifo_new(const ki_in_order_fifo_options *options, ki_queue **ret_queue, ki_error *err) {
    if (options->batch_size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "a queue without a batch size");
    in_order_fifo *fifo = ki_alloc_zero(options->allocator, sizeof *fifo);
    if (!fifo)
        return ki_error_no_memory(err, "making a queue");
    fifo->queue.ops = &in_order_fifo_ops;
    fifo->options = *options;
    fifo->allocator = *options->allocator;
    fifo->options.allocator = &fifo->allocator;
    ki_ring_init(&fifo->items, &fifo->allocator, sizeof(item));
    ki_map_init(&fifo->keys, &fifo->allocator, options->seed);
    fifo->batch = ki_alloc_array(&fifo->allocator, fifo->options.batch_size, sizeof *fifo->batch);
    if (!fifo->batch || ki_map_reserve(&fifo->keys, fifo->options.batch_size)) {
        fifo_free(&fifo->queue);
        return ki_error_no_memory(err, "making a queue");
    }
    *ret_queue = &fifo->queue;
    return KI_OK;
}
