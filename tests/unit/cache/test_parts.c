/* test_parts.c: an informer put together by hand from <kinformer/parts/…>: a source, a reflector, a queue, a process
 * loop and a store. */
#include <kinformer/parts/object_format.h>
#include <kinformer/parts/process_loop.h>
#include <kinformer/parts/reflector.h>

#include "tests/support/fake_list_watch.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_store *store;
    ki_queue *queue;
    ki_reflector *reflector;
    ki_process_loop *loop;
    int failures;    /* so many calls of process fail, from now on */
    const char *bad; /* process fails with this name; NULL: with none */
    bool drops;      /* after a failure */
    bool wants_resync;
    int64_t retry_ms; /* of the last report */
    int reports;
    char seen[NOTATION_TEXT]; /* "+a ~a -a" */
} stage;

static ki_status process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    stage *s = user;
    *ret_requeue = !s->drops;
    if (s->failures > 0) {
        s->failures--;
        return KI_ERR_SYSTEM;
    }
    for (size_t i = 0; s->bad && i < deltas->count; i++)
        if (strcmp(ki_object_name(deltas->items[i].obj), s->bad) == 0)
            return KI_ERR_SYSTEM;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < deltas->count; i++) {
        const ki_change *delta = &deltas->items[i];
        const char *key = ki_object_key(delta->obj);
        bool is_deleted = delta->type == KI_EVENT_DELETE;
        ki_object *old = ki_store_get(s->store, key);
        bool is_known = old != NULL;
        ki_object_unref(old);
        status = is_deleted ? ki_store_delete(s->store, key, NULL, err) : ki_store_put(s->store, delta->obj, NULL, err);
        size_t used = strlen(s->seen);
        if (!status)
            snprintf(s->seen + used, sizeof s->seen - used, "%s%c%s%s", used ? " " : "",
                     is_deleted ? '-'
                     : is_known ? '~'
                                : '+',
                     ki_object_name(delta->obj), delta->is_resync ? "r" : "");
    }
    *ret_requeue = status != KI_OK;
    return status;
}

static bool should_resync(void *user) {
    return ((stage *)user)->wants_resync;
}

static void on_error(const ki_error *err, int64_t retry_ms, void *user) {
    stage *s = user;
    assert_int_not_equal(err->code, KI_OK);
    s->reports++;
    s->retry_ms = retry_ms;
}

static ki_status open_parts(stage *s, ki_queue_kind kind, const ki_allocator *allocator) {
    static const ki_factory_options in_pages = { .size = sizeof in_pages, .no_streaming_list = true };
    ki_engine *engine = s->engine.engine;
    ki_status status = ki_store_new(&KI_STORE_OPTIONS(.allocator = allocator), &s->store, NULL);
    if (status)
        return status;
    const ki_queue_options options =
        KI_QUEUE_OPTIONS(.kind = kind, .allocator = allocator, .known = ki_store_known_objects(s->store));
    status = ki_queue_new(&options, &s->queue, NULL);
    if (!status)
        status = ki_reflector_new(&KI_REFLECTOR_OPTIONS(.engine = engine, .list_watch = &s->source.base,
                                                        .queue = s->queue, .factory = &in_pages),
                                  &s->reflector, NULL);
    if (!status)
        status = ki_process_loop_new(&KI_PROCESS_LOOP_OPTIONS(.engine = engine, .queue = s->queue, .process = process,
                                                              .resync_ms = 60000, .should_resync = should_resync,
                                                              .on_error = on_error, .user = s),
                                     &s->loop, NULL);
    return status;
}

static void close_parts(stage *s) {
    ki_process_loop_free(s->loop);
    ki_reflector_free(s->reflector);
    ki_queue_free(s->queue);
    ki_store_free(s->store);
    test_engine_close(&s->engine);
}

static void open_stage(stage *s, ki_queue_kind kind) {
    *s = (stage){ .failures = 0 };
    assert_true(test_engine_open(&s->engine, NULL, 1));
    fake_init(&s->source);
    assert_int_equal(open_parts(s, kind, NULL), KI_OK);
    ki_reflector_start(s->reflector);
    assert_true(test_engine_settle(&s->engine));
}

static void play_step(const char *step, void *user) {
    stage *s = user;
    fake_step(&s->source, &s->engine, step);
    assert_true(test_engine_settle(&s->engine));
}

