/* json_grammar.h: the grammar of JSON as arithmetic on the bits of a block (json_scan_blocks.c), one bit for each byte.
 * Most of the grammar of compact text says which byte can follow which: those bits, moved by one place, are compared.
 * Only brackets, numbers, words and escapes are looked at one by one. Only json_scan_blocks.c includes it. */
#ifndef KI_BASE_JSON_GRAMMAR_H
#define KI_BASE_JSON_GRAMMAR_H

#include "src/base/json_scan.h"

enum {
    DIGITS_MAX = 18 /* of a number: further ones can be too many for yyjson */
};

/* What a block must know of the text before it. The words are those of the block before: their highest bits count. */
typedef struct grammar {
    ki_json_walk walk; /* of its state only what a backslash escapes */
    uint64_t string;   /* all bits: a string is open */
    uint64_t stack;    /* 1, and below it a bit for each open bracket, the innermost one lowest: it is { */
    uint64_t nesting;  /* the highest two bits are set by a closing bracket that is wrong, and by too deep nesting */
    uint64_t separator, join, key_start, scalar, key_end;
    uint64_t is_key; /* 1: the string that is open is a key */
    uint64_t bad;
    size_t character_end; /* of the last one outside ASCII */
    uint32_t *outline;    /* see ki_json_outline */
    size_t outlined;
} grammar;

/* The bytes of a block. `text`: the block in the text, which a bracket follows at last. */
typedef struct grammar_block {
    const char *text;
    size_t at, size;
    uint64_t quotes, inside, escaped; /* quotes without escaped ones; inside strings, with the opening quote */
    uint64_t open, close, comma, colon;
    uint64_t odd; /* control characters, and bytes of characters outside ASCII; inside strings, too */
} grammar_block;

static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool is_word(const char *at, const char *word, size_t *size) {
    while (word[*size] && at[*size] == word[*size])
        ++*size;
    return !word[*size];
}

/* Returns true for true, false, null and short numbers without an exponent, before a byte that can follow a value. */
static bool is_scalar(const char *at) {
    size_t size = 0;
    if (*at >= 'a') {
        if (!is_word(at, *at == 't' ? "true" : *at == 'f' ? "false" : "null", &size))
            return false;
    } else {
        at += *at == '-';
        while (is_digit(at[size]))
            size++;
        if (!size || (*at == '0' && size > 1))
            return false;
        if (at[size] == '.') {
            size_t whole = ++size;
            while (is_digit(at[size]))
                size++;
            if (size == whole)
                return false;
        }
        if (size > DIGITS_MAX)
            return false;
    }
    return at[size] == ',' || at[size] == '}' || at[size] == ']';
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

/* Passes the bytes that are `odd`, behind the last character's end at `end`: whole characters outside ASCII. Returns
 * the end of the last one; SIZE_MAX for control characters and what is not UTF-8. */
static size_t pass_odd(const char *text, size_t at, uint64_t odd, size_t end) {
    for (; odd; odd &= odd - 1) {
        size_t bit = (size_t)__builtin_ctzll(odd);
        if (at + bit < end)
            continue;
        size_t size = utf8_size(text + bit);
        if (!size)
            return SIZE_MAX;
        end = at + bit + size;
    }
    return end;
}

/* Passes the brackets without a branch for each. Returns the bits at which the innermost bracket becomes {, or is { no
 * longer. */
static inline __attribute__((always_inline)) uint64_t pass_nesting(grammar *g, const grammar_block *block) {
    /* The outline stays as it is when it has no room for all brackets of a block. */
    const uint64_t shallow = g->outlined <= KI_JSON_OUTLINE_MAX - 64 ? UINT64_C(1) << (KI_JSON_OUTLINE_DEPTH + 1) : 0;
    uint64_t changes = 0, stack = g->stack, nesting = g->nesting;
    uint32_t *outline = g->outline + g->outlined;
    for (uint64_t brackets = block->open | block->close; brackets; brackets &= brackets - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(brackets);
        unsigned char c = (unsigned char)block->text[bit]; /* [ is 5b, ] 5d, { 7b, } 7d */
        uint64_t before = stack, is_brace = c >> 5 & 1, top = before ^ is_brace;
        uint64_t opened = before << 1 | is_brace;
        uint64_t closed = top >> 1 | top << 63; /* one that does not match becomes the highest bit */
        stack = __builtin_expect_with_probability(c & 2, 2, 0.5) ? opened : closed;
        nesting |= stack - 2;
        *outline = (uint32_t)(block->at + bit);
        outline += (before | stack) < shallow;
        changes |= ((before ^ stack) & 1) << bit;
    }
    g->stack = stack;
    g->nesting = nesting;
    g->outlined = (size_t)(outline - g->outline);
    return changes;
}

/* `object`: the bits whose innermost bracket is {; that bracket is one of them. */
static inline __attribute__((always_inline)) void pass_grammar(grammar *g, const grammar_block *block,
                                                               uint64_t object) {
    const unsigned behind = 64 - (unsigned)block->size;
    const uint64_t valid = UINT64_MAX >> behind, inside = block->inside & valid, outside = ~block->inside & valid;
    uint64_t comma = block->comma, colon = block->colon, open = block->open;
    uint64_t opening = block->quotes & inside, closing = block->quotes & outside;
    uint64_t join = colon | comma, separator = join | open;
    uint64_t scalar = outside & ~(closing | block->close | separator), key_start = (open | comma) & object;
#define AFTER(name) ((name) << 1 | g->name >> 63)
    uint64_t after_separator = AFTER(separator), after_key_start = AFTER(key_start), after_scalar = AFTER(scalar);
    uint64_t bad = (opening | open | (scalar & ~after_scalar)) & ~after_separator;
    bad |= (comma & after_separator) | (block->close & AFTER(join)) | ((open | scalar) & after_key_start);
    /* A key's first bit, added to the bits of its string, carries into its closing quote. */
    uint64_t key = opening & after_key_start, sum;
    uint64_t carries = __builtin_add_overflow(inside, key, &sum);
    carries |= __builtin_add_overflow(sum, g->is_key, &sum);
    uint64_t key_end = sum & outside;
    bad |= colon ^ (AFTER(key_end) & valid);
#undef AFTER
    g->is_key = carries;
    g->string = 0 - (inside << behind >> 63);
    g->separator = separator << behind;
    g->join = join << behind;
    g->key_start = key_start << behind;
    g->scalar = scalar << behind;
    g->key_end = key_end << behind;
    for (uint64_t first = scalar & ~after_scalar; first; first &= first - 1)
        bad |= !is_scalar(block->text + __builtin_ctzll(first));
    for (uint64_t escaped = block->escaped & inside; escaped; escaped &= escaped - 1)
        bad |= !is_escape(block->text + __builtin_ctzll(escaped));
    if (block->odd & valid) {
        g->character_end = pass_odd(block->text, block->at, block->odd & valid, g->character_end);
        bad |= g->character_end == SIZE_MAX;
    }
    g->bad |= bad;
}

/* Returns true if the last bracket makes the text valid: it closes the outermost one, and what is before it can be
 * there. */
static inline bool is_valid_end(const grammar *g) {
    return !g->bad && !(g->nesting >> 62) && !g->string && g->stack == 3 && !(g->join >> 63) && !(g->key_end >> 63);
}

#endif
