/* registration.c: what a program does with an informer: adds and removes handlers, sets what must be set before the start, asks how it is
 * and waits for it. */
#include "src/base/error.h"
#include "src/cache/callback.h"
#include "src/cache/index_build.h"
#include "src/cache/informer_parts.h"
#include "src/cache/listener.h"

#include <stdio.h>

enum {
    KI_API_VERSION_MAX = 320 /* a DNS name, a slash, a DNS label, and the zero */
};

#define MINIMUM_RESYNC_MS INT64_C(1000)
#define MAXIMUM_RESYNC_MS (INT64_C(366) * 24 * 3600 * 1000)

/* --- before the start --------------------------------------------------------------------------------------------------------- */

/* Leaves the change lock held where it may be set. */
static ki_status begin_setting(ki_informer *informer, const char *what, ki_error *err) {
    ki_fair_mutex_lock(&informer->change_lock);
    if (!informer->is_frozen)
        return KI_OK;
    ki_fair_mutex_unlock(&informer->change_lock);
    return ki_error_set(err, KI_ERR_STATE, "%s of %s: only before the start", what, informer->resource.plural);
}

ki_status ki_informer_set_transform(ki_informer *informer, ki_transform transform, void *user, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_transform");
    ki_status status = begin_setting(informer, "the transform", err);
    if (status)
        return status;
    informer->transform = transform;
    informer->transform_user = user;
    ki_fair_mutex_unlock(&informer->change_lock);
    return KI_OK;
}

ki_status ki_informer_set_watch_error_handler(ki_informer *informer, ki_watch_error_handler handler, void *user,
                                              ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_watch_error_handler");
    ki_status status = begin_setting(informer, "the watch error handler", err);
    if (status)
        return status;
    informer->error_handler = handler;
    informer->error_user = user;
    ki_fair_mutex_unlock(&informer->change_lock);
    return KI_OK;
}

ki_status ki_informer_set_state_handler(ki_informer *informer, ki_state_handler handler, void *user, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_state_handler");
    ki_status status = begin_setting(informer, "the state handler", err);
    if (status)
        return status;
    informer->state_handler = handler;
    informer->state_user = user;
    ki_fair_mutex_unlock(&informer->change_lock);
    return KI_OK;
}

static ki_status check_runs(const ki_informer *informer, ki_error *err) {
    return informer->is_stopped
               ? ki_error_set(err, KI_ERR_STATE, "the informer of %s is stopped", informer->resource.plural)
               : KI_OK;
}

/* Most of the work is done under no lock, so that neither the loop nor another thread waits for it. */
static ki_status build_indexes(ki_informer *informer, ki_index_build *build, ki_error *err) {
    ki_status status = KI_OK;
    bool is_done = false;
    while (!status && !is_done) {
        status = ki_index_build_follow(build, err);
        if (status)
            break;
        ki_fair_mutex_lock(&informer->change_lock);
        status = check_runs(informer, err);
        if (!status)
            status = ki_index_build_publish(build, KI_INFORMER_AT_ONCE, &is_done, err);
        ki_fair_mutex_unlock(&informer->change_lock);
    }
    return status;
}

ki_status ki_informer_add_indexers(ki_informer *informer, const ki_indexer *indexers, size_t count, ki_error *err) {
    if (!informer || !indexers)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_add_indexers: no informer, or no indexers");
    ki_index_build build;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = check_runs(informer, err);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (!status)
        status = ki_index_build_begin(&build, informer->store, indexers, count, err);
    if (status)
        return status;
    status = build_indexes(informer, &build, err);
    ki_index_build_end(&build);
    return status;
}

/* --- handlers ------------------------------------------------------------------------------------------------------------------- */

static int64_t resync_period(const ki_informer *informer, int64_t asked_ms) {
    if (asked_ms == 0)
        return informer->resync_ns;
    if (asked_ms < 0)
        return 0;
    if (asked_ms < MINIMUM_RESYNC_MS)
        asked_ms = MINIMUM_RESYNC_MS;
    return KI_MILLISECONDS(asked_ms < MAXIMUM_RESYNC_MS ? asked_ms : MAXIMUM_RESYNC_MS);
}

/* Gives the listener its id and makes it known by that. */
static ki_registration enlist(ki_informer *informer, ki_listener *listener) {
    ki_mutex_lock(&informer->registry_lock);
    listener->id = ++informer->last_id;
    listener->next_registered = informer->registered;
    informer->registered = listener;
    ki_mutex_unlock(&informer->registry_lock);
    return (ki_registration){ .informer = informer, .id = listener->id };
}

/* Caller holds the registry lock. The place has NULL where there is no such handler, or no longer. */
static ki_listener **find_listed(ki_registration registration) {
    ki_listener **at = &registration.informer->registered;
    while (*at && (*at)->id != registration.id)
        at = &(*at)->next_registered;
    return at;
}

