/* people.c: who changes the cluster beside the controllers: users write parents, hands change and delete children, other parts of a program queue
 * keys, and the garbage collector deletes the children of parents that are gone. */
#include "sim/controllers/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COLLECT_EVERY_S = 2,
    MANY = 5 /* writes of a burst */
};

static void parent_target(unsigned parent, bool has_name, char *ret_target, size_t size) {
    int written = snprintf(ret_target, size, "/apis/" CTL_GROUP "/v1/namespaces/%s/foos", ctl_namespace(parent));
    if (has_name)
        snprintf(ret_target + written, size - (size_t)written, "/p%u", parent);
}

static void child_target(unsigned parent, unsigned child, char *ret_target, size_t size) {
    snprintf(ret_target, size, "/api/v1/namespaces/%s/configmaps/p%u-%u", ctl_namespace(parent), parent, child);
}

/* --- users ---------------------------------------------------------------------------------------------------------------- */

/* Replicas of a new spec; now and then one that is not valid. */
static int draw_replicas(ctl_world *world) {
    if (!world->healed && sim_chance(&world->users, 5))
        return -1;
    return (int)sim_between(&world->users, 0, CTL_MAX_CHILDREN);
}

static void create_parent(ctl_world *world, unsigned parent) {
    char target[160], body[320];
    const ctl_plan *plan = &world->plan;
    bool has_finalizer = sim_chance(&world->users, plan->finalizers), waits = sim_chance(&world->users, plan->waits);
    parent_target(parent, false, target, sizeof target);
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"p%u\"%s},\"spec\":{\"replicas\":%d,\"value\":\"v%" PRIu64
             "\",\"waitSeconds\":%d}}",
             parent, has_finalizer ? ",\"finalizers\":[\"" CTL_FINALIZER "\"]" : "", draw_replicas(world),
             ++world->values, waits ? (int)sim_between(&world->users, 1, 10) : 0);
    if (ctl_server_ask(world, "POST", target, body) != 201)
        ctl_fail(world, "a user cannot create %s: %s", target, body);
}

static void change_parent(ctl_world *world, unsigned parent) {
    char target[160], body[160];
    parent_target(parent, true, target, sizeof target);
    if (sim_chance(&world->users, 50))
        snprintf(body, sizeof body, "{\"spec\":{\"value\":\"v%" PRIu64 "\"}}", ++world->values);
    else
        snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%d,\"value\":\"v%" PRIu64 "\"}}", draw_replicas(world),
                 ++world->values);
    if (ctl_server_ask(world, "PATCH", target, body) != 200)
        ctl_fail(world, "a user cannot change %s", target);
}

static void set_replicas(ctl_world *world, unsigned parent) {
    char target[160], body[160];
    parent_target(parent, true, target, sizeof target);
    snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%d}}", draw_replicas(world));
    if (ctl_server_ask(world, "PATCH", target, body) != 200)
        ctl_fail(world, "a user cannot change %s", target);
}

static void delete_parent(ctl_world *world, unsigned parent) {
    char target[160];
    parent_target(parent, true, target, sizeof target);
    (void)ctl_server_ask(world, "DELETE", target, NULL);
}

static void use_parent(ctl_world *world, unsigned parent) {
    const ctl_parent_state *state = &ctl_server_state(world)->parents[parent];
    if (!state->is_there)
        create_parent(world, parent);
    else if (state->is_deleting)
        return;
    else if (sim_chance(&world->users, 20))
        delete_parent(world, parent);
    else
        change_parent(world, parent);
}

/* --- hands ---------------------------------------------------------------------------------------------------------------- */

static void make_stranger(ctl_world *world, unsigned parent, unsigned child, bool is_there) {
    char target[160], body[200];
    if (is_there) {
        child_target(parent, child, target, sizeof target);
        (void)ctl_server_ask(world, "PATCH", target, "{\"metadata\":{\"ownerReferences\":null}}");
        return;
    }
    snprintf(target, sizeof target, "/api/v1/namespaces/%s/configmaps", ctl_namespace(parent));
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"p%u-%u\",\"labels\":{\"child\":\"yes\"}},\"data\":{\"value\":\"v0\"}}", parent,
             child);
    (void)ctl_server_ask(world, "POST", target, body);
}

/* A child that was made and deleted between two watches leaves no trace in an informer's cache, and nobody makes it again before its parent's next
 * cause. client-go's controllers have the same gap: it is no fault of theirs that this scenario looks for. */
static bool have_all_seen(ctl_world *world, unsigned parent, unsigned child) {
    const ctl_child_state *state = &ctl_server_state(world)->parents[parent].children[child];
    char key[64];
    snprintf(key, sizeof key, "%s/p%u-%u", ctl_namespace(parent), parent, child);
    for (unsigned i = 0; i < world->plan.processes; i++) {
        const ctl_process *process = &world->processes[i];
        if (!process->is_running)
            continue; /* it begins with all parents */
        ki_object *obj = ki_informer_get(process->children, key);
        bool is_seen = obj && strcmp(ki_object_uid(obj), state->uid) == 0;
        ki_object_unref(obj);
        if (!is_seen)
            return false;
    }
    return true;
}

static void lay_hands_on(ctl_world *world, unsigned parent) {
    unsigned child = (unsigned)sim_below(&world->users, CTL_MAX_CHILDREN);
    const ctl_child_state *state = &ctl_server_state(world)->parents[parent].children[child];
    char target[160];
    child_target(parent, child, target, sizeof target);
    if (state->is_there && !have_all_seen(world, parent, child))
        return;
    if (!world->healed && sim_chance(&world->users, world->plan.foreign))
        make_stranger(world, parent, child, state->is_there);
    else if (!state->is_there)
        return;
    else if (sim_chance(&world->users, 50))
        (void)ctl_server_ask(world, "DELETE", target, NULL);
    else
        (void)ctl_server_ask(world, "PATCH", target, "{\"data\":{\"value\":\"v0\"}}");
}

