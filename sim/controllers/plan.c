/* plan.c: draws a plan from a seed. */
#include "sim/controllers/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RANDOM_PROCESSES = 101,
    RANDOM_PROGRAM,
    RANDOM_CLUSTER,
    RANDOM_FAULTS
};

typedef struct fault_kind_info {
    const char *name;
    int64_t shortest_ms, longest_ms;
    unsigned weight;
} fault_kind_info;

static const fault_kind_info kind_infos[CTL_FAULT_KINDS] = {
    [CTL_PAUSE] = { "pause", 100, 60000, 5 },
    [CTL_PAUSE_MID_STEP] = { "pause-mid-step", 100, 40000, 4 },
    [CTL_CRASH] = { "crash", 0, 20000, 6 },
    [CTL_STOP] = { "stop", 0, 15000, 3 },
    [CTL_PARTITION] = { "partition", 500, 60000, 4 },
    [CTL_NO_MEMORY] = { "no-memory", 200, 8000, 5 },
    [CTL_CLOCK_JUMPS] = { "clock-jumps", 0, 0, 1 },
    [CTL_RESPONSE_429] = { "response-429", 0, 0, 2 },
    [CTL_RESPONSE_5XX] = { "response-5xx", 0, 0, 2 },
    [CTL_RESPONSE_409] = { "response-409", 0, 0, 2 },
    [CTL_LOSE_REQUEST] = { "lose-request", 0, 0, 2 },
    [CTL_LOSE_RESPONSE] = { "lose-response", 0, 0, 3 },
    [CTL_DELAY] = { "delay", 2000, 40000, 3 },
    [CTL_REFUSE] = { "refuse", 0, 0, 1 },
    [CTL_SERVER_DOWN] = { "server-down", 200, 15000, 2 },
    [CTL_CLOSE_WATCHES] = { "close-watches", 0, 0, 2 },
    [CTL_SILENCE_WATCHES] = { "silence-watches", 0, 0, 1 },
    [CTL_COMPACT] = { "compact", 0, 0, 2 },
    [CTL_LAG] = { "lag", 2000, 40000, 3 },
    [CTL_SLOW_NETWORK] = { "slow-network", 1000, 20000, 2 },
    [CTL_TAKE_LEASE] = { "take-lease", 0, 0, 1 },
    [CTL_DELETE_LEASE] = { "delete-lease", 0, 0, 1 },
};

const char *ctl_fault_name(ctl_fault_kind kind) {
    return kind_infos[kind].name;
}

static bool is_lease_fault(ctl_fault_kind kind) {
    return kind == CTL_TAKE_LEASE || kind == CTL_DELETE_LEASE;
}

static ctl_fault_kind draw_kind(const ctl_plan *plan, sim_random *random) {
    for (;;) {
        unsigned all = 0;
        for (unsigned kind = 0; kind < CTL_FAULT_KINDS; kind++)
            all += kind_infos[kind].weight;
        unsigned at = (unsigned)sim_below(random, all), kind = 0;
        while (at >= kind_infos[kind].weight)
            at -= kind_infos[kind++].weight;
        if ((kind == CTL_NO_MEMORY && !plan->has_memory_faults) ||
            (is_lease_fault((ctl_fault_kind)kind) && !plan->has_elector))
            continue;
        return (ctl_fault_kind)kind;
    }
}

static int compare_times(const void *a, const void *b) {
    const ctl_fault *one = a, *other = b;
    if (one->at != other->at)
        return one->at < other->at ? -1 : 1;
    return (one->detail > other->detail) - (one->detail < other->detail);
}

static void make_faults(ctl_plan *plan, sim_random *random) {
    plan->fault_count = (size_t)sim_between(random, 0, 14);
    for (size_t i = 0; i < plan->fault_count; i++) {
        ctl_fault_kind kind = draw_kind(plan, random);
        const fault_kind_info *info = &kind_infos[kind];
        plan->faults[i] = (ctl_fault){
            .kind = kind,
            .at = sim_between(random, SIM_SECOND / 2, plan->duration),
            .length = sim_between(random, info->shortest_ms, info->longest_ms) * SIM_MILLISECOND,
            .detail = sim_random_next(random),
        };
        if (i > 0 && sim_chance(random, 30)) /* soon after the fault that was drawn before */
            plan->faults[i].at = plan->faults[i - 1].at + sim_between(random, 0, 4000) * SIM_MILLISECOND;
        if (sim_chance(random, 40)) /* a short fault */
            plan->faults[i].length = info->shortest_ms * SIM_MILLISECOND + plan->faults[i].length / 10;
    }
    qsort(plan->faults, plan->fault_count, sizeof plan->faults[0], compare_times);
}

