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
        .given.no_streaming_list = no_streaming_list,
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

/* Plays "w LINE" for the watch's source, "a LINE" for the second source, `w?` and `a?`, and the stage's lines. */
static void play_line(stage *s, const char *line) {
    if (strncmp(line, "w? ", 3) == 0 || strncmp(line, "w ", 2) == 0) {
        play(s, line + (line[1] == '?' ? 1 : 2));
    } else if (strncmp(line, "a? ", 3) == 0) {
        if (strcmp(check.trace, strcmp(line + 3, "-") == 0 ? "" : line + 3) != 0)
            fail_msg("at \"%s\": it is \"%s\"", line, check.trace);
        check.trace[0] = '\0';
    } else if (strncmp(line, "a ", 2) == 0) {
        if (!fake_play(&check, line + 2))
            fail_msg("the second source cannot do \"%s\" now; asked: %s", line, check.trace);
    } else {
        play(s, line);
    }
    settle(s);
}

static void play_both(stage *s, const char *script) {
    char copy[TEXT];
    char *rest = NULL;
    assert_true(strlen(script) < sizeof copy);
    strcpy(copy, script);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        play_line(s, line);
}

static void run(const char *script) {
    stage s;
    start_checked(&s);
    play_both(&s, script);
    close_checked(&s);
}

#define WATCHING "w? list rv=0 limit=500\nw item default/a 5\nw item default/b 6\nw page 10 -\nw? watch rv=10\nw open\n"
#define LISTS "a? list limit=500\n"
/* A second look after the first, which settles when the watch is as far as the list. */
#define LOOKS_TWICE(objects, version) \
    LISTS objects "a page " version " -\na? -\nwait 2000\n" LISTS objects "a page " version " -\na? -\nwait 2000\n"

static void it_lists_by_pages_at_each_interval(void **state) {
    (void)state;
    run(WATCHING "wait 59999\na? -\nwait 1\n" LISTS "a item default/a 5\na page 10 t 1\na? list continue=t limit=500\n"
                 "a item default/b 6\na page 10 -\nwait 59999\na? -\nerrors -\nwait 1\n" LISTS "w? -");
}

static void a_missing_object_is_reported_and_listed(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LOOKS_TWICE("a item default/a 5\na item default/b 6\na item default/c 9\n",
                                            "10") "errors protocol violation:default/c\n"
                                                  "w? cancel; list limit=500\nw item default/a 5\nw item default/b 6\n"
                                                  "w item default/c 9\nw page 12 -\nw? watch rv=12");
}

static void an_object_that_is_older_is_reported(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LOOKS_TWICE("a item default/a 5\na item default/b 9\n",
                                            "10") "errors protocol violation:default/b\nw? cancel; list limit=500");
}

static void an_object_that_is_gone_is_reported(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LOOKS_TWICE("a item default/a 5\n",
                                            "10") "errors protocol violation:default/b\nw? cancel; list limit=500");
}

static void what_is_on_its_way_is_no_difference(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 15\na item default/c 16\na page 17 -\n"
                 "w mod default/a 15\nw add default/c 16\nw del default/b 17\nwait 2000\na? -\nerrors -\nw? -");
}

static void a_watch_that_lags_is_waited_for(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\na item default/b 6\na item default/c 16\na page 20 -\n"
                 "wait 50000\na? -\nw add default/c 16\nwait 2000\na? -\nerrors -\nw? -");
}

static void a_watch_that_never_comes_so_far_is_not_waited_for_without_end(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\na item default/b 6\na item default/c 16\na page 20 -\n"
                 "wait 119999\na? -\nw byte\nwait 2001\n" LISTS);
}

static void an_object_that_was_made_and_deleted_meanwhile_is_no_difference(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\na item default/b 6\na item default/c 16\na page 17 -\n"
                 "w add default/c 16\nw del default/c 18\nwait 2000\n" LISTS
                 "a item default/a 5\na item default/b 6\na page 20 -\na? -\nwait 2000\na? -\nerrors -\nw? -");
}

