/* namespace_lookup.h: asks the server whether a namespace exists. A GET, which a role in the namespace can allow,
 * unlike a list. Loop. */
#ifndef KI_CLIENT_NAMESPACE_LOOKUP_H
#define KI_CLIENT_NAMESPACE_LOOKUP_H

#include "src/client/document_request.h"
#include <kinformer/parts/list_watch.h>

typedef struct ki_namespace_lookup {
    ki_document_request request; /* to cancel, too */
    /* valid while a lookup is under way */
    ki_on_namespace_found on_found;
    void *user;
} ki_namespace_lookup;

void ki_namespace_lookup_init(ki_namespace_lookup *lookup, ki_engine *engine, ki_transport *transport);
/* Starts a lookup, unless one is under way. `on_found` is called once, never from inside this function, unless the
 * lookup is cancelled. `on_found` may start anything but must not free the lookup. KI_ERR_STATE: a Retry-After of the
 * server has not ended. */
ki_status ki_namespace_lookup_begin(ki_namespace_lookup *lookup, const char *namespace_name,
                                    ki_on_namespace_found on_found, void *user, ki_error *err);

#endif
