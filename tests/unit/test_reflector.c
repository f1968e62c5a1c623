/* test_reflector.c: what the reflector asks of its source and gives to its queue, told as plays. A play is lines: `? TEXT` says what was asked and
 * queued since the last such line; `quiet MS` and `wait MS` move the clock, the first with nothing happening; `state NAME`, `rv TEXT`
 * and `reports TEXT` look at it; anything else is the source's own line (fake_list_watch.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/error.h"
#include "src/cache/reflector.h"
#include "tests/support/fake_list_watch.h"
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
    ki_queue queue;
    ki_status queue_fails; /* the next call of the queue */
    ki_reflector reflector;
    ki_state state;
    char reports[TEXT]; /* statuses, since the last look */
    int bad_objects;
    size_t listed;
    int64_t list_total;
} stage;

/* --- the queue, which writes down what it gets -------------------------------------------------------------------------------- */

static stage *stage_of(ki_queue *queue) {
    return (stage *)(void *)((char *)queue - offsetof(stage, queue));
}

static ki_status note_event(ki_queue *queue, const char *what, ki_object *obj, ki_error *err) {
    stage *s = stage_of(queue);
    char text[TEXT];
    ki_status status = s->queue_fails;
    s->queue_fails = KI_OK;
    if (status)
        return ki_error_set(err, status, "the queue fails");
    snprintf(text, sizeof text, "%s %s=%s", what, ki_object_key(obj), ki_object_resource_version(obj));
    fake_note(&s->source, text);
    return KI_OK;
}

static ki_status queue_add(ki_queue *queue, ki_object *obj, ki_error *err) {
    return note_event(queue, "add", obj, err);
}

static ki_status queue_update(ki_queue *queue, ki_object *obj, ki_error *err) {
    return note_event(queue, "update", obj, err);
}

static ki_status queue_remove(ki_queue *queue, ki_object *obj, ki_error *err) {
    return note_event(queue, "remove", obj, err);
}

static int by_key(const void *a, const void *b) {
    const ki_object *const *left = a, *const *right = b;
    return strcmp(ki_object_key(*left), ki_object_key(*right));
}

static ki_status queue_replace(ki_queue *queue, ki_object *const *objects, size_t count, const char *version,
                               ki_error *err) {
    stage *s = stage_of(queue);
    const ki_object *sorted[16];
    char text[TEXT];
    ki_status status = s->queue_fails;
    s->queue_fails = KI_OK;
    if (status)
        return ki_error_set(err, status, "the queue fails");
    assert_true(count <= 16);
    if (version[0])
        assert_string_not_equal(s->reflector.resource_version, version); /* first the queue, then the version */
    for (size_t i = 0; i < count; i++)
        sorted[i] = objects[i];
    qsort(sorted, count, sizeof *sorted, by_key);
    size_t used = (size_t)snprintf(text, sizeof text, "replace %s:", version);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s", ki_object_key(sorted[i]),
                                 ki_object_resource_version(sorted[i]));
    fake_note(&s->source, text);
    return KI_OK;
}

static const ki_queue_ops queue_ops = {
    .add = queue_add, .update = queue_update, .remove = queue_remove, .replace = queue_replace
};

/* --- what the reflector tells ---------------------------------------------------------------------------------------------------- */

static void on_state(ki_state state, const ki_error *cause, int64_t retry_at, void *user) {
    stage *s = user;
    bool waits = state == KI_STATE_BACKING_OFF || state == KI_STATE_BLOCKED;
    assert_int_equal(waits, cause != NULL);
    assert_int_equal(waits, retry_at >= 0);
    s->state = state;
}

static void on_listed(size_t listed, int64_t total, void *user) {
    stage *s = user;
    s->listed = listed;
    s->list_total = total;
}

static void on_error(const ki_error *err, void *user) {
    stage *s = user;
    size_t used = strlen(s->reports);
    if (err->http_status)
        snprintf(s->reports + used, sizeof s->reports - used, "%s%d", used ? " " : "", err->http_status);
    else
        snprintf(s->reports + used, sizeof s->reports - used, "%s%s", used ? ", " : "", ki_status_name(err->code));
}

static void on_bad_object(const ki_error *err, const char *key, void *user) {
    stage *s = user;
    (void)err;
    assert_string_equal(key, "default/b");
    s->bad_objects++;
}

