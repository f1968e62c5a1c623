/* test_informer_registration.c: handlers that come late, go, resync by their own clock, want the latest only or what a
 * filter lets through; on a stepped engine. Their notifications: test_shared_informer.c. With threads:
 * test_listener.c. */

#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- late handlers ------------------------------------------------------------------------------------------------ */

TEST(a_late_handler_is_notified_of_what_is_there_then_of_changes) {
    stage s;
    observer h;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED "; +c=11");
    add_observer(&h, &s, NULL);
    assert_int_equal(ki_registration_pending(h.registration), 3);
    play_all(&s, "~a=12; -b=13"); /* before its first call */
    assert_int_equal(ki_registration_pending(h.registration), 0);
    assert_true(ki_registration_has_synced(h.registration));
    char *changes = strstr(h.notes, "synced");
    assert_non_null(changes);
    assert_string_equal(changes, "synced ~a=5>12 -b=13");
    *(changes - 1) = '\0';
    expect_any_order(&h, "+a=5i +b=6i +c=11i");
    close_stage(&s);
}

TEST(a_handler_added_while_the_list_is_applied_misses_nothing) {
    for (int steps = 0; steps < 40; steps++) {
        stage s;
        observer h;
        open_stage(&s, 0);
        start_stage(&s);
        play(&s, "{10: a=5 b=6}");
        for (int i = 0; i < steps; i++)
            assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        add_observer(&h, &s, NULL);
        settle(&s);
        assert_true(ki_registration_has_synced(h.registration));
        assert_non_null(strstr(h.notes, "synced"));
        assert_int_equal(strlen(strstr(h.notes, "synced")), strlen("synced")); /* the last */
        expect_any_order(&h, "+a=5i +b=6i synced");
        close_stage(&s);
    }
}

static void ignore(const ki_event *event, void *user) {
    (void)event;
    (void)user;
}

static void add_one(void *user) {
    static const ki_handler ignoring = { .on_add = ignore };
    stage *s = user;
    assert_int_equal(ki_informer_add_handler(s->informer, &ignoring, NULL, NULL, NULL, NULL), KI_OK);
}

static void run_loop(void *user) {
    settle(user);
}

/* Waits until so many threads wait for the informer's lock. Returns the first of them. */
static const ki_fair_wait *first_of_line(stage *s, size_t count) {
    ki_fair_mutex *lock = &s->informer->change_lock;
    for (;;) {
        size_t found = 0;
        ki_mutex_lock(&lock->mutex);
        const ki_fair_wait *first = lock->first;
        for (const ki_fair_wait *at = first; at; at = at->next)
            found++;
        ki_mutex_unlock(&lock->mutex);
        if (found == count)
            return first;
        ki_thread_pause();
    }
}

/* Each of them would otherwise have a turn before each turn of the loop. */
TEST(threads_that_add_handlers_wait_behind_the_loop) {
    enum {
        ADDERS = 3
    };
    stage s;
    observer h;
    ki_thread adders[ADDERS] = { 0 }, loop = { 0 };
    open_listed_stage(&s, &h);
    play(&s, "~a=11");
    ki_fair_mutex_lock(&s.informer->change_lock);
    for (size_t i = 0; i < ADDERS; i++)
        assert_int_equal(ki_thread_start(&adders[i], "adder", add_one, &s, NULL), KI_OK);
    const ki_fair_wait *adder = first_of_line(&s, ADDERS);
    assert_int_equal(ki_thread_start(&loop, "loop", run_loop, &s, NULL), KI_OK);
    bool is_loop_first = first_of_line(&s, ADDERS + 1) != adder;
    ki_fair_mutex_unlock(&s.informer->change_lock);
    for (size_t i = 0; i < ADDERS; i++)
        ki_thread_join(&adders[i]);
    ki_thread_join(&loop);
    assert_true(is_loop_first);
    settle(&s);
    assert_non_null(strstr(h.notes, "~a=5>11"));
    close_stage(&s);
}

/* --- removal ------------------------------------------------------------------------------------------------------ */

