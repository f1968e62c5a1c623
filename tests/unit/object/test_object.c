/* An object says what its JSON said, in one allocation, whoever frees it and whenever memory ends. */
#include "src/base/memory.h"
#include "src/object/format.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <yyjson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_object_format *plain_format(void) {
    ki_object_format *format = NULL;
    assert_int_equal(ki_object_format_new(&ki_allocator_default, NULL, &format, NULL), KI_OK);
    return format;
}

/* An object of plain format; NULL and `err` where it is refused. */
static ki_object *make(const char *json, ki_error *err) {
    ki_object_format *format = plain_format();
    ki_object *obj = NULL;
    ki_status status = ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, err);
    assert_int_equal(status == KI_OK, obj != NULL);
    ki_object_format_unref(format); /* the object keeps it */
    return obj;
}

static ki_value json_of(const ki_object *obj) {
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(obj, &value, NULL), KI_OK);
    assert_int_equal(value.type, KI_VALUE_OBJECT);
    assert_int_equal(value.text_size, strlen(value.text));
    return value;
}

static void assert_json(const ki_object *obj, const char *json) {
    ki_value value = json_of(obj);
    assert_string_equal(value.text, json);
    ki_value_clear(&value);
    assert_null(value.text);
}

TEST(the_frequent_fields_of_a_pod_are_there) {
    size_t size;
    char *json = fixture_read(KI_TEST_DATA_DIR "/pod.json", &size);
    ki_object *obj = make(json, NULL);
    assert_string_equal(ki_object_key(obj), "shop/web-7d4b9c6f5d-x7k2p");
    assert_string_equal(ki_object_namespace(obj), "shop");
    assert_string_equal(ki_object_name(obj), "web-7d4b9c6f5d-x7k2p");
    assert_string_equal(ki_object_uid(obj), "0d9f1c3e-5a6b-4c7d-8e9f-0123456789ab");
    assert_string_equal(ki_object_resource_version(obj), "123456789");
    assert_string_equal(ki_object_api_version(obj), "v1");
    assert_string_equal(ki_object_kind(obj), "Pod");
    assert_int_equal(ki_object_label_count(obj), 4);
    assert_string_equal(ki_object_label(obj, "app.kubernetes.io/name"), "web");
    assert_null(ki_object_label(obj, "app"));
    assert_null(ki_object_label(obj, NULL));
    const char *name, *value;
    assert_true(ki_object_label_at(obj, 3, &name, &value));
    assert_string_equal(name, "tier");
    assert_string_equal(value, "frontend");
    assert_false(ki_object_label_at(obj, 4, &name, &value));
    assert_null(ki_object_view(obj));
    assert_true(ki_object_memory(obj) < size);
    ki_object_unref(obj);
    free(json);
}

