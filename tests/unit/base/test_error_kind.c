/* test_error_kind.c: what an error response means, by reason and by HTTP status, as other clients of Kubernetes decide
 * it. */
#include "src/base/error.h"

#include <stdio.h>

#include "tests/support/test.h"

typedef bool predicate(const ki_error *err);

static const struct {
    const char *reason;
    int http_status;
    predicate *is;
    bool by_status; /* also where the reason is missing or unknown */
} kinds[] = {
    { "NotFound", 404, ki_error_is_not_found, true },
    { "AlreadyExists", 409, ki_error_is_already_exists, false },
    { "Conflict", 409, ki_error_is_conflict, true },
    { "Invalid", 422, ki_error_is_invalid, true },
    { "BadRequest", 400, ki_error_is_bad_request, true },
    { "Unauthorized", 401, ki_error_is_unauthorized, true },
    { "Forbidden", 403, ki_error_is_forbidden, true },
    { "MethodNotAllowed", 405, ki_error_is_method_not_supported, true },
    { "NotAcceptable", 406, ki_error_is_not_acceptable, true },
    { "UnsupportedMediaType", 415, ki_error_is_unsupported_media_type, true },
    { "RequestEntityTooLarge", 413, ki_error_is_request_too_large, true },
    { "Gone", 410, ki_error_is_gone, true },
    { "Expired", 410, ki_error_is_expired, false },
    { "TooManyRequests", 429, ki_error_is_too_many_requests, true },
    { "Timeout", 504, ki_error_is_timeout, true },
    { "ServerTimeout", 500, ki_error_is_server_timeout, false },
    { "ServiceUnavailable", 503, ki_error_is_service_unavailable, true },
    { "InternalError", 500, ki_error_is_internal, true },
};

static ki_error error_response(const char *reason, int http_status) {
    ki_error err = KI_ERROR_INIT;
    err.code = KI_ERR_HTTP;
    err.http_status = http_status;
    snprintf(err.reason, sizeof err.reason, "%s", reason);
    return err;
}

TEST(a_reason_means_one_thing_whatever_the_status) {
    size_t count = sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < count; i++) {
        ki_error err = error_response(kinds[i].reason, 418);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(kinds[k].is(&err), i == k);
    }
}

TEST(a_status_decides_where_the_reason_is_unknown) {
    static const char *const reasons[] = { "", "SomethingNew" };
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            ki_error err = error_response(reasons[r], kinds[i].http_status);
            assert_int_equal(kinds[i].is(&err), kinds[i].by_status);
        }
    }
}

TEST(a_known_reason_wins_over_the_status) {
    ki_error err = error_response("AlreadyExists", 409);
    assert_false(ki_error_is_conflict(&err));
    err = error_response("Expired", 410);
    assert_false(ki_error_is_gone(&err));
    err = error_response("ServerTimeout", 429); /* but this status says the same with any reason */
    assert_true(ki_error_is_too_many_requests(&err));
}

TEST(no_error_and_errors_without_a_response_are_nothing_of_it) {
    ki_error connect = KI_ERROR_INIT, timeout = KI_ERROR_INIT;
    ki_error_set(&connect, KI_ERR_CONNECT, "x");
    ki_error_set(&timeout, KI_ERR_TIMEOUT, "x");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_false(kinds[i].is(NULL));
        assert_false(kinds[i].is(&connect));
        assert_int_equal(kinds[i].is(&timeout), kinds[i].is == ki_error_is_timeout);
    }
}

TEST(what_no_api_server_sends_is_foreign) {
    static const struct {
        ki_status code;
        int http_status;
        const char *reason, *message;
        bool is_foreign;
    } rows[] = {
        { KI_ERR_HTTP, 404, "", "HTTP 404: <html>nothing</html>", true },
        { KI_ERR_HTTP, 501, "", "HTTP 501: <html>nothing</html>", true },
        { KI_ERR_HTTP, 302, "", "HTTP 302", true },
        { KI_ERR_PROTOCOL, 0, "", "expected application/json, got \"text/html\"", true },
        { KI_ERR_PARSE, 0, "", "expected {", true },
        { KI_ERR_HTTP, 404, "", "HTTP 404: 404 page not found", false },
        { KI_ERR_HTTP, 404, "NotFound", "x", false },
        { KI_ERR_HTTP, 401, "", "HTTP 401: <html>log in</html>", false },
        { KI_ERR_HTTP, 403, "", "HTTP 403: <html>no</html>", false },
        { KI_ERR_HTTP, 503, "", "HTTP 503: <html>later</html>", false },
        { KI_ERR_CONNECT, 0, "", "refused", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = error_response(rows[i].reason, rows[i].http_status);
        err.code = rows[i].code;
        snprintf(err.message, sizeof err.message, "%s", rows[i].message);
        assert_int_equal(ki_error_is_foreign(&err), rows[i].is_foreign);
    }
    assert_false(ki_error_is_foreign(NULL));
}
