/* proxy.c: see proxy.h. One thread polls and holds the lock while it works, so that a call affects the next byte. */
#include "tests/support/proxy.h"

#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS = 32,
    HEAD_MAX = 4096,
    TARGETS = 128,
    RESPONSES = 4, /* different texts that wait */
    TARGET_MAX = 256,
    BLOCK = 16384,
    PATIENCE_S = 60 /* seconds that only a broken test reaches */
};

typedef struct connection {
    int client, server; /* -1: no connection */
    char head[HEAD_MAX];
    size_t head_size;
    char *held;
    size_t held_size;
    bool is_doomed;
    proxy_fault doom;
} connection;

typedef struct armed_fault {
    const char *needle;
    size_t matched; /* bytes of the needle that have passed */
    size_t offset;
    proxy_fault what;
    const char *text;
} armed_fault;

struct proxy {
    struct sockaddr_in to; /* constant after the start, like all members before `lock` */
    char url[64];
    uint16_t port;
    int placeholder; /* bound but never listening, to reserve the port */
    int wake[2];
    pthread_t thread;

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t news;
    int listener; /* -1: closed */
    bool is_refusing, is_ending;
    connection connections[CONNECTIONS];
    bool is_armed, is_holding;
    armed_fault fault;
    size_t segment, overwrite_left;
    struct {
        const char *text;
        size_t left;
    } responses[RESPONSES]; /* in order of the calls */
    size_t requests, struck, armed, held;
    char targets[TARGETS][TARGET_MAX];
};

/* ---- sockets ---- */

static bool send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        data += count;
        size -= (size_t)count;
    }
    return true;
}

static int bound_socket(uint16_t port, uint16_t *ret_port) {
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int listening_socket(uint16_t port) {
    int fd = bound_socket(port, &port);
    assert_int_equal(listen(fd, CONNECTIONS), 0);
    return fd;
}

static void close_connection(proxy *self, connection *conn, proxy_fault how) {
    struct linger at_once = { 1, 0 };
    if (how == PROXY_RESET)
        setsockopt(conn->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(conn->client);
    close(conn->server);
    self->held -= conn->held_size;
    free(conn->held);
    *conn = (connection){ .client = -1, .server = -1 };
}

/* ---- from the server to the client ---- */

static void hold_bytes(proxy *self, connection *conn, const char *data, size_t size) {
    char *held = realloc(conn->held, conn->held_size + size);
    if (!held)
        abort();
    memcpy(held + conn->held_size, data, size);
    conn->held = held;
    conn->held_size += size;
    self->held += size;
    pthread_cond_broadcast(&self->news);
}

/* Returns false if the client is gone. */
static bool pass(proxy *self, connection *conn, const char *data, size_t size) {
    if (!size)
        return true;
    if (self->is_holding) {
        hold_bytes(self, conn, data, size);
        return true;
    }
    size_t segment = self->segment ? self->segment : size;
    for (size_t at = 0; at < size; at += segment) {
        if (!send_all(conn->client, data + at, size - at < segment ? size - at : segment))
            return false;
    }
    return true;
}

/* Sets how many of these bytes pass before the fault. Returns false, with all bytes, if the fault is not among them. */
static bool find_fault(armed_fault *fault, const char *data, size_t size, size_t *ret_before) {
    *ret_before = size;
    for (size_t i = 0; i < size; i++) {
        if (!fault->needle && fault->offset == i) {
            *ret_before = i;
            return true;
        }
        if (fault->needle) {
            fault->matched = data[i] == fault->needle[fault->matched] ? fault->matched + 1
                             : data[i] == fault->needle[0]            ? 1
                                                                      : 0;
            if (fault->matched == fault->offset) {
                *ret_before = i + 1;
                return true;
            }
        }
    }
    if (!fault->needle)
        fault->offset -= size;
    return false;
}

/* Returns false if the connection has ended. */
static bool take_from_server(proxy *self, connection *conn, const char *data, size_t size) {
    size_t before;
    if (self->overwrite_left) {
        size_t lost = size < self->overwrite_left ? size : self->overwrite_left;
        self->overwrite_left -= lost;
        data += lost;
        size -= lost;
    }
    if (!self->is_armed || !find_fault(&self->fault, data, size, &before))
        return pass(self, conn, data, size);
    const armed_fault fault = self->fault;
    self->is_armed = false;
    bool goes_on = pass(self, conn, data, before) && fault.what != PROXY_CLOSE && fault.what != PROXY_RESET;
    if (!goes_on)
        close_connection(self, conn, fault.what);
    else if (fault.what == PROXY_STALL)
        self->is_holding = true;
    else
        goes_on = pass(self, conn, fault.text, strlen(fault.text));
    if (fault.what == PROXY_OVERWRITE)
        self->overwrite_left = strlen(fault.text);
    self->struck++;
    pthread_cond_broadcast(&self->news);
    return goes_on && take_from_server(self, conn, data + before, size - before);
}

/* ---- from the client to the server ---- */

static void note_request(proxy *self, const connection *conn) {
    char *target = self->targets[self->requests++ % TARGETS];
    const char *begin = memchr(conn->head, ' ', conn->head_size);
    const char *end = begin ? memchr(begin + 1, ' ', conn->head_size - (size_t)(begin + 1 - conn->head)) : NULL;
    snprintf(target, TARGET_MAX, "%.*s", end ? (int)(end - begin - 1) : 0, end ? begin + 1 : "");
    pthread_cond_broadcast(&self->news);
}

/* Returns false if the connection must end. */
static bool take_from_client(proxy *self, connection *conn, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (conn->head_size == sizeof conn->head)
            return false;
        conn->head[conn->head_size++] = data[i];
        if (conn->head_size < 4 || memcmp(conn->head + conn->head_size - 4, "\r\n\r\n", 4) != 0)
            continue;
        note_request(self, conn);
        for (size_t j = 0; j < RESPONSES; j++) {
            if (!self->responses[j].left)
                continue;
            self->responses[j].left--;
            (void)send_all(conn->client, self->responses[j].text, strlen(self->responses[j].text));
            return false;
        }
        if (!send_all(conn->server, conn->head, conn->head_size))
            return false;
        conn->head_size = 0;
    }
    return true;
}

/* ---- the loop ---- */

static void open_connection(proxy *self) {
    int on = 1;
    int client = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; server >= 0 && i < CONNECTIONS; i++) {
        connection *conn = &self->connections[i];
        if (conn->client >= 0)
            continue;
        if (connect(server, (const struct sockaddr *)&self->to, sizeof self->to))
            break;
        *conn = (connection){ .client = client, .server = server };
        return;
    }
    close(client);
    if (server >= 0)
        close(server);
}

