/* test_namespace_health.c: the health of each namespace of an informer, and the call for a set that is complete. On the
 * embedded API server, in the engine's time. */
#include "testing/faults/fault.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <string.h>

enum {
    TEXT = 4096
};

static char calls[TEXT]; /* "+a/x", "-a/x" for changes, "synced", "set", "changed" */

static void note(const char *what, const char *key) {
    size_t used = strlen(calls);
    snprintf(calls + used, sizeof calls - used, "%s%s%s", used ? " " : "", what, key);
}

static void on_event(const ki_event *event, void *user) {
    (void)user;
    note(event->type == KI_EVENT_ADD ? "+" : event->type == KI_EVENT_DELETE ? "-" : "~", ki_object_key(event->obj));
}

static void on_synced(ki_informer *informer, void *user) {
    (void)informer;
    (void)user;
    note("synced", "");
}

static void on_namespaces_synced(ki_informer *informer, void *user) {
    (void)informer;
    (void)user;
    note("set", "");
}

static void on_changed(ki_informer *informer, void *user) {
    (void)informer;
    (void)user;
    note("changed", "");
}

static const ki_handler noting = { .on_add = on_event,
                                   .on_update = on_event,
                                   .on_delete = on_event,
                                   .on_synced = on_synced,
                                   .on_namespaces_synced = on_namespaces_synced };

static void expect_calls(const char *expected) {
    if (strcmp(calls, expected) != 0)
        fail_msg("calls: %s\nnot:   %s", calls, expected);
    calls[0] = '\0';
}

static ki_informer *request(controller_stage *s, ki_informer_options options) {
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_factory_informer(s->factory, KI_CONFIGMAPS, &options, &informer, &err))
        fail_msg("%s", ki_error_message(&err));
    return informer;
}

static void add_handler(ki_informer *informer, const ki_handler *handler) {
    const ki_registration_options options = KI_REGISTRATION_OPTIONS(.on_loop = true);
    calls[0] = '\0';
    assert_int_equal(ki_informer_add_handler(informer, handler, NULL, &options, NULL, NULL), KI_OK);
}

/* Splits "a b". */
static size_t split(char *text, const char *names[16]) {
    size_t count = 0;
    for (char *name = strtok(text, " "); name; name = strtok(NULL, " "))
        names[count++] = name;
    return count;
}

static ki_status set(ki_informer *informer, const char *text) {
    char copy[256];
    const char *names[16];
    snprintf(copy, sizeof copy, "%s", text);
    size_t count = split(copy, names);
    return ki_informer_set_namespaces(informer, names, count, NULL);
}

static void set_and_settle(ki_informer *informer, const char *text) {
    assert_int_equal(set(informer, text), KI_OK);
    stage_settle(&stage);
}

static void put(const char *key) {
    stage_put(&stage, KI_CONFIGMAPS, key, "");
    stage_settle(&stage);
}

static void forbid(controller_stage *s, const char *namespace_name) {
    char line[128];
    snprintf(line, sizeof line, "status,code=403,namespace=%s,resource=configmaps,verb=list+watch", namespace_name);
    assert_int_equal(
        kt_faults_add(kt_cluster_faults(s->cluster), line, kt_memory_adapter_now_ms(s->adapter), NULL, NULL), KI_OK);
}

static void allow_all(controller_stage *s) {
    kt_faults_clear(kt_cluster_faults(s->cluster));
}

static bool has(const ki_informer *informer, const char *key) {
    ki_object *obj = ki_informer_get(informer, key);
    ki_object_unref(obj);
    return obj != NULL;
}

/* --- the health of each ------------------------------------------------------------------------------------------- */

static void expect_works(const ki_informer *informer, const char *namespace_name, size_t objects) {
    ki_health health;
    assert_true(ki_informer_namespace_health(informer, namespace_name, &health));
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_true(health.staleness_ms >= 0);
    assert_int_equal(health.objects, objects);
    assert_int_equal(health.cause.code, KI_OK);
    if (objects) /* else the server can say that there is no such namespace */
        assert_string_equal(health.message, "");
    assert_true(ki_informer_namespace_health(informer, namespace_name, NULL));
}

static void expect_forbidden(const ki_informer *informer, const char *namespace_name, const char *message) {
    ki_health health;
    assert_false(ki_informer_namespace_health(informer, namespace_name, &health));
    assert_int_equal(health.state, KI_STATE_BLOCKED);
    assert_int_equal(health.staleness_ms, -1);
    assert_int_equal(health.objects, 0);
    assert_int_equal(health.cause.http_status, 403);
    assert_int_equal(health.next, KI_ATTEMPT_STREAMING_LIST);
    assert_true(health.retry_in_ms >= 0 && health.failures > 0);
    assert_string_equal(health.message, message);
    assert_false(ki_informer_namespace_health(informer, namespace_name, NULL));
}

