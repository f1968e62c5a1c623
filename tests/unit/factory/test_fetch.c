/* test_fetch.c: an object from the cache, else fetched: one request for all who ask, what is remembered, which answers
 * there are, and how waits end. On the embedded API server, in the engine's time, and with threads. */
#include "tests/support/controller_stage.h"
#include "tests/support/fetch/fetch_stage.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/time/growth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CONTROLLER_TEST(what_the_cache_has_needs_no_request) {
    fetch_fault(FETCH_COUNT_GETS);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 1000);
    fetch_expect(""); /* never inside the call */
    stage_settle(&stage);
    fetch_expect("shop/a 1;");
    assert_int_equal(fetch_count_requests(), 0);
}

CONTROLLER_TEST(a_role_that_may_only_get_gets_objects_and_absences) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"},\"managedFields\":[{\"manager\":\"m\"}]");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 1000);
    fetch_ask(pods, "shop/b", 1000);
    stage_advance(&stage, 100);
    assert_false(ki_informer_has_synced(pods));
    fetch_expect("shop/a 1;shop/b not found;");
    assert_int_equal(fetch_count_requests(), 2);
    assert_null(ki_informer_get(pods, "shop/a")); /* not in the cache */
}

static void on_absent(ki_informer *informer, const char *key, const ki_object *obj, const ki_error *err, void *user) {
    (void)informer;
    (void)key;
    assert_null(obj);
    assert_int_equal(err->code, KI_ERR_NOT_FOUND);
    snprintf(user, KI_ERROR_MESSAGE_MAX, "%s", err->message);
}

CONTROLLER_TEST(an_absence_has_the_version_that_the_cache_had) {
    char message[KI_ERROR_MESSAGE_MAX] = "", expected[KI_ERROR_MESSAGE_MAX];
    ki_informer *pods = fetch_pods(NULL);
    stage_put(&stage, KI_PODS, "shop/a", "");
    stage_start(&stage);
    ki_snapshot *before = ki_informer_snapshot(pods);
    snprintf(expected, sizeof expected, "pods shop/b: there is none at resource version %s",
             ki_snapshot_resource_version(before));
    ki_snapshot_free(before);
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "shop/b", 1000, on_absent, message, NULL), KI_OK);
    stage_advance(&stage, 100);
    assert_string_equal(message, expected);
}

CONTROLLER_TEST(an_absence_before_the_first_list_has_no_version) {
    char message[KI_ERROR_MESSAGE_MAX] = "";
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "shop/b", 1000, on_absent, message, NULL), KI_OK);
    stage_advance(&stage, 100);
    assert_string_equal(message, "pods shop/b: there is none");
}

CONTROLLER_TEST(all_who_ask_at_a_time_share_a_request_and_later_ones_its_answer) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    for (int i = 0; i < 100; i++)
        fetch_ask(pods, i % 2 ? "shop/a" : "shop/b", 60000);
    stage_advance(&stage, 100);
    assert_int_equal(fetch_count_requests(), 2);
    (void)fetch_count_answers();
    stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"v\":\"2\"}");
    stage_advance(&stage, KI_FETCH_REMEMBERED_MS - 200);
    fetch_ask(pods, "shop/a", 1000);
    fetch_ask(pods, "shop/b", 1000);
    stage_advance(&stage, 0);
    fetch_expect("shop/a 1;shop/b not found;");
    assert_int_equal(fetch_count_requests(), 2);
    stage_advance(&stage, 200); /* now they are forgotten */
    fetch_ask(pods, "shop/b", 1000);
    stage_advance(&stage, 100);
    fetch_expect("shop/b 2;");
    assert_int_equal(fetch_count_requests(), 3);
}

CONTROLLER_TEST(a_deletion_that_the_cache_sees_ends_what_is_remembered) {
    fetch_fault(FETCH_COUNT_GETS);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_fault("status,code=503,verb=watch,resource=pods,count=1"); /* the cache is late */
    kt_cluster_close_watches(stage.cluster);
    stage_advance(&stage, 10);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    fetch_ask(pods, "shop/a", 1000);
    stage_advance(&stage, 100);
    fetch_expect("shop/a 1;"); /* before its event */
    stage_delete(&stage, KI_PODS, "shop/a");
    stage_advance(&stage, 4000);
    fetch_ask(pods, "shop/a", 1000);
    stage_advance(&stage, 100);
    fetch_expect("shop/a not found;");
    assert_int_equal(fetch_count_requests(), 2);
}

