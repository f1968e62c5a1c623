/* test_reflector.c: what the reflector asks of its source and gives to its queue, told as plays (reflector_stage.h). */

#include "tests/support/reflector_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ki_reflector_options by_pages = { .given = &KI_INFORMER_OPTIONS(.no_streaming_list = true) };
static const ki_reflector_options streaming = { .given = &KI_INFORMER_OPTIONS(.no_streaming_list = false) };

#define LISTED "? list rv=0 limit=500\nitem default/a 5\npage 10 -\n? replace 10: default/a=5; watch rv=10\n"
#define WATCHING LISTED "open\n"
#define STREAMED "? stream\nopen\nadd default/a 5\ninitial-end 10\n? replace 10: default/a=5\n"

/* --- lists -------------------------------------------------------------------------------------------------------- */

static void a_list_is_replaced_then_watched(void **state) {
    (void)state;
    play_reflector("state connecting\n? list rv=0 limit=500\nrv -\n"
                   "item default/a 5\nstate listing\nitem default/b 6\npage 10 -\n"
                   "? replace 10: default/a=5 default/b=6; watch rv=10\nrv 10\nstate connecting\n"
                   "open\nstate watching\nadd default/c 11\nmod default/a 12\ndel default/b 13\n"
                   "? add default/c=11; update default/a=12; remove default/b=13\nrv 13\n"
                   "bookmark 20\nrv 20\n? -\nreports -",
                   by_pages);
}

static void pages_carry_only_the_token_and_the_limit(void **state) {
    (void)state;
    play_reflector("? list rv=0 limit=500\nitem default/a 5\npage 10 t1 7\n? list continue=t1 limit=500\n"
                   "page 11 t2\n? list continue=t2 limit=500\nitem default/b 6\npage 12 -\n"
                   "? replace 10: default/a=5 default/b=6; watch rv=10",
                   by_pages);
}

static void the_user_s_page_size_wins(void **state) {
    (void)state;
    play_reflector("? list rv=0 limit=7\npage 10 -\n? replace 10:; watch rv=10\nopen\nadd default/a 11\n? add "
                   "default/a=11\nerror 500\n"
                   "? -\nwait 1600\n? list rv=11 limit=7",
                   (ki_reflector_options){ .given = &KI_INFORMER_OPTIONS(.no_streaming_list = true, .page_size = 7) });
}

static void a_relist_at_a_known_version_is_in_one_piece(void **state) {
    (void)state;
    play_reflector(WATCHING "error 500\nreports 500\nwait 1600\n? list rv=10", by_pages);
}

static void a_server_that_paged_at_0_is_asked_by_pages_ever_after(void **state) {
    (void)state;
    play_reflector(
        "? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\npage 10 -\n? replace 10:; watch rv=10\n"
        "open\nerror 500\nwait 1600\n? list rv=10 limit=500",
        by_pages);
}

static void that_it_paged_at_0_is_remembered_though_the_token_expired(void **state) {
    (void)state;
    play_reflector("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\nfail 410\n? list rv=0\npage 12 -\n"
                   "? replace 12:; watch rv=12\nopen\nadd default/a 13\n? add default/a=13\nerror 500\nwait 3200\n"
                   "? list rv=13 limit=500",
                   by_pages);
}

static void a_page_that_leads_to_itself_is_an_error(void **state) {
    (void)state;
    play_reflector("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\npage 10 t\n? -\n"
                   "reports protocol violation\nquiet 799\nwait 801\n? list rv=0 limit=500",
                   by_pages);
}

static void empty_pages_without_end_are_an_error(void **state) {
    (void)state;
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s, "? list rv=0 limit=500\nitem default/a 5\npage 10 t0");
    for (int i = 1; i <= 101; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script, "? list continue=t%d limit=500\npage 10 t%d", i - 1, i);
        reflector_stage_play(&s, script);
    }
    reflector_stage_play(&s, "? -\nreports protocol violation\nquiet 799\nwait 801\n? list rv=0 limit=500");
    reflector_stage_close(&s);
}

