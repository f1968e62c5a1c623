/* world.h: one run of one seed: the time, and all that is in it. world.c runs it; everything else is a part of it. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/agenda.h"
#include "sim/client.h"
#include "sim/clock.h"
#include "sim/memory.h"
#include "sim/network.h"
#include "sim/plan.h"
#include "sim/server.h"
#include "sim/socket.h"
#include "sim/truth.h"
#include "sim/waiter.h"

#include <kinformer/engine.h>

enum {
    SIM_MESSAGE_MAX = 400
};

struct sim_world {
    sim_plan plan;
    int64_t now;                    /* ns, virtual */
    int64_t handler_time;           /* ns: how long slow handlers have run */
    size_t failed_allocations_seen; /* allocations, at the last look */
    int64_t allocation_failed_at;   /* when some had been refused; 0: never */
    int64_t wall_jump;              /* ns: what the wall clock is off by, the client's and the servers' */
    bool trace;                     /* print what happens */
    bool is_fault_free;             /* no faults any more */
    bool is_repaired;               /* what faults spoilt has a new state */
    sim_agenda agenda;
    sim_truth truth;
    sim_server servers[SIM_SERVERS_MAX];
    sim_network network;
    sim_client client;
    sim_waiter waiter;
    sim_memory memory;
    ki_engine *engine;
    uint64_t settle_count; /* how often nothing was due any more */
    int requester_number;  /* whose request is being sent; SIM_NOBODY */
    sim_random workload_random;
    /* what came of it */
    bool failed;
    char message[SIM_MESSAGE_MAX]; /* the first thing that must not be */
    uint64_t digest;               /* of everything that was delivered: the same seed has the same one */
    uint64_t requests, writes;
};

/* Runs it from the beginning to the end. The message that it found; NULL: all is well. */
const char *sim_world_run(sim_world *world, const sim_plan *plan, bool trace);

/* Stops the program under test and starts it anew. Between two steps. */
void sim_world_restart_client(sim_world *world);

/* An oracle's objection: the run ends. Only the first one counts. */
void sim_fail(sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of the trace. */
void sim_trace(const sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define SIM_TRACE(world, ...) \
    do { \
        if ((world)->trace) \
            sim_trace(world, __VA_ARGS__); \
    } while (0)

static inline void sim_at(sim_world *world, int64_t at, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->agenda, at, action, user, argument);
}
static inline void sim_after(sim_world *world, int64_t delay, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->agenda, world->now + delay, action, user, argument);
}
static inline void sim_digest_add(sim_world *world, uint64_t what) {
    world->digest = (world->digest ^ what) * 0x100000001b3u;
}

#endif
