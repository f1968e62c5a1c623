/* test_fetch_memory.c: how long what was fetched is remembered, and the last state of an object that is gone: for a
 * program whose role may get objects, but not list them. On the embedded API server, in the engine's time. */
#include "src/factory/factory.h"
#include "tests/support/controller_stage.h"
#include "tests/support/fetch/fetch_stage.h"

#include <kinformer/lister.h>

#include <stdio.h>
#include <string.h>

enum {
    PODS = 110
};

static void put_pods(int count) {
    for (int i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "shop/p%d", i);
        stage_put(&stage, KI_PODS, key, "\"labels\":{\"v\":\"1\"}");
    }
}

/* Asks for all pods every `every_ms`, for a while. All answers must be pods. */
static void ask_for(ki_informer *pods, int count, int64_t every_ms, int64_t for_ms) {
    for (int64_t ms = 0; ms < for_ms; ms += every_ms) {
        for (int i = 0; i < count; i++) {
            char key[32];
            snprintf(key, sizeof key, "shop/p%d", i);
            fetch_ask(pods, key, 1000);
        }
        stage_advance(&stage, every_ms);
        assert_int_equal(fetch_count_answers(), count);
        assert_int_equal(fetch_last_error.code, KI_OK);
    }
}

CONTROLLER_TEST(while_it_is_blocked_an_object_costs_one_request_in_ten_minutes) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    put_pods(PODS);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for(pods, PODS, 1000, 590 * 1000);
    assert_int_equal(fetch_count_requests(), PODS);
    ask_for(pods, PODS, 1000, 20 * 1000);
    assert_int_equal(fetch_count_requests(), 2 * PODS);
}

CONTROLLER_TEST(an_informer_that_lists_remembers_for_five_seconds_only) {
    fetch_fault(FETCH_COUNT_GETS);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_fault("status,code=503,verb=list+watch,resource=pods"); /* backs off, and is not blocked */
    kt_cluster_close_watches(stage.cluster);
    stage_advance(&stage, 10);
    put_pods(1);
    ask_for(pods, 1, 1000, 4000);
    assert_int_equal(fetch_count_requests(), 1);
    ask_for(pods, 1, 1000, 4000);
    assert_int_equal(fetch_count_requests(), 2);
}

CONTROLLER_TEST(an_absence_is_remembered_for_five_seconds_also_while_it_is_blocked) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    assert_true(stage_make_factory(&stage, KI_FACTORY_OPTIONS(.keep_fetched_ms = 3600 * 1000)));
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    fetch_ask(pods, "shop/p0", 1000);
    stage_advance(&stage, KI_FETCH_REMEMBERED_MS - 1);
    fetch_ask(pods, "shop/p0", 1000);
    stage_settle(&stage);
    fetch_expect("shop/p0 not found;shop/p0 not found;");
    assert_int_equal(fetch_count_requests(), 1);
    put_pods(1);
    stage_advance(&stage, 1);
    fetch_ask(pods, "shop/p0", 1000);
    stage_settle(&stage);
    fetch_expect("shop/p0 1;");
}

CONTROLLER_TEST(the_program_says_how_long_and_how_many_are_remembered) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    put_pods(5);
    assert_true(stage_make_factory(&stage, KI_FACTORY_OPTIONS(.keep_fetched_ms = 60000, .keep_fetched_max = 3)));
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for(pods, 3, 1000, 59000);
    assert_int_equal(fetch_count_requests(), 3);
    ask_for(pods, 3, 1000, 3000);
    assert_int_equal(fetch_count_requests(), 6);
    ask_for(pods, 5, 1000, 1000);
    assert_int_equal(fetch_count_requests(), 8);
    fetch_ask(pods, "shop/p0", 1000); /* one of the two that went */
    stage_settle(&stage);
    assert_int_equal(fetch_count_requests(), 9);
    ki_factory *other = NULL;
    assert_int_equal(ki_factory_new_on(NULL, stage.transport,
                                       &KI_FACTORY_OPTIONS(.engine = stage.engine.engine, .keep_fetched_ms = -1),
                                       &other, NULL),
                     KI_ERR_INVALID);
}