static void pages_of_one_object_without_end_are_an_error_and_wait(void **state) {
    (void)state;
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s, "? list rv=0 limit=500\nitem default/a 5\npage 10 t0");
    for (int i = 1; i <= 1000; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script, "? list continue=t%d limit=500\nitem default/a%d 5\npage 10 t%d", i - 1, i, i);
        reflector_stage_play(&s, script);
    }
    reflector_stage_play(&s, "? -\nreports protocol violation\nquiet 799\nwait 801\n? list rv=0 limit=500");
    reflector_stage_close(&s);
}

static void a_token_that_expires_makes_one_full_list(void **state) {
    (void)state;
    play_reflector("? list rv=0 limit=500\nitem default/a 5\npage 10 t\n? list continue=t limit=500\nfail 410\n"
                   "? list rv=0\nreports 410\nitem default/b 6\npage 12 -\n? replace 12: default/b=6; watch rv=12",
                   by_pages);
}

static void a_full_list_that_expires_too_lists_the_latest(void **state) {
    (void)state;
    play_reflector(
        "? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\nfail 410\n"
        "? list rv=0\nfail 410\n? list limit=500\nfail 410\n? -\nreports 410 410 410\nquiet 799\nwait 801\n? list "
        "limit=500\n"
        "page 12 -\n? replace 12:; watch rv=12\nopen\nadd default/a 13\nerror 500\nwait 3200\n? add default/a=13; "
        "list rv=13",
        by_pages);
}

static void a_full_list_that_comes_in_pages_all_the_same_makes_no_loop(void **state) {
    (void)state;
    play_reflector(
        "? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\nfail 410\n? list rv=0\npage 10 u\n"
        "? list continue=u\nfail 410\n? list limit=500\npage 11 v\n? list continue=v limit=500\nfail 410\n? list\n"
        "page 12 w\n? list continue=w\nfail 410\n? -\nquiet 799\nwait 801\n? list limit=500",
        by_pages);
}

static void an_unavailable_version_lists_the_latest_at_once(void **state) {
    (void)state;
    static const char *const causes[] = { "410", "toolarge", "expired" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script,
                 WATCHING "error 500\nwait 1600\n? list rv=10\nfail %s\n? list limit=500\npage 20 -\n"
                          "? replace 20:; watch rv=20\nrv 20\nopen\nadd default/a 21\n? add default/a=21\nerror "
                          "500\nwait 3200\n? list rv=21",
                 causes[i]);
        play_reflector(script, by_pages);
    }
}

static void an_unavailable_version_is_listed_otherwise_when_the_server_wants_it(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "error 500\nwait 1600\n? list rv=10\nfail 410+5000\n? -\nquiet 4999\nwait 1\n? list limit=500\n"
                   "page 20 t\n? list continue=t limit=500\nfail 410+9000\n? -\nquiet 8999\nwait 1\n? list",
                   by_pages);
    play_reflector(STREAMED "error 500\nwait 1600\n? stream rv=10\nfail 410+5000\n? -\nquiet 4999\nwait 1\n? stream",
                   streaming);
}

static void a_failed_list_waits_and_begins_again(void **state) {
    (void)state;
    play_reflector(
        "? list rv=0 limit=500\nfail 500\nreports 500\nstate backing off\nquiet 799\nwait 801\n? list rv=0 limit=500\n"
        "state connecting\nfail cut\nquiet 1599\nwait 1601\n? list rv=0 limit=500\npage 10 -\n? replace 10:; watch "
        "rv=10",
        by_pages);
}

static void objects_of_a_failed_list_are_not_used(void **state) {
    (void)state;
    play_reflector(
        "? list rv=0 limit=500\nitem default/a 5\nfail 500\nwait 1600\n? list rv=0 limit=500\nitem default/b 6\npage "
        "10 -\n"
        "? replace 10: default/b=6; watch rv=10",
        by_pages);
}

