/* test_in_order_informer.c: what an informer with the in-order queue makes of a list: one step, seen whole or not at all. What it has in
 * common with the other queue: test_shared_informer.c and test_informer_story.c, which run with both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/error.h"
#include "src/cache/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 4096
};

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    char errors[TEXT];
    char notes[TEXT];  /* by a handler that wants everything: "+a=5", "~a=5>6", "~a=6>6r", "-a=6?" */
    size_t store_size; /* at each call; 0: not looked at */
} stage;

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void add_note(stage *s, const char *text) {
    size_t used = strlen(s->notes);
    snprintf(s->notes + used, sizeof s->notes - used, "%s%s", used ? " " : "", text);
    if (!s->store_size)
        return;
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    assert_int_equal(ki_snapshot_count(snapshot), s->store_size);
    ki_snapshot_free(snapshot);
}

static void on_add(const ki_event *e, void *user) {
    char text[TEXT];
    snprintf(text, sizeof text, "+%s=%s", ki_object_name(e->obj), ki_object_resource_version(e->obj));
    add_note(user, text);
}

static void on_update(const ki_event *e, void *user) {
    char text[TEXT];
    snprintf(text, sizeof text, "~%s=%s>%s%s", ki_object_name(e->obj), ki_object_resource_version(e->old),
             ki_object_resource_version(e->obj), e->is_resync ? "r" : "");
    add_note(user, text);
}

static void on_delete(const ki_event *e, void *user) {
    char text[TEXT];
    snprintf(text, sizeof text, "-%s=%s%s", ki_object_name(e->obj), ki_object_resource_version(e->obj),
             e->final_state_unknown ? "?" : "");
    add_note(user, text);
}

static const ki_handler observing = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    stage *s = user;
    (void)informer;
    size_t used = strlen(s->errors);
    snprintf(s->errors + used, sizeof s->errors - used, "%s%s:%s", used ? " " : "", ki_status_name(cause->code), key);
}

static ki_status dislike(ki_object *obj, ki_object **ret_obj, void *user) {
    (void)user;
    if (strcmp(ki_object_resource_version(obj), "666") == 0)
        return KI_ERR_INVALID;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

static ki_status open_stage(stage *s, const ki_allocator *allocator, int64_t resync_ms) {
    memset(s, 0, sizeof *s);
    if (!test_engine_open(&s->engine, allocator, 1))
        return KI_ERR_NO_MEMORY;
    fake_init(&s->source);
    ki_shared_informer_options options = {
        .engine = s->engine.engine,
        .list_watch = &s->source.base,
        .resource = &configmaps,
        .resync_ns = KI_MILLISECONDS(resync_ms),
        .no_streaming_list = true,
        .in_order = true,
    };
    assert_true(test_engine_settle(&s->engine));
    ki_status status = ki_informer_new(&options, &s->informer, NULL);
    if (status) {
        test_engine_close(&s->engine);
        return status;
    }
    assert_int_equal(ki_informer_set_watch_error_handler(s->informer, on_error, s, NULL), KI_OK);
    assert_int_equal(ki_informer_set_transform(s->informer, dislike, NULL, NULL), KI_OK);
    return KI_OK;
}

static void settle(stage *s) {
    assert_true(test_engine_settle(&s->engine));
}

static void start(stage *s) {
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    settle(s);
}

static void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    test_engine_close(&s->engine);
}

static void listen(stage *s) {
    assert_int_equal(ki_informer_add_handler(s->informer, &observing, s, NULL), KI_OK);
}

/* Lines of the source; "wait MS" moves the clock. */
static void play(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strcmp(line, "open") == 0)
            settle(s); /* the watch is asked for once the list is there */
        if (strncmp(line, "wait ", 5) == 0)
            assert_true(test_engine_advance(&s->engine, atoi(line + 5)));
        else if (!fake_play(&s->source, line))
            fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
}

static void expect(stage *s, const char *notes) {
    settle(s);
    assert_string_equal(s->notes, notes);
    s->notes[0] = '\0';
}

#define LISTED "item default/c 5\nitem default/a 6\nitem default/b 7\npage 10 -\nopen\n"
#define RELIST "error 410\nwait 60000\n"

