/* health.c: see health.h. Compares the health with the running exchange (network.h), and with the queued and stored
 * changes (witness.h). */
#include "sim/health.h"

#include "sim/oracle.h"
#include "sim/world.h"

#include "src/cache/informer/informer_parts.h"

#include <string.h>

enum {
    WAIT_MAX_MS = 60000, /* the longest backoff */
    REOPEN_MAX_MS = 5000 /* the longest pause before a watch is opened again; a slow handler included */
};

/* An informer's requests, as the network has them. */
typedef struct observation {
    const sim_exchange *exchange; /* the running one, without those of the consistency check; NULL: none */
    bool is_accepted;             /* status 200 has arrived */
    bool is_watching;             /* is_accepted, and the request is a watch whose initial events have ended */
} observation;

static observation observe(const sim_world *world, unsigned informer) {
    observation observed = { .exchange = NULL };
    for (const sim_exchange *at = world->network.first; at; at = at->next) {
        if (!at->call || at->is_beside || at->informer != informer)
            continue;
        observed.exchange = at;
        observed.is_accepted = at->has_head && at->status == 200;
        observed.is_watching = observed.is_accepted && at->is_watch && at->arrivals.is_past_initial;
    }
    return observed;
}

static bool is_either(ki_state state, ki_state a, ki_state b) {
    return state == a || state == b;
}

/* Returns the least time of a wait after a failure to connect, of which three are short; 0: it is not one of them. A
 * list, an event or a watch of some seconds allows three more. */
static int64_t least_of_short_wait(sim_informer *informer, const ki_health *health, bool is_next, int64_t began) {
    enum {
        SHORT_WAITS = 3,
        FIRST_MS = 100,
        GOOD_WATCH_S = 5
    };
    if (!is_next || health->failures != informer->failures + 1 ||
        began - informer->wait_ends >= GOOD_WATCH_S * SIM_SECOND)
        informer->short_waits = 0;
    if (health->cause.code != KI_ERR_CONNECT || informer->short_waits == SHORT_WAITS)
        return 0;
    return FIRST_MS << informer->short_waits++;
}

/* Fails the run if a backoff after consecutive failures is not at least twice as long as the one before, up to
 * LIMIT_MS. Short waits are not counted. */
static void check_backoff(sim_world *world, unsigned index, const ki_health *health) {
    enum {
        FIRST_MS = 800,
        LIMIT_MS = 15000, /* the client's limit is 30 s or more, and half of that if the cause may have been fixed */
        RESET_S = 119,    /* the client resets its backoff after 120 s without a failure */
        ROUNDING_MS = 2
    };
    sim_informer *informer = &world->client.informers[index];
    int64_t began = world->now - health->since_ms * SIM_MILLISECOND;
    int64_t since_last_wait = began - informer->wait_began;
    if (informer->failures == health->failures && since_last_wait < ROUNDING_MS * SIM_MILLISECOND)
        return; /* this backoff was checked already */
    /* Else a success and failures that no check saw came in between: a step can take longer than a wait. */
    uint64_t all_failures = atomic_load(&informer->informer->metrics.counters[KI_METRIC_FAILURES]);
    bool is_next = all_failures - informer->all_failures == health->failures - informer->failures;
    bool follows = is_next && health->failures == informer->failures + 1 && informer->failures &&
                   since_last_wait < RESET_S * SIM_SECOND;
    int64_t least = least_of_short_wait(informer, health, is_next, began);
    if (!follows)
        informer->wait_min_ms = 0;
    if (!least) {
        least = informer->wait_min_ms ? 2 * informer->wait_min_ms : FIRST_MS;
        least = informer->wait_min_ms = least < LIMIT_MS ? least : LIMIT_MS;
    }
    informer->failures = health->failures;
    informer->all_failures = all_failures;
    informer->wait_began = began;
    informer->wait_ends = world->now + health->retry_in_ms * SIM_MILLISECOND;
    if (health->since_ms + health->retry_in_ms + ROUNDING_MS < least)
        sim_fail(world, "informer %u backs off for %lld ms after %llu consecutive failures; expected at least %lld ms",
                 index, (long long)(health->since_ms + health->retry_in_ms), (unsigned long long)health->failures,
                 (long long)least);
}