static void an_object_of_another_kind_is_unreadable(void **state) {
    (void)state;
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s,
                         "? list rv=0 limit=500\nitem default/a 5\nforeign default/b\npage 10 -\n? replace 10: "
                         "default/a=5 default/b=?; watch rv=10\n"
                         "open\nforeign default/b\nwait 1000\n? cancel; watch rv=10\nopen\nforeign default/b\nrv 10\n"
                         "mod default/a 11\n? update default/a=11\nrv 11\n");
    assert_int_equal(s.bad_objects, 2);
    reflector_stage_close(&s);
}

static void health_counts_the_listed_objects(void **state) {
    (void)state;
    reflector_stage s;
    reflector_stage_open(&s, by_pages, 1);
    reflector_stage_play(&s, "item default/a 5\npage 10 t 7");
    assert_int_equal(s.listed, 1);
    assert_int_equal(s.list_total, 8);
    reflector_stage_close(&s);
}

/* --- watches ------------------------------------------------------------------------------------------------------ */

static void a_watch_that_brought_an_event_is_opened_again_at_once_after_a_clean_close(void **state) {
    (void)state;
    play_reflector(WATCHING "add default/b 11\nwait 5000\n? add default/b=11\nclose\n? watch rv=11\nreports -\n"
                            "open\nbookmark 12\nwait 5000\nclose\n? watch rv=12\nreports -\n"
                            "open\nadd default/c 13\nwait 5000\n? add default/c=13\nclose\n? watch rv=13\nreports -",
                   by_pages);
}

static void a_connection_that_is_lost_is_made_again_within_a_second(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "add default/b 11\nwait 5000\n? add default/b=11\nfail cut\n? -\nstate connecting\nwait 1000\n"
                   "? watch rv=11\nreports unexpected EOF\n"
                   "open\nbookmark 12\nwait 5000\nfail cut\n? -\nwait 1000\n? watch rv=12\nreports unexpected EOF",
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
            char script[REFLECTOR_TEXT];
            watches++;
            snprintf(script, sizeof script, "open\n%s %d\nclose", line, 10 + (with_new_versions ? watches : 0));
            reflector_stage_play(&s, script);
        }
        assert_true(test_engine_advance(&s.engine, 10));
        s.source.trace[0] = '\0';
    }
    reflector_stage_close(&s);
    return watches;
}

static void a_watch_that_ends_after_one_word_makes_no_tight_loop(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        assert_in_range(count_watches("bookmark", false, seed), 3, 10);   /* nothing new: it waits */
        assert_in_range(count_watches("bookmark", true, seed), 140, 260); /* half a second's pause on average */
        assert_in_range(count_watches("mod default/a", true, seed), 140, 260);
    }
}

static void only_watches_without_an_event_wait(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "wait 4999\nclose\n? watch rv=10\nreports -\nopen\nwait 4999\nclose\n? -\nstate backing off\n"
                   "quiet 799\nwait 801\n? watch rv=10\nopen\nbookmark 11\nwait 5000\nclose\n? watch rv=11\n"
                   "state connecting",
                   by_pages);
}

/* A proxy that ends each stream after a time, with events or without: the view is never blind for longer than the
 * reopening takes. */
static void a_proxy_that_ends_streams_never_makes_it_blind(void **state) {
    static const char *const streams[] = { "open\nmod default/a 11\nwait 25000\nfail cut", "open\nwait 25000\nclose",
                                           "open\nwait 5000\nclose" };
    (void)state;
    for (uint64_t seed = 0; seed < 5 * sizeof streams / sizeof *streams; seed++) {
        reflector_stage s;
        int64_t blind_ms = 0;
        reflector_stage_open(&s, by_pages, seed + 1);
        reflector_stage_play(&s, LISTED);
        for (int stream = 0; stream < 12; stream++) {
            reflector_stage_play(&s, streams[seed % (sizeof streams / sizeof *streams)]);
            for (; !s.source.watches && blind_ms < 300000; blind_ms++) {
                if (s.source.lists) /* whether the server still has the version */
                    reflector_stage_play(&s, "page 10 -");
                assert_true(test_engine_advance(&s.engine, 1));
            }
            s.source.trace[0] = '\0';
        }
        assert_in_range(blind_ms, 0, 12000); /* at most a second for each stream */
        reflector_stage_close(&s);
    }
}

