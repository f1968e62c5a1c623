/* The framer finds the same values in the same bytes, however they are cut into chunks. */
#include "src/base/memory.h"
#include "src/wire/framer.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes what the framer reports into `out`: v(…) value, t(…) too large, d(…) too deep, ',' separator, ']' close, '!'
 * invalid, 'm' no memory. False where reading has to stop. */
static bool feed(ki_framer *framer, const char *data, size_t size, ki_buffer *out) {
    ki_str chunk = { data, size };
    for (;;) {
        ki_str value;
        ki_frame frame = ki_framer_next(framer, &chunk, &value);
        switch (frame) {
        case KI_FRAME_NEED_MORE:
            assert_int_equal(chunk.size, 0);
            return true;
        case KI_FRAME_VALUE:
        case KI_FRAME_TOO_LARGE:
        case KI_FRAME_TOO_DEEP:
            ki_buffer_append_char(out, frame == KI_FRAME_VALUE ? 'v' : frame == KI_FRAME_TOO_DEEP ? 'd' : 't');
            ki_buffer_append_char(out, '(');
            ki_buffer_append_view(out, value);
            ki_buffer_append_char(out, ')');
            break;
        case KI_FRAME_SEPARATOR:
            ki_buffer_append_char(out, ',');
            break;
        case KI_FRAME_COLON:
            ki_buffer_append_char(out, ':');
            break;
        case KI_FRAME_CLOSE:
            ki_buffer_append_char(out, ']');
            break;
        case KI_FRAME_INVALID:
            ki_buffer_append_char(out, '!');
            return false;
        case KI_FRAME_NO_MEMORY:
            ki_buffer_append_char(out, 'm');
            return false;
        }
    }
}

/* The report on `text` in two chunks, or in chunks of one byte where `split` is SIZE_MAX. */
static char *report(ki_str text, size_t limit, size_t split, bool *ret_partial) {
    ki_framer framer;
    ki_buffer out;
    ki_framer_init(&framer, &ki_allocator_default, limit);
    ki_buffer_init(&out, &ki_allocator_default, 0);
    if (split == SIZE_MAX) {
        /* Each byte in a block of its own, so that reading past it is seen. */
        for (size_t i = 0; i < text.size; i++) {
            char *byte = malloc(1);
            assert_non_null(byte);
            *byte = text.data[i];
            bool goes_on = feed(&framer, byte, 1, &out);
            free(byte);
            if (!goes_on)
                break;
        }
    } else if (feed(&framer, text.data, split, &out)) {
        feed(&framer, text.data + split, text.size - split, &out);
    }
    *ret_partial = framer.in_value;
    ki_framer_free(&framer);
    return ki_buffer_take(&out, NULL);
}

static void assert_report(ki_str text, size_t limit, const char *expected, bool partial) {
    for (size_t split = 0; split <= text.size + 1; split++) {
        bool is_partial;
        char *got = report(text, limit, split > text.size ? SIZE_MAX : split, &is_partial);
        if (strcmp(got, expected) != 0)
            fail_msg("%.*s\n  split at %zu gave %s\n  expected %s", (int)text.size, text.data, split, got, expected);
        assert_int_equal(is_partial, partial);
        ki_free(&ki_allocator_default, got);
    }
}

