/* test_fault.c: the faults that the test server was told to show: which requests they strike, and what those get. */
#include "testing/faults/fault.h"
#include "testing/faults/stream.h"
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS "/api/v1/namespaces/default/configmaps"

static int set_up(void **state) {
    (void)state;
    rest_server_start(&server, &(kt_cluster_options){ .seed = 7 });
    return 0;
}

#define FAULT_TEST(name) REST_TEST_WITH(set_up, name)

static void add(const char *line) {
    ki_error err = KI_ERROR_INIT;
    if (kt_faults_add(kt_cluster_faults(server.cluster), line, server.now_ms, NULL, &err))
        fail_msg("%s: %s", line, ki_error_message(&err));
}

static void put(const char *name) {
    char json[160];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"data\":{\"a\":\"b\"}}",
             name);
    assert_int_equal(kt_cluster_put_json(server.cluster, KI_CONFIGMAPS, ki_str_of(json), server.now_ms, NULL, NULL), 0);
}

static void keep(const char *data, size_t size) {
    ki_buffer_reset(&server.text, SIZE_MAX);
    ki_buffer_append(&server.text, data, size);
    ki_buffer_append(&server.text, "", 0);
}

static int ask_with(const char *method, const char *target, const char *agent, const char *body, bool is_local) {
    const kt_request request = { .method = method,
                                 .target = target,
                                 .user_agent = agent,
                                 .body = ki_str_of(body),
                                 .from_network = true,
                                 .is_local = is_local };
    if (server.responded)
        kt_response_free(&server.response);
    assert_int_equal(kt_rest_handle(server.cluster, &request, server.now_ms, &server.response), KI_OK);
    server.responded = true;
    keep(server.response.body.data, server.response.body.size);
    return server.response.status;
}

static int ask(const char *target) {
    return ask_with("GET", target, "tests/1.0", NULL, true);
}

/* All that a watch says now. */
static kt_watch_state watch(const char *target) {
    kt_watch_state state = KT_WATCH_MORE;
    assert_int_equal(ask(target), 200);
    assert_non_null(server.response.watch);
    ki_buffer_reset(&server.text, SIZE_MAX);
    while (state == KT_WATCH_MORE)
        assert_int_equal(kt_response_read(&server.response, server.now_ms, &server.text, 4096, NULL, &state), KI_OK);
    ki_buffer_append(&server.text, "", 0);
    return state;
}

