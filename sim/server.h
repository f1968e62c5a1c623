/* server.h: one API server: repeats every write to the cluster, some time after it happened. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "testing/cluster/cluster.h"

typedef struct sim_world sim_world;

typedef struct sim_server {
    sim_world *world;
    unsigned index;
    kt_cluster *cluster;
    size_t applied; /* writes of the log */
    int64_t lag;
    bool is_scheduled; /* an action of the agenda will apply what is next */
    int64_t down_until;
    uint64_t restores;   /* of the last write: counts restores */
    uint64_t generation; /* of what the agenda has of it */
} sim_server;

enum {
    SIM_START_MS = 1000000000
}; /* Unix time at virtual time 0, in seconds: far from any limit */

void sim_servers_make(sim_world *world);
void sim_servers_free(sim_world *world);
/* The log has grown. */
void sim_servers_note_write(sim_world *world);
/* The log was cut: all start again from what is left. */
void sim_servers_restore(sim_world *world);
/* Applies everything at once, as a consistent read waits for. */
void sim_server_catch_up(sim_server *server);
void sim_server_set_lag(sim_server *server, int64_t lag);

int64_t sim_server_now_ms(const sim_world *world);
void sim_server_uid(const sim_server *server, uint32_t key, char *ret_uid);
/* "ns0/cm-3"; static, until the next call but three. */
const char *sim_key_text(uint32_t key);

#endif
