/* watch --metrics: what a scraper gets, and that no other client keeps it from that. */
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    RESPONSE_MAX = 256 * 1024
};

static char response[RESPONSE_MAX];

/* Starts a watch with metrics; gives the port. */
static int start(const char *address) {
    int port = 0;
    COMMAND_RUN("watch", "nodes", "--server", "URL", "--metrics", address);
    const char *line;
    while (!port && (line = ki_process_err_line(&command))) {
        const char *url = strstr(line, "metrics at http://127.0.0.1:");
        if (url)
            port = atoi(url + strlen("metrics at http://127.0.0.1:"));
    }
    assert_true(port > 0);
    command_says("synced, 3 objects");
    return port;
}

static int dial(int port) {
    const struct timeval patience = { .tv_sec = KI_PROCESS_PATIENCE_MS / 1000 };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void send_text(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that comes until the end. */
static const char *receive(int fd) {
    size_t size = 0;
    ssize_t part;
    while ((part = recv(fd, response + size, sizeof response - 1 - size, 0)) > 0)
        size += (size_t)part;
    response[size] = '\0';
    close(fd);
    return response;
}

static const char *ask(int port, const char *request) {
    int fd = dial(port);
    send_text(fd, request);
    return receive(fd);
}

static const char good[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

COMMAND_TEST(a_scraper_gets_openmetrics) {
    int port = start("0");
    const char *got = ask(port, good);
    assert_memory_equal(got, "HTTP/1.1 200", 12);
    assert_non_null(strstr(got, "application/openmetrics-text; version=1.0.0"));
    assert_non_null(strstr(got, "resource=\"nodes\""));
    assert_string_equal(got + strlen(got) - 6, "# EOF\n");
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(what_is_no_scrape_is_rejected) {
    static const struct {
        const char *request, *response;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404" },
        { "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405" },
        { "DELETE /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 405" },
        { "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200" },
    };
    int port = start("127.0.0.1:0");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_memory_equal(ask(port, rows[i].request), rows[i].response, 12);
    (void)ask(port, "\x16\x03\x01 garbage\r\n\r\n");
    assert_memory_equal(ask(port, good), "HTTP/1.1 200", 12);

    int fd = dial(port); /* headers without end are cut off */
    char line[1024];
    memset(line, 'a', sizeof line - 3);
    memcpy(line, "X: ", 3);
    memcpy(line + sizeof line - 3, "\r\n", 3);
    send_text(fd, "GET /metrics HTTP/1.1\r\n");
    for (int i = 0; i < 64 && send(fd, line, strlen(line), MSG_NOSIGNAL) > 0; i++)
        continue;
    assert_null(strstr(receive(fd), "HTTP/1.1 200"));
    assert_memory_equal(ask(port, good), "HTTP/1.1 200", 12);
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(silent_and_slow_clients_keep_nobody_waiting) {
    int idle[20];
    int port = start(":0");
    for (size_t i = 0; i < 20; i++) {
        idle[i] = dial(port);
        if (i % 2)
            send_text(idle[i], "GET /met");
    }
    assert_memory_equal(ask(port, good), "HTTP/1.1 200", 12);
    assert_int_equal(ki_testing_server_patch(command_server, KI_NODES, NULL, "node-00001",
                                             "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 0, NULL),
                     KI_OK);
    assert_non_null(ki_process_expect(&command, "node-00001  metadata.labels"));
    send_text(idle[1], "rics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_memory_equal(receive(idle[1]), "HTTP/1.1 200", 12);
    for (size_t i = 0; i < 20; i++) {
        if (i != 1)
            close(idle[i]);
    }
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

static size_t descriptors(void) {
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)command.pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* The command has so many descriptors, in the end. */
static void wait_for_descriptors(size_t count) {
    for (int left_ms = KI_PROCESS_PATIENCE_MS; descriptors() != count; left_ms -= 10) {
        assert_true(left_ms > 0);
        poll(NULL, 0, 10);
    }
}

static unsigned long times_asleep(void) {
    char path[64], line[128];
    unsigned long times = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)command.pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "voluntary_ctxt_switches: %lu", &times);
    fclose(file);
    return times;
}

/* The command sleeps, and nothing that has come so far wakes it. */
static void wait_until_it_sleeps(void) {
    unsigned long times = times_asleep();
    for (int same = 0, left_ms = KI_PROCESS_PATIENCE_MS; same < 20; left_ms -= 10) {
        assert_true(left_ms > 0);
        poll(NULL, 0, 10);
        same = times == times_asleep() ? same + 1 : 0;
        times = times_asleep();
    }
}

/* As many as it takes at once, who say nothing and go: then it listens again, though nothing else happens in the
 * cluster. */
COMMAND_TEST(a_crowd_that_has_gone_keeps_nobody_out) {
    enum {
        CROWD = 64
    };
    int crowd[CROWD];
    const struct timeval before_any_bookmark = { .tv_sec = 20 };
    int port = start(":0");
    size_t before = descriptors();
    for (size_t i = 0; i < CROWD; i++)
        crowd[i] = dial(port);
    wait_for_descriptors(before + CROWD);
    wait_until_it_sleeps();
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i]);
    wait_for_descriptors(before);
    wait_until_it_sleeps();
    int fd = dial(port);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &before_any_bookmark, sizeof before_any_bookmark);
    send_text(fd, good);
    assert_memory_equal(receive(fd), "HTTP/1.1 200", 12);
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(an_address_that_is_none_is_said) {
    static const char *const bad[] = { "nowhere", "x:1", ":", ":70000", "1.2.3:80", "[::1]", "127.0.0.1:" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        COMMAND_RUN("watch", "nodes", "--server", "URL", "--metrics", bad[i]);
        command_says("a port, or an address with a port");
        command_ends(2);
    }
    COMMAND_RUN("watch", "nodes", "--server", "URL", "--metrics", "203.0.113.1:80");
    command_says("--metrics: cannot listen at 203.0.113.1:80");
    command_ends(1);
}
