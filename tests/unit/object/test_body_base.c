/* A body that is packed against a base comes out as it went in, also without memory; few texts are kept for the next
 * reader; overwritten bytes are noticed, and never lead outside. */
#include "src/base/memory.h"
#include "src/object/body_base.h"
#include "src/object/body_delta.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/unit/object/bodies.h"

#include <stdlib.h>
#include <string.h>

enum {
    LARGE = 100000 /* bytes of a large body */
};

typedef struct stage {
    ki_body_contexts *contexts;
    ki_body_codec *codec;
    ki_body_base *base;
    _Atomic(size_t) bytes;
    char base_text[BODY_SIZE];
} stage;

/* Makes a base of the body with number 1. */
static ki_status open_stage(stage *s, const ki_allocator *allocator) {
    char scratch[BODY_SIZE];
    *s = (stage){ .contexts = ki_body_contexts_new(allocator) };
    ki_status status = s->contexts ? make_codec(s->contexts, BODY_SAMPLES, &s->codec) : KI_ERR_NO_MEMORY;
    if (!status)
        status = ki_body_base_new(s->codec, body_of(s->base_text, 1, "Sample"), &s->bytes, scratch, &s->base);
    return status;
}

static void begin(stage *s, const ki_allocator *allocator) {
    assert_int_equal(open_stage(s, allocator), KI_OK);
}

static void end(stage *s) {
    if (s->base)
        ki_body_base_unref(s->base);
    ki_body_codec_unref(s->codec);
    ki_body_contexts_unref(s->contexts);
    assert_int_equal(atomic_load(&s->bytes), 0);
}

/* Packs the text against the base, in memory of exactly its size; the delta itself if `is_raw`, or if packing saves
 * nothing. The body has no reference to its base. */
static ki_packed_body *pack(const stage *s, ki_str text, bool is_raw) {
    ki_str base = { s->base_text, s->base->size };
    char *delta = malloc(ki_body_delta_max(text.size)), *packed = malloc(ki_body_delta_max(text.size));
    assert_non_null(delta);
    assert_non_null(packed);
    size_t delta_size = ki_body_delta_write(base, text, delta), size = delta_size;
    bool is_packed =
        !is_raw && !ki_body_codec_pack(s->codec, (ki_str){ delta, delta_size }, packed, &size) && size < delta_size;
    size = is_packed ? size : delta_size;
    ki_packed_body *body = malloc(offsetof(ki_packed_body, bytes) + size);
    assert_non_null(body);
    body->base = s->base;
    body->digest = 0;
    body->size = (uint32_t)size;
    body->delta_size = (uint32_t)delta_size;
    memcpy(body->bytes, is_packed ? packed : delta, size);
    free(delta);
    free(packed);
    return body;
}

static void assert_reads(const ki_packed_body *body, ki_str text) {
    char *out = malloc(text.size);
    assert_non_null(out);
    assert_int_equal(ki_packed_body_read(body, out, text.size), KI_OK);
    assert_memory_equal(out, text.data, text.size);
    free(out);
    ki_unpacked *unpacked = NULL;
    assert_int_equal(ki_packed_body_open(body, text.size, &unpacked), KI_OK);
    assert_int_equal(unpacked->size, text.size);
    assert_memory_equal(unpacked->text, text.data, text.size);
    assert_int_equal(unpacked->text[text.size], 0);
    ki_packed_body_close(body, unpacked);
}

static void assert_reads_in_the_reserve(const ki_packed_body *body, ki_str text) {
    const char *out = ki_packed_body_open_reserve(body, text.size);
    assert_non_null(out);
    assert_memory_equal(out, text.data, text.size);
    ki_packed_body_end(body);
}

static void grow_reserve(const stage *s, const ki_packed_body *body, ki_str text) {
    size_t size = ki_packed_body_reserve(s->base, body->delta_size, text.size);
    assert_int_equal(ki_body_reserve_grow(s->contexts, size), KI_OK);
}

/* --- bases -------------------------------------------------------------------------------------------------------- */

