/* network.h: what lies between the processes and the server: latency, loss of requests and of answers, requests that arrive after their sender has
 * given up or died, error responses that the server never sent. */
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

/* A fault that waits for the requests that it is about. */
typedef struct ctl_armed {
    ctl_fault_kind kind;
    unsigned count; /* requests that it still hits */
    int64_t length;
    uint64_t detail;
} ctl_armed;

typedef struct ctl_network {
    sim_random random;
    ctl_request *first;
    ctl_armed armed[CTL_MAX_ARMED];
    size_t armed_count;
    int64_t slow_until;
} ctl_network;

void ctl_network_make(ctl_world *world);
void ctl_network_free(ctl_world *world);
/* The memory transport's server for a process. */
kt_memory_server ctl_network_server(ctl_process *process);
void ctl_network_arm(ctl_world *world, const ctl_fault *fault, unsigned count);
/* Open watches bring nothing more. */
void ctl_network_silence(ctl_world *world);
/* Open watches break. */
void ctl_network_cut(ctl_world *world);
void ctl_network_heal(ctl_world *world);

#endif
