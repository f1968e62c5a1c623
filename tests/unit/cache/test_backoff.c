/* test_backoff.c: the steps, their jitter, and when they start over. */

#include "src/cache/reflector/backoff.h"
#include "tests/support/test.h"

#define MS(n) (INT64_C(1000000) * (n))

TEST(steps_double_up_to_thirty_seconds) {
    static const int64_t least_ms[] = { 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000 };
    ki_backoff backoff = { 0 };
    for (size_t i = 0; i < sizeof least_ms / sizeof *least_ms; i++)
        assert_true(ki_backoff_next(&backoff, MS(1000), 0.0) == MS(least_ms[i]));
}

TEST(jitter_adds_up_to_once_the_step) {
    ki_backoff backoff = { 0 };
    assert_true(ki_backoff_next(&backoff, 0, 0.5) == MS(1200));
    int64_t wait = ki_backoff_next(&backoff, 0, 0.999999);
    assert_true(wait > MS(3100) && wait < MS(3200));
}

TEST(two_minutes_without_a_failure_start_over) {
    ki_backoff backoff = { 0 };
    ki_backoff_next(&backoff, MS(0), 0.0);
    ki_backoff_next(&backoff, MS(1000), 0.0);
    assert_true(ki_backoff_next(&backoff, MS(120999), 0.0) == MS(3200)); /* counted from the last failure */
    assert_true(ki_backoff_next(&backoff, MS(240999), 0.0) == MS(800));
}

TEST(failing_on_and_on_never_starts_over) {
    ki_backoff backoff = { 0 };
    int64_t now = 0, wait = 0;
    for (int i = 0; i < 1000; i++)
        now += wait = ki_backoff_next(&backoff, now, 0.9);
    assert_true(wait == MS(57000));
}
