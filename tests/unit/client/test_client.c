/* test_client.c: a client's requests as they are written, and how they end: good, refused, tried again, too late,
 * cancelled. The server is in the process and the clock moves by hand. */
#include "src/auth/config.h"
#include "src/client/client.h"
#include "tests/support/client_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void send_request(client_stage *self, const ki_client_request *request) {
    ki_error err = KI_ERROR_INIT;
    self->ends = self->requests = 0;
    ki_status status = ki_client_send(self->client, request, client_stage_response, self, NULL, &err);
    if (status)
        fail_msg("%s", ki_error_message(&err));
    assert_int_equal(self->ends, 0);
    assert_true(test_engine_settle(&self->engine));
}

#define GET_POD .verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = "ns", .name = "a"
#define BODY(text) .body = (text), .body_size = sizeof(text) - 1

/* --- what is sent ------------------------------------------------------------------------------------------------- */

static const ki_resource foos = { "example.com", "v1beta1", "foos", "Foo", true };

TEST(each_verb_is_the_request_that_the_api_defines) {
    const struct {
        ki_client_request request;
        const char *line;
    } cases[] = {
        { KI_CLIENT_REQUEST(GET_POD), "GET /api/v1/namespaces/ns/pods/a - " },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_NODES, .name = "a b"), "GET /api/v1/nodes/a%20b - " },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &foos, .namespace_name = "ns", .name = "x"),
          "GET /apis/example.com/v1beta1/namespaces/ns/foos/x - " },
        { KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.resource_version = "0")),
          "GET /api/v1/namespaces/ns/pods/a?resourceVersion=0 - " },
        { KI_CLIENT_REQUEST(
              GET_POD, .options = &KI_REQUEST_OPTIONS(.subresource = "log", .parameters = "container=c&tailLines=3")),
          "GET /api/v1/namespaces/ns/pods/a/log?container=c&tailLines=3 - " },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_PODS, .namespace_name = "ns", BODY("{1}"),
                            .options = &KI_REQUEST_OPTIONS(.field_manager = "me", .dry_run = true,
                                                           .field_validation = "Strict")),
          "POST /api/v1/namespaces/ns/pods?fieldManager=me&fieldValidation=Strict&dryRun=All application/json {1}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            BODY("{}"), .options = &KI_REQUEST_OPTIONS(.subresource = "eviction")),
          "POST /api/v1/namespaces/ns/pods/a/eviction application/json {}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            BODY("{}")),
          "PUT /api/v1/namespaces/ns/pods/a application/json {}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, .resource = KI_DEPLOYMENTS, .namespace_name = "ns", .name = "a",
                            BODY("{}"), .options = &KI_REQUEST_OPTIONS(.subresource = "scale")),
          "PUT /apis/apps/v1/namespaces/ns/deployments/a/scale application/json {}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            BODY("{}")),
          "PATCH /api/v1/namespaces/ns/pods/a application/merge-patch+json {}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            BODY("[]"), .patch = KI_PATCH_JSON),
          "PATCH /api/v1/namespaces/ns/pods/a application/json-patch+json []" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            BODY("{}"), .patch = KI_PATCH_STRATEGIC),
          "PATCH /api/v1/namespaces/ns/pods/a application/strategic-merge-patch+json {}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            BODY("{}"), .patch = KI_PATCH_APPLY,
                            .options = &KI_REQUEST_OPTIONS(.field_manager = "m/n", .force = true)),
          "PATCH /api/v1/namespaces/ns/pods/a?fieldManager=m%2Fn&force=true application/apply-patch+yaml {}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_PODS, .namespace_name = "ns", .name = "a"),
          "DELETE /api/v1/namespaces/ns/pods/a application/json {\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            .options =
                                &KI_REQUEST_OPTIONS(.precondition_uid = "u\"1", .precondition_resource_version = "7",
                                                    .propagation = KI_PROPAGATION_FOREGROUND,
                                                    .grace_period_s = KI_GRACE_NOW, .dry_run = true)),
          "DELETE /api/v1/namespaces/ns/pods/a application/json {\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
          "\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u\\\"1\",\"resourceVersion\":\"7\"},"
          "\"propagationPolicy\":\"Foreground\",\"dryRun\":[\"All\"]}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_PODS, .namespace_name = "ns", .name = "a",
                            .options = &KI_REQUEST_OPTIONS(.precondition_uid = "uid",
                                                           .propagation = KI_PROPAGATION_BACKGROUND)),
          "DELETE /api/v1/namespaces/ns/pods/a application/json {\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
          "\"preconditions\":{\"uid\":\"uid\"},\"propagationPolicy\":\"Background\"}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE_COLLECTION, .resource = KI_PODS, .namespace_name = "ns",
                            .options = &KI_REQUEST_OPTIONS(.label_selector = "a=b,c", .grace_period_s = 30)),
          "DELETE /api/v1/namespaces/ns/pods?labelSelector=a%3Db%2Cc application/json "
          "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":30}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE_COLLECTION, .resource = KI_PODS, .namespace_name = "ns",
                            .options = &KI_REQUEST_OPTIONS(.resource_version = "42", .dry_run = true)),
          "DELETE /api/v1/namespaces/ns/pods?resourceVersion=42 application/json "
          "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"dryRun\":[\"All\"]}" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/healthz?verbose"),
          "GET /healthz?verbose - " },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .path = "/x", .content_type = "text/plain",
                            BODY("a\nb")),
          "POST /x text/plain a\nb" },
    };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        send_request(&self, &cases[i].request);
        assert_string_equal(self.line, cases[i].line);
        assert_int_equal(self.ends, 1);
        assert_int_equal(self.err.code, KI_OK);
    }
    client_stage_close(&self);
}

