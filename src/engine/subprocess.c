/* subprocess.c: spawns a program, reads its output, limits its time, kills and reaps it. Loop only.
 *
 * A timer polls for its end, so that SIGCHLD does not matter. A process whose group must be killed is killed before it
 * is reaped: until it is reaped the kernel does not reuse the group's number. */
#include "src/engine/subprocess.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READ_SIZE = 16 * 1024
};

struct ki_subprocess {
    ki_engine *engine;
    const ki_allocator *allocator;
    ki_subprocess_options options; /* path, arguments and environment are invalid after start */
    pid_t pid;
    int output_fd, errors_fd;
    ki_io output_io, errors_io;
    ki_timer deadline;
    ki_timer poll_timer;
    ki_buffer output;
    char errors[KI_SUBPROCESS_ERRORS_KEPT];
    size_t errors_size;
    bool killed;
    ki_subprocess_end why; /* why it was killed */
};

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void stop_reading(ki_io *io, int *fd) {
    ki_io_remove(io);
    close_fd(fd);
}

static void free_process(ki_subprocess *process) {
    stop_reading(&process->output_io, &process->output_fd);
    stop_reading(&process->errors_io, &process->errors_fd);
    ki_timer_close(&process->deadline);
    ki_timer_close(&process->poll_timer);
    ki_buffer_free(&process->output);
    ki_wipe(process->errors, sizeof process->errors);
    ki_free(process->allocator, process);
}

/* Kills the process and its process group. */
static void kill_all(ki_subprocess *process) {
    KI_ASSERT(process->pid > 0);
    kill(-process->pid, SIGKILL);
    kill(process->pid, SIGKILL);
}

/* Waits for the killed process, for a limited time: a process in an uninterruptible system call does not end. */
static void wait_for_killed(const ki_subprocess *process) {
    for (int waited = 0; waited < KI_SUBPROCESS_KILLED_WAIT_MS; waited += KI_SUBPROCESS_POLL_MS) {
        if (waitpid(process->pid, NULL, WNOHANG) != 0)
            return; /* ended, or reaped by the host */
        poll(NULL, 0, KI_SUBPROCESS_POLL_MS);
    }
}

void ki_subprocess_cancel(ki_subprocess *process) {
    if (!process)
        return;
    KI_ON_LOOP(process->engine);
    kill_all(process);
    wait_for_killed(process);
    free_process(process);
}

static void kill_for(ki_subprocess *process, ki_subprocess_end why) {
    if (process->killed)
        return;
    process->killed = true;
    process->why = why;
    stop_reading(&process->output_io, &process->output_fd);
    kill_all(process);
    ki_timer_set(&process->deadline, ki_engine_now(process->engine) + KI_MILLISECONDS(KI_SUBPROCESS_KILLED_WAIT_MS));
}

