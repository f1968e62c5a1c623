/* test_health.c: what an informer's record shows of it: the reflector's state, unless a change cannot be stored; and
 * the names of it all. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/health.h"
#include "src/engine/engine.h"
#include "tests/support/test.h"

TEST(each_state_and_attempt_has_a_name) {
    static const char *const states[] = { "not started", "connecting", "listing", "watching",
                                          "backing off", "blocked",    "stopped", "unknown state" };
    static const char *const attempts[] = { "nothing", "list", "streaming list", "watch", "store", "unknown attempt" };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        assert_string_equal(ki_state_name((ki_state)i), states[i]);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        assert_string_equal(ki_attempt_name((ki_attempt)i), attempts[i]);
}

static ki_health read_at(ki_health_record *record, int64_t now_ms, ki_attempt *ret_failed) {
    ki_health health = { .state = KI_STATE_NOT_STARTED };
    *ret_failed = ki_health_read(record, KI_MILLISECONDS(now_ms), &health, NULL);
    return health;
}

TEST(the_last_failure_is_reported_until_something_comes) {
    ki_health_record record;
    ki_error busy = KI_ERROR_INIT;
    ki_attempt failed;
    ki_error_set(&busy, KI_ERR_HTTP, "busy");
    assert_int_equal(ki_health_init(&record, NULL, 0, NULL), KI_OK);
    ki_health_set_attempts(&record, KI_ATTEMPT_WATCH, KI_ATTEMPT_LIST);
    assert_true(ki_health_set_state(&record, KI_STATE_BACKING_OFF, &busy, KI_MILLISECONDS(900), KI_MILLISECONDS(100)));
    ki_health health = read_at(&record, 400, &failed);
    assert_int_equal(failed, KI_ATTEMPT_WATCH);
    assert_int_equal(health.next, KI_ATTEMPT_LIST);
    assert_int_equal(health.since_ms, 300);
    assert_int_equal(health.retry_in_ms, 500);
    assert_int_equal(read_at(&record, 1000, &failed).retry_in_ms, 0); /* due, not begun */

    assert_true(ki_health_set_state(&record, KI_STATE_CONNECTING, NULL, -1, KI_MILLISECONDS(1000)));
    health = read_at(&record, 1000, &failed);
    assert_int_equal(health.next, KI_ATTEMPT_NONE);
    assert_int_equal(health.retry_in_ms, -1);
    assert_int_equal(health.cause.code, KI_ERR_HTTP); /* while it is tried again */

    ki_error silence = KI_ERROR_INIT;
    ki_error_set(&silence, KI_ERR_TIMEOUT, "no response for 10 s");
    assert_true(ki_health_set_state(&record, KI_STATE_CONNECTING, &silence, -1, KI_MILLISECONDS(11000)));
    assert_false(ki_health_set_state(&record, KI_STATE_CONNECTING, &silence, -1, KI_MILLISECONDS(12000)));
    assert_int_equal(read_at(&record, 12000, &failed).cause.code, KI_ERR_TIMEOUT);
    assert_true(ki_health_set_state(&record, KI_STATE_WATCHING, NULL, -1, KI_MILLISECONDS(13000)));
    assert_int_equal(read_at(&record, 13000, &failed).cause.code, KI_OK);
    ki_health_destroy(&record);
}

TEST(a_change_that_cannot_be_stored_outweighs_the_reflector) {
    ki_health_record record;
    ki_health_stuck stuck = { .is_stuck = false };
    ki_error lack = KI_ERROR_INIT;
    ki_attempt failed;
    ki_error_set(&lack, KI_ERR_NO_MEMORY, "no memory");
    assert_int_equal(ki_health_init(&record, &stuck, 0, NULL), KI_OK);
    assert_true(ki_health_set_state(&record, KI_STATE_WATCHING, NULL, -1, KI_MILLISECONDS(100)));
    assert_true(ki_health_set_stuck(&record, &lack, KI_MILLISECONDS(700), KI_MILLISECONDS(500)));
    ki_health health = read_at(&record, 600, &failed);
    assert_int_equal(failed, KI_ATTEMPT_STORE);
    assert_int_equal(health.state, KI_STATE_BACKING_OFF);
    assert_int_equal(health.next, KI_ATTEMPT_STORE);
    assert_int_equal(health.since_ms, 100);
    assert_int_equal(health.retry_in_ms, 100);
    assert_int_equal(health.cause.code, KI_ERR_NO_MEMORY);

    assert_false(ki_health_set_stuck(&record, &lack, KI_MILLISECONDS(900), KI_MILLISECONDS(700))); /* still */
    assert_int_equal(read_at(&record, 800, &failed).since_ms, 300);
    assert_false(ki_health_set_state(&record, KI_STATE_CONNECTING, NULL, -1, KI_MILLISECONDS(800)));
    assert_true(ki_health_set_stuck(&record, NULL, -1, KI_MILLISECONDS(900)));
    health = read_at(&record, 900, &failed);
    assert_int_equal(health.state, KI_STATE_CONNECTING);
    assert_int_equal(health.since_ms, 100);
    assert_int_equal(health.cause.code, KI_OK);

    assert_true(ki_health_set_stuck(&record, &lack, -1, KI_MILLISECONDS(900)));
    assert_true(ki_health_set_state(&record, KI_STATE_STOPPED, NULL, -1, KI_MILLISECONDS(900)));
    assert_int_equal(read_at(&record, 900, &failed).state, KI_STATE_STOPPED);
    ki_health_destroy(&record);
}
