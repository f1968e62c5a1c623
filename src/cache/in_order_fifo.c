/* in_order_fifo.c: see in_order_fifo.h.
 *
 * A ring of items. An item that pop hands over stays at the front of the ring until it is processed. After a failure
 * the order is thus unchanged. */
#include "src/cache/in_order_fifo.h"

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/base/ring.h"

/* A queued list; one block of memory with its texts. */
typedef struct replacement {
    ki_object **objects; /* owned */
    size_t count, kept_count;
    const char **kept;
    bool keeps_all;
    bool is_processed; /* pop releases the objects, a slice at a time */
    char *resource_version;
} replacement;

typedef struct item {
    ki_deltas_kind kind;      /* KI_DELTAS_BATCH for an event: one pop can hand over several */
    ki_change change;         /* an event's */
    replacement *replacement; /* owned; a list's */
} item;

typedef struct in_order_fifo {
    ki_queue queue; /* first */
    ki_allocator allocator;
    size_t batch_size;
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

static void release(in_order_fifo *fifo, item *released) {
    ki_object_unref(released->change.obj);
    replacement *list = released->replacement;
    if (!list)
        return;
    while (list->count > 0)
        ki_object_unref(list->objects[--list->count]);
    ki_free(&fifo->allocator, list->objects);
    ki_free(&fifo->allocator, list);
}

/* ---- adding ---- */

static ki_status check_open(const in_order_fifo *fifo, ki_error *err) {
    return fifo->closed ? ki_error_set(err, KI_ERR_CLOSED, "the queue is closed") : KI_OK;
}

static void signal_ready(const in_order_fifo *fifo) {
    if (fifo->queue.ready)
        fifo->queue.ready(fifo->queue.ready_user);
}

/* Adds an item and takes over its memory; on failure the caller keeps it. */
static ki_status push(in_order_fifo *fifo, const item *pushed, ki_error *err) {
    if (ki_ring_push(&fifo->items, pushed))
        return ki_error_no_memory(err, "queueing a change");
    if (fifo->items.count == 1)
        signal_ready(fifo);
    return KI_OK;
}

static ki_status fifo_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    in_order_fifo *fifo = of(queue);
    const item event = { .kind = KI_DELTAS_BATCH, .change = *change };
    ki_status status = check_open(fifo, err);
    if (!status)
        status = push(fifo, &event, err);
    if (status)
        return status;
    ki_object_ref(change->obj);
    fifo->populated = true;
    return KI_OK;
}

static size_t texts_size(const ki_listing *list) {
    size_t size = strlen(list->resource_version) + 1;
    for (size_t i = 0; i < list->kept_count; i++)
        size += strlen(list->kept[i]) + 1;
    return size;
}

