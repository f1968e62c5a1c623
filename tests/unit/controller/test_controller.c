/* test_controller.c: what a controller does with its keys, on one thread in virtual time: results, retries, deferral,
 * order, rejections, metrics; and what a key costs the loop where threads work. */
#include "controllers/controller/controller.h"
#include "controllers/workqueue/parts.h"
#include "src/base/error.h"
#include "src/factory/factory.h"
#include "tests/support/controller_stage.h"
#include "tests/support/metrics_library.h"
#include "tests/support/test.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static int failures_of(const char *key) {
    return ki_workqueue_num_requeues(ki_controller_queue(stage.controller), key);
}

/* --- errors of new ------------------------------------------------------------------------------------------------ */

CONTROLLER_TEST(what_cannot_be_is_rejected) {
    static const ki_rate_limit odd[] = { { .type = (ki_rate_limit_type)99 } };
    const struct {
        ki_controller_options options;
        ki_status status;
    } cases[] = {
        { { .size = 0, .name = "c", .reconcile = stage_reconcile }, KI_ERR_INVALID },
        { KI_CONTROLLER_OPTIONS(.reconcile = stage_reconcile), KI_ERR_INVALID },
        { KI_CONTROLLER_OPTIONS(.name = "", .reconcile = stage_reconcile), KI_ERR_INVALID },
        { KI_CONTROLLER_OPTIONS(.name = "c"), KI_ERR_INVALID },
        { KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = stage_reconcile, .workers = -1), KI_ERR_INVALID },
        { KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = stage_reconcile, .workers = 100000), KI_ERR_LIMIT },
        { KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = stage_reconcile, .stop_timeout_ms = -1), KI_ERR_INVALID },
        { KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = stage_reconcile, .rate_limits = odd, .rate_limit_count = 1),
          KI_ERR_INVALID },
    };
    ki_controller *none = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ki_controller_new(stage.factory, &cases[i].options, &none, NULL), cases[i].status);
        assert_null(none);
    }
    const ki_controller_options good = KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = stage_reconcile, .user = &stage);
    assert_int_equal(ki_controller_new(NULL, &good, &none, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_controller_new(stage.factory, NULL, &none, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_controller_new(stage.factory, &good, NULL, NULL), KI_ERR_INVALID);
    ki_controller_free(NULL);
    ki_controller_stop(NULL);
    ki_factory_stop(stage.factory);
    assert_int_equal(ki_controller_new(stage.factory, &good, &none, NULL), KI_ERR_STATE);
    assert_null(none);
}

CONTROLLER_TEST(an_elector_of_another_engine_is_rejected) {
    static controller_stage other;
    ki_elector *elector = NULL;
    assert_true(stage_open(&other, NULL));
    assert_int_equal(
        ki_elector_new(other.factory, &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock"), &elector, NULL),
        KI_OK);
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .elector = elector)), KI_ERR_INVALID);
    assert_null(stage.controller);
    ki_elector_free(elector);
    stage_close(&other);
}

CONTROLLER_TEST(two_controllers_of_a_factory_have_two_names) {
    ki_controller *second = NULL;
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "first")), KI_OK);
    ki_controller_options options =
        KI_CONTROLLER_OPTIONS(.name = "first", .reconcile = stage_reconcile, .user = &stage);
    assert_int_equal(ki_controller_new(stage.factory, &options, &second, NULL), KI_ERR_EXISTS);
    options.name = "second";
    assert_int_equal(ki_controller_new(stage.factory, &options, &second, NULL), KI_OK);
    ki_controller_free(second);
    second = NULL;
    assert_int_equal(ki_controller_new(stage.factory, &options, &second, NULL), KI_OK);
    ki_controller_free(second);
}

