/* test_engine.c: time, timers, tasks, descriptors and the ways to drive the engine. Time is the test's own but in the
 * tests of threads. */

#include "src/engine/engine.h"
#include "src/engine/thread.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* --- help --------------------------------------------------------------------------------------------------------- */

static int64_t test_time;

static int64_t test_now(void *user) {
    (void)user;
    return test_time;
}

static const ki_clock test_clock = { .now = test_now, .user = NULL };

static ki_engine *new_engine(void) {
    ki_engine *engine = NULL;
    test_time = 1000;
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &test_clock, .seed = 1), &engine, NULL), KI_OK);
    return engine;
}

static ki_engine *new_real_engine(void) {
    ki_engine *engine = NULL;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    return engine;
}

static void step(ki_engine *engine, int max_work) {
    ki_error err = KI_ERROR_INIT;
    if (ki_engine_step(engine, max_work, &err))
        fail_msg("step: %s", ki_error_message(&err));
}

static bool is_readable(ki_engine *engine) {
    struct pollfd descriptor = { .fd = ki_engine_fd(engine), .events = POLLIN };
    return poll(&descriptor, 1, 0) == 1;
}

static char trace[256]; /* what happened, one letter each */

static void note(char what) {
    size_t size = strlen(trace);
    if (size + 1 < sizeof trace) {
        trace[size] = what;
        trace[size + 1] = '\0';
    }
}

static void note_timer(ki_timer *timer, void *user) {
    (void)timer;
    note(*(const char *)user);
}

static void note_task(ki_task *task, void *user) {
    (void)task;
    note(*(const char *)user);
}

static char letters[] = "abcdefghij";

static int reset_trace(void **state) {
    (void)state;
    trace[0] = '\0';
    return 0;
}

#define ENGINE_TEST(name) TEST_WITH(reset_trace, NULL, name)

/* --- timers ------------------------------------------------------------------------------------------------------- */

