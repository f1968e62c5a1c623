/* Headers of hostile schemas: the output stays a header, within the limits of views, and the time is bounded. */
#include "cli/gen/header.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *header;

static int tear_down(void **state) {
    (void)state;
    free(header);
    header = NULL;
    return 0;
}

#define HEADER_TEST(name) TEST_WITH(NULL, tear_down, name)

static void expect_lines_of_120_columns(void) {
    for (const char *line = header; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 120);
}

/* Makes the header of the kind Thing of a definition whose schema's properties are `properties`. */
static ki_status make(const char *properties, const char *name, ki_error *err) {
    size_t size = 0;
    char *json = NULL;
    gen_schema schema;
    const gen_request request = { .resource = "things", .struct_name = name, .command = "kinformer gen */ /* things" };
    assert_true(
        asprintf(&json,
                 "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"group\":\"example.com\",\"names\":{"
                 "\"kind\":\"Thing\",\"plural\":\"things\",\"shortNames\":[\"th\"]},\"versions\":[{\"name\":\"v1\","
                 "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
                 "\"properties\":%s}}}]}}",
                 properties) > 0);
    ki_status status = gen_schema_find(json, strlen(json), "the test", "th.example.com", NULL, &schema, err);
    free(json);
    if (status)
        return status;
    free(header);
    header = NULL;
    FILE *out = open_memstream(&header, &size);
    assert_non_null(out);
    status = gen_header_write(&schema, &request, out, err);
    assert_int_equal(fclose(out), 0);
    gen_schema_free(&schema);
    expect_lines_of_120_columns();
    return status;
}

