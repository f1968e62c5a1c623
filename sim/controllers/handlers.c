/* handlers.c: the program's own handlers, which count what may cause a reconcile, and the controller's watches, whose predicates note since when a key
 * waits: the program's handlers may be called later than the controller's, and even than the reconcile. */
#include "sim/controllers/world.h"

#include <string.h>

static ctl_process *alive(void *user) {
    ctl_process *process = user;
    if (!process->is_running)
        ctl_fail(process->world, "process %u: a handler is called after the end", process->index);
    return process;
}

typedef void note_function(ctl_process *process, unsigned number);

static void note(ctl_process *process, const char *key, note_function *noted) {
    int number = ctl_key_number(key);
    if (number >= 0)
        noted(process, (unsigned)number);
}

static void cause(ctl_process *process, const char *key) {
    note(process, key, ctl_key_cause);
}

/* Until all informers have synced no reconcile begins. */
static void synced(ki_informer *informer, void *user) {
    ctl_process *process = alive(user);
    (void)informer;
    process->hindered_at = process->world->now;
}

/* --- parents ------------------------------------------------------------------------------------------------------------- */

static void parent_came_or_went(const ki_event *event, void *user) {
    cause(alive(user), ki_object_key(event->obj));
}

static bool is_same_generation(const ki_event *event) {
    const ctl_parent *now = ki_object_view(event->obj), *old = ki_object_view(event->old);
    return now->generation == old->generation;
}

static void parent_changed(const ki_event *event, void *user) {
    ctl_process *process = alive(user);
    if (!process->world->plan.by_generation || !is_same_generation(event))
        cause(process, ki_object_key(event->obj));
}

/* --- children ------------------------------------------------------------------------------------------------------------ */

static void note_owners(ctl_process *process, const ki_object *obj, note_function *noted) {
    ki_owner_reference *references = NULL;
    size_t count = 0;
    if (process->world->plan.maps_children) {
        note(process, ki_object_key(obj), noted); /* the parent's name is the first part of the child's */
        return;
    }
    if (ki_object_owner_references(obj, &references, &count, NULL)) {
        process->lacked_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char key[128];
        int number = -1;
        if (strlen(references[i].name) < 32) {
            memcpy(key, "ns/", 3);
            memcpy(key + 3, references[i].name, strlen(references[i].name) + 1);
            number = ctl_key_number(key);
        }
        if (number >= 0)
            noted(process, (unsigned)number);
    }
    ki_owner_references_free(references);
}

static void cause_of_owner(ctl_process *process, const ki_object *obj) {
    note_owners(process, obj, ctl_key_cause);
}

static void child_came_or_went(const ki_event *event, void *user) {
    ctl_process *process = alive(user);
    cause_of_owner(process, event->obj);
}

static void child_changed(const ki_event *event, void *user) {
    ctl_process *process = alive(user);
    cause_of_owner(process, event->old);
    cause_of_owner(process, event->obj);
}

ki_status ctl_handlers_add(ctl_process *process, ki_error *err) {
    static const ki_handler of_parents = { .on_add = parent_came_or_went,
                                           .on_update = parent_changed,
                                           .on_delete = parent_came_or_went,
                                           .on_synced = synced };
    static const ki_handler of_children = {
        .on_add = child_came_or_went, .on_update = child_changed, .on_delete = child_came_or_went, .on_synced = synced
    };
    ki_registration_options options = KI_REGISTRATION_OPTIONS(.on_loop = true);
    ki_status status = ki_informer_register(process->parents, &of_parents, process, &options, NULL, err);
    return status ? status : ki_informer_register(process->children, &of_children, process, &options, NULL, err);
}

/* --- the controller's watches ----------------------------------------------------------------------------------------------- */

static void map_child(const ki_object *obj, ki_reconcile_keys *requests, void *user) {
    char key[64];
    (void)user;
    int number = ctl_key_number(ki_object_key(obj));
    if (number < 0)
        return;
    ctl_key_text((unsigned)number, key, sizeof key);
    (void)ki_reconcile_keys_add(requests, key); /* the controller maps the object again where there was no memory */
}

static bool parent_counts(const ki_event *event, void *user) {
    ctl_process *process = alive(user);
    if (process->world->plan.by_generation && !ki_predicate_generation_changed(event, NULL))
        return false;
    note(process, ki_object_key(event->obj), ctl_key_wait);
    return true;
}

static bool child_counts(const ki_event *event, void *user) {
    ctl_process *process = alive(user);
    if (event->old)
        note_owners(process, event->old, ctl_key_wait);
    note_owners(process, event->obj, ctl_key_wait);
    return true;
}

ki_status ctl_watches_add(ctl_process *process, ki_error *err) {
    const ctl_plan *plan = &process->world->plan;
    ki_controller_watch_options of_parents = KI_CONTROLLER_WATCH(.predicate = parent_counts, .user = process);
    ki_controller_watch_options of_children = KI_CONTROLLER_WATCH(.owner = &ctl_foos, .any_owner = plan->any_owner);
    if (plan->maps_children)
        of_children = KI_CONTROLLER_WATCH(.map = map_child);
    of_children.predicate = child_counts;
    of_children.user = process;
    ki_status status = ki_controller_watch(process->controller, process->parents, &of_parents, err);
    return status ? status : ki_controller_watch(process->controller, process->children, &of_children, err);
}
