/* test_workqueue.c: a work queue: each key once, in order, never with two workers; delays, failures, shutdown. Time is
 * the test's own. */

#include <kinformer-controllers/workqueue.h>

#include "tests/support/queue_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAY_ALL(options, plays) \
    for (size_t i = 0; i < sizeof(plays) / sizeof *(plays); i++) \
    queue_play_alone((options), (plays)[i])

/* --- each key once ------------------------------------------------------------------------------------------------ */

TEST(keys_are_handed_out_in_the_order_of_arrival) {
    queue_play_alone(NULL, "+a +b +c #3 =a =b +d =c =d =. -a -b -c -d #0 =.");
}

TEST(a_key_added_twice_is_handed_out_once) {
    static const char *const plays[] = {
        "+a #1 +b #2 +a #2 =a =b =. -a -b =.",
        "+b +b =b -b #0 =.",
        "+a =a -a +a =a -a =.",
    };
    PLAY_ALL(NULL, plays);
}

TEST(a_key_that_is_processed_is_queued_again_when_it_is_done) {
    static const char *const plays[] = {
        "+a =a +a #0 =. -a #1 =a -a #0 =.", "+a =a +a +a +a -a =a -a =.", "+a +b =a +a =b =. -a =a -b -a =.",
        "+a =a +a +b -a =b =a -a -b =.", /* in the order of being done, not of being added */
    };
    PLAY_ALL(NULL, plays);
}

TEST(done_of_a_key_that_nobody_processes_does_nothing) {
    queue_play_alone(NULL, "-a? +a -a? #1 =a -a -a? =. +a@10 -a? ~10 =a -a");
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    assert_int_equal(ki_workqueue_done(stage.queue, NULL), KI_ERR_NOT_FOUND);
    queue_stage_close(&stage);
}

/* --- bad keys ----------------------------------------------------------------------------------------------------- */

TEST(a_bad_key_is_rejected_by_every_add) {
    static char too_long[KI_WORKQUEUE_KEY_MAX + 2], longest[KI_WORKQUEUE_KEY_MAX + 1];
    memset(too_long, 'x', sizeof too_long - 1);
    memset(longest, 'y', sizeof longest - 1);
    const struct {
        const char *key;
        ki_status status;
    } cases[] = { { NULL, KI_ERR_INVALID }, { "", KI_ERR_INVALID }, { too_long, KI_ERR_LIMIT }, { longest, KI_OK } };
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ki_workqueue_add(stage.queue, cases[i].key), cases[i].status);
        assert_int_equal(ki_workqueue_add_after(stage.queue, cases[i].key, 1), cases[i].status);
        assert_int_equal(ki_workqueue_add_rate_limited(stage.queue, cases[i].key), cases[i].status);
        assert_int_equal(ki_workqueue_add_with(stage.queue, cases[i].key, NULL), cases[i].status);
    }
    assert_string_equal(ki_workqueue_get(stage.queue, 0, NULL), longest);
    assert_int_equal(ki_workqueue_add_with(stage.queue, "a", &(ki_add_options){ .priority = 1 }), KI_ERR_INVALID);
    ki_workqueue_forget(stage.queue, too_long);
    assert_int_equal(ki_workqueue_num_requeues(stage.queue, too_long), 0);
    ki_workqueue_forget(stage.queue, NULL);
    assert_int_equal(ki_workqueue_num_requeues(stage.queue, NULL), 0);
    assert_int_equal(ki_workqueue_priority(stage.queue, NULL), 0);
    queue_stage_close(&stage);
}

TEST(a_key_may_be_a_struct) {
    typedef struct shard {
        int64_t number;
        char zone[8];
    } shard;
    const shard first = { 1, "a" }, second = { 1, "b" }, same = { 1, "a" };
    queue_stage stage;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.key_size = sizeof(shard)));
    assert_int_equal(ki_workqueue_add(stage.queue, &first), KI_OK);
    assert_int_equal(ki_workqueue_add(stage.queue, &second), KI_OK);
    assert_int_equal(ki_workqueue_add(stage.queue, &same), KI_OK);
    assert_int_equal(ki_workqueue_length(stage.queue), 2);
    const shard *taken = ki_workqueue_get(stage.queue, 0, NULL);
    assert_int_equal((uintptr_t)taken % _Alignof(max_align_t), 0);
    assert_memory_equal(taken, &first, sizeof first);
    assert_int_equal(ki_workqueue_done(stage.queue, taken), KI_OK);
    assert_memory_equal(ki_workqueue_get(stage.queue, 0, NULL), &second, sizeof second);
    assert_int_equal(ki_workqueue_done(stage.queue, &second), KI_OK);
    queue_stage_close(&stage);
}

