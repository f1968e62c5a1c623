/* test_workqueue_threads.c: a work queue with many threads: producers, workers, delays, shutdown. No test looks at the
 * clock; one that fails to end runs into the time limit of all tests. Also meant for the thread sanitizer. */

#include "tests/support/test.h"

#include <kinformer-controllers/workqueue.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRODUCERS = 4,
    WORKERS = 6,
    KEYS = 50,
    ROUNDS = 400 /* of each producer */
};

/* What the threads of a test share. A key's number is its name. */
typedef struct crowd {
    ki_engine *engine;
    ki_workqueue *queue;
    _Atomic int added[KEYS];      /* a change was made; counted before the key is added */
    _Atomic int seen[KEYS];       /* of `added`, by the last worker */
    _Atomic int processing[KEYS]; /* workers that have the key */
    _Atomic int two_workers;
    _Atomic int handed_out;
    bool retries; /* a worker adds some keys again */
} crowd;

static void open_crowd(crowd *self, bool by_priority, const char *name) {
    static const ki_rate_limit limit = KI_RATE_LIMIT_EXPONENTIAL(1, 2);
    memset(self, 0, sizeof *self);
    assert_int_equal(ki_engine_new(NULL, &self->engine, NULL), KI_OK);
    assert_int_equal(ki_engine_start(self->engine, NULL), KI_OK);
    const ki_workqueue_options options =
        KI_WORKQUEUE_OPTIONS(.by_priority = by_priority, .rate_limits = &limit, .rate_limit_count = 1, .name = name);
    assert_int_equal(ki_workqueue_new(self->engine, &options, &self->queue, NULL), KI_OK);
}

static void close_crowd(crowd *self) {
    ki_workqueue_free(self->queue);
    ki_engine_stop(self->engine);
    assert_int_equal(ki_engine_join(self->engine, NULL), KI_OK);
    ki_engine_free(self->engine);
}

static void *produce(void *user) {
    crowd *self = user;
    char key[16];
    for (int i = 0; i < ROUNDS; i++) {
        int number = i * 7 % KEYS;
        snprintf(key, sizeof key, "%d", number);
        atomic_fetch_add(&self->added[number], 1);
        switch (i % 5) {
        case 0:
            ki_workqueue_add_after(self->queue, key, 1);
            break;
        case 1:
            ki_workqueue_add_rate_limited(self->queue, key);
            break;
        case 2:
            ki_workqueue_add_with(self->queue, key, &KI_ADD_OPTIONS(.priority = i % 3));
            break;
        default:
            ki_workqueue_add(self->queue, key);
        }
    }
    return NULL;
}

static void *work(void *user) {
    crowd *self = user;
    const char *key;
    while ((key = ki_workqueue_get(self->queue, -1, NULL))) {
        int number = atoi(key);
        if (atomic_fetch_add(&self->processing[number], 1) != 0)
            atomic_store(&self->two_workers, 1);
        atomic_store(&self->seen[number], atomic_load(&self->added[number]));
        int count = atomic_fetch_add(&self->handed_out, 1);
        if (self->retries && count % 5 == 0)
            ki_workqueue_add_rate_limited(self->queue, key);
        else
            ki_workqueue_forget(self->queue, key);
        atomic_fetch_sub(&self->processing[number], 1);
        if (ki_workqueue_done(self->queue, key))
            atomic_store(&self->two_workers, 1);
    }
    return NULL;
}

static void start(pthread_t *threads, int count, void *(*run)(void *user), void *user) {
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, user), 0);
}

