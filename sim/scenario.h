/* scenario.h: the scenarios that the program can simulate, each from a seed. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of one run. */
typedef struct sim_outcome {
    const char *message; /* the first failure, static until the next run; NULL: none */
    uint64_t digest;     /* of everything that happened; the same for the same seed */
    uint64_t writes, requests, faults;
    int64_t now; /* ns: the virtual time at the end */
} sim_outcome;

typedef struct sim_scenario {
    const char *name;
    /* Runs a seed without the faults whose bit is set in `without`. */
    void (*run)(uint64_t seed, uint32_t without, bool trace, sim_outcome *ret_outcome);
    /* Prints the configuration and the faults of a seed. */
    void (*print)(uint64_t seed, uint32_t without);
    /* Returns the number of the seed's faults. */
    size_t (*count_faults)(uint64_t seed);
} sim_scenario;

extern const sim_scenario sim_informers;   /* one program, its informers and handlers */
extern const sim_scenario sim_controllers; /* several processes with controllers (controllers/) */

/* Returns the scenario of a name, or NULL. */
const sim_scenario *sim_scenario_find(const char *name);

#endif
