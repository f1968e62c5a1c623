/* factory.h: a factory on a transport of the caller's. A program uses <kinformer/factory.h>. */
#ifndef KI_FACTORY_FACTORY_H
#define KI_FACTORY_FACTORY_H

#include <kinformer/factory.h>

#include "src/transport/transport.h"

/* Works as ki_factory_new, with a borrowed transport in place of libcurl and a config. For tests. */
ki_status ki_factory_new_on(ki_transport *transport, const ki_factory_options *options, ki_factory **ret_factory,
                            ki_error *err);

#endif