ENGINE_TEST(timers_fire_by_deadline_and_ties_by_order_of_setting) {
    static const struct {
        int64_t deadlines[4]; /* of a, b, c, d; 0: not set */
        int64_t now;
        const char *want;
        int timeout;
    } cases[] = {
        { { 1000, 1000, 1000, 1000 }, 1000, "abcd", -1 },
        { { 4000, 3000, 2000, 1000 }, 4000, "dcba", -1 },
        { { 3000, 2000, 3000, 2000 }, 3000, "bdac", -1 },
        { { 5000, 2000, 0, 1999 }, 2000, "db", 1 },
        { { 2001, 0, 0, 0 }, 2000, "", 1 },
        { { KI_MILLISECONDS(5), 0, 0, 0 }, KI_MILLISECONDS(2), "", 3 },
        { { KI_MILLISECONDS(5) + 1, 0, 0, 0 }, KI_MILLISECONDS(2), "", 4 },
        { { INT64_MAX, 0, 0, 0 }, 1, "", 2147483647 },
        { { -5, 0, 0, 0 }, 1, "a", -1 },
        { { 0, 0, 0, 0 }, 9, "", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_engine *engine = new_engine();
        ki_timer timers[4];
        trace[0] = '\0';
        for (size_t t = 0; t < 4; t++) {
            ki_timer_init(&timers[t], engine, note_timer, &letters[t]);
            if (cases[i].deadlines[t])
                ki_timer_set(&timers[t], cases[i].deadlines[t]);
        }
        test_time = cases[i].now;
        step(engine, 0);
        assert_string_equal(trace, cases[i].want);
        assert_int_equal(ki_engine_timeout(engine), cases[i].timeout);
        for (size_t t = 0; t < 4; t++)
            ki_timer_close(&timers[t]);
        ki_engine_free(engine);
    }
}

ENGINE_TEST(a_timer_set_again_moves_and_a_cancelled_one_is_silent) {
    ki_engine *engine = new_engine();
    ki_timer a, b, zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    ki_timer_init(&a, engine, note_timer, &letters[0]);
    ki_timer_init(&b, engine, note_timer, &letters[1]);
    ki_timer_set(&a, 2000);
    ki_timer_set(&b, 2000);
    ki_timer_set(&a, 2000); /* now after b */
    assert_true(ki_timer_is_set(&a));
    test_time = 2000;
    step(engine, 0);
    assert_string_equal(trace, "ba");
    assert_false(ki_timer_is_set(&a));
    ki_timer_set(&a, 2001);
    ki_timer_cancel(&a);
    ki_timer_cancel(&a);
    test_time = 3000;
    step(engine, 0);
    assert_string_equal(trace, "ba");
    ki_timer_close(&a);
    ki_timer_close(&a);
    ki_timer_close(&b);
    ki_timer_close(&zeroed);
    ki_engine_free(engine);
}

typedef struct rearming {
    ki_timer timer;
    int times;
} rearming;

static void rearm(ki_timer *timer, void *user) {
    rearming *self = user;
    note('t');
    if (--self->times > 0)
        ki_timer_set(timer, ki_engine_now(timer->engine));
}

/* --- tasks -------------------------------------------------------------------------------------------------------- */

ENGINE_TEST(tasks_run_once_per_posting_in_order) {
    ki_engine *engine = new_engine();
    ki_task tasks[4];
    for (size_t i = 0; i < 4; i++)
        ki_task_init(&tasks[i], engine, note_task, &letters[i]);
    ki_task_post(&tasks[2]);
    ki_task_post(&tasks[0]);
    ki_task_post(&tasks[2]);
    ki_task_post(&tasks[1]);
    ki_task_post(&tasks[3]);
    ki_task_cancel(&tasks[3]);
    ki_task_cancel(&tasks[0]);
    ki_task_cancel(&tasks[0]);
    assert_int_equal(ki_engine_timeout(engine), 0);
    step(engine, 0);
    assert_string_equal(trace, "cb");
    ki_task_post(&tasks[0]); /* the queue's ends hold after cancelling */
    step(engine, 0);
    step(engine, 0);
    assert_string_equal(trace, "cba");
    assert_int_equal(ki_engine_timeout(engine), -1);
    ki_engine_free(engine);
}

static void post_again(ki_task *task, void *user) {
    int *left = user;
    note('k');
    if (--*left > 0)
        ki_task_post(task);
}

enum {
    FLOOD = 100
};

typedef struct flood {
    ki_task tasks[FLOOD];
} flood;

static void post_flood(void *user) {
    flood *self = user;
    for (int i = 0; i < FLOOD; i++)
        ki_task_post(&self->tasks[i]);
}

static void post_own(ki_task *task, void *user) {
    (void)task;
    ki_task_post(user);
}

/* A thread that posts without a pause delays the loop's own work by one task at a time. */
ENGINE_TEST(tasks_of_other_threads_do_not_keep_the_loop_from_its_own) {
    ki_engine *engine = new_engine();
    static flood self;
    ki_thread thread = { .started = false };
    ki_task begins, own;
    ki_task_init(&own, engine, note_task, &letters[1]);
    ki_task_init(&begins, engine, post_own, &own);
    for (int i = 0; i < FLOOD; i++)
        ki_task_init(&self.tasks[i], engine, note_task, &letters[0]);
    step(engine, 0); /* this thread is the loop */
    ki_task_post(&begins);
    assert_int_equal(ki_thread_start(&thread, "flood", post_flood, &self, NULL), KI_OK);
    ki_thread_join(&thread);
    step(engine, 4); /* two of each */
    assert_non_null(strchr(trace, letters[1]));
    step(engine, 0);
    assert_int_equal(strlen(trace), FLOOD + 1);
    ki_engine_free(engine);
}

ENGINE_TEST(a_step_does_no_more_than_its_bound) {
    ki_engine *engine = new_engine();
    ki_task task;
    int times = 7;
    ki_task_init(&task, engine, post_again, &times);
    ki_task_post(&task);
    step(engine, 3);
    assert_string_equal(trace, "kkk");
    assert_int_equal(ki_engine_timeout(engine), 0);
    step(engine, 3);
    step(engine, 3);
    assert_string_equal(trace, "kkkkkkk");
    assert_int_equal(ki_engine_timeout(engine), -1);
    ki_engine_free(engine);
}

static void much_work(ki_task *task, void *user) {
    ki_engine *engine = user;
    do
        note('w');
    while (ki_engine_work(engine, 1));
    if (strlen(trace) < 10)
        ki_task_post(task);
}

ENGINE_TEST(a_task_that_reports_its_work_stops_at_the_bound) {
    ki_engine *engine = new_engine();
    ki_task task;
    ki_task_init(&task, engine, much_work, engine);
    ki_task_post(&task);
    step(engine, 5);
    assert_string_equal(trace, "wwwww");
    step(engine, 5);
    assert_int_equal(strlen(trace), 10);
    ki_engine_free(engine);
}

/* --- descriptors -------------------------------------------------------------------------------------------------- */

static void note_io(ki_io *io, uint32_t events, void *user) {
    (void)io;
    assert_true(events & (EPOLLIN | EPOLLHUP));
    note(*(const char *)user);
}

ENGINE_TEST(the_three_kinds_of_work_take_turns) {
    ki_engine *engine = new_engine();
    ki_task task;
    int times = 100;
    ki_task_init(&task, engine, post_again, &times);
    ki_task_post(&task);
    rearming again = { .times = 100 };
    ki_timer_init(&again.timer, engine, rearm, &again);
    ki_timer_set(&again.timer, test_time);
    ki_io ios[2];
    int fds[2];
    for (int i = 0; i < 2; i++) {
        fds[i] = eventfd(1, EFD_NONBLOCK);
        assert_int_equal(ki_io_add(&ios[i], engine, fds[i], EPOLLIN, note_io, &letters[i], NULL), KI_OK);
    }
    step(engine, 3);
    assert_int_equal(strlen(trace), 3);
    assert_int_equal(strncmp(trace, "kt", 2), 0);
    step(engine, 3); /* the second descriptor's turn, though the first is still readable */
    assert_int_equal(strncmp(trace + 3, "kt", 2), 0);
    assert_true(trace[2] != trace[5] && trace[2] < 'c' && trace[5] < 'c');
    for (int i = 0; i < 2; i++) {
        ki_io_remove(&ios[i]);
        close(fds[i]);
    }
    ki_timer_close(&again.timer);
    ki_engine_free(engine);
}

ENGINE_TEST(no_kind_of_work_starves_in_steps_of_one_unit) {
    ki_engine *engine = new_engine();
    ki_task task;
    ki_io io;
    int times = 100, fd = eventfd(1, EFD_NONBLOCK); /* readable for ever */
    rearming again = { .times = 100 };
    ki_task_init(&task, engine, post_again, &times);
    ki_task_post(&task);
    ki_timer_init(&again.timer, engine, rearm, &again);
    ki_timer_set(&again.timer, test_time);
    assert_int_equal(ki_io_add(&io, engine, fd, EPOLLIN, note_io, &letters[0], NULL), KI_OK);
    for (int i = 0; i < 9; i++)
        step(engine, 1);
    assert_string_equal(trace, "ktaktakta");
    ki_io_remove(&io);
    close(fd);
    ki_timer_close(&again.timer);
    ki_engine_free(engine);
}

typedef struct remover {
    ki_io *ios[3];
    int called;
} remover;

static void remove_all(ki_io *io, uint32_t events, void *user) {
    (void)io;
    (void)events;
    remover *self = user;
    self->called++;
    for (int i = 0; i < 3; i++) {
        ki_io_remove(self->ios[i]);
        free(self->ios[i]); /* whoever touched it later would be found by the address sanitizer */
        self->ios[i] = NULL;
    }
}

ENGINE_TEST(a_descriptor_removed_by_another_ones_callback_is_never_touched) {
    ki_engine *engine = new_engine();
    remover self = { .called = 0 };
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = eventfd(1, EFD_NONBLOCK);
        self.ios[i] = malloc(sizeof(ki_io));
        assert_non_null(self.ios[i]);
        assert_int_equal(ki_io_add(self.ios[i], engine, fds[i], EPOLLIN, remove_all, &self, NULL), KI_OK);
    }
    step(engine, 0);
    assert_int_equal(self.called, 1);
    step(engine, 0);
    assert_int_equal(self.called, 1);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    ki_engine_free(engine);
}

