/* Objects of one owner share a base, objects that are not like it make the next one; what is kept has bounds, and ends
 * with the last object. */
#include "src/base/memory.h"
#include "src/object/body_bases.h"
#include "src/object/body_delta.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/unit/object/bodies.h"

#include <stdlib.h>
#include <string.h>

typedef struct stage {
    scarce_memory memory;
    ki_body_contexts *contexts;
    ki_body_codec *codec;
    ki_body_bases bases;
    ki_buffer delta;
} stage;

/* Begins with bases of a large cache. */
static void begin(stage *s) {
    scarce_memory_init(&s->memory, SIZE_MAX);
    s->contexts = ki_body_contexts_new(&s->memory.allocator);
    assert_int_equal(make_codec(s->contexts, BODY_SAMPLES, &s->codec), KI_OK);
    ki_body_bases_init(&s->bases, &s->memory.allocator);
    ki_body_bases_clear(&s->bases, SIZE_MAX);
    ki_buffer_init(&s->delta, &s->memory.allocator, 0);
}

static void end(stage *s) {
    ki_body_bases_free(&s->bases);
    ki_buffer_free(&s->delta);
    ki_body_codec_unref(s->codec);
    ki_body_contexts_unref(s->contexts);
    assert_int_equal(atomic_load(&s->bases.bytes), 0);
    assert_int_equal(scarce_memory_in_use(&s->memory), 0);
}

/* Returns the base of the object with this key and body, borrowed; checks that the body comes back from `s->delta`. */
static ki_body_base *base_of(stage *s, const char *key, ki_str body) {
    ki_body_base *base = NULL;
    assert_int_equal(ki_body_bases_delta(&s->bases, s->codec, ki_str_of(key), body, &s->delta, &base), KI_OK);
    char *text = malloc(base->size), *out = malloc(body.size);
    assert_non_null(text);
    assert_non_null(out);
    assert_int_equal(ki_body_base_read(base, text), KI_OK);
    ki_str delta = { s->delta.data, s->delta.size };
    assert_true(ki_body_delta_apply((ki_str){ text, base->size }, delta, out, body.size));
    assert_memory_equal(out, body.data, body.size);
    free(text);
    free(out);
    return base;
}

static ki_body_base *base_of_number(stage *s, const char *key, unsigned number, const char *kind) {
    char text[BODY_SIZE];
    ki_str body = body_of(text, number, kind);
    assert_true(body.size > KI_BODY_SMALL);
    return base_of(s, key, body);
}

/* The same, of an owner with another object before, which has the same body. */
static ki_body_base *second_base_of(stage *s, const char *key, ki_str body) {
    char first[64];
    snprintf(first, sizeof first, "%s-first", key);
    (void)base_of(s, first, body);
    return base_of(s, key, body);
}

static ki_body_base *second_base_of_number(stage *s, const char *key, unsigned number, const char *kind) {
    char text[BODY_SIZE];
    return second_base_of(s, key, body_of(text, number, kind));
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *key, *name;
} names[] = {
    { "shop/cart-5b2gv7q5r9-mdgxn", "shop/cart" },
    { "shop/cart-api-5b2gv7q5r9-mdgxn", "shop/cart-api" },
    { "shop/backup-28912345-x7k2p", "shop/backup" },
    { "shop/db-0", "shop/db" },
    { "shop/cart", "shop/cart" },
    { "shop/a-b", "shop/a" },
    { "shop/a-b-c", "shop/a" },
    { "shop/a-b-c-d", "shop/a-b" },
    { "my-shop/cart", "my-shop/cart" },
    { "my-shop/cart-1", "my-shop/cart" },
    { "node-pool-1-a", "node-pool" },
    { "node1", "node1" },
    { "widgets.example.com", "widgets" },
    { "my-widgets-a-b.example.com", "my-widgets" },
    { "shop/cart.17f3a2", "shop/cart" },
    { "shop/cart-5b2gv7q5r9-mdgxn.17f3a2", "shop/cart" },
    /* Not names of Kubernetes. */
    { "shop/", "shop/" },
    { "shop/-", "shop/-" },
    { "shop/-a", "shop/-a" },
    { "shop/a-", "shop/a" },
    { "shop/--", "shop/-" },
    { "shop/.a", "shop/" },
    { "-", "-" },
    { "/", "/" },
    { ".", "" },
    { "", "" },
};

