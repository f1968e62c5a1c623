/* jsonpath_parse.c: parses a JSONPath template, as kubectl does, into parts and steps. Filters, unions and quoted names
 * contain texts that the same functions parse one level deeper. */
#include "print/jsonpath.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <limits.h>

/* The parser's state for the template or a piece of it. */
typedef struct parser {
    ki_jsonpath *path;
    const char *begin; /* the template's beginning, for positions */
    const char *at;
    const char *end;
    int depth;
    ki_error *err;
} parser;

static ki_status parse_action(parser *p, ki_steps *to, ki_part *part);

static ki_status bad(const parser *p, const char *at, const char *why) {
    return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: %s at position %zu", why, (size_t)(at - p->begin) + 1);
}

static void *make(parser *p, size_t size) {
    ki_block *block = ki_alloc_zero(&p->path->allocator, sizeof *block + size);
    if (!block) {
        (void)ki_error_no_memory(p->err, "parsing JSONPath");
        return NULL;
    }
    block->next = p->path->blocks;
    p->path->blocks = block;
    return block->data;
}

static ki_step *add_step(parser *p, ki_steps *to, ki_step_type type) {
    ki_step *step = make(p, sizeof *step);
    if (!step)
        return NULL;
    step->type = type;
    if (to->last)
        to->last->next = step;
    else
        to->first = step;
    to->last = step;
    return step;
}

static ki_str between(const char *begin, const char *end) {
    return (ki_str){ begin, (size_t)(end - begin) };
}

/* Returns a copy of `text` in a block. */
static char *make_text(parser *p, ki_str text) {
    char *copy = make(p, text.size + 1);
    if (copy && text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Every byte outside ASCII counts as a letter. */
static bool is_letter(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool ends_name(char c) {
    return memchr(" \t\r\n.,[]$@{}", c, 12) != NULL;
}

/* ---- fields, words, numbers, quoted texts ---- */

static ki_status parse_field(parser *p, ki_steps *to) {
    const char *begin = p->at;
    while (p->at < p->end && !ends_name(*p->at))
        p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
    ki_str name = between(begin, p->at);
    ki_step *step = add_step(p, to, ki_str_equals(name, "*") ? KI_STEP_WILDCARD : KI_STEP_FIELD);
    char *copy = step ? make_text(p, name) : NULL;
    if (!copy)
        return KI_ERR_NO_MEMORY;
    step->text.data = copy;
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] != '\\')
            copy[step->text.size++] = name.data[i];
    }
    return KI_OK;
}

static ki_status parse_word(parser *p, ki_steps *to, ki_part *part) {
    const char *begin = p->at;
    while (p->at < p->end && !ends_name(*p->at))
        p->at++;
    ki_str word = between(begin, p->at);
    if (ki_str_equals(word, "true") || ki_str_equals(word, "false")) {
        ki_step *step = add_step(p, to, KI_STEP_BOOL);
        if (!step)
            return KI_ERR_NO_MEMORY;
        step->boolean = word.size == 4;
        return KI_OK;
    }
    bool is_range = ki_str_equals(word, "range");
    if (!is_range && !ki_str_equals(word, "end"))
        return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: unrecognized identifier %.*s at position %zu",
                            word.size > 60 ? 60 : (int)word.size, word.data, (size_t)(begin - p->begin) + 1);
    if (!part)
        return bad(p, begin, "range and end need braces of their own, not in filters or unions: one is");
    if (part->is_range || part->is_end)
        return bad(p, begin, "a second range or end between two braces");
    *(is_range ? &part->is_range : &part->is_end) = true;
    return KI_OK;
}

/* Parses [+-]digits that fit into int64_t. */
static bool to_integer(ki_str text, int64_t *ret_value) {
    bool is_negative = text.size && text.data[0] == '-';
    uint64_t digits;
    if (text.size && (is_negative || text.data[0] == '+'))
        text = (ki_str){ text.data + 1, text.size - 1 };
    if (!ki_str_to_uint64(text, (uint64_t)INT64_MAX + is_negative, &digits))
        return false;
    *ret_value = is_negative ? (int64_t)(0 - digits) : (int64_t)digits;
    return true;
}

