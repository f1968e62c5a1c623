/* memory.h: a transport without a network, to a server in the same process, in the engine's time. For tests and for the
 * simulation, which injects delays and faults in its `serve`. */
#ifndef KI_TRANSPORT_MEMORY_H
#define KI_TRANSPORT_MEMORY_H

#include "src/transport/transport.h"

/* The server's side of one exchange. It ends once: by ki_memory_call_end or by `abandoned`. A client that cancels
 * inside a callback also causes `abandoned`. */
typedef struct ki_memory_call ki_memory_call;

typedef struct ki_memory_server {
    /* Called when a request has arrived. The server responds now or later, on the loop, with the functions below.
     * `request` is valid during this call only. */
    void (*serve)(ki_memory_call *call, const ki_request *request, void *user);
    /* Called when the client has cancelled or a timeout has passed. `call` must not be used afterwards. */
    void (*abandoned)(ki_memory_call *call, void *user);
    void *user;
} ki_memory_server;

ki_status ki_memory_transport_new(ki_engine *engine, const ki_memory_server *server, ki_transport **ret_transport,
                                  ki_error *err);

/* Call the client's sink. Return false if the client has cancelled in the callback. */
bool ki_memory_call_head(ki_memory_call *call, const ki_response_head *head);
bool ki_memory_call_data(ki_memory_call *call, const char *data, size_t size);
void ki_memory_call_end(ki_memory_call *call, const ki_error *err); /* NULL: a complete response; frees `call` */
/* The server's own state. */
void ki_memory_call_set_user(ki_memory_call *call, void *user);
void *ki_memory_call_user(const ki_memory_call *call);

#endif
