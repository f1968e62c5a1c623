/* Packed objects of one owner have a base in common, which lives as long as one of them; reading them fails only where
 * it may, and takes no lock. */
#include <kinformer/selector.h>
#include <kinformer/unstructured.h>

#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/object.h"
#include "src/object/object_memory.h"
#include "src/object/pack.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LARGE_POD = 4096 /* bytes of the memory for the JSON of a pod that is not small */
};

/* Writes the JSON of a pod. Those of one owner are alike. */
static const char *large_pod(char *to, const char *owner, unsigned number) {
    size_t size = (size_t)snprintf(
        to, LARGE_POD,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"n\",\"uid\":\"%08x\","
        "\"resourceVersion\":\"%u\",\"finalizers\":[\"example.com/f\"],\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
        "\"spec\":{\"nodeName\":\"node-%u\",\"count\":%u,\"containers\":[",
        owner, number, number * 2654435761u, number + 1, number % 5, number);
    for (unsigned i = 0; i < 50; i++)
        size += (size_t)snprintf(to + size, LARGE_POD - size, "{\"name\":\"%s-%u\",\"image\":\"%s:%u\"},", owner, i,
                                 owner, i * 31);
    snprintf(to + size, LARGE_POD - size, "{}]}}");
    return to;
}

static ki_object *read_pod(ki_object_format *format, const char *owner, unsigned number) {
    char json[LARGE_POD];
    ki_object *plain = NULL;
    large_pod(json, owner, number);
    assert_int_equal(ki_object_format_read(format, json, strlen(json), &plain, NULL), KI_OK);
    return plain;
}

/* Makes a format with a codec of some pods. */
static ki_status format_with_codec(const ki_allocator *allocator, ki_object_format **ret_format) {
    enum {
        COUNT = 8
    };
    ki_object *pods[COUNT];
    ki_object_format *format = NULL;
    ki_status status = ki_object_format_new(allocator, NULL, &format, NULL);
    if (status)
        return status;
    ki_body_contexts *contexts = ki_body_contexts_new(allocator);
    assert_non_null(contexts);
    ki_object_format_set_pack(format, contexts, 1);
    ki_body_contexts_unref(contexts);
    for (unsigned i = 0; i < COUNT; i++)
        pods[i] = read_pod(format, i % 2 ? "web" : "db", 1000 + i);
    ki_object_format_train(format, pods, COUNT, 1000000);
    for (unsigned i = 0; i < COUNT; i++)
        ki_object_unref(pods[i]);
    *ret_format = format;
    return KI_OK;
}

static ki_object *pack_pod(ki_object_format *format, const char *owner, unsigned number) {
    ki_object *packed = ki_object_pack(read_pod(format, owner, number));
    assert_true(ki_object_is_packed(packed));
    return packed;
}

static const ki_body_base *base_of(const ki_object *packed) {
    return ki_object_packed_body(packed)->base;
}

static void assert_is_pod(const ki_object *obj, const char *owner, unsigned number) {
    char json[LARGE_POD];
    ki_value value = KI_VALUE_INIT;
    large_pod(json, owner, number);
    assert_int_equal(ki_object_json(obj, &value, NULL), KI_OK);
    assert_string_equal(value.text, json);
    ki_value_clear(&value);
}

TEST(objects_outlive_their_base_in_the_format_the_codec_and_the_format) {
    enum {
        COUNT = 10
    };
    ki_object_format *format = NULL;
    ki_object *pods[COUNT];
    assert_int_equal(format_with_codec(&ki_allocator_default, &format), KI_OK);
    for (unsigned i = 0; i < COUNT; i++) {
        pods[i] = pack_pod(format, "web", i);
        assert_true(i < 2 || base_of(pods[i]) == base_of(pods[1]));
        assert_true(i == 0 || ki_object_packed_body(pods[i])->size < 150);
    }
    ki_object *unlike = pack_pod(format, "web", 100), *other = pack_pod(format, "db", 100);
    assert_ptr_equal(base_of(unlike), base_of(pods[1]));
    assert_ptr_equal(base_of(other), base_of(pods[0])); /* the common base */
    assert_ptr_not_equal(base_of(pods[0]), base_of(pods[1]));
    ki_object_format_train(format, pods, COUNT, 1000);
    ki_object *later = pack_pod(format, "web", 7);
    assert_ptr_not_equal(base_of(later), base_of(pods[7]));
    assert_ptr_not_equal(base_of(later)->codec, base_of(pods[7])->codec);
    assert_true(ki_object_is_same_state(later, pods[7]));
    ki_object_format_unref(format);
    assert_is_pod(later, "web", 7);
    assert_is_pod(unlike, "web", 100);
    assert_is_pod(other, "db", 100);
    ki_object_unref(later);
    ki_object_unref(unlike);
    ki_object_unref(other);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_is_pod(pods[COUNT - 1], "web", COUNT - 1);
        assert_is_pod(pods[i], "web", i);
        if (i < COUNT - 1)
            ki_object_unref(pods[i]);
    }
    ki_object_unref(pods[COUNT - 1]);
}

