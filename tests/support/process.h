/* process.h: another program under test: started, talked to through pipes, awaited. For cmocka tests.
 * Nothing here waits by time alone: each wait is for a line or an end, and gives up after KI_PROCESS_PATIENCE_MS, which only a
 * broken program reaches. */
#ifndef KI_TESTS_SUPPORT_PROCESS_H
#define KI_TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    KI_PROCESS_PATIENCE_MS = 90000,
    KI_PROCESS_LINE_MAX = 256 * 1024
};

typedef struct ki_process {
    pid_t pid;
    int in;  /* its standard input; -1 once closed */
    int out; /* its standard output */
    int err; /* its standard error, or -1 where it is ours */
    char *line;
    char *pending[2]; /* bytes read past the last line, of out and err */
    size_t pending_size[2];
} ki_process;

/* argv ends with NULL; environment entries "NAME=value", ended with NULL, are added to ours (may be NULL). With
 * `capture_err` its standard error can be read too. False where it cannot be started. */
bool ki_process_start(ki_process *process, const char *const *argv, const char *const *environment, bool capture_err);
/* The next line of its standard output (or error), without the newline; NULL at the end. Valid until the next call. */
const char *ki_process_line(ki_process *process);
const char *ki_process_err_line(ki_process *process);
/* Reads lines until one contains `text`; NULL where none does. */
const char *ki_process_expect(ki_process *process, const char *text);
const char *ki_process_expect_err(ki_process *process, const char *text);
void ki_process_close_in(ki_process *process);
void ki_process_close_out(ki_process *process); /* as a reader that goes away */
void ki_process_signal(ki_process *process, int number);
/* Waits for its end: the exit status, or 128 + the signal's number. */
int ki_process_wait(ki_process *process);
/* For teardown: kills it where it still runs, closes everything. */
void ki_process_free(ki_process *process);

#endif
