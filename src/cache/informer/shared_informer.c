/* shared_informer.c: connects source, queue, process loop, store and listeners. Makes, starts, stops and frees an
 * informer. */
#include "src/cache/informer/shared_informer.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "src/cache/store/snapshot.h"
#include "src/engine/callback.h"
#include "src/object/resource_table.h"

/* --- callbacks from the parts ------------------------------------------------------------------------------------- */

void ki_informer_report(ki_informer *informer, const ki_error *err, const char *key) {
    if (!informer->settings.on_error)
        return;
    ki_callback callback;
    ki_callback_enter(&callback, informer->options.owner);
    informer->settings.on_error(informer, err, key, informer->settings.error_user);
    ki_callback_leave(&callback);
}

void ki_informer_note_state(ki_informer *informer, bool is_changed, bool has_cause) {
    ki_informer_log_state(informer, has_cause);
    if (!is_changed || !informer->settings.on_state)
        return;
    ki_health health;
    ki_callback callback;
    ki_informer_health(informer, &health);
    ki_callback_enter(&callback, informer->options.owner);
    informer->settings.on_state(informer, &health, informer->settings.state_user);
    ki_callback_leave(&callback);
}

/* Sets a state that no feed has. */
static void set_state(ki_informer *informer, ki_state state, const ki_error *cause) {
    bool is_changed =
        ki_health_set_state(&informer->health.record, state, cause, -1, ki_engine_now(informer->options.engine));
    ki_informer_note_state(informer, is_changed, cause != NULL);
}

static void on_stuck(const ki_error *err, int64_t retry_ns, void *user) {
    ki_informer *informer = user;
    if (atomic_load(&informer->removal.is_begun))
        return; /* a retry while the queue of a stopped informer is drained */
    int64_t now = ki_engine_now(informer->options.engine);
    bool is_changed = ki_health_set_stuck(&informer->health.record, err, now + retry_ns, now);
    ki_informer_note_state(informer, is_changed, err != NULL);
    if (err)
        ki_informer_report(informer, err, "");
}

static void report_bad_object(const ki_error *err, const char *key, void *user) {
    ki_informer *informer = user;
    ki_log_write(ki_engine_log(informer->options.engine), KI_LOG_WARNING, "reflector", "%s: object %s skipped: %s",
                 informer->options.selection->name, key[0] ? key : "without a name", ki_error_message(err));
    ki_informer_report(informer, err, key);
}

void ki_informer_count_skipped(ki_informer *informer, const ki_error *err, const char *key) {
    ki_health_count_skipped(&informer->health.record);
    ki_metrics_add(&informer->metrics, KI_METRIC_SKIPPED, 1);
    ki_report_limit_add(&informer->report_limit, err, key);
}

static void on_mutation(const ki_error *err, const char *key, void *user) {
    ki_informer_report(user, err, key);
}

/* Any thread. Stores the error for the loop. */
static void on_index_error(const ki_error *err, const char *key, void *user) {
    ki_informer *informer = user;
    ki_mutex_lock(&informer->index_errors.lock);
    bool is_first = informer->index_errors.count++ == 0;
    if (is_first) {
        ki_error_keep(ki_engine_allocator(informer->options.engine), &informer->index_errors.first, err);
        informer->index_errors.key = ki_strdup(ki_engine_allocator(informer->options.engine), key);
    }
    ki_mutex_unlock(&informer->index_errors.lock);
    if (is_first)
        ki_task_post(&informer->index_errors.task);
}

/* Drops the first error. Returns its key, to be freed; NULL: none, or it was lost for lack of memory. Caller holds
 * index_errors.lock. */
static char *take_index_error(ki_informer *informer) {
    char *key = informer->index_errors.key;
    ki_error_keep(ki_engine_allocator(informer->options.engine), &informer->index_errors.first, NULL);
    informer->index_errors.key = NULL;
    return key;
}

static void report_index_errors(ki_task *task, void *user) {
    (void)task;
    ki_informer *informer = user;
    ki_mutex_lock(&informer->index_errors.lock);
    ki_error err = ki_error_kept(&informer->index_errors.first);
    char *key = take_index_error(informer);
    size_t count = informer->index_errors.count;
    informer->index_errors.count = 0;
    ki_mutex_unlock(&informer->index_errors.lock);
    ki_metrics_add(&informer->metrics, KI_METRIC_INDEX_ERRORS, count);
    if (count > 1)
        ki_error_prefix(&err, "the first of %zu", count);
    if (count > 0)
        ki_informer_report(informer, &err, key ? key : "");
    ki_free(ki_engine_allocator(informer->options.engine), key);
}

