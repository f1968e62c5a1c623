/* test_handler_truth.c: a handler is notified of exactly what the store has, transformed once, and synced only when it is; handlers that are
 * registered twice or removed elsewhere; a lost deletion. On a stepped engine, with either queue. Plays: fake_list_watch.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kinformer/lister.h>

#include "src/base/error.h"
#include "src/cache/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/make_object.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 2048
};

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    int transforms;
} stage;

typedef struct observer {
    stage *stage;
    ki_registration registration;
    bool reads_the_store;
    char notes[TEXT]; /* "+a=5i ~a=5>6 ~a=6>6r -a=6?", with "(5)" after a version that the transform has seen */
} observer;

__attribute__((format(printf, 2, 3))) static void note(observer *h, const char *format, ...) {
    size_t used = strlen(h->notes);
    if (used)
        h->notes[used++] = ' ';
    va_list args;
    va_start(args, format);
    vsnprintf(h->notes + used, sizeof h->notes - used, format, args);
    va_end(args);
}

typedef struct shown {
    char text[64];
} shown;

static shown version_of(const ki_object *obj) {
    shown v;
    ki_value seen = KI_VALUE_INIT;
    bool is_marked = ki_object_field(obj, "data.seen", &seen, NULL) == KI_OK;
    snprintf(v.text, sizeof v.text, "%s%s%s%s", ki_object_resource_version(obj), is_marked ? "(" : "",
             is_marked ? seen.text : "", is_marked ? ")" : "");
    ki_value_clear(&seen);
    return v;
}

/* `expected` as version_of says it; NULL: it is gone. */
static void check_store(const observer *h, const ki_object *obj, const char *expected) {
    if (!h->reads_the_store)
        return;
    ki_object *stored = ki_informer_get(h->stage->informer, ki_object_key(obj));
    assert_int_equal(stored != NULL, expected != NULL);
    if (stored)
        assert_string_equal(version_of(stored).text, expected);
    ki_object_unref(stored);
}

static void on_add(const ki_event *e, void *user) {
    observer *h = user;
    if (e->is_in_initial_list)
        assert_false(ki_registration_has_synced(h->registration));
    check_store(h, e->obj, version_of(e->obj).text);
    note(h, "+%s=%s%s", ki_object_name(e->obj), version_of(e->obj).text, e->is_in_initial_list ? "i" : "");
}

static void on_update(const ki_event *e, void *user) {
    observer *h = user;
    check_store(h, e->obj, version_of(e->obj).text);
    note(h, "~%s=%s>%s%s", ki_object_name(e->obj), version_of(e->old).text, version_of(e->obj).text,
         e->is_resync ? "r" : "");
}

static void on_delete(const ki_event *e, void *user) {
    observer *h = user;
    check_store(h, e->obj, NULL);
    note(h, "-%s=%s%s", ki_object_name(e->obj), version_of(e->obj).text, e->final_state_unknown ? "?" : "");
}

static const ki_handler observing = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };

/* --- stage --------------------------------------------------------------------------------------------------------------------------- */

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void make_stage(stage *s, ki_shared_informer_options options) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, 1));
    fake_init(&s->source);
    options.engine = s->engine.engine;
    options.list_watch = &s->source.base;
    options.resource = &configmaps;
    assert_int_equal(ki_informer_new(&options, &s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

static void start(stage *s) {
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

static void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    test_engine_close(&s->engine);
}

static void listen(observer *h, stage *s, int64_t resync_ms) {
    memset(h, 0, sizeof *h);
    h->stage = s;
    assert_int_equal(ki_informer_register(s->informer, &observing, h, &KI_REGISTRATION_OPTIONS(.resync_ms = resync_ms),
                                          &h->registration, NULL),
                     KI_OK);
}

/* "wait MS" moves the clock; "? TEXT" is what was asked since the last such line; what a line brings is applied before the next, unless
 * it begins with a blank. */
static void play(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    assert_true(strlen(lines) < sizeof copy);
    strcpy(copy, lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "wait ", 5) == 0) {
            assert_true(test_engine_advance(&s->engine, atoi(line + 5)));
        } else if (strncmp(line, "? ", 2) == 0) {
            assert_string_equal(s->source.trace, line + 2);
            s->source.trace[0] = '\0';
        } else if (!fake_play(&s->source, line)) {
            fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
        }
        if (line[0] != ' ')
            assert_true(test_engine_settle(&s->engine));
    }
}

static void expect(observer *h, const char *notes) {
    assert_string_equal(h->notes, notes);
    h->notes[0] = '\0';
}

