/* line.c: see line.h. */
#include "line.h"

#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

bool get_json(session *s, const ki_object *obj, ki_value *ret_json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_object_json(obj, ret_json, &err) == KI_OK)
        return true;
    say(s->command, "%s: %s", ki_object_key(obj), ki_error_message(&err));
    session_end(s, EXIT_FAILED);
    return false;
}

static bool print_differences(session *s, const ki_event *event, FILE *out) {
    diff d;
    ki_error err = KI_ERROR_INIT;
    if (diff_read(event->old, event->obj, &d, &err)) {
        say(s->command, "%s: %s", ki_object_key(event->obj), ki_error_message(&err));
        session_end(s, EXIT_FAILED);
        return false;
    }
    fputs("  ", out);
    diff_print(&d, out);
    return !diff_is_heartbeat(&d);
}

/* The columns of a line that is being written. */
typedef struct cells {
    line_columns of;
    FILE *out;
    size_t printed;
} cells;

/* Prints "ready: 1/1". Skips the name and the age, which the line has already, and empty values. */
static bool print_cell(size_t index, const char *text, void *user) {
    cells *c = user;
    const ki_column *column = ki_columns_at(c->of.columns, index);
    bool is_shown = column->priority == 0 || c->of.is_wide || strcmp(column->name, "Node") == 0;
    if (!is_shown || strcmp(column->format, "name") == 0 || strcmp(column->name, "Age") == 0 || !*text || *text == '<')
        return true;
    fputs(c->printed++ ? ", " : "  ", c->out);
    for (const char *at = column->name; *at; at++)
        putc(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at, c->out);
    fputs(": ", c->out);
    print_safe(c->out, text);
    return true;
}

static void print_columns(session *s, const ki_event *event, line_columns columns, FILE *out) {
    cells c = { .of = columns, .out = out };
    ki_error err = KI_ERROR_INIT;
    if (ki_columns_each(columns.columns, event->obj, wall_now_ms(), print_cell, &c, &err) == KI_ERR_NO_MEMORY) {
        say(s->command, "%s: %s", ki_object_key(event->obj), ki_error_message(&err));
        session_end(s, EXIT_FAILED);
    }
}

void line_clock(char text[LINE_CLOCK_MAX]) {
    struct tm parts;
    time_t now = time(NULL);
    text[0] = '\0';
    if (localtime_r(&now, &parts))
        strftime(text, LINE_CLOCK_MAX, "%H:%M:%S", &parts);
}

/* Returns false if the event is only a heartbeat. */
static bool write_line(target *t, const ki_event *event, change_type type, line_columns columns, FILE *out) {
    session *s = t->session;
    char clock[LINE_CLOCK_MAX];
    bool has_changes = true;

    line_clock(clock);
    fprintf(out, "%s %s%s%s ", change_sign(type), colour_text(stdout, COLOUR_DIM), clock,
            colour_text(stdout, COLOUR_NONE));
    print_safe(out, ki_object_kind(event->obj));
    fputc(' ', out);
    print_safe(out, ki_object_key(event->obj));
    if (event->final_state_unknown)
        fputs(" (deleted while not watched)", out);
    if (event->is_resync)
        fputs(" (resync)", out);
    else if (event->old)
        has_changes = print_differences(s, event, out);
    else if (type == CHANGE_ADDED && columns.columns)
        print_columns(s, event, columns, out);
    if (has_changes && t->heartbeats)
        fprintf(out, " (after %zu heartbeat%s)", t->heartbeats, t->heartbeats == 1 ? "" : "s");
    return has_changes || s->options->verbose;
}

bool print_line(target *t, const ki_event *event, change_type type, line_columns columns) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool has_changes = out && write_line(t, event, type, columns, out);
    if (!out || fclose(out)) {
        say(t->session->command, "out of memory");
        session_end(t->session, EXIT_FAILED);
    } else if (has_changes) {
        output_line(text);
    }
    t->heartbeats = has_changes ? 0 : t->heartbeats + 1;
    free(text);
    return has_changes;
}
