/* workload.h: random writes to the cluster: creations, updates, deletions, recreations and changes of labels, some in
 * bursts. */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_world sim_world;

/* Makes the first writes and schedules the others. */
void sim_workload_start(sim_world *world);
/* Makes a random write, if it is allowed now. */
void sim_workload_write(sim_world *world);
/* Returns true if this number of writes is allowed now: the type exists, and no client could confuse the versions
 * (client.h). */
bool sim_workload_may_write(sim_world *world, uint64_t writes);
/* Writes each object again that had an unusable state. Returns false if the writes are not allowed yet. */
bool sim_workload_repair(sim_world *world);

#endif