TEST(an_object_is_never_larger_when_packed) {
    ki_object_format *format = NULL;
    assert_int_equal(format_with_codec(&ki_allocator_default, &format), KI_OK);
    ki_object *kept = NULL; /* the first small body that packs is the base of the others */
    for (unsigned size = 900; size > 10; size -= 10) {
        char json[LARGE_POD];
        size_t used = (size_t)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a\"},\"data\":\"");
        for (unsigned i = 0; i < size; i++)
            json[used++] = size == 900 ? 'a' : (char)('A' + (size * 31 + i * i * 2654435761u % 1009) % 52 % 26);
        used += (size_t)snprintf(json + used, sizeof json - used, "\"}");
        ki_object *plain = NULL;
        assert_int_equal(ki_object_format_read(format, json, used, &plain, NULL), KI_OK);
        size_t before = ki_object_memory(plain);
        ki_object *packed = ki_object_pack(plain);
        assert_true(ki_object_memory(packed) <= before);
        ki_object_unref(kept);
        kept = packed;
    }
    ki_object_unref(kept);
    ki_object_format_unref(format);
}

TEST(a_large_object_leaves_no_large_buffer) {
    enum {
        SIZE = 1000000
    };
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    char *json = malloc(SIZE);
    assert_non_null(json);
    assert_int_equal(format_with_codec(&ki_allocator_default, &format), KI_OK);
    size_t used = (size_t)snprintf(json, SIZE, "{\"metadata\":{\"name\":\"huge\"},\"data\":{\"text\":\"");
    for (; used < SIZE - 4; used++)
        json[used] = (char)('a' + used * 7919 % 23);
    memcpy(json + used, "\"}}", 3);
    assert_int_equal(ki_object_format_read(format, json, used + 3, &obj, NULL), KI_OK);
    obj = ki_object_pack(obj);
    assert_true(ki_object_is_packed(obj));
    assert_true(format->packer.delta.capacity <= 65536);
    assert_true(format->packer.packed.capacity <= 65536);
    ki_object_unref(obj);
    ki_object_format_unref(format);
    free(json);
}

static size_t dictionaries_of(const ki_object_format *format, const ki_object *obj) {
    ki_object_memory_sum sum = { .codec_count = 0 };
    if (obj)
        ki_object_add_memory(obj, &sum);
    ki_object_format_add_memory(format, &sum);
    return sum.memory.dictionaries;
}

static size_t size_of_base(const ki_body_base *base) {
    size_t size = offsetof(ki_body_base, packed) + base->packed_size;
    return size > sizeof *base ? size : sizeof *base;
}

