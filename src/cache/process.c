/* process.c: the process step: one item of the queue goes to the store, then to the listeners, under the change lock.
 *
 * What all deltas of the item lead to is stored in one step. Room in the listeners is reserved before it, so only the reserving and
 * the storing can fail, and then nothing has happened: the item goes back whole. */
#include "src/cache/informer_parts.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/mutant.h"
#include "src/cache/snapshot.h"
#include "src/object/object.h"

#include <limits.h>

static ki_order order_of(const ki_object *obj, const ki_object *known) {
    const char *version = ki_object_resource_version(obj);
    return version[0] ? ki_resource_version_compare(version, ki_object_resource_version(known)) : KI_ORDER_UNKNOWN;
}

/* Is it newer than all that the server has told? A server that was restored from a backup gives versions twice, and its list may have kept an object
 * that it could not read: what comes after the list is newer than that object whatever the versions say. */
static bool is_of_another_time(const ki_object *known, const char *newest) {
    return newest[0] && strcmp(newest, "0") != 0 &&
           ki_resource_version_compare(ki_object_resource_version(known), newest) == KI_ORDER_NEWER;
}

/* A watch that was resumed may repeat what is known already, or tell of a time before it. A list is always believed. */
static bool is_repeated(const ki_delta *delta, const ki_object *known, const char *newest) {
    ki_order order = delta->obj ? order_of(delta->obj, known) : KI_ORDER_UNKNOWN;
    if (order == KI_ORDER_OLDER && is_of_another_time(known, newest))
        return false;
    if (KI_MUTANT(REPEATED_IS_NEW) && delta->type != KI_DELTA_DELETED)
        return false;
    if (KI_MUTANT(OLDER_DELETE_COUNTS) && delta->type == KI_DELTA_DELETED)
        return false;
    switch (delta->type) {
    case KI_DELTA_ADDED:
    case KI_DELTA_UPDATED:
        /* One version with two contents was given twice, before and after a restore. */
        return order == KI_ORDER_OLDER || (order == KI_ORDER_SAME && ki_is_same_state(delta->obj, known));
    case KI_DELTA_DELETED:
        return !delta->tombstone && order == KI_ORDER_OLDER;
    case KI_DELTA_REPLACED:
    case KI_DELTA_SYNC:
        break;
    }
    return false;
}

/* Tells the listeners, or only counts. */
typedef struct teller {
    ki_processor *processor; /* NULL: only counts */
    const char *newest;      /* the last synced version */
    size_t count;
    size_t changes; /* of the store */
} teller;

static void tell(teller *to, ki_notification notification, ki_audience audience) {
    if (KI_MUTANT(FORGET_TO_TELL_DELETES) && notification.type == KI_NOTIFY_DELETE)
        return;
    if (KI_MUTANT(RESYNC_FOR_ALL))
        audience = KI_AUDIENCE_ALL;
    if (KI_MUTANT(OLD_IS_NEW) && notification.old)
        notification.old = notification.obj;
    to->count++;
    if (to->processor)
        ki_processor_distribute(to->processor, &notification, audience);
}

static void tell_added(teller *to, const ki_delta *delta) {
    tell(to,
         (ki_notification){ .type = KI_NOTIFY_ADD, .obj = delta->obj, .is_in_initial_list = delta->is_in_initial_list },
         KI_AUDIENCE_ALL);
}

static void tell_deleted(teller *to, ki_object *obj, ki_object *known, bool final_state_unknown) {
    if (KI_MUTANT(ENDS_ARE_NEVER_KNOWN) || KI_MUTANT(ENDS_ARE_ALWAYS_KNOWN))
        final_state_unknown = KI_MUTANT(ENDS_ARE_NEVER_KNOWN);
    tell(to,
         (ki_notification){
             .type = KI_NOTIFY_DELETE, .obj = obj, .old = known, .final_state_unknown = final_state_unknown },
         KI_AUDIENCE_ALL);
}

static void tell_updated(teller *to, const ki_delta *delta, ki_object *known) {
    ki_audience audience = KI_AUDIENCE_ALL;
    if (delta->type == KI_DELTA_SYNC)
        audience = KI_AUDIENCE_DUE;
    else if (delta->type == KI_DELTA_REPLACED && ki_is_same_state(delta->obj, known))
        audience = KI_AUDIENCE_RESYNCING;
    tell(to,
         (ki_notification){
             .type = KI_NOTIFY_UPDATE, .obj = delta->obj, .old = known, .is_resync = audience != KI_AUDIENCE_ALL },
         audience);
}

