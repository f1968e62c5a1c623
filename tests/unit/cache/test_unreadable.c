/* test_unreadable.c: an object whose state cannot be read, from the source to handlers, health and waits: never a
 * deletion, a ghost or a claim that is not true. With both queues. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/reflector/unreadable.h"
#include "src/object/object.h"
#include "tests/support/informer_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"
#include "tests/support/time/growth.h"

#include <stdio.h>
#include <string.h>

#define BEGIN LISTED "; > +a=5i +b=6i synced; ? list rv=0 limit=500, watch rv=10; "
#define RELIST "error 410; wait 2000; "
#define READABLE "unreadable 0 ; "
#define BAD_B "unreadable 1 default/b: bad object; "
#define BAD_UNKNOWN "unreadable 1 an object without a known key: bad object; "

/* --- lists -------------------------------------------------------------------------------------------------------- */

TEST(a_listed_object_that_cannot_be_read_keeps_its_state) {
    play_informer(BEGIN RELIST "{20: a=5 b=!15}; open; > -; " BAD_B "~b=21; > ~b=6>21; " READABLE);
}

TEST(where_a_listed_object_has_no_key_the_list_deletes_nothing) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_each(&s,
              RELIST "{20: c=15 ?=!}; open; > +c=15; " BAD_UNKNOWN "error 410; wait 2000; {30: c=15}; open; " READABLE);
    expect_any_order(&h, "?a=5 ?b=6");
    close_stage(&s);
}

TEST(a_new_object_that_cannot_be_read_is_added_once_it_can) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    play_each(&s, "{10: a=5 b=!6}; open; > +a=5i synced; " BAD_B);
    assert_true(ki_informer_has_synced(s.informer));
    play_each(&s, "~b=11; > +b=11; " READABLE);
    close_stage(&s);
}

TEST(a_streaming_list_takes_a_later_state_that_can_be_read) {
    static const struct {
        const char *events, *notes;
        size_t unreadable;
    } rows[] = {
        { "+a=5; b=!6", "+a=5i", 1 },
        { "+a=5; b=!6; ~b=7", "+a=5i +b=7i", 0 },
        { "+a=5; +b=4; b=!6", "+a=5i +b=4i", 1 },
        { "+a=5; +b=4; b=!6; +b=4", "+a=5i +b=4i", 1 },
        { "+a=5; b=!6; -b=7", "+a=5i", 0 },
        { "+a=5; +b=4; -b=!6", "+a=5i", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        observer h;
        open_streaming_stage(&s);
        add_observer(&h, &s, NULL);
        start_stage(&s);
        play_each(&s, "open");
        play_each(&s, rows[i].events);
        play_each(&s, "initial-end 10");
        play_each(&s, rows[i].unreadable ? BAD_B : READABLE);
        char notes[TEXT];
        snprintf(notes, sizeof notes, "%s synced", rows[i].notes);
        expect_any_order(&h, notes);
        close_stage(&s);
    }
}

/* The server was restored from a backup: its versions are given a second time. */
TEST(what_was_kept_from_before_a_restore_is_replaced_by_what_comes) {
    play_informer(BEGIN "~b=90; > ~b=6>90; " RELIST
                        "{20: a=5 b=!6}; open; ~b=30; > ~b=90>30; ~b=25; > -"); /* repeated */
}

TEST(what_replaces_a_kept_state_makes_the_cache_younger) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    play_each(&s, BEGIN "~b=90; " RELIST "{20: a=5 b=!6}; open; wait 5000; ~b=30; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 100);
    close_stage(&s);
}

/* The server was restored twice, and both lists had the object in a form that cannot be read. */
TEST(what_two_lists_kept_from_before_a_restore_is_replaced_by_what_comes) {
    static const char *const rows[] = { "~b=13; > ~b=90>13; " READABLE "store a=5 b=13; ",
                                        "-b=13; > -b=13; " READABLE "+b=14; > +b=14; -b=15; > -b=15; store a=5; " };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        observer h;
        open_listed_stage(&s, &h);
        play_each(&s, "~b=90; > ~b=6>90; " RELIST "{20: a=5 b=!6}; open; " RELIST "{12: a=5 b=!6}; open; > -; " BAD_B);
        play_each(&s, rows[i]);
        close_stage(&s);
    }
}

