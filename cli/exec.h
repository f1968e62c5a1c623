/* exec.h: the command of watch --exec, run for each event, one at a time, in order.
 *
 * Events wait in a queue while a command runs. A full queue pauses the informers. The command runs in its own process
 * group, with the event as a line of JSON on its standard input and KI_TYPE, KI_KEY, KI_RESOURCE and KI_INITIAL in its
 * environment. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "session.h"

typedef struct exec_queue exec_queue;

/* Returns a part of the session that runs `command` with /bin/sh -c; NULL if out of memory. */
exec_queue *exec_new(session *s, const char *command);
session_part *exec_part(exec_queue *queue);
/* Queues an event; copies `json`. Returns false if out of memory. */
bool exec_add(exec_queue *queue, const target *t, const char *type, const char *key, bool is_initial, const char *json,
              size_t size);
/* Returns how many commands failed to start or ended with a status other than 0. */
size_t exec_failures(const exec_queue *queue);
void exec_free(exec_queue *queue);

#endif
