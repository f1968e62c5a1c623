/* health.h: the oracles of what an informer reports: its health (state, next attempt, age of the cache) and its
 * metrics. */
#ifndef SIM_HEALTH_H
#define SIM_HEALTH_H

typedef struct sim_world sim_world;

/* Fails the run if the health of an informer is wrong. To be called between two steps, when nothing is due. */
void sim_health_check(sim_world *world);
/* Fails the run if the staleness of an informer is below the age of its cache. To be called at any time. */
void sim_health_check_age(sim_world *world);

/* metrics.c: fails the run if a metric is wrong. The client must agree with the cluster. */
void sim_metrics_compare(sim_world *world);

#endif
