/* web_socket_watch.c: see web_socket_watch.h. The HTTP daemon's thread adds sockets; the sockets' own thread reads
 * watches, sends, receives and closes. */
#include "testing/http/web_socket_watch.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/cluster/object.h"
#include "testing/faults/stream.h"
#include "testing/http/web_socket.h"

#include <errno.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RECEIVED_MAX = 4096,         /* bytes at a time */
    PONGS_MAX = KT_STREAM_BLOCK, /* most bytes of responses to a client that wait for it to read */
    FIRST_CAPACITY = 8,
    WAIT_MAX_MS = 60 * 1000
};

struct kt_web_socket {
    /* ---- constant after the upgrade ---- */
    kt_web_sockets *owner;
    kt_web_socket **place;
    int fd;
    struct MHD_UpgradeResponseHandle *handle;

    /* ---- under the lock ---- */
    kt_response response;
    kt_web_socket *next;
    bool is_readable; /* the watch may have frames */
    bool is_cut;      /* no more bytes are sent or received */

    /* ---- the thread only, after the upgrade ---- */
    kt_web_socket_reader reader;
    ki_buffer pending;
    size_t sent;       /* bytes sent of `pending` */
    kt_object *shared; /* a large object to send after `pending`, followed by the end of its frame; NULL: none */
    size_t shared_sent;
    ki_buffer responses; /* to the client's frames; sent after the frame that is being sent */
    int64_t total;       /* bytes before `pending` */
    int64_t not_before;  /* a fault delays sending until then */
    bool is_ended;       /* the socket is closed after all of these */
};

static void wake_thread(kt_web_sockets *sockets) {
    uint64_t one = 1;
    (void)!write(sockets->wake_fd, &one, sizeof one);
}

/* Called when the watch becomes readable. */
static void wake_socket(void *user) {
    kt_web_socket *socket = user;
    KI_HELD(&socket->owner->streams->mutex);
    if (!socket->is_readable)
        wake_thread(socket->owner);
    socket->is_readable = true;
}

/* ---- reading watches ---- */

/* Truncates `pending` where a fault cuts or silences the connection. */
static void limit(kt_web_socket *socket) {
    const kt_injection *injection = socket->response.faults ? &socket->response.faults->injection : NULL;
    if (!injection)
        return;
    bool is_silent = injection->silent_at >= 0 && (injection->cut_at < 0 || injection->silent_at < injection->cut_at);
    int64_t end = is_silent ? injection->silent_at : injection->cut_at;
    if (end < 0 || socket->total + (int64_t)socket->pending.size < end)
        return;
    socket->pending.size = end > socket->total ? (size_t)(end - socket->total) : 0; /* pongs may be past the end */
    if (is_silent)
        socket->not_before = INT64_MAX;
    else
        socket->is_ended = true;
}

/* Returns true if there are bytes that can be sent now. */
static bool is_sending(const kt_web_socket *socket) {
    return socket->sent < socket->pending.size || (socket->shared && socket->shared_sent < socket->shared->json.size);
}

static bool has_sent(const kt_web_socket *socket) {
    return !is_sending(socket) && !socket->shared && !socket->responses.size;
}

/* Forgets the bytes that were sent. All were. */
static void empty_pending(kt_web_socket *socket) {
    KI_ASSERT(!is_sending(socket) || socket->shared);
    socket->total += (int64_t)socket->pending.size;
    socket->sent = 0;
    ki_buffer_reset(&socket->pending, KT_STREAM_KEPT);
}

/* Begins what comes next once all bytes are sent: the end of a large object's frame, then the responses. */
static void advance(kt_web_socket *socket) {
    if (is_sending(socket) || has_sent(socket))
        return;
    empty_pending(socket);
    if (socket->shared) {
        kt_object_unref(socket->shared);
        socket->shared = NULL;
        socket->shared_sent = 0;
        ki_buffer_append_string(&socket->pending, KT_WATCH_FRAME_END);
    } else {
        ki_buffer_append(&socket->pending, socket->responses.data, socket->responses.size);
        ki_buffer_reset(&socket->responses, KT_STREAM_KEPT);
    }
    if (socket->pending.failed)
        socket->is_cut = true;
}

/* Appends the frames of `lines`, which end with the beginning of the line of a large object. */
static ki_status append_frames(kt_web_socket *socket) {
    const ki_buffer *lines = &socket->owner->lines;
    const char *end = socket->shared ? memrchr(lines->data, '\n', lines->size) : NULL;
    size_t whole = !socket->shared ? lines->size : end ? (size_t)(end - lines->data) + 1 : 0;
    ki_status status = kt_web_socket_append_lines(&socket->pending, (ki_str){ lines->data, whole });
    if (!status && socket->shared)
        status = kt_web_socket_append_beginning(&socket->pending, (ki_str){ lines->data + whole, lines->size - whole },
                                                socket->shared->json.size + strlen(KT_WATCH_FRAME_END));
    return status;
}

