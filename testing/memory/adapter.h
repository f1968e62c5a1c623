/* adapter.h: a cluster behind the transport within the process (testing/memory/transport.h): the API server without a network, in
 * the engine's own time. For tests and for the simulation. Loop only; whoever changes the cluster does so on the loop as well. */
#ifndef KT_MEMORY_ADAPTER_H
#define KT_MEMORY_ADAPTER_H

#include "testing/cluster/cluster.h"
#include "testing/memory/transport.h"

typedef struct kt_memory_adapter kt_memory_adapter;

/* `cluster` is borrowed. Unix time is `start_ms` now and goes on with the engine's clock. */
ki_status kt_memory_adapter_new(ki_engine *engine, kt_cluster *cluster, int64_t start_ms,
                                kt_memory_adapter **ret_adapter, ki_error *err);
/* After the transport is freed, before the cluster is. NULL is accepted. */
void kt_memory_adapter_free(kt_memory_adapter *adapter);
/* For kt_memory_transport_new. Borrowed. */
const kt_memory_server *kt_memory_adapter_server(const kt_memory_adapter *adapter);
/* Unix time in milliseconds, for calls of the cluster. */
int64_t kt_memory_adapter_now_ms(const kt_memory_adapter *adapter);

#endif
