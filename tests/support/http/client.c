/* client.c: see client.h. */
#include "tests/support/http/client.h"

#include "tests/support/patience.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    RESPONSE_MAX = 4 * 1024 * 1024
};

int http_dial(int port) {
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

void http_send(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

const char *http_receive(int fd) {
    static char response[RESPONSE_MAX];
    size_t size = 0;
    ssize_t part;
    while ((part = recv(fd, response + size, sizeof response - 1 - size, 0)) > 0)
        size += (size_t)part;
    response[size] = '\0';
    close(fd);
    return response;
}

const char *http_ask(int port, const char *request) {
    int fd = http_dial(port);
    http_send(fd, request);
    return http_receive(fd);
}

const char *http_get(int port, const char *target, const char *headers) {
    char request[8192];
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
                        target, headers);
    assert_true(size > 0 && (size_t)size < sizeof request);
    return http_ask(port, request);
}

int http_port(const char *url) {
    return atoi(strrchr(url, ':') + 1);
}
