/* reconcile.c: one reconcile: calls the program's function, then queues the key again as the result asks.
 *
 * A controller has as many ki_reconcile structs as workers. One is taken, runs for a key, ends, and is free again. It
 * ends when the function returns. A deferred one ends when the function has returned an error, or has returned and
 * ki_reconcile_finish was called, in either order. Queueing the key again cannot fail: the queue has all memory for a
 * key that is being processed. */
#include "controllers/controller/controller.h"

#include "controllers/workqueue/workqueue.h"
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/engine/callback.h"

/* --- free structs ------------------------------------------------------------------------------------------------- */

ki_reconcile *ki_reconcile_take(ki_controller *controller) {
    KI_HELD(&controller->mutex);
    ki_reconcile *call = controller->unused;
    if (!call)
        return NULL;
    controller->unused = call->next;
    call->key = NULL;
    call->result = KI_RECONCILE_DONE;
    call->delay_ms = 0;
    call->is_terminal = call->is_logged = call->is_deferred = call->has_returned = call->is_finished = false;
    call->status = KI_OK;
    call->err = (ki_error)KI_ERROR_INIT;
    return call;
}

static void put_unused(ki_reconcile *call) {
    KI_HELD(&call->controller->mutex);
    ki_controller *controller = call->controller;
    call->next = controller->unused;
    controller->unused = call;
    if (controller->threads.waiting > 0 || atomic_load(&controller->is_stopping))
        ki_controller_note_change(controller);
}

void ki_reconcile_give_back(ki_reconcile *call) {
    ki_controller *controller = call->controller;
    ki_mutex_lock(&controller->mutex);
    put_unused(call);
    ki_mutex_unlock(&controller->mutex);
}

