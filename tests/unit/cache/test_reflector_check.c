/* test_reflector_check.c: a server that was restored from a backup: how an informer finds out, and what it does not
 * take for one. Scripts: informer_stage.h. */

#include "src/cache/informer/informer_parts.h"
#include "tests/support/informer_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Plays a script after the first list; in the end, `words` is the informer's health message, and `notes` its calls
 * since that list. */
static void tell(const char *script, const char *words, const char *notes) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    s.source.trace[0] = '\0';
    play_each(&s, script);
    assert_string_equal(health_of(&s).message, words);
    expect(&h, notes);
    close_stage(&s);
}

/* Watches that were accepted, and then were cut for silence. */
#define SILENT_WATCH "wait 90000\nfail timeout\nwait 1000\n? watch rv=10\nopen\n"
#define TWICE_SILENT SILENT_WATCH "wait 90000\nfail timeout\nwait 1000\n"
#define CHECK "list rv=10 match=NotOlderThan limit=1"
#define RESTORED \
    "the server's state is older than the cache: the server was restored from a backup, or lags; the informer relists"

static void a_second_silent_watch_is_followed_by_a_check_and_too_large_by_a_list(void **state) {
    (void)state;
    tell(TWICE_SILENT "? " CHECK "\nfail toolarge\n? list limit=500\nitem default/b 6\npage 7 -\n? watch rv=7\nopen\n"
                      "add default/c 8",
         "", "-a=5? +c=8");
}

static void a_response_from_an_older_state_is_too_large_too(void **state) {
    (void)state;
    tell(TWICE_SILENT "? " CHECK "\nitem default/b 6\npage 7 -\n? list limit=500\nitem default/b 6\npage 7 -\n"
                      "? watch rv=7",
         "", "-a=5?");
}

static void a_check_that_expired_lists_as_well(void **state) {
    (void)state;
    tell(TWICE_SILENT "? " CHECK "\nfail 410\n? list limit=500", "", "");
}

static void a_server_that_is_well_and_says_nothing_is_only_asked_for_one_object_now_and_then(void **state) {
    (void)state;
    tell(TWICE_SILENT "? " CHECK "\nitem default/a 5\npage 10 - 1\n? watch rv=10\nopen\n" TWICE_SILENT "? " CHECK
                      "\nitem default/a 5\npage 12 - 1\n? watch rv=10\nopen\n" SILENT_WATCH "bookmark 12\nwait 90000\n"
                      "fail timeout\nwait 1000\n? watch rv=12\nopen\nwait 90000\nfail timeout\nwait 1000\n? watch "
                      "rv=12\nopen\nadd default/c 13",
         "", "+c=13");
}

static void one_silent_watch_is_a_dead_connection(void **state) {
    (void)state;
    tell(SILENT_WATCH "quiet 89999\nbookmark 11\nwait 90000\nfail timeout\nwait 1000\n? watch rv=11\nopen\nquiet "
                      "89999\nmod default/a "
                      "12\nwait 90000\nfail timeout\nwait 1000\n? watch rv=12",
         "", "~a=5>12");
}

static void watches_that_were_never_accepted_do_not_count(void **state) {
    (void)state;
    tell("wait 90000\nfail timeout\nwait 1000\n? watch rv=10\nwait 60000\nfail connect\nwait 1600\n? watch rv=10\nwait "
         "60000\nfail 429\n"
         "wait 3200\n? watch rv=10\nopen\nwait 60000\nfail cut\nwait 1000\n? " CHECK,
         "", "");
}

/* What closes idle connections after some seconds makes nobody ask again and again. */
static void short_silences_are_none_until_they_come_to_the_idle_deadline(void **state) {
    (void)state;
#define SILENCE "open\nwait 40000\nclose\nwait 1000\n"
    tell("wait 40000\nclose\nwait 1000\n? watch rv=10\n" SILENCE "? watch rv=10\n" SILENCE "? " CHECK
         "\npage 10 -\n? watch rv=10\n" SILENCE "? watch rv=10\n" SILENCE "? watch rv=10",
         "", "");
}

static void what_is_over_is_no_word(void **state) {
    (void)state;
    tell("wait 90000\nfail timeout\nwait 1000\n? watch rv=10\nopen\nmod default/a 5\nwait 90000\nfail timeout\nwait "
         "1000\n? " CHECK,
         "", "");
    tell("wait 90000\nfail timeout\nwait 1000\n? watch rv=10\nopen\nmod default/a 11\nwait 90000\nfail timeout\nwait "
         "1000\n? watch rv=11",
         "", "~a=5>11");
}

static void a_check_that_is_rejected_is_made_later(void **state) {
    (void)state;
    static const struct {
        const char *cause, *words; /* these until something comes back */
    } causes[] = {
        { "connect", "connect" }, { "cut", "cut" }, { "timeout", "timeout" }, { "429", "the server is too busy" }
    };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script,
                 TWICE_SILENT "? " CHECK "\nfail %s\nquiet 799\nwait 801\n? " CHECK "\nfail toolarge\n? list limit=500",
                 causes[i].cause);
        tell(script, causes[i].words, "");
    }
}