TEST(a_base_has_the_text_that_it_was_made_of) {
    stage s;
    begin(&s, &ki_allocator_default);
    char *out = malloc(s.base->size);
    assert_non_null(out);
    assert_int_equal(s.base->size, strlen(s.base_text));
    assert_int_equal(ki_body_base_read(s.base, out), KI_OK);
    assert_memory_equal(out, s.base_text, s.base->size);
    free(out);
    end(&s);
}

TEST(a_base_counts_its_bytes_until_its_last_reference) {
    scarce_memory memory;
    stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    begin(&s, &memory.allocator);
    size_t bytes = atomic_load(&s.bytes), in_use = atomic_load(&memory.bytes);
    assert_true(bytes > 0 && bytes < s.base->size / 2);
    assert_ptr_equal(ki_body_base_ref(s.base), s.base);
    ki_body_base_unref(s.base);
    assert_int_equal(atomic_load(&s.bytes), bytes);
    ki_body_base_unref(s.base);
    s.base = NULL;
    assert_int_equal(atomic_load(&s.bytes), 0);
    assert_in_range(in_use - atomic_load(&memory.bytes), bytes, bytes + BODY_ROUNDED_UP);
    end(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(a_base_outlives_the_last_other_reference_to_its_codec) {
    stage s;
    begin(&s, &ki_allocator_default);
    ki_body_codec_unref(s.codec);
    ki_body_contexts_unref(s.contexts);
    s.codec = NULL;
    s.contexts = NULL;
    char out[BODY_SIZE];
    assert_int_equal(ki_body_base_read(s.base, out), KI_OK);
    assert_memory_equal(out, s.base_text, s.base->size);
    end(&s);
}

TEST(a_text_that_would_not_become_smaller_is_no_base) {
    stage s;
    begin(&s, &ki_allocator_default);
    char noise[1000];
    unsigned random = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    ki_body_base *base = NULL;
    char scratch[BODY_SIZE];
    size_t bytes = atomic_load(&s.bytes);
    assert_int_equal(ki_body_base_new(s.codec, (ki_str){ noise, sizeof noise }, &s.bytes, scratch, &base),
                     KI_ERR_LIMIT);
    assert_int_equal(ki_body_base_new(s.codec, KI_STR("{\"kind\":\"Sample\"}"), &s.bytes, scratch, &base),
                     KI_ERR_LIMIT); /* the base is more than the packed text */
    assert_null(base);
    assert_int_equal(atomic_load(&s.bytes), bytes);
    end(&s);
}

/* --- packed bodies ------------------------------------------------------------------------------------------------ */

/* Calls `check` with bodies that are like the base, equal to it, unlike it, empty and large; packed and as deltas. */
static void each_body(const stage *s, void (*check)(const stage *s, const ki_packed_body *body, ki_str text)) {
    char text[BODY_SIZE], other[BODY_SIZE];
    char *large = malloc(LARGE);
    assert_non_null(large);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = "large body, "[i % 12 ^ i / 1000 % 4];
    const ki_str bodies[] = { body_of(text, 77, "Sample"),
                              { s->base_text, s->base->size },
                              body_of(other, 3, "Other"),
                              KI_STR("{}"),
                              { large, LARGE } };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        for (unsigned is_raw = 0; is_raw < 2; is_raw++) {
            ki_packed_body *body = pack(s, bodies[i], is_raw);
            check(s, body, bodies[i]);
            free(body);
        }
    }
    free(large);
}

static void check_reads(const stage *s, const ki_packed_body *body, ki_str text) {
    assert_reads(body, text);
    grow_reserve(s, body, text);
    assert_reads_in_the_reserve(body, text);
}

TEST(a_packed_body_comes_out_as_it_went_in) {
    stage s;
    begin(&s, &ki_allocator_default);
    each_body(&s, check_reads);
    end(&s);
}

static void check_delta(const stage *s, const ki_packed_body *body, ki_str text) {
    char *delta = malloc(body->delta_size), *wanted = malloc(ki_body_delta_max(text.size));
    assert_non_null(delta);
    assert_non_null(wanted);
    assert_int_equal(ki_packed_body_delta(body, delta), KI_OK);
    assert_int_equal(ki_body_delta_write((ki_str){ s->base_text, s->base->size }, text, wanted), body->delta_size);
    assert_memory_equal(delta, wanted, body->delta_size);
    free(delta);
    free(wanted);
}

TEST(a_packed_body_gives_its_delta) {
    stage s;
    begin(&s, &ki_allocator_default);
    each_body(&s, check_delta);
    end(&s);
}

TEST(a_body_like_its_base_takes_few_bytes) {
    stage s;
    char text[BODY_SIZE];
    begin(&s, &ki_allocator_default);
    ki_packed_body *body = pack(&s, body_of(text, 77, "Sample"), false);
    assert_true(body->size < 40);
    free(body);
    end(&s);
}

/* --- texts that are kept ------------------------------------------------------------------------------------------ */

static ki_unpacked *open_body(const ki_packed_body *body, ki_str text) {
    ki_unpacked *unpacked = NULL;
    assert_int_equal(ki_packed_body_open(body, text.size, &unpacked), KI_OK);
    assert_memory_equal(unpacked->text, text.data, text.size);
    return unpacked;
}

TEST(a_body_that_is_opened_again_is_not_unpacked_again) {
    stage s;
    char text[BODY_SIZE];
    begin(&s, &ki_allocator_default);
    ki_str whole = body_of(text, 77, "Sample");
    ki_packed_body *body = pack(&s, whole, false);
    ki_unpacked *first = open_body(body, whole), *second = open_body(body, whole);
    assert_ptr_not_equal(first, second); /* each has one reader */
    ki_packed_body_close(body, second);
    ki_packed_body_close(body, first);
    ki_packed_body *copy = pack(&s, whole, false); /* another object with the same content */
    assert_ptr_equal(open_body(copy, whole), first);
    assert_ptr_equal(open_body(body, whole), second);
    ki_packed_body_close(body, first);
    ki_packed_body_close(body, second);
    free(copy);
    free(body);
    end(&s);
}

TEST(bodies_with_one_base_unpack_it_once) {
    scarce_memory memory;
    stage s;
    char text[BODY_SIZE];
    scarce_memory_init(&memory, SIZE_MAX);
    begin(&s, &memory.allocator);
    for (unsigned i = 0; i < 5; i++) {
        ki_str whole = body_of(text, 70 + i, "Sample");
        ki_packed_body *body = pack(&s, whole, false);
        size_t calls = atomic_load(&memory.calls);
        ki_packed_body_close(body, open_body(body, whole));
        if (i > 0)
            assert_int_equal(atomic_load(&memory.calls) - calls, 1); /* the body's text alone */
        free(body);
    }
    end(&s);
}

TEST(another_body_is_not_taken_for_the_one_that_is_kept) {
    stage s;
    char text[BODY_SIZE], other_text[BODY_SIZE];
    begin(&s, &ki_allocator_default);
    char scratch[BODY_SIZE];
    ki_body_base *other = NULL;
    ki_str whole = body_of(text, 77, "Sample");
    ki_packed_body *body = pack(&s, whole, true);
    /* The same delta against another base of the same size. */
    ki_str other_whole = body_of(other_text, 2, "Sample");
    assert_int_equal(ki_body_base_new(s.codec, other_whole, &s.bytes, scratch, &other), KI_OK);
    assert_int_equal(other->size, s.base->size);
    ki_packed_body_close(body, open_body(body, whole));
    body->base = other;
    ki_unpacked *unpacked = NULL;
    assert_int_equal(ki_packed_body_open(body, whole.size, &unpacked), KI_OK);
    assert_memory_equal(unpacked->text, whole.data, whole.size); /* the bases differ only in what the delta has */
    ki_packed_body_close(body, unpacked);
    body->size = body->delta_size = 2;
    memcpy(body->bytes, "\0", 2); /* all of the base */
    ki_packed_body_close(body, open_body(body, other_whole));
    body->base = s.base;
    ki_packed_body_close(body, open_body(body, (ki_str){ s.base_text, s.base->size }));
    body->base = other;
    ki_packed_body_close(body, open_body(body, other_whole));
    ki_body_base_unref(other);
    free(body);
    end(&s);
}

TEST(a_delta_with_the_bytes_of_a_packed_one_is_another_body) {
    stage s;
    char text[BODY_SIZE];
    begin(&s, &ki_allocator_default);
    ki_str whole = body_of(text, 3, "Other");
    ki_packed_body *body = pack(&s, whole, false);
    assert_true(body->size < body->delta_size);
    ki_packed_body_close(body, open_body(body, whole));
    uint32_t delta_size = body->delta_size;
    body->delta_size = body->size;
    ki_unpacked *unpacked = NULL;
    assert_int_equal(ki_packed_body_open(body, whole.size, &unpacked), KI_ERR_INVALID);
    body->delta_size = delta_size;
    ki_packed_body_close(body, open_body(body, whole));
    free(body);
    end(&s);
}

static void open_and_close(const stage *s, ki_str text) {
    ki_packed_body *body = pack(s, text, false);
    ki_packed_body_close(body, open_body(body, text));
    free(body);
}

TEST(few_bodies_are_kept_and_no_large_one) {
    enum {
        KEPT_SIZE_MAX = 16 * 1024
    };
    static char large[KEPT_SIZE_MAX + 1];
    char text[BODY_SIZE];
    scarce_memory memory;
    stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    begin(&s, &memory.allocator);
    for (unsigned i = 0; i < 10; i++)
        open_and_close(&s, body_of(text, i, "Sample"));
    size_t blocks = scarce_memory_in_use(&memory);
    for (unsigned i = 10; i < 50; i++)
        open_and_close(&s, body_of(text, i, "Sample"));
    assert_int_equal(scarce_memory_in_use(&memory), blocks);
    memset(large, 'a', sizeof large);
    open_and_close(&s, (ki_str){ large, sizeof large }); /* zstd's context grows with it */
    size_t bytes = atomic_load(&memory.bytes);
    memset(large, 'b', sizeof large);
    open_and_close(&s, (ki_str){ large, sizeof large });
    assert_int_equal(atomic_load(&memory.bytes), bytes);
    end(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

/* --- without memory ----------------------------------------------------------------------------------------------- */

static void check_without_memory(const stage *s, const ki_packed_body *body, ki_str text) {
    scarce_memory *memory = ki_body_contexts_allocator(s->contexts)->user;
    grow_reserve(s, body, text);
    memory->fail_at = atomic_load(&memory->calls);
    memory->forever = true;
    assert_reads_in_the_reserve(body, text);
    assert_false(scarce_memory_failed(memory));
    char *out = malloc(text.size);
    assert_non_null(out);
    assert_int_equal(ki_packed_body_read(body, out, text.size), KI_ERR_NO_MEMORY);
    free(out);
    memory->fail_at = SIZE_MAX;
    memory->forever = false;
}

TEST(a_body_unpacks_without_memory_in_the_reserve) {
    scarce_memory memory;
    stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    begin(&s, &memory.allocator);
    each_body(&s, check_without_memory);
    end(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(a_reserve_that_is_too_small_is_not_used) {
    stage s;
    char *large = malloc(LARGE);
    assert_non_null(large);
    memset(large, 'a', LARGE);
    begin(&s, &ki_allocator_default);
    ki_packed_body *body = pack(&s, (ki_str){ large, LARGE }, false);
    assert_null(ki_packed_body_open_reserve(body, LARGE)); /* there is none */
    assert_int_equal(ki_body_reserve_grow(s.contexts, 1), KI_OK);
    assert_null(ki_packed_body_open_reserve(body, LARGE));
    grow_reserve(&s, body, (ki_str){ large, LARGE });
    assert_reads_in_the_reserve(body, (ki_str){ large, LARGE });
    assert_null(ki_packed_body_open_reserve(body, LARGE - 1)); /* that is another text */
    assert_reads_in_the_reserve(body, (ki_str){ large, LARGE });
    free(body);
    free(large);
    end(&s);
}

static ki_status use_base(const stage *s) {
    char text[BODY_SIZE], out[BODY_SIZE];
    ki_str whole = body_of(text, 77, "Sample");
    ki_unpacked *unpacked = NULL;
    ki_packed_body *body = NULL;
    ki_status status = ki_packing_context(s->contexts) ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status) {
        body = pack(s, whole, false);
        status = ki_body_reserve_grow(s->contexts, ki_packed_body_reserve(s->base, body->delta_size, whole.size));
    }
    if (!status)
        assert_reads_in_the_reserve(body, whole);
    if (!status)
        status = ki_body_base_read(s->base, out);
    if (!status)
        status = ki_packed_body_delta(body, out);
    if (!status)
        status = ki_packed_body_read(body, out, whole.size);
    if (!status)
        status = ki_packed_body_open(body, whole.size, &unpacked);
    if (!status)
        ki_packed_body_close(body, unpacked);
    free(body);
    return status;
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        stage s;
        ki_status status = open_stage(&s, &memory.allocator);
        if (!status) {
            status = use_base(&s);
            if (status)
                assert_int_equal(use_base(&s), KI_OK); /* with memory again */
        }
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        end(&s);
    }
}

/* --- overwritten bytes -------------------------------------------------------------------------------------------- */

/* Reads the body in each way. Without a checksum any text can come out. */
static void check_overwritten(const ki_packed_body *body, ki_str text) {
    char *out = malloc(text.size);
    assert_non_null(out);
    ki_status status = ki_packed_body_read(body, out, text.size);
    assert_true(status == KI_OK || status == KI_ERR_INVALID);
    bool has_checksum = false;
#ifdef KI_BODY_CHECKSUM
    has_checksum = body->size < body->delta_size;
#endif
    if (has_checksum && !status)
        assert_memory_equal(out, text.data, text.size);
    const char *reserve = ki_packed_body_open_reserve(body, text.size);
    assert_int_equal(reserve != NULL, status == KI_OK);
    if (reserve) {
        assert_memory_equal(reserve, out, text.size);
        ki_packed_body_end(body);
    }
    ki_unpacked *unpacked = NULL;
    ki_status opened = ki_packed_body_open(body, text.size, &unpacked);
    assert_true(opened == status || !opened);
    if (!opened) { /* with the right text, if that is still kept */
        assert_true(memcmp(unpacked->text, text.data, text.size) == 0 ||
                    (!status && memcmp(unpacked->text, out, text.size) == 0));
        ki_packed_body_close(body, unpacked);
    }
    free(out);
}

TEST(overwritten_bytes_of_a_body_are_noticed) {
    stage s;
    char text[BODY_SIZE];
    begin(&s, &ki_allocator_default);
    ki_str whole = body_of(text, 3, "Other"); /* whose delta is longer */
    for (unsigned is_raw = 0; is_raw < 2; is_raw++) {
        ki_packed_body *body = pack(&s, whole, is_raw);
        assert_int_equal(body->size == body->delta_size, is_raw);
        grow_reserve(&s, body, whole);
        for (size_t i = 0; i < body->size; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                body->bytes[i] = (char)(body->bytes[i] ^ (1 << bit));
                check_overwritten(body, whole);
                body->bytes[i] = (char)(body->bytes[i] ^ (1 << bit));
            }
        }
        assert_reads(body, whole);
        free(body);
    }
    end(&s);
}

TEST(overwritten_bytes_of_a_base_are_noticed) {
    stage s;
    char text[BODY_SIZE];
    begin(&s, &ki_allocator_default);
    ki_str whole = body_of(text, 77, "Sample");
    ki_packed_body *body = pack(&s, whole, false);
    grow_reserve(&s, body, whole);
    for (size_t i = 0; i < s.base->packed_size; i++) {
        s.base->packed[i] = (char)(s.base->packed[i] ^ 1);
        char *out = malloc(s.base->size);
        assert_non_null(out);
        ki_status status = ki_body_base_read(s.base, out);
#ifdef KI_BODY_CHECKSUM
        assert_true(status == KI_ERR_INVALID || memcmp(out, s.base_text, s.base->size) == 0);
#else
        assert_true(status == KI_ERR_INVALID || status == KI_OK);
#endif
        free(out);
        check_overwritten(body, whole);
        s.base->packed[i] = (char)(s.base->packed[i] ^ 1);
    }
    assert_reads(body, whole);
    free(body);
    end(&s);
}
