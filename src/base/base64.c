/* base64.c: see base64.h. */
#include "src/base/base64.h"

/* Returns 0 to 63, or -1 for a character outside the alphabet. */
static int value_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

static void put(char *out, size_t *size, unsigned byte) {
    if (out)
        out[*size] = (char)(unsigned char)byte;
    ++*size;
}

bool ki_base64_decode(ki_str text, char *out, size_t *ret_size) {
    unsigned group = 0, digits = 0, padding = 0;
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '\n' || c == '\r')
            continue;
        if (c == '=') {
            padding++;
            continue;
        }
        int value = value_of(c);
        if (value < 0 || padding > 0)
            return false;
        group = group << 6 | (unsigned)value;
        if (++digits < 4)
            continue;
        put(out, &size, group >> 16);
        put(out, &size, group >> 8);
        put(out, &size, group);
        group = digits = 0;
    }
    if (digits == 0 ? padding != 0 : digits + padding != 4 || digits == 1)
        return false;
    /* The bits after the last byte must be zero; otherwise the text was cut. */
    if (digits == 2) {
        if (group & 0xf)
            return false;
        put(out, &size, group >> 4);
    } else if (digits == 3) {
        if (group & 0x3)
            return false;
        put(out, &size, group >> 10);
        put(out, &size, group >> 2);
    }
    *ret_size = size;
    return true;
}

ki_status ki_base64_encode(ki_buffer *out, ki_str data) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < data.size; i += 3) {
        size_t left = data.size - i;
        unsigned group = (unsigned)(unsigned char)data.data[i] << 16;
        group |= left > 1 ? (unsigned)(unsigned char)data.data[i + 1] << 8 : 0;
        group |= left > 2 ? (unsigned)(unsigned char)data.data[i + 2] : 0;
        const char text[4] = { digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                               left > 2 ? digits[group & 63] : '=' };
        ki_buffer_append(out, text, sizeof text);
    }
    return out->failed;
}