TEST(a_removed_handler_is_notified_no_more) {
    stage s;
    observer h, other;
    open_stage(&s, 0);
    add_observer(&h, &s, NULL);
    add_observer(&other, &s, NULL);
    start_stage(&s);
    play_each(&s, LISTED);
    play(&s, "~a=11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_OK);
    settle(&s);
    expect(&h, "+a=5i +b=6i synced removed");
    expect(&other, "+a=5i +b=6i synced ~a=5>11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    ki_informer_stop(s.informer);
    assert_int_equal(ki_informer_remove_handler(s.informer, other.registration, NULL), KI_OK);
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_informer_add_handler(s.informer, &observing, &h, NULL, NULL, NULL), KI_ERR_STATE);
    close_stage(&s);
    expect(&h, "");
    expect(&other, "removed");
}

TEST(a_handler_may_be_removed_from_inside_any_call) {
    static const char *const all = "+a=5i +b=6i synced ~a=5>11 -a=12 ";
    for (const char *at = all; at; at = *at ? strchr(at, ' ') + 1 : NULL) {
        stage s;
        observer h;
        char expected[TEXT];
        int length = (int)(at - all);
        open_stage(&s, 0);
        add_observer(&h, &s, NULL);
        h.removes_itself = length == 0;
        start_stage(&s);
        static const char *const lines[] = { "a=5", "b=6", "{10:}", "open", "~a=11", "-a=12" };
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            play(&s, lines[i]);
            while (ki_engine_timeout(s.engine.engine) == 0) {
                assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
                if ((int)strlen(h.notes) + 1 == length && !h.removed)
                    h.removes_itself = true;
            }
        }
        const char *end = *at ? strchr(at, ' ') : at;
        snprintf(expected, sizeof expected, "%.*s%s", (int)(end - all), all, *at ? " removed" : "");
        if (!*at) {
            h.notes[length - 1] = '\0';
            snprintf(expected, sizeof expected, "%.*s", length - 1, all);
        }
        assert_string_equal(h.notes, expected);
        h.removes_itself = false;
        close_stage(&s);
        assert_int_equal(h.removed, 1);
    }
}

TEST(a_handler_may_remove_another_one) {
    stage s;
    observer first, second;
    open_stage(&s, 0);
    add_observer(&first, &s, NULL);
    add_observer(&second, &s, NULL);
    start_stage(&s);
    play_each(&s, LISTED);
    first.removes = second.registration;
    play_each(&s, "~a=11; ~a=12");
    expect(&first, "+a=5i +b=6i synced ~a=5>11 ~a=11>12");
    expect(&second, "+a=5i +b=6i synced removed");
    close_stage(&s);
}

TEST(a_handler_may_be_removed_before_the_start_and_after_the_end) {
    stage s;
    observer early, never, late;
    open_stage(&s, 0);
    add_observer(&early, &s, NULL);
    add_observer(&never, &s, NULL);
    add_observer(&late, &s, NULL);
    assert_int_equal(ki_informer_remove_handler(s.informer, early.registration, NULL), KI_OK);
    settle(&s);
    expect(&early, "removed");
    assert_int_equal(ki_informer_remove_handler(s.informer, never.registration, NULL), KI_OK);
    ki_informer_stop(s.informer);
    settle(&s);
    assert_int_equal(ki_informer_remove_handler(s.informer, late.registration, NULL), KI_OK);
    settle(&s);
    expect(&never, "");
    expect(&late, "");
    assert_int_equal(ki_informer_add_handler(s.informer, &observing, &late, NULL, NULL, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_start(s.informer, NULL), KI_ERR_STATE);
    settle(&s);
    assert_string_equal(s.source.trace, ""); /* it never asked for anything */
    close_stage(&s);
    expect(&never, "removed");
    expect(&late, "removed");
}

TEST(a_handler_of_another_informer_is_not_found) {
    stage s, other;
    observer h;
    open_stage(&s, 0);
    open_stage(&other, 0);
    add_observer(&h, &other, NULL);
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    close_stage(&s);
    close_stage(&other);
}

static bool accept_all(const ki_object *obj, void *user) {
    (void)obj, (void)user;
    return true;
}

static void ignore_removal(void *user) {
    (void)user;
}

static void count_event(const ki_event *event, void *user) {
    (void)event;
    ++*(int *)user;
}

static void count_call(ki_informer *informer, void *user) {
    (void)informer;
    ++*(int *)user;
}

TEST(a_handler_with_one_function_is_called_for_its_events_and_no_other) {
    static const struct {
        ki_handler handler;
        int calls;
    } cases[] = { { { .on_add = count_event }, 2 },
                  { { .on_update = count_event }, 1 },
                  { { .on_delete = count_event }, 1 },
                  { { .on_synced = count_call }, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int calls = 0;
        stage s;
        open_stage(&s, 0);
        assert_int_equal(ki_informer_add_handler(s.informer, &cases[i].handler, &calls, NULL, NULL, NULL), KI_OK);
        start_stage(&s);
        play_each(&s, LISTED);
        play_each(&s, "~a=11; -b=12");
        assert_int_equal(calls, cases[i].calls);
        close_stage(&s);
    }
}

TEST(a_registration_that_makes_no_sense_is_rejected) {
    stage s;
    ki_registration_options no_size = { .on_loop = true };
    const ki_handler never_called[] = { { .on_add = NULL }, { .filter = accept_all, .on_removed = ignore_removal } };
    ki_error err = KI_ERROR_INIT;
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_handler(s.informer, NULL, NULL, NULL, NULL, NULL), KI_ERR_INVALID);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ki_informer_add_handler(s.informer, &never_called[i], NULL, NULL, NULL, &err), KI_ERR_INVALID);
        assert_string_equal(ki_error_message(&err),
                            "a handler without a function: set on_add, on_update, on_delete, on_synced, on_changed or "
                            "on_namespaces_synced");
    }
    assert_int_equal(ki_informer_add_handler(s.informer, &observing, NULL, &no_size, NULL, NULL), KI_ERR_INVALID);
    close_stage(&s);
}