/* Parses [+-]digits.digits; one side may be empty. Not by strtod, which depends on the locale. */
static bool to_double(ki_str text, double *ret_value) {
    char json[512];
    size_t size = 0;
    size_t i = 0;
    bool has_digit = false;
    if (text.size == 0 || text.size > sizeof json - 4)
        return false;
    if (text.data[0] == '-')
        json[size++] = '-';
    if (text.data[0] == '-' || text.data[0] == '+')
        i++;
    while (i + 1 < text.size && text.data[i] == '0' && is_digit(text.data[i + 1]))
        i++;
    if (i < text.size && text.data[i] == '.')
        json[size++] = '0';
    for (; i < text.size; i++) {
        json[size++] = text.data[i];
        has_digit = has_digit || is_digit(text.data[i]);
    }
    if (!has_digit) /* only a sign */
        return false;
    if (json[size - 1] == '.')
        json[size++] = '0';
    json[size] = '\0';
    char room[4096];
    yyjson_alc alc;
    yyjson_alc_pool_init(&alc, room, sizeof room);
    yyjson_doc *doc = yyjson_read_opts(json, size, YYJSON_READ_NOFLAG, &alc, NULL);
    bool is_number = yyjson_is_num(yyjson_doc_get_root(doc));
    if (is_number)
        *ret_value = yyjson_get_num(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return is_number;
}

static ki_status parse_number(parser *p, ki_steps *to) {
    const char *begin = p->at;
    if (*p->at == '+' || *p->at == '-')
        p->at++;
    while (p->at < p->end && (*p->at == '.' || is_digit(*p->at)))
        p->at++;
    ki_str text = between(begin, p->at);
    int64_t integer;
    double number;
    bool is_integer = to_integer(text, &integer);
    if (!is_integer && !to_double(text, &number))
        return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: cannot parse number %.*s at position %zu",
                            text.size > 60 ? 60 : (int)text.size, text.data, (size_t)(begin - p->begin) + 1);
    ki_step *step = add_step(p, to, is_integer ? KI_STEP_INT : KI_STEP_FLOAT);
    if (!step)
        return KI_ERR_NO_MEMORY;
    step->integer = is_integer ? integer : 0;
    step->number = is_integer ? 0 : number;
    return KI_OK;
}

static int hex_digit(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses `count` digits of `base`; returns -1 on failure. */
static int64_t read_digits(const char **at, const char *end, int count, int base) {
    int64_t value = 0;
    for (; count > 0; count--, (*at)++) {
        int digit = *at < end ? hex_digit(**at) : -1;
        if (digit < 0 || digit >= base)
            return -1;
        value = value * base + digit;
    }
    return value;
}

static char *put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* Decodes an escape of Go's strings; returns false if it is invalid. The result is never longer than the escape. */
static bool unescape(const char **at, const char *end, char quote, char **out) {
    static const char letters[] = "abfnrtv\\";
    static const char meant[] = "\a\b\f\n\r\t\v\\";
    if (*at == end)
        return false;
    char c = *(*at)++;
    const char *letter = memchr(letters, c, sizeof letters - 1);
    int64_t value = -1;
    if (letter || c == quote) {
        *(*out)++ = letter ? meant[letter - letters] : quote;
        return true;
    }
    if (c == 'x' || (c >= '0' && c <= '7')) {
        *at -= c != 'x';
        value = c == 'x' ? read_digits(at, end, 2, 16) : read_digits(at, end, 3, 8);
        if (value > 255)
            return false;
        if (value >= 0)
            *(*out)++ = (char)value;
        return value >= 0;
    }
    if (c == 'u' || c == 'U')
        value = read_digits(at, end, c == 'u' ? 4 : 8, 16);
    if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return false;
    *out = put_utf8(*out, (uint32_t)value);
    return true;
}

static ki_status parse_quoted(parser *p, ki_steps *to) {
    const char quote = *p->at;
    const char *begin = p->at++;
    while (p->at < p->end && *p->at != '\n' && !(*p->at == quote && p->at[-1] != '\\'))
        p->at++;
    if (p->at == p->end || *p->at == '\n')
        return bad(p, begin, "unterminated quoted string");
    const char *from = begin + 1;
    const char *end = p->at++;
    ki_step *step = add_step(p, to, KI_STEP_TEXT);
    char *text = step ? make_text(p, between(from, end)) : NULL;
    if (!text)
        return KI_ERR_NO_MEMORY;
    char *out = text;
    while (from < end) {
        if (*from != '\\')
            *out++ = *from++;
        else if (from++, !unescape(&from, end, quote, &out))
            return bad(p, from, "no such escape in a quoted string");
    }
    step->text = between(text, out);
    return KI_OK;
}

/* ---- brackets ---- */

/* Parses a piece of the text like the content of braces, up to its end or a closing brace. */
static ki_status parse_piece(const parser *p, ki_str text, ki_steps *to) {
    parser piece = *p;
    piece.at = text.data;
    piece.end = text.data + text.size;
    piece.depth++;
    if (piece.depth > KI_JSONPATH_MAX_DEPTH)
        return ki_error_set(p->err, KI_ERR_LIMIT, "JSONPath: nested more than %d deep", KI_JSONPATH_MAX_DEPTH);
    return parse_action(&piece, to, NULL);
}

static ki_status parse_slice(parser *p, ki_str text, ki_steps *to) {
    ki_bound bounds[3] = { { 0, false, false }, { 0, false, false }, { 0, false, false } };
    const char *at = text.data;
    const char *end = text.data + text.size;
    bool is_given[3] = { false, false, false }; /* given, with its colon if it needs one */
    for (int i = 0; i < 3; i++) {
        if (i > 0 && (at == end || *at != ':'))
            break;
        at += i > 0;
        const char *begin = at;
        at += at < end && *at == '-';
        while (at < end && is_digit(*at))
            at++;
        is_given[i] = i > 0 || at > begin;
        if (at == begin)
            continue;
        bounds[i].is_known = true;
        if (!to_integer(between(begin, at), &bounds[i].value) || bounds[i].value > INT_MAX ||
            bounds[i].value < -INT_MAX)
            return bad(p, begin, "an array index that is no number, or too large a one,");
    }
    if (at != end)
        return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: invalid array index %.*s at position %zu",
                            text.size > 60 ? 60 : (int)text.size, text.data, (size_t)(text.data - p->begin) + 1);
    if (!is_given[1])
        bounds[1] = (ki_bound){ bounds[0].value + 1, true, true };
    ki_step *step = add_step(p, to, KI_STEP_ARRAY);
    if (!step)
        return KI_ERR_NO_MEMORY;
    memcpy(step->bounds, bounds, sizeof bounds);
    return KI_OK;
}

