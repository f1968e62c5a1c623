/* inject.h: makes a fault happen, and makes all faults end. */
#ifndef SIM_INJECT_H
#define SIM_INJECT_H

#include "sim/fault.h"

typedef struct sim_world sim_world;

void sim_inject(sim_world *world, const sim_fault *fault);
/* No faults from now on. What was broken before stays as it is: the client has to notice. */
void sim_end_faults(sim_world *world);

#endif
