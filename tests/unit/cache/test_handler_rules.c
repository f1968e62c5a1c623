/* test_handler_rules.c: how a handler with a filter is notified of deletions, which adds are of the initial list, and
 * objects without a uid. On a stepped engine; other notifications: test_shared_informer.c. */

#include "tests/support/informer_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_odd(const ki_object *obj, void *user) {
    (void)user;
    return atoi(ki_object_resource_version(obj)) % 2 == 1;
}

static void open_with(stage *s, observer *h, bool filters, bool streams) {
    ki_handler handler = observing;
    if (filters) {
        handler.filter = is_odd;
        handler.on_synced = NULL;
    }
    const ki_shared_informer_options options = { .factory = streaming_if(streams), .given.resync_ms = 5000 };
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
    add_observer_of(h, s, &handler, NULL);
    start_stage(s);
}

typedef struct rule {
    const char *lines, *notes;
} rule;

static void check(const rule *rules, size_t count, bool filters) {
    for (size_t i = 0; i < count; i++) {
        stage s;
        observer h;
        open_with(&s, &h, filters, false);
        play_all(&s, rules[i].lines);
        expect(&h, rules[i].notes);
        close_stage(&s);
    }
}

#define CHECK(rules, filters) check(rules, sizeof(rules) / sizeof *(rules), filters)
#define SETTLED "{10: a=5 b=6}; settle; open; settle; "

TEST(a_handler_that_knows_an_object_is_notified_of_its_deletion_and_no_other) {
    static const rule rules[] = {
        { SETTLED "-a=11", "+a=5i -a=11" },
        { SETTLED "-a=12", "+a=5i -a=5" }, /* its very last state does not match */
        { SETTLED "-b=12", "+a=5i" },
        { SETTLED "-b=13", "+a=5i" }, /* matches only now that it is gone */
        { SETTLED "~b=13; settle; -b=14", "+a=5i +b=13 -b=13" },
        { SETTLED "~a=12; settle; -a=13", "+a=5i -a=5" },
        { SETTLED "error 410; wait 1600; {12:}", "+a=5i ?a=5" },
        { SETTLED "~a=13#other", "+a=5i ?a=5 +a=13" },
        { SETTLED "~a=14#other; settle; -a=15#other", "+a=5i ?a=5" },
        { SETTLED "~b=13#other; settle; -b=14#other", "+a=5i +b=13 -b=13" },
    };
    CHECK(rules, true);
}

TEST(the_deletion_of_another_object_is_that_of_the_known_one_too) {
    static const rule rules[] = {
        { SETTLED "-a=12#other", "+a=5i +b=6i synced ?a=5" },
        { SETTLED "-a=12; settle; -a=13", "+a=5i +b=6i synced -a=12" },
    };
    CHECK(rules, false);
}

typedef struct counter {
    int resyncs;
} counter;

/* A filter that removes its own handler. */
static bool remove_own_handler(const ki_object *obj, void *user) {
    observer *self = user;
    (void)obj;
    if (self->removes_itself)
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->registration, NULL), KI_OK);
    self->removes_itself = false;
    return true;
}

TEST(a_handler_that_its_filter_removes_is_not_called_any_more) {
    stage s;
    observer self;
    ki_handler handler = observing;
    handler.filter = remove_own_handler;
    open_stage(&s, 0);
    start_stage(&s);
    add_observer_of(&self, &s, &handler, NULL);
    self.removes_itself = true;
    play_each(&s, "{10: a=5}; open; +b=11; > removed");
    close_stage(&s);
}

static void count_resyncs(const ki_event *e, void *user) {
    counter *self = user;
    self->resyncs += e->is_resync;
}

static void listen(stage *s, counter *c, int64_t resync_ms) {
    static const ki_handler counting = { .on_update = count_resyncs };
    c->resyncs = 0;
    assert_int_equal(ki_informer_add_handler(s->informer, &counting, c,
                                             &KI_REGISTRATION_OPTIONS(.resync_ms = resync_ms), NULL, NULL),
                     KI_OK);
}

/* The informer looks each 2 s once somebody has asked for that before the start. */
TEST(each_period_counts_from_the_last_resync_and_never_less_than_the_informers) {
    static const int expected[][4] = {
        /* at second: two, three, late */
        { 1, 0, 0, 0 }, { 2, 1, 0, 0 }, { 3, 1, 0, 0 }, { 4, 2, 1, 0 },  { 5, 2, 1, 0 },  { 6, 3, 1, 0 },
        { 7, 3, 1, 0 }, { 8, 4, 2, 1 }, { 9, 4, 2, 1 }, { 10, 5, 2, 2 }, { 11, 5, 2, 2 }, { 12, 6, 3, 3 },
    };
    stage s;
    counter two, three, late;
    open_stage(&s, 5000);
    listen(&s, &two, 2000);
    listen(&s, &three, 3000);
    start_stage(&s);
    play_each(&s, "{10: a=5}; open");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        play(&s, "wait 1000");
        if (i == 4)
            listen(&s, &late, 1000); /* raised to 2 s: not due at 6 s */
        if (two.resyncs != expected[i][1] || three.resyncs != expected[i][2] ||
            (i > 4 && late.resyncs != expected[i][3]))
            fail_msg("at %d s: %d, %d, %d", expected[i][0], two.resyncs, three.resyncs, i > 4 ? late.resyncs : 0);
    }
    close_stage(&s);
}

