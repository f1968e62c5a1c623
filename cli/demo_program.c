/* demo_program.c: see demo_program.h. */
#include "demo_program.h"

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    END_WITHIN_MS = 10000,
    LOOK_EVERY_MS = 10
};

bool demo_program_prepare(demo_program *program) {
    const char *base = getenv("TMPDIR");
    snprintf(program->folder, sizeof program->folder, "%s/kinformer-demo-XXXXXX",
             base && *base && strlen(base) < 32 ? base : "/tmp");
    if (!mkdtemp(program->folder)) {
        say("demo", "%s: %s", program->folder, strerror(errno));
        program->folder[0] = '\0';
        return false;
    }
    snprintf(program->kubeconfig, sizeof program->kubeconfig, "%s/kubeconfig", program->folder);
    snprintf(program->log, sizeof program->log, "%s/controller.log", program->folder);
    return true;
}

/* Returns this process's environment with another KUBECONFIG and without KUBERNETES_SERVICE_HOST. The caller frees the
 * array, not its strings. */
static char **make_environment(char *kubeconfig_entry) {
    static const char *const replaced[] = { "KUBECONFIG=", "KUBERNETES_SERVICE_HOST=" };
    size_t count = 0, used = 0;
    while (environ[count])
        count++;
    char **variables = calloc(count + 2, sizeof *variables);
    for (size_t i = 0; variables && i < count; i++) {
        bool is_replaced = false;
        for (size_t j = 0; j < sizeof replaced / sizeof replaced[0]; j++)
            is_replaced = is_replaced || strncmp(environ[i], replaced[j], strlen(replaced[j])) == 0;
        if (!is_replaced)
            variables[used++] = environ[i];
    }
    if (variables)
        variables[used] = kubeconfig_entry;
    return variables;
}

/* Returns 0 or an errno. */
static int spawn(demo_program *program, char **variables) {
    const char *const words[] = { program->path, NULL };
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none;
    sigemptyset(&none);
    int failure = posix_spawnattr_init(&attributes);
    if (failure)
        return failure;
    failure = posix_spawn_file_actions_init(&actions);
    if (!failure) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, &none); /* the session blocks SIGINT and SIGTERM */
        failure = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (!failure)
            failure = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, program->log,
                                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (!failure)
            failure = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        if (!failure) /* posix_spawn does not change the arguments */
            failure = posix_spawnp(&program->pid, program->path, &actions, &attributes, (char *const *)(uintptr_t)words,
                                   variables);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    if (failure)
        program->pid = 0;
    return failure;
}

bool demo_program_start(demo_program *program) {
    char entry[128];
    snprintf(entry, sizeof entry, "KUBECONFIG=%s", program->kubeconfig);
    char **variables = make_environment(entry);
    int failure = variables ? spawn(program, variables) : ENOMEM;
    free(variables);
    if (failure)
        say("demo", "cannot run %s: %s", program->path, strerror(failure));
    return !failure;
}

/* Returns true if the program has ended; `ret_ok`: with status 0. Prints any other status. */
static bool reap(demo_program *program, bool *ret_ok) {
    int status = 0;
    if (waitpid(program->pid, &status, WNOHANG) != program->pid)
        return false;
    program->pid = 0;
    *ret_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!*ret_ok)
        say("demo", "%s ended with %s %d", program->path, WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return true;
}

bool demo_program_has_ended(demo_program *program) {
    bool is_ok = false;
    if (!program->pid || !reap(program, &is_ok))
        return false;
    if (is_ok)
        say("demo", "%s ended before the demo did", program->path);
    return true;
}

bool demo_program_end(demo_program *program) {
    const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
    bool is_ok = true;
    if (!program->pid)
        return true;
    kill(program->pid, SIGTERM);
    for (int waited_ms = 0; waited_ms < END_WITHIN_MS; waited_ms += LOOK_EVERY_MS) {
        if (reap(program, &is_ok))
            return is_ok;
        nanosleep(&pause, NULL);
    }
    say("demo", "%s did not end within %d s of SIGTERM", program->path, END_WITHIN_MS / 1000);
    return false;
}

void demo_program_free(demo_program *program, bool keep_log) {
    if (program->pid) {
        kill(program->pid, SIGKILL);
        (void)waitpid(program->pid, NULL, 0);
    }
    if (!program->folder[0])
        return;
    unlink(program->kubeconfig);
    if (keep_log && access(program->log, R_OK) == 0) {
        say("demo", "the controller's output is in %s", program->log);
        return;
    }
    unlink(program->log);
    rmdir(program->folder);
}