TEST(objects_of_one_owner_have_one_name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ki_str name = ki_body_bases_name(ki_str_of(names[i].key));
        if (!ki_str_equals(name, names[i].name))
            fail_msg("%s: %.*s", names[i].key, (int)name.size, name.data);
    }
}

/* --- which base --------------------------------------------------------------------------------------------------- */

TEST(the_second_object_of_an_owner_becomes_the_base_of_the_next_ones) {
    stage s;
    begin(&s);
    ki_body_base *common = base_of_number(&s, "shop/cart-5b2gv7q5r9-mdgxn", 1, "Sample");
    assert_int_equal(common->size, KI_BODY_SMALL);
    ki_body_base *base = base_of_number(&s, "shop/cart-5b2gv7q5r9-xxxxx", 2, "Sample");
    assert_ptr_not_equal(base, common);
    assert_int_equal(s.delta.size, 2); /* it is the base itself */
    assert_ptr_equal(base_of_number(&s, "shop/cart-77777-yyyyy", 3, "Sample"), base);
    assert_true(s.delta.size < 40);
    assert_ptr_equal(base_of_number(&s, "shop/pay-5b2gv7q5r9-mdgxn", 4, "Sample"), common);
    assert_ptr_equal(base_of_number(&s, "other/cart-5b2gv7q5r9-mdgxn", 5, "Sample"), common);
    assert_ptr_equal(base_of_number(&s, "shop/cart-88888-zzzzz", 6, "Sample"), base);
    assert_int_equal(s.bases.by_name.count, 2);
    end(&s);
}

TEST(an_object_that_changes_is_no_second_one) {
    stage s;
    begin(&s);
    ki_body_base *common = base_of_number(&s, "shop/cart", 1, "Sample");
    assert_ptr_equal(base_of_number(&s, "shop/cart", 2, "Sample"), common);
    assert_ptr_equal(base_of_number(&s, "shop/cart", 3, "Sample"), common);
    assert_int_equal(s.bases.by_name.count, 1);
    assert_ptr_not_equal(base_of_number(&s, "shop/cart-1", 4, "Sample"), common);
    end(&s);
}

TEST(the_second_body_unlike_its_base_makes_the_next_one) {
    stage s;
    begin(&s);
    ki_body_base *first = ki_body_base_ref(second_base_of_number(&s, "shop/cart", 1, "Sample"));
    ki_body_base *common = base_of_number(&s, "shop/cart-2", 2, "Other");
    assert_int_equal(common->size, KI_BODY_SMALL);
    assert_ptr_equal(base_of_number(&s, "shop/cart-3", 3, "Sample"), first);
    ki_body_base *next = base_of_number(&s, "shop/cart-4", 4, "Other");
    assert_ptr_not_equal(next, first);
    assert_int_equal(s.delta.size, 2);
    assert_ptr_equal(base_of_number(&s, "shop/cart-5", 5, "Other"), next);
    assert_int_equal(s.bases.by_name.count, 2);
    char out[BODY_SIZE], text[BODY_SIZE]; /* an object has the first one still */
    assert_int_equal(ki_body_base_read(first, out), KI_OK);
    assert_memory_equal(out, body_of(text, 1, "Sample").data, first->size);
    size_t bytes = atomic_load(&s.bases.bytes);
    ki_body_base_unref(first);
    assert_true(atomic_load(&s.bases.bytes) < bytes);
    end(&s);
}

