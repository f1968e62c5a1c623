/* test_reply.c: what the status server responds, without sockets: on the embedded API server in the same process, with
 * a clock that only the test advances. */
#include "src/base/memory.h"
#include "status/reply.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define PROMETHEUS "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"

static ki_sampler sampler;
static ki_reply_source source;
static ki_reply reply;

static void start_sampler(const ki_allocator *allocator) {
    sampler = (ki_sampler){ .allocator = allocator, .factory = stage.factory, .engine = stage.engine.engine };
    source = (ki_reply_source){ .sampler = &sampler,
                                .title = "shop <controller>",
                                .process = "node-1, pid 7",
                                .version = "v1.2",
                                .started_ns = ki_engine_now(stage.engine.engine) };
    assert_int_equal(ki_sampler_start(&sampler, NULL), KI_OK);
}

static int set_up(void **state) {
    int failed = stage_set_up(state) || !stage_make_factory(&stage, KI_FACTORY_OPTIONS(.no_streaming_list = true));
    if (!failed)
        start_sampler(&ki_allocator_default);
    ki_buffer_init(&reply.body, &ki_allocator_default, 0);
    return failed;
}

static int tear_down(void **state) {
    ki_buffer_free(&reply.body);
    ki_sampler_stop(&sampler);
    return stage_tear_down(state);
}

#define REPLY_TEST(name) TEST_WITH(set_up, tear_down, name)

static void ask(ki_request_line request) {
    if (!request.method)
        request.method = "GET";
    ki_buffer_free(&reply.body);
    ki_reply_make(&source, &request, &reply);
}

#define ASK(...) ask((ki_request_line){ __VA_ARGS__ })

/* Returns the body, of a page without its head. */
static const char *shown(void) {
    const char *body = strstr(reply.body.data, "<header>");
    return body ? body : reply.body.data;
}

static void expect(int status, const char *part) {
    if (reply.status != status || !strstr(reply.body.data, part)) {
        fprintf(stderr, "status %d:\n%s\n", reply.status, shown());
        fail_msg("has not: %s", part);
    }
}

static void expect_not(const char *part) {
    if (strstr(reply.body.data, part))
        fail_msg("%s\nhas: %s", shown(), part);
}

/* --- probes ------------------------------------------------------------------------------------------------------- */

REPLY_TEST(it_is_alive_before_the_loop_runs_and_while_it_runs) {
    ASK(.path = "/livez");
    expect(200, "ok\n");
    stage_start(&stage);
    stage_advance(&stage, 60000);
    ASK(.path = "/livez");
    expect(200, "ok\n");
}

REPLY_TEST(it_is_not_alive_once_the_loop_has_not_run_for_long) {
    stage_start(&stage);
    stage.engine.now += KI_SECONDS(40);
    ASK(.path = "/livez");
    expect(200, "ok\n");
    stage.engine.now += KI_SECONDS(5);
    ASK(.path = "/livez");
    expect(503, "[-]loop has not run for 35 s\nlivez check failed\n");
    ASK(.path = "/");
    expect(200, "The loop has not run for 35 s: what follows is old");
    stage_settle(&stage);
    ASK(.path = "/livez");
    expect(200, "ok\n");
}

REPLY_TEST(it_is_ready_once_all_informers_have_synced) {
    ASK(.path = "/readyz");
    expect(503, "[-]informer configmaps: not started, not synced, 0 objects\n");
    expect(503, "readyz check failed\n");
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_start(&stage);
    ASK(.path = "/readyz");
    expect(200, "ok\n");
    assert_int_equal(reply.body.size, 3);
    stage_advance(&stage, 2000);
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[+]informer configmaps: watching, synced, 2.0 s old, 1 object\n");
    expect(200, "[+]informer secrets: watching, synced, 2.0 s old, 0 objects\n");
    expect(200, "readyz check passed\n");
}

REPLY_TEST(it_is_not_ready_once_the_factory_stops) {
    stage_start(&stage);
    ki_factory_stop(stage.factory);
    stage_settle(&stage);
    ASK(.path = "/readyz");
    expect(503, "[-]informer configmaps: stopped, synced");
}

