/* Events come out once and in order, whatever the chunks; bad ones are told apart from a stream that is lost. */
#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/wire/watch_decoder.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a line for the event. A change is noted as 0 to 2, in the order of ki_event_type; a bookmark as 3, an error as
 * 4. */
static void note(ki_buffer *seen, const ki_watch_event *event) {
    static const int numbers[] = { [KI_WATCH_BOOKMARK] = 3, [KI_WATCH_ERROR] = 4, [KI_WATCH_BAD] = -1 };
    ki_str object = event->object;
    if (event->part == KI_WATCH_BAD)
        ki_buffer_printf(seen, "bad %s: %s [%.*s]\n", ki_status_name(event->why->code), event->why->message,
                         (int)object.size, object.data);
    else if (event->part != KI_WATCH_NOTHING)
        ki_buffer_printf(seen, "%d %.*s\n",
                         event->part == KI_WATCH_CHANGE ? (int)event->type - KI_EVENT_ADD : numbers[event->part],
                         (int)object.size, object.data);
}

typedef struct outcome {
    ki_status status;
    bool clean;
    int events;
    ki_buffer seen;
    ki_error err;
} outcome;

/* Returns true for what makes an object: valid JSON that is not nested too deep. */
static bool is_object(ki_str text) {
    ki_json_walk walk = { .depth_max = KI_JSON_DEPTH_MAX };
    yyjson_doc *doc;
    if (ki_json_parse(&ki_allocator_default, text, &doc, NULL))
        return false;
    yyjson_doc_free(doc);
    return ki_json_find_end(&walk, text) == text.size && !walk.too_deep;
}

/* Reads all events of a chunk, as the receiver does. */
static void decode_chunk(ki_watch_decoder *decoder, ki_str chunk, outcome *result) {
    ki_watch_event event;
    while (chunk.size && !result->status) {
        result->status = ki_watch_decoder_next(decoder, &chunk, &event, &result->err);
        if (!result->status && event.is_assumed && !is_object(event.object)) {
            result->status = ki_watch_decoder_reread(decoder, &chunk, &event, &result->err);
            assert_false(event.is_assumed);
        }
        assert_true(event.part != KI_WATCH_NOTHING || chunk.size == 0 || result->status);
        note(&result->seen, &event);
        result->events += event.part != KI_WATCH_NOTHING;
    }
}

/* Reads what the decoder has kept at the end of the stream. */
static void decode_left(ki_watch_decoder *decoder, outcome *result) {
    ki_str left = ki_watch_decoder_give_back(decoder);
    char *copy = malloc(left.size + 1);
    assert_non_null(copy);
    memcpy(copy, left.size ? left.data : "", left.size);
    decode_chunk(decoder, (ki_str){ copy, left.size }, result);
    assert_int_equal(ki_watch_decoder_give_back(decoder).size, 0);
    free(copy);
}

/* Chunks of `first` bytes, then the rest; of one byte each where `first` is SIZE_MAX. */
static outcome decode(const ki_allocator *allocator, ki_str text, size_t limit, size_t first) {
    outcome result = { .err = KI_ERROR_INIT };
    ki_buffer_init(&result.seen, &ki_allocator_default, 0);
    ki_buffer_append_string(&result.seen, "");
    ki_watch_decoder *decoder = NULL;
    result.status = ki_watch_decoder_new(allocator, limit, &decoder, &result.err);
    size_t step = first == SIZE_MAX ? 1 : first;
    for (size_t at = 0; at <= text.size && !result.status; step = first == SIZE_MAX ? 1 : text.size - at) {
        if (step > text.size - at)
            step = text.size - at;
        decode_chunk(decoder, (ki_str){ text.data + at, step }, &result);
        at += step;
        if (at == text.size)
            break;
    }
    if (decoder && !result.status)
        decode_left(decoder, &result);
    result.clean = decoder && ki_watch_decoder_is_clean(decoder);
    ki_watch_decoder_free(decoder);
    return result;
}

