/* process.c: the process step: one key's deltas go to the store, then to the listeners, under the change lock.
 *
 * What all deltas of the key lead to is stored in one step. Room in the listeners is reserved before it, so only the reserving and
 * the storing can fail, and then nothing has happened: the item goes back whole. */
#include "src/cache/informer_parts.h"

#include "src/base/error.h"

static ki_order order_of(const ki_object *obj, const ki_object *known) {
    const char *version = ki_object_resource_version(obj);
    return version[0] ? ki_resource_version_compare(version, ki_object_resource_version(known)) : KI_ORDER_UNKNOWN;
}

/* A watch that was resumed may repeat what is known already, or tell of a time before it. A list is always believed. */
static bool is_repeated(const ki_delta *delta, const ki_object *known) {
    ki_order order = delta->obj ? order_of(delta->obj, known) : KI_ORDER_UNKNOWN;
    switch (delta->type) {
    case KI_DELTA_ADDED:
    case KI_DELTA_UPDATED:
        return order == KI_ORDER_OLDER || (order == KI_ORDER_SAME && ki_is_same_object(delta->obj, known));
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
    size_t count;
} teller;

static void tell(teller *to, ki_notification notification, ki_audience audience) {
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
    tell(to,
         (ki_notification){
             .type = KI_NOTIFY_DELETE, .obj = obj, .old = known, .final_state_unknown = final_state_unknown },
         KI_AUDIENCE_ALL);
}

static void tell_updated(teller *to, const ki_delta *delta, ki_object *known) {
    ki_audience audience = KI_AUDIENCE_ALL;
    if (delta->type == KI_DELTA_SYNC)
        audience = KI_AUDIENCE_DUE;
    else if (delta->type == KI_DELTA_REPLACED &&
             strcmp(ki_object_resource_version(delta->obj), ki_object_resource_version(known)) == 0)
        audience = KI_AUDIENCE_RESYNCING;
    tell(to,
         (ki_notification){
             .type = KI_NOTIFY_UPDATE, .obj = delta->obj, .old = known, .is_resync = audience != KI_AUDIENCE_ALL },
         audience);
}

/* What becomes of `known` (NULL: nothing is there) by one delta; tells of it. */
static ki_object *follow(const ki_delta *delta, ki_object *known, teller *to) {
    if (known && is_repeated(delta, known))
        return known;
    if (delta->type == KI_DELTA_DELETED) {
        if (!known)
            return NULL;
        if (delta->obj && ki_is_same_object(delta->obj, known))
            tell_deleted(to, delta->obj, known, delta->tombstone);
        else
            tell_deleted(to, known, known, true);
        return NULL;
    }
    if (known && ki_is_same_object(delta->obj, known)) {
        tell_updated(to, delta, known);
        return delta->obj;
    }
    if (known) /* it was deleted and made again while nobody watched */
        tell_deleted(to, known, known, true);
    tell_added(to, delta);
    return delta->obj;
}

static ki_object *follow_all(const ki_deltas *deltas, ki_object *known, teller *to) {
    for (size_t i = 0; i < deltas->count; i++)
        known = follow(&deltas->items[i], known, to);
    return known;
}

/* The version that the store is at once nothing is queued any more; NULL: what it was. */
static const char *version_now(const ki_informer *informer) {
    const char *version = informer->reflector.resource_version;
    bool is_last = informer->queue->ops->length(informer->queue) == 0;
    return is_last && version[0] ? version : NULL;
}

static ki_status store(ki_informer *informer, const char *key, ki_object *obj, ki_error *err) {
    const char *version = version_now(informer);
    ki_status status = obj ? ki_store_put(informer->store, obj, version, NULL, err)
                           : ki_store_delete(informer->store, key, version, NULL, err);
    if (!status && version)
        status = ki_reflector_copy_version(informer->store_version, version, err);
    return status;
}

/* The change lock is held. */
static ki_status apply(ki_informer *informer, const ki_deltas *deltas, ki_object *known, ki_error *err) {
    teller counts = { .processor = NULL };
    ki_object *obj = follow_all(deltas, known, &counts);
    if (counts.count == 0)
        return KI_OK;
    if (ki_processor_reserve(&informer->processor, counts.count))
        return ki_error_no_memory(err, "telling of a change");
    ki_status status = obj == known ? KI_OK : store(informer, deltas->key, obj, err);
    if (status)
        return status;
    teller tells = { .processor = &informer->processor };
    follow_all(deltas, known, &tells);
    return KI_OK;
}

/* Where changes come without a pause the queue is never empty: the store is at least at the version of the list then. Lack of memory
 * leaves it without one until the next change. */
static void take_list_version(ki_informer *informer) {
    const char *version = informer->reflector.result_version;
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
}

ki_status ki_informer_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    ki_informer *informer = user;
    ki_mutex_lock(&informer->change_lock);
    note_synced(informer);
    ki_object *known = ki_store_get(informer->store, deltas->key);
    ki_status status = apply(informer, deltas, known, err);
    ki_mutex_unlock(&informer->change_lock);
    ki_object_unref(known);
    if (!status)
        ki_metrics_queue(&informer->metrics, informer->queue->ops->length(informer->queue));
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
    if (!status)
        ki_metrics_queue(&informer->metrics, 0);
    note_synced(informer);
    ki_mutex_unlock(&informer->change_lock);
    return status;
}
