/* test_server_control.c: the paths by which a test in any language drives the embedded server, over real sockets. */
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/requests.h>

#include "tests/support/http/client.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ki_testing_server *server;
static int port;
static ki_error err;

#define MUST(call) \
    do { \
        if (call) \
            fail_msg("%s: %s", #call, ki_error_message(&err)); \
    } while (0)

static int set_up(void **state) {
    (void)state;
    err = (ki_error)KI_ERROR_INIT;
    MUST(ki_testing_server_new(NULL, &server, &err));
    port = http_port(ki_testing_server_url(server));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_testing_server_free(server);
    server = NULL;
    return 0;
}

#define CONTROL_TEST(name) TEST_WITH(set_up, tear_down, name)

static const char *get(const char *target) {
    return http_get(port, target, "");
}

static const char *request(const char *method, const char *target, const char *body) {
    char text[8192];
    snprintf(text, sizeof text,
             "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             method, target, strlen(body), body);
    return http_ask(port, text);
}

static void expect(const char *response, const char *text) {
    if (!strstr(response, text))
        fail_msg("no \"%s\" in: %s", text, response);
}

static void create_map(const char *name) {
    char json[128];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"}}}", name, name);
    expect(request("POST", "/api/v1/namespaces/default/configmaps", json), " 201 ");
}

/* Sends a request whose response comes later. */
static int send_get(const char *target) {
    char text[1024];
    int fd = http_dial(port);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target);
    http_send(fd, text);
    return fd;
}

/* ---- /_wait ---- */

CONTROL_TEST(a_wait_is_responded_to_when_it_is_so) {
    int object = send_get("/_wait?objects=configmaps&namespace=default&name=a&timeout=90s");
    int none = send_get("/_wait?objects=configmaps&namespace=default&labels=app=b&count=2&timeout=90s");
    int request_made = send_get("/_wait?requests=verb=create,resource=configmaps&count=3&timeout=90s");
    int requests = send_get("/_requests?verb=create&since=1&wait=90s");
    create_map("a");
    create_map("b");
    expect(http_receive(object), "\r\n\r\n{\"objects\":1}");
    expect(http_receive(requests), "\"verb\":\"create\"");
    expect(request("POST", "/api/v1/namespaces/default/configmaps",
                   "{\"metadata\":{\"name\":\"c\",\"labels\":{\"app\":\"b\"}}}"),
           " 201 ");
    expect(http_receive(none), "{\"objects\":2}");
    expect(http_receive(request_made), "{\"requests\":3}");
}

CONTROL_TEST(a_wait_for_watches_and_for_a_fault_ends_too) {
    int watches = send_get("/_wait?watches=configmaps&timeout=90s");
    int all = send_get("/_wait?watches=&count=1&timeout=90s");
    int watch = send_get("/api/v1/configmaps?watch=1");
    expect(http_receive(watches), "{\"watches\":1}");
    expect(http_receive(all), "{\"watches\":1}");
    expect(request("POST", "/_faults", "status,code=503,verb=list"), "{\"id\":1}");
    int fault = send_get("/_wait?fault=1&timeout=90s");
    expect(get("/api/v1/configmaps"), " 503 ");
    expect(http_receive(fault), "{\"injected\":1}");
    ki_testing_server_cut_watches(server);
    http_receive(watch);
    expect(get("/_wait?watches=&count=0&timeout=90s"), "{\"watches\":0}");
}

