/* go_template_parse.c: parses a Go template into nodes. A variable has a place that is known here: the places of a
 * block are free again after it. */
#include "print/go_template.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <errno.h>
#include <stdlib.h>

typedef struct parser {
    ki_go_template *template;
    const char *begin;
    const char *at;
    const char *end;
    ki_str variables[KI_GO_TEMPLATE_MAX_VARIABLES]; /* in scope, with their dollar */
    size_t variable_count;
    int depth;
    bool trims; /* the action before ended with -}} */
    ki_error *err;
} parser;

/* What ended a list of nodes. */
typedef enum stop {
    STOP_TEXT,
    STOP_END,
    STOP_ELSE
} stop;

static ki_status parse_nodes(parser *p, ki_go_node **ret_first, stop *ret_stop);
static ki_status parse_pipe(parser *p, ki_go_pipe **ret_pipe);
static ki_status parse_control(parser *p, ki_go_node *node);

static size_t position(const parser *p, const char *at) {
    return (size_t)(at - p->begin) + 1;
}

static ki_status bad(const parser *p, const char *at, const char *why) {
    return ki_error_set(p->err, KI_ERR_PARSE, "go-template: %s at position %zu", why, position(p, at));
}

static ki_status not_supported(const parser *p, ki_str word) {
    return ki_error_set(
        p->err, KI_ERR_PARSE,
        "go-template: \"%.*s\" is not supported; what is: if, else, range, with, end, and, or, not, eq, "
        "ne, lt, le, gt, ge, len, index, print, printf, println, base64decode",
        (int)word.size, word.data);
}

static void *make(parser *p, size_t size) {
    ki_block *block = ki_alloc_zero(&p->template->allocator, sizeof *block + size);
    if (!block) {
        (void)ki_error_no_memory(p->err, "parsing a go-template");
        return NULL;
    }
    block->next = p->template->blocks;
    p->template->blocks = block;
    return block->data;
}

/* ---- characters ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool starts_with(const parser *p, const char *text) {
    size_t size = strlen(text);
    return (size_t)(p->end - p->at) >= size && memcmp(p->at, text, size) == 0;
}

static void skip_blanks(parser *p) {
    while (p->at < p->end && is_blank(*p->at))
        p->at++;
}

/* Returns true at the end of an action: }} or, after a blank, -}}. */
static bool is_at_close(const parser *p) {
    return starts_with(p, "}}") || (starts_with(p, "-}}") && p->at > p->begin && is_blank(p->at[-1]));
}

static ki_status take_close(parser *p) {
    skip_blanks(p);
    if (!is_at_close(p))
        return bad(p, p->at, p->at == p->end ? "unclosed action" : "unexpected text in an action");
    p->trims = *p->at == '-';
    p->at += p->trims ? 3 : 2;
    return KI_OK;
}

static ki_str take_name(parser *p) {
    const char *begin = p->at;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    return (ki_str){ begin, (size_t)(p->at - begin) };
}

/* Returns the word that comes next, without taking it. */
static ki_str next_word(const parser *p) {
    const char *end = p->at;
    while (end < p->end && (is_letter(*end) || is_digit(*end)))
        end++;
    return (ki_str){ p->at, (size_t)(end - p->at) };
}

/* ---- strings and numbers ---- */

static size_t put_utf8(char *out, unsigned long code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
    out[0] = (char)(first[more] | (code >> (6 * more)));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | ((code >> (6 * (more - i))) & 0x3f));
    return more + 1;
}

/* Reads `digits` digits of a base. Returns false if there are fewer. */
static bool read_code(parser *p, int digits, int base, unsigned long *ret_code) {
    char text[9] = "", *end = NULL;
    if (p->end - p->at < digits)
        return false;
    memcpy(text, p->at, (size_t)digits);
    *ret_code = strtoul(text, &end, base);
    p->at += digits;
    return end == text + digits && is_letter(text[0]) + is_digit(text[0]) == 1;
}

