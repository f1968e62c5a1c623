/* factory.c: makes, starts, runs, stops and frees a factory. Informers start and stop on the loop. Any thread posts the
 * two tasks that do so.
 *
 * A stop asks the components to stop in their order (component.h). Then the loop stops the informers. It also stops the
 * engine if the factory owns the engine or runs it. Shutdown waits for that, and joins the listeners' threads on the
 * calling thread, so that a slow handler never blocks the loop. */
#include "src/factory/factory_parts.h"

#include "src/auth/config.h"
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/openmetrics.h"
#include "src/cache/informer/shared_informer.h"
#include "src/cache/reflector/metrics.h"
#include "src/engine/callback.h"
#include "src/object/json.h"
#include "src/transport/curl.h"
#include "src/transport/metered.h"

#define START_RETRY KI_SECONDS(1)

/* --- start and stop on the loop ----------------------------------------------------------------------------------- */

/* Returns the entry after `entry`, also a removed one; after NULL the first. */
static ki_informer_entry *next_of_all(ki_factory *factory, const ki_informer_entry *entry) {
    ki_mutex_lock(&factory->mutex);
    ki_informer_entry *next = entry ? entry->next : factory->table.first;
    ki_mutex_unlock(&factory->mutex);
    return next;
}

ki_informer_entry *ki_factory_next_entry(ki_factory *factory, const ki_informer_entry *entry, bool *ret_is_requested) {
    ki_mutex_lock(&factory->mutex);
    ki_informer_entry *next = entry ? entry->next : factory->table.first;
    while (next && next->is_removed)
        next = next->next;
    if (ret_is_requested)
        *ret_is_requested = next && next->is_start_requested;
    ki_mutex_unlock(&factory->mutex);
    return next;
}

static bool is_stopped(ki_factory *factory) {
    ki_mutex_lock(&factory->mutex);
    bool stopped = factory->life.is_stopped;
    ki_mutex_unlock(&factory->mutex);
    return stopped;
}

/* Starts all requested informers, then the components. An informer that fails to start does not delay the others; a
 * timer retries it. */
static void start_all(ki_factory *factory) {
    ki_informer_entry *entry = NULL;
    bool is_requested, again = false;
    if (is_stopped(factory))
        return;
    while ((entry = ki_factory_next_entry(factory, entry, &is_requested))) {
        if (!is_requested || entry->is_started)
            continue;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_informer_start(entry->informer, &err);
        entry->is_started = status == KI_OK;
        if (!status || status == KI_ERR_STATE) /* KI_ERR_STATE: removed meanwhile */
            continue;
        again = true;
        ki_log_write(ki_engine_log(factory->engine), KI_LOG_ERROR, "factory", "cannot start the informer of %s: %s",
                     entry->selection->name, ki_error_message(&err));
    }
    if (again)
        ki_timer_set(&factory->start_timer, ki_engine_now(factory->engine) + START_RETRY);
    ki_component_list_start(&factory->components);
}

static void start_task(ki_task *task, void *user) {
    (void)task;
    start_all(user);
}

static void start_timer(ki_timer *timer, void *user) {
    (void)timer;
    start_all(user);
}

static void stop_all(void *user) {
    ki_factory *factory = user;
    ki_task_cancel(&factory->start_task);
    ki_timer_cancel(&factory->start_timer);
    for (ki_informer_entry *entry = NULL; (entry = next_of_all(factory, entry));) {
        ki_informer_stop(entry->informer);
        ki_fetcher_end(entry->fetcher);
    }
}

static void components_stopped(void *user) {
    KI_ON_LOOP(((ki_factory *)user)->engine);
    KI_ASSERT(!((ki_factory *)user)->life.have_components_stopped);
    ki_factory *factory = user;
    stop_all(factory);
    ki_mutex_lock(&factory->mutex);
    bool ends = factory->owns_engine || factory->life.is_running;
    factory->life.have_components_stopped = true;
    ki_cond_broadcast(&factory->changed);
    ki_mutex_unlock(&factory->mutex);
    if (ends)
        ki_engine_stop(factory->engine);
}

static void stop_task(ki_task *task, void *user) {
    (void)task;
    ki_factory *factory = user;
    ki_component_list_stop(&factory->components);
}

/* The engine was stopped without the factory, by a signal or its host. Stops everything at once: no response can
 * arrive. */
