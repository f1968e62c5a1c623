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

/* Takes eight bytes at a time, then those that are left, then the size. Each step multiplies the hash to 128 bits and
 * folds the halves, as foldhash does: every bit of the input affects every bit of the hash. Bytes are read
 * little-endian on every machine, so that tests agree between machines. */
uint64_t ki_hash(const void *data, size_t size, uint64_t seed) {
    const unsigned char *at = data;
    const uint64_t factor = UINT64_C(0xe7037ed1a0b428db);
    uint64_t hash = seed ^ UINT64_C(0xa0761d6478bd642f);
    for (size_t left = size, taken = 1; taken > 0; at += taken, left -= taken) {
        uint64_t word = size;
        taken = left < sizeof word ? left : sizeof word;
        if (taken == sizeof word) {
            memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            word = __builtin_bswap64(word);
#endif
        } else if (taken > 0) {
            word = 0;
            for (size_t i = taken; i > 0; i--)
                word = word << 8 | at[i - 1];
        }
#ifdef __SIZEOF_INT128__
        __extension__ typedef unsigned __int128 wide;
        wide product = (wide)(hash ^ word) * factor;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
#else
        uint64_t high = (hash ^ word) >> 32, low = (uint32_t)(hash ^ word);
        uint64_t lowest = low * (uint32_t)factor, middle = high * (uint32_t)factor, middle2 = low * (factor >> 32);
        uint64_t carry = (lowest >> 32) + (uint32_t)middle + (uint32_t)middle2;
        high = high * (factor >> 32) + (middle >> 32) + (middle2 >> 32) + (carry >> 32);
        hash = (carry << 32 | (uint32_t)lowest) ^ high;
#endif
    }
    return hash;
}
