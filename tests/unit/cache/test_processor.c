/* test_processor.c: which listeners a resync is for. */

#include "src/cache/listener/listener.h"
#include "tests/support/notation.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

enum {
    PERIOD = 10,
    MANY = 100
};

typedef struct stage {
    test_engine test;
    ki_processor processor;
    ki_object *obj;
} stage;

static void open_stage(stage *s) {
    assert_true(test_engine_open(&s->test, NULL, 1));
    assert_int_equal(ki_processor_init(&s->processor, s->test.engine, PERIOD, NULL), KI_OK);
    s->obj = noted_object("default/a", "1", NULL);
}

static void close_stage(stage *s) {
    while (s->processor.first) {
        ki_listener *listener = s->processor.first;
        assert_true(ki_processor_remove(&s->processor, listener));
        ki_processor_forget(&s->processor, listener);
        ki_listener_discard(listener);
    }
    ki_processor_free(&s->processor);
    ki_object_unref(s->obj);
    test_engine_close(&s->test);
}

static void on_update(const ki_event *event, void *user) {
    (void)event;
    (void)user;
}

static ki_listener *add(stage *s, int64_t period) {
    static const ki_handler handler = { .on_update = on_update };
    static const ki_registration_options registration = { .size = sizeof registration };
    ki_listener *listener = NULL;
    ki_listener_options options = { .engine = s->test.engine, .handler = &handler, .registration = &registration };
    assert_int_equal(ki_listener_new(&options, &listener, NULL), KI_OK);
    ki_processor_add(&s->processor, listener, period, 0);
    return listener;
}

static void stage_updates(stage *s, int count, bool is_resync, bool is_listed) {
    const ki_change change = {
        .type = KI_EVENT_UPDATE, .obj = s->obj, .old = s->obj, .is_resync = is_resync, .is_listed = is_listed
    };
    for (int i = 0; i < count; i++)
        assert_int_equal(ki_processor_stage(&s->processor, &change), KI_OK);
}

/* Begins a resync of so many objects. Returns false if no listener is due. */
static bool resync_of(stage *s, int64_t now, int count) {
    if (!ki_processor_resync_due(&s->processor, now))
        return false;
    ki_processor_resync_begun(&s->processor, now);
    stage_updates(s, count, true, false);
    ki_processor_publish(&s->processor);
    return true;
}

static bool resync(stage *s, int64_t now) {
    return resync_of(s, now, 1);
}

/* Takes all that is for the listener. Returns its number. */
static int take_all(stage *s, ki_listener *listener) {
    ki_change change;
    size_t skipped = 0;
    int taken = 0;
    for (bool has_taken = true; has_taken || skipped > 0;) {
        has_taken = ki_change_log_take(&s->processor.log, &listener->reader, &change, &skipped);
        assert_in_range(skipped, 0, has_taken ? 0 : 64);
        taken += has_taken;
        if (has_taken)
            ki_change_release(&change);
    }
    return taken;
}

TEST(a_resync_is_for_the_listeners_whose_period_is_over) {
    stage s;
    open_stage(&s);
    ki_listener *often = add(&s, PERIOD), *seldom = add(&s, 3 * PERIOD), *never = add(&s, 0);
    for (int round = 1; round <= 6; round++) {
        assert_true(resync(&s, round * PERIOD));
        assert_int_equal(take_all(&s, often), 1);
        assert_int_equal(take_all(&s, seldom), round % 3 == 0);
        assert_int_equal(take_all(&s, never), 0);
    }
    close_stage(&s);
}

TEST(a_listener_gets_a_resync_that_waited_while_others_began) {
    stage s;
    open_stage(&s);
    ki_listener *slow = add(&s, PERIOD), *fast = add(&s, PERIOD);
    int taken = 0;
    for (int round = 1; round <= 5; round++) {
        assert_true(resync(&s, round * PERIOD));
        taken += take_all(&s, fast);
    }
    assert_int_equal(taken, 5);
    assert_int_equal(take_all(&s, slow), 1); /* the first: the others would only repeat it */
    assert_true(resync(&s, 6 * PERIOD));
    assert_int_equal(take_all(&s, slow), 1);
    close_stage(&s);
}

TEST(no_resync_begins_while_each_listener_still_has_one) {
    stage s;
    open_stage(&s);
    ki_listener *slow = add(&s, PERIOD);
    assert_true(resync(&s, PERIOD));
    assert_false(resync(&s, 2 * PERIOD));
    assert_int_equal(take_all(&s, slow), 1);
    assert_true(resync(&s, 3 * PERIOD));
    assert_int_equal(take_all(&s, slow), 1);
    close_stage(&s);
}

TEST(a_late_listener_gets_no_resync_that_began_before) {
    stage s;
    open_stage(&s);
    add(&s, PERIOD);
    assert_true(ki_processor_resync_due(&s.processor, PERIOD));
    ki_listener *late = add(&s, PERIOD);
    stage_updates(&s, 1, true, false);
    ki_processor_publish(&s.processor);
    assert_int_equal(take_all(&s, late), 0);
    close_stage(&s);
}

/* The watch pauses for changes of the cluster alone: what a resync repeats is in the cache. */
TEST(a_resync_is_no_load_and_waits_only_for_those_whom_it_is_for) {
    stage s;
    open_stage(&s);
    ki_listener *often = add(&s, PERIOD), *seldom = add(&s, 3 * PERIOD), *never = add(&s, 0);
    assert_true(resync_of(&s, PERIOD, MANY));
    stage_updates(&s, MANY, true, true); /* a list that changes nothing */
    stage_updates(&s, 1, false, false);
    ki_processor_publish(&s.processor);
    assert_int_equal(ki_processor_load(&s.processor), 1);
    assert_int_equal(ki_listener_pending(often), 2 * MANY + 1);
    assert_int_equal(ki_listener_pending(seldom), MANY + 1);
    assert_int_equal(ki_listener_pending(never), 1);
    assert_int_equal(take_all(&s, often), 2 * MANY + 1);
    assert_int_equal(take_all(&s, seldom), MANY + 1);
    assert_int_equal(ki_processor_load(&s.processor), 1);
    assert_int_equal(take_all(&s, never), 1);
    assert_int_equal(ki_processor_load(&s.processor), 0);
    assert_int_equal(ki_listener_pending(never), 0);
    close_stage(&s);
}

/* Its changes come again, unless their objects are gone by then. */
TEST(the_next_resync_does_not_wait_for_a_resync_that_was_dropped) {
    stage s;
    open_stage(&s);
    ki_listener *listener = add(&s, PERIOD);
    assert_true(ki_processor_resync_due(&s.processor, PERIOD));
    stage_updates(&s, MANY, true, false);
    ki_processor_drop(&s.processor);
    assert_true(resync(&s, 2 * PERIOD));
    assert_int_equal(take_all(&s, listener), 1);
    close_stage(&s);
}
