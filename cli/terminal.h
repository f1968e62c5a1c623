/* terminal.h: what watch and demo print for a person: on a terminal, and watch in a pipe with --only. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "lines/change.h"
#include "lines/fold.h"
#include "session/session.h"

typedef struct terminal {
    ki_columns *const *columns; /* of each target */
    const filter *filter;
    bool is_wide;
    bool folds;                 /* folds the changes of a busy cluster: on a terminal, without --every */
    tally tallies[TARGETS_MAX]; /* the initial objects of each target, unless they have lines of their own */
    fold *owners[TARGETS_MAX];  /* the objects of each target by their owners; NULL: none so far */
    fold_rate rate;
    bool is_fold_said;
} terminal;

/* Whether an object fulfils --where. */
typedef struct passing {
    bool before; /* before an update */
    bool after;
} passing;

/* Prints a change in the width of the terminal (-o wide, a pipe: whole); does not flush. Heartbeats are counted, as by
 * print_line. Returns false for them, and for updates of nothing that --only names. On a terminal initial objects are
 * only counted, unless --all or the object's name is given, and changes on a busy cluster wait for terminal_tick. Ends
 * the session with a failure if out of memory. */
bool terminal_show(terminal *to, target *t, const ki_event *event, change_type type, passing is_passed);
/* Prints the initial objects of a target that has synced, counted by their status; does not flush. */
void terminal_show_initial(terminal *to, const target *t);
/* Prints the changes that wait, by owner; does not flush. Called every second, and at the end. */
void terminal_tick(terminal *to, session *s);
void terminal_close(terminal *to);

#endif
