/* health.h: the oracle of an informer's health: its state, its next attempt and the age of its cache. */
#ifndef SIM_HEALTH_H
#define SIM_HEALTH_H

typedef struct sim_world sim_world;

/* Fails the run if the health of an informer is wrong. To be called between two steps, when nothing is due. */
void sim_health_check(sim_world *world);
/* Fails the run if the staleness of an informer is below the age of its cache. To be called at any time. */
void sim_health_check_age(sim_world *world);

#endif
