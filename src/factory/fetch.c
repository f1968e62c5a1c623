/* fetch.c: see fetch.h.
 *
 * One item for each key that was asked for. Its life:
 *     WANTED ──task──► FLYING ──response──► KNOWN ──KI_FETCH_REMEMBERED_MS──► dropped
 *        ▲               │ failure            │ its deletion is seen by the cache
 *        └──timer── WAITING                   └─────────────────────────► dropped
 * Any thread adds items and waits under the mutex. Only the loop sends, ends and drops items. */
#include "src/factory/fetch.h"

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/reflector/transform.h"
#include "src/client/client.h"
#include "src/engine/callback.h"
#include "src/object/keep.h"
#include "src/object/selector.h"

#include <stdio.h>
#include <string.h>

enum {
    HTTP_NOT_FOUND = 404,
    HTTP_TOO_MANY = 429,
    HTTP_SERVER_ERROR = 500
};

/* Somebody who asks. */
typedef struct wait {
    struct wait *next;
    struct item *item; /* NULL once it is decided */
    bool has_joined;   /* a request that was sent before: its response can be older than what the cache has seen */
    ki_cond *changed;  /* of a thread that waits; NULL: `handler` is called */
    ki_fetch_handler handler;
    void *user;
    int64_t deadline; /* of a handler, on the engine's clock; INT64_MAX: none */
    ki_object *obj;   /* once decided: owned, or NULL with `err` */
    ki_error err;
    char key[]; /* with a handler */
} wait;

typedef enum item_state {
    ITEM_WANTED,
    ITEM_FLYING,
    ITEM_WAITING,
    ITEM_KNOWN
} item_state;

typedef struct item {
    struct item *next, *previous; /* all items; the longest known first */
    ki_fetcher *fetcher;
    wait *waits;
    item_state state;
    bool is_overtaken; /* the cache has seen a deletion since the request began */
    int64_t at;        /* WAITING: of the next attempt; KNOWN: of its end */
    ki_backoff backoff;
    char as_of[KI_RESOURCE_VERSION_MAX + 1]; /* FLYING: the cache's version when the request was sent; "": none yet */
    ki_object *obj;                          /* KNOWN: the result; NULL with `err` */
    ki_error err;                            /* KNOWN: the result; else the last failure */
    char key[];
} item;

struct ki_fetcher {
    /* Constant. */
    ki_informer *informer;
    ki_client *client;
    const ki_allocator *allocator;
    ki_engine *engine;
    /* Under `mutex`. */
    ki_mutex mutex;
    ki_map by_key;
    item *first, *last;
    wait *decided, *last_decided; /* with handlers */
    size_t known;
    bool is_closed;
    int64_t not_before;   /* the end of the last Retry-After: no request is sent before */
    _Atomic size_t count; /* items */
    /* Loop. */
    ki_task task;
    ki_timer timer;
};

/* --- items. Caller holds the mutex -------------------------------------------------------------------------------- */

static void unlink_item(ki_fetcher *fetcher, item *it) {
    if (it->previous)
        it->previous->next = it->next;
    else
        fetcher->first = it->next;
    if (it->next)
        it->next->previous = it->previous;
    else
        fetcher->last = it->previous;
    it->next = it->previous = NULL;
}

static void append_item(ki_fetcher *fetcher, item *it) {
    it->previous = fetcher->last;
    if (it->previous)
        it->previous->next = it;
    else
        fetcher->first = it;
    fetcher->last = it;
}

/* Drops an item that nobody waits for and whose request has ended. */
static void drop_item(ki_fetcher *fetcher, item *it) {
    unlink_item(fetcher, it);
    (void)ki_map_remove(&fetcher->by_key, ki_str_of(it->key));
    fetcher->known -= it->state == ITEM_KNOWN;
    atomic_fetch_sub(&fetcher->count, 1);
    ki_object_unref(it->obj);
    ki_free(fetcher->allocator, it);
}

