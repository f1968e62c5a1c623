/* Errors carry code, category and one bounded line; log lines reach only who listens. */
#include "src/base/error.h"
#include "src/base/log.h"
#include "tests/support/test.h"

#include <errno.h>
#include <kinformer/version.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

TEST(an_error_holds_code_category_and_message) {
    ki_error err = { .http_status = 500, .retry_after_ms = 7, .reason = "Old" };
    assert_int_equal(ki_error_set(&err, KI_ERR_TIMEOUT, "no response in %d s", 5), KI_ERR_TIMEOUT);
    assert_int_equal(err.code, KI_ERR_TIMEOUT);
    assert_int_equal(err.category, KI_CATEGORY_RETRY);
    assert_int_equal(err.http_status, 0);
    assert_int_equal(err.retry_after_ms, -1);
    assert_string_equal(err.reason, "");
    assert_string_equal(ki_error_message(&err), "no response in 5 s");
    ki_error_prefix(&err, "list %s", "pods");
    assert_int_equal(err.code, KI_ERR_TIMEOUT);
    assert_string_equal(err.message, "list pods: no response in 5 s");
    assert_int_equal(ki_error_set_errno(&err, KI_ERR_SYSTEM, ENOENT, "open %s", "/x"), KI_ERR_SYSTEM);
    assert_string_equal(err.message, "open /x: No such file or directory");
    assert_int_equal(ki_error_no_memory(&err, "parsing"), KI_ERR_NO_MEMORY);
    assert_string_equal(err.message, "out of memory while parsing");
    assert_int_equal(err.category, KI_CATEGORY_FATAL);
    ki_error_clear(&err);
    assert_int_equal(err.code, KI_OK);
    assert_string_equal(ki_error_message(&err), "ok");
}

TEST(nobody_needs_to_want_the_error) {
    assert_int_equal(ki_error_set(NULL, KI_ERR_PARSE, "x"), KI_ERR_PARSE);
    assert_int_equal(ki_error_set_errno(NULL, KI_ERR_SYSTEM, EIO, "x"), KI_ERR_SYSTEM);
    assert_int_equal(ki_error_no_memory(NULL, "x"), KI_ERR_NO_MEMORY);
    ki_error_prefix(NULL, "x");
    ki_error_clear(NULL);
    assert_string_equal(ki_error_message(NULL), "ok");
}

TEST(long_messages_are_cut_and_its_own_text_may_be_used_again) {
    ki_error err = KI_ERROR_INIT;
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ki_error_set(&err, KI_ERR_PARSE, "%s", text);
    assert_int_equal(strlen(err.message), KI_ERROR_MESSAGE_MAX - 1);
    ki_error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.message), KI_ERROR_MESSAGE_MAX - 1);
    ki_error_prefix(&err, "where");
    assert_memory_equal(err.message, "where: aaa", 10);
    assert_int_equal(strlen(err.message), KI_ERROR_MESSAGE_MAX - 1);
    ki_error_set_errno(&err, KI_ERR_SYSTEM, EIO, "%s", text);
    assert_int_equal(strlen(err.message), KI_ERROR_MESSAGE_MAX - 1);
    ki_error_set(&err, KI_ERR_PARSE, "inner");
    ki_error_set(&err, KI_ERR_CONFIG, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

TEST(every_status_and_category_has_a_name_of_its_own) {
    for (int a = KI_OK; a <= KI_ERR_CLOSED; a++) {
        assert_string_not_equal(ki_status_name((ki_status)a), "unknown status");
        for (int b = KI_OK; b < a; b++)
            assert_string_not_equal(ki_status_name((ki_status)a), ki_status_name((ki_status)b));
        assert_true(a == KI_OK || a == KI_ERR_CANCELLED || ki_category_of((ki_status)a) != KI_CATEGORY_NONE);
    }
    for (int a = KI_CATEGORY_NONE; a <= KI_CATEGORY_FATAL; a++)
        assert_string_not_equal(ki_category_name((ki_category)a), "unknown category");
    assert_string_equal(ki_status_name((ki_status)1000), "unknown status");
    assert_string_equal(ki_category_name((ki_category)1000), "unknown category");
    assert_int_equal(ki_category_of((ki_status)1000), KI_CATEGORY_NONE);
    assert_string_equal(ki_version(), KI_VERSION);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", KI_VERSION_MAJOR, KI_VERSION_MINOR, KI_VERSION_PATCH);
    assert_string_equal(version, KI_VERSION);
}

static int lines;
static char last_line[2 * KI_LOG_LINE_MAX];

static void remember(ki_log_level level, const char *component, const char *message, void *user) {
    (void)level;
    (void)user;
    lines++;
    snprintf(last_line, sizeof last_line, "%s|%s", component, message);
}

TEST(a_line_reaches_who_listens_at_that_level) {
    ki_log log = { remember, NULL, 0 };
    ki_log deaf = { NULL, NULL, KI_LOG_DEBUG };
    ki_log_write(NULL, KI_LOG_ERROR, "x", "y");
    ki_log_write(&deaf, KI_LOG_ERROR, "x", "y");
    ki_log_write(&log, KI_LOG_DEBUG, "x", "y");
    assert_int_equal(lines, 0);
    ki_log_write(&log, KI_LOG_INFO, "reflector", "%d items", 3);
    assert_int_equal(lines, 1);
    assert_string_equal(last_line, "reflector|3 items");
    log.max_level = KI_LOG_DEBUG;
    char text[2 * KI_LOG_LINE_MAX];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ki_log_write(&log, KI_LOG_DEBUG, "x", "%s", text);
    assert_int_equal(strlen(last_line), KI_LOG_LINE_MAX - 1 + 2);
}
