/* test_listener.c: listeners with threads of their own, on an engine that was started: who calls whom, who waits for
 * whom. Nothing here waits for time: semaphores tell when something has happened. Worth running under the thread
 * sanitizer. */

#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "src/engine/thread.h"
#include "src/object/pack.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    KEYS = 32,
    CHANGES = 400,
    LISTED = 1000
};

typedef struct stage {
    ki_engine *engine;
    fake_list_watch source;
    ki_informer *informer;
    pthread_t loop;
    int version;              /* of the last change */
    _Atomic int last_version; /* that of the last change there will be; 0: not known */
} stage;

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

/* --- the source, played on the loop ------------------------------------------------------------------------------- */

typedef struct played {
    stage *stage;
    const char *line;
    bool understood;
} played;

static void play_on_loop(void *user) {
    played *p = user;
    p->understood = fake_play(&p->stage->source, p->line);
}

static void play(stage *s, const char *line) {
    played p = { s, line, false };
    ki_engine_call(s->engine, play_on_loop, &p);
    assert_true(p.understood);
}

static void is_watching(void *user) {
    played *p = user;
    p->understood = p->stage->source.watches;
}

/* After the list's last page the reflector goes on by a timer that is due: one turn of the loop later. */
static void play_when_watching(stage *s, const char *line) {
    played p = { s, line, false };
    while (!p.understood)
        ki_engine_call(s->engine, is_watching, &p);
    play(s, line);
}

static void change(stage *s, char sign, int key) {
    char line[64];
    snprintf(line, sizeof line, "%ck%d=%d", sign, key, ++s->version);
    play(s, line);
}

static void start_on_loop(void *user) {
    stage *s = user;
    s->loop = pthread_self();
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
}

static void stop_on_loop(void *user) {
    stage *s = user;
    ki_informer_stop(s->informer);
}

static void open_stage(stage *s) {
    memset(s, 0, sizeof *s);
    s->version = 100;
    assert_int_equal(ki_engine_new(NULL, &s->engine, NULL), KI_OK);
    fake_init(&s->source);
    ki_shared_informer_options options = { .engine = s->engine,
                                           .list_watch = &s->source.base,
                                           .factory = streaming_if(false) };
    assert_int_equal(informer_of(&configmaps, options, &s->informer), KI_OK);
    assert_int_equal(ki_engine_start(s->engine, NULL), KI_OK);
}

static void is_asked(void *user) {
    played *p = user;
    p->understood = p->stage->source.lists;
}

static void start(stage *s) {
    ki_engine_call(s->engine, start_on_loop, s);
    played p = { s, NULL, false };
    while (!p.understood)
        ki_engine_call(s->engine, is_asked, &p);
}

static void start_synced(stage *s) {
    start(s);
    play(s, "k0=1");
    play(s, "{100:}");
    play_when_watching(s, "open");
    assert_int_equal(ki_informer_wait_for_sync(s->informer, PATIENCE_S * 1000, NULL), KI_OK);
}

static void close_stage(stage *s) {
    ki_engine_call(s->engine, stop_on_loop, s);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    ki_engine_free(s->engine);
}

/* --- handlers ----------------------------------------------------------------------------------------------------- */

typedef struct observer {
    stage *stage;
    ki_registration registration;
    pthread_t thread; /* of the first call */
    bool was_called;
    int calls;
    int packed;   /* objects that it got packed */
    sem_t called; /* each add, update and delete */
    sem_t synced;
    sem_t removed;
    sem_t finished;   /* the last change */
    sem_t *waits_for; /* once in each call; NULL: does not wait */
    bool removes_itself;
    ki_status waited; /* what waiting calls returned */
    ki_status joined;
    int version[KEYS]; /* that it knows of each key; 0: none */
} observer;

