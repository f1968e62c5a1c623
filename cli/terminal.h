/* terminal.h: what watch prints for a person on a terminal. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "lines/change.h"
#include "session.h"

typedef struct terminal {
    session *session;
    ki_columns *const *columns; /* of each target */
    bool is_wide;
} terminal;

/* Prints a change in the width of the terminal (-o wide: whole); does not flush. Heartbeats are counted, as by
 * print_line; returns false for them. Ends the session with a failure if out of memory. */
bool terminal_show(const terminal *to, target *t, const ki_event *event, change_type type);

#endif
