/* terminal.c: see terminal.h. */
#include "terminal.h"

#include "line.h"
#include "lines/event_line.h"
#include "output.h"

#include <stdlib.h>
#include <time.h>

enum {
    NOTE_MAX = 64
};

/* A change with what its line shows. */
typedef struct change {
    target *target;
    const ki_columns *columns;
    const ki_event *event;
    change_type type;
    row before, after;
    diff diff; /* of an update */
} change;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static ki_status read_change(change *c, ki_error *err) {
    const ki_event *event = c->event;
    int64_t now = now_ms();
    ki_status status = row_read(&c->after, c->columns, event->obj, now, err);
    if (!status && event->old)
        status = row_read(&c->before, c->columns, event->old, now, err);
    if (!status && event->old)
        status = diff_read(event->old, event->obj, &c->diff, err);
    return status;
}

/* Writes what follows the changes: " (resync)", " (after 2 heartbeats)". */
static void write_note(const change *c, char text[NOTE_MAX]) {
    size_t heartbeats = c->target->heartbeats;
    text[0] = '\0';
    if (c->event->final_state_unknown)
        snprintf(text, NOTE_MAX, " (deleted while not watched)");
    else if (c->event->is_resync)
        snprintf(text, NOTE_MAX, " (resync)");
    else if (heartbeats)
        snprintf(text, NOTE_MAX, " (after %zu heartbeat%s)", heartbeats, heartbeats == 1 ? "" : "s");
}

static change_line line_of(const terminal *from, const change *c) {
    bool is_update = c->event->old;
    return (change_line){ .type = c->type,
                          .kind = ki_object_kind(c->event->obj),
                          .key = ki_object_key(c->event->obj),
                          .columns = c->columns,
                          .before = is_update ? &c->before : NULL,
                          .after = &c->after,
                          .diff = is_update ? &c->diff : NULL,
                          .filter = from->filter,
                          .is_wide = from->is_wide };
}

/* Prints a line. Returns false if out of memory. */
static bool print_change(const change *c, change_line *line) {
    char clock[LINE_CLOCK_MAX], note[NOTE_MAX], *text = NULL;
    size_t size = 0, width = line->is_wide ? 0 : terminal_width();
    FILE *out = open_memstream(&text, &size);
    const char *namespace_name =
        c->target->session->options->all_namespaces ? ki_object_namespace(c->event->obj) : NULL;
    line_clock(clock);
    write_note(c, note);
    line->clock = clock;
    line->note = note;
    bool is_ok = out && (is_event_resource(&c->target->resource) ? event_write(line, namespace_name, width, out)
                                                                 : change_write(line, width, out));
    is_ok = out && fclose(out) == 0 && is_ok;
    if (is_ok)
        puts(text);
    free(text);
    return is_ok;
}

/* Returns true for an initial object without a line of its own. */
static bool is_only_counted(const change *c) {
    return is_terminal(stdout) && c->event->is_in_initial_list && !c->target->name &&
           !c->target->session->options->all_objects;
}

static bool count_change(terminal *to, const change *c) {
    bool is_event = is_event_resource(&c->target->resource);
    const condition one = condition_of(c->columns, &c->after, is_event);
    return tally_add(&to->tallies[c->target - c->target->session->targets], &one);
}

/* Returns false for a heartbeat that is not shown, and for an update of nothing that --only names. */
static bool show_change(terminal *to, const change *c, ki_status *ret_status) {
    change_line line = line_of(to, c);
    bool is_heartbeat = c->event->old && !c->event->is_resync && diff_is_heartbeat(&c->diff);
    bool is_shown = !is_heartbeat || c->target->session->options->verbose, is_ok = true;
    if (is_only_counted(c))
        is_ok = count_change(to, c);
    else if (is_shown && (c->event->is_resync || change_is_selected(&line)))
        is_ok = print_change(c, &line);
    else
        is_shown = false;
    if (is_heartbeat && !is_shown)
        c->target->heartbeats++;
    else if (is_shown)
        c->target->heartbeats = 0;
    *ret_status = is_ok ? KI_OK : KI_ERR_NO_MEMORY;
    return is_shown;
}

bool terminal_show(terminal *to, target *t, const ki_event *event, change_type type) {
    session *s = t->session;
    change c = { .target = t, .columns = to->columns[t - s->targets], .event = event, .type = type };
    ki_error err = KI_ERROR_INIT;
    ki_status status = read_change(&c, &err);
    bool is_shown = !status && show_change(to, &c, &status);
    if (status) {
        say(s->command, "%s: %s", ki_object_key(event->obj),
            err.code ? ki_error_message(&err) : ki_status_name(status));
        session_end(s, EXIT_FAILED);
    }
    row_clear(&c.before);
    row_clear(&c.after);
    return is_shown;
}

void terminal_show_initial(terminal *to, const target *t) {
    size_t index = (size_t)(t - t->session->targets);
    if (to->tallies[index].objects)
        tally_write(&to->tallies[index], t->resource.plural, columns_have_ready(to->columns[index]),
                    to->is_wide ? 0 : terminal_width(), stdout);
    tally_clear(&to->tallies[index]);
}

void terminal_close(terminal *to) {
    for (size_t i = 0; i < TARGETS_MAX; i++)
        tally_clear(&to->tallies[i]);
}
