/* json_scan_blocks.c: see json_scan_blocks.h. Each set of instructions compares the bytes of a block with the
 * characters that matter, which gives one bit for each byte, the first byte in the lowest bit. The rest is arithmetic
 * on these bits: strings, then brackets and white space outside them. */
#include "src/base/json_scan_blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HAS_NEON 1
#include <arm_neon.h>
#endif

#if defined(__x86_64__) || defined(HAS_NEON)

#include "src/base/json_grammar.h"

enum {
    BLOCK = 64
};

/* The bytes of a block by what they are, inside strings too. */
typedef struct classes {
    uint64_t quote, backslash;
    uint64_t open, close; /* { [ and } ] */
    uint64_t comma, colon;
    uint64_t space; /* bytes up to 0x20: white space and control characters */
    uint64_t odd;   /* control characters, and bytes of characters outside ASCII */
} classes;

#define INLINE static inline __attribute__((always_inline))

/* Returns the block at `at`. The last one is filled up with zeros in `padded`. */
INLINE const char *block_at(ki_str text, size_t at, char padded[BLOCK], size_t *ret_size) {
    *ret_size = text.size - at < BLOCK ? text.size - at : BLOCK;
    if (*ret_size == BLOCK)
        return text.data + at;
    memset(padded, 0, BLOCK);
    memcpy(padded, text.data + at, *ret_size);
    return padded;
}

/* Returns the bytes that follow a backslash which no other one escapes, and updates the walk. */
INLINE uint64_t find_escaped(ki_json_walk *walk, uint64_t backslash, size_t size) {
    const uint64_t even = UINT64_C(0x5555555555555555);
    uint64_t first = walk->escaped;
    if (!(backslash | first))
        return 0;
    backslash &= ~first;
    uint64_t after = backslash << 1 | first;
    /* A run of backslashes that begins at an odd place carries into the bit behind it when its beginning is added. */
    uint64_t begins_odd = backslash & ~even & ~after, sum;
    bool carries = __builtin_add_overflow(begins_odd, backslash, &sum);
    uint64_t escaped = (even ^ (sum << 1)) & after;
    walk->escaped = size < BLOCK ? escaped >> size & 1 : carries;
    return escaped;
}

/* Returns the bytes outside strings, and updates the walk. `inside` marks the bytes from a string's opening quote up to
 * its closing one, if the block begins outside. */
INLINE uint64_t find_outside(ki_json_walk *walk, uint64_t inside, size_t size) {
    if (walk->in_string)
        inside = ~inside;
    walk->in_string = inside >> (size - 1) & 1;
    return size < BLOCK ? ~inside & ((UINT64_C(1) << size) - 1) : ~inside;
}

/* Compiles to one instruction where the processor has one; __builtin_popcountll would be a call on others. */
INLINE unsigned count_bits(uint64_t bits) {
    bits -= (bits >> 1) & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + ((bits >> 2) & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)((bits * UINT64_C(0x0101010101010101)) >> 56);
}

/* Passes the brackets of a block. Looks at single ones only in a block in which the value can end or get too deep.
 * Returns the number of bytes up to the value's end; 0: it does not end here. */
INLINE size_t pass_brackets(ki_json_walk *walk, uint64_t open, uint64_t close) {
    size_t opened = count_bits(open), closed = count_bits(close), depth = walk->depth;
    if (depth > closed && (walk->too_deep || opened <= walk->depth_max - depth)) {
        walk->depth = depth + opened - closed;
        return 0;
    }
    for (uint64_t brackets = open | close; brackets; brackets &= brackets - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(brackets);
        depth = open >> bit & 1 ? depth + 1 : depth - 1;
        walk->too_deep |= depth > walk->depth_max;
        if (depth == 0) {
            walk->depth = 0;
            return bit + 1;
        }
    }
    walk->depth = depth;
    return 0;
}

/* The two scans with one set of instructions: the functions that read a block, and that mark strings by the running
 * exclusive or of their quotes. */
#define FIND_END(target, classify, run_xor, find_end_name) \
    target static size_t find_end_name(ki_json_walk *walk, ki_str text) { \
        char padded[BLOCK]; \
        ki_json_walk local = *walk; /* in registers */ \
        size_t end = 0; \
        for (size_t at = 0, size; at < text.size && !end; at += BLOCK) { \
            classes found = classify(block_at(text, at, padded, &size)); \
            uint64_t quotes = found.quote & ~find_escaped(&local, found.backslash, size); \
            uint64_t outside = find_outside(&local, run_xor(quotes), size); \
            size_t used = pass_brackets(&local, found.open & outside, found.close & outside); \
            end = used ? at + used : 0; \
        } \
        *walk = local; \
        return end; \
    }

