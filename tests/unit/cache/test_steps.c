/* test_steps.c: lists and resyncs of any size go through in small steps: what one step does is counted in allocations
 * and calls, and what may come in between two of them comes out right. With both queues. */

#include "src/cache/informer/informer_parts.h"
#include "src/object/format.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FEW = 200,
    MANY = 1200,
    LONG_STEP = 20, /* units */
    SMALL = 12,     /* objects where each step is tried */
    STEP_LIMIT = 100000
};

/* --- memory whose calls are counted ------------------------------------------------------------------------------- */

typedef struct counted_memory {
    ki_allocator allocator;
    size_t calls; /* frees, too */
    size_t blocks;
} counted_memory;

static void *count_alloc(size_t size, void *user) {
    counted_memory *memory = user;
    memory->calls++;
    memory->blocks++;
    return malloc(size);
}

static void *count_realloc(void *block, size_t size, void *user) {
    counted_memory *memory = user;
    memory->calls++;
    memory->blocks += block == NULL;
    return realloc(block, size);
}

static void count_free(void *block, void *user) {
    counted_memory *memory = user;
    memory->calls += block != NULL;
    memory->blocks -= block != NULL;
    free(block);
}

/* --- the stage ---------------------------------------------------------------------------------------------------- */

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

typedef struct observer {
    size_t adds, updates, deletes;
} observer;

static void on_add(const ki_event *event, void *user) {
    (void)event;
    ((observer *)user)->adds++;
}

static void on_update(const ki_event *event, void *user) {
    (void)event;
    ((observer *)user)->updates++;
}

static void on_delete(const ki_event *event, void *user) {
    (void)event;
    ((observer *)user)->deletes++;
}

static const ki_handler observing = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };

typedef struct stage {
    counted_memory memory;
    test_engine engine;
    fake_list_watch source;
    ki_object_format *format;
    ki_informer *informer;
    observer observer, other; /* the other one has no resyncs */
    ki_registration registration, other_registration;
    size_t most; /* calls of the allocator in one step, or in one call of the source */
} stage;

static void open_stage(stage *s, ki_queue_kind kind, bool streams) {
    *s = (stage){ .most = 0 };
    s->memory.allocator = (ki_allocator){ count_alloc, count_realloc, count_free, &s->memory };
    assert_true(test_engine_open(&s->engine, &s->memory.allocator, 1));
    fake_init(&s->source);
    assert_int_equal(ki_object_format_new(&s->memory.allocator, NULL, &s->format, NULL), KI_OK);
    ki_shared_informer_options options = { .engine = s->engine.engine,
                                           .list_watch = &s->source.base,
                                           .given.resync_ms = 3600000,
                                           .factory = streaming_if(streams),
                                           .given.queue = kind,
                                           .seed = 5 };
    assert_int_equal(informer_of(&configmaps, options, &s->informer), KI_OK);
    const ki_registration_options without_resync = KI_REGISTRATION_OPTIONS(.resync_ms = -1);
    assert_int_equal(ki_informer_add_handler(s->informer, &observing, &s->observer, NULL, &s->registration, NULL),
                     KI_OK);
    assert_int_equal(
        ki_informer_add_handler(s->informer, &observing, &s->other, &without_resync, &s->other_registration, NULL),
        KI_OK);
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
}

static void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    ki_object_format_unref(s->format);
    test_engine_close(&s->engine);
    assert_int_equal(s->memory.blocks, 0);
}

/* Counts what was done since `before`. */
static void note(stage *s, size_t before) {
    size_t calls = s->memory.calls - before;
    s->most = calls > s->most ? calls : s->most;
}

static size_t handler_calls(const stage *s) {
    return s->observer.adds + s->observer.updates + s->observer.deletes + s->other.adds + s->other.updates +
           s->other.deletes;
}

