/* table_view.c: see table_view.h. Ages are those of now: the cells of the shown rows are read for each picture. */
#include "table_view.h"

#include "cli/rows/severity.h"

#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    GAP = 2,       /* blanks between columns */
    SIGN = 2,      /* columns of the sign before a row */
    NAME_MIN = 20, /* a name is shortened to this before columns at the right are left out */
    NAMESPACE_MIN = 9,
    LAST_MIN = 20, /* columns of the last one that shorten the names */
    STATUSES_SHOWN = 4,
    STATUSES_MAX = 64
};

/* Where the columns are. */
typedef struct layout {
    size_t namespace_width; /* 0: there is none */
    size_t widths[KI_COLUMNS_MAX];
    size_t name;  /* the column of the name */
    size_t first; /* the first one that is shown after it */
} layout;

static const style styles[] = { [SEVERITY_GOOD] = STYLE_PLAIN,
                                [SEVERITY_PLAIN] = STYLE_PLAIN,
                                [SEVERITY_WAITING] = STYLE_WARNING,
                                [SEVERITY_BAD] = STYLE_BAD };

static const char namespace_heading[] = "Namespace";

/* Returns true for a column that is shown, and that is not scrolled away. */
static bool is_shown(const tab *t, const layout *l, size_t column) {
    return tab_has_column(t, column) && (column <= l->name || column >= l->first);
}

/* Returns the first column that is shown after the name. */
static size_t first_column(const tab *t) {
    size_t first = tab_name_column(t) + 1;
    for (size_t left = tab_left(t); left; first++)
        left -= tab_has_column(t, first);
    return first;
}

/* Takes from `*width` what is missing, but leaves `least`. */
static void shrink(size_t *width, size_t least, size_t *missing) {
    size_t can = *width > least ? *width - least : 0, takes = can < *missing ? can : *missing;
    *width -= takes;
    *missing -= takes;
}

static layout layout_of(tab *t, size_t width) {
    layout l = { .name = tab_name_column(t), .first = first_column(t) };
    size_t used = SIGN, last = 0;
    if (t->is.has_namespaces) {
        size_t cells = rows_namespace_width(t->rows), heading = sizeof namespace_heading - 1;
        l.namespace_width = cells > heading ? cells : heading;
        used += l.namespace_width + GAP;
    }
    for (size_t i = 0; i < ki_columns_count(t->is.columns); i++) {
        l.widths[i] = rows_width(t->rows, i);
        last = is_shown(t, &l, i) ? l.widths[i] + GAP : last;
        used += is_shown(t, &l, i) ? last : 0;
    }
    used -= last > LAST_MIN ? last - LAST_MIN : 0; /* a message: it is cut at the edge */
    size_t missing = used > width + GAP ? used - GAP - width : 0;
    shrink(&l.widths[l.name], NAME_MIN, &missing);
    if (l.namespace_width)
        shrink(&l.namespace_width, NAMESPACE_MIN, &missing);
    return l;
}

/* ---- headings ---- */

static void draw_heading(canvas *c, const char *name, size_t width, const char *sign) {
    char text[128];
    size_t begin = canvas_column(c);
    snprintf(text, sizeof text, "%.100s", name);
    make_upper(text);
    canvas_add(c, STYLE_HEADING, text, width);
    canvas_add(c, STYLE_HEADING, sign, 0);
    canvas_move(c, begin + width + GAP, STYLE_HEADING);
}

static void draw_headings(const tab *t, const layout *l, canvas *c) {
    const char *sign = t->is_descending ? "↓" : "↑";
    const ki_column *first = ki_columns_at(t->is.columns, l->name);
    bool has_key_sign = t->sorted_by == ROWS_BY_KEY && first && strcmp(first->format, "name") == 0;
    canvas_move(c, SIGN, STYLE_HEADING);
    if (l->namespace_width)
        draw_heading(c, namespace_heading, l->namespace_width, t->sorted_by == ROWS_BY_KEY ? sign : "");
    for (size_t i = 0; i < ki_columns_count(t->is.columns); i++) {
        bool is_sorted = t->sorted_by == i || (has_key_sign && i == l->name && !l->namespace_width);
        if (is_shown(t, l, i))
            draw_heading(c, ki_columns_at(t->is.columns, i)->name, l->widths[i], is_sorted ? sign : "");
    }
    canvas_move(c, canvas_width(c), STYLE_HEADING);
}

/* ---- groups ---- */

/* A status, and how bad it is. */
typedef struct rated {
    const tally_row *of;
    severity severity;
    bool lacks_ready; /* it would be better if all of its objects were ready */
} rated;

static int by_severity(const void *a, const void *b) {
    const rated *left = a, *right = b;
    if (left->severity != right->severity)
        return left->severity > right->severity ? -1 : 1;
    return left->of->count > right->of->count ? -1 : left->of->count < right->of->count;
}

static void add_count(canvas *c, const rated *one, const char *before) {
    char number[32];
    const tally_row *of = one->of;
    canvas_printf(c, styles[one->severity], "%s%s %s", before, with_commas(of->count, number), of->of.status);
    if (one->lacks_ready)
        canvas_printf(c, STYLE_WARNING, " (%s ready)", with_commas(of->ready, number));
}

