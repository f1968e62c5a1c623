/* test_wait_for.c: reading one's own writes: who waits for a version goes on once the copy has seen it, and not before.
 * The test steps the engine; waits that block are on a thread of their own. */

#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char called[TEXT]; /* "name=status " of each callback */

static ki_status open_waits(stage *s, const ki_allocator *allocator) {
    called[0] = '\0';
    return open_stage_with(s, (ki_shared_informer_options){ .factory = streaming_if(false) }, allocator);
}

/* A copy at version 10 with an object at 5. */
static void open_synced(stage *s) {
    assert_int_equal(open_waits(s, NULL), KI_OK);
    start_stage(s);
    play_each(s, "{10: a=5}; open");
}

typedef struct asker {
    stage *stage;
    const char *name;
} asker;

static void on_version(ki_informer *informer, ki_status status, void *user) {
    const asker *self = user;
    assert_ptr_equal(informer, self->stage->informer);
    snprintf(called + strlen(called), TEXT - strlen(called), "%s=%s ", self->name, ki_status_name(status));
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_informer_wait_for_version(informer, NULL, "1", 0, &err), KI_ERR_DEADLOCK);
}

/* On a thread of its own. */
typedef struct waiter {
    ki_informer *informer;
    const char *key, *version, *uid;
    bool is_deletion;
    int64_t timeout_ms;
    ki_thread thread;
    ki_status status;
    ki_error err;
} waiter;

static void wait_for(void *user) {
    waiter *w = user;
    w->status = w->is_deletion ? ki_informer_wait_for_deletion(w->informer, w->key, w->uid, w->timeout_ms, &w->err)
                               : ki_informer_wait_for_version(w->informer, w->key, w->version, w->timeout_ms, &w->err);
}

/* Returns once it waits; `*ret` may not be moved. */
static void begin_to_wait(waiter *ret, const stage *s, const char *key, const char *version) {
    size_t before = atomic_load(&s->informer->waits.count);
    *ret = (waiter){ .informer = s->informer, .key = key, .version = version, .timeout_ms = -1, .err = KI_ERROR_INIT };
    assert_int_equal(ki_thread_start(&ret->thread, "waiter", wait_for, ret, NULL), KI_OK);
    while (atomic_load(&s->informer->waits.count) == before)
        sched_yield();
}

/* --- what a step does --------------------------------------------------------------------------------------------- */

static ki_engine *engine_of_list;
static int left_after_list;

static void note_work_left(const ki_deltas *deltas, void *user) {
    (void)user;
    if (deltas->resource_version && !deltas->is_part)
        left_after_list = ki_engine_work_left(engine_of_list);
}

TEST(the_waits_that_the_end_of_a_list_looks_at_are_work) {
    enum {
        WAITS = 100
    };
    int left[2];
    ki_queue_kind kind = queue_kind;
    queue_kind = KI_QUEUE_IN_ORDER; /* it passes a list as such */
    for (int has_waits = 0; has_waits < 2; has_waits++) {
        stage s;
        asker late = { &s, "late" };
        open_synced(&s);
        for (int i = 0; i < has_waits * WAITS; i++) {
            assert_int_equal(
                ki_informer_wait_for_version_async(s.informer, "default/a", "1000", -1, on_version, &late, NULL),
                KI_OK);
            assert_int_equal(
                ki_informer_wait_for_deletion_async(s.informer, "default/a", NULL, -1, on_version, &late, NULL), KI_OK);
        }
        engine_of_list = s.engine.engine;
        s.informer->observer.on_deltas = note_work_left;
        left_after_list = INT_MIN;
        play_each(&s, "error 410; wait 1600; {20: a=15}");
        assert_int_not_equal(left_after_list, INT_MIN);
        left[has_waits] = left_after_list;
        close_stage(&s);
    }
    queue_kind = kind;
    assert_in_range(left[0] - left[1], 2 * WAITS, 4 * WAITS); /* also by the key of the changed object */
}

/* --- what counts as seen ------------------------------------------------------------------------------------------ */

