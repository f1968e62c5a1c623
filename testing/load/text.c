/* text.c: see text.h. */
#include "testing/load/text.h"

#include "src/base/memory.h"

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
        append_value(out, fields->values[(unsigned char)field[1] % KT_LOAD_FIELDS], fields);
        text = field + 2;
    }
}

char *kt_load_compile(const ki_allocator *allocator, const char *text) {
    char *compiled = ki_strdup(allocator, text);
    for (char *c = compiled; c && (c = strchr(c, '\'')); c++)
        *c = '"';
    return compiled;
}
