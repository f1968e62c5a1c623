/* inject.h: injects faults, and ends them. */
#ifndef SIM_INJECT_H
#define SIM_INJECT_H

#include "sim/fault.h"

typedef struct sim_world sim_world;

void sim_inject(sim_world *world, const sim_fault *fault);
/* Ends all faults. Silent connections stay silent: the client must notice them. */
void sim_end_faults(sim_world *world);

#endif