void table_add_counts(canvas *c, const ki_columns *columns, const tally *counts) {
    rated worst[STATUSES_MAX];
    bool has_ready = columns_have_ready(columns);
    size_t count = 0;
    for (size_t i = 0; i < counts->count && count < STATUSES_MAX; i++) {
        const tally_row *some = &counts->rows[i];
        condition of = some->of, ready = some->of;
        of.is_ready = !has_ready || some->ready == some->count;
        ready.is_ready = true;
        severity is = severity_of(columns, &of);
        if (some->count && *of.status)
            worst[count++] = (rated){ .of = some, .severity = is, .lacks_ready = is > severity_of(columns, &ready) };
    }
    qsort(worst, count, sizeof worst[0], by_severity);
    for (size_t i = 0; i < count && i < STATUSES_SHOWN; i++)
        add_count(c, &worst[i], i ? "  " : "");
    if (count > STATUSES_SHOWN)
        canvas_add(c, STYLE_DIM, "  …", 0);
}

static void draw_group(const tab *t, const rows_line *line, canvas *c) {
    char number[32], one[64];
    snprintf(one, sizeof one, "%.60s", t->is.kind);
    make_lower(one);
    canvas_add(c, STYLE_PLAIN, line->is_open ? "▾ " : "▸ ", 0);
    canvas_add(c, STYLE_HEADING, line->group, 0);
    canvas_printf(c, STYLE_PLAIN, "  %s %s  ", with_commas(line->counts->objects, number),
                  line->counts->objects == 1 ? one : t->is.plural);
    table_add_counts(c, t->is.columns, line->counts);
}

/* ---- rows ---- */

/* Adds a cell, with "…" in its middle where `is_name` and too long. */
static void draw_cell(canvas *c, style in, const char *text, size_t width, bool is_name) {
    char *shorter = NULL;
    size_t size = 0, begin = canvas_column(c);
    FILE *out = is_name && display_width(text) > width ? open_memstream(&shorter, &size) : NULL;
    if (out) {
        display_shorten(text, width, out);
        fclose(out);
    }
    canvas_add(c, in, shorter ? shorter : text, width);
    canvas_move(c, begin + width, STYLE_PLAIN);
    free(shorter);
}

static style style_of(const tab *t, const rows_line *line, const row *cells, size_t column) {
    const condition of = condition_of(t->is.columns, cells, t->is.is_event);
    if (line->state == ROW_IS_DELETED)
        return STYLE_DIM;
    if (line->state == ROW_IS_NEW || line->lit >> column & 1)
        return STYLE_LIT;
    severity is = severity_of(t->is.columns, &of);
    bool is_status = column == column_of_status(t->is.columns) || column == column_named(t->is.columns, "Ready");
    return is_status && is > SEVERITY_PLAIN ? styles[is] : STYLE_PLAIN;
}

static ki_status draw_row(const tab *t, const layout *l, const rows_line *line, canvas *c, moment at, ki_error *err) {
    static const char *const signs[] = { [ROW_IS_THERE] = "", [ROW_IS_NEW] = "+", [ROW_IS_DELETED] = "-" };
    row cells = { .text = NULL };
    ki_status status = row_read(&cells, t->is.columns, line->obj, at.wall_ms, err);
    if (status) {
        row_clear(&cells);
        return status;
    }
    bool is_changed = line->state == ROW_IS_THERE && line->lit;
    canvas_add(c, STYLE_PLAIN, is_changed ? "~" : signs[line->state], 1);
    canvas_move(c, SIGN, STYLE_PLAIN);
    if (l->namespace_width) {
        draw_cell(c, line->state == ROW_IS_DELETED ? STYLE_DIM : STYLE_PLAIN, ki_object_namespace(line->obj),
                  l->namespace_width, true);
        canvas_move(c, SIGN + l->namespace_width + GAP, STYLE_PLAIN);
    }
    for (size_t i = 0; i < ki_columns_count(t->is.columns); i++) {
        if (!is_shown(t, l, i))
            continue;
        size_t begin = canvas_column(c);
        draw_cell(c, style_of(t, line, &cells, i), row_cell(&cells, i), l->widths[i], i == l->name);
        canvas_move(c, begin + l->widths[i] + GAP, STYLE_PLAIN);
    }
    row_clear(&cells);
    return KI_OK;
}

ki_status table_draw(tab *t, canvas *c, size_t height, moment at, ki_error *err) {
    ki_status status = KI_OK;
    tab_scroll(t, height);
    size_t count = rows_line_count(t->rows) - t->first;
    count = count < height ? count : height;
    const layout l = layout_of(t, canvas_width(c));
    canvas_line(c);
    draw_headings(t, &l, c);
    for (size_t i = 0; i < height && !status; i++) {
        canvas_line(c);
        if (i >= count)
            continue;
        const rows_line line = rows_line_at(t->rows, t->first + i);
        if (t->first + i == t->line)
            canvas_select_line(c);
        if (line.obj)
            status = draw_row(t, &l, &line, c, at, err);
        else
            draw_group(t, &line, c);
    }
    return status;
}
