/* test_subprocess.c: programs that end well, and programs that do anything else. The shell plays them. */

#include "src/engine/subprocess.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LIMIT = 64 * 1024,
    PATIENCE_S = 60
};

typedef struct run {
    ki_engine *engine;
    ki_subprocess *process; /* NULL once it has ended */
    ki_subprocess_end end;
    int number;
    char output[256];
    char errors[KI_SUBPROCESS_ERRORS_KEPT + 1];
    size_t size;
} run;

/* --- processes that do not die: in place of libc's functions ---------------------------------- */

static bool is_immortal;
static int polls, polled_ms;

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

pid_t waitpid(pid_t pid, int *status, int options) {
    pid_t (*function)(pid_t, int *, int);
    *(void **)&function = real("waitpid");
    return is_immortal ? 0 : function(pid, status, options);
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms) {
    int (*function)(struct pollfd *, nfds_t, int);
    *(void **)&function = real("poll");
    if (!is_immortal)
        return function(descriptors, count, timeout_ms);
    polls++;
    polled_ms += timeout_ms;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const char *const environment[] = { "GIVEN=yes", "PATH=/usr/bin:/bin", NULL };

static void on_end(const ki_subprocess_result *result, void *user) {
    run *one = user;
    one->process = NULL;
    one->end = result->end;
    one->number = result->number;
    one->size = result->output.size;
    snprintf(one->output, sizeof one->output, "%.*s", (int)result->output.size, result->output.data);
    snprintf(one->errors, sizeof one->errors, "%.*s", (int)result->errors.size, result->errors.data);
}

static ki_status start(run *one, const char *script, int64_t time_limit_ns, const ki_allocator *allocator) {
    memset(one, 0, sizeof *one);
    ki_status status = ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 1, .allocator = allocator), &one->engine, NULL);
    char text[1024];
    snprintf(text, sizeof text, "%s", script);
    const char *const arguments[] = { "sh", "-c", text, NULL };
    if (!status)
        status = ki_subprocess_start(one->engine,
                                     &(ki_subprocess_options){ .path = "/bin/sh",
                                                               .arguments = arguments,
                                                               .environment = environment,
                                                               .output_limit = LIMIT,
                                                               .time_limit_ns = time_limit_ns,
                                                               .ended = on_end,
                                                               .user = one },
                                     &one->process, NULL);
    return status;
}

static void step(run *one) {
    struct pollfd descriptor = { .fd = ki_engine_fd(one->engine), .events = POLLIN };
    poll(&descriptor, 1, ki_engine_timeout(one->engine));
    assert_int_equal(ki_engine_step(one->engine, 0, NULL), KI_OK);
}

static void run_script(run *one, const char *script, int64_t time_limit_ns) {
    assert_int_equal(start(one, script, time_limit_ns, NULL), KI_OK);
    while (one->process)
        step(one);
    ki_engine_free(one->engine);
}

