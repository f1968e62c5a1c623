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
    BLOCK = 64,
    STEP = BLOCK - 1 /* bytes that a block of the grammar adds to the one before */
};

/* The bytes of a block by what they are, inside strings too. */
typedef struct classes {
    uint64_t quote, backslash;
    uint64_t open, close; /* { [ and } ] */
    uint64_t space;       /* bytes up to 0x20: white space and control characters */
    uint64_t odd;         /* control characters, and bytes of characters outside ASCII */
} classes;

#define INLINE static inline __attribute__((always_inline))

/* Copies the bytes, and fills the block up with spaces. */
INLINE void pad(char padded[BLOCK], const char *bytes, size_t size) {
    memset(padded, ' ', BLOCK);
    memcpy(padded, bytes, size);
}

/* Returns the block at `at`. The last one is filled up in `padded`. */
INLINE const char *block_at(ki_str text, size_t at, char padded[BLOCK], size_t *ret_size) {
    *ret_size = text.size - at < BLOCK ? text.size - at : BLOCK;
    if (*ret_size == BLOCK)
        return text.data + at;
    pad(padded, text.data + at, *ret_size);
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
    inside ^= 0 - (uint64_t)walk->in_string;
    walk->in_string = inside >> (size - 1) & 1;
    return ~inside & UINT64_MAX >> (BLOCK - size);
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
/* NOLINTBEGIN(bugprone-macro-parentheses): a function's attributes cannot be in parentheses */
#define FIND_END(target, classify, run_xor, find_end_name) \
    target INLINE size_t pass_##find_end_name(ki_json_walk *walk, const char *data, size_t size) { \
        classes found = classify(data); \
        uint64_t quotes = found.quote & ~find_escaped(walk, found.backslash, size); \
        uint64_t outside = find_outside(walk, run_xor(quotes), size); \
        return pass_brackets(walk, found.open & outside, found.close & outside); \
    } \
    target static size_t find_end_name(ki_json_walk *walk, ki_str text) { \
        char padded[BLOCK]; \
        ki_json_walk local = *walk; /* in registers */ \
        size_t at = 0, used = 0; \
        for (; text.size - at >= BLOCK && !used; at += BLOCK) \
            used = pass_##find_end_name(&local, text.data + at, BLOCK); \
        if (at < text.size && !used) { \
            pad(padded, text.data + at, text.size - at); \
            used = pass_##find_end_name(&local, padded, text.size - at); \
            at += BLOCK; \
        } \
        *walk = local; \
        return used ? at - BLOCK + used : 0; \
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

/* Text that is valid: one piece, or two with a gap between them. A piece is behind an open bracket, and ends with a
 * bracket: an escape or a scalar can reach into the next block, but not behind that. */
#define IS_VALID(target, find_sets, classify, run_xor, is_valid_name) \
    target INLINE bool pass_##is_valid_name(grammar *g, rare_bytes *rare, const char *data, const char *text, \
                                            uint64_t valid) { \
        token_sets sets = find_sets(data); \
        uint64_t bars = sets.bracket & sets.mark; /* backslashes, and | */ \
        if (__builtin_expect((bars | sets.odd) != 0, 0)) { \
            classes found = classify(data); \
            uint64_t escaped = find_escaped(&rare->walk, found.backslash >> 1, STEP) << 1; \
            if (!pass_rare(rare, text, (size_t)(text - g->text), found.odd, escaped)) \
                return false; \
            sets.bracket &= ~bars; \
            sets.mark &= ~bars & ~escaped; \
        } \
        uint64_t quotes = sets.mark & ~sets.separator; \
        uint64_t inside = run_xor(quotes & ~PASSED) ^ g->string; \
        g->string = 0 - (inside >> (BLOCK - 1)); \
        return pass_grammar(g, &sets, quotes, inside, text, valid); \
    } \
    target static bool is_valid_name(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline) { \
        grammar g = begin_grammar(text, outline); \
        rare_bytes rare = { .walk = KI_JSON_WALK_INIT }; \
        char padded[BLOCK], before = '{'; \
        const char *at = text.data, *end = gap_size ? text.data + gap_at : g.end; \
        for (;;) { \
            while (end - at > 1) { \
                size_t size = end - at < BLOCK ? (size_t)(end - at) : BLOCK; \
                pad(padded, at, size); \
                padded[0] = before; \
                if (!pass_##is_valid_name(&g, &rare, padded, at, UINT64_MAX >> (BLOCK - size))) \
                    return false; \
                for (at += size - 1; end - at >= BLOCK; at += STEP) \
                    if (!pass_##is_valid_name(&g, &rare, at, at, UINT64_MAX)) \
                        return false; \
                before = *at; \
            } \
            if (end == g.end || g.string) \
                break; \
            at = end + gap_size - 1; \
            end = g.end; \
        } \
        return end_grammar(&g, outline); \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* The members of each set of tokens (json_grammar.h), at the place of their low four bits. Bit 5 is set in all of them:
 * setting it turns '[' into '{', ']' into '}', a backslash into '|', and no other byte but control characters into
 * one of them. */
static const char separators[16] = { [0xa] = ':', [0xb] = '{', [0xc] = ',' };
static const char brackets[16] = { [0xb] = '{', [0xc] = '|', [0xd] = '}' };
static const char marks[16] = { [0x2] = '"', [0xa] = ':', [0xc] = '|' };

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
        .space = bits_avx2(_mm256_cmpeq_epi8(_mm256_min_epu8(low, fold), low),
                           _mm256_cmpeq_epi8(_mm256_min_epu8(high, fold), high)),
        .odd = bits_avx2(_mm256_cmpgt_epi8(fold, low), _mm256_cmpgt_epi8(fold, high)),
    };
}

AVX2 INLINE uint64_t members_avx2(__m256i low, __m256i high, const char set[16]) {
    __m256i fold = _mm256_set1_epi8(0x20);
    __m256i members = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)set));
    return bits_avx2(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(members, low), _mm256_or_si256(low, fold)),
                     _mm256_cmpeq_epi8(_mm256_shuffle_epi8(members, high), _mm256_or_si256(high, fold)));
}

