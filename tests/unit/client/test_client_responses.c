/* test_client_responses.c: a client's responses by HTTP status: good ones, error responses with a Status, with half of
 * one and with none, and what of them a stream is told. The server is in the process and the clock moves by hand. */
#include "src/client/client.h"
#include "tests/support/client_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char streamed[256];

static bool on_chunk(const void *data, size_t size, void *user) {
    size_t used = strlen(streamed);
    (void)user;
    assert_true(used + size < sizeof streamed);
    memcpy(streamed + used, data, size);
    return true;
}

static void ask(client_stage *self, const ki_client_request *request) {
    self->ends = self->requests = 0;
    memset(streamed, 0, sizeof streamed);
    assert_int_equal(ki_client_send(self->client, request, client_stage_response, self, NULL, NULL), KI_OK);
    assert_true(test_engine_advance(&self->engine, 29000));
    assert_int_equal(self->ends, 1);
}

static void ask_once(client_stage *self, int status, const char *body, const ki_client_request *request) {
    self->script[0] = (client_reply){ .status = status, .retry_after_ms = -1, .body = body };
    self->script_size = 1;
    ask(self, request);
    assert_int_equal(self->requests, 1);
}

#define POD .resource = KI_PODS, .namespace_name = "ns", .name = "a"
#define BODY .body = "{}", .body_size = 2

/* --- statuses ----------------------------------------------------------------------------------------------------- */

TEST(any_status_from_200_to_299_is_good_and_the_response_has_it) {
    static const int good[] = { 200, 201, 202, 204, 299 };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *body = good[i] == 204 ? NULL : "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}";
        ask_once(&self, good[i], body, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, POD, BODY));
        assert_int_equal(self.err.code, KI_OK);
        assert_int_equal(ki_response_http_status(self.response), good[i]);
        assert_true(!ki_response_object(self.response) == !body);
        assert_null(ki_response_error(self.response));
    }
    size_t size;
    ask_once(&self, 200, "aaaaa", &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD));
    assert_int_equal(self.err.code, KI_OK);
    assert_string_equal(ki_response_body(self.response, &size), "aaaaa");
    client_stage_close(&self);
}

/* What kube-apiserver sends: a Status with the uid of what it removed, or the object, where it has finalizers or is
 * deleted gracefully. Other servers' Status can lack the uid. */
TEST(the_response_to_a_deletion_says_what_was_deleted) {
    static const struct {
        const char *body, *uid, *version;
    } cases[] = {
        { "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{\"name\":"
          "\"a\","
          "\"kind\":\"pods\",\"uid\":\"4d7\"}}",
          "4d7", "" },
        { "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"4d7\","
          "\"resourceVersion\":\"12\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\",\"finalizers\":[\"x/y\"]}}",
          "4d7", "12" },
        { "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":{\"name\":"
          "\"a\","
          "\"kind\":\"pods\"}}",
          "", "" },
        { "{\"kind\":\"Status\",\"status\":\"Success\",\"details\":{\"uid\":7}}", "", "" },
        { "deleted", "", "" },
        { NULL, "", "" },
    };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask_once(&self, 200, cases[i].body, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, POD));
        assert_int_equal(self.err.code, KI_OK);
        assert_string_equal(ki_response_uid(self.response), cases[i].uid);
        assert_string_equal(ki_response_resource_version(self.response), cases[i].version);
    }
    client_stage_close(&self);
}