/* All that is stored, as "a=5 b=6(6)", in the order of names. */
static void expect_stored(const stage *s, const char *expected) {
    static const char *const names[] = { "a", "b", "c", "d" };
    char text[TEXT] = "";
    size_t found = 0;
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char key[64];
        snprintf(key, sizeof key, "default/%s", names[i]);
        const ki_object *obj = ki_snapshot_get(snapshot, key);
        if (obj)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%s", found++ ? " " : "", names[i],
                     version_of(obj).text);
    }
    assert_string_equal(text, expected);
    assert_int_equal(ki_snapshot_count(snapshot), found);
    ki_snapshot_free(snapshot);
}

#define LISTED "item default/a 5\nitem default/b 6\npage 10 -\nopen"

/* --- transforms ---------------------------------------------------------------------------------------------------------------------- */

/* An object that it has seen before would fail. */
static ki_status mark(ki_object *obj, ki_object **ret_obj, void *user) {
    stage *s = user;
    char json[TEXT];
    s->transforms++;
    if (strchr(version_of(obj).text, '('))
        return KI_ERR_INVALID;
    snprintf(json, sizeof json, "{\"data\":{\"seen\":\"%s\"}}", ki_object_resource_version(obj));
    return ki_object_with_json(obj, json, strlen(json), ret_obj, NULL);
}

static void open_transformed(stage *s, observer *h, bool in_order, bool streaming) {
    make_stage(s, (ki_shared_informer_options){
                      .in_order = in_order, .no_streaming_list = !streaming, .resync_ns = KI_SECONDS(5) });
    assert_int_equal(ki_informer_set_transform(s->informer, mark, s, NULL), KI_OK);
    listen(h, s, 0);
    start(s);
}

static void handlers_hear_of_transformed_objects_and_of_each_once(void **state) {
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        stage s;
        observer h;
        open_transformed(&s, &h, in_order, false);
        h.reads_the_store = true;
        play(&s, "item default/a 5\npage 10 -\nopen");
        expect(&h, "+a=5(5)i");
        play(&s, "add default/b 11\nmod default/b 12");
        expect_stored(&s, "a=5(5) b=12(12)");
        play(&s, "del default/a 13");
        expect(&h, "+b=11(11) ~b=11(11)>12(12) -a=13(13)");
        expect_stored(&s, "b=12(12)");
        assert_int_equal(s.transforms, 4);
        play(&s, "wait 20000");
        assert_non_null(strstr(h.notes, "~b=12(12)>12(12)r"));
        assert_int_equal(s.transforms, 4); /* a resync transforms nothing */
        h.notes[0] = '\0';
        play(&s, "error 410\nwait 1600\nitem default/c 20\npage 21 -\nopen");
        if (in_order)
            expect(&h, "-b=12(12)? +c=20(20)");
        else
            expect(&h, "+c=20(20) -b=12(12)?");
        assert_int_equal(s.transforms, 5); /* nor does a deletion that was found out */
        expect_stored(&s, "c=20(20)");
        close_stage(&s);
    }
}

static void each_state_of_a_streaming_list_is_transformed_once_as_it_arrives(void **state) {
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        stage s;
        observer h;
        open_transformed(&s, &h, in_order, true);
        play(&s, "open\nadd default/a 1\nadd default/a 2");
        assert_int_equal(s.transforms, 2);
        play(&s, "initial-end 3");
        assert_int_equal(s.transforms, 2);
        expect(&h, "+a=2(2)i");
        play(&s, "add default/b 4\nmod default/a 5");
        expect(&h, "+b=4(4) ~a=2(2)>5(5)");
        expect_stored(&s, "a=5(5) b=4(4)");
        play(&s, "del default/b 6");
        expect(&h, "-b=6(6)");
        expect_stored(&s, "a=5(5)");
        assert_int_equal(s.transforms, 5);
        close_stage(&s);
    }
}

/* --- the store --------------------------------------------------------------------------------------------------------------------------- */

static void a_handler_finds_in_the_store_what_it_hears_of(void **state) {
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        stage s;
        observer h;
        make_stage(&s, (ki_shared_informer_options){ .in_order = in_order, .no_streaming_list = true });
        listen(&h, &s, 0);
        h.reads_the_store = true;
        start(&s);
        play(&s, "page 1 -\nopen");
        expect(&h, "");
        play(&s, "add default/a 2\nadd default/b 3\nadd default/c 4");
        expect(&h, "+a=2 +b=3 +c=4");
        play(&s, "error 410\nwait 1600\nitem default/a 5\nitem default/b 6\nitem default/d 7\npage 8 -\nopen");
        expect(&h, in_order ? "-c=4? ~a=2>5 ~b=3>6 +d=7" : "~a=2>5 ~b=3>6 +d=7 -c=4?");
        expect_stored(&s, "a=5 b=6 d=7");
        play(&s, "error 410\nwait 3200\npage 9 -\nopen");
        assert_int_equal(strlen(h.notes), strlen("-a=5? -b=6? -d=7?"));
        static const char *const gone[] = { "-a=5?", "-b=6?", "-d=7?" };
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
            assert_non_null(strstr(h.notes, gone[i]));
        expect_stored(&s, "");
        close_stage(&s);
    }
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
        s->source.watch.on_event(KI_CHANGE_ADDED, obj, s->source.watch.user);
    ki_object_unref(obj);
    assert_true(test_engine_settle(&s->engine));
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

