/* test_backoff.c: the steps, their jitter, and when they start over. */

#include "src/cache/reflector/backoff.h"
#include "tests/support/test.h"

#define MS(n) (INT64_C(1000000) * (n))

static void steps_double_up_to_thirty_seconds(void **state) {
    (void)state;
    static const int64_t least_ms[] = { 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000 };
    ki_backoff backoff = { 0 };
    for (size_t i = 0; i < sizeof least_ms / sizeof *least_ms; i++)
        assert_true(ki_backoff_next(&backoff, MS(1000), 0.0) == MS(least_ms[i]));
}

static void jitter_adds_up_to_once_the_step(void **state) {
    (void)state;
    ki_backoff backoff = { 0 };
    assert_true(ki_backoff_next(&backoff, 0, 0.5) == MS(1200));
    int64_t wait = ki_backoff_next(&backoff, 0, 0.999999);
    assert_true(wait > MS(3100) && wait < MS(3200));
}

static void two_minutes_without_a_failure_start_over(void **state) {
    (void)state;
    ki_backoff backoff = { 0 };
    ki_backoff_next(&backoff, MS(0), 0.0);
    ki_backoff_next(&backoff, MS(1000), 0.0);
    assert_true(ki_backoff_next(&backoff, MS(120999), 0.0) == MS(3200)); /* counted from the last failure */
    assert_true(ki_backoff_next(&backoff, MS(240999), 0.0) == MS(800));
}

static void failing_on_and_on_never_starts_over(void **state) {
    (void)state;
    ki_backoff backoff = { 0 };
    int64_t now = 0, wait = 0;
    for (int i = 0; i < 1000; i++)
        now += wait = ki_backoff_next(&backoff, now, 0.9);
    assert_true(wait == MS(57000));
}

KT_TESTS(backoff) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_double_up_to_thirty_seconds),
        cmocka_unit_test(jitter_adds_up_to_once_the_step),
        cmocka_unit_test(two_minutes_without_a_failure_start_over),
        cmocka_unit_test(failing_on_and_on_never_starts_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
