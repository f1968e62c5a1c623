/* test_processor.c: which listeners a resync is for. */

#include "src/cache/listener/listener.h"
#include "tests/support/notation.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

enum {
    PERIOD = 10
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

/* Begins a resync of one object. Returns false if no listener is due. */
static bool resync(stage *s, int64_t now) {
    const ki_change change = { .type = KI_EVENT_UPDATE, .obj = s->obj, .old = s->obj, .is_resync = true };
    if (!ki_processor_resync_due(&s->processor, now))
        return false;
    ki_processor_resync_begun(&s->processor, now);
    assert_int_equal(ki_processor_stage(&s->processor, &change), KI_OK);
    ki_processor_publish(&s->processor);
    return true;
}

/* Takes all that waits for the listener. Returns how many of it are for it. */
static int take_all(stage *s, ki_listener *listener) {
    ki_change change;
    uint64_t number;
    int wanted = 0;
    while (ki_change_log_take(&s->processor.log, &listener->reader, &change, &number)) {
        wanted += ki_listener_wants(listener, &change, number);
        ki_change_release(&change);
    }
    return wanted;
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
    const ki_change change = { .type = KI_EVENT_UPDATE, .is_resync = true };
    open_stage(&s);
    add(&s, PERIOD);
    assert_true(ki_processor_resync_due(&s.processor, PERIOD));
    const ki_listener *late = add(&s, PERIOD);
    assert_false(ki_listener_wants(late, &change, s.processor.log.end));
    close_stage(&s);
}
