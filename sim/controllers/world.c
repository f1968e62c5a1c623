/* world.c: one run: faults first, then none; then the cluster must become what the users asked for within a bounded time, twice; then all is
 * stopped. */
#include "sim/controllers/world.h"

#include "sim/clock.h"
#include "sim/scenario.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    SERVED_WITHIN_S =
        300, /* silent watches 90 s, a backoff of 60 s, a Lease of 15 s, a failed key 16 s, calls of 15 s, a few in a row */
    SERVED_AGAIN_WITHIN_S = 120,
    HOLDS_S = 5, /* the garbage collector has looked twice */
    SETTLE_S =
        120, /* time for what the faults left behind: a renewal without a response, a watch that is silent for 90 s */
    QUIET_S = 30,
    STOPPED_WITHIN_S = 60,
    LAST_WRITES = 4,
    MOST_STEPS_AT_ONCE = 20000 /* steps without any time passing: more is a busy loop */
};

void ctl_fail(ctl_world *world, const char *format, ...) {
    if (world->failed)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(world->message, sizeof world->message, format, args);
    va_end(args);
    world->failed = true;
    CTL_TRACE(world, "FAILS: %s", world->message);
}

void ctl_say(const ctl_world *world, const char *format, ...) {
    va_list args;
    printf("%11.6f ", (double)world->now / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* --- time ---------------------------------------------------------------------------------------------------------------- */

static int64_t forbidden_clock(void *user) {
    ctl_world *world = user;
    ctl_fail(world, "somebody looks at a clock that is not the process's");
    return world->now;
}

static void step_those_that_are_due(ctl_world *world, bool *acted) {
    unsigned first = (unsigned)sim_below(&world->chance, world->plan.processes);
    for (unsigned i = 0; i < world->plan.processes && !world->failed; i++) {
        ctl_process *process = &world->processes[(first + i) % world->plan.processes];
        if (ctl_process_due(process) > world->now)
            continue;
        ctl_process_step(process);
        ctl_leadership_look(world);
        *acted = true;
    }
}

/* Does everything that is due now. Actions happen between two steps. */
static void settle(ctl_world *world) {
    int64_t began = world->now;
    sim_entry entry;
    for (unsigned rounds = 0; !world->failed; rounds++) {
        bool acted = false;
        while (!world->failed && sim_agenda_take(&world->agenda, world->now, &entry)) {
            entry.action(entry.user, entry.argument);
            ctl_leadership_look(world);
            acted = true;
        }
        step_those_that_are_due(world, &acted);
        if (!acted)
            break;
        if (world->now == began && rounds > MOST_STEPS_AT_ONCE)
            ctl_fail(world, "a busy loop: %u rounds of steps and no time has passed", rounds);
    }
    for (unsigned i = 0; i < world->plan.processes && !world->failed; i++)
        ctl_keys_look(&world->processes[i]);
}

static int64_t next_time(ctl_world *world) {
    int64_t next = sim_agenda_next(&world->agenda);
    for (unsigned i = 0; i < world->plan.processes; i++) {
        int64_t due = ctl_process_due(&world->processes[i]);
        next = due < next ? due : next;
    }
    return next;
}

/* Runs until `until`, or until `is_over` returns true. */
static bool run_until(ctl_world *world, int64_t until, bool (*is_over)(ctl_world *world)) {
    while (world->now < until) { /* a pause may have taken the time further than asked for */
        settle(world);
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

void ctl_world_pass(ctl_world *world, ctl_process *process, int64_t length) {
    if (world->healed)
        return;
    CTL_TRACE(world, "process %u: pauses for %.3f s in the middle of a step", process->index, (double)length / 1e9);
    int64_t until = world->now + length;
    for (unsigned i = 0; i < world->plan.processes;
         i++) { /* others may be in the middle of a step, too: they wait for this one */
        ctl_process *inside = &world->processes[i];
        if (!inside->is_inside || inside->busy_until >= until)
            continue;
        inside->paused += length;
        inside->busy_until = inside->hindered_at = until;
    }
    ctl_leadership_look(world);
    run_until(world, until, NULL);
    CTL_TRACE(world, "process %u: goes on", process->index);
}

/* --- what is planned -------------------------------------------------------------------------------------------------------- */

static void inject(void *user, uint64_t index) {
    ctl_world *world = user;
    if (!world->healed)
        ctl_inject(world, &world->plan.faults[index]);
}

static void start(void *user, uint64_t argument) {
    (void)argument;
    ctl_process_start(user);
}

static void make(ctl_world *world) {
    const ctl_plan *plan = &world->plan;
    world->users = sim_random_from(plan->seed, 111);
    world->chance = sim_random_from(plan->seed, 112);
    world->leadership.last_token = -1;
    ctl_server_make(world);
    ctl_network_make(world);
    for (unsigned i = 0; i < plan->processes; i++) {
        world->processes[i] = (ctl_process){ .world = world, .index = i, .plan = &world->plan.process[i] };
        ctl_at(world, sim_between(&world->chance, 0, 3000) * SIM_MILLISECOND, start, &world->processes[i], 0);
    }
    for (size_t i = 0; i < plan->fault_count; i++)
        ctl_at(world, plan->faults[i].at, inject, world, i);
    ctl_people_begin(world);
}

/* --- the run ----------------------------------------------------------------------------------------------------------------- */

/* The process whose controller works. NULL: none. */
static ctl_process *the_leader(ctl_world *world) {
    for (unsigned i = 0; i < world->plan.processes; i++) {
        ctl_process *process = &world->processes[i];
        if (process->is_running && (!world->plan.has_elector || process->leads))
            return process;
    }
    return NULL;
}

/* Specs that ask for nothing are met before anybody works: a leader has to be ready, too. Says what is missing. */
static bool are_met(ctl_world *world, char *ret_why, size_t size) {
    const ctl_process *leader = the_leader(world);
    if (!leader || !ki_informer_has_synced(leader->parents) || !ki_informer_has_synced(leader->children)) {
        snprintf(ret_why, size, "%s", leader ? "the leader's informers have not synced" : "nobody leads");
        return false;
    }
    return ctl_people_are_served(world, ret_why, size);
}

static bool are_served(ctl_world *world) {
    char why[CTL_MESSAGE_MAX];
    return are_met(world, why, sizeof why);
}

/* A controller with an old cache goes on making what the garbage collector deletes. */
static bool are_served_for_long(ctl_world *world) {
    if (!are_served(world))
        world->served_since = 0;
    else if (!world->served_since)
        world->served_since = world->now;
    return world->served_since && world->now - world->served_since >= HOLDS_S * SIM_SECOND;
}

static void demand_service(ctl_world *world, int64_t within) {
    char why[CTL_MESSAGE_MAX];
    world->served_since = 0;
    if (run_until(world, world->now + within, are_served_for_long)) {
        CTL_TRACE(world, "the cluster is as the specs ask");
        return;
    }
    if (!world->failed && !are_met(world, why, sizeof why))
        ctl_fail(world, "%lld s after the last fault the cluster is not as the specs ask: %s",
                 (long long)(within / SIM_SECOND), why);
}

static bool are_all_stopped(ctl_world *world) {
    for (unsigned i = 0; i < world->plan.processes; i++) {
        if (world->processes[i].is_running)
            return false;
    }
    return true;
}

/* A released Lease has no holder. */
static void check_release(ctl_world *world) {
    char holder[CTL_IDENTITY_MAX];
    ki_str lease = ctl_server_lease(world);
    ctl_text_in(lease, "\"holderIdentity\":\"", holder, sizeof holder);
    if (world->plan.has_elector && world->plan.release_on_stop && lease.size && holder[0])
        ctl_fail(world, "all processes have stopped, and the Lease is still held by %s", holder);
}

static void stop_all(ctl_world *world) {
    bool crashes = sim_chance(&world->chance, 30);
    world->is_quiet = false;
    for (unsigned i = 0; i < world->plan.processes; i++) {
        ctl_process *process = &world->processes[i];
        if (crashes)
            ctl_process_crash(process, -1);
        else
            ctl_process_stop(process, -1);
    }
    if (crashes)
        return;
    if (!run_until(world, world->now + STOPPED_WITHIN_S * SIM_SECOND, are_all_stopped))
        ctl_fail(world, "%d s after the stop not all processes have ended", STOPPED_WITHIN_S);
    if (!world->failed)
        check_release(world);
}

static void run(ctl_world *world) {
    run_until(world, world->plan.duration, NULL);
    if (world->failed)
        return;
    ctl_heal(world);
    ctl_people_repair(world);
    demand_service(world, SERVED_WITHIN_S * SIM_SECOND);
    /* The controllers do not only get it right once: they still watch. */
    for (unsigned i = 0; i < LAST_WRITES && !world->failed; i++)
        ctl_people_write(world);
    if (!world->failed)
        ctl_people_repair(world);
    if (!world->failed)
        demand_service(world, SERVED_AGAIN_WITHIN_S * SIM_SECOND);
    if (!world->failed)
        run_until(world, world->now + SETTLE_S * SIM_SECOND, NULL);
    world->is_quiet = true;
    if (!world->failed)
        run_until(world, world->now + QUIET_S * SIM_SECOND, NULL);
    if (world->failed)
        return;
    ctl_process *leader = the_leader(world);
    if (leader) {
        ctl_keys_compare(leader);
        ctl_recorded_compare(leader);
    } else {
        ctl_fail(world, "nobody leads");
    }
    if (!world->failed && !are_served(world))
        ctl_fail(world, "the cluster was as the specs ask, and is not any more");
    if (!world->failed)
        stop_all(world);
}

const char *ctl_world_run(ctl_world *world, const ctl_plan *plan, bool trace) {
    *world = (ctl_world){ .plan = *plan, .trace = trace, .digest = plan->seed };
    const sim_clock clock = { forbidden_clock, forbidden_clock, world };
    sim_clock_use(&clock);
    make(world);
    run(world);
    world->healed = true; /* no pause, no lack of memory */
    for (unsigned i = 0; i < plan->processes; i++)
        ctl_process_crash(&world->processes[i], -1);
    ctl_network_free(world);
    ctl_server_free(world);
    sim_agenda_free(&world->agenda);
    sim_clock_use(NULL);
    return world->failed ? world->message : NULL;
}

/* --- the scenario ------------------------------------------------------------------------------------------------------------ */

static void make_plan(ctl_plan *plan, uint64_t seed, uint32_t without) {
    ctl_plan_make(plan, seed);
    ctl_plan_leave_out(plan, without);
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
