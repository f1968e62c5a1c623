/* test_pattern.c: patterns of schemas match as they should, and none takes the machine. */
#include "testing/crd/pattern.h"

#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLENTY = 1000 * 1000 * 1000
};

/* Compiles and matches. Fails for a pattern that cannot be compiled. */
static bool refuses_within(const char *source, const char *text, size_t size, uint64_t *left) {
    kt_pattern *pattern = NULL;
    kt_pattern_problem problem;
    kt_pattern_room room;
    if (kt_pattern_compile(&ki_allocator_default, ki_str_of(source), &pattern, &problem))
        fail_msg("%s: %s", source, problem.reason);
    assert_int_equal(kt_pattern_room_init(&room, &ki_allocator_default, pattern->count), KI_OK);
    bool matches = kt_pattern_matches(pattern, (ki_str){ text, size }, &room, left);
    kt_pattern_room_free(&room, &ki_allocator_default);
    kt_pattern_free(pattern);
    return !matches;
}

static bool refuses(const char *pattern, const char *text) {
    uint64_t left = PLENTY;
    return refuses_within(pattern, text, strlen(text), &left);
}

TEST(a_text_that_does_not_match_is_rejected) {
    assert_true(refuses("^[a-z]\\d+$", "9"));
    assert_false(refuses("^[a-z]\\d+$", "a12"));
    assert_true(refuses("^(?:red|blue)$", "green"));
    assert_false(refuses("^(?:red|blue)$", "blue"));
    assert_true(refuses("^[\\w.]{1,1000}$", "a b"));
    assert_false(refuses("^[\\w.]{1,1000}$", "a.b"));
    assert_true(refuses("^[a-z0-9]([-a-z0-9]{0,253}[a-z0-9])?$", "-"));
    assert_true(refuses("^(([a-z]+)+\\.)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
}

TEST(a_set_is_read_as_go_reads_it) {
    static const struct {
        const char *pattern, *matches, *others;
    } rows[] = {
        { "^[\\]a]$", "]a", "\\b[" },
        { "^[]a]$", "]a", "b[" },
        { "^[^\\]a]$", "b\\", "]a" },
        { "^[\\[\\]]$", "[]", "a\\" },
        { "^[a\\-z]$", "a-z", "b\\" },
        { "^[\\^a]$", "^a", "b\\" },
        { "^[\\^]$", "^", "a\\" },
        { "^[\\^\\-]$", "^-", "a\\" },
        { "^[-a]$", "-a", "b" },
        { "^[a-c.-]$", "abc.-", "d" },
        { "^[\\\\]$", "\\", "a]" },
        { "^[\\d\\]]$", "7]", "a\\d" },
        { "^[[:digit:]\\]]$", "7]", "a:" },
        { "^[\\[.]$", "[.", "a]" },
        { "^[\\n\\t]$", "\n\t", "nt" },
        { "^\\D$", "a", "7" },
        { "^\\]$", "]", "a\\" },
        { "^\\<$", "<", "a" },
        { "\\A[a]\\z", "a", "b" },
        { "^[^^]$", "a", "^" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (const char *c = rows[i].matches; *c; c++) {
            const char text[] = { *c, '\0' };
            if (refuses(rows[i].pattern, text))
                fail_msg("%s refuses %s", rows[i].pattern, text);
        }
        for (const char *c = rows[i].others; *c; c++) {
            const char text[] = { *c, '\0' };
            if (!refuses(rows[i].pattern, text))
                fail_msg("%s takes %s", rows[i].pattern, text);
        }
    }
}

/* What Go's package regexp says of each. */
TEST(the_syntax_is_that_of_go) {
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        { "", "", true },
        { "a|", "b", true },
        { "^(|a)$", "b", false },
        { "^a.c$",
          "a\xc3\xa4"
          "c",
          true },
        { "^a.c$", "a\nc", false },
        { "(?s)^a.c$", "a\nc", true },
        { "^b", "a\nb", false },
        { "(?m)^b$", "a\nb\nc", true },
        { "(?i)^straSSE$",
          "STRA\xc5\xbf"
          "se",
          true },
        { "(?i:a)B", "AB", true },
        { "(?i:a)B", "Ab", false },
        { "(?i)a(?-i)b", "AB", false },
        { "(a(?i)b)c", "aBc", true },
        { "(a(?i)b)c", "aBC", false },
        { "^[^a-c]$", "d", true },
        { "^[^\\D]$", "7", true },
        { "^[\\D]$", "7", false },
        { "^[[:^alpha:]]$", "7", true },
        { "^[\xc3\xa0-\xc3\xa9]$", "\xc3\xa4", true },
        { "^\\x41\\x{e4}\\101$",
          "A\xc3\xa4"
          "A",
          true },
        { "^\\Qa.b\\E*$", "a.bb", true },
        { "^\\Qa.b\\E*$", "axb", false },
        { "^a{2}$", "aaa", false },
        { "^a{2,}$", "aaa", true },
        { "^a{,2}$", "a{,2}", true },
        { "^a{1,2}?$", "aa", true },
        { "^(ab?){2,3}$", "abaab", true },
        { "^(ab?){2,3}$", "abaabab", false },
        { "^(a*)*$", "aaaa", true },
        { "^(?P<name>a)(?<other>b)$", "ab", true },
        { "\\bfoo\\b", "a foo.", true },
        { "\\bfoo\\b", "afoo", false },
        { "\\Bfoo", "afoo", true },
        { "^[a-]+$", "-a", true },
        { "^\xef\xbf\xbd$", "\xff", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (refuses(rows[i].pattern, rows[i].text) == rows[i].matches)
            fail_msg("%s and %s", rows[i].pattern, rows[i].text);
    }
}

TEST(what_go_rejects_is_rejected_with_its_reason) {
    static const struct {
        const char *pattern, *reason, *part;
    } rows[] = {
        { "a[b", "missing closing ]", "[b" },
        { "a(b", "missing closing )", "a(b" },
        { "a)b", "unexpected )", "a)b" },
        { "*", "missing argument to repetition operator", "*" },
        { "(|+)", "missing argument to repetition operator", "+" },
        { "(?i)*", "missing argument to repetition operator", "*" },
        { "a**", "invalid nested repetition operator", "**" },
        { "a{2}{3}", "invalid nested repetition operator", "{2}{3}" },
        { "a{1001}", "invalid repeat count", "{1001}" },
        { "a{2,1}", "invalid repeat count", "{2,1}" },
        { "a{99999999999999999999}", "invalid repeat count", "{99999999999999999999}" },
        { "a\\", "trailing backslash at end of expression", "" },
        { "\\y", "invalid escape sequence", "\\y" },
        { "(a)\\1", "invalid escape sequence", "\\1" },
        { "\\x{110000}", "invalid escape sequence", "\\x{110000}" },
        { "[z-a]", "invalid character class range", "z-a" },
        { "[[:nosuch:]]", "invalid character class range", "[:nosuch:]" },
        { "(?=a)", "invalid or unsupported Perl syntax", "(?=" },
        { "(?<!a)", "invalid or unsupported Perl syntax", "(?<" },
        { "(?P<1 >a)", "invalid named capture", "(?P<1" },
        { "\xff", "invalid UTF-8", "\xff" },
        /* Go has these */
        { "\\p{L}", "this server has no Unicode classes", "\\p" },
        { "(?i)\xc3\xa4", "this server does not ignore the case of letters that are not ASCII", "(?i)\xc3\xa4" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kt_pattern *pattern = NULL;
        kt_pattern_problem problem = { NULL, { NULL, 0 } };
        if (kt_pattern_compile(&ki_allocator_default, ki_str_of(rows[i].pattern), &pattern, &problem) !=
                KI_ERR_INVALID ||
            strcmp(problem.reason, rows[i].reason) != 0 || !ki_str_equals(problem.part, rows[i].part))
            fail_msg("%s: %s: %.*s", rows[i].pattern, problem.reason, (int)problem.part.size, problem.part.data);
    }
}

TEST(a_pattern_that_is_too_large_is_rejected) {
    static char deep[2 * KT_PATTERN_DEPTH_MAX + 3], longest[KT_PATTERN_MAX + 2];
    memset(deep, '(', KT_PATTERN_DEPTH_MAX + 1);
    memset(deep + KT_PATTERN_DEPTH_MAX + 1, ')', KT_PATTERN_DEPTH_MAX + 1);
    memset(longest, 'a', KT_PATTERN_MAX + 1);
    const char *const patterns[] = { "(((a{1,255}){1,255}){1,255})b",
                                     "((((a{9}){9}){9}){9}){9}b",
                                     "((a{200,}){200,})b",
                                     "([\\d\\D]{1000}){10}",
                                     deep,
                                     longest };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        kt_pattern *pattern = NULL;
        kt_pattern_problem problem = { NULL, { NULL, 0 } };
        ki_status status = kt_pattern_compile(&ki_allocator_default, ki_str_of(patterns[i]), &pattern, &problem);
        if ((status != KI_ERR_LIMIT && patterns[i] != deep) || !status || !problem.reason)
            fail_msg("%s: %d", patterns[i], status);
    }
}

/* 170,000 strings against one pattern cost what their characters cost. */
TEST(strings_cost_no_more_than_their_characters) {
    kt_pattern *pattern = NULL;
    kt_pattern_problem problem;
    kt_pattern_room room;
    uint64_t left = PLENTY;
    assert_int_equal(kt_pattern_compile(&ki_allocator_default, KI_STR("^(a{1,1000}b|a*)$"), &pattern, &problem), KI_OK);
    assert_int_equal(kt_pattern_room_init(&room, &ki_allocator_default, pattern->count), KI_OK);
    for (int i = 0; i < 170000; i++) {
        assert_true(kt_pattern_matches(pattern, KI_STR("aaaa"), &room, &left));
        assert_false(kt_pattern_matches(pattern, KI_STR("aac"), &room, &left));
    }
    assert_true(PLENTY - left < 340000 * 100);
    kt_pattern_room_free(&room, &ki_allocator_default);
    kt_pattern_free(pattern);
}

TEST(a_match_ends_when_no_steps_are_left) {
    static const char heavy[] = "^(a|b)*a(a|b){300}c$";
    size_t size = 64 * 1024;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'a', size);
    uint64_t left = 100000, enough = PLENTY;
    assert_false(refuses_within(heavy, text, size, &left)); /* not known */
    assert_int_equal(left, 0);
    assert_true(refuses_within(heavy, text, size, &enough));
    assert_true(PLENTY - enough < 64 * 1024 * 2000);
    free(text);
}

TEST(lack_of_memory_is_reported) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        kt_pattern *pattern = NULL;
        kt_pattern_problem problem;
        ki_status status = kt_pattern_compile(&memory.allocator, KI_STR("[a-z]*"), &pattern, &problem);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        kt_pattern_free(pattern);
    }
}
