/* fetch.c: see fetch.h. Who asks for an object, from any thread, and what a change of the cache means for what was
 * fetched. fetch_parts.h says how an item lives. */
#include "src/factory/fetch_parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/engine/callback.h"

#include <stddef.h>
#include <string.h>

/* --- changes of the cache; loop ----------------------------------------------------------------------------------- */

/* A deletion ends what is remembered of an object, and makes a response under way too old. */
static void note_deleted(ki_fetch_item *item) {
    KI_HELD(&item->fetcher->mutex);
    ki_object_unref(item->obj);
    item->obj = NULL;
    item->is_overtaken = item->state == KI_FETCH_FLYING;
    if (item->state == KI_FETCH_KNOWN || item->state == KI_FETCH_PAST)
        ki_fetch_item_drop(item);
}

static void on_deltas(const ki_deltas *deltas, void *user) {
    ki_fetcher *fetcher = user;
    if (atomic_load(&fetcher->count) == 0)
        return;
    ki_mutex_lock(&fetcher->mutex);
    for (size_t i = 0; i < deltas->count; i++) {
        const ki_change *delta = &deltas->items[i];
        ki_fetch_item *item =
            delta->type == KI_EVENT_DELETE ? ki_map_get(&fetcher->by_key, ki_str_of(ki_object_key(delta->obj))) : NULL;
        if (item)
            note_deleted(item);
    }
    ki_mutex_unlock(&fetcher->mutex);
}

/* --- asking; any thread ------------------------------------------------------------------------------------------- */

static ki_status check_key(const ki_informer *informer, const char *key, ki_error *err) {
    const ki_selection *selection = ki_selection_found(ki_informer_made_with(informer)->selection);
    if (!selection)
        return ki_error_set(err, KI_ERR_STATE, "%s is not found yet", ki_informer_made_with(informer)->selection->name);
    if (strlen(key) > KI_INFORMER_KEY_MAX)
        return ki_error_set(err, KI_ERR_INVALID, "\"%.100s…\" is longer than any key", key);
    return ki_selection_check_key(selection, key, err);
}

static ki_status check(const ki_informer *informer, const char *key, ki_error *err) {
    if (ki_engine_check_process(ki_informer_made_with(informer)->engine, err))
        return KI_ERR_STATE;
    if (ki_informer_is_removed(informer))
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    if (!ki_informer_observer(informer))
        return ki_error_set(err, KI_ERR_UNSUPPORTED, "the informer of %s has no API server to ask",
                            ki_informer_made_with(informer)->selection->name);
    return check_key(informer, key, err);
}

/* A request that has taken as long as this wait would has no better answer for it: a caller waits its limit once for
 * each attempt, and not for each line of a log. */
static bool is_hopeless(const ki_fetch_item *item, const ki_fetch_wait *wait, int64_t now) {
    if (item->state == KI_FETCH_WAITING)
        return wait->deadline <= item->due.node.rank;
    bool is_under_way = item->waits || item->state == KI_FETCH_FLYING;
    return is_under_way && wait->deadline != INT64_MAX && now - item->since >= wait->deadline - now;
}

static ki_fetch_wait *wait_of(ki_multimap_node *node) {
    return node ? (ki_fetch_wait *)(void *)((char *)node - offsetof(ki_fetch_wait, of_user)) : NULL;
}

/* Adds a wait, and decides it if the result is known, or cannot come in its time. */
static ki_status add_wait(ki_fetcher *fetcher, const char *key, ki_fetch_wait *wait, ki_error *err) {
    KI_HELD(&fetcher->mutex);
    KI_ASSERT(!wait->item && !wait->obj);
    /* The cache of a removed informer is empty: what is remembered can be older than what it had. */
    if (fetcher->is_closed || ki_informer_is_removed(fetcher->informer))
        return ki_informer_set_stopped(fetcher->informer, KI_ERR_CANCELLED, err);
    int64_t now = ki_engine_clock(fetcher->made_with->engine);
    bool has_room =
        wait->changed || !ki_multimap_add(&fetcher->by_user, &wait->of_user, ki_multimap_pointer_key(&wait->user));
    ki_fetch_item *item = has_room ? ki_fetch_item_of(fetcher, key) : NULL;
    if (!item) {
        ki_multimap_remove(&fetcher->by_user, &wait->of_user);
        return ki_error_no_memory(err, "fetching an object");
    }
    if (item->state == KI_FETCH_KNOWN && ki_fetch_item_is_fresh(item, now) &&
        !ki_fetch_is_behind_cache(fetcher->informer, key, item->obj)) {
        ki_fetch_decide(fetcher, wait, item->obj, &item->err);
        return KI_OK;
    }
    if (item->state == KI_FETCH_KNOWN || item->state == KI_FETCH_PAST) {
        item->err = (ki_error)KI_ERROR_INIT;
        ki_fetch_item_want(item);
    } else if (is_hopeless(item, wait, now)) {
        const ki_error unknown = ki_fetch_unknown(item);
        ki_fetch_decide(fetcher, wait, NULL, &unknown);
        return KI_OK;
    }
    ki_fetch_wait_add(item, wait);
    return KI_OK;
}

