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
#define SILENT_WATCH "wait 90000; fail timeout; wait 1000; ? watch rv=10; open; "
#define TWICE_SILENT SILENT_WATCH "wait 90000; fail timeout; wait 1000; "
#define CHECK "list rv=10 match=NotOlderThan limit=1"
#define RESTORED \
    "the server's state is older than the cache: the server was restored from a backup, or lags; the informer relists"

TEST(a_second_silent_watch_is_followed_by_a_check_and_too_large_by_a_list) {
    tell(TWICE_SILENT "? " CHECK "; fail toolarge; ? list limit=500; {7: b=6}; ? watch rv=7; open; +c=8", "",
         "?a=5 +c=8");
}

TEST(a_response_from_an_older_state_is_too_large_too) {
    tell(TWICE_SILENT "? " CHECK "; {7: b=6}; ? list limit=500; {7: b=6}; ? watch rv=7", "", "?a=5");
}

TEST(a_check_that_expired_lists_as_well) {
    tell(TWICE_SILENT "? " CHECK "; fail 410; ? list limit=500", "", "");
}

TEST(a_server_that_is_well_and_says_nothing_is_only_asked_for_one_object_now_and_then) {
    tell(TWICE_SILENT "? " CHECK "; {10 - 1: a=5}; ? watch rv=10; open; " TWICE_SILENT "? " CHECK
                      "; {12 - 1: a=5}; ? watch rv=10; open; " SILENT_WATCH
                      "bookmark 12; wait 90000; fail timeout; wait 1000; ? watch rv=12; open; wait 90000; fail "
                      "timeout; wait 1000; ? watch rv=12; open; +c=13",
         "", "+c=13");
}

TEST(one_silent_watch_is_a_dead_connection) {
    tell(SILENT_WATCH "quiet 89999; bookmark 11; wait 90000; fail timeout; wait 1000; ? watch rv=11; open; quiet "
                      "89999; ~a=12; wait 90000; fail timeout; wait 1000; ? watch rv=12",
         "", "~a=5>12");
}

TEST(watches_that_were_never_accepted_do_not_count) {
    tell("wait 90000; fail timeout; wait 1000; ? watch rv=10; wait 60000; fail connect; wait 1600; ? watch rv=10; wait "
         "60000; fail 429; wait 3200; ? watch rv=10; open; wait 60000; fail cut; wait 1000; ? " CHECK,
         "", "");
}

/* What closes idle connections after some seconds makes nobody ask again and again. */
TEST(short_silences_are_none_until_they_come_to_the_idle_deadline) {
#define SILENCE "open; wait 40000; close; wait 1000; "
    tell("wait 40000; close; wait 1000; ? watch rv=10; " SILENCE "? watch rv=10; " SILENCE "? " CHECK
         "; {10:}; ? watch rv=10; " SILENCE "? watch rv=10; " SILENCE "? watch rv=10",
         "", "");
}

TEST(what_is_over_is_no_word) {
    tell(
        "wait 90000; fail timeout; wait 1000; ? watch rv=10; open; ~a=5; wait 90000; fail timeout; wait 1000; ? " CHECK,
        "", "");
    tell("wait 90000; fail timeout; wait 1000; ? watch rv=10; open; ~a=11; wait 90000; fail timeout; wait 1000; ? "
         "watch rv=11",
         "", "~a=5>11");
}

TEST(a_check_that_is_rejected_is_made_later) {
    static const struct {
        const char *cause, *words; /* these until something comes back */
        int least_ms;
    } causes[] = { { "connect", "connect", 100 },
                   { "cut", "cut", 800 },
                   { "timeout", "timeout", 800 },
                   { "429", "the server is too busy", 800 } };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script,
                 TWICE_SILENT "? " CHECK "; fail %s; quiet %d; wait %d; ? " CHECK "; fail toolarge; ? list limit=500",
                 causes[i].cause, causes[i].least_ms - 1, causes[i].least_ms + 1);
        tell(script, causes[i].words, "");
    }
}

TEST(a_check_that_fails_otherwise_is_followed_by_a_list) {
    static const struct {
        const char *cause, *words;
    } causes[] = { { "500", "HTTP 500" },
                   { "403", "forbidden: list configmaps in all namespaces" },
                   { "nomemory", "out of memory" },
                   { "protocol", "protocol" } };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, TWICE_SILENT "? " CHECK "; fail %s; quiet 799; wait 801; ? list rv=10",
                 causes[i].cause);
        tell(script, causes[i].words, "");
    }
}

TEST(a_check_that_cannot_be_made_is_followed_by_a_list) {
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED "; wait 90000; fail timeout; wait 1000; open; wait 90000");
    s.source.trace[0] = '\0';
    s.source.refuse = KI_ERR_NO_MEMORY;
    play_each(&s, "fail timeout; wait 1000; ? " CHECK "; wait 1600; ? list rv=10");
    close_stage(&s);
}

TEST(a_bookmark_from_before_the_watch_lists_anew) {
    tell("bookmark 9; ? cancel; quiet 799", RESTORED, "");
    tell("bookmark 9; ? cancel; wait 1600; ? list limit=500; {7: b=6}; ? watch rv=7; open; bookmark 7; +a=8", "",
         "?a=5 +a=8");
}

TEST(a_bookmark_from_before_the_watch_makes_no_tight_loop) {
    tell("bookmark 9; ? cancel; wait 1600; ? list limit=500; {10:}; ? watch rv=10; open; bookmark 9; ? cancel; quiet "
         "1599; wait 1601; ? list limit=500; {10:}; ? watch rv=10; open; bookmark 9; ? cancel; quiet 3199",
         RESTORED, "?a=5 ?b=6");
}

TEST(bookmarks_between_the_beginning_and_the_last_event_are_nothing) {
    tell("~a=15; bookmark 12; bookmark 10; bookmark opaque; ? -; +c=20", "", "~a=5>15 +c=20");
}

TEST(a_version_that_any_server_knows_is_not_checked) {
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    s.source.trace[0] = '\0';
    for (unsigned times = 0; times < 5; times++) {
        play_each(&s, "{0:}; ? watch rv=0; open; wait 90000; fail timeout; wait 1000; ? list rv=0 limit=500");
    }
    close_stage(&s);
}

/* Something came of it, though the watch that follows may be as silent as those before. */
TEST(a_response_to_a_check_ends_the_failures) {
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED "; wait 90000; fail timeout; wait 1000; open; wait 90000; fail timeout; wait 1000; fail 429");
    assert_int_equal(health_of(&s).failures, 1);
    play_each(&s, "wait 1600; {10:}; open");
    assert_int_equal(health_of(&s).state, KI_STATE_WATCHING);
    assert_int_equal(health_of(&s).failures, 0);
    close_stage(&s);
}

TEST(a_requested_relist_replaces_a_version_check) {
    stage s;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED);
    s.source.trace[0] = '\0';
    play_each(
        &s, "wait 90000; fail timeout; wait 1000; ? watch rv=10; open; wait 90000; fail timeout; wait 1000; ? " CHECK);
    ki_reflector_relist(&s.informer->feeds.list[0]->reflector);
    settle(&s);
    play(&s, "? cancel, list limit=500");
    close_stage(&s);
}