#define IS_COMPACT(target, classify, run_xor, is_compact_name) \
    target static bool is_compact_name(ki_str text, size_t *opened) { \
        char padded[BLOCK]; \
        ki_json_walk walk = KI_JSON_WALK_INIT; \
        size_t count = 0; \
        for (size_t at = 0, size; at < text.size; at += BLOCK) { \
            classes found = classify(block_at(text, at, padded, &size)); \
            uint64_t quotes = found.quote & ~find_escaped(&walk, found.backslash, size); \
            uint64_t outside = find_outside(&walk, run_xor(quotes), size); \
            if (found.space & outside) \
                return false; \
            count += count_bits(found.open & outside); \
        } \
        *opened += count; \
        return true; \
    }

/* Text that is valid. An escape or a scalar can reach into the next block, but not behind the bracket that ends the
 * piece. An escaped byte behind a piece's end is in an open string, which is an error. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a function's attributes cannot be in parentheses */
#define IS_VALID(target, classify, run_xor, is_valid_name) \
    target INLINE void pass_##is_valid_name(grammar *g, const char *data, const char *text, size_t at, size_t size) { \
        classes found = classify(data); \
        uint64_t escaped = find_escaped(&g->walk, found.backslash, size); \
        uint64_t quotes = found.quote & ~escaped; \
        uint64_t inside = run_xor(quotes) ^ g->string, outside = ~inside & UINT64_MAX >> (BLOCK - size); \
        grammar_block block = { .text = text, \
                                .at = at, \
                                .size = size, \
                                .quotes = quotes, \
                                .inside = inside, \
                                .escaped = escaped, \
                                .open = found.open & outside, \
                                .close = found.close & outside, \
                                .comma = found.comma & outside, \
                                .colon = found.colon & outside, \
                                .odd = found.odd }; \
        uint64_t object = 0 - (g->stack & 1); \
        object ^= run_xor(pass_nesting(g, &block)); \
        pass_grammar(g, &block, object); \
    } \
    target static bool is_valid_name(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline) { \
        grammar g = { .walk = KI_JSON_WALK_INIT, .stack = 1, .separator = UINT64_C(1) << 63, .outline = outline->at }; \
        char padded[BLOCK]; \
        const size_t last = text.size - 1; \
        size_t at = 0, end = gap_size ? gap_at : last, size; \
        for (;;) { \
            for (; end - at >= BLOCK && !g.bad; at += BLOCK) \
                pass_##is_valid_name(&g, text.data + at, text.data + at, at, BLOCK); \
            if (at < end && !g.bad) { \
                const char *data = block_at((ki_str){ text.data, end }, at, padded, &size); \
                pass_##is_valid_name(&g, data, text.data + at, at, size); \
            } \
            if (end == last || g.bad || g.string) \
                break; \
            at = gap_at + gap_size; \
            end = last; \
        } \
        outline->count = g.outlined; \
        return is_valid_end(&g); \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

INLINE uint64_t run_xor_shifts(uint64_t bits) {
    for (unsigned shift = 1; shift < BLOCK; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

#endif

#if defined(__x86_64__)

/* --- AVX2 --------------------------------------------------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2,bmi,bmi2,pclmul,popcnt")))

static bool has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("popcnt");
}

AVX2 INLINE uint64_t bits_avx2(__m256i low, __m256i high) {
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 | (uint32_t)_mm256_movemask_epi8(low);
}

AVX2 INLINE uint64_t equal_avx2(__m256i low, __m256i high, char c) {
    __m256i wanted = _mm256_set1_epi8(c);
    return bits_avx2(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
}

AVX2 INLINE classes classify_avx2(const char data[BLOCK]) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)data);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(data + 32));
    /* Setting bit 5 turns '[' into '{' and ']' into '}', and no other byte into them. */
    __m256i fold = _mm256_set1_epi8(0x20), low_folded = _mm256_or_si256(low, fold);
    __m256i high_folded = _mm256_or_si256(high, fold);
    return (classes){
        .quote = equal_avx2(low, high, '"'),
        .backslash = equal_avx2(low, high, '\\'),
        .open = equal_avx2(low_folded, high_folded, '{'),
        .close = equal_avx2(low_folded, high_folded, '}'),
        .comma = equal_avx2(low, high, ','),
        .colon = equal_avx2(low, high, ':'),
        .space = bits_avx2(_mm256_cmpeq_epi8(_mm256_min_epu8(low, fold), low),
                           _mm256_cmpeq_epi8(_mm256_min_epu8(high, fold), high)),
        .odd = bits_avx2(_mm256_cmpgt_epi8(fold, low), _mm256_cmpgt_epi8(fold, high)),
    };
}

/* A product without carries by all ones is the running exclusive or. */
AVX2 INLINE uint64_t run_xor_product(uint64_t bits) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8((char)0xff), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

FIND_END(AVX2, classify_avx2, run_xor_product, find_end_avx2)
IS_COMPACT(AVX2, classify_avx2, run_xor_product, is_compact_avx2)
IS_VALID(AVX2, classify_avx2, run_xor_product, is_valid_avx2)

/* --- SSE2: each x86-64 -------------------------------------------------------------------------------------------- */

static bool has_sse2(void) {
    return true;
}

INLINE classes classify_sse2(const char data[BLOCK]) {
    classes found = { 0 };
    const __m128i fold = _mm_set1_epi8(0x20);
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + i));
        __m128i folded = _mm_or_si128(bytes, fold);
#define BITS(compared) ((uint64_t)(unsigned)_mm_movemask_epi8(compared) << i)
        found.quote |= BITS(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
        found.backslash |= BITS(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        found.open |= BITS(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
        found.close |= BITS(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
        found.comma |= BITS(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')));
        found.colon |= BITS(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
        found.odd |= BITS(_mm_cmplt_epi8(bytes, fold));
        found.space |= BITS(_mm_cmpeq_epi8(_mm_min_epu8(bytes, fold), bytes));
#undef BITS
    }
    return found;
}

FIND_END(, classify_sse2, run_xor_shifts, find_end_sse2)
IS_COMPACT(, classify_sse2, run_xor_shifts, is_compact_sse2)
IS_VALID(, classify_sse2, run_xor_shifts, is_valid_sse2)

const ki_json_scanner ki_json_block_scanners[] = {
    { "AVX2", has_avx2, find_end_avx2, is_compact_avx2, is_valid_avx2 },
    { "SSE2", has_sse2, find_end_sse2, is_compact_sse2, is_valid_sse2 },
};
const size_t ki_json_block_scanner_count = 2;

#elif defined(HAS_NEON)

/* --- NEON: each arm64 --------------------------------------------------------------------------------------------- */

static bool has_neon(void) {
    return true;
}

/* Returns a bit for each byte of the block: each byte of `compared` is 0 or 0xff. */
INLINE uint64_t bits_neon(uint8x16x4_t compared) {
    const uint8x16_t weights = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    uint8x16_t low = vpaddq_u8(vandq_u8(compared.val[0], weights), vandq_u8(compared.val[1], weights));
    uint8x16_t high = vpaddq_u8(vandq_u8(compared.val[2], weights), vandq_u8(compared.val[3], weights));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

INLINE classes classify_neon(const char data[BLOCK]) {
    const uint8x16_t fold = vdupq_n_u8(0x20);
    uint8x16x4_t quote, backslash, open, close, comma, colon, space, odd;
    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t bytes = vld1q_u8((const uint8_t *)data + 16 * i), folded = vorrq_u8(bytes, fold);
        quote.val[i] = vceqq_u8(bytes, vdupq_n_u8('"'));
        backslash.val[i] = vceqq_u8(bytes, vdupq_n_u8('\\'));
        open.val[i] = vceqq_u8(folded, vdupq_n_u8('{'));
        close.val[i] = vceqq_u8(folded, vdupq_n_u8('}'));
        comma.val[i] = vceqq_u8(bytes, vdupq_n_u8(','));
        colon.val[i] = vceqq_u8(bytes, vdupq_n_u8(':'));
        space.val[i] = vcleq_u8(bytes, fold);
        odd.val[i] = vcltq_s8(vreinterpretq_s8_u8(bytes), vreinterpretq_s8_u8(fold));
    }
    return (classes){ bits_neon(quote), bits_neon(backslash), bits_neon(open),  bits_neon(close),
                      bits_neon(comma), bits_neon(colon),     bits_neon(space), bits_neon(odd) };
}

FIND_END(, classify_neon, run_xor_shifts, find_end_neon)
IS_COMPACT(, classify_neon, run_xor_shifts, is_compact_neon)
IS_VALID(, classify_neon, run_xor_shifts, is_valid_neon)

const ki_json_scanner ki_json_block_scanners[] = { { "NEON", has_neon, find_end_neon, is_compact_neon,
                                                     is_valid_neon } };
const size_t ki_json_block_scanner_count = 1;

#else

const ki_json_scanner ki_json_block_scanners[] = { { NULL, NULL, NULL, NULL, NULL } }; /* C has no empty arrays */
const size_t ki_json_block_scanner_count = 0;

#endif
