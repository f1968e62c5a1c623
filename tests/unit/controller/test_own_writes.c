/* test_own_writes.c: the next reconcile of a key waits until the caches have what the last one wrote; on one thread in
 * virtual time, and on threads. */
#include "controllers/controller/own_writes.h"
#include "src/factory/factory.h"
#include "testing/faults/fault.h"
#include "tests/support/controller_stage.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 4,
    BOUND_MS = KI_OWN_WRITES_WAIT / KI_MILLISECONDS(1)
};

#define OWNED_BY_M \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"m\",\"uid\":\"u\"," \
    "\"controller\":true}]"
#define MAP(name, more) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"team\"" more "}}"
#define SECRET(name, more) \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"team\"" more "}}"

#define POD(more, spec) \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"n\"" more \
    "},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]" spec "}}"

/* --- a program ---------------------------------------------------------------------------------------------------- */

typedef struct step {
    ki_client_verb verb;
    const ki_resource *resource;
    const char *name; /* NULL: none */
    const char *body; /* NULL: none */
    const char *subresource;
    ki_patch_type patch;
    const char *namespace_name; /* NULL: "team" */
    const char *parameters;
    bool dry_run;
} step;

/* The first reconcile makes these requests, one after the other; then it ends. Later ones make none. */
static struct {
    step steps[STEPS_MAX];
    ki_client *client; /* NULL: the factory's */
    bool ends_first;   /* the reconcile does not wait for its requests */
    int next;
    ki_reconcile *call; /* deferred */
} program;

static void send_next(void);

static void finish(const ki_error *err) {
    if (program.call)
        ki_reconcile_finish(program.call, err);
    program.call = NULL;
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    (void)user;
    char word[32];
    snprintf(word, sizeof word, "%d", response ? ki_response_http_status(response) : -1);
    stage_note(&stage, err && !response ? ki_status_name(err->code) : word);
    if (err)
        finish(err);
    else
        send_next();
}

static void send_next(void) {
    const step *s = &program.steps[program.next];
    if (program.next == STEPS_MAX || !s->verb) {
        finish(NULL);
        return;
    }
    program.next++;
    const ki_request_options options = KI_REQUEST_OPTIONS(.subresource = s->subresource, .parameters = s->parameters,
                                                          .dry_run = s->dry_run, .field_manager = "test");
    ki_client *client = program.client ? program.client : ki_factory_client(stage.factory);
    ki_error err = KI_ERROR_INIT;
    ki_status status =
        ki_client_send(client,
                       &KI_CLIENT_REQUEST(.verb = s->verb, .resource = s->resource,
                                          .namespace_name = s->namespace_name ? s->namespace_name : "team",
                                          .name = s->name, .body = s->body, .body_size = s->body ? strlen(s->body) : 0,
                                          .patch = s->patch, .options = &options),
                       on_response, NULL, NULL, &err);
    if (status)
        finish(&err);
}

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)user, (void)err;
    stage_note(&stage, key);
    if (program.next > 0 || !program.steps[0].verb)
        return KI_OK;
    if (!program.ends_first) {
        ki_reconcile_defer(call);
        program.call = call;
    }
    send_next();
    return KI_OK;
}

static void control_with(ki_controller_options options) {
    options.name = "c";
    options.reconcile = reconcile;
    assert_int_equal(stage_control(&stage, options), KI_OK);
}

static bool skip_all(const ki_event *event, void *user) {
    (void)event, (void)user;
    return false;
}

/* A controller that watches ConfigMaps and Secrets, whose events queue no keys. */
static void watch_quietly(void) {
    const ki_controller_watch_options quietly = KI_CONTROLLER_WATCH(.predicate = skip_all);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, &quietly, NULL), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.secrets, &quietly, NULL), KI_OK);
}

