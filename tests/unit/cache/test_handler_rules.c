/* test_handler_rules.c: how a handler with a filter is notified of deletions, which adds are of the initial list, and objects without
 * a uid. On a stepped engine; other notifications: test_shared_informer.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/cache/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 1024
};

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    char notes[TEXT]; /* "+a=5i ~a=5>6 -a=6?" as in test_shared_informer.c */
} stage;

__attribute__((format(printf, 2, 3))) static void note(stage *s, const char *format, ...) {
    size_t used = strlen(s->notes);
    if (used)
        s->notes[used++] = ' ';
    va_list args;
    va_start(args, format);
    vsnprintf(s->notes + used, sizeof s->notes - used, format, args);
    va_end(args);
}

static void on_add(const ki_event *e, void *user) {
    note(user, "+%s=%s%s", ki_object_name(e->obj), ki_object_resource_version(e->obj),
         e->is_in_initial_list ? "i" : "");
}

static void on_update(const ki_event *e, void *user) {
    note(user, "~%s=%s>%s%s", ki_object_name(e->obj), ki_object_resource_version(e->old),
         ki_object_resource_version(e->obj), e->is_resync ? "r" : "");
}

static void on_delete(const ki_event *e, void *user) {
    assert_null(e->old);
    note(user, "-%s=%s%s", ki_object_name(e->obj), ki_object_resource_version(e->obj),
         e->final_state_unknown ? "?" : "");
}

static void on_synced(ki_informer *informer, void *user) {
    (void)informer;
    note(user, "synced");
}

static bool is_odd(const ki_object *obj, void *user) {
    (void)user;
    return atoi(ki_object_resource_version(obj)) % 2 == 1;
}

static const ki_handler all = {
    .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced
};
static const ki_handler odd = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .filter = is_odd };

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void make_stage_of(stage *s, const ki_handler *handler, bool streams, int delivery,
                          const ki_allocator *allocator, int64_t resync_ms) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, allocator, 1));
    fake_init(&s->source);
    ki_shared_informer_options options = {
        .engine = s->engine.engine,
        .list_watch = &s->source.base,
        .resource = &configmaps,
        .no_streaming_list = !streams,
        .resync_ns = KI_MILLISECONDS(resync_ms),
    };
    assert_int_equal(ki_informer_new(&options, &s->informer, NULL), KI_OK);
    assert_int_equal(ki_informer_register(s->informer, handler, s,
                                          &KI_REGISTRATION_OPTIONS(.delivery = (ki_delivery)delivery), NULL, NULL),
                     KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

static void make_stage_with(stage *s, const ki_handler *handler, bool streams, int delivery,
                            const ki_allocator *allocator) {
    make_stage_of(s, handler, streams, delivery, allocator, 5000);
}

static void make_stage(stage *s, const ki_handler *handler, bool streams, int delivery) {
    make_stage_with(s, handler, streams, delivery, NULL);
}

static void start(stage *s) {
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

static void open_stage(stage *s, const ki_handler *handler, bool streams, int delivery) {
    make_stage(s, handler, streams, delivery);
    start(s);
}

static void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    test_engine_close(&s->engine);
}

/* "settle" notifies the handler of what was played; without it the source is ahead of informer and handler. */
static void play(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strcmp(line, "settle") == 0)
            assert_true(test_engine_settle(&s->engine));
        else if (strncmp(line, "wait ", 5) == 0)
            assert_true(test_engine_advance(&s->engine, atoi(line + 5)));
        else if (!fake_play(&s->source, line))
            fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
}

typedef struct rule {
    const char *lines, *notes;
} rule;

static void check(const rule *rules, size_t count, const ki_handler *handler) {
    for (size_t i = 0; i < count; i++) {
        for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
            stage s;
            open_stage(&s, handler, false, delivery);
            play(&s, rules[i].lines);
            play(&s, "settle");
            if (strcmp(s.notes, rules[i].notes) != 0)
                fail_msg("%s: heard \"%s\"", rules[i].lines, s.notes);
            close_stage(&s);
        }
    }
}

#define CHECK(rules, handler) check(rules, sizeof(rules) / sizeof *(rules), handler)
#define LISTED "item default/a 5\nitem default/b 6\npage 10 -\nsettle\nopen\nsettle\n"

