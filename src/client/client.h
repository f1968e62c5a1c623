/* client.h: a client's members, shared by client.c (new, free, waiting requests), pending_request.c (sending) and
 * discovery.c. */
#ifndef KI_CLIENT_CLIENT_H
#define KI_CLIENT_CLIENT_H

#include <kinformer/client.h>

#include "src/base/internal_api.h"
#include "src/client/in_flight.h"
#include "src/client/throttle.h"
#include "src/engine/thread.h"
#include "src/object/format.h"
#include "src/transport/transport.h"

struct ki_client {
    /* constant after new */
    ki_engine *engine;
    const ki_allocator *allocator;
    bool owns_engine;
    /* a waiting function runs the loop if no thread does; true if the client or its factory made the engine */
    bool may_drive;
    ki_transport *transport;
    bool owns_transport;
    int per_second, burst; /* rate limit; per_second < 0: none */
    ki_throttle *throttle; /* `own_throttle`, which is the loop's; NULL: no limit */
    ki_throttle own_throttle;
    bool is_factorys; /* owned by a factory: ki_client_free ignores the client */
    size_t response_max;
    ki_object_format *format;
    /* under `mutex` */
    ki_mutex mutex;
    ki_pending_request *first; /* requests that have not ended */
    bool is_closed;            /* new requests fail with KI_ERR_STATE */
    /* loop only */
    ki_in_flight in_flight;
    ki_end_hook end_hook;
};

typedef struct ki_client_parts {
    ki_engine *engine;
    bool may_drive;
    ki_transport *transport;
    /* see ki_client_options; the numbers can also be the configuration's (NULL: none) */
    const ki_config *config;
    int requests_per_second, request_burst, requests_in_flight;
} ki_client_parts;
/* Returns the program's engine, or makes one. Errors: those of ki_engine_new, KI_ERR_STATE (another process's). */
ki_status ki_client_take_engine(ki_engine *given, const ki_allocator *allocator, const ki_log *log,
                                ki_engine **ret_engine, ki_error *err);
/* Makes a client of borrowed parts; ki_client_free_of frees it. Errors: KI_ERR_NO_MEMORY, those of ki_mutex_init. */
ki_status ki_client_new_of(const ki_client_parts *parts, ki_client **ret_client, ki_error *err);
/* Works as ki_client_new, on libcurl by `config`, or on a borrowed `transport`; the other one is NULL. */
ki_status ki_client_new_on(const ki_config *config, ki_transport *transport, const ki_client_options *options,
                           ki_client **ret_client, ki_error *err);
/* Cancels the client's requests and frees the client with everything that it owns. NULL: does nothing. */
void ki_client_free_of(ki_client *client);

/* Computes the client's rate limit: the options' numbers, else the configuration's. *ret_per_second < 0: no limit, the
 * default. */
void ki_client_limit_of(const ki_config *config, int per_second, int burst, int *ret_per_second, int *ret_burst);

/* Ends every request of a client, `user`, with KI_ERR_CANCELLED. Loop only. */
void ki_client_cancel_all(void *user);

typedef enum ki_request_kind {
    KI_REQUEST_OF_PROGRAM,
    KI_REQUEST_INTERNAL, /* passes rate limit and bound by, and belongs to no term: discovery, Leases */
    KI_REQUEST_ONCE      /* is not retried, and its failures do not say of which request: its sender does both */
} ki_request_kind;
/* Works as ki_client_send. `response_max`: the limit of the response in bytes if it is lower than the client's; 0: the
 * client's. */
KI_INTERNAL_API ki_status ki_pending_request_start(ki_client *client, const ki_client_request *given,
                                                   ki_request_kind kind, size_t response_max,
                                                   ki_response_handler on_response, void *user,
                                                   ki_pending_request **ret_request, ki_error *err);
/* Ends the request now with KI_ERR_CANCELLED. Loop only. */
KI_INTERNAL_API void ki_pending_request_end_cancelled(ki_pending_request *pending);

#endif
