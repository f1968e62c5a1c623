/* A recorder's way from the call to the server: what is sent, in which order, how often it is tried, and how it
 * ends. */
#include <kinformer-controllers/events.h>

#include "src/base/memory.h"
#include "tests/support/event_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORE KI_EVENT_RECORDER_OPTIONS(.component = "robot")
#define V1 KI_EVENT_RECORDER_OPTIONS(.component = "robot", .instance = "robot-1", .api = KI_EVENTS_V1)
#define CORE_PATH "/api/v1/namespaces/shop/events"
#define V1_PATH "/apis/events.k8s.io/v1/namespaces/shop/events"
#define MINUTES(n) ((int64_t)(n)*60000)

static ki_object *foo;

static int make_foo(void **state) {
    (void)state;
    foo = make_object_from_json("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\","
                                "\"namespace\":\"shop\",\"uid\":\"u1\",\"resourceVersion\":\"7\"}}");
    return 0;
}

static int free_foo(void **state) {
    (void)state;
    ki_object_unref(foo);
    return 0;
}

/* A Foo of its own for each number: no two of them are similar. */
static void record_about(event_stage *stage, int number) {
    char json[256];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f%d\",\"namespace\":\"shop\"}}",
        number);
    ki_object *obj = make_object_from_json(json);
    ki_event_recorder_record(stage->recorder, obj, KI_EVENT_NORMAL, "Reason", "message %d", number);
    ki_object_unref(obj);
}

static void record_foo(event_stage *stage, const char *message) {
    ki_event_recorder_record(stage->recorder, foo, KI_EVENT_NORMAL, "Synced", "%s", message);
}

static void assert_request(const event_stage *stage, size_t number, const char *start, const char *part) {
    const char *request = event_stage_request(stage, number);
    if (strncmp(request, start, strlen(start)) != 0 || !strstr(request, part))
        fail_msg("request %zu is\n%s\nand not\n%s …%s…", number, request, start, part);
}

static void assert_counts(const event_stage *stage, ki_event_recorder_counts expected) {
    ki_event_recorder_counts is = event_stage_counts(stage);
    if (memcmp(&is, &expected, sizeof is) != 0)
        fail_msg("recorded %llu, sent %llu, dropped %llu, filtered %llu, failed %llu, queued %zu",
                 (unsigned long long)is.recorded, (unsigned long long)is.sent, (unsigned long long)is.dropped,
                 (unsigned long long)is.filtered, (unsigned long long)is.failed, is.queued);
}

#define COUNTS(...) ((ki_event_recorder_counts){ __VA_ARGS__ })

/* --- core/v1 ------------------------------------------------------------------------------------------------------ */

TEST(a_first_event_is_created_and_an_equal_one_counts_it_up) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "%s synced", "Foo");
    assert_int_equal(stage.requests, 0); /* recording does not wait */
    event_stage_advance(&stage, 10000);
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "Foo synced");
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 2);
    assert_string_equal(
        event_stage_request(&stage, 0),
        "POST " CORE_PATH " {\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a.1886caf2450d67f2\","
        "\"namespace\":\"shop\"},\"involvedObject\":{\"kind\":\"Foo\",\"namespace\":\"shop\",\"name\":\"a\",\"uid\":"
        "\"u1\","
        "\"apiVersion\":\"example.com/v1\",\"resourceVersion\":\"7\"},\"reason\":\"Synced\",\"message\":\"Foo synced\","
        "\"source\":{\"component\":\"robot\"},\"firstTimestamp\":\"2026-01-02T03:04:05Z\","
        "\"lastTimestamp\":\"2026-01-02T03:04:05Z\",\"count\":1,\"type\":\"Normal\",\"eventTime\":null,"
        "\"reportingComponent\":\"robot\",\"reportingInstance\":\"\"}");
    assert_string_equal(event_stage_request(&stage, 1),
                        "PATCH " CORE_PATH
                        "/a.1886caf2450d67f2 {\"count\":2,\"lastTimestamp\":\"2026-01-02T03:04:15Z\","
                        "\"message\":\"Foo synced\"}");
    ki_str stored;
    assert_int_equal(kt_cluster_get(stage.cluster, KI_EVENTS, "shop", "a.1886caf2450d67f2", &stored), KI_OK);
    assert_non_null(strstr(stored.data, "\"count\":2"));
    assert_non_null(strstr(stored.data, "\"firstTimestamp\":\"2026-01-02T03:04:05Z\""));
    assert_non_null(strstr(stored.data, "\"lastTimestamp\":\"2026-01-02T03:04:15Z\""));
    assert_counts(&stage, COUNTS(.recorded = 2, .sent = 2));
    event_stage_close(&stage);
}

