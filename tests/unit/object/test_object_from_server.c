/* An object of a list or watch is the one that parsing all of its text gives, although dropped managedFields are not
 * parsed. */
#include "src/base/json_scan.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/object.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <kinformer/view.h>

#include <stdio.h>
#include <stdlib.h>

enum {
    TEXT_MAX = 1024,
    CASES = 50000 /* KI_TEST_CASES sets another number */
};

#define MANAGED "\"managedFields\":["

typedef struct pod_view {
    int64_t generation;
    ki_string_list managers;
} pod_view;

static const ki_field generation[] = { KI_FIELD(pod_view, generation, "metadata.generation"), KI_FIELD_END };

static ki_object_format *new_format(ki_keep keep, const ki_field *view) {
    ki_object_format *format = NULL;
    ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = view);
    assert_int_equal(ki_object_format_new(&ki_allocator_default, &options, &format, NULL), KI_OK);
    ki_object_format_set_keep(format, keep);
    return format;
}

static void assert_same(const ki_object *a, const ki_object *b) {
    ki_value left = KI_VALUE_INIT, right = KI_VALUE_INIT;
    assert_string_equal(ki_object_key(a), ki_object_key(b));
    assert_string_equal(ki_object_api_version(a), ki_object_api_version(b));
    assert_string_equal(ki_object_kind(a), ki_object_kind(b));
    assert_string_equal(ki_object_uid(a), ki_object_uid(b));
    assert_int_equal(ki_object_memory(a), ki_object_memory(b));
    assert_int_equal(ki_object_label_count(a), ki_object_label_count(b));
    assert_true(ki_object_is_same_state(a, b));
    if (ki_object_view(a))
        assert_int_equal(((const pod_view *)ki_object_view(a))->generation,
                         ((const pod_view *)ki_object_view(b))->generation);
    if (!ki_object_json(a, &left, NULL)) {
        assert_int_equal(ki_object_json(b, &right, NULL), KI_OK);
        assert_string_equal(left.text, right.text);
    }
    ki_value_clear(&left);
    ki_value_clear(&right);
}

/* Removes what is between the brackets of the first managedFields. Returns false if there are none. */
static bool empty_managed_fields(ki_str text, char *out, size_t *ret_size) {
    ki_json_walk walk = KI_JSON_WALK_INIT;
    for (size_t at = 0; at + strlen(MANAGED) <= text.size; at++) {
        if (memcmp(text.data + at, MANAGED, strlen(MANAGED)) != 0)
            continue;
        size_t array = at + strlen(MANAGED) - 1;
        size_t size = ki_json_find_end(&walk, (ki_str){ text.data + array, text.size - array });
        if (!size)
            return false;
        memcpy(out, text.data, array + 1);
        memcpy(out + array + 1, text.data + array + size - 1, text.size - array - size + 1);
        *ret_size = text.size - size + 2;
        return true;
    }
    return false;
}

/* Compares the object of the text with the one that parsing all of it gives. Returns true if there is one. */
static bool check(ki_object_format *format, ki_str text) {
    static ki_buffer kept; /* for half of the texts: with memory of its exact size the sanitizer sees more */
    ki_error err = KI_ERROR_INIT, plain_err = KI_ERROR_INIT;
    ki_object *obj = NULL, *plain = NULL;
    if (!kept.allocator)
        ki_buffer_init(&kept, &ki_allocator_default, 0);
    ki_buffer *scratch = text.size % 2 ? &kept : NULL;
    ki_status status = ki_object_from_server(format, text, "v1", "Pod", scratch, &obj, &err);
    ki_status plain_status = ki_object_from_json(format, text, "v1", "Pod", &plain, &plain_err);
    if (!status && plain_status) {
        /* The mistake is between the brackets of managedFields, and nothing else depends on it. */
        char *emptied = malloc(text.size);
        size_t size = 0;
        assert_non_null(emptied);
        assert_true(empty_managed_fields(text, emptied, &size));
        assert_int_equal(ki_object_from_json(format, (ki_str){ emptied, size }, "v1", "Pod", &plain, &plain_err),
                         KI_OK);
        free(emptied);
    } else {
        assert_int_equal(status, plain_status);
        assert_string_equal(err.message, plain_err.message);
    }
    if (!status)
        assert_same(obj, plain);
    ki_object_unref(obj);
    ki_object_unref(plain);
    return !status;
}

