/* wait_for.c: reading one's own writes: waits until an informer's copy has seen a resource version, or calls back then.
 *
 * Whoever waits is on a list under the wait lock. The loop looks at the list after each change of the store, where it is not empty: one
 * atomic load otherwise. A wait is put on the list before it looks at the store itself, so that it cannot miss a change in between. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/callback.h"
#include "src/cache/informer_parts.h"

#include <string.h>

struct ki_version_wait {
    ki_version_wait *next;
    const char *key; /* NULL: the whole copy */
    const char *version;
    bool has_seen;
    /* Of a callback; then it and the version are one block of its own. Else it is on the stack of the thread that waits. */
    ki_version_handler handler;
    void *user;
};

/* --- has it been seen? ------------------------------------------------------------------------------------------------------- */

static bool is_reached(const char *version, const char *wanted) {
    ki_order order = ki_resource_version_compare(version, wanted);
    return order == KI_ORDER_SAME || order == KI_ORDER_NEWER;
}

static bool is_in_snapshot(const ki_version_wait *wait, const ki_snapshot *now) {
    if (is_reached(ki_snapshot_resource_version(now), wait->version))
        return true;
    const ki_object *obj = wait->key ? ki_snapshot_get(now, wait->key) : NULL;
    return obj && is_reached(ki_object_resource_version(obj), wait->version);
}

/* What came and went within one change shows in no moment of the store. */
static bool is_in_deltas(const ki_version_wait *wait, const ki_deltas *deltas) {
    if (!wait->key || !deltas || (deltas->key && strcmp(deltas->key, wait->key) != 0))
        return false;
    for (size_t i = 0; i < deltas->count; i++) {
        const ki_delta *delta = &deltas->items[i];
        if (delta->obj && !delta->is_unusable && strcmp(ki_object_key(delta->obj), wait->key) == 0 &&
            is_reached(ki_object_resource_version(delta->obj), wait->version))
            return true;
    }
    return false;
}

void ki_informer_check_waits(ki_informer *informer, const ki_deltas *deltas) {
    if (atomic_load(&informer->wait_count) == 0)
        return;
    bool wakes = false, calls = false;
    ki_snapshot *now = ki_store_snapshot(informer->store);
    ki_mutex_lock(&informer->wait_lock);
    for (ki_version_wait *wait = informer->waits; wait; wait = wait->next) {
        if (wait->has_seen || !(is_in_snapshot(wait, now) || is_in_deltas(wait, deltas)))
            continue;
        wait->has_seen = true;
        *(wait->handler ? &calls : &wakes) = true;
    }
    if (wakes)
        ki_cond_broadcast(&informer->changed);
    ki_mutex_unlock(&informer->wait_lock);
    ki_snapshot_free(now);
    if (calls)
        ki_task_post(&informer->wait_task);
}

/* --- the list: under the wait lock --------------------------------------------------------------------------------------------- */

/* Behind the others: callbacks come in the order of asking. */
static void put_on_list(ki_informer *informer, ki_version_wait *wait) {
    ki_version_wait **last = &informer->waits;
    while (*last)
        last = &(*last)->next;
    *last = wait;
    atomic_fetch_add(&informer->wait_count, 1);
}

static void take_off_list(ki_informer *informer, ki_version_wait **at) {
    *at = (*at)->next;
    atomic_fetch_sub(&informer->wait_count, 1);
}

/* --- waiting --------------------------------------------------------------------------------------------------------------------- */

static ki_status check_version(const char *resource_version, ki_error *err) {
    if (resource_version && resource_version[0])
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "waiting for a resource version without naming one");
}

/* The wait lock is held. It may be there already. */
static void look_now(const ki_informer *informer, ki_version_wait *wait) {
    ki_snapshot *now = ki_store_snapshot(informer->store);
    wait->has_seen = is_in_snapshot(wait, now);
    ki_snapshot_free(now);
}

