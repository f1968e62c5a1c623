/* test_selector.c: label selectors: what matches, what is refused, limits, lack of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/memory.h"
#include "src/object/selector.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"

#include <stdlib.h>
#include <string.h>

static bool matches(const char *text, const char *labels) {
    ki_selector *selector = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_selector_parse(&ki_allocator_default, text, &selector, &err))
        fail_msg("%s: %s", text, ki_error_message(&err));
    ki_object *obj = make_object("n/x", "1", labels);
    bool matched = ki_selector_matches(selector, obj);
    ki_object_unref(obj);
    ki_selector_free(&ki_allocator_default, selector);
    return matched;
}

static void operators_mean_what_the_server_means(void **state) {
    (void)state;
    static const struct {
        const char *selector;
        const char *yes[4]; /* labels that it matches */
        const char *no[4];
    } cases[] = {
        { NULL, { "", "a=b" }, { 0 } },
        { "", { "", "a=b" }, { 0 } },
        { " \t\r\n ", { "", "a=b" }, { 0 } },
        { "a=b", { "a=b", "x=y,a=b" }, { "", "a=c", "b=a", "a=" } },
        { "a==b", { "a=b" }, { "", "a=c" } },
        { " a = b ", { "a=b" }, { "a=c" } },
        { "a!=b", { "", "a=c", "a=" }, { "a=b" } },
        { "a=", { "a=" }, { "", "a=b" } },
        { "a!=", { "", "a=b" }, { "a=" } },
        { "a=,b=1", { "a=,b=1" }, { "b=1", "a=" } },
        { "a", { "a=", "a=b" }, { "", "b=a" } },
        { "!a", { "", "b=a" }, { "a=", "a=b" } },
        { "! a", { "" }, { "a=b" } },
        { "a in (b)", { "a=b" }, { "", "a=c" } },
        { "a in (b,c)", { "a=b", "a=c" }, { "", "a=d", "a=" } },
        { "a in(b , c)", { "a=b", "a=c" }, { "", "a=d" } },
        { "a in (b,)", { "a=b", "a=" }, { "", "a=d" } },
        { "a in (,b)", { "a=b", "a=" }, { "", "a=d" } },
        { "a in (b,,c)", { "a=b", "a=", "a=c" }, { "" } },
        { "a in (,)", { "a=" }, { "a=b", "" } },
        { "a notin (b,c)", { "", "a=d", "a=" }, { "a=b", "a=c" } },
        { "a notin (b),a", { "a=d" }, { "", "a=b" } },
        { "a>1", { "a=2", "a=10" }, { "", "a=1", "a=0", "a=x" } },
        { "a > 1", { "a=2" }, { "a=1" } },
        { "a<10", { "a=9", "a=2" }, { "", "a=10", "a=11", "a=9a" } },
        { "a<1", { "a=0", "a=-3" }, { "a=+3", "a=-", "a=" } },
        { "a<9223372036854775807", { "a=9223372036854775806" }, { "a=9223372036854775807", "a=9223372036854775808" } },
        { "app=web,tier in (a, b),!canary,n>3",
          { "app=web,tier=b,n=4" },
          { "app=web,tier=b,n=4,canary=1", "app=web" } },
        { "in=notin,notin in (in,notin)", { "in=notin,notin=in" }, { "in=in,notin=in" } },
        { "in in (in)", { "in=in" }, { "in=a" } },
        { "in", { "in=1" }, { "" } },
        { "example.com/app=web", { "example.com/app=web" }, { "app=web" } },
        { "a-b.c_d.E9=A-b_c.9", { "a-b.c_d.E9=A-b_c.9" }, { "a-b.c_d.E9=a-b_c.9" } },
        { "a=b,a=c", { 0 }, { "a=b", "a=c" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t j = 0; j < 4 && cases[i].yes[j]; j++)
            if (!matches(cases[i].selector, cases[i].yes[j]))
                fail_msg("'%s' should match '%s'", cases[i].selector, cases[i].yes[j]);
        for (size_t j = 0; j < 4 && cases[i].no[j]; j++)
            if (matches(cases[i].selector, cases[i].no[j]))
                fail_msg("'%s' should not match '%s'", cases[i].selector, cases[i].no[j]);
    }
}

