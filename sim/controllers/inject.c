/* inject.c: makes a planned fault happen, and ends all of them. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <string.h>

static void enough_memory(void *user, uint64_t argument) {
    ctl_process *process = user;
    (void)argument;
    process->memory.per_mille = 0;
}

static void lack_memory(ctl_process *process, const ctl_fault *fault) {
    static const unsigned levels[] = { 1, 10, 100, 1000 };
    process->memory.per_mille = levels[fault->detail >> 8 & 3];
    ctl_after(process->world, fault->length, enough_memory, process, 0);
}

/* A process that is in the middle of a step can neither crash nor stop just there: what holds it up is the simulation. */
static bool is_held(const ctl_process *process) {
    return process->is_inside;
}

static void stop(ctl_process *process, const ctl_fault *fault) {
    if (sim_chance(&process->world->chance, 30)) {
        process->stop_inside = true;
        process->restart_in = fault->length;
    } else {
        ctl_process_stop(process, fault->length);
    }
}

/* Half of the faults hit the process that leads, where one does. */
static ctl_process *choose(ctl_world *world, uint64_t detail) {
    for (unsigned i = 0; i < world->plan.processes && detail >> 40 & 1; i++) {
        if (world->processes[i].leads)
            return &world->processes[i];
    }
    return &world->processes[detail % world->plan.processes];
}

static void hit_process(ctl_world *world, const ctl_fault *fault) {
    ctl_process *process = choose(world, fault->detail);
    switch (fault->kind) {
    case CTL_PAUSE:
        ctl_process_pause(process, fault->length);
        break;
    case CTL_PAUSE_MID_STEP:
        process->pause_mid_step = fault->length;
        process->pause_before = fault->detail >> 16 & 1;
        break;
    case CTL_CRASH:
        if (!is_held(process))
            ctl_process_crash(process, fault->length);
        break;
    case CTL_STOP:
        if (!is_held(process))
            stop(process, fault);
        break;
    case CTL_PARTITION:
        process->partition_until = world->now + fault->length;
        process->partition = (ctl_partition)((fault->detail >> 16) % CTL_PARTITIONS);
        break;
    case CTL_NO_MEMORY:
        lack_memory(process, fault);
        break;
    default:
        process->wall_jump += ((int64_t)(fault->detail >> 16 & 0xffff) - 0x8000) * SIM_SECOND;
        break;
    }
}

/* --- the Lease ------------------------------------------------------------------------------------------------------------ */

#define LEASE_TARGET "/apis/coordination.k8s.io/v1/namespaces/" CTL_LEASE_NAMESPACE "/leases/" CTL_LEASE_NAME

static void take_lease(ctl_world *world) {
    char body[256];
    if (!ctl_server_lease(world).size)
        return;
    snprintf(body, sizeof body, "{\"spec\":{\"holderIdentity\":\"somebody-%lld\"}}", (long long)(world->now % 1000));
    if (ctl_server_ask(world, "PATCH", LEASE_TARGET, body) != 200)
        ctl_fail(world, "the Lease cannot be written");
}

static void delete_lease(ctl_world *world) {
    ctl_leadership_doubt(world);
    (void)ctl_server_ask(world, "DELETE", LEASE_TARGET, NULL);
}

/* --- all of them ---------------------------------------------------------------------------------------------------------- */

static unsigned how_many(const ctl_fault *fault) {
    return 1 + (unsigned)(fault->detail >> 20 & 3) * (fault->detail >> 22 & 1 ? 4 : 1);
}

void ctl_inject(ctl_world *world, const ctl_fault *fault) {
    CTL_TRACE(world, "fault: %s", ctl_fault_name(fault->kind));
    switch (fault->kind) {
    case CTL_PAUSE:
    case CTL_PAUSE_MID_STEP:
    case CTL_CRASH:
    case CTL_STOP:
    case CTL_PARTITION:
    case CTL_NO_MEMORY:
    case CTL_CLOCK_JUMPS:
        hit_process(world, fault);
        break;
    case CTL_SERVER_DOWN:
        world->server.down_until = world->now + fault->length;
        ctl_network_cut(world);
        break;
    case CTL_CLOSE_WATCHES:
        kt_cluster_close_watches(world->server.cluster);
        break;
    case CTL_SILENCE_WATCHES:
        ctl_network_silence(world);
        break;
    case CTL_COMPACT:
        kt_cluster_compact(world->server.cluster, 0);
        break;
    case CTL_LAG:
        world->server.lag = sim_between(&world->chance, 500, 20000) * SIM_MILLISECOND;
        world->server.lag_until = world->now + fault->length;
        break;
    case CTL_SLOW_NETWORK:
        world->network.slow_until = world->now + fault->length;
        break;
    case CTL_TAKE_LEASE:
        take_lease(world);
        break;
    case CTL_DELETE_LEASE:
        delete_lease(world);
        break;
    default:
        ctl_network_arm(world, fault, how_many(fault));
        break;
    }
}

void ctl_heal(ctl_world *world) {
    CTL_TRACE(world, "no faults any more");
    world->healed = true;
    ctl_network_heal(world);
    world->server.down_until = world->server.lag_until = 0;
    for (unsigned i = 0; i < world->plan.processes; i++) {
        ctl_process *process = &world->processes[i];
        process->partition_until = 0;
        process->pause_mid_step = 0;
        process->stop_inside = false;
        process->memory.per_mille = 0;
        if (process->busy_until > world->now)
            process->busy_until = process->hindered_at = world->now;
        ctl_process_start(process);
    }
}