static void on_progress(void *user) {
    (void)user;
}

/* --- plays ------------------------------------------------------------------------------------------------------------------------- */

static void open_stage(stage *s, ki_reflector_options options, uint64_t seed) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, seed));
    fake_init(&s->source);
    s->queue.ops = &queue_ops;
    options.engine = s->engine.engine;
    options.list_watch = &s->source.base;
    options.queue = &s->queue;
    options.name = "configmaps";
    options.on_state = on_state;
    options.on_listed = on_listed;
    options.on_error = on_error;
    options.on_bad_object = on_bad_object;
    options.on_progress = on_progress;
    options.user = s;
    assert_int_equal(ki_reflector_open(&s->reflector, &options, NULL), KI_OK);
    ki_reflector_start(&s->reflector);
    assert_true(test_engine_settle(&s->engine));
}

static void close_stage(stage *s) {
    ki_reflector_close(&s->reflector);
    ki_reflector_close(&s->reflector);
    assert_false(s->source.lists || s->source.watches);
    test_engine_close(&s->engine);
}

static const char *after(const char *line, const char *word) {
    size_t size = strlen(word);
    return strncmp(line, word, size) == 0 ? line + size : NULL;
}

static void expect(const char *line, const char *is, const char *should_be) {
    if (strcmp(is, should_be) != 0)
        fail_msg("at \"%s\": it is \"%s\"", line, is);
}

static void play_line(stage *s, const char *line) {
    const char *rest;
    if ((rest = after(line, "? "))) {
        expect(line, s->source.trace, strcmp(rest, "-") == 0 ? "" : rest);
        s->source.trace[0] = '\0';
    } else if ((rest = after(line, "quiet "))) {
        assert_true(test_engine_advance(&s->engine, atoi(rest)));
        expect(line, s->source.trace, "");
    } else if ((rest = after(line, "wait "))) {
        assert_true(test_engine_advance(&s->engine, atoi(rest)));
    } else if ((rest = after(line, "state "))) {
        expect(line, ki_state_name(s->state), rest);
    } else if ((rest = after(line, "rv "))) {
        expect(line, s->reflector.resource_version, strcmp(rest, "-") == 0 ? "" : rest);
    } else if ((rest = after(line, "reports "))) {
        expect(line, s->reports, strcmp(rest, "-") == 0 ? "" : rest);
        s->reports[0] = '\0';
    } else if (strcmp(line, "queue fails") == 0) {
        s->queue_fails = KI_ERR_NO_MEMORY;
    } else if (strcmp(line, "refuse") == 0) {
        s->source.refuse = KI_ERR_NO_MEMORY;
    } else if (strcmp(line, "no descriptor") == 0) {
        s->source.refuse = KI_ERR_SYSTEM;
    } else if (!fake_play(&s->source, line)) {
        fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
    assert_true(test_engine_settle(&s->engine));
}

static void play_lines(stage *s, const char *script) {
    char copy[4096];
    char *rest = NULL;
    assert_true(strlen(script) < sizeof copy);
    strcpy(copy, script);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        play_line(s, line);
}

/* With several seeds: jitter must not matter. */
static void play(const char *script, ki_reflector_options options) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        stage s;
        open_stage(&s, options, seed);
        play_lines(&s, script);
        close_stage(&s);
    }
}

static const ki_reflector_options by_pages = { .no_streaming_list = true };
static const ki_reflector_options streaming = { .no_streaming_list = false };

#define LISTED "? list rv=0 limit=500\nitem default/a 5\npage 10 -\n? replace 10: default/a=5; watch rv=10\n"
#define WATCHING LISTED "open\n"
#define STREAMED "? stream\nopen\nadd default/a 5\ninitial-end 10\n? replace 10: default/a=5\n"

/* --- lists ------------------------------------------------------------------------------------------------------------------------- */

static void a_list_is_replaced_then_watched(void **state) {
    (void)state;
    play("state connecting\n? list rv=0 limit=500\nrv -\n"
         "item default/a 5\nstate listing\nitem default/b 6\npage 10 -\n"
         "? replace 10: default/a=5 default/b=6; watch rv=10\nrv 10\nstate connecting\n"
         "open\nstate watching\nadd default/c 11\nmod default/a 12\ndel default/b 13\n"
         "? add default/c=11; update default/a=12; remove default/b=13\nrv 13\n"
         "bookmark 20\nrv 20\n? -\nreports -",
         by_pages);
}