static void add_note(observer *self, const ki_event *e, bool there) {
    int key = atoi(ki_object_name(e->obj) + 1);
    assert_true(key >= 0 && key < KEYS);
    if (e->old)
        assert_int_equal(self->version[key], atoi(ki_object_resource_version(e->old)));
    else
        assert_int_equal(self->version[key] != 0, !there);
    self->version[key] = there ? atoi(ki_object_resource_version(e->obj)) : 0;
    if (!self->was_called)
        self->thread = pthread_self();
    self->was_called = true;
    assert_true(pthread_equal(self->thread, pthread_self()));
    self->calls++;
    self->packed += ki_object_is_packed(e->obj);
    if (self->waits_for)
        await_semaphore(self->waits_for);
    if (self->removes_itself) {
        self->removes_itself = false;
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->registration, NULL), KI_OK);
    }
    if (there && atomic_load(&self->stage->last_version) == self->version[key])
        sem_post(&self->finished);
    sem_post(&self->called);
}

static void on_change(const ki_event *e, void *user) {
    add_note(user, e, true);
}

static void on_delete(const ki_event *e, void *user) {
    add_note(user, e, false);
}

static void on_synced(ki_informer *informer, void *user) {
    observer *self = user;
    self->waited = ki_informer_wait_for_sync(informer, 0, NULL);
    self->joined = ki_engine_join(self->stage->engine, NULL);
    sem_post(&self->synced);
}

static void on_removed(void *user) {
    observer *self = user;
    sem_post(&self->removed);
}

static const ki_handler observing = { .on_add = on_change,
                                      .on_update = on_change,
                                      .on_delete = on_delete,
                                      .on_synced = on_synced,
                                      .on_removed = on_removed };

static void hearer_init(observer *h, stage *s) {
    memset(h, 0, sizeof *h);
    h->stage = s;
    sem_init(&h->called, 0, 0);
    sem_init(&h->synced, 0, 0);
    sem_init(&h->removed, 0, 0);
    sem_init(&h->finished, 0, 0);
}

static void hearer_destroy(observer *h) {
    sem_destroy(&h->called);
    sem_destroy(&h->synced);
    sem_destroy(&h->removed);
    sem_destroy(&h->finished);
}

static void listen(observer *h, stage *s, const ki_registration_options *options) {
    assert_int_equal(ki_informer_add_handler(s->informer, &observing, h, options, &h->registration, NULL), KI_OK);
}

