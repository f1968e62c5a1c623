/* Objects with the same namespace, kind and labels share them. Values that few objects have are in these objects. */
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

/* Asserts that the object has as many labels, and this one. */
static void assert_label(const ki_object *obj, size_t count, const char *name, const char *value) {
    const char *found_name = NULL, *found = NULL;
    bool is_there = false;
    assert_int_equal(ki_object_label_count(obj), count);
    assert_string_equal(ki_object_label(obj, name), value);
    for (size_t i = 0; ki_object_label_at(obj, i, &found_name, &found); i++)
        is_there |= strcmp(found_name, name) == 0 && strcmp(found, value) == 0;
    assert_true(is_there);
}

TEST(objects_of_another_shape_share_nothing) {
    static const char *const others[] = {
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}",
        ",\"namespace\":\"shop\",\"labels\":{\"tier\":\"front\",\"app\":\"web\"}", /* their order is kept */
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"webtier\",\"\":\"front\"}",
        ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\",\"tie\":\"front\"}",
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
        assert_null(other->group->base);
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

#define POD_NAME "statefulset.kubernetes.io/pod-name"
#define LABELS_OF(app, pod) ",\"namespace\":\"shop\",\"labels\":{\"app\":\"" app "\",\"" POD_NAME "\":\"" pod "\"}"

enum {
    PODS = 20
};

/* Makes the pods of a StatefulSet. */
static void make_pods(ki_object_format *format, const char *app, ki_object *objects[PODS]) {
    for (int i = 0; i < PODS; i++) {
        char more[128], name[16];
        snprintf(more, sizeof more, LABELS_OF("%s", "%s-%d"), app, app, i);
        snprintf(name, sizeof name, "%s-%d", app, i);
        objects[i] = make(format, name, more);
    }
}

static void unref_pods(ki_object *objects[PODS]) {
    for (int i = 0; i < PODS; i++)
        ki_object_unref(objects[i]);
}

/* Returns the bytes of a new object, with all that it does not share. */
static size_t bytes_of_new(ki_object_format *format, scarce_memory *memory, const char *more) {
    size_t before = memory->bytes;
    ki_object *obj = make(format, "a", more);
    size_t bytes = memory->bytes - before;
    ki_object_unref(obj);
    return bytes;
}

TEST(a_label_that_only_one_object_has_takes_its_value_and_three_bytes) {
    scarce_memory memory;
    ki_object *pods[PODS];
    scarce_memory_init(&memory, SIZE_MAX);
    ki_object_format *format = new_format(&memory.allocator);
    make_pods(format, "web", pods);
    size_t own = bytes_of_new(format, &memory, LABELS_OF("web", "web-1234"));
    size_t equal = bytes_of_new(format, &memory, LABELS_OF("web", "web-0"));
    size_t longer = strlen(LABELS_OF("web", "web-1234")) - strlen(LABELS_OF("web", "web-0")); /* of the bodies */
    assert_int_equal(own - equal - longer, sizeof "web-1234" + 2);
    assert_int_equal(ki_object_format_group_bytes(format), pods[0]->group->size);
    unref_pods(pods);
    ki_object_format_unref(format);
}

TEST(objects_with_labels_of_their_own_share_the_others) {
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *web[PODS], *db[PODS];
    make_pods(format, "web", web);
    make_pods(format, "db", db);
    for (int i = 0; i < PODS; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "web-%d", i);
        assert_label(web[i], 2, POD_NAME, wanted);
        assert_label(web[i], 2, "app", "web");
        assert_ptr_equal(web[i]->group, web[0]->group);
        snprintf(wanted, sizeof wanted, "db-%d", i);
        assert_label(db[i], 2, POD_NAME, wanted);
        assert_label(db[i], 2, "app", "db");
        bool is_early = i < KI_GROUP_OBJECTS - 1; /* too few objects had db */
        assert_ptr_equal(db[i]->group, is_early ? web[0]->group : db[PODS - 1]->group);
    }
    assert_ptr_equal(db[PODS - 1]->group->base, web[0]->group);
    assert_int_equal(ki_object_format_group_bytes(format), web[0]->group->size + db[PODS - 1]->group->size);
    unref_pods(web); /* the others keep the texts of their base */
    assert_label(db[PODS - 1], 2, "app", "db");
    unref_pods(db);
    assert_int_equal(ki_object_format_group_bytes(format), 0);
    assert_int_equal(format->groups.count, 0);
    ki_object_format_unref(format);
}

