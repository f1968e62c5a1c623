/* test_handler_truth.c: a handler is notified of exactly what the store has, transformed once, and synced only when it
 * is; handlers that are registered twice or removed elsewhere; a lost deletion. On a stepped engine, with both
 * queues. */

#include <kinformer/lister.h>

#include "src/base/error.h"
#include "tests/support/informer_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* --- transforms --------------------------------------------------------------------------------------------------- */

/* An object that it has seen before would fail. */
static ki_status mark(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)err;
    int *transforms = user;
    char json[TEXT];
    ++*transforms;
    if (ki_object_string(obj, "data.seen", NULL, json, sizeof json))
        return KI_ERR_INVALID;
    snprintf(json, sizeof json, "{\"data\":{\"seen\":\"%s\"}}", ki_object_resource_version(obj));
    return ki_object_with_json(obj, json, strlen(json), ret_obj, NULL);
}

static void open_transformed(stage *s, observer *h, int *transforms, bool streaming) {
    const ki_shared_informer_options options = { .factory = streaming_if(streaming), .given.resync_ms = 5000 };
    *transforms = 0;
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
    assert_int_equal(ki_informer_set_transform(s->informer, mark, transforms, NULL), KI_OK);
    add_observer(h, s, NULL);
    h->reads_the_store = true;
    start_stage(s);
}

TEST(handlers_are_notified_of_transformed_objects_and_of_each_once) {
    stage s;
    observer h;
    int transforms;
    open_transformed(&s, &h, &transforms, false);
    play_each(&s, "{10: a=5}; open; > +a=5(5)i synced; +b=11; ~b=12; store a=5(5) b=12(12); -a=13; > +b=11(11) "
                  "~b=11(11)>12(12) -a=13(13); store b=12(12)");
    assert_int_equal(transforms, 4);
    play_each(&s, "wait 20000");
    assert_non_null(strstr(h.notes, "~b=12(12)>12(12)r"));
    assert_int_equal(transforms, 4); /* a resync transforms nothing */
    h.notes[0] = '\0';
    play_each(&s, "error 410; wait 1600; {21: c=20}; open");
    expect(&h, "?b=12(12) +c=20(20)");
    assert_int_equal(transforms, 5); /* nor does a deletion that was found out */
    play_each(&s, "store c=20(20)");
    close_stage(&s);
}

TEST(each_state_of_a_streaming_list_is_transformed_once_as_it_arrives) {
    stage s;
    observer h;
    int transforms;
    open_transformed(&s, &h, &transforms, true);
    play_each(&s, "open; +a=1; +a=2");
    assert_int_equal(transforms, 2);
    play_each(&s, "initial-end 3; > +a=2(2)i synced");
    assert_int_equal(transforms, 2);
    play_each(&s, "+b=4; ~a=5; > +b=4(4) ~a=2(2)>5(5); store a=5(5) b=4(4); -b=6; > -b=6(6); store a=5(5)");
    assert_int_equal(transforms, 5);
    close_stage(&s);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* A handler that keeps its own map from address to pod: the new pod has the address of the deleted one. */
TEST(a_relist_deletes_before_it_adds) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    play_each(&s,
              "{10: a=5 c=6}; open; > +a=5i +c=6i synced; error 410; wait 1600; {20: b=12 c=13}; > ?a=5 +b=12 ~c=6>13");
    close_stage(&s);
}

/* --- the store ---------------------------------------------------------------------------------------------------- */

TEST(a_handler_finds_in_the_store_what_it_is_notified_of) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    h.reads_the_store = true;
    play_each(&s, "{1:}; open; > synced; +a=2; +b=3; +c=4; > +a=2 +b=3 +c=4; error 410; wait 1600; {8: a=5 b=6 d=7}; "
                  "open; store a=5 b=6 d=7");
    expect(&h, "?c=4 ~a=2>5 ~b=3>6 +d=7");
    play_each(&s, "error 410; wait 3200; {9:}; open; store -");
    expect_any_order(&h, "?a=5 ?b=6 ?d=7");
    close_stage(&s);
}

static ki_status label_names(const ki_object *obj, ki_index_values *values, void *user) {
    static const char *const names[] = { "x", "y" };
    ki_status status = KI_OK;
    (void)user;
    for (size_t i = 0; i < 2 && !status; i++)
        if (ki_object_label(obj, names[i]))
            status = ki_index_values_add(values, names[i]);
    return status;
}

