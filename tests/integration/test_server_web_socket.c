/* test_server_web_socket.c: watches of the embedded server over WebSockets, by the bytes on loopback. */
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>

#include "src/base/error.h"
#include "src/base/string_view.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATH "/api/v1/namespaces/default/configmaps"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define UPGRADE "Host: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
#define HANDSHAKE UPGRADE VERSION KEY "Origin: http://localhost\r\n\r\n"
#define GOODBYE "\x88\x02\x03\xe8"

enum {
    PATIENCE_MS = 60000, /* only a broken server reaches it */
    RESPONSE_MAX = 1024 * 1024,
    CLIENTS = 50,
    FLOOD_SIZE = 60000,
    PINGS = 100000,
    PING_SIZE = 6 + 125,
    PONG_SIZE = 2 + 125,
    AHEAD_MAX = 16 * 1024,  /* bytes of pings before their pongs are read */
    PONGS_MAX = 1024 * 1024 /* bytes of memory for a client's pings; all pongs together are 12 times as many */
};

static ki_testing_server *server;
static scarce_memory memory;

static void start(void) {
    ki_error err = KI_ERROR_INIT;
    scarce_memory_init(&memory, SIZE_MAX);
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.allocator = &memory.allocator), &server, &err))
        fail_msg("%s", ki_error_message(&err));
}

static int tear_down(void **state) {
    (void)state;
    ki_testing_server_free(server);
    server = NULL;
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return 0;
}

#define WEB_SOCKET_TEST(name) TEST_WITH(NULL, tear_down, name)

static void put(const char *name) {
    char json[128];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"}}", name);
    assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS, json, 0, NULL), KI_OK);
}

/* ---- a client of bytes ---- */

