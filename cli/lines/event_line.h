/* event_line.h: a change of an Event as a line of kubectl get events: type, reason, object, message, count.
 *
 *     ~ 18:45:55 shop  Warning  BackOff  pod/cart-7d  Back-off restarting failed container (x12) */
#ifndef CLI_LINES_EVENT_LINE_H
#define CLI_LINES_EVENT_LINE_H

#include "change.h"

/* Returns true for the resource events, of the core group or of events.k8s.io. */
bool is_event_resource(const ki_resource *resource);
/* Writes the line of an Event, as change_write. `namespace_name` is printed first; NULL: not printed. A narrow line
 * lacks in this order: the end of the message, the time and the namespace, the type. */
bool event_write(const change_line *c, const char *namespace_name, size_t width, FILE *out);

#endif