REPLY_TEST(readyz_says_who_leads_and_what_is_queued) {
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = "me"),
                                    &elector, NULL),
                     KI_OK);
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    ASK(.path = "/readyz", .is_verbose = true);
    expect(503, "[+]lease lock: this process waits, nobody leads\n");
    stage_start(&stage);
    stage.script = "f";
    stage_add("k");
    stage_settle(&stage);
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[+]lease lock: this process leads, as me\n");
    expect(200,
           "[+]queue c: 0 queued, longest running 0.0 s, 1 retries, 1 failing: k failed 1 time: it did not work\n");
    ki_elector_free(elector);
}

/* --- metrics ------------------------------------------------------------------------------------------------------ */

REPLY_TEST(metrics_have_the_format_that_the_client_accepts) {
    static const struct {
        const char *accept;
        bool is_openmetrics;
    } rows[] = { { NULL, false },
                 { "*/*", false },
                 { "text/html,application/xhtml+xml,*/*;q=0.8", false },
                 { "text/plain;version=0.0.4", false },
                 { PROMETHEUS, true },
                 { "application/openmetrics-text", true },
                 { "application/openmetrics-text;q=0.2,text/plain;q=0.3", false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ASK(.path = "/metrics", .accept = rows[i].accept);
        assert_string_equal(reply.content_type, rows[i].is_openmetrics ? KI_METRICS_CONTENT_TYPE
                                                                       : "text/plain; version=0.0.4; charset=utf-8");
        expect(200, rows[i].is_openmetrics ? "# TYPE informer_events counter\n# HELP informer_events Adds"
                                           : "# TYPE informer_events_total counter\n# HELP informer_events_total Adds");
        expect(200, "informer_events_total{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\"");
        assert_int_equal(strstr(reply.body.data, "# EOF\n") != NULL, rows[i].is_openmetrics);
        assert_int_equal(strstr(reply.body.data, "# UNIT") != NULL, rows[i].is_openmetrics);
    }
}

static const ki_metric orders = { .name = "orders", .help = "Orders", .type = KI_METRIC_COUNTER };
static const ki_metric balance = { .name = "balance", .help = "Balance", .type = KI_METRIC_GAUGE };

static void collect(ki_sample_visitor visit, void *visit_user, void *user) {
    visit(&(ki_sample){ .metric = &orders, .value = 7 }, visit_user);
    visit(&(ki_sample){ .metric = &balance, .value = -2.5 }, visit_user);
    assert_int_equal(ki_workqueue_visit_metrics(user, visit, visit_user, NULL), KI_OK);
}

REPLY_TEST(the_program_s_own_samples_are_served_and_its_queues_drawn) {
    ki_workqueue *queue = NULL;
    assert_int_equal(ki_workqueue_new(stage.engine.engine, &KI_WORKQUEUE_OPTIONS(.name = "own <queue>"), &queue, NULL),
                     KI_OK);
    assert_int_equal(ki_workqueue_add(queue, "k"), KI_OK);
    sampler.collect = collect;
    sampler.user = queue;
    ASK(.path = "/metrics");
    expect(200, "\norders_total{} 7\n");
    expect(200, "\nbalance{} -2.500000000\n");
    expect(200, "workqueue_depth{name=\"own <queue>\"} 1\n");
    ASK(.path = "/");
    expect(200, ">own &lt;queue&gt;</th>\n<td role=\"cell\" data-label=\"Depth\" class=\"num\">1 ");
    stage_start(&stage); /* samples it */
    ki_workqueue_free(queue);
    sampler.collect = NULL;
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

REPLY_TEST(the_page_has_each_informer_with_its_state_and_size) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_start(&stage);
    stage_advance(&stage, 5000);
    ASK(.path = "/");
    assert_string_equal(reply.content_type, "text/html; charset=utf-8");
    expect(200, "<title>shop &lt;controller&gt;</title>");
    expect(200, "✔ Ready: 2 informers have synced</p>");
    expect(200, "scope=\"row\">configmaps</th>");
    expect(200, "✔&nbsp;watching</span> <span class=\"muted\">for 5.0&nbsp;s</span>");
    expect(200, "data-label=\"Objects\" class=\"num\">1</td>");
    expect(200, "aria-label=\"Objects over the last 15 minutes: now 1, at most 1\"");
    expect_not("<h2 id=\"queues\">");
    expect_not("<h2 id=\"leaders\">");
    expect_not("class=\"details\"");
}

REPLY_TEST(the_page_says_why_an_informer_is_not_synced_and_has_it_first) {
    const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
    ki_informer *informer;
    assert_int_equal(ki_factory_informer(stage.factory, &foos,
                                         &KI_INFORMER_OPTIONS(.namespace_name = "shop", .label_selector = "a!=b"),
                                         &informer, NULL),
                     KI_OK);
    stage_start(&stage);
    stage_advance(&stage, 1000);
    ASK(.path = "/");
    expect(200, "<title>(1) shop");
    expect(200, "✖ Not ready: 1 of 3 informers has not synced; 1 blocked</p>");
    expect(200, "✖&nbsp;blocked</span>");
    const char *blocked = strstr(reply.body.data, "foos.example.com in shop (a!=b)</th>");
    const char *fine = strstr(reply.body.data, ">configmaps</th>");
    assert_true(blocked && fine && blocked < fine);
    expect(200, "class=\"details\"><td role=\"cell\" colspan=\"7\"><div>");
    expect(200, "<div class=\"muted\">next ");
    ASK(.path = "/readyz");
    expect(503, "[-]informer foos.example.com in shop (a!=b): blocked, not synced, 0 objects: ");
}

REPLY_TEST(events_are_drawn_as_a_rate) {
    stage_start(&stage);
    for (int i = 0; i < 25; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/%d", i);
        stage_put(&stage, KI_CONFIGMAPS, key, "");
    }
    stage_advance(&stage, 10000);
    ASK(.path = "/");
    expect(200, "<figcaption>Events a second <strong>2.5</strong>");
    expect(200, "data-label=\"Events/s\" class=\"num\">2.5 <svg class=\"spark\"");
}

REPLY_TEST(relists_are_counted_by_cause) {
    stage_start(&stage);
    kt_cluster_close_watches(stage.cluster); /* a watch that ends at once, without an event */
    stage_advance(&stage, 5000);
    ASK(.path = "/");
    expect(200, "data-label=\"Relists\" class=\"num\">1<div class=\"muted\">protocol violation 1</div></td>");
}

REPLY_TEST(a_lost_lease_is_drawn) {
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = "me"),
                                    &elector, NULL),
                     KI_OK);
    stage_start(&stage);
    stage_advance(&stage, 30000);
    ASK(.path = "/");
    expect(200, "✔ leads</span></td>\n<td role=\"cell\" data-label=\"Leader\">me</td>");
    ki_elector_stop(elector);
    stage_advance(&stage, 20000);
    ASK(.path = "/");
    expect(200, "! has lost the Lease</span>");
    expect(200, "<rect class=\"on\"");
    expect(200, "<rect class=\"off\"");
    ki_elector_free(elector);
}

