/* wait_for.c: reading one's own writes: waits until an informer's cache has reached a resource version or an object, or
 * has seen a deletion. Blocks, or calls a handler.
 *
 * All waits are in the wait table, under the wait lock. The loop checks the table after each change of the store if
 * there are waits; otherwise the check costs one atomic load. A wait enters the table before it reads the store, so it
 * cannot miss a change in between. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/engine/callback.h"

#include <string.h>

/* --- checking the waits ------------------------------------------------------------------------------------------- */

/* Checks the objects of each delta: an object added and deleted within one change appears in no snapshot of the
 * store. */
static void check_deltas(ki_wait_table *waits, const ki_deltas *deltas) {
    for (size_t i = 0; i < deltas->count && waits->count > 0; i++) {
        const ki_change *delta = &deltas->items[i];
        if (delta->obj)
            ki_wait_table_seen(waits, ki_object_key(delta->obj), ki_object_resource_version(delta->obj),
                               delta->type == KI_EVENT_DELETE);
    }
}

/* Of a set: checks the waits against each namespace that the store now has at another version. */
static void check_namespaces(ki_informer *informer) {
    for (size_t i = 0; informer->options.selection->is_set && i < informer->feeds.count; i++) {
        ki_feed *feed = informer->feeds.list[i];
        if (feed->has_new_version)
            ki_wait_table_seen_in(&informer->waits.table, feed->selection->namespace_name, feed->stored_version);
        feed->has_new_version = false;
    }
}

typedef struct cache_state {
    const ki_informer *informer;
    const ki_snapshot *now;
} cache_state;

/* Returns true if the key has no object, or one with another uid. An object that a cache without the whole list lacks
 * may be there. */
static bool has_seen_deletion(const ki_version_wait *wait, void *user) {
    const cache_state *self = user;
    char version[KI_RESOURCE_VERSION_MAX + 1], name[KI_NAMESPACE_MAX + 1];
    const ki_object *obj = ki_snapshot_get(self->now, wait->key);
    if (obj)
        return wait->uid[0] && strcmp(ki_object_uid(obj), wait->uid) != 0;
    return !self->informer->options.selection->is_set ||
           ki_feeds_stored_version(self->informer, wait->key, name, version);
}

/* Returns the version of the key's object; NULL: there is none. */
static const char *version_of(const char *key, void *user) {
    const cache_state *self = user;
    const ki_object *obj = ki_snapshot_get(self->now, key);
    return obj ? ki_object_resource_version(obj) : NULL;
}

/* Checks the waits for deletions of the changed objects, or all. Returns the number of waits. */
static size_t check_deletions(ki_informer *informer, cache_state *state, const ki_deltas *deltas, bool checks_all) {
    KI_HELD(&informer->waits.lock);
    size_t looked_at = 0;
    if (!ki_informer_has_synced(informer))
        return 0;
    if (checks_all || !informer->waits.has_checked_deletions)
        looked_at = ki_wait_table_check_deletions(&informer->waits.table, NULL, has_seen_deletion, state);
    informer->waits.has_checked_deletions = true;
    for (size_t i = 0; deltas && i < deltas->count; i++)
        if (deltas->items[i].obj)
            looked_at += ki_wait_table_check_deletions(&informer->waits.table, ki_object_key(deltas->items[i].obj),
                                                       has_seen_deletion, state);
    return looked_at;
}

/* Publishes the number of waits, and posts the callbacks of decided waits. */
static void publish_waits(ki_informer *informer) {
    KI_HELD(&informer->waits.lock);
    atomic_store(&informer->waits.count, informer->waits.table.count);
    if (ki_wait_table_has_decided(&informer->waits.table))
        ki_task_post(&informer->waits.task);
}

void ki_informer_check_waits(ki_informer *informer, const ki_deltas *deltas) {
    KI_ON_LOOP(informer->options.engine);
    if (atomic_load(&informer->waits.count) == 0)
        return;
    ki_snapshot *now = ki_store_snapshot(informer->store);
    cache_state state = { informer, now };
    bool is_list = deltas && deltas->resource_version;
    size_t looked_at = 0;
    ki_mutex_lock(&informer->waits.lock);
    if (!atomic_load(&informer->namespaces.has_new))
        ki_wait_table_seen(&informer->waits.table, NULL, ki_snapshot_resource_version(now), false);
    check_namespaces(informer);
    if (deltas)
        check_deltas(&informer->waits.table, deltas);
    if (is_list) /* earlier parts had other objects */
        looked_at = ki_wait_table_check_objects(&informer->waits.table, version_of, &state);
    looked_at += check_deletions(informer, &state, deltas, !deltas || is_list);
    ki_wait_table_check_held(&informer->waits.table);
    publish_waits(informer);
    ki_mutex_unlock(&informer->waits.lock);
    ki_snapshot_unref(now);
    (void)ki_engine_work(informer->options.engine, (int)looked_at);
}

