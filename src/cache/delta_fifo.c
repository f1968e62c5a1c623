/* delta_fifo.c: see delta_fifo.h.
 *
 * Each key with queued deltas has one entry. A map finds the entry by key; a linked list has the entries in the order
 * of their first delta. A change allocates all memory first, so the queue takes a change whole or not at all.
 *
 * A list or resync can have very many objects. The queue stores it as one arrival, and each pop works off a slice of
 * it. Until all of it is worked off, pop hands out no key, and later changes wait behind it as arrivals. All slices
 * thus see the same keys and known objects. */
#include "src/cache/delta_fifo.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/ring.h"
#include "src/base/wide_map.h"
#include "src/object/object.h"

enum {
    INLINE_DELTAS = 2,   /* deltas within the entry; more are allocated */
    KEEP_DELTAS = 16,    /* a released entry frees a larger delta array */
    KEEP_ENTRIES = 1024, /* released entries kept for reuse */
    KEEP_KEYS = 256,     /* an empty part of the map keeps a table of so many places */
    SHRINK_WORK = 64     /* units for freeing a larger one */
};

typedef struct entry entry;
struct entry {
    entry *before, *after; /* neighbours in the queue */
    entry *next;           /* in the list of free entries */
    ki_object *key_owner;  /* owned reference; the entry has the object's key */
    ki_change *deltas;     /* `few`, or allocated */
    uint32_t capacity;
    uint32_t count;  /* deltas queued; 0: not in the queue */
    bool initial;    /* part of the initial population, not processed yet */
    bool is_sync;    /* has a delta of a resync */
    uint64_t listed; /* number of the last list with this key; see `replaces` */
    ki_change few[INLINE_DELTAS];
};

/* A list that is not worked off; one block of memory with its texts. */
typedef struct list {
    ki_object **objects; /* owned; the queue's entries own the references before `next` */
    size_t count, next;
    ki_map kept;    /* keys of unreadable objects; their texts are in this block */
    size_t kept_at; /* cursor in `kept` */
    bool keeps_all;
    bool is_initial;
} list;

typedef enum arrival_kind {
    ARRIVAL_CHANGE,
    ARRIVAL_LIST,
    ARRIVAL_RESYNC
} arrival_kind;

/* A change, list or resync that is not worked off. */
typedef struct arrival {
    arrival_kind kind;
    ki_change change; /* owns its object */
    list *list;       /* owned */
} arrival;

/* The progress of the first arrival. */
typedef enum phase {
    PHASE_BEGIN,
    PHASE_OBJECTS,
    PHASE_KEPT,
    PHASE_QUEUED, /* tombstones for queued objects that are not listed */
    PHASE_KNOWN   /* tombstones for known objects that are not listed; in a resync, Sync deltas */
} phase;

typedef struct delta_fifo {
    ki_queue queue; /* first */
    ki_delta_fifo_options options;
    ki_allocator allocator;
    ki_wide_map entries;
    entry *first, *last;
    size_t entry_count;
    entry *free;
    size_t free_count;
    bool is_processing; /* the first entry is being processed */
    ki_ring arrivals;
    phase phase; /* of the first arrival */
    /* PHASE_QUEUED: the next entry, and the last entry from before the list; `at` NULL: none left */
    entry *at, *until;
    ki_known_walk walk; /* PHASE_KNOWN */
    ki_object *walked;  /* borrowed from the walk: the object that could not be queued; NULL: none */
    bool initial_waits; /* the initial population is not worked off */
    size_t initial;     /* entries of the initial population, not processed yet */
    size_t syncs;       /* entries with a delta of a resync */
    size_t resyncs;     /* resyncs that are not worked off */
    uint64_t replaces;  /* lists begun so far */
    bool populated;     /* the queue has received a change or a list */
    bool closed;
} delta_fifo;

static delta_fifo *of(ki_queue *queue) {
    return (delta_fifo *)queue;
}