static void put_namespaces(void) {
    static const char *const names[] = { "team", "other", "a", "b", "c" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        stage_put(&stage, KI_NAMESPACES, names[i], "");
}

static int set_up(void **state) {
    memset(&program, 0, sizeof program);
    int failed = stage_set_up(state);
    put_namespaces();
    return failed;
}

#define OWN_WRITES_TEST(name) TEST_WITH(set_up, stage_tear_down, name)

/* --- the recommended pattern -------------------------------------------------------------------------------------- */

#define OBSERVED ",\"labels\":{\"observed\":\"yes\"}"

/* Applies the child, then updates the parent that it read: with the cache's resource version. */
static ki_status apply_child_then_update_parent(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    static char body[1024];
    (void)user, (void)err;
    ki_object *parent = ki_informer_get(stage.configmaps, key);
    assert_non_null(parent);
    bool is_observed = ki_object_label(parent, "observed") != NULL;
    stage_note(&stage, is_observed ? "observed" : "new");
    snprintf(body, sizeof body, MAP("m", OBSERVED ",\"resourceVersion\":\"%s\""), ki_object_resource_version(parent));
    ki_object_unref(parent);
    if (is_observed)
        return KI_OK;
    memset(&program, 0, sizeof program);
    program.steps[0] = (step){ .verb = KI_CLIENT_PATCH,
                               .patch = KI_PATCH_APPLY,
                               .resource = KI_SECRETS,
                               .name = "s",
                               .body = SECRET("s", "," OWNED_BY_M) };
    program.steps[1] = (step){ .verb = KI_CLIENT_UPDATE, .resource = KI_CONFIGMAPS, .name = "m", .body = body };
    program.call = call;
    ki_reconcile_defer(call);
    send_next();
    return KI_OK;
}

static void run_pattern(bool no_wait) {
    assert_true(stage_make_factory(&stage, KI_FACTORY_OPTIONS(.no_streaming_list = true)));
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    assert_int_equal(
        stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = apply_child_then_update_parent,
                                                    .no_wait_for_writes = no_wait)),
        KI_OK);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, NULL), KI_OK);
    stage_hold(&stage, "/configmaps");
    stage_start(&stage);
}

OWN_WRITES_TEST(an_event_of_a_child_reconciles_once_the_cache_has_the_own_status) {
    run_pattern(false);
    stage_expect(&stage, "new 201 200");
    stage_advance(&stage, 1000);
    stage_expect(&stage, "");
    stage_hold(&stage, NULL);
    stage_settle(&stage);
    stage_expect(&stage, "observed");
}

OWN_WRITES_TEST(without_the_wait_an_event_of_a_child_makes_a_conflict) {
    run_pattern(true);
    stage_expect(&stage, "new 201 200 new 200 409");
}

/* --- what is waited for ------------------------------------------------------------------------------------------- */

/* Runs the steps while the events of what they write are held back. Returns true if the key waits for them: until they
 * are passed on, and no longer. */
static bool waits_with(const char *held) {
    stage_hold(&stage, held);
    stage_add("k");
    stage_settle(&stage);
    const char *notes = strrchr(stage.notes, 'k');
    assert_ptr_equal(notes, stage.notes);
    stage_add("k");
    stage_settle(&stage);
    bool waits = strrchr(stage.notes, 'k') == stage.notes;
    stage_hold(&stage, NULL);
    stage_settle(&stage);
    assert_ptr_not_equal(strrchr(stage.notes, 'k'), stage.notes);
    assert_int_equal((int)stage_metric(&stage, "controller_unseen_writes_total{controller=\"c\"}"), 0);
    return waits;
}

static void open_with(const step *steps, size_t count) {
    memset(&program, 0, sizeof program);
    memcpy(program.steps, steps, count * sizeof *steps);
    assert_true(stage_open(&stage, NULL));
    put_namespaces();
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "\"labels\":{\"a\":\"b\"}");
    stage_put(&stage, KI_CONFIGMAPS, "team/kept", "\"finalizers\":[\"example.com/f\"]");
    stage_put(&stage, KI_CONFIGMAPS, "team/ending",
              "\"finalizers\":[\"example.com/f\"],\"deletionTimestamp\":\"2025-01-01T00:00:00Z\"");
    stage_put(&stage, KI_DEPLOYMENTS, "team/d", "");
    stage_put(&stage, KI_PODS, "team/p", "");
    control_with(KI_CONTROLLER_OPTIONS());
    watch_quietly();
}

