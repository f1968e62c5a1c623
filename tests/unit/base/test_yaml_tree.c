/* test_yaml_tree.c: YAML as Kubernetes' tools read it: kinds of scalars, merge keys, equal keys, aliases, tags, limits,
 * JSON. */

#include "src/base/memory.h"
#include "src/base/yaml_tree.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text as JSON, or why not; good until the next call. */
static const char *as_json(const char *text) {
    static char shown[1024];
    ki_yaml_document document = { 0 };
    ki_error err = KI_ERROR_INIT;
    ki_buffer json;
    ki_buffer_init(&json, &ki_allocator_default, KI_YAML_JSON_LIMIT);
    ki_status status = ki_yaml_load(&ki_allocator_default, ki_str_of(text), NULL, &document, &err);
    if (!status)
        status = ki_yaml_append_json(&json, document.root, &err);
    snprintf(shown, sizeof shown, "%s", status ? ki_error_message(&err) : json.data);
    ki_yaml_free(&document);
    ki_buffer_free(&json);
    return shown;
}

TEST(scalars_are_what_yaml_1_1_says) {
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        { "", "null" },
        { "~", "null" },
        { "NULL", "null" },
        { "'null'", "\"null\"" },
        { "nil", "\"nil\"" },
        { "y", "true" },
        { "Yes", "true" },
        { "on", "true" },
        { "n", "false" },
        { "OFF", "false" },
        { "\"no\"", "\"no\"" },
        { "yEs", "\"yEs\"" },
        { "0", "0" },
        { "-0", "-0" },
        { "+12", "12" },
        { "1_000", "1000" },
        { "017", "15" },
        { "0o17", "15" },
        { "0x1F", "31" },
        { "0xaf", "175" },
        { "0b101", "5" },
        { "08", "8" },
        { "18446744073709551615", "18446744073709551615" },
        { "18446744073709551616", "18446744073709551616" },
        { "1.5", "1.5" },
        { ".5", "0.5" },
        { "-.5e-3", "-0.5e-3" },
        { "0_6666666666666666666666666", "6666666666666666666666666" },
        { "0_0_.5_e-1_0", "0.5e-10" },
        { "1._e2", "100" },
        { "1e_", "\"1e_\"" },
        { "00.", "0" },
        /* above the largest double: text, as for Go's readers */
        { "-.5e320", "\"-.5e320\"" },
        { "1e308", "1e308" },
        { "0.00001e313", "0.00001e313" },
        { "1e309", "\"1e309\"" },
        { "1e99999999999999999999", "\"1e99999999999999999999\"" },
        { "0e99999999999999999999", "0" },
        { "1e-99999999999999999999", "1e-99999999999999999999" },
        { "1.7976931348623157e308", "1.7976931348623157e308" },
        { "17976931348623157_0_e291", "179769313486231570e291" },
        { "1.797693134862315808e308", "\"1.797693134862315808e308\"" },
        { "1.", "1" },
        { "1.e3", "1000" },
        { "1E3", "1000" },
        { "-1.50e+1", "-15" },
        { "1.0", "1" },
        { "-0.0", "0" },
        { "0.5E1", "5" },
        { "1.25e1", "1.25e1" },
        { "1e18", "1000000000000000000" },
        { "1e19", "1e19" },
        { "1234567890.12345e5", "123456789012345" },
        { "1234567890.123456e6", "1234567890.123456e6" }, /* may need more digits than a double has */
        { "007.5", "7.5" },
        { "1e", "\"1e\"" },
        { ".", "\".\"" },
        { "-", "[null]" },
        { "- -", "[[null]]" },
        { "+", "\"+\"" },
        { "0x", "\"0x\"" },
        { "0xg", "\"0xg\"" },
        { "_1", "\"_1\"" },
        { "1.2.3", "\"1.2.3\"" },
        { "12:30", "\"12:30\"" },
        { "2001-01-01", "\"2001-01-01\"" },
        { "1a", "\"1a\"" },
        { ".inf", "line 1: a number that JSON does not have" },
        { "!!str 12", "\"12\"" },
        { "! 12", "12" },
        { "!!int 12", "12" },
        { "!!float 12", "12" },
        { "!!bool on", "true" },
        { "!!null ''", "null" },
        { "!!int x", "line 1, column 1: a value that does not match its tag, or an unknown tag" },
        { "!!binary YQ==", "line 1, column 1: a value that does not match its tag, or an unknown tag" },
        { "!mine x", "line 1, column 1: an unknown tag" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *json = as_json(cases[i].yaml);
        if (strcmp(json, cases[i].json) != 0)
            fail_msg("%s: %s, not %s", cases[i].yaml, json, cases[i].json);
    }
}

