/* fifo.c: see fifo.h. */
#include "src/cache/queue/fifo.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/object/object.h"

#include <string.h>

enum {
    BATCH_SIZE = 1000 /* as client-go's */
};

bool ki_change_is_repeated(const ki_change *change, const ki_object *known) {
    const char *version = ki_object_resource_version(change->obj);
    if (change->is_listed || change->is_resync || change->final_state_unknown || !version[0])
        return false;
    ki_order order = ki_resource_version_compare(version, ki_object_resource_version(known));
    /* The same version with another content: the server used the version again after a restore. */
    bool is_known = change->type != KI_EVENT_DELETE && order == KI_ORDER_SAME;
    return order == KI_ORDER_OLDER || (is_known && ki_object_is_same_state(change->obj, known));
}

/* ---- what has failed ---- */

static ki_str key_of(const ki_failed *failed) {
    return ki_str_of(ki_object_key(failed->changes[0].obj));
}

static void drop_failed(ki_fifo *fifo, ki_failed *failed) {
    (void)ki_map_remove(&fifo->failed, key_of(failed));
    *(failed->before ? &failed->before->next : &fifo->first_failed) = failed->next;
    *(failed->next ? &failed->next->before : &fifo->last_failed) = failed->before;
    if (fifo->next_failed == failed)
        fifo->next_failed = failed->next;
    fifo->queue.failed--;
    fifo->initial -= failed->is_initial;
    for (size_t i = 0; i < failed->count; i++)
        ki_object_unref(failed->changes[i].obj);
    ki_free(&fifo->allocator, failed);
}

void ki_fifo_note_passed(ki_fifo *fifo, const ki_change *changes, size_t count) {
    for (size_t i = 0; i < count && fifo->queue.failed; i++) {
        ki_failed *older = ki_map_get(&fifo->failed, ki_str_of(ki_object_key(changes[i].obj)));
        if (older && !changes[i].is_resync)
            drop_failed(fifo, older);
    }
}

/* Adds changes of one key, in place of those that failed before; a resync is no newer than those. Takes references. */
static ki_status add_failed(ki_fifo *fifo, const ki_change *changes, size_t count) {
    if (changes[0].is_resync && ki_map_has(&fifo->failed, ki_str_of(ki_object_key(changes[0].obj))))
        return KI_OK;
    ki_failed *failed = ki_alloc(&fifo->allocator, sizeof *failed + count * sizeof *changes);
    if (!failed)
        return KI_ERR_NO_MEMORY;
    memcpy(failed->changes, changes, count * sizeof *changes);
    ki_fifo_note_passed(fifo, changes, 1);
    failed->before = fifo->last_failed;
    failed->next = NULL;
    failed->count = count;
    failed->is_initial = false;
    failed->behind = fifo->dropped + fifo->arrivals.count;
    if (ki_map_put(&fifo->failed, key_of(failed), failed, NULL)) {
        ki_free(&fifo->allocator, failed);
        return KI_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        ki_object_ref(changes[i].obj);
        failed->is_initial = failed->is_initial || changes[i].is_in_initial_list;
    }
    *(fifo->last_failed ? &fifo->last_failed->next : &fifo->first_failed) = failed;
    fifo->last_failed = failed;
    fifo->queue.failed++;
    fifo->initial += failed->is_initial;
    return KI_OK;
}

bool ki_fifo_stays(ki_fifo *fifo, const ki_change *changes, size_t count, ki_status status) {
    bool is_failed = status && status != KI_ERR_NO_MEMORY;
    fifo->queue.stays_first = !is_failed || add_failed(fifo, changes, count);
    return fifo->queue.stays_first;
}

bool ki_fifo_look_at_failed(ki_fifo *fifo, const ki_queued_list *list) {
    if (!fifo->is_looking)
        fifo->next_failed = fifo->first_failed;
    fifo->is_looking = fifo->next_failed && !list->is_resync && !list->keeps_all;
    if (!fifo->is_looking)
        return false;
    ki_failed *failed = fifo->next_failed;
    fifo->next_failed = failed->next;
    if (ki_queued_list_lacks(list, ki_object_key(failed->changes[0].obj))) /* its keys: those that it keeps */
        drop_failed(fifo, failed);
    return true;
}

/* ---- new, free ---- */

ki_status ki_queue_new(const ki_queue_options *options, ki_queue **ret_queue, ki_error *err) {
    ki_queue_options given;
    if (!ret_queue)
        return ki_error_missing(err, "ki_queue_new");
    if (KI_OPTIONS_TAKE(options, &given, "KI_QUEUE_OPTIONS", err))
        return KI_ERR_INVALID;
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
    ki_map_init(&fifo->failed, &fifo->allocator, options->seed);
    return fifo;
}

void ki_fifo_free(ki_fifo *fifo) {
    while (ki_fifo_first(fifo))
        ki_fifo_drop(fifo);
    while (fifo->first_failed)
        drop_failed(fifo, fifo->first_failed);
    ki_map_free(&fifo->failed);
    ki_ring_free(&fifo->arrivals);
    ki_allocator allocator = fifo->allocator;
    ki_free(&allocator, fifo);
}

