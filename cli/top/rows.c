/* rows.c: see rows.h.
 *
 * Each version of an object is an item. rows_change puts a new version into the map and among the staged ones; the
 * table keeps the version before until rows_settle replaces it. rows_settle first allocates what it needs, then changes
 * the table, which cannot fail. */
#include "rows.h"

#include "cli/lines/fold.h"
#include "groups.h"

#include <stdlib.h>
#include <string.h>

enum {
    AGES_MS = 1000 /* how often conditions of ages are evaluated */
};

/* A change that is lit. */
typedef struct light {
    item *of;
    uint64_t cells;
    int64_t until_ms;
    bool is_new, is_deleted; /* of the row */
} light;

/* What is sorted, filtered and grouped by. */
typedef struct settings {
    item_order order;
    query *query; /* owned; NULL: all pass */
    grouping by;
} settings;

struct rows {
    item_form form;
    bool is_event;
    item **map; /* chains of the newest versions by key */
    size_t map_size, map_count;
    item **staged;
    size_t staged_count, staged_capacity;

    /* the table */
    item_list all;
    groups groups;
    tally counts;
    light *lights;
    size_t light_count, light_capacity;
    int64_t next_dark_ms; /* when the first light ends */
    settings now;
    int64_t passed_ms; /* when the query was last evaluated for all */

    settings wanted;
    bool is_stale;   /* the table is not as wanted */
    bool is_toggled; /* a group is */
};

/* ---- the map ---- */

static size_t hash_of(const char *key) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    return (size_t)hash;
}

/* Returns where the item with this key is linked; where NULL is linked if there is none. */
static item **map_place(const rows *r, const char *key) {
    item **at = &r->map[hash_of(key) & (r->map_size - 1)];
    while (*at && strcmp(ki_object_key((*at)->obj), key) != 0)
        at = &(*at)->next;
    return at;
}

/* Doubles the map. Without memory it stays as it is, with longer chains. */
static void map_grow(rows *r) {
    size_t size = r->map_size * 2;
    item **before = r->map, **map = calloc(size, sizeof(item *));
    if (!map)
        return;
    r->map = map;
    r->map_size = size;
    for (size_t i = 0; i < size / 2; i++) {
        for (item *it = before[i], *next; it; it = next) {
            next = it->next;
            item **at = &map[hash_of(ki_object_key(it->obj)) & (size - 1)];
            it->next = *at;
            *at = it;
        }
    }
    free(before);
}

/* Puts a version in the place of another one, or of none. */
static void map_put(rows *r, item **at, item *it) {
    it->next = *at ? (*at)->next : NULL;
    r->map_count += !*at;
    *at = it;
    if (r->map_count > r->map_size)
        map_grow(r);
}

static void map_remove(rows *r, item **at) {
    *at = (*at)->next;
    r->map_count--;
}

/* ---- changes ---- */

rows *rows_new(const ki_columns *columns, bool is_event) {
    const item_order by_key = { .column = ORDER_BY_KEY };
    rows *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    item_form_init(&r->form, columns);
    r->is_event = is_event;
    r->now.order = r->wanted.order = by_key;
    r->map_size = 64;
    r->map = calloc(r->map_size, sizeof(item *));
    if (!r->map) {
        free(r);
        return NULL;
    }
    return r;
}

static void free_query(query *q) {
    if (q)
        query_close(q);
    free(q);
}

void rows_free(rows *r) {
    if (!r)
        return;
    for (size_t i = 0; i < r->staged_count; i++)
        item_free(r->staged[i]);
    for (size_t i = 0; i < r->all.count; i++)
        item_free(r->all.items[i]);
    item_list_clear(&r->all);
    groups_clear(&r->groups);
    tally_clear(&r->counts);
    if (r->wanted.query != r->now.query)
        free_query(r->wanted.query);
    free_query(r->now.query);
    free(r->lights);
    free(r->staged);
    free(r->map);
    free(r);
}

static bool reserve_staged(rows *r) {
    if (r->staged_count < r->staged_capacity)
        return true;
    size_t capacity = r->staged_capacity * 2 + 16;
    item **staged = realloc(r->staged, capacity * sizeof(item *));
    if (!staged)
        return false;
    r->staged = staged;
    r->staged_capacity = capacity;
    return true;
}

static void unstage(rows *r, const item *it) {
    item *last = r->staged[--r->staged_count];
    r->staged[it->slot] = last;
    last->slot = it->slot;
}