/* --- new ---------------------------------------------------------------------------------------------------------- */

/* Makes what other threads share: the locks, health, and the log of changes. */
static ki_status init_shared(ki_informer *informer, ki_error *err) {
    ki_status status = ki_fair_mutex_init(&informer->change_lock, informer->options.engine, err);
    if (status)
        return status;
    status = ki_mutex_init(&informer->registry.lock, err);
    if (status)
        goto no_registry_lock;
    status = ki_mutex_init(&informer->index_errors.lock, err);
    if (status)
        goto no_index_error_lock;
    status = ki_mutex_init(&informer->waits.lock, err);
    if (status)
        goto no_wait_lock;
    status = ki_cond_init(&informer->waits.changed, err);
    if (status)
        goto no_cond;
    status =
        ki_health_init(&informer->health.record, &informer->health.stuck, ki_engine_now(informer->options.engine), err);
    if (status)
        goto no_health;
    status = ki_mutex_init(&informer->feeds.lock, err);
    if (status)
        goto no_feed_lock;
    status = ki_processor_init(&informer->processor, informer->options.engine,
                               ki_period_ns(informer->options.given.resync_ms, KI_RESYNC_MIN_MS), err);
    if (!status)
        return KI_OK;
    ki_mutex_destroy(&informer->feeds.lock);
no_feed_lock:
    ki_health_destroy(&informer->health.record);
no_health:
    ki_cond_destroy(&informer->waits.changed);
no_cond:
    ki_mutex_destroy(&informer->waits.lock);
no_wait_lock:
    ki_mutex_destroy(&informer->index_errors.lock);
no_index_error_lock:
    ki_mutex_destroy(&informer->registry.lock);
no_registry_lock:
    ki_fair_mutex_destroy(&informer->change_lock);
    return status;
}

static void destroy_shared(ki_informer *informer) {
    ki_free(ki_engine_allocator(informer->options.engine), take_index_error(informer));
    ki_processor_free(&informer->processor);
    ki_mutex_destroy(&informer->feeds.lock);
    ki_health_destroy(&informer->health.record);
    ki_wait_table_free(&informer->waits.table);
    ki_cond_destroy(&informer->waits.changed);
    ki_mutex_destroy(&informer->waits.lock);
    ki_mutex_destroy(&informer->index_errors.lock);
    ki_mutex_destroy(&informer->registry.lock);
    ki_fair_mutex_destroy(&informer->change_lock);
}

static ki_status make_queue(ki_informer *informer, ki_error *err) {
    const ki_queue_options options = {
        .size = sizeof options,
        .kind = informer->options.given.queue,
        .allocator = ki_engine_allocator(informer->options.engine),
        .known = ki_store_known_objects(informer->store),
        .batch_size = KI_INFORMER_SLICE,
        .seed = informer->options.seed,
    };
    ki_status status = ki_queue_new(&options, &informer->work.queue, err);
    if (status == KI_ERR_INVALID)
        ki_error_prefix(err, ".queue");
    return status;
}

static ki_status make_store_and_queue(ki_informer *informer, ki_error *err) {
    ki_store_options store_options = {
        .size = sizeof store_options,
        .allocator = ki_engine_allocator(informer->options.engine),
        .seed = informer->options.seed,
        .namespaced = informer->options.selection->resource.namespaced,
        .on_index_error = on_index_error,
        .user = informer,
    };
    ki_status status = ki_store_new(&store_options, &informer->store, err);
    if (status)
        return status;
    status = ki_deleted_objects_init(&informer->deleted.objects, &store_options,
                                     ki_period_ns(informer->options.given.keep_deleted_ms, 1), err);
    if (!status)
        status = make_queue(informer, err);
    if (status) {
        ki_deleted_objects_free(&informer->deleted.objects);
        ki_store_free(informer->store);
        return status;
    }
    ki_snapshot *first = ki_store_snapshot(informer->store);
    ki_deferred_serve(&informer->deferred, first);
    ki_snapshot_unref(first);
    return KI_OK;
}

