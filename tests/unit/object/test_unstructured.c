/* An object that a program writes says what was set, keeps all else as it was read, and keeps its first failure. */
#include <kinformer/unstructured.h>

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/unstructured.h"
#include "tests/support/fixture.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOO(namespace_member, uid) \
    "{\"apiVersion\":\"samplecontroller.k8s.io/" \
    "v1alpha1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"" namespace_member ",\"uid\":\"" uid "\"}}"
#define REFERENCE(uid, more) \
    "{\"apiVersion\":\"samplecontroller.k8s.io/v1alpha1\",\"kind\":\"Foo\",\"name\":\"a\",\"uid\":\"" uid "\"" more "}"
#define CONTROLS ",\"controller\":true,\"blockOwnerDeletion\":true"

static ki_object *foo;       /* of namespace shop, uid 1 */
static ki_object *other_foo; /* of the same name, uid 2 */

static int make_foos(void **state) {
    (void)state;
    foo = make_object_from_json(FOO(",\"namespace\":\"shop\"", "1"));
    other_foo = make_object_from_json(FOO(",\"namespace\":\"shop\"", "2"));
    return 0;
}

static int free_foos(void **state) {
    (void)state;
    ki_object_unref(foo);
    ki_object_unref(other_foo);
    return 0;
}

/* Asserts what the object is, and frees it. */
static void assert_json(ki_unstructured *object, const char *json) {
    ki_error err = KI_ERROR_INIT;
    const char *text = ki_unstructured_json(object, &err);
    if (!text)
        print_error("%s\n", ki_error_message(&err));
    assert_non_null(text);
    assert_string_equal(text, json);
    ki_unstructured_free(object);
}

/* Asserts its failure, and frees it. */
static void assert_failed(ki_unstructured *object, ki_status code, const char *message) {
    ki_error err = KI_ERROR_INIT;
    assert_null(ki_unstructured_json(object, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.message, message))
        print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, message));
    ki_unstructured_free(object);
}

/* --- making and writing ------------------------------------------------------------------------------------------- */

TEST(what_is_not_changed_is_written_as_it_was_read) {
    static const char *const cases[] = {
        "{}",
        "{\"a\":123456789012345678901234567890,\"b\":-0.10,\"c\":1E400,\"d\":9223372036854775808,\"e\":1.0}",
        "{\"deep\":[[{\"x\":[null,true,false,\"\"]}]],\"text\":\"\xC3\xA9\\n\\\"\\\\\"}",
        "{\"same\":1,\"same\":2}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_json(ki_unstructured_new(cases[i]), cases[i]);
}

TEST(a_cached_object_comes_with_all_that_its_body_has) {
    size_t size;
    char *pod = fixture_read(KI_TEST_DATA_DIR "/pod.json", &size);
    ki_object *obj = make_object_from_json(pod);
    ki_value json = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(obj, &json, NULL), KI_OK);
    ki_unstructured *object = ki_unstructured_from_object(obj);
    ki_object_unref(obj);
    assert_json(object, json.text);
    ki_value_clear(&json);
    free(pod);
}

TEST(an_object_of_a_megabyte_survives) {
    ki_buffer json;
    ki_buffer_init(&json, &ki_allocator_default, 0);
    ki_buffer_append_string(&json, "{\"data\":[0");
    for (int i = 1; json.size < 1 << 20; i++)
        ki_buffer_printf(&json, ",{\"n\":%d.50}", i);
    ki_buffer_append_string(&json, "]}");
    assert_int_equal(json.failed, KI_OK);
    assert_json(ki_unstructured_new(json.data), json.data);
    ki_buffer_free(&json);
}

TEST(the_text_stays_until_the_next_change) {
    ki_unstructured *object = ki_unstructured_new("{\"a\":1}");
    const char *first = ki_unstructured_json(object, NULL);
    assert_ptr_equal(ki_unstructured_json(object, NULL), first);
    ki_unstructured_set_int(object, "a", 2);
    assert_json(object, "{\"a\":2}");
}

/* --- YAML --------------------------------------------------------------------------------------------------------- */

