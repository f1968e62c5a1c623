/* memory.h: the simulation's own memory, which never runs out, and the client's, which is counted and does when it is told to. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <kinformer/allocator.h>

#include "sim/random.h"

/* End the program where there is nothing left. */
void *sim_alloc(size_t size); /* zeroed */
void *sim_realloc(void *memory, size_t size);
char *sim_strdup(const char *text);

typedef struct sim_memory {
    ki_allocator allocator; /* for the client; its user is this struct */
    size_t live;            /* blocks that are not freed */
    size_t refused;         /* allocations that failed on purpose */
    unsigned per_mille;     /* of the allocations fail; 0: none */
    sim_random random;
} sim_memory;

void sim_memory_init(sim_memory *memory, uint64_t seed);

#endif