static item *add_item(ki_fetcher *fetcher, const char *key) {
    size_t size = strlen(key) + 1;
    item *it = ki_alloc_zero(fetcher->allocator, sizeof *it + size);
    if (!it)
        return NULL;
    memcpy(it->key, key, size);
    it->fetcher = fetcher;
    if (ki_map_put(&fetcher->by_key, ki_str_of(it->key), it, NULL)) {
        ki_free(fetcher->allocator, it);
        return NULL;
    }
    append_item(fetcher, it);
    atomic_fetch_add(&fetcher->count, 1);
    return it;
}

/* --- waits. Caller holds the mutex -------------------------------------------------------------------------------- */

static void forget_wait(wait *w) {
    wait **place = &w->item->waits;
    while (*place != w)
        place = &(*place)->next;
    *place = w->next;
    w->item = NULL;
    w->next = NULL;
}

/* Gives a wait its result: an object, or NULL and an error. */
static void decide(ki_fetcher *fetcher, wait *w, ki_object *obj, const ki_error *err) {
    if (w->item)
        forget_wait(w);
    w->obj = ki_object_ref(obj);
    w->err = *err;
    if (w->changed) {
        ki_cond_broadcast(w->changed);
        return;
    }
    if (fetcher->last_decided)
        fetcher->last_decided->next = w;
    else
        fetcher->decided = w;
    fetcher->last_decided = w;
    ki_task_post(&fetcher->task);
}

static void decide_all(ki_fetcher *fetcher, item *it, ki_object *obj, const ki_error *err) {
    while (it->waits)
        decide(fetcher, it->waits, obj, err);
}

static ki_error timeout_of(const item *it) {
    ki_error err = KI_ERROR_INIT;
    bool has_cause = it->err.code != KI_OK;
    ki_error_set(&err, KI_ERR_TIMEOUT, "no response about %.100s in time%s%.200s", it->key, has_cause ? ": " : "",
                 has_cause ? ki_error_message(&it->err) : "");
    return err;
}

/* --- the response; loop ------------------------------------------------------------------------------------------- */

/* Returns true for a request without a result: a later attempt can have another result. */
static bool is_retriable(const ki_error *err) {
    bool is_result = err->http_status && err->http_status < HTTP_SERVER_ERROR && err->http_status != HTTP_TOO_MANY;
    return !is_result && err->code != KI_ERR_INVALID && err->code != KI_ERR_CANCELLED;
}

static ki_status set_absent(const ki_fetcher *fetcher, const char *key, const char *why, ki_error *err) {
    ki_error_set(err, KI_ERR_NOT_FOUND, "%s %.200s: %s", fetcher->informer->selection->resource.plural, key, why);
    err->http_status = HTTP_NOT_FOUND;
    return KI_ERR_NOT_FOUND;
}

/* A GET reads the newest state: the object is absent at the version that the cache had before. */
static void set_none(const ki_fetcher *fetcher, const item *it, ki_error *err) {
    char why[KI_RESOURCE_VERSION_MAX + 64];
    snprintf(why, sizeof why, "there is none%s%s", it->as_of[0] ? " at resource version " : "", it->as_of);
    (void)set_absent(fetcher, it->key, why, err);
}

/* Makes an object with all that the server sent, for selectors also of fields that the cache does not keep. */
static ki_status check_selectors(const ki_fetcher *fetcher, const char *body, size_t size, ki_error *err) {
    const ki_informer *informer = fetcher->informer;
    const ki_selection *selection = informer->selection;
    ki_selector *selector = NULL;
    ki_object *obj = NULL;
    if (!selection->label_selector[0] && !selection->field_selector[0])
        return KI_OK;
    ki_status status = ki_selector_new(selection->label_selector, selection->field_selector, &selector, err);
    if (!status)
        status = ki_object_from_json_whole(ki_object_format_newest(informer->options.format), (ki_str){ body, size },
                                           NULL, NULL, &obj, err);
    if (!status && !ki_selector_matches_whole(selector, obj))
        status = set_absent(fetcher, ki_object_key(obj), "the informer's selectors exclude it", err);
    ki_object_unref(obj);
    ki_selector_free(selector);
    return status;
}