static void report_end(ki_subprocess *process, ki_subprocess_end end, int number) {
    KI_ON_LOOP(process->engine);
    const ki_subprocess_result result = {
        .end = process->killed ? process->why : end,
        .number = number,
        .output = { process->output.data, process->output.size },
        .errors = { process->errors, process->errors_size },
    };
    process->options.ended(&result, process->options.user);
    free_process(process);
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static void keep_output(ki_subprocess *process, const char *data, size_t size) {
    ki_status status = ki_buffer_append(&process->output, data, size);
    if (status)
        kill_for(process, status == KI_ERR_LIMIT ? KI_SUBPROCESS_TOO_MUCH : KI_SUBPROCESS_NO_MEMORY);
}

static void keep_errors(ki_subprocess *process, const char *data, size_t size) {
    if (size > sizeof process->errors) {
        data += size - sizeof process->errors;
        size = sizeof process->errors;
    }
    size_t keep = sizeof process->errors - size;
    if (process->errors_size > keep) {
        memmove(process->errors, process->errors + process->errors_size - keep, keep);
        process->errors_size = keep;
    }
    memcpy(process->errors + process->errors_size, data, size);
    process->errors_size += size;
    KI_ASSERT(process->errors_size <= sizeof process->errors);
}

/* Reads once. Returns false if there is nothing more to read now. */
static bool read_some(ki_subprocess *process, ki_io *io, int *fd) {
    char data[READ_SIZE];
    if (*fd < 0)
        return false;
    ssize_t count = read(*fd, data, sizeof data);
    if (count < 0 && errno == EINTR)
        return true;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (count <= 0) {
        stop_reading(io, fd);
        return false;
    }
    if (io == &process->output_io)
        keep_output(process, data, (size_t)count);
    else
        keep_errors(process, data, (size_t)count);
    ki_wipe(data, (size_t)count);
    return true;
}

static void output_ready(ki_io *io, uint32_t events, void *user) {
    (void)events;
    ki_subprocess *process = user;
    read_some(process, io, io == &process->output_io ? &process->output_fd : &process->errors_fd);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/* Checks whether the process has ended, and reads the rest of the pipes. The amount is limited: another process can
 * hold a pipe and write without end. */
static void check_end(ki_subprocess *process) {
    KI_ON_LOOP(process->engine);
    siginfo_t info = { .si_pid = 0 };
    int failed = waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (!failed && info.si_pid == 0)
        return;
    for (size_t taken = 0; taken <= process->options.output_limit && !process->killed; taken += READ_SIZE) {
        if (!read_some(process, &process->output_io, &process->output_fd))
            break;
    }
    for (size_t taken = 0; taken <= sizeof process->errors * 64; taken += READ_SIZE) {
        if (!read_some(process, &process->errors_io, &process->errors_fd))
            break;
    }
    if (failed) {
        report_end(process, KI_SUBPROCESS_UNKNOWN, 0);
        return;
    }
    int status = 0;
    pid_t reaped = waitpid(process->pid, &status, WNOHANG);
    if (reaped != process->pid)
        report_end(process, KI_SUBPROCESS_UNKNOWN, 0);
    else if (WIFSIGNALED(status))
        report_end(process, KI_SUBPROCESS_SIGNALLED, WTERMSIG(status));
    else
        report_end(process, KI_SUBPROCESS_EXITED, WEXITSTATUS(status));
}

static void poll_timer_fired(ki_timer *timer, void *user) {
    ki_subprocess *process = user;
    ki_timer_set(timer, ki_engine_now(process->engine) + KI_MILLISECONDS(KI_SUBPROCESS_POLL_MS));
    check_end(process); /* may free the process */
}

static void deadline_passed(ki_timer *timer, void *user) {
    (void)timer;
    ki_subprocess *process = user;
    if (process->killed)
        report_end(process, KI_SUBPROCESS_UNKNOWN, 0);
    else
        kill_for(process, KI_SUBPROCESS_TIMED_OUT);
}

/* --- the start ---------------------------------------------------------------------------------------------------- */

/* Moves a descriptor above the standard ones. A host may have closed those, and the child's dup2 calls would then
 * overwrite each other's descriptors. */
static int move_up(int fd) {
    if (fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int number = errno;
    close(fd);
    errno = number;
    return moved;
}

static bool open_pipe(int *ret_read, int *ret_write) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    *ret_read = move_up(ends[0]);
    *ret_write = move_up(ends[1]);
    return *ret_read >= 0 && *ret_write >= 0 && !fcntl(*ret_read, F_SETFL, O_NONBLOCK);
}

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawnattr_setsigmask(attributes, &none);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (!failed) /* a new session has its own group, and no terminal to ask for a password on */
        failed =
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    return failed;
}

static int set_files(posix_spawn_file_actions_t *files, int output, int errors) {
    int failed = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, errors, STDERR_FILENO);
#ifdef __GLIBC__ /* musl does not have the function */
#if __GLIBC_PREREQ(2, 34)
    if (!failed) /* a host can have opened descriptors without O_CLOEXEC */
        failed = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
#endif
#endif
    return failed;
}

/* Returns 0 or the errno of the first failure. */
static int spawn(ki_subprocess *process, const ki_subprocess_options *options) {
    int output = -1, errors = -1;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files))
        return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    char *const *arguments, *const *environment; /* POSIX declares them without const, and does not change them */
    memcpy(&arguments, &options->arguments, sizeof arguments);
    memcpy(&environment, &options->environment, sizeof environment);
    int failed = 0;
    if (!open_pipe(&process->output_fd, &output) || !open_pipe(&process->errors_fd, &errors))
        failed = errno;
    if (!failed)
        failed = set_attributes(&attributes);
    if (!failed)
        failed = set_files(&files, output, errors);
    if (!failed)
        failed = posix_spawn(&process->pid, options->path, &files, &attributes, arguments, environment);
    close_fd(&output);
    close_fd(&errors);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* Watches the started child. */
static ki_status watch(ki_subprocess *process, ki_error *err) {
    ki_engine *engine = process->engine;
    ki_status status = ki_io_add(&process->output_io, engine, process->output_fd, EPOLLIN, output_ready, process, err);
    if (!status)
        status = ki_io_add(&process->errors_io, engine, process->errors_fd, EPOLLIN, output_ready, process, err);
    ki_timer_set(&process->poll_timer, ki_engine_now(engine) + KI_MILLISECONDS(KI_SUBPROCESS_POLL_MS));
    ki_timer_set(&process->deadline, ki_engine_now(engine) + process->options.time_limit_ns);
    return status;
}

ki_status ki_subprocess_start(ki_engine *engine, const ki_subprocess_options *options, ki_subprocess **ret_process,
                              ki_error *err) {
    KI_ON_LOOP(engine);
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_subprocess *process = ki_alloc_zero(allocator, sizeof *process);
    if (!process)
        return ki_error_no_memory(err, "starting a program");
    process->engine = engine;
    process->allocator = allocator;
    process->options = *options;
    process->output_fd = process->errors_fd = -1;
    ki_buffer_init(&process->output, allocator, options->output_limit);
    process->output.is_secret = true;
    ki_timer_init(&process->deadline, engine, deadline_passed, process);
    ki_timer_init(&process->poll_timer, engine, poll_timer_fired, process);
    int failed = spawn(process, options);
    if (failed) {
        free_process(process);
        ki_status status = failed == ENOENT || failed == ENOTDIR ? KI_ERR_NOT_FOUND : KI_ERR_SYSTEM;
        return ki_error_set_errno(err, status, failed, "cannot start %s", options->path);
    }
    ki_status status = watch(process, err);
    if (status) {
        ki_subprocess_cancel(process);
        return status;
    }
    *ret_process = process;
    return KI_OK;
}
