/* source.c: see source.h. */
#include "sim/world.h"

#include "src/cache/informer/informer_parts.h"

#include <stdlib.h>

/* Records the first request of a list. A plain list in the place of a streaming list, which was not queued, is the same
 * relist. */
static void note_list(sim_source *source, bool is_streaming, bool is_other_kind) {
    const sim_witness *witness = &source->world->client.informers[source->informer].witness;
    bool is_instead = source->is_streaming && !is_streaming && !is_other_kind && witness->lists == source->lists_before;
    source->list_began_at = source->world->now;
    source->lists_before = witness->lists;
    source->is_streaming = is_streaming;
    source->lists += !is_other_kind;
    source->relists += witness->has_list && !is_instead;
}

static int requester_of(const sim_source *source) {
    return sim_requester_number(source->informer,
                                source->is_consistency_check ? SIM_CONSISTENCY_CHECK : source->sender);
}

static ki_status source_list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                             ki_error *err) {
    sim_source *source = (sim_source *)(void *)base;
    sim_world *world = source->world;
    bool is_version_check = options->limit == 1 && options->resource_version_match;
    if (!source->is_consistency_check && !source->is_of_set && !options->continue_token && !is_version_check) {
        const ki_reflector *reflector = &world->client.informers[source->informer].informer->feeds.list[0]->reflector;
        note_list(source, false, reflector->list.is_full || reflector->list.is_latest);
    }
    world->requester_number = requester_of(source);
    ki_status status = source->inner->ops->list(source->inner, options, handler, err);
    world->requester_number = SIM_NO_REQUESTER;
    return status;
}

static ki_status source_watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                              ki_error *err) {
    sim_source *source = (sim_source *)(void *)base;
    sim_world *world = source->world;
    if (options->send_initial_events)
        note_list(source, true, false);
    source->watch_began_at = world->now;
    world->requester_number = requester_of(source);
    ki_status status = source->inner->ops->watch(source->inner, options, handler, err);
    world->requester_number = SIM_NO_REQUESTER;
    return status;
}

static ki_status source_find_type(ki_list_watch *base, ki_on_type_found on_found, void *user, ki_error *err) {
    sim_source *source = (sim_source *)(void *)base;
    sim_world *world = source->world;
    world->requester_number = requester_of(source);
    ki_status status = source->inner->ops->find_type(source->inner, on_found, user, err);
    world->requester_number = SIM_NO_REQUESTER;
    return status;
}

/* The request runs beside those of the reflector. */
static ki_status source_find_namespace(ki_list_watch *base, ki_on_namespace_found on_found, void *user, ki_error *err) {
    sim_source *source = (sim_source *)(void *)base;
    sim_world *world = source->world;
    world->requester_number = sim_requester_number(source->informer, SIM_NAMESPACE_LOOKUP);
    ki_status status = source->inner->ops->find_namespace(source->inner, on_found, user, err);
    world->requester_number = SIM_NO_REQUESTER;
    return status;
}

static void source_cancel(ki_list_watch *base) {
    sim_source *source = (sim_source *)(void *)base;
    source->inner->ops->cancel(source->inner);
}

static void source_free(ki_list_watch *base) {
    sim_source *source = (sim_source *)(void *)base;
    source->inner->ops->free(source->inner);
    if (source->is_of_set)
        free(source);
}

void sim_source_init(sim_source *source, sim_world *world, unsigned informer, bool is_consistency_check,
                     ki_list_watch *inner) {
    static const ki_list_watch_ops ops = { .list = source_list,
                                           .watch = source_watch,
                                           .find_type = source_find_type,
                                           .find_namespace = source_find_namespace,
                                           .cancel = source_cancel,
                                           .free = source_free };
    *source = (sim_source){ .base = { &ops },
                            .inner = inner,
                            .world = world,
                            .informer = informer,
                            .is_consistency_check = is_consistency_check };
}
