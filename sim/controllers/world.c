/* world.c: one run. Faults and writes come first. After the last fault the cluster must converge within a bounded time,
 * twice. Then all processes stop or crash.
 *
 * The cluster has converged if it matches the specs, and a process whose informers have synced leads. */
#include "sim/controllers/world.h"

#include "sim/clock.h"
#include "sim/scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    /* A silent watch lasts 90 s, a backoff 60 s, a Lease 15 s, a failed key's delay 16 s, a request 15 s; several in a
     * row. */
    CONVERGE_WITHIN_S = 300,
    /* A silent watch and then one backoff, by a clock that is 10 % slow, a failed key's delay and a request. */
    CONVERGE_AGAIN_WITHIN_S = 210,
    STAYS_CONVERGED_S = 5, /* the garbage collector runs at least twice */
    SETTLE_S = 120, /* late effects of faults end: a renewal without a response, a watch that is silent for 90 s */
    QUIET_S = 30,
    STOPPED_WITHIN_S = 60,
    LAST_WRITES = 4,
    IDLE_ROUNDS_MAX = 20000 /* rounds of steps at one time; more are a busy loop */
};

void ctl_fail(ctl_world *world, const char *format, ...) {
    if (world->failed)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(world->message, sizeof world->message, format, args);
    va_end(args);
    world->failed = true;
    CTL_TRACE(world, "FAILED: %s", world->message);
}

