/* adapter.h: serves a cluster through the in-memory transport (testing/memory/transport.h), without a network and in
 * the engine's time. For tests and the simulation. Loop only; changes of the cluster happen on the loop too. */
#ifndef KT_MEMORY_ADAPTER_H
#define KT_MEMORY_ADAPTER_H

#include "testing/cluster/cluster.h"
#include "testing/memory/transport.h"

typedef struct kt_memory_adapter kt_memory_adapter;

/* Borrows `cluster`. Unix time is `start_ms` now and advances with the engine's clock. */
ki_status kt_memory_adapter_new(ki_engine *engine, kt_cluster *cluster, int64_t start_ms,
                                kt_memory_adapter **ret_adapter, ki_error *err);
/* Called after the transport is freed and before the cluster is. NULL is allowed. */
void kt_memory_adapter_free(kt_memory_adapter *adapter);
/* Returns the server for kt_memory_transport_new. Ownership: borrowed. */
const kt_memory_server *kt_memory_adapter_server(const kt_memory_adapter *adapter);
/* Holds back what the watches whose path and parameters contain `text` have to send, until the next call; NULL: nothing
 * is held back. `text` is borrowed. */
void kt_memory_adapter_hold(kt_memory_adapter *adapter, const char *text);
/* Returns Unix time in milliseconds, for calls of the cluster. */
int64_t kt_memory_adapter_now_ms(const kt_memory_adapter *adapter);

#endif
