/* workload.h: who changes the cluster: creates, updates, deletes, deletes and makes again, moves between selections, in bursts. */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_world sim_world;

void sim_workload_start(sim_world *world);
/* One change, by chance. */
void sim_workload_write(sim_world *world);
/* May so many writes be made now? */
bool sim_workload_may_write(sim_world *world, uint64_t writes);
/* A new state for every object whose state was spoilt on its way; false where that has to wait. */
bool sim_workload_repair(sim_world *world);

#endif