void ctl_print_trace(const ctl_world *world, const char *format, ...) {
    va_list args;
    printf("%11.6f ", (double)world->now / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static int64_t forbidden_clock(void *user) {
    ctl_world *world = user;
    ctl_fail(world, "a read of a clock other than the process's");
    return world->now;
}

static void step_due_processes(ctl_world *world, bool *acted) {
    unsigned first = (unsigned)sim_below(&world->random, world->plan.process_count);
    for (unsigned i = 0; i < world->plan.process_count && !world->failed; i++) {
        ctl_process *process = &world->processes[(first + i) % world->plan.process_count];
        if (ctl_process_next_step(process) > world->now)
            continue;
        ctl_process_step(process);
        ctl_leadership_check(world);
        *acted = true;
    }
}

/* Runs all actions and steps that are due now. Actions run between two steps. */
static void run_due(ctl_world *world) {
    int64_t began = world->now;
    sim_entry entry;
    for (unsigned rounds = 0; !world->failed; rounds++) {
        bool acted = false;
        while (!world->failed && sim_agenda_take(&world->agenda, world->now, &entry)) {
            entry.action(entry.user, entry.argument);
            ctl_leadership_check(world);
            acted = true;
        }
        step_due_processes(world, &acted);
        if (!acted)
            break;
        if (world->now == began && rounds > IDLE_ROUNDS_MAX)
            ctl_fail(world, "a busy loop: %u rounds of steps at one time", rounds);
    }
    for (unsigned i = 0; i < world->plan.process_count && !world->failed; i++)
        ctl_keys_check(&world->processes[i]);
}

static int64_t next_time(ctl_world *world) {
    int64_t next = sim_agenda_next(&world->agenda);
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        int64_t due = ctl_process_next_step(&world->processes[i]);
        next = due < next ? due : next;
    }
    return next;
}

/* Runs until the time `until`. Returns true early, as soon as `is_over` returns true. */
static bool run_until(ctl_world *world, int64_t until, bool (*is_over)(ctl_world *world)) {
    while (world->now < until) { /* a pause in the middle of a step can end after `until` */
        run_due(world);
        if (world->failed)
            return false;
        if (is_over && is_over(world))
            return true;
        int64_t next = next_time(world);
        next = next < until ? next : until;
        world->now = next > world->now ? next : world->now;
    }
    return false;
}

void ctl_world_pause_mid_step(ctl_world *world, ctl_process *process, int64_t length) {
    if (world->healed)
        return;
    CTL_TRACE(world, "process %u: pauses for %.3f s in the middle of a step", process->index, (double)length / 1e9);
    int64_t until = world->now + length;
    /* Calls nest: other processes in the middle of a step cannot continue before this one. */
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        ctl_process *paused = &world->processes[i];
        if (!paused->is_in_step || paused->busy_until >= until)
            continue;
        paused->paused_total += length;
        paused->busy_until = paused->disturbed_at = until;
    }
    ctl_leadership_check(world);
    run_until(world, until, NULL);
    CTL_TRACE(world, "process %u: continues", process->index);
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

static void inject(void *user, uint64_t index) {
    ctl_world *world = user;
    if (!world->healed)
        ctl_inject(world, &world->plan.faults[index]);
}

static void start(void *user, uint64_t argument) {
    (void)argument;
    ctl_process_start(user);
}

static void set_up(ctl_world *world) {
    const ctl_plan *plan = &world->plan;
    world->user_random = sim_random_from(plan->seed, 111);
    world->random = sim_random_from(plan->seed, 112);
    world->leadership.last_token = -1;
    ctl_server_make(world);
    ctl_network_make(world);
    for (unsigned i = 0; i < plan->process_count; i++) {
        world->processes[i] = (ctl_process){ .world = world, .index = i, .plan = &world->plan.process[i] };
        ctl_at(world, sim_between(&world->random, 0, 3000) * SIM_MILLISECOND, start, &world->processes[i], 0);
    }
    for (size_t i = 0; i < plan->fault_count; i++)
        ctl_at(world, plan->faults[i].at, inject, world, i);
    ctl_workload_start(world);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* Returns the first process that leads; NULL: none. Without an elector a running process leads. */
static ctl_process *find_leader(ctl_world *world) {
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        ctl_process *process = &world->processes[i];
        if (process->is_running && (!world->plan.has_elector || process->is_leading))
            return process;
    }
    return NULL;
}

/* Returns true if the cluster has converged. Else writes what is missing to `ret_why`. */
static bool check_converged(ctl_world *world, char *ret_why, size_t size) {
    const ctl_process *leader = find_leader(world); /* specs of 0 children match without any controller */
    if (!leader || !ki_informer_has_synced(leader->parents) || !ki_informer_has_synced(leader->children)) {
        snprintf(ret_why, size, "%s", leader ? "the leader's informers have not synced" : "no process leads");
        return false;
    }
    return ctl_specs_are_met(world, ret_why, size);
}

static bool has_converged(ctl_world *world) {
    char why[CTL_MESSAGE_MAX];
    return check_converged(world, why, sizeof why);
}

/* Returns true after STAYS_CONVERGED_S: a controller with an old cache can create again what the garbage collector
 * deletes. */
static bool has_stayed_converged(ctl_world *world) {
    if (!has_converged(world))
        world->converged_since = 0;
    else if (!world->converged_since)
        world->converged_since = world->now;
    return world->converged_since && world->now - world->converged_since >= STAYS_CONVERGED_S * SIM_SECOND;
}

/* Runs until the cluster has converged. Fails the run if it has not after `within` ns. */
static void require_convergence(ctl_world *world, int64_t within) {
    char why[CTL_MESSAGE_MAX];
    world->converged_since = 0;
    if (run_until(world, world->now + within, has_stayed_converged)) {
        CTL_TRACE(world, "the cluster has converged");
        return;
    }
    if (!world->failed && !check_converged(world, why, sizeof why))
        ctl_fail(world, "%lld s after the last fault the cluster has not converged: %s",
                 (long long)(within / SIM_SECOND), why);
}

static bool are_all_stopped(ctl_world *world) {
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        if (world->processes[i].is_running)
            return false;
    }
    return true;
}

/* Returns true if the process with this identity had to keep the Lease when it stopped. */
static bool had_to_keep_lease(const ctl_world *world, const char *identity) {
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        const ctl_process *process = &world->processes[i];
        if (process->ran_at_stop && strcmp(process->identity, identity) == 0)
            return true;
    }
    return false;
}

/* With release_on_stop the Lease must have no holder after all processes have stopped, unless a reconcile ran at the
 * holder's stop. */
