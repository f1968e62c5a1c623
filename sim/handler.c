/* handler.c: the functions of a handler. Each notification is compared with the writes (truth.h) and with the earlier
 * notifications. */
#include "sim/removal.h"
#include "sim/world.h"

#include "src/object/keep.h"

#include <string.h>

static sim_informer *informer_of(const sim_handler *handler) {
    return &handler->world->client.informers[handler->informer];
}

/* Returns true if the informer and the filter select the state. */
static bool is_selected(const sim_handler *handler, uint64_t n) {
    const sim_truth *truth = &handler->world->truth;
    return sim_truth_is_selected(truth, &informer_of(handler)->selection, n) &&
           (!handler->has_filter || sim_truth_is_selected(truth, &handler->filter, n));
}

#define FAIL(handler, ...) sim_fail((handler)->world, "handler " __VA_ARGS__)

/* --- calls of the library inside a handler ------------------------------------------------------------------------ */

static void expect_deadlock(sim_handler *handler, ki_status status, const char *call) {
    if (status != KI_ERR_DEADLOCK)
        FAIL(handler, "%u: %s inside a handler returned %s; expected \"would deadlock\"", handler->number, call,
             ki_status_name(status));
}

static void call_back(sim_handler *handler) {
    sim_world *world = handler->world;
    sim_client *client = &world->client;
    ki_informer *informer = informer_of(handler)->informer;
    switch (sim_below(&client->random, 8)) {
    case 0:
        expect_deadlock(handler, ki_factory_wait_for_sync(client->factory, 1000, NULL, NULL),
                        "ki_factory_wait_for_sync");
        break;
    case 1:
        expect_deadlock(handler, ki_factory_shutdown(client->factory, NULL), "ki_factory_shutdown");
        break;
    case 2:
        expect_deadlock(handler, ki_engine_step(world->engine, 0, NULL), "ki_engine_step");
        break;
    case 3: {
        ki_object_list list;
        if (!ki_lister_list(informer, "ns1", "app=a", NULL, &list, NULL))
            ki_object_list_free(&list);
        break;
    }
    case 4:
        sim_client_add_handler(world, handler->informer);
        break;
    case 5:
        if (handler->registration.informer && !handler->is_removal_requested && sim_chance(&client->random, 20)) {
            handler->is_removal_requested = true;
            if (ki_informer_remove_handler(informer, handler->registration, NULL))
                FAIL(handler, "%u: removing itself failed", handler->number);
        }
        break;
    case 6:
        sim_client_reconfigure(world, sim_random_next(&client->random));
        break;
    default:
        ki_snapshot_free(ki_informer_snapshot(informer));
        break;
    }
}

/* Fails the run if an object has less or more than its informer promises. Each object of the cluster has a label. */
static void check_kept(sim_handler *handler, const ki_event *event, uint64_t n, uint32_t key) {
    ki_keep keep = informer_of(handler)->plan->keep;
    bool is_replay = event->type == KI_EVENT_ADD && handler->replay[key] == n;
    bool is_of_cache = event->is_resync || event->final_state_unknown || is_replay;
    bool is_whole = ki_object_label(event->obj, "app");
    bool old_is_whole = event->old && ki_object_label(event->old, "app");
    if (keep == KI_KEEP_KEYS ? !is_whole && !is_of_cache : is_whole != ki_keep_has_labels(keep))
        FAIL(handler, "%u: %s %s its content", handler->number, ki_object_key(event->obj), is_whole ? "has" : "lacks");
    if (event->old && keep != KI_KEEP_KEYS && old_is_whole != ki_keep_has_labels(keep))
        FAIL(handler, "%u: the state before of %s %s its content", handler->number, ki_object_key(event->old),
             old_is_whole ? "has" : "lacks");
}

