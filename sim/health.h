/* health.h: what an informer says of itself, against what truly happens: its state, its next try, how old its copy is. */
#ifndef SIM_HEALTH_H
#define SIM_HEALTH_H

typedef struct sim_world sim_world;

/* Between two steps, where nothing is due. */
void sim_health_look(sim_world *world);

#endif
