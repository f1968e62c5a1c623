/* own_writes.c: the oracle of own writes: no reconcile begins before the caches have what the key's last one wrote,
 * unless 10 s have passed. */
#include "sim/controllers/world.h"

#include <stdio.h>
#include <string.h>

enum {
    WAIT_S = 10
};

static bool is_kept(const ki_object *obj) {
    return !ki_object_is_being_deleted(obj) || ki_object_has_finalizer(obj, CTL_FINALIZER);
}

void ctl_own_writes_add(ctl_process *process, unsigned number, const ki_response *response, const char *child) {
    const ctl_plan *plan = &process->world->plan;
    ctl_key *key = &process->keys[number];
    const ki_object *obj = ki_response_object(response);
    const ki_informer *informer = child ? process->children : process->parents;
    if (plan->no_wait_for_writes || !ki_informer_has_synced(informer) || key->write_count == CTL_MAX_OWN_WRITES)
        return;
    ctl_own_write *write = &key->writes[key->write_count++];
    *write = (ctl_own_write){ .informer = informer, .is_deletion = !obj || !is_kept(obj) };
    if (child && !obj)
        snprintf(write->key, sizeof write->key, "%s/%s", ctl_namespace(number), child);
    else
        snprintf(write->key, sizeof write->key, "%s", ki_object_key(obj));
    snprintf(write->mark, sizeof write->mark, "%s",
             write->is_deletion ? ki_response_uid(response) : ki_object_resource_version(obj));
    snprintf(write->uid, sizeof write->uid, "%s", write->is_deletion ? "" : ki_object_uid(obj));
}

static bool is_at_least(const char *version, const char *wanted) {
    ki_order order = ki_resource_version_compare(version, wanted);
    return order == KI_ORDER_SAME || order == KI_ORDER_NEWER;
}

static bool is_at_version(const ki_informer *informer, const char *version) {
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    bool is_at = is_at_least(ki_snapshot_resource_version(snapshot), version);
    ki_snapshot_free(snapshot);
    return is_at;
}

static bool has_write(const ctl_own_write *write) {
    ki_object *obj = ki_informer_get(write->informer, write->key);
    bool has = obj ? write->is_deletion ? strcmp(ki_object_uid(obj), write->mark) != 0
                                        : is_at_least(ki_object_resource_version(obj), write->mark)
                   : write->is_deletion || is_at_version(write->informer, write->mark);
    ki_object_unref(obj);
    return has;
}

/* Returns true if the cache can have had the written object, and its deletion: the cache's version shows neither while
 * more changes are queued. Another object may have come in its place. */
static bool can_have_had(ctl_process *process, const ctl_own_write *write) {
    char target[160], body[80];
    ki_object *obj = ki_informer_get(write->informer, write->key);
    bool is_there = obj != NULL, is_parent = write->informer == process->parents;
    const char *name = strchr(write->key, '/') + 1;
    ki_object_unref(obj);
    if (is_there || write->is_deletion)
        return false;
    snprintf(body, sizeof body, "{\"preconditions\":{\"uid\":\"%s\"}}", write->uid);
    snprintf(target, sizeof target, "%s/namespaces/%.*s/%s/%s?dryRun=All",
             is_parent ? "/apis/" CTL_GROUP "/v1" : "/api/v1", (int)(name - 1 - write->key), write->key,
             is_parent ? "foos" : "configmaps", name);
    int status = ctl_server_request(process->world, "DELETE", target, body);
    return status == 404 || status == 409; /* gone, or another object */
}

static void note_seen(ctl_process *process, ctl_key *key) {
    if (key->is_running || key->has_seen_writes)
        return;
    for (unsigned i = 0; i < key->write_count; i++)
        if (!has_write(&key->writes[i]))
            return;
    key->has_seen_writes = true;
    key->writes_seen_at = process->world->now;
}

void ctl_own_writes_note_seen(ctl_process *process) {
    for (unsigned i = 0; i < CTL_MAX_PARENTS; i++)
        if (process->keys[i].write_count > 0)
            note_seen(process, &process->keys[i]);
}

/* Returns the first write that the caches cannot have had; NULL: none. */
static const ctl_own_write *find_unseen(ctl_process *process, const ctl_key *key) {
    for (unsigned i = 0; i < key->write_count; i++)
        if (!has_write(&key->writes[i]) && !can_have_had(process, &key->writes[i]))
            return &key->writes[i];
    return NULL;
}

/* Without memory the controller does not wait. */
static int64_t wait_ended_ago(ctl_process *process, ctl_key *key, unsigned number) {
    int64_t passed = ctl_process_now(process) - key->writes_until - WAIT_S * SIM_SECOND;
    note_seen(process, key);
    if (key->has_seen_writes)
        return process->world->now - key->writes_seen_at;
    bool lacked_memory = process->lacked_memory || process->memory.refused != process->refused_seen;
    const ctl_own_write *unseen = passed < 0 && !lacked_memory ? find_unseen(process, key) : NULL;
    if (unseen)
        ctl_fail(process->world,
                 "process %u: key %u was reconciled before the cache had %s %s, which its last one wrote",
                 process->index, number, unseen->key, unseen->mark);
    return passed < 0 ? 0 : passed;
}

int64_t ctl_own_writes_start(ctl_process *process, unsigned number) {
    ctl_key *key = &process->keys[number];
    int64_t ago = key->write_count > 0 ? wait_ended_ago(process, key, number) : INT64_MAX;
    key->write_count = 0;
    key->has_seen_writes = false;
    return ago;
}
