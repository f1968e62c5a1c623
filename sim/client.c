/* client.c: starts and stops the program under test as its plan says, and adds and removes handlers and indexes. */
#include "sim/world.h"

#include "src/cache/informer/informer_parts.h"
#include "src/factory/factory.h"
#include "src/object/object.h"
#include "src/object/pack.h"
#include "testing/memory/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HANDLERS_AT_ONCE_MAX = 8 /* of all informers */
};

static const ki_field view_fields[] = { KI_FIELD(sim_view, n, "metadata.annotations.n"),
                                        KI_FIELD(sim_view, label, "metadata.labels.app"), KI_FIELD_END };

static ki_status index_by_label(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    const sim_view *view = ki_object_view(obj);
    const char *label = view ? view->label : NULL;
    return label ? ki_index_values_add(values, label) : KI_OK;
}

/* A transform. It removes name, version and uid from the content: the cache stores them elsewhere. */
static ki_status transform(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    const sim_view *view = ki_object_view(obj);
    const char *label = ki_object_label(obj, "app");
    char json[128];
    if (!view || !view->n || !label) {
        *ret_obj = ki_object_ref(obj);
        return KI_OK;
    }
    int size =
        snprintf(json, sizeof json, "{\"metadata\":{\"labels\":{\"app\":\"%.8s\"},\"annotations\":{\"n\":\"%.24s\"}}}",
                 label, view->n);
    return ki_object_with_json(obj, json, (size_t)size, ret_obj, NULL);
}

/* Returns true for KI_OK. Fails the run for any error but KI_ERR_NO_MEMORY. */
static bool succeeded(sim_world *world, ki_status status, const char *what, const ki_error *err) {
    if (status && status != KI_ERR_NO_MEMORY)
        sim_fail(world, "%s: %s", what, ki_error_message(err));
    return status == KI_OK;
}

/* Returns the number of registered handlers. */
static unsigned count_handlers(const sim_client *client) {
    unsigned count = 0;
    for (size_t i = 0; i < client->handler_count; i++)
        count += client->handlers[i]->incarnation == client->incarnation && !client->handlers[i]->is_removed;
    return count;
}

static int64_t at_least_1_s(int64_t period_ms) {
    return period_ms > 0 && period_ms < 1000 ? 1000 : period_ms;
}