enum {
    LISTENERS = 4
};

/* Whoever wants to be reminded more often makes the informer look more often; each one's own period stays. */
TEST(a_listener_s_period_is_its_own_however_often_the_informer_looks) {
    static const struct {
        int64_t informer_ms, listener_ms[LISTENERS]; /* -1: never */
        int seconds;
        int resyncs[LISTENERS]; /* by then */
    } cases[] = {
        { 1000, { -1, 2000, 3000, -1 }, 1, { 0, 0, 0, 0 } },
        { 1000, { -1, 2000, 3000, -1 }, 2, { 0, 1, 0, 0 } },
        { 1000, { -1, 2000, 3000, -1 }, 3, { 0, 1, 1, 0 } },
        { 1000, { -1, 2000, 3000, -1 }, 6, { 0, 3, 2, 0 } },
        { 43200000, { -1, -1, -1, -1 }, 43200, { 0, 0, 0, 0 } },
        { 43200000, { -1, 60000, -1, -1 }, 120, { 0, 2, 0, 0 } },
        { 43200000, { -1, 60000, 55000, -1 }, 55, { 0, 0, 1, 0 } },
        { 43200000, { -1, 60000, 55000, 5000 }, 54, { 0, 0, 0, 10 } },
        { 43200000, { -1, 60000, 55000, 5000 }, 59, { 0, 0, 1, 11 } },
        { 43200000, { -1, 60000, 55000, 5000 }, 120, { 0, 2, 2, 24 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        counter listeners[LISTENERS];
        open_stage(&s, cases[i].informer_ms);
        for (int l = 0; l < LISTENERS; l++)
            listen(&s, &listeners[l], cases[i].listener_ms[l]);
        start_stage(&s);
        play_each(&s, "{10: a=5}; open");
        assert_true(test_engine_advance(&s.engine, (int64_t)cases[i].seconds * 1000));
        for (int l = 0; l < LISTENERS; l++)
            if (listeners[l].resyncs != cases[i].resyncs[l])
                fail_msg("case %zu, listener %d: %d resyncs", i, l, listeners[l].resyncs);
        close_stage(&s);
    }
}

/* One unit of work, `ms` later. */
static void step_late(stage *s, int64_t ms) {
    s->engine.now += KI_MILLISECONDS(ms);
    assert_int_equal(ki_engine_step(s->engine.engine, 1, NULL), KI_OK);
}

TEST(a_resync_that_is_late_is_not_lost_to_the_next) {
    stage s;
    counter one, two;
    open_stage(&s, 5000);
    listen(&s, &one, 1000);
    listen(&s, &two, 2000);
    start_stage(&s);
    play_each(&s, "{10: a=5 b=6 c=7}; open");
    play(&s, "wait 1000");
    assert_int_equal(one.resyncs, 3);
    /* Each unit of work takes so long that the informer's period is over again before all objects had their turn. */
    for (int i = 0; two.resyncs < 3 && i < 100; i++)
        step_late(&s, 600);
    assert_int_equal(two.resyncs, 3);
    settle(&s);
    assert_true(one.resyncs >= 6);
    assert_int_equal(one.resyncs % 3, 0);
    assert_int_equal(two.resyncs % 3, 0);
    int before = one.resyncs; /* and the next ones come, too */
    play(&s, "wait 2000");
    assert_true(one.resyncs >= before + 3);
    close_stage(&s);
}

enum {
    MANY = 1100 /* more objects than the queue keeps room for */
};

/* Memory is short from the allocation `spared` of the resync on. Returns false if the resync needs no more. */
static bool resync_without_memory(ki_queue_kind queue, size_t spared) {
    stage s;
    counter ten;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    const ki_shared_informer_options options = { .factory = streaming_if(false),
                                                 .given.resync_ms = 5000,
                                                 .given.queue = queue };
    assert_int_equal(open_stage_with(&s, options, &memory.allocator), KI_OK);
    listen(&s, &ten, 10000);
    start_stage(&s);
    for (int i = 0; i < MANY; i++) {
        char line[64];
        snprintf(line, sizeof line, "a%d=5", i);
        play(&s, line);
    }
    play_each(&s, "{10:}; open");
    play(&s, "wait 9999");
    memory.fail_at = atomic_load(&memory.calls) + spared;
    memory.forever = true;
    play(&s, "wait 1");
    bool has_failed = scarce_memory_failed(&memory);
    assert_in_range(ten.resyncs, 0, spared ? MANY : 0);
    memory.forever = false;
    play(&s,
         spared ? "wait 1600" : "wait 1000"); /* the controller backs off; a resync that is not queued waits a second */
    assert_int_equal(ten.resyncs, MANY);
    close_stage(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return has_failed;
}

TEST(a_resync_for_which_there_is_no_memory_comes_a_second_later) {
    static const ki_queue_kind queues[] = { KI_QUEUE_IN_ORDER, KI_QUEUE_DELTA_FIFO };
    for (size_t i = 0; i < 2; i++) {
        size_t spared = 0;
        while (resync_without_memory(queues[i], spared))
            spared++;
        assert_true(spared > 10); /* also in the middle of it */
    }
}

TEST(an_add_is_of_the_initial_list_only_where_the_object_was_in_it) {
    stage s;
    observer h;
    open_with(&s, &h, false, true);
    play_all(&s, "open; +a=5; initial-end 10; "
                 /* before anything of the list has been applied */
                 "-a=11; +a=12#other; +c=13");
    expect(&h, "+a=5i synced -a=11 +a=12 +c=13");
    close_stage(&s);
}

TEST(an_object_without_a_uid_is_the_one_of_its_name) {
    stage s;
    observer h;
    open_with(&s, &h, false, false);
    play_each(&s, "{10: a=5}; open");
    ki_object *nameless = noted_object("default/a", "11", "");
    s.source.watch.on_event(KI_EVENT_UPDATE, nameless, s.source.watch.user);
    ki_object_unref(nameless);
    play_each(&s, "settle; ~a=12; > +a=5i synced ~a=5>11 ~a=11>12");
    close_stage(&s);
}

TEST(what_cannot_be_used_is_reported_and_counted_and_the_rest_continues) {
    stage s;
    observer h;
    open_with(&s, &h, false, false);
    play_each(&s, "a=5; b=!; > -; errors malformed:b; {10:}; > +a=5i synced; open; c=!; wait 1000; errors malformed:; "
                  "open; c=!; errors malformed:c; > -; ~a=12; > ~a=5>12");
    assert_int_equal(health_of(&s).skipped, 2);
    assert_int_equal(health_of(&s).state, KI_STATE_WATCHING);
    close_stage(&s);
}

/* --- on_changed --------------------------------------------------------------------------------------------------- */

typedef struct reader {
    ki_informer *informer;
    unsigned events, calls;
    size_t objects; /* in the cache at the last call */
} reader;

static void count_event(const ki_event *event, void *user) {
    (void)event;
    ((reader *)user)->events++;
}

static void on_changed(ki_informer *informer, void *user) {
    reader *self = user;
    ki_snapshot *now = ki_informer_snapshot(informer);
    self->calls++;
    self->objects = ki_snapshot_count(now);
    ki_snapshot_free(now);
}

static void add_reader(stage *s, reader *self, const char *label_selector) {
    const ki_handler handler = {
        .on_add = count_event, .on_update = count_event, .on_delete = count_event, .on_changed = on_changed
    };
    *self = (reader){ .events = 0 };
    assert_int_equal(ki_informer_add_handler(s->informer, &handler, self,
                                             &KI_REGISTRATION_OPTIONS(.label_selector = label_selector), NULL, NULL),
                     KI_OK);
}

TEST(a_reader_is_called_after_changes_once_for_many) {
    const ki_shared_informer_options options = { .factory = streaming_if(false) };
    stage s;
    reader all, none;
    assert_int_equal(open_stage_with(&s, options, NULL), KI_OK);
    add_reader(&s, &all, NULL);
    add_reader(&s, &none, "app=none");
    start_stage(&s);
    play_all(&s, "{10: a=5 b=6}; settle; open; settle");
    assert_int_equal(all.events, 2);
    assert_int_equal(all.calls, 1); /* after the sync, for the whole list */
    assert_int_equal(all.objects, 2);
    assert_int_equal(none.calls, 1);
    play_all(&s, "+c=11; +d=12; ~a=13; settle");
    assert_int_equal(all.events, 5);
    assert_in_range(all.calls, 2, 4);
    assert_int_equal(all.objects, 4);
    unsigned before = all.calls;
    play_all(&s, "-c=14; settle; wait 60000");
    assert_int_equal(all.calls, before + 1);
    assert_int_equal(all.objects, 3);
    assert_int_equal(none.calls, 1); /* none of these matches */
    close_stage(&s);
}

TEST(a_reader_of_an_empty_cache_is_called_once) {
    const ki_shared_informer_options options = { .factory = streaming_if(false) };
    stage s;
    reader all, late;
    assert_int_equal(open_stage_with(&s, options, NULL), KI_OK);
    add_reader(&s, &all, NULL);
    start_stage(&s);
    play_all(&s, "settle");
    assert_int_equal(all.calls, 0); /* not synced */
    play_all(&s, "{10:}; settle; open; settle");
    assert_int_equal(all.calls, 1);
    add_reader(&s, &late, NULL);
    play_all(&s, "settle");
    assert_int_equal(late.calls, 1);
    close_stage(&s);
}
