/* workload.c: see workload.h. */
#include "sim/workload.h"

#include "sim/world.h"

enum {
    BURST_MAX = 30,
    SPARE_REVISIONS = 4 /* at least as many as one write needs, the creation of its namespace included */
};

bool sim_workload_may_write(sim_world *world, uint64_t writes) {
    uint64_t revision = kt_cluster_revision(world->servers[0].cluster);
    if (world->now < world->network.type_gone_until)
        return false; /* the type does not exist */
    return revision + writes + SPARE_REVISIONS < sim_client_version_limit(world);
}

static unsigned label(sim_world *world) {
    return (unsigned)sim_below(&world->workload_random, SIM_LABELS);
}

void sim_workload_write(sim_world *world) {
    sim_random *random = &world->workload_random;
    const sim_truth *truth = &world->truth;
    uint64_t namespace_number = sim_below(random, SIM_NAMESPACES);
    uint32_t key = (uint32_t)(namespace_number * SIM_NAME_MAX + sim_below(random, world->plan.name_count));
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
    sim_waiter_note_write(world, truth->writes[truth->write_count - 1].revision);
}

static void write_and_repeat(void *user, uint64_t argument) {
    sim_world *world = user;
    (void)argument;
    sim_random *random = &world->workload_random;
    uint64_t count = sim_chance(random, world->plan.burst_percent) ? 1 + sim_below(random, BURST_MAX) : 1;
    while (count-- > 0)
        sim_workload_write(world);
    if (!world->is_fault_free)
        sim_after(world, sim_between(random, 0, 2 * world->plan.write_every), write_and_repeat, world, 0);
}

void sim_workload_start(sim_world *world) {
    world->workload_random = sim_random_from(world->plan.seed, 31);
    for (uint64_t count = sim_below(&world->workload_random, 30); count > 0; count--)
        sim_workload_write(world);
    sim_after(world, 0, write_and_repeat, world, 0);
}

bool sim_workload_repair(sim_world *world) {
    sim_truth *truth = &world->truth;
    if (!sim_workload_may_write(world, SIM_KEYS * (SIM_LABELS + 3)))
        return false;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (!truth->keys[key].is_poisoned)
            continue;
        sim_truth_put(world, key, label(world)); /* the watches that select the label get an event */
        for (unsigned other = 0; other < SIM_LABELS; other++)
            sim_truth_put(world, key, other); /* the other watches get one, too */
        sim_truth_delete(world, key);
        sim_truth_put(world, key, label(world));
    }
    return true;
}