static void pages_carry_only_the_token_and_the_limit(void **state) {
    (void)state;
    play("? list rv=0 limit=500\nitem default/a 5\npage 10 t1 7\n? list continue=t1 limit=500\n"
         "page 11 t2\n? list continue=t2 limit=500\nitem default/b 6\npage 12 -\n"
         "? replace 10: default/a=5 default/b=6; watch rv=10",
         by_pages);
}

static void the_user_s_page_size_wins(void **state) {
    (void)state;
    play("? list rv=0 limit=7\npage 10 -\n? replace 10:; watch rv=10\nopen\nadd default/a 11\n? add "
         "default/a=11\nerror 500\n"
         "? -\nwait 1600\n? list rv=11 limit=7",
         (ki_reflector_options){ .no_streaming_list = true, .page_size = 7 });
}

static void a_relist_at_a_known_version_is_in_one_piece(void **state) {
    (void)state;
    play(WATCHING "error 500\nreports 500\nwait 1600\n? list rv=10", by_pages);
}

static void a_server_that_paged_at_0_is_asked_by_pages_ever_after(void **state) {
    (void)state;
    play("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\npage 10 -\n? replace 10:; watch rv=10\n"
         "open\nerror 500\nwait 1600\n? list rv=10 limit=500",
         by_pages);
}

static void that_it_paged_at_0_is_remembered_though_the_token_expired(void **state) {
    (void)state;
    play("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\nfail 410\n? list rv=0\npage 12 -\n"
         "? replace 12:; watch rv=12\nopen\nadd default/a 13\n? add default/a=13\nerror 500\nwait 3200\n"
         "? list rv=13 limit=500",
         by_pages);
}

static void a_page_that_leads_to_itself_is_an_error(void **state) {
    (void)state;
    play("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\npage 10 t\n? -\n"
         "reports protocol violation\nquiet 799\nwait 801\n? list rv=0 limit=500",
         by_pages);
}

static void empty_pages_without_end_are_an_error(void **state) {
    (void)state;
    stage s;
    open_stage(&s, by_pages, 1);
    play_lines(&s, "? list rv=0 limit=500\nitem default/a 5\npage 10 t0");
    for (int i = 1; i <= 101; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, "? list continue=t%d limit=500\npage 10 t%d", i - 1, i);
        play_lines(&s, script);
    }
    play_lines(&s, "? -\nreports protocol violation\nquiet 799\nwait 801\n? list rv=0 limit=500");
    close_stage(&s);
}

static void pages_of_one_object_without_end_are_an_error_and_wait(void **state) {
    (void)state;
    stage s;
    open_stage(&s, by_pages, 1);
    play_lines(&s, "? list rv=0 limit=500\nitem default/a 5\npage 10 t0");
    for (int i = 1; i <= 1000; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, "? list continue=t%d limit=500\nitem default/a%d 5\npage 10 t%d", i - 1, i, i);
        play_lines(&s, script);
    }
    play_lines(&s, "? -\nreports protocol violation\nquiet 799\nwait 801\n? list rv=0 limit=500");
    close_stage(&s);
}

static void a_token_that_expires_makes_one_full_list(void **state) {
    (void)state;
    play("? list rv=0 limit=500\nitem default/a 5\npage 10 t\n? list continue=t limit=500\nfail 410\n"
         "? list rv=0\nreports 410\nitem default/b 6\npage 12 -\n? replace 12: default/b=6; watch rv=12",
         by_pages);
}

static void a_full_list_that_expires_too_lists_the_latest(void **state) {
    (void)state;
    play("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\nfail 410\n"
         "? list rv=0\nfail 410\n? list limit=500\nfail 410\n? -\nreports 410 410 410\nquiet 799\nwait 801\n? list "
         "limit=500\n"
         "page 12 -\n? replace 12:; watch rv=12\nopen\nadd default/a 13\nerror 500\nwait 3200\n? add default/a=13; "
         "list rv=13",
         by_pages);
}