static void engine_ended(void *user) {
    ki_factory *factory = user;
    ki_mutex_lock(&factory->mutex);
    factory->life.is_stopped = true;
    ki_mutex_unlock(&factory->mutex);
    ki_component_list_cut_off(&factory->components);
    stop_all(factory);
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

typedef struct seed_draw {
    ki_engine *engine;
    uint64_t seed;
} seed_draw;

/* Draws the seed of key hashes, which makes collisions unpredictable. The seed comes from the engine's random numbers,
 * never from a memory address: an engine with a given seed has the same order of everything each time. */
static void draw_seed(void *user) {
    seed_draw *draw = user;
    uint64_t high = (uint64_t)(ki_engine_random(draw->engine) * UINT32_MAX);
    draw->seed = high << 32 | (uint64_t)(ki_engine_random(draw->engine) * UINT32_MAX);
}

static void set_up_on_loop(void *user) {
    ki_factory *factory = user;
    ki_timer_init(&factory->start_timer, factory->engine, start_timer, factory);
    ki_component_list_init(&factory->components, factory->engine, &factory->mutex, &factory->changed,
                           components_stopped, factory);
    ki_end_hook_set(&factory->end_hook, factory->engine, engine_ended, factory);
}

static void tear_down_on_loop(void *user) {
    ki_factory *factory = user;
    ki_end_hook_remove(&factory->end_hook);
    ki_timer_close(&factory->start_timer);
    ki_component_list_close(&factory->components);
    ki_task_cancel(&factory->start_task);
    ki_task_cancel(&factory->stop_task);
    if (factory->owns_transport)
        ki_transport_free(factory->transport);
    else if (factory->transport)
        factory->transport->meter = NULL;
    ki_meter_free(factory->meter);
}

static ki_status make_locks(ki_factory *factory, ki_error *err) {
    ki_status status = ki_mutex_init(&factory->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&factory->changed, err);
    if (status)
        ki_mutex_destroy(&factory->mutex);
    return status;
}

/* Makes a transport for `config`, unless there is one, and has its requests counted. */
static ki_status make_transport(ki_factory *factory, const ki_config *config, ki_error *err) {
    const ki_str url = config ? ki_secret_text(&config->server) : (ki_str){ NULL, 0 };
    ki_status status = ki_meter_new(factory->engine, url, &factory->meter, err);
    if (!status && !factory->transport) {
        status = ki_curl_transport_new(factory->engine, config, &factory->transport, err);
        factory->owns_transport = status == KI_OK;
    }
    if (!status)
        factory->transport->meter = factory->meter;
    return status;
}

/* Copies the options with their texts. */
static ki_status keep_options(ki_factory *factory, const ki_factory_options *given, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(factory->engine);
    bool has_namespace = given->namespace_name && given->namespace_name[0];
    factory->name = ki_strdup(allocator, given->name ? given->name : "");
    factory->namespace_name = has_namespace ? ki_strdup(allocator, given->namespace_name) : NULL;
    if (!factory->name || (has_namespace && !factory->namespace_name))
        return ki_error_no_memory(err, "making a factory");
    factory->options = *given;
    factory->options.name = factory->name;
    factory->options.namespace_name = factory->namespace_name;
    return KI_OK;
}

/* Makes the remaining parts, after engine and locks. Without a transport it makes one for `config`. */
static ki_status fill(ki_factory *factory, const ki_config *config, const ki_factory_options *given, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(factory->engine);
    seed_draw draw = { .engine = factory->engine };
    ki_task_init(&factory->start_task, factory->engine, start_task, factory);
    ki_task_init(&factory->stop_task, factory->engine, stop_task, factory);
    ki_engine_call(factory->engine, draw_seed, &draw);
    ki_informer_table_init(&factory->table, allocator, draw.seed);
    ki_status status = make_transport(factory, config, err);
    if (status)
        return status;
    status = keep_options(factory, given, err);
    if (status)
        return status;
    ki_engine_call(factory->engine, set_up_on_loop, factory);
    const ki_client_parts parts = { .engine = factory->engine,
                                    .may_drive = factory->owns_engine,
                                    .transport = factory->transport,
                                    .config = config,
                                    .requests_per_second = given->requests_per_second,
                                    .request_burst = given->request_burst,
                                    .requests_in_flight = given->requests_in_flight };
    status = ki_client_new_of(&parts, &factory->client, err);
    if (status)
        return status;
    ki_body_contexts *contexts = ki_body_contexts_new(allocator);
    if (!contexts)
        return ki_error_no_memory(err, "making a factory");
    factory->maker = (ki_informer_maker){
        .transport = factory->transport,
        .client = factory->client,
        .contexts = contexts,
        .options.engine = factory->engine,
        .options.owner = factory,
        .options.seed = draw.seed,
        .options.running = &factory->running,
        .options.factory = &factory->options,
    };
    return KI_OK;
}

/* Else a loop that still runs, a host's, could run a task of an informer that is being freed. */
static void cancel_tasks_of_informers(void *user) {
    ki_factory *factory = user;
    for (ki_informer_entry *entry = NULL; (entry = next_of_all(factory, entry));)
        ki_informer_cancel_tasks(entry->informer);
}

/* Frees a factory that has ended. Cancels the requests of deferred reconciles first: a controller that was left to the
 * factory waits for these reconciles, and no thread steps the loop. */
static void destroy(ki_factory *factory, bool has_locks, const ki_allocator *allocator) {
    if (has_locks) {
        if (factory->client)
            ki_engine_call(factory->engine, ki_client_cancel_all, factory->client);
        ki_component_list_reap(&factory->components);
        ki_engine_call(factory->engine, cancel_tasks_of_informers, factory);
        ki_informer_table_free(&factory->table);
        ki_body_contexts_unref(factory->maker.contexts);
        ki_client_free_of(factory->client);
        ki_engine_call(factory->engine, tear_down_on_loop, factory);
        ki_free(allocator, factory->namespace_name);
        ki_free(allocator, factory->name);
        ki_cond_destroy(&factory->changed);
        ki_mutex_destroy(&factory->mutex);
    }
    ki_engine *own_engine = factory->owns_engine ? factory->engine : NULL;
    ki_free(allocator, factory);
    ki_engine_free(own_engine);
}

ki_status ki_factory_new_on(const ki_config *config, ki_transport *transport, const ki_factory_options *options,
                            ki_factory **ret_factory, ki_error *err) {
    ki_factory_options given;
    if (!ret_factory)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_new: ret_factory is NULL");
    ki_status status = ki_json_check_library(err);
    if (!status)
        status = ki_factory_options_complete(options, &given, err);
    if (status)
        return status;
    ki_engine *engine;
    status = ki_client_take_engine(given.engine, given.allocator, given.log, &engine, err);
    if (status)
        return status;
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_factory *factory = ki_alloc_zero(allocator, sizeof *factory);
    if (!factory) {
        if (!given.engine)
            ki_engine_free(engine);
        return ki_error_no_memory(err, "making a factory");
    }
    factory->engine = engine;
    factory->owns_engine = !given.engine;
    factory->transport = transport;
    status = make_locks(factory, err);
    bool has_locks = status == KI_OK;
    if (!status)
        status = fill(factory, config, &given, err);
    if (status) {
        destroy(factory, has_locks, allocator);
        return status;
    }
    *ret_factory = factory;
    return KI_OK;
}

ki_status ki_factory_new(const ki_config *config, const ki_factory_options *options, ki_factory **ret_factory,
                         ki_error *err) {
    return config ? ki_factory_new_on(config, NULL, options, ret_factory, err)
                  : ki_error_set(err, KI_ERR_INVALID, "a factory needs a config");
}

ki_status ki_factory_new_default(const ki_factory_options *options, ki_factory **ret_factory, ki_error *err) {
    ki_config *config = NULL;
    const ki_allocator *allocator = NULL;
    if (!ret_factory)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_new_default: ret_factory is NULL");
    if (options && options->engine)
        allocator = ki_engine_allocator(options->engine);
    else if (options)
        allocator = options->allocator;
    ki_status status = ki_config_new_default(&KI_CONFIG_OPTIONS(.allocator = allocator), &config, err);
    if (status)
        return status;
    status = ki_factory_new(config, options, ret_factory, err);
    ki_config_free(config);
    return status;
}

void ki_factory_add_end(ki_factory *factory, ki_factory_end *end) {
    if (!factory || !end)
        return;
    ki_mutex_lock(&factory->mutex);
    end->next = factory->first_end;
    factory->first_end = end;
    ki_mutex_unlock(&factory->mutex);
}

void ki_factory_remove_end(ki_factory *factory, ki_factory_end *end) {
    if (!factory || !end)
        return;
    ki_mutex_lock(&factory->mutex);
    ki_factory_end **at = &factory->first_end;
    while (*at && *at != end)
        at = &(*at)->next;
    if (*at)
        *at = end->next;
    ki_mutex_unlock(&factory->mutex);
}

/* Makes the calls under no lock: what they end can wait for readers of the factory. */
static void call_ends(ki_factory *factory) {
    for (;;) {
        ki_mutex_lock(&factory->mutex);
        ki_factory_end *end = factory->first_end;
        if (end)
            factory->first_end = end->next;
        ki_mutex_unlock(&factory->mutex);
        if (!end)
            return;
        end->call(end->user);
    }
}

void ki_factory_free(ki_factory *factory) {
    if (!factory || ki_factory_shutdown(factory, NULL))
        return; /* called on a thread that shutdown must wait for */
    call_ends(factory);
    destroy(factory, true, ki_engine_allocator(factory->engine));
}

/* --- components --------------------------------------------------------------------------------------------------- */

ki_status ki_factory_add_component(ki_factory *factory, ki_component *component, ki_error *err) {
    ki_mutex_lock(&factory->mutex);
    ki_status status = ki_factory_check_not_stopped(factory, err);
    if (!status)
        status = ki_component_list_add(&factory->components, component, err);
    if (!status && factory->life.is_started && component->order != KI_COMPONENT_WORKER) {
        component->is_start_requested = true;
        ki_task_post(&factory->start_task);
    }
    ki_mutex_unlock(&factory->mutex);
    return status;
}

/* --- start, run --------------------------------------------------------------------------------------------------- */

/* Requests the start of all informers and components. */
static void request_start(ki_factory *factory) {
    KI_HELD(&factory->mutex);
    KI_ASSERT(!factory->life.is_stopped);
    factory->life.is_started = true;
    for (ki_informer_entry *entry = factory->table.first; entry; entry = entry->next) {
        if (entry->is_removed)
            continue;
        entry->is_start_requested = true;
        ki_informer_freeze(entry->informer);
    }
    ki_component_list_request_start(&factory->components);
    ki_task_post(&factory->start_task);
}

ki_status ki_factory_start(ki_factory *factory, ki_error *err) {
    if (!factory)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_start: no factory");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    ki_mutex_lock(&factory->mutex);
    ki_status status = ki_factory_check_not_stopped(factory, err);
    if (!status)
        request_start(factory);
    if (!status && factory->owns_engine && !factory->life.is_engine_started && !factory->life.is_running) {
        status = ki_engine_start(factory->engine, err);
        factory->life.is_engine_started = status == KI_OK;
    }
    ki_mutex_unlock(&factory->mutex);
    return status;
}

static void stop_on_signal(void *user) {
    ki_factory_stop(user);
}

ki_status ki_factory_run(ki_factory *factory, ki_error *err) {
    if (!factory)
        return ki_error_set(err, KI_ERR_INVALID, "ki_factory_run: no factory");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    if (ki_callback_is_inside(factory) || ki_engine_in_callback(factory->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "ki_factory_run in a handler");
    ki_mutex_lock(&factory->mutex);
    bool stopped = factory->life.is_stopped;
    ki_status status = KI_OK;
    if (!stopped && (factory->life.is_running || factory->life.is_engine_started))
        status = ki_error_set(err, KI_ERR_STATE, "the factory runs already");
    if (!stopped && !status) {
        request_start(factory);
        factory->life.is_running = true;
    }
    ki_mutex_unlock(&factory->mutex);
    if (stopped || status) /* stopped already, perhaps by another thread */
        return status;
    status = ki_engine_run_until_signal(factory->engine, stop_on_signal, factory, err);
    ki_mutex_lock(&factory->mutex);
    factory->life.is_running = false;
    ki_cond_broadcast(&factory->changed);
    ki_mutex_unlock(&factory->mutex);
    if (status == KI_ERR_STATE)
        return status; /* another thread runs the engine: the factory works there */
    ki_status ended = ki_factory_shutdown(factory, status ? NULL : err);
    return status ? status : ended;
}

/* --- metrics ------------------------------------------------------------------------------------------------------ */

static ki_status visit_metrics(ki_factory *factory, const ki_metrics_visit *to) {
    ki_status status = KI_OK;
    for (ki_informer_entry *entry = NULL; !status && (entry = ki_factory_next_entry(factory, entry, NULL));)
        status = ki_metrics_visit_informer(entry->informer, to);
    if (status)
        return status;
    ki_component_list_visit_metrics(&factory->components, to);
    ki_meter_visit(factory->meter, factory->name, to);
    return KI_OK;
}

ki_status ki_factory_visit_metrics(ki_factory *factory, ki_sample_visitor visit, void *user, ki_error *err) {
    if (!factory || !visit)
        return ki_error_missing(err, "ki_factory_visit_metrics");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    const ki_metrics_visit to = { visit, user };
    ki_callback callback;
    ki_callback_enter(&callback, factory);
    ki_status status = visit_metrics(factory, &to);
    ki_callback_leave(&callback);
    return status ? ki_error_no_memory(err, "visiting metrics") : KI_OK;
}

ki_status ki_factory_metrics_text(ki_factory *factory, char **ret_text, ki_error *err) {
    if (!factory || !ret_text)
        return ki_error_missing(err, "ki_factory_metrics_text");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    ki_openmetrics text;
    ki_openmetrics_init(&text, ki_engine_allocator(factory->engine));
    const ki_metrics_visit to = { ki_openmetrics_add, &text };
    ki_status status = visit_metrics(factory, &to);
    if (status)
        text.failed = status;
    return ki_openmetrics_end(&text, ret_text) ? ki_error_no_memory(err, "writing metrics") : KI_OK;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

void ki_factory_stop(ki_factory *factory) {
    if (!factory || ki_engine_is_forked(factory->engine))
        return;
    ki_mutex_lock(&factory->mutex);
    factory->life.is_stopped = true;
    ki_task_post(&factory->stop_task);
    ki_mutex_unlock(&factory->mutex);
}

/* Begins a shutdown and returns true, or waits for one in progress. */
static bool begin_shutdown(ki_factory *factory) {
    ki_mutex_lock(&factory->mutex);
    factory->life.is_stopped = true;
    while (factory->life.is_shutting_down && !factory->life.is_shut_down)
        ki_cond_wait(&factory->changed, &factory->mutex);
    bool begins = !factory->life.is_shut_down;
    KI_ASSERT(!begins || !factory->life.is_shutting_down);
    factory->life.is_shutting_down = true;
    ki_mutex_unlock(&factory->mutex);
    return begins;
}

/* Ends the engine's loop if the factory owns or runs the engine. */
static void end_engine(ki_factory *factory, ki_error *err) {
    ki_mutex_lock(&factory->mutex);
    bool running = factory->life.is_running;
    ki_mutex_unlock(&factory->mutex);
    if (!factory->owns_engine && !running)
        return;
    ki_engine_stop(factory->engine);
    if (ki_engine_join(factory->engine, err))
        return; /* only on the loop itself, which the caller has excluded */
    ki_mutex_lock(&factory->mutex);
    while (factory->life.is_running)
        ki_cond_wait(&factory->changed, &factory->mutex);
    ki_mutex_unlock(&factory->mutex);
}

static void cut_off_components(void *user) {
    ki_factory *factory = user;
    ki_component_list_cut_off(&factory->components);
}

/* Waits until the components have stopped if a loop on another thread runs them; else cuts them off. */
static void stop_components(ki_factory *factory) {
    if (!ki_engine_is_threaded(factory->engine) || ki_engine_is_idle(factory->engine)) {
        ki_engine_call(factory->engine, cut_off_components, factory);
        return;
    }
    ki_task_post(&factory->stop_task);
    ki_mutex_lock(&factory->mutex);
    while (!factory->life.have_components_stopped && !ki_engine_has_ended(factory->engine))
        (void)ki_engine_wait(factory->engine, &factory->changed, &factory->mutex, INT64_MAX);
    ki_mutex_unlock(&factory->mutex);
}

ki_status ki_factory_shutdown(ki_factory *factory, ki_error *err) {
    if (!factory)
        return ki_error_missing(err, "ki_factory_shutdown");
    if (ki_engine_check_process(factory->engine, err))
        return KI_ERR_STATE;
    bool on_its_loop = ki_engine_on_loop(factory->engine) && ki_engine_is_threaded(factory->engine);
    if (ki_callback_is_inside(factory) || ki_callback_is_inside(&factory->components) || on_its_loop ||
        ki_engine_in_callback(factory->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "ki_factory_shutdown on a thread that it would wait for");
    if (!begin_shutdown(factory))
        return KI_OK;
    stop_components(factory);
    ki_engine_call(factory->engine, stop_all, factory);
    end_engine(factory, err);
    for (ki_informer_entry *entry = NULL; (entry = next_of_all(factory, entry));)
        ki_informer_join(entry->informer);
    ki_mutex_lock(&factory->mutex);
    factory->life.is_shut_down = true;
    ki_cond_broadcast(&factory->changed);
    ki_mutex_unlock(&factory->mutex);
    return KI_OK;
}