CONTROLLER_TEST(a_watch_that_cannot_be_is_rejected) {
    const ki_resource no_kind = { "", "v1", "foos", "", true };
    const struct {
        ki_controller_watch_options options;
        ki_status status;
    } cases[] = {
        { { .size = 0 }, KI_ERR_INVALID },
        { KI_CONTROLLER_WATCH(.any_owner = true), KI_ERR_INVALID },
        { KI_CONTROLLER_WATCH(.owner = &no_kind), KI_ERR_INVALID },
        { KI_CONTROLLER_WATCH(.owner = KI_CONFIGMAPS), KI_OK },
    };
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(ki_controller_watch(stage.controller, stage.secrets, &cases[i].options, NULL),
                         cases[i].status);
    assert_int_equal(ki_controller_watch(NULL, stage.secrets, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_controller_watch(stage.controller, NULL, NULL, NULL), KI_ERR_INVALID);

    controller_stage other;
    assert_true(stage_open(&other, NULL));
    assert_int_equal(ki_controller_watch(stage.controller, other.secrets, NULL, NULL), KI_ERR_INVALID);
    stage_close(&other);

    stage_start(&stage);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    ki_controller_stop(stage.controller);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_ERR_STATE);
}

/* --- the beginning ------------------------------------------------------------------------------------------------ */

CONTROLLER_TEST(a_key_is_reconciled_once_its_informer_has_synced) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage_expect(&stage, "default/a");
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "");
    stage_settle(&stage);
    stage_expect(&stage, "default/b");
    stage_delete(&stage, KI_CONFIGMAPS, "default/a");
    stage_settle(&stage);
    stage_expect(&stage, "default/a");
}

/* The second informer is of a factory that has not started yet. */
CONTROLLER_TEST(no_reconcile_begins_before_all_watched_informers_have_synced) {
    ki_factory *later = NULL;
    ki_informer *nodes = NULL;
    const ki_factory_options options = KI_FACTORY_OPTIONS(.engine = stage.engine.engine);
    assert_int_equal(ki_factory_new_on(NULL, stage.transport, &options, &later, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(later, KI_NODES, NULL, &nodes, NULL), KI_OK);
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, nodes, NULL, NULL), KI_OK);

    stage_start(&stage);
    stage_advance(&stage, 60000);
    stage_expect(&stage, "");

    assert_int_equal(ki_factory_start(later, NULL), KI_OK);
    stage_settle(&stage);
    stage_expect(&stage, "default/a");
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    ki_factory_free(later);
}

CONTROLLER_TEST(a_controller_made_later_starts_with_the_next_start) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_start(&stage);
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage_settle(&stage);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    stage_settle(&stage);
    stage_expect(&stage, "");
    stage_start(&stage);
    stage_expect(&stage, "default/a");
}

static ki_status note_object(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)user, (void)err;
    ki_object *obj = ki_informer_get(stage.configmaps, key);
    stage_note(&stage, obj ? ki_object_name(obj) : "none");
    ki_object_unref(obj);
    return KI_OK;
}

CONTROLLER_TEST(a_reconcile_gets_its_object_from_the_cache_or_finds_none) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = note_object));
    stage_expect(&stage, "a");
    stage_delete(&stage, KI_CONFIGMAPS, "default/a");
    stage_settle(&stage);
    stage_expect(&stage, "none");
}

