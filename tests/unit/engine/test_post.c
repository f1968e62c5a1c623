/* test_post.c: the program's own calls on the loop: at once, later, cancelled, from other threads. */
#include "src/engine/engine.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"
#include "tests/support/time/growth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static test_engine host;
static char trace[64];

static void note(void *user) {
    strncat(trace, user, sizeof trace - strlen(trace) - 1);
}

static int set_up(void **state) {
    (void)state;
    trace[0] = '\0';
    return test_engine_open(&host, NULL, 1) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    test_engine_close(&host);
    return 0;
}
#define POST_TEST(name) TEST_WITH(set_up, tear_down, name)

static uint64_t post(int64_t delay_ms, const char *letter) {
    static char letters[256][2];
    uint64_t id = 0;
    unsigned char at = (unsigned char)letter[0];
    letters[at][0] = letter[0];
    assert_int_equal(ki_engine_post(host.engine, delay_ms, note, letters[at], &id, NULL), KI_OK);
    return id;
}

POST_TEST(calls_are_made_in_the_order_of_posting_and_of_their_time) {
    post(200, "d");
    post(0, "a");
    post(-5, "b");
    post(100, "c");
    assert_true(test_engine_settle(&host));
    assert_string_equal(trace, "ab");
    assert_true(test_engine_advance(&host, 99));
    assert_string_equal(trace, "ab");
    assert_true(test_engine_advance(&host, 1));
    assert_string_equal(trace, "abc");
    assert_true(test_engine_advance(&host, 1000));
    assert_string_equal(trace, "abcd");
}

static uint64_t other;

static void cancel_other(void *user) {
    note(user);
    assert_int_equal(ki_engine_cancel_post(host.engine, other, NULL), KI_OK);
}

POST_TEST(a_cancelled_call_is_not_made) {
    static char a[] = "a";
    uint64_t now = post(0, "x"), later = post(100, "y"), made = post(0, "b");
    assert_int_equal(ki_engine_post(host.engine, 0, cancel_other, a, NULL, NULL), KI_OK);
    other = post(0, "z");
    assert_int_equal(ki_engine_cancel_post(host.engine, now, NULL), KI_OK);
    assert_int_equal(ki_engine_cancel_post(host.engine, now, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_engine_cancel_post(host.engine, 12345, NULL), KI_ERR_NOT_FOUND);
    assert_true(test_engine_settle(&host));
    assert_int_equal(ki_engine_cancel_post(host.engine, later, NULL), KI_OK);
    assert_true(test_engine_advance(&host, 1000));
    assert_string_equal(trace, "ba");
    assert_int_equal(ki_engine_cancel_post(host.engine, made, NULL), KI_ERR_NOT_FOUND);
}

static void again(void *user) {
    static int left;
    note(user);
    left = left ? left - 1 : 2;
    if (left)
        assert_int_equal(ki_engine_post(host.engine, 1000, again, user, NULL, NULL), KI_OK);
}

/* Cancels in the order of posting. */
static void post_and_cancel(size_t count, void *user) {
    (void)user;
    uint64_t *ids = malloc(count * sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_engine_post(host.engine, 60000, note, NULL, &ids[i], NULL), KI_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_engine_cancel_post(host.engine, ids[i], NULL), KI_OK);
    assert_true(test_engine_settle(&host));
    free(ids);
}

POST_TEST(the_time_to_cancel_calls_is_linear) {
    assert_true(growth_of(post_and_cancel, 1000, NULL) < GROWTH_LINEAR_MAX);
}

POST_TEST(a_call_may_post_itself_again) {
    static char p[] = "p";
    assert_int_equal(ki_engine_post(host.engine, 0, again, p, NULL, NULL), KI_OK);
    assert_true(test_engine_advance(&host, 10000));
    assert_string_equal(trace, "ppp");
}

POST_TEST(calls_that_are_left_are_freed_with_the_engine) {
    post(0, "a");
    post(100, "b");
    assert_int_equal(ki_engine_cancel_post(host.engine, post(100, "c"), NULL), KI_OK);
    ki_engine_stop(host.engine);
    assert_int_equal(ki_engine_post(host.engine, 0, note, trace, NULL, NULL), KI_ERR_STATE);
}

TEST(a_post_without_memory_is_an_error) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        static char a[] = "a";
        trace[0] = '\0';
        assert_true(test_engine_open(&host, &memory.allocator, 1));
        scarce_memory_begin(&memory);
        ki_status status = ki_engine_post(host.engine, 10, note, a, NULL, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        assert_true(test_engine_advance(&host, 100));
        assert_string_equal(trace, status ? "" : "a");
        test_engine_close(&host);
    }
}

enum {
    THREADS = 4,
    CALLS = 500
};

static _Atomic int made, dropped;
static sem_t all_done;

static void count(void *user) {
    (void)user;
    if (atomic_fetch_add(&made, 1) + 1 + atomic_load(&dropped) >= THREADS * CALLS)
        sem_post(&all_done);
}

static void *post_many(void *user) {
    ki_engine *engine = user;
    for (int i = 0; i < CALLS; i++) {
        uint64_t id;
        assert_int_equal(ki_engine_post(engine, i % 3, count, NULL, &id, NULL), KI_OK);
        if (i % 4 == 0 && !ki_engine_cancel_post(engine, id, NULL) &&
            atomic_fetch_add(&dropped, 1) + 1 + atomic_load(&made) >= THREADS * CALLS)
            sem_post(&all_done);
    }
    return NULL;
}

TEST(threads_post_and_cancel_while_the_loop_runs) {
    pthread_t threads[THREADS];
    ki_engine *engine = NULL;
    atomic_store(&made, 0);
    atomic_store(&dropped, 0);
    assert_int_equal(sem_init(&all_done, 0, 0), 0);
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, engine), 0);
    await_semaphore(&all_done); /* each call is made or dropped */
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    ki_engine_free(engine);
    assert_int_equal(atomic_load(&made) + atomic_load(&dropped), THREADS * CALLS);
    sem_destroy(&all_done);
}

/* Which thread runs callbacks decides what time it is for a caller, and whether its call wakes the loop. */
static void *post_and_step(void *user) {
    ki_engine *engine = user;
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(ki_engine_post(engine, 0, count, NULL, NULL, NULL), KI_OK);
        ki_status status = ki_engine_step(engine, 0, NULL);
        assert_true(status == KI_OK || status == KI_ERR_STATE); /* the other thread steps */
        assert_true(ki_engine_now(engine) > 0);
    }
    return NULL;
}

TEST(threads_that_step_in_turn_post_calls_meanwhile) {
    pthread_t threads[2];
    ki_engine *engine = NULL;
    atomic_store(&made, 0);
    atomic_store(&dropped, 0);
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_and_step, engine), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    while (atomic_load(&made) < 2 * CALLS)
        assert_int_equal(ki_engine_step(engine, 0, NULL), KI_OK);
    ki_engine_free(engine);
}
