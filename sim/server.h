/* server.h: one API server. It applies each write to the cluster after its lag. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "testing/cluster/cluster.h"

typedef struct sim_world sim_world;

typedef struct sim_server {
    sim_world *world;
    unsigned index;
    kt_cluster *cluster;
    size_t applied; /* applied writes of the log */
    int64_t lag;
    bool is_scheduled; /* the agenda has an action for the next write */
    int64_t down_until;
    uint64_t restores;   /* restores of the cluster before the last applied write */
    uint64_t generation; /* actions in the agenda with another generation are void */
} sim_server;

enum {
    SIM_START_MS = 1000000000
}; /* Unix time in seconds at virtual time 0 */

void sim_servers_make(sim_world *world);
void sim_servers_free(sim_world *world);
/* A write was added to the log. */
void sim_servers_note_write(sim_world *world);
/* The log was cut: replaces all clusters by new ones with the rest of the log. */
void sim_servers_restore(sim_world *world);
/* Applies all writes at once, as if a consistent read waited for them. */
void sim_server_catch_up(sim_server *server);
void sim_server_set_lag(sim_server *server, int64_t lag);

int64_t sim_server_now_ms(const sim_world *world);
/* Returns the servers' time at a virtual time in ns. */
int64_t sim_server_ms_at(int64_t time);
void sim_server_uid(const sim_server *server, uint32_t key, char *ret_uid);
/* Returns the key as "ns0/cm-3". Valid during the next three calls. */
const char *sim_key_text(uint32_t key);

#endif
