/* Objects with the same namespace, kind and labels share them; others do not, whatever their texts look like. */
#include "src/base/memory.h"
#include "src/object/object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_object_format *new_format(const ki_allocator *allocator) {
    ki_object_format *format = NULL;
    assert_int_equal(ki_object_format_new(allocator, NULL, &format, NULL), KI_OK);
    return format;
}

struct node_view {
    const char *node;
};
static const ki_field node_fields[] = { KI_FIELD(struct node_view, node, "spec.nodeName"), KI_FIELD_END };

static ki_object_format *new_format_with_view(const ki_allocator *allocator) {
    ki_object_format *format = NULL;
    const ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = node_fields);
    assert_int_equal(ki_object_format_new(allocator, &options, &format, NULL), KI_OK);
    return format;
}

static ki_object *make(ki_object_format *format, const char *name, const char *more) {
    char json[1024];
    ki_object *obj = NULL;
    snprintf(json, sizeof json, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"%s}}", name,
             more);
    assert_int_equal(ki_object_format_read(format, json, strlen(json), &obj, NULL), KI_OK);
    return obj;
}

#define LABELS ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\",\"tier\":\"front\"}"

TEST(objects_share_what_they_have_in_common) {
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *a = make(format, "a", LABELS), *b = make(format, "b", LABELS);
    assert_ptr_equal(ki_object_label(a, "app"), ki_object_label(b, "app"));
    assert_ptr_equal(ki_object_namespace(a), ki_object_namespace(b));
    assert_string_equal(ki_object_name(a), "a");
    assert_string_equal(ki_object_key(b), "shop/b");
    assert_int_equal(ki_object_format_group_bytes(format), a->group->size);
    ki_object_unref(a);
    assert_string_equal(ki_object_label(b, "tier"), "front");
    ki_object_unref(b);
    assert_int_equal(ki_object_format_group_bytes(format), 0);
    ki_object *again = make(format, "a", LABELS);
    assert_string_equal(ki_object_label(again, "tier"), "front");
    ki_object_format_unref(format); /* the object keeps it */
    assert_string_equal(ki_object_kind(again), "Pod");
    ki_object_unref(again);
}

TEST(objects_that_differ_share_nothing) {
    static const char *const others[] = {
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\",\"tier\":\"Front\"}",
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}",
        ",\"namespace\":\"shop\",\"labels\":{\"tier\":\"front\",\"app\":\"web\"}", /* their order is kept */
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"webtier\",\"\":\"front\"}",
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\",\"tier\":\"front\",\"\":\"\"}",
        ",\"namespace\":\"shap\",\"labels\":{\"app\":\"web\",\"tier\":\"front\"}",
        ",\"labels\":{\"app\":\"web\",\"tier\":\"front\"}",
        ",\"namespace\":\"shop\"",
        "",
    };
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *first = make(format, "a", LABELS);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ki_object *other = make(format, "a", others[i]);
        assert_ptr_not_equal(other->group, first->group);
        ki_object_unref(other);
    }
    /* What is no label makes no difference. */
    ki_object *same =
        make(format, "b", ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\",\"n\":1,\"tier\":\"front\"}");
    assert_ptr_equal(same->group, first->group);
    assert_int_equal(ki_object_label_count(same), 2);
    ki_object_unref(same);
    ki_object_unref(first);
    ki_object_format_unref(format);
}

static bool is_inside(const ki_object_group *group, const char *text) {
    return (uintptr_t)text - (uintptr_t)group < group->size;
}

/* The pods of a StatefulSet. */
TEST(groups_with_the_same_names_of_labels_share_texts) {
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *objects[10];
    for (int i = 0; i < 10; i++) {
        char more[128];
        snprintf(more, sizeof more, ",\"labels\":{\"app\":\"web\",\"statefulset.kubernetes.io/pod-name\":\"web-%d\"}",
                 i);
        objects[i] = make(format, "a", more);
    }
    ki_object *shop = make(format, "a", ",\"namespace\":\"shop\",\"labels\":{\"app\":\"db\"}"); /* another base */
    size_t first = objects[0]->group->size, later = objects[1]->group->size;
    assert_true(later + sizeof "app" + sizeof "web" + sizeof "statefulset.kubernetes.io/pod-name" == first);
    assert_int_equal(ki_object_format_group_bytes(format), first + 9 * later + shop->group->size);
    assert_null(shop->group->base);
    ki_object_unref(shop);
    for (int i = 9; i >= 0; i--) { /* the others keep the texts of the first */
        const char *name = NULL, *value = NULL;
        char wanted[8];
        int number = (i + 1) % 10;
        ki_object *obj = objects[number];
        snprintf(wanted, sizeof wanted, "web-%d", number);
        assert_string_equal(ki_object_label(obj, "app"), "web");
        assert_true(ki_object_label_at(obj, 1, &name, &value));
        assert_string_equal(name, "statefulset.kubernetes.io/pod-name");
        assert_string_equal(value, wanted);
        assert_true(is_inside(obj->group, value));
        assert_int_equal(is_inside(obj->group, name), number == 0);
        if (i == 9) { /* the first goes before all others */
            ki_object_unref(objects[0]);
            objects[0] = make(format, "b",
                              ",\"labels\":{\"app\":\"web\",\"statefulset.kubernetes.io/pod-name\":"
                              "\"web-0\"}");
            assert_string_equal(ki_object_label(objects[0], "app"), "web");
        }
        if (number != 0)
            ki_object_unref(obj);
    }
    ki_object_unref(objects[0]);
    assert_int_equal(ki_object_format_group_bytes(format), 0);
    for (size_t i = 0; i < KI_GROUP_BASES; i++)
        assert_null(format->groups.bases[i]);
    ki_object_format_unref(format);
}