/* Does one unit of what is due, which calls one handler at most. Returns false where nothing is due. */
static bool step(stage *s) {
    if (ki_engine_timeout(s->engine.engine) != 0)
        return false;
    size_t before = s->memory.calls, handler_calls_before = handler_calls(s);
    assert_int_equal(ki_engine_step(s->engine.engine, 1, NULL), KI_OK);
    note(s, before);
    assert_true(handler_calls(s) <= handler_calls_before + 1);
    return true;
}

static void settle(stage *s) {
    for (int i = 0; step(s); i++)
        assert_true(i < STEP_LIMIT);
}

/* Its memory is counted, too. */
static ki_object *new_object(stage *s, unsigned number, const char *version) {
    char json[160];
    ki_object *obj = NULL;
    snprintf(json, sizeof json,
             "{\"metadata\":{\"namespace\":\"default\",\"name\":\"k%u\",\"uid\":\"default/k%u-uid\","
             "\"resourceVersion\":\"%s\"}}",
             number, number, version);
    assert_int_equal(ki_object_from_json(s->format, ki_str_of(json), "v1", "ConfigMap", &obj, NULL), KI_OK);
    return obj;
}

/* The objects of a list, from number `first` on. */
static void add_items(stage *s, unsigned first, unsigned count, const char *version) {
    bool streams = !s->source.lists;
    assert_true(s->source.lists || s->source.streams);
    if (streams)
        s->source.watch.on_open(s->source.watch.user);
    for (unsigned i = first; i < first + count; i++) {
        ki_object *obj = new_object(s, i, version);
        size_t before = s->memory.calls;
        if (streams)
            s->source.watch.on_event(KI_EVENT_ADD, obj, s->source.watch.user);
        else
            s->source.list.on_object(obj, s->source.list.user);
        note(s, before);
        ki_object_unref(obj);
    }
}

static void end_list(stage *s, const char *version) {
    char line[64];
    size_t before = s->memory.calls;
    snprintf(line, sizeof line, s->source.lists ? "{%s:}" : "initial-end %s", version);
    if (!fake_play(&s->source, line))
        fail_msg("no source can do \"%s\" now; asked: %s", line, s->source.trace);
    note(s, before);
}

/* Hands a list over. */
static void list(stage *s, unsigned first, unsigned count, const char *version) {
    settle(s);
    add_items(s, first, count, version);
    end_list(s, version);
}

/* Makes the reflector ask for the next list. */
static void expire(stage *s) {
    settle(s);
    if (!s->source.opened)
        assert_true(fake_play(&s->source, "open"));
    assert_true(fake_play(&s->source, "fail 410"));
    settle(s);
    s->engine.now += KI_SECONDS(60); /* past the backoff */
    settle(s);
}

/* Begins a list of objects that are not there, which fails at its end. */
static void give_up_list(stage *s, unsigned first, unsigned count) {
    size_t before_list = s->memory.blocks;
    expire(s);
    add_items(s, first, count, "30");
    size_t before = s->memory.calls;
    assert_true(fake_play(&s->source, "fail 500"));
    note(s, before);
    s->engine.now += KI_SECONDS(120);
    settle(s); /* the next one is asked for: what was there of the first one is dropped */
    assert_true(s->memory.blocks < before_list + 64);
    list(s, first / 2, count, "20"); /* as it was */
    settle(s);
}

/* Replaces all objects once a list is asked for, in steps that are long beside the calls of the handler, of which there
 * is one in a turn. Ends once only the handler is left with something to do. */
static void outrun(stage *s, unsigned count, const char *version) {
    size_t calls;
    add_items(s, 0, count, version);
    end_list(s, version);
    do {
        calls = handler_calls(s);
        assert_int_equal(ki_engine_step(s->engine.engine, LONG_STEP, NULL), KI_OK);
    } while (handler_calls(s) < calls + LONG_STEP);
    assert_true(ki_registration_pending(s->registration) > count / 2);
}

