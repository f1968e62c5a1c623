/* shrink.h: fewer faults that still make a seed fail. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/world.h"

/* Prints what it found. `world` is used for the runs. */
void sim_shrink(sim_world *world, uint64_t seed);

#endif