REPLY_TEST(a_key_that_runs_for_long_is_marked) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage.script = "d";
    stage_start(&stage);
    stage_add("k");
    stage_settle(&stage);
    stage_advance(&stage, 59000);
    ASK(.path = "/");
    expect(200, "<span>59&nbsp;s</span>");
    stage_advance(&stage, 62000);
    ASK(.path = "/");
    expect(200, "<tbody role=\"rowgroup\" class=\"warn\"><tr role=\"row\"><th role=\"rowheader\" scope=\"row\">c</th>");
    expect(200, "<span class=\"state\">! 2&nbsp;min</span>");
    ki_reconcile_finish(stage.deferred[0], NULL);
}

#define ROW_OF(class_name) \
    "<tbody role=\"rowgroup\" class=\"" class_name "\"><tr role=\"row\"><th role=\"rowheader\" scope=\"row\">c</th>"

REPLY_TEST(a_key_that_fails_again_and_again_is_marked_until_it_succeeds) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage.script = "fff";
    stage_start(&stage);
    stage_add("shop/<k>");
    stage_settle(&stage);
    ASK(.path = "/");
    expect(200, ROW_OF("warn"));
    expect(200, "<div>shop/&lt;k&gt; failed 1 time: it did not work</div>");
    expect(200, "<p id=\"verdict\" class=\"verdict ok\"");
    stage_advance(&stage, 5);
    stage_advance(&stage, 10);
    ASK(.path = "/");
    expect(200, ROW_OF("bad"));
    expect(200, "<span class=\"state\">! 1</span>");
    expect(200, "<div>shop/&lt;k&gt; failed 3 times: it did not work</div>");
    expect(200, "<p id=\"verdict\" class=\"verdict bad\" role=\"status\">✔ Ready: 2 informers have synced; "
                "1 controller failing</p>");
    expect(200, "<title>(1) shop");
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[!]queue c: 0 queued, longest running 0.0 s, 3 retries, 1 failing: shop/<k> failed 3 times: "
                "it did not work\n");
    stage_advance(&stage, 20);
    ASK(.path = "/");
    expect(200, ROW_OF("ok"));
    expect_not("failed");
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[+]queue c: 0 queued, longest running 0.0 s, 3 retries\n");
}

