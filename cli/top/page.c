/* page.c: see page.h. */
#include "page.h"

#include "health_view.h"
#include "pane_view.h"
#include "table_view.h"

#include "cli/output.h"

#include <string.h>

enum {
    PANE_FROM = 14, /* lines of a screen that has room for a pane */
    TABS_FROM = 5   /* lines of a screen that has room for the tabs and the health */
};

/* ---- the tabs ---- */

/* Writes " 1 pods 2,000 ". */
static void write_tab(const model *m, size_t index, char text[160]) {
    char number[32];
    if (index == m->count)
        snprintf(text, 160, " 0 summary ");
    else
        snprintf(text, 160, " %zu %.80s %s ", index + 1, m->tabs[index].is.plural,
                 with_commas(rows_count(m->tabs[index].rows), number));
}

/* Returns the first tab to draw, so that the current one is within the width. */
static size_t first_tab(const model *m, size_t width) {
    char text[160];
    size_t used = 0, first = m->current + 1;
    while (first) {
        write_tab(m, first - 1, text);
        used += strlen(text);
        if (used > width && first <= m->current)
            break;
        first--;
    }
    return first;
}

static void draw_tabs(const model *m, canvas *c) {
    char text[160];
    canvas_line(c);
    for (size_t i = first_tab(m, canvas_width(c)); i <= m->count; i++) {
        write_tab(m, i, text);
        canvas_add(c, i == m->current ? STYLE_HEADING : STYLE_BAR, text, 0);
    }
    canvas_move(c, canvas_width(c), STYLE_BAR);
}

/* ---- the summary ---- */

static void draw_summary_line(const model *m, const summary_line *line, canvas *c) {
    static const style styles[] = { [SEVERITY_GOOD] = STYLE_PLAIN,
                                    [SEVERITY_PLAIN] = STYLE_PLAIN,
                                    [SEVERITY_WAITING] = STYLE_WARNING,
                                    [SEVERITY_BAD] = STYLE_BAD };
    char number[32];
    canvas_printf(c, STYLE_PLAIN, "%9s  ", with_commas(line->count, number));
    canvas_add(c, STYLE_PLAIN, m->tabs[line->tab].is.plural, 24);
    canvas_move(c, 37, STYLE_PLAIN);
    canvas_add(c, styles[line->severity], *line->of.status ? line->of.status : "-", 0);
    if (line->is_unready)
        canvas_add(c, styles[line->severity], ", not ready", 0);
}

static void draw_summary(model *m, canvas *c, size_t height) {
    canvas_line(c);
    canvas_printf(c, STYLE_HEADING, "%9s  %-24s  %s", "COUNT", "RESOURCE", "STATUS");
    canvas_move(c, canvas_width(c), STYLE_HEADING);
    if (m->summary_line < m->scroll)
        m->scroll = m->summary_line;
    if (height && m->summary_line >= m->scroll + height)
        m->scroll = m->summary_line - height + 1;
    for (size_t i = 0; i < height; i++) {
        canvas_line(c);
        if (m->scroll + i >= m->summary.count)
            continue;
        if (m->scroll + i == m->summary_line)
            canvas_select_line(c);
        draw_summary_line(m, &m->summary.lines[m->scroll + i], c);
    }
}

/* Draws the health of the tab that is worst. */
static void draw_summary_health(const model *m, canvas *c) {
    const tab *worst = &m->tabs[0];
    for (size_t i = 1; i < m->count; i++) {
        if (m->tabs[i].health.state != KI_STATE_WATCHING && worst->health.state == KI_STATE_WATCHING)
            worst = &m->tabs[i];
        else if (m->tabs[i].health.state == worst->health.state &&
                 m->tabs[i].health.staleness_ms > worst->health.staleness_ms)
            worst = &m->tabs[i];
    }
    canvas_printf(c, STYLE_PLAIN, "%s: ", worst->is.plural);
    health_draw(worst, m->server, c);
}

/* ---- texts ---- */

static void draw_object(model *m, canvas *c, size_t height) {
    canvas_line(c);
    canvas_printf(c, STYLE_HEADING, "%s %s%s", ki_object_kind(m->object.obj), ki_object_key(m->object.obj),
                  m->is_object_deleted ? " (deleted)" : "");
    canvas_move(c, canvas_width(c), STYLE_HEADING);
    size_t last = m->object.count > height ? m->object.count - height : 0;
    m->scroll = m->scroll > last ? last : m->scroll;
    for (size_t i = 0; i < height; i++) {
        canvas_line(c);
        canvas_add(c, STYLE_PLAIN, document_line(&m->object, m->scroll + i), 0);
    }
}

static const char *const key_lines[] = {
    "up down  j k         move; PgUp, PgDn, Home, End, G",
    "Tab  1 2 …  0        the next resource; a resource; the summary",
    "Enter                the object as YAML; open a group; the objects of a status",
    "/                    filter: cart !test status!=Running ready!=true restarts>3",
    "Esc                  without a filter",
    "<  >  r              sort by the column before, the next one; reverse",
    "g                    group by namespace, node, owner; Space opens a group",
    "left right           columns that are out of sight",
    "w                    the columns of -o wide",
    "p                    the pane: owners, Events, last changes of the object",
    "Ctrl-L  Ctrl-Z       draw again; suspend",
    "q  Ctrl-C            quit",
};

