/* test_server_faults.c: faults that only a connection can show, over real sockets on loopback. */
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test.h"

enum {
    PATIENCE_MS = 90000, /* only a broken server reaches it */
    RESPONSE_MAX = 1 << 20
};

static ki_testing_server *server;
static char text[RESPONSE_MAX];
static size_t size;

static int set_up(void **state) {
    (void)state;
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_new(NULL, &server, &err) ||
        ki_testing_server_put(server, KI_CONFIGMAPS,
                              "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"data\":{\"k\":\"v\"}}", 0,
                              &err))
        fail_msg("%s", ki_error_message(&err));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_testing_server_free(server);
    server = NULL;
    return 0;
}

#define FAULTS_TEST(name) TEST_WITH(set_up, tear_down, name)

static void add(const char *fault) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_add_fault(server, fault, NULL, &err))
        fail_msg("%s", ki_error_message(&err));
}

static int try_connect(void) {
    struct sockaddr_in to = { .sin_family = AF_INET };
    to.sin_port = htons((uint16_t)atoi(strrchr(ki_testing_server_url(server), ':') + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int ask(const char *target) {
    char head[256];
    int fd = try_connect();
    assert_true(fd >= 0);
    int length = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
    assert_int_equal(send(fd, head, (size_t)length, MSG_NOSIGNAL), length);
    size = 0;
    text[0] = '\0';
    return fd;
}

/* Until `part` has come. False at the end of the connection. */
static bool read_until(int fd, const char *part) {
    while (!part || !strstr(text, part)) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);
        if (got <= 0)
            return false;
        size += (size_t)got;
        text[size] = '\0';
    }
    return true;
}

FAULTS_TEST(a_response_is_cut_after_its_bytes) {
    add("cut,bytes=20,verb=get");
    int fd = ask("/api/v1/namespaces/default/configmaps/a");
    assert_false(read_until(fd, NULL));
    const char *body = strstr(text, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strlen(body + 4), 20);
    close(fd);
}

FAULTS_TEST(a_connection_is_closed_without_a_response) {
    add("close,count=1");
    int fd = ask("/version");
    assert_false(read_until(fd, NULL));
    assert_int_equal(size, 0);
    close(fd);
    fd = ask("/version");
    assert_true(read_until(fd, "\"platform\""));
    close(fd);
}

FAULTS_TEST(a_silent_watch_says_nothing_and_stays_open) {
    add("silent,bytes=0,verb=watch");
    int fd = ask("/api/v1/configmaps?watch=1");
    assert_true(read_until(fd, "\r\n\r\n"));
    assert_int_equal(ki_testing_server_delete(server, KI_CONFIGMAPS, "default", "a", NULL), KI_OK);
    int other = ask("/api/v1/configmaps"); /* the server has gone on, and the watch is still open */
    assert_true(read_until(other, "\"items\":[]"));
    close(other);
    char byte;
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    close(fd);
}

FAULTS_TEST(chunks_are_as_small_as_was_asked) {
    add("chunks,size=1,verb=watch");
    int fd = ask("/api/v1/configmaps?watch=1");
    assert_true(read_until(fd, "1\r\n{\r\n1\r\n\"\r\n1\r\nt\r\n"));
    close(fd);
}

FAULTS_TEST(a_slow_and_late_response_comes_whole) {
    add("delay,time=20ms");
    add("bandwidth,rate=20000");
    int fd = ask("/api/v1/namespaces/default/configmaps/a");
    assert_true(read_until(fd, "\"k\":\"v\"}}"));
    close(fd);
}

FAULTS_TEST(a_late_request_does_not_keep_others_waiting_or_the_end) {
    add("delay,time=1h,verb=list");
    int late = ask("/api/v1/configmaps");
    int fd = ask("/version");
    assert_true(read_until(fd, "\"platform\""));
    close(fd);
    ki_testing_server_free(server);
    server = NULL;
    size = 0;
    text[0] = '\0';
    (void)read_until(late, NULL);
    close(late);
}

FAULTS_TEST(a_client_that_gives_up_a_late_request_is_forgotten) {
    add("delay,time=1h,verb=list");
    for (int i = 0; i < 20; i++)
        close(ask("/api/v1/configmaps"));
    int fd = ask("/version");
    assert_true(read_until(fd, "\"platform\""));
    close(fd);
}

FAULTS_TEST(a_restart_cuts_rejects_and_comes_back) {
    int fd = ask("/api/v1/configmaps?watch=1");
    assert_true(read_until(fd, "\"ADDED\""));
    add("restart,down=200ms");
    assert_false(read_until(fd, NULL));
    close(fd);
    while ((fd = try_connect()) < 0) {} /* refused, until it serves again: a connection that is made is served */
    close(fd);
    fd = ask("/api/v1/namespaces/default/configmaps/a");
    assert_true(read_until(fd, "\"k\":\"v\"}}"));
    close(fd);
}

FAULTS_TEST(a_rewind_over_http_ends_watches) {
    int fd = ask("/api/v1/configmaps?watch=1");
    assert_true(read_until(fd, "\"ADDED\""));
    add("rewind,events=1");
    assert_true(read_until(fd, "\r\n0\r\n"));
    close(fd);
    assert_int_equal(ki_testing_server_count(server, KI_CONFIGMAPS), 0);
}

FAULTS_TEST(a_server_ends_in_the_middle_of_a_long_restart) {
    add("restart,down=1h");
    int fd;
    while ((fd = try_connect()) >= 0)
        close(fd);
}

FAULTS_TEST(faults_are_listed_with_what_they_did) {
    ki_testing_text json = KI_TESTING_TEXT_INIT;
    uint64_t id = 0;
    assert_int_equal(ki_testing_server_add_fault(server, "status,code=503,n=1", &id, NULL), KI_OK);
    int fd = ask("/version");
    assert_true(read_until(fd, "\"code\":503"));
    close(fd);
    assert_int_equal(ki_testing_server_faults(server, &json, NULL), KI_OK);
    assert_non_null(strstr(json.data, "\"injected\":1"));
    ki_testing_text_clear(&json);
    assert_int_equal(ki_testing_server_remove_fault(server, id, NULL), KI_OK);
    assert_int_equal(ki_testing_server_remove_fault(server, id, NULL), KI_ERR_NOT_FOUND);
}
