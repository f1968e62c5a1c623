/* table.c: see table.h. As in kubectl, three blanks separate columns, and a column has at least six characters. */
#include "table.h"

#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PADDING = 3,
    WIDTH_MIN = 6
};

bool table_add(table *t, const char *text) {
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? t->capacity * 2 : 64;
        char **cells = realloc(t->cells, capacity * sizeof *cells);
        if (!cells)
            return false;
        t->cells = cells;
        t->capacity = capacity;
    }
    t->cells[t->count] = strdup(text);
    return t->cells[t->count] && ++t->count;
}

void table_print(table *t) {
    for (size_t i = 0; i < t->count; i++) {
        size_t width = width_of(t->cells[i]) + PADDING;
        size_t *widest = &t->widths[i % t->columns];
        if (width > *widest)
            *widest = width < WIDTH_MIN ? WIDTH_MIN : width;
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;
        print_safe(stdout, t->cells[i]);
        if (column + 1 == t->columns)
            putchar('\n');
        else
            printf("%*s", (int)(t->widths[column] - width_of(t->cells[i])), "");
        free(t->cells[i]);
    }
    t->count = 0;
}

void table_free(table *t) {
    while (t->count)
        free(t->cells[--t->count]);
    free(t->cells);
    *t = (table){ 0 };
}