static void await_times(sem_t *semaphore, int times) {
    for (int i = 0; i < times; i++)
        await_semaphore(semaphore);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

TEST(each_handler_has_its_thread_or_the_loop_s) {
    stage s;
    observer own, other, on_loop;
    open_stage(&s);
    hearer_init(&own, &s);
    hearer_init(&other, &s);
    hearer_init(&on_loop, &s);
    listen(&own, &s, NULL);
    listen(&on_loop, &s, &KI_REGISTRATION_OPTIONS(.on_loop = true, .name = "a name longer than threads have"));
    start_synced(&s);
    listen(&other, &s, NULL);
    await_semaphore(&own.synced);
    await_semaphore(&other.synced);
    await_semaphore(&on_loop.synced);
    assert_true(pthread_equal(on_loop.thread, s.loop));
    assert_false(pthread_equal(own.thread, s.loop));
    assert_false(pthread_equal(other.thread, s.loop));
    assert_false(pthread_equal(own.thread, other.thread));
    assert_int_equal(own.waited, KI_ERR_DEADLOCK);
    assert_int_equal(on_loop.waited, KI_ERR_DEADLOCK);
    assert_int_equal(own.joined, KI_ERR_DEADLOCK);
    assert_int_equal(on_loop.joined, KI_ERR_DEADLOCK);
    close_stage(&s);
    await_semaphore(&own.removed);
    await_semaphore(&other.removed);
    await_semaphore(&on_loop.removed);
    hearer_destroy(&own);
    hearer_destroy(&other);
    hearer_destroy(&on_loop);
}

TEST(a_stuck_handler_delays_nobody) {
    stage s;
    observer stuck, quick;
    sem_t release;
    sem_init(&release, 0, 0);
    open_stage(&s);
    hearer_init(&stuck, &s);
    hearer_init(&quick, &s);
    stuck.waits_for = &release;
    listen(&stuck, &s, NULL);
    listen(&quick, &s, NULL);
    start_synced(&s);
    for (int i = 0; i < CHANGES; i++)
        change(&s, i < KEYS - 1 ? '+' : '~', 1 + i % (KEYS - 1));
    await_times(&quick.called, 1 + CHANGES);
    assert_in_range(ki_registration_pending(stuck.registration), CHANGES, CHANGES + 1);
    for (int i = 0; i < 2 * (CHANGES + KEYS); i++)
        sem_post(&release);
    await_times(&stuck.called, 1 + CHANGES);
    for (int key = 0; key < KEYS; key++) {
        assert_int_equal(stuck.version[key], quick.version[key]);
    }
    /* What waits behind the first change does so packed (unit-packed/listener). */
    assert_in_range(stuck.packed, getenv("KI_TEST_PACK") ? CHANGES - 1 : 0, getenv("KI_TEST_PACK") ? CHANGES + 1 : 0);
    close_stage(&s);
    sem_destroy(&release);
    hearer_destroy(&stuck);
    hearer_destroy(&quick);
}

typedef struct slow_reader {
    sem_t release, called;
    int events;
    _Atomic int calls;
} slow_reader;

static void wait_at_first(const ki_event *event, void *user) {
    slow_reader *self = user;
    (void)event;
    if (self->events++ == 0)
        await_semaphore(&self->release);
    sem_post(&self->called);
}

static void count_call(ki_informer *informer, void *user) {
    (void)informer;
    atomic_fetch_add(&((slow_reader *)user)->calls, 1);
}

TEST(a_reader_is_called_while_more_changes_are_queued) {
    const ki_handler handler = { .on_add = wait_at_first, .on_update = wait_at_first, .on_changed = count_call };
    stage s;
    slow_reader reader = { .events = 0 };
    sem_init(&reader.release, 0, 0);
    sem_init(&reader.called, 0, 0);
    open_stage(&s);
    assert_int_equal(ki_informer_add_handler(s.informer, &handler, &reader, NULL, NULL, NULL), KI_OK);
    start_synced(&s);
    for (int i = 0; i < CHANGES; i++)
        change(&s, i < KEYS - 1 ? '+' : '~', 1 + i % (KEYS - 1));
    sem_post(&reader.release);
    await_times(&reader.called, 1 + CHANGES);
    assert_in_range(atomic_load(&reader.calls), CHANGES / 100 - 1, CHANGES / 20);
    close_stage(&s);
    sem_destroy(&reader.release);
    sem_destroy(&reader.called);
}

TEST(stopping_waits_for_a_handler_that_runs) {
    stage s;
    observer h;
    sem_t release;
    sem_init(&release, 0, 0);
    open_stage(&s);
    hearer_init(&h, &s);
    h.waits_for = &release;
    listen(&h, &s, NULL);
    start_synced(&s);
    change(&s, '~', 0);
    ki_engine_call(s.engine, stop_on_loop, &s);
    assert_int_equal(ki_informer_add_handler(s.informer, &observing, &h, NULL, NULL, NULL), KI_ERR_STATE);
    sem_post(&release);
    ki_informer_join(s.informer);
    assert_int_equal(sem_trywait(&h.removed), -1); /* that is when the informer goes */
    assert_in_range(h.calls, 0, 1);                /* what waited is dropped; perhaps the thread had not begun yet */
    close_stage(&s);
    await_semaphore(&h.removed);
    assert_int_equal(sem_trywait(&h.removed), -1);
    sem_destroy(&release);
    hearer_destroy(&h);
}

/* Stops the informer while a part of its list is staged. */
typedef struct stopper {
    ki_task task;
    stage *stage;
    sem_t stopped;
} stopper;

static void stop_in_list(ki_task *task, void *user) {
    stopper *self = user;
    const ki_change_log *log = &self->stage->informer->processor.log;
    assert_int_equal(atomic_load(&log->published), 0);
    if (log->end < LISTED / 2) {
        ki_task_post(task); /* the process loop has its turn in between */
        return;
    }
    ki_informer_stop(self->stage->informer);
    sem_post(&self->stopped);
}

static void list_many(void *user) {
    stopper *self = user;
    fake_list_watch *source = &self->stage->source;
    for (int i = 0; i < LISTED; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/k%d", i);
        ki_object *obj = noted_object(key, "1", NULL);
        source->list.on_object(obj, source->list.user);
        ki_object_unref(obj);
    }
    assert_true(fake_play(source, "{100:}"));
    ki_task_init(&self->task, self->stage->engine, stop_in_list, self);
    ki_task_post(&self->task);
}

static void cancel_tasks(void *user) {
    ki_informer_cancel_tasks(((stage *)user)->informer);
}

TEST(an_informer_that_stopped_within_a_list_is_freed_while_its_engine_runs) {
    stage s;
    stopper it = { .stage = &s };
    sem_init(&it.stopped, 0, 0);
    open_stage(&s);
    start(&s);
    ki_engine_call(s.engine, list_many, &it);
    await_semaphore(&it.stopped);
    ki_informer_join(s.informer);
    ki_engine_call(s.engine, cancel_tasks, &s);
    ki_informer_free(s.informer);
    ki_engine_free(s.engine);
    sem_destroy(&it.stopped);
}

TEST(handlers_come_and_go_while_changes_arrive) {
    enum {
        HANDLERS = 24
    };
    stage s;
    static observer h[HANDLERS];
    open_stage(&s);
    start_synced(&s);
    for (int i = 0; i < HANDLERS; i++) {
        hearer_init(&h[i], &s);
        h[i].removes_itself = i % 4 == 3;
        listen(&h[i], &s, &KI_REGISTRATION_OPTIONS(.on_loop = i % 3 == 2));
        for (int key = 1; key < KEYS; key++)
            change(&s, i == 0 ? '+' : i % 5 == 4 && key % 3 == 0 ? '-' : '~', key);
        if (i % 4 == 1)
            assert_int_equal(ki_informer_remove_handler(s.informer, h[i - 1].registration, NULL), KI_OK);
    }
    for (int i = 0; i < HANDLERS; i++) {
        if (i % 4 == 3 || i % 4 == 0) {
            await_semaphore(&h[i].removed);
            continue;
        }
        await_semaphore(&h[i].synced);
    }
    atomic_store(&s.last_version, s.version + 1);
    change(&s, '~', 0);
    for (int i = 0; i < HANDLERS; i++) {
        if (i % 4 == 3 || i % 4 == 0)
            continue;
        await_semaphore(&h[i].finished);
    }
    ki_engine_call(s.engine, stop_on_loop, &s);
    ki_informer_join(s.informer);
    for (int i = 0; i < HANDLERS; i++) {
        for (int key = 0; key < KEYS && i % 4 != 3 && i % 4 != 0; key++) {
            char name[32];
            snprintf(name, sizeof name, "default/k%d", key);
            ki_object *obj = ki_informer_get(s.informer, name);
            assert_int_equal(h[i].version[key], obj ? atoi(ki_object_resource_version(obj)) : 0);
            ki_object_unref(obj);
        }
    }
    close_stage(&s);
    for (int i = 0; i < HANDLERS; i++)
        hearer_destroy(&h[i]);
}

static void *wait_for_ever(void *user) {
    static ki_status status;
    stage *s = user;
    status = ki_informer_wait_for_sync(s->informer, -1, NULL);
    return &status;
}

TEST(waiting_ends_with_sync_with_stop_and_in_time) {
    for (int stopped = 0; stopped < 2; stopped++) {
        stage s;
        pthread_t waiter;
        void *status = NULL;
        open_stage(&s);
        start(&s);
        assert_int_equal(ki_informer_wait_for_sync(s.informer, 0, NULL), KI_ERR_TIMEOUT);
        assert_int_equal(ki_informer_wait_for_sync(s.informer, 1, NULL), KI_ERR_TIMEOUT);
        pthread_create(&waiter, NULL, wait_for_ever, &s);
        if (stopped)
            ki_engine_call(s.engine, stop_on_loop, &s);
        else
            play(&s, "{100:}");
        pthread_join(waiter, &status);
        assert_int_equal(*(ki_status *)status, stopped ? KI_ERR_CANCELLED : KI_OK);
        close_stage(&s);
    }
}

/* --- waits for a condition ---------------------------------------------------------------------------------------- */

typedef struct goal {
    stage *stage;
    const char *key;   /* NULL: the first call without an event meets it */
    const char *plays; /* a change that the first call without an event asks for */
    int version;
    int calls, events, calls_after;
    bool is_met;
    ki_status status;
} goal;

static bool is_goal_met(ki_informer *informer, const ki_event *event, void *user) {
    goal *self = user;
    assert_ptr_equal(informer, self->stage->informer);
    assert_int_equal(ki_informer_wait_until(informer, is_goal_met, user, 0, NULL), KI_ERR_DEADLOCK);
    self->calls_after += self->is_met;
    self->calls++;
    self->events += event != NULL;
    if (event)
        self->is_met = self->key && strcmp(ki_object_key(event->obj), self->key) == 0 &&
                       atoi(ki_object_resource_version(event->obj)) >= self->version;
    else if (self->plays)
        assert_true(fake_play(&self->stage->source, self->plays));
    else
        self->is_met = !self->key;
    return self->is_met;
}

static void *wait_for_goal(void *user) {
    goal *self = user;
    self->status = ki_informer_wait_until(self->stage->informer, is_goal_met, self, -1, NULL);
    return NULL;
}

TEST(a_wait_for_a_condition_ends_with_the_event_that_meets_it) {
    stage s;
    open_stage(&s);
    start_synced(&s);
    goal there = { .stage = &s, .key = "default/k0" };
    assert_int_equal(ki_informer_wait_until(s.informer, is_goal_met, &there, -1, NULL), KI_OK);
    assert_int_equal(there.events, 1); /* it was in the cache */
    goal synced = { .stage = &s };
    assert_int_equal(ki_informer_wait_until(s.informer, is_goal_met, &synced, -1, NULL), KI_OK);
    goal later = { .stage = &s, .key = "default/k9", .version = 900, .plays = "+k9=901" };
    assert_int_equal(ki_informer_wait_until(s.informer, is_goal_met, &later, -1, NULL), KI_OK);
    assert_int_equal(later.events, synced.events + 1);
    goal never = { .stage = &s, .key = "default/never" };
    assert_int_equal(ki_informer_wait_until(s.informer, is_goal_met, &never, 1, NULL), KI_ERR_TIMEOUT);
    int calls = never.calls;
    s.version = 902;
    change(&s, '~', 0);
    assert_int_equal(never.calls, calls);
    assert_int_equal(there.calls_after + synced.calls_after + later.calls_after, 0);
    assert_int_equal(ki_informer_wait_until(NULL, is_goal_met, &never, 0, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_informer_wait_until(s.informer, NULL, NULL, 0, NULL), KI_ERR_INVALID);
    close_stage(&s);
}

TEST(a_wait_for_a_condition_ends_with_the_informer) {
    stage s;
    pthread_t waiter;
    goal never = { .stage = &s, .key = "default/never" };
    open_stage(&s);
    start(&s);
    assert_int_equal(ki_informer_wait_until(s.informer, is_goal_met, &never, 0, NULL), KI_ERR_TIMEOUT);
    pthread_create(&waiter, NULL, wait_for_goal, &never);
    ki_engine_call(s.engine, stop_on_loop, &s);
    pthread_join(waiter, NULL);
    assert_true(never.status == KI_ERR_CANCELLED || never.status == KI_ERR_STATE); /* before the wait began */
    assert_int_equal(ki_informer_wait_until(s.informer, is_goal_met, &never, -1, NULL), KI_ERR_STATE);
    assert_int_equal(never.calls, 0);
    close_stage(&s);
}

/* What a program waits for: one event after the other, each by its key, type and version; "!" is an error of its
 * own. */
typedef struct course {
    stage *stage;
    const char *wanted[4]; /* "+k9=901"; NULL: the end */
    const char *plays[3];
    int met;
    bool has_failed;
} course;

static bool is_course_run(ki_informer *informer, const ki_event *event, void *user) {
    static const char signs[] = { [KI_EVENT_ADD] = '+', [KI_EVENT_UPDATE] = '~', [KI_EVENT_DELETE] = '-' };
    course *self = user;
    (void)informer;
    if (!event) {
        for (size_t i = 0; i < 3 && self->plays[i]; i++)
            assert_true(fake_play(&self->stage->source, self->plays[i]));
        return false;
    }
    const noted_word found = notation_change(signs[event->type], NULL, event->obj, "");
    while (self->wanted[self->met] && strcmp(self->wanted[self->met], found.text) == 0)
        self->met++; /* one event may be all that several conditions want */
    self->has_failed = self->wanted[self->met] && self->wanted[self->met][0] == '!';
    return self->has_failed || !self->wanted[self->met];
}

TEST(a_wait_may_go_through_several_conditions_one_after_the_other) {
    static const struct {
        const char *wanted[4], *plays[3];
        int timeout_ms;
        ki_status status;
        int met;
        bool has_failed;
    } cases[] = {
        { { "+k8=901", "~k8=902" }, { "+k8=901", "~k8=902", "-k8=903" }, -1, KI_OK, 2, false },
        { { "+k8=901", "+k8=901" }, { "+k8=901" }, -1, KI_OK, 2, false },
        { { "+k8=901", "+k8=901", "-k8=902" }, { "+k8=901", "~k8=902" }, 50, KI_ERR_TIMEOUT, 2, false },
        { { "+k8=901", "~k8=902", "-k8=903" }, { "+k8=901", "~k8=902", "-k8=903" }, -1, KI_OK, 3, false },
        { { "+k8=901", "!" }, { "+k8=901" }, -1, KI_OK, 1, true },
        { { "+k0=1" }, { NULL }, -1, KI_OK, 1, false }, /* in the cache */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        course run = { .stage = &s };
        memcpy(run.wanted, cases[i].wanted, sizeof run.wanted);
        memcpy(run.plays, cases[i].plays, sizeof run.plays);
        open_stage(&s);
        start_synced(&s);
        ki_status status = ki_informer_wait_until(s.informer, is_course_run, &run, cases[i].timeout_ms, NULL);
        if (status != cases[i].status || run.has_failed != cases[i].has_failed)
            fail_msg("case %zu: %s after %d", i, ki_status_name(status), run.met);
        if (!status) /* else the machine may have been too slow for any of it */
            assert_int_equal(run.met, cases[i].met);
        close_stage(&s);
    }
}

typedef struct adder {
    stage *stage;
    observer *observers;
    int count;
} adder;

static void *add_and_remove(void *user) {
    const adder *self = user;
    for (int i = 0; i < self->count; i++) {
        listen(&self->observers[i], self->stage, NULL);
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->observers[i].registration, NULL),
                         KI_OK);
    }
    return NULL;
}