TEST(maps_and_aliases_are_as_in_kubernetes_tools) {
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        { "{a: 1, b: [x, 2], c: {}}", "{\"a\":1,\"b\":[\"x\",2],\"c\":{}}" },
        { "{a: 1, b: 2, a: 3}", "{\"b\":2,\"a\":3}" },
        { "{no: 1, 017: 2, 1.50: 3}", "{\"false\":1,\"15\":2,\"1.50\":3}" },
        { "a: &x {k: v}\nb: *x", "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"}}" },
        { "a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}" },
        { "a: &x {k: 1, l: 1}\nb: {<<: *x, l: 2}", "{\"a\":{\"k\":1,\"l\":1},\"b\":{\"k\":1,\"l\":2}}" },
        { "a: &x {k: 1, l: 1}\nb: {l: 2, <<: *x}", "{\"a\":{\"k\":1,\"l\":1},\"b\":{\"k\":1,\"l\":1}}" },
        { "- &x {k: 1}\n- &y {k: 2, m: 2}\n- {<<: [*x, *y]}", "[{\"k\":1},{\"k\":2,\"m\":2},{\"m\":2,\"k\":1}]" },
        { "{<<: {<<: {a: 1}, b: 2}}", "{\"a\":1,\"b\":2}" },
        { "[{<<: []}, {<<: {}}, {<<: [{}, {}]}]", "[{},{},{}]" },
        { "{<<: x}", "line 1, column 7: << takes a map or a list of maps" },
        { "{<<: [x]}", "line 1, column 9: << takes a map or a list of maps" },
        { "{a: *x}", "line 1, column 5: an alias without its anchor" },
        { "&x [*x]", "line 1, column 5: an alias to a node that contains it" },
        { "&x {a: {b: *x}}", "line 1, column 12: an alias to a node that contains it" },
        { "{[a]: b}", "line 1, column 2: a key must be a text" },
        { "{~: b}", "line 1, column 2: a key must be a text" },
        { "- &x {}\n- {*x : b}", "line 2, column 4: a key must be a text" },
        { "a: b\n---\n[", "{\"a\":\"b\"}" },
        { "a: \"\\0\\e\\\"\"", "{\"a\":\"\\u0000\\u001b\\\"\"}" },
        { "a: |\n  b\n  c\n", "{\"a\":\"b\\nc\\n\"}" },
        { "{a: b", "line 2, column 1: did not find expected ',' or '}'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *json = as_json(cases[i].yaml);
        if (strcmp(json, cases[i].json) != 0)
            fail_msg("%s: %s, not %s", cases[i].yaml, json, cases[i].json);
    }
}

static const char *repeat(const char *begin, const char *piece, size_t times, const char *end) {
    static char *text;
    free(text);
    size_t size = strlen(piece);
    text = malloc(strlen(begin) + size * times + strlen(end) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, begin);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, piece);
    strcpy(at, end);
    return text;
}

