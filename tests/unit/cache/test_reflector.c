/* test_reflector.c: what the reflector asks of its source and gives to its queue, told as plays (reflector_stage.h). */

#include "tests/support/reflector_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ki_reflector_options by_pages = { .factory = &KI_FACTORY_OPTIONS(.no_streaming_list = true) };
static const ki_reflector_options streaming;

#define LISTED "? list rv=0 limit=500; {10: a=5}; ? {10: a=5}, watch rv=10; "
#define WATCHING LISTED "open; "
#define STREAMED "? stream; open; +a=5; initial-end 10; ? {10: a=5}; "

/* --- lists -------------------------------------------------------------------------------------------------------- */

TEST(a_list_is_replaced_then_watched) {
    play_reflector("state connecting; ? list rv=0 limit=500; rv -; a=5; state listing; {10: b=6}; ? {10: a=5 b=6}, "
                   "watch rv=10; rv 10; state connecting; open; state watching; +c=11; ~a=12; -b=13; ? +c=11, ~a=12, "
                   "-b=13; rv 13; bookmark 20; rv 20; ? -; reports -",
                   by_pages);
}

TEST(pages_carry_only_the_token_and_the_limit) {
    play_reflector("? list rv=0 limit=500; {10 t1 7: a=5}; ? list continue=t1 limit=500; {11 t2:}; ? list continue=t2 "
                   "limit=500; {12: b=6}; ? {10: a=5 b=6}, watch rv=10",
                   by_pages);
}

TEST(the_user_s_page_size_wins) {
    play_reflector("? list rv=0 limit=7; {10:}; ? {10:}, watch rv=10; open; +a=11; ? +a=11; error 500; ? -; wait 1600; "
                   "? list rv=11 limit=7",
                   (ki_reflector_options){ .factory = by_pages.factory, .page_size = 7 });
}

TEST(a_relist_at_a_known_version_is_in_one_piece) {
    play_reflector(WATCHING "error 500; reports 500; wait 1600; ? list rv=10", by_pages);
}

TEST(a_server_that_paged_at_0_is_asked_by_pages_ever_after) {
    play_reflector("? list rv=0 limit=500; {10 t:}; ? list continue=t limit=500; {10:}; ? {10:}, watch rv=10; open; "
                   "error 500; wait 1600; ? list rv=10 limit=500",
                   by_pages);
}

TEST(that_it_paged_at_0_is_remembered_though_the_token_expired) {
    play_reflector("? list rv=0 limit=500; {10 t:}; ? list continue=t limit=500; fail 410; ? list rv=0; {12:}; ? "
                   "{12:}, watch rv=12; open; +a=13; ? +a=13; error 500; wait 3200; ? list rv=13 limit=500",
                   by_pages);
}

TEST(a_page_that_leads_to_itself_is_an_error) {
    play_reflector("? list rv=0 limit=500; {10 t:}; ? list continue=t limit=500; {10 t:}; ? -; reports protocol "
                   "violation; quiet 799; wait 801; ? list rv=0 limit=500",
                   by_pages);
}

TEST(empty_pages_without_end_are_an_error) {
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s, "? list rv=0 limit=500; {10 t0: a=5}");
    for (int i = 1; i <= 101; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script, "? list continue=t%d limit=500; {10 t%d:}", i - 1, i);
        reflector_stage_play(&s, script);
    }
    reflector_stage_play(&s, "? -; reports protocol violation; quiet 799; wait 801; ? list rv=0 limit=500");
    reflector_stage_close(&s);
}

TEST(pages_of_one_object_without_end_are_an_error_and_wait) {
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s, "? list rv=0 limit=500; {10 t0: a=5}");
    for (int i = 1; i <= 1000; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script, "? list continue=t%d limit=500; {10 t%d: a%d=5}", i - 1, i, i);
        reflector_stage_play(&s, script);
    }
    reflector_stage_play(&s, "? -; reports protocol violation; quiet 799; wait 801; ? list rv=0 limit=500");
    reflector_stage_close(&s);
}

TEST(a_token_that_expires_makes_one_full_list) {
    play_reflector("? list rv=0 limit=500; {10 t: a=5}; ? list continue=t limit=500; fail 410; ? list rv=0; reports "
                   "410; {12: b=6}; ? {12: b=6}, watch rv=12",
                   by_pages);
}

