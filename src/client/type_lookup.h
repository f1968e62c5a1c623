/* type_lookup.h: does the server have a resource? Asks its discovery, since a kube-apiserver answers with a bare "404 page not found" where a
 * definition was deleted, and so does a proxy that knows nothing of the path. Only an answer that names what there is tells the two apart.
 * Loop only. */
#ifndef KI_CLIENT_TYPE_LOOKUP_H
#define KI_CLIENT_TYPE_LOOKUP_H

#include <kinformer/resource.h>

#include "src/base/buffer.h"
#include "src/cache/list_watch.h"
#include "src/transport/transport.h"

typedef struct ki_type_lookup {
    /* constant */
    const ki_allocator *allocator;
    ki_transport *transport;
    const ki_resource *resource; /* borrowed */
    /* while it is under way */
    ki_exchange *exchange; /* NULL: nothing is under way */
    bool asks_for_groups;  /* the second request */
    int status;
    int64_t retry_after_ms;
    ki_buffer body;
    ki_on_type_found on_found;
    void *user;
} ki_type_lookup;

void ki_type_lookup_init(ki_type_lookup *lookup, const ki_allocator *allocator, ki_transport *transport,
                         const ki_resource *resource);
/* Asks. `on_found` is called once, not from inside, unless it is cancelled; it may begin anything but free the lookup. */
ki_status ki_type_lookup_begin(ki_type_lookup *lookup, ki_on_type_found on_found, void *user, ki_error *err);
void ki_type_lookup_cancel(ki_type_lookup *lookup); /* nothing where none is under way */

#endif
