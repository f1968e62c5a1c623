/* waiter.h: a program that waits after some writes until an informer's cache has them, and the oracle of these
 * waits. */
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
    /* when the version was written, the cache already had it or a later one, from before a restore */
    bool is_version_reused;
} sim_wait;

typedef struct sim_waiter {
    sim_random random;
    sim_wait waits[SIM_WAITS_MAX]; /* of this incarnation of the client */
    size_t count;
    bool is_stopping;
} sim_waiter;

/* Starts a wait for a version that was just written, at random. */
void sim_waiter_note_write(sim_world *world, uint64_t version);
/* Fails the run if a wait is overdue. Must be called when nothing is due. */
void sim_waiter_check(sim_world *world);
/* To be called before and after the client stops. Each wait must have ended in between. */
void sim_waiter_client_stops(sim_world *world);
void sim_waiter_client_stopped(sim_world *world);

#endif
