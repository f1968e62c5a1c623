/* pattern_compile.c: compiles the syntax of Go's package regexp to the steps of pattern.h. Jumps are relative, so that
 * a repetition copies the steps of what it repeats. Problems have the texts of Go's regexp/syntax. */
#include "src/base/memory.h"
#include "testing/crd/pattern.h"

#include <stdlib.h>

enum {
    RUNE_MAX = 0x10ffff,
    ROOM = 2 * KT_PATTERN_STEPS_MAX + 2, /* a repetition is written after what it repeats */
    IS_FOLDED = 1,                       /* (?i) */
    IS_MULTI_LINE = 2,                   /* (?m) */
    DOT_TAKES_LINE = 4,                  /* (?s) */
    FOREVER = -1,
    KELVIN_SIGN = 0x212a, /* the only letters beyond ASCII that equal ASCII ones without regard to case */
    LONG_S = 0x17f
};

typedef struct compiler {
    ki_str source;
    size_t at;
    unsigned flags, depth;
    kt_pattern_step *steps;
    size_t count;
    kt_pattern_range *ranges;
    size_t range_count;
    ki_status status;
    kt_pattern_problem problem;
} compiler;

/* ---- the source ---- */

static bool fail_pattern(compiler *c, const char *reason, size_t from, size_t to) {
    if (!c->status) {
        c->problem = (kt_pattern_problem){ reason, { c->source.data + from, to - from } };
        c->status = KI_ERR_INVALID;
    }
    return false;
}

static bool fail_size(compiler *c) {
    fail_pattern(c, "expression too large", 0, 0);
    c->status = KI_ERR_LIMIT;
    return false;
}

static bool is_at_end(const compiler *c) {
    return c->at >= c->source.size;
}

/* Returns the byte at an offset from here; 0 after the end. */
static char look(const compiler *c, size_t offset) {
    return c->source.size - c->at > offset ? c->source.data[c->at + offset] : '\0';
}

static bool accept(compiler *c, const char *text) {
    size_t size = strlen(text);
    if (c->source.size - c->at < size || memcmp(c->source.data + c->at, text, size) != 0)
        return false;
    c->at += size;
    return true;
}

static bool take_character(compiler *c, uint32_t *ret) {
    ki_str rest = { c->source.data + c->at, c->source.size - c->at };
    size_t size = rest.size ? ki_str_utf8_size(rest) : 0;
    if (!size)
        return fail_pattern(c, "invalid UTF-8", c->at, c->source.size);
    *ret = size == 1 ? (unsigned char)rest.data[0] : (unsigned char)rest.data[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++)
        *ret = *ret << 6 | ((unsigned char)rest.data[i] & 0x3fU);
    c->at += size;
    return true;
}

/* ---- steps ---- */

static bool add_step(compiler *c, kt_pattern_kind kind, size_t count, ptrdiff_t to) {
    if (c->count >= KT_PATTERN_STEPS_MAX)
        return fail_size(c);
    c->steps[c->count++] = (kt_pattern_step){ (uint16_t)kind, (uint16_t)count, (int32_t)to };
    return true;
}

static bool add_range(compiler *c, uint32_t first, uint32_t last) {
    if (c->range_count >= KT_PATTERN_RANGES_MAX)
        return fail_size(c);
    c->ranges[c->range_count++] = (kt_pattern_range){ first, last };
    return true;
}

/* Adds the part of first..last in low..high, moved by `distance`. */
static bool add_other_case(compiler *c, uint32_t first, uint32_t last, uint32_t low, uint32_t high, int distance) {
    uint32_t from = first > low ? first : low, to = last < high ? last : high;
    return from > to || add_range(c, (uint32_t)((int)from + distance), (uint32_t)((int)to + distance));
}

static bool has(uint32_t first, uint32_t last, uint32_t character) {
    return first <= character && character <= last;
}

