/* buffer.c: bytes that grow by doubling, up to a limit. */
#include "src/base/buffer.h"

#include "src/base/assert.h"
#include "src/base/memory.h"

#include <stdio.h>

enum {
    BUFFER_FIRST_CAPACITY = 64
};

void ki_buffer_init(ki_buffer *buffer, const ki_allocator *allocator, size_t limit) {
    KI_ASSERT(allocator);
    *buffer = (ki_buffer){ .allocator = allocator, .limit = limit, .failed = KI_OK };
}

void ki_buffer_free(ki_buffer *buffer) {
    bool is_secret = buffer->is_secret;
    if (is_secret && buffer->data)
        ki_wipe(buffer->data, buffer->capacity);
    ki_free(buffer->allocator, buffer->data);
    ki_buffer_init(buffer, buffer->allocator, buffer->limit);
    buffer->is_secret = is_secret;
}

/* Moves the bytes to a larger block and wipes the old one. Returns NULL if out of memory. */
static char *move_secret(ki_buffer *buffer, size_t capacity) {
    char *data = ki_alloc(buffer->allocator, capacity + 1);
    if (!data || !buffer->data)
        return data;
    memcpy(data, buffer->data, buffer->size);
    ki_wipe(buffer->data, buffer->capacity);
    ki_free(buffer->allocator, buffer->data);
    return data;
}

void ki_buffer_truncate(ki_buffer *buffer, size_t size) {
    KI_ASSERT(size <= buffer->size);
    buffer->size = size;
    if (buffer->data)
        buffer->data[size] = '\0';
}

void ki_buffer_reset(ki_buffer *buffer, size_t keep) {
    if (buffer->capacity > keep) {
        ki_buffer_free(buffer);
        return;
    }
    buffer->size = 0;
    buffer->failed = KI_OK;
    if (buffer->data)
        buffer->data[0] = '\0';
}

static bool is_sound(const ki_buffer *buffer) {
    return buffer->size <= buffer->capacity && (!buffer->limit || buffer->capacity <= buffer->limit) &&
           (buffer->data ? buffer->data[buffer->size] == '\0' : buffer->capacity == 0);
}

static ki_status fail(ki_buffer *buffer, ki_status status) {
    KI_ASSERT(status);
    if (buffer->failed == KI_OK)
        buffer->failed = status;
    return status;
}

ki_status ki_buffer_reserve(ki_buffer *buffer, size_t more) {
    if (more > SIZE_MAX / 2 - buffer->size)
        return fail(buffer, KI_ERR_NO_MEMORY);
    size_t need = buffer->size + more;
    if (buffer->limit && need > buffer->limit)
        return fail(buffer, KI_ERR_LIMIT);
    if (buffer->data && need <= buffer->capacity)
        return KI_OK;
    size_t capacity = buffer->capacity ? buffer->capacity * 2 : BUFFER_FIRST_CAPACITY;
    if (capacity < need)
        capacity = need;
    if (buffer->limit && capacity > buffer->limit)
        capacity = buffer->limit;
    char *data = buffer->is_secret ? move_secret(buffer, capacity)
                                   : ki_realloc_array(buffer->allocator, buffer->data, capacity + 1, 1);
    if (!data)
        return fail(buffer, KI_ERR_NO_MEMORY);
    buffer->data = data;
    buffer->capacity = capacity;
    data[buffer->size] = '\0';
    KI_ASSERT(is_sound(buffer));
    return KI_OK;
}

ki_status ki_buffer_append(ki_buffer *buffer, const void *data, size_t size) {
    ki_status status = ki_buffer_reserve(buffer, size);
    if (status)
        return status;
    if (size)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
    KI_ASSERT(is_sound(buffer));
    return KI_OK;
}

ki_status ki_buffer_append_view(ki_buffer *buffer, ki_str text) {
    return ki_buffer_append(buffer, text.data, text.size);
}

ki_status ki_buffer_append_string(ki_buffer *buffer, const char *text) {
    return ki_buffer_append(buffer, text, strlen(text));
}

ki_status ki_buffer_append_char(ki_buffer *buffer, char c) {
    return ki_buffer_append(buffer, &c, 1);
}

