/* test_name_lookup.c: what is found by the name of a resource in the responses of discovery. The server is a table of
 * paths. */
#include "src/base/error.h"
#include "src/client/name_lookup.h"
#include "testing/memory/transport.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

#define GROUP(preferred, versions) \
    "{\"kind\":\"APIGroup\",\"name\":\"example.com\",\"versions\":[" versions "],\"preferredVersion\":{\"version\":" \
    "\"" preferred "\"}}"
#define V(version) "{\"version\":\"" version "\"}"
#define RESOURCES(names) "{\"kind\":\"APIResourceList\",\"resources\":[" names "]}"
#define RESOURCE(name, more) \
    "{\"name\":\"" name "\",\"kind\":\"Foo\",\"namespaced\":true,\"verbs\":[\"get\",\"list\",\"watch\"]" more "}"
#define FOOS RESOURCE("foos", "")
#define STATUS_404 "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404}"

enum {
    VERSIONS = 2
};

typedef struct response {
    int status; /* 0: the connection is cut */
    const char *body;
} response;

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_name_lookup lookup;
    response of_group, of_version[VERSIONS]; /* v1, v2 */
    char asked[256];
    int calls;
    char found[64]; /* "VERSION KIND"; "" */
    bool namespaced;
    ki_error err;
} fixture;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *f = user;
    size_t used = strlen(f->asked);
    snprintf(f->asked + used, sizeof f->asked - used, "%s ", request->target);
    const response *what = strcmp(request->target, "/apis/example.com/v1") == 0   ? &f->of_version[0]
                           : strcmp(request->target, "/apis/example.com/v2") == 0 ? &f->of_version[1]
                                                                                  : &f->of_group;
    const ki_response_head head = { what->status, -1, "" };
    if (what->status &&
        (!kt_memory_call_head(call, &head) || !kt_memory_call_data(call, what->body, strlen(what->body))))
        return;
    ki_error cut = KI_ERROR_INIT;
    ki_error_set(&cut, KI_ERR_UNEXPECTED_EOF, "cut");
    kt_memory_call_end(call, what->status ? NULL : &cut);
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

static void on_found(const ki_resource *found, const ki_error *err, void *user) {
    fixture *f = user;
    f->calls++;
    assert_true(!found == (err != NULL));
    f->err = err ? *err : (ki_error)KI_ERROR_INIT;
    if (!found)
        return;
    assert_string_equal(found->group, "example.com");
    assert_string_equal(found->plural, "foos");
    snprintf(f->found, sizeof f->found, "%s %s", found->version, found->kind);
    f->namespaced = found->namespaced;
}

static void set_up(fixture *f, const ki_allocator *allocator) {
    memset(f, 0, sizeof *f);
    assert_true(test_engine_open(&f->engine, allocator, 1));
    const kt_memory_server server = { serve, abandoned, f };
    assert_int_equal(kt_memory_transport_new(f->engine.engine, &server, &f->transport, NULL), KI_OK);
    ki_name_lookup_init(&f->lookup, f->engine.engine, f->transport, "example.com", "foos");
}

static void tear_down(fixture *f) {
    ki_document_request_cancel(&f->lookup.request);
    ki_transport_free(f->transport);
    test_engine_close(&f->engine);
}

