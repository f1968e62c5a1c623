/* test_shared_informer.c: the notifications that handlers get from a scripted source, on a stepped engine: everything
 * on one thread, time moved by hand. With threads: test_listener.c. */

#include "src/base/error.h"
#include "src/cache/reflector/past_deletions.h"
#include "tests/support/informer_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- notifications ------------------------------------------------------------------------------------------------ */

TEST(a_handler_is_notified_of_the_list_then_of_changes) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    assert_false(ki_informer_has_synced(s.informer));
    play_each(&s, LISTED "; > +a=5i +b=6i synced");
    assert_true(ki_informer_has_synced(s.informer));
    assert_true(ki_registration_has_synced(h.registration));
    play_each(&s, "+c=11; ~a=12; -b=13; > +c=11 ~a=5>12 -b=13");
    close_stage(&s);
    expect(&h, "removed");
    assert_string_equal(s.states, "connecting, listing, connecting, watching, stopped");
}

TEST(changes_of_one_key_come_in_order_after_the_store) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_all(&s, "~a=11; -a=12; +a=13; +x=14; -x=15");
    expect(&h, "~a=5>11 -a=12 +a=13 +x=14 -x=15");
    ki_object *a = ki_informer_get(s.informer, "default/a");
    assert_string_equal(ki_object_resource_version(a), "13");
    ki_object_unref(a);
    assert_null(ki_informer_get(s.informer, "default/x"));
    close_stage(&s);
}

/* A handler that takes a second for each call, on the loop, and a timer that becomes due meanwhile. */
typedef struct slow_handler {
    stage *stage;
    ki_timer timer;
    int calls, calls_at_timer; /* -1: it has not fired */
} slow_handler;

static void take_a_second(const ki_event *event, void *user) {
    slow_handler *slow = user;
    (void)event;
    slow->calls++;
    slow->stage->engine.now += KI_SECONDS(1);
}

static void note_calls(ki_timer *timer, void *user) {
    slow_handler *slow = user;
    (void)timer;
    slow->calls_at_timer = slow->calls;
}

TEST(a_slow_handler_on_the_loop_delays_a_timer_by_one_call) {
    stage s;
    slow_handler slow = { .stage = &s, .calls_at_timer = -1 };
    const ki_handler handler = { .on_add = take_a_second };
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_handler(s.informer, &handler, &slow, NULL, NULL, NULL), KI_OK);
    start_stage(&s);
    play_each(&s, "a=1; b=2; c=3; d=4; e=5; f=6");
    ki_timer_init(&slow.timer, s.engine.engine, note_calls, &slow);
    ki_timer_set(&slow.timer, s.engine.now + KI_MILLISECONDS(1500)); /* due in the second call */
    play_each(&s, "{10:}; open");
    assert_int_equal(slow.calls, 6);
    assert_int_equal(slow.calls_at_timer, 2);
    ki_timer_close(&slow.timer);
    close_stage(&s);
}

TEST(a_relist_notifies_of_the_difference) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_each(&s, "error 410; wait 1600; {22: b=20 c=21}; open; errors expired:");
    expect(&h, "?a=5 ~b=6>20 +c=21");
    close_stage(&s);
}

TEST(a_relist_of_what_is_known_is_a_resync) {
    stage s;
    observer plain, resyncing;
    open_stage(&s, 0);
    add_observer(&plain, &s, NULL);
    add_observer(&resyncing, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 100000000));
    start_stage(&s);
    play_each(&s,
              LISTED "; error 500; wait 1600; " LISTED "; > +a=5i +b=6i synced; >> +a=5i +b=6i synced ~a=5>5r ~b=6>6r");
    close_stage(&s);
}

TEST(the_repeated_end_of_an_earlier_object_does_not_hide_that_of_the_one_that_is_there) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_all(&s, "-a=4#another; -a=12"); /* the queue gets both before its first pop */
    expect(&h, "-a=12");
    close_stage(&s);
}

