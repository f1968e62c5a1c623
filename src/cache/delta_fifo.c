/* delta_fifo.c: see delta_fifo.h.
 *
 * One entry for each key that has something queued, found through a map, on a list in the order of first
 * arrival. A change is staged first: everything that it needs is allocated and its deltas are written
 * behind those that count. Then it is committed, which cannot fail, or taken back, which leaves the
 * queue as it was. */
#include "src/cache/delta_fifo.h"

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/base/mutant.h"
#include "src/cache/processor.h"

enum {
    INLINE_DELTAS = 2,    /* more than these of one key are allocated */
    KEEP_DELTAS = 16,     /* an entry that grew larger gives its deltas' memory back */
    KEEP_ENTRIES = 1024,  /* free entries that wait for their next use */
    KEEP_CAPACITY = 16384 /* slots of the map that an empty queue may keep */
};

typedef struct entry entry;
struct entry {
    entry *before, *after; /* in the queue */
    entry *next;           /* staged with this change, or free */
    ki_object *named_by;   /* owned reference; its key is the entry's */
    ki_delta *deltas;      /* `few`, or allocated */
    uint32_t capacity;
    uint32_t count;  /* deltas queued; 0: not in the queue */
    uint32_t staged; /* deltas behind them that do not count yet */
    bool initial;    /* of the initial population, and not yet processed */
    uint64_t listed; /* number of the last Replace that had this key */
    ki_delta few[INLINE_DELTAS];
};

typedef struct delta_fifo {
    ki_queue queue; /* first */
    ki_delta_fifo_options options;
    ki_allocator allocator;
    ki_map entries;
    entry *first, *last;
    size_t length;
    entry *free;
    size_t free_count;
    size_t processing; /* entries taken out, for which the map has room to come back */
    entry *staged_first, *staged_last;
    size_t initial;    /* entries of the initial population that are not yet processed */
    uint64_t replaces; /* number of Replaces so far */
    bool populated;    /* something came in once */
    bool closed;
} delta_fifo;

static delta_fifo *of(ki_queue *queue) {
    return (delta_fifo *)queue;
}

static ki_str key_of(const entry *e) {
    return ki_str_of(ki_object_key(e->named_by));
}

/* ---- entries ---- */

static void free_entry(delta_fifo *fifo, entry *e) {
    if (e->deltas != e->few)
        ki_free(&fifo->allocator, e->deltas);
    ki_free(&fifo->allocator, e);
}

/* Ends an entry that is in no list and not in the map: releases what it holds and keeps it for its next
 * use. */
static void release_entry(delta_fifo *fifo, entry *e) {
    for (uint32_t i = 0; i < e->count; i++)
        ki_object_unref(e->deltas[i].obj);
    ki_object_unref(e->named_by);
    if (fifo->free_count >= KEEP_ENTRIES) {
        free_entry(fifo, e);
        return;
    }
    ki_delta *deltas = e->deltas;
    uint32_t capacity = e->capacity;
    if (capacity > KEEP_DELTAS) {
        ki_free(&fifo->allocator, deltas);
        deltas = e->few;
        capacity = INLINE_DELTAS;
    }
    *e = (entry){ .deltas = deltas, .capacity = capacity, .next = fifo->free };
    fifo->free = e;
    fifo->free_count++;
}

/* A new entry, in the map and not in the queue. */
static entry *new_entry(delta_fifo *fifo, ki_object *named_by) {
    /* Entries that are being processed may come back: their room in the map is not to be used up. */
    if (ki_map_reserve(&fifo->entries, fifo->entries.count + fifo->processing + 1))
        return NULL;
    entry *e = fifo->free;
    if (e) {
        fifo->free = e->next;
        fifo->free_count--;
        e->next = NULL;
    } else {
        e = ki_alloc(&fifo->allocator, sizeof *e);
        if (!e)
            return NULL;
        *e = (entry){ .deltas = e->few, .capacity = INLINE_DELTAS };
    }
    e->named_by = ki_object_ref(named_by);
    if (ki_map_put(&fifo->entries, key_of(e), e, NULL)) {
        release_entry(fifo, e);
        return NULL;
    }
    return e;
}

