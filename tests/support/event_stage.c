/* event_stage.c: see event_stage.h. */
#include "tests/support/event_stage.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/factory/factory.h"
#include "testing/rest/rest.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t now(void *user) {
    const event_stage *stage = user;
    return stage->engine.now;
}

static int64_t wall_now(void *user) {
    const event_stage *stage = user;
    return KI_SECONDS(EVENT_STAGE_SECONDS) + EVENT_STAGE_NANOSECONDS + stage->engine.now - KI_SECONDS(1000);
}

static void take_note(event_stage *stage, const ki_request *request) {
    size_t number = stage->requests++;
    if (number >= EVENT_STAGE_REQUESTS_MAX)
        return;
    stage->at_ms[number] = (stage->engine.now - KI_SECONDS(1000)) / 1000000;
    stage->text_at[number] = stage->texts.size;
    ki_buffer_printf(&stage->texts, "%s %s ", request->method, request->target);
    ki_buffer_append(&stage->texts, request->body.data, request->body.size);
    ki_buffer_append(&stage->texts, "", 1);
    if (stage->texts.failed)
        abort();
}

static void fail_call(kt_memory_call *call, ki_status code) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, code, "by the script");
    kt_memory_call_end(call, &err);
}

static void refuse(kt_memory_call *call, int status) {
    char body[256];
    const char *reason = status == 404 ? "NotFound" : status == 409 ? "AlreadyExists" : "Forbidden";
    const ki_response_head head = { status, -1, "application/json" };
    snprintf(body, sizeof body,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"%s\",\"code\":%d,"
             "\"details\":{\"causes\":[{\"reason\":\"%s\"}]}}",
             reason, status, status == 403 ? "NamespaceTerminating" : "");
    if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, body, strlen(body)))
        kt_memory_call_end(call, NULL);
}

/* Serves a request. `abandoned` does nothing: the adapter needs it for watches only, and a recorder opens none. */
static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    event_stage *stage = user;
    size_t number = stage->requests;
    int response = number < stage->scripted ? stage->script[number] : stage->then;
    take_note(stage, request);
    const kt_memory_server *real = kt_memory_adapter_server(stage->adapter);
    switch (response) {
    case EVENT_RESPONSE_REAL:
        real->serve(call, request, real->user);
        break;
    case EVENT_RESPONSE_SILENT:
        break;
    case EVENT_RESPONSE_CUT:
        fail_call(call, KI_ERR_UNEXPECTED_EOF);
        break;
    case EVENT_RESPONSE_CONNECT:
        fail_call(call, KI_ERR_CONNECT);
        break;
    case EVENT_RESPONSE_GARBLED:
        kt_memory_call_end(call, NULL);
        break;
    default:
        refuse(call, response);
        break;
    }
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

static bool make_cluster(event_stage *stage) {
    static const char config_map[] =
        "{\"metadata\":{\"name\":\"x\",\"namespace\":\"shop\"}}"; /* creates the namespace */
    const kt_cluster_options options = { .seed = 1 };
    int64_t start_ms = (int64_t)EVENT_STAGE_SECONDS * 1000;
    return kt_cluster_new(NULL, &options, &stage->cluster, NULL) == KI_OK &&
           kt_cluster_put_json(stage->cluster, KI_CONFIGMAPS, KI_STR(config_map), start_ms, NULL, NULL) == KI_OK &&
           kt_memory_adapter_new(stage->engine.engine, stage->cluster, start_ms, &stage->adapter, NULL) == KI_OK;
}

static bool make_all(event_stage *stage, const ki_allocator *allocator, const ki_event_recorder_options *options) {
    const ki_clock clock = { .now = now, .user = stage, .wall_now = wall_now };
    const kt_memory_server server = { serve, abandoned, stage };
    return ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator, .clock = &clock, .seed = 1), &stage->engine.engine,
                         NULL) == KI_OK &&
           make_cluster(stage) &&
           kt_memory_transport_new(stage->engine.engine, &server, &stage->transport, NULL) == KI_OK &&
           ki_factory_new_on(NULL, stage->transport, &KI_FACTORY_OPTIONS(.engine = stage->engine.engine),
                             &stage->factory, NULL) == KI_OK &&
           ki_event_recorder_new(stage->factory, options, &stage->recorder, NULL) == KI_OK;
}

bool event_stage_make(event_stage *stage, const ki_allocator *allocator, const ki_event_recorder_options *options) {
    memset(stage, 0, sizeof *stage);
    stage->engine.now = KI_SECONDS(1000);
    ki_buffer_init(&stage->texts, &ki_allocator_default, 0);
    if (make_all(stage, allocator, options))
        return true;
    event_stage_close(stage);
    return false;
}

void event_stage_start(event_stage *stage) {
    assert_int_equal(ki_factory_start(stage->factory, NULL), KI_OK);
    event_stage_advance(stage, 0);
}

void event_stage_open(event_stage *stage, const ki_event_recorder_options *options) {
    assert_true(event_stage_make(stage, NULL, options));
    event_stage_start(stage);
}

void event_stage_close(event_stage *stage) {
    ki_event_recorder_free(stage->recorder);
    ki_factory_free(stage->factory);
    ki_transport_free(stage->transport);
    kt_memory_adapter_free(stage->adapter);
    kt_cluster_free(stage->cluster);
    ki_engine_free(stage->engine.engine);
    ki_buffer_free(&stage->texts);
}

void event_stage_advance(event_stage *stage, int64_t ms) {
    assert_true(ms ? test_engine_advance(&stage->engine, ms) : test_engine_settle(&stage->engine));
}

const char *event_stage_request(const event_stage *stage, size_t number) {
    return number < stage->requests && number < EVENT_STAGE_REQUESTS_MAX ? stage->texts.data + stage->text_at[number]
                                                                         : "";
}

ki_event_recorder_counts event_stage_counts(const event_stage *stage) {
    ki_event_recorder_counts counts;
    ki_event_recorder_count(stage->recorder, &counts);
    return counts;
}

size_t event_stage_stored(const event_stage *stage) {
    return kt_cluster_count(stage->cluster, KI_EVENTS); /* Events of both API groups: they are the same objects */
}

ki_event_record *event_record_of(const char *name, const char *type, const char *reason, const char *message,
                                 int64_t wall_ns) {
    char json[1024];
    ki_event_record *record = NULL;
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
             "\"uid\":\"uid-%s\",\"resourceVersion\":\"7\"}}",
             name, name);
    ki_object *obj = make_object_from_json(json);
    const ki_record given = KI_RECORD(.obj = obj, .type = type, .reason = reason, .message = message);
    if (ki_event_record_new(&ki_allocator_default, &given, wall_ns, &record))
        abort();
    ki_object_unref(obj);
    record->name_ns = wall_ns;
    return record;
}
