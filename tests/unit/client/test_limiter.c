/* test_limiter.c: the client's own limit: its arithmetic, and the queue in front of it. Time is an argument. */
#include "src/client/throttle.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdlib.h>

#define SECOND INT64_C(1000000000)

TEST(a_burst_passes_at_once_and_then_so_many_a_second) {
    static const struct {
        int per_second, burst;
    } cases[] = { { 5, 10 }, { 1, 1 }, { 10, 3 }, { 7, 50 }, { 1000000000, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_limiter limiter;
        ki_limiter_init(&limiter, cases[i].per_second, cases[i].burst, 77);
        for (int n = 0; n < cases[i].burst; n++)
            assert_true(ki_limiter_take(&limiter, 77));
        assert_false(ki_limiter_take(&limiter, 77));
        int64_t wait = ki_limiter_wait(&limiter, 77, 0);
        assert_int_equal(wait, SECOND / cases[i].per_second);
        assert_false(ki_limiter_take(&limiter, 77 + wait - 1));
        assert_true(ki_limiter_take(&limiter, 77 + wait));
        assert_false(ki_limiter_take(&limiter, 77 + wait));
    }
}

TEST(over_a_long_time_the_rate_is_kept_exactly) {
    ki_limiter limiter;
    ki_limiter_init(&limiter, 5, 10, 0);
    int64_t now = 0;
    int taken = 0;
    for (; now <= 1000 * SECOND; now += 37 * 1000 * 1000)
        taken += ki_limiter_take(&limiter, now);
    assert_in_range(taken, 5008, 5010);
}

TEST(credit_ends_at_the_burst_however_long_nothing_was_sent) {
    ki_limiter limiter;
    ki_limiter_init(&limiter, 5, 2, 0);
    for (int n = 0; n < 2; n++)
        assert_true(ki_limiter_take(&limiter, 1000 * SECOND));
    assert_false(ki_limiter_take(&limiter, 1000 * SECOND));
}

TEST(time_that_goes_back_gives_nothing_and_costs_nothing) {
    ki_limiter limiter;
    ki_limiter_init(&limiter, 5, 1, 10 * SECOND);
    assert_true(ki_limiter_take(&limiter, 10 * SECOND));
    assert_false(ki_limiter_take(&limiter, 5 * SECOND));
    assert_false(ki_limiter_take(&limiter, 5 * SECOND + SECOND / 10));
    assert_true(ki_limiter_take(&limiter, 5 * SECOND + SECOND / 5));
}

TEST(no_limit_lets_everything_through) {
    static const int rates[] = { 0, -1, INT32_MIN };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        ki_limiter limiter;
        ki_limiter_init(&limiter, rates[i], 0, 0);
        for (int n = 0; n < 1000; n++)
            assert_true(ki_limiter_take(&limiter, 0));
        assert_int_equal(ki_limiter_wait(&limiter, 0, UINT64_MAX), 0);
    }
}

TEST(the_largest_numbers_do_not_overflow) {
    ki_limiter limiter;
    ki_limiter_init(&limiter, 1, INT32_MAX, INT64_MIN);
    for (int n = 0; n < 1000; n++)
        assert_true(ki_limiter_take(&limiter, INT64_MIN));
    assert_true(ki_limiter_take(&limiter, INT64_MAX));
    assert_true(ki_limiter_take(&limiter, INT64_MIN));
    assert_int_equal(ki_limiter_wait(&limiter, INT64_MAX, UINT64_MAX), INT64_MAX);
    ki_limiter_init(&limiter, 1, 0, INT64_MAX);
    assert_true(ki_limiter_take(&limiter, INT64_MAX)); /* a burst of 0 would let nobody through, ever */
    assert_int_equal(ki_limiter_wait(&limiter, INT64_MAX, 0), SECOND);
    assert_int_equal(ki_limiter_wait(&limiter, INT64_MAX, 9), 10 * SECOND);
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

enum {
    WAITERS = 5
};

typedef struct crowd {
    test_engine engine;
    ki_throttle throttle;
    ki_ticket tickets[WAITERS];
    struct place {
        struct crowd *crowd;
        int number;
    } places[WAITERS];
    char order[WAITERS + 1];
    int passed;
    int leaver; /* this one leaves when the first is let in; -1: nobody */
} crowd;

static void granted(void *user) {
    struct place *place = user;
    crowd *all = place->crowd;
    all->order[all->passed++] = (char)('0' + place->number);
    if (all->leaver >= 0)
        ki_throttle_leave(&all->throttle, &all->tickets[all->leaver]);
}

static void open_crowd(crowd *all) {
    *all = (crowd){ .leaver = -1 };
    assert_true(test_engine_open(&all->engine, NULL, 1));
    ki_throttle_init(&all->throttle, all->engine.engine, 5, 1);
    ki_ticket first = { 0 };
    assert_true(ki_throttle_pass(&all->throttle, &first, granted, NULL));
    for (int i = 0; i < WAITERS; i++) {
        all->places[i] = (struct place){ all, i };
        assert_int_equal(ki_throttle_delay(&all->throttle, 0), (i + 1) * SECOND / 5);
        assert_false(ki_throttle_pass(&all->throttle, &all->tickets[i], granted, &all->places[i]));
    }
}

static void close_crowd(crowd *all) {
    ki_throttle_close(&all->throttle);
    test_engine_close(&all->engine);
}

TEST(who_waits_passes_in_the_order_of_coming) {
    crowd all;
    open_crowd(&all);
    assert_true(test_engine_advance(&all.engine, 199));
    assert_string_equal(all.order, "");
    assert_true(test_engine_advance(&all.engine, 1));
    assert_string_equal(all.order, "0");
    assert_true(test_engine_advance(&all.engine, 800));
    assert_string_equal(all.order, "01234");
    close_crowd(&all);
}

TEST(who_leaves_costs_the_others_nothing) {
    crowd all;
    open_crowd(&all);
    ki_throttle_leave(&all.throttle, &all.tickets[0]);
    ki_throttle_leave(&all.throttle, &all.tickets[0]); /* twice is once */
    ki_throttle_leave(&all.throttle, &all.tickets[4]);
    all.leaver = 2; /* from inside another one's turn */
    assert_true(test_engine_advance(&all.engine, 200));
    assert_string_equal(all.order, "1");
    assert_true(test_engine_advance(&all.engine, 200));
    assert_string_equal(all.order, "13");
    close_crowd(&all);
}

TEST(without_a_limit_nobody_waits) {
    ki_ticket ticket = { 0 };
    assert_true(ki_throttle_pass(NULL, &ticket, granted, NULL));
    assert_int_equal(ki_throttle_delay(NULL, 0), 0);
    ki_throttle_leave(NULL, &ticket);
}