/* Parses an escape after its backslash. */
static bool parse_escape(parser *p, char **out) {
    static const char names[] = "abfnrtv\\\"'", bytes[] = "\a\b\f\n\r\t\v\\\"'";
    unsigned long code = 0;
    char c = *p->at++;
    const char *name = strchr(names, c);
    if (c && name) {
        *(*out)++ = bytes[name - names];
        return true;
    }
    if (c >= '0' && c <= '7') {
        p->at--;
        if (!read_code(p, 3, 8, &code) || code > 255)
            return false;
        *(*out)++ = (char)code;
        return true;
    }
    if (c == 'x' && read_code(p, 2, 16, &code)) {
        *(*out)++ = (char)code;
        return true;
    }
    if ((c != 'u' && c != 'U') || !read_code(p, c == 'u' ? 4 : 8, 16, &code) || code > 0x10ffff)
        return false;
    *out += put_utf8(*out, code);
    return true;
}

static ki_status parse_string(parser *p, ki_go_operand *operand) {
    const char *begin = p->at, quote = *p->at++;
    const char *close = p->at;
    while (close < p->end && *close != quote)
        close += *close == '\\' && quote == '"' && close + 1 < p->end ? 2 : 1;
    if (close >= p->end)
        return bad(p, begin, "unterminated string");
    char *copy = make(p, (size_t)(close - p->at) + 1), *out = copy;
    if (!copy)
        return KI_ERR_NO_MEMORY;
    while (p->at < close) {
        char c = *p->at++;
        if (c == '\n' && quote == '"')
            return bad(p, begin, "unterminated string");
        if (c != '\\' || quote != '"')
            *out++ = c;
        else if (!parse_escape(p, &out) || p->at > close)
            return bad(p, begin, "an unknown escape in the string");
    }
    p->at = close + 1;
    operand->type = KI_GO_STRING;
    operand->text = (ki_str){ copy, (size_t)(out - copy) };
    return KI_OK;
}

static ki_status parse_number(parser *p, ki_go_operand *operand) {
    char text[64], *end = NULL;
    size_t size = 0;
    const char *begin = p->at;
    while (p->at < p->end && size + 1 < sizeof text &&
           (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.' ||
            ((*p->at == '+' || *p->at == '-') && (p->at == begin || p->at[-1] == 'e' || p->at[-1] == 'E')))) {
        if (*p->at != '_') /* 1_000 */
            text[size++] = *p->at;
        p->at++;
    }
    text[size] = '\0';
    errno = 0;
    operand->integer = strtoll(text, &end, 0);
    operand->type = KI_GO_INT;
    if (!errno && end != text && !*end)
        return KI_OK;
    errno = 0;
    operand->number = strtod(text, &end);
    operand->type = KI_GO_FLOAT;
    return errno || end == text || *end ? bad(p, begin, "a number is not valid") : KI_OK;
}

/* ---- operands ---- */

static ki_status parse_variable(parser *p, ki_go_operand *operand) {
    const char *begin = p->at++;
    ki_str name = take_name(p);
    name = (ki_str){ begin, name.size + 1 };
    operand->type = KI_GO_VARIABLE;
    for (size_t i = p->variable_count; i > 0; i--) {
        if (ki_str_equal(p->variables[i - 1], name)) {
            operand->index = i - 1;
            return KI_OK;
        }
    }
    return ki_error_set(p->err, KI_ERR_PARSE, "go-template: undefined variable \"%.*s\" at position %zu",
                        (int)name.size, name.data, position(p, begin));
}

static ki_status parse_word(parser *p, ki_go_operand *operand, bool is_first) {
    const char *begin = p->at;
    ki_str name = take_name(p);
    int function = ki_go_function_find(name);
    if (ki_str_equals(name, "true") || ki_str_equals(name, "false")) {
        operand->type = KI_GO_BOOL;
        operand->boolean = name.size == 4;
        return KI_OK;
    }
    if (ki_str_equals(name, "nil") && !is_first) {
        operand->type = KI_GO_NIL;
        return KI_OK;
    }
    if (function < 0)
        return not_supported(p, name);
    if (!is_first)
        return bad(p, begin, "a function that is an argument needs parentheses");
    operand->type = KI_GO_FUNCTION;
    operand->index = (size_t)function;
    operand->text = name;
    return KI_OK;
}

static ki_status parse_parentheses(parser *p, ki_go_operand *operand) {
    const char *begin = p->at++;
    if (p->depth == KI_GO_TEMPLATE_MAX_DEPTH)
        return ki_error_set(p->err, KI_ERR_LIMIT, "go-template: nested more than %d times", KI_GO_TEMPLATE_MAX_DEPTH);
    p->depth++;
    operand->type = KI_GO_PIPE;
    ki_status status = parse_pipe(p, &operand->pipe);
    p->depth--;
    if (status)
        return status;
    skip_blanks(p);
    if (p->at == p->end || *p->at != ')')
        return bad(p, begin, "unclosed parenthesis");
    p->at++;
    return operand->pipe->variable_count ? bad(p, begin, "a variable is set in parentheses") : KI_OK;
}