TEST(a_key_is_copied) {
    char key[] = "a";
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    assert_int_equal(ki_workqueue_add(stage.queue, key), KI_OK);
    key[0] = 'b';
    queue_play(&stage, "=a -a");
    queue_stage_close(&stage);
}

TEST(options_that_contradict_themselves_are_rejected) {
    static const ki_rate_limit too_many[KI_WORKQUEUE_LIMITS_MAX + 1] = { KI_RATE_LIMIT_EXPONENTIAL(1, 1) };
    static const ki_rate_limit negative = KI_RATE_LIMIT_EXPONENTIAL(-1, 1), no_burst = KI_RATE_LIMIT_BUCKET(1.0, 0),
                               no_rate = KI_RATE_LIMIT_BUCKET(0.0, 1), no_type = { .base_ms = 1 },
                               no_function = KI_RATE_LIMIT_CUSTOM(NULL, NULL);
    ki_rate_limit negative_wait = KI_RATE_LIMIT_FAST_SLOW(1, 2, 3);
    negative_wait.max_wait_ms = -1;
    const struct {
        ki_workqueue_options options;
        ki_status status;
    } cases[] = {
        { { .name = "no size" }, KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.name = "not UTF-8: \xff"), KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.key_size = KI_WORKQUEUE_KEY_MAX + 1), KI_ERR_LIMIT },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = too_many, .rate_limit_count = KI_WORKQUEUE_LIMITS_MAX + 1),
          KI_ERR_LIMIT },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = &negative, .rate_limit_count = 1), KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = &no_burst, .rate_limit_count = 1), KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = &no_rate, .rate_limit_count = 1), KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = &no_type, .rate_limit_count = 1), KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = &no_function, .rate_limit_count = 1), KI_ERR_INVALID },
        { KI_WORKQUEUE_OPTIONS(.rate_limits = &negative_wait, .rate_limit_count = 1), KI_ERR_INVALID },
    };
    test_engine engine;
    assert_true(test_engine_open(&engine, NULL, 1));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_workqueue *queue = (ki_workqueue *)&engine;
        assert_int_equal(ki_workqueue_new(engine.engine, &cases[i].options, &queue, &err), cases[i].status);
        assert_int_equal(err.code, cases[i].status);
        assert_ptr_equal(queue, &engine);
    }
    ki_workqueue_free(NULL);
    test_engine_close(&engine);
}

/* --- delays ------------------------------------------------------------------------------------------------------- */

TEST(a_delayed_key_is_ready_on_its_time) {
    static const char *const plays[] = {
        "+a@50 #0 ~49 =. ~1 #1 =a -a ~10000 =.",
        "+a@0 =a -a =.",
        "+a@-5 =a -a =.",
        "+a@1000 +b@50 ~60 =b =. +c@2000 ~1000 =a =. ~2000 =c =.",
        "+a@1000 +b@500 +c@250 ~2000 #3 =c =b =a =.",
        "+a@5 +b@5 +c@5 ~5 =a =b =c", /* ties: in the order of being added */
        "+a =a +a@5 ~5 =. #0 -a =a -a =.",
    };
    PLAY_ALL(NULL, plays);
}

TEST(the_earlier_time_of_a_delayed_key_wins) {
    static const char *const plays[] = {
        "+a@50 +a@70 ~49 =. ~1 =a -a ~20 =. ~50 =.",
        "+a@50 +a@30 ~29 =. ~1 =a -a ~20 =. ~50 =.",
        "+b@40 +a@50 +a@30 ~30 =a =. ~10 =b =.",
    };
    PLAY_ALL(NULL, plays);
}

TEST(a_key_may_wait_and_be_queued_at_once) {
    static const char *const plays[] = {
        "+a@50 +a =a -a ~49 =. ~1 =a -a =.", /* the delayed one comes too */
        "+a +a@50 ~50 #1 =a -a =.",          /* they are one where the first is still queued */
        "+a =a +a@50 -a =. ~50 =a -a =.",
        "+a@50 +a =a ~50 =. -a =a -a =.",
    };
    PLAY_ALL(NULL, plays);
}

