/* test_wake_up.c: when the loop wakes the thread of a handler: once for all changes of some steps. On an engine that
 * was started; semaphores and flags tell when something has happened. Worth running under the thread sanitizer. */

#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/patience.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>

enum {
    FEW = 20,
    LONG = 3 * KI_ENGINE_DEFAULT_WORK /* changes that one step of the loop cannot process */
};

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

/* --- the stage ---------------------------------------------------------------------------------------------------- */

typedef struct stage {
    ki_engine *engine;
    fake_list_watch source;
    ki_informer *informer;
    ki_registration registration;
    sem_t called, synced, removed;
    sem_t began;    /* the first call after the sync */
    size_t pending; /* behind the change of the first call after the sync */
    int calls, calls_before_sync;
    bool is_synced;
    bool is_removed_after_change; /* on_deltas removes the handler */
    const char *line;             /* for the calls on the loop */
    int count;
    bool understood;
    ki_task waiting; /* has the loop wait for the first call */
} stage;

static void on_add(const ki_event *event, void *user) {
    stage *s = user;
    (void)event;
    s->calls_before_sync += !s->is_synced;
    if (s->is_synced && s->calls++ == 0) {
        s->pending = ki_registration_pending(s->registration);
        sem_post(&s->began);
    }
    sem_post(&s->called);
}

static void on_synced(ki_informer *informer, void *user) {
    stage *s = user;
    (void)informer;
    s->is_synced = true;
    sem_post(&s->synced);
}

static void on_removed(void *user) {
    sem_post(&((stage *)user)->removed);
}

static const ki_handler observing = { .on_add = on_add, .on_synced = on_synced, .on_removed = on_removed };

static void play_on_loop(void *user) {
    stage *s = user;
    s->understood = fake_play(&s->source, s->line);
}

/* Plays a step once it is possible. */
static void play(stage *s, const char *line) {
    s->line = line;
    do
        ki_engine_call(s->engine, play_on_loop, s);
    while (!s->understood);
}

static void start_on_loop(void *user) {
    assert_int_equal(ki_informer_start(((stage *)user)->informer, NULL), KI_OK);
}

static void stop_on_loop(void *user) {
    ki_informer_stop(((stage *)user)->informer);
}

static void open_stage(stage *s, ki_queue_kind kind) {
    *s = (stage){ .calls = 0 };
    sem_init(&s->called, 0, 0);
    sem_init(&s->began, 0, 0);
    sem_init(&s->synced, 0, 0);
    sem_init(&s->removed, 0, 0);
    assert_int_equal(ki_engine_new(NULL, &s->engine, NULL), KI_OK);
    fake_init(&s->source);
    ki_shared_informer_options options = {
        .engine = s->engine, .list_watch = &s->source.base, .factory = streaming_if(false), .given.queue = kind
    };
    assert_int_equal(informer_of(&configmaps, options, &s->informer), KI_OK);
    assert_int_equal(ki_informer_add_handler(s->informer, &observing, s, NULL, &s->registration, NULL), KI_OK);
    assert_int_equal(ki_engine_start(s->engine, NULL), KI_OK);
    ki_engine_call(s->engine, start_on_loop, s);
    play(s, "{100: k0=1}");
    play(s, "open");
    await_semaphore(&s->synced);
    assert_int_equal(s->calls_before_sync, 1);
    await_semaphore(&s->called);
}

static void cancel_tasks_on_loop(void *user) {
    ki_informer_cancel_tasks(user);
}

static void close_stage(stage *s) {
    ki_engine_call(s->engine, stop_on_loop, s);
    ki_informer_join(s->informer);
    ki_engine_call(s->engine, cancel_tasks_on_loop, s->informer);
    ki_informer_free(s->informer);
    ki_engine_free(s->engine);
    await_semaphore(&s->removed);
    assert_int_equal(sem_trywait(&s->removed), -1); /* once */
    sem_destroy(&s->called);
    sem_destroy(&s->began);
    sem_destroy(&s->synced);
    sem_destroy(&s->removed);
}

static void await_sleep(const stage *s) {
    while (!atomic_load(&s->informer->processor.first->sleeps))
        sched_yield();
}

/* Queues changes of keys that are new. The loop processes them after this call. */
static void queue_changes(stage *s) {
    for (int i = 1; i <= s->count; i++) {
        char line[64];
        snprintf(line, sizeof line, "+k%d=%d", i, 100 + i);
        assert_true(fake_play(&s->source, line));
    }
}

static void queue_on_loop(void *user) {
    queue_changes(user);
}

static void await_calls(stage *s, int count) {
    for (int i = 0; i < count; i++)
        await_semaphore(&s->called);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void expect_one_wake_up(ki_queue_kind kind) {
    stage s;
    open_stage(&s, kind);
    await_sleep(&s);
    s.count = FEW;
    ki_engine_call(s.engine, queue_on_loop, &s);
    await_calls(&s, FEW);
    assert_int_equal(s.calls, FEW);
    assert_int_equal(s.pending, FEW - 1);
    close_stage(&s);
}

TEST(a_sleeping_thread_wakes_once_for_all_changes_of_a_burst) {
    expect_one_wake_up(KI_QUEUE_IN_ORDER);
    expect_one_wake_up(KI_QUEUE_DELTA_FIFO);
}

static void wait_for_the_first_call(ki_task *task, void *user) {
    (void)task;
    await_semaphore(&((stage *)user)->began);
}

static void queue_and_wait(void *user) {
    stage *s = user;
    queue_changes(s);
    ki_task_init(&s->waiting, s->engine, wait_for_the_first_call, s);
    ki_task_post(&s->waiting);
}

TEST(a_burst_that_is_longer_than_a_step_wakes_the_thread_after_the_step) {
    stage s;
    open_stage(&s, KI_QUEUE_IN_ORDER);
    await_sleep(&s);
    s.count = LONG;
    ki_engine_call(s.engine, queue_and_wait, &s);
    await_calls(&s, LONG);
    assert_int_equal(s.calls, LONG);
    close_stage(&s);
}

/* Called after each item, between a push and the wake-up. Removes the handler after the first one. */
static void remove_after_change(const ki_deltas *deltas, void *user) {
    stage *s = user;
    (void)deltas;
    if (s->is_removed_after_change)
        return;
    s->is_removed_after_change = true;
    assert_int_equal(ki_informer_remove_handler(s->informer, s->registration, NULL), KI_OK);
}

static void queue_and_remove(void *user) {
    stage *s = user;
    s->informer->observer.on_deltas = remove_after_change;
    s->informer->observer.user = (void *)s;
    queue_changes(s);
}

/* By key: more items follow the first one, so it does not wake the thread. */
TEST(a_handler_that_is_removed_before_its_wake_up_ends) {
    stage s;
    open_stage(&s, KI_QUEUE_DELTA_FIFO);
    await_sleep(&s);
    s.count = FEW;
    ki_engine_call(s.engine, queue_and_remove, &s);
    await_semaphore(&s.removed);
    assert_int_equal(s.calls, 0);
    sem_post(&s.removed); /* for close_stage */
    close_stage(&s);
}