static void count_sample(const ki_sample *sample, void *user) {
    (void)sample;
    ++*(int *)user;
}

/* While the first list arrives, and others look at the metrics of all handlers. */
TEST(several_threads_may_add_and_remove_at_once) {
    enum {
        THREADS = 4,
        EACH = 8
    };
    int samples = 0;
    const ki_metrics_visit to = { .visit = count_sample, .user = &samples };
    stage s;
    static observer h[THREADS * EACH];
    adder adders[THREADS];
    pthread_t threads[THREADS];
    open_stage(&s);
    start(&s);
    for (int i = 0; i < THREADS * EACH; i++)
        hearer_init(&h[i], &s);
    for (int i = 0; i < THREADS; i++) {
        adders[i] = (adder){ &s, &h[i * EACH], EACH };
        pthread_create(&threads[i], NULL, add_and_remove, &adders[i]);
    }
    play(&s, "{100: k0=1}");
    play_when_watching(&s, "open");
    for (int i = 0; i < CHANGES; i++) {
        change(&s, '~', 0);
        assert_int_equal(ki_metrics_visit_informer(s.informer, &to), KI_OK);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS * EACH; i++) {
        await_semaphore(&h[i].removed);
        hearer_destroy(&h[i]);
    }
    close_stage(&s);
}

