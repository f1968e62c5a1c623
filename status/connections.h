/* connections.h: the limits of connections in time and bytes that libmicrohttpd does not have. Any thread. */
#ifndef KI_STATUS_CONNECTIONS_H
#define KI_STATUS_CONNECTIONS_H

#include "src/engine/thread.h"

#include <stdatomic.h>
#include <stddef.h>

enum {
    KI_CONNECTIONS_MAX = 64,    /* a further one ends the one that waits longest */
    KI_CONNECTIONS_PLACES = 80, /* with those that are shut down, and not closed yet */
    KI_CONNECTION_TIME_S = 30,  /* from the connection or the last response to the next response's end */
    KI_CONNECTIONS_BYTES_MAX = 32 * 1024 * 1024, /* of all responses that are not sent yet */
    KI_CONNECTIONS_SMALL = 4 * 1024 /* bytes of a response that needs no room: the probes' must always fit */
};

typedef struct ki_connections {
    ki_mutex mutex; /* guards the members up to `bytes` */
    ki_cond ended;  /* signalled when `awaited` becomes 0 */
    struct ki_connection {
        int fd; /* -1: none */
        int64_t since_ns;
        uint64_t number; /* of the connection or its last response, in order */
        bool is_ended;   /* shut down */
        bool is_awaited; /* counted by `awaited` */
    } all[KI_CONNECTIONS_PLACES];
    uint64_t last;  /* number */
    size_t awaited; /* connections for whose end ki_connections_end_all waits */
    bool is_ending; /* a new connection is shut down */
    _Atomic size_t bytes;
} ki_connections;

ki_status ki_connections_init(ki_connections *connections, ki_error *err);
void ki_connections_free(ki_connections *connections);
/* Notes a new connection; returns its place, or NULL without one. Beyond KI_CONNECTIONS_MAX shuts down the connection
 * whose last response, or whose begin, is the longest ago. */
struct ki_connection *ki_connections_add(ki_connections *connections, int fd, int64_t now_ns);
/* Notes that a response was sent. `connection` may be NULL. */
void ki_connections_renew(ki_connections *connections, struct ki_connection *connection, int64_t now_ns);
/* Forgets a connection, before its descriptor is closed. `connection` may be NULL. */
void ki_connections_remove(ki_connections *connections, struct ki_connection *connection);
/* Shuts down the sockets of connections that have timed out; libmicrohttpd then closes them. */
void ki_connections_end_late(ki_connections *connections, int64_t now_ns);

/* Shuts down the sockets of all connections, also of those that are added later. Waits until the present ones are
 * removed. */
void ki_connections_end_all(ki_connections *connections);

/* Takes room for the bytes of a response, unless it is small. Returns false if too many are not sent yet. */
bool ki_connections_reserve(ki_connections *connections, size_t size);
void ki_connections_release(ki_connections *connections, size_t size);

#endif
