/* cron.c: see cron.h. Has the order of the checks in robfig/cron's parser.go. */
#include "testing/values/cron.h"

#include <inttypes.h>
#include <string.h>

enum {
    FIELDS = 5
};

typedef struct bounds {
    uint64_t min;
    uint64_t max;
    const char *names; /* of the numbers from `min`, each of three letters; NULL: none */
} bounds;

static const bounds fields[FIELDS] = {
    { 0, 59, NULL },
    { 0, 23, NULL },
    { 1, 31, NULL },
    { 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    { 0, 6, "sunmontuewedthufrisat" },
};

#define TEXT(text) (int)(text).size, (text).data ? (text).data : ""

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Returns the next word; empty after the last one. */
static ki_str next_word(ki_str *rest) {
    while (rest->size && is_space(rest->data[0]))
        *rest = (ki_str){ rest->data + 1, rest->size - 1 };
    ki_str word = { rest->data, 0 };
    while (word.size < rest->size && !is_space(rest->data[word.size]))
        word.size++;
    *rest = (ki_str){ rest->data + word.size, rest->size - word.size };
    return word;
}

static bool is_name(ki_str text, const char *name) {
    return lower(text.data[0]) == name[0] && lower(text.data[1]) == name[1] && lower(text.data[2]) == name[2];
}

/* Reads a number as Go's strconv.Atoi does. Returns false and appends the problem if `text` is none. */
static bool read_int(ki_str text, uint64_t *ret_number, ki_buffer *problem) {
    ki_str digits = text;
    bool is_negative = text.size > 1 && text.data[0] == '-', is_number = true;
    if (text.size > 1 && (text.data[0] == '+' || text.data[0] == '-'))
        digits = (ki_str){ text.data + 1, text.size - 1 };
    for (size_t i = 0; i < digits.size; i++)
        is_number = is_number && digits.data[i] >= '0' && digits.data[i] <= '9';
    is_number = is_number && digits.size > 0;
    if (is_number && !is_negative && ki_str_to_uint64(digits, INT64_MAX, ret_number))
        return true;
    if (is_number && is_negative && ki_str_to_uint64(digits, INT64_MAX, ret_number)) {
        if (!*ret_number)
            return true;
        ki_buffer_printf(problem, "negative number (-%" PRIu64 ") not allowed: %.*s", *ret_number, TEXT(text));
        return false;
    }
    ki_buffer_printf(problem, "failed to parse int from %.*s: strconv.Atoi: parsing ", TEXT(text));
    ki_buffer_append_json_string(problem, text);
    ki_buffer_append_string(problem, is_number ? ": value out of range" : ": invalid syntax");
    return false;
}

static bool read_int_or_name(ki_str text, const bounds *r, uint64_t *ret_number, ki_buffer *problem) {
    for (uint64_t i = 0; r->names && text.size == 3 && r->names[3 * i]; i++) {
        if (is_name(text, r->names + 3 * i)) {
            *ret_number = r->min + i;
            return true;
        }
    }
    return read_int(text, ret_number, problem);
}

static size_t count_of(ki_str text, char c) {
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == c;
    return count;
}

/* Checks one range: "*", "5", "mon-fri", "0-30/5". */
static bool check_range(ki_str range, const bounds *r, ki_buffer *problem) {
    ki_str step_text, high, whole = ki_str_split(range, '/', &step_text), low = ki_str_split(whole, '-', &high);
    uint64_t start = r->min, end = r->max, step = 1;
    if (!ki_str_equals(low, "*") && !ki_str_equals(low, "?")) {
        if (!read_int_or_name(low, r, &start, problem))
            return false;
        end = start;
        if (count_of(whole, '-') > 1) {
            ki_buffer_printf(problem, "too many hyphens: %.*s", TEXT(range));
            return false;
        }
        if (high.data && !read_int_or_name(high, r, &end, problem))
            return false;
    }
    if (count_of(range, '/') > 1) {
        ki_buffer_printf(problem, "too many slashes: %.*s", TEXT(range));
        return false;
    }
    if (step_text.data && !read_int(step_text, &step, problem))
        return false;
    if (step_text.data && !high.data)
        end = r->max; /* "5/10" is "5-59/10" */
    if (start < r->min)
        ki_buffer_printf(problem, "beginning of range (%" PRIu64 ") below minimum (%" PRIu64 "): %.*s", start, r->min,
                         TEXT(range));
    else if (end > r->max)
        ki_buffer_printf(problem, "end of range (%" PRIu64 ") above maximum (%" PRIu64 "): %.*s", end, r->max,
                         TEXT(range));
    else if (start > end)
        ki_buffer_printf(problem, "beginning of range (%" PRIu64 ") beyond end of range (%" PRIu64 "): %.*s", start,
                         end, TEXT(range));
    else if (step == 0)
        ki_buffer_printf(problem, "step of range should be a positive number: %.*s", TEXT(range));
    else
        return true;
    return false;
}

static bool check_field(ki_str field, const bounds *r, ki_buffer *problem) {
    while (field.size) {
        ki_str range = ki_str_split(field, ',', &field);
        if (range.size && !check_range(range, r, problem))
            return false;
    }
    return true;
}

/* ---- descriptors ---- */

/* Checks a duration as Go's time.ParseDuration does. Returns NULL or the problem. */
static const char *duration_problem(ki_str text, ki_str *ret_unit) {
    static const char *const units[] = { "ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "m", "h" };
    *ret_unit = (ki_str){ NULL, 0 };
    if (text.size && (text.data[0] == '-' || text.data[0] == '+'))
        text = (ki_str){ text.data + 1, text.size - 1 };
    if (ki_str_equals(text, "0"))
        return NULL;
    if (!text.size)
        return "invalid duration";
    while (text.size) {
        size_t digits = 0, points = 0, i = 0;
        for (; i < text.size && ((text.data[i] >= '0' && text.data[i] <= '9') || (text.data[i] == '.' && !points)); i++)
            *(text.data[i] == '.' ? &points : &digits) += 1;
        if (!digits)
            return "invalid duration";
        ki_str unit = { text.data + i, 0 };
        while (i + unit.size < text.size && unit.data[unit.size] != '.' &&
               !(unit.data[unit.size] >= '0' && unit.data[unit.size] <= '9'))
            unit.size++;
        if (!unit.size)
            return "missing unit in duration";
        bool is_known = false;
        for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
            is_known = is_known || ki_str_equals(unit, units[u]);
        *ret_unit = unit;
        if (!is_known)
            return "unknown unit";
        text = (ki_str){ text.data + i + unit.size, text.size - i - unit.size };
    }
    return NULL;
}

static void check_every(ki_str descriptor, ki_str duration, ki_buffer *problem) {
    ki_str unit;
    const char *why = duration_problem(duration, &unit);
    if (!why)
        return;
    ki_buffer_printf(problem, "failed to parse duration %.*s: time: %s ", TEXT(descriptor), why);
    if (strcmp(why, "unknown unit") == 0) {
        ki_buffer_append_json_string(problem, unit);
        ki_buffer_append_string(problem, " in duration ");
    }
    ki_buffer_append_json_string(problem, duration);
}

static void check_descriptor(ki_str text, ki_buffer *problem) {
    static const char every[] = "@every ";
    static const char *const known[] = {
        "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (ki_str_equals(text, known[i]))
            return;
    }
    if (ki_str_starts_with(text, KI_STR(every)))
        check_every(text, (ki_str){ text.data + sizeof every - 1, text.size - (sizeof every - 1) }, problem);
    else
        ki_buffer_printf(problem, "unrecognized descriptor: %.*s", TEXT(text));
}

/* ---- the schedule ---- */

static void append_words(ki_str text, ki_buffer *out) {
    ki_str word = next_word(&text);
    for (bool first = true; word.size; first = false, word = next_word(&text))
        ki_buffer_printf(out, "%s%.*s", first ? "[" : " ", TEXT(word));
    ki_buffer_append_char(out, ']');
}

ki_status kt_cron_check(ki_str schedule, ki_buffer *ret_problem) {
    ki_str rest = schedule;
    if (ki_str_starts_with(schedule, KI_STR("TZ=")) || ki_str_starts_with(schedule, KI_STR("CRON_TZ="))) {
        if (!memchr(schedule.data, ' ', schedule.size))
            return ki_buffer_append_string(ret_problem, "invalid schedule format: runtime error: slice bounds out of "
                                                        "range [:-1]");
        (void)ki_str_split(schedule, ' ', &rest);
        while (rest.size && is_space(rest.data[0]))
            rest = (ki_str){ rest.data + 1, rest.size - 1 };
    }
    if (rest.size && rest.data[0] == '@') {
        check_descriptor(rest, ret_problem);
        return ret_problem->failed;
    }
    ki_str all = rest;
    size_t count = 0;
    while (next_word(&rest).size)
        count++;
    if (count != FIELDS) {
        ki_buffer_printf(ret_problem, "expected exactly %d fields, found %zu: %s", FIELDS, count, count ? "" : "[");
        append_words(all, ret_problem);
        return ret_problem->failed;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (!check_field(next_word(&all), &fields[i], ret_problem))
            break;
    }
    return ret_problem->failed;
}
