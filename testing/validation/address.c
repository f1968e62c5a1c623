/* address.c: see address.h. */
#include "testing/validation/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum {
    ADDRESS_MAX = 64,
    BITS_4 = 32,
    BITS_6 = 128
};

/* Copies `text` without the zeros at the start of an IPv4 address' numbers. Returns false if it is too long. */
static bool copy_address(ki_str text, char ret_copy[ADDRESS_MAX], bool *ret_zeros) {
    size_t size = 0;
    bool is_start = true, has_colon = text.size && memchr(text.data, ':', text.size);
    *ret_zeros = false;
    if (!text.size || text.size >= ADDRESS_MAX || memchr(text.data, '\0', text.size))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_digit_next = i + 1 < text.size && text.data[i + 1] >= '0' && text.data[i + 1] <= '9';
        if (c == '0' && is_start && is_digit_next && !has_colon) {
            *ret_zeros = true;
            continue;
        }
        ret_copy[size++] = c;
        is_start = c == '.';
    }
    ret_copy[size] = '\0';
    return true;
}

static bool is_mapped(const kt_block *block) {
    static const unsigned char prefix[12] = { [10] = 0xff, [11] = 0xff };
    return block->family == 6 && memcmp(block->bytes, prefix, sizeof prefix) == 0;
}

/* Parses an address as Go's netutils.ParseIPSloppy. Returns false if `text` is none. */
static bool parse(ki_str text, kt_block *ret_block, bool *ret_zeros) {
    char copy[ADDRESS_MAX];
    memset(ret_block, 0, sizeof *ret_block);
    if (!copy_address(text, copy, ret_zeros))
        return false;
    ret_block->family = inet_pton(AF_INET, copy, ret_block->bytes) == 1    ? 4
                        : inet_pton(AF_INET6, copy, ret_block->bytes) == 1 ? 6
                                                                           : 0;
    ret_block->bits = ret_block->family == 4 ? BITS_4 : BITS_6;
    return ret_block->family != 0;
}

int kt_address_family(ki_str text) {
    kt_block block;
    bool zeros;
    return parse(text, &block, &zeros) && !zeros ? block.family : 0;
}

const char *kt_address_problem(ki_str text, kt_block *ret_block) {
    kt_block space, *block = ret_block ? ret_block : &space;
    bool zeros;
    if (!parse(text, block, &zeros))
        return KT_NOT_AN_ADDRESS;
    if (zeros)
        return "must not have leading 0s";
    return is_mapped(block) ? "must not be an IPv4-mapped IPv6 address" : NULL;
}

void kt_address_write(const kt_block *address, char ret_text[KT_ADDRESS_SIZE]) {
    static const unsigned char zeros[12];
    const unsigned char *last = address->bytes + sizeof zeros;
    bool is_compatible =
        address->family == 6 && memcmp(address->bytes, zeros, sizeof zeros) == 0 && (last[0] || last[1]);
    inet_ntop(address->family == 6 ? AF_INET6 : AF_INET, address->bytes, ret_text, KT_ADDRESS_SIZE);
    if (is_compatible) /* Go has no form such as ::1.2.3.4 */
        snprintf(ret_text, KT_ADDRESS_SIZE, "::%x:%x", last[0] << 8 | last[1], last[2] << 8 | last[3]);
}

static bool has_bit(const unsigned char *bytes, unsigned bit) {
    return bytes[bit / 8] & (0x80u >> (bit % 8));
}

const char *kt_block_problem(ki_str text, kt_block *ret_block) {
    kt_block space, *block = ret_block ? ret_block : &space;
    const char *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
    bool zeros, is_number = slash && slash + 1 < text.data + text.size;
    uint64_t bits = 0;
    if (!slash || !parse((ki_str){ text.data, (size_t)(slash - text.data) }, block, &zeros))
        return KT_NOT_A_BLOCK;
    for (const char *c = slash + 1; is_number && c < text.data + text.size; c++) {
        is_number = *c >= '0' && *c <= '9' && bits <= BITS_6;
        bits = 10 * bits + (uint64_t)(*c - '0');
    }
    if (!is_number || bits > block->bits)
        return KT_NOT_A_BLOCK;
    if (zeros || (slash[1] == '0' && slash + 2 < text.data + text.size))
        return "must not have leading 0s in IP or prefix length";
    if (is_mapped(block))
        return "must not have an IPv4-mapped IPv6 address";
    for (unsigned bit = (unsigned)bits; bit < block->bits; bit++) {
        if (has_bit(block->bytes, bit))
            return "must not have bits set beyond the prefix length";
    }
    block->bits = (unsigned)bits;
    return NULL;
}

bool kt_block_contains(const kt_block *outer, const kt_block *inner) {
    bool is_inside = outer->family == inner->family && outer->bits < inner->bits;
    for (unsigned bit = 0; is_inside && bit < outer->bits; bit++)
        is_inside = has_bit(outer->bytes, bit) == has_bit(inner->bytes, bit);
    return is_inside;
}
