/* failure.h: failures of a list: whether waiting helps, and kubectl's message for them. Used by get and by
 * discovery. */
#ifndef CLI_SESSION_FAILURE_H
#define CLI_SESSION_FAILURE_H

#include "session.h"

enum {
    FAILURE_REMEDY_MAX = 512,
    FAILURE_WAIT_MS = 5000 /* time limit of a failure_get */
};

/* Returns true if a retry cannot succeed: the server cannot parse the request (a wrong selector). For a command that
 * ends at once, also for a failure that waiting does not fix: credentials, permissions, no connection, a certificate,
 * or a server that is not a Kubernetes API server. A server that is busy, restarting or broken is asked again. */
bool failure_is_hopeless(const session *s, const ki_error *cause);
/* Returns true for a failure of the connection or the credentials: every resource would fail the same way. */
bool failure_is_of_server(const ki_error *cause);
/* Gets a document of the server. Sets `*ret_cause` if that fails. */
typedef void (*failure_get)(void *user, const char *path, ki_error *ret_cause);
/* Returns true, and sets `*err`, if `name` is not in the map because a group version that can have it could not be
 * read: the server behind it is down. `get` gets the group version's document, for the cause. */
bool failure_is_unread(const ki_resource_map *map, const char *name, failure_get get, void *user, ki_error *err);
/* Prints on stderr why the list of `resource` failed, and once a session what to do. `resource` is NULL if discovery
 * failed. */
void failure_print(session *s, const ki_resource *resource, const ki_error *cause);
/* Returns "; " and how to fix the cause of `resource`'s failure; "" if unknown, or if the message says it (KI_ERR_TLS).
 * For a missing permission the verbs that suffice. Returns `text`. */
const char *failure_remedy(const session *s, const ki_resource *resource, const ki_error *cause,
                           char text[FAILURE_REMEDY_MAX]);
/* Returns how many names the synced caches lack. */
size_t failure_count_missing(const session *s);
/* Prints on stderr which names do not exist. */
void failure_print_missing(const session *s);
/* Prints on stderr that there are no objects. */
void failure_print_empty(const session *s);
/* Returns the exit status of a command that this failure ends. */
int failure_status(const ki_error *cause);

#endif