TEST(yaml_is_read_as_kubernetes_tools_read_it) {
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        { "kind: A\nspec:\n  replicas: 3\n  on: yes\n", "{\"kind\":\"A\",\"spec\":{\"replicas\":3,\"true\":true}}" },
        { "# a comment\n---\na: '1'\n", "{\"a\":\"1\"}" },
        { "a: [x, 1.50, null]\n---\n# nothing\n", "{\"a\":[\"x\",1.50,null]}" },
        { " \n{a: b}", "{\"a\":\"b\"}" },
        { "{\"a\":1,}", "{\"a\":1}" },
        { "a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_json(ki_unstructured_new(cases[i].yaml), cases[i].json);
}

TEST(text_that_is_no_map_is_a_failure_with_line_and_column) {
    static const struct {
        const char *text, *message;
        ki_status code;
    } cases[] = {
        { "", "empty", KI_ERR_PARSE },
        { "# only a comment\n", "empty", KI_ERR_PARSE },
        { "hello", "line 1, column 1: a text, not a map", KI_ERR_PARSE },
        { "\n- a\n", "line 2, column 1: a list, not a map", KI_ERR_PARSE },
        { "a: b\nc: [d\n", "line 3, column 1: ", KI_ERR_PARSE },
        { "a: b\n\tc: d\n", "line 2, column 1: ", KI_ERR_PARSE },
        { "a: b\n---\nc: d\n", "line 2, column 1: a second document", KI_ERR_PARSE },
        { "a: b\n---\n[\n", "line 2, column 1: a second document", KI_ERR_PARSE },
        { "a: .inf\n", "line 1: a number that JSON does not have", KI_ERR_UNSUPPORTED },
        { "{\"a\": \"b}", "line 1, column 10", KI_ERR_PARSE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_failed(ki_unstructured_new(cases[i].text), cases[i].code, cases[i].message);
}

TEST(an_object_for_a_resource_has_its_identity) {
    static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
    assert_json(ki_unstructured_for(KI_CONFIGMAPS, "shop", "a"),
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"shop\",\"name\":\"a\"}}");
    assert_json(ki_unstructured_for(&foos, "", "a"),
                "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"}}");
    assert_json(ki_unstructured_for(KI_NODES, NULL, NULL), "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{}}");
    const ki_resource incomplete[] = { { "", "", "foos", "Foo", true }, { NULL, "v1", "foos", NULL, true } };
    assert_failed(ki_unstructured_for(NULL, NULL, "a"), KI_ERR_INVALID, "without a version or a kind");
    for (size_t i = 0; i < 2; i++)
        assert_failed(ki_unstructured_for(&incomplete[i], NULL, "a"), KI_ERR_INVALID, "without a version or a kind");
}

TEST(a_copy_is_changed_alone) {
    ki_unstructured *template = ki_unstructured_new("a: 1\n"), *copy = ki_unstructured_copy(template);
    ki_unstructured_set_int(copy, "a", 2);
    assert_json(template, "{\"a\":1}");
    assert_json(copy, "{\"a\":2}");
    ki_unstructured *bad = ki_unstructured_new("[]");
    assert_failed(ki_unstructured_copy(bad), KI_ERR_PARSE, "not a map");
    ki_unstructured_free(bad);
    assert_null(ki_unstructured_copy(NULL));
}

TEST(an_object_is_read_from_a_file) {
    char path[] = "/tmp/kinformer-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char text[] = "kind: A\nb: [\n";
    assert_int_equal(write(fd, text, 8), 8);
    assert_json(ki_unstructured_from_file(path), "{\"kind\":\"A\"}");
    assert_int_equal(write(fd, text + 8, 5), 5);
    assert_failed(ki_unstructured_from_file(path), KI_ERR_PARSE, path);
    assert_failed(ki_unstructured_from_file(path), KI_ERR_PARSE, ": line 3, column 1");
    assert_int_equal(ftruncate(fd, 8), 0);
    assert_int_equal(pwrite(fd, "", 1, 8), 1);
    assert_failed(ki_unstructured_from_file(path), KI_ERR_PARSE, "a zero byte");
    close(fd);
    unlink(path);
    assert_failed(ki_unstructured_from_file(path), KI_ERR_NOT_FOUND, "name a file that exists");
    assert_failed(ki_unstructured_from_file("/tmp"), KI_ERR_CONFIG, "a directory");
    assert_failed(ki_unstructured_from_file(NULL), KI_ERR_INVALID, "NULL");
}

/* --- setting and removing ----------------------------------------------------------------------------------------- */

TEST(a_field_is_set_under_its_path) {
    static const struct {
        const char *json, *path, *value, *result;
    } cases[] = {
        { "{}", "a", "1", "{\"a\":1}" },
        { "{}", ".a.b.c", "[1]", "{\"a\":{\"b\":{\"c\":[1]}}}" },
        { "{\"a\":1,\"b\":2}", "a", "{\"x\":3}", "{\"a\":{\"x\":3},\"b\":2}" },
        { "{\"a\":null}", "a.b", "true", "{\"a\":{\"b\":true}}" },
        { "{\"a\":[1,2,3]}", "a[1]", "\"x\"", "{\"a\":[1,\"x\",3]}" },
        { "{\"a\":[1,2,3]}", "a[-1]", "null", "{\"a\":[1,2,null]}" },
        { "{\"a\":[{}]}", "a[0].b", "1", "{\"a\":[{\"b\":1}]}" },
        { "{\"a\":[null]}", "a[0].b", "1", "{\"a\":[{\"b\":1}]}" },
        { "{}", "m.labels['app.kubernetes.io/name']", "\"w\"",
          "{\"m\":{\"labels\":{\"app.kubernetes.io/name\":\"w\"}}}" },
        { "{}", "a", "123456789012345678901234567890", "{\"a\":123456789012345678901234567890}" },
        { "{\"s\":1,\"t\":2,\"s\":3}", "s", "4", "{\"s\":4,\"t\":2}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *object = ki_unstructured_new(cases[i].json);
        ki_unstructured_set_json(object, cases[i].path, cases[i].value);
        assert_json(object, cases[i].result);
    }
}

TEST(each_type_is_set_as_what_it_is) {
    char text[] = "t\xC3\xA9xt\"";
    ki_unstructured *object = ki_unstructured_new("{\"gone\":1}");
    ki_unstructured_set_string(object, "string", text);
    memset(text, 'x', strlen(text)); /* it was copied */
    ki_unstructured_set_string(object, "none", NULL);
    ki_unstructured_set_null(object, "null");
    ki_unstructured_set_int(object, "least", INT64_MIN);
    ki_unstructured_set_int(object, "most", INT64_MAX);
    ki_unstructured_set_double(object, "half", 0.5);
    ki_unstructured_set_bool(object, "yes", true);
    ki_unstructured_set_bool(object, "no", false);
    ki_unstructured_remove(object, "gone");
    assert_json(object, "{\"string\":\"t\xC3\xA9xt\\\"\",\"none\":null,\"null\":null,\"least\":-9223372036854775808,"
                        "\"most\":9223372036854775807,\"half\":0.5,\"yes\":true,\"no\":false}");
}

TEST(a_field_is_removed_and_nothing_else) {
    static const struct {
        const char *json, *path, *result;
    } cases[] = {
        { "{\"a\":1,\"b\":2}", "a", "{\"b\":2}" },      { "{\"a\":{\"b\":1,\"c\":2}}", "a.b", "{\"a\":{\"c\":2}}" },
        { "{\"a\":[1,2,3]}", "a[0]", "{\"a\":[2,3]}" }, { "{\"a\":[1,2,3]}", "a[-1]", "{\"a\":[1,2]}" },
        { "{\"a\":[1]}", "a[1]", "{\"a\":[1]}" },       { "{\"a\":1}", "b", "{\"a\":1}" },
        { "{\"a\":1}", "a.b.c", "{\"a\":1}" },          { "{\"a\":1}", "[0]", "{\"a\":1}" },
        { "{\"a\":null}", "a[0].c", "{\"a\":null}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *object = ki_unstructured_new(cases[i].json);
        ki_unstructured_remove(object, cases[i].path);
        assert_json(object, cases[i].result);
    }
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

TEST(bad_json_is_a_failure) {
    assert_failed(ki_unstructured_new(NULL), KI_ERR_PARSE, "NULL");
    assert_failed(ki_unstructured_from_object(NULL), KI_ERR_PARSE, "NULL");
    assert_failed(ki_unstructured_new(""), KI_ERR_PARSE, "empty");
    assert_failed(ki_unstructured_new("{"), KI_ERR_PARSE, "line 2, column 1");
    assert_failed(ki_unstructured_new("[1]"), KI_ERR_PARSE, "line 1, column 1: a list, not a map");
    assert_failed(ki_unstructured_new("{\"a\":\"\xFF\"}"), KI_ERR_PARSE, "byte 6");
}

TEST(a_bad_change_is_a_failure_that_names_the_path) {
    static const struct {
        const char *json, *path, *value;
        ki_status code;
        const char *message;
    } cases[] = {
        { "{}", "a..b", "1", KI_ERR_PARSE, "path \"a..b\"" },
        { "{}", NULL, "1", KI_ERR_PARSE, "path" },
        { "{}", "a\xFF", "1", KI_ERR_PARSE, "UTF-8" },
        { "{}", "a", "{", KI_ERR_PARSE, "a: not valid JSON" },
        { "{}", "a", NULL, KI_ERR_PARSE, "a: the JSON is NULL" },
        { "{\"a\":1}", "a.b", "1", KI_ERR_INVALID, "a.b: the path goes through a value that is not a map" },
        { "{\"a\":[]}", "a.b", "1", KI_ERR_INVALID, "a.b" },
        { "{\"a\":{}}", "a[0]", "1", KI_ERR_INVALID, "a[0]: the array has no such element" },
        { "{\"a\":[1]}", "a[1]", "1", KI_ERR_INVALID, "a[1]" },
        { "{\"a\":[1]}", "a[-2].b", "1", KI_ERR_INVALID, "a[-2].b" },
        { "{}", "a[0].b", "1", KI_ERR_INVALID, "a[0].b" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *object = ki_unstructured_new(cases[i].json);
        ki_unstructured_set_json(object, cases[i].path, cases[i].value);
        assert_failed(object, cases[i].code, cases[i].message);
    }
}

TEST(a_value_that_json_has_not_is_a_failure) {
    ki_unstructured *object = ki_unstructured_new("{}");
    ki_unstructured_set_double(object, "a", NAN);
    assert_failed(object, KI_ERR_INVALID, "a: JSON has no such number");
    object = ki_unstructured_new("{}");
    ki_unstructured_set_string(object, "a", "\xC3");
    assert_failed(object, KI_ERR_INVALID, "a: the string is not UTF-8");
}

TEST(the_first_failure_stays) {
    ki_unstructured *object = ki_unstructured_new("{\"a\":1}");
    ki_unstructured_set_int(object, "a.first", 1);
    ki_unstructured_set_int(object, "a.second", 1);
    ki_unstructured_set_json(object, "b", "{");
    ki_unstructured_set_double(object, "c", NAN);
    ki_unstructured_set_bool(object, "d", true);
    ki_unstructured_remove(object, "a");
    ki_unstructured_set_controller(object, NULL);
    assert_false(ki_unstructured_add_finalizer(object, "f"));
    assert_false(ki_unstructured_remove_finalizer(object, "f"));
    ki_unstructured_remove_owner(object, NULL);
    assert_failed(object, KI_ERR_INVALID, "a.first");
}

TEST(no_object_at_all_is_lack_of_memory) {
    ki_unstructured_set_int(NULL, "a", 1);
    ki_unstructured_set_controller(NULL, foo);
    assert_false(ki_unstructured_add_finalizer(NULL, "f"));
    assert_failed(NULL, KI_ERR_NO_MEMORY, "memory");
}

static ki_unstructured *nested(int depth, const char *path) {
    char json[2 * KI_UNSTRUCTURED_DEPTH_MAX + 16] = "{\"a\":";
    size_t at = 5;
    memset(json + at, '[', (size_t)depth);
    memset(json + at + depth, ']', (size_t)depth);
    if (path) {
        ki_unstructured *object = ki_unstructured_new("{}");
        ki_unstructured_set_json(object, path, json + at);
        return object;
    }
    json[at + (size_t)depth * 2] = '}';
    return ki_unstructured_new(json);
}

TEST(size_and_depth_have_limits) {
    ki_unstructured *object = nested(KI_UNSTRUCTURED_DEPTH_MAX - 1, NULL);
    assert_non_null(ki_unstructured_json(object, NULL));
    ki_unstructured_free(object);
    assert_failed(nested(KI_UNSTRUCTURED_DEPTH_MAX, NULL), KI_ERR_LIMIT, "deeper");
    char brackets[2 * KI_UNSTRUCTURED_DEPTH_MAX];
    memset(brackets, '[', sizeof brackets);
    memcpy(brackets, "{\"a\":\"\\\"", 8); /* a string of brackets, after a quote that is escaped */
    memcpy(brackets + sizeof brackets - 3, "\"}", 3);
    assert_json(ki_unstructured_new(brackets), brackets);
    assert_failed(nested(KI_UNSTRUCTURED_DEPTH_MAX + 1, "x.y"), KI_ERR_LIMIT, "x.y");
    assert_failed(nested(KI_UNSTRUCTURED_DEPTH_MAX, "x.y"), KI_ERR_LIMIT, "deeper"); /* with the two maps around it */
    object = nested(KI_UNSTRUCTURED_DEPTH_MAX - 2, "x.y");
    assert_non_null(ki_unstructured_json(object, NULL));
    ki_unstructured_free(object);

    size_t size = (size_t)KI_UNSTRUCTURED_SIZE_MAX + 1;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, ' ', size);
    text[size] = '\0';
    assert_failed(ki_unstructured_new(text), KI_ERR_LIMIT, "longer");
    object = ki_unstructured_new("{}");
    ki_unstructured_set_string(object, "a", text);
    assert_failed(object, KI_ERR_LIMIT, "a: the string is too long");
    text[size - 1] = '\0';
    object = ki_unstructured_new("{}");
    ki_unstructured_set_string(object, "a", text);
    assert_failed(object, KI_ERR_LIMIT, "longer");
    free(text);
}

/* --- fencing ------------------------------------------------------------------------------------------------------ */

#define FENCED(value) "{\"metadata\":{\"annotations\":{\"e.com/t\":" value "}}}"

TEST(a_fencing_token_never_goes_down) {
    static const struct {
        const char *before;
        int64_t token;
        const char *after; /* NULL: a failure */
        ki_status code;
        const char *message;
    } cases[] = {
        { "{}", 0, FENCED("\"0\""), KI_OK, NULL },
        { FENCED("\"3\""), 3, FENCED("\"3\""), KI_OK, NULL },
        { FENCED("\"3\""), 4, FENCED("\"4\""), KI_OK, NULL },
        { "{\"metadata\":{\"annotations\":null}}", 7, FENCED("\"7\""), KI_OK, NULL },
        { FENCED("\"3\""), 2, NULL, KI_ERR_CANCELLED, "e.com/t: a later leader has written the object" },
        { FENCED("\"3\""), -1, NULL, KI_ERR_CANCELLED, "e.com/t: this process does not lead" },
        { FENCED("\"x\""), 2, NULL, KI_ERR_INVALID, "e.com/t: not a fencing token" },
        { FENCED("\"\""), 2, NULL, KI_ERR_INVALID, "e.com/t: not a fencing token" },
        { FENCED("3"), 4, NULL, KI_ERR_INVALID, "e.com/t: not a fencing token" },
        { "{\"metadata\":{\"annotations\":[]}}", 4, NULL, KI_ERR_INVALID, "e.com/t: not a fencing token" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *object = ki_unstructured_new(cases[i].before);
        ki_unstructured_set_fencing_token(object, "e.com/t", cases[i].token);
        if (cases[i].after)
            assert_json(object, cases[i].after);
        else
            assert_failed(object, cases[i].code, cases[i].message);
    }
    static const char *const bad[] = { NULL, "", "\xFF" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ki_unstructured *object = ki_unstructured_new("{}");
        ki_unstructured_set_fencing_token(object, bad[i], 1);
        assert_failed(object, KI_ERR_INVALID, "no annotation");
    }
    ki_unstructured_set_fencing_token(NULL, "e.com/t", 1);
}

/* --- owners ------------------------------------------------------------------------------------------------------- */

TEST(an_owner_is_added_updated_and_removed) {
    static const struct {
        const char *references; /* NULL: no such field */
        char what;              /* 'c' set_controller, 'o' add_owner, 'r' remove_owner */
        const char *result;     /* NULL: no such field */
    } cases[] = {
        { NULL, 'c', "[" REFERENCE("1", CONTROLS) "]" },
        { "null", 'c', "[" REFERENCE("1", CONTROLS) "]" },
        { "[]", 'o', "[" REFERENCE("1", "") "]" },
        { "[" REFERENCE("2", "") "]", 'c', "[" REFERENCE("2", "") "," REFERENCE("1", CONTROLS) "]" },
        { "[" REFERENCE("2", CONTROLS) "]", 'o', "[" REFERENCE("2", CONTROLS) "," REFERENCE("1", "") "]" },
        { "[" REFERENCE("1", "") "," REFERENCE("2", "") "]", 'c',
          "[" REFERENCE("1", CONTROLS) "," REFERENCE("2", "") "]" },
        { "[" REFERENCE("1", CONTROLS) "]", 'c', "[" REFERENCE("1", CONTROLS) "]" },
        { "[" REFERENCE("1", CONTROLS) "]", 'o', "[" REFERENCE("1", CONTROLS) "]" },
        { "[{\"uid\":\"1\",\"name\":\"old\",\"more\":1}]", 'o',
          "[{\"uid\":\"1\",\"name\":\"a\",\"more\":1,\"apiVersion\":\"samplecontroller.k8s.io/"
          "v1alpha1\",\"kind\":\"Foo\"}]" },
        { "[" REFERENCE("2", CONTROLS) "," REFERENCE("1", "") "]", 'r', "[" REFERENCE("2", CONTROLS) "]" },
        { "[" REFERENCE("1", "") "," REFERENCE("1", "") "]", 'r', NULL },
        { "[" REFERENCE("1", CONTROLS) "]", 'r', NULL },
        { "[" REFERENCE("2", "") "]", 'r', "[" REFERENCE("2", "") "]" },
        { NULL, 'r', NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char result[1024];
        ki_unstructured *object = ki_unstructured_new("{\"metadata\":{\"namespace\":\"shop\"}}");
        if (cases[i].references)
            ki_unstructured_set_json(object, "metadata.ownerReferences", cases[i].references);
        if (cases[i].what == 'c')
            ki_unstructured_set_controller(object, foo);
        else if (cases[i].what == 'o')
            ki_unstructured_add_owner(object, foo);
        else
            ki_unstructured_remove_owner(object, foo);
        snprintf(result, sizeof result, "{\"metadata\":{\"namespace\":\"shop\"%s%s}}",
                 cases[i].result ? ",\"ownerReferences\":" : "", cases[i].result ? cases[i].result : "");
        assert_json(object, result);
    }
}

TEST(a_second_controller_is_rejected) {
    ki_unstructured *object = ki_unstructured_new("{\"metadata\":{\"namespace\":\"shop\"}}");
    ki_unstructured_set_controller(object, other_foo);
    ki_unstructured_set_controller(object, foo);
    assert_failed(object, KI_ERR_EXISTS, "controlled by Foo a already");
}

TEST(an_owner_must_be_able_to_own) {
    ki_object *cluster = make_object_from_json(FOO("", "3"));
    ki_object *no_uid = make_object_from_json(FOO(",\"namespace\":\"shop\"", ""));
    const struct {
        const char *json;
        const ki_object *owner;
        const char *message; /* NULL: it may */
    } cases[] = {
        { "{\"metadata\":{\"namespace\":\"shop\"}}", foo, NULL },
        { "{\"metadata\":{\"namespace\":\"shop\"}}", cluster, NULL },
        { "{\"metadata\":{}}", cluster, NULL },
        { "{}", cluster, NULL },
        { "{\"metadata\":null}", cluster, NULL },
        { "{\"metadata\":{\"namespace\":\"bank\"}}", foo, "in another namespace" },
        { "{\"metadata\":{\"namespace\":\"\"}}", foo, "has none" },
        { "{}", foo, "has none" },
        { "{\"metadata\":{\"namespace\":\"shop\"}}", NULL, "no owner" },
        { "{\"metadata\":{\"namespace\":\"shop\"}}", no_uid, "no uid" },
        { "{\"metadata\":1}", cluster, "not an array" },
        { "{\"metadata\":{\"ownerReferences\":{}}}", cluster, "not an array" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *object = ki_unstructured_new(cases[i].json);
        ki_unstructured_add_owner(object, cases[i].owner);
        if (cases[i].message) {
            assert_failed(object, KI_ERR_INVALID, cases[i].message);
            continue;
        }
        assert_non_null(ki_unstructured_json(object, NULL));
        ki_unstructured_free(object);
    }
    ki_object_unref(cluster);
    ki_object_unref(no_uid);
}

TEST(the_key_of_the_controller_is_of_its_group_and_kind) {
    static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
    static const ki_resource clusters = { "example.com", "v1", "clusters", "Cluster", false };
    static const struct {
        const char *api_version, *kind, *controller;
        const ki_resource *resource;
        const char *key; /* NULL: none */
    } cases[] = {
        { "example.com/v1", "Foo", "true", &foos, "shop/n" },
        { "example.com/v2", "Foo", "true", &foos, "shop/n" },
        { "example.com/v1", "Cluster", "true", &clusters, "n" },
        { "example.com/v1", "Foo", "false", &foos, NULL },
        { "other.com/v1", "Foo", "true", &foos, NULL },
        { "example.com", "Foo", "true", &foos, NULL },
        { "example.com/v1", "Cluster", "true", &foos, NULL },
        { "v1", "Node", "true", KI_NODES, "n" },
        { "v1", "Pod", "true", KI_PODS, "shop/n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024], key[KI_OBJECT_KEY_MAX];
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"name\":\"x\",\"namespace\":\"shop\",\"ownerReferences\":[{\"apiVersion\":\"%s\","
                 "\"kind\":\"%s\",\"name\":\"n\",\"uid\":\"1\",\"controller\":%s}]}}",
                 cases[i].api_version, cases[i].kind, cases[i].controller);
        ki_object *obj = make_object_from_json(json);
        assert_int_equal(ki_object_controller_key(obj, cases[i].resource, key, sizeof key), cases[i].key != NULL);
        if (cases[i].key)
            assert_string_equal(key, cases[i].key);
        assert_false(ki_object_controller_key(obj, cases[i].resource, key, 1));
        ki_object_unref(obj);
    }
}

/* --- finalizers --------------------------------------------------------------------------------------------------- */

TEST(a_finalizer_is_there_once_or_not) {
    ki_unstructured *object = ki_unstructured_new("{\"metadata\":{\"finalizers\":[\"b\",1]}}");
    assert_true(ki_unstructured_add_finalizer(object, "example.com/a"));
    assert_false(ki_unstructured_add_finalizer(object, "example.com/a"));
    assert_string_equal(ki_unstructured_json(object, NULL),
                        "{\"metadata\":{\"finalizers\":[\"b\",1,\"example.com/a\"]}}");
    assert_true(ki_unstructured_remove_finalizer(object, "b"));
    assert_false(ki_unstructured_remove_finalizer(object, "b"));
    ki_unstructured_remove(object, "metadata.finalizers[0]");
    assert_true(ki_unstructured_remove_finalizer(object, "example.com/a"));
    assert_false(ki_unstructured_remove_finalizer(object, "example.com/a"));
    assert_true(ki_unstructured_add_finalizer(object, "c"));
    assert_json(object, "{\"metadata\":{\"finalizers\":[\"c\"]}}");

    object = ki_unstructured_new("{\"metadata\":{\"finalizers\":[\"a\",\"a\",\"b\",\"a\",\"c\"]}}");
    assert_true(ki_unstructured_remove_finalizer(object, "a"));
    assert_json(object, "{\"metadata\":{\"finalizers\":[\"b\",\"c\"]}}");
}

TEST(a_finalizer_that_is_none_is_a_failure) {
    static const struct {
        const char *json, *finalizer, *message;
    } cases[] = {
        { "{}", NULL, "no finalizer" },
        { "{}", "", "no finalizer" },
        { "{}", "\xFF", "UTF-8" },
        { "{\"metadata\":{\"finalizers\":\"x\"}}", "a", "not an array" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *object = ki_unstructured_new(cases[i].json);
        assert_false(ki_unstructured_add_finalizer(object, cases[i].finalizer));
        assert_failed(object, KI_ERR_INVALID, cases[i].message);
    }
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

TEST(a_cached_object_has_its_controller_reference) {
    static const struct {
        const char *references;
        bool controlled;
    } cases[] = {
        { "[" REFERENCE("1", CONTROLS) "]", true },
        { "[" REFERENCE("2", "") "," REFERENCE("1", CONTROLS) "]", true },
        { "[{\"more\":[\"}]\",{\"controller\":false}],\"controller\":true,\"\\u0075id\":\"\\u0031\"}]", true },
        { "[" REFERENCE("2", CONTROLS) "," REFERENCE("1", "") "]", false },
        { "[" REFERENCE("2", CONTROLS) "," REFERENCE("1", CONTROLS) "]", false },
        { "[" REFERENCE("1", ",\"controller\":false") "]", false },
        { "[" REFERENCE("1", "") "]", false },
        { "[" REFERENCE("11", CONTROLS) "]", false },
        { "[" REFERENCE("", CONTROLS) "]", false },
        { "[\"1\",[],{}]", false },
        { "[{}]", false },
        { "[]", false },
        { "null", false },
        { "{\"uid\":\"1\",\"controller\":true}", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024];
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":%s},\"spec\":{}}",
                 cases[i].references);
        ki_object *obj = make_object_from_json(json);
        assert_int_equal(ki_object_is_controlled_by(obj, foo), cases[i].controlled);
        ki_object_unref(obj);
    }
    ki_object *no_uid =
        make_object_from_json("{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[" REFERENCE("", CONTROLS) "]}}");
    assert_false(ki_object_is_controlled_by(no_uid, no_uid));
    assert_false(ki_object_is_controlled_by(no_uid, NULL));
    assert_false(ki_object_is_controlled_by(NULL, foo));
    ki_object_unref(no_uid);
}

TEST(a_cached_object_has_its_deletion_and_finalizers) {
    static const struct {
        const char *members;
        bool deleted, has;
    } cases[] = {
        { "", false, false },
        { ",\"deletionTimestamp\":null,\"finalizers\":null", false, false },
        { ",\"annotations\":{\"a\":\"\\\"]}\",\"b\":\"\\\\\"},\"generateName\":\"\\\",\",\"deletionTimestamp\":"
          "\"2026\"",
          true, false },
        { ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"example.com/a\"]", true, true },
        { ",\"finalizers\":[\"x\",\"example.com\\/a\"]", false, true },
        { ",\"finalizers\":[\"ex\\u0061mple.com/\\u0061\"]", false, true },
        { ",\"finalizers\":[\"example.com/\"]", false, false },
        { ",\"finalizers\":[\"example.com/a1\"]", false, false },
        { ",\"finalizers\":[\"example.com/\\u00e1\",\"\\t\",1]", false, false },
        { ",\"labels\":{\"deletionTimestamp\":\"x\",\"finalizers\":\"example.com/a\"}", false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[256];
        snprintf(json, sizeof json,
                 "{\"spec\":{\"metadata\":{\"deletionTimestamp\":1}},\"metadata\":{\"name\":\"x\"%s}}",
                 cases[i].members);
        ki_object *obj = make_object_from_json(json);
        assert_int_equal(ki_object_is_being_deleted(obj), cases[i].deleted);
        assert_int_equal(ki_object_has_finalizer(obj, "example.com/a"), cases[i].has);
        assert_false(ki_object_has_finalizer(obj, NULL));
        ki_object_unref(obj);
    }
    assert_false(ki_object_is_being_deleted(NULL));
    assert_false(ki_object_has_finalizer(NULL, "a"));
}

/* --- many changes ------------------------------------------------------------------------------------------------- */

/* If each member cost as much as there are members, this would take an hour: a test that ends is the proof. */
TEST(a_map_can_have_many_members) {
    enum {
        MEMBERS = 500000
    };
    ki_unstructured *object = ki_unstructured_new("{\"data\":{},\"more\":{}}");
    char path[32];
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(path, sizeof path, i % 2 ? "data.m%d" : "more.m%d", i);
        ki_unstructured_set_int(object, path, i);
    }
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(path, sizeof path, i % 2 ? "data.m%d" : "more.m%d", i);
        if (i != 7 && i != MEMBERS - 2)
            ki_unstructured_remove(object, path);
        else
            ki_unstructured_set_string(object, path, "left");
    }
    assert_json(object, "{\"data\":{\"m7\":\"left\"},\"more\":{\"m499998\":\"left\"}}");
}

/* Random changes of a map with many members, beside the same changes of a plain list. */
TEST(members_are_in_the_order_in_which_they_came) {
    enum {
        NAMES = 100,
        CHANGES = 20000
    };
    int names[NAMES], values[NAMES], count = 0;
    uint32_t random = 1;
    ki_unstructured *object = ki_unstructured_new("{\"d\":{}}");
    for (int i = 0; i < CHANGES; i++) {
        char path[32];
        random = random * 1664525 + 1013904223;
        int name = (int)(random >> 16) % NAMES, at = 0;
        bool removes = (random >> 8) % 3 == 0 || (i / 1000 % 2 && (random >> 8) % 3 == 1);
        while (at < count && names[at] != name)
            at++;
        snprintf(path, sizeof path, "d.n%d", name);
        if (removes) {
            ki_unstructured_remove(object, path);
            if (at < count) {
                memmove(names + at, names + at + 1, (size_t)(count - at - 1) * sizeof *names);
                memmove(values + at, values + at + 1, (size_t)(count - at - 1) * sizeof *values);
                count--;
            }
            continue;
        }
        ki_unstructured_set_int(object, path, i);
        names[at] = name;
        values[at] = i;
        count += at == count;
    }
    ki_buffer wanted;
    ki_buffer_init(&wanted, &ki_allocator_default, 0);
    ki_buffer_append_string(&wanted, "{\"d\":{");
    for (int i = 0; i < count; i++)
        ki_buffer_printf(&wanted, "%s\"n%d\":%d", i ? "," : "", names[i], values[i]);
    ki_buffer_append_string(&wanted, "}}");
    assert_json(object, wanted.data);
    ki_buffer_free(&wanted);
}

TEST(equal_names_that_were_read_are_replaced_and_removed_together) {
    ki_buffer json;
    ki_buffer_init(&json, &ki_allocator_default, 0);
    ki_buffer_append_string(&json, "{\"d\":{\"a\":1,\"b\":1,");
    for (int i = 0; i < 40; i++)
        ki_buffer_printf(&json, "\"n%d\":%d,", i, i);
    ki_buffer_append_string(&json, "\"a\":2,\"b\":2}}");
    ki_unstructured *object = ki_unstructured_new(json.data);
    ki_unstructured_set_int(object, "d.a", 3);
    ki_unstructured_remove(object, "d.b");
    for (int i = 0; i < 40; i++) {
        char path[32];
        snprintf(path, sizeof path, "d.n%d", i);
        ki_unstructured_remove(object, path);
    }
    assert_json(object, "{\"d\":{\"a\":3}}");
    ki_buffer_free(&json);
}

TEST(a_field_that_is_set_often_keeps_no_memory) {
    enum {
        SETS = 1000000,
        PEAK_MAX = 8 * 1024 * 1024
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_unstructured *object = ki_unstructured_new_of(&memory.allocator, KI_STR("{\"a\":{\"b\":[1]}}"));
    for (int i = 0; i < SETS; i++)
        ki_unstructured_set_int(object, "status.observedGeneration", i);
    ki_unstructured_set_string(object, "a.b[0]", "x");
    if (scarce_memory_peak(&memory) > PEAK_MAX)
        fail_msg("%zu bytes", scarce_memory_peak(&memory));
    assert_json(object, "{\"a\":{\"b\":[\"x\"]},\"status\":{\"observedGeneration\":999999}}");
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

/* --- lack of memory ----------------------------------------------------------------------------------------------- */

static void change_all(ki_unstructured *object) {
    ki_unstructured_set_string(object, "a.b.c", "text");
    ki_unstructured_set_int(object, "a.b.d", 1);
    ki_unstructured_set_double(object, "a.b.e", 1.5);
    ki_unstructured_set_bool(object, "a.b.f", true);
    ki_unstructured_set_json(object, "a.list", "[1,{\"x\":[2]}]");
    ki_unstructured_set_null(object, "a.list[1].x[0]");
    ki_unstructured_remove(object, "a.b.c");
    ki_unstructured_set_controller(object, foo);
    ki_unstructured_add_owner(object, other_foo);
    ki_unstructured_add_finalizer(object, "f");
    /* Enough to need more of yyjson's chunks. */
    for (int i = 0; i < 200; i++) {
        char path[32];
        snprintf(path, sizeof path, "many.m%d", i);
        ki_unstructured_set_string(object, path, "some text that takes a place in the document's memory");
    }
    ki_unstructured_add_finalizer(object, "g");
    ki_unstructured_remove_owner(object, other_foo);
}

TEST(each_allocation_may_fail) {
    static const char yaml[] = "metadata: { name: x, namespace: shop }\n---\n";
    size_t n = 0;
    for (;; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        ki_error err = KI_ERROR_INIT;
        ki_unstructured *template = ki_unstructured_read(&memory.allocator, yaml);
        ki_unstructured *object = ki_unstructured_copy(template);
        ki_unstructured_free(template);
        change_all(object);
        const char *text = ki_unstructured_json(object, &err);
        bool failed = scarce_memory_failed(&memory);
        if (failed) {
            assert_null(text);
            assert_int_equal(err.code, KI_ERR_NO_MEMORY);
        } else {
            assert_non_null(strstr(text, "\"m199\":\"some"));
            assert_non_null(strstr(text, "\"list\":[1,{\"x\":[null]}]"));
            assert_non_null(strstr(text, "\"finalizers\":[\"f\",\"g\"]"));
        }
        ki_unstructured_free(object);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        if (!failed)
            break;
    }
    assert_true(n > 20);
}

TEST(a_copy_takes_its_memory_where_the_object_does) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX - 1);
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    assert_int_equal(ki_object_format_new(&memory.allocator, NULL, &format, NULL), KI_OK);
    assert_int_equal(ki_object_from_json(format, KI_STR("{\"metadata\":{\"name\":\"x\"}}"), "v1", "Pod", &obj, NULL),
                     KI_OK);
    ki_object_format_unref(format);
    size_t before = scarce_memory_in_use(&memory);
    ki_unstructured *object = ki_unstructured_from_object(obj);
    assert_true(scarce_memory_in_use(&memory) > before);
    ki_object_unref(obj);
    assert_json(object, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"}}");
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST_GROUP(unstructured, make_foos, free_foos);