TEST(an_event_about_a_cluster_scoped_object_stands_in_default) {
    event_stage stage;
    event_stage_open(&stage, &KI_EVENT_RECORDER_OPTIONS(.component = "robot", .host = "here"));
    ki_object *node = make_object_from_json("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}");
    ki_event_recorder_record(stage.recorder, node, KI_EVENT_WARNING, "Full", "no room");
    ki_object_unref(node);
    event_stage_advance(&stage, 0);
    assert_request(&stage, 0, "POST /api/v1/namespaces/default/events ",
                   "\"involvedObject\":{\"kind\":\"Node\",\"name\":\"n\",\"apiVersion\":\"v1\"}");
    assert_request(&stage, 0, "POST ", "\"source\":{\"component\":\"robot\",\"host\":\"here\"}");
    assert_request(&stage, 0, "POST ", "\"reportingInstance\":\"here\"}");
    assert_int_equal(event_stage_stored(&stage), 1);
    event_stage_close(&stage);
}

TEST(an_event_that_the_server_has_lost_is_created_again_with_its_count) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_int_equal(kt_cluster_delete(stage.cluster, KI_EVENTS, "shop", "a.1886caf2450d67f2",
                                       kt_memory_adapter_now_ms(stage.adapter), NULL),
                     KI_OK);
    record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 3);
    assert_request(&stage, 1, "PATCH " CORE_PATH "/a.1886caf2450d67f2 ", "\"count\":2");
    assert_request(&stage, 2, "POST " CORE_PATH " ",
                   "\"metadata\":{\"name\":\"a.1886caf2450d67f2\",\"namespace\":\"shop\"},"); /* no resourceVersion */
    assert_request(&stage, 2, "POST " CORE_PATH " ", "\"count\":2");
    assert_int_equal(event_stage_stored(&stage), 1);
    assert_counts(&stage, COUNTS(.recorded = 2, .sent = 2));
    event_stage_close(&stage);
}

TEST(similar_events_become_one_and_too_many_are_filtered) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    for (int i = 0; i < 30; i++) {
        ki_event_recorder_record(stage.recorder, foo, KI_EVENT_WARNING, "Failed", "try %d", i);
        event_stage_advance(&stage, 0);
    }
    assert_int_equal(stage.requests, 25);
    assert_request(&stage, 8, "POST " CORE_PATH " ", "\"message\":\"try 8\"");
    assert_request(&stage, 9, "POST " CORE_PATH " ", "\"message\":\"(combined from similar events): try 9\"");
    assert_request(&stage, 24, "PATCH " CORE_PATH "/a.", "{\"count\":16,");
    assert_request(&stage, 24, "PATCH ", "\"message\":\"(combined from similar events): try 24\"");
    assert_int_equal(event_stage_stored(&stage), 10);
    assert_counts(&stage, COUNTS(.recorded = 30, .sent = 25, .filtered = 5));
    event_stage_advance(&stage, MINUTES(5));
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_WARNING, "Failed", "try again");
    event_stage_advance(&stage, 0);
    assert_request(&stage, 25, "PATCH " CORE_PATH "/a.", "{\"count\":22,"); /* the filtered ones count */
    event_stage_close(&stage);
}

