/* test_consistency_check.c: an informer that lists a second time beside its watch, on a stepped engine: what it asks
 * for, what it finds, what it does about it. Scripts: informer_stage.h; lines for the watch's source begin with "w ",
 * for the second source with "a ", and `w? TEXT` and `a? TEXT` assert their requests. */

#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fake_list_watch check; /* the second source */

static ki_status open_checked(stage *s, const ki_allocator *allocator, bool no_streaming_list) {
    fake_init(&check);
    const ki_shared_informer_options options = {
        .check_source = &check.base,
        .given.consistency_check_ms = 60000,
        .factory = streaming_if(!no_streaming_list),
        .seed = 7,
    };
    return open_stage_with(s, options, allocator);
}

static void start_with(stage *s, bool no_streaming_list) {
    assert_int_equal(open_checked(s, NULL, no_streaming_list), KI_OK);
    start_stage(s);
}

static void start_checked(stage *s) {
    start_with(s, true);
}

static void close_checked(stage *s) {
    close_stage(s);
    assert_true(check.freed);
}

/* Plays "w STEP" for the watch's source, "a STEP" for the second source, `w?` and `a?`, and the stage's steps. */
static void play_step(const char *step, void *user) {
    stage *s = user;
    bool is_second = step[0] == 'a' && (step[1] == ' ' || step[1] == '?');
    bool is_named = is_second || (step[0] == 'w' && (step[1] == ' ' || step[1] == '?'));
    const char *rest = is_named ? step + (step[1] == '?' ? 1 : 2) : step;
    if (is_second)
        fake_step(&check, &s->engine, rest);
    else
        play(s, rest);
    settle(s);
}

static void play_both(stage *s, const char *script) {
    notation_play(script, play_step, s);
}

static void run(const char *script) {
    stage s;
    start_checked(&s);
    play_both(&s, script);
    close_checked(&s);
}

#define WATCHING "w? list rv=0 limit=500; w {10: a=5 b=6}; w? watch rv=10; w open; "
#define LISTS "a? list limit=500; "
/* A second look after the first, which settles when the watch is as far as the list. */
#define LOOKS_TWICE(list) LISTS "a " list "; a? -; wait 2000; " LISTS "a " list "; a? -; wait 2000; "

TEST(it_lists_by_pages_at_each_interval) {
    run(WATCHING
        "wait 59999; a? -; wait 1; " LISTS
        "a {10 t 1: a=5}; a? list continue=t limit=500; a {10: b=6}; wait 59999; a? -; errors -; wait 1; " LISTS
        "w? -");
}

TEST(a_missing_object_is_reported_and_listed) {
    run(WATCHING "wait 60000; " LOOKS_TWICE("{10: a=5 b=6 c=9}") "errors protocol violation:c; w? cancel, list "
                                                                 "limit=500; w {12: a=5 b=6 c=9}; w? watch rv=12");
}

TEST(an_object_that_is_older_is_reported) {
    run(WATCHING "wait 60000; " LOOKS_TWICE("{10: a=5 b=9}") "errors protocol violation:b; w? cancel, list limit=500");
}

TEST(an_object_that_is_gone_is_reported) {
    run(WATCHING "wait 60000; " LOOKS_TWICE("{10: a=5}") "errors protocol violation:b; w? cancel, list limit=500");
}

TEST(what_is_on_its_way_is_no_difference) {
    run(WATCHING "wait 60000; " LISTS "a {17: a=15 c=16}; w ~a=15; w +c=16; w -b=17; wait 2000; a? -; errors -; w? -");
}

TEST(a_watch_that_lags_is_waited_for) {
    run(WATCHING "wait 60000; " LISTS
                 "a {20: a=5 b=6 c=16}; wait 50000; a? -; w +c=16; wait 2000; a? -; errors -; w? -");
}