/* ---- adding ---- */

static ki_status set_closed(ki_error *err) {
    return ki_error_set(err, KI_ERR_CLOSED, "the queue is closed");
}

static void signal_ready(const ki_fifo *fifo) {
    if (fifo->queue.ready)
        fifo->queue.ready(fifo->queue.ready_user);
}

static ki_status put_change(ki_fifo *fifo, const ki_change *change) {
    ki_object_ref(change->obj);
    ki_status status = fifo->queue_change && !fifo->arrivals.count
                           ? fifo->queue_change(fifo, change)
                           : ki_ring_push(&fifo->arrivals, &(ki_arrival){ .change = *change });
    if (status)
        ki_object_unref(change->obj);
    return status;
}

ki_status ki_fifo_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    ki_fifo *fifo = (ki_fifo *)queue;
    if (queue->is_closed)
        return set_closed(err);
    bool was_empty = queue->ops->length(queue) == 0;
    if (put_change(fifo, change))
        return ki_error_no_memory(err, "queueing a change");
    ki_fifo_note_passed(fifo, change, 1);
    fifo->is_populated = true;
    if (was_empty && queue->ops->length(queue))
        signal_ready(fifo);
    return KI_OK;
}

/* Queues the changes of a failed item. KI_ERR_NO_MEMORY: some are left. */
static ki_status put_failed(ki_fifo *fifo, ki_failed *failed) {
    while (failed->count > 1) {
        ki_object *obj = failed->changes[0].obj;
        if (put_change(fifo, &failed->changes[0]))
            return KI_ERR_NO_MEMORY;
        memmove(failed->changes, failed->changes + 1, --failed->count * sizeof *failed->changes);
        (void)ki_map_put(&fifo->failed, key_of(failed), failed, NULL); /* the key of the next object: cannot fail */
        ki_object_unref(obj);
    }
    ki_status status = put_change(fifo, &failed->changes[0]);
    if (!status)
        drop_failed(fifo, failed);
    return status;
}

/* Returns true if all that was queued when an item failed, also what is newer of its key, is processed. */
static bool is_due(const ki_fifo *fifo, const ki_failed *failed) {
    return failed && !fifo->lists && fifo->dropped >= failed->behind;
}

size_t ki_fifo_retry(ki_queue *queue, size_t max) {
    ki_fifo *fifo = (ki_fifo *)queue;
    size_t done = 0;
    while (done < max && is_due(fifo, fifo->first_failed) && !put_failed(fifo, fifo->first_failed))
        done++;
    return done;
}

/* Queues a list, or a resync if it is NULL. */
static ki_status put_list(ki_fifo *fifo, const ki_listing *listing, ki_error *err) {
    if (fifo->queue.is_closed)
        return set_closed(err);
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
    fifo->lists++;
    bool was_empty = fifo->queue.ops->length(&fifo->queue) == 0;
    (void)ki_ring_push(&fifo->arrivals, &(ki_arrival){ .list = list });
    if (was_empty)
        signal_ready(fifo);
    return KI_OK;
}

ki_status ki_fifo_replace(ki_queue *queue, const ki_listing *listing, ki_error *err) {
    return put_list((ki_fifo *)queue, listing, err);
}

ki_status ki_fifo_resync(ki_queue *queue, ki_error *err) {
    return put_list((ki_fifo *)queue, NULL, err);
}

void ki_fifo_close(ki_queue *queue) {
    if (queue->is_closed)
        return;
    queue->is_closed = true;
    signal_ready((ki_fifo *)queue);
}

/* ---- reading ---- */

bool ki_fifo_is_resyncing(const ki_queue *queue) {
    return ((const ki_fifo *)queue)->resyncs > 0;
}

bool ki_fifo_has_synced(const ki_queue *queue) {
    const ki_fifo *fifo = (const ki_fifo *)queue;
    return fifo->is_populated && fifo->initial == 0;
}

/* ---- popping ---- */

ki_status ki_fifo_set_empty(const ki_fifo *fifo, ki_error *err) {
    if (fifo->queue.is_closed && !fifo->queue.failed)
        return set_closed(err);
    return ki_error_set(err, KI_ERR_NOT_FOUND, "the queue is empty");
}

ki_arrival *ki_fifo_first(const ki_fifo *fifo) {
    return ki_ring_at(&fifo->arrivals, 0);
}

void ki_fifo_drop(ki_fifo *fifo) {
    ki_arrival dropped = { .list = NULL };
    fifo->dropped += ki_ring_pop(&fifo->arrivals, &dropped);
    if (dropped.list) {
        fifo->lists--;
        fifo->initial -= dropped.list->is_initial;
        fifo->resyncs -= dropped.list->is_resync;
        ki_queued_list_free(dropped.list);
    }
    ki_object_unref(dropped.change.obj);
}
