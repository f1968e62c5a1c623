/* plan.h: what a seed of this scenario means: the processes, their clocks, the cluster, the users and the faults. A plan with some faults left
 * out (--shrink) is the same in all else. */
#ifndef CTL_PLAN_H
#define CTL_PLAN_H

#include "sim/plan.h"

enum {
    CTL_MAX_PROCESSES = 4,
    CTL_MAX_PARENTS = 12, /* names of parents */
    CTL_MAX_CHILDREN = 4, /* of one parent */
    CTL_MAX_FAULTS = 20,
    CTL_MILLION = 1000000
};

typedef enum ctl_fault_kind {
    /* to a process; `detail` chooses which */
    CTL_PAUSE,          /* between two steps */
    CTL_PAUSE_MID_STEP, /* in the middle of a step, when the process next sends a request */
    CTL_CRASH,
    CTL_STOP,      /* ends as a signal would end it, and comes back */
    CTL_PARTITION, /* no request of the process arrives, or no answer returns */
    CTL_NO_MEMORY,
    CTL_CLOCK_JUMPS, /* the wall clock */
    /* to the next requests */
    CTL_ANSWER_429,
    CTL_ANSWER_5XX,
    CTL_ANSWER_409,
    CTL_LOSE_REQUEST,
    CTL_LOSE_ANSWER, /* the server does what it was asked; the connection breaks */
    CTL_DELAY,       /* the request arrives long after the client has given up */
    CTL_REFUSE,      /* no connection */
    /* to the server */
    CTL_SERVER_DOWN,
    CTL_CLOSE_WATCHES,
    CTL_SILENCE_WATCHES, /* they stay open and bring nothing more */
    CTL_COMPACT,
    CTL_LAG, /* reads are served late */
    CTL_SLOW_NETWORK,
    /* to the Lease */
    CTL_TAKE_LEASE,   /* somebody writes another holder into it */
    CTL_DELETE_LEASE, /* two leaders are possible for a while: no client can prevent it */
    CTL_FAULT_KINDS
} ctl_fault_kind;

typedef struct ctl_fault {
    ctl_fault_kind kind;
    int64_t at;     /* true time, ns */
    int64_t length; /* ns; of those that last */
    uint64_t detail;
} ctl_fault;

const char *ctl_fault_name(ctl_fault_kind kind);

typedef struct ctl_process_plan {
    int64_t rate;      /* of its clock: nanoseconds in a million true ones */
    int64_t clock;     /* what its clock shows at the beginning */
    int64_t wall_skew; /* how far its wall clock is off */
    int64_t jitter;    /* longest delay of a step that is due */
} ctl_process_plan;

typedef struct ctl_plan {
    uint64_t seed;
    /* the processes */
    unsigned processes;
    ctl_process_plan process[CTL_MAX_PROCESSES];
    bool has_elector; /* else there is one process */
    bool release_on_stop, keeps_identity;
    int64_t lease_ms, renew_ms, retry_ms;
    bool has_recorder, events_v1;
    int max_work; /* of a step */
    int workers;
    bool no_priority, by_generation, maps_children, any_owner;
    bool no_streaming_list, in_order;
    int64_t resync_ms;
    int64_t backoff_ms, max_backoff_ms; /* of failed keys */
    int64_t call_timeout_ms;
    unsigned errors;  /* percent of the reconciles that fail for no reason */
    unsigned slow;    /* percent of the reconciles that take their time */
    unsigned ticks;   /* keys that are added from elsewhere, per 100 writes of users */
    unsigned foreign; /* percent of the hands' writes that make a child of nobody */
    /* the cluster */
    size_t compact_after;
    bool no_watch_list;
    int64_t bookmark_every_ms;
    int64_t lag; /* ns: of reads */
    /* the users */
    unsigned parents;
    unsigned finalizers, waits; /* percent of the parents that have a finalizer; whose readiness takes time */
    int64_t write_every;        /* mean, ns */
    int64_t duration;           /* of writes and faults, ns */
    bool runs_out_of_memory;
    ctl_fault faults[CTL_MAX_FAULTS]; /* by time */
    size_t fault_count;
} ctl_plan;

void ctl_plan_make(ctl_plan *plan, uint64_t seed);
/* Takes the faults out whose bit is set. */
void ctl_plan_leave_out(ctl_plan *plan, uint32_t without);
void ctl_plan_print(const ctl_plan *plan);

#endif
