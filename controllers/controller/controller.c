/* controller.c: creates, starts, stops and frees a controller.
 *
 * The end: ki_controller_stop sets `is_stopping` and shuts the queue down. Each reconcile or thread that ends
 * afterwards checks whether it was the last. The loop's task then reports the end to the factory. The thread that frees
 * the controller waits for that point. It must not wait inside a reconcile or on the loop: there it leaves the
 * controller to the loop (`is_left`). */
#include "controllers/controller/controller.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/base/string_view.h"
#include "src/engine/callback.h"

#include <string.h>

/* --- start -------------------------------------------------------------------------------------------------------- */

void ki_controller_retry_in(ki_controller *controller, int64_t delay_ns) {
    KI_ON_LOOP(controller->engine);
    int64_t at = ki_engine_now(controller->engine) + delay_ns;
    if (!ki_timer_is_set(&controller->tasks.retry) || controller->tasks.retry.node.rank > at)
        ki_timer_set(&controller->tasks.retry, at);
}

void ki_controller_try_to_begin(ki_controller *controller) {
    KI_ON_LOOP(controller->engine);
    ki_mutex_lock(&controller->mutex);
    controller->state.has_synced =
        controller->state.is_started && (controller->state.has_synced || controller->state.unsynced == 0);
    bool may_work =
        controller->state.has_synced && atomic_load(&controller->leads) && !atomic_load(&controller->is_stopping);
    controller->state.may_work = may_work;
    ki_cond_broadcast(&controller->changed);
    ki_mutex_unlock(&controller->mutex);
    if (!may_work)
        return;
    if (ki_engine_is_threaded(controller->engine))
        ki_controller_start_threads(controller);
    else
        ki_task_post(&controller->tasks.work);
}

/* Each source queues what is there, or (`leads` false) forgets what it would queue. Caller holds the mutex: a source
 * that another thread is adding has either seen the change of the leader or is in the list. */
static void begin_or_end_term(ki_controller *controller, bool leads) {
    KI_ON_LOOP(controller->engine);
    KI_HELD(&controller->mutex);
    for (ki_source *source = atomic_load(&controller->sources); source; source = source->next)
        if (leads)
            ki_source_queue_all(source);
        else
            ki_source_forget(source);
}

static void start(ki_component *component) {
    ki_controller *controller = ki_controller_of(component);
    ki_mutex_lock(&controller->mutex);
    controller->state.is_started = true;
    if (controller->elector && atomic_load(&controller->leads)) /* events before this term were ignored */
        begin_or_end_term(controller, true);
    ki_mutex_unlock(&controller->mutex);
    ki_task_post(&controller->tasks.catch_up);
    ki_controller_try_to_begin(controller);
}

/* The elector's hook: starts or ends a term. */
static void leads_changed(bool leads, void *user) {
    ki_controller *controller = user;
    KI_ASSERT(controller->elector && atomic_load(&controller->leads) != leads);
    ki_mutex_lock(&controller->mutex);
    atomic_store(&controller->leads, leads);
    if (!leads)
        controller->results.failures.count = 0; /* the keys are another process's */
    if (controller->state.is_started)           /* otherwise start() does it */
        begin_or_end_term(controller, leads);
    ki_mutex_unlock(&controller->mutex);
    ki_controller_try_to_begin(controller);
}

/* The elector's hook. A worker counts its reconcile and then reads `leads`, so none begins after this. */
static bool is_busy(void *user) {
    ki_controller *controller = user;
    ki_mutex_lock(&controller->mutex);
    bool busy = controller->running > 0;
    ki_mutex_unlock(&controller->mutex);
    return busy;
}

/* --- work on the loop --------------------------------------------------------------------------------------------- */

static bool has_ended(const ki_controller *controller) {
    KI_HELD(&controller->mutex);
    return atomic_load(&controller->is_stopping) && controller->running == 0 && controller->threads.live == 0 &&
           !controller->waiting_writes;
}

void ki_controller_note_change(ki_controller *controller) {
    KI_HELD(&controller->mutex);
    KI_ASSERT(controller->running <= controller->given.workers &&
              controller->threads.live <= controller->given.workers);
    if (controller->threads.waiting > 0)
        ki_cond_broadcast(&controller->changed);
    if (!has_ended(controller))
        return;
    ki_task_post(&controller->tasks.end);
    if (controller->state.is_left)
        ki_component_note_end(&controller->component);
}

static void destroy(ki_controller *controller);

/* Destroys a controller that its program has freed, once all work has ended. Returns true if the controller was
 * destroyed. */
