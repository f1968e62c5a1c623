/* wait_for_sync.c: waits until an informer, or one of its handlers, is synced. */
#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "src/engine/callback.h"

bool ki_informer_has_synced(const ki_informer *informer) {
    return !ki_engine_is_forked(informer->options.engine) && atomic_load(&informer->sync.is_done);
}

bool ki_informer_namespaces_have_synced(const ki_informer *informer) {
    return ki_informer_has_synced(informer) && !atomic_load(&informer->namespaces.has_new);
}

const char *ki_informer_synced_version(const ki_informer *informer) {
    return informer && ki_informer_has_synced(informer) ? informer->sync.version : "";
}

int64_t ki_deadline_of_timeout(int64_t timeout_ms) {
    return ki_time_after_ms(ki_monotonic_now(), timeout_ms);
}

ki_status ki_informer_wait_until_synced(ki_informer *informer, int64_t deadline_ns, bool *ret_blocked, ki_error *err) {
    const char *name = informer->options.selection->name;
    bool is_blocked = false;
    if (ki_callback_is_inside(informer->options.owner) || ki_engine_on_loop(informer->options.engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for %s on a thread that it needs", name);
    ki_mutex_lock(&informer->waits.lock);
    bool in_time = true;
    while (!atomic_load(&informer->sync.is_done) && !ki_informer_has_ended(informer) && !is_blocked && in_time) {
        is_blocked = ret_blocked && atomic_load(&informer->waits.is_blocked);
        if (!is_blocked)
            in_time =
                ki_engine_wait(informer->options.engine, &informer->waits.changed, &informer->waits.lock, deadline_ns);
    }
    bool synced = atomic_load(&informer->sync.is_done);
    bool over = ki_informer_has_ended(informer);
    ki_mutex_unlock(&informer->waits.lock);
    if (ret_blocked)
        *ret_blocked = is_blocked && !synced && !over;
    if (synced || (is_blocked && !over))
        return KI_OK;
    if (over)
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    char why[KI_INFORMER_WHY_MAX];
    ki_error_set(err, KI_ERR_TIMEOUT, "not synced in time: %s (%s)", name, ki_informer_why(informer, why));
    ki_informer_note_blocked(informer, err);
    return KI_ERR_TIMEOUT;
}

ki_status ki_informer_wait_for_sync(ki_informer *informer, int64_t timeout_ms, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_wait_for_sync");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    return ki_informer_wait_until_synced(informer, ki_deadline_of_timeout(timeout_ms), NULL, err);
}

void ki_informer_wake_waits(ki_informer *informer) {
    ki_mutex_lock(&informer->waits.lock);
    ki_cond_broadcast(&informer->waits.changed);
    ki_mutex_unlock(&informer->waits.lock);
}

ki_status ki_registration_wait_for_sync(ki_registration registration, int64_t timeout_ms, ki_error *err) {
    ki_informer *informer = registration.informer;
    if (!informer)
        return ki_error_missing(err, "ki_registration_wait_for_sync");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    const char *name = informer->options.selection->name;
    if (ki_callback_is_inside(informer->options.owner) || ki_engine_on_loop(informer->options.engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for a handler of %s on a thread that it needs", name);
    int64_t deadline = ki_deadline_of_timeout(timeout_ms);
    bool synced, exists = true, over = false, in_time = true;
    ki_mutex_lock(&informer->waits.lock);
    while (!(synced = ki_registration_has_synced(registration)) && !(over = ki_informer_has_ended(informer)) &&
           (exists = ki_registration_exists(registration)) && in_time)
        in_time = ki_engine_wait(informer->options.engine, &informer->waits.changed, &informer->waits.lock, deadline);
    ki_mutex_unlock(&informer->waits.lock);
    if (synced)
        return KI_OK;
    if (!exists)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "no such handler of the informer of %s", name);
    if (over)
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    char why[KI_INFORMER_WHY_MAX];
    ki_error_set(err, KI_ERR_TIMEOUT, "not synced in time: a handler of %s (%s; %zu changes queued)", name,
                 ki_informer_why(informer, why), ki_registration_pending(registration));
    ki_informer_note_blocked(informer, err);
    return KI_ERR_TIMEOUT;
}
