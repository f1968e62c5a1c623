/* test_server_requests.c: what the embedded server records of its clients' requests, and its waits, with an informer
 * and a client over real sockets. */
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/requests.h>
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum {
    PATIENCE_MS = 90000 /* only a broken server reaches it */
};

static ki_testing_server *server;
static ki_factory *factory;
static ki_informer *maps;
static ki_error err;

#define MUST(call) \
    do { \
        if (call) \
            fail_msg("%s: %s", #call, ki_error_message(&err)); \
    } while (0)

static int set_up(void **state) {
    (void)state;
    ki_config *config = NULL;
    err = (ki_error)KI_ERROR_INIT;
    MUST(ki_testing_server_new(NULL, &server, &err));
    MUST(ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(server), .kubeconfig = "/dev/null",
                                          .user_agent = "requests-test/1.0"),
                       &config, &err));
    MUST(ki_factory_new(config, NULL, &factory, &err));
    MUST(ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &maps, &err));
    ki_config_free(config);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_factory_free(factory);
    ki_testing_server_free(server);
    return 0;
}

#define REQUESTS_TEST(name) TEST_WITH(set_up, tear_down, name)

static void start_and_watch(void) {
    MUST(ki_factory_start(factory, &err));
    MUST(ki_factory_wait_for_sync(factory, PATIENCE_MS, NULL, &err));
    MUST(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 1, PATIENCE_MS, &err));
}

/* Creates a ConfigMap as a client does. */
static void post(const char *name, const char *namespace_name) {
    char path[128], json[128];
    snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps?fieldManager=test", namespace_name);
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"a\":\"b\"}}", name);
    ki_response *response = NULL;
    MUST(ki_client_do(ki_factory_client(factory),
                      &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .path = path, .body = json,
                                         .body_size = strlen(json)),
                      &response, &err));
    ki_response_unref(response);
}

static size_t count_of(const char *line) {
    ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
    MUST(ki_testing_server_requests(server, line, &requests, &err));
    size_t count = requests.count;
    ki_testing_requests_clear(&requests);
    return count;
}

REQUESTS_TEST(a_request_is_recorded_with_its_parts) {
    ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
    MUST(ki_factory_start(factory, &err));
    post("one", "default");
    MUST(ki_testing_server_requests(server, "verb=create,resource=configmaps", &requests, &err));
    assert_int_equal(requests.count, 1);
    const ki_testing_request *request = requests.requests[0];
    assert_string_equal(request->verb, "create");
    assert_string_equal(request->resource, "configmaps");
    assert_string_equal(request->namespace_name, "default");
    assert_string_equal(request->name, "");
    assert_string_equal(request->target, "/api/v1/namespaces/default/configmaps?fieldManager=test");
    assert_ptr_equal(strstr(request->user_agent, "requests-test/1.0"), request->user_agent);
    assert_string_equal(request->user, "system:admin");
    assert_string_equal(request->body, "{\"metadata\":{\"name\":\"one\"},\"data\":{\"a\":\"b\"}}");
    assert_int_equal(request->body_size, strlen(request->body));
    assert_int_equal(request->status, 201);
    assert_int_equal(requests.dropped, 0);
    ki_testing_requests_clear(&requests);
    assert_null(requests.requests);
}

