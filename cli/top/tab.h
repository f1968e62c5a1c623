/* tab.h: one resource in kinformer top: its rows, how they are sorted, filtered and grouped, and the cursor. Without a
 * terminal and without a clock. */
#ifndef CLI_TOP_TAB_H
#define CLI_TOP_TAB_H

#include "cli/rows/rows.h"
#include "history.h"

#include "cli/lines/fold.h"

#include <kinformer/informer.h>

enum {
    TAB_FILTER_MAX = 200, /* bytes of a typed filter, with the closing zero */
    TAB_SECONDS = 5       /* changes a second are the mean of these seconds */
};

/* What a tab shows. All is borrowed for its life. */
typedef struct tab_options {
    const char *plural;        /* "pods" */
    const char *kind;          /* "Pod" */
    const ki_columns *columns; /* of the table */
    bool has_namespaces;       /* the namespace is a column */
    bool is_event;             /* the resource is Events */
} tab_options;

typedef struct tab {
    tab_options is;
    rows *rows;
    history *history;
    struct line_parts *parts; /* of the change that was taken last: its memory is used again */
    ki_health health;         /* of the informer, when tab_tick was called last */
    bool is_synced;
    size_t changes[TAB_SECONDS]; /* in each second; the first one is under way */
    size_t sorted_by;            /* a column, or ROWS_BY_KEY */
    bool is_descending;
    bool is_wide; /* with the columns of -o wide */
    grouping grouped_by;
    char filter[TAB_FILTER_MAX];             /* as it was typed */
    char filter_message[FILTER_MESSAGE_MAX]; /* why the filter cannot be used; "": it can */

    /* The cursor stays on its object or group where lines move; before the first key it stays in the first line. */
    char key[KI_OBJECT_KEY_MAX];
    char group[OWNER_MAX];
    bool has_moved;
    size_t line;
    size_t first; /* the first line that is shown */
    size_t left;  /* columns that are scrolled away: tab_left */
} tab;

/* A change as an informer's handler gets it. */
typedef struct tab_change {
    change_type type;
    const ki_object *old; /* of an update; else NULL */
    const ki_object *obj;
    const ki_object *kept; /* the same, or a later state: what the row refers to */
    bool is_initial;
    const char *clock; /* the time of day: "18:45:55" */
} tab_change;

/* What time it is: `now_ms` is monotonic, `wall_ms` is since 1970. */
typedef struct moment {
    int64_t now_ms;
    int64_t wall_ms;
} moment;

/* Returns false if out of memory. tab_close also then. */
bool tab_open(tab *t, const tab_options *is);
void tab_close(tab *t);

/* Takes a change into the rows, and its line into the history. Errors: KI_ERR_NO_MEMORY. */
ki_status tab_take(tab *t, const tab_change *change, moment at, ki_error *err);
/* Begins the next second: of the changes a second, and of the health. */
void tab_tick(tab *t, const ki_health *health);
size_t tab_changes_a_second(const tab *t);
/* Brings the changes into the table, and the cursor to its object. Errors: KI_ERR_NO_MEMORY. */
ki_status tab_settle(tab *t, moment at, ki_error *err);

/* Moves the cursor by lines; far ones mean the first and the last line. */
void tab_move(tab *t, int64_t lines);
/* Scrolls so that the cursor is one of `height` lines. */
void tab_scroll(tab *t, size_t height);
/* Returns the object of the cursor; NULL: there is none, or the cursor is on a group. */
const ki_object *tab_selected(const tab *t);
/* Uses a filter. One that cannot be parsed sets `filter_message`, and the rows stay as they are. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status tab_filter(tab *t, const char *text, ki_error *err);
/* Sorts by the next column, or with -1 by the one before. The order by namespace and name comes first. */
void tab_sort_next(tab *t, int step);
void tab_reverse(tab *t);
/* Groups, with the cursor in the first line. */
void tab_group(tab *t, grouping by);
/* Opens or closes the group of the cursor. */
void tab_toggle(tab *t);
/* Returns true if the column is shown: those of -o wide only with `is_wide`. */
bool tab_has_column(const tab *t, size_t column);
/* Returns the column of the name, which does not scroll. */
size_t tab_name_column(const tab *t);
/* Returns how many columns after the name are scrolled away: at least one is shown. */
size_t tab_left(const tab *t);

#endif
