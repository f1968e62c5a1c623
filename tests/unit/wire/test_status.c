/* An error response becomes an error that says what happened and who has to act. */
#include "src/base/memory.h"
#include "src/wire/status.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS(reason, code, message) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"" message \
    "\",\"reason\":\"" reason "\",\"code\":" #code "}"

TEST(each_response_has_its_code_and_category) {
    static const struct {
        int http;
        const char *body;
        ki_status code;
        ki_category category;
        int http_status;
        const char *reason;
        const char *message;
    } cases[] = {
        { 403, STATUS("Forbidden", 403, "pods is forbidden"), KI_ERR_HTTP, KI_CATEGORY_CREDENTIALS, 403, "Forbidden",
          "pods is forbidden" },
        { 401, STATUS("Unauthorized", 401, "Unauthorized"), KI_ERR_HTTP, KI_CATEGORY_CREDENTIALS, 401, "Unauthorized",
          "Unauthorized" },
        { 404, "404 page not found\n", KI_ERR_HTTP, KI_CATEGORY_REQUEST, 404, "", "HTTP 404: 404 page not found" },
        { 422, "", KI_ERR_HTTP, KI_CATEGORY_REQUEST, 422, "", "HTTP 422" },
        { 408, "", KI_ERR_HTTP, KI_CATEGORY_RETRY, 408, "", "HTTP 408" },
        { 409, STATUS("Conflict", 409, "changed"), KI_ERR_HTTP, KI_CATEGORY_RETRY, 409, "Conflict", "changed" },
        { 409, STATUS("AlreadyExists", 409, "taken"), KI_ERR_HTTP, KI_CATEGORY_REQUEST, 409, "AlreadyExists", "taken" },
        { 429, "", KI_ERR_HTTP, KI_CATEGORY_RETRY, 429, "", "HTTP 429" },
        { 503, "", KI_ERR_HTTP, KI_CATEGORY_RETRY, 503, "", "HTTP 503" },
        { 504, STATUS("Timeout", 504, "slow"), KI_ERR_HTTP, KI_CATEGORY_RETRY, 504, "Timeout", "slow" },
        { 500, STATUS("Timeout", 500, "slow"), KI_ERR_HTTP, KI_CATEGORY_RETRY, 500, "Timeout", "slow" },
        { 500, STATUS("InternalError", 500, "etcd"), KI_ERR_HTTP, KI_CATEGORY_SERVER, 500, "InternalError", "etcd" },
        { 502, "<html>\n<b>Bad Gateway</b>\x01", KI_ERR_HTTP, KI_CATEGORY_SERVER, 502, "",
          "HTTP 502: <html> <b>Bad Gateway</b>" },
        { 410, "", KI_ERR_EXPIRED, KI_CATEGORY_RETRY, 410, "", "HTTP 410" },
        { 0, STATUS("Expired", 410, "too old resource version: 1 (2)"), KI_ERR_EXPIRED, KI_CATEGORY_RETRY, 410,
          "Expired", "too old resource version: 1 (2)" },
        { 0, STATUS("Gone", 0, "gone"), KI_ERR_EXPIRED, KI_CATEGORY_RETRY, 0, "Gone", "gone" },
        { 200, STATUS("Expired", 410, ""), KI_ERR_EXPIRED, KI_CATEGORY_RETRY, 200, "Expired", "HTTP 200: Expired" },
        { 0, STATUS("InternalError", 500, "x"), KI_ERR_HTTP, KI_CATEGORY_SERVER, 500, "InternalError", "x" },
        { 504, STATUS("Timeout", 504, "Timeout: Too large resource version: 9, current: 5"), KI_ERR_TOO_LARGE_RV,
          KI_CATEGORY_RETRY, 504, "Timeout", "Timeout: Too large resource version: 9, current: 5" },
        { 504,
          "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":\"wait\",\"details\":{\"causes\":[{\"reason\":\"x\"}"
          ",{\"reason\":"
          "\"ResourceVersionTooLarge\"}]}}",
          KI_ERR_TOO_LARGE_RV, KI_CATEGORY_RETRY, 504, "Timeout", "wait" },
        { 504,
          "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":\"too large resource version\",\"details\":{"
          "\"causes\":[{\"message\":\"Too large resource version\"}]}}",
          KI_ERR_TOO_LARGE_RV, KI_CATEGORY_RETRY, 504, "Timeout", "too large resource version" },
        { 500,
          "{\"kind\":\"Status\",\"reason\":\"Other\",\"message\":\"w\",\"details\":{\"causes\":[{\"reason\":"
          "\"ResourceVersionTooLarge\"}]}}",
          KI_ERR_HTTP, KI_CATEGORY_SERVER, 500, "Other", "w" },
        { 504, "Too large resource version: 9", KI_ERR_TOO_LARGE_RV, KI_CATEGORY_RETRY, 504, "",
          "HTTP 504: Too large resource version: 9" },
        { 500, "{\"error\":\"x\"}", KI_ERR_HTTP, KI_CATEGORY_SERVER, 500, "", "HTTP 500: {\"error\":\"x\"}" },
        { 500, "{\"kind\":\"Status\",\"message\":5}", KI_ERR_HTTP, KI_CATEGORY_SERVER, 500, "", "HTTP 500" },
        { 500, "{\"kind\":\"Status\",\"mess", KI_ERR_HTTP, KI_CATEGORY_SERVER, 500, "",
          "HTTP 500: {\"kind\":\"Status\",\"mess" },
        { 400, STATUS("BadRequest", 400, "a\\u0000b\\nc\\u001b[31m"), KI_ERR_HTTP, KI_CATEGORY_REQUEST, 400,
          "BadRequest", "a b c [31m" },
        { 0, "", KI_ERR_HTTP, KI_CATEGORY_SERVER, 0, "", "the server reported an error" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_status_to_error(&ki_allocator_default, cases[i].http, ki_str_of(cases[i].body), -1, &err),
                         cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.category, cases[i].category);
        assert_int_equal(err.http_status, cases[i].http_status);
        assert_string_equal(err.reason, cases[i].reason);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.retry_after_ms, -1);
        assert_int_equal(ki_status_to_error(&ki_allocator_default, cases[i].http, ki_str_of(cases[i].body), -1, NULL),
                         cases[i].code);
    }
}

