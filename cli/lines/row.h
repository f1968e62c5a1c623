/* row.h: an object's cells under the columns of kubectl get, safe to print on a terminal. */
#ifndef CLI_LINES_ROW_H
#define CLI_LINES_ROW_H

#include <kinformer-print/columns.h>

#include <stdio.h>

/* The cells of an object. {0} has none. */
typedef struct row {
    char *text;                    /* all cells, each with a closing zero */
    size_t begins[KI_COLUMNS_MAX]; /* where each cell begins */
    size_t count;
    size_t size; /* bytes of `text` that are used, and its size */
    size_t capacity;
} row;

/* Reads the cells in the place of those that the row has; ages are relative to `now_ms`, milliseconds since 1970. The
 * caller frees them with row_clear, also after an error. Errors: KI_ERR_NO_MEMORY: the row has no cells. */
ki_status row_read(row *r, const ki_columns *columns, const ki_object *obj, int64_t now_ms, ki_error *err);
void row_clear(row *r);
/* Returns a cell; "" if the row has none with this index. */
const char *row_cell(const row *r, size_t index);
/* Returns false for a cell without a value: "", "<none>". */
bool row_has_value(const row *r, size_t index);

/* Returns the size of a cell without its age: 1 for "1 (3s ago)". */
size_t row_size_without_age(const char *cell);

/* Returns true for a column's name with small or capital letters, also with "-" for a blank: "last-seen". */
bool column_has_name(const ki_column *column, const char *name);
/* Returns the index of the column that has a name; the number of columns if none has. */
size_t column_named(const ki_columns *columns, const char *name);
/* Returns the index of the column that says how an object is: Status, Phase or Ready; the number of columns if there is
 * none. */
size_t column_of_status(const ki_columns *columns);
/* Prints a column's heading: "READY". */
void column_print_heading(const ki_column *column, FILE *out);

#endif
