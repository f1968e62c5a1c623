/* process_item.c: the process step. Under the change lock, the changes of one item of the queue, or of a part of a
 * list, go to the store, then to the listeners.
 *
 * The step goes through the deltas once. It stages the store's next snapshot and, in the processor's log, the changes
 * for the listeners. With the last part it publishes both, so readers see a whole list or nothing of it. If that
 * fails, because memory runs out or an index was added meanwhile, what is staged is dropped: nothing has changed, and
 * the queue passes the item again, or a list from its beginning.
 *
 * Once the informer is removed, each step drops what it pops. */
#include "src/cache/informer/informer_parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/store/snapshot.h"
#include "src/object/object.h"
#include "src/object/pack.h"

enum {
    /* Changes, in the queue and waiting for a handler on the loop, at which the watch pauses; it resumes at half. */
    HELD_FROM = 200
};

/* --- what a delta does to its object ------------------------------------------------------------------------------ */

/* Also keeps the object for lookups of deleted ones. */
static ki_status stage_deleted(ki_informer *informer, ki_object *obj, ki_object *known, bool final_state_unknown) {
    const ki_change change = {
        .type = KI_EVENT_DELETE, .obj = obj, .old = known, .final_state_unknown = final_state_unknown
    };
    ki_status status = ki_processor_stage(&informer->processor, &change);
    return status ? status : ki_informer_stage_deleted(informer, obj);
}

/* Stages what the listeners get of a delta whose key has the object `known` (NULL: none). Errors: KI_ERR_NO_MEMORY; the
 * caller drops what is staged. */
static ki_status stage_events(ki_informer *informer, const ki_change *delta, ki_object *known) {
    bool is_deleted = delta->type == KI_EVENT_DELETE;
    bool is_same = known && ki_object_is_same(delta->obj, known);
    ki_change change = *delta;
    if (is_same && !is_deleted) {
        change.type = KI_EVENT_UPDATE;
        change.old = known;
        /* A listed object that has not changed counts as a resync. */
        change.is_resync = delta->is_resync || (delta->is_listed && ki_object_is_same_state(delta->obj, known));
        return ki_processor_stage(&informer->processor, &change);
    }
    if (is_same && !delta->final_state_unknown)
        return stage_deleted(informer, delta->obj, known, false);
    /* Without a deletion event: another uid, so the object was deleted and created again. */
    ki_status status = known ? stage_deleted(informer, known, known, true) : KI_OK;
    if (status || is_deleted)
        return status;
    change.type = KI_EVENT_ADD;
    change.is_resync = false;
    return ki_processor_stage(&informer->processor, &change);
}

/* --- storing ------------------------------------------------------------------------------------------------------ */

/* Returns the resource version to store with these changes. NULL keeps the old one: more changes are queued, a list's
 * version is too long, or the informer has a set of namespaces (take_drained_version). */
static const char *version_after(const ki_informer *informer, const ki_deltas *deltas) {
    if (informer->options.selection->is_set)
        return NULL;
    if (deltas->resource_version)
        return strlen(deltas->resource_version) <= KI_RESOURCE_VERSION_MAX ? deltas->resource_version : NULL;
    const char *version = informer->feeds.list[0]->reflector.resource_version;
    bool is_last = informer->work.queue->ops->length(informer->work.queue) == 0;
    return is_last && version[0] ? version : NULL;
}

ki_status ki_informer_kept(ki_object *obj, ki_object **ret_kept) {
    ki_status status = ki_object_key_only(obj, ret_kept, NULL);
    if (!status)
        *ret_kept = ki_object_pack(*ret_kept);
    return status;
}

/* `read`, equal to `obj`, is what index functions get. The mutation detector watches what handlers and readers get. */
static ki_status stage_put(ki_informer *informer, ki_object *obj, const ki_object *read) {
    ki_object *kept;
    ki_status status = ki_informer_kept(obj, &kept);
    if (status)
        return status;
    status = ki_store_stage_put(informer->store, kept, ki_object_is_packed(kept) ? read : kept);
    if (informer->options.factory->detect_mutations) {
        ki_mutation_detector_add(&informer->detector.detector, obj);
        if (kept != obj)
            ki_mutation_detector_add(&informer->detector.detector, kept);
    }
    ki_object_unref(kept);
    return status;
}

/* Stages the deltas of one key, from `*at` on: the store's next state, and the changes for the listeners. If a listener
 * has a thread and the log is not empty, the change is packed, as the store's object is. */
