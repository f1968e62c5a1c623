/* fetches.c: see fetches.h. A result is a state of the cache, or of a request whose result is remembered at the
 * question. A timeout comes at the time limit, or before if waiting is useless. */
#include "sim/fetches.h"

#include "sim/world.h"

#include "src/object/format.h"
#include "src/object/keep.h"

#include <kinformer/fetch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOW_S = 5,             /* slow handlers and pauses delay what the client reads */
    AT_ONCE_MAX = 4,        /* questions at the same time */
    STORM_MAX = 60,         /* the same while a server is away */
    STORM_PERCENT = 2,      /* of the other times */
    IN_FLIGHT_MAX = 32,     /* requests, by default */
    BACKOFF_FIRST_MS = 800, /* the shortest wait after a failure */
    BACKOFF_LONGEST_S = 60, /* the longest one */
    ASKED_IN_HANDLERS = 100 /* one notification in so many */
};

#define FAIL(fetch, ...) sim_fail((fetch)->world, "fetch of " __VA_ARGS__)

/* --- the cache ---------------------------------------------------------------------------------------------------- */

static sim_informer *informer_of(const sim_fetch *fetch) {
    return &fetch->world->client.informers[fetch->informer];
}

/* Returns the state that the informer's cache has; 0: none. */
static uint64_t cached_state(const sim_fetch *fetch) {
    uint32_t key;
    ki_object *obj = ki_informer_get(informer_of(fetch)->informer, sim_key_text(fetch->key));
    uint64_t n = obj ? sim_truth_read(fetch->world, obj, &key) : 0;
    ki_object_unref(obj);
    return n;
}

/* Returns the version of the key's state in the cache; 0 for a namespace that the cache does not have. */
static uint64_t version_of_cache(const sim_fetch *fetch) {
    if (!sim_namespaces_have(informer_of(fetch), fetch->key))
        return 0;
    ki_snapshot *snapshot = ki_informer_snapshot(informer_of(fetch)->informer);
    uint64_t version = strtoull(ki_snapshot_resource_version(snapshot), NULL, 10);
    ki_snapshot_free(snapshot);
    return version;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

bool sim_fetches_is_get(const char *target, uint32_t *ret_key) {
    char expected[96];
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        snprintf(expected, sizeof expected, "/api/v1/namespaces/ns%u/configmaps/cm-%u", sim_key_ns(key),
                 (unsigned)(key % SIM_NAME_MAX));
        if (strcmp(target, expected) == 0) {
            *ret_key = key;
            return true;
        }
    }
    return false;
}

/* A failure is remembered: one informer alone has asked for the key, and waits before it asks again. */
static void check_waits(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    int64_t failed_at = world->fetches.keys[exchange->fetched_key].failed_at;
    if (sim_fetches_are_of_one(exchange) && failed_at && world->now - failed_at < BACKOFF_FIRST_MS * SIM_MILLISECOND)
        sim_fail(world, "a request for %s comes %lld ms after one that failed", sim_key_text(exchange->fetched_key),
                 (long long)((world->now - failed_at) / SIM_MILLISECOND));
}

/* Each informer asks for itself: a key has one open request for each informer that was asked. */
void sim_fetches_check_request(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    int informers = __builtin_popcount(world->fetches.keys[exchange->fetched_key].informers), open = 0, all = 0;
    int limit = world->plan.requests_in_flight ? world->plan.requests_in_flight : IN_FLIGHT_MAX;
    int of_all = __builtin_popcount(world->fetches.informers) * (limit - limit / 2); /* each has half */
    for (const sim_exchange *at = world->network.first; at; at = at->next) {
        all += at->call && at->is_fetch;
        open += at->call && at->is_fetch && at->fetched_key == exchange->fetched_key;
    }
    if (open > informers)
        sim_fail(world, "%d requests for %s at once, but %d informers were asked", open,
                 sim_key_text(exchange->fetched_key), informers);
    if (all > limit || all > of_all)
        sim_fail(world, "%d requests of the client are in flight, but the bound is %d, of its informers %d", all, limit,
                 of_all);
    check_waits(exchange);
}