/* As in a host that has forked: a copy of the descriptor stays open elsewhere, so that closing it removes nothing from
 * epoll. libcurl up to 7.88 closes a socket whose connection is not established before it says so. */
ENGINE_TEST(a_descriptor_that_was_closed_before_it_was_removed_is_silent_though_a_copy_is_open) {
    ki_engine *engine = new_engine();
    int fds[2], copy;
    ki_io *io = malloc(sizeof *io);
    assert_non_null(io);
    assert_int_equal(pipe(fds), 0);
    assert_true((copy = dup(fds[0])) >= 0);
    assert_int_equal(ki_io_add(io, engine, fds[0], EPOLLIN, note_io, &letters[0], NULL), KI_OK);
    step(engine, 0);
    close(fds[0]);
    ki_io_remove(io);
    free(io);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_false(is_readable(engine));
    step(engine, 0);
    assert_string_equal(trace, "");
    close(fds[1]);
    close(copy);
    ki_engine_free(engine);
}

ENGINE_TEST(a_descriptors_events_can_be_changed) {
    ki_engine *engine = new_engine();
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    ki_io io;
    assert_int_equal(ki_io_add(&io, engine, fds[0], EPOLLIN, note_io, &letters[0], NULL), KI_OK);
    assert_false(is_readable(engine));
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_true(is_readable(engine));
    assert_int_equal(ki_io_modify(&io, 0, NULL), KI_OK);
    step(engine, 0);
    assert_string_equal(trace, "");
    assert_int_equal(ki_io_modify(&io, EPOLLIN, NULL), KI_OK);
    step(engine, 0);
    assert_string_equal(trace, "a");
    ki_io_remove(&io);
    ki_io_remove(&io);
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_io_add(&io, engine, -1, EPOLLIN, note_io, NULL, &err), KI_ERR_SYSTEM);
    ki_io_remove(&io);
    close(fds[0]);
    close(fds[1]);
    ki_engine_free(engine);
}