static void a_watch_that_lasted_may_be_opened_at_once_again(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "bookmark 11\nwait 300000\nclose\n? watch rv=11\nopen\nbookmark 12\nwait 400000\nclose\n? watch "
                   "rv=12\nreports -",
                   by_pages);
}

static void a_proxy_that_closes_each_minute_does_not_make_it_wait(void **state) {
    (void)state;
    play_reflector(WATCHING "bookmark 11\nwait 30000\nclose\n? watch rv=11\nopen\nbookmark 12\nwait 30000\nclose\n"
                            "? watch rv=12\nreports -",
                   by_pages);
}

static void an_older_event_does_not_move_the_version_back(void **state) {
    (void)state;
    play_reflector(WATCHING "mod default/a 15\nmod default/b 12\nrv 15\nbookmark 14\nrv 15\nbookmark other\nrv other\n"
                            "bookmark 16\nrv 16\ndel default/b 17\nrv 17",
                   by_pages);
    play_reflector(WATCHING "mod default/a 15\nerror 410\nwait 1600\npage 12 -\nrv 12",
                   by_pages); /* a list is believed */
}

static void a_quiet_watch_of_a_second_is_long_enough(void **state) {
    (void)state;
    play_reflector(WATCHING "quiet 1000\nclose\n? watch rv=10\nreports -", by_pages);
}

static void a_very_short_watch_is_an_error_and_lists(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "close\n? -\nreports protocol violation\nstate backing off\nquiet 799\nwait 801\n? list rv=10",
                   by_pages);
}

static void a_watch_that_brought_anything_is_not_very_short(void **state) {
    (void)state;
    static const char *const lines[] = { "bookmark 11", "mod default/a 11", "bad-bookmark -" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script, WATCHING "%s\nclose\nreports -\nstate connecting", lines[i]);
        play_reflector(script, by_pages);
    }
}

static void watches_closed_at_once_never_make_a_tight_loop(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "close\nwait 1600\n? list rv=10\npage 11 -\n? replace 11:; watch rv=11\nopen\nclose\nquiet 1599\n"
                   "wait 1601\n? list rv=11\npage 12 -\n? replace 12:; watch rv=12\nopen\nclose\nquiet 3199\nwait "
                   "3201\n? list rv=12",
                   by_pages);
}

static void a_watch_that_finds_no_descriptor_waits_and_continues(void **state) {
    (void)state;
    play_reflector(
        WATCHING
        "mod default/a 11\n? update default/a=11\nno descriptor\nwait 1000\nclose\n? watch rv=11\nquiet 799\nwait "
        "801\n? watch rv=11\nopen",
        by_pages);
}

static void too_many_requests_and_refused_connections_do_not_list(void **state) {
    (void)state;
    play_reflector(LISTED
                   "fail 429\nreports 429\nquiet 799\nwait 801\n? watch rv=10\nfail connect\nquiet 1599\nwait 1601\n? "
                   "watch rv=10\n"
                   "open\nerror 429\nquiet 3199\nwait 3201\n? watch rv=10\nreports no connection 429",
                   by_pages);
}

static void retry_after_is_obeyed(void **state) {
    (void)state;
    play_reflector(
        LISTED "fail 429+60000\nquiet 59999\nwait 1\n? watch rv=10\nfail 429+1\nquiet 1599\nwait 1601\n? watch rv=10",
        by_pages);
}

static void expired_in_the_stream_lists_at_the_last_version(void **state) {
    (void)state;
    play_reflector(WATCHING "add default/b 11\n? add default/b=11\nerror 410\n? -\nquiet 799\nwait 801\n? list rv=11",
                   by_pages);
}

static void expired_when_opening_lists_at_the_last_version(void **state) {
    (void)state;
    play_reflector(LISTED "fail 410\nquiet 799\nwait 801\n? list rv=10", by_pages);
    play_reflector(STREAMED
                   "add default/b 11\n? add default/b=11\nwait 5000\nclose\n? watch rv=11\nfail 410\nreports 410\n"
                   "quiet 799\nwait 801\n? stream rv=11",
                   streaming);
}

