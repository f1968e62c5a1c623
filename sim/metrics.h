/* metrics.h: the oracle of the informers' metrics. It compares them with the counts of the network, the sources and the
 * witnesses. */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

typedef struct sim_world sim_world;

/* Fails the run if a metric is wrong. The client must agree with the cluster. */
void sim_metrics_compare(sim_world *world);

#endif