static ki_status stage_key(ki_informer *informer, const ki_deltas *deltas, size_t *at, const char *version) {
    ki_store *store = informer->store;
    const char *key = ki_object_key(deltas->items[*at].obj);
    ki_object *known = ki_store_known(store, key);
    ki_object *state = known, *packed = NULL;      /* the key's object; the last delta's, owned, if it is packed */
    const ki_object *read = NULL;                  /* the last delta's before it was packed */
    ki_feed *feed = ki_feed_of_key(informer, key); /* NULL: of a namespace that was removed */
    ki_unreadable *unreadable = feed ? &feed->unreadable : NULL;
    ki_status status = KI_OK;
    do {
        ki_change delta = deltas->items[(*at)++];
        bool is_deleted = delta.type == KI_EVENT_DELETE;
        if (!state && is_deleted)
            continue;
        if (state && ki_unreadable_drops(unreadable, &delta, state)) { /* it repeats a state that is known */
            informer->work.repeated++;
            continue;
        }
        read = delta.obj;
        ki_object *before = packed;
        packed = ki_processor_is_behind(&informer->processor) ? ki_object_pack(ki_object_ref(delta.obj)) : NULL;
        delta.obj = packed ? packed : delta.obj;
        status = stage_events(informer, &delta, state);
        ki_object_unref(before);
        state = is_deleted ? NULL : delta.obj;
    } while (!status && *at < deltas->count && strcmp(ki_object_key(deltas->items[*at].obj), key) == 0);
    if (informer->options.format)
        ki_object_format_sweep(informer->options.format);
    if (!status && state != known) {
        (void)ki_engine_work(informer->options.engine, 1); /* a change of the store costs as much as taking the key */
        status = ki_store_begin(store, version, NULL);
        if (!status)
            status = state ? stage_put(informer, state, read) : ki_store_stage_delete(store, key);
    }
    ki_object_unref(packed);
    return status;
}

/* Stages the changes, and publishes all that is staged unless more follow. */
static ki_status store_changes(ki_informer *informer, const ki_deltas *deltas) {
    KI_ON_LOOP(informer->options.engine);
    KI_HELD(&informer->change_lock);
    ki_store *store = informer->store;
    const char *version = version_after(informer, deltas);
    ki_status status = KI_OK;
    informer->work.repeated = 0;
    for (size_t at = 0; !status && at < deltas->count;)
        status = stage_key(informer, deltas, &at, version);
    if (!status && deltas->resource_version)
        status = ki_store_begin(store, version, NULL); /* also a list that changes nothing has a version */
    if (status)
        return status;
    if (informer->work.repeated)
        ki_metrics_add(&informer->metrics, KI_METRIC_REPEATED, informer->work.repeated);
    if (deltas->is_part)
        return KI_OK;
    /* A list's steps release the snapshot before it in slices. */
    ki_snapshot *before = deltas->resource_version ? ki_store_snapshot(store) : NULL;
    if (informer->deleted.objects.staged)
        ki_informer_publish_deleted(informer);
    if (ki_store_publish_staged(store) && version) /* fits: version_after, or the reflector, checked its length */
        (void)ki_reflector_copy_version(informer->store_version, version, NULL);
    if (before)
        ki_deferred_add_snapshot(&informer->deferred, before);
    ki_processor_publish(&informer->processor);
    const ki_object_format *format = informer->options.format;
    informer->work.is_due = format && ki_object_format_is_due(format, ki_store_written_bytes(store));
    return KI_OK;
}

void ki_informer_drop_staged(ki_informer *informer) {
    KI_ON_LOOP(informer->options.engine);
    KI_HELD(&informer->change_lock);
    ki_deferred_add_snapshot(&informer->deferred, ki_store_abandon(informer->store));
    ki_processor_drop(&informer->processor);
}

/* --- what waits --------------------------------------------------------------------------------------------------- */

void ki_informer_note_queue(ki_informer *informer, size_t load, bool is_stored) {
    if (atomic_load(&informer->removal.is_begun))
        return;
    size_t queued = informer->work.queue->ops->length(informer->work.queue);
    if (is_stored)
        atomic_store_explicit(&informer->metrics.queue_depth, queued, memory_order_relaxed);
    if (is_stored && !queued)
        ki_feeds_note_stored(informer);
    bool is_much = queued + load >= (informer->work.is_held ? HELD_FROM / 2 : HELD_FROM);
    informer->work.load = load;
    if (is_much || informer->work.is_held)
        ki_feeds_hold(informer, is_much);
}

static size_t load_of(ki_informer *informer) {
    ki_fair_mutex_lock(&informer->change_lock);
    size_t load = ki_processor_load(&informer->processor);
    ki_fair_mutex_unlock(&informer->change_lock);
    return load;
}

