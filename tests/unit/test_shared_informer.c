/* test_shared_informer.c: what handlers hear of what a source gives, on a stepped engine: everything on one thread, time moved by hand. With
 * threads: test_listener.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/error.h"
#include "src/cache/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/make_object.h"
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
    char states[TEXT];
} stage;

/* A handler that writes down what it hears: "+a=5i" an add of the initial list, "~a=5>6", "~a=6>6r" a resync, "-a=6", "-a=6?" final state
 * unknown, "synced", "removed". Keys are in namespace "default", which is left out. */
typedef struct hearer {
    stage *stage;
    ki_registration *registration;
    char heard[TEXT];
    bool removes_itself;      /* in its next call */
    ki_registration *removes; /* another one, in its next call */
    int removed;
} hearer;

static const char *short_key(const ki_object *obj) {
    return ki_object_name(obj);
}

static void hear(hearer *self, const char *text) {
    size_t used = strlen(self->heard);
    assert_int_equal(self->removed, 0);
    snprintf(self->heard + used, sizeof self->heard - used, "%s%s", used ? " " : "", text);
    ki_error err = KI_ERROR_INIT;
    if (self->removes_itself) {
        self->removes_itself = false;
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->registration, &err), KI_OK);
    }
    if (self->removes) {
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->removes, &err), KI_OK);
        self->removes = NULL;
    }
}

static void on_add(const ki_event *e, void *user) {
    char text[TEXT];
    assert_null(e->old);
    snprintf(text, sizeof text, "+%s=%s%s", short_key(e->obj), ki_object_resource_version(e->obj),
             e->is_in_initial_list ? "i" : "");
    hear(user, text);
}

static void on_update(const ki_event *e, void *user) {
    char text[TEXT];
    snprintf(text, sizeof text, "~%s=%s>%s%s", short_key(e->obj), ki_object_resource_version(e->old),
             ki_object_resource_version(e->obj), e->is_resync ? "r" : "");
    hear(user, text);
}

static void on_delete(const ki_event *e, void *user) {
    char text[TEXT];
    assert_null(e->old);
    snprintf(text, sizeof text, "-%s=%s%s", short_key(e->obj), ki_object_resource_version(e->obj),
             e->final_state_unknown ? "?" : "");
    hear(user, text);
}

static void on_synced(ki_informer *informer, void *user) {
    const hearer *self = user;
    assert_ptr_equal(informer, self->stage->informer);
    if (self->registration)
        assert_false(ki_registration_has_synced(self->registration));
    hear(user, "synced");
}

static void on_removed(void *user) {
    hearer *self = user;
    hear(self, "removed");
    self->removed++;
}

static const ki_handler hearing = {
    .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced, .on_removed = on_removed
};

/* --- stage --------------------------------------------------------------------------------------------------------------------------- */

static bool in_order; /* the queue of all that follows */

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    stage *s = user;
    (void)informer;
    size_t used = strlen(s->errors);
    snprintf(s->errors + used, sizeof s->errors - used, "%s%s:%s", used ? " " : "", ki_status_name(cause->code), key);
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    stage *s = user;
    (void)informer;
    size_t used = strlen(s->states);
    snprintf(s->states + used, sizeof s->states - used, "%s%s", used ? ", " : "", ki_state_name(health->state));
}

static void open_stage(stage *s, int64_t resync_ms) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, 1));
    fake_init(&s->source);
    ki_shared_informer_options options = {
        .engine = s->engine.engine,
        .list_watch = &s->source.base,
        .resource = &configmaps,
        .resync_ns = KI_MILLISECONDS(resync_ms),
        .no_streaming_list = true,
        .in_order = in_order,
    };
    assert_int_equal(ki_informer_new(&options, &s->informer, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(s->informer, on_error, s, NULL), KI_OK);
    assert_int_equal(ki_informer_set_state_handler(s->informer, on_state, s, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine)); /* from now on it is stepped */
}

static void start(stage *s) {
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

static void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    assert_true(s->source.freed);
    test_engine_close(&s->engine);
}

/* Lines of the source, one after another; `wait MS` moves the clock. What is queued in between is applied only with settle: "…" */
static void play(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "wait ", 5) == 0)
            assert_true(test_engine_advance(&s->engine, atoi(line + 5)));
        else if (!fake_play(&s->source, line))
            fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
}

static void settle(stage *s) {
    assert_true(test_engine_settle(&s->engine));
}

static void play_each(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        play(s, line);
        settle(s);
    }
}

