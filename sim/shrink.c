/* shrink.c: removes one fault after the other as long as the seed still fails, until no more can be removed. Any
 * failure counts: the message can change when other faults are removed. */
#include "sim/shrink.h"

#include <inttypes.h>
#include <stdio.h>

static bool fails(const sim_scenario *scenario, uint64_t seed, uint32_t without) {
    sim_outcome outcome;
    scenario->run(seed, without, false, &outcome);
    return outcome.message != NULL;
}

void sim_print_again(const sim_scenario *scenario, uint64_t seed, uint32_t without) {
    printf("again: ./dev sim");
    if (scenario != &sim_informers)
        printf(" --scenario %s", scenario->name);
    printf(" --seed %" PRIu64, seed);
    if (without)
        printf(" --without 0x%" PRIx32, without);
    printf(" --trace\n");
}

void sim_shrink(const sim_scenario *scenario, uint64_t seed) {
    uint32_t without = 0;
    size_t faults = scenario->count_faults(seed);
    bool shrunk = true;
    while (shrunk) {
        shrunk = false;
        for (size_t i = 0; i < faults; i++) {
            uint32_t more = without | UINT32_C(1) << i;
            if (more != without && fails(scenario, seed, more)) {
                without = more;
                shrunk = true;
            }
        }
    }
    sim_outcome outcome;
    printf("with fewer faults:\n");
    scenario->run(seed, without, false, &outcome);
    scenario->print(seed, without);
    printf("seed %" PRIu64 " fails: %s\n", seed, outcome.message ? outcome.message : "no longer");
    sim_print_again(scenario, seed, without);
}