static int ask(const char *request) {
    struct sockaddr_in to = { .sin_family = AF_INET };
    const char *port = strrchr(ki_testing_server_url(server), ':');
    to.sin_port = htons((uint16_t)atoi(port + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    return fd;
}

/* Reads until `text` has come, or to the end where `text` is NULL. Zero bytes are taken for dots. */
static char *read_until(int fd, const char *text) {
    char *all = calloc(1, RESPONSE_MAX);
    size_t size = 0;
    assert_non_null(all);
    while (!text || !strstr(all, text)) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t got = recv(fd, all + size, RESPONSE_MAX - 1 - size, 0);
        if (got <= 0 && !text)
            break;
        if (got <= 0)
            fail_msg("the connection ended before '%s': %.300s", text, all);
        for (ssize_t i = 0; i < got; i++)
            all[size + (size_t)i] = all[size + (size_t)i] ? all[size + (size_t)i] : '.';
        size += (size_t)got;
    }
    return all;
}

static void expect(int fd, const char *text) {
    free(read_until(fd, text));
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in: %.400s", part, text);
}

/* ---- watches ---- */

WEB_SOCKET_TEST(each_event_is_a_text_frame) {
    start();
    put("a");
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    char *first = read_until(fd, "}\n");
    assert_has(first, "HTTP/1.1 101 Switching Protocols\r\n");
    assert_has(first, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    assert_has(first, "\r\n\r\n\x81\x7e");
    assert_has(first, "{\"type\":\"ADDED\",");
    free(first);
    put("b");
    char *second = read_until(fd, "}\n");
    assert_int_equal((unsigned char)second[0], 0x81);
    assert_int_equal((unsigned char)second[3], (strlen(second) - 4) & 0xff); /* the other byte of the length may be 0 */
    assert_has(second, "\"name\":\"b\"");
    free(second);
    close(fd);
}

WEB_SOCKET_TEST(a_watch_that_ends_says_goodbye) {
    start();
    int fd = ask("GET " PATH "?watch=true&timeoutSeconds=1 HTTP/1.1\r\n" HANDSHAKE);
    char *all = read_until(fd, NULL);
    assert_has(all, "\r\n\r\n" GOODBYE);
    free(all);
    close(fd);
}

WEB_SOCKET_TEST(a_ping_and_a_close_get_a_response) {
    static const char ping[] = "\x89\x82\1\1\1\1hi", bye[] = "\x88\x80\1\1\1\1";
    start();
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    assert_int_equal(send(fd, ping, sizeof ping - 1, MSG_NOSIGNAL), sizeof ping - 1);
    expect(fd, "\x8a\x02ih");
    assert_int_equal(send(fd, bye, sizeof bye - 1, MSG_NOSIGNAL), sizeof bye - 1);
    char *rest = read_until(fd, NULL);
    assert_string_equal(rest, GOODBYE);
    free(rest);
    close(fd);
}

WEB_SOCKET_TEST(a_wrong_handshake_is_rejected_as_the_real_server_does) {
    static const struct {
        const char *headers, *status;
    } rows[] = {
        { UPGRADE VERSION KEY "\r\n", "HTTP/1.1 403 " },
        { UPGRADE KEY "Origin: http://localhost\r\n\r\n", "HTTP/1.1 400 " },
        { UPGRADE "Sec-WebSocket-Version: 12\r\n" KEY "Origin: http://localhost\r\n\r\n", "HTTP/1.1 400 " },
        { UPGRADE VERSION "Origin: http://localhost\r\n\r\n", "HTTP/1.1 400 " },
        { UPGRADE VERSION KEY "Sec-WebSocket-Protocol: a, b\r\nOrigin: http://localhost\r\n\r\n", "HTTP/1.1 400 " },
        { UPGRADE VERSION KEY "Sec-WebSocket-Protocol: a\r\nOrigin: http://localhost\r\n\r\n",
          "Sec-WebSocket-Protocol: a\r\n" },
        { "Host: localhost\r\nConnection: close\r\nUpgrade: websocket\r\n" VERSION KEY "\r\n", "HTTP/1.1 200 " },
    };
    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char request[512];
        snprintf(request, sizeof request, "GET " PATH "?watch=true HTTP/1.1\r\n%s", rows[i].headers);
        int fd = ask(request);
        expect(fd, rows[i].status);
        close(fd);
    }
}

WEB_SOCKET_TEST(a_request_that_is_not_a_watch_is_not_upgraded) {
    start();
    int fd = ask("GET " PATH " HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "HTTP/1.1 200 OK");
    close(fd);
    fd = ask("GET " PATH "?watch=true&resourceVersion=x HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\"kind\":\"Status\"");
    close(fd);
}

WEB_SOCKET_TEST(faults_strike_web_sockets_too) {
    start();
    put("a");
    assert_int_equal(ki_testing_server_add_fault(server, "cut,bytes=10,verb=watch", NULL, NULL), KI_OK);
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    char *all = read_until(fd, NULL);
    const char *body = strstr(all, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strlen(body + 4), 10);
    free(all);
    close(fd);
}

WEB_SOCKET_TEST(a_server_that_ends_says_goodbye_to_all) {
    int fds[CLIENTS];
    start();
    for (size_t i = 0; i < CLIENTS; i++)
        fds[i] = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    for (size_t i = 0; i < CLIENTS; i++)
        expect(fds[i], "\r\n\r\n");
    put("last");
    ki_testing_server_free(server);
    server = NULL;
    for (size_t i = 0; i < CLIENTS; i++) {
        char *rest = read_until(fds[i], NULL);
        assert_has(rest, "\"name\":\"last\"");
        assert_has(rest, GOODBYE);
        free(rest);
        close(fds[i]);
    }
}

WEB_SOCKET_TEST(a_server_that_starts_again_cuts_them_all) {
    start();
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    assert_int_equal(ki_testing_server_add_fault(server, "restart,down=1ms", NULL, NULL), KI_OK);
    free(read_until(fd, NULL));
    close(fd);
}

WEB_SOCKET_TEST(watches_that_are_cut_are_not_told_goodbye) {
    start();
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    ki_testing_server_cut_watches(server);
    char *rest = read_until(fd, NULL);
    assert_null(strstr(rest, GOODBYE));
    free(rest);
    close(fd);
}

WEB_SOCKET_TEST(a_client_that_goes_is_forgotten) {
    start();
    for (int i = 0; i < CLIENTS; i++) {
        int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
        if (i % 2)
            expect(fd, "\r\n\r\n");
        close(fd);
        put("a");
    }
}

/* ---- floods ---- */

/* Sends at most `size` bytes of the longest pings, from the byte after the first `sent`. Returns the bytes sent, 0 for
 * none now; -1 if the connection is closed. */
static ssize_t send_pings(int fd, size_t sent, size_t size) {
    char block[PING_SIZE * 100];
    for (size_t i = 0; i < sizeof block; i += PING_SIZE)
        memcpy(memset(block + i, 'x', PING_SIZE), "\x89\xfd\1\1\1\1", 6);
    size_t at = sent % PING_SIZE, most = sizeof block - at;
    ssize_t got = send(fd, block + at, size < most ? size : most, MSG_NOSIGNAL | MSG_DONTWAIT);
    return got < 0 ? (errno == EAGAIN ? 0 : -1) : got;
}

WEB_SOCKET_TEST(pings_take_no_memory_when_their_pongs_are_read) {
    static char received[1 << 16];
    start();
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    scarce_memory_begin_peak(&memory);
    size_t sent = 0, answered = 0;
    while (answered < (size_t)PINGS * PONG_SIZE) {
        size_t left = (size_t)PINGS * PING_SIZE - sent;
        if (sent > answered + AHEAD_MAX + sent / PING_SIZE * (PING_SIZE - PONG_SIZE))
            left = 0; /* first reads what has come */
        if (left > AHEAD_MAX)
            left = AHEAD_MAX;
        struct pollfd ready = { .fd = fd, .events = (short)(POLLIN | (left ? POLLOUT : 0)) };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t got = left && ready.revents & POLLOUT ? send_pings(fd, sent, left) : 0;
        assert_true(got >= 0);
        sent += (size_t)got;
        got = ready.revents & POLLIN ? recv(fd, received, sizeof received, 0) : 1;
        assert_true(got > 0);
        answered += ready.revents & POLLIN ? (size_t)got : 0;
    }
    if (scarce_memory_peak(&memory) > PONGS_MAX)
        fail_msg("%zu bytes for %zu bytes of pongs", scarce_memory_peak(&memory), answered);
    put("a");
    expect(fd, "\"name\":\"a\"");
    close(fd);
}

WEB_SOCKET_TEST(a_client_that_pings_and_does_not_read_is_closed) {
    start();
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    scarce_memory_begin_peak(&memory);
    for (ssize_t sent = 0, got = 0; (got = send_pings(fd, (size_t)sent, SIZE_MAX)) >= 0; sent += got) {
        struct pollfd ready = { .fd = fd, .events = POLLOUT };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    }
    assert_true(scarce_memory_peak(&memory) <= PONGS_MAX);
    close(fd);
}

static void read_bytes(int fd, unsigned char *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t got = recv(fd, bytes + at, size - at, 0);
        assert_true(got > 0);
        at += (size_t)got;
    }
}

/* Reads a frame. Returns its payload, which the next call overwrites, and its first byte. */
static ki_str read_frame(int fd, unsigned char *ret_first) {
    static unsigned char payload[RESPONSE_MAX];
    unsigned char head[10];
    read_bytes(fd, head, 2);
    size_t more = head[1] == 126 ? 2 : head[1] == 127 ? 8 : 0, size = more ? 0 : head[1];
    read_bytes(fd, head + 2, more);
    for (size_t i = 0; i < more; i++)
        size = size << 8 | head[2 + i];
    assert_true(size < sizeof payload);
    read_bytes(fd, payload, size);
    *ret_first = head[0];
    return (ki_str){ (const char *)payload, size };
}

/* A large object is sent from the place that all watches share. No pong comes into the middle of its frame. */
WEB_SOCKET_TEST(pongs_come_between_large_frames) {
    enum {
        LARGE = 600 * 1000
    };
    char *json = malloc(LARGE + 200);
    assert_non_null(json);
    start();
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        int head = sprintf(json, "{\"metadata\":{\"name\":\"n%d\",\"namespace\":\"default\"},\"data\":{\"k\":\"", i);
        memset(json + head, 'v', LARGE);
        strcpy(json + head + LARGE, "\"}}");
        assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS, json, 0, NULL), KI_OK);
        assert_int_equal(send_pings(fd, 0, PING_SIZE), PING_SIZE);
    }
    for (int events = 0, pongs = 0; events < 3 || pongs < 3;) {
        unsigned char first;
        ki_str frame = read_frame(fd, &first);
        if (first == 0x8a) {
            assert_int_equal(frame.size, 125);
            pongs++;
            continue;
        }
        assert_int_equal(first, 0x81);
        assert_true(ki_str_starts_with(frame, KI_STR("{\"type\":\"ADDED\",\"object\":{")));
        assert_memory_equal(frame.data + frame.size - 8, "vvv\"}}}\n", 8);
        assert_true(frame.size > LARGE);
        events++;
    }
    close(fd);
    free(json);
}

