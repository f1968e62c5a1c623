/* The fair mutex: one thread has it at a time, in order of arrival. A thread that waits is woken once, and gets it
 * before the one that has just given it back. */
#include "src/engine/engine.h"

#include "tests/support/test.h"

#include <sys/resource.h>

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
    assert_int_equal(ki_fair_mutex_init(&s.mutex, NULL, NULL), KI_OK);
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
    bool waits = q->mutex.first;
    ki_mutex_unlock(&q->mutex.mutex);
    return waits;
}

TEST(who_waits_goes_before_who_comes_again) {
    queue q = { .has_waited = false };
    ki_thread thread = { 0 };
    assert_int_equal(ki_fair_mutex_init(&q.mutex, NULL, NULL), KI_OK);
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

enum {
    WAITERS = 48
};

typedef struct waiter {
    ki_engine *engine;
    ki_fair_mutex *mutex;
    bool is_loop;
    ki_thread thread;
    unsigned *next; /* under the mutex: the place of the next one */
    unsigned place; /* in which it got the mutex */
    long sleeps;    /* while it waited */
} waiter;

static long sleeps_of_thread(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

static void wait_in_line(void *user) {
    waiter *self = user;
    long before = sleeps_of_thread();
    if (self->is_loop)
        assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
    ki_fair_mutex_lock(self->mutex);
    self->place = (*self->next)++;
    ki_fair_mutex_unlock(self->mutex);
    self->sleeps = sleeps_of_thread() - before;
}

static bool waits_for(ki_fair_mutex *mutex, size_t count) {
    ki_mutex_lock(&mutex->mutex);
    size_t found = 0;
    for (ki_fair_wait *at = mutex->first; at; at = at->next)
        found++;
    ki_mutex_unlock(&mutex->mutex);
    return found == count;
}

/* Starts the threads one after the other, lets them have the mutex, and waits for them. */
static void stand_in_line(waiter *waiters, size_t count) {
    ki_fair_mutex mutex;
    unsigned next = 0;
    ki_engine *engine;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    assert_int_equal(ki_fair_mutex_init(&mutex, engine, NULL), KI_OK);
    ki_fair_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++) {
        waiters[i].engine = engine;
        waiters[i].mutex = &mutex;
        waiters[i].next = &next;
        assert_int_equal(ki_thread_start(&waiters[i].thread, "waiter", wait_in_line, &waiters[i], NULL), KI_OK);
        while (!waits_for(&mutex, i + 1))
            ki_thread_pause();
    }
    ki_fair_mutex_unlock(&mutex);
    for (size_t i = 0; i < count; i++)
        ki_thread_join(&waiters[i].thread);
    ki_fair_mutex_destroy(&mutex);
    ki_engine_free(engine);
}

TEST(the_loop_goes_before_those_who_wait) {
    waiter waiters[] = { { .place = 0 }, { .place = 0 }, { .is_loop = true }, { .place = 0 } };
    static const unsigned places[] = { 1, 2, 0, 3 };
    stand_in_line(waiters, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(waiters[i].place, places[i]);
}

/* The lock of the members can cost a sleep or two more. A condition for all woke the last one at each unlock. */
TEST(an_unlock_wakes_only_the_next_one_in_line) {
    waiter waiters[WAITERS] = { 0 };
    stand_in_line(waiters, WAITERS);
    long sleeps = 0;
    for (unsigned i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].place, i);
        sleeps += waiters[i].sleeps;
    }
    assert_true(sleeps < WAITERS * WAITERS / 6); /* if each unlock woke all: three times that */
}