OWN_WRITES_TEST(a_key_waits_for_each_kind_of_write) {
    static const struct {
        step steps[2];
        const char *held, *results;
    } cases[] = {
        { { { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("n", "") } }, "/configmaps", "201" },
        { { { .verb = KI_CLIENT_CREATE,
              .resource = KI_CONFIGMAPS,
              .body = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"generateName\":\"g-\"}}" } },
          "/configmaps",
          "201" },
        { { { .verb = KI_CLIENT_UPDATE,
              .resource = KI_CONFIGMAPS,
              .name = "m",
              .body = MAP("m", ",\"labels\":{\"a\":\"c\"}") } },
          "/configmaps",
          "200" },
        { { { .verb = KI_CLIENT_PATCH,
              .resource = KI_CONFIGMAPS,
              .name = "m",
              .body = "{\"metadata\":{\"labels\":{\"a\":\"c\"}}}" } },
          "/configmaps",
          "200" },
        { { { .verb = KI_CLIENT_PATCH,
              .patch = KI_PATCH_APPLY,
              .resource = KI_SECRETS,
              .name = "s",
              .body = SECRET("s", "") } },
          "/secrets",
          "201" },
        { { { .verb = KI_CLIENT_PATCH,
              .resource = KI_DEPLOYMENTS,
              .name = "d",
              .subresource = "status",
              .body = "{\"status\":{\"replicas\":3}}" } },
          "/deployments",
          "200" },
        { { { .verb = KI_CLIENT_PATCH,
              .resource = KI_DEPLOYMENTS,
              .name = "d",
              .subresource = "scale",
              .body = "{\"spec\":{\"replicas\":3}}" } },
          "/deployments",
          "200" },
        { { { .verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS, .name = "m" } }, "/configmaps", "200" },
        /* marked only */
        { { { .verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS, .name = "kept" } }, "/configmaps", "200" },
        { { { .verb = KI_CLIENT_DELETE, .resource = KI_PODS, .name = "p" } }, "/pods", "200" },
        /* the last finalizer goes, and the object with it */
        { { { .verb = KI_CLIENT_PATCH,
              .resource = KI_CONFIGMAPS,
              .name = "ending",
              .body = "{\"metadata\":{\"finalizers\":null}}" } },
          "/configmaps",
          "200" },
        /* the cache has neither state */
        { { { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("n", "") },
            { .verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS, .name = "n" } },
          "/configmaps",
          "201 200" },
        { { { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("n", "") },
            { .verb = KI_CLIENT_CREATE, .resource = KI_SECRETS, .body = SECRET("s", "") } },
          "/configmaps",
          "201 201" },
    };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char results[64];
        const ki_controller_watch_options quietly = KI_CONTROLLER_WATCH(.predicate = skip_all);
        open_with(cases[i].steps, 2);
        assert_int_equal(ki_controller_for(stage.controller, KI_DEPLOYMENTS, &quietly, NULL, NULL), KI_OK);
        assert_int_equal(ki_controller_owns(stage.controller, KI_PODS, &quietly, NULL, NULL), KI_OK);
        stage_start(&stage);
        if (!waits_with(cases[i].held))
            fail_msg("row %zu does not wait: %s", i, stage.notes);
        snprintf(results, sizeof results, "k %s k", cases[i].results);
        stage_expect(&stage, results);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

OWN_WRITES_TEST(a_key_does_not_wait_for_what_no_cache_will_show) {
    static const step cases[] = {
        { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("n", ""), .dry_run = true },
        { .verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS, .name = "m", .dry_run = true },
        { .verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS, .name = "m", .parameters = "dryRun=All" },
        /* no difference */
        { .verb = KI_CLIENT_PATCH,
          .resource = KI_CONFIGMAPS,
          .name = "m",
          .body = "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}" },
        /* without success */
        { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("m", "") },
        { .verb = KI_CLIENT_DELETE, .resource = KI_CONFIGMAPS, .name = "absent" },
        /* reads */
        { .verb = KI_CLIENT_GET, .resource = KI_CONFIGMAPS, .name = "m" },
        { .verb = KI_CLIENT_LIST, .resource = KI_CONFIGMAPS },
        /* several objects */
        { .verb = KI_CLIENT_DELETE_COLLECTION, .resource = KI_CONFIGMAPS },
        /* no informer of the controller */
        { .verb = KI_CLIENT_CREATE,
          .resource = KI_SERVICEACCOUNTS,
          .body = "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"n\"}}" },
        { .verb = KI_CLIENT_DELETE, .resource = KI_DEPLOYMENTS, .name = "d" },
        /* a response that is no pod */
        { .verb = KI_CLIENT_CREATE,
          .resource = KI_PODS,
          .name = "p",
          .subresource = "eviction",
          .body = "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"}}" },
        { .verb = KI_CLIENT_CREATE,
          .resource = KI_PODS,
          .name = "p",
          .subresource = "binding",
          .body = "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\"},"
                  "\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}" },
    };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_with(&cases[i], 1);
        assert_int_equal(
            ki_controller_for(stage.controller, KI_PODS, &KI_CONTROLLER_WATCH(.predicate = skip_all), NULL, NULL),
            KI_OK);
        stage_start(&stage);
        if (waits_with("watch="))
            fail_msg("row %zu waits: %s", i, stage.notes);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

OWN_WRITES_TEST(a_key_waits_for_writes_of_the_factory_s_client_alone) {
    const step create = { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("n", "") };
    ki_factory *other = NULL;
    stage_tear_down(NULL);
    open_with(&create, 1);
    stage_start(&stage);
    assert_int_equal(
        ki_factory_new_on(NULL, stage.transport, &KI_FACTORY_OPTIONS(.engine = stage.engine.engine), &other, NULL),
        KI_OK);
    program.client = ki_factory_client(other);
    assert_false(waits_with("/configmaps"));
    ki_factory_free(other);
}

/* An informer with a selector gets the states that it selects, and the end of the last one. */
OWN_WRITES_TEST(a_key_waits_for_the_objects_that_an_informer_selects) {
    static const step cases[] = {
        { .verb = KI_CLIENT_CREATE, .resource = KI_PODS, .body = POD("", "") },
        { .verb = KI_CLIENT_CREATE, .resource = KI_PODS, .body = POD(",\"labels\":{\"a\":\"b\"}", "") },
        { .verb = KI_CLIENT_CREATE,
          .resource = KI_PODS,
          .body = POD(",\"labels\":{\"a\":\"b\"}", ",\"nodeName\":\"one\"") },
        { .verb = KI_CLIENT_PATCH,
          .resource = KI_PODS,
          .name = "selected",
          .body = "{\"metadata\":{\"labels\":{\"a\":null}}}" },
        { .verb = KI_CLIENT_CREATE,
          .resource = KI_PODS,
          .namespace_name = "other",
          .body = POD(",\"labels\":{\"a\":\"b\"}", ",\"nodeName\":\"one\"") },
    };
    const struct {
        ki_informer_options options;
        const char *waits; /* '1': the row's write is waited for */
    } informers[] = {
        { KI_INFORMER_OPTIONS(.keep = KI_KEEP_OBJECT), "11111" },
        { KI_INFORMER_OPTIONS(.namespace_name = "team"), "11110" },
        { KI_INFORMER_OPTIONS(.label_selector = "a=b"), "01111" },
        { KI_INFORMER_OPTIONS(.field_selector = "spec.nodeName=one"), "00111" },
        { KI_INFORMER_OPTIONS(.label_selector = "a", .field_selector = "spec.nodeName=one", .namespace_name = "team",
                              .keep = KI_KEEP_METADATA),
          "00110" },
    };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof informers / sizeof *informers; i++) {
        for (size_t row = 0; row < sizeof cases / sizeof *cases; row++) {
            open_with(&cases[row], 1);
            const char *json = "{\"metadata\":{\"name\":\"selected\",\"namespace\":\"team\",\"labels\":{\"a\":\"b\"}},"
                               "\"spec\":{\"nodeName\":\"one\"}}";
            assert_int_equal(kt_cluster_put_json(stage.cluster, KI_PODS, (ki_str){ json, strlen(json) },
                                                 kt_memory_adapter_now_ms(stage.adapter), NULL, NULL),
                             KI_OK);
            const ki_controller_watch_options watch =
                KI_CONTROLLER_WATCH(.predicate = skip_all, .informer_options = &informers[i].options);
            assert_int_equal(ki_controller_for(stage.controller, KI_PODS, &watch, NULL, NULL), KI_OK);
            stage_start(&stage);
            if (waits_with("/pods") != (informers[i].waits[row] == '1'))
                fail_msg("informer %zu, row %zu: %s", i, row, stage.notes);
            stage_close(&stage);
        }
    }
    assert_true(stage_open(&stage, NULL));
}