TEST(the_longest_delay_does_not_overflow) {
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    assert_int_equal(ki_workqueue_add_after(stage.queue, "a", INT64_MAX), KI_OK);
    assert_int_equal(ki_workqueue_add_after(stage.queue, "b", INT64_MAX / 1000000), KI_OK);
    assert_int_equal(ki_workqueue_add_after(stage.queue, "c", INT64_MIN), KI_OK);
    queue_play(&stage, "~100000000 =c =.");
    queue_stage_close(&stage);
}

/* A step of the loop does not make all of them ready at once. */
TEST(many_keys_that_are_due_at_once_become_ready_in_slices) {
    enum {
        KEYS = 5000,
        STEPS_MAX = 1000
    };
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    char key[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(ki_workqueue_add_after(stage.queue, key, 10), KI_OK);
    }
    assert_true(test_engine_settle(&stage.engine));
    stage.engine.now += KI_MILLISECONDS(10);
    size_t before = 0, steps = 0;
    for (; before < KEYS && steps < STEPS_MAX; steps++) {
        assert_int_equal(ki_engine_timeout(stage.engine.engine), 0);
        assert_int_equal(ki_engine_step(stage.engine.engine, 100, NULL), KI_OK);
        size_t length = ki_workqueue_length(stage.queue);
        assert_in_range(length - before, 0, 200);
        before = length;
    }
    assert_true(steps >= KEYS / 200);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_string_equal(ki_workqueue_get(stage.queue, 0, NULL), key);
    }
    queue_stage_close(&stage);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

TEST(a_rate_limited_key_waits_longer_each_time_until_it_is_forgotten) {
    static const ki_rate_limit limit = KI_RATE_LIMIT_EXPONENTIAL(1, 1000);
    queue_play_alone(&KI_WORKQUEUE_OPTIONS(.rate_limits = &limit, .rate_limit_count = 1),
                     "+a! =. ~1 =a %a1 +a! -a ~1 =. ~1 =a %a2 +b! ~1 =b -b %b1 "
                     "*a %a0 +a! -a ~1 =a %a1 *a -a %a0 *b %b0 =.");
}

TEST(forgetting_a_key_does_not_remove_it) {
    queue_play_alone(NULL, "*a +a! *a %a0 =. ~5 =a *a -a =. +b *b =b -b");
}

TEST(with_no_rate_limits_a_rate_limited_key_is_ready_at_once) {
    static const ki_rate_limit none[1];
    queue_play_alone(&KI_WORKQUEUE_OPTIONS(.rate_limits = none), "+a! %a1 =a -a %a1 *a %a0");
}

TEST(of_a_delay_and_the_rate_limit_s_the_shorter_one_counts) {
    static const char *const plays[] = {
        "+a!@3 ~3 =a -a %a1",
        "+a!@30 ~4 =. ~1 =a -a %a1",
        "+a!@-1 =a -a %a1",
    };
    PLAY_ALL(NULL, plays);
}

/* --- shutdown ----------------------------------------------------------------------------------------------------- */

TEST(after_the_shutdown_only_what_was_queued_is_handed_out) {
    static const char *const plays[] = {
        "x =x. x =x.",
        "+a x +b #1 =a =x. -a =x.",
        "+a =a +a x =x. -a =a -a =x.",           /* what was added while it was processed, too */
        "+a@5 x ~100 =x. +b@1 +c! ~100 =x. %c0", /* what waits is dropped */
        "+a =a +a@5 x -a ~100 =x.",
    };
    PLAY_ALL(NULL, plays);
}

TEST(draining_a_queue_without_keys_ends_at_once) {
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    queue_play(&stage, "+a =a -a");
    assert_int_equal(ki_workqueue_shut_down_with_drain(stage.queue, -1, NULL), KI_OK);
    assert_int_equal(ki_workqueue_shut_down_with_drain(stage.queue, 0, NULL), KI_OK);
    queue_stage_close(&stage);
}

TEST(draining_without_time_shuts_down_and_reports_the_remaining_keys) {
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    queue_play(&stage, "+a +b =a");
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_workqueue_shut_down_with_drain(stage.queue, 0, &err), KI_ERR_TIMEOUT);
    assert_string_equal(err.message, "1 keys are queued and 1 are being processed");
    queue_play(&stage, "+c -a =b =x. -b");
    assert_int_equal(ki_workqueue_shut_down_with_drain(stage.queue, 0, &err), KI_OK);
    queue_stage_close(&stage);
}

