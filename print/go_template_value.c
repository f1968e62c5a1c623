/* go_template_value.c: values of a Go template as Go's fmt writes them. */
#include "print/go_template.h"
#include "src/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DIRECTIVE_MAX = 512, /* bytes of a formatted number */
    DIGITS_MAX = 100,    /* of a precision */
    WIDTH_MAX = 10000
};

ki_go_value ki_go_value_of(yyjson_val *json) {
    ki_go_value value = { .type = KI_GO_NONE };
    if (!json)
        return value;
    value.type = yyjson_is_str(json)    ? KI_GO_IS_STRING
                 : yyjson_is_bool(json) ? KI_GO_IS_BOOL
                 : yyjson_is_num(json)  ? KI_GO_IS_FLOAT
                 : yyjson_is_arr(json)  ? KI_GO_IS_LIST
                 : yyjson_is_obj(json)  ? KI_GO_IS_MAP
                                        : KI_GO_NULL;
    if (value.type == KI_GO_IS_STRING)
        value.text = (ki_str){ yyjson_get_str(json), yyjson_get_len(json) };
    bool is_int64 = yyjson_is_sint(json) || (yyjson_is_uint(json) && yyjson_get_uint(json) <= INT64_MAX);
    if (is_int64)
        value.type = KI_GO_IS_INT;
    value.boolean = yyjson_is_true(json);
    value.integer = is_int64 ? yyjson_get_sint(json) : 0;
    value.number = yyjson_get_num(json);
    value.json = json;
    return value;
}

bool ki_go_is_true(const ki_go_value *value) {
    switch (value->type) {
    case KI_GO_IS_STRING:
        return value->text.size > 0;
    case KI_GO_IS_INT:
        return value->integer != 0;
    case KI_GO_IS_FLOAT:
        return value->number < 0 || value->number > 0;
    case KI_GO_IS_BOOL:
        return value->boolean;
    case KI_GO_IS_LIST:
        return yyjson_arr_size(value->json) > 0;
    case KI_GO_IS_MAP:
        return yyjson_obj_size(value->json) > 0;
    default:
        return false;
    }
}

const char *ki_go_type_name(const ki_go_value *value) {
    static const char *const names[] = { "<nil>",   "<nil>", "string",         "int",
                                         "float64", "bool",  "[]interface {}", "map[string]interface {}" };
    return value->type == KI_GO_IS_INT && value->json ? "int64" : names[value->type];
}

/* ---- one value with a verb ---- */

/* "%-8.3s" */
typedef struct directive {
    char verb;
    bool is_left;
    bool has_zeros;
    bool has_plus;
    int width;
    int precision; /* -1: none */
} directive;

static const directive plain = { .verb = 'v', .precision = -1 };

static void append_verb(ki_buffer *out, const directive *d, const ki_go_value *value, int depth);

/* Appends a text with blanks, or zeros, up to the width, which counts characters. */
static void append_padded(ki_buffer *out, const directive *d, ki_str text) {
    int used = 0;
    for (size_t i = 0; i < text.size; i++)
        used += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    for (int i = used; i < d->width && !d->is_left; i++)
        ki_buffer_append_char(out, d->has_zeros ? '0' : ' ');
    ki_buffer_append_view(out, text);
    for (int i = used; i < d->width && d->is_left; i++)
        ki_buffer_append_char(out, ' ');
}

/* The same for a number: its sign stands before the zeros. */
static void append_number(ki_buffer *out, const directive *d, ki_str text) {
    directive rest = *d;
    if (d->has_zeros && text.size && strchr("+-", text.data[0])) {
        ki_buffer_append_char(out, text.data[0]);
        text = (ki_str){ text.data + 1, text.size - 1 };
        rest.width--;
    }
    append_padded(out, &rest, text);
}

/* Appends what was written into a buffer of its own, and frees it. */
static void append_written(ki_buffer *out, const directive *d, ki_buffer *written,
                           void (*append)(ki_buffer *out, const directive *d, ki_str text)) {
    if (written->failed)
        out->failed = written->failed;
    append(out, d, (ki_str){ written->data, written->size });
    ki_buffer_free(written);
}

/* Returns the first `precision` characters. */
static ki_str cut(ki_str text, int precision) {
    size_t size = 0;
    if (precision < 0)
        return text;
    for (; size < text.size; size++) {
        if (((unsigned char)text.data[size] & 0xc0) != 0x80 && precision-- == 0)
            break;
    }
    return (ki_str){ text.data, size };
}

static void append_quoted(ki_buffer *out, ki_str text) {
    static const char names[] = "abfnrtv\"\\", bytes[] = "\a\b\f\n\r\t\v\"\\";
    ki_buffer_append_char(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        const char *found = c ? strchr(bytes, c) : NULL;
        if (found)
            ki_buffer_printf(out, "\\%c", names[found - bytes]);
        else if ((unsigned char)c < 0x20 || c == 0x7f)
            ki_buffer_printf(out, "\\x%02x", (unsigned)(unsigned char)c);
        else
            ki_buffer_append_char(out, c);
    }
    ki_buffer_append_char(out, '"');
}

