/* step_loop.c: see step_loop.h. A task takes steps while there is work; a timer retries after a failure. */
#include "src/cache/informer/step_loop.h"

#include "src/base/error.h"

static void wait_and_retry(ki_step_loop *loop, const ki_error *err) {
    ki_engine *engine = loop->options.engine;
    int64_t now = ki_engine_now(engine);
    int64_t wait = ki_backoff_next(&loop->backoff, now, ki_engine_random(engine));
    loop->is_stuck = true;
    ki_timer_set(&loop->retry, now + wait);
    loop->options.on_stuck(err, wait, loop->options.user);
}

static void run_steps(ki_task *task, void *user) {
    ki_step_loop *loop = user;
    const ki_step_loop_options *options = &loop->options;
    if (ki_timer_is_set(&loop->retry))
        return;
    ki_status status;
    ki_error err = KI_ERROR_INIT;
    bool has_time = true;
    do {
        status = options->step(options->user, &err);
        if (!status)
            has_time = ki_engine_work(options->engine, 1);
    } while (!status && has_time);
    if (status == KI_ERR_CLOSED)
        return;
    if (options->on_pause)
        options->on_pause(options->user);
    if (status && status != KI_ERR_NOT_FOUND) {
        wait_and_retry(loop, &err);
        return;
    }
    if (loop->is_stuck) {
        loop->is_stuck = false;
        options->on_stuck(NULL, 0, options->user);
    }
    if (!has_time)
        ki_task_post(task);
}

static void retry(ki_timer *timer, void *user) {
    (void)timer;
    ki_step_loop_wake(user);
}

void ki_step_loop_open(ki_step_loop *loop, const ki_step_loop_options *options) {
    *loop = (ki_step_loop){ .options = *options };
    ki_timer_init(&loop->retry, options->engine, retry, loop);
    ki_task_init(&loop->task, options->engine, run_steps, loop);
    loop->is_open = true;
}

void ki_step_loop_wake(ki_step_loop *loop) {
    ki_task_post(&loop->task);
}

void ki_step_loop_close(ki_step_loop *loop) {
    if (!loop->is_open)
        return;
    loop->is_open = false;
    ki_task_cancel(&loop->task);
    ki_timer_close(&loop->retry);
}
