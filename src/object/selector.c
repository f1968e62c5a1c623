/* selector.c: see selector.h. The parser reads one token ahead, and copies the words that it keeps behind the
 * selector's arrays. */
#include "src/object/selector.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/string_view.h"

typedef enum condition {
    OP_IN,
    OP_NOT_IN,
    OP_EXISTS,
    OP_NOT_EXISTS,
    OP_GREATER,
    OP_LESS
} condition;

typedef struct requirement {
    const char *key;
    condition op;
    size_t first; /* index of its first value */
    size_t count;
    int64_t bound; /* the number of > and < */
} requirement;

struct ki_selector {
    requirement *requirements; /* all arrays are in the selector's block */
    size_t count;
    const char **values;
    size_t value_count;
};

typedef enum token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_NOT,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_GREATER,
    TOKEN_LESS
} token;

typedef struct parser {
    const char *text;
    const char *at; /* after the token */
    token token;    /* the next token */
    ki_str literal;
    ki_selector *selector;
    char *copies; /* where the next word is copied */
    ki_error *err;
} parser;

/* ---- words ---- */

static bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Returns true for letters and digits, and - _ . between them. */
static bool is_label_text(ki_str text) {
    if (text.size == 0 || !is_alphanumeric(text.data[0]) || !is_alphanumeric(text.data[text.size - 1]))
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (!is_alphanumeric(text.data[i]) && !memchr("-_.", text.data[i], 3))
            return false;
    return true;
}

/* Returns true for a DNS subdomain: labels of lower case letters, digits and inner hyphens, separated by dots. */
static bool is_prefix(ki_str text) {
    if (text.size == 0 || text.size > KI_LABEL_PREFIX_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool at_end = i == 0 || i + 1 == text.size || text.data[i - 1] == '.' || text.data[i + 1] == '.';
        bool inner = (c == '-' && !at_end) || (c == '.' && i > 0 && i + 1 < text.size && text.data[i - 1] != '.');
        if (!inner && !(is_alphanumeric(c) && !(c >= 'A' && c <= 'Z')))
            return false;
    }
    return true;
}

static bool is_key(ki_str text) {
    ki_str name;
    ki_str prefix = ki_str_split(text, '/', &name);
    if (!name.data) { /* no slash */
        name = text;
    } else if (!is_prefix(prefix)) {
        return false;
    }
    return name.size <= KI_LABEL_NAME_MAX && is_label_text(name);
}

static bool is_value(ki_str text) {
    return text.size == 0 || (text.size <= KI_LABEL_VALUE_MAX && is_label_text(text));
}

/* Parses an integer with an optional sign. */
static bool to_integer(const char *text, int64_t *ret_number) {
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    uint64_t number = 0;
    if (!ki_str_to_uint64(ki_str_of(text), (uint64_t)INT64_MAX + negative, &number))
        return false;
    *ret_number = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

/* ---- tokens ---- */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static token special(const char *at, size_t *ret_size) {
    *ret_size = 1;
    switch (*at) {
    case ',':
        return TOKEN_COMMA;
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    case '>':
        return TOKEN_GREATER;
    case '<':
        return TOKEN_LESS;
    case '=':
        *ret_size = at[1] == '=' ? 2 : 1;
        return TOKEN_EQUAL;
    case '!':
        *ret_size = at[1] == '=' ? 2 : 1;
        return at[1] == '=' ? TOKEN_NOT_EQUAL : TOKEN_NOT;
    default:
        *ret_size = 0;
        return TOKEN_WORD;
    }
}

static void advance(parser *p) {
    while (is_space(*p->at))
        p->at++;
    size_t size = 0;
    p->token = *p->at ? special(p->at, &size) : TOKEN_END;
    if (p->token == TOKEN_WORD)
        size = strcspn(p->at, " \t\r\n,()<>=!");
    p->literal = (ki_str){ p->at, size };
    p->at += size;
}

static ki_status expected(parser *p, const char *what) {
    size_t place = (size_t)(p->literal.data - p->text);
    if (p->token == TOKEN_END)
        return ki_error_set(p->err, KI_ERR_PARSE, "label selector: expected %s at its end", what);
    return ki_error_set(p->err, KI_ERR_PARSE, "label selector: expected %s at byte %zu, found '%.*s'", what, place,
                        (int)p->literal.size, p->literal.data);
}

/* Copies the next token, a word, and advances. */
static const char *take_word(parser *p) {
    char *copy = p->copies;
    memcpy(copy, p->literal.data, p->literal.size);
    copy[p->literal.size] = '\0';
    p->copies += p->literal.size + 1;
    advance(p);
    return copy;
}

/* ---- requirements ---- */

static ki_status take_value(parser *p, requirement *r) {
    const char *value = "";
    if (p->token == TOKEN_WORD) {
        if (!is_value(p->literal))
            return expected(p, "a label's value");
        value = take_word(p);
    }
    p->selector->values[p->selector->value_count++] = value;
    r->count++;
    return KI_OK;
}

/* Parses "(a, b)". A value may be empty, the list may not. */
static ki_status take_list(parser *p, requirement *r) {
    if (p->token != TOKEN_OPEN)
        return expected(p, "'('");
    advance(p);
    if (p->token == TOKEN_CLOSE)
        return expected(p, "a value");
    for (;;) {
        ki_status status = take_value(p, r);
        if (status)
            return status;
        if (p->token == TOKEN_CLOSE)
            break;
        if (p->token != TOKEN_COMMA)
            return expected(p, "',' or ')'");
        advance(p);
    }
    advance(p);
    return KI_OK;
}

static ki_status take_bound(parser *p, requirement *r) {
    ki_str literal = p->literal;
    ki_status status = take_value(p, r);
    if (!status && !to_integer(p->selector->values[r->first], &r->bound))
        status = ki_error_set(p->err, KI_ERR_PARSE, "label selector: '%.*s' is not an integer", (int)literal.size,
                              literal.data);
    return status;
}

/* Parses the operator and the values after a key. */
static ki_status take_condition(parser *p, requirement *r) {
    static const struct {
        token token;
        condition op;
        const char *word;
        ki_status (*take)(parser *p, requirement *r);
    } conditions[] = {
        { TOKEN_EQUAL, OP_IN, NULL, take_value },        { TOKEN_NOT_EQUAL, OP_NOT_IN, NULL, take_value },
        { TOKEN_WORD, OP_IN, "in", take_list },          { TOKEN_WORD, OP_NOT_IN, "notin", take_list },
        { TOKEN_GREATER, OP_GREATER, NULL, take_bound }, { TOKEN_LESS, OP_LESS, NULL, take_bound },
    };
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (p->token != conditions[i].token)
            continue;
        if (conditions[i].word && !ki_str_equals(p->literal, conditions[i].word))
            continue;
        r->op = conditions[i].op;
        advance(p);
        return conditions[i].take(p, r);
    }
    return expected(p, "an operator or ','");
}