static void wait_for(ki_fetcher *fetcher, ki_fetch_wait *wait, int64_t deadline) {
    KI_HELD(&fetcher->mutex);
    KI_ASSERT(wait->changed);
    bool in_time = true;
    while (wait->item && in_time && !ki_engine_has_ended(fetcher->made_with->engine))
        in_time = ki_engine_wait(fetcher->made_with->engine, wait->changed, &fetcher->mutex, deadline);
    if (!wait->item)
        return;
    if (in_time)
        ki_informer_set_stopped(fetcher->informer, KI_ERR_CANCELLED, &wait->err);
    else
        wait->err = ki_fetch_unknown(wait->item);
    ki_fetch_forget(wait);
}

ki_status ki_informer_get_or_fetch(ki_informer *informer, const char *key, int64_t timeout_ms, ki_object **ret_obj,
                                   ki_error *err) {
    if (!informer || !key || !ret_obj)
        return ki_error_missing(err, "ki_informer_get_or_fetch");
    ki_status status = check(informer, key, err);
    if (status)
        return status;
    ki_fetcher *fetcher = ki_informer_observer(informer);
    ki_object *obj = ki_informer_get(informer, key);
    if (obj) {
        *ret_obj = obj;
        return KI_OK;
    }
    if (ki_callback_is_inside(ki_informer_made_with(informer)->owner) ||
        ki_engine_on_loop(ki_informer_made_with(informer)->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "fetching an object on a thread that the request needs");
    if (ki_engine_is_idle(ki_informer_made_with(informer)->engine) &&
        !ki_engine_is_stopping(ki_informer_made_with(informer)->engine))
        return ki_error_set(err, KI_ERR_STATE,
                            "nothing drives the engine: start the factory, or drive the engine that it was given");
    ki_cond changed;
    status = ki_cond_init(&changed, err);
    if (status)
        return status;
    ki_fetch_wait wait = { .changed = &changed,
                           .err = KI_ERROR_INIT,
                           .deadline = ki_time_after_ms(ki_engine_clock(fetcher->made_with->engine), timeout_ms) };
    ki_mutex_lock(&fetcher->mutex);
    status = add_wait(fetcher, key, &wait, err);
    if (!status)
        wait_for(fetcher, &wait, ki_deadline_of_timeout(timeout_ms));
    ki_mutex_unlock(&fetcher->mutex);
    ki_cond_destroy(&changed);
    if (status)
        return status;
    if (wait.obj)
        *ret_obj = wait.obj;
    else if (err)
        *err = wait.err;
    return wait.obj ? KI_OK : wait.err.code;
}

static ki_fetch_wait *new_wait(const ki_fetcher *fetcher, const char *key, int64_t timeout_ms, ki_fetch_handler handler,
                               void *user) {
    size_t size = strlen(key) + 1;
    ki_fetch_wait *wait = ki_alloc(fetcher->allocator, sizeof *wait + size);
    if (!wait)
        return NULL;
    /* The clock, not ki_engine_now: a slow handler on the loop is later than that. */
    *wait = (ki_fetch_wait){ .handler = handler,
                             .user = user,
                             .deadline = ki_time_after_ms(ki_engine_clock(fetcher->made_with->engine), timeout_ms),
                             .err = KI_ERROR_INIT };
    memcpy(wait->key, key, size);
    return wait;
}

ki_status ki_informer_get_or_fetch_async(ki_informer *informer, const char *key, int64_t timeout_ms,
                                         ki_fetch_handler handler, void *user, ki_error *err) {
    const ki_error none = KI_ERROR_INIT;
    if (!informer || !key || !handler)
        return ki_error_missing(err, "ki_informer_get_or_fetch_async");
    ki_status status = check(informer, key, err);
    if (status)
        return status;
    ki_fetcher *fetcher = ki_informer_observer(informer);
    ki_fetch_wait *wait = new_wait(fetcher, key, timeout_ms, handler, user);
    if (!wait)
        return ki_error_no_memory(err, "fetching an object");
    ki_object *obj = ki_informer_get(informer, key);
    ki_mutex_lock(&fetcher->mutex);
    if (obj && !fetcher->is_closed)
        ki_fetch_decide(fetcher, wait, obj, &none);
    else
        status = add_wait(fetcher, key, wait, err);
    ki_mutex_unlock(&fetcher->mutex);
    ki_object_unref(obj);
    if (status)
        ki_free(fetcher->allocator, wait);
    return status;
}

ki_status ki_informer_cancel_fetches(ki_informer *informer, ki_fetch_handler handler, void *user, ki_error *err) {
    ki_error cancelled = KI_ERROR_INIT;
    bool found = false;
    if (!informer || !handler)
        return ki_error_missing(err, "ki_informer_cancel_fetches");
    if (ki_engine_check_process(ki_informer_made_with(informer)->engine, err))
        return KI_ERR_STATE;
    ki_error_set(&cancelled, KI_ERR_CANCELLED, "the fetch was cancelled");
    ki_fetcher *fetcher = ki_informer_observer(informer);
    if (fetcher)
        ki_mutex_lock(&fetcher->mutex);
    ki_multimap_node *first = fetcher ? ki_multimap_first(&fetcher->by_user, ki_multimap_pointer_key(&user)) : NULL;
    for (ki_fetch_wait *next, *wait = wait_of(first); wait; wait = next) {
        next = wait_of(wait->of_user.next);
        if (wait->handler != handler)
            continue;
        ki_fetch_decide(fetcher, wait, NULL, &cancelled);
        found = true;
    }
    if (fetcher)
        ki_mutex_unlock(&fetcher->mutex);
    return found ? KI_OK
                 : ki_error_set(err, KI_ERR_NOT_FOUND, "no fetch of the informer of %s has this handler and user",
                                ki_informer_made_with(informer)->selection->name);
}

/* --- new, end ----------------------------------------------------------------------------------------------------- */

static void on_timer(ki_timer *timer, void *user) {
    (void)timer;
    ki_fetcher *fetcher = user;
    ki_task_post(&fetcher->task);
}

ki_status ki_fetcher_new(ki_informer *informer, ki_client *client, ki_fetcher **ret_fetcher, ki_error *err) {
    const ki_shared_informer_options *made_with = ki_informer_made_with(informer);
    const ki_allocator *allocator = ki_engine_allocator(made_with->engine);
    ki_fetcher *fetcher = ki_alloc_zero(allocator, sizeof *fetcher);
    if (!fetcher)
        return ki_error_no_memory(err, "making an informer");
    fetcher->informer = informer;
    fetcher->made_with = made_with;
    fetcher->client = client;
    fetcher->allocator = allocator;
    ki_status status = ki_mutex_init(&fetcher->mutex, err);
    if (status) {
        ki_free(allocator, fetcher);
        return status;
    }
    ki_map_init(&fetcher->by_key, allocator, made_with->seed);
    ki_map_init(&fetcher->by_user, allocator, made_with->seed);
    fetcher->responded_at = INT64_MIN;
    ki_backoff_init(&fetcher->backoff, made_with->factory->backoff_first_ms, made_with->factory->backoff_longest_ms);
    ki_task_init(&fetcher->task, fetcher->made_with->engine, ki_fetch_run, fetcher);
    ki_timer_init(&fetcher->timer, fetcher->made_with->engine, on_timer, fetcher);
    ki_informer_observe(informer, on_deltas, fetcher);
    *ret_fetcher = fetcher;
    return KI_OK;
}

void ki_fetcher_free(ki_fetcher *fetcher) {
    if (!fetcher)
        return;
    size_t cursor = 0;
    ki_str key;
    for (void *item; ki_map_next(&fetcher->by_key, &cursor, &key, &item);) {
        ki_object_unref(((ki_fetch_item *)item)->obj);
        ki_free(fetcher->allocator, item);
    }
    ki_map_free(&fetcher->by_key);
    ki_map_free(&fetcher->by_user);
    ki_error_keep(fetcher->allocator, &fetcher->away, NULL);
    ki_mutex_destroy(&fetcher->mutex);
    ki_free(fetcher->allocator, fetcher);
}

void ki_fetcher_close(ki_fetcher *fetcher) {
    ki_error err = KI_ERROR_INIT;
    if (!fetcher)
        return;
    ki_informer_set_stopped(fetcher->informer, KI_ERR_CANCELLED, &err);
    ki_mutex_lock(&fetcher->mutex);
    fetcher->is_closed = true;
    while (fetcher->waits)
        ki_fetch_decide(fetcher, fetcher->waits, NULL, &err);
    ki_mutex_unlock(&fetcher->mutex);
}

void ki_fetcher_end(ki_fetcher *fetcher) {
    if (!fetcher)
        return;
    ki_fetcher_close(fetcher);
    while (ki_fetch_call_next(fetcher)) {}
    ki_task_cancel(&fetcher->task);
    ki_timer_close(&fetcher->timer);
}