bool sim_fetches_take_new(const sim_exchange *exchange) {
    sim_fetches *fetches = &exchange->world->fetches;
    const sim_fetch *oldest = NULL;
    for (size_t i = 0; i < fetches->count; i++) {
        sim_fetch *fetch = &fetches->fetches[i];
        if (!fetch->is_new || fetch->is_called || fetch->key != exchange->fetched_key)
            continue;
        oldest = oldest ? oldest : fetch;
        fetch->is_new = fetch->informer != oldest->informer;
    }
    return oldest != NULL;
}

bool sim_fetches_are_of_one(const sim_exchange *exchange) {
    return __builtin_popcount(exchange->world->fetches.keys[exchange->fetched_key].informers) == 1;
}

void sim_fetches_note_served(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    size_t next = world->fetches.keys[exchange->fetched_key].next_get++;
    world->fetches.keys[exchange->fetched_key].gets[next % SIM_GETS_MAX] =
        (sim_get){ exchange->number, world->now, INT64_MAX, world->truth.restores };
}

void sim_fetches_note_status(const sim_exchange *exchange) {
    sim_world *world = exchange->world;
    bool is_refused = exchange->status >= 400 && exchange->status < 500 && exchange->status != 404;
    if (is_refused && exchange->status != 429)
        world->fetches.keys[exchange->fetched_key].refused_at = world->now;
}

void sim_fetches_note_unsent(sim_world *world, uint32_t key) {
    world->fetches.failed_at = world->fetches.keys[key].failed_at = world->now;
}

/* Notes whether the request failed. Of a response that was cut, that is not known. */
static void note_outcome(const sim_exchange *exchange, bool is_cancelled) {
    sim_world *world = exchange->world;
    bool is_failure = !exchange->has_head || exchange->status == 429 || exchange->status >= 500;
    bool is_whole = exchange->end_status == KI_OK && !exchange->is_cut;
    bool is_result = exchange->has_head && !is_failure && !is_cancelled && is_whole;
    world->fetches.keys[exchange->fetched_key].failed_at = is_failure ? world->now : 0;
    if (!is_failure)
        world->fetches.keys[exchange->fetched_key].result_at = world->now;
    if (!is_result)
        world->fetches.failed_at = world->now;
}

/* Returns true if the cache had the state at the end of a request since the question. */
static bool was_cached_later(const sim_fetch *fetch, uint64_t n) {
    for (size_t i = 0; i < SIM_CACHED_MAX; i++) {
        if (n && fetch->cached_later[i] == n)
            return true;
    }
    return false;
}

/* Notes what the cache has at the end of a request: it can be the result. */
static void note_cached(sim_fetch *fetch) {
    uint64_t n = cached_state(fetch);
    if (n && !was_cached_later(fetch, n))
        fetch->cached_later[fetch->next_cached++ % SIM_CACHED_MAX] = n;
}