static void a_lost_connection_is_reported_and_resumed_without_a_list(void **state) {
    (void)state;
    static const struct {
        const char *cause, *report;
    } cases[] = { { "cut", "unexpected EOF" }, { "timeout", "timeout" }, { "connect", "no connection" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script,
                 WATCHING
                 "add default/b 11\nwait 90000\n? add default/b=11\nfail %s\nwait 1000\n? watch rv=11\nreports %s",
                 cases[i].cause, cases[i].report);
        play_reflector(script, by_pages);
    }
}

static void any_other_end_lists_after_a_while(void **state) {
    (void)state;
    static const char *const ends[] = { "error 500",     "fail protocol", "error 403", "fail 500",
                                        "fail nomemory", "error cut",     "error 504", "error 666" };
    static const char *const failures[] = { "fail 500", "fail 403", "fail protocol", "fail cut", "fail timeout" };
    char script[REFLECTOR_TEXT];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(script, sizeof script,
                 WATCHING "add default/b 11\nwait 5000\n? add default/b=11\n%s\nquiet 799\nwait 801\n? list rv=11",
                 ends[i]);
        play_reflector(script, by_pages);
    }
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) { /* before it was open */
        snprintf(script, sizeof script, LISTED "%s\nquiet 799\nwait 801\n? list rv=10", failures[i]);
        play_reflector(script, by_pages);
    }
}

static void what_needs_a_person_blocks_and_is_tried_all_the_same(void **state) {
    (void)state;
    static const char *const causes[] = { "401", "403", "404" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script,
                 "? list rv=0 limit=500\nfail %s\nstate blocked\nreports %s\nwait 1600\n? list rv=0 limit=500",
                 causes[i], causes[i]);
        play_reflector(script, by_pages);
    }
}

static void a_watch_from_no_version_keeps_it_until_a_change(void **state) {
    (void)state;
    play_reflector(
        "? list rv=0 limit=500\npage 0 -\n? replace 0:; watch rv=0\nopen\nadd default/a 7\nadd default/b 3\nrv 0\nmod "
        "default/a 9\nrv 9\n"
        "add default/c 12\nrv 12",
        by_pages);
    play_reflector(
        "? list rv=0 limit=500\npage 0 -\n? replace 0:; watch rv=0\nopen\nadd default/a 7\nbookmark 8\nrv 8\nadd "
        "default/b 9\nrv 9",
        by_pages);
    play_reflector(
        "? list rv=0 limit=500\npage - -\n? replace :; watch\nopen\nadd default/a 7\nrv -\nmod default/a 9\nrv 9",
        by_pages);
}

static void events_older_than_the_watch_are_skipped(void **state) {
    (void)state;
    play_reflector(
        WATCHING "mod default/a 9\nadd default/b 8\n? -\nrv 10\nbookmark 12\nmod default/a 12\n? update default/a=12\n"
                 "del default/a 9\n? remove default/a=9\nrv 12\nmod default/a opaque\n? update default/a=opaque",
        by_pages);
    play_reflector(STREAMED "mod default/a 9\n? -\nrv 10\nmod default/a 11\n? update default/a=11", streaming);
}

static void a_full_queue_lists_again(void **state) {
    (void)state;
    play_reflector(WATCHING
                   "queue fails\nadd default/b 11\n? cancel\nreports out of memory\nstate backing off\nquiet 799\nwait "
                   "801\n? list rv=10\n"
                   "queue fails\nitem default/b 11\npage 12 -\n? -\nrv 10\nreports out of memory\nquiet 1599\nwait "
                   "1601\n? list rv=10",
                   by_pages);
}

