/* yaml_text.c: texts that need quotes in YAML 1.1, and the order of names; see yaml_text.h. */
#include "print/yaml_text.h"

#include "src/base/memory.h"
#include "src/object/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum {
    ROOM_FOR_FLOAT = 8
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(const char *text) {
    static const char *const words[] = { "",     "~",     "null",  "Null",  "NULL",  "y",     "Y",     "yes",
                                         "Yes",  "YES",   "true",  "True",  "TRUE",  "on",    "On",    "ON",
                                         "n",    "N",     "no",    "No",    "NO",    "false", "False", "FALSE",
                                         "off",  "Off",   "OFF",   ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",
                                         ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], text) == 0)
            return true;
    }
    return false;
}

/* Parses a number of one or two digits, and advances. Returns true if it is between `from` and `to`. */
static bool take_number(const char **at, int from, int to, int *ret_value) {
    int value = 0;
    const char *begin = *at;
    for (; *at - begin < 2 && is_digit(**at); (*at)++)
        value = value * 10 + (**at - '0');
    *ret_value = value;
    return *at > begin && value >= from && value <= to;
}

static int days_in(int year, int month) {
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && is_leap);
}

/* Returns true for 2006-1-2, 2006-1-2 15:4:5.9, 2006-1-2T15:4:5.9Z and the same with +01:00. */
static bool is_time(const char *text) {
    int month, day, part;
    if (strspn(text, "0123456789") != 4 || text[4] != '-')
        return false;
    const char *at = text + 5;
    if (!take_number(&at, 1, 12, &month) || *at++ != '-' || !take_number(&at, 1, days_in(atoi(text), month), &day))
        return false;
    if (!*at)
        return true;
    char between = *at++;
    if (between != 'T' && between != 't' && between != ' ')
        return false;
    if (!take_number(&at, 0, 23, &part) || *at++ != ':' || !take_number(&at, 0, 59, &part) || *at++ != ':' ||
        !take_number(&at, 0, 59, &part))
        return false;
    if ((*at == '.' || *at == ',') && is_digit(at[1]))
        at += 1 + strspn(at + 1, "0123456789");
    if (between == ' ')
        return !*at;
    if (*at == 'Z')
        return !at[1];
    if (*at != '+' && *at != '-')
        return false;
    at++;
    const char *zone = at;
    if (!take_number(&at, 0, 24, &part) || at - zone != 2 || *at++ != ':')
        return false;
    zone = at;
    return take_number(&at, 0, 59, &part) && at - zone == 2 && !*at;
}

/* Returns true for an integer of 64 bits that Go's strconv accepts with base 0: 0x1f, 0o17, 0b1, 017. */
static bool is_integer(const char *text) {
    const char *digits = text + (*text == '-' || *text == '+');
    bool is_signed = digits != text;
    int base = 10;
    char *end = NULL;
    char letter = *digits == '0' && digits[1] ? (char)tolower((unsigned char)digits[1]) : '\0';
    if (letter == 'x' || letter == 'o' || letter == 'b') {
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
        digits += 2;
        if (letter == 'b' && !is_signed && digits[-1] == 'b' && (*digits == '-' || *digits == '+'))
            digits++; /* Go parses the digits after 0b as a signed number */
    } else if (letter) {
        base = 8;
        digits++;
    }
    if (!isxdigit((unsigned char)*digits))
        return false;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, base);
    return !errno && !*end && (!is_signed || value <= (unsigned long long)INT64_MAX + (*text == '-'));
}

/* Returns true for a finite decimal number: sign, digits, point and exponent. `json` is a work buffer, ROOM_FOR_FLOAT
 * bytes longer than the text. */
static bool is_float(const ki_allocator *allocator, const char *text, char *json) {
    const char *at = text + (*text == '-' || *text == '+');
    size_t whole = strspn(at, "0123456789");
    const char *point = at + whole;
    size_t fraction = *point == '.' ? strspn(point + 1, "0123456789") : 0;
    const char *end = *point == '.' ? point + 1 + fraction : point;
    if (whole + fraction == 0)
        return false;
    const char *exponent = end;
    if (*end == 'e' || *end == 'E') {
        end += 1 + (end[1] == '-' || end[1] == '+');
        size_t digits = strspn(end, "0123456789");
        if (!digits)
            return false;
        end += digits;
    }
    if (*end)
        return false;
    size_t zeros = strspn(at, "0");
    if (zeros == whole && zeros > 0)
        zeros--;
    snprintf(json, strlen(text) + ROOM_FOR_FLOAT, "%s%.*s.%.*s%s", whole ? "" : "0", (int)(whole - zeros), at + zeros,
             fraction ? (int)fraction : 1, fraction ? point + 1 : "0", exponent);
    const yyjson_alc alc = ki_json_allocator(allocator);
    yyjson_doc *doc = yyjson_read_opts(json, strlen(json), 0, &alc, NULL); /* ignores the locale, rejects infinity */
    yyjson_doc_free(doc);
    return doc != NULL;
}