static void an_index_follows_the_source_and_may_come_late(void **state) {
    (void)state;
    const ki_indexer early = { .name = "labels", .index = label_names };
    const ki_indexer late = { .name = "labels-again", .index = label_names };
    stage s;
    make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true });
    assert_int_equal(ki_informer_add_indexers(s.informer, &early, 1, NULL), KI_OK);
    start(&s);
    bring(&s, "default/a", "5", "x=1,y=1");
    bring(&s, "default/b", "6", "y=2");
    play(&s, "page 10 -\nopen");
    expect_index(&s, "labels", 1, 2);
    bring(&s, "default/c", "11", "x=2");
    expect_index(&s, "labels", 2, 2);
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_OK);
    expect_index(&s, "labels-again", 2, 2); /* at once */
    play(&s, "del default/c 12");
    expect_index(&s, "labels-again", 1, 2);
    close_stage(&s);
}

/* --- synced ------------------------------------------------------------------------------------------------------------------------------ */

static void a_registration_has_synced_after_the_informer_and_its_own_last_add(void **state) {
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        stage s;
        observer early, late;
        make_stage(&s, (ki_shared_informer_options){ .in_order = in_order, .no_streaming_list = true });
        listen(&early, &s, 0);
        assert_false(ki_informer_has_synced(s.informer));
        assert_false(ki_registration_has_synced(early.registration));
        start(&s);
        play(&s, " item default/a 5\n item default/b 6\n page 10 -");
        assert_false(ki_registration_has_synced(early.registration));
        for (int steps = 0; ki_engine_timeout(s.engine.engine) == 0; steps++) {
            assert_true(steps < 1000);
            assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
            if (ki_registration_has_synced(early.registration)) {
                assert_true(ki_informer_has_synced(s.informer));
                assert_string_equal(early.notes, "+a=5i +b=6i");
            }
        }
        assert_true(ki_registration_has_synced(early.registration));
        listen(&late, &s, 0);
        assert_true(ki_informer_has_synced(s.informer));
        assert_false(ki_registration_has_synced(late.registration)); /* it has no notification yet */
        assert_true(test_engine_settle(&s.engine));
        assert_true(ki_registration_has_synced(late.registration));
        close_stage(&s);
    }
}

/* --- registrations ------------------------------------------------------------------------------------------------------------------------- */

static void one_handler_may_be_registered_twice_and_removed_once(void **state) {
    (void)state;
    stage s;
    observer h;
    ki_registration first;
    make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true });
    listen(&h, &s, 0);
    first = h.registration;
    assert_int_equal(ki_informer_register(s.informer, &observing, &h, NULL, &h.registration, NULL), KI_OK);
    assert_int_not_equal(first.id, h.registration.id);
    start(&s);
    play(&s, "item default/a 5\npage 10 -\nopen");
    expect(&h, "+a=5i +a=5i");
    assert_int_equal(ki_informer_remove_handler(s.informer, first, NULL), KI_OK);
    play(&s, "mod default/a 11");
    expect(&h, "~a=5>11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_OK);
    play(&s, "mod default/a 12");
    expect(&h, "");
    close_stage(&s);
}

static void a_registration_that_was_removed_removes_nobody_else(void **state) {
    (void)state;
    stage s;
    observer a, b;
    make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true });
    listen(&a, &s, 0);
    start(&s);
    play(&s, LISTED);
    assert_true(ki_registration_has_synced(a.registration));
    assert_int_equal(ki_informer_remove_handler(s.informer, a.registration, NULL), KI_OK);
    play(&s, "mod default/a 11"); /* it ends, and its memory is free for the next one */
    listen(&b, &s, 0);
    assert_int_equal(ki_informer_remove_handler(s.informer, a.registration, NULL), KI_ERR_NOT_FOUND);
    assert_false(ki_registration_has_synced(a.registration));
    assert_int_equal(ki_registration_pending(a.registration), 0);
    b.notes[0] = '\0';
    play(&s, "mod default/a 12");
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

static void to_ask_about_a_registration_waits_for_no_change(void **state) {
    (void)state;
    stage s;
    observer h;
    const ki_indexer indexer = { .name = "asks", .index = index_and_ask };
    make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true });
    assert_int_equal(ki_informer_add_indexers(s.informer, &indexer, 1, NULL), KI_OK);
    listen(&h, &s, 0);
    asked_about = h.registration;
    start(&s);
    play(&s, LISTED);
    assert_true(ki_registration_has_synced(h.registration));
    close_stage(&s);
}