static ki_str key_of(const entry *e) {
    return ki_str_of(ki_object_key(e->key_owner));
}

/* ---- entries ---- */

static void free_entry(delta_fifo *fifo, entry *e) {
    if (e->deltas != e->few)
        ki_free(&fifo->allocator, e->deltas);
    ki_free(&fifo->allocator, e);
}

/* Releases the contents of an entry that is neither in the queue nor in the map. Keeps the entry for reuse. */
static void release_entry(delta_fifo *fifo, entry *e) {
    for (uint32_t i = 0; i < e->count; i++)
        ki_object_unref(e->deltas[i].obj);
    ki_object_unref(e->key_owner);
    if (fifo->free_count >= KEEP_ENTRIES) {
        free_entry(fifo, e);
        return;
    }
    ki_change *deltas = e->deltas;
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

/* Adds an entry to the map, not to the queue. Returns NULL without memory. */
static entry *new_entry(delta_fifo *fifo, ki_object *key_owner) {
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
    e->key_owner = ki_object_ref(key_owner);
    if (ki_wide_map_put(&fifo->entries, key_of(e), e, NULL)) {
        release_entry(fifo, e);
        return NULL;
    }
    return e;
}

static entry *find(const delta_fifo *fifo, const char *key) {
    return ki_wide_map_get(&fifo->entries, ki_str_of(key));
}

static void enqueue(delta_fifo *fifo, entry *e) {
    e->before = fifo->last;
    e->after = NULL;
    *(fifo->last ? &fifo->last->after : &fifo->first) = e;
    fifo->last = e;
    fifo->entry_count++;
}

static void dequeue(delta_fifo *fifo, entry *e) {
    *(e->before ? &e->before->after : &fifo->first) = e->after;
    *(e->after ? &e->after->before : &fifo->last) = e->before;
    e->before = e->after = NULL;
    fifo->entry_count--;
}

static void signal_ready(delta_fifo *fifo) {
    if (fifo->queue.ready)
        fifo->queue.ready(fifo->queue.ready_user);
}

/* ---- deltas ---- */

static bool make_room(delta_fifo *fifo, entry *e) {
    if (e->count < e->capacity)
        return true;
    if (e->capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = e->capacity * 2;
    ki_change *deltas = e->deltas == e->few ? NULL : e->deltas;
    deltas = ki_realloc_array(&fifo->allocator, deltas, capacity, sizeof *deltas);
    if (!deltas)
        return false;
    if (e->deltas == e->few)
        memcpy(deltas, e->few, e->count * sizeof *deltas);
    e->deltas = deltas;
    e->capacity = capacity;
    return true;
}

static bool is_older(const ki_object *obj, const ki_object *than) {
    return ki_resource_version_compare(ki_object_resource_version(obj), ki_object_resource_version(than)) ==
           KI_ORDER_OLDER;
}

/* client-go's dedupDeltas. Merges two consecutive Deleted deltas of one object into the one with the later version: a
 * watch may repeat a deletion from before the known state, and the store skips that deletion. If neither version is
 * later, keeps the older delta, or the newer if the older is a tombstone. Never merges deletions of two objects with
 * one key. */
static void merge_deletions(entry *e) {
    if (e->count < 2)
        return;
    ki_change *newer = &e->deltas[e->count - 1];
    ki_change *older = newer - 1;
    if (older->type != KI_EVENT_DELETE || newer->type != KI_EVENT_DELETE || !ki_object_is_same(older->obj, newer->obj))
        return;
    bool is_replaced =
        is_older(older->obj, newer->obj) || (older->final_state_unknown && !is_older(newer->obj, older->obj));
    ki_object *dropped = is_replaced ? older->obj : newer->obj;
    if (is_replaced)
        *older = *newer;
    e->count--;
    ki_object_unref(dropped);
}

static void append(delta_fifo *fifo, entry *e, const ki_change *delta) {
    if (e->count == 0)
        enqueue(fifo, e);
    if (delta->is_in_initial_list && !e->initial) {
        e->initial = true;
        fifo->initial++;
    }
    if (delta->is_resync && !e->is_sync) {
        e->is_sync = true;
        fifo->syncs++;
    }
    e->deltas[e->count++] = *delta;
    merge_deletions(e);
}

/* Adds a delta to its key's entry and takes over the reference. KI_ERR_NO_MEMORY leaves the queue unchanged. */
static ki_status queue_delta(delta_fifo *fifo, const ki_change *delta, entry **ret_entry) {
    entry *e = find(fifo, ki_object_key(delta->obj));
    bool is_new = !e;
    if (is_new)
        e = new_entry(fifo, delta->obj);
    if (!e)
        return KI_ERR_NO_MEMORY;
    if (!make_room(fifo, e)) /* never fails for a new entry */
        return KI_ERR_NO_MEMORY;
    append(fifo, e, delta);
    if (ret_entry)
        *ret_entry = e;
    return KI_OK;
}

/* Returns a reference, or NULL. */
static ki_object *known_object(const delta_fifo *fifo, const char *key) {
    const ki_known_objects *known = &fifo->options.known;
    return known->get ? known->get(key, known->user) : NULL;
}

static bool is_known(const delta_fifo *fifo, const char *key) {
    ki_object *obj = known_object(fifo, key);
    ki_object_unref(obj);
    return obj != NULL;
}

/* As queue_delta. Drops a deletion of an object that is neither queued nor known. */
static ki_status queue_change(delta_fifo *fifo, const ki_change *delta) {
    /* A list may have deleted the object already. */
    const char *key = ki_object_key(delta->obj);
    if (delta->type == KI_EVENT_DELETE && !find(fifo, key) && !is_known(fifo, key)) {
        ki_object_unref(delta->obj);
        return KI_OK;
    }
    return queue_delta(fifo, delta, NULL);
}

/* ---- adding ---- */

static size_t length(const delta_fifo *fifo) {
    return fifo->entry_count + fifo->arrivals.count - fifo->is_processing;
}

static ki_status check_open(const delta_fifo *fifo, ki_error *err) {
    return fifo->closed ? ki_error_set(err, KI_ERR_CLOSED, "the queue is closed") : KI_OK;
}

static ki_status arrive(delta_fifo *fifo, const arrival *arrived) {
    return ki_ring_push(&fifo->arrivals, arrived);
}

static ki_status fifo_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    delta_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    bool was_empty = length(fifo) == 0;
    const arrival arrived = { ARRIVAL_CHANGE, *change, NULL };
    ki_object_ref(change->obj);
    status = fifo->arrivals.count ? arrive(fifo, &arrived) : queue_change(fifo, change);
    if (status) {
        ki_object_unref(change->obj);
        return ki_error_no_memory(err, "queueing a change");
    }
    fifo->populated = true;
    if (was_empty && length(fifo))
        signal_ready(fifo);
    return KI_OK;
}

static list *new_list(delta_fifo *fifo, const ki_listing *listing) {
    size_t size = sizeof(list);
    for (size_t i = 0; i < listing->kept_count; i++)
        size += strlen(listing->kept[i]) + 1; /* no overflow: the texts are in memory already */
    list *made = ki_alloc(&fifo->allocator, size);
    if (!made)
        return NULL;
    *made = (list){ .objects = listing->objects,
                    .count = listing->count,
                    .keeps_all = listing->keeps_all,
                    .is_initial = !fifo->populated };
    ki_map_init(&made->kept, &fifo->allocator, fifo->options.seed);
    char *text = (char *)(made + 1);
    for (size_t i = 0; i < listing->kept_count; i++) {
        size_t text_size = strlen(listing->kept[i]) + 1;
        memcpy(text, listing->kept[i], text_size);
        if (ki_map_put(&made->kept, ki_str_of(text), made, NULL)) {
            ki_map_free(&made->kept);
            ki_free(&fifo->allocator, made);
            return NULL;
        }
        text += text_size;
    }
    return made;
}

static ki_status fifo_replace(ki_queue *queue, const ki_listing *listing, ki_error *err) {
    delta_fifo *fifo = of(queue);
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    bool was_empty = length(fifo) == 0;
    arrival arrived = { .kind = ARRIVAL_LIST, .list = new_list(fifo, listing) };
    if (!arrived.list || arrive(fifo, &arrived)) {
        if (arrived.list)
            ki_map_free(&arrived.list->kept);
        ki_free(&fifo->allocator, arrived.list);
        return ki_error_no_memory(err, "queueing a list");
    }
    fifo->initial_waits = fifo->initial_waits || !fifo->populated;
    fifo->populated = true;
    if (was_empty)
        signal_ready(fifo);
    return KI_OK;
}

static ki_status fifo_resync(ki_queue *queue, ki_error *err) {
    delta_fifo *fifo = of(queue);
    const arrival arrived = { .kind = ARRIVAL_RESYNC };
    bool was_empty = length(fifo) == 0;
    ki_status status = check_open(fifo, err);
    if (status)
        return status;
    if (arrive(fifo, &arrived))
        return ki_error_no_memory(err, "queueing a resync");
    fifo->resyncs++;
    if (was_empty)
        signal_ready(fifo);
    return KI_OK;
}

static bool fifo_is_resyncing(const ki_queue *queue) {
    const delta_fifo *fifo = (const delta_fifo *)queue;
    return fifo->syncs + fifo->resyncs > 0;
}

/* ---- working off arrivals ---- */

static ki_status queue_listed(delta_fifo *fifo, list *from) {
    entry *e;
    const ki_change delta = { .type = KI_EVENT_UPDATE,
                              .is_listed = true,
                              .is_in_initial_list = from->is_initial,
                              .obj = from->objects[from->next] };
    ki_status status = queue_delta(fifo, &delta, &e);
    if (status)
        return status;
    e->listed = fifo->replaces;
    from->next++;
    return KI_OK;
}

/* Marks the entry of the next kept key as listed. Returns false after the last key. */
static bool keep_next(delta_fifo *fifo, list *from) {
    ki_str key;
    if (!ki_map_next(&from->kept, &from->kept_at, &key, NULL))
        return false;
    entry *e = ki_wide_map_get(&fifo->entries, key);
    if (e)
        e->listed = fifo->replaces;
    return true;
}

static ki_status queue_tombstone(delta_fifo *fifo, const list *from, ki_object *obj) {
    const ki_change delta = { .type = KI_EVENT_DELETE,
                              .final_state_unknown = true,
                              .is_in_initial_list = from->is_initial,
                              .obj = ki_object_ref(obj) };
    ki_status status = queue_delta(fifo, &delta, NULL);
    if (status)
        ki_object_unref(obj);
    return status;
}

/* Returns a reference to a queued object's last state: the newest delta's object. If the newest delta is a deletion
 * from before the known state, returns the known object. */
static ki_object *last_state(const delta_fifo *fifo, const entry *e) {
    const ki_change *newest = &e->deltas[e->count - 1];
    if (newest->type != KI_EVENT_DELETE || newest->final_state_unknown)
        return ki_object_ref(newest->obj);
    const char *key = ki_object_key(newest->obj);
    ki_object *known = e->count > 1 ? ki_object_ref(newest[-1].obj) : known_object(fifo, key);
    if (known && is_older(newest->obj, known) && ki_object_is_same(newest->obj, known))
        return known;
    ki_object_unref(known);
    return ki_object_ref(newest->obj);
}

static ki_status delete_queued(delta_fifo *fifo, const list *from) {
    entry *e = fifo->at;
    ki_status status = KI_OK;
    if (e->listed != fifo->replaces) {
        ki_object *obj = last_state(fifo, e);
        status = queue_tombstone(fifo, from, obj);
        ki_object_unref(obj);
    }
    if (!status)
        fifo->at = e == fifo->until ? NULL : e->after;
    return status;
}

/* Deletes a known object that is not listed. A key with an entry is listed, or PHASE_QUEUED handled it. */
static ki_status delete_known(delta_fifo *fifo, const list *from, ki_object *obj) {
    const char *key = ki_object_key(obj);
    bool is_unlisted = !find(fifo, key) && !ki_map_has(&from->kept, ki_str_of(key));
    return is_unlisted ? queue_tombstone(fifo, from, obj) : KI_OK;
}

static ki_status queue_sync(delta_fifo *fifo, ki_object *obj) {
    if (find(fifo, ki_object_key(obj)))
        return KI_OK; /* the queued deltas are newer */
    const ki_change delta = { .type = KI_EVENT_UPDATE, .is_resync = true, .obj = ki_object_ref(obj) };
    ki_status status = queue_delta(fifo, &delta, NULL);
    if (status)
        ki_object_unref(obj);
    return status;
}

/* Does one unit of the walk over the known objects. */
static ki_status walk_next(delta_fifo *fifo, const arrival *first, bool *ret_done) {
    const ki_known_objects *known = &fifo->options.known;
    ki_object *obj = fifo->walked;
    fifo->walked = NULL;
    if (!obj && known->next)
        obj = known->next(&fifo->walk, known->user);
    *ret_done = !obj;
    if (!obj)
        return KI_OK;
    ki_status status = first->kind == ARRIVAL_LIST ? delete_known(fifo, first->list, obj) : queue_sync(fifo, obj);
    if (status)
        fifo->walked = obj;
    return status;
}

static void end_walk(delta_fifo *fifo) {
    const ki_known_objects *known = &fifo->options.known;
    if (known->end)
        known->end(&fifo->walk, known->user);
    fifo->walk = (ki_known_walk){ .snapshot = NULL };
    fifo->walked = NULL;
}

/* Does one unit of work of the first arrival. */
static ki_status do_unit(delta_fifo *fifo, arrival *first, bool *ret_done) {
    list *from = first->list;
    switch (fifo->phase) {
    case PHASE_BEGIN:
        fifo->phase = first->kind == ARRIVAL_RESYNC ? PHASE_KNOWN : PHASE_OBJECTS;
        fifo->replaces += first->kind == ARRIVAL_LIST;
        fifo->at = fifo->first;
        fifo->until = fifo->last;
        return KI_OK;
    case PHASE_OBJECTS:
        if (from->next < from->count)
            return queue_listed(fifo, from);
        fifo->phase = PHASE_KEPT;
        return KI_OK;
    case PHASE_KEPT:
        if (keep_next(fifo, from))
            return KI_OK;
        fifo->phase = PHASE_QUEUED;
        *ret_done = from->keeps_all;
        return KI_OK;
    case PHASE_QUEUED:
        if (fifo->at)
            return delete_queued(fifo, from);
        fifo->phase = PHASE_KNOWN;
        return KI_OK;
    case PHASE_KNOWN:
        return walk_next(fifo, first, ret_done);
    }
    return KI_OK;
}

static void free_list(delta_fifo *fifo, list *freed) {
    if (!freed)
        return;
    for (size_t i = freed->next; i < freed->count; i++)
        ki_object_unref(freed->objects[i]);
    ki_map_free(&freed->kept);
    ki_free(&fifo->allocator, freed->objects);
    ki_free(&fifo->allocator, freed);
}

/* Drops the first arrival: it is done, or the queue is being freed. */
static void end_arrival(delta_fifo *fifo) {
    arrival ended;
    if (!ki_ring_pop(&fifo->arrivals, &ended))
        return;
    end_walk(fifo);
    fifo->phase = PHASE_BEGIN;
    fifo->resyncs -= ended.kind == ARRIVAL_RESYNC;
    if (ended.list && ended.list->is_initial)
        fifo->initial_waits = false;
    free_list(fifo, ended.list);
}

/* Works off a slice of the arrivals. After KI_ERR_NO_MEMORY the next pop retries the failed unit. */
static ki_status do_slice(delta_fifo *fifo, ki_error *err) {
    size_t slice = ki_queue_slice(&fifo->queue);
    ki_status status = KI_OK;
    size_t done = 0;
    for (arrival *first; !status && done < slice && (first = ki_ring_at(&fifo->arrivals, 0)); done++) {
        bool is_done = first->kind == ARRIVAL_CHANGE;
        status = is_done ? queue_change(fifo, &first->change) : do_unit(fifo, first, &is_done);
        if (!status && is_done)
            end_arrival(fifo);
    }
    fifo->queue.work = done;
    return status ? ki_error_no_memory(err, "queueing a change") : KI_OK;
}

/* ---- popping ---- */

/* Frees the tables of a large map as they become empty: malloc can take long to free one. */
static void shrink(delta_fifo *fifo, const entry *e) {
    if (ki_wide_map_shrink(&fifo->entries, key_of(e), KEEP_KEYS))
        fifo->queue.work += SHRINK_WORK;
}

static void drop(delta_fifo *fifo, entry *e) {
    dequeue(fifo, e);
    ki_wide_map_remove(&fifo->entries, key_of(e));
    shrink(fifo, e);
    fifo->initial -= e->initial;
    fifo->syncs -= e->is_sync;
    release_entry(fifo, e);
}

static ki_status fifo_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    delta_fifo *fifo = of(queue);
    queue->work = 0;
    if (fifo->arrivals.count)
        return do_slice(fifo, err);
    entry *e = fifo->first;
    if (!e) {
        ki_status status = check_open(fifo, err);
        return status ? status : ki_error_set(err, KI_ERR_NOT_FOUND, "the queue is empty");
    }
    if (fifo->is_processing)
        return ki_error_set(err, KI_ERR_STATE, "an item of the queue is being processed");
    ki_deltas deltas = {
        .key = ki_object_key(e->key_owner), .items = e->deltas, .count = e->count, .is_in_initial_list = e->initial
    };
    bool requeue = false;
    fifo->is_processing = true;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->is_processing = false;
    if (!requeue)
        drop(fifo, e);
    return status;
}

