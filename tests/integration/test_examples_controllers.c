/* test_examples_controllers.c: the controllers of examples/, run as a user would, against an embedded server that the
 * test changes. */
#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE "/example-sample-controller"

enum {
    PROGRAMS = 2,
    OBJECTS_MAX = 64
};

static const ki_resource foo_resource = { "samplecontroller.k8s.io", "v1alpha1", "foos", "Foo", true };

/* What the test reads of any object. */
struct view {
    const char *deployment_name;
    const char *owner_uid;
    const char *app, *controller, *pod_app, *pod_controller, *image;
    int64_t replicas;
    const char *type, *reason, *message, *source, *about;
    const char *token, *by;
};

static const ki_field fields[] = {
    KI_FIELD(struct view, deployment_name, "spec.deploymentName"),
    KI_FIELD(struct view, owner_uid, "metadata.ownerReferences[0].uid"),
    KI_FIELD(struct view, app, "spec.selector.matchLabels.app"),
    KI_FIELD(struct view, controller, "spec.selector.matchLabels.controller"),
    KI_FIELD(struct view, pod_app, "spec.template.metadata.labels.app"),
    KI_FIELD(struct view, pod_controller, "spec.template.metadata.labels.controller"),
    KI_FIELD(struct view, image, "spec.template.spec.containers[0].image"),
    KI_FIELD(struct view, replicas, "spec.replicas"),
    KI_FIELD(struct view, type, "type"),
    KI_FIELD(struct view, reason, "reason"),
    KI_FIELD(struct view, message, "message"),
    KI_FIELD(struct view, source, "source.component"),
    KI_FIELD(struct view, about, "involvedObject.name"),
    KI_FIELD(struct view, token, "metadata.annotations['example.com/fencing-token']"),
    KI_FIELD(struct view, by, "data.by"),
    KI_FIELD_END,
};

static ki_testing_server *server;
static ki_process programs[PROGRAMS];
static ki_engine *engine;
static ki_factory *factory;
static ki_informer *foos, *deployments, *events, *configmaps;

/* ---- set-up ---- */

/* examples/sample-controller/crd.yaml */
static const char definition[] =
    "{\"metadata\":{\"name\":\"foos.samplecontroller.k8s.io\",\"annotations\":{\"api-approved.kubernetes.io\":"
    "\"unapproved, for a test only\"}},\"spec\":{\"group\":\"samplecontroller.k8s.io\",\"scope\":\"Namespaced\","
    "\"names\":{\"kind\":\"Foo\",\"plural\":\"foos\"},\"versions\":[{\"name\":\"v1alpha1\",\"served\":true,"
    "\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"deploymentName\":{\"type\":\"string\"},"
    "\"replicas\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}}},\"status\":{\"type\":\"object\","
    "\"properties\":{\"availableReplicas\":{\"type\":\"integer\"}}}}}}}]}}";

static ki_informer *add_informer(const ki_resource *resource) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(factory, resource, &KI_INFORMER_OPTIONS(.view = fields), &informer, NULL),
                     KI_OK);
    return informer;
}

static int set_up(void **state) {
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < PROGRAMS; i++)
        programs[i] = (ki_process){ .pid = -1, .in = -1, .out = -1, .err = -1 };
    assert_int_equal(folder_open(state), 0);
    assert_int_equal(ki_testing_server_new(NULL, &server, &err), KI_OK);
    assert_int_equal(ki_testing_server_create(server, KI_CUSTOMRESOURCEDEFINITIONS, NULL, definition, 0, &err), KI_OK);
    assert_int_equal(ki_testing_server_write_kubeconfig(server, folder_file("kubeconfig"), &err), KI_OK);

    ki_config *config = NULL;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("kubeconfig")), &config, &err), KI_OK);
    assert_int_equal(ki_engine_new(NULL, &engine, &err), KI_OK);
    assert_int_equal(ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = engine), &factory, &err), KI_OK);
    ki_config_free(config);
    foos = add_informer(&foo_resource);
    deployments = add_informer(KI_DEPLOYMENTS);
    events = add_informer(KI_EVENTS);
    configmaps = add_informer(KI_CONFIGMAPS);
    assert_int_equal(ki_factory_start(factory, &err), KI_OK);
    return 0;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < PROGRAMS; i++)
        ki_process_free(&programs[i]);
    ki_factory_free(factory);
    ki_engine_free(engine);
    ki_testing_server_free(server);
    return folder_close(state);
}

