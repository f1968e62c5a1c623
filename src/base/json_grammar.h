/* json_grammar.h: the grammar of JSON as arithmetic on the bits of a block (json_scan_blocks.c), one bit for each byte.
 * Most of the grammar of compact text says which byte can follow which: those bits, moved by one place, are compared.
 * The first byte of a block is the last one of the block before: it says what can follow, and is not passed again.
 * Only brackets, numbers, words and escapes are looked at one by one. Only json_scan_blocks.c includes it. */
#ifndef KI_BASE_JSON_GRAMMAR_H
#define KI_BASE_JSON_GRAMMAR_H

#include "src/base/json_scan.h"

enum {
    DIGITS_MAX = 18 /* of a number: further ones can be too many for yyjson */
};

#define PASSED UINT64_C(1) /* the bit of the byte that the block before passed */

/* What a block must know of the text before it, besides the last byte. */
typedef struct grammar {
    const char *text, *end;
    uint64_t string;   /* all bits: a string is open */
    uint64_t key;      /* 1: that string is a key, or the last byte ended a key */
    uint64_t stack;    /* 1, and below it a bit for each open bracket, the innermost one lowest: it is { */
    uint64_t nesting;  /* the highest two bits are set by a closing bracket that is wrong, and by too deep nesting */
    uint32_t *outline; /* see ki_json_outline */
    size_t outlined;
} grammar;

/* What a block with escapes or characters outside ASCII must know of the text before it. */
typedef struct rare_bytes {
    ki_json_walk walk;    /* of its state only what a backslash escapes */
    size_t character_end; /* of the last one outside ASCII */
} rare_bytes;

/* The bytes of a block in sets, inside strings too. The sets that a byte is in tell which character it is. Control
 * characters can be in any set, since no text with one of them is valid. */
typedef struct token_sets {
    uint64_t separator; /* { [ : , */
    uint64_t bracket;   /* { [ } ] \ | */
    uint64_t mark;      /* " : \ | */
    uint64_t odd;       /* 0: the block has no control character, and none outside ASCII */
} token_sets;

static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Returns true for true, false, null and short numbers without an exponent, before a byte that can follow a value. */
static inline __attribute__((always_inline)) bool is_scalar(const char *at, const char *end) {
    if (*at >= 'a') {
        if (end - at < 5) /* four letters, and what ends the text */
            return false;
        if (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0)
            at += 4;
        else if (memcmp(at, "fals", 4) == 0 && at[4] == 'e')
            at += 5;
        else
            return false;
    } else {
        at += *at == '-';
        const char *begin = at;
        while (is_digit(*at))
            at++;
        if (at == begin || (*begin == '0' && at - begin > 1))
            return false;
        if (*at == '.') {
            const char *fraction = ++at;
            while (is_digit(*at))
                at++;
            if (at == fraction)
                return false;
        }
        if (at - begin > DIGITS_MAX)
            return false;
    }
    return *at == ',' || *at == '}' || *at == ']';
}

