/* workload.c: see workload.h. */
#include "sim/workload.h"

#include "sim/world.h"

enum {
    MOST_IN_A_BURST = 30,
    SPARE_REVISIONS = 4 /* a write makes at most so many: its namespace, and itself */
};

bool sim_workload_may_write(sim_world *world, uint64_t writes) {
    uint64_t revision = kt_cluster_revision(world->servers[0].cluster);
    if (world->now < world->network.type_gone_until)
        return false; /* nobody can write what has no type */
    return revision + writes + SPARE_REVISIONS < sim_client_is_ahead(world);
}

static unsigned label(sim_world *world) {
    return (unsigned)sim_below(&world->workload, SIM_LABELS);
}

void sim_workload_write(sim_world *world) {
    sim_random *random = &world->workload;
    const sim_truth *truth = &world->truth;
    uint32_t key = (uint32_t)(sim_below(random, SIM_NAMESPACES) * SIM_NAME_MAX + sim_below(random, world->plan.names));
    uint64_t now = truth->keys[key].n;
    uint64_t dice = sim_below(random, 100);
    unsigned new_label = label(world);
    if (!sim_workload_may_write(world, 2))
        return;
    if (!now) {
        sim_truth_put(world, key, new_label);
    } else if (dice < 20) {
        sim_truth_delete(world, key);
    } else if (dice < 30) {
        sim_truth_delete(world, key);
        sim_truth_put(world, key, new_label);
    } else {
        sim_truth_put(world, key, dice < 45 ? new_label : truth->writes[now].label);
    }
    sim_waiter_written(world, truth->writes[truth->write_count - 1].revision);
}

static void write_some(void *user, uint64_t argument) {
    sim_world *world = user;
    (void)argument;
    sim_random *random = &world->workload;
    uint64_t count = sim_chance(random, world->plan.burst) ? 1 + sim_below(random, MOST_IN_A_BURST) : 1;
    while (count-- > 0)
        sim_workload_write(world);
    if (!world->healed)
        sim_after(world, sim_between(random, 0, 2 * world->plan.write_every), write_some, world, 0);
}

void sim_workload_begin(sim_world *world) {
    world->workload = sim_random_from(world->plan.seed, 31);
    for (uint64_t count = sim_below(&world->workload, 30); count > 0; count--)
        sim_workload_write(world);
    sim_after(world, 0, write_some, world, 0);
}

bool sim_workload_repair(sim_world *world) {
    sim_truth *truth = &world->truth;
    if (!sim_workload_may_write(world, SIM_KEYS * (SIM_LABELS + 3)))
        return false;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (!truth->keys[key].is_poisoned)
            continue;
        sim_truth_put(world, key, label(world)); /* the server tells of it to those who select it, */
        for (unsigned other = 0; other < SIM_LABELS; other++)
            sim_truth_put(world, key, other); /* and to all others at some time */
        sim_truth_delete(world, key);
        sim_truth_put(world, key, label(world));
    }
    return true;
}
