/* address.c: see address.h. */
#include "testing/validation/address.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

enum {
    ADDRESS_MAX = 64,
    BITS_4 = 32,
    BITS_6 = 128
};

int kt_address_family(ki_str text) {
    char copy[ADDRESS_MAX];
    struct in6_addr space;
    if (!text.size || text.size >= sizeof copy || memchr(text.data, '\0', text.size))
        return 0;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (inet_pton(AF_INET, copy, &space) == 1)
        return 4;
    return inet_pton(AF_INET6, copy, &space) == 1 ? 6 : 0;
}

int kt_block_family(ki_str text) {
    const char *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
    if (!slash)
        return 0;
    int family = kt_address_family((ki_str){ text.data, (size_t)(slash - text.data) });
    ki_str bits = { slash + 1, text.size - (size_t)(slash + 1 - text.data) };
    uint64_t number = 0;
    bool is_number = bits.size && (bits.data[0] != '0' || bits.size == 1) && bits.data[0] != '+' &&
                     ki_str_to_uint64(bits, family == 4 ? BITS_4 : BITS_6, &number);
    return is_number ? family : 0;
}
