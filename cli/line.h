/* line.h: one change as one line, for scripts: "~ 12:03:04 Pod default/web-1 status.phase: Pending → Running". What is
 * printed on a terminal: terminal.h. */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include "lines/change.h"
#include "session/session.h"

enum {
    LINE_CLOCK_MAX = 16
};

/* The columns in an added object's line. */
typedef struct line_columns {
    const ki_columns *columns; /* NULL: none */
    bool is_wide;              /* with the columns of -o wide */
} line_columns;

/* Prints a line, cut to the width of a terminal; does not flush. A heartbeat (an update in which only times of liveness
 * changed) is not printed but counted: the target's next line has the number. Returns false for a heartbeat. Ends the
 * session with a failure if out of memory. */
bool print_line(target *t, const ki_event *event, change_type type, line_columns columns);
/* Writes the time of day: "18:45:55". */
void line_clock(char text[LINE_CLOCK_MAX]);
/* Writes the whole object as JSON; the caller frees it with ki_value_clear. Returns false, and ends the session with a
 * failure, if out of memory. */
bool get_json(session *s, const ki_object *obj, ki_value *ret_json);

#endif
