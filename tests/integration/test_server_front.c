/* test_server_front.c: the embedded server over real sockets on loopback, and its own functions. */
#include <kinformer-testing/server.h>

#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 60000, /* only a broken server reaches it */
    CLOSED_MS = 30000,   /* as above; shorter than the server's idle timeout */
    WATCHERS = 200,
    LATE_WATCHES = 10,
    RESPONSE_MAX = 8 * 1024 * 1024
};

static ki_testing_server *server;

static void start(const ki_testing_server_options *options) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_new(options, &server, &err))
        fail_msg("%s", ki_error_message(&err));
}

static int tear_down(void **state) {
    (void)state;
    ki_testing_server_free(server);
    server = NULL;
    return 0;
}

#define FRONT_TEST(name) TEST_WITH(NULL, tear_down, name)

static void put_config_map(const char *name, size_t bytes) {
    size_t room = bytes + 256;
    char *json = malloc(room);
    char *value = malloc(bytes + 1);
    assert_non_null(json);
    assert_non_null(value);
    memset(value, 'v', bytes);
    value[bytes] = '\0';
    snprintf(json, room, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"data\":{\"key\":\"%s\"}}", name,
             value);
    assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS, json, 0, NULL), KI_OK);
    free(value);
    free(json);
}

/* ---- a client of bytes ---- */