/* Plays the steps of fake_list_watch.h. */
static void play(stage *s, const char *script) {
    notation_play(script, play_step, s);
}

static void assert_seen(stage *s, const char *seen) {
    assert_string_equal(s->seen, seen);
    s->seen[0] = '\0';
}

TEST(the_parts_together_keep_a_store_current) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        play(&s, "{10: a=5 b=6}");
        assert_seen(&s, "+a +b");
        assert_true(ki_queue_has_synced(s.queue));
        assert_string_equal(ki_reflector_resource_version(s.reflector), "10");
        play(&s, "open; +c=11; ~a=12; -b=13");
        assert_seen(&s, "+c ~a -b");
        assert_int_equal(ki_store_count(s.store), 2);
        assert_int_equal(ki_queue_length(s.queue), 0);
        close_parts(&s);
        assert_false(s.source.freed);
    }
}

TEST(an_object_that_a_list_lacks_can_be_read_after_it_was_deleted_from_the_store) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        play(&s, "{10: a=5 b=6}");
        assert_seen(&s, "+a +b");
        play(&s, "open; error expired; wait 3000; {12: b=6}"); /* `process` deletes first, then reads the name */
        assert_seen(&s, "-a ~b");
        close_parts(&s);
    }
}

TEST(a_bad_key_blocks_no_other_and_is_tried_after_growing_delays) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        play(&s, "{10: a=5}; open");
        assert_seen(&s, "+a");
        s.bad = "a";
        play(&s, "~a=11; +b=12");
        assert_seen(&s, "+b");
        assert_int_equal(s.reports, 1);
        assert_in_range(s.retry_ms, 800, 1600);
        assert_true(test_engine_advance(&s.engine, 1600));
        assert_int_equal(s.reports, 2);
        assert_in_range(s.retry_ms, 1600, 3200);
        play(&s, "+c=13");
        assert_seen(&s, "+c");
        for (int minute = 0; minute < 10; minute++) {
            assert_true(test_engine_advance(&s.engine, 60000));
            assert_in_range(s.retry_ms, 800, 60000);
        }
        assert_in_range(s.reports, 10, 40);
        s.bad = NULL;
        assert_true(test_engine_advance(&s.engine, 60000));
        assert_seen(&s, "~a");
        assert_int_equal(ki_queue_length(s.queue), 0);
        close_parts(&s);
    }
}

TEST(a_bad_key_of_a_list_blocks_no_other_of_it) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        s.bad = "b";
        play(&s, "{10: a=5 b=6 c=7}; open");
        assert_seen(&s, "+a +c");
        assert_int_equal(s.reports, 1);
        assert_in_range(s.retry_ms, 800, 1600);
        assert_false(ki_queue_has_synced(s.queue)); /* the first list has b, too */
        play(&s, "+d=13");
        assert_seen(&s, "+d");
        assert_true(test_engine_advance(&s.engine, 60000));
        assert_seen(&s, "");
        assert_in_range(s.reports, 3, 9);
        s.bad = NULL;
        assert_true(test_engine_advance(&s.engine, 60000));
        assert_seen(&s, "+b");
        assert_true(ki_queue_has_synced(s.queue));
        assert_int_equal(ki_queue_length(s.queue), 0);
        close_parts(&s);
    }
}

TEST(a_list_with_a_bad_deletion_or_of_bad_keys_ends) {
    stage s;
    open_stage(&s, KI_QUEUE_IN_ORDER);
    play(&s, "{10: a=5 b=6}; open");
    assert_seen(&s, "+a +b");
    s.bad = "a";
    play(&s, "fail 410; wait 2000; {20: b=6 c=15}; open");
    assert_seen(&s, "~b +c");
    assert_int_equal(ki_queue_length(s.queue), 1); /* what waits for its retry */
    s.bad = NULL;
    assert_true(test_engine_advance(&s.engine, 60000));
    assert_seen(&s, "-a");
    close_parts(&s);
    open_stage(&s, KI_QUEUE_IN_ORDER);
    s.failures = 3; /* both at once, and each */
    play(&s, "{10: a=5 b=6}; open");
    assert_int_equal(ki_queue_length(s.queue), 2);
    assert_int_equal(s.reports, 2);
    close_parts(&s); /* with what waits */
}