static entry *find(const delta_fifo *fifo, const char *key) {
    return ki_map_get(&fifo->entries, ki_str_of(key));
}

static void enqueue(delta_fifo *fifo, entry *e) {
    e->before = fifo->last;
    e->after = NULL;
    *(fifo->last ? &fifo->last->after : &fifo->first) = e;
    fifo->last = e;
    fifo->length++;
}

static void dequeue(delta_fifo *fifo, entry *e) {
    *(e->before ? &e->before->after : &fifo->first) = e->after;
    *(e->after ? &e->after->before : &fifo->last) = e->before;
    e->before = e->after = NULL;
    fifo->length--;
}

static void tell_ready(delta_fifo *fifo) {
    if (fifo->queue.ready)
        fifo->queue.ready(fifo->queue.ready_user);
}

/* ---- staging ---- */

static bool make_room(delta_fifo *fifo, entry *e) {
    uint32_t used = e->count + e->staged;
    if (used < e->capacity)
        return true;
    if (e->capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = e->capacity * 2;
    ki_delta *deltas = e->deltas == e->few ? NULL : e->deltas;
    deltas = ki_realloc_array(&fifo->allocator, deltas, capacity, sizeof *deltas);
    if (!deltas)
        return false;
    if (e->deltas == e->few)
        memcpy(deltas, e->few, used * sizeof *deltas);
    e->deltas = deltas;
    e->capacity = capacity;
    return true;
}

/* The entry of `named_by`'s key as part of the change at hand, new where there was none. */
static entry *touch(delta_fifo *fifo, ki_object *named_by) {
    entry *e = find(fifo, ki_object_key(named_by));
    if (!e)
        e = new_entry(fifo, named_by);
    if (!e)
        return NULL;
    if (!e->next && e != fifo->staged_last) {
        *(fifo->staged_last ? &fifo->staged_last->next : &fifo->staged_first) = e;
        fifo->staged_last = e;
    }
    return e;
}

static ki_status stage(delta_fifo *fifo, entry *e, ki_delta_type type, bool tombstone, ki_object *obj) {
    if (!e || !make_room(fifo, e))
        return KI_ERR_NO_MEMORY;
    e->deltas[e->count + e->staged++] =
        (ki_delta){ .type = type, .tombstone = tombstone, .obj = obj ? ki_object_ref(obj) : NULL };
    return KI_OK;
}

static entry *next_staged(delta_fifo *fifo) {
    entry *e = fifo->staged_first;
    if (!e)
        return NULL;
    fifo->staged_first = e->next;
    if (!fifo->staged_first)
        fifo->staged_last = NULL;
    e->next = NULL;
    return e;
}

/* Drops an entry that nothing was staged for, or no longer. */
static void drop_if_empty(delta_fifo *fifo, entry *e) {
    if (e->count)
        return;
    ki_map_remove(&fifo->entries, key_of(e));
    release_entry(fifo, e);
}

static void take_back(delta_fifo *fifo) {
    entry *e;
    while ((e = next_staged(fifo))) {
        while (e->staged)
            ki_object_unref(e->deltas[e->count + --e->staged].obj);
        drop_if_empty(fifo, e);
    }
}

static bool are_two_objects(const ki_delta *a, const ki_delta *b) {
    return a->obj && b->obj && !ki_is_same_object(a->obj, b->obj);
}

static bool is_older(const ki_delta *delta, const ki_delta *than) {
    return delta->obj && than->obj &&
           ki_resource_version_compare(ki_object_resource_version(delta->obj), ki_object_resource_version(than->obj)) ==
               KI_ORDER_OLDER;
}

/* Two Deleted of one object in a row are one: the older, unless it is a tombstone: then the newer, which knows more. A server that
 * repeats itself may tell of an earlier object's end first; the end of the one that is there must not be lost to it. Nor the tombstone
 * to a deletion of a time before it, which would be passed over as a repetition: the list that lacks the object is believed. */
static void merge_deletions(entry *e) {
    if (e->count < 2)
        return;
    ki_delta *newer = &e->deltas[e->count - 1];
    ki_delta *older = newer - 1;
    if (older->type != KI_DELTA_DELETED || newer->type != KI_DELTA_DELETED || are_two_objects(older, newer))
        return;
    bool is_replaced = older->tombstone && (!is_older(newer, older) || KI_MUTANT(OLD_DELETE_HIDES_TOMBSTONE));
    ki_object *dropped = is_replaced ? older->obj : newer->obj;
    if (is_replaced)
        *older = *newer;
    e->count--;
    ki_object_unref(dropped);
}

static void commit_entry(delta_fifo *fifo, entry *e, bool is_initial) {
    bool was_empty = e->count == 0;
    if (is_initial && !e->initial) {
        e->initial = true;
        fifo->initial++;
    }
    if (was_empty)
        enqueue(fifo, e);
    /* What is still staged lies behind what counts: merging two that count leaves a gap that has to be
     * closed. */
    for (uint32_t at = e->count, end = at + e->staged; at < end; at++) {
        ki_delta delta = e->deltas[at];
        delta.is_in_initial_list = is_initial;
        if (KI_MUTANT(KEEP_OLDEST_DELTA) && e->count) {
            ki_object_unref(delta.obj);
            continue;
        }
        e->deltas[e->count++] = delta;
        merge_deletions(e);
    }
    e->staged = 0;
}

/* Makes what is staged part of the queue, or takes it back where `status` is a failure. */
static ki_status finish(delta_fifo *fifo, ki_status status, bool is_initial, ki_error *err) {
    if (status) {
        take_back(fifo);
        return status == KI_ERR_NO_MEMORY ? ki_error_no_memory(err, "queueing a change")
                                          : ki_error_set(err, status, "queueing a change");
    }
    bool was_empty = fifo->length == 0;
    entry *e;
    while ((e = next_staged(fifo))) {
        if (e->staged)
            commit_entry(fifo, e, is_initial);
        else
            drop_if_empty(fifo, e);
    }
    if (was_empty && fifo->length)
        tell_ready(fifo);
    return KI_OK;
}

static ki_status check_open(const delta_fifo *fifo, ki_error *err) {
    return fifo->closed ? ki_error_set(err, KI_ERR_CLOSED, "the queue is closed") : KI_OK;
}

/* ---- what comes in ---- */

static ki_status queue_one(delta_fifo *fifo, ki_delta_type type, bool tombstone, ki_object *obj, ki_error *err) {
    ki_status status = finish(fifo, stage(fifo, touch(fifo, obj), type, tombstone, obj), false, err);
    if (!status)
        fifo->populated = true;
    return status;
}

static ki_status fifo_add(ki_queue *queue, ki_object *obj, ki_error *err) {
    ki_status status = check_open(of(queue), err);
    return status ? status : queue_one(of(queue), KI_DELTA_ADDED, false, obj, err);
}

static ki_status fifo_update(ki_queue *queue, ki_object *obj, ki_error *err) {
    ki_status status = check_open(of(queue), err);
    return status ? status : queue_one(of(queue), KI_DELTA_UPDATED, false, obj, err);
}

/* A reference, or NULL. */
static ki_object *known_object(const delta_fifo *fifo, const char *key) {
    const ki_known_objects *known = &fifo->options.known;
    return known->get ? known->get(key, known->user) : NULL;
}

static bool is_known(const delta_fifo *fifo, const char *key) {
    ki_object *obj = known_object(fifo, key);
    ki_object_unref(obj);
    return obj != NULL;
}

static ki_status fifo_remove(ki_queue *queue, ki_object *obj, bool is_last_state, ki_error *err) {
    delta_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    /* Perhaps a Replace has noticed it already: the deletion is not told twice. */
    const char *key = ki_object_key(obj);
    if (!find(fifo, key) && !is_known(fifo, key)) {
        fifo->populated = true;
        return KI_OK;
    }
    return queue_one(fifo, KI_DELTA_DELETED, !is_last_state, obj, err);
}

/* ---- Replace and Resync ---- */

/* Returns the known object where `obj` is the same state: then the store keeps what it has, and the list's own memory goes. A reference. */
static ki_object *known_instance(const delta_fifo *fifo, ki_object *obj) {
    ki_object *known = known_object(fifo, ki_object_key(obj));
    if (known && ki_is_same_state(obj, known))
        return known;
    ki_object_unref(known);
    return ki_object_ref(obj);
}

static ki_status stage_listed(delta_fifo *fifo, ki_object *obj) {
    entry *e = touch(fifo, obj);
    if (!e)
        return KI_ERR_NO_MEMORY;
    e->listed = fifo->replaces;
    ki_object *queued = known_instance(fifo, obj);
    ki_status status = stage(fifo, e, KI_DELTA_REPLACED, false, queued);
    ki_object_unref(queued);
    return status;
}

/* Counts `key` as listed where it is queued or known, so that it gets no tombstone. */
static ki_status keep(delta_fifo *fifo, const char *key) {
    entry *e = find(fifo, key);
    if (!e) {
        ki_object *known = known_object(fifo, key);
        if (!known)
            return KI_OK;
        e = touch(fifo, known);
        ki_object_unref(known);
    }
    if (!e)
        return KI_ERR_NO_MEMORY;
    e->listed = fifo->replaces;
    return KI_OK;
}

static ki_status stage_list(delta_fifo *fifo, const ki_listing *list) {
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < list->count; i++)
        status = stage_listed(fifo, list->objects[i]);
    for (size_t i = 0; !status && i < list->kept_count; i++)
        status = keep(fifo, list->kept[i]);
    return status;
}

