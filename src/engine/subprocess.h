/* subprocess.h: runs a program for its output, limits the output, and reports its end on the loop. Loop only.
 *
 * The program has an empty standard input, no terminal, its own session, default signal handling and no descriptor of
 * the host except two pipes. Only the end of the program itself counts. Background processes that it leaves continue,
 * and their later output is not read. The host's SIGCHLD handling is not changed; the host may even take the exit
 * status. */
#ifndef KI_ENGINE_PROCESS_H
#define KI_ENGINE_PROCESS_H

#include "src/base/string_view.h"
#include "src/engine/engine.h"

enum {
    KI_SUBPROCESS_ERRORS_KEPT = 1024,   /* bytes of standard error that are kept, the last ones */
    KI_SUBPROCESS_POLL_MS = 20,         /* interval of looks for the end */
    KI_SUBPROCESS_KILLED_WAIT_MS = 5000 /* maximum wait for a killed process */
};

typedef struct ki_subprocess ki_subprocess;

typedef enum ki_subprocess_end {
    KI_SUBPROCESS_EXITED,    /* `number` is the exit status */
    KI_SUBPROCESS_SIGNALLED, /* `number` is the signal */
    KI_SUBPROCESS_UNKNOWN,   /* ended; the host has taken the status */
    KI_SUBPROCESS_TIMED_OUT, /* killed, with its process group */
    KI_SUBPROCESS_TOO_MUCH,  /* killed: its output exceeded the limit */
    KI_SUBPROCESS_NO_MEMORY  /* killed: out of memory for its output */
} ki_subprocess_end;

typedef struct ki_subprocess_result {
    ki_subprocess_end end;
    int number;
    ki_str output; /* borrowed; wiped after the call */
    ki_str errors; /* the end of standard error */
} ki_subprocess_result;

/* Borrowed during start. */
typedef struct ki_subprocess_options {
    const char *path;               /* path of the executable file */
    const char *const *arguments;   /* begins with the program's name, ends with NULL */
    const char *const *environment; /* ends with NULL */
    size_t output_limit;
    int64_t time_limit_ns;
    /* Called once, never inside start; the process is freed afterwards. All output of the program itself has been read
     * by then, also if a background process still holds the pipes. */
    void (*ended)(const ki_subprocess_result *result, void *user);
    void *user;
} ki_subprocess_options;

/* Starts a program. Errors: KI_ERR_NOT_FOUND (no such file), KI_ERR_SYSTEM (not executable; no descriptors or processes
 * left), KI_ERR_NO_MEMORY. */
ki_status ki_subprocess_start(ki_engine *engine, const ki_subprocess_options *options, ki_subprocess **ret_process,
                              ki_error *err);
/* Kills the process without calling `ended`. Blocks until it has ended, normally a few milliseconds, at most
 * KI_SUBPROCESS_KILLED_WAIT_MS. NULL is allowed. */
void ki_subprocess_cancel(ki_subprocess *process);

#endif
