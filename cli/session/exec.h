/* exec.h: the command of watch --exec, run for each event, one at a time, in order.
 *
 * Events wait in a queue while a command runs. A full queue pauses the informers. The command runs in its own process
 * group, with the event as a line of JSON on its standard input and KI_TYPE, KI_KEY, KI_RESOURCE and KI_INITIAL in its
 * environment. */
#ifndef CLI_SESSION_EXEC_H
#define CLI_SESSION_EXEC_H

#include "session.h"

typedef struct exec_queue exec_queue;

/* Returns a queue that runs `command` with /bin/sh -c; NULL if out of memory. The caller sets session.exec to it. */
exec_queue *exec_new(session *s, const char *command);
/* Queues an event; copies `json`. Returns false if out of memory. */
bool exec_add(exec_queue *queue, const target *t, const char *type, const char *key, bool is_initial, const char *json,
              size_t size);
/* Returns how many commands failed to start or ended with a status other than 0. */
size_t exec_failures(const exec_queue *queue);
void exec_free(exec_queue *queue);

/* ---- for the session's loop ---- */

/* Returns what to poll: the standard input of the running command, or a descriptor of -1. May shorten the timeout. */
struct pollfd exec_prepare(const exec_queue *queue, int *timeout_ms);
/* Feeds the running command, reaps it, and starts the next. Called after each poll. */
void exec_run(exec_queue *queue);
/* Returns true if the queue is full: the informers wait. */
bool exec_is_full(const exec_queue *queue);
/* Returns true while a command runs or waits: the session's end waits. */
bool exec_is_busy(const exec_queue *queue);
/* Ends the running command with SIGTERM, and with SIGKILL after two seconds or at the second call. Queued events run
 * no command. */
void exec_stop(exec_queue *queue);

#endif
