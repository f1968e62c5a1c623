/* jobs.h: runs many seeds in several processes. The result does not depend on the number of processes. */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "sim/scenario.h"

typedef struct sim_totals {
    uint64_t seeds, writes, requests, faults;
    uint64_t digest; /* of all seeds; independent of their order */
    double hours;    /* of virtual time */
    double core_seconds, seconds;
} sim_totals;

/* Runs `count` seeds of a scenario from `first`, which must be at least 1. Sets `*ret_failed` to the first seed that
 * fails; 0: none. Later seeds are not started then. Returns false if a process died; `*ret_failed` is at most the seed
 * that it was running. */
bool sim_jobs_run(const sim_scenario *scenario, uint64_t first, uint64_t count, uint32_t without, unsigned jobs,
                  uint64_t *ret_failed, sim_totals *ret_totals);

#endif