CONTROLLER_TEST(a_controller_without_watches_takes_the_keys_of_its_queue) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage_add("tick");
    stage_settle(&stage);
    stage_expect(&stage, "");
    stage_start(&stage);
    stage_expect(&stage, "tick");
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* The reconciles of key "k" by their script. `notes` has those within `advance_ms` after the first. */
CONTROLLER_TEST(a_result_says_when_a_key_is_processed_again) {
    static const struct {
        const char *script;
        int64_t after;
        int64_t advance_ms;
        const char *notes;
        int failures; /* counted at the end */
        const char *sample;
        int times;
    } cases[] = {
        { ".", 0, 100000, "", 0, "success", 1 },
        { "f", 0, 4, "", 1, "error", 1 },
        { "f", 0, 5, "k", 0, "success", 1 },
        { "ff", 0, 14, "k", 2, "error", 2 },
        { "ff", 0, 15, "k k", 0, "success", 1 },
        { "ffff", 0, 5 + 10 + 20 + 40, "k k k k", 0, "error", 4 },
        { "t", 0, 1000000, "", 0, "error", 1 },
        { "r", 0, 4, "", 1, "requeue", 1 },
        { "rr", 0, 15, "k k", 0, "requeue", 2 },
        { "a", 1000, 999, "", 0, "requeue_after", 1 },
        { "a", 1000, 1000, "k", 0, "success", 1 },
        { "a", 0, 0, "k", 0, "requeue_after", 1 },
        { "a", -5, 0, "k", 0, "requeue_after", 1 },
        { "ffa", 50, 15 + 49, "k k", 0, "requeue_after", 1 },  /* it forgets the failures … */
        { "ffaf", 50, 15 + 50 + 5, "k k k k", 0, "error", 3 }, /* … so that the next one begins at 5 ms */
        { "b", 1, 4, "", 1, "error", 1 },                      /* the error wins over requeue after */
        { "b", 1, 5, "k", 0, "requeue_after", 0 },
        { "D", 0, 100, "", 0, "success", 1 },
        { "F", 0, 5, "k", 0, "error", 1 },
        { "ft", 0, 1000000, "k", 0, "error", 2 },
    };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sample[128];
        assert_true(stage_open(&stage, NULL));
        stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
        stage.script = cases[i].script;
        stage.requeue_after = cases[i].after;
        stage_add("k");
        ki_engine *engine = stage.engine.engine;
        while (!stage.notes[0])
            assert_int_equal(ki_engine_step(engine, 1, NULL), KI_OK);
        stage_expect(&stage, "k");
        stage_advance(&stage, cases[i].advance_ms);
        stage_expect(&stage, cases[i].notes);
        assert_int_equal(failures_of("k"), cases[i].failures);
        snprintf(sample, sizeof sample, "controller_runtime_reconcile_total{controller=\"c\",result=\"%s\"}",
                 cases[i].sample);
        assert_int_equal((int)stage_metric(&stage, sample), cases[i].times);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

static ki_status call_twice(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)err;
    const char *order = user;
    stage_note(&stage, key);
    if (strlen(stage.notes) > 2)
        return KI_OK;
    for (; *order; order++) {
        if (*order == 'r')
            ki_reconcile_requeue(call);
        else
            ki_reconcile_requeue_after(call, 1000);
    }
    return KI_OK;
}

CONTROLLER_TEST(the_last_of_two_requeues_counts) {
    static const struct {
        const char *order;
        int64_t ms;
    } cases[] = { { "ra", 1000 }, { "ar", 5 } };
    stage_tear_down(NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_true(stage_open(&stage, NULL));
        char order[4];
        snprintf(order, sizeof order, "%s", cases[i].order);
        stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = call_twice, .user = order));
        stage_add("k");
        stage_advance(&stage, cases[i].ms - 1);
        stage_expect(&stage, "k");
        stage_note(&stage, "0123");
        stage_advance(&stage, 1);
        stage_expect(&stage, "0123 k");
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

static ki_status fail_without_words(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)key, (void)user;
    assert_non_null(err);
    return KI_ERR_HTTP;
}

CONTROLLER_TEST(an_error_is_logged_with_the_key) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "foo"));
    stage.script = "f..t";
    stage_add("default/x");
    stage_advance(&stage, 1000);
    assert_string_equal(stage.logged, "foo: reconcile default/x: it did not work; retried later\n");
    stage.logged[0] = '\0';
    stage_add("default/y");
    stage_add("default/z");
    stage_settle(&stage);
    assert_string_equal(stage.logged, "foo: reconcile default/z: it did not work; not retried\n");
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_reconcile_errors_total{controller=\"foo\"}"), 2);
    assert_int_equal(
        (int)stage_metric(&stage, "controller_runtime_terminal_reconcile_errors_total{controller=\"foo\"}"), 1);
}

