/* A view's members are what the JSON says, or zero; a view that cannot be is refused. */
#include "src/base/memory.h"
#include "src/object/object.h"
#include "src/object/pack.h"
#include "src/object/view.h"
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

struct port {
    int32_t number;
    const char *name;
};
struct container {
    const char *name;
    int64_t milli;
    int64_t bytes;
    ki_list ports;
};
struct pod {
    bool is_deleted;
    int64_t created_ms;
    ki_list containers;
    ki_string_list images;
    ki_string_list finalizers;
    ki_string_map selector;
    ki_list all_ports;
    const char *first_image;
};
static const ki_field port_fields[] = {
    KI_FIELD(struct port, number, "containerPort"),
    KI_FIELD(struct port, name, "name"),
    KI_FIELD_END,
};
static const ki_field container_fields[] = {
    KI_FIELD(struct container, name, "name"),
    KI_FIELD_MILLI(struct container, milli, "cpu"),
    KI_FIELD_QUANTITY(struct container, bytes, "memory"),
    KI_FIELD_LIST(struct container, ports, port_fields, "ports"),
    KI_FIELD_END,
};
static const ki_field pod_fields[] = {
    KI_FIELD_PRESENT(struct pod, is_deleted, "metadata.deletionTimestamp"),
    KI_FIELD_TIME(struct pod, created_ms, "metadata.creationTimestamp"),
    KI_FIELD_LIST(struct pod, containers, container_fields, "containers"),
    KI_FIELD(struct pod, images, "containers[*].image"),
    KI_FIELD(struct pod, finalizers, "metadata.finalizers"),
    KI_FIELD(struct pod, selector, "selector"),
    KI_FIELD_LIST(struct pod, all_ports, port_fields, "containers[*].ports"),
    KI_FIELD(struct pod, first_image, "containers[*].image"),
    KI_FIELD_END,
};

static ki_object *make(const ki_field *view, const char *members) {
    ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = view);
    ki_object_format *format = NULL;
    assert_int_equal(ki_object_format_new(&ki_allocator_default, &options, &format, NULL), KI_OK);
    char json[8192];
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
    assert_int_equal((uintptr_t)view % 8, 0);
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

struct rule {
    struct {
        const char *port, *share;
    } spec;
    bool has_spec;
};

static const ki_field rule_fields[] = {
    KI_FIELD_TEXT(struct rule, spec.port, "spec.port"),
    KI_FIELD_TEXT(struct rule, spec.share, "spec.share"),
    KI_FIELD_PRESENT(struct rule, has_spec, "spec"),
    KI_FIELD_END,
};

TEST(a_text_is_a_string_or_an_integer) {
    static const struct {
        const char *json, *text; /* NULL: of another type */
    } rows[] = {
        { "\"http\"", "http" },
        { "\"\"", "" },
        { "80", "80" },
        { "0", "0" },
        { "-7", "-7" },
        { "18446744073709551615", "18446744073709551615" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "1.5", NULL },
        { "true", NULL },
        { "[]", NULL },
        { "null", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char members[128];
        snprintf(members, sizeof members, ",\"spec\":{\"port\":%s,\"share\":\"25%%\"}", rows[i].json);
        ki_object *obj = make(rule_fields, members);
        const struct rule *rule = ki_object_view(obj);
        if (rows[i].text)
            assert_string_equal(rule->spec.port, rows[i].text);
        else
            assert_null(rule->spec.port);
        assert_string_equal(rule->spec.share, "25%");
        assert_true(rule->has_spec);
        ki_object_unref(obj);
    }
}

/* Beyond KI_VIEW_FOUND_MAX values are found again for filling. */
TEST(a_view_of_many_members_is_filled) {
    enum {
        MEMBERS = KI_VIEW_MAX_FIELDS
    };
    static char paths[MEMBERS][16];
    ki_field fields[MEMBERS + 1];
    char members[MEMBERS * 24] = "";
    size_t used = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        snprintf(paths[i], sizeof paths[i], "m%zu", i);
        used += (size_t)snprintf(members + used, sizeof members - used, ",\"m%zu\":\"%zu\"", i, i);
        fields[i] = (ki_field){ paths[i], i * sizeof(char *), MEMBERS * sizeof(char *), KI_FIELD_TYPE_STRING, NULL };
    }
    fields[MEMBERS] = (ki_field)KI_FIELD_END;
    ki_object *obj = make(fields, members);
    const char *const *texts = ki_object_view(obj);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_int_equal(atoi(texts[i]), (int)i);
    ki_object_unref(obj);
}

