/* byte_stage.c: see byte_stage.h. */

#include "tests/support/byte_stage.h"
#include "src/factory/factory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const ki_response_head ok = { 200, -1, "application/json" };

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    byte_stage *s = user;
    bool watches = strstr(request->target, "watch=true") != NULL;
    snprintf(s->target, sizeof s->target, "%s", request->target);
    s->watches += watches;
    s->lists += !watches;
    if (watches)
        s->watch = call;
    if (!kt_memory_call_head(call, &ok) || watches)
        return;
    if (kt_memory_call_data(call, s->list, strlen(s->list)))
        kt_memory_call_end(call, NULL);
}

static void abandoned(kt_memory_call *call, void *user) {
    byte_stage *s = user;
    if (s->watch == call)
        s->watch = NULL;
}

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    byte_stage *s = user;
    (void)informer;
    size_t used = strlen(s->errors);
    assert_true(cause->message[0] != '\0');
    if (strstr(cause->message, "the watch resumes")) {
        s->resumes++;
        return;
    }
    snprintf(s->errors + used, sizeof s->errors - used, "%s%s:%s", used ? " " : "", ki_status_name(cause->code), key);
}

static void log_line(ki_log_level level, const char *component, const char *message, void *user) {
    byte_stage *s = user;
    (void)level, (void)component;
    if (strstr(message, ": synced, "))
        snprintf(s->synced, sizeof s->synced, "%s", message);
}

static void on_add(const ki_event *event, void *user) {
    byte_stage *s = user;
    (void)event;
    s->adds++;
}

static void on_delete(const ki_event *event, void *user) {
    byte_stage *s = user;
    (void)event;
    s->deletes++;
}

void byte_stage_open(byte_stage *s, const char *list, ki_factory_options factory, const ki_informer_options *options) {
    const ki_handler handler = { .on_add = on_add, .on_delete = on_delete };
    memset(s, 0, sizeof *s);
    s->list = list;
    const ki_log log = { log_line, s, KI_LOG_INFO };
    assert_true(test_engine_open_logged(&s->engine, NULL, 1, &log));
    const kt_memory_server server = { serve, abandoned, s };
    assert_int_equal(kt_memory_transport_new(s->engine.engine, &server, &s->transport, NULL), KI_OK);
    factory.engine = s->engine.engine;
    assert_int_equal(ki_factory_new_on(NULL, s->transport, &factory, &s->factory, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(s->factory, KI_CONFIGMAPS, options, &s->informer, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(s->informer, &handler, s, NULL, NULL, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(s->informer, on_error, s, NULL), KI_OK);
    assert_int_equal(ki_factory_start(s->factory, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

void byte_stage_close(byte_stage *s) {
    ki_factory_free(s->factory);
    ki_transport_free(s->transport);
    test_engine_close(&s->engine);
}

/* Returns false if the watch has ended. */
static bool send_once(byte_stage *s, const char *bytes, size_t size, size_t piece) {
    for (size_t at = 0; at < size; at += piece) {
        if (!s->watch)
            return false;
        (void)kt_memory_call_data(s->watch, bytes + at, size - at < piece ? size - at : piece);
        assert_true(test_engine_settle(&s->engine));
    }
    return s->watch != NULL;
}

void byte_stage_send_in_pieces(byte_stage *s, const char *bytes, size_t size, size_t piece) {
    enum {
        JITTER_MS = 1000
    };
    int resumes;
    assert_non_null(s->watch);
    do {
        resumes = s->resumes;
        if (send_once(s, bytes, size, piece) || s->resumes == resumes)
            return;
        assert_true(test_engine_advance(&s->engine, JITTER_MS));
    } while (s->watch);
}

void byte_stage_send(byte_stage *s, const char *bytes, size_t size) {
    byte_stage_send_in_pieces(s, bytes, size, size);
}

const char *byte_stage_end_watch(byte_stage *s) {
    enum {
        JITTER_MS = 1000
    };
    assert_non_null(s->watch);
    int watches = s->watches;
    kt_memory_call_end(s->watch, NULL);
    assert_true(test_engine_settle(&s->engine));
    if (s->watches == watches)
        assert_true(test_engine_advance(&s->engine, JITTER_MS));
    return s->target;
}
