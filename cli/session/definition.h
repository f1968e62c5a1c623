/* definition.h: the columns of a session's resources; for a custom resource, those of its definition. */
#ifndef CLI_SESSION_DEFINITION_H
#define CLI_SESSION_DEFINITION_H

#include <kinformer-print/columns.h>

#include "session.h"

/* Reads the columns of each target, in the targets' order. The caller frees them with definitions_free. Runs the
 * session's loop until the server has responded, for a few seconds at most, or until a signal. */
ki_status definitions_read(session *s, ki_columns *columns[TARGETS_MAX], ki_error *err);
void definitions_free(ki_columns *columns[TARGETS_MAX]);

#endif
