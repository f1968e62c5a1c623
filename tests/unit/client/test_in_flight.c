/* test_in_flight.c: the bound of a client's requests in flight: who waits, in which order, how waits end, and what does
 * not count. The server is in the process and the clock moves by hand. */
#include "src/client/client.h"
#include "src/client/term.h"
#include "tests/support/client_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_LIMIT = 32,
    STORM = 100
};

static client_stage stage;
static ki_pending_request *calls[STORM];

static int open_stage(void **state) {
    (void)state;
    memset(&stage, 0, sizeof stage);
    client_stage_open(&stage, NULL);
    stage.script[0] = (client_reply){ .status = CLIENT_NEVER };
    stage.script_size = 1;
    return 0;
}

static int close_stage(void **state) {
    (void)state;
    for (int i = 0; i < STORM; i++) {
        ki_pending_request_free(calls[i]);
        calls[i] = NULL;
    }
    client_stage_close(&stage);
    return 0;
}
#define IN_FLIGHT_TEST(name) TEST_WITH(open_stage, close_stage, name)

static bool on_data(const void *data, size_t size, void *user) {
    (void)data, (void)size, (void)user;
    return true;
}

/* Sends requests for pods p0, p1, … without waiting for a response. */
static void send_storm(int count, const ki_request_options *options, bool are_streams) {
    for (int i = 0; i < count; i++) {
        char name[16];
        ki_error err = KI_ERROR_INIT;
        snprintf(name, sizeof name, "p%d", i);
        if (ki_client_send(stage.client,
                           &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = "ns",
                                              .name = name, .options = options,
                                              .on_data = are_streams ? on_data : NULL),
                           client_stage_response, &stage, &calls[i], &err))
            fail_msg("%s", ki_error_message(&err));
    }
    assert_true(test_engine_settle(&stage.engine));
}

static void expect_last(int number) {
    char line[64];
    snprintf(line, sizeof line, "GET /api/v1/namespaces/ns/pods/p%d - ", number);
    assert_string_equal(stage.line, line);
}

IN_FLIGHT_TEST(only_so_many_requests_are_in_flight_and_the_rest_follows_in_order) {
    send_storm(STORM, NULL, false);
    assert_int_equal(stage.requests, DEFAULT_LIMIT);
    for (int i = 0; i < STORM - DEFAULT_LIMIT; i++) {
        ki_pending_request_cancel(calls[i]);
        assert_true(test_engine_settle(&stage.engine));
        assert_int_equal(stage.requests, DEFAULT_LIMIT + i + 1);
        expect_last(DEFAULT_LIMIT + i);
    }
}

IN_FLIGHT_TEST(every_request_of_a_storm_gets_its_response) {
    stage.script[0] = (client_reply){ .status = 200, .body = "{}" };
    send_storm(STORM, NULL, false);
    assert_int_equal(stage.requests, STORM);
    assert_int_equal(stage.ends, STORM);
    assert_int_equal(stage.err.code, KI_OK);
}

IN_FLIGHT_TEST(what_waits_ends_by_its_own_timeout_and_is_not_sent) {
    send_storm(DEFAULT_LIMIT + 1, &KI_REQUEST_OPTIONS(.timeout_ms = 20000), false);
    ki_pending_request *hasty = NULL;
    assert_int_equal(
        ki_client_send(stage.client,
                       &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = KI_PODS, .namespace_name = "ns",
                                          .name = "x", .options = &KI_REQUEST_OPTIONS(.timeout_ms = 500)),
                       client_stage_response, &stage, &hasty, NULL),
        KI_OK);
    assert_true(test_engine_advance(&stage.engine, 500));
    assert_int_equal(stage.ends, 1);
    assert_int_equal(stage.err.code, KI_ERR_TIMEOUT);
    assert_string_equal(stage.err.message,
                        "get pods ns/x: timed out waiting for the 32 requests of the client in flight");
    assert_true(test_engine_advance(&stage.engine, 20000));
    assert_int_equal(stage.ends, DEFAULT_LIMIT + 2);
    assert_int_equal(stage.requests, DEFAULT_LIMIT);
    ki_pending_request_free(hasty);
}

