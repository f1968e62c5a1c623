/* test_curl_transport.c: the libcurl transport against servers that do well, and servers that do not. */

#include "src/transport/curl.h"
#include "src/transport/curl_internal.h"
#include "src/transport/transport.h"
#include "tests/support/config_files.h"
#include "tests/support/fixture.h"
#include "tests/support/raw_server.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <curl/curl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* --- the client --------------------------------------------------------------------------------------------------- */

typedef struct client {
    ki_engine *engine;
    ki_config *config;
    ki_transport *transport;
} client;

/* What came of one request; h(ead), d(ata, once for all in a row), e(nd) or x (cut). */
typedef struct outcome {
    client *of;
    ki_exchange *exchange;
    char trace[32];
    int status;
    int64_t retry_after_ms;
    char content_type[64];
    char body[4096]; /* its beginning */
    size_t size;
    size_t reads;    /* calls of on_read */
    size_t reported; /* `size` at the last one */
    ki_error end;
    char cancel_in;             /* h, d: cancels itself there */
    struct outcome *cancel_too; /* and this one, in the same callback */
    struct outcome *send_next;  /* sent from on_end */
} outcome;

static const ki_request get_request = { .method = "GET", .target = "/api/v1/pods?limit=1" };

static ki_status send_one(client *self, outcome *one, const ki_request *request);

static void note(outcome *one, char what) {
    size_t size = strlen(one->trace);
    if (what == 'd' && size && one->trace[size - 1] == 'd')
        return;
    assert_true(size + 1 < sizeof one->trace);
    one->trace[size] = what;
}

static void cancel(outcome *one) {
    assert_non_null(one->exchange);
    ki_transport_cancel(one->of->transport, one->exchange);
    one->exchange = NULL;
}

static void maybe_cancel(outcome *one, char where) {
    note(one, where);
    if (one->cancel_in != where)
        return;
    cancel(one);
    if (one->cancel_too)
        cancel(one->cancel_too);
}

static void on_head(const ki_response_head *head, void *user) {
    outcome *one = user;
    one->status = head->status;
    one->retry_after_ms = head->retry_after_ms;
    snprintf(one->content_type, sizeof one->content_type, "%s", head->content_type);
    maybe_cancel(one, 'h');
}

static void on_data(const char *data, size_t size, void *user) {
    outcome *one = user;
    if (one->size + size < sizeof one->body)
        memcpy(one->body + one->size, data, size);
    one->size += size;
    maybe_cancel(one, 'd');
}

static void on_read(int64_t until, void *user) {
    outcome *one = user;
    (void)until; /* the kernel's clock is not the test's */
    one->reads++;
    one->reported = one->size;
}

static void on_end(const ki_error *err, void *user) {
    outcome *one = user;
    if (err)
        one->end = *err;
    note(one, err ? 'x' : 'e');
    one->exchange = NULL;
    if (one->send_next)
        assert_int_equal(send_one(one->of, one->send_next, &get_request), KI_OK);
}

static ki_status send_one(client *self, outcome *one, const ki_request *request) {
    const ki_response_sink sink = { on_head, on_data, on_read, on_end, one };
    one->of = self;
    return ki_transport_send(self->transport, request, &sink, &one->exchange, NULL);
}

static ki_status open_on(client *self, const ki_config_options *options, const ki_engine_options *engine) {
    memset(self, 0, sizeof *self);
    ki_status status = ki_config_new(options, &self->config, NULL);
    if (!status)
        status = ki_engine_new(engine, &self->engine, NULL);
    if (!status)
        status = ki_curl_transport_new(self->engine, self->config, &self->transport, NULL);
    return status;
}

static ki_status open_client(client *self, const ki_config_options *options, const ki_allocator *allocator) {
    return open_on(self, options, &KI_ENGINE_OPTIONS(.seed = 1, .allocator = allocator));
}

/* `clock` NULL: the system's. */
static void open_plain_with(client *self, int port, const ki_clock *clock) {
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    assert_int_equal(open_on(self, &KI_CONFIG_OPTIONS(.server = url), &KI_ENGINE_OPTIONS(.seed = 1, .clock = clock)),
                     KI_OK);
}

static void open_plain(client *self, int port) {
    open_plain_with(self, port, NULL);
}

static void close_client(client *self) {
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
    ki_config_free(self->config);
}

static void wait_and_step(client *self) {
    struct pollfd descriptor = { .fd = ki_engine_fd(self->engine), .events = POLLIN };
    poll(&descriptor, 1, ki_engine_timeout(self->engine));
    assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
}