static void malformed_selectors_are_rejected_with_the_place(void **state) {
    (void)state;
    static const struct {
        const char *selector;
        const char *message; /* a part of it */
    } cases[] = {
        { ",", "a label's name at byte 0, found ','" },
        { "a,", "a label's name at its end" },
        { "a,,b", "a label's name at byte 2" },
        { "=b", "a label's name at byte 0" },
        { "!", "a label's name at its end" },
        { "!!a", "a label's name at byte 1" },
        { "!a=b", "',' at byte 2, found '='" },
        { "a b", "an operator or ',' at byte 2, found 'b'" },
        { "a=b c", "',' at byte 4" },
        { "a===b", "',' at byte 3" },
        { "a=!b", "',' at byte 2" },
        { "a in b", "'(' at byte 5, found 'b'" },
        { "a in", "'(' at its end" },
        { "a in ()", "a value at byte 6" },
        { "a in (b", "',' or ')' at its end" },
        { "a in (b c)", "',' or ')' at byte 8" },
        { "a in (b))", "',' at byte 8" },
        { "a notin", "'(' at its end" },
        { "a >", "not an integer" },
        { "a>b", "'b' is not an integer" },
        { "a>1.5", "'1.5' is not an integer" },
        { "a>-1", "a label's value at byte 2" },
        { "a>9223372036854775808", "not an integer" },
        { "a=-b", "a label's value at byte 2" },
        { "a=b-", "a label's value" },
        { "a=b/c", "a label's value" },
        { "a=b@c", "a label's value" },
        { "-a", "a label's name" },
        { "a.", "a label's name" },
        { "/a", "a label's name" },
        { "a/", "a label's name" },
        { "a/b/c", "a label's name" },
        { "Example.com/a", "a label's name" },
        { "ex..com/a", "a label's name" },
        { "ex-.com/a", "a label's name" },
        { ".com/a", "a label's name" },
        { "com./a", "a label's name" },
        { "caf\xc3\xa9=1", "a label's name" },
        { "a23456789-123456789-123456789-123456789-123456789-123456789-1234=x", "a label's name" },
        { "x=a23456789-123456789-123456789-123456789-123456789-123456789-1234", "a label's value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_selector *selector = NULL;
        ki_error err = KI_ERROR_INIT;
        if (!ki_selector_parse(&ki_allocator_default, cases[i].selector, &selector, &err))
            fail_msg("'%s' was taken", cases[i].selector);
        assert_int_equal(err.code, KI_ERR_PARSE);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s': '%s' lacks '%s'", cases[i].selector, err.message, cases[i].message);
        assert_null(selector);
    }
    assert_true(matches("x=a23456789-123456789-123456789-123456789-123456789-123456789-123",
                        "x=a23456789-123456789-123456789-123456789-123456789-123456789-123"));
}

static void a_selector_is_as_long_as_the_limit_says(void **state) {
    (void)state;
    char *text = malloc(KI_SELECTOR_MAX_LENGTH + 2);
    assert_non_null(text);
    for (size_t i = 0; i <= KI_SELECTOR_MAX_LENGTH; i++)
        text[i] = i % 2 ? ',' : 'a';
    text[KI_SELECTOR_MAX_LENGTH - 1] = '\0';
    assert_true(matches(text, "a=1"));
    text[KI_SELECTOR_MAX_LENGTH - 1] = ',';
    text[KI_SELECTOR_MAX_LENGTH] = 'a';
    text[KI_SELECTOR_MAX_LENGTH + 1] = '\0';
    ki_selector *selector = NULL;
    assert_int_equal(ki_selector_parse(&ki_allocator_default, text, &selector, NULL), KI_ERR_LIMIT);
    free(text);
}

static void values_may_be_many_and_empty(void **state) {
    (void)state;
    static const char text[] = "a in (,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,x,y)";
    assert_true(matches(text, "a=x"));
    assert_true(matches(text, "a="));
    assert_false(matches(text, "a=z"));
}

/* Every short text of the grammar's characters is taken or refused, never more. */
static void any_text_is_taken_or_refused(void **state) {
    (void)state;
    static const char alphabet[] = "a1=!(),<> ";
    enum {
        LENGTH = 5,
        LETTERS = sizeof alphabet - 1
    };
    size_t taken = 0;
    for (unsigned number = 0; number < 100000; number++) {
        char text[LENGTH + 1] = "";
        unsigned rest = number;
        for (int i = 0; i < LENGTH; i++, rest /= LETTERS)
            text[i] = alphabet[rest % LETTERS];
        char *exact = strdup(text); /* so that a byte too far is found */
        ki_selector *selector = NULL;
        ki_status status = ki_selector_parse(&ki_allocator_default, exact, &selector, NULL);
        assert_true(status == KI_OK || status == KI_ERR_PARSE);
        taken += status == KI_OK;
        ki_selector_free(&ki_allocator_default, selector);
        free(exact);
    }
    assert_in_range(taken, 100, 50000);
}

static const char *own_label(const char *name, const void *context) {
    return strcmp(name, "a") == 0 ? context : NULL;
}

static void labels_may_be_kept_elsewhere(void **state) {
    (void)state;
    ki_selector *selector = NULL;
    assert_int_equal(ki_selector_parse(&ki_allocator_default, "a in (x,y),!b", &selector, NULL), KI_OK);
    assert_true(ki_selector_matches_labels(selector, own_label, "y"));
    assert_false(ki_selector_matches_labels(selector, own_label, "z"));
    ki_selector_free(&ki_allocator_default, selector);
}

static void without_memory_there_is_no_selector(void **state) {
    (void)state;
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_selector *selector = NULL;
    assert_int_equal(ki_selector_parse(&memory.allocator, "a=b", &selector, NULL), KI_ERR_NO_MEMORY);
    assert_null(selector);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_mean_what_the_server_means),
        cmocka_unit_test(malformed_selectors_are_rejected_with_the_place),
        cmocka_unit_test(a_selector_is_as_long_as_the_limit_says),
        cmocka_unit_test(values_may_be_many_and_empty),
        cmocka_unit_test(any_text_is_taken_or_refused),
        cmocka_unit_test(labels_may_be_kept_elsewhere),
        cmocka_unit_test(without_memory_there_is_no_selector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
