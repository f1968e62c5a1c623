/* test_fetch_failures.c: what a program gets that asks for objects while requests fail: at once, until the next attempt
 * is due, and with the cause. On the embedded API server, in the engine's time. */
#include "tests/support/controller_stage.h"
#include "tests/support/fetch/fetch_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <string.h>

#define FAILS "status,code=500,reason=InternalError,verb=get,resource=pods,name=a"
#define AWAY "close,verb=get,resource=pods"

static void ask_at_once(ki_informer *pods, const char *key, const char *answer) {
    fetch_ask(pods, key, 500);
    stage_settle(&stage);
    fetch_expect(answer);
}

CONTROLLER_TEST(a_failed_attempt_is_the_answer_until_the_next_one_is_due) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FAILS);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    for (int i = 0; i < 10; i++)
        ask_at_once(pods, "shop/a", "shop/a timeout;"); /* nobody waits for an attempt that comes after its limit */
    assert_int_equal(fetch_count_requests(), 1);
    stage_advance(&stage, 1600);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    assert_int_equal(fetch_count_requests(), 2);
}

CONTROLLER_TEST(who_asks_again_and_again_waits_no_shorter_between_attempts) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FAILS);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    for (int i = 0; i < 600; i++) { /* a minute */
        fetch_ask(pods, "shop/a", 10);
        stage_advance(&stage, 100);
    }
    assert_int_equal(fetch_count_answers(), 600);
    assert_in_range(fetch_count_requests(), 4, 7); /* after 0.8, 1.6, 3.2, … seconds or up to twice as many */
}

CONTROLLER_TEST(who_can_wait_for_the_next_attempt_does) {
    fetch_fault("status,code=503,verb=get,resource=pods,count=1");
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    fetch_ask(pods, "shop/a", 2000);
    stage_settle(&stage);
    fetch_expect("");
    stage_advance(&stage, 1600);
    fetch_expect("shop/a 1;");
}

CONTROLLER_TEST(the_error_tells_an_object_that_fails_from_a_server_that_is_away) {
    fetch_fault(FAILS);
    fetch_fault("close,verb=get,resource=pods,name=b");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    assert_int_equal(fetch_last_error.http_status, 500);
    assert_string_equal(fetch_last_error.reason, "InternalError");
    assert_true(ki_error_is_internal(&fetch_last_error));
    assert_non_null(strstr(fetch_last_error.message, "shop/a is unknown: get pods shop/a: "));
    ask_at_once(pods, "shop/b", "shop/b timeout;");
    assert_int_equal(fetch_last_error.http_status, 0);
    assert_string_equal(fetch_last_error.reason, "");
    assert_non_null(strstr(fetch_last_error.message, "shop/b is unknown: get pods shop/b: "));
}

CONTROLLER_TEST(a_proxy_s_page_instead_of_the_object_is_no_fault_of_the_program) {
    fetch_fault("garbage,which=0,verb=get,resource=pods,name=a");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_at_once(pods, "shop/a", "shop/a malformed;");
    assert_int_equal(fetch_last_error.category, KI_CATEGORY_SERVER);
    assert_non_null(strstr(fetch_last_error.message, "get pods shop/a: the response is no object: "));
}

CONTROLLER_TEST(a_server_that_is_away_is_not_asked_for_each_name) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(AWAY);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    for (int i = 0; i < 100; i++) {
        char key[32], answer[48];
        snprintf(key, sizeof key, "shop/p%d", i);
        snprintf(answer, sizeof answer, "%s timeout;", key);
        ask_at_once(pods, key, answer);
    }
    assert_int_equal(fetch_count_requests(), 1);
    stage_advance(&stage, 1600);
    ask_at_once(pods, "shop/p50", "shop/p50 timeout;");
    ask_at_once(pods, "shop/p51", "shop/p51 timeout;");
    assert_int_equal(fetch_count_requests(), 2);
}

CONTROLLER_TEST(a_request_that_was_not_sent_is_no_response_of_the_server) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(AWAY);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 500);
    fetch_ask(pods, "shop/..", 500);
    stage_settle(&stage);
    fetch_expect("shop/.. invalid argument;shop/a timeout;");
    ask_at_once(pods, "shop/b", "shop/b timeout;");
    assert_int_equal(fetch_count_requests(), 1);
}