/* Returns the listener, which is no longer known by its id; NULL where it was not. */
static ki_listener *delist(ki_registration registration) {
    ki_informer *informer = registration.informer;
    ki_mutex_lock(&informer->registry_lock);
    ki_listener **at = find_listed(registration);
    ki_listener *listener = *at;
    if (listener)
        *at = listener->next_registered;
    ki_mutex_unlock(&informer->registry_lock);
    return listener;
}

/* On the loop: a listener that was removed has ended. */
static void on_listener_end(ki_listener *listener, void *user) {
    ki_informer *informer = user;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_processor_forget(&informer->processor, listener);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_listener_free(listener);
    ki_informer_delivered(informer);
}

/* From a moment between two changes: what is there is replayed, what comes after is told. The change lock is held. */
static ki_status join_in(ki_informer *informer, ki_listener *listener, int64_t resync_ns, ki_error *err) {
    ki_processor *processor = &informer->processor;
    ki_status status = check_runs(informer, err);
    if (status)
        return status;
    if (processor->started) {
        ki_listener_set_replay(listener, ki_store_snapshot(informer->store), atomic_load(&informer->synced));
        status = ki_listener_start(listener, processor->threaded, err);
        if (status)
            return status;
    }
    ki_processor_add(processor, listener, resync_ns, ki_engine_now(informer->engine));
    return KI_OK;
}

static ki_status check_handler(const ki_handler *handler, const ki_registration_options *options, ki_error *err) {
    if (!handler)
        return ki_error_set(err, KI_ERR_INVALID, "a registration without a handler");
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID,
                            "ki_registration_options without a size: use KI_REGISTRATION_OPTIONS()");
    if (options && options->delivery != KI_DELIVER_ALL && options->delivery != KI_DELIVER_LATEST)
        return ki_error_set(err, KI_ERR_INVALID, "no such delivery: %d", (int)options->delivery);
    return KI_OK;
}

ki_status ki_informer_register(ki_informer *informer, const ki_handler *handler, void *user,
                               const ki_registration_options *options, ki_registration *ret_registration,
                               ki_error *err) {
    ki_status status = check_handler(handler, options, err);
    if (status)
        return status;
    ki_registration_options given = { .size = sizeof given };
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    ki_listener_options listener_options = {
        .engine = informer->engine,
        .informer = informer,
        .owner = informer->owner,
        .handler = handler,
        .user = user,
        .registration = &given,
        .seed = informer->seed,
        .on_end = on_listener_end,
        .end_user = informer,
    };
    ki_listener *listener = NULL;
    status = ki_listener_new(&listener_options, &listener, err);
    if (status)
        return status;
    /* Its first call may come before this function returns, and may want to remove it. */
    const ki_registration before = ret_registration ? *ret_registration : (ki_registration){ NULL, 0 };
    const ki_registration registration = enlist(informer, listener);
    if (ret_registration)
        *ret_registration = registration;
    ki_fair_mutex_lock(&informer->change_lock);
    status = join_in(informer, listener, resync_period(informer, given.resync_ms), err);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (!status)
        return KI_OK;
    if (ret_registration)
        *ret_registration = before;
    (void)delist(registration);
    ki_listener_discard(listener);
    return status;
}

ki_status ki_informer_add_handler(ki_informer *informer, const ki_handler *handler, void *user, ki_error *err) {
    return ki_informer_register(informer, handler, user, NULL, NULL, err);
}

ki_status ki_informer_remove_handler(ki_informer *informer, ki_registration registration, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_remove_handler");
    bool is_own = registration.informer == informer;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_listener *listener = is_own ? delist(registration) : NULL;
    if (listener)
        (void)ki_processor_remove(&informer->processor, listener);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (!listener)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "no such handler of the informer of %s", informer->resource.plural);
    ki_listener_remove(listener);
    return KI_OK;
}

bool ki_registration_has_synced(ki_registration registration) {
    if (!registration.informer)
        return false;
    ki_mutex_lock(&registration.informer->registry_lock);
    const ki_listener *listener = *find_listed(registration);
    bool has_synced = listener && atomic_load(&listener->synced);
    ki_mutex_unlock(&registration.informer->registry_lock);
    return has_synced;
}

size_t ki_registration_pending(ki_registration registration) {
    if (!registration.informer)
        return 0;
    ki_mutex_lock(&registration.informer->registry_lock);
    const ki_listener *listener = *find_listed(registration);
    size_t pending = listener ? ki_listener_pending(listener) : 0;
    ki_mutex_unlock(&registration.informer->registry_lock);
    return pending;
}

/* --- how it is ------------------------------------------------------------------------------------------------------------------- */

