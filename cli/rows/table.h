/* table.h: the items that are shown: all in order, those that pass in groups, counts, lights. */
#ifndef CLI_ROWS_TABLE_H
#define CLI_ROWS_TABLE_H

#include "groups.h"
#include "item_map.h"
#include "lights.h"
#include "rows.h"

/* What is sorted, filtered and grouped by. */
typedef struct table_settings {
    item_order order;
    query *query; /* NULL: all pass */
    grouping by;
} table_settings;

typedef struct table {
    const item_form *form;
    bool is_event;
    table_settings now;
    item_list all; /* owns the items */
    groups groups;
    tally counts; /* of all, without deleted items */
    lights lights;
} table;

/* A time: monotonic, and what ages are relative to. */
typedef struct table_time {
    int64_t now_ms, wall_ms;
} table_time;

void table_clear(table *t);
/* Takes over `count` new versions, in place of those that they replace; ends lights that are due; removes deleted items
 * without a light, also from `newest`. Errors: KI_ERR_NO_MEMORY: the table is as before. */
ki_status table_change(table *t, item_map *newest, item **versions, size_t count, const table_time *at, ki_error *err);
/* Sorts, filters and groups all items anew; the queries stay the caller's. Errors: KI_ERR_NO_MEMORY: the table is as
 * before. */
ki_status table_arrange(table *t, const table_settings *wanted, const table_time *at, ki_error *err);

#endif
