/* metrics.h: what informers count, against counts of the network's, the sources' and the witnesses' own. */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

typedef struct sim_world sim_world;

/* Once the client agrees with the cluster. */
void sim_metrics_compare(sim_world *world);

#endif
