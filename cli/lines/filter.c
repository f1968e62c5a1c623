/* filter.c: see filter.h. */
#include "filter.h"

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

/* Parses "status!=Running", "node = n1", "node==n1". */
static bool add_where(filter *f, char *word, char message[FILTER_MESSAGE_MAX]) {
    char *sign = strchr(word, '=');
    bool is_not = sign && sign > word && sign[-1] == '!';
    if (!sign)
        return fail(message, "--where: \"%.200s\" has no = or !=; write --where 'status!=Running'", word);
    if (f->where_count == FILTER_MAX)
        return fail(message, "--where: at most %d conditions", FILTER_MAX);
    char *value = sign + 1 + (!is_not && sign[1] == '=');
    sign[is_not ? -1 : 0] = '\0';
    char *name = strip(word);
    if (!*name)
        return fail(message, "--where: a condition has no name; write --where 'status!=Running'");
    f->where[f->where_count++] = (filter_condition){ .name = name, .value = strip(value), .is_not = is_not };
    return true;
}

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

bool filter_check(const filter *f, ki_columns *const *columns, size_t count, char message[FILTER_MESSAGE_MAX]) {
    char names[FILTER_MESSAGE_MAX / 2];
    for (size_t i = 0; i < f->where_count; i++) {
        const char *name = f->where[i].name;
        const ki_columns *some = NULL;
        bool is_found = strchr(name, '.');
        for (size_t k = 0; k < count && !is_found; k++) {
            some = columns[k] ? columns[k] : some;
            is_found = columns[k] && has_column(columns[k], name);
        }
        if (is_found)
            continue;
        write_names(some, names);
        return fail(message, "--where: there is no column \"%.60s\", but %s; a field is a path: spec.nodeName", name,
                    names);
    }
    return true;
}

bool filter_has_column(const filter *f, const ki_column *column) {
    for (size_t i = 0; i < f->only_count; i++) {
        if (strcasecmp(f->only[i], column->name) == 0)
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

/* Compares without regard to small and capital letters, and to the age in "1 (3s ago)". */
static bool is_cell(const char *cell, const char *value) {
    return strcasecmp(cell, value) == 0 ||
           (row_size_without_age(cell) == strlen(value) && strncasecmp(cell, value, strlen(value)) == 0);
}

static ki_status is_field(const ki_object *obj, const filter_condition *c, bool *ret_is, ki_error *err) {
    ki_value value = KI_VALUE_INIT;
    char number[32];
    const char *text = number;
    ki_status status = ki_object_field(obj, c->name, &value, err);
    if (status == KI_ERR_NO_MEMORY)
        return status;
    number[0] = '\0'; /* no such field */
    if (!status && value.type == KI_VALUE_INT)
        snprintf(number, sizeof number, "%lld", (long long)value.integer);
    else if (!status && value.type == KI_VALUE_DOUBLE)
        snprintf(number, sizeof number, "%g", value.number);
    else if (!status && value.type == KI_VALUE_BOOL)
        text = value.boolean ? "true" : "false";
    else if (!status && value.type != KI_VALUE_NULL)
        text = value.text;
    *ret_is = strcasecmp(text, c->value) == 0;
    ki_value_clear(&value);
    return KI_OK;
}

ki_status filter_passes(const filter *f, const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                        bool *ret_passes, ki_error *err) {
    row cells = { .text = NULL };
    ki_status status = f->where_count ? row_read(&cells, columns, obj, now_ms, err) : KI_OK;
    bool passes = true;
    for (size_t i = 0; i < f->where_count && passes && !status; i++) {
        const filter_condition *c = &f->where[i];
        size_t column = column_named(columns, c->name);
        bool is = false;
        if (column < ki_columns_count(columns) || !strchr(c->name, '.'))
            is = is_cell(row_cell(&cells, column), c->value);
        else
            status = is_field(obj, c, &is, err);
        passes = is != c->is_not;
    }
    row_clear(&cells);
    *ret_passes = passes;
    return status;
}
