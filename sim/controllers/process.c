/* process.c: starts, steps, pauses, stops and crashes a process. */
#include "sim/controllers/world.h"

#include "src/factory/factory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    STOP_WITHIN_S = 50, /* process's clock: the controller's timeout of 30 s, then those of elector and recorder */
    RESTART_S = 1       /* after a start without memory */
};

/* --- clocks ------------------------------------------------------------------------------------------------------- */

int64_t ctl_process_now(const ctl_process *process) {
    int64_t now = process->world->now;
    return process->plan->clock_start + now / CTL_MILLION * process->plan->rate +
           now % CTL_MILLION * process->plan->rate / CTL_MILLION;
}

int64_t ctl_process_true_time(const ctl_process *process, int64_t length) {
    return process->world->now + length / process->plan->rate * CTL_MILLION +
           length % process->plan->rate * CTL_MILLION / process->plan->rate + 2;
}

static int64_t clock_now(void *user) {
    return ctl_process_now(user);
}

static int64_t clock_wall(void *user) {
    const ctl_process *process = user;
    return ctl_server_now_ms(process->world) * SIM_MILLISECOND + process->plan->wall_skew + process->wall_jump;
}

static void log_line(ki_log_level level, const char *component, const char *message, void *user) {
    const ctl_process *process = user;
    (void)level;
    ctl_print_trace(process->world, "process %u: %s: %s", process->index, component, message);
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static ki_status make_engine(ctl_process *process, ki_error *err) {
    ctl_world *world = process->world;
    const ki_clock clock = { .now = clock_now, .wall_now = clock_wall, .user = process };
    const ki_log log = { .write = log_line, .user = process, .max_level = KI_LOG_DEBUG };
    ki_engine_options options =
        KI_ENGINE_OPTIONS(.allocator = &process->memory.allocator, .clock = &clock,
                          .seed = (world->plan.seed * 64 + process->index * 16 + process->start_count) | 1);
    if (world->trace)
        options.log = &log;
    ki_status status = ki_engine_new(&options, &process->engine, err);
    return status ? status : ctl_network_transport_new(process, err);
}

ki_informer_options ctl_informer_options(const ctl_process *process, bool of_children) {
    const ctl_plan *plan = &process->world->plan;
    return KI_INFORMER_OPTIONS(.view = of_children ? ctl_child_fields : ctl_parent_fields,
                               .label_selector = of_children ? "child" : NULL, .queue = plan->queue,
                               .resync_ms = plan->resync_ms);
}

static ki_status make_informers(ctl_process *process, ki_error *err) {
    const ctl_plan *plan = &process->world->plan;
    ki_factory_options options =
        KI_FACTORY_OPTIONS(.engine = process->engine, .requests_per_second = plan->requests_per_second,
                           .request_burst = plan->request_burst, .no_streaming_list = plan->no_streaming_list);
    const ki_informer_options of_parents = ctl_informer_options(process, false),
                              of_children = ctl_informer_options(process, true);
    ki_status status = ki_factory_new_on(NULL, process->transport, &options, &process->factory, err);
    if (!status)
        status = ki_factory_informer(process->factory, &ctl_foos, &of_parents, &process->parents, err);
    if (!status)
        status = ki_factory_informer(process->factory, KI_CONFIGMAPS, &of_children, &process->children, err);
    return status ? status : ctl_handlers_add(process, err);
}

static ki_status make_elector(ctl_process *process, ki_error *err) {
    const ctl_plan *plan = &process->world->plan;
    if (!plan->has_elector)
        return KI_OK;
    if (plan->keeps_identity)
        snprintf(process->identity, sizeof process->identity, "process-%u", process->index);
    else
        snprintf(process->identity, sizeof process->identity, "process-%u-%" PRIu64, process->index,
                 process->start_count);
    return ki_elector_new(process->factory,
                          &KI_ELECTOR_OPTIONS(.namespace_name = CTL_LEASE_NAMESPACE, .name = CTL_LEASE_NAME,
                                              .identity = process->identity, .lease_duration_ms = plan->lease_ms,
                                              .renew_deadline_ms = plan->renew_ms, .retry_period_ms = plan->retry_ms,
                                              .release_on_stop = plan->release_on_stop,
                                              .callbacks = ctl_elector_callbacks, .user = process),
                          &process->elector, err);
}

static ki_status make_controller(ctl_process *process, ki_error *err) {
    const ctl_plan *plan = &process->world->plan;
    const ki_rate_limit limits[] = { KI_RATE_LIMIT_EXPONENTIAL(plan->backoff_ms, plan->max_backoff_ms) };
    ki_status status = ki_controller_new(
        process->factory,
        &KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = ctl_reconcile, .user = process, .workers = plan->workers,
                               .rate_limits = limits, .rate_limit_count = 1, .no_priority = plan->no_priority,
                               .stop_timeout_ms = plan->stop_timeout_ms, .elector = process->elector,
                               .no_wait_for_writes = plan->no_wait_for_writes),
        &process->controller, err);
    return status ? status : ctl_watches_add(process, err);
}