static void a_full_list_that_comes_in_pages_all_the_same_makes_no_loop(void **state) {
    (void)state;
    play("? list rv=0 limit=500\npage 10 t\n? list continue=t limit=500\nfail 410\n? list rv=0\npage 10 u\n"
         "? list continue=u\nfail 410\n? list limit=500\npage 11 v\n? list continue=v limit=500\nfail 410\n? list\n"
         "page 12 w\n? list continue=w\nfail 410\n? -\nquiet 799\nwait 801\n? list limit=500",
         by_pages);
}

static void an_unavailable_version_lists_the_latest_at_once(void **state) {
    (void)state;
    static const char *const causes[] = { "410", "toolarge", "expired" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script,
                 WATCHING "error 500\nwait 1600\n? list rv=10\nfail %s\n? list limit=500\npage 20 -\n"
                          "? replace 20:; watch rv=20\nrv 20\nopen\nadd default/a 21\n? add default/a=21\nerror "
                          "500\nwait 3200\n? list rv=21",
                 causes[i]);
        play(script, by_pages);
    }
}

static void an_unavailable_version_is_listed_otherwise_when_the_server_wants_it(void **state) {
    (void)state;
    play(WATCHING "error 500\nwait 1600\n? list rv=10\nfail 410+5000\n? -\nquiet 4999\nwait 1\n? list limit=500\n"
                  "page 20 t\n? list continue=t limit=500\nfail 410+9000\n? -\nquiet 8999\nwait 1\n? list",
         by_pages);
    play(STREAMED "error 500\nwait 1600\n? stream rv=10\nfail 410+5000\n? -\nquiet 4999\nwait 1\n? stream", streaming);
}

static void a_failed_list_waits_and_begins_again(void **state) {
    (void)state;
    play("? list rv=0 limit=500\nfail 500\nreports 500\nstate backing off\nquiet 799\nwait 801\n? list rv=0 limit=500\n"
         "state connecting\nfail cut\nquiet 1599\nwait 1601\n? list rv=0 limit=500\npage 10 -\n? replace 10:; watch "
         "rv=10",
         by_pages);
}

static void objects_of_a_failed_list_are_not_used(void **state) {
    (void)state;
    play("? list rv=0 limit=500\nitem default/a 5\nfail 500\nwait 1600\n? list rv=0 limit=500\nitem default/b 6\npage "
         "10 -\n"
         "? replace 10: default/b=6; watch rv=10",
         by_pages);
}

static void a_bad_object_is_set_aside(void **state) {
    (void)state;
    stage s;
    open_stage(&s, by_pages, 1);
    play_lines(
        &s,
        "? list rv=0 limit=500\nitem default/a 5\nbad default/b\npage 10 -\n? replace 10: default/a=5; watch rv=10\n"
        "open\nbad default/b\nrv 10\nmod default/a 11\n? update default/a=11\nrv 11\nreports -");
    assert_int_equal(s.bad_objects, 2);
    close_stage(&s);
}

static void a_list_tells_how_far_it_is(void **state) {
    (void)state;
    stage s;
    open_stage(&s, by_pages, 1);
    play_lines(&s, "item default/a 5\npage 10 t 7");
    assert_int_equal(s.listed, 1);
    assert_int_equal(s.list_total, 8);
    close_stage(&s);
}

/* --- watches ----------------------------------------------------------------------------------------------------------------------- */

static void a_clean_close_is_watched_again_at_once_but_once(void **state) {
    (void)state;
    play(WATCHING "add default/b 11\nwait 5000\n? add default/b=11\nclose\n? watch rv=11\nreports -\n"
                  "open\nadd default/c 12\nwait 5000\n? add default/c=12\nclose\n? -\nstate backing off\nquiet "
                  "799\nwait 801\n? watch rv=12",
         by_pages);
}

static void a_watch_that_lasted_may_be_opened_at_once_again(void **state) {
    (void)state;
    play(WATCHING "bookmark 11\nwait 300000\nclose\n? watch rv=11\nopen\nbookmark 12\nwait 400000\nclose\n? watch "
                  "rv=12\nreports -",
         by_pages);
}