static bool is_hex(char c) {
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Returns true for what follows a backslash, but not for half of a pair of UTF-16. */
static bool is_escape(const char *at) {
    if (*at != 'u')
        return *at && strchr("\"\\/bfnrt", *at);
    for (size_t i = 1; i <= 4; i++)
        if (!is_hex(at[i]))
            return false;
    return (at[1] | 0x20) != 'd' || at[2] <= '7';
}

static bool is_between(char c, unsigned char first, unsigned char last) {
    return (unsigned char)c >= first && (unsigned char)c <= last;
}

/* Returns the bytes of the character outside ASCII; 0: it is not UTF-8 (RFC 3629 §4). */
static size_t utf8_size(const char *at) {
    unsigned char first = (unsigned char)at[0];
    if (is_between(at[0], 0xc2, 0xdf))
        return is_between(at[1], 0x80, 0xbf) ? 2 : 0;
    if (is_between(at[0], 0xe0, 0xef))
        return is_between(at[1], first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) &&
                       is_between(at[2], 0x80, 0xbf)
                   ? 3
                   : 0;
    return is_between(at[0], 0xf0, 0xf4) &&
                   is_between(at[1], first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) &&
                   is_between(at[2], 0x80, 0xbf) && is_between(at[3], 0x80, 0xbf)
               ? 4
               : 0;
}

/* Passes the bytes that are `odd`: whole characters outside ASCII. Returns false for control characters and for what is
 * not UTF-8. */
static bool pass_odd(rare_bytes *rare, const char *text, size_t at, uint64_t odd) {
    for (; odd; odd &= odd - 1) {
        size_t bit = (size_t)__builtin_ctzll(odd);
        if (at + bit < rare->character_end)
            continue;
        size_t size = utf8_size(text + bit);
        if (!size)
            return false;
        rare->character_end = at + bit + size;
    }
    return true;
}

/* Passes the bytes that are `odd`, and those behind a backslash. Returns false if they make the text invalid. */
static __attribute__((noinline, cold)) bool pass_rare(rare_bytes *rare, const char *text, size_t at, uint64_t odd,
                                                      uint64_t escaped) {
    for (; escaped; escaped &= escaped - 1)
        if (!is_escape(text + __builtin_ctzll(escaped)))
            return false;
    return pass_odd(rare, text, at, odd);
}

/* Passes the brackets at `text`. Returns the bits whose innermost bracket is {; a bracket is not inside itself. */
static inline __attribute__((always_inline)) uint64_t pass_nesting(grammar *g, const char *text, uint64_t brackets) {
    const uint64_t outer = UINT64_C(1) << (KI_JSON_OUTLINE_DEPTH + 1); /* stacks below it are of the outline */
    uint64_t stack = g->stack, nesting = g->nesting, object = 0 - (stack & 1);
    if (!brackets)
        return object;
    uint32_t at = (uint32_t)(text - g->text), *outline = g->outline;
    size_t outlined = g->outlined;
    for (; brackets; brackets &= brackets - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(brackets);
        unsigned char c = (unsigned char)text[bit]; /* [ is 5b, ] 5d, { 7b, } 7d */
        uint64_t before = stack;
        nesting |= before - 2;
        if (c & 2) {
            stack = (before << 1) + (c >> 5) - 2;
            if (stack < outer) {
                outline[outlined] = at + bit;
                outlined += outlined < KI_JSON_OUTLINE_MAX;
            }
        } else {
            uint64_t top = before ^ (c >> 5 & 1);
            stack = top >> 1 | top << 63; /* one that does not match becomes the highest bit */
            if (before < outer) {
                outline[outlined] = at + bit;
                outlined += outlined < KI_JSON_OUTLINE_MAX;
            }
        }
        if ((before ^ stack) & 1)
            object ^= (UINT64_MAX - 1) << bit;
    }
    g->stack = stack;
    g->nesting = nesting;
    g->outlined = outlined;
    return object;
}

/* Passes a block at `text`. `inside`: its bytes inside strings, with the opening quotes; `valid`: those of the text.
 * Returns false if they make the text invalid. */
static inline __attribute__((always_inline)) bool pass_grammar(grammar *g, const token_sets *sets, uint64_t quotes,
                                                               uint64_t inside, const char *text, uint64_t valid) {
    uint64_t opening = quotes & inside, strings = quotes | inside;
    uint64_t separator = sets->separator & ~inside, bracket = sets->bracket & ~inside;
    uint64_t open = separator & bracket, close = bracket & ~separator;
    uint64_t colon = separator & sets->mark, before_member = separator & ~sets->mark;
    uint64_t tokens = strings | sets->separator | sets->bracket, scalar = tokens << 1 & ~tokens & valid;
    /* A value or a key is behind each separator and nowhere else. Only {} and [] have none. */
    uint64_t begin = opening | open | scalar;
    uint64_t bad = (begin ^ separator << 1) & ~(close & open << 1);
    uint64_t key = opening & before_member << 1, no_key = (open | scalar) & before_member << 1;
    uint64_t object = pass_nesting(g, text, bracket & ~PASSED), sum;
    bad |= no_key & object;
    /* The first bit of a key, added to the bits of its string, carries to the bit behind it, where a colon must be. */
    g->key = __builtin_add_overflow(strings, (key & object) | g->key, &sum);
    bad |= (sum & ~strings) ^ colon;
    if (bad & valid & ~PASSED)
        return false;
    for (; scalar; scalar &= scalar - 1)
        if (!is_scalar(text + __builtin_ctzll(scalar), g->end))
            return false;
    return true;
}

/* Begins behind the first byte, which is {. */
static inline grammar begin_grammar(ki_str text, ki_json_outline *outline) {
    const char *end = text.data + text.size;
    const grammar begun = { .text = text.data, .end = end, .stack = 3, .outline = outline->at, .outlined = 1 };
    outline->at[0] = 0;
    return begun;
}

/* Returns true if the last byte is a bracket that closed the outermost one. The outline does not have that. */
static inline bool end_grammar(const grammar *g, ki_json_outline *outline) {
    bool has_last = outline->at[g->outlined - 1] == (uint32_t)(g->end - g->text - 1);
    outline->count = g->outlined - has_last;
    return g->stack == 1 && !(g->nesting >> 62) && !g->string;
}

#endif
