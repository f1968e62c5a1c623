/* transport.h: the interface that sends requests and receives responses. Implementations: curl.c (libcurl) and
 * testing/memory/transport.c (same process); the simulation has one more. Loop only. src/client makes
 * a transport of libcurl if it is given none, and knows nothing else of it. */
#ifndef KI_TRANSPORT_TRANSPORT_H
#define KI_TRANSPORT_TRANSPORT_H

#include <kinformer/error.h>

#include "src/base/string_view.h"
#include "src/engine/engine.h"

typedef struct ki_transport ki_transport;
typedef struct ki_meter ki_meter;       /* metered.h */
typedef struct ki_exchange ki_exchange; /* one request and its response */

/* Borrowed during send; the transport copies what it needs. */
typedef struct ki_request {
    const char *method;       /* "GET" */
    const char *target;       /* path and query, percent-encoded: "/api/v1/pods?watch=true" */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* with a body */
    ki_str body;
    bool endless;             /* a watch: can be ended and sent again without loss */
    int64_t idle_timeout_ns;  /* ends with KI_ERR_TIMEOUT after this long without a byte; 0: never */
    int64_t total_timeout_ns; /* ends with KI_ERR_TIMEOUT after this long; 0: never */
} ki_request;

typedef struct ki_response_head {
    int status;               /* HTTP status */
    int64_t retry_after_ms;   /* from Retry-After (seconds or a date), or -1 */
    const char *content_type; /* "" if absent; valid during the call */
} ki_response_head;

/* Receives a response. on_head is called once, but not for 1xx and not if the connection fails before; then on_data any
 * number of times; then on_end exactly once: err is NULL for a complete body, else why it is incomplete (retry_after_ms
 * 0 without a head: the server refused a write, and has not done it). After on_end,
 * or after cancel, no callback runs. A callback may cancel its own exchange and send others, but not free the
 * transport. send never calls on_end. */
typedef struct ki_response_sink {
    void (*on_head)(const ki_response_head *head, void *user);
    void (*on_data)(const char *data, size_t size, void *user);
    /* Called after on_data once everything that had arrived by the time `until` was delivered. Reading can be late:
     * bytes wait in the socket while the transfer is paused, or while the host does not run the engine. Not called
     * during a pause. NULL: not wanted. */
    void (*on_read)(int64_t until, void *user);
    void (*on_end)(const ki_error *err, void *user);
    void *user;
} ki_response_sink;

typedef struct ki_transport_ops {
    ki_status (*send)(ki_transport *transport, const ki_request *request, const ki_response_sink *sink,
                      ki_exchange **ret_exchange, ki_error *err);
    void (*cancel)(ki_exchange *exchange);
    void (*free)(ki_transport *transport); /* active exchanges end without a callback */
    /* Returns true if the request waits for something other than the server, and writes what. NULL: requests never
     * wait. */
    bool (*waits_for)(const ki_exchange *exchange, char *text, size_t size);
    /* Pauses or resumes on_data; the idle timeout does not run during a pause. Resuming may call on_data before it
     * returns. On HTTP/2 libcurl continues to read until its window of 32 MB is full, and delivers all of it after the
     * pause. NULL: pausing is not supported. */
    void (*pause)(ki_exchange *exchange, bool is_paused);
    /* Replaces our credentials in a peer's text with asterisks. NULL: there are none. */
    void (*hide)(ki_transport *transport, char *text, size_t size);
} ki_transport_ops;

struct ki_transport {
    const ki_transport_ops *ops;
    ki_meter *meter; /* counts the requests; NULL: nobody wants that. Set by the owner of the meter, on the loop */
};

/* `*ret_exchange` is valid until on_end has returned or cancel is called. */
static inline ki_status ki_transport_send(ki_transport *transport, const ki_request *request,
                                          const ki_response_sink *sink, ki_exchange **ret_exchange, ki_error *err) {
    return transport->ops->send(transport, request, sink, ret_exchange, err);
}
static inline void ki_transport_cancel(ki_transport *transport, ki_exchange *exchange) {
    transport->ops->cancel(exchange);
}
/* Returns false if the request waits only for the server. */
static inline bool ki_transport_waits_for(const ki_transport *transport, const ki_exchange *exchange, char *text,
                                          size_t size) {
    return transport->ops->waits_for && transport->ops->waits_for(exchange, text, size);
}
static inline void ki_transport_pause(ki_transport *transport, ki_exchange *exchange, bool is_paused) {
    if (transport->ops->pause)
        transport->ops->pause(exchange, is_paused);
}
/* Hides credentials in a peer's text before it goes into a message. */
static inline void ki_transport_hide(ki_transport *transport, char *text, size_t size) {
    if (transport->ops->hide && size)
        transport->ops->hide(transport, text, size);
}
static inline void ki_transport_free(ki_transport *transport) {
    if (transport)
        transport->ops->free(transport);
}

#endif