/* Each verb of each scope, with a subresource and without, for a resource that the library does not know; and the
 * object that comes back. */
TEST(every_verb_reaches_the_objects_of_any_resource) {
    static const ki_resource resources[] = { { "gtest", "vtest", "rtests", "rTest", false },
                                             { "gtest", "vtest", "rtests", "rTest", true } };
    static const struct {
        ki_client_verb verb;
        const char *method;
        bool of_one, has_object;
    } verbs[] = {
        { KI_CLIENT_GET, "GET", true, true },
        { KI_CLIENT_CREATE, "POST", false, true },
        { KI_CLIENT_UPDATE, "PUT", true, true },
        { KI_CLIENT_PATCH, "PATCH", true, true },
        { KI_CLIENT_DELETE, "DELETE", true, false },
        { KI_CLIENT_LIST, "GET", false, false },
        { KI_CLIENT_DELETE_COLLECTION, "DELETE", false, false },
    };
    client_stage self;
    client_stage_open(&self, &KI_CLIENT_OPTIONS(.requests_per_second = -1));
    for (size_t i = 0; i < 4 * (sizeof verbs / sizeof *verbs); i++) {
        const ki_resource *resource = &resources[i % 2];
        const bool has_sub = i / 2 % 2;
        const size_t v = i / 4;
        const bool takes_sub = verbs[v].of_one || verbs[v].verb == KI_CLIENT_CREATE;
        const char *name = verbs[v].of_one || (has_sub && takes_sub) ? "it" : NULL;
        if (has_sub && !takes_sub)
            continue;
        char line[256], object[256];
        snprintf(object, sizeof object,
                 "{\"apiVersion\":\"gtest/vtest\",\"kind\":\"%s\",\"metadata\":{\"name\":\"it\"%s}}",
                 has_sub ? "srTest" : "rTest", resource->namespaced ? ",\"namespace\":\"nstest\"" : "");
        self.script[0].body = verbs[v].has_object ? object
                              : verbs[v].verb == KI_CLIENT_LIST
                                  ? "{\"apiVersion\":\"gtest/vtest\",\"kind\":\"rTestList\","
                                    "\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}"
                                  : "{\"kind\":\"Status\",\"status\":\"Success\"}";
        snprintf(line, sizeof line, "%s /apis/gtest/vtest%s/rtests%s%s%s ", verbs[v].method,
                 resource->namespaced ? "/namespaces/nstest" : "", name ? "/" : "", name ? name : "",
                 has_sub ? "/srtest" : "");
        send_request(&self,
                     &KI_CLIENT_REQUEST(.verb = verbs[v].verb, .resource = resource, .name = name,
                                        .namespace_name = resource->namespaced ? "nstest" : NULL, .body = object,
                                        .body_size = strlen(object),
                                        .options = &KI_REQUEST_OPTIONS(.subresource = has_sub ? "srtest" : NULL)));
        assert_int_equal(self.ends, 1);
        if (strncmp(self.line, line, strlen(line)) != 0 || self.err.code)
            fail_msg("%s, not %s: %s", self.line, line, self.err.message);
        const ki_object *got = ki_response_object(self.response);
        assert_int_equal(got != NULL, verbs[v].has_object);
        if (!got)
            continue;
        assert_string_equal(ki_object_key(got), resource->namespaced ? "nstest/it" : "it");
        assert_string_equal(ki_object_kind(got), has_sub ? "srTest" : "rTest");
        ki_value json = KI_VALUE_INIT;
        assert_int_equal(ki_object_json(got, &json, NULL), KI_OK);
        assert_string_equal(json.text, object); /* all of it */
        ki_value_clear(&json);
    }
    client_stage_close(&self);
}

