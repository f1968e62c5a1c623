/* cell_value.c: see cell_value.h. */
#include "cell_value.h"

#include "row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char digits[] = "0123456789";

/* ---- quantities ---- */

/* Returns the factor of a unit; 0 if there is none of this name. */
static double factor_of(const char *unit) {
    static const struct {
        const char *unit;
        double factor;
    } units[] = { { "", 1 },
                  { "n", 1e-9 },
                  { "u", 1e-6 },
                  { "m", 1e-3 },
                  { "k", 1e3 },
                  { "M", 1e6 },
                  { "G", 1e9 },
                  { "T", 1e12 },
                  { "P", 1e15 },
                  { "E", 1e18 },
                  { "Ki", 1024.0 },
                  { "Mi", 1048576.0 },
                  { "Gi", 1073741824.0 },
                  { "Ti", 1099511627776.0 },
                  { "Pi", 1125899906842624.0 },
                  { "Ei", 1152921504606846976.0 } };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].factor;
    }
    return 0;
}

/* Reads an exponent, "e-3", to the end of the text. */
static bool read_exponent(const char *text, long *ret_exponent) {
    const char *number = text + 1 + (text[1] == '-' || text[1] == '+');
    size_t size = strspn(number, digits);
    if ((*text != 'e' && *text != 'E') || size == 0 || size > 3 || number[size])
        return false;
    *ret_exponent = strtol(text + 1, NULL, 10);
    return true;
}

/* Returns the number of `size` digits with at most one point, times 10 to the power of `exponent`. strtod would depend
 * on the locale. */
static double decimal(const char *text, size_t size, long exponent) {
    uint64_t mantissa = 0;
    bool is_behind_point = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.') {
            is_behind_point = true;
        } else if (mantissa < UINT64_MAX / 100) {
            mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
            exponent -= is_behind_point;
        } else {
            exponent += !is_behind_point;
        }
    }
    double power = 1;
    for (long i = labs(exponent); i > 0; i--)
        power *= 10;
    return exponent < 0 ? (double)mantissa / power : (double)mantissa * power;
}

bool value_read_quantity(const char *text, double *ret_number) {
    const char *number = text + (*text == '-' || *text == '+');
    size_t size = strspn(number, "0123456789.");
    const char *point = memchr(number, '.', size), *unit = number + size;
    long exponent = 0;
    double factor = factor_of(unit);
    if (size == 0 || size > 40 || (point && (size == 1 || memchr(point + 1, '.', size - 1 - (size_t)(point - number)))))
        return false;
    if (factor == 0 && read_exponent(unit, &exponent))
        factor = 1;
    double all = decimal(number, size, exponent) * factor;
    if (factor == 0 || !isfinite(all))
        return false;
    *ret_number = *text == '-' ? -all : all;
    return true;
}

/* ---- values ---- */

/* Reads "3d4h": numbers with a unit each, the largest first. */
static bool read_duration(const char *text, double *ret_seconds) {
    static const struct {
        char unit;
        double seconds;
    } units[] = { { 'y', 365 * 86400.0 }, { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
    double all = 0;
    size_t next = 0;
    if (!*text)
        return false;
    while (*text) {
        size_t size = strspn(text, digits);
        if (size == 0 || size > 12)
            return false;
        while (next < sizeof units / sizeof units[0] && units[next].unit != text[size])
            next++;
        if (next == sizeof units / sizeof units[0])
            return false;
        all += (double)strtoull(text, NULL, 10) * units[next++].seconds;
        text += size + 1;
    }
    *ret_seconds = all;
    return true;
}

/* Reads "1/2". */
static bool read_fraction(const char *text, double *ret_fraction) {
    size_t part = strspn(text, digits), whole = text[part] == '/' ? strspn(text + part + 1, digits) : 0;
    if (part == 0 || whole == 0 || part > 12 || whole > 12 || text[part + 1 + whole])
        return false;
    double of = (double)strtoull(text + part + 1, NULL, 10);
    *ret_fraction = of == 0 ? 0 : (double)strtoull(text, NULL, 10) / of;
    return true;
}

/* Reads a number or quantity, with an age or a percent sign behind it. */
static bool read_number(const char *text, double *ret_number) {
    char number[64];
    size_t size = row_size_without_age(text);
    if (size == 0 || size >= sizeof number)
        return false;
    memcpy(number, text, size);
    number[size - (number[size - 1] == '%')] = '\0';
    return value_read_quantity(number, ret_number);
}

cell_value value_of(const char *text, bool is_duration) {
    cell_value v = { .kind = VALUE_TEXT, .text = text };
    if (!*text || *text == '<')
        v.kind = VALUE_MISSING;
    else if (is_duration && read_duration(text, &v.number))
        v.kind = VALUE_DURATION;
    else if (read_number(text, &v.number))
        v.kind = VALUE_NUMBER;
    else if (read_fraction(text, &v.number))
        v.kind = VALUE_FRACTION;
    else if (read_duration(text, &v.number))
        v.kind = VALUE_DURATION;
    return v;
}

double value_part(const cell_value *fraction) {
    return (double)strtoull(fraction->text, NULL, 10);
}

static double whole_of(const cell_value *fraction) {
    return (double)strtoull(fraction->text + strspn(fraction->text, digits) + 1, NULL, 10);
}

static int order_of(double a, double b) {
    return (a > b) - (a < b);
}

int value_compare(const cell_value *a, const cell_value *b) {
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = order_of(a->number, b->number);
    if (order == 0 && a->kind == VALUE_FRACTION)
        order = order_of(whole_of(a), whole_of(b));
    return order == 0 && a->kind == VALUE_TEXT ? strcasecmp(a->text, b->text) : order;
}

/* ---- columns ---- */

bool column_is_age(const ki_column *column) {
    static const char *const names[] = { "Age", "Last Seen", "First Seen", "Last Schedule" };
    bool is_age = strcmp(column->type, "date") == 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_age; i++)
        is_age = strcmp(column->name, names[i]) == 0;
    return is_age;
}

bool column_has_durations(const ki_column *column) {
    return column_is_age(column) || strcasestr(column->name, "duration");
}