TEST(any_other_status_is_an_error_of_its_kind_whatever_its_body) {
    static const struct {
        int status;
        bool (*is)(const ki_error *err); /* NULL: no name for it */
    } cases[] = {
        { 199, NULL },
        { 300, NULL },
        { 304, NULL },
        { 400, ki_error_is_bad_request },
        { 401, ki_error_is_unauthorized },
        { 403, ki_error_is_forbidden },
        { 404, ki_error_is_not_found },
        { 405, ki_error_is_method_not_supported },
        { 409, ki_error_is_conflict },
        { 422, ki_error_is_invalid },
        { 429, ki_error_is_too_many_requests },
        { 500, ki_error_is_internal },
        { 503, ki_error_is_service_unavailable },
        { 600, NULL },
    };
    static const char *const bodies[] = { NULL,         "aaaaa", "{}",
                                          "{\"kind\":", "[1]",   "{\"status\":\"Failure\",\"code\":418}" };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t n = 0; n < sizeof bodies / sizeof *bodies; n++) {
            ask_once(&self, cases[i].status, bodies[n], &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD));
            assert_int_equal(self.err.code, KI_ERR_HTTP);
            assert_int_equal(self.err.http_status, cases[i].status);
            if (cases[i].is && !cases[i].is(&self.err))
                fail_msg("%d with %s: %s", cases[i].status, bodies[n], self.err.message);
            char start[64];
            snprintf(start, sizeof start, "get pods ns/a: HTTP %d", cases[i].status);
            if (strncmp(self.err.message, start, strlen(start)) != 0)
                fail_msg("%d with %s: %s", cases[i].status, bodies[n], self.err.message);
            assert_int_equal(ki_response_error(self.response)->http_status, cases[i].status);
            size_t size;
            assert_string_equal(ki_response_body(self.response, &size), bodies[n] ? bodies[n] : "");
        }
    }
    client_stage_close(&self);
}

TEST(a_status_of_the_body_does_not_change_that_of_http) {
    static const char *const bodies[] = {
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":404}",
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404}",
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\",\"code\":404}",
    };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        ask_once(&self, 400, bodies[i], &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD));
        assert_int_equal(self.err.code, KI_ERR_HTTP);
        assert_int_equal(self.err.http_status, 400);
        assert_true(ki_error_is_bad_request(&self.err));
        assert_false(ki_error_is_not_found(&self.err));
    }
    client_stage_close(&self);
}

TEST(a_conflict_without_a_reason_is_what_the_method_makes_of_it) {
    const struct {
        ki_client_request request;
        const char *body;
        bool exists;
    } cases[] = {
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_PODS, .namespace_name = "ns", BODY), NULL, true },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_PODS, .namespace_name = "ns", BODY),
          "a proxy's page", true },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_PODS, .namespace_name = "ns", BODY),
          "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"m\"}", false },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, POD, BODY), NULL, false },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, POD, BODY),
          "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"m\"}", true },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, POD, BODY), NULL, false },
        { KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, POD), NULL, false },
    };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask_once(&self, 409, cases[i].body, &cases[i].request);
        assert_int_equal(self.err.http_status, 409);
        if (ki_error_is_already_exists(&self.err) != cases[i].exists ||
            ki_error_is_conflict(&self.err) == cases[i].exists)
            fail_msg("case %zu: %s (%s)", i, self.err.message, self.err.reason);
        assert_int_equal(self.err.category, cases[i].exists ? KI_CATEGORY_REQUEST : KI_CATEGORY_RETRY);
        assert_non_null(strstr(self.err.message, "pods"));
    }
    client_stage_close(&self);
}

TEST(an_error_response_keeps_64_kib_of_its_body) {
    const size_t limit = 64 * 1024;
    client_stage self;
    client_stage_open(&self, NULL);
    char *body = malloc(limit + 100);
    memset(body, 'a', limit + 99);
    body[limit + 99] = '\0';
    size_t size;
    ask_once(&self, 400, body, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD));
    ki_response_body(self.response, &size);
    assert_int_equal(size, limit);
    body[limit - 1] = '\0';
    ask_once(&self, 400, body, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD));
    assert_string_equal(ki_response_body(self.response, &size), body);
    free(body);
    client_stage_close(&self);
}