CONTROLLER_TEST(an_error_response_is_an_answer_and_a_failure_is_retried_in_time) {
    static char nobody[] = "";
    fetch_fault("status,code=403,reason=Forbidden,verb=get,resource=pods,name=a");
    fetch_fault("status,code=503,verb=get,resource=pods,name=c,count=2");
    stage_put(&stage, KI_PODS, "shop/c", "\"labels\":{\"v\":\"3\"}");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 20000);
    fetch_ask(pods, "shop/c", 20000);
    stage_advance(&stage, 0);
    fetch_expect("shop/a http error;");
    stage_advance(&stage, 20000);
    fetch_expect("shop/c 3;");
    assert_int_equal(ki_informer_cancel_fetches(pods, fetch_answer, nobody, NULL), KI_ERR_NOT_FOUND);
}

CONTROLLER_TEST(no_request_comes_before_the_retry_after_of_the_last) {
    fetch_fault("status,code=429,retry-after=60,verb=get,resource=pods,count=1"); /* longer than a request may take */
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 90000);
    stage_advance(&stage, 30000);
    fetch_expect("");
    fetch_ask(pods, "shop/a", 10000);
    fetch_ask(pods, "shop/b", 10000); /* another object has its own response */
    stage_advance(&stage, 29000);
    fetch_expect("shop/a timeout;shop/b not found;");
    stage_advance(&stage, 2000);
    fetch_expect("shop/a 1;");
}

CONTROLLER_TEST(those_who_ask_anew_wait_for_the_retry_after_too) {
    fetch_fault("status,code=503,retry-after=60,verb=get,resource=pods,count=1");
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 10000);
    stage_advance(&stage, 20000);
    fetch_expect("shop/a timeout;");
    fetch_ask(pods, "shop/a", 90000);
    stage_advance(&stage, 39000);
    fetch_expect("");
    stage_advance(&stage, 2000);
    fetch_expect("shop/a 1;");
}

CONTROLLER_TEST(the_namespaces_of_a_set_do_not_limit_what_is_fetched) {
    static const char *const shop[] = { "shop" };
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    stage_put(&stage, KI_PODS, "other/b", "\"labels\":{\"v\":\"2\"}");
    ki_informer *pods = fetch_pods(&KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    assert_int_equal(ki_informer_set_namespaces(pods, shop, 1, NULL), KI_OK);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 1000);
    fetch_ask(pods, "other/b", 1000);
    stage_advance(&stage, 100);
    fetch_expect("shop/a 1;other/b 2;");
}

CONTROLLER_TEST(what_the_cache_gets_meanwhile_is_the_answer_also_if_the_server_has_it_no_longer) {
    static const char *const shop[] = { "shop" };
    fetch_fault("status,code=503,retry-after=1,verb=get,resource=pods,count=1");
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    ki_informer *pods = fetch_pods(&KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 10000);
    stage_settle(&stage);
    assert_int_equal(ki_informer_set_namespaces(pods, shop, 1, NULL), KI_OK);
    stage_settle(&stage);
    fetch_fault("status,code=503,verb=list+watch,resource=pods"); /* the cache is late */
    kt_cluster_close_watches(stage.cluster);
    stage_advance(&stage, 10);
    stage_delete(&stage, KI_PODS, "shop/a");
    fetch_expect("");
    stage_advance(&stage, 2000);
    fetch_expect("shop/a 1;");
    assert_int_equal(ki_informer_set_namespaces(pods, NULL, 0, NULL), KI_OK); /* ends what is remembered */
    stage_settle(&stage);
    fetch_ask(pods, "shop/a", 1000);
    stage_advance(&stage, 0);
    fetch_expect("shop/a not found;");
}

