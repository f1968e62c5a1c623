/* workers.c: starts reconciles: on threads, or in turns on the loop of a stepped engine. */
#include "controllers/controller/controller.h"
#include "controllers/workqueue/workqueue.h"
#include "src/base/assert.h"
#include "src/base/log.h"

#include <string.h>

enum {
    THREAD_NAME_MAX = 15 /* bytes; the kernel's limit */
};

static bool is_leader(const ki_controller *controller) {
    return !controller->elector || (atomic_load(&controller->leads) && ki_elector_is_leader(controller->elector));
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* Puts `ended` back (NULL: none). Waits until a reconcile may start, and takes a free one; NULL if the controller
 * stops. */
static ki_reconcile *wait_for_call(ki_controller *controller, ki_reconcile *ended) {
    KI_ASSERT(!ki_engine_on_loop(controller->engine));
    ki_reconcile *call = NULL;
    ki_mutex_lock(&controller->mutex);
    if (ended)
        ki_reconcile_put_ended(ended);
    controller->threads.waiting++;
    while (!atomic_load(&controller->is_stopping)) {
        bool may_begin = controller->state.may_work && controller->unused;
        if (may_begin && is_leader(controller)) {
            call = ki_reconcile_take(controller);
            break;
        }
        /* Nothing signals the renewal of an expired lease, so this wait has a time limit. */
        (void)ki_cond_wait_until(&controller->changed, &controller->mutex,
                                 may_begin ? ki_monotonic_now() + KI_CONTROLLER_LEASE_LOOK : INT64_MAX);
    }
    controller->threads.waiting--;
    ki_mutex_unlock(&controller->mutex);
    return call;
}

static void work(ki_controller *controller) {
    ki_reconcile *call = NULL;
    while ((call = wait_for_call(controller, call))) {
        const char *key = ki_workqueue_get(controller->queue, -1, NULL);
        if (!key) {
            ki_reconcile_give_back(call);
            return;
        }
        if (!ki_reconcile_run(call, key))
            call = NULL;
    }
}

static void thread_main(void *user) {
    ki_controller *controller = user;
    ki_engine_adopt_thread(controller->engine);
    work(controller);
    ki_mutex_lock(&controller->mutex);
    KI_ASSERT(controller->threads.live > 0);
    controller->threads.live--;
    ki_controller_note_change(controller);
    ki_mutex_unlock(&controller->mutex);
}

/* Counts a thread before its start. Returns false if the controller stops. */
static bool may_start_thread(ki_controller *controller) {
    ki_mutex_lock(&controller->mutex);
    bool may_start = !atomic_load(&controller->is_stopping);
    if (may_start)
        controller->threads.live++;
    KI_ASSERT(controller->threads.live <= controller->given.workers);
    ki_mutex_unlock(&controller->mutex);
    return may_start;
}

static ki_status start_thread(ki_controller *controller, ki_error *err) {
    char name[THREAD_NAME_MAX + 1] = { 0 };
    strncpy(name, controller->name, THREAD_NAME_MAX);
    ki_status status =
        ki_thread_start(&controller->threads.list[controller->threads.count], name, thread_main, controller, err);
    if (!status) {
        controller->threads.count++;
        return KI_OK;
    }
    ki_mutex_lock(&controller->mutex);
    controller->threads.live--;
    ki_controller_note_change(controller);
    ki_mutex_unlock(&controller->mutex);
    return status;
}

void ki_controller_start_threads(ki_controller *controller) {
    KI_ON_LOOP(controller->engine);
    KI_ASSERT(ki_engine_is_threaded(controller->engine));
    ki_workqueue_forget_on_ready(controller->queue);
    ki_error err = KI_ERROR_INIT;
    while (controller->threads.count < controller->given.workers && may_start_thread(controller)) {
        if (start_thread(controller, &err) == KI_OK)
            continue;
        ki_log_write(ki_engine_log(controller->engine), KI_LOG_ERROR, "controller", "%s: %zu of %zu workers run: %s",
                     controller->name, controller->threads.count, controller->given.workers, ki_error_message(&err));
        ki_controller_retry_in(controller, KI_CONTROLLER_RETRY);
        return;
    }
}

/* --- turns on the loop -------------------------------------------------------------------------------------------- */

void ki_controller_take_turn(ki_task *task, void *user) {
    ki_controller *controller = user;
    KI_ON_LOOP(controller->engine);
    if (atomic_load(&controller->is_stopping) || ki_engine_is_threaded(controller->engine))
        return;
    bool leads = is_leader(controller);
    ki_mutex_lock(&controller->mutex);
    bool may_work = controller->state.may_work;
    ki_reconcile *call = may_work && leads ? ki_reconcile_take(controller) : NULL;
    ki_mutex_unlock(&controller->mutex);
    if (may_work && !leads)
        ki_controller_retry_in(controller, KI_CONTROLLER_LEASE_LOOK);
    if (!call)
        return; /* a reconcile that ends, ki_controller_try_to_begin or the retry timer comes back here */
    const char *key = ki_workqueue_get(controller->queue, 0, NULL);
    if (!key) {
        ki_reconcile_give_back(call);
        return; /* on_ready posts the task */
    }
    ki_task_post(task);
    if (!ki_reconcile_run(call, key))
        return;
    ki_mutex_lock(&controller->mutex);
    ki_reconcile_put_ended(call);
    ki_mutex_unlock(&controller->mutex);
}