static void listen(hearer *h, stage *s, const ki_registration_options *options) {
    memset(h, 0, sizeof *h);
    h->stage = s;
    assert_int_equal(ki_informer_register(s->informer, &hearing, h, options, &h->registration, NULL), KI_OK);
}

static void expect(hearer *h, const char *heard) {
    assert_string_equal(h->heard, heard);
    h->heard[0] = '\0';
}

#define LISTED "item default/a 5\nitem default/b 6\npage 10 -\nopen"

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same words in any order. */
static void expect_any_order(hearer *h, const char *heard) {
    char copy[TEXT];
    char *words[64];
    size_t count = 0;
    char *rest = NULL;
    strcpy(copy, h->heard);
    char sorted[TEXT] = "";
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    qsort(words, count, sizeof *words, by_text);
    for (size_t i = 0; i < count; i++) {
        strcat(sorted, i ? " " : "");
        strcat(sorted, words[i]);
    }
    assert_string_equal(sorted, heard);
    h->heard[0] = '\0';
}

/* --- what handlers hear ---------------------------------------------------------------------------------------------------------------- */

static void a_handler_hears_of_the_list_then_of_changes(void **state) {
    (void)state;
    stage s;
    hearer h;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    start(&s);
    assert_false(ki_informer_has_synced(s.informer));
    play_each(&s, LISTED);
    expect(&h, "+a=5i +b=6i synced");
    assert_true(ki_informer_has_synced(s.informer));
    assert_true(ki_registration_has_synced(h.registration));
    play_each(&s, "add default/c 11\nmod default/a 12\ndel default/b 13\n");
    expect(&h, "+c=11 ~a=5>12 -b=13");
    close_stage(&s);
    expect(&h, "removed");
    assert_string_equal(s.states, "connecting, listing, connecting, watching, stopped");
}

static void changes_of_one_key_come_in_order_after_the_store(void **state) {
    (void)state;
    stage s;
    hearer h;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    start(&s);
    play_each(&s, LISTED);
    expect(&h, "+a=5i +b=6i synced");
    play(&s, "mod default/a 11\ndel default/a 12\nadd default/a 13\nadd default/x 14\ndel default/x 15");
    settle(&s);
    expect(&h, "~a=5>11 -a=12 +a=13 +x=14 -x=15");
    ki_object *a = ki_informer_get(s.informer, "default/a");
    assert_string_equal(ki_object_resource_version(a), "13");
    ki_object_unref(a);
    assert_null(ki_informer_get(s.informer, "default/x"));
    close_stage(&s);
}

static void a_relist_tells_the_difference(void **state) {
    (void)state;
    stage s;
    hearer h;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    start(&s);
    play_each(&s, LISTED);
    expect(&h, "+a=5i +b=6i synced");
    play_each(&s, "error 410\nwait 1600\nitem default/b 20\nitem default/c 21\npage 22 -\nopen");
    expect(&h, in_order ? "-a=5? ~b=6>20 +c=21" : "~b=6>20 +c=21 -a=5?");
    assert_string_equal(s.errors, "expired:");
    close_stage(&s);
}

static void a_relist_of_what_is_known_is_a_resync(void **state) {
    (void)state;
    stage s;
    hearer plain, resyncing;
    open_stage(&s, 0);
    listen(&plain, &s, NULL);
    listen(&resyncing, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 100000000));
    start(&s);
    play_each(&s, LISTED "\nerror 500\nwait 1600\n" LISTED);
    expect(&plain, "+a=5i +b=6i synced");
    expect(&resyncing, "+a=5i +b=6i synced ~a=5>5r ~b=6>6r");
    close_stage(&s);
}

/* After a restore from a backup a resource version is given a second time. */
static void a_relist_with_another_content_is_an_update_whatever_its_version(void **state) {
    (void)state;
    stage s;
    hearer h;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    start(&s);
    play_each(&s, LISTED "\nerror 500\nwait 1600");
    expect(&h, "+a=5i +b=6i synced");
    ki_object *obj = make_object_from_json("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":"
                                           "\"default\",\"name\":\"a\",\"uid\":\"default/a-uid\",\"resourceVersion\":"
                                           "\"5\"},\"data\":{\"another\":\"history\"}}");
    s.source.list.on_object(obj, s.source.list.user);
    ki_object_unref(obj);
    play_each(&s, "item default/b 6\npage 10 -\nopen");
    expect(&h, "~a=5>5");
    close_stage(&s);
}

