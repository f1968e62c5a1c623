/* oracle.c: see oracle.h. Reads the stores through snapshots, like a program. */
#include "sim/oracle.h"

#include <kinformer/memory.h>

#include "sim/removal.h"
#include "sim/world.h"

#include "src/cache/informer/informer_parts.h"
#include "src/object/format.h"

#include <string.h>

/* --- one store ---------------------------------------------------------------------------------------------------- */

static uint64_t digest_of(sim_world *world, const ki_snapshot *snapshot) {
    uint64_t digest = ki_snapshot_count(snapshot);
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    uint32_t key;
    while ((obj = ki_snapshot_next(snapshot, &cursor)) != NULL)
        digest += sim_truth_read(world, obj, &key) * 0x9e3779b97f4a7c15u;
    return digest;
}

/* Fails the run if an object is missing in the index or has a wrong value. */
static void check_index(sim_world *world, const ki_snapshot *snapshot, const char *index, bool by_label) {
    size_t expected[SIM_LABELS > SIM_NAMESPACES ? SIM_LABELS : SIM_NAMESPACES] = { 0 };
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    uint32_t key;
    if (!ki_snapshot_has_index(snapshot, index))
        return;
    while ((obj = ki_snapshot_next(snapshot, &cursor)) != NULL) {
        uint64_t n = sim_truth_read(world, obj, &key);
        expected[by_label ? world->truth.writes[n].label : sim_key_ns(key)]++;
    }
    for (unsigned i = 0; i < (by_label ? SIM_LABELS : SIM_NAMESPACES); i++) {
        char value[4] = { by_label ? (char)('a' + i) : 'n', by_label ? '\0' : 's', (char)('0' + i), '\0' };
        size_t found = 0;
        cursor = (ki_cursor)KI_CURSOR_INIT;
        while ((obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor)) != NULL) {
            uint64_t n = sim_truth_read(world, obj, &key);
            found++;
            if ((by_label ? world->truth.writes[n].label : sim_key_ns(key)) != i ||
                ki_snapshot_get(snapshot, ki_object_key(obj)) != obj)
                sim_fail(world, "index %s has %s under the wrong value %s", index, ki_object_key(obj), value);
        }
        if (found != expected[i] || ki_snapshot_count_by_index(snapshot, index, value) != found)
            sim_fail(world, "index %s has %zu objects under %s, but the store has %zu", index, found, value,
                     expected[i]);
    }
}

static void read_store(sim_world *world, const ki_snapshot *snapshot, uint64_t present[SIM_KEYS]) {
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    uint32_t key = 0;
    size_t count = 0;
    memset(present, 0, SIM_KEYS * sizeof *present);
    while ((obj = ki_snapshot_next(snapshot, &cursor)) != NULL) {
        uint64_t n = sim_truth_read(world, obj, &key);
        if (present[key])
            sim_fail(world, "the store has %s twice", sim_key_text(key));
        present[key] = n;
        count++;
    }
    if (count != ki_snapshot_count(snapshot))
        sim_fail(world, "the store reports %zu objects, but has %zu", ki_snapshot_count(snapshot), count);
}

void sim_oracle_read(sim_world *world, const sim_informer *informer, uint64_t present[SIM_KEYS]) {
    ki_snapshot *snapshot = ki_informer_snapshot(informer->informer);
    read_store(world, snapshot, present);
    ki_snapshot_free(snapshot);
}

/* Fails the run if the snapshot of the last check has changed, and releases it. */
static void check_snapshot(sim_world *world, sim_informer *informer) {
    if (informer->snapshot && digest_of(world, informer->snapshot) != informer->snapshot_digest)
        sim_fail(world, "a snapshot has changed");
    ki_snapshot_free(informer->snapshot);
    informer->snapshot = NULL;
}

/* What is counted with each change is what is counted when it is asked for. */
static void check_memory(sim_world *world, ki_informer *informer, size_t count) {
    ki_memory memory;
    ki_health health;
    ki_informer_memory(informer, &memory);
    ki_informer_health(informer, &health);
    size_t bytes = memory.fields + memory.shared + memory.plain_bodies + memory.packed_bodies +
                   ki_object_format_base_bytes(informer->options.format);
    if (memory.objects != count || health.object_bytes != bytes)
        sim_fail(world, "the memory of %zu objects is counted as that of %zu, %zu bytes", count, memory.objects,
                 health.object_bytes);
}

