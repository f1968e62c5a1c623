/* test_namespace_lookup.c: which responses say that a namespace does not exist, and which say nothing. */

#include "src/base/error.h"
#include "src/client/namespace_lookup.h"
#include "src/wire/status.h"
#include "testing/memory/transport.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

#define STATUS(code, reason) "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"code\":" #code "}"

typedef struct response {
    int status; /* 0: the connection is cut */
    const char *body;
    int64_t retry_after_ms; /* 0: none */
} response;

static const response missing = { 404, STATUS(404, "NotFound"), 0 };

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_namespace_lookup lookup;
    response response;
    char asked[256];
    int calls;
    ki_namespace_found found;
} fixture;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *f = user;
    size_t used = strlen(f->asked);
    snprintf(f->asked + used, sizeof f->asked - used, "%s %s ", request->method, request->target);
    const int64_t retry_after_ms = f->response.retry_after_ms;
    const ki_response_head head = { f->response.status, retry_after_ms ? retry_after_ms : -1, "" };
    if (f->response.status &&
        (!kt_memory_call_head(call, &head) || !kt_memory_call_data(call, f->response.body, strlen(f->response.body))))
        return;
    ki_error cut = KI_ERROR_INIT;
    ki_error_set(&cut, KI_ERR_UNEXPECTED_EOF, "cut");
    kt_memory_call_end(call, f->response.status ? NULL : &cut);
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

static void on_found(ki_namespace_found found, void *user) {
    fixture *f = user;
    f->calls++;
    f->found = found;
}

static void set_up(fixture *f, const ki_allocator *allocator) {
    memset(f, 0, sizeof *f);
    assert_true(test_engine_open(&f->engine, allocator, 1));
    const kt_memory_server server = { serve, abandoned, f };
    assert_int_equal(kt_memory_transport_new(f->engine.engine, &server, &f->transport, NULL), KI_OK);
    ki_namespace_lookup_init(&f->lookup, f->engine.engine, f->transport);
}

static void tear_down(fixture *f) {
    ki_document_request_cancel(&f->lookup.request);
    ki_transport_free(f->transport);
    test_engine_close(&f->engine);
}

TEST(only_a_status_says_that_a_namespace_does_not_exist) {
    static const struct {
        response response;
        ki_namespace_found found;
    } rows[] = {
        { { 200, "{\"kind\":\"Namespace\"}", 0 }, KI_NAMESPACE_THERE },
        { { 404, STATUS(404, "NotFound"), 0 }, KI_NAMESPACE_MISSING },
        { { 404, "404 page not found\n", 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 404, "<html>no such page</html>", 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 404, "", 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 403, STATUS(403, "Forbidden"), 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 401, STATUS(401, "Unauthorized"), 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 429, STATUS(429, "TooManyRequests"), 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 503, STATUS(503, "ServiceUnavailable"), 0 }, KI_NAMESPACE_UNCERTAIN },
        { { 0, NULL, 0 }, KI_NAMESPACE_UNCERTAIN },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        set_up(&f, NULL);
        f.response = rows[i].response;
        assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_OK);
        assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_OK); /* one at a time */
        assert_int_equal(f.calls, 0);
        assert_true(test_engine_settle(&f.engine));
        assert_int_equal(f.calls, 1);
        assert_int_equal(f.found, rows[i].found);
        assert_string_equal(f.asked, "GET /api/v1/namespaces/shop ");
        tear_down(&f);
    }
}

/* RFC 9110 §10.2.3, and details.retryAfterSeconds of a Status. */
TEST(no_question_is_sent_before_the_end_of_a_retry_after) {
    static const response rows[] = {
        { 429, STATUS(429, "TooManyRequests"), 3000 },
        { 503, "", 3000 },
        { 429, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":429,\"details\":{\"retryAfterSeconds\":3}}", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        set_up(&f, NULL);
        f.response = rows[i];
        assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_OK);
        assert_true(test_engine_settle(&f.engine));
        assert_true(test_engine_advance(&f.engine, 2999));
        assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_ERR_STATE);
        assert_true(test_engine_advance(&f.engine, 1));
        f.response = missing;
        assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_OK);
        assert_true(test_engine_settle(&f.engine));
        assert_int_equal(f.calls, 2);
        assert_int_equal(f.found, KI_NAMESPACE_MISSING);
        tear_down(&f);
    }
}

TEST(a_body_without_end_is_not_kept) {
    static char body[KI_STATUS_BODY_MAX + 1000];
    memset(body, 'x', sizeof body - 1);
    fixture f;
    set_up(&f, NULL);
    f.response = (response){ 404, body, 0 };
    assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_OK);
    assert_true(test_engine_settle(&f.engine));
    assert_int_equal(f.found, KI_NAMESPACE_UNCERTAIN);
    tear_down(&f);
}

TEST(a_cancelled_lookup_calls_nothing) {
    fixture f;
    set_up(&f, NULL);
    f.response = missing;
    assert_int_equal(ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL), KI_OK);
    ki_document_request_cancel(&f.lookup.request);
    ki_document_request_cancel(&f.lookup.request);
    assert_true(test_engine_settle(&f.engine));
    assert_int_equal(f.calls, 0);
    tear_down(&f);
}

TEST(without_memory_nothing_is_certain) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        fixture f;
        set_up(&f, &memory.allocator);
        f.response = missing;
        scarce_memory_begin(&memory);
        ki_status status = ki_namespace_lookup_begin(&f.lookup, "shop", on_found, &f, NULL);
        assert_true(test_engine_settle(&f.engine));
        if (status)
            assert_int_equal(status, KI_ERR_NO_MEMORY);
        assert_int_equal(f.calls, status ? 0 : 1);
        if (f.calls && f.found != KI_NAMESPACE_MISSING)
            assert_int_equal(f.found, KI_NAMESPACE_UNCERTAIN);
        tear_down(&f);
    }
}
