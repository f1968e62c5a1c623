/* json_text.c: see json_text.h. */
#include "src/object/json_text.h"

#include "src/base/json_scan.h"

/* Returns the size of the string that `text` begins with, quotes included. */
static size_t string_size(ki_str text) {
    const char *quote;
    for (size_t at = 1; at < text.size && (quote = memchr(text.data + at, '"', text.size - at));) {
        size_t end = (size_t)(quote - text.data), escapes = end; /* first of the backslashes before the quote */
        while (escapes > at && text.data[escapes - 1] == '\\')
            escapes--;
        at = end + 1;
        if ((end - escapes) % 2 == 0)
            return at;
    }
    return text.size;
}

static bool is_closing(char c) {
    return c == ']' || c == '}';
}

ki_str ki_json_text_take(ki_str *rest) {
    size_t size = 0;
    if (rest->size && *rest->data == '"')
        size = string_size(*rest);
    else if (rest->size && (*rest->data == '{' || *rest->data == '['))
        size = ki_json_container_size(*rest);
    else
        while (size < rest->size && !memchr(",]}", rest->data[size], 3))
            size++;
    ki_str value = { rest->data, size };
    bool is_last = size == rest->size || is_closing(rest->data[size]);
    size_t taken = size < rest->size ? size + 1 : size;
    *rest = (ki_str){ rest->data + taken, is_last ? 0 : rest->size - taken };
    return value;
}

ki_str ki_json_text_inside(ki_str text, char open) {
    if (text.size < 2 || *text.data != open || is_closing(text.data[1]))
        return (ki_str){ NULL, 0 };
    return (ki_str){ text.data + 1, text.size - 1 };
}

static uint32_t hex_of(const char *text) {
    uint32_t number = 0;
    for (size_t i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)text[i];
        number = number << 4 | (c <= '9' ? c - (uint32_t)'0' : (c | 0x20u) - 'a' + 10);
    }
    return number;
}

/* Writes a code point as UTF-8. Returns its bytes. */
static size_t put_utf8(uint32_t point, char out[4]) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = size - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(first[size] | point);
    return size;
}

/* Consumes one character of a JSON string, or one byte of it. Returns its bytes in `out`: at most as many as it had. */
static size_t take_character(ki_str *text, char out[4]) {
    static const char escapes[] = "b\bf\fn\nr\rt\t";
    size_t taken = 1, size = 1;
    out[0] = text->data[0];
    if (text->data[0] == '\\' && text->size > 1) {
        taken = 2;
        out[0] = text->data[1];
        for (size_t i = 0; i + 1 < sizeof escapes; i += 2)
            if (escapes[i] == text->data[1])
                out[0] = escapes[i + 1];
        if (text->data[1] == 'u' && text->size >= 6) {
            taken = 6;
            uint32_t point = hex_of(text->data + 2);
            bool is_pair = point >= 0xd800 && point < 0xdc00 && text->size >= 12 && text->data[7] == 'u';
            if (is_pair) {
                taken = 12;
                point = 0x10000 + ((point - 0xd800) << 10) + (hex_of(text->data + 8) - 0xdc00);
            }
            size = put_utf8(point, out);
        }
    }
    *text = (ki_str){ text->data + taken, text->size - taken };
    return size;
}

bool ki_json_text_is(ki_str value, ki_str text) {
    if (value.size < 2 || *value.data != '"')
        return false;
    ki_str rest = { value.data + 1, value.size - 2 };
    if (!memchr(rest.data, '\\', rest.size))
        return ki_str_equal(rest, text);
    while (rest.size) {
        char bytes[4];
        size_t size = take_character(&rest, bytes);
        if (size > text.size || memcmp(bytes, text.data, size) != 0)
            return false;
        text = (ki_str){ text.data + size, text.size - size };
    }
    return text.size == 0;
}

ki_str ki_json_text_find(ki_str text, ki_str name) {
    for (ki_str rest = ki_json_text_inside(text, '{'); rest.size; (void)ki_json_text_take(&rest)) {
        if (ki_json_text_is(ki_json_text_take(&rest), name)) /* takes the colon, too */
            return rest;
    }
    return (ki_str){ NULL, 0 };
}

ki_str ki_json_text_member(ki_str text, ki_str name) {
    ki_str found = ki_json_text_find(text, name);
    return found.size ? ki_json_text_take(&found) : found;
}

size_t ki_json_text_decode(char *text, size_t size) {
    ki_str rest = { text + 1, size - 2 };
    const char *escape = memchr(rest.data, '\\', rest.size);
    size_t written = escape ? (size_t)(escape - rest.data) : rest.size; /* what has no escapes only moves */
    memmove(text, rest.data, written);
    rest = (ki_str){ rest.data + written, rest.size - written };
    while (rest.size) {
        char bytes[4];
        size_t count = take_character(&rest, bytes);
        memcpy(text + written, bytes, count);
        written += count;
    }
    text[written] = '\0';
    return written;
}
