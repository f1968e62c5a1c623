/* What a program records is checked and copied, and cut at whole characters. */
#include "controllers/events/event_record.h"

#include "src/base/memory.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char foo_json[] = "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\","
                               "\"namespace\":\"shop\",\"uid\":\"u1\",\"resourceVersion\":\"7\"}}";
static ki_object *foo;

static int make_foo(void **state) {
    (void)state;
    foo = make_object_from_json(foo_json);
    return 0;
}

static int free_foo(void **state) {
    (void)state;
    ki_object_unref(foo);
    return 0;
}

TEST(text_is_cut_at_whole_characters_and_has_no_other_bytes) {
    static const struct {
        const char *text;
        size_t limit;
        const char *result;
    } cases[] = {
        { "", 10, "" },
        { "plain", 10, "plain" },
        { "plain", 5, "plain" },
        { "plain", 4, "plai" },
        { "plain", 0, "" },
        { "h\xC3\xA9!", 4, "h\xC3\xA9!" },
        { "h\xC3\xA9!", 3, "h\xC3\xA9" },
        { "h\xC3\xA9!", 2, "h" },
        { "\xF0\x9F\x98\x80", 4, "\xF0\x9F\x98\x80" },
        { "\xF0\x9F\x98\x80", 3, "" },
        { "a\xFFz", 10, "a\xEF\xBF\xBDz" },
        { "a\xFFz", 3, "a" },
        { "a\xC3", 10, "a\xEF\xBF\xBD" },
        { "\xE2\x82", 10, "\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "\xED\xA0\x80", 12, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[16] = "";
        size_t size = ki_event_text(out, cases[i].limit, ki_str_of(cases[i].text));
        out[size] = '\0';
        assert_string_equal(out, cases[i].result);
    }
}

TEST(a_record_copies_its_strings) {
    ki_object *obj = make_object_from_json(foo_json);
    ki_object *node = make_object_from_json("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}");
    char reason[] = "Synced", message[] = "well", annotations[] = "{\"a\":\"b\"}";
    ki_event_record *record = NULL;
    const ki_record given = KI_RECORD(.obj = obj, .related = node, .type = "Warning", .reason = reason,
                                      .message = message, .annotations = annotations);
    assert_int_equal(ki_event_record_new(&ki_allocator_default, &given, 42, &record), KI_OK);
    ki_object_unref(obj);
    ki_object_unref(node);
    memset(reason, 'x', sizeof reason - 1);
    memset(message, 'x', sizeof message - 1);
    memset(annotations, 'x', sizeof annotations - 1);
    assert_string_equal(record->regarding.api_version, "example.com/v1");
    assert_string_equal(record->regarding.kind, "Foo");
    assert_string_equal(record->regarding.namespace_name, "shop");
    assert_string_equal(record->regarding.name, "a");
    assert_string_equal(record->regarding.uid, "u1");
    assert_string_equal(record->regarding.resource_version, "7");
    assert_true(record->has_related);
    assert_string_equal(record->related.kind, "Node");
    assert_string_equal(record->related.name, "n");
    assert_string_equal(record->related.namespace_name, "");
    assert_string_equal(record->type, "Warning");
    assert_string_equal(record->reason, "Synced");
    assert_string_equal(record->action, "Synced");
    assert_string_equal(record->message, "well");
    assert_string_equal(record->annotations, "{\"a\":\"b\"}");
    assert_int_equal(record->wall_ns, 42);
    ki_free(&ki_allocator_default, record);
}

TEST(what_is_too_long_is_cut) {
    char text[4000];
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text + 126, "\xE2\x82\xAC", 3);
    memcpy(text + 1022, "\xFF", 1);
    ki_event_record *record = NULL;
    const ki_record given =
        KI_RECORD(.obj = foo, .type = "Normal", .reason = text, .action = text + 1, .message = text);
    assert_int_equal(ki_event_record_new(&ki_allocator_default, &given, 1, &record), KI_OK);
    assert_int_equal(strlen(record->reason), 126);
    assert_int_equal(strlen(record->action), 128);
    assert_int_equal(strlen(record->message), 1022); /* U+FFFD would not fit */
    ki_free(&ki_allocator_default, record);
}

TEST(what_is_no_event_is_an_error) {
    static char long_annotations[KI_EVENT_ANNOTATIONS_MAX + 10];
    snprintf(long_annotations, sizeof long_annotations, "{\"a\":\"%*s\"}", KI_EVENT_ANNOTATIONS_MAX - 7, "");
    char name[KI_EVENT_RECORD_BYTES_MAX + 100];
    snprintf(name, sizeof name, "{\"metadata\":{\"name\":\"%*s\"}}", KI_EVENT_RECORD_BYTES_MAX, "x");
    ki_object *huge = make_object_from_json(name);
    const struct {
        ki_record given;
        ki_status status;
    } cases[] = {
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = "R"), KI_OK },
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = "R", .annotations = "{}"), KI_OK },
        { KI_RECORD(.obj = NULL, .type = "Normal", .reason = "R"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .reason = "R"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "normal", .reason = "R"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Error", .reason = "R"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Normal"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = ""), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = "R", .annotations = "{\"a\":1}"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = "R", .annotations = "[]"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = "R", .annotations = "{"), KI_ERR_INVALID },
        { KI_RECORD(.obj = foo, .type = "Normal", .reason = "R", .annotations = long_annotations), KI_ERR_LIMIT },
        { KI_RECORD(.obj = huge, .type = "Normal", .reason = "R"), KI_ERR_LIMIT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_event_record *record = NULL;
        assert_int_equal(ki_event_record_new(&ki_allocator_default, &cases[i].given, 1, &record), cases[i].status);
        ki_free(&ki_allocator_default, record);
    }
    ki_object_unref(huge);
}

TEST(each_allocation_may_fail) {
    const ki_record given = KI_RECORD(.obj = foo, .type = "Normal", .reason = "R", .annotations = "{\"a\":\"b\"}");
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_event_record *record = NULL;
        ki_status status = ki_event_record_new(&memory.allocator, &given, 1, &record);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_free(&memory.allocator, record);
    }
}

TEST_GROUP(event_record, make_foo, free_foo);
