/* jsonpath_text.c: values as Go writes them: numbers as fmt, arrays and objects as encoding/json. */
#include "print/jsonpath.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdlib.h>

enum {
    DIGITS_MAX = 24
};

/* A finite number as 0.DIGITS * 10^point, with the fewest digits that identify it. */
typedef struct decimal {
    bool is_negative;
    char digits[DIGITS_MAX];
    int count; /* at least 1: zero is "0" */
    int point;
} decimal;

static decimal to_decimal(double number) {
    decimal d = { .count = 0, .point = 0 };
    char room[4096];
    yyjson_alc alc;
    yyjson_alc_pool_init(&alc, room, sizeof room);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_doc_set_root(doc, yyjson_mut_real(doc, number));
    const char *c = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL); /* shortest, in any locale */
    if (!c)
        c = "0"; /* not possible: the pool is large enough */
    bool is_after_point = false;
    if (*c == '-') {
        d.is_negative = true;
        c++;
    }
    for (; *c && *c != 'e' && *c != 'E'; c++) {
        if (*c == '.') {
            is_after_point = true;
            continue;
        }
        bool is_leading_zero = d.count == 0 && *c == '0';
        d.point += is_leading_zero ? -is_after_point : !is_after_point;
        if (!is_leading_zero && d.count < DIGITS_MAX)
            d.digits[d.count++] = *c;
    }
    if (*c)
        d.point += atoi(c + 1);
    while (d.count > 1 && d.digits[d.count - 1] == '0')
        d.count--;
    if (d.count == 0) {
        d.digits[d.count++] = '0';
        d.point = 1;
    }
    return d;
}

/* Appends 1.5e+06. */
static void append_exponential(ki_buffer *out, const decimal *d, int exponent_digits) {
    int exponent = d->point - 1;
    ki_buffer_append(out, d->digits, 1);
    if (d->count > 1) {
        ki_buffer_append_char(out, '.');
        ki_buffer_append(out, d->digits + 1, (size_t)d->count - 1);
    }
    ki_buffer_printf(out, "e%c%0*d", exponent < 0 ? '-' : '+', exponent_digits, exponent < 0 ? -exponent : exponent);
}

/* Appends 1500000 or 0.0015. */
static void append_plain(ki_buffer *out, const decimal *d) {
    if (d->point <= 0) {
        ki_buffer_append_string(out, "0.");
        for (int i = d->point; i < 0; i++)
            ki_buffer_append_char(out, '0');
    }
    for (int i = 0; i < d->count || i < d->point; i++) {
        if (i > 0 && i == d->point)
            ki_buffer_append_char(out, '.');
        ki_buffer_append_char(out, i < d->count ? d->digits[i] : '0');
    }
}

void ki_append_go_double(ki_buffer *out, double number) {
    decimal d = to_decimal(number);
    if (d.is_negative)
        ki_buffer_append_char(out, '-');
    if (number != 0 && (d.point - 1 < -4 || d.point - 1 >= 6))
        append_exponential(out, &d, 2);
    else
        append_plain(out, &d);
}

static void append_json_double(ki_buffer *out, double number) {
    decimal d = to_decimal(number);
    if (d.is_negative)
        ki_buffer_append_char(out, '-');
    if (number != 0 && (d.point - 1 < -6 || d.point - 1 >= 21))
        append_exponential(out, &d, 1);
    else
        append_plain(out, &d);
}

/* ---- JSON ---- */

typedef struct member {
    yyjson_val *name;
    yyjson_val *value;
} member;

static int by_name(const void *a, const void *b) {
    const member *left = a;
    const member *right = b;
    size_t left_size = yyjson_get_len(left->name);
    size_t right_size = yyjson_get_len(right->name);
    int order = memcmp(yyjson_get_str(left->name), yyjson_get_str(right->name),
                       left_size < right_size ? left_size : right_size);
    return order ? order : (left_size > right_size) - (left_size < right_size);
}

