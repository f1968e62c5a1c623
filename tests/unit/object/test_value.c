/* A walk over a value gives each member as the JSON has it, and ends; texts of amounts and times are read as Go reads
 * them. */
#include "src/base/memory.h"
#include "src/object/format.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_object *make(const ki_allocator *allocator, const char *value) {
    ki_object_format *format = NULL;
    if (ki_object_format_new(allocator, NULL, &format, NULL))
        return NULL;
    char json[1024];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\"},\"v\":%s}", value);
    ki_object *obj = NULL;
    ki_status status = ki_object_from_json(format, ki_str_of(json), NULL, NULL, &obj, NULL);
    ki_object_format_unref(format);
    return status ? NULL : obj;
}

/* Writes a value and all below it, each type with its own sign. */
static void show(ki_value *value, char *out, size_t size) {
    size_t at = strlen(out);
    const char *name;
    ki_value member;
    switch (value->type) {
    case KI_VALUE_NULL:
        snprintf(out + at, size - at, "null");
        break;
    case KI_VALUE_BOOL:
        snprintf(out + at, size - at, "%s", value->boolean ? "true" : "false");
        break;
    case KI_VALUE_INT:
        snprintf(out + at, size - at, "i%lld", (long long)value->integer);
        break;
    case KI_VALUE_DOUBLE:
        snprintf(out + at, size - at, "d%g", value->number);
        break;
    case KI_VALUE_STRING:
        snprintf(out + at, size - at, "<%s:%zu>", value->text, value->text_size);
        break;
    case KI_VALUE_ARRAY:
    case KI_VALUE_OBJECT:
        snprintf(out + at, size - at, value->type == KI_VALUE_ARRAY ? "[" : "{");
        while (ki_value_next(value, &name, &member)) {
            at = strlen(out);
            if (name)
                snprintf(out + at, size - at, "%s=", name);
            show(&member, out, size);
            at = strlen(out);
            snprintf(out + at, size - at, " ");
        }
        assert_false(ki_value_next(value, &name, &member));
        at = strlen(out);
        snprintf(out + at, size - at, value->type == KI_VALUE_ARRAY ? "]" : "}");
        break;
    }
}

