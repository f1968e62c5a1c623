/* tally.c: see tally.h. */
#include "tally.h"

#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 64,  /* different statuses; the others are one row */
    SHOWN_MAX = 20, /* rows of the table; the others are one row */
    LINE_MAX = STATUS_MAX + 256
};

static const char others[] = "(others)";

/* ---- conditions ---- */

/* Returns true for "2/2", "True", and a number that is `desired` (a daemon set's column), and in `*ret_is_part` whether
 * the cell says how many are ready. */
static bool is_all_ready(const char *cell, const char *desired, bool *ret_is_part) {
    const char *slash = strchr(cell, '/');
    *ret_is_part = slash || *desired || strcmp(cell, "True") == 0 || strcmp(cell, "False") == 0;
    if (!slash)
        return strcmp(cell, *desired ? desired : "True") == 0;
    size_t size = (size_t)(slash - cell);
    return strlen(slash + 1) == size && memcmp(cell, slash + 1, size) == 0;
}

/* Removes the end of a character that the text's end has cut. */
static void trim(char *text) {
    size_t size = strlen(text), whole = size;
    while (whole && ((unsigned char)text[whole - 1] & 0xc0) == 0x80)
        whole--;
    if (size + 1 >= STATUS_MAX - 3 && whole && (unsigned char)text[whole - 1] >= 0xc0)
        text[whole - 1] = '\0';
}

condition condition_of(const ki_columns *columns, const row *r, bool is_event) {
    condition one = { .status = "" };
    size_t status = column_of_status(columns), ready = column_named(columns, "Ready");
    const char *desired = row_cell(r, column_named(columns, "Desired"));
    bool is_part = false, is_ready = is_all_ready(row_cell(r, ready), desired, &is_part);
    if (is_event)
        snprintf(one.status, sizeof one.status, "%.20s %.42s", row_cell(r, column_named(columns, "Type")),
                 row_cell(r, column_named(columns, "Reason")));
    else if (status == ready && is_part)
        snprintf(one.status, sizeof one.status, "%s", is_ready ? "Ready" : "NotReady");
    else
        snprintf(one.status, sizeof one.status, "%s", row_cell(r, status));
    trim(one.status);
    bool has_ended = strcmp(one.status, "Terminating") == 0;
    one.is_ready = (is_ready && !has_ended) || (!columns_have_ready(columns) && strcmp(one.status, "Ready") == 0);
    return one;
}

bool columns_have_ready(const ki_columns *columns) {
    size_t ready = column_named(columns, "Ready");
    return ready < ki_columns_count(columns) && column_of_status(columns) != ready;
}

/* ---- the counts ---- */

static tally_row *find_row(const tally *t, const char *status) {
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->rows[i].of.status, status) == 0)
            return &t->rows[i];
    }
    return t->count == ROWS_MAX && status != others ? find_row(t, others) : NULL;
}

/* Returns a row of a status that no object has any more. Only while no object is among the others: one of them could
 * have the new status. */
static tally_row *find_free_row(const tally *t) {
    if (t->count + 1 < ROWS_MAX || tally_count(t, others))
        return NULL;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->rows[i].count && strcmp(t->rows[i].of.status, others) != 0)
            return &t->rows[i];
    }
    return NULL;
}

static tally_row *add_row(tally *t, const char *status) {
    tally_row *free_row = find_free_row(t);
    if (free_row) {
        *free_row = (tally_row){ .count = 0 };
        snprintf(free_row->of.status, sizeof free_row->of.status, "%s", status);
        return free_row;
    }
    tally_row *rows = realloc(t->rows, (t->count + 1) * sizeof *rows);
    if (!rows)
        return NULL;
    t->rows = rows;
    tally_row *added = &rows[t->count++];
    *added = (tally_row){ .count = 0 };
    snprintf(added->of.status, sizeof added->of.status, "%s", t->count == ROWS_MAX ? others : status);
    return added;
}

bool tally_add(tally *t, const condition *one) {
    tally_row *of = find_row(t, one->status);
    if (!of || (strcmp(of->of.status, one->status) != 0 && find_free_row(t)))
        of = add_row(t, one->status);
    if (!of)
        return false;
    of->count++;
    of->ready += one->is_ready;
    t->objects++;
    t->ready += one->is_ready;
    return true;
}

void tally_remove(tally *t, const condition *one) {
    tally_row *of = find_row(t, one->status);
    if (!of || !of->count)
        return;
    of->count--;
    of->ready -= one->is_ready && of->ready;
    t->objects--;
    t->ready -= one->is_ready && t->ready;
}

bool tally_copy(tally *ret_copy, const tally *t) {
    tally_row *rows = t->count ? malloc(t->count * sizeof *rows) : NULL;
    if (t->count && !rows)
        return false;
    if (t->count)
        memcpy(rows, t->rows, t->count * sizeof *rows);
    *ret_copy = *t;
    ret_copy->rows = rows;
    return true;
}

size_t tally_count(const tally *t, const char *status) {
    const tally_row *found = find_row(t, status);
    return found ? found->count : 0;
}

void tally_clear(tally *t) {
    free(t->rows);
    *t = (tally){ .rows = NULL };
}

/* ---- the table ---- */

static int by_count(const void *a, const void *b) {
    const tally_row *left = a, *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return strcmp(left->of.status, right->of.status);
}

static int wider(int width, const char *text) {
    int own = (int)strlen(text);
    return own > width ? own : width;
}

/* A table that is being written. */
typedef struct table_form {
    FILE *out;
    size_t width;
    bool has_ready;
    int count_width, ready_width;
} table_form;

static void write_row(const table_form *form, const char *count, const char *ready, const char *status) {
    char line[LINE_MAX];
    if (form->has_ready)
        snprintf(line, sizeof line, "%*s  %*s  %s", form->count_width, count, form->ready_width, ready, status);
    else
        snprintf(line, sizeof line, "%*s  %s", form->count_width, count, status);
    display_cut(line, form->width, form->out);
    putc('\n', form->out);
}

static void write_counts(const table_form *form, size_t objects, size_t ready, const char *status) {
    char count_text[32], ready_text[32];
    write_row(form, with_commas(objects, count_text), with_commas(ready, ready_text), *status ? status : "-");
}

void tally_write(tally *t, const char *plural, bool has_ready, size_t width, FILE *out) {
    char heading[64], text[32];
    size_t rest = t->objects, rest_ready = t->ready;
    snprintf(heading, sizeof heading, "%s", plural);
    make_upper(heading);
    make_safe(heading);
    const table_form form = { .out = out,
                              .width = width,
                              .has_ready = has_ready,
                              .count_width = wider((int)strlen(heading), with_commas(t->objects, text)),
                              .ready_width = wider((int)strlen("READY"), with_commas(t->ready, text)) };
    if (t->count)
        qsort(t->rows, t->count, sizeof *t->rows, by_count);
    write_row(&form, heading, "READY", "STATUS");
    for (size_t i = 0, shown = 0; i < t->count && shown < SHOWN_MAX && t->rows[i].count; i++) {
        const tally_row *of = &t->rows[i];
        if (strcmp(of->of.status, others) == 0)
            continue;
        write_counts(&form, of->count, of->ready, of->of.status);
        rest -= of->count;
        rest_ready -= of->ready;
        shown++;
    }
    if (rest)
        write_counts(&form, rest, rest_ready, others);
}
