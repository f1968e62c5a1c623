/* thread.h: threads, mutexes and conditions over pthread, for modules with listeners or workers. Threads block all
 * signals, so that the host's handlers run on the host's threads. */
#ifndef KI_ENGINE_THREAD_H
#define KI_ENGINE_THREAD_H

#include <kinformer/engine.h>

#include "src/base/assert.h"
#include "src/base/internal_api.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_mutex_t ki_mutex;
typedef pthread_cond_t ki_cond;
typedef struct ki_thread {
    pthread_t id;
    bool started;
    void (*main)(void *user);
    void *user;
} ki_thread;

KI_INTERNAL_API ki_status ki_mutex_init(ki_mutex *mutex, ki_error *err);
static inline void ki_mutex_destroy(ki_mutex *mutex) {
    int failed = pthread_mutex_destroy(mutex);
    KI_ASSERT_AS(!failed, "a mutex is not held when it is destroyed");
    (void)failed;
}
static inline void ki_mutex_lock(ki_mutex *mutex) {
    int failed = pthread_mutex_lock(mutex);
    KI_ASSERT_AS(!failed, "a thread does not hold the mutex that it locks");
    (void)failed;
}
static inline void ki_mutex_unlock(ki_mutex *mutex) {
    int failed = pthread_mutex_unlock(mutex);
    KI_ASSERT_AS(!failed, "a thread holds the mutex that it unlocks");
    (void)failed;
}
/* Locks a mutex that is held for less than a microsecond: spins for a few microseconds before it sleeps. */
KI_INTERNAL_API void ki_mutex_lock_short(ki_mutex *mutex);
/* Pauses for a few dozen instructions, in a loop that waits for another thread. */
void ki_thread_pause(void);
/* A semaphore, which begins at 0. It costs a sleeping thread two system calls, a condition three: who wakes from a
 * condition releases its mutex with a system call. */
typedef sem_t ki_semaphore;
ki_status ki_semaphore_init(ki_semaphore *semaphore, ki_error *err);
static inline void ki_semaphore_destroy(ki_semaphore *semaphore) {
    sem_destroy(semaphore);
}
static inline void ki_semaphore_post(ki_semaphore *semaphore) {
    sem_post(semaphore);
}
void ki_semaphore_wait(ki_semaphore *semaphore);
/* A thread that waits for a fair mutex, on its stack. */
typedef struct ki_fair_wait {
    struct ki_fair_wait *next, *previous;
    ki_semaphore turn;
} ki_fair_wait;
/* A mutex that serves waiting threads in order of arrival: for a lock that one thread takes again and again. An unlock
 * passes it on to the first one, and wakes no other. The engine's loop goes before those who wait: it has one turn of
 * another thread to wait for, however many there are. */
typedef struct ki_fair_mutex {
    const ki_engine *engine;  /* constant; NULL: without a loop */
    _Atomic uint32_t users;   /* threads that hold it or want it: the first one has it */
    pthread_mutex_t mutex;    /* guards what follows */
    ki_fair_wait *first;      /* who waits */
    bool is_passed;           /* for the next thread that wants it: none waited yet */
    _Atomic(pthread_t) owner; /* who holds it; 0: nobody. For assertions */
} ki_fair_mutex;
ki_status ki_fair_mutex_init(ki_fair_mutex *mutex, const ki_engine *engine, ki_error *err);
void ki_fair_mutex_destroy(ki_fair_mutex *mutex);
void ki_fair_mutex_lock(ki_fair_mutex *mutex);
void ki_fair_mutex_unlock(ki_fair_mutex *mutex);
/* Return true if the calling thread holds the mutex. They exist in builds with assertions only. */
KI_INTERNAL_API bool ki_mutex_is_held(const ki_mutex *mutex);
bool ki_fair_mutex_is_held(const ki_fair_mutex *mutex);
/* The caller holds the lock, a ki_mutex or a ki_fair_mutex. */
#define KI_HELD(lock) KI_ASSERT_AS(KI_IS_HELD(lock), "the caller holds " #lock)
/* clang-format off */
#define KI_IS_HELD(lock)                                                                                               \
    _Generic((lock), ki_mutex *: ki_mutex_is_held, const ki_mutex *: ki_mutex_is_held,                                 \
             ki_fair_mutex *: ki_fair_mutex_is_held, const ki_fair_mutex *: ki_fair_mutex_is_held)(lock)
/* clang-format on */
KI_INTERNAL_API ki_status ki_cond_init(ki_cond *cond, ki_error *err); /* on CLOCK_MONOTONIC */
static inline void ki_cond_destroy(ki_cond *cond) {
    pthread_cond_destroy(cond);
}
static inline void ki_cond_wait(ki_cond *cond, ki_mutex *mutex) {
    KI_HELD(mutex);
    pthread_cond_wait(cond, mutex);
}
static inline void ki_cond_signal(ki_cond *cond) {
    pthread_cond_signal(cond);
}
static inline void ki_cond_broadcast(ki_cond *cond) {
    pthread_cond_broadcast(cond);
}
/* Waits until `deadline_ns` of CLOCK_MONOTONIC. Returns false if the deadline passed. INT64_MAX: no deadline. */
KI_INTERNAL_API bool ki_cond_wait_until(ki_cond *cond, ki_mutex *mutex, int64_t deadline_ns);
/* Returns CLOCK_MONOTONIC: only for deadlines of waiting calls. Other code uses the engine's time. */
KI_INTERNAL_API int64_t ki_monotonic_now(void);
/* Starts a thread. Debuggers show `name`, at most 15 characters. The struct must not move until it is joined. */
KI_INTERNAL_API ki_status ki_thread_start(ki_thread *thread, const char *name, void (*main)(void *user), void *user,
                                          ki_error *err);
KI_INTERNAL_API void ki_thread_join(ki_thread *thread); /* does nothing if not started */

#endif