static void check_store(sim_world *world, sim_informer *informer) {
    const sim_truth *truth = &world->truth;
    check_snapshot(world, informer);
    if (informer->is_removed)
        return;
    ki_snapshot *snapshot = ki_informer_snapshot(informer->informer);
    uint64_t present[SIM_KEYS];
    read_store(world, snapshot, present);
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        uint64_t n = present[key];
        if (!n)
            continue;
        if (!sim_truth_is_selected(truth, &informer->selection, n))
            sim_fail(world, "the store has %s at write %llu, which is not selected", sim_key_text(key),
                     (unsigned long long)n);
        if (!sim_namespaces_may_have(world, informer, key))
            sim_fail(world, "the store has %s, whose namespace is not in the set", sim_key_text(key));
        if (!sim_truth_is_unordered(truth, key) && n != informer->newest_shown[key] &&
            !sim_namespaces_have_lost(informer, key) && !sim_truth_may_follow(truth, informer->newest_shown[key], n))
            sim_fail(world, "the store has %s at write %llu after write %llu", sim_key_text(key), (unsigned long long)n,
                     (unsigned long long)informer->newest_shown[key]);
        informer->newest_shown[key] = n;
    }
    sim_deleted_check(&informer->deleted, world, informer->informer, present, informer->namespaces.left);
    if (!ki_snapshot_has_index(snapshot, KI_NAMESPACE_INDEX) ||
        (ki_snapshot_has_index(snapshot, "label") == (informer->plan->keep == KI_KEEP_KEYS)))
        sim_fail(world, "an index is missing");
    check_index(world, snapshot, KI_NAMESPACE_INDEX, false);
    check_index(world, snapshot, "label", true);
    check_index(world, snapshot, "late", true);
    check_memory(world, informer->informer, ki_snapshot_count(snapshot));
    bool is_synced = ki_informer_has_synced(informer->informer);
    if (informer->was_synced && !is_synced)
        sim_fail(world, "an informer is no longer synced");
    informer->was_synced = is_synced;
    informer->snapshot = snapshot;
    informer->snapshot_digest = digest_of(world, snapshot);
}

void sim_oracle_check(sim_world *world) {
    if (world->memory.refused != world->failed_allocations_seen)
        world->allocation_failed_at = world->now;
    world->failed_allocations_seen = world->memory.refused;
    for (unsigned i = 0; i < world->client.informer_count; i++)
        check_store(world, &world->client.informers[i]);
    sim_removal_check(world);
    for (size_t i = 0; i < world->client.handler_count; i++)
        sim_handler_check(world->client.handlers[i]);
}

/* --- the end of the run ------------------------------------------------------------------------------------------- */

/* Returns true if no notification is pending for the handler, or it is removed. */
static bool is_up_to_date(const sim_client *client, const sim_handler *handler) {
    return handler->incarnation != client->incarnation || handler->is_removed || handler->is_removal_requested ||
           (ki_registration_pending(handler->registration) == 0 && ki_registration_has_synced(handler->registration) &&
            handler->is_synced && handler->complete_set == client->informers[handler->informer].namespaces.given);
}

/* Returns the first key whose state differs between the store and the cluster; SIM_KEYS: none. */
static uint32_t first_difference(sim_world *world, const sim_informer *informer, uint64_t present[SIM_KEYS]) {
    sim_oracle_read(world, informer, present);
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        uint64_t n = world->truth.keys[key].n;
        bool is_expected =
            sim_truth_is_selected(&world->truth, &informer->selection, n) && sim_namespaces_have(informer, key);
        if (present[key] != (is_expected ? n : 0))
            return key;
    }
    return SIM_KEYS;
}

bool sim_oracle_agrees(sim_world *world) {
    const sim_client *client = &world->client;
    uint64_t present[SIM_KEYS];
    if (!client->factory || client->asks)
        return false;
    for (unsigned i = 0; i < client->informer_count; i++) {
        ki_health health;
        if (client->informers[i].is_removed)
            continue;
        ki_informer_health(client->informers[i].informer, &health);
        if (health.state != KI_STATE_WATCHING || !ki_informer_has_synced(client->informers[i].informer) ||
            first_difference(world, &client->informers[i], present) != SIM_KEYS ||
            !sim_namespaces_are_synced(&client->informers[i]))
            return false;
    }
    for (size_t i = 0; i < client->handler_count; i++) {
        if (!is_up_to_date(client, client->handlers[i]))
            return false;
    }
    return true;
}

void sim_oracle_compare_handlers(sim_world *world) {
    const sim_client *client = &world->client;
    uint64_t present[SIM_KEYS];
    for (unsigned i = 0; i < client->informer_count; i++) {
        (void)first_difference(world, &client->informers[i], present);
        for (size_t k = 0; k < client->handler_count; k++) {
            sim_handler *handler = client->handlers[k];
            if (handler->incarnation == client->incarnation && handler->informer == i && !handler->is_removed &&
                !handler->is_removal_requested)
                sim_handler_compare(handler, present);
        }
    }
}

void sim_oracle_report(sim_world *world) {
    const sim_client *client = &world->client;
    uint64_t present[SIM_KEYS];
    for (unsigned i = 0; i < client->informer_count; i++) {
        const sim_informer *informer = &client->informers[i];
        ki_health health;
        if (informer->is_removed)
            continue;
        ki_informer_health(informer->informer, &health);
        uint32_t key = first_difference(world, informer, present);
        if (!ki_informer_has_synced(informer->informer) || health.state != KI_STATE_WATCHING)
            sim_fail(world, "informer %u is not synced and watching; it is %s: %s", i, ki_state_name(health.state),
                     ki_error_message(&health.cause));
        if (!sim_namespaces_are_synced(informer))
            sim_fail(world, "informer %u has a namespace that is not synced", i);
        if (key != SIM_KEYS)
            sim_fail(world, "informer %u has %s at write %llu, the cluster at write %llu; it is %s: %s", i,
                     sim_key_text(key), (unsigned long long)present[key], (unsigned long long)world->truth.keys[key].n,
                     ki_state_name(health.state), ki_error_message(&health.cause));
    }
    for (size_t i = 0; i < client->handler_count; i++) {
        if (!is_up_to_date(client, client->handlers[i]))
            sim_fail(world,
                     "handler %zu has pending notifications, or on_synced or on_namespaces_synced was not called", i);
    }
    sim_fail(world, "the client has not started");
}
