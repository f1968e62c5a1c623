/* test_races.c: what another thread sees while an informer is removed, its factory stops or its set of namespaces
 * changes. On the embedded API server. */
#include "testing/faults/fault.h"
#include "tests/support/controller_stage.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- a set of namespaces that was given and not applied yet ---- */

static ki_informer *request(controller_stage *s) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(s->factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"),
                                         &informer, NULL),
                     KI_OK);
    return informer;
}

CONTROLLER_TEST(the_age_is_unknown_as_soon_as_a_namespace_is_added) {
    static const char *const names[] = { "a", "b" };
    ki_health health;
    ki_informer *informer = request(&stage);
    stage_put(&stage, KI_CONFIGMAPS, "a/x", "");
    stage_put(&stage, KI_CONFIGMAPS, "b/x", "");
    assert_int_equal(ki_informer_set_namespaces(informer, names, 1, NULL), KI_OK);
    stage_start(&stage);
    assert_true(ki_informer_has_synced(informer));
    assert_int_equal(ki_informer_set_namespaces(informer, names, 2, NULL), KI_OK);
    ki_informer_health(informer, &health);
    ki_object *obj = ki_informer_get(informer, "b/x");
    bool is_missing = !obj;
    ki_object_unref(obj);
    assert_true(!is_missing || health.staleness_ms == -1); /* lister.h, "Of a namespace that is added" */
}

static int ended_waits;

static void on_any(ki_informer *informer, ki_status status, void *user) {
    (void)informer;
    (void)user;
    ended_waits += status == KI_OK;
}

CONTROLLER_TEST(the_age_is_known_again_once_the_set_is_in_the_cache) {
    static const char *const names[] = { "a", "b" };
    ki_health health;
    ki_informer *informer = request(&stage);
    stage_put(&stage, KI_CONFIGMAPS, "a/x", "");
    assert_int_equal(ki_informer_set_namespaces(informer, names, 1, NULL), KI_OK);
    stage_start(&stage);
    for (size_t count = 3; count-- > 0;) { /* one more, one less, none; each twice */
        for (int again = 0; again < 2; again++) {
            assert_int_equal(ki_informer_set_namespaces(informer, names, count, NULL), KI_OK);
            stage_settle(&stage);
            ki_informer_health(informer, &health);
            if (count == 0) /* no list, so no version */
                continue;
            assert_true(health.staleness_ms >= 0);
            ended_waits = 0;
            assert_int_equal(ki_informer_wait_for_version_async(informer, NULL, "1", -1, on_any, NULL, NULL), KI_OK);
            stage_settle(&stage);
            assert_int_equal(ended_waits, 1);
        }
    }
}

static bool had_object;
static ki_status waited = KI_ERR_LIMIT;

static void on_version(ki_informer *informer, ki_status status, void *user) {
    ki_object *obj = ki_informer_get(informer, user);
    waited = status;
    had_object = obj != NULL;
    ki_object_unref(obj);
}

static void wait_for_own_write(const char *key) {
    static const char *const names[] = { "a", "b" };
    static char object[] = "b/y";
    char version[64];
    ki_informer *informer = request(&stage);
    ki_informer *all = NULL;
    assert_int_equal(ki_factory_informer(stage.factory, KI_CONFIGMAPS, NULL, &all, NULL), KI_OK);
    stage_put(&stage, KI_CONFIGMAPS, "a/x", "");
    assert_int_equal(ki_informer_set_namespaces(informer, names, 1, NULL), KI_OK);
    stage_start(&stage);
    stage_put(&stage, KI_CONFIGMAPS, "b/y", ""); /* the program's own write */
    stage_settle(&stage);
    ki_object *written = ki_informer_get(all, "b/y");
    snprintf(version, sizeof version, "%s", ki_object_resource_version(written));
    ki_object_unref(written);
    stage_put(&stage, KI_CONFIGMAPS, "a/z", ""); /* the cache goes on to a later version */
    stage_settle(&stage);
    assert_int_equal(ki_informer_set_namespaces(informer, names, 2, NULL), KI_OK);
    waited = KI_ERR_LIMIT;
    assert_int_equal(ki_informer_wait_for_version_async(informer, key, version, -1, on_version, object, NULL), KI_OK);
    stage_settle(&stage);
    assert_int_equal(waited, KI_OK);
    assert_true(had_object);
}

CONTROLLER_TEST(a_wait_without_a_key_covers_the_added_namespace) {
    wait_for_own_write(NULL);
}

CONTROLLER_TEST(a_wait_with_a_key_covers_the_added_namespace) {
    wait_for_own_write("b/y");
}

/* ---- tasks that are posted after the stop ---- */

typedef struct setter {
    pthread_t thread;
    ki_informer *informer;
    atomic_uint calls;
    ki_status status;
} setter;

static void *set_until_stopped(void *user) {
    static const char *const names[] = { "a", "b" };
    setter *self = user;
    do {
        self->status = ki_informer_set_namespaces(self->informer, names, 1 + atomic_load(&self->calls) % 2, NULL);
        atomic_fetch_add(&self->calls, 1);
    } while (!self->status);
    return NULL;
}