OWN_WRITES_TEST(a_key_waits_for_the_namespaces_of_a_set) {
    static const struct {
        const char *namespace_name, *held;
        bool waits;
    } cases[] = {
        { "a", "/namespaces/a/", true },
        { "b", "/namespaces/a/", false }, /* seen at once, whatever the other namespace has */
        { "b", "/namespaces/b/", true },
        { "c", "watch=", false }, /* not of the set */
    };
    static const char *const names[] = { "a", "b" };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const step create = { .verb = KI_CLIENT_CREATE,
                              .resource = KI_PODS,
                              .namespace_name = cases[i].namespace_name,
                              .body = POD("", "") };
        const step delete = { .verb = KI_CLIENT_DELETE,
                              .resource = KI_PODS,
                              .namespace_name = cases[i].namespace_name,
                              .name = "there",
                              .parameters = "gracePeriodSeconds=0" };
        for (int deletes = 0; deletes < 2; deletes++) {
            char key[32];
            ki_informer *pods = NULL;
            open_with(deletes ? &delete : &create, 1);
            snprintf(key, sizeof key, "%s/there", cases[i].namespace_name);
            stage_put(&stage, KI_PODS, key, "");
            assert_int_equal(ki_controller_for(
                                 stage.controller, KI_PODS,
                                 &KI_CONTROLLER_WATCH(.predicate = skip_all,
                                                      .informer_options = &KI_INFORMER_OPTIONS(.namespace_set = "set")),
                                 &pods, NULL),
                             KI_OK);
            assert_int_equal(ki_informer_set_namespaces(pods, names, 2, NULL), KI_OK);
            stage_start(&stage);
            assert_int_equal(waits_with(cases[i].held), cases[i].waits);
            stage_close(&stage);
        }
    }
    assert_true(stage_open(&stage, NULL));
}