REQUESTS_TEST(requests_are_selected_as_faults_select_them) {
    start_and_watch();
    post("one", "default");
    post("two", "kube-system");
    ki_object *obj = NULL;
    assert_int_equal(ki_client_get(ki_factory_client(factory), KI_CONFIGMAPS, "default", "three", NULL, &obj, &err),
                     KI_ERR_HTTP);
    static const struct {
        const char *line;
        size_t count;
    } rows[] = {
        { "verb=create", 2 },
        { "verb=create,namespace=kube-system", 1 },
        { "verb=create+get", 3 },
        { "verb=get,name=three", 1 },
        { "verb=get,name=th*", 1 },
        { "verb=get,name=four", 0 },
        { "verb=watch,resource=configmaps", 1 },
        { "verb=watch,resource=pods", 0 },
        { "path=/api/v1/namespaces/default/configmaps*", 2 },
        { "user-agent=requests-test/1.0*", 4 },
        { "user-agent=other", 0 },
        { "", 4 },
        { NULL, 4 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t count = count_of(rows[i].line);
        if (count != rows[i].count)
            fail_msg("%s: %zu, not %zu", rows[i].line ? rows[i].line : "NULL", count, rows[i].count);
    }
}

REQUESTS_TEST(a_line_that_can_match_nothing_is_an_error) {
    static const struct {
        const char *line, *message;
    } rows[] = {
        { "verb=lst", "list" },
        { "resource=configmap", "configmaps" },
        { "verbs=list", "verb" },
        { "list", "verb=list" },
    };
    ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(ki_testing_server_requests(server, rows[i].line, &requests, &err), KI_ERR_INVALID);
        if (!strstr(ki_error_message(&err), rows[i].message))
            fail_msg("%s: %s", rows[i].line, ki_error_message(&err));
        assert_int_equal(ki_testing_server_wait_for_requests(server, rows[i].line, 0, 0, &err), KI_ERR_INVALID);
    }
    assert_null(requests.requests);
    assert_int_equal(ki_testing_server_requests(NULL, NULL, &requests, &err), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_requests(server, NULL, NULL, &err), KI_ERR_INVALID);
}