ki_status ki_informer_new(const ki_shared_informer_options *options, ki_informer **ret_informer, ki_error *err) {
    static const ki_factory_options factory_defaults = { .size = sizeof factory_defaults };
    const ki_allocator *allocator = ki_engine_allocator(options->engine);
    ki_informer *informer = ki_alloc_zero(allocator, sizeof *informer);
    if (!informer)
        return ki_error_no_memory(err, "making an informer");
    informer->options = *options;
    if (!options->factory)
        informer->options.factory = &factory_defaults;
    if (!options->owner)
        informer->options.owner = informer;
    informer->options.engine = options->engine;
    informer->options.owner = informer->options.owner;
    informer->settings.transform.transform = informer->options.factory->transform;
    informer->settings.transform.user = informer->options.factory->user;
    ki_mutation_detector_init(&informer->detector.detector, allocator, on_mutation, informer);
    ki_informer_init_waits(informer);
    ki_informer_init_removal(informer);
    ki_informer_init_namespaces(informer);
    ki_task_init(&informer->index_errors.task, options->engine, report_index_errors, informer);
    ki_deferred_init(&informer->deferred, options->engine);
    informer->options.selection = ki_selection_ref(options->selection);
    informer->is_custom = ki_resource_is_custom(&informer->options.selection->resource);
    ki_feed *feed;
    ki_status status = init_shared(informer, err);
    if (status)
        goto no_shared;
    if (!informer->options.selection->is_set)
        status = ki_feed_add(informer, informer->options.selection, &feed, err);
    if (!status)
        status = make_store_and_queue(informer, err);
    if (status)
        goto no_store;
    *ret_informer = informer;
    return KI_OK;
no_store:
    ki_feeds_free(informer);
    ki_informer_free_namespaces(informer);
    destroy_shared(informer);
no_shared:
    ki_selection_unref(informer->options.selection);
    ki_free(allocator, informer);
    return status;
}

const ki_shared_informer_options *ki_informer_made_with(const ki_informer *informer) {
    return &informer->options;
}

ki_transform_step ki_informer_transform_step(const ki_informer *informer) {
    return informer->settings.transform;
}

void ki_informer_observe(ki_informer *informer, void (*on_deltas)(const ki_deltas *deltas, void *user), void *user) {
    KI_ASSERT(!informer->observer.user);
    informer->observer.on_deltas = on_deltas;
    informer->observer.user = user;
}

void *ki_informer_observer(const ki_informer *informer) {
    return informer->observer.user;
}

/* --- start -------------------------------------------------------------------------------------------------------- */

/* No setting changes any more. Caller holds change_lock. */
static void freeze(ki_informer *informer) {
    ki_object_format *format = informer->options.format;
    if (!informer->life.is_frozen && informer->settings.transform.transform && format)
        ki_object_format_set_transform(format);
    informer->life.is_frozen = true;
}

void ki_informer_freeze(ki_informer *informer) {
    ki_fair_mutex_lock(&informer->change_lock);
    freeze(informer);
    ki_fair_mutex_unlock(&informer->change_lock);
}

static bool should_resync(void *user) {
    ki_informer *informer = user;
    ki_fair_mutex_lock(&informer->change_lock);
    bool is_due = !informer->life.is_stopped &&
                  ki_processor_resync_due(&informer->processor, ki_engine_now(informer->options.engine));
    ki_fair_mutex_unlock(&informer->change_lock);
    return is_due;
}

static void on_resync(void *user) {
    ki_informer *informer = user;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_processor_resync_begun(&informer->processor, ki_engine_now(informer->options.engine));
    ki_fair_mutex_unlock(&informer->change_lock);
}

static void on_resync_error(const ki_error *err, int64_t retry_ms, void *user) {
    (void)retry_ms;
    ki_informer_report(user, err, "");
}

static void check_for_mutations(ki_timer *timer, void *user) {
    ki_informer *informer = user;
    int64_t now = ki_engine_now(informer->options.engine);
    ki_mutation_detector_check(&informer->detector.detector, now);
    ki_timer_set(timer, now + KI_MUTATION_PERIOD);
}

/* Returns false while the watch is paused or many changes wait: the store is then older than the server, and a
 * difference proves nothing. */