/* What becomes of `known` (NULL: nothing is there) by one delta; tells of it. */
static ki_object *follow(const ki_delta *delta, ki_object *known, teller *to) {
    if (known && is_repeated(delta, known, to->newest))
        return known;
    if (delta->type == KI_DELTA_DELETED) {
        if (!known)
            return NULL;
        if (KI_MUTANT(OTHER_S_DELETION_IS_NOTHING) && delta->obj && !ki_is_same_object(delta->obj, known))
            return known;
        if (!delta->tombstone && delta->obj && ki_is_same_object(delta->obj, known))
            tell_deleted(to, delta->obj, known, false);
        else
            tell_deleted(to, known, known, true);
        return NULL;
    }
    if (known && (ki_is_same_object(delta->obj, known) || KI_MUTANT(RECREATED_IS_UPDATED))) {
        tell_updated(to, delta, known);
        return delta->obj;
    }
    if (known) /* it was deleted and made again while nobody watched */
        tell_deleted(to, known, known, true);
    tell_added(to, delta);
    return delta->obj;
}

/* --- items ------------------------------------------------------------------------------------------------------------------ */

/* What an item goes through: the moment before it; once that is staged, the moment after it. */
typedef struct step {
    ki_informer *informer;
    const ki_deltas *deltas;
    const ki_snapshot *before;
    const ki_snapshot *after; /* NULL: nothing is to be stored */
    ki_map listed;            /* of a list: see note_listed */
} step;

/* NULL where there is none, or no such moment. */
static ki_object *object_in(const ki_snapshot *moment, const char *key) {
    return moment ? ki_tree_get(&moment->schema->objects, &moment->items, ki_str_of(key)) : NULL;
}

/* The key of each group of deltas: all of them are of one, or each has its own. */
static ki_object *follow_group(const step *at, size_t first, size_t *ret_end, ki_object **ret_known, teller *to) {
    const ki_deltas *deltas = at->deltas;
    const char *key = deltas->key ? deltas->key : ki_object_key(deltas->items[first].obj);
    ki_object *known = *ret_known = object_in(at->before, key);
    *ret_end = deltas->key ? deltas->count : first + 1;
    for (size_t i = first; i < *ret_end; i++)
        known = follow(&deltas->items[i], known, to);
    return known;
}

static void tell_events(const step *at, teller *to) {
    for (size_t i = 0, next; i < at->deltas->count; i = next) {
        ki_object *known;
        const ki_object *obj = follow_group(at, i, &next, &known, to);
        to->changes += obj != known;
    }
}

static ki_status stage_events(const step *at) {
    ki_store *store = at->informer->store;
    ki_status status = KI_OK;
    for (size_t i = 0, next; !status && i < at->deltas->count; i = next) {
        teller silent = { .newest = at->informer->reflector.resource_version };
        ki_object *known;
        ki_object *obj = follow_group(at, i, &next, &known, &silent);
        if (obj && obj != known)
            status = ki_store_stage_put(store, obj);
        else if (!obj && known && !KI_MUTANT(STORE_KEEPS_DELETED))
            status = ki_store_stage_delete(store, ki_object_key(known));
    }
    return status;
}

/* Notes each key of the list with the place, from 1, of its last object; 0 for a key that is kept. */
static ki_status note_listed(step *at) {
    const ki_deltas *deltas = at->deltas;
    ki_status status = ki_map_reserve(&at->listed, deltas->count + deltas->kept_count);
    for (size_t i = 0; !status && i < deltas->kept_count; i++)
        status = ki_map_put(&at->listed, ki_str_of(deltas->kept[i]), NULL, NULL);
    for (size_t i = 0; !status && i < deltas->count; i++)
        status =
            ki_map_put(&at->listed, ki_str_of(ki_object_key(deltas->items[i].obj)), (void *)(uintptr_t)(i + 1), NULL);
    return status;
}

/* Is it the one that counts for its key? */
static bool is_last(const step *at, size_t i) {
    return (uintptr_t)ki_map_get(&at->listed, ki_str_of(ki_object_key(at->deltas->items[i].obj))) == i + 1;
}

