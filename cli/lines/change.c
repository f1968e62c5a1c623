/* change.c: see change.h. */
#include "change.h"

#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    OTHER_USUAL = 40,    /* columns of the other field that most fit into */
    OTHER_MIN = 16,      /* columns of the other field, of which fewer say little */
    ONLY_OTHER_MIN = 12, /* the same on a narrow terminal, if no column changed */
    WHOLE = 10000
};

/* How a line is made to fit. */
typedef struct layout {
    bool has_all_columns; /* with the status that did not change */
    bool has_clock;
    bool has_headings; /* with the object's kind and the columns' names */
    size_t other_min;  /* columns for the other field at least, if it is not shorter; 0: it is left out */
    size_t key_min;    /* columns of the name at least */
} layout;

/* From the whole line to the shortest one. */
static const layout layouts[] = { { true, true, true, WHOLE, WHOLE },     { false, true, true, OTHER_USUAL, WHOLE },
                                  { false, true, true, OTHER_USUAL, 16 }, { false, true, true, OTHER_MIN, 16 },
                                  { false, true, true, 0, 16 },           { false, false, true, 0, 16 },
                                  { false, false, false, 0, 7 } };

const char *change_sign(change_type type) {
    static const struct {
        const char *sign;
        colour colour;
    } looks[] = { { "+", COLOUR_GREEN }, { "~", COLOUR_YELLOW }, { "-", COLOUR_RED } };
    static char text[32];
    snprintf(text, sizeof text, "%s%s%s", colour_text(stdout, looks[type].colour), looks[type].sign,
             colour_text(stdout, COLOUR_NONE));
    return text;
}

static void print_dim(FILE *out, const char *text) {
    fprintf(out, "%s%s%s", colour_text(stdout, COLOUR_DIM), text, colour_text(stdout, COLOUR_NONE));
}

/* ---- the object ---- */

static void print_kind(const change_line *c, FILE *out) {
    char text[64];
    snprintf(text, sizeof text, "%s ", c->kind);
    make_lower(text);
    print_safe(out, text);
}

/* ---- the columns ---- */

/* Returns true if an update changed the cell. The time that passes changes none. */
static bool has_changed(const change_line *c, size_t index) {
    const char *before = c->before ? row_cell(c->before, index) : "", *after = row_cell(c->after, index);
    size_t size = row_size_without_age(before);
    return c->before && (size != row_size_without_age(after) || memcmp(before, after, size) != 0);
}

/* Returns true for a column that the line can show: not for the name and the age, unless --only names them. */
static bool is_column(const change_line *c, size_t index) {
    const ki_column *column = ki_columns_at(c->columns, index);
    if (c->filter->only_count)
        return filter_has_column(c->filter, column);
    if (strcmp(column->format, "name") == 0 || strcmp(column->name, "Age") == 0)
        return false;
    return column->priority == 0 || c->is_wide || strcmp(column->name, "Node") == 0;
}

static bool is_shown(const change_line *c, const layout *with, size_t index) {
    if (!is_column(c, index))
        return false;
    if (has_changed(c, index))
        return true;
    bool is_first = with->has_all_columns || !c->before;
    return is_first && row_has_value(c->after, index) && (!c->before || index == column_of_status(c->columns));
}

static void print_cell(const change_line *c, const layout *with, size_t index, FILE *out) {
    const char *after = row_has_value(c->after, index) ? row_cell(c->after, index) : "(none)";
    fputs(with->has_headings ? "  " : " ", out);
    if (with->has_headings) {
        fputs(colour_text(stdout, COLOUR_DIM), out);
        column_print_heading(ki_columns_at(c->columns, index), out);
        fprintf(out, "%s ", colour_text(stdout, COLOUR_NONE));
    }
    if (has_changed(c, index)) {
        const char *before = row_has_value(c->before, index) ? row_cell(c->before, index) : "(none)";
        fprintf(out, "%s%.*s%s → ", colour_text(stdout, COLOUR_DIM), (int)row_size_without_age(before), before,
                colour_text(stdout, COLOUR_NONE));
    }
    fputs(after, out);
}

/* ---- the other field ---- */

static bool is_same_value(const char *cell, const char *field) {
    bool has_none = strcmp(field, "(none)") == 0 || strcmp(field, "\"\"") == 0;
    return strcmp(cell, field) == 0 || (has_none && (!*cell || *cell == '<'));
}

/* Returns true if a changed column shows the field already: it has the same values, or it is computed from it. */
static bool is_in_columns(const change_line *c, const diff_field *field) {
    bool has_any = false;
    for (size_t i = 0; i < ki_columns_count(c->columns); i++) {
        if (!is_column(c, i) || !has_changed(c, i))
            continue;
        has_any = true;
        if (is_same_value(row_cell(c->after, i), field->after) && is_same_value(row_cell(c->before, i), field->before))
            return true;
    }
    bool is_status = strstr(field->path, "onditions") || strstr(field->path, "ontainerStatuses[");
    return has_any && (field->rank <= RANK_REPLICAS || field->rank >= RANK_TEXT || is_status);
}

