/* test_controller_end.c: stopping and freeing a controller from everywhere: stepped, and with threads. */
#include "src/base/error.h"
#include "src/engine/thread.h"
#include "tests/support/controller_stage.h"
#include "tests/support/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE_S = 60
};

/* --- stepped ------------------------------------------------------------------------------------------------------ */

CONTROLLER_TEST(a_stop_drops_what_is_queued) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage.script = "s";
    stage_add("a");
    stage_add("b");
    stage_settle(&stage);
    stage_expect(&stage, "a");
    assert_int_equal(ki_workqueue_add(ki_controller_queue(stage.controller), "c"), KI_ERR_CLOSED);
    stage_put(&stage, KI_CONFIGMAPS, "default/x", "");
    stage_advance(&stage, 1000);
    stage_expect(&stage, "");
    ki_controller_stop(stage.controller);
}

CONTROLLER_TEST(a_controller_stopped_before_the_start_never_works) {
    stage_put(&stage, KI_CONFIGMAPS, "default/x", "");
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    ki_controller_stop(stage.controller);
    stage_start(&stage);
    stage_expect(&stage, "");
}

CONTROLLER_TEST(a_controller_may_be_freed_at_any_time) {
    static const char *const times[] = { "new", "watching", "started", "working", "stopped", "factory stopped" };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(stage_open(&stage, NULL));
        stage_put(&stage, KI_CONFIGMAPS, "default/x", "");
        assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
        if (i > 0)
            assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
        if (i > 1)
            assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
        if (i > 2)
            stage_settle(&stage);
        if (i == 4)
            ki_controller_stop(stage.controller);
        if (i == 5)
            assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
        ki_controller_free(stage.controller);
        stage.controller = NULL;
        stage_put(&stage, KI_CONFIGMAPS, "default/y", "");
        if (i < 5)
            stage_start(&stage);
        stage_expect(&stage, i > 2 ? "default/x" : "");
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

CONTROLLER_TEST(freed_in_a_reconcile_it_goes_when_that_has_returned) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage.script = "x";
    stage_add("a");
    stage_add("b");
    stage_settle(&stage);
    stage_expect(&stage, "a");
    assert_int_equal((int)stage_metric(&stage, "workqueue_adds_total{name=\"c\""), -1); /* it is gone */
}

static void free_controller(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    (void)user;
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    assert_int_equal(ki_reconcile_keys_add(keys, ki_object_key(obj)), KI_ERR_CLOSED);
}

static bool free_in_predicate(const ki_event *event, void *user) {
    (void)event, (void)user;
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    return true;
}

CONTROLLER_TEST(freed_in_a_function_of_its_watch_it_goes_afterwards) {
    const ki_controller_watch_options watches[] = { KI_CONTROLLER_WATCH(.map = free_controller),
                                                    KI_CONTROLLER_WATCH(.predicate = free_in_predicate) };
    stage_tear_down(NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_true(stage_open(&stage, NULL));
        assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
        assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, &watches[i], NULL), KI_OK);
        stage_put(&stage, KI_CONFIGMAPS, "default/x", "");
        stage_put(&stage, KI_CONFIGMAPS, "default/y", "");
        stage_start(&stage);
        stage_expect(&stage, "");
        assert_null(stage.controller);
        assert_int_equal((int)stage_metric(&stage, "workqueue_adds_total{name=\"c\""), -1);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

CONTROLLER_TEST(a_stop_cancels_a_deferred_reconcile_and_waits_for_it) {
    ki_health health;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage.script = "d";
    stage_add("a");
    stage_settle(&stage);
    stage_add("a");
    ki_factory_stop(stage.factory);
    stage_advance(&stage, 29000);
    assert_true(ki_reconcile_is_cancelled(stage.deferred[0]));
    ki_informer_health(stage.configmaps, &health);
    assert_int_equal(health.state, KI_STATE_WATCHING); /* the reconcile can still use it */
    ki_reconcile_finish(stage.deferred[0], NULL);
    stage_settle(&stage);
    ki_informer_health(stage.configmaps, &health);
    assert_int_equal(health.state, KI_STATE_STOPPED);
    stage_expect(&stage, "a");
}