TEST(a_full_list_that_expires_too_lists_the_latest) {
    play_reflector("? list rv=0 limit=500; {10 t:}; ? list continue=t limit=500; fail 410; ? list rv=0; fail 410; ? "
                   "list limit=500; fail 410; ? -; reports 410 410 410; quiet 799; wait 801; ? list limit=500; {12:}; "
                   "? {12:}, watch rv=12; open; +a=13; error 500; wait 3200; ? +a=13, list rv=13",
                   by_pages);
}

TEST(a_full_list_that_comes_in_pages_all_the_same_makes_no_loop) {
    play_reflector("? list rv=0 limit=500; {10 t:}; ? list continue=t limit=500; fail 410; ? list rv=0; {10 u:}; ? "
                   "list continue=u; fail 410; ? list limit=500; {11 v:}; ? list continue=v limit=500; fail 410; ? "
                   "list; {12 w:}; ? list continue=w; fail 410; ? -; quiet 799; wait 801; ? list limit=500",
                   by_pages);
}

TEST(an_unavailable_version_lists_the_latest_at_once) {
    static const char *const causes[] = { "410", "toolarge", "expired" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script,
                 WATCHING "error 500; wait 1600; ? list rv=10; fail %s; ? list limit=500; {20:}; ? {20:}, watch rv=20; "
                          "rv 20; open; +a=21; ? +a=21; error 500; wait 3200; ? list rv=21",
                 causes[i]);
        play_reflector(script, by_pages);
    }
}

TEST(an_unavailable_version_is_listed_otherwise_when_the_server_wants_it) {
    play_reflector(WATCHING
                   "error 500; wait 1600; ? list rv=10; fail 410+5000; ? -; quiet 4999; wait 1; ? list limit=500; {20 "
                   "t:}; ? list continue=t limit=500; fail 410+9000; ? -; quiet 8999; wait 1; ? list",
                   by_pages);
    play_reflector(STREAMED "error 500; wait 1600; ? stream rv=10; fail 410+5000; ? -; quiet 4999; wait 1; ? stream",
                   streaming);
}

TEST(a_failed_list_waits_and_begins_again) {
    play_reflector(
        "? list rv=0 limit=500; fail 500; reports 500; state backing off; quiet 799; wait 801; ? list rv=0 limit=500; "
        "state connecting; fail cut; quiet 1599; wait 1601; ? list rv=0 limit=500; {10:}; ? {10:}, watch rv=10",
        by_pages);
}

TEST(objects_of_a_failed_list_are_not_used) {
    play_reflector(
        "? list rv=0 limit=500; a=5; fail 500; wait 1600; ? list rv=0 limit=500; {10: b=6}; ? {10: b=6}, watch rv=10",
        by_pages);
}

TEST(an_object_of_another_kind_is_unreadable) {
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s,
                         "? list rv=0 limit=500; a=5; foreign b=!; {10:}; ? {10: a=5 b=!}, watch rv=10; open; foreign "
                         "b=!; wait 1000; ? cancel, watch rv=10; open; foreign b=!; rv 10; ~a=11; ? ~a=11; rv 11; ");
    assert_int_equal(s.bad_objects, 2);
    reflector_stage_close(&s);
}

TEST(an_object_of_another_namespace_than_the_lists_is_skipped_and_counted) {
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    s.reflector.shared.namespace_name = "default";
    reflector_stage_play(&s, "{10: a=5 shop/b=6}; ? list rv=0 limit=500, {10: a=5}, watch rv=10; open; +shop/c=11; "
                             "-shop/d=12; ? -; rv 10; ~a=13; ? ~a=13; rv 13");
    assert_int_equal(s.bad_objects, 3);
    reflector_stage_close(&s);
}

TEST(health_counts_the_listed_objects) {
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s, "{10 t 7: a=5}");
    assert_int_equal(s.listed, 1);
    assert_int_equal(s.list_total, 8);
    reflector_stage_close(&s);
}

/* --- watches ------------------------------------------------------------------------------------------------------ */

TEST(a_watch_that_brought_an_event_is_opened_again_at_once_after_a_clean_close) {
    play_reflector(WATCHING
                   "+b=11; wait 5000; ? +b=11; close; ? watch rv=11; reports -; open; bookmark 12; wait 5000; close; ? "
                   "watch rv=12; reports -; open; +c=13; wait 5000; ? +c=13; close; ? watch rv=13; reports -",
                   by_pages);
}