static void expect_deleted(ki_informer *pods, const char *version) {
    bool is_deleted = false;
    ki_object *obj = ki_informer_get_or_deleted(pods, "shop/p0", &is_deleted);
    if (!version) {
        assert_null(obj);
        return;
    }
    assert_non_null(obj);
    assert_true(is_deleted);
    assert_string_equal(ki_object_label(obj, "v"), version);
    ki_object_unref(obj);
    obj = NULL;
    assert_int_equal(ki_informer_get_by_index_or_deleted(pods, "v", version, &obj, &is_deleted, NULL), KI_OK);
    assert_true(is_deleted);
    ki_object_unref(obj);
}

CONTROLLER_TEST(the_last_fetched_state_of_what_is_gone_can_be_read_for_the_time_of_deleted_objects) {
    static const ki_indexer by_label = { .name = "v", .path = "metadata.labels.v" };
    fetch_fault(FETCH_NO_LIST);
    put_pods(1);
    assert_true(stage_make_factory(&stage, KI_FACTORY_OPTIONS(.keep_fetched_ms = 1000)));
    ki_informer *pods = fetch_pods(&KI_INFORMER_OPTIONS(.keep_deleted_ms = 60000));
    assert_int_equal(ki_informer_add_indexers(pods, &by_label, 1, NULL), KI_OK);
    stage_start(&stage);
    fetch_ask(pods, "shop/p0", 1000);
    stage_settle(&stage);
    fetch_expect("shop/p0 1;");
    stage_delete(&stage, KI_PODS, "shop/p0");
    stage_advance(&stage, 7000);
    expect_deleted(pods, NULL); /* nobody has asked */
    for (int i = 0; i < 100; i++) {
        fetch_ask(pods, "shop/p0", 1000);
        stage_settle(&stage);
        fetch_expect("shop/p0 not found;");
        expect_deleted(pods, "1");
        stage_advance(&stage, 500);
    }
    stage_advance(&stage, 10500);
    expect_deleted(pods, NULL);
}

CONTROLLER_TEST(an_object_that_comes_back_is_not_deleted) {
    fetch_fault(FETCH_NO_LIST);
    put_pods(1);
    assert_true(stage_make_factory(&stage, KI_FACTORY_OPTIONS(.keep_fetched_ms = 1000)));
    ki_informer *pods = fetch_pods(&KI_INFORMER_OPTIONS(.keep_deleted_ms = 60000));
    stage_start(&stage);
    ask_for(pods, 1, 1000, 1000);
    stage_delete(&stage, KI_PODS, "shop/p0");
    stage_advance(&stage, 1000);
    stage_put(&stage, KI_PODS, "shop/p0", "\"labels\":{\"v\":\"2\"}");
    fetch_ask(pods, "shop/p0", 1000);
    stage_settle(&stage);
    fetch_expect("shop/p0 2;");
    expect_deleted(pods, NULL);
}

CONTROLLER_TEST(without_keep_deleted_nothing_is_left_of_what_is_gone) {
    fetch_fault(FETCH_NO_LIST);
    put_pods(1);
    assert_true(stage_make_factory(&stage, KI_FACTORY_OPTIONS(.keep_fetched_ms = 1000)));
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for(pods, 1, 1000, 1000);
    stage_delete(&stage, KI_PODS, "shop/p0");
    fetch_ask(pods, "shop/p0", 1000);
    stage_settle(&stage);
    fetch_expect("shop/p0 not found;");
    expect_deleted(pods, NULL);
}

CONTROLLER_TEST(once_the_role_is_there_the_cache_comes_before_what_was_fetched) {
    fetch_fault(FETCH_COUNT_GETS);
    fetch_fault(FETCH_NO_LIST);
    put_pods(2);
    ki_informer *pods = fetch_pods(NULL);
    stage_start(&stage);
    ask_for(pods, 2, 1000, 1000);
    fetch_heal();
    fetch_fault(FETCH_COUNT_GETS);
    stage_delete(&stage, KI_PODS, "shop/p0");
    stage_put(&stage, KI_PODS, "shop/p1", "\"labels\":{\"v\":\"2\"}");
    stage_advance(&stage, 60000);
    assert_true(ki_informer_has_synced(pods));
    fetch_ask(pods, "shop/p0", 1000);
    fetch_ask(pods, "shop/p1", 1000);
    stage_settle(&stage);
    fetch_expect("shop/p1 2;shop/p0 not found;");
    assert_int_equal(fetch_count_requests(), 1);
}