REQUESTS_TEST(the_functions_of_a_test_and_the_faults_path_are_not_recorded) {
    MUST(ki_factory_start(factory, &err));
    MUST(ki_testing_server_create(server, KI_CONFIGMAPS, "default", "{\"metadata\":{\"name\":\"own\"}}", 0, &err));
    ki_response *response = NULL;
    MUST(ki_client_do(ki_factory_client(factory),
                      &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/_faults"), &response, &err));
    ki_response_unref(response);
    assert_int_equal(count_of("path=/_faults"), 0);
    assert_int_equal(count_of("verb=create"), 0);
}

REQUESTS_TEST(an_error_response_and_a_closed_connection_are_recorded) {
    MUST(ki_factory_start(factory, &err));
    MUST(ki_testing_server_add_fault(server, "status,code=503,verb=get,name=one", NULL, &err));
    MUST(ki_testing_server_add_fault(server, "close,verb=get,name=two,count=1", NULL, &err));
    ki_object *obj = NULL;
    const char *names[] = { "one", "two" };
    const int first[] = { 503, 0 };
    for (size_t i = 0; i < 2; i++) {
        char line[32];
        snprintf(line, sizeof line, "verb=get,name=%s", names[i]);
        assert_int_not_equal(
            ki_client_get(ki_factory_client(factory), KI_CONFIGMAPS, "default", names[i], NULL, &obj, &err), KI_OK);
        ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
        MUST(ki_testing_server_requests(server, line, &requests, &err));
        assert_true(requests.count > 0);
        assert_int_equal(requests.requests[0]->status, first[i]);
        ki_testing_requests_clear(&requests);
    }
}

REQUESTS_TEST(forgotten_requests_count_no_more) {
    MUST(ki_factory_start(factory, &err));
    post("one", "default");
    ki_testing_server_forget_requests(server);
    assert_int_equal(count_of("verb=create"), 0);
    post("two", "default");
    assert_int_equal(count_of("verb=create"), 1);
}

REQUESTS_TEST(the_oldest_requests_give_way_and_are_counted) {
    MUST(ki_factory_start(factory, &err));
    enum {
        SIZE = 2 << 20,
        COUNT = KI_TESTING_REQUESTS_MAX_BYTES / SIZE + 4
    };
    char *json = calloc(1, SIZE + 64);
    assert_non_null(json);
    int head = sprintf(json, "{\"metadata\":{\"name\":\"big\"},\"x\":\"");
    memset(json + head, 'x', SIZE);
    strcpy(json + head + SIZE, "\"}");
    for (size_t i = 0; i < COUNT; i++) {
        ki_response *response = NULL;
        if (ki_client_do(ki_factory_client(factory),
                         &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .body = json,
                                            .path = "/api/v1/namespaces/default/configmaps?dryRun=All",
                                            .body_size = strlen(json)),
                         &response, &err))
            fail_msg("%s", ki_error_message(&err));
        ki_response_unref(response);
    }
    free(json);
    ki_testing_requests requests = KI_TESTING_REQUESTS_INIT;
    MUST(ki_testing_server_requests(server, "verb=create", &requests, &err));
    assert_in_range(requests.count, COUNT - 8, COUNT - 4);
    assert_true(requests.dropped >= COUNT - requests.count);
    ki_testing_requests_clear(&requests);
}

/* ---- YAML ---- */

REQUESTS_TEST(objects_are_taken_as_yaml) {
    MUST(ki_testing_server_create(server, KI_CONFIGMAPS, "default", "---\nmetadata:\n  name: a\ndata:\n  k: one\n", 0,
                                  &err));
    MUST(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data.k=one", 0, &err));
    MUST(ki_testing_server_replace(server, KI_CONFIGMAPS, "default", "a", "metadata: {name: a}\ndata: {k: two}\n# rest",
                                   strlen("metadata: {name: a}\ndata: {k: two}\n"), &err));
    MUST(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data.k=two", 0, &err));
    MUST(ki_testing_server_patch(server, KI_CONFIGMAPS, "default", "a", "data:\n  l: three\n", 0, &err));
    MUST(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data.k=two,data.l=three", 0, &err));
    MUST(ki_testing_server_put(server, KI_CONFIGMAPS, "metadata:\n  name: b\n  namespace: shop\n", 0, &err));
    MUST(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "shop", "b", NULL, 0, &err));
}

REQUESTS_TEST(an_error_in_yaml_has_its_line_and_column) {
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "metadata:\n  name: a\n name: b\n", "line 3, column" },
        { "- a\n", "line 1, column 1: a list, not a map" },
        { "metadata:\n  name: a\n---\nmetadata:\n  name: b\n", "line 3, column 1: a second document" },
        { "", "the text is empty" },
    };
    MUST(ki_testing_server_put(server, KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"}}", 0,
                               &err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = rows[i].text;
        for (int way = 0; way < 4; way++) {
            err = (ki_error)KI_ERROR_INIT;
            ki_status status =
                way == 0   ? ki_testing_server_create(server, KI_CONFIGMAPS, "default", text, 0, &err)
                : way == 1 ? ki_testing_server_replace(server, KI_CONFIGMAPS, "default", "a", text, 0, &err)
                : way == 2 ? ki_testing_server_patch(server, KI_CONFIGMAPS, "default", "a", text, 0, &err)
                           : ki_testing_server_put(server, KI_CONFIGMAPS, text, 0, &err);
            if (status != KI_ERR_PARSE || !strstr(ki_error_message(&err), rows[i].message))
                fail_msg("%s (%d): %s", text, way, ki_error_message(&err));
        }
    }
}

/* ---- waits ---- */

REQUESTS_TEST(a_wait_says_what_there_is_instead) {
    MUST(ki_testing_server_put(server, KI_CONFIGMAPS,
                               "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"data\":{\"k\":\"v\"}}", 0,
                               &err));
    uint64_t id = 0;
    MUST(ki_testing_server_add_fault(server, "close,verb=list", &id, &err));
    static const char selector[] = "data.k=w";
#define TIMES_OUT(call, message) \
    do { \
        err = (ki_error)KI_ERROR_INIT; \
        assert_int_equal(call, KI_ERR_TIMEOUT); \
        assert_string_equal(ki_error_message(&err), message); \
    } while (0)
    TIMES_OUT(ki_testing_server_wait_for_requests(server, "verb=get", 2, 0, &err),
              "0 requests match \"verb=get\", not 2");
    TIMES_OUT(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 1, 1, &err),
              "0 watches of configmaps are open, not 1");
    TIMES_OUT(ki_testing_server_wait_for_watches(server, NULL, 2, 0, &err), "0 watches are open, not 2");
    TIMES_OUT(ki_testing_server_wait_for_fault(server, id, 1, 0, &err), "the fault 1 was injected 0 times, not 1");
    TIMES_OUT(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "b", NULL, 0, &err),
              "configmaps default/b does not exist");
    TIMES_OUT(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", selector, 0, &err),
              "configmaps default/a is not data.k=w: data.k is \"v\"");
    TIMES_OUT(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data.k=v,data.l=w", 0, &err),
              "configmaps default/a is not data.k=v,data.l=w: the object has no data.l");
    TIMES_OUT(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data.k!=v", 0, &err),
              "configmaps default/a is not data.k!=v: data.k is \"v\"");
    TIMES_OUT(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "metadata.name=b", 0, &err),
              "configmaps default/a is not metadata.name=b: metadata.name is \"a\"");
    TIMES_OUT(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data=x", 0, &err),
              "configmaps default/a is not data=x: data is {\"k\":\"v\"}");
    TIMES_OUT(ki_testing_server_wait_for_deletion(server, KI_CONFIGMAPS, "default", "a", 0, &err),
              "configmaps default/a still exists");
}

