/* workload.c: all changes that controllers do not make. Users write parents, and change and delete children by hand.
 * Other parts of a program add keys to the work queue. The garbage collector deletes the children of deleted
 * parents. */
#include "sim/controllers/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COLLECT_EVERY_S = 2,
    BURST = 5 /* writes of a burst */
};

static void parent_target(unsigned parent, bool has_name, char *ret_target, size_t size) {
    int written = snprintf(ret_target, size, "/apis/" CTL_GROUP "/v1/namespaces/%s/foos", ctl_namespace(parent));
    if (has_name)
        snprintf(ret_target + written, size - (size_t)written, "/p%u", parent);
}

static void child_target(unsigned parent, unsigned child, char *ret_target, size_t size) {
    snprintf(ret_target, size, "/api/v1/namespaces/%s/configmaps/p%u-%u", ctl_namespace(parent), parent, child);
}

/* --- users -------------------------------------------------------------------------------------------------------- */

/* Returns the replicas of a new spec. Before the last fault 5 % are invalid (-1). */
static int draw_replicas(ctl_world *world) {
    if (!world->healed && sim_chance(&world->user_random, 5))
        return -1;
    return (int)sim_between(&world->user_random, 0, CTL_MAX_CHILDREN);
}

static void create_parent(ctl_world *world, unsigned parent) {
    char target[160], body[320];
    const ctl_plan *plan = &world->plan;
    bool has_finalizer = sim_chance(&world->user_random, plan->finalizer_percent),
         has_wait = sim_chance(&world->user_random, plan->wait_percent);
    int wait_seconds = has_wait ? (int)sim_between(&world->user_random, 1, 10) : 0;
    int replicas = draw_replicas(world);
    parent_target(parent, false, target, sizeof target);
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"p%u\"%s},\"spec\":{\"replicas\":%d,\"value\":\"v%" PRIu64
             "\",\"waitSeconds\":%d}}",
             parent, has_finalizer ? ",\"finalizers\":[\"" CTL_FINALIZER "\"]" : "", replicas, ++world->last_value,
             wait_seconds);
    if (ctl_server_request(world, "POST", target, body) != 201)
        ctl_fail(world, "cannot create %s as a user: %s", target, body);
}

static void change_parent(ctl_world *world, unsigned parent) {
    char target[160], body[160];
    parent_target(parent, true, target, sizeof target);
    if (sim_chance(&world->user_random, 50))
        snprintf(body, sizeof body, "{\"spec\":{\"value\":\"v%" PRIu64 "\"}}", ++world->last_value);
    else
        snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%d,\"value\":\"v%" PRIu64 "\"}}", draw_replicas(world),
                 ++world->last_value);
    if (ctl_server_request(world, "PATCH", target, body) != 200)
        ctl_fail(world, "cannot change %s as a user", target);
}

static void set_replicas(ctl_world *world, unsigned parent) {
    char target[160], body[160];
    parent_target(parent, true, target, sizeof target);
    snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%d}}", draw_replicas(world));
    if (ctl_server_request(world, "PATCH", target, body) != 200)
        ctl_fail(world, "cannot change %s as a user", target);
}

static void delete_parent(ctl_world *world, unsigned parent) {
    char target[160];
    parent_target(parent, true, target, sizeof target);
    (void)ctl_server_request(world, "DELETE", target, NULL);
}

static void write_parent(ctl_world *world, unsigned parent) {
    const ctl_parent_state *state = &ctl_server_state(world)->parents[parent];
    if (!state->exists)
        create_parent(world, parent);
    else if (state->is_deleting)
        return;
    else if (sim_chance(&world->user_random, 20))
        delete_parent(world, parent);
    else
        change_parent(world, parent);
}

/* --- manual changes of children ----------------------------------------------------------------------------------- */

/* Removes the owner of a child that exists, or creates a child without an owner. */
static void make_ownerless_child(ctl_world *world, unsigned parent, unsigned child, bool exists) {
    char target[160], body[200];
    if (exists) {
        child_target(parent, child, target, sizeof target);
        (void)ctl_server_request(world, "PATCH", target, "{\"metadata\":{\"ownerReferences\":null}}");
        return;
    }
    snprintf(target, sizeof target, "/api/v1/namespaces/%s/configmaps", ctl_namespace(parent));
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"p%u-%u\",\"labels\":{\"child\":\"yes\"}},\"data\":{\"value\":\"v0\"}}", parent,
             child);
    (void)ctl_server_request(world, "POST", target, body);
}

/* Returns true if all running processes have this child in their caches. Only such children are changed: a child that
 * is created and deleted between two watches causes no event, and no reconcile creates it again before the parent's
 * next event. client-go has the same limit. */
static bool is_in_all_caches(ctl_world *world, unsigned parent, unsigned child) {
    const ctl_child_state *state = &ctl_server_state(world)->parents[parent].children[child];
    char key[64];
    snprintf(key, sizeof key, "%s/p%u-%u", ctl_namespace(parent), parent, child);
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        const ctl_process *process = &world->processes[i];
        if (!process->is_running)
            continue; /* after its start it reconciles all parents */
        ki_object *obj = ki_informer_get(process->children, key);
        bool is_cached = obj && strcmp(ki_object_uid(obj), state->uid) == 0;
        ki_object_unref(obj);
        if (!is_cached)
            return false;
    }
    return true;
}

