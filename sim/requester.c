/* requester.c: the oracles of when a client sends which request. network.c calls them for each request, each event and
 * each end. */
#include "sim/removal.h"
#include "sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IDLE_S = 90,                    /* the longest silence of a watch that a client accepts */
    SLOW_S = 5,                     /* the longest delay by a slow handler */
    STREAMING_LIST_S = 300 + SLOW_S /* the longest streaming list without an end */
};

/* Returns "informer N" or "a request beside informer N". Valid until the next call. */
static const char *requester_name(const sim_exchange *exchange) {
    static char text[48];
    if (exchange->is_fetch)
        snprintf(text, sizeof text, "a fetch of %s", sim_key_text(exchange->fetched_key));
    else
        snprintf(text, sizeof text, "%sinformer %u", exchange->is_beside ? "a request beside " : "",
                 exchange->informer);
    return text;
}

/* Returns true for a watch that is no streaming list. */
static bool is_plain_watch(const sim_exchange *exchange) {
    return exchange->is_watch && !exchange->is_streaming_list;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Fails the run if requests follow each other without a pause, whatever the responses are. The first request after a
 * question of the program does not count: the program can ask as often as it likes. */
static void check_rate(sim_exchange *exchange) {
    enum {
        AT_ONCE_MAX = 10, /* a client can try each of its few kinds of requests once before it backs off */
        AT_ONCE_MS = 400,
        WINDOW_S = 60
    };
    sim_world *world = exchange->world;
    sim_requester *requester = exchange->requester;
    if (exchange->is_fetch && sim_fetches_take_new(exchange))
        return;
    uint64_t index = requester->request_count++;
    requester->sent_at[index % SIM_RATE_WINDOW] = world->now;
    if (index >= AT_ONCE_MAX &&
        world->now - requester->sent_at[(index - AT_ONCE_MAX) % SIM_RATE_WINDOW] < AT_ONCE_MS * SIM_MILLISECOND)
        sim_fail(world, "%s sent %d requests within %d ms", requester_name(exchange), AT_ONCE_MAX + 1, AT_ONCE_MS);
    if (index >= SIM_RATE_WINDOW - 1 &&
        world->now - requester->sent_at[(index + 1) % SIM_RATE_WINDOW] < WINDOW_S * SIM_SECOND)
        sim_fail(world, "%s sent %d requests within %d s", requester_name(exchange), SIM_RATE_WINDOW, WINDOW_S);
}

/* Fails the run if a request comes before the Retry-After of the last error response. A request beside the
 * informer's also obeys the informer's. */
static void check_retry_after(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    bool is_of_informer = exchange->is_beside && !exchange->is_fetch;
    int number = is_of_informer ? sim_requester_number(exchange->informer, SIM_REFLECTOR) : 0;
    const sim_requester *informer = is_of_informer ? &world->network.requesters[number] : exchange->requester;
    if (exchange->is_fetch && !sim_fetches_are_of_one(exchange))
        return; /* each informer has its own Retry-After */
    if (is_of_informer && world->client.informers[exchange->informer].plan->is_set)
        return; /* so has each namespace of a set */
    int64_t not_before =
        exchange->requester->not_before > informer->not_before ? exchange->requester->not_before : informer->not_before;
    if (world->now < not_before)
        sim_fail(world, "%s sent a request %lld ms before the end of Retry-After", requester_name(exchange),
                 (long long)((not_before - world->now) / SIM_MILLISECOND));
}

/* Fails the run if a list follows a watch that was only silent: the resource version is still valid. */
static void check_resume(sim_exchange *exchange) {
    sim_requester *requester = exchange->requester;
    bool is_list = !is_plain_watch(exchange) && !exchange->is_version_check;
    if (requester->must_resume && is_list)
        sim_fail(exchange->world, "%s sent a list after a watch that was only silent", requester_name(exchange));
    requester->must_resume = false;
}

/* Fails the run if the client does not notice a restored server: after two accepted watches without an event it must
 * send a version check or a list. Also fails the run for an earlier version check. */
static void check_version_check(sim_exchange *exchange) {
    sim_requester *requester = exchange->requester;
    sim_world *world = exchange->world;
    if (is_plain_watch(exchange)) {
        if (requester->must_check)
            sim_fail(world, "%s sent a third watch after two without an event, and no version check",
                     requester_name(exchange));
        return;
    }
    requester->must_check = false;
    if (exchange->is_version_check && (requester->eventless_watches_max < 2 ||
                                       world->now - requester->version_known_at_min < (IDLE_S - SLOW_S) * SIM_SECOND))
        sim_fail(world, "%s sent a version check too early: after %u watches without an event",
                 requester_name(exchange), requester->eventless_watches_max);
}

void sim_requester_check(sim_exchange *exchange) {
    if (exchange->is_fetch)
        sim_fetches_check_request(exchange);
    else
        sim_removal_check_request(exchange->world, exchange->informer);
    if (!exchange->is_continuation)
        check_rate(exchange);
    check_retry_after(exchange);
    check_resume(exchange);
    check_version_check(exchange);
}

/* --- responses ---------------------------------------------------------------------------------------------------- */

void sim_requester_note_event(sim_exchange *exchange, bool is_new) {
    exchange->arrivals.current_events++;
    exchange->requester->must_check = false; /* the client may have cancelled the watch while it read this event */
    exchange->requester->eventless_watches = 0;
    exchange->requester->version_known_at = exchange->world->now;
    if (is_new && !exchange->arrivals.has_unreadable) {
        exchange->arrivals.current_events_min++;
        exchange->requester->eventless_watches_max = 0;
        exchange->requester->version_known_at_min = exchange->world->now;
    }
}

/* Fails the run if the client does not cancel a streaming list whose end never comes. */
static void check_streaming_list(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    if (exchange->in_initial_events && world->now - exchange->sent_at > STREAMING_LIST_S * SIM_SECOND)
        sim_fail(world, "a streaming list without an end lasted for %lld s",
                 (long long)((world->now - exchange->sent_at) / SIM_SECOND));
}

/* Counts a watch that the server closed within a second, without an event. */
static void note_short_watch(const sim_exchange *exchange) {
    const sim_world *world = exchange->world;
    const sim_source *source = &world->client.informers[exchange->informer].source;
    const sim_arrivals *arrivals = &exchange->arrivals;
    if (is_plain_watch(exchange) && exchange->has_head && exchange->status == 200 && !arrivals->events &&
        !arrivals->has_error_event && world->now - source->watch_began_at < SIM_SECOND)
        exchange->requester->short_watches++;
}

/* The server showed that it knows the version, or that it does not: by a list, a version check or an ERROR event. */
static void note_version_known(sim_requester *requester, int64_t now) {
    requester->eventless_watches = requester->eventless_watches_max = 0;
    requester->version_known_at = requester->version_known_at_min = now;
}

/* Updates what must precede the next watch. A streaming list did so at the end of its initial events. */
static void note_version(const sim_exchange *exchange) {
    sim_requester *requester = exchange->requester;
    int64_t eventless = exchange->world->now - requester->version_known_at;
    bool is_accepted = exchange->has_head && exchange->status == 200;
    if (exchange->has_sent_error) {
        note_version_known(requester, exchange->world->now);
        requester->must_check = false;
    } else if (is_plain_watch(exchange)) {
        requester->eventless_watches += is_accepted && !exchange->arrivals.current_events;
        requester->eventless_watches_max += is_accepted && !exchange->arrivals.current_events_min;
        requester->must_check = requester->eventless_watches >= 2 && eventless > (IDLE_S + SLOW_S) * SIM_SECOND;
    } else if (is_accepted && exchange->arrivals.is_complete) {
        note_version_known(requester, exchange->world->now);
    }
}

/* Returns true if the client may list after a silent watch: memory was short, a consistency check found a difference,
 * or the watch had no version. */
static bool may_list(const sim_world *world) {
    return world->plan.no_list_versions || world->plan.consistency_check_ms > 0 ||
           sim_plan_has(&world->plan, SIM_NO_MEMORY);
}

/* Fails the run if the client noticed the silence of its connection too late. */
static void check_silence(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    if (!exchange->is_silent)
        return;
    /* What arrived before the silence is read later if handlers are slow. */
    int64_t delay_max = SLOW_S * SIM_SECOND + world->handler_time - exchange->handler_time_before;
    if (world->now - exchange->silent_since > IDLE_S * SIM_SECOND + delay_max)
        sim_fail(world, "the client cancelled a request after %lld s of silence",
                 (long long)((world->now - exchange->silent_since) / SIM_SECOND));
    if (is_plain_watch(exchange) && exchange->has_head)
        exchange->requester->must_resume = exchange->status == 200 && !may_list(world) && !exchange->has_older_events;
}

void sim_requester_note_end(sim_exchange *exchange, bool is_cancelled) {
    if (exchange->is_fetch) {
        sim_fetches_note_end(exchange, is_cancelled);
        return;
    }
    exchange->world->network.has_ended = true;
    check_streaming_list(exchange);
    if (!is_cancelled)
        note_short_watch(exchange);
    note_version(exchange);
    if (is_cancelled)
        check_silence(exchange);
}

void sim_requesters_reset(sim_world *world) {
    for (size_t i = 0; i < SIM_REQUESTERS_MAX; i++) {
        free(world->network.requesters[i].saved_page);
        world->network.requesters[i] = (sim_requester){ 0 };
    }
}