/* Parses ".a.b" right after an operand. */
static ki_status parse_fields(parser *p, ki_go_operand *operand) {
    ki_go_name **next = &operand->fields;
    while (p->end - p->at > 1 && *p->at == '.' && is_letter(p->at[1])) {
        ki_go_name *name = make(p, sizeof *name);
        if (!name)
            return KI_ERR_NO_MEMORY;
        p->at++;
        name->text = take_name(p);
        *next = name;
        next = &name->next;
    }
    return KI_OK;
}

static bool can_have_fields(const ki_go_operand *operand) {
    return operand->type == KI_GO_DOT || operand->type == KI_GO_VARIABLE || operand->type == KI_GO_PIPE;
}

static ki_status parse_operand(parser *p, ki_go_operand *operand, bool is_first) {
    char c = *p->at;
    bool is_signed = (c == '-' || c == '+') && p->end - p->at > 1 && is_digit(p->at[1]);
    ki_status status = KI_OK;
    if (c == '.' && (p->end - p->at < 2 || !is_digit(p->at[1]))) {
        operand->type = KI_GO_DOT;
        p->at += p->end - p->at < 2 || !is_letter(p->at[1]); /* otherwise the dot belongs to the field */
    } else if (c == '$') {
        status = parse_variable(p, operand);
    } else if (c == '(') {
        status = parse_parentheses(p, operand);
    } else if (c == '"' || c == '`') {
        status = parse_string(p, operand);
    } else if (is_digit(c) || is_signed || c == '.') {
        status = parse_number(p, operand);
    } else if (is_letter(c)) {
        status = parse_word(p, operand, is_first);
    } else {
        return bad(p, p->at, "unexpected character");
    }
    if (!status && can_have_fields(operand))
        status = parse_fields(p, operand);
    bool is_end = p->at == p->end || is_blank(*p->at) || *p->at == '|' || *p->at == ')' || *p->at == '}';
    return status || is_end ? status : bad(p, p->at, "unexpected character");
}

/* ---- pipes ---- */

static ki_status parse_command(parser *p, ki_go_command *command, bool is_first) {
    ki_go_operand **next = &command->first;
    const char *begin = p->at;
    for (size_t count = 0;; count++) {
        skip_blanks(p);
        if (p->at == p->end || *p->at == '|' || *p->at == ')' || is_at_close(p))
            break;
        if (count == KI_GO_TEMPLATE_MAX_OPERANDS)
            return ki_error_set(p->err, KI_ERR_LIMIT, "go-template: more than %d arguments",
                                KI_GO_TEMPLATE_MAX_OPERANDS);
        ki_go_operand *operand = make(p, sizeof *operand);
        if (!operand)
            return KI_ERR_NO_MEMORY;
        ki_status status = parse_operand(p, operand, count == 0);
        if (status)
            return status;
        *next = operand;
        next = &operand->next;
    }
    if (!command->first)
        return bad(p, p->at, p->at == p->end ? "unclosed action" : "a value is missing");
    const ki_go_operand *format = command->first->next;
    if (format && format->type == KI_GO_STRING && ki_str_equals(command->first->text, "printf") &&
        ki_go_format_check(format->text, p->err))
        return KI_ERR_PARSE;
    bool is_function = command->first->type == KI_GO_FUNCTION;
    return !is_function && (command->first->next || !is_first) ? bad(p, begin, "what gets arguments is no function")
                                                               : KI_OK;
}

static ki_status declare(parser *p, ki_str name, size_t *ret_index) {
    if (p->variable_count == KI_GO_TEMPLATE_MAX_VARIABLES)
        return ki_error_set(p->err, KI_ERR_LIMIT, "go-template: more than %d variables", KI_GO_TEMPLATE_MAX_VARIABLES);
    p->variables[p->variable_count] = name;
    *ret_index = p->variable_count++;
    return KI_OK;
}