REPLY_TEST(the_key_that_failed_most_often_is_shown) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage.script = "fff"
                   "f"
                   "."
                   "f";
    stage_start(&stage);
    stage_add("a");
    stage_settle(&stage);
    stage_advance(&stage, 5);
    stage_advance(&stage, 10);
    stage_add("b");
    stage_settle(&stage);
    ASK(.path = "/");
    expect(200, "<div>a failed 3 times: it did not work</div>");
    expect(200, "<span class=\"state\">! 2</span>");
    stage_advance(&stage, 5); /* b succeeds */
    ASK(.path = "/");
    expect(200, "<div>a failed 3 times: it did not work</div>");
    stage_advance(&stage, 15);
    ASK(.path = "/");
    expect(200, "<div>a failed 4 times: it did not work</div>");
}

REPLY_TEST(an_error_that_is_not_retried_is_marked_at_once) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage.script = "t";
    stage_start(&stage);
    stage_add("a");
    stage_settle(&stage);
    ASK(.path = "/");
    expect(200, ROW_OF("bad"));
    expect(200, " ago, not retried</div>");
    stage_add("a");
    stage_settle(&stage);
    ASK(.path = "/");
    expect(200, ROW_OF("ok"));
}

/* Fails three times, at 0, 5 and 15 ms. */
static void fail_three_times(const char *key) {
    stage.script = "fff";
    stage_add(key);
    stage_settle(&stage);
    stage_advance(&stage, 5);
    stage_advance(&stage, 10);
}

REPLY_TEST(another_key_that_fails_is_marked_when_the_worst_one_succeeds) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage_start(&stage);
    fail_three_times("a");
    stage.script = "ffff"; /* b, b, b, a */
    stage_add("b");
    stage_settle(&stage);
    stage_advance(&stage, 5);
    stage_advance(&stage, 10);
    stage_advance(&stage, 5);
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[!]queue c: 0 queued, longest running 0.0 s, 7 retries, 2 failing: a failed 4 times: ");
    stage.script = ".";
    stage_add("a");
    stage_settle(&stage);
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[!]queue c: 0 queued, longest running 0.0 s, 7 retries, 1 failing: b failed 3 times: ");
    ASK(.path = "/");
    expect(200, ROW_OF("bad"));
    expect(200, "<div>b failed 3 times: it did not work</div>");
    expect(200, "1 controller failing</p>");
}

