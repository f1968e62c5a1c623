/* connection.h: the connection flags as a config of the library. */
#ifndef CLI_CONNECTION_H
#define CLI_CONNECTION_H

#include "cli.h"

#include <kinformer/kinformer.h>

/* Did the person say where to connect? Else a pod's own cluster comes first. */
bool connection_is_told(const options *o);
/* From flags, kubeconfig or pod. `allocator` may be NULL. The config is the caller's. */
ki_status connection_config(const options *o, const ki_allocator *allocator, ki_config **ret_config, ki_error *err);

#endif
