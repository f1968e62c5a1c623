/* process.c: see process.h. */
#include "tests/support/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OUT = 0,
    ERR = 1
};

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void run_child(const char *const *argv, const char *const *environment, int in, int out, int err) {
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    if (err >= 0)
        dup2(err, STDERR_FILENO);
    for (; environment && *environment; environment++)
        putenv((char *)(size_t)*environment);
    signal(SIGPIPE, SIG_DFL);
    execv(argv[0], (char *const *)(size_t)argv);
    _exit(127);
}

bool ki_process_start(ki_process *process, const char *const *argv, const char *const *environment, bool capture_err) {
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
    memset(process, 0, sizeof *process);
    process->pid = -1;
    process->in = process->out = process->err = -1;
    if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && (!capture_err || pipe2(err, O_CLOEXEC) == 0)) {
        process->pid = fork();
        if (process->pid == 0)
            run_child(argv, environment, in[0], out[1], err[1]);
    }
    close_fd(&in[0]);
    close_fd(&out[1]);
    close_fd(&err[1]);
    process->in = in[1];
    process->out = out[0];
    process->err = err[0];
    process->line = malloc(KI_PROCESS_LINE_MAX);
    process->pending[OUT] = malloc(KI_PROCESS_LINE_MAX);
    process->pending[ERR] = malloc(KI_PROCESS_LINE_MAX);
    if (process->pid > 0 && process->line && process->pending[OUT] && process->pending[ERR])
        return true;
    ki_process_free(process);
    return false;
}

/* Moves the first complete line from `pending` to process->line. `all`: also an incomplete one. */
static const char *take_line(ki_process *process, int which, bool all) {
    char *pending = process->pending[which];
    size_t have = process->pending_size[which];
    char *end = memchr(pending, '\n', have);
    size_t size = end ? (size_t)(end - pending) : have;
    size_t used = end ? size + 1 : size;
    if (!end && (!all || have == 0) && have < KI_PROCESS_LINE_MAX)
        return NULL;
    if (size >= KI_PROCESS_LINE_MAX)
        size = KI_PROCESS_LINE_MAX - 1;
    memcpy(process->line, pending, size);
    process->line[size] = '\0';
    memmove(pending, pending + used, have - used);
    process->pending_size[which] = have - used;
    return process->line;
}

static const char *read_line(ki_process *process, int which) {
    int fd = which == OUT ? process->out : process->err;
    for (;;) {
        const char *line = take_line(process, which, false);
        if (line || fd < 0)
            return line;
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int polled = poll(&ready, 1, KI_PROCESS_PATIENCE_MS);
        if (polled == 0)
            return NULL;
        size_t room = KI_PROCESS_LINE_MAX - process->pending_size[which];
        ssize_t size = read(fd, process->pending[which] + process->pending_size[which], room);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return take_line(process, which, true);
        process->pending_size[which] += (size_t)size;
    }
}

const char *ki_process_line(ki_process *process) {
    return read_line(process, OUT);
}

const char *ki_process_err_line(ki_process *process) {
    return read_line(process, ERR);
}

const char *ki_process_expect(ki_process *process, const char *text) {
    const char *line;
    while ((line = ki_process_line(process)))
        if (strstr(line, text))
            return line;
    return NULL;
}

const char *ki_process_expect_err(ki_process *process, const char *text) {
    const char *line;
    while ((line = ki_process_err_line(process)))
        if (strstr(line, text))
            return line;
    return NULL;
}

void ki_process_close_in(ki_process *process) {
    close_fd(&process->in);
}

void ki_process_close_out(ki_process *process) {
    close_fd(&process->out);
}

void ki_process_signal(ki_process *process, int number) {
    if (process->pid > 0)
        kill(process->pid, number);
}

int ki_process_wait(ki_process *process) {
    int status = 0;
    while (process->pid > 0 && waitpid(process->pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    process->pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ki_process_free(ki_process *process) {
    if (!process->pid && !process->in && !process->out)
        return; /* never started: zeros are no descriptors */
    if (process->pid > 0) {
        ki_process_signal(process, SIGKILL);
        (void)ki_process_wait(process);
    }
    close_fd(&process->in);
    close_fd(&process->out);
    close_fd(&process->err);
    free(process->line);
    free(process->pending[OUT]);
    free(process->pending[ERR]);
    memset(process, 0, sizeof *process);
    process->pid = process->in = process->out = process->err = -1;
}

int ki_process_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return folder ? count : -1;
}

bool ki_process_reports_failed_exec(void) {
    const char *const argv[] = { "x", NULL };
    pid_t pid = 0;
    if (posix_spawn(&pid, "/nonexistent/program", NULL, NULL, (char *const *)(uintptr_t)argv, NULL))
        return true;
    waitpid(pid, NULL, 0);
    fprintf(stderr, "skipped: posix_spawn does not report that a program cannot be executed: this is an emulator\n");
    return false;
}