static void a_proxy_that_closes_each_minute_does_not_make_it_wait(void **state) {
    (void)state;
    play(WATCHING "bookmark 11\nwait 30000\nclose\n? watch rv=11\nopen\nbookmark 12\nwait 30000\nclose\n"
                  "? watch rv=12\nreports -",
         by_pages);
}

static void an_older_event_does_not_move_the_version_back(void **state) {
    (void)state;
    play(WATCHING "mod default/a 15\nmod default/b 12\nrv 15\nbookmark 14\nrv 15\nbookmark other\nrv other\n"
                  "bookmark 16\nrv 16\ndel default/b 17\nrv 17",
         by_pages);
    play(WATCHING "mod default/a 15\nerror 410\nwait 1600\npage 12 -\nrv 12", by_pages); /* a list is believed */
}

static void a_quiet_watch_of_a_second_is_long_enough(void **state) {
    (void)state;
    play(WATCHING "quiet 1000\nclose\n? watch rv=10\nreports -", by_pages);
}

static void a_very_short_watch_is_an_error_and_lists(void **state) {
    (void)state;
    play(WATCHING "close\n? -\nreports protocol violation\nstate backing off\nquiet 799\nwait 801\n? list rv=10",
         by_pages);
}

static void a_watch_that_brought_anything_is_not_very_short(void **state) {
    (void)state;
    static const char *const lines[] = { "bookmark 11", "mod default/a 11", "bad default/b" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, WATCHING "%s\nclose\nreports -\nstate connecting", lines[i]);
        play(script, by_pages);
    }
}

static void watches_closed_at_once_never_make_a_tight_loop(void **state) {
    (void)state;
    play(WATCHING "close\nwait 1600\n? list rv=10\npage 11 -\n? replace 11:; watch rv=11\nopen\nclose\nquiet 1599\n"
                  "wait 1601\n? list rv=11\npage 12 -\n? replace 12:; watch rv=12\nopen\nclose\nquiet 3199\nwait "
                  "3201\n? list rv=12",
         by_pages);
}

static void a_watch_that_finds_no_descriptor_waits_and_goes_on(void **state) {
    (void)state;
    play(WATCHING "mod default/a 11\n? update default/a=11\nno descriptor\nclose\n? watch rv=11\nquiet 799\nwait "
                  "801\n? watch rv=11\nopen",
         by_pages);
}

static void too_many_requests_and_refused_connections_do_not_list(void **state) {
    (void)state;
    play(LISTED "fail 429\nreports 429\nquiet 799\nwait 801\n? watch rv=10\nfail connect\nquiet 1599\nwait 1601\n? "
                "watch rv=10\n"
                "open\nerror 429\nquiet 3199\nwait 3201\n? watch rv=10\nreports no connection 429",
         by_pages);
}

static void retry_after_is_obeyed(void **state) {
    (void)state;
    play(LISTED "fail 429+60000\nquiet 59999\nwait 1\n? watch rv=10\nfail 429+1\nquiet 1599\nwait 1601\n? watch rv=10",
         by_pages);
}

static void expired_in_the_stream_lists_at_the_last_version(void **state) {
    (void)state;
    play(WATCHING "add default/b 11\n? add default/b=11\nerror 410\n? -\nquiet 799\nwait 801\n? list rv=11", by_pages);
}

static void expired_when_opening_lists_at_the_last_version(void **state) {
    (void)state;
    play(LISTED "fail 410\nquiet 799\nwait 801\n? list rv=10", by_pages);
    play(STREAMED "add default/b 11\n? add default/b=11\nwait 5000\nclose\n? watch rv=11\nfail 410\nreports 410\n"
                  "quiet 799\nwait 801\n? stream rv=11",
         streaming);
}

static void a_lost_connection_is_told_and_resumed_without_a_list(void **state) {
    (void)state;
    static const struct {
        const char *cause, *report;
    } cases[] = { { "cut", "cut off" }, { "timeout", "timeout" }, { "connect", "no connection" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[TEXT];
        snprintf(script, sizeof script,
                 WATCHING "add default/b 11\nwait 90000\n? add default/b=11\nfail %s\n? watch rv=11\nreports %s",
                 cases[i].cause, cases[i].report);
        play(script, by_pages);
    }
}

static void any_other_end_lists_after_a_while(void **state) {
    (void)state;
    static const char *const ends[] = { "error 500",     "fail protocol", "error 403", "fail 500",
                                        "fail nomemory", "error cut",     "error 504", "error 666" };
    static const char *const refusals[] = { "fail 500", "fail 403", "fail protocol", "fail cut", "fail timeout" };
    char script[TEXT];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(script, sizeof script,
                 WATCHING "add default/b 11\nwait 5000\n? add default/b=11\n%s\nquiet 799\nwait 801\n? list rv=11",
                 ends[i]);
        play(script, by_pages);
    }
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) { /* before it was open */
        snprintf(script, sizeof script, LISTED "%s\nquiet 799\nwait 801\n? list rv=10", refusals[i]);
        play(script, by_pages);
    }
}

