/* jobs.h: many seeds on all cores: processes that share nothing but what came of each, so that the result is the same for any number of them. */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "sim/scenario.h"

typedef struct sim_totals {
    uint64_t seeds, writes, requests, faults;
    uint64_t digest; /* of all seeds, whatever their order */
    double hours;    /* of virtual time */
    double core_seconds, seconds;
} sim_totals;

/* Runs `count` seeds of a scenario from `first`. The first one that fails; 0: none (there is no seed 0 then: the caller begins at 1 or later). Seeds after one
 * that failed are not begun. False: a process died, and `*ret_failed` is the seed that it was at. */
bool sim_jobs_run(const sim_scenario *scenario, uint64_t first, uint64_t count, uint32_t without, unsigned jobs,
                  uint64_t *ret_failed, sim_totals *ret_totals);

#endif