TEST(what_is_missing_or_would_lead_elsewhere_is_rejected_before_it_is_sent) {
    static const ki_resource bad = { "a/b", "v1", "foos", "Foo", true };
    const struct {
        ki_client_request request;
        const char *word; /* of the message */
    } cases[] = {
        { KI_CLIENT_REQUEST(.resource = KI_PODS), "verb" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .name = "a"), "resource" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = "ns"), "name" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .name = "a"), "namespace" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE_COLLECTION, .resource = KI_PODS), "namespace" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &bad, .namespace_name = "ns", .name = "a"), "group" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_NODES, .name = "a/b"), "/" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_NODES, .name = "a%2fb"), "%" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_NODES, .name = ".."), ".." },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = ".", .name = "a"),
          "namespace" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_NODES, .name = "a"), "name" },
        { KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.subresource = "../x")), "subresource" },
        { KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.parameters = "a=b c")), "parameters" },
        { KI_CLIENT_REQUEST(GET_POD, .accept = "a\r\nX: y"), "accept" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_NODES), "body" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_NODES, .body_size = 3), "bytes" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = KI_NODES, .name = "a", BODY("{}"),
                            .patch = KI_PATCH_APPLY),
          "field manager" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .path = "/x"), "method" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "get", .path = "/x"), "capital" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "CONNECT", .path = "/x"), "CONNECT" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "x"), "path" },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/x\r\nHost: y"), "path" },
        { { .verb = KI_CLIENT_GET }, "size" },
    };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_client_send(self.client, &cases[i].request, client_stage_response, &self, NULL, &err),
                         KI_ERR_INVALID);
        if (!strstr(err.message, cases[i].word))
            fail_msg("case %zu: %s", i, err.message);
    }
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.requests + self.ends, 0);
    client_stage_close(&self);
}

TEST(a_target_or_body_over_its_limit_is_rejected) {
    client_stage self;
    client_stage_open(&self, NULL);
    char *selector = malloc(KI_CLIENT_TARGET_MAX + 1);
    memset(selector, 'a', KI_CLIENT_TARGET_MAX);
    selector[KI_CLIENT_TARGET_MAX] = '\0';
    const ki_client_request listing = KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS,
                                                        .options = &KI_REQUEST_OPTIONS(.label_selector = selector));
    assert_int_equal(ki_client_send(self.client, &listing, client_stage_response, &self, NULL, NULL), KI_ERR_LIMIT);
    selector[1000] = '\0';
    assert_int_equal(ki_client_send(self.client, &listing, client_stage_response, &self, NULL, NULL), KI_OK);
    const ki_client_request huge = KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .path = "/",
                                                     .body = selector, .body_size = (size_t)KI_CLIENT_BODY_MAX + 1);
    assert_int_equal(ki_client_send(self.client, &huge, client_stage_response, &self, NULL, NULL), KI_ERR_LIMIT);
    free(selector);
    client_stage_close(&self);
    assert_int_equal(self.err.code, KI_ERR_CANCELLED);
}

/* --- responses ---------------------------------------------------------------------------------------------------- */