TEST(a_string_with_a_zero_is_cut) {
    ki_object *obj = make(all_fields, ",\"text\":\"ab\\u0000cd\"");
    assert_string_equal(((const struct all_types *)ki_object_view(obj))->text, "ab");
    ki_object_unref(obj);
}

/* Items of a built-in type's list have no kind. Servers send the metadata of an object with a kind of its own. */
TEST(the_view_has_the_type_that_the_object_has) {
    struct type {
        const char *api_version, *kind, *name;
    };
    static const ki_field fields[] = {
        KI_FIELD(struct type, api_version, "apiVersion"),
        KI_FIELD(struct type, kind, "['kind']"),
        KI_FIELD(struct type, name, "metadata.kind"),
        KI_FIELD_END,
    };
    static const struct {
        ki_keep keep;
        const char *json, *api_version, *kind;
    } rows[] = {
        { KI_KEEP_OBJECT, "{\"metadata\":{\"name\":\"a\",\"kind\":\"n\"}}", "v1", "Pod" },
        { KI_KEEP_VIEW, "{\"metadata\":{\"name\":\"a\",\"kind\":\"n\"}}", "v1", "Pod" },
        { KI_KEEP_OBJECT, "{\"kind\":\"X\",\"metadata\":{\"name\":\"a\",\"kind\":\"n\"}}", "v1", "X" },
        { KI_KEEP_OBJECT, "{\"apiVersion\":\"v9\",\"metadata\":{\"name\":\"a\",\"kind\":\"n\"}}", "v9", "Pod" },
        { KI_KEEP_METADATA,
          "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
          "v1\",\"metadata\":{\"name\":\"a\",\"kind\":\"n\"}}",
          "v1", "Pod" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_object_format *format = NULL;
        ki_object *obj = NULL;
        assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = fields), &format, NULL), KI_OK);
        ki_object_format_set_keep(format, rows[i].keep);
        assert_int_equal(ki_object_from_json(format, ki_str_of(rows[i].json), "v1", "Pod", &obj, NULL), KI_OK);
        const struct type *type = ki_object_view(obj);
        assert_string_equal(type->api_version, rows[i].api_version);
        assert_string_equal(type->kind, rows[i].kind);
        assert_string_equal(type->name, "n");
        assert_string_equal(ki_object_kind(obj), rows[i].kind);
        ki_object_unref(obj);
        ki_object_format_unref(format);
    }
}

/* The labels of objects that share them, and what the header has beside. */
struct headed {
    const char *name, *namespace, *uid, *version, *api_version, *kind, *app, *number, *none;
    ki_string_map labels;
    ki_string_map annotations;
};
static const ki_field headed_fields[] = {
    KI_FIELD(struct headed, name, "metadata.name"),
    KI_FIELD(struct headed, namespace, "metadata['namespace']"),
    KI_FIELD(struct headed, uid, "metadata.uid"),
    KI_FIELD(struct headed, version, "metadata.resourceVersion"),
    KI_FIELD(struct headed, api_version, "apiVersion"),
    KI_FIELD(struct headed, kind, "kind"),
    KI_FIELD(struct headed, app, "metadata.labels['example.com/app']"),
    KI_FIELD_TEXT(struct headed, number, "metadata.labels.number"),
    KI_FIELD(struct headed, none, "metadata.labels.none"),
    KI_FIELD(struct headed, labels, "metadata.labels"),
    KI_FIELD(struct headed, annotations, "metadata.annotations"),
    KI_FIELD_END,
};
#define HEADED(labels) \
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"annotations\":" \
    "{\"example.com/app\":\"web\"},\"labels\":" labels "}}"

static ki_object *make_headed(ki_object_format *format, const char *json) {
    ki_object *obj = NULL;
    assert_int_equal(ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL), KI_OK);
    return obj;
}