static void check_release(ctl_world *world) {
    char holder[CTL_IDENTITY_MAX];
    ki_str lease = ctl_server_lease(world);
    ctl_json_text(lease, "\"holderIdentity\":\"", holder, sizeof holder);
    if (world->plan.has_elector && world->plan.release_on_stop && lease.size && holder[0] &&
        !had_to_keep_lease(world, holder))
        ctl_fail(world, "all processes have stopped, but %s still holds the Lease", holder);
}

static void stop_all(ctl_world *world) {
    bool crashes = sim_chance(&world->random, 30);
    world->is_quiet = false;
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        ctl_process *process = &world->processes[i];
        if (crashes)
            ctl_process_crash(process, -1);
        else
            ctl_process_stop(process, -1);
    }
    if (crashes)
        return;
    if (!run_until(world, world->now + STOPPED_WITHIN_S * SIM_SECOND, are_all_stopped))
        ctl_fail(world, "not all processes have stopped after %d s", STOPPED_WITHIN_S);
    if (!world->failed)
        check_release(world);
}

static void run(ctl_world *world) {
    run_until(world, world->plan.duration, NULL);
    if (world->failed)
        return;
    ctl_heal(world);
    ctl_workload_repair(world);
    require_convergence(world, CONVERGE_WITHIN_S * SIM_SECOND);
    /* The controllers must still react to changes. The leader's watch may still be silent, or wait for a retry. */
    for (unsigned i = 0; i < LAST_WRITES && !world->failed; i++)
        ctl_workload_write(world);
    if (!world->failed)
        ctl_workload_repair(world);
    if (!world->failed)
        require_convergence(world, CONVERGE_AGAIN_WITHIN_S * SIM_SECOND);
    if (!world->failed)
        run_until(world, world->now + SETTLE_S * SIM_SECOND, NULL);
    world->is_quiet = true;
    if (!world->failed)
        run_until(world, world->now + QUIET_S * SIM_SECOND, NULL);
    if (world->failed)
        return;
    ctl_process *leader = find_leader(world);
    if (leader) {
        ctl_keys_check_final(leader);
        ctl_recorder_check(leader);
    } else {
        ctl_fail(world, "no process leads");
    }
    if (!world->failed && !has_converged(world))
        ctl_fail(world, "the cluster had converged, and does not match the specs any more");
    if (!world->failed)
        stop_all(world);
}

const char *ctl_world_run(ctl_world *world, const ctl_plan *plan, bool trace) {
    *world = (ctl_world){ .plan = *plan, .trace = trace, .digest = plan->seed };
    const sim_clock clock = { forbidden_clock, forbidden_clock, world };
    sim_clock_use(&clock);
    set_up(world);
    run(world);
    world->healed = true; /* no pauses while the processes are freed */
    for (unsigned i = 0; i < plan->process_count; i++)
        ctl_process_crash(&world->processes[i], -1);
    ctl_network_free(world);
    ctl_server_free(world);
    sim_agenda_free(&world->agenda);
    sim_clock_use(NULL);
    return world->failed ? world->message : NULL;
}

/* --- the scenario ------------------------------------------------------------------------------------------------- */

static void make_plan(ctl_plan *plan, uint64_t seed, uint32_t without) {
    ctl_plan_make(plan, seed);
    ctl_plan_remove_faults(plan, without);
}

static void run_seed(uint64_t seed, uint32_t without, bool trace, sim_outcome *ret_outcome) {
    static ctl_world world;
    ctl_plan plan;
    make_plan(&plan, seed, without);
    if (trace)
        ctl_plan_print(&plan);
    const char *message = ctl_world_run(&world, &plan, trace);
    *ret_outcome = (sim_outcome){ .message = message,
                                  .digest = world.digest,
                                  .writes = world.writes,
                                  .requests = world.requests,
                                  .faults = plan.fault_count,
                                  .now = world.now };
}

static void print_plan(uint64_t seed, uint32_t without) {
    ctl_plan plan;
    make_plan(&plan, seed, without);
    ctl_plan_print(&plan);
}

static size_t count_faults(uint64_t seed) {
    ctl_plan plan;
    make_plan(&plan, seed, 0);
    return plan.fault_count;
}

const sim_scenario sim_controllers = {
    .name = "controllers", .run = run_seed, .print = print_plan, .count_faults = count_faults
};
