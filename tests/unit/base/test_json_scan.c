/* All scanners of this processor find the same ends and the same white space, in any text and at any split. */
#include "src/base/json_scan.h"
#include "tests/support/test.h"

enum {
    TEXT_MAX = 256,
    CASES = 1000000 /* KI_TEST_CASES sets another number */
};

static const ki_json_scanner *bytewise(void) {
    const ki_json_scanner *last = NULL;
    for (size_t i = 0; ki_json_scanner_at(i); i++)
        last = ki_json_scanner_at(i);
    return last;
}

TEST(the_last_scanner_is_for_each_processor_and_the_list_ends) {
    assert_string_equal(bytewise()->name, "bytes");
    assert_true(bytewise()->is_supported());
    assert_null(ki_json_scanner_at(100));
}

TEST(ends_and_white_space_are_found_by_each_scanner) {
    static const char fill[] =
        "{\"a\":\"----------------------------------------------------------------\\\\\\\"]}\",\"b\":[";
    const struct {
        ki_str text;
        size_t end; /* 0: incomplete */
        bool is_compact;
        size_t opened; /* brackets of a compact text */
    } cases[] = {
        { KI_STR("{}"), 2, true, 1 },
        { KI_STR("[{}]x"), 4, true, 2 },
        { KI_STR("{ }"), 3, false, 0 },
        { KI_STR("{\" \"}"), 5, true, 1 },
        { KI_STR("{\"\n\"}"), 5, true, 1 },
        { KI_STR("{\"\\\" }\"}"), 8, true, 1 },
        { KI_STR("{\"\\\\\"} "), 6, false, 0 },
        { KI_STR("{\"\\\\\\\"}\"}"), 9, true, 1 },
        { KI_STR("{\"}"), 0, true, 1 },
        { KI_STR("{\0}"), 3, false, 0 },
        { KI_STR("["), 0, true, 1 },
        { KI_STR("[{\"a\":[1,2]}]]"), 13, true, 3 },
    };
    for (size_t n = 0; ki_json_scanner_at(n); n++) {
        const ki_json_scanner *scanner = ki_json_scanner_at(n);
        if (!scanner->is_supported())
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ki_json_walk walk = KI_JSON_WALK_INIT;
            size_t end = scanner->find_end(&walk, cases[i].text);
            size_t opened = 0;
            bool is_compact = scanner->is_compact(cases[i].text, &opened);
            if (end != cases[i].end || is_compact != cases[i].is_compact || opened != cases[i].opened)
                fail_msg("%s: case %zu ends at %zu", scanner->name, i, end);
        }
        /* Across blocks: the string is closed in another one than it begins. */
        ki_json_walk walk = KI_JSON_WALK_INIT;
        assert_int_equal(scanner->find_end(&walk, KI_STR(fill)), 0);
        assert_int_equal(walk.depth, 2);
        assert_false(walk.in_string);
        assert_int_equal(scanner->find_end(&walk, KI_STR("]}]")), 2);
    }
}

TEST(a_walk_reports_brackets_that_nest_deeper_than_its_limit) {
    char text[TEXT_MAX];
    memset(text, '[', TEXT_MAX / 2);
    memset(text + TEXT_MAX / 2, ']', TEXT_MAX / 2);
    for (size_t n = 0; ki_json_scanner_at(n); n++) {
        const ki_json_scanner *scanner = ki_json_scanner_at(n);
        for (size_t limit = TEXT_MAX / 2 - 1; limit <= TEXT_MAX / 2 && scanner->is_supported(); limit++) {
            ki_json_walk walk = { .depth_max = limit };
            assert_int_equal(scanner->find_end(&walk, (ki_str){ text, TEXT_MAX }), TEXT_MAX);
            assert_int_equal(walk.too_deep, limit < TEXT_MAX / 2);
        }
    }
}

/* --- random text -------------------------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t next_random(uint32_t below) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

/* Makes a text at the end of `buffer`, so that the sanitizer notices a read behind it. It begins with a bracket: the
 * depth is never below zero. Some texts have few characters that matter, so that a string or a value is longer than a
 * block. */
static ki_str make_text(char buffer[TEXT_MAX]) {
    static const char alphabets[3][17] = { "{[]}\"\\\\\"{ \n\t:,a1", "{aaaaaaaaaaaaaa}", "\\\\\\\\\\\\\\\\\"a{}[] a" };
    size_t size = 1 + next_random(next_random(16) ? 80 : TEXT_MAX);
    uint64_t bits = 0;
    const char *alphabet = alphabets[next_random(3)];
    char *text = buffer + TEXT_MAX - size;
    text[0] = '{';
    for (size_t i = 1; i < size; i++, bits >>= 4) {
        if (!bits)
            bits = (uint64_t)next_random(1U << 31) << 8 | 1;
        text[i] = alphabet[bits & 15];
    }
    return (ki_str){ text, size };
}

typedef struct found {
    size_t end; /* 0: none */
    ki_json_walk walk;
    bool is_compact;
    size_t opened;
} found;

/* Scans the text in two pieces. */
static found scan(const ki_json_scanner *scanner, ki_str text, size_t split, size_t limit) {
    found result = { .walk = { .depth_max = limit } };
    result.end = scanner->find_end(&result.walk, (ki_str){ text.data, split });
    if (!result.end) {
        size_t more = scanner->find_end(&result.walk, (ki_str){ text.data + split, text.size - split });
        result.end = more ? split + more : 0;
    }
    result.is_compact = scanner->is_compact(text, &result.opened);
    return result;
}

static bool is_same(const found *a, const found *b) {
    if (a->end != b->end || a->is_compact != b->is_compact || a->walk.too_deep != b->walk.too_deep ||
        a->opened != b->opened)
        return false;
    return a->end || (a->walk.depth == b->walk.depth && a->walk.in_string == b->walk.in_string &&
                      a->walk.escaped == b->walk.escaped);
}

TEST(random_text_has_the_same_ends_and_white_space_for_each_scanner) {
    size_t count = test_case_count(CASES);
    for (size_t i = 0; i < count; i++) {
        char buffer[TEXT_MAX];
        ki_str text = make_text(buffer);
        size_t split = next_random((uint32_t)text.size + 1), limit = 1 + next_random(8);
        found expected = scan(bytewise(), text, split, limit);
        for (size_t n = 0; ki_json_scanner_at(n) != bytewise(); n++) {
            if (!ki_json_scanner_at(n)->is_supported())
                continue;
            found got = scan(ki_json_scanner_at(n), text, split, limit);
            if (!is_same(&got, &expected))
                fail_msg("case %zu, %s: end %zu, not %zu: split at %zu: %.*s", i, ki_json_scanner_at(n)->name, got.end,
                         expected.end, split, (int)text.size, text.data);
        }
    }
}