#define EXAMPLES_CONTROLLERS_TEST(name) TEST_WITH(set_up, tear_down, name)

/* Starts a program of examples/ with up to four words more. */
static void start(ki_process *program, const char *path, const char *const *words) {
    const char *argv[8] = { path };
    char entry[256];
    for (size_t i = 0; words && words[i]; i++) {
        assert_true(i < 6);
        argv[i + 1] = words[i];
    }
    snprintf(entry, sizeof entry, "KUBECONFIG=%s", folder_file("kubeconfig"));
    const char *const environment[] = { entry, NULL };
    ki_process_free(program);
    assert_true(ki_process_start(program, argv, environment, true));
}

static void start_sample(ki_process *program) {
    start(program, KI_TEST_EXAMPLES_DIR SAMPLE, NULL);
}

static void end_well(ki_process *program) {
    ki_process_signal(program, SIGTERM);
    assert_int_equal(ki_process_wait(program), 0);
}

/* Steps the test's informers, which wait for changes of the server, until something is so. */
static void wait_until(bool (*is_so)(const void *with), const void *with) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + KI_PROCESS_PATIENCE_MS / 1000;
    while (!ki_factory_has_synced(factory) || !is_so(with)) {
        struct pollfd fd = { .fd = ki_engine_fd(engine), .events = POLLIN };
        int timeout_ms = ki_engine_timeout(engine);
        (void)poll(&fd, 1, timeout_ms < 0 || timeout_ms > 1000 ? 1000 : timeout_ms);
        assert_int_equal(ki_engine_step(engine, 0, NULL), KI_OK);
        clock_gettime(CLOCK_MONOTONIC, &now);
        assert_true(now.tv_sec < end);
    }
}

/* ---- what the test does to the server ---- */

static void create_foo(const char *name, int replicas) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"deploymentName\":\"%s-deployment\",\"replicas\":%d}}", name,
             name, replicas);
    assert_int_equal(ki_testing_server_create(server, &foo_resource, "default", json, 0, NULL), KI_OK);
}

static void set_replicas(const ki_resource *resource, const char *name, int replicas) {
    char json[64];
    snprintf(json, sizeof json, "{\"spec\":{\"replicas\":%d}}", replicas);
    assert_int_equal(ki_testing_server_patch(server, resource, "default", name, json, 0, NULL), KI_OK);
}

static void uid_of(const ki_resource *resource, const char *name, char *ret_uid, size_t size) {
    ki_testing_text json = KI_TESTING_TEXT_INIT;
    assert_int_equal(ki_testing_server_get(server, resource, "default", name, &json, NULL), KI_OK);
    const char *at = strstr(json.data, "\"uid\":\"");
    assert_non_null(at);
    at += strlen("\"uid\":\"");
    snprintf(ret_uid, size, "%.*s", (int)strcspn(at, "\""), at);
    ki_testing_text_clear(&json);
}