/* --- how long ----------------------------------------------------------------------------------------------------- */

static const step create_map = { .verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .body = MAP("n", "") };

/* Starts a controller whose first reconcile writes a ConfigMap that its cache does not get. The key is queued again. */
static void begin_wait(ki_controller_options options) {
    program.steps[0] = create_map;
    control_with(options);
    watch_quietly();
    stage_start(&stage);
    stage_advance(&stage, 0);
    stage_hold(&stage, "/configmaps");
    stage_add("k");
    stage_settle(&stage);
    stage_add("k");
    stage_settle(&stage);
    stage_expect(&stage, "k 201");
}

OWN_WRITES_TEST(a_key_waits_for_a_limited_time) {
    begin_wait(KI_CONTROLLER_OPTIONS());
    stage_advance(&stage, BOUND_MS - 1);
    stage_expect(&stage, "");
    assert_string_equal(stage.logged, "");
    stage_advance(&stage, 1);
    stage_expect(&stage, "k");
    assert_string_equal(stage.logged,
                        "c: reconcile k: its writes have not arrived in the cache of configmaps for 10 s; "
                        "the next reconcile may see an older state\n");
    assert_int_equal(stage.logged_level, KI_LOG_WARNING);
    assert_int_equal((int)stage_metric(&stage, "controller_unseen_writes_total{controller=\"c\"}"), 1);
    stage_hold(&stage, NULL);
    stage_settle(&stage);
    stage_expect(&stage, "");
}

OWN_WRITES_TEST(a_waiting_key_keeps_no_worker) {
    begin_wait(KI_CONTROLLER_OPTIONS(.workers = 1));
    stage_add("other");
    stage_settle(&stage);
    stage_expect(&stage, "other");
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers{controller=\"c\"}"), 0);
}

OWN_WRITES_TEST(a_key_that_is_due_waits_too) {
    begin_wait(KI_CONTROLLER_OPTIONS());
    assert_int_equal(ki_workqueue_add_with(ki_controller_queue(stage.controller), "k", &KI_ADD_OPTIONS(.after_ms = 5)),
                     KI_OK);
    stage_advance(&stage, 1000);
    stage_expect(&stage, "");
    stage_hold(&stage, NULL);
    stage_settle(&stage);
    stage_expect(&stage, "k");
}

/* A failed key, a requeue: as after any reconcile. */
static ki_status write_and_requeue(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    const char *act = user;
    ki_status status = reconcile(call, key, NULL, err);
    if (*act == 'r')
        ki_reconcile_requeue(call);
    else if (*act == 'a')
        ki_reconcile_requeue_after(call, 0);
    else
        status = ki_error_set(err, KI_ERR_STATE, "failed");
    return status;
}

