/* crd_sync.h: creates and removes the storages of custom resources as their definitions change. The caller holds the
 * cluster. */
#ifndef KT_CLUSTER_CRD_SYNC_H
#define KT_CLUSTER_CRD_SYNC_H

#include "testing/cluster/cluster.h"

/* Serves new and changed definitions and sets their conditions. Deletes all objects of removed definitions. Does
 * nothing if no definition changed. Called after every change. Errors: KI_ERR_NO_MEMORY; the caller calls it again. */
ki_status kt_crd_sync(kt_cluster *cluster, int64_t now_ms);

#endif
