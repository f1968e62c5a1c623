/* waiter.c: see waiter.h. */
#include "sim/oracle.h"
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the resource version of the cache; 0: none. */
static uint64_t version_of_cache(const sim_wait *wait) {
    ki_snapshot *snapshot = ki_informer_snapshot(wait->world->client.informers[wait->informer].informer);
    uint64_t version = strtoull(ki_snapshot_resource_version(snapshot), NULL, 10);
    ki_snapshot_free(snapshot);
    return version;
}

/* Fails the run if a wait ended with KI_OK and the cache lacks the write. Ignores deleted and unselected objects, and
 * events that a bookmark overtook. */
static void check_cache(const sim_wait *wait) {
    sim_world *world = wait->world;
    const sim_truth *truth = &world->truth;
    const sim_informer *informer = &world->client.informers[wait->informer];
    uint64_t present[SIM_KEYS];
    sim_oracle_read(world, informer, present);
    for (uint64_t n = 1; n < truth->write_count; n++) {
        const sim_write *write = &truth->writes[n];
        if (write->revision != wait->version || write->is_lost || write->is_delete ||
            truth->keys[write->key].has_undetectable_loss || !present[write->key] ||
            sim_network_has_overtaken_event(world, wait->informer, write->key))
            continue;
        if (present[write->key] < n && sim_truth_is_selected(truth, &informer->selection, n))
            sim_fail(world, "the wait for version %" PRIu64 " ended with ok, but %s is at write %" PRIu64,
                     wait->version, sim_key_text(write->key), present[write->key]);
    }
}

/* Returns true if an event can have been unreadable. A wait for it ends when the object is readable, replaced or
 * deleted, or after the next list. */
static bool may_be_unreadable(const sim_world *world) {
    if (sim_plan_has(&world->plan, SIM_RESPONSE_GARBAGE))
        return true;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (world->truth.keys[key].is_poisoned)
            return true;
    }
    return false;
}

static void on_version(ki_informer *informer, ki_status status, void *user) {
    sim_wait *wait = user;
    sim_world *world = wait->world;
    (void)informer;
    SIM_TRACE(world, "the wait for version %" PRIu64 " ends: %s", wait->version, ki_status_name(status));
    sim_digest_add(world, wait->version * 17 + (uint64_t)status);
    if (wait->is_called)
        sim_fail(world, "the wait for version %" PRIu64 " is called twice", wait->version);
    wait->is_called = true;
    bool is_removed = world->client.informers[wait->informer].is_removed;
    if (status == KI_ERR_CANCELLED && !world->waiter.is_stopping && !is_removed)
        sim_fail(world, "the wait for version %" PRIu64 " is cancelled, but no informer stops", wait->version);
    if (status == KI_ERR_TIMEOUT && world->now < wait->deadline)
        sim_fail(world, "the wait for version %" PRIu64 " times out too early", wait->version);
    if (is_removed)
        return; /* its cache is empty */
    /* Lists without versions: a deletion before a watch is not seen, and after a list the cache has no version. */
    bool has_versions = !world->plan.no_list_versions;
    if (status == KI_OK && wait->restores == world->truth.restores && !wait->is_version_reused && has_versions &&
        version_of_cache(wait) < wait->version)
        sim_fail(world, "the wait for version %" PRIu64 " ended with ok, but the cache is at %" PRIu64, wait->version,
                 version_of_cache(wait));
    if (status == KI_OK && !world->truth.restores && !wait->is_version_reused && has_versions)
        check_cache(wait);
}

void sim_waiter_note_write(sim_world *world, uint64_t version) {
    sim_waiter *waiter = &world->waiter;
    sim_random *random = &waiter->random;
    if (!random->state)
        *random = sim_random_from(world->plan.seed, 51);
    if (!sim_chance(random, 4) || !world->client.factory || waiter->count == SIM_WAITS_MAX)
        return;
    unsigned informer = (unsigned)sim_below(random, world->client.informer_count);
    if (world->client.informers[informer].plan->is_set)
        return; /* its version is that of the namespace furthest behind */
    int64_t timeout_ms = sim_chance(random, 50) ? -1 : sim_between(random, 0, 90000);
    sim_wait *wait = &waiter->waits[waiter->count];
    *wait = (sim_wait){ .world = world,
                        .informer = informer,
                        .version = version,
                        .restores = world->truth.restores,
                        .deadline = timeout_ms < 0 ? INT64_MAX : world->now + timeout_ms * SIM_MILLISECOND };
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, version);
    /* A cache with this or a later version has it from before a restore. */
    wait->is_version_reused = version_of_cache(wait) >= version;
    ki_status status = ki_informer_wait_for_version_async(world->client.informers[informer].informer, NULL, text,
                                                          timeout_ms, on_version, wait, NULL);
    bool is_removed = world->client.informers[informer].is_removed;
    if (is_removed ? status != KI_ERR_CANCELLED : status && status != KI_ERR_NO_MEMORY)
        sim_fail(world, "ki_informer_wait_for_version_async returned %s", ki_status_name(status));
    waiter->count += status == KI_OK;
}

void sim_waiter_check(sim_world *world) {
    for (size_t i = 0; i < world->waiter.count && world->client.factory; i++) {
        const sim_wait *wait = &world->waiter.waits[i];
        if (wait->is_called)
            continue;
        if (world->client.informers[wait->informer].is_removed)
            sim_fail(world, "the wait for version %" PRIu64 " has not ended, but its informer was removed",
                     wait->version);
        if (version_of_cache(wait) >= wait->version && !may_be_unreadable(world))
            sim_fail(world, "the wait for version %" PRIu64 " has not ended, but the cache has the version",
                     wait->version);
        if (world->now > wait->deadline && !world->memory.refused)
            sim_fail(world, "the wait for version %" PRIu64 " does not time out", wait->version);
    }
}

void sim_waiter_client_stops(sim_world *world) {
    world->waiter.is_stopping = true;
}

void sim_waiter_client_stopped(sim_world *world) {
    for (size_t i = 0; i < world->waiter.count; i++) {
        if (!world->waiter.waits[i].is_called)
            sim_fail(world, "the wait for version %" PRIu64 " had not ended when the informer stopped",
                     world->waiter.waits[i].version);
    }
    world->waiter.count = 0;
    world->waiter.is_stopping = false;
}
