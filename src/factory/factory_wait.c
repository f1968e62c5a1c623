/* factory_wait.c: waits until a factory's informers have synced, with a result for each. */
#include "src/factory/factory_parts.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/shared_informer.h"
#include "src/engine/callback.h"

#include <stdio.h>

bool ki_factory_has_synced(const ki_factory *factory) {
    if (ki_engine_is_forked(factory->engine))
        return false;
    ki_factory *locked;
    memcpy(&locked, &factory, sizeof locked); /* reading takes the lock */
    bool is_requested;
    for (ki_informer_entry *entry = NULL; (entry = ki_factory_next_entry(locked, entry, &is_requested));)
        if (is_requested && !ki_informer_has_synced(entry->informer) && !ki_informer_is_removed(entry->informer))
            return false;
    return true;
}

/* "not synced in time: pods in default (blocked: forbidden: list pods in namespace default), nodes (connecting)".
 * `is_blocked`: the wait ended before its time, with the cause of the first informer. */
static ki_status set_not_synced(ki_factory *factory, bool is_blocked, ki_error *err) {
    char names[KI_ERROR_MESSAGE_MAX];
    ki_error cause = KI_ERROR_INIT;
    size_t used = 0;
    bool is_requested;
    names[0] = '\0';
    for (ki_informer_entry *entry = NULL; (entry = ki_factory_next_entry(factory, entry, &is_requested));) {
        char why[KI_INFORMER_WHY_MAX];
        if (!is_requested || ki_informer_has_synced(entry->informer))
            continue;
        if (!used)
            (void)ki_informer_sync_cause(entry->informer, &cause);
        int size = snprintf(names + used, sizeof names - used, "%s%s (%s)", used ? ", " : "", entry->selection->name,
                            ki_informer_why(entry->informer, why));
        if (size < 0 || (size_t)size >= sizeof names - used) {
            names[used] = '\0'; /* drops an incomplete name */
            break;
        }
        used += (size_t)size;
    }
    if (is_blocked && cause.code) {
        snprintf(cause.message, sizeof cause.message, "not synced: %.*s", KI_ERROR_MESSAGE_MAX - 32, names);
        if (err)
            *err = cause;
        return cause.code;
    }
    ki_error_set(err, KI_ERR_TIMEOUT, "not synced in time: %s", names);
    for (ki_informer_entry *entry = NULL; (entry = ki_factory_next_entry(factory, entry, &is_requested));)
        if (is_requested && !ki_informer_has_synced(entry->informer) && !ki_informer_is_removed(entry->informer))
            ki_informer_note_blocked(entry->informer, err);
    return KI_ERR_TIMEOUT;
}

static ki_status wait_for_all(ki_factory *factory, int64_t deadline, ki_error *err) {
    bool is_requested, has_informer = false, has_started = false, has_blocked = false;
    for (ki_informer_entry *entry = NULL; (entry = ki_factory_next_entry(factory, entry, &is_requested));) {
        has_informer = true;
        has_started |= is_requested;
        bool is_blocked = false;
        ki_status status =
            is_requested
                ? ki_informer_wait_until_synced(entry->informer, deadline,
                                                factory->options.waits_end_when_blocked ? &is_blocked : NULL, err)
                : KI_OK;
        has_blocked = has_blocked || is_blocked;
        if (status == KI_ERR_TIMEOUT)
            return set_not_synced(factory, false, err);
        if (status && !ki_informer_is_removed(entry->informer))
            return status;
    }
    if (has_informer && !has_started)
        return ki_error_set(err, KI_ERR_STATE, "waiting for informers, but none is started: call ki_factory_start");
    if (has_blocked && !ki_factory_has_synced(factory))
        return set_not_synced(factory, true, err);
    ki_error_clear(err);
    return KI_OK;
}

static ki_status read_results(const ki_factory *factory, ki_status waited, ki_sync_results *results, ki_error *err) {
    KI_HELD(&factory->mutex);
    const ki_informer_table *table = &factory->table;
    results->allocator = table->allocator;
    size_t count = table->by_key.count;
    if (count > 0)
        results->results = ki_alloc_array(table->allocator, count, sizeof *results->results);
    if (count > 0 && !results->results)
        return ki_error_no_memory(err, "reading which informers have synced");
    for (const ki_informer_entry *entry = table->first; entry; entry = entry->next) {
        if (entry->is_removed || !entry->is_start_requested)
            continue;
        ki_sync_result *result = &results->results[results->count++];
        *result = (ki_sync_result){ .informer = entry->informer, .name = entry->selection->name };
        result->synced = ki_informer_sync_cause(entry->informer, &result->cause) == KI_OK;
        if (waited == KI_ERR_CANCELLED && result->cause.code == KI_ERR_TIMEOUT) /* the loop is about to stop it */
            (void)!ki_error_set(&result->cause, KI_ERR_CANCELLED, "%s", ki_state_name(KI_STATE_STOPPED));
    }
    return KI_OK;
}

void ki_sync_results_free(ki_sync_results *results) {
    if (!results)
        return;
    ki_free(results->allocator, results->results);
    *results = (ki_sync_results){ .results = NULL };
}

ki_status ki_factory_wait_for_sync(ki_factory *factory, int64_t timeout_ms, ki_sync_results *ret_results,
                                   ki_error *err) {
    if (ret_results)
        *ret_results = (ki_sync_results){ .results = NULL };
    if (!factory)
        return ki_error_missing(err, "ki_factory_wait_for_sync");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    if (ki_callback_is_inside(factory) || ki_engine_on_loop(factory->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for informers on a thread that they need");
    ki_status status = wait_for_all(factory, ki_deadline_of_timeout(timeout_ms), err);
    if (!ret_results)
        return status;
    ki_mutex_lock(&factory->mutex);
    ki_status read = read_results(factory, status, ret_results, status ? NULL : err);
    ki_mutex_unlock(&factory->mutex);
    return status ? status : read;
}
