/* registration.c: adds and removes handlers of an informer, and reports their progress. */
#include "src/base/error.h"
#include "src/base/options.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "src/object/keep.h"

/* Returns a handler's resync period in nanoseconds. `requested_ms` 0 selects the informer's period, below 0 none. */
static int64_t resync_period(const ki_informer *informer, int64_t requested_ms) {
    return ki_period_ns(requested_ms ? requested_ms : informer->options.given.resync_ms, KI_RESYNC_MIN_MS);
}

/* Gives the listener, which is in the processor, its id and adds it to the registry: other threads now find it. */
static ki_registration enlist(ki_informer *informer, ki_listener *listener) {
    ki_mutex_lock(&informer->registry.lock);
    listener->id = ++informer->registry.last_id;
    listener->next_registered = informer->registry.first;
    informer->registry.first = listener;
    ki_mutex_unlock(&informer->registry.lock);
    return (ki_registration){ .informer = informer, .id = listener->id };
}

/* Returns the place of the listener in the registry. The place holds NULL if the handler does not exist or was
 * removed. */
static ki_listener **find_listed(ki_registration registration) {
    KI_HELD(&registration.informer->registry.lock);
    ki_listener **at = &registration.informer->registry.first;
    while (*at && (*at)->id != registration.id)
        at = &(*at)->next_registered;
    return at;
}

/* Removes the listener from the registry and returns it; NULL if it is missing. */
static ki_listener *delist(ki_registration registration) {
    ki_informer *informer = registration.informer;
    ki_mutex_lock(&informer->registry.lock);
    ki_listener **at = find_listed(registration);
    ki_listener *listener = *at;
    if (listener)
        *at = listener->next_registered;
    ki_mutex_unlock(&informer->registry.lock);
    return listener;
}

/* Frees a removed listener that has ended. Loop. */
static void on_listener_end(ki_listener *listener, ki_informer *informer) {
    ki_fair_mutex_lock(&informer->change_lock);
    ki_processor_forget(&informer->processor, listener);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_listener_free(listener);
    ki_informer_delivered(informer);
}

static const ki_listener_hooks listener_hooks = { .on_end = on_listener_end,
                                                  .on_delivered = ki_informer_delivered,
                                                  .on_synced = ki_informer_wake_waits };

/* Adds the listener between two changes: it replays the present snapshot, and is notified of every later change. Sets
 * `*registration` before it starts: the first callback can remove the handler. */
static ki_status join_in(ki_informer *informer, ki_listener *listener, int64_t resync_ns, ki_registration *registration,
                         ki_error *err) {
    KI_HELD(&informer->change_lock);
    ki_processor *processor = &informer->processor;
    ki_status status = ki_informer_check_runs(informer, err);
    if (status)
        return status;
    ki_processor_add(processor, listener, resync_ns, ki_engine_now(informer->options.engine));
    const ki_registration before = *registration;
    *registration = enlist(informer, listener);
    if (!processor->started)
        return KI_OK;
    ki_listener_set_replay(listener, ki_store_snapshot(informer->store));
    status = ki_listener_start(listener, processor->threaded, err);
    if (!status)
        return KI_OK;
    (void)delist(*registration);
    *registration = before;
    if (ki_processor_remove(processor, listener))
        ki_processor_forget(processor, listener);
    return status;
}

static bool is_called(const ki_handler *handler) {
    return handler->on_add || handler->on_update || handler->on_delete || handler->on_synced || handler->on_changed ||
           handler->on_namespaces_synced;
}

static ki_status check_handler(const ki_handler *handler, ki_keep keep, ki_error *err) {
    if (!handler)
        return ki_error_set(err, KI_ERR_INVALID, "a registration without a handler");
    if (!is_called(handler))
        return ki_error_set(err, KI_ERR_INVALID,
                            "a handler without a function: set on_add, on_update, on_delete, on_synced, on_changed or "
                            "on_namespaces_synced");
    if (keep == KI_KEEP_KEYS && handler->filter)
        return ki_error_set(err, KI_ERR_INVALID, "a handler with a filter, but the cache keeps only the keys");
    return KI_OK;
}

ki_status ki_informer_add_handler(ki_informer *informer, const ki_handler *handler, void *user,
                                  const ki_registration_options *options, ki_registration *ret_registration,
                                  ki_error *err) {
    ki_status status = informer ? check_handler(handler, informer->options.given.keep, err)
                                : ki_error_missing(err, "ki_informer_add_handler");
    if (status)
        return status;
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    ki_registration_options given;
    if (KI_OPTIONS_TAKE(options, &given, "KI_REGISTRATION_OPTIONS", err))
        return KI_ERR_INVALID;
    ki_listener_options listener_options = {
        .engine = informer->options.engine,
        .informer = informer,
        .deferred = &informer->deferred,
        .owner = informer->options.owner,
        .handler = handler,
        .user = user,
        .registration = &given,
        .keep = ki_keep_of_all(&informer->options.given, informer->options.format),
        .hooks = &listener_hooks,
    };
    ki_listener *listener = NULL;
    status = ki_listener_new(&listener_options, &listener, err);
    if (status)
        return status;
    ki_registration unused = { NULL, 0 };
    ki_fair_mutex_lock(&informer->change_lock);
    status = join_in(informer, listener, resync_period(informer, given.resync_ms),
                     ret_registration ? ret_registration : &unused, err);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (status)
        ki_listener_discard(listener);
    return status;
}

ki_status ki_informer_remove_handler(ki_informer *informer, ki_registration registration, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_remove_handler");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    bool is_own = registration.informer == informer;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_listener *listener = is_own ? delist(registration) : NULL;
    if (listener)
        (void)ki_processor_remove(&informer->processor, listener);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (!listener)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "no such handler of the informer of %s",
                            informer->options.selection->resource.plural);
    ki_listener_remove(listener);
    ki_informer_wake_waits(informer);
    return KI_OK;
}

/* Takes the first active listener out; NULL if there is none. */
static ki_listener *take_first(ki_informer *informer) {
    ki_fair_mutex_lock(&informer->change_lock);
    ki_listener *listener = informer->processor.first;
    if (listener) {
        (void)delist((ki_registration){ informer, listener->id });
        (void)ki_processor_remove(&informer->processor, listener);
    }
    ki_fair_mutex_unlock(&informer->change_lock);
    return listener;
}

void ki_informer_remove_handlers(ki_informer *informer) {
    ki_listener *listener;
    while ((listener = take_first(informer)))
        ki_listener_remove(listener);
}

bool ki_registration_exists(ki_registration registration) {
    ki_mutex_lock(&registration.informer->registry.lock);
    bool exists = *find_listed(registration) != NULL;
    ki_mutex_unlock(&registration.informer->registry.lock);
    return exists;
}

bool ki_registration_has_synced(ki_registration registration) {
    if (!registration.informer || ki_engine_is_forked(registration.informer->options.engine))
        return false;
    ki_mutex_lock(&registration.informer->registry.lock);
    const ki_listener *listener = *find_listed(registration);
    bool has_synced = listener && atomic_load(&listener->synced);
    ki_mutex_unlock(&registration.informer->registry.lock);
    return has_synced;
}

size_t ki_registration_pending(ki_registration registration) {
    if (!registration.informer || ki_engine_is_forked(registration.informer->options.engine))
        return 0;
    ki_mutex_lock(&registration.informer->registry.lock);
    const ki_listener *listener = *find_listed(registration);
    size_t pending = listener ? ki_listener_pending(listener) : 0;
    ki_mutex_unlock(&registration.informer->registry.lock);
    return pending;
}