static const char *const texts[] = {
    /* as built-in types are written */
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
    "\"resourceVersion\":\"1\",\"generation\":3,\"labels\":{\"a\":\"b\"}," MANAGED
    "{\"manager\":\"k\",\"fieldsV1\":{\"f:a\":{\"k:{\\\"x\\\":\\\"]\\\"}\":{\".\":{}}}}},{}]},\"spec\":{\"a\":[1]}}",
    /* as custom resources are */
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"F\":\"\\\"managedFields\\\":[\"}," MANAGED
    "{\"manager\":\"}],\"}],\"name\":\"a\",\"resourceVersion\":\"1\",\"generation\":5},\"spec\":{}}",
    /* elsewhere: before the metadata, behind it, in other managedFields */
    "{\"a\":{" MANAGED "1,2]},\"metadata\":{\"name\":\"a\"," MANAGED "3]}}",
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{" MANAGED "{\"a\":1}]}}",
    "{\"metadata\":{\"name\":\"a\",\"x\\" MANAGED "1]}}",
    "{\"metadata\":{\"name\":\"a\",\"x\\" MANAGED "1]," MANAGED "2]}}",
    "{\"metadata\":{" MANAGED "1],\"name\":\"a\",\"x\\" MANAGED "2]}}",
    "{\"metadata\":{\"managedFields\":{" MANAGED "1]},\"name\":\"a\"}}",
    "{\"metadata\":{" MANAGED "{" MANAGED "1]}],\"name\":\"a\"," MANAGED "2]}}",
    "{\"metadata\":{\"x\\\"managedFields\":[1],\"name\":\"a\"}}",
    "{\"metadata\":{\"name\":\"a\",\"generation\":1," MANAGED "]}}",
    "{\"metadata\":{\"name\":\"a\"," MANAGED "{ \"a\": 1 } ]}}",
    "{\"a\":{" MANAGED "1, 2]},\"metadata\":{\"name\":\"a\"," MANAGED "3]}}",
    "{\"metadata\" : {\"name\":\"a\"," MANAGED "1]}}",
};

TEST(managed_fields_are_dropped_wherever_they_are) {
    for (int keep = KI_KEEP_OBJECT; keep <= KI_KEEP_KEYS; keep++) {
        ki_object_format *format = new_format((ki_keep)keep, generation);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            assert_true(check(format, ki_str_of(texts[i])));
        ki_object_format_unref(format);
    }
    size_t size;
    char *json = fixture_read(KI_TEST_DATA_DIR "/pod.json", &size);
    ki_object_format *format = new_format(KI_KEEP_OBJECT, NULL);
    assert_true(check(format, (ki_str){ json, size }));
    ki_object_format_unref(format);
    free(json);
}

TEST(a_mistake_in_dropped_managed_fields_is_not_noticed_and_does_no_harm) {
    static const struct {
        const char *inside;
        bool is_object;
    } cases[] = {
        { "nonsense", true },  { "{\"a\":}", true },    { "\"\x01\"", true }, { "{\"a\":[1}]", true },
        { "[", false },        { "\"", false },         { "]", false },       { "\"\\\"", false },
        { "{\"a\":1", false }, { "1],\"x\":[2", true }, { "}", false },
    };
    ki_object_format *format = new_format(KI_KEEP_OBJECT, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TEXT_MAX];
        int size =
            snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"a\"," MANAGED "%s]},\"spec\":{}}", cases[i].inside);
        if (check(format, (ki_str){ text, (size_t)size }) != cases[i].is_object)
            fail_msg("%s", text);
    }
    ki_object_format_unref(format);
}

TEST(an_object_cut_in_its_managed_fields_does_not_get_the_content_of_the_next_one) {
    static const char text[] = "{\"metadata\":{\"name\":\"a\"," MANAGED "{\"manager\":\"k\",\"fieldsV1\":{\"f:sp"
                               "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"," MANAGED
                               "{\"manager\":\"k\"}]},\"spec\":{\"of\":\"b\"}}";
    ki_object_format *format = new_format(KI_KEEP_OBJECT, NULL);
    assert_false(check(format, ki_str_of(text)));
    ki_object_format_unref(format);
}