TEST(values_are_found_at_every_split) {
    const struct {
        ki_str text;
        const char *expected;
        bool partial;
    } cases[] = {
        { KI_STR(""), "", false },
        { KI_STR(" \r\n\t "), "", false },
        { KI_STR("{}"), "v({})", false },
        { KI_STR("{}{}\n{\"a\":[1,{}]} "), "v({})v({})v({\"a\":[1,{}]})", false },
        { KI_STR("{\"a\":\"}]\\\"}{\"}[]"), "v({\"a\":\"}]\\\"}{\"})v([])", false },
        { KI_STR("{\"a\\\\\":\"\\\\\"}{}"), "v({\"a\\\\\":\"\\\\\"})v({})", false },
        { KI_STR("{},{} , [1] ] x"), "v({}),v({}),v([1])]", true },
        { KI_STR("1 ,-2.5e+3,true,null]"), "v(1),v(-2.5e+3),v(true),v(null)]", false },
        { KI_STR("\"a\\\"b,]\",\"\\\\\"]"), "v(\"a\\\"b,]\"),v(\"\\\\\")]", false },
        { KI_STR("1"), "", true },
        { KI_STR("{\"a\":\"}"), "", true },
        { KI_STR("{\"a\":\"\\"), "", true },
        { KI_STR("{"), "", true },
        { KI_STR("<html>"), "!", false },
        { KI_STR("{}:"), "v({}):", false },
        { KI_STR("\xEF\xBB\xBF{}"), "!", false },
        { KI_STR("{}\0"), "v({})!", false },
        { KI_STR("}"), "]", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_report(cases[i].text, 1000, cases[i].expected, cases[i].partial);
}

TEST(a_value_over_the_limit_is_skipped_and_its_beginning_reported) {
    assert_report(KI_STR("{\"a\":\"123456789\"}{}"), 17, "v({\"a\":\"123456789\"})v({})", false);
    assert_report(KI_STR("{\"a\":\"123456789\"}{}"), 16, "t({\"a\":\"123456789\")v({})", false);
    assert_report(KI_STR("{\"a\":\"123456789\"}{}"), 5, "t({\"a\":)v({})", false);
    assert_report(KI_STR("\"123456789\",12345678,1]"), 5, "t(\"1234),t(12345),v(1)]", false);
    assert_report(KI_STR("{\"a\":1} true "), 0, "t()t()", false);
}

TEST(a_huge_value_takes_no_more_memory_than_the_limit) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_framer framer;
    ki_buffer out;
    enum {
        LIMIT = 100000,
        CHUNK = 1000
    };
    char chunk[CHUNK];
    ki_framer_init(&framer, &memory.allocator, LIMIT);
    ki_buffer_init(&out, &ki_allocator_default, 0);
    memset(chunk, 'x', sizeof chunk);
    assert_true(feed(&framer, "{\"a\":\"", 6, &out));
    for (int i = 0; i < 10000; i++) {
        assert_true(feed(&framer, chunk, sizeof chunk, &out));
        assert_true(framer.partial.capacity <= 2 * LIMIT);
    }
    assert_true(feed(&framer, "\"}{}", 4, &out));
    assert_int_equal(out.size, strlen("t()v({})") + KI_WIRE_SAMPLE_MAX);
    assert_memory_equal(out.data, "t({\"a\":\"xxx", 11);
    assert_string_equal(out.data + out.size - 5, "v({})");
    assert_true(feed(&framer, "{", 1, &out));
    ki_framer_reset(&framer);
    assert_false(framer.in_value);
    ki_framer_free(&framer);
    ki_buffer_free(&out);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

/* Feeds a string of `size` bytes in two chunks. Returns the bytes that the framer has afterwards. */
static size_t kept_after(ki_framer *framer, const scarce_memory *memory, size_t size) {
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[0] = text[size - 1] = '"';
    text[size] = '\n';
    ki_str first = { text, size / 2 }, rest = { text + size / 2, size + 1 - size / 2 }, value;
    assert_int_equal(ki_framer_next(framer, &first, &value), KI_FRAME_NEED_MORE);
    assert_int_equal(ki_framer_next(framer, &rest, &value), KI_FRAME_VALUE);
    assert_int_equal(value.size, size);
    assert_int_equal(ki_framer_next(framer, &rest, &value), KI_FRAME_NEED_MORE);
    free(text);
    return memory->bytes;
}

TEST(only_a_small_buffer_is_kept_for_the_next_value) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_framer framer;
    ki_framer_init(&framer, &memory.allocator, 1 << 20);
    assert_in_range(kept_after(&framer, &memory, 8 * 1024), 8 * 1024, KI_WIRE_BUFFER_KEEP + 1);
    assert_int_equal(kept_after(&framer, &memory, KI_WIRE_BUFFER_KEEP + 2), 0);
    assert_true(kept_after(&framer, &memory, 8 * 1024) > 0);
    ki_framer_free(&framer);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(a_value_that_nests_too_deep_is_skipped) {
    for (size_t depth = KI_JSON_DEPTH_MAX; depth <= KI_JSON_DEPTH_MAX + 1; depth++) {
        char text[2 * (KI_JSON_DEPTH_MAX + 1) + 2];
        for (size_t i = 0; i < depth; i++) {
            text[i] = i % 2 ? '{' : '[';
            text[2 * depth - 1 - i] = i % 2 ? '}' : ']';
        }
        memcpy(text + 2 * depth, "{}", 2);
        bool partial;
        for (size_t split = 0; split <= 2 * depth; split += 97) {
            char *got = report((ki_str){ text, 2 * depth + 2 }, 100000, split, &partial);
            assert_int_equal(got[0], depth > KI_JSON_DEPTH_MAX ? 'd' : 'v');
            assert_string_equal(got + strlen(got) - 5, "v({})");
            assert_false(partial);
            ki_free(&ki_allocator_default, got);
        }
    }
}

static uint32_t random_state = 1;

static uint32_t next_random(uint32_t below) {
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

/* JSON's shape without its grammar: nested brackets and strings full of quotes, backslashes and brackets. */
static void append_random_value(ki_buffer *text, int depth) {
    ki_buffer_append_char(text, '{');
    for (uint32_t n = next_random(6); n > 0; n--) {
        ki_buffer_append_char(text, '"');
        for (uint32_t k = next_random(next_random(8) ? 9 : 200); k > 0; k--)
            ki_buffer_append_string(text, &"\\\\\0\\\"\0{\0\0}\0\0[\0\0]\0\0a\0\0 \0"[3 * next_random(8)]);
        ki_buffer_append_string(text, next_random(2) ? "\": 1.5," : "\":");
        if (depth < 6 && next_random(3))
            append_random_value(text, depth + 1);
    }
    ki_buffer_append_char(text, '}');
}

TEST(random_values_in_random_chunks_come_out_as_they_went_in) {
    for (int round = 0; round < 300; round++) {
        ki_buffer text, expected, got;
        ki_framer framer;
        ki_buffer_init(&text, &ki_allocator_default, 0);
        ki_buffer_init(&expected, &ki_allocator_default, 0);
        ki_buffer_init(&got, &ki_allocator_default, 0);
        ki_framer_init(&framer, &ki_allocator_default, KI_WIRE_OBJECT_LIMIT);
        for (int i = 0; i < 20; i++) {
            size_t begin = text.size;
            append_random_value(&text, 0);
            ki_str value = { text.data + begin, text.size - begin };
            assert_int_equal(ki_json_container_size(value), value.size);
            ki_buffer_append_string(&expected, "v(");
            ki_buffer_append_view(&expected, value);
            ki_buffer_append_char(&expected, ')');
            ki_buffer_append_string(&text, next_random(2) ? "\n" : "");
        }
        for (size_t at = 0; at < text.size;) {
            size_t size = 1 + next_random(next_random(2) ? 200 : 5000);
            if (size > text.size - at)
                size = text.size - at;
            assert_true(feed(&framer, text.data + at, size, &got));
            at += size;
        }
        assert_int_equal(got.size, expected.size);
        assert_memory_equal(got.data, expected.data, got.size);
        ki_framer_free(&framer);
        ki_buffer_free(&text);
        ki_buffer_free(&expected);
        ki_buffer_free(&got);
    }
}

TEST(a_pod_is_one_value_at_every_split) {
    size_t size;
    char *json = fixture_read(KI_TEST_DATA_DIR "/pod.json", &size);
    for (size_t split = 0; split <= size; split++) {
        bool partial;
        char *got = report((ki_str){ json, size }, KI_WIRE_OBJECT_LIMIT, split, &partial);
        assert_int_equal(strlen(got), size + 3);
        assert_memory_equal(got + 2, json, size);
        ki_free(&ki_allocator_default, got);
    }
    free(json);
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_framer framer;
        ki_buffer out;
        ki_framer_init(&framer, &memory.allocator, 200);
        ki_buffer_init(&out, &ki_allocator_default, 0);
        char chunk[90];
        memset(chunk, 'x', sizeof chunk);
        bool goes_on = feed(&framer, "{\"", 2, &out);
        for (int i = 0; i < 3 && goes_on; i++)
            goes_on = feed(&framer, chunk, sizeof chunk, &out);
        assert_int_equal(goes_on, !scarce_memory_failed(&memory));
        ki_framer_free(&framer);
        ki_buffer_free(&out);
    }
}

TEST(input_is_shown_on_one_printable_line) {
    char shown[KI_WIRE_SHOW_MAX];
    assert_string_equal(ki_wire_show(KI_STR("<html>\n\xEF"), shown), "<html>\\x0A\\xEF");
    assert_string_equal(ki_wire_show((ki_str){ NULL, 0 }, shown), "");
    char text[2 * KI_WIRE_SHOW_MAX];
    for (int c = 'a'; c < 256; c += 'z') {
        memset(text, c, sizeof text);
        ki_wire_show((ki_str){ text, sizeof text }, shown);
        assert_in_range(strlen(shown), KI_WIRE_SHOW_MAX - 12, KI_WIRE_SHOW_MAX - 1);
        assert_string_equal(shown + strlen(shown) - strlen("…"), "…");
    }
}