void change_print_other(const change_line *c, FILE *out) {
    const diff_field *field, *first = NULL;
    size_t more = 0;
    for (size_t i = 0; (field = diff_at(c->diff, i)); i++) {
        bool is_left_out =
            c->filter->only_count ? !filter_has_path(c->filter, c->columns, field->path) : is_in_columns(c, field);
        if (is_left_out)
            continue;
        more += first != NULL;
        first = first ? first : field;
    }
    if (!first)
        return;
    fputs("  ", out);
    diff_print_short_path(c->diff, first, out);
    fputs(": ", out);
    diff_print_value(first, out);
    if (more)
        fprintf(out, " (+%zu more)", more);
}

/* ---- the line ---- */

/* Writes the line with a name of at most `key_max` columns. Returns how many bytes are before the other field. */
static size_t compose(const change_line *c, const layout *with, const char *key, size_t key_max, FILE *out) {
    fprintf(out, "%s ", change_sign(c->type));
    if (with->has_clock) {
        print_dim(out, c->clock);
        putc(' ', out);
    }
    if (with->has_headings)
        print_kind(c, out);
    display_shorten(key, key_max, out);
    for (size_t i = 0; c->type != CHANGE_DELETED && i < ki_columns_count(c->columns); i++) {
        if (is_shown(c, with, i))
            print_cell(c, with, i, out);
    }
    size_t size = (size_t)ftell(out);
    if (!with->other_min)
        return size;
    if (c->diff && c->is_wide && c->diff->changes && !c->filter->only_count) {
        fputs("  ", out);
        diff_print(c->diff, out);
    } else if (c->diff) {
        change_print_other(c, out);
    }
    fputs(c->note, out);
    return size;
}

/* Returns a layout that shows what changed: the other field, if no column did. */
static layout layout_of(const change_line *c, const layout *with) {
    layout own = *with;
    bool has_any = !c->before;
    for (size_t i = 0; i < ki_columns_count(c->columns); i++)
        has_any |= is_column(c, i) && has_changed(c, i);
    if (!has_any && !own.other_min)
        own.other_min = ONLY_OTHER_MIN;
    return own;
}

/* Returns by how many columns the line is too wide. The other field can be cut. */
static size_t excess_of(const char *text, size_t before_other, const layout *with, size_t width) {
    size_t all = display_width(text), other = display_width(text + before_other);
    size_t least = all - other + (other < with->other_min ? other : with->other_min);
    return width && least > width ? least - width : 0;
}

/* Writes the line with this layout if it fits, or if it is `forced`. Returns false if out of memory. */
static bool write_with(const change_line *c, const layout *with, const char *key, size_t width, bool forced, FILE *out,
                       bool *ret_fits) {
    size_t key_max = display_width(key), excess = 0;
    bool is_ok = true;
    for (int round = 0; round < 2 && is_ok; round++) { /* with the whole name, then with what fits */
        char *text = NULL;
        size_t size = 0;
        FILE *line = open_memstream(&text, &size);
        size_t before_other = line ? compose(c, with, key, key_max, line) : 0;
        is_ok = line && fclose(line) == 0;
        excess = is_ok ? excess_of(text, before_other, with, width) : 0;
        bool can_shorten = round == 0 && excess && key_max > with->key_min;
        if (is_ok && !can_shorten && (!excess || forced))
            display_cut(text, width, out);
        free(text);
        if (!can_shorten)
            break;
        key_max = key_max - with->key_min > excess ? key_max - excess : with->key_min;
    }
    *ret_fits = !excess;
    return is_ok;
}

bool change_is_selected(const change_line *c) {
    if (!c->before || !c->filter->only_count)
        return true;
    for (size_t i = 0; i < ki_columns_count(c->columns); i++) {
        if (is_column(c, i) && has_changed(c, i))
            return true;
    }
    for (size_t i = 0; i < c->diff->count; i++) {
        if (filter_has_path(c->filter, c->columns, c->diff->fields[i].path))
            return true;
    }
    return false;
}

bool change_write(const change_line *c, size_t width, FILE *out) {
    const size_t count = sizeof layouts / sizeof layouts[0];
    char key[KI_OBJECT_KEY_MAX];
    bool is_ok = true, fits = !width; /* a whole line is not measured */
    snprintf(key, sizeof key, "%s", c->key);
    make_safe(key);
    if (fits) {
        const layout whole = layout_of(c, &layouts[0]);
        compose(c, &whole, key, display_width(key), out);
    }
    for (size_t i = 0; i < count && is_ok && !fits; i++) {
        const layout with = layout_of(c, &layouts[i]);
        is_ok = write_with(c, &with, key, width, i + 1 == count, out, &fits);
    }
    return is_ok;
}
