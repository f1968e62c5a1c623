/* A packed object gives what the plain one gives, whatever is in it, also when memory runs out. */
#include <kinformer/diff.h>
#include <kinformer/selector.h>
#include <kinformer/unstructured.h>

#include "sim/random.h"
#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/object.h"
#include "src/object/pack.h"
#include "src/object/path.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/unit/object/bodies.h"

#include <stdlib.h>
#include <string.h>

struct pod {
    const char *node;
    const char *absent;
    int64_t count;
    ki_list containers;
    ki_string_list images;
    ki_string_map labels;
};
struct container {
    const char *name;
    ki_string_list args;
};
static const ki_field container_fields[] = { KI_FIELD(struct container, name, "name"),
                                             KI_FIELD(struct container, args, "args"), KI_FIELD_END };
static const ki_field pod_fields[] = { KI_FIELD(struct pod, node, "spec.nodeName"),
                                       KI_FIELD(struct pod, absent, "spec.absent"),
                                       KI_FIELD(struct pod, count, "spec.count"),
                                       KI_FIELD_LIST(struct pod, containers, container_fields, "spec.containers"),
                                       KI_FIELD(struct pod, images, "spec.containers[*].image"),
                                       KI_FIELD(struct pod, labels, "metadata.labels"),
                                       KI_FIELD_END };

/* A pod with something for each reader. */
static const char pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u-1\","
    "\"resourceVersion\":\"7\",\"labels\":{\"app\":\"web\",\"tier\":\"front\"},\"annotations\":{\"note\":\"\\u00e9\"},"
    "\"finalizers\":[\"example.com/f\"],\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"ownerReferences\":[{"
    "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\",\"uid\":\"u-2\",\"controller\":true}]},"
    "\"spec\":{\"nodeName\":\"node-1\",\"count\":12,\"containers\":[{\"name\":\"c\",\"image\":\"i:1\",\"args\":[\"x\","
    "\"y\"]},{\"name\":\"d\",\"image\":\"j:1\",\"args\":[]}],\"text\":\"a text that is long enough to be packed, a "
    "text that is long enough to be packed\"},\"data\":{\"k\":\"v\"}}";

typedef struct stage {
    ki_object_format *format;
    ki_object *plain, *packed;
} stage;

/* Makes a format with a codec of some objects. Returns KI_ERR_NO_MEMORY without one. */
static ki_status make_format(const ki_allocator *allocator, ki_object_format **ret_format) {
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    ki_status status = ki_object_format_new(allocator, &KI_OBJECT_FORMAT_OPTIONS(.view = pod_fields), &format, NULL);
    if (status)
        return status;
    ki_body_contexts *contexts = ki_body_contexts_new(allocator);
    if (contexts)
        ki_object_format_set_pack(format, contexts, 1);
    ki_body_contexts_unref(contexts);
    status = contexts ? ki_object_format_read(format, pod, strlen(pod), &obj, NULL) : KI_ERR_NO_MEMORY;
    if (!status)
        ki_object_format_train(format, &obj, 1, 1);
    ki_object_unref(obj);
    if (status)
        ki_object_format_unref(format);
    else
        *ret_format = format;
    return status;
}

static void begin(stage *s, const ki_allocator *allocator, const char *json) {
    s->format = NULL;
    s->plain = NULL;
    assert_int_equal(make_format(allocator, &s->format), KI_OK);
    assert_int_equal(ki_object_format_read(s->format, json, strlen(json), &s->plain, NULL), KI_OK);
    s->packed = ki_object_pack(ki_object_ref(s->plain));
}

static void end(stage *s) {
    ki_object_unref(s->plain);
    ki_object_unref(s->packed);
    ki_object_format_unref(s->format);
}