static void append_hex(ki_buffer *out, ki_str text) {
    for (size_t i = 0; i < text.size; i++)
        ki_buffer_printf(out, "%02x", (unsigned)(unsigned char)text.data[i]);
}

/* Appends "%!d(string=x)": a verb for another type. */
static void append_wrong(ki_buffer *out, const directive *d, const ki_go_value *value, int depth) {
    ki_buffer_printf(out, "%%!%c(", d->verb);
    if (value->type <= KI_GO_NULL) {
        ki_buffer_append_string(out, "<nil>");
    } else {
        directive as_value = *d;
        as_value.verb = 'v';
        ki_buffer_printf(out, "%s=", ki_go_type_name(value));
        append_verb(out, &as_value, value, depth + 1);
    }
    ki_buffer_append_char(out, ')');
}

static void append_string(ki_buffer *out, const directive *d, const ki_go_value *value, int depth) {
    ki_buffer written;
    ki_str text = value->text;
    ki_buffer_init(&written, out->allocator, 0);
    if (d->verb == 's' || d->verb == 'v') {
        append_padded(out, d, cut(text, d->precision));
    } else if (d->verb == 'q') {
        append_quoted(&written, cut(text, d->precision));
        append_written(out, d, &written, append_padded);
    } else if (d->verb == 'x') { /* the precision counts bytes */
        if (d->precision >= 0 && (size_t)d->precision < text.size)
            text.size = (size_t)d->precision;
        append_hex(&written, text);
        append_written(out, d, &written, append_padded);
    } else {
        append_wrong(out, d, value, depth);
    }
}

/* Appends an integer: a precision is the least number of digits. */
static void append_int(ki_buffer *out, const directive *d, const ki_go_value *value, int depth) {
    char text[DIRECTIVE_MAX];
    uint64_t size = value->integer < 0 ? 0 - (uint64_t)value->integer : (uint64_t)value->integer;
    const char *sign = value->integer < 0 ? "-" : d->has_plus && (size || d->precision) ? "+" : "";
    int digits = d->precision < DIGITS_MAX ? d->precision : DIGITS_MAX;
    if (d->verb == 'd' || d->verb == 'v') {
        snprintf(text, sizeof text, "%s%.*" PRIu64, sign, digits, size);
    } else if (d->verb == 'x') {
        snprintf(text, sizeof text, "%s%.*" PRIx64, sign, digits, size);
    } else {
        append_wrong(out, d, value, depth);
        return;
    }
    directive rest = *d;
    rest.has_zeros = d->has_zeros && d->precision < 0;
    append_number(out, &rest, ki_str_of(text));
}

static void append_float(ki_buffer *out, const directive *d, const ki_go_value *value, int depth) {
    char text[DIRECTIVE_MAX], format[16];
    if ((d->verb == 'v' || d->verb == 'g') && d->precision < 0) {
        ki_buffer number;
        ki_buffer_init(&number, out->allocator, 0);
        if (d->has_plus && value->number >= 0)
            ki_buffer_append_char(&number, '+');
        ki_append_go_double(&number, value->number);
        append_written(out, d, &number, append_number);
        return;
    }
    if (!strchr("feEgv", d->verb)) {
        append_wrong(out, d, value, depth);
        return;
    }
    int precision = d->precision < 0 ? 6 : d->precision < DIGITS_MAX ? d->precision : DIGITS_MAX;
    snprintf(format, sizeof format, "%%%s.%d%c", d->has_plus ? "+" : "", precision, d->verb == 'v' ? 'g' : d->verb);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, value->number);
#pragma GCC diagnostic pop
    append_number(out, d, ki_str_of(text));
}

/* ---- lists and maps ---- */

static int by_name(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    return ki_str_order((ki_str){ yyjson_get_str(*left), yyjson_get_len(*left) },
                        (ki_str){ yyjson_get_str(*right), yyjson_get_len(*right) });
}

static void append_map(ki_buffer *out, const directive *d, yyjson_val *map, int depth) {
    size_t count = yyjson_obj_size(map), index, max;
    yyjson_val **keys = count ? ki_alloc_array(out->allocator, count, sizeof(yyjson_val *)) : NULL, *key, *element;
    if (count && !keys)
        out->failed = KI_ERR_NO_MEMORY;
    ki_buffer_append_string(out, "map[");
    yyjson_obj_foreach(map, index, max, key, element) {
        if (keys)
            keys[index] = key;
    }
    if (keys)
        qsort(keys, count, sizeof(yyjson_val *), by_name);
    for (size_t i = 0; keys && i < count && !out->failed; i++) {
        ki_go_value name = ki_go_value_of(keys[i]), value = ki_go_value_of(unsafe_yyjson_get_next(keys[i]));
        if (i)
            ki_buffer_append_char(out, ' ');
        append_verb(out, d, &name, depth + 1);
        ki_buffer_append_char(out, ':');
        append_verb(out, d, &value, depth + 1);
    }
    ki_buffer_append_char(out, ']');
    ki_free(out->allocator, keys);
}