TEST(small_bodies_have_the_common_base_whatever_their_names) {
    enum {
        SMALL_COUNT = 20
    };
    stage s;
    begin(&s);
    ki_body_base *base = NULL;
    for (unsigned i = 0; i < SMALL_COUNT; i++) {
        char text[KI_BODY_SMALL + 1], key[32];
        snprintf(key, sizeof key, "shop/map%u", i);
        memset(text, 'a' + (int)i, KI_BODY_SMALL);
        size_t size = i ? KI_BODY_SMALL - 40 * i : KI_BODY_SMALL;
        ki_body_base *found = base_of(&s, key, (ki_str){ text, size });
        assert_true(!base || found == base);
        base = found;
    }
    assert_int_equal(s.bases.by_name.count, 1);
    char large[KI_BODY_SMALL + 1];
    memset(large, 'a', sizeof large);
    assert_ptr_equal(base_of(&s, "shop/map0", (ki_str){ large, sizeof large }), base);
    assert_ptr_not_equal(second_base_of(&s, "shop/map0", (ki_str){ large, sizeof large }), base);
    assert_int_equal(s.bases.by_name.count, 2);
    end(&s);
}

/* Each reader unpacks the base. */
TEST(a_body_has_no_base_that_is_far_larger) {
    stage s;
    char *large = malloc(1000000), small[BODY_SIZE];
    assert_non_null(large);
    begin(&s);
    ki_str body = body_of(small, 1, "Sample");
    memset(large, ' ', 1000000);
    memcpy(large, body.data, body.size);
    assert_int_equal(second_base_of(&s, "shop/cart-large", (ki_str){ large, 1000000 })->size, 1000000);
    assert_true(base_of(&s, "shop/cart-1", body)->size <= 4 * body.size);
    assert_int_equal(second_base_of(&s, ".x", (ki_str){ large, 1000000 })->size, 1000000); /* its name is empty */
    assert_true(base_of(&s, "shop/cart-2", (ki_str){ small, 600 })->size <= KI_BODY_SMALL);
    free(large);
    end(&s);
}

TEST(a_body_that_can_be_no_base_leaves_none) {
    stage s;
    begin(&s);
    char noise[2000];
    unsigned random = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    static const char *const keys[] = { "shop/cart-1", "shop/cart-2" }; /* no common base, and no base of the owner */
    for (size_t i = 0; i < 2; i++) {
        ki_body_base *base = NULL;
        const ki_str body = { noise, sizeof noise };
        assert_int_equal(ki_body_bases_delta(&s.bases, s.codec, ki_str_of(keys[i]), body, &s.delta, &base),
                         KI_ERR_LIMIT);
        assert_int_equal(s.bases.by_name.count, 0);
    }
    (void)second_base_of_number(&s, "shop/cart", 4, "Sample");
    end(&s);
}

/* --- how much is kept --------------------------------------------------------------------------------------------- */

/* Makes a body of `size` bytes; another `with` has nothing in common. */
static ki_str text_of(char *to, size_t size, unsigned with) {
    for (size_t i = 0; i < size; i++)
        to[i] = (char)('!' + (with * 31 + i % 8) % 90);
    return (ki_str){ to, size };
}

TEST(the_texts_of_bases_have_a_bound) {
    enum {
        TEXT_SIZE = 50000,
        NAMES = 30
    };
    stage s;
    begin(&s);
    char *text = malloc(TEXT_SIZE), key[32];
    assert_non_null(text);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < NAMES; i++) {
            snprintf(key, sizeof key, "shop/owner%u", i);
            (void)second_base_of(&s, key, text_of(text, TEXT_SIZE, i));
            assert_true(s.bases.text_bytes <= KI_BODY_TEXTS_MAX);
            size_t bytes = 0;
            for (const ki_named_base *named = s.bases.texts; named; named = named->next)
                bytes += named->base->size;
            assert_int_equal(bytes, s.bases.text_bytes);
        }
    }
    assert_int_equal(s.bases.by_name.count, NAMES + 1);
    assert_int_equal(s.bases.text_bytes / TEXT_SIZE, KI_BODY_TEXTS_MAX / TEXT_SIZE);
    /* The one that was used last stays. */
    (void)base_of(&s, "shop/owner0", text_of(text, TEXT_SIZE, 0));
    assert_int_equal(s.bases.texts->name_size, strlen("shop/owner0"));
    free(text);
    end(&s);
}