CONTROLLER_TEST(an_error_that_the_program_has_logged_is_not_logged_again) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "foo"));
    stage.script = "lf";
    stage_add("default/x");
    stage_settle(&stage);
    assert_string_equal(stage.logged, "");
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_reconcile_errors_total{controller=\"foo\"}"), 1);
    stage_advance(&stage, 1000);
    assert_string_equal(stage.logged, "foo: reconcile default/x: it did not work; retried later\n");
}

static ki_status fail_by_conflict(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)key, (void)user;
    ki_error_set(err, KI_ERR_HTTP, "update foos default/x: 409 Conflict");
    err->http_status = 409;
    return KI_ERR_HTTP;
}

CONTROLLER_TEST(a_conflict_is_logged_as_a_warning_and_counted_as_an_error) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = fail_by_conflict));
    stage_add("default/x");
    stage_settle(&stage);
    assert_string_equal(stage.logged, "foo: reconcile default/x: update foos default/x: 409 Conflict; retried later\n");
    assert_int_equal(stage.logged_level, KI_LOG_WARNING);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_reconcile_errors_total{controller=\"foo\"}"), 1);
}

CONTROLLER_TEST(an_error_without_a_message_is_logged_by_its_name) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = fail_without_words));
    stage_add("k");
    stage_settle(&stage);
    assert_non_null(strstr(stage.logged, ki_status_name(KI_ERR_HTTP)));
}

CONTROLLER_TEST(other_keys_continue_while_one_fails) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage.script = "f";
    stage_add("bad");
    stage_add("good");
    stage_advance(&stage, 5);
    stage_expect(&stage, "bad good bad");
}

/* A bucket of 10 a second after 100, client-go's, would delay the last key for 90 s. */
CONTROLLER_TEST(a_thousand_keys_that_fail_once_are_retried_at_once) {
    static char script[1001];
    memset(script, 'f', 1000);
    stage.script = script;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        stage_add(key);
        stage_settle(&stage);
        stage.notes[0] = '\0';
    }
    stage_advance(&stage, 5);
    assert_int_equal(
        (int)stage_metric(&stage, "controller_runtime_reconcile_total{controller=\"c\",result=\"success\"}"), 1000);
}

CONTROLLER_TEST(the_rate_limits_of_the_options_count) {
    static const ki_rate_limit limits[] = { KI_RATE_LIMIT_FAST_SLOW(7, 9, 1) };
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .rate_limits = limits, .rate_limit_count = 1));
    stage.script = "ff";
    stage_add("k");
    stage_advance(&stage, 6);
    stage_expect(&stage, "k");
    stage_advance(&stage, 1);
    stage_expect(&stage, "k");
    stage_advance(&stage, 8);
    stage_expect(&stage, "");
    stage_advance(&stage, 1);
    stage_expect(&stage, "k");
}

/* --- priorities --------------------------------------------------------------------------------------------------- */

/* All that is queued before the work begins comes out by priority, then in the order of its arrival. */
CONTROLLER_TEST(changes_come_before_what_was_there) {
    stage_tear_down(NULL);
    for (int no_priority = 0; no_priority < 2; no_priority++) {
        assert_true(stage_open(&stage, NULL));
        stage_put(&stage, KI_CONFIGMAPS, "default/old", "");
        stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .no_priority = no_priority != 0));
        stage_expect(&stage, "default/old");
        stage.script = "d"; /* the one worker is busy */
        stage_add("busy");
        stage_settle(&stage);
        ki_workqueue *queue = ki_controller_queue(stage.controller);
        const ki_add_options low = KI_ADD_OPTIONS(.priority = KI_PRIORITY_LOW);
        assert_int_equal(ki_workqueue_add_with(queue, "low", &low), KI_OK);
        stage_put(&stage, KI_CONFIGMAPS, "default/new", "");
        stage_settle(&stage);
        stage_expect(&stage, "busy");
        ki_reconcile_finish(stage.deferred[0], NULL);
        stage_settle(&stage);
        stage_expect(&stage, no_priority ? "low default/new" : "default/new low");
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