TEST(bases_are_counted_as_long_as_an_object_has_them) {
    scarce_memory memory;
    ki_object_format *format = NULL;
    scarce_memory_init(&memory, SIZE_MAX);
    assert_int_equal(format_with_codec(&memory.allocator, &format), KI_OK);
    size_t codec = dictionaries_of(format, NULL);
    assert_int_equal(codec, ki_body_codec_memory(format->packer.codec));
    ki_object *pods[] = { pack_pod(format, "web", 1), pack_pod(format, "web", 2), pack_pod(format, "web", 3) };
    const ki_body_base *common = base_of(pods[0]), *web = base_of(pods[2]);
    size_t common_size = size_of_base(common), web_size = size_of_base(web);
    assert_ptr_equal(base_of(pods[1]), web);
    assert_ptr_not_equal(common, web);
    /* Also their names and texts, which the next objects are packed with. */
    assert_true(dictionaries_of(format, pods[0]) > codec + web_size + web->size + common_size + common->size);
    size_t bytes = dictionaries_of(format, NULL);
    ki_object *another = pack_pod(format, "web", 4);
    assert_int_equal(dictionaries_of(format, NULL), bytes); /* it has the same base */
    ki_object_unref(another);
    ki_object *plain = read_pod(format, "web", 5);
    ki_object_format_train(format, &plain, 1, 1000); /* another codec: the bases are those of objects alone */
    ki_object_unref(plain);
    codec = ki_body_codec_memory(format->packer.codec);
    assert_int_equal(dictionaries_of(format, NULL), codec + web_size + common_size);
    ki_object_unref(pods[1]);
    assert_int_equal(dictionaries_of(format, NULL), codec + web_size + common_size);
    ki_object_unref(pods[0]);
    assert_int_equal(dictionaries_of(format, NULL), codec + web_size);
    ki_object_unref(pods[2]);
    assert_int_equal(dictionaries_of(format, NULL), codec);
    ki_object_format_unref(format);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(what_cannot_fail_works_without_memory_for_the_base_and_the_delta) {
    scarce_memory memory;
    ki_object_format *format = NULL;
    ki_selector *selector = NULL;
    assert_int_equal(ki_selector_new(NULL, "spec.nodeName=node-2", &selector, NULL), KI_OK);
    scarce_memory_init(&memory, SIZE_MAX);
    assert_int_equal(format_with_codec(&memory.allocator, &format), KI_OK);
    ki_object *plain = read_pod(format, "web", 2), *other = read_pod(format, "web", 3);
    ki_object_unref(pack_pod(format, "web", 0)); /* the next one makes the base */
    ki_object *pods[] = { pack_pod(format, "web", 1), pack_pod(format, "web", 2) };
    assert_true(ki_object_packed_body(pods[0])->delta_size ==
                ki_object_packed_body(pods[0])->size); /* the base itself */
    memory.fail_at = atomic_load(&memory.calls);
    memory.forever = true;
    for (size_t i = 0; i < 2; i++) {
        ki_value value = KI_VALUE_INIT;
        assert_int_equal(ki_object_json(pods[i], &value, NULL), KI_ERR_NO_MEMORY);
        assert_true(ki_object_has_finalizer(pods[i], "example.com/f"));
        assert_false(ki_object_has_finalizer(pods[i], "example.com/g"));
        assert_true(ki_object_is_being_deleted(pods[i]));
        assert_int_equal(ki_object_matches(pods[i], selector), i == 1);
        assert_int_equal(ki_object_is_same_state(pods[i], plain), i == 1);
        assert_false(ki_object_is_same_state(pods[i], other));
    }
    assert_true(scarce_memory_failed(&memory));
    ki_object_unref(pods[0]);
    ki_object_unref(pods[1]);
    ki_object_unref(plain);
    ki_object_unref(other);
    ki_object_format_unref(format);
    ki_selector_free(selector);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

/* Packs an object: `is_packed` says whether there was memory. */
static void pack_again(ki_object *const *plain, size_t count, const char *owner, bool is_packed) {
    for (unsigned i = 0; i < count; i++) {
        ki_object *packed = ki_object_pack(ki_object_ref(plain[i]));
        assert_true(ki_object_is_packed(packed) || !is_packed);
        assert_true(ki_object_is_same_state(packed, plain[i]));
        if (is_packed)
            assert_is_pod(packed, owner, i);
        ki_object_unref(packed);
    }
}

TEST(each_allocation_for_bases_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        ki_object_format *format = NULL;
        assert_int_equal(format_with_codec(&memory.allocator, &format), KI_OK);
        ki_object *plain[3], *packed[2];
        for (unsigned i = 0; i < 3; i++)
            plain[i] = read_pod(format, "web", i);
        scarce_memory_begin(&memory);
        pack_again(plain, 3, "web", false);
        for (unsigned i = 0; i < 2; i++)
            packed[i] = ki_object_pack(ki_object_ref(plain[i]));
        const ki_body_codec *before = format->packer.codec;
        ki_object_format_train(format, packed, 2, 1000);
        assert_true(format->packer.codec != before || scarce_memory_failed(&memory));
        pack_again(plain, 3, "web", !scarce_memory_failed(&memory));
        memory.fail_at = SIZE_MAX;
        pack_again(plain, 3, "web", true); /* with memory again */
        for (unsigned i = 0; i < 2; i++) {
            assert_is_pod(packed[i], "web", i);
            ki_object_unref(packed[i]);
        }
        for (unsigned i = 0; i < 3; i++)
            ki_object_unref(plain[i]);
        ki_object_format_unref(format);
    }
}

TEST(a_codec_that_is_made_of_packed_objects_packs_no_worse) {
    enum {
        COUNT = KI_BODY_SAMPLES_MAX
    };
    ki_object_format *format = NULL;
    ki_object *pods[COUNT];
    size_t before = 0, after = 0;
    assert_int_equal(format_with_codec(&ki_allocator_default, &format), KI_OK);
    for (unsigned i = 0; i < COUNT; i++)
        pods[i] = pack_pod(format, i % 3 ? "web" : "db", i);
    ki_object_format_train(format, pods, COUNT, 1000);
    for (unsigned i = 0; i < COUNT; i++) {
        ki_object *again = pack_pod(format, i % 3 ? "web" : "db", i);
        assert_is_pod(again, i % 3 ? "web" : "db", i);
        before += ki_object_packed_body(pods[i])->size;
        after += ki_object_packed_body(again)->size;
        ki_object_unref(again);
        ki_object_unref(pods[i]);
    }
    assert_true(after <= before);
    ki_object_format_unref(format);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum {
    READERS = 3,
    PLACES = 8,
    HANDED_OUT = 4000 /* objects */
};

/* Objects on their way from the loop to readers. */
typedef struct hand_over {
    _Atomic(ki_object *) places[PLACES];
    atomic_bool is_over;
    ki_object *shared[PLACES];              /* that all readers read */
    char handed_over[24], a_shared_one[24]; /* what was not whole */
} hand_over;

/* Returns true if the pod is the one that its name says. */
static bool is_whole(const ki_object *obj) {
    char owner[16], json[LARGE_POD];
    const char *name = ki_object_name(obj), *dash = strchr(name, '-');
    ki_value value = KI_VALUE_INIT;
    snprintf(owner, sizeof owner, "%.*s", (int)(dash - name), name);
    large_pod(json, owner, (unsigned)strtoul(dash + 1, NULL, 10));
    bool is_equal = !ki_object_json(obj, &value, NULL) && strcmp(value.text, json) == 0;
    ki_value_clear(&value);
    return is_equal && ki_object_has_finalizer(obj, "example.com/f");
}

static void *read_objects(void *user) {
    hand_over *all = user;
    for (size_t i = 0; !atomic_load(&all->is_over); i++) {
        ki_object *obj = atomic_exchange(&all->places[i % PLACES], NULL);
        if (obj) {
            if (!is_whole(obj))
                return all->handed_over;
            ki_object_unref(obj); /* often the last one of its base */
        }
        if (!is_whole(all->shared[i % PLACES]))
            return all->a_shared_one;
    }
    return NULL;
}

TEST(threads_read_and_release_objects_while_the_loop_packs_and_makes_codecs) {
    static const char *const owners[] = { "web", "db", "cart", "pay" };
    static hand_over all = { .handed_over = "an object handed over", .a_shared_one = "a shared object" };
    ki_object_format *format = NULL;
    pthread_t threads[READERS];
    assert_int_equal(format_with_codec(&ki_allocator_default, &format), KI_OK);
    for (unsigned i = 0; i < PLACES; i++)
        all.shared[i] = pack_pod(format, owners[i % 4], i);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_objects, &all), 0);
    for (unsigned i = 0; i < HANDED_OUT; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "%s%u", owners[i % 4], i / 50); /* new names, so that bases are swept */
        ki_object *before = atomic_exchange(&all.places[i % PLACES], pack_pod(format, owner, i));
        if (before) {
            assert_true(is_whole(before));
            ki_object_unref(before);
        }
        if (i % 500 == 499)
            ki_object_format_train(format, all.shared, PLACES, i);
    }
    atomic_store(&all.is_over, true);
    for (size_t i = 0; i < READERS; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        if (failed)
            fail_msg("%s is not whole", (const char *)failed);
    }
    for (size_t i = 0; i < PLACES; i++) {
        ki_object_unref(all.shared[i]);
        ki_object_unref(atomic_exchange(&all.places[i], NULL));
    }
    ki_object_format_unref(format);
}
