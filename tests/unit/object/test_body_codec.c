/* A packed body comes out as it went in; whatever cannot be packed stays plain; overwritten bytes are noticed. */
#include "src/base/memory.h"
#include "src/object/body_codec.h"
#include "src/object/pack.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SAMPLES = 32,
    SIZE = 2048
};

/* Writes a body that is like the others of its kind. */
static ki_str body_of(char *to, size_t room, unsigned number, const char *kind) {
    size_t size =
        (size_t)snprintf(to, room, "{\"kind\":\"%s\",\"metadata\":{\"name\":\"n-%u\",\"uid\":\"%08x\"},\"spec\":[",
                         kind, number, number * 2654435761u);
    for (unsigned i = 0; i < 20; i++)
        size += (size_t)snprintf(to + size, room - size, "{\"name\":\"%s-%u\",\"value\":\"%u\"},", kind, i, i * 31);
    size += (size_t)snprintf(to + size, room - size, "{}]}");
    return (ki_str){ to, size };
}

static ki_status make_codec(ki_body_contexts *contexts, size_t count, ki_body_codec **ret_codec) {
    static char texts[SAMPLES][SIZE];
    ki_str samples[SAMPLES];
    for (unsigned i = 0; i < count; i++)
        samples[i] = body_of(texts[i], SIZE, i, "Sample");
    return ki_body_codec_new(contexts, samples, count, ret_codec);
}

typedef struct stage {
    ki_body_contexts *contexts;
    ki_body_codec *codec;
    char text[SIZE], packed[SIZE], unpacked[SIZE];
    ki_str body;
    size_t size; /* of `packed` */
} stage;

static void begin(stage *s, size_t samples) {
    s->contexts = ki_body_contexts_new(&ki_allocator_default);
    assert_non_null(s->contexts);
    assert_int_equal(make_codec(s->contexts, samples, &s->codec), KI_OK);
    s->body = body_of(s->text, SIZE, 77, "Sample");
    assert_int_equal(ki_body_codec_pack(s->codec, s->body, s->packed, &s->size), KI_OK);
}

static void end(stage *s) {
    ki_body_codec_unref(s->codec);
    ki_body_contexts_unref(s->contexts);
}

TEST(a_packed_body_comes_out_as_it_went_in) {
    static const size_t samples[] = { 1, 2, 7, SAMPLES };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        stage s;
        begin(&s, samples[i]);
        assert_true(s.size < s.body.size / 8);
        assert_int_equal(ki_body_codec_unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size), KI_OK);
        assert_memory_equal(s.unpacked, s.text, s.body.size);
        end(&s);
    }
}

