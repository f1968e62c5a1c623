/* web_socket_watch.h: watches over WebSockets (Upgrade: websocket), which browsers and some clients use. The HTTP
 * daemon hands the connection over; one thread serves all sockets and starts with the first of them. Each event is a
 * text frame. The caller holds the lock of the front's kt_streams unless a comment says otherwise. */
#ifndef KT_HTTP_WEB_SOCKET_WATCH_H
#define KT_HTTP_WEB_SOCKET_WATCH_H

#include "testing/http/stream.h"

typedef struct kt_web_socket kt_web_socket;

typedef struct kt_web_sockets {
    /* ---- constant ---- */
    kt_streams *streams;
    int wake_fd; /* an eventfd that the thread polls */

    /* ---- under the lock of `streams` ---- */
    ki_thread thread;
    ki_cond emptied; /* `first` became NULL or `upgrading` became 0 */
    kt_web_socket *first;
    size_t count;
    size_t upgrading; /* sockets with a queued 101 whose connection the daemon has not handed over */
    bool cutting;     /* all sockets are closed, also new ones */
    bool stopping;

    /* ---- the thread only ---- */
    struct pollfd *polled;
    kt_web_socket **polled_sockets;
    size_t polled_capacity;
    ki_buffer lines; /* frames from a watch */
} kt_web_sockets;

ki_status kt_web_sockets_init(kt_web_sockets *sockets, kt_streams *streams, ki_error *err);
/* Waits for at most KT_STREAM_DRAIN_MS until clients have read everything. The caller has closed the cluster's
 * watches and does not hold the lock. */
void kt_web_sockets_drain(kt_web_sockets *sockets);
/* Closes all sockets before the HTTP daemon stops. New sockets are closed too, until a call with false. The caller
 * does not hold the lock. */
void kt_web_sockets_cut(kt_web_sockets *sockets, bool cut);
/* Ends the thread and frees everything, after kt_web_sockets_cut. `sockets` may be zeroed. The caller does not hold
 * the lock. */
void kt_web_sockets_free(kt_web_sockets *sockets);

/* Returns true if the client requests a WebSocket. Any thread. */
bool kt_web_socket_is_wanted(struct MHD_Connection *connection);
/* Returns the HTTP status for an invalid handshake, as the real server does; 0: the handshake is valid. Any thread. */
int kt_web_socket_handshake_error(struct MHD_Connection *connection);
/* Returns the HTTP response that becomes a WebSocket; NULL on failure. Takes ownership of `response`, also on
 * failure. `*place` is the socket until the upgrade; if the upgrade never happens, the caller frees it with
 * kt_web_socket_free. */
struct MHD_Response *kt_web_socket_start(kt_web_sockets *sockets, struct MHD_Connection *connection,
                                         kt_response *response, kt_web_socket **place);
/* Frees a socket that was never upgraded. The caller does not hold the lock. */
void kt_web_socket_free(kt_web_socket *socket);

#endif