TEST(a_list_comes_as_objects_with_its_place) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0].body =
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"12\",\"continue\":"
        "\"tok\",\"remainingItemCount\":5},\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}},"
        "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"}}]}";
    send_request(
        &self,
        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS,
                           .options = &KI_REQUEST_OPTIONS(.limit = 2, .continue_token = "t=", .field_selector = "x=y",
                                                          .resource_version = "5", .resource_version_match = "Exact")));
    assert_string_equal(self.line, "GET /api/v1/pods?fieldSelector=x%3Dy&limit=2&continue=t%3D&resourceVersion=5&"
                                   "resourceVersionMatch=Exact - ");
    assert_int_equal(self.err.code, KI_OK);
    assert_int_equal(ki_response_item_count(self.response), 2);
    assert_string_equal(ki_object_key(ki_response_item(self.response, 1)), "ns/b");
    assert_string_equal(ki_object_kind(ki_response_item(self.response, 0)), "Pod");
    assert_null(ki_response_item(self.response, 2));
    assert_string_equal(ki_response_continue(self.response), "tok");
    assert_string_equal(ki_response_resource_version(self.response), "12");
    assert_int_equal(ki_response_remaining(self.response), 5);
    client_stage_close(&self);
}

TEST(a_list_without_a_version_comes_as_objects) {
    static const ki_resource resource = { "gtest", "vtest", "rtest", "rTest", true };
    static const struct {
        const char *namespace_name, *line;
    } cases[] = { { NULL, "GET /apis/gtest/vtest/rtest - " },
                  { "nstest", "GET /apis/gtest/vtest/namespaces/nstest/rtest - " } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client_stage self;
        client_stage_open(&self, NULL);
        self.script[0].body = "{\"apiVersion\":\"vTest\",\"kind\":\"rTestList\",\"items\":["
                              "{\"apiVersion\":\"vTest\",\"kind\":\"rTest\",\"metadata\":{\"name\":\"item1\"}},"
                              "{\"apiVersion\":\"vTest\",\"kind\":\"rTest\",\"metadata\":{\"name\":\"item2\"}}]}";
        send_request(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = &resource,
                                               .namespace_name = cases[i].namespace_name));
        assert_string_equal(self.line, cases[i].line);
        assert_int_equal(self.err.code, KI_OK);
        assert_int_equal(ki_response_item_count(self.response), 2);
        assert_string_equal(ki_object_name(ki_response_item(self.response, 0)), "item1");
        assert_string_equal(ki_object_name(ki_response_item(self.response, 1)), "item2");
        assert_string_equal(ki_response_continue(self.response), "");
        assert_string_equal(ki_response_resource_version(self.response), "");
        client_stage_close(&self);
    }
}

TEST(an_object_a_status_and_bytes_are_recognised) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0].body = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}";
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_string_equal(ki_object_key(ki_response_object(self.response)), "ns/a");
    self.script[0].body =
        "{\"kind\":\"Status\",\"status\":\"Success\",\"metadata\":{\"name\":\"x\"},\"details\":{\"uid\":\"u\"}}";
    send_request(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_NODES, .name = "a"));
    assert_int_equal(self.err.code, KI_OK);
    assert_null(ki_response_object(self.response));
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_response_field(self.response, "details.uid", &value, NULL), KI_OK);
    assert_string_equal(value.text, "u");
    ki_value_clear(&value);
    self.script[0].body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"a\"}}]}";
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.subresource = "x")));
    assert_int_equal(self.err.code, KI_OK);
    assert_int_equal(ki_response_field(self.response, "items[0].metadata.name", &value, NULL), KI_OK);
    assert_string_equal(value.text, "a");
    ki_value_clear(&value);
    self.script[0].body = "some log\n";
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.subresource = "log")));
    size_t size;
    assert_string_equal(ki_response_body(self.response, &size), "some log\n");
    assert_int_equal(size, 9);
    self.script[0].body = "";
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_string_equal(ki_response_body(self.response, &size), "");
    assert_int_equal(self.err.code, KI_OK);
    client_stage_close(&self);
}

static const char invalid[] =
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"Pod \\\"a\\\" is "
    "invalid\",\"reason\":\"Invalid\",\"code\":422,"
    "\"details\":{\"name\":\"a\",\"kind\":\"Pod\",\"group\":\"g\",\"uid\":\"u\",\"causes\":["
    "{\"reason\":\"FieldValueInvalid\",\"message\":\"bad\",\"field\":\"spec.x\"},{\"message\":\"worse\"}]}}";

