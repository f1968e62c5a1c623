/* test_http_list_watch.c: requests as they are sent, responses as they arrive: complete, bad, cut anywhere, in any
 * chunks, cancelled anywhere. */

#include "src/base/error.h"
#include "src/client/http_list_watch.h"
#include "testing/memory/transport.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server's response to every request. */
typedef struct response {
    int status;               /* 0: no head */
    const char *content_type; /* NULL: application/json */
    const char *body;
    size_t size;     /* of the body; 0: all of it */
    size_t chunk;    /* bytes at once; 0: all */
    ki_status ended; /* how: KI_OK cleanly */
} response;

typedef struct fixture {
    ki_engine *engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_list_watch *list_watch;
    response response;
    char target[1024], accept[128];
    char trace[2048]; /* what the handler got, space-separated */
    int callbacks;
    int arrivals;  /* of bytes */
    int reads;     /* of all that has arrived */
    int cancel_at; /* the callback, counted from 1, that cancels */
    bool free_at_cancel;
    bool again;      /* on_end begins another list */
    bool is_stopped; /* the client cancelled the request */
    ki_error end, bad;
} fixture;

/* --- the server --------------------------------------------------------------------------------------------------- */

static bool send_body(kt_memory_call *call, const response *what) {
    size_t size = what->size ? what->size : what->body ? strlen(what->body) : 0;
    size_t chunk = what->chunk ? what->chunk : size;
    for (size_t at = 0; at < size; at += chunk) {
        size_t part = size - at < chunk ? size - at : chunk;
        char *copy = malloc(part); /* of its own, so that reading past it is found */
        assert_non_null(copy);
        memcpy(copy, what->body + at, part);
        bool goes_on = kt_memory_call_data(call, copy, part);
        free(copy);
        if (!goes_on)
            return false;
    }
    return true;
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *self = user;
    response what = self->response;
    assert_string_equal(request->method, "GET");
    snprintf(self->accept, sizeof self->accept, "%s", request->accept);
    snprintf(self->target, sizeof self->target, "%s", request->target);
    if (what.status) {
        const ki_response_head head = { what.status, 7000, what.content_type ? what.content_type : "application/json" };
        self->is_stopped = !kt_memory_call_head(call, &head) || !send_body(call, &what);
        if (self->is_stopped)
            return;
    }
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, what.ended, "the test's server says so");
    kt_memory_call_end(call, what.ended ? &err : NULL);
}

/* --- the handler -------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(fixture *self, const char *format, ...) {
    size_t used = strlen(self->trace);
    if (used && used + 1 < sizeof self->trace)
        self->trace[used++] = ' ';
    va_list args;
    va_start(args, format);
    vsnprintf(self->trace + used, sizeof self->trace - used, format, args);
    va_end(args);
    if (++self->callbacks != self->cancel_at)
        return;
    if (self->free_at_cancel) {
        self->list_watch->ops->free(self->list_watch);
        self->list_watch = NULL;
    } else {
        self->list_watch->ops->cancel(self->list_watch);
    }
}

static void on_object(ki_object *obj, void *user) {
    note(user, "%s@%s", ki_object_key(obj), ki_object_resource_version(obj));
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    ((fixture *)user)->bad = *bad->err;
    note(user, "bad(%s)", bad->key);
}

static ki_status start_list(fixture *self);

static void on_list_end(const ki_list_result *result, const ki_error *err, void *user) {
    fixture *self = user;
    if (err)
        self->end = *err;
    bool again = self->again;
    self->again = false;
    if (err)
        note(self, "end(%s)", ki_status_name(err->code));
    else
        note(self, "end(%s,%s,%lld)", result->resource_version, result->continue_token,
             (long long)result->remaining_item_count);
    if (again)
        assert_int_equal(start_list(self), KI_OK);
}

static void on_open(void *user) {
    note(user, "open");
}

static void on_bytes(void *user) {
    ((fixture *)user)->arrivals++;
}

static void on_read(int64_t until, void *user) {
    fixture *self = user;
    self->reads++;
    assert_true(until <= ki_engine_now(self->engine));
    assert_int_equal(self->reads, self->arrivals);
}

static void on_event(ki_event_type type, ki_object *obj, void *user) {
    note(user, "%c%s@%s",
         type == KI_EVENT_ADD      ? '+'
         : type == KI_EVENT_UPDATE ? '*'
                                   : '-',
         ki_object_key(obj), ki_object_resource_version(obj));
}

static void on_bookmark(const char *resource_version, bool initial_events_end, void *user) {
    note(user, "mark(%s%s)", resource_version, initial_events_end ? "!" : "");
}

static void on_watch_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    fixture *self = user;
    if (err)
        self->end = *err;
    note(self, "end(%s%s%s)", err ? ki_status_name(err->code) : "ok", opened ? ",opened" : "",
         in_stream ? ",in stream" : "");
}

/* --- set-up ------------------------------------------------------------------------------------------------------- */

