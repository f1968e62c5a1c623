/* handler.c: checks the calls of one handler against the truth and against its earlier calls. */
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
        if (handler->registration.informer && !handler->asked_to_go && sim_chance(&client->random, 20)) {
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

/* Reminders are quick: all of them, slow, at the shortest period, are more than one thread has time for. */
static void end(sim_handler *handler, bool is_reminder) {
    enum {
        SLOWEST_MS = 1500
    };
    sim_world *world = handler->world;
    sim_random *random = &world->client.random;
    if (handler->slow && !is_reminder && sim_chance(random, handler->slow)) {
        int64_t took = sim_between(random, 1, SLOWEST_MS) * SIM_MILLISECOND;
        world->now += took;
        world->in_handlers += took;
    }
    if (handler->reentry && sim_chance(random, handler->reentry))
        call_back(handler);
}

/* --- the calls ------------------------------------------------------------------------------------------------------------------ */

static void note_told(sim_handler *handler, uint32_t key) {
    handler->was_told[key] = true;
    handler->told_at[key] = handler->world->now;
}

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
    note_told(handler, key);
}

/* Of the initial list are exactly the states of the first list, and what was there when the handler came: each once. Where changes
 * are merged (`latest`) a later state may stand for them. */
static void check_initial(sim_handler *handler, uint32_t key, uint64_t n, bool is_initial) {
    const sim_world *world = handler->world;
    const sim_witness *witness = &informer_of(handler)->witness;
    bool is_first = !handler->was_told[key];
    bool is_replay = is_first && handler->replay[key] == n;
    bool is_listed = !handler->came_late && witness->population[key] == n;
    if (handler->restored != world->truth.restored || world->client.restored != world->truth.restored)
        return; /* the same states may come twice */
    bool may_stand_for_one = handler->delivery == KI_DELIVER_LATEST &&
                             (handler->replay[key] || (!handler->came_late && witness->population[key]));
    if (is_initial && !is_replay && !is_listed && !may_stand_for_one)
        OBJECT(handler, "%u: %s is said to be of the initial list at write %llu", handler->number, sim_key_text(key),
               (unsigned long long)n);
    if (!is_initial && is_first && (is_replay || is_listed) && !world->memory.refused &&
        !world->truth.keys[key].is_poisoned)
        OBJECT(handler, "%u: %s is not said to be of the initial list", handler->number, sim_key_text(key));
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
    check_initial(handler, key, n, event->is_in_initial_list);
    if (event->is_in_initial_list && handler->is_synced)
        OBJECT(handler, "%u: %s is of the initial list, after on_synced", handler->number, sim_key_text(key));
    show(handler, key, n, false);
    end(handler, false);
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
        OBJECT(handler, "%u: update of %s: old is write %llu, and the handler was notified of write %llu",
               handler->number, sim_key_text(key), (unsigned long long)old, (unsigned long long)handler->present[key]);
    if (strcmp(ki_object_uid(event->obj), ki_object_uid(event->old)) != 0)
        OBJECT(handler, "%u: update of %s from one object to another", handler->number, sim_key_text(key));
    if (event->is_resync && (!handler->resync_ms || !informer_of(handler)->look_every_ms))
        OBJECT(handler, "%u: a resync, and the handler has no resync period", handler->number);
    show(handler, key, n, event->is_resync);
    end(handler, event->is_resync);
}

/* Has the object a later state that the handler's filter does not let through? Then to the handler it ends there. */
static bool may_leave_filter(const sim_handler *handler, uint64_t n) {
    const sim_truth *truth = &handler->world->truth;
    uint64_t first = truth->restored ? truth->writes[n].birth : n + 1; /* after a restore also an earlier one */
    for (uint64_t later = first; handler->has_filter && later < truth->write_count; later++) {
        if (truth->writes[later].birth == truth->writes[n].birth && !sim_truth_has(truth, &handler->filter, later))
            return true;
    }
    return false;
}

/* Where changes are merged, one object may make way for the next of its name, and its very last state is not kept. */
static bool may_be_merged(const sim_handler *handler, uint32_t key, uint64_t n) {
    const sim_truth *truth = &handler->world->truth;
    for (uint64_t later = n + 1; handler->delivery == KI_DELIVER_LATEST && later < truth->write_count; later++) {
        if (truth->writes[later].key == key && !truth->writes[later].is_delete &&
            truth->writes[later].birth != truth->writes[n].birth)
            return true;
    }
    return false;
}