TEST(the_body_is_the_same_object_without_managed_fields) {
    size_t size;
    char *json = fixture_read(KI_TEST_DATA_DIR "/pod.json", &size);
    ki_object *obj = make(json, NULL);
    ki_value body = json_of(obj);
    yyjson_doc *given = yyjson_read(json, size, 0);
    yyjson_doc *kept = yyjson_read(body.text, body.text_size, 0);
    yyjson_mut_doc *expected = yyjson_doc_mut_copy(given, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(expected);
    yyjson_mut_obj_remove_key(yyjson_mut_obj_get(root, "metadata"), "managedFields");
    yyjson_mut_obj_add_str(expected, root, "apiVersion", "v1");
    yyjson_mut_obj_add_str(expected, root, "kind", "Pod");
    yyjson_doc *wanted = yyjson_mut_doc_imut_copy(expected, NULL);
    assert_true(yyjson_equals(yyjson_doc_get_root(wanted), yyjson_doc_get_root(kept)));
    yyjson_doc_free(wanted);
    yyjson_mut_doc_free(expected);
    yyjson_doc_free(kept);
    yyjson_doc_free(given);
    ki_value_clear(&body);
    ki_object_unref(obj);
    free(json);
}

TEST(the_body_is_compact_and_complete) {
    static const struct {
        const char *given;
        const char *kept;
    } cases[] = {
        { "{\"metadata\":{\"name\":\"a\"}}", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}" },
        { "{\"kind\":\"X\",\"metadata\":{\"name\":\"a\"}}",
          "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"a\"}}" },
        { "{\"apiVersion\":\"g/v2\",\"metadata\":{\"name\":\"a\"}}",
          "{\"kind\":\"Pod\",\"apiVersion\":\"g/v2\",\"metadata\":{\"name\":\"a\"}}" },
        /* managedFields first, in the middle, last, alone with the name, empty, no array, spelt with an escape */
        { "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"managedFields\":[{\"a\":\"]}\"}],\"name\":\"a\"}}",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\"}}" },
        { "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"uid\":\"u\",\"managedFields\":[[],{}],\"name\":\"a\"}}",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"uid\":\"u\",\"name\":\"a\"}}" },
        { "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\",\"managedFields\":[]}}",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\"}}" },
        { "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"managedFields\":[],\"name\":\"a\"},\"spec\":{"
          "\"managedFields\":[1]}}",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"managedFields\":[1]}}" },
        { "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\",\"managedFields\":null}}",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\",\"managedFields\":null}}" },
        { "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\",\"managed\\u0046ields\":[1]}}",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\",\"managed\\u0046ields\":[1]}}" },
        { "{\"metadata\":{\"managedFields\":[],\"name\":\"a\"}}",
          "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}" },
        /* white space goes, in strings it stays; numbers and escapes stay as they were written */
        { " \n{ \"kind\" : \"X\",\t\"apiVersion\":\"v\", \"metadata\": {\"managedFields\": [ {\"x\": 1} ], \"name\" "
          ":\"a\"}, "
          "\"n\": [1.50, 1e3, 12345678901234567890123, \"a b\\\\\\\" c\"]}\r\n",
          "{\"kind\":\"X\",\"apiVersion\":\"v\",\"metadata\":{\"name\":\"a\"},\"n\":[1.50,1e3,12345678901234567890123,"
          "\"a b\\\\\\\" c\"]}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *obj = make(cases[i].given, NULL);
        assert_non_null(obj);
        assert_json(obj, cases[i].kept);
        ki_object_unref(obj);
    }
}

TEST(options_of_a_format_without_a_size_are_refused) {
    const ki_object_format_options options = { .keep_managed_fields = true };
    ki_object_format *format = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_object_format_new(NULL, &options, &format, &err), KI_ERR_INVALID);
    assert_null(format);
    assert_non_null(strstr(err.message, "KI_OBJECT_FORMAT_OPTIONS()"));
}

TEST(managed_fields_stay_where_they_are_wanted) {
    ki_object_format *format = NULL;
    ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.keep_managed_fields = true);
    assert_int_equal(ki_object_format_new(&ki_allocator_default, &options, &format, NULL), KI_OK);
    ki_object *obj = NULL;
    static const char json[] = "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}]}}";
    assert_int_equal(ki_object_from_json(format, KI_STR(json), NULL, NULL, &obj, NULL), KI_OK);
    ki_object_format_unref(format);
    assert_json(obj, json);
    assert_string_equal(ki_object_api_version(obj), "");
    assert_string_equal(ki_object_kind(obj), "");
    ki_object_unref(obj);
}

TEST(what_an_object_has_not_is_empty) {
    ki_object *obj = make("{\"metadata\":{\"name\":\"node-1\",\"namespace\":null,\"labels\":null}}", NULL);
    assert_string_equal(ki_object_key(obj), "node-1");
    assert_string_equal(ki_object_name(obj), "node-1");
    assert_string_equal(ki_object_namespace(obj), "");
    assert_string_equal(ki_object_uid(obj), "");
    assert_string_equal(ki_object_resource_version(obj), "");
    assert_int_equal(ki_object_label_count(obj), 0);
    ki_owner_reference *references = NULL;
    size_t count = 7;
    assert_int_equal(ki_object_owner_references(obj, &references, &count, NULL), KI_OK);
    assert_null(references);
    assert_int_equal(count, 0);
    ki_owner_references_free(NULL);
    ki_object_unref(obj);
    ki_object_unref(NULL);
    assert_null(ki_object_ref(NULL));
}