static ki_status parse_index(parser *p, ki_str text, ki_steps *to) {
    if (text.size >= 2 && text.data[0] == '\'' && text.data[text.size - 1] == '\'' &&
        !memchr(text.data + 1, '\'', text.size - 2)) {
        /* As in kubectl, ['a.b'] means .a.b (a dot in a name is written \\.). The quote becomes the dot, in our copy of
         * the text. */
        *(char *)(uintptr_t)text.data = '.';
        return parse_piece(p, (ki_str){ text.data, text.size - 1 }, to);
    }
    return parse_slice(p, ki_str_equals(text, "*") ? KI_STR(":") : text, to);
}

static ki_str trim(ki_str text) {
    while (text.size && *text.data == ' ')
        text = (ki_str){ text.data + 1, text.size - 1 };
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

static ki_status parse_brackets(parser *p, ki_steps *to) {
    const char *begin = p->at++;
    while (p->at < p->end && *p->at != ']' && *p->at != '\n')
        p->at++;
    if (p->at == p->end || *p->at == '\n')
        return bad(p, begin, "unterminated array");
    ki_str text = between(begin + 1, p->at++);
    if (!text.size || !memchr(text.data, ',', text.size))
        return parse_index(p, text, to);

    ki_step *step = add_step(p, to, KI_STEP_UNION);
    ki_steps **next = step ? &step->lists : NULL;
    ki_status status = step ? KI_OK : KI_ERR_NO_MEMORY;
    while (text.data && !status) {
        ki_str member = trim(ki_str_split(text, ',', &text));
        ki_steps *list = make(p, sizeof *list);
        if (!list)
            return KI_ERR_NO_MEMORY;
        *next = list;
        next = &list->next;
        status = parse_index(p, member, list);
    }
    return status;
}

/* Returns the parenthesis that closes the filter outside of its quoted text, or NULL. */
static const char *find_filter_end(const char *at, const char *end) {
    char quote = 0;
    bool is_over = false;
    for (; at < end && *at != '\n'; at++) {
        if ((*at == '"' || *at == '\'') && !quote)
            quote = *at;
        else if (quote && *at == quote && at[-1] != '\\')
            is_over = true;
        else if (*at == ')' && (quote != 0) == is_over)
            return at;
    }
    return NULL;
}

static bool to_comparison(ki_str text, ki_comparison *ret_comparison) {
    static const char *const names[] = { "==", "!=", "<", "<=", ">", ">=" };
    for (int i = 0; i < 6; i++) {
        if (!ki_str_equals(text, names[i]))
            continue;
        *ret_comparison = (ki_comparison)(KI_COMPARE_EQUAL + i);
        return true;
    }
    return false;
}

static bool is_operator(char c) {
    return c == '!' || c == '<' || c == '>' || c == '=';
}

static ki_status parse_filter(parser *p, ki_steps *to) {
    const char *open = p->at;
    const char *begin = open + 3;
    const char *end = find_filter_end(begin, p->end);
    if (!end)
        return bad(p, open, "unterminated filter");
    p->at = end + 1;
    if (p->at == p->end || *p->at != ']')
        return bad(p, end, "unclosed array, a ']' is expected");
    p->at++;

    const char *sign = begin;
    while (sign < end && !is_operator(*sign))
        sign++;
    const char *right = sign;
    while (right < end && is_operator(*right))
        right++;
    ki_step *step = add_step(p, to, KI_STEP_FILTER);
    ki_steps *lists = step ? make(p, 2 * sizeof *lists) : NULL;
    if (!lists)
        return KI_ERR_NO_MEMORY;
    step->lists = lists;
    if (sign == begin || sign == end || right == end) {
        step->comparison = KI_COMPARE_EXISTS;
        return parse_piece(p, between(begin, end), &lists[0]);
    }
    if (!to_comparison(between(sign, right), &step->comparison))
        return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: unrecognized filter operator %.*s at position %zu",
                            right - sign > 20 ? 20 : (int)(right - sign), sign, (size_t)(sign - p->begin) + 1);
    lists[0].next = &lists[1];
    ki_status status = parse_piece(p, between(begin, sign), &lists[0]);
    return status ? status : parse_piece(p, between(right, end), &lists[1]);
}

