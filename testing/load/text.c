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

/* Writes two digits. */
static char *put_two(char *to, unsigned number) {
    *to++ = (char)('0' + number / 10 % 10);
    *to++ = (char)('0' + number % 10);
    return to;
}

void kt_load_format_time(int64_t unix_seconds, char ret_text[KT_LOAD_TIME_SIZE]) {
    int64_t days = unix_seconds / 86400;
    unsigned second = (unsigned)(unix_seconds % 86400);
    /* Howard Hinnant's algorithm civil_from_days: years start in March, so that leap days come last. */
    int64_t shifted = days + 719468;
    int64_t era = shifted / 146097;
    unsigned day_of_era = (unsigned)(shifted - era * 146097);
    unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153;
    unsigned day = day_of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    unsigned year = (unsigned)(year_of_era + era * 400) + (month <= 2);

    const unsigned parts[] = { year / 100, year % 100, month, day, second / 3600, second / 60 % 60, second % 60 };
    const char *after = "\001--T::Z"; /* \001: nothing, between the two halves of the year */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++, after++) {
        ret_text = put_two(ret_text, parts[i]);
        if (*after != '\001')
            *ret_text++ = *after;
    }
    *ret_text = '\0';
}
