/* test_controller_for.c: ki_controller_for and ki_controller_owns, and watches that are added after the start; on one
 * thread in virtual time, and on threads. */
#include "tests/support/controller_stage.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OWNED_BY(name) \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" name \
    "\",\"uid\":\"u\",\"controller\":true}]"

static void control(ki_elector *elector) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .elector = elector)), KI_OK);
}

/* --- for and owns ------------------------------------------------------------------------------------------------- */

CONTROLLER_TEST(a_controller_for_a_resource_that_owns_another_gets_the_keys_of_both) {
    ki_informer *maps = NULL, *secrets = NULL;
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    stage_put(&stage, KI_SECRETS, "team/s", OWNED_BY("n"));
    stage_put(&stage, KI_SECRETS, "team/other", "");
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, &maps, NULL), KI_OK);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, &secrets, NULL), KI_OK);
    assert_int_equal(ki_controller_owns(stage.controller, KI_PODS, NULL, NULL, NULL), KI_OK);
    assert_ptr_equal(maps, stage.configmaps); /* the factory's */
    assert_ptr_equal(secrets, stage.secrets);
    stage_start(&stage);
    stage_expect_any_order(&stage, "team/m team/n");
    stage_put(&stage, KI_PODS, "team/p", OWNED_BY("m"));
    stage_settle(&stage);
    stage_expect(&stage, "team/m");
    stage_delete(&stage, KI_SECRETS, "team/s");
    stage_settle(&stage);
    stage_expect(&stage, "team/n");
}

static bool is_wanted(const ki_event *event, void *user) {
    return ki_object_label(event->obj, user) != NULL;
}

CONTROLLER_TEST(for_and_owns_take_a_predicate) {
    char label[] = "wanted";
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS,
                                       &KI_CONTROLLER_WATCH(.predicate = ki_predicate_generation_changed), NULL, NULL),
                     KI_OK);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS,
                                        &KI_CONTROLLER_WATCH(.predicate = is_wanted, .user = label), NULL, NULL),
                     KI_OK);
    stage_start(&stage);
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    stage_settle(&stage);
    stage_expect(&stage, "team/m");
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "\"labels\":{\"a\":\"b\"}");
    stage_settle(&stage);
    stage_expect(&stage, "");
    stage_delete(&stage, KI_CONFIGMAPS, "team/m");
    stage_settle(&stage);
    stage_expect(&stage, "team/m");
    stage_put(&stage, KI_SECRETS, "team/s", OWNED_BY("n"));
    stage_settle(&stage);
    stage_expect(&stage, "");
    stage_put(&stage, KI_SECRETS, "team/s", OWNED_BY("n") ",\"labels\":{\"wanted\":\"\"}");
    stage_settle(&stage);
    stage_expect(&stage, "team/n");
}

#define TWO_OWNERS \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\",\"uid\":\"u\"}," \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"b\",\"uid\":\"v\"}]"

CONTROLLER_TEST(owns_can_take_every_owner) {
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    assert_int_equal(
        ki_controller_owns(stage.controller, KI_SECRETS, &KI_CONTROLLER_WATCH(.any_owner = true), NULL, NULL), KI_OK);
    stage_put(&stage, KI_SECRETS, "team/s", TWO_OWNERS);
    stage_start(&stage);
    stage_expect_any_order(&stage, "team/a team/b");
}

static void map_nothing(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    (void)obj, (void)keys, (void)user;
}

