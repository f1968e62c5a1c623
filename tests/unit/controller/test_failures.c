/* test_failures.c: the failing key that ki_controller_get_failure returns. */
#include "tests/support/controller_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum {
    MANY = 100
};

/* Reconciles a key; `act` is a letter of the stage's script. */
static void reconcile(const char *key, const char *act) {
    stage.script = act;
    stage_add(key);
    stage_settle(&stage);
}

/* Asserts the key, and its failures in a row; "": no key fails. */
static void expect(const char *key, int failures) {
    ki_controller_failure failure;
    ki_controller_get_failure(stage.controller, &failure);
    assert_string_equal(failure.key, key);
    assert_int_equal(failure.failures, failures);
}

/* Retries are so late that only the test reconciles a key. */
static void begin(ki_elector *elector) {
    static const ki_rate_limit late = KI_RATE_LIMIT_FAST_SLOW(3600000, 3600000, 1);
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .elector = elector, .rate_limits = &late,
                                                                 .rate_limit_count = 1)),
                     KI_OK);
    stage_start(&stage);
}

CONTROLLER_TEST(each_key_that_fails_is_shown_until_it_succeeds_the_worst_one_first) {
    begin(NULL);
    expect("", 0);
    for (int i = 0; i < 3; i++)
        reconcile("three", "f");
    reconcile("one", "f");
    reconcile("two", "f");
    reconcile("two", "f");
    expect("three", 3);
    reconcile("three", ".");
    expect("two", 2);
    reconcile("one", ".");
    expect("two", 2);
    reconcile("two", "r");
    expect("", 0);
}

CONTROLLER_TEST(of_keys_that_failed_as_often_the_last_one_is_shown) {
    begin(NULL);
    reconcile("a", "f");
    stage_advance(&stage, 1000);
    reconcile("b", "f");
    expect("b", 1);
    stage_advance(&stage, 1000);
    reconcile("a", "f");
    stage_advance(&stage, 1);
    reconcile("b", "f");
    stage_advance(&stage, 1000);
    ki_controller_failure failure;
    ki_controller_get_failure(stage.controller, &failure);
    assert_string_equal(failure.key, "b");
    assert_int_equal(failure.ago_ms, 1000);
    assert_true(failure.is_retried);
    assert_string_equal(ki_error_message(&failure.cause), "it did not work");
}

CONTROLLER_TEST(a_terminal_failure_is_worse_than_any_that_is_retried) {
    begin(NULL);
    reconcile("terminal", "t");
    for (int i = 0; i < 5; i++)
        reconcile("retried", "f");
    expect("terminal", 1);
    reconcile("other", "t");
    reconcile("other", ".");
    expect("terminal", 1);
    reconcile("terminal", "t");
    expect("terminal", 2);
    reconcile("terminal", "f");
    expect("retried", 5);
    reconcile("terminal", ".");
    expect("retried", 5);
}

CONTROLLER_TEST(of_many_keys_that_fail_the_worst_stay_known) {
    char key[32];
    begin(NULL);
    for (int i = 0; i < 2; i++)
        for (int at = 0; at < 4; at++) {
            snprintf(key, sizeof key, "worst-%d", at);
            reconcile(key, "f");
            stage_advance(&stage, 1);
        }
    reconcile("terminal", "t");
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "many-%d", i);
        reconcile(key, "f");
        stage_advance(&stage, 1);
    }
    expect("terminal", 1);
    reconcile("terminal", ".");
    for (int at = 3; at >= 0; at--) {
        snprintf(key, sizeof key, "worst-%d", at);
        expect(key, 2);
        reconcile(key, ".");
    }
    expect("many-99", 1);
}

CONTROLLER_TEST(a_process_that_leads_no_more_has_no_failing_key) {
    ki_controller_failure of_leader, of_follower, of_late_end;
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = "me"),
                                    &elector, NULL),
                     KI_OK);
    begin(elector);
    reconcile("a", "f");
    reconcile("b", "d");
    ki_controller_get_failure(stage.controller, &of_leader);
    ki_elector_stop(elector);
    stage_settle(&stage);
    ki_controller_get_failure(stage.controller, &of_follower);
    ki_error cause = KI_ERROR_INIT;
    (void)ki_error_set(&cause, KI_ERR_HTTP, "late");
    ki_reconcile_finish(stage.deferred[0], &cause); /* begun in the term that ended */
    stage_settle(&stage);
    ki_controller_get_failure(stage.controller, &of_late_end);
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    ki_elector_free(elector);
    assert_string_equal(of_leader.key, "a");
    assert_string_equal(of_follower.key, "");
    assert_string_equal(of_late_end.key, "");
}
