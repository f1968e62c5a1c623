/* filter.c: see filter.h. */
#include "filter.h"

#include "cell_value.h"
#include "cli/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- parsing ---- */

static bool fail(char message[FILTER_MESSAGE_MAX], const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
static bool fail(char message[FILTER_MESSAGE_MAX], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, FILTER_MESSAGE_MAX, format, args);
    va_end(args);
    return false;
}

/* Removes the blanks around a word. */
static char *strip(char *word) {
    word += strspn(word, " ");
    for (size_t size = strlen(word); size && word[size - 1] == ' '; size--)
        word[size - 1] = '\0';
    return word;
}

static bool add_only(filter *f, char *word, char message[FILTER_MESSAGE_MAX]) {
    if (!*word)
        return fail(message, "--only has an empty name; write columns or fields: --only ready,status,image");
    if (f->only_count == FILTER_MAX)
        return fail(message, "--only: at most %d names", FILTER_MAX);
    f->only[f->only_count++] = *word == '.' ? word + 1 : word;
    return true;
}

/* ---- conditions ---- */

static const struct {
    const char *sign;
    filter_operator is;
} operators[] = { { "!=", FILTER_IS_NOT },    { ">=", FILTER_IS_AT_LEAST }, { "<=", FILTER_IS_AT_MOST },
                  { "==", FILTER_IS },        { "=", FILTER_IS },           { "~", FILTER_CONTAINS },
                  { ">", FILTER_IS_GREATER }, { "<", FILTER_IS_LESS } };

/* Returns the index in `operators` of the sign at `text`; their number if there is none. */
static size_t operator_at(const char *text) {
    const size_t count = sizeof operators / sizeof operators[0];
    size_t i = 0;
    while (i < count && strncmp(text, operators[i].sign, strlen(operators[i].sign)) != 0)
        i++;
    return i;
}

const char *filter_find_operator(const char *text) {
    while (*text && operator_at(text) == sizeof operators / sizeof operators[0])
        text++;
    return *text ? text : NULL;
}

static bool needs_number(filter_operator is) {
    return is >= FILTER_IS_LESS;
}

bool filter_add_condition(filter *f, char *word, char message[FILTER_MESSAGE_MAX]) {
    const char *found = filter_find_operator(word);
    if (!found)
        return fail(message, "\"%.200s\" has no operator (= != ~ < > <= >=); write status!=Running", word);
    if (f->where_count == FILTER_MAX)
        return fail(message, "at most %d conditions", FILTER_MAX);
    size_t index = operator_at(found);
    const char *sign = operators[index].sign;
    char *at = word + (found - word);
    filter_condition c = { .is = operators[index].is, .value = strip(at + strlen(sign)) };
    *at = '\0';
    c.name = strip(word);
    if (!*c.name)
        return fail(message, "a condition has no name; write status!=Running");
    if (needs_number(c.is) && !*c.value)
        return fail(message, "%.60s%s: a value is missing", c.name, sign);
    if (needs_number(c.is) && value_of(c.value, false).kind >= VALUE_TEXT)
        return fail(message, "%.60s%s%.60s: \"%.60s\" is no number, quantity or age", c.name, sign, c.value, c.value);
    f->where[f->where_count++] = c;
    return true;
}

static bool add_where(filter *f, char *word, char message[FILTER_MESSAGE_MAX]) {
    char text[FILTER_MESSAGE_MAX];
    return filter_add_condition(f, word, text) || fail(message, "--where: %.480s", text);
}

/* ---- both flags ---- */

static bool parse(filter *f, char *text, bool (*add)(filter *f, char *word, char *message), char *message) {
    char *rest = text, *word;
    while ((word = strsep(&rest, ","))) {
        if (!add(f, strip(word), message))
            return false;
    }
    return true;
}

bool filter_open(filter *f, const char *only, const char *where, char message[FILTER_MESSAGE_MAX]) {
    *f = (filter){ .text = NULL };
    size_t only_size = only ? strlen(only) + 1 : 0, where_size = where ? strlen(where) + 1 : 0;
    if (!only && !where)
        return true;
    f->text = malloc(only_size + where_size);
    if (!f->text)
        return fail(message, "out of memory");
    if (only)
        memcpy(f->text, only, only_size);
    if (where)
        memcpy(f->text + only_size, where, where_size);
    return (!only || parse(f, f->text, add_only, message)) &&
           (!where || parse(f, f->text + only_size, add_where, message));
}