static int connect_to_server(void) {
    struct sockaddr_in to = { .sin_family = AF_INET };
    const char *port = strrchr(ki_testing_server_url(server), ':');
    assert_non_null(port);
    to.sin_port = htons((uint16_t)atoi(port + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        assert_true(sent > 0);
        data += sent;
        size -= (size_t)sent;
    }
}

static void ask(int fd, const char *head) {
    send_all(fd, head, strlen(head));
}

/* Reads until `text` has come, or to the end where `text` is NULL. Gives what came; freed with free. */
static char *read_until(int fd, const char *text) {
    char *all = malloc(RESPONSE_MAX);
    size_t size = 0;
    assert_non_null(all);
    for (;;) {
        all[size] = '\0';
        if (text && strstr(all, text))
            return all;
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        ssize_t got = recv(fd, all + size, RESPONSE_MAX - 1 - size, 0);
        if (got <= 0 && !text)
            return all;
        if (got <= 0)
            fail_msg("the connection ended before '%s'", text);
        size += (size_t)got;
    }
}

/* One request on a connection of its own; head and body in one text. */
static char *exchange(const char *head) {
    int fd = connect_to_server();
    ask(fd, head);
    char *response = read_until(fd, NULL);
    close(fd);
    return response;
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in: %.300s", part, text);
}

/* ---- HTTP ---- */

FRONT_TEST(a_list_has_the_objects_and_its_content_type) {
    start(NULL);
    put_config_map("a", 10);
    char *response = exchange("GET /api/v1/configmaps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_has(response, "HTTP/1.1 200 OK\r\n");
    assert_has(response, "Content-Type: application/json\r\n");
    assert_has(response, "\"kind\":\"ConfigMapList\"");
    assert_has(response, "\"name\":\"a\"");
    free(response);
}

FRONT_TEST(a_connection_serves_one_request_after_the_other) {
    start(NULL);
    int fd = connect_to_server();
    for (int i = 0; i < 3; i++) {
        ask(fd, "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
        free(read_until(fd, "\"platform\""));
    }
    close(fd);
}

FRONT_TEST(head_is_get_without_the_body) {
    start(NULL);
    char *response = exchange("HEAD /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_has(response, "HTTP/1.1 200 OK\r\n");
    assert_has(response, "Content-Length: ");
    assert_null(strstr(response, "platform"));
    free(response);
}

FRONT_TEST(a_wrong_method_is_rejected_with_those_that_are_right) {
    start(NULL);
    char *response = exchange("PATCH /api/v1/pods HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_has(response, "HTTP/1.1 405 ");
    assert_has(response, "Allow: ");
    assert_has(response, "\"reason\":\"MethodNotAllowed\"");
    free(response);
}

FRONT_TEST(a_body_of_more_than_3_mib_is_413_with_a_status) {
    static char block[65536];
    const size_t size = 3 * 1024 * 1024 + 1;
    char head[160];
    start(NULL);
    memset(block, ' ', sizeof block);
    int fd = connect_to_server();
    snprintf(
        head, sizeof head,
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n",
        size);
    ask(fd, head);
    for (size_t sent = 0; sent < size; sent += sizeof block)
        send_all(fd, block, size - sent < sizeof block ? size - sent : sizeof block);
    char *response = read_until(fd, NULL);
    assert_has(response, "HTTP/1.1 413 ");
    assert_has(response, "\"reason\":\"RequestEntityTooLarge\"");
    free(response);
    close(fd);
}

FRONT_TEST(a_body_without_end_is_cut_off) {
    static char chunk[64 * 1024 + 16];
    start(NULL);
    int fd = connect_to_server();
    size_t size = (size_t)snprintf(chunk, sizeof chunk, "10000\r\n");
    memset(chunk + size, 'x', 64 * 1024);
    memcpy(chunk + size + 64 * 1024, "\r\n", 2);
    size += 64 * 1024 + 2;
    ask(fd, "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    ssize_t sent = 1;
    for (int i = 0; i < 16 * 1024 && sent > 0; i++) /* 1 GiB */
        sent = send(fd, chunk, size, MSG_NOSIGNAL);
    assert_true(sent < 0);
    close(fd);
}

FRONT_TEST(a_large_response_is_packed_only_where_that_is_asked_for) {
    static const struct {
        const char *target, *header;
        bool packed;
    } rows[] = {
        { "/api/v1/configmaps", "Accept-Encoding: deflate, gzip, br\r\n", true },
        { "/api/v1/configmaps", "Accept-Encoding: gzip;q=0\r\n", false },
        { "/api/v1/configmaps", "", false },
        { "/version", "Accept-Encoding: gzip\r\n", false },
    };
    start(NULL);
    put_config_map("large", 200000);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char head[256];
        snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", rows[i].target,
                 rows[i].header);
        char *response = exchange(head);
        assert_has(response, "HTTP/1.1 200 OK\r\n");
        assert_int_equal(strstr(response, "Content-Encoding: gzip\r\n") != NULL, rows[i].packed);
        free(response);
    }
}

/* "GET /x?p0=v&p1=v… HTTP/1.1" and its like: `count` times a number between `left` and `right`. */
static char *many(const char *before, const char *left, const char *right, int count, const char *after) {
    char *head = malloc(strlen(before) + (size_t)count * 16 + strlen(after) + 1);
    assert_non_null(head);
    size_t size = (size_t)sprintf(head, "%s", before);
    for (int i = 0; i < count; i++)
        size += (size_t)snprintf(head + size, 16, "%s%d%s", left, i, right);
    memcpy(head + size, after, strlen(after) + 1);
    return head;
}

FRONT_TEST(any_number_of_parameters_and_headers_gets_a_response) {
    static const char rest[] = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                      target[] = "GET /api/v1/pods?";
    static const char head[] = "GET /api/v1/pods HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    static const struct {
        const char *before, *left, *right, *after, *status;
        int count;
    } rows[] = {
        { target, "p", "=v&", rest, "HTTP/1.1 200 ", 1200 },     { target, "p", "=v&", rest, "HTTP/1.1 414 ", 10000 },
        { target, "", "&", rest, "HTTP/1.1 200 ", 3000 },        { head, "h", ": v\r\n", "\r\n", "HTTP/1.1 200 ", 500 },
        { head, "h", ": v\r\n", "\r\n", "HTTP/1.1 431 ", 3000 },
    };
    start(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *request = many(rows[i].before, rows[i].left, rows[i].right, rows[i].count, rows[i].after);
        int fd = connect_to_server();
        ask(fd, request);
        char *response = read_until(fd, "\r\n\r\n");
        if (strncmp(response, rows[i].status, strlen(rows[i].status)) != 0)
            fail_msg("row %zu: %.60s", i, response);
        free(response);
        free(request);
        close(fd);
    }
}

/* ---- watches ---- */

static void open_watch(int fd) {
    char head[256];
    snprintf(head, sizeof head,
             "GET /api/v1/configmaps?watch=true&resourceVersion=%llu HTTP/1.1\r\nHost: localhost\r\n\r\n",
             (unsigned long long)ki_testing_server_revision(server));
    ask(fd, head);
    free(read_until(fd, "\r\n\r\n"));
}

FRONT_TEST(a_watch_gets_each_change) {
    start(NULL);
    int fd = connect_to_server();
    open_watch(fd);
    put_config_map("a", 10);
    char *frame = read_until(fd, "}\n");
    assert_has(frame, "{\"type\":\"ADDED\",\"object\":{");
    free(frame);
    assert_int_equal(
        ki_testing_server_patch(server, KI_CONFIGMAPS, "default", "a", "{\"data\":{\"key\":\"new\"}}", 0, NULL), KI_OK);
    frame = read_until(fd, "}\n");
    assert_has(frame, "\"MODIFIED\"");
    assert_has(frame, "\"key\":\"new\"");
    free(frame);
    assert_int_equal(ki_testing_server_delete(server, KI_CONFIGMAPS, "default", "a", NULL), KI_OK);
    frame = read_until(fd, "}\n");
    assert_has(frame, "\"DELETED\"");
    free(frame);
    close(fd);
}

FRONT_TEST(an_object_larger_than_a_block_comes_whole) {
    start(NULL);
    int fd = connect_to_server();
    open_watch(fd);
    put_config_map("large", 1000000);
    char *frame = read_until(fd, "}\n");
    size_t count = 0;
    for (const char *c = frame; *c; c++)
        count += *c == 'v';
    assert_true(count >= 1000000);
    free(frame);
    close(fd);
}

FRONT_TEST(every_watcher_gets_the_change) {
    static int fds[WATCHERS];
    start(NULL);
    for (int i = 0; i < WATCHERS; i++) {
        fds[i] = connect_to_server();
        open_watch(fds[i]);
    }
    put_config_map("a", 10);
    for (int i = 0; i < WATCHERS; i++) {
        free(read_until(fds[i], "\"name\":\"a\""));
        if (i % 2)
            close(fds[i]); /* the others are open when the server ends */
    }
    tear_down(NULL);
    for (int i = 0; i < WATCHERS; i += 2) {
        free(read_until(fds[i], NULL));
        close(fds[i]);
    }
}

FRONT_TEST(a_watch_ends_when_its_time_is_over_or_the_server_closes_it) {
    start(NULL);
    char *response = exchange(
        "GET /api/v1/pods?watch=true&timeoutSeconds=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_has(response, "\r\n0\r\n"); /* the last chunk: a clean end */
    free(response);

    int fd = connect_to_server();
    ask(fd, "GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    free(read_until(fd, "\r\n\r\n"));
    ki_testing_server_close_watches(server);
    response = read_until(fd, NULL);
    assert_has(response, "0\r\n");
    free(response);
    close(fd);
}

FRONT_TEST(a_change_right_after_the_watches_are_closed_does_not_reach_them) {
    enum {
        ROUNDS = 10
    };
    int fds[ROUNDS];
    start(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "late-%d", i);
        fds[i] = connect_to_server();
        open_watch(fds[i]);
        ki_testing_server_close_watches(server);
        put_config_map(name, 10);
    }
    for (int i = 0; i < ROUNDS; i++) {
        char *rest = read_until(fds[i], "0\r\n\r\n");
        assert_null(strstr(rest, "late-"));
        free(rest);
        close(fds[i]);
    }
}

FRONT_TEST(the_connection_of_a_watch_that_is_cut_is_closed_at_once) {
    start(NULL);
    int idle = connect_to_server(); /* is older, and stays open */
    ask(idle, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(read_until(idle, "ok"));
    int watch = connect_to_server();
    ask(watch, "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(read_until(watch, "\r\n\r\n"));
    ki_testing_server_cut_watches(server);
    free(read_until(watch, NULL));
    ask(watch, "?"); /* a closed connection is reset */
    struct pollfd closed = { .fd = watch };
    assert_int_equal(poll(&closed, 1, CLOSED_MS), 1);
    close(watch);
    close(idle);
}

FRONT_TEST(a_status_in_a_patch_or_a_replacement_is_written) {
    static const char pod[] =
        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
    ki_testing_text text = KI_TESTING_TEXT_INIT;
    ki_error err = KI_ERROR_INIT;
    start(NULL);
    assert_int_equal(ki_testing_server_create(server, KI_PODS, "default", pod, 0, NULL), KI_OK);
    assert_int_equal(ki_testing_server_patch(
                         server, KI_PODS, "default", "web",
                         "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"status\":{\"phase\":\"Running\"}}", 0, NULL),
                     KI_OK);
    assert_int_equal(ki_testing_server_get(server, KI_PODS, "default", "web", &text, NULL), KI_OK);
    assert_has(text.data, "\"phase\":\"Running\"");
    assert_has(text.data, "\"a\":\"b\"");

    char *changed = strdup(text.data); /* with the resource version that it was read with */
    memcpy(strstr(changed, "\"Running\""), "\"Unknown\"", 9);
    ki_testing_text_clear(&text);
    assert_int_equal(ki_testing_server_replace(server, KI_PODS, "default", "web", changed, 0, &err), KI_OK);
    assert_int_equal(ki_testing_server_get(server, KI_PODS, "default", "web", &text, NULL), KI_OK);
    assert_has(text.data, "\"phase\":\"Unknown\"");
    ki_testing_text_clear(&text);

    /* An error changes neither part. */
    uint64_t revision = ki_testing_server_revision(server);
    assert_int_equal(ki_testing_server_patch(server, KI_PODS, "default", "web",
                                             "{\"metadata\":{\"labels\":{\"a\":\"c\"}},\"status\":{\"phase\":5}}", 0,
                                             NULL),
                     KI_ERR_HTTP);
    memcpy(strstr(changed, "\"Unknown\""), "\"Running\"", 9);
    assert_int_equal(ki_testing_server_replace(server, KI_PODS, "default", "web", changed, 0, &err), KI_ERR_HTTP);
    assert_int_equal(err.http_status, 409); /* `changed` is out of date */
    assert_int_equal(ki_testing_server_revision(server), revision);
    free(changed);
}

FRONT_TEST(a_server_that_ends_sends_what_has_happened_first) {
    start(NULL);
    int fd = connect_to_server();
    open_watch(fd);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        put_config_map(name, 1000);
    }
    tear_down(NULL);
    char *response = read_until(fd, NULL);
    assert_has(response, "\"name\":\"n99\"");
    assert_has(response, "\r\n0\r\n"); /* and ends cleanly */
    free(response);
    close(fd);
}

FRONT_TEST(a_watch_from_before_the_compaction_is_expired) {
    start(NULL);
    put_config_map("a", 10);
    put_config_map("b", 10);
    ki_testing_server_compact(server);
    char *response = exchange(
        "GET /api/v1/configmaps?watch=true&resourceVersion=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_has(response, "\"reason\":\"Expired\"");
    free(response);
}

/* ---- where it listens ---- */

FRONT_TEST(it_listens_where_it_is_configured_and_prints_where) {
    start(&KI_TESTING_SERVER_OPTIONS(.listen = "127.0.0.1:0"));
    assert_int_equal(strncmp(ki_testing_server_url(server), "http://127.0.0.1:", 17), 0);
    ki_testing_server *second = NULL;
    ki_error err = KI_ERROR_INIT;
    const char *taken = ki_testing_server_url(server) + strlen("http://");
    assert_int_equal(ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.listen = taken), &second, &err), KI_ERR_SYSTEM);
    assert_has(err.message, taken);
    tear_down(NULL);

    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.listen = "[::1]:0"), &server, &err) ==
        KI_OK) /* else: no IPv6 */
        assert_int_equal(strncmp(ki_testing_server_url(server), "http://[::1]:", 13), 0);
}