static void run_until_ended(client *self, const outcome *one) {
    while (one->exchange)
        wait_and_step(self);
}

/* One request, one response. */
static void exchange_once(const raw_response *response, const ki_request *request, outcome *one, raw_server *server) {
    raw_server_start(server, response, 1);
    client self;
    open_plain(&self, server->port);
    assert_int_equal(send_one(&self, one, request), KI_OK);
    assert_string_equal(one->trace, ""); /* nothing from inside send */
    run_until_ended(&self, one);
    close_client(&self);
    raw_server_stop(server);
}

/* --- responses ---------------------------------------------------------------------------------------------------- */

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define CLOSED "closed the connection"
#define CHUNKED OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"

TEST(a_response_is_reported_as_it_came) {
    static const struct {
        raw_response response;
        const char *trace;
        int status;
        const char *body;
        ki_status end;
        const char *message;
    } cases[] = {
        { { OK_HEAD "Content-Length: 4\r\n\r\nbody", 0, RAW_KEEP }, "hde", 200, "body", KI_OK, NULL },
        { { OK_HEAD "Content-Length: 4\r\n\r\nbody", 1, RAW_KEEP }, "hde", 200, "body", KI_OK, NULL },
        { { OK_HEAD "Content-Length: 0\r\n\r\n", 0, RAW_KEEP }, "he", 200, "", KI_OK, NULL },
        { { CHUNKED "4\r\nbody\r\n3\r\nand\r\n0\r\n\r\n", 0, RAW_KEEP }, "hde", 200, "bodyand", KI_OK, NULL },
        { { CHUNKED "4\r\nbody\r\n3\r\nand\r\n0\r\n\r\n", 1, RAW_KEEP }, "hde", 200, "bodyand", KI_OK, NULL },
        { { CHUNKED "4\r\nbody\r\n0\r\nTrailer: x\r\n\r\n", 3, RAW_KEEP }, "hde", 200, "body", KI_OK, NULL },
        { { OK_HEAD "\r\nuntil the end", 0, RAW_CLOSE }, "hde", 200, "until the end", KI_OK, NULL },
        { { "HTTP/1.1 103 Early\r\nX: y\r\n\r\n" OK_HEAD "Content-Length: 2\r\n\r\nok", 5, RAW_KEEP },
          "hde",
          200,
          "ok",
          KI_OK,
          NULL },
        { { "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nwhy", 0, RAW_KEEP }, "hde", 404, "why", KI_OK, NULL },
        { { "HTTP/1.1 302 There\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", 0, RAW_KEEP },
          "he",
          302,
          "",
          KI_OK,
          NULL },
        { { CHUNKED "4\r\nbody\r\n40\r\nhalf a ch", 0, RAW_CLOSE },
          "hdx",
          200,
          "bodyhalf a ch",
          KI_ERR_UNEXPECTED_EOF,
          CLOSED },
        { { CHUNKED "4\r\nbody\r\n", 0, RAW_CLOSE }, "hdx", 200, "body", KI_ERR_UNEXPECTED_EOF, CLOSED },
        { { CHUNKED "4\r\nbody\r\n", 0, RAW_RESET }, NULL, 200, NULL, KI_ERR_UNEXPECTED_EOF, CLOSED },
        { { OK_HEAD "Content-Length: 10\r\n\r\nfour", 0, RAW_CLOSE },
          "hdx",
          200,
          "four",
          KI_ERR_UNEXPECTED_EOF,
          CLOSED },
        { { OK_HEAD, 0, RAW_CLOSE }, NULL, 0, NULL, KI_ERR_UNEXPECTED_EOF, CLOSED },
        { { "", 0, RAW_CLOSE }, "x", 0, "", KI_ERR_UNEXPECTED_EOF, CLOSED },
        { { "What is it?\r\n\r\n", 0, RAW_CLOSE }, "x", 0, "", KI_ERR_PROTOCOL, "does not send HTTP" },
        { { "HTTP/1.1 200 OK\r\nno name\r\n\r\n", 0, RAW_CLOSE }, "x", 0, "", KI_ERR_PROTOCOL, "does not send HTTP" },
        { { CHUNKED "0\r\nno name\r\n\r\n", 0, RAW_CLOSE }, "hx", 200, "", KI_ERR_PROTOCOL, "does not send HTTP" },
        { { "\x16\x03\x01\x02\r\n", 0, RAW_CLOSE }, "x", 0, "", KI_ERR_PROTOCOL, "does not send HTTP" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome one = { .status = 0 };
        raw_server server;
        exchange_once(&cases[i].response, &get_request, &one, &server);
        if ((cases[i].trace && strcmp(one.trace, cases[i].trace) != 0) || one.end.code != cases[i].end)
            fail_msg("case %zu: %s, %s", i, one.trace, ki_error_message(&one.end));
        if (cases[i].body)
            assert_string_equal(one.body, cases[i].body);
        if (cases[i].trace)
            assert_int_equal(one.status, cases[i].status);
        if (cases[i].message && !strstr(one.end.message, cases[i].message))
            fail_msg("case %zu: %s", i, one.end.message);
        assert_int_equal(server.requests, 1); /* no redirect was followed */
    }
}

TEST(a_request_says_who_asks_for_what_and_no_more) {
    const raw_response response = { OK_HEAD "Content-Length: 0\r\nRetry-After: 7\r\n\r\n", 0, RAW_KEEP };
    outcome one = { .status = 0 };
    raw_server server;
    exchange_once(&response, &get_request, &one, &server);
    assert_int_equal(strncmp(server.last_request, "GET /api/v1/pods?limit=1 HTTP/1.1\r\n", 35), 0);
    assert_non_null(strstr(server.last_request, "\r\nAccept: application/json\r\n"));
    assert_non_null(strstr(server.last_request, "\r\nUser-Agent: "));
    assert_non_null(strstr(server.last_request, "kinformer/"));
    assert_null(strstr(server.last_request, "Authorization"));
    assert_null(strstr(server.last_request, "Accept-Encoding"));
    assert_null(strstr(server.last_request, "Expect"));
    assert_int_equal(one.retry_after_ms, 7000);
    assert_string_equal(one.content_type, "application/json");

    const ki_request post = {
        .method = "PUT", .target = "/../x", .accept = "a/b", .content_type = "c/d", .body = { "{\"a\":1}", 7 }
    };
    one = (outcome){ .status = 0 };
    exchange_once(&response, &post, &one, &server);
    assert_int_equal(strncmp(server.last_request, "PUT /../x HTTP/1.1\r\n", 20), 0);
    assert_non_null(strstr(server.last_request, "\r\nAccept: a/b\r\n"));
    assert_non_null(strstr(server.last_request, "\r\nContent-Type: c/d\r\n"));
    assert_non_null(strstr(server.last_request, "\r\nContent-Length: 7\r\n"));
}

TEST(a_path_of_the_servers_address_goes_before_every_target) {
    static const struct {
        const char *path, *target, *line;
    } cases[] = {
        { "", "/api/v1/pods?limit=1", "GET /api/v1/pods?limit=1 HTTP" },
        { "/", "/api", "GET /api HTTP" },
        { "/p1/p2", "/api/v1/pods?limit=1", "GET /p1/p2/api/v1/pods?limit=1 HTTP" },
        { "/p1/p2/", "/f1/f2/f3", "GET /p1/p2/f1/f2/f3 HTTP" },
        { "/p1", "/f1/f2/", "GET /p1/f1/f2/ HTTP" },
        { "/p1", "/", "GET /p1/ HTTP" },
    };
    static const raw_response response = { OK_HEAD "Content-Length: 0\r\n\r\n", 0, RAW_KEEP };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome one = { .status = 0 };
        raw_server server;
        client self;
        char url[64];
        raw_server_start(&server, &response, 1);
        snprintf(url, sizeof url, "http://127.0.0.1:%d%s", server.port, cases[i].path);
        assert_int_equal(open_client(&self, &KI_CONFIG_OPTIONS(.server = url), NULL), KI_OK);
        assert_int_equal(send_one(&self, &one, &(ki_request){ .method = "GET", .target = cases[i].target }), KI_OK);
        run_until_ended(&self, &one);
        close_client(&self);
        raw_server_stop(&server);
        if (strncmp(server.last_request, cases[i].line, strlen(cases[i].line)) != 0)
            fail_msg("%s and %s: %.60s", cases[i].path, cases[i].target, server.last_request);
    }
}

