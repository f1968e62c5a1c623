/* A JSONPath template prints what kubectl's does; what is wrong with it is said with its place; nothing of it is
 * without bounds. */
#include "src/base/memory.h"
#include "src/base/string_view.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <kinformer-print/jsonpath.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

enum {
    LINE_MAX_SIZE = 64 * 1024
};

static const char *failure_name(ki_status status) {
    return status == KI_ERR_PARSE ? "parse" : status == KI_ERR_NOT_FOUND ? "not found" : "invalid";
}

static bool is_as_in_row(yyjson_val *row, bool allows_missing, const char *json) {
    const char *template = yyjson_get_str(yyjson_obj_get(row, "template"));
    const char *prints = yyjson_get_str(yyjson_obj_get(row, "prints"));
    const char *fails = yyjson_get_str(yyjson_obj_get(row, "fails"));
    ki_jsonpath *path = NULL;
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    ki_error err = KI_ERROR_INIT;
    ki_status status =
        ki_jsonpath_new(template, &KI_JSONPATH_OPTIONS(.allow_missing_keys = allows_missing), &path, &err);
    if (!status)
        status = ki_jsonpath_print(path, json, strlen(json), &text, &err);
    bool is_fine =
        status ? fails && strcmp(fails, failure_name(status)) == 0 : prints && strcmp(prints, text.data) == 0;
    if (!is_fine)
        print_error("%s: expected %s, got %s\n", template, prints ? prints : fails,
                    status ? ki_error_message(&err) : text.data);
    ki_jsonpath_text_clear(&text);
    ki_jsonpath_free(path);
    return is_fine;
}

TEST(every_template_prints_what_kubectl_prints) {
    static char line[LINE_MAX_SIZE];
    FILE *in = fopen(KI_TEST_DATA_DIR "/jsonpath.jsonl", "r");
    char *json = NULL;
    size_t bad = 0;
    size_t rows = 0;
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        assert_non_null(doc);
        yyjson_val *row = yyjson_doc_get_root(doc);
        yyjson_val *missing = yyjson_obj_get(row, "missing");
        if (yyjson_obj_get(row, "document")) {
            free(json);
            json = yyjson_val_write(yyjson_obj_get(row, "document"), 0, NULL);
        } else {
            for (int allows_missing = 0; allows_missing < 2; allows_missing++) {
                if (missing && yyjson_get_bool(missing) != (allows_missing == 1))
                    continue;
                rows++;
                bad += !is_as_in_row(row, allows_missing == 1, json);
            }
        }
        yyjson_doc_free(doc);
    }
    fclose(in);
    free(json);
    assert_true(rows > 800);
    assert_int_equal(bad, 0);
}

/* `options` may be NULL. The text is static. */
static const char *print(const char *template, const ki_jsonpath_options *options, const char *json, ki_error *err) {
    static char kept[4096];
    ki_jsonpath *path = NULL;
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    const char *printed = NULL;
    if (ki_jsonpath_new(template, options, &path, err) == KI_OK &&
        ki_jsonpath_print(path, json, strlen(json), &text, err) == KI_OK) {
        snprintf(kept, sizeof kept, "%s", text.data);
        printed = kept;
    }
    ki_jsonpath_text_clear(&text);
    ki_jsonpath_free(path);
    return printed;
}