/* After a restore from a backup a resource version is given a second time. */
TEST(a_relist_with_another_content_is_an_update_whatever_its_version) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    play_each(&s, LISTED "; error 500; wait 1600");
    expect(&h, "+a=5i +b=6i synced");
    ki_object *obj = make_object_from_json("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":"
                                           "\"default\",\"name\":\"a\",\"uid\":\"default/a-uid\",\"resourceVersion\":"
                                           "\"5\"},\"data\":{\"another\":\"history\"}}");
    s.source.list.on_object(obj, s.source.list.user);
    ki_object_unref(obj);
    play_each(&s, "{10: b=6}; open");
    expect(&h, "~a=5>5");
    close_stage(&s);
}

TEST(another_object_under_the_same_name_is_a_delete_and_an_add) {
    stage s;
    observer h, second;
    open_stage(&s, 0);
    add_observer(&h, &s, NULL);
    add_observer(&second, &s, NULL);
    start_stage(&s);
    play_each(&s, LISTED "; > +a=5i +b=6i synced; >> +a=5i +b=6i synced; error 410; wait 1600; {22: a=20#other b=6}; "
                         "open; > ?a=5 +a=20; >> ?a=5 +a=20; ~a=23#third; > ?a=20 +a=23; >> ?a=20 +a=23");
    close_stage(&s);
}

TEST(repeated_and_older_events_are_dropped) {
    play_informer(
        "{50: a=50}; open; > +a=50i synced; +a=50; ~a=49; +a=40#before; -a=41#before; ~a=51; ~a=51; > ~a=50>51; "
        "~z=not-a-number; ~z=neither; > +z=not-a-number ~z=not-a-number>neither; -nobody=70; -a=51; > -a=51");
}

/* Of a server that has a version for each object, or that sends an object's own version when it becomes visible. */
TEST(an_event_is_compared_with_its_object_and_not_with_the_list) {
    play_informer(
        "{1000: a=5 b=7}; open; > +a=5i +b=7i synced; ~a=6; > ~a=5>6; +c=1; > +c=1; -b=8; > -b=8; ~a=6; ~a=5; "
        "-c=0; -b=8; > -; store a=6 c=1; -c=1; > -c=1; +c=1; > +c=1; ~d=2; > +d=2; at 1000");
}

/* A resumed watch can repeat what came before the deletion. The same version can be that of an object that is visible
 * again, and another uid is another object. */
TEST(a_repeated_event_brings_no_deleted_object_back) {
    play_informer(
        "{10: a=5}; open; > +a=5i synced; ~a=11; -a=13; +z=14; > ~a=5>11 -a=13 +z=14; wait 5000; close; open; +a=5; "
        "~a=11; ~a=12; -a=13; +z=14; > -; +a=13; > +a=13; +a=12#other; > -; -a=13; +a=12#other; > -a=13 "
        "+a=12; store a=12 z=14");
}

/* As many as a reflector remembers. */
TEST(what_was_deleted_before_many_others_is_taken_for_new) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_each(&s, "-a=11");
    for (int i = 0; i < KI_PAST_DELETIONS_MAX; i++) {
        char script[64];
        snprintf(script, sizeof script, "+x%d=%d; -x%d=%d", i, 100 + 2 * i, i, 101 + 2 * i);
        if (i == KI_PAST_DELETIONS_MAX - 1)
            play_each(&s, "+a=5; store b=6");
        play_each(&s, script);
    }
    play_each(&s, "+x0=100; store b=6; +a=5; store a=5 b=6");
    close_stage(&s);
}

TEST(a_list_without_a_version_is_a_list) {
    play_informer(
        "{-: a=5 b=6}; open; > +a=5i +b=6i synced; at -; +a=5; +b=6; > -; ~a=20; > ~a=5>20; at 20; +c=3; > +c=3; "
        "at 20; wait 5000; close; {-: a=20 c=3}; > ?b=6; at -; open; ~c=21; > ~c=3>21; at 21");
}

/* A server that closes each watch after so many events; with `repeats` it sends those up to the version that was asked
 * for again, too. */