/* Makes the object of a response as the informer makes and keeps its own. */
static ki_status make_object(const ki_fetcher *fetcher, const ki_response *response, ki_object **ret_obj,
                             ki_error *err) {
    const ki_informer *informer = fetcher->informer;
    const ki_transform_step step = { informer->transform, informer->transform_user };
    ki_object *obj = NULL, *changed = NULL;
    size_t size;
    const char *body = ki_response_body(response, &size);
    ki_status status = ki_informer_object_from_json(informer, body, size, &obj, err);
    if (!status)
        status = check_selectors(fetcher, body, size, err);
    if (!status)
        status = ki_transform_object(&step, obj, &changed, err);
    if (!status)
        status = ki_object_key_only(changed, ret_obj, err);
    ki_object_unref(changed);
    ki_object_unref(obj);
    return status;
}

/* Returns true if an object has no content because its cache dropped it at a limit. */
static bool has_lost_content(const ki_object *obj) {
    return ki_object_keep(obj) == KI_KEEP_AT_LIMIT;
}

/* Returns the cached object if it is all that its informer promises, as a reference; NULL: it is to be fetched. */
static ki_object *get_cached(const ki_informer *informer, const char *key) {
    ki_object *obj = ki_informer_get(informer, key);
    if (!obj || !has_lost_content(obj))
        return obj;
    ki_object_unref(obj);
    return NULL;
}

/* Returns the newer one of a fetched object and the cache's, as a reference; releases the other one. */
static ki_object *newest(const ki_fetcher *fetcher, const char *key, ki_object *fetched) {
    ki_object *cached = get_cached(fetcher->informer, key);
    if (!cached)
        return fetched;
    bool is_older = fetched && ki_resource_version_compare(ki_object_resource_version(cached),
                                                           ki_object_resource_version(fetched)) == KI_ORDER_OLDER;
    ki_object_unref(is_older ? cached : fetched);
    return is_older ? fetched : cached;
}

/* Remembers the result, and drops the oldest ones if there are too many. */
static void remember(ki_fetcher *fetcher, item *it, ki_object *obj, const ki_error *err) {
    int64_t now = ki_engine_now(fetcher->engine);
    it->state = ITEM_KNOWN;
    it->obj = obj;
    it->err = *err;
    it->at = now + KI_MILLISECONDS(KI_FETCH_REMEMBERED_MS);
    unlink_item(fetcher, it);
    append_item(fetcher, it);
    fetcher->known++;
    for (item *next, *old = fetcher->first; old && fetcher->known > KI_FETCH_MAX_REMEMBERED; old = next) {
        next = old->next;
        if (old->state == ITEM_KNOWN)
            drop_item(fetcher, old);
    }
    ki_task_post(&fetcher->task); /* sets the timer */
}

static void retry_later(ki_fetcher *fetcher, item *it, const ki_error *err) {
    int64_t now = ki_engine_now(fetcher->engine);
    it->err = *err;
    it->at = now + ki_backoff_next(&it->backoff, now, ki_engine_random(fetcher->engine));
    it->state = ITEM_WAITING;
    ki_task_post(&fetcher->task); /* sets the timer */
}

/* Records a Retry-After. It is the server's for all objects. */
static void heed_retry_after(ki_fetcher *fetcher, const ki_error *err) {
    int64_t ms = ki_retry_after_ms(err->retry_after_ms);
    int64_t end = ms > 0 ? ki_time_after_ms(ki_engine_now(fetcher->engine), ms) : 0;
    if (end > fetcher->not_before)
        fetcher->not_before = end;
}

/* Returns true if a cache that lacks the object is at its version or a newer one: it was deleted. A list after a gap
 * shows no deletion of what the cache never had. */
