/* leadership.c: the oracle of leader election: never two leaders, callbacks in pairs and in order, fencing tokens that
 * grow. */
#include "sim/controllers/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ctl_leadership_allow_two(ctl_world *world) {
    /* Without a successful renewal the old leader stops leading at its renew deadline. The slowest clock is 10 %
     * slow. */
    int64_t longest_ns = (world->plan.renew_ms + world->plan.retry_ms) * SIM_MILLISECOND * 10 / 9;
    world->leadership.two_leaders_until = world->now + longest_ns;
    world->leadership.last_token = -1;
}

/* Called after each step and each action. Only these can make a process the leader; time alone only ends a
 * leadership. */
void ctl_leadership_check(ctl_world *world) {
    const ctl_process *leader = NULL;
    if (!world->plan.has_elector)
        return;
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        const ctl_process *process = &world->processes[i];
        if (!process->is_running || !process->elector || !ki_elector_is_leader(process->elector))
            continue;
        if (leader && world->now > world->leadership.two_leaders_until)
            ctl_fail(world, "processes %u and %u both lead", leader->index, process->index);
        leader = process;
    }
}

/* An attempt sends up to three requests, and attempts are one retry period apart. */
void ctl_leadership_count_request(ctl_process *process) {
    enum {
        WINDOW_S = 20,
        ATTEMPT_REQUESTS = 3,
        EXTRA_REQUESTS = 12 /* for a start, a stop, and changes of the leader */
    };
    const ctl_plan *plan = &process->world->plan;
    int64_t now = ctl_process_now(process);
    if (now - process->lease_requests_since > WINDOW_S * SIM_SECOND) {
        process->lease_requests_since = now;
        process->lease_requests = 0;
    }
    int64_t max_requests = (WINDOW_S * 1000 / plan->retry_ms + 1) * ATTEMPT_REQUESTS + EXTRA_REQUESTS;
    if (++process->lease_requests > max_requests)
        ctl_fail(process->world, "process %u: %u requests for the Lease in %d s", process->index,
                 process->lease_requests, WINDOW_S);
}

/* Fails the run if a write of a reconcile is sent when its term is over. What was sent before can still leave and
 * arrive. */
void ctl_leadership_check_write(ctl_process *process, uint64_t term) {
    if (process->term != term || !ki_elector_is_leader(process->elector))
        ctl_fail(process->world, "process %u: a write of term %" PRIu64 " was sent after the end of the term",
                 process->index, term);
}

/* Fails the run if the Lease is released while a reconcile runs. */
void ctl_leadership_check_release(ctl_process *process) {
    if (process->running_count)
        ctl_fail(process->world, "process %u: releases the Lease while %u reconciles run", process->index,
                 process->running_count);
}

static bool is_suspended(const ctl_process *process) {
    return process->is_in_step || process->busy_until > process->world->now;
}

/* Fails the run if another process has not called on_stopped_leading. A suspended process could not. */
static void check_other_leaders(ctl_process *process) {
    ctl_world *world = process->world;
    for (unsigned i = 0; i < world->plan.process_count; i++) {
        const ctl_process *other = &world->processes[i];
        if (other != process && other->is_leading && !is_suspended(other) &&
            world->now > world->leadership.two_leaders_until)
            ctl_fail(world, "process %u leads before process %u called on_stopped_leading", process->index,
                     other->index);
    }
}

/* Fails the run if the fencing token did not grow with the new leader. */
static void check_token(ctl_process *process) {
    ctl_world *world = process->world;
    ctl_leadership *leadership = &world->leadership;
    int64_t token = ki_elector_fencing_token(process->elector);
    bool is_same = strcmp(leadership->last_identity, process->identity) == 0;
    if (token < 0 && ki_elector_is_leader(process->elector))
        ctl_fail(world, "process %u leads without a fencing token", process->index);
    if (token < 0 || world->now <= leadership->two_leaders_until)
        return; /* the leadership has ended already, or a new Lease counts from 0 */
    if (token < leadership->last_token || (token == leadership->last_token && !is_same))
        ctl_fail(world, "process %u leads with fencing token %lld, after %s with %lld", process->index,
                 (long long)token, leadership->last_identity, (long long)leadership->last_token);
    leadership->last_token = token;
    snprintf(leadership->last_identity, sizeof leadership->last_identity, "%s", process->identity);
}

/* Adds the causes of a new term: the controller queues the keys of all objects. */
static void add_term_causes(ctl_process *process, unsigned number) {
    char key[64];
    ctl_key_format(number, key, sizeof key);
    ki_object *parent = ki_informer_get(process->parents, key);
    if (parent)
        ctl_key_add_cause(process, number);
    else
        process->keys[number].causes++; /* the parent can be added before the controller has queued all keys */
    process->keys[number].causes += CTL_MAX_CHILDREN; /* each child can queue its parent */
    ki_object_unref(parent);
}

static void on_started(ki_elector *elector, void *user) {
    (void)elector;
    ctl_process *process = user;
    ctl_world *world = process->world;
    CTL_TRACE(world, "process %u: leads", process->index);
    ctl_digest_add(world, 0x10 + process->index);
    if (process->is_leading || process->is_freed)
        ctl_fail(world, "process %u: on_started_leading was called %s", process->index,
                 process->is_leading ? "twice" : "while the process was freed");
    check_other_leaders(process);
    check_token(process);
    process->is_leading = true;
    process->term = ++world->leadership.terms;
    process->leading_since = world->now;
    process->disturbed_at = world->now;
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++)
        add_term_causes(process, i);
}

static void on_stopped(ki_elector *elector, void *user) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    CTL_TRACE(world, "process %u: stops leading", process->index);
    ctl_digest_add(world, 0x20 + process->index);
    if (!process->is_leading && !process->is_stopping && !process->is_freed)
        ctl_fail(world, "process %u: on_stopped_leading without on_started_leading", process->index);
    if (ki_elector_is_leader(elector))
        ctl_fail(world, "process %u: is still the leader inside on_stopped_leading", process->index);
    if (world->is_quiet && !process->is_freed)
        ctl_fail(world, "process %u: stopped leading without a cause", process->index);
    process->is_leading = false;
    process->ran_at_stop = process->is_stopping && process->running_count > 0;
    process->disturbed_at = world->now;
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    (void)elector;
    ctl_process *process = user;
    CTL_TRACE(process->world, "process %u: the leader is \"%s\"", process->index, identity);
    ctl_digest_add(process->world, 0x30 + process->index);
}

const ki_elector_callbacks ctl_elector_callbacks = { on_started, on_stopped, on_new_leader };