static void another_object_under_the_same_name_is_a_delete_and_an_add(void **state) {
    (void)state;
    stage s;
    hearer h, latest;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    listen(&latest, &s, &KI_REGISTRATION_OPTIONS(.delivery = KI_DELIVER_LATEST));
    start(&s);
    play_each(&s, LISTED);
    expect(&h, "+a=5i +b=6i synced");
    expect(&latest, "+a=5i +b=6i synced");
    play_each(&s, "error 410\nwait 1600\nitem default/a 20 other\nitem default/b 6\npage 22 -\nopen");
    expect(&h, "-a=5? +a=20");
    expect(&latest, "-a=5? +a=20");
    play_each(&s, "mod default/a 23 third");
    expect(&h, "-a=20? +a=23");
    expect(&latest, "-a=20? +a=23");
    close_stage(&s);
}

static void repeated_and_older_events_are_dropped(void **state) {
    (void)state;
    stage s;
    hearer h;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    start(&s);
    play_each(&s, "item default/a 50\npage 50 -\nopen");
    expect(&h, "+a=50i synced");
    play_each(&s, "add default/a 50\nmod default/a 49\nadd default/a 40 before\ndel default/a 41 before\nmod default/a "
                  "51\nmod default/a 51");
    expect(&h, "~a=50>51");
    play_each(&s, "mod default/z not-a-number\nmod default/z neither");
    expect(&h, "+z=not-a-number ~z=not-a-number>neither");
    play_each(&s, "del default/nobody 70\ndel default/a 51");
    expect(&h, "-a=51");
    close_stage(&s);
}

static void an_empty_list_is_synced_at_once(void **state) {
    (void)state;
    static const char *const pages[] = { "page 10 -", "page - -" }; /* also where it has no version */
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        stage s;
        hearer h;
        open_stage(&s, 0);
        listen(&h, &s, NULL);
        start(&s);
        play_each(&s, pages[i]);
        expect(&h, "synced");
        assert_true(ki_informer_has_synced(s.informer));
        close_stage(&s);
    }
}

static void the_store_knows_where_it_is(void **state) {
    (void)state;
    stage s;
    open_stage(&s, 0);
    start(&s);
    static const char *const plays[] = { LISTED, "mod default/a 11", "bookmark 20", "del default/a 21" };
    static const char *const versions[] = { "10", "11", "20", "21" };
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        play_each(&s, plays[i]);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        assert_string_equal(ki_snapshot_resource_version(snapshot), versions[i]);
        ki_snapshot_free(snapshot);
    }
    close_stage(&s);
}

static void an_object_and_its_version_appear_at_one_moment(void **state) {
    (void)state;
    stage s;
    open_stage(&s, 0);
    start(&s);
    play_each(&s, LISTED);
    play(&s, "mod default/a 11\nmod default/b 12");
    for (bool busy = true; busy;) {
        assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        const char *version = ki_snapshot_resource_version(snapshot);
        const char *a = ki_object_resource_version(ki_snapshot_get(snapshot, "default/a"));
        const char *b = ki_object_resource_version(ki_snapshot_get(snapshot, "default/b"));
        assert_int_equal(strcmp(version, "12") == 0, strcmp(a, "11") == 0 && strcmp(b, "12") == 0);
        ki_snapshot_free(snapshot);
        busy = ki_engine_timeout(s.engine.engine) == 0;
    }
    close_stage(&s);
}

/* --- late handlers --------------------------------------------------------------------------------------------------------------------- */

static void a_late_handler_hears_of_what_is_there_then_of_changes(void **state) {
    (void)state;
    stage s;
    hearer h;
    open_stage(&s, 0);
    start(&s);
    play_each(&s, LISTED "\nadd default/c 11");
    listen(&h, &s, NULL);
    assert_int_equal(ki_registration_pending(h.registration), 3);
    play(&s, "mod default/a 12\ndel default/b 13"); /* before it has been told anything */
    settle(&s);
    assert_int_equal(ki_registration_pending(h.registration), 0);
    assert_true(ki_registration_has_synced(h.registration));
    char *changes = strstr(h.heard, "synced");
    assert_non_null(changes);
    assert_string_equal(changes, "synced ~a=5>12 -b=13");
    *(changes - 1) = '\0';
    expect_any_order(&h, "+a=5i +b=6i +c=11i");
    close_stage(&s);
}

static void a_handler_added_while_the_list_is_applied_misses_nothing(void **state) {
    (void)state;
    for (int steps = 0; steps < 40; steps++) {
        stage s;
        hearer h;
        open_stage(&s, 0);
        start(&s);
        play(&s, "item default/a 5\nitem default/b 6\npage 10 -");
        for (int i = 0; i < steps; i++)
            assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        listen(&h, &s, steps % 2 ? &KI_REGISTRATION_OPTIONS(.delivery = KI_DELIVER_LATEST) : NULL);
        settle(&s);
        assert_true(ki_registration_has_synced(h.registration));
        assert_non_null(strstr(h.heard, "synced"));
        assert_int_equal(strlen(strstr(h.heard, "synced")), strlen("synced")); /* the last */
        expect_any_order(&h, "+a=5i +b=6i synced");
        close_stage(&s);
    }
}

