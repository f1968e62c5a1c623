/* lock_times.h: how long the loop holds the library's locks, and how long calls of another thread wait for them. Counts
 * the loop's CPU time while it holds the lock, so that other processes do not matter. The linker replaces the
 * functions that lock by these (cmake/bench.cmake). One loop and one other thread; one program includes this. */
#ifndef BENCH_LOCK_TIMES_H
#define BENCH_LOCK_TIMES_H

#include "src/engine/thread.h"

#include <stdatomic.h>
#include <time.h>

typedef enum lock_side {
    LOCK_NOT_MEASURED,
    LOCK_OF_LOOP,
    LOCK_OF_OTHER
} lock_side;

/* The longest times since they were reset, measured on the loop, in nanoseconds. */
static struct {
    _Atomic int64_t change; /* the loop held the change lock */
    _Atomic int64_t other;  /* the loop held another lock, outside the change lock */
    _Atomic int64_t wait;   /* the other thread waited for the change lock while the loop held it */
} longest_lock;

static _Thread_local lock_side own_side;
static _Thread_local const void *own_lock; /* the outermost held lock; inner locks are held for less time */
static _Thread_local int64_t own_lock_from;

static clockid_t loop_clock;
static _Atomic int64_t change_begins, change_ends; /* CPU time of the loop; written by the loop under the change lock */

static inline int64_t read_cpu_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void lock_times_begin(lock_side side) {
    own_side = side;
    if (side == LOCK_OF_LOOP)
        pthread_getcpuclockid(pthread_self(), &loop_clock);
}

static inline void note_locked(const void *lock) {
    if (own_side != LOCK_OF_LOOP || own_lock)
        return;
    own_lock = lock;
    own_lock_from = read_cpu_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns how long the lock was held. */
static inline int64_t note_unlocked(const void *lock) {
    if (!own_lock || own_lock != lock)
        return 0;
    own_lock = NULL;
    return read_cpu_clock(CLOCK_THREAD_CPUTIME_ID) - own_lock_from;
}

/* Only one thread writes each place, except for the reset. */
static inline void keep_longest(_Atomic int64_t *longest, int64_t ns) {
    if (ns > atomic_load(longest))
        atomic_store(longest, ns);
}

/* The linker's names of the replacement and of the replaced function. */
#define REPLACES(function) __asm__("__wrap_" #function)
#define IS_REPLACED(function) __asm__("__real_" #function)

int real_mutex_lock(ki_mutex *mutex) IS_REPLACED(pthread_mutex_lock);
int real_mutex_unlock(ki_mutex *mutex) IS_REPLACED(pthread_mutex_unlock);
void real_fair_mutex_lock(ki_fair_mutex *mutex) IS_REPLACED(ki_fair_mutex_lock);
void real_fair_mutex_unlock(ki_fair_mutex *mutex) IS_REPLACED(ki_fair_mutex_unlock);
int measured_mutex_lock(ki_mutex *mutex) REPLACES(pthread_mutex_lock);
int measured_mutex_unlock(ki_mutex *mutex) REPLACES(pthread_mutex_unlock);
void measured_fair_mutex_lock(ki_fair_mutex *mutex) REPLACES(ki_fair_mutex_lock);
void measured_fair_mutex_unlock(ki_fair_mutex *mutex) REPLACES(ki_fair_mutex_unlock);

int measured_mutex_lock(ki_mutex *mutex) {
    int failed = real_mutex_lock(mutex);
    note_locked(mutex);
    return failed;
}

int measured_mutex_unlock(ki_mutex *mutex) {
    keep_longest(&longest_lock.other, note_unlocked(mutex));
    return real_mutex_unlock(mutex);
}

void measured_fair_mutex_lock(ki_fair_mutex *mutex) {
    bool is_other = own_side == LOCK_OF_OTHER;
    int64_t from = is_other ? read_cpu_clock(loop_clock) : 0;
    real_fair_mutex_lock(mutex);
    note_locked(mutex);
    if (own_side == LOCK_OF_LOOP)
        atomic_store(&change_begins, own_lock_from);
    if (!is_other)
        return;
    int64_t begun = atomic_load(&change_begins), ended = atomic_load(&change_ends);
    keep_longest(&longest_lock.wait, ended - (begun > from ? begun : from));
}

void measured_fair_mutex_unlock(ki_fair_mutex *mutex) {
    if (own_side == LOCK_OF_LOOP) {
        keep_longest(&longest_lock.change, note_unlocked(mutex));
        atomic_store(&change_ends, read_cpu_clock(CLOCK_THREAD_CPUTIME_ID));
    }
    real_fair_mutex_unlock(mutex);
}

#endif
