/* string_format.c: see string_format.h. Accepts what k8s.io/kube-openapi/pkg/validation/strfmt accepts for the
 * common formats. */
#include "testing/crd/string_format.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum {
    ADDRESS_SIZE = 64
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_alnum(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns true if `text` matches `shape`: 0 is a digit, x a hexadecimal digit, any other character itself. */
static bool has_shape(ki_str text, const char *shape) {
    if (text.size != strlen(shape))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (shape[i] == '0' ? !is_digit(c) : shape[i] == 'x' ? !is_hex(c) : c != shape[i])
            return false;
    }
    return true;
}

static int two_digits(const char *at) {
    return (at[0] - '0') * 10 + at[1] - '0';
}

static bool is_date(ki_str text) {
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (!has_shape(text, "0000-00-00"))
        return false;
    int year = two_digits(text.data) * 100 + two_digits(text.data + 2), month = two_digits(text.data + 5);
    int day = two_digits(text.data + 8);
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] && (month != 2 || day < 29 || is_leap);
}

/* RFC 3339 §5.6. */
static bool is_date_time(ki_str text) {
    if (text.size < sizeof "2026-01-01T00:00:00Z" - 1 || !is_date((ki_str){ text.data, 10 }) ||
        (text.data[10] != 'T' && text.data[10] != 't') || !has_shape((ki_str){ text.data + 11, 8 }, "00:00:00") ||
        two_digits(text.data + 11) > 23 || two_digits(text.data + 14) > 59 || two_digits(text.data + 17) > 60)
        return false;
    ki_str zone = { text.data + 19, text.size - 19 };
    if (zone.data[0] == '.') {
        size_t digits = 1;
        while (digits < zone.size && is_digit(zone.data[digits]))
            digits++;
        if (digits == 1)
            return false;
        zone = (ki_str){ zone.data + digits, zone.size - digits };
    }
    return ki_str_equals(zone, "Z") || ki_str_equals(zone, "z") || has_shape(zone, "+00:00") ||
           has_shape(zone, "-00:00");
}

static bool is_address(int family, ki_str text) {
    char copy[ADDRESS_SIZE];
    unsigned char out[16];
    if (text.size >= sizeof copy)
        return false;
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return inet_pton(family, copy, out) == 1;
}

static bool is_ipv4(ki_str text) {
    return is_address(AF_INET, text);
}

static bool is_ipv6(ki_str text) {
    return is_address(AF_INET6, text);
}

static bool is_cidr(ki_str text) {
    ki_str bits, address = ki_str_split(text, '/', &bits);
    uint64_t number;
    return bits.size && bits.size <= 3 && ki_str_to_uint64(bits, is_ipv6(address) ? 128 : 32, &number) &&
           (is_ipv4(address) || is_ipv6(address));
}

static bool is_mac(ki_str text) {
    return has_shape(text, "xx:xx:xx:xx:xx:xx") || has_shape(text, "xx-xx-xx-xx-xx-xx") ||
           has_shape(text, "xxxx.xxxx.xxxx") || has_shape(text, "xx:xx:xx:xx:xx:xx:xx:xx");
}

static bool is_uuid(ki_str text) {
    return has_shape(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") ||
           has_shape(text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

static bool is_byte(ki_str text) { /* RFC 4648 §4 */
    size_t padding = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '=' ? ++padding > 2 : padding || (!is_alnum(c) && c != '+' && c != '/'))
            return false;
    }
    return text.size && text.size % 4 == 0;
}

static bool is_label(ki_str text, bool may_be_upper) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_inside = i > 0 && i + 1 < text.size;
        if (!(is_alnum(c) && (may_be_upper || c < 'A' || c > 'Z')) && !(c == '-' && is_inside))
            return false;
    }
    return text.size > 0 && text.size <= 63;
}

