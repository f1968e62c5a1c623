/* oracle.h: what must hold of an informer's store, at any time and in the end. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim/client.h"

#include <stdbool.h>

typedef struct sim_world sim_world;

/* The states that an informer's store has. */
void sim_oracle_read(sim_world *world, const sim_informer *informer, uint64_t present[SIM_KEYS]);
/* At any time between two steps: only real states, never an older one, indexes as if made anew, snapshots that stay. */
void sim_oracle_check(sim_world *world);
/* Does the client know exactly what is in the cluster, and has every handler been notified? */
bool sim_oracle_agrees(sim_world *world);
/* Says what does not agree, as an objection. */
void sim_oracle_report(sim_world *world);
/* Everything was told: does each handler know what the store has? */
void sim_oracle_compare_handlers(sim_world *world);

#endif