static void assert_same_json(const ki_object *a, const ki_object *b) {
    ki_value one = KI_VALUE_INIT, other = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(a, &one, NULL), KI_OK);
    assert_int_equal(ki_object_json(b, &other, NULL), KI_OK);
    assert_int_equal(one.text_size, other.text_size);
    assert_memory_equal(one.text, other.text, one.text_size + 1);
    ki_value_clear(&one);
    ki_value_clear(&other);
}

static void assert_same_header(const ki_object *a, const ki_object *b) {
    assert_string_equal(ki_object_key(a), ki_object_key(b));
    assert_string_equal(ki_object_namespace(a), ki_object_namespace(b));
    assert_string_equal(ki_object_name(a), ki_object_name(b));
    assert_string_equal(ki_object_uid(a), ki_object_uid(b));
    assert_string_equal(ki_object_resource_version(a), ki_object_resource_version(b));
    assert_string_equal(ki_object_api_version(a), ki_object_api_version(b));
    assert_string_equal(ki_object_kind(a), ki_object_kind(b));
    assert_int_equal(ki_object_label_count(a), ki_object_label_count(b));
    const char *name, *value, *other_name, *other_value;
    for (size_t i = 0; ki_object_label_at(a, i, &name, &value); i++) {
        assert_true(ki_object_label_at(b, i, &other_name, &other_value));
        assert_string_equal(name, other_name);
        assert_string_equal(value, other_value);
    }
    assert_int_equal(ki_object_keep(a), ki_object_keep(b));
}

TEST(a_packed_object_gives_what_the_plain_one_gives) {
    stage s;
    begin(&s, &ki_allocator_default, pod);
    assert_true(ki_object_is_packed(s.packed));
    assert_true(ki_object_memory(s.packed) < ki_object_memory(s.plain));
    assert_same_header(s.plain, s.packed);
    assert_same_json(s.plain, s.packed);
    assert_true(ki_object_is_same_state(s.plain, s.packed));
    assert_true(ki_object_is_same_state(s.packed, s.plain));
    assert_int_equal(ki_object_int(s.packed, "spec.count", 0), 12);
    assert_true(ki_object_has_finalizer(s.packed, "example.com/f"));
    assert_false(ki_object_has_finalizer(s.packed, "example.com/g"));
    assert_true(ki_object_is_being_deleted(s.packed));
    char text[16];
    assert_string_equal(ki_object_string(s.packed, "metadata.annotations.note", "", text, sizeof text), "\xc3\xa9");
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_data(s.packed, "k", &value, NULL), KI_OK);
    assert_string_equal(value.text, "v");
    ki_value_clear(&value);
    ki_owner_reference *references;
    size_t count;
    assert_int_equal(ki_object_owner_references(s.packed, &references, &count, NULL), KI_OK);
    assert_int_equal(count, 1);
    assert_string_equal(references->name, "r");
    ki_owner_references_free(references);
    end(&s);
}

static bool is_inside(const ki_object *obj, const void *part) {
    return (uintptr_t)part - (uintptr_t)obj < ki_object_memory(obj);
}

/* The node's name in the view of such objects is one text, which each of them has a reference to. */
TEST(packed_objects_share_the_texts_of_their_views) {
    enum {
        COUNT = 2 * KI_GROUP_OBJECTS
    };
    ki_object_format *format = NULL;
    ki_object *packed[COUNT];
    assert_int_equal(make_format(&ki_allocator_default, &format), KI_OK);
    for (int i = 0; i < COUNT; i++) {
        ki_object *plain = NULL;
        char json[sizeof pod];
        memcpy(json, pod, sizeof pod);
        *(strstr(json, "\"name\":\"a\"") + 8) = (char)('a' + i);
        assert_int_equal(ki_object_format_read(format, json, strlen(json), &plain, NULL), KI_OK);
        packed[i] = ki_object_pack(plain);
        assert_true(ki_object_is_packed(packed[i]));
    }
    const struct pod *view = ki_object_view(packed[COUNT - 1]), *other = ki_object_view(packed[COUNT - 2]);
    assert_ptr_equal(view->node, other->node);
    size_t bytes = ki_object_format_group_bytes(format);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(ki_object_format_group_bytes(format), bytes);
        ki_object_unref(packed[i]);
    }
    assert_int_equal(ki_object_format_group_bytes(format), 0);
    ki_object_format_unref(format);
}

