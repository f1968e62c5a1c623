/* connections.c: see connections.h. */
#include "status/connections.h"

#include <sys/socket.h>

#define TIME_NS ((int64_t)KI_CONNECTION_TIME_S * 1000000000)

ki_status ki_connections_init(ki_connections *connections, ki_error *err) {
    for (size_t i = 0; i < KI_CONNECTIONS_PLACES; i++)
        connections->all[i].fd = -1;
    connections->last = 0;
    connections->awaited = 0;
    connections->is_ending = false;
    atomic_init(&connections->bytes, 0);
    ki_status status = ki_mutex_init(&connections->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&connections->ended, err);
    if (status)
        ki_mutex_destroy(&connections->mutex);
    return status;
}

void ki_connections_free(ki_connections *connections) {
    ki_cond_destroy(&connections->ended);
    ki_mutex_destroy(&connections->mutex);
}

/* Shuts down the socket; libmicrohttpd then closes it. Caller holds the mutex. */
static void end(struct ki_connection *connection) {
    connection->is_ended = true;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

/* Ends the connection that waits longest, if there are too many. Caller holds the mutex. */
static void make_room(ki_connections *connections) {
    struct ki_connection *longest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < KI_CONNECTIONS_PLACES; i++) {
        struct ki_connection *connection = &connections->all[i];
        if (connection->fd < 0 || connection->is_ended)
            continue;
        count++;
        if (!longest || connection->number < longest->number)
            longest = connection;
    }
    if (count > KI_CONNECTIONS_MAX)
        end(longest);
}

struct ki_connection *ki_connections_add(ki_connections *connections, int fd, int64_t now_ns) {
    struct ki_connection *added = NULL;
    ki_mutex_lock(&connections->mutex);
    for (size_t i = 0; i < KI_CONNECTIONS_PLACES && !added; i++)
        if (connections->all[i].fd < 0)
            added = &connections->all[i];
    if (added)
        *added = (struct ki_connection){ .fd = fd, .since_ns = now_ns, .number = ++connections->last };
    make_room(connections);
    if (connections->is_ending)
        (void)shutdown(fd, SHUT_RDWR);
    ki_mutex_unlock(&connections->mutex);
    return added;
}

void ki_connections_renew(ki_connections *connections, struct ki_connection *connection, int64_t now_ns) {
    if (!connection)
        return;
    ki_mutex_lock(&connections->mutex);
    connection->since_ns = now_ns;
    connection->number = ++connections->last;
    ki_mutex_unlock(&connections->mutex);
}

void ki_connections_remove(ki_connections *connections, struct ki_connection *connection) {
    if (!connection)
        return;
    ki_mutex_lock(&connections->mutex);
    connection->fd = -1;
    if (connection->is_awaited && --connections->awaited == 0)
        ki_cond_broadcast(&connections->ended);
    ki_mutex_unlock(&connections->mutex);
}

void ki_connections_end_late(ki_connections *connections, int64_t now_ns) {
    ki_mutex_lock(&connections->mutex);
    for (size_t i = 0; i < KI_CONNECTIONS_PLACES; i++)
        if (connections->all[i].fd >= 0 && now_ns - connections->all[i].since_ns > TIME_NS)
            end(&connections->all[i]);
    ki_mutex_unlock(&connections->mutex);
}

void ki_connections_end_all(ki_connections *connections) {
    ki_mutex_lock(&connections->mutex);
    connections->is_ending = true;
    for (size_t i = 0; i < KI_CONNECTIONS_PLACES; i++) {
        struct ki_connection *connection = &connections->all[i];
        if (connection->fd < 0)
            continue;
        end(connection);
        connection->is_awaited = true;
        connections->awaited++;
    }
    while (connections->awaited)
        ki_cond_wait(&connections->ended, &connections->mutex);
    ki_mutex_unlock(&connections->mutex);
}

bool ki_connections_reserve(ki_connections *connections, size_t size) {
    if (size <= KI_CONNECTIONS_SMALL)
        return true;
    size_t before = atomic_fetch_add(&connections->bytes, size);
    if (size <= KI_CONNECTIONS_BYTES_MAX && before <= KI_CONNECTIONS_BYTES_MAX - size)
        return true;
    atomic_fetch_sub(&connections->bytes, size);
    return false;
}

void ki_connections_release(ki_connections *connections, size_t size) {
    if (size > KI_CONNECTIONS_SMALL)
        atomic_fetch_sub(&connections->bytes, size);
}