OWN_WRITES_TEST(a_retry_waits_for_what_the_failed_reconcile_wrote) {
    static char acts[] = "raf";
    stage_tear_down(NULL);
    for (char *act = acts; *act; act++) {
        memset(&program, 0, sizeof program);
        program.steps[0] = create_map;
        program.ends_first = true;
        assert_true(stage_open(&stage, NULL));
        put_namespaces();
        assert_int_equal(
            stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = write_and_requeue, .user = act)),
            KI_OK);
        watch_quietly();
        stage_start(&stage);
        stage_hold(&stage, "/configmaps");
        stage_add("k");
        stage_advance(&stage, 5000);
        stage_expect(&stage, "k 201");
        stage_hold(&stage, NULL);
        assert_int_equal(ki_engine_step(stage.engine.engine, 100, NULL), KI_OK);
        assert_true(strncmp(stage.notes, "k ", 2) == 0);
        ki_controller_stop(stage.controller); /* 'a' requeues for ever */
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

/* The reconcile has ended; its first request makes the second one in its callback. */
OWN_WRITES_TEST(a_key_waits_for_requests_that_its_reconcile_left_running) {
    program.ends_first = true;
    program.steps[0] = create_map;
    program.steps[1] = (step){ .verb = KI_CLIENT_CREATE, .resource = KI_SECRETS, .body = SECRET("s", "") };
    control_with(KI_CONTROLLER_OPTIONS());
    watch_quietly();
    stage_start(&stage);
    assert_true(waits_with("/secrets"));
    stage_expect(&stage, "k 201 201 k");
}

OWN_WRITES_TEST(a_key_does_not_wait_for_ever_for_a_request) {
    program.ends_first = true;
    program.steps[0] = create_map;
    assert_int_equal(kt_faults_add(kt_cluster_faults(stage.cluster), "silent,verb=create", 0, NULL, NULL), KI_OK);
    control_with(KI_CONTROLLER_OPTIONS());
    watch_quietly();
    stage_start(&stage);
    stage_add("k");
    stage_settle(&stage);
    stage_add("k");
    stage_advance(&stage, BOUND_MS - 1);
    stage_expect(&stage, "k");
    stage_advance(&stage, 1);
    stage_expect(&stage, "k");
    assert_string_equal(stage.logged, "c: reconcile k: a write has not ended for 10 s; the next reconcile may see an "
                                      "older state\n");
    stage_advance(&stage, KI_CLIENT_TIMEOUT_MS);
    stage_expect(&stage, "timeout");
}

/* --- what ends a wait --------------------------------------------------------------------------------------------- */

OWN_WRITES_TEST(the_removal_of_the_informer_ends_the_wait) {
    begin_wait(KI_CONTROLLER_OPTIONS());
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    stage_settle(&stage);
    stage_expect(&stage, "k");
}

OWN_WRITES_TEST(a_stop_waits_for_no_write) {
    static const char *const stops[] = { "factory", "controller", "free", "engine" };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        for (int runs = 0; runs < 2; runs++) { /* the request, or the wait for its event */
            ki_health health;
            memset(&program, 0, sizeof program);
            program.ends_first = runs != 0;
            assert_true(stage_open(&stage, NULL));
            put_namespaces();
            if (runs)
                assert_int_equal(kt_faults_add(kt_cluster_faults(stage.cluster), "silent,verb=create", 0, NULL, NULL),
                                 KI_OK);
            program.steps[0] = create_map;
            control_with(KI_CONTROLLER_OPTIONS());
            watch_quietly();
            stage_start(&stage);
            stage_hold(&stage, "/configmaps");
            stage_add("k");
            stage_add("l"); /* writes nothing */
            stage_settle(&stage);
            stage_expect(&stage, runs ? "k l" : "k 201 l");
            stage_add("k");
            if (*stops[i] == 'f' && stops[i][1] == 'a')
                ki_factory_stop(stage.factory);
            else if (*stops[i] == 'c')
                ki_controller_stop(stage.controller);
            else if (*stops[i] == 'e')
                ki_engine_stop(stage.engine.engine);
            else {
                ki_controller_free(stage.controller);
                stage.controller = NULL;
            }
            if (*stops[i] != 'e')
                stage_settle(&stage);
            ki_informer_health(stage.configmaps, &health);
            assert_int_equal(health.state == KI_STATE_STOPPED, i == 0); /* the controller's stop has ended */
            stage_close(&stage);
            assert_true(strchr(stage.notes, 'k') == NULL);
        }
    }
    memset(&program, 0, sizeof program);
    assert_true(stage_open(&stage, NULL));
}

/* On the loop's thread no reconcile runs: nothing is left to end later. */
OWN_WRITES_TEST(a_controller_whose_key_waits_is_freed_at_once) {
    begin_wait(KI_CONTROLLER_OPTIONS());
    ki_controller_free(stage.controller);
    control_with(KI_CONTROLLER_OPTIONS()); /* the same name */
}

