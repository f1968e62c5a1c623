/* test_readers.c: eight threads read snapshots, lists and indexes, while the loop applies changes as fast as it can and
 * lists again now and then. Each snapshot is one state of the cache: its objects, their number and its indexes agree.
 * With the in-order queue the state is one that the source had: its versions follow each other. */
#include <kinformer/kinformer.h>
#include <kinformer/parts/list_watch.h>
#include <kinformer/parts/object_format.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READERS = 8,
    OBJECTS = 40,
    COLOURS = 5,
    BURST = 50, /* events of one step of the loop */
    EVENTS = 10000,
    EVENTS_OF_WATCH = 6000 /* after which the watch ends with 410 */
};

/* Event number N writes object N % OBJECTS at version N, and gives it the colour N % COLOURS. */
typedef struct source {
    ki_list_watch base;
    ki_engine *engine;
    ki_object_format *format;
    ki_task task;
    ki_list_handler list;
    ki_watch_handler watch;
    bool lists, watches;
    long version, watch_end; /* version: of the last event */
} source;

static ki_object *make_pod(const source *self, long version) {
    char json[256];
    ki_object *obj = NULL;
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"p%ld\",\"namespace\":\"ns%ld\",\"resourceVersion\":\"%ld\",\"labels\":{\"colour\":"
        "\"c%ld\"}}}",
        version % OBJECTS, version % 2, version, version % COLOURS);
    assert_int_equal(ki_object_format_read(self->format, json, strlen(json), &obj, NULL), KI_OK);
    return obj;
}

static void respond_to_list(source *self) {
    char version[32];
    const ki_list_handler to = self->list;
    self->lists = false;
    for (long v = self->version - OBJECTS + 1; v <= self->version; v++) {
        ki_object *obj = make_pod(self, v);
        to.on_object(obj, to.user);
        ki_object_unref(obj);
    }
    snprintf(version, sizeof version, "%ld", self->version);
    to.on_end(&(ki_list_result){ .resource_version = version, .continue_token = "", .remaining_item_count = -1 }, NULL,
              to.user);
}

static void send_events(source *self) {
    const ki_watch_handler to = self->watch;
    for (int i = 0; i < BURST && self->watches && self->version < self->watch_end; i++) {
        ki_object *obj = make_pod(self, ++self->version);
        to.on_event(KI_EVENT_UPDATE, obj, to.user);
        ki_object_unref(obj);
    }
    if (!self->watches || self->version < self->watch_end || self->version >= EVENTS)
        return;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_EXPIRED, "too old resource version");
    err.http_status = 410;
    self->watches = false;
    to.on_end(&err, true, true, to.user);
}

static void work(ki_task *task, void *user) {
    source *self = user;
    if (self->lists)
        respond_to_list(self);
    else if (self->watches)
        send_events(self);
    if (self->lists || (self->watches && self->version < EVENTS))
        ki_task_post(task);
}

static ki_status list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                      ki_error *err) {
    source *self = (source *)(void *)base;
    (void)options;
    (void)err;
    self->list = *handler;
    self->lists = true;
    ki_task_post(&self->task);
    return KI_OK;
}

static ki_status watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                       ki_error *err) {
    source *self = (source *)(void *)base;
    (void)options;
    (void)err;
    self->watch = *handler;
    self->watches = true;
    self->watch_end = self->version + EVENTS_OF_WATCH < EVENTS ? self->version + EVENTS_OF_WATCH : EVENTS;
    handler->on_open(handler->user);
    ki_task_post(&self->task);
    return KI_OK;
}

static void cancel(ki_list_watch *base) {
    source *self = (source *)(void *)base;
    self->lists = self->watches = false;
}

static void free_source(ki_list_watch *base) {
    source *self = (source *)(void *)base;
    ki_task_cancel(&self->task);
}

static const ki_list_watch_ops ops = {
    .list = list, .watch = watch, .cancel = cancel, .free = free_source, .no_streaming_list = true
};

/* --- readers ------------------------------------------------------------------------------------------------------ */

typedef struct reading {
    ki_informer *informer;
    ki_queue_kind kind;
    _Atomic bool *has_ended;
    long snapshots;
} reading;