CONTROLLER_TEST(a_stop_waits_no_longer_than_it_may) {
    static const struct {
        int64_t option, ms;
    } cases[] = { { 0, 30000 }, { 500, 500 }, { INT64_MAX, 365LL * 24 * 3600 * 1000 } };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_health health;
        assert_true(stage_open(&stage, NULL));
        stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .stop_timeout_ms = cases[i].option));
        stage.script = "d";
        stage_add("a");
        stage_settle(&stage);
        ki_factory_stop(stage.factory);
        if (i < 2) {
            stage_advance(&stage, cases[i].ms - 1);
            ki_informer_health(stage.configmaps, &health);
            assert_int_equal(health.state, KI_STATE_WATCHING);
            stage_advance(&stage, 1);
            ki_informer_health(stage.configmaps, &health);
            assert_int_equal(health.state, KI_STATE_STOPPED);
        }
        ki_reconcile_finish(stage.deferred[0], NULL);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

/* A free on the loop does not wait: the end of the last reconcile frees it. */
CONTROLLER_TEST(freed_while_a_reconcile_is_deferred_it_goes_with_that) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .workers = 2));
    stage.script = "dd";
    stage_add("a");
    stage_add("b");
    stage_settle(&stage);
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    stage_settle(&stage);
    assert_true(ki_reconcile_is_cancelled(stage.deferred[0]));
    ki_reconcile_finish(stage.deferred[1], NULL);
    stage_settle(&stage);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers{controller=\"c\"}"), 1);
    ki_reconcile_finish(stage.deferred[0], NULL);
    stage_settle(&stage);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers{controller=\"c\"}"), -1);
}

/* Nobody steps between the end of the reconcile and the free of the factory. */
CONTROLLER_TEST(the_factory_frees_what_its_loop_could_not) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage.script = "d";
    stage_add("a");
    stage_settle(&stage);
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    ki_engine_stop(stage.engine.engine);
    assert_int_equal(ki_engine_step(stage.engine.engine, 0, NULL), KI_OK);
    ki_reconcile_finish(stage.deferred[0], NULL);
}

/* Like a host that leaves its loop during a request: the response never arrives. */
static void finish_deferred(const ki_response *response, const ki_error *err, void *user) {
    ki_status *ret_code = user;
    (void)response;
    *ret_code = err ? err->code : KI_OK;
    assert_int_equal(ki_client_send(ki_factory_client(stage.factory),
                                    &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_CONFIGMAPS),
                                    finish_deferred, user, NULL, NULL),
                     KI_ERR_STATE);
    ki_reconcile_finish(stage.deferred[0], err);
}

CONTROLLER_TEST(the_factory_cancels_the_requests_of_deferred_reconciles) {
    ki_status code = KI_OK;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c"));
    stage.script = "d";
    stage_add("a");
    stage_settle(&stage);
    assert_int_equal(ki_client_send(ki_factory_client(stage.factory),
                                    &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_CONFIGMAPS),
                                    finish_deferred, &code, NULL, NULL),
                     KI_OK);
    stage_close(&stage);
    assert_int_equal(code, KI_ERR_CANCELLED);
    assert_true(stage_open(&stage, NULL));
}

CONTROLLER_TEST(a_second_finish_does_nothing) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .workers = 2));
    stage.script = "dd";
    stage_add("a");
    stage_settle(&stage);
    ki_reconcile_finish(stage.deferred[0], NULL);
    ki_reconcile_finish(stage.deferred[0], NULL);
    stage_settle(&stage);
    assert_int_equal(
        (int)stage_metric(&stage, "controller_runtime_reconcile_total{controller=\"c\",result=\"success\"}"), 1);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* A reconcile function that stays until it may go, and notes how many are inside. */
typedef struct gate {
    ki_mutex mutex;
    ki_cond changed;
    bool is_open;
    int inside, most, calls;
    char keys[STAGE_TEXT]; /* of the calls inside: none twice */
    bool frees, stops, defers;
    ki_status shutdown;
    ki_reconcile *deferred;
} gate;

static gate g;