TEST(of_many_keys_that_fail_at_once_each_comes_again) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        play(&s, "{10:}; open");
        s.failures = 1000;
        for (int i = 0; i < 150; i++) {
            char text[32];
            snprintf(text, sizeof text, "+k%d=%d", i, 11 + i);
            play(&s, text);
        }
        assert_int_equal(ki_queue_length(s.queue), 150);
        s.failures = 0;
        assert_true(test_engine_advance(&s.engine, 60000));
        assert_int_equal(ki_queue_length(s.queue), 0);
        assert_int_equal(ki_store_count(s.store), 150);
        close_parts(&s);
    }
}

TEST(changes_that_fail_are_processed_again_in_their_order) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        play(&s, "{10: a=5}; open");
        assert_seen(&s, "+a");
        s.failures = 2;
        play(&s, "~a=11; +b=12");
        assert_seen(&s, "");
        assert_int_equal(s.reports, 2);
        assert_in_range(s.retry_ms, 1, 60000);
        assert_true(test_engine_advance(&s.engine, 60000));
        assert_int_equal(s.reports, 2);
        assert_seen(&s, "~a +b");
        close_parts(&s);
    }
}

TEST(changes_that_fail_without_a_retry_are_dropped_and_reported) {
    stage s;
    open_stage(&s, KI_QUEUE_DELTA_FIFO);
    play(&s, "{10: a=5}; open");
    s.seen[0] = '\0';
    s.failures = 1;
    s.drops = true;
    play(&s, "~a=11; +b=12");
    assert_seen(&s, "+b");
    assert_int_equal(s.reports, 1);
    assert_int_equal(s.retry_ms, -1);
    close_parts(&s);
}

TEST(a_resync_comes_when_its_period_is_over_and_it_is_wanted) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind);
        play(&s, "{10: a=5}; open");
        assert_seen(&s, "+a");
        assert_true(test_engine_advance(&s.engine, 60001));
        assert_seen(&s, "");
        s.wants_resync = true;
        assert_true(test_engine_advance(&s.engine, 60000));
        assert_seen(&s, "~ar");
        close_parts(&s);
    }
}

/* --- a reflector on a store --- */

static ki_status open_on_store(stage *s, const ki_allocator *allocator) {
    static const ki_factory_options in_pages = { .size = sizeof in_pages, .no_streaming_list = true };
    ki_status status = ki_store_new(&KI_STORE_OPTIONS(.allocator = allocator), &s->store, NULL);
    if (status)
        return status;
    return ki_reflector_new(&KI_REFLECTOR_OPTIONS(.engine = s->engine.engine, .list_watch = &s->source.base,
                                                  .store = s->store, .factory = &in_pages),
                            &s->reflector, NULL);
}

/* With a queue of each kind, and without one. */
enum {
    WITHOUT_QUEUE = KI_QUEUE_DELTA_FIFO + 1,
    FORMS
};

static ki_status open_form(stage *s, int form, const ki_allocator *allocator) {
    return form == WITHOUT_QUEUE ? open_on_store(s, allocator) : open_parts(s, (ki_queue_kind)form, allocator);
}

static void assert_stored(const stage *s, const char *key, const char *version) {
    ki_object *obj = ki_store_get(s->store, key);
    assert_int_equal(obj != NULL, version != NULL);
    if (obj)
        assert_string_equal(ki_object_resource_version(obj), version);
    ki_object_unref(obj);
}

TEST(a_reflector_keeps_a_store_without_a_queue) {
    stage s = { .failures = 0 };
    assert_true(test_engine_open(&s.engine, NULL, 1));
    fake_init(&s.source);
    assert_int_equal(open_on_store(&s, NULL), KI_OK);
    ki_reflector_start(s.reflector);
    assert_true(test_engine_settle(&s.engine));
    play(&s, "{10: a=5 b=6}; open");
    assert_int_equal(ki_store_count(s.store), 2);
    ki_snapshot *before = ki_store_snapshot(s.store);
    assert_string_equal(ki_snapshot_resource_version(before), "10");
    play(&s, "+c=11; ~a=12; -b=13");
    assert_stored(&s, "default/a", "12");
    assert_stored(&s, "default/b", NULL);
    assert_stored(&s, "default/c", "11");
    assert_int_equal(ki_snapshot_count(before), 2);
    ki_snapshot_free(before);
    play(&s, "error 410; wait 60000; {20: a=12 d=15}; open");
    assert_stored(&s, "default/c", NULL); /* the list does not have it */
    assert_stored(&s, "default/d", "15");
    ki_snapshot *after = ki_store_snapshot(s.store);
    assert_string_equal(ki_snapshot_resource_version(after), "20");
    ki_snapshot_free(after);
    close_parts(&s);
}

