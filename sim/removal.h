/* removal.h: removes informers of the running client and asks for them again; checks what a removed informer does. */
#ifndef SIM_REMOVAL_H
#define SIM_REMOVAL_H

#include <stdint.h>

typedef struct sim_world sim_world;

/* Removes the informer that `detail` selects, unless it is removed already. It is asked for again soon. */
void sim_removal_remove(sim_world *world, uint64_t detail);
/* Removes an informer at random, if the plan has removals. Called in handlers. */
void sim_removal_in_handler(sim_world *world);
/* Fails the run if a removed informer has not ended: its connections, handlers, lookups, health. Must be called between
 * two steps. */
void sim_removal_check(sim_world *world);
/* Fails the run if the informer was removed and may not send a request any more. */
void sim_removal_check_request(sim_world *world, unsigned informer);

#endif