/* Checks what holds for every notification. */
static void begin_call(sim_handler *handler, const ki_event *event, const char *what, uint64_t n, uint32_t key) {
    sim_world *world = handler->world;
    sim_digest_add(world, n * 131 + handler->number);
    SIM_TRACE(world, "handler %u: %s %s, write %llu%s%s%s", handler->number, what, ki_object_key(event->obj),
              (unsigned long long)n, event->is_in_initial_list ? ", initial" : "", event->is_resync ? ", resync" : "",
              event->final_state_unknown ? ", final state unknown" : "");
    if (handler->is_removed)
        FAIL(handler, "%u: called after on_removed", handler->number);
    if (handler->is_removal_requested)
        FAIL(handler, "%u: called after its removal", handler->number);
    if (event->informer != informer_of(handler)->informer)
        FAIL(handler, "%u: notified of an event of another informer", handler->number);
    handler->unreported += !event->is_resync;
    if (n)
        check_kept(handler, event, n, key);
}

/* Takes time and calls the library, as the handler's options say. Resyncs take no time: slow ones could fill the whole
 * run. */
static void end_call(sim_handler *handler, bool is_resync) {
    enum {
        SLOW_MAX_MS = 1500
    };
    sim_world *world = handler->world;
    sim_random *random = &world->client.random;
    if (handler->slow_percent && !is_resync && sim_chance(random, handler->slow_percent)) {
        int64_t took = sim_between(random, 1, SLOW_MAX_MS) * SIM_MILLISECOND;
        sim_pass(world, took);
    }
    sim_removal_in_handler(world);
    sim_fetches_in_handler(world);
    sim_namespaces_in_handler(world);
    if (handler->reentry_percent && sim_chance(random, handler->reentry_percent))
        call_back(handler);
}

/* --- notifications ------------------------------------------------------------------------------------------------ */

static void note_notification(sim_handler *handler, uint32_t key) {
    handler->was_notified[key] = true;
    handler->notified_at[key] = handler->world->now;
}

/* Fails the run if the state is not selected, or not newer than the last one. Adds it to the replica. */
static void check_state(sim_handler *handler, uint32_t key, uint64_t n, bool may_be_same) {
    const sim_truth *truth = &handler->world->truth;
    uint64_t newest = handler->newest[key];
    if (!is_selected(handler, n))
        FAIL(handler, "%u: notified of %s at write %llu, which is not selected", handler->number, sim_key_text(key),
             (unsigned long long)n);
    bool is_listed_anew = sim_namespaces_lost_since(informer_of(handler), key, handler->notified_at[key]);
    if (!sim_truth_is_unordered(truth, key) && !is_listed_anew && !sim_truth_may_follow(truth, newest, n) &&
        !(may_be_same && n == newest))
        FAIL(handler, "%u: notified of %s at write %llu after write %llu", handler->number, sim_key_text(key),
             (unsigned long long)n, (unsigned long long)newest);
    if (!sim_namespaces_may_have(handler->world, informer_of(handler), key))
        FAIL(handler, "%u: notified of %s, whose namespace is not in the set", handler->number, sim_key_text(key));
    handler->present[key] = handler->newest[key] = n;
    note_notification(handler, key);
}

/* Fails the run if is_in_initial_list is wrong. It is true for the states of the first list and for the store's states
 * when the handler was added, once for each object. */
static void check_initial(sim_handler *handler, uint32_t key, uint64_t n, bool is_initial) {
    const sim_world *world = handler->world;
    const sim_witness *witness = &informer_of(handler)->witness;
    bool is_first = !handler->was_notified[key];
    bool is_replay = is_first && handler->replay[key] == n;
    bool is_listed = !handler->is_late && witness->first_list[key] == n;
    if (handler->restores != world->truth.restores || world->client.restores != world->truth.restores)
        return; /* states can repeat */
    if (sim_namespaces_have_lost(informer_of(handler), key))
        return; /* it may have been listed again */
    if (is_initial && !is_replay && !is_listed)
        FAIL(handler, "%u: is_in_initial_list is true for %s at write %llu, expected false", handler->number,
             sim_key_text(key), (unsigned long long)n);
    if (!is_initial && is_first && (is_replay || is_listed) && !world->memory.refused &&
        !sim_truth_is_unordered(&world->truth, key))
        FAIL(handler, "%u: is_in_initial_list is false for %s, expected true", handler->number, sim_key_text(key));
}

