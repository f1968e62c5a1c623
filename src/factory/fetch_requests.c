/* fetch_requests.c: the requests of a fetcher, and the task that sends them, ends waits, forgets results and calls
 * handlers. Loop only. Each run does one thing of each kind, so that other work of the loop runs in between. */
#include "src/factory/fetch_parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/engine/callback.h"
#include "src/object/keep.h"

#include <stdio.h>

/* --- the end of a request; caller holds the mutex ----------------------------------------------------------------- */

/* Without a response, and if no other request had one since this one was sent, the server is away: until the next
 * attempt the fetcher requests no object. Any response says something of its own object only. */
static void note_no_response(const ki_fetch_item *item, const ki_error *failure) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(item->state == KI_FETCH_FLYING);
    ki_fetcher *fetcher = item->fetcher;
    int64_t now = ki_engine_now(fetcher->made_with->engine);
    if (failure->code == KI_ERR_NO_MEMORY || fetcher->responded_at >= item->sent_at || fetcher->not_before > now)
        return;
    ki_error away = *failure;
    ki_error_prefix(&away, "the server is away");
    fetcher->not_before = now + ki_backoff_next(&fetcher->backoff, now, ki_engine_random(fetcher->made_with->engine));
    ki_error_keep(fetcher->allocator, &fetcher->away, &away);
}

/* The server is not away. */
static void note_response(ki_fetcher *fetcher) {
    KI_HELD(&fetcher->mutex);
    fetcher->responded_at = ki_engine_now(fetcher->made_with->engine);
    ki_backoff_succeeded(&fetcher->backoff);
}

/* The failure is the answer until the next attempt: ends the waits that end before. */
static void wait_until(ki_fetch_item *item, int64_t at, const ki_error *failure) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(failure->code);
    item->err = *failure;
    const ki_error err = ki_fetch_unknown(item);
    ki_fetch_item_set(item, KI_FETCH_WAITING, at);
    if (item->waits)
        ki_fetch_decide_waits(item, at, true, NULL, &err);
}

static void retry_later(ki_fetch_item *item, const ki_error *err) {
    ki_fetcher *fetcher = item->fetcher;
    int64_t now = ki_engine_now(fetcher->made_with->engine), ms = ki_retry_after_ms(err->retry_after_ms);
    int64_t at = now + ki_backoff_next(&item->backoff, now, ki_engine_random(fetcher->made_with->engine));
    int64_t given = ms > 0 ? ki_time_after_ms(now, ms) : at;
    if (at < given)
        at = given;
    wait_until(item, at > fetcher->not_before ? at : fetcher->not_before, err);
}

/* Remembers a result that nobody waits for. Takes the reference over. */
static void remember(ki_fetch_item *item, ki_object *obj, const ki_error *err) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(!item->waits && (obj != NULL) != (err->code != KI_OK));
    const ki_factory_options *given = item->fetcher->made_with->factory;
    ki_object_unref(item->obj);
    item->obj = obj;
    item->err = *err;
    item->since = ki_engine_now(item->fetcher->made_with->engine);
    ki_backoff_init(&item->backoff, given->backoff_first_ms, given->backoff_longest_ms);
    ki_fetch_item_set(item, KI_FETCH_KNOWN, ki_time_after_ms(item->since, KI_FETCH_REMEMBERED_MS));
}

/* Takes the reference to `obj` over. */
static void end_request(ki_fetch_item *item, ki_object *obj, bool may_retry, const ki_error *err) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(item->state == KI_FETCH_FLYING && item->fetcher->flying > 0);
    ki_fetcher *fetcher = item->fetcher;
    bool is_overtaken = item->is_overtaken;
    item->is_overtaken = false;
    fetcher->flying--;
    if (err->code == KI_ERR_CANCELLED || fetcher->is_closed) {
        ki_fetch_decide_waits(item, INT64_MAX, true, NULL, err);
        ki_fetch_item_drop(item);
        ki_object_unref(obj);
    } else if (may_retry) {
        retry_later(item, err);
    } else if (is_overtaken) { /* the response can be older than the deletion */
        ki_fetch_item_want(item);
        ki_object_unref(obj);
    } else {
        bool is_behind = ki_fetch_is_behind_cache(fetcher->informer, item->key, obj);
        ki_fetch_decide_waits(item, INT64_MAX, !is_behind, obj, err);
        if (item->waits) {
            ki_fetch_item_want(item);
            ki_object_unref(obj);
        } else {
            remember(item, obj, err);
        }
    }
}

