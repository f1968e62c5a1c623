/* world.c: one run: a time with faults, then one without. The client must agree with the cluster within a bounded time,
 * and again after more writes. */
#include "sim/world.h"

#include "sim/health.h"
#include "sim/inject.h"
#include "sim/oracle.h"
#include "sim/removal.h"
#include "sim/workload.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    CHECK_EVERY_S = 20,
    AGREE_WITHIN_S =
        600, /* silence 90 s, a streaming list without an end 300 s, the longest backoff 60 s, a few in a row */
    AGREE_AGAIN_WITHIN_S = 200,
    NOTICE_WITHIN_S =
        400, /* that the cluster was restored: two watches of 90 s, the list, and a wait of 60 s before each */
    LAST_WRITES = 10,
    HEALTH_EVERY = 4,         /* times at which nothing is due */
    STEPS_AT_ONCE_MAX = 20000 /* steps at the same virtual time that read nothing; more is a busy loop */
};

void sim_fail(sim_world *world, const char *format, ...) {
    if (world->failed)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(world->message, sizeof world->message, format, args);
    va_end(args);
    world->failed = true;
    SIM_TRACE(world, "FAILED: %s", world->message);
}

void sim_trace(const sim_world *world, const char *format, ...) {
    va_list args;
    printf("%11.6f ", (double)world->now / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static int64_t virtual_now(void *user) {
    const sim_world *world = user;
    return world->now;
}

static int64_t fail_wall_clock(void *user) {
    sim_world *world = user;
    sim_fail(world, "the client reads the wall clock");
    return (int64_t)SIM_START_MS * SIM_SECOND + world->now + world->wall_jump;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void step(sim_world *world) {
    ki_error err = KI_ERROR_INIT;
    if (ki_engine_step(world->engine, world->plan.max_work, &err))
        sim_fail(world, "a step failed: %s", ki_error_message(&err));
}

static int64_t next_action_at(const sim_world *world) {
    int64_t at = sim_agenda_next(&world->agenda), client_at = sim_agenda_next(&world->client_agenda);
    return client_at < at ? client_at : at;
}

/* Takes the next action of both agendas if it is due. */
static bool take_action(sim_world *world, sim_entry *ret_entry) {
    bool is_client = sim_agenda_next(&world->client_agenda) < sim_agenda_next(&world->agenda);
    return sim_agenda_take(is_client ? &world->client_agenda : &world->agenda, world->now, ret_entry);
}

void sim_pass(sim_world *world, int64_t duration) {
    sim_entry entry;
    int64_t until = world->now + duration;
    while (!world->failed && sim_agenda_take(&world->agenda, until, &entry)) {
        world->now = entry.at > world->now ? entry.at : world->now;
        entry.action(entry.user, entry.argument);
    }
    world->now = until;
    world->handler_time += duration;
    sim_health_check_age(world);
}

/* Runs everything that is due. Actions run between two steps. */
static void settle(sim_world *world) {
    sim_entry entry;
    int steps = 0;
    uint64_t bytes_read = world->network.bytes_read;
    for (;;) {
        bool acted = false;
        while (!world->failed && take_action(world, &entry)) {
            entry.action(entry.user, entry.argument);
            acted = true;
        }
        int timeout = ki_engine_timeout(world->engine);
        if (world->failed || (!acted && timeout != 0))
            return;
        if (timeout == 0)
            step(world);
        if (world->network.bytes_read != bytes_read)
            steps = 0; /* what waits in the sockets can be many small chunks */
        bytes_read = world->network.bytes_read;
        if (++steps > STEPS_AT_ONCE_MAX) {
            sim_fail(world, "busy loop: %d steps at the same virtual time", steps);
            return;
        }
    }
}

/* Runs until is_done returns true. Returns false at the time `until`, or if the run failed. */
static bool run_until(sim_world *world, int64_t until, bool (*is_done)(sim_world *world)) {
    for (;;) {
        settle(world);
        if (world->failed)
            return false;
        bool is_time = world->settle_count++ % HEALTH_EVERY == 0 || world->now < world->network.small_chunks_until;
        if (is_time || world->network.has_ended) { /* each backoff is checked: it depends on those before */
            world->network.has_ended = false;
            sim_health_check(world);
            sim_waiter_check(world);
            sim_fetches_check(world);
        }
        if (is_done && is_done(world))
            return true;
        int64_t next = next_action_at(world);
        int timeout = ki_engine_timeout(world->engine);
        if (timeout >= 0 && world->now + timeout * SIM_MILLISECOND < next)
            next = world->now + timeout * SIM_MILLISECOND;
        if (next >= until) {
            world->now = until > world->now ? until : world->now; /* slow handlers can have passed `until` */
            return false;
        }
        if (next > world->now)
            world->now = next;
    }
}

/* --- planned actions ---------------------------------------------------------------------------------------------- */

static void check_stores(void *user, uint64_t argument) {
    sim_world *world = user;
    (void)argument;
    sim_oracle_check(world);
    sim_after_client(world, CHECK_EVERY_S * SIM_SECOND, check_stores, world, 0);
}

/* The host does not run the engine for some time. */
static void pause_host(void *user, uint64_t duration) {
    sim_world *world = user;
    SIM_TRACE(world, "the host pauses for %.3f s", (double)duration / 1e9);
    if (!world->is_fault_free)
        sim_pass(world, (int64_t)duration);
}

static void inject(void *user, uint64_t index) {
    sim_world *world = user;
    if (!world->is_fault_free)
        sim_inject(world, &world->plan.faults[index]);
}

static void reconfigure(void *user, uint64_t what) {
    sim_world *world = user;
    if (!world->is_fault_free)
        sim_client_reconfigure(world, what);
}

static void remove_informer(void *user, uint64_t detail) {
    sim_removal_remove(user, detail);
}

static void change_namespaces(void *user, uint64_t detail) {
    sim_namespaces_change(user, detail);
}

static void start_client(void *user, uint64_t argument) {
    (void)argument;
    sim_client_start(user);
}

static void schedule_plan(sim_world *world) {
    const sim_plan *plan = &world->plan;
    sim_random random = sim_random_from(plan->seed, 41);
    for (size_t i = 0; i < plan->fault_count; i++)
        sim_at_client(world, plan->faults[i].at, inject, world, i);
    for (unsigned i = 0; i < plan->reconfigurations; i++) {
        uint64_t detail = sim_random_next(&random); /* not in the call: compilers order arguments differently */
        sim_at_client(world, sim_between(&random, 0, plan->duration), reconfigure, world, detail);
    }
    sim_random removals = sim_random_from(plan->seed, 42);
    for (unsigned i = 0; i < plan->removals; i++) {
        uint64_t detail = sim_random_next(&removals);
        sim_at_client(world, sim_between(&removals, 0, plan->duration), remove_informer, world, detail);
    }
    sim_random changes = sim_random_from(plan->seed, 43);
    for (unsigned i = 0; i < plan->set_changes; i++) {
        uint64_t detail = sim_random_next(&changes);
        sim_at_client(world, sim_between(&changes, 0, plan->duration), change_namespaces, world, detail);
    }
    sim_at_client(world, CHECK_EVERY_S * SIM_SECOND, check_stores, world, 0);
    sim_at_client(world, sim_between(&random, 0, 3) * SIM_SECOND, start_client, world, 0);
    for (unsigned i = 0; i < plan->pause_count; i++)
        sim_at_client(world, plan->pauses[i].at, pause_host, world, (uint64_t)plan->pauses[i].duration);
}

void sim_world_restart_client(sim_world *world) {
    if (!world->client.factory)
        return;
    sim_client_stop(world);
    sim_client_start(world);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static bool make(sim_world *world) {
    ki_clock clock = { .now = virtual_now, .user = world };
    sim_memory_init(&world->memory, world->plan.seed);
    sim_servers_make(world);
    sim_network_make(world);
    ki_engine_options options =
        KI_ENGINE_OPTIONS(.allocator = &world->memory.allocator, .clock = &clock, .seed = world->plan.seed | 1);
    ki_error err = KI_ERROR_INIT;
    if (ki_engine_new(&options, &world->engine, &err) || sim_socket_new(world, &world->client.transport, &err))
        sim_fail(world, "no engine: %s", ki_error_message(&err));
    return !world->failed;
}

static void repair(void *user, uint64_t argument) {
    sim_world *world = user;
    world->is_repaired = sim_workload_repair(world);
    if (!world->is_repaired)
        sim_after_client(world, SIM_SECOND, repair, world, argument);
}

void sim_world_repair_again(sim_world *world) {
    if (!world->is_repaired)
        return;
    world->is_repaired = false;
    sim_after_client(world, SIM_SECOND, repair, world, 0);
}

static bool is_restore_noticed(sim_world *world) {
    return sim_client_version_limit(world) == UINT64_MAX;
}

static bool agrees(sim_world *world) {
    return world->is_repaired && sim_oracle_agrees(world) && sim_fetches_are_answered(world);
}

/* Fails the run if the client does not agree with the cluster in time. */
static void demand_agreement(sim_world *world, int64_t until) {
    if (!run_until(world, until, agrees)) {
        if (!sim_fetches_are_answered(world))
            sim_fail(world, "a fetch has no answer, long after the last fault");
        sim_oracle_report(world);
    }
    if (world->failed)
        return;
    SIM_TRACE(world, "the client agrees with the cluster");
    sim_oracle_check(world);
    sim_oracle_compare_handlers(world);
    sim_metrics_compare(world);
}

static void run(sim_world *world) {
    sim_workload_start(world);
    sim_fetches_start(world);
    schedule_plan(world);
    run_until(world, world->plan.duration, NULL);
    if (world->failed)
        return;
    sim_end_faults(world);
    int64_t until = world->now + AGREE_WITHIN_S * SIM_SECOND;
    repair(world, 0);
    if (!run_until(world, world->now + NOTICE_WITHIN_S * SIM_SECOND, is_restore_noticed))
        sim_fail(world, "the client has not noticed the restored cluster %d s after the last fault", NOTICE_WITHIN_S);
    demand_agreement(world, until);
    /* The client must still watch. */
    for (unsigned i = 0; i < LAST_WRITES && !world->failed; i++)
        sim_workload_write(world);
    if (!world->failed)
        demand_agreement(world, world->now + AGREE_AGAIN_WITHIN_S * SIM_SECOND);
}

static void end(sim_world *world) {
    world->memory.per_mille = 0;
    if (world->client.factory)
        sim_client_stop(world);
    ki_transport_free(world->client.transport);
    sim_network_free(world);
    ki_engine_free(world->engine);
    sim_servers_free(world);
    if (world->memory.live)
        sim_fail(world, "%zu blocks of memory are not freed", world->memory.live);
    sim_client_free(world);
    sim_truth_free(&world->truth);
    sim_agenda_free(&world->agenda);
    sim_agenda_free(&world->client_agenda);
}

const char *sim_world_run(sim_world *world, const sim_plan *plan, bool trace) {
    *world = (sim_world){ .plan = *plan, .trace = trace, .digest = plan->seed, .requester_number = SIM_NO_REQUESTER };
    const sim_clock clock = { virtual_now, fail_wall_clock, world };
    sim_clock_use(&clock);
    if (make(world))
        run(world);
    end(world);
    sim_clock_use(NULL);
    return world->failed ? world->message : NULL;
}
