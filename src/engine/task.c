/* task.c: the queues of tasks: what the loop posted, and what other threads posted. The loop takes turns between the
 * two, so that threads cannot post its own work out of reach, and runs each in order. `queued` is written only under
 * the queues' mutex, and cleared before the task runs, so that the task may post itself again. */
#include "src/engine/loop.h"

#include "src/base/assert.h"

static bool is_sound(const ki_task_queue *queue) {
    return (queue->first != NULL) == (queue->last != NULL) && (!queue->last || !queue->last->next);
}

void ki_task_init(ki_task *task, ki_engine *engine, void (*run)(ki_task *task, void *user), void *user) {
    KI_ASSERT(engine && run);
    task->next = NULL;
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
        task->next = NULL;
        task->is_own = ki_engine_on_loop(engine);
        ki_task_queue *queue = &engine->tasks[task->is_own];
        *(queue->last ? &queue->last->next : &queue->first) = task;
        queue->last = task;
        atomic_fetch_add(&engine->task_count, 1);
        KI_ASSERT(is_sound(queue));
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
    ki_task *before = NULL;
    ki_task_queue *queue = &engine->tasks[task->is_own];
    for (ki_task *at = queue->first; at; before = at, at = at->next) {
        if (at != task)
            continue;
        if (before)
            before->next = task->next;
        else
            queue->first = task->next;
        if (queue->last == task)
            queue->last = before;
        atomic_store(&task->queued, false);
        atomic_fetch_sub(&engine->task_count, 1);
        break;
    }
    KI_ASSERT(is_sound(queue) && !atomic_load(&task->queued));
    ki_mutex_unlock(&engine->task_mutex);
}

bool ki_engine_has_tasks(const ki_engine *engine) {
    return atomic_load(&engine->task_count) > 0;
}

bool ki_engine_run_task(ki_engine *engine) {
    KI_ON_LOOP(engine);
    if (!ki_engine_has_tasks(engine))
        return false;
    ki_mutex_lock(&engine->task_mutex);
    engine->takes_own = !engine->takes_own;
    ki_task_queue *queue = &engine->tasks[engine->takes_own];
    if (!queue->first)
        queue = &engine->tasks[!engine->takes_own];
    ki_task *task = queue->first; /* only the loop takes tasks out */
    KI_ASSERT(task && task->engine == engine && atomic_load(&task->queued));
    queue->first = task->next;
    if (!queue->first)
        queue->last = NULL;
    atomic_store(&task->queued, false);
    atomic_fetch_sub(&engine->task_count, 1);
    KI_ASSERT(is_sound(queue));
    ki_mutex_unlock(&engine->task_mutex);
    task->run(task, task->user);
    return true;
}
