/* demo_program.h: the controller that `kinformer demo --controller` runs: started with a kubeconfig, watched, ended. */
#ifndef CLI_DEMO_PROGRAM_H
#define CLI_DEMO_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct demo_program {
    const char *path;
    pid_t pid;       /* 0: it does not run */
    char folder[64]; /* of its kubeconfig and its log; "": none yet */
    char kubeconfig[96];
    char log[96]; /* its standard output and error */
} demo_program;

/* Makes the folder. False, with a message on stderr, where that fails. */
bool demo_program_prepare(demo_program *program);
/* Starts the program with KUBECONFIG=kubeconfig, as outside of a cluster. False, with a message, where that fails. */
bool demo_program_start(demo_program *program);
/* Returns true where the program has ended by itself; then with a message. */
bool demo_program_has_ended(demo_program *program);
/* Ends it with SIGTERM. False, with a message, where it ends otherwise than with status 0, or not in time. */
bool demo_program_end(demo_program *program);
/* Kills it where it still runs, and removes the folder; with `keep_log` the log stays, and a message says where. */
void demo_program_free(demo_program *program, bool keep_log);

#endif