CONTROL_TEST(a_wait_that_is_late_says_what_there_is_instead) {
    static const struct {
        const char *target, *message;
    } rows[] = {
        { "/_wait?watches=pods&timeout=1ms", "0 watches of pods are open, not 1" },
        { "/_wait?watches=&timeout=1ms", "0 watches are open, not 1" },
        { "/_wait?requests=verb=create&count=2&timeout=1ms", "0 requests match \\\"verb=create\\\", not 2" },
        { "/_requests?verb=get+list&wait=1ms", "0 requests match \\\"verb=get+list\\\", not 1" },
        { "/_wait?objects=configmaps&namespace=default&name=a&timeout=0", "configmaps default/a does not exist" },
        { "/_wait?objects=configmaps&namespace=default&name=b&fields=data.x=1&timeout=1ms",
          "configmaps default/b is not data.x=1: the object has no data.x" },
        { "/_wait?objects=configmaps&namespace=default&name=b&count=0&timeout=1ms",
          "configmaps default/b still exists" },
        { "/_wait?objects=configmaps&labels=app=c&timeout=1ms", "0 objects of configmaps match, not 1" },
        { "/_wait?objects=configmaps&namespace=default&count=4&timeout=1ms", "1 objects of configmaps match, not 4" },
    };
    MUST(ki_testing_server_put_all(server, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", 0, NULL, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *response = get(rows[i].target);
        expect(response, "HTTP/1.1 408 ");
        expect(response, rows[i].message);
    }
}

CONTROL_TEST(a_wait_that_cannot_be_is_rejected) {
    static const struct {
        const char *target, *status, *message;
    } rows[] = {
        { "/_wait", " 400 ", "a wait has one of" },
        { "/_wait?watches=pods&objects=pods", " 400 ", "a wait has one of" },
        { "/_wait?watches=podz", " 400 ", "the server has no resource \\\"podz\\\"" },
        { "/_wait?watches=deployments", " 400 ", "the server has no resource \\\"deployments\\\"" },
        { "/_wait?watches=pods&colour=red", " 400 ", "there is no parameter \\\"colour\\\"" },
        { "/_wait?watches=pods&watches=pods", " 400 ", "is there twice" },
        { "/_wait?watches=pods&count=-1", " 400 ", "count=-1 is no whole number" },
        { "/_wait?watches=pods&timeout=1d", " 400 ", "timeout=1d is no time up to 10m" },
        { "/_wait?watches=pods&timeout=11m", " 400 ", "timeout=11m is no time up to 10m" },
        { "/_wait?requests=verb=gett", " 400 ", "did you mean get" },
        { "/_wait?requests=&count=10001", " 400 ", "at most 10000 requests are recorded" },
        { "/_wait?fault=x", " 400 ", "fault=x is no whole number" },
        { "/_wait?fault=7", " 404 ", "there is no fault 7" },
        { "/_wait?objects=configmaps&name=a", " 400 ", "needs its namespace" },
        { "/_wait?objects=nodes&namespace=a&count=0", " 400 ", "nodes are not in a namespace" },
        { "/_wait?objects=configmaps&fields=a%3D%3D%3Db%2C%3D", " 400 ", "" },
        { "/_wait/x", " 404 ", "" },
        { "/_requests?verb=a,b", " 400 ", "verb has a comma or a zero byte" },
        { "/_requests?verb=a%00", " 400 ", "verb has a comma or a zero byte" },
        { "/_requests?since=x", " 400 ", "since=x is no whole number" },
        { "/_requests?resource=podz", " 400 ", "podz" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *response = get(rows[i].target);
        expect(response, rows[i].status);
        expect(response, rows[i].message);
    }
    static const char *const without[][2] = { { "DELETE", "/_requests?verb=get" }, { "GET", "/_faults?verb=get" },
                                              { "POST", "/_faults?verb=get" },     { "DELETE", "/_faults?verb=get" },
                                              { "DELETE", "/_faults/1?verb=get" }, { "POST", "/_load?verb=get" },
                                              { "POST", "/_reset?verb=get" } };
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        const char *response = request(without[i][0], without[i][1], "");
        expect(response, " 400 ");
        expect(response, "there is no parameter \\\"verb\\\"");
        assert_null(strstr(response, "there are"));
    }
    expect(request("POST", "/_restore?verb=get", ""), "there is no parameter \\\"verb\\\"; there are events");
    expect(request("POST", "/_wait?watches=pods", ""), "Allow: GET\r\n");
    expect(request("PUT", "/_requests", ""), "Allow: GET, DELETE\r\n");
    expect(get("/_load"), "Allow: POST\r\n");
    expect(get("/_reset"), "Allow: POST\r\n");
    expect(get("/_restore"), "Allow: POST\r\n");
}

CONTROL_TEST(a_server_that_ends_ends_the_waits) {
    int first = send_get("/_wait?objects=configmaps&namespace=default&name=never&timeout=10m");
    int second = send_get("/_requests?verb=create&wait=10m");
    expect(get("/version"), " 200 ");
    ki_testing_server_free(server);
    server = NULL;
    http_receive(first);
    http_receive(second);
}

CONTROL_TEST(a_restart_ends_the_waits) {
    int wait = send_get("/_wait?objects=configmaps&namespace=default&name=never&timeout=10m");
    expect(get("/version"), " 200 "); /* the server has read the wait: a restart takes over what it has not accepted */
    MUST(ki_testing_server_restart(server, 0, &err));
    http_receive(wait);
    create_map("a");
}

/* ---- /_requests ---- */

CONTROL_TEST(the_requests_of_clients_are_listed) {
    create_map("a");
    get("/api/v1/configmaps?limit=1");
    get("/_wait?watches=&count=0");
    const char *all = get("/_requests?body=true");
    expect(all, "\"number\":1,\"time\":\"20");
    expect(all,
           "\"status\":201,\"verb\":\"create\",\"resource\":\"configmaps\",\"namespace\":\"default\",\"name\":\"\"");
    expect(all, "\"body\":\"{\\\"metadata\\\":");
    expect(all, "\"target\":\"/api/v1/configmaps?limit=1\"");
    expect(all, "],\"last\":2,\"dropped\":0}");
    const char *later = get("/_requests?since=1&verb=list+get");
    assert_null(strstr(later, "\"number\":1,"));
    assert_null(strstr(later, "\"body\""));
    expect(later, "\"number\":2,");
    expect(get("/_wait?requests=verb=list+create,resource=configmaps+pods&count=2"), "{\"requests\":2}");
    expect(get("/_wait?requests=user-agent=a+b&timeout=0"), "0 requests match \\\"user-agent=a b\\\", not 1");
    expect(request("DELETE", "/_requests", ""), " 200 ");
    expect(get("/_requests"), "{\"requests\":[],\"last\":2,\"dropped\":0}");
}

/* ---- /_load, /_reset, /_restore ---- */

static const char definition[] =
    "apiVersion: apiextensions.k8s.io/v1\n"
    "kind: CustomResourceDefinition\n"
    "metadata: {name: widgets.example.com}\n"
    "spec:\n"
    "  group: example.com\n"
    "  scope: Namespaced\n"
    "  names: {plural: widgets, kind: Widget, singular: widget}\n"
    "  versions:\n"
    "  - name: v1\n"
    "    served: true\n"
    "    storage: true\n"
    "    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
    "---\n"
    "apiVersion: example.com/v1\n"
    "kind: Widget\n"
    "metadata: {name: w}\n"
    "status: {ready: true}\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: List\n"
    "items:\n"
    "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}\n"
    "- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: '1'}}\n";

CONTROL_TEST(a_load_stores_each_object_with_its_status) {
    expect(request("POST", "/_load", definition), "{\"objects\":4}");
    expect(get("/apis/example.com/v1/namespaces/default/widgets/w"), "\"status\":{\"ready\":true}");
    expect(get("/api/v1/namespaces/shop/configmaps/a"), " 200 ");
    expect(request("POST", "/_load",
                   "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}\n"
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}"),
           "{\"objects\":2}");
    expect(request("POST", "/_load", "# nothing\n"), "{\"objects\":0}");
}

CONTROL_TEST(a_wait_for_the_end_of_custom_resources_ends_with_their_definition) {
    expect(request("POST", "/_load", definition), "{\"objects\":4}");
    int wait = send_get("/_wait?objects=widgets.example.com&count=0&timeout=90s");
    expect(get("/apis/example.com/v1/widgets"), " 200 "); /* the server has read the wait */
    expect(request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com", ""),
           " 200 ");
    const char *response = http_receive(wait);
    expect(response, " 200 ");
    expect(response, "\r\n\r\n{\"objects\":0}");
}

CONTROL_TEST(a_load_says_which_object_is_wrong) {
    static const char *const rows[][2] = {
        { "kind: ConfigMap\n", "object 1 has no apiVersion" },
        { "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n{}\n", "object 2 has no kind" },
        { "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\n", "object 1: example.com/v1 Gadget is not" },
        { "apiVersion: v1\nkind: [\n", "document 1: line 3" },
        { "a: &a [0,0,0,0,0,0,0,0,0]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
          "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
          "document 1: line 4: the document contains excessive aliasing" },
        { "{\"kind\":", "invalid JSON at byte 8" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":7}}", "object 1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *response = request("POST", "/_load", rows[i][0]);
        expect(response, " 400 ");
        expect(response, rows[i][1]);
    }
}

CONTROL_TEST(a_loaded_definition_without_names_harms_nothing) {
    expect(request("POST", "/_load",
                   "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
                   "\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"versions\":[{}]}}"),
           "{\"objects\":1}");
    create_map("a");
    assert_null(strstr(get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com"), "Established"));
}

/* Returns the number behind the next `name` in a text. */
static unsigned long long number_after(const char **text, const char *name) {
    *text = strstr(*text, name);
    assert_non_null(*text);
    *text += strlen(name);
    return strtoull(*text, NULL, 10);
}

CONTROL_TEST(a_reset_returns_to_the_start_as_changes_that_watches_get) {
    static const char version[] = "\"resourceVersion\":\"";
    expect(request("POST", "/_load", definition), " 200 ");
    MUST(ki_testing_server_keep_start(server, &err));
    char uid[64] = "";
    const char *first = strstr(get("/api/v1/namespaces/default/configmaps/b"), "\"uid\":\"");
    assert_non_null(first);
    snprintf(uid, sizeof uid, "%.43s", first);

    int watch = send_get("/api/v1/configmaps?watch=1&timeoutSeconds=60");
    expect(get("/_wait?watches=configmaps&timeout=90s"), " 200 ");
    create_map("new");
    expect(request("PUT", "/api/v1/namespaces/default/configmaps/b",
                   "{\"metadata\":{\"name\":\"b\"},\"data\":{\"x\":\"2\"}}"),
           " 200 ");
    expect(request("DELETE", "/api/v1/namespaces/shop/configmaps/a", ""), " 200 ");
    expect(request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com", ""),
           " 200 ");
    expect(get("/apis/example.com/v1/widgets"), " 404 ");
    expect(request("DELETE", "/api/v1/namespaces/shop", ""), " 200 ");
    expect(request("POST", "/_faults", "status,code=503,verb=list"), " 201 ");
    expect(request("POST", "/_reset", ""), "\r\n\r\n{}");

    expect(get("/api/v1/namespaces/default/configmaps/new"), " 404 ");
    const char *again = get("/api/v1/namespaces/default/configmaps/b");
    expect(again, "\"data\":{\"x\":\"1\"}");
    expect(again, uid);
    expect(get("/api/v1/namespaces/shop/configmaps/a"), " 200 ");
    expect(get("/apis/example.com/v1/namespaces/default/widgets/w"), "\"status\":{\"ready\":true}");
    expect(get("/_faults"), "{\"faults\":[]}");
    expect(get("/_requests?verb=create"), "{\"requests\":[],");

    ki_testing_server_close_watches(server);
    const char *events = http_receive(watch);
    const char *at = events;
    unsigned long long last = 0;
    static const char *const order[] = { "ADDED",   "ADDED",   "ADDED", "MODIFIED", "DELETED",
                                         "DELETED", "DELETED", "ADDED", "ADDED" };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        char type[32];
        snprintf(type, sizeof type, "{\"type\":\"%s\"", order[i]);
        at = strstr(at, "{\"type\":\"");
        assert_non_null(at);
        assert_memory_equal(at, type, strlen(type));
        unsigned long long number = number_after(&at, version);
        assert_true(i < 2 || number > last);
        last = number;
    }
    assert_null(strstr(at, "{\"type\":\""));
    expect(request("POST", "/_reset", ""), " 200 "); /* nothing has changed */
    at = get("/api/v1/namespaces/shop/configmaps/a");
    assert_true(number_after(&at, version) <= last);
}

CONTROL_TEST(a_reset_keeps_the_faults_of_the_start_and_begins_them_anew) {
    MUST(ki_testing_server_add_fault(server, "status,code=503,verb=list,count=1", NULL, &err));
    MUST(ki_testing_server_keep_start(server, &err));
    expect(get("/api/v1/pods"), " 503 ");
    expect(get("/api/v1/pods"), " 200 ");
    expect(request("POST", "/_reset", ""), " 200 ");
    expect(get("/api/v1/pods"), " 503 ");
    expect(get("/_faults"), "\"requests\":1,\"injected\":1");
}

CONTROL_TEST(a_restore_sets_the_resource_version_back) {
    uint64_t first = ki_testing_server_revision(server);
    create_map("a");
    create_map("b");
    expect(request("POST", "/_restore?events=1", ""), " 200 ");
    expect(get("/api/v1/namespaces/default/configmaps/a"), " 200 ");
    expect(get("/api/v1/namespaces/default/configmaps/b"), " 404 ");
    expect(request("POST", "/_restore", ""), " 200 ");
    assert_int_equal(ki_testing_server_revision(server), first);
    expect(request("POST", "/_restore?events=x", ""), " 400 ");
}

CONTROL_TEST(only_the_administrator_drives_a_server_with_tokens) {
    static const char jane[] = "Authorization: Bearer secret\r\n", admin[] = "Authorization: Bearer top\r\n";
    MUST(ki_testing_server_add_token(server, "token=top,user=root,groups=system:masters", &err));
    MUST(ki_testing_server_keep_start(server, &err));
    MUST(ki_testing_server_add_token(server, "token=secret,user=jane", &err));
    static const char *const targets[] = { "/_wait?watches=&count=0", "/_requests", "/_faults" };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        expect(http_get(port, targets[i], ""), " 403 ");
        expect(http_get(port, targets[i], jane), " 403 ");
        expect(http_get(port, targets[i], admin), " 200 ");
    }
    MUST(ki_testing_server_return_to_start(server, &err));
    expect(http_get(port, "/api/v1/pods", jane), " 401 ");
    expect(http_get(port, "/api/v1/pods", admin), " 200 ");
}

CONTROL_TEST(a_client_that_leaves_does_not_hold_up_others) {
    for (int i = 0; i < 20; i++) {
        int fd = send_get("/_wait?objects=configmaps&namespace=default&name=never&timeout=100ms");
        if (i % 2)
            http_receive(fd);
        else
            close(fd);
    }
    create_map("a");
}