static bool is_deleted(const ki_fetcher *fetcher, const char *key, const ki_object *obj) {
    ki_snapshot *now = obj ? ki_informer_snapshot(fetcher->informer) : NULL;
    const char *version = now ? ki_snapshot_resource_version(now) : "";
    bool is_there = now && ki_snapshot_get(now, key);
    ki_order order =
        version[0] ? ki_resource_version_compare(version, ki_object_resource_version(obj)) : KI_ORDER_OLDER;
    ki_snapshot_free(now);
    return !is_there && (order == KI_ORDER_SAME || order == KI_ORDER_NEWER);
}

/* Returns true if the cache has a newer state, whose content it dropped. */
static bool is_outdated(const ki_fetcher *fetcher, const char *key, const ki_object *obj, const ki_error *err) {
    ki_object *cached = ki_informer_get(fetcher->informer, key);
    bool is_newer = cached && has_lost_content(cached) && (obj || err->code == KI_ERR_NOT_FOUND);
    if (is_newer && obj) {
        ki_order order =
            ki_resource_version_compare(ki_object_resource_version(cached), ki_object_resource_version(obj));
        is_newer = order == KI_ORDER_NEWER || order == KI_ORDER_UNKNOWN;
    }
    ki_object_unref(cached);
    return is_newer;
}

/* Returns true if the cache can have seen a later state than that of a result. */
static bool is_behind_cache(const ki_fetcher *fetcher, const char *key, const ki_object *obj, const ki_error *err) {
    return is_deleted(fetcher, key, obj) || is_outdated(fetcher, key, obj, err);
}

/* Decides the waits that began before the request. */
static void decide_older(ki_fetcher *fetcher, item *it, ki_object *obj, const ki_error *err) {
    for (wait *next, *w = it->waits; w; w = next) {
        next = w->next;
        if (!w->has_joined)
            decide(fetcher, w, obj, err);
    }
}

static void want_again(ki_fetcher *fetcher, item *it) {
    it->state = ITEM_WANTED;
    ki_task_post(&fetcher->task);
}

/* Caller holds the mutex. Takes the reference to `obj` over. */
static void end_request(ki_fetcher *fetcher, item *it, ki_object *obj, bool may_retry, const ki_error *err) {
    bool is_overtaken = it->is_overtaken;
    it->is_overtaken = false;
    if (may_retry)
        heed_retry_after(fetcher, err);
    if (err->code == KI_ERR_CANCELLED || fetcher->is_closed || (may_retry && !it->waits)) {
        decide_all(fetcher, it, NULL, err);
        drop_item(fetcher, it);
        ki_object_unref(obj);
    } else if (may_retry) {
        retry_later(fetcher, it, err);
    } else if (is_overtaken) { /* the response can be older than the deletion */
        want_again(fetcher, it);
        ki_object_unref(obj);
    } else {
        if (is_behind_cache(fetcher, it->key, obj, err))
            decide_older(fetcher, it, obj, err);
        else
            decide_all(fetcher, it, obj, err);
        if (it->waits) {
            want_again(fetcher, it);
            ki_object_unref(obj);
        } else {
            remember(fetcher, it, obj, err);
        }
    }
}

static void on_response(const ki_response *response, const ki_error *failure, void *user) {
    item *it = user;
    ki_fetcher *fetcher = it->fetcher;
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = NULL;
    if (!failure)
        (void)make_object(fetcher, response, &obj, &err); /* `err` has the failure */
    else if (ki_error_is_not_found(failure))
        set_none(fetcher, it, &err);
    else
        err = *failure;
    if (!err.code || err.code == KI_ERR_NOT_FOUND)
        obj = newest(fetcher, it->key, obj);
    if (obj)
        err = (ki_error)KI_ERROR_INIT;
    bool may_retry =
        !obj && (failure ? err.code != KI_ERR_NOT_FOUND && is_retriable(&err) : err.code == KI_ERR_NO_MEMORY);
    ki_mutex_lock(&fetcher->mutex);
    end_request(fetcher, it, obj, may_retry, &err);
    ki_mutex_unlock(&fetcher->mutex);
}