static void fifo_close(ki_queue *queue) {
    delta_fifo *fifo = of(queue);
    if (fifo->closed)
        return;
    fifo->closed = true;
    signal_ready(fifo);
}

static bool fifo_has_synced(const ki_queue *queue) {
    const delta_fifo *fifo = (const delta_fifo *)queue;
    return fifo->populated && fifo->initial == 0 && !fifo->initial_waits;
}

static size_t fifo_length(const ki_queue *queue) {
    return length((const delta_fifo *)queue);
}

/* ---- new, free ---- */

static void fifo_free(ki_queue *queue) {
    delta_fifo *fifo = of(queue);
    for (const arrival *first; (first = ki_ring_at(&fifo->arrivals, 0));) {
        ki_object_unref(first->change.obj);
        end_arrival(fifo);
    }
    ki_ring_free(&fifo->arrivals);
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
    ki_wide_map_free(&fifo->entries);
    ki_allocator allocator = fifo->allocator;
    ki_free(&allocator, fifo);
}

static const ki_queue_ops delta_fifo_ops = {
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

ki_status ki_delta_fifo_new(const ki_delta_fifo_options *options, ki_queue **ret_queue, ki_error *err) {
    delta_fifo *fifo = ki_alloc_zero(options->allocator, sizeof *fifo);
    if (!fifo)
        return ki_error_no_memory(err, "making a queue");
    fifo->queue.ops = &delta_fifo_ops;
    fifo->options = *options;
    fifo->allocator = *options->allocator;
    fifo->options.allocator = &fifo->allocator;
    ki_wide_map_init(&fifo->entries, &fifo->allocator, options->seed);
    ki_ring_init(&fifo->arrivals, &fifo->allocator, sizeof(arrival));
    *ret_queue = &fifo->queue;
    return KI_OK;
}