TEST(an_object_of_the_same_name_has_events_of_its_own) {
    static const struct {
        bool of_another;
        const char *reason, *start, *count;
    } cases[] = {
        { false, "Started", "POST " CORE_PATH " ", "\"count\":1" },
        { false, "Killed", "POST " CORE_PATH " ", "\"count\":1" },
        { false, "Started", "PATCH " CORE_PATH "/a.", "\"count\":2" },
        { true, "Started", "POST " CORE_PATH " ", "\"count\":1" },
        { false, "Started", "PATCH " CORE_PATH "/a.", "\"count\":3" },
        { true, "Stopped", "POST " CORE_PATH " ", "\"count\":1" },
        { true, "Stopped", "PATCH " CORE_PATH "/a.", "\"count\":2" },
    };
    event_stage stage;
    event_stage_open(&stage, &CORE);
    ki_object *another = make_object_from_json("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{"
                                               "\"name\":\"a\",\"namespace\":\"shop\",\"uid\":\"u2\"}}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_event_recorder_record(stage.recorder, cases[i].of_another ? another : foo, KI_EVENT_NORMAL, cases[i].reason,
                                 "message");
        event_stage_advance(&stage, 1000);
        assert_int_equal(stage.requests, i + 1);
        assert_request(&stage, i, cases[i].start, cases[i].count);
    }
    assert_int_equal(event_stage_stored(&stage), 4);
    ki_object_unref(another);
    event_stage_close(&stage);
}

TEST(events_of_the_same_time_have_different_names) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    record_foo(&stage, "one");
    record_foo(&stage, "two");
    event_stage_advance(&stage, 0);
    assert_request(&stage, 0, "POST ", "\"name\":\"a.1886caf2450d67f2\"");
    assert_request(&stage, 1, "POST ", "\"name\":\"a.1886caf2450d67f3\"");
    assert_int_equal(event_stage_stored(&stage), 2);
    event_stage_close(&stage);
}

TEST(all_that_a_record_says_is_sent) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    ki_event_recorder_record_with(stage.recorder,
                                  &KI_RECORD(.obj = foo, .type = KI_EVENT_NORMAL, .reason = "Synced",
                                             .message = "100 % \"well\"\n", .annotations = "{\"a\":\"b\"}"));
    event_stage_advance(&stage, 0);
    assert_request(&stage, 0, "POST ", "\"annotations\":{\"a\":\"b\"}");
    assert_request(&stage, 0, "POST ", "\"message\":\"100 % \\\"well\\\"\\n\"");
    assert_int_equal(event_stage_stored(&stage), 1);
    event_stage_close(&stage);
}

TEST(a_long_message_is_cut_at_a_character) {
    event_stage stage;
    char text[4 * KI_EVENT_MESSAGE_MAX], expected[KI_EVENT_MESSAGE_MAX + 64];
    event_stage_open(&stage, &CORE);
    for (int size = KI_EVENT_MESSAGE_MAX - 4; size <= KI_EVENT_MESSAGE_MAX; size++) {
        int whole = size + 4 <= KI_EVENT_MESSAGE_MAX ? 4 : 0;
        snprintf(text, sizeof text, "%0*d%s", size, size, "\xF0\x9F\x98\x80 and so on");
        ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "%s", text);
        event_stage_advance(&stage, 0);
        snprintf(expected, sizeof expected, "\"message\":\"%0*d%.*s\",", size, size, whole, "\xF0\x9F\x98\x80");
        assert_request(&stage, stage.requests - 1, "POST ", expected);
    }
    event_stage_close(&stage);
}

TEST(what_is_no_event_is_dropped_and_counted) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    ki_event_recorder_record(stage.recorder, foo, "Error", "Synced", "of another type");
    ki_event_recorder_record(stage.recorder, foo, NULL, "Synced", "of no type");
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "", "without a reason");
    ki_event_recorder_record(stage.recorder, NULL, KI_EVENT_NORMAL, "Synced", "about nothing");
    ki_event_recorder_record_with(stage.recorder, &(ki_record){ .obj = foo });
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 0);
    assert_counts(&stage, COUNTS(.recorded = 5, .dropped = 5));
    event_stage_close(&stage);
}

/* --- tries -------------------------------------------------------------------------------------------------------- */