TEST(what_is_wrong_with_a_template_is_said_with_its_place) {
    static const struct {
        const char *template, *says;
    } rows[] = {
        { "{.hello", "unclosed action at position 2" },
        { "{*}", "unrecognized character '*' at position 2" },
        { "ab {hello}", "unrecognized identifier hello at position 5" },
        { "{+12.3.0}", "cannot parse number +12.3.0 at position 2" },
        { "{+}", "cannot parse number + at position 2" },
        { "{-}", "cannot parse number - at position 2" },
        { "{.a[?(@.b==+)]}", "cannot parse number + at position 12" },
        { "{[1}", "unterminated array at position 2" },
        { "{[?(.price]}", "unterminated filter at position 2" },
        { "{.a[?(.b)}", "unclosed array, a ']' is expected at position 9" },
        { "{........}", "invalid multiple recursive descent at position 4" },
        { "{.a[x]}", "invalid array index x at position 5" },
        { "{.a[1,y]}", "invalid array index y at position 7" },
        { "{.a[?(@.b<>1)]}", "unrecognized filter operator <> at position 10" },
        { "{.a[?(@.b==*)]}", "unrecognized character '*' at position 12" },
        { "{'abc}", "unterminated quoted string at position 2" },
        { "{'\\q'}", "no such escape" },
        { "{range .a}{end}{end}", "nothing to end" },
        { "{range .a end}", "a second range or end" },
        { "{.a[99999999999]}", "too large a one" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_null(print(rows[i].template, NULL, "{}", &err));
        assert_int_equal(err.code, KI_ERR_PARSE);
        if (!strstr(err.message, rows[i].says))
            fail_msg("%s: %s", rows[i].template, err.message);
    }
}

TEST(what_cannot_be_evaluated_is_said) {
    static const struct {
        const char *template, *says;
    } rows[] = {
        { "{.a}", "a is not found" },
        { "{.list[7]}", "index 7, length 2" },
        { "{.list[0:9]}", "index 8, length 2" },
        { "{.list[1:0]}", "starting index 1 is greater than ending index 0" },
        { "{.text[0]}", "is not array or slice" },
        { "{.text[?(@.a)]}", "cannot be filtered" },
        { "{.list[?(@=='a')]}", "incompatible types" },
        { "{.texts[?(@<true)]}", "incompatible types" },
        { "{.bools[?(@<true)]}", "invalid type" },
        { "{.lists[?(@[*]==1)]}", "one element at a time" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_null(print(rows[i].template, NULL,
                          "{\"list\":[1,2],\"text\":\"t\",\"texts\":[\"a\"],\"bools\":[true],\"lists\":[[1,2]]}",
                          &err));
        if (!strstr(err.message, rows[i].says))
            fail_msg("%s: %s", rows[i].template, err.message);
    }
}

TEST(a_block_over_nothing_prints_nothing) {
    ki_error err = KI_ERROR_INIT;
    assert_string_equal(print("a{range .list[*]}{.name.first}{[0]}{end}b", NULL, "{\"list\":[]}", &err), "ab");
}

TEST(relaxed_paths_are_what_sort_by_takes) {
    static const char *const same[] = { "metadata.name", ".metadata.name", "{metadata.name}", "{.metadata.name}" };
    static const char *const bad[] = { "", "{}", "{.a}{.b}", "a{b}", "{.a" };
    static const char json[] = "{\"metadata\":{\"name\":\"x\"}}";
    for (size_t i = 0; i < 4; i++) {
        ki_jsonpath *path = NULL;
        ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
        assert_int_equal(ki_jsonpath_new_relaxed(same[i], NULL, &path, NULL), KI_OK);
        assert_int_equal(ki_jsonpath_print(path, json, strlen(json), &text, NULL), KI_OK);
        assert_string_equal(text.data, "x");
        ki_jsonpath_text_clear(&text);
        ki_jsonpath_free(path);
    }
    for (size_t i = 0; i < 5; i++) {
        ki_jsonpath *path = NULL;
        assert_int_equal(ki_jsonpath_new_relaxed(bad[i], NULL, &path, NULL), KI_ERR_PARSE);
    }
}

/* ---- values one by one ---- */

typedef struct seen {
    char text[512];
    int left; /* to be visited */
} seen;

static bool see(const ki_value *value, void *user) {
    seen *s = user;
    size_t size = strlen(s->text);
    switch (value->type) {
    case KI_VALUE_INT:
        snprintf(s->text + size, sizeof s->text - size, "i%lld;", (long long)value->integer);
        break;
    case KI_VALUE_DOUBLE:
        snprintf(s->text + size, sizeof s->text - size, "d%g;", value->number);
        break;
    case KI_VALUE_BOOL:
        snprintf(s->text + size, sizeof s->text - size, "b%d;", value->boolean);
        break;
    case KI_VALUE_NULL:
        snprintf(s->text + size, sizeof s->text - size, "null;");
        break;
    default:
        assert_int_equal(strlen(value->text), value->text_size);
        snprintf(s->text + size, sizeof s->text - size, "%d%s;", value->type, value->text);
    }
    return --s->left > 0;
}

TEST(values_are_visited_in_order_until_no_more_are_wanted) {
    static const char json[] = "{\"a\":[1,1.5,true,null,\"\",\"x\",[1,{}],{\"b\":2,\"a\":1}]}";
    ki_jsonpath *path = NULL;
    seen all = { .left = 100 };
    seen two = { .left = 2 };
    assert_int_equal(ki_jsonpath_new("{range .a[*]}{@}{end}-{7}", NULL, &path, NULL), KI_OK);
    assert_int_equal(ki_jsonpath_each(path, json, strlen(json), see, &all, NULL), KI_OK);
    assert_string_equal(all.text, "i1;d1.5;b1;null;4;4x;5[1,{}];6{\"a\":1,\"b\":2};4-;i7;");
    assert_int_equal(ki_jsonpath_each(path, json, strlen(json), see, &two, NULL), KI_OK);
    assert_string_equal(two.text, "i1;d1.5;");
    ki_jsonpath_free(path);
}

/* ---- bounds ---- */

TEST(templates_and_their_output_are_bounded) {
    ki_error err = KI_ERROR_INIT;
    char *text = malloc(KI_JSONPATH_MAX_LENGTH + 2);
    assert_non_null(text);
    memset(text, 'a', KI_JSONPATH_MAX_LENGTH + 1);
    text[KI_JSONPATH_MAX_LENGTH + 1] = '\0';
    assert_null(print(text, NULL, "{}", &err));
    assert_int_equal(err.code, KI_ERR_LIMIT);
    text[KI_JSONPATH_MAX_LENGTH] = '\0';
    assert_non_null(print(text, NULL, "{}", &err));

    for (int depth = KI_JSONPATH_MAX_DEPTH; depth <= KI_JSONPATH_MAX_DEPTH + 1; depth++) {
        text[0] = '\0';
        for (int i = 0; i < depth; i++)
            strcat(text, "{range @}");
        strcat(text, "{@}");
        for (int i = 0; i < depth; i++)
            strcat(text, "{end}");
        const char *printed = print(text, NULL, "1", &err);
        assert_int_equal(printed != NULL, depth == KI_JSONPATH_MAX_DEPTH);
        if (printed)
            assert_string_equal(printed, "1");
        else
            assert_int_equal(err.code, KI_ERR_LIMIT);
    }
    free(text);

    const ki_jsonpath_options options = { .size = sizeof options, .max_output = 10 };
    assert_string_equal(print("{@}", &options, "\"0123456789\"", &err), "0123456789");
    assert_null(print("{@}", &options, "\"0123456789a\"", &err));
    assert_int_equal(err.code, KI_ERR_LIMIT);
}

TEST(values_in_one_another_are_bounded) {
    char json[4 * KI_JSONPATH_MAX_NESTING];
    for (int extra = 0; extra < 2; extra++) {
        size_t depth = KI_JSONPATH_MAX_NESTING + (size_t)extra;
        memset(json, '[', depth);
        memset(json + depth, ']', depth);
        json[2 * depth] = '\0';
        for (int i = 0; i < 2; i++) {
            ki_error err = KI_ERROR_INIT;
            const char *printed = print(i ? "{..}" : "{@}", NULL, json, &err);
            assert_int_equal(printed != NULL, extra == 0);
            if (!printed)
                assert_int_equal(err.code, KI_ERR_LIMIT);
        }
    }
}

TEST(what_one_evaluation_looks_at_is_bounded) {
    enum {
        ELEMENTS = 3000,
        DEPTH = 13
    };
    static char json[ELEMENTS * (2 * DEPTH + 1) + 2] = "[";
    size_t size = 1;
    for (size_t i = 0; i < ELEMENTS * (2 * DEPTH + 1) - 1; i++)
        json[size++] = "[[[[[[[[[[[[[]]]]]]]]]]]]],"[i % (2 * DEPTH + 1)];
    json[size] = ']';
    /* Each union has every value twice: 2 to the 13th of each element, 24 million of all. */
    char doubling[128] = "{range [*]}{";
    for (int i = 1; i < DEPTH; i++)
        strcat(doubling, "[:,:]");
    strcat(doubling, ".none}{end}");
    ki_error err = KI_ERROR_INIT;
    assert_null(print(doubling, &KI_JSONPATH_OPTIONS(.allow_missing_keys = true), json, &err));
    assert_int_equal(err.code, KI_ERR_LIMIT);
    assert_string_equal(err.message, "JSONPath: more than 16777216 values visited");
}

TEST(lack_of_memory_is_an_error_and_nothing_leaks) {
    static const char json[] = "{\"a\":[{\"b\":1,\"c\":{\"y\":1,\"x\":[]}},{\"b\":2},{\"b\":3}],\"t\":\"text\"}";
    static const char template[] =
        "a{range .a[*]}{.b} {['b','c']}{'q\\n'}{end}{..b}{.a[?(@.c)].c}{.a[?(@.b!=3)].b}{.a[0:1:1]}{.t.*}{1.5}";
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_error err = KI_ERROR_INIT;
        ki_jsonpath *path = NULL;
        ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
        const ki_jsonpath_options options = { .size = sizeof options,
                                              .allocator = &memory.allocator,
                                              .allow_missing_keys = true };
        ki_status status = ki_jsonpath_new(template, &options, &path, &err);
        if (!status)
            status = ki_jsonpath_print(path, json, strlen(json), &text, &err);
        if (status != (scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK))
            fail_msg("allocation %zu: %s", memory.fail_at, ki_error_message(&err));
        ki_jsonpath_text_clear(&text);
        seen all = { .left = 1000 };
        if (path && !scarce_memory_failed(&memory))
            status = ki_jsonpath_each(path, json, strlen(json), see, &all, NULL);
        ki_jsonpath_free(path);
        path = NULL;
        if (!scarce_memory_failed(&memory) && ki_jsonpath_new_relaxed("a.b", &options, &path, NULL) == KI_OK)
            ki_jsonpath_free(path);
    }
}
