/* thread.h: threads, mutexes and conditions, for the modules that may have listeners or workers of their own.
 * Thin over pthread; threads block all signals, so that the host's handlers run on the host's threads. */
#ifndef KI_ENGINE_THREAD_H
#define KI_ENGINE_THREAD_H

#include <kinformer/error.h>

#include <pthread.h>
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

ki_status ki_mutex_init(ki_mutex *mutex, ki_error *err);
void ki_mutex_destroy(ki_mutex *mutex);
void ki_mutex_lock(ki_mutex *mutex);
void ki_mutex_unlock(ki_mutex *mutex);
/* Locks a mutex that its holders give back within a microsecond: tries for a few microseconds before it sleeps. */
void ki_mutex_lock_short(ki_mutex *mutex);
/* Passes the time of a few dozen instructions, in a loop that waits for another thread. */
void ki_thread_pause(void);
/* A mutex that is given to those who wait in the order in which they came: for a lock that one thread takes again and again. */
typedef struct ki_fair_mutex {
    pthread_mutex_t mutex; /* of the numbers */
    pthread_cond_t changed;
    uint64_t next, served; /* numbers as at a counter: the next one to come; the one whose turn it is */
} ki_fair_mutex;
ki_status ki_fair_mutex_init(ki_fair_mutex *mutex, ki_error *err);
void ki_fair_mutex_destroy(ki_fair_mutex *mutex);
void ki_fair_mutex_lock(ki_fair_mutex *mutex);
void ki_fair_mutex_unlock(ki_fair_mutex *mutex);
ki_status ki_cond_init(ki_cond *cond, ki_error *err); /* on CLOCK_MONOTONIC */
void ki_cond_destroy(ki_cond *cond);
void ki_cond_wait(ki_cond *cond, ki_mutex *mutex);
/* Until `deadline_ns` of CLOCK_MONOTONIC; false where it passed. INT64_MAX waits for ever. */
bool ki_cond_wait_until(ki_cond *cond, ki_mutex *mutex, int64_t deadline_ns);
void ki_cond_signal(ki_cond *cond);
void ki_cond_broadcast(ki_cond *cond);
/* CLOCK_MONOTONIC now: for deadlines of waiting calls only; all else asks the engine. */
int64_t ki_monotonic_now(void);
/* `name` shows in debuggers, at most 15 characters. The struct must stay where it is until joined. */
ki_status ki_thread_start(ki_thread *thread, const char *name, void (*main)(void *user), void *user, ki_error *err);
void ki_thread_join(ki_thread *thread); /* nothing where it was not started */

#endif
