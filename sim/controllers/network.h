/* network.h: the network between the processes and the server: latency, lost requests and responses, requests that
 * arrive after their sender has timed out or crashed, and error responses that the server never sent. */
#ifndef CTL_NETWORK_H
#define CTL_NETWORK_H

#include "sim/controllers/plan.h"
#include "testing/memory/transport.h"

typedef struct ctl_world ctl_world;
typedef struct ctl_process ctl_process;
typedef struct ctl_request ctl_request;

enum {
    CTL_MAX_ARMED = 16
};

/* A fault that will hit the next matching requests. */
typedef struct ctl_armed {
    ctl_fault_kind kind;
    unsigned count; /* requests still to be hit */
    int64_t length; /* ns; only CTL_DELAY has one */
    uint64_t detail;
} ctl_armed;

typedef struct ctl_network {
    sim_random random;
    ctl_request *first; /* a list */
    ctl_armed armed[CTL_MAX_ARMED];
    size_t armed_count;
    int64_t slow_until; /* true time, ns: requests take up to 3 s until then */
} ctl_network;

void ctl_network_make(ctl_world *world);
void ctl_network_free(ctl_world *world);
/* Makes the memory transport of a process. */
ki_status ctl_network_transport_new(ctl_process *process, ki_error *err);
/* Makes a fault hit the next `count` matching requests. Skips the fault if CTL_MAX_ARMED faults are armed. */
void ctl_network_arm(ctl_world *world, const ctl_fault *fault, unsigned count);
/* Keeps open watches open, without any more data. */
void ctl_network_silence_watches(ctl_world *world);
/* Ends open watches in the middle of their streams. */
void ctl_network_cut_watches(ctl_world *world);
/* Ends the faults of requests, and the latency of CTL_SLOW_NETWORK. */
void ctl_network_heal(ctl_world *world);

#endif
