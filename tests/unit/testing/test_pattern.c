/* test_pattern.c: patterns of schemas match as they should, and none takes the machine. */
#include "testing/crd/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool refuses(const char *pattern, const char *text) {
    return kt_pattern_mismatches(pattern, ki_str_of(text));
}

static void a_text_that_does_not_match_is_rejected(void **state) {
    (void)state;
    assert_true(refuses("^[a-z]\\d+$", "9"));
    assert_false(refuses("^[a-z]\\d+$", "a12"));
    assert_true(refuses("^(?:red|blue)$", "green"));
    assert_false(refuses("^(?:red|blue)$", "blue"));
    assert_true(refuses("^[\\w.]{1,1024}$", "a b"));
    assert_false(refuses("^[\\w.]{1,1024}$", "a.b"));
    assert_true(refuses("^[a-z0-9]([-a-z0-9]{0,253}[a-z0-9])?$", "-"));
    assert_true(refuses("^(([a-z]+)+\\.)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
}

static void a_set_is_read_as_go_reads_it(void **state) {
    (void)state;
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

static void what_cannot_be_read_rejects_nothing(void **state) {
    (void)state;
    static const char *const patterns[] = {
        "[",     "(",     "\\",         "[[:",     "a{",    "a{,",  "a{1",   "a{99999999999999999999}",
        "{",     "{9}",   "*",          "+",       "[]",    "[^",   "[\\",   "[a-",
        "[\\d-", "[a-\\", "[[:alpha:]", "[\\]-a]", "[z-a]", "\\pL", "\\x41", "\\Qa"
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        refuses(patterns[i], "a"); /* nothing else than that it returns */
    assert_false(refuses("[", "a"));
    assert_false(refuses("(", "a"));
    assert_false(refuses("^(a|a)*\\1$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")); /* Go has no such thing */
}

static void repetitions_within_repetitions_do_not_take_all_memory(void **state) {
    (void)state;
    char nested[KT_PATTERN_MAX + 1];
    static const char *const patterns[] = { "(((a{1,255}){1,255}){1,255})b", "((((a{9}){9}){9}){9})b",
                                            "((a{200,}){200,})b", "(a?){2000}b" };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        assert_false(refuses(patterns[i], "a"));
    for (size_t i = 0; i < 40; i++) { /* each + doubles what it repeats */
        nested[i] = '(';
        memcpy(nested + 41 + 2 * i, ")+", 2);
    }
    nested[40] = 'a';
    nested[41 + 80] = '\0';
    assert_false(refuses(nested, "b"));
}

static void too_long_a_pattern_or_text_is_not_looked_at(void **state) {
    (void)state;
    char pattern[KT_PATTERN_MAX + 2];
    memset(pattern, 'a', sizeof pattern);
    pattern[KT_PATTERN_MAX + 1] = '\0';
    assert_false(refuses(pattern, "b"));
    pattern[KT_PATTERN_MAX] = '\0';
    assert_true(refuses(pattern, "b"));
    static const char heavy[] = "^(a|b)*a(a|b){300}c$";
    size_t size = 64 * 1024;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'a', size);
    text[size] = '\0';
    assert_false(refuses(heavy, text));
    text[1024] = '\0';
    assert_true(refuses(heavy, text));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_does_not_match_is_rejected),
        cmocka_unit_test(a_set_is_read_as_go_reads_it),
        cmocka_unit_test(what_cannot_be_read_rejects_nothing),
        cmocka_unit_test(repetitions_within_repetitions_do_not_take_all_memory),
        cmocka_unit_test(too_long_a_pattern_or_text_is_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