TEST(the_texts_of_bases_take_a_part_of_the_cache) {
    enum {
        CACHE = 16 * 1000 * KI_BODY_TEXTS_PART,
        TEXT_SIZE = 4000
    };
    stage s;
    char text[TEXT_SIZE], key[32];
    begin(&s);
    ki_body_bases_clear(&s.bases, CACHE);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(key, sizeof key, "shop/owner%u", i);
        (void)second_base_of(&s, key, text_of(text, TEXT_SIZE, i));
        assert_true(s.bases.text_bytes <= CACHE / KI_BODY_TEXTS_PART);
    }
    assert_true(s.bases.text_bytes > CACHE / KI_BODY_TEXTS_PART - TEXT_SIZE);
    end(&s);
}

TEST(one_text_larger_than_the_bound_is_kept_until_the_next) {
    stage s;
    begin(&s);
    size_t size = 2 * KI_BODY_TEXTS_MAX;
    char *text = malloc(size);
    assert_non_null(text);
    ki_body_base *base = second_base_of(&s, "shop/huge", text_of(text, size, 1));
    assert_ptr_equal(base_of(&s, "shop/huge-2", text_of(text, size, 1)), base);
    assert_int_equal(s.bases.text_bytes, size);
    ki_str other = text_of(text, 5000, 2);
    (void)second_base_of(&s, "shop/other", other);
    assert_int_equal(s.bases.text_bytes, 5000 + KI_BODY_SMALL);
    free(text);
    end(&s);
}

TEST(bytes_are_those_of_the_allocator) {
    stage s;
    begin(&s);
    (void)second_base_of_number(&s, "shop/warm", 1, "Sample"); /* buffers and zstd's contexts have their sizes now */
    size_t bytes = atomic_load(&s.bases.bytes), in_use = atomic_load(&s.memory.bytes);
    size_t blocks = scarce_memory_in_use(&s.memory);
    for (unsigned i = 0; i < 3; i++) {
        char key[32];
        snprintf(key, sizeof key, "shop/owner%u", i);
        (void)second_base_of_number(&s, key, i, "Sample");
    }
    assert_true(atomic_load(&s.bases.bytes) > bytes);
    bytes = atomic_load(&s.bases.bytes) - bytes;
    blocks = scarce_memory_in_use(&s.memory) - blocks;
    assert_in_range(atomic_load(&s.memory.bytes) - in_use, bytes, bytes + blocks * BODY_ROUNDED_UP);
    end(&s);
}

TEST(bytes_are_those_of_the_allocator_with_many_names) {
    stage s;
    begin(&s);
    (void)second_base_of_number(&s, "shop/warm", 299, "Sample"); /* buffers have their sizes now */
    size_t bytes = atomic_load(&s.bases.bytes), in_use = atomic_load(&s.memory.bytes);
    size_t blocks = scarce_memory_in_use(&s.memory);
    ki_body_base *held[300];
    for (unsigned i = 0; i < 300; i++) {
        char key[32];
        snprintf(key, sizeof key, "shop/owner%u", i);
        held[i] = ki_body_base_ref(second_base_of_number(&s, key, i, "Sample"));
    }
    bytes = atomic_load(&s.bases.bytes) - bytes;
    blocks = scarce_memory_in_use(&s.memory) - blocks;
    assert_in_range(atomic_load(&s.memory.bytes) - in_use, bytes, bytes + blocks * BODY_ROUNDED_UP);
    for (unsigned i = 0; i < 300; i++)
        ki_body_base_unref(held[i]);
    end(&s);
}

