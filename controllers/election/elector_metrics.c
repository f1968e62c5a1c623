/* elector_metrics.c: an elector's metrics, under client-go's names. */
#include "controllers/election/elector_parts.h"

static const ki_metric master_status = { .name = "leader_election_master_status",
                                         .help = "1 if this process leads, else 0",
                                         .type = KI_METRIC_GAUGE };
static const ki_metric slow_path = { .name = "leader_election_slowpath",
                                     .help = "Renewals that had to read the Lease, because the Lease had changed",
                                     .type = KI_METRIC_COUNTER };

void ki_elector_visit_metrics(const ki_component *component, const ki_metrics_visit *to) {
    const ki_elector *elector =
        (const ki_elector *)(const void *)((const char *)component - offsetof(ki_elector, component));
    char leader[KI_IDENTITY_MAX + 1];
    ki_elector_leader(elector, leader, sizeof leader);
    const ki_label label = { "name", elector->given.name };
    ki_sample sample = {
        .metric = &master_status, .labels = &label, .label_count = 1, .elector = elector, .leader = leader
    };
    sample.value = ki_elector_is_leader(elector) ? 1 : 0;
    to->visit(&sample, to->user);
    sample.metric = &slow_path;
    sample.value = (double)atomic_load(&elector->slow_paths);
    to->visit(&sample, to->user);
}