/* The Deployment that the controller would have made for the Foo; `owned`: with the Foo as its controller. */
static void create_deployment(const char *foo, int replicas, bool owned) {
    char json[1024], uid[64], owner[256] = "";
    if (owned) {
        uid_of(&foo_resource, foo, uid, sizeof uid);
        snprintf(owner, sizeof owner,
                 ",\"ownerReferences\":[{\"apiVersion\":\"samplecontroller.k8s.io/v1alpha1\",\"kind\":\"Foo\","
                 "\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]",
                 foo, uid);
    }
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s-deployment\"%s},\"spec\":{\"replicas\":%d,\"selector\":{\"matchLabels\":"
             "{\"app\":\"nginx\",\"controller\":\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"nginx\","
             "\"controller\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"nginx\",\"image\":\"nginx:latest\"}]}}}}",
             foo, owner, replicas, foo, foo);
    assert_int_equal(ki_testing_server_create(server, KI_DEPLOYMENTS, "default", json, 0, NULL), KI_OK);
}

/* Begins to count requests that match. The fault changes nothing that is looked at. */
static uint64_t count_from_now(const char *which) {
    char fault[128];
    uint64_t id = 0;
    snprintf(fault, sizeof fault, "delay,time=1ms,%s", which);
    assert_int_equal(ki_testing_server_add_fault(server, fault, &id, NULL), KI_OK);
    return id;
}

static int count_of(uint64_t id) {
    ki_testing_text json = KI_TESTING_TEXT_INIT;
    char mark[32];
    assert_int_equal(ki_testing_server_faults(server, &json, NULL), KI_OK);
    snprintf(mark, sizeof mark, "\"id\":%llu,", (unsigned long long)id);
    const char *at = strstr(json.data, mark);
    assert_non_null(at);
    at = strstr(at, "\"requests\":");
    assert_non_null(at);
    int count = atoi(at + strlen("\"requests\":"));
    ki_testing_text_clear(&json);
    return count;
}

/* ---- what holds ---- */

/* All objects of a resource as the server has them now: the test's own caches may be behind what the test has just
 * changed. */
typedef struct objects {
    const ki_informer *informer;
    ki_object *items[OBJECTS_MAX];
    size_t count;
} objects;

static bool add_object(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    objects *list = user;
    (void)key;
    (void)key_size;
    assert_true(list->count < OBJECTS_MAX);
    assert_int_equal(ki_informer_object_from_json(list->informer, json, size, &list->items[list->count++], NULL),
                     KI_OK);
    return true;
}

static objects read_objects(const ki_informer *informer) {
    objects list = { .informer = informer };
    ki_testing_server_each(server, ki_informer_resource(informer), add_object, &list);
    return list;
}

static void free_objects(objects *list) {
    for (size_t i = 0; i < list->count; i++)
        ki_object_unref(list->items[i]);
}

/* Returns true where the Foo has a Deployment as the sample controller makes it. */
static bool is_right(const ki_object *foo, const objects *all) {
    const struct view *wanted = ki_object_view(foo);
    const struct view *is = NULL;
    for (size_t i = 0; i < all->count && !is; i++) {
        if (strcmp(ki_object_name(all->items[i]), wanted->deployment_name) == 0)
            is = ki_object_view(all->items[i]);
    }
    if (!is || !is->owner_uid || strcmp(is->owner_uid, ki_object_uid(foo)) != 0)
        return false;
    assert_string_equal(is->app, "nginx");
    assert_string_equal(is->pod_app, "nginx");
    assert_string_equal(is->controller, ki_object_name(foo));
    assert_string_equal(is->pod_controller, ki_object_name(foo));
    assert_string_equal(is->image, "nginx:latest");
    return is->replicas == wanted->replicas;
}

/* Each Foo has its Deployment, and there is no other one; `*count` Foos. */
static bool all_are_right(const void *count) {
    objects all_foos = read_objects(foos);
    objects all = read_objects(deployments);
    bool right = all_foos.count == *(const size_t *)count && all.count == all_foos.count;
    for (size_t i = 0; right && i < all_foos.count; i++)
        right = is_right(all_foos.items[i], &all);
    free_objects(&all);
    free_objects(&all_foos);
    return right;
}