/* --- adding a wait ------------------------------------------------------------------------------------------------ */

static ki_status check_wait(const ki_informer *informer, const char *key, const char *resource_version, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "waiting for a resource version");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    if (atomic_load(&informer->removal.is_begun))
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    bool has_key = key && key[0];
    if (!has_key && !(resource_version && resource_version[0]))
        return ki_error_set(err, KI_ERR_INVALID, "waiting without naming a resource version or a key");
    const ki_selection *found = ki_selection_found(informer->options.selection);
    return has_key && found ? ki_selection_check_key(found, key, err) : KI_OK;
}

/* Decides the wait if the store has its state. */
static void check_now(ki_informer *informer, ki_version_wait *wait) {
    KI_HELD(&informer->waits.lock);
    char version[KI_RESOURCE_VERSION_MAX + 1], name[KI_NAMESPACE_MAX + 1];
    ki_snapshot *now = ki_store_snapshot(informer->store);
    const ki_object *obj = wait->key ? ki_snapshot_get(now, wait->key) : NULL;
    if (!atomic_load(&informer->namespaces.has_new))
        ki_wait_table_check(&informer->waits.table, wait, ki_snapshot_resource_version(now), false);
    if (obj)
        ki_wait_table_check(&informer->waits.table, wait, ki_object_resource_version(obj), true);
    if (wait->key && ki_feeds_stored_version(informer, wait->key, name, version) && name[0]) /* of a set */
        ki_wait_table_check(&informer->waits.table, wait, version, false);
    if (wait->uid && ki_informer_has_synced(informer) && has_seen_deletion(wait, &(cache_state){ informer, now }))
        ki_wait_table_decide(&informer->waits.table, wait, KI_OK);
    ki_snapshot_unref(now);
}

/* Adds a wait, and decides it at once if the store has its state. */
static ki_status add_wait(ki_informer *informer, ki_version_wait *wait, ki_error *err) {
    KI_HELD(&informer->waits.lock);
    if (ki_wait_table_add(&informer->waits.table, wait))
        return ki_error_no_memory(err, "waiting for a change");
    atomic_store(&informer->waits.count, informer->waits.table.count); /* the loop checks the waits from now on */
    check_now(informer, wait);
    publish_waits(informer);
    return KI_OK;
}

ki_status ki_informer_set_stopped(const ki_informer *informer, ki_status status, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    if (ki_engine_failure(informer->options.engine, &cause))
        return ki_error_set(err, status, "the informer of %s is stopped: %s", informer->options.selection->name,
                            ki_error_message(&cause));
    return ki_error_set(err, status, "the informer of %s %s", informer->options.selection->name,
                        atomic_load(&informer->removal.is_begun) ? "was removed" : "is stopped");
}

