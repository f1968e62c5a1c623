/* line.h: one change as one line: "~ 12:03:04 Pod default/web-1  status.phase: Pending → Running". */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include "session.h"

typedef enum change_type {
    CHANGE_ADDED,
    CHANGE_MODIFIED,
    CHANGE_DELETED
} change_type;

/* Fails the session where there is no memory. Does not flush. */
void print_line(session *s, const ki_event *event, change_type type);
/* The whole object as JSON, to be freed with ki_value_clear. False, and the session fails, where there is no memory. */
bool get_json(session *s, const ki_object *obj, ki_value *ret_json);

#endif