/* Fails the run if a backoff has no cause, or a wrong time of the next attempt. */
static void check_waiting(sim_world *world, unsigned informer, const ki_health *health,
                          const sim_requester *requester) {
    int64_t retry_after_ms = (requester->not_before - world->now) / SIM_MILLISECOND;
    int64_t longest = retry_after_ms > WAIT_MAX_MS ? retry_after_ms : WAIT_MAX_MS;
    if (health->cause.code == KI_OK || !health->message[0] || health->next == KI_ATTEMPT_NONE || !health->failures)
        sim_fail(world, "informer %u is %s and reports no cause", informer, ki_state_name(health->state));
    if (health->retry_in_ms < 0 || health->retry_in_ms > longest + 1)
        sim_fail(world, "informer %u is %s and reports its next attempt in %lld ms", informer,
                 ki_state_name(health->state), (long long)health->retry_in_ms);
}

/* Fails the run if the state is not "blocked" exactly after 401, 403 and 404, which no retry fixes. A list follows a
 * watch that is not found. */
static void check_blocked(sim_world *world, unsigned informer, const ki_health *health) {
    int status = health->cause.http_status;
    bool is_watch = strncmp(health->message, "cannot be watched", strlen("cannot be watched")) == 0;
    bool is_blocking = status == 401 || status == 403 || (status == 404 && !is_watch);
    if ((health->state == KI_STATE_BLOCKED) != is_blocking)
        sim_fail(world, "informer %u is %s after status %d", informer, ki_state_name(health->state), status);
}

/* Fails the run if the reported state is not that of the running exchange. */
static void check_state(sim_world *world, unsigned informer, const ki_health *health, const observation *observed) {
    const sim_requester *requester = &world->network.requesters[sim_requester_number(informer, SIM_REFLECTOR)];
    const char *state = ki_state_name(health->state);
    if (health->next == KI_ATTEMPT_STORE) {
        if (!world->memory.refused)
            sim_fail(world, "informer %u cannot store changes, and no allocation failed", informer);
        return;
    }
    if (!observed->exchange && health->state == KI_STATE_CONNECTING && health->since_ms <= REOPEN_MAX_MS)
        return;
    if (!observed->exchange) {
        if (!is_either(health->state, KI_STATE_BACKING_OFF, KI_STATE_BLOCKED))
            sim_fail(world, "informer %u is %s without a request", informer, state);
        check_waiting(world, informer, health, requester);
        check_backoff(world, informer, health);
        check_blocked(world, informer, health);
        return;
    }
    if (observed->is_watching ? health->state != KI_STATE_WATCHING
                              : !is_either(health->state, KI_STATE_CONNECTING, KI_STATE_LISTING))
        sim_fail(world, "informer %u is %s, but the response to its request is %s", informer, state,
                 observed->is_watching   ? "a watch"
                 : observed->is_accepted ? "a list"
                                         : "nothing yet");
    bool is_listing = observed->is_accepted && observed->exchange->is_streaming_list;
    if (!observed->is_watching && is_listing && health->state != KI_STATE_LISTING)
        sim_fail(world, "informer %u is %s during a streaming list", informer, state);
    if (!observed->is_accepted && !observed->exchange->is_continuation && health->state == KI_STATE_LISTING)
        sim_fail(world, "informer %u is listing without a response", informer);
    bool may_have_cause = health->state == KI_STATE_CONNECTING || /* that of the last attempt */
                          (health->state == KI_STATE_LISTING && health->cause.code == KI_ERR_TIMEOUT); /* it stalls */
    if ((health->cause.code != KI_OK && !may_have_cause) || health->retry_in_ms >= 0)
        sim_fail(world, "informer %u is %s and reports a cause or a next attempt: %s", informer, state,
                 ki_error_message(&health->cause));
}

