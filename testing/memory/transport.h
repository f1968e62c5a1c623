/* transport.h: the transport without a network: a server in the same process answers, in the engine's own time.
 * For tests and for the simulation, which puts delays, cuts and stuck connections in between through its `serve`. */
#ifndef KT_MEMORY_TRANSPORT_H
#define KT_MEMORY_TRANSPORT_H

#include "src/transport/transport.h"

/* The server's side of one exchange. It is over in exactly one way: kt_memory_call_end, or `abandoned` (which also comes where
 * the client cancels inside one of the callbacks that a function below calls). */
typedef struct kt_memory_call kt_memory_call;

typedef struct kt_memory_server {
    /* A request has arrived. The server keeps `call` and answers now or later, on the loop, by the functions below, until end or
     * abandoned. The request is valid during the call only. */
    void (*serve)(kt_memory_call *call, const ki_request *request, void *user);
    /* The client has cancelled, or its timeout has passed: `call` must not be used any more. */
    void (*abandoned)(kt_memory_call *call, void *user);
    void *user;
} kt_memory_server;

ki_status kt_memory_transport_new(ki_engine *engine, const kt_memory_server *server, ki_transport **ret_transport,
                                  ki_error *err);

/* What the client's sink gets, at once and in this order. After a callback the client may have cancelled: false then. */
bool kt_memory_call_head(kt_memory_call *call, const ki_response_head *head);
bool kt_memory_call_data(kt_memory_call *call, const char *data, size_t size);
void kt_memory_call_end(kt_memory_call *call, const ki_error *err); /* NULL: a clean end; `call` is gone afterwards */
/* A place for the server's own state. */
void kt_memory_call_set_user(kt_memory_call *call, void *user);
void *kt_memory_call_user(const kt_memory_call *call);

#endif
