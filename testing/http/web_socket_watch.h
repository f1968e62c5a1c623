/* web_socket_watch.h: watches over WebSockets, as browsers and some clients ask for them (Upgrade: websocket). The HTTP daemon gives the connection
 * away; one thread, which starts with the first of them, serves all. Each event is a text frame. Everything here is under the lock of the
 * front's kt_streams but for what says otherwise. */
#ifndef KT_HTTP_WEB_SOCKET_WATCH_H
#define KT_HTTP_WEB_SOCKET_WATCH_H

#include "testing/http/stream.h"

typedef struct kt_web_socket kt_web_socket;

typedef struct kt_web_sockets {
    /* constant */
    kt_streams *streams;
    int wake_fd; /* an eventfd that the thread polls */

    /* under the lock of `streams` */
    ki_thread thread;
    ki_cond emptied; /* `first` or `upgrading` became zero */
    kt_web_socket *first;
    size_t count;
    size_t
        upgrading; /* sockets whose 101 response is queued, and whose connection the daemon has not handed over yet */
    bool cutting;  /* all are closed, and none begins */
    bool stopping;

    /* the thread only */
    struct pollfd *polled;
    kt_web_socket **polled_sockets;
    size_t polled_capacity;
    ki_buffer lines; /* what a watch gave */
} kt_web_sockets;

ki_status kt_web_sockets_init(kt_web_sockets *sockets, kt_streams *streams, ki_error *err);
/* Once the cluster has closed its watches: waits, for KT_STREAM_DRAIN_MS at most, until clients have got what was theirs. Takes the lock itself. */
void kt_web_sockets_drain(kt_web_sockets *sockets);
/* Closes all, before the HTTP daemon is stopped; new ones are closed at once, until it is called with false. Takes the lock itself. */
void kt_web_sockets_cut(kt_web_sockets *sockets, bool cut);
/* After kt_web_sockets_cut: ends the thread and frees all. Harmless on a zeroed one. Takes the lock itself. */
void kt_web_sockets_free(kt_web_sockets *sockets);

/* Returns true where the client wants a WebSocket. Any thread. */
bool kt_web_socket_is_wanted(struct MHD_Connection *connection);
/* Returns the HTTP status with which the real server refuses the client's handshake, or 0. Any thread. */
int kt_web_socket_refusal(struct MHD_Connection *connection);
/* Returns the answer that goes on as a WebSocket with the watch of `response`, which is the socket's from now on, on failure as well. NULL for lack of
 * memory. `*place` is the socket until the connection becomes one: the caller frees it with kt_web_socket_free where that never happens. */
struct MHD_Response *kt_web_socket_start(kt_web_sockets *sockets, struct MHD_Connection *connection,
                                         kt_response *response, kt_web_socket **place);
/* Frees one that has not become a connection. Takes the lock itself. NULL is accepted. */
void kt_web_socket_free(kt_web_socket *socket);

#endif