CONTROLLER_TEST(an_option_that_another_function_takes_is_rejected) {
    const ki_informer_options defaults = KI_INFORMER_OPTIONS();
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_PODS, &KI_CONTROLLER_WATCH(.map = map_nothing), NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_controller_for(stage.controller, KI_PODS, &KI_CONTROLLER_WATCH(.any_owner = true), NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    assert_int_equal(ki_controller_owns(stage.controller, KI_PODS, &KI_CONTROLLER_WATCH(.owner = KI_NODES), NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_controller_owns(stage.controller, KI_PODS, &(ki_controller_watch_options){ 0 }, NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(
        ki_controller_watch(stage.controller, stage.secrets, &KI_CONTROLLER_WATCH(.informer_options = &defaults), NULL),
        KI_ERR_INVALID);
}

CONTROLLER_TEST(a_controller_for_metadata_gets_the_keys_of_what_it_owns) {
    const ki_informer_options metadata = KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA),
                              keys = KI_INFORMER_OPTIONS(.keep = KI_KEEP_KEYS);
    ki_error err = KI_ERROR_INIT;
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    stage_put(&stage, KI_SECRETS, "team/s", OWNED_BY("n"));
    control(NULL);
    assert_int_equal(
        ki_controller_for(stage.controller, KI_CONFIGMAPS, &KI_CONTROLLER_WATCH(.informer_options = &keys), NULL, NULL),
        KI_OK); /* a key is all that it needs */
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS,
                                        &KI_CONTROLLER_WATCH(.informer_options = &metadata), NULL, NULL),
                     KI_OK);
    assert_int_equal(
        ki_controller_owns(stage.controller, KI_PODS, &KI_CONTROLLER_WATCH(.informer_options = &keys), NULL, &err),
        KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "a watch by owner of pods (keys), but the cache keeps only the keys");
    stage_start(&stage);
    stage_expect_any_order(&stage, "team/m team/n");
    stage_delete(&stage, KI_SECRETS, "team/s");
    stage_delete(&stage, KI_CONFIGMAPS, "team/m");
    stage_settle(&stage);
    stage_expect_any_order(&stage, "team/m team/n");
}

CONTROLLER_TEST(for_is_called_once_and_before_owns) {
    ki_error err = KI_ERROR_INIT;
    control(NULL);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), "controller c: call ki_controller_for first");
    assert_int_equal(
        ki_controller_for(stage.controller, KI_PODS,
                          &KI_CONTROLLER_WATCH(.informer_options = &KI_INFORMER_OPTIONS(.label_selector = "a b")), NULL,
                          &err),
        KI_ERR_PARSE);
    assert_int_equal(ki_controller_for(stage.controller, KI_TOKENREVIEWS, NULL, NULL, &err), KI_ERR_UNSUPPORTED);
    assert_int_equal(ki_controller_for(stage.controller, KI_PODS, NULL, NULL, &err), KI_OK);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), "controller c: ki_controller_for was called before");
    ki_controller_stop(stage.controller);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, &err), KI_ERR_STATE);
}

CONTROLLER_TEST(a_watch_that_fails_leaves_the_controller_free_for_another_resource) {
    control(NULL);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    stage_settle(&stage);
    stage.configmaps = NULL;
    ki_factory_stop(stage.factory);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_ERR_STATE);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, NULL), KI_ERR_STATE);
}

TEST(for_and_owns_leave_nothing_if_memory_runs_out) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        controller_stage s;
        assert_true(stage_open(&s, &memory.allocator));
        assert_int_equal(stage_control(&s, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
        scarce_memory_begin(&memory);
        ki_status status = ki_controller_for(s.controller, KI_PODS, NULL, NULL, NULL);
        if (status)
            assert_int_equal(ki_controller_for(s.controller, KI_PODS, NULL, NULL, NULL), KI_OK);
        else
            status = ki_controller_owns(s.controller, KI_NODES, NULL, NULL, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        stage_close(&s);
    }
}

/* --- after the start ---------------------------------------------------------------------------------------------- */

CONTROLLER_TEST(a_watch_that_is_added_after_the_start_queues_what_is_there_and_what_comes) {
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    stage_put(&stage, KI_SECRETS, "team/s", OWNED_BY("n"));
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    stage_start(&stage);
    stage_expect(&stage, "team/m");
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, NULL), KI_OK);
    stage_settle(&stage);
    stage_expect(&stage, "team/n");
    stage_put(&stage, KI_SECRETS, "team/t", OWNED_BY("o"));
    stage_settle(&stage);
    stage_expect(&stage, "team/o");
}