TEST(a_view_has_no_copy_of_what_the_header_has) {
    static const char json[] = HEADED("{\"x\":1,\"example.com/app\":\"web\",\"number\":7,\"b\":\"\"}");
    static const ki_keep keeps[] = { KI_KEEP_OBJECT, KI_KEEP_METADATA, KI_KEEP_VIEW };
    for (size_t i = 0; i < sizeof keeps / sizeof *keeps; i++) {
        ki_object_format *format = NULL;
        assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = headed_fields), &format, NULL),
                         KI_OK);
        ki_object_format_set_keep(format, keeps[i]);
        ki_object *obj = make_headed(format, json), *other = make_headed(format, json);
        const struct headed *view = ki_object_view(obj), *others = ki_object_view(other);
        const char *name = NULL;
        assert_ptr_equal(view->name, ki_object_name(obj));
        assert_ptr_equal(view->namespace, ki_object_namespace(obj));
        assert_ptr_equal(view->uid, ki_object_uid(obj));
        assert_ptr_equal(view->version, ki_object_resource_version(obj));
        assert_ptr_equal(view->api_version, ki_object_api_version(obj));
        assert_ptr_equal(view->kind, ki_object_kind(obj));
        assert_ptr_equal(view->app, ki_object_label(obj, "example.com/app"));
        assert_string_equal(view->app, "web");
        assert_string_equal(view->number, "7");
        assert_null(view->none);
        assert_ptr_equal(ki_string_map_get(&view->labels, "b"), ki_string_map_get(&others->labels, "b"));
        assert_int_equal(view->labels.count, 2);
        assert_true(ki_string_map_at(&view->labels, 0, &name, NULL));
        assert_string_equal(name, "example.com/app");
        assert_string_equal(ki_string_map_get(&view->labels, "b"), "");
        assert_int_equal(view->annotations.count, 1);
        assert_string_equal(ki_string_map_get(&view->annotations, "example.com/app"), "web");
        assert_int_equal(ki_object_format_mismatches(format), 4); /* x and number of two objects */
        ki_object_unref(other);
        assert_string_equal(ki_string_map_get(&view->labels, "example.com/app"), "web");
        ki_object_unref(obj);
        ki_object_format_unref(format);
    }
}

TEST(a_view_has_the_labels_that_only_its_object_has) {
    struct twice {
        ki_string_map labels, again;
        const char *app;
    };
    static const ki_field fields[] = { KI_FIELD(struct twice, labels, "metadata.labels"),
                                       KI_FIELD(struct twice, again, "metadata.labels"),
                                       KI_FIELD(struct twice, app, "metadata.labels['example.com/app']"),
                                       KI_FIELD_END };
    ki_object_format *format = NULL;
    assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = fields), &format, NULL), KI_OK);
    ki_object *base = make_headed(format, HEADED("{\"example.com/app\":\"web\",\"b\":\"1\",\"c\":\"2\"}")),
              *own = make_headed(format, HEADED("{\"example.com/app\":\"db\",\"b\":\"1\",\"c\":\"3\"}"));
    const struct twice *view = ki_object_view(own);
    const char *name = NULL, *value = NULL;
    assert_ptr_equal(own->group, base->group);
    assert_int_equal(view->labels.count, 3);
    assert_true(ki_string_map_at(&view->again, 2, &name, &value));
    assert_string_equal(name, "c");
    assert_ptr_equal(value, ki_object_label(own, "c"));
    assert_false(ki_string_map_at(&view->labels, 3, &name, &value));
    assert_string_equal(ki_string_map_get(&view->labels, "example.com/app"), "db");
    assert_string_equal(ki_string_map_get(&view->labels, "b"), "1");
    assert_string_equal(ki_string_map_get(&view->again, "c"), "3");
    assert_ptr_equal(view->app, ki_object_label(own, "example.com/app"));
    assert_ptr_equal(view->app, ki_string_map_get(&view->labels, "example.com/app"));
    assert_string_equal(((const struct twice *)ki_object_view(base))->app, "web");
    ki_object_unref(base);
    assert_string_equal(ki_string_map_get(&view->labels, "b"), "1");
    ki_object_unref(own);
    ki_object_format_unref(format);
}