void filter_close(filter *f) {
    free(f->text);
    *f = (filter){ .text = NULL };
}

/* ---- names ---- */

static bool has_column(const ki_columns *columns, const char *name) {
    return column_named(columns, name) < ki_columns_count(columns);
}

/* Writes the columns' names: "ready, status, node". */
static void write_names(const ki_columns *columns, char text[FILTER_MESSAGE_MAX / 2]) {
    size_t size = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ki_columns_count(columns) && size < FILTER_MESSAGE_MAX / 2 - 64; i++)
        size += (size_t)snprintf(text + size, FILTER_MESSAGE_MAX / 2 - size, "%s%.40s", i ? ", " : "",
                                 ki_columns_at(columns, i)->name);
    make_lower(text);
}

/* Returns the path of a condition that is not about a column; NULL if its name is no path. The namespace is a column of
 * what people see, not of the server's columns. */
static const char *path_of(const char *name) {
    if (strcasecmp(name, "namespace") == 0)
        return "metadata.namespace";
    return strchr(name, '.') ? name : NULL;
}

bool filter_check(const filter *f, const ki_columns *const *columns, size_t count, char message[FILTER_MESSAGE_MAX]) {
    char names[FILTER_MESSAGE_MAX / 2];
    for (size_t i = 0; i < f->where_count; i++) {
        const char *name = f->where[i].name;
        const ki_columns *some = NULL;
        bool is_found = path_of(name);
        for (size_t k = 0; k < count && !is_found; k++) {
            some = columns[k] ? columns[k] : some;
            is_found = columns[k] && has_column(columns[k], name);
        }
        if (is_found)
            continue;
        write_names(some, names);
        return fail(message, "there is no column \"%.60s\", but %s; a field is a path: spec.nodeName", name, names);
    }
    return true;
}

bool filter_has_column(const filter *f, const ki_column *column) {
    for (size_t i = 0; i < f->only_count; i++) {
        if (column_has_name(column, f->only[i]))
            return true;
    }
    return f->only_count == 0;
}

/* Returns true if the name is in the path as a whole part: between dots, brackets, slashes or quotes. */
static bool is_part(const char *path, const char *name) {
    size_t size = strlen(name);
    for (const char *at = path; (at = strcasestr(at, name)); at++) {
        bool begins = at == path || strchr(".[/'", at[-1]), ends = !at[size] || strchr(".[]'", at[size]);
        if (begins && ends)
            return true;
    }
    return false;
}

bool filter_has_path(const filter *f, const ki_columns *columns, const char *path) {
    for (size_t i = 0; i < f->only_count; i++) {
        if (!has_column(columns, f->only[i]) && is_part(path, f->only[i]))
            return true;
    }
    return f->only_count == 0;
}

/* ---- values ---- */

/* Compares with the text of a cell, or with its first number if the other is no fraction. */
static int order_of(const cell_value *left, const cell_value *right) {
    cell_value part = { .kind = VALUE_NUMBER };
    if (left->kind != VALUE_FRACTION || right->kind != VALUE_NUMBER)
        return value_compare(left, right);
    part.number = value_part(left);
    return value_compare(&part, right);
}

static bool has_order(filter_operator is, int order) {
    switch (is) {
    case FILTER_IS_LESS:
        return order < 0;
    case FILTER_IS_AT_MOST:
        return order <= 0;
    case FILTER_IS_GREATER:
        return order > 0;
    case FILTER_IS_AT_LEAST:
        return order >= 0;
    default:
        return order == 0;
    }
}

/* Compares by value. `left` is of a column with durations if `is_duration`. */
static bool compares(const filter_condition *c, cell_value left, bool is_duration) {
    cell_value right = value_of(c->value, is_duration || left.kind == VALUE_DURATION);
    if (right.kind == VALUE_DURATION && left.kind == VALUE_NUMBER) /* "5m" beside "10s" */
        left = value_of(left.text, true);
    bool is_part = left.kind == VALUE_FRACTION && right.kind == VALUE_NUMBER && needs_number(c->is);
    if (left.kind >= VALUE_TEXT || (left.kind != right.kind && !is_part))
        return false;
    return has_order(c->is, order_of(&left, &right));
}

static bool is_word_of_truth(const char *text) {
    return strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0;
}