/* --- ways to drive ------------------------------------------------------------------------------------------------ */

ENGINE_TEST(the_first_way_of_driving_decides) {
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = new_engine();
    assert_true(ki_engine_is_idle(engine));
    assert_false(ki_engine_on_loop(engine));
    step(engine, 0);
    assert_false(ki_engine_is_idle(engine));
    assert_true(ki_engine_on_loop(engine));
    assert_false(ki_engine_is_threaded(engine));
    assert_int_equal(ki_engine_start(engine, &err), KI_ERR_STATE);
    assert_int_equal(ki_engine_run(engine, KI_RUN_DEFAULT, &err), KI_ERR_STATE);
    assert_string_equal(err.message, "ki_engine_run: the engine is driven by ki_engine_step already");
    assert_int_equal(ki_engine_join(engine, &err), KI_OK);
    ki_engine_stop(engine);
    assert_int_equal(ki_engine_timeout(engine), 0);
    ki_task task;
    ki_task_init(&task, engine, note_task, letters);
    ki_task_post(&task);
    step(engine, 0);
    assert_true(ki_engine_is_idle(engine));
    assert_int_equal(ki_engine_timeout(engine), -1);
    step(engine, 0);
    assert_string_equal(trace, ""); /* nothing after stop */
    ki_engine_free(engine);

    engine = new_real_engine();
    assert_int_equal(ki_engine_run(engine, 4, &err), KI_ERR_INVALID);
    assert_int_equal(ki_engine_start(engine, &err), KI_OK);
    assert_int_equal(ki_engine_step(engine, 0, &err), KI_ERR_STATE);
    assert_int_equal(ki_engine_start(engine, &err), KI_ERR_STATE);
    assert_true(ki_engine_is_threaded(engine));
    ki_engine_free(engine); /* stops and joins by itself */
    ki_engine_free(NULL);
}