static bool is_watching(void *user) {
    ki_informer *informer = user;
    const ki_reflector *reflector = &informer->feeds.list[0]->reflector;
    return reflector->phase == KI_REFLECTOR_WATCHES && reflector->watch.is_accepted &&
           ki_informer_has_little_work(informer);
}

static void on_check_error(const ki_error *err, const char *key, bool relist, void *user) {
    ki_informer *informer = user;
    ki_informer_report(informer, err, key);
    if (relist)
        ki_reflector_relist(&informer->feeds.list[0]->reflector);
}

static ki_status make_consistency_check(ki_informer *informer, ki_error *err) {
    const ki_consistency_check_options options = {
        .engine = informer->options.engine,
        .list_watch = informer->options.check_source,
        .store = informer->store,
        .interval_ns = ki_period_ns(informer->options.given.consistency_check_ms, KI_CONSISTENCY_CHECK_MIN_MS),
        .metrics = &informer->metrics,
        .seed = informer->options.seed,
        .is_watching = is_watching,
        .on_error = on_check_error,
        .user = informer,
        .deferred = &informer->deferred,
    };
    return informer->options.check_source ? ki_consistency_check_new(&options, &informer->consistency_check, err)
                                          : KI_OK;
}

/* Prepares everything that needs the loop, and starts nothing yet. */
static ki_status open_parts(ki_informer *informer, ki_error *err) {
    const ki_process_loop_options loop = {
        .size = sizeof loop,
        .engine = informer->options.engine,
        .queue = informer->work.queue,
        .process = ki_informer_process,
        .should_resync = should_resync,
        .on_error = on_resync_error,
        .user = informer,
    };
    static const ki_process_loop_hooks hooks = {
        .on_drained = ki_informer_process_drained,
        .on_pause = ki_informer_pause,
        .on_closed = ki_informer_end_removed,
        .on_stuck = on_stuck,
        .on_resync = on_resync,
    };
    ki_process_loop_open(&informer->work.loop, &loop, informer->processor.resync_ns, &hooks);
    if (!informer->options.selection->is_set)
        ki_feed_open(informer->feeds.list[0], informer->options.list_watch);
    ki_report_limit_open(&informer->report_limit, informer->options.engine, report_bad_object, informer);
    ki_timer_init(&informer->detector.timer, informer->options.engine, check_for_mutations, informer);
    ki_informer_open_deleted(informer);
    ki_informer_open_namespaces(informer);
    return make_consistency_check(informer, err);
}

/* Ends all that adds to the queue. */
static void close_input(ki_informer *informer) {
    ki_consistency_check_free(informer->consistency_check);
    informer->consistency_check = NULL;
    ki_informer_close_namespaces(informer);
    ki_feeds_close(informer);
    ki_report_limit_close(&informer->report_limit);
    ki_timer_close(&informer->detector.timer);
}

static void close_parts(ki_informer *informer) {
    close_input(informer);
    ki_timer_close(&informer->deleted.timer);
    ki_process_loop_close(&informer->work.loop);
}

static void join_running(ki_informer *informer) {
    if (!informer->options.running)
        return;
    informer->next_running = *informer->options.running;
    *informer->options.running = informer;
}

/* Also of one that has not joined, or has left. */
static void leave_running(ki_informer *informer) {
    ki_informer **at = informer->options.running;
    while (at && *at && *at != informer)
        at = &(*at)->next_running;
    if (at && *at)
        *at = informer->next_running;
}

static ki_status start_locked(ki_informer *informer, ki_error *err) {
    ki_status status = ki_informer_check_runs(informer, err);
    if (status)
        return status;
    if (informer->life.is_started)
        return ki_error_set(err, KI_ERR_STATE, "the informer of %s was started before",
                            informer->options.selection->resource.plural);
    freeze(informer);
    status = open_parts(informer, err);
    if (!status)
        status = ki_processor_start(&informer->processor, ki_engine_is_threaded(informer->options.engine), err);
    if (status) {
        close_parts(informer);
        return status;
    }
    informer->life.is_started = true;
    join_running(informer);
    if (informer->options.factory->detect_mutations)
        ki_timer_set(&informer->detector.timer, ki_engine_now(informer->options.engine) + KI_MUTATION_PERIOD);
    if (informer->options.selection->is_set)
        ki_informer_take_namespaces(informer);
    else
        ki_reflector_start(&informer->feeds.list[0]->reflector);
    if (informer->options.check_source)
        ki_consistency_check_start(informer->consistency_check);
    return KI_OK;
}

