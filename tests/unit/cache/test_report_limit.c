/* Of many complaints at once the first are reported, the rest once, with its count. */

#include "src/base/error.h"
#include "src/cache/reflector/report_limit.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture {
    test_engine engine;
    ki_report_limit report_limit;
    size_t reports;
    char last[256], key[32];
} fixture;

static void note(const ki_error *err, const char *key, void *user) {
    fixture *f = user;
    f->reports++;
    snprintf(f->last, sizeof f->last, "%s", ki_error_message(err));
    snprintf(f->key, sizeof f->key, "%s", key);
}

static void set_up(fixture *f) {
    memset(f, 0, sizeof *f);
    assert_true(test_engine_open(&f->engine, NULL, 1));
    ki_report_limit_open(&f->report_limit, f->engine.engine, note, f);
}

static void tear_down(fixture *f) {
    ki_report_limit_close(&f->report_limit);
    ki_report_limit_close(&f->report_limit);
    test_engine_close(&f->engine);
}

static void complain(fixture *f, size_t times) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_PARSE, "an item is not a JSON object");
    for (size_t i = 0; i < times; i++)
        ki_report_limit_add(&f->report_limit, &err, "default/a");
}

TEST(as_many_as_there_may_be_are_reported_one_by_one) {
    fixture f;
    set_up(&f);
    for (size_t seconds = 1; seconds <= 3; seconds++) {
        complain(&f, KI_REPORT_LIMIT_MAX);
        assert_int_equal(f.reports, seconds * KI_REPORT_LIMIT_MAX);
        assert_string_equal(f.key, "default/a");
        assert_true(test_engine_advance(&f.engine, 1000));
        assert_int_equal(f.reports, seconds * KI_REPORT_LIMIT_MAX);
    }
    tear_down(&f);
}

TEST(the_rest_of_a_second_is_one_report_with_a_count) {
    fixture f;
    set_up(&f);
    complain(&f, 5000);
    assert_int_equal(f.reports, KI_REPORT_LIMIT_MAX);
    assert_true(test_engine_advance(&f.engine, 1000));
    assert_int_equal(f.reports, KI_REPORT_LIMIT_MAX + 1);
    assert_non_null(strstr(f.last, "4900 more"));
    assert_non_null(strstr(f.last, "an item is not a JSON object"));
    assert_string_equal(f.key, "");
    complain(&f, 1); /* the next second begins anew */
    assert_int_equal(f.reports, KI_REPORT_LIMIT_MAX + 2);
    tear_down(&f);
}

TEST(what_is_counted_is_reported_at_the_end) {
    fixture f;
    set_up(&f);
    complain(&f, KI_REPORT_LIMIT_MAX + 7);
    ki_report_limit_close(&f.report_limit);
    assert_int_equal(f.reports, KI_REPORT_LIMIT_MAX + 1);
    assert_non_null(strstr(f.last, "7 more"));
    tear_down(&f);
}
