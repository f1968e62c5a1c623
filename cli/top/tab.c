/* tab.c: see tab.h. */
#include "tab.h"

#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    HISTORY_BYTES = 512 * 1024
};

/* What the line of a change is made of. */
typedef struct line_parts {
    row before, after;
    diff diff;
    FILE *out; /* of `text`, from its begin for each line */
    char *text;
    size_t size;
} line_parts;

static void close_parts(line_parts *p) {
    if (!p)
        return;
    if (p->out)
        fclose(p->out);
    free(p->text);
    row_clear(&p->before);
    row_clear(&p->after);
    free(p);
}

bool tab_open(tab *t, const tab_options *is) {
    *t = (tab){ .is = *is, .sorted_by = ROWS_BY_KEY };
    size_t seen = is->is_event ? column_named(is->columns, "Last Seen") : SIZE_MAX;
    t->rows = rows_new(is->columns, is->is_event);
    if (t->rows && seen < ki_columns_count(is->columns)) /* the newest Events first: their names say nothing */
        rows_sort(t->rows, t->sorted_by = seen, false);
    t->history = history_new(HISTORY_BYTES);
    t->parts = calloc(1, sizeof *t->parts);
    if (t->parts)
        t->parts->out = open_memstream(&t->parts->text, &t->parts->size);
    return t->rows && t->history && t->parts && t->parts->out;
}

void tab_close(tab *t) {
    rows_free(t->rows);
    history_free(t->history);
    close_parts(t->parts);
    *t = (tab){ .rows = NULL };
}

/* ---- changes ---- */

static ki_status read_parts(const tab *t, const tab_change *c, moment at, line_parts *p, ki_error *err) {
    ki_status status = row_read(&p->after, t->is.columns, c->obj, at.wall_ms, err);
    if (!status && c->old)
        status = row_read(&p->before, t->is.columns, c->old, at.wall_ms, err);
    if (!status && c->old)
        status = diff_read(c->old, c->obj, &p->diff, err);
    return status;
}

static bool write_line(const tab *t, const tab_change *c) {
    static const filter all = { .text = NULL };
    line_parts *p = t->parts;
    const change_line line = { .type = c->type,
                               .clock = c->clock,
                               .kind = ki_object_kind(c->obj),
                               .key = ki_object_key(c->obj),
                               .note = "",
                               .columns = t->is.columns,
                               .before = c->old ? &p->before : NULL,
                               .after = &p->after,
                               .diff = c->old ? &p->diff : NULL,
                               .filter = &all };
    rewind(p->out);
    if (!change_write(&line, 0, p->out) || putc('\0', p->out) == EOF || fflush(p->out) != 0)
        return false;
    strip_colours(p->text);
    return history_add(t->history, line.key, p->text);
}

/* Adds the change's line to the history. Heartbeats have none. */
static ki_status add_line(const tab *t, const tab_change *c, moment at, ki_error *err) {
    ki_status status = read_parts(t, c, at, t->parts, err);
    if (!status && !(c->old && diff_is_heartbeat(&t->parts->diff)) && !write_line(t, c))
        status = KI_ERR_NO_MEMORY;
    return status;
}

ki_status tab_take(tab *t, const tab_change *c, moment at, ki_error *err) {
    ki_status status = rows_change(t->rows, c->type, c->kept, c->is_initial, at.wall_ms, err);
    if (c->is_initial || status)
        return status;
    t->changes[0]++;
    return add_line(t, c, at, err);
}

void tab_tick(tab *t, const ki_health *health) {
    t->health = *health;
    memmove(t->changes + 1, t->changes, (TAB_SECONDS - 1) * sizeof t->changes[0]);
    t->changes[0] = 0;
}

size_t tab_changes_a_second(const tab *t) {
    size_t sum = 0;
    for (size_t i = 1; i < TAB_SECONDS; i++)
        sum += t->changes[i];
    return (sum + (TAB_SECONDS - 1) / 2) / (TAB_SECONDS - 1);
}

/* ---- the cursor ---- */

