/* scenario.c: the scenarios by name, and the first of them: one program with informers (world.c). */
#include "sim/scenario.h"

#include "sim/world.h"

#include <string.h>

static void make(sim_plan *plan, uint64_t seed, uint32_t without) {
    sim_plan_make(plan, seed);
    sim_plan_remove_faults(plan, without);
}

static void run(uint64_t seed, uint32_t without, bool trace, sim_outcome *ret_outcome) {
    static sim_world world;
    sim_plan plan;
    make(&plan, seed, without);
    if (trace)
        sim_plan_print(&plan);
    const char *message = sim_world_run(&world, &plan, trace);
    *ret_outcome = (sim_outcome){ .message = message,
                                  .digest = world.digest,
                                  .writes = world.writes,
                                  .requests = world.requests,
                                  .faults = plan.fault_count,
                                  .now = world.now };
}

static void print(uint64_t seed, uint32_t without) {
    sim_plan plan;
    make(&plan, seed, without);
    sim_plan_print(&plan);
}

static size_t count_faults(uint64_t seed) {
    sim_plan plan;
    make(&plan, seed, 0);
    return plan.fault_count;
}

const sim_scenario sim_informers = { .name = "informers", .run = run, .print = print, .count_faults = count_faults };

const sim_scenario *sim_scenario_find(const char *name) {
    static const sim_scenario *const all[] = { &sim_informers, &sim_controllers };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    }
    return NULL;
}
