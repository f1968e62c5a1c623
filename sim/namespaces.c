/* namespaces.c: see namespaces.h. */
#include "sim/namespaces.h"

#include "sim/world.h"

#include "src/cache/informer/informer_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    DELAY_MAX_S = 60,         /* of what was read before a namespace left, by slow handlers */
    RECOVERY_S = 120,         /* after a lack of memory: the longest backoff, twice */
    CHANGED_IN_HANDLERS = 100 /* one notification in so many */
};

static const char *const names[SIM_NAMESPACES] = { "ns0", "ns1", "ns2" };

/* --- sources ------------------------------------------------------------------------------------------------------ */

/* Wraps the source of a namespace. It begins anew: nothing is known of an earlier source of the namespace. */
static ki_status make_source(ki_selection *selection, void *user, ki_list_watch **ret_source, ki_error *err) {
    sim_informer *informer = user;
    sim_world *world = informer->witness.world;
    ki_list_watch *inner;
    ki_status status = informer->namespaces.make_source(selection, informer->namespaces.make_source_user, &inner, err);
    if (status)
        return status;
    unsigned ns = (unsigned)(selection->namespace_name[2] - '0'), index = informer->witness.informer;
    sim_source *source = sim_alloc(sizeof *source);
    sim_source_init(source, world, index, false, inner);
    source->is_of_set = true;
    source->sender = (sim_sender)(SIM_REFLECTOR + ns);
    sim_requester *requester = &world->network.requesters[sim_requester_number(index, source->sender)];
    free(requester->saved_page);
    *requester = (sim_requester){ 0 };
    *ret_source = &source->base;
    return KI_OK;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

/* Returns false without memory. */
static bool give(sim_world *world, unsigned index, unsigned set) {
    sim_informer *informer = &world->client.informers[index];
    const char *given[SIM_NAMESPACES];
    size_t count = 0;
    ki_error err = KI_ERROR_INIT;
    for (unsigned ns = SIM_NAMESPACES; ns-- > 0;) {
        if (set >> ns & 1)
            given[count++] = names[ns];
    }
    ki_status status = ki_informer_set_namespaces(informer->informer, given, count, &err);
    SIM_TRACE(world, "informer %u: gets the set%s%s%s: %s", index, set & 1 ? " ns0" : "", set & 2 ? " ns1" : "",
              set & 4 ? " ns2" : "", ki_status_name(status));
    if (status == KI_ERR_NO_MEMORY)
        return false;
    if (status != (informer->is_removed ? KI_ERR_STATE : KI_OK))
        sim_fail(world, "informer %u: setting namespaces: %s", index, ki_error_message(&err));
    for (unsigned ns = 0; ns < SIM_NAMESPACES && !informer->is_removed; ns++) {
        if (informer->namespaces.now & ~set & 1u << ns) {
            informer->namespaces.left |= 1u << ns;
            informer->namespaces.left_at[ns] = world->now;
        }
    }
    if (!informer->is_removed)
        informer->namespaces.now = set;
    return true;
}

bool sim_namespaces_begin(sim_world *world, unsigned index) {
    sim_informer *informer = &world->client.informers[index];
    ki_shared_informer_options *options = &informer->informer->options;
    informer->namespaces.make_source = options->make_source;
    informer->namespaces.make_source_user = options->make_source_user;
    options->make_source = make_source;
    options->make_source_user = informer;
    informer->namespaces.first = (unsigned)sim_below(&world->client.namespaces_random, 1u << SIM_NAMESPACES);
    return give(world, index, informer->namespaces.first);
}

void sim_namespaces_change(sim_world *world, uint64_t detail) {
    const sim_client *client = &world->client;
    for (unsigned i = 0; i < client->informer_count && client->factory && !world->is_fault_free; i++) {
        if (client->informers[i].plan->is_set)
            (void)give(world, i, (unsigned)(detail % (1u << SIM_NAMESPACES)));
    }
}

void sim_namespaces_in_handler(sim_world *world) {
    sim_random *random = &world->client.namespaces_random;
    if (world->plan.set_changes && sim_below(random, CHANGED_IN_HANDLERS) == 0) {
        uint64_t detail = sim_random_next(random);
        sim_namespaces_change(world, detail);
    }
}

/* --- what must hold ----------------------------------------------------------------------------------------------- */

bool sim_namespaces_have(const sim_informer *informer, uint32_t key) {
    return !informer->plan->is_set || (informer->namespaces.now >> sim_key_ns(key) & 1);
}

bool sim_namespaces_may_have(const sim_world *world, const sim_informer *informer, uint32_t key) {
    bool lacked_memory =
        world->allocation_failed_at && world->now - world->allocation_failed_at < RECOVERY_S * SIM_SECOND;
    bool has_just_left = world->now - informer->namespaces.left_at[sim_key_ns(key)] < DELAY_MAX_S * SIM_SECOND;
    return sim_namespaces_have(informer, key) ||
           (sim_namespaces_have_lost(informer, key) && (has_just_left || lacked_memory || world->memory.per_mille));
}

bool sim_namespaces_have_lost(const sim_informer *informer, uint32_t key) {
    return informer->namespaces.left >> sim_key_ns(key) & 1;
}

bool sim_namespaces_lost_since(const sim_informer *informer, uint32_t key, int64_t time) {
    return sim_namespaces_have_lost(informer, key) &&
           (!sim_namespaces_have(informer, key) ||
            informer->namespaces.left_at[sim_key_ns(key)] + DELAY_MAX_S * SIM_SECOND >= time);
}
