/* base64.c: standard base64 with padding. */
#include "testing/values/base64.h"

#include "src/base/base64.h"

ki_status kt_base64_append(ki_buffer *out, ki_str bytes) {
    ki_buffer_append_char(out, '"');
    ki_base64_encode(out, bytes);
    return ki_buffer_append_char(out, '"');
}

static bool is_digit(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

static uint32_t value_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0' + 52);
    return c == '+' ? 62 : 63;
}

ki_status kt_base64_decode(ki_buffer *out, ki_str text) {
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            continue; /* padding and line ends */
        bits = bits << 6 | value_of(text.data[i]);
        count += 6;
        if (count >= 8) {
            count -= 8;
            ki_buffer_append_char(out, (char)(bits >> count & 0xff));
        }
    }
    return out->failed;
}

size_t kt_base64_check(ki_str text) {
    size_t digits = 0, padding = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '\r' || c == '\n')
            continue;
        bool may_pad = digits % 4 >= 2 && padding < 4 - digits % 4;
        if (c == '=' ? !may_pad : !is_digit(c) || padding)
            return i;
        if (c == '=')
            padding++;
        else
            digits++;
    }
    return (digits + padding) % 4 ? text.size : SIZE_MAX;
}