static void what_needs_a_person_blocks_and_is_tried_all_the_same(void **state) {
    (void)state;
    static const char *const causes[] = { "401", "403", "404" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script,
                 "? list rv=0 limit=500\nfail %s\nstate blocked\nreports %s\nwait 1600\n? list rv=0 limit=500",
                 causes[i], causes[i]);
        play(script, by_pages);
    }
}

static void a_watch_from_no_version_keeps_it_until_a_change(void **state) {
    (void)state;
    play("? list rv=0 limit=500\npage 0 -\n? replace 0:; watch rv=0\nopen\nadd default/a 7\nadd default/b 3\nrv 0\nmod "
         "default/a 9\nrv 9\n"
         "add default/c 12\nrv 12",
         by_pages);
    play("? list rv=0 limit=500\npage 0 -\n? replace 0:; watch rv=0\nopen\nadd default/a 7\nbookmark 8\nrv 8\nadd "
         "default/b 9\nrv 9",
         by_pages);
    play("? list rv=0 limit=500\npage - -\n? replace :; watch\nopen\nadd default/a 7\nrv -\nmod default/a 9\nrv 9",
         by_pages);
}

static void what_is_older_than_the_watch_is_not_told_again(void **state) {
    (void)state;
    play(WATCHING "mod default/a 9\nadd default/b 8\n? -\nrv 10\nbookmark 12\nmod default/a 12\n? update default/a=12\n"
                  "del default/a 9\n? remove default/a=9\nrv 12\nmod default/a opaque\n? update default/a=opaque",
         by_pages);
    play(STREAMED "mod default/a 9\n? -\nrv 10\nmod default/a 11\n? update default/a=11", streaming);
}

static void a_full_queue_lists_again(void **state) {
    (void)state;
    play(WATCHING "queue fails\nadd default/b 11\n? cancel\nreports out of memory\nstate backing off\nquiet 799\nwait "
                  "801\n? list rv=10\n"
                  "queue fails\nitem default/b 11\npage 12 -\n? -\nrv 10\nreports out of memory\nquiet 1599\nwait "
                  "1601\n? list rv=10",
         by_pages);
}

static void a_request_that_cannot_be_made_is_tried_later(void **state) {
    (void)state;
    play(WATCHING "refuse\nerror 500\nwait 1600\n? list rv=10\nquiet 1599\nwait 1601\n? list rv=10\nrefuse\npage 12 -\n"
                  "? replace 12:; watch rv=12\nquiet 3199\nwait 3201\n? list rv=12",
         by_pages);
    play("? stream\nrefuse\nfail 429\nwait 1600\n? stream\nreports 429, out of memory\nwait 3200\n? stream", streaming);
}

static void requests_have_a_deadline(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        stage s;
        open_stage(&s, by_pages, seed);
        assert_true(s.source.idle_timeout_ns == KI_SECONDS(90));
        play_lines(&s, WATCHING);
        assert_true(s.source.idle_timeout_ns == KI_SECONDS(90));
        assert_in_range(s.source.timeout_s, 300, 599);
        close_stage(&s);
    }
}

/* --- streaming lists --------------------------------------------------------------------------------------------------------------- */

