/* exec.h: the command of watch --exec: run for each event, one at a time, in order.
 *
 * Events wait in a queue while a command runs; a long queue pauses the informers. The command runs in a process group of its own, with the
 * event as a line of JSON on its standard input and KI_TYPE, KI_KEY, KI_RESOURCE and KI_INITIAL in its environment. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "session.h"

typedef struct exec_queue exec_queue;

/* A part of the session that runs `command` (by /bin/sh -c). NULL where there is no memory. */
exec_queue *exec_new(session *s, const char *command);
session_part *exec_part(exec_queue *queue);
/* `json` is copied. False where there is no memory. */
bool exec_add(exec_queue *queue, const target *t, const char *type, const char *key, bool is_initial, const char *json,
              size_t size);
/* How many commands ended badly. */
size_t exec_failures(const exec_queue *queue);
void exec_free(exec_queue *queue);

#endif
