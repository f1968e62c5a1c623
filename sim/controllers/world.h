/* world.h: one run of one seed: the true time, the cluster, the network and the processes. world.c runs it. */
#ifndef CTL_WORLD_H
#define CTL_WORLD_H

#include "sim/agenda.h"
#include "sim/controllers/network.h"
#include "sim/controllers/plan.h"
#include "sim/controllers/process.h"
#include "sim/controllers/server.h"

enum {
    CTL_MESSAGE_MAX = 400,
    CTL_IDENTITY_MAX = 32
};

/* What the oracle of leader election remembers. */
typedef struct ctl_leadership {
    int64_t last_token; /* -1: none */
    char last_identity[CTL_IDENTITY_MAX];
    int64_t doubt_until; /* two leaders are possible until then: the Lease was deleted */
    uint64_t terms;
} ctl_leadership;

struct ctl_world {
    ctl_plan plan;
    int64_t now; /* true time, ns */
    bool trace;
    bool healed;          /* no faults any more */
    bool is_quiet;        /* nothing changes any more: who leads goes on leading */
    int64_t served_since; /* the cluster is as the specs ask; 0: it is not */
    sim_agenda agenda;
    ctl_server server;
    ctl_network network;
    ctl_process processes[CTL_MAX_PROCESSES];
    ctl_leadership leadership;
    sim_random users;
    sim_random chance; /* of the order in which processes run, and of their delays */
    uint64_t values;   /* numbers of the specs that users wrote */
    /* the result */
    bool failed;
    char message[CTL_MESSAGE_MAX];
    uint64_t digest;
    uint64_t writes, requests, reconciles, recorded;
};

/* Runs a plan from its beginning to its end. Returns the first failure; NULL: none. */
const char *ctl_world_run(ctl_world *world, const ctl_plan *plan, bool trace);

/* Time passes, and `process`, which is in the middle of a step, does nothing. */
void ctl_world_pass(ctl_world *world, ctl_process *process, int64_t length);

/* Ends the run with a message; only the first one counts. */
void ctl_fail(ctl_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line of the trace. */
void ctl_say(const ctl_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define CTL_TRACE(world, ...) \
    do { \
        if ((world)->trace) \
            ctl_say(world, __VA_ARGS__); \
    } while (0)

static inline void ctl_at(ctl_world *world, int64_t at, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->agenda, at, action, user, argument);
}
static inline void ctl_after(ctl_world *world, int64_t delay, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->agenda, world->now + delay, action, user, argument);
}
static inline void ctl_note(ctl_world *world, uint64_t what) {
    world->digest = (world->digest ^ what) * 0x100000001b3u;
}

#endif
