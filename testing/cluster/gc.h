/* gc.h: the owner garbage collector. Off by default: a kube-apiserver alone has none. Deletes objects whose owners
 * are gone, and performs Foreground and Orphan deletions. A real cluster's controller does so later; this one does
 * it at once. The caller holds the cluster. */
#ifndef KT_CLUSTER_GC_H
#define KT_CLUSTER_GC_H

#include "testing/cluster/cluster.h"

/* Processes every change since the last call. Returns KI_OK at once if the collector is off. Errors:
 * KI_ERR_NO_MEMORY; the caller calls it again. */
ki_status kt_gc_sync(kt_cluster *cluster, int64_t now_ms);

#endif
