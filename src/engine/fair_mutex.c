/* fair_mutex.c: a lock that threads get in the order of their requests, and the loop before all of them (thread.h). */
#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/engine/engine.h"
#include "src/engine/thread.h"

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