TEST(what_is_no_object_is_rejected_with_the_reason) {
    static const struct {
        const char *json;
        const char *message; /* a part of it */
    } cases[] = {
        { "", "empty" },
        { "   ", "empty" },
        { "nonsense", "not valid JSON" },
        { "{\"metadata\":{\"name\":\"a\"}", "not valid JSON" },
        { "{\"metadata\":{\"name\":\"a\"}} {}", "not valid JSON" },
        { "{\"metadata\":{\"name\":\"\xff\"}}", "UTF-8" },
        { "{\"metadata\":{\"name\":\"a\nb\"}}", "not valid JSON" },
        { "[]", "expected a JSON object, got an array" },
        { "\"x\"", "string" },
        { "{}", "no metadata" },
        { "{\"metadata\":[]}", "no metadata" },
        { "{\"metadata\":{}}", "metadata.name is missing" },
        { "{\"metadata\":{\"name\":\"\"}}", "metadata.name is missing" },
        { "{\"metadata\":{\"name\":1}}", "metadata.name is not a string" },
        { "{\"metadata\":{\"name\":\"a\\u0000b\"}}", "zero character" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\\u0000\"}}", "zero character" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":{}}}", "metadata.namespace is not a string" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":5}}", "n/a: metadata.uid is not a string" },
        { "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":5}}", "a: metadata.resourceVersion is not a string" },
        { "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
          "\"1234567890123456789012345678901234567890123456789012345678901234\"}}",
          "longer than 63" },
        { "{\"kind\":7,\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}", "n/a: kind is not a string" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_null(make(cases[i].json, &err));
        assert_int_equal(err.code, KI_ERR_PARSE);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s\n  gave: %s", cases[i].json, err.message);
    }
}

TEST(zeros_cut_labels_and_others_than_strings_are_left_out) {
    ki_object *obj = make(
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\\u00002\",\"y\":3,\"z\":null,\"x\":\"again\"}}}", NULL);
    assert_int_equal(ki_object_label_count(obj), 2);
    assert_string_equal(ki_object_label(obj, "x"), "1");
    assert_null(ki_object_label(obj, "y"));
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_field(obj, "metadata.labels.x", &value, NULL), KI_OK);
    assert_int_equal(value.text_size, 3);
    assert_memory_equal(value.text, "1\0002", 4);
    ki_value_clear(&value);
    ki_object_unref(obj);
}

static const char fields_json[] = "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"a.b/"
                                  "c\":\"note\"},\"labels\":{\"app.kubernetes.io/name\":\"web\"}},\"spec\":"
                                  "{\"nil\":null,\"yes\":true,\"no\":false,\"int\":-5,\"big\":9223372036854775807,"
                                  "\"huge\":9223372036854775808,\"real\":1.5,"
                                  "\"text\":\"t\",\"list\":[1,{\"a\":2}],\"object\":{\"k\":[]}}}";

TEST(any_field_is_read_by_its_path) {
    static const struct {
        const char *path;
        ki_value_type type;
        bool boolean;
        int64_t integer;
        double number;
        const char *text;
    } cases[] = {
        { "spec.nil", KI_VALUE_NULL, false, 0, 0, NULL },
        { "spec.yes", KI_VALUE_BOOL, true, 0, 0, NULL },
        { "spec.no", KI_VALUE_BOOL, false, 0, 0, NULL },
        { "spec.int", KI_VALUE_INT, false, -5, -5, NULL },
        { "spec.big", KI_VALUE_INT, false, INT64_MAX, 9223372036854775807.0, NULL },
        { "spec.huge", KI_VALUE_DOUBLE, false, 0, 9223372036854775808.0, NULL },
        { "spec.real", KI_VALUE_DOUBLE, false, 0, 1.5, NULL },
        { ".spec.text", KI_VALUE_STRING, false, 0, 0, "t" },
        { "spec.list", KI_VALUE_ARRAY, false, 0, 0, "[1,{\"a\":2}]" },
        { "spec.object", KI_VALUE_OBJECT, false, 0, 0, "{\"k\":[]}" },
        { "spec.list[-1].a", KI_VALUE_INT, false, 2, 2, NULL },
        { "kind", KI_VALUE_STRING, false, 0, 0, "Pod" },
        { "metadata.labels['app.kubernetes.io/name']", KI_VALUE_STRING, false, 0, 0, "web" },
    };
    ki_object *obj = make(fields_json, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_value value = KI_VALUE_INIT;
        assert_int_equal(ki_object_field(obj, cases[i].path, &value, NULL), KI_OK);
        assert_int_equal(value.type, cases[i].type);
        assert_int_equal(value.boolean, cases[i].boolean);
        assert_int_equal(value.integer, cases[i].integer);
        assert_true(value.number >= cases[i].number && value.number <= cases[i].number);
        if (cases[i].text)
            assert_string_equal(value.text, cases[i].text);
        else
            assert_null(value.text);
        ki_value_clear(&value);
    }
    ki_value value = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_object_field(obj, "spec.none", &value, &err), KI_ERR_NOT_FOUND);
    assert_string_equal(err.message, "a has no field spec.none");
    assert_int_equal(ki_object_field(obj, "spec.list[2]", &value, &err), KI_ERR_END);
    assert_string_equal(err.message, "a has no field spec.list[2]: past the end of an array");
    assert_int_equal(ki_object_field(obj, "spec[", &value, &err), KI_ERR_PARSE);
    ki_value_clear(&value);
    ki_value_clear(NULL);
    ki_object_unref(obj);
}

