/* keys.c: the oracle of keys.h. Causes come from the program's own handlers. The controller's handler can be called
 * before them, so causes are checked only once the process has nothing to do and both were called. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATE_MS = 1500 /* most that a reconcile can be late if the process was not disturbed */
};

int ctl_key_parse(const char *key) {
    const char *name = strchr(key, '/');
    if (!name || name[1] != 'p')
        return -1;
    char *end;
    unsigned long number = strtoul(name + 2, &end, 10);
    return end > name + 2 && (*end == '\0' || *end == '-') && number < CTL_MAX_PARENTS ? (int)number : -1;
}

void ctl_key_format(unsigned number, char *ret_text, size_t size) {
    snprintf(ret_text, size, "%s/p%u", ctl_namespace(number), number);
}

void ctl_key_add_cause(ctl_process *process, unsigned number) {
    ctl_key *key = &process->keys[number];
    key->causes++;
    key->cause_at = process->world->now;
    key->paused_at_cause = process->paused_total;
    process->must_check_keys = true;
}

void ctl_key_note_event(ctl_process *process, unsigned number) {
    ctl_key *key = &process->keys[number];
    if (!key->first_event_at)
        key->first_event_at = process->world->now;
}

static bool are_all_workers_busy(const ctl_process *process) {
    return process->running_count >= (unsigned)process->world->plan.workers;
}

/* Adds the end of a delay. Drops the latest of more than CTL_MAX_DELAYS. */
static void add_delay(ctl_key *key, int64_t until) {
    if (key->delay_count < CTL_MAX_DELAYS) {
        key->delays[key->delay_count++] = until;
        return;
    }
    unsigned last = 0;
    for (unsigned i = 1; i < CTL_MAX_DELAYS; i++)
        last = key->delays[i] > key->delays[last] ? i : last;
    if (until < key->delays[last])
        key->delays[last] = until;
}

/* Removes the delays that have passed. Returns true if there was one. */
static bool remove_passed_delays(ctl_key *key, int64_t now) {
    unsigned kept = 0, count = key->delay_count;
    for (unsigned i = 0; i < count; i++) {
        if (key->delays[i] > now)
            key->delays[kept++] = key->delays[i];
    }
    key->delay_count = kept;
    return kept < count;
}

void ctl_key_add_delay(ctl_process *process, unsigned number, int64_t delay_ms) {
    process->keys[number].causes++;
    add_delay(&process->keys[number], ctl_process_now(process) + delay_ms * SIM_MILLISECOND);
}

/* Records a retry that began before its delay, for ctl_keys_check. Fails the run if the retry is late. */
static void check_retry(ctl_process *process, ctl_key *key, unsigned number, int64_t free_for) {
    ctl_world *world = process->world;
    int64_t now = ctl_process_now(process), late = now - key->retry_at < free_for ? now - key->retry_at : free_for;
    if (!key->delay_passed && now < key->retry_at) {
        key->early_start_at = world->now;
        key->start_before_early = key->started_at;
    } else if (late > LATE_MS * SIM_MILLISECOND && process->disturbed_at < key->finished_at) {
        ctl_fail(world, "process %u: key %u was retried %lld ms late", process->index, number,
                 (long long)(late / SIM_MILLISECOND));
    }
}

/* Returns the longest time between the calls of the two handlers for one event, ns. Small and late steps put other work
 * between the calls, and pauses add to it. `paused`: paused_total at the first call. */
static int64_t max_handler_gap(const ctl_process *process, int64_t paused) {
    int64_t pauses = process->paused_total - paused; /* some are in the middle of a step */
    if (!process->world->plan.max_work && !process->plan->jitter)
        return pauses;
    /* A term walks the sources in the reverse order of their watches, so a late watch comes first, and a step that does
     * one unit of work walks one object. */
    const ctl_plan *plan = &process->world->plan;
    int64_t gap = plan->late_watch_ms || plan->max_work == 1 ? 4 * SIM_SECOND : 2 * SIM_SECOND;
    return gap + pauses;
}

/* Fails the run if an event waited too long for its reconcile. A delay of the key does not delay its events. */
static void check_first_event(ctl_process *process, const ctl_key *key, unsigned number, int64_t free_for) {
    int64_t since = key->first_event_at > key->finished_at ? key->first_event_at : key->finished_at;
    int64_t late = process->world->now - since < free_for ? process->world->now - since : free_for;
    int64_t gap = max_handler_gap(process, key->paused_at_start);
    /* An event that the previous reconcile handled can reach the controller's handler after that reconcile began. */
    bool is_new = !gap || key->first_event_at > key->started_at + gap;
    if (key->first_event_at && is_new && process->disturbed_at < since && late > LATE_MS * SIM_MILLISECOND)
        ctl_fail(process->world, "process %u: key %u waited %lld ms for its reconcile after an event", process->index,
                 number, (long long)(late / SIM_MILLISECOND));
}

