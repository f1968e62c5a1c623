/* item.h: one version of an object as a line of the table, in one allocation: its cells, what it is sorted by, its
 * lights. */
#ifndef CLI_ROWS_ITEM_H
#define CLI_ROWS_ITEM_H

#include "cli/lines/filter.h"

#define ORDER_BY_KEY SIZE_MAX /* as a column: by namespace and name */

/* What the items of one table have in common. */
typedef struct item_form {
    const ki_columns *columns;
    bool has_age;                  /* a column Age, of metadata.creationTimestamp */
    uint64_t ages;                 /* a bit for each column of ages */
    size_t widths[KI_COLUMNS_MAX]; /* of the headings, and of all cells that were read */
    size_t namespace_width;
    row cells; /* of the object that was read last: its memory is used again */
} item_form;

typedef struct item_order {
    size_t column;
    bool is_descending;
} item_order;

struct group;

typedef struct item {
    struct item *next;  /* in the map by key */
    struct item *other; /* of a new version: the one that it replaces in the table, or NULL; of that one: the new one */
    ki_object *obj;     /* a reference */
    struct group *group; /* that it is in; NULL: it does not pass */
    uint64_t lit;        /* a bit for each cell that is lit; of a new version: that has changed */
    double number;       /* what it is sorted by, with `kind` and the text at `text` */
    uint32_t text;
    uint32_t read_s;    /* when the cells were read, seconds since 1970 */
    uint32_t created_s; /* 0: unknown */
    uint32_t slot;      /* of a new version: its index among them */
    uint8_t kind;       /* a value_kind */
    uint8_t cell_count;
    bool is_staged : 1; /* a new version, which is not in the table yet */
    bool is_new : 1;
    bool is_deleted : 1;
    bool is_by_key : 1;
    bool is_descending : 1;
    char cells[]; /* one behind the other, each with its zero */
} item;

/* `columns` is borrowed. */
void item_form_init(item_form *form, const ki_columns *columns);
void item_form_clear(item_form *form);

/* Makes a version of an object, with a reference; ages are relative to `wall_ms`. Widens the form. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status item_new(item_form *form, const ki_object *obj, int64_t wall_ms, item **ret_item, ki_error *err);
void item_free(item *it);

/* Gives the cells, borrowed from the item. */
void item_cells(item *it, row *ret_cells);
/* Gives what the item's conditions are about. `cells` is the caller's and must stay. */
filter_subject item_subject(const item_form *form, item *it, int64_t wall_ms, row *cells);
/* Returns a bit for each cell that differs, but not for what only time has changed: the age of "1 (3s ago)", an age
 * that has grown. */
uint64_t item_changes(const item_form *form, const item *before, const item *after);

/* Sets what the item is sorted by. */
void item_set_order(const item_form *form, const item_order *order, item *it);
/* Compares two items with the same order; then by namespace and name. */
int item_compare(const item *a, const item *b);

#endif
