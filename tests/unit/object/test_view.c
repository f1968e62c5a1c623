/* A view's members are what the JSON says, or zero; a view that cannot be is refused. */
#include "src/base/memory.h"
#include "src/object/format.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct all_types {
    const char *text;
    bool flag;
    double real;
    int32_t small;
    uint32_t natural;
    int64_t large;
    uint64_t larger;
    const char *element;
    long machine;
};

static const ki_field all_fields[] = {
    KI_FIELD(struct all_types, text, "text"),       KI_FIELD(struct all_types, flag, "flag"),
    KI_FIELD(struct all_types, real, "real"),       KI_FIELD(struct all_types, small, "small"),
    KI_FIELD(struct all_types, natural, "natural"), KI_FIELD(struct all_types, large, "large"),
    KI_FIELD(struct all_types, larger, "larger"),   KI_FIELD(struct all_types, element, "list[-1].name"),
    KI_FIELD(struct all_types, machine, "machine"), KI_FIELD_END,
};

static ki_object *make(const ki_field *view, const char *members) {
    ki_object_format_options options = { .view = view };
    ki_object_format *format = NULL;
    assert_int_equal(ki_object_format_new(&ki_allocator_default, &options, &format, NULL), KI_OK);
    char json[1024];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\"}%s}", members);
    ki_object *obj = NULL;
    assert_int_equal(ki_object_from_json(format, ki_str_of(json), NULL, NULL, &obj, NULL), KI_OK);
    ki_object_format_unref(format);
    return obj;
}

TEST(each_type_is_filled) {
    ki_object *obj =
        make(all_fields, ",\"text\":\"t\",\"flag\":true,\"real\":2.5,\"small\":-7,\"natural\":4294967295,\"large\":"
                         "-9223372036854775808,\"larger\":18446744073709551615,\"list\":[{\"name\":\"x\"},{\"name\":"
                         "\"last\"}],\"machine\":12");
    const struct all_types *view = ki_object_view(obj);
    assert_int_equal((uintptr_t)view % 16, 0);
    assert_string_equal(view->text, "t");
    assert_true(view->flag);
    assert_true(view->real > 2.49 && view->real < 2.51);
    assert_int_equal(view->small, -7);
    assert_int_equal(view->natural, UINT32_MAX);
    assert_true(view->large == INT64_MIN);
    assert_true(view->larger == UINT64_MAX);
    assert_string_equal(view->element, "last");
    assert_int_equal(view->machine, 12);
    ki_object_unref(obj);
}

TEST(what_is_absent_or_of_another_type_or_range_is_zero) {
    static const char *const members[] = {
        "",
        ",\"text\":null,\"flag\":null,\"real\":null,\"small\":null,\"natural\":null,\"large\":null,\"larger\":null,"
        "\"list\":null",
        ",\"text\":1,\"flag\":1,\"real\":\"1\",\"small\":\"1\",\"natural\":\"1\",\"large\":true,\"larger\":[],\"list\":"
        "{},\"machine\":{}",
        ",\"small\":2147483648,\"natural\":4294967296,\"large\":9223372036854775808,\"larger\":-1,\"machine\":1.5",
        ",\"small\":-2147483649,\"natural\":-1,\"large\":1e30,\"larger\":1e30,\"machine\":99999999999999999999",
        ",\"list\":[]",
    };
    static const struct all_types zero;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        ki_object *obj = make(all_fields, members[i]);
        assert_memory_equal(ki_object_view(obj), &zero, sizeof zero);
        ki_object_unref(obj);
    }
}

TEST(numbers_at_the_ends_of_their_range_fit) {
    ki_object *obj = make(all_fields, ",\"small\":2147483647,\"natural\":0,\"large\":9223372036854775807,\"real\":3");
    const struct all_types *view = ki_object_view(obj);
    assert_int_equal(view->small, INT32_MAX);
    assert_true(view->large == INT64_MAX);
    assert_true(view->real > 2.9 && view->real < 3.1);
    ki_object_unref(obj);
    obj = make(all_fields, ",\"small\":-2147483648");
    assert_int_equal(((const struct all_types *)ki_object_view(obj))->small, INT32_MIN);
    ki_object_unref(obj);
}

TEST(a_string_with_a_zero_is_cut) {
    ki_object *obj = make(all_fields, ",\"text\":\"ab\\u0000cd\"");
    assert_string_equal(((const struct all_types *)ki_object_view(obj))->text, "ab");
    ki_object_unref(obj);
}

TEST(a_view_without_fields_is_none) {
    static const ki_field nothing[] = { KI_FIELD_END };
    ki_object *obj = make(nothing, "");
    assert_null(ki_object_view(obj));
    ki_object_unref(obj);
}

TEST(a_view_that_cannot_be_is_rejected) {
    static const struct {
        ki_field fields[2];
        ki_status status;
    } cases[] = {
        { { { "a[", 0, 8, KI_FIELD_TYPE_INT64 } }, KI_ERR_PARSE },
        { { { "", 0, 8, KI_FIELD_TYPE_INT64 } }, KI_ERR_PARSE },
        { { { "a", 0, KI_VIEW_MAX_SIZE + 8, KI_FIELD_TYPE_INT64 } }, KI_ERR_LIMIT },
        { { { "a", 8, 8, KI_FIELD_TYPE_INT64 } }, KI_ERR_INVALID },
        { { { "a", SIZE_MAX - 3, 16, KI_FIELD_TYPE_INT64 } }, KI_ERR_INVALID },
        { { { "a", 2, 16, KI_FIELD_TYPE_INT32 } }, KI_ERR_INVALID },
        { { { "a", 0, 0, KI_FIELD_TYPE_BOOL } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_END } }, KI_ERR_INVALID },
        { { { "a", 0, 16, (ki_field_type)99 } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_INT64 }, { "b", 0, 24, KI_FIELD_TYPE_INT64 } }, KI_ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_field fields[3] = { cases[i].fields[0], cases[i].fields[1], KI_FIELD_END };
        ki_object_format_options options = { .view = fields };
        ki_object_format *format = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_object_format_new(&ki_allocator_default, &options, &format, &err), cases[i].status);
        assert_null(format);
        assert_string_not_equal(err.message, "");
    }
}

TEST(the_number_of_fields_is_limited) {
    for (size_t count = KI_VIEW_MAX_FIELDS; count <= KI_VIEW_MAX_FIELDS + 1; count++) {
        ki_field fields[KI_VIEW_MAX_FIELDS + 2];
        for (size_t i = 0; i < count; i++)
            fields[i] = (ki_field){ "metadata.name", 0, 16, KI_FIELD_TYPE_STRING };
        fields[count] = (ki_field)KI_FIELD_END;
        ki_object_format_options options = { .view = fields };
        ki_object_format *format = NULL;
        ki_status status = ki_object_format_new(&ki_allocator_default, &options, &format, NULL);
        assert_int_equal(status, count > KI_VIEW_MAX_FIELDS ? KI_ERR_LIMIT : KI_OK);
        ki_object_format_unref(format);
    }
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_object_format_options options = { .view = all_fields };
        ki_object_format *format = NULL;
        ki_status status = ki_object_format_new(&memory.allocator, &options, &format, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_object_format_unref(format);
    }
}
