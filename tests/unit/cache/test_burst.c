/* test_burst.c: a server that sends as fast as it can, and slow handlers: what was read and waits for them is bounded,
 * and all of it is delivered. */

#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
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
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        byte_stage s;
        size_t adds = 0, most = 0;
        ki_registration registration = { NULL, 0 };
        byte_stage_open(&s, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}",
                        KI_FACTORY_OPTIONS(.no_streaming_list = true), &KI_INFORMER_OPTIONS(.queue = kind));
        assert_int_equal(ki_informer_add_handler(s.informer, &counting, &adds, NULL, &registration, NULL), KI_OK);
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
                    KI_FACTORY_OPTIONS(.no_streaming_list = true), NULL);
    assert_int_equal(ki_informer_add_handler(s.informer, &counting, &adds, NULL, &registration, NULL), KI_OK);
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

/* --- a handler with a thread -------------------------------------------------------------------------------------- */

enum {
    BIG = 40000, /* bytes of an object that cannot be packed well */
    BIG_EVENTS = 400,
    WAITING_MAX = 6 << 20, /* bytes: where the watch is held, and what a step had begun: a batch of 64 events */
    LOOK_MS = 10,
    TAKEN = 50,          /* by a quick thread in that time */
    PAUSE_MS = 1000,     /* for a quick thread */
    SHORT_PAUSE_MS = 100 /* for a slow one */
};

/* A stage whose second handler has a thread, which the test plays: it takes nothing by itself. */
typedef struct slow_thread {
    byte_stage stage;
    size_t adds;
    ki_registration registration;
    ki_listener *listener;
} slow_thread;

static void open_slow_thread(slow_thread *s) {
    *s = (slow_thread){ .adds = 0 };
    byte_stage_open(&s->stage, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}",
                    KI_FACTORY_OPTIONS(.no_streaming_list = true), NULL);
    assert_int_equal(ki_informer_add_handler(s->stage.informer, &counting, &s->adds, NULL, &s->registration, NULL),
                     KI_OK);
    assert_true(test_engine_settle(&s->stage.engine));
    s->listener = s->stage.informer->processor.first;
    while (s->listener->id != s->registration.id)
        s->listener = s->listener->next;
    s->listener->thread.is_own = true;
}

/* Sends events of new objects. */
static void send_big(slow_thread *s, unsigned first, unsigned count) {
    char *text = malloc(BIG + EVENT_SIZE);
    uint64_t random = first + 1;
    assert_non_null(text);
    for (unsigned i = first; i < first + count; i++) {
        int size = sprintf(text,
                           "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                           "\"name\":\"k%u\",\"namespace\":\"ns\",\"resourceVersion\":\"%u\"},\"data\":{\"a\":\"",
                           i, i + 100);
        for (int j = 0; j < BIG; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[size++] = (char)('0' + (random >> 60));
        }
        size += sprintf(text + size, "\"}}}\n");
        assert_true(kt_memory_call_data(s->stage.watch, text, (size_t)size));
    }
    free(text);
    assert_true(test_engine_settle(&s->stage.engine));
}

TEST(a_slow_thread_delays_nobody) {
    slow_thread s;
    open_slow_thread(&s);
    send_big(&s, 0, BIG_EVENTS);
    assert_int_equal(s.stage.adds, BIG_EVENTS); /* of the stage's own handler, on the loop */
    assert_int_equal(ki_registration_pending(s.registration), BIG_EVENTS);
    s.listener->thread.is_own = false;
    byte_stage_close(&s.stage);
}
