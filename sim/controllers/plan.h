/* plan.h: what a seed of this scenario determines: the processes, their clocks, the cluster, the users and the faults.
 * Removing faults from a plan (--shrink) changes nothing else in it. */
#ifndef CTL_PLAN_H
#define CTL_PLAN_H

#include "sim/plan.h"

enum {
    CTL_MAX_PROCESSES = 4,
    CTL_MAX_PARENTS = 12,
    CTL_MAX_CHILDREN = 4, /* of one parent */
    CTL_MAX_FAULTS = 20,
    CTL_MILLION = 1000000
};

typedef enum ctl_fault_kind {
    /* to a process, which `detail` selects */
    CTL_PAUSE,          /* between two steps */
    CTL_PAUSE_MID_STEP, /* in the middle of the step that sends the next request */
    CTL_CRASH,
    CTL_STOP,      /* an orderly stop, as after SIGTERM, and a restart */
    CTL_PARTITION, /* requests or responses are lost, or connections are refused */
    CTL_NO_MEMORY,
    CTL_CLOCK_JUMPS, /* the wall clock */
    /* to the next requests */
    CTL_RESPONSE_429,
    CTL_RESPONSE_5XX,
    CTL_RESPONSE_409,
    CTL_LOSE_REQUEST,
    CTL_LOSE_RESPONSE, /* the server handles the request; then the connection breaks, or falls silent */
    CTL_DELAY,         /* the request can arrive long after the client has timed out */
    CTL_REFUSE,        /* the connection is refused */
    /* to the server */
    CTL_SERVER_DOWN, /* connections are refused, watches are cut */
    CTL_CLOSE_WATCHES,
    CTL_SILENCE_WATCHES, /* watches stay open without any more data */
    CTL_COMPACT,
    CTL_LAG, /* reads are served late */
    CTL_SLOW_NETWORK,
    /* to the Lease */
    CTL_TAKE_LEASE,   /* a user writes another holder into the Lease */
    CTL_DELETE_LEASE, /* two leaders are possible for a while: no client can prevent it */
    CTL_FAULT_KINDS
} ctl_fault_kind;

typedef struct ctl_fault {
    ctl_fault_kind kind;
    int64_t at;      /* true time, ns */
    int64_t length;  /* ns; 0: the fault has no duration */
    uint64_t detail; /* random bits for the choices within the fault */
} ctl_fault;

const char *ctl_fault_name(ctl_fault_kind kind);

typedef struct ctl_process_plan {
    int64_t rate;        /* ns of the process's clock in a million true ns */
    int64_t clock_start; /* what the process's clock shows at true time 0, ns */
    int64_t wall_skew;   /* error of the process's wall clock, ns */
    int64_t jitter;      /* longest delay of a step that is due, ns */
} ctl_process_plan;

typedef struct ctl_plan {
    uint64_t seed;
    /* the processes */
    unsigned process_count;
    ctl_process_plan process[CTL_MAX_PROCESSES];
    bool has_elector; /* false: there is one process */
    bool release_on_stop, keeps_identity;
    unsigned release_conflicts; /* of each stop: so many releases are rejected with a conflict */
    int64_t lease_ms, renew_ms, retry_ms;
    bool has_recorder, events_v1;
    int max_work; /* units of work in a step (ki_engine_step); 0: the engine's default */
    int workers;
    bool no_priority, has_generation_predicate, maps_children, any_owner, no_wait_for_writes;
    bool uses_for_and_owns; /* ki_controller_for and ki_controller_owns make the watches */
    int64_t late_watch_ms;  /* from a process's start to its watch of the parents; 0: before the start */
    bool no_streaming_list;
    ki_queue_kind queue;
    int64_t resync_ms;
    int64_t backoff_ms, max_backoff_ms;     /* of failed keys */
    int requests_per_second, request_burst; /* the client's rate limit; 0: none */
    int64_t stop_timeout_ms;                /* of the controller; 0: the default, 30 s */
    int64_t call_timeout_ms;                /* of the reconciles' requests */
    unsigned error_percent;                 /* reconciles that fail without a cause */
    unsigned slow_percent;                  /* deferred reconciles that finish up to 4 s after their work */
    unsigned external_add_percent;          /* writes of users that are followed by an add to a process's work queue */
    unsigned ownerless_percent;             /* manual writes that make a child without an owner */
    /* the cluster */
    size_t compact_after; /* events; 0: never */
    bool is_old_server;   /* no streaming lists */
    int64_t bookmark_every_ms;
    int64_t read_lag; /* ns */
    /* the users */
    unsigned parent_count;
    unsigned finalizer_percent; /* parents with a finalizer */
    unsigned wait_percent;      /* parents that become ready some seconds after a change */
    int64_t write_every;        /* mean, ns */
    int64_t duration;           /* of writes and faults, ns */
    bool has_memory_faults;
    ctl_fault faults[CTL_MAX_FAULTS]; /* sorted by time */
    size_t fault_count;
} ctl_plan;

/* Draws a plan from a seed. */
void ctl_plan_make(ctl_plan *plan, uint64_t seed);
/* Removes the faults whose bit is set in `without`. */
void ctl_plan_remove_faults(ctl_plan *plan, uint32_t without);
void ctl_plan_print(const ctl_plan *plan);

#endif
