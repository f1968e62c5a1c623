/* base64.c: standard base64 with padding. */
#include "testing/schema/base64.h"

ki_status kt_base64_append(ki_buffer *out, ki_str bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    ki_buffer_append_char(out, '"');
    for (size_t i = 0; i < bytes.size; i += 3) {
        uint32_t three = 0;
        size_t left = bytes.size - i;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (k < left ? (uint8_t)bytes.data[i + k] : 0);
        char four[4] = { digits[three >> 18], digits[three >> 12 & 63], left > 1 ? digits[three >> 6 & 63] : '=',
                         left > 2 ? digits[three & 63] : '=' };
        ki_buffer_append(out, four, 4);
    }
    return ki_buffer_append_char(out, '"');
}