/* --- requests; loop ----------------------------------------------------------------------------------------------- */

static ki_status send_get(ki_fetcher *fetcher, item *it, ki_error *err) {
    ki_snapshot *now = ki_informer_snapshot(fetcher->informer);
    snprintf(it->as_of, sizeof it->as_of, "%s", ki_snapshot_resource_version(now));
    ki_snapshot_free(now);
    char namespace_name[KI_INFORMER_KEY_MAX + 1];
    const ki_selection *selection = ki_selection_found(fetcher->informer->selection);
    const char *name = ki_key_split(it->key, namespace_name, sizeof namespace_name);
    bool sends_metadata = selection->keep == KI_KEEP_METADATA && !selection->field_selector[0];
    return ki_client_send(fetcher->client,
                          &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &selection->resource,
                                             .namespace_name = namespace_name, .name = name,
                                             .accept = sends_metadata ? KI_ACCEPT_METADATA : NULL),
                          on_response, it, NULL, err);
}

static bool is_unsent(const item *it) {
    return it->state == ITEM_WANTED || it->state == ITEM_WAITING;
}

/* Returns the time at which something is to be done with an item; INT64_MAX: none. Caller holds the mutex. */
static int64_t due_at(const ki_fetcher *fetcher, const item *it) {
    int64_t at = it->state == ITEM_WANTED ? 0 : it->state == ITEM_FLYING ? INT64_MAX : it->at;
    return is_unsent(it) && at < fetcher->not_before ? fetcher->not_before : at;
}

/* Sends what is wanted, and what is due again. */
static void send_all(ki_fetcher *fetcher) {
    int64_t now = ki_engine_now(fetcher->engine);
    ki_mutex_lock(&fetcher->mutex);
    for (item *next, *it = fetcher->first; it; it = next) {
        next = it->next;
        if (!is_unsent(it) || due_at(fetcher, it) > now)
            continue;
        ki_error err = KI_ERROR_INIT;
        it->state = ITEM_FLYING;
        it->is_overtaken = false;
        for (wait *w = it->waits; w; w = w->next)
            w->has_joined = false;
        if (send_get(fetcher, it, &err)) /* no callback: it may be called under the mutex */
            end_request(fetcher, it, NULL, is_retriable(&err), &err);
    }
    ki_mutex_unlock(&fetcher->mutex);
}

/* Ends the waits that have timed out, and returns the next time at which something is due. Caller holds the mutex. */
static int64_t expire(ki_fetcher *fetcher, int64_t now) {
    int64_t due = INT64_MAX;
    for (item *next, *it = fetcher->first; it; it = next) {
        next = it->next;
        for (wait *after, *w = it->waits; w; w = after) {
            after = w->next;
            ki_error err = timeout_of(it);
            if (!w->changed && w->deadline <= now)
                decide(fetcher, w, NULL, &err);
            else if (!w->changed && w->deadline < due)
                due = w->deadline;
        }
        bool is_over = is_unsent(it) ? !it->waits : it->state == ITEM_KNOWN && it->at <= now;
        if (is_over)
            drop_item(fetcher, it);
        else if (due_at(fetcher, it) < due)
            due = due_at(fetcher, it);
    }
    return due;
}

static wait *take_decided(ki_fetcher *fetcher) {
    ki_mutex_lock(&fetcher->mutex);
    wait *w = fetcher->decided;
    if (w)
        fetcher->decided = w->next;
    if (!fetcher->decided)
        fetcher->last_decided = NULL;
    ki_mutex_unlock(&fetcher->mutex);
    return w;
}

