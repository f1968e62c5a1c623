/* line.h: one change as one line: "~ 12:03:04 Pod default/web-1  status.phase: Pending → Running". */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include <kinformer-print/columns.h>

#include "session.h"

typedef enum change_type {
    CHANGE_ADDED,
    CHANGE_MODIFIED,
    CHANGE_DELETED
} change_type;

/* What an added object's line shows of it: its kind's columns. */
typedef struct line_columns {
    const ki_columns *columns; /* NULL: none */
    bool is_wide;              /* those of -o wide, too */
} line_columns;

/* Prints a line, cut to the width of a terminal. An update in which a component did nothing but say that it is alive is no line: it is counted, the next
 * line of the target says how many, and false is returned. Fails the session where there is no memory. Does not flush. */
bool print_line(target *t, const ki_event *event, change_type type, line_columns columns);
/* The whole object as JSON, to be freed with ki_value_clear. False, and the session fails, where there is no memory. */
bool get_json(session *s, const ki_object *obj, ki_value *ret_json);

#endif