/* --- removal ----------------------------------------------------------------------------------------------------------------------------- */

static void a_removed_handler_hears_no_more(void **state) {
    (void)state;
    stage s;
    hearer h, other;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    listen(&other, &s, NULL);
    start(&s);
    play_each(&s, LISTED);
    play(&s, "mod default/a 11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_OK);
    settle(&s);
    expect(&h, "+a=5i +b=6i synced removed");
    expect(&other, "+a=5i +b=6i synced ~a=5>11");
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    close_stage(&s);
    expect(&h, "");
}

static void a_handler_may_be_removed_from_inside_any_call(void **state) {
    (void)state;
    static const char *const all = "+a=5i +b=6i synced ~a=5>11 -a=12 ";
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        for (const char *at = all; at; at = *at ? strchr(at, ' ') + 1 : NULL) {
            stage s;
            hearer h;
            char expected[TEXT];
            int length = (int)(at - all);
            open_stage(&s, 0);
            listen(&h, &s, &KI_REGISTRATION_OPTIONS(.delivery = (ki_delivery)delivery));
            h.removes_itself = length == 0;
            start(&s);
            static const char *const lines[] = { "item default/a 5", "item default/b 6", "page 10 -", "open",
                                                 "mod default/a 11", "del default/a 12" };
            for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
                play(&s, lines[i]);
                while (ki_engine_timeout(s.engine.engine) == 0) {
                    assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
                    if ((int)strlen(h.heard) + 1 == length && !h.removed)
                        h.removes_itself = true;
                }
            }
            const char *end = *at ? strchr(at, ' ') : at;
            snprintf(expected, sizeof expected, "%.*s%s", (int)(end - all), all, *at ? " removed" : "");
            if (!*at) {
                h.heard[length - 1] = '\0';
                snprintf(expected, sizeof expected, "%.*s", length - 1, all);
            }
            assert_string_equal(h.heard, expected);
            h.removes_itself = false;
            close_stage(&s);
            assert_int_equal(h.removed, 1);
        }
    }
}

static void a_handler_may_remove_another_one(void **state) {
    (void)state;
    stage s;
    hearer first, second;
    open_stage(&s, 0);
    listen(&first, &s, NULL);
    listen(&second, &s, NULL);
    start(&s);
    play_each(&s, LISTED);
    first.removes = second.registration;
    play_each(&s, "mod default/a 11\nmod default/a 12");
    expect(&first, "+a=5i +b=6i synced ~a=5>11 ~a=11>12");
    expect(&second, "+a=5i +b=6i synced removed");
    close_stage(&s);
}

static void a_handler_may_be_removed_before_the_start_and_after_the_end(void **state) {
    (void)state;
    stage s;
    hearer early, never, late;
    open_stage(&s, 0);
    listen(&early, &s, NULL);
    listen(&never, &s, NULL);
    listen(&late, &s, NULL);
    assert_int_equal(ki_informer_remove_handler(s.informer, early.registration, NULL), KI_OK);
    settle(&s);
    expect(&early, "removed");
    assert_int_equal(ki_informer_remove_handler(s.informer, never.registration, NULL), KI_OK);
    ki_informer_stop(s.informer);
    settle(&s);
    assert_int_equal(ki_informer_remove_handler(s.informer, late.registration, NULL), KI_OK);
    settle(&s);
    expect(&never, "");
    expect(&late, "");
    assert_int_equal(ki_informer_add_handler(s.informer, &hearing, &late, NULL), KI_ERR_STATE);
    close_stage(&s);
    expect(&never, "removed");
    expect(&late, "removed");
}

static void a_handler_of_another_informer_is_not_found(void **state) {
    (void)state;
    stage s, other;
    hearer h;
    open_stage(&s, 0);
    open_stage(&other, 0);
    listen(&h, &other, NULL);
    assert_int_equal(ki_informer_remove_handler(s.informer, h.registration, NULL), KI_ERR_NOT_FOUND);
    close_stage(&s);
    close_stage(&other);
}

/* --- resync ------------------------------------------------------------------------------------------------------------------------------ */