/* Puts a new version into the place of the one before, `before`, which may be staged, too, or NULL. */
static void stage(rows *r, item **at, item *before, item *it) {
    map_put(r, at, it);
    it->is_staged = true;
    it->other = before;
    it->slot = (uint32_t)r->staged_count;
    if (before && before->is_staged) {
        it->other = before->other;
        it->slot = before->slot;
        it->lit |= before->lit;
        it->is_new |= before->is_new && !it->is_deleted;
        item_free(before);
    } else {
        r->staged_count++;
    }
    r->staged[it->slot] = it;
}

ki_status rows_change(rows *r, change_type type, const ki_object *obj, bool is_initial, int64_t wall_ms,
                      ki_error *err) {
    item **at = map_place(r, ki_object_key(obj)), *before = *at, *it = NULL;
    bool was_there = before && !before->is_deleted;
    if (type == CHANGE_DELETED && !was_there)
        return KI_OK;
    if (type == CHANGE_DELETED && before->is_staged && !before->other) { /* it was never in the table */
        map_remove(r, at);
        unstage(r, before);
        item_free(before);
        return KI_OK;
    }
    ki_status status = reserve_staged(r) ? item_new(&r->form, obj, wall_ms, &it, err) : KI_ERR_NO_MEMORY;
    if (status)
        return status;
    it->is_deleted = type == CHANGE_DELETED;
    it->is_new = !was_there && !is_initial;
    it->lit = was_there ? item_changes(&r->form, before, it) : 0;
    stage(r, at, before, it);
    return KI_OK;
}

/* ---- what is wanted ---- */

void rows_sort(rows *r, size_t column, bool is_descending) {
    r->wanted.order = (item_order){ .column = column, .is_descending = is_descending };
    r->is_stale = true;
}

ki_status rows_filter(rows *r, const query *q, ki_error *err) {
    char message[FILTER_MESSAGE_MAX];
    query *copy = query_is_empty(q) ? NULL : calloc(1, sizeof *copy);
    (void)err;
    if (!query_is_empty(q) && !(copy && query_open(copy, q->source, r->form.columns, message))) {
        free_query(copy);
        return KI_ERR_NO_MEMORY;
    }
    if (r->wanted.query != r->now.query)
        free_query(r->wanted.query);
    r->wanted.query = copy;
    r->is_stale = true;
    return KI_OK;
}

void rows_group(rows *r, grouping by) {
    r->wanted.by = by;
    r->is_stale = true;
}

void rows_toggle(rows *r, const char *group_text) {
    group *g = groups_find(&r->groups, group_text);
    if (g)
        g->is_toggled = !g->is_toggled;
    r->is_toggled = true;
}

/* ---- which group ---- */

static ki_status text_of_group(grouping by, const ki_object *obj, char text[OWNER_MAX], ki_error *err) {
    char node[KI_OBJECT_KEY_MAX];
    text[0] = '\0';
    switch (by) {
    case GROUP_NAMESPACE:
        snprintf(text, OWNER_MAX, "%s%s", *ki_object_namespace(obj) ? "namespace " : "cluster",
                 ki_object_namespace(obj));
        return KI_OK;
    case GROUP_NODE:
        snprintf(text, OWNER_MAX, "node %s", ki_object_string(obj, "spec.nodeName", "<none>", node, sizeof node));
        return KI_OK;
    case GROUP_OWNER:
        return fold_owner_of(obj, text, err);
    default:
        return KI_OK;
    }
}

/* Finds the group that an item is to be in, NULL if it does not pass. */
static ki_status find_group(const rows *r, const settings *with, groups *gs, item *it, int64_t wall_ms,
                            group **ret_group, ki_error *err) {
    char text[OWNER_MAX];
    row cells;
    bool passes = true;
    ki_status status = KI_OK;
    *ret_group = NULL;
    if (with->query) {
        const filter_subject subject = item_subject(&r->form, it, wall_ms, &cells);
        status = query_passes(with->query, &subject, &passes, err);
    }
    if (status || !passes)
        return status;
    status = text_of_group(with->by, it->obj, text, err);
    if (!status)
        *ret_group = groups_get(gs, text);
    return status ? status : *ret_group ? KI_OK : KI_ERR_NO_MEMORY;
}