static void write_child_by_hand(ctl_world *world, unsigned parent) {
    unsigned child = (unsigned)sim_below(&world->user_random, CTL_MAX_CHILDREN);
    const ctl_child_state *state = &ctl_server_state(world)->parents[parent].children[child];
    char target[160];
    child_target(parent, child, target, sizeof target);
    if (state->exists && !is_in_all_caches(world, parent, child))
        return;
    if (!world->healed && sim_chance(&world->user_random, world->plan.ownerless_percent))
        make_ownerless_child(world, parent, child, state->exists);
    else if (!state->exists)
        return;
    else if (sim_chance(&world->user_random, 50))
        (void)ctl_server_request(world, "DELETE", target, NULL);
    else
        (void)ctl_server_request(world, "PATCH", target, "{\"data\":{\"value\":\"v0\"}}");
}

/* --- keys that the program adds itself ---------------------------------------------------------------------------- */

static void add_external_key(ctl_world *world) {
    char key[64];
    ctl_process *process = &world->processes[sim_below(&world->user_random, world->plan.process_count)];
    unsigned parent = (unsigned)sim_below(&world->user_random, world->plan.parent_count);
    int64_t after_ms = sim_chance(&world->user_random, 50) ? 0 : sim_between(&world->user_random, 0, 5000);
    int priority = (int)sim_between(&world->user_random, -100, 100);
    if (!process->is_running || process->is_stopping || process->is_in_step)
        return;
    ctl_key_format(parent, key, sizeof key);
    ki_status status = ki_workqueue_add_with(ki_controller_queue(process->controller), key,
                                             &KI_ADD_OPTIONS(.priority = priority, .after_ms = after_ms));
    CTL_TRACE(world, "process %u: %s is added to the work queue after %" PRId64 " ms: %s", process->index, key,
              after_ms, ki_status_name(status));
    if (status)
        return; /* the program knows that the key is not queued */
    if (after_ms)
        ctl_key_add_delay(process, parent, after_ms);
    else
        ctl_key_add_cause(process, parent);
}

/* --- the garbage collector ---------------------------------------------------------------------------------------- */

static void collect_child(ctl_world *world, unsigned parent, unsigned child) {
    char target[160];
    child_target(parent, child, target, sizeof target);
    (void)ctl_server_request(world, "DELETE", target, NULL);
}

static void collect(void *user, uint64_t argument) {
    ctl_world *world = user;
    (void)argument;
    ctl_after(world, COLLECT_EVERY_S * SIM_SECOND, collect, world, 0);
    if (world->server.collected_revision == kt_cluster_revision(world->server.cluster))
        return;
    const ctl_state state = *ctl_server_state(world);
    bool is_complete = true;
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_parent_state *parent = &state.parents[i];
        for (unsigned j = 0; j < CTL_MAX_CHILDREN; j++) {
            const ctl_child_state *child = &parent->children[j];
            if (!child->exists || !child->owner_uid[0] || strcmp(child->owner_uid, parent->uid) == 0)
                continue;
            if (sim_chance(&world->user_random, 60))
                collect_child(world, i, j);
            else
                is_complete = false; /* collected later */
        }
    }
    if (is_complete)
        world->server.collected_revision = state.revision;
}

/* --- schedule ----------------------------------------------------------------------------------------------------- */

void ctl_workload_write(ctl_world *world) {
    unsigned parent = (unsigned)sim_below(&world->user_random, world->plan.parent_count);
    if (sim_chance(&world->user_random, 60))
        write_parent(world, parent);
    else
        write_child_by_hand(world, parent);
    if (sim_chance(&world->user_random, world->plan.external_add_percent))
        add_external_key(world);
}

static void on_write_time(void *user, uint64_t argument) {
    ctl_world *world = user;
    (void)argument;
    if (world->healed)
        return;
    unsigned count = sim_chance(&world->user_random, 10) ? BURST : 1;
    for (unsigned i = 0; i < count; i++)
        ctl_workload_write(world);
    ctl_after(world, sim_between(&world->user_random, 0, 2 * world->plan.write_every), on_write_time, world, 0);
}

void ctl_workload_start(ctl_world *world) {
    unsigned count = (unsigned)sim_below(&world->user_random, world->plan.parent_count + 1);
    for (unsigned i = 0; i < count; i++)
        create_parent(world, i);
    ctl_at(world, COLLECT_EVERY_S * SIM_SECOND, collect, world, 0);
    ctl_after(world, sim_between(&world->user_random, 0, world->plan.write_every), on_write_time, world, 0);
}

void ctl_workload_repair(ctl_world *world) {
    const ctl_state state = *ctl_server_state(world);
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_parent_state *parent = &state.parents[i];
        if (parent->exists && !parent->is_deleting && parent->replicas < 0)
            set_replicas(world, i);
        for (unsigned j = 0; j < CTL_MAX_CHILDREN; j++) {
            if (parent->children[j].exists && !parent->children[j].owner_uid[0])
                collect_child(world, i, j);
        }
    }
}