static bool call_next(ki_fetcher *fetcher) {
    wait *w = take_decided(fetcher);
    if (!w)
        return false;
    ki_callback callback;
    ki_callback_enter(&callback, fetcher->informer->owner);
    w->handler(fetcher->informer, w->key, w->obj, w->err.code ? &w->err : NULL, w->user);
    ki_callback_leave(&callback);
    ki_object_unref(w->obj);
    ki_free(fetcher->allocator, w);
    return true;
}

/* Calls one handler in each run, so that other work of the loop runs in between. */
static void run(ki_task *task, void *user) {
    ki_fetcher *fetcher = user;
    send_all(fetcher);
    ki_mutex_lock(&fetcher->mutex);
    int64_t due = expire(fetcher, ki_engine_now(fetcher->engine));
    ki_mutex_unlock(&fetcher->mutex);
    if (due != INT64_MAX)
        ki_timer_set(&fetcher->timer, due);
    if (call_next(fetcher))
        ki_task_post(task);
}

static void on_timer(ki_timer *timer, void *user) {
    (void)timer;
    ki_fetcher *fetcher = user;
    ki_task_post(&fetcher->task);
}

/* --- changes of the cache; loop ----------------------------------------------------------------------------------- */

/* A deletion ends what is remembered of an object, and makes a response under way too old. */
static void on_deltas(const ki_deltas *deltas, void *user) {
    ki_fetcher *fetcher = user;
    if (atomic_load(&fetcher->count) == 0)
        return;
    ki_mutex_lock(&fetcher->mutex);
    for (size_t i = 0; i < deltas->count; i++) {
        const ki_change *delta = &deltas->items[i];
        item *it =
            delta->type == KI_EVENT_DELETE ? ki_map_get(&fetcher->by_key, ki_str_of(ki_object_key(delta->obj))) : NULL;
        if (it && it->state == ITEM_KNOWN)
            drop_item(fetcher, it);
        else if (it && it->state == ITEM_FLYING)
            it->is_overtaken = true;
    }
    ki_mutex_unlock(&fetcher->mutex);
}

/* --- asking; any thread ------------------------------------------------------------------------------------------- */

static ki_status check_key(const ki_informer *informer, const char *key, ki_error *err) {
    char namespace_name[KI_INFORMER_KEY_MAX + 1];
    const ki_selection *selection = ki_selection_found(informer->selection);
    if (!selection)
        return ki_error_set(err, KI_ERR_STATE, "%s is not found yet", informer->selection->name);
    const char *name =
        strlen(key) > KI_INFORMER_KEY_MAX ? NULL : ki_key_split(key, namespace_name, sizeof namespace_name);
    if (!name || !name[0] || (namespace_name[0] != '\0') != selection->resource.namespaced)
        return ki_error_set(err, KI_ERR_INVALID, "\"%.100s\" is not a key of %s: %s", key, selection->resource.plural,
                            selection->resource.namespaced ? "namespace/name" : "name");
    bool is_of_one = selection->namespace_name[0] && !selection->is_set; /* a set has a name there */
    if (is_of_one && strcmp(selection->namespace_name, namespace_name) != 0)
        return ki_error_set(err, KI_ERR_INVALID, "\"%.100s\" is not in namespace %s", key, selection->namespace_name);
    return KI_OK;
}

static ki_status check(const ki_informer *informer, const char *key, ki_error *err) {
    if (ki_engine_check_process(informer->engine, err))
        return KI_ERR_STATE;
    if (atomic_load(&informer->is_removed))
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    if (!informer->fetcher)
        return ki_error_set(err, KI_ERR_UNSUPPORTED, "the informer of %s has no API server to ask",
                            informer->selection->name);
    return check_key(informer, key, err);
}

/* Returns the item of a key, which is made if necessary; NULL without memory. Caller holds the mutex. */
static item *item_of(ki_fetcher *fetcher, const char *key) {
    item *it = ki_map_get(&fetcher->by_key, ki_str_of(key));
    bool is_known = it && it->state == ITEM_KNOWN;
    bool asks_again =
        is_known && (it->at <= ki_engine_clock(fetcher->engine) || is_behind_cache(fetcher, key, it->obj, &it->err));
    if (asks_again) {
        ki_object_unref(it->obj);
        it->obj = NULL;
        it->err = (ki_error)KI_ERROR_INIT;
        it->state = ITEM_WANTED;
        fetcher->known--;
    }
    return it ? it : add_item(fetcher, key);
}

