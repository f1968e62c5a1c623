/* handler.c: the calls of one handler, checked against the truth and against what it was told before. */
#include "sim/world.h"

#include <string.h>

static sim_informer *informer_of(const sim_handler *handler) {
    return &handler->world->client.informers[handler->informer];
}

static bool is_wanted(const sim_handler *handler, uint64_t n) {
    const sim_truth *truth = &handler->world->truth;
    return sim_truth_has(truth, &informer_of(handler)->selection, n) &&
           (!handler->has_filter || sim_truth_has(truth, &handler->filter, n));
}

#define OBJECT(handler, ...) sim_fail((handler)->world, "handler " __VA_ARGS__)

/* --- what a handler of a program does beside listening ------------------------------------------------------------------------ */

static void must_deadlock(sim_handler *handler, ki_status status, const char *call) {
    if (status != KI_ERR_DEADLOCK)
        OBJECT(handler, "%u: %s from inside a handler gave %s", handler->number, call, ki_status_name(status));
}

static void call_back(sim_handler *handler) {
    sim_world *world = handler->world;
    sim_client *client = &world->client;
    ki_informer *informer = informer_of(handler)->informer;
    switch (sim_below(&client->random, 8)) {
    case 0:
        must_deadlock(handler, ki_factory_wait_for_sync(client->factory, 1000, NULL), "waiting for sync");
        break;
    case 1:
        must_deadlock(handler, ki_factory_shutdown(client->factory, NULL), "shutting down");
        break;
    case 2:
        must_deadlock(handler, ki_engine_step(world->engine, 0, NULL), "a step");
        break;
    case 3: {
        ki_object_list list;
        if (!ki_lister_list(informer, "ns1", "app=a", &list, NULL))
            ki_object_list_free(&list);
        break;
    }
    case 4:
        sim_client_add_handler(world, handler->informer);
        break;
    case 5:
        if (handler->registration && !handler->asked_to_go && sim_chance(&client->random, 20)) {
            handler->asked_to_go = true;
            if (ki_informer_remove_handler(informer, handler->registration, NULL))
                OBJECT(handler, "%u: cannot remove itself", handler->number);
        }
        break;
    case 6:
        sim_client_act(world, sim_random_next(&client->random));
        break;
    default:
        ki_snapshot_free(ki_informer_snapshot(informer));
        break;
    }
}

static void begin(sim_handler *handler, const ki_event *event, const char *what, uint64_t n) {
    sim_world *world = handler->world;
    handler->calls++;
    sim_note(world, n * 131 + handler->number);
    SIM_TRACE(world, "handler %u: %s %s, write %llu%s%s%s", handler->number, what, ki_object_key(event->obj),
              (unsigned long long)n, event->is_in_initial_list ? ", initial" : "", event->is_resync ? ", resync" : "",
              event->final_state_unknown ? ", final state unknown" : "");
    if (handler->is_removed)
        OBJECT(handler, "%u: called after on_removed", handler->number);
    if (handler->asked_to_go)
        OBJECT(handler, "%u: called after it was removed", handler->number);
    if (event->informer != informer_of(handler)->informer)
        OBJECT(handler, "%u: an event of another informer", handler->number);
}

static void end(sim_handler *handler) {
    enum {
        SLOWEST_MS = 1500
    };
    sim_world *world = handler->world;
    sim_random *random = &world->client.random;
    if (handler->slow && sim_chance(random, handler->slow))
        world->now += sim_between(random, 1, SLOWEST_MS) * SIM_MILLISECOND;
    if (handler->reentry && sim_chance(random, handler->reentry))
        call_back(handler);
}

/* --- the calls ------------------------------------------------------------------------------------------------------------------ */

/* A state that is shown now: of the selection, and newer than what was shown before. */
static void show(sim_handler *handler, uint32_t key, uint64_t n, bool may_be_same) {
    const sim_truth *truth = &handler->world->truth;
    uint64_t newest = handler->newest[key];
    if (!is_wanted(handler, n))
        OBJECT(handler, "%u: %s: write %llu is not in its selection", handler->number, sim_key_text(key),
               (unsigned long long)n);
    if (!truth->keys[key].is_poisoned && !sim_truth_may_follow(truth, newest, n) && !(may_be_same && n == newest))
        OBJECT(handler, "%u: %s: write %llu is shown after write %llu", handler->number, sim_key_text(key),
               (unsigned long long)n, (unsigned long long)newest);
    handler->present[key] = handler->newest[key] = n;
}

static void on_add(const ki_event *event, void *user) {
    sim_handler *handler = user;
    uint32_t key;
    uint64_t n = sim_truth_read(handler->world, event->obj, &key);
    begin(handler, event, "add", n);
    if (!n)
        return;
    if (event->old)
        OBJECT(handler, "%u: an add with an old state", handler->number);
    if (handler->present[key])
        OBJECT(handler, "%u: add of %s, which it knows", handler->number, sim_key_text(key));
    else
        handler->count++;
    if (event->is_in_initial_list && handler->is_synced)
        OBJECT(handler, "%u: %s is of the initial list, after on_synced", handler->number, sim_key_text(key));
    show(handler, key, n, false);
    end(handler);
}