/* --- resync ------------------------------------------------------------------------------------------------------- */

TEST(each_listener_has_its_own_resync_period) {
    stage s;
    observer two, three, none;
    open_stage(&s, 0);
    add_observer(&two, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 2000));
    add_observer(&three, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 3000));
    add_observer(&none, &s, NULL);
    start_stage(&s);
    play_each(&s, "{10: a=5}; open");
    expect(&two, "+a=5i synced");
    expect(&three, "+a=5i synced");
    /* The informer looks every two seconds: 3 s are over at the second look. */
    play(&s, "wait 1999");
    expect(&two, "");
    play(&s, "wait 1");
    expect(&two, "~a=5>5r");
    expect(&three, "");
    play(&s, "wait 2000");
    expect(&two, "~a=5>5r");
    expect(&three, "~a=5>5r");
    expect(&none, "+a=5i synced");
    close_stage(&s);
}

typedef struct period_case {
    int64_t informer_ms, before_ms, after_ms;
    int first_ms; /* the informer looks */
    bool before_hears, after_hears;
} period_case;

TEST(resync_periods_are_lowered_before_the_start_and_raised_after) {
    static const period_case cases[] = {
        { 0, 0, 0, 10000, false, false },    { 5000, 0, 0, 5000, true, true },     { 5000, 1000, 0, 1000, true, false },
        { 5000, 0, 1000, 5000, true, true }, { 5000, -1, -1, 5000, false, false }, { 0, 1500, 0, 1500, true, false },
        { 0, 0, 2000, 10000, false, false }, { 0, 1, 0, 1000, true, false }, /* one second is the least */
        { 5000, 1, 1, 1000, true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const period_case *c = &cases[i];
        stage s;
        observer before, after;
        open_stage(&s, c->informer_ms);
        add_observer(&before, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = c->before_ms));
        start_stage(&s);
        add_observer(&after, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = c->after_ms));
        play_each(&s, "{10: a=5}; open");
        expect(&before, "+a=5i synced");
        expect(&after, "+a=5i synced");
        assert_true(test_engine_advance(&s.engine, c->first_ms - 1));
        expect(&before, "");
        expect(&after, "");
        assert_true(test_engine_advance(&s.engine, 1));
        expect(&before, c->before_hears ? "~a=5>5r" : "");
        expect(&after, c->after_hears ? "~a=5>5r" : "");
        close_stage(&s);
    }
}

/* --- filter, transform -------------------------------------------------------------------------------------------- */

static bool is_odd(const ki_object *obj, void *user) {
    (void)user;
    return atoi(ki_object_resource_version(obj)) % 2 == 1;
}

TEST(a_filter_turns_updates_into_adds_and_deletes) {
    stage s;
    observer h;
    open_stage(&s, 0);
    ki_handler handler = observing;
    handler.filter = is_odd;
    add_observer_of(&h, &s, &handler, NULL);
    start_stage(&s);
    play_each(&s, LISTED);
    expect(&h, "+a=5i synced");
    play_each(&s, "~a=11; ~a=12; ~a=14; ~a=15; -a=17; ~b=18; -b=20; +c=22; +d=23");
    expect(&h, "~a=5>11 -a=11 +a=15 -a=17 +d=23");
    close_stage(&s);
}

TEST(a_handler_with_selectors_gets_only_what_matches) {
    static const struct {
        const char *fields, *notes;
    } cases[] = {
        { "metadata.name!=b", "+a=5i synced ~a=5>11 -a=12" },
        { "metadata.resourceVersion!=11", "+a=5i +b=6i synced -a=5 ~b=6>13" },
        { "metadata.resourceVersion=13", "synced +b=13" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        observer h;
        open_observed_stage(&s, &h, &KI_REGISTRATION_OPTIONS(.field_selector = cases[i].fields));
        play_each(&s, LISTED "; ~a=11; -a=12; ~b=13");
        expect(&h, cases[i].notes);
        close_stage(&s);
    }
    stage s;
    observer h;
    ki_error err = KI_ERROR_INIT;
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_handler(s.informer, &observing, &h,
                                             &KI_REGISTRATION_OPTIONS(.label_selector = "a in"), NULL, &err),
                     KI_ERR_PARSE);
    close_stage(&s);
}
