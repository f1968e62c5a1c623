/* table.c: see table.h. A change first allocates what it needs and then changes the table, which cannot fail. */
#include "table.h"

#include "cli/lines/fold.h"

#include <stdlib.h>
#include <string.h>

void table_clear(table *t) {
    for (size_t i = 0; i < t->all.count; i++)
        item_free(t->all.items[i]);
    item_list_clear(&t->all);
    groups_clear(&t->groups);
    tally_clear(&t->counts);
    lights_clear(&t->lights);
}

/* ---- which group ---- */

/* Writes "node n1", by the column Node, else by spec.nodeName. */
static ki_status write_node(const item_form *form, item *it, char text[OWNER_MAX], ki_error *err) {
    row cells;
    ki_value node = KI_VALUE_INIT;
    size_t column = column_named(form->columns, "Node");
    item_cells(it, &cells);
    if (column < cells.count) {
        snprintf(text, OWNER_MAX, "node %s", row_cell(&cells, column));
        return KI_OK;
    }
    ki_status status = ki_object_field(it->obj, "spec.nodeName", &node, err);
    snprintf(text, OWNER_MAX, "node %s", !status && node.type == KI_VALUE_STRING ? node.text : "<none>");
    ki_value_clear(&node);
    return status == KI_ERR_NO_MEMORY ? status : KI_OK;
}

static ki_status text_of_group(const item_form *form, grouping by, item *it, char text[OWNER_MAX], ki_error *err) {
    const char *namespace_name = ki_object_namespace(it->obj);
    text[0] = '\0';
    switch (by) {
    case GROUP_NAMESPACE:
        snprintf(text, OWNER_MAX, "%s%s", *namespace_name ? "namespace " : "cluster", namespace_name);
        return KI_OK;
    case GROUP_NODE:
        return write_node(form, it, text, err);
    case GROUP_OWNER:
        return fold_owner_of(it->obj, text, err);
    default:
        return KI_OK;
    }
}

/* Finds the group that an item is to be in, NULL if it does not pass. */
static ki_status find_group(const table *t, const table_settings *with, groups *gs, item *it, int64_t wall_ms,
                            group **ret_group, ki_error *err) {
    char text[OWNER_MAX];
    row cells;
    bool passes = true;
    ki_status status = KI_OK;
    *ret_group = NULL;
    if (with->query) {
        const filter_subject subject = item_subject(t->form, it, wall_ms, &cells);
        status = query_passes(with->query, &subject, &passes, err);
    }
    if (status || !passes)
        return status;
    status = text_of_group(t->form, with->by, it, text, err);
    if (!status)
        *ret_group = groups_get(gs, text);
    return status ? status : *ret_group ? KI_OK : KI_ERR_NO_MEMORY;
}

static condition condition_of_item(const table *t, item *it) {
    row cells;
    item_cells(it, &cells);
    return condition_of(t->form->columns, &cells, t->is_event);
}

/* ---- changes ---- */

/* The items that a change takes out of the table and puts into it. */
typedef struct exchange {
    item **leaving, **entering;
    size_t leaving_count, entering_count;
} exchange;

static int by_order(const void *a, const void *b) {
    return item_compare(*(item *const *)a, *(item *const *)b);
}

/* By group, then in order. */
static int by_group(const void *a, const void *b) {
    const item *left = *(item *const *)a, *right = *(item *const *)b;
    if (left->group != right->group)
        return (uintptr_t)left->group < (uintptr_t)right->group ? -1 : 1;
    return item_compare(left, right);
}

static void sort_items(item **items, size_t count, int (*compare)(const void *a, const void *b)) {
    if (count)
        qsort(items, count, sizeof(item *), compare);
}

/* Collects the items that enter and leave. Returns false if out of memory. */
static bool collect(const table *t, item **versions, size_t count, int64_t now_ms, exchange *x) {
    for (size_t i = 0; i < count; i++) {
        if (versions[i]->other)
            versions[i]->other->other = versions[i];
    }
    *x = (exchange){ .leaving = malloc((count + lights_ending(&t->lights, now_ms, NULL) + 1) * sizeof(item *)),
                     .entering = malloc((count + 1) * sizeof(item *)) };
    if (!x->leaving || !x->entering)
        return false;
    for (size_t i = 0; i < count; i++) {
        x->entering[x->entering_count++] = versions[i];
        if (versions[i]->other)
            x->leaving[x->leaving_count++] = versions[i]->other;
    }
    x->leaving_count += lights_ending(&t->lights, now_ms, x->leaving + x->leaving_count);
    return true;
}

/* Counts an item, or takes that back. Deleted items are not counted. */
static bool count_item(table *t, item *it, bool is_added) {
    if (it->is_deleted)
        return true;
    condition one = condition_of_item(t, it);
    if (!is_added) {
        tally_remove(&t->counts, &one);
        if (it->group)
            tally_remove(&it->group->counts, &one);
        return true;
    }
    if (!tally_add(&t->counts, &one))
        return false;
    if (!it->group || tally_add(&it->group->counts, &one))
        return true;
    tally_remove(&t->counts, &one);
    return false;
}

/* Returns the end of the items of one group. */
static size_t end_of_group(item *const *items, size_t begin, size_t count) {
    size_t end = begin;
    while (end < count && items[end]->group == items[begin]->group)
        end++;
    return end;
}