TEST(an_error_response_keeps_all_that_the_server_said) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0] = (client_reply){ .status = 422, .retry_after_ms = -1, .body = invalid };
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_int_equal(self.requests, 1);
    assert_int_equal(self.err.code, KI_ERR_HTTP);
    assert_true(ki_error_is_invalid(&self.err));
    assert_string_equal(self.err.message, "get pods ns/a: Pod \"a\" is invalid");
    const ki_error_response *error_response = ki_response_error(self.response);
    assert_int_equal(error_response->http_status, 422);
    assert_string_equal(error_response->reason, "Invalid");
    assert_string_equal(error_response->group, "g");
    assert_string_equal(error_response->kind, "Pod");
    assert_string_equal(error_response->name, "a");
    assert_string_equal(error_response->uid, "u");
    assert_int_equal(error_response->cause_count, 2);
    assert_string_equal(error_response->causes[0].field, "spec.x");
    assert_string_equal(error_response->causes[1].message, "worse");
    assert_string_equal(error_response->causes[1].reason, "");
    client_stage_close(&self);
}

TEST(a_response_over_the_limit_is_an_error_not_memory) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.client->response_max = 60;
    self.script[0].body = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}}";
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_int_equal(self.err.code, KI_ERR_LIMIT);
    self.script[0].body =
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"a\"}},"
        "{\"metadata\":{\"name\":\"b\"}},{\"metadata\":{\"name\":\"c\"}}]}";
    send_request(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS));
    assert_int_equal(self.err.code, KI_ERR_LIMIT);
    assert_null(self.response);
    client_stage_close(&self);
}

TEST(responses_cut_anywhere_are_errors) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0] =
        (client_reply){ .status = 200, .retry_after_ms = -1, .body = "{\"kind\":", .ended = KI_ERR_UNEXPECTED_EOF };
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_int_equal(self.err.code, KI_ERR_UNEXPECTED_EOF);
    assert_int_equal(self.requests, 1); /* its response had begun */
    self.script[0] = (client_reply){ .status = 200, .retry_after_ms = -1, .body = "{\"kind\":\"PodList\"," };
    send_request(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS));
    assert_int_equal(self.err.code, KI_ERR_UNEXPECTED_EOF);
    self.script[0] = (client_reply){ .status = 0 };
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_int_equal(self.err.code, KI_ERR_PROTOCOL);
    client_stage_close(&self);
}

/* --- trying again ------------------------------------------------------------------------------------------------- */

typedef struct retry_case {
    const char *what;
    const char *method; /* NULL: each of them */
    client_reply reply;
    int requests; /* until it gives up */
    int64_t gap_ms;
} retry_case;