static void draw_keys(canvas *c, size_t height) {
    canvas_line(c);
    canvas_add(c, STYLE_HEADING, "Keys (any key goes back)", 0);
    canvas_move(c, canvas_width(c), STYLE_HEADING);
    for (size_t i = 0; i < height; i++) {
        canvas_line(c);
        if (i < sizeof key_lines / sizeof key_lines[0])
            canvas_add(c, STYLE_PLAIN, key_lines[i], 0);
    }
}

/* ---- the bar below ---- */

/* Draws the filter at its end, where it is typed. */
static void draw_typed(const model *m, canvas *c) {
    const tab *t = model_tab(m);
    const char *text = m->typed;
    size_t width = canvas_width(c) > 3 ? canvas_width(c) - 3 : 0;
    while (*text && display_width(text) > width) {
        do
            text++;
        while (((unsigned char)*text & 0xc0) == 0x80);
    }
    canvas_printf(c, STYLE_BAR, "/%s_ ", text);
    if (t->filter_message[0])
        canvas_printf(c, STYLE_BAD, " %s", t->filter_message);
}

static void draw_order(const model *m, canvas *c) {
    static const char *const groupings[] = { [GROUP_NONE] = "",
                                             [GROUP_NAMESPACE] = ", by namespace",
                                             [GROUP_NODE] = ", by node",
                                             [GROUP_OWNER] = ", by owner" };
    const tab *t = model_tab(m);
    char count[32], passing[32];
    canvas_add(c, STYLE_BAR, " ", 0);
    if (t->filter_message[0])
        canvas_printf(c, STYLE_BAD, "/%s: %s", t->filter, t->filter_message);
    else if (t->filter[0])
        canvas_printf(c, STYLE_BAR, "/%s: %s of ", t->filter, with_commas(rows_count_passing(t->rows), passing));
    if (!t->filter_message[0])
        canvas_printf(c, STYLE_BAR, "%s %s%s", with_commas(rows_count(t->rows), count), t->is.plural,
                      groupings[t->grouped_by]);
    canvas_add(c, STYLE_BAR, "  ", 0);
}

static void draw_bar(const model *m, canvas *c) {
    static const char keys[] = "? keys  q quit ";
    canvas_line(c);
    if (m->mode == MODE_TYPING)
        draw_typed(m, c);
    else if (m->mode == MODE_OBJECT)
        canvas_printf(c, STYLE_BAR, " line %zu of %zu  Esc back ", m->scroll + 1, m->object.count);
    else if (model_tab(m))
        draw_order(m, c);
    if (canvas_width(c) > sizeof keys && canvas_column(c) <= canvas_width(c) - (sizeof keys - 1)) {
        canvas_move(c, canvas_width(c) - (sizeof keys - 1), STYLE_BAR);
        canvas_add(c, STYLE_BAR, keys, 0);
    }
    canvas_move(c, canvas_width(c), STYLE_BAR);
}

/* ---- the page ---- */

static void draw_health(const model *m, canvas *c) {
    const tab *t = model_tab(m);
    canvas_line(c);
    if (!t) {
        draw_summary_health(m, c);
        return;
    }
    health_draw(t, m->server, c);
    if (rows_tally(t->rows)->objects && t->health.state == KI_STATE_WATCHING) {
        canvas_add(c, STYLE_PLAIN, "  ", 0);
        table_add_counts(c, t->is.columns, rows_tally(t->rows));
    }
}

/* Draws a heading and `height` lines. */
static ki_status draw_body(model *m, canvas *c, size_t height, moment at, ki_error *err) {
    m->page_lines = height;
    if (m->mode == MODE_KEYS)
        draw_keys(c, height);
    else if (m->mode == MODE_OBJECT)
        draw_object(m, c, height);
    else if (!model_tab(m))
        draw_summary(m, c, height);
    else
        return table_draw(model_tab(m), c, height, at, err);
    return KI_OK;
}

ki_status page_draw(model *m, canvas *c, moment at, ki_error *err) {
    size_t height = canvas_height(c);
    bool has_head = height >= TABS_FROM;
    bool has_table = m->mode == MODE_TABLE || m->mode == MODE_TYPING;
    bool has_pane = m->has_pane && has_table && model_tab(m) && height >= PANE_FROM;
    size_t pane = has_pane ? height / 3 : 0, used = (has_head ? 2 : 0) + pane + 2; /* a heading and the bar below */
    if (has_head) {
        draw_tabs(m, c);
        draw_health(m, c);
    }
    ki_status status = draw_body(m, c, height > used ? height - used : 0, at, err);
    if (has_pane && !status)
        status = pane_draw(m, c, pane, at, err);
    draw_bar(m, c);
    return !status && canvas_has_failed(c) ? KI_ERR_NO_MEMORY : status;
}
