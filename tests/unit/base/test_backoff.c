/* test_backoff.c: the steps, their jitter, and when they start over. */

#include "src/base/backoff.h"
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

/* --- refused connections ------------------------------------------------------------------------------------------ */

TEST(a_refused_connection_is_tried_three_times_within_two_seconds_then_by_the_steps) {
    static const int64_t least_ms[] = { 100, 200, 400, 800, 1600, 3200 };
    ki_backoff backoff = { 0 };
    for (size_t i = 0; i < sizeof least_ms / sizeof *least_ms; i++)
        assert_true(ki_backoff_next_unreached(&backoff, MS(1000), 0.0) == MS(least_ms[i]));
    backoff = (ki_backoff){ 0 };
    assert_true(ki_backoff_next_unreached(&backoff, 0, 0.5) == MS(150));
}

TEST(short_waits_come_again_after_a_success_and_leave_the_steps) {
    ki_backoff backoff = { 0 };
    for (int i = 0; i < 5; i++)
        ki_backoff_next_unreached(&backoff, MS(1000), 0.0);
    ki_backoff_succeeded(&backoff);
    assert_true(ki_backoff_next_unreached(&backoff, MS(2000), 0.0) == MS(100));
    assert_true(ki_backoff_next(&backoff, MS(3000), 0.0) == MS(3200)); /* a server that works: no new start */
    assert_true(ki_backoff_next_unreached(&backoff, MS(3000), 0.0) == MS(200));
}

/* --- options ------------------------------------------------------------------------------------------------------ */

TEST(the_program_sets_the_first_and_the_longest_step) {
    static const struct {
        int64_t first_ms, longest_ms;
        int64_t least_ms[4];
    } cases[] = {
        { 0, 0, { 800, 1600, 3200, 6400 } },
        { 100, 0, { 100, 200, 400, 800 } },
        { 100, 300, { 100, 200, 300, 300 } },
        { 0, 1000, { 800, 1000, 1000, 1000 } },
        { 0, 500, { 500, 500, 500, 500 } },
        { 60000, 0, { 60000, 60000, 60000, 60000 } },
        { 1, 0, { 10, 20, 40, 80 } },
        { 5000, 5000, { 5000, 5000, 5000, 5000 } },
        { 40000, 60000, { 40000, 60000, 60000, 60000 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_backoff backoff;
        ki_backoff_init(&backoff, cases[i].first_ms, cases[i].longest_ms);
        for (size_t f = 0; f < 4; f++)
            assert_true(ki_backoff_next(&backoff, 0, 0.0) == MS(cases[i].least_ms[f]));
    }
}

TEST(a_wait_longer_than_two_minutes_is_no_new_start) {
    ki_backoff backoff;
    int64_t now = 0, wait = 0;
    ki_backoff_init(&backoff, 1000, 300000);
    for (int i = 0; i < 100; i++)
        now += wait = ki_backoff_next(&backoff, now, 0.9);
    assert_true(wait == MS(570000));
    assert_true(ki_backoff_next(&backoff, now + MS(1200000), 0.0) == MS(1000));
}

TEST(short_waits_follow_the_first_step) {
    ki_backoff backoff;
    ki_backoff_init(&backoff, 8000, 0);
    assert_true(ki_backoff_next_unreached(&backoff, 0, 0.0) == MS(1000));
    assert_true(ki_backoff_next_unreached(&backoff, 0, 0.0) == MS(2000));
}