void ki_reconcile_put_ended(ki_reconcile *call) {
    ki_controller *controller = call->controller;
    KI_HELD(&controller->mutex);
    KI_ASSERT(controller->running > 0);
    controller->running--;
    if (!ki_engine_is_threaded(controller->engine))
        ki_task_post(&controller->tasks.work); /* a ready key may have waited for a free struct */
    put_unused(call);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Queues the key again with the priority it had. After a shutdown the key is not needed. */
static void queue_again(const ki_reconcile *call, ki_add_options options) {
    ki_workqueue *queue = call->controller->queue;
    options.priority = ki_workqueue_priority(queue, call->key);
    (void)ki_workqueue_add_with(queue, call->key, &options);
}

/* Queues the key again if the result asks for it. Returns true if the failures of the key are to be forgotten: they are
 * kept while they delay it. */
static bool apply_result(const ki_reconcile *call) {
    if (call->status ? !call->is_terminal : call->result == KI_RECONCILE_REQUEUE) {
        queue_again(call, KI_ADD_OPTIONS(.rate_limited = true));
        return false;
    }
    if (!call->status && call->result == KI_RECONCILE_REQUEUE_AFTER)
        queue_again(call, KI_ADD_OPTIONS(.after_ms = call->delay_ms > 0 ? call->delay_ms : 0));
    return true;
}

/* Ends the key's processing, or has it wait for the reconcile's writes. */
static void end_key(ki_reconcile *call, bool forgets) {
    ki_workqueue *queue = call->controller->queue;
    if (forgets && call->writes) { /* their end can free the key */
        ki_workqueue_forget(queue, call->key);
        forgets = false;
    }
    if (!call->writes || !ki_own_writes_end(call))
        (void)ki_workqueue_finish(queue, call->key, forgets);
}

static ki_controller_count count_of(const ki_reconcile *call) {
    static const ki_controller_count counts[] = {
        [KI_RECONCILE_DONE] = KI_COUNT_SUCCESS,
        [KI_RECONCILE_REQUEUE] = KI_COUNT_REQUEUE,
        [KI_RECONCILE_REQUEUE_AFTER] = KI_COUNT_REQUEUE_AFTER,
    };
    return call->status ? KI_COUNT_ERROR : counts[call->result];
}

/* After the end of a term the key is another process's. */
static void note_failure(const ki_reconcile *call) {
    ki_controller *controller = call->controller;
    int requeues = ki_workqueue_num_requeues(controller->queue, call->key);
    ki_mutex_lock(&controller->mutex);
    if (atomic_load(&controller->leads))
        ki_failures_note(&controller->results.failures, call->key, requeues, !call->is_terminal, &call->err,
                         ki_engine_now(controller->engine));
    ki_mutex_unlock(&controller->mutex);
}

/* Counts the reconcile if it has ended; returns true then. Caller holds the mutex, calls end() after the unlock, and
 * then puts the struct back. */
static bool count_if_ended(const ki_reconcile *call) {
    KI_HELD(&call->controller->mutex);
    KI_ASSERT(!call->is_finished || call->is_deferred);
    ki_controller *controller = call->controller;
    if (!call->has_returned || !(call->status || !call->is_deferred || call->is_finished))
        return false;
    ki_controller_count_end(controller, count_of(call), call->status && call->is_terminal,
                            ki_engine_now(controller->engine) - call->started_at);
    if (!call->status && controller->results.failures.count)
        ki_failures_remove(&controller->results.failures, call->key);
    return true;
}

/* A conflict is normal: another program wrote the object, or the cache was behind. */
static ki_log_level level_of(const ki_error *err) {
    return ki_error_is_conflict(err) ? KI_LOG_WARNING : KI_LOG_ERROR;
}

static void end(ki_reconcile *call) {
    KI_ASSERT(call->has_returned && (call->status || !call->is_deferred || call->is_finished));
    ki_controller *controller = call->controller;
    bool is_retried = !call->is_terminal && !atomic_load(&controller->is_stopping);
    if (call->status && !call->is_logged)
        ki_log_write(ki_engine_log(controller->engine), level_of(&call->err), "controller", "%s: reconcile %s: %s; %s",
                     controller->name, call->key, ki_error_message(&call->err),
                     is_retried ? "retried later" : "not retried");
    if (call->status)
        note_failure(call);
    end_key(call, apply_result(call));
}

/* --- the function ------------------------------------------------------------------------------------------------- */

/* Counts the reconcile. Returns false if it must not begin: the controller stops, or this process leads no more. */
static bool begin(ki_reconcile *call, const char *key) {
    ki_controller *controller = call->controller;
    call->key = key;
    call->term = (ki_term){ .terms = NULL };
    ki_mutex_lock(&controller->mutex);
    controller->running++;
    KI_ASSERT(controller->running <= controller->given.workers && !call->has_returned);
    if (controller->elector)
        call->term = ki_elector_term(controller->elector);
    bool may_begin =
        !atomic_load(&controller->is_stopping) && atomic_load(&controller->leads) && ki_term_lasts(&call->term);
    ki_mutex_unlock(&controller->mutex);
    if (may_begin && controller->given.waits_for_writes)
        ki_own_writes_begin(call);
    return may_begin;
}

/* Enters two owners: inside the function ki_controller_free does not wait, and ki_factory_shutdown fails. */
static ki_status call_program(ki_reconcile *call, ki_error *err) {
    const ki_controller *controller = call->controller;
    ki_callback of_controller, of_factory;
    const ki_term *outer = ki_term_swap(&call->term);
    ki_callback_enter(&of_controller, controller);
    ki_callback_enter(&of_factory, ki_component_owner(&controller->component));
    ki_status status = controller->given.reconcile(call, call->key, controller->given.user, err);
    ki_callback_leave(&of_factory);
    ki_callback_leave(&of_controller);
    ki_term_swap(outer);
    return status;
}

static void take_error(ki_reconcile *call, ki_status status, const ki_error *err) {
    KI_ASSERT(status);
    call->status = status;
    if (err->code)
        call->err = *err;
    else
        (void)ki_error_set(&call->err, status, "%s", ki_status_name(status));
}

bool ki_reconcile_run(ki_reconcile *call, const char *key) {
    ki_controller *controller = call->controller;
    ki_error err = KI_ERROR_INIT;
    if (!begin(call, key)) {
        queue_again(call, KI_ADD_OPTIONS(.after_ms = 0));
        end_key(call, false);
        return true;
    }
    call->started_at = ki_engine_now(controller->engine);
    ki_status status = call_program(call, &err);
    ki_mutex_lock(&controller->mutex);
    if (status)
        take_error(call, status, &err);
    KI_ASSERT(!call->has_returned && call->key == key);
    call->has_returned = true;
    bool ends = count_if_ended(call);
    ki_mutex_unlock(&controller->mutex);
    if (ends)
        end(call);
    return ends;
}

/* --- public functions --------------------------------------------------------------------------------------------- */

void ki_reconcile_requeue(ki_reconcile *call) {
    call->result = KI_RECONCILE_REQUEUE;
}

void ki_reconcile_requeue_after(ki_reconcile *call, int64_t delay_ms) {
    call->result = KI_RECONCILE_REQUEUE_AFTER;
    call->delay_ms = delay_ms;
}

void ki_reconcile_set_terminal(ki_reconcile *call) {
    call->is_terminal = true;
}

void ki_reconcile_set_logged(ki_reconcile *call) {
    call->is_logged = true;
}

void ki_reconcile_defer(ki_reconcile *call) {
    ki_mutex_lock(&call->controller->mutex);
    call->is_deferred = true;
    ki_mutex_unlock(&call->controller->mutex);
}

void ki_reconcile_finish(ki_reconcile *call, const ki_error *cause) {
    ki_controller *controller = call->controller;
    if (ki_engine_is_forked(controller->engine))
        return;
    ki_mutex_lock(&controller->mutex);
    bool is_first = call->is_deferred && !call->is_finished;
    if (is_first) {
        call->is_finished = true;
        if (cause)
            take_error(call, cause->code ? cause->code : KI_ERR_STATE, cause);
    }
    bool ends = is_first && count_if_ended(call);
    ki_mutex_unlock(&controller->mutex);
    if (!ends)
        return;
    end(call);
    ki_mutex_lock(&controller->mutex);
    ki_reconcile_put_ended(call);
    ki_mutex_unlock(&controller->mutex); /* the controller may be freed afterwards */
}

const char *ki_reconcile_key(const ki_reconcile *call) {
    return call->key;
}

ki_controller *ki_reconcile_controller(const ki_reconcile *call) {
    return call->controller;
}

bool ki_reconcile_is_cancelled(const ki_reconcile *call) {
    return atomic_load(&call->controller->is_stopping) || !ki_term_lasts(&call->term);
}

const ki_term *ki_reconcile_term(const ki_reconcile *call) {
    return &call->term;
}
