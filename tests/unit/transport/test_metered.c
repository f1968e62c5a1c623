/* test_metered.c: which requests are counted, under which labels, and which durations are observed. What every
 * transport promises is in test_memory_transport.c. */
#include "src/base/error.h"
#include "src/transport/metered.h"
#include "testing/memory/transport.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

enum {
    TEXT = 16384
};

typedef struct stage {
    test_engine engine;
    ki_transport *transport;
    ki_meter *meter;
    ki_exchange *exchange;
    kt_memory_call *call;
    char samples[TEXT];
} stage;

static void on_head(const ki_response_head *head, void *user) {
    (void)head;
    (void)user;
}

static void on_data(const char *data, size_t size, void *user) {
    (void)data;
    (void)size;
    (void)user;
}

static void on_end(const ki_error *err, void *user) {
    stage *s = user;
    (void)err;
    s->exchange = NULL;
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    stage *s = user;
    (void)request;
    s->call = call;
}

static void abandoned(kt_memory_call *call, void *user) {
    stage *s = user;
    (void)call;
    s->call = NULL;
}

static void open_stage(stage *s, const char *url) {
    memset(s, 0, sizeof *s);
    const kt_memory_server server = { serve, abandoned, s };
    assert_true(test_engine_open(&s->engine, NULL, 1));
    assert_int_equal(kt_memory_transport_new(s->engine.engine, &server, &s->transport, NULL), KI_OK);
    assert_int_equal(ki_meter_new(s->engine.engine, ki_str_of(url), &s->meter, NULL), KI_OK);
    s->transport->meter = s->meter;
}

static void close_stage(stage *s) {
    ki_transport_free(s->transport);
    ki_meter_free(s->meter);
    test_engine_close(&s->engine);
}

/* Sends a request. `head_ms` later its response begins (with status 0 it fails), and `rest_ms` later it ends. */
static void request(stage *s, const char *method, bool is_watch, int status, int64_t head_ms, int64_t rest_ms) {
    const ki_request sent = { .method = method, .target = "/api/v1/pods", .endless = is_watch };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = s };
    const ki_response_head head = { status, -1, "application/json" };
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_CONNECT, "refused");
    assert_int_equal(ki_transport_send(s->transport, &sent, &sink, &s->exchange, NULL), KI_OK);
    assert_true(test_engine_advance(&s->engine, head_ms));
    if (status)
        assert_true(kt_memory_call_head(s->call, &head));
    assert_true(test_engine_advance(&s->engine, rest_ms));
    kt_memory_call_end(s->call, status ? NULL : &err);
}

static void note(const ki_sample *sample, void *user) {
    stage *s = user;
    size_t used = strlen(s->samples);
    used += (size_t)snprintf(s->samples + used, TEXT - used, "%s", sample->metric->name);
    for (size_t i = 0; i < sample->label_count; i++)
        used +=
            (size_t)snprintf(s->samples + used, TEXT - used, "/%s=%s", sample->labels[i].name, sample->labels[i].value);
    used += (size_t)snprintf(s->samples + used, TEXT - used, " %g", sample->value);
    for (size_t i = 0; i < sample->metric->bound_count; i++)
        used += (size_t)snprintf(s->samples + used, TEXT - used, ",%d", (int)sample->buckets[i]);
    snprintf(s->samples + used, TEXT - used, "\n");
}

static void expect(stage *s, const char *name, const char *samples) {
    s->samples[0] = '\0';
    ki_meter_visit(s->meter, name, &(ki_metrics_visit){ note, s });
    assert_string_equal(s->samples, samples);
}

#define LABELS_OF(code) "/name=a/code=" code "/method=GET/host=10.0.0.1:6443"

TEST(each_attempt_is_counted_by_status_and_method) {
    stage s;
    open_stage(&s, "https://10.0.0.1:6443/base");
    expect(&s, "a", "");
    request(&s, "GET", true, 200, 0, 0); /* watches have no duration: see the next test */
    request(&s, "GET", true, 410, 0, 0);
    request(&s, "GET", true, 200, 0, 0);
    request(&s, "GET", true, 0, 0, 0);
    expect(&s, "a",
           "rest_client_requests" LABELS_OF("200") " 2\n"
                                                   "rest_client_requests" LABELS_OF(
                                                       "410") " 1\n"
                                                              "rest_client_requests" LABELS_OF("<error>") " 1\n");
    close_stage(&s);
}

TEST(a_duration_is_that_of_one_attempt_to_the_end_of_its_body) {
    stage s;
    open_stage(&s, "http://api");
    request(&s, "GET", false, 200, 20, 10);      /* 30 ms */
    request(&s, "GET", false, 503, 0, 500);      /* 0.5 s */
    request(&s, "DELETE", false, 0, 61000, 0);   /* no response */
    request(&s, "PROPFIND", false, 405, 0, 0);   /* a raw request */
    request(&s, "GET", true, 200, 1000, 100000); /* a watch */
    expect(&s, "",
           "rest_client_requests/name=/code=200/method=GET/host=api 2\n"
           "rest_client_requests/name=/code=503/method=GET/host=api 1\n"
           "rest_client_requests/name=/code=<error>/method=DELETE/host=api 1\n"
           "rest_client_requests/name=/code=405/method=OTHER/host=api 1\n"
           "rest_client_request_duration_seconds/name=/verb=GET/host=api 0.53,0,0,1,1,2,2,2,2,2,2,2,2\n"
           "rest_client_request_duration_seconds/name=/verb=DELETE/host=api 61,0,0,0,0,0,0,0,0,0,0,0,0\n"
           "rest_client_request_duration_seconds/name=/verb=OTHER/host=api 0,1,1,1,1,1,1,1,1,1,1,1,1\n");
    close_stage(&s);
}

TEST(a_cancelled_request_is_an_error_unless_its_response_had_begun) {
    stage s;
    open_stage(&s, "");
    const ki_request sent = { .method = "GET", .target = "/api/v1/pods", .endless = true };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = &s };
    const ki_response_head head = { 200, -1, "application/json" };
    for (int has_begun = 0; has_begun < 2; has_begun++) {
        assert_int_equal(ki_transport_send(s.transport, &sent, &sink, &s.exchange, NULL), KI_OK);
        assert_true(test_engine_advance(&s.engine, 0));
        if (has_begun)
            assert_true(kt_memory_call_head(s.call, &head));
        ki_transport_cancel(s.transport, s.exchange);
    }
    expect(&s, "",
           "rest_client_requests/name=/code=<error>/method=GET/host=none 1\n"
           "rest_client_requests/name=/code=200/method=GET/host=none 1\n");
    close_stage(&s);
}

TEST(statuses_beyond_what_is_kept_are_not_counted) {
    stage s;
    open_stage(&s, "");
    for (int status = 200; status < 300; status++)
        request(&s, "GET", true, status, 0, 0);
    s.samples[0] = '\0';
    ki_meter_visit(s.meter, "", &(ki_metrics_visit){ note, &s });
    assert_non_null(strstr(s.samples, "code=200/"));
    assert_null(strstr(s.samples, "code=299/"));
    close_stage(&s);
}