TEST(what_says_when_is_tried_again_ten_times_and_nothing_else) {
    static const retry_case cases[] = {
        { "429 with Retry-After", NULL, { .status = 429, .retry_after_ms = 1000 }, 11, 1000 },
        { "429 at once", NULL, { .status = 429, .retry_after_ms = 0 }, 11, 0 },
        { "429 without", NULL, { .status = 429, .retry_after_ms = -1 }, 1, 0 },
        { "500 with", NULL, { .status = 500, .retry_after_ms = 2000 }, 11, 2000 },
        { "503 with", NULL, { .status = 503, .retry_after_ms = 1000 }, 11, 1000 },
        { "599 with", NULL, { .status = 599, .retry_after_ms = 1000 }, 11, 1000 },
        { "503 without", NULL, { .status = 503, .retry_after_ms = -1 }, 1, 0 },
        { "409 with", NULL, { .status = 409, .retry_after_ms = 1000 }, 1, 0 },
        { "600 with", "GET", { .status = 600, .retry_after_ms = 1000 }, 1, 0 },
        { "a read that was cut",
          "GET",
          { .status = 0, .retry_after_ms = -1, .ended = KI_ERR_UNEXPECTED_EOF },
          11,
          1000 },
        { "a write that was cut", "POST", { .status = 0, .retry_after_ms = -1, .ended = KI_ERR_UNEXPECTED_EOF }, 1, 0 },
        { "a deletion that was cut",
          "DELETE",
          { .status = 0, .retry_after_ms = -1, .ended = KI_ERR_UNEXPECTED_EOF },
          1,
          0 },
        { "refused by the server",
          NULL,
          { .status = 0, .retry_after_ms = 0, .ended = KI_ERR_UNEXPECTED_EOF },
          11,
          1000 },
        { "no connection", NULL, { .status = 0, .ended = KI_ERR_CONNECT }, 1, 0 },
        { "301 with", NULL, { .status = 301, .retry_after_ms = 0 }, 1, 0 },
        { "200 with", NULL, { .status = 200, .retry_after_ms = 0, .ended = KI_ERR_UNEXPECTED_EOF }, 1, 0 },
        { "timed out waiting for a response", "GET", { .status = 0, .ended = KI_ERR_TIMEOUT }, 1, 0 },
        { "a read that was cut in its response",
          "GET",
          { .status = 200, .body = "x", .ended = KI_ERR_UNEXPECTED_EOF },
          1,
          0 },
        { "a bad certificate", NULL, { .status = 0, .ended = KI_ERR_TLS }, 1, 0 },
    };
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
    for (size_t n = 0; n < sizeof cases / sizeof *cases * 5; n++) {
        const size_t i = n / 5;
        const char *method = cases[i].method ? cases[i].method : methods[n % 5];
        if (cases[i].method && n % 5)
            continue;
        client_stage self;
        client_stage_open(&self, NULL);
        self.script[0] = cases[i].reply;
        send_request(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = method, .path = "/x", BODY("body")));
        assert_true(test_engine_advance(&self.engine, 29000));
        if (self.requests != cases[i].requests || self.ends != 1 || !self.err.code)
            fail_msg("%s, %s: %d requests", cases[i].what, method, self.requests);
        for (int k = 1; k < self.requests; k++)
            assert_int_equal(self.times[k] - self.times[k - 1], cases[i].gap_ms);
        assert_non_null(strstr(self.line, "body")); /* sent again whole */
        client_stage_close(&self);
    }
}

TEST(a_request_that_is_tried_again_may_yet_succeed) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0] = (client_reply){ .status = 429, .retry_after_ms = 1000, .body = invalid };
    self.script[1] = (client_reply){ .status = 0, .retry_after_ms = -1, .ended = KI_ERR_UNEXPECTED_EOF };
    self.script[2] = (client_reply){ .status = 201,
                                     .retry_after_ms = -1,
                                     .body = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}" };
    self.script_size = 3;
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_int_equal(self.ends, 0);
    assert_true(test_engine_advance(&self.engine, 2000));
    assert_int_equal(self.requests, 3);
    assert_int_equal(self.ends, 1);
    assert_int_equal(self.err.code, KI_OK);
    assert_int_equal(ki_response_http_status(self.response), 201);
    assert_non_null(ki_response_object(self.response));
    assert_null(ki_response_error(self.response));
    client_stage_close(&self);
}

TEST(a_retry_that_would_be_too_late_is_not_waited_for) {
    static const int64_t whens[] = { 5000, 3600000, INT64_MAX };
    for (size_t i = 0; i < sizeof whens / sizeof *whens; i++) {
        client_stage self;
        client_stage_open(&self, NULL);
        self.script[0] = (client_reply){ .status = 429, .retry_after_ms = whens[i] };
        send_request(&self, &KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.timeout_ms = 5000)));
        assert_int_equal(self.ends, 1);
        assert_true(ki_error_is_too_many_requests(&self.err));
        client_stage_close(&self);
    }
}

/* --- deadlines, cancelling, the limit ----------------------------------------------------------------------------- */

TEST(silence_ends_at_the_deadline) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0] = (client_reply){ .status = CLIENT_NEVER };
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.timeout_ms = 5000)));
    assert_true(test_engine_advance(&self.engine, 4999));
    assert_int_equal(self.ends, 0);
    assert_true(test_engine_advance(&self.engine, 1));
    assert_int_equal(self.ends, 1);
    assert_int_equal(self.err.code, KI_ERR_TIMEOUT);
    assert_true(ki_error_is_timeout(&self.err));
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    assert_true(test_engine_advance(&self.engine, KI_CLIENT_TIMEOUT_MS - 1));
    assert_int_equal(self.ends, 0);
    assert_true(test_engine_advance(&self.engine, 1));
    assert_int_equal(self.ends, 1);
    static const int64_t endless[] = { -1, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        send_request(&self, &KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.timeout_ms = endless[i])));
        assert_true(test_engine_advance(&self.engine, 100 * 86400000LL));
        assert_int_equal(self.ends, 0);
    }
    client_stage_close(&self);
}