CONTROLLER_TEST(a_forbidden_namespace_of_the_first_set_leaves_the_others_usable) {
    ki_health health;
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    put("a/x");
    put("b/x");
    forbid(&stage, "b");
    assert_int_equal(set(informer, "a b empty"), KI_OK);
    stage_start(&stage);
    assert_false(ki_informer_has_synced(informer));
    ki_informer_health(informer, &health); /* the worst */
    assert_int_equal(health.state, KI_STATE_BLOCKED);
    assert_int_equal(health.staleness_ms, -1);
    expect_works(informer, "a", 1);
    expect_works(informer, "empty", 0);
    assert_true(ki_informer_namespace_health(informer, "empty", &health));
    assert_string_equal(health.message, "there is no namespace empty");
    expect_forbidden(informer, "b", "forbidden: list configmaps in namespace b");
    stage_advance(&stage, 20000);
    put("a/y");
    expect_works(informer, "a", 2);
    assert_true(ki_informer_namespace_health(informer, "a", &health));
    assert_true(health.staleness_ms < 1000);
    allow_all(&stage);
    stage_advance(&stage, 60000);
    expect_works(informer, "b", 1);
    assert_true(ki_informer_has_synced(informer));
}

CONTROLLER_TEST(a_forbidden_namespace_that_is_added_leaves_the_others_usable) {
    ki_health health;
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    put("a/x");
    forbid(&stage, "b");
    assert_int_equal(set(informer, "a"), KI_OK);
    stage_start(&stage);
    set_and_settle(informer, "a b c");
    ki_informer_health(informer, &health);
    assert_int_equal(health.staleness_ms, -1);
    expect_works(informer, "a", 1);
    expect_works(informer, "c", 0);
    expect_forbidden(informer, "b", "forbidden: list configmaps in namespace b");
    set_and_settle(informer, "a c");
    ki_informer_health(informer, &health);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_true(health.staleness_ms >= 0);
}

static void expect_not_watched(const ki_informer *informer, const char *namespace_name) {
    ki_health health;
    char message[128];
    snprintf(message, sizeof message, "namespace %s is not watched", namespace_name);
    assert_false(ki_informer_namespace_health(informer, namespace_name, &health));
    assert_int_equal(health.state, KI_STATE_NOT_STARTED);
    assert_int_equal(health.staleness_ms, -1);
    assert_string_equal(health.message, message);
    assert_false(ki_informer_namespace_health(informer, namespace_name, NULL));
}

CONTROLLER_TEST(a_namespace_is_known_from_the_call_that_adds_it_until_the_call_that_removes_it) {
    ki_health health;
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    put("a/x");
    expect_not_watched(informer, "a");
    assert_int_equal(set(informer, "a"), KI_OK);
    assert_false(ki_informer_namespace_health(informer, "a", &health));
    assert_int_equal(health.state, KI_STATE_NOT_STARTED);
    assert_string_equal(health.message, "");
    stage_start(&stage);
    expect_works(informer, "a", 1);
    expect_not_watched(informer, "b");
    assert_int_equal(set(informer, "b"), KI_OK);
    expect_not_watched(informer, "a");
    assert_false(ki_informer_namespace_health(informer, "b", &health));
    assert_int_equal(health.state, KI_STATE_CONNECTING);
    assert_string_equal(health.message, "");
    assert_int_equal(set(informer, "a b"), KI_OK);
    expect_works(informer, "a", 1); /* it has never left */
    stage_settle(&stage);
    assert_int_equal(ki_factory_remove_informer(stage.factory, informer, NULL), KI_OK);
    assert_false(ki_informer_namespace_health(informer, "a", &health));
    assert_string_equal(health.message, "the informer was removed");
    stage_settle(&stage);
    assert_false(ki_informer_namespace_health(informer, "a", &health));
    assert_string_equal(health.message, "the informer was removed");
}

/* A namespace that is removed and added again is listed anew: what it had may be deleted by then. */
CONTROLLER_TEST(a_namespace_that_leaves_and_comes_back_is_not_synced_before_its_list) {
    enum {
        STEPS = 400
    };
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    put("a/x");
    assert_int_equal(set(informer, "a"), KI_OK);
    stage_start(&stage);
    for (int steps = 1; steps < 12; steps++) {
        assert_int_equal(set(informer, ""), KI_OK);
        for (int i = 0; i < steps; i++)
            assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
        assert_int_equal(set(informer, "a"), KI_OK);
        for (int i = 0; i < STEPS; i++) {
            bool is_synced = ki_informer_namespace_health(informer, "a", NULL);
            assert_true(!is_synced || has(informer, "a/x"));
            assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
        }
        stage_settle(&stage);
        expect_works(informer, "a", 1);
    }
}