/* A transform's JSON can have an identity of its own, which the object does not take. */
TEST(a_view_has_the_texts_of_its_own_json) {
    ki_object_format *format = NULL;
    ki_object *made = NULL;
    assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = headed_fields), &format, NULL),
                     KI_OK);
    ki_object *obj = make_headed(format, HEADED("{\"example.com/app\":\"web\"}"));
    static const char json[] = "{\"kind\":\"X\",\"metadata\":{\"name\":\"b\",\"uid\":\"u\",\"labels\":{\"example.com/"
                               "app\":\"db\",\"none\":\"\"}}}";
    assert_int_equal(ki_object_with_json(obj, json, sizeof json - 1, &made, NULL), KI_OK);
    const struct headed *view = ki_object_view(made);
    assert_string_equal(ki_object_name(made), "a");
    assert_string_equal(view->name, "b");
    assert_string_equal(view->uid, "u");
    assert_null(view->namespace);
    assert_string_equal(view->api_version, "v1");
    assert_string_equal(view->kind, "X");
    assert_string_equal(view->app, "db");
    assert_string_equal(view->none, "");
    assert_int_equal(view->labels.count, 2);
    ki_object_unref(made);
    ki_object_unref(obj);
    ki_object_format_unref(format);
}

TEST(labels_of_a_view_can_be_anything) {
    static const struct {
        const char *json;
        size_t count, mismatches;
        const char *app;
    } rows[] = {
        { HEADED("{}"), 0, 0, NULL },
        { HEADED("null"), 0, 0, NULL },
        { HEADED("[]"), 0, 1, NULL },
        { HEADED("\"example.com/app\""), 0, 1, NULL },
        { HEADED("{\"example.com/app\":{}}"), 0, 2, NULL },
        { HEADED("{\"example.com/app\":\"a\",\"example.com/app\":\"b\"}"), 2, 0, "a" },
        { HEADED("{\"example.com/app\\u0000\":\"x\",\"example.com/app\":\"a\\u0000b\"}"), 2, 0, "a" },
        { "{\"metadata\":{\"name\":\"a\"}}", 0, 0, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_object_format *format = NULL;
        assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = headed_fields), &format, NULL),
                         KI_OK);
        ki_object *obj = make_headed(format, rows[i].json);
        const struct headed *view = ki_object_view(obj);
        assert_int_equal(view->labels.count, rows[i].count);
        assert_int_equal(ki_string_map_at(&view->labels, 0, NULL, NULL), rows[i].count > 0);
        if (rows[i].app)
            assert_string_equal(view->app, rows[i].app);
        else
            assert_null(view->app);
        assert_int_equal(ki_object_format_mismatches(format), rows[i].mismatches);
        ki_object_unref(obj);
        ki_object_format_unref(format);
    }
}

struct placed {
    const char *node, *phase;
};
static const ki_field placed_fields[] = { KI_FIELD(struct placed, node, "node"),
                                          KI_FIELD_TEXT(struct placed, phase, "phase"), KI_FIELD_END };

static ki_object *make_placed(ki_object_format *format, const char *name, const char *node, const char *phase) {
    char json[512];
    ki_object *obj = NULL;
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\"},\"node\":\"%s\",\"phase\":%s}", name, node, phase);
    if (ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL))
        return NULL;
    const struct placed *view = ki_object_view(obj);
    assert_string_equal(view->node, node);
    return obj;
}

static const char *node_of(const ki_object *obj) {
    return ((const struct placed *)ki_object_view(obj))->node;
}

/* The first objects have a copy each: most texts are those of one object. */
TEST(a_text_of_several_objects_is_kept_once) {
    enum {
        COUNT = 6
    };
    ki_object_format *format = NULL;
    ki_object *objects[COUNT];
    assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = placed_fields), &format, NULL),
                     KI_OK);
    for (int i = 0; i < COUNT; i++)
        objects[i] = make_placed(format, (char[]){ (char)('a' + i), '\0' }, "node-1", "80");
    assert_ptr_not_equal(node_of(objects[0]), node_of(objects[1]));
    for (int i = KI_GROUP_OBJECTS; i < COUNT; i++)
        assert_ptr_equal(node_of(objects[i]), node_of(objects[KI_GROUP_OBJECTS - 1]));
    size_t bytes = ki_object_format_group_bytes(format);
    assert_int_equal(bytes, objects[0]->group->size + objects[0]->group->size - sizeof "v1Pod" + sizeof "node-1");
    ki_object *next = make_placed(format, "f", "node-1", "\"http\""); /* another state of an object */
    assert_ptr_equal(node_of(next), node_of(objects[COUNT - 1]));
    for (int i = 0; i < COUNT; i++)
        ki_object_unref(objects[i]);
    assert_string_equal(node_of(next), "node-1");
    assert_int_equal(ki_object_format_group_bytes(format), bytes);
    ki_object_unref(next);
    assert_int_equal(ki_object_format_group_bytes(format), 0);
    ki_object_format_unref(format);
}