void sim_fetches_note_end(const sim_exchange *exchange, bool is_cancelled) {
    sim_world *world = exchange->world;
    note_outcome(exchange, is_cancelled);
    for (size_t i = 0; i < SIM_GETS_MAX; i++) {
        sim_get *get = &world->fetches.keys[exchange->fetched_key].gets[i];
        if (get->number == exchange->number)
            get->ended_at = world->now;
    }
    for (size_t i = 0; i < world->fetches.count && world->client.factory; i++) {
        sim_fetch *fetch = &world->fetches.fetches[i];
        if (!fetch->is_called && fetch->key == exchange->fetched_key)
            note_cached(fetch);
    }
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Returns the earliest end of a request whose result can be remembered at the question. */
static int64_t remembered_since(const sim_fetch *fetch, bool is_object) {
    int64_t given = fetch->world->plan.keep_fetched_ms;
    int64_t ms = given && given < KI_FETCH_REMEMBERED_MS ? given : KI_FETCH_REMEMBERED_MS;
    if (is_object && given)
        ms = given;
    else if (is_object && fetch->was_blocked)
        ms = KI_FETCH_BLOCKED_MS;
    return fetch->asked_at - ms * SIM_MILLISECOND - SLOW_S * SIM_SECOND;
}

/* Returns true if the key had the state at a time that the answer may be of: since the server responded to the first
 * request whose result the question can have. After a restore of the cluster that is not known. */
static bool may_have_had(const sim_fetch *fetch, uint64_t n) {
    const sim_world *world = fetch->world;
    const sim_truth *truth = &world->truth;
    int64_t from = fetch->asked_at;
    if (fetch->restores != truth->restores)
        return true;
    for (size_t i = 0; i < SIM_GETS_MAX; i++) {
        const sim_get *get = &world->fetches.keys[fetch->key].gets[i];
        if (!get->number || get->ended_at < remembered_since(fetch, n != 0))
            continue;
        if (get->restores != truth->restores)
            return true;
        from = get->served_at < from ? get->served_at : from;
    }
    return sim_truth_had(truth, &informer_of(fetch)->selection, fetch->key, n, from, world->now);
}

/* Returns true if the state was gone at the version that the cache had at the question. */
static bool was_seen_deleted(const sim_fetch *fetch, uint64_t n) {
    const sim_world *world = fetch->world;
    const sim_truth *truth = &world->truth;
    if (truth->restores || truth->keys[fetch->key].is_poisoned)
        return false;
    for (uint64_t later = n + 1; later < truth->write_count; later++) {
        if (truth->writes[later].key == fetch->key && truth->writes[later].revision <= fetch->version &&
            !sim_truth_is_selected(truth, &informer_of(fetch)->selection, later))
            return !sim_network_has_overtaken_event(world, fetch->informer, fetch->key);
    }
    return false;
}

/* Fails the run if the object has less or more than its informer keeps. */
static void check_kept(const sim_fetch *fetch, const ki_object *obj) {
    ki_keep keep = informer_of(fetch)->plan->keep;
    bool is_whole = ki_object_label(obj, "app") != NULL;
    if (keep != KI_KEEP_KEYS && is_whole != ki_keep_has_labels(keep))
        FAIL(fetch, "%s: the object %s its content", sim_key_text(fetch->key), is_whole ? "has" : "lacks");
}

static void check_found(const sim_fetch *fetch, const ki_object *obj) {
    uint32_t key = 0;
    uint64_t n = sim_truth_read(fetch->world, obj, &key);
    if (!n)
        return;
    if (key != fetch->key)
        FAIL(fetch, "%s found %s", sim_key_text(fetch->key), sim_key_text(key));
    check_kept(fetch, obj);
    if (!sim_truth_is_selected(&fetch->world->truth, &informer_of(fetch)->selection, n))
        FAIL(fetch, "%s found write %llu, which is not selected", sim_key_text(key), (unsigned long long)n);
    if (fetch->cached) {
        if (n != fetch->cached)
            FAIL(fetch, "%s found write %llu, but the cache had write %llu", sim_key_text(key), (unsigned long long)n,
                 (unsigned long long)fetch->cached);
        return;
    }
    if (was_cached_later(fetch, n))
        return; /* a list that is older than the question can have brought it */
    if (was_seen_deleted(fetch, n))
        FAIL(fetch, "%s found write %llu, whose deletion the cache had seen", sim_key_text(key), (unsigned long long)n);
    if (!may_have_had(fetch, n))
        FAIL(fetch, "%s found write %llu, which was not its state", sim_key_text(key), (unsigned long long)n);
}

/* Returns true if the answer of a failed attempt can be that of this question: the next attempt comes after its time
 * limit. */
static bool is_hopeless(const sim_fetch *fetch) {
    const sim_world *world = fetch->world;
    const sim_fetches *fetches = &world->fetches;
    bool has_failed =
        fetches->failed_at && world->now - fetches->failed_at <= (BACKOFF_LONGEST_S + SLOW_S) * SIM_SECOND;
    const sim_requester *requester = &world->network.requesters[sim_fetch_requester_number(fetch->key)];
    return has_failed || requester->not_before > world->now || world->memory.refused || fetch->is_outwaited;
}

static void check_error(const sim_fetch *fetch, const ki_error *err) {
    sim_world *world = fetch->world;
    const char *name = sim_key_text(fetch->key);
    bool is_removed = informer_of(fetch)->is_removed;
    if (fetch->cached)
        FAIL(fetch, "%s failed, but the cache had it: %s", name, ki_error_message(err));
    switch (err->code) {
    case KI_ERR_NOT_FOUND:
        if (!may_have_had(fetch, 0))
            FAIL(fetch, "%s found no object, but there was one all the time", name);
        break;
    case KI_ERR_TIMEOUT:
        if (fetch->deadline == INT64_MAX || (world->now < fetch->deadline && !is_hopeless(fetch)))
            FAIL(fetch, "%s times out %s", name, fetch->deadline == INT64_MAX ? "without a limit" : "too early");
        break;
    case KI_ERR_CANCELLED:
        if (!fetch->is_cancelled && !world->fetches.is_stopping && !is_removed)
            FAIL(fetch, "%s is cancelled, but nobody did so", name);
        break;
    case KI_ERR_HTTP:
    case KI_ERR_EXPIRED:
        if (world->fetches.keys[fetch->key].refused_at <= remembered_since(fetch, false))
            FAIL(fetch, "%s failed, but no response refused it: %s", name, ki_error_message(err));
        break;
    default:
        if (err->code != KI_ERR_PARSE ||
            !(sim_plan_has(&world->plan, SIM_RESPONSE_GARBAGE) || sim_plan_has(&world->plan, SIM_CLOSE)))
            FAIL(fetch, "%s: %s", name, ki_error_message(err));
        break;
    }
}

static void ask_some(sim_world *world);

/* Calls the library as a program can do there. */
static void call_back(const sim_fetch *fetch) {
    sim_world *world = fetch->world;
    sim_random *random = &world->fetches.random;
    ki_object *obj = NULL;
    if (sim_chance(random, 10) && !world->fetches.is_stopping) {
        bool is_cached = cached_state(fetch) != 0;
        ki_status status =
            ki_informer_get_or_fetch(informer_of(fetch)->informer, sim_key_text(fetch->key), 0, &obj, NULL);
        ki_object_unref(obj);
        ki_status expected = informer_of(fetch)->is_removed ? KI_ERR_CANCELLED : is_cached ? KI_OK : KI_ERR_DEADLOCK;
        if (status != expected)
            FAIL(fetch, "%s: waiting inside its handler returned %s", sim_key_text(fetch->key), ki_status_name(status));
    }
    if (sim_chance(random, 10) && !world->fetches.is_stopping)
        ask_some(world);
}

static void on_answer(ki_informer *informer, const char *key, const ki_object *obj, const ki_error *err, void *user) {
    sim_fetch *fetch = user;
    sim_world *world = fetch->world;
    SIM_TRACE(world, "informer %u: fetch of %s ends: %s", fetch->informer, key,
              err ? ki_error_message(err) : ki_object_resource_version(obj));
    sim_digest_add(world, fetch->key * 131 + (uint64_t)(err ? err->code : KI_OK));
    if (fetch->is_called)
        FAIL(fetch, "%s is answered twice", key);
    fetch->is_called = true;
    fetch->called_at = fetch->world->now;
    if (informer != informer_of(fetch)->informer || strcmp(key, sim_key_text(fetch->key)) != 0)
        FAIL(fetch, "%s: the answer is for another question", sim_key_text(fetch->key));
    if (!obj == !err)
        FAIL(fetch, "%s: an object and an error, or neither", key);
    else if (fetch->is_cancelled && (obj || err->code != KI_ERR_CANCELLED))
        FAIL(fetch, "%s was cancelled and has another answer", key);
    else if (obj)
        check_found(fetch, obj);
    else
        check_error(fetch, err);
    if (!world->failed)
        call_back(fetch);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

/* Returns what the function that asks must return if it has memory. */
static ki_status expected_status(const sim_fetch *fetch) {
    const sim_informer *informer = informer_of(fetch);
    if (informer->is_removed)
        return KI_ERR_CANCELLED;
    return informer->selection.ns >= 0 && (unsigned)informer->selection.ns != sim_key_ns(fetch->key) ? KI_ERR_INVALID
                                                                                                     : KI_OK;
}

/* As the library sees it: the next attempt of a blocked informer is under way, too. */
static bool is_blocked(const ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    return health.state == KI_STATE_BLOCKED || (health.state == KI_STATE_CONNECTING && health.cause.code);
}

/* Returns true if the library has waited for a response about the key for as long as this question may: since an
 * earlier question, or since a result that did not answer that one. Must be called at the question. */
static bool is_outwaited(const sim_fetch *fetch) {
    const sim_fetches *fetches = &fetch->world->fetches;
    int64_t limit = fetch->deadline - fetch->asked_at, result_at = fetches->keys[fetch->key].result_at;
    bool is_of_one = __builtin_popcount(fetches->keys[fetch->key].informers) == 1; /* and so is the result */
    for (const sim_fetch *other = fetches->fetches; other < fetch; other++) {
        if (other->key != fetch->key || other->informer != fetch->informer)
            continue;
        bool has_result = is_of_one && result_at > other->asked_at;
        bool is_answered = has_result && other->is_called && other->called_at >= result_at;
        if (!is_answered && fetch->asked_at - (has_result ? result_at : other->asked_at) >= limit)
            return true;
    }
    return false;
}

static void ask(sim_world *world, unsigned informer, uint32_t key) {
    sim_fetches *fetches = &world->fetches;
    if (fetches->count == SIM_FETCHES_MAX)
        return;
    int64_t timeout_ms = sim_chance(&fetches->random, 30) ? -1 : sim_between(&fetches->random, 0, 40000);
    sim_fetch *fetch = &fetches->fetches[fetches->count];
    *fetch = (sim_fetch){ .world = world,
                          .informer = informer,
                          .key = key,
                          .restores = world->truth.restores,
                          .asked_at = world->now,
                          .is_new = true,
                          .deadline = timeout_ms < 0 ? INT64_MAX : world->now + timeout_ms * SIM_MILLISECOND };
    fetch->cached = cached_state(fetch);
    fetch->version = version_of_cache(fetch);
    fetch->was_blocked = is_blocked(informer_of(fetch)->informer);
    fetch->is_outwaited = is_outwaited(fetch);
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_informer_get_or_fetch_async(informer_of(fetch)->informer, sim_key_text(key), timeout_ms,
                                                      on_answer, fetch, &err);
    SIM_TRACE(world, "informer %u: fetch of %s within %lld ms: %s", informer, sim_key_text(key), (long long)timeout_ms,
              ki_status_name(status));
    if (status != expected_status(fetch) && status != KI_ERR_NO_MEMORY)
        FAIL(fetch, "%s: asking returned %s: %s", sim_key_text(key), ki_status_name(status), ki_error_message(&err));
    if (status)
        return;
    fetches->count++;
    fetches->keys[key].informers |= 1u << informer;
    fetches->informers |= 1u << informer;
}

/* Returns a key. Often it is one that was just written, and sometimes one that never exists. */
static uint32_t draw_key(sim_world *world) {
    sim_random *random = &world->fetches.random;
    const sim_truth *truth = &world->truth;
    if (sim_chance(random, 40) && truth->log_count)
        return truth->writes[truth->log[truth->log_count - 1]].key;
    uint32_t name = (uint32_t)sim_below(random, world->plan.name_count + 1);
    return (uint32_t)sim_below(random, SIM_NAMESPACES) * SIM_NAME_MAX + (name < SIM_NAME_MAX ? name : 0);
}

static void ask_for(sim_world *world, uint64_t count) {
    sim_random *random = &world->fetches.random;
    if (!world->client.factory || !world->client.informer_count)
        return;
    uint32_t key = draw_key(world);
    for (; count > 0; count--) {
        unsigned informer = (unsigned)sim_below(random, world->client.informer_count);
        ask(world, informer, key);
        if (sim_chance(random, 50))
            key = draw_key(world);
    }
}

static void ask_some(sim_world *world) {
    uint64_t most = sim_chance(&world->fetches.random, STORM_PERCENT) ? STORM_MAX : AT_ONCE_MAX;
    ask_for(world, 1 + sim_below(&world->fetches.random, most));
}

static void ask_for_many(void *user, uint64_t argument) {
    sim_world *world = user;
    (void)argument;
    if (!world->is_fault_free)
        ask_for(world, 1 + sim_below(&world->fetches.random, STORM_MAX));
}

void sim_fetches_storm(sim_world *world) {
    for (int i = 0; i < AT_ONCE_MAX && world->plan.fetch_every; i++)
        sim_after_client(world, sim_between(&world->fetches.random, 0, SLOW_S * SIM_SECOND), ask_for_many, world, 0);
}

static void cancel_one(sim_world *world) {
    sim_fetches *fetches = &world->fetches;
    if (!fetches->count || !world->client.factory)
        return;
    sim_fetch *fetch = &fetches->fetches[sim_below(&fetches->random, fetches->count)];
    ki_status status = ki_informer_cancel_fetches(informer_of(fetch)->informer, on_answer, fetch, NULL);
    SIM_TRACE(world, "informer %u: cancels the fetch of %s: %s", fetch->informer, sim_key_text(fetch->key),
              ki_status_name(status));
    if (status ? status != KI_ERR_NOT_FOUND : fetch->is_called || fetch->is_cancelled)
        FAIL(fetch, "%s: cancelling it returned %s", sim_key_text(fetch->key), ki_status_name(status));
    fetch->is_cancelled = fetch->is_cancelled || !status;
}

static void ask_and_repeat(void *user, uint64_t argument) {
    sim_world *world = user;
    sim_random *random = &world->fetches.random;
    (void)argument;
    if (world->is_fault_free)
        return;
    if (sim_chance(random, 90))
        ask_some(world);
    else
        cancel_one(world);
    sim_after_client(world, sim_between(random, 0, 2 * world->plan.fetch_every), ask_and_repeat, world, 0);
}

void sim_fetches_start(sim_world *world) {
    world->fetches.random = sim_random_from(world->plan.seed, 52);
    if (world->plan.fetch_every)
        sim_after_client(world, 0, ask_and_repeat, world, 0);
}

void sim_fetches_in_handler(sim_world *world) {
    if (world->plan.fetch_every && !world->is_fault_free && sim_below(&world->fetches.random, ASKED_IN_HANDLERS) == 0)
        ask_some(world);
}

void sim_fetches_check(sim_world *world) {
    for (size_t i = 0; i < world->fetches.count && world->client.factory; i++) {
        const sim_fetch *fetch = &world->fetches.fetches[i];
        if (fetch->is_called)
            continue;
        if (informer_of(fetch)->is_removed || fetch->is_cancelled || fetch->cached)
            FAIL(fetch, "%s has no answer, but %s", sim_key_text(fetch->key),
                 fetch->cached         ? "the cache had it"
                 : fetch->is_cancelled ? "it was cancelled"
                                       : "its informer was removed");
        if (world->now > fetch->deadline && !world->memory.refused)
            FAIL(fetch, "%s does not time out", sim_key_text(fetch->key));
    }
}

bool sim_fetches_are_answered(const sim_world *world) {
    for (size_t i = 0; i < world->fetches.count; i++) {
        if (!world->fetches.fetches[i].is_called)
            return false;
    }
    return true;
}

void sim_fetches_client_stops(sim_world *world) {
    world->fetches.is_stopping = true;
}

void sim_fetches_client_stopped(sim_world *world) {
    if (!sim_fetches_are_answered(world))
        sim_fail(world, "a fetch had no answer when the informers stopped");
    world->fetches = (sim_fetches){ .random = world->fetches.random };
}
