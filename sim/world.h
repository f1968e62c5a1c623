/* world.h: one run of one seed, with all of its parts. world.c runs it. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/agenda.h"
#include "sim/client.h"
#include "sim/clock.h"
#include "sim/fetches.h"
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
    int64_t handler_time;           /* ns: the time that slow handlers and pauses of the host took */
    size_t failed_allocations_seen; /* memory.refused at the last check */
    int64_t allocation_failed_at;   /* ns: the last check that found failed allocations; 0: none */
    int64_t wall_jump;              /* ns: the error of the wall clock, of the client and the servers */
    bool trace;                     /* prints what happens */
    bool is_fault_free;             /* the faults have ended */
    bool is_repaired;               /* objects with an unusable state were written again */
    sim_agenda agenda;              /* of the cluster and the network */
    sim_agenda client_agenda;       /* what waits while the client is in a handler or the host pauses */
    sim_truth truth;
    sim_server servers[SIM_SERVERS_MAX];
    sim_network network;
    sim_client client;
    sim_waiter waiter;
    sim_fetches fetches;
    sim_memory memory;
    ki_engine *engine;
    uint64_t settle_count; /* times at which nothing was due */
    int requester_number;  /* the requester that is sending; SIM_NO_REQUESTER */
    sim_random workload_random;
    /* the result */
    bool failed;
    char message[SIM_MESSAGE_MAX]; /* the first failure */
    uint64_t digest;               /* of everything that happened; the same for the same seed */
    uint64_t requests, writes;
};

/* Runs a plan to its end. Returns the first failure, valid until the next run, or NULL. */
const char *sim_world_run(sim_world *world, const sim_plan *plan, bool trace);

/* Lets time pass in which the client reads nothing and runs no step, as in a slow handler. The cluster and the network
 * continue. */
void sim_pass(sim_world *world, int64_t duration);

/* Stops the client and starts it again. Must be called between two steps. */
void sim_world_restart_client(sim_world *world);

/* Writes the poisoned objects again if they have been: there are others. */
void sim_world_repair_again(sim_world *world);

/* Fails the run, which then ends. Only the first failure is kept. */
void sim_fail(sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line of the trace. Use SIM_TRACE. */
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
/* As sim_at, for an action that calls the client or changes all of the world. */
static inline void sim_at_client(sim_world *world, int64_t at, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->client_agenda, at, action, user, argument);
}
static inline void sim_after_client(sim_world *world, int64_t delay, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->client_agenda, world->now + delay, action, user, argument);
}
static inline void sim_digest_add(sim_world *world, uint64_t what) {
    world->digest = (world->digest ^ what) * 0x100000001b3u;
}

#endif
