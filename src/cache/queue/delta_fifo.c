/* delta_fifo.c: the optional queue, as client-go's DeltaFIFO: a list of deltas for each key, keys in the order of their
 * first delta. See queue.h.
 *
 * Each key with queued deltas has one entry. A map finds the entry by key; a linked list has the entries in the order
 * of their first delta. A change allocates all memory first, so the queue takes a change whole or not at all.
 *
 * A list or resync can have very many objects. The queue stores it as one arrival, and each pop works off a slice of
 * it (queued_list.c). Until all of it is worked off, pop hands out no key, and later changes wait behind it as
 * arrivals. All slices thus see the same keys and known objects. The keys that a list deletes come first, before all
 * others: a handler gets the deletions before it gets what the list adds or changes.
 *
 * A list that finds the queue empty, when no object is known, needs no entries: it becomes the rest, and pop hands out
 * its objects themselves, one by one, before any entry. A change that arrives meanwhile gets an entry, which waits for
 * its key's object of the rest. If another list or a resync arrives, what is left of the rest is queued by key. So a
 * first list takes little memory beside its objects. */
#include "src/cache/queue/fifo.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/object/object.h"

enum {
    INLINE_DELTAS = 2,   /* deltas within the entry; more are allocated */
    KEEP_DELTAS = 16,    /* a released entry frees a larger delta array */
    KEEP_ENTRIES = 1024, /* released entries kept for reuse */
    KEEP_FEW = 16,       /* of them, stay in any case: a few events more than last time need no memory */
    GIVE_BACK = 64       /* of them, at most so many are freed when a pop empties the queue */
};

typedef struct entry entry;
struct entry {
    entry *before, *after; /* neighbours in the queue */
    entry *next;           /* in the list of free entries */
    ki_object *key_owner;  /* owned reference; the entry has the object's key */
    ki_change *deltas;     /* `few`, or allocated */
    uint32_t capacity;
    uint32_t count;  /* deltas queued; 0: not in the queue */
    uint32_t doubts; /* first deltas: deletions of an object that only the rest of a list can have */
    bool initial;    /* part of the initial population, not processed yet */
    bool is_sync;    /* has a delta of a resync */
    uint64_t listed; /* number of the last list or resync with this key; see `lists` */
    ki_change few[INLINE_DELTAS];
};

typedef struct delta_fifo {
    ki_fifo base;   /* first */
    ki_map entries; /* all that are in the queue */
    entry *first, *last;
    entry *free;
    uint16_t free_count;
    uint16_t spare;     /* entries of `free` that were not needed since a pop emptied the queue */
    bool is_processing; /* the first entry, or `unit`, is being processed */
    /* The progress of the first arrival, a list or resync. */
    bool has_begun;
    ki_change unit;    /* the next change, borrowed; `obj` NULL: not taken from the list */
    entry *at, *until; /* the next queued entry to delete unless it is listed, and the last one; `at` NULL: none left */
    uint64_t lists;    /* lists and resyncs begun so far */
    entry *deleted;    /* the last of the entries that the list deletes, which are first; NULL: none */
    /* The list whose objects pop hands out before the entries; NULL: none. Then `unit` is its next object. */
    ki_queued_list *rest;
    entry *placed; /* the last entry made of the rest; NULL: none */
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
        ki_free(&fifo->base.allocator, e->deltas);
    ki_free(&fifo->base.allocator, e);
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
        ki_free(&fifo->base.allocator, deltas);
        deltas = e->few;
        capacity = INLINE_DELTAS;
    }
    *e = (entry){ .deltas = deltas, .capacity = capacity, .next = fifo->free };
    fifo->free = e;
    fifo->free_count++;
    KI_ASSERT(fifo->free_count <= KEEP_ENTRIES && fifo->spare <= fifo->free_count);
}

/* Makes an entry that is neither in the map nor in the queue. Returns NULL without memory. */
static entry *new_entry(delta_fifo *fifo, ki_object *key_owner) {
    entry *e = fifo->free;
    if (e) {
        fifo->free = e->next;
        fifo->free_count--;
        if (fifo->spare > fifo->free_count)
            fifo->spare = fifo->free_count;
        e->next = NULL;
    } else {
        e = ki_alloc(&fifo->base.allocator, sizeof *e);
        if (!e)
            return NULL;
        *e = (entry){ .deltas = e->few, .capacity = INLINE_DELTAS };
    }
    e->key_owner = ki_object_ref(key_owner);
    return e;
}

/* A pop has emptied the queue. Frees some of the entries that it did not need since the last such pop: a burst can come
 * again. */