static int priorities[8];
static int priority_count;

static ki_status note_priority(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    if (priority_count < 8)
        priorities[priority_count++] = ki_workqueue_priority(ki_controller_queue(ki_reconcile_controller(call)), key);
    return stage_reconcile(call, key, user, err);
}

CONTROLLER_TEST(a_key_keeps_its_priority_when_it_is_processed_again) {
    static const char *const scripts[] = { "f", "r", "a", "F" };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        stage_tear_down(NULL);
        assert_true(stage_open(&stage, NULL));
        priority_count = 0;
        stage.script = scripts[i];
        stage.requeue_after = 5;
        stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
        stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = note_priority, .user = &stage));
        stage_advance(&stage, 5);
        stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"labels\":{\"x\":\"y\"}");
        stage_settle(&stage);
        assert_int_equal(priority_count, 3);
        assert_int_equal(priorities[0], KI_PRIORITY_LOW); /* of the first list */
        assert_int_equal(priorities[1], KI_PRIORITY_LOW);
        assert_int_equal(priorities[2], 0); /* changed */
    }
}

/* --- deferral ----------------------------------------------------------------------------------------------------- */

CONTROLLER_TEST(a_deferred_key_is_processed_until_it_is_finished) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .workers = 2));
    stage.script = "d";
    stage_add("k");
    stage_settle(&stage);
    stage_add("k"); /* changes meanwhile */
    stage_add("other");
    stage_settle(&stage);
    stage_expect(&stage, "k other");
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers{controller=\"c\"}"), 1);
    assert_false(ki_reconcile_is_cancelled(stage.deferred[0]));
    stage.engine.now += KI_SECONDS(3);
    assert_true(stage_metric(&stage, "workqueue_longest_running_processor_seconds{name=\"c\"") >= 3);
    ki_reconcile_finish(stage.deferred[0], NULL);
    stage_settle(&stage);
    stage_expect(&stage, "k");
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_reconcile_time_seconds_sum{controller=\"c\"}"), 3);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_reconcile_time_seconds_count{controller=\"c\"}"), 3);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers{controller=\"c\"}"), 0);
}

CONTROLLER_TEST(workers_bound_the_deferred_reconciles) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .workers = 2));
    stage.script = "dddd";
    stage_add("a");
    stage_add("b");
    stage_add("c");
    stage_settle(&stage);
    stage_expect(&stage, "a b");
    ki_reconcile_finish(stage.deferred[1], NULL);
    stage_settle(&stage);
    stage_expect(&stage, "c");
    ki_reconcile_finish(stage.deferred[0], NULL);
    ki_reconcile_finish(stage.deferred[2], NULL);
    stage_settle(&stage);
    stage_expect(&stage, "");
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_max_concurrent_reconciles{controller=\"c\"}"), 2);
}

CONTROLLER_TEST(a_deferred_reconcile_ends_as_it_is_finished) {
    static const struct {
        const char *how;
        int64_t ms;
        const char *notes;
    } cases[] = {
        { "ok", 100000, "" }, { "error", 5, "k" }, { "terminal", 100000, "" }, { "requeue", 5, "k" },
        { "after", 70, "k" }, { "after", 69, "" }, { "empty error", 5, "k" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage_tear_down(NULL);
        assert_true(stage_open(&stage, NULL));
        stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
        stage.script = "d";
        stage_add("k");
        stage_settle(&stage);
        stage_expect(&stage, "k");
        ki_error cause = KI_ERROR_INIT;
        ki_reconcile *call = stage.deferred[0];
        if (strcmp(cases[i].how, "error") == 0 || strcmp(cases[i].how, "terminal") == 0)
            ki_error_set(&cause, KI_ERR_TIMEOUT, "no response");
        if (strcmp(cases[i].how, "terminal") == 0)
            ki_reconcile_set_terminal(call);
        if (strcmp(cases[i].how, "requeue") == 0)
            ki_reconcile_requeue(call);
        if (strcmp(cases[i].how, "after") == 0)
            ki_reconcile_requeue_after(call, 70);
        ki_reconcile_finish(call, strstr(cases[i].how, "error") || cause.code ? &cause : NULL);
        stage_advance(&stage, cases[i].ms);
        stage_expect(&stage, cases[i].notes);
    }
}

static ki_status defer_and_fail(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)user;
    stage_note(&stage, key);
    ki_reconcile_defer(call);
    return ki_error_set(err, KI_ERR_HTTP, "not sent");
}