static void on_add(const ki_event *event, void *user) {
    sim_handler *handler = user;
    uint32_t key;
    uint64_t n = sim_truth_read(handler->world, event->obj, &key);
    begin_call(handler, event, "add", n, key);
    if (!n)
        return;
    if (event->old)
        FAIL(handler, "%u: add with an old state", handler->number);
    if (handler->present[key])
        FAIL(handler, "%u: add of %s, which was added before", handler->number, sim_key_text(key));
    check_initial(handler, key, n, event->is_in_initial_list);
    if (event->is_in_initial_list && handler->is_synced)
        FAIL(handler, "%u: is_in_initial_list is true for %s after on_synced", handler->number, sim_key_text(key));
    check_state(handler, key, n, false);
    end_call(handler, false);
}

static void on_update(const ki_event *event, void *user) {
    sim_handler *handler = user;
    uint32_t key, old_key;
    uint64_t n = sim_truth_read(handler->world, event->obj, &key);
    uint64_t old = sim_truth_read(handler->world, event->old, &old_key);
    begin_call(handler, event, "update", n, key);
    if (!n || !old)
        return;
    if (!handler->present[key])
        FAIL(handler, "%u: update of %s, which was not added", handler->number, sim_key_text(key));
    else if (old_key != key || old != handler->present[key])
        FAIL(handler, "%u: update of %s: old is write %llu, but the last notification had write %llu", handler->number,
             sim_key_text(key), (unsigned long long)old, (unsigned long long)handler->present[key]);
    if (strcmp(ki_object_uid(event->obj), ki_object_uid(event->old)) != 0)
        FAIL(handler, "%u: update of %s from one object to another", handler->number, sim_key_text(key));
    if (event->is_resync && (!handler->resync_ms || !informer_of(handler)->resync_timer_ms))
        FAIL(handler, "%u: resync without a resync period", handler->number);
    check_state(handler, key, n, event->is_resync);
    end_call(handler, event->is_resync);
}

/* Returns true if the object has a later state that the handler's filter rejects: the handler then gets a delete with a
 * known final state. */
static bool may_leave_filter(const sim_handler *handler, uint64_t n) {
    const sim_truth *truth = &handler->world->truth;
    uint32_t key = truth->writes[n].key;
    bool may_be_earlier = /* after a restore, or listed again for a namespace that came back to a set */
        truth->restores || sim_namespaces_lost_since(informer_of(handler), key, handler->notified_at[key]);
    uint64_t first = may_be_earlier ? truth->writes[n].creation : n + 1;
    for (uint64_t later = first; handler->has_filter && later < truth->write_count; later++) {
        if (truth->writes[later].creation == truth->writes[n].creation &&
            !sim_truth_is_selected(truth, &handler->filter, later))
            return true;
    }
    return false;
}

/* Fails the run if final_state_unknown is wrong. It is true exactly if no deletion event was queued: a list did not
 * have the object, or had another one of its name. */
static void check_final_state(sim_handler *handler, uint32_t key, uint64_t n, bool is_unknown) {
    const sim_world *world = handler->world;
    const sim_witness *witness = &informer_of(handler)->witness;
    if (is_unknown && !sim_witness_inferred_deletion(witness, n) && !world->memory.refused)
        FAIL(handler, "%u: the final state of %s is reported as unknown, but an event had it", handler->number,
             sim_key_text(key));
    if (!is_unknown && !sim_witness_saw_deletion(witness, n) && !may_leave_filter(handler, n))
        FAIL(handler, "%u: the final state of %s is reported as known, but no event had it", handler->number,
             sim_key_text(key));
}

/* Returns true if the object has existed at all times since write `known`. An unreadable state is no reason for a
 * delete. A removed type is. */
static bool is_deletion_wrong(const sim_handler *handler, uint32_t key, uint64_t known) {
    const sim_world *world = handler->world;
    const sim_truth *truth = &world->truth;
    return !sim_plan_has(&world->plan, SIM_TYPE_GONE) && !truth->keys[key].has_undetectable_loss &&
           !sim_namespaces_lost_since(informer_of(handler), key, handler->notified_at[key]) && !handler->has_filter &&
           world->client.restores == truth->restores &&
           sim_truth_exists_since(truth, &informer_of(handler)->selection, known);
}

