/* event_line.c: see event_line.h. */
#include "event_line.h"

#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    MESSAGE_MIN = 16,
    COUNT_MAX = 32
};

/* How a line is made to fit. */
typedef struct layout {
    bool has_clock; /* with the namespace */
    bool has_type;
} layout;

static const layout layouts[] = { { true, true }, { false, true }, { false, false } };

bool is_event_resource(const ki_resource *resource) {
    return strcmp(resource->plural, "events") == 0 &&
           (!*resource->group || strcmp(resource->group, "events.k8s.io") == 0);
}

/* Returns true if the line can show this column. It always has the object. */
static bool is_selected(const change_line *c, size_t index) {
    const ki_column *column = ki_columns_at(c->columns, index);
    if (strcmp(column->name, "Object") == 0)
        return true;
    return c->filter->only_count ? filter_has_column(c->filter, column) : column->priority == 0 || c->is_wide;
}

/* Writes " (x12)", or nothing for a single event, and the note. */
static void write_end(const change_line *c, char text[COUNT_MAX + 64]) {
    size_t index = column_named(c->columns, "Count");
    bool has_count = index < ki_columns_count(c->columns) && (!c->filter->only_count || is_selected(c, index));
    const char *count = has_count ? row_cell(c->after, index) : "";
    bool is_repeated = *count && strcmp(count, "1") != 0;
    snprintf(text, COUNT_MAX + 64, "%s%.20s%s%s", is_repeated ? " (x" : "", is_repeated ? count : "",
             is_repeated ? ")" : "", c->note);
}

/* Returns true for a column before or after the message: not when the event was seen, which the line's time says,
 * unless --only names that, and not the count, which ends the line. */
static bool is_shown(const change_line *c, const layout *with, size_t index) {
    const char *name = ki_columns_at(c->columns, index)->name;
    if ((strcmp(name, "Last Seen") == 0 && !c->filter->only_count) || strcmp(name, "Count") == 0)
        return false;
    if (strcmp(name, "Type") == 0 && !with->has_type)
        return false;
    return is_selected(c, index) && *row_cell(c->after, index);
}

/* Writes the line before its end. */
static void compose(const change_line *c, const char *namespace_name, const layout *with, FILE *out) {
    const char *blanks = "";
    fprintf(out, "%s ", change_sign(c->type));
    if (with->has_clock)
        fprintf(out, "%s%s%s ", colour_text(stdout, COLOUR_DIM), c->clock, colour_text(stdout, COLOUR_NONE));
    if (with->has_clock && namespace_name) {
        print_safe(out, namespace_name);
        blanks = "  ";
    }
    for (size_t i = 0; i < ki_columns_count(c->columns); i++) {
        if (!is_shown(c, with, i))
            continue;
        const char *cell = row_cell(c->after, i);
        bool is_warning = strcmp(cell, "Warning") == 0;
        bool is_type = strcmp(ki_columns_at(c->columns, i)->name, "Type") == 0;
        fprintf(out, "%s%s%-*s%s", blanks, is_warning ? colour_text(stdout, COLOUR_YELLOW) : "", is_type ? 7 : 0, cell,
                is_warning ? colour_text(stdout, COLOUR_NONE) : "");
        blanks = "  ";
    }
    if (c->diff && c->filter->only_count)
        change_print_other(c, out);
}

/* Returns how many columns the line needs: all of them but those of a long message. */
static size_t least_width(const change_line *c, const char *text, const char *end) {
    size_t index = column_named(c->columns, "Message");
    bool has_message = index < ki_columns_count(c->columns) && is_selected(c, index);
    size_t message = has_message ? display_width(row_cell(c->after, index)) : 0;
    size_t hidden = message > MESSAGE_MIN && !c->is_wide ? message - MESSAGE_MIN : 0;
    return display_width(text) - hidden + display_width(end);
}

/* Writes the text cut before the end, which stays. */
static void write_cut(const char *text, const char *end, size_t width, FILE *out) {
    size_t own = display_width(end), left = width > own ? width - own : 0;
    bool has_room = left > MESSAGE_MIN;
    display_cut(text, has_room ? left : width, out);
    if (!width || has_room)
        fputs(end, out);
}

bool event_write(const change_line *c, const char *namespace_name, size_t width, FILE *out) {
    const size_t count = sizeof layouts / sizeof layouts[0];
    char end[COUNT_MAX + 64];
    write_end(c, end);
    for (size_t i = 0; i < count; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *line = open_memstream(&text, &size);
        if (!line)
            return false;
        compose(c, namespace_name, &layouts[i], line);
        bool is_ok = fclose(line) == 0, is_last = i + 1 == count;
        if (is_ok)
            is_last |= !width || least_width(c, text, end) <= width;
        if (is_ok && is_last)
            write_cut(text, end, width, out);
        free(text);
        if (!is_ok || is_last)
            return is_ok;
    }
    return true;
}
