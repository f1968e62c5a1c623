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

/* State of the oracle of leader election. */
typedef struct ctl_leadership {
    uint64_t terms;     /* of all processes */
    int64_t last_token; /* fencing token of the last leader; -1: none */
    char last_identity[CTL_IDENTITY_MAX];
    int64_t two_leaders_until; /* true time, ns: two leaders are possible until then, because the Lease was deleted */
} ctl_leadership;

struct ctl_world {
    ctl_plan plan;
    int64_t now; /* true time, ns */
    bool trace;
    bool healed;             /* all faults have ended */
    bool is_quiet;           /* no faults and no writes of users: the leader must stay the leader */
    int64_t converged_since; /* true time, ns; 0: the cluster has not converged */
    sim_agenda agenda;
    ctl_server server;
    ctl_network network;
    ctl_process processes[CTL_MAX_PROCESSES];
    ctl_leadership leadership;
    sim_random user_random; /* for workload.c */
    sim_random random;      /* for the order and the delays of steps, and for the faults */
    uint64_t last_value;    /* the number in the last value that a user wrote into a spec */
    /* the result */
    bool failed;
    char message[CTL_MESSAGE_MAX]; /* the first failure */
    uint64_t digest;               /* of everything that happened: equal for runs of the same seed */
    uint64_t writes, requests, recorded_events;
};

/* Runs a plan from its beginning to its end. Returns the first failure, or NULL. */
const char *ctl_world_run(ctl_world *world, const ctl_plan *plan, bool trace);

/* Runs the rest of the world for `length` ns while `process`, in the middle of a step, does nothing. */
void ctl_world_pause_mid_step(ctl_world *world, ctl_process *process, int64_t length);

/* Ends the run with a failure message. Only the first message counts. */
void ctl_fail(ctl_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line of the trace. */
void ctl_print_trace(const ctl_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define CTL_TRACE(world, ...) \
    do { \
        if ((world)->trace) \
            ctl_print_trace(world, __VA_ARGS__); \
    } while (0)

/* Schedules an action at a true time. */
static inline void ctl_at(ctl_world *world, int64_t at, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->agenda, at, action, user, argument);
}
/* Schedules an action after `delay` ns. */
static inline void ctl_after(ctl_world *world, int64_t delay, sim_action action, void *user, uint64_t argument) {
    sim_agenda_add(&world->agenda, world->now + delay, action, user, argument);
}
/* Adds a number to the digest of the run. */
static inline void ctl_digest_add(ctl_world *world, uint64_t number) {
    world->digest = (world->digest ^ number) * 0x100000001b3u;
}

/* workload.c: writes of users, and the garbage collector. */
/* Creates the first parents, and schedules the writes and the garbage collector. */
void ctl_workload_start(ctl_world *world);
/* Does one random write. */
void ctl_workload_write(ctl_world *world);
/* Removes what no controller can repair: children without an owner, and invalid specs. */
void ctl_workload_repair(ctl_world *world);
/* Returns true if the cluster matches the specs. Else writes the first difference to `ret_why`. */
bool ctl_specs_are_met(ctl_world *world, char *ret_why, size_t size);

/* inject.c */
/* Makes a planned fault happen. */
void ctl_inject(ctl_world *world, const ctl_fault *fault);
/* Ends all faults. Starts the processes that have crashed or stopped. */
void ctl_heal(ctl_world *world);

/* leadership.c: the oracle of leader election. */
/* Fails the run if two processes lead. */
void ctl_leadership_check(ctl_world *world);
/* Allows two leaders until the old leader's renew deadline has passed. Called before the Lease is deleted. */
void ctl_leadership_allow_two(ctl_world *world);

#endif
