/* test_rate_limiter.c: how long a key that failed is delayed. Time and failures are arguments. */

#include "controllers/workqueue/rate_limiter.h"
#include "src/engine/engine.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

enum {
    TIMES = 8
};

static void init(ki_rate_limiter *limiter, const ki_rate_limit *limits, size_t count, int64_t now) {
    memset(limiter, 0, sizeof *limiter);
    assert_int_equal(ki_rate_limiter_init(limiter, limits, count, now, NULL), KI_OK);
}

TEST(a_delay_depends_on_the_failures_of_the_key) {
    static const struct {
        ki_rate_limit limit;
        int64_t delays[TIMES]; /* milliseconds, for 0 failures, 1, … */
    } cases[] = {
        { KI_RATE_LIMIT_EXPONENTIAL(1, 1000), { 1, 2, 4, 8, 16, 32, 64, 128 } },
        { KI_RATE_LIMIT_EXPONENTIAL(5, 100), { 5, 10, 20, 40, 80, 100, 100, 100 } },
        { KI_RATE_LIMIT_EXPONENTIAL(60000, 3600000000), { 60000, 120000, 240000, 480000, 960000, 1920000 } },
        { KI_RATE_LIMIT_EXPONENTIAL(7, 3), { 3, 3, 3, 3, 3, 3, 3, 3 } },
        { KI_RATE_LIMIT_EXPONENTIAL(0, 9), { 0 } },
        { KI_RATE_LIMIT_FAST_SLOW(5, 10000, 3), { 5, 5, 5, 10000, 10000, 10000, 10000, 10000 } },
        { KI_RATE_LIMIT_FAST_SLOW(5, 10, 0), { 10, 10, 10, 10, 10, 10, 10, 10 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_rate_limiter limiter;
        init(&limiter, &cases[i].limit, 1, 0);
        for (int failures = 0; failures < TIMES && (cases[i].delays[failures] || i == 4); failures++)
            assert_int_equal(ki_rate_limiter_delay(&limiter, "a", failures, 0),
                             KI_MILLISECONDS(cases[i].delays[failures]));
    }
}

TEST(an_exponential_delay_does_not_overflow) {
    static const struct {
        int64_t base, longest;
    } cases[] = { { 1, 1000000 }, { 60000, 3600000000 }, { 1, INT64_MAX }, { INT64_MAX, INT64_MAX } };
    static const int failures[] = { 50, 62, 63, 64, 1000, 1024, INT32_MAX };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ki_rate_limit limit = KI_RATE_LIMIT_EXPONENTIAL(cases[i].base, cases[i].longest);
        ki_rate_limiter limiter;
        init(&limiter, &limit, 1, 0);
        for (size_t f = 0; f < sizeof failures / sizeof *failures; f++)
            assert_int_equal(ki_rate_limiter_delay(&limiter, "a", failures[f], 0), ki_work_delay_ns(cases[i].longest));
    }
}

TEST(the_longest_of_several_delays_counts) {
    static const ki_rate_limit limits[] = { KI_RATE_LIMIT_FAST_SLOW(5, 3000, 3), KI_RATE_LIMIT_EXPONENTIAL(1, 1000) };
    static const int64_t delays[] = { 5, 5, 5, 3000, 3000 };
    ki_rate_limiter limiter;
    init(&limiter, limits, 2, 0);
    for (int failures = 0; failures < 5; failures++)
        assert_int_equal(ki_rate_limiter_delay(&limiter, "a", failures, 0), KI_MILLISECONDS(delays[failures]));
    init(&limiter, limits, 0, 0);
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 5, 0), 0);
}

TEST(a_limit_may_have_a_longest_wait) {
    ki_rate_limit limits[] = { KI_RATE_LIMIT_FAST_SLOW(5, 1000000, 100), KI_RATE_LIMIT_EXPONENTIAL(1, 3) };
    limits[0].max_wait_ms = 500000;
    ki_rate_limiter limiter;
    init(&limiter, limits, 2, 0);
    for (int failures = 0; failures < 200; failures++)
        assert_int_equal(ki_rate_limiter_delay(&limiter, "a", failures, 0),
                         KI_MILLISECONDS(failures < 100 ? 5 : 500000));
}

/* As rate.NewLimiter(rate, burst).Reserve().Delay() of golang.org/x/time. */
TEST(a_bucket_lends_tokens_that_are_not_there_yet) {
    static const ki_rate_limit limit = KI_RATE_LIMIT_BUCKET(10.0, 3);
    ki_rate_limiter limiter;
    const int64_t begin = KI_SECONDS(1000);
    init(&limiter, &limit, 1, begin);
    static const struct {
        int64_t at_ms, delay_ms;
    } calls[] = {
        /* the last one: time that goes back gives nothing */
        { 0, 0 },     { 0, 0 },    { 0, 0 },    { 0, 100 },  { 0, 200 },    { 50, 250 },   { 350, 50 },
        { 400, 100 }, { 9000, 0 }, { 9000, 0 }, { 9000, 0 }, { 9000, 100 }, { 8000, 200 },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int64_t delay = ki_rate_limiter_delay(&limiter, "a", 0, begin + KI_MILLISECONDS(calls[i].at_ms));
        int64_t off = delay - KI_MILLISECONDS(calls[i].delay_ms);
        assert_in_range(off + 10, 0, 20); /* nanoseconds, of a sum of fractions */
    }
}

TEST(a_bucket_keeps_its_rate_for_long) {
    static const ki_rate_limit limit = KI_RATE_LIMIT_BUCKET(10.0, 100), fast = KI_RATE_LIMIT_BUCKET(3000000.0, 1);
    ki_rate_limiter limiter;
    init(&limiter, &limit, 1, 0);
    int64_t last = 0;
    for (int i = 0; i < 100100; i++)
        last = ki_rate_limiter_delay(&limiter, "a", 0, 0);
    assert_in_range(last, KI_SECONDS(10000) - 100000, KI_SECONDS(10000) + 100000);
    init(&limiter, &fast, 1, 0);
    (void)ki_rate_limiter_delay(&limiter, "a", 0, 0);
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 0, 0), 333); /* less than a microsecond is not lost */
}

TEST(a_bucket_without_bound_never_waits) {
    const ki_rate_limit limit = KI_RATE_LIMIT_BUCKET(INFINITY, 1), slow = KI_RATE_LIMIT_BUCKET(1e-300, 1);
    ki_rate_limiter limiter;
    init(&limiter, &limit, 1, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 0, i / 3), 0);
    init(&limiter, &slow, 1, 0);
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 0, 0), 0);
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 0, 0), INT64_MAX);
}

static int64_t by_first_letter(const void *key, int failures, void *user) {
    (void)user;
    return *(const char *)key == 'n' ? -1 : failures * 7;
}

TEST(a_program_s_own_limit_gets_key_and_failures) {
    const ki_rate_limit limit = KI_RATE_LIMIT_CUSTOM(by_first_letter, NULL);
    ki_rate_limiter limiter;
    init(&limiter, &limit, 1, 0);
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 6, 0), KI_MILLISECONDS(42));
    assert_int_equal(ki_rate_limiter_delay(&limiter, "n", 6, 0), 0);
}

TEST(the_default_is_client_go_s) {
    ki_rate_limiter limiter;
    init(&limiter, NULL, 0, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 0, 0), KI_MILLISECONDS(5));
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 0, 0), KI_MILLISECONDS(100)); /* the bucket is empty */
    assert_int_equal(ki_rate_limiter_delay(&limiter, "a", 30, 0), KI_SECONDS(1000));
}