static void make_processes(ctl_plan *plan, sim_random *random) {
    plan->has_elector = sim_chance(random, 85);
    plan->process_count = plan->has_elector ? (unsigned)sim_between(random, 2, CTL_MAX_PROCESSES) : 1;
    for (unsigned i = 0; i < CTL_MAX_PROCESSES; i++)
        plan->process[i] = (ctl_process_plan){
            .rate = CTL_MILLION + (sim_chance(random, 30)   ? 0
                                   : sim_chance(random, 50) ? sim_between(random, -100000, 100000)
                                   : i % 2                  ? 100000
                                                            : -100000),
            .clock_start = sim_between(random, 0, 1000000) * SIM_SECOND,
            .wall_skew = sim_chance(random, 50) ? 0 : sim_between(random, -100000, 100000) * SIM_SECOND,
            .jitter = sim_chance(random, 70) ? 0 : sim_between(random, 1, 30) * SIM_MILLISECOND,
        };
    static const int64_t leases[][3] = { /* lease, renew deadline, retry */
                                         { 15000, 10000, 2000 },
                                         { 8000, 5000, 1000 },
                                         { 6000, 4500, 1500 },
                                         { 5000, 4000, 2500 }
    };
    const int64_t *lease = leases[sim_below(random, 4)];
    plan->lease_ms = lease[0];
    plan->renew_ms = lease[1];
    plan->retry_ms = lease[2];
    plan->release_on_stop = sim_chance(random, 60);
    plan->keeps_identity = sim_chance(random, 30);
}

static void make_program(ctl_plan *plan, sim_random *random) {
    plan->has_recorder = sim_chance(random, 35);
    plan->events_v1 = sim_chance(random, 40);
    plan->max_work = sim_chance(random, 60) ? 0 : (int)sim_between(random, 1, 20);
    plan->workers = (int)sim_between(random, 1, 4);
    plan->no_priority = sim_chance(random, 40);
    plan->has_generation_predicate = sim_chance(random, 50);
    plan->maps_children = sim_chance(random, 30);
    plan->any_owner = sim_chance(random, 20);
    plan->late_watch_ms = sim_chance(random, 75) ? 0 : sim_between(random, 1, 20000);
    plan->no_streaming_list = sim_chance(random, 50);
    plan->queue = sim_chance(random, 50) ? KI_QUEUE_IN_ORDER : KI_QUEUE_DELTA_FIFO;
    plan->resync_ms = sim_chance(random, 70) ? 0 : sim_between(random, 5000, 60000);
    plan->backoff_ms = sim_chance(random, 50) ? 5 : sim_between(random, 1, 1000);
    plan->max_backoff_ms = sim_between(random, 2000, 16000);
    plan->call_timeout_ms = sim_between(random, 2000, 15000);
    plan->error_percent = sim_chance(random, 60) ? 0 : (unsigned)sim_between(random, 1, 20);
    plan->slow_percent = sim_chance(random, 60) ? 0 : (unsigned)sim_between(random, 1, 20);
    plan->external_add_percent = sim_chance(random, 60) ? 0 : (unsigned)sim_between(random, 10, 100);
    plan->ownerless_percent = sim_chance(random, 70) ? 0 : (unsigned)sim_between(random, 5, 30);
    plan->has_memory_faults = sim_chance(random, 25);
    plan->requests_per_second = sim_chance(random, 70) ? 0 : (int)sim_between(random, 1, 10);
    plan->request_burst = (int)sim_between(random, 1, 10);
    plan->stop_timeout_ms = sim_chance(random, 60) ? 0 : sim_between(random, 1, 5000);
    plan->release_conflicts = sim_chance(random, 50) ? 0 : (unsigned)sim_between(random, 1, 4);
    plan->no_wait_for_writes = sim_chance(random, 20);
    plan->uses_for_and_owns = sim_chance(random, 50) && !plan->maps_children && !plan->late_watch_ms;
}