TEST(each_event_is_reported_once_however_often_the_watch_is_closed) {
    static const int versions[] = { 1, 2, 5, 6, 7, 11 };
    for (int per_watch = 1; per_watch <= 4; per_watch++) {
        for (int repeats = 0; repeats < 2; repeats++) {
            stage s;
            observer h;
            int at = 2, watches = 0;
            open_observed_stage(&s, &h, NULL);
            play_each(&s, "{2: k1=1 k2=2}");
            expect(&h, "+k1=1i +k2=2i synced");
            for (; at < 11; watches++) {
                char line[64];
                int reached = at;
                play_each(&s, "open; wait 5000");
                for (size_t i = 0, sent = 0; i < sizeof versions / sizeof *versions && sent < (size_t)per_watch; i++) {
                    if (versions[i] <= at && !repeats)
                        continue;
                    snprintf(line, sizeof line, "+k%d=%d", versions[i], versions[i]);
                    play_each(&s, line);
                    sent += versions[i] > at;
                    reached = versions[i] > at ? versions[i] : reached;
                }
                at = reached;
                s.source.trace[0] = '\0';
                play_each(&s, "close");
                snprintf(line, sizeof line, "watch rv=%d", at);
                assert_string_equal(s.source.trace, line);
                assert_true(watches < 5);
            }
            expect(&h, "+k5=5 +k6=6 +k7=7 +k11=11");
            assert_int_equal(watches, (4 + per_watch - 1) / per_watch);
            close_stage(&s);
        }
    }
}

TEST(the_synced_version_stays) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    assert_string_equal(ki_informer_synced_version(s.informer), "");
    play_each(&s, LISTED "; ~a=20; at 20; > +a=5i +b=6i synced ~a=5>20");
    assert_string_equal(ki_informer_synced_version(s.informer), "10");
    close_stage(&s);
    assert_string_equal(ki_informer_synced_version(NULL), "");
}

TEST(an_empty_list_is_synced_at_once) {
    static const char *const pages[] = { "{10:}", "{-:}" }; /* also where it has no version */
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        stage s;
        observer h;
        open_observed_stage(&s, &h, NULL);
        play_each(&s, pages[i]);
        expect(&h, "synced");
        assert_true(ki_informer_has_synced(s.informer));
        close_stage(&s);
    }
}

TEST(the_store_knows_where_it_is) {
    play_informer(LISTED "; at 10; ~a=11; at 11; bookmark 20; at 20; -a=21; at 21");
}

TEST(an_object_and_its_version_appear_at_the_same_time) {
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED);
    play(&s, "~a=11; ~b=12");
    for (bool busy = true; busy;) {
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        const char *version = ki_snapshot_resource_version(snapshot);
        const char *a = ki_object_resource_version(ki_snapshot_get(snapshot, "default/a"));
        const char *b = ki_object_resource_version(ki_snapshot_get(snapshot, "default/b"));
        assert_int_equal(strcmp(version, "12") == 0, strcmp(a, "11") == 0 && strcmp(b, "12") == 0);
        ki_snapshot_free(snapshot);
        busy = ki_engine_timeout(s.engine.engine) == 0;
    }
    close_stage(&s);
}

/* Bookmarks do not go through the queue: the store is not at one before all that came before it is stored. */
TEST(a_bookmark_does_not_overtake_what_is_queued) {
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED);
    play(&s, "~a=11; ~b=12; bookmark 20");
    bool seen = false;
    for (bool busy = true; busy;) {
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        if (strcmp(ki_snapshot_resource_version(snapshot), "20") == 0) {
            seen = true;
            assert_string_equal(ki_object_resource_version(ki_snapshot_get(snapshot, "default/a")), "11");
            assert_string_equal(ki_object_resource_version(ki_snapshot_get(snapshot, "default/b")), "12");
        }
        ki_snapshot_free(snapshot);
        busy = ki_engine_timeout(s.engine.engine) == 0;
    }
    assert_true(seen);
    close_stage(&s);
}

/* --- transform, index --------------------------------------------------------------------------------------------- */

