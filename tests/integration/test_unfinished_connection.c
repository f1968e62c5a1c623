/* test_unfinished_connection.c: connections that are being established when something happens. The server's backlog is
 * full, so that it does not respond to a SYN, until it closes: then it resets. */
#include "src/transport/curl.h"
#include "src/transport/curl_internal.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
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

/* `clock` NULL: the system's. */
static void open_client(client *self, const char *host, int port, const ki_clock *clock) {
    char url[64];
    snprintf(url, sizeof url, "http://%s:%d", host, port);
    memset(self, 0, sizeof *self);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = url), &self->config, NULL), KI_OK);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 1, .clock = clock), &self->engine, NULL), KI_OK);
    assert_int_equal(ki_curl_transport_new(self->engine, self->config, &self->transport, NULL), KI_OK);
}

/* Sends a request, and returns when its connection is being established. */
static void begin_to_connect(client *self) {
    const ki_request request = { .method = "GET", .target = "/version" };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = self };
    assert_int_equal(ki_transport_send(self->transport, &request, &sink, &self->exchange, NULL), KI_OK);
    while (self->exchange && !self->exchange->opened) {
        assert_true(is_readable(self, -1));
        step(self);
    }
    if (!self->exchange)
        fail_msg("%s", self->end.message);
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

/* --- descriptors -------------------------------------------------------------------------------------------------- */

/* A socket takes two descriptors: its own, and the engine's copy. Here one is free. */
TEST(a_lack_of_descriptors_ends_no_other_request) {
    full_server server;
    client self;
    full_server_open(&server);
    open_client(&self, "127.0.0.1", server.port, NULL);
    begin_to_connect(&self);
    client late = self;
    const ki_request request = { .method = "GET", .target = "/version" };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = &late };
    assert_int_equal(ki_transport_send(self.transport, &request, &sink, &late.exchange, NULL), KI_OK);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int lowest = dup(0);
    assert_int_equal(close(lowest), 0);
    const struct rlimit one_more = { (rlim_t)lowest + 1, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &one_more), 0);
    while (late.exchange) {
        (void)is_readable(&self, ki_engine_timeout(self.engine));
        step(&self);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(late.end.code, KI_ERR_SYSTEM);
    assert_non_null(self.exchange);
    cancel(&self, &server);
    close_client(&self);
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
        open_client(&self, "127.0.0.1", server.port, NULL);
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

/* --- a name with two addresses ------------------------------------------------------------------------------------ */

#define TWO_ADDRESSES "two-addresses.test"

/* The resolver of the whole program: libcurl finds this function before libc's. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **ret_addresses) {
    static int (*of_libc)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!of_libc)
        *(void **)&of_libc = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || strcmp(name, TWO_ADDRESSES) != 0)
        return of_libc(name, service, hints, ret_addresses);
    struct addrinfo *last = NULL;
    const struct addrinfo numeric = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
    int failed = of_libc("127.0.0.1", service, &numeric, ret_addresses);
    failed = failed ? failed : of_libc("127.0.0.2", service, &numeric, &last);
    if (!failed)
        (*ret_addresses)->ai_next = last;
    return failed;
}

/* A server on the port of another one, at its second address. */
static int listen_at_second(int port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.2", &address.sin_addr), 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static int64_t no_time_passes(void *user) {
    (void)user;
    return KI_SECONDS(1);
}

/* The first address responds to the second SYN only, with a reset. The engine's clock stands still, and with it all
 * timers of libcurl: what leads to the second address is the event of the socket. */
TEST(a_server_whose_first_address_fails_late_is_reached_at_its_second_without_a_timer) {
    enum {
        PATIENCE_MS = 60000
    };
    full_server server;
    client self;
    const ki_clock clock = { .now = no_time_passes };
    full_server_open(&server);
    int second = listen_at_second(server.port);
    open_client(&self, TWO_ADDRESSES, server.port, &clock);
    begin_to_connect(&self);
    full_server_close(&server);
    struct pollfd ready[2] = { { .fd = ki_engine_fd(self.engine), .events = POLLIN },
                               { .fd = second, .events = POLLIN } };
    for (int reached = -1; !ready[1].revents || reached < 0;) { /* the connection, then the request */
        assert_true(poll(ready, 2, PATIENCE_MS) > 0);
        step(&self);
        if (!ready[1].revents || reached >= 0)
            continue;
        ready[1] = (struct pollfd){ .fd = reached = accept(second, NULL, NULL), .events = POLLIN };
        close(second);
    }
    char request[5];
    assert_int_equal(read(ready[1].fd, request, sizeof request), sizeof request);
    assert_memory_equal(request, "GET /", sizeof request);
    close(ready[1].fd);
    close_client(&self);
}