TEST(a_walk_gives_each_member) {
    static const char *const cases[][2] = {
        { "[]", "[]" },
        { "{}", "{}" },
        { "[[]]", "[[] ]" },
        { "[1]", "[i1 ]" },
        { "[1,-2,3.5,1e3,true,false,null]", "[i1 i-2 d3.5 d1000 true false null ]" },
        { "[9223372036854775807,9223372036854775808,-9223372036854775808]",
          "[i9223372036854775807 d9.22337e+18 i-9223372036854775808 ]" },
        { "{\"a\":1,\"b\":\"x\",\"c\":{\"d\":[1,{\"e\":\"y\"}]},\"f\":[]}",
          "{a=i1 b=<x:1> c={d=[i1 {e=<y:1> } ] } f=[] }" },
        { "[\"\",\"a,b]}\",\"q\\\"q\",\"\\\\\",\"\\n\\t\"]", "[<:0> <a,b]}:5> <q\"q:3> <\\:1> <\n\t:2> ]" },
        { "[\"\\u00e9\",\"\\u20ac\",\"\\ud83d\\ude00\",\"\\u0041\"]", "[<é:2> <€:3> <😀:4> <A:1> ]" },
        { "{\"\\u0041\\\"\":\"\\u0000x\"}", "{A\"=<:2> }" },
        { "{\"a\":[[1,2],[3]],\"b\":[{},{}]}", "{a=[[i1 i2 ] [i3 ] ] b=[{} {} ] }" },
        { "3", "i3" },
        { "\"[1]\"", "<[1]:3>" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *obj = make(&ki_allocator_default, cases[i][0]);
        assert_non_null(obj);
        ki_value value = KI_VALUE_INIT;
        assert_int_equal(ki_object_field(obj, "v", &value, NULL), KI_OK);
        char text[1024] = "";
        show(&value, text, sizeof text);
        assert_string_equal(text, cases[i][1]);
        ki_value_clear(&value);
        ki_object_unref(obj);
    }
}

TEST(a_walk_of_nothing_ends_at_once) {
    ki_value value = KI_VALUE_INIT, member;
    assert_false(ki_value_next(&value, NULL, &member));
    assert_false(ki_value_next(NULL, NULL, &member));
    value.type = KI_VALUE_ARRAY;
    assert_false(ki_value_next(&value, NULL, &member));
    assert_false(ki_value_next(&value, NULL, NULL));
}

TEST(a_path_with_all_gives_an_array_of_what_is_there) {
    static const struct {
        const char *value, *path, *json;
    } cases[] = {
        { "[{\"i\":\"a\"},{},{\"i\":\"c\"}]", "v[*].i", "[\"a\",\"c\"]" },
        { "[{\"i\":[1,2]},{\"i\":[3]}]", "v[*].i", "[[1,2],[3]]" },
        { "[{\"i\":[1,2]},{\"i\":[3]}]", "v[*].i[*]", "[1,2,3]" },
        { "[]", "v[*]", "[]" },
        { "{}", "v[*]", "[]" },
        { "1", "none[*]", "[]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *obj = make(&ki_allocator_default, cases[i].value);
        ki_value value = KI_VALUE_INIT;
        assert_int_equal(ki_object_field(obj, cases[i].path, &value, NULL), KI_OK);
        assert_int_equal(value.type, KI_VALUE_ARRAY);
        assert_string_equal(value.text, cases[i].json);
        ki_value_clear(&value);
        ki_object_unref(obj);
    }
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_object *obj = make(&memory.allocator, cases[0].value);
        ki_value value = KI_VALUE_INIT;
        ki_status status = obj ? ki_object_field(obj, "v[*].i", &value, NULL) : KI_ERR_NO_MEMORY;
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_value_clear(&value);
        ki_object_unref(obj);
    }
}

TEST(an_entry_of_a_config_map_or_secret_is_decoded) {
    static const struct {
        const char *json, *name;
        ki_status status;
        const char *text;
        size_t size;
    } cases[] = {
        { "\"kind\":\"Secret\",\"data\":{\"a\":\"YWI=\",\"z\":\"AAEC\",\"bad\":\"Y\"}", "a", KI_OK, "ab", 2 },
        { "\"kind\":\"Secret\",\"data\":{\"z\":\"AAEC\"}", "z", KI_OK, "\0\1\2", 3 },
        { "\"kind\":\"Secret\",\"data\":{\"e\":\"\"}", "e", KI_OK, "", 0 },
        { "\"kind\":\"Secret\",\"data\":{\"bad\":\"Y\"}", "bad", KI_ERR_PARSE, NULL, 0 },
        { "\"kind\":\"Secret\",\"data\":{}", "a", KI_ERR_NOT_FOUND, NULL, 0 },
        { "\"kind\":\"Secret\"", "a", KI_ERR_NOT_FOUND, NULL, 0 },
        { "\"kind\":\"Secret\",\"data\":{\"a\":null}", "a", KI_ERR_NOT_FOUND, NULL, 0 },
        { "\"kind\":\"ConfigMap\",\"data\":{\"a\":\"x\\n\\u0041\"}", "a", KI_OK, "x\nA", 3 },
        { "\"kind\":\"ConfigMap\",\"data\":{\"a\":\"YWI=\"}", "a", KI_OK, "YWI=", 4 },
        { "\"kind\":\"ConfigMap\",\"data\":{\"a\":\"x\"},\"binaryData\":{\"b\":\"AAEC\"}", "b", KI_OK, "\0\1\2", 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[512];
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\"},%s}", cases[i].json);
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            ki_object_format *format = NULL;
            ki_object *obj = NULL;
            ki_value value = KI_VALUE_INIT;
            ki_status status = ki_object_format_new(&memory.allocator, NULL, &format, NULL);
            if (!status)
                status = ki_object_from_json(format, ki_str_of(json), NULL, NULL, &obj, NULL);
            if (!status)
                status = ki_object_data(obj, cases[i].name, &value, NULL);
            if (status != KI_ERR_NO_MEMORY || !scarce_memory_failed(&memory)) /* an interned name can be missing */
                assert_int_equal(status, cases[i].status);
            if (!status) {
                assert_int_equal(value.text_size, cases[i].size);
                assert_memory_equal(value.text, cases[i].text, cases[i].size + 1);
            }
            ki_value_clear(&value);
            ki_object_unref(obj);
            ki_object_format_unref(format);
        }
    }
}