static void bring(stage *s, const char *key, const char *version, const char *labels) {
    ki_object *obj = make_object(key, version, labels);
    if (s->source.lists)
        s->source.list.on_object(obj, s->source.list.user);
    else
        s->source.watch.on_event(KI_EVENT_ADD, obj, s->source.watch.user);
    ki_object_unref(obj);
    settle(s);
}

static void expect_index(const stage *s, const char *index, size_t x, size_t y) {
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t values = 0;
    assert_int_equal(ki_snapshot_count_by_index(snapshot, index, "x"), x);
    assert_int_equal(ki_snapshot_count_by_index(snapshot, index, "y"), y);
    while (ki_snapshot_next_index_value(snapshot, index, &cursor))
        values++;
    assert_int_equal(values, (size_t)(x > 0) + (y > 0));
    ki_snapshot_free(snapshot);
}

TEST(an_index_follows_the_source_and_may_come_late) {
    const ki_indexer early = { .name = "labels", .index = label_names };
    const ki_indexer late = { .name = "labels-again", .index = label_names };
    stage s;
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_indexers(s.informer, &early, 1, NULL), KI_OK);
    start_stage(&s);
    bring(&s, "default/a", "5", "x=1,y=1");
    bring(&s, "default/b", "6", "y=2");
    play_each(&s, "{10:}; open");
    expect_index(&s, "labels", 1, 2);
    bring(&s, "default/c", "11", "x=2");
    expect_index(&s, "labels", 2, 2);
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_OK);
    expect_index(&s, "labels-again", 2, 2); /* at once */
    play_each(&s, "-c=12");
    expect_index(&s, "labels-again", 1, 2);
    close_stage(&s);
}

/* --- synced ------------------------------------------------------------------------------------------------------- */

TEST(a_registration_has_synced_after_the_informer_and_its_own_last_add) {
    stage s;
    observer early, late;
    open_stage(&s, 0);
    add_observer(&early, &s, NULL);
    assert_false(ki_informer_has_synced(s.informer));
    assert_false(ki_registration_has_synced(early.registration));
    start_stage(&s);
    play(&s, "{10: a=5 b=6}");
    assert_false(ki_registration_has_synced(early.registration));
    for (int steps = 0; ki_engine_timeout(s.engine.engine) == 0; steps++) {
        assert_true(steps < 1000);
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        if (ki_registration_has_synced(early.registration)) {
            assert_true(ki_informer_has_synced(s.informer));
            assert_string_equal(early.notes, "+a=5i +b=6i synced");
        }
    }
    assert_true(ki_registration_has_synced(early.registration));
    add_observer(&late, &s, NULL);
    assert_true(ki_informer_has_synced(s.informer));
    assert_false(ki_registration_has_synced(late.registration)); /* it has no notification yet */
    settle(&s);
    assert_true(ki_registration_has_synced(late.registration));
    close_stage(&s);
}

/* --- registrations ------------------------------------------------------------------------------------------------ */

TEST(one_handler_may_be_registered_twice_and_removed_once) {
    stage s;
    observer h;
    ki_handler changes = observing;
    changes.on_synced = NULL;
    changes.on_removed = NULL;
    open_stage(&s, 0);
    add_observer_of(&h, &s, &changes, NULL);
    const ki_registration first = h.registration;
    assert_int_equal(ki_informer_add_handler(s.informer, &changes, &h, NULL, &h.registration, NULL), KI_OK);
    assert_int_not_equal(first.id, h.registration.id);
    start_stage(&s);
    play_each(&s, "{10: a=5}; open; > +a=5i +a=5i");
    assert_int_equal(ki_informer_remove_handler(s.informer, first, NULL), KI_OK);
    play_each(&s, "~a=11; > ~a=5>11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_OK);
    play_each(&s, "~a=12; > -");
    close_stage(&s);
}

TEST(a_registration_that_was_removed_removes_nobody_else) {
    stage s;
    observer a, b;
    open_stage(&s, 0);
    add_observer(&a, &s, NULL);
    start_stage(&s);
    play_each(&s, LISTED);
    assert_true(ki_registration_has_synced(a.registration));
    assert_int_equal(ki_informer_remove_handler(s.informer, a.registration, NULL), KI_OK);
    play_each(&s, "~a=11"); /* it ends, and its memory is free for the next one */
    add_observer(&b, &s, NULL);
    assert_int_equal(ki_informer_remove_handler(s.informer, a.registration, NULL), KI_ERR_NOT_FOUND);
    assert_false(ki_registration_has_synced(a.registration));
    assert_int_equal(ki_registration_pending(a.registration), 0);
    b.notes[0] = '\0';
    play_each(&s, "~a=12");
    assert_non_null(strstr(b.notes, "~a=11>12"));
    const ki_registration none = { NULL, 0 };
    assert_int_equal(ki_informer_remove_handler(s.informer, none, NULL), KI_ERR_NOT_FOUND);
    assert_false(ki_registration_has_synced(none));
    close_stage(&s);
}

static ki_registration asked_about;

/* Called under the lock that a change holds. */
static ki_status index_and_ask(const ki_object *obj, ki_index_values *values, void *user) {
    (void)obj;
    (void)values;
    (void)user;
    (void)ki_registration_has_synced(asked_about);
    (void)ki_registration_pending(asked_about);
    return KI_OK;
}

TEST(to_ask_about_a_registration_waits_for_no_change) {
    stage s;
    observer h;
    const ki_indexer indexer = { .name = "asks", .index = index_and_ask };
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_indexers(s.informer, &indexer, 1, NULL), KI_OK);
    add_observer(&h, &s, NULL);
    asked_about = h.registration;
    start_stage(&s);
    play_each(&s, LISTED);
    assert_true(ki_registration_has_synced(h.registration));
    close_stage(&s);
}

