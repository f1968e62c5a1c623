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
                        &KI_INFORMER_OPTIONS(.no_streaming_list = true, .queue = kind));
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

static void open_slow_thread(slow_thread *s, ki_delivery delivery) {
    *s = (slow_thread){ .adds = 0 };
    byte_stage_open(&s->stage, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}",
                    &KI_INFORMER_OPTIONS(.no_streaming_list = true));
    assert_int_equal(ki_informer_register(s->stage.informer, &counting, &s->adds,
                                          &KI_REGISTRATION_OPTIONS(.delivery = delivery), &s->registration, NULL),
                     KI_OK);
    assert_true(test_engine_settle(&s->stage.engine));
    s->listener = s->stage.informer->processor.first;
    while (s->listener->id != s->registration.id)
        s->listener = s->listener->next;
    s->listener->has_thread = true;
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

/* The thread takes changes. */
static void take(slow_thread *s, size_t count) {
    ki_change change;
    ki_mutex_lock(&s->listener->mutex);
    for (; count && ki_pending_pop(&s->listener->pending, &change); count--) {
        ki_change_release(&change);
        atomic_fetch_add(&s->listener->taken, 1);
    }
    atomic_store(&s->listener->waiting, s->listener->pending.count);
    ki_mutex_unlock(&s->listener->mutex);
}

static void close_slow_thread(slow_thread *s) {
    s->listener->has_thread = false;
    byte_stage_close(&s->stage);
}

TEST(what_waits_for_a_thread_that_takes_it_is_bounded) {
    slow_thread s;
    open_slow_thread(&s, KI_DELIVER_ALL);
    send_big(&s, 0, BIG_EVENTS);
    assert_in_range(ki_listener_waiting_bytes(s.listener), WAITING_MAX / 2, WAITING_MAX);
    for (size_t taken = TAKEN; s.stage.adds < BIG_EVENTS; taken += TAKEN) { /* the stage's own handler, on the loop */
        take(&s, TAKEN);
        assert_true(test_engine_advance(&s.stage.engine, LOOK_MS));
        assert_in_range(ki_listener_waiting_bytes(s.listener), 1, WAITING_MAX);
        assert_true(taken < BIG_EVENTS);
    }
    close_slow_thread(&s);
}

/* Takes a number of changes between two looks of the loop, until the watch continues. Returns how long that took, in
 * ms. */
static int64_t pause_ms(slow_thread *s, int64_t look_ms, size_t taken) {
    size_t adds = s->stage.adds;
    int64_t ms = 0;
    for (; s->stage.adds == adds && ms <= 2 * PAUSE_MS; ms += look_ms) {
        atomic_fetch_add(&s->listener->taken, taken); /* of small changes, in comparison */
        s->stage.engine.now += KI_MILLISECONDS(look_ms);
        assert_true(test_engine_settle(&s->stage.engine));
    }
    return ms;
}

TEST(the_watch_waits_for_a_thread_a_second_at_most_until_little_waits) {
    static const struct {
        int64_t look_ms;
        size_t taken;
        int64_t pause_ms;
    } rows[] = {
        { LOOK_MS, TAKEN, PAUSE_MS },
        { LOOK_MS, TAKEN - 1, SHORT_PAUSE_MS },
        { 10 * LOOK_MS, 10 * TAKEN, PAUSE_MS }, /* a loop that is late */
        { 5 * LOOK_MS, 5 * TAKEN - 1, SHORT_PAUSE_MS },
        { LOOK_MS, 0, SHORT_PAUSE_MS },
    };
    slow_thread s;
    open_slow_thread(&s, KI_DELIVER_ALL);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned first = i * 2 * BIG_EVENTS;
        send_big(&s, first, BIG_EVENTS);
        assert_true(s.stage.adds < first + BIG_EVENTS);
        assert_in_range(pause_ms(&s, rows[i].look_ms, rows[i].taken), rows[i].pause_ms,
                        rows[i].pause_ms + rows[i].look_ms);
        assert_int_equal(s.stage.adds, first + BIG_EVENTS);
        send_big(&s, first + BIG_EVENTS, BIG_EVENTS); /* no more pauses */
        assert_int_equal(s.stage.adds, first + 2 * BIG_EVENTS);
        take(&s, 2 * BIG_EVENTS);
    }
    close_slow_thread(&s);
}

/* They are the store's: to wait for the thread would save nothing. */
TEST(the_watch_does_not_wait_for_a_thread_with_the_first_list) {
    slow_thread s;
    open_slow_thread(&s, KI_DELIVER_ALL);
    send_big(&s, 0, BIG_EVENTS / 8);
    const ki_change listed = { .type = KI_EVENT_ADD,
                               .obj = ki_informer_get(s.stage.informer, "ns/k0"),
                               .is_in_initial_list = true };
    const ki_change resync = { .type = KI_EVENT_UPDATE, .obj = listed.obj, .old = listed.obj, .is_resync = true };
    for (unsigned i = 0; i < BIG_EVENTS; i++) {
        assert_int_equal(ki_listener_push(s.listener, &listed), KI_OK);
        assert_int_equal(ki_listener_push(s.listener, &resync), KI_OK);
    }
    ki_object_unref(listed.obj);
    assert_in_range(ki_listener_waiting_bytes(s.listener), 2 * WAITING_MAX, SIZE_MAX);
    send_big(&s, BIG_EVENTS / 8, BIG_EVENTS / 8);
    assert_int_equal(s.stage.adds, BIG_EVENTS / 4);
    close_slow_thread(&s);
}

TEST(the_watch_does_not_wait_for_a_thread_with_the_latest) {
    slow_thread s;
    open_slow_thread(&s, KI_DELIVER_LATEST);
    send_big(&s, 0, BIG_EVENTS);
    assert_int_equal(s.stage.adds, BIG_EVENTS);
    close_slow_thread(&s);
}

/* Nobody waits for a thread whose handler has gone, also while it still runs. */
TEST(a_handler_with_a_thread_that_goes_lets_the_watch_continue) {
    slow_thread s;
    open_slow_thread(&s, KI_DELIVER_ALL);
    send_big(&s, 0, BIG_EVENTS);
    assert_true(s.stage.adds < BIG_EVENTS);
    assert_int_equal(ki_informer_remove_handler(s.stage.informer, s.registration, NULL), KI_OK);
    assert_true(test_engine_advance(&s.stage.engine, LOOK_MS));
    assert_int_equal(s.stage.adds, BIG_EVENTS);
    s.listener->has_thread = false;
    ki_task_post(&s.listener->task); /* the loop frees it */
    assert_true(test_engine_advance(&s.stage.engine, PAUSE_MS));
    byte_stage_close(&s.stage);
}
