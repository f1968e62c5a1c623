/* table_cells.h: one cell of a table from an object's JSON. Called by table.c. */
#ifndef KT_TABLE_CELLS_H
#define KT_TABLE_CELLS_H

#include "src/base/buffer.h"

#include <yyjson.h>

typedef enum kt_cell {
    KT_CELL_NAME,
    KT_CELL_TEXT,    /* the string at the path, or <none> */
    KT_CELL_INTEGER, /* the number at the path, or 0 */
    KT_CELL_COUNT,   /* how many members there are at the path */
    KT_CELL_AGE,     /* since the time at the path */
    KT_CELL_POD_READY,
    KT_CELL_POD_STATUS,
    KT_CELL_POD_RESTARTS,
    KT_CELL_NODE_STATUS,
    KT_CELL_NODE_ROLES,
    KT_CELL_REPLICAS_READY,
    KT_CELL_PORTS,
    KT_CELL_EVENT_OBJECT,
    KT_CELL_JOIN,     /* `LIST:member`: that member of each element of the list */
    KT_CELL_SELECTOR, /* a label selector as text */
    KT_CELL_BOOL,     /* True or False */
    KT_CELL_SINCE,    /* the age of a time, or <none> */
    KT_CELL_JOB_STATUS,
    KT_CELL_JOB_COMPLETIONS,
    KT_CELL_JOB_DURATION
} kt_cell;

typedef struct kt_column {
    const char *name; /* NULL ends a table */
    const char *type;
    int priority; /* 1: only with -o wide */
    kt_cell cell;
    const char *path;
} kt_column;

/* How long ago the time in `val` was. */
void kt_cell_append_age(yyjson_val *val, int64_t now_ms, ki_buffer *out);
void kt_cell_append(const kt_column *column, yyjson_val *root, int64_t now_ms, ki_buffer *out);

#endif