static void a_streaming_list_goes_on_as_the_watch(void **state) {
    (void)state;
    play("? stream\nstate connecting\nopen\nstate listing\nadd default/b 7\nadd default/a 5\nadd default/c 6\nmod "
         "default/a 8\ndel default/c 9\n"
         "bookmark 9\n? -\nrv -\ninitial-end 10\n? replace 10: default/a=8 default/b=7\nrv 10\nstate watching\n"
         "mod default/b 11\n? update default/b=11\nrv 11\nwait 600000\n? -\nreports -\n"
         "close\n? watch rv=11\nopen\nadd default/d 12\n? add default/d=12",
         streaming);
    play("? stream\nopen\nadd default/a 5\ninitial-end -\n? replace : default/a=5\nrv -\nadd default/b 6\nrv 6",
         streaming); /* as a list without a version */
}

static void a_streaming_list_again_is_at_the_last_version(void **state) {
    (void)state;
    play(STREAMED "mod default/a 11\n? update default/a=11\nerror 410\nwait 1600\n? stream rv=11\n"
                  "fail 410\n? stream\nreports 410 410\nopen\ninitial-end 20\n? replace 20:\nerror 500\nwait 3200\n? "
                  "stream rv=20",
         streaming);
}

static void a_streaming_list_at_the_latest_that_is_expired_too_waits(void **state) {
    (void)state;
    play(STREAMED "error 500\nwait 1600\n? stream rv=10\nfail toolarge\n? stream\nfail toolarge\n? -\nquiet 1599\nwait "
                  "1601\n? stream",
         streaming);
}

static void initial_events_may_come_in_any_order(void **state) {
    (void)state;
    play("? stream\nopen\nadd default/a 9\nadd default/a 7\nadd default/b 5\nmod default/b 8\ndel default/b 6\n"
         "initial-end 10\n? replace 10: default/a=9 default/b=8",
         streaming);
}

static void the_list_in_place_of_a_stream_comes_when_the_server_wants_it(void **state) {
    (void)state;
    play("? stream\nfail 503+5000\nreports 503\nstate backing off\nquiet 4999\nwait 1\n? list rv=0 limit=500",
         streaming);
}

static void a_busy_server_is_asked_for_a_stream_again(void **state) {
    (void)state;
    play("? stream\nfail 429\nquiet 799\nwait 801\n? stream\nfail connect\nquiet 1599\nwait 1601\n? stream", streaming);
}

static void an_old_server_is_listed_by_pages_from_then_on(void **state) {
    (void)state;
    static const char *const causes[] = { "400", "422" };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        char script[TEXT];
        snprintf(script, sizeof script, "? stream\nfail %s\nreports %s\n" WATCHING "error 500\nwait 1600\n? list rv=10",
                 causes[i], causes[i]);
        play(script, streaming);
    }
}

static void any_other_failure_of_a_stream_lists_by_pages_this_time(void **state) {
    (void)state;
    static const char *const ends[] = { "fail 500", "fail 403", "fail cut", "fail connect", "close" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char script[TEXT];
        snprintf(script, sizeof script,
                 "? stream\nopen\nadd default/z 1\n%s\n" WATCHING "error 500\nwait 1600\n? stream rv=10", ends[i]);
        play(script, streaming);
    }
}

static void a_stream_that_goes_silent_is_given_up(void **state) {
    (void)state;
    play("? stream\nopen\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500\nreports timeout\npage 10 -\n"
         "? replace 10:; watch rv=10\nopen\nerror 500\nwait 1600\n? list rv=10",
         streaming);
    play("? stream\nopen\nquiet 20000\nadd default/a 5\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500", streaming);
}

static void a_server_that_was_out_of_reach_is_asked_for_a_stream_again(void **state) {
    (void)state;
    play("? stream\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500\nreports timeout\npage 10 -\n"
         "? replace 10:; watch rv=10\nopen\nerror 500\nwait 1600\n? stream rv=10",
         streaming);
}

static void a_stream_that_brings_one_long_object_is_not_silent(void **state) {
    (void)state;
    play("? stream\nopen\nquiet 20000\nbyte\nquiet 29999\nbyte\nquiet 29999\nwait 1\n? cancel; list rv=0 limit=500",
         streaming);
}

static void a_stream_without_an_end_is_given_up_after_five_minutes(void **state) {
    (void)state;
    stage s;
    open_stage(&s, streaming, 1);
    play_lines(&s, "? stream\nopen");
    for (int i = 0; i < 14; i++)
        play_lines(&s, "quiet 20000\nadd default/a 5");
    play_lines(&s, "quiet 19999\nwait 1\n? cancel; list rv=0 limit=500\nreports timeout");
    close_stage(&s);
}