TEST(a_field_of_the_wanted_type_is_read_in_one_line) {
    static const struct {
        const char *path;
        const char *text;
        int64_t integer;
        bool boolean;
    } cases[] = {
        { "spec.text", "t", 7, true },
        { "metadata.annotations['a.b/c']", "note", 7, true },
        { "spec.int", "none", -5, true },
        { "spec.big", "none", INT64_MAX, true },
        { "spec.list[0]", "none", 1, true },
        { "spec.list[-1].a", "none", 2, true },
        { "spec.no", "none", 7, false },
        { "spec.yes", "none", 7, true },
        { "spec.nil", "none", 7, true },         /* null */
        { "spec.huge", "none", 7, true },        /* more than an int64_t has */
        { "spec.real", "none", 7, true },        /* a fraction */
        { "spec.list", "none", 7, true },        /* an array */
        { "spec.list[*]", "none", 7, true },     /* an array of what all elements have */
        { "spec.object", "none", 7, true },      /* an object */
        { "spec.nothing", "none", 7, true },     /* absent */
        { "spec.list[2]", "none", 7, true },     /* past the end */
        { "spec.text[0]", "none", 7, true },     /* through a string */
        { "spec.nil.nothing", "none", 7, true }, /* through null */
        { "][", "none", 7, true },               /* no path */
        { NULL, "none", 7, true },
    };
    ki_object *obj = make(fields_json, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = cases[i].path;
        char text[8] = "before";
        assert_string_equal(ki_object_string(obj, path, "none", text, sizeof text), cases[i].text);
        assert_string_equal(text, strcmp(cases[i].text, "none") == 0 ? "before" : cases[i].text);
        assert_int_equal(ki_object_int(obj, path, 7), cases[i].integer);
        assert_int_equal(ki_object_bool(obj, path, true), cases[i].boolean);
    }
    assert_false(ki_object_bool(obj, "spec.nothing", false));
    char text[8];
    assert_null(ki_object_string(obj, "spec.nothing", NULL, text, sizeof text));
    assert_string_equal(ki_object_string(NULL, "spec.text", "none", text, sizeof text), "none");
    assert_string_equal(ki_object_string(obj, "spec.text", "none", NULL, sizeof text), "none");
    assert_int_equal(ki_object_int(NULL, "spec.int", 7), 7);
    assert_true(ki_object_bool(NULL, "spec.no", true));
    ki_object_unref(obj);
}

TEST(a_string_that_does_not_fit_is_not_cut) {
    ki_object *obj =
        make("{\"metadata\":{\"name\":\"a\"},\"v\":\"\\u00e9t\\n\",\"zero\":\"ab\\u0000cd\",\"e\":\"\"}", NULL);
    char text[5] = "old";
    assert_string_equal(ki_object_string(obj, "v", "none", text, 4), "none");
    assert_string_equal(text, "old");
    assert_ptr_equal(ki_object_string(obj, "v", "none", text, 5), text);
    assert_string_equal(text, "\xc3\xa9t\n");
    assert_string_equal(ki_object_string(obj, "zero", "none", text, 3), "ab");
    assert_string_equal(ki_object_string(obj, "e", "none", text, 1), "");
    assert_string_equal(ki_object_string(obj, "e", "none", text, 0), "none");
    ki_object_unref(obj);
}

TEST(the_end_of_an_array_is_another_answer_than_no_such_member) {
    static const struct {
        const char *path;
        ki_status status;
    } cases[] = {
        { "spec.list[1]", KI_OK },
        { "spec.list[2]", KI_ERR_END },
        { "spec.list[-3]", KI_ERR_END },
        { "spec.list[2].a", KI_ERR_END },
        { "spec.list[1].b", KI_ERR_NOT_FOUND },
        { "spec.list[0].a", KI_ERR_NOT_FOUND }, /* a number has no members */
        { "spec.none[0]", KI_ERR_NOT_FOUND },
        { "spec.object[0]", KI_ERR_NOT_FOUND }, /* no array */
        { "spec.object.k[0]", KI_ERR_END },
        { "spec.object.k[0][0]", KI_ERR_END },
    };
    ki_object *obj = make(fields_json, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_value value = KI_VALUE_INIT;
        assert_int_equal(ki_object_field(obj, cases[i].path, &value, NULL), cases[i].status);
        ki_value_clear(&value);
    }
    ki_object_unref(obj);
}