AVX2 INLINE token_sets find_sets_avx2(const char data[BLOCK]) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)data);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(data + 32));
    /* The sign of the difference. */
    __m256i odd = _mm256_subs_epi8(_mm256_min_epi8(low, high), _mm256_set1_epi8(0x20));
    return (token_sets){
        .separator = members_avx2(low, high, separators),
        .bracket = members_avx2(low, high, brackets),
        .mark = members_avx2(low, high, marks),
        .odd = (uint32_t)_mm256_movemask_epi8(odd),
    };
}

/* A product without carries by all ones is the running exclusive or. */
AVX2 INLINE uint64_t run_xor_product(uint64_t bits) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8((char)0xff), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

FIND_END(AVX2, classify_avx2, run_xor_product, find_end_avx2)
IS_COMPACT(AVX2, classify_avx2, run_xor_product, is_compact_avx2)
IS_VALID(AVX2, find_sets_avx2, classify_avx2, run_xor_product, is_valid_avx2)

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
        found.odd |= BITS(_mm_cmplt_epi8(bytes, fold));
        found.space |= BITS(_mm_cmpeq_epi8(_mm_min_epu8(bytes, fold), bytes));
#undef BITS
    }
    return found;
}

INLINE __m128i any_of_sse2(__m128i first, __m128i second, __m128i third) {
    return _mm_or_si128(_mm_or_si128(first, second), third);
}

/* SSE2 has no look-up of bytes. */
INLINE token_sets find_sets_sse2(const char data[BLOCK]) {
    token_sets found = { 0 };
    const __m128i fold = _mm_set1_epi8(0x20);
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + i));
        __m128i folded = _mm_or_si128(bytes, fold);
