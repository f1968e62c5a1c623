/* table.h: columns under headers, as wide as what is in them. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TABLE_COLUMNS_MAX = 128
};

/* Texts of all rows, one row after the other. */
typedef struct table {
    size_t columns;
    char **cells;
    size_t count;
    size_t capacity;
    size_t widths[TABLE_COLUMNS_MAX]; /* of what was shown, too: rows that come later stand under it */
} table;

/* The next cell, left to right; a copy. False where there is no memory. */
bool table_add(table *t, const char *text);
/* Shows the rows on stdout and forgets them, not their widths. */
void table_print(table *t);
void table_free(table *t);

#endif
