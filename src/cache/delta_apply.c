/* delta_apply.c: see delta_apply.h. */
#include "src/cache/delta_apply.h"

#include "src/object/object.h"

static ki_order order_of(const ki_object *obj, const ki_object *known) {
    const char *version = ki_object_resource_version(obj);
    return version[0] ? ki_resource_version_compare(version, ki_object_resource_version(known)) : KI_ORDER_UNKNOWN;
}

/* Returns true for an event that a resumed watch repeats: at the known version, or an older one. Never true for a
 * list's objects. */
static bool is_repeated(const ki_delta *delta, const ki_object *known, ki_unreadable *unreadable) {
    ki_order order = delta->obj ? order_of(delta->obj, known) : KI_ORDER_UNKNOWN;
    if (order == KI_ORDER_OLDER && unreadable &&
        ki_unreadable_is_past(unreadable, ki_object_key(known), ki_object_resource_version(known)))
        return false;
    switch (delta->type) {
    case KI_DELTA_ADDED:
    case KI_DELTA_UPDATED:
        /* The same version with another content: the server used the version again after a restore. */
        return order == KI_ORDER_OLDER || (order == KI_ORDER_SAME && ki_object_is_same_state(delta->obj, known));
    case KI_DELTA_DELETED:
        return !delta->tombstone && order == KI_ORDER_OLDER;
    case KI_DELTA_REPLACED:
    case KI_DELTA_SYNC:
        break;
    }
    return false;
}

static void notify(ki_notifier *to, ki_notification notification, ki_audience audience) {
    to->count++;
    if (to->processor)
        ki_processor_distribute(to->processor, &notification, audience);
}

static void notify_added(ki_notifier *to, const ki_delta *delta) {
    notify(
        to,
        (ki_notification){ .type = KI_NOTIFY_ADD, .obj = delta->obj, .is_in_initial_list = delta->is_in_initial_list },
        KI_AUDIENCE_ALL);
}

void ki_notify_deleted(ki_notifier *to, ki_object *obj, ki_object *known, bool final_state_unknown) {
    notify(to,
           (ki_notification){
               .type = KI_NOTIFY_DELETE, .obj = obj, .old = known, .final_state_unknown = final_state_unknown },
           KI_AUDIENCE_ALL);
}

void ki_notify_updated(ki_notifier *to, const ki_delta *delta, ki_object *known) {
    ki_audience audience = KI_AUDIENCE_ALL;
    if (delta->type == KI_DELTA_SYNC)
        audience = KI_AUDIENCE_DUE;
    else if (delta->type == KI_DELTA_REPLACED && ki_object_is_same_state(delta->obj, known))
        audience = KI_AUDIENCE_RESYNCING;
    notify(to,
           (ki_notification){
               .type = KI_NOTIFY_UPDATE, .obj = delta->obj, .old = known, .is_resync = audience != KI_AUDIENCE_ALL },
           audience);
}

ki_object *ki_delta_apply(const ki_delta *delta, ki_object *known, ki_notifier *to) {
    if (known && is_repeated(delta, known, to->unreadable))
        return known;
    if (delta->type == KI_DELTA_DELETED) {
        if (!known)
            return NULL;
        if (!delta->tombstone && delta->obj && ki_object_is_same(delta->obj, known))
            ki_notify_deleted(to, delta->obj, known, false);
        else
            ki_notify_deleted(to, known, known, true);
        return NULL;
    }
    if (known && ki_object_is_same(delta->obj, known)) {
        ki_notify_updated(to, delta, known);
        return delta->obj;
    }
    if (known) /* another uid: the object was deleted and created again, and the deletion event was missed */
        ki_notify_deleted(to, known, known, true);
    notify_added(to, delta);
    return delta->obj;
}
