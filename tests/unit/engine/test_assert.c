/* test_assert.c: invariants end the process in builds with assertions, and are not evaluated in others. */
#include "src/base/assert.h"
#include "src/engine/engine.h"
#include "tests/support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void skip_without_assertions(void) {
    if (!KI_HAS_ASSERTIONS)
        skip();
}

/* Runs `act` in a child, which must abort and print `text`. */
static void assert_aborts(void (*act)(void *user), void *user, const char *text) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(ends[1], STDERR_FILENO);
        act(user);
        _exit(0);
    }
    close(ends[1]);
    char printed[4096] = "";
    size_t size = 0;
    for (ssize_t got = 1; got > 0 && size < sizeof printed - 1; size += (size_t)(got > 0 ? got : 0))
        got = read(ends[0], printed + size, sizeof printed - 1 - size);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    if (!strstr(printed, text))
        fail_msg("printed \"%s\", without \"%s\"", printed, text);
}

static void break_condition(void *user) {
    const int *number = user;
    KI_ASSERT(*number == 1);
}

TEST(a_condition_that_does_not_hold_ends_the_process) {
    skip_without_assertions();
    int number = 1;
    break_condition(&number);
    number = 2;
    assert_aborts(break_condition, &number, "test_assert.c:");
    assert_aborts(break_condition, &number, ": does not hold: *number == 1\n");
}

static void need_mutex(void *user) {
    const ki_mutex *mutex = user;
    KI_HELD(mutex);
}

static void need_fair_mutex(void *user) {
    const ki_fair_mutex *mutex = user;
    KI_HELD(mutex);
}

static void hold(void *user) {
    ki_mutex_lock(user);
    ki_mutex_unlock(user);
    ki_mutex_lock(user);
}

static void hold_fair(void *user) {
    ki_fair_mutex_lock(user);
}

TEST(a_lock_that_the_caller_does_not_hold_ends_the_process) {
    skip_without_assertions();
    static ki_mutex mutex; /* stays locked */
    assert_int_equal(ki_mutex_init(&mutex, NULL), KI_OK);
    assert_aborts(need_mutex, &mutex, "the caller holds mutex");
    ki_mutex_lock(&mutex);
    need_mutex(&mutex);
    ki_thread other = { .started = false };
    ki_mutex_unlock(&mutex);
    assert_int_equal(ki_thread_start(&other, "holds", hold, &mutex, NULL), KI_OK);
    ki_thread_join(&other);
    assert_aborts(need_mutex, &mutex, "the caller holds mutex"); /* the thread that has ended does */
}

TEST(a_fair_lock_that_the_caller_does_not_hold_ends_the_process) {
    skip_without_assertions();
    static ki_fair_mutex mutex; /* stays locked */
    assert_int_equal(ki_fair_mutex_init(&mutex, NULL, NULL), KI_OK);
    assert_aborts(need_fair_mutex, &mutex, "the caller holds mutex");
    ki_fair_mutex_lock(&mutex);
    need_fair_mutex(&mutex);
    ki_fair_mutex_unlock(&mutex);
    ki_thread other = { .started = false };
    assert_int_equal(ki_thread_start(&other, "holds", hold_fair, &mutex, NULL), KI_OK);
    ki_thread_join(&other);
    assert_aborts(need_fair_mutex, &mutex, "the caller holds mutex");
}

static void lock_twice(void *user) {
    ki_mutex_lock(user);
    ki_mutex_lock(user);
}

static void unlock(void *user) {
    ki_mutex_unlock(user);
}

TEST(a_missing_lock_or_unlock_ends_the_process) {
    skip_without_assertions();
    ki_mutex mutex;
    assert_int_equal(ki_mutex_init(&mutex, NULL), KI_OK);
#ifndef __SANITIZE_THREAD__ /* it says so itself */
    assert_aborts(lock_twice, &mutex, "a thread does not hold the mutex that it locks");
    assert_aborts(unlock, &mutex, "a thread holds the mutex that it unlocks");
#else
    (void)lock_twice, (void)unlock;
#endif
    ki_mutex_destroy(&mutex);
}

static void need_loop(void *user) {
    const ki_engine *engine = user;
    KI_ON_LOOP(engine);
}

TEST(the_loop_is_everyones_until_the_engine_is_driven) {
    skip_without_assertions();
    ki_engine *engine = NULL;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    need_loop(engine);
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    ki_engine_call(engine, need_loop, engine);
    assert_aborts(need_loop, engine, "the caller is on the loop of engine");
    ki_engine_stop(engine);
    assert_int_equal(ki_engine_join(engine, NULL), KI_OK);
    need_loop(engine);
    ki_engine_free(engine);
}

static bool count(int *counter) {
    (*counter)++;
    return false;
}

TEST(a_build_without_assertions_evaluates_none) {
    if (KI_HAS_ASSERTIONS)
        skip();
    int counter = 0;
    KI_ASSERT(count(&counter));
    KI_ASSERT_AS(count(&counter), "never");
    assert_int_equal(counter, 0);
}