/* Records the store's objects: the new handler gets them first, as its initial list. */
static void note_replay(sim_world *world, sim_handler *handler) {
    ki_snapshot *snapshot = ki_informer_snapshot(world->client.informers[handler->informer].informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    uint32_t key;
    while ((obj = ki_snapshot_next(snapshot, &cursor)) != NULL) {
        uint64_t n = sim_truth_read(world, obj, &key);
        if (n)
            handler->replay[key] = n;
    }
    ki_snapshot_free(snapshot);
}

/* Before the start, the shortest period of a handler becomes the interval of the resync timer
 * (ki_registration_options). */
static void note_resync_period(sim_world *world, sim_handler *handler) {
    sim_informer *informer = &world->client.informers[handler->informer];
    if (!informer->informer->life.is_started && handler->resync_ms > 0 &&
        (informer->resync_timer_ms == 0 || handler->resync_ms < informer->resync_timer_ms))
        informer->resync_timer_ms = handler->resync_ms;
}

void sim_client_add_handler(sim_world *world, unsigned informer) {
    sim_client *client = &world->client;
    sim_random *random = &client->random;
    if (client->handler_count == SIM_HANDLERS_MAX || count_handlers(client) == HANDLERS_AT_ONCE_MAX ||
        client->informers[informer].is_removed)
        return;
    ki_keep keep = client->informers[informer].plan->keep;
    sim_handler *handler = sim_alloc(sizeof *handler);
    *handler = (sim_handler){ .world = world,
                              .number = (unsigned)client->handler_count,
                              .informer = informer,
                              .incarnation = client->incarnation,
                              .has_filter = sim_chance(random, 30) && keep != KI_KEEP_KEYS,
                              .filter = { -1, (unsigned)sim_below(random, SIM_SELECTORS) },
                              .slow_percent = sim_chance(random, 80) ? 0 : (unsigned)sim_between(random, 1, 10),
                              .reentry_percent = world->plan.reentry_percent };
    ki_registration_options options = KI_REGISTRATION_OPTIONS(.name = NULL);
    if (sim_chance(random, 20))
        options.resync_ms = sim_between(random, 500, 60000);
    if (sim_chance(random, 20))
        options.resync_ms = -1;
    handler->resync_ms = at_least_1_s(options.resync_ms ? options.resync_ms : client->informers[informer].resync_ms);
    if (handler->resync_ms < 0)
        handler->resync_ms = 0;
    handler->restores = world->truth.restores;
    handler->is_late = ki_informer_has_synced(client->informers[informer].informer);
    if (sim_namespaces_are_synced(&client->informers[informer]))
        handler->reported_set = client->informers[informer].namespaces.given;
    client->handlers[client->handler_count++] = handler;
    SIM_TRACE(world, "handler %u: added to informer %u%s%s", handler->number, informer,
              handler->has_filter ? ", filter " : "",
              handler->has_filter && handler->filter.selector ? sim_selector_text(handler->filter.selector) : "");
    ki_error err = KI_ERROR_INIT;
    note_replay(world, handler);
    const ki_handler *calls = handler->has_filter ? &sim_handler_functions_filtered : &sim_handler_functions;
    if (!succeeded(world,
                   ki_informer_add_handler(client->informers[informer].informer, calls, handler, &options,
                                           &handler->registration, &err),
                   "registering a handler", &err))
        handler->is_removed = true; /* the registration failed: no function may be called */
    else
        note_resync_period(world, handler);
}

static void remove_handler(sim_world *world, uint64_t detail) {
    sim_client *client = &world->client;
    sim_handler *handler = client->handlers[detail % client->handler_count];
    if (handler->incarnation != client->incarnation || handler->is_removal_requested || handler->is_removed)
        return;
    handler->is_removal_requested = true;
    SIM_TRACE(world, "handler %u: removal requested", handler->number);
    ki_error err = KI_ERROR_INIT;
    succeeded(world,
              ki_informer_remove_handler(client->informers[handler->informer].informer, handler->registration, &err),
              "removing a handler", &err);
}

void sim_client_reconfigure(sim_world *world, uint64_t detail) {
    sim_client *client = &world->client;
    if (!client->factory)
        return;
    unsigned informer = (unsigned)(detail >> 8) % client->informer_count;
    ki_error err = KI_ERROR_INIT;
    switch (detail % 4) {
    case 0:
        if (client->handler_count)
            remove_handler(world, detail >> 16);
        break;
    case 1: {
        if (client->informers[informer].is_removed || client->informers[informer].plan->keep == KI_KEEP_KEYS)
            break;
        static const ki_indexer late = { .name = "late", .index = index_by_label };
        ki_status status = ki_informer_add_indexers(client->informers[informer].informer, &late, 1, &err);
        if (status != KI_ERR_EXISTS)
            succeeded(world, status, "adding an index", &err);
        break;
    }
    default:
        sim_client_add_handler(world, informer);
        break;
    }
}

static uint64_t version_of(const sim_informer *informer) {
    if (informer->plan->is_set)
        return 0; /* its cluster is not restored (plan.c) */
    return strtoull(informer->informer->feeds.list[0]->reflector.resource_version, NULL, 10);
}

void sim_client_note_restore(sim_world *world) {
    uint64_t revision = kt_cluster_revision(world->servers[0].cluster);
    for (unsigned i = 0; i < world->client.informer_count; i++) {
        sim_informer *informer = &world->client.informers[i];
        uint64_t version = informer->is_removed ? 0 : version_of(informer);
        if (version > revision)
            informer->version_before_restore = version;
    }
}

uint64_t sim_client_version_limit(sim_world *world) {
    uint64_t first = UINT64_MAX;
    if (sim_network_has_old_data(world))
        return 0;
    for (unsigned i = 0; i < world->client.informer_count; i++) {
        sim_informer *informer = &world->client.informers[i];
        if (informer->is_removed || version_of(informer) < informer->version_before_restore)
            informer->version_before_restore = 0;
        if (informer->version_before_restore && informer->version_before_restore < first)
            first = informer->version_before_restore;
    }
    return first;
}

/* Wraps the queue and the sources of an informer, for the oracles. */
static void wrap_parts(sim_world *world, unsigned index) {
    sim_informer *informer = &world->client.informers[index];
    ki_informer *watched = informer->informer;
    informer->resync_timer_ms = at_least_1_s(informer->resync_ms);
    sim_witness_init(&informer->witness, world, index, watched->work.queue);
    watched->work.queue = &informer->witness.queue;
    if (informer->plan->is_set)
        return; /* each namespace has its own source (namespaces.c) */
    sim_source_init(&informer->source, world, index, false, watched->options.list_watch);
    watched->options.list_watch = &informer->source.base;
    if (!watched->options.check_source)
        return;
    sim_source_init(&informer->check_source, world, index, true, watched->options.check_source);
    watched->options.check_source = &informer->check_source.base;
}

uint64_t sim_client_common_write(const sim_world *world) {
    size_t applied = world->truth.log_count;
    for (unsigned i = 0; i < world->plan.servers; i++) {
        if (world->servers[i].applied < applied)
            applied = world->servers[i].applied;
    }
    return applied ? world->truth.log[applied - 1] : 0;
}

static void note_start(sim_world *world, sim_informer *informer) {
    informer->last_write_at_start = sim_client_common_write(world);
    informer->restores = world->truth.restores;
}

static ki_informer_options options_of(const sim_world *world, const sim_informer_plan *plan) {
    static const char *const namespaces[SIM_NAMESPACES] = { "ns0", "ns1", "ns2" };
    return KI_INFORMER_OPTIONS(.keep = plan->keep,
                               .namespace_name = plan->selection.ns < 0 ? NULL : namespaces[plan->selection.ns],
                               .namespace_set = plan->is_set ? "some" : NULL,
                               .label_selector = sim_selector_text(plan->selection.selector),
                               .view = plan->keep == KI_KEEP_KEYS ? NULL : view_fields, .resync_ms = plan->resync_ms,
                               .page_size = plan->page_size, .consistency_check_ms = world->plan.consistency_check_ms,
                               .queue = plan->queue, .keep_deleted_ms = plan->keep_deleted_ms,
                               .plain = plan->pack_from < 0, .memory_limit = plan->memory_limit);
}

/* The cache is small: has its objects packed from this many bytes on. */
static void pack_from(ki_informer *informer, size_t bytes) {
    ki_object_format *format = informer->options.format;
    ki_object_format_set_pack(format, format->packer.contexts, bytes);
}

bool sim_client_make_informer(sim_world *world, const sim_informer_plan *plan) {
    static const ki_indexer by_label = { .name = "label", .index = index_by_label };
    sim_client *client = &world->client;
    sim_informer *informer = &client->informers[client->informer_count];
    *informer = (sim_informer){ .selection = plan->selection,
                                .plan = plan,
                                .resync_ms = plan->resync_ms,
                                .deleted.keep = plan->keep_deleted_ms * SIM_MILLISECOND };
    ki_error err = KI_ERROR_INIT;
    ki_informer_options options = options_of(world, plan);
    if (!succeeded(world, ki_factory_informer(client->factory, KI_CONFIGMAPS, &options, &informer->informer, &err),
                   "making an informer", &err))
        return false;
    if (plan->pack_from > 0)
        pack_from(informer->informer, (size_t)plan->pack_from);
    for (unsigned i = 0; i < client->informer_count; i++) {
        if (client->informers[i].informer != informer->informer)
            continue;
        if (client->informers[i].is_removed)
            sim_fail(world, "the factory has given a removed informer");
        return true; /* the factory shares informers with the same selection */
    }
    unsigned index = client->informer_count++;
    note_start(world, informer);
    informer->informer->is_custom = (index + plan->handlers) % 2; /* as for a custom resource: its type can disappear */
    wrap_parts(world, index);
    if (plan->is_set && !sim_namespaces_begin(world, index))
        return false;
    if (plan->keep != KI_KEEP_KEYS &&
        !succeeded(world, ki_informer_add_indexers(informer->informer, &by_label, 1, &err), "adding an index", &err))
        return false;
    if (plan->has_transform && !succeeded(world, ki_informer_set_transform(informer->informer, transform, NULL, &err),
                                          "setting a transform", &err))
        return false;
    for (unsigned i = 0; i < plan->handlers; i++)
        sim_client_add_handler(world, index);
    return true;
}

static void restart(void *user, uint64_t argument) {
    (void)argument;
    sim_world *world = user;
    if (!world->client.factory)
        sim_client_start(world);
}

void sim_client_start(sim_world *world) {
    sim_client *client = &world->client;
    if (client->incarnation == 0)
        client->random = sim_random_from(world->plan.seed, 21);
    if (client->incarnation == 0)
        client->namespaces_random = sim_random_from(world->plan.seed, 23);
    if (client->incarnation == 0)
        client->removal_random = sim_random_from(world->plan.seed, 22);
    ki_error err = KI_ERROR_INIT;
    client->incarnation++;
    client->informer_count = 0;
    client->asks = 0;
    client->restores = world->truth.restores;
    ki_factory_options options =
        KI_FACTORY_OPTIONS(.engine = world->engine, .requests_in_flight = world->plan.requests_in_flight,
                           .no_streaming_list = world->plan.client_no_streaming_list, .object_limit = SIM_OBJECT_LIMIT,
                           .keep_fetched_ms = world->plan.keep_fetched_ms);
    bool is_made = succeeded(world, ki_factory_new_on(NULL, client->transport, &options, &client->factory, &err),
                             "making a factory", &err);
    for (unsigned i = 0; is_made && i < world->plan.informer_count; i++)
        is_made = sim_client_make_informer(world, &world->plan.informers[i]);
    if (is_made)
        is_made = succeeded(world, ki_factory_start(client->factory, &err), "starting", &err);
    SIM_TRACE(world, "client %llu: %s", (unsigned long long)client->incarnation,
              is_made ? "starts" : "cannot start: out of memory");
    if (is_made)
        return;
    sim_client_stop(world);
    sim_after_client(world, SIM_SECOND, restart, world, 0);
}

void sim_client_stop(sim_world *world) {
    sim_client *client = &world->client;
    for (unsigned i = 0; i < client->informer_count; i++)
        ki_snapshot_free(client->informers[i].snapshot);
    for (unsigned i = 0; i < client->informer_count; i++)
        client->informers[i].snapshot = NULL;
    sim_waiter_client_stops(world);
    sim_fetches_client_stops(world);
    ki_factory_free(client->factory);
    client->informer_count = 0;
    client->factory = NULL;
    sim_waiter_client_stopped(world);
    sim_fetches_client_stopped(world);
    SIM_TRACE(world, "client %llu: stopped", (unsigned long long)client->incarnation);
    for (size_t i = 0; i < client->handler_count; i++) {
        if (!client->handlers[i]->is_removed)
            sim_fail(world, "handler %zu: on_removed was not called before the factory was freed", i);
    }
    sim_requesters_reset(world);
}

void sim_client_free(sim_world *world) {
    for (size_t i = 0; i < world->client.handler_count; i++)
        free(world->client.handlers[i]);
}