static bool reap_if_ended(ki_controller *controller, bool *ret_has_ended) {
    ki_mutex_lock(&controller->mutex);
    *ret_has_ended = has_ended(controller);
    bool must_destroy = *ret_has_ended && controller->state.is_left;
    ki_mutex_unlock(&controller->mutex);
    if (must_destroy)
        destroy(controller);
    return must_destroy;
}

static void run_task(ki_task *task, void *user) {
    ki_controller *controller = user;
    bool has_ended;
    while (atomic_load(&controller->is_stopping) && ki_own_writes_cancel_one(controller)) {
        if (!ki_engine_work(controller->engine, 1)) {
            ki_task_post(task);
            return;
        }
    }
    if (!reap_if_ended(controller, &has_ended) && has_ended)
        ki_component_stopped(&controller->component);
}

static void catch_up(ki_task *task, void *user) {
    ki_controller *controller = user;
    if (!controller->state.is_started)
        return; /* start() posts the task again */
    for (ki_source *source = atomic_load(&controller->sources); source; source = source->next) {
        bool more = false;
        if (atomic_load(&controller->is_stopping))
            return;
        if (ki_source_catch_up(source, &more)) {
            ki_controller_retry_in(controller, KI_CONTROLLER_RETRY);
        } else if (more) {
            ki_task_post(task);
            return;
        }
    }
}

static void retry(ki_timer *timer, void *user) {
    (void)timer;
    ki_controller *controller = user;
    ki_task_post(&controller->tasks.catch_up);
    ki_controller_try_to_begin(controller);
}

static void on_ready(ki_workqueue *queue, void *user) {
    (void)queue;
    ki_controller *controller = user;
    if (!ki_engine_is_threaded(controller->engine))
        ki_task_post(&controller->tasks.work);
}

/* --- stop --------------------------------------------------------------------------------------------------------- */

void ki_controller_stop(ki_controller *controller) {
    if (!controller || ki_engine_is_forked(controller->engine))
        return;
    ki_mutex_lock(&controller->mutex);
    atomic_store(&controller->is_stopping, true);
    ki_cond_broadcast(&controller->changed);
    ki_mutex_unlock(&controller->mutex);
    ki_workqueue_shut_down(controller->queue);
    ki_task_post(&controller->tasks.end);
}

static void stop(ki_component *component) {
    ki_controller_stop(ki_controller_of(component));
}

/* The loop may have ended, and the task with it. */
static void cancel_waits_on_loop(void *user) {
    while (ki_own_writes_cancel_one(user)) {}
}

static void reap(ki_component *component) {
    ki_controller *controller = ki_controller_of(component);
    bool has_ended;
    cancel_waits_on_loop(controller);
    (void)reap_if_ended(controller, &has_ended);
}

/* --- new ---------------------------------------------------------------------------------------------------------- */

static ki_status read_options(const ki_controller_options *options, ki_controller_options *ret_given, ki_error *err) {
    if (KI_OPTIONS_TAKE(options, ret_given, "KI_CONTROLLER_OPTIONS", err))
        return KI_ERR_INVALID;
    if (!ret_given->name || !ret_given->name[0] || !ki_str_is_utf8(ki_str_of(ret_given->name)))
        return ki_error_set(err, KI_ERR_INVALID, "a controller needs a name, in UTF-8");
    if (!ret_given->reconcile)
        return ki_error_set(err, KI_ERR_INVALID, "controller %s has no reconcile function", ret_given->name);
    if (ret_given->workers < 0 || ret_given->stop_timeout_ms < 0)
        return ki_error_set(err, KI_ERR_INVALID, "controller %s: workers or stop timeout below 0", ret_given->name);
    if (ret_given->workers > KI_CONTROLLER_WORKERS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "controller %s has more than %d workers", ret_given->name,
                            KI_CONTROLLER_WORKERS_MAX);
    return KI_OK;
}

static ki_status open_locks(ki_controller *controller, ki_error *err) {
    ki_status status = ki_mutex_init(&controller->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&controller->changed, err);
    if (status)
        ki_mutex_destroy(&controller->mutex);
    return status;
}

static int64_t stop_timeout_ns(int64_t timeout_ms) {
    enum {
        YEAR_S = 365 * 24 * 3600
    };
    int64_t ms = timeout_ms ? timeout_ms : KI_CONTROLLER_STOP_TIMEOUT_MS;
    return KI_MILLISECONDS(ms < YEAR_S * INT64_C(1000) ? ms : YEAR_S * INT64_C(1000));
}