static void without_a_watch_there_is_no_verdict(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\na page 10 -\nw bookmark 20\nw fail 429\nerrors http error:\n"
                 "wait 2000\nw? watch rv=20\nwait 122000\na? -\nerrors -");
}

static void a_list_that_fails_is_reported_and_given_up_until_the_next(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\na page 10 t\na? list continue=t limit=500\na fail 410\n"
                 "errors expired:\nwait 59999\na? -\nwait 1\n" LISTS "w? -");
}

static void the_next_consistency_check_obeys_retry_after(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a fail 429+90000\nerrors http error:\nwait 89999\na? -\nwait 1\n" LISTS
                 "a fail 429+1000\nerrors http error:\nwait 59999\na? -\nwait 1\n" LISTS "w? -");
}

static void no_consistency_check_runs_while_the_informer_waits(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\nw fail 429+30000\nerrors http error:\na page 10 t\na? -\n"
                 "wait 31000\nw? watch rv=10\na? -\nerrors -");
}

static void a_list_without_end_is_given_up(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS
                 "a item default/a 5\na page 10 t\na? list continue=t limit=500\na page 10 t\na? -\n"
                 "errors protocol violation:\nw? -");
    stage s;
    start_checked(&s);
    play_both(&s, WATCHING "wait 60000\n" LISTS);
    for (int i = 0; i <= 100; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, "a page 10 t%d\na? %s", i, i < 100 ? "list continue=t" : "-");
        if (i < 100)
            snprintf(script + strlen(script), sizeof script - strlen(script), "%d limit=500", i);
        play_both(&s, script);
    }
    play_both(&s, "errors protocol violation:\nw? -");
    close_checked(&s);
}

static void an_object_that_cannot_be_used_is_not_a_ghost(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS
                 "a item default/a 5\na bad default/b\na page 10 -\nwait 4000\na? -\nerrors -\nw? -");
}

static void while_an_object_has_no_name_nothing_is_a_ghost(void **state) {
    (void)state;
    stage s;
    ki_error bad = KI_ERROR_INIT;
    ki_error_set(&bad, KI_ERR_PARSE, "bad object");
    start_checked(&s);
    play_both(&s, WATCHING "wait 60000\n" LISTS "a item default/a 5");
    check.list.on_bad_object(&(ki_bad_object){ .err = &bad, .key = "", .resource_version = "" },
                             check.list.user); /* it may be default/b */
    play_both(&s, "a page 10 -\nwait 4000\na? -\nerrors -\nw? -");
    close_checked(&s);
}

static void what_a_repair_did_not_help_is_reported_only(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LOOKS_TWICE(
        "a item default/a 5\n", "10") "errors protocol violation:default/b\nw? cancel; list limit=500\nw item "
                                      "default/a 5\nw item default/b 6\n"
                                      "w page 12 -\nw? watch rv=12\nw open\nwait 60000\n" LOOKS_TWICE(
                                          "a item default/a 5\n", "10") "errors protocol violation:default/b\nw? -");
}

static void an_object_that_a_streaming_list_left_out_is_found(void **state) {
    (void)state;
    stage s;
    start_with(&s, false);
    play_both(&s, "w? stream\nw open\nw add default/a 5\nw add default/b 6\nw initial-end 10\nwait 60000\n" LOOKS_TWICE(
                      "a item default/a 5\na item default/b 6\na item default/c 9\n",
                      "10") "errors protocol violation:default/c\nw? cancel; list limit=500");
    close_checked(&s);
}