/* ---- the template ---- */

static bool starts_with(const parser *p, const char *text) {
    size_t size = strlen(text);
    return (size_t)(p->end - p->at) >= size && memcmp(p->at, text, size) == 0;
}

static ki_status parse_recursive(parser *p, ki_steps *to) {
    if (to->last && to->last->type == KI_STEP_RECURSIVE)
        return bad(p, p->at, "invalid multiple recursive descent");
    p->at += 2;
    if (!add_step(p, to, KI_STEP_RECURSIVE))
        return KI_ERR_NO_MEMORY;
    if (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        return parse_field(p, to);
    return KI_OK;
}

/* Parses the next step. */
static ki_status parse_step(parser *p, ki_steps *to, ki_part *part) {
    char c = *p->at;
    if (starts_with(p, "[?("))
        return parse_filter(p, to);
    if (starts_with(p, ".."))
        return parse_recursive(p, to);
    if (c == '\n' || c == '\r')
        return bad(p, p->at, "unclosed action");
    if (c == ' ' || c == '@' || c == '$') {
        p->at++;
        return KI_OK;
    }
    if (c == '[')
        return parse_brackets(p, to);
    if (c == '"' || c == '\'')
        return parse_quoted(p, to);
    if (c == '.') {
        p->at++;
        return parse_field(p, to);
    }
    if (c == '+' || c == '-' || is_digit(c))
        return parse_number(p, to);
    if (is_letter(c))
        return parse_word(p, to, part);
    return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: unrecognized character '%c' at position %zu",
                        c >= 0x20 && c < 0x7f ? c : '?', (size_t)(p->at - p->begin) + 1);
}

/* Parses steps up to and including a closing brace; a piece may end without one. */
static ki_status parse_action(parser *p, ki_steps *to, ki_part *part) {
    const char *begin = p->at;
    while (p->at < p->end) {
        if (*p->at == '}') {
            p->at++;
            return KI_OK;
        }
        ki_status status = parse_step(p, to, part);
        if (status)
            return status;
    }
    return p->depth > 0 ? KI_OK : bad(p, begin, "unclosed action");
}

/* Links ranges to their ends. */
static ki_status match_ranges(parser *p) {
    ki_part *open[KI_JSONPATH_MAX_DEPTH];
    size_t depth = 0;
    for (ki_part *part = p->path->first; part; part = part->next) {
        if (part->is_range) {
            if (depth == KI_JSONPATH_MAX_DEPTH)
                return ki_error_set(p->err, KI_ERR_LIMIT, "JSONPath: more than %d nested ranges",
                                    KI_JSONPATH_MAX_DEPTH);
            open[depth++] = part;
        } else if (part->is_end) {
            if (depth == 0)
                return ki_error_set(p->err, KI_ERR_PARSE, "JSONPath: not in range, nothing to end");
            open[--depth]->end = part;
        }
    }
    return KI_OK;
}

ki_status ki_jsonpath_parse(ki_jsonpath *path, ki_str text, ki_error *err) {
    parser p = { .path = path, .err = err };
    char *copy = make_text(&p, text);
    if (!copy)
        return KI_ERR_NO_MEMORY;
    p.begin = p.at = copy;
    p.end = copy + text.size;
    for (ki_part **next = &path->first; p.at < p.end; next = &(*next)->next) {
        ki_part *part = make(&p, sizeof *part);
        if (!part)
            return KI_ERR_NO_MEMORY;
        *next = part;
        const char *brace = memchr(p.at, '{', (size_t)(p.end - p.at));
        if (brace == p.at) {
            p.at++;
            ki_status status = parse_action(&p, &part->steps, part);
            if (status)
                return status;
            continue;
        }
        ki_step *step = add_step(&p, &part->steps, KI_STEP_TEXT);
        if (!step)
            return KI_ERR_NO_MEMORY;
        step->text = between(p.at, brace ? brace : p.end);
        p.at = brace ? brace : p.end;
    }
    return match_ranges(&p);
}