/* Adds a wait, and decides it if the result is known. Caller holds the mutex. */
static ki_status add_wait(ki_fetcher *fetcher, const char *key, wait *w, ki_error *err) {
    /* The cache of a removed informer is empty: what is remembered can be older than what it had. */
    if (fetcher->is_closed || ki_informer_is_removed(fetcher->informer))
        return ki_informer_set_stopped(fetcher->informer, KI_ERR_CANCELLED, err);
    item *it = item_of(fetcher, key);
    if (!it)
        return ki_error_no_memory(err, "fetching an object");
    if (it->state == ITEM_KNOWN) {
        decide(fetcher, w, it->obj, &it->err);
        return KI_OK;
    }
    w->item = it;
    w->has_joined = it->state == ITEM_FLYING;
    w->next = it->waits;
    it->waits = w;
    ki_task_post(&fetcher->task);
    return KI_OK;
}

/* Caller holds the mutex. */
static void wait_for(ki_fetcher *fetcher, wait *w, int64_t deadline) {
    bool in_time = true;
    while (w->item && in_time && !ki_engine_has_ended(fetcher->engine))
        in_time = ki_engine_wait(fetcher->engine, w->changed, &fetcher->mutex, deadline);
    if (!w->item)
        return;
    if (in_time)
        ki_informer_set_stopped(fetcher->informer, KI_ERR_CANCELLED, &w->err);
    else
        w->err = timeout_of(w->item);
    forget_wait(w);
}