static const selected pods = { .resource = { "", "v1", "pods", "Pod", true }, .object_limit = 400 };

static ki_status open_fixture(fixture *self, const ki_allocator *allocator, const selected *of) {
    memset(self, 0, sizeof *self);
    self->response.status = 200;
    ki_status status = ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 1, .allocator = allocator), &self->engine, NULL);
    if (status)
        return status;
    const kt_memory_server server = { serve, NULL, self };
    status = kt_memory_transport_new(self->engine, &server, &self->transport, NULL);
    if (!status)
        status = ki_object_format_new(ki_engine_allocator(self->engine), NULL, &self->format, NULL);
    if (!status)
        status = source_of(of, self->engine, self->transport, self->format, NULL, &self->list_watch);
    return status;
}

static void close_fixture(fixture *self) {
    if (self->list_watch)
        self->list_watch->ops->free(self->list_watch);
    ki_object_format_unref(self->format);
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
}

static ki_status start_list(fixture *self) {
    const ki_list_handler handler = { on_object, on_bad_object, on_list_end, self };
    const ki_list_options options = { .limit = 0 };
    return self->list_watch->ops->list(self->list_watch, &options, &handler, NULL);
}

static ki_status start_watch(fixture *self) {
    const ki_watch_handler handler = { on_open,     on_bytes,      on_read,      on_event,
                                       on_bookmark, on_bad_object, on_watch_end, self };
    const ki_watch_options options = { .resource_version = "1" };
    return self->list_watch->ops->watch(self->list_watch, &options, &handler, NULL);
}

static void step(fixture *self) {
    assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
}

#define POD(name, version) \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"resourceVersion\":\"" version "\"}}"
#define LIST(items) \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version, more) \
    EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version "\"" more \
                      ",\"creationTimestamp\":null}}")
#define END(value) ",\"annotations\":{\"k8s.io/initial-events-end\":\"" value "\"}"
#define A100 \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define STATUS(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"words of the server\"," \
    "\"reason\":\"" reason "\",\"code\":" code "}"

/* --- requests ----------------------------------------------------------------------------------------------------- */