typedef struct removal {
    ki_informer *informer;
    ki_registration registration;
} removal;

static void remove_handler(void *user) {
    removal *it = user;
    assert_int_equal(ki_informer_remove_handler(it->informer, it->registration, NULL), KI_OK);
}

/* Off the loop the caller drops what waits for the handler, at once. */
static void remove_on_loop(stage *s, ki_registration registration) {
    removal it = { s->informer, registration };
    size_t before = s->memory.calls;
    ki_engine_call(s->engine.engine, remove_handler, &it);
    note(s, before);
    settle(s);
}

/* A handler that comes before all objects are replaced. */
static void outrun_late_handler(stage *s, unsigned count, const char *version) {
    expire(s);
    assert_int_equal(ki_informer_add_handler(s->informer, &observing, &s->observer, NULL, &s->registration, NULL),
                     KI_OK);
    assert_int_equal(ki_registration_pending(s->registration), count);
    outrun(s, count, version);
}

/* What waits for a handler, or is there for its replay, is the only reference to very many objects that the cache has
 * replaced. */
static void replay_and_remove(stage *s, unsigned count) {
    remove_on_loop(s, s->other_registration);
    expire(s);
    outrun(s, count, "40");
    remove_on_loop(s, s->registration); /* with changes */
    outrun_late_handler(s, count, "41");
    remove_on_loop(s, s->registration); /* with a replay and changes */
    outrun_late_handler(s, count, "42");
    settle(s); /* the replay ends */
}

/* --- how much a step does ----------------------------------------------------------------------------------------- */

static size_t most_of_all_scenes(ki_queue_kind kind, bool streams, unsigned count) {
    stage s;
    open_stage(&s, kind, streams);
    list(&s, 0, count, "10");
    settle(&s);
    assert_true(ki_informer_has_synced(s.informer));
    assert_int_equal(s.observer.adds, count);
    expire(&s);
    list(&s, 0, count, "10"); /* the same once more */
    settle(&s);
    assert_int_equal(s.observer.deletes, 0);
    expire(&s);
    list(&s, count / 2, count, "20"); /* all is another version, half of it is gone, half is new */
    settle(&s);
    assert_int_equal(s.observer.deletes, count - count / 2 - count % 2);
    assert_int_equal(ki_store_count(s.informer->store), count);
    s.observer.updates = 0;
    s.engine.now += KI_SECONDS(3600);
    settle(&s); /* a resync */
    assert_int_equal(s.observer.updates, count);
    give_up_list(&s, count, count);
    replay_and_remove(&s, count);
    close_stage(&s);
    return s.most;
}

TEST(a_step_does_no_more_where_there_are_more_objects) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        for (int streams = 0; streams < 2; streams++) {
            size_t few = most_of_all_scenes(kind, streams, FEW), many = most_of_all_scenes(kind, streams, MANY);
            /* The paths of the tree are deeper, by a level or two of the store and the index. */
            if (many > 2 * few + 64)
                fail_msg("queue %d, streams %d: %zu calls with %d objects, %zu with %d", kind, streams, few, FEW, many,
                         MANY);
        }
    }
}

/* A handler that keeps a snapshot of all objects until each is another. */
typedef struct keeper {
    stage *stage;
    ki_snapshot *snapshot;
    size_t adds, updates;
    size_t freed; /* blocks that went in the call that freed the snapshot */
} keeper;

static void keep_all(const ki_event *event, void *user) {
    keeper *k = user;
    (void)event;
    if (++k->adds == MANY)
        k->snapshot = ki_informer_snapshot(k->stage->informer);
}

static void free_kept(const ki_event *event, void *user) {
    keeper *k = user;
    (void)event;
    if (++k->updates < MANY)
        return;
    size_t before = k->stage->memory.blocks;
    ki_snapshot_free(k->snapshot);
    k->freed = before - k->stage->memory.blocks;
    k->snapshot = NULL;
}