/* Reads a block of frames from the watch. */
static void fill(kt_web_socket *socket, int64_t now_ms) {
    KI_HELD(&socket->owner->streams->mutex);
    KI_ASSERT(has_sent(socket) && !socket->is_ended);
    kt_watch_state state = KT_WATCH_WAITS;
    empty_pending(socket);
    ki_buffer_reset(&socket->owner->lines, KT_STREAM_KEPT);
    ki_status status =
        kt_response_read(&socket->response, now_ms, &socket->owner->lines, KT_STREAM_BLOCK, &socket->shared, &state);
    socket->is_readable = state == KT_WATCH_MORE;
    if (!status)
        status = append_frames(socket);
    if (!status && state == KT_WATCH_ENDED) {
        status = kt_web_socket_append_close(&socket->pending, KT_CLOSE_NORMAL);
        socket->is_ended = true;
    }
    if (status)
        socket->is_cut = true;
    else
        limit(socket);
}

/* Reads frames for all sockets that have sent everything. Returns the time at which the next watch has something to
 * do without a change of the cluster. */
static int64_t fill_all(kt_web_sockets *sockets, int64_t now_ms) {
    KI_HELD(&sockets->streams->mutex);
    int64_t earliest = INT64_MAX;
    for (kt_web_socket *socket = sockets->first; socket; socket = socket->next) {
        advance(socket);
        if (!has_sent(socket) || socket->is_ended || socket->is_cut)
            continue;
        int64_t due = socket->is_readable ? now_ms : kt_watch_deadline(socket->response.watch);
        if (due < socket->not_before)
            due = socket->not_before;
        if (due <= now_ms) {
            fill(socket, now_ms);
            due = socket->is_readable ? now_ms : INT64_MAX;
        }
        if (has_sent(socket) && due < earliest)
            earliest = due;
    }
    return earliest;
}

/* ---- the network ---- */

static void send_some(kt_web_socket *socket) {
    bool is_pending = socket->sent < socket->pending.size;
    const char *from = is_pending ? socket->pending.data : socket->shared->json.data;
    size_t *sent = is_pending ? &socket->sent : &socket->shared_sent;
    size_t all = is_pending ? socket->pending.size : socket->shared->json.size;
    ssize_t size = send(socket->fd, from + *sent, all - *sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size > 0)
        *sent += (size_t)size;
    else if (size < 0 && errno != EAGAIN && errno != EINTR)
        socket->is_cut = true;
}

/* Responds to the client's bytes. Cuts a client that sends pings and does not read the pongs. */
static void take_client_bytes(kt_web_socket *socket, const char *bytes, size_t size) {
    if (!kt_web_socket_read(&socket->reader, bytes, size, &socket->responses))
        socket->is_ended = true;
    if (socket->responses.size > PONGS_MAX)
        socket->is_cut = true;
}

static void receive_some(kt_web_socket *socket) {
    char bytes[RECEIVED_MAX];
    ssize_t size = recv(socket->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size > 0)
        take_client_bytes(socket, bytes, (size_t)size);
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
        socket->is_cut = true;
}

/* Makes room for `needed` descriptors. */
static ki_status reserve(kt_web_sockets *sockets, size_t needed) {
    const ki_allocator *allocator = sockets->streams->allocator;
    size_t capacity = 2 * needed;
    if (sockets->polled_capacity >= needed)
        return KI_OK;
    void *polled = ki_realloc_array(allocator, sockets->polled, capacity, sizeof *sockets->polled);
    if (!polled)
        return KI_ERR_NO_MEMORY;
    sockets->polled = polled;
    void *owners = ki_realloc_array(allocator, sockets->polled_sockets, capacity, sizeof(kt_web_socket *));
    if (!owners)
        return KI_ERR_NO_MEMORY;
    sockets->polled_sockets = owners;
    sockets->polled_capacity = capacity;
    return KI_OK;
}

/* Fills the list of descriptors to poll. Cuts sockets for which there is no memory. */
static nfds_t prepare(kt_web_sockets *sockets) {
    KI_HELD(&sockets->streams->mutex);
    nfds_t count = 0;
    (void)reserve(sockets, sockets->count + 1);
    sockets->polled[count++] = (struct pollfd){ .fd = sockets->wake_fd, .events = POLLIN };
    for (kt_web_socket *socket = sockets->first; socket; socket = socket->next) {
        if (count == sockets->polled_capacity) {
            socket->is_cut = true;
            wake_thread(sockets);
            continue;
        }
        short events = (short)((is_sending(socket) ? POLLOUT : 0) | (socket->is_ended ? 0 : POLLIN));
        sockets->polled_sockets[count] = socket;
        sockets->polled[count++] = (struct pollfd){ .fd = socket->fd, .events = events };
    }
    return count;
}