TEST(a_text_of_one_object_is_a_part_of_it) {
    static const struct {
        const char *names, *node;
    } rows[] = {
        { "aaaaaaaa", "node-1" }, /* states of one object */
        { "abcdefgh", "n-1" },    /* too short */
        { "abcdefgh", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_object_format *format = NULL;
        ki_object *objects[8];
        assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = placed_fields), &format, NULL),
                         KI_OK);
        for (size_t at = 0; at < 8; at++)
            objects[at] = make_placed(format, (char[]){ rows[i].names[at], '\0' }, rows[i].node, "null");
        assert_int_equal(ki_object_format_group_bytes(format), objects[0]->group->size);
        for (size_t at = 0; at < 8; at++)
            ki_object_unref(objects[at]);
        ki_object_format_unref(format);
    }
}

/* Two fields of one member: the last one that the object has. */
TEST(a_text_at_the_place_of_another_is_a_part_of_its_object) {
    union place {
        const char *node;
        int64_t number;
    };
    static const ki_field fields[] = { KI_FIELD(union place, node, "node"), KI_FIELD_TEXT(union place, node, "phase"),
                                       KI_FIELD(union place, number, "number"), KI_FIELD_END };
    ki_object_format *format = NULL;
    ki_object *objects[8];
    assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = fields), &format, NULL), KI_OK);
    for (int i = 0; i < 8; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%c\"},\"node\":\"node-1\"%s%s}", 'a' + i,
                 i % 2 ? ",\"phase\":\"Running\"" : "", i % 4 == 2 ? ",\"number\":-2" : "");
        assert_int_equal(ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &objects[i], NULL), KI_OK);
        const union place *place = ki_object_view(objects[i]);
        if (i % 4 == 2)
            assert_int_equal(place->number, -2);
        else
            assert_string_equal(place->node, i % 2 ? "Running" : "node-1");
    }
    assert_int_equal(ki_object_format_group_bytes(format), objects[0]->group->size);
    for (int i = 0; i < 8; i++)
        ki_object_unref(objects[i]);
    ki_object_format_unref(format);
}

TEST(texts_of_several_objects_survive_lack_of_memory) {
    scarce_memory memory = SCARCE_MEMORY_FROM(3); /* format, view, path */
    while (scarce_memory_next(&memory)) {
        ki_object_format *format = NULL;
        ki_object *objects[5] = { NULL };
        ki_status status =
            ki_object_format_new(&memory.allocator, &KI_OBJECT_FORMAT_OPTIONS(.view = placed_fields), &format, NULL);
        for (int i = 0; !status && i < 5; i++) {
            objects[i] = make_placed(format, (char[]){ (char)('a' + i), '\0' }, "node-1", "\"Running\"");
            status = objects[i] ? KI_OK : KI_ERR_NO_MEMORY;
        }
        if (status)
            assert_true(scarce_memory_failed(&memory)); /* but for a text: then the object has a copy */
        for (int i = 0; i < 5; i++)
            ki_object_unref(objects[i]);
        ki_object_format_unref(format);
    }
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
        { { { "a[", 0, 8, KI_FIELD_TYPE_INT64, NULL } }, KI_ERR_PARSE },
        { { { "", 0, 8, KI_FIELD_TYPE_INT64, NULL } }, KI_ERR_PARSE },
        { { { "a", 0, KI_VIEW_MAX_SIZE + 8, KI_FIELD_TYPE_INT64, NULL } }, KI_ERR_LIMIT },
        { { { "a", 8, 8, KI_FIELD_TYPE_INT64, NULL } }, KI_ERR_INVALID },
        { { { "a", SIZE_MAX - 3, 16, KI_FIELD_TYPE_INT64, NULL } }, KI_ERR_INVALID },
        { { { "a", 2, 16, KI_FIELD_TYPE_INT32, NULL } }, KI_ERR_INVALID },
        { { { "a", 0, 0, KI_FIELD_TYPE_BOOL, NULL } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_END, NULL } }, KI_ERR_INVALID },
        { { { "a", 0, 16, (ki_field_type)99, NULL } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_LIST, NULL } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_INT64, port_fields } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_INT64, NULL }, { "b", 0, 24, KI_FIELD_TYPE_INT64, NULL } }, KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_STRING_LIST, NULL }, { "b", 0, 16, KI_FIELD_TYPE_STRING_MAP, NULL } },
          KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_LIST, port_fields }, { "b", 0, 16, KI_FIELD_TYPE_LIST, container_fields } },
          KI_ERR_INVALID },
        { { { "a", 0, 16, KI_FIELD_TYPE_STRING_LIST, NULL }, { "b", 8, 16, KI_FIELD_TYPE_INT32, NULL } },
          KI_ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_field fields[3] = { cases[i].fields[0], cases[i].fields[1], KI_FIELD_END };
        ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = fields);
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
            fields[i] = (ki_field){ "metadata.name", 0, 16, KI_FIELD_TYPE_STRING, NULL };
        fields[count] = (ki_field)KI_FIELD_END;
        ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = fields);
        ki_object_format *format = NULL;
        ki_status status = ki_object_format_new(&ki_allocator_default, &options, &format, NULL);
        assert_int_equal(status, count > KI_VIEW_MAX_FIELDS ? KI_ERR_LIMIT : KI_OK);
        ki_object_format_unref(format);
    }
}

