/* open_sockets.h: the sockets of the daemon's connections, which are shut down before libmicrohttpd stops: a malformed
 * request that libmicrohttpd 0.9.75 reads while it stops makes it dereference NULL. Any thread. */
#ifndef KT_HTTP_OPEN_SOCKETS_H
#define KT_HTTP_OPEN_SOCKETS_H

#include "src/engine/thread.h"

#include <kinformer/allocator.h>

typedef struct kt_open_sockets {
    const ki_allocator *allocator; /* NULL: not initialized */
    ki_mutex mutex;                /* guards the members below */
    ki_cond ended;                 /* signalled when `awaited` becomes 0 */
    struct kt_open_socket *first;
    size_t awaited; /* sockets for whose end kt_open_sockets_end_all waits */
    bool is_ending; /* a new socket is shut down */
} kt_open_sockets;

ki_status kt_open_sockets_init(kt_open_sockets *sockets, const ki_allocator *allocator, ki_error *err);
void kt_open_sockets_free(kt_open_sockets *sockets);
/* Notes a socket; returns its place, or NULL without memory. */
struct kt_open_socket *kt_open_sockets_add(kt_open_sockets *sockets, int fd);
/* Forgets a socket, before it is closed. `socket` may be NULL. */
void kt_open_sockets_remove(kt_open_sockets *sockets, struct kt_open_socket *socket);
/* Shuts down all sockets, also those that are added later. Waits until the present ones are removed, for five seconds
 * at most. */
void kt_open_sockets_end_all(kt_open_sockets *sockets);
/* Lets sockets be added again. */
void kt_open_sockets_begin(kt_open_sockets *sockets);

#endif