/* After the restore the server has given out more versions than before it. Some servers send a deletion with the
 * version of the last state. */
TEST(what_was_kept_from_before_a_restore_is_deleted_at_an_older_version) {
    play_informer(BEGIN "~b=90; > ~b=6>90; " RELIST "{100: a=5 b=!30}; open; " BAD_B "-b=30; > -b=30; " READABLE);
}

/* The restored server gave the version of the kept state a second time, to another state of the object. */
TEST(a_version_that_is_given_twice_does_not_hide_the_later_state) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_each(&s, "~b=90; " RELIST "{20: a=5 b=!6}; open; ~a=89; > ~b=6>90 ~a=5>89; " BAD_B);
    ki_object *obj =
        make_object_from_json("{\"metadata\":{\"namespace\":\"default\",\"name\":\"b\",\"resourceVersion\":\"90\","
                              "\"labels\":{\"app\":\"new\"}}}");
    assert_non_null(obj);
    s.source.watch.on_event(KI_EVENT_UPDATE, obj, s.source.watch.user);
    play_each(&s, "~a=91; > ~b=90>90 ~a=89>91; " READABLE);
    ki_object *cached = ki_informer_get(s.informer, "default/b");
    assert_true(ki_object_is_same_state(cached, obj)); /* packed, it is another one */
    ki_object_unref(cached);
    ki_object_unref(obj);
    close_stage(&s);
}

/* --- watches ------------------------------------------------------------------------------------------------------ */

TEST(an_event_that_cannot_be_read_is_asked_for_once_more) {
    play_informer(BEGIN "~a=11; > ~a=5>11; b=!12; wait 1000; ? cancel, watch rv=11; " READABLE
                        "open; ~b=12; > ~b=6>12; " READABLE); /* its bytes had been damaged on their way */
}

/* Some servers send a bookmark ahead of the event of its version (etcd#15220): from there the event would not come
 * again. */
TEST(an_event_that_cannot_be_read_after_its_own_bookmark_is_asked_for_once_more) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    play_each(&s, "~a=11; > ~a=5>11; ? list rv=0 limit=500, watch rv=10");
    play(&s, "bookmark 12; b=!12; wait 1000");
    play_each(&s, "? cancel, watch rv=11; open; ~b=12; > ~b=6>12");
    close_stage(&s);
}

/* A mark without a key is of any object, but only a list that goes back keeps a state of a time before it. */
TEST(after_an_event_without_a_key_what_is_repeated_changes_nothing) {
    play_informer(BEGIN "~a=11; ?=!; wait 1000; open; ?=!; ~a=13; ~b=15; > ~a=5>11 ~a=11>13 ~b=6>15; " BAD_UNKNOWN
                        "-b=9; -b=12#another-uid; > -");
}

/* The list could read all that it had: it kept no state of a time before it. Its own states wait in the queue while
 * the server repeats events. */
TEST(after_a_list_that_is_readable_what_is_repeated_changes_nothing) {
    stage s;
    observer h;
    open_streaming_stage(&s);
    add_observer(&h, &s, NULL);
    start_stage(&s);
    play_each(&s, "open; +a=5; +b=6; initial-end 10; > +a=5i +b=6i synced; ?=!; wait 1000; open; ?=!; ~a=13; > "
                  "~a=5>13; " BAD_UNKNOWN RELIST "open; +a=13; +b=15");
    play(&s, "initial-end 20; -b=14#another-uid");
    settle(&s);
    play_each(&s, "> ~b=6>15; ~a=21; > ~a=13>21; store a=21 b=15; " READABLE);
    close_stage(&s);
}