static ki_object *make_pod(const ki_allocator *allocator, const char *json, ki_status *ret_status,
                           uint64_t *ret_mismatches) {
    ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = pod_fields);
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    ki_status status = ki_object_format_new(allocator, &options, &format, NULL);
    if (!status)
        status = ki_object_from_json(format, ki_str_of(json), NULL, NULL, &obj, NULL);
    if (ret_status)
        *ret_status = status;
    if (ret_mismatches)
        *ret_mismatches = format ? ki_object_format_mismatches(format) : 0;
    ki_object_format_unref(format);
    return obj;
}

#define POD \
    "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"finalizers\":[\"f1\",\"f2\"]," \
    "\"deletionTimestamp\":\"2026-01-02T03:04:06Z\"},\"containers\":[{\"name\":\"c1\",\"image\":\"i1\",\"cpu\":" \
    "\"1500m\"," \
    "\"memory\":\"2Gi\",\"ports\":[{\"containerPort\":80,\"name\":\"http\"},{\"containerPort\":443}]},{\"name\":" \
    "\"c2\"," \
    "\"cpu\":2},{\"name\":\"c3\",\"image\":\"i3\",\"ports\":[{\"containerPort\":53}]}],\"selector\":{\"app\":\"web\"," \
    "\"tier\":\"front\"}}"

TEST(lists_maps_times_and_quantities_are_filled) {
    uint64_t mismatches = 1;
    ki_object *obj = make_pod(&ki_allocator_default, POD, NULL, &mismatches);
    const struct pod *pod = ki_object_view(obj);
    assert_true(pod->is_deleted);
    assert_int_equal(pod->created_ms, 1767323045000);
    const struct container *containers = pod->containers.items;
    assert_int_equal(pod->containers.count, 3);
    assert_string_equal(containers[0].name, "c1");
    assert_int_equal(containers[0].milli, 1500);
    assert_true(containers[0].bytes == INT64_C(2) << 30);
    assert_int_equal(containers[0].ports.count, 2);
    const struct port *ports = containers[0].ports.items;
    assert_int_equal(ports[0].number, 80);
    assert_string_equal(ports[0].name, "http");
    assert_int_equal(ports[1].number, 443);
    assert_null(ports[1].name);
    assert_int_equal(containers[1].milli, 2000);
    assert_int_equal(containers[1].ports.count, 0);
    assert_null(containers[1].ports.items);
    assert_int_equal(((const struct port *)containers[2].ports.items)->number, 53);
    assert_int_equal(pod->images.count, 2);
    assert_string_equal(pod->images.items[0], "i1");
    assert_string_equal(pod->images.items[1], "i3");
    assert_int_equal(pod->finalizers.count, 2);
    assert_string_equal(pod->finalizers.items[1], "f2");
    assert_int_equal(pod->selector.count, 2);
    assert_string_equal(ki_string_map_get(&pod->selector, "tier"), "front");
    assert_null(ki_string_map_get(&pod->selector, "none"));
    assert_int_equal(pod->all_ports.count, 3);
    assert_int_equal(((const struct port *)pod->all_ports.items)[2].number, 53);
    assert_string_equal(pod->first_image, "i1");
    assert_int_equal(mismatches, 0);
    ki_object_unref(obj);
}