TEST(the_view_of_a_packed_object_is_its_own) {
    stage s;
    begin(&s, &ki_allocator_default, pod);
    ki_object_unref(s.plain); /* nothing may point into it */
    s.plain = NULL;
    const struct pod *view = ki_object_view(s.packed);
    assert_true(is_inside(s.packed, view->node));
    assert_true(is_inside(s.packed, view->containers.items));
    assert_string_equal(view->node, "node-1");
    assert_null(view->absent);
    assert_int_equal(view->count, 12);
    assert_int_equal(view->containers.count, 2);
    const struct container *containers = view->containers.items;
    assert_string_equal(containers[0].name, "c");
    assert_int_equal(containers[0].args.count, 2);
    assert_string_equal(containers[0].args.items[1], "y");
    assert_int_equal(containers[1].args.count, 0);
    assert_string_equal(view->images.items[1], "j:1");
    assert_string_equal(ki_string_map_get(&view->labels, "tier"), "front");
    end(&s);
}

TEST(a_packed_object_has_the_labels_that_only_it_has) {
    stage s;
    char json[sizeof pod];
    ki_object *plain = NULL;
    begin(&s, &ki_allocator_default, pod);
    memcpy(json, pod, sizeof pod);
    memcpy(strstr(json, "front"), "stern", 5);
    assert_int_equal(ki_object_format_read(s.format, json, strlen(json), &plain, NULL), KI_OK);
    ki_object *packed = ki_object_pack(ki_object_ref(plain));
    assert_true(ki_object_is_packed(packed));
    assert_same_json(plain, packed);
    ki_object_unref(plain); /* nothing may point into it */
    const struct pod *view = ki_object_view(packed);
    assert_int_equal(view->labels.count, 2);
    assert_ptr_equal(ki_string_map_get(&view->labels, "tier"), ki_object_label(packed, "tier"));
    assert_string_equal(ki_object_label(packed, "tier"), "stern");
    assert_string_equal(view->node, "node-1");
    ki_object_unref(packed);
    end(&s);
}

TEST(a_packed_object_outlives_its_codec_and_format) {
    stage s;
    begin(&s, &ki_allocator_default, pod);
    ki_object *more[] = { s.plain };
    ki_object_format_train(s.format, more, 1, 1000); /* another codec */
    ki_object *later = ki_object_pack(ki_object_ref(s.plain));
    assert_same_json(s.packed, later);
    assert_true(ki_object_is_same_state(s.packed, later));
    ki_object_format_unref(s.format);
    s.format = NULL;
    assert_same_json(s.packed, s.plain);
    ki_object_unref(later);
    end(&s);
}

TEST(an_object_is_packed_once_and_only_with_a_codec) {
    stage s;
    begin(&s, &ki_allocator_default, pod);
    ki_object *again = ki_object_pack(ki_object_ref(s.packed));
    assert_ptr_equal(again, s.packed);
    ki_object_unref(again);
    end(&s);
    assert_int_equal(ki_object_format_new(NULL, NULL, &s.format, NULL), KI_OK);
    assert_false(ki_object_format_is_due(s.format, SIZE_MAX));
    assert_int_equal(ki_object_format_read(s.format, pod, strlen(pod), &s.plain, NULL), KI_OK);
    s.packed = ki_object_pack(ki_object_ref(s.plain));
    assert_ptr_equal(s.packed, s.plain);
    end(&s);
}