TEST(an_error_response_is_final_and_all_else_is_tried_again) {
    static const struct {
        const char *name;
        int responses[2]; /* of the first request, and of all after it */
        size_t requests;
        uint64_t sent;
    } cases[] = {
        { "forbidden", { 403, 403 }, 1, 0 },
        { "exists already", { 409, 409 }, 1, 0 },
        { "no such namespace", { 404, 404 }, 1, 0 },
        { "internal error", { 500, 500 }, 1, 0 },
        { "no connection", { EVENT_RESPONSE_CONNECT, EVENT_RESPONSE_CONNECT }, 12, 0 },
        { "cut", { EVENT_RESPONSE_CUT, EVENT_RESPONSE_CUT }, 12, 0 },
        { "a garbled response", { EVENT_RESPONSE_GARBLED, EVENT_RESPONSE_GARBLED }, 12, 0 },
        { "no response in time", { EVENT_RESPONSE_SILENT, EVENT_RESPONSE_SILENT }, 12, 0 },
        { "cut, then refused", { EVENT_RESPONSE_CUT, 403 }, 2, 0 },
        { "cut, then well", { EVENT_RESPONSE_CUT, EVENT_RESPONSE_REAL }, 2, 1 },
        { "well", { EVENT_RESPONSE_REAL, 403 }, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        event_stage stage;
        event_stage_open(&stage, &CORE);
        stage.script[stage.scripted++] = cases[i].responses[0];
        stage.then = cases[i].responses[1];
        record_foo(&stage, "well");
        event_stage_advance(&stage, MINUTES(60));
        if (stage.requests != cases[i].requests)
            fail_msg("%s: %zu requests", cases[i].name, stage.requests);
        assert_counts(&stage, COUNTS(.recorded = 1, .sent = cases[i].sent, .failed = 1 - cases[i].sent));
        event_stage_close(&stage);
    }
}

TEST(the_first_wait_is_random_and_the_others_ten_seconds) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    stage.then = EVENT_RESPONSE_CONNECT;
    record_foo(&stage, "well");
    event_stage_advance(&stage, MINUTES(60));
    assert_int_equal(stage.requests, KI_EVENT_TRIES);
    assert_int_equal(stage.at_ms[0], 0);
    assert_in_range(stage.at_ms[1], 1, 9999); /* of this seed */
    for (int i = 2; i < KI_EVENT_TRIES; i++)
        assert_in_range(stage.at_ms[i] - stage.at_ms[i - 1], 10000, 10001);
    event_stage_close(&stage);
}

TEST(a_patch_is_tried_again_from_its_beginning) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    static const int script[] = { EVENT_RESPONSE_REAL, EVENT_RESPONSE_CUT, 404, EVENT_RESPONSE_CUT, 404 };
    memcpy(stage.script, script, sizeof script);
    stage.scripted = sizeof script / sizeof *script;
    stage.then = 409;
    record_foo(&stage, "well");
    record_foo(&stage, "well");
    event_stage_advance(&stage, MINUTES(10));
    static const char *const methods[] = { "POST ", "PATCH ", "PATCH ", "POST ", "PATCH ", "POST " };
    assert_int_equal(stage.requests, sizeof methods / sizeof *methods);
    for (size_t i = 0; i < stage.requests; i++)
        assert_request(&stage, i, methods[i], "");
    assert_counts(&stage, COUNTS(.recorded = 2, .sent = 1, .failed = 1));
    event_stage_close(&stage);
}

TEST(order_is_kept_while_one_is_tried_again) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    static const int script[] = { EVENT_RESPONSE_CUT, EVENT_RESPONSE_CONNECT };
    memcpy(stage.script, script, sizeof script);
    stage.scripted = 2;
    for (int i = 0; i < 5; i++)
        record_about(&stage, i);
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 1);
    assert_counts(&stage, COUNTS(.recorded = 5, .queued = 5));
    event_stage_advance(&stage, MINUTES(1));
    static const char *const names[] = { "\"f0\"", "\"f0\"", "\"f0\"", "\"f1\"", "\"f2\"", "\"f3\"", "\"f4\"" };
    assert_int_equal(stage.requests, sizeof names / sizeof *names);
    for (size_t i = 0; i < stage.requests; i++)
        assert_request(&stage, i, "POST ", names[i]);
    assert_counts(&stage, COUNTS(.recorded = 5, .sent = 5));
    event_stage_close(&stage);
}

