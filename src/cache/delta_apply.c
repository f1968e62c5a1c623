/* delta_apply.c: see delta_apply.h. */
#include "src/cache/delta_apply.h"

#include "src/object/object.h"

static ki_order order_of(const ki_object *obj, const ki_object *known) {
    const char *version = ki_object_resource_version(obj);
    return version[0] ? ki_resource_version_compare(version, ki_object_resource_version(known)) : KI_ORDER_UNKNOWN;
}

/* Returns true for an event that a resumed watch repeats: at the known version, or an older one. Never true for a
 * list's objects. */
static bool is_repeated(const ki_change *delta, const ki_object *known, ki_unreadable *unreadable) {
    ki_order order = order_of(delta->obj, known);
    if (order == KI_ORDER_OLDER && unreadable &&
        ki_unreadable_is_past(unreadable, ki_object_key(known), ki_object_resource_version(known)))
        return false;
    if (delta->is_listed || delta->is_resync)
        return false;
    if (delta->type == KI_EVENT_DELETE)
        return !delta->final_state_unknown && order == KI_ORDER_OLDER;
    /* The same version with another content: the server used the version again after a restore. */
    return order == KI_ORDER_OLDER || (order == KI_ORDER_SAME && ki_object_is_same_state(delta->obj, known));
}

static void notify(ki_notifier *to, const ki_change *change) {
    to->count++;
    if (to->processor)
        ki_processor_distribute(to->processor, change);
}

void ki_notify_deleted(ki_notifier *to, ki_object *obj, ki_object *known, bool final_state_unknown) {
    notify(to, &(ki_change){
                   .type = KI_EVENT_DELETE, .obj = obj, .old = known, .final_state_unknown = final_state_unknown });
}

/* A listed object that has not changed counts as a resync. */
void ki_notify_updated(ki_notifier *to, const ki_change *delta, ki_object *known) {
    ki_change change = *delta;
    change.type = KI_EVENT_UPDATE;
    change.old = known;
    change.is_resync = delta->is_resync || (delta->is_listed && ki_object_is_same_state(delta->obj, known));
    notify(to, &change);
}

ki_object *ki_delta_apply(const ki_change *delta, ki_object *known, ki_notifier *to) {
    if (known && is_repeated(delta, known, to->unreadable))
        return known;
    if (delta->type == KI_EVENT_DELETE) {
        if (!known)
            return NULL;
        if (!delta->final_state_unknown && ki_object_is_same(delta->obj, known))
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
    ki_change added = *delta;
    added.type = KI_EVENT_ADD;
    added.is_resync = false;
    notify(to, &added);
    return delta->obj;
}
