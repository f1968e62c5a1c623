/* groups.h: the items that pass, in order, by what they are grouped by. Without grouping all are in one group. */
#ifndef CLI_ROWS_GROUPS_H
#define CLI_ROWS_GROUPS_H

#include "cli/lines/tally.h"
#include "item.h"
#include "severity.h"

/* Items in order. */
typedef struct item_list {
    item **items;
    size_t count, capacity;
} item_list;

typedef struct group {
    const char *text; /* "" without grouping */
    item_list list;
    tally counts; /* without deleted items */
    severity worst;
    size_t worst_count; /* objects that are that bad */
    size_t first_line;
    bool is_open;
    bool is_toggled; /* by the next settle */
    bool is_touched; /* its list or counts have changed since the last groups_arrange */
    char storage[];  /* of the text */
} group;

/* {0} is empty. */
typedef struct groups {
    void *by_text; /* a tree */
    group **all;
    size_t count, capacity;
    bool has_headings;
    size_t line_count;
    size_t passing; /* items, without deleted ones */
} groups;

/* ---- lists ---- */

/* Makes room for `more` items. Returns false if out of memory. */
bool item_list_reserve(item_list *list, size_t more);
/* Takes items out of the list. They are in order, and in the list. */
void item_list_take_out(item_list *list, item *const *items, size_t count);
/* Puts items into the list, for which there is room. They are in order. */
void item_list_put_in(item_list *list, item *const *items, size_t count);
/* Returns the index of an item; SIZE_MAX if it is not in the list. */
size_t item_list_find(const item_list *list, const item *it);
void item_list_clear(item_list *list);

/* ---- groups ---- */

void groups_clear(groups *gs);
/* Returns the group with this text, a new one if there is none; NULL if out of memory. */
group *groups_get(groups *gs, const char *text);
/* Returns the group with this text; NULL if there is none. */
group *groups_find(const groups *gs, const char *text);
/* Opens the groups that are open in `before`. Returns false if out of memory. */
bool groups_open_as(groups *gs, const groups *before);
/* Frees empty groups, but for open ones, which stay open if objects come back; sorts the others: the worst first, then
 * those with most such objects, then the largest; and counts the lines. */
void groups_arrange(groups *gs, const ki_columns *columns);
/* Returns the group whose lines have this index. */
const group *groups_at_line(const groups *gs, size_t line);

#endif