CONTROLLER_TEST(reconciles_continue_while_a_later_watch_has_not_synced) {
    ki_informer *pods = NULL;
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    stage_start(&stage);
    stage_put(&stage, KI_PODS, "team/p", OWNED_BY("m"));
    assert_int_equal(ki_controller_owns(stage.controller, KI_PODS, NULL, &pods, NULL), KI_OK);
    stage_put(&stage, KI_CONFIGMAPS, "team/a", "");
    stage_settle(&stage);
    stage_expect(&stage, "team/a");
    assert_false(ki_informer_has_synced(pods));
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    stage_settle(&stage);
    stage_expect(&stage, "team/m");
}

static ki_elector *elect(void) {
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = "me"),
                                    &elector, NULL),
                     KI_OK);
    return elector;
}

/* Before, in and after the term's first moments: a key comes in each case. */
CONTROLLER_TEST(a_watch_that_is_added_around_the_begin_of_a_term_loses_nothing) {
    stage_tear_down(NULL);
    for (int64_t at = 0; at < 4000; at += 100) {
        assert_true(stage_open(&stage, NULL));
        stage_put(&stage, KI_SECRETS, "team/s", OWNED_BY("n"));
        ki_elector *elector = elect();
        control(elector);
        assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
        stage_start(&stage);
        stage_advance(&stage, at);
        assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, NULL), KI_OK);
        stage_advance(&stage, 5000);
        assert_true(ki_elector_is_leader(elector));
        stage_expect(&stage, "team/n");
        ki_controller_free(stage.controller);
        stage.controller = NULL;
        ki_elector_free(elector);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

/* The controller's informers have synced while another process leads. The later watch's informer is not started. */
CONTROLLER_TEST(a_term_begins_though_a_later_watch_has_not_synced) {
    static const char lease[] =
        "{\"metadata\":{\"name\":\"lock\",\"namespace\":\"default\"},"
        "\"spec\":{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":15,\"leaseTransitions\":1,"
        "\"renewTime\":\"2025-06-15T00:00:00.000000Z\"}}";
    assert_int_equal(kt_cluster_put_json(stage.cluster, KI_LEASES, (ki_str){ lease, sizeof lease - 1 },
                                         kt_memory_adapter_now_ms(stage.adapter), NULL, NULL),
                     KI_OK);
    stage_put(&stage, KI_CONFIGMAPS, "team/a", "");
    ki_elector *elector = elect();
    control(elector);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    stage_start(&stage);
    stage_advance(&stage, 5000);
    assert_false(ki_elector_is_leader(elector));
    assert_int_equal(ki_controller_owns(stage.controller, KI_PODS, NULL, NULL, NULL), KI_OK);
    stage_advance(&stage, 30000);
    assert_true(ki_elector_is_leader(elector));
    stage_expect(&stage, "team/a");
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    ki_elector_free(elector);
}

static void *add_watches(void *user) {
    (void)user;
    for (int i = 0; i < 20; i++)
        assert_int_equal(ki_controller_watch(stage.controller, i % 2 ? stage.secrets : stage.configmaps, NULL, NULL),
                         KI_OK);
    return NULL;
}

TEST(threads_add_watches_while_the_controller_works) {
    pthread_t threads[3];
    stage_open_threaded(&stage, NULL);
    control(NULL);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    stage_start(&stage);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_watches, NULL), 0);
    for (int i = 0; i < 50; i++)
        stage_put(&stage, i % 2 ? KI_SECRETS : KI_CONFIGMAPS, "team/x", i % 3 ? "\"labels\":{\"x\":\"y\"}" : "");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    stage_close(&stage);
}