TEST(waiting_on_the_loop_is_rejected) {
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    assert_true(test_engine_settle(&stage.engine)); /* from now on this thread is the loop */
    ki_error err = KI_ERROR_INIT;
    assert_null(ki_workqueue_get(stage.queue, -1, &err));
    assert_int_equal(err.code, KI_ERR_DEADLOCK);
    queue_play(&stage, "+a =a");
    assert_int_equal(ki_workqueue_shut_down_with_drain(stage.queue, -1, &err), KI_ERR_DEADLOCK);
    assert_null(ki_workqueue_get(stage.queue, -1, &err)); /* nothing to wait for any more */
    assert_int_equal(err.code, KI_ERR_CLOSED);
    queue_play(&stage, "-a");
    assert_int_equal(ki_workqueue_shut_down_with_drain(stage.queue, -1, NULL), KI_OK);
    queue_stage_close(&stage);
}

/* --- callbacks on the loop ---------------------------------------------------------------------------------------- */

typedef struct watcher {
    char trace[128];
    bool takes;
} watcher;

static void note(watcher *self, const char *what) {
    size_t used = strlen(self->trace);
    snprintf(self->trace + used, sizeof self->trace - used, "%s%s", used ? " " : "", what);
}

static void on_ready(ki_workqueue *queue, void *user) {
    watcher *self = user;
    note(self, "ready");
    const char *key;
    ki_error err = KI_ERROR_INIT;
    while (self->takes && (key = ki_workqueue_get(queue, 0, &err))) {
        note(self, key);
        assert_int_equal(ki_workqueue_done(queue, key), KI_OK);
    }
    if (err.code == KI_ERR_CLOSED)
        note(self, "closed");
}

static void on_drained(ki_workqueue *queue, void *user) {
    (void)queue;
    note(user, "drained");
}

TEST(a_program_without_threads_takes_keys_on_the_loop) {
    watcher self = { .takes = true };
    queue_stage stage;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.on_ready = on_ready, .on_drained = on_drained, .user = &self));
    queue_play(&stage, "+a +b ~0 +c ~0 +d@5 ~4");
    assert_string_equal(self.trace, "ready a b ready c");
    queue_play(&stage, "~1 +e x ~0 ~10");
    assert_string_equal(self.trace, "ready a b ready c ready d ready e closed drained");
    queue_stage_close(&stage);
}

TEST(on_ready_is_called_when_the_first_key_comes_and_at_the_end) {
    static const struct {
        const char *play, *trace;
    } cases[] = {
        { "+a ~0 +b ~0 =a ~0", "ready" },       /* a key could be taken all the time */
        { "+a ~0 =a ~0 +b ~0", "ready ready" }, /* none could, in between */
        { "+a =a ~0", "" },                     /* it was taken before the loop came to tell */
        { "+a =a +a ~0 -a ~0", "ready" },       /* ready when it is done */
        { "x ~0 x ~0", "ready drained" },
        { "+a x ~0 =a ~0 -a ~0 x ~0", "ready drained" },
        { "+a =a +a x ~0 -a ~0 =a -a ~0", "ready ready drained" },
        { "+a@5 x ~0 ~10", "ready drained" }, /* a key that waits does not count */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        watcher self = { .takes = false };
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.on_ready = on_ready, .on_drained = on_drained, .user = &self));
        queue_play(&stage, cases[i].play);
        if (strcmp(self.trace, cases[i].trace) != 0)
            fail_msg("'%s': %s", cases[i].play, self.trace);
        queue_stage_close(&stage);
    }
}

/* --- lack of memory ----------------------------------------------------------------------------------------------- */