/* Finds the groups of the entering items and makes room in all lists. */
static ki_status make_room(table *t, const exchange *x, int64_t wall_ms, ki_error *err) {
    if (!item_list_reserve(&t->all, x->entering_count) || !lights_reserve(&t->lights, x->entering_count))
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < x->entering_count; i++) {
        item *it = x->entering[i];
        item_set_order(t->form, &t->now.order, it);
        ki_status status = find_group(t, &t->now, &t->groups, it, wall_ms, &it->group, err);
        if (status)
            return status;
    }
    sort_items(x->entering, x->entering_count, by_group);
    for (size_t i = 0, end; i < x->entering_count; i = end) {
        group *g = x->entering[i]->group;
        end = end_of_group(x->entering, i, x->entering_count);
        if (g && !item_list_reserve(&g->list, end - i))
            return KI_ERR_NO_MEMORY;
    }
    return KI_OK;
}

/* Counts all entering items, or none. */
static bool count_entering(table *t, const exchange *x) {
    for (size_t i = 0; i < x->entering_count; i++) {
        if (count_item(t, x->entering[i], true))
            continue;
        while (i-- > 0)
            count_item(t, x->entering[i], false);
        return false;
    }
    return true;
}

/* Takes items out of their groups, or puts them in. Sorts them by group. */
static void change_groups(item **items, size_t count,
                          void (*change)(item_list *list, item *const *items, size_t count)) {
    sort_items(items, count, by_group);
    for (size_t i = 0, end; i < count; i = end) {
        group *g = items[i]->group;
        end = end_of_group(items, i, count);
        if (!g)
            continue;
        change(&g->list, items + i, end - i);
        g->is_touched = true;
    }
}

static void change_all(table *t, const exchange *x) {
    sort_items(x->leaving, x->leaving_count, by_order);
    sort_items(x->entering, x->entering_count, by_order);
    item_list_take_out(&t->all, x->leaving, x->leaving_count);
    item_list_put_in(&t->all, x->entering, x->entering_count);
}

/* Frees the items that have left. */
static void end_exchange(item_map *newest, const exchange *x) {
    for (size_t i = 0; i < x->leaving_count; i++) {
        item *it = x->leaving[i];
        if (!it->other) /* a deleted row, the newest version */
            item_map_remove(newest, item_map_find(newest, ki_object_key(it->obj)));
        item_free(it);
    }
    for (size_t i = 0; i < x->entering_count; i++) {
        x->entering[i]->is_staged = false;
        x->entering[i]->other = NULL;
    }
}

static void commit(table *t, item_map *newest, const exchange *x, int64_t now_ms) {
    for (size_t i = 0; i < x->leaving_count; i++)
        count_item(t, x->leaving[i], false);
    change_groups(x->leaving, x->leaving_count, item_list_take_out);
    change_groups(x->entering, x->entering_count, item_list_put_in);
    change_all(t, x);
    lights_change(&t->lights, x->entering, x->entering_count, now_ms, now_ms + ROWS_LIT_MS);
    end_exchange(newest, x);
}

ki_status table_change(table *t, item_map *newest, item **versions, size_t count, const table_time *at, ki_error *err) {
    exchange x;
    ki_status status =
        collect(t, versions, count, at->now_ms, &x) ? make_room(t, &x, at->wall_ms, err) : KI_ERR_NO_MEMORY;
    if (!status && !count_entering(t, &x))
        status = KI_ERR_NO_MEMORY;
    if (!status)
        commit(t, newest, &x, at->now_ms);
    groups_arrange(&t->groups, t->form->columns);
    free(x.leaving);
    free(x.entering);
    return status;
}

/* ---- other settings ---- */

/* Puts all items that pass into new groups, in the order that they have now. */
static ki_status fill_groups(const table *t, const table_settings *wanted, groups *gs, int64_t wall_ms, ki_error *err) {
    if (wanted->by == t->now.by && !groups_open_as(gs, &t->groups))
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < t->all.count; i++) {
        item *it = t->all.items[i];
        group *g = NULL;
        ki_status status = find_group(t, wanted, gs, it, wall_ms, &g, err);
        if (status)
            return status;
        if (!g)
            continue;
        condition one = condition_of_item(t, it);
        if (!item_list_reserve(&g->list, 1) || (!it->is_deleted && !tally_add(&g->counts, &one)))
            return KI_ERR_NO_MEMORY;
        g->list.items[g->list.count++] = it;
        g->is_touched = true;
    }
    return KI_OK;
}

/* Gives the items their new groups and the order that is wanted. */
static void regroup(table *t, const item_order *wanted, const groups *gs) {
    const item_order *now = &t->now.order;
    bool is_sorted = now->column == wanted->column && now->is_descending == wanted->is_descending;
    for (size_t i = 0; i < t->all.count; i++) {
        t->all.items[i]->group = NULL;
        if (!is_sorted)
            item_set_order(t->form, wanted, t->all.items[i]);
    }
    for (size_t i = 0; i < gs->count; i++) {
        item_list *list = &gs->all[i]->list;
        for (size_t k = 0; k < list->count; k++)
            list->items[k]->group = gs->all[i];
        if (!is_sorted)
            sort_items(list->items, list->count, by_order);
    }
    if (!is_sorted)
        sort_items(t->all.items, t->all.count, by_order);
}

ki_status table_arrange(table *t, const table_settings *wanted, const table_time *at, ki_error *err) {
    groups gs = { .has_headings = wanted->by != GROUP_NONE };
    ki_status status = fill_groups(t, wanted, &gs, at->wall_ms, err);
    if (!status) {
        regroup(t, &wanted->order, &gs);
        groups_clear(&t->groups);
        t->groups = gs;
        t->now = *wanted;
        groups_arrange(&t->groups, t->form->columns);
    } else {
        groups_clear(&gs);
    }
    return status;
}