TEST(a_connection_that_is_lost_is_made_again_within_a_second) {
    play_reflector(
        WATCHING
        "+b=11; wait 5000; ? +b=11; fail cut; ? -; state connecting; wait 1000; ? watch rv=11; reports unexpected EOF; "
        "open; bookmark 12; wait 5000; fail cut; ? -; wait 1000; ? watch rv=12; reports unexpected EOF",
        by_pages);
}

/* How often in 100 s a server is asked that ends each watch at once after `line`. */
static int count_watches(const char *line, bool with_new_versions, uint64_t seed) {
    reflector_stage s;
    int watches = 0;
    reflector_stage_open(&s, by_pages, seed);
    reflector_stage_play(&s, LISTED);
    for (int ms = 0; ms < 100000; ms += 10) {
        if (s.source.watches) {
            char script[NOTATION_TEXT];
            watches++;
            snprintf(script, sizeof script, "open; %s%d; close", line, 10 + (with_new_versions ? watches : 0));
            reflector_stage_play(&s, script);
        }
        assert_true(test_engine_advance(&s.engine, 10));
        s.source.trace[0] = '\0';
    }
    reflector_stage_close(&s);
    return watches;
}

TEST(a_watch_that_ends_after_one_word_makes_no_tight_loop) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        assert_in_range(count_watches("bookmark ", false, seed), 3, 10);   /* nothing new: it waits */
        assert_in_range(count_watches("bookmark ", true, seed), 140, 260); /* half a second's pause on average */
        assert_in_range(count_watches("~a=", true, seed), 140, 260);
    }
}

TEST(only_watches_without_an_event_wait) {
    play_reflector(WATCHING
                   "wait 4999; close; ? watch rv=10; reports -; open; wait 4999; close; ? -; state backing off; quiet "
                   "799; wait 801; ? watch rv=10; open; bookmark 11; wait 5000; close; ? watch rv=11; state connecting",
                   by_pages);
}

/* A proxy that ends each stream after a time, with events or without: the view is never blind for longer than the
 * reopening takes. */
TEST(a_proxy_that_ends_streams_never_makes_it_blind) {
    static const char *const streams[] = { "open; ~a=11; wait 25000; fail cut", "open; wait 25000; close",
                                           "open; wait 5000; close" };
    for (uint64_t seed = 0; seed < 5 * sizeof streams / sizeof *streams; seed++) {
        reflector_stage s;
        int64_t blind_ms = 0;
        reflector_stage_open(&s, by_pages, seed + 1);
        reflector_stage_play(&s, LISTED);
        for (int stream = 0; stream < 12; stream++) {
            reflector_stage_play(&s, streams[seed % (sizeof streams / sizeof *streams)]);
            for (; !s.source.watches && blind_ms < 300000; blind_ms++) {
                if (s.source.lists) /* whether the server still has the version */
                    reflector_stage_play(&s, "{10:}");
                assert_true(test_engine_advance(&s.engine, 1));
            }
            s.source.trace[0] = '\0';
        }
        assert_in_range(blind_ms, 0, 12000); /* at most a second for each stream */
        reflector_stage_close(&s);
    }
}

TEST(a_watch_that_lasted_may_be_opened_at_once_again) {
    play_reflector(WATCHING "bookmark 11; wait 300000; close; ? watch rv=11; open; bookmark 12; wait 400000; close; ? "
                            "watch rv=12; reports -",
                   by_pages);
}

TEST(a_proxy_that_closes_each_minute_does_not_make_it_wait) {
    play_reflector(
        WATCHING
        "bookmark 11; wait 30000; close; ? watch rv=11; open; bookmark 12; wait 30000; close; ? watch rv=12; reports -",
        by_pages);
}

TEST(an_older_event_does_not_move_the_version_back) {
    play_reflector(
        WATCHING "~a=15; ~b=12; rv 15; bookmark 14; rv 15; bookmark other; rv other; bookmark 16; rv 16; -b=17; rv 17",
        by_pages);
    play_reflector(WATCHING "~a=15; error 410; wait 1600; {12:}; rv 12", by_pages); /* a list is believed */
}

TEST(a_quiet_watch_of_a_second_is_long_enough) {
    play_reflector(WATCHING "quiet 1000; close; ? watch rv=10; reports -", by_pages);
}

