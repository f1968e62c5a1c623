/* http_source_stage.c: see http_source_stage.h. */
#include "tests/support/http_source_stage.h"
#include "tests/support/selected.h"

#include "tests/support/test.h"

const ki_resource things = { "example.com", "v1", "things", "Thing", true };

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    (void)request;
    ((http_source_stage *)user)->call = call;
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    ((http_source_stage *)user)->call = NULL;
}

static void on_object(ki_object *obj, void *user) {
    (void)obj;
    ((http_source_stage *)user)->objects++;
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    http_source_stage *s = user;
    (void)bad;
    if (++s->bad == s->cancel_at)
        s->source->ops->cancel(s->source);
}

static void on_list_end(const ki_list_result *result, const ki_error *err, void *user) {
    http_source_stage *s = user;
    (void)result;
    s->ends++;
    s->call = NULL;
    s->end = err ? *err : (ki_error)KI_ERROR_INIT;
}

static void on_open(void *user) {
    (void)user;
}

static void on_event(ki_event_type type, ki_object *obj, void *user) {
    (void)type;
    on_object(obj, user);
}

static void on_bookmark(const char *version, bool initial_events_end, void *user) {
    (void)version;
    (void)initial_events_end;
    (void)user;
}

static void on_watch_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    assert_true(opened);
    assert_false(in_stream);
    on_list_end(NULL, err, user);
}

void http_source_open_in(http_source_stage *s, const ki_resource *resource, const ki_allocator *allocator) {
    const selected of = { .resource = *resource };
    const kt_memory_server server = { serve, abandoned, s };
    *s = (http_source_stage){ .ends = 0 };
    assert_true(test_engine_open(&s->engine, allocator, 1));
    ki_engine *engine = s->engine.engine;
    assert_int_equal(kt_memory_transport_new(engine, &server, &s->transport, NULL), KI_OK);
    assert_int_equal(ki_object_format_new(ki_engine_allocator(engine), NULL, &s->format, NULL), KI_OK);
    assert_int_equal(source_of(&of, engine, s->transport, s->format, NULL, &s->source), KI_OK);
}

void http_source_open(http_source_stage *s, const ki_resource *resource) {
    http_source_open_in(s, resource, NULL);
}

void http_source_close(http_source_stage *s) {
    s->source->ops->free(s->source);
    ki_object_format_unref(s->format);
    ki_transport_free(s->transport);
    test_engine_close(&s->engine);
}

static void send_head(http_source_stage *s) {
    assert_true(test_engine_settle(&s->engine));
    assert_non_null(s->call);
    assert_true(kt_memory_call_head(s->call, &(ki_response_head){ 200, -1, "application/json" }));
}

void http_source_list(http_source_stage *s) {
    const ki_list_handler handler = { on_object, on_bad_object, on_list_end, s };
    const ki_list_options options = { .idle_timeout_ns = KI_SECONDS(90) };
    assert_int_equal(s->source->ops->list(s->source, &options, &handler, NULL), KI_OK);
    send_head(s);
}

void http_source_watch(http_source_stage *s) {
    const ki_watch_handler handler = { .on_open = on_open,
                                       .on_event = on_event,
                                       .on_bookmark = on_bookmark,
                                       .on_bad_object = on_bad_object,
                                       .on_end = on_watch_end,
                                       .user = s };
    const ki_watch_options options = { .resource_version = "1", .timeout_s = 300, .idle_timeout_ns = KI_SECONDS(90) };
    assert_int_equal(s->source->ops->watch(s->source, &options, &handler, NULL), KI_OK);
    send_head(s);
}
