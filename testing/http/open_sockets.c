/* open_sockets.c: see open_sockets.h. */
#include "testing/http/open_sockets.h"

#include "src/base/list.h"
#include "src/base/memory.h"

#include <sys/socket.h>

#define PATIENCE (INT64_C(5) * 1000000000) /* ns */

struct kt_open_socket {
    struct kt_open_socket *next, *previous;
    int fd;
    bool is_awaited;
};

ki_status kt_open_sockets_init(kt_open_sockets *sockets, const ki_allocator *allocator, ki_error *err) {
    ki_status status = ki_mutex_init(&sockets->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&sockets->ended, err);
    if (status) {
        ki_mutex_destroy(&sockets->mutex);
        return status;
    }
    sockets->allocator = allocator;
    return KI_OK;
}

void kt_open_sockets_free(kt_open_sockets *sockets) {
    if (!sockets->allocator)
        return;
    ki_cond_destroy(&sockets->ended);
    ki_mutex_destroy(&sockets->mutex);
}

struct kt_open_socket *kt_open_sockets_add(kt_open_sockets *sockets, int fd) {
    struct kt_open_socket *added = ki_alloc(sockets->allocator, sizeof *added);
    ki_mutex_lock(&sockets->mutex);
    if (sockets->is_ending)
        (void)shutdown(fd, SHUT_RDWR);
    if (added) {
        *added = (struct kt_open_socket){ .fd = fd };
        KI_LIST_PREPEND(sockets->first, added);
    }
    ki_mutex_unlock(&sockets->mutex);
    return added;
}

void kt_open_sockets_remove(kt_open_sockets *sockets, struct kt_open_socket *socket) {
    if (!socket)
        return;
    ki_mutex_lock(&sockets->mutex);
    KI_LIST_REMOVE(sockets->first, socket);
    if (socket->is_awaited && --sockets->awaited == 0)
        ki_cond_broadcast(&sockets->ended);
    ki_mutex_unlock(&sockets->mutex);
    ki_free(sockets->allocator, socket);
}

void kt_open_sockets_end_all(kt_open_sockets *sockets) {
    const int64_t deadline_ns = ki_monotonic_now() + PATIENCE;
    ki_mutex_lock(&sockets->mutex);
    sockets->is_ending = true;
    for (struct kt_open_socket *socket = sockets->first; socket; socket = socket->next) {
        (void)shutdown(socket->fd, SHUT_RDWR);
        sockets->awaited += !socket->is_awaited;
        socket->is_awaited = true;
    }
    while (sockets->awaited && ki_cond_wait_until(&sockets->ended, &sockets->mutex, deadline_ns)) {}
    ki_mutex_unlock(&sockets->mutex);
}

void kt_open_sockets_begin(kt_open_sockets *sockets) {
    ki_mutex_lock(&sockets->mutex);
    sockets->is_ending = false;
    ki_mutex_unlock(&sockets->mutex);
}
