/* test_await.c: waiting for something on the loop: by whom the engine is driven meanwhile, and how the waiting ends. */
#include "src/engine/engine.h"
#include "src/engine/thread.h"
#include "tests/support/test.h"

typedef struct fixture {
    ki_engine *engine;
    ki_task task;
    bool done; /* the engine's */
    ki_status nested;
    bool was_threaded;
    ki_thread thread;
} fixture;

static void open_fixture(fixture *self) {
    *self = (fixture){ .done = false };
    assert_int_equal(ki_engine_new(NULL, &self->engine, NULL), KI_OK);
}

static void close_fixture(fixture *self) {
    ki_engine_free(self->engine);
}

static void respond(ki_task *task, void *user) {
    (void)task;
    fixture *self = user;
    self->nested = ki_engine_await(self->engine, &self->done, 0, true, NULL);
    self->was_threaded = ki_engine_is_threaded(self->engine);
    ki_engine_notify(self->engine, &self->done);
}

static void post_response(fixture *self) {
    ki_task_init(&self->task, self->engine, respond, self);
    ki_task_post(&self->task);
}

TEST(whoever_waits_drives_an_engine_that_nobody_drives) {
    fixture self;
    open_fixture(&self);
    post_response(&self);
    assert_int_equal(ki_engine_await(self.engine, &self.done, -1, true, NULL), KI_OK);
    assert_int_equal(self.nested, KI_ERR_DEADLOCK); /* on the loop */
    assert_true(self.was_threaded);
    assert_false(ki_engine_on_loop(self.engine));
    assert_true(ki_engine_is_idle(self.engine));
    assert_int_equal(ki_engine_step(self.engine, 0, NULL), KI_OK); /* how it is driven was left open */
    close_fixture(&self);
}

TEST(what_is_done_already_needs_no_waiting) {
    fixture self;
    open_fixture(&self);
    self.done = true;
    assert_int_equal(ki_engine_await(self.engine, &self.done, 0, false, NULL), KI_OK);
    close_fixture(&self);
}

TEST(without_a_response_the_time_limit_ends_it) {
    fixture self;
    open_fixture(&self);
    assert_int_equal(ki_engine_await(self.engine, &self.done, KI_MILLISECONDS(1), true, NULL), KI_ERR_TIMEOUT);
    assert_int_equal(ki_engine_await(self.engine, &self.done, 0, true, NULL), KI_ERR_TIMEOUT);
    assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
    assert_int_equal(ki_engine_await(self.engine, &self.done, KI_MILLISECONDS(1), true, NULL), KI_ERR_TIMEOUT);
    close_fixture(&self);
}

TEST(a_hosts_engine_is_not_driven) {
    fixture self;
    open_fixture(&self);
    post_response(&self);
    assert_int_equal(ki_engine_await(self.engine, &self.done, -1, false, NULL), KI_ERR_STATE);
    assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
    assert_int_equal(ki_engine_await(self.engine, &self.done, -1, false, NULL), KI_OK);
    close_fixture(&self);
}

static void stop_engine(void *user) {
    ki_engine_stop(((fixture *)user)->engine);
}

TEST(an_engine_that_is_stopped_ends_the_waiting) {
    for (int started = 0; started < 2; started++) {
        fixture self;
        open_fixture(&self);
        if (started)
            assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
        assert_int_equal(ki_thread_start(&self.thread, "stopper", stop_engine, &self, NULL), KI_OK);
        assert_int_equal(ki_engine_await(self.engine, &self.done, -1, true, NULL), KI_ERR_CANCELLED);
        ki_thread_join(&self.thread);
        close_fixture(&self);
    }
}

static void start_and_respond(void *user) {
    fixture *self = user;
    assert_int_equal(ki_engine_start(self->engine, NULL), KI_OK);
    post_response(self);
}

static void nothing(void *user) {
    *(int *)user += 1;
}

static void call_and_respond(void *user) {
    fixture *self = user;
    int calls = 0;
    for (int i = 0; i < 100; i++)
        ki_engine_call(self->engine, nothing, &calls);
    assert_int_equal(calls, 100);
    post_response(self);
}

TEST(one_that_waits_gives_way_to_who_starts_or_calls) {
    static void (*const others[])(void *user) = { start_and_respond, call_and_respond };
    for (int i = 0; i < 20; i++) {
        fixture self;
        open_fixture(&self);
        assert_int_equal(ki_thread_start(&self.thread, "other", others[i % 2], &self, NULL), KI_OK);
        assert_int_equal(ki_engine_await(self.engine, &self.done, -1, true, NULL), KI_OK);
        ki_thread_join(&self.thread);
        close_fixture(&self);
    }
}
