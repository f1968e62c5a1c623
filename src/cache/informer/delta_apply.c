/* delta_apply.c: see delta_apply.h. */
#include "src/cache/informer/delta_apply.h"

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

static ki_status stage_deleted(ki_processor *processor, ki_object *obj, ki_object *known, bool final_state_unknown,
                               ki_object **ret_deleted) {
    const ki_change change = {
        .type = KI_EVENT_DELETE, .obj = obj, .old = known, .final_state_unknown = final_state_unknown
    };
    *ret_deleted = obj;
    return ki_processor_stage(processor, &change);
}

/* A listed object that has not changed counts as a resync. */
static ki_status stage_updated(ki_processor *processor, const ki_change *delta, ki_object *known) {
    ki_change change = *delta;
    change.type = KI_EVENT_UPDATE;
    change.old = known;
    change.is_resync = delta->is_resync || (delta->is_listed && ki_object_is_same_state(delta->obj, known));
    return ki_processor_stage(processor, &change);
}

static ki_status stage_added(ki_processor *processor, const ki_change *delta) {
    ki_change change = *delta;
    change.type = KI_EVENT_ADD;
    change.is_resync = false;
    return ki_processor_stage(processor, &change);
}

ki_status ki_delta_apply(const ki_change *delta, ki_object **state, ki_processor *processor, ki_unreadable *unreadable,
                         ki_object **ret_deleted) {
    ki_object *known = *state;
    *ret_deleted = NULL;
    bool is_deleted = delta->type == KI_EVENT_DELETE;
    if (known ? is_repeated(delta, known, unreadable) : is_deleted)
        return KI_OK;
    bool is_same = known && ki_object_is_same(delta->obj, known);
    *state = is_deleted ? NULL : delta->obj;
    if (is_deleted && is_same && !delta->final_state_unknown)
        return stage_deleted(processor, delta->obj, known, false, ret_deleted);
    if (is_same && !is_deleted)
        return stage_updated(processor, delta, known);
    /* Without a deletion event: another uid, so the object was deleted and created again. */
    ki_status status = known ? stage_deleted(processor, known, known, true, ret_deleted) : KI_OK;
    return status || is_deleted ? status : stage_added(processor, delta);
}