static ki_status allocate(ki_controller *controller, const ki_controller_options *given, ki_error *err) {
    const ki_allocator *allocator = controller->allocator;
    controller->given.workers = given->workers ? (size_t)given->workers : 1;
    controller->name = ki_strdup(allocator, given->name);
    controller->calls = ki_alloc_array(allocator, controller->given.workers, sizeof *controller->calls);
    controller->threads.list = ki_alloc_array(allocator, controller->given.workers, sizeof *controller->threads.list);
    if (!controller->name || !controller->calls || !controller->threads.list)
        return ki_error_no_memory(err, "making a controller");
    memset(controller->threads.list, 0, controller->given.workers * sizeof *controller->threads.list);
    for (size_t i = 0; i < controller->given.workers; i++) {
        controller->calls[i] = (ki_reconcile){ .controller = controller, .next = controller->unused };
        controller->unused = &controller->calls[i];
    }
    return KI_OK;
}

static void set_up_on_loop(void *user) {
    ki_controller *controller = user;
    ki_timer_init(&controller->tasks.retry, controller->engine, retry, controller);
    if (!controller->elector)
        return;
    controller->hook = (ki_elector_hook){ .changed = leads_changed, .is_busy = is_busy, .user = controller };
    ki_elector_add_hook(controller->elector, &controller->hook);
}

static ki_status fill(ki_controller *controller, ki_factory *factory, const ki_controller_options *given,
                      ki_error *err) {
    ki_status status = allocate(controller, given, err);
    if (status)
        return status;
    controller->given.reconcile = given->reconcile;
    controller->given.user = given->user;
    controller->given.waits_for_writes = !given->no_wait_for_writes;
    static const ki_rate_limit default_limit = KI_RATE_LIMIT_EXPONENTIAL(5, 1000000);
    const bool has_limits = given->rate_limits != NULL;
    const ki_workqueue_options queue_options =
        KI_WORKQUEUE_OPTIONS(.name = controller->name, .by_priority = !given->no_priority,
                             .rate_limits = has_limits ? given->rate_limits : &default_limit,
                             .rate_limit_count = has_limits ? given->rate_limit_count : 1, .on_ready = on_ready,
                             .user = controller);
    status = ki_workqueue_new(controller->engine, &queue_options, &controller->queue, err);
    if (status)
        return status;
    controller->elector = given->elector;
    atomic_store(&controller->leads, !given->elector);
    ki_engine_call(controller->engine, set_up_on_loop, controller);
    controller->component = (ki_component){ .order = KI_COMPONENT_WORKER,
                                            .name = controller->name,
                                            .stop_timeout_ns = stop_timeout_ns(given->stop_timeout_ms),
                                            .start = start,
                                            .stop = stop,
                                            .cut_off = stop,
                                            .reap = reap,
                                            .visit_metrics = ki_controller_visit_metrics };
    return ki_factory_add_component(factory, &controller->component, err);
}

ki_status ki_controller_new(ki_factory *factory, const ki_controller_options *options, ki_controller **ret_controller,
                            ki_error *err) {
    ki_controller_options given;
    if (!factory || !ret_controller)
        return ki_error_set(err, KI_ERR_INVALID, "ki_controller_new: factory or ret_controller is NULL");
    ki_status status = read_options(options, &given, err);
    if (status)
        return status;
    ki_engine *engine = ki_factory_engine(factory);
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    if (given.elector && ki_elector_engine(given.elector) != engine)
        return ki_error_set(err, KI_ERR_INVALID, "controller %s and its elector are of different engines", given.name);
    ki_controller *controller = ki_alloc_zero(ki_engine_allocator(engine), sizeof *controller);
    if (!controller)
        return ki_error_no_memory(err, "making a controller");
    controller->factory = factory;
    controller->engine = engine;
    controller->allocator = ki_engine_allocator(engine);
    ki_task_init(&controller->tasks.end, engine, run_task, controller);
    ki_task_init(&controller->tasks.work, engine, ki_controller_take_turn, controller);
    ki_task_init(&controller->tasks.catch_up, engine, catch_up, controller);
    status = open_locks(controller, err);
    if (status) {
        ki_free(controller->allocator, controller);
        return status;
    }
    status = fill(controller, factory, &given, err);
    if (status)
        destroy(controller);
    else
        *ret_controller = controller;
    return status;
}

/* --- free --------------------------------------------------------------------------------------------------------- */