TEST(another_state_is_not_the_same_state) {
    stage s, other;
    begin(&s, &ki_allocator_default, pod);
    char changed[sizeof pod];
    memcpy(changed, pod, sizeof pod);
    memcpy(strstr(changed, "\"count\":12"), "\"count\":13", 10);
    begin(&other, &ki_allocator_default, changed);
    assert_false(ki_object_is_same_state(s.packed, other.packed));
    assert_false(ki_object_is_same_state(s.packed, other.plain));
    assert_false(ki_object_is_same_state(other.plain, s.packed));
    /* A list's items have no kind and apiVersion of their own. */
    end(&other);
    begin(&other, &ki_allocator_default, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}");
    end(&s);
    begin(&s, &ki_allocator_default,
          "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}");
    assert_true(ki_object_is_same_state(s.packed, other.plain));
    end(&s);
    end(&other);
}

TEST(what_cannot_fail_works_without_memory) {
    scarce_memory memory;
    stage s;
    ki_selector *selector = NULL;
    assert_int_equal(ki_selector_new(NULL, "spec.nodeName=node-1", &selector, NULL), KI_OK);
    scarce_memory_init(&memory, SIZE_MAX);
    begin(&s, &memory.allocator, pod);
    assert_true(ki_object_is_packed(s.packed));
    memory.fail_at = atomic_load(&memory.calls);
    memory.forever = true;
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(s.packed, &value, NULL), KI_ERR_NO_MEMORY);
    assert_int_equal(ki_object_field(s.packed, "spec.count", &value, NULL), KI_ERR_NO_MEMORY);
    assert_int_equal(ki_object_int(s.packed, "spec.count", -1), -1);
    assert_true(ki_object_has_finalizer(s.packed, "example.com/f"));
    assert_true(ki_object_is_being_deleted(s.packed));
    assert_true(ki_object_matches(s.packed, selector));
    assert_true(ki_object_is_same_state(s.packed, s.plain));
    ki_object *stays = ki_object_pack(ki_object_ref(s.plain));
    assert_ptr_equal(stays, s.plain);
    ki_object_unref(stays);
    ki_selector_free(selector);
    end(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

static ki_status use_packed(const ki_allocator *allocator) {
    ki_object_format *format = NULL;
    ki_object *plain = NULL, *packed = NULL;
    ki_value value = KI_VALUE_INIT;
    ki_unstructured *copy = NULL;
    ki_status status = make_format(allocator, &format);
    if (!status)
        status = ki_object_format_read(format, pod, strlen(pod), &plain, NULL);
    if (!status) {
        packed = ki_object_pack(ki_object_ref(plain));
        assert_true(ki_object_is_same_state(packed, plain));
        status = ki_object_field(packed, "spec.nodeName", &value, NULL);
    }
    if (!status) {
        copy = ki_unstructured_from_object(packed);
        status = copy ? KI_OK : KI_ERR_NO_MEMORY;
    }
    ki_unstructured_free(copy);
    ki_value_clear(&value);
    ki_object_unref(packed);
    ki_object_unref(plain);
    ki_object_format_unref(format);
    return status;
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_status status = use_packed(&memory.allocator);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
    }
}

TEST(an_object_that_was_written_to_is_reported) {
    stage s;
    begin(&s, &ki_allocator_default, pod);
    ki_packed_body *body = (ki_packed_body *)(uintptr_t)ki_object_packed_body(s.packed);
    memset(body->bytes, 0xff, body->size);
    ki_value value = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_object_json(s.packed, &value, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err),
                        "n/a was changed in place: an object of the cache must not be written to");
    assert_int_equal(ki_object_int(s.packed, "spec.count", -1), -1);
    assert_false(ki_object_has_finalizer(s.packed, "example.com/f"));
    end(&s);
}

/* --- any document ------------------------------------------------------------------------------------------------- */

static void add_value(ki_buffer *json, sim_random *random, int depth);

