/* thread.c: pthread, with all signals blocked in the library's threads and deadlines on CLOCK_MONOTONIC; and a lock
 * that threads get in the order of their requests, and the loop before all of them. */
#include "src/engine/thread.h"

#include "src/base/error.h"
#include "src/base/list.h"
#include "src/engine/engine.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum {
    NANOSECONDS_PER_SECOND = 1000000000,
    SHORT_FIRST_PAUSES = 4,
    SHORT_LAST_PAUSES = 256
};

ki_status ki_mutex_init(ki_mutex *mutex, ki_error *err) {
#ifdef KI_ASSERTIONS
    pthread_mutexattr_t checking; /* lock and unlock fail where they must not be called */
    pthread_mutexattr_init(&checking);
    pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
    int failed = pthread_mutex_init(mutex, &checking);
    pthread_mutexattr_destroy(&checking);
#else
    int failed = pthread_mutex_init(mutex, NULL);
#endif
    return failed ? ki_error_set_errno(err, KI_ERR_SYSTEM, failed, "cannot make a mutex") : KI_OK;
}

#ifdef KI_ASSERTIONS
/* A mutex that checks errors says to its holder, and to no other thread, that the holder would wait for itself. */
bool ki_mutex_is_held(const ki_mutex *mutex) {
    static const struct timespec past;
    ki_mutex *locked = (ki_mutex *)(uintptr_t)mutex;
    int failed = pthread_mutex_timedlock(locked, &past);
    if (failed == 0)
        pthread_mutex_unlock(locked);
    return failed == EDEADLK;
}

#endif

void ki_thread_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

/* Doubles the pause after each attempt, so that spinning disturbs the holder less. */
void ki_mutex_lock_short(ki_mutex *mutex) {
    for (int pauses = SHORT_FIRST_PAUSES; pauses <= SHORT_LAST_PAUSES; pauses *= 2) {
        if (pthread_mutex_trylock(mutex) == 0)
            return;
        for (int i = 0; i < pauses; i++)
            ki_thread_pause();
    }
    ki_mutex_lock(mutex);
}

ki_status ki_semaphore_init(ki_semaphore *semaphore, ki_error *err) {
    return sem_init(semaphore, 0, 0) ? ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot make a semaphore") : KI_OK;
}

void ki_semaphore_wait(ki_semaphore *semaphore) {
    while (sem_wait(semaphore) && errno == EINTR) {}
}

ki_status ki_cond_init(ki_cond *cond, ki_error *err) {
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, failed, "cannot make a condition");
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!failed)
        failed = pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed ? ki_error_set_errno(err, KI_ERR_SYSTEM, failed, "cannot make a condition") : KI_OK;
}

bool ki_cond_wait_until(ki_cond *cond, ki_mutex *mutex, int64_t deadline_ns) {
    KI_HELD(mutex);
    if (deadline_ns == INT64_MAX) {
        pthread_cond_wait(cond, mutex);
        return true;
    }
    if (deadline_ns < 0)
        deadline_ns = 0;
    struct timespec until = { .tv_sec = (time_t)(deadline_ns / NANOSECONDS_PER_SECOND),
                              .tv_nsec = (long)(deadline_ns % NANOSECONDS_PER_SECOND) };
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

int64_t ki_monotonic_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

static void *thread_main(void *argument) {
    ki_thread *thread = argument;
    thread->main(thread->user);
    return NULL;
}

ki_status ki_thread_start(ki_thread *thread, const char *name, void (*main)(void *user), void *user, ki_error *err) {
    KI_ASSERT(!thread->started);
    thread->main = main;
    thread->user = user;
    /* The new thread inherits the mask, so it never receives a signal. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread->id, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, failed, "cannot start thread %s", name);
    thread->started = true;
    pthread_setname_np(thread->id, name);
    return KI_OK;
}

void ki_thread_join(ki_thread *thread) {
    if (!thread->started)
        return;
    KI_ASSERT(!pthread_equal(thread->id, pthread_self()));
    pthread_join(thread->id, NULL);
    thread->started = false;
}

/* --- the fair mutex ----------------------------------------------------------------------------------------------- */

#ifdef KI_ASSERTIONS
bool ki_fair_mutex_is_held(const ki_fair_mutex *mutex) {
    return atomic_load(&mutex->owner) == pthread_self();
}
#endif

ki_status ki_fair_mutex_init(ki_fair_mutex *mutex, const ki_engine *engine, ki_error *err) {
    mutex->engine = engine;
    atomic_init(&mutex->users, 0);
    mutex->is_passed = false;
    atomic_init(&mutex->owner, 0);
    mutex->first = NULL;
    return ki_mutex_init(&mutex->mutex, err);
}

void ki_fair_mutex_destroy(ki_fair_mutex *mutex) {
    KI_ASSERT(atomic_load(&mutex->users) == 0 && !mutex->first && !mutex->is_passed);
    ki_mutex_destroy(&mutex->mutex);
}

/* Waits until the mutex is passed on to the caller. */
static void wait_for_turn(ki_fair_mutex *mutex) {
    ki_fair_wait wait = { .next = NULL };
    ki_mutex_lock(&mutex->mutex);
    bool is_mine = mutex->is_passed;
    mutex->is_passed = false;
    if (!is_mine) {
        (void)!ki_semaphore_init(&wait.turn, NULL); /* fails for a value that is too large alone */
        if (mutex->engine && ki_engine_on_loop(mutex->engine))
            KI_LIST_PREPEND(mutex->first, &wait);
        else
            KI_LIST_APPEND(mutex->first, &wait);
    }
    ki_mutex_unlock(&mutex->mutex);
    if (is_mine)
        return;
    ki_semaphore_wait(&wait.turn);
    ki_mutex_lock(&mutex->mutex); /* the post of the semaphore has returned */
    ki_mutex_unlock(&mutex->mutex);
    ki_semaphore_destroy(&wait.turn);
}

void ki_fair_mutex_lock(ki_fair_mutex *mutex) {
    KI_ASSERT(!ki_fair_mutex_is_held(mutex));
    if (atomic_fetch_add(&mutex->users, 1) > 0)
        wait_for_turn(mutex);
    atomic_store_explicit(&mutex->owner, pthread_self(), memory_order_relaxed);
}

void ki_fair_mutex_unlock(ki_fair_mutex *mutex) {
    KI_HELD(mutex);
    atomic_store_explicit(&mutex->owner, 0, memory_order_relaxed);
    uint32_t before = atomic_fetch_sub(&mutex->users, 1);
    KI_ASSERT(before > 0);
    if (before == 1)
        return;
    ki_mutex_lock(&mutex->mutex);
    KI_ASSERT(!mutex->is_passed);
    ki_fair_wait *next = mutex->first;
    mutex->is_passed = !next;
    if (next) { /* it holds the lock now */
        KI_LIST_REMOVE(mutex->first, next);
        ki_semaphore_post(&next->turn);
    }
    ki_mutex_unlock(&mutex->mutex);
}
