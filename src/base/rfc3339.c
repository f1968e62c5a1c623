/* rfc3339.c: see rfc3339.h. */
#include "src/base/rfc3339.h"

#include <stdio.h>

enum {
    SECONDS_OF_DAY = 86400,
    NANOSECONDS_OF_SECOND = 1000000000,
    NANOSECONDS_OF_MICROSECOND = 1000
};

static char *put_digits(char *at, unsigned value, unsigned count) {
    for (unsigned i = count; i > 0; i--, value /= 10)
        at[i - 1] = (char)('0' + value % 10);
    return at + count;
}

void ki_rfc3339_seconds(int64_t unix_seconds, char ret_text[KI_RFC3339_SIZE]) {
    int64_t days = unix_seconds / SECONDS_OF_DAY - (unix_seconds % SECONDS_OF_DAY < 0);
    unsigned second = (unsigned)(unix_seconds - days * SECONDS_OF_DAY);
    /* Howard Hinnant's algorithm civil_from_days: eras of 400 years; years start in March (leap days come last). */
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    unsigned day_of_era = (unsigned)(shifted - era * 146097);
    unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153;
    unsigned day = day_of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    unsigned year = (unsigned)(year_of_era + era * 400 + (month <= 2)) % 10000;

    const unsigned parts[] = { month, day, second / 3600, second / 60 % 60, second % 60 };
    char *at = put_digits(ret_text, year, 4);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        *at++ = "--T::"[i];
        at = put_digits(at, parts[i], 2);
    }
    at[0] = 'Z';
    at[1] = '\0';
}

void ki_rfc3339_micros(int64_t wall_ns, char ret_text[KI_RFC3339_SIZE]) {
    enum {
        SIZE = sizeof "2006-01-02T15:04:05" - 1
    };
    ki_rfc3339_seconds(wall_ns / NANOSECONDS_OF_SECOND, ret_text);
    snprintf(ret_text + SIZE, KI_RFC3339_SIZE - SIZE, ".%06dZ",
             (int)(wall_ns % NANOSECONDS_OF_SECOND / NANOSECONDS_OF_MICROSECOND));
}
