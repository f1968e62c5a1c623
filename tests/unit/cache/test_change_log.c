/* test_change_log.c: the changes on their way to several readers: order, release, memory, resyncs. */

#include "src/base/memory.h"
#include "src/cache/listener/change_log.h"
#include "src/object/object.h"
#include "tests/support/notation.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 1000
};

typedef struct stage {
    scarce_memory memory;
    test_engine test;
    ki_change_log log;
    size_t before; /* allocations without the log */
} stage;

static void open_stage(stage *s) {
    ki_error err = KI_ERROR_INIT;
    scarce_memory_init(&s->memory, SIZE_MAX);
    assert_true(test_engine_open(&s->test, &s->memory.allocator, 1));
    s->before = scarce_memory_in_use(&s->memory);
    assert_int_equal(ki_change_log_init(&s->log, s->test.engine, &err), KI_OK);
}

static void close_stage(stage *s) {
    ki_change_log_free(&s->log);
    assert_int_equal(scarce_memory_in_use(&s->memory), s->before);
    test_engine_close(&s->test);
}

static ki_status append(stage *s, int number) {
    char version[16];
    snprintf(version, sizeof version, "%d", number);
    ki_object *obj = noted_object("default/a", version, NULL);
    ki_status status = ki_change_log_append(&s->log, &(ki_change){ .type = KI_EVENT_UPDATE, .obj = obj, .old = obj });
    ki_object_unref(obj);
    return status;
}

static void publish(stage *s, int from, int count) {
    for (int i = 0; i < count; i++)
        assert_int_equal(append(s, from + i), KI_OK);
    ki_change_log_publish(&s->log);
}

/* Takes one change, which must be this one. */
static void take(stage *s, ki_change_reader *reader, int expected) {
    ki_change change;
    size_t skipped;
    assert_true(ki_change_log_take(&s->log, reader, &change, &skipped));
    assert_int_equal(atoi(ki_object_resource_version(change.obj)), expected);
    ki_change_release(&change);
}

static bool has_more(stage *s, ki_change_reader *reader) {
    ki_change change;
    size_t skipped;
    bool has = ki_change_log_take(&s->log, reader, &change, &skipped);
    if (has)
        ki_change_release(&change);
    return has;
}

TEST(each_reader_takes_all_changes_in_order_at_its_own_pace) {
    stage s;
    ki_change_reader fast = { .next = NULL }, slow = { .next = NULL };
    int in = 0, out = 0, late = 0;
    open_stage(&s);
    ki_change_log_attach(&s.log, &fast);
    ki_change_log_attach(&s.log, &slow);
    /* In waves, so that blocks begin and end everywhere. */
    for (int wave = 1; late < MANY; wave++) {
        int count = in + 3 * wave < MANY ? 3 * wave : MANY - in;
        publish(&s, in, count);
        in += count;
        while (out < in)
            take(&s, &fast, out++);
        for (int i = 0; i < 2 * wave && late < in; i++)
            take(&s, &slow, late++);
        assert_int_equal(ki_change_log_pending(&s.log, &fast), 0);
        assert_int_equal(ki_change_log_pending(&s.log, &slow), in - late);
    }
    assert_true(ki_change_log_is_empty(&s.log));
    assert_int_equal(ki_change_log_bytes(&s.log), 0);
    assert_true(scarce_memory_in_use(&s.memory) <= s.before + 2); /* a drained log keeps little */
    close_stage(&s);
}

TEST(a_staged_change_is_taken_once_it_is_published) {
    stage s;
    ki_change_reader reader = { .next = NULL };
    open_stage(&s);
    ki_change_log_attach(&s.log, &reader);
    assert_int_equal(append(&s, 1), KI_OK);
    assert_false(has_more(&s, &reader));
    assert_int_equal(ki_change_log_pending(&s.log, &reader), 0);
    assert_true(ki_change_log_publish(&s.log));
    assert_false(ki_change_log_publish(&s.log));
    take(&s, &reader, 1);
    assert_false(has_more(&s, &reader));
    close_stage(&s);
}

/* However many are staged, and wherever a block ends. */
TEST(dropped_changes_reach_nobody) {
    for (int published = 0; published < 90; published += 9) {
        for (int staged = 0; staged < 200; staged += 13) {
            stage s;
            ki_change_reader reader = { .next = NULL };
            open_stage(&s);
            ki_change_log_attach(&s.log, &reader);
            publish(&s, 0, published);
            for (int i = 0; i < staged; i++)
                assert_int_equal(append(&s, MANY), KI_OK);
            ki_change_log_drop(&s.log);
            publish(&s, published, 100);
            for (int i = 0; i < published + 100; i++)
                take(&s, &reader, i);
            assert_false(has_more(&s, &reader));
            assert_true(test_engine_settle(&s.test));
            assert_true(scarce_memory_in_use(&s.memory) <= s.before + 2);
            close_stage(&s);
        }
    }
}