static ki_status note_version(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)err;
    int *calls = user;
    ++*calls;
    if (strcmp(ki_object_name(obj), "bad") == 0)
        return KI_ERR_INVALID;
    char json[TEXT];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"resourceVersion\":\"%s\",\"uid\":\"%s\"},"
             "\"data\":{\"seen\":\"%s\"}}",
             ki_object_name(obj), ki_object_resource_version(obj), ki_object_uid(obj), ki_object_resource_version(obj));
    *ret_obj = make_object_from_json(json);
    return KI_OK;
}

TEST(a_transform_changes_what_is_stored) {
    stage s;
    observer h;
    int calls = 0;
    open_transformed_stage(&s, &h, note_version, &calls);
    h.reads_the_store = true;
    play_each(&s, LISTED "; +bad=11; ~a=12");
    expect(&h, "+a=5(5)i +b=6(6)i synced ~a=5(5)>12(12)");
    assert_int_equal(calls, 4);
    assert_string_equal(s.errors, "invalid argument:bad");
    assert_int_equal(health_of(&s).skipped, 1);
    close_stage(&s);
}

static ki_status take_version_away(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    char json[TEXT];
    snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s\"}}",
             ki_object_name(obj), ki_object_uid(obj));
    *ret_obj = make_object_from_json(json);
    return KI_OK;
}

TEST(the_store_is_at_the_source_s_version_whatever_a_transform_leaves) {
    stage s;
    observer h;
    open_transformed_stage(&s, &h, take_version_away, NULL);
    play_each(&s, LISTED "; at 10; ~a=11; at 11; -a=12; at 12; error 410; wait 1600; {31: c=30}; open; at 31");
    expect(&h, "+a=i +b=i synced ~a=> -a= ?b= +c=");
    close_stage(&s);
}

static ki_status index_but_b(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    if (strcmp(ki_object_name(obj), "b") == 0 || strcmp(ki_object_name(obj), "c") == 0)
        return KI_ERR_INVALID;
    return ki_index_values_add(values, "value");
}

TEST(an_index_function_that_fails_is_reported) {
    stage s;
    const ki_indexer early = { .name = "early", .index = index_but_b }, late = { .name = "late", .index = index_but_b };
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_indexers(s.informer, &early, 1, NULL), KI_OK);
    assert_int_equal(ki_informer_add_indexers(s.informer, &early, 1, NULL), KI_ERR_EXISTS);
    start_stage(&s);
    play_each(&s, LISTED);
    assert_string_equal(s.errors, "invalid argument:b");
    play_each(&s, "+c=11");
    s.errors[0] = '\0';
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_OK);
    assert_string_equal(s.errors, "");
    settle(&s); /* on the loop, once for all objects */
    assert_true(strcmp(s.errors, "invalid argument:b") == 0 || strcmp(s.errors, "invalid argument:c") == 0);
    ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
    assert_int_equal(ki_snapshot_count_by_index(snapshot, "late", "value"), 1);
    ki_snapshot_free(snapshot);
    ki_informer_stop(s.informer);
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_ERR_STATE);
    close_stage(&s);
}

/* --- life and health ---------------------------------------------------------------------------------------------- */

