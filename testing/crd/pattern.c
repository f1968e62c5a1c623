/* pattern.c: Go's patterns by POSIX rules. The C library writes repetitions out, each inside of the other, so that a few bytes can ask for
 * all memory there is: they are counted before it sees them. */
#include "testing/crd/pattern.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASS_SIZE = 16, /* what two bytes may grow to */
    WEIGHT_STOP = KT_PATTERN_WEIGHT_MAX + 1
};

/* ---- Go's syntax as near as POSIX comes to it ---- */

typedef struct translation {
    const char *at; /* in Go's */
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

/* What \d, \w, \s are within a set. */
static const char *class_of(char letter) {
    return letter == 'd' ? "0-9" : letter == 'w' ? "0-9A-Za-z_" : letter == 's' ? " \t\n\r\f" : NULL;
}

/* The character that \n and its like mean; 0: `letter` is none of these. */
static char control_of(char letter) {
    static const char letters[] = "ntrfva", meant[] = "\n\t\r\f\v\a";
    const char *found = letter ? strchr(letters, letter) : NULL;
    return found ? meant[found - letters] : '\0';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* One character of a set, where `t->at` stands; false where it is something else. */
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

/* In POSIX a set has no escapes: ] is itself where it comes first, - where it comes last, ^ where it does not come first, and [ where nothing
 * follows that makes it a class. */
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
        if (end) { /* [:alpha:] */
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
    bool alone = caret && !negated && !closing && !opening && !others; /* nothing can come before ^ */
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

/* False for what POSIX has not, or has not so. */
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
        return false; /* a group's text again, which only POSIX has and which takes exponential time; \x41, \pL */
    } else {
        put(t, strchr("<>`'", letter) ? "" : "\\"); /* with it these would be anchors */
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

/* ---- the weight ---- */

static size_t most(size_t weight) {
    return weight < WEIGHT_STOP ? weight : WEIGHT_STOP;
}

/* Behind a set: the first ] of it is a character. */
static const char *skip_set(const char *at) {
    at += 1 + (at[1] == '^');
    if (*at == ']')
        at++;
    at += strcspn(at, "]");
    return *at ? at + 1 : at;
}

/* How often {m,n} at *at repeats, and where it ends; {m,} is m and one more that repeats. */
static size_t repeats(const char **at) {
    char *end;
    size_t count = strtoul(*at + 1, &end, 10);
    if (*end == ',') {
        size_t last = strtoul(end + 1, &end, 10);
        count = last > count ? last : count + 1;
    }
    *at = *end == '}' ? end + 1 : *at + 1;
    return count ? most(count) : 1;
}

/* How many characters there are once all repetitions are written out, WEIGHT_STOP where these are too many. */
static size_t weigh(const char *at) {
    size_t outer[KT_PATTERN_MAX], depth = 0; /* what stands before each open group */
    size_t sum = 0, last = 0;                /* of this group; of what a repetition would repeat */
    while (*at) {
        size_t count = 0;
        if (*at == '{' || *at == '+') {
            if (*at == '+')
                count = 2, at++;
            else
                count = repeats(&at);
            size_t more = most(last * (count - 1));
            last = most(last + more);
            sum = most(sum + more);
        } else if (*at == '(') {
            if (depth == KT_PATTERN_MAX)
                return WEIGHT_STOP;
            outer[depth++] = sum;
            sum = last = 0;
            at++;
        } else if (*at == ')' && depth) {
            last = most(sum + 1);
            sum = most(outer[--depth] + last);
            at++;
        } else if (*at == '*' || *at == '?') {
            sum = most(sum + 1);
            last = most(last + 1);
            at++;
        } else {
            last = 1;
            sum = most(sum + 1);
            at = *at == '[' ? skip_set(at) : at + (*at == '\\' && at[1] ? 2 : 1);
        }
    }
    while (depth)
        sum = most(sum + outer[--depth]);
    return sum;
}

bool kt_pattern_refuses(const char *pattern, ki_str text) {
    char posix[CLASS_SIZE * KT_PATTERN_MAX];
    regex_t compiled;
    if (!translate(pattern, posix))
        return false;
    size_t weight = weigh(posix);
    if (weight > KT_PATTERN_WEIGHT_MAX || text.size > KT_PATTERN_WORK_MAX / (weight ? weight : 1) ||
        regcomp(&compiled, posix, REG_EXTENDED | REG_NOSUB))
        return false;
    bool refuses = regexec(&compiled, text.data, 0, NULL, 0) == REG_NOMATCH;
    regfree(&compiled);
    return refuses;
}
