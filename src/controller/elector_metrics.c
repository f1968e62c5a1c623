/* elector_metrics.c: an elector's metrics, under client-go's names. */
#include "src/controller/elector_parts.h"

#include "src/base/openmetrics.h"
#include "src/cache/callback.h"

enum {
    MASTER_STATUS,
    SLOW_PATH,
    METRICS
};

static const ki_metric metrics[METRICS] = {
    [MASTER_STATUS] = { "leader_election_master_status", "1 if this process leads, else 0", KI_METRIC_GAUGE, NULL },
    [SLOW_PATH] = { "leader_election_slowpath", "Renewals that had to read the Lease, because the Lease had changed",
                    KI_METRIC_COUNTER, NULL },
};

static const ki_metric_table table = { metrics, METRICS };

static const ki_elector *elector_of(const ki_metric_source *source) {
    return (const ki_elector *)(const void *)((const char *)source - offsetof(ki_elector, metrics));
}

static double value_of(const ki_elector *elector, size_t index) {
    if (index == MASTER_STATUS)
        return ki_elector_is_leader(elector) ? 1 : 0;
    return (double)atomic_load(&elector->slow_paths);
}

static ki_status write_metric(const ki_metric_source *source, size_t index, ki_buffer *out) {
    const ki_elector *elector = elector_of(source);
    const ki_label label = { "name", elector->name };
    ki_openmetrics_sample(out, &metrics[index], index == SLOW_PATH ? "_total" : "", &label, 1,
                          value_of(elector, index));
    return out->failed;
}

static void set_gauges(const ki_metric_source *source) {
    const ki_elector *elector = elector_of(source);
    const ki_metrics *library = ki_factory_metrics(elector->factory);
    const ki_label label = { "name", elector->name };
    if (library && library->gauge_set)
        library->gauge_set(&metrics[MASTER_STATUS], &label, 1, value_of(elector, MASTER_STATUS), library->user);
}

void ki_elector_init_metrics(ki_elector *elector) {
    elector->metrics = (ki_metric_source){ .table = &table, .write = write_metric, .set_gauges = set_gauges };
}

void ki_elector_count_slow_path(ki_elector *elector) {
    ki_callback callback;
    const ki_metrics *library = ki_factory_metrics(elector->factory);
    const ki_label label = { "name", elector->name };
    atomic_fetch_add(&elector->slow_paths, 1);
    if (!library || !library->counter_add)
        return;
    ki_callback_enter(&callback, elector->factory);
    library->counter_add(&metrics[SLOW_PATH], &label, 1, 1, library->user);
    ki_callback_leave(&callback);
}