TEST(a_value_outlives_its_object) {
    ki_object *obj = make(fields_json, NULL);
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_field(obj, "spec.text", &value, NULL), KI_OK);
    ki_object_unref(obj);
    assert_string_equal(value.text, "t");
    ki_value_clear(&value);
}

/* What `json` makes of a pod of the view { spec.nodeName }. */
static ki_object *with_json(const char *json, ki_error *err) {
    static const ki_field view[] = { { "spec.nodeName", 0, sizeof(char *), KI_FIELD_TYPE_STRING, NULL }, KI_FIELD_END };
    static const char pod[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\","
        "\"labels\":{\"old\":\"1\"}},\"spec\":{\"nodeName\":\"before\"}}";
    ki_object_format *format = NULL;
    ki_object *obj = NULL, *copy = NULL;
    assert_int_equal(
        ki_object_format_new(&ki_allocator_default, &KI_OBJECT_FORMAT_OPTIONS(.view = view), &format, NULL), KI_OK);
    assert_int_equal(ki_object_from_json(format, ki_str_of(pod), "v1", "Pod", &obj, NULL), KI_OK);
    ki_object_format_unref(format);
    assert_int_equal(ki_object_with_json(NULL, "{}", 2, &copy, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_object_with_json(obj, "{}", 2, NULL, NULL), KI_ERR_INVALID);
    ki_status status = ki_object_with_json(obj, json, json ? strlen(json) : 0, &copy, err);
    assert_int_equal(status == KI_OK, copy != NULL);
    ki_object_unref(obj);
    return copy;
}

TEST(with_other_json_an_object_stays_who_it_is) {
    static const struct {
        const char *json, *body, *label, *node;
    } cases[] = {
        { "{}", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", NULL, NULL },
        { "{\"spec\":{\"nodeName\":\"x\"}}", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"nodeName\":\"x\"}}",
          NULL, "x" },
        { "{\"apiVersion\":\"v2\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"z\",\"namespace\":7,\"uid\":\"w\","
          "\"resourceVersion\":\"99\",\"managedFields\":[1],\"labels\":{\"new\":\"2\"}}}",
          "{\"apiVersion\":\"v2\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"z\",\"namespace\":7,\"uid\":\"w\","
          "\"resourceVersion\":\"99\",\"labels\":{\"new\":\"2\"}}}",
          "2", NULL },
        { " { \"metadata\" : [ ] } ", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":[]}", NULL, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *obj = with_json(cases[i].json, NULL);
        assert_non_null(obj);
        assert_string_equal(ki_object_key(obj), "n/a");
        assert_string_equal(ki_object_namespace(obj), "n");
        assert_string_equal(ki_object_name(obj), "a");
        assert_string_equal(ki_object_uid(obj), "u");
        assert_string_equal(ki_object_resource_version(obj), "7");
        assert_string_equal(ki_object_api_version(obj), "v1");
        assert_string_equal(ki_object_kind(obj), "Pod");
        assert_null(ki_object_label(obj, "old"));
        const char *const *node = ki_object_view(obj);
        const char *label = ki_object_label(obj, "new");
        assert_string_equal(label ? label : "", cases[i].label ? cases[i].label : "");
        assert_string_equal(*node ? *node : "", cases[i].node ? cases[i].node : "");
        assert_json(obj, cases[i].body);
        ki_object_unref(obj);
    }
    static const char *const refused[] = { NULL, "", "[]", "7", "{oops", "{} {}" };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_null(with_json(refused[i], &err));
        assert_int_equal(err.code, refused[i] ? KI_ERR_PARSE : KI_ERR_INVALID);
    }
}

TEST(owner_references_are_read_in_order) {
    ki_object *obj = make("{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"apiVersion\":\"apps/"
                          "v1\",\"kind\":\"ReplicaSet\",\"name\":"
                          "\"r\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":true},{\"name\":\"s\"},7]}}",
                          NULL);
    ki_owner_reference *references = NULL;
    size_t count = 0;
    assert_int_equal(ki_object_owner_references(obj, &references, &count, NULL), KI_OK);
    ki_object_unref(obj);
    assert_int_equal(count, 3);
    assert_string_equal(references[0].api_version, "apps/v1");
    assert_string_equal(references[0].kind, "ReplicaSet");
    assert_string_equal(references[0].name, "r");
    assert_string_equal(references[0].uid, "u");
    assert_true(references[0].controller && references[0].block_owner_deletion);
    assert_string_equal(references[1].name, "s");
    assert_string_equal(references[1].uid, "");
    assert_false(references[1].controller || references[1].block_owner_deletion);
    assert_string_equal(references[2].name, "");
    ki_owner_references_free(references);
}

TEST(a_format_keeps_a_limited_number_of_names) {
    ki_object_format *format = plain_format();
    ki_object *first = NULL, *second = NULL;
    for (int i = 0; i < 200; i++) {
        char kind[16], json[128];
        snprintf(kind, sizeof kind, "Kind%d", i);
        snprintf(json, sizeof json, "{\"kind\":\"%s\",\"metadata\":{\"name\":\"a\"}}", kind);
        assert_int_equal(ki_object_from_json(format, ki_str_of(json), "v1", NULL, &first, NULL), KI_OK);
        assert_int_equal(ki_object_from_json(format, ki_str_of(json), "v1", NULL, &second, NULL), KI_OK);
        assert_string_equal(ki_object_kind(first), kind);
        assert_string_equal(ki_object_kind(second), kind);
        assert_ptr_equal(ki_object_api_version(first), ki_object_api_version(second));
        if (i < 60)
            assert_ptr_equal(ki_object_kind(first), ki_object_kind(second));
        ki_object_unref(first);
        ki_object_unref(second);
    }
    ki_object_format_unref(format);
}

static void *make_and_share(void *argument) {
    ki_object_format *format = argument;
    for (int i = 0; i < 500; i++) {
        ki_object *obj = NULL;
        if (ki_object_from_json(format, KI_STR("{\"metadata\":{\"name\":\"a\"}}"), i % 2 ? "v1" : "v2", "Pod", &obj,
                                NULL))
            return argument;
        ki_object *again = ki_object_ref(obj);
        ki_object_unref(obj);
        if (strcmp(ki_object_kind(again), "Pod") != 0)
            return argument;
        ki_object_unref(again);
    }
    return NULL;
}

TEST(objects_are_made_and_freed_on_any_thread) {
    ki_object_format *format = plain_format();
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_share, format), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    ki_object_format_unref(format);
}

static ki_status use_everything(const ki_allocator *allocator, const char *json) {
    static const ki_field view[] = { { "spec.text", 0, sizeof(char *), KI_FIELD_TYPE_STRING, NULL }, KI_FIELD_END };
    ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = view);
    ki_object_format *format = NULL;
    ki_object *obj = NULL, *other = NULL;
    ki_value field = KI_VALUE_INIT, list = KI_VALUE_INIT, whole = KI_VALUE_INIT;
    char note[8];
    ki_owner_reference *references = NULL;
    size_t count = 0;
    ki_status status = ki_object_format_new(allocator, &options, &format, NULL);
    if (!status)
        status = ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL);
    if (!status)
        status = ki_object_field(obj, "spec.text", &field, NULL);
    if (!status)
        status = ki_object_field(obj, "spec.list", &list, NULL);
    if (!status)
        status = ki_object_json(obj, &whole, NULL);
    if (!status && !ki_object_string(obj, "metadata.annotations.note", NULL, note, sizeof note))
        status = KI_ERR_NO_MEMORY;
    if (!status)
        status = ki_object_owner_references(obj, &references, &count, NULL);
    if (!status)
        status = ki_object_with_json(obj, "{\"spec\":{\"text\":\"b\"}}", 21, &other, NULL);
    if (!status)
        assert_string_equal(ki_object_kind(other), "Pod");
    ki_object_unref(other);
    ki_owner_references_free(references);
    ki_value_clear(&field);
    ki_value_clear(&list);
    ki_value_clear(&whole);
    ki_object_unref(obj);
    ki_object_format_unref(format);
    return status;
}

TEST(each_allocation_may_fail) {
    static const char *const texts[] = {
        "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"note\":\"n\"},\"ownerReferences\":[{\"name\":\"o\"}]},"
        "\"spec\":{\"text\":\"t\",\"list\":[1]}}",
        "{\"metadata\": "
        "{\"name\":\"a\",\"annotations\":{\"note\":\"n\"},\"ownerReferences\":[{\"name\":\"o\"}]},\"spec\":{\"text\":"
        "\"t\",\"list\":[1]}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            ki_status status = use_everything(&memory.allocator, texts[i]);
            /* Names are copied where they cannot be kept in the format: that failure is survived. */
            assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        }
    }
}
