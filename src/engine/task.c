/* task.c: the queue of tasks. Any thread posts, the loop runs them in order. `queued` is written only under the queue's
 * mutex, and cleared before the task runs, so that the task may post itself again. */
#include "src/engine/loop.h"

void ki_task_init(ki_task *task, ki_engine *engine, void (*run)(ki_task *task, void *user), void *user) {
    task->next = NULL;
    task->engine = engine;
    atomic_init(&task->queued, false);
    task->run = run;
    task->user = user;
}

void ki_task_post(ki_task *task) {
    ki_engine *engine = task->engine;
    ki_mutex_lock(&engine->task_mutex);
    bool waits = atomic_load(&task->queued);
    if (!waits) {
        atomic_store(&task->queued, true);
        task->next = NULL;
        if (engine->last_task)
            engine->last_task->next = task;
        else
            engine->first_task = task;
        engine->last_task = task;
    }
    ki_mutex_unlock(&engine->task_mutex);
    if (!waits)
        ki_engine_wake(engine);
}

void ki_task_cancel(ki_task *task) {
    ki_engine *engine = task->engine;
    if (!engine || !atomic_load(&task->queued))
        return;
    ki_mutex_lock(&engine->task_mutex);
    ki_task *before = NULL;
    for (ki_task *at = engine->first_task; at; before = at, at = at->next) {
        if (at != task)
            continue;
        if (before)
            before->next = task->next;
        else
            engine->first_task = task->next;
        if (engine->last_task == task)
            engine->last_task = before;
        atomic_store(&task->queued, false);
        break;
    }
    ki_mutex_unlock(&engine->task_mutex);
}

bool ki_engine_has_tasks(ki_engine *engine) {
    ki_mutex_lock(&engine->task_mutex);
    bool has = engine->first_task != NULL;
    ki_mutex_unlock(&engine->task_mutex);
    return has;
}

bool ki_engine_run_task(ki_engine *engine) {
    ki_mutex_lock(&engine->task_mutex);
    ki_task *task = engine->first_task;
    if (task) {
        engine->first_task = task->next;
        if (!engine->first_task)
            engine->last_task = NULL;
        atomic_store(&task->queued, false);
    }
    ki_mutex_unlock(&engine->task_mutex);
    if (!task)
        return false;
    task->run(task, task->user);
    return true;
}
