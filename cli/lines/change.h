/* change.h: a change as a line for a person: kubectl's columns first, within a terminal's width.
 *
 *     ~ 18:45:55 pod shop/cart-7d  READY 1/2 → 2/2  STATUS Running  RESTARTS 0 → 1 (3s ago)  image: web:1 → web:2 */
#ifndef CLI_LINES_CHANGE_H
#define CLI_LINES_CHANGE_H

#include "diff.h"
#include "filter.h"

typedef enum change_type {
    CHANGE_ADDED,
    CHANGE_MODIFIED,
    CHANGE_DELETED
} change_type;

typedef struct change_line {
    change_type type;
    const char *clock; /* "18:45:55" */
    const char *kind;  /* "Pod" */
    const char *key;
    const char *note; /* printed at the end of the line; "": nothing */
    const ki_columns *columns;
    const row *before; /* the row before an update; else NULL */
    const row *after;
    const diff *diff; /* what an update changed; else NULL */
    const filter *filter;
    bool is_wide; /* all columns, and the other fields as diff_print prints them */
} change_line;

/* Returns the sign of a change, "+", "~" or "-", in its colour. */
const char *change_sign(change_type type);
/* Returns false for an update of nothing that --only names. */
bool change_is_selected(const change_line *c);
/* Writes "  image: web:1 → web:2 (+4 more)": the most important field of an update that no column shows, or that --only
 * names. Writes nothing without such a field. */
void change_print_other(const change_line *c, FILE *out);
/* Writes the line without the newline, in at most `width` columns; 0: the whole line. A narrow line lacks in this
 * order: the status that did not change, the end of a long other field, the middle of the name, the end of any other
 * field, that field, the time, the headings. Returns false if out of memory. */
bool change_write(const change_line *c, size_t width, FILE *out);

#endif