static void a_request_that_cannot_be_made_is_tried_later(void **state) {
    (void)state;
    play_reflector(
        WATCHING "refuse\nerror 500\nwait 1600\n? list rv=10\nquiet 1599\nwait 1601\n? list rv=10\nrefuse\npage 12 -\n"
                 "? replace 12:; watch rv=12\nquiet 3199\nwait 3201\n? list rv=12",
        by_pages);
    play_reflector("? stream\nrefuse\nfail 429\nwait 1600\n? stream\nreports 429, out of memory\nwait 3200\n? stream",
                   streaming);
}

static void requests_have_a_deadline(void **state) {
    (void)state;
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

static void a_streaming_list_continues_as_the_watch(void **state) {
    (void)state;
    play_reflector(
        "? stream\nstate connecting\nopen\nstate listing\nadd default/b 7\nadd default/a 5\nadd default/c 6\nmod "
        "default/a 8\ndel default/c 9\n"
        "bookmark 9\n? -\nrv -\ninitial-end 10\n? replace 10: default/a=8 default/b=7\nrv 10\nstate watching\n"
        "mod default/b 11\n? update default/b=11\nrv 11\nwait 600000\n? -\nreports -\n"
        "close\n? watch rv=11\nopen\nadd default/d 12\n? add default/d=12",
        streaming);
    play_reflector(
        "? stream\nopen\nadd default/a 5\ninitial-end -\n? replace : default/a=5\nrv -\nadd default/b 6\nrv 6",
        streaming); /* as a list without a version */
}

static void a_streaming_list_again_is_at_the_last_version(void **state) {
    (void)state;
    play_reflector(STREAMED
                   "mod default/a 11\n? update default/a=11\nerror 410\nwait 1600\n? stream rv=11\n"
                   "fail 410\n? stream\nreports 410 410\nopen\ninitial-end 20\n? replace 20:\nerror 500\nwait 3200\n? "
                   "stream rv=20",
                   streaming);
}

static void a_streaming_list_at_the_latest_that_is_expired_too_waits(void **state) {
    (void)state;
    play_reflector(
        STREAMED "error 500\nwait 1600\n? stream rv=10\nfail toolarge\n? stream\nfail toolarge\n? -\nquiet 1599\nwait "
                 "1601\n? stream",
        streaming);
}

static void initial_events_may_come_in_any_order(void **state) {
    (void)state;
    play_reflector(
        "? stream\nopen\nadd default/a 9\nadd default/a 7\nadd default/b 5\nmod default/b 8\ndel default/b 6\n"
        "initial-end 10\n? replace 10: default/a=9 default/b=8",
        streaming);
}

static void the_list_in_place_of_a_stream_comes_when_the_server_wants_it(void **state) {
    (void)state;
    play_reflector("? stream\nfail 503+5000\nreports 503\nstate backing off\nquiet 4999\nwait 1\n? list rv=0 limit=500",
                   streaming);
}

static void a_busy_server_is_asked_for_a_stream_again(void **state) {
    (void)state;
    play_reflector("? stream\nfail 429\nquiet 799\nwait 801\n? stream\nfail connect\nquiet 1599\nwait 1601\n? stream\n"
                   "open\nadd default/a 1\ninitial-end 2\n? replace 2: default/a=1\nrv 2",
                   streaming);
}

static void an_old_server_is_listed_by_pages_from_then_on(void **state) {
    (void)state;
    static const char *const causes[] = { "400", "422" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script, "? stream\nfail %s\nreports %s\n" WATCHING "error 500\nwait 1600\n? list rv=10",
                 causes[i], causes[i]);
        play_reflector(script, streaming);
    }
}

static void any_other_failure_of_a_stream_lists_by_pages_this_time(void **state) {
    (void)state;
    static const char *const ends[] = { "fail 500", "fail 403", "fail cut", "fail connect", "close" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char script[REFLECTOR_TEXT];
        snprintf(script, sizeof script,
                 "? stream\nopen\nadd default/z 1\n%s\n" WATCHING "error 500\nwait 1600\n? stream rv=10", ends[i]);
        play_reflector(script, streaming);
    }
}

