/* test_workqueue_priority.c: a work queue with `by_priority`: what differs from the plain one. Time is the test's
 * own. */

#include "tests/support/queue_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const ki_rate_limit exponential = KI_RATE_LIMIT_EXPONENTIAL(5, 1000000);
static const ki_workqueue_options by_priority = {
    .size = sizeof by_priority, .by_priority = true, .rate_limits = &exponential, .rate_limit_count = 1
};

#define PLAY_ALL(plays) \
    for (size_t i = 0; i < sizeof(plays) / sizeof *(plays); i++) \
    queue_play_alone(&by_priority, (plays)[i])

TEST(keys_of_one_priority_are_handed_out_in_the_order_of_arrival) {
    queue_play_alone(&by_priority, "+a +b +c #3 =a^0 =b =c =. -a -b -c");
}

TEST(the_higher_priority_is_handed_out_first) {
    static const char *const plays[] = {
        "+a +b^-100 +c^5 +d +e^5 =c^5 =e^5 =a^0 =d^0 =b^-100 =.",
        "+a^-2147483648 +b^2147483647 =b^2147483647 =a^-2147483648",
    };
    PLAY_ALL(plays);
}

TEST(a_key_keeps_the_highest_priority_it_was_added_with) {
    static const char *const plays[] = {
        "+a^1 +a^2 #1 =a^2 =.",        "+a^2 +a^1 #1 =a^2 =.",        "+a^-100 +a #1 =a^0 =.",
        "+a +b +c +c^1 =c^1 #2 =a =b", "+a^0 +b^1 +a^1 =b^1 =a^1 =.", /* behind those that had the priority before */
        "+a^3 =a^3 -a +a =a^0",                                       /* it does not outlast the take */
    };
    PLAY_ALL(plays);
}

TEST(a_key_that_is_processed_gets_a_priority_of_its_own) {
    static const char *const plays[] = {
        "+a^3 =a^3 +a^1 +b^2 #1 =b^2 =. -a =a^1 =.",
        "+a =a +a^1 +a^7 +a -a =a^7",
        "+a =a +a +b =b +c -a =a =c =.", /* in the order of being added, not of being done */
        "+a =a +a@5 ~5 #0 =. +b -a =a =b",
    };
    PLAY_ALL(plays);
}

TEST(a_key_that_waits_is_ready_at_the_earliest_time) {
    static const char *const plays[] = {
        "+a@1000 ~999 =. ~1 =a -a =.",
        "+a +a@3600000 #1 =a -a ~3600000 =.", /* it is ready already */
        "+a@3600000 #0 +a #1 =a -a ~3600000 =.",
        "+a@60 +a@30 ~29 =. ~1 =a -a ~100 =.",
        "+a@30 +a@60 ~29 =. ~1 =a -a ~100 =.",
        "+a@60 +b@60 +c +d #2 ~60 #4 =c =d =a =b",
        "+a@1000 +b@200 ~1000 =b =a =.",
        "+a =a +a@5 +a -a =a -a ~5 =.",
        "+a@0 +b@-5 =a =b",
    };
    PLAY_ALL(plays);
}

TEST(a_key_that_waits_merges_priorities_too) {
    static const char *const plays[] = {
        "+a^-100@0 +b@1000 ~1000 =b^0 =a^-100",
        "+a^0@3600000 +a^1 #1 =a^1 =.",
        "+a^1@5 +a^0 =a^1 -a ~5 =.",
        "+a@5 +b@5 +a^2@9 ~5 =a^2 =b",
        "+a^1@5 +b^3@5 +c^2@5 ~5 =b =c =a",
        "+a@10 +b@5 ~10 +c =b =a =c", /* one that waited is in order of becoming ready */
        "+a@5 +b ~4 +a =a =b",        /* one that is added at once keeps its place */
    };
    PLAY_ALL(plays);
}

TEST(rate_limited_keys_wait_each_by_its_own_failures) {
    static const char *const plays[] = {
        "+a! #0 ~5 =a %a1 +a! -a ~9 =. ~1 =a -a %a2 *a %a0",
        "+b! +b! +b! +b! +b! +b! +b! *a %b7 ~5 =b -b +a! +b! ~5 =a =. ~634 =. ~1 =b",
        "+a!@3 ~3 =a -a +a!@3 ~3 =a -a +a!@300 ~19 =. ~1 =a",
        "+a!^4 +b!^9 ~5 =b^9 =a^4",
    };
    PLAY_ALL(plays);
}

TEST(priorities_hold_over_many_keys) {
    enum {
        EACH = 1000,
        PRIORITIES = 5
    };
    for (int after = -1; after <= 1; after++) {
        queue_stage stage;
        char key[64];
        queue_stage_open(&stage, &by_priority);
        for (int i = 0; i < EACH; i++) {
            for (int p = 0; p < PRIORITIES; p++) {
                int priority = (p * 2 % PRIORITIES - 2) * 5; /* not in their order */
                snprintf(key, sizeof key, "%d of %d", i, priority);
                const ki_add_options options = KI_ADD_OPTIONS(.priority = priority, .after_ms = 1000 * after);
                assert_int_equal(ki_workqueue_add_with(stage.queue, key, &options), KI_OK);
            }
        }
        assert_int_equal(ki_workqueue_length(stage.queue), after > 0 ? 0 : EACH * PRIORITIES);
        assert_true(test_engine_advance(&stage.engine, 1000));
        for (int priority = 10; priority >= -10; priority -= 5) {
            for (int i = 0; i < EACH; i++) {
                snprintf(key, sizeof key, "%d of %d", i, priority);
                const char *taken = ki_workqueue_get(stage.queue, 0, NULL);
                assert_string_equal(taken, key);
                assert_int_equal(ki_workqueue_priority(stage.queue, taken), priority);
            }
        }
        queue_play(&stage, "=.");
        char *text = NULL;
        assert_int_equal(ki_workqueue_metrics_text(stage.queue, &text, NULL), KI_OK);
        for (int priority = -10; priority <= 10; priority += 5) {
            snprintf(key, sizeof key, "workqueue_depth{name=\"\",priority=\"%d\"} 0\n", priority);
            assert_non_null(strstr(text, key));
        }
        assert_non_null(strstr(text, "workqueue_adds_total{name=\"\"} 5000\n"));
        assert_non_null(strstr(text, after > 0 ? "workqueue_retries_total{name=\"\"} 5000\n"
                                               : "workqueue_retries_total{name=\"\"} 0\n"));
        ki_metrics_text_free(text);
        queue_stage_close(&stage);
    }
}

TEST(a_plain_queue_knows_no_priorities) {
    queue_play_alone(NULL, "+a^1 +b^2 =a^0 =b^0 -a -b");
}

TEST(after_the_shutdown_what_was_queued_is_handed_out_by_priority) {
    queue_play_alone(&by_priority, "+a +b^1 +c@5 x +d =b^1 =a ~5 =x. -a =x.");
}