TEST(a_store_without_a_queue_takes_no_repeated_event) {
    stage s = { .failures = 0 };
    assert_true(test_engine_open(&s.engine, NULL, 1));
    fake_init(&s.source);
    assert_int_equal(open_on_store(&s, NULL), KI_OK);
    ki_reflector_start(s.reflector);
    assert_true(test_engine_settle(&s.engine));
    play(&s, "{10: a=5 b=6}; open; ~a=12; ~a=8; -a=11; +b=3");
    assert_stored(&s, "default/a", "12");
    assert_stored(&s, "default/b", "6");
    play(&s, "-a=13; error 410; wait 60000; {7: b=4}");
    assert_stored(&s, "default/a", NULL);
    assert_stored(&s, "default/b", "4"); /* a list is always applied */
    close_parts(&s);
}

TEST(a_reflector_has_a_queue_or_a_store) {
    stage s;
    ki_reflector *reflector = NULL;
    ki_error err = KI_ERROR_INIT;
    open_stage(&s, KI_QUEUE_IN_ORDER);
    ki_reflector_options options = KI_REFLECTOR_OPTIONS(.engine = s.engine.engine, .list_watch = &s.source.base);
    assert_int_equal(ki_reflector_new(&options, &reflector, &err), KI_ERR_INVALID);
    options.queue = s.queue;
    options.store = s.store;
    assert_int_equal(ki_reflector_new(&options, &reflector, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "ki_reflector_options: .store beside .queue");
    close_parts(&s);
}

/* --- a source that has its objects at hand, and calls back at once --- */

typedef struct own_source {
    ki_list_watch base;
    ki_object *objects[2];
    bool is_cancelled, is_freed;
} own_source;

static ki_status own_list(ki_list_watch *list_watch, const ki_list_options *options, const ki_list_handler *handler,
                          ki_error *err) {
    own_source *source = (own_source *)(void *)list_watch;
    (void)options;
    (void)err;
    handler->on_object(source->objects[0], handler->user);
    handler->on_end(&(ki_list_result){ .resource_version = "5", .continue_token = "" }, NULL, handler->user);
    return KI_OK;
}

static ki_status own_watch(ki_list_watch *list_watch, const ki_watch_options *options, const ki_watch_handler *handler,
                           ki_error *err) {
    own_source *source = (own_source *)(void *)list_watch;
    (void)err;
    assert_string_equal(options->resource_version, "5");
    assert_false(options->send_initial_events);
    handler->on_open(handler->user);
    handler->on_event(KI_EVENT_ADD, source->objects[1], handler->user);
    return KI_OK;
}

static void own_cancel(ki_list_watch *list_watch) {
    ((own_source *)(void *)list_watch)->is_cancelled = true;
}

static void own_free(ki_list_watch *list_watch) {
    ((own_source *)(void *)list_watch)->is_freed = true;
}

TEST(a_source_of_the_program_needs_four_functions_and_may_call_back_at_once) {
    static const ki_list_watch_ops ops = {
        .list = own_list, .watch = own_watch, .cancel = own_cancel, .free = own_free, .no_streaming_list = true
    };
    static const char *const texts[] = { "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"4\"}}",
                                         "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"6\"}}" };
    own_source source = { .base = { &ops } };
    ki_object_format *format = NULL;
    stage s = { .failures = 0 };
    assert_int_equal(ki_object_format_new(NULL, NULL, &format, NULL), KI_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ki_object_format_read(format, texts[i], strlen(texts[i]), &source.objects[i], NULL), KI_OK);
    ki_object_format_unref(format);
    assert_true(test_engine_open(&s.engine, NULL, 1));
    fake_init(&s.source);
    assert_int_equal(open_parts(&s, KI_QUEUE_DELTA_FIFO, NULL), KI_OK);
    ki_reflector_free(s.reflector);
    assert_int_equal(
        ki_reflector_new(&KI_REFLECTOR_OPTIONS(.engine = s.engine.engine, .list_watch = &source.base, .queue = s.queue),
                         &s.reflector, NULL),
        KI_OK);
    ki_reflector_start(s.reflector);
    assert_true(test_engine_settle(&s.engine));
    assert_seen(&s, "+a +b");
    close_parts(&s);
    assert_true(source.is_cancelled);
    ki_list_watch_free(&source.base);
    assert_true(source.is_freed);
    ki_object_unref(source.objects[0]);
    ki_object_unref(source.objects[1]);
}

static ki_status unable_list(ki_list_watch *list_watch, const ki_list_options *options, const ki_list_handler *handler,
                             ki_error *err) {
    (void)list_watch, (void)options, (void)handler, (void)err;
    return KI_ERR_SYSTEM;
}

static ki_status unable_watch(ki_list_watch *list_watch, const ki_watch_options *options,
                              const ki_watch_handler *handler, ki_error *err) {
    (void)list_watch, (void)options, (void)handler, (void)err;
    return KI_ERR_SYSTEM;
}

static void keep_error(const ki_error *err, void *user) {
    *(ki_error *)user = *err;
}

TEST(a_source_that_fails_without_an_error_gets_one) {
    static const ki_list_watch_ops sources[] = {
        { .list = unable_list, .watch = own_watch, .cancel = own_cancel, .free = own_free, .no_streaming_list = true },
        { .list = own_list, .watch = unable_watch, .cancel = own_cancel, .free = own_free, .no_streaming_list = true },
    };
    static const char *const expected[] = { "the list function returned", "the watch function returned" };
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"4\"}}";
    for (size_t i = 0; i < 2; i++) {
        own_source source = { .base = { &sources[i] } };
        ki_object_format *format = NULL;
        ki_error seen = KI_ERROR_INIT;
        stage s = { .failures = 0 };
        assert_int_equal(ki_object_format_new(NULL, NULL, &format, NULL), KI_OK);
        assert_int_equal(ki_object_format_read(format, text, strlen(text), &source.objects[0], NULL), KI_OK);
        ki_object_format_unref(format);
        assert_true(test_engine_open(&s.engine, NULL, 1));
        fake_init(&s.source);
        assert_int_equal(open_parts(&s, KI_QUEUE_DELTA_FIFO, NULL), KI_OK);
        ki_reflector_free(s.reflector);
        assert_int_equal(
            ki_reflector_new(&KI_REFLECTOR_OPTIONS(.engine = s.engine.engine, .list_watch = &source.base,
                                                   .queue = s.queue, .on_error = keep_error, .user = &seen),
                             &s.reflector, NULL),
            KI_OK);
        ki_reflector_start(s.reflector);
        assert_true(test_engine_settle(&s.engine));
        assert_int_equal(seen.code, KI_ERR_SYSTEM);
        assert_non_null(strstr(seen.message, expected[i]));
        close_parts(&s);
        ki_list_watch_free(&source.base);
        ki_object_unref(source.objects[0]);
    }
}

TEST(parts_that_cannot_be_made_for_lack_of_memory_leave_nothing) {
    for (int form = 0; form < FORMS; form++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            stage s = { .failures = 0 };
            assert_true(test_engine_open(&s.engine, &memory.allocator, 1));
            fake_init(&s.source);
            scarce_memory_begin(&memory);
            ki_status status = open_form(&s, form, &memory.allocator);
            assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
            if (!status)
                ki_reflector_start(s.reflector);
            close_parts(&s);
        }
    }
}

TEST(lack_of_memory_loses_no_change) {
    for (int form = 0; form < FORMS; form++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            stage s = { .failures = 0 };
            assert_true(test_engine_open(&s.engine, &memory.allocator, 1));
            fake_init(&s.source);
            assert_int_equal(open_form(&s, form, &memory.allocator), KI_OK);
            ki_reflector_start(s.reflector);
            assert_true(test_engine_settle(&s.engine));
            play(&s, "{10: a=5 b=6}; open");
            scarce_memory_begin(&memory);
            play(&s, "~a=11");
            for (int tries = 0; tries < 4 && ki_store_count(s.store) == 2; tries++) { /* it may list again */
                if (s.source.watches)
                    play(&s, "-b=12");
                else if (s.source.lists)
                    play(&s, "{12: a=11}; open");
                assert_true(test_engine_advance(&s.engine, 60000));
            }
            ki_object *a = ki_store_get(s.store, "default/a");
            assert_int_equal(ki_store_count(s.store), 1);
            assert_string_equal(ki_object_resource_version(a), "11");
            ki_object_unref(a);
            close_parts(&s);
        }
    }
}
