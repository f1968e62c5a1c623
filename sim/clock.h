/* clock.h: what the process's clocks say while a world runs: the virtual time, and a wall clock that jumps. Nobody in the client may look at
 * that one: who does is found. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

/* A world's time. */
typedef struct sim_clock {
    int64_t (*now)(void *user);  /* monotonic, ns */
    int64_t (*wall)(void *user); /* ns since 1970; its callers are at fault */
    void *user;
} sim_clock;

/* From now on these clocks count; NULL: the real ones. `clock` is borrowed. */
void sim_clock_use(const sim_clock *clock);
/* Returns the real time in seconds, for measuring. */
double sim_clock_real_seconds(void);

#endif
