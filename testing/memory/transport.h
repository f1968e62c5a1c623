/* transport.h: a transport without a network, to a server in the same process, in the engine's time. For tests and for the
 * simulation, which injects delays and faults in its `serve`. */
#ifndef KT_MEMORY_TRANSPORT_H
#define KT_MEMORY_TRANSPORT_H

#include "src/transport/transport.h"

/* The server's side of one exchange. It ends once: by kt_memory_call_end or by `abandoned`. A client that cancels
 * inside a callback also causes `abandoned`. */
typedef struct kt_memory_call kt_memory_call;

typedef struct kt_memory_server {
    /* Called when a request has arrived. The server responds now or later, on the loop, with the functions below.
     * `request` is valid during this call only. */
    void (*serve)(kt_memory_call *call, const ki_request *request, void *user);
    /* Called when the client has cancelled or a timeout has passed. `call` must not be used afterwards. */
    void (*abandoned)(kt_memory_call *call, void *user);
    void *user;
} kt_memory_server;

ki_status kt_memory_transport_new(ki_engine *engine, const kt_memory_server *server, ki_transport **ret_transport,
                                  ki_error *err);

/* Call the client's sink. Return false if the client has cancelled in the callback. */
bool kt_memory_call_head(kt_memory_call *call, const ki_response_head *head);
bool kt_memory_call_data(kt_memory_call *call, const char *data, size_t size);
void kt_memory_call_end(kt_memory_call *call, const ki_error *err); /* NULL: a complete response; frees `call` */
/* The server's own state. */
void kt_memory_call_set_user(kt_memory_call *call, void *user);
void *kt_memory_call_user(const kt_memory_call *call);

#endif