/* At each step of the loop, with either queue. */
TEST(a_namespace_is_synced_only_with_its_objects_in_the_cache) {
    static const char *const names[] = { "a", "b", "c" };
    for (int kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        controller_stage s;
        int synced_before = 0;
        assert_true(stage_open(&s, NULL));
        forbid(&s, "c");
        for (int i = 0; i < 3; i++)
            for (int n = 0; n < 5; n++) {
                char key[16];
                snprintf(key, sizeof key, "%s/x%d", names[i], n);
                stage_put(&s, KI_CONFIGMAPS, key, "");
            }
        const ki_informer_options options =
            KI_INFORMER_OPTIONS(.namespace_set = "tenants", .queue = (ki_queue_kind)kind);
        ki_informer *informer = request(&s, options);
        assert_int_equal(set(informer, "a b c"), KI_OK);
        assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK);
        for (int step = 0; step < 2000; step++) {
            int synced = 0;
            for (int i = 0; i < 3; i++) {
                char key[16];
                snprintf(key, sizeof key, "%s/x4", names[i]);
                bool is_synced = ki_informer_namespace_health(informer, names[i], NULL);
                synced += is_synced;
                assert_true(!is_synced || has(informer, key));
            }
            assert_true(synced >= synced_before);
            synced_before = synced;
            assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        }
        assert_int_equal(synced_before, 2);
        stage_close(&s);
    }
}

CONTROLLER_TEST(an_informer_without_a_set_has_the_health_of_its_namespaces) {
    ki_health health;
    ki_informer *nodes = NULL;
    put("a/x");
    put("b/x");
    put("b/y");
    ki_informer *one = request(&stage, KI_INFORMER_OPTIONS(.namespace_name = "a"));
    assert_int_equal(ki_factory_informer(stage.factory, KI_NODES, NULL, &nodes, NULL), KI_OK);
    stage_start(&stage);
    expect_works(stage.configmaps, "a", 1);
    expect_works(stage.configmaps, "b", 2);
    expect_works(stage.configmaps, "none", 0);
    expect_works(one, "a", 1);
    expect_not_watched(one, "b");
    expect_works(nodes, "", 0);
    ki_factory_stop(stage.factory);
    stage_settle(&stage);
    assert_true(ki_informer_namespace_health(one, "a", &health)); /* as ki_informer_has_synced */
    assert_int_equal(health.state, KI_STATE_STOPPED);
}

static int not_started; /* states NOT_STARTED that the state handler got */

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    (void)user;
    not_started += health->state == KI_STATE_NOT_STARTED;
}

CONTROLLER_TEST(a_started_informer_is_never_not_started) {
    static const char *const sets[] = { "a", "a b", "b", "", "c d e", "b" };
    ki_health health;
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    assert_int_equal(ki_informer_set_state_handler(informer, on_state, NULL, NULL), KI_OK);
    not_started = 0;
    stage_start(&stage);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        assert_int_equal(set(informer, sets[i]), KI_OK);
        for (int step = 0; step < 200; step++) {
            ki_informer_health(informer, &health);
            assert_int_not_equal(health.state, KI_STATE_NOT_STARTED);
            assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
        }
    }
    assert_int_equal(not_started, 0);
}

/* --- a set that is complete --------------------------------------------------------------------------------------- */

CONTROLLER_TEST(a_changed_set_that_is_complete_is_a_call_after_its_adds) {
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    put("a/x");
    put("b/x");
    add_handler(informer, &noting);
    assert_int_equal(set(informer, "a"), KI_OK);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    stage_settle(&stage);
    expect_calls("+a/x synced");
    set_and_settle(informer, "a b");
    expect_calls("+b/x set");
    set_and_settle(informer, "a b empty"); /* brings no event at all */
    expect_calls("set");
    set_and_settle(informer, "a b empty");
    expect_calls("set");
    set_and_settle(informer, "b");
    expect_calls("-a/x set");
    set_and_settle(informer, "");
    expect_calls("-b/x set");
    assert_int_equal(set(informer, "a"), KI_OK);
    set_and_settle(informer, "b"); /* that one alone is complete */
    expect_calls("+b/x set");
}

CONTROLLER_TEST(a_set_with_a_forbidden_namespace_is_complete_once_that_is_listed) {
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    put("b/x");
    add_handler(informer, &noting);
    forbid(&stage, "b");
    stage_start(&stage);
    set_and_settle(informer, "a");
    expect_calls("synced");
    set_and_settle(informer, "a b c");
    expect_calls("");
    allow_all(&stage);
    stage_advance(&stage, 60000);
    expect_calls("+b/x set");
}