TEST(a_wait_ends_with_the_change_it_waits_for) {
    static const struct {
        const char *key, *version, *lines;
    } cases[] = {
        { NULL, "11", "~a=11" },
        { NULL, "11", "+x=12" },
        { NULL, "11", "bookmark 11" },
        { NULL, "9999999999999999999999", "bookmark 10000000000000000000000" },
        { "default/a", "11", "~a=11" },
        { "default/a", "11", "~a=12" },
        { "default/a", "11", "bookmark 30" },
        { "default/a", "11", "-a=12" },
        { "default/x", "11", "+x=11" },
        { "default/x", "11", "+x=11; -x=12" },
        { "default/x", "11", "+y=12" },
        { NULL, "abc", "bookmark abc" },
        { "default/x", NULL, "+x=11" },
        { "default/x", NULL, "+x=11; -x=12" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        waiter w;
        open_synced(&s);
        begin_to_wait(&w, &s, cases[i].key, cases[i].version);
        play_all(&s, cases[i].lines);
        ki_thread_join(&w.thread);
        assert_int_equal(w.status, KI_OK);
        assert_int_equal(atomic_load(&s.informer->waits.count), 0);
        close_stage(&s);
    }
}

/* Of a list without a version: its objects count, and then the versions of the events. */
TEST(a_wait_on_a_cache_without_a_version_ends_with_the_object_or_an_event) {
    static const struct {
        const char *key, *version, *lines;
    } cases[] = {
        { "default/a", "5", "" },     { "default/a", NULL, "" },     { "default/a", "11", "~a=11" },
        { "default/x", "3", "+x=3" }, { NULL, "11", "+x=3; ~a=11" }, { "default/x", "11", "-a=12" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        assert_int_equal(open_waits(&s, NULL), KI_OK);
        start_stage(&s);
        play_each(&s, "{-: a=5}; open");
        asker self = { &s, "w" };
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(
            ki_informer_wait_for_version_async(s.informer, cases[i].key, cases[i].version, -1, on_version, &self, &err),
            KI_OK);
        settle(&s);
        assert_string_equal(called, cases[i].lines[0] ? "" : "w=ok ");
        play_all(&s, cases[i].lines);
        assert_string_equal(called, "w=ok ");
        close_stage(&s);
    }
}

TEST(a_wait_for_what_is_there_does_not_wait) {
    static const struct {
        const char *key, *version;
        ki_status status;
    } cases[] = {
        { NULL, "10", KI_OK },           { NULL, "9", KI_OK },         { NULL, "11", KI_ERR_TIMEOUT },
        { "default/a", "5", KI_OK },     { "default/x", "10", KI_OK }, { "default/a", "11", KI_ERR_TIMEOUT },
        { NULL, "abc", KI_ERR_TIMEOUT }, { NULL, "", KI_ERR_INVALID }, { NULL, NULL, KI_ERR_INVALID },
        { "default/a", NULL, KI_OK },    { "", "", KI_ERR_INVALID },   { "default/x", "", KI_ERR_TIMEOUT },
    };
    stage s;
    open_synced(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        waiter w = { .informer = s.informer, .key = cases[i].key, .version = cases[i].version, .err = KI_ERROR_INIT };
        assert_int_equal(ki_thread_start(&w.thread, "waiter", wait_for, &w, NULL), KI_OK);
        ki_thread_join(&w.thread);
        if (w.status != cases[i].status)
            fail_msg("%s at %s: %s", w.key ? w.key : "all", w.version ? w.version : "NULL", ki_status_name(w.status));
        assert_int_equal(w.err.code, w.status);
    }
    assert_int_equal(atomic_load(&s.informer->waits.count), 0);
    close_stage(&s);
}

TEST(what_came_and_went_at_once_has_been_seen_though_more_is_queued) {
    stage s;
    waiter w;
    open_synced(&s);
    begin_to_wait(&w, &s, "default/x", "11");
    /* One unit of work at a time: the queue has more when x is gone, and the copy is still at 10. */
    play(&s, "+x=11; -x=12; +y=13");
    while (atomic_load(&s.informer->waits.count) && ki_engine_timeout(s.engine.engine) == 0)
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
    ki_thread_join(&w.thread);
    assert_int_equal(w.status, KI_OK);
    settle(&s);
    close_stage(&s);
}

static void on_version_of_x(ki_informer *informer, ki_status status, void *user) {
    ki_object *x = ki_informer_get(informer, "default/x");
    bool *has_x = user;
    assert_int_equal(status, KI_OK);
    *has_x = x != NULL;
    ki_object_unref(x);
}

static void list_many(stage *s) {
    for (int i = 0; i < 500; i++) {
        char line[64];
        snprintf(line, sizeof line, "k%d=5", i);
        play(s, line);
    }
}

/* The first list is processed a slice at a time. Meanwhile the watch expires, and a second list brings w and x. */
TEST(the_version_of_a_list_that_is_not_processed_has_not_been_seen) {
    stage s;
    bool has_x = false;
    assert_int_equal(open_waits(&s, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "19", -1, on_version_of_x, &has_x, NULL),
                     KI_OK);
    start_stage(&s);
    list_many(&s);
    play(&s, "{10:}");
    for (int i = 0; i < 10 && !s.source.watches; i++)
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
    play(&s, "fail 410");
    s.engine.now += KI_SECONDS(60); /* past the backoff */
    for (int i = 0; i < 10 && !s.source.lists; i++)
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
    assert_false(ki_informer_has_synced(s.informer));
    list_many(&s);
    play(&s, "{20: w=18 x=19}");
    while (ki_engine_timeout(s.engine.engine) == 0)
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
    assert_true(has_x);
    close_stage(&s);
}

/* --- deletions ---------------------------------------------------------------------------------------------------- */

/* The cache has a of uid one, at version 10. */
TEST(a_wait_for_a_deletion_ends_once_the_key_has_another_uid_or_no_object) {
    static const struct {
        const char *name, *key, *uid, *before, *lines; /* `before`: the wait is not over, `lines`: it is */
    } cases[] = {
        { "deleted", "default/a", "one", "~a=11#one; bookmark 12", "-a=13#one" },
        { "deleted and created again at once", "default/a", "one", "~a=11#one", "-a=12#one; +a=13#two" },
        { "created again, and the deletion was missed", "default/a", "one", "~a=11#one", "~a=13#two" },
        { "another was deleted", "default/a", "one", "+b=11#two; -b=12#two", "-a=13#one" },
        { "missing in the next list", "default/a", "one", "bookmark 11", "fail 410; wait 5000; {20: c=19}; open" },
        { "another uid in the next list", "default/a", "one", "bookmark 11",
          "fail 410; wait 5000; {20: a=19#two}; open" },
        { "of any uid", "default/a", NULL, "~a=11#one; ~a=12#two", "-a=14#two" },
        { "never there", "default/x", "one", "", "" },
        { "another is there", "default/a", "two", "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        asker one = { &s, "one" };
        assert_int_equal(open_waits(&s, NULL), KI_OK);
        start_stage(&s);
        play_each(&s, "{10: a=5#one}; open");
        assert_int_equal(
            ki_informer_wait_for_deletion_async(s.informer, cases[i].key, cases[i].uid, -1, on_version, &one, NULL),
            KI_OK);
        play_each(&s, cases[i].before);
        if (cases[i].before[0] && strcmp(called, "") != 0)
            fail_msg("%s: ended too early: %s", cases[i].name, called);
        play_each(&s, cases[i].lines);
        settle(&s);
        if (strcmp(called, "one=ok ") != 0)
            fail_msg("%s: \"%s\"", cases[i].name, called);
        assert_int_equal(atomic_load(&s.informer->waits.count), 0);
        close_stage(&s);
    }
}

/* An absent object may be in the part of the list that is not processed yet. */
TEST(a_wait_for_a_deletion_does_not_end_before_the_first_list) {
    stage s;
    assert_int_equal(open_waits(&s, NULL), KI_OK);
    asker gone = { &s, "gone" }, there = { &s, "there" };
    assert_int_equal(ki_informer_wait_for_deletion_async(s.informer, "default/x", "one", -1, on_version, &gone, NULL),
                     KI_OK);
    assert_int_equal(ki_informer_wait_for_deletion_async(s.informer, "default/a", "one", -1, on_version, &there, NULL),
                     KI_OK);
    start_stage(&s);
    settle(&s);
    assert_string_equal(called, "");
    play_each(&s, "{10: a=5#one}; open");
    assert_string_equal(called, "gone=ok ");
    play_each(&s, "-a=11#one");
    assert_string_equal(called, "gone=ok there=ok ");
    close_stage(&s);
}

TEST(a_wait_for_a_deletion_takes_no_longer_than_it_may) {
    stage s;
    asker late = { &s, "late" }, cancelled = { &s, "cancelled" };
    waiter w = { .key = "default/a", .uid = "one", .is_deletion = true, .err = KI_ERROR_INIT };
    assert_int_equal(open_waits(&s, NULL), KI_OK);
    start_stage(&s);
    play_each(&s, "{10: a=5#one}; open");
    assert_int_equal(ki_informer_wait_for_deletion_async(s.informer, "default/a", "one", 500, on_version, &late, NULL),
                     KI_OK);
    assert_int_equal(
        ki_informer_wait_for_deletion_async(s.informer, "default/a", "one", -1, on_version, &cancelled, NULL), KI_OK);
    assert_int_equal(ki_informer_cancel_version_waits(s.informer, on_version, &cancelled, NULL), KI_OK);
    play(&s, "wait 500");
    assert_string_equal(called, "cancelled=cancelled late=timeout ");
    w.informer = s.informer;
    assert_int_equal(ki_thread_start(&w.thread, "waiter", wait_for, &w, NULL), KI_OK);
    ki_thread_join(&w.thread);
    assert_int_equal(w.status, KI_ERR_TIMEOUT);
    assert_string_equal(w.err.message, "default/a with uid one not deleted in time");
    assert_int_equal(ki_informer_wait_for_deletion(s.informer, "default/a", "one", 0, NULL), KI_ERR_DEADLOCK);
    assert_int_equal(ki_informer_wait_for_deletion(s.informer, NULL, "one", 0, NULL), KI_ERR_INVALID);
    close_stage(&s);
}

/* --- how it ends otherwise ---------------------------------------------------------------------------------------- */

TEST(a_stop_ends_every_wait) {
    stage s;
    waiter all, one;
    open_synced(&s);
    asker early = { &s, "early" };
    begin_to_wait(&all, &s, NULL, "99");
    begin_to_wait(&one, &s, "default/a", "99");
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "99", -1, on_version, &early, NULL), KI_OK);
    ki_informer_stop(s.informer);
    ki_thread_join(&all.thread);
    ki_thread_join(&one.thread);
    assert_int_equal(all.status, KI_ERR_CANCELLED);
    assert_int_equal(one.status, KI_ERR_CANCELLED);
    assert_string_equal(called, "early=cancelled ");
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "1", -1, on_version, &early, &err),
                     KI_ERR_CANCELLED);
    assert_int_equal(err.code, KI_ERR_CANCELLED);
    close_stage(&s);
    assert_string_equal(called, "early=cancelled ");
}

