/* in_order_fifo.c: the default queue: all events in the order of their arrival, none merged. A list is passed
 * on as the deletions of the known objects that are not in it, then its objects. See queue.h.
 *
 * An arrival that pop hands over stays the first until it is processed. After a lack of memory the order is thus
 * unchanged. Of a batch, or a slice of a list, that fails otherwise, and is to be retried, pop hands out the changes
 * one by one: the one that fails waits, and the others do not (ki_fifo_stays). */
#include "src/cache/queue/fifo.h"

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"

typedef struct in_order_fifo {
    ki_fifo base;      /* first */
    size_t processing; /* front arrivals that are being processed */
    size_t singly;     /* front arrivals that pop hands out one by one: a batch with them has failed */
    size_t at_single;  /* of a list: the next change of the batch to hand out so, up to `singles`; with references */
    size_t singles;
    bool is_releasing; /* the first arrival is a processed list: pop releases its objects, a slice at a time */
    ki_map keys;       /* of the current batch; empty between pops */
    ki_change *batch;  /* the current batch: `first`, or allocated with room for a whole batch */
    size_t capacity;   /* changes of `batch` */
    ki_change first;
} in_order_fifo;

/* ---- popping ---- */

static const ki_arrival *at(const in_order_fifo *fifo, size_t index) {
    return ki_ring_at(&fifo->base.arrivals, index);
}

/* Returns true if the batch, which has `count` changes, has room for one more. Without memory a batch is shorter. */
static bool has_room(in_order_fifo *fifo, size_t count) {
    if (count < fifo->capacity)
        return true;
    if (fifo->batch != &fifo->first)
        return false;
    ki_change *batch = ki_alloc_array(&fifo->base.allocator, fifo->base.options.batch_size, sizeof *batch);
    if (!batch)
        return false;
    batch[0] = fifo->first;
    fifo->batch = batch;
    fifo->capacity = fifo->base.options.batch_size;
    return count < fifo->capacity;
}

/* Returns true if item `count` is an event and the batch has room for it. */
static bool fits_batch(in_order_fifo *fifo, size_t count) {
    const ki_arrival *next = at(fifo, count);
    size_t slice = fifo->base.queue.slice;
    return (!slice || count < slice) && next && !next->list && has_room(fifo, count);
}

/* Copies event `count` into the batch. Returns false if the batch has an event with its key, or without memory. */
static bool add_to_batch(in_order_fifo *fifo, size_t count) {
    const ki_change *change = &at(fifo, count)->change;
    ki_map_slot *slot = ki_map_slot_of(&fifo->keys, ki_str_of(ki_object_key(change->obj)));
    if (!slot || slot->value)
        return false;
    fifo->batch[count] = *change;
    slot->value = fifo; /* not NULL: the batch has the key */
    return true;
}

/* Fills the batch with events from the front. Returns their number; 0 without memory. */
static size_t gather(in_order_fifo *fifo) {
    size_t count = 0;
    while (fits_batch(fifo, count) && add_to_batch(fifo, count))
        count++;
    for (size_t i = 0; i < count; i++)
        ki_map_remove(&fifo->keys, ki_str_of(ki_object_key(fifo->batch[i].obj)));
    return count;
}

/* `first`: the first event. */
static ki_status pop_events(in_order_fifo *fifo, const ki_change *first, ki_process process, void *user,
                            ki_error *err) {
    bool is_one = fifo->base.arrivals.count == 1 || fifo->singly; /* the usual case: no keys to compare */
    size_t count = is_one ? 0 : gather(fifo);
    if (count == 0)
        fifo->batch[count++] = *first;
    const ki_deltas deltas = { .items = fifo->batch, .count = count };
    bool requeue = false;
    fifo->processing = deltas.count;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->processing = 0;
    if (requeue && status && status != KI_ERR_NO_MEMORY && count > 1) {
        fifo->singly = count;
        return KI_OK;
    }
    if (requeue && ki_fifo_stays(&fifo->base, deltas.items, count, status))
        return status;
    if (!requeue)
        ki_fifo_note_passed(&fifo->base, deltas.items, count);
    fifo->singly -= fifo->singly > 0;
    for (size_t i = 0; i < count; i++)
        ki_fifo_drop(&fifo->base);
    return status;
}

/* Releases a slice of a processed list's objects. Drops the list after the last one. */
static void release_some(in_order_fifo *fifo, ki_queued_list *list) {
    ki_queue *queue = &fifo->base.queue;
    size_t slice = ki_queue_slice(queue), left = slice - queue->work;
    fifo->is_releasing = !ki_queued_list_release_some(list, &left);
    if (!fifo->is_releasing)
        ki_fifo_drop(&fifo->base);
    queue->work = slice - left;
}

/* Fills the batch with a slice of the list's changes. Returns KI_ERR_NOT_FOUND after the last. */
static ki_status gather_part(in_order_fifo *fifo, ki_queued_list *list, size_t *ret_count) {
    ki_queue *queue = &fifo->base.queue;
    size_t slice = ki_queue_slice(queue), count = 0;
    ki_status status = KI_OK;
    for (; !status && queue->work < slice && has_room(fifo, count); queue->work++) {
        status = ki_queued_list_next(list, &fifo->batch[count]);
        count += !status && fifo->batch[count].obj;
    }
    *ret_count = count;
    return status;
}

