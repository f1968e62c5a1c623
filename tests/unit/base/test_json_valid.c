/* What the scanners of this processor find valid is valid for the parser, and usual text is found valid. */
#include "src/base/json_scan.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <yyjson.h>

enum {
    TEXT_MAX = 640,
    CASES = 300000 /* KI_TEST_CASES sets another number */
};

static bool has_blocks(const ki_json_scanner *scanner) {
    return strcmp(scanner->name, "bytes") != 0 && scanner->is_supported();
}

static bool is_parsed(ki_str text) {
    yyjson_doc *doc = yyjson_read(text.data, text.size, YYJSON_READ_NOFLAG);
    bool is_object = doc && yyjson_is_obj(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return is_object;
}

/* Asks each scanner of blocks. All give the same answer. */
static bool is_valid(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline) {
    bool answer = ki_json_is_valid(text, gap_at, gap_size, outline);
    for (size_t n = 0; ki_json_scanner_at(n); n++) {
        const ki_json_scanner *scanner = ki_json_scanner_at(n);
        ki_json_outline other;
        if (!has_blocks(scanner) || text.size < 2 || text.data[0] != '{' || text.data[text.size - 1] != '}')
            continue;
        bool found = scanner->is_valid(text, gap_at, gap_size, &other);
        if (found != answer || (found && (other.count != outline->count ||
                                          memcmp(other.at, outline->at, other.count * sizeof *other.at) != 0)))
            fail_msg("%s: %d, not %d: %.*s", scanner->name, found, answer, (int)text.size, text.data);
    }
    return answer;
}

static bool can_find_valid(void) {
    return has_blocks(ki_json_scanner_at(0)) || (ki_json_scanner_at(1) && has_blocks(ki_json_scanner_at(1)));
}

TEST(valid_text_is_told_from_other_text_at_any_place_in_a_block) {
    static const struct {
        const char *member;
        bool is_valid;
    } cases[] = {
        { "\"a\":1", true },
        { "\"a\":\"\",\"\":[]", true },
        { "\"a\":[1,{\"b\":[[]]},\"c\",null],\"d\":{}", true },
        { "\"a\":[true,false,null,-0,0,-1.5,123456789012345678]", true },
        { "\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u003c\\uABcd\"", true },
        { "\"a\\\"\":\"{[,:]}\\\\\"", true },
        { "\"\xc3\xbc\":\"\xe2\x82\xac\xf0\x9f\x98\x80 \xed\x9f\xbf\xf4\x8f\xbf\xbf\"", true },
        { "\"a\":\"\x7f\"", true },
        { "\"a|\":\"|\\\\|\\\"|\",\"|\":[\"|\"]", true },
        /* The parser decides. */
        { "\"a\":1e5", false },
        { "\"a\":1234567890123456789", false },
        { "\"a\":\"\\ud83d\\ude00\"", false },
        { "\"a\": 1", false },
        /* Errors. */
        { "\"a\"", false },
        { "\"a\":", false },
        { "\"a\":1,", false },
        { ",\"a\":1", false },
        { "\"a\":1,,\"b\":1", false },
        { "\"a\"\"b\":1", false },
        { "\"a\":1\"b\":1", false },
        { "\"a\":1:2", false },
        { "\"a\":\"b\":2", false },
        { "\"a\":\"b\",\"c\"", false },
        { "\"a\":\"b\",1", false },
        { "\"a\":\"b\",[]", false },
        { "\"a\":\"b\",{}", false },
        { "\"a\",\"b\":1", false },
        { "a:1", false },
        { "1:1", false },
        { "[]:1", false },
        { "[]", false },
        { "{}", false },
        { ":1", false },
        { "\"a\"::1", false },
        { "\"a\":[1 2]", false },
        { "\"a\":[1,]", false },
        { "\"a\":[,1]", false },
        { "\"a\":[\"b\":1]", false },
        { "\"a\":[\"x\",\"b\":1]", false },
        { "\"a\":[[]{}]", false },
        { "\"a\":[\"b\"[]]", false },
        { "\"a\":[1}", false },
        { "\"a\":{]", false },
        { "\"a\":[}", false },
        { "\"a\":{\"b\":1]", false },
        { "}{", false },
        { "},{", false },
        { "\"a\":1},{\"a\":1", false },
        { "\"a\":1}", false },
        { "\"a\":1},\"", false },
        { "\"a\":1},\"b\":\"", false },
        { "\"a\":[", false },
        { "\"a\":tru", false },
        { "\"a\":truex", false },
        { "\"a\":nul", false },
        { "\"a\":t", false },
        { "\"a\":ftrue", false },
        { "\"a\":falsy", false },
        { "\"a\":|1", false },
        { "\"a\"|1", false },
        { "\"a\":|\"b\"", false },
        { "\"a\":+1", false },
        { "\"a\":01", false },
        { "\"a\":-", false },
        { "\"a\":1.", false },
        { "\"a\":.5", false },
        { "\"a\":1.2.3", false },
        { "\"a\":NaN", false },
        { "\"a\":\"\\x\"", false },
        { "\"a\":\"\\u12g4\"", false },
        { "\"a\":\"\\u12\"", false },
        { "\"a\":\"\n\"", false },
        /* Control characters whose low bits are those of a quote, a comma and a colon. */
        { "\"a\":\002b\002", false },
        { "\"a\":1\014\"b\":2", false },
        { "\"a\"\0321", false },
        { "\"a\":\"b", false },
        { "\"a\":\\\"b\\\"", false },
        { "\"a\":\"\x80\"", false },
        { "\"a\":\"\xc1\xbf\"", false },
        { "\"a\":\"\xc3\"", false },
        { "\"a\":\"\xe0\x9f\xbf\"", false },
        { "\"a\":\"\xed\xa0\x80\"", false },
        { "\"a\":\"\xf0\x8f\xbf\xbf\"", false },
        { "\"a\":\"\xf4\x90\x80\x80\"", false },
        { "\"a\":\xc3\xbc", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t filled = 0; filled < 130; filled++) {
            char text[TEXT_MAX], fill[130];
            ki_json_outline outline;
            memset(fill, 'x', sizeof fill);
            int size = snprintf(text, sizeof text, "{\"%.*s\":0,%s}", (int)filled, fill, cases[i].member);
            if (is_valid((ki_str){ text, (size_t)size }, 0, 0, &outline) != (cases[i].is_valid && can_find_valid()))
                fail_msg("%s after %zu bytes", cases[i].member, filled);
            assert_true(!cases[i].is_valid || is_parsed((ki_str){ text, (size_t)size }));
        }
    }
}

TEST(the_outline_has_the_brackets_of_the_outer_values) {
    static const char text[] = "{\"a\":{\"b\":[[1]],\"c\":2},\"d\":[{\"e\":[]}]}";
    ki_json_outline outline;
    if (!can_find_valid())
        return;
    assert_true(is_valid(KI_STR(text), 0, 0, &outline));
    static const char brackets[] = "{{[]}[{}]";
    assert_int_equal(outline.count, strlen(brackets));
    for (size_t i = 0; i < outline.count; i++)
        assert_int_equal(text[outline.at[i]], brackets[i]);
}

TEST(an_outline_has_the_first_brackets_of_a_text_with_more_of_them) {
    for (size_t values = 1; values < 300; values++) {
        char text[2 * TEXT_MAX] = "{\"a\":[";
        size_t size = strlen(text), count = 0;
        ki_json_outline outline;
        for (size_t i = 0; i < values; i++, size += 3)
            memcpy(text + size, i + 1 < values ? "[]," : "[]]", 3);
        text[size++] = '}';
        assert_int_equal(is_valid((ki_str){ text, size }, 0, 0, &outline), can_find_valid());
        assert_true(outline.count <= KI_JSON_OUTLINE_MAX);
        for (size_t i = 0; i + 1 < size && count < outline.count; i++)
            if (text[i] != ',' && strchr("{}[]", text[i]))
                assert_int_equal(outline.at[count++], i);
        assert_int_equal(count, outline.count);
        assert_true(!can_find_valid() || outline.count == 2 * values + 3 || outline.count > KI_JSON_OUTLINE_MAX - 64);
    }
}

TEST(nesting_deeper_than_a_stack_of_bits_is_left_to_the_parser) {
    for (size_t depth = 1; depth < 200; depth++) {
        char text[TEXT_MAX] = "{\"a\":";
        ki_json_outline outline;
        memset(text + 5, '[', depth);
        memset(text + 5 + depth, ']', depth);
        text[5 + 2 * depth] = '}';
        bool found = is_valid((ki_str){ text, 6 + 2 * depth }, 0, 0, &outline);
        assert_int_equal(found, depth < 61 && can_find_valid());
        text[5 + 2 * depth - 1] = '}';
        assert_false(is_valid((ki_str){ text, 6 + 2 * depth }, 0, 0, &outline));
    }
}

/* --- random text -------------------------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t next_random(uint32_t below) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

typedef struct text {
    char bytes[TEXT_MAX];
    size_t size;
    size_t gap_at, gap_size; /* the inside of one container */
} text;

