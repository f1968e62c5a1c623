/* requirements.c: see requirements.h. The parser reads one token ahead. A selector's keys and values are parts of its
 * own copy of the text. */
#include "src/object/requirements.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/label.h"

#define BINARY_OPERATORS "in, notin, =, ==, !=, gt, lt"

typedef enum condition {
    OP_IN,
    OP_NOT_IN,
    OP_EXISTS,
    OP_NOT_EXISTS,
    OP_GREATER,
    OP_LESS
} condition;

typedef struct requirement {
    ki_str key;
    condition op;
    size_t first; /* index of its first value */
    size_t count;
    int64_t bound; /* the number of > and < */
} requirement;

struct ki_requirements {
    requirement *requirements; /* all arrays are in the selector's block */
    size_t count;
    ki_str *values;
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
    ki_str rest;    /* after the token; a part of the selector's own copy of the text */
    token token;    /* the next token */
    ki_str literal; /* its text */
    ki_requirements *selector;
    ki_error *err;
} parser;

/* Parses an integer with an optional sign. */
static bool to_integer(ki_str text, int64_t *ret_number) {
    bool negative = text.size && text.data[0] == '-';
    if (text.size && (text.data[0] == '-' || text.data[0] == '+'))
        text = (ki_str){ text.data + 1, text.size - 1 };
    uint64_t number = 0;
    if (!ki_str_to_uint64(text, (uint64_t)INT64_MAX + negative, &number))
        return false;
    *ret_number = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

/* ---- label selectors: tokens ---- */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static ki_str skip(ki_str text, size_t size) {
    return (ki_str){ text.data + size, text.size - size };
}

/* Returns the token at the beginning of a text that is not empty, and its size. */
static token first_token(ki_str text, size_t *ret_size) {
    static const struct {
        const char *text; /* the longer of two that begin alike comes first */
        token token;
    } symbols[] = {
        { "==", TOKEN_EQUAL }, { "=", TOKEN_EQUAL },   { "!=", TOKEN_NOT_EQUAL },
        { "!", TOKEN_NOT },    { ",", TOKEN_COMMA },   { "(", TOKEN_OPEN },
        { ")", TOKEN_CLOSE },  { ">", TOKEN_GREATER }, { "<", TOKEN_LESS },
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *ret_size = strlen(symbols[i].text);
        if (ki_str_starts_with(text, ki_str_of(symbols[i].text)))
            return symbols[i].token;
    }
    size_t size = 0;
    while (size < text.size && !is_space(text.data[size]) && !memchr(",()<>=!", text.data[size], 7))
        size++;
    *ret_size = size;
    return TOKEN_WORD;
}

static void advance(parser *p) {
    while (p->rest.size && is_space(p->rest.data[0]))
        p->rest = skip(p->rest, 1);
    size_t size = 0;
    p->token = p->rest.size ? first_token(p->rest, &size) : TOKEN_END;
    p->literal = (ki_str){ p->rest.data, size };
    p->rest = skip(p->rest, size);
}

/* Text of the input in a message; a long one is cut. */
static int shown(ki_str text) {
    return (int)(text.size < 100 ? text.size : 100);
}

/* Fails with `before`, what is found and what is expected. */
static ki_status fail_found(const parser *p, const char *before, const char *expected) {
    return ki_error_set(p->err, KI_ERR_PARSE, "%sfound '%.*s', expected: %s", before, shown(p->literal),
                        p->literal.data, expected);
}

#define REQUIREMENT "unable to parse requirement: "

/* ---- label selectors: requirements ---- */

/* Takes a value, which may be empty. */
static ki_status take_value(parser *p, requirement *r) {
    ki_str value = { p->literal.data, 0 };
    if (p->token == TOKEN_WORD) {
        value = p->literal;
        const char *why = ki_label_check_value(value);
        if (why)
            return ki_error_set(p->err, KI_ERR_PARSE, REQUIREMENT "values[%zu][%.*s]: Invalid value: \"%.*s\": %s",
                                r->count, shown(r->key), r->key.data, shown(value), value.data, why);
        advance(p);
    }
    p->selector->values[p->selector->value_count++] = value;
    r->count++;
    return KI_OK;
}

static ki_status take_exact_value(parser *p, requirement *r) {
    if (p->token != TOKEN_WORD && p->token != TOKEN_COMMA && p->token != TOKEN_END)
        return fail_found(p, REQUIREMENT, "identifier");
    return take_value(p, r);
}

/* Takes "(a, b)"; "()" has one empty value. */
static ki_status take_list(parser *p, requirement *r) {
    if (p->token != TOKEN_OPEN)
        return ki_error_set(p->err, KI_ERR_PARSE, REQUIREMENT "found '%.*s' expected: '('", shown(p->literal),
                            p->literal.data); /* as the API server says it, without a comma */
    advance(p);
    for (;;) {
        bool has_word = p->token == TOKEN_WORD;
        if (!has_word && p->token != TOKEN_COMMA && p->token != TOKEN_CLOSE)
            return fail_found(p, REQUIREMENT, "',', ')' or identifier");
        ki_status status = take_value(p, r);
        if (status)
            return status;
        if (p->token == TOKEN_CLOSE)
            break;
        if (p->token != TOKEN_COMMA)
            return fail_found(p, REQUIREMENT, "',' or ')'");
        advance(p);
    }
    advance(p);
    return KI_OK;
}

static ki_status take_bound(parser *p, requirement *r) {
    ki_str literal = p->literal;
    if (p->token == TOKEN_WORD && !to_integer(literal, &r->bound))
        return ki_error_set(p->err, KI_ERR_PARSE,
                            REQUIREMENT "values[0]: Invalid value: \"%.*s\": for 'Gt', 'Lt' operators, the value must "
                                        "be an integer",
                            shown(literal), literal.data);
    return p->token == TOKEN_WORD ? take_value(p, r) : fail_found(p, REQUIREMENT, "identifier");
}

/* Parses the operator and the values after a key. */
static ki_status take_condition(parser *p, requirement *r) {
    static const struct {
        token token;
        condition op;
        const char *word;
        ki_status (*take)(parser *p, requirement *r);
    } conditions[] = {
        { TOKEN_EQUAL, OP_IN, NULL, take_exact_value },  { TOKEN_NOT_EQUAL, OP_NOT_IN, NULL, take_exact_value },
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
    return fail_found(p, REQUIREMENT, BINARY_OPERATORS);
}

/* Begins the next requirement of a selector: its array has room for it. */
static requirement *add_requirement(ki_requirements *selector, condition op) {
    requirement *r = &selector->requirements[selector->count++];
    *r = (requirement){ .op = op, .first = selector->value_count };
    return r;
}

static ki_status take_requirement(parser *p) {
    requirement *r = add_requirement(p->selector, OP_EXISTS);
    if (p->token == TOKEN_NOT) {
        r->op = OP_NOT_EXISTS;
        advance(p);
    }
    if (p->token != TOKEN_WORD)
        return fail_found(p, REQUIREMENT, "identifier");
    r->key = p->literal;
    const char *why = ki_label_check_key(r->key);
    if (why)
        return ki_error_set(p->err, KI_ERR_PARSE, REQUIREMENT "<nil>: Invalid value: \"%.*s\": %s", shown(r->key),
                            r->key.data, why);
    advance(p);
    bool is_alone = r->op == OP_NOT_EXISTS || p->token == TOKEN_END || p->token == TOKEN_COMMA;
    return is_alone ? KI_OK : take_condition(p, r);
}

static ki_status parse_labels(ki_requirements *selector, ki_str text, ki_error *err) {
    parser p = { .rest = text, .selector = selector, .err = err };
    advance(&p);
    if (p.token == TOKEN_END)
        return KI_OK;
    if (p.token != TOKEN_WORD && p.token != TOKEN_NOT)
        return fail_found(&p, "", "!, identifier, or 'end of string'");
    for (;;) {
        ki_status status = take_requirement(&p);
        if (status)
            return status;
        if (p.token == TOKEN_END)
            return KI_OK;
        if (p.token != TOKEN_COMMA)
            return fail_found(&p, "", "',' or 'end of string'");
        advance(&p);
        if (p.token != TOKEN_WORD && p.token != TOKEN_NOT)
            return fail_found(&p, "", "identifier after ','");
    }
}

/* ---- field selectors ---- */

/* Returns the text up to the next comma without a backslash before it. */
static ki_str next_term(ki_str *rest) {
    size_t size = 0;
    while (size < rest->size && rest->data[size] != ',')
        size += rest->data[size] == '\\' && size + 1 < rest->size ? 2 : 1;
    ki_str term = { rest->data, size };
    *rest = skip(*rest, size < rest->size ? size + 1 : size);
    return term;
}

/* Copies a value without its backslashes to `ret_text`, which has room for it, as fields.UnescapeValue. */
static ki_status unescape(ki_str value, char *ret_text, size_t *ret_size, ki_error *err) {
    size_t size = 0;
    for (size_t i = 0; i < value.size; i++) {
        bool is_escaped = value.data[i] == '\\';
        i += is_escaped;
        bool is_special = i < value.size && memchr("\\,=", value.data[i], 3);
        if (is_escaped && !is_special)
            return ki_error_set(err, KI_ERR_PARSE, "invalid field selector: invalid escape sequence: %.*s",
                                i < value.size ? 2 : 1, value.data + i - 1);
        if (is_special && !is_escaped)
            return ki_error_set(err, KI_ERR_PARSE, "invalid field selector: unescaped character in value: %c",
                                value.data[i]);
        ret_text[size++] = value.data[i];
    }
    *ret_size = size;
    return KI_OK;
}

/* `copy` is the selector's own copy of the text. Values are unescaped in place. */
static ki_status parse_fields(ki_requirements *selector, ki_str text, char *copy, ki_error *err) {
    ki_str rest = text;
    while (rest.size) {
        ki_str term = next_term(&rest);
        if (!term.size)
            continue;
        size_t at = 0;
        while (at < term.size && term.data[at] != '=' && term.data[at] != '!')
            at++;
        bool is_negated = at < term.size && term.data[at] == '!';
        ki_str key = { term.data, at };
        at += is_negated;
        if (!key.size || at >= term.size || term.data[at] != '=')
            return ki_error_set(err, KI_ERR_PARSE, "invalid selector: '%.*s'; can't understand '%.*s'", shown(text),
                                text.data, shown(term), term.data);
        at += !is_negated && at + 1 < term.size && term.data[at + 1] == '=' ? 2 : 1;
        requirement *r = add_requirement(selector, is_negated ? OP_NOT_IN : OP_IN);
        ki_str *value = &selector->values[selector->value_count++];
        *value = skip(term, at);
        r->key = key;
        r->count = 1;
        ki_status status = unescape(*value, copy + (value->data - text.data), &value->size, err);
        if (status)
            return status;
    }
    return KI_OK;
}

/* ---- both ---- */

static ki_status parse(const ki_allocator *allocator, ki_str text, bool is_fields, ki_requirements **ret_selector,
                       ki_error *err) {
    if (text.size > KI_SELECTOR_MAX_LENGTH)
        return ki_error_set(err, KI_ERR_LIMIT, "a selector of more than %d bytes", KI_SELECTOR_MAX_LENGTH);
    /* Commas separate requirements and values, so the number of commas bounds both. */
    size_t most = 1;
    for (size_t i = 0; i < text.size; i++)
        most += text.data[i] == ',';
    ki_requirements *selector =
        ki_alloc_zero(allocator, sizeof *selector + most * (sizeof(requirement) + sizeof(ki_str)) + text.size + 1);
    if (!selector)
        return ki_error_no_memory(err, "parsing a selector");
    selector->requirements = (requirement *)(selector + 1);
    selector->values = (ki_str *)(selector->requirements + most);
    char *copy = (char *)(selector->values + most);
    if (text.size)
        memcpy(copy, text.data, text.size);
    text.data = copy;
    ki_status status = is_fields ? parse_fields(selector, text, copy, err) : parse_labels(selector, text, err);
    if (status)
        ki_free(allocator, selector);
    else
        *ret_selector = selector;
    return status;
}

ki_status ki_requirements_parse_labels(const ki_allocator *allocator, ki_str text, ki_requirements **ret_selector,
                                       ki_error *err) {
    return parse(allocator, text, false, ret_selector, err);
}

ki_status ki_requirements_parse_fields(const ki_allocator *allocator, ki_str text, ki_requirements **ret_selector,
                                       ki_error *err) {
    return parse(allocator, text, true, ret_selector, err);
}

void ki_requirements_free(const ki_allocator *allocator, ki_requirements *selector) {
    ki_free(allocator, selector);
}

ki_str ki_requirements_key(const ki_requirements *selector, size_t index) {
    return index < selector->count ? selector->requirements[index].key : (ki_str){ NULL, 0 };
}

/* ---- matching ---- */

static bool has_value(const ki_requirements *selector, const requirement *r, ki_str value) {
    for (size_t i = 0; i < r->count; i++)
        if (ki_str_equal(selector->values[r->first + i], value))
            return true;
    return false;
}

/* Returns true if the requirement holds for a value; data is NULL: the object has none. */
static bool holds(const ki_requirements *selector, const requirement *r, ki_str value) {
    int64_t number = 0;
    switch (r->op) {
    case OP_IN:
        return value.data && has_value(selector, r, value);
    case OP_NOT_IN:
        return !value.data || !has_value(selector, r, value);
    case OP_EXISTS:
        return value.data != NULL;
    case OP_NOT_EXISTS:
        return value.data == NULL;
    case OP_GREATER:
        return value.data && to_integer(value, &number) && number > r->bound;
    case OP_LESS:
        return value.data && to_integer(value, &number) && number < r->bound;
    }
    return false;
}

bool ki_requirements_match_values(const ki_requirements *selector, ki_str (*value)(ki_str key, const void *context),
                                  const void *context) {
    for (size_t i = 0; i < selector->count; i++)
        if (!holds(selector, &selector->requirements[i], value(selector->requirements[i].key, context)))
            return false;
    return true;
}

static ki_str object_label(ki_str key, const void *context) {
    const char *name, *value;
    for (size_t i = 0; ki_object_label_at(context, i, &name, &value); i++)
        if (strncmp(name, key.data, key.size) == 0 && name[key.size] == '\0')
            return ki_str_of(value);
    return (ki_str){ NULL, 0 };
}

bool ki_requirements_match(const ki_requirements *selector, const ki_object *obj) {
    return ki_requirements_match_values(selector, object_label, obj);
}

bool ki_requirements_field(const ki_requirements *selector, size_t index, ki_str *ret_key, ki_str *ret_value,
                           bool *ret_is_negated) {
    if (index >= selector->count)
        return false;
    const requirement *r = &selector->requirements[index];
    *ret_key = r->key;
    *ret_value = selector->values[r->first];
    *ret_is_negated = r->op == OP_NOT_IN;
    return true;
}