static void on_update(const ki_event *event, void *user) {
    sim_handler *handler = user;
    uint32_t key, old_key;
    uint64_t n = sim_truth_read(handler->world, event->obj, &key);
    uint64_t old = sim_truth_read(handler->world, event->old, &old_key);
    begin(handler, event, "update", n);
    if (!n || !old)
        return;
    if (!handler->present[key])
        OBJECT(handler, "%u: update of %s, which it does not know", handler->number, sim_key_text(key));
    else if (old_key != key || old != handler->present[key])
        OBJECT(handler, "%u: update of %s: old is write %llu, and it was told write %llu", handler->number,
               sim_key_text(key), (unsigned long long)old, (unsigned long long)handler->present[key]);
    if (strcmp(ki_object_uid(event->obj), ki_object_uid(event->old)) != 0)
        OBJECT(handler, "%u: update of %s from one object to another", handler->number, sim_key_text(key));
    if (event->is_resync && !handler->resync_ms)
        OBJECT(handler, "%u: a resync, which it did not ask for", handler->number);
    show(handler, key, n, event->is_resync);
    end(handler);
}

static void on_delete(const ki_event *event, void *user) {
    sim_handler *handler = user;
    const sim_truth *truth = &handler->world->truth;
    uint32_t key;
    uint64_t n = sim_truth_read(handler->world, event->obj, &key);
    begin(handler, event, "delete", n);
    if (!n)
        return;
    uint64_t known = handler->present[key];
    if (!known)
        OBJECT(handler, "%u: delete of %s, which it does not know", handler->number, sim_key_text(key));
    else
        handler->count--;
    if (!truth->keys[key].is_poisoned && known && n != known && !sim_truth_may_follow(truth, known, n))
        OBJECT(handler, "%u: delete of %s at write %llu, and it was told write %llu", handler->number,
               sim_key_text(key), (unsigned long long)n, (unsigned long long)known);
    if (!truth->keys[key].is_poisoned && truth->keys[key].n == known && known && is_wanted(handler, known) &&
        !sim_truth_may_follow(truth, known, known)) /* it may have been deleted in what was lost */
        OBJECT(handler, "%u: delete of %s, which is still there unchanged", handler->number, sim_key_text(key));
    handler->present[key] = 0;
    end(handler);
}

/* What was there before the client began and is still as it was must be known now. */
static void on_synced(ki_informer *informer, void *user) {
    sim_handler *handler = user;
    const sim_world *world = handler->world;
    const sim_truth *truth = &world->truth;
    SIM_TRACE(world, "handler %u: synced", handler->number);
    if (handler->is_synced)
        OBJECT(handler, "%u: on_synced twice", handler->number);
    if (handler->is_removed || handler->asked_to_go)
        OBJECT(handler, "%u: on_synced after it was removed", handler->number);
    if (!ki_informer_has_synced(informer))
        OBJECT(handler, "%u: on_synced before the informer is synced", handler->number);
    handler->is_synced = true;
    if (world->client.restored != truth->restored)
        return;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        const sim_key *now = &truth->keys[key];
        if (now->n && now->touched_at <= world->client.began_at && !now->is_poisoned && is_wanted(handler, now->n) &&
            handler->present[key] != now->n)
            OBJECT(handler, "%u: synced without %s", handler->number, sim_key_text(key));
    }
}

static void on_removed(void *user) {
    sim_handler *handler = user;
    SIM_TRACE(handler->world, "handler %u: removed", handler->number);
    if (handler->is_removed)
        OBJECT(handler, "%u: on_removed twice", handler->number);
    handler->is_removed = true;
}

static bool filter(const ki_object *obj, void *user) {
    const sim_handler *handler = user;
    uint32_t key;
    uint64_t n = sim_truth_read(handler->world, obj, &key);
    return sim_truth_has(&handler->world->truth, &handler->filter, n);
}

const ki_handler sim_handler_calls = { on_add, on_update, on_delete, on_synced, on_removed, NULL };
const ki_handler sim_handler_calls_filtered = { on_add, on_update, on_delete, on_synced, on_removed, filter };

void sim_handler_compare(sim_handler *handler, const uint64_t present[SIM_KEYS]) {
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        uint64_t expected = present[key];
        if (handler->has_filter && !sim_truth_has(&handler->world->truth, &handler->filter, expected))
            expected = 0;
        if (handler->present[key] != expected)
            OBJECT(handler, "%u: %s: it was told write %llu, and the store has write %llu", handler->number,
                   sim_key_text(key), (unsigned long long)handler->present[key], (unsigned long long)expected);
    }
}