static void add(text *to, const char *more) {
    size_t size = strlen(more);
    memcpy(to->bytes + to->size, more, size);
    to->size += size;
}

static void add_string(text *to) {
    static const char *const pieces[] = {
        "a",   "long words of a text", "\\\"", "\\\\", "\\u00e9", "\xc3\xa9", "{[,:]}", " ", "", "",
        "\\n", "\xf0\x9f\x98\x80"
    };
    add(to, "\"");
    for (uint32_t i = next_random(4); i; i--)
        add(to, pieces[next_random(sizeof pieces / sizeof *pieces)]);
    add(to, "\"");
}

static void add_value(text *to, unsigned depth) {
    static const char *const scalars[] = { "0", "-1", "10.25", "true", "false", "null" };
    uint32_t kind = to->size > TEXT_MAX / 3 ? next_random(2) : next_random(4);
    if (depth > 0 && kind == 0) {
        add(to, scalars[next_random(6)]);
        return;
    }
    if (depth > 0 && kind == 1) {
        add_string(to);
        return;
    }
    bool is_object = depth == 0 || kind == 2;
    add(to, is_object ? "{" : "[");
    size_t at = to->size;
    for (uint32_t i = 0, count = to->size > TEXT_MAX / 4 ? 0 : next_random(depth ? 3 : 6); i < count; i++) {
        if (i)
            add(to, ",");
        if (is_object) {
            add_string(to);
            add(to, ":");
        }
        add_value(to, depth + 1);
    }
    if (depth && next_random(4) == 0) {
        to->gap_at = at;
        to->gap_size = to->size - at;
    }
    add(to, is_object ? "}" : "]");
}