static void append_list(ki_buffer *out, const directive *d, yyjson_val *list, int depth) {
    yyjson_val *element;
    size_t index, count;
    ki_buffer_append_char(out, '[');
    yyjson_arr_foreach(list, index, count, element) {
        ki_go_value value = ki_go_value_of(element);
        if (index)
            ki_buffer_append_char(out, ' ');
        append_verb(out, d, &value, depth + 1);
        if (out->failed)
            return;
    }
    ki_buffer_append_char(out, ']');
}

static void append_verb(ki_buffer *out, const directive *d, const ki_go_value *value, int depth) {
    if (depth > KI_JSONPATH_MAX_NESTING) {
        ki_buffer_append_string(out, "...");
        return;
    }
    switch (value->type) {
    case KI_GO_NONE:
    case KI_GO_NULL:
        if (d->verb == 'v')
            append_padded(out, d, KI_STR("<nil>"));
        else
            append_wrong(out, d, value, depth);
        break;
    case KI_GO_IS_STRING:
        append_string(out, d, value, depth);
        break;
    case KI_GO_IS_INT:
        append_int(out, d, value, depth);
        break;
    case KI_GO_IS_FLOAT:
        append_float(out, d, value, depth);
        break;
    case KI_GO_IS_BOOL:
        if (d->verb == 't' || d->verb == 'v')
            append_padded(out, d, value->boolean ? KI_STR("true") : KI_STR("false"));
        else
            append_wrong(out, d, value, depth);
        break;
    case KI_GO_IS_LIST:
        append_list(out, d, value->json, depth);
        break;
    case KI_GO_IS_MAP:
        append_map(out, d, value->json, depth);
        break;
    }
}

/* ---- several values ---- */

void ki_go_append(ki_buffer *out, const ki_go_value *value) {
    append_verb(out, &plain, value, 0);
}

void ki_go_append_all(ki_buffer *out, const ki_go_value *values, size_t count, bool is_line) {
    for (size_t i = 0; i < count; i++) {
        bool is_text = i && (values[i].type == KI_GO_IS_STRING || values[i - 1].type == KI_GO_IS_STRING);
        if (i && (is_line || !is_text))
            ki_buffer_append_char(out, ' ');
        ki_go_append(out, &values[i]);
    }
    if (is_line)
        ki_buffer_append_char(out, '\n');
}

static const char *read_number(const char *at, const char *end, int *ret_number) {
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *ret_number = *ret_number < WIDTH_MAX ? *ret_number * 10 + (*at - '0') : WIDTH_MAX;
    return at;
}

/* Reads a directive after its percent sign. Returns its end. */
static const char *read_directive(const char *at, const char *end, directive *d) {
    *d = (directive){ .precision = -1 };
    for (; at < end && strchr("-+0 #", *at); at++) {
        d->is_left |= *at == '-';
        d->has_plus |= *at == '+';
        d->has_zeros |= *at == '0';
    }
    d->has_zeros = d->has_zeros && !d->is_left;
    at = read_number(at, end, &d->width);
    if (at < end && *at == '.') {
        d->precision = 0;
        at = read_number(at + 1, end, &d->precision);
    }
    d->verb = '\0';
    if (at < end)
        d->verb = *at++;
    d->has_plus &= d->verb != 'v'; /* %+v has another meaning, for structs */
    return at;
}

void ki_go_append_format(ki_buffer *out, ki_str format, const ki_go_value *values, size_t count) {
    const char *at = format.data, *end = at + format.size;
    size_t used = 0;
    while (at < end && !out->failed) {
        directive d;
        if (*at != '%') {
            ki_buffer_append_char(out, *at++);
            continue;
        }
        at = read_directive(at + 1, end, &d);
        if (!d.verb)
            ki_buffer_append_string(out, "%!(NOVERB)");
        else if (d.verb == '%')
            ki_buffer_append_char(out, '%');
        else if (used < count)
            append_verb(out, &d, &values[used++], 0);
        else
            ki_buffer_printf(out, "%%!%c(MISSING)", d.verb);
    }
    for (size_t i = used; i < count; i++) {
        ki_buffer_append_string(out, i == used ? "%!(EXTRA " : ", ");
        if (values[i].type > KI_GO_NULL)
            ki_buffer_printf(out, "%s=", ki_go_type_name(&values[i]));
        ki_go_append(out, &values[i]);
    }
    if (used < count)
        ki_buffer_append_char(out, ')');
}