/* The object that was fetched before is gone: readers find its last state for a while. */
static void keep_deleted(ki_fetch_item *item) {
    KI_ON_LOOP(item->fetcher->made_with->engine);
    ki_fetcher *fetcher = item->fetcher;
    ki_mutex_lock(&fetcher->mutex);
    ki_object *last = item->obj;
    item->obj = NULL;
    ki_mutex_unlock(&fetcher->mutex);
    if (last)
        ki_informer_add_deleted(fetcher->informer, last);
    ki_object_unref(last);
}

static void on_response(const ki_response *response, const ki_error *failure, void *user) {
    ki_fetch_item *item = user;
    ki_fetcher *fetcher = item->fetcher;
    ki_error err;
    ki_object *obj;
    ki_fetch_result(item, response, failure, &obj, &err);
    bool may_retry =
        !obj && (failure ? err.code != KI_ERR_NOT_FOUND && ki_fetch_is_retriable(&err) : err.code == KI_ERR_NO_MEMORY);
    if (err.code == KI_ERR_NOT_FOUND)
        keep_deleted(item);
    ki_mutex_lock(&fetcher->mutex);
    if (!failure || failure->http_status)
        note_response(fetcher);
    else if (may_retry)
        note_no_response(item, failure);
    end_request(item, obj, may_retry, &err);
    ki_mutex_unlock(&fetcher->mutex);
}

/* --- one thing of each kind; caller holds the mutex. Each returns true if there may be more ----------------------- */

static ki_status send_get(ki_fetch_item *item, ki_error *err) {
    ki_fetcher *fetcher = item->fetcher;
    ki_snapshot *now = ki_informer_snapshot(fetcher->informer);
    snprintf(item->as_of, sizeof item->as_of, "%s", ki_snapshot_resource_version(now));
    ki_snapshot_unref(now);
    char namespace_name[KI_INFORMER_KEY_MAX + 1];
    const ki_selection *selection = ki_selection_found(fetcher->made_with->selection);
    const char *name = ki_key_split(item->key, namespace_name, sizeof namespace_name);
    bool sends_metadata = selection->keep == KI_KEEP_METADATA && !selection->field_selector[0];
    return ki_pending_request_start(fetcher->client,
                                    &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &selection->resource,
                                                       .namespace_name = namespace_name, .name = name,
                                                       .accept = sends_metadata ? KI_ACCEPT_METADATA : NULL),
                                    KI_REQUEST_ONCE, 0, on_response, item, NULL, err);
}

/* Returns how many requests may be in flight: half of the client's, so that an API that does not respond leaves places
 * for others. */
static size_t places(const ki_fetcher *fetcher) {
    size_t limit = fetcher->client->in_flight.limit;
    return limit - limit / 2;
}

/* Sends the first wanted object if there is a place: the rest waits here, where it ends with those who asked. */
static bool send_one(ki_fetcher *fetcher, int64_t now) {
    KI_ON_LOOP(fetcher->made_with->engine);
    KI_HELD(&fetcher->mutex);
    ki_fetch_item *item = fetcher->wanted;
    if (!item || fetcher->is_closed)
        return false;
    if (now < fetcher->not_before) {
        const ki_error away = ki_error_kept(&fetcher->away);
        wait_until(item, fetcher->not_before, &away);
        return true;
    }
    if (fetcher->flying >= places(fetcher))
        return false;
    ki_error err = KI_ERROR_INIT;
    ki_fetch_item_set(item, KI_FETCH_FLYING, 0);
    item->is_overtaken = false;
    item->sent_at = now;
    fetcher->flying++;
    KI_ASSERT(fetcher->flying <= places(fetcher));
    for (ki_fetch_wait *wait = item->waits; wait; wait = wait->next)
        wait->has_joined = false;
    if (send_get(item, &err)) /* no callback: it may be called under the mutex */
        end_request(item, NULL, ki_fetch_is_retriable(&err), &err);
    return true;
}