/* The fault's byte is among those of the pongs. */
WEB_SOCKET_TEST(pongs_before_a_cut_do_no_harm) {
    start();
    assert_int_equal(ki_testing_server_add_fault(server, "cut,bytes=10,verb=watch", NULL, NULL), KI_OK);
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    assert_int_equal(send_pings(fd, 0, PING_SIZE), PING_SIZE);
    expect(fd, "yyyyy"); /* x without its mask */
    put("a");
    free(read_until(fd, NULL));
    close(fd);
}

/* A ping of 65,535 bytes is wrong from its head on. The reset comes while the server still has bytes to read. */
WEB_SOCKET_TEST(a_ping_that_is_too_long_ends_only_its_own_connection) {
    static const char head[] = "\x89\xfe\xff\xff\1\1\1\1";
    const struct linger reset = { .l_onoff = 1 };
    start();
    for (int i = 0; i < CLIENTS; i++) {
        char *flood = malloc(FLOOD_SIZE);
        assert_non_null(flood);
        memset(flood, 'x', FLOOD_SIZE);
        memcpy(flood, head, sizeof head - 1);
        int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
        expect(fd, "\r\n\r\n");
        (void)!send(fd, flood, FLOOD_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        close(fd);
        free(flood);
    }
    int fd = ask("GET " PATH "?watch=true HTTP/1.1\r\n" HANDSHAKE);
    expect(fd, "\r\n\r\n");
    put("a");
    expect(fd, "\"name\":\"a\"");
    close(fd);
}