#define EQUAL(c) _mm_cmpeq_epi8(folded, _mm_set1_epi8(c))
#define BITS(compared) ((uint64_t)(unsigned)_mm_movemask_epi8(compared) << i)
        found.separator |= BITS(any_of_sse2(EQUAL(':'), EQUAL('{'), EQUAL(',')));
        found.bracket |= BITS(any_of_sse2(EQUAL('{'), EQUAL('|'), EQUAL('}')));
        found.mark |= BITS(any_of_sse2(EQUAL('"'), EQUAL(':'), EQUAL('|')));
        found.odd |= BITS(_mm_cmplt_epi8(bytes, fold));
#undef BITS
#undef EQUAL
    }
    return found;
}

FIND_END(, classify_sse2, run_xor_shifts, find_end_sse2)
IS_COMPACT(, classify_sse2, run_xor_shifts, is_compact_sse2)
IS_VALID(, find_sets_sse2, classify_sse2, run_xor_shifts, is_valid_sse2)

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
    uint8x16x4_t quote, backslash, open, close, space, odd;
    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t bytes = vld1q_u8((const uint8_t *)data + 16 * i), folded = vorrq_u8(bytes, fold);
        quote.val[i] = vceqq_u8(bytes, vdupq_n_u8('"'));
        backslash.val[i] = vceqq_u8(bytes, vdupq_n_u8('\\'));
        open.val[i] = vceqq_u8(folded, vdupq_n_u8('{'));
        close.val[i] = vceqq_u8(folded, vdupq_n_u8('}'));
        space.val[i] = vcleq_u8(bytes, fold);
        odd.val[i] = vcltq_s8(vreinterpretq_s8_u8(bytes), vreinterpretq_s8_u8(fold));
    }
    return (classes){ bits_neon(quote), bits_neon(backslash), bits_neon(open),
                      bits_neon(close), bits_neon(space),     bits_neon(odd) };
}

INLINE token_sets find_sets_neon(const char data[BLOCK]) {
    const uint8x16_t fold = vdupq_n_u8(0x20), place = vdupq_n_u8(0x8f); /* none of a byte outside ASCII */
    const uint8x16_t in_separators = vld1q_u8((const uint8_t *)separators);
    const uint8x16_t in_brackets = vld1q_u8((const uint8_t *)brackets), in_marks = vld1q_u8((const uint8_t *)marks);
    uint8x16x4_t separator, bracket, mark;
    int8x16_t least = vdupq_n_s8(INT8_MAX);
    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t bytes = vld1q_u8((const uint8_t *)data + 16 * i), folded = vorrq_u8(bytes, fold);
        uint8x16_t places = vandq_u8(bytes, place);
        separator.val[i] = vceqq_u8(vqtbl1q_u8(in_separators, places), folded);
        bracket.val[i] = vceqq_u8(vqtbl1q_u8(in_brackets, places), folded);
        mark.val[i] = vceqq_u8(vqtbl1q_u8(in_marks, places), folded);
        least = vminq_s8(least, vreinterpretq_s8_u8(bytes));
    }
    return (token_sets){ bits_neon(separator), bits_neon(bracket), bits_neon(mark), vminvq_s8(least) < 0x20 };
}

FIND_END(, classify_neon, run_xor_shifts, find_end_neon)
IS_COMPACT(, classify_neon, run_xor_shifts, is_compact_neon)
IS_VALID(, find_sets_neon, classify_neon, run_xor_shifts, is_valid_neon)

const ki_json_scanner ki_json_block_scanners[] = { { "NEON", has_neon, find_end_neon, is_compact_neon,
                                                     is_valid_neon } };
const size_t ki_json_block_scanner_count = 1;

#else

const ki_json_scanner ki_json_block_scanners[] = { { NULL, NULL, NULL, NULL, NULL } }; /* C has no empty arrays */
const size_t ki_json_block_scanner_count = 0;

#endif