static condition condition_of_item(const rows *r, item *it) {
    row cells;
    item_cells(it, &cells);
    return condition_of(r->form.columns, &cells, r->is_event);
}

/* ---- settling changes ---- */

/* The items that a settle takes out of the table and puts into it. */
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

static void forget(exchange *x) {
    free(x->leaving);
    free(x->entering);
}

/* Returns true for a deleted row whose light ends. */
static bool is_due(const light *l, int64_t now_ms) {
    return l->is_deleted && l->until_ms <= now_ms && !l->of->other;
}

/* Collects the items that enter and leave. Returns false if out of memory. */
static bool collect(rows *r, int64_t now_ms, exchange *x) {
    size_t dark = 0;
    for (size_t i = 0; i < r->staged_count; i++) {
        if (r->staged[i]->other)
            r->staged[i]->other->other = r->staged[i];
    }
    for (size_t i = 0; i < r->light_count; i++)
        dark += is_due(&r->lights[i], now_ms);
    *x = (exchange){ .leaving = malloc((r->staged_count + dark + 1) * sizeof(item *)),
                     .entering = malloc((r->staged_count + 1) * sizeof(item *)) };
    if (!x->leaving || !x->entering)
        return false;
    for (size_t i = 0; i < r->staged_count; i++) {
        x->entering[x->entering_count++] = r->staged[i];
        if (r->staged[i]->other)
            x->leaving[x->leaving_count++] = r->staged[i]->other;
    }
    for (size_t i = 0; i < r->light_count; i++) {
        if (is_due(&r->lights[i], now_ms))
            x->leaving[x->leaving_count++] = r->lights[i].of;
    }
    return true;
}

static bool reserve_lights(rows *r) {
    size_t needed = r->light_count + r->staged_count;
    if (needed <= r->light_capacity)
        return true;
    light *lights = realloc(r->lights, 2 * needed * sizeof *lights);
    if (!lights)
        return false;
    r->lights = lights;
    r->light_capacity = 2 * needed;
    return true;
}

/* Counts an item, or takes that back. Deleted items are not counted. */
static bool count_item(rows *r, item *it, bool is_added) {
    if (it->is_deleted)
        return true;
    condition one = condition_of_item(r, it);
    if (!is_added) {
        tally_remove(&r->counts, &one);
        if (it->group)
            tally_remove(&it->group->counts, &one);
        return true;
    }
    if (!tally_add(&r->counts, &one))
        return false;
    if (!it->group || tally_add(&it->group->counts, &one))
        return true;
    tally_remove(&r->counts, &one);
    return false;
}

/* Finds the groups of the entering items and makes room in all lists. */
static ki_status make_room(rows *r, exchange *x, int64_t wall_ms, ki_error *err) {
    if (!item_list_reserve(&r->all, x->entering_count) || !reserve_lights(r))
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < x->entering_count; i++) {
        item *it = x->entering[i];
        item_set_order(&r->form, &r->now.order, it);
        ki_status status = find_group(r, &r->now, &r->groups, it, wall_ms, &it->group, err);
        if (status)
            return status;
    }
    sort_items(x->entering, x->entering_count, by_group);
    for (size_t i = 0, next; i < x->entering_count; i = next) {
        group *g = x->entering[i]->group;
        for (next = i + 1; next < x->entering_count && x->entering[next]->group == g;)
            next++;
        if (g && !item_list_reserve(&g->list, next - i))
            return KI_ERR_NO_MEMORY;
    }
    return KI_OK;
}

/* Counts all entering items, or none. */
static bool count_entering(rows *r, const exchange *x) {
    for (size_t i = 0; i < x->entering_count; i++) {
        if (count_item(r, x->entering[i], true))
            continue;
        while (i-- > 0)
            count_item(r, x->entering[i], false);
        return false;
    }
    return true;
}

/* Returns the end of the items of one group. */
static size_t end_of_group(item *const *items, size_t begin, size_t count, const group *g) {
    size_t end = begin;
    while (end < count && items[end]->group == g)
        end++;
    return end;
}

