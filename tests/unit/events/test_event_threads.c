/* Several threads record while the loop runs on one of its own: each event is counted once, and none is lost without
 * being counted. */
#include <kinformer-controllers/events.h>
#include <kinformer/kinformer.h>

#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "src/factory/factory.h"
#include "testing/memory/adapter.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 4,
    EVENTS = 1250 /* of each thread */
};

typedef struct stage {
    ki_engine *engine;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_factory *factory;
    ki_event_recorder *recorder;
} stage;

typedef struct writer {
    pthread_t thread;
    stage *stage;
    ki_object *objects[EVENTS / 5];
} writer;

static void open_stage(stage *s, ki_events_api api) {
    const kt_cluster_options options = { .seed = 1 };
    assert_int_equal(ki_engine_new(NULL, &s->engine, NULL), KI_OK);
    assert_int_equal(kt_cluster_new(NULL, &options, &s->cluster, NULL), KI_OK);
    assert_int_equal(kt_memory_adapter_new(s->engine, s->cluster, INT64_C(1767323045000), &s->adapter, NULL), KI_OK);
    assert_int_equal(kt_memory_transport_new(s->engine, kt_memory_adapter_server(s->adapter), &s->transport, NULL),
                     KI_OK);
    assert_int_equal(ki_factory_new_on(NULL, s->transport, &KI_FACTORY_OPTIONS(.engine = s->engine), &s->factory, NULL),
                     KI_OK);
    assert_int_equal(ki_event_recorder_new(s->factory, &KI_EVENT_RECORDER_OPTIONS(.component = "robot", .api = api),
                                           &s->recorder, NULL),
                     KI_OK);
    assert_int_equal(ki_engine_start(s->engine, NULL), KI_OK);
    assert_int_equal(ki_factory_start(s->factory, NULL), KI_OK);
}

static void free_server(void *user) {
    stage *s = user;
    ki_transport_free(s->transport);
    kt_memory_adapter_free(s->adapter);
}

static void close_stage(stage *s) {
    ki_event_recorder_free(s->recorder);
    ki_factory_free(s->factory);
    ki_engine_call(s->engine, free_server, s);
    ki_engine_free(s->engine);
    kt_cluster_free(s->cluster);
}

static void *record_all(void *user) {
    writer *w = user;
    for (size_t i = 0; i < EVENTS; i++) {
        ki_event_recorder_record(w->stage->recorder, w->objects[i % (EVENTS / 5)], KI_EVENT_NORMAL, "Reason",
                                 "message");
        ki_event_recorder_counts counts;
        ki_event_recorder_count(w->stage->recorder, &counts);
        if (counts.queued > KI_EVENT_QUEUE)
            abort();
    }
    return NULL;
}

static void make_writer(writer *w, stage *s, int number) {
    w->stage = s;
    for (size_t i = 0; i < EVENTS / 5; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"a-%d-%zu\",\"namespace\":\"default\"}}", number, i);
        w->objects[i] = make_object_from_json(json);
    }
}

static void record_from_all_threads(stage *s) {
    static writer writers[THREADS];
    for (int i = 0; i < THREADS; i++)
        make_writer(&writers[i], s, i);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&writers[i].thread, NULL, record_all, &writers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(writers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        for (size_t n = 0; n < EVENTS / 5; n++)
            ki_object_unref(writers[i].objects[n]);
}

TEST(each_event_of_four_threads_is_counted_once) {
    stage s = { 0 };
    ki_event_recorder_counts counts;
    open_stage(&s, KI_EVENTS_CORE_V1);
    record_from_all_threads(&s);
    assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK); /* sends what is queued, or drops it */
    ki_event_recorder_count(s.recorder, &counts);
    assert_int_equal(counts.recorded, THREADS * EVENTS);
    assert_int_equal(counts.queued, 0);
    assert_int_equal(counts.failed, 0);
    assert_int_equal(counts.filtered, 0);
    assert_int_equal(counts.sent + counts.dropped, THREADS * EVENTS);
    /* Equal ones are one Event. */
    size_t stored = kt_cluster_count(s.cluster, KI_EVENTS);
    assert_in_range(stored, 1, THREADS * EVENTS / 5);
    assert_true(counts.sent >= stored);
    close_stage(&s);
}

TEST(a_recorder_is_freed_while_the_loop_sends) {
    static const ki_events_api apis[] = { KI_EVENTS_CORE_V1, KI_EVENTS_V1 };
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        stage s = { 0 };
        open_stage(&s, apis[i]);
        record_from_all_threads(&s);
        ki_event_recorder_free(s.recorder);
        s.recorder = NULL;
        close_stage(&s);
    }
}
