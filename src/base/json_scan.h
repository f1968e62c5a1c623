/* json_scan.h: finds strings, brackets and white space of JSON 64 bytes at a time, without parsing. One thread; the
 * caller keeps the state between blocks. */
#ifndef KI_BASE_JSON_SCAN_H
#define KI_BASE_JSON_SCAN_H

#include "src/base/string_view.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    KI_JSON_BLOCK = 64
};

/* The state between two blocks; all false at the beginning of a value. */
typedef struct ki_json_state {
    bool in_string;
    bool escaped; /* the next byte follows a backslash */
} ki_json_state;

/* One bit for each byte of the block, the first byte in the lowest bit. Only bytes outside strings. */
typedef struct ki_json_block {
    uint64_t open;  /* { [ */
    uint64_t close; /* } ] */
    uint64_t space; /* bytes up to 0x20: white space and control characters */
} ki_json_block;

/* Returns true if `text`, valid JSON, has no white space outside strings. */
bool ki_json_is_compact(ki_str text);
/* Copies `text`, valid JSON, without the white space outside strings. `out` has room for text.size bytes. Returns the
 * number of bytes written. */
size_t ki_json_compact(char *out, ki_str text);
/* Returns the size of the array or object at the beginning of `text`; text.size if it is incomplete. */
size_t ki_json_container_size(ki_str text);

static inline unsigned ki_json_count_bits(uint64_t bits) {
    bits -= (bits >> 1) & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + ((bits >> 2) & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)((bits * UINT64_C(0x0101010101010101)) >> 56);
}

static inline unsigned ki_json_lowest_bit(uint64_t bits) {
    return (unsigned)__builtin_ctzll(bits);
}

typedef struct ki_json_classes {
    uint64_t quote, backslash, open, close, space;
} ki_json_classes;

static inline ki_json_classes ki_json_classify(const char data[KI_JSON_BLOCK]) {
    ki_json_classes classes = { 0, 0, 0, 0, 0 };
#ifdef __SSE2__
    for (unsigned i = 0; i < KI_JSON_BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + i));
        /* Setting bit 5 turns '[' into '{' and ']' into '}', and no other byte into them. */
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i spaces = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
#define KI_JSON_BITS_(compared) ((uint64_t)(unsigned)_mm_movemask_epi8(compared) << i)
        classes.quote |= KI_JSON_BITS_(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
        classes.backslash |= KI_JSON_BITS_(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        classes.open |= KI_JSON_BITS_(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
        classes.close |= KI_JSON_BITS_(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
        classes.space |= KI_JSON_BITS_(spaces);
#undef KI_JSON_BITS_
    }
#else
    for (unsigned i = 0; i < KI_JSON_BLOCK; i++) {
        unsigned char c = (unsigned char)data[i];
        unsigned char folded = c | 0x20;
        classes.quote |= (uint64_t)(c == '"') << i;
        classes.backslash |= (uint64_t)(c == '\\') << i;
        classes.open |= (uint64_t)(folded == '{') << i;
        classes.close |= (uint64_t)(folded == '}') << i;
        classes.space |= (uint64_t)(c <= 0x20) << i;
    }
#endif
    return classes;
}

/* Scans the first `size` (1 to KI_JSON_BLOCK) bytes of `data`. */
static inline ki_json_block ki_json_scan(const char *data, size_t size, ki_json_state *state) {
    char padded[KI_JSON_BLOCK];
    if (size < KI_JSON_BLOCK) {
        memcpy(padded, data, size);
        memset(padded + size, 0, KI_JSON_BLOCK - size);
        data = padded;
    }
    ki_json_classes classes = ki_json_classify(data);

    uint64_t escaped = state->escaped ? 1 : 0;
    bool escapes_next = false;
    uint64_t backslashes = classes.backslash & ~escaped;
    while (backslashes) {
        unsigned at = ki_json_lowest_bit(backslashes);
        if (at == KI_JSON_BLOCK - 1) {
            escapes_next = true;
            break;
        }
        escaped |= UINT64_C(2) << at;
        backslashes &= ~(UINT64_C(3) << at);
    }

    /* The running exclusive or of the quotes marks the bytes from an opening quote up to its closing one. */
    uint64_t inside = classes.quote & ~escaped;
    for (unsigned shift = 1; shift < KI_JSON_BLOCK; shift *= 2)
        inside ^= inside << shift;
    if (state->in_string)
        inside = ~inside;

    uint64_t outside = ~inside;
    if (size < KI_JSON_BLOCK) {
        escapes_next = (escaped >> size) & 1;
        outside &= (UINT64_C(1) << size) - 1;
    }
    state->escaped = escapes_next;
    state->in_string = (inside >> (size - 1)) & 1;
    return (ki_json_block){ classes.open & outside, classes.close & outside, classes.space & outside };
}

#endif
