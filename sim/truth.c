/* truth.c: see truth.h. */
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

void sim_truth_free(sim_truth *truth) {
    free(truth->writes);
    free(truth->log);
}

/* Adds a write and lets the first server apply it. Returns its number. */
static uint64_t append(sim_world *world, sim_write write) {
    sim_truth *truth = &world->truth;
    if (truth->write_count + 2 > truth->write_capacity) {
        truth->write_capacity = truth->write_capacity ? truth->write_capacity * 2 : 512;
        truth->writes = sim_realloc(truth->writes, truth->write_capacity * sizeof *truth->writes);
        truth->log = sim_realloc(truth->log, truth->write_capacity * sizeof *truth->log);
    }
    if (truth->write_count == 0)
        truth->writes[truth->write_count++] = (sim_write){ .is_delete = true };
    uint64_t n = truth->write_count++;
    write.at_ms = sim_server_now_ms(world);
    write.wall_ms = write.at_ms + world->wall_jump / SIM_MILLISECOND;
    write.restores = truth->restores;
    uint64_t before = truth->keys[write.key].n;
    write.creation = before ? truth->writes[before].creation : n;
    truth->writes[n] = write;
    truth->log[truth->log_count++] = n;
    sim_servers_note_write(world);
    sim_server *first = &world->servers[0];
    write.revision = kt_cluster_revision(first->cluster);
    if (!write.is_delete)
        sim_server_uid(first, write.key, write.uid);
    truth->writes[n] = write;
    truth->keys[write.key].n = write.is_delete ? 0 : n;
    truth->keys[write.key].last_write = n;
    world->writes++;
    SIM_TRACE(world, "write %llu: %s %s label %c at revision %llu", (unsigned long long)n,
              write.is_delete ? "delete" : "put", sim_key_text(write.key), (char)('a' + write.label),
              (unsigned long long)write.revision);
    return n;
}

void sim_truth_put(sim_world *world, uint32_t key, unsigned label) {
    append(world, (sim_write){ .key = key, .label = label });
}

void sim_truth_delete(sim_world *world, uint32_t key) {
    sim_truth *truth = &world->truth;
    if (truth->keys[key].n)
        append(world, (sim_write){ .key = key, .label = truth->writes[truth->keys[key].n].label, .is_delete = true });
}

void sim_truth_restore(sim_world *world, size_t kept) {
    sim_truth *truth = &world->truth;
    for (size_t i = kept; i < truth->log_count; i++)
        truth->writes[truth->log[i]].is_lost = true;
    truth->log_count = kept;
    truth->restores++;
    for (uint32_t key = 0; key < SIM_KEYS; key++)
        truth->keys[key].n = 0;
    for (size_t i = 0; i < kept; i++) {
        const sim_write *write = &truth->writes[truth->log[i]];
        truth->keys[write->key].n = write->is_delete ? 0 : truth->log[i];
    }
}

static bool parse_key(const char *text, uint32_t *ret_key) {
    if (strncmp(text, "ns", 2) != 0)
        return false;
    char *end;
    unsigned long ns = strtoul(text + 2, &end, 10);
    if (strncmp(end, "/cm-", 4) != 0)
        return false;
    unsigned long name = strtoul(end + 4, &end, 10);
    if (*end || ns >= SIM_NAMESPACES || name >= SIM_NAME_MAX)
        return false;
    *ret_key = (uint32_t)(ns * SIM_NAME_MAX + name);
    return true;
}

/* Returns the number of the write at an object's version; 0: there is none. A deletion has a version of its own, and
 * the state before. */
static uint64_t find_version(const sim_truth *truth, const ki_object *obj, uint32_t key) {
    uint64_t revision = strtoull(ki_object_resource_version(obj), NULL, 10);
    uint64_t n = truth->write_count;
    while (n-- > 1) {
        const sim_write *write = &truth->writes[n];
        if (write->key == key && write->revision <= revision && !write->is_delete)
            return n;
    }
    return 0;
}

uint64_t sim_truth_read(sim_world *world, const ki_object *obj, uint32_t *ret_key) {
    const sim_truth *truth = &world->truth;
    const sim_view *view = ki_object_view(obj);
    uint32_t key;
    if (!parse_key(ki_object_key(obj), &key)) {
        sim_fail(world, "object with the unexpected key %s", ki_object_key(obj));
        return 0;
    }
    *ret_key = key;
    uint64_t n = !view ? find_version(truth, obj, key) : view->n ? strtoull(view->n, NULL, 10) : 0;
    if (n == 0 || n >= truth->write_count) {
        sim_fail(world, "%s has a state that was never written", ki_object_key(obj));
        return 0;
    }
    const sim_write *write = &truth->writes[n];
    const char *label = view ? view->label : ki_object_label(obj, "app");
    bool has_label = label && label[0] == (char)('a' + write->label);
    if (write->key != key || write->is_delete || strcmp(write->uid, ki_object_uid(obj)) != 0 ||
        !(has_label || (!view && !label))) {
        sim_fail(world, "%s has the state of write %llu, which wrote something else", ki_object_key(obj),
                 (unsigned long long)n);
        return 0;
    }
    return n;
}

bool sim_truth_is_selected(const sim_truth *truth, const sim_selection *selection, uint64_t n) {
    const sim_write *write = &truth->writes[n];
    return n && !write->is_delete && sim_selection_matches(selection, sim_key_ns(write->key), write->label);
}

bool sim_truth_had(const sim_truth *truth, const sim_selection *selection, uint32_t key, uint64_t n, int64_t from,
                   int64_t to) {
    int64_t from_ms = sim_server_ms_at(from), to_ms = sim_server_ms_at(to), since_ms = INT64_MIN;
    uint64_t state = 0;
    for (uint64_t next = 1; next <= truth->write_count; next++) {
        bool is_end = next == truth->write_count;
        if (!is_end && (truth->writes[next].key != key || truth->writes[next].is_lost))
            continue;
        int64_t until_ms = is_end ? INT64_MAX : truth->writes[next].at_ms;
        bool is_it = n ? state == n : !sim_truth_is_selected(truth, selection, state);
        if (is_it && since_ms <= to_ms && until_ms >= from_ms)
            return true;
        state = is_end || truth->writes[next].is_delete ? 0 : next;
        since_ms = until_ms;
    }
    return truth->write_count == 0 && n == 0;
}

bool sim_truth_exists_since(const sim_truth *truth, const sim_selection *selection, uint64_t n) {
    uint32_t key = truth->writes[n].key;
    for (uint64_t later = n; later < truth->write_count; later++) {
        const sim_write *write = &truth->writes[later];
        if (write->key == key &&
            (write->is_delete || write->is_lost || !sim_truth_is_selected(truth, selection, later)))
            return false;
    }
    return true;
}

bool sim_truth_may_follow(const sim_truth *truth, uint64_t before, uint64_t after) {
    if (before < after)
        return true;
    /* A restore goes back from a lost state, or repeats the state before a lost write. */
    if (before > after)
        return truth->writes[before].is_lost;
    for (uint64_t n = after + 1; n < truth->write_count; n++) {
        if (truth->writes[n].key == truth->writes[after].key && truth->writes[n].is_lost)
            return true;
    }
    return false;
}