ki_status ki_buffer_vprintf(ki_buffer *buffer, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const size_t room = buffer->data ? buffer->capacity - buffer->size + 1 : 0;
    int length = vsnprintf(room ? buffer->data + buffer->size : NULL, room, format, again); /* usually the text fits */
    va_end(again);
    ki_status status = length < 0 ? fail(buffer, KI_ERR_LIMIT) : ki_buffer_reserve(buffer, (size_t)length);
    if (status) {
        if (room)
            buffer->data[buffer->size] = '\0';
        return status;
    }
    if ((size_t)length >= room)
        vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, args);
    buffer->size += (size_t)length;
    KI_ASSERT(is_sound(buffer));
    return KI_OK;
}

ki_status ki_buffer_printf(ki_buffer *buffer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    ki_status status = ki_buffer_vprintf(buffer, format, args);
    va_end(args);
    return status;
}

static const char hex_lower[] = "0123456789abcdef";
static const char hex_upper[] = "0123456789ABCDEF";

/* Writes the JSON escape of an ASCII character. Returns its size; 0 if the character needs no escape. */
static size_t json_escape(unsigned char c, char escape[6]) {
    static const char short_names[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
    escape[0] = '\\';
    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        return 2;
    }
    if (c < sizeof short_names && short_names[c]) {
        escape[1] = short_names[c];
        return 2;
    }
    if (c < 0x20) {
        memcpy(escape + 1, "u00", 3);
        escape[4] = hex_lower[c >> 4];
        escape[5] = hex_lower[c & 15];
        return 6;
    }
    return 0;
}

/* Consumes the beginning of `text`: all ASCII characters that need no escape, or else one character. Returns them as
 * written in JSON. */
static ki_str json_piece(ki_str *text, char escape[6]) {
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD: JSON must be UTF-8 */
    ki_str plain = { text->data, 0 };
    while (plain.size < text->size && plain.data[plain.size] >= 0x20 && (unsigned char)plain.data[plain.size] < 0x80 &&
           plain.data[plain.size] != '"' && plain.data[plain.size] != '\\')
        plain.size++;
    if (plain.size) {
        text->data += plain.size;
        text->size -= plain.size;
        return plain;
    }
    size_t size = ki_str_utf8_size(*text);
    ki_str piece = { text->data, size };
    size_t escaped = size == 1 ? json_escape((unsigned char)*text->data, escape) : 0;
    if (escaped)
        piece = (ki_str){ escape, escaped };
    else if (size == 0)
        piece = (ki_str){ replacement, sizeof replacement - 1 };
    text->data += size ? size : 1;
    text->size -= size ? size : 1;
    return piece;
}

size_t ki_json_string_size(ki_str text) {
    char escape[6];
    size_t size = 2;
    while (text.size)
        size += json_piece(&text, escape).size;
    return size;
}

char *ki_json_string_write(char *out, ki_str text) {
    char escape[6];
    *out++ = '"';
    while (text.size) {
        ki_str piece = json_piece(&text, escape);
        memcpy(out, piece.data, piece.size);
        out += piece.size;
    }
    *out++ = '"';
    return out;
}

ki_status ki_buffer_append_json_string(ki_buffer *buffer, ki_str text) {
    ki_status status = ki_buffer_reserve(buffer, ki_json_string_size(text));
    if (status)
        return status;
    char *out = ki_json_string_write(buffer->data + buffer->size, text);
    *out = '\0';
    buffer->size = (size_t)(out - buffer->data);
    KI_ASSERT(is_sound(buffer));
    return KI_OK;
}

static bool is_unreserved(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

ki_status ki_buffer_append_url(ki_buffer *buffer, ki_str text) {
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++)
        size += is_unreserved((unsigned char)text.data[i]) ? 1 : 3;
    ki_status status = ki_buffer_reserve(buffer, size);
    if (status)
        return status;
    char *out = buffer->data + buffer->size;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (is_unreserved(c)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = hex_upper[c >> 4];
            *out++ = hex_upper[c & 15];
        }
    }
    *out = '\0';
    buffer->size += size;
    KI_ASSERT(is_sound(buffer) && out == buffer->data + buffer->size);
    return KI_OK;
}

char *ki_buffer_take(ki_buffer *buffer, size_t *ret_size) {
    if (buffer->failed || ki_buffer_reserve(buffer, 0)) {
        ki_buffer_free(buffer);
        return NULL;
    }
    KI_ASSERT(is_sound(buffer));
    char *data = buffer->data;
    if (ret_size)
        *ret_size = buffer->size;
    ki_buffer_init(buffer, buffer->allocator, buffer->limit);
    return data;
}
