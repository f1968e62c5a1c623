/* test_in_order_informer.c: what an informer with the in-order queue makes of a list: one step, seen whole or not at
 * all. What it has in common with the other queue: test_shared_informer.c and test_informer_story.c, which run with
 * both. */

#include "tests/support/byte_stage.h"
#include "tests/support/informer_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const char three[] = "{10: c=5 a=6 b=7}; open; > +c=5i +a=6i +b=7i synced";

#define RELIST "error 410; wait 60000; "

/* --- the order ---------------------------------------------------------------------------------------------------- */

TEST(changes_that_arrive_together_come_in_the_order_of_their_arrival) {
    stage s;
    observer h;
    open_listed_stage(&s, &h);
    h.notes[0] = '\0';
    play_all(&s, "~a=11; ~b=12; ~a=13; ~b=14");
    expect(&h, "~a=5>11 ~b=6>12 ~a=11>13 ~b=12>14");
    close_stage(&s);
}

static void note_name(const ki_event *event, void *user) {
    notation_add(user, " ", ki_object_name(event->obj));
}

static const ki_handler noting_names = { .on_add = note_name, .on_update = note_name };

#define MODIFIED(name, version) "{\"type\":\"MODIFIED\",\"object\":" BYTE_OBJECT(name, version) "}\n"

TEST(an_informer_without_options_keeps_the_order_of_arrival) {
    static const char events[] = MODIFIED("a", "11") MODIFIED("b", "12") MODIFIED("a", "13") MODIFIED("b", "14");
    byte_stage s;
    char names[NOTATION_TEXT] = "";
    byte_stage_open(&s, "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}",
                    KI_FACTORY_OPTIONS(.no_streaming_list = true), NULL);
    assert_int_equal(ki_informer_add_handler(s.informer, &noting_names, names, NULL, NULL, NULL), KI_OK);
    byte_stage_send(&s, events, strlen(events));
    assert_string_equal(names, "a b a b");
    byte_stage_close(&s);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

TEST(a_list_is_reported_in_its_order_what_is_gone_first) {
    static const struct {
        const char *events, *list, *notes;
    } cases[] = {
        { "", "{30: z=20 b=7 d=19}", "?a=6 ?c=5 +z=20 +d=19" },
        { "", "{30:}", "?a=6 ?b=7 ?c=5" },
        { "", "{30: a=20 b=21 c=22}", "~a=6>20 ~b=7>21 ~c=5>22" },
        { "-b=12; ", "{30: c=5 a=6}", "-b=12" },
        { "-b=12; +b=13; ", "{30: c=5 a=6}", "-b=12 +b=13 ?b=13" },
        { "+d=12; ", "{30: c=5 a=6 b=7}", "+d=12 ?d=12" },
        { "~b=12; ", "{30: c=5 a=6 b=13}", "~b=7>12 ~b=12>13" },
        { "+d=12; ",
          "{13: a=6 b=7 c=5 d=12}; open; " RELIST "{14: a=6 b=7 c=5 d=12}; open; " RELIST
          "{15: a=6 b=7 c=5}; open; " RELIST "{30: a=6 b=7 c=5}",
          "+d=12 ?d=12" }, /* once, though four lists came */
        { "~b=12; ", "{101: a=6 b=100 c=5}; open; " RELIST "{30: a=6 c=5}",
          "~b=7>12 ~b=12>100 ?b=100" }, /* the last that was known */
        /* Another object under the same name. */
        { "", "{30: a=20#another b=7 c=5}", "?a=6 +a=20" },
        /* A key that is in the list twice counts where it is last. */
        { "", "{30: a=20 b=7 c=5 a=21}", "~a=6>21" },
        { "", "{30: a=6 b=7 c=5 d=20 d=21}", "+d=21" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        observer h;
        open_observed_stage(&s, &h, NULL);
        play_each(&s, three);
        play(&s, cases[i].events);
        play(&s, RELIST);
        play_each(&s, cases[i].list);
        play_each(&s, "at 30");
        /* What is gone comes in no particular order. */
        char *gone = strstr(h.notes, "?c=5 ?a=6");
        if (gone)
            memcpy(gone, "?a=6 ?c=5", strlen("?a=6 ?c=5"));
        if (i == 1)
            expect_any_order(&h, cases[i].notes);
        else
            expect(&h, cases[i].notes);
        close_stage(&s);
    }
}

TEST(whoever_is_notified_of_a_list_finds_all_of_it) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    h.store_size = 3;
    play_each(&s, three);
    play(&s, RELIST "{30: c=5 d=20}");
    h.store_size = 2;
    settle(&s);
    assert_non_null(strstr(h.notes, "+d=20"));
    close_stage(&s);
}

TEST(a_handler_that_comes_after_a_list_is_notified_of_what_follows) {
    stage s;
    observer h;
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, "{10: a=6}; open");
    add_observer(&h, &s, NULL);
    settle(&s);
    expect(&h, "+a=6i synced");
    play_all(&s, "~a=11; +b=12");
    expect(&h, "~a=6>11 +b=12");
    close_stage(&s);
}

TEST(what_cannot_be_transformed_stays_as_it_was_known) {
    stage s;
    observer h;
    open_transformed_stage(&s, &h, reject_sevens, NULL);
    play_each(&s, "{10: c=5 a=6 b=8}; open; > +c=5i +a=6i +b=8i synced");
    play_each(&s, RELIST "errors expired:");
    play_all(&s, "{700: a=667 new=667 b=20 c=5}");
    play_each(&s, "> ~b=8>20; errors invalid argument:a invalid argument:new; store a=6 b=20 c=5");
    close_stage(&s);
}

TEST(a_resync_reminds_of_everything_once) {
    stage s;
    observer h;
    open_stage(&s, 1000);
    add_observer(&h, &s, NULL);
    start_stage(&s);
    play_each(&s, "{10: a=5}; open; > +a=5i synced; wait 1000; > ~a=5>5r; ~a=11; wait 1000; > ~a=5>11 ~a=11>11r; "
                  "-a=12; wait 1000; > -a=12");
    close_stage(&s);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* The source's list or watch, as far as a failed allocation leaves one open. */
static void serve(stage *s) {
    static const char *const list[] = { "a=1", "b=2", "c=3", "d=4", "{10:}" };
    for (size_t line = 0; line < sizeof list / sizeof *list && s->source.lists; line++)
        play(s, list[line]);
    if (s->source.watches && !s->source.opened)
        play_each(s, "open");
}

/* The handler and the store get all of a list, once. */
TEST(a_list_is_applied_whole_or_not_at_all_whatever_allocation_fails) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        stage s;
        observer h = { .stage = &s };
        ki_status status =
            open_stage_with(&s, (ki_shared_informer_options){ .factory = streaming_if(false) }, &memory.allocator);
        if (status) {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            continue;
        }
        assert_int_equal(ki_informer_set_transform(s.informer, reject_sevens, NULL, NULL), KI_OK);
        status = ki_informer_add_handler(s.informer, &observing, &h, NULL, &h.registration, NULL);
        if (!status)
            status = ki_informer_start(s.informer, NULL);
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
        for (int minute = 0; !status && minute < 10; minute++) {
            play(&s, "wait 60000");
            serve(&s);
        }
        if (!status) {
            settle(&s);
            expect(&h, "+a=1i +b=2i +c=3i +d=4i synced");
            play_each(&s, "store a=1 b=2 c=3 d=4; at 10");
        }
        close_stage(&s);
    }
}

TEST_GROUP(in_order_queue, use_in_order_queue, NULL);