TEST(every_limit_is_an_error_that_names_it) {
    static const struct {
        const char *begin, *piece, *end;
        size_t fits;
        const char *message;
    } cases[] = {
        { "", "[", "", KI_YAML_DEPTH_LIMIT, "line 1: nested deeper than 128" },
        { "[&a 1", ",*a", "]", KI_YAML_ANCHOR_LIMIT - 1, "line 1: more than 1000 anchors and aliases" },
        { "['", "x", "']", KI_YAML_JSON_LIMIT - 4, "line 1: larger than 65536 bytes as JSON" },
        { "[", "1,", "]", KI_YAML_NODE_LIMIT - 1, "line 1: more than 250000 values" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *fits = as_json(repeat(cases[i].begin, cases[i].piece, cases[i].fits, cases[i].end));
        assert_null(strstr(fits, cases[i].message));
        assert_string_equal(as_json(repeat(cases[i].begin, cases[i].piece, cases[i].fits + 1, cases[i].end)),
                            cases[i].message);
    }
    repeat("", "", 0, "");
    /* What is merged in counts each time, or a small file would grow into a large tree. */
    const char *merged = repeat("- &a {a: 1,b: 1,c: 1,d: 1,e: 1,f: 1,g: 1,h: 1}\n- {", "<<: *a,", 900, "}");
    assert_string_equal(as_json(merged), "[{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1},"
                                         "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1}]");
}

/* The time of libyaml grows with the square of their number, and with the size of a prefix for each node. */
TEST(directives_have_limits) {
    char text[16384], message[64];
    for (int count = KI_YAML_DIRECTIVE_LIMIT; count <= KI_YAML_DIRECTIVE_LIMIT + 1; count++) {
        int size = 0;
        for (int i = 0; i < count; i++)
            size += snprintf(text + size, sizeof text - (size_t)size, "%%TAG !t%d! tag:yaml.org,2002:\n", i);
        snprintf(text + size, sizeof text - (size_t)size, "---\n!t0!str 1\n");
        snprintf(message, sizeof message, "line %d: more than %d directives", count, KI_YAML_DIRECTIVE_LIMIT);
        assert_string_equal(as_json(text), count == KI_YAML_DIRECTIVE_LIMIT ? "\"1\"" : message);
    }
    assert_string_equal(as_json(repeat("%TAG !t! tag:yaml.org,2002:", "x", KI_YAML_PREFIX_LIMIT, "\n---\na")),
                        "line 1: more than 4096 bytes of directives");
    repeat("", "", 0, "");
}

/* Each anchor has a node of 30 levels around the node before it. */
TEST(aliases_do_not_make_a_tree_deeper) {
    static char text[1 << 16], open[31], shut[31];
    int size = snprintf(text, sizeof text, "- &a0 x\n");
    memset(open, '[', 30);
    memset(shut, ']', 30);
    for (int i = 1; i < 5; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, "- &a%d %s*a%d%s\n", i, open, i - 1, shut);
    text[size] = '\0';
    assert_null(strstr(as_json(text), "deeper"));
    snprintf(text + size, sizeof text - (size_t)size, "- %s*a4%s\n", open, shut);
    assert_string_equal(as_json(text), "line 6: nested deeper than 128");
}

/* A list of `size` elements, `count` aliases to it, and `rest` other elements. */
static const char *with_aliases(size_t size, size_t count, size_t rest) {
    static char *text;
    free(text);
    text = malloc(64 + 2 * size + 3 * count + 2 * rest);
    assert_non_null(text);
    char *at = stpcpy(text, "[&a [");
    for (size_t i = 0; i < size; i++)
        at = stpcpy(at, "x,");
    at = stpcpy(at, "]");
    for (size_t i = 0; i < rest; i++)
        at = stpcpy(at, ",x");
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, ",*a");
    strcpy(at, "]");
    return text;
}

/* The borders are those of sigs.k8s.io/yaml 1.6. */
TEST(a_document_of_which_aliases_are_almost_all_is_rejected_as_kubernetes_tools_reject_it) {
    static const struct {
        size_t size, count, rest, fits;
    } cases[] = {
        { 122, 500, 0, true },       { 123, 500, 0, false },       { 998, 1, 0, true },
        { 1000, 898, 200000, true }, { 1000, 899, 200000, false }, { 1000, 998, 200000, false },
    };
    static const char message[] = "line 1: the document contains excessive aliasing";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *json = as_json(with_aliases(cases[i].size, cases[i].count, cases[i].rest));
        if ((strcmp(json, message) != 0) != cases[i].fits)
            fail_msg("case %zu: %s", i, json);
    }
    with_aliases(0, 0, 0);
    assert_string_equal(as_json("a: &a [[],[],[],[],[],[],[],[],[]]\n"
                                "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                                "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                                "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                                "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"),
                        "line 4: the document contains excessive aliasing");
}

TEST(documents_are_cut_where_kubectl_cuts_them) {
    static const struct {
        const char *text, *documents[3];
    } rows[] = {
        { "", { NULL } },
        { "a", { "a" } },
        { "a: 1\n---\nb: 2\n", { "a: 1\n", "---\nb: 2\n" } },
        { "---\na\n--- \n---\r\nb", { "---\na\n", "--- \n", "---\r\nb" } },
        { "%YAML 1.1\n# x\n\n---\na", { "%YAML 1.1\n# x\n\n---\na" } },
        { "a: |\n  x\n ---\n----\n", { "a: |\n  x\n ---\n----\n" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_str rest = ki_str_of(rows[i].text), document;
        for (size_t k = 0; k < 3 && rows[i].documents[k]; k++) {
            assert_true(ki_yaml_next_document(&rest, &document));
            if (!ki_str_equals(document, rows[i].documents[k]))
                fail_msg("row %zu, document %zu: %.*s", i, k, (int)document.size, document.data);
        }
        assert_false(ki_yaml_next_document(&rest, &document));
    }
}

TEST(every_lack_of_memory_is_an_error_without_a_leak) {
    static const char text[] =
        "a: &x {k: v, no: 1}\nb: {<<: *x, k: w}\nc: [1, 2, 3, 4, 5, {}]\nd: \"long \\\n  text\"\n";
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_buffer json;
        ki_error err = KI_ERROR_INIT;
        ki_buffer_init(&json, &memory.allocator, 0);
        ki_status status = ki_yaml_to_json(KI_STR(text), NULL, &json, &err);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_buffer_free(&json);
    }
}
