/* inject.c: makes a planned fault happen, and ends all faults. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <string.h>

static void end_memory_fault(void *user, uint64_t argument) {
    ctl_process *process = user;
    (void)argument;
    process->memory.per_mille = 0;
}

static void begin_memory_fault(ctl_process *process, const ctl_fault *fault) {
    static const unsigned levels[] = { 1, 10, 100, 1000 };
    process->memory.per_mille = levels[fault->detail >> 8 & 3];
    ctl_after(process->world, fault->length, end_memory_fault, process, 0);
}

/* Stops the process now, or by chance inside its next reconcile. */
static void stop_process(ctl_process *process, const ctl_fault *fault) {
    if (sim_chance(&process->world->random, 30)) {
        process->stop_in_reconcile = true;
        process->restart_delay = fault->length;
    } else {
        ctl_process_stop(process, fault->length);
    }
}

/* Returns the process that the fault hits: in half of the cases the leader, if there is one. */
static ctl_process *choose_process(ctl_world *world, uint64_t detail) {
    for (unsigned i = 0; i < world->plan.process_count && detail >> 40 & 1; i++) {
        if (world->processes[i].is_leading)
            return &world->processes[i];
    }
    return &world->processes[detail % world->plan.process_count];
}

/* Skips a crash or stop in the middle of a step: the simulation is on the process's call stack. */
static void inject_into_process(ctl_world *world, const ctl_fault *fault) {
    ctl_process *process = choose_process(world, fault->detail);
    switch (fault->kind) {
    case CTL_PAUSE:
        ctl_process_pause(process, fault->length);
        break;
    case CTL_PAUSE_MID_STEP:
        process->mid_step_pause = fault->length;
        process->pauses_before_send = fault->detail >> 16 & 1;
        break;
    case CTL_CRASH:
        if (!process->is_in_step)
            ctl_process_crash(process, fault->length);
        break;
    case CTL_STOP:
        if (!process->is_in_step)
            stop_process(process, fault);
        break;
    case CTL_PARTITION:
        process->partition_until = world->now + fault->length;
        process->partition = (ctl_partition)((fault->detail >> 16) % CTL_PARTITIONS);
        break;
    case CTL_NO_MEMORY:
        begin_memory_fault(process, fault);
        break;
    default:
        process->wall_jump += ((int64_t)(fault->detail >> 16 & 0xffff) - 0x8000) * SIM_SECOND;
        break;
    }
}

/* --- the Lease ---------------------------------------------------------------------------------------------------- */

#define LEASE_TARGET "/apis/coordination.k8s.io/v1/namespaces/" CTL_LEASE_NAMESPACE "/leases/" CTL_LEASE_NAME

static void take_lease(ctl_world *world) {
    char body[256];
    if (!ctl_server_lease(world).size)
        return;
    snprintf(body, sizeof body, "{\"spec\":{\"holderIdentity\":\"somebody-%lld\"}}", (long long)(world->now % 1000));
    if (ctl_server_request(world, "PATCH", LEASE_TARGET, body) != 200)
        ctl_fail(world, "cannot write the Lease as a user");
}

static void delete_lease(ctl_world *world) {
    ctl_leadership_allow_two(world);
    (void)ctl_server_request(world, "DELETE", LEASE_TARGET, NULL);
}

/* --- all faults --------------------------------------------------------------------------------------------------- */

/* Returns how many requests an armed fault hits: 1 to 13. */
static unsigned request_count(const ctl_fault *fault) {
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
        inject_into_process(world, fault);
        break;
    case CTL_SERVER_DOWN:
        world->server.down_until = world->now + fault->length;
        ctl_network_cut_watches(world);
        break;
    case CTL_CLOSE_WATCHES:
        kt_cluster_close_watches(world->server.cluster);
        break;
    case CTL_SILENCE_WATCHES:
        ctl_network_silence_watches(world);
        break;
    case CTL_COMPACT:
        kt_cluster_compact(world->server.cluster, 0);
        break;
    case CTL_LAG:
        world->server.lag = sim_between(&world->random, 500, 20000) * SIM_MILLISECOND;
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
        ctl_network_arm(world, fault, request_count(fault));
        break;
    }
}

void ctl_heal(ctl_world *world) {
    CTL_TRACE(world, "all faults end");
    world->healed = true;
    ctl_network_heal(world);
    world->server.down_until = world->server.lag_until = 0;
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        ctl_process *process = &world->processes[i];
        process->partition_until = 0;
        process->mid_step_pause = 0;
        process->stop_in_reconcile = false;
        process->memory.per_mille = 0;
        if (process->busy_until > world->now)
            process->busy_until = process->disturbed_at = world->now;
        ctl_process_start(process);
    }
}
