/* item.c: see item.h. */
#include "item.h"

#include "cli/lines/cell_value.h"
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    AGE_WIDTH = 6,        /* "1y364d" */
    AGO_WIDTH = 6 + 5 + 1 /* " (5m10s ago)" */
};

static uint64_t bit_of(size_t column) {
    return UINT64_C(1) << column;
}

void item_form_init(item_form *form, const ki_columns *columns) {
    *form = (item_form){ .columns = columns };
    for (size_t i = 0; i < ki_columns_count(columns); i++) {
        const ki_column *column = ki_columns_at(columns, i);
        form->widths[i] = width_of(column->name);
        if (column_is_age(column)) {
            form->ages |= bit_of(i);
            form->widths[i] = form->widths[i] < AGE_WIDTH ? AGE_WIDTH : form->widths[i];
        }
        form->has_age |= strcmp(column->name, "Age") == 0;
    }
}

void item_form_clear(item_form *form) {
    row_clear(&form->cells);
}

/* ---- reading ---- */

static void widen(size_t *width, size_t own) {
    *width = *width < own ? own : *width;
}

/* Widens the columns for these cells, with room for the ages that they will have. */
static void widen_columns(item_form *form, const row *cells) {
    for (size_t i = 0; i < cells->count; i++) {
        const char *cell = row_cell(cells, i);
        size_t size = row_size_without_age(cell);
        widen(&form->widths[i], cell[size] ? size + AGO_WIDTH : width_of(cell));
    }
}

/* Reads when the object was created, seconds since 1970; 0 if that is unknown. */
static ki_status read_created(const ki_object *obj, uint32_t *ret_seconds, ki_error *err) {
    ki_value text = KI_VALUE_INIT;
    struct tm parts = { 0 };
    ki_status status = ki_object_field(obj, "metadata.creationTimestamp", &text, err);
    bool is_time = !status && text.type == KI_VALUE_STRING && strptime(text.text, "%Y-%m-%dT%H:%M:%S", &parts);
    time_t seconds = is_time ? timegm(&parts) : 0;
    *ret_seconds = seconds > 0 && seconds < UINT32_MAX ? (uint32_t)seconds : 0;
    ki_value_clear(&text);
    return status == KI_ERR_NO_MEMORY ? status : KI_OK;
}

/* Returns an item with these cells; NULL if out of memory. */
static item *make(const ki_object *obj, const row *cells) {
    size_t size = cells->size;
    item *it = malloc(offsetof(item, cells) + size > sizeof *it ? offsetof(item, cells) + size : sizeof *it);
    if (!it)
        return NULL;
    *it = (item){ .obj = ki_object_ref(obj), .cell_count = (uint8_t)cells->count };
    if (size)
        memcpy(it->cells, cells->text, size);
    return it;
}

ki_status item_new(item_form *form, const ki_object *obj, int64_t wall_ms, item **ret_item, ki_error *err) {
    uint32_t created_s = 0;
    ki_status status = row_read(&form->cells, form->columns, obj, wall_ms, err);
    if (!status && form->has_age)
        status = read_created(obj, &created_s, err);
    item *it = status ? NULL : make(obj, &form->cells);
    if (!it)
        return KI_ERR_NO_MEMORY;
    it->read_s = (uint32_t)(wall_ms / 1000);
    it->created_s = created_s;
    widen_columns(form, &form->cells);
    widen(&form->namespace_width, width_of(ki_object_namespace(obj)));
    *ret_item = it;
    return KI_OK;
}

void item_free(item *it) {
    ki_object_unref(it->obj);
    free(it);
}

/* ---- cells ---- */

void item_cells(item *it, row *ret_cells) {
    size_t begin = 0;
    ret_cells->text = it->cells;
    ret_cells->count = it->cell_count;
    for (size_t i = 0; i < it->cell_count; i++) {
        ret_cells->begins[i] = begin;
        begin += strlen(it->cells + begin) + 1;
    }
}

filter_subject item_subject(const item_form *form, item *it, int64_t wall_ms, row *cells) {
    const int64_t second_ms = 1000;
    item_cells(it, cells);
    return (filter_subject){ .columns = form->columns,
                             .cells = cells,
                             .obj = it->obj,
                             .elapsed_ms = wall_ms - it->read_s * second_ms,
                             .age_ms = it->created_s ? wall_ms - it->created_s * second_ms : -1 };
}

static bool has_changed(const char *before, const char *after, bool is_age) {
    if (strcmp(before, after) == 0)
        return false;
    if (is_age) {
        cell_value was = value_of(before, true), is = value_of(after, true);
        return was.kind != VALUE_DURATION || is.kind != VALUE_DURATION || is.number < was.number;
    }
    size_t size = row_size_without_age(before);
    return size != row_size_without_age(after) || memcmp(before, after, size) != 0;
}

uint64_t item_changes(const item_form *form, const item *before, const item *after) {
    uint64_t changes = 0;
    size_t count = before->cell_count < after->cell_count ? before->cell_count : after->cell_count;
    const char *was = before->cells, *is = after->cells;
    for (size_t i = 0; i < count; i++) {
        if (has_changed(was, is, form->ages & bit_of(i)))
            changes |= bit_of(i);
        was += strlen(was) + 1;
        is += strlen(is) + 1;
    }
    return changes;
}

/* ---- order ---- */

/* Returns when an age began, as an age that grows with the time since then. */
static double age_of(const item_form *form, size_t column, const item *it, const cell_value *v) {
    bool is_of_object = strcmp(ki_columns_at(form->columns, column)->name, "Age") == 0;
    return is_of_object && it->created_s ? -(double)it->created_s : v->number - (double)it->read_s;
}

void item_set_order(const item_form *form, const item_order *order, item *it) {
    size_t begin = 0;
    it->kind = VALUE_MISSING;
    it->number = 0;
    it->text = 0;
    it->is_by_key = order->column == ORDER_BY_KEY;
    it->is_descending = order->is_descending;
    if (order->column >= it->cell_count)
        return;
    for (size_t i = 0; i < order->column; i++)
        begin += strlen(it->cells + begin) + 1;
    cell_value v = value_of(it->cells + begin, column_has_durations(ki_columns_at(form->columns, order->column)));
    if (v.kind == VALUE_DURATION && (form->ages & bit_of(order->column)))
        v.number = age_of(form, order->column, it, &v);
    it->kind = (uint8_t)v.kind;
    it->number = v.number;
    it->text = (uint32_t)begin;
}

/* Compares what two items are sorted by. What is missing is last in both directions. */
static int compare_values(const item *a, const item *b) {
    const cell_value left = { .kind = (value_kind)a->kind, .number = a->number, .text = a->cells + a->text };
    const cell_value right = { .kind = (value_kind)b->kind, .number = b->number, .text = b->cells + b->text };
    int order = value_compare(&left, &right);
    bool is_missing = left.kind == VALUE_MISSING || right.kind == VALUE_MISSING;
    return a->is_descending && !is_missing ? -order : order;
}

int item_compare(const item *a, const item *b) {
    int order = compare_values(a, b);
    if (order)
        return order;
    order = strcmp(ki_object_namespace(a->obj), ki_object_namespace(b->obj));
    order = order ? order : strcmp(ki_object_name(a->obj), ki_object_name(b->obj));
    return a->is_by_key && a->is_descending ? -order : order;
}
