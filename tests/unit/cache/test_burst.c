/* test_burst.c: a server that sends as fast as it can, and handlers on the loop: what was read and waits for them is
 * bounded, and all of it is told. */

#include "tests/support/byte_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVENTS = 6000,
    EVENT_SIZE = 256,
    AT_MOST = 500 /* changes: where the watch is held, and what a step had begun */
};

static void count_add(const ki_event *event, void *user) {
    (void)event;
    ++*(size_t *)user;
}

static const ki_handler counting = { .on_add = count_add };

/* Events of as many objects, from number `first` on. */
static void send_burst(byte_stage *s, unsigned first) {
    char *text = malloc((size_t)EVENTS * EVENT_SIZE), *at = text;
    assert_non_null(text);
    for (unsigned i = first; i < first + EVENTS; i++)
        at += sprintf(at,
                      "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                      "\"name\":\"k%u\","
                      "\"namespace\":\"ns\",\"resourceVersion\":\"%u\"}}}\n",
                      i, i + 100);
    assert_true(kt_memory_call_data(s->watch, text, (size_t)(at - text)));
    free(text);
}

TEST(what_waits_for_handlers_on_the_loop_is_bounded) {
    for (int in_order = 0; in_order < 2; in_order++) {
        byte_stage s;
        size_t adds = 0, most = 0;
        ki_registration registration = { NULL, 0 };
        byte_stage_open(&s, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}",
                        &KI_INFORMER_OPTIONS(.no_streaming_list = true, .in_order = in_order));
        assert_int_equal(ki_informer_register(s.informer, &counting, &adds, NULL, &registration, NULL), KI_OK);
        assert_true(test_engine_settle(&s.engine));
        for (unsigned burst = 0; burst < 2; burst++) {
            send_burst(&s, burst * EVENTS);
            while (ki_engine_timeout(s.engine.engine) == 0) {
                assert_int_equal(ki_engine_step(s.engine.engine, 0, NULL), KI_OK);
                size_t pending = ki_registration_pending(registration);
                most = pending > most ? pending : most;
            }
            assert_int_equal(adds, (burst + 1) * EVENTS);
        }
        assert_true(most > AT_MOST / 4); /* there was a burst */
        assert_true(most <= AT_MOST);
        byte_stage_close(&s);
    }
}

/* Nobody waits for a handler that has gone. */
TEST(a_handler_that_goes_lets_the_watch_continue) {
    byte_stage s;
    size_t adds = 0;
    ki_registration registration = { NULL, 0 };
    byte_stage_open(&s, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}",
                    &KI_INFORMER_OPTIONS(.no_streaming_list = true));
    assert_int_equal(ki_informer_register(s.informer, &counting, &adds, NULL, &registration, NULL), KI_OK);
    assert_true(test_engine_settle(&s.engine));
    send_burst(&s, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ki_engine_step(s.engine.engine, 0, NULL), KI_OK);
    assert_int_equal(ki_informer_remove_handler(s.informer, registration, NULL), KI_OK);
    while (ki_engine_timeout(s.engine.engine) == 0)
        assert_int_equal(ki_engine_step(s.engine.engine, 0, NULL), KI_OK);
    assert_int_equal(s.adds, EVENTS); /* the stage's own handler */
    byte_stage_close(&s);
}
