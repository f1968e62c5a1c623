/* oracle.h: the oracle of the informers' stores, during the run and at its end. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim/client.h"

#include <stdbool.h>

typedef struct sim_world sim_world;

/* Reads the states in an informer's store, as numbers of writes. */
void sim_oracle_read(sim_world *world, const sim_informer *informer, uint64_t present[SIM_KEYS]);
/* Fails the run if a store has a wrong or older state, an index is wrong or a snapshot changed. Must be called between
 * two steps. */
void sim_oracle_check(sim_world *world);
/* Returns true if all stores equal the cluster and no notification is pending. */
bool sim_oracle_agrees(sim_world *world);
/* Fails the run with the first difference between the client and the cluster. */
void sim_oracle_report(sim_world *world);
/* Fails the run if the replica of a handler differs from its store. No notification may be pending. */
void sim_oracle_compare_handlers(sim_world *world);

#endif
