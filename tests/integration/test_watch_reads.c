/* test_watch_reads.c: .watch_read_interval_ms. The test is the server, and its clock moves only when it says so. */
#include "src/transport/curl.h"
#include "src/transport/curl_pool.h"
#include "tests/support/config_files.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INTERVAL_MS 100
#define IDLE KI_SECONDS(2)
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

typedef struct answer {
    ki_exchange *exchange;
    size_t size;
    bool has_head, has_ended;
} answer;

typedef struct world {
    int64_t now;
    int listener;
    ki_engine *engine;
    ki_config *config;
    ki_transport *transport;
} world;

static int64_t now_of(void *user) {
    return *(const int64_t *)user;
}

static void on_head(const ki_response_head *head, void *user) {
    assert_int_equal(head->status, 200);
    ((answer *)user)->has_head = true;
}

static void on_data(const char *data, size_t size, void *user) {
    (void)data;
    ((answer *)user)->size += size;
}

static void on_end(const ki_error *err, void *user) {
    (void)err;
    ((answer *)user)->has_ended = true;
    ((answer *)user)->exchange = NULL;
}

static void open_world(world *self, int interval_ms) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    *self = (world){ .now = KI_SECONDS(1), .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self->listener, 4), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    const ki_clock clock = { .now = now_of, .user = &self->now };
    const ki_config_options options = KI_CONFIG_OPTIONS(.server = url, .watch_read_interval_ms = interval_ms);
    assert_int_equal(ki_config_new(&options, &self->config, NULL), KI_OK);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 1, .clock = &clock), &self->engine, NULL), KI_OK);
    assert_int_equal(ki_curl_transport_new(self->engine, self->config, &self->transport, NULL), KI_OK);
}

static void close_world(world *self) {
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
    ki_config_free(self->config);
    close(self->listener);
}

static void step(world *self) {
    assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
}

/* Steps as often as is needed to read what has arrived on loopback. */
static void read_all(world *self) {
    for (int i = 0; i < 20; i++)
        step(self);
}

static void wait_and_step(world *self) {
    struct pollfd descriptor = { .fd = ki_engine_fd(self->engine), .events = POLLIN };
    poll(&descriptor, 1, 1);
    step(self);
}

/* Sends a request, and returns the server's end of its connection once the request is there. */
static int begin(world *self, bool is_watch, answer *one) {
    const ki_request request = {
        .method = "GET", .target = "/api/v1/pods", .endless = is_watch, .idle_timeout_ns = is_watch ? IDLE : 0
    };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = one };
    assert_int_equal(ki_transport_send(self->transport, &request, &sink, &one->exchange, NULL), KI_OK);
    struct pollfd arrival = { .fd = self->listener, .events = POLLIN };
    while (poll(&arrival, 1, 0) == 0)
        wait_and_step(self);
    int fd = accept(self->listener, NULL, NULL);
    assert_true(fd >= 0);
    arrival.fd = fd;
    while (poll(&arrival, 1, 0) == 0)
        wait_and_step(self);
    char text[4096];
    assert_true(read(fd, text, sizeof text) > 0);
    return fd;
}

static void say(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t written = send(fd, text, size, MSG_NOSIGNAL);
        assert_true(written > 0);
        text += written;
        size -= (size_t)written;
    }
}

static void say_change(int fd) {
    say(fd, "change", strlen("change"));
}

/* A watch that has read its head and one change. */
static int begin_watch(world *self, answer *watch) {
    int fd = begin(self, true, watch);
    say(fd, HEAD, strlen(HEAD));
    while (!watch->has_head)
        wait_and_step(self);
    say_change(fd);
    while (watch->size < strlen("change"))
        wait_and_step(self);
    watch->size = 0;
    return fd;
}

static void pass_interval(world *self) {
    self->now += KI_MILLISECONDS(INTERVAL_MS);
}

TEST(changes_of_an_interval_arrive_together) {
    world self;
    answer watch = { .size = 0 };
    open_world(&self, INTERVAL_MS);
    int fd = begin_watch(&self, &watch);
    for (int round = 1; round <= 3; round++) {
        say_change(fd);
        say_change(fd);
        self.now += KI_MILLISECONDS(INTERVAL_MS) - 1;
        read_all(&self);
        assert_int_equal(watch.size, 0);
        self.now += 1;
        while (watch.size < 2 * strlen("change"))
            wait_and_step(&self);
        watch.size = 0;
    }
    close(fd);
    close_world(&self);
}