static void close_some(kt_web_sockets *sockets) {
    KI_HELD(&sockets->streams->mutex);
    for (kt_web_socket **at = &sockets->first; *at;) {
        kt_web_socket *socket = *at;
        bool is_cut = socket->is_cut || sockets->cutting || kt_watch_is_cut(socket->response.watch);
        if (!is_cut && !(socket->is_ended && has_sent(socket))) {
            at = &socket->next;
            continue;
        }
        KI_ASSERT(sockets->count > 0);
        *at = socket->next;
        sockets->count--;
        MHD_upgrade_action(socket->handle, MHD_UPGRADE_ACTION_CLOSE);
        kt_response_free(&socket->response);
        kt_object_unref(socket->shared);
        ki_buffer_free(&socket->pending);
        ki_buffer_free(&socket->responses);
        ki_free(sockets->streams->allocator, socket);
    }
    if (!sockets->first)
        ki_cond_broadcast(&sockets->emptied);
}

/* Waits, then sends and receives. The caller does not hold the lock. */
static void work(kt_web_sockets *sockets, nfds_t count, int64_t wait_ms) {
    KI_ASSERT(count > 0 && count <= sockets->polled_capacity);
    uint64_t woken;
    if (poll(sockets->polled, count, (int)(wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS)) <= 0)
        return;
    if (sockets->polled[0].revents)
        (void)!read(sockets->wake_fd, &woken, sizeof woken);
    for (nfds_t i = 1; i < count; i++) {
        kt_web_socket *socket = sockets->polled_sockets[i];
        short events = sockets->polled[i].revents;
        if (events & POLLOUT)
            send_some(socket);
        if (!socket->is_ended && events & (POLLIN | POLLHUP | POLLERR))
            receive_some(socket);
        else if (events & (POLLHUP | POLLERR))
            socket->is_cut = true; /* nothing more is read, and nobody reads what is left */
    }
}

static void run_connection(void *user) {
    kt_web_sockets *sockets = user;
    kt_streams_lock(sockets->streams);
    for (;;) {
        int64_t now_ms = kt_streams_now_ms(sockets->streams), next_ms = fill_all(sockets, now_ms);
        close_some(sockets);
        if (sockets->stopping)
            break;
        nfds_t count = prepare(sockets);
        kt_streams_unlock(sockets->streams);
        work(sockets, count, next_ms == INT64_MAX ? INT64_MAX : next_ms - now_ms);
        kt_streams_lock(sockets->streams);
    }
    kt_streams_unlock(sockets->streams);
}

/* ---- the handshake ---- */

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Returns true if a header's comma-separated list contains `wanted`. */
static bool header_has(const char *value, const char *wanted) {
    ki_str rest = ki_str_of(value ? value : "");
    while (rest.size) {
        ki_str token = ki_str_split(rest, ',', &rest);
        while (token.size && token.data[0] == ' ') {
            token.data++;
            token.size--;
        }
        if (token.size == strlen(wanted) && strncasecmp(token.data, wanted, token.size) == 0)
            return true;
    }
    return false;
}

bool kt_web_socket_is_wanted(struct MHD_Connection *connection) {
    return header_has(header(connection, "Upgrade"), "websocket") &&
           header_has(header(connection, "Connection"), "upgrade");
}

int kt_web_socket_handshake_error(struct MHD_Connection *connection) {
    const char *key = header(connection, "Sec-WebSocket-Key"), *version = header(connection, "Sec-WebSocket-Version");
    const char *protocol = header(connection, "Sec-WebSocket-Protocol");
    if (!key || !key[0] || !version || strcmp(version, "13") != 0 || (protocol && strchr(protocol, ',')))
        return 400;
    return header(connection, "Origin") ? 0 : 403;
}

