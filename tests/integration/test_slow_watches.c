/* test_slow_watches.c: watches that do not read cost the embedded server little, however large the objects are that
 * change. */
#include <kinformer-testing/server.h>

#include "src/base/error.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 60000, /* only a broken server reaches it */
    SLOW = 60,
    CHANGES = 12,
    OBJECT_SIZE = 1024 * 1024,
    PEAK_MAX = 40 * OBJECT_SIZE /* history has CHANGES of them; a copy for each watch would be SLOW more */
};

static ki_testing_server *server;

#define WATCH "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: localhost\r\n"
static const char http[] = WATCH "\r\n";
static const char web_socket[] = WATCH "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://x\r\n\r\n";

static int open_watch(const char *request, int received) {
    struct sockaddr_in to = { .sin_family = AF_INET };
    to.sin_port = htons((uint16_t)atoi(strrchr(ki_testing_server_url(server), ':') + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &received, sizeof received), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    return fd;
}

/* Reads until so many events have come. */
static void read_events(int fd, int count) {
    static char block[1 << 16];
    for (int seen = 0; seen < count;) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t size = recv(fd, block, sizeof block, 0);
        assert_true(size > 0);
        for (ssize_t i = 0; i < size; i++)
            seen += block[i] == '\n' && i > 0 && block[i - 1] == '}';
    }
}

static void change(int number) {
    char *json = malloc(OBJECT_SIZE + 128);
    assert_non_null(json);
    int head = snprintf(
        json, 128, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"data\":{\"n\":\"%d\",\"k\":\"", number);
    memset(json + head, 'v', OBJECT_SIZE);
    strcpy(json + head + OBJECT_SIZE, "\"}}");
    assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS, json, 0, NULL), KI_OK);
    free(json);
}

static void share(const char *request) {
    int slow[SLOW];
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.allocator = &memory.allocator), &server, &err))
        fail_msg("%s", ki_error_message(&err));
    for (int i = 0; i < SLOW; i++)
        slow[i] = open_watch(request, 4096);
    int fast = open_watch(http, 1 << 20);
    for (int i = 0; i < CHANGES; i++) {
        change(i);
        read_events(fast, 1);
    }
    for (int i = 0; i < SLOW; i += 10)
        read_events(slow[i], 1); /* what comes late is whole */
    if (scarce_memory_peak(&memory) > PEAK_MAX)
        fail_msg("%zu MiB at the peak", scarce_memory_peak(&memory) >> 20);
    close(fast);
    for (int i = 0; i < SLOW; i++)
        close(slow[i]);
    ki_testing_server_free(server);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(watches_that_do_not_read_share_what_they_wait_for) {
    share(http);
}

TEST(web_sockets_that_do_not_read_share_it_too) {
    share(web_socket);
}
