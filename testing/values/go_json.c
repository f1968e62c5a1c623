/* go_json.c: see go_json.h. Has the states and messages of Go's encoding/json/scanner.go. */
#include "testing/values/go_json.h"

#include <stdio.h>
#include <string.h>

enum {
    DEPTH_MAX = 10000
};

typedef enum next {
    NEXT_VALUE,
    NEXT_VALUE_OR_END,
    NEXT_KEY,
    NEXT_KEY_OR_END,
    NEXT_AFTER /* after a value or key */
} next;

enum {
    IN_ARRAY = 'a',
    IN_KEY = 'k',   /* of an object, before the colon */
    IN_VALUE = 'v', /* of an object */
};

typedef struct scan {
    ki_str text;
    size_t at;
    ki_buffer open; /* IN_ARRAY, IN_KEY or IN_VALUE for each open array and object */
    ki_buffer *problem;
} scan;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool fail_end(scan *s) {
    ki_buffer_append_string(s->problem, "unexpected end of JSON input");
    return false;
}

/* Appends "invalid character 'x' CONTEXT" and returns false. As in Go, the end of the text is a space. */
static bool fail_character(scan *s, const char *context) {
    unsigned char c = s->at < s->text.size ? (unsigned char)s->text.data[s->at] : ' ';
    static const char escaped[] = "\a\b\f\n\r\t\v\\'", letters[] = "abfnrtv\\'";
    const char *place = c ? strchr(escaped, c) : NULL;
    char shown[16];
    if (place)
        snprintf(shown, sizeof shown, "\\%c", letters[place - escaped]);
    else if (c < ' ' || c == 0x7f)
        snprintf(shown, sizeof shown, "\\x%02x", c);
    else if (c < 0x80)
        snprintf(shown, sizeof shown, "%c", c);
    else if (c <= 0xa0 || c == 0xad) /* not printable in Latin-1 */
        snprintf(shown, sizeof shown, "\\u%04x", c);
    else
        snprintf(shown, sizeof shown, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
    ki_buffer_printf(s->problem, "invalid character '%s' %s", shown, context);
    return false;
}

static char now(const scan *s) {
    return s->at < s->text.size ? s->text.data[s->at] : '\0';
}

static bool scan_string(scan *s) {
    for (s->at++; s->at < s->text.size && now(s) != '"'; s->at++) {
        if ((unsigned char)now(s) < ' ')
            return fail_character(s, "in string literal");
        if (now(s) != '\\')
            continue;
        s->at++;
        if (now(s) == 'u') {
            for (int i = 0; i < 4; i++) {
                s->at++;
                if (!now(s) || !strchr("0123456789abcdefABCDEF", now(s)))
                    return fail_character(s, "in \\u hexadecimal character escape");
            }
        } else if (!now(s) || !strchr("bfnrt\\/\"", now(s))) {
            return fail_character(s, "in string escape code");
        }
    }
    return s->at < s->text.size ? (s->at++, true) : fail_end(s);
}

static bool scan_digits(scan *s, const char *context) {
    if (!is_digit(now(s)))
        return fail_character(s, context);
    while (is_digit(now(s)))
        s->at++;
    return true;
}

static bool scan_number(scan *s) {
    if (now(s) == '-')
        s->at++;
    if (now(s) == '0')
        s->at++;
    else if (!scan_digits(s, "in numeric literal"))
        return false;
    if (now(s) == '.') {
        s->at++;
        if (!scan_digits(s, "after decimal point in numeric literal"))
            return false;
    }
    if (now(s) != 'e' && now(s) != 'E')
        return true;
    s->at++;
    if (now(s) == '+' || now(s) == '-')
        s->at++;
    return scan_digits(s, "in exponent of numeric literal");
}

static bool scan_word(scan *s, const char *word) {
    for (size_t i = 0; word[i]; i++, s->at++) {
        char context[48];
        snprintf(context, sizeof context, "in literal %s (expecting '%c')", word, word[i]);
        if (now(s) != word[i])
            return fail_character(s, context);
    }
    return true;
}

static bool open_one(scan *s, char kind) {
    if (s->open.size < DEPTH_MAX) {
        s->at++;
        return ki_buffer_append_char(&s->open, kind) == KI_OK;
    }
    ki_buffer_append_string(s->problem, "exceeded max depth");
    return false;
}

static bool close_one(scan *s, next *ret_next) {
    s->at++;
    s->open.size--;
    *ret_next = NEXT_AFTER;
    return true;
}

static bool scan_value(scan *s, next *ret_next) {
    char c = now(s);
    *ret_next = c == '{' ? NEXT_KEY_OR_END : c == '[' ? NEXT_VALUE_OR_END : NEXT_AFTER;
    if (c == '{' || c == '[')
        return open_one(s, c == '{' ? IN_KEY : IN_ARRAY);
    if (c == '"')
        return scan_string(s);
    if (c == '-' || is_digit(c))
        return scan_number(s);
    if (c == 't' || c == 'f' || c == 'n')
        return scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
    return fail_character(s, "looking for beginning of value");
}

static bool scan_key(scan *s, next *ret_next) {
    *ret_next = NEXT_AFTER;
    return now(s) == '"' ? scan_string(s) : fail_character(s, "looking for beginning of object key string");
}

static bool scan_after(scan *s, next *ret_next) {
    char c = now(s), *inside = s->open.size ? &s->open.data[s->open.size - 1] : NULL;
    if (!inside)
        return fail_character(s, "after top-level value");
    if (*inside == IN_KEY) {
        if (c != ':')
            return fail_character(s, "after object key");
        *inside = IN_VALUE;
        *ret_next = NEXT_VALUE;
    } else if (c == (*inside == IN_VALUE ? '}' : ']')) {
        return close_one(s, ret_next);
    } else if (c != ',') {
        return fail_character(s, *inside == IN_VALUE ? "after object key:value pair" : "after array element");
    } else {
        *ret_next = *inside == IN_VALUE ? NEXT_KEY : NEXT_VALUE;
        *inside = *inside == IN_VALUE ? IN_KEY : *inside;
    }
    s->at++;
    return true;
}

static bool scan_all(scan *s) {
    next state = NEXT_VALUE;
    for (bool fine = true; fine;) {
        while (now(s) == ' ' || now(s) == '\t' || now(s) == '\r' || now(s) == '\n')
            s->at++;
        if (s->at >= s->text.size)
            return state == NEXT_AFTER && !s->open.size ? true : fail_end(s);
        if (state == NEXT_AFTER)
            fine = scan_after(s, &state);
        else if ((state == NEXT_VALUE_OR_END && now(s) == ']') || (state == NEXT_KEY_OR_END && now(s) == '}'))
            fine = close_one(s, &state);
        else
            fine = state == NEXT_KEY || state == NEXT_KEY_OR_END ? scan_key(s, &state) : scan_value(s, &state);
    }
    return false;
}

ki_status kt_go_json_check_map(ki_str text, ki_buffer *ret_problem) {
    scan s = { .text = text, .problem = ret_problem };
    ki_buffer_init(&s.open, ret_problem->allocator, 0);
    if (scan_all(&s)) {
        size_t start = 0;
        while (strchr(" \t\r\n", text.data[start]))
            start++;
        char c = text.data[start];
        const char *kind = c == '[' ? "array" : c == '"' ? "string" : c == 't' || c == 'f' ? "bool" : "number";
        if (c != '{' && c != 'n')
            ki_buffer_printf(ret_problem, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                             kind);
    }
    ki_status status = s.open.failed ? s.open.failed : ret_problem->failed;
    ki_buffer_free(&s.open);
    return status;
}
