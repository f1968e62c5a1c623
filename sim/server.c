/* server.c: see server.h. Clusters with the same seed and the same writes are equal, uids included. */
#include "sim/world.h"

#include "testing/cluster/cluster_state.h"

#include <stdio.h>
#include <string.h>

enum {
    DRAWS_BETWEEN_RESTORES = 10007 /* more random numbers than a cluster uses between two restores */
};

int64_t sim_server_now_ms(const sim_world *world) {
    return sim_server_ms_at(world->now);
}

int64_t sim_server_ms_at(int64_t time) {
    return (int64_t)SIM_START_MS * 1000 + time / SIM_MILLISECOND;
}

const char *sim_key_text(uint32_t key) {
    static char texts[4][32];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "ns%u/cm-%u", sim_key_ns(key), (unsigned)(key % SIM_NAME_MAX));
    return text;
}

static void new_cluster(sim_server *server) {
    const sim_plan *plan = &server->world->plan;
    kt_cluster_options options = { .seed = plan->seed,
                                   .first_revision = plan->first_revision,
                                   .compact_after = plan->compact_after,
                                   .bookmark_every_ms = plan->bookmark_every_ms,
                                   .no_streaming_list = plan->no_streaming_list,
                                   .start_ms = (int64_t)SIM_START_MS * 1000 };
    ki_error err = KI_ERROR_INIT;
    if (kt_cluster_new(NULL, &options, &server->cluster, &err))
        sim_fail(server->world, "no cluster: %s", ki_error_message(&err));
    server->applied = 0;
    server->restores = 0;
}

void sim_servers_make(sim_world *world) {
    for (unsigned i = 0; i < world->plan.servers; i++) {
        world->servers[i] = (sim_server){ .world = world, .index = i, .lag = world->plan.lag[i] };
        new_cluster(&world->servers[i]);
    }
}

void sim_servers_free(sim_world *world) {
    for (unsigned i = 0; i < world->plan.servers; i++)
        kt_cluster_free(world->servers[i].cluster);
}

/* Skips random numbers, so that objects created after a restore get new uids. */
static void skip_uids(sim_server *server, uint64_t restores) {
    for (; server->restores < restores; server->restores++) {
        for (unsigned draw = 0; draw < DRAWS_BETWEEN_RESTORES; draw++)
            (void)kt_cluster_random(server->cluster);
    }
}

static void apply(sim_server *server) {
    sim_world *world = server->world;
    uint64_t n = world->truth.log[server->applied++];
    const sim_write *write = &world->truth.writes[n];
    skip_uids(server, write->restores);
    char ns[16], name[32], json[256];
    snprintf(ns, sizeof ns, "ns%u", sim_key_ns(write->key));
    snprintf(name, sizeof name, "cm-%u", (unsigned)(write->key % SIM_NAME_MAX));
    ki_error err = KI_ERROR_INIT;
    ki_status status;
    if (write->is_delete) {
        status = kt_cluster_delete(server->cluster, KI_CONFIGMAPS, ns, name, write->wall_ms, &err);
    } else {
        /* The text has escapes and multibyte characters, so that cuts can be within them. */
        int size = snprintf(
            json, sizeof json,
            "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"labels\":{\"app\":\"%c\"},"
            "\"annotations\":{\"n\":\"%llu\"}},\"data\":{\"t\":\"\\\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\\\}\\n\"}}",
            ns, name, (char)('a' + write->label), (unsigned long long)n);
        status = kt_cluster_put_json(server->cluster, KI_CONFIGMAPS, (ki_str){ json, (size_t)size }, write->wall_ms,
                                     NULL, &err);
    }
    if (status)
        sim_fail(world, "server %u cannot apply a write: %s", server->index, ki_error_message(&err));
}

static void apply_due(void *user, uint64_t generation);

/* Schedules the next write. */
static void schedule_next(sim_server *server) {
    const sim_truth *truth = &server->world->truth;
    if (server->is_scheduled || server->applied == truth->log_count)
        return;
    int64_t at_ms = truth->writes[truth->log[server->applied]].at_ms - (int64_t)SIM_START_MS * 1000;
    int64_t at = at_ms * SIM_MILLISECOND + server->lag;
    server->is_scheduled = true;
    sim_at(server->world, at > server->world->now ? at : server->world->now, apply_due, server, server->generation);
}

static void apply_due(void *user, uint64_t generation) {
    sim_server *server = user;
    if (generation != server->generation)
        return;
    server->is_scheduled = false;
    const sim_truth *truth = &server->world->truth;
    int64_t until = sim_server_now_ms(server->world) - server->lag / SIM_MILLISECOND;
    while (server->applied < truth->log_count && truth->writes[truth->log[server->applied]].at_ms <= until)
        apply(server);
    schedule_next(server);
}

void sim_server_catch_up(sim_server *server) {
    while (server->applied < server->world->truth.log_count)
        apply(server);
}

void sim_server_set_lag(sim_server *server, int64_t lag) {
    server->lag = lag;
    server->generation++;
    server->is_scheduled = false;
    schedule_next(server);
}

void sim_servers_note_write(sim_world *world) {
    for (unsigned i = 0; i < world->plan.servers; i++) {
        if (i == 0)
            sim_server_catch_up(&world->servers[i]);
        else
            schedule_next(&world->servers[i]);
    }
}

void sim_servers_restore(sim_world *world) {
    for (unsigned i = 0; i < world->plan.servers; i++) {
        sim_server *server = &world->servers[i];
        kt_cluster_free(server->cluster);
        server->generation++;
        server->is_scheduled = false;
        new_cluster(server);
        sim_server_catch_up(server);
        kt_cluster_compact(server->cluster, 0);
    }
}

void sim_server_uid(const sim_server *server, uint32_t key, char *ret_uid) {
    static const char field[] = "\"uid\":\"";
    char ns[16], name[32];
    ki_str json;
    snprintf(ns, sizeof ns, "ns%u", sim_key_ns(key));
    snprintf(name, sizeof name, "cm-%u", (unsigned)(key % SIM_NAME_MAX));
    ret_uid[0] = '\0';
    if (kt_cluster_get(server->cluster, KI_CONFIGMAPS, ns, name, &json))
        return;
    const char *at = memmem(json.data, json.size, field, sizeof field - 1);
    if (!at)
        return;
    memcpy(ret_uid, at + sizeof field - 1, SIM_UID_SIZE - 1);
    ret_uid[SIM_UID_SIZE - 1] = '\0';
}