static ki_status make_recorder(ctl_process *process, ki_error *err) {
    const ctl_plan *plan = &process->world->plan;
    if (!plan->has_recorder)
        return KI_OK;
    return ki_event_recorder_new(process->factory,
                                 &KI_EVENT_RECORDER_OPTIONS(.component = "simulation", .instance = "simulation-1",
                                                            .api = plan->events_v1 ? KI_EVENTS_V1 : KI_EVENTS_CORE_V1),
                                 &process->recorder, err);
}

static ki_status create_all(ctl_process *process, ki_error *err) {
    ki_status status = make_engine(process, err);
    if (!status)
        status = make_informers(process, err);
    if (!status)
        status = make_elector(process, err);
    if (!status)
        status = make_controller(process, err);
    if (!status)
        status = make_recorder(process, err);
    return status ? status : ki_factory_start(process->factory, err);
}

static void restart(void *user, uint64_t start_count) {
    ctl_process *process = user;
    if (!process->is_running && process->start_count == start_count && !process->stays_stopped)
        ctl_process_start(process);
}

/* Records whether an allocation failed since the last call. */
static void note_refused_allocations(ctl_process *process) {
    if (process->memory.refused == process->refused_seen)
        return;
    process->refused_seen = process->memory.refused;
    process->lacked_memory = true;
    process->disturbed_at = process->world->now;
}

void ctl_process_start(ctl_process *process) {
    ctl_world *world = process->world;
    if (process->is_running || process->stays_stopped)
        return;
    unsigned per_mille = process->memory.per_mille; /* a fault continues after a restart */
    process->start_count++;
    process->is_running = true;
    process->is_stopping = process->is_freed = process->stop_in_reconcile = process->lacked_memory = false;
    process->mid_step_pause = 0;
    process->ran_at_stop = process->watches_parents = false;
    process->release_conflicts = process->world->plan.release_conflicts;
    process->recorded_events = 0;
    process->lease_requests = 0;
    process->paused_total = 0;
    process->disturbed_at = process->busy_until = world->now;
    process->random = sim_random_from(world->plan.seed, 1000 + process->index * 100 + process->start_count);
    memset(process->keys, 0, sizeof process->keys);
    sim_memory_init(&process->memory, world->plan.seed * 64 + process->index * 16 + process->start_count);
    process->refused_seen = 0;
    process->memory.per_mille = per_mille;
    CTL_TRACE(world, "process %u: starts, number %" PRIu64, process->index, process->start_count);
    ki_error err = KI_ERROR_INIT;
    ki_status status = create_all(process, &err);
    note_refused_allocations(process);
    if (!status)
        return;
    if (status != KI_ERR_NO_MEMORY)
        ctl_fail(world, "process %u: cannot start: %s", process->index, ki_error_message(&err));
    ctl_process_crash(process, RESTART_S * SIM_SECOND);
}

/* --- end ---------------------------------------------------------------------------------------------------------- */

/* Frees everything. Fails the run if memory, a reconcile or the leadership remains. */
static void free_all(ctl_process *process) {
    ctl_world *world = process->world;
    process->is_freed = true;
    ctl_reconcile_abort(process);
    ki_controller_free(process->controller);
    ki_event_recorder_free(process->recorder);
    ki_elector_free(process->elector);
    ki_factory_free(process->factory);
    ki_transport_free(process->transport);
    ki_engine_free(process->engine);
    process->controller = NULL;
    process->recorder = NULL;
    process->elector = NULL;
    process->factory = NULL;
    process->transport = NULL;
    process->engine = NULL;
    process->is_running = false;
    if (process->ops || process->running_count)
        ctl_fail(world, "process %u: running reconciles were not ended", process->index);
    if (process->is_leading)
        ctl_fail(world, "process %u: on_stopped_leading was not called", process->index);
    process->is_leading = false;
    if (process->memory.live)
        ctl_fail(world, "process %u: %zu blocks of memory were not freed", process->index, process->memory.live);
}

