/* load.h: workloads that change a cluster: the pods of all kinds of owners are created, scheduled, made ready, updated
 * and replaced on nodes, with all that belongs to them, from a seed. Time is an argument. One thread at a time, the
 * cluster's. */
#ifndef KT_LOAD_LOAD_H
#define KT_LOAD_LOAD_H

#include "testing/cluster/cluster.h"

typedef struct kt_load kt_load;

typedef struct kt_load_options {
    size_t pods;  /* approximate number of pods */
    size_t nodes; /* 0: one for each 30 pods */
    uint64_t seed;
    bool managed_fields; /* objects have managedFields */
    const char *stamp;   /* an annotation with the time of a pod's last change; NULL: none */
} kt_load_options;

/* Creates the initial objects in `cluster` (borrowed). Errors: KI_ERR_LIMIT, KI_ERR_NO_MEMORY, those of the cluster. */
ki_status kt_load_new(const ki_allocator *allocator, kt_cluster *cluster, const kt_load_options *options,
                      int64_t now_ms, kt_load **ret_load, ki_error *err);
void kt_load_free(kt_load *load);
/* Changes one object. `stamp_ns` is the value of the stamp. Errors: KI_ERR_NO_MEMORY; the next call continues. */
ki_status kt_load_change(kt_load *load, int64_t now_ms, int64_t stamp_ns, ki_error *err);

/* Brings all EndpointSlices up to date with their pods. */
ki_status kt_load_settle(kt_load *load, int64_t now_ms, ki_error *err);

#endif
