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

/* --- parsing ------------------------------------------------------------------------------------------------------ */

/* Parses `count` digits at `at`. Returns false if the number exceeds `max`. */
static bool number_at(ki_str text, size_t at, size_t count, uint64_t max, int64_t *ret_number) {
    uint64_t number;
    if (at + count > text.size || !ki_str_to_uint64((ki_str){ text.data + at, count }, max, &number))
        return false;
    *ret_number = (int64_t)number;
    return true;
}

/* Returns the days since 1970-01-01 (Gregorian). The year starts in March, so that one formula gives the months'
 * lengths. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t days_in_month(int64_t year, int64_t month) {
    return month == 12 ? 31 : days_of(year, month + 1, 1) - days_of(year, month, 1);
}

/* Parses "Z" or "+hh:mm" as the seconds to subtract. */
static bool offset_of(ki_str zone, int64_t *ret_offset) {
    int64_t hours, minutes;
    if (zone.size == 1 && zone.data[0] == 'Z') {
        *ret_offset = 0;
        return true;
    }
    if (zone.size != 6 || (zone.data[0] != '+' && zone.data[0] != '-') || zone.data[3] != ':' ||
        !number_at(zone, 1, 2, 24, &hours) || !number_at(zone, 4, 2, 60, &minutes))
        return false;
    *ret_offset = (hours * 3600 + minutes * 60) * (zone.data[0] == '-' ? -1 : 1);
    return true;
}

/* Parses the digits after a point, which are at least one. Returns their number. */
static size_t fraction_of(ki_str digits, int64_t *ret_nanoseconds) {
    size_t size = 0;
    int64_t nanoseconds = 0, unit = NANOSECONDS_OF_SECOND / 10;
    for (; size < digits.size && digits.data[size] >= '0' && digits.data[size] <= '9'; size++, unit /= 10)
        nanoseconds += (digits.data[size] - '0') * unit;
    *ret_nanoseconds = nanoseconds;
    return size;
}

bool ki_rfc3339_parse(ki_str text, int64_t *ret_seconds, int64_t *ret_nanoseconds) {
    int64_t year, month, day, hour, minute, second, offset, nanoseconds = 0;
    if (!number_at(text, 0, 4, 9999, &year) || !number_at(text, 5, 2, 12, &month) || !number_at(text, 8, 2, 31, &day) ||
        month < 1 || day < 1 || day > days_in_month(year, month))
        return false;
    size_t at = text.size > 12 && text.data[12] == ':' ? 12 : 13; /* Go accepts an hour of one digit */
    if (!number_at(text, 11, at - 11, 23, &hour) || !number_at(text, at + 1, 2, 59, &minute) ||
        !number_at(text, at + 4, 2, 59, &second))
        return false;
    if (text.data[4] != '-' || text.data[7] != '-' || text.data[10] != 'T' || text.data[at] != ':' ||
        text.data[at + 3] != ':')
        return false;
    ki_str rest = { text.data + at + 6, text.size - at - 6 };
    if (rest.size && (rest.data[0] == '.' || rest.data[0] == ',')) {
        size_t size = fraction_of((ki_str){ rest.data + 1, rest.size - 1 }, &nanoseconds);
        if (!size)
            return false;
        rest = (ki_str){ rest.data + 1 + size, rest.size - 1 - size };
    }
    if (!offset_of(rest, &offset))
        return false;
    *ret_seconds = days_of(year, month, day) * SECONDS_OF_DAY + hour * 3600 + minute * 60 + second - offset;
    *ret_nanoseconds = nanoseconds;
    return true;
}