static void make_cluster(ctl_plan *plan, sim_random *random) {
    plan->compact_after = sim_chance(random, 70) ? 0 : (size_t)sim_between(random, 10, 200);
    plan->is_old_server = sim_chance(random, 15);
    plan->bookmark_every_ms = sim_between(random, 5000, 60000);
    plan->read_lag = sim_chance(random, 40) ? 0 : sim_between(random, 1, 2000) * SIM_MILLISECOND;
    plan->parent_count = (unsigned)sim_between(random, 1, CTL_MAX_PARENTS);
    plan->finalizer_percent = sim_chance(random, 50) ? 0 : (unsigned)sim_between(random, 10, 100);
    plan->wait_percent = sim_chance(random, 50) ? 0 : (unsigned)sim_between(random, 10, 100);
    plan->write_every = sim_between(random, 1000, 8000) * SIM_MILLISECOND;
    plan->duration = sim_between(random, 40, 150) * SIM_SECOND;
}

void ctl_plan_make(ctl_plan *plan, uint64_t seed) {
    *plan = (ctl_plan){ .seed = seed };
    sim_random random = sim_random_from(seed, RANDOM_PROCESSES);
    make_processes(plan, &random);
    random = sim_random_from(seed, RANDOM_PROGRAM);
    make_program(plan, &random);
    random = sim_random_from(seed, RANDOM_CLUSTER);
    make_cluster(plan, &random);
    random = sim_random_from(seed, RANDOM_FAULTS);
    make_faults(plan, &random);
}

void ctl_plan_remove_faults(ctl_plan *plan, uint32_t without) {
    size_t kept = 0;
    for (size_t i = 0; i < plan->fault_count; i++) {
        if (!(without >> i & 1))
            plan->faults[kept++] = plan->faults[i];
    }
    plan->fault_count = kept;
}

static const char *text_if(bool is_set, const char *text) {
    return is_set ? text : "";
}

void ctl_plan_print(const ctl_plan *plan) {
    printf("seed %" PRIu64 ": %u processes%s%s%s, %u conflicts on release, lease %" PRId64 "/%" PRId64 "/%" PRId64
           " ms, %u parents, %" PRId64 " s of writes\n",
           plan->seed, plan->process_count, text_if(plan->has_elector, ", elector"),
           text_if(plan->has_elector && plan->release_on_stop, ", release on stop"),
           text_if(plan->has_elector && plan->keeps_identity, ", same identity after a restart"),
           plan->release_conflicts, plan->lease_ms, plan->renew_ms, plan->retry_ms, plan->parent_count,
           plan->duration / SIM_SECOND);
    for (unsigned i = 0; i < plan->process_count; i++)
        printf("  process %u: clock %+.2f %%, wall clock %+" PRId64 " s, steps up to %" PRId64 " ms late\n", i,
               (double)(plan->process[i].rate - CTL_MILLION) / 10000, plan->process[i].wall_skew / SIM_SECOND,
               plan->process[i].jitter / SIM_MILLISECOND);
    printf(
        "  controller: %d workers, max_work %d, backoff %" PRId64 " to %" PRId64 " ms, resync %" PRId64
        " ms, requests of %" PRId64 " ms, %d a second, stop timeout %" PRId64 " ms, watch after %" PRId64
        " ms%s%s%s%s%s%s%s%s%s\n",
        plan->workers, plan->max_work, plan->backoff_ms, plan->max_backoff_ms, plan->resync_ms, plan->call_timeout_ms,
        plan->requests_per_second, plan->stop_timeout_ms, plan->late_watch_ms,
        text_if(plan->no_priority, ", no priority"), text_if(plan->has_generation_predicate, ", generation predicate"),
        text_if(plan->maps_children, ", map function"), text_if(plan->any_owner, ", any_owner"),
        text_if(plan->queue == KI_QUEUE_DELTA_FIFO, ", DeltaFIFO"),
        text_if(plan->no_streaming_list, ", no streaming lists"),
        text_if(plan->no_wait_for_writes, ", no wait for writes"), text_if(plan->uses_for_and_owns, ", for and owns"),
        plan->has_recorder ? plan->events_v1 ? ", events.k8s.io" : ", events" : "");
    printf("  %u %% errors, %u %% slow, %u %% external adds, %u %% ownerless, %u %% finalizers, %u %% waits; history "
           "%zu%s, lag %" PRId64 " ms\n",
           plan->error_percent, plan->slow_percent, plan->external_add_percent, plan->ownerless_percent,
           plan->finalizer_percent, plan->wait_percent, plan->compact_after,
           text_if(plan->is_old_server, ", no streaming lists"), plan->read_lag / SIM_MILLISECOND);
    for (size_t i = 0; i < plan->fault_count; i++)
        printf("  fault %zu at %.3f s: %s (%.3f s)\n", i, (double)plan->faults[i].at / 1e9,
               ctl_fault_name(plan->faults[i].kind), (double)plan->faults[i].length / 1e9);
}