TEST(a_body_unpacks_without_memory_in_the_reserve) {
    scarce_memory memory;
    stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    s.contexts = ki_body_contexts_new(&memory.allocator);
    assert_int_equal(make_codec(s.contexts, SAMPLES, &s.codec), KI_OK);
    s.body = body_of(s.text, SIZE, 77, "Sample");
    assert_int_equal(ki_body_codec_pack(s.codec, s.body, s.packed, &s.size), KI_OK);
    memory.fail_at = atomic_load(&memory.calls);
    memory.forever = true;
    const char *text = ki_body_codec_unpack_reserve(s.codec, (ki_str){ s.packed, s.size }, s.body.size);
    assert_non_null(text);
    assert_memory_equal(text, s.text, s.body.size);
    ki_body_codec_unpack_end(s.codec);
    assert_false(scarce_memory_failed(&memory));
    /* Bytes that are none, and a size that is not the body's. */
    assert_null(ki_body_codec_unpack_reserve(s.codec, KI_STR("no frame"), s.body.size));
    assert_null(ki_body_codec_unpack_reserve(s.codec, (ki_str){ s.packed, s.size }, 1000000));
    end(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

static ki_unpacked *open_body(const ki_body_codec *codec, const stage *s, ki_str packed) {
    ki_unpacked *unpacked = NULL;
    assert_int_equal(ki_body_codec_open(codec, packed, s->body.size, &unpacked), KI_OK);
    assert_int_equal(unpacked->size, s->body.size);
    assert_string_equal(unpacked->text, s->text); /* with the closing zero */
    return unpacked;
}

TEST(a_body_that_is_opened_again_is_not_unpacked_again) {
    stage s;
    begin(&s, SAMPLES);
    const ki_str packed = { s.packed, s.size };
    ki_unpacked *first = open_body(s.codec, &s, packed), *second = open_body(s.codec, &s, packed);
    assert_ptr_not_equal(first, second); /* each has one reader */
    ki_body_codec_close(s.codec, second);
    ki_body_codec_close(s.codec, first);
    char copy[SIZE]; /* another object with the same content */
    memcpy(copy, s.packed, s.size);
    assert_ptr_equal(open_body(s.codec, &s, (ki_str){ copy, s.size }), first);
    assert_ptr_equal(open_body(s.codec, &s, packed), second);
    ki_body_codec_close(s.codec, first);
    ki_body_codec_close(s.codec, second);
    end(&s);
}

TEST(another_body_is_not_taken_for_the_one_that_is_kept) {
    stage s;
    begin(&s, SAMPLES);
    ki_body_codec *other;
    char texts[4][SIZE], packed[SIZE];
    ki_str bodies[4];
    for (unsigned i = 0; i < 4; i++)
        bodies[i] = body_of(texts[i], SIZE, 500 + i, "Otherwise");
    assert_int_equal(ki_body_codec_new(s.contexts, bodies, 4, &other), KI_OK);
    ki_body_codec_close(s.codec, open_body(s.codec, &s, (ki_str){ s.packed, s.size }));
    ki_unpacked *unpacked;
    ki_status status = ki_body_codec_open(other, (ki_str){ s.packed, s.size }, s.body.size, &unpacked);
    assert_true(status == KI_ERR_INVALID || memcmp(unpacked->text, s.text, s.body.size) != 0);
    if (!status)
        ki_body_codec_close(other, unpacked);
    for (size_t i = 0; i < s.size; i++) {
        memcpy(packed, s.packed, s.size);
        packed[i] = (char)(packed[i] ^ 1);
        ki_body_codec_close(s.codec, open_body(s.codec, &s, (ki_str){ s.packed, s.size }));
        status = ki_body_codec_open(s.codec, (ki_str){ packed, s.size }, s.body.size, &unpacked);
#ifdef KI_BODY_CHECKSUM
        assert_true(status == KI_ERR_INVALID || memcmp(unpacked->text, s.text, s.body.size) == 0);
#endif
        if (!status)
            ki_body_codec_close(s.codec, unpacked);
    }
    ki_body_codec_unref(other);
    end(&s);
}

static void open_and_close(const ki_body_codec *codec, ki_str body, char *packed) {
    size_t size;
    ki_unpacked *unpacked;
    assert_int_equal(ki_body_codec_pack(codec, body, packed, &size), KI_OK);
    assert_int_equal(ki_body_codec_open(codec, (ki_str){ packed, size }, body.size, &unpacked), KI_OK);
    assert_memory_equal(unpacked->text, body.data, body.size);
    ki_body_codec_close(codec, unpacked);
}

TEST(few_bodies_are_kept_and_no_large_one) {
    enum {
        KEPT_SIZE_MAX = 16 * 1024,
        LARGE = KEPT_SIZE_MAX + 1
    };
    static char text[LARGE], packed[LARGE];
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_body_contexts *contexts = ki_body_contexts_new(&memory.allocator);
    ki_body_codec *codec;
    assert_int_equal(make_codec(contexts, SAMPLES, &codec), KI_OK);
    for (unsigned i = 0; i < 10; i++)
        open_and_close(codec, body_of(text, SIZE, i, "Sample"), packed);
    size_t blocks = scarce_memory_in_use(&memory);
    for (unsigned i = 10; i < 50; i++)
        open_and_close(codec, body_of(text, SIZE, i, "Sample"), packed);
    assert_int_equal(scarce_memory_in_use(&memory), blocks);
    memset(text, 'a', LARGE);
    open_and_close(codec, (ki_str){ text, LARGE }, packed); /* the reserve grows with it */
    size_t bytes = atomic_load(&memory.bytes);
    text[0] = 'b';
    open_and_close(codec, (ki_str){ text, LARGE }, packed);
    assert_int_equal(atomic_load(&memory.bytes), bytes);
    ki_body_codec_unref(codec);
    ki_body_contexts_unref(contexts);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(overwritten_bytes_are_noticed) {
    stage s;
    begin(&s, SAMPLES);
    for (size_t i = 0; i < s.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            s.packed[i] = (char)(s.packed[i] ^ (1 << bit));
            memset(s.unpacked, 0, sizeof s.unpacked);
            ki_status status = ki_body_codec_unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size);
#ifdef KI_BODY_CHECKSUM
            assert_true(status == KI_ERR_INVALID || memcmp(s.unpacked, s.text, s.body.size) == 0);
#else
            assert_true(status == KI_ERR_INVALID || status == KI_OK);
#endif
            s.packed[i] = (char)(s.packed[i] ^ (1 << bit));
        }
    }
    assert_int_equal(ki_body_codec_unpack(s.codec, (ki_str){ s.packed, s.size - 1 }, s.unpacked, s.body.size),
                     KI_ERR_INVALID);
    assert_int_equal(ki_body_codec_unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size - 1),
                     KI_ERR_INVALID);
    assert_int_equal(ki_body_codec_unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size + 1),
                     KI_ERR_INVALID);
    end(&s);
}