TEST(waiting_on_the_loop_would_be_a_deadlock) {
    stage s;
    ki_error err = KI_ERROR_INIT;
    open_synced(&s);
    assert_int_equal(ki_informer_wait_for_version(s.informer, NULL, "10", 0, &err), KI_ERR_DEADLOCK);
    close_stage(&s);
}

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

TEST(callbacks_come_once_on_the_loop_in_the_order_of_asking) {
    stage s;
    open_synced(&s);
    asker first = { &s, "first" }, second = { &s, "second" }, third = { &s, "third" }, there = { &s, "there" };
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "12", -1, on_version, &first, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "11", -1, on_version, &second, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "13", -1, on_version, &third, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "10", -1, on_version, &there, NULL), KI_OK);
    assert_string_equal(called, ""); /* not from inside */
    settle(&s);
    assert_string_equal(called, "there=ok ");
    play_all(&s, "~a=12");
    assert_string_equal(called, "there=ok first=ok second=ok ");
    play_all(&s, "bookmark 20");
    assert_string_equal(called, "there=ok first=ok second=ok third=ok ");
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, NULL, -1, on_version, &first, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "1", -1, NULL, &first, NULL), KI_ERR_INVALID);
    close_stage(&s);
}

TEST(a_callback_comes_once_by_what_comes_first) {
    static const struct {
        const char *key, *version, *lines; /* lines NULL: cancelled after 400 ms; "": neither */
        const char *called;
    } cases[] = {
        { "default/x", "11", "+x=11", "one=ok " },     { "default/x", NULL, "+x=11", "one=ok " },
        { NULL, "11", "bookmark 11", "one=ok " },      { "default/x", "99", "+x=11", "one=timeout " },
        { "default/x", NULL, "", "one=timeout " },     { NULL, "99", NULL, "one=cancelled " },
        { "default/x", "v9", NULL, "one=cancelled " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        open_synced(&s);
        asker one = { &s, "one" }, other = { &s, "other" };
        assert_int_equal(
            ki_informer_wait_for_version_async(s.informer, cases[i].key, cases[i].version, 500, on_version, &one, NULL),
            KI_OK);
        assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "999", -1, on_version, &other, NULL),
                         KI_OK);
        play(&s, "wait 400");
        assert_string_equal(called, "");
        if (!cases[i].lines) {
            assert_int_equal(ki_informer_cancel_version_waits(s.informer, on_version, &one, NULL), KI_OK);
            assert_string_equal(called, ""); /* not from inside */
        } else {
            play_all(&s, cases[i].lines);
        }
        play(&s, "wait 99");
        assert_string_equal(called, strstr(cases[i].called, "timeout") ? "" : cases[i].called);
        play(&s, "wait 1");
        assert_string_equal(called, cases[i].called);
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_informer_cancel_version_waits(s.informer, on_version, &one, &err), KI_ERR_NOT_FOUND);
        play_all(&s, "+y=100");
        play(&s, "wait 1000");
        assert_string_equal(called, cases[i].called);
        ki_informer_stop(s.informer);
        assert_non_null(strstr(called, "other=cancelled "));
        assert_int_equal(ki_informer_cancel_version_waits(s.informer, on_version, &other, &err), KI_ERR_NOT_FOUND);
        close_stage(&s);
    }
}

