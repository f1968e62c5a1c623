/* factory.h: a factory on a transport of the caller's. A program uses <kinformer/factory.h>. */
#ifndef KI_FACTORY_FACTORY_H
#define KI_FACTORY_FACTORY_H

#include <kinformer/factory.h>

#include "src/transport/transport.h"

/* Works as ki_factory_new, on libcurl by `config`, or on a borrowed `transport`; the other one is NULL. */
ki_status ki_factory_new_on(const ki_config *config, ki_transport *transport, const ki_factory_options *options,
                            ki_factory **ret_factory, ki_error *err);

#endif