static bool is_listed(const step *at, const ki_object *obj) {
    return at->deltas->keeps_all || ki_map_has(&at->listed, ki_str_of(ki_object_key(obj)));
}

/* Only what differs: a list in which nothing is new costs no change of the store. */
static ki_status stage_list(const step *at) {
    ki_store *store = at->informer->store;
    ki_status status = KI_OK;
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_object *known;
    while (!status && (known = ki_tree_next(&at->before->items, &cursor)))
        if (!is_listed(at, known))
            status = ki_store_stage_delete(store, ki_object_key(known));
    for (size_t i = 0; !status && i < at->deltas->count; i++) {
        ki_object *obj = at->deltas->items[i].obj;
        if (is_last(at, i) && object_in(at->before, ki_object_key(obj)) != obj)
            status = ki_store_stage_put(store, obj);
    }
    return status;
}

/* What is gone, then the list in its order. A key that is in it twice counts where it is last, as in the store. */
static void tell_list(const step *at, teller *to) {
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_object *known;
    while ((known = ki_tree_next(&at->before->items, &cursor)))
        if (!is_listed(at, known))
            tell_deleted(to, known, known, true);
    for (size_t i = 0; i < at->deltas->count; i++) {
        const ki_delta *delta = &at->deltas->items[i];
        if (is_last(at, i))
            follow(delta, object_in(at->before, ki_object_key(delta->obj)), to);
    }
}

static void tell_resync(const step *at, teller *to) {
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_delta delta = { .type = KI_DELTA_SYNC };
    while ((delta.obj = ki_tree_next(&at->before->items, &cursor)))
        tell_updated(to, &delta, delta.obj);
}

static void tell_all(const step *at, teller *to) {
    switch (at->deltas->kind) {
    case KI_DELTAS_OF_KEY:
    case KI_DELTAS_BATCH:
        tell_events(at, to);
        break;
    case KI_DELTAS_REPLACE:
        tell_list(at, to);
        break;
    case KI_DELTAS_RESYNC:
        tell_resync(at, to);
        break;
    }
}

/* The version that the store is at once nothing is queued any more, or that of the list it then holds; NULL: what it was. */
static const char *version_after(const ki_informer *informer, const ki_deltas *deltas) {
    if (deltas->kind == KI_DELTAS_REPLACE)
        return strlen(deltas->resource_version) <= KI_RESOURCE_VERSION_MAX ? deltas->resource_version : NULL;
    const char *version = informer->reflector.resource_version;
    bool is_last = informer->queue->ops->length(informer->queue) == 0;
    return is_last && version[0] ? version : NULL;
}

/* What will be there is staged, not yet seen by anyone. */
static ki_status stage(step *at, bool is_list, const char *version, ki_error *err) {
    ki_store *store = at->informer->store;
    if (is_list && note_listed(at))
        return ki_error_no_memory(err, "taking a list");
    ki_status status = ki_store_begin(store, false, version, err);
    if (status)
        return status;
    status = is_list ? stage_list(at) : stage_events(at);
    if (status)
        return ki_store_end(store, status, "taking a change", err);
    at->after = ki_store_staged(store);
    return KI_OK;
}

/* From now on nobody may write to what is in the store. */
static void watch_stored(const step *at) {
    for (size_t i = 0; i < at->deltas->count; i++) {
        const ki_object *obj = at->deltas->items[i].obj;
        if (obj && object_in(at->after, ki_object_key(obj)) == obj)
            ki_mutation_detector_add(&at->informer->detector, obj);
    }
}