static void each_listener_has_its_own_resync_period(void **state) {
    (void)state;
    stage s;
    hearer two, three, none;
    open_stage(&s, 0);
    listen(&two, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 2000));
    listen(&three, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = 3000));
    listen(&none, &s, NULL);
    start(&s);
    play_each(&s, "item default/a 5\npage 10 -\nopen");
    expect(&two, "+a=5i synced");
    expect(&three, "+a=5i synced");
    /* The informer looks every two seconds: 3 s are over at the second look. */
    play(&s, "wait 1999");
    expect(&two, "");
    play(&s, "wait 1");
    expect(&two, "~a=5>5r");
    expect(&three, "");
    play(&s, "wait 2000");
    expect(&two, "~a=5>5r");
    expect(&three, "~a=5>5r");
    expect(&none, "+a=5i synced");
    close_stage(&s);
}

typedef struct period_case {
    int64_t informer_ms, before_ms, after_ms;
    int first_ms; /* the informer looks */
    bool before_hears, after_hears;
} period_case;

static void resync_periods_are_lowered_before_the_start_and_raised_after(void **state) {
    (void)state;
    static const period_case cases[] = {
        { 0, 0, 0, 10000, false, false },    { 5000, 0, 0, 5000, true, true },     { 5000, 1000, 0, 1000, true, false },
        { 5000, 0, 1000, 5000, true, true }, { 5000, -1, -1, 5000, false, false }, { 0, 1500, 0, 1500, true, false },
        { 0, 0, 2000, 10000, false, false }, { 0, 1, 0, 1000, true, false }, /* one second is the least */
        { 5000, 1, 1, 1000, true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const period_case *c = &cases[i];
        stage s;
        hearer before, after;
        open_stage(&s, c->informer_ms);
        listen(&before, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = c->before_ms));
        start(&s);
        listen(&after, &s, &KI_REGISTRATION_OPTIONS(.resync_ms = c->after_ms));
        play_each(&s, "item default/a 5\npage 10 -\nopen");
        expect(&before, "+a=5i synced");
        expect(&after, "+a=5i synced");
        assert_true(test_engine_advance(&s.engine, c->first_ms - 1));
        expect(&before, "");
        expect(&after, "");
        assert_true(test_engine_advance(&s.engine, 1));
        expect(&before, c->before_hears ? "~a=5>5r" : "");
        expect(&after, c->after_hears ? "~a=5>5r" : "");
        close_stage(&s);
    }
}

/* --- latest, filter, transform ------------------------------------------------------------------------------------------------------------ */

static void latest_keeps_one_change_for_each_key(void **state) {
    (void)state;
    static const struct {
        const char *play, *heard;
    } cases[] = {
        { "mod default/a 11\nmod default/a 12", "~a=5>12" },
        { "mod default/a 11\ndel default/a 12", "-a=12" },
        { "del default/a 12\nadd default/a 13 other", "-a=5? +a=13" },
        { "del default/a 12\nadd default/a 13", "~a=5>13" },
        { "add default/c 11\nmod default/c 12", "+c=12" },
        { "add default/c 11\ndel default/c 12", "" },
        { "add default/c 11\ndel default/c 12\nadd default/c 13", "+c=13" },
        { "del default/a 12\nadd default/a 13 other\ndel default/a 14 other", "-a=5?" },
        { "mod default/a 11\nmod default/b 12\nmod default/a 13\nadd default/d 14", "~a=5>13 ~b=6>12 +d=14" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        hearer h;
        open_stage(&s, 0);
        listen(&h, &s, &KI_REGISTRATION_OPTIONS(.delivery = KI_DELIVER_LATEST));
        start(&s);
        play_each(&s, LISTED);
        expect(&h, "+a=5i +b=6i synced");
        play(&s, cases[i].play);
        settle(&s); /* one item in the queue: the deltas reach the listener together */
        expect(&h, cases[i].heard);
        close_stage(&s);
    }
}

static bool is_odd(const ki_object *obj, void *user) {
    (void)user;
    return atoi(ki_object_resource_version(obj)) % 2 == 1;
}

static void a_filter_turns_updates_into_adds_and_deletes(void **state) {
    (void)state;
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        stage s;
        hearer h = { .stage = &s };
        open_stage(&s, 0);
        ki_handler handler = hearing;
        handler.filter = is_odd;
        assert_int_equal(ki_informer_register(s.informer, &handler, &h,
                                              &KI_REGISTRATION_OPTIONS(.delivery = (ki_delivery)delivery),
                                              &h.registration, NULL),
                         KI_OK);
        start(&s);
        play_each(&s, LISTED);
        expect(&h, "+a=5i synced");
        play_each(&s, "mod default/a 11\nmod default/a 12\nmod default/a 14\nmod default/a 15\ndel default/a 17\n"
                      "mod default/b 18\ndel default/b 20\nadd default/c 22\nadd default/d 23");
        expect(&h, "~a=5>11 -a=11 +a=15 -a=17 +d=23");
        close_stage(&s);
    }
}