ki_status ki_informer_wait_for_version(ki_informer *informer, const char *key, const char *resource_version,
                                       int64_t timeout_ms, ki_error *err) {
    const char *name = informer->name;
    ki_status status = check_version(resource_version, err);
    if (status)
        return status;
    if (ki_callback_is_inside(informer->owner) || ki_engine_on_loop(informer->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for %s on a thread that it needs", name);
    ki_version_wait wait = { .key = key, .version = resource_version };
    int64_t deadline = ki_deadline_of_timeout(timeout_ms);
    bool in_time = true;
    ki_mutex_lock(&informer->wait_lock);
    put_on_list(informer, &wait);
    look_now(informer, &wait);
    bool unserved =
        ki_engine_is_stopping(informer->engine) && ki_engine_is_idle(informer->engine); /* nobody will tell */
    while (!wait.has_seen && !informer->is_over && !unserved && in_time)
        in_time = ki_cond_wait_until(&informer->changed, &informer->wait_lock, deadline);
    bool over = informer->is_over || unserved;
    ki_version_wait **at = &informer->waits;
    while (*at != &wait)
        at = &(*at)->next;
    take_off_list(informer, at);
    ki_mutex_unlock(&informer->wait_lock);
    if (wait.has_seen)
        return KI_OK;
    if (over)
        return ki_error_set(err, KI_ERR_CANCELLED, "the informer of %s is stopped", name);
    return ki_error_set(err, KI_ERR_TIMEOUT, "%s not at version %s in time", key ? key : name, resource_version);
}

/* --- calling back ---------------------------------------------------------------------------------------------------------------- */

static ki_version_wait *next_call(ki_informer *informer, bool any) {
    ki_mutex_lock(&informer->wait_lock);
    ki_version_wait **at = &informer->waits;
    while (*at && !((*at)->handler && ((*at)->has_seen || any)))
        at = &(*at)->next;
    ki_version_wait *wait = *at;
    if (wait)
        take_off_list(informer, at);
    ki_mutex_unlock(&informer->wait_lock);
    return wait;
}

static void call(ki_informer *informer, bool any) {
    ki_version_wait *wait;
    while ((wait = next_call(informer, any))) {
        ki_callback callback;
        ki_callback_enter(&callback, informer->owner);
        wait->handler(informer, wait->has_seen ? KI_OK : KI_ERR_CANCELLED, wait->user);
        ki_callback_leave(&callback);
        ki_free(ki_engine_allocator(informer->engine), wait);
    }
}

static void run(ki_task *task, void *user) {
    (void)task;
    call(user, false);
}

void ki_informer_init_waits(ki_informer *informer) {
    ki_task_init(&informer->wait_task, informer->engine, run, informer);
}

void ki_informer_end_waits(ki_informer *informer) {
    call(informer, true);
    ki_task_cancel(&informer->wait_task);
}

ki_status ki_informer_when_version(ki_informer *informer, const char *resource_version, ki_version_handler handler,
                                   void *user, ki_error *err) {
    ki_status status = check_version(resource_version, err);
    if (status)
        return status;
    if (!handler)
        return ki_error_set(err, KI_ERR_INVALID, "nothing to call once a version is there");
    size_t size = strlen(resource_version) + 1;
    ki_version_wait *wait = ki_alloc(ki_engine_allocator(informer->engine), sizeof *wait + size);
    if (!wait)
        return ki_error_no_memory(err, "waiting for a resource version");
    *wait = (ki_version_wait){ .version = memcpy(wait + 1, resource_version, size), .handler = handler, .user = user };
    ki_mutex_lock(&informer->wait_lock);
    bool over = informer->is_over;
    if (!over) {
        put_on_list(informer, wait);
        look_now(informer, wait);
        if (wait->has_seen)
            ki_task_post(&informer->wait_task);
    }
    ki_mutex_unlock(&informer->wait_lock);
    if (!over)
        return KI_OK;
    ki_free(ki_engine_allocator(informer->engine), wait);
    return ki_error_set(err, KI_ERR_CANCELLED, "the informer of %s is stopped", informer->name);
}
