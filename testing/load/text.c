/* text.c: see text.h. */
#include "testing/load/text.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"

#include <stdarg.h>
#include <stdio.h>

void kt_load_clear(kt_load_fields *fields) {
    memset(fields->values, 0, sizeof fields->values);
    fields->used = 0;
}

/* Returns room for a value of at most `size` bytes and its end. */
static char *take(kt_load_fields *fields, char letter, size_t size) {
    KI_ASSERT(fields->used + size < KT_LOAD_SPACE);
    char *at = fields->space + fields->used;
    fields->used += size + 1;
    fields->values[(unsigned char)letter] = (ki_str){ at, size };
    return at;
}

void kt_load_setf(kt_load_fields *fields, char letter, const char *format, ...) {
    char text[KT_LOAD_SPACE];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(take(fields, letter, (size_t)size), text, (size_t)size + 1);
}

void kt_load_set_time(kt_load_fields *fields, char letter, int64_t seconds) {
    char text[KI_RFC3339_SIZE];
    ki_rfc3339_seconds(seconds, text);
    kt_load_setf(fields, letter, "%s", text);
}

uint64_t kt_load_mix(uint64_t key, uint64_t number) { /* splitmix64 */
    uint64_t z = key + (number + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void kt_load_set_hex(kt_load_fields *fields, char letter, uint64_t key, size_t digits) {
    static const char hex[] = "0123456789abcdef";
    char *to = take(fields, letter, digits);
    for (size_t i = 0; i < digits; i++)
        to[i] = hex[kt_load_mix(key, i / 16) >> i % 16 * 4 & 15];
    to[digits] = '\0';
}

void kt_load_write_letters(uint64_t key, size_t count, char *to) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* apimachinery's rand.SafeEncodeString */
    for (size_t i = 0; i < count; i++, key /= sizeof letters - 1)
        to[i] = letters[key % (sizeof letters - 1)];
    to[count] = '\0';
}

void kt_load_set_letters(kt_load_fields *fields, char letter, uint64_t key, size_t count) {
    kt_load_write_letters(key, count, take(fields, letter, count));
}

static void append_value(ki_buffer *out, ki_str value, const kt_load_fields *fields) {
    if (value.size && memchr(value.data, '`', value.size))
        kt_load_append(out, value.data, fields);
    else
        ki_buffer_append_view(out, value);
}

void kt_load_append(ki_buffer *out, const char *text, const kt_load_fields *fields) {
    for (;;) {
        const char *field = strchrnul(text, '`');
        ki_buffer_append(out, text, (size_t)(field - text));
        if (out->failed || !field[0] || !field[1])
            return;
        ki_str value = fields->values[(unsigned char)field[1] % KT_LOAD_FIELDS];
        if (value.data)
            append_value(out, value, fields);
        else
            ki_buffer_append(out, field, 2);
        text = field + 2;
    }
}

char *kt_load_compile(const ki_allocator *allocator, const char *text) {
    char *compiled = ki_strdup(allocator, text);
    for (char *c = compiled; c && (c = strchr(c, '\'')); c++)
        *c = '"';
    return compiled;
}