TEST(what_does_not_fit_a_list_or_a_conversion_is_absent_and_counted) {
    static const struct {
        const char *members;
        uint64_t mismatches;
    } cases[] = {
        { "", 0 },
        { ",\"containers\":null,\"selector\":null,\"metadata\":{\"finalizers\":null}", 0 },
        { ",\"containers\":[]", 0 },
        { ",\"containers\":{}", 1 },
        { ",\"containers\":\"x\",\"selector\":[]", 2 },
        { ",\"selector\":{\"a\":1,\"b\":null}", 2 },
    };
    static const struct pod zero;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[512];
        uint64_t mismatches = 99;
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\"}%s}", cases[i].members);
        ki_object *obj = make_pod(&ki_allocator_default, json, NULL, &mismatches);
        assert_memory_equal(ki_object_view(obj), &zero, sizeof zero);
        if (mismatches != cases[i].mismatches)
            fail_msg("%s: %d", json, (int)mismatches);
        ki_object_unref(obj);
    }
    uint64_t mismatches = 0;
    ki_object *obj =
        make_pod(&ki_allocator_default,
                 "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"yesterday\"},\"containers\":[7,{\"name\":"
                 "\"x\",\"cpu\":\"9223372036854775807\",\"memory\":\"much\"}]}",
                 NULL, &mismatches);
    const struct pod *pod = ki_object_view(obj);
    const struct container *containers = pod->containers.items;
    assert_int_equal(pod->created_ms, 0);
    assert_int_equal(pod->containers.count, 2);
    assert_null(containers[0].name);
    assert_string_equal(containers[1].name, "x");
    assert_int_equal(containers[1].milli, 0);
    assert_int_equal(containers[1].bytes, 0);
    assert_int_equal(mismatches, 4);
    ki_object_unref(obj);
}

TEST(the_items_of_an_object_are_limited) {
    for (size_t count = KI_VIEW_MAX_ITEMS; count <= KI_VIEW_MAX_ITEMS + 1; count++) {
        char *json = malloc(64 + 2 * count);
        assert_non_null(json);
        size_t size = (size_t)sprintf(json, "{\"metadata\":{\"name\":\"a\"},\"containers\":[7");
        for (size_t i = 1; i < count; i++) {
            json[size++] = ',';
            json[size++] = '7';
        }
        memcpy(json + size, "]}", 3);
        ki_status status;
        ki_object *obj = make_pod(&ki_allocator_default, json, &status, NULL);
        assert_int_equal(status, count > KI_VIEW_MAX_ITEMS ? KI_ERR_LIMIT : KI_OK);
        ki_object_unref(obj);
        free(json);
    }
}

TEST(structs_in_structs_are_limited) {
    static const ki_field fields[KI_VIEW_MAX_DEPTH + 1][2] = {
        { { "a", 0, 16, KI_FIELD_TYPE_LIST, fields[1] }, KI_FIELD_END },
        { { "a", 0, 16, KI_FIELD_TYPE_LIST, fields[2] }, KI_FIELD_END },
        { { "a", 0, 16, KI_FIELD_TYPE_LIST, fields[3] }, KI_FIELD_END },
        { { "a", 0, 16, KI_FIELD_TYPE_LIST, fields[4] }, KI_FIELD_END },
        { { "a", 0, 16, KI_FIELD_TYPE_INT64, NULL }, KI_FIELD_END },
    };
    for (size_t from = 0; from < 2; from++) {
        ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = fields[from]);
        ki_object_format *format = NULL;
        ki_status status = ki_object_format_new(&ki_allocator_default, &options, &format, NULL);
        assert_int_equal(status, from ? KI_OK : KI_ERR_LIMIT);
        ki_object_format_unref(format);
    }
}

TEST(a_view_with_lists_survives_lack_of_memory) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_status status;
        ki_object *obj = make_pod(&memory.allocator, POD, &status, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_object_unref(obj);
    }
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = all_fields);
        ki_object_format *format = NULL;
        ki_status status = ki_object_format_new(&memory.allocator, &options, &format, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_object_format_unref(format);
    }
}
