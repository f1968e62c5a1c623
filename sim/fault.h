/* fault.h: the kinds of faults, and one fault of a plan. fault.c has their names and their numbers in README.md. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim/random.h"

typedef enum sim_fault_kind {
    /* of open exchanges: first to SIM_HUGE_EVENT */
    SIM_HALF_OPEN, /* silence, for good */
    SIM_CUT,       /* an end with an error after some more bytes */
    SIM_CLOSE,     /* a clean end, perhaps within a frame */
    SIM_EXPIRED_EVENT,
    SIM_ERROR_EVENT, /* an ERROR event with status 500 */
    SIM_TOO_LARGE_EVENT,
    SIM_BOOKMARK_AHEAD, /* the next event comes after its own bookmark */
    SIM_LOST_EVENT,     /* the next event is lost; only with consistency checks */
    SIM_BAD_EVENT,      /* the next object is unusable */
    SIM_HUGE_EVENT,     /* the next object is too large */
    /* of the next requests: up to SIM_BAD_ITEM */
    SIM_REFUSE, /* no connection */
    SIM_RESPONSE_429,
    SIM_RESPONSE_5XX,
    SIM_RESPONSE_DENIED, /* 401, 403 */
    SIM_RESPONSE_410,
    SIM_RESPONSE_TOO_LARGE,
    SIM_RESPONSE_GARBAGE, /* 200 and invalid JSON */
    SIM_CLOSE_AT_ONCE,
    SIM_UNORDERED, /* initial events in random order, with old states */
    SIM_REPEATED,  /* a watch starts with earlier events */
    SIM_NO_END,    /* initial events without the bookmark that ends them */
    SIM_TOKEN_EXPIRES,
    SIM_EMPTY_PAGE,
    SIM_BAD_ITEM, /* an item of a list has another kind */
    /* of servers: up to SIM_TYPE_GONE */
    SIM_COMPACT,
    SIM_RESTORE,
    SIM_LAG,
    SIM_RESTART_SERVER,
    SIM_TO_LAGGARD, /* all exchanges end; for a while, requests go to the server that lags most */
    SIM_TYPE_GONE,  /* the resource type disappears with its objects */
    /* of the network and the client */
    SIM_SMALL_CHUNKS,
    SIM_SLOW_NETWORK,
    SIM_NO_MEMORY,
    SIM_RESTART_CLIENT,
    SIM_NO_DESCRIPTORS,
    SIM_FEW_STREAMS, /* each connection takes one request */
    SIM_CLOCK_JUMPS, /* of the wall clock */
    /* of aggregated API servers and of servers that are shut down; drawn apart from the others (plan.c) */
    SIM_REAPPEARS,     /* an object leaves a watch and comes back, both with its own old version */
    SIM_STREAM_CLOSES, /* a streaming list is closed within its initial events */
    SIM_FAULT_KINDS
} sim_fault_kind;

typedef struct sim_fault {
    sim_fault_kind kind;
    int64_t at;      /* virtual time, ns */
    uint64_t detail; /* random bits for the details */
} sim_fault;

const char *sim_fault_name(sim_fault_kind kind);
const char *sim_fault_numbers(sim_fault_kind kind); /* in README.md: "3, 17" */

#endif
