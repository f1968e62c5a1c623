/* task.c: the queues of tasks: what the loop's callbacks posted, which they alone use, and what others posted, under a
 * lock. The loop takes turns between the two, so that threads cannot post its own work out of reach, and runs each in
 * order. Who sets `queued` puts the task into a queue; it is cleared before the task runs, so that the task may post
 * itself again. */
#include "src/engine/loop.h"

#include "src/base/assert.h"
#include "src/base/list.h"

void ki_task_init(ki_task *task, ki_engine *engine, void (*run)(ki_task *task, void *user), void *user) {
    KI_ASSERT(engine && run);
    task->next = task->previous = NULL;
    task->engine = engine;
    atomic_init(&task->queued, false);
    task->run = run;
    task->user = user;
}

void ki_task_post(ki_task *task) {
    KI_ASSERT(task->engine && task->run);
    ki_engine *engine = task->engine;
    if (atomic_load(&engine->dispatcher) == pthread_self()) { /* in a callback: nobody is to be woken */
        if (atomic_exchange(&task->queued, true))
            return;
        task->is_own = true;
        KI_LIST_APPEND(engine->own_tasks, task);
        return;
    }
    ki_mutex_lock(&engine->task_mutex);
    bool waits = atomic_exchange(&task->queued, true);
    if (!waits) {
        task->is_own = false;
        KI_LIST_APPEND(engine->posted_tasks, task);
        atomic_fetch_add(&engine->posted_count, 1);
    }
    ki_mutex_unlock(&engine->task_mutex);
    if (!waits)
        ki_engine_wake(engine);
}

void ki_task_cancel(ki_task *task) {
    ki_engine *engine = task->engine;
    if (!engine || !atomic_load(&task->queued))
        return;
    KI_ON_LOOP(engine);
    ki_mutex_lock(&engine->task_mutex); /* a thread that has set `queued` has put the task into the queue */
    if (task->is_own)
        KI_LIST_REMOVE(engine->own_tasks, task);
    else
        KI_LIST_REMOVE(engine->posted_tasks, task);
    atomic_fetch_sub(&engine->posted_count, !task->is_own);
    atomic_store(&task->queued, false);
    ki_mutex_unlock(&engine->task_mutex);
}

bool ki_engine_run_task(ki_engine *engine) {
    KI_ON_LOOP(engine);
    bool has_posted = atomic_load(&engine->posted_count) > 0;
    ki_task *task = engine->own_tasks;
    if (!task && !has_posted)
        return false;
    engine->takes_own = !engine->takes_own;
    if (task && (engine->takes_own || !has_posted)) {
        KI_LIST_REMOVE(engine->own_tasks, task);
        atomic_store(&task->queued, false);
    } else {
        ki_mutex_lock(&engine->task_mutex);
        task = engine->posted_tasks; /* only the loop takes tasks out */
        KI_LIST_REMOVE(engine->posted_tasks, task);
        atomic_fetch_sub(&engine->posted_count, 1);
        atomic_store(&task->queued, false);
        ki_mutex_unlock(&engine->task_mutex);
    }
    KI_ASSERT(task->engine == engine);
    task->run(task, task->user);
    return true;
}
