/* random.h: random numbers from a seed (splitmix64). Each part of a simulation has its own generator: removing a fault
 * changes nothing else. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_random {
    uint64_t state;
} sim_random;

static inline uint64_t sim_random_next(sim_random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns a generator that is independent of those with another seed or stream. */
static inline sim_random sim_random_from(uint64_t seed, uint64_t stream) {
    sim_random random = { seed * 0xd1342543de82ef95u + stream * 0x2545f4914f6cdd1du };
    random.state = sim_random_next(&random);
    return random;
}

/* Returns 0 to n - 1; 0 if n is 0. */
static inline uint64_t sim_below(sim_random *random, uint64_t n) {
    return n ? sim_random_next(random) % n : 0;
}

/* Returns low to high, both included. */
static inline int64_t sim_between(sim_random *random, int64_t low, int64_t high) {
    return low + (int64_t)sim_below(random, (uint64_t)(high - low + 1));
}

/* Returns true in `percent` of the calls. */
static inline bool sim_chance(sim_random *random, unsigned percent) {
    return sim_below(random, 100) < percent;
}

#endif