static void no_child_is_left(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(each_end_is_reported_as_it_was) {
    static const struct {
        const char *script;
        int64_t time_limit_ms;
        ki_subprocess_end end;
        int number;
        const char *output, *errors;
    } cases[] = {
        { "echo out; echo err >&2", 0, KI_SUBPROCESS_EXITED, 0, "out\n", "err\n" },
        { "exit 7", 0, KI_SUBPROCESS_EXITED, 7, "", "" },
        { "kill -9 $$", 0, KI_SUBPROCESS_SIGNALLED, 9, "", "" },
        { "printf part; kill -SEGV $$", 0, KI_SUBPROCESS_SIGNALLED, 11, "part", "" },
        { "printf $GIVEN-$HOME; cat; ls /proc/self/fd | wc -l >&2", 0, KI_SUBPROCESS_EXITED, 0, "yes-", "4\n" },
        { "echo soon >&2; sleep 1000", 200, KI_SUBPROCESS_TIMED_OUT, 0, "", NULL },
        { "exec >&-; sleep 1000", 200, KI_SUBPROCESS_TIMED_OUT, 0, "", NULL },
        { "trap '' TERM INT HUP; while :; do sleep 1000; done", 200, KI_SUBPROCESS_TIMED_OUT, 0, "", NULL },
        { "while :; do echo 0123456789; done", 0, KI_SUBPROCESS_TOO_MUCH, 0, NULL, NULL },
        { "sleep 20 & echo done", 0, KI_SUBPROCESS_EXITED, 0, "done\n", "" }, /* it holds the pipes */
        { "sleep 20 >&- 2>&- & echo done", 0, KI_SUBPROCESS_EXITED, 0, "done\n", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int before = ki_process_descriptors();
        run one;
        int64_t limit = cases[i].time_limit_ms ? KI_MILLISECONDS(cases[i].time_limit_ms) : KI_SECONDS(PATIENCE_S);
        run_script(&one, cases[i].script, limit);
        bool same = one.end == cases[i].end && (one.end >= KI_SUBPROCESS_UNKNOWN || one.number == cases[i].number) &&
                    (!cases[i].output || strcmp(one.output, cases[i].output) == 0) &&
                    (!cases[i].errors || strcmp(one.errors, cases[i].errors) == 0);
        if (!same)
            fail_msg("%s: %d %d \"%s\" \"%s\"", cases[i].script, (int)one.end, one.number, one.output, one.errors);
        assert_int_equal(ki_process_descriptors(), before);
        no_child_is_left();
    }
}

TEST(output_up_to_the_limit_is_whole_and_one_byte_more_is_too_much) {
    run one;
    char script[64];
    snprintf(script, sizeof script, "head -c %d /dev/zero", LIMIT);
    run_script(&one, script, KI_SECONDS(PATIENCE_S));
    assert_int_equal(one.end, KI_SUBPROCESS_EXITED);
    assert_int_equal(one.size, LIMIT);
    snprintf(script, sizeof script, "head -c %d /dev/zero", LIMIT + 1);
    run_script(&one, script, KI_SECONDS(PATIENCE_S));
    assert_int_equal(one.end, KI_SUBPROCESS_TOO_MUCH);
}

TEST(of_standard_error_the_end_is_kept) {
    run one;
    run_script(&one, "i=0; while [ $i -lt 1000 ]; do echo line $i >&2; i=$((i+1)); done; echo the end >&2",
               KI_SECONDS(PATIENCE_S));
    size_t size = strlen(one.errors);
    assert_int_equal(size, KI_SUBPROCESS_ERRORS_KEPT);
    assert_string_equal(one.errors + size - 17, "line 999\nthe end\n");
}

TEST(cancelling_leaves_nothing_behind) {
    int before = ki_process_descriptors();
    run one;
    assert_int_equal(start(&one, "trap '' TERM; sleep 1000 & wait", KI_SECONDS(PATIENCE_S), NULL), KI_OK);
    ki_subprocess_cancel(one.process);
    ki_subprocess_cancel(NULL);
    ki_engine_free(one.engine);
    assert_int_equal(ki_process_descriptors(), before);
    no_child_is_left();
}

/* A program's child holds a FIFO open for writing: its reader sees the end once the child is gone. */
FOLDER_TEST(what_a_cancelled_program_has_started_ends_with_it) {
    run one;
    char script[256];
    snprintf(script, sizeof script, "sleep 1000 >'%s' & wait", folder_file("fifo"));
    assert_int_equal(mkfifo(folder_file("fifo"), 0600), 0);
    assert_int_equal(start(&one, script, KI_SECONDS(PATIENCE_S), NULL), KI_OK);
    int reader = open(folder_file("fifo"), O_RDONLY | O_CLOEXEC); /* waits for the writer */
    assert_true(reader >= 0);

    ki_subprocess_cancel(one.process);

    struct pollfd ended = { .fd = reader, .events = POLLIN };
    assert_int_equal(poll(&ended, 1, PATIENCE_S * 1000), 1);
    assert_true(ended.revents & POLLHUP);
    close(reader);
    ki_engine_free(one.engine);
}

/* A process that even SIGKILL does not end, as one in the middle of a dead disk's call. */
TEST(what_cannot_be_killed_is_not_waited_for_for_ever) {
    run one;
    assert_int_equal(start(&one, "sleep 1000", KI_SECONDS(PATIENCE_S), NULL), KI_OK);
    is_immortal = true;
    polls = polled_ms = 0;
    ki_subprocess_cancel(one.process);
    is_immortal = false;
    assert_true(polls > 0);
    assert_true(polled_ms <= KI_SUBPROCESS_KILLED_WAIT_MS);
    ki_engine_free(one.engine);
    assert_true(wait(NULL) > 0);
}

TEST(a_host_that_reaps_every_child_gets_the_output_all_the_same) {
    struct sigaction before, ignore = { .sa_handler = SIG_IGN };
    sigaction(SIGCHLD, &ignore, &before);
    run one;
    run_script(&one, "echo out", KI_SECONDS(PATIENCE_S));
    sigaction(SIGCHLD, &before, NULL);
    assert_int_equal(one.end, KI_SUBPROCESS_UNKNOWN);
    assert_string_equal(one.output, "out\n");
}

TEST(a_blocked_or_ignored_signal_of_the_host_is_none_of_the_program) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    run one;
    run_script(&one, "kill -TERM $$; echo survived", KI_SECONDS(PATIENCE_S));
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(one.end, KI_SUBPROCESS_SIGNALLED);
    assert_int_equal(one.number, SIGTERM);
}

TEST(what_cannot_be_started_is_an_error_at_once) {
    if (!ki_process_reports_failed_exec())
        skip();
    static const struct {
        const char *path;
        ki_status status;
    } cases[] = {
        { "/nonexistent/program", KI_ERR_NOT_FOUND },
        { "/etc/passwd", KI_ERR_SYSTEM },
        { "/", KI_ERR_SYSTEM },
    };
    ki_engine *engine = NULL;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    int before = ki_process_descriptors();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const arguments[] = { "x", NULL };
        ki_subprocess *process = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_subprocess_start(engine,
                                             &(ki_subprocess_options){ .path = cases[i].path,
                                                                       .arguments = arguments,
                                                                       .environment = environment,
                                                                       .output_limit = LIMIT,
                                                                       .time_limit_ns = KI_SECONDS(PATIENCE_S) },
                                             &process, &err),
                         cases[i].status);
        assert_null(process);
        assert_non_null(strstr(err.message, cases[i].path));
    }
    assert_int_equal(ki_process_descriptors(), before);
    ki_engine_free(engine);
}

TEST(every_lack_of_memory_is_reported_and_leaves_no_process) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        run one;
        ki_status status = start(&one, "head -c 20000 /dev/zero", KI_SECONDS(PATIENCE_S), &memory.allocator);
        while (!status && one.process)
            step(&one);
        bool told = status == KI_ERR_NO_MEMORY || one.end == KI_SUBPROCESS_NO_MEMORY;
        if (told != scarce_memory_failed(&memory))
            fail_msg("allocation %zu: %s, %d", memory.fail_at, ki_status_name(status), (int)one.end);
        ki_engine_free(one.engine);
        no_child_is_left();
    }
}