static ki_status stage_queued_deletions(delta_fifo *fifo) {
    for (entry *e = fifo->first; e; e = e->after) {
        if (e->listed == fifo->replaces || KI_MUTANT(NO_QUEUED_TOMBSTONES))
            continue;
        ki_object *newest = e->deltas[e->count - 1].obj;
        ki_status status = stage(fifo, touch(fifo, e->named_by), KI_DELTA_DELETED, true, newest);
        if (status)
            return status;
    }
    return KI_OK;
}

/* The rest of what is known: a key that has an entry by now is in the list or was queued. */
static ki_status stage_known_deletion(ki_object *obj, void *context) {
    delta_fifo *fifo = context;
    if (find(fifo, ki_object_key(obj)) || KI_MUTANT(NO_TOMBSTONES))
        return KI_OK;
    return stage(fifo, touch(fifo, obj), KI_DELTA_DELETED, true, obj);
}

static ki_status each_known(delta_fifo *fifo, ki_status (*each)(ki_object *obj, void *context)) {
    const ki_known_objects *known = &fifo->options.known;
    return known->each ? known->each(each, fifo, known->user) : KI_OK;
}

static ki_status fifo_replace(ki_queue *queue, const ki_listing *list, ki_error *err) {
    delta_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err); /* the store learns the list's version from the reflector */
    if (status)
        return status;
    fifo->replaces++;
    status = stage_list(fifo, list);
    if (!status && !list->keeps_all)
        status = stage_queued_deletions(fifo);
    if (!status && !list->keeps_all)
        status = each_known(fifo, stage_known_deletion);
    status = finish(fifo, status, !fifo->populated || KI_MUTANT(ALWAYS_INITIAL), err);
    if (!status)
        fifo->populated = true;
    return status;
}