/* Takes "$x :=", "$x =" or "$i, $x :=". Sets no names if the pipe begins with anything else. */
static void take_names(parser *p, ki_str names[2], size_t *ret_count, bool *ret_declares) {
    const char *begin = p->at;
    size_t count = 0;
    while (p->at < p->end && *p->at == '$' && count < 2) {
        const char *name = p->at++;
        names[count++] = (ki_str){ name, take_name(p).size + 1 };
        skip_blanks(p);
        if (count == 2 || p->at == p->end || *p->at != ',')
            break;
        p->at++;
        skip_blanks(p);
    }
    *ret_declares = starts_with(p, ":=");
    *ret_count = count;
    if (count && (*ret_declares || (p->at < p->end && *p->at == '='))) {
        p->at += *ret_declares ? 2 : 1;
        return;
    }
    p->at = begin;
    *ret_count = 0;
}

/* Gives the pipe's variables their places, or finds those that are there already. */
static ki_status set_variables(parser *p, ki_go_pipe *pipe, const ki_str names[2], size_t count, bool declares) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < count && i < 2 && !status; i++) {
        ki_go_operand known = { .type = KI_GO_VARIABLE };
        parser at_name = *p;
        at_name.at = names[i].data;
        status = declares ? declare(p, names[i], &pipe->variables[i]) : parse_variable(&at_name, &known);
        if (!declares)
            pipe->variables[i] = known.index;
    }
    pipe->variable_count = count;
    return !status && count == 2 && !declares ? bad(p, names[0].data, "two variables are set") : status;
}

static ki_status parse_pipe(parser *p, ki_go_pipe **ret_pipe) {
    ki_go_pipe *pipe = make(p, sizeof *pipe);
    ki_str names[2] = { { NULL, 0 }, { NULL, 0 } };
    size_t count = 0;
    bool declares = false;
    ki_status status = pipe ? KI_OK : KI_ERR_NO_MEMORY;
    if (status)
        return status;
    *ret_pipe = pipe;
    skip_blanks(p);
    take_names(p, names, &count, &declares);
    for (ki_go_command **next = &pipe->first; !status; next = &(*next)->next) {
        *next = make(p, sizeof **next);
        status = *next ? parse_command(p, *next, next == &pipe->first) : KI_ERR_NO_MEMORY;
        if (status || p->at == p->end || *p->at != '|')
            break;
        p->at++;
    }
    return status ? status : set_variables(p, pipe, names, count, declares);
}

/* ---- nodes ---- */

/* Parses the list after {{else}}, or the block of an if's {{else if}} or a with's {{else with}}, up to their end. */
static ki_status parse_else(parser *p, ki_go_node *node) {
    stop stopped = STOP_TEXT;
    skip_blanks(p);
    ki_str word = next_word(p);
    bool is_same = (node->type == KI_GO_IF && ki_str_equals(word, "if")) ||
                   (node->type == KI_GO_WITH && ki_str_equals(word, "with"));
    if (!is_same) {
        ki_status status = take_close(p);
        if (!status)
            status = parse_nodes(p, &node->otherwise, &stopped);
        if (!status && stopped != STOP_END)
            status = bad(p, p->at, stopped == STOP_ELSE ? "a second else" : "no {{end}}");
        return status;
    }
    p->at += word.size;
    node->otherwise = make(p, sizeof *node);
    if (!node->otherwise)
        return KI_ERR_NO_MEMORY;
    node->otherwise->type = node->type;
    return parse_control(p, node->otherwise);
}

/* Parses what follows the word of an if, with or range, up to its end. */
static ki_status parse_control(parser *p, ki_go_node *node) {
    const char *begin = p->at;
    size_t variables = p->variable_count;
    stop stopped = STOP_TEXT;
    if (p->depth == KI_GO_TEMPLATE_MAX_DEPTH)
        return ki_error_set(p->err, KI_ERR_LIMIT, "go-template: nested more than %d times", KI_GO_TEMPLATE_MAX_DEPTH);
    p->depth++;
    ki_status status = parse_pipe(p, &node->pipe);
    if (!status && node->type != KI_GO_RANGE && node->pipe->variable_count == 2)
        status = bad(p, begin, "only range sets two variables");
    if (!status)
        status = take_close(p);
    size_t with_own = p->variable_count;
    if (!status)
        status = parse_nodes(p, &node->body, &stopped);
    p->variable_count = with_own;
    if (!status && stopped == STOP_ELSE)
        status = parse_else(p, node);
    else if (!status && stopped == STOP_TEXT)
        status = bad(p, begin, "no {{end}} for the block");
    p->variable_count = variables;
    p->depth--;
    return status;
}

