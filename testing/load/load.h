/* load.h: a cluster's everyday life: workloads with pods on nodes in several namespaces, that are created, scheduled, made ready,
 * updated and replaced, all from a seed. Time is an argument. One thread at a time, that of the cluster. */
#ifndef KT_LOAD_LOAD_H
#define KT_LOAD_LOAD_H

#include "testing/cluster/cluster.h"

typedef struct kt_load kt_load;

typedef struct kt_load_options {
    size_t pods;  /* about so many at all times */
    size_t nodes; /* 0: one for each 30 pods */
    uint64_t seed;
    bool managed_fields; /* objects carry them */
    const char *stamp;   /* an annotation in which each changed pod carries when it was changed; NULL: none */
} kt_load_options;

/* Puts the initial objects into `cluster` (borrowed). Errors: KI_ERR_LIMIT, KI_ERR_NO_MEMORY, the cluster's. */
ki_status kt_load_new(const ki_allocator *allocator, kt_cluster *cluster, const kt_load_options *options,
                      int64_t now_ms, kt_load **ret_load, ki_error *err);
void kt_load_free(kt_load *load);
/* One change of one object. `stamp_ns` is what the stamp says. Errors: KI_ERR_NO_MEMORY; the load goes on afterwards. */
ki_status kt_load_change(kt_load *load, int64_t now_ms, int64_t stamp_ns, ki_error *err);

#endif