static ki_status note_version(ki_object *obj, ki_object **ret_obj, void *user) {
    int *calls = user;
    ++*calls;
    if (strcmp(ki_object_name(obj), "bad") == 0)
        return KI_ERR_INVALID;
    char json[TEXT];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"resourceVersion\":\"%s\",\"uid\":\"%s\"},"
             "\"data\":{\"seen\":\"%s\"}}",
             ki_object_name(obj), ki_object_resource_version(obj), ki_object_uid(obj), ki_object_resource_version(obj));
    *ret_obj = make_object_from_json(json);
    return KI_OK;
}

static void a_transform_changes_what_is_stored(void **state) {
    (void)state;
    stage s;
    hearer h;
    int calls = 0;
    open_stage(&s, 0);
    listen(&h, &s, NULL);
    assert_int_equal(ki_informer_set_transform(s.informer, note_version, &calls, NULL), KI_OK);
    start(&s);
    play_each(&s, LISTED "\nadd default/bad 11\nmod default/a 12");
    expect(&h, "+a=5i +b=6i synced ~a=5>12");
    assert_int_equal(calls, 4);
    assert_string_equal(s.errors, "invalid argument:default/bad");
    ki_object *a = ki_informer_get(s.informer, "default/a");
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_field(a, "data.seen", &value, NULL), KI_OK);
    assert_string_equal(value.text, "12");
    ki_value_clear(&value);
    ki_object_unref(a);
    ki_health health;
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.set_aside, 1);
    close_stage(&s);
}

static ki_status index_but_b(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    if (strcmp(ki_object_name(obj), "b") == 0 || strcmp(ki_object_name(obj), "c") == 0)
        return KI_ERR_INVALID;
    return ki_index_values_add(values, "value");
}

static void an_index_function_that_fails_is_reported(void **state) {
    (void)state;
    stage s;
    const ki_indexer early = { .name = "early", .index = index_but_b }, late = { .name = "late", .index = index_but_b };
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_indexers(s.informer, &early, 1, NULL), KI_OK);
    assert_int_equal(ki_informer_add_indexers(s.informer, &early, 1, NULL), KI_ERR_EXISTS);
    start(&s);
    play_each(&s, LISTED);
    assert_string_equal(s.errors, "invalid argument:default/b");
    play_each(&s, "add default/c 11");
    s.errors[0] = '\0';
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_OK);
    assert_string_equal(s.errors, "");
    settle(&s); /* on the loop, once for all objects */
    assert_non_null(strstr(s.errors, "invalid argument:default/"));
    assert_null(strchr(strchr(s.errors, ':'), ' '));
    ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
    assert_int_equal(ki_snapshot_count_by_index(snapshot, "late", "value"), 1);
    ki_snapshot_free(snapshot);
    ki_informer_stop(s.informer);
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_ERR_STATE);
    close_stage(&s);
}

/* --- life and health ------------------------------------------------------------------------------------------------------------------------ */

static void what_must_be_set_before_the_start_is_refused_afterwards(void **state) {
    (void)state;
    stage s;
    int calls = 0;
    open_stage(&s, 0);
    start(&s);
    assert_int_equal(ki_informer_set_transform(s.informer, note_version, &calls, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_set_watch_error_handler(s.informer, on_error, &s, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_set_state_handler(s.informer, on_state, &s, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_start(s.informer, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_wait_for_sync(s.informer, 0, NULL), KI_ERR_DEADLOCK);
    ki_informer_stop(s.informer);
    assert_int_equal(ki_informer_start(s.informer, NULL), KI_ERR_STATE);
    close_stage(&s);
}

static void health_tells_what_and_why(void **state) {
    (void)state;
    stage s;
    ki_health health;
    open_stage(&s, 0);
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.state, KI_STATE_NOT_STARTED);
    start(&s);
    play_each(&s, "item default/a 5\npage 10 t 9");
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.state, KI_STATE_LISTING);
    assert_int_equal(health.listed, 1);
    assert_int_equal(health.list_total, 10);
    assert_int_equal(health.retry_in_ms, -1);
    play_each(&s, "fail 403");
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.state, KI_STATE_BLOCKED);
    assert_int_equal(health.cause.http_status, 403);
    assert_in_range(health.retry_in_ms, 799, 1600);
    assert_true(test_engine_advance(&s.engine, 500));
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.since_ms, 500);
    play_each(&s, "wait 1100\n" LISTED);
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_int_equal(health.objects, 2);
    assert_int_equal(health.cause.code, KI_OK);
    close_stage(&s);
}