static void assert_decodes(ki_str text, size_t limit, const char *expected, ki_status status, bool clean) {
    for (size_t split = 0; split <= text.size + 1; split++) {
        outcome got = decode(&ki_allocator_default, text, limit, split > text.size ? SIZE_MAX : split);
        if (strcmp(got.seen.data, expected) != 0 || got.status != status || got.clean != clean)
            fail_msg("%.*s\n  split at %zu gave status %d, clean %d (%s)\n%s  expected\n%s", (int)text.size, text.data,
                     split, got.status, got.clean, got.err.message, got.seen.data, expected);
        ki_buffer_free(&got.seen);
    }
}

TEST(events_are_handed_over_at_every_split) {
    const struct {
        ki_str text;
        const char *expected;
        bool clean;
    } cases[] = {
        { KI_STR(""), "", true },
        { KI_STR("\n"), "", true },
        { KI_STR("{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n"), "0 {\"a\":1}\n", true },
        { KI_STR("{\"type\":\"ADDED\",\"object\":{}}{\"type\":\"MODIFIED\",\"object\":{}}\n\r\n "
                 "{\"type\":\"DELETED\",\"object\":{}}"),
          "0 {}\n1 {}\n2 {}\n", true },
        { KI_STR("{\"type\":\"BOOKMARK\",\"object\":{\"b\":\"}\\\"\"}} {\"type\":\"ERROR\",\"object\":{\"code\":410}}"),
          "3 {\"b\":\"}\\\"\"}\n4 {\"code\":410}\n", true },
        { KI_STR("{\"object\":{\"a\":{}},\"type\":\"ADDED\"}"), "0 {\"a\":{}}\n", true },
        { KI_STR(" { \"x\" : [1,\"}\"], \"type\" :\"ADDED\" , \"y\":null,\"z\":-1.5 ,\"object\" : "
                 "{\"type\":\"DELETED\"} , \"w\":\"\\\"\"}"),
          "0 {\"type\":\"DELETED\"}\n", true },
        { KI_STR("{\"type\":\"ADDED\",\"object\":{}}{\"type\":\"ADDED\",\"obj"), "0 {}\n", false },
        /* lines that look like one event: two events, a member behind the object, a second object */
        { KI_STR("{\"type\":\"ADDED\",\"object\":{}}{\"type\":\"DELETED\",\"object\":{}}\n"
                 "{\"type\":\"ADDED\",\"object\":{}}\n"),
          "0 {}\n2 {}\n0 {}\n", true },
        { KI_STR("{\"type\":\"ADDED\",\"object\":{\"a\":1},\"x\":{}}\n{\"type\":\"DELETED\",\"object\":{}}\n"),
          "0 {\"a\":1}\n2 {}\n", true },
        { KI_STR("{\"type\":\"ADDED\",\"object\":{\"a\":1},\"object\":{\"b\":2}}\n"), "0 {\"b\":2}\n", true },
        { KI_STR("{\"type\":\"ADDED\",\"object\":{\"a\":\"\\"), "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_decodes(cases[i].text, 1000, cases[i].expected, KI_OK, cases[i].clean);
}

TEST(a_bad_event_is_reported_and_the_rest_continues) {
    assert_decodes(KI_STR("{}{\"type\":\"ADDED\",\"object\":{}}"), 1000,
                   "bad malformed: watch event of unknown type: none [{}]\n0 {}\n", KI_OK, true);
    assert_decodes(KI_STR("{\"type\":\"NEW\",\"object\":{}}{\"type\":\"ADDED\",\"object\":{}}"), 1000,
                   "bad malformed: watch event of unknown type: \"NEW\" [{\"type\":\"NEW\",\"object\":{}}]\n0 {}\n",
                   KI_OK, true);
    assert_decodes(KI_STR("{\"type\":\"ADDED\"}"), 1000,
                   "bad malformed: watch event without an object: \"{\"type\":\"ADDED\"}\" [{\"type\":\"ADDED\"}]\n",
                   KI_OK, true);
    assert_decodes(KI_STR("{\"type\":\"ADDED\",\"object\":[1]}"), 1000,
                   "bad malformed: watch event without an object: \"{\"type\":\"ADDED\",\"object\":[1]}\" "
                   "[{\"type\":\"ADDED\",\"object\":[1]}]\n",
                   KI_OK, true);
    static const char *const malformed[] = {
        "{1:2}",      "{\"type\"}", "{\"type\":}", "{\"type\":\"ADDED\",}", "{\"type\":\"ADDED\" \"object\":{}}",
        "{\"a\":{]}", "{,}",        "{\"a\":1]",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        char text[128], expected[256];
        snprintf(text, sizeof text, "%s{\"type\":\"ADDED\",\"object\":{}}", malformed[i]);
        snprintf(expected, sizeof expected, "bad malformed: malformed watch event: \"%s\" [%s]\n0 {}\n", malformed[i],
                 malformed[i]);
        if (strcmp(malformed[i], "{\"a\":{]}") != 0)
            assert_decodes(ki_str_of(text), 1000, expected, KI_OK, true);
    }
}

TEST(an_event_over_the_limit_is_reported_and_the_rest_continues) {
    assert_decodes(
        KI_STR("{\"type\":\"ADDED\",\"object\":{\"a\":\"long long long\"}}{\"type\":\"ADDED\",\"object\":{}}"), 40,
        "bad limit reached: a watch event is larger than 40 bytes "
        "[{\"type\":\"ADDED\",\"object\":{\"a\":\"long long]\n0 {}\n",
        KI_OK, true);
}

TEST(what_is_no_stream_of_objects_ends_it_with_a_message_that_shows_it) {
    const struct {
        ki_str text;
        const char *message;
    } cases[] = {
        { KI_STR("<html>"), "expected a JSON object, got \"<html>\"" },
        { KI_STR("\xEF\xBB\xBF{}"), "expected a JSON object, got \"\\xEF\\xBB\\xBF{}\"" },
        { KI_STR(" 404 page not found\n"), "expected a JSON object, got \"404 page not found\\x0A\"" },
        { KI_STR("[{}]"), "expected a JSON object, got \"[{}]\"" },
        { KI_STR("}"), "expected a JSON object, got \"}\"" },
        { KI_STR(","), "expected a JSON object, got \",\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_decodes(cases[i].text, 1000, "", KI_ERR_PROTOCOL, false);
        outcome got = decode(&ki_allocator_default, cases[i].text, 1000, cases[i].text.size);
        assert_string_equal(got.err.message, cases[i].message);
        ki_buffer_free(&got.seen);
    }
    assert_decodes(KI_STR("{\"type\":\"ADDED\",\"object\":{}}\n<html>"), 1000, "0 {}\n", KI_ERR_PROTOCOL, false);
}

TEST(an_event_that_nests_too_deep_is_skipped) {
    enum {
        DEPTH = 2 * KI_JSON_DEPTH_MAX
    };
    char text[2 * DEPTH + 64];
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[0] = '{';
    text[2 * DEPTH - 1] = '}';
    strcpy(text + 2 * DEPTH, "{\"type\":\"ADDED\",\"object\":{}}");
    outcome got = decode(&ki_allocator_default, ki_str_of(text), 100000, 10);
    assert_int_equal(got.status, KI_OK);
    assert_non_null(strstr(got.seen.data, "a watch event is nested deeper than 513"));
    assert_non_null(strstr(got.seen.data, "0 {}"));
    ki_buffer_free(&got.seen);
}

TEST(each_call_reads_one_event) {
    ki_str text = KI_STR("{\"type\":\"ADDED\",\"object\":{}}{}\n{\"type\":\"ADDED\",\"object\":{\n"
                         "{\"type\":\"DELETED\",\"object\":{}}\n");
    static const ki_watch_part parts[] = { KI_WATCH_CHANGE, KI_WATCH_BAD, KI_WATCH_BAD, KI_WATCH_CHANGE,
                                           KI_WATCH_NOTHING };
    static const size_t left[] = { 61, 59, 3, 1, 0 };
    ki_watch_decoder *decoder = NULL;
    ki_watch_event event;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_int_equal(ki_watch_decoder_next(decoder, &text, &event, NULL), KI_OK);
        assert_int_equal(event.part, parts[i]);
        assert_int_equal(text.size, left[i]);
    }
    ki_watch_decoder_free(decoder);
    ki_watch_decoder_free(NULL);
}

TEST(an_events_object_is_assumed_to_end_with_its_line_until_one_does_not) {
    static const struct {
        const char *line;
        bool is_assumed, is_json;
    } cases[] = {
        { "{\"type\":\"ADDED\",\"object\":{}}\n", true, true },
        { "{\"type\":\"BOOKMARK\",\"object\":{}}\n", false, true },
        { "{\"type\":\"ADDED\",\"object\":{} }\n", false, true },
        { "{\"type\":\"ADDED\",\"object\":{oops}}\n", true, false },
        { "{\"type\":\"MODIFIED\",\"object\":{}}\n", true, true },
        { "{\"type\":\"ADDED\",\"object\":{},\"x\":{}}\n", true, false },
        { "{\"type\":\"DELETED\",\"object\":{}}\n", false, true },
    };
    ki_watch_decoder *decoder = NULL;
    ki_watch_event event;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_str chunk = ki_str_of(cases[i].line);
        assert_int_equal(ki_watch_decoder_next(decoder, &chunk, &event, NULL), KI_OK);
        if (event.is_assumed != cases[i].is_assumed)
            fail_msg("%s", cases[i].line);
        if (!cases[i].is_json)
            assert_int_equal(ki_watch_decoder_reread(decoder, &chunk, &event, NULL), KI_OK);
        assert_false(event.is_assumed && !cases[i].is_json);
        assert_true(event.part == KI_WATCH_CHANGE || event.part == KI_WATCH_BOOKMARK);
    }
    ki_watch_decoder_free(decoder);
}

/* --- lines in several chunks -------------------------------------------------------------------------------------- */

static ki_watch_event next_event(ki_watch_decoder *decoder, const char *text, ki_str *ret_rest) {
    ki_watch_event event;
    *ret_rest = ki_str_of(text);
    assert_int_equal(ki_watch_decoder_next(decoder, ret_rest, &event, NULL), KI_OK);
    return event;
}

static void assert_changes(const ki_watch_event *event, const char *object) {
    assert_int_equal(event->part, KI_WATCH_CHANGE);
    assert_int_equal(event->object.size, strlen(object));
    assert_memory_equal(event->object.data, object, event->object.size);
}

#define LINE "{\"type\":\"ADDED\",\"object\":{}}\n"

TEST(a_line_in_several_chunks_is_an_event_if_the_one_before_was_a_line) {
    ki_watch_decoder *decoder = NULL;
    ki_str rest;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
    ki_watch_event event = next_event(decoder, LINE, &rest);
    assert_changes(&event, "{}");
    event = next_event(decoder, "{\"type\":\"MODIFIED\",\"object\":{\"a\":", &rest);
    assert_int_equal(event.part, KI_WATCH_NOTHING);
    assert_false(ki_watch_decoder_is_clean(decoder));
    event = next_event(decoder, "1,\"b\":{},", &rest);
    assert_int_equal(event.part, KI_WATCH_NOTHING);
    event = next_event(decoder, "\"c\":2}}\n" LINE, &rest);
    assert_changes(&event, "{\"a\":1,\"b\":{},\"c\":2}");
    assert_true(event.is_assumed);
    assert_int_equal(rest.size, strlen(LINE));
    assert_true(ki_watch_decoder_is_clean(decoder));
    ki_watch_decoder_free(decoder);
}

TEST(an_event_that_ends_with_its_chunk_does_not_wait_for_its_newline) {
    ki_watch_decoder *decoder = NULL;
    ki_str rest;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
    ki_watch_event event = next_event(decoder, LINE, &rest);
    event = next_event(decoder, "{\"type\":\"DELETED\",\"object\":{\"a\":", &rest);
    assert_int_equal(event.part, KI_WATCH_NOTHING);
    event = next_event(decoder, "{}}}", &rest);
    assert_changes(&event, "{\"a\":{}}");
    assert_true(ki_watch_decoder_is_clean(decoder));
    event = next_event(decoder, "\n" LINE, &rest);
    assert_changes(&event, "{}");
    ki_watch_decoder_free(decoder);
}

TEST(a_gathered_line_that_is_no_event_is_read_by_its_brackets) {
    static const struct {
        const char *first, *second, *objects[3];
    } cases[] = {
        { "{\"type\":\"ADDED\",\"object\":{\"a\":1}}{\"type\":\"ADDED\",", "\"object\":{}}\n", { "{\"a\":1}", "{}" } },
        { "{\"type\":\"ADDED\",\"object\":{\"a\":1},", "\"x\":{}}\n", { "{\"a\":1}" } },
        { "{\"type\":\"ADDED\",\"object\":{\"a\":", "\n1}}\n" LINE, { "{\"a\":\n1}", "{}" } },
        { "{\"type\":\"ADDED\",\"object\":{\"a\":1}} {\"type\":\"ADDED\",\"object\":{\"b\":",
          "2}}",
          { "{\"a\":1}", "{\"b\":2}" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_watch_decoder *decoder = NULL;
        ki_str rest;
        assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
        ki_watch_event event = next_event(decoder, LINE, &rest);
        event = next_event(decoder, cases[i].first, &rest);
        assert_int_equal(event.part, KI_WATCH_NOTHING);
        assert_int_equal(rest.size, 0);
        rest = ki_str_of(cases[i].second);
        for (size_t object = 0; cases[i].objects[object]; object++) {
            assert_int_equal(ki_watch_decoder_next(decoder, &rest, &event, NULL), KI_OK);
            if (event.is_assumed && !is_object(event.object))
                assert_int_equal(ki_watch_decoder_reread(decoder, &rest, &event, NULL), KI_OK);
            assert_changes(&event, cases[i].objects[object]);
        }
        ki_watch_decoder_free(decoder);
    }
}

TEST(what_was_gathered_at_the_end_of_a_stream_is_given_back_once) {
    static const char last[] = "{\"type\":\"ADDED\",\"object\":{\"a\":1}}{\"type\":";
    char copy[sizeof last];
    ki_watch_decoder *decoder = NULL;
    ki_str rest;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
    assert_int_equal(ki_watch_decoder_give_back(decoder).size, 0);
    ki_watch_event event = next_event(decoder, LINE, &rest);
    event = next_event(decoder, last, &rest);
    assert_int_equal(event.part, KI_WATCH_NOTHING);
    ki_str left = ki_watch_decoder_give_back(decoder);
    assert_int_equal(left.size, strlen(last));
    memcpy(copy, left.data, left.size);
    copy[left.size] = '\0';
    assert_string_equal(copy, last);
    event = next_event(decoder, copy, &rest);
    assert_changes(&event, "{\"a\":1}");
    assert_int_equal(ki_watch_decoder_next(decoder, &rest, &event, NULL), KI_OK);
    assert_int_equal(event.part, KI_WATCH_NOTHING);
    assert_int_equal(ki_watch_decoder_give_back(decoder).size, 0);
    assert_false(ki_watch_decoder_is_clean(decoder));
    ki_watch_decoder_free(decoder);
}

TEST(a_gathered_line_takes_the_memory_of_an_event_that_was_scanned) {
    ki_watch_decoder *decoder = NULL;
    scarce_memory memory;
    ki_str rest;
    scarce_memory_init(&memory, SIZE_MAX);
    assert_int_equal(ki_watch_decoder_new(&memory.allocator, 1000, &decoder, NULL), KI_OK);
    for (int i = 0; i < 3; i++) {
        size_t before = atomic_load(&memory.calls);
        ki_watch_event event = next_event(decoder, "{\"type\":\"ADDED\",\"object\":{\"a\":", &rest);
        assert_int_equal(event.part, KI_WATCH_NOTHING);
        event = next_event(decoder, "1}}\n", &rest);
        assert_changes(&event, "{\"a\":1}");
        assert_int_equal(event.is_assumed, true);
        assert_int_equal(atomic_load(&memory.calls) - before, i == 0);
    }
    ki_watch_decoder_free(decoder);
}

TEST(a_gathered_line_over_the_limit_is_reported) {
    assert_decodes(KI_STR(LINE "{\"type\":\"ADDED\",\"object\":{\"a\":\"long long long\"}}\n" LINE), 40,
                   "0 {}\nbad limit reached: a watch event is larger than 40 bytes "
                   "[{\"type\":\"ADDED\",\"object\":{\"a\":\"long long]\n0 {}\n",
                   KI_OK, true);
}

TEST(a_stream_that_cannot_be_read_further_is_not_read_further) {
    ki_str text = KI_STR("<html>{\"type\":\"ADDED\",\"object\":{}}");
    ki_watch_decoder *decoder = NULL;
    ki_watch_event event;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, 1000, &decoder, NULL), KI_OK);
    assert_int_equal(ki_watch_decoder_next(decoder, &text, &event, NULL), KI_ERR_PROTOCOL);
    text.data += 6;
    text.size -= 6;
    assert_int_equal(ki_watch_decoder_next(decoder, &text, &event, NULL), KI_ERR_PROTOCOL);
    assert_int_equal(event.part, KI_WATCH_NOTHING);
    ki_watch_decoder_free(decoder);
}

TEST(a_real_pod_comes_through_in_chunks_of_any_size) {
    size_t size;
    char *json = fixture_read(KI_TEST_DATA_DIR "/pod.json", &size);
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    for (int i = 0; i < 3; i++)
        ki_buffer_printf(&text, "{\"type\":\"MODIFIED\",\"object\":%s}\n", json);
    outcome whole = decode(&ki_allocator_default, (ki_str){ text.data, text.size }, KI_WIRE_OBJECT_LIMIT, text.size);
    assert_int_equal(whole.events, 3);
    for (size_t split = 0; split <= text.size; split += 7) {
        outcome got = decode(&ki_allocator_default, (ki_str){ text.data, text.size }, KI_WIRE_OBJECT_LIMIT, split);
        assert_int_equal(got.seen.size, whole.seen.size);
        assert_memory_equal(got.seen.data, whole.seen.data, got.seen.size);
        ki_buffer_free(&got.seen);
    }
    ki_buffer_free(&whole.seen);
    ki_buffer_free(&text);
    free(json);
}

TEST(metadata_that_matters_is_read_without_an_object) {
    static const struct {
        const char *json;
        ki_status status;
        const char *version;
        const char *kind;
        bool end;
    } cases[] = {
        { "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"12\",\"annotations\":{\"k8s.io/"
          "initial-events-end\":\"true\"}}}",
          KI_OK, "12", "Pod", true },
        { "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"12\",\"annotations\":{\"k8s.io/"
          "initial-events-end\":\"True\"}}}",
          KI_OK, "12", "Pod", false },
        { "{\"metadata\":{\"resourceVersion\":\"12\",\"annotations\":{\"k8s.io/initial-events-end\":true}}}", KI_OK,
          "12", "", false },
        { "{\"metadata\":null}", KI_OK, "", "", false },
        { "[]", KI_OK, "", "", false },
        { "{", KI_ERR_PARSE, "", "", false },
        { "{\"metadata\":{\"resourceVersion\":\"1\\u0000\"}}", KI_ERR_PARSE, "", "", false },
        { "{\"metadata\":{\"resourceVersion\":\"1234567890123456789012345678901234567890123456789012345678901234\"}}",
          KI_ERR_PARSE, "", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_watch_meta meta = { .resource_version = "", .kind = "", .initial_events_end = false };
        assert_int_equal(ki_watch_meta_parse(&ki_allocator_default, ki_str_of(cases[i].json), &meta, NULL),
                         cases[i].status);
        assert_string_equal(meta.resource_version, cases[i].version);
        assert_string_equal(meta.kind, cases[i].kind);
        assert_int_equal(meta.initial_events_end, cases[i].end);
    }
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_watch_meta meta;
    assert_int_equal(ki_watch_meta_parse(&memory.allocator, KI_STR("{}"), &meta, NULL), KI_ERR_NO_MEMORY);
}

TEST(each_allocation_may_fail) {
    ki_str text =
        KI_STR(LINE "{\"type\":\"ADDED\",\"object\":{\"a\":\"......................................................"
                    "......\"}}\n");
    static const size_t splits[] = { SIZE_MAX, 75 };
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            outcome got = decode(&memory.allocator, text, 1000, splits[i]);
            assert_int_equal(got.status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
            ki_buffer_free(&got.seen);
        }
    }
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static unsigned below(uint64_t *state, unsigned bound) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % bound;
}

/* Some events, in lines or not, of which bytes are missing or are others. */
static void make_damaged(uint64_t *state, ki_buffer *out) {
    static const char others[] = "\"{}\n\\,[]";
    ki_buffer_reset(out, SIZE_MAX);
    for (unsigned i = 0, count = 1 + below(state, 5); i < count; i++)
        ki_buffer_printf(out, "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"x%u\"},\"s\":\"%s\"%s}}%s",
                         below(state, 2) ? "ADDED" : "MODIFIED", i, below(state, 3) ? "a" : "\\\"{",
                         below(state, 4) ? "" : ",\n\"l\":[\n{\"type\":\"Ready\"}]", below(state, 8) ? "\n" : "");
    for (unsigned damages = below(state, 4); damages > 0; damages--) {
        size_t at = below(state, (unsigned)out->size), missing = below(state, 20);
        if (below(state, 2)) {
            out->data[at] = others[below(state, sizeof others - 1)];
        } else if (at + missing < out->size) {
            memmove(out->data + at, out->data + at + missing, out->size - at - missing);
            out->size -= missing;
        }
    }
}

TEST(damaged_streams_are_read_alike_in_pieces_and_as_a_whole) {
    uint64_t random = 1;
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    for (int i = 0; i < 3000; i++) {
        make_damaged(&random, &text);
        ki_str bytes = { text.data, text.size };
        size_t limit = below(&random, 5) ? 100000 : 100;
        outcome whole = decode(&ki_allocator_default, bytes, limit, bytes.size);
        for (int j = 0; j < 3; j++) {
            size_t split = j ? below(&random, (unsigned)bytes.size) : SIZE_MAX;
            outcome parts = decode(&ki_allocator_default, bytes, limit, split);
            if (strcmp(whole.seen.data, parts.seen.data) != 0 || whole.status != parts.status ||
                whole.clean != parts.clean)
                fail_msg("%.*s\n  split at %zu\n%s  not\n%s", (int)bytes.size, bytes.data, split, parts.seen.data,
                         whole.seen.data);
            ki_buffer_free(&parts.seen);
        }
        ki_buffer_free(&whole.seen);
    }
    ki_buffer_free(&text);
}