TEST(a_name_is_found_in_the_version_that_the_server_prefers) {
    static const struct {
        response of_group, of_v1, of_v2;
        const char *found;
        ki_status err;
        int http_status;
        int requests;
    } rows[] = {
        { { 200, GROUP("v1", V("v1")) }, { 200, RESOURCES(FOOS) }, { 0, NULL }, "v1 Foo", KI_OK, 0, 2 },
        { { 200, GROUP("v2", V("v1") "," V("v2")) }, { 0, NULL }, { 200, RESOURCES(FOOS) }, "v2 Foo", KI_OK, 0, 2 },
        /* the preferred version lacks it */
        { { 200, GROUP("v2", V("v1") "," V("v2")) },
          { 200, RESOURCES(FOOS) },
          { 200, RESOURCES(RESOURCE("bars", "")) },
          "v1 Foo",
          KI_OK,
          0,
          3 },
        { { 200, GROUP("v2", V("v1") "," V("v2")) }, { 200, RESOURCES(FOOS) }, { 404, "" }, "v1 Foo", KI_OK, 0, 3 },
        { { 200, "{\"kind\":\"APIGroup\",\"versions\":[7,{},{\"version\":\"v1\"}]}" },
          { 200, RESOURCES(FOOS) },
          { 0, NULL },
          "v1 Foo",
          KI_OK,
          0,
          2 },
        /* nowhere */
        { { 200, GROUP("v1", V("v1")) },
          { 200, RESOURCES(RESOURCE("foos/status", "")) },
          { 0, NULL },
          "",
          KI_ERR_HTTP,
          404,
          2 },
        { { 200, GROUP("", "") }, { 0, NULL }, { 0, NULL }, "", KI_ERR_HTTP, 404, 1 },
        { { 404, "404 page not found\n" }, { 0, NULL }, { 0, NULL }, "", KI_ERR_HTTP, 404, 1 },
        { { 404, STATUS_404 }, { 0, NULL }, { 0, NULL }, "", KI_ERR_HTTP, 404, 1 },
        /* no documents of discovery */
        { { 200, "<html>all is well</html>" }, { 0, NULL }, { 0, NULL }, "", KI_ERR_PROTOCOL, 0, 1 },
        { { 200, "{\"kind\":\"APIGroupList\"}" }, { 0, NULL }, { 0, NULL }, "", KI_ERR_PROTOCOL, 0, 1 },
        { { 200, GROUP("v1", V("v1")) }, { 200, "[]" }, { 0, NULL }, "", KI_ERR_PROTOCOL, 0, 2 },
        { { 200, GROUP("v1", V("v1")) },
          { 200, RESOURCES("{\"name\":\"foos\",\"verbs\":[\"list\",\"watch\"]}") },
          { 0, NULL },
          "",
          KI_ERR_PROTOCOL,
          0,
          2 },
        { { 200, GROUP("v1", V("v1")) },
          { 200, RESOURCES("{\"name\":\"foos\",\"kind\":\"Foo\",\"verbs\":[\"create\"]}") },
          { 0, NULL },
          "",
          KI_ERR_UNSUPPORTED,
          0,
          2 },
        /* failures */
        { { 503, "" }, { 0, NULL }, { 0, NULL }, "", KI_ERR_HTTP, 503, 1 },
        { { 0, NULL }, { 0, NULL }, { 0, NULL }, "", KI_ERR_UNEXPECTED_EOF, 0, 1 },
        { { 200, GROUP("v1", V("v1")) }, { 503, "" }, { 0, NULL }, "", KI_ERR_HTTP, 503, 2 },
        { { 200, GROUP("v1", V("v1")) }, { 0, NULL }, { 0, NULL }, "", KI_ERR_UNEXPECTED_EOF, 0, 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        set_up(&f, NULL);
        f.of_group = rows[i].of_group;
        f.of_version[0] = rows[i].of_v1;
        f.of_version[1] = rows[i].of_v2;
        assert_int_equal(ki_name_lookup_begin(&f.lookup, on_found, &f, NULL), KI_OK);
        assert_int_equal(f.calls, 0);
        assert_true(test_engine_settle(&f.engine));
        assert_int_equal(f.calls, 1);
        assert_string_equal(f.found, rows[i].found);
        assert_int_equal(f.err.code, rows[i].err);
        assert_int_equal(f.err.http_status, rows[i].http_status);
        if (rows[i].err)
            assert_non_null(strstr(f.err.message, "find foos.example.com: "));
        int requests = 0;
        for (const char *at = f.asked; (at = strchr(at, ' ')); at++)
            requests++;
        assert_int_equal(requests, rows[i].requests);
        tear_down(&f);
    }
}

TEST(a_group_may_have_any_number_of_versions) {
    char group[4096] = "{\"kind\":\"APIGroup\",\"versions\":[";
    for (int i = 0; i < KI_NAME_VERSIONS_MAX + 3; i++) {
        size_t used = strlen(group);
        snprintf(group + used, sizeof group - used, "%s{\"version\":\"v%d\"},{\"version\":\"v%d%070d\"}", i ? "," : "",
                 i + 10, i, 0);
    }
    snprintf(group + strlen(group), sizeof group - strlen(group), "]}");
    fixture f;
    set_up(&f, NULL);
    f.of_group = (response){ 200, group };
    assert_int_equal(ki_name_lookup_begin(&f.lookup, on_found, &f, NULL), KI_OK);
    assert_true(test_engine_settle(&f.engine));
    assert_int_equal(f.calls, 1); /* the documents of the versions are no lists of resources */
    assert_int_equal(f.lookup.count, KI_NAME_VERSIONS_MAX);
    assert_string_equal(f.lookup.versions[KI_NAME_VERSIONS_MAX - 1], "v25");
    tear_down(&f);
}

TEST(a_cancelled_lookup_calls_nothing) {
    fixture f;
    set_up(&f, NULL);
    f.of_group = (response){ 404, "" };
    assert_int_equal(ki_name_lookup_begin(&f.lookup, on_found, &f, NULL), KI_OK);
    ki_document_request_cancel(&f.lookup.request);
    ki_document_request_cancel(&f.lookup.request);
    assert_true(test_engine_settle(&f.engine));
    assert_int_equal(f.calls, 0);
    tear_down(&f);
}

TEST(a_lookup_without_memory_fails_or_finds) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        fixture f;
        set_up(&f, &memory.allocator);
        f.of_group = (response){ 200, GROUP("v1", V("v1")) };
        f.of_version[0] = (response){ 200, RESOURCES(FOOS) };
        scarce_memory_begin(&memory);
        ki_status status = ki_name_lookup_begin(&f.lookup, on_found, &f, NULL);
        assert_true(test_engine_settle(&f.engine));
        assert_int_equal(f.calls, status == KI_OK);
        assert_true(scarce_memory_failed(&memory) || strcmp(f.found, "v1 Foo") == 0);
        tear_down(&f);
    }
}