REQUESTS_TEST(a_wait_that_is_over_leaves_the_error_alone) {
    MUST(ki_testing_server_put(server, KI_CONFIGMAPS,
                               "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"data\":{\"k\":\"v\"}}", 0,
                               &err));
    err = (ki_error)KI_ERROR_INIT;
    MUST(ki_testing_server_wait_for_object(server, KI_CONFIGMAPS, "default", "a", "data.k=v", -1, &err));
    MUST(ki_testing_server_wait_for_deletion(server, KI_CONFIGMAPS, "default", "b", INT64_MAX, &err));
    MUST(ki_testing_server_wait_for_requests(server, NULL, 0, 0, &err));
    MUST(ki_testing_server_wait_for_watches(server, NULL, 0, 0, &err));
    assert_int_equal(err.code, KI_OK);
}

REQUESTS_TEST(what_cannot_be_waited_for_is_an_error) {
    static const ki_resource odd = { .plural = "odds" };
    assert_int_equal(ki_testing_server_wait_for_fault(server, 7, 1, PATIENCE_MS, &err), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_testing_server_wait_for_watches(server, &odd, 1, PATIENCE_MS, &err), KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_wait_for_object(server, KI_PODS, "default", "", NULL, PATIENCE_MS, &err),
                     KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_wait_for_object(server, KI_PODS, "default", "a", "=", PATIENCE_MS, &err),
                     KI_ERR_PARSE);
    assert_int_equal(ki_testing_server_wait_for_deletion(server, NULL, "default", "a", PATIENCE_MS, &err),
                     KI_ERR_INVALID);
    assert_int_equal(ki_testing_server_delete_all(server, &odd, NULL, &err), KI_ERR_INVALID);
    assert_int_equal(
        ki_testing_server_wait_for_requests(server, NULL, KI_TESTING_REQUESTS_MAX_COUNT + 1, PATIENCE_MS, &err),
        KI_ERR_INVALID);
}

/* A fault's removal ends the wait for it; a wait in another thread sees requests as they come. */
REQUESTS_TEST(a_wait_ends_when_the_client_does_it) {
    uint64_t id = 0;
    MUST(ki_testing_server_add_fault(server, "status,code=503,verb=list+watch,resource=configmaps,count=2", &id, &err));
    MUST(ki_factory_start(factory, &err));
    MUST(ki_testing_server_wait_for_fault(server, id, 2, PATIENCE_MS, &err));
    MUST(ki_testing_server_wait_for_requests(server, "resource=configmaps", 3, PATIENCE_MS, &err));
    MUST(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 1, PATIENCE_MS, &err));
    ki_factory_stop(factory);
    MUST(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 0, PATIENCE_MS, &err));
}

REQUESTS_TEST(a_watch_whose_client_has_closed_it_is_not_open) {
    start_and_watch();
    ki_factory_free(factory);
    factory = NULL;
    MUST(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 0, 0, &err));
}

/* ---- watches that are cut, and deletions ---- */

static bool has_key(ki_informer *informer, const ki_event *event, void *user) {
    const char *const *key = user;
    (void)event;
    ki_object *obj = ki_informer_get(informer, *key);
    ki_object_unref(obj);
    return obj != NULL;
}