CONTROLLER_TEST(an_error_that_is_returned_ends_a_deferred_reconcile) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = defer_and_fail));
    stage_add("k");
    stage_advance(&stage, 5);
    stage_expect(&stage, "k k");
}

/* --- metrics ------------------------------------------------------------------------------------------------------ */

CONTROLLER_TEST(the_factory_s_text_has_all_controllers_metrics_together) {
    ki_controller *second = NULL;
    const ki_controller_options options =
        KI_CONTROLLER_OPTIONS(.name = "two", .reconcile = stage_reconcile, .user = &stage);
    stage_run(KI_CONTROLLER_OPTIONS(.name = "one", .workers = 3));
    assert_int_equal(ki_controller_new(stage.factory, &options, &second, NULL), KI_OK);
    char *text = NULL;
    assert_int_equal(ki_factory_metrics_text(stage.factory, &text, NULL), KI_OK);
    static const char expected[] = "# TYPE controller_runtime_max_concurrent_reconciles gauge\n"
                                   "# HELP controller_runtime_max_concurrent_reconciles Reconciles that may run at "
                                   "once.\n"
                                   "controller_runtime_max_concurrent_reconciles{controller=\"one\"} 3\n"
                                   "controller_runtime_max_concurrent_reconciles{controller=\"two\"} 1\n";
    assert_non_null(strstr(text, expected));
    assert_non_null(strstr(text, "\nworkqueue_adds_total{name=\"one\",controller=\"one\"} 0\n"
                                 "workqueue_adds_total{name=\"two\",controller=\"two\"} 0\n"));
    const char *end = strstr(text, "# EOF\n");
    assert_non_null(end);
    assert_string_equal(end, "# EOF\n");
    ki_metrics_text_free(text);
    ki_controller_free(second);
    assert_int_equal((int)stage_metric(&stage, "workqueue_adds_total{name=\"two\""), -1);
}

static void check_labels(const ki_sample *sample, void *user) {
    (void)user;
    bool is_queue = strncmp(sample->metric->name, "workqueue_", 10) == 0;
    if (strncmp(sample->metric->name, "controller_runtime_", 19) != 0 && !is_queue)
        return;
    assert_string_equal(sample->labels[0].name, is_queue ? "name" : "controller");
    assert_string_equal(sample->labels[0].value, "c");
    if (!is_queue)
        return;
    assert_string_equal(sample->labels[1].name, "controller");
    assert_string_equal(sample->labels[1].value, "c");
}

CONTROLLER_TEST(the_program_s_metrics_library_gets_every_sample) {
    metrics_library library = { .on_sample = check_labels };
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    assert_int_equal(ki_factory_visit_metrics(stage.factory, metrics_library_visit, &library, NULL), KI_OK);
    library.notes[0] = '\0';
    stage.script = "t";
    stage_add("k");
    stage_settle(&stage);
    assert_int_equal(ki_factory_visit_metrics(stage.factory, metrics_library_visit, &library, NULL), KI_OK);
    metrics_library_expect(&library, "controller_runtime_reconcile/error+1 controller_runtime_reconcile_errors/c+1 "
                                     "controller_runtime_terminal_reconcile_errors/c+1 "
                                     "controller_runtime_reconcile_time_seconds/c~0 workqueue_adds/c+1 "
                                     "workqueue_queue_duration_seconds/c~0 workqueue_work_duration_seconds/c~0");
}

