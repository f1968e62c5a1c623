/* type_lookup.h: finds out from discovery whether the server has a resource. A 404 alone is ambiguous: a
 * kube-apiserver sends a bare "404 page not found" for a deleted CRD, and so does a proxy that does not know the path.
 * A discovery document distinguishes the two. Loop only. */
#ifndef KI_CLIENT_TYPE_LOOKUP_H
#define KI_CLIENT_TYPE_LOOKUP_H

#include <kinformer/resource.h>

#include "src/client/document_request.h"
#include <kinformer/parts/list_watch.h>

typedef struct ki_type_lookup {
    const ki_resource *resource; /* constant; borrowed */
    ki_document_request request; /* to cancel, too */
    bool is_group_request;       /* the second request (GET /apis) is under way */
    ki_on_type_found on_found;
    void *user;
} ki_type_lookup;

void ki_type_lookup_init(ki_type_lookup *lookup, ki_engine *engine, ki_transport *transport,
                         const ki_resource *resource);
/* Starts a lookup. `on_found` is called once, never from inside this function, unless the lookup is cancelled.
 * `on_found` may start anything but must not free the lookup. */
ki_status ki_type_lookup_begin(ki_type_lookup *lookup, ki_on_type_found on_found, void *user, ki_error *err);

#endif
