/* connection.h: the library's config made from the connection flags. */
#ifndef CLI_SESSION_CONNECTION_H
#define CLI_SESSION_CONNECTION_H

#include "cli/cli.h"

#include <kinformer/kinformer.h>

/* Makes a config from flags, kubeconfig or pod. `allocator` may be NULL. The caller frees the config. */
ki_status connection_config(const options *o, const ki_allocator *allocator, ki_config **ret_config, ki_error *err);

#endif
