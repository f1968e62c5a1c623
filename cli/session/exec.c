/* exec.c: see exec.h. */
#include "exec.h"

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    QUEUE_EVENTS_MAX = 1024, /* then the informers wait; one engine step can add some more */
    QUEUE_BYTES_MAX = 64 * 1024 * 1024,
    GRACE_MS = 2000,    /* between SIGTERM and SIGKILL */
    LOOK_EVERY_MS = 20, /* no event reports the end of a process group */
    OWN_VARIABLES = 4
};

typedef struct event {
    struct event *next;
    char *variables[OWN_VARIABLES];
    char *json; /* one line */
    size_t size;
} event;

struct exec_queue {
    session *session;
    const char *command;
    event *first;
    event **last;
    size_t count;
    size_t bytes;
    size_t failures;
    pid_t child;    /* also its process group; 0: none */
    bool has_ended; /* the child has ended, its group perhaps not; only while stopping */
    int in;         /* the child's standard input; -1: closed */
    size_t written;
    bool is_stopping;
    int64_t kill_at_ms;
};

static void free_event(event *e) {
    for (int i = 0; i < OWN_VARIABLES; i++)
        free(e->variables[i]);
    free(e->json);
    free(e);
}

static void drop_first(exec_queue *queue) {
    event *e = queue->first;
    queue->first = e->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->count--;
    queue->bytes -= e->size;
    free_event(e);
}

bool exec_add(exec_queue *queue, const target *t, const char *type, const char *key, bool is_initial, const char *json,
              size_t size) {
    event *e = calloc(1, sizeof *e);
    if (!e)
        return false;
    const char *group = t->resource.group;
    e->json = malloc(size + 1);
    bool is_ok = e->json && asprintf(&e->variables[0], "KI_TYPE=%s", type) >= 0 &&
                 asprintf(&e->variables[1], "KI_KEY=%s", key) >= 0 &&
                 asprintf(&e->variables[2], "KI_RESOURCE=%s%s%s", t->resource.plural, *group ? "." : "", group) >= 0 &&
                 asprintf(&e->variables[3], "KI_INITIAL=%s", is_initial ? "true" : "false") >= 0;
    if (!is_ok) {
        free_event(e);
        return false;
    }
    memcpy(e->json, json, size);
    e->json[size] = '\n';
    e->size = size + 1;
    *queue->last = e;
    queue->last = &e->next;
    queue->count++;
    queue->bytes += e->size;
    return true;
}

/* ---- one command ---- */

static void close_in(exec_queue *queue) {
    if (queue->in >= 0)
        close(queue->in);
    queue->in = -1;
}

/* Returns this process's environment with the event's variables. The caller frees the array, not its strings. */
static char **make_environment(const event *e) {
    static const char *const own[] = { "KI_TYPE=", "KI_KEY=", "KI_RESOURCE=", "KI_INITIAL=" };
    size_t count = 0;
    size_t used = 0;
    while (environ[count])
        count++;
    char **variables = calloc(count + OWN_VARIABLES + 1, sizeof *variables);
    for (size_t i = 0; variables && i < count; i++) {
        bool is_own = false;
        for (size_t j = 0; j < OWN_VARIABLES; j++)
            is_own = is_own || strncmp(environ[i], own[j], strlen(own[j])) == 0;
        if (!is_own)
            variables[used++] = environ[i];
    }
    for (size_t i = 0; variables && i < OWN_VARIABLES; i++)
        variables[used++] = e->variables[i];
    return variables;
}

/* Returns 0 or an errno. */
static int spawn(exec_queue *queue, char **variables, int in) {
    const char *const words[] = { "sh", "-c", queue->command, NULL };
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    int failure = posix_spawnattr_init(&attributes);
    if (failure)
        return failure;
    failure = posix_spawn_file_actions_init(&actions);
    if (!failure) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &defaults);
        failure = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
#ifdef __GLIBC__ /* musl does not have the function */
#if __GLIBC_PREREQ(2, 34)
        if (!failure) /* libcurl opens descriptors without O_CLOEXEC, and the parent process can leave more */
            failure = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
#endif
        if (!failure) /* posix_spawn does not change the arguments */
            failure = posix_spawn(&queue->child, "/bin/sh", &actions, &attributes, (char *const *)(uintptr_t)words,
                                  variables);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    if (failure)
        queue->child = 0;
    return failure;
}

