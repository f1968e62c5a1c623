/* table.h: a table on stdout, with columns as wide as their cells. */
#ifndef CLI_FORMAT_TABLE_H
#define CLI_FORMAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TABLE_COLUMNS_MAX = 128
};

/* Cells of all rows, row by row. */
typedef struct table {
    size_t columns;
    char **cells;
    size_t count;
    size_t capacity;
    size_t widths[TABLE_COLUMNS_MAX]; /* include printed rows: later rows are aligned with them */
} table;

/* Adds a copy of the next cell, left to right. Returns false if out of memory. */
bool table_add(table *t, const char *text);
/* Prints the rows on stdout and removes them. Keeps their widths. */
void table_print(table *t);
void table_free(table *t);

#endif
