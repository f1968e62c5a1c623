/* definition.h: the columns of a session's resources, those of custom ones as their definitions say, where they may be read. */
#ifndef CLI_DEFINITION_H
#define CLI_DEFINITION_H

#include <kinformer-print/columns.h>

#include "session.h"

/* One for each target, in order; freed with definitions_free. Turns the session's loop until the server has answered, which takes a few
 * seconds at most, or a signal. */
ki_status definitions_read(session *s, ki_columns *columns[TARGETS_MAX], ki_error *err);
void definitions_free(ki_columns *columns[TARGETS_MAX]);

#endif
