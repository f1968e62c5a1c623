/* string_view.c: splits and parses borrowed text; the hash of all tables. */
#include "src/base/string_view.h"

#include "src/base/assert.h"

#include <endian.h>

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

/* Multiplies to 128 bits and folds the halves, as wyhash does: every bit of both affects every bit of the result. */
static inline uint64_t fold(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t lowest = (uint32_t)a * (uint64_t)(uint32_t)b, highest = (a >> 32) * (b >> 32);
    uint64_t middle = (a >> 32) * (uint32_t)b, middle2 = (uint32_t)a * (b >> 32);
    uint64_t carry = (lowest >> 32) + (uint32_t)middle + (uint32_t)middle2;
    return (carry << 32 | (uint32_t)lowest) ^ (highest + (middle >> 32) + (middle2 >> 32) + (carry >> 32));
#endif
}

/* Takes 16 bytes at a time, then those that are left, and the size. Bytes are read little-endian on every machine, so
 * that tests agree between machines. */
uint64_t ki_hash(const void *data, size_t size, uint64_t seed) {
    const unsigned char *at = data;
    const uint64_t other = UINT64_C(0xe7037ed1a0b428db);
    uint64_t hash = seed ^ UINT64_C(0xa0761d6478bd642f), words[2];
    size_t left = size;
    for (; left > sizeof words; at += sizeof words, left -= sizeof words) {
        memcpy(words, at, sizeof words);
        hash = fold(le64toh(words[0]) ^ other, le64toh(words[1]) ^ hash);
    }
    words[0] = words[1] = 0;
    if (left >= sizeof words[0]) { /* the words overlap */
        memcpy(&words[0], at, sizeof words[0]);
        memcpy(&words[1], at + left - sizeof words[1], sizeof words[1]);
        words[0] = le64toh(words[0]);
        words[1] = le64toh(words[1]);
    } else {
        for (size_t i = left; i > 0; i--)
            words[0] = words[0] << 8 | at[i - 1];
    }
    return fold(size ^ UINT64_C(0x8ebc6af09c88c6e3), fold(words[0] ^ other, words[1] ^ hash));
}