static void join(pthread_t *threads, int count) {
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static const struct {
    bool by_priority;
    const char *name;
} kinds[] = { { false, NULL }, { false, "measured" }, { true, "by_priority" } };

/* Every change is seen: what a worker sees last of a key is its last change. */
TEST(no_key_is_lost_and_none_has_two_workers) {
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        crowd self;
        pthread_t producers[PRODUCERS], workers[WORKERS];
        open_crowd(&self, kinds[kind].by_priority, kinds[kind].name);
        start(workers, WORKERS, work, &self);
        start(producers, PRODUCERS, produce, &self);
        join(producers, PRODUCERS);
        char key[16];
        for (int i = 0; i < KEYS; i++) { /* what still waits for its time is dropped by the shutdown */
            snprintf(key, sizeof key, "%d", i);
            assert_int_equal(ki_workqueue_add(self.queue, key), KI_OK);
        }
        assert_int_equal(ki_workqueue_shut_down_with_drain(self.queue, -1, NULL), KI_OK);
        assert_int_equal(atomic_load(&self.two_workers), 0);
        for (int i = 0; i < KEYS; i++)
            assert_int_equal(atomic_load(&self.seen[i]), atomic_load(&self.added[i]));
        join(workers, WORKERS);
        assert_int_equal(ki_workqueue_length(self.queue), 0);
        close_crowd(&self);
    }
}

TEST(a_shutdown_at_any_time_ends_all_workers) {
    for (int round = 0; round < 20; round++) {
        crowd self;
        pthread_t producers[PRODUCERS], workers[WORKERS];
        open_crowd(&self, round % 2, round % 3 ? NULL : "measured");
        self.retries = true;
        start(producers, PRODUCERS, produce, &self);
        start(workers, WORKERS, work, &self);
        while (atomic_load(&self.handed_out) < round * 2) /* of at least KEYS */
            assert_true(ki_workqueue_length(self.queue) <= KEYS);
        ki_workqueue_shut_down(self.queue);
        join(workers, WORKERS);
        join(producers, PRODUCERS);
        assert_int_equal(ki_workqueue_length(self.queue), 0);
        assert_int_equal(ki_workqueue_add(self.queue, "1"), KI_ERR_CLOSED);
        assert_int_equal(atomic_load(&self.two_workers), 0);
        close_crowd(&self);
    }
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static void *take_one(void *user) {
    crowd *self = user;
    const char *key = ki_workqueue_get(self->queue, -1, NULL);
    if (key) {
        ki_workqueue_done(self->queue, key);
        atomic_fetch_add(&self->handed_out, 1);
    }
    return NULL;
}

/* One wake-up too few, and this does not end. */
TEST(each_key_wakes_a_thread_that_waits) {
    for (int round = 0; round < 50; round++) {
        crowd self;
        pthread_t workers[WORKERS];
        char key[16];
        open_crowd(&self, round % 2, NULL);
        start(workers, WORKERS, take_one, &self);
        for (int i = 0; i < WORKERS; i++) {
            snprintf(key, sizeof key, "%d", i);
            if (i % 3 == 0)
                assert_int_equal(ki_workqueue_add_after(self.queue, key, 1), KI_OK);
            else
                assert_int_equal(ki_workqueue_add(self.queue, key), KI_OK);
        }
        join(workers, WORKERS);
        assert_int_equal(atomic_load(&self.handed_out), WORKERS);
        close_crowd(&self);
    }
}

static void *hand_over(void *user) {
    crowd *self = user;
    const char *key;
    while ((key = ki_workqueue_get(self->queue, -1, NULL))) {
        bool is_last = atomic_fetch_add(&self->handed_out, 1) == ROUNDS;
        ki_workqueue_add(self->queue, key[0] == 'a' ? "b" : "a");
        ki_workqueue_done(self->queue, key);
        if (is_last)
            ki_workqueue_shut_down(self->queue);
    }
    return NULL;
}

/* Each key is added when nothing else is queued, so that all other threads are asleep, or about to be. */
TEST(keys_go_from_hand_to_hand) {
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        crowd self;
        pthread_t workers[WORKERS];
        open_crowd(&self, by_priority, NULL);
        start(workers, WORKERS, hand_over, &self);
        assert_int_equal(ki_workqueue_add(self.queue, "a"), KI_OK);
        join(workers, WORKERS);
        assert_true(atomic_load(&self.handed_out) > ROUNDS);
        close_crowd(&self);
    }
}

