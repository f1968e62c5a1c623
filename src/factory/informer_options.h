/* informer_options.h: reads the options of a factory, and of a request for an informer. Any thread. */
#ifndef KI_FACTORY_INFORMER_OPTIONS_H
#define KI_FACTORY_INFORMER_OPTIONS_H

#include <kinformer/factory.h>

/* Copies a program's options (NULL: none), and adds what the environment says. The texts stay the program's.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT (the name). */
ki_status ki_factory_options_complete(const ki_factory_options *options, ki_factory_options *ret_given, ki_error *err);
/* Copies a program's options (NULL: none), adds the factory's where they name none, and calls `tweak` for `resource`.
 * The texts stay the program's. Errors: KI_ERR_INVALID. */
ki_status ki_informer_options_complete(const ki_informer_options *options, const ki_factory_options *factory,
                                       const ki_resource *resource, ki_informer_options *ret_given, ki_error *err);

#endif