TEST(each_of_a_thousand_events_is_tried_until_the_server_takes_it) {
    enum {
        TRIES = 5, /* of each event; all but the last fail */
        REQUESTS = TRIES * KI_EVENT_QUEUE
    };
    event_stage stage;
    event_stage_open(&stage, &CORE);
    for (int i = 0; i < REQUESTS; i++)
        stage.script[i] = i % TRIES < TRIES - 1 ? EVENT_RESPONSE_CUT : EVENT_RESPONSE_REAL;
    stage.scripted = REQUESTS;
    for (int i = 0; i < KI_EVENT_QUEUE; i++)
        record_about(&stage, i);
    event_stage_advance(&stage, MINUTES(12 * 60));
    assert_int_equal(stage.requests, REQUESTS);
    for (size_t i = 0; i < REQUESTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "\"f%zu\"", i / TRIES);
        assert_non_null(strstr(event_stage_request(&stage, i), name));
    }
    assert_counts(&stage, COUNTS(.recorded = KI_EVENT_QUEUE, .sent = KI_EVENT_QUEUE));
    assert_int_equal(event_stage_stored(&stage), KI_EVENT_QUEUE);
    event_stage_close(&stage);
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

TEST(a_full_queue_drops_what_comes_and_its_memory_is_bounded) {
    scarce_memory memory;
    event_stage stage;
    scarce_memory_init(&memory, SIZE_MAX - 1);
    assert_true(event_stage_make(&stage, &memory.allocator, &CORE));
    size_t before = scarce_memory_in_use(&memory);
    for (int i = 0; i < 3 * KI_EVENT_QUEUE; i++)
        record_about(&stage, i);
    assert_int_equal(scarce_memory_in_use(&memory), before + KI_EVENT_QUEUE);
    assert_counts(&stage,
                  COUNTS(.recorded = 3 * KI_EVENT_QUEUE, .dropped = 2 * KI_EVENT_QUEUE, .queued = KI_EVENT_QUEUE));
    assert_int_equal(stage.requests, 0); /* it has not started */
    event_stage_start(&stage);
    assert_int_equal(stage.requests, KI_EVENT_QUEUE);
    assert_request(&stage, 0, "POST ", "\"f0\"");
    assert_request(&stage, KI_EVENT_QUEUE - 1, "POST ", "\"f999\"");
    assert_counts(&stage,
                  COUNTS(.recorded = 3 * KI_EVENT_QUEUE, .dropped = 2 * KI_EVENT_QUEUE, .sent = KI_EVENT_QUEUE));
    event_stage_close(&stage);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

TEST(a_stop_sends_what_is_queued) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    for (int i = 0; i < 10; i++)
        record_about(&stage, i);
    ki_factory_stop(stage.factory);
    event_stage_advance(&stage, 0);
    assert_int_equal(event_stage_stored(&stage), 10);
    record_about(&stage, 10);
    event_stage_advance(&stage, 0);
    assert_counts(&stage, COUNTS(.recorded = 11, .sent = 10, .dropped = 1));
    event_stage_close(&stage);
}

TEST(a_stop_tries_each_once_and_does_not_wait_between) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    stage.then = EVENT_RESPONSE_CONNECT;
    for (int i = 0; i < 3; i++)
        record_about(&stage, i);
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 1); /* the first one waits for its next try */
    ki_factory_stop(stage.factory);
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 4);
    assert_request(&stage, 1, "POST ", "\"f0\"");
    assert_request(&stage, 2, "POST ", "\"f1\"");
    assert_request(&stage, 3, "POST ", "\"f2\"");
    assert_counts(&stage, COUNTS(.recorded = 3, .failed = 3));
    event_stage_advance(&stage, MINUTES(10));
    assert_int_equal(stage.requests, 4);
    event_stage_close(&stage);
}

TEST(a_stop_waits_for_a_silent_server_only_so_long) {
    event_stage stage;
    event_stage_open(&stage, &CORE);
    stage.then = EVENT_RESPONSE_SILENT;
    for (int i = 0; i < 3; i++)
        record_about(&stage, i);
    event_stage_advance(&stage, 1000);
    ki_factory_stop(stage.factory);
    event_stage_advance(&stage, KI_EVENT_STOP_MS - 1);
    assert_counts(&stage, COUNTS(.recorded = 3, .queued = 3));
    event_stage_advance(&stage, 1);
    assert_counts(&stage, COUNTS(.recorded = 3, .dropped = 3));
    assert_int_equal(stage.requests, 1);
    event_stage_close(&stage);
}