static void a_check_that_fails_otherwise_is_followed_by_a_list(void **state) {
    (void)state;
    static const struct {
        const char *cause, *words;
    } causes[] = { { "500", "HTTP 500" },
                   { "403", "forbidden: list configmaps in all namespaces" },
                   { "nomemory", "out of memory" },
                   { "protocol", "protocol" } };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, TWICE_SILENT "? " CHECK "\nfail %s\nquiet 799\nwait 801\n? list rv=10",
                 causes[i].cause);
        tell(script, causes[i].words, "");
    }
}

static void a_check_that_cannot_be_made_is_followed_by_a_list(void **state) {
    (void)state;
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED "\nwait 90000\nfail timeout\nwait 1000\nopen\nwait 90000");
    s.source.trace[0] = '\0';
    s.source.refuse = KI_ERR_NO_MEMORY;
    play_each(&s, "fail timeout\nwait 1000\n? " CHECK "\nwait 1600\n? list rv=10");
    close_stage(&s);
}

static void a_bookmark_from_before_the_watch_lists_anew(void **state) {
    (void)state;
    tell("bookmark 9\n? cancel\nquiet 799", RESTORED, "");
    tell("bookmark 9\n? cancel\nwait 1600\n? list limit=500\nitem default/b 6\npage 7 -\n? watch rv=7\nopen\nbookmark "
         "7\n"
         "add default/a 8",
         "", "-a=5? +a=8");
}

static void a_bookmark_from_before_the_watch_makes_no_tight_loop(void **state) {
    (void)state;
    tell("bookmark 9\n? cancel\nwait 1600\n? list limit=500\npage 10 -\n? watch rv=10\nopen\nbookmark 9\n? "
         "cancel\nquiet "
         "1599\nwait 1601\n? list limit=500\npage 10 -\n? watch rv=10\nopen\nbookmark 9\n? cancel\nquiet 3199",
         RESTORED, "-a=5? -b=6?");
}

static void bookmarks_between_the_beginning_and_the_last_event_are_nothing(void **state) {
    (void)state;
    tell("mod default/a 15\nbookmark 12\nbookmark 10\nbookmark opaque\n? -\nadd default/c 20", "", "~a=5>15 +c=20");
}

static void a_version_that_any_server_knows_is_not_checked(void **state) {
    (void)state;
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, "page 0 -\nopen");
    s.source.trace[0] = '\0';
    for (unsigned times = 0; times < 5; times++) {
        play_each(&s, "wait 90000\nfail timeout\nwait 1000\n? watch rv=0\nopen");
    }
    close_stage(&s);
}

/* Something came of it, though the watch that follows may be as silent as those before. */
static void a_response_to_a_check_ends_the_failures(void **state) {
    (void)state;
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED "\nwait 90000\nfail timeout\nwait 1000\nopen\nwait 90000\nfail timeout\nwait 1000\nfail 429");
    assert_int_equal(health_of(&s).failures, 1);
    play_each(&s, "wait 1600\npage 10 -\nopen");
    assert_int_equal(health_of(&s).state, KI_STATE_WATCHING);
    assert_int_equal(health_of(&s).failures, 0);
    close_stage(&s);
}

static void a_requested_relist_replaces_a_version_check(void **state) {
    (void)state;
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED);
    s.source.trace[0] = '\0';
    play_each(&s, "wait 90000\nfail timeout\nwait 1000\n? watch rv=10\nopen\nwait 90000\nfail timeout\nwait 1000\n"
                  "? " CHECK);
    ki_reflector_relist(&s.informer->reflector);
    settle(&s);
    play(&s, "? cancel; list limit=500");
    close_stage(&s);
}

KT_TESTS(reflector_check) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_silent_watch_is_followed_by_a_check_and_too_large_by_a_list),
        cmocka_unit_test(a_response_from_an_older_state_is_too_large_too),
        cmocka_unit_test(a_check_that_expired_lists_as_well),
        cmocka_unit_test(a_server_that_is_well_and_says_nothing_is_only_asked_for_one_object_now_and_then),
        cmocka_unit_test(one_silent_watch_is_a_dead_connection),
        cmocka_unit_test(watches_that_were_never_accepted_do_not_count),
        cmocka_unit_test(short_silences_are_none_until_they_come_to_the_idle_deadline),
        cmocka_unit_test(what_is_over_is_no_word),
        cmocka_unit_test(a_check_that_is_rejected_is_made_later),
        cmocka_unit_test(a_check_that_fails_otherwise_is_followed_by_a_list),
        cmocka_unit_test(a_check_that_cannot_be_made_is_followed_by_a_list),
        cmocka_unit_test(a_bookmark_from_before_the_watch_lists_anew),
        cmocka_unit_test(a_bookmark_from_before_the_watch_makes_no_tight_loop),
        cmocka_unit_test(bookmarks_between_the_beginning_and_the_last_event_are_nothing),
        cmocka_unit_test(a_version_that_any_server_knows_is_not_checked),
        cmocka_unit_test(a_response_to_a_check_ends_the_failures),
        cmocka_unit_test(a_requested_relist_replaces_a_version_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