/* Appends a JSON string. yyjson has validated the UTF-8. */
static void append_json_text(ki_buffer *out, const char *text, size_t size) {
    static const char hex[] = "0123456789abcdef";
    size_t done = 0;
    ki_buffer_append_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape[8] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], '\0', '\0' };
        size_t length = 1;
        if (c == '"' || c == '\\') {
            escape[1] = (char)c;
            escape[2] = '\0';
        } else if (c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f') {
            escape[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c == '\b' ? 'b' : 'f';
            escape[2] = '\0';
        } else if (c == 0xe2 && i + 2 < size && (unsigned char)text[i + 1] == 0x80 &&
                   ((unsigned char)text[i + 2] & 0xfe) == 0xa8) { /* U+2028 and U+2029 */
            memcpy(escape, "\\u202", 5);
            escape[5] = hex[(unsigned char)text[i + 2] & 15];
            length = 3;
        } else if (c >= 0x20 && c != '<' && c != '>' && c != '&') {
            continue;
        }
        ki_buffer_append(out, text + done, i - done);
        ki_buffer_append_string(out, escape);
        i += length - 1;
        done = i + 1;
    }
    ki_buffer_append(out, text + done, size - done);
    ki_buffer_append_char(out, '"');
}

static ki_status append_value(ki_buffer *out, yyjson_val *value, int depth);

static ki_status append_array(ki_buffer *out, yyjson_val *array, int depth) {
    yyjson_arr_iter elements;
    yyjson_val *element;
    yyjson_arr_iter_init(array, &elements);
    ki_buffer_append_char(out, '[');
    for (size_t i = 0; (element = yyjson_arr_iter_next(&elements)); i++) {
        if (i)
            ki_buffer_append_char(out, ',');
        ki_status status = append_value(out, element, depth + 1);
        if (status)
            return status;
    }
    return ki_buffer_append_char(out, ']');
}

static ki_status append_object(ki_buffer *out, yyjson_val *object, int depth) {
    size_t count = yyjson_obj_size(object);
    size_t used = 0;
    ki_status status = KI_OK;
    yyjson_obj_iter names;
    yyjson_val *name;
    if (count == 0)
        return ki_buffer_append_string(out, "{}");
    member *members = ki_alloc_array(out->allocator, count, sizeof *members);
    if (!members)
        return KI_ERR_NO_MEMORY;
    yyjson_obj_iter_init(object, &names);
    while (used < count && (name = yyjson_obj_iter_next(&names)))
        members[used++] = (member){ name, yyjson_obj_iter_get_val(name) };
    qsort(members, used, sizeof *members, by_name);
    ki_buffer_append_char(out, '{');
    for (size_t i = 0; i < used && !status; i++) {
        if (i)
            ki_buffer_append_char(out, ',');
        append_json_text(out, yyjson_get_str(members[i].name), yyjson_get_len(members[i].name));
        ki_buffer_append_char(out, ':');
        status = append_value(out, members[i].value, depth + 1);
    }
    ki_buffer_append_char(out, '}');
    ki_free(out->allocator, members);
    return status;
}

static ki_status append_value(ki_buffer *out, yyjson_val *value, int depth) {
    if (depth > KI_JSONPATH_MAX_NESTING)
        return KI_ERR_LIMIT;
    if (out->failed)
        return out->failed;
    if (yyjson_is_obj(value))
        return append_object(out, value, depth);
    if (yyjson_is_arr(value))
        return append_array(out, value, depth);
    if (yyjson_is_str(value))
        append_json_text(out, yyjson_get_str(value), yyjson_get_len(value));
    else if (yyjson_is_bool(value))
        ki_buffer_append_string(out, yyjson_get_bool(value) ? "true" : "false");
    else if (yyjson_is_sint(value))
        ki_buffer_printf(out, "%lld", (long long)yyjson_get_sint(value));
    else if (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX)
        ki_buffer_printf(out, "%llu", (unsigned long long)yyjson_get_uint(value));
    else if (yyjson_is_num(value))
        append_json_double(out, yyjson_get_num(value));
    else
        ki_buffer_append_string(out, "null");
    return out->failed;
}

ki_status ki_append_go_json(ki_buffer *out, yyjson_val *value) {
    return append_value(out, value, 1);
}
