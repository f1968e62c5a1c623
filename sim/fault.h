/* fault.h: the kinds of faults, and one fault of a plan. fault.c has the table; README.md tells which of the project's
 * numbered faults each one is. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim/random.h"

typedef enum sim_fault_kind {
    /* to the connections that are open */
    SIM_HALF_OPEN, /* silence from now on */
    SIM_CUT,       /* after so many more bytes: anywhere in a frame */
    SIM_CLOSE,     /* cleanly, perhaps in the middle of a frame */
    SIM_EXPIRED_EVENT,
    SIM_ERROR_EVENT, /* a Status 500 in the stream */
    SIM_TOO_LARGE_EVENT,
    SIM_BOOKMARK_AHEAD, /* of the next events */
    SIM_LOST_EVENT,     /* the next event is lost; only with consistency checks */
    SIM_BAD_EVENT,      /* the next object cannot be used */
    SIM_HUGE_EVENT,
    /* to the next requests */
    SIM_REFUSE,
    SIM_RESPONSE_429,
    SIM_RESPONSE_5XX,
    SIM_RESPONSE_DENIED, /* 401, 403 */
    SIM_RESPONSE_410,
    SIM_RESPONSE_TOO_LARGE,
    SIM_RESPONSE_GARBAGE, /* 200 and no JSON */
    SIM_CLOSE_AT_ONCE,
    SIM_UNORDERED, /* initial events in another order */
    SIM_REPEATED,  /* a watch begins with events that an earlier watch delivered */
    SIM_NO_END,    /* the initial events' end never comes */
    SIM_TOKEN_EXPIRES,
    SIM_EMPTY_PAGE,
    SIM_BAD_ITEM,
    /* to the servers */
    SIM_COMPACT,
    SIM_RESTORE,
    SIM_LAG,
    SIM_RESTART_SERVER,
    SIM_TO_LAGGARD, /* all connections end, and come back to the server that is furthest behind */
    SIM_TYPE_GONE,
    /* to the network and the client */
    SIM_SMALL_CHUNKS,
    SIM_SLOW_NETWORK,
    SIM_NO_MEMORY,
    SIM_RESTART_CLIENT,
    SIM_NO_DESCRIPTORS,
    SIM_FEW_STREAMS, /* on one connection: the next one needs another */
    SIM_CLOCK_JUMPS, /* the wall clock */
    SIM_FAULT_KINDS
} sim_fault_kind;

typedef struct sim_fault {
    sim_fault_kind kind;
    int64_t at;      /* virtual time, ns */
    uint64_t detail; /* what is left to chance in it */
} sim_fault;

const char *sim_fault_name(sim_fault_kind kind);
const char *sim_fault_numbers(sim_fault_kind kind); /* of FAULTS: "3, 17" */

#endif
