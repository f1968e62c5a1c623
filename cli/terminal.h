/* terminal.h: what watch prints for a person on a terminal. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "lines/change.h"
#include "lines/tally.h"
#include "session.h"

typedef struct terminal {
    ki_columns *const *columns; /* of each target */
    bool is_wide;
    tally tallies[TARGETS_MAX]; /* the initial objects of each target, unless they have lines of their own */
} terminal;

/* Prints a change in the width of the terminal (-o wide: whole); does not flush. Heartbeats are counted, as by
 * print_line; returns false for them. Initial objects are counted, too, unless --all or the object's name is given.
 * Ends the session with a failure if out of memory. */
bool terminal_show(terminal *to, target *t, const ki_event *event, change_type type);
/* Prints the initial objects of a target that has synced, counted by their status; does not flush. */
void terminal_show_initial(terminal *to, const target *t);
void terminal_close(terminal *to);

#endif