static void add_string(ki_buffer *json, sim_random *random) {
    static const char *const parts[] = { "name",     "app",     "x",
                                         "\\n",      "\\u0000", "\\ud83d\\ude00",
                                         "\xc3\xa9", "\\\"",    "a longer piece of text",
                                         "/",        "0",       "\\\\" };
    ki_buffer_append_char(json, '"');
    for (uint64_t i = sim_below(random, 5); i > 0; i--)
        ki_buffer_append_string(json, parts[sim_below(random, sizeof parts / sizeof *parts)]);
    ki_buffer_append_char(json, '"');
}

static void add_members(ki_buffer *json, sim_random *random, int depth, bool is_map) {
    for (uint64_t i = sim_below(random, 6), first = i; i > 0; i--) {
        if (i != first)
            ki_buffer_append_char(json, ',');
        if (is_map) {
            add_string(json, random); /* names can repeat */
            ki_buffer_append_char(json, ':');
        }
        add_value(json, random, depth + 1);
    }
}

static void add_value(ki_buffer *json, sim_random *random, int depth) {
    static const char *const scalars[] = { "true", "false",  "null", "0",      "-0",   "1.50",
                                           "1e5",  "1E-300", "-17",  "1E+300", "0.10", "12345678901234567890123" };
    uint64_t kind = sim_below(random, depth < 5 ? 6 : 3);
    if (kind < 2) {
        ki_buffer_append_string(json, scalars[sim_below(random, sizeof scalars / sizeof *scalars)]);
        return;
    }
    if (kind == 2) {
        add_string(json, random);
        return;
    }
    bool is_map = kind > 3;
    ki_buffer_append_char(json, is_map ? '{' : '[');
    add_members(json, random, depth, is_map);
    ki_buffer_append_char(json, is_map ? '}' : ']');
}

static void make_document(ki_buffer *json, sim_random *random) {
    static const char *const heads[] = { "{", "{\"kind\":\"K\",\"apiVersion\":\"v1\",", "{\"apiVersion\":\"v1\"," };
    ki_buffer_reset(json, SIZE_MAX);
    ki_buffer_append_string(json, heads[sim_below(random, 3)]);
    ki_buffer_printf(json, "\"metadata\":{\"name\":\"n%u\",\"resourceVersion\":\"1\",\"labels\":{",
                     (unsigned)sim_below(random, 100));
    for (uint64_t i = 0, count = sim_below(random, 4); i < count; i++)
        ki_buffer_printf(json, "%s\"l%u\":\"v\"", i ? "," : "", (unsigned)i);
    ki_buffer_append_string(json, "},\"extra\":");
    add_value(json, random, 0);
    ki_buffer_append_string(json, "},\"spec\":");
    add_value(json, random, 0);
    ki_buffer_append_string(json, ",\"status\":");
    add_value(json, random, 0);
    ki_buffer_append_char(json, '}');
}

/* KI_TEST_DOCUMENTS: their number. */
static uint64_t documents(void) {
    const char *given = getenv("KI_TEST_DOCUMENTS");
    return given ? strtoull(given, NULL, 10) : 5000;
}

TEST(any_document_comes_out_as_it_went_in) {
    sim_random random = sim_random_from(1, 1);
    ki_object_format *format = NULL;
    ki_buffer json;
    uint64_t packed_count = 0, count = documents();
    ki_buffer_init(&json, &ki_allocator_default, 0);
    assert_int_equal(make_format(&ki_allocator_default, &format), KI_OK);
    for (uint64_t i = 0; i < count; i++) {
        ki_object *plain = NULL;
        make_document(&json, &random);
        ki_error err = KI_ERROR_INIT;
        if (ki_object_format_read(format, json.data, json.size, &plain, &err))
            fail_msg("%s: %s", ki_error_message(&err), json.data);
        ki_object *packed = ki_object_pack(ki_object_ref(plain));
        assert_same_header(plain, packed);
        ki_value value = KI_VALUE_INIT;
        assert_int_equal(ki_object_json(packed, &value, NULL), KI_OK);
        assert_int_equal(value.text_size, json.size);
        assert_memory_equal(value.text, json.data, json.size);
        ki_value_clear(&value);
        assert_true(ki_object_is_same_state(plain, packed));
        packed_count += ki_object_is_packed(packed);
        if (sim_chance(&random, 1))
            ki_object_format_train(format, &packed, 1, i);
        ki_object_unref(packed);
        ki_object_unref(plain);
    }
    assert_true(packed_count > count / 2);
    ki_buffer_free(&json);
    ki_object_format_unref(format);
}

