/* process.h: one process of the scenario: a factory on a stepped engine with a clock and an allocator of its own, two informers, a controller, and
 * most often an elector and an event recorder. It is started, paused, stopped and crashed any number of times. */
#ifndef CTL_PROCESS_H
#define CTL_PROCESS_H

#include "sim/controllers/keys.h"
#include "sim/controllers/plan.h"
#include "sim/memory.h"

#include <kinformer/controller.h>
#include <kinformer/events.h>
#include <kinformer/lister.h>

#include "src/transport/transport.h"

typedef struct ctl_world ctl_world;
typedef struct ctl_process ctl_process;
typedef struct ctl_op ctl_op;

typedef enum ctl_partition {
    CTL_REQUESTS_ARE_LOST,
    CTL_ANSWERS_ARE_LOST,
    CTL_REQUESTS_ARE_REFUSED,
    CTL_PARTITIONS
} ctl_partition;

/* The program's views of its objects. */
typedef struct ctl_parent {
    const char *value, *observed, *deleted_at;
    int64_t replicas, wait_seconds, generation;
    bool is_ready;
} ctl_parent;

typedef struct ctl_child {
    const char *value;
} ctl_child;

struct ctl_process {
    ctl_world *world;
    unsigned index;
    const ctl_process_plan *plan;
    /* where it is */
    uint64_t life;      /* how often it was started */
    bool is_running;    /* it has an engine */
    bool is_inside;     /* a step is under way */
    bool is_stopping;   /* the factory was asked to stop */
    bool is_dropped;    /* it is being freed: nothing that it sends arrives */
    bool has_quit;      /* it is not started again */
    int64_t stop_since; /* its own time */
    int64_t restart_in; /* ns after its stop */
    int64_t busy_until; /* it is not stepped before */
    int64_t
        hindered_at; /* when something last kept it from working in time: a pause, no memory, a change of the leader */
    int64_t paused;  /* how long all pauses of this life were */
    int64_t wall_jump;
    int64_t partition_until;
    ctl_partition partition;
    int64_t pause_mid_step; /* ns: at the next request; 0: none */
    bool pause_before;      /* ... before the request leaves, else after */
    bool stop_inside;       /* the next reconcile stops the factory */
    /* the program */
    sim_memory memory;
    size_t refused_before;
    bool lacked_memory; /* in this life */
    ki_engine *engine;
    ki_transport *transport;
    ki_factory *factory;
    ki_informer *parents, *children;
    ki_elector *elector;
    ki_controller *controller;
    ki_event_recorder *recorder;
    char identity[32];
    bool leads; /* on_started_leading was called, and on_stopped_leading was not yet */
    int64_t led_since;
    int64_t lease_requests_since; /* its own time */
    unsigned lease_requests;
    uint64_t recorded;
    sim_random random;
    ctl_op *ops; /* deferred reconciles, and requests whose reconcile has ended */
    unsigned running;
    uint64_t ops_made;
    ctl_key keys[CTL_MAX_PARENTS];
    bool looks_at_keys; /* something happened since the last look */
};

/* What a clock of the process shows. */
int64_t ctl_process_now(const ctl_process *process);
/* The true time at which its clock will have gone on by `length`. */
int64_t ctl_process_true(const ctl_process *process, int64_t length);

void ctl_process_start(ctl_process *process);
/* Frees everything as it is, as if the process had died. `restart_in` < 0: it does not come back. */
void ctl_process_crash(ctl_process *process, int64_t restart_in);
/* Asks the factory to stop; the process comes back when it has ended. */
void ctl_process_stop(ctl_process *process, int64_t restart_in);
/* Nothing runs in it for `length`. */
void ctl_process_pause(ctl_process *process, int64_t length);
void ctl_process_step(ctl_process *process);
/* When something may be given to it: now, or when its pause has ended. */
int64_t ctl_process_free_at(const ctl_process *process);
/* When it is to be stepped; INT64_MAX: never. */
int64_t ctl_process_due(ctl_process *process);

/* reconcile.c: the program's work. */
ki_status ctl_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err);
/* Ends all deferred reconciles with an error. */
void ctl_reconcile_abort(ctl_process *process);
extern const ki_field ctl_parent_fields[], ctl_child_fields[];
extern const ki_resource ctl_foos;

/* handlers.c: the program's own look at the events, beside the controller's. */
ki_status ctl_handlers_add(ctl_process *process, ki_error *err);
/* The options of the controller's watches. */
ki_status ctl_watches_add(ctl_process *process, ki_error *err);

/* recorded.c: what becomes of the events that the process records. */
void ctl_recorded_compare(ctl_process *process);

/* leadership.c */
extern const ki_elector_callbacks ctl_elector_callbacks;
void ctl_leadership_look(ctl_world *world);
/* A request about the Lease is sent. */
void ctl_leadership_note_request(ctl_process *process);
/* The Lease is about to be deleted, or its holder to be removed. */
void ctl_leadership_doubt(ctl_world *world);

#endif
