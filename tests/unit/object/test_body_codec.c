/* Packed bytes come out as they went in; those that would not become smaller are refused; overwritten bytes are
 * noticed. */
#include "src/base/memory.h"
#include "src/object/body_contexts.h"
#include "src/object/pack.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/unit/object/bodies.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Unpacks in a context for unpacking. */
static ki_status unpack(const ki_body_codec *codec, ki_str packed, char *out, size_t size) {
    ki_body_contexts *contexts = ki_body_codec_contexts(codec);
    ZSTD_DCtx *context = ki_unpacking_context_take(contexts);
    if (!context)
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_body_codec_unpack(codec, context, packed, out, size);
    ki_unpacking_context_put(contexts, context);
    return status;
}

typedef struct stage {
    ki_body_contexts *contexts;
    ki_body_codec *codec;
    char text[BODY_SIZE], packed[BODY_SIZE], unpacked[BODY_SIZE];
    ki_str body;
    size_t size; /* of `packed` */
} stage;

static void begin(stage *s, size_t samples) {
    s->contexts = ki_body_contexts_new(&ki_allocator_default);
    assert_non_null(s->contexts);
    assert_int_equal(make_codec(s->contexts, samples, &s->codec), KI_OK);
    s->body = body_of(s->text, 77, "Sample");
    assert_int_equal(ki_body_codec_pack(s->codec, s->body, s->packed, &s->size), KI_OK);
}

static void end(stage *s) {
    ki_body_codec_unref(s->codec);
    ki_body_contexts_unref(s->contexts);
}

TEST(a_packed_body_comes_out_as_it_went_in) {
    static const size_t samples[] = { 1, 2, 7, BODY_SAMPLES };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        stage s;
        begin(&s, samples[i]);
        assert_true(s.size < s.body.size / 8);
        assert_int_equal(unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size), KI_OK);
        assert_memory_equal(s.unpacked, s.text, s.body.size);
        end(&s);
    }
}

TEST(overwritten_bytes_are_noticed) {
    stage s;
    begin(&s, BODY_SAMPLES);
    for (size_t i = 0; i < s.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            s.packed[i] = (char)(s.packed[i] ^ (1 << bit));
            memset(s.unpacked, 0, sizeof s.unpacked);
            ki_status status = unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size);
#ifdef KI_BODY_CHECKSUM
            assert_true(status == KI_ERR_INVALID || memcmp(s.unpacked, s.text, s.body.size) == 0);
#else
            assert_true(status == KI_ERR_INVALID || status == KI_OK);
#endif
            s.packed[i] = (char)(s.packed[i] ^ (1 << bit));
        }
    }
    assert_int_equal(unpack(s.codec, (ki_str){ s.packed, s.size - 1 }, s.unpacked, s.body.size), KI_ERR_INVALID);
    assert_int_equal(unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size - 1), KI_ERR_INVALID);
    assert_int_equal(unpack(s.codec, (ki_str){ s.packed, s.size }, s.unpacked, s.body.size + 1), KI_ERR_INVALID);
    end(&s);
}

TEST(nothing_behind_damaged_bytes_is_read) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int zero = open("/dev/zero", O_RDWR);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    stage s;
    begin(&s, BODY_SAMPLES);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t more = 0; more <= 4; more++) {
        for (size_t size = 0; size <= s.size; size++) {
            char *packed = pages + page - size - more;
            memcpy(packed, s.packed, size);
            memset(packed + size, 0, more);
            bool is_whole = size == s.size && !more;
            assert_int_equal(unpack(s.codec, (ki_str){ packed, size + more }, s.unpacked, s.body.size),
                             is_whole ? KI_OK : KI_ERR_INVALID);
        }
    }
    end(&s);
    assert_int_equal(munmap(pages, 2 * page), 0);
    close(zero);
}

TEST(a_body_that_does_not_become_smaller_stays_plain) {
    stage s;
    begin(&s, BODY_SAMPLES);
    char noise[200], out[200];
    unsigned random = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    size_t size;
    assert_int_equal(ki_body_codec_pack(s.codec, (ki_str){ noise, sizeof noise }, out, &size), KI_ERR_LIMIT);
    assert_int_equal(ki_body_codec_pack(s.codec, KI_STR("{"), out, &size), KI_ERR_LIMIT);
    end(&s);
}

TEST(a_huge_body_is_packed) {
    stage s;
    begin(&s, 1);
    size_t size, huge = KI_BODY_PACKED_MAX;
    char *body = malloc(huge), *packed = malloc(huge), *out = malloc(huge);
    for (size_t i = 0; i < huge; i++)
        body[i] = "huge body, "[i % 11];
    assert_int_equal(ki_body_codec_pack(s.codec, (ki_str){ body, huge }, packed, &size), KI_OK);
    assert_true(size < huge / 100);
    assert_int_equal(unpack(s.codec, (ki_str){ packed, size }, out, huge), KI_OK);
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
        char text[BODY_SIZE], packed[BODY_SIZE], unpacked[BODY_SIZE];
        ki_body_codec *codec = NULL;
        ki_body_contexts *contexts = ki_body_contexts_new(&memory.allocator);
        ki_status status = contexts ? make_codec(contexts, 5, &codec) : KI_ERR_NO_MEMORY;
        ki_str body = body_of(text, 5, "Sample");
        size_t size = 0;
        if (!status)
            status = ki_body_codec_pack(codec, body, packed, &size);
        if (!status)
            status = unpack(codec, (ki_str){ packed, size }, unpacked, body.size);
        if (!status)
            assert_memory_equal(unpacked, text, body.size);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        ki_body_codec_unref(codec);
        ki_body_contexts_unref(contexts);
    }
}
