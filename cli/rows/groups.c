/* groups.c: see groups.h. */
#include "groups.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

/* Makes room for `more` members of an array of pointers. */
static void *reserve(void *array, size_t *capacity, size_t count, size_t more) {
    size_t needed = count + more, grown = *capacity + *capacity / 4;
    if (needed <= *capacity && array)
        return array;
    grown = grown < needed + 4 ? needed + 4 : grown;
    void *moved = realloc(array, grown * sizeof(void *));
    if (moved)
        *capacity = grown;
    return moved;
}

bool item_list_reserve(item_list *list, size_t more) {
    item **items = reserve(list->items, &list->capacity, list->count, more);
    list->items = items ? items : list->items;
    return items;
}

/* Returns the index of the first item from `low` on, and below `high`, that is not before an item. */
static size_t place_of(const item_list *list, size_t low, size_t high, const item *it) {
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (item_compare(list->items[middle], it) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t item_list_find(const item_list *list, const item *it) {
    size_t index = place_of(list, 0, list->count, it);
    return index < list->count && list->items[index] == it ? index : SIZE_MAX;
}

static void move(item_list *list, size_t to, size_t from, size_t count) {
    if (count && to != from)
        memmove(list->items + to, list->items + from, count * sizeof(item *));
}

/* Closes the gaps from the left to the right. */
void item_list_take_out(item_list *list, item *const *items, size_t count) {
    size_t to = 0, from = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = place_of(list, from, list->count, items[i]);
        move(list, to, from, at - from);
        to += at - from;
        from = at + 1;
    }
    move(list, to, from, list->count - from);
    list->count -= from - to;
}

/* Merges from the right to the left. */
void item_list_put_in(item_list *list, item *const *items, size_t count) {
    size_t end = list->count;
    list->count += count;
    for (size_t i = count; i > 0; i--) {
        size_t at = place_of(list, 0, end, items[i - 1]);
        move(list, at + i, at, end - at);
        list->items[at + i - 1] = items[i - 1];
        end = at;
    }
}

void item_list_clear(item_list *list) {
    free(list->items);
    *list = (item_list){ .items = NULL };
}

/* ---- groups ---- */

static int by_text(const void *a, const void *b) {
    const group *left = a, *right = b;
    return strcmp(left->text, right->text);
}

static void free_group(group *g) {
    item_list_clear(&g->list);
    tally_clear(&g->counts);
    free(g);
}

void groups_clear(groups *gs) {
    for (size_t i = 0; i < gs->count; i++) {
        tdelete(gs->all[i], &gs->by_text, by_text);
        free_group(gs->all[i]);
    }
    free(gs->all);
    *gs = (groups){ .has_headings = gs->has_headings };
}

group *groups_find(const groups *gs, const char *text) {
    const group key = { .text = text };
    void *found = tfind(&key, &gs->by_text, by_text);
    return found ? *(group **)found : NULL;
}

group *groups_get(groups *gs, const char *text) {
    group *found = groups_find(gs, text), **all = NULL;
    if (found)
        return found;
    all = reserve(gs->all, &gs->capacity, gs->count, 1);
    gs->all = all ? all : gs->all;
    size_t size = strlen(text) + 1;
    group *added = all ? calloc(1, sizeof *added + size) : NULL;
    if (!added)
        return NULL;
    added->text = memcpy(added->storage, text, size);
    if (!tsearch(added, &gs->by_text, by_text)) {
        free_group(added);
        return NULL;
    }
    gs->all[gs->count++] = added;
    return added;
}

bool groups_open_as(groups *gs, const groups *before) {
    for (size_t i = 0; i < before->count; i++) {
        bool is_open = before->all[i]->is_open;
        group *g = is_open ? groups_get(gs, before->all[i]->text) : NULL;
        if (is_open && !g)
            return false;
        if (g)
            g->is_open = true;
    }
    return true;
}

static int by_severity(const void *a, const void *b) {
    const group *left = *(group *const *)a, *right = *(group *const *)b;
    if (left->worst != right->worst)
        return left->worst > right->worst ? -1 : 1;
    if (left->worst_count != right->worst_count)
        return left->worst_count > right->worst_count ? -1 : 1;
    if (left->counts.objects != right->counts.objects)
        return left->counts.objects > right->counts.objects ? -1 : 1;
    return strcmp(left->text, right->text);
}

/* Frees what is empty. Returns true if the others have to be sorted. */
static bool refresh(groups *gs, const ki_columns *columns) {
    size_t kept = 0;
    bool needs_sort = false;
    for (size_t i = 0; i < gs->count; i++) {
        group *g = gs->all[i];
        if (!g->list.count && !g->is_open && !g->is_toggled) {
            tdelete(g, &gs->by_text, by_text);
            free_group(g);
            continue;
        }
        if (g->is_touched) {
            g->worst = severity_of_all(columns, &g->counts, &g->worst_count);
            g->is_touched = false;
            needs_sort = true;
        }
        gs->all[kept++] = g;
    }
    gs->count = kept;
    return needs_sort && gs->count;
}

void groups_arrange(groups *gs, const ki_columns *columns) {
    if (refresh(gs, columns))
        qsort(gs->all, gs->count, sizeof(group *), by_severity);
    gs->line_count = gs->passing = 0;
    for (size_t i = 0; i < gs->count; i++) {
        group *g = gs->all[i];
        g->first_line = gs->line_count;
        gs->passing += g->counts.objects;
        if (g->list.count)
            gs->line_count += gs->has_headings + (g->is_open || !gs->has_headings ? g->list.count : 0);
    }
}

const group *groups_at_line(const groups *gs, size_t line) {
    size_t low = 0, high = gs->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (gs->all[middle]->first_line <= line)
            low = middle;
        else
            high = middle;
    }
    return gs->all[low];
}
