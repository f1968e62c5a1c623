/* test_namespace_check.c: an informer of a namespace that does not exist syncs with nothing, and says why. It asks only
 * after an empty list, and no answer is a failure. On a stepped engine. */

#include "src/object/resource_table.h"
#include "tests/support/informer_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define EMPTY "{10:}; open"
#define STREAMED_EMPTY "open; initial-end 10"

static void open_in(stage *s, observer *h, const ki_resource *resource, const char *namespace_name, bool streams) {
    const ki_shared_informer_options options = { .given.namespace_name = namespace_name,
                                                 .factory = streaming_if(streams) };
    assert_int_equal(open_stage_of(s, resource, options, NULL), KI_OK);
    add_observer(h, s, NULL);
    start_stage(s);
}

static const char *message_of(const stage *s) {
    static ki_health health;
    ki_informer_health(s->informer, &health);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_int_equal(health.cause.code, KI_OK);
    return health.message;
}

static bool asks(const stage *s) {
    return s->source.on_namespace != NULL;
}

static void expect_log(stage *s, const char *lines) {
    assert_string_equal(s->log, lines);
    s->log[0] = '\0';
}

TEST(a_missing_namespace_is_one_line_and_the_healths_message) {
    for (int streams = 0; streams < 2; streams++) {
        stage s;
        observer h;
        open_in(&s, &h, &configmaps, "shop", streams);
        play_each(&s, streams ? STREAMED_EMPTY : EMPTY);
        assert_true(asks(&s));
        assert_string_equal(message_of(&s), "");
        assert_non_null(strstr(s.log, "I reflector: configmaps in shop: watching\n"));
        s.log[0] = s.states[0] = '\0';
        play_each(&s, "namespace missing");
        assert_string_equal(message_of(&s), "there is no namespace shop");
        assert_string_equal(s.states, "watching"); /* the state handler was called once */
        expect_log(&s, "W reflector: configmaps in shop: watching: there is no namespace shop\n");
        assert_true(ki_informer_has_synced(s.informer));
        close_stage(&s);
    }
}

/* It is asked for again with each watch, since nothing else shows that the namespace was created. */
TEST(a_namespace_that_appears_ends_the_message) {
    stage s;
    observer h;
    open_in(&s, &h, &configmaps, "shop", false);
    play_each(&s, EMPTY "; namespace missing");
    s.log[0] = '\0';
    for (int i = 0; i < 3; i++) {
        play_each(&s, "bookmark 11; wait 30000; close; wait 2000; open; namespace missing");
        assert_string_equal(message_of(&s), "there is no namespace shop");
    }
    expect_log(&s, "");
    play_each(&s, "bookmark 12; wait 30000; close; wait 2000; open; namespace there");
    assert_string_equal(message_of(&s), "");
    expect_log(&s, "I reflector: configmaps in shop: watching\n");
    play_each(&s, "bookmark 13; wait 30000; close; wait 2000; open");
    assert_false(asks(&s));
    close_stage(&s);
}

TEST(an_object_ends_the_message_at_once) {
    stage s;
    observer h;
    open_in(&s, &h, &configmaps, "default", false);
    play_each(&s, EMPTY "; namespace missing");
    s.log[0] = s.states[0] = '\0';
    play_each(&s, "+a=11");
    assert_string_equal(message_of(&s), "");
    assert_string_equal(s.states, "watching");
    expect_log(&s, "I reflector: configmaps in default: watching\n");
    play_each(&s, "-a=12");
    assert_string_equal(message_of(&s), "");
    play_each(&s, "wait 30000; close; wait 2000; open");
    assert_false(asks(&s));
    expect(&h, "synced +a=11 -a=12");
    close_stage(&s);
}

TEST(nothing_is_asked_where_nothing_can_be_missing) {
    static const ki_resource nodes = { "", "v1", "nodes", "Node", false };
    static const struct {
        const ki_resource *resource;
        const char *namespace_name, *listed;
    } cases[] = {
        { &configmaps, "default", LISTED },
        { &configmaps, NULL, EMPTY },
        { &configmaps, "", EMPTY },
        { &nodes, "shop", EMPTY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        observer h;
        open_in(&s, &h, cases[i].resource, cases[i].namespace_name, false);
        play_each(&s, cases[i].listed);
        assert_false(asks(&s));
        close_stage(&s);
    }
}

/* 403, no response, an error: a namespace that may exist is not reported, and is not asked for again and again. */
TEST(an_answer_that_does_not_show_it_is_kept_until_the_next_list) {
    stage s;
    observer h;
    open_in(&s, &h, &configmaps, "shop", false);
    play_each(&s, EMPTY "; namespace unknown");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(message_of(&s), "");
        play_each(&s, "bookmark 11; wait 30000; close; wait 2000; open");
        assert_false(asks(&s));
    }
    play_each(&s, "fail expired; wait 30000; " EMPTY);
    assert_true(asks(&s));
    play_each(&s, "namespace missing");
    assert_string_equal(message_of(&s), "there is no namespace shop");
    play_each(&s, "fail expired; wait 30000; " EMPTY "; namespace unknown"); /* what was known remains */
    assert_string_equal(message_of(&s), "there is no namespace shop");
    close_stage(&s);
}

TEST(a_question_without_an_answer_ends_with_the_informer) {
    stage s;
    observer h;
    open_in(&s, &h, &configmaps, "shop", false);
    play_each(&s, EMPTY);
    assert_true(asks(&s));
    ki_informer_stop(s.informer);
    assert_false(asks(&s));
    ki_health health;
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.state, KI_STATE_STOPPED);
    assert_string_equal(health.message, "");
    close_stage(&s);
}