static void gate_init(bool is_open) {
    memset(&g, 0, sizeof g);
    g.is_open = is_open;
    assert_int_equal(ki_mutex_init(&g.mutex, NULL), KI_OK);
    assert_int_equal(ki_cond_init(&g.changed, NULL), KI_OK);
}

static void gate_close(void) {
    ki_cond_destroy(&g.changed);
    ki_mutex_destroy(&g.mutex);
}

static ki_status pass(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)user, (void)err, (void)key;
    ki_mutex_lock(&g.mutex);
    g.calls++;
    g.inside++;
    if (g.inside > g.most)
        g.most = g.inside;
    bool frees = g.frees, stops = g.stops;
    g.frees = g.stops = false;
    ki_cond_broadcast(&g.changed);
    while (!g.is_open)
        ki_cond_wait(&g.changed, &g.mutex);
    g.inside--;
    ki_mutex_unlock(&g.mutex);
    if (stops) {
        g.shutdown = ki_factory_shutdown(stage.factory, NULL);
        ki_factory_stop(stage.factory);
    }
    if (frees) {
        ki_controller_free(stage.controller);
        ki_mutex_lock(&g.mutex);
        stage.controller = NULL;
        ki_cond_broadcast(&g.changed);
        ki_mutex_unlock(&g.mutex);
    }
    if (g.defers) {
        ki_reconcile_defer(call);
        ki_mutex_lock(&g.mutex);
        g.deferred = call;
        ki_cond_broadcast(&g.changed);
        ki_mutex_unlock(&g.mutex);
    }
    return KI_OK;
}

static void open_gate(void) {
    ki_mutex_lock(&g.mutex);
    g.is_open = true;
    ki_cond_broadcast(&g.changed);
    ki_mutex_unlock(&g.mutex);
}

/* Waits until so many calls have begun. */
static void await_calls(int calls) {
    int64_t until = ki_monotonic_now() + KI_SECONDS(PATIENCE_S);
    ki_mutex_lock(&g.mutex);
    while (g.calls < calls)
        if (!ki_cond_wait_until(&g.changed, &g.mutex, until))
            abort();
    ki_mutex_unlock(&g.mutex);
}

static int open_threaded(void **state) {
    (void)state;
    stage_open_threaded(&stage, NULL);
    gate_init(false);
    return 0;
}

static int close_threaded(void **state) {
    (void)state;
    open_gate();
    stage_close(&stage);
    gate_close();
    return 0;
}

#define THREADED_TEST(name) TEST_WITH(open_threaded, close_threaded, name)

THREADED_TEST(workers_reconcile_at_once_and_no_more_than_they_are) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "a-name-longer-than-fifteen", .reconcile = pass, .workers = 3));
    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        stage_add(key);
    }
    await_calls(3);
    open_gate();
    await_calls(10);
    assert_int_equal(g.most, 3);
}

THREADED_TEST(a_free_waits_for_running_reconciles) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass, .workers = 2));
    stage_add("a");
    stage_add("b");
    stage_add("c");
    await_calls(2);
    ki_controller_stop(stage.controller);
    open_gate();
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    assert_int_equal(g.inside, 0);
    assert_int_equal(g.calls, 2);
}

THREADED_TEST(freed_in_a_worker_it_goes_when_all_have_returned) {
    g.frees = true;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass, .workers = 2));
    stage_add("a");
    stage_add("b");
    await_calls(2);
    open_gate();
    assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
}

/* It frees the controller and stops the factory, as a program may at its end. */
THREADED_TEST(a_worker_may_end_everything) {
    g.frees = g.stops = true;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass));
    stage_add("a");
    await_calls(1);
    open_gate();
    assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
    assert_int_equal(g.shutdown, KI_ERR_DEADLOCK);
}

THREADED_TEST(a_shutdown_does_not_wait_for_ever_for_a_worker) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass, .stop_timeout_ms = 20));
    stage_add("a");
    await_calls(1);
    assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
    assert_int_equal(g.inside, 1);
    assert_true(stage_metric(&stage, "workqueue_longest_running_processor_seconds{name=\"c\"") > 0);
    open_gate();
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    assert_int_equal(g.inside, 0);
}