static size_t count_of(const char *part) {
    size_t count = 0;
    for (const char *at = server.text.data; at && (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

FAULT_TEST(a_fault_strikes_the_requests_it_is_for) {
    static const struct {
        const char *fault, *target;
        bool struck;
    } rows[] = {
        { "status,code=503", MAPS, true },
        { "status,code=503,verb=list", MAPS, true },
        { "status,code=503,verb=get+watch", MAPS, false },
        { "status,code=503,verb=get", MAPS "/x", true },
        { "status,code=503,resource=configmaps", MAPS, true },
        { "status,code=503,resource=pods+configmaps", MAPS, true },
        { "status,code=503,resource=pods", MAPS, false },
        { "status,code=503,resource=deployments.apps", "/apis/apps/v1/deployments", true },
        { "status,code=503,namespace=default", MAPS, true },
        { "status,code=503,namespace=other", MAPS, false },
        { "status,code=503,name=x", MAPS "/x", true },
        { "status,code=503,name=x", MAPS, false },
        { "status,code=503,name=x", MAPS "?fieldSelector=metadata.name%3Dx", true },
        { "status,code=503,name=x", MAPS "?watch=1&fieldSelector=metadata.name%3D%3Dx", true },
        { "status,code=503,name=x", MAPS "?fieldSelector=metadata.name%3Dy", false },
        { "status,code=503,name=x", MAPS "?fieldSelector=metadata.name!%3Dx", false },
        { "status,code=503,path=/api/*", MAPS, true },
        { "status,code=503,path=/version", MAPS, false },
        { "status,code=503,path=/version", "/version", true },
        { "status,code=503,resource=pods", "/version", false },
        { "status,code=503,user-agent=tests*", MAPS, true },
        { "status,code=503,user-agent=kubectl*", MAPS, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kt_faults_clear(kt_cluster_faults(server.cluster));
        add(rows[i].fault);
        if ((ask(rows[i].target) == 503) != rows[i].struck)
            fail_msg("%s for %s", rows[i].fault, rows[i].target);
    }
}

FAULT_TEST(numbers_chances_and_times_are_kept) {
    static const struct {
        const char *fault;
        const char *expected; /* of the first requests, a second apart: x where one is struck */
    } rows[] = {
        { "status,code=500,n=3", "..x.." },         { "status,code=500,count=2", "xx..." },
        { "status,code=500,every=2", ".x.x." },     { "status,code=500,after=2s", "..xxx" },
        { "status,code=500,until=2s", "xxx.." },    { "status,code=500,after=1s,until=2500ms", ".xx.." },
        { "status,code=500,percent=100", "xxxxx" },
    };
    int64_t start_ms = server.now_ms;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kt_faults_clear(kt_cluster_faults(server.cluster));
        server.now_ms = start_ms;
        add(rows[i].fault);
        for (const char *at = rows[i].expected; *at; at++, server.now_ms += 1000) {
            if ((ask(MAPS) == 500) != (*at == 'x'))
                fail_msg("%s: request %d", rows[i].fault, (int)(at - rows[i].expected));
        }
    }
}

FAULT_TEST(a_chance_of_half_strikes_about_half_and_the_same_ones_for_a_seed) {
    char first[201] = "", second[201] = "";
    for (int round = 0; round < 2; round++) {
        char *out = round ? second : first;
        rest_server_stop(&server);
        rest_server_start(&server, &(kt_cluster_options){ .seed = 7 });
        add("status,code=500,percent=50");
        size_t struck = 0;
        for (int i = 0; i < 200; i++) {
            out[i] = ask(MAPS) == 500 ? 'x' : '.';
            struck += out[i] == 'x';
        }
        assert_in_range(struck, 60, 140);
    }
    assert_string_equal(first, second);
}

FAULT_TEST(requests_within_the_process_are_never_struck) {
    add("status,code=500");
    assert_int_equal(rest_get(&server, MAPS), 200);
}

FAULT_TEST(responses_have_the_real_words) {
    static const struct {
        const char *fault, *has;
        int status, retry_after_s;
    } rows[] = {
        { "status,code=429,retry-after=3", "\"reason\":\"TooManyRequests\"", 429, 3 },
        { "status,code=429,retry-after=0", "\"code\":429", 429, 0 },
        { "status,code=401", "\"message\":\"Unauthorized\"", 401, -1 },
        { "status,code=410", "\"reason\":\"Expired\"", 410, -1 },
        { "status,code=404", "the server could not find the requested resource", 404, -1 },
        { "status,code=418,reason=Teapot,message=no coffee", "\"message\":\"no coffee\",\"reason\":\"Teapot\"", 418,
          -1 },
        { "too-large", "\"reason\":\"ResourceVersionTooLarge\"", 504, 1 },
        { "too-large,shape=old", "Too large resource version", 504, -1 },
        { "garbage,which=0", "<html>", 200, -1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kt_faults_clear(kt_cluster_faults(server.cluster));
        add(rows[i].fault);
        assert_int_equal(ask(MAPS), rows[i].status);
        assert_int_equal(server.response.retry_after_s, rows[i].retry_after_s);
        assert_true(rest_has(&server, rows[i].has));
    }
}

FAULT_TEST(events_are_lost_repeated_spoiled_and_grown) {
    static const struct {
        const char *fault, *part;
        size_t count;
        kt_watch_state state;
    } rows[] = {
        { "lose,event=2", "\"name\":\"b\"", 0, KT_WATCH_WAITS },
        { "lose,event=2", "\"ADDED\"", 2, KT_WATCH_WAITS },
        { "again,event=1,times=3", "\"name\":\"a\"", 4, KT_WATCH_WAITS },
        { "bad-event,event=3,which=0", "\"kind\":\"Table\"", 1, KT_WATCH_WAITS },
        { "huge-event,event=1,bytes=100000", "\"selfLink\":\"xxxxxxxx", 1, KT_WATCH_WAITS },
        { "bookmark-ahead,event=2", "\"BOOKMARK\"", 1, KT_WATCH_WAITS },
        { "end,event=0", "ADDED", 0, KT_WATCH_ENDED },
        { "end,event=3", "ADDED", 2, KT_WATCH_ENDED },
        { "error-event,event=2", "\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\"", 1, KT_WATCH_ENDED },
        { "error-event,event=0,code=500", "\"code\":500", 1, KT_WATCH_ENDED },
        { "too-large,as=event", "ResourceVersionTooLarge", 1, KT_WATCH_ENDED },
    };
    put("a");
    put("b");
    put("c");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kt_faults_clear(kt_cluster_faults(server.cluster));
        add(rows[i].fault);
        kt_watch_state is = watch(MAPS "?watch=1");
        if (is != rows[i].state || count_of(rows[i].part) != rows[i].count)
            fail_msg("%s: state %d, %zu of %s in %s", rows[i].fault, (int)is, count_of(rows[i].part), rows[i].part,
                     server.text.data);
    }
}

FAULT_TEST(a_streaming_list_is_shuffled_or_never_ends) {
    static const char target[] =
        MAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "m%02d", i);
        put(name);
    }
    watch(target);
    char *plain = strdup(server.text.data);
    add("shuffle");
    watch(target);
    assert_int_equal(count_of("\"ADDED\""), 20);
    assert_string_not_equal(server.text.data, plain);
    assert_non_null(strstr(strstr(server.text.data, "initial-events-end"), "\n"));
    free(plain);
    add("no-end");
    watch(target);
    assert_int_equal(count_of("\"ADDED\""), 20);
    assert_int_equal(count_of("initial-events-end"), 0);
}

FAULT_TEST(lists_lag_and_pages_are_empty_and_nothing_is_missed) {
    put("a");
    put("b");
    put("c");
    add("stale,events=2,count=1");
    assert_int_equal(ask(MAPS), 200);
    assert_int_equal(count_of("\"name\":\"b\""), 0);
    assert_int_equal(count_of("\"name\":\"a\""), 1);
    add("empty-page,n=1");
    assert_int_equal(ask(MAPS "?limit=2"), 200);
    assert_true(rest_has(&server, "\"continue\":\"again.\""));
    assert_true(rest_has(&server, "\"items\":[]"));
    assert_int_equal(ask(MAPS "?limit=2&continue=again."), 200);
    assert_int_equal(count_of("\"name\":\"a\""), 1);
    assert_int_equal(count_of("\"continue\":"), 1);
}

FAULT_TEST(the_token_of_an_empty_page_outlives_its_fault) {
    put("a");
    add("empty-page,n=1");
    assert_int_equal(ask(MAPS "?limit=2"), 200);
    assert_true(rest_has(&server, "\"continue\":\"again.\""));
    kt_faults_clear(kt_cluster_faults(server.cluster));
    assert_int_equal(ask(MAPS "?limit=2&continue=again."), 200);
    assert_int_equal(count_of("\"name\":\"a\""), 1);
}

FAULT_TEST(a_watch_is_repeated_from_earlier) {
    char target[96];
    put("a");
    put("b");
    put("c");
    snprintf(target, sizeof target, MAPS "?watch=1&resourceVersion=%llu",
             (unsigned long long)kt_cluster_revision(server.cluster));
    add("repeat,events=2");
    watch(target);
    assert_int_equal(count_of("\"ADDED\""), 2);
}

FAULT_TEST(a_rewound_cluster_has_its_old_state_and_version) {
    put("a");
    put("b");
    uint64_t revision = kt_cluster_revision(server.cluster);
    put("c");
    assert_int_equal(rest_send(&server, "DELETE", MAPS "/a", NULL, NULL), 200);
    kt_response watching;
    kt_watch *open = rest_watch_open(&server, MAPS "?watch=1", &watching);
    assert_int_equal(kt_cluster_rewind(server.cluster, 2, server.now_ms), KI_OK);
    assert_int_equal(kt_cluster_revision(server.cluster), revision);
    assert_int_equal(rest_watch_read(&server, open), KT_WATCH_ENDED);
    kt_response_free(&watching);
    assert_int_equal(kt_cluster_count(server.cluster, KI_CONFIGMAPS), 2);
    assert_int_equal(rest_get(&server, MAPS "/a"), 200);
    assert_int_equal(rest_get(&server, MAPS "/c"), 404);
    put("d");
    assert_int_equal(kt_cluster_reset(server.cluster, server.now_ms, NULL), KI_OK);
    assert_int_equal(kt_cluster_count(server.cluster, KI_CONFIGMAPS), 0);
    assert_int_equal(kt_cluster_count(server.cluster, KI_NAMESPACES), 4);
}

FAULT_TEST(faults_come_and_go_over_http_from_the_same_machine_only) {
    assert_int_equal(ask_with("POST", "/_faults", "t", "status,code=503,verb=list\n", true), 201);
    assert_true(rest_has(&server, "{\"id\":1}"));
    assert_int_equal(ask(MAPS), 503);
    assert_int_equal(ask("/_faults"), 200);
    assert_true(rest_has(&server, "{\"id\":1,\"fault\":\"status,code=503,verb=list\",\"requests\":1,\"injected\":1}"));
    assert_int_equal(ask_with("GET", "/_faults", "t", NULL, false), 403);
    assert_int_equal(ask_with("POST", "/_faults", "t", "close", false), 403);
    assert_int_equal(ask_with("DELETE", "/_faults/1", "t", NULL, true), 200);
    assert_int_equal(ask_with("DELETE", "/_faults/1", "t", NULL, true), 404);
    assert_int_equal(ask_with("POST", "/_faults", "t", "nonsense", true), 400);
    assert_int_equal(ask_with("PUT", "/_faults", "t", "close", true), 405);
    assert_int_equal(ask(MAPS), 200);
    assert_int_equal(ask_with("POST", "/_faults", "t", "close", true), 201);
    assert_int_equal(ask_with("DELETE", "/_faults", "t", NULL, true), 200);
    assert_null(kt_cluster_faults(server.cluster)->first);
}

FAULT_TEST(actions_come_when_they_are_due) {
    kt_faults *faults = kt_cluster_faults(server.cluster);
    kt_action action;
    int64_t next_ms, start_ms = server.now_ms;
    add("compact,after=1s");
    add("restart,down=2s,every=10s,count=2");
    assert_true(kt_faults_next_action(faults, start_ms, &action, &next_ms));
    assert_int_equal(action.kind, KT_FAULT_RESTART);
    assert_int_equal(action.down_ms, 2000);
    assert_false(kt_faults_next_action(faults, start_ms, &action, &next_ms));
    assert_int_equal(next_ms, start_ms + 1000);
    assert_true(kt_faults_next_action(faults, start_ms + 1000, &action, &next_ms));
    assert_int_equal(action.kind, KT_FAULT_COMPACT);
    assert_false(kt_faults_next_action(faults, start_ms + 1000, &action, &next_ms));
    assert_int_equal(next_ms, start_ms + 10000);
    assert_true(kt_faults_next_action(faults, start_ms + 10000, &action, &next_ms));
    assert_false(kt_faults_next_action(faults, start_ms + 99000, &action, &next_ms));
    assert_int_equal(next_ms, INT64_MAX);
}

FAULT_TEST(wrong_lines_and_too_many_are_rejected) {
    kt_faults *faults = kt_cluster_faults(server.cluster);
    static const char *const wrong[] = { "",
                                         "nonsense",
                                         "status",
                                         "status,code=200",
                                         "status,code=x",
                                         "delay",
                                         "delay,time=x",
                                         "delay,time=25h",
                                         "cut,bytes=-1",
                                         "close,colour=red",
                                         "close,n=0",
                                         "close,percent=101",
                                         "too-large,shape=round",
                                         "too-large,as=x",
                                         "huge-event,bytes=100000000",
                                         "chunks,size=0",
                                         "status,code=500,reason=a\"b" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ki_error err = KI_ERROR_INIT;
        if (kt_faults_add(faults, wrong[i], 0, NULL, &err) != KI_ERR_INVALID || !ki_error_message(&err)[0])
            fail_msg("'%s' was taken", wrong[i]);
    }
    for (int i = 0; i < KT_FAULTS_MAX; i++)
        add("close,n=1000");
    assert_int_equal(kt_faults_add(faults, "close", 0, NULL, NULL), KI_ERR_LIMIT);
}

FAULT_TEST(a_fault_that_can_match_no_request_is_rejected_with_the_right_word) {
    static const struct {
        const char *line, *part; /* NULL: the fault is added */
    } rows[] = {
        { "close,resource=deployments", "\"deployments\" in the core group; did you mean deployments.apps?" },
        { "close,resource=podss", "did you mean pods?" },
        { "close,resource=pods+Pods", "did you mean pods?" },
        { "close,resource=po", "did you mean pods?" },
        { "close,resource=deploy", "did you mean deployments.apps?" },
        { "close,resource=deployments.v1.apps",
          "there is no resource \"deployments.v1.apps\"; did you mean deployments.apps?" },
        { "close,resource=deployments.app", "did you mean deployments.apps?" },
        { "close,resource=ingresses.networking.k8s.oi", "did you mean ingresses.networking.k8s.io?" },
        { "close,resource=events.event.k8s.io", "did you mean events.events.k8s.io?" },
        { "close,resource=leases.cordination.k8s.io/status", "did you mean leases.coordination.k8s.io?" },
        { "close,resource=deploymets.apps", "did you mean deployments.apps?" },
        { "close,resource=pods.v1", "did you mean pods?" },
        { "close,resource=websites", "written with its group: foos.example.com" },
        { "close,resource=podss*", "did you mean pods?" },
        { "close,resource=*/status", "only at the end" },
        { "close,resource=pods/sttus", "pods has no subresource \"sttus\"; did you mean status?" },
        { "close,resource=configmaps/status", "configmaps has no subresource \"status\"" },
        { "close,resource=foos.example.com/sttus", "did you mean status?" },
        { "close,resource=", "resource= has no value" },
        { "close,resource=pods++nodes", "there is no resource \"\"" },
        { "close,resource=users", "there is no resource \"users\"" },
        { "close,resource=nodes,namespace=default", "nodes are not in a namespace" },
        { "close,verb=lst", "there is no verb \"lst\"; did you mean list?" },
        { "close,verb=wacth", "did you mean watch?" },
        { "close,verb=remove", "there are get, list" },
        { "close,verb=post,resource=pods", "did you mean create?" },
        { "close,verb=impersonate", "there is no verb \"impersonate\"" },
        { "close,verb=watch,resource=pods/status", "a subresource has neither" },
        { "close,path=version", "a path begins with /" },
        { "close,n=3,every=2", "n=3" },
        { "close,after=5s,until=2s", "until= is before after=" },
        { "lose,verb=list", "verb=watch" },
        { "shuffle,verb=get+list", "verb=watch" },
        { "empty-page,verb=watch", "verb=list" },
        { "stale,verb=get", "verb=list+watch" },
        { "lose,event=0", "event=0" },
        { "close,resource=pods+deployments.apps+pods/log+nodes,namespace=default", NULL },
        { "close,resource=foos.example.com/status", NULL }, /* its definition may come later */
        { "close,resource=ingresses.networking.example.com+events.event.example.io", NULL },
        { "close,resource=foos.*", NULL },
        { "close,resource=deploy*+pods/*", NULL },
        { "close,resource=*", NULL },
        { "close,verb=wat*", NULL },
        { "close,verb=post,path=/version", NULL },
        { "close,n=4,every=2", NULL },
        { "end,event=0", NULL },
        { "lose,verb=list+watch", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_status status = kt_faults_add(kt_cluster_faults(server.cluster), rows[i].line, 0, NULL, &err);
        if (status != (rows[i].part ? KI_ERR_INVALID : KI_OK))
            fail_msg("'%s': %d %s", rows[i].line, status, ki_error_message(&err));
        if (rows[i].part && !strstr(ki_error_message(&err), rows[i].part))
            fail_msg("'%s': %s", rows[i].line, ki_error_message(&err));
    }
    assert_int_equal(ask_with("POST", "/_faults", "t", "status,code=503,resource=deployments", true), 400);
    assert_non_null(strstr(server.text.data, "did you mean deployments.apps?"));
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    static const char *const faults[] = { "error-event,event=2", "again,event=1", "huge-event,event=1,bytes=1000",
                                          "shuffle" };
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        kt_cluster *cluster;
        if (kt_cluster_new(&memory.allocator, NULL, &cluster, NULL) == KI_OK) {
            for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
                (void)!kt_faults_add(kt_cluster_faults(cluster), faults[i], 0, NULL, NULL);
            const kt_request request = { .method = "GET",
                                         .target = "/api/v1/namespaces?watch=1&sendInitialEvents=true&"
                                                   "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                                         .from_network = true };
            kt_response response;
            if (kt_rest_handle(cluster, &request, 0, &response) == KI_OK) {
                ki_buffer out;
                kt_watch_state is;
                ki_buffer_init(&out, &memory.allocator, 0);
                if (response.watch)
                    (void)!kt_response_read(&response, 0, &out, 4096, NULL, &is);
                ki_buffer_free(&out);
                kt_response_free(&response);
            }
            kt_cluster_free(cluster);
        }
    }
}