static void start(exec_queue *queue) {
    int ends[2];
    char **variables = make_environment(queue->first);
    int failure = variables ? 0 : ENOMEM;
    if (!failure && pipe2(ends, O_CLOEXEC))
        failure = errno;
    if (!failure) {
        (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
        failure = spawn(queue, variables, ends[0]);
        close(ends[0]);
        queue->in = ends[1];
        queue->written = 0;
    }
    free(variables);
    if (failure) {
        close_in(queue);
        queue->failures++;
        say(queue->session->command, "--exec: cannot run %s for %s: %s", queue->command, queue->first->variables[1] + 7,
            strerror(failure));
        drop_first(queue);
    }
}

static void feed(exec_queue *queue) {
    const event *e = queue->first;
    while (queue->in >= 0 && queue->written < e->size) {
        ssize_t size = write(queue->in, e->json + queue->written, e->size - queue->written);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return;
        if (size < 0)
            break; /* the command does not read all */
        queue->written += (size_t)size;
    }
    close_in(queue);
}

static void say_failure(exec_queue *queue, int status) {
    const event *e = queue->first;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    queue->failures++;
    say(queue->session->command, "--exec: %s ended with %s %d for %s %s", queue->command,
        WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
        e->variables[0] + strlen("KI_TYPE="), e->variables[1] + strlen("KI_KEY="));
}

/* Reaps the child if it has ended. */
static void reap(exec_queue *queue) {
    int status = 0;
    if (!queue->child || queue->has_ended)
        return;
    pid_t ended = waitpid(queue->child, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno != ECHILD))
        return;
    close_in(queue);
    if (!queue->is_stopping) {
        say_failure(queue, status);
        queue->child = 0;
    }
    queue->has_ended = queue->is_stopping;
    drop_first(queue);
}

/* ---- for the session's loop ---- */

struct pollfd exec_prepare(const exec_queue *queue, int *timeout_ms) {
    if (queue->is_stopping && queue->child && (*timeout_ms < 0 || *timeout_ms > LOOK_EVERY_MS))
        *timeout_ms = LOOK_EVERY_MS;
    if (!queue->child && queue->first && !queue->is_stopping)
        *timeout_ms = 0;
    return (struct pollfd){ .fd = queue->in, .events = POLLOUT };
}

/* Ends the wait for the process group once no process of it is left. Called while stopping. */
static void look_at_group(exec_queue *queue) {
    if (session_now_ms() >= queue->kill_at_ms) {
        kill(-queue->child, SIGKILL);
        if (queue->has_ended)
            queue->child = 0;
    } else if (queue->has_ended && kill(-queue->child, 0) && errno == ESRCH) {
        queue->child = 0;
    }
}

void exec_run(exec_queue *queue) {
    if (queue->in >= 0)
        feed(queue);
    do {
        reap(queue);
        if (!queue->child && queue->first && !queue->is_stopping) {
            start(queue);
            if (queue->child)
                feed(queue);
        }
    } while (!queue->child && queue->first && !queue->is_stopping);
    if (queue->is_stopping && queue->child)
        look_at_group(queue);
}

bool exec_is_full(const exec_queue *queue) {
    return queue->count >= QUEUE_EVENTS_MAX || queue->bytes >= QUEUE_BYTES_MAX;
}

bool exec_is_busy(const exec_queue *queue) {
    return queue->child || (queue->first && !queue->is_stopping);
}

/* The second call kills a group that ignores SIGTERM. */
void exec_stop(exec_queue *queue) {
    if (queue->child)
        kill(-queue->child, queue->is_stopping ? SIGKILL : SIGTERM);
    queue->kill_at_ms = session_now_ms() + (queue->is_stopping ? 0 : GRACE_MS);
    queue->is_stopping = true;
}

exec_queue *exec_new(session *s, const char *command) {
    exec_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    signal(SIGCHLD, SIG_DFL); /* the parent process can have set SIG_IGN, and waitpid would fail */
    queue->session = s;
    queue->command = command;
    queue->last = &queue->first;
    queue->in = -1;
    return queue;
}

size_t exec_failures(const exec_queue *queue) {
    return queue ? queue->failures : 0;
}

void exec_free(exec_queue *queue) {
    if (!queue)
        return;
    if (queue->child) {
        kill(-queue->child, SIGKILL);
        (void)waitpid(queue->child, NULL, 0);
    }
    close_in(queue);
    while (queue->first)
        drop_first(queue);
    free(queue);
}
