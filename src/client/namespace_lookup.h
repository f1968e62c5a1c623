/* namespace_lookup.h: asks the server whether a namespace exists. A GET, which a role in the namespace can allow,
 * unlike a list. Loop. */
#ifndef KI_CLIENT_NAMESPACE_LOOKUP_H
#define KI_CLIENT_NAMESPACE_LOOKUP_H

#include "src/base/buffer.h"
#include "src/client/retry_after.h"
#include "src/transport/transport.h"
#include <kinformer/parts/list_watch.h>

typedef struct ki_namespace_lookup {
    /* constant */
    ki_engine *engine;
    ki_transport *transport;
    /* between lookups, too */
    ki_retry_after retry_after;
    /* valid while a lookup is under way */
    ki_exchange *exchange; /* NULL: nothing is under way */
    int status;
    ki_buffer body;
    ki_on_namespace_found on_found;
    void *user;
} ki_namespace_lookup;

void ki_namespace_lookup_init(ki_namespace_lookup *lookup, ki_engine *engine, ki_transport *transport);
/* Starts a lookup, unless one is under way. `on_found` is called once, never from inside this function, unless the
 * lookup is cancelled. `on_found` may start anything but must not free the lookup. KI_ERR_STATE: a Retry-After of the
 * server has not ended. */
ki_status ki_namespace_lookup_begin(ki_namespace_lookup *lookup, const char *namespace_name,
                                    ki_on_namespace_found on_found, void *user, ki_error *err);
void ki_namespace_lookup_cancel(ki_namespace_lookup *lookup); /* does nothing if no lookup is under way */

#endif
