/* rows.c: see rows.h.
 *
 * Each version of an object is an item. rows_change puts a new version into the map and among the staged ones; the
 * table keeps the version before until rows_settle replaces it. */
#include "rows.h"

#include "table.h"

#include <stdlib.h>
#include <string.h>

enum {
    AGES_MS = 1000,    /* how often conditions of ages are evaluated */
    STAGED_KEPT = 4096 /* room for changes that is kept; the initial objects need more */
};

struct rows {
    item_form form;
    table table;
    item_map newest;
    item **staged; /* versions that are newer than those of the table */
    size_t staged_count, staged_capacity;
    table_settings wanted; /* owns its query */
    bool is_stale;         /* the table is not as wanted */
    bool is_toggled;       /* a group is */
    int64_t passed_ms;     /* when the query was last evaluated for all */
};

/* ---- changes ---- */

rows *rows_new(const ki_columns *columns, bool is_event) {
    const item_order by_key = { .column = ORDER_BY_KEY };
    rows *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    item_form_init(&r->form, columns);
    r->table.form = &r->form;
    r->table.is_event = is_event;
    r->table.now.order = r->wanted.order = by_key;
    if (!item_map_open(&r->newest)) {
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
    if (r->wanted.query != r->table.now.query)
        free_query(r->wanted.query);
    free_query(r->table.now.query);
    table_clear(&r->table);
    item_map_close(&r->newest);
    item_form_clear(&r->form);
    free(r->staged);
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
    item_map_put(&r->newest, at, it);
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
    item **at = item_map_find(&r->newest, ki_object_key(obj)), *before = *at, *it = NULL;
    bool was_there = before && !before->is_deleted;
    if (type == CHANGE_DELETED && !was_there)
        return KI_OK;
    if (type == CHANGE_DELETED && before->is_staged && !before->other) { /* it was never in the table */
        item_map_remove(&r->newest, at);
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
    if (r->wanted.query != r->table.now.query)
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
    group *g = groups_find(&r->table.groups, group_text);
    if (!g)
        return;
    g->is_toggled = !g->is_toggled;
    r->is_toggled = true;
}

/* ---- settling ---- */

static ki_status settle_settings(rows *r, const table_time *at, ki_error *err) {
    query *before = r->table.now.query;
    ki_status status = table_arrange(&r->table, &r->wanted, at, err);
    if (status)
        return status;
    if (before != r->wanted.query)
        free_query(before);
    r->is_stale = false;
    r->passed_ms = at->now_ms;
    return KI_OK;
}

static bool needs_new_ages(const rows *r, int64_t now_ms) {
    return r->table.now.query && r->table.now.query->has_ages && now_ms - r->passed_ms >= AGES_MS;
}

static bool has_changes(const rows *r, int64_t now_ms) {
    return r->staged_count || lights_are_due(&r->table.lights, now_ms);
}

bool rows_are_dirty(const rows *r, int64_t now_ms) {
    return r->is_stale || r->is_toggled || has_changes(r, now_ms) || needs_new_ages(r, now_ms);
}

static void toggle_groups(rows *r) {
    groups *gs = &r->table.groups;
    for (size_t i = 0; i < gs->count; i++) {
        gs->all[i]->is_open ^= gs->all[i]->is_toggled;
        gs->all[i]->is_toggled = false;
    }
    groups_arrange(gs, r->form.columns);
    r->is_toggled = false;
}

static void forget_staged(rows *r) {
    r->staged_count = 0;
    if (r->staged_capacity <= STAGED_KEPT)
        return;
    free(r->staged);
    r->staged = NULL;
    r->staged_capacity = 0;
}

ki_status rows_settle(rows *r, int64_t now_ms, int64_t wall_ms, ki_error *err) {
    const table_time at = { .now_ms = now_ms, .wall_ms = wall_ms };
    if (has_changes(r, now_ms)) {
        ki_status status = table_change(&r->table, &r->newest, r->staged, r->staged_count, &at, err);
        if (status)
            return status;
        forget_staged(r);
    }
    if (r->is_toggled)
        toggle_groups(r);
    return r->is_stale || needs_new_ages(r, now_ms) ? settle_settings(r, &at, err) : KI_OK;
}

/* ---- the lines ---- */

size_t rows_line_count(const rows *r) {
    return r->table.groups.line_count;
}

rows_line rows_line_at(const rows *r, size_t index) {
    const group *g = groups_at_line(&r->table.groups, index);
    size_t place = index - g->first_line;
    if (r->table.groups.has_headings && place == 0)
        return (rows_line){ .group = g->text, .counts = &g->counts, .worst = g->worst, .is_open = g->is_open };
    const item *it = g->list.items[place - r->table.groups.has_headings];
    return (rows_line){ .obj = it->obj,
                        .state = it->is_deleted ? ROW_IS_DELETED
                                 : it->is_new   ? ROW_IS_NEW
                                                : ROW_IS_THERE,
                        .lit = it->lit };
}

/* Returns the version that the table has; NULL if it has none. */
static const item *find_item(const rows *r, const char *key) {
    const item *it = *item_map_find(&r->newest, key);
    return it && it->is_staged ? it->other : it;
}

size_t rows_line_of(const rows *r, const char *key, const char *group_text) {
    const group *g = key ? NULL : groups_find(&r->table.groups, group_text);
    if (!key)
        return g && g->list.count && r->table.groups.has_headings ? g->first_line : SIZE_MAX;
    const item *it = find_item(r, key);
    g = it ? it->group : NULL;
    if (!g || (r->table.groups.has_headings && !g->is_open))
        return SIZE_MAX;
    return g->first_line + r->table.groups.has_headings + item_list_find(&g->list, it);
}

const ki_object *rows_object(const rows *r, const char *key, bool *ret_is_deleted) {
    const item *it = find_item(r, key);
    *ret_is_deleted = !it || it->is_deleted;
    return it ? it->obj : NULL;
}

size_t rows_count(const rows *r) {
    return r->table.counts.objects;
}

size_t rows_count_passing(const rows *r) {
    return r->table.groups.passing;
}

const tally *rows_tally(const rows *r) {
    return &r->table.counts;
}

size_t rows_width(const rows *r, size_t column) {
    return column < ki_columns_count(r->form.columns) ? r->form.widths[column] : 0;
}

size_t rows_namespace_width(const rows *r) {
    return r->form.namespace_width;
}