static void who_was_told_of_an_object_is_told_of_its_deletion_and_nobody_else(void **state) {
    (void)state;
    static const rule rules[] = {
        { LISTED "del default/a 11", "+a=5i -a=11" },
        { LISTED "del default/a 12", "+a=5i -a=5" }, /* its very last state does not match */
        { LISTED "del default/b 12", "+a=5i" },
        { LISTED "del default/b 13", "+a=5i" }, /* matches only now that it is gone */
        { LISTED "mod default/b 13\nsettle\ndel default/b 14", "+a=5i +b=13 -b=13" },
        { LISTED "mod default/a 12\nsettle\ndel default/a 13", "+a=5i -a=5" },
        { LISTED "error 410\nwait 1600\npage 12 -", "+a=5i -a=5?" },
        { LISTED "mod default/a 13 other", "+a=5i -a=5? +a=13" },
        { LISTED "mod default/a 14 other\nsettle\ndel default/a 15 other", "+a=5i -a=5?" },
        { LISTED "mod default/b 13 other\nsettle\ndel default/b 14 other", "+a=5i +b=13 -b=13" },
    };
    CHECK(rules, &odd);
}

static void the_deletion_of_another_object_is_that_of_the_known_one_too(void **state) {
    (void)state;
    static const rule rules[] = {
        { LISTED "del default/a 12 other", "+a=5i +b=6i synced -a=5?" },
        { LISTED "del default/a 12\nsettle\ndel default/a 13", "+a=5i +b=6i synced -a=12" },
    };
    CHECK(rules, &all);
}

static void a_change_on_top_of_a_resync_is_a_change(void **state) {
    (void)state;
    stage s;
    open_stage(&s, &all, true, KI_DELIVER_LATEST);
    play(&s, "open\nadd default/a 5\ninitial-end 10\nsettle\nerror 410\nwait 1600\nopen\nadd default/a 5\n"
             "initial-end 20\nmod default/a 21\nsettle");
    assert_string_equal(s.notes, "+a=5i synced ~a=5>21");
    close_stage(&s);
}

typedef struct counter {
    int resyncs;
} counter;

typedef struct self_remover {
    stage *stage;
    ki_registration registration;
} self_remover;

static bool remove_own_handler(const ki_object *obj, void *user) {
    self_remover *self = user;
    (void)obj;
    if (self->registration.informer)
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->registration, NULL), KI_OK);
    self->registration = (ki_registration){ NULL, 0 };
    return true;
}

static void note_call(const ki_event *e, void *user) {
    self_remover *self = user;
    on_add(e, self->stage);
}

static void note_end(void *user) {
    self_remover *self = user;
    note(self->stage, "removed");
}

static void a_handler_that_its_filter_removes_is_not_called_any_more(void **state) {
    (void)state;
    stage s;
    static const ki_handler silent = { .on_add = NULL };
    const ki_handler handler = { .on_add = note_call, .filter = remove_own_handler, .on_removed = note_end };
    open_stage(&s, &silent, false, KI_DELIVER_ALL);
    self_remover self = { .stage = &s };
    assert_int_equal(ki_informer_register(s.informer, &handler, &self, NULL, &self.registration, NULL), KI_OK);
    play(&s, "item default/a 5\npage 10 -\nsettle");
    play(&s, "open\nadd default/b 11\nsettle");
    assert_string_equal(s.notes, "removed");
    close_stage(&s);
}

static void count_resyncs(const ki_event *e, void *user) {
    counter *self = user;
    self->resyncs += e->is_resync;
}

static void listen(stage *s, counter *c, int64_t resync_ms) {
    static const ki_handler counting = { .on_update = count_resyncs };
    c->resyncs = 0;
    assert_int_equal(
        ki_informer_register(s->informer, &counting, c, &KI_REGISTRATION_OPTIONS(.resync_ms = resync_ms), NULL, NULL),
        KI_OK);
}