static void ask_and_cancel(ki_informer *informer, ki_status status, void *user) {
    asker *self = user;
    on_version(informer, status, user);
    if (status == KI_OK) {
        assert_int_equal(ki_informer_wait_for_version_async(informer, NULL, "99", 10, ask_and_cancel, self, NULL),
                         KI_OK);
        assert_int_equal(ki_informer_cancel_version_waits(informer, ask_and_cancel, self, NULL), KI_OK);
    }
}

TEST(a_callback_may_ask_and_cancel) {
    stage s;
    open_synced(&s);
    asker one = { &s, "one" };
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "10", 10, ask_and_cancel, &one, NULL), KI_OK);
    settle(&s);
    assert_string_equal(called, "one=ok one=cancelled ");
    play(&s, "wait 1000");
    assert_string_equal(called, "one=ok one=cancelled ");
    close_stage(&s);
}

/* Before the start, too: there is nothing to see yet, and time passes. */
TEST(a_deadline_holds_before_the_start) {
    stage s;
    assert_int_equal(open_waits(&s, NULL), KI_OK);
    asker first = { &s, "first" }, second = { &s, "second" };
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, NULL, "1", 50, on_version, &second, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_version_async(s.informer, "default/a", NULL, 20, on_version, &first, NULL),
                     KI_OK);
    play(&s, "wait 100");
    assert_string_equal(called, "first=timeout second=timeout ");
    close_stage(&s);
}