TEST(a_watch_that_never_comes_so_far_is_not_waited_for_without_end) {
    run(WATCHING "wait 60000; " LISTS "a {20: a=5 b=6 c=16}; wait 119999; a? -; w byte; wait 2001; " LISTS);
}

TEST(an_object_that_was_made_and_deleted_meanwhile_is_no_difference) {
    run(WATCHING "wait 60000; " LISTS "a {17: a=5 b=6 c=16}; w +c=16; w -c=18; wait 2000; " LISTS
                 "a {20: a=5 b=6}; a? -; wait 2000; a? -; errors -; w? -");
}

/* A watch from no version begins with what there is, and says nothing of what was deleted before. */
TEST(a_list_without_a_version_is_compared_too) {
    run("w? list rv=0 limit=500; w {-: a=5 b=6}; w? watch; w open; wait 60000; " LOOKS_TWICE(
        "{-: a=5 c=9}") "errors protocol violation:c; w? cancel, list limit=500; w {-: a=5 c=9}; w? watch; store a=5 "
                        "c=9");
}

TEST(without_a_watch_there_is_no_verdict) {
    run(WATCHING "wait 60000; " LISTS "a {10: a=5}; w bookmark 20; w fail 429; errors http error:; wait 2000; w? watch "
                 "rv=20; wait 122000; a? -; errors -");
}

TEST(a_list_that_fails_is_reported_and_given_up_until_the_next) {
    run(WATCHING
        "wait 60000; " LISTS
        "a {10 t: a=5}; a? list continue=t limit=500; a fail 410; errors expired:; wait 59999; a? -; wait 1; " LISTS
        "w? -");
}

TEST(the_next_consistency_check_obeys_retry_after) {
    run(WATCHING "wait 60000; " LISTS "a fail 429+90000; errors http error:; wait 89999; a? -; wait 1; " LISTS
                 "a fail 429+1000; errors http error:; wait 59999; a? -; wait 1; " LISTS "w? -");
}

TEST(no_consistency_check_runs_while_the_informer_waits) {
    run(WATCHING
        "wait 60000; " LISTS
        "a a=5; w fail 429+30000; errors http error:; a {10 t:}; a? -; wait 31000; w? watch rv=10; a? -; errors -");
}

TEST(a_list_without_end_is_given_up) {
    run(WATCHING "wait 60000; " LISTS
                 "a {10 t: a=5}; a? list continue=t limit=500; a {10 t:}; a? -; errors protocol violation:; w? -");
    stage s;
    start_checked(&s);
    play_both(&s, WATCHING "wait 60000; " LISTS);
    for (int i = 0; i <= 100; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, "a {10 t%d:}; a? %s", i, i < 100 ? "list continue=t" : "-");
        if (i < 100)
            snprintf(script + strlen(script), sizeof script - strlen(script), "%d limit=500", i);
        play_both(&s, script);
    }
    play_both(&s, "errors protocol violation:; w? -");
    close_checked(&s);
}

TEST(an_object_that_cannot_be_used_is_not_a_ghost) {
    run(WATCHING "wait 60000; " LISTS "a {10: a=5 b=!}; wait 4000; a? -; errors -; w? -");
}

TEST(while_an_object_has_no_name_nothing_is_a_ghost) {
    stage s;
    ki_error bad = KI_ERROR_INIT;
    ki_error_set(&bad, KI_ERR_PARSE, "object=!");
    start_checked(&s);
    play_both(&s, WATCHING "wait 60000; " LISTS "a a=5");
    check.list.on_bad_object(&(ki_bad_object){ .err = &bad, .key = "", .resource_version = "" },
                             check.list.user); /* it may be default/b */
    play_both(&s, "a {10:}; wait 4000; a? -; errors -; w? -");
    close_checked(&s);
}

#define LACKS_B "wait 60000; " LOOKS_TWICE("{10: a=5}") "errors protocol violation:b; "
#define RELISTS "w? cancel, list limit=500; w {12: a=5 b=6}; w? watch rv=12; w open; "