TEST(a_recorder_that_never_started_drops_what_it_has) {
    event_stage stage;
    assert_true(event_stage_make(&stage, NULL, &CORE));
    record_about(&stage, 1);
    ki_factory_stop(stage.factory);
    event_stage_advance(&stage, 0);
    record_about(&stage, 2);
    assert_int_equal(stage.requests, 0);
    assert_counts(&stage, COUNTS(.recorded = 2, .dropped = 2));
    event_stage_close(&stage);
}

TEST(a_recorder_is_freed_at_any_time) {
    static const int responses[] = { EVENT_RESPONSE_REAL, EVENT_RESPONSE_SILENT, EVENT_RESPONSE_CONNECT };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        for (int when = 0; when < 5; when++) {
            event_stage stage;
            if (when == 0)
                assert_true(event_stage_make(&stage, NULL, &CORE)); /* not started */
            else
                event_stage_open(&stage, when == 1 ? &V1 : &CORE);
            stage.then = responses[i];
            record_about(&stage, 1);
            record_about(&stage, 2);
            if (when > 1)
                event_stage_advance(&stage, 0);
            if (when > 2)
                ki_factory_stop(stage.factory);
            if (when > 3)
                ki_engine_stop(stage.engine.engine);
            ki_event_recorder_free(stage.recorder);
            stage.recorder = NULL;
            if (when < 4)
                event_stage_advance(&stage, MINUTES(1));
            event_stage_close(&stage);
        }
    }
    ki_event_recorder_free(NULL);
}

TEST(what_a_recorder_cannot_be_is_an_error) {
    static char long_name[KI_EVENT_SOURCE_MAX + 2];
    memset(long_name, 'x', sizeof long_name - 1);
    const struct {
        ki_event_recorder_options options;
        ki_status status;
    } cases[] = {
        { { .size = 0 }, KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = NULL), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = ""), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = "\xFF"), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = long_name), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = "robot", .host = long_name), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = "robot", .instance = long_name + 128), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = "robot", .api = (ki_events_api)2), KI_ERR_INVALID },
        { KI_EVENT_RECORDER_OPTIONS(.component = long_name + 1, .instance = long_name + 129), KI_OK },
    };
    event_stage stage;
    event_stage_open(&stage, &CORE);
    ki_event_recorder *recorder = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_event_recorder_new(stage.factory, &cases[i].options, &recorder, &err), cases[i].status);
        assert_int_equal(err.code, cases[i].status);
        assert_int_equal(recorder != NULL, cases[i].status == KI_OK);
    }
    ki_event_recorder_free(recorder);
    assert_int_equal(ki_event_recorder_new(stage.factory, NULL, &recorder, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_event_recorder_new(NULL, &CORE, &recorder, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_event_recorder_new(stage.factory, &CORE, NULL, NULL), KI_ERR_INVALID);
    ki_factory_stop(stage.factory);
    assert_int_equal(ki_event_recorder_new(stage.factory, &CORE, &recorder, NULL), KI_ERR_STATE);
    event_stage_close(&stage);
}

/* --- events.k8s.io/v1 --------------------------------------------------------------------------------------------- */

TEST(a_second_event_begins_a_series_and_later_ones_only_count) {
    event_stage stage;
    event_stage_open(&stage, &V1);
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "one");
    event_stage_advance(&stage, 1000);
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "two");
    event_stage_advance(&stage, 1000);
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "three");
    ki_event_recorder_record(stage.recorder, foo, KI_EVENT_NORMAL, "Synced", "four");
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 2);
    assert_string_equal(
        event_stage_request(&stage, 0),
        "POST " V1_PATH " {\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":"
        "\"a.1886caf2450d67f2\",\"namespace\":\"shop\"},\"eventTime\":\"2026-01-02T03:04:05.678901Z\","
        "\"reportingController\":\"robot\",\"reportingInstance\":\"robot-1\",\"action\":\"Synced\",\"reason\":"
        "\"Synced\","
        "\"regarding\":{\"kind\":\"Foo\",\"namespace\":\"shop\",\"name\":\"a\",\"uid\":\"u1\","
        "\"apiVersion\":\"example.com/v1\",\"resourceVersion\":\"7\"},\"note\":\"one\",\"type\":\"Normal\"}");
    assert_string_equal(event_stage_request(&stage, 1), "PATCH " V1_PATH "/a.1886caf2450d67f2 {\"series\":{\"count\":2,"
                                                        "\"lastObservedTime\":\"2026-01-02T03:04:06.678901Z\"}}");
    assert_counts(&stage, COUNTS(.recorded = 4, .sent = 2));
    ki_event_recorder_record_with(stage.recorder, &KI_RECORD(.obj = foo, .type = KI_EVENT_NORMAL, .reason = "Synced",
                                                             .action = "Other", .message = "one"));
    event_stage_advance(&stage, 0);
    assert_request(&stage, 2, "POST " V1_PATH " ", "\"action\":\"Other\"");
    assert_null(strstr(event_stage_request(&stage, 2), "series"));
    event_stage_close(&stage);
}