static void end_run(ctl_process *process, int64_t restart_delay) {
    free_all(process);
    if (restart_delay < 0)
        process->stays_stopped = true;
    else
        ctl_after(process->world, restart_delay, restart, process, process->start_count);
}

void ctl_process_crash(ctl_process *process, int64_t restart_delay) {
    if (!process->is_running) {
        process->stays_stopped = process->stays_stopped || restart_delay < 0;
        return;
    }
    CTL_TRACE(process->world, "process %u: crashes", process->index);
    end_run(process, restart_delay);
}

void ctl_process_stop(ctl_process *process, int64_t restart_delay) {
    if (!process->is_running) {
        process->stays_stopped = process->stays_stopped || restart_delay < 0;
        return;
    }
    if (restart_delay < 0 || !process->is_stopping)
        process->restart_delay = restart_delay;
    if (process->is_stopping)
        return;
    CTL_TRACE(process->world, "process %u: begins an orderly stop", process->index);
    process->is_stopping = true;
    process->stop_began_at = ctl_process_now(process);
    ki_factory_stop(process->factory);
}

/* The factory stops its informers last: once they have stopped, the stop has ended. */
static bool have_informers_stopped(const ctl_process *process) {
    ki_health parents, children;
    ki_informer_health(process->parents, &parents);
    ki_informer_health(process->children, &children);
    return parents.state == KI_STATE_STOPPED && children.state == KI_STATE_STOPPED;
}

static void check_stop(ctl_process *process) {
    ctl_world *world = process->world;
    int64_t length = ctl_process_now(process) - process->stop_began_at;
    if (have_informers_stopped(process)) {
        int64_t timeout_ms = world->plan.stop_timeout_ms ? world->plan.stop_timeout_ms : 30000;
        if (process->running_count && length < timeout_ms * SIM_MILLISECOND)
            ctl_fail(world, "process %u: stopped before %u reconciles had ended", process->index,
                     process->running_count);
        CTL_TRACE(world, "process %u: has stopped", process->index);
        end_run(process, process->restart_delay);
    } else if (length > STOP_WITHIN_S * SIM_SECOND && process->disturbed_at < world->now - STOP_WITHIN_S * SIM_SECOND &&
               process->busy_until < world->now - STOP_WITHIN_S * SIM_SECOND) { /* a pause disturbs until its end */
        ctl_fail(world, "process %u: a stop took more than %d s", process->index, STOP_WITHIN_S);
    }
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

void ctl_process_pause(ctl_process *process, int64_t length) {
    ctl_world *world = process->world;
    int64_t until = world->now + length;
    CTL_TRACE(world, "process %u: pauses for %.3f s", process->index, (double)length / 1e9);
    process->paused_total += length;
    process->busy_until = until > process->busy_until ? until : process->busy_until;
    process->disturbed_at = process->busy_until;
}

int64_t ctl_process_callable_at(const ctl_process *process) {
    int64_t now = process->world->now;
    if (process->busy_until > now)
        return process->busy_until;
    return process->is_in_step ? now + SIM_MILLISECOND
                               : now; /* in the middle of a step: its call stack waits for another's pause */
}

int64_t ctl_process_next_step(ctl_process *process) {
    if (!process->is_running || process->is_in_step)
        return INT64_MAX;
    int timeout = ki_engine_timeout(process->engine);
    if (timeout < 0)
        return INT64_MAX;
    int64_t at = timeout ? ctl_process_true_time(process, timeout * SIM_MILLISECOND) : process->world->now;
    return at > process->busy_until ? at : process->busy_until;
}

void ctl_process_step(ctl_process *process) {
    ctl_world *world = process->world;
    ki_error err = KI_ERROR_INIT;
    process->is_in_step = true;
    if (ki_engine_step(process->engine, world->plan.max_work, &err))
        ctl_fail(world, "process %u: a step failed: %s", process->index, ki_error_message(&err));
    process->is_in_step = false;
    note_refused_allocations(process);
    if (process->plan->jitter && !world->healed)
        process->busy_until = world->now + sim_between(&world->random, 0, process->plan->jitter);
    if (process->is_stopping)
        check_stop(process);
}