TEST(a_very_short_watch_is_an_error_and_lists) {
    play_reflector(WATCHING
                   "close; ? -; reports protocol violation; state backing off; quiet 799; wait 801; ? list rv=10",
                   by_pages);
}

TEST(a_watch_that_brought_anything_is_not_very_short) {
    static const char *const lines[] = { "bookmark 11", "~a=11", "bookmark !" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script, WATCHING "%s; close; reports -; state connecting", lines[i]);
        play_reflector(script, by_pages);
    }
}

TEST(watches_closed_at_once_never_make_a_tight_loop) {
    play_reflector(WATCHING
                   "close; wait 1600; ? list rv=10; {11:}; ? {11:}, watch rv=11; open; close; quiet 1599; wait 1601; ? "
                   "list rv=11; {12:}; ? {12:}, watch rv=12; open; close; quiet 3199; wait 3201; ? list rv=12",
                   by_pages);
}

TEST(a_watch_that_finds_no_descriptor_waits_and_continues) {
    play_reflector(
        WATCHING
        "~a=11; ? ~a=11; no descriptor; wait 1000; close; ? watch rv=11; quiet 799; wait 801; ? watch rv=11; open",
        by_pages);
}

TEST(too_many_requests_and_refused_connections_do_not_list) {
    play_reflector(LISTED
                   "fail 429; reports 429; quiet 799; wait 801; ? watch rv=10; fail connect; quiet 99; wait 101; ? "
                   "watch rv=10; open; error 429; quiet 1599; wait 1601; ? watch rv=10; reports no connection 429",
                   by_pages);
}

TEST(retry_after_is_obeyed) {
    play_reflector(
        LISTED "fail 429+60000; quiet 59999; wait 1; ? watch rv=10; fail 429+1; quiet 1599; wait 1601; ? watch rv=10",
        by_pages);
}

TEST(expired_in_the_stream_lists_at_the_last_version) {
    play_reflector(WATCHING "+b=11; ? +b=11; error 410; ? -; quiet 799; wait 801; ? list rv=11", by_pages);
}

TEST(expired_when_opening_lists_at_the_last_version) {
    play_reflector(LISTED "fail 410; quiet 799; wait 801; ? list rv=10", by_pages);
    play_reflector(
        STREAMED
        "+b=11; ? +b=11; wait 5000; close; ? watch rv=11; fail 410; reports 410; quiet 799; wait 801; ? stream rv=11",
        streaming);
}

TEST(a_lost_connection_is_reported_and_resumed_without_a_list) {
    static const struct {
        const char *cause, *report;
    } cases[] = { { "cut", "unexpected EOF" }, { "timeout", "timeout" }, { "connect", "no connection" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script,
                 WATCHING "+b=11; wait 90000; ? +b=11; fail %s; wait 1000; ? watch rv=11; reports %s", cases[i].cause,
                 cases[i].report);
        play_reflector(script, by_pages);
    }
}

TEST(any_other_end_lists_after_a_while) {
    static const char *const ends[] = { "error 500",     "fail protocol", "error 403", "fail 500",
                                        "fail nomemory", "error cut",     "error 504", "error 666" };
    static const char *const failures[] = { "fail 500", "fail 403", "fail protocol", "fail cut", "fail timeout" };
    char script[NOTATION_TEXT];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(script, sizeof script, WATCHING "+b=11; wait 5000; ? +b=11; %s; quiet 799; wait 801; ? list rv=11",
                 ends[i]);
        play_reflector(script, by_pages);
    }
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) { /* before it was open */
        snprintf(script, sizeof script, LISTED "%s; quiet 799; wait 801; ? list rv=10", failures[i]);
        play_reflector(script, by_pages);
    }
}

TEST(what_needs_a_person_blocks_and_is_tried_all_the_same) {
    static const char *const causes[] = { "401", "403", "404" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script,
                 "? list rv=0 limit=500; fail %s; state blocked; reports %s; wait 1600; ? list rv=0 limit=500",
                 causes[i], causes[i]);
        play_reflector(script, by_pages);
    }
}

TEST(a_watch_from_no_version_keeps_it_until_a_change) {
    play_reflector("? list rv=0 limit=500; {0:}; ? {0:}, watch rv=0; open; +a=7; +b=3; rv 0; ~a=9; rv 9; +c=12; rv 12",
                   by_pages);
    play_reflector("? list rv=0 limit=500; {0:}; ? {0:}, watch rv=0; open; +a=7; bookmark 8; rv 8; +b=9; rv 9",
                   by_pages);
    play_reflector("? list rv=0 limit=500; {-:}; ? {-:}, watch; open; +a=7; rv -; ~a=9; rv 9", by_pages);
}