CONTROLLER_TEST(fetched_objects_are_those_of_the_informer) {
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\",\"app\":\"web\"}");
    stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"v\":\"1\",\"app\":\"db\"}");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(&KI_INFORMER_OPTIONS(.label_selector = "app=web", .namespace_name = "shop"));
    stage_start(&stage);
    fetch_ask(pods, "shop/a", 1000);
    fetch_ask(pods, "shop/b", 1000);
    stage_advance(&stage, 100);
    fetch_expect("shop/a 1;shop/b not found;");
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "other/a", 1, fetch_answer, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "a", 1, fetch_answer, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "shop/", 1, fetch_answer, NULL, NULL), KI_ERR_INVALID);
}

CONTROLLER_TEST(waits_end_when_they_are_cancelled_or_the_informer_is_removed_or_stopped) {
    static char other[] = "other ", nobody[] = "";
    fetch_fault("status,code=503,verb=get,resource=pods");
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/a", -1);
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "shop/a", -1, fetch_answer, other, NULL), KI_OK);
    stage_advance(&stage, 10);
    assert_int_equal(ki_informer_cancel_fetches(pods, fetch_answer, other, NULL), KI_OK);
    fetch_expect("");
    stage_settle(&stage);
    fetch_expect("other shop/a cancelled;");
    assert_int_equal(ki_factory_remove_informer(stage.factory, pods, NULL), KI_OK);
    stage_settle(&stage);
    fetch_expect("shop/a cancelled;");
    assert_int_equal(ki_informer_get_or_fetch_async(pods, "shop/a", -1, fetch_answer, nobody, NULL), KI_ERR_CANCELLED);
    ki_informer *again = fetch_pods(NULL);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    fetch_ask(again, "shop/b", -1);
    stage_advance(&stage, 10);
    ki_factory_stop(stage.factory);
    stage_advance(&stage, 60000);
    fetch_expect("shop/b cancelled;");
}

enum {
    MANY = 500
};

static char askers[MANY * GROWTH_FACTOR]; /* empty names */

static void ask_as_each(size_t count, void *pods) {
    stage_settle(&stage);
    for (size_t i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "shop/p%zu", i);
        assert_int_equal(ki_informer_get_or_fetch_async(pods, key, -1, fetch_answer, &askers[i], NULL), KI_OK);
    }
}

static void cancel_each(size_t count, void *pods) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_informer_cancel_fetches(pods, fetch_answer, &askers[i], NULL), KI_OK);
}

CONTROLLER_TEST(cancelling_each_of_many_fetches_takes_linear_time) {
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    assert_true(growth_after(ask_as_each, cancel_each, MANY, pods) < GROWTH_LINEAR_MAX);
}

CONTROLLER_TEST(only_so_many_answers_are_remembered) {
    char key[32];
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    for (int i = 0; i < KI_FETCH_MAX_REMEMBERED + 10; i++) {
        snprintf(key, sizeof key, "shop/p%d", i);
        fetch_ask(pods, key, 60000);
    }
    stage_advance(&stage, 1000);
    int before = fetch_count_requests();
    assert_int_equal(before, KI_FETCH_MAX_REMEMBERED + 10);
    fetch_ask(pods, key, 1000); /* the newest */
    fetch_ask(pods, "shop/p0", 1000);
    stage_advance(&stage, 100);
    assert_int_equal(fetch_count_requests(), before + 1);
}

/* --- a storm ------------------------------------------------------------------------------------------------------ */

enum {
    STORM = 1000,
    IN_FLIGHT = 16 /* half of the client's */
};

static void ask_for_many(ki_informer *pods, int count, int64_t timeout_ms) {
    for (int i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "shop/p%d", i);
        fetch_ask(pods, key, timeout_ms);
    }
}

CONTROLLER_TEST(a_storm_has_only_so_many_requests_in_flight_and_the_cache_is_kept_beside_it) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault("silent,verb=get,resource=pods");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for_many(pods, STORM, 3000);
    stage_settle(&stage);
    assert_int_equal(fetch_count_requests(), IN_FLIGHT);
    stage_put(&stage, KI_PODS, "shop/new", "\"labels\":{\"v\":\"1\"}");
    stage_advance(&stage, 100);
    fetch_ask(pods, "shop/new", 1000);
    stage_settle(&stage);
    fetch_expect("shop/new 1;");
    stage_advance(&stage, 3000);
    assert_int_equal(fetch_count_answers(), STORM);
    assert_int_equal(fetch_last_error.code, KI_ERR_TIMEOUT);
    stage_advance(&stage, 60000); /* those of whom nobody waits any more are not sent */
    assert_int_equal(fetch_count_requests(), IN_FLIGHT);
}

