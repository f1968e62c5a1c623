/* string_view.c: splits and parses borrowed text; the hash of all tables. */
#include "src/base/string_view.h"

#include "src/base/assert.h"

bool ki_str_starts_with(ki_str text, ki_str prefix) {
    return text.size >= prefix.size && (prefix.size == 0 || memcmp(text.data, prefix.data, prefix.size) == 0);
}

ki_str ki_str_split(ki_str text, char separator, ki_str *rest) {
    const char *at = text.size ? memchr(text.data, separator, text.size) : NULL;
    if (!at) {
        *rest = (ki_str){ NULL, 0 };
        return text;
    }
    size_t before = (size_t)(at - text.data);
    *rest = (ki_str){ at + 1, text.size - before - 1 };
    return (ki_str){ text.data, before };
}

bool ki_str_to_uint64(ki_str text, uint64_t max, uint64_t *ret_value) {
    if (text.size == 0)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)((unsigned char)text.data[i] - '0');
        if (digit > 9)
            return false;
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value > max)
        return false;
    *ret_value = value;
    return true;
}

size_t ki_str_utf8_size(ki_str text) {
    KI_ASSERT(text.size > 0);
    const unsigned char *c = (const unsigned char *)text.data;
    size_t size = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    if (size > text.size)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    }
    bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    bool no_character = (c[0] == 0xED && c[1] > 0x9F) || (c[0] == 0xF4 && c[1] > 0x8F);
    return overlong || no_character ? 0 : size;
}

bool ki_str_is_utf8(ki_str text) {
    while (text.size) {
        size_t size = ki_str_utf8_size(text);
        if (size == 0)
            return false;
        text.data += size;
        text.size -= size;
    }
    return true;
}

size_t ki_str_control_size(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    if (*c < 0x20 || *c == 0x7f)
        return *c ? 1 : 0;
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* C1 controls; U+009B means the same as ESC [ */
        return 2;
    if (c[0] == 0xd8 && c[1] == 0x9c) /* U+061C, a direction mark */
        return 2;
    if (c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae)))
        return 3;                                                                /* U+200E, U+200F, U+2028 to U+202E */
    return c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0; /* U+2066 to U+2069 */
}

/* The hash multiplies two 64-bit halves of the input to 128 bits and folds them, as wyhash does: every input bit
 * affects every output bit. Bytes are read little-endian on every machine, so that shards and tests agree between
 * machines. */

static inline uint64_t read_le(const unsigned char *data, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)data[i] << (8 * i);
    return value;
}

static inline uint64_t read64(const unsigned char *data) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return value;
#else
    return read_le(data, 8);
#endif
}

static inline uint64_t fold(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a_high = a >> 32, a_low = (uint32_t)a, b_high = b >> 32, b_low = (uint32_t)b;
    uint64_t low = a_low * b_low, middle = a_high * b_low, middle2 = a_low * b_high, high = a_high * b_high;
    uint64_t carry = (low >> 32) + (uint32_t)middle + (uint32_t)middle2;
    high += (middle >> 32) + (middle2 >> 32) + (carry >> 32);
    return ((carry << 32) | (uint32_t)low) ^ high;
#endif
}

enum {
    LONG = 512 /* bytes; keys are shorter */
};
#define MIX_A UINT64_C(0xa0761d6478bd642f)
#define MIX_B UINT64_C(0xe7037ed1a0b428db)
#define MIX_C UINT64_C(0x8ebc6af09c88c6e3)

static inline uint64_t fold16(const unsigned char *data, uint64_t seed) {
    return fold(read64(data) ^ MIX_B, read64(data + 8) ^ seed);
}

/* Folds all of a long text but its last bytes, at most 64. The four lanes do not wait for each other: a multiplication
 * takes some cycles, and the processor begins one in each. */
static uint64_t fold_lanes(const unsigned char **p, size_t *left, uint64_t seed) {
    uint64_t a = seed, b = seed ^ MIX_A, c = seed ^ MIX_B, d = seed ^ MIX_C;
    for (; *left > 64; *left -= 64, *p += 64) {
        a = fold16(*p, a);
        b = fold16(*p + 16, b);
        c = fold16(*p + 32, c);
        d = fold16(*p + 48, d);
    }
    return fold(fold(a ^ MIX_A, b), fold(c ^ MIX_A, d));
}

uint64_t ki_hash(const void *data, size_t size, uint64_t seed) {
    const unsigned char *p = data;
    size_t left = size;
    seed ^= fold(seed ^ MIX_A, MIX_B);
    if (left > LONG)
        seed = fold_lanes(&p, &left, seed);
    while (left > 16) {
        seed = fold16(p, seed);
        p += 16;
        left -= 16;
    }
    uint64_t a, b;
    if (left >= 8) {
        a = read64(p);
        b = read_le(p + 8, left - 8);
    } else {
        a = read_le(p, left);
        b = 0;
    }
    return fold(MIX_C ^ size, fold(a ^ MIX_B, b ^ seed));
}