TEST(a_relist_that_did_not_help_comes_again_after_twice_as_many_checks) {
    run(WATCHING LACKS_B RELISTS LACKS_B "w? -; " LACKS_B RELISTS LACKS_B "w? -; " LACKS_B
                                         "w? -; " LACKS_B RELISTS LACKS_B "w? -");
}

TEST(an_object_that_a_streaming_list_left_out_is_found) {
    stage s;
    start_with(&s, false);
    play_both(&s, "w? stream; w open; w +a=5; w +b=6; w initial-end 10; wait 60000; " LOOKS_TWICE(
                      "{10: a=5 b=6 c=9}") "errors protocol violation:c; w? cancel, list limit=500");
    close_checked(&s);
}

TEST(the_repair_delivers_what_was_lost) {
    stage s;
    start_checked(&s);
    play_both(&s, WATCHING "wait 60000; " LOOKS_TWICE("{10: a=9 c=8}"));
    play_both(&s, "w? cancel, list limit=500; w {12: a=9 c=8}");
    ki_object *a = ki_informer_get(s.informer, "default/a"), *b = ki_informer_get(s.informer, "default/b"),
              *c = ki_informer_get(s.informer, "default/c");
    assert_string_equal(ki_object_resource_version(a), "9");
    assert_null(b);
    assert_non_null(c);
    ki_object_unref(a);
    ki_object_unref(c);
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_CONSISTENCY_CHECKS], 1);
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_DIFFERENCES], 3);
    assert_int_equal(s.informer->metrics.relists[KI_RELIST_INCONSISTENT], 1);
    close_checked(&s);
}

TEST(many_objects_are_walked_and_many_differences_are_bounded) {
    enum {
        MANY = 3000
    };
    stage s;
    char line[64];
    start_checked(&s);
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof line, "o%d=5", i);
        assert_true(fake_play(&s.source, line));
    }
    play_both(&s, "w {10:}; w open; wait 60000; a? list limit=500");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < MANY; i += 2) {
            snprintf(line, sizeof line, "o%d=5", i);
            assert_true(fake_play(&check, line));
        }
        play_both(&s, "a {10:}; wait 2000");
    }
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_DIFFERENCES], KI_CONSISTENCY_DIFFERENCES_MAX);
    close_checked(&s);
}

TEST(a_stopped_consistency_check_leaves_nothing) {
    run(WATCHING "wait 60000; " LISTS "a a=5; a c=5");
    run(WATCHING "wait 60000; " LISTS "a {10: c=5}; wait 2000; " LISTS "a c=5");
}

static const char *const differing_lists[][10] = {
    { "w a=5", "w {10:}", "w open", "wait 60000", "a a=5", "a c=5", "a {10 t:}", "a {10:}", "wait 4000" },
    { "w a=5", "w b=5", "w {10:}", "w open", "wait 60000", "a b=5", "a {10:}", "wait 4000" }, /* without a */
};

/* Memory that fails once: nothing is lost, and the next check is as good. */
TEST(lack_of_memory_ends_the_consistency_check) {
    for (size_t kind = 0; kind < sizeof differing_lists / sizeof *differing_lists; kind++) {
        bool is_reported = false;
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            stage s;
            if (open_checked(&s, &memory.allocator, true))
                continue;
            ki_status status = ki_informer_start(s.informer, NULL);
            settle(&s);
            for (const char *const *line = differing_lists[kind]; !status && *line; line++) {
                if ((*line)[1] == 'a')
                    play(&s, *line);
                else
                    (void)fake_play((*line)[0] == 'w' ? &s.source : &check, *line + 2);
                settle(&s);
            }
            assert_null(strstr(s.errors, "ok:")); /* each report has a cause */
            is_reported = is_reported || strstr(s.errors, "out of memory:");
            close_checked(&s);
        }
        assert_true(is_reported);
    }
}
