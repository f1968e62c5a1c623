/* packing.c: what the cache keeps of objects: less than all (ki_keep), or all of it with a packed body (pack.h); above
 * a limit less, if the program says so (keep_at_limit). Objects of a list are packed as they arrive (reflector.c),
 * those of events when they are stored: handlers on the loop get the plain object. What waits for a slow handler on a
 * thread of its own is packed, too. Loop. */
#include "src/cache/informer/informer_parts.h"

#include "src/base/error.h"
#include "src/cache/store/snapshot.h"
#include "src/object/object.h"
#include "src/object/pack.h"

/* Returns true while objects of an informer of the factory are being packed. */
static bool waits_for_packing(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    bool waits = informer->packing == KI_PACKS_STORE;
    for (const ki_informer *other = account ? account->first : NULL; other && !waits; other = other->next_in_account)
        waits = other->packing == KI_PACKS_STORE;
    return waits;
}

/* Returns true if objects that are stored now lose their content. Packing comes first. */
static bool drops_content(const ki_informer *informer) {
    return ki_informer_is_above(informer) && ki_informer_may_drop(informer) && !waits_for_packing(informer);
}

/* Gets the object without its content. */
static ki_status drop(ki_object *obj, ki_object **ret_obj) {
    ki_object *made = ki_object_drop_content(obj);
    if (!ki_object_has_content(made)) {
        *ret_obj = made;
        return KI_OK;
    }
    ki_object_unref(made);
    return KI_ERR_NO_MEMORY;
}

ki_status ki_informer_keep(ki_informer *informer, ki_object *obj, ki_object **ret_kept) {
    ki_object *kept;
    ki_status status = ki_object_key_only(obj, &kept, NULL);
    if (status)
        return status;
    if (drops_content(informer))
        status = drop(kept, ret_kept);
    else
        *ret_kept = ki_object_pack(kept);
    ki_object_unref(kept);
    return status;
}

/* The store has the packed object, or the one without its content, already, unless it keeps less, or a later state. */
ki_object *ki_informer_pack_waiting(const ki_change *change, void *user) {
    const ki_informer *informer = user;
    ki_object *stored = ki_store_known(informer->store, ki_object_key(change->obj));
    bool is_dropped = informer->options.given.keep_at_limit && stored && !ki_object_has_content(stored);
    if (stored && (is_dropped || ki_object_is_packed(stored)) && ki_object_is_same_state(stored, change->obj))
        return ki_object_ref(stored);
    return ki_object_pack(change->obj);
}

void ki_informer_train(ki_informer *informer) {
    ki_object_format *first = informer->options.format, *format = first ? ki_object_format_newest(first) : NULL;
    size_t bytes = ki_store_object_bytes(informer->store), count = 0;
    ki_object *samples[KI_BODY_SAMPLES_MAX] = { NULL };
    if (!format || !ki_object_format_is_due(format, bytes))
        return;
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_object *obj = ki_tree_next(&snapshot->items, &cursor); /* in the order of hashes: spread over the cache */
    for (; obj && count < KI_BODY_SAMPLES_MAX; obj = ki_tree_next(&snapshot->items, &cursor))
        samples[count++] = obj;
    ki_object_format_train(format, samples, count, bytes);
    ki_snapshot_unref(snapshot);
}

/* --- at a limit --------------------------------------------------------------------------------------------------- */

enum {
    PLACES_MAX = 1024 /* places of the store for one call */
};

/* What a call may still do. */
typedef struct budget {
    size_t units;
    size_t bytes; /* to be freed */
} budget;

/* Stages what an object of the store becomes. Caller holds change_lock. */
static ki_status shrink_object(ki_informer *informer, ki_object *obj, budget *left) {
    ki_object *made;
    bool packs = informer->packing == KI_PACKS_STORE; /* else contents are dropped */
    ki_status status = packs ? ki_object_try_pack(obj, &made) : drop(obj, &made);
    if (status)
        return status;
    if (made != obj) {
        left->units--;
        left->bytes = ki_memory_above(left->bytes, ki_memory_above(ki_object_memory(obj), ki_object_memory(made)));
        status = ki_store_begin(informer->store, NULL, NULL);
        if (!status)
            status = ki_store_stage_put(informer->store, made, packs ? obj : made);
    }
    ki_object_unref(made);
    return status;
}

/* Caller holds change_lock. */
static ki_status shrink_place(ki_informer *informer, const ki_snapshot *snapshot, budget *left) {
    ki_cursor cursor = KI_CURSOR_INIT;
    unsigned place = informer->places - 1;
    ki_status status = KI_OK;
    while (!status && left->units && left->bytes) {
        ki_object *obj = ki_tree_next_at(&snapshot->items, place, &cursor);
        if (!obj) {
            informer->places--;
            break;
        }
        status = shrink_object(informer, obj, left);
    }
    return status;
}

/* Caller holds change_lock. */
static ki_status shrink_some(ki_informer *informer, budget *left) {
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    unsigned before = informer->places;
    ki_status status = KI_OK;
    for (unsigned seen = 0; !status && informer->places && left->units && left->bytes && seen < PLACES_MAX; seen++)
        status = shrink_place(informer, snapshot, left);
    ki_snapshot_unref(snapshot);
    if (status) {
        informer->places = before;
        ki_snapshot_unref(ki_store_abandon(informer->store));
        return status;
    }
    (void)ki_store_publish_staged(informer->store);
    return KI_OK;
}

/* Gets the bytes that are to be freed now. Returns false if nothing is to be done. */
static bool next_walk(ki_informer *informer, size_t *ret_bytes) {
    *ret_bytes = SIZE_MAX;
    if (informer->packing == KI_PACKS_STORE)
        return true;
    if (!drops_content(informer) || !ki_informer_content_count(informer))
        return false;
    if (!informer->places) /* objects came to places that the last walk had seen */
        informer->places = KI_TREE_PLACES;
    *ret_bytes = ki_informer_excess(informer);
    return true;
}

ki_status ki_informer_shrink(ki_informer *informer, size_t units, ki_error *err) {
    budget walk = { .units = units };
    if (!next_walk(informer, &walk.bytes))
        return KI_ERR_NOT_FOUND;
    ki_fair_mutex_lock(&informer->change_lock);
    /* A list of which a part is staged goes first. */
    bool can_change = !atomic_load(&informer->is_removed) && !ki_store_is_staged(informer->store);
    ki_status status = can_change ? shrink_some(informer, &walk) : KI_ERR_NOT_FOUND;
    ki_fair_mutex_unlock(&informer->change_lock);
    if (status)
        return status == KI_ERR_NO_MEMORY ? ki_error_no_memory(err, "shrinking the cache") : status;
    (void)ki_engine_work(informer->engine, (int)units);
    ki_informer_check_memory(informer);
    return next_walk(informer, &walk.bytes) ? KI_OK : KI_ERR_NOT_FOUND;
}
