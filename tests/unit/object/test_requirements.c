/* test_selector.c: label selectors: what matches, what is refused, limits, lack of memory. */

#include "src/base/memory.h"
#include "src/object/requirements.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

static bool matches(const char *text, const char *labels) {
    ki_requirements *selector = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_requirements_parse_labels(&ki_allocator_default, ki_str_of(text), &selector, &err))
        fail_msg("%s: %s", text, ki_error_message(&err));
    ki_object *obj = make_object("n/x", "1", labels);
    bool matched = ki_requirements_match(selector, obj);
    ki_object_unref(obj);
    ki_requirements_free(&ki_allocator_default, selector);
    return matched;
}

TEST(operators_mean_what_the_server_means) {
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
        { "a in ()", { "a=" }, { "a=b", "" } },
        { "a notin ()", { "", "a=b" }, { "a=" } },
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

#define UNABLE "unable to parse requirement: "

TEST(malformed_selectors_are_rejected_in_the_servers_words) {
    static const struct {
        const char *selector;
        const char *message; /* its beginning, or a part of it */
    } cases[] = {
        { ",", "found ',', expected: !, identifier, or 'end of string'" },
        { "a,", "found '', expected: identifier after ','" },
        { "a,,b", "found ',', expected: identifier after ','" },
        { "=b", "found '=', expected: !, identifier, or 'end of string'" },
        { "!", UNABLE "found '', expected: identifier" },
        { "!!a", UNABLE "found '!', expected: identifier" },
        { "!a=b", "found '=', expected: ',' or 'end of string'" },
        { "a b", UNABLE "found 'b', expected: in, notin, =, ==, !=, gt, lt" },
        { "a=b c", "found 'c', expected: ',' or 'end of string'" },
        { "a===b", UNABLE "found '=', expected: identifier" },
        { "a=!b", UNABLE "found '!', expected: identifier" },
        { "a in b", UNABLE "found 'b' expected: '('" },
        { "a in", UNABLE "found '' expected: '('" },
        { "a in (", UNABLE "found '', expected: ',', ')' or identifier" },
        { "a in (b", UNABLE "found '', expected: ',' or ')'" },
        { "a in (b c)", UNABLE "found 'c', expected: ',' or ')'" },
        { "a in (b))", "found ')', expected: ',' or 'end of string'" },
        { "a notin", UNABLE "found '' expected: '('" },
        { "a >", UNABLE "found '', expected: identifier" },
        { "a>b", UNABLE "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer" },
        { "a>1.5", "the value must be an integer" },
        { "a>-1", UNABLE "values[0][a]: Invalid value: \"-1\": a valid label must be" },
        { "a>9223372036854775808", "the value must be an integer" },
        { "a=-b", "Invalid value: \"-b\": a valid label must be" },
        { "a=b-", "a valid label must be" },
        { "a=b/c", "a valid label must be" },
        { "a=b@c", "a valid label must be" },
        { "a in (b,c@)", "values[1][a]: Invalid value: \"c@\": a valid label must be" },
        { "-a", UNABLE "<nil>: Invalid value: \"-a\": name part must consist of" },
        { "a.", "name part must consist of" },
        { "/a", "prefix part must be non-empty" },
        { "a/", "name part must be non-empty" },
        { "a/b/c", "name part must consist of" },
        { "Example.com/a", "prefix part a lowercase RFC 1123 subdomain must consist of" },
        { "ex..com/a", "prefix part a lowercase RFC 1123 subdomain" },
        { "ex-.com/a", "prefix part a lowercase RFC 1123 subdomain" },
        { ".com/a", "prefix part a lowercase RFC 1123 subdomain" },
        { "com./a", "prefix part a lowercase RFC 1123 subdomain" },
        { "caf\xc3\xa9=1", "name part must consist of" },
        { "a23456789-123456789-123456789-123456789-123456789-123456789-1234=x", "name part must be no more than 63" },
        { "x=a23456789-123456789-123456789-123456789-123456789-123456789-1234", "must be no more than 63 bytes" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_requirements *selector = NULL;
        ki_error err = KI_ERROR_INIT;
        if (!ki_requirements_parse_labels(&ki_allocator_default, ki_str_of(cases[i].selector), &selector, &err))
            fail_msg("'%s' was taken", cases[i].selector);
        assert_int_equal(err.code, KI_ERR_PARSE);
        size_t size = strlen(cases[i].message);
        bool is_whole = strncmp(cases[i].message, "found", 5) == 0 || strncmp(cases[i].message, "unable", 6) == 0;
        if (is_whole ? strncmp(err.message, cases[i].message, size) != 0 : !strstr(err.message, cases[i].message))
            fail_msg("'%s': '%s' lacks '%s'", cases[i].selector, err.message, cases[i].message);
        assert_null(selector);
    }
    assert_true(matches("x=a23456789-123456789-123456789-123456789-123456789-123456789-123",
                        "x=a23456789-123456789-123456789-123456789-123456789-123456789-123"));
}

TEST(a_selector_is_as_long_as_the_limit_says) {
    char *text = malloc(KI_SELECTOR_MAX_LENGTH + 2);
    assert_non_null(text);
    for (size_t i = 0; i <= KI_SELECTOR_MAX_LENGTH; i++)
        text[i] = i % 2 ? ',' : 'a';
    text[KI_SELECTOR_MAX_LENGTH - 1] = '\0';
    assert_true(matches(text, "a=1"));
    text[KI_SELECTOR_MAX_LENGTH - 1] = ',';
    text[KI_SELECTOR_MAX_LENGTH] = 'a';
    text[KI_SELECTOR_MAX_LENGTH + 1] = '\0';
    ki_requirements *selector = NULL;
    assert_int_equal(ki_requirements_parse_labels(&ki_allocator_default, ki_str_of(text), &selector, NULL),
                     KI_ERR_LIMIT);
    free(text);
}

TEST(values_may_be_many_and_empty) {
    static const char text[] = "a in (,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,x,y)";
    assert_true(matches(text, "a=x"));
    assert_true(matches(text, "a="));
    assert_false(matches(text, "a=z"));
}

/* Every short text of the grammar's characters is taken or refused, never more. */
TEST(any_text_is_taken_or_refused) {
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
        ki_requirements *selector = NULL;
        ki_status status = ki_requirements_parse_labels(&ki_allocator_default, ki_str_of(exact), &selector, NULL);
        assert_true(status == KI_OK || status == KI_ERR_PARSE);
        taken += status == KI_OK;
        ki_requirements_free(&ki_allocator_default, selector);
        free(exact);
    }
    assert_in_range(taken, 100, 50000);
}

static ki_str own_label(ki_str name, const void *context) {
    return ki_str_equals(name, "a") ? ki_str_of(context) : (ki_str){ NULL, 0 };
}

TEST(labels_may_be_kept_elsewhere) {
    ki_requirements *selector = NULL;
    assert_int_equal(ki_requirements_parse_labels(&ki_allocator_default, KI_STR("a in (x,y),!b"), &selector, NULL),
                     KI_OK);
    assert_true(ki_requirements_match_values(selector, own_label, "y"));
    assert_false(ki_requirements_match_values(selector, own_label, "z"));
    ki_requirements_free(&ki_allocator_default, selector);
}

/* Each field's value is its own name. */
static ki_str own_field(ki_str name, const void *context) {
    (void)context;
    return name;
}

TEST(field_selectors_compare_unescaped_values) {
    static const struct {
        const char *selector;
        const char *message; /* NULL: valid */
        bool matches;
    } cases[] = {
        { NULL, NULL, true },
        { "", NULL, true },
        { ",,", NULL, true },
        { "a=a", NULL, true },
        { "a==a,b=b", NULL, true },
        { "a=a,b=c", NULL, false },
        { "a=", NULL, false },
        { "a!=", NULL, true },
        { "a!=a", NULL, false },
        { "a!==a", "invalid field selector: unescaped character in value: =", false },
        { "a\\\\=a\\\\\\\\", NULL, true },
        { "a", "invalid selector: 'a'; can't understand 'a'", false },
        { "a=a,b", "invalid selector: 'a=a,b'; can't understand 'b'", false },
        { "=a", "invalid selector: '=a'; can't understand '=a'", false },
        { "!=a", "can't understand '!=a'", false },
        { "a!a", "can't understand 'a!a'", false },
        { "a=b=c", "invalid field selector: unescaped character in value: =", false },
        { "a=b\\c", "invalid field selector: invalid escape sequence: \\c", false },
        { "a=b\\", "invalid field selector: invalid escape sequence: \\", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_requirements *selector = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status =
            ki_requirements_parse_fields(&ki_allocator_default, ki_str_of(cases[i].selector), &selector, &err);
        if (!status != !cases[i].message || !strstr(err.message, cases[i].message ? cases[i].message : ""))
            fail_msg("%s: %s", cases[i].selector, err.message);
        if (!status && ki_requirements_match_values(selector, own_field, NULL) != cases[i].matches)
            fail_msg("%s: %d", cases[i].selector, !cases[i].matches);
        ki_requirements_free(&ki_allocator_default, selector);
    }
    ki_requirements *selector = NULL;
    assert_int_equal(ki_requirements_parse_fields(&ki_allocator_default, KI_STR("a=\\,\\=\\\\,b!=c"), &selector, NULL),
                     KI_OK);
    assert_true(ki_str_equals(ki_requirements_key(selector, 0), "a"));
    assert_true(ki_str_equals(ki_requirements_key(selector, 1), "b"));
    assert_null(ki_requirements_key(selector, 2).data);
    assert_false(ki_requirements_match_values(selector, own_label, "=,\\"));
    assert_true(ki_requirements_match_values(selector, own_label, ",=\\"));
    ki_requirements_free(&ki_allocator_default, selector);
}

TEST(without_memory_there_is_no_selector) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_requirements *selector = NULL;
    assert_int_equal(ki_requirements_parse_labels(&memory.allocator, KI_STR("a=b"), &selector, NULL), KI_ERR_NO_MEMORY);
    assert_null(selector);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