static void give_back(delta_fifo *fifo) {
    for (unsigned i = 0; i < GIVE_BACK && i < fifo->spare && fifo->free_count > KEEP_FEW; i++) {
        entry *e = fifo->free;
        fifo->free = e->next;
        fifo->free_count--;
        free_entry(fifo, e);
    }
    fifo->spare = fifo->free_count;
}

/* Returns the entry of an object's key, which is made and added to the map if there is none; NULL without memory. */
static entry *entry_of(delta_fifo *fifo, ki_object *obj) {
    ki_map_slot *slot = ki_map_slot_of(&fifo->entries, ki_str_of(ki_object_key(obj)));
    if (!slot || slot->value)
        return slot ? slot->value : NULL;
    entry *e = new_entry(fifo, obj);
    slot->value = e;
    if (!e)
        (void)ki_map_remove(&fifo->entries, ki_str_of(ki_object_key(obj)));
    return e;
}

static entry *find(const delta_fifo *fifo, const char *key) {
    return ki_map_get(&fifo->entries, ki_str_of(key));
}

/* Queues an entry behind another one; `before` NULL: as the first. */
static void enqueue(delta_fifo *fifo, entry *e, entry *before) {
    KI_ASSERT(!e->before && !e->after && fifo->first != e);
    e->before = before;
    e->after = before ? before->after : fifo->first;
    *(before ? &before->after : &fifo->first) = e;
    *(e->after ? &e->after->before : &fifo->last) = e;
}

static void dequeue(delta_fifo *fifo, entry *e) {
    KI_ASSERT(e->before ? e->before->after == e : fifo->first == e);
    KI_ASSERT(e->after ? e->after->before == e : fifo->last == e);
    *(e->before ? &e->before->after : &fifo->first) = e->after;
    *(e->after ? &e->after->before : &fifo->last) = e->before;
    e->before = e->after = NULL;
}

/* ---- deltas ---- */

static bool make_room(delta_fifo *fifo, entry *e) {
    KI_ASSERT(e->count <= e->capacity && e->doubts <= e->count);
    if (e->count < e->capacity)
        return true;
    if (e->capacity > UINT32_MAX / 2)
        return false;
    uint32_t capacity = e->capacity * 2;
    ki_change *deltas = e->deltas == e->few ? NULL : e->deltas;
    deltas = ki_realloc_array(&fifo->base.allocator, deltas, capacity, sizeof *deltas);
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
    if (e->doubts == e->count)
        e->doubts--;
    e->count--;
    ki_object_unref(dropped);
}

/* Counts the entry as one of the initial population, or of a resync, if this delta is. */
static void count_delta(delta_fifo *fifo, entry *e, const ki_change *delta) {
    if (delta->is_in_initial_list && !e->initial) {
        e->initial = true;
        fifo->base.initial++;
    }
    if (delta->is_resync && !e->is_sync) {
        e->is_sync = true;
        fifo->base.resyncs++;
    }
}

/* Puts an entry, whose key the list in progress deletes, behind the others that it deletes and before all that stay. */
static void move_to_front(delta_fifo *fifo, entry *e) {
    dequeue(fifo, e);
    enqueue(fifo, e, fifo->deleted);
    fifo->deleted = e;
}

/* Makes an entry the last one. The list or resync in progress passes over it. */
static void move_to_end(delta_fifo *fifo, entry *e) {
    if (fifo->at == e)
        fifo->at = fifo->until == e ? NULL : e->after;
    else if (fifo->until == e)
        fifo->until = e->before;
    dequeue(fifo, e);
    enqueue(fifo, e, fifo->last);
}

/* The next delta of an entry whose deltas are all in doubt: a deletion is in doubt, too; from another one on the key
 * has its place in the queue. */
static void follow_doubts(delta_fifo *fifo, entry *e, const ki_change *next) {
    if (next->type == KI_EVENT_DELETE)
        e->doubts++;
    else
        move_to_end(fifo, e);
}

static void append(delta_fifo *fifo, entry *e, const ki_change *delta) {
    if (e->count == 0)
        enqueue(fifo, e, fifo->last);
    else if (e->doubts == e->count)
        follow_doubts(fifo, e, delta);
    count_delta(fifo, e, delta);
    KI_ASSERT(e->count < e->capacity);
    e->deltas[e->count++] = *delta;
    merge_deletions(e);
    KI_ASSERT(e->count > 0 && e->doubts <= e->count);
}

