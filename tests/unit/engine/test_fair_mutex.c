/* The fair mutex: one at a time, and whoever waits gets it before the one that has just given it back. */
#include "src/engine/thread.h"

#include "tests/support/test.h"

enum {
    THREADS = 4,
    ROUNDS = 2000
};

typedef struct shared {
    ki_fair_mutex mutex;
    unsigned long count; /* under it */
} shared;

static void count_up(void *user) {
    shared *s = user;
    for (int i = 0; i < ROUNDS; i++) {
        ki_fair_mutex_lock(&s->mutex);
        s->count++;
        ki_fair_mutex_unlock(&s->mutex);
    }
}

TEST(one_thread_has_it_at_a_time) {
    shared s = { .count = 0 };
    ki_thread threads[THREADS] = { 0 };
    assert_int_equal(ki_fair_mutex_init(&s.mutex, NULL), KI_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(ki_thread_start(&threads[i], "counter", count_up, &s, NULL), KI_OK);
    for (int i = 0; i < THREADS; i++)
        ki_thread_join(&threads[i]);
    assert_int_equal(s.count, THREADS * ROUNDS);
    ki_fair_mutex_destroy(&s.mutex);
}

typedef struct queue {
    ki_fair_mutex mutex;
    bool has_waited; /* under it */
} queue;

static void wait_once(void *user) {
    queue *q = user;
    ki_fair_mutex_lock(&q->mutex);
    q->has_waited = true;
    ki_fair_mutex_unlock(&q->mutex);
}

/* How many wait is read as the mutex itself reads it. */
static bool somebody_waits(queue *q) {
    ki_mutex_lock(&q->mutex.mutex);
    bool waits = q->mutex.next > q->mutex.served + 1;
    ki_mutex_unlock(&q->mutex.mutex);
    return waits;
}

TEST(who_waits_goes_before_who_comes_again) {
    queue q = { .has_waited = false };
    ki_thread thread = { 0 };
    assert_int_equal(ki_fair_mutex_init(&q.mutex, NULL), KI_OK);
    ki_fair_mutex_lock(&q.mutex);
    assert_int_equal(ki_thread_start(&thread, "waiter", wait_once, &q, NULL), KI_OK);
    while (!somebody_waits(&q))
        ki_thread_pause();
    ki_fair_mutex_unlock(&q.mutex);
    ki_fair_mutex_lock(&q.mutex); /* at once, as a loop does */
    assert_true(q.has_waited);
    ki_fair_mutex_unlock(&q.mutex);
    ki_thread_join(&thread);
    ki_fair_mutex_destroy(&q.mutex);
}
