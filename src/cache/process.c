/* process.c: the process step. Under the change lock, one item of the queue goes to the store, then to the listeners.
 * process_list.c does the in-order queue's lists and resyncs, which need slices. delta_apply.c decides what a delta
 * does to an object.
 *
 * All changes of an item are stored in one step. The step first reserves room in the listeners. Only the reservation
 * and the storing can fail. After a failure nothing has changed, and the whole item goes back to the queue. */
#include "src/cache/informer_parts.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/delta_apply.h"
#include "src/cache/snapshot.h"

#include <limits.h>

/* --- items -------------------------------------------------------------------------------------------------------- */

/* One item in process, with the snapshots of the store before and after its changes. */
typedef struct step {
    ki_informer *informer;
    const ki_deltas *deltas;
    const ki_snapshot *before;
    const ki_snapshot *after; /* the staged snapshot; NULL: nothing to store */
} step;

/* Returns NULL if the snapshot is NULL or has no such object. */
static ki_object *object_in(const ki_snapshot *snapshot, const char *key) {
    return snapshot ? ki_tree_get(&snapshot->schema->objects, &snapshot->items, ki_str_of(key)) : NULL;
}

/* Applies the deltas of one key from `first` on. All deltas have one key, or each has its own. */
static ki_object *apply_group(const step *at, size_t first, size_t *ret_end, ki_object **ret_known, ki_notifier *to) {
    const ki_deltas *deltas = at->deltas;
    const char *key = deltas->key ? deltas->key : ki_object_key(deltas->items[first].obj);
    ki_object *known = *ret_known = object_in(at->before, key);
    *ret_end = deltas->key ? deltas->count : first + 1;
    for (size_t i = first; i < *ret_end; i++)
        known = ki_delta_apply(&deltas->items[i], known, to);
    return known;
}

/* Sends or only counts the notifications of all deltas. Counts the changes of the store. */
static void notify_events(const step *at, ki_notifier *to) {
    for (size_t i = 0, next; i < at->deltas->count; i = next) {
        ki_object *known;
        const ki_object *obj = apply_group(at, i, &next, &known, to);
        to->changes += obj != known;
    }
}

/* Stages the last state of each key. */
static ki_status stage_events(const step *at) {
    ki_store *store = at->informer->store;
    ki_status status = KI_OK;
    for (size_t i = 0, next; !status && i < at->deltas->count; i = next) {
        ki_notifier silent = { .unreadable = &at->informer->unreadable };
        ki_object *known;
        ki_object *obj = apply_group(at, i, &next, &known, &silent);
        if (obj && obj != known)
            status = ki_store_stage_put(store, obj);
        else if (!obj && known)
            status = ki_store_stage_delete(store, ki_object_key(known));
    }
    return status;
}

/* Returns the resource version to store with this change. Returns NULL, which keeps the old one, while more changes are
 * queued. */
static const char *version_after(const ki_informer *informer) {
    const char *version = informer->reflector.resource_version;
    bool is_last = informer->queue->ops->length(informer->queue) == 0;
    return is_last && version[0] ? version : NULL;
}

/* Stages the next state of the store. Readers do not see it yet. */
static ki_status stage(step *at, const char *version, ki_error *err) {
    ki_store *store = at->informer->store;
    ki_status status = ki_store_begin(store, version, err);
    if (status)
        return status;
    status = stage_events(at);
    if (status)
        return ki_store_end(store, status, "storing a change", err);
    at->after = ki_store_staged(store);
    return KI_OK;
}

/* Adds the stored objects to the mutation detector. */
static void watch_stored(const step *at) {
    for (size_t i = 0; i < at->deltas->count; i++) {
        const ki_object *obj = at->deltas->items[i].obj;
        if (obj && object_in(at->after, ki_object_key(obj)) == obj)
            ki_mutation_detector_add(&at->informer->detector, obj);
    }
}

