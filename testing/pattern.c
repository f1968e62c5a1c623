/* pattern.c: Go's patterns by POSIX rules. The C library writes repetitions out, each inside of the other, so that a few bytes can ask for
 * all memory there is: they are counted before it sees them. */
#include "testing/pattern.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASS_SIZE = 16, /* what two bytes may grow to */
    WEIGHT_STOP = KT_PATTERN_WEIGHT_MAX + 1
};

/* Go's syntax as near as POSIX comes to it: the classes \d \w \s are written out, (?:…) is a group. False for what only POSIX has:
 * a group's text again costs exponential time. */
static bool translate(const char *pattern, char out[CLASS_SIZE * KT_PATTERN_MAX]) {
    size_t size = 0;
    bool in_set = false;
    if (strlen(pattern) > KT_PATTERN_MAX)
        return false;
    for (const char *at = pattern; *at; at++) {
        const char *put = NULL;
        if (!in_set && strncmp(at, "(?:", 3) == 0) {
            out[size++] = '(';
            at += 2;
            continue;
        }
        if (*at == '\\' && at[1]) {
            at++;
            if (*at >= '0' && *at <= '9')
                return false;
            put = *at == 'd' ? "0-9" : *at == 'w' ? "0-9A-Za-z_" : *at == 's' ? " \t\n\r\f" : NULL;
            if (put) {
                size += (size_t)sprintf(out + size, in_set ? "%s" : "[%s]", put);
            } else {
                if (!in_set)
                    out[size++] = '\\';
                out[size++] = *at;
            }
            continue;
        }
        in_set = *at == '[' ? true : *at == ']' ? false : in_set;
        out[size++] = *at;
    }
    out[size] = '\0';
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