static void on_delete(const ki_event *event, void *user) {
    sim_handler *handler = user;
    const sim_truth *truth = &handler->world->truth;
    uint32_t key;
    uint64_t n = sim_truth_read(handler->world, event->obj, &key);
    begin_call(handler, event, "delete", n, key);
    if (!n)
        return;
    uint64_t known = handler->present[key];
    if (!known)
        FAIL(handler, "%u: delete of %s, which was not added", handler->number, sim_key_text(key));
    bool is_listed_anew = sim_namespaces_lost_since(informer_of(handler), key, handler->notified_at[key]);
    if (!sim_truth_is_unordered(truth, key) && !is_listed_anew && known && n != known &&
        !sim_truth_may_follow(truth, known, n))
        FAIL(handler, "%u: delete of %s at write %llu after a notification of the newer write %llu", handler->number,
             sim_key_text(key), (unsigned long long)n, (unsigned long long)known);
    if (!sim_truth_is_unordered(truth, key) && truth->keys[key].n == known && known && is_selected(handler, known) &&
        !is_listed_anew && !sim_truth_may_follow(truth, known, known)) /* a lost write can have deleted it */
        FAIL(handler, "%u: delete of %s, which exists unchanged", handler->number, sim_key_text(key));
    if (event->final_state_unknown && known && is_deletion_wrong(handler, key, known))
        FAIL(handler, "%u: delete of %s, which has existed all the time", handler->number, sim_key_text(key));
    if (known)
        check_final_state(handler, key, n, event->final_state_unknown);
    handler->present[key] = 0;
    note_notification(handler, key);
    end_call(handler, false);
}

/* Returns true if the informer has had the namespace of the key since its start. */
static bool is_of_first_set(const sim_informer *informer, uint32_t key) {
    return !informer->plan->is_set ||
           ((informer->namespaces.first >> sim_key_ns(key) & 1) && !sim_namespaces_have_lost(informer, key));
}

/* Another set may have been given since the call was queued. */
static void note_complete_set(sim_handler *handler) {
    const sim_informer *own = informer_of(handler);
    if (sim_namespaces_are_synced(own))
        handler->complete_set = own->namespaces.given;
}

/* Fails the run if an object of a namespace is missing that has not changed since that was added. */
static void on_namespaces_synced(ki_informer *informer, void *user) {
    sim_handler *handler = user;
    const sim_informer *own = informer_of(handler);
    SIM_TRACE(handler->world, "handler %u: the set is complete", handler->number);
    if (informer != own->informer || !own->plan->is_set)
        FAIL(handler, "%u: on_namespaces_synced of another informer, or without a set", handler->number);
    if (!handler->is_synced || handler->is_removed || handler->is_removal_requested)
        FAIL(handler, "%u: on_namespaces_synced before on_synced, or after the removal", handler->number);
    handler->unreported++;
    bool is_of_earlier =
        handler->reported_set < own->namespaces.last_complete; /* perhaps: that call had to come, too */
    note_complete_set(handler);
    handler->reported_set = handler->complete_set;
    if (handler->complete_set != own->namespaces.given || is_of_earlier)
        return;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        uint64_t n = handler->world->truth.keys[key].n;
        if (sim_namespaces_must_have(handler->world, own, key) && is_selected(handler, n) && handler->present[key] != n)
            FAIL(handler, "%u: on_namespaces_synced before the add of %s", handler->number, sim_key_text(key));
    }
}