void ctl_key_start(ctl_process *process, unsigned number) {
    ctl_world *world = process->world;
    ctl_key *key = &process->keys[number];
    if (key->is_running)
        ctl_fail(world, "process %u: two workers reconcile key %u", process->index, number);
    if (are_all_workers_busy(process))
        ctl_fail(world, "process %u: more running reconciles than workers", process->index);
    /* If an event began the previous reconcile, a delay that had passed by then queued the key once more: no early
     * retry. */
    bool delay_passed = remove_passed_delays(key, ctl_process_now(process));
    key->delay_passed |= delay_passed;
    int64_t free_for = ctl_own_writes_start(process, number);
    if (key->has_retry)
        check_retry(process, key, number, free_for);
    key->delay_passed = delay_passed;
    check_first_event(process, key, number, free_for);
    key->first_event_at = 0;
    key->has_retry = false;
    key->is_running = true;
    key->starts++;
    key->started_at = world->now;
    key->paused_at_start = process->paused_total;
    process->running_count++;
    process->must_check_keys = true;
    if (are_all_workers_busy(process))
        process->disturbed_at = world->now;
}

static int64_t backoff_ms(const ctl_plan *plan, int failures) {
    int64_t delay = plan->backoff_ms;
    for (int i = 0; i < failures && delay < plan->max_backoff_ms; i++)
        delay *= 2;
    return delay < plan->max_backoff_ms ? delay : plan->max_backoff_ms;
}

void ctl_key_finish(ctl_process *process, unsigned number, ctl_result result, int64_t after_ms) {
    ctl_world *world = process->world;
    ctl_key *key = &process->keys[number];
    static const char *const results[] = { "done", "failed", "requeue_after", "terminal" };
    CTL_TRACE(world, "process %u: key %u: %s (%lld ms)", process->index, number, results[result], (long long)after_ms);
    if (are_all_workers_busy(process))
        process->disturbed_at = world->now;
    key->is_running = false;
    key->finished_at = world->now;
    key->writes_until = ctl_process_now(process);
    process->running_count--;
    process->must_check_keys = true;
    if (result == CTL_DONE || result == CTL_TERMINAL) {
        key->failures = 0;
        return;
    }
    key->causes++;
    int64_t delay = result == CTL_REQUEUE_AFTER ? after_ms : backoff_ms(&world->plan, key->failures);
    key->has_retry = true;
    key->retry_at = ctl_process_now(process) + delay * SIM_MILLISECOND;
    add_delay(key, key->retry_at);
    key->failures = result == CTL_REQUEUE_AFTER ? 0 : key->failures + 1;
}

void ctl_keys_check(ctl_process *process) {
    ctl_world *world = process->world;
    if (!process->is_running || process->is_in_step)
        return;
    ctl_own_writes_note_seen(process);
    if (!process->must_check_keys || ki_engine_timeout(process->engine) == 0)
        return;
    process->must_check_keys = false;
    if (process->lacked_memory)
        return; /* after an event that could not be queued, the controller queues all keys of that watch again */
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        ctl_key *key = &process->keys[i];
        if (key->starts > key->causes)
            ctl_fail(world, "process %u: key %u was reconciled %llu times, but had %llu causes", process->index, i,
                     (unsigned long long)key->starts, (unsigned long long)key->causes);
        if (key->early_start_at &&
            key->cause_at + max_handler_gap(process, key->paused_at_cause) < key->start_before_early)
            ctl_fail(world, "process %u: key %u was retried at %.3f s, before its delay had passed", process->index, i,
                     (double)key->early_start_at / 1e9);
        key->early_start_at = 0;
    }
}

/* Returns false for an object that was deleted before the term or the watch: they begin with the keys of the objects in
 * the cache. */
static bool must_be_reconciled(ctl_process *process, unsigned number) {
    char text[64];
    ctl_key_format(number, text, sizeof text);
    ki_object *parent = ki_informer_get(process->parents, text);
    ki_object_unref(parent);
    int64_t since = process->leading_since > process->watching_since ? process->leading_since : process->watching_since;
    return parent || process->keys[number].cause_at >= since;
}

void ctl_keys_check_final(ctl_process *process) {
    ctl_world *world = process->world;
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_key *key = &process->keys[i];
        if (key->started_at + max_handler_gap(process, key->paused_at_start) < key->cause_at &&
            must_be_reconciled(process, i))
            ctl_fail(world, "process %u: key %u was not reconciled after its last change at %.3f s", process->index, i,
                     (double)key->cause_at / 1e9);
    }
}