static void step_inside(ki_task *task, void *user) {
    ki_engine *engine = task->engine;
    ki_status *statuses = user;
    statuses[0] = ki_engine_step(engine, 0, NULL);
    statuses[1] = ki_engine_run(engine, 0, NULL);
    statuses[2] = ki_engine_start(engine, NULL);
}

ENGINE_TEST(driving_from_inside_a_callback_is_rejected) {
    ki_engine *engine = new_engine();
    ki_status statuses[3] = { KI_OK, KI_OK, KI_OK };
    ki_task task;
    ki_task_init(&task, engine, step_inside, statuses);
    ki_task_post(&task);
    step(engine, 0);
    assert_int_equal(statuses[0], KI_ERR_DEADLOCK);
    assert_int_equal(statuses[1], KI_ERR_STATE);
    assert_int_equal(statuses[2], KI_ERR_STATE);
    ki_engine_free(engine);
}

ENGINE_TEST(the_descriptor_is_readable_for_tasks_of_other_threads_and_silent_after) {
    ki_engine *engine = new_engine();
    ki_task task;
    ki_task_init(&task, engine, note_task, letters);
    step(engine, 0);
    assert_false(is_readable(engine));
    ki_task_post(&task); /* between two steps: the host may be in poll with an old timeout */
    assert_true(is_readable(engine));
    step(engine, 0);
    assert_false(is_readable(engine));
    assert_string_equal(trace, "a");
    ki_timer timer;
    ki_timer_init(&timer, engine, note_timer, letters);
    ki_timer_set(&timer, 5000);
    assert_true(is_readable(engine)); /* so that the host asks for the timeout again */
    step(engine, 0);
    assert_false(is_readable(engine));
    ki_timer_close(&timer);
    ki_engine_stop(engine);
    assert_true(is_readable(engine));
    step(engine, 0);
    assert_false(is_readable(engine));
    ki_engine_free(engine);
}

static void stop_task(ki_task *task, void *user) {
    (void)user;
    ki_engine_stop(task->engine);
    note('s');
}

ENGINE_TEST(run_ends_by_stop_from_a_callback_and_does_nothing_after) {
    ki_engine *engine = new_real_engine();
    ki_task stop, later;
    ki_task_init(&stop, engine, stop_task, NULL);
    ki_task_init(&later, engine, note_task, letters);
    ki_task_post(&stop);
    ki_task_post(&later);
    assert_int_equal(ki_engine_run(engine, KI_RUN_DEFAULT, NULL), KI_OK);
    assert_string_equal(trace, "s");
    assert_true(ki_engine_is_idle(engine));
    assert_int_equal(ki_engine_run(engine, KI_RUN_DEFAULT, NULL), KI_ERR_STATE);
    ki_engine_free(engine);
}

