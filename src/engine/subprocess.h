/* subprocess.h: a program that is run for what it prints: started at once, its output limited, its end told on the loop.
 * It has no terminal and an empty standard input, a session of its own, signals as a new process has them and no descriptor of ours but the
 * two pipes. Its end is that of the program itself: what it has left running in the background goes on, in that session, and what that writes later
 * is read by nobody. The host's handling of SIGCHLD is left alone, and may even take the exit status away. Loop only. */
#ifndef KI_ENGINE_PROCESS_H
#define KI_ENGINE_PROCESS_H

#include "src/base/string_view.h"
#include "src/engine/engine.h"

enum {
    KI_SUBPROCESS_ERRORS_KEPT = 1024,   /* bytes of standard error, its end */
    KI_SUBPROCESS_POLL_MS = 20,         /* where the kernel has no pidfd */
    KI_SUBPROCESS_KILLED_WAIT_MS = 5000 /* a killed process that is not gone by then is not waited for any longer */
};

typedef struct ki_subprocess ki_subprocess;

typedef enum ki_subprocess_end {
    KI_SUBPROCESS_EXITED,    /* `number` is its status */
    KI_SUBPROCESS_SIGNALLED, /* `number` is the signal */
    KI_SUBPROCESS_UNKNOWN,   /* it has ended; the host has taken its status */
    KI_SUBPROCESS_TIMED_OUT, /* killed, with all that it started and left in its session's first group */
    KI_SUBPROCESS_TOO_MUCH,  /* killed: it printed more than the limit */
    KI_SUBPROCESS_NO_MEMORY  /* killed: for what it printed there was none */
} ki_subprocess_end;

typedef struct ki_subprocess_result {
    ki_subprocess_end end;
    int number;
    ki_str output; /* borrowed; wiped after the call */
    ki_str errors; /* the end of standard error */
} ki_subprocess_result;

/* Borrowed during start. */
typedef struct ki_subprocess_options {
    const char *path;               /* of the executable file */
    const char *const *arguments;   /* with the program's name first and NULL last */
    const char *const *environment; /* NULL last */
    size_t output_limit;
    int64_t time_limit_ns;
    /* Once, never from inside start; the process is gone afterwards. What it started and left running after a good end goes on, though it
     * may hold the pipes: what the process itself wrote is there when it ends. */
    void (*ended)(const ki_subprocess_result *result, void *user);
    void *user;
} ki_subprocess_options;

/* Errors: KI_ERR_NOT_FOUND (no such file), KI_ERR_SYSTEM (it cannot be executed; no descriptors or processes left), KI_ERR_NO_MEMORY. */
ki_status ki_subprocess_start(ki_engine *engine, const ki_subprocess_options *options, ki_subprocess **ret_process,
                              ki_error *err);
/* Kills it without a call of `ended`. Blocks until it is gone: moments. NULL is accepted. */
void ki_subprocess_cancel(ki_subprocess *process);

/* Seconds since 1970 by the host's clock, which may jump: only to compare with a date that somebody else wrote. Any thread. */
int64_t ki_wall_clock_seconds(void);

#endif
