/* cell_value.h: what a cell is worth, to sort and to compare: "12", "1/2", "3d4h", "100m", "2Gi", "50%",
 * "1 (3s ago)". */
#ifndef CLI_LINES_CELL_VALUE_H
#define CLI_LINES_CELL_VALUE_H

#include <kinformer-print/columns.h>

/* In the order in which values of different kinds are sorted. */
typedef enum value_kind {
    VALUE_NUMBER,   /* also a quantity, a percentage, and "1 (3s ago)" without its age */
    VALUE_FRACTION, /* "1/2": the number is the fraction */
    VALUE_DURATION, /* "3d4h": the number is seconds */
    VALUE_TEXT,
    VALUE_MISSING /* "", "<none>", "<unknown>" */
} value_kind;

typedef struct cell_value {
    value_kind kind;
    double number;
    const char *text; /* borrowed */
} cell_value;

/* Reads a text. "100m" and the like are a tenth, or with `is_duration` minutes. */
cell_value value_of(const char *text, bool is_duration);
/* Returns below, equal to or above 0, as strcmp. Equal fractions are compared by their whole, texts without regard to
 * small and capital letters. */
int value_compare(const cell_value *a, const cell_value *b);
/* Returns the first number of a fraction: 1 for "1/2". */
double value_part(const cell_value *fraction);

/* Reads a quantity: "1500m", "2Gi", "1e3", "-0.5". Returns false for anything else. */
bool value_read_quantity(const char *text, double *ret_number);

/* Returns true for a column whose cells are the time since something: "Age", "Last Seen". */
bool column_is_age(const ki_column *column);
/* Returns true for a column of ages or of other durations. */
bool column_has_durations(const ki_column *column);

#endif
