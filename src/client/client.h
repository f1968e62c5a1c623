/* client.h: the inside of a client: what its calls share. client.c makes and ends it, call.c sends. */
#ifndef KI_CLIENT_CLIENT_H
#define KI_CLIENT_CLIENT_H

#include <kinformer/client.h>

#include "src/client/throttle.h"
#include "src/engine/thread.h"
#include "src/object/format.h"
#include "src/transport/transport.h"

struct ki_client {
    /* constant after new */
    ki_engine *engine;
    const ki_allocator *allocator;
    bool owns_engine;
    bool may_drive; /* waiting calls drive the engine where nobody does: it is the client's, or its factory's */
    ki_transport *transport;
    bool owns_transport;
    ki_throttle *throttle; /* NULL: no limit */
    ki_throttle *own_throttle;
    bool is_factorys; /* freed with it only */
    size_t response_max;
    ki_object_format *format;
    /* under `mutex` */
    ki_mutex mutex;
    ki_pending_request *first; /* not ended */
    bool is_closed;            /* nothing can be sent any more */
    /* loop only */
    ki_end_hook end_hook;
};

/* A client on what somebody else owns: a factory's. */
typedef struct ki_client_parts {
    ki_engine *engine;
    bool may_drive;
    ki_transport *transport;
    ki_throttle *throttle; /* NULL: none */
} ki_client_parts;
ki_status ki_client_new_of(const ki_client_parts *parts, ki_client **ret_client, ki_error *err);
void ki_client_free_of(ki_client *client);

/* The limit's numbers: the options', else the configuration's, else the defaults; per_second < 0: none. */
void ki_client_limit_of(const ki_config *config, int per_second, int burst, int *ret_per_second, int *ret_burst);

/* Ends every call with KI_ERR_CANCELLED. Loop only. */
void ki_client_cancel_all(ki_client *client);

/* ki_client_send; `unlimited`: without a place in the client's limit, for requests that belong together by the dozen. `response_max`: bytes of
 * the answer, where that is less than the client's; 0: no less. */
ki_status ki_pending_request_start(ki_client *client, const ki_client_request *given, bool unlimited,
                                   size_t response_max, ki_response_handler on_response, void *user,
                                   ki_pending_request **ret_request, ki_error *err);
/* Loop only: ends it now with KI_ERR_CANCELLED. */
void ki_pending_request_end_cancelled(ki_pending_request *call);

#endif