FRONT_TEST(what_is_no_address_is_rejected) {
    static const char *const rows[] = { "nowhere:1", "127.0.0.1:70000", "127.0.0.1:x", "[::1",
                                        "[::1]x",    "1.2.3",           "::1:1:" };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.listen = rows[i]), &server, &err) != KI_ERR_INVALID)
            fail_msg("%s: %s", rows[i], ki_error_message(&err));
        assert_has(err.message, rows[i]);
    }
}

/* ---- its own functions ---- */

FRONT_TEST(the_first_namespaces_are_as_old_as_the_server) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_text first = KI_TESTING_TEXT_INIT, now = KI_TESTING_TEXT_INIT;
    start(NULL);
    assert_int_equal(ki_testing_server_put(server, KI_NAMESPACES, "{\"metadata\":{\"name\":\"n\"}}", 0, &err), KI_OK);
    assert_int_equal(ki_testing_server_get(server, KI_NAMESPACES, NULL, "default", &first, &err), KI_OK);
    assert_int_equal(ki_testing_server_get(server, KI_NAMESPACES, NULL, "n", &now, &err), KI_OK);
    static const char field[] = "\"creationTimestamp\":\"";
    const char *a = strstr(first.data, field), *b = strstr(now.data, field);
    assert_true(a && b);
    assert_memory_equal(a, b, strlen(field) + strlen("2026-01")); /* the month, lest a minute's end matter */
    ki_testing_text_clear(&first);
    ki_testing_text_clear(&now);
}