/* Adds a range of a set, with its other case if that counts. */
static bool add_characters(compiler *c, uint32_t first, uint32_t last) {
    if (!(c->flags & IS_FOLDED))
        return add_range(c, first, last);
    if (last > 0x7f)
        return fail_pattern(c, "this server does not ignore the case of letters that are not ASCII", 0, c->source.size);
    return add_range(c, first, last) && add_other_case(c, first, last, 'a', 'z', 'A' - 'a') &&
           add_other_case(c, first, last, 'A', 'Z', 'a' - 'A') &&
           (!(has(first, last, 'k') || has(first, last, 'K')) || add_range(c, KELVIN_SIGN, KELVIN_SIGN)) &&
           (!(has(first, last, 's') || has(first, last, 'S')) || add_range(c, LONG_S, LONG_S));
}

/* Adds a step that takes a character of the ranges from `start` on. */
static bool add_set(compiler *c, size_t start, bool is_negated) {
    return add_step(c, is_negated ? KT_PATTERN_NOT_SET : KT_PATTERN_SET, c->range_count - start, (ptrdiff_t)start);
}

static bool add_literal(compiler *c, uint32_t character) {
    size_t start = c->range_count;
    return add_characters(c, character, character) && add_set(c, start, false);
}

/* ---- classes ---- */

static const struct {
    const char *name;
    uint8_t edges[9]; /* first, last, first, last, ...; 0 ends them, except as the first edge */
} classes[] = {
    { "d", "09" },           { "s", "\t\n\f\r  " }, { "w", "09AZ__az" },   { "alnum", "09AZaz" },
    { "alpha", "AZaz" },     { "ascii", "\0\x7f" }, { "blank", "\t\t  " }, { "cntrl", "\0\x1f\x7f\x7f" },
    { "digit", "09" },       { "graph", "!~" },     { "lower", "az" },     { "print", " ~" },
    { "punct", "!/:@[`{~" }, { "space", "\t\r  " }, { "upper", "AZ" },     { "word", "09AZ__az" },
    { "xdigit", "09AFaf" },
};

/* Returns true if the class has letters beyond x, so that case counts for k and s. */
static bool has_letters(size_t class) {
    const uint8_t *edge = classes[class].edges;
    bool is_found = false;
    for (size_t i = 0; i == 0 || edge[i]; i += 2)
        is_found = is_found || has(edge[i], edge[i + 1], 'k') || has(edge[i], edge[i + 1], 'K');
    return is_found;
}

/* Adds all characters that are not in a class. */
static bool add_others(compiler *c, size_t class) {
    bool is_folded = c->flags & IS_FOLDED && has_letters(class);
    bool is_one_case = strcmp(classes[class].name, "lower") == 0 || strcmp(classes[class].name, "upper") == 0;
    const uint8_t *edge = is_folded && is_one_case ? (const uint8_t *)"AZaz" : classes[class].edges;
    uint32_t next = 0;
    for (size_t i = 0; i == 0 || edge[i]; i += 2) {
        if (edge[i] > next && !add_range(c, next, edge[i] - 1U))
            return false;
        next = edge[i + 1] + 1U;
    }
    if (!is_folded)
        return add_range(c, next, RUNE_MAX);
    return add_range(c, next, LONG_S - 1) && add_range(c, LONG_S + 1, KELVIN_SIGN - 1) &&
           add_range(c, KELVIN_SIGN + 1, RUNE_MAX);
}

/* Adds a class, or all characters that are not in it. */
static bool add_class(compiler *c, size_t class, bool is_negated) {
    const uint8_t *edge = classes[class].edges;
    bool fine = !is_negated || add_others(c, class);
    for (size_t i = 0; fine && !is_negated && (i == 0 || edge[i]); i += 2)
        fine = add_characters(c, edge[i], edge[i + 1]);
    return fine;
}

/* Returns the number of a class; SIZE_MAX if there is none. */
static size_t find_class(ki_str name) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (ki_str_equals(name, classes[i].name))
            return i;
    }
    return SIZE_MAX;
}

/* Adds \d, \D and the like. Returns false, without a problem, if the source has none here. */
static bool accept_letter_class(compiler *c) {
    char letter = look(c, 0) == '\\' ? look(c, 1) : '\0';
    if (!letter || !strchr("dDsSwW", letter))
        return false;
    const char lower = (char)(letter | 0x20);
    c->at += 2;
    return add_class(c, find_class((ki_str){ &lower, 1 }), letter != lower);
}