TEST(a_series_is_written_every_half_hour_and_when_it_has_ended) {
    event_stage stage;
    event_stage_open(&stage, &V1);
    for (int i = 0; i < 3; i++)
        record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 2);
    for (int minute = 0; minute < 31; minute++) {
        event_stage_advance(&stage, MINUTES(1));
        record_foo(&stage, "well");
    }
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 3); /* refreshed once, at 30 minutes */
    assert_int_equal(stage.at_ms[2], MINUTES(30));
    assert_request(&stage, 2, "PATCH " V1_PATH "/a.", "{\"series\":{\"count\":32,");
    event_stage_advance(&stage,
                        MINUTES(6)); /* the end is looked for every 6 minutes: not at 36, where it was 5 minutes ago */
    assert_int_equal(stage.requests, 3);
    event_stage_advance(&stage, MINUTES(6));
    assert_int_equal(stage.requests, 4);
    assert_request(&stage, 3, "PATCH " V1_PATH "/a.",
                   "{\"series\":{\"count\":34,\"lastObservedTime\":\"2026-01-02T03:35:05.678901Z\"}}");
    event_stage_advance(&stage, MINUTES(120)); /* it is forgotten */
    assert_int_equal(stage.requests, 4);
    record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_request(&stage, 4, "POST " V1_PATH " ", "\"name\":\"a.");
    assert_int_equal(event_stage_stored(&stage), 2);
    assert_counts(&stage, COUNTS(.recorded = 35, .sent = 5));
    event_stage_close(&stage);
}

TEST(a_single_event_is_forgotten_after_a_while) {
    event_stage stage;
    event_stage_open(&stage, &V1);
    record_foo(&stage, "well");
    event_stage_advance(&stage, MINUTES(12));
    record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 2);
    assert_request(&stage, 1, "POST " V1_PATH " ", "");
    assert_int_equal(event_stage_stored(&stage), 2);
    event_stage_close(&stage);
}

TEST(what_a_series_write_comes_to_decides_whether_it_stays_open) {
    static const struct {
        int response;
        const char *next; /* the request of the next equal event */
    } cases[] = {
        { EVENT_RESPONSE_REAL, "POST " },
        { 403, "POST " },
        { EVENT_RESPONSE_CONNECT, NULL }, /* it is open still, and only counts */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        event_stage stage;
        event_stage_open(&stage, &V1);
        record_foo(&stage, "well");
        record_foo(&stage, "well");
        event_stage_advance(&stage, 0);
        stage.then = cases[i].response;
        event_stage_advance(&stage, MINUTES(13));
        assert_int_equal(stage.requests, 3);
        assert_request(&stage, 2, "PATCH ", "\"count\":2");
        record_foo(&stage, "well");
        event_stage_advance(&stage, 0);
        assert_int_equal(stage.requests, cases[i].next ? 4 : 3);
        if (cases[i].next)
            assert_request(&stage, 3, cases[i].next, "");
        event_stage_close(&stage);
    }
}

