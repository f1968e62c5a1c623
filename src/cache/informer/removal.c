/* removal.c: the end of an informer that is removed while its factory continues.
 *
 * The call empties the cache and cancels the waits. A task on the loop then stops the informer. What is large goes in
 * parts: the objects in deferred_free.h, the queue in the steps of the process loop, the handlers as other removed
 * handlers do. At the end the queue and the sources are freed. What other threads may still call stays: locks, health,
 * the empty store. */
#include "src/cache/informer/informer_parts.h"

/* --- any thread --------------------------------------------------------------------------------------------------- */

ki_status ki_informer_remove(ki_informer *informer, ki_error *err) {
    ki_snapshot *empty;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = ki_store_new_empty(informer->store, &empty, err);
    if (!status) {
        informer->life.is_frozen = true;
        ki_mutex_lock(&informer->waits.lock);
        atomic_store(&informer->removal.is_begun, true);
        atomic_store(&informer->sync.is_done, false);
        ki_informer_cancel_waits(informer);
        ki_mutex_unlock(&informer->waits.lock);
        /* After is_removed: a reader of the empty cache then finds the informer removed. */
        informer->removal.cleared = ki_store_snapshot(informer->store);
        ki_store_publish(informer->store, empty);
    }
    ki_fair_mutex_unlock(&informer->change_lock);
    if (!status)
        ki_task_post(&informer->removal.task);
    return status;
}

bool ki_informer_is_removed(const ki_informer *informer) {
    return atomic_load(&informer->removal.is_begun);
}

/* --- loop --------------------------------------------------------------------------------------------------------- */

static void stop_removed(ki_task *task, void *user) {
    (void)task;
    ki_informer *informer = user;
    ki_informer_end_work(informer, false);
    ki_fair_mutex_lock(&informer->change_lock);
    ki_deferred_add_snapshot(&informer->deferred, informer->removal.cleared);
    informer->removal.cleared = NULL;
    ki_informer_drop_staged(informer);
    ki_informer_end_deleted(informer);
    bool has_queue_to_drain = informer->life.is_started;
    ki_fair_mutex_unlock(&informer->change_lock);
    if (has_queue_to_drain)
        ki_process_loop_wake(&informer->work.loop);
    else
        ki_informer_free_sources(informer);
}

void ki_informer_init_removal(ki_informer *informer) {
    ki_task_init(&informer->removal.task, informer->options.engine, stop_removed, informer);
}

void ki_informer_end_removed(void *user) {
    ki_informer *informer = user;
    ki_process_loop_close(&informer->work.loop);
    ki_informer_free_sources(informer);
}
