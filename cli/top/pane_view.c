/* pane_view.c: see pane_view.h. */
#include "pane_view.h"

#include "cli/output.h"

#include <string.h>

/* The lines that are left. */
typedef struct room {
    canvas *canvas;
    size_t lines;
} room;

static bool next_line(room *r) {
    if (!r->lines)
        return false;
    r->lines--;
    return canvas_line(r->canvas);
}

static void draw_title(const model *m, const ki_object *obj, room *r) {
    char kind[64];
    if (!next_line(r))
        return;
    snprintf(kind, sizeof kind, " %.60s", ki_object_kind(obj));
    make_lower(kind);
    canvas_add(r->canvas, STYLE_BAR, kind, 0);
    canvas_add(r->canvas, STYLE_BAR, " ", 0);
    canvas_add(r->canvas, STYLE_BAR, ki_object_key(obj), 0);
    if (m->details.owners[0])
        canvas_printf(r->canvas, STYLE_BAR, " ← %s", m->details.owners);
    canvas_move(r->canvas, canvas_width(r->canvas), STYLE_BAR);
}

/* Adds "3m20s  Warning  BackOff  Back-off restarting failed container". */
static ki_status draw_event(const model *m, const ki_object *event, room *r, moment at, ki_error *err) {
    static const char *const names[] = { "Last Seen", "Type", "Reason", "Message" };
    row cells = { .text = NULL };
    const ki_columns *columns = m->details.event_columns;
    ki_status status = row_read(&cells, columns, event, at.wall_ms, err);
    if (status) {
        row_clear(&cells);
        return status;
    }
    bool is_warning = strcmp(row_cell(&cells, column_named(columns, "Type")), "Warning") == 0;
    canvas_add(r->canvas, STYLE_DIM, "event ", 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        canvas_add(r->canvas, is_warning ? STYLE_WARNING : STYLE_PLAIN,
                   row_cell(&cells, column_named(columns, names[i])), 0);
        canvas_add(r->canvas, STYLE_PLAIN, "  ", 0);
    }
    row_clear(&cells);
    return KI_OK;
}

static ki_status draw_events(const model *m, room *r, size_t most, moment at, ki_error *err) {
    ki_status status = KI_OK;
    if (m->details.message[0] && next_line(r))
        canvas_printf(r->canvas, STYLE_WARNING, "events: %s", m->details.message);
    for (size_t i = 0; i < m->details.event_count && i < most && !status && next_line(r); i++)
        status = draw_event(m, m->details.events[i], r, at, err);
    return status;
}

static void draw_changes(const tab *t, const char *key, room *r) {
    const history_line *line = NULL;
    while (r->lines && (line = history_next(t->history, key, line)) && next_line(r))
        canvas_add(r->canvas, STYLE_PLAIN, line->text, 0);
}

ki_status pane_draw(const model *m, canvas *c, size_t height, moment at, ki_error *err) {
    room r = { .canvas = c, .lines = height };
    const ki_object *obj = model_selected(m);
    ki_status status = KI_OK;
    if (obj) {
        draw_title(m, obj, &r);
        status = draw_events(m, &r, (height - 1) / 2, at, err);
        draw_changes(model_tab(m), ki_object_key(obj), &r);
    } else if (next_line(&r)) {
        canvas_move(c, canvas_width(c), STYLE_BAR);
    }
    while (next_line(&r))
        ;
    return status;
}