TEST(a_header_line_above_the_limit_is_the_servers_fault) {
    enum {
        LONG = 200 * 1024
    };
    char *text = malloc(LONG + 100);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, OK_HEAD "X-Long: ");
    memset(text + used, 'x', LONG - used);
    memcpy(text + LONG, "\r\n\r\n", 5);
    const raw_response response = { text, 0, RAW_CLOSE };
    outcome one = { .status = 0 };
    raw_server server;
    exchange_once(&response, &get_request, &one, &server);
    free(text);
    assert_string_equal(one.trace, "x");
    assert_int_equal(one.end.code, KI_ERR_PROTOCOL);
    assert_int_equal(one.end.category, KI_CATEGORY_SERVER);
    assert_non_null(strstr(one.end.message, "a header line that is too long"));
}

/* The endless part is the 1xx responses, the head or the trailers. */
TEST(headers_without_end_are_cut_off) {
    enum {
        LINES = 6000 /* of 50 bytes */
    };
    static const struct {
        const char *before, *after, *trace;
    } cases[] = {
        { OK_HEAD, "\r\n", "x" },
        { CHUNKED "4\r\nbody\r\n0\r\n", "\r\n", "hdx" },
        { "HTTP/1.1 103 Early\r\n", "\r\n" OK_HEAD "Content-Length: 0\r\n\r\n", "x" },
    };
    char *text = malloc(LINES * 50 + 1024);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *at = text + sprintf(text, "%s", cases[i].before);
        for (int n = 0; n < LINES; n++)
            at += sprintf(at, "X-%05d: 01234567890123456789012345678901234567\r\n", n);
        sprintf(at, "%s", cases[i].after);
        const raw_response response = { text, 0, RAW_CLOSE };
        outcome one = { .status = 0 };
        raw_server server;
        exchange_once(&response, &get_request, &one, &server);
        if (strcmp(one.trace, cases[i].trace) != 0 || one.end.code != KI_ERR_PROTOCOL)
            fail_msg("case %zu: %s, %s", i, one.trace, ki_error_message(&one.end));
        assert_int_equal(one.end.category, KI_CATEGORY_SERVER);
    }
    free(text);
}