FRONT_TEST(objects_are_made_changed_and_removed_as_by_a_client) {
    static const char json[] = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}";
    static const char stale[] = "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"},\"data\":{\"k\":\"2\"}}";
    ki_error err = KI_ERROR_INIT;
    ki_testing_text text = KI_TESTING_TEXT_INIT;
    start(NULL);
    assert_int_equal(ki_testing_server_create(server, KI_CONFIGMAPS, "default", json, 0, &err), KI_OK);
    assert_int_equal(ki_testing_server_create(server, KI_CONFIGMAPS, "default", json, sizeof json - 1, &err),
                     KI_ERR_HTTP);
    assert_int_equal(err.http_status, 409);
    assert_string_equal(err.reason, "AlreadyExists");
    assert_int_equal(ki_testing_server_replace(server, KI_CONFIGMAPS, "default", "a", stale, 0, &err), KI_ERR_HTTP);
    assert_string_equal(err.reason, "Conflict");
    assert_int_equal(
        ki_testing_server_patch(server, KI_CONFIGMAPS, "default", "a", "{\"data\":{\"k\":\"3\"}}", 0, &err), KI_OK);
    assert_int_equal(ki_testing_server_count(server, KI_CONFIGMAPS), 1);
    assert_int_equal(ki_testing_server_get(server, KI_CONFIGMAPS, "default", "a", &text, &err), KI_OK);
    assert_has(text.data, "\"k\":\"3\"");
    ki_testing_text_clear(&text);
    assert_int_equal(ki_testing_server_delete(server, KI_CONFIGMAPS, "default", "a", &err), KI_OK);
    assert_int_equal(ki_testing_server_get(server, KI_CONFIGMAPS, "default", "a", &text, &err), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_testing_server_delete(server, KI_CONFIGMAPS, "default", "a", &err), KI_ERR_HTTP);
    assert_int_equal(err.http_status, 404);
}