TEST(an_event_older_than_the_watch_is_queued_and_moves_no_version) {
    play_reflector(WATCHING
                   "~a=9; +b=8; -b=3; ? ~a=9, +b=8, -b=3; rv 10; bookmark 12; ~a=12; ? ~a=12; rv 12; ~a=opaque; ? "
                   "~a=opaque",
                   by_pages);
    play_reflector(STREAMED "~a=9; ? ~a=9; rv 10; ~a=11; ? ~a=11", streaming);
}

/* A resume from the last version would miss what such a server sends below it. The store has a=5. */
TEST(a_watch_that_brought_a_change_below_its_version_is_followed_by_a_list) {
    static const char *const changes[] = { "~a=9", "+b=8", "-a=9" };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script,
                 WATCHING "~c=20; %s; wait 5000; ? ~c=20, %s; close; ? list rv=20; {21: b=8}; ? {21: b=8}, watch rv=21",
                 changes[i], changes[i]);
        play_reflector(script, by_pages);
    }
}

TEST(a_watch_that_repeats_what_is_known_is_resumed) {
    static const char *const repeated[] = { "~a=5", "+a=4", "-a=4", "-b=4" };
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script, WATCHING "~c=20; %s; wait 5000; ? ~c=20, %s; close; ? watch rv=20", repeated[i],
                 repeated[i]);
        play_reflector(script, by_pages);
    }
}

/* A watch from no version begins with the objects that there are: what was deleted before it is in no event. */
TEST(a_watch_that_ends_without_a_version_is_followed_by_a_list) {
    play_reflector("? list rv=0 limit=500; {-: a=5 b=7}; ? {-: a=5 b=7}, watch; open; +a=5; +b=7; wait 6000; close; ? "
                   "+a=5, +b=7, list limit=500; {-: a=5}; ? {-: a=5}, watch",
                   by_pages);
    play_reflector(
        "? list rv=0 limit=500; {0: a=5}; ? {0: a=5}, watch rv=0; open; +a=5; wait 30000; fail cut; wait 1000; ? "
        "+a=5, list rv=0 limit=500",
        by_pages);
    play_reflector("? list rv=0 limit=500; {-:}; ? {-:}, watch; fail 429; wait 1600; ? list limit=500", by_pages);
}

TEST(watches_without_a_version_that_end_at_once_make_no_tight_loop) {
    play_reflector("? list rv=0 limit=500; {-: a=5}; ? {-: a=5}, watch; open; +a=5; close; wait 1000; ? +a=5, list "
                   "limit=500; {-: a=5}; ? {-: a=5}, watch; open; +a=5; close; state backing off; ? +a=5; quiet 799; "
                   "wait 801; ? list limit=500; {-: a=5}; ? {-: a=5}, watch; open; +a=5; close; ? +a=5; quiet 1599; "
                   "wait 1601; ? list limit=500",
                   by_pages);
}

/* The version of an earlier list is not the one to watch from: it can be the one that expired. */
TEST(a_list_without_a_version_is_watched_from_none_and_resumed_from_the_events) {
    play_reflector("? list rv=0 limit=500; {-: a=5}; ? {-: a=5}, watch; rv -; open; +a=5; rv -; ~a=20; rv 20; +b=3; rv "
                   "20; +c=21; rv 21; ? +a=5, ~a=20, +b=3, +c=21",
                   by_pages);
    play_reflector("? list rv=0 limit=500; {-:}; ? {-:}, watch; open; ~b=20; wait 5000; ? ~b=20; close; ? watch rv=20; "
                   "open; error 410; wait 1600; ? list rv=20; {-: b=20}; ? {-: b=20}, watch; rv -",
                   by_pages);
    play_reflector(WATCHING "error 410; wait 1600; ? list rv=10; {-: a=5}; ? {-: a=5}, watch; rv -", by_pages);
}