/* --- when a codec is made ----------------------------------------------------------------------------------------- */

static void train(ki_body_packer *packer, const char *kind, size_t cache_bytes) {
    static char texts[BODY_SAMPLES][BODY_SIZE];
    ki_str samples[BODY_SAMPLES];
    for (unsigned i = 0; i < BODY_SAMPLES; i++)
        samples[i] = body_of(texts[i], i, kind);
    ki_body_packer_train(packer, samples, BODY_SAMPLES, cache_bytes);
}

TEST(a_codec_follows_growth) {
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    ki_body_packer packer;
    ki_body_base *base = NULL;
    char text[BODY_SIZE];
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 10000);
    assert_int_equal(ki_body_packer_pack(&packer, KI_STR("n/a"), KI_STR("{}"), &base), KI_ERR_NOT_FOUND);
    assert_false(ki_body_packer_is_due(&packer, 9999));
    assert_true(ki_body_packer_is_due(&packer, 10000));
    train(&packer, "One", 10000);
    const ki_body_codec *first = packer.codec;
    assert_non_null(first);
    assert_false(ki_body_packer_is_due(&packer, 39999));
    assert_true(ki_body_packer_is_due(&packer, 40000));
    /* Bodies of another kind change nothing of that: they have bases of their own. */
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(ki_body_packer_pack(&packer, KI_STR("n/b-1"), body_of(text, i, "Other"), &base), KI_OK);
    assert_false(ki_body_packer_is_due(&packer, 39999));
    train(&packer, "Other", 40000);
    assert_ptr_not_equal(packer.codec, first);
    assert_int_equal(packer.bases.by_name.count, 0); /* bases are of one codec */
    assert_false(ki_body_packer_is_due(&packer, 159999));
    assert_true(ki_body_packer_is_due(&packer, 160000));
    ki_body_packer_free(&packer);
    ki_body_contexts_unref(contexts);
}

TEST(bodies_are_packed_up_to_a_size) {
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    ki_body_packer packer;
    ki_body_base *base = NULL;
    size_t huge = KI_BODY_PACKED_MAX;
    char *body = malloc(huge + 1);
    assert_non_null(body);
    for (size_t i = 0; i <= huge; i++)
        body[i] = "huge body, "[i % 11];
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 1);
    train(&packer, "One", 1);
    assert_int_equal(ki_body_packer_pack(&packer, KI_STR("n/a"), (ki_str){ body, huge }, &base), KI_OK);
    assert_int_equal(ki_body_packer_pack(&packer, KI_STR("n/a"), (ki_str){ body, huge + 1 }, &base), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_body_packer_pack(&packer, KI_STR("n/a"), KI_STR(""), &base), KI_ERR_NOT_FOUND);
    ki_body_packer_free(&packer);
    ki_body_contexts_unref(contexts);
    free(body);
}

TEST(without_contexts_or_bodies_there_is_no_codec) {
    ki_body_packer packer;
    ki_body_packer_init(&packer, &ki_allocator_default, NULL, 1);
    assert_false(ki_body_packer_is_due(&packer, SIZE_MAX));
    ki_body_packer_free(&packer);
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 1);
    ki_body_packer_train(&packer, NULL, 0, 100);
    assert_null(packer.codec);
    assert_false(ki_body_packer_is_due(&packer, 125));
    assert_true(ki_body_packer_is_due(&packer, 126));
    ki_body_packer_free(&packer);
    ki_body_contexts_unref(contexts);
}