TEST(a_snapshot_that_a_handler_on_the_loop_frees_goes_in_later_steps) {
    static const ki_handler keeping = { .on_add = keep_all, .on_update = free_kept };
    const ki_registration_options on_loop = KI_REGISTRATION_OPTIONS(.on_loop = true, .resync_ms = -1);
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        stage s;
        open_stage(&s, kind, false);
        keeper kept = { .stage = &s };
        assert_int_equal(ki_informer_add_handler(s.informer, &keeping, &kept, &on_loop, NULL, NULL), KI_OK);
        list(&s, 0, MANY, "10");
        expire(&s);
        assert_int_equal(ki_snapshot_count(kept.snapshot), MANY);
        list(&s, 0, MANY, "20");
        while (kept.snapshot)
            assert_true(step(&s));
        assert_int_equal(kept.freed, 0);
        size_t held = s.memory.blocks, most = 0;
        for (size_t before = held; step(&s); before = s.memory.blocks)
            most = before - s.memory.blocks > most && before > s.memory.blocks ? before - s.memory.blocks : most;
        assert_true(held - s.memory.blocks > MANY);
        assert_true(most < 2 * LONG_STEP);
        close_stage(&s);
    }
}

/* --- what comes in between ---------------------------------------------------------------------------------------- */

TEST(a_reader_sees_an_atomic_list_whole_or_not_at_all) {
    stage s;
    open_stage(&s, KI_QUEUE_IN_ORDER, false);
    list(&s, 0, SMALL, "10");
    settle(&s);
    expire(&s);
    list(&s, SMALL, 2 * SMALL, "20");
    size_t seen_old = 0, seen_new = 0;
    do {
        ki_snapshot *now = ki_informer_snapshot(s.informer);
        bool has_old = ki_snapshot_get(now, "default/k0") != NULL,
             has_new = ki_snapshot_get(now, "default/k30") != NULL;
        assert_true(has_old != has_new);
        assert_int_equal(ki_snapshot_count(now), has_old ? SMALL : 2 * SMALL);
        assert_string_equal(ki_snapshot_resource_version(now), has_old ? "10" : "20");
        assert_int_equal(ki_snapshot_count_by_index(now, KI_NAMESPACE_INDEX, "default"), ki_snapshot_count(now));
        ki_snapshot_free(now);
        seen_old += has_old;
        seen_new += has_new;
    } while (step(&s));
    assert_true(seen_old > SMALL && seen_new > SMALL); /* many steps each */
    close_stage(&s);
}

/* Each handler ends with the objects that are there, whenever it has come. */
TEST(a_handler_that_comes_in_the_middle_of_a_list_is_notified_of_each_object_once) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        bool more = true;
        for (unsigned at = 0; more; at++) {
            stage s;
            observer late = { 0, 0, 0 };
            open_stage(&s, kind, false);
            list(&s, 0, SMALL, "10");
            settle(&s);
            expire(&s);
            list(&s, SMALL / 2, SMALL, "20"); /* half is gone, half is new */
            for (unsigned i = 0; i < at && more; i++)
                more = step(&s);
            assert_int_equal(ki_informer_add_handler(s.informer, &observing, &late, NULL, NULL, NULL), KI_OK);
            settle(&s);
            assert_int_equal(late.adds - late.deletes, SMALL);
            assert_true(late.deletes == 0 || late.deletes <= SMALL / 2);
            assert_true(late.updates <= SMALL / 2);
            assert_int_equal(s.observer.adds, SMALL + SMALL / 2);
            assert_int_equal(s.observer.deletes, SMALL / 2);
            assert_int_equal(s.observer.updates, SMALL / 2);
            close_stage(&s);
        }
    }
}

static ki_status index_all(const ki_object *obj, ki_index_values *values, void *user) {
    (void)obj;
    (void)user;
    return ki_index_values_add(values, "all");
}

