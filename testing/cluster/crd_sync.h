/* crd_sync.h: keeps the storages of custom resources in step with their definitions. Under the cluster's guard. */
#ifndef KT_CLUSTER_CRD_SYNC_H
#define KT_CLUSTER_CRD_SYNC_H

#include "testing/cluster/cluster.h"

/* Brings the storages up to date with the definitions: new ones are served and get their conditions, of those that went every object is deleted.
 * Called after whatever may have changed a definition; nothing where none did. Errors: KI_ERR_NO_MEMORY; call it again then. */
ki_status kt_crd_sync(kt_cluster *cluster, int64_t now_ms);

#endif