CONTROLLER_TEST(a_storm_at_an_api_that_does_not_respond_leaves_places_for_others) {
    fetch_fault("silent,verb=get,resource=pods");
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for_many(pods, STORM, 5000);
    stage_settle(&stage);
    fetch_ask(stage.configmaps, "shop/a", 1000);
    stage_settle(&stage);
    fetch_expect("shop/a not found;");
}

CONTROLLER_TEST(a_storm_is_answered_in_its_order) {
    char expected[4096] = "";
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for_many(pods, 100, -1);
    for (int i = 0; i < 100; i++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "shop/p%d not found;", i);
    stage_settle(&stage);
    fetch_expect(expected);
    assert_int_equal(fetch_count_requests(), 100);
}

CONTROLLER_TEST(each_run_of_the_loop_answers_one_and_sends_one) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for_many(pods, STORM, -1);
    int answered = 0, sent = 0;
    for (int steps = 0; answered < STORM; steps++) {
        assert_true(steps < 100 * STORM);
        assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
        int requests = fetch_count_requests(), answers = fetch_count_answers();
        assert_in_range(answers, 0, 1);
        assert_in_range(requests - sent, 0, 1);
        sent = requests;
        answered += answers;
    }
}

static bool play(const ki_allocator *allocator) {
    static char nobody[] = "";
    bool is_asked = false;
    ki_informer *pods = NULL;
    (void)fetch_count_answers();
    if (!stage_open(&stage, allocator) || ki_factory_informer(stage.factory, KI_PODS, NULL, &pods, NULL))
        goto out;
    fetch_fault(FETCH_NO_LIST);
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"v\":\"1\"}");
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    stage_advance(&stage, 10);
    is_asked = !ki_informer_get_or_fetch_async(pods, "shop/a", 100000, fetch_answer, nobody, NULL);
    stage_advance(&stage, 120000);
    fetch_expect(is_asked ? "shop/a 1;" : "");
out:
    stage_close(&stage);
    return is_asked;
}

TEST(an_answer_comes_whatever_allocation_fails) {
    bool failed = true;
    for (size_t n = 0; failed; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        bool is_asked = play(&memory.allocator);
        failed = scarce_memory_failed(&memory);
        assert_true(is_asked || failed);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum {
    THREADS = 6,
    ASKS = 60
};

static void *ask_on(void *user) {
    ki_informer *pods = user;
    for (int i = 0; i < ASKS; i++) {
        char key[32];
        ki_object *obj = NULL;
        ki_error err = KI_ERROR_INIT;
        snprintf(key, sizeof key, "shop/p%d", i % 10);
        ki_status status = ki_informer_get_or_fetch(pods, key, (int64_t)PATIENCE_S * 1000, &obj, &err);
        if (status != (i % 10 < 5 ? KI_OK : KI_ERR_NOT_FOUND))
            fail_msg("%s: %s", key, ki_error_message(&err));
        ki_object_unref(obj);
    }
    return NULL;
}

CONTROLLER_TEST(a_thread_does_not_wait_while_nothing_drives_the_engine) {
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_informer *pods = fetch_pods(NULL);
    assert_int_equal(ki_informer_get_or_fetch(pods, "shop/a", -1, &obj, &err), KI_ERR_STATE);
    assert_non_null(strstr(ki_error_message(&err), "nothing drives the engine: start the factory, or "));
}

TEST(threads_wait_for_their_answers) {
    pthread_t threads[THREADS];
    ki_informer *pods = NULL;
    ki_object *obj = NULL;
    stage_open_threaded(&stage, NULL);
    for (int i = 0; i < 5; i++) {
        char key[32];
        snprintf(key, sizeof key, "shop/p%d", i);
        stage_put(&stage, KI_PODS, key, "");
    }
    assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    stage_start(&stage);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, pods), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(ki_factory_remove_informer(stage.factory, pods, NULL), KI_OK);
    assert_int_equal(ki_informer_get_or_fetch(pods, "shop/p1", -1, &obj, NULL), KI_ERR_CANCELLED);
    stage_close(&stage);
}