static char *append_text(char **at, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

/* Copies a list without its objects. The size cannot overflow: keys and texts are in memory already. */
static replacement *new_replacement(in_order_fifo *fifo, const ki_listing *list) {
    replacement *made = ki_alloc(&fifo->allocator, sizeof *made + list->kept_count * sizeof(char *) + texts_size(list));
    if (!made)
        return NULL;
    *made = (replacement){ .kept_count = list->kept_count, .keeps_all = list->keeps_all };
    made->kept = (const char **)(made + 1);
    char *texts = (char *)(made->kept + list->kept_count);
    made->resource_version = append_text(&texts, list->resource_version);
    for (size_t i = 0; i < list->kept_count; i++)
        made->kept[i] = append_text(&texts, list->kept[i]);
    return made;
}

static ki_status fifo_replace(ki_queue *queue, const ki_listing *listing, ki_error *err) {
    in_order_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    item list = { .kind = KI_DELTAS_REPLACE, .replacement = new_replacement(fifo, listing) };
    if (!list.replacement)
        return ki_error_no_memory(err, "queueing a list");
    status = push(fifo, &list, err);
    if (status) {
        release(fifo, &list);
        return status;
    }
    list.replacement->objects = listing->objects;
    list.replacement->count = listing->count;
    if (!fifo->populated)
        fifo->initial = fifo->items.count;
    fifo->populated = true;
    return KI_OK;
}

static ki_status fifo_resync(ki_queue *queue, ki_error *err) {
    in_order_fifo *fifo = of(queue);
    const item resync = { .kind = KI_DELTAS_RESYNC };
    ki_status status = check_open(fifo, err);
    if (!status)
        status = push(fifo, &resync, err);
    if (!status)
        fifo->resyncs++;
    return status;
}

static bool fifo_is_resyncing(const ki_queue *queue) {
    return ((const in_order_fifo *)queue)->resyncs > 0;
}

/* ---- popping ---- */

static const item *at(const in_order_fifo *fifo, size_t index) {
    return ki_ring_at(&fifo->items, index);
}

/* Returns true if item `count` is an event that fits into the batch: the batch has room, and no event with this key. */
static bool fits_batch(const in_order_fifo *fifo, size_t count) {
    const item *next = at(fifo, count);
    size_t most = fifo->queue.slice && fifo->queue.slice < fifo->batch_size ? fifo->queue.slice : fifo->batch_size;
    if (!next || next->kind != KI_DELTAS_BATCH || count >= most)
        return false;
    return !ki_map_has(&fifo->keys, ki_str_of(ki_object_key(next->change.obj)));
}

static void note_key(in_order_fifo *fifo, ki_change *change) {
    /* Cannot fail: the map has room for a whole batch. */
    if (ki_map_put(&fifo->keys, ki_str_of(ki_object_key(change->obj)), change, NULL))
        return;
}

/* Fills the batch with events from the front. Returns their number, at least 1. */
static size_t gather(in_order_fifo *fifo) {
    size_t count = 0;
    fifo->batch[count++] = at(fifo, 0)->change;
    if (!at(fifo, 1))
        return count; /* one event, the usual case: no keys to compare */
    note_key(fifo, &fifo->batch[0]);
    while (fits_batch(fifo, count)) {
        fifo->batch[count] = at(fifo, count)->change;
        note_key(fifo, &fifo->batch[count++]);
    }
    for (size_t i = 0; i < count; i++)
        ki_map_remove(&fifo->keys, ki_str_of(ki_object_key(fifo->batch[i].obj)));
    return count;
}

/* Describes the next item or batch in `*ret_deltas`. Returns its number of items. */
static size_t next(in_order_fifo *fifo, ki_deltas *ret_deltas) {
    const item *first = at(fifo, 0);
    *ret_deltas = (ki_deltas){ .kind = first->kind, .is_in_initial_list = fifo->initial > 0 };
    switch (first->kind) {
    case KI_DELTAS_REPLACE:
        ret_deltas->objects = first->replacement->objects;
        ret_deltas->count = first->replacement->count;
        ret_deltas->kept = first->replacement->kept;
        ret_deltas->kept_count = first->replacement->kept_count;
        ret_deltas->keeps_all = first->replacement->keeps_all;
        ret_deltas->resource_version = first->replacement->resource_version;
        return 1;
    case KI_DELTAS_OF_KEY: /* never queued */
    case KI_DELTAS_BATCH:
        ret_deltas->items = fifo->batch;
        ret_deltas->count = gather(fifo);
        return ret_deltas->count;
    case KI_DELTAS_RESYNC:
        break;
    }
    return 1;
}

static void drop(in_order_fifo *fifo, size_t count) {
    item dropped;
    for (size_t i = 0; i < count && ki_ring_pop(&fifo->items, &dropped); i++) {
        fifo->resyncs -= dropped.kind == KI_DELTAS_RESYNC;
        release(fifo, &dropped);
    }
    fifo->initial -= fifo->initial < count ? fifo->initial : count;
}

/* Releases a slice of a processed list's objects. Drops the list after the last one. */
static void release_slice(in_order_fifo *fifo, replacement *list) {
    size_t slice = ki_queue_slice(&fifo->queue);
    for (; list->count > 0 && fifo->queue.work < slice; fifo->queue.work++)
        ki_object_unref(list->objects[--list->count]);
    if (list->count == 0)
        drop(fifo, 1);
}

/* Drops the processed items at the front. A list is dropped in slices. */
static void end_items(in_order_fifo *fifo, size_t count) {
    const item *first = at(fifo, 0);
    if (first->kind != KI_DELTAS_REPLACE) {
        drop(fifo, count);
        return;
    }
    first->replacement->is_processed = true;
    release_slice(fifo, first->replacement);
}

static ki_status fifo_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    in_order_fifo *fifo = of(queue);
    if (fifo->items.count == 0) {
        ki_status status = check_open(fifo, err);
        return status ? status : ki_error_set(err, KI_ERR_NOT_FOUND, "the queue is empty");
    }
    if (fifo->processing)
        return ki_error_set(err, KI_ERR_STATE, "an item of the queue is being processed");
    queue->work = 0;
    replacement *list = at(fifo, 0)->replacement;
    if (list && list->is_processed) {
        release_slice(fifo, list);
        return KI_OK;
    }
    ki_deltas deltas;
    size_t count = next(fifo, &deltas);
    bool requeue = false;
    fifo->processing = count;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->processing = 0;
    if (!requeue)
        end_items(fifo, count);
    return status;
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
    fifo->allocator = *options->allocator;
    fifo->batch_size = options->batch_size;
    ki_ring_init(&fifo->items, &fifo->allocator, sizeof(item));
    ki_map_init(&fifo->keys, &fifo->allocator, options->seed);
    fifo->batch = ki_alloc_array(&fifo->allocator, fifo->batch_size, sizeof *fifo->batch);
    if (!fifo->batch || ki_map_reserve(&fifo->keys, fifo->batch_size)) {
        fifo_free(&fifo->queue);
        return ki_error_no_memory(err, "making a queue");
    }
    *ret_queue = &fifo->queue;
    return KI_OK;
}