static ki_status stage_sync(ki_object *obj, void *context) {
    delta_fifo *fifo = context;
    if (find(fifo, ki_object_key(obj)) && !KI_MUTANT(RESYNC_QUEUED_KEYS))
        return KI_OK; /* what is queued is newer */
    return stage(fifo, touch(fifo, obj), KI_DELTA_SYNC, false, obj);
}

static ki_status fifo_resync(ki_queue *queue, ki_error *err) {
    delta_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    return status ? status : finish(fifo, each_known(fifo, stage_sync), false, err);
}

/* ---- what goes out ---- */

static void processed(delta_fifo *fifo, entry *e) {
    if (e->initial)
        fifo->initial--;
    release_entry(fifo, e);
}

/* Puts an entry back whose processing failed. Where something newer is queued that stands for it, in the
 * initial population too. */
static void put_back(delta_fifo *fifo, entry *e) {
    entry *newer = ki_map_get(&fifo->entries, key_of(e));
    if (newer) {
        if (e->initial && !newer->initial) {
            newer->initial = true;
            fifo->initial++;
        }
        processed(fifo, e);
        return;
    }
    ki_map_put(&fifo->entries, key_of(e), e, NULL); /* its room was kept */
    enqueue(fifo, e);
    if (fifo->length == 1)
        tell_ready(fifo);
}