/* Fails the run if an object is missing that has not changed since the client started, or left and came back. */
static void on_synced(ki_informer *informer, void *user) {
    sim_handler *handler = user;
    const sim_world *world = handler->world;
    const sim_truth *truth = &world->truth;
    SIM_TRACE(world, "handler %u: synced", handler->number);
    if (handler->is_synced)
        FAIL(handler, "%u: on_synced twice", handler->number);
    if (handler->is_removed || handler->is_removal_requested)
        FAIL(handler, "%u: on_synced after the removal", handler->number);
    if (!ki_informer_has_synced(informer))
        FAIL(handler, "%u: on_synced before the informer is synced", handler->number);
    handler->is_synced = true;
    handler->unreported++;
    note_complete_set(handler);
    const sim_informer *own = informer_of(handler);
    if (own->restores != truth->restores)
        return;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        const sim_key *now = &truth->keys[key];
        if (now->n && now->last_write <= own->last_write_at_start && !sim_truth_is_unordered(truth, key) &&
            is_selected(handler, now->n) && is_of_first_set(own, key) && handler->present[key] != now->n)
            FAIL(handler, "%u: on_synced before the add of %s", handler->number, sim_key_text(key));
    }
}

static void on_changed(ki_informer *informer, void *user) {
    sim_handler *handler = user;
    SIM_TRACE(handler->world, "handler %u: changed", handler->number);
    if (informer != informer_of(handler)->informer)
        FAIL(handler, "%u: on_changed of another informer", handler->number);
    if (handler->is_removed || handler->is_removal_requested)
        FAIL(handler, "%u: on_changed after the removal", handler->number);
    if (!handler->is_synced || !handler->unreported)
        FAIL(handler, "%u: on_changed %s", handler->number, handler->is_synced ? "without change" : "before the sync");
    handler->unreported = 0;
}

static void on_removed(void *user) {
    sim_handler *handler = user;
    SIM_TRACE(handler->world, "handler %u: removed", handler->number);
    if (handler->is_removed)
        FAIL(handler, "%u: on_removed twice", handler->number);
    handler->is_removed = true;
}

static bool filter(const ki_object *obj, void *user) {
    const sim_handler *handler = user;
    uint32_t key;
    uint64_t n = sim_truth_read(handler->world, obj, &key);
    return sim_truth_is_selected(&handler->world->truth, &handler->filter, n);
}

#define FUNCTIONS \
    .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced, \
    .on_removed = on_removed, .on_changed = on_changed, .on_namespaces_synced = on_namespaces_synced

const ki_handler sim_handler_functions = { FUNCTIONS };
const ki_handler sim_handler_functions_filtered = { FUNCTIONS, .filter = filter };

void sim_handler_check(sim_handler *handler) {
    enum {
        DELAY_MAX_S = 60, /* by slow handlers */
        RECOVERY_S = 120  /* after a lack of memory: the longest backoff, twice */
    };
    const sim_world *world = handler->world;
    int64_t timer_ms = informer_of(handler)->resync_timer_ms;
    if (handler->incarnation != world->client.incarnation || handler->is_removed || handler->is_removal_requested ||
        !handler->is_synced || !handler->resync_ms || !timer_ms || ki_registration_pending(handler->registration) ||
        (world->allocation_failed_at && world->now - world->allocation_failed_at < RECOVERY_S * SIM_SECOND))
        return;
    int64_t period_ms = handler->resync_ms > timer_ms ? handler->resync_ms : timer_ms;
    int64_t longest = (period_ms + timer_ms) * SIM_MILLISECOND + DELAY_MAX_S * SIM_SECOND;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (handler->present[key] && world->now - handler->notified_at[key] > longest)
            FAIL(handler, "%u: no resync of %s for %lld s, but the period is %lld ms", handler->number,
                 sim_key_text(key), (long long)((world->now - handler->notified_at[key]) / SIM_SECOND),
                 (long long)handler->resync_ms);
    }
}

void sim_handler_compare(sim_handler *handler, const uint64_t present[SIM_KEYS]) {
    if (handler->is_synced && handler->unreported)
        FAIL(handler, "%u: %u changes without on_changed", handler->number, handler->unreported);
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        uint64_t expected = present[key];
        if (handler->has_filter && !sim_truth_is_selected(&handler->world->truth, &handler->filter, expected))
            expected = 0;
        if (handler->present[key] != expected)
            FAIL(handler, "%u: %s: the last notification had write %llu, but the store has write %llu", handler->number,
                 sim_key_text(key), (unsigned long long)handler->present[key], (unsigned long long)expected);
    }
}