/* Returns the age of the informer's cache in ns; SIM_NEVER if it has no list or the age is not known. Fails the run if
 * the reported staleness is below it. */
static int64_t check_least_age(sim_world *world, sim_informer *informer, unsigned index, const ki_health *health) {
    uint64_t present[SIM_KEYS];
    sim_witness *witness = &informer->witness;
    if (witness->is_uncertain)
        return SIM_NEVER;
    sim_oracle_read(world, informer, present);
    int64_t fresh_at = sim_witness_fresh_at(witness, present);
    if (fresh_at == SIM_NEVER) {
        if (health->staleness_ms >= 0)
            sim_fail(world, "informer %u has no list in its cache and reports a staleness of %lld ms", index,
                     (long long)health->staleness_ms);
        return SIM_NEVER;
    }
    int64_t age = world->now - fresh_at;
    if (health->staleness_ms >= 0 && health->staleness_ms < age / SIM_MILLISECOND)
        sim_fail(world, "informer %u reports a staleness of %lld ms, but its cache is %lld ms old", index,
                 (long long)health->staleness_ms, (long long)(age / SIM_MILLISECOND));
    return age;
}

/* Fails the run if the reported staleness is below the age of the cache, or, while the informer watches, above the age
 * by more than DELAY_MAX_S and the time that handlers took. */
static void check_age(sim_world *world, sim_informer *informer, unsigned index, const ki_health *health,
                      const observation *observed) {
    enum {
        DELAY_MAX_S = 5 /* the client counts from before it sends a list; slow handlers can delay the request */
    };
    int64_t age = check_least_age(world, informer, index, health);
    if (age == SIM_NEVER)
        return;
    int64_t reported_fresh_at_ms =
        health->staleness_ms < 0 ? SIM_NEVER : world->now / SIM_MILLISECOND - health->staleness_ms;
    if (reported_fresh_at_ms < informer->reported_fresh_at_ms ||
        reported_fresh_at_ms > informer->reported_fresh_at_ms + 1) { /* 1 ms: both are rounded */
        informer->handler_time_before = informer->handler_time;
        informer->reported_fresh_at_ms = reported_fresh_at_ms;
    }
    informer->handler_time = world->handler_time;
    int64_t delay_max = DELAY_MAX_S * SIM_SECOND + world->handler_time - informer->handler_time_before;
    int64_t since_current = world->now - informer->witness.current_at; /* events that are dropped do not count */
    age = since_current > age ? since_current : age;
    bool is_healthy =
        observed->is_watching && !observed->exchange->requester->has_unreadable && health->next != KI_ATTEMPT_STORE;
    if (is_healthy && (health->staleness_ms < 0 || health->staleness_ms > (age + delay_max) / SIM_MILLISECOND))
        sim_fail(world, "informer %u watches and reports a staleness of %lld ms, but its cache is only %lld ms old",
                 index, (long long)health->staleness_ms, (long long)(age / SIM_MILLISECOND));
}

void sim_health_check(sim_world *world) {
    for (unsigned i = 0; i < world->client.informer_count && world->client.factory; i++) {
        sim_informer *informer = &world->client.informers[i];
        ki_health health;
        if (!informer->informer->life.is_started || informer->is_removed)
            continue;
        if (informer->plan->is_set) {
            sim_namespaces_check(world, i);
            continue;
        }
        ki_informer_health(informer->informer, &health);
        observation observed = observe(world, i);
        check_state(world, i, &health, &observed);
        check_age(world, informer, i, &health, &observed);
    }
}

void sim_health_check_age(sim_world *world) {
    for (unsigned i = 0; i < world->client.informer_count && world->client.factory; i++) {
        sim_informer *informer = &world->client.informers[i];
        ki_health health;
        if (!informer->informer->life.is_started || informer->is_removed || informer->plan->is_set)
            continue;
        ki_informer_health(informer->informer, &health);
        check_least_age(world, informer, i, &health);
    }
}
