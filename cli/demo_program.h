/* demo_program.h: the process of the controller that `kinformer demo --controller` runs. */
#ifndef CLI_DEMO_PROGRAM_H
#define CLI_DEMO_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct demo_program {
    const char *path;
    pid_t pid;       /* 0: not running */
    char folder[64]; /* holds the kubeconfig and the log; "": none yet */
    char kubeconfig[96];
    char log[96]; /* its standard output and error */
} demo_program;

/* Creates the folder. Returns false, with a message on stderr, on failure. */
bool demo_program_prepare(demo_program *program);
/* Starts the program with KUBECONFIG set, as outside a cluster. Returns false, with a message, on failure. */
bool demo_program_start(demo_program *program);
/* Returns true, with a message, if the program has ended by itself. */
bool demo_program_has_ended(demo_program *program);
/* Ends the program with SIGTERM. Returns false, with a message, if its status is not 0 or it takes too long. */
bool demo_program_end(demo_program *program);
/* Kills the program if it still runs, and removes the folder. With `keep_log` the log stays, and a message names it. */
void demo_program_free(demo_program *program, bool keep_log);

#endif