static int lowest_free_descriptor(void) {
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void raise_task(ki_task *task, void *user) {
    (void)task;
    (void)user;
    raise(SIGTERM);
}

ENGINE_TEST(run_ends_by_a_signal_and_leaves_no_block_and_no_descriptor) {
    ki_engine *engine = new_real_engine();
    int descriptor = lowest_free_descriptor();
    ki_task task;
    ki_task_init(&task, engine, raise_task, NULL);
    ki_task_post(&task);
    assert_int_equal(ki_engine_run(engine, KI_RUN_UNTIL_SIGNAL, NULL), KI_OK);
    assert_int_equal(lowest_free_descriptor(), descriptor);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_false(sigismember(&now, SIGTERM));
    assert_false(sigismember(&now, SIGINT));
    ki_engine_free(engine);
}

static void *wait_for_end(void *user) {
    while (!atomic_load((atomic_bool *)user))
        sched_yield();
    return NULL;
}

static void signal_task(ki_task *task, void *user) {
    (void)task;
    kill(getpid(), *(const int *)user); /* to the process, not to this thread */
}

ENGINE_TEST(a_signal_ends_the_run_though_an_older_thread_could_have_taken_it) {
    static const int signals[] = { SIGINT, SIGTERM };
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        pthread_t older;
        atomic_bool is_over = false;
        assert_int_equal(ki_block_signals(NULL), KI_OK);
        assert_int_equal(pthread_create(&older, NULL, wait_for_end, &is_over), 0);
        ki_engine *engine = new_real_engine();
        ki_task task;
        ki_task_init(&task, engine, signal_task, (void *)(uintptr_t)&signals[i]);
        ki_task_post(&task);
        assert_int_equal(ki_engine_run(engine, KI_RUN_UNTIL_SIGNAL, NULL), KI_OK);
        ki_engine_free(engine);
        atomic_store(&is_over, true);
        pthread_join(older, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

typedef struct caller {
    ki_engine *engine;
    ki_thread thread;
    int *counter; /* loop only: the thread sanitizer sees a call that is not on the loop */
    int calls;
    int on_loop;
} caller;

static void count_call(void *user) {
    caller *self = user;
    ++*self->counter;
    self->on_loop += ki_engine_on_loop(self->engine) ? 1 : 0;
}

static void call_often(void *user) {
    caller *self = user;
    for (int i = 0; i < self->calls; i++)
        ki_engine_call(self->engine, count_call, self);
}

enum {
    CALLERS = 4,
    CALLS = 200
};

ENGINE_TEST(calls_of_many_threads_run_one_at_a_time_before_during_and_after_the_loop) {
    ki_engine *engine = new_real_engine();
    caller callers[CALLERS];
    int counter = 0;
    memset(callers, 0, sizeof callers);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){ .engine = engine, .counter = &counter, .calls = CALLS };
        assert_int_equal(ki_thread_start(&callers[i].thread, "caller", call_often, &callers[i], NULL), KI_OK);
    }
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    caller own = { .engine = engine, .counter = &counter, .calls = CALLS };
    call_often(&own);
    ki_engine_stop(engine);
    assert_int_equal(ki_engine_join(engine, NULL), KI_OK);
    assert_int_equal(ki_engine_join(engine, NULL), KI_OK);
    call_often(&own);
    int on_loop = own.on_loop;
    for (int i = 0; i < CALLERS; i++) {
        ki_thread_join(&callers[i].thread);
        on_loop += callers[i].on_loop;
    }
    assert_int_equal(counter, (CALLERS + 2) * CALLS);
    assert_int_equal(on_loop, counter);
    ki_engine_free(engine);
}

static void join_on_loop(void *user) {
    caller *self = user;
    self->on_loop = (int)ki_engine_join(self->engine, NULL);
    ki_engine_call(self->engine, count_call, self); /* nested: at once */
}

ENGINE_TEST(join_on_the_loop_would_deadlock_and_a_nested_call_does_not) {
    ki_engine *engine = new_real_engine();
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    int counter = 0;
    caller own = { .engine = engine, .counter = &counter };
    ki_engine_call(engine, join_on_loop, &own);
    assert_int_equal(own.on_loop, KI_ERR_DEADLOCK + 1);
    assert_int_equal(counter, 1);
    ki_engine_free(engine);
}

ENGINE_TEST(a_stepped_engine_serves_calls_of_other_threads) {
    ki_engine *engine = new_real_engine();
    step(engine, 0);
    int counter = 0;
    caller other = { .engine = engine, .counter = &counter, .calls = 20 };
    assert_int_equal(ki_thread_start(&other.thread, "caller", call_often, &other, NULL), KI_OK);
    while (counter < 10) {
        struct pollfd descriptor = { .fd = ki_engine_fd(engine), .events = POLLIN };
        poll(&descriptor, 1, ki_engine_timeout(engine));
        step(engine, 0);
    }
    ki_engine_stop(engine);
    step(engine, 0); /* lets the waiting caller go on by itself */
    ki_thread_join(&other.thread);
    assert_int_equal(counter, 20);
    ki_engine_free(engine);
}

typedef struct poster {
    ki_thread thread;
    ki_task *task;
} poster;

static void post_often(void *user) {
    poster *self = user;
    for (int i = 0; i < 1000; i++)
        ki_task_post(self->task);
}

typedef struct counted_task {
    ki_task task;
    int runs; /* loop only */
} counted_task;

static void count_run(ki_task *task, void *user) {
    (void)task;
    ((counted_task *)user)->runs++;
}

static void nothing(void *user) {
    (void)user;
}

ENGINE_TEST(a_task_posted_from_many_threads_runs_after_the_last_posting) {
    ki_engine *engine = new_real_engine();
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    counted_task counted = { .runs = 0 };
    ki_task_init(&counted.task, engine, count_run, &counted);
    poster posters[CALLERS];
    memset(posters, 0, sizeof posters);
    for (int i = 0; i < CALLERS; i++) {
        posters[i].task = &counted.task;
        assert_int_equal(ki_thread_start(&posters[i].thread, "poster", post_often, &posters[i], NULL), KI_OK);
    }
    for (int i = 0; i < CALLERS; i++)
        ki_thread_join(&posters[i].thread);
    ki_engine_call(engine, nothing, NULL); /* comes after what was posted before */
    assert_false(atomic_load(&counted.task.queued));
    assert_in_range(counted.runs, 1, CALLERS * 1000);
    ki_engine_free(engine);
}

static void check_mask(void *user) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    *(bool *)user = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1);
}