/* An event of the sample controller with this reason. */
static bool has_event(const void *reason) {
    ki_snapshot *all = ki_informer_snapshot(events);
    ki_cursor at = KI_CURSOR_INIT;
    bool found = false;
    for (const ki_object *obj; !found && (obj = ki_snapshot_next(all, &at));) {
        const struct view *event = ki_object_view(obj);
        found = event->reason && strcmp(event->reason, reason) == 0 && event->source &&
                strcmp(event->source, "sample-controller") == 0;
    }
    ki_snapshot_free(all);
    return found;
}

/* ---- the sample controller ---- */

/* The cases of controller_test.go of k8s.io/sample-controller: what is there, and what the controller writes. */
static const struct go_case {
    const char *name;
    int replicas;
    int deployment; /* replicas of what is there already; 0: nothing is */
    bool owned;
    const char *reason; /* of the event */
    const char *says;   /* a line of the program once it is done */
    int creates, updates;
    bool writes_status;
} go_cases[] = {
    { "creates", 1, 0, false, "Synced", "Foo default/creates synced", 1, 0, true },
    { "nothing", 1, 1, true, "Synced", "Foo default/nothing synced", 0, 0, true },
    { "update", 2, 1, true, "Synced", "Foo default/update synced", 0, 1, true },
    { "foreign", 1, 1, false, "ErrResourceExists",
      "Resource \"foreign-deployment\" already exists and is not managed by Foo", 0, 0, false },
};

EXAMPLES_CONTROLLERS_TEST(the_sample_controller_makes_the_writes_of_gos_own_unit_tests) {
    for (size_t i = 0; i < sizeof go_cases / sizeof go_cases[0]; i++) {
        /* given */
        const struct go_case *c = &go_cases[i];
        const size_t one = 1;
        if (i) { /* a server of its own */
            assert_int_equal(tear_down(state), 0);
            assert_int_equal(set_up(state), 0);
        }
        create_foo(c->name, c->replicas);
        if (c->deployment)
            create_deployment(c->name, c->deployment, c->owned);
        uint64_t creates = count_from_now("verb=create,resource=deployments.apps");
        uint64_t updates = count_from_now("verb=update+patch,resource=deployments.apps");
        uint64_t foo_writes = count_from_now("verb=create+update+patch,resource=foos.samplecontroller.k8s.io");
        uint64_t statuses = count_from_now("verb=update,resource=foos.samplecontroller.k8s.io/status");
        /* when */
        start_sample(&programs[0]);
        assert_non_null(ki_process_expect_err(&programs[0], c->says));
        assert_non_null(ki_process_expect_err(&programs[0], c->says)); /* the next time nothing more is written */
        wait_until(has_event, c->reason);
        if (c->writes_status)
            wait_until(all_are_right, &one);
        end_well(&programs[0]);
        /* then */
        assert_int_equal(count_of(creates), c->creates);
        assert_int_equal(count_of(updates), c->updates);
        assert_int_equal(count_of(foo_writes), 0);
        assert_int_equal(count_of(statuses) > 0, c->writes_status);
    }
}

EXAMPLES_CONTROLLERS_TEST(a_sample_controller_that_was_killed_continues_where_it_was) {
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    const size_t all = sizeof names / sizeof names[0];
    size_t count = all;
    for (size_t round = 0; round < 3; round++) {
        /* given: killed in the middle of its work */
        start_sample(&programs[0]);
        for (size_t i = 0; i < all; i++) {
            if (round == 0)
                create_foo(names[i], 1);
            else
                set_replicas(&foo_resource, names[i], 1 + (int)(round + i) % 5);
        }
        assert_non_null(ki_process_expect_err(&programs[0], "Foo default/"));
        ki_process_signal(&programs[0], SIGKILL);
        assert_int_equal(ki_process_wait(&programs[0]), 128 + SIGKILL);
        /* when: more changes while it is away, and comes again */
        set_replicas(&foo_resource, "a", 5 + (int)round);
        start_sample(&programs[0]);
        wait_until(all_are_right, &count);
        assert_int_equal(ki_testing_server_delete(server, KI_DEPLOYMENTS, "default", "b-deployment", NULL), KI_OK);
        set_replicas(KI_DEPLOYMENTS, "c-deployment", 9);
        /* then */
        wait_until(all_are_right, &count);
        end_well(&programs[0]);
    }
}