static void apply_calls(proxy *self) {
    if (self->is_refusing && self->listener >= 0) {
        close(self->listener);
        self->listener = -1;
    } else if (!self->is_refusing && self->listener < 0) {
        self->listener = listening_socket(self->port);
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        connection *conn = &self->connections[i];
        if (conn->client >= 0 && conn->is_doomed) {
            close_connection(self, conn, conn->doom);
        } else if (conn->client >= 0 && !self->is_holding && conn->held_size) {
            bool is_there = send_all(conn->client, conn->held, conn->held_size);
            self->held -= conn->held_size;
            conn->held_size = 0;
            if (!is_there)
                close_connection(self, conn, PROXY_CLOSE);
        }
    }
}

static void serve_connection(proxy *self, connection *conn, bool from_client, bool from_server) {
    char block[BLOCK];
    if (from_client) {
        ssize_t size = recv(conn->client, block, sizeof block, MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN)
            size = 0;
        else if (size <= 0 || !take_from_client(self, conn, block, (size_t)size)) {
            close_connection(self, conn, PROXY_CLOSE);
            return;
        }
    }
    if (from_server) {
        ssize_t size = recv(conn->server, block, sizeof block, MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size <= 0) {
            close_connection(self, conn, PROXY_CLOSE);
            return;
        }
        if (!take_from_server(self, conn, block, (size_t)size) && conn->client >= 0)
            close_connection(self, conn, PROXY_CLOSE);
    }
}

static void *serve(void *user) {
    proxy *self = user;
    pthread_mutex_lock(&self->lock);
    while (!self->is_ending) {
        apply_calls(self);
        struct pollfd fds[2 + 2 * CONNECTIONS];
        fds[0] = (struct pollfd){ .fd = self->wake[0], .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = self->listener, .events = POLLIN };
        for (size_t i = 0; i < CONNECTIONS; i++) {
            fds[2 + 2 * i] = (struct pollfd){ .fd = self->connections[i].client, .events = POLLIN };
            fds[3 + 2 * i] = (struct pollfd){ .fd = self->connections[i].server, .events = POLLIN };
        }
        pthread_mutex_unlock(&self->lock);
        (void)poll(fds, 2 + 2 * CONNECTIONS, -1);
        pthread_mutex_lock(&self->lock);
        if (fds[0].revents) { /* calls take effect before bytes */
            char sink[64];
            (void)!read(self->wake[0], sink, sizeof sink);
            continue;
        }
        for (size_t i = 0; i < CONNECTIONS; i++) {
            if (self->connections[i].client >= 0)
                serve_connection(self, &self->connections[i], fds[2 + 2 * i].revents != 0, fds[3 + 2 * i].revents != 0);
        }
        if (fds[1].revents)
            open_connection(self);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

proxy *proxy_start(const char *server_url) {
    proxy *self = calloc(1, sizeof *self);
    assert_non_null(self);
    const char *port = strrchr(server_url, ':');
    assert_non_null(port);
    self->to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port + 1)) };
    self->to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    self->placeholder = bound_socket(0, &self->port);
    self->listener = listening_socket(self->port);
    snprintf(self->url, sizeof self->url, "http://127.0.0.1:%u", (unsigned)self->port);
    for (size_t i = 0; i < CONNECTIONS; i++)
        self->connections[i].client = self->connections[i].server = -1;
    assert_int_equal(pipe(self->wake), 0);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->news, NULL);
    assert_int_equal(pthread_create(&self->thread, NULL, serve, self), 0);
    return self;
}