/* The informer looks each 2 s once somebody has asked for that before the start. */
static void each_period_counts_from_the_last_resync_and_never_less_than_the_informers(void **state) {
    (void)state;
    static const int expected[][4] = {
        /* at second: two, three, late */
        { 1, 0, 0, 0 }, { 2, 1, 0, 0 }, { 3, 1, 0, 0 }, { 4, 2, 1, 0 },  { 5, 2, 1, 0 },  { 6, 3, 1, 0 },
        { 7, 3, 1, 0 }, { 8, 4, 2, 1 }, { 9, 4, 2, 1 }, { 10, 5, 2, 2 }, { 11, 5, 2, 2 }, { 12, 6, 3, 3 },
    };
    stage s;
    counter two, three, late;
    make_stage(&s, &all, false, KI_DELIVER_ALL);
    listen(&s, &two, 2000);
    listen(&s, &three, 3000);
    start(&s);
    play(&s, "item default/a 5\npage 10 -\nsettle\nopen\nsettle");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(test_engine_advance(&s.engine, 1000));
        if (i == 4)
            listen(&s, &late, 1000); /* raised to 2 s: not due at 6 s */
        if (two.resyncs != expected[i][1] || three.resyncs != expected[i][2] ||
            (i > 4 && late.resyncs != expected[i][3]))
            fail_msg("at %d s: %d, %d, %d", expected[i][0], two.resyncs, three.resyncs, i > 4 ? late.resyncs : 0);
    }
    close_stage(&s);
}

enum {
    LISTENERS = 4
};