bool ki_informer_has_ended(const ki_informer *informer) {
    KI_HELD(&informer->waits.lock);
    return informer->waits.has_ended || ki_engine_has_ended(informer->options.engine);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static ki_status set_wait_error(const ki_informer *informer, const ki_version_wait *wait, ki_status status,
                                ki_error *err) {
    if (status == KI_ERR_CANCELLED)
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    if (status == KI_ERR_TIMEOUT && wait->uid)
        return ki_error_set(err, KI_ERR_TIMEOUT, "%s%s%s not deleted in time", wait->key,
                            wait->uid[0] ? " with uid " : "", wait->uid);
    if (status == KI_ERR_TIMEOUT && wait->version[0])
        return ki_error_set(err, KI_ERR_TIMEOUT, "%s not at version %s in time",
                            wait->key ? wait->key : informer->options.selection->name, wait->version);
    if (status == KI_ERR_TIMEOUT)
        return ki_error_set(err, KI_ERR_TIMEOUT, "no %s in time", wait->key);
    return status;
}

static ki_status wait_until(ki_informer *informer, ki_version_wait *wait, int64_t deadline, ki_error *err) {
    KI_HELD(&informer->waits.lock);
    bool in_time = true;
    if (add_wait(informer, wait, err))
        return KI_ERR_NO_MEMORY;
    while (!wait->is_decided && !ki_informer_has_ended(informer) && in_time)
        in_time = ki_engine_wait(informer->options.engine, wait->changed, &informer->waits.lock, deadline);
    ki_status status = in_time ? KI_ERR_CANCELLED : KI_ERR_TIMEOUT;
    if (wait->is_decided)
        status = wait->status;
    else if (ki_informer_has_ended(informer))
        status = KI_ERR_CANCELLED;
    ki_wait_table_remove(&informer->waits.table, wait);
    atomic_store(&informer->waits.count, informer->waits.table.count);
    return status;
}

/* `wait` has its key, version and uid. */
static ki_status wait_for(ki_informer *informer, ki_version_wait *wait, int64_t timeout_ms, ki_error *err) {
    ki_status status = check_wait(informer, wait->key, wait->version, err);
    if (status)
        return status;
    if (ki_callback_is_inside(informer->options.owner) || ki_engine_on_loop(informer->options.engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for %s on a thread that it needs",
                            informer->options.selection->name);
    ki_cond changed;
    status = ki_cond_init(&changed, err);
    if (status)
        return status;
    wait->deadline = INT64_MAX;
    wait->changed = &changed;
    ki_mutex_lock(&informer->waits.lock);
    status = wait_until(informer, wait, ki_deadline_of_timeout(timeout_ms), err);
    ki_mutex_unlock(&informer->waits.lock);
    ki_cond_destroy(&changed);
    return set_wait_error(informer, wait, status, err);
}

ki_status ki_informer_wait_for_version(ki_informer *informer, const char *key, const char *resource_version,
                                       int64_t timeout_ms, ki_error *err) {
    ki_version_wait wait = { .key = key, .version = resource_version ? resource_version : "" };
    return wait_for(informer, &wait, timeout_ms, err);
}

ki_status ki_informer_wait_for_deletion(ki_informer *informer, const char *key, const char *uid, int64_t timeout_ms,
                                        ki_error *err) {
    ki_version_wait wait = { .key = key, .version = "", .uid = uid ? uid : "" };
    return wait_for(informer, &wait, timeout_ms, err);
}

/* --- calling back ------------------------------------------------------------------------------------------------- */

static ki_version_wait *next_call(ki_informer *informer) {
    ki_mutex_lock(&informer->waits.lock);
    ki_version_wait *wait = ki_wait_table_next_decided(&informer->waits.table);
    ki_mutex_unlock(&informer->waits.lock);
    return wait;
}

static bool call_next(ki_informer *informer) {
    ki_version_wait *wait = next_call(informer);
    if (!wait)
        return false;
    ki_callback callback;
    ki_callback_enter(&callback, informer->options.owner);
    wait->handler(informer, wait->status, wait->user);
    ki_callback_leave(&callback);
    ki_free(ki_engine_allocator(informer->options.engine), wait);
    return true;
}

static void expire(ki_timer *timer, void *user) {
    (void)timer;
    ki_informer *informer = user;
    ki_mutex_lock(&informer->waits.lock);
    ki_wait_table_expire(&informer->waits.table, ki_engine_now(informer->options.engine));
    publish_waits(informer);
    ki_mutex_unlock(&informer->waits.lock);
    ki_task_post(&informer->waits.task); /* sets the timer for the next deadline */
}

/* Sets the timer to the earliest deadline. If memory runs out, the next run of the task retries: after the next wait,
 * or the next change that decides one. */
static void set_timer(ki_informer *informer) {
    KI_ON_LOOP(informer->options.engine);
    ki_mutex_lock(&informer->waits.lock);
    int64_t next = ki_wait_table_next_deadline(&informer->waits.table);
    ki_mutex_unlock(&informer->waits.lock);
    if (next == INT64_MAX) {
        ki_timer_cancel(&informer->waits.timer);
        return;
    }
    if (!informer->waits.timer.engine)
        ki_timer_init(&informer->waits.timer, informer->options.engine, expire, informer);
    ki_timer_set(&informer->waits.timer, next);
}

/* Calls one handler in each run, so that other work of the loop runs in between. */
static void run_handlers(ki_task *task, void *user) {
    ki_informer *informer = user;
    set_timer(informer);
    if (call_next(informer))
        ki_task_post(task);
}

/* Returns true if the wait's state can be unreadable. The wait then ends only when the object is readable, replaced or
 * deleted. */
static bool may_lack(const ki_version_wait *wait, void *user) {
    ki_informer *informer = user;
    return ki_feeds_may_lack(informer, wait->key, wait->version);
}

void ki_informer_init_waits(ki_informer *informer) {
    ki_task_init(&informer->waits.task, informer->options.engine, run_handlers, informer);
    ki_wait_table_init(&informer->waits.table, ki_engine_allocator(informer->options.engine), informer->options.seed);
    informer->waits.table.is_set = informer->options.selection->is_set;
    informer->waits.table.may_lack = may_lack;
    informer->waits.table.may_lack_user = informer;
}

void ki_informer_cancel_waits(ki_informer *informer) {
    KI_HELD(&informer->waits.lock);
    informer->waits.has_ended = true;
    ki_wait_table_cancel_all(&informer->waits.table);
    atomic_store(&informer->waits.count, 0);
    ki_cond_broadcast(&informer->waits.changed);
}

void ki_informer_end_waits(ki_informer *informer) {
    KI_ON_LOOP(informer->options.engine);
    ki_mutex_lock(&informer->waits.lock);
    ki_informer_cancel_waits(informer);
    ki_mutex_unlock(&informer->waits.lock);
    while (call_next(informer)) {}
    ki_task_cancel(&informer->waits.task);
    ki_timer_close(&informer->waits.timer);
}

/* Copies a wait and its texts into one block. */
static ki_version_wait *copy_wait(const ki_allocator *allocator, const ki_version_wait *from) {
    size_t key_size = from->key ? strlen(from->key) + 1 : 0, uid_size = from->uid ? strlen(from->uid) + 1 : 0;
    size_t version_size = strlen(from->version) + 1;
    ki_version_wait *wait = ki_alloc(allocator, sizeof *wait + key_size + uid_size + version_size);
    if (!wait)
        return NULL;
    char *texts = (char *)(wait + 1);
    *wait = *from;
    wait->version = memcpy(texts, from->version, version_size);
    if (from->key)
        wait->key = memcpy(texts + version_size, from->key, key_size);
    if (from->uid)
        wait->uid = memcpy(texts + version_size + key_size, from->uid, uid_size);
    return wait;
}

static int64_t deadline_of(const ki_informer *informer, int64_t timeout_ms) {
    /* The clock, not ki_engine_now: a slow handler on the loop is later than that. */
    return ki_time_after_ms(ki_engine_clock(informer->options.engine), timeout_ms);
}

/* `given` has its key, version, uid, handler and user. */
static ki_status call_after(ki_informer *informer, const ki_version_wait *given, int64_t timeout_ms, ki_error *err) {
    ki_status status = check_wait(informer, given->key, given->version, err);
    if (status)
        return status;
    if (!given->handler)
        return ki_error_set(err, KI_ERR_INVALID, "waiting without a handler");
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    ki_version_wait *wait = copy_wait(allocator, given);
    if (!wait)
        return ki_error_no_memory(err, "waiting for a change");
    wait->deadline = deadline_of(informer, timeout_ms);
    ki_mutex_lock(&informer->waits.lock);
    if (informer->waits.has_ended)
        status = ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    else
        status = add_wait(informer, wait, err);
    if (!status && wait->deadline != INT64_MAX)
        ki_task_post(&informer->waits.task); /* sets the timer */
    ki_mutex_unlock(&informer->waits.lock);
    if (status)
        ki_free(allocator, wait);
    return status;
}

ki_status ki_informer_wait_for_version_async(ki_informer *informer, const char *key, const char *resource_version,
                                             int64_t timeout_ms, ki_version_handler handler, void *user,
                                             ki_error *err) {
    return call_after(
        informer,
        &(ki_version_wait){
            .key = key, .version = resource_version ? resource_version : "", .handler = handler, .user = user },
        timeout_ms, err);
}

ki_status ki_informer_wait_for_deletion_async(ki_informer *informer, const char *key, const char *uid,
                                              int64_t timeout_ms, ki_version_handler handler, void *user,
                                              ki_error *err) {
    return call_after(
        informer,
        &(ki_version_wait){ .key = key, .version = "", .uid = uid ? uid : "", .handler = handler, .user = user },
        timeout_ms, err);
}

ki_status ki_informer_cancel_version_waits(ki_informer *informer, ki_version_handler handler, void *user,
                                           ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_cancel_version_waits");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    ki_mutex_lock(&informer->waits.lock);
    bool found = ki_wait_table_cancel(&informer->waits.table, handler, user);
    if (found)
        publish_waits(informer);
    ki_mutex_unlock(&informer->waits.lock);
    return found ? KI_OK
                 : ki_error_set(err, KI_ERR_NOT_FOUND, "no wait for the informer of %s has this handler and user",
                                informer->options.selection->name);
}
