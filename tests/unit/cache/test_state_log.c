/* test_state_log.c: the log says what the health says, once for each change: one line for a failure however often it is
 * tried again. On a stepped engine. */

#include "src/object/resource_table.h"
#include "tests/support/informer_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const ki_resource websites = { "web.example.com", "v1", "websites", "Website", true };

static void open_of(stage *s, observer *h, const ki_resource *resource, bool streams) {
    const ki_shared_informer_options options = { .factory = streaming_if(streams) };
    assert_int_equal(open_stage_of(s, resource, options, NULL), KI_OK);
    add_observer(h, s, NULL);
    start_stage(s);
}

/* Fails each request for so long. Returns how many failed. */
static int fail_each(stage *s, const char *how, int seconds) {
    char line[32];
    int failed = 0;
    snprintf(line, sizeof line, "fail %s", how);
    for (int i = 0; i < seconds * 10; i++) {
        for (; s->source.lists || s->source.watches; failed++)
            play_each(s, line);
        play(s, "wait 100");
    }
    return failed;
}

/* Advances to the next request. */
static void await_request(stage *s) {
    for (int i = 0; !s->source.lists && !s->source.watches && i < 601; i++)
        play(s, "wait 100");
    assert_true(s->source.lists || s->source.watches);
}

static void expect_log(stage *s, const char *lines) {
    assert_string_equal(s->log, lines);
    s->log[0] = '\0';
}

TEST(a_failure_is_one_line_however_often_it_is_tried_again) {
    static const struct {
        const ki_resource *resource;
        const char *how, *line;
    } cases[] = {
        { &websites, "404",
          "W reflector: websites: blocked: the CRD websites.web.example.com is not installed, or not in version v1\n" },
        { &configmaps, "403", "W reflector: configmaps: blocked: forbidden: list configmaps in all namespaces\n" },
        { &configmaps, "401",
          "W reflector: configmaps: blocked: unauthorized: the server does not accept the credentials\n" },
        { &configmaps, "connect", "W reflector: configmaps: backing off: connect\n" },
        { &configmaps, "429", "W reflector: configmaps: backing off: the server is too busy\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int streams = 0; streams < 2; streams++) {
            stage s;
            observer h;
            open_of(&s, &h, cases[i].resource, streams);
            assert_true(fail_each(&s, cases[i].how, 600) > 10);
            expect_log(&s, cases[i].line);
            close_stage(&s);
        }
    }
}

TEST(each_change_of_the_state_is_a_line) {
    stage s;
    observer h;
    open_of(&s, &h, &configmaps, false);
    fail_each(&s, "connect", 60);
    fail_each(&s, "403", 60);
    expect_log(&s, "W reflector: configmaps: backing off: connect\n"
                   "W reflector: configmaps: blocked: forbidden: list configmaps in all namespaces\n");
    await_request(&s);
    play_each(&s, LISTED);
    expect_log(&s, "I informer: configmaps: synced, 2 objects\nI reflector: configmaps: watching\n");

    play_each(&s, "wait 2000; fail expired");
    expect_log(&s, "W reflector: configmaps: backing off: expired\n");
    await_request(&s);
    play_each(&s, LISTED);
    expect_log(&s, "I reflector: configmaps: watching\n");
    close_stage(&s);
}

TEST(a_watch_that_is_only_opened_again_is_no_line) {
    stage s;
    observer h;
    open_of(&s, &h, &configmaps, false);
    play_each(&s, LISTED);
    expect_log(&s, "I informer: configmaps: synced, 2 objects\nI reflector: configmaps: watching\n");
    for (int i = 0; i < 20; i++) {
        play_each(&s, i % 2 ? "bookmark 11; wait 30000; close" : "wait 30000; fail cut");
        await_request(&s);
        play_each(&s, "open");
    }
    expect_log(&s, "");
    close_stage(&s);
}

TEST(silence_is_one_line) {
    stage s;
    observer h;
    open_of(&s, &h, &configmaps, false);
    play(&s, "wait 4999");
    expect_log(&s, "");
    play(&s, "wait 1");
    expect_log(&s, "W reflector: configmaps: connecting: no response for 5 s\n");
    play(&s, "wait 50000");
    expect_log(&s, "");
    play_each(&s, "fail timeout");
    expect_log(&s, "W reflector: configmaps: backing off: timeout\n");
    await_request(&s);
    play(&s, "wait 30000");
    play_each(&s, "fail timeout");
    expect_log(&s, "");
    close_stage(&s);
}

TEST(the_end_of_streaming_lists_is_a_line) {
    stage s;
    observer h;
    open_of(&s, &h, &configmaps, true);
    play_each(&s, "open; wait 30000");
    expect_log(&s, "W reflector: configmaps: listing: no data for 10 s\n"
                   "I reflector: configmaps: the streaming list is incomplete after 30 s; a plain list follows\n");
    play_each(&s, LISTED);
    expect_log(&s, "I informer: configmaps: synced, 2 objects\nI reflector: configmaps: watching\n");
    close_stage(&s);
}

TEST(a_list_that_stalls_is_one_line) {
    static const struct {
        bool streams;
        const char *first, *more, *last;
    } rows[] = {
        { true, "open; +a=5", "+b=6", "initial-end 10" },
        { true, "open", "+a=5", "initial-end 10" },
        { false, "a=5", "b=6", "{10:}; open" },
        { false, "{10 more: a=5}", "b=6", "{10:}; open" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        observer h;
        ki_health health;
        open_of(&s, &h, &configmaps, rows[i].streams);
        play_each(&s, rows[i].first);
        play(&s, "wait 9999");
        expect_log(&s, "");
        play(&s, "wait 1");
        expect_log(&s, "W reflector: configmaps: listing: no data for 10 s\n");
        play(&s, "wait 9000");
        expect_log(&s, "");
        ki_informer_health(s.informer, &health);
        assert_string_equal(health.message, "no data for 10 s");
        play_each(&s, rows[i].more);
        play(&s, "wait 9000"); /* it continues */
        ki_informer_health(s.informer, &health);
        assert_int_equal(health.state, KI_STATE_LISTING);
        assert_string_equal(health.message, "");
        play_each(&s, rows[i].last);
        assert_non_null(strstr(s.log, "I reflector: configmaps: watching\n"));
        s.log[0] = '\0';
        play(&s, "wait 20000");
        expect_log(&s, "");
        close_stage(&s);
    }
}
