/* test_internal_error.c: internal errors (500) within a watch: for how long it is only watched again, and what then. On
 * a stepped engine; plays: fake_list_watch.h. */

#include "tests/support/fake_list_watch.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <string.h>

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
} stage;

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void play(stage *s, const char *line) {
    if (!fake_play(&s->source, line))
        fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    assert_true(test_engine_settle(&s->engine));
}

static void open_watching(stage *s, int64_t window_s) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, 1));
    fake_init(&s->source);
    ki_shared_informer_options options = { .engine = s->engine.engine,
                                           .list_watch = &s->source.base,
                                           .given.no_streaming_list = true,
                                           .given.internal_error_retry_ms = window_s * 1000 };
    assert_int_equal(informer_of(&configmaps, options, &s->informer), KI_OK);
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
    play(s, "{10:}");
    play(s, "open");
}

static void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    test_engine_close(&s->engine);
}

/* Ends the watch so, and opens the next one unless there is a list first: then false. */
static bool is_watched_again(stage *s, const char *end) {
    s->source.trace[0] = '\0';
    play(s, end);
    for (int i = 0; !s->source.trace[0] && i < 1000; i++)
        assert_true(test_engine_advance(&s->engine, 100));
    if (strcmp(s->source.trace, "watch rv=10") != 0) {
        assert_string_equal(s->source.trace, "list rv=10");
        play(s, "{10:}");
        play(s, "open");
        return false;
    }
    play(s, "open");
    return true;
}

TEST(an_internal_error_lists_where_no_window_is_asked_for) {
    stage s;
    open_watching(&s, 0);
    assert_false(is_watched_again(&s, "error 500"));
    assert_false(is_watched_again(&s, "error 500"));
    close_stage(&s);
}

TEST(it_is_watched_again_until_the_window_is_over) {
    static const int64_t windows_s[] = { 1, 5, 30 };
    for (size_t i = 0; i < sizeof windows_s / sizeof *windows_s; i++) {
        stage s;
        open_watching(&s, windows_s[i]);
        int64_t first = s.engine.now, last = first;
        while (is_watched_again(&s, "error 500")) {
            assert_true(last - first <= KI_SECONDS(windows_s[i]));
            last = s.engine.now;
        }
        assert_true(last - first > KI_SECONDS(windows_s[i]));
        last = s.engine.now;
        assert_true(is_watched_again(&s, "error 500")); /* after the list the window begins anew */
        close_stage(&s);
    }
}

static void advance_to(stage *s, int64_t at) {
    assert_true(s->engine.now <= at);
    s->engine.now = at;
    assert_true(test_engine_settle(&s->engine));
}

TEST(the_end_of_the_window_is_in_it) {
    for (int64_t late = 0; late < 2; late++) {
        stage s;
        open_watching(&s, 30);
        int64_t first = s.engine.now;
        assert_true(is_watched_again(&s, "error 500"));
        advance_to(&s, first + KI_SECONDS(30) + late);
        assert_int_equal(is_watched_again(&s, "error 500"), late == 0);
        close_stage(&s);
    }
}

TEST(an_end_that_is_watched_through_leaves_the_window_as_it_was) {
    static const char *const ends[] = { "close", "error 429", "fail 429", "fail cut" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        for (int64_t late = 0; late < 2; late++) {
            stage s;
            open_watching(&s, 30);
            int64_t first = s.engine.now;
            assert_true(is_watched_again(&s, "error 500"));
            assert_true(test_engine_advance(&s.engine, 2000));
            assert_true(is_watched_again(&s, ends[i]));
            advance_to(&s, first + KI_SECONDS(30) + late);
            assert_int_equal(is_watched_again(&s, "error 500"), late == 0);
            close_stage(&s);
        }
    }
}

TEST(a_minute_without_one_begins_a_new_window) {
    stage s;
    open_watching(&s, 5);
    for (int i = 0; i < 5; i++) {
        assert_true(is_watched_again(&s, "error 500"));
        assert_true(test_engine_advance(&s.engine, 60000));
    }
    close_stage(&s);
}

TEST(other_ends_are_none_of_its_business) {
    stage s;
    open_watching(&s, 60);
    assert_true(is_watched_again(&s, "error 500"));
    assert_false(is_watched_again(&s, "error 410"));
    assert_true(is_watched_again(&s, "error 500"));
    assert_false(is_watched_again(&s, "fail 500")); /* not within the watch */
    assert_true(is_watched_again(&s, "error 500"));
    close_stage(&s);
}