/* Sets or (kind NULL) unsets what the controller reconciles. Takes the texts over. Caller holds the mutex. */
static void set_reconciled(ki_controller *controller, const ki_resource *resource) {
    KI_ASSERT(!controller->reconciled.kind || !resource->kind);
    ki_free(controller->allocator, (char *)(uintptr_t)controller->reconciled.group);
    ki_free(controller->allocator, (char *)(uintptr_t)controller->reconciled.kind);
    controller->reconciled = *resource;
}

/* Removes the elector's hook and the sources with their handlers. */
static void detach_on_loop(void *user) {
    KI_ON_LOOP(((ki_controller *)user)->engine);
    ki_controller *controller = user;
    if (controller->elector)
        ki_elector_remove_hook(controller->elector, &controller->hook);
    ki_own_writes_free_all(controller);
    for (ki_source *source; (source = atomic_load(&controller->sources));) {
        atomic_store(&controller->sources, source->next);
        ki_source_free(source);
    }
}

static void tear_down_on_loop(void *user) {
    ki_controller *controller = user;
    ki_task_cancel(&controller->tasks.end);
    ki_task_cancel(&controller->tasks.work);
    ki_task_cancel(&controller->tasks.catch_up);
    ki_timer_close(&controller->tasks.retry);
}

/* Frees a controller whose work has ended. Once the component is removed, the factory and the informers may be
 * freed. */
static void destroy(ki_controller *controller) {
    KI_ASSERT(controller->running == 0 && controller->threads.live == 0 && !controller->waiting_writes);
    const ki_allocator *allocator = controller->allocator;
    ki_engine_call(controller->engine, detach_on_loop, controller);
    ki_component_remove(&controller->component);
    for (size_t i = 0; i < controller->threads.count; i++)
        ki_thread_join(&controller->threads.list[i]); /* its thread_main has counted itself out and returns now */
    ki_workqueue_free(controller->queue);             /* before the tasks are cancelled: its on_ready posts one */
    ki_engine_call(controller->engine, tear_down_on_loop, controller);
    ki_cond_destroy(&controller->changed);
    ki_mutex_destroy(&controller->mutex);
    ki_free(allocator, controller->threads.list);
    ki_free(allocator, controller->calls);
    set_reconciled(controller, &(ki_resource){ .kind = NULL });
    ki_free(allocator, controller->name);
    ki_free(allocator, controller);
}

/* Waits until all work has ended. */
static void wait_for_end(ki_controller *controller) {
    ki_mutex_lock(&controller->mutex);
    controller->threads.waiting++;
    KI_ASSERT(!ki_engine_on_loop(controller->engine));
    while (!has_ended(controller))
        ki_cond_wait(&controller->changed, &controller->mutex);
    controller->threads.waiting--;
    ki_mutex_unlock(&controller->mutex);
}

void ki_controller_free(ki_controller *controller) {
    if (!controller || ki_engine_is_forked(controller->engine))
        return;
    bool is_inside = ki_callback_is_inside(controller);
    ki_controller_stop(controller);
    if (!is_inside)
        ki_engine_call(controller->engine, cancel_waits_on_loop, controller);
    if (!is_inside && !ki_engine_on_loop(controller->engine))
        wait_for_end(controller);
    ki_mutex_lock(&controller->mutex);
    bool may_go = !is_inside && has_ended(controller);
    controller->state.is_left = !may_go;
    ki_mutex_unlock(&controller->mutex);
    if (may_go) {
        destroy(controller);
        return;
    }
    ki_component_leave(&controller->component);
    ki_task_post(&controller->tasks.end);
}

/* --- public functions --------------------------------------------------------------------------------------------- */

void ki_controller_get_failure(const ki_controller *controller, ki_controller_failure *ret_failure) {
    ki_controller *self = (ki_controller *)(uintptr_t)controller; /* reading takes the lock */
    *ret_failure = (ki_controller_failure){ .key = "" };
    if (ki_engine_is_forked(controller->engine))
        return;
    ki_mutex_lock(&self->mutex);
    ki_failures_worst(&self->results.failures, ki_engine_now(self->engine), ret_failure);
    ki_mutex_unlock(&self->mutex);
}

ki_workqueue *ki_controller_queue(ki_controller *controller) {
    return controller->queue;
}

static ki_status watch(ki_controller *controller, ki_informer *informer, const ki_controller_watch_options *given,
                       ki_error *err) {
    ki_source *source = NULL;
    ki_status status;
    ki_mutex_lock(&controller->mutex);
    if (atomic_load(&controller->is_stopping))
        status = ki_error_set(err, KI_ERR_STATE, "controller %s is stopped", controller->name);
    else
        status = ki_source_new(controller, informer, given, &source, err);
    if (source) {
        source->next = atomic_load(&controller->sources);
        atomic_store(&controller->sources, source);
    }
    ki_mutex_unlock(&controller->mutex);
    return status;
}

