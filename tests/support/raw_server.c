/* raw_server.c: accepts, reads a head, writes, closes; until the listening socket is shut down. */
#include "tests/support/raw_server.h"

#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        data += count;
        size -= (size_t)count;
    }
    return true;
}

/* Returns false if the client has closed. */
static bool read_head(raw_server *server, int fd) {
    char text[sizeof server->last_request];
    size_t size = 0;
    while (size + 1 < sizeof text) {
        ssize_t count = recv(fd, text + size, 1, 0);
        if (count <= 0)
            return false;
        text[++size] = '\0';
        if (size >= 4 && memcmp(text + size - 4, "\r\n\r\n", 4) == 0)
            break;
    }
    memcpy(server->last_request, text, size + 1);
    return true;
}

static void wait_for_close(int fd) {
    char sink[256];
    while (recv(fd, sink, sizeof sink, 0) > 0) {}
}

/* Returns true if the connection stays open. */
static bool respond_once(raw_server *server, int fd) {
    size_t number = server->requests++;
    const raw_response *response = &server->responses[number < server->count ? number : server->count - 1];
    size_t size = strlen(response->text);
    size_t chunk = response->chunk ? response->chunk : size;
    for (size_t at = 0; at < size; at += chunk) {
        if (!write_all(fd, response->text + at, size - at < chunk ? size - at : chunk))
            return false;
    }
    char more[1024];
    memset(more, 'x', sizeof more);
    struct linger at_once = { 1, 0 };
    switch (response->end) {
    case RAW_KEEP:
        return true;
    case RAW_CLOSE:
        break;
    case RAW_RESET:
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        break;
    case RAW_SILENT:
        wait_for_close(fd);
        break;
    case RAW_ENDLESS:
        while (write_all(fd, more, sizeof more)) {}
        break;
    }
    return false;
}

static void *serve(void *user) {
    raw_server *server = user;
    for (;;) {
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0)
            return NULL; /* shut down */
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        server->connections++;
        while (read_head(server, fd) && respond_once(server, fd)) {}
        close(fd);
    }
}

static int listening_socket(int *ret_port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

void raw_server_start(raw_server *server, const raw_response *responses, size_t count) {
    memset(server, 0, sizeof *server);
    server->responses = responses;
    server->count = count;
    server->fd = listening_socket(&server->port);
    assert_int_equal(listen(server->fd, 16), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

void raw_server_stop(raw_server *server) {
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
}

int raw_server_free_port(void) {
    int port;
    close(listening_socket(&port));
    return port;
}
