/* process_loop.c: a task takes steps while there is work; a timer retries after a failure. */
#include "src/cache/informer/process_loop.h"

#include "src/base/error.h"

static void wait_and_retry(ki_process_loop *controller, const ki_error *err) {
    ki_engine *engine = controller->options.engine;
    int64_t now = ki_engine_now(engine);
    int64_t wait = ki_backoff_next(&controller->backoff, now, ki_engine_random(engine));
    controller->is_stuck = true;
    ki_timer_set(&controller->retry, now + wait);
    controller->options.on_stuck(err, wait, controller->options.user);
}

static void run_steps(ki_task *task, void *user) {
    ki_process_loop *controller = user;
    const ki_process_loop_options *options = &controller->options;
    if (ki_timer_is_set(&controller->retry))
        return;
    ki_status status;
    ki_error err = KI_ERROR_INIT;
    bool may_continue = true;
    do {
        status = options->step(options->user, &err);
        if (!status)
            may_continue = ki_engine_work(options->engine, 1);
    } while (!status && may_continue);
    if (status == KI_ERR_CLOSED)
        return;
    if (status && status != KI_ERR_NOT_FOUND) {
        wait_and_retry(controller, &err);
        return;
    }
    if (controller->is_stuck) {
        controller->is_stuck = false;
        options->on_stuck(NULL, 0, options->user);
    }
    if (!may_continue)
        ki_task_post(task);
}

static void retry(ki_timer *timer, void *user) {
    (void)timer;
    ki_process_loop_wake(user);
}

ki_status ki_process_loop_open(ki_process_loop *controller, const ki_process_loop_options *options, ki_error *err) {
    *controller = (ki_process_loop){ .options = *options };
    if (ki_timer_init(&controller->retry, options->engine, retry, controller))
        return ki_error_no_memory(err, "starting an informer");
    ki_task_init(&controller->task, options->engine, run_steps, controller);
    controller->is_open = true;
    return KI_OK;
}

void ki_process_loop_wake(ki_process_loop *controller) {
    ki_task_post(&controller->task);
}

void ki_process_loop_close(ki_process_loop *controller) {
    if (!controller->is_open)
        return;
    controller->is_open = false;
    ki_task_cancel(&controller->task);
    ki_timer_close(&controller->retry);
}
