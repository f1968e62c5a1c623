/* process.h: one process of the scenario: a factory on a stepped engine with its own clock and allocator, two
 * informers, a controller, and mostly an elector and an event recorder. It is started, paused, stopped and crashed any
 * number of times. */
#ifndef CTL_PROCESS_H
#define CTL_PROCESS_H

#include "sim/controllers/keys.h"
#include "sim/controllers/plan.h"
#include "sim/memory.h"

#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/events.h>
#include <kinformer-controllers/leader.h>
#include <kinformer/lister.h>

#include "src/transport/transport.h"

typedef struct ctl_world ctl_world;
typedef struct ctl_process ctl_process;
typedef struct ctl_op ctl_op;

typedef enum ctl_partition {
    CTL_REQUESTS_ARE_LOST,
    CTL_RESPONSES_ARE_LOST,
    CTL_REQUESTS_ARE_REFUSED,
    CTL_PARTITIONS
} ctl_partition;

/* The program's views of its objects (ki_field). */
typedef struct ctl_parent {
    const char *value, *observed, *deleted_at;
    int64_t replicas, wait_seconds, generation;
    bool is_ready;
} ctl_parent;

typedef struct ctl_child {
    const char *value;
} ctl_child;

/* Times are true times in ns, except where noted. */
struct ctl_process {
    ctl_world *world;
    unsigned index;
    const ctl_process_plan *plan;
    uint64_t start_count;
    bool is_running;        /* the engine exists */
    bool is_in_step;        /* a step has begun and not ended */
    bool handles_parents;   /* the program's own handler of the parents is there */
    bool watches_parents;   /* the controller watches the parents */
    int64_t watching_since; /* the controller watches the parents */
    bool is_stopping;       /* ki_factory_stop was called */
    bool is_freed;          /* freeing has begun: the network discards the process's requests */
    bool stays_stopped;     /* the process is not started again */
    int64_t stop_began_at;  /* the process's time, ns */
    int64_t restart_delay;  /* ns from the end of the stop to the next start; < 0: no restart */
    int64_t busy_until;     /* no step begins before */
    /* When reconciles last had a reason to be late: a pause, no memory, a new or lost leadership, all workers busy, a
     * sync. */
    int64_t disturbed_at;
    int64_t paused_total; /* ns: the length of all pauses since the start */
    int64_t wall_jump;    /* ns */
    int64_t partition_until;
    ctl_partition partition;
    int64_t mid_step_pause;     /* ns: the next request pauses the process; 0: no */
    bool pauses_before_send;    /* ... before the request is sent, else after */
    bool stop_in_reconcile;     /* the next reconcile stops the factory */
    unsigned release_conflicts; /* how many more releases of this start are rejected */
    /* the program */
    sim_memory memory;
    size_t refused_seen; /* memory.refused after the last step */
    bool lacked_memory;  /* an allocation failed since the start */
    ki_engine *engine;
    ki_transport *transport;
    ki_factory *factory;
    ki_informer *parents, *children;
    ki_elector *elector;
    ki_controller *controller;
    ki_event_recorder *recorder;
    char identity[32];
    uint64_t term;    /* number of the last term in which this process led */
    bool is_leading;  /* on_started_leading was called, and on_stopped_leading was not called after it */
    bool ran_at_stop; /* a reconcile ran when the elector was stopped: the Lease must not be released */
    int64_t leading_since;
    int64_t lease_requests_since; /* the process's time, ns */
    unsigned lease_requests;      /* since then */
    uint64_t recorded_events;     /* since the start */
    sim_random random;
    ctl_op *ops;            /* a list: running reconciles, and ended ones whose request has not ended */
    unsigned running_count; /* reconciles that began and have not ended */
    uint64_t op_count;
    ctl_key keys[CTL_MAX_PARENTS];
    bool must_check_keys; /* a key changed since the last ctl_keys_check */
};

/* Returns the time on the process's clock, ns. */
int64_t ctl_process_now(const ctl_process *process);
/* Returns the true time after `length` ns of the process's clock. */
int64_t ctl_process_true_time(const ctl_process *process, int64_t length);

/* Creates the program. Without memory the process crashes, and starts again after a second. */
void ctl_process_start(ctl_process *process);
/* Frees everything at once. `restart_delay` (ns) < 0: the process stays stopped. */
void ctl_process_crash(ctl_process *process, int64_t restart_delay);
/* Begins an orderly stop. The process restarts `restart_delay` ns after the stop has ended; < 0: never. */
void ctl_process_stop(ctl_process *process, int64_t restart_delay);
/* Delays the next step by `length` ns. */
void ctl_process_pause(ctl_process *process, int64_t length);
void ctl_process_step(ctl_process *process);
/* Returns when a callback of the network or the program may run in the process: now, or after a pause. */
int64_t ctl_process_callable_at(const ctl_process *process);
/* Returns when the next step is due; INT64_MAX: never. */
int64_t ctl_process_next_step(ctl_process *process);

/* Returns the options of an informer, the parents' or the children's. */
ki_informer_options ctl_informer_options(const ctl_process *process, bool of_children);

/* reconcile.c: the program's reconcile function. */
ki_status ctl_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err);
/* Ends all deferred reconciles with an error. */
void ctl_reconcile_abort(ctl_process *process);
extern const ki_field ctl_parent_fields[], ctl_child_fields[];
extern const ki_resource ctl_foos;

/* handlers.c */
/* Adds the program's own handlers to both informers. */
ki_status ctl_handlers_add(ctl_process *process, ki_error *err);
/* Adds the controller's watches of parents and children. */
ki_status ctl_watches_add(ctl_process *process, ki_error *err);

/* recorder.c: compares the event recorder's counts with the process's own count and with the cluster. */
void ctl_recorder_check(ctl_process *process);

/* leadership.c */
extern const ki_elector_callbacks ctl_elector_callbacks;
/* Counts a request for the Lease. Fails the run if there are too many. */
void ctl_leadership_count_request(ctl_process *process);
/* Checks a write of a reconcile that began in this term. Called when the client sends the write. */
void ctl_leadership_check_write(ctl_process *process, uint64_t term);
/* Checks a write that releases the Lease. Called when the write leaves the process. */
void ctl_leadership_check_release(ctl_process *process);

#endif
