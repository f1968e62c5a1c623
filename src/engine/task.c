/* task.c: the queues of tasks: what the loop posted, and what other threads posted. The loop takes turns between the
 * two, so that threads cannot post its own work out of reach, and runs each in order. `queued` is written only under
 * the queues' mutex, and cleared before the task runs, so that the task may post itself again. */
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
    ki_mutex_lock(&engine->task_mutex);
    bool waits = atomic_load(&task->queued);
    if (!waits) {
        atomic_store(&task->queued, true);
        task->is_own = ki_engine_on_loop(engine);
        KI_LIST_APPEND(engine->tasks[task->is_own], task);
        atomic_fetch_add(&engine->task_count, 1);
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
    ki_mutex_lock(&engine->task_mutex);
    KI_LIST_REMOVE(engine->tasks[task->is_own], task);
    atomic_store(&task->queued, false);
    atomic_fetch_sub(&engine->task_count, 1);
    ki_mutex_unlock(&engine->task_mutex);
}

bool ki_engine_run_task(ki_engine *engine) {
    KI_ON_LOOP(engine);
    if (atomic_load(&engine->task_count) == 0)
        return false;
    ki_mutex_lock(&engine->task_mutex);
    engine->takes_own = !engine->takes_own;
    ki_task *task = engine->tasks[engine->takes_own]; /* only the loop takes tasks out */
    if (!task)
        task = engine->tasks[!engine->takes_own];
    KI_ASSERT(task && task->engine == engine && atomic_load(&task->queued));
    KI_LIST_REMOVE(engine->tasks[task->is_own], task);
    atomic_store(&task->queued, false);
    atomic_fetch_sub(&engine->task_count, 1);
    ki_mutex_unlock(&engine->task_mutex);
    task->run(task, task->user);
    return true;
}
