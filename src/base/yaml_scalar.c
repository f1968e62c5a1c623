/* yaml_scalar.c: the type of an unquoted YAML 1.1 scalar, as Kubernetes' tools read it, and a tree as JSON. Independent
 * of the locale. */
#include "src/base/yaml_tree.h"

#include "src/base/error.h"

static bool is_one_of(ki_str text, const char *const *words) {
    for (; *words; words++) {
        if (ki_str_equals(text, *words))
            return true;
    }
    return false;
}

bool ki_yaml_is_true(ki_str text) {
    static const char *const words[] = {
        "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL
    };
    return is_one_of(text, words);
}

static bool is_false(ki_str text) {
    static const char *const words[] = { "n",     "N",     "no",  "No",  "NO",  "false",
                                         "False", "FALSE", "off", "Off", "OFF", NULL };
    return is_one_of(text, words);
}

static bool is_null(ki_str text) {
    static const char *const words[] = { "", "~", "null", "Null", "NULL", NULL };
    return is_one_of(text, words);
}

/* Returns true for a number that JSON does not have. */
static bool is_infinite(ki_str text) {
    static const char *const words[] = { ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF", "+.inf",
                                         "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", NULL };
    return is_one_of(text, words);
}

/* Returns 0 to 15, or 16 for other characters. */
static unsigned digit_of(char c) {
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* Returns the base of a number's prefix, and the prefix's size. */
static unsigned base_of(ki_str digits, size_t *ret_prefix) {
    *ret_prefix = 0;
    if (digits.size < 2 || digits.data[0] != '0')
        return 10;
    char c = digits.data[1];
    unsigned base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : c == 'o' || c == 'O' ? 8 : 0;
    *ret_prefix = base ? 2 : 1;
    return base ? base : 8;
}

static ki_str without_sign(ki_str text) {
    bool has_sign = text.size && (*text.data == '+' || *text.data == '-');
    return has_sign ? (ki_str){ text.data + 1, text.size - 1 } : text;
}

/* Parses an integer. Returns false if it is none or exceeds 64 bits. */
static bool whole_number(ki_str text, uint64_t *ret_value) {
    ki_str digits = without_sign(text);
    size_t at;
    unsigned base = base_of(digits, &at);
    uint64_t value = 0;
    bool has_digit = base == 8 && at == 1; /* the prefix 0 is a digit */
    for (; at < digits.size; at++) {
        if (digits.data[at] == '_')
            continue;
        unsigned digit = digit_of(digits.data[at]);
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
        has_digit = true;
    }
    *ret_value = value;
    return has_digit;
}

/* Skips digits and underscores. Returns the number of digits. */
static size_t skip_digits(ki_str text, size_t *at) {
    size_t count = 0;
    for (; *at < text.size && ((text.data[*at] >= '0' && text.data[*at] <= '9') || text.data[*at] == '_'); ++*at)
        count += text.data[*at] != '_';
    return count;
}

/* Returns true for 1. 1.5 .5 1e9, and for 08 and numbers above 64 bits, which are not integers. */
static bool is_fraction(ki_str text) {
    ki_str t = without_sign(text);
    if (t.size && *t.data == '_')
        return false;
    size_t at = 0;
    bool has_digits = skip_digits(t, &at) > 0;
    if (at < t.size && t.data[at] == '.') {
        at++;
        has_digits = skip_digits(t, &at) > 0 || has_digits;
    }
    if (has_digits && at < t.size && (t.data[at] == 'e' || t.data[at] == 'E')) {
        at++;
        if (at < t.size && (t.data[at] == '+' || t.data[at] == '-'))
            at++;
        has_digits = skip_digits(t, &at) > 0;
    }
    return has_digits && at == t.size;
}

/* Returns the exponent that `text` begins with; limited to 10^9. */
static int64_t read_exponent(ki_str text) {
    enum {
        EXPONENT_MAX = 1000000000
    };
    ki_str digits = without_sign(text);
    int64_t exponent = 0;
    for (size_t i = 0; i < digits.size && exponent < EXPONENT_MAX; i++) {
        if (digits.data[i] != '_')
            exponent = exponent * 10 + (digits.data[i] - '0');
    }
    exponent = exponent < EXPONENT_MAX ? exponent : EXPONENT_MAX;
    return text.size && *text.data == '-' ? -exponent : exponent;
}

typedef struct decimal {
    char digits[21];  /* without leading zeros; more than 20 are cut */
    size_t count;     /* 0: zero */
    int64_t exponent; /* power of ten of the first digit */
} decimal;

/* Reads a number of is_fraction, without its sign. */
static decimal read_decimal(ki_str text) {
    ki_str t = without_sign(text);
    decimal value = { .exponent = -1 };
    size_t at = 0;
    bool is_behind_point = false;
    for (; at < t.size && t.data[at] != 'e' && t.data[at] != 'E'; at++) {
        char c = t.data[at];
        is_behind_point = is_behind_point || c == '.';
        if (c == '.' || c == '_')
            continue;
        bool is_leading_zero = c == '0' && value.count == 0;
        if (is_leading_zero == is_behind_point)
            value.exponent += is_behind_point ? -1 : 1;
        if (!is_leading_zero && value.count < sizeof value.digits - 1)
            value.digits[value.count++] = c;
    }
    if (at < t.size)
        value.exponent += read_exponent((ki_str){ t.data + at + 1, t.size - at - 1 });
    return value;
}

/* Returns true for a number of is_fraction that exceeds the largest double: JSON's readers reject it, and it is text
 * for Go's YAML readers. */
static bool is_too_large(ki_str text) {
    static const char limit[] = "17976931348623158079"; /* first digits of the least number that rounds to infinity */
    enum {
        LIMIT_EXPONENT = 308
    };
    decimal value = read_decimal(text);
    if (value.count == 0 || value.exponent != LIMIT_EXPONENT)
        return value.count > 0 && value.exponent > LIMIT_EXPONENT;
    return strcmp(value.digits, limit) >= 0; /* missing digits sort as zeros do */
}

ki_yaml_kind ki_yaml_plain_kind(ki_str text) {
    uint64_t value;
    if (is_null(text))
        return KI_YAML_NULL;
    if (ki_yaml_is_true(text) || is_false(text))
        return KI_YAML_BOOL;
    bool may_be_number =
        *text.data == '+' || *text.data == '-' || *text.data == '.' || (*text.data >= '0' && *text.data <= '9');
    if (may_be_number &&
        (is_infinite(text) || whole_number(text, &value) || (is_fraction(text) && !is_too_large(text))))
        return KI_YAML_NUMBER;
    return KI_YAML_TEXT;
}

const char *ki_yaml_kind_name(ki_yaml_kind kind) {
    static const char *const names[] = { "empty", "true or false", "a number", "a text", "a list", "a map" };
    return names[kind];
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

/* Appends a number of is_fraction that is whole, such as 1E3, as an integer: Go's YAML readers make a float64 of it,
 * and its JSON is 1000. Returns false for a fraction, and for a number that a double or 64 bits may not hold. */
static bool append_whole(ki_buffer *buffer, ki_str text) {
    enum {
        DIGITS_OF_DOUBLE = 15,
        EXPONENT_MAX = 18
    };
    decimal value = read_decimal(text);
    while (value.count && value.digits[value.count - 1] == '0')
        value.count--;
    int64_t places = value.count ? value.exponent + 1 : 1;
    if (value.count > DIGITS_OF_DOUBLE || places < (int64_t)value.count || places > EXPONENT_MAX + 1)
        return false;
    if (*text.data == '-' && value.count)
        ki_buffer_append_char(buffer, '-');
    ki_buffer_append(buffer, value.digits, value.count);
    for (int64_t i = (int64_t)value.count; i < places; i++)
        ki_buffer_append_char(buffer, '0');
    return true;
}

/* JSON has no underscores, no leading zeros, and digits on both sides of a point. */
static void append_fraction(ki_buffer *buffer, ki_str text) {
    ki_str t = without_sign(text);
    size_t at = 0;
    if (*text.data == '-')
        ki_buffer_append_char(buffer, '-');
    while (at < t.size && (t.data[at] == '0' || t.data[at] == '_'))
        at++;
    if (at == t.size || t.data[at] < '0' || t.data[at] > '9')
        ki_buffer_append_char(buffer, '0');
    for (; at < t.size; at++) {
        size_t behind = at + 1;
        if (t.data[at] == '_' || (t.data[at] == '.' && skip_digits(t, &behind) == 0))
            continue;
        ki_buffer_append_char(buffer, t.data[at]);
    }
}

static ki_status append_number(ki_buffer *buffer, const ki_yaml *node, ki_error *err) {
    uint64_t value;
    if (is_infinite(node->text))
        return ki_error_set(err, KI_ERR_UNSUPPORTED, "line %zu: a number that JSON does not have", node->line);
    if (whole_number(node->text, &value))
        ki_buffer_printf(buffer, "%s%llu", *node->text.data == '-' ? "-" : "", (unsigned long long)value);
    else if (!append_whole(buffer, node->text))
        append_fraction(buffer, node->text);
    return KI_OK;
}

static ki_status append_items(ki_buffer *buffer, const ki_yaml *node, ki_error *err) {
    bool is_map = node->kind == KI_YAML_MAP;
    ki_status status = KI_OK;
    ki_buffer_append_char(buffer, is_map ? '{' : '[');
    bool is_first = true;
    for (size_t i = 0; !status && !buffer->failed && i < node->count; i += is_map ? 2 : 1) {
        const ki_yaml *value = node->items[i];
        if (is_map) {
            const ki_yaml *key = value;
            value = node->items[i + 1];
            if (!is_first)
                ki_buffer_append_char(buffer, ',');
            ki_buffer_append_json_string(buffer, key->text);
            ki_buffer_append_char(buffer, ':');
        } else if (!is_first) {
            ki_buffer_append_char(buffer, ',');
        }
        is_first = false;
        status = ki_yaml_append_json(buffer, value, err);
    }
    ki_buffer_append_char(buffer, is_map ? '}' : ']');
    return status;
}

/* Recursion is limited by KI_YAML_DEPTH_LIMIT. */
ki_status ki_yaml_append_json(ki_buffer *buffer, const ki_yaml *node, ki_error *err) { /* NOLINT(misc-no-recursion) */
    ki_status status = KI_OK;
    switch (node->kind) {
    case KI_YAML_NULL:
        ki_buffer_append_string(buffer, "null");
        break;
    case KI_YAML_BOOL:
        ki_buffer_append_string(buffer, ki_yaml_is_true(node->text) ? "true" : "false");
        break;
    case KI_YAML_NUMBER:
        status = append_number(buffer, node, err);
        break;
    case KI_YAML_TEXT:
        ki_buffer_append_json_string(buffer, node->text);
        break;
    default:
        status = append_items(buffer, node, err);
        break;
    }
    if (status || !buffer->failed)
        return status;
    if (buffer->failed == KI_ERR_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: larger than %zu bytes as JSON", node->line, buffer->limit);
    return ki_error_no_memory(err, "reading YAML");
}

ki_status ki_yaml_to_json(ki_str text, const ki_yaml_options *options, ki_buffer *buffer, ki_error *err) {
    ki_yaml_document document = { 0 };
    ki_status status = ki_yaml_load(buffer->allocator, text, options, &document, err);
    if (status)
        return status;
    status = ki_yaml_append_json(buffer, document.root, err);
    ki_yaml_free(&document);
    return status;
}

/* Returns true if a line begins a document: --- before the end of the line or a blank. */
static bool begins_document(ki_str line) {
    return line.size >= 3 && memcmp(line.data, "---", 3) == 0 && (line.size == 3 || strchr(" \t\r\n", line.data[3]));
}

/* Returns true for a blank line, a comment and a directive. */
static bool is_before_documents(ki_str line) {
    size_t blank = 0;
    while (blank < line.size && strchr(" \t\r", line.data[blank]))
        blank++;
    return blank == line.size || strchr("\n#", line.data[blank]) || line.data[0] == '%';
}

bool ki_yaml_next_document(ki_str *rest, ki_str *ret_document) {
    ki_str line = *rest;
    bool has_begun = false;
    *ret_document = (ki_str){ rest->data, 0 };
    while (line.size) {
        const char *end = memchr(line.data, '\n', line.size);
        size_t size = end ? (size_t)(end - line.data) + 1 : line.size;
        if (has_begun && begins_document(line))
            break;
        has_begun = has_begun || !is_before_documents((ki_str){ line.data, size });
        ret_document->size += size;
        line.data += size;
        line.size -= size;
    }
    *rest = line;
    return ret_document->size > 0;
}