static void an_informer_can_be_stopped_at_every_point(void **state) {
    (void)state;
    bool goes_on = true;
    for (int steps = 0; goes_on; steps++) {
        stage s;
        hearer h, inside;
        open_stage(&s, 1000);
        listen(&h, &s, NULL);
        listen(&inside, &s, &KI_REGISTRATION_OPTIONS(.delivery = KI_DELIVER_LATEST));
        start(&s);
        static const char *const lines[] = { "item default/a 5", "item default/b 6", "page 10 -", "open",
                                             "mod default/a 11", "error 500",        "wait 1600" };
        int left = steps;
        for (size_t i = 0; i < sizeof lines / sizeof *lines && left > 0; i++) {
            play(&s, lines[i]);
            while (left > 0 && ki_engine_timeout(s.engine.engine) == 0) {
                assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
                left--;
            }
        }
        goes_on = left == 0;
        ki_informer_stop(s.informer);
        char heard[TEXT];
        strcpy(heard, h.heard);
        settle(&s);
        assert_string_equal(h.heard, heard); /* nothing any more */
        close_stage(&s);
        assert_int_equal(h.removed, 1);
        assert_int_equal(inside.removed, 1);
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------------------------------ */

/* The engine's memory fails at one allocation, or from there on until a minute is over. The objects are malloc's. */
typedef struct memory_case {
    size_t fail_at;
    bool for_a_minute;
    bool streaming;
} memory_case;

/* What the source has now: as the list of the one who asks, or at the beginning of the stream. */
static void answer_list(stage *s, bool changed) {
    const char *verb = s->source.lists ? "item" : "add";
    const char *objects[] = { changed ? "default/a 11" : "default/a 5", changed ? "default/c 13" : "default/b 6" };
    char line[TEXT];
    if (s->source.watches)
        play(s, "open");
    for (size_t i = 0; i < 2 && (s->source.lists || s->source.watches); i++) {
        snprintf(line, sizeof line, "%s %s", verb, objects[i]);
        play(s, line);
    }
    if (s->source.lists)
        play(s, changed ? "page 13 -" : "page 10 -");
    else if (s->source.watches)
        play(s, changed ? "initial-end 13" : "initial-end 10");
    s->source.streams = false;
}

static void memory_play(stage *s, scarce_memory *memory) {
    static const char *const lines[] = { "open", "mod default/a 11", "del default/b 12", "add default/c 13" };
    enum {
        LINES = sizeof lines / sizeof *lines
    };
    size_t done = 0;
    for (int minute = 0; minute < 20; minute++) {
        for (bool more = true; more;) {
            bool list = s->source.lists || (s->source.watches && s->source.streams);
            more = list || (s->source.watches && done < LINES);
            if (list)
                answer_list(s, done > 1);
            else if (more)
                play(s, lines[done++]);
            /* Where the watch was lost with this event the list has it, and those after it. */
            if (done > 1 && !s->source.watches)
                done = LINES;
            settle(s);
        }
        assert_true(test_engine_advance(&s->engine, 60000));
        if (memory->forever && scarce_memory_failed(memory))
            memory->fail_at = SIZE_MAX;
    }
}

static void check_memory_story(const hearer *h) {
    assert_non_null(strstr(h->heard, "synced"));
    assert_true(strstr(h->heard, "a=11") || strstr(h->heard, ">11"));
    assert_non_null(strstr(h->heard, "+c=13"));
    assert_int_equal(strstr(h->heard, "+b=6") != NULL, strstr(h->heard, "-b=") != NULL);
}

static bool memory_scenario(memory_case c) {
    stage s;
    hearer h = { .stage = &s }, latest = { .stage = &s };
    scarce_memory memory;
    memset(&s, 0, sizeof s);
    scarce_memory_init(&memory, c.fail_at);
    memory.forever = c.for_a_minute;
    fake_init(&s.source);
    ki_shared_informer_options options = {
        .list_watch = &s.source.base, .resource = &configmaps, .in_order = in_order, .no_streaming_list = !c.streaming
    };
    ki_status status = test_engine_open(&s.engine, &memory.allocator, 1) ? KI_OK : KI_ERR_NO_MEMORY;
    if (status)
        goto no_engine;
    settle(&s);
    options.engine = s.engine.engine;
    status = ki_informer_new(&options, &s.informer, NULL);
    if (status)
        goto no_informer;
    status = ki_informer_register(s.informer, &hearing, &h, NULL, &h.registration, NULL);
    if (!status)
        status =
            ki_informer_register(s.informer, &hearing, &latest, &KI_REGISTRATION_OPTIONS(.delivery = KI_DELIVER_LATEST),
                                 &latest.registration, NULL);
    if (!status)
        status = ki_informer_start(s.informer, NULL);
    if (!status) {
        memory_play(&s, &memory);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        assert_int_equal(ki_snapshot_count(snapshot), 2);
        assert_string_equal(ki_object_resource_version(ki_snapshot_get(snapshot, "default/a")), "11");
        assert_string_equal(ki_object_resource_version(ki_snapshot_get(snapshot, "default/c")), "13");
        assert_string_equal(ki_snapshot_resource_version(snapshot), "13");
        ki_snapshot_free(snapshot);
        check_memory_story(&h);
        check_memory_story(&latest);
        ki_health health;
        ki_informer_health(s.informer, &health);
        assert_int_equal(health.cause.code, KI_OK);
    }
    ki_informer_stop(s.informer);
    ki_informer_join(s.informer);
    ki_informer_free(s.informer);
    assert_int_equal(h.removed, h.registration != NULL);
    assert_int_equal(latest.removed, latest.registration != NULL);
no_informer:
    test_engine_close(&s.engine);
no_engine:
    assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return memory.forever ? memory.fail_at == SIZE_MAX || status != KI_OK : scarce_memory_failed(&memory);
}

static void no_change_is_lost_whatever_allocation_fails(void **state) {
    (void)state;
    for (size_t n = 0; memory_scenario((memory_case){ n, false, false }); n++) {}
    for (size_t n = 0; memory_scenario((memory_case){ n, false, true }); n++) {}
}

static void no_change_is_lost_when_memory_is_short_for_a_while(void **state) {
    (void)state;
    for (size_t n = 0; memory_scenario((memory_case){ n, true, false }); n++) {}
    for (size_t n = 0; memory_scenario((memory_case){ n, true, true }); n++) {}
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_hears_of_the_list_then_of_changes),
        cmocka_unit_test(changes_of_one_key_come_in_order_after_the_store),
        cmocka_unit_test(a_relist_tells_the_difference),
        cmocka_unit_test(a_relist_of_what_is_known_is_a_resync),
        cmocka_unit_test(a_relist_with_another_content_is_an_update_whatever_its_version),
        cmocka_unit_test(another_object_under_the_same_name_is_a_delete_and_an_add),
        cmocka_unit_test(repeated_and_older_events_are_dropped),
        cmocka_unit_test(an_empty_list_is_synced_at_once),
        cmocka_unit_test(the_store_knows_where_it_is),
        cmocka_unit_test(an_object_and_its_version_appear_at_one_moment),
        cmocka_unit_test(a_late_handler_hears_of_what_is_there_then_of_changes),
        cmocka_unit_test(a_handler_added_while_the_list_is_applied_misses_nothing),
        cmocka_unit_test(a_removed_handler_hears_no_more),
        cmocka_unit_test(a_handler_may_be_removed_from_inside_any_call),
        cmocka_unit_test(a_handler_may_remove_another_one),
        cmocka_unit_test(a_handler_may_be_removed_before_the_start_and_after_the_end),
        cmocka_unit_test(a_handler_of_another_informer_is_not_found),
        cmocka_unit_test(each_listener_has_its_own_resync_period),
        cmocka_unit_test(resync_periods_are_lowered_before_the_start_and_raised_after),
        cmocka_unit_test(latest_keeps_one_change_for_each_key),
        cmocka_unit_test(a_filter_turns_updates_into_adds_and_deletes),
        cmocka_unit_test(a_transform_changes_what_is_stored),
        cmocka_unit_test(an_index_function_that_fails_is_reported),
        cmocka_unit_test(what_must_be_set_before_the_start_is_refused_afterwards),
        cmocka_unit_test(health_tells_what_and_why),
        cmocka_unit_test(an_informer_can_be_stopped_at_every_point),
        cmocka_unit_test(no_change_is_lost_whatever_allocation_fails),
        cmocka_unit_test(no_change_is_lost_when_memory_is_short_for_a_while),
    };
    int failed = cmocka_run_group_tests_name("with the delta FIFO", tests, NULL, NULL);
    in_order = true;
    return failed + cmocka_run_group_tests_name("with the in-order queue", tests, NULL, NULL);
}