/* Adds [:name:] inside a set. Returns false, without a problem, if the source has none here. */
static bool accept_named_class(compiler *c) {
    ki_str rest = { c->source.data + c->at, c->source.size - c->at };
    const char *end = rest.size > 2 && memcmp(rest.data, "[:", 2) == 0 ? rest.data + 2 : NULL;
    while (end && end + 1 < rest.data + rest.size && memcmp(end, ":]", 2) != 0)
        end++;
    if (!end || end + 1 >= rest.data + rest.size)
        return false;
    size_t size = (size_t)(end + 2 - rest.data);
    bool is_negated = rest.data[2] == '^';
    ki_str name = { rest.data + 2 + is_negated, size - 4 - is_negated };
    size_t class = name.size > 1 ? find_class(name) : SIZE_MAX;
    c->at += size;
    return class == SIZE_MAX ? fail_pattern(c, "invalid character class range", c->at - size, c->at)
                             : add_class(c, class, is_negated);
}

/* ---- escapes and sets ---- */

static int digit_of(char c, int base) {
    int value = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 16;
    return value < base ? value : -1;
}

/* Takes at most `most` digits. Returns how many. A number that is far too large stays at some such number. */
static size_t take_number(compiler *c, int base, size_t most, uint32_t *ret) {
    size_t count = 0;
    for (*ret = 0; count < most && digit_of(look(c, 0), base) >= 0; count++, c->at++) {
        if (*ret < RUNE_MAX * 8)
            *ret = *ret * (uint32_t)base + (uint32_t)digit_of(look(c, 0), base);
    }
    return count;
}

/* Takes the rest of \x7f or \x{10ffff}. */
static bool take_hex(compiler *c, size_t start, uint32_t *ret) {
    bool has_braces = accept(c, "{");
    size_t digits = take_number(c, 16, has_braces ? 8 : 2, ret);
    if (digits && (has_braces ? accept(c, "}") : digits == 2) && *ret <= RUNE_MAX)
        return true;
    return fail_pattern(c, "invalid escape sequence", start, c->at);
}