static ki_status take_requirement(parser *p) {
    requirement *r = &p->selector->requirements[p->selector->count++];
    *r = (requirement){ .op = OP_EXISTS, .first = p->selector->value_count };
    if (p->token == TOKEN_NOT) {
        r->op = OP_NOT_EXISTS;
        advance(p);
    }
    if (p->token != TOKEN_WORD || !is_key(p->literal))
        return expected(p, "a label's name");
    r->key = take_word(p);
    if (p->token == TOKEN_END || p->token == TOKEN_COMMA)
        return KI_OK;
    return r->op == OP_NOT_EXISTS ? expected(p, "','") : take_condition(p, r);
}

static ki_status parse(parser *p) {
    advance(p);
    if (p->token == TOKEN_END)
        return KI_OK;
    for (;;) {
        ki_status status = take_requirement(p);
        if (status)
            return status;
        if (p->token == TOKEN_END)
            return KI_OK;
        if (p->token != TOKEN_COMMA)
            return expected(p, "','");
        advance(p);
    }
}

ki_status ki_selector_parse(const ki_allocator *allocator, const char *text, ki_selector **ret_selector,
                            ki_error *err) {
    if (!text)
        text = "";
    size_t size = strlen(text);
    if (size > KI_SELECTOR_MAX_LENGTH)
        return ki_error_set(err, KI_ERR_LIMIT, "a label selector of more than %d bytes", KI_SELECTOR_MAX_LENGTH);
    /* Commas separate requirements and values, so the number of commas bounds both. */
    size_t most = 1;
    for (size_t i = 0; i < size; i++)
        most += text[i] == ',';
    ki_selector *selector = ki_alloc_zero(allocator, sizeof *selector + most * sizeof(requirement) +
                                                         most * sizeof(const char *) + size + 1);
    if (!selector)
        return ki_error_no_memory(err, "parsing a label selector");
    selector->requirements = (requirement *)(selector + 1);
    selector->values = (const char **)(selector->requirements + most);
    parser p = {
        .text = text, .at = text, .selector = selector, .copies = (char *)(selector->values + most), .err = err
    };
    ki_status status = parse(&p);
    if (status)
        ki_free(allocator, selector);
    else
        *ret_selector = selector;
    return status;
}

void ki_selector_free(const ki_allocator *allocator, ki_selector *selector) {
    ki_free(allocator, selector);
}

/* ---- matching ---- */

static bool has_value(const ki_selector *selector, const requirement *r, const char *value) {
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(selector->values[r->first + i], value) == 0)
            return true;
    return false;
}

/* Returns true if the requirement holds for a label's value; NULL: the object has no such label. */
static bool holds(const ki_selector *selector, const requirement *r, const char *value) {
    int64_t number = 0;
    switch (r->op) {
    case OP_IN:
        return value && has_value(selector, r, value);
    case OP_NOT_IN:
        return !value || !has_value(selector, r, value);
    case OP_EXISTS:
        return value != NULL;
    case OP_NOT_EXISTS:
        return value == NULL;
    case OP_GREATER:
        return value && to_integer(value, &number) && number > r->bound;
    case OP_LESS:
        return value && to_integer(value, &number) && number < r->bound;
    }
    return false;
}

bool ki_selector_matches_labels(const ki_selector *selector,
                                const char *(*label)(const char *name, const void *context), const void *context) {
    for (size_t i = 0; i < selector->count; i++)
        if (!holds(selector, &selector->requirements[i], label(selector->requirements[i].key, context)))
            return false;
    return true;
}

static const char *object_label(const char *name, const void *context) {
    return ki_object_label(context, name);
}

bool ki_selector_matches(const ki_selector *selector, const ki_object *obj) {
    return ki_selector_matches_labels(selector, object_label, obj);
}