TEST(a_view_reads_managed_fields_that_are_dropped) {
    static const ki_field managers[] = { KI_FIELD(pod_view, managers, "metadata.managedFields[*].manager"),
                                         KI_FIELD_END };
    ki_object_format *format = new_format(KI_KEEP_OBJECT, managers);
    ki_object *obj = NULL;
    assert_int_equal(ki_object_from_server(format, ki_str_of(texts[0]), "v1", "Pod", NULL, &obj, NULL), KI_OK);
    const pod_view *view = ki_object_view(obj);
    assert_int_equal(view->managers.count, 1);
    assert_string_equal(view->managers.items[0], "k");
    ki_object_unref(obj);
    ki_object_format_unref(format);
}

/* --- what a view reads of an object whose other parts are not parsed ---------------------------------------------- */

typedef struct wide_view {
    const char *label, *image, *first, *missing, *quoted;
    int64_t number;
    bool has_ports;
    ki_string_map data;
    ki_string_list names;
} wide_view;

static const ki_field wide[] = {
    KI_FIELD(wide_view, label, "metadata.labels.app"),
    KI_FIELD(wide_view, image, "spec.containers[1].image"),
    KI_FIELD(wide_view, first, "list[0].name"),
    KI_FIELD(wide_view, missing, "spec.other.image"),
    KI_FIELD(wide_view, quoted, "['x\"y'].z"),
    KI_FIELD(wide_view, number, "status.deep.number"),
    KI_FIELD_PRESENT(wide_view, has_ports, "status.ports"),
    KI_FIELD(wide_view, data, "data"),
    KI_FIELD(wide_view, names, "status.conditions[*].type"),
    KI_FIELD_END,
};

#define LONG_MEMBER \
    "\"long\":\"0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnop" \
    "qrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz\""

static void assert_same_text(const char *a, const char *b) {
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_view(const wide_view *a, const wide_view *b) {
    assert_same_text(a->label, b->label);
    assert_same_text(a->image, b->image);
    assert_same_text(a->first, b->first);
    assert_same_text(a->missing, b->missing);
    assert_same_text(a->quoted, b->quoted);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->has_ports, b->has_ports);
    assert_int_equal(a->data.count, b->data.count);
    const char *of_a = NULL, *of_b = NULL;
    for (size_t i = 0; ki_string_map_at(&a->data, i, NULL, &of_a); i++) {
        assert_true(ki_string_map_at(&b->data, i, NULL, &of_b));
        assert_same_text(of_a, of_b);
    }
    assert_int_equal(a->names.count, b->names.count);
    for (size_t i = 0; i < a->names.count; i++)
        assert_same_text(a->names.items[i], b->names.items[i]);
}

TEST(a_view_is_the_same_whether_or_not_the_rest_is_parsed) {
    static const char *const bodies[] = {
        "\"spec\":{\"a\":{" LONG_MEMBER "},\"containers\":[{" LONG_MEMBER "},{\"image\":\"two\"," LONG_MEMBER "}]}",
        "\"spec\":{\"cont\\u0061iners\":[{" LONG_MEMBER "},{\"image\":\"two\"," LONG_MEMBER "}]}",
        "\"sp\\u0065c\":{\"containers\":[{" LONG_MEMBER "},{\"image\":\"two\"," LONG_MEMBER "}]}",
        "\"spec\":{\"containers\":[{},{\"image\":\"one\"," LONG_MEMBER "}],\"containers\":[{" LONG_MEMBER "}]}",
        "\"spec\":{\"x\\\"containers\":{" LONG_MEMBER "},\"containers\":[0,{\"image\":\"one\"," LONG_MEMBER "}]}",
        "\"x\\\"data\":{" LONG_MEMBER "},\"x\\\"y\":{\"z\":\"deep\"," LONG_MEMBER "}",
        "\"other\":{\"containers\":[{},{\"image\":\"one\"," LONG_MEMBER "}]},\"list\":[{\"name\":\"n\"," LONG_MEMBER
        "}]",
        "\"data\":{\"k\":\"v\"," LONG_MEMBER "},\"status\":{\"ports\":[{" LONG_MEMBER "}],\"x\":[{" LONG_MEMBER "}]}",
        "\"status\":{\"conditions\":[{\"type\":\"A\"," LONG_MEMBER "},{\"type\":\"B\"," LONG_MEMBER
        "}],\"deep\":{\"number\":7," LONG_MEMBER "}}",
        "\"status\":[{\"conditions\":[{\"type\":\"A\"," LONG_MEMBER "}]}],\"spec\":{\"other\":["
        "{" LONG_MEMBER "}]}",
    };
    ki_object_format *format = new_format(KI_KEEP_OBJECT, wide), *view_only = new_format(KI_KEEP_VIEW, wide);
    ki_object_format *const formats[] = { format, view_only };
    for (size_t i = 0; i < 2 * sizeof bodies / sizeof *bodies; i++) {
        char text[4 * TEXT_MAX];
        ki_object *obj = NULL, *plain = NULL;
        snprintf(text, sizeof text,
                 "{\"metadata\":{\"annotations\":{" LONG_MEMBER "},\"labels\":{\"app\":\"web\"," LONG_MEMBER
                 "},\"name\":\"n\",\"managedFields\":[{" LONG_MEMBER "}],\"finalizers\":[{" LONG_MEMBER "}]},%s}",
                 bodies[i / 2]);
        assert_int_equal(ki_object_from_server(formats[i % 2], ki_str_of(text), "v1", "Pod", NULL, &obj, NULL), KI_OK);
        assert_int_equal(ki_object_from_json(formats[i % 2], ki_str_of(text), "v1", "Pod", &plain, NULL), KI_OK);
        assert_int_equal(ki_object_memory(obj), ki_object_memory(plain));
        assert_true(ki_object_is_same_state(obj, plain));
        assert_same_view(ki_object_view(obj), ki_object_view(plain));
        ki_object_unref(obj);
        ki_object_unref(plain);
    }
    ki_object_format_unref(format);
    ki_object_format_unref(view_only);
}