ki_status ki_informer_start(ki_informer *informer, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = start_locked(informer, &cause);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (status && status != KI_ERR_STATE)
        set_state(informer, KI_STATE_BACKING_OFF, &cause);
    if (!status && informer->options.selection->is_set)
        set_state(informer, KI_STATE_CONNECTING, NULL); /* also before it has a namespace */
    if (status && err)
        *err = cause;
    return status;
}

/* --- stop --------------------------------------------------------------------------------------------------------- */

void ki_informer_end_work(ki_informer *informer, bool stops_handlers) {
    close_input(informer);
    leave_running(informer);
    if (informer->work.queue)
        informer->work.queue->ops->close(informer->work.queue);
    ki_fair_mutex_lock(&informer->change_lock);
    bool was_stopped = informer->life.is_stopped;
    informer->life.is_frozen = informer->life.is_stopped = true;
    if (stops_handlers)
        ki_processor_stop(&informer->processor);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_task_cancel(&informer->index_errors.task);
    ki_informer_end_waits(informer);
    ki_mutation_detector_check(&informer->detector.detector, ki_engine_now(informer->options.engine)); /* a last time */
    ki_mutation_detector_close(&informer->detector.detector);
    if (!was_stopped)
        set_state(informer, KI_STATE_STOPPED, NULL);
}

void ki_informer_stop(ki_informer *informer) {
    ki_process_loop_close(&informer->work.loop);
    ki_task_cancel(&informer->removal.task);
    ki_timer_close(&informer->deleted.timer);
    ki_fair_mutex_lock(&informer->change_lock);
    ki_informer_drop_staged(informer);
    ki_fair_mutex_unlock(&informer->change_lock);
    ki_deferred_stop(&informer->deferred);
    ki_informer_end_work(informer, true);
}

/* Returns a listener whose thread is not joined yet, or NULL. The caller joins without the lock: an ending handler may
 * need it. */
static ki_listener *next_to_join(ki_informer *informer) {
    ki_listener *lists[] = { informer->processor.first, informer->processor.leaving };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (ki_listener *listener = lists[i]; listener; listener = listener->next) {
            if (!listener->thread.is_own || listener->thread.is_joined)
                continue;
            listener->thread.is_joined = true;
            return listener;
        }
    }
    return NULL;
}

void ki_informer_join(ki_informer *informer) {
    ki_listener *listener;
    do {
        ki_fair_mutex_lock(&informer->change_lock);
        listener = next_to_join(informer);
        ki_fair_mutex_unlock(&informer->change_lock);
        if (listener)
            ki_listener_join(listener);
    } while (listener);
}

static void free_listeners(ki_listener **first) {
    while (*first) {
        ki_listener *listener = *first;
        *first = listener->next;
        ki_listener_free(listener);
    }
}

void ki_informer_free_sources(ki_informer *informer) {
    ki_list_watch **sources[] = { &informer->options.list_watch, &informer->options.check_source };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (*sources[i])
            (*sources[i])->ops->free(*sources[i]);
        *sources[i] = NULL;
    }
    while (informer->options.selection->is_set && informer->feeds.count > 0)
        ki_feed_remove(informer->feeds.list[informer->feeds.count - 1]);
    if (informer->work.queue)
        informer->work.queue->ops->free(informer->work.queue);
    informer->work.queue = NULL;
}

void ki_informer_cancel_tasks(ki_informer *informer) {
    ki_task_cancel(&informer->namespaces.task);
    ki_task_cancel(&informer->index_errors.task);
    ki_task_cancel(&informer->processor.log.release);
}

void ki_informer_free(ki_informer *informer) {
    if (!informer)
        return;
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    ki_informer_cancel_tasks(informer);
    free_listeners(&informer->processor.first);
    free_listeners(&informer->processor.leaving);
    ki_informer_free_sources(informer);
    ki_feeds_free(informer);
    ki_informer_free_namespaces(informer);
    ki_snapshot_unref(informer->removal.cleared);
    ki_deferred_free(&informer->deferred);
    ki_deleted_objects_free(&informer->deleted.objects);
    ki_store_free(informer->store);
    destroy_shared(informer);
    ki_selection_unref(informer->options.selection);
    ki_free(allocator, informer);
}