TEST(what_can_be_listed_and_not_watched_is_listed_again_and_again) {
    static const char *const causes[] = { "404", "405" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[NOTATION_TEXT];
        snprintf(
            script, sizeof script,
            "? list rv=0 limit=500; {-: a=5}; ? {-: a=5}, watch; fail %s; state backing off; reports %s; ? -; "
            "quiet 799; wait 801; ? list limit=500; {-:}; ? {-:}, watch; fail %s; state backing off; quiet 1599; wait "
            "1601; ? list limit=500",
            causes[i], causes[i], causes[i]);
        play_reflector(script, by_pages);
    }
}

TEST(a_full_queue_lists_again) {
    play_reflector(
        WATCHING
        "queue fails; +b=11; ? cancel; reports out of memory; state backing off; quiet 799; wait 801; ? list rv=10; "
        "queue fails; {12: b=11}; ? -; rv 10; reports out of memory; quiet 1599; wait 1601; ? list rv=10",
        by_pages);
}

TEST(a_request_that_cannot_be_made_is_tried_later) {
    play_reflector(WATCHING "refuse; error 500; wait 1600; ? list rv=10; quiet 1599; wait 1601; ? list rv=10; refuse; "
                            "{12:}; ? {12:}, watch rv=12; quiet 3199; wait 3201; ? list rv=12",
                   by_pages);
    play_reflector("? stream; refuse; fail 429; wait 1600; ? stream; reports 429, out of memory; wait 3200; ? stream",
                   streaming);
}

TEST(requests_have_a_deadline) {
    for (uint64_t seed = 1; seed < 20; seed++) {
        reflector_stage s;
        reflector_stage_open(&s, by_pages, seed);
        assert_true(s.source.idle_timeout_ns == KI_SECONDS(90));
        reflector_stage_play(&s, WATCHING);
        assert_true(s.source.idle_timeout_ns == KI_SECONDS(90));
        assert_in_range(s.source.timeout_s, 300, 599);
        reflector_stage_close(&s);
    }
}

/* --- streaming lists ---------------------------------------------------------------------------------------------- */

TEST(a_streaming_list_continues_as_the_watch) {
    play_reflector("? stream; state connecting; open; state listing; +b=7; +a=5; +c=6; ~a=8; -c=9; bookmark 9; ? -; rv "
                   "-; initial-end 10; ? {10: a=8 b=7}; rv 10; state watching; ~b=11; ? ~b=11; rv 11; wait 600000; ? "
                   "-; reports -; close; ? watch rv=11; open; +d=12; ? +d=12",
                   streaming);
    play_reflector("? stream; open; +a=5; initial-end -; ? {-: a=5}; rv -; +b=6; rv 6",
                   streaming); /* as a list without a version */
}

TEST(a_streaming_list_again_is_at_the_last_version) {
    play_reflector(STREAMED "~a=11; ? ~a=11; error 410; wait 1600; ? stream rv=11; fail 410; ? stream; reports 410 "
                            "410; open; initial-end 20; ? {20:}; error 500; wait 3200; ? stream rv=20",
                   streaming);
}

TEST(a_streaming_list_at_the_latest_that_is_expired_too_waits) {
    play_reflector(STREAMED "error 500; wait 1600; ? stream rv=10; fail toolarge; ? stream; fail toolarge; ? -; quiet "
                            "1599; wait 1601; ? stream",
                   streaming);
}

TEST(initial_events_may_come_in_any_order) {
    play_reflector("? stream; open; +a=9; +a=7; +b=5; ~b=8; -b=6; initial-end 10; ? {10: a=9 b=8}", streaming);
}

TEST(the_list_in_place_of_a_stream_comes_when_the_server_wants_it) {
    play_reflector("? stream; fail 503+5000; reports 503; state backing off; quiet 4999; wait 1; ? list rv=0 limit=500",
                   streaming);
}

TEST(a_busy_server_is_asked_for_a_stream_again) {
    play_reflector("? stream; fail 429; quiet 799; wait 801; ? stream; fail connect; quiet 99; wait 101; ? stream; "
                   "open; +a=1; initial-end 2; ? {2: a=1}; rv 2",
                   streaming);
}

TEST(a_failed_stream_is_listed_by_pages_this_time) {
    static const char *const ends[] = { "fail 400",      "fail 422",    "open; +z=1; fail 500",
                                        "fail 403",      "open; close", "open; +z=1; error 400",
                                        "open; fail cut" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script, "? stream; %s; " WATCHING "error 500; wait 1600; ? stream rv=10", ends[i]);
        play_reflector(script, streaming);
    }
}