/* Returns true if "true" or "false" says of "1/2" whether all are ready. */
static bool is_truth(const char *cell, const char *text) {
    cell_value v = value_of(cell, false);
    bool is_true = strcasecmp(text, "true") == 0;
    if (v.kind != VALUE_FRACTION || !is_word_of_truth(text))
        return false;
    return is_true == (v.number >= 1 || value_part(&v) == strtod(strchr(cell, '/') + 1, NULL));
}

/* Returns true if a text fulfils a condition. */
static bool holds(const filter_condition *c, const char *text, cell_value v, bool is_duration) {
    if (c->is == FILTER_CONTAINS)
        return strcasestr(text, c->value);
    if (needs_number(c->is))
        return compares(c, v, is_duration);
    size_t size = row_size_without_age(text);
    bool is = strcasecmp(text, c->value) == 0 || is_truth(text, c->value) ||
              (size == strlen(c->value) && strncasecmp(text, c->value, size) == 0) ||
              (v.kind == VALUE_NUMBER && compares(c, v, false));
    return is != (c->is == FILTER_IS_NOT);
}

/* Writes "2/3" for the cell Ready of a resource whose column Desired has the 3, as daemon sets have. Returns false for
 * other cells. */
static bool write_part(const ki_columns *columns, const row *cells, size_t index, char text[64]) {
    const char *desired = row_cell(cells, column_named(columns, "Desired"));
    if (!*desired || index != column_named(columns, "Ready") || strchr(row_cell(cells, index), '/'))
        return false;
    snprintf(text, 64, "%.30s/%.30s", row_cell(cells, index), desired);
    return true;
}

static bool holds_for_cell(const filter_condition *c, const filter_subject *s, size_t index) {
    const ki_column *column = ki_columns_at(s->columns, index);
    const char *cell = row_cell(s->cells, index);
    bool is_duration = column && column_has_durations(column);
    char part[64];
    if (is_word_of_truth(c->value) && write_part(s->columns, s->cells, index, part))
        cell = part;
    cell_value v = value_of(cell, is_duration);
    if (column && v.kind == VALUE_DURATION && column_is_age(column))
        v.number += (double)s->elapsed_ms / 1000;
    if (column && s->age_ms >= 0 && strcmp(column->name, "Age") == 0)
        v = (cell_value){ .kind = VALUE_DURATION, .number = (double)s->age_ms / 1000, .text = cell };
    return holds(c, cell, v, is_duration);
}

static ki_status holds_for_field(const filter_condition *c, const char *path, const ki_object *obj, bool *ret_holds,
                                 ki_error *err) {
    ki_value field = KI_VALUE_INIT;
    char number[32];
    const char *text = number;
    ki_status status = ki_object_field(obj, path, &field, err);
    if (status == KI_ERR_NO_MEMORY)
        return status;
    number[0] = '\0'; /* no such field */
    if (!status && field.type == KI_VALUE_INT)
        snprintf(number, sizeof number, "%lld", (long long)field.integer);
    else if (!status && field.type == KI_VALUE_DOUBLE)
        snprintf(number, sizeof number, "%g", field.number);
    else if (!status && field.type == KI_VALUE_BOOL)
        text = field.boolean ? "true" : "false";
    else if (!status && field.type != KI_VALUE_NULL)
        text = field.text;
    *ret_holds = holds(c, text, value_of(text, false), false);
    ki_value_clear(&field);
    return KI_OK;
}

ki_status filter_matches(const filter *f, const filter_subject *s, bool *ret_passes, ki_error *err) {
    bool passes = true;
    for (size_t i = 0; i < f->where_count && passes; i++) {
        const filter_condition *c = &f->where[i];
        const char *path = path_of(c->name);
        size_t column = column_named(s->columns, c->name);
        ki_status status = KI_OK;
        if (column < ki_columns_count(s->columns) || !path)
            passes = holds_for_cell(c, s, column);
        else
            status = holds_for_field(c, path, s->obj, &passes, err);
        if (status)
            return status;
    }
    *ret_passes = passes;
    return KI_OK;
}

ki_status filter_passes(const filter *f, const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                        bool *ret_passes, ki_error *err) {
    row cells = { .text = NULL };
    const filter_subject subject = { .columns = columns, .cells = &cells, .obj = obj, .age_ms = -1 };
    ki_status status = f->where_count ? row_read(&cells, columns, obj, now_ms, err) : KI_OK;
    if (!status)
        status = filter_matches(f, &subject, ret_passes, err);
    row_clear(&cells);
    return status;
}