TEST(a_cancelled_request_ends_once_wherever_it_is) {
    for (int where = 0; where < 5; where++) {
        client_stage self;
        client_stage_open(&self, &KI_CLIENT_OPTIONS(.requests_per_second = 5, .request_burst = 1));
        ki_pending_request *call = NULL;
        const ki_client_request request = KI_CLIENT_REQUEST(GET_POD);
        if (where == 1) /* in the limit's queue */
            send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
        if (where == 2)
            self.script[0] = (client_reply){ .status = CLIENT_NEVER };
        if (where == 3) /* before a retry */
            self.script[0] = (client_reply){ .status = 503, .retry_after_ms = 9000 };
        self.ends = 0;
        assert_int_equal(ki_client_send(self.client, &request, client_stage_response, &self, &call, NULL), KI_OK);
        if (where > 0)
            assert_true(test_engine_settle(&self.engine));
        assert_int_equal(self.ends, where == 4);
        ki_pending_request_cancel(call);
        ki_pending_request_cancel(call);
        assert_int_equal(self.ends, where == 4);
        assert_true(test_engine_settle(&self.engine));
        assert_int_equal(self.ends, 1);
        assert_int_equal(self.err.code, where == 4 ? KI_OK : KI_ERR_CANCELLED);
        assert_true(test_engine_advance(&self.engine, 20000));
        assert_int_equal(self.ends, 1);
        ki_pending_request_free(call);
        client_stage_close(&self);
    }
}

TEST(the_limit_holds_requests_back_and_rejects_what_would_be_too_late) {
    client_stage self;
    client_stage_open(&self, &KI_CLIENT_OPTIONS(.requests_per_second = 5, .request_burst = 2));
    const ki_client_request patient = KI_CLIENT_REQUEST(GET_POD);
    const ki_client_request hasty = KI_CLIENT_REQUEST(GET_POD, .options = &KI_REQUEST_OPTIONS(.timeout_ms = 400));
    for (int i = 0; i < 4; i++)
        assert_int_equal(ki_client_send(self.client, &patient, client_stage_response, &self, NULL, NULL), KI_OK);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.requests, 2);
    assert_int_equal(ki_client_send(self.client, &hasty, client_stage_response, &self, NULL, NULL), KI_OK);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.ends, 3); /* at once: its turn would come after 600 ms */
    assert_int_equal(self.err.code, KI_ERR_TIMEOUT);
    assert_true(test_engine_advance(&self.engine, 400));
    assert_int_equal(self.requests, 4);
    assert_int_equal(self.ends, 5);
    client_stage_close(&self);
}

TEST(the_limit_is_the_options_then_the_configurations_then_none) {
    static const struct {
        int options[2], config[2]; /* a second, burst; a negative burst: no configuration */
        int want[2];
    } cases[] = {
        { { 0, 0 }, { 0, 0 }, { -1, 10 } },    { { 0, 0 }, { 10, 0 }, { 10, 10 } }, { { 0, 0 }, { -1, 0 }, { -1, 10 } },
        { { 0, 0 }, { 11, 12 }, { 11, 12 } },  { { 7, 0 }, { 11, 12 }, { 7, 12 } }, { { 0, 3 }, { 11, 12 }, { 11, 3 } },
        { { -1, 0 }, { 11, 12 }, { -1, 12 } }, { { 0, 0 }, { 0, -1 }, { -1, 10 } }, { { 7, 3 }, { 0, -1 }, { 7, 3 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ki_config config = { .requests_per_second = cases[i].config[0], .request_burst = cases[i].config[1] };
        int per_second, burst;
        ki_client_limit_of(cases[i].config[1] < 0 ? NULL : &config, cases[i].options[0], cases[i].options[1],
                           &per_second, &burst);
        assert_int_equal(per_second, cases[i].want[0]);
        assert_int_equal(burst, cases[i].want[1]);
    }
}

TEST(a_client_that_is_freed_ends_what_is_under_way) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0] = (client_reply){ .status = CLIENT_NEVER };
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    send_request(&self, &KI_CLIENT_REQUEST(GET_POD));
    client_stage_close(&self);
    assert_int_equal(self.ends, 2);
    assert_int_equal(self.err.code, KI_ERR_CANCELLED);
}

