/* handlers.c: the program's own handlers, which count the causes of reconciles, and the predicates of the controller's
 * watches, which record when an event queues a key. The program's handlers can be called later than the controller's,
 * and even after the reconcile. */
#include "sim/controllers/world.h"

#include <string.h>

/* Fails the run if the process has been freed. */
static ctl_process *running_process(void *user) {
    ctl_process *process = user;
    if (!process->is_running)
        ctl_fail(process->world, "process %u: a handler was called after the process was freed", process->index);
    return process;
}

typedef void key_function(ctl_process *process, unsigned number);

static void for_key(ctl_process *process, const char *key, key_function *function) {
    int number = ctl_key_parse(key);
    if (number >= 0)
        function(process, (unsigned)number);
}

static void add_cause(ctl_process *process, const char *key) {
    for_key(process, key, ctl_key_add_cause);
}

/* No reconcile begins before all informers have synced. */
static void on_synced(ki_informer *informer, void *user) {
    ctl_process *process = running_process(user);
    (void)informer;
    process->disturbed_at = process->world->now;
}

/* --- parents ------------------------------------------------------------------------------------------------------ */

static void parent_added_or_deleted(const ki_event *event, void *user) {
    add_cause(running_process(user), ki_object_key(event->obj));
}

static bool is_same_generation(const ki_event *event) {
    const ctl_parent *now = ki_object_view(event->obj), *old = ki_object_view(event->old);
    return now->generation == old->generation;
}

static void parent_changed(const ki_event *event, void *user) {
    ctl_process *process = running_process(user);
    if (!process->world->plan.has_generation_predicate || !is_same_generation(event))
        add_cause(process, ki_object_key(event->obj));
}

/* --- children ----------------------------------------------------------------------------------------------------- */

/* Calls `function` for the parents whose keys an event of this child queues. */
static void for_owners(ctl_process *process, const ki_object *obj, key_function *function) {
    ki_owner_reference *references = NULL;
    size_t count = 0;
    if (process->world->plan.maps_children) {
        for_key(process, ki_object_key(obj), function); /* the child's name begins with the parent's */
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
            number = ctl_key_parse(key);
        }
        if (number >= 0)
            function(process, (unsigned)number);
    }
    ki_owner_references_free(references);
}

static void add_cause_for_owners(ctl_process *process, const ki_object *obj) {
    for_owners(process, obj, ctl_key_add_cause);
}

static void child_added_or_deleted(const ki_event *event, void *user) {
    ctl_process *process = running_process(user);
    add_cause_for_owners(process, event->obj);
}

static void child_changed(const ki_event *event, void *user) {
    ctl_process *process = running_process(user);
    add_cause_for_owners(process, event->old);
    add_cause_for_owners(process, event->obj);
}

static ki_status handle_parents(ctl_process *process, ki_error *err) {
    static const ki_handler of_parents = { .on_add = parent_added_or_deleted,
                                           .on_update = parent_changed,
                                           .on_delete = parent_added_or_deleted,
                                           .on_synced = on_synced };
    return ki_informer_add_handler(process->parents, &of_parents, process, &KI_REGISTRATION_OPTIONS(.on_loop = true),
                                   NULL, err);
}

ki_status ctl_handlers_add(ctl_process *process, ki_error *err) {
    static const ki_handler of_children = { .on_add = child_added_or_deleted,
                                            .on_update = child_changed,
                                            .on_delete = child_added_or_deleted,
                                            .on_synced = on_synced };
    process->handles_parents = process->world->plan.late_watch_ms == 0;
    ki_status status = process->handles_parents ? handle_parents(process, err) : KI_OK;
    return status ? status
                  : ki_informer_add_handler(process->children, &of_children, process,
                                            &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, err);
}

/* --- the controller's watches ------------------------------------------------------------------------------------- */

static void map_child(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    char key[64];
    (void)user;
    int number = ctl_key_parse(ki_object_key(obj));
    if (number < 0)
        return;
    ctl_key_format((unsigned)number, key, sizeof key);
    (void)ki_reconcile_keys_add(keys, key); /* without memory the controller maps the object again */
}

static bool parent_predicate(const ki_event *event, void *user) {
    ctl_process *process = running_process(user);
    if (process->world->plan.has_generation_predicate && !ki_predicate_generation_changed(event, NULL))
        return false;
    for_key(process, ki_object_key(event->obj), ctl_key_note_event);
    return true;
}

static bool child_predicate(const ki_event *event, void *user) {
    ctl_process *process = running_process(user);
    if (event->old)
        for_owners(process, event->old, ctl_key_note_event);
    for_owners(process, event->obj, ctl_key_note_event);
    return true;
}

static ki_status watch_parents(ctl_process *process, ki_error *err) {
    const ki_controller_watch_options of_parents = KI_CONTROLLER_WATCH(.predicate = parent_predicate, .user = process);
    process->watching_since = process->world->now;
    ki_status status = ki_controller_watch(process->controller, process->parents, &of_parents, err);
    process->watches_parents = status == KI_OK;
    return status;
}

/* Watches both by the builder's functions, which get the process's informers. */
static ki_status watch_for_and_owns(ctl_process *process, ki_error *err) {
    const ctl_plan *plan = &process->world->plan;
    const ki_informer_options parents = ctl_informer_options(process, false),
                              children = ctl_informer_options(process, true);
    process->watching_since = process->world->now;
    ki_status status = ki_controller_for(
        process->controller, &ctl_foos,
        &KI_CONTROLLER_WATCH(.predicate = parent_predicate, .user = process, .informer_options = &parents), NULL, err);
    process->watches_parents = status == KI_OK;
    return status ? status
                  : ki_controller_owns(process->controller, KI_CONFIGMAPS,
                                       &KI_CONTROLLER_WATCH(.any_owner = plan->any_owner, .predicate = child_predicate,
                                                            .user = process, .informer_options = &children),
                                       NULL, err);
}

/* Watches the parents of a process that runs for some time. */
static void watch_late(void *user, uint64_t start_count) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    ki_error err = KI_ERROR_INIT;
    if (!process->is_running || process->start_count != start_count || process->is_stopping || process->is_freed)
        return;
    ki_status status = process->handles_parents ? KI_OK : handle_parents(process, &err);
    process->handles_parents = process->handles_parents || !status;
    if (!status)
        status = watch_parents(process, &err);
    if (status == KI_ERR_NO_MEMORY)
        ctl_at(world, world->now + SIM_SECOND, watch_late, process, start_count);
    else if (status && status != KI_ERR_STATE)
        ctl_fail(world, "a watch after the start: %s", ki_error_message(&err));
}

ki_status ctl_watches_add(ctl_process *process, ki_error *err) {
    ctl_world *world = process->world;
    const ctl_plan *plan = &world->plan;
    ki_controller_watch_options of_children = KI_CONTROLLER_WATCH(.owner = &ctl_foos, .any_owner = plan->any_owner);
    if (plan->maps_children)
        of_children = KI_CONTROLLER_WATCH(.map = map_child);
    of_children.predicate = child_predicate;
    of_children.user = process;
    if (plan->uses_for_and_owns)
        return watch_for_and_owns(process, err);
    ki_status status = plan->late_watch_ms ? KI_OK : watch_parents(process, err);
    if (!status)
        status = ki_controller_watch(process->controller, process->children, &of_children, err);
    if (status || !plan->late_watch_ms)
        return status;
    ctl_at(world, world->now + plan->late_watch_ms * SIM_MILLISECOND, watch_late, process, process->start_count);
    return KI_OK;
}