TEST(a_refresh_that_fails_keeps_the_series) {
    static const int responses[] = { 403, EVENT_RESPONSE_CONNECT };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        event_stage stage;
        event_stage_open(&stage, &V1);
        for (int minute = 0; minute < 30; minute++) {
            record_foo(&stage, "well");
            event_stage_advance(&stage, MINUTES(1) - 1);
        }
        assert_int_equal(stage.requests, 2);
        stage.then = responses[i];
        event_stage_advance(&stage, 1000);
        assert_int_equal(stage.requests, 3);
        stage.then = EVENT_RESPONSE_REAL;
        record_foo(&stage, "well");
        event_stage_advance(&stage, 0);
        assert_int_equal(stage.requests, 3); /* it is open still, and only counts */
        event_stage_close(&stage);
    }
}

TEST(a_series_whose_event_is_lost_is_created_and_one_that_came_back_is_tried_again) {
    event_stage stage;
    event_stage_open(&stage, &V1);
    static const int script[] = { EVENT_RESPONSE_REAL, 404, 409 };
    memcpy(stage.script, script, sizeof script);
    stage.scripted = sizeof script / sizeof *script;
    record_foo(&stage, "well");
    record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_int_equal(stage.requests, 3);
    assert_request(&stage, 1, "PATCH " V1_PATH "/a.1886caf2450d67f2 ", "");
    assert_request(&stage, 2, "POST " V1_PATH " ", "\"series\":{\"count\":2,");
    assert_request(&stage, 2, "POST " V1_PATH " ", "\"name\":\"a.1886caf2450d67f2\"");
    event_stage_advance(&stage, 12501);
    assert_int_equal(stage.requests, 4);
    assert_request(&stage, 3, "PATCH " V1_PATH "/a.1886caf2450d67f2 ", "\"count\":2");
    assert_in_range(stage.at_ms[3], 10000, 12500);
    assert_counts(&stage, COUNTS(.recorded = 2, .sent = 2));
    assert_int_equal(event_stage_stored(&stage), 1);
    event_stage_close(&stage);
}

TEST(an_open_event_outlasts_a_long_wait_for_its_server) {
    event_stage stage;
    event_stage_open(&stage, &V1);
    stage.then = EVENT_RESPONSE_SILENT; /* twelve tries of 30 seconds: longer than a single event stays open */
    event_stage_advance(&stage, MINUTES(5));
    record_foo(&stage, "well"); /* ended at 11 minutes, looked for at 12, given up after 13 */
    event_stage_advance(&stage, MINUTES(30));
    assert_int_equal(stage.requests, KI_EVENT_TRIES);
    assert_counts(&stage, COUNTS(.recorded = 1, .failed = 1));
    event_stage_close(&stage);
}

TEST(an_instance_is_named_after_component_and_host) {
    event_stage stage;
    event_stage_open(&stage, &KI_EVENT_RECORDER_OPTIONS(.component = "robot", .api = KI_EVENTS_V1));
    record_foo(&stage, "well");
    event_stage_advance(&stage, 0);
    assert_request(&stage, 0, "POST ", "\"reportingInstance\":\"robot-");
    assert_int_equal(event_stage_stored(&stage), 1);
    event_stage_close(&stage);
}

/* --- lack of memory ----------------------------------------------------------------------------------------------- */

/* Records, waits, stops; whatever allocation fails, every record is counted once and nothing leaks. */
static void play_with(const ki_event_recorder_options *options) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        event_stage stage;
        if (event_stage_make(&stage, &memory.allocator, options)) {
            if (ki_factory_start(stage.factory, NULL) == KI_OK) {
                for (int i = 0; i < 3; i++) {
                    record_foo(&stage, "well");
                    record_about(&stage, i);
                }
                event_stage_advance(&stage, MINUTES(15));
                ki_factory_stop(stage.factory);
                event_stage_advance(&stage, 0);
                ki_event_recorder_counts counts = event_stage_counts(&stage);
                assert_int_equal(counts.recorded, 6);
                assert_int_equal(counts.queued, 0);
                if (options->api == KI_EVENTS_CORE_V1)
                    assert_int_equal(counts.sent + counts.dropped + counts.failed + counts.filtered, 6);
                assert_true(event_stage_stored(&stage) > 0);
            }
            event_stage_close(&stage);
        }
    }
}

TEST(each_allocation_may_fail) {
    play_with(&CORE);
    play_with(&V1);
}

TEST_GROUP(event_recorder, make_foo, free_foo);