TEST(each_try_has_the_whole_body_until_one_succeeds) {
    static const int busy[] = { 429, 500, 501, 504 };
    char body[4000];
    client_stage self;
    client_stage_open(&self, NULL);
    memset(body, 'a', sizeof body);
    for (size_t i = 0; i < 4; i++)
        self.script[i] = (client_reply){ .status = busy[i], .retry_after_ms = 0 };
    self.script[4] = (client_reply){ .status = 200, .retry_after_ms = -1 };
    self.script_size = 5;
    ask(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .path = "/foo/bar/baz", .body = body,
                                  .body_size = sizeof body));
    assert_int_equal(self.requests, 5);
    assert_int_equal(self.bytes, 5 * sizeof body);
    assert_int_equal(self.err.code, KI_OK);
    client_stage_close(&self);
}

/* --- what is never sent ------------------------------------------------------------------------------------------- */

TEST(each_of_twenty_requests_at_a_time_has_all_of_its_attempts) {
    client_stage self;
    client_stage_open(&self, NULL);
    self.script[0] = (client_reply){ .status = 500, .retry_after_ms = 1000 };
    for (int i = 0; i < 20; i++)
        assert_int_equal(ki_client_send(self.client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, POD, BODY),
                                        client_stage_response, &self, NULL, NULL),
                         KI_OK);
    assert_true(test_engine_advance(&self.engine, 29000));
    assert_int_equal(self.ends, 20);
    assert_int_equal(self.requests, 20 * 11); /* the first, and ten retries */
    client_stage_close(&self);
}

TEST(no_segment_of_the_path_may_lead_elsewhere) {
    static const char *const segments[] = { ".", "..", "test/segment", "test%2bsegment" };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
        const char *bad = segments[i];
        const ki_resource group = { bad, "v1", "foos", "Foo", true }, version = { "g", bad, "foos", "Foo", true };
        const ki_resource plural = { "g", "v1", bad, "Foo", true };
        const struct {
            ki_client_request request;
            const char *word;
        } cases[] = {
            { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &group, .namespace_name = "n", .name = "a"),
              "group" },
            { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &version, .namespace_name = "n", .name = "a"),
              "version" },
            { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = &plural, .namespace_name = "n", .name = "a"),
              "plural" },
            { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = bad, .name = "a"),
              "namespace" },
            { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = "n", .name = bad),
              "name" },
            { KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD, .options = &KI_REQUEST_OPTIONS(.subresource = bad)),
              "subresource" },
        };
        for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
            ki_error err = KI_ERROR_INIT;
            assert_int_equal(ki_client_send(self.client, &cases[n].request, client_stage_response, &self, NULL, &err),
                             KI_ERR_INVALID);
            if (!strstr(err.message, cases[n].word) || !strstr(err.message, bad))
                fail_msg("%s as the %s: %s", bad, cases[n].word, err.message);
        }
        static const ki_client_verb verbs[] = {
            KI_CLIENT_GET,  KI_CLIENT_UPDATE,           KI_CLIENT_PATCH, KI_CLIENT_DELETE, KI_CLIENT_CREATE,
            KI_CLIENT_LIST, KI_CLIENT_DELETE_COLLECTION
        };
        for (size_t n = 0; n < sizeof verbs / sizeof *verbs; n++) {
            bool has_name = n < 4;
            const ki_client_request within =
                KI_CLIENT_REQUEST(.verb = verbs[n], .resource = KI_PODS, .namespace_name = bad,
                                  .name = has_name ? "a" : NULL, BODY);
            const ki_client_request called =
                KI_CLIENT_REQUEST(.verb = verbs[n], .resource = KI_NODES, .name = bad, BODY);
            assert_int_equal(ki_client_send(self.client, &within, client_stage_response, &self, NULL, NULL),
                             KI_ERR_INVALID);
            if (has_name)
                assert_int_equal(ki_client_send(self.client, &called, client_stage_response, &self, NULL, NULL),
                                 KI_ERR_INVALID);
        }
    }
    assert_int_equal(self.requests, 0);
    client_stage_close(&self);
}

