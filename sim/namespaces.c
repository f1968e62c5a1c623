/* namespaces.c: see namespaces.h. */
#include "sim/namespaces.h"

#include "sim/oracle.h"
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

static void note_added(sim_world *world, sim_namespaces *namespaces, unsigned set) {
    for (unsigned ns = 0; ns < SIM_NAMESPACES; ns++) {
        if (~namespaces->added & set & 1u << ns) {
            namespaces->write_at_add[ns] = sim_client_common_write(world);
            namespaces->restores_at_add[ns] = world->truth.restores;
        }
    }
    namespaces->added |= set;
    namespaces->given++;
}

/* Returns false without memory. */
static bool give(sim_world *world, unsigned index, unsigned set) {
    sim_informer *informer = &world->client.informers[index];
    const char *given[SIM_NAMESPACES];
    size_t count = 0;
    ki_error err = KI_ERROR_INIT;
    bool was_complete = sim_namespaces_are_synced(informer);
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
    if (!informer->is_removed) {
        if (was_complete)
            informer->namespaces.last_complete = informer->namespaces.given;
        note_added(world, &informer->namespaces, set);
        informer->namespaces.now = set;
    }
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

bool sim_namespaces_are_synced(const sim_informer *informer) {
    bool are_synced = true;
    for (unsigned ns = 0; ns < SIM_NAMESPACES && informer->plan->is_set; ns++)
        if (informer->namespaces.now >> ns & 1)
            are_synced = are_synced && ki_informer_namespace_health(informer->informer, names[ns], NULL);
    return are_synced;
}

bool sim_namespaces_must_have(const sim_world *world, const sim_informer *informer, uint32_t key) {
    const sim_namespaces *namespaces = &informer->namespaces;
    const sim_key *state = &world->truth.keys[key];
    unsigned ns = sim_key_ns(key);
    return (namespaces->now & ~namespaces->left) >> ns & 1 && state->n && !state->is_poisoned &&
           state->last_write <= namespaces->write_at_add[ns] &&
           namespaces->restores_at_add[ns] == world->truth.restores &&
           sim_truth_is_selected(&world->truth, &informer->selection, state->n);
}

/* The namespace is in the cache since the last check. */
static void check_synced(sim_world *world, const sim_informer *informer, unsigned ns) {
    uint64_t present[SIM_KEYS];
    sim_oracle_read(world, informer, present);
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (sim_key_ns(key) == ns && sim_namespaces_must_have(world, informer, key) &&
            present[key] != world->truth.keys[key].n)
            sim_fail(world, "%s is synced without %s", names[ns], sim_key_text(key));
    }
}

void sim_namespaces_check(sim_world *world, unsigned index) {
    sim_informer *informer = &world->client.informers[index];
    for (unsigned ns = 0; ns < SIM_NAMESPACES; ns++) {
        ki_health health;
        unsigned bit = 1u << ns;
        bool is_synced = ki_informer_namespace_health(informer->informer, names[ns], &health);
        bool is_in_set = informer->namespaces.now & bit;
        if (is_synced != (health.staleness_ms >= 0) || (is_synced && !is_in_set))
            sim_fail(world, "informer %u: %s is synced %d, in the set %d, with a staleness of %lld ms", index,
                     names[ns], is_synced, is_in_set, (long long)health.staleness_ms);
        if ((health.state != KI_STATE_NOT_STARTED) != is_in_set)
            sim_fail(world, "informer %u: %s is %s, in the set %d", index, names[ns], ki_state_name(health.state),
                     is_in_set);
        if (is_synced && !(informer->namespaces.synced & bit))
            check_synced(world, informer, ns);
        informer->namespaces.synced = (informer->namespaces.synced & ~bit) | (is_synced ? bit : 0);
    }
}

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
