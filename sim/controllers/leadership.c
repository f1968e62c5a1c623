/* leadership.c: the oracle of leader election: never two leaders, callbacks in pairs and in order, tokens that grow. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <string.h>

void ctl_leadership_doubt(ctl_world *world) {
    /* The old leader learns of it at its next renewal; where none succeeds, it gives up at its deadline, by the slowest clock. */
    int64_t longest = (world->plan.renew_ms + world->plan.retry_ms) * SIM_MILLISECOND * 10 / 9;
    world->leadership.doubt_until = world->now + longest;
    world->leadership.last_token = -1;
}

/* A leader can only appear in a step or in an answer, and disappears by itself: so it suffices to look after each of them. */
void ctl_leadership_look(ctl_world *world) {
    const ctl_process *leader = NULL;
    if (!world->plan.has_elector)
        return;
    for (unsigned i = 0; i < world->plan.processes; i++) {
        const ctl_process *process = &world->processes[i];
        if (!process->is_running || !process->elector || !ki_elector_is_leader(process->elector))
            continue;
        if (leader && world->now > world->leadership.doubt_until)
            ctl_fail(world, "processes %u and %u both lead", leader->index, process->index);
        leader = process;
    }
}

/* No tight loop: an attempt is up to three requests, and attempts are a retry period apart. */
void ctl_leadership_note_request(ctl_process *process) {
    enum {
        WINDOW_S = 20,
        OF_AN_ATTEMPT = 3,
        SPARE = 12 /* a start, a stop, changes of the leader */
    };
    const ctl_plan *plan = &process->world->plan;
    int64_t now = ctl_process_now(process);
    if (now - process->lease_requests_since > WINDOW_S * SIM_SECOND) {
        process->lease_requests_since = now;
        process->lease_requests = 0;
    }
    int64_t most = (WINDOW_S * 1000 / plan->retry_ms + 1) * OF_AN_ATTEMPT + SPARE;
    if (++process->lease_requests > most)
        ctl_fail(process->world, "process %u: %u requests about the Lease in %d s", process->index,
                 process->lease_requests, WINDOW_S);
}

static bool is_held_up(const ctl_process *process) {
    return process->is_inside || process->busy_until > process->world->now;
}

static void check_others(ctl_process *process) {
    ctl_world *world = process->world;
    for (unsigned i = 0; i < world->plan.processes; i++) {
        const ctl_process *other = &world->processes[i];
        if (other != process && other->leads && !is_held_up(other) && world->now > world->leadership.doubt_until)
            ctl_fail(world, "process %u leads, and process %u was not told that it does not any more", process->index,
                     other->index);
    }
}

static void check_token(ctl_process *process) {
    ctl_world *world = process->world;
    ctl_leadership *leadership = &world->leadership;
    int64_t token = ki_elector_fencing_token(process->elector);
    bool is_same = strcmp(leadership->last_identity, process->identity) == 0;
    if (token < 0 && ki_elector_is_leader(process->elector))
        ctl_fail(world, "process %u leads without a token", process->index);
    if (token < 0 || world->now <= leadership->doubt_until)
        return; /* its term is over already, or the count began anew */
    if (token < leadership->last_token || (token == leadership->last_token && !is_same))
        ctl_fail(world, "process %u leads with token %lld, after %s with %lld", process->index, (long long)token,
                 leadership->last_identity, (long long)leadership->last_token);
    leadership->last_token = token;
    snprintf(leadership->last_identity, sizeof leadership->last_identity, "%s", process->identity);
}

/* A new term queues the keys of all objects, soon: also of those that come meanwhile. */
static void queue_again(ctl_process *process, unsigned number) {
    char key[64];
    ctl_key_text(number, key, sizeof key);
    ki_object *parent = ki_informer_get(process->parents, key);
    if (parent)
        ctl_key_cause(process, number);
    else
        process->keys[number].causes++;
    process->keys[number].causes += CTL_MAX_CHILDREN; /* each child may queue its parent */
    ki_object_unref(parent);
}

static void on_started(ki_elector *elector, void *user) {
    (void)elector;
    ctl_process *process = user;
    ctl_world *world = process->world;
    CTL_TRACE(world, "process %u: leads", process->index);
    ctl_note(world, 0x10 + process->index);
    if (process->leads || process->is_dropped)
        ctl_fail(world, "process %u: on_started_leading %s", process->index,
                 process->leads ? "twice" : "while it is freed");
    world->leadership.terms++;
    check_others(process);
    check_token(process);
    process->leads = true;
    process->led_since = world->now;
    process->hindered_at = world->now;
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++)
        queue_again(process, i);
}

static void on_stopped(ki_elector *elector, void *user) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    CTL_TRACE(world, "process %u: does not lead any more", process->index);
    ctl_note(world, 0x20 + process->index);
    if (!process->leads && !process->is_stopping && !process->is_dropped)
        ctl_fail(world, "process %u: on_stopped_leading without a term", process->index);
    if (ki_elector_is_leader(elector))
        ctl_fail(world, "process %u: leads inside on_stopped_leading", process->index);
    if (world->is_quiet && !process->is_dropped)
        ctl_fail(world, "process %u: stops leading for no reason", process->index);
    process->leads = false;
    process->hindered_at = world->now;
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    (void)elector;
    ctl_process *process = user;
    CTL_TRACE(process->world, "process %u: the leader is \"%s\"", process->index, identity);
    ctl_note(process->world, 0x30 + process->index);
}

const ki_elector_callbacks ctl_elector_callbacks = { on_started, on_stopped, on_new_leader };
