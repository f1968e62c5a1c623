/* lights.h: what has changed in the table lately: cells, new rows, deleted rows. */
#ifndef CLI_ROWS_LIGHTS_H
#define CLI_ROWS_LIGHTS_H

#include "item.h"

/* A change. */
typedef struct light {
    item *of;
    uint64_t cells;
    int64_t until_ms;
    bool is_new, is_deleted; /* the row is */
} light;

/* {0} has none. */
typedef struct lights {
    light *all;
    size_t count, capacity;
    int64_t next_end_ms; /* when the first one ends */
} lights;

void lights_clear(lights *ls);
/* Makes room for `more` lights. Returns false if out of memory. */
bool lights_reserve(lights *ls, size_t more);
/* Returns how many deleted rows end at `now_ms`, and with `ret_items` which. A row that comes back does not end: its
 * item has `other`. */
size_t lights_ending(const lights *ls, int64_t now_ms, item **ret_items);
/* Moves the lights to the new versions of their items, ends those that are due, and lights what has changed in `count`
 * new versions, for which there is room, until `until_ms`. Sets what is lit in the items. */
void lights_change(lights *ls, item *const *versions, size_t count, int64_t now_ms, int64_t until_ms);
/* Returns true if lights end at `now_ms`. */
bool lights_are_due(const lights *ls, int64_t now_ms);

#endif
