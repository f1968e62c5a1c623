/* terminal.c: see terminal.h. */
#include "terminal.h"

#include "line.h"
#include "lines/event_line.h"
#include "output.h"

#include <stdlib.h>

enum {
    NOTE_MAX = 64
};

/* A change with what its line shows. */
typedef struct change {
    target *target;
    const ki_columns *columns;
    const ki_event *event;
    change_type type;
    passing passing;
    row before, after;
    diff diff; /* of an update */
} change;

static ki_status read_change(change *c, ki_error *err) {
    const ki_event *event = c->event;
    int64_t now = wall_now_ms();
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
static bool print_change(const change *c, change_line line) {
    char clock[LINE_CLOCK_MAX], note[NOTE_MAX], *text = NULL;
    size_t size = 0, width = line.is_wide ? 0 : terminal_width();
    FILE *out = open_memstream(&text, &size);
    const char *namespace_name =
        c->target->session->options->all_namespaces ? ki_object_namespace(c->event->obj) : NULL;
    line_clock(clock);
    write_note(c, note);
    line.clock = clock;
    line.note = note;
    bool is_ok = out && (is_event_resource(&c->target->resource) ? event_write(&line, namespace_name, width, out)
                                                                 : change_write(&line, width, out));
    is_ok = out && fclose(out) == 0 && is_ok;
    if (is_ok)
        puts(text);
    free(text);
    return is_ok;
}

/* Returns true for an initial object without a line of its own. */
static bool is_only_counted(const change *c) {
    const options *o = c->target->session->options;
    bool is_initial = c->event->is_in_initial_list;
    return is_initial && (o->changes_only || (is_terminal(stdout) && !c->target->name && !o->all_objects));
}

static size_t index_of(const target *t) {
    return (size_t)(t - t->session->targets);
}

/* Counts the object among those of its owner. With `is_shown` the next tick shows the change. */
static ki_status fold_it(terminal *to, const change *c, const condition *after, bool is_shown, ki_error *err) {
    char owner[OWNER_MAX];
    bool is_event = is_event_resource(&c->target->resource);
    fold **owners = &to->owners[index_of(c->target)];
    const condition before = condition_of(c->columns, &c->before, is_event);
    bool was_there = c->event->old && c->passing.before, is_there = c->type != CHANGE_DELETED && c->passing.after;
    if (c->type == CHANGE_DELETED)
        was_there = c->passing.after;
    if (!*owners)
        *owners = fold_new();
    if (!*owners)
        return KI_ERR_NO_MEMORY;
    ki_status status = fold_owner_of(c->event->obj, owner, err);
    const condition *from = c->type == CHANGE_DELETED ? after : &before;
    if (!status && !fold_change(*owners, owner, was_there ? from : NULL, is_there ? after : NULL, is_shown))
        status = KI_ERR_NO_MEMORY;
    return status;
}

static bool is_folded(terminal *to, const change *c) {
    session *s = c->target->session;
    if (!to->folds || c->event->is_in_initial_list || !fold_rate_add(&to->rate))
        return false;
    if (!to->is_fold_said && !s->options->quiet)
        say(s->command, "more than %d changes a second: they are folded by owner; --every prints all", FOLD_LINES_MAX);
    to->is_fold_said = true;
    return true;
}

/* Returns false for a heartbeat that is not shown, and for an update of nothing that --only names. */
static bool is_shown(const change *c, const change_line *line) {
    bool is_heartbeat = c->event->old && !c->event->is_resync && diff_is_heartbeat(&c->diff);
    if (is_heartbeat && !c->target->session->options->verbose) {
        c->target->heartbeats++;
        return false;
    }
    return c->event->is_resync || change_is_selected(line);
}

/* Returns what is_shown returns. */
static bool show_change(terminal *to, const change *c, ki_status *ret_status, ki_error *err) {
    change_line line = line_of(to, c);
    const condition after = condition_of(c->columns, &c->after, is_event_resource(&c->target->resource));
    bool is_counted = is_only_counted(c), shows = is_shown(c, &line), is_ok = true;
    bool waits = !is_counted && shows && is_folded(to, c);
    ki_status status = to->folds ? fold_it(to, c, &after, waits, err) : KI_OK;
    if (is_counted && !c->target->session->options->changes_only)
        is_ok = tally_add(&to->tallies[index_of(c->target)], &after);
    else if (!is_counted && shows && !waits)
        is_ok = print_change(c, line);
    if (shows)
        c->target->heartbeats = 0;
    *ret_status = status ? status : is_ok ? KI_OK : KI_ERR_NO_MEMORY;
    return shows;
}

bool terminal_show(terminal *to, target *t, const ki_event *event, change_type type, passing is_passed) {
    session *s = t->session;
    change c = { .target = t, .columns = to->columns[index_of(t)], .event = event, .type = type, .passing = is_passed };
    ki_error err = KI_ERROR_INIT;
    ki_status status = read_change(&c, &err);
    bool shows = !status && show_change(to, &c, &status, &err);
    if (status) {
        say(s->command, "%s: %s", ki_object_key(event->obj),
            err.code ? ki_error_message(&err) : ki_status_name(status));
        session_end(s, EXIT_FAILED);
    }
    row_clear(&c.before);
    row_clear(&c.after);
    return shows;
}

void terminal_show_initial(terminal *to, const target *t) {
    tally *counts = &to->tallies[index_of(t)];
    const ki_columns *columns = to->columns[index_of(t)];
    if (counts->objects)
        tally_write(counts, t->resource.plural, columns_have_ready(columns), to->is_wide ? 0 : terminal_width(),
                    stdout);
    tally_clear(counts);
}

/* Returns how many targets have changes that wait. */
static size_t count_waiting(const terminal *to, const session *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->target_count; i++)
        count += to->owners[i] && fold_has_changes(to->owners[i]);
    return count;
}

void terminal_tick(terminal *to, session *s) {
    size_t waiting = count_waiting(to, s), width = to->is_wide ? 0 : terminal_width();
    char clock[LINE_CLOCK_MAX];
    line_clock(clock);
    for (size_t i = 0; i < s->target_count && waiting; i++) {
        const fold_words words = { .plural = s->targets[i].resource.plural,
                                   .kind = s->targets[i].resource.kind,
                                   .has_ready = to->columns[i] && columns_have_ready(to->columns[i]) };
        size_t max = waiting < FOLD_LINES_MAX ? FOLD_LINES_MAX / waiting : 1;
        if (!to->owners[i] || fold_write(to->owners[i], &words, clock, max, width, stdout))
            continue;
        say(s->command, "out of memory");
        session_end(s, EXIT_FAILED);
        return;
    }
    fold_rate_tick(&to->rate);
}

void terminal_close(terminal *to) {
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        tally_clear(&to->tallies[i]);
        fold_free(to->owners[i]);
    }
}
