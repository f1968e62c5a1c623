/* removal.c: see removal.h. A removal is at once for callers. The loop ends the informer in its next steps. */
#include "sim/removal.h"

#include "sim/world.h"

#include <string.h>

enum {
    END_WITHIN_S = 1,         /* without the time of slow handlers */
    ASK_AFTER_MAX_S = 40,     /* a removed informer is asked for again */
    REMOVED_IN_HANDLERS = 500 /* one notification in so many */
};

/* --- what must hold ----------------------------------------------------------------------------------------------- */

/* Returns true if the loop must have ended the removed informer. */
static bool must_have_ended(const sim_world *world, const sim_informer *informer) {
    int64_t handlers_took = world->handler_time - informer->handler_time_at_removal;
    return world->now - informer->removed_at > END_WITHIN_S * SIM_SECOND + handlers_took;
}

static void expect(sim_world *world, unsigned index, bool holds, const char *what) {
    if (!holds)
        sim_fail(world, "informer %u was removed, but %s", index, what);
}

/* Checks what holds from the removal on: the cache is empty, and each use is an error. */
static void check_calls(sim_world *world, unsigned index) {
    ki_informer *informer = world->client.informers[index].informer;
    ki_object_list list;
    ki_health health;
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    expect(world, index, ki_snapshot_count(snapshot) == 0, "its cache has objects");
    ki_snapshot_free(snapshot);
    expect(world, index, !ki_informer_has_synced(informer), "it is synced");
    expect(world, index, ki_lister_list(informer, NULL, NULL, NULL, &list, NULL) == KI_ERR_STATE, "it can be listed");
    expect(world, index, ki_factory_remove_informer(world->client.factory, informer, NULL) == KI_ERR_NOT_FOUND,
           "it can be removed again");
    ki_status status = ki_informer_add_handler(informer, &sim_handler_functions, NULL, NULL, NULL, NULL);
    expect(world, index, status == KI_ERR_STATE || status == KI_ERR_NO_MEMORY, "it takes a handler");
    ki_informer_health(informer, &health);
    expect(world, index, strcmp(health.message, "the informer was removed") == 0, "its health does not say so");
}

/* Checks what holds once the loop has ended it. */
static void check_end(sim_world *world, unsigned index) {
    const sim_client *client = &world->client;
    ki_health health;
    ki_informer_health(client->informers[index].informer, &health);
    expect(world, index, health.state == KI_STATE_STOPPED, "it is not stopped");
    for (const sim_exchange *at = world->network.first; at; at = at->next)
        expect(world, index, !at->call || at->informer != index, "a request is open");
    for (size_t i = 0; i < client->handler_count; i++) {
        const sim_handler *handler = client->handlers[i];
        expect(world, index,
               handler->incarnation != client->incarnation || handler->informer != index || handler->is_removed,
               "on_removed was not called");
    }
}

void sim_removal_check(sim_world *world) {
    for (unsigned i = 0; i < world->client.informer_count && world->client.factory; i++) {
        if (!world->client.informers[i].is_removed)
            continue;
        check_calls(world, i);
        if (must_have_ended(world, &world->client.informers[i]))
            check_end(world, i);
    }
}

void sim_removal_check_request(sim_world *world, unsigned informer) {
    const sim_informer *sender = &world->client.informers[informer];
    expect(world, informer, !sender->is_removed || !must_have_ended(world, sender), "it sent a request");
}

/* --- removing and asking again ------------------------------------------------------------------------------------ */

static void ask_again(void *user, uint64_t argument) {
    sim_world *world = user;
    sim_client *client = &world->client;
    ki_error err = KI_ERROR_INIT;
    unsigned removed = (unsigned)(argument % SIM_SLOTS_MAX);
    if (!client->factory || client->incarnation != argument / SIM_SLOTS_MAX)
        return; /* the client was started again, with all of its informers */
    client->asks--;
    SIM_TRACE(world, "informer %u: asked for again", removed);
    bool is_made = sim_client_make_informer(world, client->informers[removed].plan);
    ki_status status = is_made ? ki_factory_start(client->factory, &err) : KI_OK;
    if (status && status != KI_ERR_NO_MEMORY)
        sim_fail(world, "starting an informer that was asked for again: %s", ki_error_message(&err));
    if (!is_made || status)
        sim_world_restart_client(world);
}

static void note_removal(sim_world *world, unsigned index) {
    sim_client *client = &world->client;
    sim_informer *informer = &client->informers[index];
    informer->is_removed = true;
    informer->removed_at = world->now;
    informer->handler_time_at_removal = world->handler_time;
    for (size_t i = 0; i < client->handler_count; i++) {
        sim_handler *handler = client->handlers[i];
        if (handler->incarnation == client->incarnation && handler->informer == index)
            handler->is_removal_requested = true;
    }
    client->asks++;
}

void sim_removal_remove(sim_world *world, uint64_t detail) {
    sim_client *client = &world->client;
    if (!client->factory || !client->informer_count || client->informer_count + client->asks == SIM_SLOTS_MAX ||
        world->is_fault_free)
        return;
    unsigned index = (unsigned)(detail % client->informer_count);
    ki_error err = KI_ERROR_INIT;
    if (client->informers[index].is_removed)
        return;
    ki_status status = ki_factory_remove_informer(client->factory, client->informers[index].informer, &err);
    SIM_TRACE(world, "informer %u: removal returns %s", index, ki_status_name(status));
    if (status == KI_ERR_NO_MEMORY)
        return;
    if (status)
        sim_fail(world, "removing informer %u: %s", index, ki_error_message(&err));
    note_removal(world, index);
    check_calls(world, index);
    bool is_at_once = sim_chance(&client->removal_random, 30);
    int64_t delay = is_at_once ? 0 : sim_between(&client->removal_random, 0, ASK_AFTER_MAX_S * SIM_SECOND);
    sim_after_client(world, delay, ask_again, world, client->incarnation * SIM_SLOTS_MAX + index);
}

void sim_removal_in_handler(sim_world *world) {
    sim_random *random = &world->client.removal_random;
    if (world->plan.removals && sim_below(random, REMOVED_IN_HANDLERS) == 0) {
        uint64_t detail = sim_random_next(random);
        sim_removal_remove(world, detail);
    }
}