HEADER_TEST(names_and_texts_of_a_schema_stay_names_and_comments) {
    static const struct {
        const char *properties, *line;
    } rows[] = {
        { "{\"a\":{\"type\":\"string\",\"description\":\"Ends */ int x; /* here.\"}}",
          "    const char *a; /* Ends * / int x; / * here. */\n" },
        { "{\"a\":{\"type\":\"string\",\"description\":\"One\\nline\\\\. Next e.g. this\"}}", "/* One line\\. */\n" },
        { "{\"a\":{\"type\":\"string\",\"description\":\"First e.g. this. Second.\"}}", "/* First e.g. this. */\n" },
        { "{\"a\":{\"type\":\"string\",\"description\":\"\\u202eleft \\u0085 x\\u0007\"}}", "/* left x */\n" },
        { "{\"a\":{\"type\":\"string\",\"description\":\"\\u00e4\\u20ac\"}}", "/* \303\244\342\202\254 */\n" },
        { "{\"a\":{\"type\":\"string\",\"description\":\" \\n\"}}", "    const char *a;\n" },
        { "{\"a\\\"b\\\\c?\":{\"type\":\"string\"}}", "a_b_c, \"['a\\\"b\\\\\\\\c\\?']\")" },
        { "{\"\\u00e41\":{\"type\":\"string\"}}", "_1, \"\\303\\2441\")" },
        { "{\"a'b\":{\"type\":\"string\"}}", "a_b, \"['a\\\\'b']\")" },
        { "{\"\":{\"type\":\"string\"}}", "field, \"['']\")" },
        { "{\"a-b\":{\"type\":\"string\"},\"a_b\":{\"type\":\"string\"},\"aB\":{\"type\":\"string\"}}",
          "a_b_3, \"a_b\")" },
        { "{\"a\":{\"type\":\"string\"},\"a\":{\"type\":\"string\"}}",
          "    KI_FIELD(struct thing, a, \"a\"),\n    KI_FIELD(s" },
        { "{\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}}}}",
          "    /* b: left out: a list of bools */\n" },
        { "{\"as\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"array\"}}}}}",
          "    /* as: left out: no element has a field that a view can have */\n" },
        { "{\"metadata\":{\"type\":\"object\"}}",
          "KI_FIELD(struct thing, metadata.generation, \"metadata.generation\")" },
        { "{\"a\":{\"type\":\"string\",\"pattern\":\"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|\"}"
          "}",
          "    int64_t a;\n" },
        { "{\"a\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}}",
          "KI_FIELD_TEXT(struct thing, a, \"a\")" },
        { "{\"a\":1,\"b\":{\"type\":7},\"c\":{\"items\":[]},\"d\":{\"type\":\"array\",\"items\":3}}",
          "    /* d: left out: a list of values of any type */\n" },
        { "{\"spec\":{\"required\":[\"a\"],\"properties\":{\"a\":{\"properties\":{\"x\":{\"type\":\"string\"}}},"
          "\"b\":{\"properties\":{\"x\":{\"type\":\"string\"}}}}}}",
          "        } a;\n        bool has_b;\n        struct {\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = KI_ERROR_INIT;
        if (make(rows[i].properties, NULL, &err))
            fail_msg("%s: %s", rows[i].properties, ki_error_message(&err));
        if (!strstr(header, rows[i].line))
            fail_msg("%s: no %s in %s", rows[i].properties, rows[i].line, header);
    }
    assert_non_null(strstr(header, "kinformer gen * / / * things\n"));
}

/* A definition of somebody else gives all names; the command has a word that is written in two pieces. */
HEADER_TEST(names_of_the_resource_and_the_command_cannot_leave_the_comment) {
    static const char definition[] =
        "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"group\":\"e*/\\nint g;/*a.very.long.group.that.does.not."
        "fit.into.the.line\",\"names\":{\"kind\":\"Thing\",\"plural\":\"t*/\\nint p;\\u202e/*things\"},\"versions\":[{"
        "\"name\":\"v*/\\nint v;/*\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
        "\"object\"}}}]}}";
    char command[] =
        "kinformer gen thing "
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123 "
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123a*/ b";
    const gen_request request = { .resource = "thing", .command = command };
    gen_schema schema;
    size_t size = 0;
    assert_int_equal(gen_schema_find(definition, sizeof definition - 1, "the test", "thing", NULL, &schema, NULL),
                     KI_OK);
    FILE *out = open_memstream(&header, &size);
    assert_non_null(out);
    assert_int_equal(gen_header_write(&schema, &request, out, NULL), KI_OK);
    assert_int_equal(fclose(out), 0);
    gen_schema_free(&schema);
    const char *comment = strstr(header, "/* Fields of t* /?int p;"), *end = strstr(comment ? comment : "", "*/");
    assert_non_null(end);
    assert_true(end + strlen("*/\n") == strstr(header, "#ifndef THING_VIEW_H\n"));
    assert_null(strstr(header, "\nint "));
    expect_lines_of_120_columns();
}

HEADER_TEST(a_struct_has_the_name_that_is_given) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(make("{\"a\":{\"type\":\"string\"}}", "My_Thing9", &err), KI_OK);
    assert_non_null(strstr(header, "#ifndef MY_THING9_VIEW_H\n"));
    assert_non_null(strstr(header, "static const ki_field My_Thing9_fields[] = {\n"));
    static const char *const bad[] = { "",    "9a",        "a b",
                                       "a-b", "int",       "class",
                                       "a*/", "\303\244",  "a_name_of_more_than_thirty_one_characters",
                                       "ki",  "ki_object", "kinformer" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(make("{\"a\":{\"type\":\"string\"}}", bad[i], &err), KI_ERR_INVALID);
}

HEADER_TEST(a_line_with_a_long_name_is_divided) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(make("{\"a\":{\"type\":\"string\"}}", "a_name_of_thirty_one_characters", &err), KI_OK);
    assert_non_null(strstr(header, " * Give a_name_of_thirty_one_characters_fields to the informer as its view.\n"
                                   " * a_name_of_thirty_one_characters_view returns the struct of an object. */\n"));
    assert_non_null(strstr(header, "static inline const struct a_name_of_thirty_one_characters *\n"
                                   "a_name_of_thirty_one_characters_view(const ki_object *obj) {\n"));
}