TEST(a_stream_that_ends_in_the_middle_is_streamed_again) {
    static const char *const ends[] = { "+z=1; close", "+z=1; fail cut", "+z=1; fail connect", "wait 1000; close" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char script[NOTATION_TEXT];
        snprintf(script, sizeof script,
                 "? stream; open; %s; ? -; state backing off; quiet 99; wait 1501; ? stream; open; +a=5; initial-end "
                 "10; ? {10: a=5}; rv 10",
                 ends[i]);
        play_reflector(script, streaming);
    }
}

TEST(streams_that_all_end_in_the_middle_are_given_up_after_five_minutes) {
    reflector_stage s;
    reflector_stage_open(&s, streaming, 1);
    int64_t began = ki_engine_now(s.engine.engine);
    bool is_listed = false;
    while (!is_listed && ki_engine_now(s.engine.engine) - began < KI_SECONDS(400)) {
        reflector_stage_play(&s, "open; +a=5; wait 5000; close");
        while (!s.source.watches && !s.source.lists)
            assert_true(test_engine_advance(&s.engine, 1000));
        is_listed = s.source.lists;
    }
    assert_true(is_listed);
    assert_in_range(ki_engine_now(s.engine.engine) - began, KI_SECONDS(300), KI_SECONDS(400));
    s.source.trace[0] = '\0';
    reflector_stage_play(&s, "{10: a=5}; ? {10: a=5}, watch rv=10; open; error 500; wait 60000; ? stream rv=10; open; "
                             "+a=5; close; ? -; wait 60000; ? stream rv=10");
    reflector_stage_close(&s);
}

TEST(the_time_without_a_connection_is_no_time_of_streams) {
    reflector_stage s;
    reflector_stage_open(&s, streaming, 1);
    int64_t began = ki_engine_now(s.engine.engine);
    while (ki_engine_now(s.engine.engine) - began < KI_SECONDS(360)) {
        reflector_stage_play(&s, "fail connect");
        while (!s.source.watches && !s.source.lists)
            assert_true(test_engine_advance(&s.engine, 1000));
    }
    s.source.trace[0] = '\0';
    reflector_stage_play(&s, "open; +a=5; wait 2000; close; ? -; state backing off; wait 60000; ? stream");
    reflector_stage_close(&s);
}

TEST(a_server_without_streaming_lists_is_listed_without_a_report) {
    play_reflector("? stream; fail 400; ? list rv=0 limit=500; reports -; {10: a=5}; ? {10: a=5}, watch rv=10; open; "
                   "error 410; reports 410; wait 1600; ? stream rv=10; fail 422; ? list rv=10; reports -",
                   streaming);
}

TEST(a_stream_that_goes_silent_is_given_up) {
    play_reflector("? stream; open; quiet 29999; wait 1; ? cancel, list rv=0 limit=500; reports timeout; {10:}; ? "
                   "{10:}, watch rv=10; open; error 500; wait 1600; ? stream rv=10",
                   streaming);
    play_reflector("? stream; open; quiet 20000; +a=5; quiet 29999; wait 1; ? cancel, list rv=0 limit=500", streaming);
}

TEST(a_server_that_was_out_of_reach_is_asked_for_a_stream_again) {
    play_reflector("? stream; quiet 29999; wait 1; ? cancel, list rv=0 limit=500; reports timeout; {10:}; ? {10:}, "
                   "watch rv=10; open; error 500; wait 1600; ? stream rv=10",
                   streaming);
}

TEST(a_stream_that_brings_one_long_object_is_not_silent) {
    play_reflector(
        "? stream; open; quiet 20000; byte; quiet 29999; byte; quiet 29999; wait 1; ? cancel, list rv=0 limit=500",
        streaming);
}

TEST(a_stream_without_an_end_is_given_up_after_five_minutes) {
    reflector_stage s;
    reflector_stage_open(&s, streaming, 1);
    reflector_stage_play(&s, "? stream; open");
    for (int i = 0; i < 14; i++)
        reflector_stage_play(&s, "quiet 20000; +a=5");
    reflector_stage_play(&s, "quiet 19999; wait 1; ? cancel, list rv=0 limit=500; reports timeout");
    reflector_stage_close(&s);
}

TEST(a_stream_that_runs_out_of_memory_waits) {
    play_reflector("? stream; open; +a=5; queue fails; initial-end 10; ? cancel; reports out of memory; rv -; quiet "
                   "799; wait 801; ? stream",
                   streaming);
}