/* Remembers what the cursor is on. */
static void take_line(tab *t) {
    t->key[0] = t->group[0] = '\0';
    if (t->line >= rows_line_count(t->rows))
        return;
    const rows_line line = rows_line_at(t->rows, t->line);
    if (line.obj)
        snprintf(t->key, sizeof t->key, "%s", ki_object_key(line.obj));
    else
        snprintf(t->group, sizeof t->group, "%s", line.group);
}

static void clamp(tab *t) {
    size_t count = rows_line_count(t->rows);
    if (t->line >= count)
        t->line = count ? count - 1 : 0;
}

static void find_line(tab *t) {
    size_t found = SIZE_MAX;
    if (t->has_moved && (*t->key || *t->group))
        found = rows_line_of(t->rows, *t->key ? t->key : NULL, *t->group ? t->group : NULL);
    if (found != SIZE_MAX)
        t->line = found;
    clamp(t);
    take_line(t);
}

ki_status tab_settle(tab *t, moment at, ki_error *err) {
    ki_status status = rows_settle(t->rows, at.now_ms, at.wall_ms, err);
    if (!status)
        find_line(t);
    return status;
}

void tab_move(tab *t, int64_t lines) {
    t->has_moved = true;
    if (lines < 0)
        t->line = (uint64_t)-lines > t->line ? 0 : t->line - (size_t)-lines;
    else
        t->line += (size_t)lines;
    clamp(t);
    take_line(t);
}

void tab_scroll(tab *t, size_t height) {
    size_t count = rows_line_count(t->rows);
    if (t->first > t->line)
        t->first = t->line;
    if (height && t->line >= t->first + height)
        t->first = t->line - height + 1;
    if (t->first + height > count)
        t->first = count > height ? count - height : 0;
}

const ki_object *tab_selected(const tab *t) {
    return t->line < rows_line_count(t->rows) ? rows_line_at(t->rows, t->line).obj : NULL;
}

/* ---- what is shown ---- */

ki_status tab_filter(tab *t, const char *text, ki_error *err) {
    query parsed = { 0 };
    snprintf(t->filter, sizeof t->filter, "%s", text);
    t->filter_message[0] = '\0';
    if (!query_open(&parsed, text, t->is.columns, t->filter_message)) {
        query_close(&parsed);
        return KI_OK;
    }
    ki_status status = rows_filter(t->rows, &parsed, err);
    query_close(&parsed);
    return status;
}

bool tab_has_column(const tab *t, size_t column) {
    const ki_column *is = ki_columns_at(t->is.columns, column);
    return is && (is->priority == 0 || t->is_wide);
}

size_t tab_name_column(const tab *t) {
    for (size_t i = 0; i < ki_columns_count(t->is.columns); i++) {
        if (strcmp(ki_columns_at(t->is.columns, i)->format, "name") == 0)
            return i;
    }
    return 0;
}

size_t tab_left(const tab *t) {
    size_t after = 0;
    for (size_t i = tab_name_column(t) + 1; i < ki_columns_count(t->is.columns); i++)
        after += tab_has_column(t, i);
    return t->left < after ? t->left : after - (after > 0);
}

void tab_sort_next(tab *t, int step) {
    size_t count = ki_columns_count(t->is.columns), at = t->sorted_by == ROWS_BY_KEY ? 0 : t->sorted_by + 1;
    do
        at = (at + (size_t)((int)count + 1 + step)) % (count + 1);
    while (at && !tab_has_column(t, at - 1));
    t->sorted_by = at ? at - 1 : ROWS_BY_KEY;
    t->is_descending = false;
    rows_sort(t->rows, t->sorted_by, false);
}

void tab_reverse(tab *t) {
    t->is_descending = !t->is_descending;
    rows_sort(t->rows, t->sorted_by, t->is_descending);
}

void tab_group(tab *t, grouping by) {
    t->grouped_by = by;
    rows_group(t->rows, t->grouped_by);
    t->line = t->first = 0;
    t->has_moved = false;
}

void tab_toggle(tab *t) {
    if (*t->group)
        rows_toggle(t->rows, t->group);
}