TEST(bases_that_no_object_has_are_freed) {
    enum {
        OWNERS = 5000,
        HELD = 20
    };
    stage s;
    ki_body_base *held[HELD];
    char key[32];
    begin(&s);
    for (unsigned i = 0; i < HELD; i++) {
        snprintf(key, sizeof key, "shop/held%u", i);
        held[i] = ki_body_base_ref(second_base_of_number(&s, key, i, "Sample"));
    }
    size_t most = 0;
    for (unsigned i = 0; i < OWNERS; i++) {
        snprintf(key, sizeof key, "shop/owner%u", i);
        (void)second_base_of_number(&s, key, i, "Sample");
        ki_body_bases_sweep(&s.bases); /* as with each change */
        most = s.bases.by_name.count > most ? s.bases.by_name.count : most;
    }
    assert_true(most < 100);
    for (unsigned i = 0; i < HELD; i++) {
        snprintf(key, sizeof key, "shop/held%u", i);
        assert_ptr_equal(base_of_number(&s, key, 100 + i, "Sample"), held[i]);
        ki_body_base_unref(held[i]);
    }
    end(&s);
}

TEST(objects_keep_their_bases_when_all_are_forgotten) {
    stage s;
    char out[BODY_SIZE], text[BODY_SIZE];
    begin(&s);
    ki_body_base *base = ki_body_base_ref(second_base_of_number(&s, "shop/cart", 1, "Sample"));
    (void)second_base_of_number(&s, "shop/pay", 2, "Sample");
    ki_body_bases_clear(&s.bases, SIZE_MAX);
    assert_int_equal(s.bases.by_name.count, 0);
    assert_int_equal(s.bases.text_bytes, 0);
    assert_null(s.bases.texts);
    assert_true(atomic_load(&s.bases.bytes) > 0);
    assert_ptr_not_equal(second_base_of_number(&s, "shop/cart", 3, "Sample"), base);
    assert_int_equal(ki_body_base_read(base, out), KI_OK);
    assert_memory_equal(out, body_of(text, 1, "Sample").data, base->size);
    ki_body_base_unref(base);
    end(&s);
}

/* --- without memory ----------------------------------------------------------------------------------------------- */

/* Packs bodies of which one is like a base, two make the next base, and one finds a base without its text. */
static ki_status use_bases(ki_body_bases *bases, ki_body_codec *codec, ki_buffer *delta) {
    static const struct {
        const char *key, *kind;
        unsigned number;
    } objects[] = { { "shop/cart-1", "Sample", 1 }, { "shop/cart-2", "Sample", 2 }, { "shop/cart-3", "Sample", 3 },
                    { "shop/cart-4", "Other", 4 },  { "shop/cart-5", "Other", 5 },  { "shop/pay-1", "Sample", 6 },
                    { "shop/pay-2", "Sample", 7 } };
    static char huge[KI_BODY_TEXTS_MAX];
    char text[BODY_SIZE];
    ki_body_base *base = NULL;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < sizeof objects / sizeof *objects; i++)
        status = ki_body_bases_delta(bases, codec, ki_str_of(objects[i].key),
                                     body_of(text, objects[i].number, objects[i].kind), delta, &base);
    for (unsigned i = 0; !status && i < 2; i++)
        status = ki_body_bases_delta(bases, codec, i ? KI_STR("shop/huge-2") : KI_STR("shop/huge-1"),
                                     text_of(huge, sizeof huge, 1), delta, &base);
    if (!status)
        status = ki_body_bases_delta(bases, codec, KI_STR("shop/pay-3"), body_of(text, 8, "Sample"), delta, &base);
    return status;
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        ki_body_codec *codec = NULL;
        ki_body_bases bases;
        ki_buffer delta;
        ki_body_contexts *contexts = ki_body_contexts_new(&memory.allocator);
        assert_int_equal(make_codec(contexts, 5, &codec), KI_OK);
        ki_body_bases_init(&bases, &memory.allocator);
        ki_body_bases_clear(&bases, SIZE_MAX);
        ki_buffer_init(&delta, &memory.allocator, 0);
        scarce_memory_begin(&memory);
        ki_status status = use_bases(&bases, codec, &delta);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        if (status)
            assert_int_equal(use_bases(&bases, codec, &delta), KI_OK); /* with memory again */
        ki_body_bases_free(&bases);
        assert_int_equal(atomic_load(&bases.bytes), 0);
        ki_buffer_free(&delta);
        ki_body_codec_unref(codec);
        ki_body_contexts_unref(contexts);
    }
}