TEST(nothing_behind_damaged_bytes_is_read) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int zero = open("/dev/zero", O_RDWR);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    stage s;
    begin(&s, SAMPLES);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t more = 0; more <= 4; more++) {
        for (size_t size = 0; size <= s.size; size++) {
            char *packed = pages + page - size - more;
            memcpy(packed, s.packed, size);
            memset(packed + size, 0, more);
            bool is_whole = size == s.size && !more;
            assert_int_equal(ki_body_codec_unpack(s.codec, (ki_str){ packed, size + more }, s.unpacked, s.body.size),
                             is_whole ? KI_OK : KI_ERR_INVALID);
        }
    }
    end(&s);
    assert_int_equal(munmap(pages, 2 * page), 0);
    close(zero);
}

TEST(a_body_that_does_not_become_smaller_stays_plain) {
    stage s;
    begin(&s, SAMPLES);
    char noise[200], out[200];
    unsigned random = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    size_t size;
    assert_int_equal(ki_body_codec_pack(s.codec, (ki_str){ noise, sizeof noise }, out, &size), KI_ERR_LIMIT);
    assert_int_equal(ki_body_codec_pack(s.codec, KI_STR("{"), out, &size), KI_ERR_LIMIT);
    end(&s);
}

TEST(a_huge_body_is_packed_up_to_the_limit) {
    stage s;
    begin(&s, 1);
    size_t size, huge = KI_BODY_PACKED_MAX;
    char *body = malloc(huge + 1), *packed = malloc(huge + 1), *out = malloc(huge);
    for (size_t i = 0; i <= huge; i++)
        body[i] = "huge body, "[i % 11];
    assert_int_equal(ki_body_codec_pack(s.codec, (ki_str){ body, huge + 1 }, packed, &size), KI_ERR_LIMIT);
    assert_int_equal(ki_body_codec_pack(s.codec, (ki_str){ body, huge }, packed, &size), KI_OK);
    assert_true(size < huge / 100);
    assert_int_equal(ki_body_codec_unpack(s.codec, (ki_str){ packed, size }, out, huge), KI_OK);
    assert_memory_equal(out, body, huge);
    free(body);
    free(packed);
    free(out);
    end(&s);
}

static void *alloc_negative(size_t size, void *user) {
    char *block = ki_allocator_default.alloc(size, user);
    if (block)
        memset(block, 0x80, size);
    return block;
}

/* For large bodies zstd takes the level from the dictionary. */
TEST(what_memory_had_before_changes_no_packed_body) {
    ki_allocator negative = ki_allocator_default;
    negative.alloc = alloc_negative;
    const ki_allocator *allocators[] = { &ki_allocator_default, &negative };
    size_t sizes[2], huge = KI_BODY_PACKED_MAX;
    char *body = malloc(huge), *packed = malloc(huge);
    for (size_t i = 0; i < huge; i++)
        body[i] = "huge body, "[i % 11];
    for (size_t i = 0; i < 2; i++) {
        ki_body_codec *codec = NULL;
        ki_body_contexts *contexts = ki_body_contexts_new(allocators[i]);
        assert_int_equal(make_codec(contexts, 1, &codec), KI_OK);
        assert_int_equal(ki_body_codec_pack(codec, (ki_str){ body, huge }, packed, &sizes[i]), KI_OK);
        ki_body_codec_unref(codec);
        ki_body_contexts_unref(contexts);
    }
    assert_int_equal(sizes[0], sizes[1]);
    free(body);
    free(packed);
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        char text[SIZE], packed[SIZE], unpacked[SIZE];
        ki_body_codec *codec = NULL;
        ki_body_contexts *contexts = ki_body_contexts_new(&memory.allocator);
        ki_status status = contexts ? make_codec(contexts, 5, &codec) : KI_ERR_NO_MEMORY;
        ki_str body = body_of(text, SIZE, 5, "Sample");
        size_t size = 0;
        if (!status)
            status = ki_body_codec_pack(codec, body, packed, &size);
        if (!status)
            status = ki_body_codec_unpack(codec, (ki_str){ packed, size }, unpacked, body.size);
        ki_unpacked *open = NULL;
        if (!status)
            status = ki_body_codec_open(codec, (ki_str){ packed, size }, body.size, &open);
        if (!status)
            ki_body_codec_close(codec, open);
        if (!status)
            assert_memory_equal(unpacked, text, body.size);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        ki_body_codec_unref(codec);
        ki_body_contexts_unref(contexts);
    }
}