TEST(what_must_be_set_before_the_start_is_rejected_afterwards) {
    stage s;
    int calls = 0;
    open_stage(&s, 0);
    start_stage(&s);
    assert_int_equal(ki_informer_set_transform(s.informer, note_version, &calls, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_set_watch_error_handler(s.informer, NULL, &s, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_set_state_handler(s.informer, NULL, &s, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_start(s.informer, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_wait_for_sync(s.informer, 0, NULL), KI_ERR_DEADLOCK);
    ki_informer_stop(s.informer);
    assert_int_equal(ki_informer_start(s.informer, NULL), KI_ERR_STATE);
    close_stage(&s);
}

TEST(health_has_the_state_and_its_reason) {
    stage s;
    open_stage(&s, 0);
    assert_int_equal(health_of(&s).state, KI_STATE_NOT_STARTED);
    start_stage(&s);
    play_each(&s, "{10 t 9: a=5}");
    ki_health health = health_of(&s);
    assert_int_equal(health.state, KI_STATE_LISTING);
    assert_int_equal(health.listed, 1);
    assert_int_equal(health.list_total, 10);
    assert_int_equal(health.retry_in_ms, -1);
    play_each(&s, "fail 403");
    health = health_of(&s);
    assert_int_equal(health.state, KI_STATE_BLOCKED);
    assert_int_equal(health.cause.http_status, 403);
    assert_string_equal(ki_error_message(&health.cause), "HTTP 403"); /* what the source said */
    assert_string_equal(s.errors, "http error:");
    assert_in_range(health.retry_in_ms, 799, 1600);
    play(&s, "wait 500");
    assert_int_equal(health_of(&s).since_ms, 500);
    play_each(&s, "wait 1100; " LISTED);
    health = health_of(&s);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_int_equal(health.objects, 2);
    assert_int_equal(health.cause.code, KI_OK);
    close_stage(&s);
}

TEST(an_informer_can_be_stopped_at_every_point) {
    bool goes_on = true;
    for (int steps = 0; goes_on; steps++) {
        stage s;
        observer h, inside;
        open_stage(&s, 1000);
        add_observer(&h, &s, NULL);
        add_observer(&inside, &s, NULL);
        start_stage(&s);
        static const char *const lines[] = { "a=5", "b=6", "{10:}", "open", "~a=11", "error 500", "wait 1600" };
        int left = steps;
        for (size_t i = 0; i < sizeof lines / sizeof *lines && left > 0; i++) {
            play(&s, lines[i]);
            while (left > 0 && ki_engine_timeout(s.engine.engine) == 0) {
                assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
                left--;
            }
        }
        goes_on = left == 0;
        ki_informer_stop(s.informer);
        char notes[TEXT];
        strcpy(notes, h.notes);
        settle(&s);
        assert_string_equal(h.notes, notes); /* nothing any more */
        close_stage(&s);
        assert_int_equal(h.removed, 1);
        assert_int_equal(inside.removed, 1);
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* The engine's memory fails at one allocation, or from there on until a minute is over. The objects are malloc's. */
typedef struct memory_case {
    size_t fail_at;
    bool for_a_minute;
    bool streaming;
} memory_case;

/* What the source has now: as the list of the one who asks, or at the beginning of the stream. */
static void respond_to_list(stage *s, bool changed) {
    const char *sign = s->source.lists ? "" : "+";
    const char *objects[] = { changed ? "a=11" : "a=5", changed ? "c=13" : "b=6" };
    char line[TEXT];
    if (s->source.watches)
        play(s, "open");
    for (size_t i = 0; i < 2 && (s->source.lists || s->source.watches); i++) {
        snprintf(line, sizeof line, "%s%s", sign, objects[i]);
        play(s, line);
    }
    if (s->source.lists)
        play(s, changed ? "{13:}" : "{10:}");
    else if (s->source.watches)
        play(s, changed ? "initial-end 13" : "initial-end 10");
    s->source.streams = false;
}

static void memory_play(stage *s, scarce_memory *memory) {
    static const char *const lines[] = { "open", "~a=11", "-b=12", "+c=13" };
    enum {
        LINES = sizeof lines / sizeof *lines
    };
    size_t done = 0;
    for (int minute = 0; minute < 20; minute++) {
        for (bool more = true; more;) {
            bool list = s->source.lists || (s->source.watches && s->source.streams);
            more = list || (s->source.watches && done < LINES);
            if (list)
                respond_to_list(s, done > 1);
            else if (more)
                play(s, lines[done++]);
            /* Where the watch was lost with this event the list has it, and those after it. */
            if (done > 1 && !s->source.watches)
                done = LINES;
            settle(s);
        }
        assert_true(test_engine_advance(&s->engine, 60000));
        if (memory->forever && scarce_memory_failed(memory))
            memory->fail_at = SIZE_MAX;
    }
}

static size_t count_of(const char *notes, const char *note) {
    size_t count = 0;
    for (const char *at = notes; (at = strstr(at, note)); at++)
        count++;
    return count;
}

static void check_memory_story(const observer *h) {
    assert_non_null(strstr(h->notes, "synced"));
    assert_true(strstr(h->notes, "a=11") || strstr(h->notes, ">11"));
    assert_int_equal(count_of(h->notes, "+c=13"), 1);
    assert_true(count_of(h->notes, "+a=") == 1 && count_of(h->notes, "+b=") <= 1);
    /* A list that follows a lost event deletes b, too. */
    assert_int_equal(count_of(h->notes, "+b=6"), count_of(h->notes, "-b=") + count_of(h->notes, "?b="));
}

static bool memory_scenario(memory_case c) {
    stage s;
    observer h = { .stage = &s }, second = { .stage = &s };
    scarce_memory memory;
    scarce_memory_init(&memory, c.fail_at);
    memory.forever = c.for_a_minute;
    const ki_shared_informer_options options = { .factory = streaming_if(c.streaming) };
    ki_status status = open_stage_with(&s, options, &memory.allocator);
    if (status)
        goto no_stage;
    status = ki_informer_add_handler(s.informer, &observing, &h, NULL, &h.registration, NULL);
    if (!status)
        status = ki_informer_add_handler(s.informer, &observing, &second, NULL, &second.registration, NULL);
    if (!status)
        status = ki_informer_start(s.informer, NULL);
    if (!status) {
        memory_play(&s, &memory);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        assert_int_equal(ki_snapshot_count(snapshot), 2);
        assert_string_equal(ki_object_resource_version(ki_snapshot_get(snapshot, "default/a")), "11");
        assert_string_equal(ki_object_resource_version(ki_snapshot_get(snapshot, "default/c")), "13");
        assert_string_equal(ki_snapshot_resource_version(snapshot), "13");
        ki_snapshot_free(snapshot);
        check_memory_story(&h);
        check_memory_story(&second);
        const ki_health health = health_of(&s);
        if (health.state != KI_STATE_CONNECTING)
            assert_int_equal(health.cause.code, KI_OK);
    }
    close_stage(&s);
    assert_int_equal(h.removed, h.registration.informer != NULL);
    assert_int_equal(second.removed, second.registration.informer != NULL);
no_stage:
    assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return memory.forever ? memory.fail_at == SIZE_MAX || status != KI_OK : scarce_memory_failed(&memory);
}

TEST(no_change_is_lost_whatever_allocation_fails) {
    for (size_t n = 0; memory_scenario((memory_case){ n, false, false }); n++) {}
    for (size_t n = 0; memory_scenario((memory_case){ n, false, true }); n++) {}
}

TEST(a_change_that_is_stored_reaches_handlers_although_the_next_one_lacks_memory) {
    size_t stuck = 0;
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        stage s;
        observer h = { .stage = &s };
        assert_int_equal(
            open_stage_with(&s, (ki_shared_informer_options){ .factory = streaming_if(false) }, &memory.allocator),
            KI_OK);
        add_observer(&h, &s, NULL);
        start_stage(&s);
        play_each(&s, LISTED);
        play(&s, "+c=11; +d=12; +e=13");
        memory.forever = true;
        scarce_memory_begin(&memory);
        settle(&s);
        memory.forever = false;
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        size_t stored = ki_snapshot_count(snapshot);
        ki_snapshot_free(snapshot);
        stuck += stored > 2 && stored < 5;
        assert_int_equal(ki_registration_pending(h.registration), 0);
        assert_int_equal(count_of(h.notes, "+"), stored);
        close_stage(&s);
    }
    assert_true(stuck > 0 || queue_kind == KI_QUEUE_IN_ORDER); /* one item of that queue has all three */
}

TEST(no_change_is_lost_when_memory_is_short_for_a_while) {
    for (size_t n = 0; memory_scenario((memory_case){ n, true, false }); n++) {}
    for (size_t n = 0; memory_scenario((memory_case){ n, true, true }); n++) {}
}

WITH_BOTH_QUEUES;