static void check_indexes(const ki_snapshot *now, size_t count) {
    size_t indexed = 0;
    for (int i = 0; i < COLOURS; i++) {
        char colour[16];
        snprintf(colour, sizeof colour, "c%d", i);
        ki_cursor cursor = KI_CURSOR_INIT;
        size_t found = 0;
        for (const ki_object *obj; (obj = ki_snapshot_next_by_index(now, "colour", colour, &cursor)); found++)
            assert_string_equal(ki_object_label(obj, "colour"), colour);
        assert_int_equal(found, ki_snapshot_count_by_index(now, "colour", colour));
        indexed += found;
    }
    assert_int_equal(indexed, count);
    assert_int_equal(ki_snapshot_count_by_index(now, KI_NAMESPACE_INDEX, "ns0") +
                         ki_snapshot_count_by_index(now, KI_NAMESPACE_INDEX, "ns1"),
                     count);
}

/* Returns the snapshot's newest version. */
static long check_snapshot(const ki_snapshot *now, ki_queue_kind kind) {
    ki_cursor cursor = KI_CURSOR_INIT;
    long newest = 0, oldest = EVENTS + 1;
    size_t count = 0;
    for (const ki_object *obj; (obj = ki_snapshot_next(now, &cursor)); count++) {
        long version = atol(ki_object_resource_version(obj));
        assert_ptr_equal(ki_snapshot_get(now, ki_object_key(obj)), obj);
        newest = version > newest ? version : newest;
        oldest = version < oldest ? version : oldest;
    }
    assert_int_equal(count, ki_snapshot_count(now));
    assert_true(count == 0 || count == OBJECTS || kind != KI_QUEUE_IN_ORDER);
    if (kind == KI_QUEUE_IN_ORDER && count)
        assert_int_equal(newest - oldest, OBJECTS - 1);
    check_indexes(now, count);
    return newest;
}

static void check_list(const reading *self) {
    ki_object_list objects;
    ki_object *obj = NULL;
    assert_int_equal(ki_lister_list(self->informer, "ns1", "colour in (c1,c3)", NULL, &objects, NULL), KI_OK);
    for (size_t i = 0; i < objects.count; i++)
        assert_string_equal(ki_object_namespace(objects.objects[i]), "ns1");
    ki_object_list_free(&objects);
    if (!ki_informer_get_by_index(self->informer, "colour", "c2", &obj, NULL))
        assert_string_equal(ki_object_label(obj, "colour"), "c2");
    ki_object_unref(obj);
}

static void *read_on(void *user) {
    reading *self = user;
    long before = 0;
    for (bool is_last = false; !is_last; self->snapshots++) {
        is_last = atomic_load(self->has_ended);
        ki_snapshot *now = ki_informer_snapshot(self->informer);
        long newest = check_snapshot(now, self->kind);
        assert_true(newest >= before); /* no state goes back */
        before = newest;
        ki_snapshot_free(now);
        check_list(self);
    }
    return NULL;
}

static void read_while_it_changes(ki_queue_kind kind) {
    static source self;
    static const ki_indexer by_colour = { .name = "colour", .path = "metadata.labels.colour" };
    _Atomic bool has_ended = false;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    pthread_t threads[READERS];
    reading readings[READERS];
    char last[32];
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &config, NULL), KI_OK);
    assert_int_equal(ki_factory_new(config, NULL, &factory, NULL), KI_OK);
    self = (source){ .base = { &ops }, .engine = ki_factory_engine(factory), .version = OBJECTS };
    ki_task_init(&self.task, self.engine, work, &self);
    assert_int_equal(ki_object_format_new(NULL, NULL, &self.format, NULL), KI_OK);
    assert_int_equal(
        ki_factory_informer_for(factory, KI_PODS, &self.base, &KI_INFORMER_OPTIONS(.queue = kind), &informer, NULL),
        KI_OK);
    assert_int_equal(ki_informer_add_indexers(informer, &by_colour, 1, NULL), KI_OK);
    for (size_t i = 0; i < READERS; i++) {
        readings[i] = (reading){ .informer = informer, .kind = kind, .has_ended = &has_ended };
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readings[i]), 0);
    }
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    snprintf(last, sizeof last, "%d", EVENTS);
    assert_int_equal(ki_informer_wait_for_version(informer, NULL, last, (int64_t)PATIENCE_S * 1000, NULL), KI_OK);
    atomic_store(&has_ended, true);
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(readings[i].snapshots > 0);
    }
    ki_factory_free(factory);
    ki_object_format_unref(self.format);
    ki_config_free(config);
}

TEST(readers_see_whole_states_while_changes_are_applied_by_key) {
    read_while_it_changes(KI_QUEUE_DELTA_FIFO);
}

TEST(readers_see_states_of_the_source_while_changes_are_applied_in_order) {
    read_while_it_changes(KI_QUEUE_IN_ORDER);
}
