/* memory.h: the transport without a network: a server in the same process answers, in the engine's own time.
 * For tests and for the simulation, which puts delays, cuts and stuck connections in between through its `serve`. */
#ifndef KI_TRANSPORT_MEMORY_H
#define KI_TRANSPORT_MEMORY_H

#include "src/transport/transport.h"

/* The server's side of one exchange. It is over in exactly one way: ki_memory_call_end, or `abandoned` (which also comes where
 * the client cancels inside one of the callbacks that a function below calls). */
typedef struct ki_memory_call ki_memory_call;

typedef struct ki_memory_server {
    /* A request has arrived. The server keeps `call` and answers now or later, on the loop, by the functions below, until end or
     * abandoned. The request is valid during the call only. */
    void (*serve)(ki_memory_call *call, const ki_request *request, void *user);
    /* The client has cancelled, or its timeout has passed: `call` must not be used any more. */
    void (*abandoned)(ki_memory_call *call, void *user);
    void *user;
} ki_memory_server;

ki_status ki_memory_transport_new(ki_engine *engine, const ki_memory_server *server, ki_transport **ret_transport,
                                  ki_error *err);

/* What the client's sink gets, at once and in this order. After a callback the client may have cancelled: false then. */
bool ki_memory_call_head(ki_memory_call *call, const ki_response_head *head);
bool ki_memory_call_data(ki_memory_call *call, const char *data, size_t size);
void ki_memory_call_end(ki_memory_call *call, const ki_error *err); /* NULL: a clean end; `call` is gone afterwards */
/* A place for the server's own state. */
void ki_memory_call_set_user(ki_memory_call *call, void *user);
void *ki_memory_call_user(const ki_memory_call *call);

#endif