/* The change lock is held. */
static ki_status apply(step *at, ki_error *err) {
    ki_informer *informer = at->informer;
    const char *version = version_after(informer, at->deltas);
    bool is_list = at->deltas->kind == KI_DELTAS_REPLACE;
    teller counts = { .newest = informer->reflector.resource_version };
    if (!is_list)
        tell_all(at, &counts);
    if (counts.changes || is_list) {
        ki_status status = stage(at, is_list, version, err);
        if (status)
            return status;
    }
    if (is_list)
        tell_all(at, &counts);
    ki_status status = ki_processor_reserve(&informer->processor, counts.count, at->deltas->key ? 1 : counts.count);
    if (at->after)
        status = ki_store_end(informer->store, status, "taking a change", err);
    else if (status)
        ki_error_no_memory(err, "telling of a change");
    if (status)
        return status;
    if (at->after && version)
        (void)ki_reflector_copy_version(informer->store_version, version, NULL); /* one that fits: see version_after */
    if (at->after && informer->detect_mutations)
        watch_stored(at);
    teller tells = { .processor = &informer->processor, .newest = informer->reflector.resource_version };
    tell_all(at, &tells);
    if (informer->queue->ops->length(informer->queue) == 0)
        ki_unreadable_catch_up(&informer->unreadable);
    if (!at->deltas->key) {
        ki_processor_trim(&informer->processor);
        (void)ki_engine_work(informer->engine, counts.count < INT_MAX ? (int)counts.count : INT_MAX);
    }
    return KI_OK;
}

/* Where changes come without a pause the queue is never empty: the store is at least at the version of the list then. Lack of memory
 * leaves it without one until the next change. */
static void take_list_version(ki_informer *informer) {
    const char *version = informer->reflector.initial_version;
    if (informer->store_version[0] || !version[0] || ki_store_set_resource_version(informer->store, version, NULL))
        return;
    (void)ki_reflector_copy_version(informer->store_version, version, NULL); /* it fits: it is a copy of one */
}

/* Once the initial population is processed. The change lock is held. */
static void note_synced(ki_informer *informer) {
    if (atomic_load(&informer->synced) || !informer->queue->ops->has_synced(informer->queue))
        return;
    take_list_version(informer);
    ki_mutex_lock(&informer->wait_lock);
    atomic_store(&informer->synced, true);
    ki_cond_broadcast(&informer->changed);
    ki_mutex_unlock(&informer->wait_lock);
    ki_processor_mark_synced(&informer->processor);
    ki_log_write(ki_engine_log(informer->engine), KI_LOG_INFO, "informer", "%s: synced, %zu objects", informer->name,
                 ki_store_count(informer->store));
}

/* What failed is put back, perhaps behind all others. */
static void follow_resync(ki_informer *informer, const ki_deltas *deltas, bool failed) {
    if (informer->resync_left == 0)
        return;
    size_t taken = deltas->kind == KI_DELTAS_BATCH ? deltas->count : 1;
    size_t left = informer->resync_left > taken ? informer->resync_left - taken : 0;
    if (failed)
        left = informer->queue->ops->length(informer->queue) + taken;
    ki_informer_note_resync_left(informer, left);
}

ki_status ki_informer_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    ki_informer *informer = user;
    ki_mutex_lock(&informer->change_lock);
    note_synced(informer);
    ki_snapshot *before = ki_store_snapshot(informer->store);
    step at = { .informer = informer, .deltas = deltas, .before = before };
    ki_map_init(&at.listed, ki_engine_allocator(informer->engine), informer->seed);
    ki_status status = apply(&at, err);
    ki_mutex_unlock(&informer->change_lock);
    ki_map_free(&at.listed);
    ki_snapshot_free(before);
    follow_resync(informer, deltas, status != KI_OK);
    if (!status)
        ki_metrics_queue(&informer->metrics, informer->queue->ops->length(informer->queue));
    /* Also after a failure: it may have become synced, and be at its list's version, all the same. */
    ki_informer_check_waits(informer, status ? NULL : deltas);
    *ret_requeue = status != KI_OK;
    return status;
}

ki_status ki_informer_drained(void *user, ki_error *err) {
    ki_informer *informer = user;
    const char *version = informer->reflector.resource_version;
    ki_status status = KI_OK;
    ki_mutex_lock(&informer->change_lock);
    if (version[0] && strcmp(version, informer->store_version) != 0) {
        status = ki_store_set_resource_version(informer->store, version, err);
        if (!status)
            status = ki_reflector_copy_version(informer->store_version, version, err);
    }
    if (!status) {
        ki_metrics_queue(&informer->metrics, 0);
        ki_unreadable_catch_up(&informer->unreadable);
    }
    ki_informer_note_resync_left(informer, 0);
    note_synced(informer);
    ki_mutex_unlock(&informer->change_lock);
    ki_informer_check_waits(informer, NULL);
    return status;
}
