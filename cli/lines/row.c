/* row.c: see row.h. */
#include "row.h"

#include "cli/output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    ROW_BYTES = 256 /* at first */
};

/* A row that is being read. */
typedef struct reading {
    row *row;
    bool is_ok; /* memory has not run out */
} reading;

static bool reserve(row *r, size_t more) {
    size_t wanted = r->capacity ? r->capacity : ROW_BYTES;
    while (wanted - r->size < more)
        wanted *= 2;
    char *text = wanted > r->capacity ? realloc(r->text, wanted) : r->text;
    if (!text)
        return false;
    r->text = text;
    r->capacity = wanted;
    return true;
}

static bool add_cell(size_t index, const char *text, void *user) {
    reading *to = user;
    row *r = to->row;
    size_t size = strlen(text) + 1;
    (void)index;
    to->is_ok = reserve(r, size);
    if (!to->is_ok)
        return false;
    r->begins[r->count++] = r->size;
    memcpy(r->text + r->size, text, size);
    make_safe(r->text + r->size);
    r->size += size;
    return r->count < KI_COLUMNS_MAX;
}

ki_status row_read(row *r, const ki_columns *columns, const ki_object *obj, int64_t now_ms, ki_error *err) {
    reading to = { .row = r, .is_ok = true };
    r->count = r->size = 0;
    ki_status status = ki_columns_each(columns, obj, now_ms, add_cell, &to, err);
    if (to.is_ok && status != KI_ERR_NO_MEMORY)
        return KI_OK; /* after other errors the cells are those before */
    r->count = r->size = 0;
    return KI_ERR_NO_MEMORY;
}

void row_clear(row *r) {
    free(r->text);
    *r = (row){ .text = NULL };
}

const char *row_cell(const row *r, size_t index) {
    return index < r->count ? r->text + r->begins[index] : "";
}

bool row_has_value(const row *r, size_t index) {
    const char *text = row_cell(r, index);
    return *text && *text != '<';
}

size_t row_size_without_age(const char *cell) {
    size_t size = strlen(cell);
    const char *open = size > 5 && strcmp(cell + size - 5, " ago)") == 0 ? strrchr(cell, '(') : NULL;
    return open && open > cell && open[-1] == ' ' ? (size_t)(open - 1 - cell) : size;
}

bool column_has_name(const ki_column *column, const char *name) {
    const char *own = column->name;
    while (*own && (tolower((unsigned char)*own) == tolower((unsigned char)*name) || (*own == ' ' && *name == '-')))
        own++, name++;
    return *own == *name;
}

size_t column_named(const ki_columns *columns, const char *name) {
    size_t count = ki_columns_count(columns);
    for (size_t i = 0; i < count; i++) {
        if (column_has_name(ki_columns_at(columns, i), name))
            return i;
    }
    return count;
}

size_t column_of_status(const ki_columns *columns) {
    static const char *const names[] = { "Status", "Phase", "Ready" };
    size_t count = ki_columns_count(columns), index = count;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && index == count; i++)
        index = column_named(columns, names[i]);
    return index;
}

void column_print_heading(const ki_column *column, FILE *out) {
    char *text = strdup(column->name);
    if (text)
        make_upper(text);
    print_safe(out, text ? text : column->name);
    free(text);
}
