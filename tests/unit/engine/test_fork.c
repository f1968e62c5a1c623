/* test_fork.c: an engine that was made before a fork and is first driven after it. tests/integration/test_process.c
 * forks whole programs. */

#include "src/engine/engine.h"
#include "tests/support/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GOOD = 7 /* what a child returns that found everything as it should be */
};

static void count(ki_task *task, void *user) {
    int *calls = user;
    (void)task;
    ++*calls;
}

static bool is_readable(ki_engine *engine) {
    struct pollfd descriptor = { .fd = ki_engine_fd(engine), .events = POLLIN };
    return poll(&descriptor, 1, 0) == 1;
}

static int drive_in_child(ki_engine *engine, ki_task *task, const int *calls) {
    ki_error err = KI_ERROR_INIT;
    if (ki_engine_step(engine, 0, &err) || *calls != 1 || is_readable(engine))
        return 1;
    ki_task_post(task);
    if (!is_readable(engine)) /* the loop would sleep */
        return 2;
    return ki_engine_step(engine, 0, &err) || *calls != 2 ? 3 : GOOD;
}

/* A wakeup of before the fork is in the parent's eventfd: the child's loop will not see it. */
TEST(a_task_wakes_the_child_although_one_was_posted_before_the_fork) {
    ki_engine *engine = NULL;
    ki_task task;
    int calls = 0, status = 0;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    ki_task_init(&task, engine, count, &calls);
    ki_task_post(&task);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(drive_in_child(engine, &task, &calls));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), GOOD);
    assert_int_equal(drive_in_child(engine, &task, &calls), GOOD); /* and the parent still has its own */
    ki_engine_free(engine);
}

/* Forks, and returns in the child too, with more work left for the loop. */
static void fork_here(ki_task *task, void *user) {
    pid_t *child = user;
    (void)task;
    *child = fork();
}

typedef struct forked_wait {
    ki_task forking, later;
    pid_t child;
    int calls;
} forked_wait;

TEST(a_wait_that_drives_the_engine_does_no_more_work_in_a_child) {
    ki_engine *engine = NULL;
    forked_wait self = { .child = -1 };
    ki_error err = KI_ERROR_INIT;
    const bool done = false;
    int status = 0;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    ki_task_init(&self.forking, engine, fork_here, &self.child);
    ki_task_init(&self.later, engine, count, &self.calls);
    ki_task_post(&self.forking);
    ki_task_post(&self.later);
    ki_status waited = ki_engine_await(engine, &done, KI_MILLISECONDS(100), true, &err);
    if (self.child == 0)
        _exit(waited == KI_ERR_STATE && self.calls == 0 ? GOOD : 1);
    assert_true(self.child > 0);
    assert_int_equal(waited, KI_ERR_TIMEOUT);
    assert_int_equal(self.calls, 1);
    assert_int_equal(waitpid(self.child, &status, 0), self.child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), GOOD);
    ki_engine_free(engine);
}

static void count_timer(ki_timer *timer, void *user) {
    int *calls = user;
    (void)timer;
    ++*calls;
}

/* The parent's timer must not wake the child, and the child's own must. */
static int poll_in_child(ki_engine *engine) {
    struct pollfd descriptor = { .fd = ki_engine_fd(engine), .events = POLLIN };
    ki_timer timer;
    int calls = 0;
    ki_timer_init(&timer, engine, count_timer, &calls);
    ki_timer_set(&timer, ki_engine_clock(engine) + KI_MILLISECONDS(1));
    while (calls == 0) {
        if (poll(&descriptor, 1, 60000) != 1 || ki_engine_step(engine, 0, NULL))
            return 2;
    }
    return is_readable(engine) ? 3 : GOOD;
}

TEST(a_timer_wakes_a_host_that_only_polls_after_a_fork) {
    ki_engine *engine = NULL;
    int status = 0;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(poll_in_child(engine));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), GOOD);
    assert_int_equal(poll_in_child(engine), GOOD);
    ki_engine_free(engine);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum {
    TIMES = 20
};

typedef struct asker {
    ki_engine *engine;
    _Atomic bool ends;
} asker;

static void *ask(void *user) {
    asker *self = user;
    bool is_forked = false;
    while (!atomic_load(&self->ends))
        is_forked = is_forked || ki_engine_is_forked(self->engine);
    return is_forked ? self : NULL;
}

/* Each wait claims an engine that nobody drives, while other threads ask whose it is. For the thread sanitizer. */
TEST(threads_ask_while_waits_claim_the_engine) {
    asker self = { .engine = NULL };
    pthread_t asking;
    void *result;
    const bool done = false;
    assert_int_equal(ki_engine_new(NULL, &self.engine, NULL), KI_OK);
    assert_int_equal(pthread_create(&asking, NULL, ask, &self), 0);
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(ki_engine_await(self.engine, &done, KI_MILLISECONDS(1), true, NULL), KI_ERR_TIMEOUT);
    atomic_store(&self.ends, true);
    assert_int_equal(pthread_join(asking, &result), 0);
    assert_null(result);
    ki_engine_free(self.engine);
}