/* An empty queue gives back the table of a time when it was long. */
static void shrink(delta_fifo *fifo) {
    if (fifo->entries.count == 0 && fifo->processing == 0 && fifo->entries.capacity > KEEP_CAPACITY)
        ki_map_free(&fifo->entries);
}

static ki_status fifo_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    delta_fifo *fifo = of(queue);
    entry *e = fifo->first;
    if (!e) {
        ki_status status = check_open(fifo, err);
        return status ? status : ki_error_set(err, KI_ERR_NOT_FOUND, "the queue is empty");
    }
    /* Out of all lists before it is handed over: the callback may queue the same key again. */
    dequeue(fifo, e);
    ki_map_remove(&fifo->entries, key_of(e));
    fifo->processing++;
    ki_deltas deltas = {
        .key = ki_object_key(e->named_by), .items = e->deltas, .count = e->count, .is_in_initial_list = e->initial
    };
    bool requeue = false;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->processing--;
    if (status && requeue && !KI_MUTANT(FORGET_FAILED_ITEM))
        put_back(fifo, e);
    else
        processed(fifo, e);
    shrink(fifo);
    return status;
}

static void fifo_close(ki_queue *queue) {
    delta_fifo *fifo = of(queue);
    if (fifo->closed)
        return;
    fifo->closed = true;
    tell_ready(fifo);
}

static bool fifo_has_synced(const ki_queue *queue) {
    const delta_fifo *fifo = (const delta_fifo *)queue;
    return fifo->populated && (fifo->initial == 0 || KI_MUTANT(SYNCED_WITH_THE_LIST));
}

static size_t fifo_length(const ki_queue *queue) {
    return ((const delta_fifo *)queue)->length;
}

/* ---- its life ---- */

static void fifo_free(ki_queue *queue) {
    delta_fifo *fifo = of(queue);
    while (fifo->first) {
        entry *e = fifo->first;
        dequeue(fifo, e);
        release_entry(fifo, e);
    }
    while (fifo->free) {
        entry *e = fifo->free;
        fifo->free = e->next;
        free_entry(fifo, e);
    }
    ki_map_free(&fifo->entries);
    ki_allocator allocator = fifo->allocator;
    ki_free(&allocator, fifo);
}

static const ki_queue_ops delta_fifo_ops = {
    .add = fifo_add,
    .update = fifo_update,
    .remove = fifo_remove,
    .replace = fifo_replace,
    .resync = fifo_resync,
    .pop = fifo_pop,
    .close = fifo_close,
    .has_synced = fifo_has_synced,
    .length = fifo_length,
    .free = fifo_free,
};

ki_status ki_delta_fifo_new(const ki_delta_fifo_options *options, ki_queue **ret_queue, ki_error *err) {
    delta_fifo *fifo = ki_alloc_zero(options->allocator, sizeof *fifo);
    if (!fifo)
        return ki_error_no_memory(err, "making a queue");
    fifo->queue.ops = &delta_fifo_ops;
    fifo->options = *options;
    fifo->allocator = *options->allocator;
    fifo->options.allocator = &fifo->allocator;
    ki_map_init(&fifo->entries, &fifo->allocator, options->seed);
    *ret_queue = &fifo->queue;
    return KI_OK;
}
