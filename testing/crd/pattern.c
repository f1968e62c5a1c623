/* pattern.c: translates Go's patterns to POSIX regular expressions. The C library expands nested repetitions, so
 * that a short pattern could use all memory. This file counts the expanded characters first. */
#include "testing/crd/pattern.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASS_SIZE = 16, /* the largest translation of two bytes */
    WEIGHT_STOP = KT_PATTERN_WEIGHT_MAX + 1
};

/* ---- translation from Go's syntax to POSIX ---- */

typedef struct translation {
    const char *at; /* the rest of the Go pattern */
    char *out;
    size_t size;
} translation;

static void put(translation *t, const char *text) {
    size_t size = strlen(text);
    memcpy(t->out + t->size, text, size + 1);
    t->size += size;
}

static void put_char(translation *t, char c) {
    t->out[t->size++] = c;
    t->out[t->size] = '\0';
}

/* Returns the content of \d, \w or \s inside a set; NULL for other letters. */
static const char *class_of(char letter) {
    return letter == 'd' ? "0-9" : letter == 'w' ? "0-9A-Za-z_" : letter == 's' ? " \t\n\r\f" : NULL;
}

/* Returns the character that \n and the like mean; 0 for other letters. */
static char control_of(char letter) {
    static const char letters[] = "ntrfva", meant[] = "\n\t\r\f\v\a";
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? meant[found - letters] : '\0';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Reads one character of a set. Returns false if it is no plain character. */
static bool take_character(translation *t, char *ret) {
    *ret = *t->at;
    if (*t->at == '\\') {
        t->at++;
        char control = control_of(*t->at);
        *ret = control ? control : *t->at;
        if (!*t->at || (!control && is_letter(*t->at)))
            return false;
    }
    t->at++;
    return *ret != '\0';
}

/* Translates a set. POSIX sets have no escapes. A literal ] must be first, - last, ^ not first, and [ not before .,
 * = or :. */
static bool translate_set(translation *t) {
    bool negated = t->at[1] == '^', closing = false, opening = false, caret = false, dash = false, others = false;
    size_t start;
    t->at += 1 + negated;
    put(t, negated ? "[^" : "[");
    start = t->size;
    for (bool first = true; first || *t->at != ']'; first = false) {
        const char *letters = *t->at == '\\' && t->at[1] ? class_of(t->at[1]) : NULL;
        const char *end = strncmp(t->at, "[:", 2) == 0 ? strstr(t->at, ":]") : NULL;
        char low, high;
        if (letters) {
            put(t, letters);
            t->at += 2;
            others = true;
            continue;
        }
        if (end) { /* a class such as [:alpha:] */
            while (t->at < end + 2)
                put_char(t, *t->at++);
            others = true;
            continue;
        }
        if (!take_character(t, &low))
            return false;
        if (*t->at == '-' && t->at[1] && t->at[1] != ']') {
            t->at++;
            if (!take_character(t, &high) || high < low || strchr("]^[-", low) || strchr("]^[-", high))
                return false;
            put_char(t, low);
            put_char(t, '-');
            put_char(t, high);
            others = true;
            continue;
        }
        closing = closing || low == ']';
        opening = opening || low == '[';
        caret = caret || low == '^';
        dash = dash || low == '-';
        if (!strchr("]^[-", low)) {
            put_char(t, low);
            others = true;
        }
    }
    t->at++;
    if (closing) {
        memmove(t->out + start + 1, t->out + start, t->size - start + 1);
        t->out[start] = ']';
        t->size++;
    }
    bool alone = caret && !negated && !closing && !opening && !others; /* ^ needs another character before it */
    if (alone && !dash) {
        t->size = start - 1;
        put(t, "\\^");
        return true;
    }
    put(t, opening ? "[" : "");
    put(t, alone ? "-^" : caret ? "^" : "");
    put(t, dash && !alone ? "-]" : "]");
    return true;
}

/* Returns false for escapes that POSIX does not have or treats differently. */
static bool translate_escape(translation *t) {
    char letter = t->at[1], control = control_of(letter);
    const char *letters = class_of(letter);
    t->at += 2;
    if (letters) {
        put(t, "[");
        put(t, letters);
        put(t, "]");
    } else if (letter == 'D' || letter == 'W' || letter == 'S') {
        put(t, "[^");
        put(t, class_of((char)(letter - 'A' + 'a')));
        put(t, "]");
    } else if (letter == 'A' || letter == 'z') {
        put(t, letter == 'A' ? "^" : "$");
    } else if (control) {
        put_char(t, control);
    } else if (is_letter(letter) && letter != 'b' && letter != 'B') {
        return false; /* \1 is a back-reference in POSIX, which takes exponential time; also \x41, \pL */
    } else {
        put(t, strchr("<>`'", letter) ? "" : "\\"); /* an escaped one would be an anchor */
        put_char(t, letter);
    }
    return true;
}

static bool translate(const char *pattern, char out[CLASS_SIZE * KT_PATTERN_MAX]) {
    translation t = { .at = pattern, .out = out };
    if (strlen(pattern) > KT_PATTERN_MAX)
        return false;
    out[0] = '\0';
    while (*t.at) {
        bool fine = true;
        if (strncmp(t.at, "(?:", 3) == 0) {
            put_char(&t, '(');
            t.at += 3;
        } else if (*t.at == '[') {
            fine = translate_set(&t);
        } else if (*t.at == '\\') {
            fine = t.at[1] && translate_escape(&t);
        } else {
            put_char(&t, *t.at++);
        }
        if (!fine)
            return false;
    }
    return true;
}

/* ---- expanded characters ---- */

static size_t limited(size_t weight) {
    return weight < WEIGHT_STOP ? weight : WEIGHT_STOP;
}

/* Returns the end of a set. A ] at its start is a plain character. */
static const char *skip_set(const char *at) {
    at += 1 + (at[1] == '^');
    if (*at == ']')
        at++;
    at += strcspn(at, "]");
    return *at ? at + 1 : at;
}

/* Returns how often {m,n} repeats and moves *at after it. {m,} counts as m + 1. */
static size_t repeats(const char **at) {
    char *end;
    size_t count = strtoul(*at + 1, &end, 10);
    if (*end == ',') {
        size_t last = strtoul(end + 1, &end, 10);
        count = last > count ? last : count + 1;
    }
    *at = *end == '}' ? end + 1 : *at + 1;
    return count ? limited(count) : 1;
}

/* Returns the number of characters after expanding all repetitions; WEIGHT_STOP if there are too many. */
static size_t weigh(const char *at) {
    size_t outer[KT_PATTERN_MAX], depth = 0; /* the sums outside of each open group */
    size_t sum = 0, last = 0;                /* of this group; of the last item, which a repetition repeats */
    while (*at) {
        size_t count = 0;
        if (*at == '{' || *at == '+') {
            if (*at == '+')
                count = 2, at++;
            else
                count = repeats(&at);
            size_t more = limited(last * (count - 1));
            last = limited(last + more);
            sum = limited(sum + more);
        } else if (*at == '(') {
            if (depth == KT_PATTERN_MAX)
                return WEIGHT_STOP;
            outer[depth++] = sum;
            sum = last = 0;
            at++;
        } else if (*at == ')' && depth) {
            last = limited(sum + 1);
            sum = limited(outer[--depth] + last);
            at++;
        } else if (*at == '*' || *at == '?') {
            sum = limited(sum + 1);
            last = limited(last + 1);
            at++;
        } else {
            last = 1;
            sum = limited(sum + 1);
            at = *at == '[' ? skip_set(at) : at + (*at == '\\' && at[1] ? 2 : 1);
        }
    }
    while (depth)
        sum = limited(sum + outer[--depth]);
    return sum;
}

bool kt_pattern_mismatches(const char *pattern, ki_str text) {
    char posix[CLASS_SIZE * KT_PATTERN_MAX];
    regex_t compiled;
    if (!translate(pattern, posix))
        return false;
    size_t weight = weigh(posix);
    if (weight > KT_PATTERN_WEIGHT_MAX || text.size > KT_PATTERN_WORK_MAX / (weight ? weight : 1) ||
        regcomp(&compiled, posix, REG_EXTENDED | REG_NOSUB))
        return false;
    bool mismatches = regexec(&compiled, text.data, 0, NULL, 0) == REG_NOMATCH;
    regfree(&compiled);
    return mismatches;
}