TEST(a_new_reader_takes_what_is_published_later) {
    stage s;
    ki_change_reader first = { .next = NULL }, second = { .next = NULL };
    open_stage(&s);
    ki_change_log_attach(&s.log, &first);
    publish(&s, 0, 100);
    assert_int_equal(append(&s, 100), KI_OK); /* staged: the snapshot of the new reader lacks it */
    ki_change_log_attach(&s.log, &second);
    ki_change_log_publish(&s.log);
    take(&s, &second, 100);
    assert_false(has_more(&s, &second));
    for (int i = 0; i <= 100; i++)
        take(&s, &first, i);
    close_stage(&s);
}

TEST(nothing_is_kept_for_a_reader_that_left) {
    stage s;
    ki_change_reader stuck = { .next = NULL }, other = { .next = NULL };
    open_stage(&s);
    ki_change_log_attach(&s.log, &stuck);
    ki_change_log_attach(&s.log, &other);
    publish(&s, 0, MANY);
    for (int i = 0; i < MANY / 2; i++)
        take(&s, &other, i);
    size_t full = scarce_memory_in_use(&s.memory);
    ki_change_log_detach(&s.log, &stuck);
    ki_change_log_detach(&s.log, &stuck);
    assert_false(has_more(&s, &stuck));
    assert_true(test_engine_settle(&s.test));
    assert_true(scarce_memory_in_use(&s.memory) < full);
    for (int i = MANY / 2; i < MANY; i++)
        take(&s, &other, i);
    ki_change_log_detach(&s.log, &other);
    publish(&s, 0, MANY); /* nobody reads */
    assert_true(test_engine_settle(&s.test));
    assert_true(ki_change_log_is_empty(&s.log));
    assert_true(scarce_memory_in_use(&s.memory) <= s.before + 2);
    close_stage(&s);
}

TEST(an_append_without_memory_changes_nothing) {
    stage s;
    ki_change_reader reader = { .next = NULL };
    int failures = 0;
    open_stage(&s);
    ki_change_log_attach(&s.log, &reader);
    for (int i = 0; i < 130; i++) {
        for (size_t fail_at = 0;; fail_at++) {
            s.memory.fail_at = s.memory.calls + fail_at;
            if (!append(&s, i))
                break;
            failures++;
        }
        s.memory.fail_at = SIZE_MAX;
    }
    assert_true(failures > 1);
    ki_change_log_publish(&s.log);
    for (int i = 0; i < 130; i++)
        take(&s, &reader, i);
    close_stage(&s);
}

TEST(the_log_ends_with_changes_in_it) {
    stage s;
    ki_change_reader reader = { .next = NULL };
    open_stage(&s);
    ki_change_log_attach(&s.log, &reader);
    publish(&s, 0, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(append(&s, i), KI_OK);
    ki_change_log_drop(&s.log); /* its blocks wait for a task, which does not run */
    ki_change_log_detach(&s.log, &reader);
    close_stage(&s);
}

typedef struct taker {
    ki_change_log *log;
    ki_change_reader reader;
    _Atomic bool *is_over;
    int expected, taken; /* changes of resyncs */
} taker;

static void *take_until_over(void *user) {
    taker *self = user;
    for (;;) {
        bool is_over = atomic_load(self->is_over);
        ki_change change;
        size_t skipped;
        if (ki_change_log_take(self->log, &self->reader, &change, &skipped)) {
            self->taken += change.is_resync;
            ki_change_release(&change);
        } else if (is_over && !ki_change_log_has_next(self->log, &self->reader)) {
            return NULL;
        } else if (skipped == 0) {
            sched_yield();
        }
    }
}

TEST(a_reader_on_another_thread_gets_all_of_each_resync_for_it_and_nothing_of_others) {
    enum {
        READERS = 3,
        ROUNDS = 300,
        OBJECTS = 50
    };
    stage s;
    _Atomic bool is_over = false;
    taker takers[READERS];
    pthread_t threads[READERS];
    open_stage(&s);
    ki_object *obj = noted_object("default/a", "1", NULL);
    const ki_change change = { .type = KI_EVENT_UPDATE, .obj = obj, .old = obj, .is_resync = true };
    for (int i = 0; i < READERS; i++) {
        takers[i] = (taker){ .log = &s.log, .is_over = &is_over };
        ki_change_log_attach(&s.log, &takers[i].reader);
        pthread_create(&threads[i], NULL, take_until_over, &takers[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < READERS; i++)
            if (ki_change_log_begin_resync(&s.log, &takers[i].reader, round % (i + 1) == 0))
                takers[i].expected += OBJECTS;
        for (int i = 0; i < OBJECTS; i++)
            assert_int_equal(ki_change_log_append(&s.log, &change), KI_OK);
        publish(&s, round, 1);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(takers[i].taken, takers[i].expected);
        assert_int_equal(ki_change_log_pending(&s.log, &takers[i].reader), 0);
        ki_change_log_detach(&s.log, &takers[i].reader);
    }
    ki_object_unref(obj);
    close_stage(&s);
}