/* Returns true for a number in base 60: 190:20:30.15. */
static bool is_base_60(const char *text) {
    const char *at = text + (*text == '-' || *text == '+');
    size_t groups = 0;
    if (!is_digit(*at))
        return false;
    at += strspn(at, "0123456789_");
    while (*at == ':') {
        size_t digits = strspn(++at, "0123456789");
        if (digits == 0 || digits > 2 || (digits == 2 && *at > '5'))
            return false;
        at += digits;
        groups++;
    }
    if (*at == '.')
        at += 1 + strspn(at + 1, "0123456789_");
    return groups && !*at;
}

/* Copies the text without underscores. Returns false for a text that begins with a point and has an underscore that is
 * not between digits. */
static bool drop_underscores(const char *text, char *plain) {
    for (const char *at = text; *at; at++) {
        if (*at != '_')
            *plain++ = *at;
        else if (*text == '.' && (!is_digit(at[-1]) || !is_digit(at[1])))
            return false;
    }
    *plain = '\0';
    return true;
}

bool ki_yaml_is_ambiguous(const ki_allocator *allocator, const char *text, size_t size) {
    if (memchr(text, 0, size))
        return false; /* always quoted */
    if (is_word(text))
        return true;
    if (!is_digit(*text) && *text != '-' && *text != '+' && *text != '.')
        return false;
    if (is_time(text) || is_base_60(text))
        return true;
    char *plain = ki_alloc(allocator, size + 1), *json = ki_alloc(allocator, size + ROOM_FOR_FLOAT);
    bool is_number = !plain || !json; /* out of memory: quotes are always valid */
    if (!is_number && drop_underscores(text, plain))
        is_number = (*text != '.' && is_integer(plain)) || is_float(allocator, plain, json);
    ki_free(allocator, plain);
    ki_free(allocator, json);
    return is_number;
}

/* ---- the order of names ---- */

/* Decodes one UTF-8 character and returns its length too. */
static uint32_t character(const char *text, size_t size, size_t *ret_length) {
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t c = first < 0x80 ? first : first & (0xffU >> (length + 1));
    for (size_t i = 1; i < length && i < size; i++)
        c = c << 6 | ((unsigned char)text[i] & 0x3f);
    *ret_length = length < size ? length : size;
    return c;
}

static bool is_letter(uint32_t c) {
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the number of the digits at `at`, continued from `before`, and their end. */
static uint64_t run_of_digits(const char *text, size_t size, size_t at, uint64_t before, size_t *ret_end) {
    for (; at < size && is_digit(text[at]); at++)
        before = before * 10 + (uint64_t)(text[at] - '0');
    *ret_end = at;
    return before;
}

int ki_yaml_compare_names(const char *a, size_t a_size, const char *b, size_t b_size) {
    size_t i = 0;
    while (i < a_size && i < b_size) {
        size_t a_length, b_length;
        uint32_t x = character(a + i, a_size - i, &a_length);
        uint32_t y = character(b + i, b_size - i, &b_length);
        if (x == y) {
            i += a_length;
            continue;
        }
        if (is_letter(x) && is_letter(y))
            return x < y ? -1 : 1;
        if (is_letter(x) || is_letter(y))
            return is_letter(y) ? -1 : 1;
        uint64_t before = 0;
        for (size_t j = i; (x == '0' || y == '0') && j > 0 && is_digit(a[j - 1]) && !before; j--)
            before = a[j - 1] != '0';
        size_t a_end, b_end;
        /* as kubectl's, the numbers are signed and overflow at 64 bits */
        int64_t a_number = (int64_t)run_of_digits(a, a_size, i, before, &a_end);
        int64_t b_number = (int64_t)run_of_digits(b, b_size, i, before, &b_end);
        if (a_number != b_number)
            return a_number < b_number ? -1 : 1;
        if (a_end != b_end)
            return a_end < b_end ? -1 : 1;
        return x < y ? -1 : 1;
    }
    return (a_size > b_size) - (a_size < b_size);
}
