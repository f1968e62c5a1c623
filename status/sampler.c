/* sampler.c: see sampler.h. Each call posts the next one. */
#include "status/sampler.h"

#define NANOSECONDS 1e9
#define INTERVAL_NS ((int64_t)KI_HISTORY_INTERVAL_MS * 1000000)

static void sample(void *user);

/* Caller holds the mutex. */
static ki_status post_next(ki_sampler *sampler, int64_t delay_ms, ki_error *err) {
    ki_status status = ki_engine_post(sampler->engine, delay_ms, sample, sampler, &sampler->post, err);
    sampler->is_posted = status == KI_OK;
    return status;
}

static void take(ki_sampler *sampler) {
    ki_picture picture;
    if (ki_picture_take(&picture, sampler->allocator, false, sampler->factory, sampler->collect, sampler->user) ==
        KI_OK)
        ki_history_add(&sampler->history, &picture, ki_engine_now(sampler->engine));
    ki_picture_free(&picture);
}

/* On the loop. */
static void sample(void *user) {
    ki_sampler *sampler = user;
    ki_mutex_lock(&sampler->mutex);
    bool is_stopping = sampler->is_stopping;
    ki_mutex_unlock(&sampler->mutex);
    if (!is_stopping) {
        take(sampler);
        if (sampler->tick)
            sampler->tick(sampler->tick_user);
    }
    ki_mutex_lock(&sampler->mutex);
    sampler->has_sampled = true;
    sampler->due_ns = ki_engine_now(sampler->engine) + INTERVAL_NS;
    sampler->is_posted = false;
    if (!sampler->is_stopping)
        (void)post_next(sampler, KI_HISTORY_INTERVAL_MS, NULL); /* ki_sampler_check tries again */
    if (!sampler->is_posted)
        ki_cond_broadcast(&sampler->ended);
    ki_mutex_unlock(&sampler->mutex);
}

ki_status ki_sampler_start(ki_sampler *sampler, ki_error *err) {
    ki_status status = ki_history_init(&sampler->history, sampler->allocator, err);
    if (status)
        return status;
    status = ki_mutex_init(&sampler->mutex, err);
    if (status)
        goto no_mutex;
    status = ki_cond_init(&sampler->ended, err);
    if (status)
        goto no_cond;
    ki_mutex_lock(&sampler->mutex);
    status = post_next(sampler, 0, err);
    ki_mutex_unlock(&sampler->mutex);
    if (!status)
        return KI_OK;
    ki_cond_destroy(&sampler->ended);
no_cond:
    ki_mutex_destroy(&sampler->mutex);
no_mutex:
    ki_history_free(&sampler->history);
    return status;
}

void ki_sampler_check(ki_sampler *sampler) {
    ki_mutex_lock(&sampler->mutex);
    if (!sampler->is_posted && !sampler->is_stopping)
        (void)post_next(sampler, 0, NULL);
    ki_mutex_unlock(&sampler->mutex);
}

double ki_sampler_late_s(ki_sampler *sampler) {
    int64_t now = ki_engine_now(sampler->engine);
    ki_mutex_lock(&sampler->mutex);
    double late_s = sampler->has_sampled ? (double)(now - sampler->due_ns) / NANOSECONDS : 0;
    ki_mutex_unlock(&sampler->mutex);
    return late_s > KI_SAMPLER_LATE_S ? late_s : 0;
}

void ki_sampler_stop(ki_sampler *sampler) {
    ki_mutex_lock(&sampler->mutex);
    sampler->is_stopping = true;
    bool is_posted = sampler->is_posted;
    uint64_t post = sampler->post;
    ki_mutex_unlock(&sampler->mutex);
    if (is_posted && ki_engine_cancel_post(sampler->engine, post, NULL) != KI_OK) { /* the loop makes the call */
        ki_mutex_lock(&sampler->mutex);
        while (sampler->is_posted)
            ki_cond_wait(&sampler->ended, &sampler->mutex);
        ki_mutex_unlock(&sampler->mutex);
    }
    ki_cond_destroy(&sampler->ended);
    ki_mutex_destroy(&sampler->mutex);
    ki_history_free(&sampler->history);
}