/* A dashboard's query is histogram_quantile(0.99, sum by (le, controller) (rate(…_bucket[5m]))). */
CONTROLLER_TEST(the_time_of_reconciles_is_a_histogram_with_controller_runtime_s_buckets) {
    static const char *const les[] = {
        "0.005", "0.01", "0.025", "0.05", "0.1",  "0.15", "0.2",  "0.25", "0.3",  "0.35", "0.4",  "0.45", "0.5",  "0.6",
        "0.7",   "0.8",  "0.9",   "1.0",  "1.25", "1.5",  "1.75", "2.0",  "2.5",  "3.0",  "3.5",  "4.0",  "4.5",  "5.0",
        "6.0",   "7.0",  "8.0",   "9.0",  "10.0", "15.0", "20.0", "25.0", "30.0", "40.0", "50.0", "60.0", "+Inf",
    };
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage_add("k");
    stage_settle(&stage);
    for (size_t i = 0; i < sizeof les / sizeof *les; i++) {
        char sample[128];
        snprintf(sample, sizeof sample, "controller_runtime_reconcile_time_seconds_bucket{controller=\"c\",le=\"%s\"}",
                 les[i]);
        assert_int_equal((int)stage_metric(&stage, sample), 1);
    }
    assert_int_equal((int)stage_metric(&stage, "workqueue_depth{name=\"c\",controller=\"c\",priority=\"0\"}"), 0);
    assert_int_equal(
        (int)stage_metric(&stage, "workqueue_work_duration_seconds_bucket{name=\"c\",controller=\"c\",le=\"1000.0\"}"),
        1);
}

/* As a worker's thread does that has got a key and leads no more. */
CONTROLLER_TEST(a_key_that_is_put_back_is_handed_out_again) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    ki_workqueue *queue = ki_controller_queue(stage.controller);
    stage_add("a");
    ki_mutex_lock(&stage.controller->mutex);
    ki_reconcile *call = ki_reconcile_take(stage.controller);
    ki_mutex_unlock(&stage.controller->mutex);

    atomic_store(&stage.controller->leads, false);
    assert_true(ki_reconcile_run(call, ki_workqueue_get(queue, 0, NULL)));
    ki_mutex_lock(&stage.controller->mutex);
    ki_reconcile_put_ended(call);
    ki_mutex_unlock(&stage.controller->mutex);

    assert_int_equal(ki_workqueue_length(queue), 1);
    assert_ptr_equal(stage.controller->unused, call);
    const char *key = ki_workqueue_get(queue, 0, NULL);
    assert_string_equal(key, "a");
    assert_int_equal(ki_workqueue_done(queue, key), KI_OK);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

typedef struct watched_key {
    sem_t reconciled, looked;
    ki_status added;
    bool is_task_posted;
} watched_key;

static ki_status note_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)key, (void)err;
    watched_key *self = user;
    sem_post(&self->reconciled);
    return KI_OK;
}

/* On the loop, which runs no task until this returns. */
static void add_a_key(void *user) {
    watched_key *self = user;
    ki_workqueue *queue = ki_controller_queue(stage.controller);
    self->added = ki_workqueue_add(queue, "ns/b");
    sem_wait(&self->reconciled);
    self->is_task_posted = atomic_load(&queue->due.task.queued);
    sem_post(&self->looked);
}

TEST(a_key_that_a_thread_takes_posts_no_task_to_the_loop) {
    watched_key self = { .added = KI_ERR_STATE };
    sem_init(&self.reconciled, 0, 0);
    sem_init(&self.looked, 0, 0);
    stage_open_threaded(&stage, NULL);
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = note_reconcile, .user = &self));
    stage_add("ns/a");
    sem_wait(&self.reconciled); /* the threads have started */

    assert_int_equal(ki_engine_post(stage.engine.engine, 0, add_a_key, &self, NULL, NULL), KI_OK);
    sem_wait(&self.looked);

    assert_int_equal(self.added, KI_OK);
    assert_false(self.is_task_posted);
    stage_close(&stage);
    sem_destroy(&self.reconciled);
    sem_destroy(&self.looked);
}