static void unlock_and_wake(proxy *self) {
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(write(self->wake[1], "w", 1), 1);
}

void proxy_free(proxy *self) {
    if (!self)
        return;
    pthread_mutex_lock(&self->lock);
    self->is_ending = true;
    unlock_and_wake(self);
    pthread_join(self->thread, NULL);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        if (self->connections[i].client >= 0)
            close_connection(self, &self->connections[i], PROXY_CLOSE);
    }
    if (self->listener >= 0)
        close(self->listener);
    close(self->placeholder);
    close(self->wake[0]);
    close(self->wake[1]);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->news);
    free(self);
}

/* ---- calls of the test ---- */

const char *proxy_url(const proxy *self) {
    return self->url;
}

void proxy_inject(proxy *self, const char *needle, size_t offset, proxy_fault what, const char *text) {
    pthread_mutex_lock(&self->lock);
    self->fault = (armed_fault){ .needle = needle, .offset = offset, .what = what, .text = text };
    self->is_armed = true;
    self->armed++;
    pthread_mutex_unlock(&self->lock);
}

void proxy_set_segment(proxy *self, size_t bytes) {
    pthread_mutex_lock(&self->lock);
    self->segment = bytes;
    pthread_mutex_unlock(&self->lock);
}

static void set_holding(proxy *self, bool is_holding) {
    pthread_mutex_lock(&self->lock);
    self->is_holding = is_holding;
    unlock_and_wake(self);
}

void proxy_hold(proxy *self) {
    set_holding(self, true);
}

void proxy_release(proxy *self) {
    set_holding(self, false);
}

void proxy_refuse(proxy *self, bool is_refusing) {
    pthread_mutex_lock(&self->lock);
    self->is_refusing = is_refusing;
    unlock_and_wake(self);
}

void proxy_response(proxy *self, const char *text, size_t times) {
    pthread_mutex_lock(&self->lock);
    size_t last = RESPONSES; /* after those that wait */
    while (last > 0 && !self->responses[last - 1].left)
        last--;
    assert_true(last < RESPONSES);
    self->responses[last].text = text;
    self->responses[last].left = times;
    pthread_mutex_unlock(&self->lock);
}

void proxy_cut_all(proxy *self, proxy_fault close_or_reset) {
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        self->connections[i].is_doomed = true;
        self->connections[i].doom = close_or_reset;
    }
    unlock_and_wake(self);
}

size_t proxy_requests(proxy *self) {
    pthread_mutex_lock(&self->lock);
    size_t requests = self->requests;
    pthread_mutex_unlock(&self->lock);
    return requests;
}

void proxy_target(proxy *self, size_t number, char *ret_target, size_t size) {
    pthread_mutex_lock(&self->lock);
    snprintf(ret_target, size, "%s", number < self->requests ? self->targets[number % TARGETS] : "");
    pthread_mutex_unlock(&self->lock);
}

/* Waits until `*counter` is at least `least`, and unlocks. Caller holds the lock. */
static void wait_for(proxy *self, const size_t *counter, size_t least, const char *what) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    int late = 0;
    while (*counter < least && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    size_t reached = *counter;
    pthread_mutex_unlock(&self->lock);
    if (reached < least)
        fail_msg("the proxy waited in vain: %zu %s, not %zu", reached, what, least);
}

void proxy_wait_requests(proxy *self, size_t count) {
    pthread_mutex_lock(&self->lock);
    wait_for(self, &self->requests, count, "requests");
}

void proxy_wait_injected(proxy *self) {
    pthread_mutex_lock(&self->lock);
    wait_for(self, &self->struck, self->armed, "strikes");
}

void proxy_wait_held(proxy *self, size_t bytes) {
    pthread_mutex_lock(&self->lock);
    wait_for(self, &self->held, bytes, "bytes held");
}