void ki_informer_health_sized(const ki_informer *informer, ki_health *ret_health, size_t size) {
    ki_health_record *record;
    const ki_health_record *constant = &informer->health;
    const ki_metrics_record *metrics = &informer->metrics;
    int64_t now = ki_engine_now(informer->engine);
    ki_health health;
    memset(&health, 0, sizeof health);
    memcpy(&record, &constant, sizeof record); /* reading takes its lock */
    ki_attempt failed = ki_health_read(record, now, &health);
    health.objects = ki_store_count(informer->store);
    int64_t staleness = ki_metrics_staleness(metrics, now);
    health.staleness_ms = staleness < 0 ? -1 : staleness / KI_MILLISECONDS(1);
    health.failures = atomic_load_explicit(&metrics->failures_in_row, memory_order_relaxed);
    ki_unreadable *unreadable;
    const ki_unreadable *constant_unreadable = &informer->unreadable;
    memcpy(&unreadable, &constant_unreadable, sizeof unreadable); /* as above */
    health.unreadable = ki_unreadable_describe(unreadable, health.unreadable_words, sizeof health.unreadable_words);
    ki_health_describe(&health, failed, &informer->resource, informer->namespace_name);
    memcpy(ret_health, &health, size < sizeof health ? size : sizeof health);
}

const char *ki_informer_why(const ki_informer *informer, char why[KI_INFORMER_WHY_MAX]) {
    ki_health health;
    ki_informer_health(informer, &health);
    snprintf(why, KI_INFORMER_WHY_MAX, "%s%s%s", ki_state_name(health.state), health.words[0] ? ": " : "",
             health.words);
    return why;
}

bool ki_informer_has_synced(const ki_informer *informer) {
    return atomic_load(&informer->synced);
}

ki_status ki_informer_object_from_json(const ki_informer *informer, const char *json, size_t size, ki_object **ret_obj,
                                       ki_error *err) {
    if (!json || !ret_obj)
        return ki_error_set(err, KI_ERR_INVALID, "no JSON, or no place for its object");
    if (!informer->format)
        return ki_error_set(err, KI_ERR_INVALID, "the informer's objects are not made from JSON");
    const ki_resource *resource = &informer->resource;
    char api_version[KI_API_VERSION_MAX];
    int length = snprintf(api_version, sizeof api_version, "%s%s%s", resource->group, resource->group[0] ? "/" : "",
                          resource->version);
    if (length < 0 || (size_t)length >= sizeof api_version)
        return ki_error_set(err, KI_ERR_LIMIT, "the resource's group and version are longer than %d bytes",
                            KI_API_VERSION_MAX - 1);
    return ki_object_from_json(informer->format, (ki_str){ json, size }, api_version, resource->kind, ret_obj, err);
}

const ki_resource *ki_informer_resource(const ki_informer *informer) {
    return &informer->resource;
}

ki_store *ki_informer_store(const ki_informer *informer) {
    return informer->store;
}

ki_snapshot *ki_informer_snapshot(const ki_informer *informer) {
    return informer ? ki_store_snapshot(informer->store) : NULL;
}

ki_object *ki_informer_get(const ki_informer *informer, const char *key) {
    return informer && key ? ki_store_get(informer->store, key) : NULL;
}

int64_t ki_deadline_of_timeout(int64_t timeout_ms) {
    int64_t now = ki_monotonic_now();
    if (timeout_ms < 0 || timeout_ms > (INT64_MAX - now) / KI_MILLISECONDS(1))
        return INT64_MAX;
    return now + KI_MILLISECONDS(timeout_ms);
}

ki_status ki_informer_wait_until_synced(ki_informer *informer, int64_t deadline_ns, ki_error *err) {
    const char *name = informer->name;
    if (ki_callback_is_inside(informer->owner) || ki_engine_on_loop(informer->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for %s on a thread that it needs", name);
    ki_mutex_lock(&informer->wait_lock);
    bool in_time = true;
    while (!atomic_load(&informer->synced) && !ki_informer_is_over(informer) && in_time)
        in_time = ki_engine_wait(informer->engine, &informer->changed, &informer->wait_lock, deadline_ns);
    bool synced = atomic_load(&informer->synced);
    bool over = ki_informer_is_over(informer);
    ki_mutex_unlock(&informer->wait_lock);
    if (synced)
        return KI_OK;
    if (over)
        return ki_error_set(err, KI_ERR_CANCELLED, "the informer of %s is stopped", name);
    char why[KI_INFORMER_WHY_MAX];
    return ki_error_set(err, KI_ERR_TIMEOUT, "not synced in time: %s (%s)", name, ki_informer_why(informer, why));
}

ki_status ki_informer_wait_for_sync(ki_informer *informer, int64_t timeout_ms, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_wait_for_sync");
    return ki_informer_wait_until_synced(informer, ki_deadline_of_timeout(timeout_ms), err);
}