static void the_repair_delivers_what_was_lost(void **state) {
    (void)state;
    stage s;
    start_checked(&s);
    play_both(&s, WATCHING "wait 60000\n" LOOKS_TWICE("a item default/a 9\na item default/c 8\n", "10"));
    play_both(&s, "w? cancel; list limit=500\nw item default/a 9\nw item default/c 8\nw page 12 -");
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

static void many_objects_are_walked_and_many_differences_are_bounded(void **state) {
    (void)state;
    enum {
        MANY = 3000
    };
    stage s;
    char line[64];
    start_checked(&s);
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof line, "item default/o%d 5", i);
        assert_true(fake_play(&s.source, line));
    }
    play_both(&s, "w page 10 -\nw open\nwait 60000\na? list limit=500");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < MANY; i += 2) {
            snprintf(line, sizeof line, "item default/o%d 5", i);
            assert_true(fake_play(&check, line));
        }
        play_both(&s, "a page 10 -\nwait 2000");
    }
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_DIFFERENCES], KI_CONSISTENCY_DIFFERENCES_MAX);
    close_checked(&s);
}

static void a_stopped_consistency_check_leaves_nothing(void **state) {
    (void)state;
    run(WATCHING "wait 60000\n" LISTS "a item default/a 5\na item default/c 5");
    run(WATCHING "wait 60000\n" LISTS "a item default/c 5\na page 10 -\nwait 2000\n" LISTS "a item default/c 5");
}

/* Memory that fails once: nothing is lost, and the next audit is as good. */
static void lack_of_memory_ends_the_consistency_check(void **state) {
    (void)state;
    bool is_reported = false;
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        stage s;
        if (open_checked(&s, &memory.allocator, true))
            continue;
        static const char *const lines[] = { "w item default/a 5", "w page 10 -",        "w open",
                                             "wait 60000",         "a item default/a 5", "a item default/c 5",
                                             "a page 10 t",        "a page 10 -",        "wait 4000" };
        ki_status status = ki_informer_start(s.informer, NULL);
        settle(&s);
        for (size_t i = 0; !status && i < sizeof lines / sizeof *lines; i++) {
            if (lines[i][1] == 'a')
                play(&s, lines[i]);
            else
                (void)fake_play(lines[i][0] == 'w' ? &s.source : &check, lines[i] + 2);
            settle(&s);
        }
        assert_null(strstr(s.errors, "ok:")); /* each report has a cause */
        is_reported = is_reported || strstr(s.errors, "out of memory:");
        close_checked(&s);
    }
    assert_true(is_reported);
}

KT_TESTS(consistency_check) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_lists_by_pages_at_each_interval),
        cmocka_unit_test(a_missing_object_is_reported_and_listed),
        cmocka_unit_test(an_object_that_is_older_is_reported),
        cmocka_unit_test(an_object_that_is_gone_is_reported),
        cmocka_unit_test(what_is_on_its_way_is_no_difference),
        cmocka_unit_test(a_watch_that_lags_is_waited_for),
        cmocka_unit_test(a_watch_that_never_comes_so_far_is_not_waited_for_without_end),
        cmocka_unit_test(an_object_that_was_made_and_deleted_meanwhile_is_no_difference),
        cmocka_unit_test(without_a_watch_there_is_no_verdict),
        cmocka_unit_test(a_list_that_fails_is_reported_and_given_up_until_the_next),
        cmocka_unit_test(the_next_consistency_check_obeys_retry_after),
        cmocka_unit_test(no_consistency_check_runs_while_the_informer_waits),
        cmocka_unit_test(a_list_without_end_is_given_up),
        cmocka_unit_test(an_object_that_cannot_be_used_is_not_a_ghost),
        cmocka_unit_test(while_an_object_has_no_name_nothing_is_a_ghost),
        cmocka_unit_test(what_a_repair_did_not_help_is_reported_only),
        cmocka_unit_test(an_object_that_a_streaming_list_left_out_is_found),
        cmocka_unit_test(the_repair_delivers_what_was_lost),
        cmocka_unit_test(many_objects_are_walked_and_many_differences_are_bounded),
        cmocka_unit_test(a_stopped_consistency_check_leaves_nothing),
        cmocka_unit_test(lack_of_memory_ends_the_consistency_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
