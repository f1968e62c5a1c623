/* terminal.h: what watch prints for a person: on a terminal, and in a pipe with --only. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "lines/change.h"
#include "lines/tally.h"
#include "session.h"

typedef struct terminal {
    ki_columns *const *columns; /* of each target */
    const filter *filter;
    bool is_wide;
    tally tallies[TARGETS_MAX]; /* the initial objects of each target, unless they have lines of their own */
} terminal;

/* Prints a change in the width of the terminal (-o wide, a pipe: whole); does not flush. Heartbeats are counted, as by
 * print_line. Returns false for them, and for updates of nothing that --only names. On a terminal initial objects are
 * only counted, unless --all or the object's name is given. Ends the session with a failure if out of memory. */
bool terminal_show(terminal *to, target *t, const ki_event *event, change_type type);
/* Prints the initial objects of a target that has synced, counted by their status; does not flush. */
void terminal_show_initial(terminal *to, const target *t);
void terminal_close(terminal *to);

#endif
