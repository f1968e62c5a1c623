/* keys.c: see keys.h. What depends on the order of the controller's handler and the program's own is judged when the process has nothing to do:
 * until then one of them may not have been called yet. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATE_MS = 1500 /* that a reconcile may come late where nothing keeps the process from working */
};

int ctl_key_number(const char *key) {
    const char *name = strchr(key, '/');
    if (!name || name[1] != 'p')
        return -1;
    char *end;
    unsigned long number = strtoul(name + 2, &end, 10);
    return end > name + 2 && (*end == '\0' || *end == '-') && number < CTL_MAX_PARENTS ? (int)number : -1;
}

void ctl_key_text(unsigned number, char *ret_text, size_t size) {
    snprintf(ret_text, size, "%s/p%u", ctl_namespace(number), number);
}

void ctl_key_cause(ctl_process *process, unsigned number) {
    ctl_key *key = &process->keys[number];
    key->causes++;
    key->cause_at = process->world->now;
    key->paused_at_cause = process->paused;
    process->looks_at_keys = true;
}

void ctl_key_wait(ctl_process *process, unsigned number) {
    ctl_key *key = &process->keys[number];
    if (!key->waits_since)
        key->waits_since = process->world->now;
}

static bool is_busy(const ctl_process *process) {
    return process->running >= (unsigned)process->world->plan.workers;
}

/* Keeps the earliest ones. */
static void remember_delay(ctl_key *key, int64_t until) {
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

/* Forgets those that have passed. Returns true where there was one. */
static bool take_delays(ctl_key *key, int64_t now) {
    unsigned kept = 0, count = key->delay_count;
    for (unsigned i = 0; i < count; i++) {
        if (key->delays[i] > now)
            key->delays[kept++] = key->delays[i];
    }
    key->delay_count = kept;
    return kept < count;
}

void ctl_key_delay(ctl_process *process, unsigned number, int64_t delay_ms) {
    process->keys[number].causes++;
    remember_delay(&process->keys[number], ctl_process_now(process) + delay_ms * SIM_MILLISECOND);
}

static void check_retry(ctl_process *process, ctl_key *key, unsigned number) {
    ctl_world *world = process->world;
    int64_t now = ctl_process_now(process);
    if (!key->has_passed && now < key->retry_at) {
        key->early_at = world->now;
        key->early_after = key->started_at;
    } else if (now - key->retry_at > LATE_MS * SIM_MILLISECOND && process->hindered_at < key->finished_at) {
        ctl_fail(world, "process %u: key %u is retried %lld ms late", process->index, number,
                 (long long)((now - key->retry_at) / SIM_MILLISECOND));
    }
}

/* Returns how far apart the two handlers may be called for one event, the first when the process had been paused for `paused`: with small or late
 * steps other work comes between, and so does a pause. */
static int64_t slack(const ctl_process *process, int64_t paused) {
    if (!process->world->plan.max_work && !process->plan->jitter)
        return 0;
    return 2 * SIM_SECOND + process->paused - paused;
}

/* An event that nothing holds up is reconciled soon, whatever delay its key waits for. */
static void check_wait(ctl_process *process, const ctl_key *key, unsigned number) {
    int64_t since = key->waits_since > key->finished_at ? key->waits_since : key->finished_at;
    int64_t apart = slack(process, key->paused_at_start);
    bool is_known = !apart || key->waits_since > key->started_at + apart; /* not of that reconcile */
    if (key->waits_since && is_known && process->hindered_at < since &&
        process->world->now - since > LATE_MS * SIM_MILLISECOND)
        ctl_fail(process->world, "process %u: key %u waits %lld ms for its reconcile", process->index, number,
                 (long long)((process->world->now - since) / SIM_MILLISECOND));
}

void ctl_key_start(ctl_process *process, unsigned number) {
    ctl_world *world = process->world;
    ctl_key *key = &process->keys[number];
    world->reconciles++;
    if (key->is_running)
        ctl_fail(world, "process %u: two workers have key %u", process->index, number);
    if (is_busy(process))
        ctl_fail(world, "process %u: more reconciles than workers", process->index);
    /* An event may have come first: then a delay that has passed queues the key once more. */
    bool has_passed = take_delays(key, ctl_process_now(process));
    key->has_passed |= has_passed;
    if (key->has_retry)
        check_retry(process, key, number);
    key->has_passed = has_passed;
    check_wait(process, key, number);
    key->waits_since = 0;
    key->has_retry = false;
    key->is_running = true;
    key->starts++;
    key->started_at = world->now;
    key->paused_at_start = process->paused;
    process->running++;
    process->looks_at_keys = true;
    if (is_busy(process))
        process->hindered_at = world->now;
}

static int64_t backoff(const ctl_plan *plan, int failures) {
    int64_t delay = plan->backoff_ms;
    for (int i = 0; i < failures && delay < plan->max_backoff_ms; i++)
        delay *= 2;
    return delay < plan->max_backoff_ms ? delay : plan->max_backoff_ms;
}

void ctl_key_finish(ctl_process *process, unsigned number, ctl_result result, int64_t after_ms) {
    ctl_world *world = process->world;
    ctl_key *key = &process->keys[number];
    static const char *const results[] = { "done", "failed", "again", "terminal" };
    CTL_TRACE(world, "process %u: key %u: %s, %lld ms", process->index, number, results[result], (long long)after_ms);
    if (is_busy(process))
        process->hindered_at = world->now;
    key->is_running = false;
    key->finished_at = world->now;
    process->running--;
    process->looks_at_keys = true;
    if (result == CTL_DONE || result == CTL_TERMINAL) {
        key->failures = 0;
        return;
    }
    key->causes++;
    int64_t delay = result == CTL_AGAIN ? after_ms : backoff(&world->plan, key->failures);
    key->has_retry = true;
    key->retry_at = ctl_process_now(process) + delay * SIM_MILLISECOND;
    remember_delay(key, key->retry_at);
    key->failures = result == CTL_AGAIN ? 0 : key->failures + 1;
}

void ctl_keys_look(ctl_process *process) {
    ctl_world *world = process->world;
    if (!process->is_running || process->is_inside || !process->looks_at_keys ||
        ki_engine_timeout(process->engine) == 0)
        return;
    process->looks_at_keys = false;
    if (process->lacked_memory)
        return; /* a watch whose event could not be queued goes through all keys again */
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        ctl_key *key = &process->keys[i];
        if (key->starts > key->causes)
            ctl_fail(world, "process %u: key %u was reconciled %llu times for %llu causes", process->index, i,
                     (unsigned long long)key->starts, (unsigned long long)key->causes);
        if (key->early_at && key->cause_at + slack(process, key->paused_at_cause) < key->early_after)
            ctl_fail(world, "process %u: key %u was retried at %.3f s, before its delay had passed", process->index, i,
                     (double)key->early_at / 1e9);
        key->early_at = 0;
    }
}

/* What was deleted before the term is forgotten: a term begins with the objects that are there. */
static bool is_expected(ctl_process *process, unsigned number) {
    char text[64];
    ctl_key_text(number, text, sizeof text);
    ki_object *parent = ki_informer_get(process->parents, text);
    ki_object_unref(parent);
    return parent || process->keys[number].cause_at >= process->led_since;
}

void ctl_keys_compare(ctl_process *process) {
    ctl_world *world = process->world;
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++) {
        const ctl_key *key = &process->keys[i];
        if (key->started_at + slack(process, key->paused_at_start) < key->cause_at && is_expected(process, i))
            ctl_fail(world, "process %u: key %u was not reconciled after its last change at %.3f s", process->index, i,
                     (double)key->cause_at / 1e9);
    }
}