/* Takes an escape that stands for one character. */
static bool take_escape(compiler *c, uint32_t *ret) {
    static const char letters[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
    size_t start = c->at++;
    char letter = look(c, 0);
    const char *control = letter ? strchr(letters, letter) : NULL;
    if (is_at_end(c))
        return fail_pattern(c, "trailing backslash at end of expression", c->at, c->at);
    if (letter == '0' || (letter >= '1' && letter <= '7' && digit_of(look(c, 1), 8) >= 0))
        return take_number(c, 8, 3, ret) > 0;
    if (!take_character(c, ret))
        return false;
    if (letter == 'x')
        return take_hex(c, start, ret);
    if (control)
        *ret = (unsigned char)meant[control - letters];
    else if (letter == 'p' || letter == 'P')
        return fail_pattern(c, "this server has no Unicode classes", start, c->at);
    else if (*ret > 0x7f || digit_of(letter, 10) >= 0 || ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z'))
        return fail_pattern(c, "invalid escape sequence", start, c->at);
    return true;
}

static bool take_member(compiler *c, uint32_t *ret) {
    return look(c, 0) == '\\' ? take_escape(c, ret) : take_character(c, ret);
}

static bool parse_set(compiler *c) {
    size_t start = c->at++, ranges = c->range_count;
    bool is_negated = accept(c, "^");
    for (bool is_first = true; is_first || look(c, 0) != ']'; is_first = false) {
        size_t from = c->at;
        uint32_t first, last;
        if (is_at_end(c))
            return fail_pattern(c, "missing closing ]", start, c->source.size);
        if (accept_letter_class(c) || accept_named_class(c))
            continue;
        if (c->status || !take_member(c, &first))
            return false;
        last = first;
        if (look(c, 0) == '-' && look(c, 1) && look(c, 1) != ']') {
            c->at++;
            if (!take_member(c, &last))
                return false;
        }
        if (last < first)
            return fail_pattern(c, "invalid character class range", from, c->at);
        if (!add_characters(c, first, last))
            return false;
    }
    c->at++;
    return add_set(c, ranges, is_negated);
}

/* Adds what \ begins outside of a set. */
static bool parse_escape(compiler *c) {
    static const struct {
        const char *text;
        kt_pattern_kind kind;
    } edges[] = { { "\\A", KT_PATTERN_BEGIN_TEXT },
                  { "\\z", KT_PATTERN_END_TEXT },
                  { "\\b", KT_PATTERN_WORD_EDGE },
                  { "\\B", KT_PATTERN_NO_WORD_EDGE } };
    size_t ranges = c->range_count;
    uint32_t character;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        if (accept(c, edges[i].text))
            return add_step(c, edges[i].kind, 0, 0);
    }
    if (accept_letter_class(c))
        return add_set(c, ranges, false);
    return !c->status && take_escape(c, &character) && add_literal(c, character);
}

/* ---- repetitions ---- */

/* Repeats the steps from `start` on. */
static bool repeat(compiler *c, size_t start, int least, int most) {
    size_t size = c->count - start, more = most == FOREVER ? 0 : (size_t)(most - least), to = c->count;
    size_t total = (size_t)least * size + (most == FOREVER ? (least ? 1 : size + 2) : more * (size + 1));
    const kt_pattern_step *body = c->steps + start;
    if (start + total > KT_PATTERN_STEPS_MAX)
        return fail_size(c);
    for (int i = 0; i < least; i++, to += size)
        memcpy(c->steps + to, body, size * sizeof *body);
    if (most == FOREVER && least) {
        c->steps[to++] = (kt_pattern_step){ KT_PATTERN_SPLIT, 0, -(int32_t)size };
    } else if (most == FOREVER) {
        c->steps[to++] = (kt_pattern_step){ KT_PATTERN_SPLIT, 0, (int32_t)size + 2 };
        memcpy(c->steps + to, body, size * sizeof *body);
        to += size;
        c->steps[to++] = (kt_pattern_step){ KT_PATTERN_JUMP, 0, -(int32_t)size - 1 };
    }
    for (size_t left = more; left; left--, to += size) {
        c->steps[to++] = (kt_pattern_step){ KT_PATTERN_SPLIT, 0, (int32_t)(left * (size + 1)) };
        memcpy(c->steps + to, body, size * sizeof *body);
    }
    memmove(c->steps + start, c->steps + c->count, total * sizeof *body);
    c->count = start + total;
    return true;
}

/* Takes {n}, {n,} or {n,m}. Returns false, without a problem, for a brace that is a plain character. */
static bool accept_braces(compiler *c, int *ret_least, int *ret_most) {
    size_t start = c->at;
    uint32_t least, most;
    bool is_open = false;
    if (!accept(c, "{") || !take_number(c, 10, SIZE_MAX, &least)) {
        c->at = start;
        return false;
    }
    most = least;
    if (accept(c, ","))
        is_open = !take_number(c, 10, SIZE_MAX, &most);
    if (!accept(c, "}")) {
        c->at = start;
        return false;
    }
    if (least > KT_PATTERN_REPEAT_MAX || (!is_open && (most > KT_PATTERN_REPEAT_MAX || most < least)))
        return fail_pattern(c, "invalid repeat count", start, c->at);
    *ret_least = (int)least;
    *ret_most = is_open ? FOREVER : (int)most;
    return true;
}

static bool accept_repetition(compiler *c, int *ret_least, int *ret_most) {
    char op = look(c, 0);
    if (op == '{')
        return accept_braces(c, ret_least, ret_most);
    if (!op || !strchr("*+?", op))
        return false;
    *ret_least = op == '+';
    *ret_most = op == '?' ? 1 : FOREVER;
    c->at++;
    return true;
}

/* Reads the repetition after the steps from `start` on. What is lazy matches the same texts. */
static bool parse_repetition(compiler *c, size_t start) {
    size_t from = c->at;
    int least, most, next_least, next_most;
    if (!accept_repetition(c, &least, &most))
        return !c->status;
    accept(c, "?");
    if (accept_repetition(c, &next_least, &next_most)) {
        accept(c, "?");
        return fail_pattern(c, "invalid nested repetition operator", from, c->at);
    }
    return !c->status && repeat(c, start, least, most);
}

/* ---- groups and sequences ---- */

static bool parse_alternatives(compiler *c);

/* Reads the flags of (?i) and (?i:, up to their ) or :. */
static bool parse_flags(compiler *c, size_t start) {
    static const char letters[] = "imsU";
    static const unsigned meant[] = { IS_FOLDED, IS_MULTI_LINE, DOT_TAKES_LINE, 0 };
    bool is_off = false, has_flag = false;
    for (;; c->at++) {
        char letter = look(c, 0);
        const char *known = letter ? strchr(letters, letter) : NULL;
        if (known) {
            unsigned flag = meant[known - letters];
            c->flags = is_off ? c->flags & ~flag : c->flags | flag;
            has_flag = true;
        } else if (letter == '-' && !is_off) {
            is_off = true;
            has_flag = false;
        } else if ((letter == ')' || letter == ':') && (has_flag || !is_off)) {
            return true;
        } else {
            return fail_pattern(c, "invalid or unsupported Perl syntax", start, is_at_end(c) ? c->at : c->at + 1);
        }
    }
}

/* Takes the name of (?P<name> or (?<name>. */
static bool parse_name(compiler *c, size_t start) {
    size_t from = c->at;
    while (look(c, 0) == '_' || digit_of(look(c, 0), 10) >= 0 ||
           ((look(c, 0) | 0x20) >= 'a' && (look(c, 0) | 0x20) <= 'z'))
        c->at++;
    return (c->at > from && accept(c, ">")) || fail_pattern(c, "invalid named capture", start, c->at);
}

/* Reads a group, or flags for the rest of the group around them: `*ret_is_flags`. */
static bool parse_group(compiler *c, bool *ret_is_flags) {
    size_t start = c->at++;
    unsigned flags = c->flags;
    if (++c->depth > KT_PATTERN_DEPTH_MAX)
        return fail_pattern(c, "expression nests too deeply", 0, c->source.size);
    if (accept(c, "?P<") ||
        (look(c, 0) == '?' && look(c, 1) == '<' && look(c, 2) != '=' && look(c, 2) != '!' && accept(c, "?<"))) {
        if (!parse_name(c, start))
            return false;
    } else if (accept(c, "?")) {
        if (!parse_flags(c, start))
            return false;
        *ret_is_flags = look(c, 0) == ')';
        c->at += !*ret_is_flags;
    }
    if (!*ret_is_flags && !parse_alternatives(c))
        return false;
    if (!accept(c, ")"))
        return fail_pattern(c, "missing closing )", 0, c->source.size);
    if (!*ret_is_flags)
        c->flags = flags;
    c->depth--;
    return true;
}

/* Reads what a repetition can repeat. */
static bool parse_item(compiler *c, bool *ret_is_flags) {
    char letter = look(c, 0);
    bool has_lines = c->flags & IS_MULTI_LINE;
    uint32_t character;
    size_t ranges = c->range_count;
    switch (letter) {
    case '(':
        return parse_group(c, ret_is_flags);
    case '[':
        return parse_set(c);
    case '\\':
        return parse_escape(c);
    case '^':
        c->at++;
        return add_step(c, has_lines ? KT_PATTERN_BEGIN_LINE : KT_PATTERN_BEGIN_TEXT, 0, 0);
    case '$':
        c->at++;
        return add_step(c, has_lines ? KT_PATTERN_END_LINE : KT_PATTERN_END_TEXT, 0, 0);
    case '.':
        c->at++;
        return (c->flags & DOT_TAKES_LINE || add_range(c, '\n', '\n')) && add_set(c, ranges, true);
    default:
        return take_character(c, &character) && add_literal(c, character);
    }
}

/* Reads the text of \Q up to \E or the end. Moves *start to its last character, which a repetition repeats. */
static bool parse_quoted(compiler *c, size_t *start) {
    uint32_t character;
    while (!is_at_end(c) && !accept(c, "\\E")) {
        *start = c->count;
        if (!take_character(c, &character) || !add_literal(c, character))
            return false;
    }
    return true;
}

/* A repetition after flags repeats the item before them, as in Go. */
static bool parse_sequence(compiler *c) {
    size_t item = SIZE_MAX;
    while (!is_at_end(c) && look(c, 0) != '|' && look(c, 0) != ')') {
        size_t start = c->count, from = c->at;
        int least, most;
        bool is_flags = false;
        if (accept_repetition(c, &least, &most)) {
            accept(c, "?");
            return fail_pattern(c, "missing argument to repetition operator", from, c->at);
        }
        if (c->status || !(accept(c, "\\Q") ? parse_quoted(c, &start) : parse_item(c, &is_flags)))
            return false;
        if (!is_flags)
            item = start;
        if (item != SIZE_MAX && !parse_repetition(c, item))
            return false;
    }
    return true;
}

static bool parse_alternatives(compiler *c) {
    size_t start = c->count;
    if (!parse_sequence(c))
        return false;
    while (accept(c, "|")) {
        size_t size = c->count - start, jump;
        if (!add_step(c, KT_PATTERN_SPLIT, 0, 0))
            return false;
        memmove(c->steps + start + 1, c->steps + start, size * sizeof *c->steps);
        c->steps[start] = (kt_pattern_step){ KT_PATTERN_SPLIT, 0, (int32_t)size + 2 };
        jump = c->count;
        if (!add_step(c, KT_PATTERN_JUMP, 0, 0) || !parse_sequence(c))
            return false;
        c->steps[jump].to = (int32_t)(c->count - jump);
    }
    return true;
}

/* ---- the whole ---- */

static bool parse(compiler *c) {
    if (c->source.size > KT_PATTERN_MAX)
        return fail_size(c);
    if (!parse_alternatives(c))
        return false;
    if (!is_at_end(c))
        return fail_pattern(c, "unexpected )", 0, c->source.size);
    return add_step(c, KT_PATTERN_MATCH, 0, 0);
}

void kt_pattern_free(kt_pattern *pattern) {
    if (!pattern)
        return;
    ki_free(pattern->allocator, pattern->steps);
    ki_free(pattern->allocator, pattern->ranges);
    ki_free(pattern->allocator, pattern);
}

/* Copies the steps and ranges, which have the room that the longest pattern needs. */
static ki_status copy(const ki_allocator *allocator, const compiler *c, kt_pattern **ret_pattern) {
    kt_pattern *pattern = ki_alloc_zero(allocator, sizeof *pattern);
    if (!pattern)
        return KI_ERR_NO_MEMORY;
    pattern->allocator = allocator;
    pattern->count = c->count;
    pattern->steps = ki_alloc_array(allocator, c->count, sizeof *pattern->steps);
    pattern->ranges = ki_alloc_array(allocator, c->range_count + 1, sizeof *pattern->ranges);
    if (!pattern->steps || !pattern->ranges) {
        kt_pattern_free(pattern);
        return KI_ERR_NO_MEMORY;
    }
    memcpy(pattern->steps, c->steps, c->count * sizeof *c->steps);
    memcpy(pattern->ranges, c->ranges, c->range_count * sizeof *c->ranges);
    *ret_pattern = pattern;
    return KI_OK;
}

ki_status kt_pattern_compile(const ki_allocator *allocator, ki_str source, kt_pattern **ret_pattern,
                             kt_pattern_problem *ret_problem) {
    compiler c = { .source = source };
    c.steps = ki_alloc_array(allocator, ROOM, sizeof *c.steps);
    c.ranges = ki_alloc_array(allocator, KT_PATTERN_RANGES_MAX, sizeof *c.ranges);
    if (!c.steps || !c.ranges)
        c.status = KI_ERR_NO_MEMORY;
    else if (parse(&c))
        c.status = copy(allocator, &c, ret_pattern);
    if (c.problem.reason)
        *ret_problem = c.problem;
    ki_free(allocator, c.steps);
    ki_free(allocator, c.ranges);
    return c.status;
}