/* Returns the entry of an object's key with room for one more delta; NULL without memory. */
static entry *entry_with_room(delta_fifo *fifo, ki_object *obj) {
    entry *e = entry_of(fifo, obj);
    return e && make_room(fifo, e) ? e : NULL; /* never fails for a new entry */
}

/* Adds a delta to its key's entry and takes over the reference. KI_ERR_NO_MEMORY leaves the queue unchanged. */
static ki_status queue_delta(delta_fifo *fifo, const ki_change *delta, entry **ret_entry) {
    entry *e = entry_with_room(fifo, delta->obj);
    if (!e)
        return KI_ERR_NO_MEMORY;
    append(fifo, e, delta);
    if (ret_entry)
        *ret_entry = e;
    return KI_OK;
}

/* Returns a reference, or NULL. */
static ki_object *known_object(const delta_fifo *fifo, const char *key) {
    const ki_known_objects *known = &fifo->base.options.known;
    return known->get ? known->get(key, known->user) : NULL;
}

static bool is_known(const delta_fifo *fifo, const char *key) {
    ki_object *obj = known_object(fifo, key);
    ki_object_unref(obj);
    return obj != NULL;
}

/* As queue_delta. Drops a deletion of an object that is neither queued nor known. If the rest can have the object, the
 * deletion is in doubt until the rest is handed out. */
static ki_status queue_change(ki_fifo *base, const ki_change *delta) {
    delta_fifo *fifo = (delta_fifo *)base;
    /* A list may have deleted the object already. */
    const char *key = ki_object_key(delta->obj);
    bool is_unknown = delta->type == KI_EVENT_DELETE && !find(fifo, key) && !is_known(fifo, key);
    if (is_unknown && !fifo->rest) {
        ki_object_unref(delta->obj);
        return KI_OK;
    }
    entry *e;
    ki_status status = queue_delta(fifo, delta, &e);
    if (!status && is_unknown)
        e->doubts = 1;
    return status;
}

/* ---- the rest of a list ---- */

/* Makes the first arrival the rest. */
static void begin_rest(delta_fifo *fifo) {
    KI_ASSERT(!fifo->rest && !fifo->placed && fifo->base.lists > 0);
    ki_arrival *first = ki_fifo_first(&fifo->base);
    fifo->rest = first->list;
    first->list = NULL;
    fifo->base.lists--;
    ki_fifo_drop(&fifo->base);
    fifo->has_begun = false;
}

/* The next object of the rest has an owner: drops it, and the rest after its last object. */
static void take_from_rest(delta_fifo *fifo) {
    ki_queued_list *rest = fifo->rest;
    ki_queued_list_take(rest);
    fifo->unit.obj = NULL;
    if (rest->released < rest->count)
        return;
    fifo->base.initial -= rest->is_initial;
    fifo->rest = NULL;
    fifo->placed = NULL;
    ki_queued_list_free(rest);
}

/* Sets `unit` to the next object of the rest. */
static void look_at_rest(delta_fifo *fifo) {
    if (!fifo->unit.obj)
        (void)ki_queued_list_next(fifo->rest, &fifo->unit); /* has one */
}

/* Queues the next object of the rest: before the changes of its key, and its key before those of changes alone.
 * KI_ERR_NO_MEMORY leaves the queue unchanged. */
static ki_status queue_rest(delta_fifo *fifo) {
    look_at_rest(fifo);
    entry *e = entry_with_room(fifo, fifo->unit.obj);
    if (!e)
        return KI_ERR_NO_MEMORY;
    if (e->count)
        dequeue(fifo, e);
    enqueue(fifo, e, fifo->placed);
    count_delta(fifo, e, &fifo->unit);
    memmove(e->deltas + 1, e->deltas, e->count++ * sizeof *e->deltas);
    e->deltas[0] = fifo->unit;
    e->listed = fifo->lists;
    e->doubts = 0;
    fifo->placed = e;
    take_from_rest(fifo);
    return KI_OK;
}

/* Drops the deletions in doubt: the rest did not have their object. Returns false if the entry has no other deltas. */
static bool drop_doubts(entry *e) {
    for (uint32_t i = 0; i < e->doubts; i++)
        ki_object_unref(e->deltas[i].obj);
    e->count -= e->doubts;
    memmove(e->deltas, e->deltas + e->doubts, e->count * sizeof *e->deltas);
    e->doubts = 0;
    return e->count;
}

/* ---- working off arrivals ---- */

/* Queues a change of a list or resync. A known object with queued deltas needs none: in a resync they are newer, and in
 * a list delete_next deletes it. */