ki_status ki_controller_watch(ki_controller *controller, ki_informer *informer,
                              const ki_controller_watch_options *options, ki_error *err) {
    ki_controller_watch_options given;
    if (!controller || !informer)
        return ki_error_set(err, KI_ERR_INVALID, "ki_controller_watch without a controller, or without an informer");
    if (ki_engine_check_process(controller->engine, err))
        return KI_ERR_STATE;
    ki_status status = KI_OPTIONS_TAKE(options, &given, "KI_CONTROLLER_WATCH", err);
    if (!status && given.informer_options)
        status = ki_error_set(err, KI_ERR_INVALID, "informer options of a watch of an informer that exists");
    return status ? status : watch(controller, informer, &given, err);
}

/* Makes the informer of ki_controller_for and ki_controller_owns, and reads the options. */
static ki_status make_informer(ki_controller *controller, const ki_resource *resource,
                               const ki_controller_watch_options *options, ki_controller_watch_options *ret_given,
                               ki_informer **ret_informer, ki_error *err) {
    ki_status status = KI_OPTIONS_TAKE(options, ret_given, "KI_CONTROLLER_WATCH", err);
    if (!status && (ret_given->owner || ret_given->map))
        status = ki_error_set(err, KI_ERR_INVALID,
                              "controller %s: an owner or a map function is for "
                              "ki_controller_watch",
                              controller->name);
    return status ? status
                  : ki_factory_informer(controller->factory, resource, ret_given->informer_options, ret_informer, err);
}

static ki_status begin_for(ki_controller *controller, const ki_resource *resource, ki_error *err) {
    const ki_allocator *allocator = controller->allocator;
    char *group = ki_strdup(allocator, resource->group), *kind = ki_strdup(allocator, resource->kind);
    ki_status status = group && kind ? KI_OK : ki_error_no_memory(err, "watching an informer");
    ki_mutex_lock(&controller->mutex);
    if (!status && controller->reconciled.kind)
        status =
            ki_error_set(err, KI_ERR_STATE, "controller %s: ki_controller_for was called before", controller->name);
    if (!status)
        set_reconciled(controller, &(ki_resource){ .group = group, .kind = kind, .namespaced = resource->namespaced });
    ki_mutex_unlock(&controller->mutex);
    if (status) {
        ki_free(allocator, group);
        ki_free(allocator, kind);
    }
    return status;
}

ki_status ki_controller_for(ki_controller *controller, const ki_resource *resource,
                            const ki_controller_watch_options *options, ki_informer **ret_informer, ki_error *err) {
    ki_informer *informer = NULL;
    ki_controller_watch_options given;
    if (!controller)
        return ki_error_missing(err, "ki_controller_for");
    ki_status status = make_informer(controller, resource, options, &given, &informer, err);
    if (!status && given.any_owner)
        status =
            ki_error_set(err, KI_ERR_INVALID, "controller %s: any_owner is for ki_controller_owns", controller->name);
    if (!status)
        status = begin_for(controller, resource, err);
    if (status)
        return status;
    status = watch(controller, informer, &given, err);
    if (status) {
        ki_mutex_lock(&controller->mutex);
        set_reconciled(controller, &(ki_resource){ .kind = NULL });
        ki_mutex_unlock(&controller->mutex);
    } else if (ret_informer) {
        *ret_informer = informer;
    }
    return status;
}

ki_status ki_controller_owns(ki_controller *controller, const ki_resource *resource,
                             const ki_controller_watch_options *options, ki_informer **ret_informer, ki_error *err) {
    ki_informer *informer = NULL;
    ki_controller_watch_options given;
    if (!controller)
        return ki_error_missing(err, "ki_controller_owns");
    ki_status status = make_informer(controller, resource, options, &given, &informer, err);
    if (status)
        return status;
    ki_mutex_lock(&controller->mutex);
    ki_resource owner = controller->reconciled; /* constant once ki_controller_for has returned */
    ki_mutex_unlock(&controller->mutex);
    given.owner = &owner;
    if (!owner.kind)
        status = ki_error_set(err, KI_ERR_STATE, "controller %s: call ki_controller_for first", controller->name);
    else
        status = watch(controller, informer, &given, err);
    if (!status && ret_informer)
        *ret_informer = informer;
    return status;
}