TEST(an_add_without_memory_leaves_the_queue_as_it_was) {
    static const ki_rate_limit limits[] = { KI_RATE_LIMIT_EXPONENTIAL(1, 1000), KI_RATE_LIMIT_BUCKET(1.0, 1) };
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        for (size_t n = 0;; n++) {
            scarce_memory memory;
            scarce_memory_init(&memory, n);
            test_engine engine;
            ki_workqueue *queue = NULL;
            if (test_engine_open(&engine, &memory.allocator, 1)) {
                const ki_workqueue_options options = KI_WORKQUEUE_OPTIONS(.name = "x", .by_priority = by_priority,
                                                                          .rate_limits = limits, .rate_limit_count = 2);
                ki_status status = ki_workqueue_new(engine.engine, &options, &queue, NULL);
                assert_int_equal(status, queue ? KI_OK : KI_ERR_NO_MEMORY);
                for (int i = 0; queue && i < 3000; i++) {
                    char key[16];
                    snprintf(key, sizeof key, "%d", i);
                    ki_status added = i % 3 ? ki_workqueue_add_after(queue, key, i % 7) : ki_workqueue_add(queue, key);
                    if (added == KI_ERR_NO_MEMORY)
                        added = i % 3 ? ki_workqueue_add_after(queue, key, i % 7) : ki_workqueue_add(queue, key);
                    assert_int_equal(added, KI_OK);
                }
                while (queue && ki_workqueue_add_rate_limited(queue, "r") == KI_ERR_NO_MEMORY)
                    assert_int_equal(ki_workqueue_num_requeues(queue, "r"), 0);
                if (queue) {
                    assert_int_equal(ki_workqueue_num_requeues(queue, "r"), 1);
                    assert_true(test_engine_advance(&engine, 10));
                    assert_int_equal(ki_workqueue_length(queue), 3001);
                    const char *key;
                    while ((key = ki_workqueue_get(queue, 0, NULL)))
                        assert_int_equal(ki_workqueue_done(queue, key), KI_OK);
                }
                ki_workqueue_free(queue);
                test_engine_close(&engine);
            }
            assert_int_equal(scarce_memory_in_use(&memory), 0);
            if (!scarce_memory_failed(&memory) || n > 150)
                break;
        }
    }
}

/* A key that a worker has can always come back: the queue has all memory for the key. */
TEST(a_key_being_processed_is_added_without_memory) {
    static const ki_rate_limit limit = KI_RATE_LIMIT_EXPONENTIAL(1, 1000);
    const ki_add_options again[] = {
        KI_ADD_OPTIONS(.priority = 1),
        KI_ADD_OPTIONS(.after_ms = 5),
        KI_ADD_OPTIONS(.priority = 7, .after_ms = 5),
        KI_ADD_OPTIONS(.rate_limited = true),
    };
    for (size_t i = 0; i < 2 * sizeof again / sizeof *again; i++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX - 1);
        test_engine engine;
        ki_workqueue *queue = NULL;
        const ki_workqueue_options options =
            KI_WORKQUEUE_OPTIONS(.name = "x", .by_priority = i % 2, .rate_limits = &limit, .rate_limit_count = 1);
        assert_true(test_engine_open(&engine, &memory.allocator, 1));
        assert_int_equal(ki_workqueue_new(engine.engine, &options, &queue, NULL), KI_OK);
        assert_int_equal(ki_workqueue_add(queue, "k"), KI_OK);
        const char *key = ki_workqueue_get(queue, 0, NULL);
        memory.fail_at = memory.calls;
        memory.forever = true;
        assert_int_equal(ki_workqueue_add(queue, "other"), KI_ERR_NO_MEMORY);
        assert_int_equal(ki_workqueue_add_with(queue, key, &again[i / 2]), KI_OK);
        assert_int_equal(ki_workqueue_done(queue, key), KI_OK);
        assert_true(test_engine_advance(&engine, 10));
        key = ki_workqueue_get(queue, 0, NULL);
        assert_string_equal(key, "k");
        assert_int_equal(ki_workqueue_done(queue, key), KI_OK);
        memory.forever = false;
        ki_workqueue_free(queue);
        test_engine_close(&engine);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

static int64_t negative_now(void *user) {
    return *(const int64_t *)user;
}

TEST(a_clock_may_be_negative) {
    int64_t now = -KI_SECONDS(1000);
    ki_engine *engine = NULL;
    ki_workqueue *queue = NULL;
    const ki_clock clock = { .now = negative_now, .user = &now };
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock), &engine, NULL), KI_OK);
        assert_int_equal(ki_workqueue_new(engine, &KI_WORKQUEUE_OPTIONS(.by_priority = by_priority), &queue, NULL),
                         KI_OK);
        assert_int_equal(ki_workqueue_add_after(queue, "soon", 10), KI_OK);
        assert_int_equal(ki_workqueue_add_after(queue, "never", INT64_MAX), KI_OK);
        now += KI_MILLISECONDS(10);
        assert_int_equal(ki_engine_step(engine, 0, NULL), KI_OK);
        const char *key = ki_workqueue_get(queue, 0, NULL);
        assert_string_equal(key ? key : "", "soon");
        assert_int_equal(ki_workqueue_done(queue, key), KI_OK);
        assert_null(ki_workqueue_get(queue, 0, NULL));
        ki_workqueue_free(queue);
        ki_engine_free(engine);
    }
}