static void a_stream_that_runs_out_of_memory_waits(void **state) {
    (void)state;
    play("? stream\nopen\nadd default/a 5\nqueue fails\ninitial-end 10\n? cancel\nreports out of memory\nrv -\nquiet "
         "799\nwait 801\n? stream",
         streaming);
}

/* --- backoff ------------------------------------------------------------------------------------------------------------------------- */

static void waits_grow_to_thirty_seconds(void **state) {
    (void)state;
    static const int least[] = { 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000 };
    /* What is asked first, the failure, what is asked then. */
    static const char *const cases[][3] = { { "? list rv=0 limit=500", "fail 500", "? list rv=0 limit=500" },
                                            { LISTED, "fail connect", "? watch rv=10" },
                                            { "? stream", "fail 429", "? stream" } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stage s;
        open_stage(&s, strstr(cases[c][0], "stream") ? streaming : by_pages, 7);
        for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
            char script[TEXT];
            snprintf(script, sizeof script, "%s\n%s\nquiet %d\nwait %d", cases[c][i ? 2 : 0], cases[c][1], least[i] - 1,
                     least[i] + 1);
            play_lines(&s, script);
        }
        close_stage(&s);
    }
}

static void two_minutes_without_a_failure_begin_from_the_start(void **state) {
    (void)state;
    play("? list rv=0 limit=500\nfail 500\nwait 1600\n? list rv=0 limit=500\nfail 500\nwait 3200\n" WATCHING
         "bookmark 11\nwait 121000\nerror 500\nquiet 799\nwait 801\n? list rv=11",
         by_pages);
}

static void closing_cancels_what_is_under_way(void **state) {
    (void)state;
    static const char *const scripts[] = { "? list rv=0 limit=500", "item default/a 5", "fail 500", LISTED, WATCHING };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        stage s;
        open_stage(&s, by_pages, 1);
        play_lines(&s, scripts[i]);
        s.source.trace[0] = '\0';
        bool under_way = s.source.lists || s.source.watches;
        ki_reflector_close(&s.reflector);
        assert_string_equal(s.source.trace, under_way ? "cancel" : "");
        s.source.trace[0] = '\0';
        play_lines(&s, "quiet 100000");
        close_stage(&s);
    }
}

int main(void) {
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
        cmocka_unit_test(a_bad_object_is_set_aside),
        cmocka_unit_test(a_list_tells_how_far_it_is),
        cmocka_unit_test(a_clean_close_is_watched_again_at_once_but_once),
        cmocka_unit_test(a_watch_that_lasted_may_be_opened_at_once_again),
        cmocka_unit_test(a_proxy_that_closes_each_minute_does_not_make_it_wait),
        cmocka_unit_test(a_quiet_watch_of_a_second_is_long_enough),
        cmocka_unit_test(a_very_short_watch_is_an_error_and_lists),
        cmocka_unit_test(a_watch_that_brought_anything_is_not_very_short),
        cmocka_unit_test(watches_closed_at_once_never_make_a_tight_loop),
        cmocka_unit_test(a_watch_that_finds_no_descriptor_waits_and_goes_on),
        cmocka_unit_test(too_many_requests_and_refused_connections_do_not_list),
        cmocka_unit_test(retry_after_is_obeyed),
        cmocka_unit_test(expired_in_the_stream_lists_at_the_last_version),
        cmocka_unit_test(expired_when_opening_lists_at_the_last_version),
        cmocka_unit_test(a_lost_connection_is_told_and_resumed_without_a_list),
        cmocka_unit_test(any_other_end_lists_after_a_while),
        cmocka_unit_test(what_needs_a_person_blocks_and_is_tried_all_the_same),
        cmocka_unit_test(a_watch_from_no_version_keeps_it_until_a_change),
        cmocka_unit_test(an_older_event_does_not_move_the_version_back),
        cmocka_unit_test(what_is_older_than_the_watch_is_not_told_again),
        cmocka_unit_test(a_full_queue_lists_again),
        cmocka_unit_test(a_request_that_cannot_be_made_is_tried_later),
        cmocka_unit_test(requests_have_a_deadline),
        cmocka_unit_test(a_streaming_list_goes_on_as_the_watch),
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