TEST(an_event_that_can_never_be_read_is_skipped_and_named) {
    play_informer(BEGIN "b=!12; wait 1000; open; b=!12; ~a=13; "
                        "b=!14; ? cancel, watch rv=10; "   /* once, and not for a key that is known to be bad */
                        "> ~a=5>13; " BAD_B "~b=6; " BAD_B /* repeated: from before */
                        "-b=15; > -b=15; " READABLE);
}

TEST(a_deletion_that_cannot_be_read_deletes_the_known_object) {
    play_informer(BEGIN "-b=!12; > ?b=6; ? -");
}

TEST(a_repeated_event_brings_no_object_back_whose_deletion_was_unreadable) {
    play_informer(BEGIN "-b=!12; > ?b=6; +z=14; > +z=14; wait 5000; close; open; +b=6; ~b=11; > -; store a=5 z=14; "
                        "+b=13; > +b=13");
}

TEST(a_deletion_of_an_unknown_key_is_followed_by_a_list) {
    static const char *const scripts[] = {
        BEGIN "-?=!; wait 1600; {20: b=6}; ? cancel, list rv=10, watch rv=20; > ?a=5",
        BEGIN "-c=!12; wait 1600; {20: b=6}; ? cancel, list rv=10, watch rv=20; > ?a=5",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        play_informer(scripts[i]);
}

/* --- transforms --------------------------------------------------------------------------------------------------- */

TEST(a_transform_that_fails_on_a_deletion_leaves_no_ghost) {
    stage s;
    observer h;
    open_transformed_stage(&s, &h, reject_sevens, NULL);
    play_each(&s, BEGIN "-b=17; > ?b=6; store a=5; ~a=27; > -; unreadable 1 default/a: transform of default/a: invalid "
                        "argument; " RELIST
                        "{40: a=27}; open; > -; unreadable 1 default/a: transform of default/a: invalid argument");
    close_stage(&s);
}

/* --- waits -------------------------------------------------------------------------------------------------------- */

typedef struct waiter {
    int calls;
    ki_status status;
} waiter;

static void on_version(ki_informer *informer, ki_status status, void *user) {
    waiter *w = user;
    (void)informer;
    w->calls++;
    w->status = status;
}

static void when(stage *s, waiter *w, const char *key, const char *version, int64_t timeout_ms) {
    *w = (waiter){ .calls = 0 };
    assert_int_equal(ki_informer_wait_for_version_async(s->informer, key, version, timeout_ms, on_version, w, NULL),
                     KI_OK);
    settle(s);
}

TEST(a_wait_for_what_could_not_be_read_is_held) {
    stage s;
    observer h;
    waiter own, any, other, before, after, late;
    open_listed_stage(&s, &h);
    when(&s, &own, "default/b", "12", -1);
    when(&s, &any, NULL, "12", -1);
    play_each(&s, "b=!12; wait 1000; open; b=!12; ~a=13");
    when(&s, &other, "default/a", "12", -1);
    when(&s, &before, NULL, "10", -1);
    when(&s, &after, NULL, "13", -1);
    when(&s, &late, "default/b", "12", 5000);
    assert_int_equal(own.calls + any.calls, 0);
    assert_int_equal(other.calls, 1);
    assert_int_equal(before.calls, 1);
    assert_int_equal(after.calls, 1);
    play_each(&s, "wait 6000");
    assert_int_equal(late.calls, 1);
    assert_int_equal(late.status, KI_ERR_TIMEOUT);
    play_each(&s, "~b=14");
    assert_int_equal(own.calls, 1);
    assert_int_equal(any.calls, 1);
    assert_int_equal(own.status, KI_OK);
    assert_int_equal(any.status, KI_OK);
    close_stage(&s);
}

TEST(a_stop_ends_a_wait_that_is_held) {
    stage s;
    observer h;
    waiter any;
    open_observed_stage(&s, &h, NULL);
    play_each(&s, "{10: a=5 b=!6}; open");
    when(&s, &any, NULL, "6", -1);
    assert_int_equal(any.calls, 0);
    ki_informer_stop(s.informer);
    assert_int_equal(any.calls, 1);
    assert_int_equal(any.status, KI_ERR_CANCELLED);
    close_stage(&s);
}

TEST(an_event_whose_key_and_version_are_unknown_holds_what_may_be_its_own) {
    stage s;
    observer h;
    waiter inside, beyond;
    open_listed_stage(&s, &h);
    play_each(&s, "?=!; wait 1000; open; ?=!; ~a=15");
    when(&s, &inside, "default/b", "12", -1);
    when(&s, &beyond, "default/b", "16", -1);
    assert_int_equal(inside.calls, 0);
    play_each(&s, "~a=17");
    assert_int_equal(inside.calls, 0);
    assert_int_equal(beyond.calls, 1);
    play_each(&s, RELIST "{20: a=17 b=12}; open"); /* a list tells all */
    assert_int_equal(inside.calls, 1);
    close_stage(&s);
}

TEST(a_version_that_has_no_room_is_not_known) {
    ki_unreadable_marks marks;
    char version[KI_UNREADABLE_VERSION_MAX + 1];
    const ki_error reason = KI_ERROR_INIT;
    ki_unreadable_marks_init(&marks, &ki_allocator_default, 1);
    for (size_t size = KI_UNREADABLE_VERSION_MAX - 1; size <= KI_UNREADABLE_VERSION_MAX; size++) {
        memset(version, '1', size);
        version[size] = '\0';
        assert_int_equal(ki_unreadable_marks_put(&marks, "default/a", version, &reason), KI_OK);
        const ki_unreadable_mark *mark = ki_map_get(&marks.by_key, KI_STR("default/a"));
        assert_string_equal(mark->until, size < KI_UNREADABLE_VERSION_MAX ? version : "");
    }
    ki_unreadable_marks_clear(&marks);
}

/* --- many --------------------------------------------------------------------------------------------------------- */

/* Each event is unreadable, half of them without a version; later each object is readable, one by one. The health is
 * read after each. */
static void break_and_repair(size_t count, void *user) {
    (void)user;
    ki_unreadable all;
    char key[32], message[64];
    ki_error reason = KI_ERROR_INIT;
    ki_error_set(&reason, KI_ERR_PARSE, "bad object");
    assert_int_equal(ki_unreadable_init(&all, &ki_allocator_default, 1, NULL), KI_OK);
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "default/%05zu", i);
        assert_int_equal(ki_unreadable_add(&all, key, i % 2 ? "7" : "", "6", &reason), KI_OK);
        ki_unreadable_advance(&all, "8");
        assert_int_equal(ki_unreadable_describe(&all, message, sizeof message), i + 1);
        assert_string_equal(message, "default/00000: bad object");
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "default/%05zu", i);
        assert_true(ki_unreadable_describe(&all, message, sizeof message) == count - i && strstr(message, key));
        ki_unreadable_settle(&all, key, "9");
        ki_unreadable_catch_up(&all);
    }
    assert_int_equal(ki_unreadable_describe(&all, message, sizeof message), 0);
    ki_unreadable_destroy(&all);
}