/* --- lists ------------------------------------------------------------------------------------------------------------------- */

static void a_list_is_told_in_its_order_what_is_gone_first(void **state) {
    (void)state;
    static const struct {
        const char *events, *list, *notes;
    } cases[] = {
        { "", "item default/z 20\nitem default/b 7\nitem default/d 19\npage 30 -", "-a=6? -c=5? +z=20 +d=19" },
        { "", "page 30 -", "-a=6? -b=7? -c=5?" },
        { "", "item default/a 20\nitem default/b 21\nitem default/c 22\npage 30 -", "~a=6>20 ~b=7>21 ~c=5>22" },
        { "del default/b 12\n", "item default/c 5\nitem default/a 6\npage 30 -", "-b=12" },
        { "del default/b 12\nadd default/b 13\n", "item default/c 5\nitem default/a 6\npage 30 -",
          "-b=12 +b=13 -b=13?" },
        { "add default/d 12\n", "item default/c 5\nitem default/a 6\nitem default/b 7\npage 30 -", "+d=12 -d=12?" },
        { "mod default/b 12\n", "item default/c 5\nitem default/a 6\nitem default/b 13\npage 30 -",
          "~b=7>12 ~b=12>13" },
        { "add default/d 12\n",
          "item default/a 6\nitem default/b 7\nitem default/c 5\nitem default/d 12\npage 13 -\nopen\n" RELIST
          "item default/a 6\nitem default/b 7\nitem default/c 5\nitem default/d 12\npage 14 -\nopen\n" RELIST
          "item default/a 6\nitem default/b 7\nitem default/c 5\npage 15 -\nopen\n" RELIST
          "item default/a 6\nitem default/b 7\nitem default/c 5\npage 30 -",
          "+d=12 -d=12?" }, /* once, though four lists came */
        { "mod default/b 12\n",
          "item default/a 6\nitem default/b 100\nitem default/c 5\npage 101 -\nopen\n" RELIST
          "item default/a 6\nitem default/c 5\npage 30 -",
          "~b=7>12 ~b=12>100 -b=100?" }, /* the last that was known */
        /* Another object under the same name. */
        { "", "item default/a 20 another\nitem default/b 7\nitem default/c 5\npage 30 -", "-a=6? +a=20" },
        /* A key that is in the list twice counts where it is last. */
        { "", "item default/a 20\nitem default/b 7\nitem default/c 5\nitem default/a 21\npage 30 -", "~a=6>21" },
        { "", "item default/a 6\nitem default/b 7\nitem default/c 5\nitem default/d 20\nitem default/d 21\npage 30 -",
          "+d=21" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        assert_int_equal(open_stage(&s, NULL, 0), KI_OK);
        listen(&s);
        start(&s);
        play(&s, LISTED);
        expect(&s, "+c=5 +a=6 +b=7");
        play(&s, cases[i].events);
        play(&s, RELIST);
        play(&s, cases[i].list);
        settle(&s);
        /* What is gone comes in no particular order. */
        char *gone = strstr(s.notes, "-c=5? -a=6?");
        if (gone)
            memcpy(gone, "-a=6? -c=5?", 11);
        if (i != 1 && strcmp(s.notes, cases[i].notes) != 0)
            fail_msg("%zu: heard %s\nnot: %s", i, s.notes, cases[i].notes);
        assert_int_equal(strlen(s.notes), strlen(cases[i].notes));
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        assert_string_equal(ki_snapshot_resource_version(snapshot), "30");
        ki_snapshot_free(snapshot);
        close_stage(&s);
    }
}

static void whoever_hears_of_a_list_finds_all_of_it(void **state) {
    (void)state;
    stage s;
    assert_int_equal(open_stage(&s, NULL, 0), KI_OK);
    listen(&s);
    start(&s);
    s.store_size = 3;
    play(&s, LISTED);
    expect(&s, "+c=5 +a=6 +b=7");
    play(&s, RELIST);
    play(&s, "item default/c 5\nitem default/d 20\npage 30 -");
    s.store_size = 2;
    settle(&s);
    assert_non_null(strstr(s.notes, "+d=20"));
    close_stage(&s);
}

static void a_handler_that_comes_after_a_list_hears_of_what_follows(void **state) {
    (void)state;
    stage s;
    assert_int_equal(open_stage(&s, NULL, 0), KI_OK);
    start(&s);
    play(&s, "item default/a 6\npage 10 -\nopen\n");
    settle(&s);
    listen(&s);
    expect(&s, "+a=6");
    play(&s, "mod default/a 11\nadd default/b 12");
    expect(&s, "~a=6>11 +b=12");
    close_stage(&s);
}

static void what_cannot_be_transformed_stays_as_it_was_known(void **state) {
    (void)state;
    stage s;
    assert_int_equal(open_stage(&s, NULL, 0), KI_OK);
    listen(&s);
    start(&s);
    play(&s, LISTED);
    expect(&s, "+c=5 +a=6 +b=7");
    play(&s, RELIST);
    s.errors[0] = '\0';
    play(&s, "item default/a 666\nitem default/new 666\nitem default/b 20\nitem default/c 5\npage 700 -");
    expect(&s, "~b=7>20");
    assert_string_equal(s.errors, "invalid argument:default/a invalid argument:default/new");
    ki_object *a = ki_informer_get(s.informer, "default/a");
    assert_string_equal(ki_object_resource_version(a), "6");
    ki_object_unref(a);
    assert_null(ki_informer_get(s.informer, "default/new"));
    close_stage(&s);
}

static void a_resync_reminds_of_everything_once(void **state) {
    (void)state;
    stage s;
    assert_int_equal(open_stage(&s, NULL, 1000), KI_OK);
    listen(&s);
    start(&s);
    play(&s, "item default/a 5\npage 10 -\nopen");
    expect(&s, "+a=5");
    play(&s, "wait 1000");
    expect(&s, "~a=5>5r");
    play(&s, "mod default/a 11\nwait 1000");
    expect(&s, "~a=5>11 ~a=11>11r");
    play(&s, "del default/a 12\nwait 1000");
    expect(&s, "-a=12");
    close_stage(&s);
}

/* --- memory ------------------------------------------------------------------------------------------------------------------- */

/* All of a list is told and stored, once, whichever allocation fails. */
static bool scenario(size_t fail_at) {
    stage s;
    scarce_memory memory;
    scarce_memory_init(&memory, fail_at);
    ki_status status = open_stage(&s, &memory.allocator, 0);
    if (status)
        goto no_stage;
    ki_registration registration = { NULL, 0 };
    status = ki_informer_register(s.informer, &observing, &s, &KI_REGISTRATION_OPTIONS(.delivery = KI_DELIVER_LATEST),
                                  &registration, NULL);
    if (!status)
        status = ki_informer_start(s.informer, NULL);
    for (int i = 0; !status && i < 10; i++) {
        assert_true(test_engine_advance(&s.engine, 60000));
        static const char *const list[] = { "item default/a 1", "item default/b 2", "item default/c 3",
                                            "item default/d 4", "page 10 -" };
        for (size_t line = 0; line < sizeof list / sizeof *list && s.source.lists; line++)
            play(&s, list[line]); /* it gives up in between where there is no memory */
        if (s.source.watches && !s.source.opened)
            play(&s, "open");
    }
    if (!status) {
        assert_string_equal(s.notes, "+a=1 +b=2 +c=3 +d=4");
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        assert_int_equal(ki_snapshot_count(snapshot), 4);
        assert_string_equal(ki_snapshot_resource_version(snapshot), "10");
        ki_snapshot_free(snapshot);
    }
    close_stage(&s);
no_stage:
    assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return scarce_memory_failed(&memory);
}

static void a_list_is_applied_whole_or_not_at_all_whatever_allocation_fails(void **state) {
    (void)state;
    for (size_t fail_at = 0; scenario(fail_at); fail_at++) {}
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_told_in_its_order_what_is_gone_first),
        cmocka_unit_test(whoever_hears_of_a_list_finds_all_of_it),
        cmocka_unit_test(a_handler_that_comes_after_a_list_hears_of_what_follows),
        cmocka_unit_test(what_cannot_be_transformed_stays_as_it_was_known),
        cmocka_unit_test(a_resync_reminds_of_everything_once),
        cmocka_unit_test(a_list_is_applied_whole_or_not_at_all_whatever_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