static void time_out(ki_fetch_wait *wait) {
    KI_HELD(&wait->item->fetcher->mutex);
    const ki_error err = ki_fetch_unknown(wait->item);
    ki_fetch_decide(wait->item->fetcher, wait, NULL, &err);
}

/* The state of an item that is due ends. */
static void end_state(ki_fetch_item *item, int64_t now) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(item->state == KI_FETCH_WAITING || item->state == KI_FETCH_KNOWN || item->state == KI_FETCH_PAST);
    ki_fetcher *fetcher = item->fetcher;
    if (item->state == KI_FETCH_WAITING && item->waits)
        ki_fetch_item_want(item);
    else if (item->state == KI_FETCH_PAST)
        ki_fetch_item_drop(item);
    else if (item->state == KI_FETCH_KNOWN && ki_fetch_item_is_fresh(item, now))
        ki_heap_put(&fetcher->due, &item->due.node, now + KI_MILLISECONDS(KI_FETCH_REMEMBERED_MS), fetcher->sequence++);
    else
        ki_fetch_item_outlive(item, now);
}

static bool do_one_due(ki_fetcher *fetcher, int64_t now) {
    KI_HELD(&fetcher->mutex);
    ki_fetch_due *due = (ki_fetch_due *)fetcher->due.first; /* its first member */
    if (!due || due->node.rank > now)
        return false;
    if (due->is_wait)
        time_out((ki_fetch_wait *)(void *)((char *)due - offsetof(ki_fetch_wait, due)));
    else
        end_state((ki_fetch_item *)(void *)((char *)due - offsetof(ki_fetch_item, due)), now);
    return true;
}

static void set_timer(ki_fetcher *fetcher) {
    KI_ON_LOOP(fetcher->made_with->engine);
    KI_HELD(&fetcher->mutex);
    if (fetcher->due.first)
        ki_timer_set(&fetcher->timer, fetcher->due.first->rank);
    else
        ki_timer_cancel(&fetcher->timer);
}

/* --- the task ----------------------------------------------------------------------------------------------------- */

static ki_fetch_wait *take_decided(ki_fetcher *fetcher) {
    ki_mutex_lock(&fetcher->mutex);
    ki_fetch_wait *wait = fetcher->decided;
    if (wait)
        KI_LIST_REMOVE(fetcher->decided, wait);
    ki_mutex_unlock(&fetcher->mutex);
    return wait;
}

bool ki_fetch_call_next(ki_fetcher *fetcher) {
    KI_ON_LOOP(fetcher->made_with->engine);
    ki_fetch_wait *wait = take_decided(fetcher);
    if (!wait)
        return false;
    ki_callback callback;
    ki_callback_enter(&callback, fetcher->made_with->owner);
    wait->handler(fetcher->informer, wait->key, wait->obj, wait->err.code ? &wait->err : NULL, wait->user);
    ki_callback_leave(&callback);
    ki_object_unref(wait->obj);
    ki_free(fetcher->allocator, wait);
    return true;
}

void ki_fetch_run(ki_task *task, void *user) {
    KI_ON_LOOP(((ki_fetcher *)user)->made_with->engine);
    ki_fetcher *fetcher = user;
    int64_t now = ki_engine_now(fetcher->made_with->engine);
    ki_mutex_lock(&fetcher->mutex);
    bool has_more = do_one_due(fetcher, now);
    has_more |= send_one(fetcher, now);
    set_timer(fetcher);
    ki_mutex_unlock(&fetcher->mutex);
    has_more |= ki_fetch_call_next(fetcher);
    if (has_more)
        ki_task_post(task);
}
