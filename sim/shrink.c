/* shrink.c: leaves out one fault after the other as long as the seed still fails, until none can be left out. Any failure counts: the
 * one at hand may change its words once other faults are gone. */
#include "sim/shrink.h"

#include <inttypes.h>
#include <stdio.h>

static bool fails(sim_world *world, uint64_t seed, uint32_t without) {
    sim_plan plan;
    sim_plan_make(&plan, seed);
    sim_plan_leave_out(&plan, without);
    return sim_world_run(world, &plan, false) != NULL;
}

void sim_shrink(sim_world *world, uint64_t seed) {
    sim_plan plan;
    uint32_t without = 0;
    sim_plan_make(&plan, seed);
    bool shrunk = true;
    while (shrunk) {
        shrunk = false;
        for (size_t i = 0; i < plan.fault_count; i++) {
            uint32_t more = without | UINT32_C(1) << i;
            if (more != without && fails(world, seed, more)) {
                without = more;
                shrunk = true;
            }
        }
    }
    sim_plan_leave_out(&plan, without);
    printf("with fewer faults:\n");
    (void)fails(world, seed, without);
    sim_plan_print(&plan);
    printf("seed %" PRIu64 " fails: %s\nagain: ./dev sim --seed %" PRIu64 " --without 0x%" PRIx32 " --trace\n", seed,
           world->message, seed, without);
}