static ki_status queue_unit(delta_fifo *fifo, ki_queued_list *from, const ki_change *unit) {
    entry *e;
    if (!unit->is_listed && find(fifo, ki_object_key(unit->obj)))
        return KI_OK;
    ki_status status = queue_delta(fifo, unit, &e);
    if (status)
        return status;
    e->listed = fifo->lists;
    if (unit->is_listed)
        ki_queued_list_take(from);
    else
        ki_object_ref(unit->obj);
    if (unit->type == KI_EVENT_DELETE)
        move_to_front(fifo, e);
    return KI_OK;
}

/* Returns a reference to the state that the deltas of a queued object lead to. If that is none, returns the newest
 * delta's object. */
static ki_object *last_state(const delta_fifo *fifo, const entry *e) {
    const ki_change *newest = &e->deltas[e->count - 1];
    if (newest->type != KI_EVENT_DELETE || newest->final_state_unknown)
        return ki_object_ref(newest->obj);
    ki_object *known = known_object(fifo, ki_object_key(newest->obj)), *state = known;
    for (uint32_t i = 0; i < e->count; i++) {
        if (!state || !ki_change_is_repeated(&e->deltas[i], state))
            state = e->deltas[i].type == KI_EVENT_DELETE ? NULL : e->deltas[i].obj;
    }
    ki_object *last = ki_object_ref(state ? state : newest->obj);
    ki_object_unref(known);
    return last;
}

/* Deletes the next queued object, unless it is listed or of another namespace. */
static ki_status delete_next(delta_fifo *fifo, const ki_queued_list *from) {
    KI_ASSERT(fifo->at && fifo->until);
    entry *e = fifo->at, *next = e == fifo->until ? NULL : e->after;
    bool is_deleted = e->listed != fifo->lists && ki_queued_list_lacks(from, ki_object_key(e->key_owner));
    ki_status status = KI_OK;
    if (is_deleted) {
        const ki_change gone = { .type = KI_EVENT_DELETE,
                                 .final_state_unknown = true,
                                 .is_in_initial_list = from->is_initial,
                                 .obj = last_state(fifo, e) };
        status = queue_delta(fifo, &gone, NULL);
        if (status)
            ki_object_unref(gone.obj);
    }
    if (status)
        return status;
    fifo->at = next;
    if (is_deleted)
        move_to_front(fifo, e);
    return KI_OK;
}

/* Does one unit of a list or resync. */
static ki_status do_unit(delta_fifo *fifo, ki_queued_list *from, bool *ret_done) {
    if (!fifo->has_begun && ki_fifo_look_at_failed(&fifo->base, from))
        return KI_OK;
    if (!fifo->has_begun) {
        fifo->has_begun = true;
        fifo->lists++;
        fifo->deleted = NULL;
        fifo->at = from->is_resync || from->keeps_all ? NULL : fifo->first;
        fifo->until = fifo->last;
        from->is_first = !fifo->first;
    }
    ki_status status = fifo->unit.obj ? KI_OK : ki_queued_list_next(from, &fifo->unit);
    if (status == KI_ERR_NOT_FOUND) {
        *ret_done = !fifo->at;
        return fifo->at ? delete_next(fifo, from) : KI_OK;
    }
    if (!status && fifo->unit.obj)
        status = queue_unit(fifo, from, &fifo->unit);
    else
        ki_queued_list_end_walk(from);
    if (!status)
        fifo->unit.obj = NULL;
    return status;
}

/* Returns true if pop can hand out the objects of a list without entries. */
static bool needs_no_entries(const ki_queued_list *list) {
    bool has_object = list->phase == KI_LIST_OBJECTS && list->released < list->count;
    return has_object && ki_queued_list_is_plain(list) && !list->keys.part_count;
}

/* Does one unit of the first arrival. */
static ki_status do_first(delta_fifo *fifo, ki_arrival *first) {
    bool is_done = !first->list;
    if (first->list && fifo->rest)
        return queue_rest(fifo);
    ki_status status = first->list ? do_unit(fifo, first->list, &is_done) : queue_change(&fifo->base, &first->change);
    if (status)
        return status;
    if (is_done) {
        first->change.obj = NULL; /* taken */
        fifo->has_begun = false;
        ki_fifo_drop(&fifo->base);
    } else if (needs_no_entries(first->list)) {
        begin_rest(fifo);
    }
    return KI_OK;
}