/* Whoever wants to be reminded more often makes the informer look more often; each one's own period stays. */
static void a_listener_s_period_is_its_own_however_often_the_informer_looks(void **state) {
    (void)state;
    static const struct {
        int64_t informer_ms, listener_ms[LISTENERS]; /* -1: never */
        int seconds;
        int resyncs[LISTENERS]; /* by then */
    } cases[] = {
        { 1000, { -1, 2000, 3000, -1 }, 1, { 0, 0, 0, 0 } },
        { 1000, { -1, 2000, 3000, -1 }, 2, { 0, 1, 0, 0 } },
        { 1000, { -1, 2000, 3000, -1 }, 3, { 0, 1, 1, 0 } },
        { 1000, { -1, 2000, 3000, -1 }, 6, { 0, 3, 2, 0 } },
        { 43200000, { -1, -1, -1, -1 }, 43200, { 0, 0, 0, 0 } },
        { 43200000, { -1, 60000, -1, -1 }, 120, { 0, 2, 0, 0 } },
        { 43200000, { -1, 60000, 55000, -1 }, 55, { 0, 0, 1, 0 } },
        { 43200000, { -1, 60000, 55000, 5000 }, 54, { 0, 0, 0, 10 } },
        { 43200000, { -1, 60000, 55000, 5000 }, 59, { 0, 0, 1, 11 } },
        { 43200000, { -1, 60000, 55000, 5000 }, 120, { 0, 2, 2, 24 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        counter listeners[LISTENERS];
        make_stage_of(&s, &all, false, KI_DELIVER_ALL, NULL, cases[i].informer_ms);
        for (int l = 0; l < LISTENERS; l++)
            listen(&s, &listeners[l], cases[i].listener_ms[l]);
        start(&s);
        play(&s, "item default/a 5\npage 10 -\nsettle\nopen\nsettle");
        assert_true(test_engine_advance(&s.engine, (int64_t)cases[i].seconds * 1000));
        for (int l = 0; l < LISTENERS; l++)
            if (listeners[l].resyncs != cases[i].resyncs[l])
                fail_msg("case %zu, listener %d: %d resyncs", i, l, listeners[l].resyncs);
        close_stage(&s);
    }
}

/* One unit of work, `ms` later. */
static void step_late(stage *s, int64_t ms) {
    s->engine.now += KI_MILLISECONDS(ms);
    assert_int_equal(ki_engine_step(s->engine.engine, 1, NULL), KI_OK);
}

static void a_resync_that_is_late_is_not_lost_to_the_next(void **state) {
    (void)state;
    stage s;
    counter one, two;
    make_stage(&s, &all, false, KI_DELIVER_ALL);
    listen(&s, &one, 1000);
    listen(&s, &two, 2000);
    start(&s);
    play(&s, "item default/a 5\nitem default/b 6\nitem default/c 7\npage 10 -\nsettle\nopen\nsettle");
    assert_true(test_engine_advance(&s.engine, 1000));
    assert_int_equal(one.resyncs, 3);
    /* Each unit of work takes so long that the informer's period is over again before all objects had their turn. */
    for (int i = 0; two.resyncs < 3 && i < 100; i++)
        step_late(&s, 600);
    assert_int_equal(two.resyncs, 3);
    assert_true(test_engine_settle(&s.engine));
    assert_true(one.resyncs >= 6);
    assert_int_equal(one.resyncs % 3, 0);
    assert_int_equal(two.resyncs % 3, 0);
    int before = one.resyncs; /* and the next ones come, too */
    assert_true(test_engine_advance(&s.engine, 2000));
    assert_true(one.resyncs >= before + 3);
    close_stage(&s);
}

enum {
    MANY = 1100 /* more objects than the queue keeps room for */
};

static void a_resync_for_which_there_is_no_memory_comes_a_second_later(void **state) {
    (void)state;
    static const ki_handler silent = { .on_add = NULL };
    stage s;
    counter ten;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    make_stage_with(&s, &silent, false, KI_DELIVER_ALL, &memory.allocator);
    listen(&s, &ten, 10000);
    start(&s);
    for (int i = 0; i < MANY; i++) {
        char line[64];
        snprintf(line, sizeof line, "item default/a%d 5", i);
        assert_true(fake_play(&s.source, line));
    }
    play(&s, "page 10 -\nsettle\nopen\nsettle");
    assert_true(test_engine_advance(&s.engine, 9999));
    memory.fail_at = atomic_load(&memory.calls);
    assert_true(test_engine_advance(&s.engine, 1));
    assert_true(scarce_memory_failed(&memory));
    assert_int_equal(ten.resyncs, 0);
    assert_true(test_engine_advance(&s.engine, 1000));
    assert_int_equal(ten.resyncs, MANY);
    close_stage(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

static void an_add_is_of_the_initial_list_only_where_the_object_was_in_it(void **state) {
    (void)state;
    stage s;
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        open_stage(&s, &all, true, delivery);
        play(&s, "open\nadd default/a 5\ninitial-end 10\n"
                 /* before anything of the list has been applied */
                 "del default/a 11\nadd default/a 12 other\nadd default/c 13\nsettle");
        assert_string_equal(s.notes,
                            delivery == KI_DELIVER_ALL ? "+a=5i -a=11 +a=12 synced +c=13" : "+a=12 synced +c=13");
        close_stage(&s);
    }
}

static void an_object_without_a_uid_is_the_one_of_its_name(void **state) {
    (void)state;
    stage s;
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        open_stage(&s, &all, false, delivery);
        play(&s, "item default/a 5\npage 10 -\nsettle\nopen\nsettle");
        ki_object *nameless = fake_object("default/a", "11", "");
        s.source.watch.on_event(KI_CHANGE_MODIFIED, nameless, s.source.watch.user);
        ki_object_unref(nameless);
        play(&s, "settle\nmod default/a 12\nsettle");
        assert_string_equal(s.notes, "+a=5i synced ~a=5>11 ~a=11>12");
        close_stage(&s);
    }
}

static void note_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    (void)informer;
    note(user, "%s(%s)", ki_status_name(cause->code), key);
}

static void what_cannot_be_used_is_told_and_counted_and_the_rest_goes_on(void **state) {
    (void)state;
    stage s;
    ki_health health;
    make_stage(&s, &all, false, KI_DELIVER_ALL);
    assert_int_equal(ki_informer_set_watch_error_handler(s.informer, note_error, &s, NULL), KI_OK);
    start(&s);
    play(&s, "item default/a 5\nbad default/b\npage 10 -\nsettle\nopen\nbad default/c\nwait 1000\nopen\n"
             "bad default/c\nmod default/a 12\nsettle");
    assert_string_equal(s.notes, "malformed(default/b) +a=5i synced malformed() malformed(default/c) ~a=5>12");
    ki_informer_health(s.informer, &health);
    assert_int_equal(health.skipped, 2);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    close_stage(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_told_of_an_object_is_told_of_its_deletion_and_nobody_else),
        cmocka_unit_test(the_deletion_of_another_object_is_that_of_the_known_one_too),
        cmocka_unit_test(a_handler_that_its_filter_removes_is_not_called_any_more),
        cmocka_unit_test(a_change_on_top_of_a_resync_is_a_change),
        cmocka_unit_test(a_resync_that_is_late_is_not_lost_to_the_next),
        cmocka_unit_test(a_resync_for_which_there_is_no_memory_comes_a_second_later),
        cmocka_unit_test(a_listener_s_period_is_its_own_however_often_the_informer_looks),
        cmocka_unit_test(each_period_counts_from_the_last_resync_and_never_less_than_the_informers),
        cmocka_unit_test(an_add_is_of_the_initial_list_only_where_the_object_was_in_it),
        cmocka_unit_test(an_object_without_a_uid_is_the_one_of_its_name),
        cmocka_unit_test(what_cannot_be_used_is_told_and_counted_and_the_rest_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