/* Caller holds change_lock. */
static ki_status apply(step *at, ki_error *err) {
    ki_informer *informer = at->informer;
    const char *version = version_after(informer);
    ki_notifier counter = { .unreadable = &informer->unreadable };
    notify_events(at, &counter);
    if (counter.changes) {
        ki_status status = stage(at, version, err);
        if (status)
            return status;
    }
    ki_status status = ki_processor_reserve(&informer->processor, counter.count, at->deltas->key ? 1 : counter.count);
    if (at->after)
        status = ki_store_end(informer->store, status, "storing a change", err);
    else if (status)
        ki_error_no_memory(err, "notifying of a change");
    if (status)
        return status;
    if (at->after && version)
        (void)ki_reflector_copy_version(informer->store_version, version,
                                        NULL); /* fits: the reflector checked its length */
    if (at->after && informer->options.detect_mutations)
        watch_stored(at);
    ki_notifier notifier = { .processor = &informer->processor, .unreadable = &informer->unreadable };
    notify_events(at, &notifier);
    if (informer->queue->ops->length(informer->queue) == 0)
        ki_unreadable_catch_up(&informer->unreadable);
    if (at->deltas->key && at->after)
        (void)ki_engine_work(informer->engine, 1); /* a change of the store costs as much as taking the key */
    if (!at->deltas->key) {
        ki_processor_trim(&informer->processor);
        (void)ki_engine_work(informer->engine, counter.count < INT_MAX ? (int)counter.count : INT_MAX);
    }
    return KI_OK;
}

/* Sets the first list's version if the store has none. While changes arrive without a pause the queue is never empty,
 * and no other step sets a version. If memory runs out, the store has no version until the next change. */
static void take_list_version(ki_informer *informer) {
    const char *version = informer->reflector.initial_version;
    if (informer->store_version[0] || !version[0] || ki_store_set_resource_version(informer->store, version, NULL))
        return;
    (void)ki_reflector_copy_version(informer->store_version, version,
                                    NULL); /* fits: the reflector checked its length */
}

/* Marks the informer synced once the first list is processed. Caller holds change_lock. */
static void note_synced(ki_informer *informer) {
    if (atomic_load(&informer->synced) || !informer->queue->ops->has_synced(informer->queue))
        return;
    take_list_version(informer);
    memcpy(informer->synced_version, informer->store_version, sizeof informer->synced_version);
    ki_mutex_lock(&informer->wait_lock);
    atomic_store(&informer->synced, true);
    ki_cond_broadcast(&informer->changed);
    ki_mutex_unlock(&informer->wait_lock);
    ki_processor_mark_synced(&informer->processor);
    size_t count = ki_store_count(informer->store);
    ki_log_write(ki_engine_log(informer->engine), KI_LOG_INFO, "informer", "%s: synced, %zu object%s", informer->name,
                 count, count == 1 ? "" : "s");
}

static ki_status process_events(ki_informer *informer, const ki_deltas *deltas, ki_error *err) {
    ki_snapshot *before = ki_store_snapshot(informer->store);
    step at = { .informer = informer, .deltas = deltas, .before = before };
    ki_status status = apply(&at, err);
    ki_snapshot_free(before);
    return status;
}

ki_status ki_informer_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    ki_informer *informer = user;
    bool is_done = true;
    bool is_of_all = deltas->kind == KI_DELTAS_REPLACE || deltas->kind == KI_DELTAS_RESYNC;
    ki_informer_continue_resync(informer);
    ki_fair_mutex_lock(&informer->change_lock);
    note_synced(informer); /* of the item before: the queue drops an item after this function has returned */
    ki_status status =
        is_of_all ? ki_informer_process_list(informer, deltas, &is_done, err) : process_events(informer, deltas, err);
    size_t waiting = ki_processor_waiting_on_loop(&informer->processor);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_informer_regulate(informer, waiting);
    if (!status && is_done)
        ki_metrics_queue(&informer->metrics, informer->queue->ops->length(informer->queue));
    /* Also after a failure: the informer can be synced, with the first list's version, even then. */
    ki_informer_check_waits(informer, status || is_of_all ? NULL : deltas);
    if (atomic_load_explicit(&informer->is_namespace_missing, memory_order_relaxed))
        ki_informer_doubt_missing(informer);
    *ret_requeue = status != KI_OK || !is_done;
    return status;
}

ki_status ki_informer_drained(void *user, ki_error *err) {
    ki_informer *informer = user;
    const char *version = informer->reflector.resource_version;
    ki_status status = KI_OK;
    ki_informer_continue_resync(informer);
    ki_fair_mutex_lock(&informer->change_lock);
    if (version[0] && strcmp(version, informer->store_version) != 0) {
        status = ki_store_set_resource_version(informer->store, version, err);
        if (!status)
            status = ki_reflector_copy_version(informer->store_version, version, err);
    }
    if (!status) {
        ki_metrics_queue(&informer->metrics, 0);
        ki_unreadable_catch_up(&informer->unreadable);
    }
    note_synced(informer);
    size_t waiting = ki_processor_waiting_on_loop(&informer->processor);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_informer_regulate(informer, waiting);
    ki_informer_check_waits(informer, NULL);
    return status;
}