TEST(a_wait_for_a_key_ends_after_its_time) {
    crowd self;
    ki_error err = KI_ERROR_INIT;
    open_crowd(&self, false, NULL);
    assert_null(ki_workqueue_get(self.queue, 1, &err));
    assert_int_equal(err.code, KI_ERR_TIMEOUT);
    assert_int_equal(ki_workqueue_add_after(self.queue, "a", 1), KI_OK);
    const char *key = ki_workqueue_get(self.queue, 60000, NULL);
    assert_string_equal(key, "a");
    assert_int_equal(ki_workqueue_done(self.queue, key), KI_OK);
    close_crowd(&self);
}

/* A thread that leaves at its deadline takes no wake-up away from one that stays. */
TEST(threads_with_deadlines_take_no_key_from_others) {
    for (int round = 0; round < 30; round++) {
        crowd self;
        pthread_t worker;
        open_crowd(&self, false, NULL);
        start(&worker, 1, take_one, &self);
        for (int i = 0; i < 3; i++)
            assert_null(ki_workqueue_get(self.queue, 1, NULL));
        assert_int_equal(ki_workqueue_add(self.queue, "a"), KI_OK);
        join(&worker, 1);
        assert_int_equal(atomic_load(&self.handed_out), 1);
        close_crowd(&self);
    }
}

/* --- draining ----------------------------------------------------------------------------------------------------- */

typedef struct drainer {
    crowd *crowd;
    pthread_t thread;
    ki_status status;
} drainer;

static void *drain(void *user) {
    drainer *self = user;
    self->status = ki_workqueue_shut_down_with_drain(self->crowd->queue, -1, NULL);
    return NULL;
}

static void start_drainers(drainer *drainers, crowd *self) {
    for (int i = 0; i < WORKERS; i++) {
        drainers[i].crowd = self;
        start(&drainers[i].thread, 1, drain, &drainers[i]);
    }
    while (!ki_workqueue_is_shut_down(self->queue)) {}
}

static void join_drainers(drainer *drainers, ki_status want) {
    for (int i = 0; i < WORKERS; i++) {
        join(&drainers[i].thread, 1);
        assert_int_equal(drainers[i].status, want);
    }
}

TEST(all_who_drain_wait_until_the_last_key_is_done) {
    crowd self;
    drainer drainers[WORKERS];
    open_crowd(&self, false, NULL);
    assert_int_equal(ki_workqueue_add(self.queue, "a"), KI_OK);
    assert_int_equal(ki_workqueue_add(self.queue, "b"), KI_OK);
    const char *a = ki_workqueue_get(self.queue, 0, NULL);
    assert_int_equal(ki_workqueue_add(self.queue, "a"), KI_OK);
    start_drainers(drainers, &self);
    assert_int_equal(ki_workqueue_done(self.queue, a), KI_OK);
    const char *b = ki_workqueue_get(self.queue, -1, NULL);
    assert_string_equal(b, "b");
    assert_int_equal(ki_workqueue_done(self.queue, b), KI_OK);
    a = ki_workqueue_get(self.queue, -1, NULL);
    assert_string_equal(a, "a");
    assert_null(ki_workqueue_get(self.queue, -1, NULL));
    assert_int_equal(ki_workqueue_done(self.queue, a), KI_OK);
    join_drainers(drainers, KI_OK);
    close_crowd(&self);
}

TEST(a_plain_shutdown_ends_all_drains) {
    crowd self;
    drainer drainers[WORKERS];
    open_crowd(&self, false, NULL);
    assert_int_equal(ki_workqueue_add(self.queue, "a"), KI_OK);
    const char *a = ki_workqueue_get(self.queue, 0, NULL);
    start_drainers(drainers, &self);
    for (int i = 0; i < WORKERS; i++) {
        /* A thread that had not come to wait yet may begin after a shutdown: then it is for the next one. */
        while (pthread_tryjoin_np(drainers[i].thread, NULL) != 0)
            ki_workqueue_shut_down(self.queue);
        assert_int_equal(drainers[i].status, KI_ERR_CANCELLED);
    }
    assert_int_equal(ki_workqueue_shut_down_with_drain(self.queue, 1, NULL), KI_ERR_TIMEOUT);
    assert_int_equal(ki_workqueue_done(self.queue, a), KI_OK);
    assert_int_equal(ki_workqueue_shut_down_with_drain(self.queue, -1, NULL), KI_OK);
    close_crowd(&self);
}
