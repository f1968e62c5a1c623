/* waiter.h: a program that reads its own writes: after some of them it waits until an informer's cache has them. */
#ifndef SIM_WAITER_H
#define SIM_WAITER_H

#include "sim/random.h"

#include <stddef.h>

typedef struct sim_world sim_world;

enum {
    SIM_WAITS_MAX = 24
};

typedef struct sim_wait {
    sim_world *world;
    unsigned informer;
    uint64_t version, restores;
    int64_t deadline; /* INT64_MAX: none */
    bool is_called;
    bool is_version_reused; /* the cache was past the version when it was written: by versions from before a restore */
} sim_wait;

typedef struct sim_waiter {
    sim_random random;
    sim_wait waits[SIM_WAITS_MAX]; /* of this life of the client */
    size_t count;
    bool is_stopping;
} sim_waiter;

/* A write has been made; by chance somebody waits for it. */
void sim_waiter_note_write(sim_world *world, uint64_t version);
/* Where nothing is due: whoever waits still has not been served. */
void sim_waiter_check(sim_world *world);
/* The client is about to stop; it has stopped: every wait was called. */
void sim_waiter_client_stops(sim_world *world);
void sim_waiter_client_stopped(sim_world *world);

#endif