TEST(retry_after_zero_is_at_once_and_nonsense_is_none) {
    static const struct {
        const char *response;
        int64_t want_ms;
    } cases[] = {
        { "HTTP/1.1 429 No\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", 0 },
        { "HTTP/1.1 429 No\r\nretry-after:3 \r\nContent-Length: 0\r\n\r\n", 3000 },
        { "HTTP/1.1 429 No\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", -1 },
        { "HTTP/1.1 429 No\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n", -1 },
        { "HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", -1 },
        { "HTTP/1.1 429 No\r\nRetry-After: 9999999999999999\r\nContent-Length: 0\r\n\r\n", INT64_MAX / 1000 * 1000 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const raw_response response = { cases[i].response, 0, RAW_KEEP };
        outcome one = { .status = 0 };
        raw_server server;
        exchange_once(&response, &get_request, &one, &server);
        if (one.retry_after_ms != cases[i].want_ms)
            fail_msg("case %zu: %lld", i, (long long)one.retry_after_ms);
    }
}

/* The server takes a connection's second request and closes without a word: it may have carried it out. */
TEST(what_changes_something_is_never_sent_twice) {
    static const struct {
        ki_request request;
        size_t requests;
        ki_status end;
    } cases[] = {
        { { .method = "GET", .target = "/x" }, 3, KI_OK },
        { { .method = "POST", .target = "/x", .body = { "{}", 2 }, .content_type = "a/b" }, 2, KI_ERR_UNEXPECTED_EOF },
        { { .method = "POST", .target = "/x" }, 2, KI_ERR_UNEXPECTED_EOF },
        { { .method = "PUT", .target = "/x", .body = { "{}", 2 } }, 2, KI_ERR_UNEXPECTED_EOF },
        { { .method = "PATCH", .target = "/x", .body = { "{}", 2 } }, 2, KI_ERR_UNEXPECTED_EOF },
        { { .method = "DELETE", .target = "/x" }, 2, KI_ERR_UNEXPECTED_EOF },
    };
    static const raw_response responses[] = {
        { OK_HEAD "Content-Length: 2\r\n\r\nok", 0, RAW_KEEP },
        { "", 0, RAW_CLOSE },
        { OK_HEAD "Content-Length: 2\r\n\r\nok", 0, RAW_KEEP },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_server server;
        raw_server_start(&server, responses, 3);
        client self;
        open_plain(&self, server.port);
        outcome first = { .status = 0 }, second = { .status = 0 };
        assert_int_equal(send_one(&self, &first, &get_request), KI_OK);
        run_until_ended(&self, &first);
        assert_int_equal(send_one(&self, &second, &cases[i].request), KI_OK);
        run_until_ended(&self, &second);
        close_client(&self);
        raw_server_stop(&server);
        if (server.requests != cases[i].requests || second.end.code != cases[i].end)
            fail_msg("case %zu: %zu requests, %s", i, server.requests, ki_error_message(&second.end));
    }
}

TEST(a_write_without_a_body_says_so_and_header_values_stay_one_line) {
    const raw_response response = { OK_HEAD "Content-Length: 0\r\n\r\n", 0, RAW_KEEP };
    outcome one = { .status = 0 };
    raw_server server;
    const ki_request post = { .method = "POST", .target = "/x" };
    exchange_once(&response, &post, &one, &server);
    assert_int_equal(strncmp(server.last_request, "POST /x HTTP/1.1\r\n", 18), 0);
    assert_non_null(strstr(server.last_request, "\r\nContent-Length: 0\r\n"));
    assert_null(strstr(server.last_request, "Content-Type"));
    one = (outcome){ .status = 0 };
    const ki_request delete = { .method = "DELETE", .target = "/x" };
    exchange_once(&response, &delete, &one, &server);
    assert_int_equal(strncmp(server.last_request, "DELETE /x HTTP/1.1\r\n", 20), 0);

    client self;
    open_plain(&self, raw_server_free_port());
    const ki_request smuggling = { .method = "GET", .target = "/x", .accept = "a/b\r\nX-Other: y" };
    assert_int_equal(send_one(&self, &one, &smuggling), KI_ERR_INVALID);
    close_client(&self);
}

TEST(a_lack_of_descriptors_is_not_blamed_on_the_server) {
    client self;
    open_plain(&self, raw_server_free_port());
    outcome one = { .status = 0 };
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(send_one(&self, &one, &get_request), KI_OK);
    const struct rlimit none = { 3, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    run_until_ended(&self, &one);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (!strstr(one.end.message, "cannot create a socket to connect to"))
        fail_msg("%s", one.end.message);
    assert_int_equal(one.end.code, KI_ERR_SYSTEM);
    assert_int_equal(one.end.category, KI_CATEGORY_FATAL);
    close_client(&self);
}

TEST(a_refused_connection_says_where_and_why) {
    client self;
    int port = raw_server_free_port();
    open_plain(&self, port);
    outcome one = { .status = 0 };
    assert_int_equal(send_one(&self, &one, &get_request), KI_OK);
    run_until_ended(&self, &one);
    char want[128];
    snprintf(want, sizeof want, "connect to http://127.0.0.1:%d: Connection refused", port);
    assert_string_equal(one.end.message, want);
    assert_int_equal(one.end.code, KI_ERR_CONNECT);
    assert_int_equal(one.end.category, KI_CATEGORY_RETRY);
    close_client(&self);
}

/* --- cancelling, timeouts ----------------------------------------------------------------------------------------- */

static int64_t own_now(void *user) {
    return *(const int64_t *)user;
}

/* Sends a request at the time `*now`. */
static void begin_timed(client *self, raw_server *server, const raw_response *response, int64_t *now, outcome *one) {
    raw_server_start(server, response, 1);
    open_plain_with(self, server->port, &(ki_clock){ .now = own_now, .user = now });
    assert_int_equal(send_one(self, one, &get_request), KI_OK);
}

static void end_timed(client *self, raw_server *server, outcome *one) {
    cancel(one);
    close_client(self);
    raw_server_stop(server);
}

TEST(a_busy_exchange_is_told_once_in_an_interval_that_it_has_all_and_a_silent_one_too) {
    raw_server server;
    client self;
    int64_t now = KI_SECONDS(1);
    outcome busy = { .status = 0 }, silent = { .status = 0 };
    begin_timed(&self, &server, &(raw_response){ OK_HEAD "\r\n", 0, RAW_ENDLESS }, &now, &busy);
    for (size_t reads = 1; reads < 4; reads++) {
        while (busy.reads < reads)
            wait_and_step(&self);
        for (size_t before = busy.size; busy.size < before + 100000;)
            wait_and_step(&self);
        assert_int_equal(busy.reads, reads);
        now += KI_MILLISECONDS(KI_CURL_REPORT_MS);
    }
    end_timed(&self, &server, &busy);

    begin_timed(&self, &server, &(raw_response){ OK_HEAD "\r\n0123456789", 1, RAW_SILENT }, &now, &silent);
    while (silent.size < strlen("0123456789"))
        wait_and_step(&self);
    now += KI_MILLISECONDS(KI_CURL_REPORT_MS);
    assert_int_equal(ki_engine_step(self.engine, 0, NULL), KI_OK);
    assert_int_equal(silent.reported, silent.size);
    end_timed(&self, &server, &silent);
}

TEST(an_endless_response_can_be_cancelled_anywhere) {
    const raw_response response = { OK_HEAD "\r\n", 0, RAW_ENDLESS };
    static const char where[] = { 'h', 'd', 0 };
    for (size_t i = 0; i < sizeof where; i++) {
        raw_server server;
        raw_server_start(&server, &response, 1);
        client self;
        open_plain(&self, server.port);
        outcome one = { .cancel_in = where[i] };
        assert_int_equal(send_one(&self, &one, &get_request), KI_OK);
        while (one.exchange && one.size < 100000)
            wait_and_step(&self);
        if (!where[i])
            cancel(&one);
        size_t size = one.size;
        for (int n = 0; n < 3; n++)
            assert_int_equal(ki_engine_step(self.engine, 0, NULL), KI_OK);
        assert_string_equal(one.trace, where[i] == 'h' ? "h" : "hd");
        assert_int_equal(one.size, size);
        close_client(&self);
        raw_server_stop(&server);
    }
}

TEST(cancelling_before_anything_happened_is_silent) {
    client self;
    open_plain(&self, raw_server_free_port());
    outcome one = { .status = 0 };
    assert_int_equal(send_one(&self, &one, &get_request), KI_OK);
    cancel(&one);
    assert_int_equal(send_one(&self, &one, &get_request), KI_OK);
    assert_int_equal(ki_engine_step(self.engine, 1, NULL), KI_OK);
    if (one.exchange)
        cancel(&one);
    for (int n = 0; n < 3; n++)
        assert_int_equal(ki_engine_step(self.engine, 0, NULL), KI_OK);
    close_client(&self);
}

TEST(silence_ends_with_a_timeout_and_the_next_request_gets_a_new_connection) {
    static const raw_response responses[] = {
        { OK_HEAD "\r\nfirst", 0, RAW_SILENT },
        { "", 0, RAW_SILENT },
        { OK_HEAD "Content-Length: 2\r\n\r\nok", 0, RAW_KEEP },
    };
    raw_server server;
    raw_server_start(&server, responses, 3);
    client self;
    open_plain(&self, server.port);
    ki_request request = get_request;
    request.idle_timeout_ns = KI_MILLISECONDS(20);
    outcome one = { .status = 0 }, two = { .status = 0 }, three = { .status = 0 };
    assert_int_equal(send_one(&self, &one, &request), KI_OK);
    run_until_ended(&self, &one);
    assert_int_equal(one.end.code, KI_ERR_TIMEOUT);
    assert_int_equal(one.end.category, KI_CATEGORY_RETRY);
    assert_int_equal(send_one(&self, &two, &request), KI_OK);
    run_until_ended(&self, &two);
    assert_string_equal(two.trace, "x");
    assert_non_null(strstr(two.end.message, "does not respond: no byte for 20 ms"));
    assert_int_equal(send_one(&self, &three, &get_request), KI_OK);
    run_until_ended(&self, &three);
    assert_string_equal(three.trace, "hde");
    close_client(&self);
    raw_server_stop(&server);
    assert_int_equal(server.connections, 3);
}

TEST(the_total_timeout_ends_an_endless_response) {
    const raw_response response = { OK_HEAD "\r\n", 0, RAW_ENDLESS };
    ki_request request = get_request;
    request.total_timeout_ns = KI_MILLISECONDS(30);
    request.idle_timeout_ns = KI_SECONDS(60);
    outcome one = { .status = 0 };
    raw_server server;
    exchange_once(&response, &request, &one, &server);
    assert_int_equal(one.end.code, KI_ERR_TIMEOUT);
    assert_non_null(strstr(one.end.message, "timed out waiting for a complete response"));
}

TEST(a_connection_is_used_again_and_callbacks_may_send) {
    const raw_response response = { OK_HEAD "Content-Length: 2\r\n\r\nok", 0, RAW_KEEP };
    raw_server server;
    raw_server_start(&server, &response, 1);
    client self;
    open_plain(&self, server.port);
    outcome third = { .status = 0 }, second = { .send_next = &third }, first = { .send_next = &second };
    assert_int_equal(send_one(&self, &first, &get_request), KI_OK);
    while (!third.trace[0] || third.exchange)
        wait_and_step(&self);
    assert_string_equal(first.trace, "hde");
    assert_string_equal(second.trace, "hde");
    assert_string_equal(third.trace, "hde");
    close_client(&self);
    raw_server_stop(&server);
    assert_int_equal(server.requests, 3);
    assert_int_equal(server.connections, 1);
}

TEST(a_callback_may_cancel_another_exchange_too) {
    const raw_response endless = { OK_HEAD "\r\n", 0, RAW_ENDLESS };
    raw_server servers[2];
    raw_server_start(&servers[0], &endless, 1);
    client self;
    open_plain(&self, servers[0].port);
    outcome other = { .status = 0 }, queued = { .status = 0 }, one = { .cancel_in = 'd', .cancel_too = &other };
    assert_int_equal(send_one(&self, &one, &get_request), KI_OK);
    assert_int_equal(send_one(&self, &other, &get_request), KI_OK); /* its connection waits to be accepted */
    assert_int_equal(send_one(&self, &queued, &get_request), KI_OK);
    while (one.exchange)
        wait_and_step(&self);
    assert_null(other.exchange);
    assert_string_equal(one.trace, "hd");
    assert_int_equal(strchr(other.trace, 'e') != NULL || strchr(other.trace, 'x') != NULL, 0);
    close_client(&self); /* one is still under way: it ends without a callback */
    assert_null(strchr(queued.trace, 'x'));
    raw_server_stop(&servers[0]);
}

/* --- TLS ---------------------------------------------------------------------------------------------------------- */

#define TLS_FILE(name) KI_TEST_DATA_DIR "/tls/" name

/* Sends the Authorization header back as the body. */
static enum MHD_Result say_authorization(void *user, struct MHD_Connection *connection, const char *url,
                                         const char *method, const char *version, const char *upload,
                                         size_t *upload_size, void **request) {
    (void)user, (void)url, (void)method, (void)version, (void)upload, (void)upload_size, (void)request;
    const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    char text[128];
    int size = snprintf(text, sizeof text, "%s", said ? said : "nothing");
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

typedef struct tls_case {
    const char *certificate, *key; /* the server's */
    const char *host;
    const char *ca; /* the client's; NULL: the system's */
    bool insecure;
    const char *client_certificate, *client_key;
    ki_status want;
    ki_category category;
    const char *message; /* of the error, or the body */
} tls_case;

static void check_tls(const tls_case *one) {
    char *certificate = fixture_read(one->certificate, NULL), *key = fixture_read(one->key, NULL);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL, say_authorization, NULL,
                         MHD_OPTION_HTTPS_MEM_CERT, certificate, MHD_OPTION_HTTPS_MEM_KEY, key, MHD_OPTION_END);
    assert_non_null(daemon);
    char server[64];
    snprintf(server, sizeof server, "https://%s:%d", one->host,
             MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    ki_config_options options = KI_CONFIG_OPTIONS(.server = server);
    options.token = one->client_certificate ? NULL : "secret-token";
    options.certificate_authority = one->ca;
    options.insecure_skip_tls_verify = one->insecure;
    options.client_certificate = one->client_certificate;
    options.client_key = one->client_key;
    client self;
    assert_int_equal(open_client(&self, &options, NULL), KI_OK);
    outcome out = { .status = 0 };
    assert_int_equal(send_one(&self, &out, &get_request), KI_OK);
    run_until_ended(&self, &out);
    if (out.end.code != one->want || out.end.category != one->category ||
        !strstr(one->want ? out.end.message : out.body, one->message))
        fail_msg("%s, %s: code %d, category %d, %s %s", one->certificate, one->ca ? one->ca : "-", (int)out.end.code,
                 (int)out.end.category, out.end.message, out.body);
    assert_null(strstr(out.end.message, "secret-token"));
    close_client(&self);
    MHD_stop_daemon(daemon);
    free(certificate);
    free(key);
}

TEST(a_servers_certificate_must_be_good) {
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        skip();
    static const tls_case cases[] = {
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", TLS_FILE("ca.pem"), false, NULL, NULL, KI_OK,
          KI_CATEGORY_NONE, "Bearer secret-token" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "localhost", TLS_FILE("ca.pem"), false, NULL, NULL, KI_OK,
          KI_CATEGORY_NONE, "Bearer secret-token" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", NULL, true, NULL, NULL, KI_OK, KI_CATEGORY_NONE,
          "Bearer secret-token" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", TLS_FILE("ca.pem"), false,
          TLS_FILE("client.pem"), TLS_FILE("client.key"), KI_OK, KI_CATEGORY_NONE, "nothing" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", TLS_FILE("other-ca.pem"), false, NULL, NULL,
          KI_ERR_TLS, KI_CATEGORY_REQUEST, "is not trusted" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", NULL, false, NULL, NULL, KI_ERR_TLS,
          KI_CATEGORY_REQUEST, "is not trusted" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.2", TLS_FILE("ca.pem"), false, NULL, NULL,
          KI_ERR_TLS, KI_CATEGORY_REQUEST, "is not trusted" },
        { TLS_FILE("expired.pem"), TLS_FILE("expired.key"), "127.0.0.1", TLS_FILE("ca.pem"), false, NULL, NULL,
          KI_ERR_TLS, KI_CATEGORY_SERVER, "expired" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", TLS_FILE("garbled.pem"), false, NULL, NULL,
          KI_ERR_TLS, KI_CATEGORY_REQUEST, "certificate-authority (" TLS_FILE("garbled.pem") ") is not usable" },
        /* Only OpenSSL can tell that these do not fit: the key is without its public half. */
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", TLS_FILE("ca.pem"), false,
          TLS_FILE("server.pem"), TLS_FILE("client-private.key"), KI_ERR_TLS, KI_CATEGORY_CREDENTIALS,
          "client-certificate (" TLS_FILE("server.pem") ") or client-key (" TLS_FILE(
              "client-private.key") ") is not usable: client-key is not the key of client-certificate" },
        { TLS_FILE("server.pem"), TLS_FILE("server.key"), "127.0.0.1", TLS_FILE("ca.pem"), false,
          TLS_FILE("client.pem"), TLS_FILE("client-private.key"), KI_OK, KI_CATEGORY_NONE, "nothing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_tls(&cases[i]);
}

TEST(a_server_without_tls_is_no_https_server) {
    const raw_response response = { OK_HEAD "Content-Length: 0\r\n\r\n", 0, RAW_CLOSE };
    raw_server server;
    raw_server_start(&server, &response, 1);
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d", server.port);
    client self;
    ki_config_options options = KI_CONFIG_OPTIONS(.server = url, .token = "secret-token");
    options.certificate_authority = TLS_FILE("ca.pem"); /* there are systems that have none */
    assert_int_equal(open_client(&self, &options, NULL), KI_OK);
    ki_request request = get_request;
    request.idle_timeout_ns = KI_MILLISECONDS(50); /* the raw server waits for a head that never comes */
    outcome one = { .status = 0 };
    assert_int_equal(send_one(&self, &one, &request), KI_OK);
    run_until_ended(&self, &one);
    assert_string_equal(one.trace, "x");
    assert_int_equal(one.end.category, KI_CATEGORY_RETRY);
    close_client(&self);
    raw_server_stop(&server);
    assert_null(strstr(server.last_request, "secret-token"));
}

/* --- memory, threads ---------------------------------------------------------------------------------------------- */

TEST(every_lack_of_memory_is_an_error_without_a_leak) {
    const raw_response response = { OK_HEAD "Content-Length: 2\r\n\r\nok", 0, RAW_CLOSE };
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        raw_server server;
        raw_server_start(&server, &response, 1);
        char url[64];
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        client self;
        outcome one = { .status = 0 };
        ki_status status = open_client(&self, &KI_CONFIG_OPTIONS(.server = url), &memory.allocator);
        if (!status)
            status = send_one(&self, &one, &get_request);
        if (!status) {
            run_until_ended(&self, &one);
            status = one.end.code;
        }
        if (status != (scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK))
            fail_msg("allocation %zu: %s", memory.fail_at, ki_status_name(status));
        close_client(&self);
        raw_server_stop(&server);
    }
}

static void send_on_loop(void *user) {
    outcome *one = user;
    assert_int_equal(send_one(one->of, one, &get_request), KI_OK);
}

static void stop_at_end(const ki_error *err, void *user) {
    on_end(err, user);
    ki_engine_stop(((outcome *)user)->of->engine);
}

static void send_and_stop_on_loop(void *user) {
    outcome *one = user;
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = stop_at_end, .user = one };
    assert_int_equal(ki_transport_send(one->of->transport, &get_request, &sink, &one->exchange, NULL), KI_OK);
}

TEST(a_started_engine_serves_the_transport_on_its_own_thread) {
    const raw_response response = { OK_HEAD "Content-Length: 2\r\n\r\nok", 0, RAW_CLOSE };
    raw_server server;
    raw_server_start(&server, &response, 1);
    client self;
    open_plain(&self, server.port);
    assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
    outcome one = { .of = &self }, two = { .of = &self };
    ki_engine_call(self.engine, send_on_loop, &one);
    ki_engine_call(self.engine, send_and_stop_on_loop, &two);
    assert_int_equal(ki_engine_join(self.engine, NULL), KI_OK);
    assert_string_equal(two.trace, "hde");
    close_client(&self);
    raw_server_stop(&server);
}

TEST_GROUP(curl_transport, config_files_set_none, NULL);