static void a_stream_that_goes_silent_is_given_up(void **state) {
    (void)state;
    play_reflector("? stream\nopen\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500\nreports timeout\npage 10 -\n"
                   "? replace 10:; watch rv=10\nopen\nerror 500\nwait 1600\n? list rv=10",
                   streaming);
    play_reflector("? stream\nopen\nquiet 20000\nadd default/a 5\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500",
                   streaming);
}

static void a_server_that_was_out_of_reach_is_asked_for_a_stream_again(void **state) {
    (void)state;
    play_reflector("? stream\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500\nreports timeout\npage 10 -\n"
                   "? replace 10:; watch rv=10\nopen\nerror 500\nwait 1600\n? stream rv=10",
                   streaming);
}

static void a_stream_that_brings_one_long_object_is_not_silent(void **state) {
    (void)state;
    play_reflector(
        "? stream\nopen\nquiet 20000\nbyte\nquiet 29999\nbyte\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500",
        streaming);
}

static void a_stream_without_an_end_is_given_up_after_five_minutes(void **state) {
    (void)state;
    reflector_stage s;
    reflector_stage_open(&s, streaming, 1);
    reflector_stage_play(&s, "? stream\nopen");
    for (int i = 0; i < 14; i++)
        reflector_stage_play(&s, "quiet 20000\nadd default/a 5");
    reflector_stage_play(&s, "quiet 19999\nwait 1\n? cancel; list rv=0 limit=500\nreports timeout");
    reflector_stage_close(&s);
}

static void a_stream_that_runs_out_of_memory_waits(void **state) {
    (void)state;
    play_reflector(
        "? stream\nopen\nadd default/a 5\nqueue fails\ninitial-end 10\n? cancel\nreports out of memory\nrv -\nquiet "
        "799\nwait 801\n? stream",
        streaming);
}

/* --- backoff ------------------------------------------------------------------------------------------------------ */

static void waits_grow_to_thirty_seconds(void **state) {
    (void)state;
    static const int least[] = { 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000 };
    /* What is asked first, the failure, what is asked then. */
    static const char *const cases[][3] = { { "? list rv=0 limit=500", "fail 500", "? list rv=0 limit=500" },
                                            { LISTED, "fail connect", "? watch rv=10" },
                                            { "? stream", "fail 429", "? stream" } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        reflector_stage s;
        reflector_stage_open(&s, strstr(cases[c][0], "stream") ? streaming : by_pages, 7);
        for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
            char script[REFLECTOR_TEXT];
            snprintf(script, sizeof script, "%s\n%s\nquiet %d\nwait %d", cases[c][i ? 2 : 0], cases[c][1], least[i] - 1,
                     least[i] + 1);
            reflector_stage_play(&s, script);
        }
        reflector_stage_close(&s);
    }
}

static void two_minutes_without_a_failure_begin_from_the_start(void **state) {
    (void)state;
    play_reflector("? list rv=0 limit=500\nfail 500\nwait 1600\n? list rv=0 limit=500\nfail 500\nwait 3200\n" WATCHING
                   "bookmark 11\nwait 121000\nerror 500\nquiet 799\nwait 801\n? list rv=11",
                   by_pages);
}