FRONT_TEST(any_request_can_be_made_without_a_network) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_text text = KI_TESTING_TEXT_INIT;
    start(NULL);
    assert_int_equal(ki_testing_server_request(server, "GET", "/version", NULL, NULL, 0, &text, &err), KI_OK);
    assert_has(text.data, "gitVersion");
    ki_testing_text_clear(&text);
    assert_int_equal(ki_testing_server_request(server, "GET", "/nothing", NULL, NULL, 0, &text, &err), KI_ERR_HTTP);
    assert_int_equal(err.http_status, 404);
    ki_testing_text_clear(&text);
    assert_int_equal(ki_testing_server_request(server, "GET", "/api/v1/pods?watch=true", NULL, NULL, 0, &text, &err),
                     KI_ERR_INVALID);
}

/* A deletion without a name must never become one of the whole collection. */
FRONT_TEST(a_request_that_lacks_something_changes_nothing) {
    static const char *const no_names[] = { NULL, "" };
    ki_testing_text text = KI_TESTING_TEXT_INIT;
    start(NULL);
    put_config_map("kept", 1);
    uint64_t before = ki_testing_server_revision(server);
    for (size_t i = 0; i < 2; i++) {
        const char *none = no_names[i];
        assert_int_equal(ki_testing_server_delete(server, KI_CONFIGMAPS, "default", none, NULL), KI_ERR_INVALID);
        assert_int_equal(ki_testing_server_patch(server, KI_CONFIGMAPS, "default", none, "{}", 0, NULL),
                         KI_ERR_INVALID);
        assert_int_equal(ki_testing_server_replace(server, KI_CONFIGMAPS, "default", none, "{}", 0, NULL),
                         KI_ERR_INVALID);
        assert_int_equal(ki_testing_server_get(server, KI_CONFIGMAPS, "default", none, &text, NULL), KI_ERR_INVALID);
    }
    assert_int_equal(ki_testing_server_delete(server, NULL, "default", "kept", NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_patch(server, KI_CONFIGMAPS, "default", "kept", NULL, 0, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_create(server, NULL, "default", "{}", 0, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_create(server, KI_CONFIGMAPS, "default", NULL, 5, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS, NULL, 0, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_put(server, NULL, "{}", 0, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_get(server, NULL, NULL, "kept", &text, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_get(server, KI_CONFIGMAPS, "default", "kept", NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_request(server, NULL, "/version", NULL, NULL, 0, &text, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_request(server, "GET", NULL, NULL, NULL, 0, &text, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_request(server, "GET", "", NULL, NULL, 0, &text, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_request(server, "POST", "/version", NULL, NULL, 7, &text, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_write_kubeconfig(server, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_new(NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_delete(NULL, KI_CONFIGMAPS, "default", "kept", NULL), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_revision(server), before);
}

static bool count_pods(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    (void)key, (void)key_size, (void)json, (void)size;
    ++*(size_t *)user;
    return true;
}

FRONT_TEST(the_load_changes_objects_until_it_is_stopped) {
    size_t pods = 0;
    ki_testing_load load = { 0 };
    start(&KI_TESTING_SERVER_OPTIONS(.pods = 100, .churn = 5000, .seed = 7));
    while (load.changes < 1000)
        ki_testing_server_load(server, &load);
    assert_int_equal(ki_testing_server_set_churn(server, 0, NULL), KI_OK);
    uint64_t revision = ki_testing_server_revision(server);
    ki_testing_server_each(server, KI_PODS, count_pods, &pods);
    assert_int_equal(pods, ki_testing_server_count(server, KI_PODS));
    assert_in_range(pods, 70, 100);
    assert_true(ki_testing_server_revision(server) == revision);
    tear_down(NULL);

    start(NULL);
    assert_int_equal(ki_testing_server_set_churn(server, 10, NULL), KI_ERR_STATE);
}

FRONT_TEST(a_server_that_lacks_memory_does_not_start_or_says_so) {
    for (size_t n = 0;; n += n / 16 + 1) {
        scarce_memory memory;
        ki_error err = KI_ERROR_INIT;
        scarce_memory_init(&memory, n);
        ki_status status = ki_testing_server_new(
            &KI_TESTING_SERVER_OPTIONS(.allocator = &memory.allocator, .pods = 1, .nodes = 1), &server, &err);
        if (scarce_memory_failed(&memory))
            assert_int_equal(status, KI_ERR_NO_MEMORY);
        if (!status) { /* enough to start: a request may fail now */
            char *response = exchange("GET /api/v1/pods HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            bool is_fine = strstr(response, "HTTP/1.1 200 ") && strstr(response, "}]}");
            assert_true(is_fine || strstr(response, "HTTP/1.1 500 ") || !*response);
            free(response);
        }
        tear_down(NULL);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        if (!scarce_memory_failed(&memory))
            break;
    }
}

/* ---- the end ---- */

/* An allocator at which the daemon's thread waits, once. */
static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_armed, is_entered, is_released;
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *gated_alloc(size_t size, void *user) {
    char name[16] = "";
    (void)user;
    (void)pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_mutex_lock(&gate.mutex);
    if (gate.is_armed && strncmp(name, "MHD", 3) == 0) {
        gate.is_armed = false;
        gate.is_entered = true;
        pthread_cond_broadcast(&gate.changed);
        while (!gate.is_released)
            pthread_cond_wait(&gate.changed, &gate.mutex);
    }
    pthread_mutex_unlock(&gate.mutex);
    return malloc(size);
}

static void *plain_realloc(void *memory, size_t size, void *user) {
    (void)user;
    return realloc(memory, size);
}

static void plain_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

static _Atomic long freer;

static void *free_server(void *user) {
    freer = syscall(SYS_gettid);
    ki_testing_server_free(user);
    return NULL;
}

/* Waits until a thread of this process sleeps. */
static void await_asleep(const _Atomic long *thread) {
    for (char state = 0; state != 'S'; poll(NULL, 0, 1)) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", *thread);
        FILE *file = *thread ? fopen(path, "r") : NULL;
        if (file && fgets(text, sizeof text, file) && strrchr(text, ')'))
            state = strrchr(text, ')')[2];
        if (file)
            fclose(file);
    }
}

FRONT_TEST(it_can_be_freed_while_a_malformed_request_is_read) {
    static const char good[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      malformed[] = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n";
    char bytes[4096];
    const ki_allocator allocator = { .alloc = gated_alloc, .realloc = plain_realloc, .free = plain_free };
    pthread_t thread;
    start(&KI_TESTING_SERVER_OPTIONS(.allocator = &allocator));
    int fd = connect_to_server();
    assert_int_equal(send(fd, good, strlen(good), MSG_NOSIGNAL), strlen(good));
    assert_true(recv(fd, bytes, sizeof bytes, 0) > 0); /* the connection has what it needs */
    gate.is_armed = true;
    assert_int_equal(send(fd, malformed, strlen(malformed), MSG_NOSIGNAL), strlen(malformed));
    pthread_mutex_lock(&gate.mutex);
    while (!gate.is_entered)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
    assert_int_equal(pthread_create(&thread, NULL, free_server, server), 0);
    server = NULL;
    await_asleep(&freer);
    pthread_mutex_lock(&gate.mutex);
    gate.is_released = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
    pthread_join(thread, NULL);
    close(fd);
}

/* Frees the server while one watch is not read, and another one arrives. Returns true if the second ends cleanly. */
static bool ends_late_watch(void) {
    pthread_t thread;
    start(NULL);
    put_config_map("large", 16 * 1024 * 1024);
    int slow = connect_to_server(), late = connect_to_server();
    ask(slow, "GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    free(read_until(slow, "\r\n\r\n"));
    freer = 0;
    assert_int_equal(pthread_create(&thread, NULL, free_server, server), 0);
    server = NULL;
    await_asleep(&freer);
    ask(late, "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    char *response = read_until(late, NULL);
    bool is_clean = strstr(response, "\r\n0\r\n") != NULL;
    free(response);
    pthread_join(thread, NULL);
    close(slow);
    close(late);
    return is_clean;
}

FRONT_TEST(a_watch_that_arrives_while_the_server_ends_is_ended_too) {
    for (int i = 0; i < LATE_WATCHES; i++) { /* the server waits for half a second only */
        if (ends_late_watch())
            return;
    }
    fail_msg("no late watch has ended cleanly");
}