/* Works off a slice of the arrivals. After KI_ERR_NO_MEMORY the next pop retries the failed unit. */
static ki_status do_slice(delta_fifo *fifo, ki_error *err) {
    ki_fifo *base = &fifo->base;
    size_t slice = ki_queue_slice(&base->queue);
    ki_status status = KI_OK;
    size_t done = 0;
    for (ki_arrival *first; !status && done < slice && (first = ki_fifo_first(base)); done++)
        status = do_first(fifo, first);
    base->queue.work = done;
    return status ? ki_error_no_memory(err, "queueing a change") : KI_OK;
}

/* ---- popping ---- */

static void drop(delta_fifo *fifo, entry *e) {
    if (fifo->placed == e)
        fifo->placed = NULL;
    dequeue(fifo, e);
    ki_map_remove(&fifo->entries, key_of(e));
    fifo->base.initial -= e->initial;
    fifo->base.resyncs -= e->is_sync;
    release_entry(fifo, e);
}

/* Prepares what pop hands out next of the rest: `unit`, or the first entry, made of the object and the changes of its
 * key. An entry that is listed before is left of a failure. */
static ki_status prepare_rest(delta_fifo *fifo, ki_error *err) {
    if (fifo->first && fifo->first->listed)
        return KI_OK;
    look_at_rest(fifo);
    if (!fifo->first || !find(fifo, ki_object_key(fifo->unit.obj)))
        return KI_OK;
    return queue_rest(fifo) ? ki_error_no_memory(err, "queueing a change") : KI_OK;
}

static ki_status pop_unit(delta_fifo *fifo, ki_process process, void *user, ki_error *err) {
    const ki_deltas deltas = { .items = &fifo->unit, .count = 1 };
    ki_object *obj = fifo->unit.obj;
    bool requeue = false;
    fifo->is_processing = true;
    ki_status status = process(&deltas, user, &requeue, err);
    fifo->is_processing = false;
    if (requeue && ki_fifo_stays(&fifo->base, &fifo->unit, 1, status))
        return status;
    if (!requeue)
        ki_fifo_note_passed(&fifo->base, &fifo->unit, 1);
    take_from_rest(fifo);
    ki_object_unref(obj);
    return status;
}

static ki_status pop_entry(delta_fifo *fifo, ki_process process, void *user, ki_error *err) {
    entry *e = fifo->first;
    ki_status status = KI_OK;
    bool requeue = false, stays = false;
    if (e->doubts && !drop_doubts(e)) {
        fifo->base.queue.work = 1;
    } else {
        const ki_deltas deltas = { .items = e->deltas, .count = e->count };
        fifo->is_processing = true;
        status = process(&deltas, user, &requeue, err);
        fifo->is_processing = false;
        stays = requeue && ki_fifo_stays(&fifo->base, e->deltas, e->count, status);
        if (!requeue)
            ki_fifo_note_passed(&fifo->base, e->deltas, e->count);
    }
    if (!stays)
        drop(fifo, e);
    return status;
}

static size_t fifo_length(const ki_queue *queue) {
    const delta_fifo *fifo = (const delta_fifo *)queue;
    size_t rest = fifo->rest ? fifo->rest->count - fifo->rest->released : 0;
    return fifo->entries.count + fifo->base.arrivals.count + rest - fifo->is_processing;
}

static ki_status fifo_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    delta_fifo *fifo = of(queue);
    queue->work = 0;
    queue->stays_first = false;
    if (fifo->is_processing)
        return ki_error_set(err, KI_ERR_STATE, "an item of the queue is being processed");
    if (ki_fifo_first(&fifo->base))
        return do_slice(fifo, err);
    ki_status status = fifo->rest ? prepare_rest(fifo, err) : KI_OK;
    if (status)
        return status;
    if (!fifo->unit.obj && !fifo->first)
        return ki_fifo_set_empty(&fifo->base, err);
    status = fifo->unit.obj ? pop_unit(fifo, process, user, err) : pop_entry(fifo, process, user, err);
    if (fifo_length(queue) == 0)
        give_back(fifo);
    return status;
}

/* ---- new, free ---- */

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
    ki_queued_list_free(fifo->rest);
    ki_fifo_free(&fifo->base);
}

static const ki_queue_ops delta_fifo_ops = {
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

ki_queue *ki_delta_fifo_new(const ki_queue_options *options) {
    delta_fifo *fifo = ki_fifo_new(sizeof *fifo, &delta_fifo_ops, options);
    if (!fifo)
        return NULL;
    fifo->base.queue_change = queue_change;
    ki_map_init(&fifo->entries, &fifo->base.allocator, options->seed);
    return &fifo->base.queue;
}
