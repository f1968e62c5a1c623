/* health.h: compares an informer's health with the truth: its state, its next attempt, how old its cache is. */
#ifndef SIM_HEALTH_H
#define SIM_HEALTH_H

typedef struct sim_world sim_world;

/* Between two steps, where nothing is due. */
void sim_health_check(sim_world *world);

#endif
