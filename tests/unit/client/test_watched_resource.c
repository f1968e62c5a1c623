/* test_watched_resource.c: a watch of any resource, of a namespace, of all or of none: its path, and its events as
 * objects, over the memory transport. */

#include "testing/memory/transport.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

enum {
    TEXT = 2048
};

typedef struct fixture {
    test_engine engine;
    const char *content_type, *body;
    char target[256];
    char trace[TEXT]; /* "+KEY@VERSION JSON; " for each event */
} fixture;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *self = user;
    const ki_response_head head = { 200, -1, self->content_type };
    snprintf(self->target, sizeof self->target, "%s %s", request->method, request->target);
    if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, self->body, strlen(self->body)))
        kt_memory_call_end(call, NULL);
}

static void note(fixture *self, const char *text) {
    size_t used = strlen(self->trace), size = strlen(text);
    assert_true(used + size < sizeof self->trace);
    memcpy(self->trace + used, text, size + 1);
}

static void on_open(void *user) {
    note(user, "open; ");
}

static void on_bytes(void *user) {
    (void)user;
}

static void on_read(int64_t until, void *user) {
    (void)until;
    (void)user;
}

static void on_event(ki_event_type type, ki_object *obj, void *user) {
    char text[TEXT];
    ki_value json = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(obj, &json, NULL), KI_OK);
    snprintf(text, sizeof text, "%c%s %s; ",
             type == KI_EVENT_ADD      ? '+'
             : type == KI_EVENT_UPDATE ? '*'
                                       : '-',
             ki_object_key(obj), json.text);
    note(user, text);
    ki_value_clear(&json);
}

static void on_bookmark(const char *resource_version, bool initial_events_end, void *user) {
    (void)resource_version;
    (void)initial_events_end;
    note(user, "bookmark; ");
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    (void)bad;
    note(user, "bad; ");
}

static void on_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    (void)opened;
    (void)in_stream;
    note(user, err ? "failed" : "end");
}

/* Watches once; the trace has all that came. */
static void watch(fixture *self, const selected *of, const char *content_type, const char *body) {
    ki_transport *transport = NULL;
    ki_object_format *format = NULL;
    ki_list_watch *source = NULL;
    const kt_memory_server server = { serve, NULL, self };
    const ki_watch_handler handler = { on_open, on_bytes, on_read, on_event, on_bookmark, on_bad_object, on_end, self };
    const ki_watch_options nothing = { .timeout_s = 0 };
    memset(self, 0, sizeof *self);
    self->content_type = content_type;
    self->body = body;
    assert_true(test_engine_open(&self->engine, NULL, 1));
    ki_engine *engine = self->engine.engine;
    assert_int_equal(kt_memory_transport_new(engine, &server, &transport, NULL), KI_OK);
    assert_int_equal(ki_object_format_new(ki_engine_allocator(engine), NULL, &format, NULL), KI_OK);
    assert_int_equal(source_of(of, engine, transport, format, NULL, &source), KI_OK);
    assert_int_equal(source->ops->watch(source, &nothing, &handler, NULL), KI_OK);
    assert_true(test_engine_settle(&self->engine));
    source->ops->free(source);
    ki_object_format_unref(format);
    ki_transport_free(transport);
    test_engine_close(&self->engine);
}

#define ITEM(metadata) "{\"apiVersion\":\"gtest/vtest\",\"kind\":\"rTest\",\"metadata\":{" metadata "}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define EVENTS(metadata) \
    EVENT("ADDED", ITEM(metadata)) EVENT("MODIFIED", ITEM(metadata)) EVENT("DELETED", ITEM(metadata))
#define TOLD(key, metadata) \
    "open; +" key " " ITEM(metadata) "; *" key " " ITEM(metadata) "; -" key " " ITEM(metadata) "; end"
#define CLUSTER "\"name\":\"it\",\"resourceVersion\":\"3\""
#define SPACED "\"name\":\"it\",\"namespace\":\"nstest\",\"resourceVersion\":\"3\""

TEST(the_events_of_any_resource_arrive_as_its_objects) {
    static const struct {
        bool namespaced;
        const char *namespace_name, *target, *body, *told;
    } cases[] = {
        { false, NULL, "GET /apis/gtest/vtest/rtests?watch=true", EVENTS(CLUSTER), TOLD("it", CLUSTER) },
        { true, NULL, "GET /apis/gtest/vtest/rtests?watch=true", EVENTS(SPACED), TOLD("nstest/it", SPACED) },
        { true, "nstest", "GET /apis/gtest/vtest/namespaces/nstest/rtests?watch=true", EVENTS(SPACED),
          TOLD("nstest/it", SPACED) },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture self;
        const selected of = { .resource = { "gtest", "vtest", "rtests", "rTest", cases[i].namespaced },
                              .given.namespace_name = cases[i].namespace_name };
        watch(&self, &of, "application/json", cases[i].body);
        assert_string_equal(self.target, cases[i].target);
        assert_string_equal(self.trace, cases[i].told);
    }
}

TEST(a_watch_is_read_as_json_or_not_at_all) {
    static const struct {
        const char *content_type;
        bool is_read;
    } cases[] = {
        { "application/json", true },
        { "application/json;stream=watch", true },
        { "application/vnd.x", false },
        { "application/vnd.kubernetes.protobuf;stream=watch", false },
        { "foobar", false },
        { "text/plain", false },
    };
    static const selected of = { .resource = { "gtest", "vtest", "rtests", "rTest", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture self;
        watch(&self, &of, cases[i].content_type, EVENTS(CLUSTER));
        assert_string_equal(self.trace, cases[i].is_read ? TOLD("it", CLUSTER) : "failed");
    }
}