OWN_WRITES_TEST(a_waiting_key_does_not_keep_the_lease) {
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "team", .name = "lease", .identity = "me",
                                                        .release_on_stop = true),
                                    &elector, NULL),
                     KI_OK);
    begin_wait(KI_CONTROLLER_OPTIONS(.elector = elector));
    ki_elector_stop(elector);
    stage_settle(&stage);
    assert_false(ki_elector_is_leader(elector));
    char leader[64] = "?";
    ki_elector_leader(elector, leader, sizeof leader);
    assert_string_equal(leader, "");
    stage_hold(&stage, NULL);
    stage_advance(&stage, BOUND_MS);
    stage_expect(&stage, ""); /* nobody leads */
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    ki_elector_free(elector);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

TEST(no_key_is_lost_whatever_allocation_fails) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        memset(&program, 0, sizeof program);
        bool has_begun =
            stage_open(&stage, &memory.allocator) &&
            !stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = apply_child_then_update_parent)) &&
            !ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL) &&
            !ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, NULL);
        if (has_begun) {
            put_namespaces();
            stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
            stage_hold(&stage, "/configmaps");
            assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
            stage_advance(&stage, 100);
            stage_hold(&stage, NULL);
            stage_advance(&stage, 120000);
            size_t size = strlen(stage.notes);
            assert_true(size > 9 && strcmp(stage.notes + size - 9, "observed ") == 0);
        }
        stage_close(&stage);
        assert_true(has_begun || scarce_memory_failed(&memory));
    }
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum {
    PARENTS = 8,
    ROUNDS = 10
};

static _Atomic int conflicts, finished;
static sem_t all_finished;

static ki_status write_child(const ki_object *parent, const char *round, ki_error *err) {
    ki_unstructured *child = ki_unstructured_for(KI_SECRETS, ki_object_namespace(parent), ki_object_name(parent));
    ki_unstructured_set_string(child, "metadata.labels.round", round);
    return ki_client_apply_child(ki_factory_client(stage.factory), KI_SECRETS, parent, child,
                                 &KI_REQUEST_OPTIONS(.field_manager = "test"), NULL, err);
}

/* Ten rounds of a child and then the parent, each update with the version of the cache. */
static ki_status write_rounds(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)user;
    char round[16];
    ki_object *parent = ki_informer_get(stage.configmaps, key);
    const char *now = parent ? ki_object_label(parent, "round") : NULL;
    int number = now ? atoi(now) : 0;
    ki_status status = KI_OK;
    snprintf(round, sizeof round, "%d", number + 1);
    if (parent && number < ROUNDS) {
        status = write_child(parent, round, err);
        ki_unstructured *next = ki_unstructured_from_object(parent);
        ki_unstructured_set_string(next, "metadata.labels.round", round);
        if (!status)
            status = ki_client_update(ki_factory_client(stage.factory), KI_CONFIGMAPS, next, NULL, NULL, err);
        else
            ki_unstructured_free(next);
        conflicts += status && ki_error_is_conflict(err);
        if (!status && number + 1 == ROUNDS && ++finished == PARENTS)
            sem_post(&all_finished);
    }
    ki_object_unref(parent);
    return status;
}

TEST(workers_that_write_children_and_parents_have_no_conflicts) {
    conflicts = finished = 0;
    assert_int_equal(sem_init(&all_finished, 0, 0), 0);
    stage_open_threaded(&stage, NULL);
    put_namespaces();
    for (int i = 0; i < PARENTS; i++) {
        char key[32];
        snprintf(key, sizeof key, "team/m%d", i);
        stage_put(&stage, KI_CONFIGMAPS, key, "");
    }
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = write_rounds, .workers = 4)),
                     KI_OK);
    assert_int_equal(ki_controller_for(stage.controller, KI_CONFIGMAPS, NULL, NULL, NULL), KI_OK);
    assert_int_equal(ki_controller_owns(stage.controller, KI_SECRETS, NULL, NULL, NULL), KI_OK);
    stage_start(&stage);
    await_semaphore(&all_finished);
    ki_controller_free(stage.controller); /* some keys wait */
    stage.controller = NULL;
    stage_close(&stage);
    assert_int_equal(conflicts, 0);
    sem_destroy(&all_finished);
}