TEST(a_key_is_joined_and_split) {
    char key[8], namespace_name[3];
    assert_true(ki_key_join("ns", "name", key, sizeof key));
    assert_string_equal(key, "ns/name");
    assert_false(ki_key_join("ns", "names", key, sizeof key));
    assert_true(ki_key_join("", "n", key, sizeof key) && ki_key_join(NULL, "n", key, sizeof key));
    assert_string_equal(key, "n");
    assert_string_equal(ki_key_split("ns/name", namespace_name, sizeof namespace_name), "name");
    assert_string_equal(namespace_name, "ns");
    assert_string_equal(ki_key_split("name", namespace_name, sizeof namespace_name), "name");
    assert_string_equal(namespace_name, "");
    assert_string_equal(ki_key_split("long/name", NULL, 0), "name");
    static const char *const wrong[] = { "", "/", "a/", "/a", "a/b/c", "long/name" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(ki_key_split(wrong[i], namespace_name, sizeof namespace_name));
    assert_null(ki_key_split(NULL, namespace_name, sizeof namespace_name));
}

TEST(a_quantity_is_read_in_units_and_thousandths) {
    static const struct {
        const char *text;
        ki_status status; /* of both */
        int64_t units, milli;
    } cases[] = {
        { "500m", KI_OK, 1, 500 },
        { "-500m", KI_OK, -1, -500 },
        { "2Gi", KI_OK, INT64_C(2) << 30, (INT64_C(2) << 30) * 1000 },
        { "1.5", KI_OK, 2, 1500 },
        { "1u", KI_OK, 1, 1 },
        { "0", KI_OK, 0, 0 },
        { "9223372036854775807", KI_ERR_LIMIT, INT64_MAX, 0 },
        { "9223372036854775", KI_OK, INT64_C(9223372036854775), INT64_C(9223372036854775000) },
        { "16Ei", KI_ERR_LIMIT, INT64_MAX, 0 },
        { "much", KI_ERR_PARSE, 0, 0 },
        { "", KI_ERR_PARSE, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t units = 0, milli = 0;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_quantity_read(cases[i].text, &units, &milli, &err), cases[i].status);
        assert_int_equal(ki_quantity_read(cases[i].text, &units, NULL, NULL),
                         cases[i].status == KI_ERR_LIMIT ? KI_OK : cases[i].status);
        assert_true(units == cases[i].units && milli == cases[i].milli);
        if (cases[i].status)
            assert_non_null(strstr(ki_error_message(&err), cases[i].text));
    }
    assert_int_equal(ki_quantity_read(NULL, NULL, NULL, NULL), KI_ERR_INVALID);
}

TEST(a_time_is_read_in_milliseconds) {
    int64_t unix_ms = 0;
    assert_int_equal(ki_time_read("2026-01-02T03:04:05.678901Z", &unix_ms, NULL), KI_OK);
    assert_int_equal(unix_ms, 1767323045678);
    assert_int_equal(ki_time_read("2026-01-02", &unix_ms, NULL), KI_ERR_PARSE);
    assert_int_equal(ki_time_read(NULL, &unix_ms, NULL), KI_ERR_INVALID);
}