bool ki_informer_has_little_work(ki_informer *informer) {
    return !informer->work.is_held && load_of(informer) < HELD_FROM / 2;
}

void ki_informer_delivered(ki_informer *informer) {
    if (informer->work.is_held)
        ki_informer_note_queue(informer, load_of(informer), false);
}

void ki_informer_note_progress(ki_informer *informer) {
    if (informer->work.queue->ops->length(informer->work.queue) == 0) /* else the queue has woken the process loop */
        ki_process_loop_wake(&informer->work.loop);
    ki_informer_note_queue(informer, informer->work.load, true);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Sets the first list's version if the store has none. While changes arrive without a pause the queue is never empty,
 * and no other step sets a version. If memory runs out, the store has no version until the next change. */
static void take_list_version(ki_informer *informer, const char *version) {
    if (informer->store_version[0] || !version[0] || ki_store_set_resource_version(informer->store, version, NULL))
        return;
    (void)ki_reflector_copy_version(informer->store_version, version,
                                    NULL); /* fits: the reflector checked its length */
}

/* Returns true once the first lists are processed: of a set, of its first namespaces. */
static bool is_listed(const ki_informer *informer) {
    if (informer->options.selection->is_set && (!informer->namespaces.has_first || !ki_feeds_are_listed(informer)))
        return false;
    return informer->work.queue->ops->has_synced(informer->work.queue);
}

/* Returns the bits of the fields that objects of the factory's other informers with the same struct have. All, if one
 * of them has not synced: the last one names the fields that none has. */
static uint64_t fields_elsewhere(const ki_informer *informer) {
    ki_informer *const *running = informer->options.running;
    const ki_field *fields = informer->options.given.view;
    uint64_t seen = 0;
    for (const ki_informer *other = running && fields ? *running : NULL; other; other = other->next_running) {
        if (other != informer && other->options.format && ki_fields_are_same(other->options.given.view, fields))
            seen |=
                atomic_load(&other->sync.is_done) ? ki_object_format_seen_fields(other->options.format) : UINT64_MAX;
    }
    return seen;
}

/* Also names the fields of the view that no object has, which can be so, or that never fit: their type is wrong. */
static void log_synced(const ki_informer *informer) {
    char fields[256] = "";
    size_t count = ki_store_count(informer->store);
    bool has_misfit =
        informer->options.format && count &&
        ki_object_format_describe_fields(informer->options.format, fields_elsewhere(informer), fields, sizeof fields);
    ki_log_write(ki_engine_log(informer->options.engine), has_misfit ? KI_LOG_WARNING : KI_LOG_INFO, "informer",
                 "%s: synced, %zu object%s%s", informer->options.selection->name, count, count == 1 ? "" : "s", fields);
}

/* Marks the informer synced once the first list is processed. */
static void note_synced(ki_informer *informer) {
    KI_ON_LOOP(informer->options.engine);
    KI_HELD(&informer->change_lock);
    char version[KI_RESOURCE_VERSION_MAX + 1];
    if (!is_listed(informer))
        return;
    ki_feeds_initial(informer, version);
    take_list_version(informer, version);
    memcpy(informer->sync.version, informer->store_version, sizeof informer->sync.version);
    ki_feeds_note_listed(informer);
    (void)ki_informer_note_set(informer); /* on_synced tells of the first one */
    ki_mutex_lock(&informer->waits.lock);
    KI_ASSERT(!informer->waits.has_ended);
    atomic_store(&informer->sync.is_done, true);
    ki_cond_broadcast(&informer->waits.changed);
    ki_mutex_unlock(&informer->waits.lock);
    ki_processor_mark(&informer->processor, KI_MARK_SYNCED);
    log_synced(informer);
}

/* Ends a step: wakes listeners, unless more changes follow at once, and releases the change lock. `is_stored`: the
 * store has the item in process, which is not counted as queued any more. */
static void end_step(ki_informer *informer, bool is_stored) {
    KI_ON_LOOP(informer->options.engine);
    KI_HELD(&informer->change_lock);
    size_t load = ki_processor_load(&informer->processor);
    if (informer->processor.has_news && informer->work.queue->ops->length(informer->work.queue) == 0)
        ki_processor_wake(&informer->processor);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_informer_note_queue(informer, load, is_stored);
}

/* Has the next objects packed with a dictionary of those in the cache. Not under the lock: it takes long. */
static void train(ki_informer *informer) {
    size_t count = 0;
    ki_object *samples[KI_BODY_SAMPLES_MAX] = { NULL };
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_object *obj = ki_tree_next(&snapshot->items, &cursor); /* in the order of hashes: spread over the cache */
    for (; obj && count < KI_BODY_SAMPLES_MAX; obj = ki_tree_next(&snapshot->items, &cursor))
        samples[count++] = obj;
    ki_object_format_train(informer->options.format, samples, count, snapshot->object_bytes);
    ki_snapshot_unref(snapshot);
    informer->work.is_due = false;
}

ki_status ki_informer_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    ki_informer *informer = user;
    int64_t began = ki_engine_clock(informer->options.engine);
    if (informer->work.is_due)
        train(informer);
    ki_fair_mutex_lock(&informer->change_lock);
    if (atomic_load(&informer->removal.is_begun)) {
        ki_informer_drop_staged(informer);
        ki_fair_mutex_unlock(&informer->change_lock);
        *ret_requeue = false;
        return KI_OK;
    }
    if (!atomic_load(&informer->sync.is_done))
        note_synced(informer); /* of the item before: the queue drops an item after this function has returned */
    bool is_overtaken = ki_store_is_overtaken(informer->store);
    ki_status status = is_overtaken ? KI_OK : store_changes(informer, deltas);
    *ret_requeue = status || is_overtaken;
    if (status)
        status = ki_error_no_memory(err, "storing a change"); /* the item stays first */
    if (*ret_requeue)
        ki_informer_drop_staged(informer);
    bool is_done = !*ret_requeue && !deltas->is_part;
    end_step(informer, is_done);
    /* Also after a failure: the informer can be synced, with the first list's version, even then. */
    const ki_deltas none = { .count = 0 };
    if (atomic_load(&informer->waits.count))
        ki_informer_check_waits(informer, is_done ? deltas : &none);
    if (informer->observer.on_deltas && !*ret_requeue)
        informer->observer.on_deltas(deltas, informer->observer.user);
    if (informer->feeds.missing)
        ki_informer_doubt_missing(informer, deltas);
    ki_metrics_processed(&informer->metrics, ki_engine_clock(informer->options.engine) - began);
    if (informer->options.given.memory_limit)
        ki_informer_check_memory(informer);
    return status;
}

