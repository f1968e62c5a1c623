/* gc.h: the owner garbage collector, off by default, as a kube-apiserver alone has none. It does at once what the controller of a real cluster
 * does a moment later: deletes objects whose owners are gone, and carries out Foreground and Orphan deletions. Under the cluster's guard. */
#ifndef KT_CLUSTER_GC_H
#define KT_CLUSTER_GC_H

#include "testing/cluster/cluster.h"

/* Looks at every change since the last call and does what follows from it. Returns KI_OK at once where the collector is off.
 * Errors: KI_ERR_NO_MEMORY; call it again then. */
ki_status kt_gc_sync(kt_cluster *cluster, int64_t now_ms);

#endif