TEST(a_namespaced_object_without_its_namespace_is_not_asked_for) {
    static const ki_client_verb verbs[] = { KI_CLIENT_GET, KI_CLIENT_CREATE, KI_CLIENT_UPDATE, KI_CLIENT_PATCH,
                                            KI_CLIENT_DELETE };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *name = verbs[i] == KI_CLIENT_CREATE ? NULL : "a";
        ki_error err = KI_ERROR_INIT;
        const ki_client_request without = KI_CLIENT_REQUEST(.verb = verbs[i], .resource = KI_PODS, .name = name,
                                                            .namespace_name = i % 2 ? "" : NULL, BODY);
        assert_int_equal(ki_client_send(self.client, &without, client_stage_response, &self, NULL, &err),
                         KI_ERR_INVALID);
        assert_non_null(strstr(err.message, "namespace is missing"));
        ask_once(&self, 200, NULL,
                 &KI_CLIENT_REQUEST(.verb = verbs[i], .resource = KI_PODS, .name = name, .namespace_name = "n", BODY));
        ask_once(&self, 200, NULL, &KI_CLIENT_REQUEST(.verb = verbs[i], .resource = KI_NODES, .name = name, BODY));
    }
    client_stage_close(&self);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

TEST(a_stream_hands_on_what_is_good_and_nothing_else) {
    static const char choose[] = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                                 "\"message\":\"a container name must be specified for pod x, choose one of: [a b]\","
                                 "\"reason\":\"BadRequest\",\"code\":400}";
    const struct {
        client_reply script[CLIENT_REPLIES];
        int requests;
        const char *streamed;
        const char *message; /* of the error; NULL: none */
    } cases[] = {
        { { { 200, -1, "one line\n", KI_OK } }, 1, "one line\n", NULL },
        { { { 200, -1, NULL, KI_OK } }, 1, "", NULL },
        { { { 200, -1, "one li", KI_ERR_UNEXPECTED_EOF } }, 1, "one li", "get pods/log ns/a" },
        { { { 400, -1, choose, KI_OK } },
          1,
          "",
          "get pods/log ns/a: a container name must be specified for pod x, choose one of: [a b]" },
        { { { 401, -1, "{\"kind\":\"Status\",\"reason\":\"Unauthorized\"}", KI_OK } },
          1,
          "",
          "get pods/log ns/a: HTTP 401: Unauthorized" },
        { { { 500, -1, NULL, KI_OK } }, 1, "", "get pods/log ns/a: HTTP 500" },
        { { { 500, 0, "no", KI_OK }, { 429, 1000, "no", KI_OK }, { 200, -1, "yes", KI_OK } }, 3, "yes", NULL },
        { { { 500, 0, "no", KI_OK }, { 500, -1, "no", KI_OK } }, 2, "", "get pods/log ns/a: HTTP 500: no" },
        { { { 500, 0, "no", KI_OK }, { 0, -1, NULL, KI_ERR_CONNECT } }, 2, "", "get pods/log ns/a" },
        { { { 500, 0, "no", KI_OK }, { 0, -1, NULL, KI_ERR_UNEXPECTED_EOF }, { 200, -1, "yes", KI_OK } },
          3,
          "yes",
          NULL },
    };
    client_stage self;
    client_stage_open(&self, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(self.script, cases[i].script, sizeof self.script);
        self.script_size = 5;
        ask(&self, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, POD, .on_data = on_chunk,
                                      .options = &KI_REQUEST_OPTIONS(.subresource = "log")));
        assert_string_equal(streamed, cases[i].streamed);
        assert_int_equal(self.requests, cases[i].requests);
        assert_true(!self.err.code == !cases[i].message);
        if (cases[i].message && !strstr(self.err.message, cases[i].message))
            fail_msg("case %zu: %s", i, self.err.message);
    }
    client_stage_close(&self);
}