IN_FLIGHT_TEST(what_waits_can_be_cancelled_and_takes_no_place) {
    send_storm(DEFAULT_LIMIT + 2, NULL, false);
    ki_pending_request_cancel(calls[DEFAULT_LIMIT]);
    assert_true(test_engine_settle(&stage.engine));
    assert_int_equal(stage.ends, 1);
    assert_int_equal(stage.err.code, KI_ERR_CANCELLED);
    assert_int_equal(stage.requests, DEFAULT_LIMIT);
    ki_pending_request_cancel(calls[0]);
    assert_true(test_engine_settle(&stage.engine));
    expect_last(DEFAULT_LIMIT + 1);
}

IN_FLIGHT_TEST(what_waits_ends_with_its_term_of_leadership) {
    ki_terms *terms = ki_terms_new(stage.engine.engine);
    ki_terms_extend(terms, INT64_MAX);
    const ki_term term = ki_terms_current(terms);
    send_storm(STORM, &KI_REQUEST_OPTIONS(.term = &term), false);
    assert_int_equal(stage.requests, DEFAULT_LIMIT);
    ki_terms_end(terms);
    assert_true(test_engine_settle(&stage.engine));
    assert_int_equal(stage.ends, STORM);
    assert_int_equal(stage.err.code, KI_ERR_CANCELLED);
    assert_int_equal(stage.requests, DEFAULT_LIMIT);
    ki_terms_close(terms);
}

TEST(what_waits_ends_when_the_client_is_freed) {
    open_stage(NULL);
    send_storm(STORM, NULL, false);
    close_stage(NULL);
    assert_int_equal(stage.ends, STORM);
    assert_int_equal(stage.err.code, KI_ERR_CANCELLED);
}

IN_FLIGHT_TEST(responses_without_an_end_take_no_place) {
    send_storm(STORM, NULL, true);
    assert_int_equal(stage.requests, STORM);
}

IN_FLIGHT_TEST(requests_of_the_library_itself_take_no_place) {
    send_storm(DEFAULT_LIMIT, NULL, false);
    assert_int_equal(ki_pending_request_start(
                         stage.client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/apis"),
                         KI_REQUEST_INTERNAL, 0, client_stage_response, &stage, NULL, NULL),
                     KI_OK);
    assert_true(test_engine_settle(&stage.engine));
    assert_string_equal(stage.line, "GET /apis - ");
}

IN_FLIGHT_TEST(a_request_that_waits_to_be_retried_takes_no_place) {
    stage.script[0] = (client_reply){ .status = 503, .retry_after_ms = 9000 };
    send_storm(STORM, NULL, false);
    assert_int_equal(stage.requests, STORM);
    assert_int_equal(stage.ends, 0);
    stage.script[0] = (client_reply){ .status = 200, .body = "{}" };
    assert_true(test_engine_advance(&stage.engine, 9000));
    assert_int_equal(stage.ends, STORM);
    assert_int_equal(stage.err.code, KI_OK);
}

/* With the limit before the bound, all that passed the limit in the meantime would be sent at once. */
TEST(what_waited_for_a_place_does_not_exceed_the_rate_limit) {
    memset(&stage, 0, sizeof stage);
    client_stage_open(&stage,
                      &KI_CLIENT_OPTIONS(.requests_per_second = 5, .request_burst = 1, .requests_in_flight = 2));
    stage.script[0] = (client_reply){ .status = CLIENT_NEVER };
    stage.script[1] = (client_reply){ .status = CLIENT_NEVER };
    stage.script[2] = (client_reply){ .status = 200, .body = "{}" };
    stage.script_size = 3;
    send_storm(20, NULL, false);
    assert_true(test_engine_advance(&stage.engine, 10000));
    assert_int_equal(stage.requests, 2);
    ki_pending_request_cancel(calls[0]);
    ki_pending_request_cancel(calls[1]);
    assert_true(test_engine_settle(&stage.engine));
    assert_int_equal(stage.requests, 3);
    assert_true(test_engine_advance(&stage.engine, 1000));
    assert_int_equal(stage.requests, 8);
    close_stage(NULL);
}

TEST(the_bound_is_the_options_and_can_be_none) {
    static const struct { int option, sent; } cases[] = { { 0, DEFAULT_LIMIT }, { 1, 1 }, { 7, 7 }, { -1, STORM } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&stage, 0, sizeof stage);
        client_stage_open(&stage, &KI_CLIENT_OPTIONS(.requests_in_flight = cases[i].option));
        stage.script[0] = (client_reply){ .status = CLIENT_NEVER };
        send_storm(STORM, NULL, false);
        assert_int_equal(stage.requests, cases[i].sent);
        close_stage(NULL);
    }
}
