/* A path leads where its text says, and a bad one is refused with its place. */
#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/object/path.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char document[] =
    "{\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"image\":\"a\"},{\"image\":\"b\"},{\"image\":\"c\"}],\"grid\":[["
    "1,2],[3,4]],\"empty\":{\"map\":{},\"list\":[]},\"last\":true},"
    "\"metadata\":{\"labels\":{\"app.kubernetes.io/"
    "name\":\"web\",\"it's\":\"quoted\",\"\":\"empty\"}},\"0\":\"zero\",\"$ref\":\"reference\","
    "\"{.a}\":\"braces\","
    "\"escapes\":{\"\\\"\":\"\\\\\",\"\\\\\":\"\\\\\\\"\",\"\\\\\\\"}\":\"\",\"end\":1}}";

static bool take_first(ki_str value, void *user) {
    *(ki_str *)user = value;
    return false;
}

TEST(a_path_leads_to_its_value_in_parsed_json_and_in_text) {
    static const struct {
        const char *path;
        const char *json; /* NULL: nothing is there */
    } cases[] = {
        { "spec.nodeName", "\"n1\"" },
        { ".spec.nodeName", "\"n1\"" },
        { "spec['nodeName']", "\"n1\"" },
        { "['spec'][\"nodeName\"]", "\"n1\"" },
        { ".['spec'].nodeName", "\"n1\"" },
        { "spec.containers[0].image", "\"a\"" },
        { "spec.containers[2].image", "\"c\"" },
        { "spec.containers[-1].image", "\"c\"" },
        { "spec.containers[-3].image", "\"a\"" },
        { "spec.containers[3].image", NULL },
        { "spec.containers[-4].image", NULL },
        { "spec.containers[2147483647]", NULL },
        { "spec.grid[1][0]", "3" },
        { "metadata.labels['app.kubernetes.io/name']", "\"web\"" },
        { "metadata.labels[\"app.kubernetes.io/name\"]", "\"web\"" },
        { "metadata.labels.app\\.kubernetes\\.io/name", "\"web\"" },
        { "metadata.labels['it\\'s']", "\"quoted\"" },
        { "metadata.labels[\"it's\"]", "\"quoted\"" },
        { "metadata.labels['']", "\"empty\"" },
        { "metadata.labels", "{\"app.kubernetes.io/name\":\"web\",\"it's\":\"quoted\",\"\":\"empty\"}" },
        { "0", "\"zero\"" },
        { "$ref", "\"reference\"" },
        { "['{.a}']", "\"braces\"" },
        { "spec.containers[*].image", "\"a\"" },
        { "spec.grid[*][1]", "2" },
        { "spec.containers[*].name", NULL },
        { "spec[*]", NULL },
        { "spec[0]", NULL },
        { "spec.containers.image", NULL },
        { "spec.nodeName.more", NULL },
        { "nothing", NULL },
        /* What follows an array or map is none of its parts. */
        { "spec.empty.map", "{}" },
        { "spec.empty.list", "[]" },
        { "spec.empty.map.list", NULL },
        { "spec.empty.map.last", NULL },
        { "spec.empty.list[0]", NULL },
        { "spec.empty.list[-1]", NULL },
        { "spec.empty.last", NULL },
        { "spec.grid[0][2]", NULL },
        { "spec.grid[-2][-1]", "2" },
        { "spec.containers[2].grid", NULL },
        { "spec.containers[0].empty", NULL },
        { "spec.last", "true" },
        { "spec.metadata", NULL },
        { "spec.0", NULL },
        { "escapes['\"']", "\"\\\\\"" },
        { "escapes['\\\\']", "\"\\\\\\\"\"" },
        { "escapes['\\\\\"}']", "\"\"" },
        { "escapes.end", "1" },
    };
    yyjson_doc *doc;
    assert_int_equal(ki_json_parse(&ki_allocator_default, KI_STR(document), &doc, NULL), KI_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_path *path = NULL;
        assert_int_equal(ki_path_parse(&ki_allocator_default, cases[i].path, &path, NULL), KI_OK);
        yyjson_val *found = ki_path_find(path, yyjson_doc_get_root(doc));
        ki_str text = { NULL, 0 };
        ki_path_walk_text(path, KI_STR(document), take_first, &text);
        ki_path_free(&ki_allocator_default, path);
        if (!cases[i].json) {
            assert_null(found);
            assert_int_equal(text.size, 0);
            continue;
        }
        assert_true(ki_str_equals(text, cases[i].json));
        assert_non_null(found);
        char *json = yyjson_val_write(found, 0, NULL);
        assert_string_equal(json, cases[i].json);
        free(json);
    }
    yyjson_doc_free(doc);
}

TEST(a_malformed_path_is_rejected) {
    static const char *const paths[] = {
        "",      ".",     "..",    "a.",    "a..b", "a[",      "a[]",   "a[1", "a[x]",   "a[1.5]",         "a[--1]",
        "a['b]", "a['b'", "a[b']", "a]",    "a b",  "a['b'x]", "a[1]b", "a\\", "a['\\",  "a[99999999999]", "a[-]",
        "a'b'",  "a[*",   "a[**]", "a[-*]", "{.a}", "{a}",     "$",     "$.a", "$['a']",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ki_path *path = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_path_parse(&ki_allocator_default, paths[i], &path, &err), KI_ERR_PARSE);
        assert_null(path);
        assert_non_null(strstr(err.message, "position"));
    }
    ki_path *path = NULL;
    assert_int_equal(ki_path_parse(&ki_allocator_default, NULL, &path, NULL), KI_ERR_PARSE);
}

TEST(length_and_steps_are_limited) {
    char text[KI_PATH_MAX_LENGTH + 2];
    ki_path *path = NULL;
    memset(text, 'a', sizeof text);
    text[KI_PATH_MAX_LENGTH] = '\0';
    assert_int_equal(ki_path_parse(&ki_allocator_default, text, &path, NULL), KI_OK);
    ki_path_free(&ki_allocator_default, path);
    text[KI_PATH_MAX_LENGTH] = 'a';
    text[KI_PATH_MAX_LENGTH + 1] = '\0';
    assert_int_equal(ki_path_parse(&ki_allocator_default, text, &path, NULL), KI_ERR_PARSE);
    for (size_t steps = KI_PATH_MAX_STEPS; steps <= KI_PATH_MAX_STEPS + 1; steps++) {
        for (size_t i = 0; i < steps; i++)
            memcpy(text + 2 * i, "a.", 2);
        text[2 * steps - 1] = '\0';
        ki_status status = ki_path_parse(&ki_allocator_default, text, &path, NULL);
        assert_int_equal(status, steps > KI_PATH_MAX_STEPS ? KI_ERR_PARSE : KI_OK);
        if (!status)
            ki_path_free(&ki_allocator_default, path);
    }
}

TEST(lack_of_memory_is_an_error) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_path *path = NULL;
    assert_int_equal(ki_path_parse(&memory.allocator, "spec.nodeName", &path, NULL), KI_ERR_NO_MEMORY);
    assert_null(path);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