TEST(an_index_that_comes_in_the_middle_of_a_list_has_all_of_it) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        bool more = true;
        for (unsigned at = 0; more; at++) {
            stage s;
            const ki_indexer indexer = { .name = "all", .index = index_all };
            open_stage(&s, kind, false);
            list(&s, 0, SMALL, "10");
            settle(&s);
            expire(&s);
            list(&s, SMALL / 2, 2 * SMALL, "20");
            for (unsigned i = 0; i < at && more; i++)
                more = step(&s);
            assert_int_equal(ki_informer_add_indexers(s.informer, &indexer, 1, NULL), KI_OK);
            settle(&s);
            ki_snapshot *now = ki_informer_snapshot(s.informer);
            assert_int_equal(ki_snapshot_count(now), 2 * SMALL);
            assert_int_equal(ki_snapshot_count_by_index(now, "all", "all"), 2 * SMALL);
            assert_string_equal(ki_snapshot_resource_version(now), "20");
            ki_snapshot_free(now);
            assert_int_equal(s.observer.deletes, SMALL / 2);
            close_stage(&s);
        }
    }
}

TEST(a_stop_in_the_middle_of_a_list_or_resync_leaves_nothing) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        for (int streams = 0; streams < 2; streams++) {
            bool more = true;
            for (unsigned at = 0; more; at++) {
                stage s;
                open_stage(&s, kind, streams);
                list(&s, 0, SMALL, "10");
                settle(&s);
                expire(&s);
                list(&s, 1, SMALL, "20");
                s.engine.now += KI_SECONDS(3600);
                for (unsigned i = 0; i < at && more; i++)
                    more = step(&s);
                close_stage(&s); /* looks at the memory */
            }
        }
    }
}

/* An event that comes while its list is worked off is applied after it. */
TEST(what_a_watch_brings_in_the_middle_of_a_list_comes_after_it) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        bool more = true;
        for (unsigned at = 0; more; at++) {
            stage s;
            open_stage(&s, kind, true);
            list(&s, 0, SMALL, "10");
            for (unsigned i = 0; i < at && more; i++)
                more = step(&s);
            assert_true(fake_play(&s.source, "-k3=21"));
            assert_true(fake_play(&s.source, "~k4=22"));
            assert_true(fake_play(&s.source, "+new=23"));
            settle(&s);
            ki_snapshot *now = ki_informer_snapshot(s.informer);
            assert_int_equal(ki_snapshot_count(now), SMALL);
            assert_null(ki_snapshot_get(now, "default/k3"));
            assert_string_equal(ki_object_resource_version(ki_snapshot_get(now, "default/k4")), "22");
            assert_string_equal(ki_snapshot_resource_version(now), "23");
            ki_snapshot_free(now);
            close_stage(&s);
        }
    }
}

/* What is unchanged is in memory once, also while the list is under way. */
TEST(a_relist_in_which_nothing_changed_keeps_the_known_objects) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        for (int streams = 0; streams < 2; streams++) {
            stage s;
            open_stage(&s, kind, streams);
            list(&s, 0, SMALL, "10");
            settle(&s);
            ki_snapshot *before = ki_informer_snapshot(s.informer);
            expire(&s);
            size_t blocks = s.memory.blocks;
            list(&s, 0, SMALL, "10");
            assert_true(s.memory.blocks < blocks + SMALL);
            settle(&s);
            ki_cursor cursor = KI_CURSOR_INIT;
            const ki_object *obj;
            while ((obj = ki_snapshot_next(before, &cursor))) {
                ki_object *now = ki_informer_get(s.informer, ki_object_key(obj));
                assert_ptr_equal(now, obj);
                ki_object_unref(now);
            }
            ki_snapshot_free(before);
            assert_int_equal(s.observer.updates, SMALL); /* reminders: the handler has a resync period */
            assert_int_equal(s.observer.deletes, 0);
            close_stage(&s);
        }
    }
}