static void await(const char *key) {
    MUST(ki_informer_wait_until(maps, has_key, &key, PATIENCE_MS, &err));
}

REQUESTS_TEST(a_watch_that_is_cut_is_opened_again) {
    start_and_watch();
    for (int round = 0; round < 2; round++) {
        ki_testing_server_forget_requests(server);
        uint64_t id = 0;
        if (round) {
            MUST(ki_testing_server_add_fault(server, "cut-watches", &id, &err));
            MUST(ki_testing_server_wait_for_fault(server, id, 1, PATIENCE_MS, &err));
        } else {
            ki_testing_server_cut_watches(server);
        }
        MUST(ki_testing_server_wait_for_requests(server, "verb=watch,resource=configmaps", 1, PATIENCE_MS, &err));
        MUST(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 1, PATIENCE_MS, &err));
        assert_int_equal(count_of("verb=list"), 0);
        post(round ? "second" : "first", "default");
        await(round ? "default/second" : "default/first");
    }
    assert_int_equal(count_of("verb=list"), 0);
}

REQUESTS_TEST(a_change_behind_a_cut_reaches_nobody_through_the_old_watch) {
    start_and_watch();
    MUST(ki_testing_server_add_fault(server, "status,code=503,verb=list+watch", NULL, &err));
    ki_testing_server_cut_watches(server);
    MUST(ki_testing_server_wait_for_watches(server, KI_CONFIGMAPS, 0, PATIENCE_MS, &err));
    post("late", "default");
    MUST(ki_testing_server_wait_for_requests(server, "verb=watch+list,resource=configmaps", 3, PATIENCE_MS, &err));
    ki_object *obj = ki_informer_get(maps, "default/late");
    assert_null(obj);
    ki_testing_server_clear_faults(server);
    await("default/late");
}

static bool is_empty(ki_informer *informer, const ki_event *event, void *user) {
    (void)event, (void)user;
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    size_t count = ki_snapshot_count(snapshot);
    ki_snapshot_free(snapshot);
    return count == 0;
}

REQUESTS_TEST(everything_can_be_deleted_and_watches_see_it) {
    static const char held[] = "{\"metadata\":{\"name\":\"held\",\"namespace\":\"shop\",\"finalizers\":[\"a.b/c\"]}}";
    MUST(ki_testing_server_put(server, KI_CONFIGMAPS, held, 0, &err));
    MUST(ki_testing_server_put(server, KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"}}", 0,
                               &err));
    MUST(ki_testing_server_put(server, KI_NODES, "{\"metadata\":{\"name\":\"n\"}}", 0, &err));
    MUST(ki_testing_server_put(
        server, KI_CUSTOMRESOURCEDEFINITIONS,
        "{\"metadata\":{\"name\":\"foos.a.io\"},\"spec\":{\"group\":\"a.io\",\"scope\":\"Namespaced\",\"names\":{"
        "\"plural\":\"foos\",\"singular\":\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\"},\"versions\":[{\"name\":"
        "\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
        0, &err));
    start_and_watch();
    MUST(ki_testing_server_delete_all(server, KI_CONFIGMAPS, "shop", &err));
    MUST(ki_testing_server_wait_for_deletion(server, KI_CONFIGMAPS, "shop", "held", 0, &err));
    assert_int_equal(ki_testing_server_count(server, KI_CONFIGMAPS), 1);
    MUST(ki_testing_server_delete_all(server, NULL, NULL, &err));
    assert_int_equal(ki_testing_server_count(server, KI_CONFIGMAPS), 0);
    assert_int_equal(ki_testing_server_count(server, KI_NODES), 0);
    assert_int_equal(ki_testing_server_count(server, KI_CUSTOMRESOURCEDEFINITIONS), 0);
    assert_int_equal(ki_testing_server_count(server, KI_NAMESPACES), 4);
    MUST(ki_informer_wait_until(maps, is_empty, NULL, PATIENCE_MS, &err));
    post("again", "default");
    await("default/again");
}
