/* deleted.c: see deleted.h. Checks are some seconds apart: an object was deleted after the last check that found it in
 * the store. It must be found for its time since then. A deleted state must be gone after its time since the first
 * check that found it. */
#include "sim/deleted.h"

#include "sim/world.h"

#include <kinformer/lister.h>

enum {
    SLACK_S = 30,    /* slow handlers and a paused host delay timers */
    RECOVERY_S = 120 /* after a lack of memory */
};

/* Returns true if a deleted state may stay longer: it could not be dropped, or it was there a second time, perhaps
 * between two checks: after a restore of the cluster, or because a server sent it again. */
static bool may_linger(const sim_world *world, uint64_t n) {
    return world->truth.keys[world->truth.writes[n].key].may_reappear ||
           (world->allocation_failed_at && world->now - world->allocation_failed_at < RECOVERY_S * SIM_SECOND) ||
           world->truth.writes[n].restores != world->truth.restores;
}

/* Returns how long a deleted state can be found. One that was fetched is kept when the server has it no longer, and
 * again when a late cache adds and deletes it, perhaps between two checks. */
static int64_t longest(const sim_deleted *deleted, const sim_world *world, uint32_t key) {
    return world->fetches.keys[key].informers ? 2 * deleted->keep : deleted->keep;
}

static void check_key(sim_deleted *deleted, sim_world *world, uint32_t key, uint64_t n, bool is_deleted) {
    const char *name = sim_key_text(key);
    bool is_present = deleted->keys[key].was_present;
    long long keep_s = deleted->keep / SIM_SECOND;
    int64_t since_there = world->now - deleted->keys[key].there_until;
    if (is_present ? !n || is_deleted : n && !is_deleted)
        sim_fail(world, "%s is %s, but a lookup says otherwise", name, is_present ? "in the store" : "deleted");
    else if (is_deleted && !deleted->keep)
        sim_fail(world, "%s is found after its deletion", name);
    else if (!n && deleted->keys[key].was_deleted && since_there < deleted->keep)
        sim_fail(world, "%s was there %lld s ago and is not found, but is kept for %lld s", name,
                 (long long)(since_there / SIM_SECOND), keep_s);
    if (!is_deleted || n != deleted->keys[key].found) {
        deleted->keys[key].found = is_deleted ? n : 0;
        deleted->keys[key].found_at = world->now;
    } else if (!may_linger(world, n) &&
               world->now - deleted->keys[key].found_at > longest(deleted, world, key) + SLACK_S * SIM_SECOND) {
        sim_fail(world, "%s is deleted and found for %lld s, but is kept for %lld s", name,
                 (long long)((world->now - deleted->keys[key].found_at) / SIM_SECOND), keep_s);
    }
}

void sim_deleted_check(sim_deleted *deleted, sim_world *world, const ki_informer *informer,
                       const uint64_t present[SIM_KEYS], unsigned returned) {
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        bool is_deleted = false;
        uint32_t read_key;
        ki_object *obj = ki_informer_get_or_deleted(informer, sim_key_text(key), &is_deleted);
        uint64_t n = obj ? sim_truth_read(world, obj, &read_key) : 0;
        ki_object_unref(obj);
        if (present[key])
            deleted->keys[key].there_until = world->now;
        deleted->keys[key].was_deleted |= deleted->keys[key].was_present && !present[key];
        deleted->keys[key].was_present = present[key] != 0;
        if (returned >> sim_key_ns(key) & 1)
            deleted->keys[key].found = 0;
        check_key(deleted, world, key, n, is_deleted);
    }
}
