/* transport.h: how requests leave and answers arrive. Implementations: curl.c (libcurl), memory.c (in the process).
 * All on the loop of one engine. A module that sends (src/client) knows this interface only. */
#ifndef KI_TRANSPORT_TRANSPORT_H
#define KI_TRANSPORT_TRANSPORT_H

#include <kinformer/error.h>

#include "src/base/string_view.h"
#include "src/engine/engine.h"

typedef struct ki_transport ki_transport;
typedef struct ki_exchange ki_exchange; /* one request and its answer under way */

/* Borrowed during send; the transport copies what it needs. */
typedef struct ki_request {
    const char *method;       /* "GET" */
    const char *target;       /* path and query below the server's URL, percent-encoded: "/api/v1/pods?watch=true" */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* with a body */
    ki_str body;
    bool endless;             /* a watch: cut at any time it is sent again, and nothing is lost */
    int64_t idle_timeout_ns;  /* no byte for this long cuts it with KI_ERR_TIMEOUT; 0: none */
    int64_t total_timeout_ns; /* the whole of it; 0: none */
} ki_request;

typedef struct ki_response_head {
    int status;               /* HTTP status */
    int64_t retry_after_ms;   /* Retry-After in seconds (or until the date given), else -1 */
    const char *content_type; /* "" where absent; valid during the call */
} ki_response_head;

/* The answer's way back. on_head once (not for 1xx and not where the connection fails before), then on_data any number of times, then on_end exactly
 * once: err NULL for a whole body, else what cut it. After on_end, or once cancel was called, nothing more comes. A callback may
 * cancel its own exchange, send others, but not free the transport. on_end never comes from inside send. */
typedef struct ki_response_sink {
    void (*on_head)(const ki_response_head *head, void *user);
    void (*on_data)(const char *data, size_t size, void *user);
    void (*on_end)(const ki_error *err, void *user);
    void *user;
} ki_response_sink;

typedef struct ki_transport_ops {
    ki_status (*send)(ki_transport *transport, const ki_request *request, const ki_response_sink *sink,
                      ki_exchange **ret_exchange, ki_error *err);
    void (*cancel)(ki_exchange *exchange);
    void (*free)(ki_transport *transport); /* exchanges still under way end without a callback */
    /* Has it not gone out yet, since something else must come first? Then what, in words. NULL: it never waits. */
    bool (*waits_for)(const ki_exchange *exchange, char *words, size_t size);
    /* Gives no data from now on, or goes on; the body's silence is not the server's meanwhile. What goes on may give data before it returns. NULL:
     * data comes as it comes. On HTTP/2 libcurl goes on reading until its window is full, 32 MB, and gives all of it at once later. */
    void (*pause)(ki_exchange *exchange, bool is_paused);
    /* Puts asterisks in place of our credentials where a peer sent them back. NULL: there are none. */
    void (*hide)(ki_transport *transport, char *text, size_t size);
} ki_transport_ops;

struct ki_transport {
    const ki_transport_ops *ops;
};

/* `*ret_exchange` is valid until on_end has returned, or cancel. */
static inline ki_status ki_transport_send(ki_transport *transport, const ki_request *request,
                                          const ki_response_sink *sink, ki_exchange **ret_exchange, ki_error *err) {
    return transport->ops->send(transport, request, sink, ret_exchange, err);
}
static inline void ki_transport_cancel(ki_transport *transport, ki_exchange *exchange) {
    transport->ops->cancel(exchange);
}
/* False: for nothing but the server. */
static inline bool ki_transport_waits_for(const ki_transport *transport, const ki_exchange *exchange, char *words,
                                          size_t size) {
    return transport->ops->waits_for && transport->ops->waits_for(exchange, words, size);
}
static inline void ki_transport_pause(ki_transport *transport, ki_exchange *exchange, bool is_paused) {
    if (transport->ops->pause)
        transport->ops->pause(exchange, is_paused);
}
/* For what a peer sent that goes into a message. */
static inline void ki_transport_hide(ki_transport *transport, char *text, size_t size) {
    if (transport->ops->hide && size)
        transport->ops->hide(transport, text, size);
}
static inline void ki_transport_free(ki_transport *transport) {
    if (transport)
        transport->ops->free(transport);
}

#endif