/* Changes the lists of the groups. */
static void change_groups(const exchange *x) {
    for (size_t l = 0, e = 0; l < x->leaving_count || e < x->entering_count;) {
        group *left = l < x->leaving_count ? x->leaving[l]->group : NULL;
        group *right = e < x->entering_count ? x->entering[e]->group : NULL;
        bool has_left = l < x->leaving_count,
             is_left = has_left && (e == x->entering_count || (uintptr_t)left <= (uintptr_t)right);
        group *g = is_left ? left : right;
        size_t l_end = end_of_group(x->leaving, l, x->leaving_count, g);
        size_t e_end = end_of_group(x->entering, e, x->entering_count, g);
        if (g) {
            item_list_change(&g->list, x->leaving + l, l_end - l, x->entering + e, e_end - e);
            g->is_touched = true;
        }
        l = l_end;
        e = e_end;
    }
}

/* Moves the lights to the new versions, ends those that are due, and lights what has changed. */
static void change_lights(rows *r, int64_t now_ms) {
    size_t kept = 0;
    for (size_t i = 0; i < r->light_count; i++) {
        light l = r->lights[i];
        bool is_replaced = l.of->other;
        l.of->lit = 0;
        l.of->is_new = false;
        l.of = is_replaced ? l.of->other : l.of;
        if (l.until_ms > now_ms && !(is_replaced && l.is_deleted))
            r->lights[kept++] = l;
    }
    for (size_t i = 0; i < r->staged_count; i++) {
        item *it = r->staged[i];
        uint64_t cells = it->is_new || it->is_deleted ? UINT64_MAX : it->lit;
        if (cells)
            r->lights[kept++] = (light){ .of = it,
                                         .cells = cells,
                                         .until_ms = now_ms + ROWS_LIT_MS,
                                         .is_new = it->is_new,
                                         .is_deleted = it->is_deleted };
    }
    r->light_count = kept;
    r->next_dark_ms = INT64_MAX;
    for (size_t i = 0; i < kept; i++) {
        light *l = &r->lights[i];
        l->of->lit |= l->cells;
        l->of->is_new |= l->is_new;
        r->next_dark_ms = l->until_ms < r->next_dark_ms ? l->until_ms : r->next_dark_ms;
    }
}

/* Changes the table. */
static void commit(rows *r, exchange *x, int64_t now_ms) {
    for (size_t i = 0; i < x->leaving_count; i++)
        count_item(r, x->leaving[i], false);
    sort_items(x->leaving, x->leaving_count, by_group);
    change_groups(x);
    sort_items(x->leaving, x->leaving_count, by_order);
    sort_items(x->entering, x->entering_count, by_order);
    item_list_change(&r->all, x->leaving, x->leaving_count, x->entering, x->entering_count);
    change_lights(r, now_ms);
    for (size_t i = 0; i < x->leaving_count; i++) {
        if (!x->leaving[i]->other) /* a deleted row, the newest version */
            map_remove(r, map_place(r, ki_object_key(x->leaving[i]->obj)));
        item_free(x->leaving[i]);
    }
    for (size_t i = 0; i < r->staged_count; i++) {
        r->staged[i]->is_staged = false;
        r->staged[i]->other = NULL;
    }
    r->staged_count = 0;
}

static ki_status settle_changes(rows *r, int64_t now_ms, int64_t wall_ms, ki_error *err) {
    exchange x;
    ki_status status = collect(r, now_ms, &x) ? make_room(r, &x, wall_ms, err) : KI_ERR_NO_MEMORY;
    if (!status && !count_entering(r, &x))
        status = KI_ERR_NO_MEMORY;
    if (!status)
        commit(r, &x, now_ms);
    forget(&x);
    return status;
}

/* ---- settling what is wanted ---- */

/* Puts all items that pass into new groups, in the order that they have now. */
static ki_status fill_groups(const rows *r, groups *gs, int64_t wall_ms, ki_error *err) {
    if (r->wanted.by == r->now.by && !groups_open_as(gs, &r->groups))
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < r->all.count; i++) {
        item *it = r->all.items[i];
        group *g = NULL;
        ki_status status = find_group(r, &r->wanted, gs, it, wall_ms, &g, err);
        if (status)
            return status;
        if (!g)
            continue;
        condition one = condition_of_item(r, it);
        if (!item_list_reserve(&g->list, 1) || (!it->is_deleted && !tally_add(&g->counts, &one)))
            return KI_ERR_NO_MEMORY;
        g->list.items[g->list.count++] = it;
        g->is_touched = true;
    }
    return KI_OK;
}

