/* clock.h: the process's clocks while a world runs: virtual time, and a wall clock that jumps. The client must not read
 * the wall clock. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

/* The clocks of a world. */
typedef struct sim_clock {
    int64_t (*now)(void *user);  /* monotonic, ns */
    int64_t (*wall)(void *user); /* ns since 1970; a call is a bug of the client */
    void *user;
} sim_clock;

/* Replaces the process's clocks; NULL: restores the real ones. `clock` is borrowed. */
void sim_clock_use(const sim_clock *clock);
/* Returns the real time in seconds, for measuring. */
double sim_clock_real_seconds(void);

#endif