TEST(the_time_for_unreadable_events_is_linear) {
    assert_true(growth_of(break_and_repair, KI_UNREADABLE_MAX / GROWTH_FACTOR, NULL) < GROWTH_LINEAR_MAX);
}

/* --- instances ---------------------------------------------------------------------------------------------------- */

TEST(a_list_in_which_nothing_changed_keeps_the_objects_that_are_there) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    ki_object *before = ki_informer_get(s.informer, "default/a");
    play_each(&s, RELIST "{20: a=5 b=16}; open; > ~b=6>16");
    ki_object *after = ki_informer_get(s.informer, "default/a");
    assert_ptr_equal(before, after);
    ki_object_unref(before);
    ki_object_unref(after);
    close_stage(&s);
}

WITH_BOTH_QUEUES;

/* --- more objects than marks -------------------------------------------------------------------------------------- */

static size_t count_unreadable(ki_unreadable *unreadable) {
    char message[256];
    return ki_unreadable_describe(unreadable, message, sizeof message);
}

static const char *key_of(size_t number) {
    static char key[32];
    snprintf(key, sizeof key, "default/%zu", number);
    return key;
}

TEST(more_objects_than_marks_are_counted_and_settled_one_by_one) {
    enum {
        OBJECTS = KI_UNREADABLE_MAX + 300
    };
    ki_unreadable unreadable;
    ki_error bad = KI_ERROR_INIT;
    ki_error_set(&bad, KI_ERR_PARSE, "bad object");
    assert_int_equal(ki_unreadable_init(&unreadable, &ki_allocator_default, 7, NULL), KI_OK);
    for (int round = 0; round < 2; round++) { /* the second time after a list, whose marks are the same kind */
        if (round == 0) {
            for (size_t i = 0; i < OBJECTS; i++)
                assert_int_equal(ki_unreadable_add(&unreadable, key_of(i), "5", "4", &bad), KI_OK);
        } else {
            ki_unreadable_marks listed;
            ki_unreadable_marks_init(&listed, &ki_allocator_default, 7);
            for (size_t i = 0; i < OBJECTS; i++)
                assert_int_equal(ki_unreadable_marks_put(&listed, key_of(i), "15", &bad), KI_OK);
            assert_int_equal(ki_unreadable_reserve(&unreadable, &listed), KI_OK);
            ki_unreadable_take_list(&unreadable, &listed, "10", "20");
            ki_unreadable_marks_clear(&listed);
        }
        assert_int_equal(count_unreadable(&unreadable), OBJECTS);
        assert_int_equal(ki_unreadable_add(&unreadable, key_of(OBJECTS - 1), "25", "4", &bad), KI_OK); /* again */
        assert_int_equal(count_unreadable(&unreadable), OBJECTS);
        assert_true(ki_unreadable_has(&unreadable, key_of(OBJECTS - 1)));
        for (size_t i = OBJECTS; i-- > 0;) {
            ki_unreadable_settle(&unreadable, key_of(i), "30");
            if (i % 1000 != 0)
                continue;
            assert_int_equal(count_unreadable(&unreadable), i);
            ki_unreadable_catch_up(&unreadable);
        }
        assert_int_equal(count_unreadable(&unreadable), 0);
        assert_false(ki_unreadable_has(&unreadable, key_of(0)));
        ki_unreadable_catch_up(&unreadable);
        assert_false(ki_unreadable_may_lack(&unreadable, NULL, "20"));
    }
    ki_unreadable_destroy(&unreadable);
}

TEST(an_object_without_a_key_stays_unreadable_until_a_list) {
    ki_unreadable unreadable;
    ki_unreadable_marks listed;
    ki_error bad = KI_ERROR_INIT;
    ki_error_set(&bad, KI_ERR_PARSE, "bad object");
    assert_int_equal(ki_unreadable_init(&unreadable, &ki_allocator_default, 7, NULL), KI_OK);
    for (size_t i = 0; i <= KI_UNREADABLE_MAX; i++)
        assert_int_equal(ki_unreadable_add(&unreadable, key_of(i), "5", "4", &bad), KI_OK);
    assert_int_equal(ki_unreadable_add(&unreadable, "", "", "4", &bad), KI_OK);
    for (size_t i = 0; i <= KI_UNREADABLE_MAX; i++)
        ki_unreadable_settle(&unreadable, key_of(i), "30");
    assert_int_equal(count_unreadable(&unreadable), 1);
    ki_unreadable_marks_init(&listed, &ki_allocator_default, 7);
    ki_unreadable_take_list(&unreadable, &listed, "30", "40");
    assert_int_equal(count_unreadable(&unreadable), 0);
    ki_unreadable_marks_clear(&listed);
    ki_unreadable_destroy(&unreadable);
}
