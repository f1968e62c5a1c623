/* An Event's name, its body and its patch are what client-go's recorders send. */
#include "controllers/events/event_json.h"

#include "src/base/memory.h"
#include "tests/support/event_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ki_event_source robot = { .component = "robot", .host = "", .instance = "robot-1", .seed = 7 };

/* Is it 8-4-4-4-12 hex digits, of version 4 and the RFC's variant? */
static bool is_uuid(const char *text) {
    static const char pattern[] = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof pattern; i++) {
        const char *allowed = pattern[i] == 'x' ? "0123456789abcdef" : pattern[i] == 'y' ? "89ab" : NULL;
        if (allowed ? !text[i] || !strchr(allowed, text[i]) : text[i] != pattern[i])
            return false;
    }
    return true;
}

TEST(a_name_is_the_object_s_with_the_time_or_a_uuid) {
    char longest[256], too_long[256];
    memset(longest, 'x', sizeof longest);
    memset(too_long, 'x', sizeof too_long);
    longest[253 - 16] = '\0'; /* ".178959f726d80ec" */
    too_long[253 - 15] = '\0';
    const struct {
        const char *object;
        bool is_uuid;
    } cases[] = {
        { "test-pod", false }, { "a.b", false },          { "0", false },  { longest, false }, { too_long, true },
        { "test.POD", true },  { "2001:db8::1", true },   { "-a", true },  { "a-", true },     { "a..b", true },
        { "a.-b", true },      { "a-.b", true },          { "a_b", true }, { ".a", true },     { "a.", true },
        { "pod/x!", true },    { "--test.pod/!?", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[KI_EVENT_NAME_MAX + 1], again[KI_EVENT_NAME_MAX + 1], expected[KI_EVENT_NAME_MAX + 32];
        ki_event_record *record = event_record_of(cases[i].object, "Normal", "R", "", 1);
        ki_event_name(&robot, record, 105999103295324396, name);
        ki_event_name(&robot, record, 105999103295324396, again);
        assert_string_equal(name, again);
        snprintf(expected, sizeof expected, "%s.178959f726d80ec", cases[i].object);
        if (cases[i].is_uuid)
            assert_true(is_uuid(name));
        else
            assert_string_equal(name, expected);
        ki_event_name(&robot, record, 105999103295324397, again);
        assert_string_not_equal(name, again);
        ki_free(&ki_allocator_default, record);
    }
}

TEST(a_core_event_says_all_that_client_go_s_says) {
    static const char expected[] =
        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a.1886caf2450d67f2\",\"namespace\":"
        "\"shop\"},"
        "\"involvedObject\":{\"kind\":\"Foo\",\"namespace\":\"shop\",\"name\":\"a\",\"uid\":\"uid-a\","
        "\"apiVersion\":\"example.com/v1\",\"resourceVersion\":\"7\"},\"reason\":\"Synced\",\"message\":\"say "
        "\\\"hi\\\"\","
        "\"source\":{\"component\":\"robot\"},\"firstTimestamp\":\"2026-01-02T03:04:05Z\","
        "\"lastTimestamp\":\"2026-01-02T03:04:15Z\",\"count\":3,\"type\":\"Warning\",\"eventTime\":null,"
        "\"reportingComponent\":\"robot\",\"reportingInstance\":\"\"}";
    ki_event_record *record = event_record_of("a", "Warning", "Synced", "say \"hi\"", 1);
    const ki_event_outcome outcome = {
        .count = 3, .first_ns = 1767323045678901234, .last_ns = 1767323055678901234, .name_ns = 1767323045678901234
    };
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(ki_event_write_core(&robot, record, &outcome, &out), KI_OK);
    assert_string_equal(out.data, expected);
    ki_buffer_reset(&out, SIZE_MAX);
    assert_int_equal(ki_event_patch_core(record, &outcome, &out), KI_OK);
    assert_string_equal(out.data,
                        "{\"count\":3,\"lastTimestamp\":\"2026-01-02T03:04:15Z\",\"message\":\"say \\\"hi\\\"\"}");
    ki_buffer_free(&out);
    ki_free(&ki_allocator_default, record);
}

TEST(a_core_event_of_a_cluster_scoped_object_stands_in_default) {
    static const char expected[] =
        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n.a\",\"namespace\":\"default\","
        "\"annotations\":{\"k\":\"v\"}},"
        "\"involvedObject\":{\"kind\":\"Node\",\"name\":\"n\",\"apiVersion\":\"v1\"},\"reason\":\"R\",\"message\":\"\","
        "\"source\":{\"component\":\"robot\",\"host\":\"here\"},\"firstTimestamp\":\"1970-01-01T00:00:00Z\","
        "\"lastTimestamp\":\"1970-01-01T00:00:00Z\",\"count\":1,\"type\":\"Normal\",\"eventTime\":null,"
        "\"reportingComponent\":\"robot\",\"reportingInstance\":\"here\"}";
    static const ki_event_source source = { .component = "robot", .host = "here" };
    ki_object *node = make_object_from_json("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}");
    const ki_record given = KI_RECORD(.obj = node, .type = "Normal", .reason = "R", .annotations = "{\"k\":\"v\"}");
    ki_event_record *record = NULL;
    assert_int_equal(ki_event_record_new(&ki_allocator_default, &given, 1, &record), KI_OK);
    const ki_event_outcome outcome = { .count = 1, .name_ns = 10 };
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(ki_event_write_core(&source, record, &outcome, &out), KI_OK);
    assert_string_equal(out.data, expected);
    ki_buffer_reset(&out, SIZE_MAX);
    assert_int_equal(ki_event_patch_core(record, &(ki_event_outcome){ .count = 2 }, &out), KI_OK);
    assert_string_equal(out.data, "{\"count\":2,\"lastTimestamp\":\"1970-01-01T00:00:00Z\"}"); /* "" is no change */
    ki_buffer_free(&out);
    ki_free(&ki_allocator_default, record);
    ki_object_unref(node);
}

TEST(a_combined_event_says_so_and_leaves_out_what_differs) {
    char message[KI_EVENT_MESSAGE_MAX + 1];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    ki_event_record *record = event_record_of("a", "Normal", "R", message, 1);
    const ki_event_outcome outcome = { .is_combined = true, .count = 2, .name_ns = 10 };
    char expected[2048];
    snprintf(expected, sizeof expected, "\"message\":\"(combined from similar events): %s\"", message);
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(ki_event_write_core(&robot, record, &outcome, &out), KI_OK);
    assert_non_null(strstr(out.data, expected));
    assert_non_null(strstr(out.data, "\"source\":{\"component\":\"robot\"}"));
    assert_non_null(strstr(out.data, "\"reportingComponent\":\"\",\"reportingInstance\":\"\"}"));
    ki_buffer_reset(&out, SIZE_MAX);
    assert_int_equal(ki_event_patch_core(record, &outcome, &out), KI_OK);
    assert_non_null(strstr(out.data, expected));
    ki_buffer_free(&out);
    ki_free(&ki_allocator_default, record);
}

TEST(an_event_of_events_k8s_io_says_all_that_client_go_s_says) {
    static const char expected[] =
        "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"a.1886caf2450d67f2\","
        "\"namespace\":\"shop\"},\"eventTime\":\"2026-01-02T03:04:05.678901Z\"%s,\"reportingController\":\"robot\","
        "\"reportingInstance\":\"robot-1\",\"action\":\"Binding\",\"reason\":\"Bound\",\"regarding\":{\"kind\":"
        "\"ConfigMap\","
        "\"namespace\":\"shop\",\"name\":\"a\",\"uid\":\"u\",\"apiVersion\":\"v1\",\"resourceVersion\":\"7\"},"
        "\"related\":{\"kind\":\"Node\",\"name\":\"n\",\"apiVersion\":\"v1\"},\"note\":\"well\",\"type\":\"Normal\"}";
    ki_object *a = make_object_from_json(
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"shop\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}");
    ki_object *n = make_object_from_json("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}");
    ki_event_record *record = NULL;
    const ki_record given =
        KI_RECORD(.obj = a, .related = n, .type = "Normal", .reason = "Bound", .action = "Binding", .message = "well");
    assert_int_equal(ki_event_record_new(&ki_allocator_default, &given, 1767323045678901234, &record), KI_OK);
    record->name_ns = record->wall_ns;
    char text[1024];
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(ki_event_write_v1(&robot, record, 1, 0, &out), KI_OK);
    snprintf(text, sizeof text, expected, "");
    assert_string_equal(out.data, text);
    ki_buffer_reset(&out, SIZE_MAX);
    assert_int_equal(ki_event_write_v1(&robot, record, 2, 1767323046678901234, &out), KI_OK);
    snprintf(text, sizeof text, expected,
             ",\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-02T03:04:06.678901Z\"}");
    assert_string_equal(out.data, text);
    ki_buffer_reset(&out, SIZE_MAX);
    assert_int_equal(ki_event_patch_v1(2, 1767323046678901234, &out), KI_OK);
    assert_string_equal(out.data, "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-02T03:04:06.678901Z\"}}");
    ki_buffer_free(&out);
    ki_free(&ki_allocator_default, record);
    ki_object_unref(a);
    ki_object_unref(n);
}

TEST(each_allocation_may_fail) {
    ki_event_record *record = event_record_of("a", "Normal", "R", "m", 1);
    for (int what = 0; what < 4; what++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            const ki_event_outcome outcome = { .count = 2 };
            ki_buffer out;
            ki_buffer_init(&out, &memory.allocator, 0);
            ki_status status = what == 0   ? ki_event_write_core(&robot, record, &outcome, &out)
                               : what == 1 ? ki_event_patch_core(record, &outcome, &out)
                               : what == 2 ? ki_event_write_v1(&robot, record, 2, 1, &out)
                                           : ki_event_patch_v1(2, 1, &out);
            assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
            ki_buffer_free(&out);
        }
    }
    ki_free(&ki_allocator_default, record);
}
