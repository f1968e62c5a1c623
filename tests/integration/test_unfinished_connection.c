/* test_unfinished_connection.c: connections that are being established when something happens. The server's backlog is
 * full, so that it does not respond to a SYN, until it closes: then it resets. */
#include "src/transport/curl.h"
#include "src/transport/curl_internal.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a server with a full backlog --------------------------------------------------------------------------------- */

enum {
    FILLERS = 4 /* more connections than a backlog of 0 takes */
};

typedef struct full_server {
    int listener, fillers[FILLERS];
    int port;
} full_server;

static void full_server_open(full_server *server) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 0), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    for (int i = 0; i < FILLERS; i++) {
        server->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(server->fillers[i] >= 0);
        (void)connect(server->fillers[i], (const struct sockaddr *)&address, size);
    }
}

static void full_server_close(full_server *server) {
    for (int i = 0; i < FILLERS; i++)
        close(server->fillers[i]);
    close(server->listener);
}

/* --- the client --------------------------------------------------------------------------------------------------- */

typedef struct client {
    ki_engine *engine;
    ki_config *config;
    ki_transport *transport;
    ki_exchange *exchange; /* NULL: ended */
    ki_error end;
} client;

static void on_head(const ki_response_head *head, void *user) {
    (void)head, (void)user;
}

static void on_data(const char *data, size_t size, void *user) {
    (void)data, (void)size, (void)user;
}

static void on_end(const ki_error *err, void *user) {
    client *self = user;
    self->exchange = NULL;
    self->end = err ? *err : (ki_error)KI_ERROR_INIT;
}

static bool is_readable(const client *self, int timeout_ms) {
    struct pollfd descriptor = { .fd = ki_engine_fd(self->engine), .events = POLLIN };
    return poll(&descriptor, 1, timeout_ms) == 1;
}

static void step(client *self) {
    assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
}

static void open_client(client *self, int port) {
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    memset(self, 0, sizeof *self);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = url), &self->config, NULL), KI_OK);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 1), &self->engine, NULL), KI_OK);
    assert_int_equal(ki_curl_transport_new(self->engine, self->config, &self->transport, NULL), KI_OK);
}

/* Sends a request, and returns when its connection is being established. */
static void begin_to_connect(client *self) {
    const ki_request request = { .method = "GET", .target = "/version" };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = self };
    assert_int_equal(ki_transport_send(self->transport, &request, &sink, &self->exchange, NULL), KI_OK);
    while (!self->exchange->opened) {
        assert_true(is_readable(self, -1));
        step(self);
    }
    assert_non_null(self->exchange->pool->sockets);
}

static void close_client(client *self) {
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
    ki_config_free(self->config);
}

/* --- the ways to give up ------------------------------------------------------------------------------------------ */

static void cancel(client *self, full_server *server) {
    ki_transport_cancel(self->transport, self->exchange);
    self->exchange = NULL;
    step(self);
    full_server_close(server);
}

static void free_transport(client *self, full_server *server) {
    ki_transport_free(self->transport);
    self->transport = NULL;
    step(self);
    full_server_close(server);
}

static void be_refused(client *self, full_server *server) {
    full_server_close(server);
    while (self->exchange) {
        (void)is_readable(self, ki_engine_timeout(self->engine));
        step(self);
    }
    assert_int_equal(self->end.code, KI_ERR_CONNECT);
}

/* --- a forked child ----------------------------------------------------------------------------------------------- */

enum {
    DESCRIPTORS = 256
};

typedef struct child {
    pid_t pid;
    int orders, reports; /* this process's ends of two pipes */
} child;

/* What the child does: at the order it ends its copies of all connections, which makes them readable. Lives until the
 * end of the orders. */
static void live(int orders, int reports) {
    char byte;
    for (int fd = 0; fd < DESCRIPTORS; fd++) { /* a listener of the child's would keep the server alive */
        int is_listening = 0;
        socklen_t size = sizeof is_listening;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0 && is_listening)
            close(fd);
    }
    if (write(reports, "r", 1) != 1 || read(orders, &byte, 1) != 1)
        _exit(1);
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        (void)shutdown(fd, SHUT_RDWR);
    if (write(reports, "s", 1) != 1)
        _exit(1);
    (void)!read(orders, &byte, 1);
    _exit(0);
}

static void await_report(child *self, char report) {
    char byte;
    assert_int_equal(read(self->reports, &byte, 1), 1);
    assert_int_equal(byte, report);
}

static void fork_child(child *self) {
    int orders[2], reports[2];
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(reports), 0);
    self->pid = fork();
    assert_true(self->pid >= 0);
    if (self->pid == 0) {
        close(orders[1]);
        close(reports[0]);
        live(orders[0], reports[1]);
    }
    close(orders[0]);
    close(reports[1]);
    self->orders = orders[1];
    self->reports = reports[0];
    await_report(self, 'r');
}

static void end_child(child *self) {
    int status = 0;
    close(self->orders);
    close(self->reports);
    assert_int_equal(waitpid(self->pid, &status, 0), self->pid);
    assert_int_equal(status, 0);
}

/* The child's copy keeps the socket open. What happens to it is no event of this process's loop, which neither runs
 * without end nor touches freed memory. */
TEST(a_child_that_was_forked_meanwhile_and_lives_brings_no_events_after_the_end) {
    static void (*const give_up[])(client *, full_server *) = { cancel, free_transport, be_refused };
    for (size_t i = 0; i < sizeof give_up / sizeof *give_up; i++) {
        full_server server;
        client self;
        child forked;
        full_server_open(&server);
        open_client(&self, server.port);
        begin_to_connect(&self);
        fork_child(&forked);
        give_up[i](&self, &server);
        step(&self);
        assert_int_equal(write(forked.orders, "x", 1), 1);
        await_report(&forked, 's');
        for (int steps = 0; steps < 2; steps++) { /* what was due */
            step(&self);
        }
        assert_false(is_readable(&self, 0));
        close_client(&self);
        end_child(&forked);
    }
}