/* Called by the daemon on its thread when the connection is upgraded. */
static void on_upgrade(void *user, struct MHD_Connection *connection, void *state, const char *extra, size_t extra_size,
                       MHD_socket fd, struct MHD_UpgradeResponseHandle *handle) {
    kt_web_socket *socket = user;
    kt_web_sockets *sockets = socket->owner;
    (void)connection, (void)state;
    kt_streams_lock(sockets->streams);
    *socket->place = NULL;
    bool is_served = !sockets->cutting;
    if (is_served && !sockets->thread.started)
        is_served = !ki_thread_start(&sockets->thread, "kt-websocket", run_connection, sockets, NULL);
    if (is_served) {
        sockets->upgrading--;
        socket->fd = fd;
        socket->handle = handle;
        take_client_bytes(socket, extra, extra_size);
        socket->next = sockets->first;
        sockets->first = socket;
        sockets->count++;
        kt_watch_set_wake(socket->response.watch, wake_socket, socket);
        wake_thread(sockets);
    }
    kt_streams_unlock(sockets->streams);
    if (is_served)
        return;
    kt_web_socket_free(socket);
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

static struct MHD_Response *new_response(const kt_web_sockets *sockets, struct MHD_Connection *connection,
                                         kt_web_socket *socket) {
    char accept[KT_WEB_SOCKET_ACCEPT_SIZE];
    const char *key = header(connection, "Sec-WebSocket-Key"), *protocol = header(connection, "Sec-WebSocket-Protocol");
    if (!socket || kt_web_socket_accept(sockets->streams->allocator, ki_str_of(key), accept))
        return NULL;
    struct MHD_Response *http_response = MHD_create_response_for_upgrade(on_upgrade, socket);
    if (!http_response)
        return NULL;
    MHD_add_response_header(http_response, "Upgrade", "websocket");
    MHD_add_response_header(http_response, "Sec-WebSocket-Accept", accept);
    if (protocol)
        MHD_add_response_header(http_response, "Sec-WebSocket-Protocol", protocol);
    return http_response;
}

struct MHD_Response *kt_web_socket_start(kt_web_sockets *sockets, struct MHD_Connection *connection,
                                         kt_response *response, kt_web_socket **place) {
    const ki_allocator *allocator = sockets->streams->allocator;
    kt_web_socket *socket = ki_alloc_zero(allocator, sizeof *socket);
    struct MHD_Response *http_response = new_response(sockets, connection, socket);
    if (!http_response) {
        kt_response_free(response);
        ki_free(allocator, socket);
        return NULL;
    }
    kt_streams_lock(sockets->streams);
    sockets->upgrading++;
    kt_streams_unlock(sockets->streams);
    socket->owner = sockets;
    socket->place = place;
    socket->response = *response;
    socket->is_readable = true;
    if (response->faults)
        socket->not_before = kt_streams_now_ms(sockets->streams) + response->faults->injection.delay_ms;
    ki_buffer_init(&socket->pending, allocator, 0);
    ki_buffer_init(&socket->responses, allocator, 0);
    *place = socket;
    return http_response;
}

void kt_web_socket_free(kt_web_socket *socket) {
    kt_streams *streams = socket->owner->streams;
    kt_streams_lock(streams);
    if (--socket->owner->upgrading == 0)
        ki_cond_broadcast(&socket->owner->emptied);
    kt_response_free(&socket->response);
    kt_streams_unlock(streams);
    ki_buffer_free(&socket->pending);
    ki_free(streams->allocator, socket);
}

/* ---- start and end ---- */

ki_status kt_web_sockets_init(kt_web_sockets *sockets, kt_streams *streams, ki_error *err) {
    *sockets = (kt_web_sockets){ .wake_fd = -1 };
    ki_status status = ki_cond_init(&sockets->emptied, err);
    if (status)
        return status;
    sockets->streams = streams;
    ki_buffer_init(&sockets->lines, streams->allocator, 0);
    sockets->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sockets->wake_fd < 0)
        status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot start the HTTP server");
    else if (reserve(sockets, FIRST_CAPACITY))
        status = ki_error_no_memory(err, "starting the server");
    if (status)
        kt_web_sockets_free(sockets);
    return status;
}

void kt_web_sockets_drain(kt_web_sockets *sockets) {
    const int64_t deadline_ns = ki_monotonic_now() + KT_STREAM_DRAIN_MS * (int64_t)1000000;
    kt_streams *streams = sockets->streams;
    kt_streams_lock(streams);
    while ((sockets->first || sockets->upgrading) &&
           ki_cond_wait_until(&sockets->emptied, &streams->mutex, deadline_ns)) {}
    kt_streams_unlock(streams);
}

void kt_web_sockets_cut(kt_web_sockets *sockets, bool cut) {
    kt_streams *streams = sockets->streams;
    kt_streams_lock(streams);
    sockets->cutting = cut;
    if (cut)
        wake_thread(sockets);
    while (cut && sockets->first)
        ki_cond_wait(&sockets->emptied, &streams->mutex);
    kt_streams_unlock(streams);
}

void kt_web_sockets_free(kt_web_sockets *sockets) {
    if (!sockets->streams)
        return;
    if (sockets->thread.started) {
        kt_streams_lock(sockets->streams);
        sockets->stopping = true;
        wake_thread(sockets);
        kt_streams_unlock(sockets->streams);
        ki_thread_join(&sockets->thread);
    }
    ki_buffer_free(&sockets->lines);
    ki_free(sockets->streams->allocator, sockets->polled);
    ki_free(sockets->streams->allocator, sockets->polled_sockets);
    if (sockets->wake_fd >= 0)
        close(sockets->wake_fd);
    ki_cond_destroy(&sockets->emptied);
    sockets->streams = NULL;
}