/* --- backoff ------------------------------------------------------------------------------------------------------ */

TEST(waits_grow_to_thirty_seconds) {
    static const int least[] = { 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000 };
    enum {
        SHORT_WAITS = 3 /* only after a failure to connect */
    };
    /* What is asked first, the failure, what is asked then. */
    static const char *const cases[][3] = { { "? list rv=0 limit=500", "fail 500", "? list rv=0 limit=500" },
                                            { LISTED, "fail connect", "? watch rv=10" },
                                            { "? stream", "fail 429", "? stream" } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        reflector_stage s;
        reflector_stage_open(&s, strstr(cases[c][0], "stream") ? streaming : by_pages, 7);
        size_t first = strstr(cases[c][1], "connect") ? 0 : SHORT_WAITS;
        for (size_t i = first; i < sizeof least / sizeof *least; i++) {
            char script[NOTATION_TEXT];
            snprintf(script, sizeof script, "%s; %s; quiet %d; wait %d", cases[c][i > first ? 2 : 0], cases[c][1],
                     least[i] - 1, least[i] + 1);
            reflector_stage_play(&s, script);
        }
        reflector_stage_close(&s);
    }
}

/* Each restart refuses connections for a second. Nine of them within two minutes: the next event is never late. */
TEST(a_server_that_restarts_again_and_again_is_reached_within_three_seconds) {
    static const char restart[] =
        "bookmark 1%d; wait 10000; fail cut; wait 1000; ? watch rv=1%d; fail connect; wait "
        "200; ? watch rv=1%d; fail connect; wait 400; ? watch rv=1%d; fail connect; wait 800; "
        "? watch rv=1%d; open";
    for (uint64_t seed = 1; seed < 20; seed++) {
        reflector_stage s;
        reflector_stage_open(&s, by_pages, seed);
        reflector_stage_play(&s, WATCHING);
        for (int i = 1; i < 10; i++) {
            char script[NOTATION_TEXT];
            snprintf(script, sizeof script, restart, i, i, i, i, i);
            reflector_stage_play(&s, script);
        }
        reflector_stage_close(&s);
    }
}

/* A watch that is accepted and cut without an event is no success: the short waits do not come again. */
TEST(a_server_that_only_accepts_does_not_renew_the_short_waits) {
    play_reflector(WATCHING "bookmark 11; wait 2000; fail cut; wait 1000; ? watch rv=11; fail connect; wait 200; "
                            "? watch rv=11; fail connect; wait 400; ? watch rv=11; fail connect; wait 800; "
                            "? watch rv=11; open; wait 2000; fail cut; wait 1000; ? watch rv=11; fail connect; "
                            "quiet 799; wait 801; ? watch rv=11",
                   by_pages);
}

TEST(the_backoff_is_the_program_s) {
    const ki_reflector_options quick = {
        .factory = &KI_FACTORY_OPTIONS(.no_streaming_list = true, .backoff_first_ms = 40, .backoff_longest_ms = 60)
    };
    play_reflector(LISTED "fail 500; quiet 39; wait 41; ? list rv=10; fail 500; quiet 59; wait 61; ? list rv=10; "
                          "fail 403; quiet 29; wait 31; ? list rv=10; fail connect; quiet 4; wait 6; ? list rv=10",
                   quick);
}

TEST(two_minutes_without_a_failure_begin_from_the_start) {
    play_reflector("? list rv=0 limit=500; fail 500; wait 1600; ? list rv=0 limit=500; fail 500; wait 3200; " WATCHING
                   "bookmark 11; wait 121000; error 500; quiet 799; wait 801; ? list rv=11",
                   by_pages);
}

TEST(closing_cancels_what_is_under_way) {
    static const char *const scripts[] = { "? list rv=0 limit=500", "a=5", "fail 500", LISTED, WATCHING };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        reflector_stage s;
        reflector_stage_open(&s, by_pages, 1);
        reflector_stage_play(&s, scripts[i]);
        s.source.trace[0] = '\0';
        bool under_way = s.source.lists || s.source.watches;
        ki_reflector_close(&s.reflector);
        assert_string_equal(s.source.trace, under_way ? "cancel" : "");
        s.source.trace[0] = '\0';
        reflector_stage_play(&s, "quiet 100000");
        reflector_stage_close(&s);
    }
}