static void to_remove_it_from_another_informer_changes_nothing(void **state) {
    (void)state;
    stage s, other;
    observer h;
    make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true });
    make_stage(&other, (ki_shared_informer_options){ .no_streaming_list = true });
    listen(&h, &s, 0);
    assert_int_equal(ki_informer_remove_handler(other.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    start(&s);
    play(&s, LISTED);
    expect(&h, "+a=5i +b=6i");
    assert_int_equal(ki_informer_remove_handler(other.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    play(&s, "mod default/a 11");
    expect(&h, "~a=5>11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_OK);
    play(&s, "mod default/a 12");
    expect(&h, "");
    close_stage(&s);
    close_stage(&other);
}

/* --- lists after a loss -------------------------------------------------------------------------------------------------------------------- */

static void after_a_lost_watch_only_who_wants_resyncs_hears_of_what_stayed(void **state) {
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        stage s;
        observer none, resyncing;
        make_stage(&s, (ki_shared_informer_options){ .in_order = in_order, .no_streaming_list = true });
        listen(&none, &s, -1);
        listen(&resyncing, &s, 100000000);
        start(&s);
        play(&s, LISTED);
        expect(&none, "+a=5i +b=6i");
        expect(&resyncing, "+a=5i +b=6i");
        play(&s, "error 410\nwait 1600\nitem default/a 5\nitem default/b 12\nitem default/c 11\npage 12 -\nopen");
        expect(&none, "~b=6>12 +c=11");
        expect(&resyncing, "~a=5>5r ~b=6>12 +c=11");
        close_stage(&s);
    }
}

/* A corrupt object that was deleted unsafely: the server cannot say what it was, and ends the watch. */
static void what_a_store_read_error_hides_is_gone_after_the_list(void **state) {
    (void)state;
    for (int retries = 0; retries < 2; retries++) {
        stage s;
        observer h;
        ki_error err = KI_ERROR_INIT;
        make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true,
                                                     .internal_error_retry_ns = retries ? KI_SECONDS(600) : 0 });
        listen(&h, &s, 0);
        start(&s);
        play(&s, LISTED "\nadd default/c 11");
        expect(&h, "+a=5i +b=6i +c=11");
        s.source.trace[0] = '\0';
        ki_error_set(&err, KI_ERR_HTTP,
                     "failed to prepare current and previous objects: corrupt object has been deleted");
        err.http_status = 500;
        strcpy(err.reason, "StoreReadError");
        s.source.watches = false;
        s.source.watch.on_end(&err, true, true, s.source.watch.user);
        play(&s, "wait 1600\n? list rv=11\nitem default/a 5\nitem default/b 6\npage 12 -\nopen");
        expect(&h, "-c=11?");
        close_stage(&s);
    }
}

static void the_user_s_pages_at_a_known_version_become_one_list_when_their_token_expires(void **state) {
    (void)state;
    stage s;
    observer h;
    make_stage(&s, (ki_shared_informer_options){ .no_streaming_list = true, .page_size = 4 });
    listen(&h, &s, 0);
    start(&s);
    play(&s, "? list rv=0 limit=4\nitem default/a 5\npage 10 -\n? watch rv=10\nopen\nerror 410\nwait 1600\n"
             "? list rv=10 limit=4\nitem default/a 5\npage 11 C1\n? list continue=C1 limit=4\nfail 410\n"
             "? list rv=10\nitem default/a 5\nitem default/b 11\npage 11 -\n? watch rv=11");
    expect(&h, "+a=5i +b=11");
    close_stage(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_hear_of_transformed_objects_and_of_each_once),
        cmocka_unit_test(each_state_of_a_streaming_list_is_transformed_once_as_it_arrives),
        cmocka_unit_test(a_handler_finds_in_the_store_what_it_hears_of),
        cmocka_unit_test(an_index_follows_the_source_and_may_come_late),
        cmocka_unit_test(a_registration_has_synced_after_the_informer_and_its_own_last_add),
        cmocka_unit_test(one_handler_may_be_registered_twice_and_removed_once),
        cmocka_unit_test(a_registration_that_was_removed_removes_nobody_else),
        cmocka_unit_test(to_ask_about_a_registration_waits_for_no_change),
        cmocka_unit_test(to_remove_it_from_another_informer_changes_nothing),
        cmocka_unit_test(after_a_lost_watch_only_who_wants_resyncs_hears_of_what_stayed),
        cmocka_unit_test(what_a_store_read_error_hides_is_gone_after_the_list),
        cmocka_unit_test(the_user_s_pages_at_a_known_version_become_one_list_when_their_token_expires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