/* Returns true if the last change has brought the store to where the feed is, and has seen the queue empty, and nothing
 * else waits for that. */
static bool is_settled(const ki_informer *informer) {
    if (informer->options.selection->is_set || !atomic_load(&informer->sync.is_done) ||
        atomic_load_explicit(&informer->metrics.queue_depth, memory_order_relaxed) > 0)
        return false;
    const ki_feed *feed = informer->feeds.list[0];
    return strcmp(feed->reflector.resource_version, informer->store_version) == 0 &&
           !ki_unreadable_has_settled(&feed->unreadable);
}

/* Takes the version of a drained queue. "": a list has none, or a namespace that was added is not listed yet. */
static ki_status take_drained_version(ki_informer *informer, const char *version, ki_error *err) {
    if (strcmp(version, informer->store_version) == 0)
        return KI_OK;
    ki_status status = ki_store_set_resource_version(informer->store, version, err);
    return status ? status : ki_reflector_copy_version(informer->store_version, version, err);
}

ki_status ki_informer_process_drained(void *user, ki_error *err) {
    ki_informer *informer = user;
    char version[KI_RESOURCE_VERSION_MAX + 1];
    if (is_settled(informer))
        return KI_OK;
    ki_feeds_version(informer, version);
    ki_fair_mutex_lock(&informer->change_lock);
    if (atomic_load(&informer->removal.is_begun)) {
        ki_fair_mutex_unlock(&informer->change_lock);
        return KI_OK;
    }
    ki_status status = take_drained_version(informer, version, err);
    if (!status)
        ki_feeds_catch_up(informer);
    if (!atomic_load(&informer->sync.is_done))
        note_synced(informer);
    if (!status && atomic_load(&informer->namespaces.has_new) && ki_feeds_are_listed(informer) &&
        ki_informer_note_set(informer))
        ki_processor_mark(&informer->processor, KI_MARK_NAMESPACES);
    end_step(informer, !status);
    const ki_deltas none = { .count = 0 };
    ki_informer_check_waits(informer, informer->options.selection->is_set ? NULL : &none);
    return status;
}

/* The listeners get all changes of the steps before they are woken. */
void ki_informer_pause(void *user) {
    ki_informer *informer = user;
    if (!informer->processor.has_news)
        return;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_processor_wake(&informer->processor);
    ki_fair_mutex_unlock(&informer->change_lock);
}