TEST(another_state_of_an_object_has_the_labels_of_the_many) {
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *web = make(format, "web", LABELS), *objects[KI_GROUP_OBJECTS];
    static const char more[] = ",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\",\"tier\":\"back\"}";
    for (int i = 0; i < 2 * KI_GROUP_OBJECTS; i++) { /* states of one object do not make a group */
        ki_object *obj = make(format, "a", more);
        assert_ptr_equal(obj->group, web->group);
        ki_object_unref(obj);
    }
    for (int i = 0; i < KI_GROUP_OBJECTS; i++)
        objects[i] = make(format, (char[]){ (char)('a' + i), '\0' }, more);
    ki_object *again = make(format, "a", more);
    assert_true(objects[0]->has_own_labels);
    assert_false(again->has_own_labels);
    assert_ptr_equal(again->group, objects[KI_GROUP_OBJECTS - 1]->group);
    assert_label(again, 2, "tier", "back");
    ki_object_unref(again);
    for (int i = 0; i < KI_GROUP_OBJECTS; i++)
        ki_object_unref(objects[i]);
    ki_object_unref(web);
    ki_object_format_unref(format);
}

TEST(own_labels_can_be_anything) {
    static const struct {
        const char *base, *own, *name, *value;
        size_t count;
    } rows[] = {
        { "{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"\",\"b\":\"2\"}", "a", "", 2 },
        { "{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"\",\"b\":\"\"}", "b", "", 2 },
        { "{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"x\",\"n\":1,\"b\":\"y\"}", "b", "y", 2 },
        { "{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"\\u0002z\",\"b\":\"\\u0001\"}", "b", "\001", 2 },
        { "{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"1\\u0000\",\"b\":\"3\\u00004\"}", "b", "3", 2 },
        { "{\"a\":\"1\",\"a\":\"2\"}", "{\"a\":\"3\",\"a\":\"4\"}", "a", "3", 2 },
        { "{\"\":\"\"}", "{\"\":\"x\"}", "", "x", 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char more[128];
        ki_object_format *format = new_format(&ki_allocator_default);
        snprintf(more, sizeof more, ",\"labels\":%s", rows[i].base);
        ki_object *base = make(format, "a", more);
        snprintf(more, sizeof more, ",\"labels\":%s", rows[i].own);
        ki_object *own = make(format, "b", more);
        assert_ptr_equal(base->group, own->group);
        assert_true(own->has_own_labels);
        assert_label(own, rows[i].count, rows[i].name, rows[i].value);
        ki_object_unref(base);
        ki_object_unref(own);
        ki_object_format_unref(format);
    }
}

/* Makes an object with so many labels that are "0", and a last one. */
static ki_object *make_labelled(ki_object_format *format, const char *name, unsigned count, const char *last) {
    char *more = malloc(32 + (size_t)count * 16);
    assert_non_null(more);
    char *to = stpcpy(more, ",\"labels\":{");
    for (unsigned i = 1; i < count; i++)
        to += sprintf(to, "\"l%u\":\"0\",", i);
    sprintf(to, "\"last\":\"%s\"}", last);
    char *json = malloc(64 + strlen(more));
    assert_non_null(json);
    sprintf(json, "{\"metadata\":{\"name\":\"%s\"%s}}", name, more);
    ki_object *obj = NULL;
    assert_int_equal(ki_object_format_read(format, json, strlen(json), &obj, NULL), KI_OK);
    free(json);
    free(more);
    return obj;
}

TEST(objects_with_more_labels_than_can_be_own_share_none) {
    for (unsigned count = KI_OWN_LABELS_MAX; count <= KI_OWN_LABELS_MAX + 1; count++) {
        ki_object_format *format = new_format(&ki_allocator_default);
        ki_object *a = make_labelled(format, "a", count, "x"), *b = make_labelled(format, "b", count, "y");
        assert_int_equal(a->group == b->group, count == KI_OWN_LABELS_MAX);
        assert_label(a, count, "last", "x");
        assert_label(b, count, "last", "y");
        ki_object_unref(a);
        ki_object_unref(b);
        ki_object_format_unref(format);
    }
}

/* Each object has one label more that differs from the first than the one before, and many others have the same. */
TEST(groups_are_below_each_other_to_a_depth) {
    enum {
        LABEL_COUNT = KI_GROUP_DEPTH + 3
    };
    ki_object_format *format = new_format(&ki_allocator_default);
    ki_object *objects[LABEL_COUNT + 1][KI_GROUP_OBJECTS];
    for (int differ = 0; differ <= LABEL_COUNT; differ++) {
        for (int i = 0; i < KI_GROUP_OBJECTS; i++) {
            char more[256], *to = stpcpy(more, ",\"labels\":{");
            for (int label = 0; label < LABEL_COUNT; label++)
                to += sprintf(to, "%s\"l%d\":\"%d\"", label ? "," : "", label, label < differ);
            strcpy(to, "}");
            objects[differ][i] = make(format, (char[]){ (char)('a' + i), '\0' }, more);
        }
        const ki_object *last = objects[differ][KI_GROUP_OBJECTS - 1];
        assert_int_equal(last->group->depth, differ < KI_GROUP_DEPTH ? differ : KI_GROUP_DEPTH);
        assert_int_equal(last->has_own_labels, differ > KI_GROUP_DEPTH);
        for (int label = 0; label < LABEL_COUNT; label++)
            assert_label(last, LABEL_COUNT, (char[]){ 'l', (char)('0' + label), '\0' }, label < differ ? "1" : "0");
    }
    for (int differ = 0; differ <= LABEL_COUNT; differ++)
        for (int i = 0; i < KI_GROUP_OBJECTS; i++)
            ki_object_unref(objects[differ][i]);
    assert_int_equal(format->groups.count, 0);
    ki_object_format_unref(format);
}

/* Returns the text once as many objects had it as it needs; NULL: each has its own. */
static const char *text_of_many(ki_object_format *format) {
    const char *text = NULL;
    for (unsigned i = 0; i < 2 * KI_GROUP_OBJECTS && !text; i++) {
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
        snprintf(more, sizeof more, ",\"namespace\":\"%u\"", i % MANY);
        objects[i] = make(format, "a", more);
    }
    size_t shared = 0;
    for (unsigned i = 0; i < MANY; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "%u", i);
        assert_string_equal(ki_object_namespace(objects[i]), wanted);
        assert_string_equal(ki_object_namespace(objects[i + MANY]), wanted);
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
        static const char *const apps[KI_GROUP_OBJECTS + 1] = { "web", "db", "db", "db" }; /* own ones, then a group */
        ki_object_format *format = new_format(&memory.allocator);
        ki_object *objects[KI_GROUP_OBJECTS + 1] = { NULL };
        ki_status status = KI_OK;
        for (int i = 0; i <= KI_GROUP_OBJECTS && !status; i++) {
            char json[128];
            int size =
                snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%d\",\"labels\":{\"app\":\"%s\"}}}", i, apps[i]);
            status = ki_object_format_read(format, json, (size_t)size, &objects[i], NULL);
        }
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        if (!status)
            assert_ptr_equal(objects[KI_GROUP_OBJECTS]->group->base, objects[0]->group);
        for (int i = 0; i <= KI_GROUP_OBJECTS; i++)
            ki_object_unref(objects[i]);
        ki_object_format_unref(format);
    }
}

TEST(a_format_without_objects_takes_less_than_1000_bytes) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_object_format *format = new_format(&memory.allocator);
    assert_true(memory.bytes < 1000);
    ki_object_format_unref(format);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

enum {
    CHOSEN = 64 /* labels that somebody has chosen */
};

/* Returns the bucket of a label's name with the seed that everybody knows. */
static uint64_t known_bucket(const char *name) {
    const char *const texts[] = { "v1", "Pod", "shop", name };
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = ki_hash(texts[i], strlen(texts[i]), hash);
    return hash % KI_GROUP_BUCKETS;
}

/* Makes objects with labels that meet in one bucket with the seed 0. Returns how many buckets they are in. */
static size_t buckets_of_chosen_labels(ki_object_format *format) {
    ki_object *objects[CHOSEN];
    unsigned tried = 0;
    size_t used = 0;
    for (size_t i = 0; i < CHOSEN; i++) {
        char name[16], more[64];
        do
            snprintf(name, sizeof name, "l%u", tried++);
        while (known_bucket(name) != 0);
        snprintf(more, sizeof more, ",\"namespace\":\"shop\",\"labels\":{\"%s\":\"\"}", name);
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