TEST(a_set_that_is_given_while_the_factory_stops_leaves_no_task) {
    for (int round = 0; round < 300; round++) {
        controller_stage s;
        setter self = { .status = KI_OK };
        assert_true(stage_open(&s, NULL));
        self.informer = request(&s);
        stage_start(&s);
        assert_int_equal(pthread_create(&self.thread, NULL, set_until_stopped, &self), 0);
        while (!atomic_load(&self.calls))
            sched_yield();
        assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK);
        pthread_join(self.thread, NULL);
        assert_int_equal(self.status, KI_ERR_STATE);
        ki_factory_free(s.factory);
        s.factory = NULL;
        stage_settle(&s); /* the program's engine goes on: ASan finds a task of the freed informer */
        stage_close(&s);
    }
}

static atomic_bool is_in_index, may_leave_index;

static ki_status fail_late(const ki_object *obj, ki_index_values *values, void *user) {
    (void)obj;
    (void)values;
    (void)user;
    atomic_store(&is_in_index, true);
    while (!atomic_load(&may_leave_index))
        sched_yield();
    return KI_ERR_INVALID;
}

static void *add_index(void *user) {
    const ki_indexer indexer = { .name = "late", .index = fail_late };
    assert_int_equal(ki_informer_add_indexers(user, &indexer, 1, NULL), KI_ERR_STATE);
    return NULL;
}

TEST(an_index_that_fails_after_the_stop_leaves_no_task) {
    controller_stage s;
    pthread_t thread;
    assert_true(stage_open(&s, NULL));
    stage_put(&s, KI_CONFIGMAPS, "a/x", "");
    stage_start(&s);
    assert_int_equal(pthread_create(&thread, NULL, add_index, s.configmaps), 0);
    while (!atomic_load(&is_in_index))
        sched_yield();
    assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK);
    atomic_store(&may_leave_index, true);
    pthread_join(thread, NULL);
    ki_factory_free(s.factory);
    s.factory = NULL;
    stage_settle(&s);
    stage_close(&s);
}

/* ---- the first set gives way to another one before it is listed ---- */

CONTROLLER_TEST(a_set_in_place_of_an_unlisted_first_one_is_listed_before_the_informer_has_synced) {
    static const char *const first[] = { "a" }, *const second[] = { "c" };
    ki_informer *informer = request(&stage);
    stage_put(&stage, KI_CONFIGMAPS, "a/x", "");
    stage_put(&stage, KI_CONFIGMAPS, "c/x", "");
    assert_int_equal(ki_informer_set_namespaces(informer, first, 1, NULL), KI_OK);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    ki_health health;
    do { /* until the first namespace is asked for */
        assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
        ki_informer_health(informer, &health);
    } while (health.state == KI_STATE_NOT_STARTED || strcmp(health.message, "no namespaces are set") == 0);
    assert_false(ki_informer_has_synced(informer));
    assert_int_equal(ki_informer_set_namespaces(informer, second, 1, NULL), KI_OK);
    for (int i = 0; i < 1000 && !ki_informer_has_synced(informer); i++)
        assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
    assert_true(ki_informer_has_synced(informer));
    ki_object *obj = ki_informer_get(informer, "c/x");
    assert_non_null(obj); /* "not found" means something once the informer has synced (lister.h) */
    ki_object_unref(obj);
}

CONTROLLER_TEST(a_set_in_place_of_an_unlisted_first_one_that_cannot_be_listed_does_not_sync) {
    static const char *const first[] = { "a" }, *const second[] = { "c" };
    static const char *const lines[] = { "status,code=500,verb=list+watch,resource=configmaps,namespace=a",
                                         "status,code=500,verb=list+watch,resource=configmaps,namespace=c" };
    ki_informer *informer = request(&stage);
    ki_health health;
    stage_put(&stage, KI_CONFIGMAPS, "c/x", "");
    for (int i = 0; i < 2; i++)
        assert_int_equal(kt_faults_add(kt_cluster_faults(stage.cluster), lines[i],
                                       kt_memory_adapter_now_ms(stage.adapter), NULL, NULL),
                         KI_OK);
    assert_int_equal(ki_informer_set_namespaces(informer, first, 1, NULL), KI_OK);
    stage_start(&stage);
    assert_false(ki_informer_has_synced(informer));
    assert_int_equal(ki_informer_set_namespaces(informer, second, 1, NULL), KI_OK);
    stage_settle(&stage);
    ki_informer_health(informer, &health);
    if (ki_informer_has_synced(informer))
        fail_msg("synced with no namespace listed: %s, staleness_ms %lld, objects %zu", ki_state_name(health.state),
                 (long long)health.staleness_ms, (size_t)health.objects);
}

/* ---- the same with the factory's own engine: ki_factory_stop posts behind the freed informer's task ---- */

TEST(a_set_that_is_given_while_its_own_engine_stops_leaves_no_task) {
    for (int round = 0; round < 300; round++) {
        ki_factory *factory = NULL;
        ki_config *config = NULL;
        setter self = { .status = KI_OK };
        assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &config, NULL), KI_OK);
        assert_int_equal(ki_factory_new(config, NULL, &factory, NULL), KI_OK);
        ki_config_free(config);
        assert_int_equal(ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"),
                                             &self.informer, NULL),
                         KI_OK);
        assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
        assert_int_equal(pthread_create(&self.thread, NULL, set_until_stopped, &self), 0);
        while (!atomic_load(&self.calls))
            sched_yield();
        assert_int_equal(ki_factory_shutdown(factory, NULL), KI_OK);
        pthread_join(self.thread, NULL);
        ki_factory_stop(factory); /* repeatable */
        ki_factory_free(factory);
    }
}