/* Adds handlers and removes one or another of them until the informer takes no more. */
typedef struct meddler {
    stage *stage;
    unsigned random;
    ki_status refused;
    _Atomic int *added, *removed; /* of all meddlers */
} meddler;

static void count_removed(void *user) {
    const meddler *self = user;
    atomic_fetch_add(self->removed, 1);
}

static void ignore_change(const ki_event *e, void *user) {
    (void)e;
    (void)user;
}

static void *add_until_refused(void *user) {
    enum {
        HELD = 4
    };
    static const ki_handler handler = {
        .on_add = ignore_change, .on_update = ignore_change, .on_delete = ignore_change, .on_removed = count_removed
    };
    meddler *self = user;
    ki_informer *informer = self->stage->informer;
    ki_registration held[HELD] = { { NULL, 0 } };
    for (;;) {
        self->random = self->random * 1664525 + 1013904223;
        ki_registration *one = &held[(self->random >> 16) % HELD];
        if (one->informer) {
            assert_int_equal(ki_informer_remove_handler(informer, *one, NULL), KI_OK); /* also once it has stopped */
            *one = (ki_registration){ NULL, 0 };
            continue;
        }
        self->refused =
            ki_informer_add_handler(informer, &handler, self, &KI_REGISTRATION_OPTIONS(.resync_ms = 1000), one, NULL);
        if (self->refused)
            return NULL;
        atomic_fetch_add(self->added, 1);
    }
}