/* --- keys from elsewhere ------------------------------------------------------------------------------------------------------ */

static void tick(ctl_world *world) {
    char key[64];
    ctl_process *process = &world->processes[sim_below(&world->users, world->plan.processes)];
    unsigned parent = (unsigned)sim_below(&world->users, world->plan.parents);
    int64_t after_ms = sim_chance(&world->users, 50) ? 0 : sim_between(&world->users, 0, 5000);
    int priority = (int)sim_between(&world->users, -100, 100);
    if (!process->is_running || process->is_stopping || process->is_inside)
        return;
    ctl_key_text(parent, key, sizeof key);
    ki_status status = ki_workqueue_add_with(ki_controller_queue(process->controller), key,
                                             &KI_ADD_OPTIONS(.priority = priority, .after_ms = after_ms));
    CTL_TRACE(world, "process %u: %s is queued from elsewhere, after %" PRId64 " ms: %s", process->index, key, after_ms,
              ki_status_name(status));
    if (status)
        return; /* who queued it knows that it is not */
    if (after_ms)
        ctl_key_delay(process, parent, after_ms);
    else
        ctl_key_cause(process, parent);
}

/* --- the garbage collector ------------------------------------------------------------------------------------------------------ */

static void collect_child(ctl_world *world, unsigned parent, unsigned child) {
    char target[160];
    child_target(parent, child, target, sizeof target);
    (void)ctl_server_ask(world, "DELETE", target, NULL);
}

static void collect(void *user, uint64_t argument) {
    ctl_world *world = user;
    (void)argument;
    ctl_after(world, COLLECT_EVERY_S * SIM_SECOND, collect, world, 0);
    if (world->server.collected_at == kt_cluster_revision(world->server.cluster))
        return;
    const ctl_state state = *ctl_server_state(world);
    bool is_all = true;
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_parent_state *parent = &state.parents[i];
        for (unsigned j = 0; j < CTL_MAX_CHILDREN; j++) {
            const ctl_child_state *child = &parent->children[j];
            if (!child->is_there || !child->owner_uid[0] || strcmp(child->owner_uid, parent->uid) == 0)
                continue;
            if (sim_chance(&world->users, 60))
                collect_child(world, i, j);
            else
                is_all = false; /* it takes its time */
        }
    }
    if (is_all)
        world->server.collected_at = state.revision;
}

/* --- when ------------------------------------------------------------------------------------------------------------------------ */

void ctl_people_write(ctl_world *world) {
    unsigned parent = (unsigned)sim_below(&world->users, world->plan.parents);
    if (sim_chance(&world->users, 60))
        use_parent(world, parent);
    else
        lay_hands_on(world, parent);
    if (sim_chance(&world->users, world->plan.ticks))
        tick(world);
}

static void write_on(void *user, uint64_t argument) {
    ctl_world *world = user;
    (void)argument;
    if (world->healed)
        return;
    unsigned count = sim_chance(&world->users, 10) ? MANY : 1;
    for (unsigned i = 0; i < count; i++)
        ctl_people_write(world);
    ctl_after(world, sim_between(&world->users, 0, 2 * world->plan.write_every), write_on, world, 0);
}

void ctl_people_begin(ctl_world *world) {
    unsigned present = (unsigned)sim_below(&world->users, world->plan.parents + 1);
    for (unsigned i = 0; i < present; i++)
        create_parent(world, i);
    ctl_at(world, COLLECT_EVERY_S * SIM_SECOND, collect, world, 0);
    ctl_after(world, sim_between(&world->users, 0, world->plan.write_every), write_on, world, 0);
}

void ctl_people_repair(ctl_world *world) {
    const ctl_state state = *ctl_server_state(world);
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_parent_state *parent = &state.parents[i];
        if (parent->is_there && !parent->is_deleting && parent->replicas < 0)
            set_replicas(world, i);
        for (unsigned j = 0; j < CTL_MAX_CHILDREN; j++) {
            if (parent->children[j].is_there && !parent->children[j].owner_uid[0])
                collect_child(world, i, j);
        }
    }
}

/* --- the oracle -------------------------------------------------------------------------------------------------------------------- */

static bool is_child_right(const ctl_parent_state *parent, unsigned number) {
    const ctl_child_state *child = &parent->children[number];
    if (!parent->is_there || (int64_t)number >= parent->replicas)
        return !child->is_there;
    return child->is_there && child->value == parent->value && strcmp(child->owner_uid, parent->uid) == 0;
}

bool ctl_people_are_served(ctl_world *world, char *ret_why, size_t size) {
    const ctl_state *state = ctl_server_state(world);
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_parent_state *parent = &state->parents[i];
        if (parent->is_there && (parent->is_deleting || parent->observed != parent->value || !parent->is_ready)) {
            snprintf(ret_why, size, "p%u %s", i,
                     parent->is_deleting                 ? "is still being deleted"
                     : parent->observed != parent->value ? "has an old status"
                                                         : "is not ready");
            return false;
        }
        for (unsigned j = 0; j < CTL_MAX_CHILDREN; j++) {
            if (is_child_right(parent, j))
                continue;
            snprintf(ret_why, size, "p%u-%u is %s", i, j,
                     parent->children[j].is_there ? "not as it should be" : "missing");
            return false;
        }
    }
    return true;
}