TEST(paths_follow_group_and_scope) {
    static const struct {
        ki_resource resource;
        const char *namespace_name, *name, *want;
    } cases[] = {
        { { "", "v1", "pods", "Pod", true }, NULL, NULL, "/api/v1/pods" },
        { { "", "v1", "pods", "Pod", true }, "", NULL, "/api/v1/pods" },
        { { "", "v1", "pods", "Pod", true }, "a", "b", "/api/v1/namespaces/a/pods/b" },
        { { "", "v1", "nodes", "Node", false }, "a", "b", "/api/v1/nodes/b" },
        { { "apps", "v1", "deployments", "D", true }, "a", NULL, "/apis/apps/v1/namespaces/a/deployments" },
        { { "a.b/c", "v1", "x", "X", true }, "../e", "f?g", "/apis/a.b%2Fc/v1/namespaces/..%2Fe/x/f%3Fg" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_buffer out;
        ki_buffer_init(&out, &memory.allocator, 0);
        assert_int_equal(ki_resource_path(&out, &cases[i].resource, cases[i].namespace_name, cases[i].name), KI_OK);
        assert_string_equal(out.data, cases[i].want);
        ki_buffer_free(&out);
    }
}

TEST(a_lists_options_are_its_query) {
    static const struct {
        selected of;
        ki_list_options options;
        const char *want;
    } cases[] = {
        { { .resource = { "", "v1", "pods", "Pod", true } }, { .limit = 0 }, "/api/v1/pods" },
        { { .resource = { "", "v1", "pods", "Pod", true } },
          { .resource_version = "", .continue_token = "" },
          "/api/v1/pods" },
        { { .resource = { "", "v1", "pods", "Pod", true } },
          { .resource_version = "0", .resource_version_match = "NotOlderThan", .limit = 500 },
          "/api/v1/pods?limit=500&resourceVersion=0&resourceVersionMatch=NotOlderThan" },
        { { .resource = { "", "v1", "pods", "Pod", true },
            .given.namespace_name = "ns",
            .given.label_selector = "a=b,c in (d)",
            .given.field_selector = "spec.nodeName=x&y" },
          { .continue_token = "t+/=", .limit = 5 },
          "/api/v1/namespaces/ns/"
          "pods?labelSelector=a%3Db%2Cc%20in%20%28d%29&fieldSelector=spec.nodeName%3Dx%26y&limit=5"
          "&continue=t%2B%2F%3D" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture self;
        assert_int_equal(open_fixture(&self, NULL, &cases[i].of), KI_OK);
        const ki_list_handler handler = { on_object, on_bad_object, on_list_end, &self };
        assert_int_equal(self.list_watch->ops->list(self.list_watch, &cases[i].options, &handler, NULL), KI_OK);
        step(&self);
        assert_string_equal(self.target, cases[i].want);
        close_fixture(&self);
    }
}

TEST(a_watchs_options_are_its_query) {
    static const struct {
        ki_watch_options options;
        const char *want;
    } cases[] = {
        { { .timeout_s = 0 }, "/api/v1/pods?watch=true" },
        { { .resource_version = "7", .allow_bookmarks = true, .timeout_s = 301 },
          "/api/v1/pods?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=301" },
        { { .resource_version = "", .allow_bookmarks = true, .send_initial_events = true },
          "/api/v1/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture self;
        assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
        const ki_watch_handler handler = { on_open,     on_bytes,      on_read,      on_event,
                                           on_bookmark, on_bad_object, on_watch_end, &self };
        assert_int_equal(self.list_watch->ops->watch(self.list_watch, &cases[i].options, &handler, NULL), KI_OK);
        step(&self);
        assert_string_equal(self.target, cases[i].want);
        close_fixture(&self);
    }
}

/* --- responses ---------------------------------------------------------------------------------------------------- */

typedef struct exchange_case {
    const char *name;
    bool watch;
    response response;
    const char *want;    /* the trace */
    const char *message; /* a part of the end's message, or NULL */
    const char *bad;     /* a part of the last bad object's message, or NULL */
    ki_category category;
} exchange_case;

static const exchange_case exchange_cases[] = {
    { "an empty list", false, { 200, NULL, LIST(""), 0, 0, KI_OK }, "end(9,,-1)", NULL, NULL, 0 },
    { .name = "two items",
      .response = { 200, "application/json; charset=utf-8", LIST(POD("a", "1") "," POD("b", "2")), 0, 0, KI_OK },
      .want = "n/a@1 n/b@2 end(9,,-1)" },
    { .name = "a page",
      .response = { 200, NULL,
                    "{\"items\":[" POD("a", "1") "],\"metadata\":{\"continue\":\"tok\",\"remainingItemCount\":3,"
                                                 "\"resourceVersion\":\"9\"},\"kind\":\"PodList\"}",
                    0, 0, KI_OK },
      .want = "n/a@1 end(9,tok,3)" },
    { "a bad item",
      false,
      { 200, NULL, LIST(POD("a", "1") ",{\"metadata\":{\"namespace\":\"n\"}}," POD("b", "2")), 0, 0, KI_OK },
      "n/a@1 bad() n/b@2 end(9,,-1)",
      NULL,
      "list pods in all namespaces: ",
      0 },
    { "an item of another kind",
      false,
      { 200, NULL, LIST("{\"kind\":\"Node\",\"metadata\":{\"name\":\"x\"}}," POD("b", "2")), 0, 0, KI_OK },
      "bad() n/b@2 end(9,,-1)",
      NULL,
      "expected kind Pod, got Node",
      0 },
    { "an item that is too large",
      false,
      { 200, NULL,
        LIST("{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"},\"spec\":\"" A100 A100 A100 A100 "\"}"
             "," POD("b", "2")),
        0, 0, KI_OK },
      "bad(n/x) n/b@2 end(9,,-1)",
      NULL,
      "larger than 400 bytes",
      0 },
    { "a list cut by the connection",
      false,
      { 200, NULL, "{\"kind\":\"PodList\"", 0, 0, KI_ERR_UNEXPECTED_EOF },
      "end(unexpected EOF)",
      "list pods in all namespaces: the test's server says so",
      NULL,
      KI_CATEGORY_RETRY },
    { "a list cut without an error",
      false,
      { 200, NULL, "{\"kind\":\"PodList\"", 0, 0, KI_OK },
      "end(unexpected EOF)",
      "list pods in all namespaces: ",
      NULL,
      KI_CATEGORY_RETRY },
    { "a list that is no list",
      false,
      { 200, NULL, "{\"kind\":\"Table\",\"metadata\":{\"resourceVersion\":\"1\"}}", 0, 0, KI_OK },
      "end(protocol violation)",
      "Table",
      NULL,
      KI_CATEGORY_SERVER },
    { "a list that is no JSON",
      false,
      { 200, NULL, "<html>", 0, 0, KI_OK },
      "end(protocol violation)",
      "list pods",
      NULL,
      KI_CATEGORY_SERVER },
    { "another content type",
      false,
      { 200, "text/html", "<html>", 0, 0, KI_OK },
      "end(protocol violation)",
      "expected application/json, got \"text/html\"",
      NULL,
      KI_CATEGORY_SERVER },
    { "a content type that only begins alike",
      true,
      { 200, "application/jsonp", "", 0, 0, KI_OK },
      "end(protocol violation)",
      "got \"application/jsonp\"",
      NULL,
      KI_CATEGORY_SERVER },
    { "no connection",
      false,
      { 0, NULL, NULL, 0, 0, KI_ERR_CONNECT },
      "end(no connection)",
      "list pods in all namespaces: the test's server says so",
      NULL,
      KI_CATEGORY_RETRY },
    { "no head",
      true,
      { 0, NULL, NULL, 0, 0, KI_OK },
      "end(protocol violation)",
      "has no head",
      NULL,
      KI_CATEGORY_SERVER },
    { "forbidden",
      false,
      { 403, NULL, STATUS("403", "Forbidden"), 0, 0, KI_OK },
      "end(http error)",
      "words of the server",
      NULL,
      KI_CATEGORY_CREDENTIALS },
    { "an error's body cut",
      false,
      { 503, "text/plain", "busy", 0, 0, KI_ERR_UNEXPECTED_EOF },
      "end(http error)",
      "list pods",
      NULL,
      KI_CATEGORY_RETRY },
    { "an error without a body",
      true,
      { 401, NULL, "", 0, 0, KI_OK },
      "end(http error)",
      "watch pods in all namespaces",
      NULL,
      KI_CATEGORY_CREDENTIALS },
    { "expired",
      true,
      { 410, NULL, STATUS("410", "Expired"), 0, 0, KI_OK },
      "end(expired)",
      "words of the server",
      NULL,
      KI_CATEGORY_RETRY },
    { "success of another kind",
      false,
      { 204, NULL, "", 0, 0, KI_OK },
      "end(protocol violation)",
      "expected HTTP 200, got 204",
      NULL,
      KI_CATEGORY_SERVER },
    { "a redirect", false, { 302, NULL, "", 0, 0, KI_OK }, "end(http error)", "302", NULL, KI_CATEGORY_SERVER },
    { "a watch that says nothing", true, { 200, NULL, "", 0, 0, KI_OK }, "open end(ok,opened)", NULL, NULL, 0 },
    { "events, two of them on one line",
      true,
      { 200, "application/json;stream=watch",
        "{\"type\":\"ADDED\",\"object\":" POD("a", "2") "}" EVENT("MODIFIED", POD("a", "3"))
            EVENT("DELETED", POD("a", "4")),
        0, 0, KI_OK },
      "open +n/a@2 *n/a@3 -n/a@4 end(ok,opened)",
      NULL,
      NULL,
      0 },
    { "bookmarks",
      true,
      { 200, NULL, BOOKMARK("5", "") BOOKMARK("6", END("false")) BOOKMARK("7", END("true")) BOOKMARK("", END("true")),
        0, 0, KI_OK },
      "open mark(5) mark(6) mark(7!) mark(!) end(ok,opened)",
      NULL,
      NULL,
      0 },
    { "bad bookmarks",
      true,
      { 200, NULL,
        BOOKMARK("", "") EVENT("BOOKMARK", "{\"kind\":\"Node\",\"metadata\":{\"resourceVersion\":\"3\"}}")
            EVENT("ADDED", POD("a", "2")),
        0, 0, KI_OK },
      "open bad() bad() +n/a@2 end(ok,opened)",
      NULL,
      "bookmark of kind Pod, got Node",
      0 },
    { "an error in the stream",
      true,
      { 200, NULL, EVENT("ERROR", STATUS("410", "Expired")) EVENT("ADDED", POD("a", "2")), 0, 0, KI_OK },
      "open end(expired,opened,in stream)",
      "watch pods in all namespaces: ",
      NULL,
      KI_CATEGORY_RETRY },
    { "an internal error in the stream",
      true,
      { 200, NULL, EVENT("ERROR", STATUS("500", "InternalError")), 0, 0, KI_OK },
      "open end(http error,opened,in stream)",
      "words of the server",
      NULL,
      KI_CATEGORY_SERVER },
    { "an error in the stream that is no Status",
      true,
      { 200, NULL, EVENT("ERROR", POD("a", "2")) EVENT("ADDED", POD("a", "3")), 0, 0, KI_OK },
      "open end(http error,opened,in stream)",
      "watch pods in all namespaces: ",
      NULL,
      KI_CATEGORY_SERVER },
    { "a table in the stream",
      true,
      { 200, NULL, EVENT("ADDED", "{\"kind\":\"Table\",\"metadata\":{}}") EVENT("ADDED", POD("a", "2")), 0, 0, KI_OK },
      "open bad() +n/a@2 end(ok,opened)",
      NULL,
      "watch pods",
      0 },
    { "an event that is no JSON",
      true,
      { 200, NULL, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"},oops}}" EVENT("ADDED", POD("a", "2")),
        0, 0, KI_OK },
      "open bad() +n/a@2 end(ok,opened)",
      NULL,
      "watch pods",
      0 },
    { "an event of an unknown type",
      true,
      { 200, NULL, EVENT("MERGED", POD("a", "2")) EVENT("ADDED", POD("a", "2")), 0, 0, KI_OK },
      "open bad(n/a) +n/a@2 end(ok,opened)",
      NULL,
      "watch pods",
      0 },
    { "a stream that is no JSON",
      true,
      { 200, NULL, EVENT("ADDED", POD("a", "2")) "]", 0, 0, KI_OK },
      "open +n/a@2 end(protocol violation,opened)",
      "watch pods",
      NULL,
      KI_CATEGORY_SERVER },
    { "half an event behind one without a newline, at a clean end",
      true,
      { 200, NULL, EVENT("ADDED", POD("a", "2")) "{\"type\":\"MODIFIED\",\"object\":" POD("a", "3") "}{", 0, 0, KI_OK },
      "open +n/a@2 *n/a@3 end(unexpected EOF,opened)",
      "in the middle of an event",
      NULL,
      KI_CATEGORY_RETRY },
    { "a watch cut between two events",
      true,
      { 200, NULL, EVENT("ADDED", POD("a", "2")), 0, 0, KI_ERR_UNEXPECTED_EOF },
      "open +n/a@2 end(unexpected EOF,opened)",
      "the test's server says so",
      NULL,
      KI_CATEGORY_RETRY },
};

enum {
    EXCHANGE_CASES = sizeof exchange_cases / sizeof *exchange_cases
};

static void run_exchange(fixture *self, const exchange_case *one, size_t chunk, const ki_allocator *allocator) {
    assert_int_equal(open_fixture(self, allocator, &pods), KI_OK);
    self->response = one->response;
    self->response.chunk = chunk;
    assert_int_equal(one->watch ? start_watch(self) : start_list(self), KI_OK);
    assert_string_equal(self->trace, "");
    step(self);
}

TEST(every_response_is_reported_as_it_is_in_any_chunks) {
    static const size_t chunks[] = { 0, 1, 2, 3, 7, 64 };
    for (size_t i = 0; i < EXCHANGE_CASES; i++) {
        const exchange_case *one = &exchange_cases[i];
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            fixture self;
            run_exchange(&self, one, chunks[c], NULL);
            if (strcmp(self.trace, one->want) != 0)
                fail_msg("%s, chunks of %zu: %s; %s", one->name, chunks[c], self.trace, self.end.message);
            if (one->message && !strstr(self.end.message, one->message))
                fail_msg("%s: %s", one->name, self.end.message);
            if (one->bad && !strstr(self.bad.message, one->bad))
                fail_msg("%s: %s", one->name, self.bad.message);
            if (strstr(one->want, "in stream"))
                assert_true(self.is_stopped); /* nothing of such a watch stays open */
            if (self.end.category != one->category)
                fail_msg("%s: category %d, %s", one->name, (int)self.end.category, self.end.message);
            close_fixture(&self);
        }
    }
}

TEST(a_resource_of_its_own_may_be_called_table) {
    static const selected tables = { .resource = { "furniture.example", "v1", "tables", "Table", true } };
    fixture self;
    assert_int_equal(open_fixture(&self, NULL, &tables), KI_OK);
    self.response.body = EVENT("ADDED", "{\"kind\":\"Table\",\"apiVersion\":\"furniture.example/v1\",\"metadata\":{"
                                        "\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"2\"}}");
    assert_int_equal(start_watch(&self), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "open +n/a@2 end(ok,opened)");
    close_fixture(&self);
}

#define PARTIAL(name, version, more) \
    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"n\",\"resourceVersion\":\"" version "\"" more "}}"

TEST(metadata_alone_is_requested_and_taken_in_both_kinds) {
    static const selected metadata = { .resource = { "", "v1", "pods", "Pod", true }, .given.keep = KI_KEEP_METADATA };
    fixture self;
    assert_int_equal(open_fixture(&self, NULL, &metadata), KI_OK);
    ki_object_format_set_keep(self.format, KI_KEEP_METADATA);
    self.response.body = "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
                         "\"resourceVersion\":\"9\"},\"items\":[" PARTIAL("a", "1", "") "," POD("b", "2") "]}";
    assert_int_equal(start_list(&self), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "n/a@1 n/b@2 end(9,,-1)");
    assert_string_equal(self.accept,
                        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
    self.trace[0] = '\0';
    self.response.body = EVENT("ADDED", PARTIAL("a", "1", "")) EVENT("MODIFIED", POD("a", "3"))
        EVENT("ADDED", "{\"kind\":\"Node\",\"metadata\":{\"name\":\"x\"}}")
            EVENT("BOOKMARK", PARTIAL("", "8", ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"));
    assert_int_equal(start_watch(&self), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "open +n/a@1 *n/a@3 bad(x) mark(8!) end(ok,opened)");
    assert_string_equal(self.accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    close_fixture(&self);
}

TEST(metadata_is_another_kind_where_whole_objects_are_requested) {
    fixture self;
    assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
    self.response.body = EVENT("ADDED", PARTIAL("a", "1", ""));
    assert_int_equal(start_watch(&self), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "open bad(n/a) end(ok,opened)");
    assert_string_equal(self.accept, "application/json");
    close_fixture(&self);
}

TEST(retry_after_of_the_head_is_in_the_error) {
    fixture self;
    assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
    self.response.status = 429;
    assert_int_equal(start_list(&self), KI_OK);
    step(&self);
    assert_int_equal(self.end.retry_after_ms, 7000);
    assert_int_equal(self.end.http_status, 429);
    close_fixture(&self);
}

/* Whatever the byte after which the stream ends, the whole events before it were delivered, and the end is told
 * once. */
TEST(a_stream_cut_at_any_byte_delivers_what_was_whole) {
    static const char body[] = EVENT("ADDED", POD("a", "2")) EVENT("MODIFIED", POD("\xc3\xa4", "3"));
    const size_t first = sizeof(EVENT("ADDED", POD("a", "2"))) - 2, all = sizeof body - 2; /* without the line ends */
    for (size_t size = 1; size < sizeof body - 1; size++) {
        fixture self;
        assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
        self.response.body = body;
        self.response.size = size;
        self.response.chunk = 1;
        self.response.ended = KI_ERR_UNEXPECTED_EOF;
        assert_int_equal(start_watch(&self), KI_OK);
        step(&self);
        assert_int_equal(self.arrivals, size); /* each byte is a sign of life, whether or not it ends an event */
        const char *want = size < first ? "open end(unexpected EOF,opened)"
                           : size < all ? "open +n/a@2 end(unexpected EOF,opened)"
                                        : "open +n/a@2 *n/\xc3\xa4@3 end(unexpected EOF,opened)";
        assert_string_equal(self.trace, want);
        close_fixture(&self);
    }
}

TEST(a_list_cut_at_any_byte_is_never_taken_for_whole) {
    static const char body[] = LIST(POD("a", "1") "," POD("b", "2"));
    for (size_t size = 1; size < sizeof body - 1; size++) {
        fixture self;
        assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
        self.response.body = body;
        self.response.size = size;
        assert_int_equal(start_list(&self), KI_OK);
        step(&self);
        assert_int_equal(self.end.code, KI_ERR_UNEXPECTED_EOF);
        close_fixture(&self);
    }
}

TEST(after_cancel_in_any_callback_nothing_comes) {
    for (size_t i = 0; i < EXCHANGE_CASES; i++) {
        for (int freed = 0; freed < 2; freed++) {
            for (int at = 1;; at++) {
                for (size_t chunk = 0; chunk < 2; chunk++) {
                    fixture self;
                    assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
                    self.response = exchange_cases[i].response;
                    self.response.chunk = chunk;
                    self.cancel_at = at;
                    self.free_at_cancel = freed;
                    assert_int_equal(exchange_cases[i].watch ? start_watch(&self) : start_list(&self), KI_OK);
                    step(&self);
                    step(&self);
                    assert_in_range(self.callbacks, 1, at);
                    bool enough = self.callbacks < at;
                    close_fixture(&self);
                    if (enough)
                        goto next;
                }
            }
        next:;
        }
    }
}

TEST(cancelling_before_the_response_silences_it_and_frees_the_way) {
    fixture self;
    assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
    self.response.body = LIST("");
    assert_int_equal(start_list(&self), KI_OK);
    assert_int_equal(start_list(&self), KI_ERR_STATE);
    assert_int_equal(start_watch(&self), KI_ERR_STATE);
    self.list_watch->ops->cancel(self.list_watch);
    self.list_watch->ops->cancel(self.list_watch);
    step(&self);
    assert_string_equal(self.trace, "");
    assert_int_equal(start_list(&self), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "end(9,,-1)");
    assert_int_equal(start_list(&self), KI_OK);
    close_fixture(&self); /* under way */
}

TEST(the_end_may_begin_the_next_one) {
    fixture self;
    assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
    self.response.body = LIST(POD("a", "1"));
    self.again = true;
    assert_int_equal(start_list(&self), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "n/a@1 end(9,,-1) n/a@1 end(9,,-1)");
    self.response = (response){ .status = 200, .body = "[" };
    self.again = true;
    assert_int_equal(start_list(&self), KI_OK); /* also where the end is ours, in the middle of a chunk */
    self.trace[0] = '\0';
    step(&self);
    assert_string_equal(self.trace, "end(protocol violation) end(protocol violation)");
    close_fixture(&self);
}

TEST(an_endless_error_body_is_cut_short) {
    size_t size = 1024 * 1024;
    char *body = malloc(size);
    assert_non_null(body);
    memset(body, 'x', size);
    static const size_t chunks[] = { 0, 1000, 65536 };
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        fixture self;
        assert_int_equal(open_fixture(&self, NULL, &pods), KI_OK);
        self.response = (response){ .status = 500, .body = body, .size = size, .chunk = chunks[i] };
        assert_int_equal(start_list(&self), KI_OK);
        step(&self);
        assert_string_equal(self.trace, "end(http error)");
        close_fixture(&self);
    }
    free(body);
}

TEST(messages_say_what_was_tried) {
    static const struct {
        selected of;
        const char *begin;
    } cases[] = {
        { { .resource = { "", "v1", "pods", "Pod", true } }, "list pods in all namespaces: " },
        { { .resource = { "", "v1", "pods", "Pod", true }, .given.namespace_name = "ns" },
          "list pods in namespace ns: " },
        { { .resource = { "", "v1", "nodes", "Node", false }, .given.namespace_name = "ns" }, "list nodes: " },
        { { .resource = { "apps", "v1", "deployments", "Deployment", true } },
          "list deployments.apps in all namespaces: " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture self;
        assert_int_equal(open_fixture(&self, NULL, &cases[i].of), KI_OK);
        self.response.status = 404;
        assert_int_equal(start_list(&self), KI_OK);
        step(&self);
        assert_int_equal(strncmp(self.end.message, cases[i].begin, strlen(cases[i].begin)), 0);
        close_fixture(&self);
    }
    fixture self;
    const selected nothing = { .given.namespace_name = "x" };
    assert_int_equal(open_fixture(&self, NULL, &nothing), KI_ERR_INVALID);
    close_fixture(&self);
}

/* The n-th allocation fails: an error somewhere, never a lost object without a report, and no leak. */
TEST(every_lack_of_memory_is_reported) {
    for (size_t i = 0; i < EXCHANGE_CASES; i++) {
        const exchange_case *one = &exchange_cases[i];
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            fixture self;
            ki_status status = open_fixture(&self, &memory.allocator, &pods);
            if (!status) {
                self.response = one->response;
                self.response.chunk = 5;
                status = one->watch ? start_watch(&self) : start_list(&self);
            }
            bool failed = scarce_memory_failed(&memory);
            assert_int_equal(status, failed ? KI_ERR_NO_MEMORY : KI_OK);
            if (!status) {
                step(&self);
                failed = scarce_memory_failed(&memory);
                /* What was already bad may be told as such; all else is lack of memory. */
                if (failed && self.end.code != KI_ERR_NO_MEMORY && strcmp(self.trace, one->want) != 0 &&
                    !strstr(self.trace, "end(http error") && !strstr(self.trace, "end(expired"))
                    fail_msg("%s, allocation %zu: %s", one->name, memory.fail_at, self.trace);
                assert_non_null(strstr(self.trace, "end("));
            }
            close_fixture(&self);
        }
    }
}