TEST(handlers_come_and_go_while_the_informer_stops) {
    enum {
        THREADS = 4,
        ENOUGH = 40
    };
    stage s;
    meddler meddlers[THREADS];
    pthread_t threads[THREADS];
    _Atomic int added = 0, removed = 0;
    open_stage(&s);
    start_synced(&s);
    for (int i = 0; i < THREADS; i++) {
        meddlers[i] = (meddler){ &s, (unsigned)i, KI_OK, &added, &removed };
        pthread_create(&threads[i], NULL, add_until_refused, &meddlers[i]);
    }
    while (atomic_load(&added) < ENOUGH)
        change(&s, '~', 0);
    ki_engine_call(s.engine, stop_on_loop, &s);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(meddlers[i].refused, KI_ERR_STATE);
    }
    close_stage(&s);
    assert_int_equal(removed, added); /* each was told of its end, once */
}

static ki_status keep(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

static void ignore_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    (void)informer;
    (void)cause;
    (void)key;
    (void)user;
}

/* Adds a handler and sets what may be set until that is refused: the informer has started. */
static void *meddle(void *user) {
    observer *h = user;
    ki_informer *informer = h->stage->informer;
    listen(h, h->stage, NULL);
    while (!ki_informer_set_transform(informer, keep, NULL, NULL) &&
           !ki_informer_set_watch_error_handler(informer, ignore_error, NULL, NULL)) {}
    return NULL;
}

TEST(an_informer_may_be_started_while_other_threads_set_it_up) {
    enum {
        THREADS = 4
    };
    stage s;
    static observer h[THREADS];
    pthread_t threads[THREADS];
    open_stage(&s);
    for (int i = 0; i < THREADS; i++) {
        hearer_init(&h[i], &s);
        pthread_create(&threads[i], NULL, meddle, &h[i]);
    }
    start_synced(&s);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        await_semaphore(&h[i].synced);
        assert_int_equal(h[i].version[0], 1);
    }
    close_stage(&s);
    for (int i = 0; i < THREADS; i++)
        hearer_destroy(&h[i]);
}