TEST(an_object_with_more_members_than_an_outline_has_is_the_same) {
    ki_object_format *format = new_format(KI_KEEP_OBJECT, generation);
    enum {
        TEXT_SIZE = 8 * TEXT_MAX
    };
    for (size_t members = 1; members < 200; members++) {
        char text[TEXT_SIZE];
        int size = snprintf(text, sizeof text, "{\"spec\":{" LONG_MEMBER "},");
        for (size_t i = 0; i < members; i++)
            size += snprintf(text + size, sizeof text - (size_t)size, "\"m\":{\"a\":[]},");
        size +=
            snprintf(text + size, sizeof text - (size_t)size,
                     "\"metadata\":{\"annotations\":{" LONG_MEMBER "}," MANAGED "{" LONG_MEMBER
                     "}],\"name\":\"n\",\"generation\":3,\"labels\":{" LONG_MEMBER "}},\"status\":{" LONG_MEMBER "}}");
        assert_in_range(size, 1, TEXT_SIZE - 1);
        assert_true(check(format, (ki_str){ text, (size_t)size }));
    }
    ki_object_format_unref(format);
}

static ki_status nest(ki_object_format *format, size_t depth, bool in_managed_fields, ki_error *err) {
    char text[TEXT_MAX + 2 * (KI_JSON_DEPTH_MAX + 1)], brackets[2 * (KI_JSON_DEPTH_MAX + 1) + 1];
    size_t levels = in_managed_fields ? depth - 3 : depth - 1;
    ki_object *obj = NULL;
    memset(brackets, '[', levels);
    memset(brackets + levels, ']', levels);
    brackets[2 * levels] = '\0';
    int size = in_managed_fields
                   ? snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"a\"," MANAGED "%s]}}", brackets)
                   : snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"a\"},\"a\":%s}", brackets);
    ki_status status = ki_object_from_server(format, (ki_str){ text, (size_t)size }, "v1", "Pod", NULL, &obj, err);
    ki_object_unref(obj);
    return status;
}

TEST(an_object_that_nests_too_deep_is_an_error) {
    ki_object_format *format = new_format(KI_KEEP_OBJECT, NULL);
    for (int i = 0; i < 2; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(nest(format, KI_JSON_DEPTH_MAX, i, &err), KI_OK);
        assert_int_equal(nest(format, KI_JSON_DEPTH_MAX + 1, i, &err), KI_ERR_LIMIT);
        assert_string_equal(err.message, "the object is nested deeper than 512");
    }
    ki_object_format_unref(format);
}