TEST(to_remove_it_from_another_informer_changes_nothing) {
    stage s, other;
    observer h;
    open_stage(&s, 0);
    open_stage(&other, 0);
    add_observer(&h, &s, NULL);
    assert_int_equal(ki_informer_remove_handler(other.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    start_stage(&s);
    play_each(&s, LISTED "; > +a=5i +b=6i synced");
    assert_int_equal(ki_informer_remove_handler(other.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    play_each(&s, "~a=11; > ~a=5>11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_OK);
    play_each(&s, "~a=12; > removed");
    close_stage(&s);
    close_stage(&other);
}

/* --- lists after a loss ------------------------------------------------------------------------------------------- */

TEST(after_a_lost_watch_only_who_wants_resyncs_is_notified_of_what_stayed) {
    stage s;
    observer none, resyncing;
    open_stage(&s, 0);
    add_observer(&none, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = -1));
    add_observer(&resyncing, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 100000000));
    start_stage(&s);
    play_each(&s, LISTED "; > +a=5i +b=6i synced; >> +a=5i +b=6i synced; error 410; wait 1600; {12: a=5 b=12 c=11}; "
                         "open; > ~b=6>12 +c=11; >> ~a=5>5r ~b=6>12 +c=11");
    close_stage(&s);
}

/* A corrupt object that was deleted unsafely: the server cannot say what it was, and ends the watch. */
TEST(what_a_store_read_error_hides_is_gone_after_the_list) {
    stage s;
    observer h;
    ki_error err = KI_ERROR_INIT;
    const ki_shared_informer_options options = { .factory = streaming_if(false) };
    assert_int_equal(open_stage_with(&s, options, NULL), KI_OK);
    add_observer(&h, &s, NULL);
    start_stage(&s);
    play_each(&s, LISTED "; +c=11; > +a=5i +b=6i synced +c=11");
    s.source.trace[0] = '\0';
    ki_error_set(&err, KI_ERR_HTTP, "failed to prepare current and previous objects: corrupt object has been deleted");
    err.http_status = 500;
    strcpy(err.reason, "StoreReadError");
    s.source.watches = false;
    s.source.watch.on_end(&err, true, true, s.source.watch.user);
    play_each(&s, "wait 1600; ? list rv=11; {12: a=5 b=6}; open; > ?c=11");
    close_stage(&s);
}

TEST(the_user_s_pages_at_a_known_version_become_one_list_when_their_token_expires) {
    stage s;
    observer h;
    const ki_shared_informer_options options = { .factory = streaming_if(false), .given.page_size = 4 };
    assert_int_equal(open_stage_with(&s, options, NULL), KI_OK);
    add_observer(&h, &s, NULL);
    start_stage(&s);
    play_each(&s, "? list rv=0 limit=4; {10: a=5}; ? watch rv=10; open; error 410; wait 1600; ? list rv=10 limit=4; "
                  "{11 C1: a=5}; ? list continue=C1 limit=4; fail 410; ? list rv=10; {11: a=5 b=11}; ? watch rv=11; > "
                  "+a=5i synced +b=11");
    close_stage(&s);
}

WITH_BOTH_QUEUES;