/* The final state is unknown exactly where nobody saw the deletion: a list lacks the object, or another one has its name. */
static void check_end(sim_handler *handler, uint32_t key, uint64_t n, uint64_t known, bool is_unknown) {
    const sim_world *world = handler->world;
    const sim_witness *witness = &informer_of(handler)->witness;
    if (world->truth.writes[n].birth != world->truth.writes[known].birth)
        return; /* `latest`: the end of one that it never knew */
    if (is_unknown && !sim_witness_has_inferred_end(witness, n) && !world->memory.refused &&
        !may_be_merged(handler, key, n))
        OBJECT(handler, "%u: the final state of %s is reported as unknown, and an event had it", handler->number,
               sim_key_text(key));
    if (!is_unknown && !sim_witness_has_seen_end(witness, n) && !may_leave_filter(handler, n))
        OBJECT(handler, "%u: the final state of %s is reported as known, and no event had it", handler->number,
               sim_key_text(key));
}

/* An object whose state could not be read is not gone. One whose type the server does not know for a while is. */
static bool is_inferred_wrongly(const sim_handler *handler, uint32_t key, uint64_t known) {
    const sim_world *world = handler->world;
    const sim_truth *truth = &world->truth;
    return !sim_plan_has(&world->plan, SIM_TYPE_GONE) && !truth->keys[key].is_unknowable && !handler->has_filter &&
           world->client.restored == truth->restored &&
           sim_truth_is_there_since(truth, &informer_of(handler)->selection, known);
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
        OBJECT(handler, "%u: delete of %s at write %llu, and the handler was notified of write %llu", handler->number,
               sim_key_text(key), (unsigned long long)n, (unsigned long long)known);
    if (!truth->keys[key].is_poisoned && truth->keys[key].n == known && known && is_wanted(handler, known) &&
        !sim_truth_may_follow(truth, known, known)) /* it may have been deleted in what was lost */
        OBJECT(handler, "%u: delete of %s, which is still there unchanged", handler->number, sim_key_text(key));
    if (event->final_state_unknown && known && is_inferred_wrongly(handler, key, known))
        OBJECT(handler, "%u: %s is reported as deleted, and has existed all the time", handler->number,
               sim_key_text(key));
    if (known)
        check_end(handler, key, n, known, event->final_state_unknown);
    handler->present[key] = 0;
    note_told(handler, key);
    end(handler, false);
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

void sim_handler_look(sim_handler *handler) {
    enum {
        LATENESS_S = 60, /* slow handlers */
        RECOVERY_S = 120 /* from a lack of memory: the controller's longest wait, twice */
    };
    const sim_world *world = handler->world;
    int64_t look_ms = informer_of(handler)->look_every_ms;
    if (handler->life != world->client.life || handler->is_removed || handler->asked_to_go || !handler->is_synced ||
        !handler->resync_ms || !look_ms || ki_registration_pending(handler->registration) ||
        (world->trouble_at && world->now - world->trouble_at < RECOVERY_S * SIM_SECOND))
        return;
    int64_t period_ms = handler->resync_ms > look_ms ? handler->resync_ms : look_ms;
    int64_t longest = (period_ms + look_ms) * SIM_MILLISECOND + LATENESS_S * SIM_SECOND;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (handler->present[key] && world->now - handler->told_at[key] > longest)
            OBJECT(handler, "%u: no resync of %s for %lld s, and the period is %lld ms", handler->number,
                   sim_key_text(key), (long long)((world->now - handler->told_at[key]) / SIM_SECOND),
                   (long long)handler->resync_ms);
    }
}

void sim_handler_compare(sim_handler *handler, const uint64_t present[SIM_KEYS]) {
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        uint64_t expected = present[key];
        if (handler->has_filter && !sim_truth_has(&handler->world->truth, &handler->filter, expected))
            expected = 0;
        if (handler->present[key] != expected)
            OBJECT(handler, "%u: %s: the handler was notified of write %llu, and the store has write %llu",
                   handler->number, sim_key_text(key), (unsigned long long)handler->present[key],
                   (unsigned long long)expected);
    }
}