ki_status ki_informer_get_or_fetch(ki_informer *informer, const char *key, int64_t timeout_ms, ki_object **ret_obj,
                                   ki_error *err) {
    if (!informer || !key || !ret_obj)
        return ki_error_missing(err, "ki_informer_get_or_fetch");
    ki_status status = check(informer, key, err);
    if (status)
        return status;
    ki_fetcher *fetcher = informer->fetcher;
    ki_object *obj = get_cached(informer, key);
    if (obj) {
        *ret_obj = obj;
        return KI_OK;
    }
    if (ki_callback_is_inside(informer->owner) || ki_engine_on_loop(informer->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "fetching an object on a thread that the request needs");
    ki_cond changed;
    status = ki_cond_init(&changed, err);
    if (status)
        return status;
    wait w = { .changed = &changed, .err = KI_ERROR_INIT };
    ki_mutex_lock(&fetcher->mutex);
    status = add_wait(fetcher, key, &w, err);
    if (!status)
        wait_for(fetcher, &w, ki_deadline_of_timeout(timeout_ms));
    ki_mutex_unlock(&fetcher->mutex);
    ki_cond_destroy(&changed);
    if (status)
        return status;
    if (w.obj)
        *ret_obj = w.obj;
    else if (err)
        *err = w.err;
    return w.obj ? KI_OK : w.err.code;
}

static wait *new_wait(const ki_fetcher *fetcher, const char *key, int64_t timeout_ms, ki_fetch_handler handler,
                      void *user) {
    size_t size = strlen(key) + 1;
    wait *w = ki_alloc(fetcher->allocator, sizeof *w + size);
    if (!w)
        return NULL;
    /* The clock, not ki_engine_now: a slow handler on the loop is later than that. */
    *w = (wait){ .handler = handler,
                 .user = user,
                 .deadline = ki_time_after_ms(ki_engine_clock(fetcher->engine), timeout_ms),
                 .err = KI_ERROR_INIT };
    memcpy(w->key, key, size);
    return w;
}

ki_status ki_informer_get_or_fetch_async(ki_informer *informer, const char *key, int64_t timeout_ms,
                                         ki_fetch_handler handler, void *user, ki_error *err) {
    const ki_error none = KI_ERROR_INIT;
    if (!informer || !key || !handler)
        return ki_error_missing(err, "ki_informer_get_or_fetch_async");
    ki_status status = check(informer, key, err);
    if (status)
        return status;
    ki_fetcher *fetcher = informer->fetcher;
    wait *w = new_wait(fetcher, key, timeout_ms, handler, user);
    if (!w)
        return ki_error_no_memory(err, "fetching an object");
    ki_object *obj = get_cached(informer, key);
    ki_mutex_lock(&fetcher->mutex);
    if (obj && !fetcher->is_closed)
        decide(fetcher, w, obj, &none);
    else
        status = add_wait(fetcher, key, w, err);
    ki_mutex_unlock(&fetcher->mutex);
    ki_object_unref(obj);
    if (status)
        ki_free(fetcher->allocator, w);
    return status;
}

ki_status ki_informer_cancel_fetches(ki_informer *informer, ki_fetch_handler handler, void *user, ki_error *err) {
    ki_error cancelled = KI_ERROR_INIT;
    size_t count = 0;
    if (!informer || !handler)
        return ki_error_missing(err, "ki_informer_cancel_fetches");
    if (ki_engine_check_process(informer->engine, err))
        return KI_ERR_STATE;
    ki_error_set(&cancelled, KI_ERR_CANCELLED, "the fetch was cancelled");
    ki_fetcher *fetcher = informer->fetcher;
    if (fetcher)
        ki_mutex_lock(&fetcher->mutex);
    for (item *it = fetcher ? fetcher->first : NULL; it; it = it->next) {
        for (wait *next, *w = it->waits; w; w = next) {
            next = w->next;
            if (w->changed || w->handler != handler || w->user != user)
                continue;
            decide(fetcher, w, NULL, &cancelled);
            count++;
        }
    }
    if (fetcher)
        ki_mutex_unlock(&fetcher->mutex);
    return count ? KI_OK
                 : ki_error_set(err, KI_ERR_NOT_FOUND, "no fetch of the informer of %s has this handler and user",
                                informer->selection->name);
}

/* --- new, end ----------------------------------------------------------------------------------------------------- */

ki_status ki_fetcher_new(ki_informer *informer, ki_client *client, ki_fetcher **ret_fetcher, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(informer->engine);
    ki_fetcher *fetcher = ki_alloc_zero(allocator, sizeof *fetcher);
    if (!fetcher)
        return ki_error_no_memory(err, "making an informer");
    fetcher->informer = informer;
    fetcher->client = client;
    fetcher->allocator = allocator;
    fetcher->engine = informer->engine;
    ki_status status = ki_mutex_init(&fetcher->mutex, err);
    if (status) {
        ki_free(allocator, fetcher);
        return status;
    }
    ki_map_init(&fetcher->by_key, allocator, informer->options.seed);
    ki_task_init(&fetcher->task, fetcher->engine, run, fetcher);
    ki_timer_init(&fetcher->timer, fetcher->engine, on_timer, fetcher);
    informer->fetcher = fetcher;
    informer->on_deltas = on_deltas;
    *ret_fetcher = fetcher;
    return KI_OK;
}

void ki_fetcher_free(ki_fetcher *fetcher) {
    if (!fetcher)
        return;
    while (fetcher->first)
        drop_item(fetcher, fetcher->first);
    ki_map_free(&fetcher->by_key);
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
    for (item *it = fetcher->first; it; it = it->next)
        decide_all(fetcher, it, NULL, &err);
    ki_mutex_unlock(&fetcher->mutex);
}

void ki_fetcher_end(ki_fetcher *fetcher) {
    if (!fetcher)
        return;
    ki_fetcher_close(fetcher);
    while (call_next(fetcher)) {}
    ki_task_cancel(&fetcher->task);
    ki_timer_close(&fetcher->timer);
}