/* --- when a codec is made ----------------------------------------------------------------------------------------- */

static void train(ki_body_packer *packer, const char *kind, size_t cache_bytes) {
    static char texts[SAMPLES][SIZE];
    ki_str samples[SAMPLES];
    for (unsigned i = 0; i < SAMPLES; i++)
        samples[i] = body_of(texts[i], SIZE, i, kind);
    ki_body_packer_train(packer, samples, SAMPLES, cache_bytes);
}

static void pack_bytes(ki_body_packer *packer, const char *kind, size_t bytes) {
    char text[SIZE];
    size_t packed = 0;
    for (unsigned i = 0; packed < bytes; i++) {
        ki_str body = body_of(text, SIZE, 1000 + i, kind);
        assert_int_equal(ki_body_packer_pack(packer, body), KI_OK);
        packed += body.size;
    }
}

TEST(a_codec_follows_growth_and_drift) {
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    ki_body_packer packer;
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 10000);
    assert_int_equal(ki_body_packer_pack(&packer, KI_STR("{}")), KI_ERR_NOT_FOUND);
    assert_false(ki_body_packer_is_due(&packer, 9999));
    assert_true(ki_body_packer_is_due(&packer, 10000));
    train(&packer, "One", 10000);
    const ki_body_codec *first = packer.codec;
    assert_non_null(first);
    assert_false(ki_body_packer_is_due(&packer, 39999));
    assert_true(ki_body_packer_is_due(&packer, 40000));
    /* The same kind of bodies for long: no drift. */
    pack_bytes(&packer, "One", 1000000);
    assert_false(ki_body_packer_is_due(&packer, 10000));
    /* Another kind. */
    pack_bytes(&packer, "SomethingElse", 1000000);
    assert_true(ki_body_packer_is_due(&packer, 10000));
    size_t before = packer.packed.size;
    train(&packer, "SomethingElse", 10000);
    assert_ptr_not_equal(packer.codec, first);
    pack_bytes(&packer, "SomethingElse", 1000000);
    assert_true(packer.packed.size < before);
    assert_false(ki_body_packer_is_due(&packer, 10000));
    ki_body_packer_free(&packer);
    ki_body_contexts_unref(contexts);
}

TEST(bodies_that_pack_worse_than_the_samples_are_no_drift) {
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    ki_body_packer packer;
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 10000);
    train(&packer, "One", 10000);
    static char texts[SAMPLES][SIZE];
    for (unsigned i = 0; packer.windows == 0; i = (i + 1) % SAMPLES)
        assert_int_equal(ki_body_packer_pack(&packer, body_of(texts[i], SIZE, i, "One")), KI_OK);
    size_t of_sample = packer.packed.size;
    pack_bytes(&packer, "One", 1000000);
    assert_true(packer.packed.size * 2 > of_sample * 3);
    assert_false(ki_body_packer_is_due(&packer, 10000));
    ki_body_packer_free(&packer);
    ki_body_contexts_unref(contexts);
}

TEST(a_codec_packs_more_than_its_own_size_before_drift_makes_the_next) {
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    ki_body_packer packer;
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 1);
    train(&packer, "One", 1000000);
    size_t least = ki_body_codec_memory(packer.codec) / 8;
    pack_bytes(&packer, "One", 2 * least);
    pack_bytes(&packer, "SomethingElse", 5 * least);
    assert_false(ki_body_packer_is_due(&packer, 1000000));
    pack_bytes(&packer, "SomethingElse", 5 * least);
    assert_true(ki_body_packer_is_due(&packer, 1000000));
    ki_body_packer_free(&packer);
    ki_body_contexts_unref(contexts);
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