ENGINE_TEST(threads_of_the_engine_block_all_signals) {
    ki_engine *engine = new_real_engine();
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    bool blocked = false;
    ki_engine_call(engine, check_mask, &blocked);
    assert_true(blocked);
    ki_engine_free(engine);
}

ENGINE_TEST(a_wait_with_a_deadline_that_has_passed_returns) {
    ki_mutex mutex;
    ki_cond cond;
    assert_int_equal(ki_mutex_init(&mutex, NULL), KI_OK);
    assert_int_equal(ki_cond_init(&cond, NULL), KI_OK);
    ki_mutex_lock(&mutex);
    while (ki_cond_wait_until(&cond, &mutex, ki_monotonic_now())) {}
    while (ki_cond_wait_until(&cond, &mutex, -7)) {}
    ki_mutex_unlock(&mutex);
    ki_cond_destroy(&cond);
    ki_mutex_destroy(&mutex);
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

ENGINE_TEST(random_numbers_follow_the_seed_and_stay_in_range) {
    ki_engine *a = new_engine(), *b = new_engine(), *other = NULL, *system = new_real_engine();
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 2), &other, NULL), KI_OK);
    double sum = 0;
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        double number = ki_engine_random(a);
        assert_true(number >= 0 && number < 1);
        assert_true(number == ki_engine_random(b));
        same += number == ki_engine_random(other) || number == ki_engine_random(system);
        sum += number;
    }
    assert_true(sum > 450 && sum < 550);
    assert_int_equal(same, 0);
    ki_engine_free(a);
    ki_engine_free(b);
    ki_engine_free(other);
    ki_engine_free(system);
}

ENGINE_TEST(bad_options_are_rejected) {
    ki_engine *engine = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_engine_options no_size = { .seed = 1 };
    ki_allocator no_functions = { .user = NULL };
    ki_clock no_now = { .user = NULL };
    assert_int_equal(ki_engine_new(&no_size, &engine, &err), KI_ERR_INVALID);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = &no_functions), &engine, &err), KI_ERR_INVALID);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &no_now), &engine, &err), KI_ERR_INVALID);
    assert_null(engine);
}

ENGINE_TEST(lack_of_memory_is_an_error_of_new_only) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_engine *engine = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status =
            ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = &memory.allocator, .clock = &test_clock), &engine, &err);
        if (status) {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            assert_null(engine);
            continue;
        }
        ki_timer timers[100];
        for (int i = 0; i < 100; i++)
            ki_timer_init(&timers[i], engine, note_timer, letters);
        size_t calls = memory.calls;
        trace[0] = '\0';
        for (int i = 0; i < 100; i++)
            ki_timer_set(&timers[i], i);
        test_time = 100;
        step(engine, 0);
        assert_int_equal(strlen(trace), 100);
        assert_int_equal(memory.calls, calls); /* setting and firing allocate nothing */
        for (int i = 0; i < 100; i++)
            ki_timer_close(&timers[i]);
        ki_engine_free(engine);
    }
}