TEST(without_an_interval_changes_arrive_at_once) {
    world self;
    answer watch = { .size = 0 };
    open_world(&self, 0);
    int fd = begin_watch(&self, &watch);
    for (size_t changes = 1; changes <= 3; changes++) {
        say_change(fd);
        while (watch.size < changes * strlen("change"))
            wait_and_step(&self);
    }
    close(fd);
    close_world(&self);
}

TEST(while_a_request_is_under_way_nothing_waits) {
    world self;
    answer watch = { .size = 0 }, get = { .size = 0 };
    open_world(&self, INTERVAL_MS);
    int fd = begin_watch(&self, &watch);
    say_change(fd);
    read_all(&self);
    assert_int_equal(watch.size, 0);
    int other = begin(&self, false, &get); /* ends the rest of the watch's socket */
    say_change(fd);
    while (watch.size < 2 * strlen("change"))
        wait_and_step(&self);
    say(other, HEAD, strlen(HEAD));
    for (size_t parts = 1; parts <= 3; parts++) {
        say(other, "part", strlen("part"));
        while (get.size < parts * strlen("part"))
            wait_and_step(&self);
    }
    close(other);
    while (!get.has_ended)
        wait_and_step(&self);
    close(fd);
    close_world(&self);
}

TEST(what_follows_a_burst_arrives_at_once) {
    static char much[KI_CURL_REST_BYTES + 1];
    world self;
    answer watch = { .size = 0 };
    open_world(&self, INTERVAL_MS);
    int fd = begin_watch(&self, &watch);
    say(fd, much, sizeof much);
    pass_interval(&self);
    while (watch.size < sizeof much)
        wait_and_step(&self);
    pass_interval(&self);
    watch.size = 0;
    /* The socket rests again only with the second change, which is read first. */
    for (size_t changes = 1; changes <= 2; changes++) {
        say_change(fd);
        while (watch.size < changes * strlen("change"))
            wait_and_step(&self);
    }
    close(fd);
    close_world(&self);
}

TEST(a_broken_connection_is_noticed_during_the_rest_and_a_closed_one_after_it) {
    for (int is_broken = 0; is_broken < 2; is_broken++) {
        world self;
        answer watch = { .size = 0 };
        open_world(&self, INTERVAL_MS);
        int fd = begin_watch(&self, &watch);
        if (is_broken)
            assert_int_equal(
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger)), 0);
        close(fd);
        read_all(&self);
        assert_int_equal(watch.has_ended, is_broken);
        pass_interval(&self);
        while (!watch.has_ended)
            wait_and_step(&self);
        close_world(&self);
    }
}

static void say_text(int fd, const char *text) {
    say(fd, text, strlen(text));
}

/* A chunk's head is read without a byte for the watch, and lets the socket rest. */
TEST(bytes_that_wait_in_a_resting_socket_are_no_silence) {
    world self;
    answer watch = { .size = 0 };
    open_world(&self, KI_WATCH_READ_INTERVAL_MAX_MS);
    int fd = begin(&self, true, &watch);
    say_text(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nchange\r\n");
    while (watch.size < strlen("change"))
        wait_and_step(&self);
    self.now += IDLE - KI_MILLISECONDS(KI_WATCH_READ_INTERVAL_MAX_MS / 2);
    read_all(&self);
    say_text(fd, "6\r\n");
    read_all(&self);
    say_text(fd, "change\r\n");
    self.now += KI_MILLISECONDS(KI_WATCH_READ_INTERVAL_MAX_MS / 2); /* the idle timeout, in the middle of the rest */
    read_all(&self);
    assert_false(watch.has_ended);
    assert_int_equal(watch.size, 2 * strlen("change"));
    close(fd);
    close_world(&self);
}

TEST(a_watch_can_be_cancelled_and_the_transport_freed_during_the_rest) {
    for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        world self;
        answer watch = { .size = 0 }, next = { .size = 0 };
        open_world(&self, INTERVAL_MS);
        int fd = begin_watch(&self, &watch), other = -1;
        say_change(fd);
        read_all(&self);
        if (is_cancelled) {
            ki_transport_cancel(self.transport, watch.exchange);
            pass_interval(&self);
            read_all(&self);
            other = begin_watch(&self, &next);
        }
        close_world(&self);
        assert_int_equal(watch.size, 0);
        close(fd);
        if (other >= 0)
            close(other);
    }
}

TEST_GROUP(watch_reads, config_files_set_none, NULL);
