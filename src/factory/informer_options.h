/* informer_options.h: reads the options of a request for an informer. Any thread. */
#ifndef KI_FACTORY_INFORMER_OPTIONS_H
#define KI_FACTORY_INFORMER_OPTIONS_H

#include <kinformer/informer.h>

/* Copies a program's options (NULL: none), and adds the factory's namespace (NULL: all) and resync period where they
 * name none. The texts stay the program's. Errors: KI_ERR_INVALID, KI_ERR_LIMIT (too many namespaces). */
ki_status ki_informer_options_complete(const ki_informer_options *options, const char *namespace_name,
                                       int64_t resync_ms, ki_informer_options *ret_given, ki_error *err);

#endif