REPLY_TEST(an_error_that_is_not_retried_stays_marked_while_other_keys_fail_and_succeed) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage.script = "t";
    stage_start(&stage);
    stage_add("a");
    stage_settle(&stage);
    fail_three_times("b");
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[!]queue c: 0 queued, longest running 0.0 s, 3 retries, 1 failing: a failed 1 time: ");
    stage_advance(&stage, 20); /* b succeeds */
    ASK(.path = "/readyz", .is_verbose = true);
    expect(200, "[!]queue c: 0 queued, longest running 0.0 s, 3 retries: a failed 1 time: it did not work\n");
    ASK(.path = "/");
    expect(200, ROW_OF("bad"));
    expect(200, "1 controller failing</p>");
}

REPLY_TEST(the_page_says_which_cluster_process_and_version_it_is_of) {
    stage_start(&stage);
    ASK(.path = "/");
    expect(200, "class=\"muted\">cluster none, process node-1, pid 7, version v1.2</p>"); /* a server without a URL */
    source.version = "";
    ASK(.path = "/");
    expect(200, "process node-1, pid 7</p>");
}

REPLY_TEST(causes_come_before_the_charts) {
    stage_start(&stage);
    ASK(.path = "/");
    assert_true(strstr(shown(), "<h2 id=\"informers\"") < strstr(shown(), "<section class=\"charts\""));
}

REPLY_TEST(a_page_without_informers_says_so) {
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.secrets, NULL), KI_OK);
    ASK(.path = "/");
    expect(200, "✔ Ready: 0 informers have synced</p>");
    expect(200, "<p>There are none.</p>");
}

/* --- HTTP --------------------------------------------------------------------------------------------------------- */

REPLY_TEST(other_paths_and_methods_are_errors) {
    static const char *const paths[] = { "/metrics/", "/nothing", "", "/..", "*", "/favicon.ico" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ASK(.path = paths[i]);
        expect(404, "there are /, /livez, /readyz?verbose and /metrics\n");
    }
    ASK(.path = "/metrics", .method = "POST");
    expect(405, "only GET and HEAD\n");
    ASK(.path = "/metrics", .method = "HEAD");
    expect(200, "informer_synced");
}

REPLY_TEST(large_bodies_are_packed_if_the_client_accepts_it) {
    ASK(.path = "/", .accept_encoding = "gzip, br");
    assert_true(reply.is_packed);
    assert_memory_equal(reply.body.data, "\x1f\x8b", 2);
    ASK(.path = "/livez", .accept_encoding = "gzip, br");
    assert_false(reply.is_packed);
    ASK(.path = "/", .accept_encoding = "br");
    assert_false(reply.is_packed);
}

REPLY_TEST(the_script_loads_nothing_from_elsewhere) {
    ASK(.path = "/page.js");
    expect(200, "'use strict'");
    expect_not("http");
    ASK(.path = "/");
    expect_not("http://");
    expect_not("https://");
}

TEST(without_memory_a_reply_is_500_and_nothing_leaks) {
    static const char *const paths[] = { "/", "/readyz", "/metrics", "/livez" };
    int failures = 0;
    assert_int_equal(stage_set_up(NULL), 0);
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage_start(&stage);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            start_sampler(&memory.allocator);
            stage_settle(&stage);
            scarce_memory_begin(&memory);
            const ki_request_line request = { .method = "GET", .path = paths[i], .accept_encoding = "gzip" };
            ki_reply_make(&source, &request, &reply);
            bool has_failed = scarce_memory_failed(&memory);
            assert_true(reply.status == 200 || (has_failed && reply.status == 500));
            failures += reply.status == 500;
            ki_buffer_free(&reply.body);
            ki_sampler_stop(&sampler);
        }
    }
    assert_true(failures > 10);
    stage_tear_down(NULL);
}

TEST(a_sampler_that_cannot_start_leaks_nothing) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_engine *engine = NULL;
        if (ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = &memory.allocator), &engine, NULL))
            continue;
        sampler = (ki_sampler){ .allocator = &ki_allocator_default, .engine = engine };
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_sampler_start(&sampler, &err);
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
        if (!status)
            ki_sampler_stop(&sampler);
        ki_engine_free(engine);
    }
}
