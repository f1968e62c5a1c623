/* load_text.c: see load_text.h. */
#include "testing/load_text.h"

#include <stdio.h>

static void append_value(ki_buffer *out, ki_str value, const kt_load_fields *fields) {
    if (value.size && memchr(value.data, '`', value.size))
        kt_load_append(out, value.data, fields);
    else
        ki_buffer_append_view(out, value);
}

void kt_load_append(ki_buffer *out, const char *text, const kt_load_fields *fields) {
    size_t start = out->size;
    for (;;) {
        const char *field = strchrnul(text, '`');
        ki_buffer_append(out, text, (size_t)(field - text));
        if (out->failed)
            return;
        for (char *c = out->data + start, *end = out->data + out->size; (c = memchr(c, '\'', (size_t)(end - c))); c++) {
            *c = '"';
        }
        if (!field[0] || !field[1])
            return;
        append_value(out, fields->values[(unsigned char)field[1] % KT_LOAD_FIELDS], fields);
        start = out->size;
        text = field + 2;
    }
}

void kt_load_format_time(int64_t unix_seconds, char ret_text[KT_LOAD_TIME_SIZE]) {
    int64_t days = unix_seconds / 86400;
    unsigned second = (unsigned)(unix_seconds % 86400);
    /* Howard Hinnant's days-to-civil, for years from March on, so that leap days come last. */
    int64_t shifted = days + 719468;
    int64_t era = shifted / 146097;
    unsigned day_of_era = (unsigned)(shifted - era * 146097);
    unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153;
    unsigned day = day_of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    unsigned year = (unsigned)(year_of_era + era * 400) + (month <= 2);
    snprintf(ret_text, KT_LOAD_TIME_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ", year % 10000, month % 100, day % 100,
             second / 3600 % 24, second / 60 % 60, second % 60);
}