HEADER_TEST(a_schema_of_a_thousand_levels_is_cut) {
    enum {
        LEVELS = 1000
    };
    static char properties[LEVELS * 64];
    size_t used = 0;
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < LEVELS; i++)
        used += (size_t)snprintf(properties + used, sizeof properties - used,
                                 "{\"a\":{\"type\":\"object\",\"properties\":");
    used += (size_t)snprintf(properties + used, sizeof properties - used, "{\"b\":{\"type\":\"string\"}}");
    for (size_t i = 0; i < LEVELS; i++)
        used += (size_t)snprintf(properties + used, sizeof properties - used, "}}");
    assert_int_equal(make(properties, NULL, &err), KI_OK);
    assert_non_null(strstr(header, "a.a.has_a, \"a.a.a.a.a.a.a.a"));
}

HEADER_TEST(lists_in_lists_end_with_the_depth_of_views) {
    ki_error err = KI_ERROR_INIT;
#define LIST(name, inner) \
    "{\"" name "\":{\"type\":\"array\",\"items\":{\"properties\":" inner "}},\"x\":{\"type\":\"string\"}}"
    assert_int_equal(make(LIST("as", LIST("bs", LIST("cs", LIST("ds", "{\"x\":{\"type\":\"string\"}}")))), NULL, &err),
                     KI_OK);
    assert_non_null(strstr(header, "    /* ds: left out: too many lists in each other */\n"));
    assert_non_null(strstr(header, "struct thing_a_b_c {\n"));
}

/* 300 members of an object that has 300 again: 90,000 fields. */
HEADER_TEST(a_wide_schema_is_taken_less_deep) {
    static char inner[300 * 32], properties[300 * (sizeof inner + 64)];
    size_t used = 0;
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < 300; i++)
        used +=
            (size_t)snprintf(inner + used, sizeof inner - used, "%s\"m%zu\":{\"type\":\"string\"}", i ? "," : "", i);
    used = (size_t)snprintf(properties, sizeof properties, "{\"spec\":{\"properties\":{");
    for (size_t i = 0; i < 200; i++)
        used += (size_t)snprintf(properties + used, sizeof properties - used, "%s\"o%zu\":{\"properties\":{%s}}",
                                 i ? "," : "", i, inner);
    snprintf(properties + used, sizeof properties - used, "}}}");
    assert_int_equal(make(properties, NULL, &err), KI_OK);
    assert_non_null(strstr(header, "KI_FIELD_PRESENT(struct thing, spec.has_o199, \"spec.o199\")"));
    /* 300 in one struct are too many at any depth. */
    snprintf(properties, sizeof properties, "{%s}", inner);
    assert_int_equal(make(properties, NULL, &err), KI_ERR_LIMIT);
    assert_non_null(strstr(ki_error_message(&err), "name fewer with --fields"));
}

HEADER_TEST(references_in_circles_end) {
    static const char document[] =
        "{\"definitions\":{\"A\":{\"type\":\"object\",\"properties\":{\"b\":{\"$ref\":\"#/definitions/"
        "B\"},\"x\":{\"type\":"
        "\"string\"},\"as\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/A\"}}},"
        "\"x-kubernetes-group-version-kind\":[{\"group\":\"\",\"version\":\"v1\",\"kind\":\"A\"}]},"
        "\"B\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/definitions/A\"},\"self\":{\"$ref\":"
        "\"#/definitions/C\"},\"none\":{\"$ref\":\"#/definitions/None\"}}},\"C\":{\"$ref\":\"#/definitions/D\"},"
        "\"D\":{\"allOf\":[{\"$ref\":\"#/definitions/C\"}]}}}";
    const gen_request request = { .resource = "as", .command = "kinformer gen as" };
    gen_schema schema;
    size_t size = 0;
    assert_int_equal(gen_schema_find(document, sizeof document - 1, "the test", "a", NULL, &schema, NULL), KI_OK);
    FILE *out = open_memstream(&header, &size);
    assert_non_null(out);
    assert_int_equal(gen_header_write(&schema, &request, out, NULL), KI_OK);
    assert_int_equal(fclose(out), 0);
    gen_schema_free(&schema);
    assert_non_null(strstr(header, "KI_FIELD_PRESENT(struct a, b.has_a, \"b.a\")"));
    assert_non_null(strstr(header, "KI_FIELD_PRESENT(struct a, b.has_self, \"b.self\")"));
    assert_non_null(strstr(header, "    /* as: left out: recursive */\n"));
}