static void closing_cancels_what_is_under_way(void **state) {
    (void)state;
    static const char *const scripts[] = { "? list rv=0 limit=500", "item default/a 5", "fail 500", LISTED, WATCHING };
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

KT_TESTS(reflector) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_replaced_then_watched),
        cmocka_unit_test(pages_carry_only_the_token_and_the_limit),
        cmocka_unit_test(the_user_s_page_size_wins),
        cmocka_unit_test(a_relist_at_a_known_version_is_in_one_piece),
        cmocka_unit_test(a_server_that_paged_at_0_is_asked_by_pages_ever_after),
        cmocka_unit_test(that_it_paged_at_0_is_remembered_though_the_token_expired),
        cmocka_unit_test(a_page_that_leads_to_itself_is_an_error),
        cmocka_unit_test(empty_pages_without_end_are_an_error),
        cmocka_unit_test(pages_of_one_object_without_end_are_an_error_and_wait),
        cmocka_unit_test(a_token_that_expires_makes_one_full_list),
        cmocka_unit_test(a_full_list_that_expires_too_lists_the_latest),
        cmocka_unit_test(a_full_list_that_comes_in_pages_all_the_same_makes_no_loop),
        cmocka_unit_test(an_unavailable_version_lists_the_latest_at_once),
        cmocka_unit_test(an_unavailable_version_is_listed_otherwise_when_the_server_wants_it),
        cmocka_unit_test(a_failed_list_waits_and_begins_again),
        cmocka_unit_test(objects_of_a_failed_list_are_not_used),
        cmocka_unit_test(an_object_of_another_kind_is_unreadable),
        cmocka_unit_test(health_counts_the_listed_objects),
        cmocka_unit_test(a_watch_that_brought_an_event_is_opened_again_at_once_after_a_clean_close),
        cmocka_unit_test(a_connection_that_is_lost_is_made_again_within_a_second),
        cmocka_unit_test(a_watch_that_ends_after_one_word_makes_no_tight_loop),
        cmocka_unit_test(only_watches_without_an_event_wait),
        cmocka_unit_test(a_proxy_that_ends_streams_never_makes_it_blind),
        cmocka_unit_test(a_watch_that_lasted_may_be_opened_at_once_again),
        cmocka_unit_test(a_proxy_that_closes_each_minute_does_not_make_it_wait),
        cmocka_unit_test(a_quiet_watch_of_a_second_is_long_enough),
        cmocka_unit_test(a_very_short_watch_is_an_error_and_lists),
        cmocka_unit_test(a_watch_that_brought_anything_is_not_very_short),
        cmocka_unit_test(watches_closed_at_once_never_make_a_tight_loop),
        cmocka_unit_test(a_watch_that_finds_no_descriptor_waits_and_continues),
        cmocka_unit_test(too_many_requests_and_refused_connections_do_not_list),
        cmocka_unit_test(retry_after_is_obeyed),
        cmocka_unit_test(expired_in_the_stream_lists_at_the_last_version),
        cmocka_unit_test(expired_when_opening_lists_at_the_last_version),
        cmocka_unit_test(a_lost_connection_is_reported_and_resumed_without_a_list),
        cmocka_unit_test(any_other_end_lists_after_a_while),
        cmocka_unit_test(what_needs_a_person_blocks_and_is_tried_all_the_same),
        cmocka_unit_test(a_watch_from_no_version_keeps_it_until_a_change),
        cmocka_unit_test(an_older_event_does_not_move_the_version_back),
        cmocka_unit_test(events_older_than_the_watch_are_skipped),
        cmocka_unit_test(a_full_queue_lists_again),
        cmocka_unit_test(a_request_that_cannot_be_made_is_tried_later),
        cmocka_unit_test(requests_have_a_deadline),
        cmocka_unit_test(a_streaming_list_continues_as_the_watch),
        cmocka_unit_test(initial_events_may_come_in_any_order),
        cmocka_unit_test(a_streaming_list_again_is_at_the_last_version),
        cmocka_unit_test(a_streaming_list_at_the_latest_that_is_expired_too_waits),
        cmocka_unit_test(a_busy_server_is_asked_for_a_stream_again),
        cmocka_unit_test(an_old_server_is_listed_by_pages_from_then_on),
        cmocka_unit_test(any_other_failure_of_a_stream_lists_by_pages_this_time),
        cmocka_unit_test(the_list_in_place_of_a_stream_comes_when_the_server_wants_it),
        cmocka_unit_test(a_stream_that_goes_silent_is_given_up),
        cmocka_unit_test(a_server_that_was_out_of_reach_is_asked_for_a_stream_again),
        cmocka_unit_test(a_stream_that_brings_one_long_object_is_not_silent),
        cmocka_unit_test(a_stream_without_an_end_is_given_up_after_five_minutes),
        cmocka_unit_test(a_stream_that_runs_out_of_memory_waits),
        cmocka_unit_test(waits_grow_to_thirty_seconds),
        cmocka_unit_test(two_minutes_without_a_failure_begin_from_the_start),
        cmocka_unit_test(closing_cancels_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
