/* summary.c: see summary.h. */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

static int by_severity(const void *a, const void *b) {
    const summary_line *left = a, *right = b;
    if (left->severity != right->severity)
        return left->severity > right->severity ? -1 : 1;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    if (left->tab != right->tab)
        return left->tab < right->tab ? -1 : 1;
    return strcmp(left->of.status, right->of.status);
}

static void add(summary *s, const tab *t, size_t index, const tally_row *from, bool is_ready, size_t count) {
    if (!count)
        return;
    summary_line *line = &s->lines[s->count++];
    *line = (summary_line){ .tab = index, .of = from->of, .count = count, .is_unready = !is_ready && from->ready };
    line->of.is_ready = is_ready;
    line->severity = severity_of(t->is.columns, &line->of);
}

/* Adds a status, as one line or, if only some of its objects are ready, as two. */
static void add_row(summary *s, const tab *t, size_t index, const tally_row *from) {
    bool has_ready = columns_have_ready(t->is.columns);
    add(s, t, index, from, true, has_ready ? from->ready : from->count);
    add(s, t, index, from, false, has_ready ? from->count - from->ready : 0);
}

bool summary_read(summary *s, const tab *tabs, size_t count) {
    size_t most = 1;
    summary read = { .lines = NULL };
    for (size_t i = 0; i < count; i++)
        most += 2 * rows_tally(tabs[i].rows)->count;
    read.lines = calloc(most, sizeof *read.lines);
    if (!read.lines)
        return false;
    for (size_t i = 0; i < count; i++) {
        const tally *objects = rows_tally(tabs[i].rows);
        for (size_t k = 0; k < objects->count; k++)
            add_row(&read, &tabs[i], i, &objects->rows[k]);
    }
    qsort(read.lines, read.count, sizeof *read.lines, by_severity);
    summary_clear(s);
    *s = read;
    return true;
}

void summary_clear(summary *s) {
    free(s->lines);
    *s = (summary){ .lines = NULL };
}
