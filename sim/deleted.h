/* deleted.h: the oracle of the deleted objects that an informer keeps for a while. */
#ifndef SIM_DELETED_H
#define SIM_DELETED_H

#include "sim/truth.h"

#include <kinformer/informer.h>

typedef struct sim_deleted {
    int64_t keep; /* ns; 0: none is kept */
    struct {
        bool was_present;    /* at the last check */
        bool was_deleted;    /* present at one check, and not at the next */
        int64_t there_until; /* the last check at which it was present */
        uint64_t found;      /* the state that was found deleted; 0: none */
        int64_t found_at;    /* the first check that found it */
    } keys[SIM_KEYS];
} sim_deleted;

/* Fails the run if an object of the store is said to be deleted, if a deleted object is gone too early or stays too
 * long, or if it has a state that was never written. `present`: the store's states. `returned`: bits of namespaces
 * that left the informer's set and may have come back: a state can be deleted more than once. */
void sim_deleted_check(sim_deleted *deleted, sim_world *world, const ki_informer *informer,
                       const uint64_t present[SIM_KEYS], unsigned returned);

#endif
