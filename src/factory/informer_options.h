/* informer_options.h: reads the options of a request for an informer. Any thread. */
#ifndef KI_FACTORY_INFORMER_OPTIONS_H
#define KI_FACTORY_INFORMER_OPTIONS_H

#include <kinformer/informer.h>

/* What informers have that name nothing else, and who may change it. */
typedef struct ki_informer_defaults {
    char *namespace_name; /* NULL: all */
    int64_t resync_ms;
    int64_t backoff_first_ms, backoff_longest_ms;
    void (*tweak)(const ki_resource *resource, ki_informer_options *options, void *user); /* NULL: none */
    void *user;
} ki_informer_defaults;

/* Copies a program's options (NULL: none), adds the factory's where they name none, and calls `tweak` for `resource`.
 * The texts stay the program's. Errors: KI_ERR_INVALID, KI_ERR_LIMIT (too many namespaces). */
ki_status ki_informer_options_complete(const ki_informer_options *options, const ki_informer_defaults *defaults,
                                       const ki_resource *resource, ki_informer_options *ret_given, ki_error *err);
/* Checks a factory's or an informer's options of backoff; `struct_name` is for the message. Errors: KI_ERR_INVALID. */
ki_status ki_backoff_check(int64_t first_ms, int64_t longest_ms, const char *struct_name, ki_error *err);

#endif
