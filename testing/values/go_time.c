/* go_time.c: see go_time.h. The order of the checks is that of Go's time.Parse (src/time/format.go), which decides the
 * message for a text with several errors. */
#include "testing/values/go_time.h"

#include <stdio.h>
#include <string.h>

#define LAYOUT "2006-01-02T15:04:05Z07:00"
#define MICRO_LAYOUT "2006-01-02T15:04:05.000000Z07:00"

/* One element of the layout: a text, or a number. */
typedef struct element {
    const char *layout;
    int digits;       /* 0: the layout's text itself */
    bool one_digit;   /* one digit is enough */
    int least, most;  /* the number's range; most 0: not checked here */
    const char *name; /* in the message about the range */
} element;

static const element elements[] = {
    { "2006", 4, false, 0, 0, NULL }, { "-", 0, false, 0, 0, NULL },       { "01", 2, false, 1, 12, "month" },
    { "-", 0, false, 0, 0, NULL },    { "02", 2, true, 0, 0, NULL },       { "T", 0, false, 0, 0, NULL },
    { "15", 2, true, 0, 23, "hour" }, { ":", 0, false, 0, 0, NULL },       { "04", 2, false, 0, 59, "minute" },
    { ":", 0, false, 0, 0, NULL },    { "05", 2, false, 0, 59, "second" },
};

static bool is_digit(ki_str text, size_t at) {
    return at < text.size && text.data[at] >= '0' && text.data[at] <= '9';
}

static void drop(ki_str *text, size_t count) {
    text->data += count;
    text->size -= count;
}

/* Appends `parsing time "TEXT" as "LAYOUT": cannot parse "REST" as "ELEMENT"`. */
static bool fail(ki_buffer *error, ki_str text, bool is_micro, ki_str rest, const char *part) {
    ki_buffer_append_string(error, "parsing time ");
    ki_buffer_append_json_string(error, text);
    ki_buffer_printf(error, " as \"%s\": cannot parse ", is_micro ? MICRO_LAYOUT : LAYOUT);
    ki_buffer_append_json_string(error, rest);
    ki_buffer_printf(error, " as \"%s\"", part);
    return false;
}

static bool fail_range(ki_buffer *error, ki_str text, const char *name) {
    ki_buffer_append_string(error, "parsing time ");
    ki_buffer_append_json_string(error, text);
    ki_buffer_printf(error, ": %s out of range", name);
    return false;
}

/* Reads one element at the start of `*rest`. */
static bool read_element(const element *one, ki_str *rest, int *ret_number) {
    size_t size = strlen(one->layout);
    *ret_number = 0;
    if (!one->digits) {
        if (!ki_str_starts_with(*rest, ki_str_of(one->layout)))
            return false;
        drop(rest, size);
        return true;
    }
    size_t count = 0;
    for (; count < (size_t)one->digits && is_digit(*rest, count); count++)
        *ret_number = *ret_number * 10 + (rest->data[count] - '0');
    if (count < (size_t)one->digits && !(one->one_digit && count == 1))
        return false;
    drop(rest, count);
    return true;
}

/* Returns the size of the fraction at the start of `rest`; 0: a fraction that the layout does not allow. */
static bool read_fraction(ki_str *rest, bool is_micro) {
    size_t size = 1;
    if (!is_micro && !(rest->size >= 2 && (rest->data[0] == '.' || rest->data[0] == ',') && is_digit(*rest, 1)))
        return true;
    if (is_micro && (!rest->size || rest->data[0] != '.'))
        return false;
    while (is_digit(*rest, size) && (!is_micro || size < 7))
        size++;
    if (is_micro && size < 7)
        return false;
    drop(rest, size);
    return true;
}

static bool has_zone(ki_str *rest) {
    bool is_utc = rest->size && rest->data[0] == 'Z';
    if (!is_utc && (rest->size < 6 || (rest->data[0] != '+' && rest->data[0] != '-') || !is_digit(*rest, 1) ||
                    !is_digit(*rest, 2) || rest->data[3] != ':' || !is_digit(*rest, 4) || !is_digit(*rest, 5)))
        return false;
    drop(rest, is_utc ? 1 : 6);
    return true;
}

bool kt_go_time_read(ki_str text, bool is_micro, char ret_text[KI_RFC3339_SIZE], ki_buffer *error) {
    ki_str rest = text;
    int number;
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        const element *one = &elements[i];
        ki_str before = rest;
        if (!read_element(one, &rest, &number))
            return fail(error, text, is_micro, before, one->layout);
        if (one->most && (number < one->least || number > one->most))
            return fail_range(error, text, one->name);
    }
    ki_str before = rest;
    if (!read_fraction(&rest, is_micro))
        return fail(error, text, is_micro, before, ".000000");
    before = rest;
    if (!has_zone(&rest))
        return fail(error, text, is_micro, before, "Z07:00");
    if (rest.size) {
        ki_buffer_append_string(error, "parsing time ");
        ki_buffer_append_json_string(error, text);
        ki_buffer_append_string(error, ": extra text: ");
        ki_buffer_append_json_string(error, rest);
        return false;
    }
    int64_t seconds, nanoseconds;
    if (!ki_rfc3339_parse(text, &seconds, &nanoseconds))
        return fail_range(error, text, "day");
    ki_rfc3339_seconds(seconds, ret_text);
    if (is_micro) {
        size_t size = strlen(ret_text) - 1;
        snprintf(ret_text + size, KI_RFC3339_SIZE - size, ".%06dZ", (int)(nanoseconds / 1000));
    }
    return true;
}