static void wait_for_sync(void *user) {
    waiter *w = user;
    w->status = ki_informer_wait_for_sync(w->informer, -1, &w->err);
}

/* A host stops its engine, perhaps from a signal handler, and never steps it again: nobody is left to tell. */
TEST(a_stop_that_no_step_follows_ends_every_wait) {
    stage s;
    waiter version, sync = { .err = KI_ERROR_INIT };
    assert_int_equal(open_waits(&s, NULL), KI_OK);
    start_stage(&s);
    begin_to_wait(&version, &s, NULL, "99");
    sync.informer = s.informer;
    assert_int_equal(ki_thread_start(&sync.thread, "waiter", wait_for_sync, &sync, NULL), KI_OK);
    ki_engine_stop(s.engine.engine);
    ki_thread_join(&version.thread);
    ki_thread_join(&sync.thread);
    assert_int_equal(version.status, KI_ERR_CANCELLED);
    assert_int_equal(sync.status, KI_ERR_CANCELLED);
    assert_int_equal(atomic_load(&s.informer->waits.count), 0);
    close_stage(&s);
}

TEST(lack_of_memory_rejects_a_callback_and_nothing_else) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        stage s;
        if (open_waits(&s, &memory.allocator) == KI_OK) {
            asker one = { &s, "one" };
            ki_error err = KI_ERROR_INIT;
            ki_status status =
                ki_informer_wait_for_version_async(s.informer, "default/a", "1", 10, on_version, &one, &err);
            assert_true(status == KI_OK || err.code == KI_ERR_NO_MEMORY);
            settle(&s);
            if (ki_informer_wait_for_deletion_async(s.informer, "default/a", "uid", 10, on_version, &one, &err) ==
                KI_OK)
                assert_int_equal(ki_informer_cancel_version_waits(s.informer, on_version, &one, NULL), KI_OK);
            else
                assert_int_equal(err.code, KI_ERR_NO_MEMORY);
            close_stage(&s);
            assert_true(strstr(called, "=ok") == NULL);
        }
    }
}

WITH_BOTH_QUEUES;