TEST(labels_with_other_names_share_nothing) {
    static const char *const others[] = {
        ",\"labels\":{\"app\":\"web\"}",
        ",\"labels\":{\"tier\":\"front\",\"app\":\"web\"}",
        ",\"labels\":{\"app\":\"web\",\"tie\":\"front\"}",
    };
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *first = make(format, "a", ",\"labels\":{\"app\":\"web\",\"tier\":\"front\"}");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ki_object *other = make(format, "b", others[i]);
        assert_null(other->group->base);
        assert_string_equal(ki_object_label(other, "app"), "web");
        ki_object_unref(other);
    }
    ki_object_unref(first);
    ki_object_format_unref(format);
}

/* Returns the text once as many objects had it as it needs; NULL: each has its own. */
static const char *text_of_many(ki_object_format *format) {
    const char *text = NULL;
    for (unsigned i = 0; i < 2 * KI_TEXT_OBJECTS && !text; i++) {
        char name[16];
        snprintf(name, sizeof name, "pod-%u", i);
        text = ki_text_get(format, KI_STR("node-1"), ki_str_of(name));
    }
    return text;
}

TEST(more_groups_than_the_table_has_are_as_good) {
    enum {
        MANY = KI_GROUPS_MAX + 100
    };
    ki_object_format *format = new_format_with_view(&ki_allocator_default);
    ki_object **objects = malloc(2 * MANY * sizeof *objects);
    assert_non_null(objects);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        char more[64];
        snprintf(more, sizeof more, ",\"labels\":{\"n\":\"%u\"}", i % MANY);
        objects[i] = make(format, "a", more);
    }
    size_t shared = 0;
    for (unsigned i = 0; i < MANY; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "%u", i);
        assert_string_equal(ki_object_label(objects[i], "n"), wanted);
        assert_string_equal(ki_object_label(objects[i + MANY], "n"), wanted);
        shared += objects[i]->group == objects[i + MANY]->group;
    }
    assert_int_equal(shared, KI_GROUPS_MAX);
    assert_null(text_of_many(format)); /* it would not be found again */
    for (unsigned i = 0; i < 2 * MANY; i++)
        ki_object_unref(objects[i]);
    assert_int_equal(ki_object_format_group_bytes(format), 0);
    assert_int_equal(format->groups.count, 0);
    const char *text = text_of_many(format);
    assert_string_equal(text, "node-1");
    ki_text_unref(text);
    free(objects);
    ki_object_format_unref(format);
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(1);
    while (scarce_memory_next(&memory)) {
        static const char json[] = "{\"metadata\":{\"name\":\"a\"" LABELS "}}";
        static const char like[] = "{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"db\",\"tier\":\"front\"}}}";
        ki_object_format *format = new_format(&memory.allocator);
        ki_object *obj = NULL, *other = NULL;
        ki_status status = ki_object_format_read(format, json, sizeof json - 1, &obj, NULL);
        if (!status)
            status = ki_object_format_read(format, like, sizeof like - 1, &other, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_object_unref(obj);
        ki_object_unref(other);
        ki_object_format_unref(format);
    }
}

TEST(a_format_without_a_view_has_no_memory_for_the_texts_of_views) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_object_format *format = new_format(&memory.allocator);
    size_t without = memory.bytes;
    assert_null(format->groups.seen);
    assert_true(without < 1000);
    ki_object_format_unref(format);
    format = new_format_with_view(&memory.allocator);
    assert_true(memory.bytes >= without + KI_TEXT_SEEN * sizeof *format->groups.seen);
    ki_object_format_unref(format);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

enum {
    CHOSEN = 64 /* labels that somebody has chosen */
};

/* Returns the bucket of a label's value with the seed that everybody knows. */
static uint64_t known_bucket(const char *value) {
    static const char *const texts[] = { "v1", "Pod", "shop" };
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = ki_hash(texts[i], strlen(texts[i]), hash);
    return (ki_hash(value, strlen(value), hash) ^ ki_hash("app", 3, 0)) % KI_GROUP_BUCKETS;
}

/* Makes objects with labels that meet in one bucket with the seed 0. Returns how many buckets they are in. */
static size_t buckets_of_chosen_labels(ki_object_format *format) {
    ki_object *objects[CHOSEN];
    unsigned tried = 0;
    size_t used = 0;
    for (size_t i = 0; i < CHOSEN; i++) {
        char value[16], more[64];
        do
            snprintf(value, sizeof value, "v%u", tried++);
        while (known_bucket(value) != 0);
        snprintf(more, sizeof more, ",\"namespace\":\"shop\",\"labels\":{\"app\":\"%s\"}", value);
        objects[i] = make(format, "a", more);
        if (format->groups.buckets != format->groups.first)
            continue;
        used = 0;
        for (size_t bucket = 0; bucket < KI_GROUP_BUCKETS; bucket++)
            used += format->groups.first[bucket] != NULL;
    }
    for (size_t i = 0; i < CHOSEN; i++)
        ki_object_unref(objects[i]);
    return used;
}

TEST(labels_that_somebody_has_chosen_do_not_meet_in_one_bucket) {
    ki_object_format *known = new_format(NULL), *seeded = new_format(NULL);
    assert_int_equal(buckets_of_chosen_labels(known), 1);
    ki_object_format_set_seed(seeded, 12345);
    assert_in_range(buckets_of_chosen_labels(seeded), 8, KI_GROUP_BUCKETS);
    ki_object_format_unref(seeded);
    ki_object_format_unref(known);
}
