/* post.c: the program's own calls on the loop. Each is in a map from its posting until it has been called or dropped,
 * so that a cancel finds it and the engine can free it. */
#include "src/engine/loop.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"

typedef struct ki_post {
    ki_task task;     /* sets the timer, calls, or drops */
    ki_timer timer;   /* loop only */
    int64_t deadline; /* 0: at once */
    uint64_t id;
    void (*call)(void *user);
    void *user;
    bool is_cancelled; /* under the engine's `post_mutex` */
} ki_post;

static ki_str key_of(const uint64_t *id) {
    return (ki_str){ (const char *)id, sizeof *id };
}

/* Removes the post from the map. Returns false if it was cancelled. */
static bool unlink_post(ki_engine *engine, ki_post *post) {
    ki_mutex_lock(&engine->post_mutex);
    const void *removed = ki_map_remove(&engine->posts, key_of(&post->id));
    KI_ASSERT(removed == post);
    (void)removed;
    bool is_wanted = !post->is_cancelled;
    ki_mutex_unlock(&engine->post_mutex);
    return is_wanted;
}

static void finish(ki_engine *engine, ki_post *post) {
    KI_ON_LOOP(engine);
    void (*call)(void *user) = unlink_post(engine, post) ? post->call : NULL;
    void *user = post->user;
    ki_task_cancel(&post->task); /* of a cancel that came meanwhile */
    ki_timer_close(&post->timer);
    ki_free(&engine->allocator, post);
    if (call)
        call(user);
}

static bool is_cancelled(ki_engine *engine, const ki_post *post) {
    ki_mutex_lock(&engine->post_mutex);
    bool result = post->is_cancelled;
    ki_mutex_unlock(&engine->post_mutex);
    return result;
}

static void fire(ki_timer *timer, void *user) {
    finish(timer->engine, user);
}

static void run(ki_task *task, void *user) {
    ki_post *post = user;
    ki_engine *engine = task->engine;
    KI_ON_LOOP(engine);
    KI_ASSERT(task == &post->task);
    if (post->deadline && !is_cancelled(engine, post))
        ki_timer_set(&post->timer, post->deadline);
    else
        finish(engine, post);
}

ki_status ki_engine_post(ki_engine *engine, int64_t delay_ms, void (*call)(void *user), void *user, uint64_t *ret_id,
                         ki_error *err) {
    if (!engine || !call)
        return ki_error_missing(err, "ki_engine_post");
    ki_status status = ki_engine_check_process(engine, err);
    if (status)
        return status;
    if (ki_engine_is_stopping(engine))
        return ki_error_set(err, KI_ERR_STATE, "the engine is stopped");
    ki_post *post = ki_alloc_zero(&engine->allocator, sizeof *post);
    if (!post)
        return ki_error_no_memory(err, "posting a call");
    post->call = call;
    post->user = user;
    post->deadline = delay_ms > 0 ? ki_time_after_ms(ki_engine_clock(engine), delay_ms) : 0;
    ki_task_init(&post->task, engine, run, post);
    ki_timer_init(&post->timer, engine, fire, post);
    ki_mutex_lock(&engine->post_mutex);
    post->id = ++engine->last_post;
    status = ki_map_put(&engine->posts, key_of(&post->id), post, NULL);
    if (!status && ret_id)
        *ret_id = post->id;
    if (!status)
        ki_task_post(&post->task);
    ki_mutex_unlock(&engine->post_mutex); /* from now on the loop may free it */
    if (!status)
        return KI_OK;
    ki_free(&engine->allocator, post);
    return ki_error_no_memory(err, "posting a call");
}

ki_status ki_engine_cancel_post(ki_engine *engine, uint64_t id, ki_error *err) {
    if (!engine)
        return ki_error_missing(err, "ki_engine_cancel_post");
    ki_status status = ki_engine_check_process(engine, err);
    if (status)
        return status;
    ki_mutex_lock(&engine->post_mutex);
    ki_post *post = ki_map_get(&engine->posts, key_of(&id));
    bool is_there = post && !post->is_cancelled;
    if (is_there) {
        post->is_cancelled = true;
        ki_task_post(&post->task);
    }
    ki_mutex_unlock(&engine->post_mutex);
    return is_there ? KI_OK : ki_error_set(err, KI_ERR_NOT_FOUND, "no such call: it was made, or cancelled before");
}

void ki_engine_free_posts(ki_engine *engine) {
    KI_ASSERT(ki_engine_is_idle(engine));
    size_t cursor = 0;
    ki_str id;
    void *post;
    while (ki_map_next(&engine->posts, &cursor, &id, &post))
        ki_free(&engine->allocator, post);
    ki_map_free(&engine->posts);
}
