/* test_descriptor_loop.c: a host that only polls the engine's descriptor, and never asks for ki_engine_timeout. Clock
 * and timers are the system's; a wait ends by the descriptor. */

#include "src/engine/loop.h"
#include "tests/support/test.h"

#include <poll.h>
#include <string.h>

enum {
    PATIENCE_MS = 60000 /* of a poll that must not time out */
};

static ki_engine *new_engine(const ki_clock *clock) {
    ki_engine *engine = NULL;
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = clock), &engine, NULL), KI_OK);
    return engine;
}

static bool is_readable(ki_engine *engine, int timeout_ms) {
    struct pollfd descriptor = { .fd = ki_engine_fd(engine), .events = POLLIN };
    return poll(&descriptor, 1, timeout_ms) == 1;
}

static void step(ki_engine *engine, int max_work) {
    assert_int_equal(ki_engine_step(engine, max_work, NULL), KI_OK);
}

/* Steps whenever the descriptor is readable, until `*count` is `wanted`. Returns the number of steps. */
static int drive(ki_engine *engine, const int *count, int wanted) {
    int steps = 0;
    for (; *count < wanted; steps++) {
        assert_true(is_readable(engine, PATIENCE_MS));
        step(engine, 0);
    }
    return steps;
}

static void count_timer(ki_timer *timer, void *user) {
    int *count = user;
    (void)timer;
    ++*count;
}

static void init_timer(ki_timer *timer, ki_engine *engine, int *count) {
    ki_timer_init(timer, engine, count_timer, count);
}

TEST(each_timer_makes_the_descriptor_readable_and_silent_after) {
    ki_engine *engine = new_engine(NULL);
    ki_timer timers[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        init_timer(&timers[i], engine, &count);
        ki_timer_set(&timers[i], ki_engine_clock(engine) + KI_MILLISECONDS(3 - i));
    }
    drive(engine, &count, 3);
    assert_false(is_readable(engine, 0));
    assert_int_equal(ki_engine_timeout(engine), -1);
    ki_engine_free(engine);
}

typedef struct periodic {
    ki_timer timer;
    int count;
} periodic;

static void set_again(ki_timer *timer, void *user) {
    periodic *self = user;
    if (++self->count < 5)
        ki_timer_set(timer, ki_engine_now(timer->engine) + KI_MILLISECONDS(1));
}

TEST(a_timer_set_in_a_callback_makes_the_descriptor_readable) {
    ki_engine *engine = new_engine(NULL);
    periodic self = { .count = 0 };
    ki_timer_init(&self.timer, engine, set_again, &self);
    ki_timer_set(&self.timer, -5);
    drive(engine, &self.count, 5);
    assert_false(is_readable(engine, 0));
    ki_engine_free(engine);
}

/* The first deadline costs one step that finds nothing to do, and no system call when it moves. */
TEST(a_deadline_that_moves_to_a_later_time_leaves_the_descriptor_as_it_is) {
    ki_engine *engine = new_engine(NULL);
    ki_timer timer;
    int count = 0;
    init_timer(&timer, engine, &count);
    int64_t first = ki_engine_clock(engine) + KI_SECONDS(100);
    ki_timer_set(&timer, first);
    step(engine, 0);
    assert_true(engine->armed == first);
    ki_timer_set(&timer, first + KI_SECONDS(1));
    step(engine, 0);
    assert_true(engine->armed == first);
    ki_timer_set(&timer, first - KI_SECONDS(1));
    step(engine, 0);
    assert_true(engine->armed == first - KI_SECONDS(1));
    assert_false(is_readable(engine, 0));
    ki_engine_free(engine);
}

TEST(a_cancelled_timer_wakes_the_host_once_at_most) {
    ki_engine *engine = new_engine(NULL);
    ki_timer timer;
    int count = 0;
    init_timer(&timer, engine, &count);
    ki_timer_set(&timer, ki_engine_clock(engine) + KI_MILLISECONDS(1));
    step(engine, 0);
    ki_timer_cancel(&timer);
    if (count == 0)
        assert_true(is_readable(engine, PATIENCE_MS));
    step(engine, 0);
    assert_false(is_readable(engine, 0));
    assert_true(engine->armed == INT64_MAX);
    ki_engine_free(engine);
}

static void post_again(ki_task *task, void *user) {
    int *count = user;
    if (++*count < 10)
        ki_task_post(task);
}

TEST(work_that_is_left_keeps_the_descriptor_readable) {
    ki_engine *engine = new_engine(NULL);
    ki_task task;
    int count = 0;
    ki_task_init(&task, engine, post_again, &count);
    ki_task_post(&task);
    for (int steps = 1; steps <= 5; steps++) {
        assert_true(is_readable(engine, 0));
        step(engine, 2);
        assert_int_equal(count, 2 * steps);
    }
    while (is_readable(engine, 0)) /* the last step was at its bound */
        step(engine, 2);
    assert_int_equal(count, 10);
    ki_engine_free(engine);
}

static int64_t test_time;

static int64_t test_now(void *user) {
    (void)user;
    return test_time;
}

TEST(a_clock_of_the_programs_own_never_sets_the_systems_timer) {
    const ki_clock clock = { .now = test_now };
    ki_engine *engine = new_engine(&clock);
    ki_timer timer;
    int count = 0;
    test_time = 1000;
    init_timer(&timer, engine, &count);
    ki_timer_set(&timer, 2000);
    step(engine, 0);
    assert_true(engine->armed == INT64_MAX);
    assert_false(is_readable(engine, 0));
    assert_int_equal(ki_engine_timeout(engine), 1);
    test_time = 2000;
    step(engine, 0);
    assert_int_equal(count, 1);
    ki_engine_free(engine);
}

TEST(a_stopped_engine_is_silent_though_a_timer_was_set) {
    ki_engine *engine = new_engine(NULL);
    ki_timer timer;
    int count = 0;
    init_timer(&timer, engine, &count);
    ki_timer_set(&timer, ki_engine_clock(engine) + KI_SECONDS(100));
    step(engine, 0);
    ki_engine_stop(engine);
    assert_true(is_readable(engine, 0));
    step(engine, 0);
    assert_false(is_readable(engine, 0));
    assert_true(engine->armed == INT64_MAX);
    ki_engine_free(engine);
}

/* A waiting call drives an engine that nobody drives yet: what it leaves behind is the host's. */
TEST(timers_of_a_wait_before_the_first_step_make_the_descriptor_readable) {
    ki_engine *engine = new_engine(NULL);
    periodic self = { .count = 0 };
    const bool done = false;
    ki_timer_init(&self.timer, engine, set_again, &self);
    ki_timer_set(&self.timer, -5);
    assert_int_equal(ki_engine_await(engine, &done, 0, true, NULL), KI_ERR_TIMEOUT);
    drive(engine, &self.count, 5);
    ki_engine_free(engine);
}

TEST(a_descriptor_that_the_program_closed_is_an_error_of_the_step) {
    ki_engine *engine = new_engine(NULL);
    ki_timer timer;
    ki_error err = KI_ERROR_INIT;
    int count = 0, timer_fd = engine->timer_fd;
    init_timer(&timer, engine, &count);
    step(engine, 0);
    engine->timer_fd = -1; /* as after close, but without a number that another thread may get */
    ki_timer_set(&timer, ki_engine_clock(engine) + KI_SECONDS(100));
    assert_int_equal(ki_engine_step(engine, 0, &err), KI_ERR_SYSTEM);
    assert_non_null(strstr(ki_error_message(&err), "a timer of the engine"));
    engine->timer_fd = timer_fd;
    ki_engine_free(engine);
}
