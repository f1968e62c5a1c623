/* outgoing.h: a program's request, checked and written as method, target and body. No state; any thread. */
#ifndef KI_CLIENT_OUTGOING_H
#define KI_CLIENT_OUTGOING_H

#include <kinformer/client.h>

#include "src/base/buffer.h"

enum {
    KI_OUTGOING_WHAT_MAX = 384
};

typedef struct ki_outgoing {
    char method[16];
    ki_buffer target;
    ki_buffer body; /* data NULL: none */
    char *content_type;
    char *accept;
    char *kind; /* the object kind of a list; NULL: no list */
    char *api_version;
    int64_t timeout_ns;              /* 0: none */
    char what[KI_OUTGOING_WHAT_MAX]; /* "get pods default/web-1"; begins every message */
} ki_outgoing;

/* Checks and writes a request. The caller has checked the size of `options`. On failure there is nothing to free.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_outgoing_make(const ki_allocator *allocator, const ki_client_request *request,
                           const ki_request_options *options, ki_outgoing *ret_outgoing, ki_error *err);
/* Writes what a request is about, such as "get pods default/web-1": the beginning of messages. The resource is
 * complete. */
void ki_outgoing_describe(const ki_client_request *request, const ki_request_options *options, char *what);
void ki_outgoing_free(const ki_allocator *allocator, ki_outgoing *outgoing);

#endif
