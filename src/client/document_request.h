/* document_request.h: requests one document, of discovery or an object, and reads it when all of it has arrived. Loop
 * only. */
#ifndef KI_CLIENT_DOCUMENT_REQUEST_H
#define KI_CLIENT_DOCUMENT_REQUEST_H

#include "src/base/buffer.h"
#include "src/client/retry_after.h"
#include "src/object/json.h"
#include "src/transport/transport.h"

enum {
    KI_DOCUMENT_MAX = 4 * 1024 * 1024, /* bytes of a document */
    KI_DOCUMENT_OK = 200,
    KI_DOCUMENT_NOT_FOUND = 404
};

/* Receives the response. `root` is valid during the call; NULL unless it is JSON with HTTP status 200. `err`: no
 * response, or an error response; else NULL. May start anything but must not free the request. */
typedef void (*ki_on_document)(yyjson_val *root, const ki_error *err, void *user);

typedef struct ki_document_request {
    /* constant */
    const ki_allocator *allocator;
    ki_transport *transport;
    /* between requests, too */
    ki_retry_after retry_after;
    /* valid while a request is under way */
    ki_exchange *exchange; /* NULL: nothing is under way */
    int status;
    int64_t retry_after_ms;
    ki_buffer body;
    ki_on_document on_document;
    void *user;
} ki_document_request;

/* Returns the object of `array` (of any type) whose member `member` is `name`; NULL: there is none. */
yyjson_val *ki_document_find(yyjson_val *array, const char *member, const char *name);

void ki_document_request_init(ki_document_request *request, ki_engine *engine, ki_transport *transport);
/* Sends a request for the path `target`, with names that need no escapes. `on_document` is called once, never from
 * inside this function, unless the request is cancelled. KI_ERR_STATE: a Retry-After of the server has not ended. */
ki_status ki_document_request_send(ki_document_request *request, ki_on_document on_document, void *user, ki_error *err,
                                   const char *target, ...) KI_PRINTF(5, 6);
void ki_document_request_cancel(ki_document_request *request); /* does nothing if nothing is under way */

#endif
