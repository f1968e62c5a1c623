/* clock.h: what the process's clocks say while a world runs: the virtual time, and a wall clock that jumps. Nobody in the client may look at
 * that one: who does is found. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

typedef struct sim_world sim_world;

/* From now on this world's clocks count; NULL: the real ones. */
void sim_clock_use(sim_world *world);
/* The wall clock as it is now, from another part of the simulation. */
double sim_clock_real_seconds(void);

#endif