/* Gives the items their new groups and the order that is wanted. */
static void regroup(rows *r, groups *gs) {
    const item_order *now = &r->now.order, *wanted = &r->wanted.order;
    bool is_sorted = now->column == wanted->column && now->is_descending == wanted->is_descending;
    for (size_t i = 0; i < r->all.count; i++) {
        r->all.items[i]->group = NULL;
        if (!is_sorted)
            item_set_order(&r->form, wanted, r->all.items[i]);
    }
    for (size_t i = 0; i < gs->count; i++) {
        item_list *list = &gs->all[i]->list;
        for (size_t k = 0; k < list->count; k++)
            list->items[k]->group = gs->all[i];
        if (!is_sorted)
            sort_items(list->items, list->count, by_order);
    }
    if (!is_sorted)
        sort_items(r->all.items, r->all.count, by_order);
}

static ki_status settle_settings(rows *r, int64_t now_ms, int64_t wall_ms, ki_error *err) {
    groups gs = { .has_headings = r->wanted.by != GROUP_NONE };
    ki_status status = fill_groups(r, &gs, wall_ms, err);
    if (status) {
        groups_clear(&gs);
        return status;
    }
    regroup(r, &gs);
    groups_clear(&r->groups);
    r->groups = gs;
    if (r->now.query != r->wanted.query)
        free_query(r->now.query);
    r->now = r->wanted;
    r->is_stale = false;
    r->passed_ms = now_ms;
    return KI_OK;
}

static bool needs_new_ages(const rows *r, int64_t now_ms) {
    return r->now.query && r->now.query->has_ages && now_ms - r->passed_ms >= AGES_MS;
}

static bool has_changes(const rows *r, int64_t now_ms) {
    return r->staged_count || (r->light_count && r->next_dark_ms <= now_ms);
}

bool rows_are_dirty(const rows *r, int64_t now_ms) {
    return r->is_stale || r->is_toggled || has_changes(r, now_ms) || needs_new_ages(r, now_ms);
}

static void toggle_groups(rows *r) {
    for (size_t i = 0; i < r->groups.count; i++) {
        group *g = r->groups.all[i];
        g->is_open ^= g->is_toggled;
        g->is_toggled = false;
    }
    r->is_toggled = false;
}

ki_status rows_settle(rows *r, int64_t now_ms, int64_t wall_ms, ki_error *err) {
    ki_status status = KI_OK;
    if (!rows_are_dirty(r, now_ms))
        return KI_OK;
    if (has_changes(r, now_ms))
        status = settle_changes(r, now_ms, wall_ms, err);
    if (status)
        return status;
    toggle_groups(r);
    if (r->is_stale || needs_new_ages(r, now_ms))
        status = settle_settings(r, now_ms, wall_ms, err);
    groups_arrange(&r->groups, r->form.columns);
    return status;
}

/* ---- the lines ---- */

size_t rows_line_count(const rows *r) {
    return r->groups.line_count;
}

rows_line rows_line_at(const rows *r, size_t index) {
    const group *g = groups_at_line(&r->groups, index);
    size_t place = index - g->first_line;
    if (r->groups.has_headings && place == 0)
        return (rows_line){ .group = g->text, .counts = &g->counts, .worst = g->worst, .is_open = g->is_open };
    const item *it = g->list.items[place - r->groups.has_headings];
    return (rows_line){ .obj = it->obj,
                        .state = it->is_deleted ? ROW_IS_DELETED
                                 : it->is_new   ? ROW_IS_NEW
                                                : ROW_IS_THERE,
                        .lit = it->lit };
}

size_t rows_line_of(const rows *r, const char *key, const char *group_text) {
    const group *g = key ? NULL : groups_find(&r->groups, group_text);
    if (!key)
        return g && g->list.count && r->groups.has_headings ? g->first_line : SIZE_MAX;
    const item *it = *map_place(r, key);
    it = it && it->is_staged ? it->other : it;
    g = it ? it->group : NULL;
    if (!g || (r->groups.has_headings && !g->is_open))
        return SIZE_MAX;
    return g->first_line + r->groups.has_headings + item_list_find(&g->list, it);
}

size_t rows_count(const rows *r) {
    return r->counts.objects;
}

size_t rows_count_passing(const rows *r) {
    return r->groups.passing;
}

const tally *rows_tally(const rows *r) {
    return &r->counts;
}

size_t rows_width(const rows *r, size_t column) {
    return column < ki_columns_count(r->form.columns) ? r->form.widths[column] : 0;
}

size_t rows_namespace_width(const rows *r) {
    return r->form.namespace_width;
}