TEST(random_text_that_is_found_valid_is_valid_for_the_parser) {
    static const char bytes[] = "{}[],:\"\\ 0-.1eut\n\x80\xc3x";
    size_t count = test_case_count(CASES), changed_valid = 0;
    for (size_t i = 0; i < count; i++) {
        text made = { .size = 0 };
        ki_json_outline outline;
        add_value(&made, 0);
        uint32_t changes = next_random(3);
        for (uint32_t n = 0; n < changes; n++)
            made.bytes[next_random((uint32_t)made.size)] = bytes[next_random(sizeof bytes - 1)];
        char *exact = malloc(made.size); /* the sanitizer notices a read behind it */
        assert_non_null(exact);
        memcpy(exact, made.bytes, made.size);
        ki_str whole = { exact, made.size };
        bool found = is_valid(whole, 0, 0, &outline);
        if ((found && !is_parsed(whole)) || (!changes && found != can_find_valid()))
            fail_msg("case %zu: %d: %.*s", i, found, (int)whole.size, whole.data);
        changed_valid += found && changes;
        if (!changes && made.gap_size) {
            memset(exact + made.gap_at, '"', made.gap_size); /* nobody reads it */
            assert_int_equal(is_valid(whole, made.gap_at, made.gap_size, &outline), can_find_valid());
        }
        free(exact);
    }
    assert_true(!can_find_valid() || changed_valid > count / 100);
}
