/* elector_metrics.c: an elector's metrics, under client-go's names. */
#include "src/controller/elector_parts.h"

static const ki_metric master_status = { .name = "leader_election_master_status",
                                         .help = "1 if this process leads, else 0",
                                         .type = KI_METRIC_GAUGE };
static const ki_metric slow_path = { .name = "leader_election_slowpath",
                                     .help = "Renewals that had to read the Lease, because the Lease had changed",
                                     .type = KI_METRIC_COUNTER };

void ki_elector_visit_metrics(const ki_component *component, const ki_metrics_visit *to) {
    const ki_elector *elector =
        (const ki_elector *)(const void *)((const char *)component - offsetof(ki_elector, component));
    const ki_label label = { "name", elector->name };
    ki_metrics_pass(to, &master_status, &label, 1, ki_elector_is_leader(elector) ? 1 : 0);
    ki_metrics_pass(to, &slow_path, &label, 1, (double)atomic_load(&elector->slow_paths));
}
