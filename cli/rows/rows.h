/* rows.h: the objects of one resource as the lines of a table: sorted, filtered, grouped. Without a terminal and
 * without a clock.
 *
 * rows_change takes the changes as they come. rows_settle brings them into the table, once for each picture, and what
 * rows_sort, rows_filter, rows_group and rows_toggle ask for: between two calls the lines stay what they are.
 *
 * Keys and the texts of groups are the server's and can hold anything: canvas_add makes them safe to print. */
#ifndef CLI_ROWS_ROWS_H
#define CLI_ROWS_ROWS_H

#include "cli/lines/change.h"
#include "cli/lines/tally.h"
#include "query.h"
#include "severity.h"

enum {
    ROWS_LIT_MS = 2000 /* how long a changed cell is lit, and how long a deleted row stays */
};

typedef struct rows rows;

typedef enum grouping {
    GROUP_NONE,
    GROUP_NAMESPACE,
    GROUP_NODE,  /* spec.nodeName */
    GROUP_OWNER, /* fold_owner_of */
    GROUPINGS
} grouping;

typedef enum row_state {
    ROW_IS_THERE,
    ROW_IS_NEW,    /* lit as a whole */
    ROW_IS_DELETED /* goes once it is no longer lit */
} row_state;

/* A line of the table: the heading of a group, or an object. Pointers are borrowed, until the next rows_settle. */
typedef struct rows_line {
    const char *group;   /* the heading's text: "node n1", "deployment shop/cart"; NULL: an object */
    const tally *counts; /* of the group's objects that pass, without deleted ones; statuses of 0 objects are no news */
    severity worst;      /* of the group */
    bool is_open;        /* the group's objects follow */
    const ki_object *obj; /* NULL: a heading */
    row_state state;
    uint64_t lit; /* a bit for each column of ki_columns whose cell is lit: 1 << index; all of a new or deleted row */
} rows_line;

/* `columns` is borrowed. Returns NULL if out of memory. */
rows *rows_new(const ki_columns *columns, bool is_event);
/* NULL is accepted. */
void rows_free(rows *r);

/* Takes a change. `obj` is the current object, or the last state of a deleted one; it is referenced while it is a row.
 * Initial objects are not lit. Ages are relative to `wall_ms`. Errors: KI_ERR_NO_MEMORY: the rows are as before. */
ki_status rows_change(rows *r, change_type type, const ki_object *obj, bool is_initial, int64_t wall_ms, ki_error *err);

/* Sorts by a column of ki_columns: numbers, ages, quantities and "1/2" by value, others by their text; then by
 * namespace and name. ROWS_BY_KEY: by namespace and name. An age ascends from the youngest to the oldest; what is
 * missing ("<none>") is last in both directions. */
#define ROWS_BY_KEY SIZE_MAX
void rows_sort(rows *r, size_t column, bool is_descending);
/* Shows only the objects that pass. The query is copied. Errors: KI_ERR_NO_MEMORY: the query is as before. */
ki_status rows_filter(rows *r, const query *q, ki_error *err);
/* Groups are closed first, sorted by the worst status (severity.h), by how many objects are that bad, then by size. */
void rows_group(rows *r, grouping by);
/* Opens or closes a group, by its text. */
void rows_toggle(rows *r, const char *group);

/* Brings the changes into the table, and ends lights that are due. `now_ms` is monotonic; ages are relative to
 * `wall_ms`. Until then an object that has changed is kept twice: settle rows that nobody sees, too. Errors:
 * KI_ERR_NO_MEMORY: the table is as before, or has the changes but not yet the new order, query or grouping; the next
 * call tries again. */
ki_status rows_settle(rows *r, int64_t now_ms, int64_t wall_ms, ki_error *err);
/* Returns true if rows_settle has something to do at `now_ms`. */
bool rows_are_dirty(const rows *r, int64_t now_ms);

/* All of these are as of the last rows_settle. */
size_t rows_line_count(const rows *r);
rows_line rows_line_at(const rows *r, size_t index);
/* Returns the line of an object, by its key, or of a group, by its text (one of them is NULL); SIZE_MAX if it has
 * none. */
size_t rows_line_of(const rows *r, const char *key, const char *group);
/* Returns an object by its key, also one that has no line because of the query or a closed group; NULL if there is
 * none. Sets `*ret_is_deleted`. Borrowed as those of a line. */
const ki_object *rows_object(const rows *r, const char *key, bool *ret_is_deleted);
size_t rows_count(const rows *r); /* objects, without deleted rows */
size_t rows_count_passing(const rows *r);
const tally *rows_tally(const rows *r); /* all objects by status */
/* Returns the width that a column needs: of its heading and of all cells of the objects that were read, with room for
 * ages that grow. It does not shrink while the table is there, so that columns stand still. */
size_t rows_width(const rows *r, size_t column);
/* The same of the objects' namespaces; 0 if no object has one. */
size_t rows_namespace_width(const rows *r);

#endif
