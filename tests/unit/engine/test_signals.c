/* test_signals.c: signals that cannot become readable bytes. */

#include "src/base/error.h"
#include "src/engine/loop.h"
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static bool epoll_is_full;

/* In place of libc's function. */
int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event) {
    int (*function)(int, int, int, struct epoll_event *);
    *(void **)&function = dlsym(RTLD_NEXT, "epoll_ctl");
    assert_non_null(function);
    if (!epoll_is_full || operation != EPOLL_CTL_ADD)
        return function(epoll_fd, operation, fd, event);
    errno = ENOSPC;
    return -1;
}

TEST(signals_that_cannot_be_watched_stay_as_they_were) {
    ki_engine *engine = NULL;
    ki_signals signals = { 0 };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    int before = ki_process_descriptors();
    epoll_is_full = true;

    assert_int_equal(ki_signals_begin(&signals, engine, &err), KI_ERR_SYSTEM);

    epoll_is_full = false;
    assert_int_equal(ki_process_descriptors(), before);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_false(sigismember(&now, SIGINT) || sigismember(&now, SIGTERM));
    ki_engine_free(engine);
}

static void stop_and_signal_again(void *user) {
    ki_engine_stop(user);
    kill(getpid(), SIGTERM);
}

static void signal_this_process(ki_task *task, void *user) {
    (void)task;
    (void)user;
    kill(getpid(), SIGTERM);
}

enum {
    STATUS = 7
};

/* The second signal comes while the first one ends the loop. The program then goes on. */
TEST(a_signal_that_waits_at_the_end_of_a_run_does_not_kill) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ki_engine *engine = NULL;
        ki_task task;
        if (ki_engine_new(NULL, &engine, NULL))
            _exit(1);
        ki_task_init(&task, engine, signal_this_process, NULL);
        ki_task_post(&task);
        ki_status ended = ki_engine_run_until_signal(engine, stop_and_signal_again, engine, NULL);
        ki_engine_free(engine);
        _exit(ended ? 1 : STATUS);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), STATUS);
}

/* A program that has blocked the signal itself wants to read it itself. */
TEST(a_signal_that_the_program_has_blocked_is_left_to_it) {
    ki_engine *engine = NULL;
    ki_task task;
    sigset_t wanted, before, waiting;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    ki_task_init(&task, engine, signal_this_process, NULL);
    ki_task_post(&task);
    assert_int_equal(ki_engine_run_until_signal(engine, stop_and_signal_again, engine, NULL), KI_OK);
    sigpending(&waiting);
    assert_true(sigismember(&waiting, SIGTERM));
    assert_int_equal(sigwaitinfo(&wanted, NULL), SIGTERM);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ki_engine_free(engine);
}