static bool is_led_by(const void *identity) {
    ki_testing_text json = KI_TESTING_TEXT_INIT;
    char mark[64];
    snprintf(mark, sizeof mark, "\"holderIdentity\":\"%s\"", (const char *)identity);
    bool found = ki_testing_server_get(server, KI_LEASES, "default", "sample-controller", &json, NULL) == KI_OK &&
                 strstr(json.data, mark);
    ki_testing_text_clear(&json);
    return found;
}

EXAMPLES_CONTROLLERS_TEST(of_two_sample_controllers_one_works_and_the_other_takes_over) {
    static const char *const first[] = { "--leader-elect", "--identity", "first", NULL };
    static const char *const second[] = { "--leader-elect", "--identity", "second", NULL };
    size_t count = 1;
    /* given */
    start(&programs[0], KI_TEST_EXAMPLES_DIR SAMPLE, first);
    assert_non_null(ki_process_expect_err(&programs[0], "first leads"));
    start(&programs[1], KI_TEST_EXAMPLES_DIR SAMPLE, second);
    assert_non_null(ki_process_expect_err(&programs[1], "first leads"));
    create_foo("one", 1);
    wait_until(all_are_right, &count);
    assert_true(is_led_by("first"));
    /* when */
    end_well(&programs[0]);
    create_foo("two", 2);
    count = 2;
    /* then */
    assert_non_null(ki_process_expect_err(&programs[1], "second leads"));
    wait_until(all_are_right, &count);
    assert_true(is_led_by("second"));
    end_well(&programs[1]);
}

EXAMPLES_CONTROLLERS_TEST(a_wrong_command_line_of_the_sample_controller_is_reported) {
    static const char *const lines[][3] = { { "--nonsense", NULL, NULL },
                                            { "--workers", "0", NULL },
                                            { "more", NULL, NULL } };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        start(&programs[0], KI_TEST_EXAMPLES_DIR SAMPLE, lines[i]);
        assert_non_null(ki_process_expect_err(&programs[0], "usage: sample-controller"));
        assert_int_equal(ki_process_wait(&programs[0]), 2);
    }
}

/* ---- the others ---- */

static void create_owned(const ki_resource *resource, const char *name, const char *kind, const char *owner,
                         const char *owner_uid, const char *spec) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"x\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
        "\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":%s}",
        name, kind, owner, owner_uid, spec);
    assert_int_equal(ki_testing_server_create(server, resource, "default", json, 0, NULL), KI_OK);
}

