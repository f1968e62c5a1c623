/* transport.h: a transport without a network: a server callback in the same process responds, in the engine's time.
 * For tests and the simulation, whose `serve` functions inject delays, cuts and stuck connections. */
#ifndef KT_MEMORY_TRANSPORT_H
#define KT_MEMORY_TRANSPORT_H

#include "src/transport/transport.h"

/* The server's side of one exchange. It ends in exactly one way: by kt_memory_call_end, or by `abandoned` (also if
 * the client cancels inside a callback that one of the functions below calls). */
typedef struct kt_memory_call kt_memory_call;

typedef struct kt_memory_server {
    /* Called for a request. The server keeps `call` and responds now or later, on the loop, with the functions
     * below, until the call ends. `request` is valid during this function only. */
    void (*serve)(kt_memory_call *call, const ki_request *request, void *user);
    /* The client has cancelled or timed out. The server must not use `call` any more. */
    void (*abandoned)(kt_memory_call *call, void *user);
    void *user;
} kt_memory_server;

ki_status kt_memory_transport_new(ki_engine *engine, const kt_memory_server *server, ki_transport **ret_transport,
                                  ki_error *err);

/* Calls `sent` inside each successful send, with the server's `user`; `serve` is called later, in a task. `sent` only
 * looks: it must not send, cancel or free. */
void kt_memory_transport_on_send(ki_transport *transport, void (*sent)(const ki_request *request, void *user));

/* Pass the response's head and data to the client. Return false if the client cancelled meanwhile. */
bool kt_memory_call_head(kt_memory_call *call, const ki_response_head *head);
bool kt_memory_call_data(kt_memory_call *call, const char *data, size_t size);
/* As kt_memory_call_data, for bytes that arrived earlier. kt_memory_call_read must follow, unless the client pauses. */
bool kt_memory_call_late_data(kt_memory_call *call, const char *data, size_t size);
/* Tells the client that it has everything that had arrived by the time `until`. Returns as above. */
bool kt_memory_call_read(kt_memory_call *call, int64_t until);
void kt_memory_call_end(kt_memory_call *call, const ki_error *err); /* ends the call; `err` NULL: a clean end */
/* The server's own data for the call. */
void kt_memory_call_set_user(kt_memory_call *call, void *user);
void *kt_memory_call_user(const kt_memory_call *call);

#endif
