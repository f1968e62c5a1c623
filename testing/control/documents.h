/* documents.h: stores every object of a file: JSON or YAML, several documents, Lists. The caller holds the cluster. */
#ifndef KT_CONTROL_DOCUMENTS_H
#define KT_CONTROL_DOCUMENTS_H

#include "testing/cluster/cluster.h"

/* Stores the objects as kt_cluster_put_json does. `*ret_count` gets their number, also on failure; those stay.
 * Errors: KI_ERR_PARSE, KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_load_documents(kt_cluster *cluster, ki_str text, int64_t now_ms, size_t *ret_count, ki_error *err);

#endif