static bool is_labels(ki_str text, bool may_be_upper) {
    if (!text.size || text.size > 253 || text.data[text.size - 1] == '.')
        return false;
    while (text.size) {
        if (!is_label(ki_str_split(text, '.', &text), may_be_upper))
            return false;
    }
    return true;
}

static bool is_hostname(ki_str text) {
    ki_str rest = text, last = { NULL, 0 };
    while (rest.size)
        last = ki_str_split(rest, '.', &rest);
    /* The last label of a name with dots has two characters or more and begins with a letter. */
    return is_labels(text, true) && (last.size == text.size || (last.size > 1 && !is_digit(last.data[0])));
}

static bool is_email(ki_str text) {
    ki_str domain, local = ki_str_split(text, '@', &domain);
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] <= ' ')
            return false;
    }
    return local.size && local.size <= 64 && is_labels(domain, true);
}

/* Returns true for an absolute URI or a path. */
static bool is_uri(ki_str text) {
    size_t i = 0;
    if (text.size && text.data[0] == '/')
        return true;
    while (i < text.size && (is_alnum(text.data[i]) || strchr("+-.", text.data[i])))
        i++;
    bool has_scheme = i > 0 && i < text.size && text.data[i] == ':' && !is_digit(text.data[0]);
    for (; i < text.size; i++) {
        if ((unsigned char)text.data[i] <= ' ')
            return false;
    }
    return has_scheme;
}

/* Returns true for Go's durations such as "1h30m", and for "3 days". */
static bool is_duration(ki_str text) {
    static const char *const units[] = { "ns", "us", "µs", "ms", "s", "m", "h", "d", "w", NULL };
    static const char *const names[] = { "nanosecond", "microsecond", "millisecond", "second", "minute", "hour",
                                         "hr",         "min",         "sec",         "milli",  "micro",  "nano",
                                         "day",        "week",        "nanos",       "wk",     NULL };
    size_t at = text.size && (text.data[0] == '-' || text.data[0] == '+');
    bool any = false;
    if (ki_str_equals(text, "0"))
        return true;
    while (at < text.size) {
        size_t start = at;
        while (at < text.size && (is_digit(text.data[at]) || text.data[at] == '.'))
            at++;
        bool has_number = at > start;
        while (at < text.size && text.data[at] == ' ')
            at++;
        size_t unit = at;
        while (at < text.size && !is_digit(text.data[at]) && text.data[at] != ' ')
            at++;
        ki_str unit_name = { text.data + unit, at - unit };
        bool is_unit = false;
        for (size_t i = 0; units[i]; i++)
            is_unit = is_unit || ki_str_equals(unit_name, units[i]);
        if (unit_name.size > 1 && unit_name.data[unit_name.size - 1] == 's' && !is_unit)
            unit_name.size--;
        for (size_t i = 0; names[i]; i++)
            is_unit = is_unit || ki_str_equals(unit_name, names[i]);
        if (!has_number || !is_unit)
            return false;
        any = true;
        while (at < text.size && text.data[at] == ' ')
            at++;
    }
    return any;
}

static bool is_short_name(ki_str text) {
    return is_label(text, false);
}

static bool is_long_name(ki_str text) {
    return is_labels(text, false);
}

bool kt_string_has_format(const char *format, ki_str text) {
    static const struct {
        const char *name;
        bool (*is)(ki_str text);
    } formats[] = {
        { "byte", is_byte },
        { "cidr", is_cidr },
        { "date", is_date },
        { "date-time", is_date_time },
        { "datetime", is_date_time },
        { "duration", is_duration },
        { "email", is_email },
        { "hostname", is_hostname },
        { "ipv4", is_ipv4 },
        { "ipv6", is_ipv6 },
        { "k8s-long-name", is_long_name },
        { "k8s-short-name", is_short_name },
        { "mac", is_mac },
        { "uri", is_uri },
        { "uuid", is_uuid },
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(format, formats[i].name) == 0)
            return formats[i].is(text);
    }
    return true;
}