static ki_status parse_comment(parser *p) {
    const char *begin = p->at;
    for (p->at += 2; p->at < p->end && !starts_with(p, "*/"); p->at++)
        ;
    if (p->at == p->end)
        return bad(p, begin, "unclosed comment");
    p->at += 2;
    return take_close(p);
}

static bool is_unsupported(ki_str word) {
    static const char *const words[] = { "define", "template", "block", "break", "continue" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (ki_str_equals(word, words[i]))
            return true;
    }
    return false;
}

/* Parses an action after its braces. Sets `*ret_node`, to NULL for a comment, else and end. */
static ki_status parse_action(parser *p, ki_go_node **ret_node, stop *ret_stop) {
    static const struct {
        const char *word;
        ki_go_node_type type;
    } controls[] = { { "if", KI_GO_IF }, { "with", KI_GO_WITH }, { "range", KI_GO_RANGE } };
    *ret_stop = STOP_TEXT;
    *ret_node = NULL;
    if (starts_with(p, "/*"))
        return parse_comment(p);
    skip_blanks(p);
    ki_str word = next_word(p);
    if (is_unsupported(word))
        return not_supported(p, word);
    if (ki_str_equals(word, "end") || ki_str_equals(word, "else")) {
        *ret_stop = word.size == 3 ? STOP_END : STOP_ELSE;
        p->at += word.size;
        return *ret_stop == STOP_END ? take_close(p) : KI_OK;
    }
    ki_go_node *node = *ret_node = make(p, sizeof *node);
    if (!node)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
        if (!ki_str_equals(word, controls[i].word))
            continue;
        p->at += word.size;
        node->type = controls[i].type;
        return parse_control(p, node);
    }
    const char *begin = p->at;
    node->type = KI_GO_PRINT;
    ki_status status = parse_pipe(p, &node->pipe);
    if (!status && node->pipe->variable_count == 2)
        status = bad(p, begin, "only range sets two variables");
    return status ? status : take_close(p);
}

/* Takes the text up to and with the braces of the next action, without the blanks that {{- and -}} trim. */
static ki_str take_text(parser *p, bool *ret_has_action) {
    const char *begin = p->at;
    while (p->trims && begin < p->end && is_blank(*begin))
        begin++;
    for (p->at = begin; p->at < p->end && !starts_with(p, "{{"); p->at++)
        ;
    const char *end = p->at;
    p->trims = false;
    *ret_has_action = p->at < p->end;
    if (p->at == p->end)
        return (ki_str){ begin, (size_t)(end - begin) };
    p->at += 2;
    if (p->end - p->at > 1 && *p->at == '-' && is_blank(p->at[1])) {
        p->at += 2;
        while (end > begin && is_blank(end[-1]))
            end--;
    }
    return (ki_str){ begin, (size_t)(end - begin) };
}

static ki_status parse_nodes(parser *p, ki_go_node **ret_first, stop *ret_stop) {
    ki_go_node **next = ret_first;
    *ret_stop = STOP_TEXT;
    while (p->at < p->end && *ret_stop == STOP_TEXT) {
        bool has_action = false;
        ki_str text = take_text(p, &has_action);
        ki_go_node *node = NULL;
        if (text.size) {
            node = make(p, sizeof *node);
            if (!node)
                return KI_ERR_NO_MEMORY;
            *node = (ki_go_node){ .type = KI_GO_TEXT, .text = text };
            *next = node;
            next = &node->next;
        }
        if (!has_action)
            continue;
        ki_status status = parse_action(p, &node, ret_stop);
        if (status)
            return status;
        *next = node;
        next = node ? &node->next : next;
    }
    return KI_OK;
}

ki_status ki_go_template_parse(ki_go_template *template, ki_str text, ki_error *err) {
    parser p = { .template = template, .err = err };
    stop stopped = STOP_TEXT;
    char *copy = make(&p, text.size + 1);
    if (!copy)
        return KI_ERR_NO_MEMORY;
    if (text.size)
        memcpy(copy, text.data, text.size);
    p.begin = p.at = copy;
    p.end = copy + text.size;
    p.variables[p.variable_count++] = KI_STR("$");
    ki_status status = parse_nodes(&p, &template->first, &stopped);
    if (!status && stopped != STOP_TEXT)
        status = bad(&p, p.at, stopped == STOP_END ? "an {{end}} without a block" : "an {{else}} without a block");
    return status;
}