THREADED_TEST(freed_in_a_worker_that_is_cut_off_it_goes_with_the_factory) {
    g.frees = true;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass, .stop_timeout_ms = 1));
    stage_add("a");
    await_calls(1);
    assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
    open_gate(); /* the free of the factory waits for the worker */
    ki_mutex_lock(&g.mutex);
    while (stage.controller)
        ki_cond_wait(&g.changed, &g.mutex);
    ki_mutex_unlock(&g.mutex);
}

static void free_on_loop(void *user) {
    (void)user;
    ki_controller_free(stage.controller);
    stage.controller = NULL;
}

THREADED_TEST(freed_on_the_loop_it_goes_when_its_workers_have_returned) {
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass, .workers = 2));
    stage_add("a");
    await_calls(1);
    ki_engine_call(stage.engine.engine, free_on_loop, NULL);
    assert_int_equal(g.inside, 1);
    open_gate();
    assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
}

THREADED_TEST(a_deferred_reconcile_frees_its_thread_but_not_its_place) {
    g.is_open = g.defers = true;
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = pass, .workers = 1));
    for (int i = 1; i <= 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        stage_add(key);
    }
    for (int i = 1; i <= 20; i++) {
        ki_mutex_lock(&g.mutex);
        while (!g.deferred)
            ki_cond_wait(&g.changed, &g.mutex);
        ki_reconcile *call = g.deferred;
        assert_int_equal(g.calls, i);
        g.deferred = NULL;
        ki_mutex_unlock(&g.mutex);
        ki_reconcile_finish(call, NULL); /* on this thread, perhaps before the function has returned */
    }
}

/* --- a storm ------------------------------------------------------------------------------------------------------ */

enum {
    STORM_KEYS = 40,
    STORM_ADDS = 4000,
    STORM_WORKERS = 4
};

static _Atomic int in_work[STORM_KEYS], added[STORM_KEYS], seen[STORM_KEYS];
static _Atomic bool collided;

static ki_status storm(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)user;
    int k = atoi(key), number = atomic_load(&added[k]);
    if (atomic_fetch_add(&in_work[k], 1) > 0)
        atomic_store(&collided, true);
    atomic_store(&seen[k], number);
    atomic_fetch_sub(&in_work[k], 1);
    ki_mutex_lock(&g.mutex);
    ki_cond_broadcast(&g.changed);
    ki_mutex_unlock(&g.mutex);
    if (number % 7 == 1)
        return ki_error_set(err, KI_ERR_HTTP, "no");
    if (number % 5 == 1)
        ki_reconcile_requeue_after(call, 1);
    return KI_OK;
}

static void add_many(void *user) {
    ki_workqueue *queue = user;
    for (int i = 0; i < STORM_ADDS; i++) {
        char key[16];
        int k = i * 31 % STORM_KEYS;
        snprintf(key, sizeof key, "%d", k);
        atomic_fetch_add(&added[k], 1);
        if (ki_workqueue_add(queue, key))
            abort();
    }
}

static bool all_seen(void) {
    for (int k = 0; k < STORM_KEYS; k++)
        if (atomic_load(&seen[k]) != atomic_load(&added[k]))
            return false;
    return true;
}

THREADED_TEST(no_key_is_with_two_workers_and_the_last_change_is_seen) {
    ki_thread adders[2];
    for (int k = 0; k < STORM_KEYS; k++) {
        atomic_store(&added[k], 0);
        atomic_store(&seen[k], 0);
    }
    stage_run(KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = storm, .workers = STORM_WORKERS));
    memset(adders, 0, sizeof adders);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ki_thread_start(&adders[i], "adder", add_many, ki_controller_queue(stage.controller), NULL),
                         KI_OK);
    for (int i = 0; i < 2; i++)
        ki_thread_join(&adders[i]);
    int64_t until = ki_monotonic_now() + KI_SECONDS(PATIENCE_S);
    ki_mutex_lock(&g.mutex);
    while (!all_seen())
        if (!ki_cond_wait_until(&g.changed, &g.mutex, until))
            abort();
    ki_mutex_unlock(&g.mutex);
    assert_false(collided);
}
