/* shrink.h: finds fewer faults that still make a seed fail. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/scenario.h"

/* Removes faults while the seed still fails, and prints the result. */
void sim_shrink(const sim_scenario *scenario, uint64_t seed);
/* Prints the command that runs a seed again. */
void sim_print_again(const sim_scenario *scenario, uint64_t seed, uint32_t without);

#endif
