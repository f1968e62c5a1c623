/* name_lookup.h: finds the resource of a name such as "widgets.example.com" in the server's discovery: its version (the
 * preferred one, else the first that has it), kind and scope. Loop only. */
#ifndef KI_CLIENT_NAME_LOOKUP_H
#define KI_CLIENT_NAME_LOOKUP_H

#include <kinformer/resource.h>

#include "src/client/document_request.h"

enum {
    KI_NAME_VERSIONS_MAX = 16,    /* versions of one group; further ones are not asked for */
    KI_NAME_VERSION_SIZE = 63 + 1 /* bytes of a version with the closing zero; others are skipped */
};

/* `found` is valid during the call; NULL: not found, and `err` says why, with HTTP status 404 if the server does not
 * have the resource. */
typedef void (*ki_on_name_found)(const ki_resource *found, const ki_error *err, void *user);

typedef struct ki_name_lookup {
    /* constant; borrowed */
    const char *group, *plural;
    /* valid while a lookup is under way */
    ki_document_request request;                               /* to cancel, too */
    char versions[KI_NAME_VERSIONS_MAX][KI_NAME_VERSION_SIZE]; /* those to ask for, the preferred one first */
    size_t count, next;
    ki_on_name_found on_found;
    void *user;
} ki_name_lookup;

void ki_name_lookup_init(ki_name_lookup *lookup, ki_engine *engine, ki_transport *transport, const char *group,
                         const char *plural);
/* Starts a lookup. `on_found` is called once, never from inside this function, unless the lookup is cancelled. It may
 * start anything but must not free the lookup. */
ki_status ki_name_lookup_begin(ki_name_lookup *lookup, ki_on_name_found on_found, void *user, ki_error *err);

#endif
