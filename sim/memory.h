/* memory.h: the simulation's own memory, and the client's allocator, which counts blocks and fails at random if a fault
 * requires it. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <kinformer/allocator.h>

#include "sim/random.h"

/* End the program if memory is exhausted. */
void *sim_alloc(size_t size); /* zeroed */
void *sim_realloc(void *memory, size_t size);
char *sim_strdup(const char *text);

typedef struct sim_memory {
    ki_allocator allocator; /* the client's; its user is this struct */
    size_t live;            /* allocated blocks */
    size_t refused;         /* allocations that failed on purpose */
    unsigned per_mille;     /* allocations that fail, in thousandths */
    sim_random random;
} sim_memory;

void sim_memory_init(sim_memory *memory, uint64_t seed);

#endif