static bool on_chunk(const void *data, size_t size, void *user) {
    client_stage *self = user;
    assert_in_range(size, 1, 60);
    memcpy(self->line, data, size);
    self->line[size] = '\0';
    return strcmp(self->line, "stop") != 0;
}

TEST(a_stream_is_passed_on_as_it_arrives_until_the_callback_ends_it) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.client->response_max = 2;
    self.script[0].body = "more than two bytes";
    const ki_client_request log = KI_CLIENT_REQUEST(GET_POD, .on_data = on_chunk);
    send_request(&self, &log);
    assert_string_equal(self.line, "more than two bytes");
    assert_int_equal(self.err.code, KI_OK);
    self.script[0].body = "stop";
    send_request(&self, &log);
    assert_int_equal(self.err.code, KI_ERR_CANCELLED);
    assert_int_equal(self.ends, 1);
    assert_int_equal(ki_client_do(self.client, &log, NULL, NULL), KI_ERR_INVALID);
    client_stage_close(&self);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

TEST(waiting_for_a_response_on_the_loop_would_deadlock) {
    client_stage self;
    client_stage_open(&self, NULL);
    assert_true(test_engine_settle(&self.engine));
    ki_object *obj = NULL;
    assert_int_equal(ki_client_get(self.client, KI_PODS, "ns", "a", NULL, &obj, NULL), KI_ERR_DEADLOCK);
    client_stage_close(&self);
}

static void serve_nothing(kt_memory_call *call, const ki_request *request, void *user) {
    (void)call;
    (void)user;
    fail_msg("%s was sent", request->target);
}

TEST(waiting_on_a_hosts_engine_that_nobody_drives_is_rejected) {
    ki_engine *engine = NULL;
    ki_transport *transport = NULL;
    ki_client *client = NULL;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    const kt_memory_server server = { serve_nothing, NULL, NULL };
    assert_int_equal(kt_memory_transport_new(engine, &server, &transport, NULL), KI_OK);
    assert_int_equal(ki_client_new_on(NULL, transport, &KI_CLIENT_OPTIONS(.engine = engine), &client, NULL), KI_OK);
    assert_int_equal(ki_client_get(client, KI_PODS, "ns", "a", NULL, NULL, NULL), KI_ERR_STATE);
    ki_client_free(client);
    ki_transport_free(transport);
    ki_engine_free(engine);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static const char deleted[] =
    "{\"kind\":\"Status\",\"status\":\"Success\",\"details\":{\"name\":\"a\",\"uid\":\"4d7\"}}";

TEST(whatever_allocation_fails_a_request_ends_once_and_nothing_leaks) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        client_stage self = { .script = { { .status = 429, .retry_after_ms = 1000, .body = invalid },
                                          { .status = 200, .retry_after_ms = -1 },
                                          { .status = 422, .retry_after_ms = -1, .body = invalid },
                                          { .status = 200, .retry_after_ms = -1, .body = deleted } },
                              .script_size = 4 };
        self.script[1].body =
            "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"12\"},\"items\":["
            "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}]}";
        if (client_stage_try(&self, &memory.allocator, &KI_CLIENT_OPTIONS(.requests_per_second = 5)) == KI_OK) {
            const ki_client_request list = KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS);
            bool sent = ki_client_send(self.client, &list, client_stage_response, &self, NULL, NULL) == KI_OK;
            test_engine_advance(&self.engine, 2000);
            assert_int_equal(self.ends, sent);
            const ki_client_request get = KI_CLIENT_REQUEST(GET_POD);
            self.requests = 2;
            sent = ki_client_send(self.client, &get, client_stage_response, &self, NULL, NULL) == KI_OK;
            self.ends = 0;
            test_engine_advance(&self.engine, 2000);
            assert_int_equal(self.ends, sent);
            const ki_client_request delete =
                KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = KI_PODS, .namespace_name = "ns", .name = "a");
            self.requests = 3;
            sent = ki_client_send(self.client, &delete, client_stage_response, &self, NULL, NULL) == KI_OK;
            self.ends = 0;
            test_engine_advance(&self.engine, 2000);
            assert_int_equal(self.ends, sent);
        }
        client_stage_close(&self);
    }
}
