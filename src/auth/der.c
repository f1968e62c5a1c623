/* der.c: see der.h. */
#include "src/auth/der.h"

enum {
    DEPTH_MAX = 16,       /* certificates are nested about ten levels */
    LENGTH_BYTES_MAX = 3, /* a certificate has far less than 16 MiB */
    IS_CONSTRUCTED = 0x20,
    LONG_TAG = 0x1f /* tags of more than one byte do not occur in certificates and keys */
};

int ki_der_next(ki_str *der, ki_str *ret_value) {
    if (der->size < 2)
        return -1;
    const unsigned char *bytes = (const unsigned char *)der->data;
    size_t length = bytes[1], head = 2;
    if ((bytes[0] & LONG_TAG) == LONG_TAG)
        return -1;
    if (length & 0x80) {
        size_t count = length & 0x7f;
        if (count == 0 || count > LENGTH_BYTES_MAX || der->size < 2 + count)
            return -1;
        length = 0;
        for (size_t i = 0; i < count; i++)
            length = length << 8 | bytes[2 + i];
        head += count;
    }
    if (length > der->size - head)
        return -1;
    *ret_value = (ki_str){ der->data + head, length };
    *der = (ki_str){ der->data + head + length, der->size - head - length };
    return bytes[0];
}

bool ki_der_take(ki_str *der, int tag, ki_str *ret_value) {
    ki_str rest = *der;
    if (ki_der_next(&rest, ret_value) != tag)
        return false;
    *der = rest;
    return true;
}

static bool check(ki_str *der, int depth) {
    ki_str inside;
    int tag = depth ? ki_der_next(der, &inside) : -1;
    if (tag < 0)
        return false;
    while ((tag & IS_CONSTRUCTED) && inside.size) {
        if (!check(&inside, depth - 1))
            return false;
    }
    return true;
}

bool ki_der_check(ki_str *der) {
    return check(der, DEPTH_MAX);
}
