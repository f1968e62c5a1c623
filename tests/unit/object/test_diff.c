/* Two states of an object differ in the fields that differ, and in no other. */
#include <kinformer/diff.h>

#include "src/base/memory.h"
#include "src/object/format.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_object *make(const ki_allocator *allocator, const char *members) {
    ki_object_format *format = NULL;
    if (ki_object_format_new(allocator, NULL, &format, NULL))
        return NULL;
    char json[1024];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\"}%s%s}", *members ? "," : "", members);
    ki_object *obj = NULL;
    ki_status status = ki_object_from_json(format, ki_str_of(json), NULL, NULL, &obj, NULL);
    ki_object_format_unref(format);
    return status ? NULL : obj;
}

static void show(const ki_value *value, char *out, size_t size) {
    size_t at = strlen(out);
    if (!value)
        snprintf(out + at, size - at, "-");
    else if (value->text)
        snprintf(out + at, size - at, "%s", value->text);
    else if (value->type == KI_VALUE_INT)
        snprintf(out + at, size - at, "%lld", (long long)value->integer);
    else
        snprintf(out + at, size - at, value->type == KI_VALUE_NULL ? "null" : value->boolean ? "true" : "false");
}

typedef struct seen {
    char text[1024];
    size_t most;
} seen;

static bool note(const ki_field_difference *difference, void *user) {
    seen *s = user;
    size_t at = strlen(s->text);
    snprintf(s->text + at, sizeof s->text - at, "%s%s ", *s->text ? "; " : "", difference->path);
    show(difference->before, s->text, sizeof s->text);
    at = strlen(s->text);
    snprintf(s->text + at, sizeof s->text - at, ">");
    show(difference->after, s->text, sizeof s->text);
    return --s->most > 0;
}

TEST(each_field_that_differs_is_named_once) {
    static const struct {
        const char *before, *after, *differences;
    } cases[] = {
        { "", "", "" },
        { "\"a\":1", "\"a\":1", "" },
        { "\"a\":1,\"b\":2", "\"b\":2,\"a\":1", "" },
        { "\"a\":1", "\"a\":2", "a 1>2" },
        { "\"a\":1", "\"a\":\"1\"", "a 1>1" },
        { "\"a\":{\"b\":{\"c\":true}}", "\"a\":{\"b\":{\"c\":false}}", "a.b.c true>false" },
        { "", "\"a\":{\"b\":1,\"c\":2}", "a.b ->1; a.c ->2" },
        { "\"a\":{\"b\":1,\"c\":2}", "", "a {\"b\":1,\"c\":2}>-" },
        { "\"a\":null", "\"a\":{}", "a null>{}" },
        { "", "\"a\":{}", "a ->{}" },
        { "\"a\":{\"x.y/z\":\"1\"}", "\"a\":{\"x.y/z\":\"2\"}", "a['x.y/z'] 1>2" },
        { "\"l\":[1,2,3]", "\"l\":[1,4,3]", "l[1] 2>4" },
        { "\"l\":[1]", "\"l\":[1,2]", "l[1] ->2" },
        { "\"l\":[\"a\",\"b\"]", "\"l\":[\"b\",\"c\"]", "l[c] ->c; l[a] a>-" },
        { "\"l\":[\"a\",\"b\"]", "\"l\":[\"b\",\"a\"]", "" },
        { "\"c\":[{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":\"B\",\"status\":\"1\"}]",
          "\"c\":[{\"type\":\"B\",\"status\":\"1\"},{\"type\":\"Ready\",\"status\":\"True\"}]",
          "c[Ready].status False>True" },
        { "\"c\":[{\"name\":\"x\",\"e\":[]}]", "\"c\":[{\"name\":\"y\"},{\"name\":\"x\",\"e\":[1]}]",
          "c[x].e[0] ->1; c[y] ->{\"name\":\"y\"}" },
        { "\"c\":[{\"name\":\"x\",\"v\":1},{\"name\":\"x\",\"v\":2}]",
          "\"c\":[{\"name\":\"x\",\"v\":1},{\"name\":\"x\",\"v\":3}]", "c[x].v 2>3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *before = make(&ki_allocator_default, cases[i].before);
        ki_object *after = make(&ki_allocator_default, cases[i].after);
        seen s = { "", SIZE_MAX };
        assert_int_equal(ki_object_diff(before, after, note, &s, NULL), KI_OK);
        assert_string_equal(s.text, cases[i].differences);
        ki_object_unref(before);
        ki_object_unref(after);
    }
}

TEST(a_visit_ends_where_it_wants) {
    ki_object *before = make(&ki_allocator_default, "\"a\":1,\"b\":1,\"l\":[1,2]");
    ki_object *after = make(&ki_allocator_default, "\"a\":2,\"b\":2,\"l\":[]");
    for (size_t most = 1; most <= 4; most++) {
        seen s = { "", most };
        assert_int_equal(ki_object_diff(before, after, note, &s, NULL), KI_OK);
        assert_int_equal(s.most, 0);
    }
    ki_object_unref(before);
    ki_object_unref(after);
}

TEST(deep_values_are_compared_as_a_whole) {
    enum {
        DEPTH = 1200
    };
    char *members = malloc(8 + 2 * DEPTH);
    assert_non_null(members);
    ki_object *states[2];
    for (int i = 0; i < 2; i++) {
        size_t size = (size_t)sprintf(members, "{\"metadata\":{\"name\":\"a\"},\"d\":");
        char *json = malloc(size + 2 * DEPTH + 4);
        assert_non_null(json);
        memcpy(json, members, size);
        memset(json + size, '[', DEPTH);
        json[size + DEPTH] = i ? '1' : '2';
        memset(json + size + DEPTH + 1, ']', DEPTH);
        memcpy(json + size + 2 * DEPTH + 1, "}", 2);
        ki_object_format *format = NULL;
        assert_int_equal(ki_object_format_new(&ki_allocator_default, NULL, &format, NULL), KI_OK);
        assert_int_equal(ki_object_from_json(format, ki_str_of(json), NULL, NULL, &states[i], NULL), KI_OK);
        ki_object_format_unref(format);
        free(json);
    }
    seen s = { "", SIZE_MAX };
    assert_int_equal(ki_object_diff(states[0], states[1], note, &s, NULL), KI_OK);
    assert_int_equal(SIZE_MAX - s.most, 1);
    ki_object_unref(states[0]);
    ki_object_unref(states[1]);
    free(members);
}

TEST(lack_of_memory_is_an_error) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_object *before = make(&memory.allocator, "\"a\":{\"b\":1},\"l\":[1,2],\"x\":[{\"name\":\"y\"}]");
        ki_object *after = make(&memory.allocator, "\"a\":{\"b\":2},\"l\":[1,{}],\"x\":[{\"name\":\"z\"}]");
        seen s = { "", SIZE_MAX };
        ki_status status = before && after ? ki_object_diff(before, after, note, &s, NULL) : KI_ERR_NO_MEMORY;
        if (status) /* an interned name can be missing */
            assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        else
            assert_string_equal(s.text, "a.b 1>2; l[1] 2>{}; x[z] ->{\"name\":\"z\"}; x[y] {\"name\":\"y\"}>-");
        ki_object_unref(before);
        ki_object_unref(after);
    }
}
