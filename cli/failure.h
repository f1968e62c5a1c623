/* failure.h: why a list does not come: whether waiting helps, and what to say of it in kubectl's words. Used by get, and by the search for a resource. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "session.h"

/* Returns true for a failure that does not pass by waiting: credentials, permissions, a request that is wrong, no way to the server, a certificate, and
 * a server that is no Kubernetes API server. False for a server that is busy, restarting or out of order. */
bool failure_is_final(const ki_error *cause);
/* Returns true for a failure of the way to the server or of the credentials: all resources have it. */
bool failure_is_of_server(const ki_error *cause);
/* Returns true for an error response that no Kubernetes API server sends, as a page in HTML. */
bool failure_is_foreign(const ki_error *cause);
/* Says on stderr why the list of `resource` did not come and, once a session, what can be done. `resource` may be NULL: the resources themselves
 * could not be looked up. */
void failure_say(session *s, const ki_resource *resource, const ki_error *cause);
/* Returns the exit status of a command that ends for this failure. */
int failure_status(const ki_error *cause);

#endif
