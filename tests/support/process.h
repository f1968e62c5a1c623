/* process.h: runs another program under test, with pipes. For cmocka tests. Each wait is for a line or the end of
 * the program, and fails after KI_PROCESS_PATIENCE_MS, which only a broken program reaches. */
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
    int in;  /* standard input; -1: closed */
    int out; /* standard output */
    int err; /* standard error; -1: inherited */
    char *line;
    char *pending[2]; /* bytes after the last line, of out and err */
    size_t pending_size[2];
} ki_process;

/* Starts a program. NULL ends `argv` and `environment`; the latter may be NULL and has "NAME=value" entries to add.
 * `capture_err`: standard error can be read too. Returns false if it cannot start. */
bool ki_process_start(ki_process *process, const char *const *argv, const char *const *environment, bool capture_err);
/* Returns the next line of standard output (or error) without its newline; NULL at the end. Valid until the next
 * call. */
const char *ki_process_line(ki_process *process);
const char *ki_process_err_line(ki_process *process);
/* Reads lines until one contains `text`; NULL if none does. */
const char *ki_process_expect(ki_process *process, const char *text);
const char *ki_process_expect_err(ki_process *process, const char *text);
void ki_process_close_in(ki_process *process);
void ki_process_close_out(ki_process *process); /* like a reader that goes away */
void ki_process_signal(ki_process *process, int number);
/* Waits for the end. Returns the exit status, or 128 + the signal's number. */
int ki_process_wait(ki_process *process);
/* For teardown: kills the program if it still runs, and closes everything. */
void ki_process_free(ki_process *process);

/* Returns a number that grows by one for each descriptor that this process opens; -1 if it cannot be read. */
int ki_process_descriptors(void);

/* Returns true if posix_spawn reports that a program cannot be executed. Under qemu-user the child runs apart and only
 * ends with 127. Prints why a test that needs this is skipped. */
bool ki_process_reports_failed_exec(void);

#endif