/* The batch, a slice of a list, has failed: pop hands out its changes one by one. What is known may end meanwhile. */
static void begin_singles(in_order_fifo *fifo, size_t count) {
    fifo->at_single = 0;
    fifo->singles = count;
    for (size_t i = 0; i < count; i++)
        ki_object_ref(fifo->batch[i].obj);
}

static void end_single(in_order_fifo *fifo) {
    ki_object_unref(fifo->batch[fifo->at_single++].obj);
}

/* Passes one change of a slice on, as a part of its list. */
static ki_status pop_single(in_order_fifo *fifo, const ki_queued_list *list, ki_process process, void *user,
                            ki_error *err) {
    const ki_change *change = &fifo->batch[fifo->at_single];
    const ki_deltas deltas = {
        .items = change, .count = 1, .is_part = true, .resource_version = list->resource_version
    };
    bool requeue = false;
    fifo->processing = 1;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->processing = 0;
    if (requeue && ki_fifo_stays(&fifo->base, change, 1, status))
        return status;
    if (!requeue)
        ki_fifo_note_passed(&fifo->base, change, 1);
    end_single(fifo);
    return status;
}

/* Passes a slice of a list or resync on as a part, or releases one. After a lack of memory the list starts over: what
 * was staged of it is dropped. */
static ki_status pop_list(in_order_fifo *fifo, ki_process process, void *user, ki_error *err) {
    ki_queued_list *list = at(fifo, 0)->list;
    if (fifo->is_releasing) {
        release_some(fifo, list);
        return KI_OK;
    }
    if (fifo->at_single < fifo->singles)
        return pop_single(fifo, list, process, user, err);
    if (list->phase == KI_LIST_BEGINS && ki_fifo_look_at_failed(&fifo->base, list)) {
        fifo->base.queue.work = 1;
        return KI_OK;
    }
    ki_deltas deltas = { .resource_version = list->resource_version };
    ki_status status = gather_part(fifo, list, &deltas.count);
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, "processing a list");
    deltas.items = fifo->batch;
    deltas.is_part = status != KI_ERR_NOT_FOUND;
    if (deltas.is_part && deltas.count == 0)
        return KI_OK;
    bool requeue = false;
    fifo->processing = 1;
    status = process(&deltas, user, &requeue, err);
    fifo->processing = 0;
    if (requeue && status && status != KI_ERR_NO_MEMORY && deltas.count) {
        begin_singles(fifo, deltas.count);
        ki_queued_list_end_walk(list);
        return KI_OK;
    }
    fifo->base.queue.stays_first = requeue;
    if (requeue) {
        if (!status || status == KI_ERR_NO_MEMORY)
            ki_queued_list_rewind(list);
        return status; /* else the end of the list comes again */
    }
    ki_fifo_note_passed(&fifo->base, deltas.items, deltas.count);
    ki_queued_list_end_walk(list);
    if (!deltas.is_part)
        release_some(fifo, list);
    return status;
}

static ki_status fifo_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    in_order_fifo *fifo = (in_order_fifo *)queue;
    queue->work = 0;
    queue->stays_first = false;
    const ki_arrival *first = at(fifo, 0);
    if (!first)
        return ki_fifo_set_empty(&fifo->base, err);
    if (fifo->processing)
        return ki_error_set(err, KI_ERR_STATE, "an item of the queue is being processed");
    return first->list ? pop_list(fifo, process, user, err) : pop_events(fifo, &first->change, process, user, err);
}

static size_t fifo_length(const ki_queue *queue) {
    const in_order_fifo *fifo = (const in_order_fifo *)queue;
    return fifo->base.arrivals.count - fifo->processing;
}

/* ---- new, free ---- */

static void fifo_free(ki_queue *queue) {
    in_order_fifo *fifo = (in_order_fifo *)queue;
    while (fifo->at_single < fifo->singles)
        end_single(fifo);
    ki_map_free(&fifo->keys);
    if (fifo->batch != &fifo->first)
        ki_free(&fifo->base.allocator, fifo->batch);
    ki_fifo_free(&fifo->base);
}

static const ki_queue_ops in_order_fifo_ops = {
    .put = ki_fifo_put,
    .replace = ki_fifo_replace,
    .resync = ki_fifo_resync,
    .is_resyncing = ki_fifo_is_resyncing,
    .pop = fifo_pop,
    .retry = ki_fifo_retry,
    .close = ki_fifo_close,
    .has_synced = ki_fifo_has_synced,
    .length = fifo_length,
    .free = fifo_free,
};

ki_queue *ki_in_order_fifo_new(const ki_queue_options *options) {
    in_order_fifo *fifo = ki_fifo_new(sizeof *fifo, &in_order_fifo_ops, options);
    if (!fifo)
        return NULL;
    ki_map_init(&fifo->keys, &fifo->base.allocator, options->seed);
    fifo->batch = &fifo->first;
    fifo->capacity = 1;
    return &fifo->base.queue;
}