CONTROLLER_TEST(an_object_that_fails_does_not_hold_back_the_others) {
    fetch_fault("close,verb=get,resource=pods,name=a");
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 500);
    fetch_ask(pods, "shop/b", 5000); /* after a response the server is not away */
    stage_advance(&stage, 1600);
    fetch_expect("shop/a timeout;shop/b 1;");
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    ask_at_once(pods, "shop/b", "shop/b 1;");
}

CONTROLLER_TEST(who_asks_for_a_key_that_has_no_response_for_longer_than_its_limit_does_not_wait) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault("silent,verb=get,resource=pods");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 500);
    stage_advance(&stage, 499);
    fetch_expect("");
    stage_advance(&stage, 1);
    fetch_expect("shop/a timeout;");
    for (int i = 0; i < 10; i++)
        ask_at_once(pods, "shop/a", "shop/a timeout;");
    fetch_ask(pods, "shop/a", 1000); /* this one has more patience */
    stage_settle(&stage);
    fetch_expect("");
    stage_advance(&stage, 1000);
    fetch_expect("shop/a timeout;");
    assert_int_equal(fetch_count_requests(), 1);
}

CONTROLLER_TEST(what_waits_longer_than_a_retry_after_is_told_so_at_once) {
    fetch_fault("status,code=429,retry-after=60,verb=get,resource=pods,count=1");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    assert_int_equal(fetch_last_error.http_status, 429);
    assert_int_equal(fetch_last_error.retry_after_ms, 60000);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    assert_int_equal(fetch_last_error.http_status, 429);
}

static void expect_no_delay_of_others(const char *fault) {
    fetch_fault(fault);
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    ask_at_once(pods, "shop/b", "shop/b 1;");
    ask_at_once(pods, "shop/c", "shop/c not found;");
    ask_at_once(pods, "shop/a", "shop/a timeout;");
}

CONTROLLER_TEST(a_429_with_retry_after_counts_for_its_own_object) {
    expect_no_delay_of_others("status,code=429,retry-after=86400,verb=get,resource=pods,name=a");
}

CONTROLLER_TEST(a_503_with_retry_after_counts_for_its_own_object) {
    expect_no_delay_of_others("status,code=503,retry-after=86400,verb=get,resource=pods,name=a");
}

CONTROLLER_TEST(what_an_object_is_told_of_a_server_that_is_away_names_no_other) {
    fetch_fault(AWAY);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_at_once(pods, "shop/a", "shop/a timeout;");
    ask_at_once(pods, "shop/b", "shop/b timeout;");
    assert_non_null(strstr(fetch_last_error.message, "shop/b is unknown: the server is away: "));
    assert_null(strstr(fetch_last_error.message, "shop/a"));
}

/* Returns false if the question could not be asked. */
static bool ask_a_busy_server(const ki_allocator *allocator) {
    static char nobody[] = "";
    ki_informer *pods = NULL;
    bool is_asked = false;
    if (stage_open(&stage, allocator) && !ki_factory_informer(stage.factory, KI_PODS, NULL, &pods, NULL)) {
        fetch_fault(FETCH_COUNT_GETS);
        fetch_fault("status,code=503,retry-after=60,verb=get,resource=pods");
        fetch_fault(FETCH_NO_LIST);
        assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
        stage_advance(&stage, 10);
        is_asked = !ki_informer_get_or_fetch_async(pods, "shop/a", -1, fetch_answer, nobody, NULL);
        stage_advance(&stage, 50000);
        assert_in_range(fetch_count_requests(), 0, 1);
    }
    stage_close(&stage);
    return is_asked;
}

TEST(a_retry_after_counts_whatever_allocation_fails) {
    bool failed = true;
    for (size_t n = 0; failed; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        bool is_asked = ask_a_busy_server(&memory.allocator);
        failed = scarce_memory_failed(&memory);
        assert_true(is_asked || failed);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}