CONTROLLER_TEST(a_handler_that_lists_the_cache_gets_a_call_for_an_empty_namespace) {
    static const ki_handler listing = { .on_changed = on_changed };
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    add_handler(informer, &listing);
    stage_start(&stage);
    set_and_settle(informer, "a");
    expect_calls("changed");
    set_and_settle(informer, "a empty");
    expect_calls("changed");
}

CONTROLLER_TEST(a_handler_of_complete_sets_alone_is_a_handler) {
    static const ki_handler alone = { .on_namespaces_synced = on_namespaces_synced };
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    stage_start(&stage);
    set_and_settle(informer, "a");
    add_handler(informer, &alone); /* after the first set */
    stage_settle(&stage);
    expect_calls("");
    set_and_settle(informer, "b");
    expect_calls("set");
}

/* --- all informers of a set --------------------------------------------------------------------------------------- */

static ki_status set_all(const char *set_name, const char *text, ki_error *err) {
    char copy[256];
    const char *names[16];
    snprintf(copy, sizeof copy, "%s", text);
    size_t count = split(copy, names);
    return ki_factory_set_namespaces(stage.factory, set_name, names, count, err);
}

CONTROLLER_TEST(one_call_sets_the_namespaces_of_all_informers_of_a_set) {
    ki_informer *secrets = NULL, *other = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "other"));
    ki_informer *configmaps = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    assert_int_equal(ki_factory_informer(stage.factory, KI_SECRETS, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"),
                                         &secrets, NULL),
                     KI_OK);
    assert_int_equal(set_all("tenants", "a", NULL), KI_OK); /* also before the start */
    stage_start(&stage);
    expect_works(configmaps, "a", 0);
    expect_works(secrets, "a", 0);
    assert_int_equal(set_all("tenants", "b c", NULL), KI_OK);
    stage_settle(&stage);
    expect_works(configmaps, "c", 0);
    expect_works(secrets, "c", 0);
    expect_not_watched(configmaps, "a");
    expect_not_watched(other, "c");
    assert_int_equal(ki_factory_remove_informer(stage.factory, secrets, NULL), KI_OK);
    assert_int_equal(set_all("tenants", "d", NULL), KI_OK);
    stage_settle(&stage);
    expect_works(configmaps, "d", 0);
}

CONTROLLER_TEST(a_set_that_no_informer_has_is_an_error) {
    static const struct {
        const char *set_name, *names, *part;
        ki_status status;
    } cases[] = {
        { "tenant", "a", "no informer has .namespace_set \"tenant\"", KI_ERR_NOT_FOUND },
        { "", "a", "no informer has .namespace_set \"\"", KI_ERR_NOT_FOUND },
        { "with team", "a", "no informer has", KI_ERR_NOT_FOUND },
        { "tenants", "A", "'A' is no name of a namespace", KI_ERR_INVALID },
    };
    ki_informer *informer = request(&stage, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(set_all(cases[i].set_name, cases[i].names, &err), cases[i].status);
        if (!strstr(ki_error_message(&err), cases[i].part))
            fail_msg("%s\nlacks: %s", ki_error_message(&err), cases[i].part);
    }
    stage_start(&stage);
    expect_not_watched(informer, "a");
    ki_factory_stop(stage.factory);
    assert_int_equal(set_all("tenants", "a", NULL), KI_ERR_STATE);
}

TEST(without_memory_no_informer_of_a_set_changes) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        static const char *const before[] = { "a" }, *const after[] = { "b" };
        controller_stage s;
        ki_informer *secrets = NULL;
        assert_true(stage_open(&s, &memory.allocator));
        ki_informer *configmaps = request(&s, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
        assert_int_equal(ki_factory_informer(s.factory, KI_SECRETS, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"),
                                             &secrets, NULL),
                         KI_OK);
        assert_int_equal(ki_factory_set_namespaces(s.factory, "tenants", before, 1, NULL), KI_OK);
        stage_start(&s);
        scarce_memory_begin(&memory);
        ki_status status = ki_factory_set_namespaces(s.factory, "tenants", after, 1, NULL);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        stage_settle(&s);
        stage_advance(&s, 60000);
        assert_true(ki_informer_namespace_health(configmaps, status ? "a" : "b", NULL));
        assert_true(ki_informer_namespace_health(secrets, status ? "a" : "b", NULL));
        expect_not_watched(configmaps, status ? "b" : "a");
        expect_not_watched(secrets, status ? "b" : "a");
        stage_close(&s);
    }
}