EXAMPLES_CONTROLLERS_TEST(a_pods_deployment_is_found_through_its_replicaset) {
    static const char template[] =
        "\"selector\":{\"matchLabels\":{\"app\":\"x\"}},\"template\":{\"metadata\":{\"labels\":"
        "{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"x\",\"image\":\"x\"}]}}";
    char spec[512], uid[64];
    /* given */
    snprintf(spec, sizeof spec, "{\"replicas\":1,%s}", template);
    char json[768];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"web\"},\"spec\":%s}", spec);
    assert_int_equal(ki_testing_server_create(server, KI_DEPLOYMENTS, "default", json, 0, NULL), KI_OK);
    start(&programs[0], KI_TEST_EXAMPLES_DIR "/example-deployment-controller", NULL);
    assert_non_null(ki_process_expect(&programs[0], "default/web: 1 wanted, 0 running of 0 pods in 0 ReplicaSets"));
    /* when and then */
    uid_of(KI_DEPLOYMENTS, "web", uid, sizeof uid);
    create_owned(KI_REPLICASETS, "web-1", "Deployment", "web", uid, spec);
    assert_non_null(ki_process_expect(&programs[0], "default/web: 1 wanted, 0 running of 0 pods in 1 ReplicaSets"));
    uid_of(KI_REPLICASETS, "web-1", uid, sizeof uid);
    create_owned(KI_PODS, "web-1-a", "ReplicaSet", "web-1", uid, "{\"containers\":[{\"name\":\"x\",\"image\":\"x\"}]}");
    assert_non_null(ki_process_expect(&programs[0], "default/web: 1 wanted, 0 running of 1 pods in 1 ReplicaSets"));
    assert_int_equal(ki_testing_server_request(server, "PATCH", "/api/v1/namespaces/default/pods/web-1-a/status",
                                               "application/merge-patch+json", "{\"status\":{\"phase\":\"Running\"}}",
                                               0, NULL, NULL),
                     KI_OK);
    assert_non_null(ki_process_expect(&programs[0], "default/web: 1 wanted, 1 running of 1 pods in 1 ReplicaSets"));
    assert_int_equal(ki_testing_server_delete(server, KI_PODS, "default", "web-1-a", NULL), KI_OK);
    assert_non_null(ki_process_expect(&programs[0], "default/web: 1 wanted, 0 running of 0 pods in 1 ReplicaSets"));
    assert_int_equal(ki_testing_server_delete(server, KI_DEPLOYMENTS, "default", "web", NULL), KI_OK);
    assert_non_null(ki_process_expect(&programs[0], "default/web: deleted"));
    end_well(&programs[0]);
}

/* The job was done, by this process. */
static bool is_done_by(const char *job, const char *identity) {
    char key[64];
    snprintf(key, sizeof key, "default/%s", job);
    ki_object *obj = ki_informer_get(configmaps, key);
    const struct view *is = obj ? ki_object_view(obj) : NULL;
    bool done = is && is->by && strcmp(is->by, identity) == 0;
    ki_object_unref(obj);
    return done;
}

static bool one_is_done_by_first(const void *unused) {
    (void)unused;
    return is_done_by("one", "first");
}

static bool two_is_done_by_second(const void *unused) {
    (void)unused;
    return is_done_by("two", "second");
}

static long long token_of(const char *key) {
    ki_object *obj = ki_informer_get(configmaps, key);
    assert_non_null(obj);
    long long token = atoll(((const struct view *)ki_object_view(obj))->token);
    ki_object_unref(obj);
    return token;
}

static void create_job(const char *name, const char *token) {
    char json[256];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"job\":\"todo\"},\"annotations\":"
             "{\"example.com/fencing-token\":\"%s\"}}}",
             name, token);
    assert_int_equal(ki_testing_server_create(server, KI_CONFIGMAPS, "default", json, 0, NULL), KI_OK);
}

EXAMPLES_CONTROLLERS_TEST(the_leaders_workers_do_the_jobs_and_the_next_leader_has_a_higher_token) {
    static const char *const first[] = { "first", NULL };
    static const char *const second[] = { "second", NULL };
    /* given */
    start(&programs[0], KI_TEST_EXAMPLES_DIR "/example-leader-elected-workers", first);
    assert_non_null(ki_process_expect(&programs[0], "this process leads, with token "));
    start(&programs[1], KI_TEST_EXAMPLES_DIR "/example-leader-elected-workers", second);
    assert_non_null(ki_process_expect(&programs[1], "the leader is first"));
    /* when */
    create_job("one", "0");
    wait_until(one_is_done_by_first, NULL);
    create_job("fenced", "1000000");
    assert_non_null(ki_process_expect(
        &programs[0], "default/fenced: example.com/fencing-token: a later leader has written the object"));
    end_well(&programs[0]);
    create_job("two", "0");
    /* then */
    wait_until(two_is_done_by_second, NULL);
    assert_true(token_of("default/two") > token_of("default/one"));
    assert_int_equal(token_of("default/fenced"), 1000000);
    end_well(&programs[1]);
}