TEST(a_tree_of_more_values_than_expected_takes_memory_of_its_own) {
    ki_object_format *format = new_format(KI_KEEP_OBJECT, NULL);
    char text[TEXT_MAX];
    int size = snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"a\"},\"a\":[1");
    while (size < TEXT_MAX - 4)
        size += snprintf(text + size, sizeof text - (size_t)size, ",1");
    size += snprintf(text + size, sizeof text - (size_t)size, "]}");
    assert_true(check(format, (ki_str){ text, (size_t)size }));
    ki_object_format_unref(format);
}

TEST(an_object_takes_one_allocation_beside_the_scratch) {
    scarce_memory memory;
    ki_object_format *format = NULL;
    ki_buffer scratch;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_buffer_init(&scratch, &ki_allocator_default, 0);
    assert_int_equal(ki_object_format_new(&memory.allocator, NULL, &format, NULL), KI_OK);
    ki_object *first = NULL; /* the others share its kind, namespace and labels */
    for (int round = 0; round < 3; round++) {
        ki_object *obj = NULL;
        size_t before = atomic_load(&memory.calls);
        assert_int_equal(ki_object_from_server(format, ki_str_of(texts[0]), "v1", "Pod", &scratch, &obj, NULL), KI_OK);
        if (round)
            assert_int_equal(atomic_load(&memory.calls) - before, 1);
        assert_int_equal(scratch.size, 0);
        if (first)
            ki_object_unref(obj);
        else
            first = obj;
    }
    ki_object_unref(first);
    enum {
        LONG = KI_OBJECT_SCRATCH_KEEP
    };
    char *text = malloc(LONG);
    assert_non_null(text);
    int size = snprintf(text, LONG, "{\"metadata\":{\"name\":\"a\"},\"a\":\"%0*d\"}", LONG - 100, 1);
    ki_object *obj = NULL;
    assert_int_equal(ki_object_from_server(format, (ki_str){ text, (size_t)size }, NULL, NULL, &scratch, &obj, NULL),
                     KI_OK);
    assert_null(scratch.data); /* too large to be kept */
    ki_object_unref(obj);
    ki_object_format_unref(format);
    free(text);
}

TEST(each_allocation_can_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_object_format *format = NULL;
        ki_object *obj = NULL;
        ki_buffer scratch;
        ki_buffer_init(&scratch, &memory.allocator, 0);
        ki_status status = ki_object_format_new(&memory.allocator, NULL, &format, NULL);
        if (!status)
            status = ki_object_from_server(format, ki_str_of(texts[0]), "v1", "Pod", &scratch, &obj, NULL);
        assert_true(scratch.size == 0 && !scratch.failed);
        ki_buffer_free(&scratch);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        ki_object_unref(obj);
        ki_object_format_unref(format);
    }
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t below(size_t bound) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % bound);
}

/* Replaces, removes and inserts a few bytes. */
static size_t damage(char *text, size_t size) {
    static const char *const pieces[] = { "\"", "{", "}", "[", "]", ",", ":", "\\", " ", "\n", "1", MANAGED, "]," };
    for (uint32_t times = below(4); times > 0; times--) {
        const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
        size_t at = below(size), removed = below(2) ? 0 : 1 + below(below(8) ? 2 : 40), added = strlen(piece);
        if (removed > size - at)
            removed = size - at;
        if (below(3) == 0)
            added = 0;
        if (size - removed + added > TEXT_MAX)
            continue;
        memmove(text + at + added, text + at + removed, size - at - removed);
        memcpy(text + at, piece, added);
        size += added - removed;
    }
    return size;
}

TEST(damaged_text_is_an_object_if_parsing_all_of_it_gives_one) {
    size_t count = test_case_count(CASES), objects = 0;
    ki_object_format *formats[] = { new_format(KI_KEEP_OBJECT, NULL), new_format(KI_KEEP_METADATA, NULL),
                                    new_format(KI_KEEP_VIEW, generation) };
    for (size_t i = 0; i < count; i++) {
        char text[TEXT_MAX];
        const char *from = texts[below(sizeof texts / sizeof *texts)];
        size_t size = strlen(from);
        memcpy(text, from, size);
        size = damage(text, size);
        if (size)
            objects += check(formats[below(3)], (ki_str){ text, size });
    }
    assert_in_range(objects, count / 8, count);
    for (size_t i = 0; i < 3; i++)
        ki_object_format_unref(formats[i]);
}