TEST(the_header_says_when_to_try_again_else_the_status) {
    static const struct {
        const char *body;
        int64_t header, expected;
    } cases[] = {
        { "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3}}", -1, 3000 },
        { "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3}}", 500, 500 },
        { "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3}}", 0, 0 },
        { "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":-3}}", -1, -1 },
        { "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":1e9}}", -1, -1 },
        { "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":99999999999999}}", -1, -1 },
        { "{\"kind\":\"Status\"}", -1, -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_status_to_error(&ki_allocator_default, 429, ki_str_of(cases[i].body), cases[i].header, &err);
        assert_int_equal(err.retry_after_ms, cases[i].expected);
    }
}

TEST(long_bodies_are_cut_between_characters) {
    enum {
        SIZE = 2 * KI_STATUS_BODY_MAX
    };
    char *body = malloc(SIZE);
    assert_non_null(body);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = i % 2 ? '\xA4' : '\xC3';
    ki_error err = KI_ERROR_INIT;
    for (size_t skip = 0; skip < 2; skip++) {
        ki_status_to_error(&ki_allocator_default, 500, (ki_str){ body + 2 * skip, SIZE - 2 * skip }, -1, &err);
        size_t size = strlen(err.message);
        assert_in_range(size, 200, KI_ERROR_MESSAGE_MAX - 1);
        assert_int_equal(err.message[size - 1], '\xA4');
    }
    free(body);
}

TEST(without_memory_the_refusal_is_not_lost) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_status_to_error(&memory.allocator, 410, KI_STR(STATUS("Expired", 410, "old")), -1, &err),
                     KI_ERR_EXPIRED);
    assert_int_equal(err.http_status, 410);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
