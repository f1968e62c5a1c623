/* watches: where they start, what they show, and how they end. */
#include "src/base/memory.h"
#include "testing/cluster/object.h"
#include "testing/request/watch.h"
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define PODS "/api/v1/namespaces/default/pods"
#define MERGE "application/merge-patch+json"
#define STREAM "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

/* Revisions 1 to 5 make the namespaces; p1 is 6, p2 is 7. */
static int start(void **state) {
    rest_set_up(state);
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p1\",\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
              "\"image\":\"i\"}]}}");
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p2\",\"labels\":{\"app\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
              "\"image\":\"i\"}]}}");
    return 0;
}

#define REST_WATCH_TEST(name) REST_TEST_WITH(start, name)

/* The events in the last text, as "ADDED p1 6; BOOKMARK 7; ". */
static const char *events(void) {
    static char text[4096];
    size_t used = 0;
    text[0] = '\0';
    for (const char *line = server.text.data; line && *line; line = strchr(line, '\n') + 1) {
        char type[16] = "", name[32] = "", revision[32] = "";
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        sscanf(line, "{\"type\":\"%15[A-Z]", type);
        const char *at = strstr(line, "\"metadata\":{\"name\":\"");
        if (at && at < end)
            sscanf(at, "\"metadata\":{\"name\":\"%31[^\"]", name);
        at = strstr(line, "\"resourceVersion\":\"");
        if (at && at < end)
            sscanf(at, "\"resourceVersion\":\"%31[^\"]", revision);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s%s %s; ", type, name[0] ? " " : "", name, revision);
    }
    return text;
}

static void change_things(void) {
    rest_send(&server, "PATCH", PODS "/p1", MERGE, "{\"metadata\":{\"labels\":{\"app\":\"b\"}}}"); /* 8 */
    rest_send(&server, "PATCH", PODS "/p2", MERGE, "{\"metadata\":{\"labels\":{\"app\":\"a\"}}}"); /* 9 */
    rest_send(&server, "PATCH", PODS "/p2", MERGE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");   /* 10 */
    rest_send(&server, "DELETE", PODS "/p2", NULL, NULL);                                          /* 11 */
    rest_send(&server, "DELETE", PODS "/p1", NULL, NULL);                                          /* 12 */
}

REST_WATCH_TEST(a_watch_shows_what_its_start_and_selector_say) {
    static const struct {
        const char *query;
        const char *first;
        const char *later;
    } cases[] = {
        { "watch=1", "ADDED p1 6; ADDED p2 7; ",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&resourceVersion=0", "ADDED p1 6; ADDED p2 7; ",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&resourceVersion=6", "ADDED p2 7; ",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&resourceVersion=7", "",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&resourceVersion=9", "", "MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&labelSelector=app%3Da", "ADDED p1 6; ",
          "DELETED p1 8; ADDED p2 9; MODIFIED p2 10; DELETED p2 11; " },
        { "watch=1&resourceVersion=5&labelSelector=app%3Da", "ADDED p1 6; ",
          "DELETED p1 8; ADDED p2 9; MODIFIED p2 10; DELETED p2 11; " },
        { "watch=1&fieldSelector=metadata.name%3Dp1", "ADDED p1 6; ", "MODIFIED p1 8; DELETED p1 12; " },
        { "watch=1" STREAM, "ADDED p1 6; ADDED p2 7; BOOKMARK 7; ",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&resourceVersion=6" STREAM, "ADDED p1 6; ADDED p2 7; BOOKMARK 7; ",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
        { "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "",
          "MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; DELETED p1 12; " },
    };
    enum {
        CASES = sizeof cases / sizeof cases[0]
    };
    kt_response responses[CASES];
    for (size_t i = 0; i < CASES; i++) {
        char target[256];
        snprintf(target, sizeof target, PODS "?%s", cases[i].query);
        kt_watch *watch = rest_watch_open(&server, target, &responses[i]);
        assert_non_null(watch);
        assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_WAITS);
        assert_string_equal(events(), cases[i].first);
    }
    change_things();
    for (size_t i = 0; i < CASES; i++) {
        assert_int_equal(rest_watch_read(&server, responses[i].watch), KT_WATCH_WAITS);
        assert_string_equal(events(), cases[i].later);
        kt_response_free(&responses[i]);
    }
}

REST_WATCH_TEST(the_end_of_the_initial_events_is_marked) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1" STREAM, &response);
    rest_watch_read(&server, watch);
    assert_true(rest_has(&server,
                         "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                         "\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"));
    kt_response_free(&response);
}

REST_WATCH_TEST(bookmarks_come_when_they_are_due_and_were_asked_for) {
    kt_response with, without;
    kt_watch *asked = rest_watch_open(&server, PODS "?watch=1&resourceVersion=7&allowWatchBookmarks=1", &with);
    kt_watch *not_asked = rest_watch_open(&server, PODS "?watch=1&resourceVersion=7", &without);
    rest_post(&server, "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"m\"}}");
    assert_int_equal(kt_watch_deadline(asked), server.now_ms + 60000);
    assert_true(kt_watch_deadline(not_asked) > server.now_ms + 60000);
    rest_watch_read(&server, asked);
    assert_string_equal(events(), "");
    server.now_ms += 60000;
    rest_watch_read(&server, asked);
    assert_string_equal(events(), "BOOKMARK 8; ");
    assert_int_equal(kt_watch_deadline(asked), server.now_ms + 60000);
    rest_watch_read(&server, not_asked);
    assert_string_equal(events(), "");
    kt_response_free(&with);
    kt_response_free(&without);
}

REST_WATCH_TEST(a_watch_from_the_future_has_no_bookmark_until_its_time_has_come) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=9&allowWatchBookmarks=1", &response);
    for (unsigned minutes = 0; minutes < 3; minutes++) {
        server.now_ms += 60000;
        rest_watch_read(&server, watch);
        assert_string_equal(events(), "");
    }
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p3\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"); /* 8 */
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p4\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"); /* 9 */
    rest_watch_read(&server, watch);
    assert_string_equal(events(), "");
    server.now_ms += 60000;
    rest_watch_read(&server, watch);
    assert_string_equal(events(), "BOOKMARK 9; ");
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p5\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"); /* 10 */
    rest_watch_read(&server, watch);
    assert_string_equal(events(), "ADDED p5 10; ");
    kt_response_free(&response);
}

REST_WATCH_TEST(a_watch_ends_at_its_timeout) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=7&timeoutSeconds=5", &response);
    assert_int_equal(kt_watch_deadline(watch), server.now_ms + 5000);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_WAITS);
    server.now_ms += 5000;
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_string_equal(events(), "");
    kt_response_free(&response);
}

REST_WATCH_TEST(a_restart_ends_watches_cleanly) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=6", &response);
    kt_cluster_close_watches(server.cluster);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_string_equal(events(), "ADDED p2 7; ");
    kt_response_free(&response);
}

REST_WATCH_TEST(a_watch_that_was_closed_gets_no_later_change) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=6", &response);
    kt_cluster_close_watches(server.cluster);
    change_things();
    kt_cluster_close_watches(server.cluster);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_string_equal(events(), "ADDED p2 7; ");
    kt_response_free(&response);
}

REST_WATCH_TEST(a_place_that_is_compacted_is_reported_once) {
    kt_response early, late, slow;
    kt_watch *lagging = rest_watch_open(&server, PODS "?watch=1&resourceVersion=7", &slow);
    change_things();
    kt_cluster_compact(server.cluster, 11);
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=7", &early);
    assert_int_equal(early.status, 200);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_true(rest_has(&server, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\""));
    assert_true(
        rest_has(&server, "\"message\":\"too old resource version: 7 (11)\",\"reason\":\"Expired\",\"code\":410"));
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_string_equal(events(), "");
    assert_int_equal(rest_watch_read(&server, lagging), KT_WATCH_ENDED);
    assert_true(rest_has(&server, "too old resource version: 7 (11)"));
    watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=11", &late);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_WAITS);
    assert_string_equal(events(), "DELETED p1 12; ");
    kt_response_free(&early);
    kt_response_free(&late);
    kt_response_free(&slow);
}

REST_WATCH_TEST(a_revision_from_the_future_waits_or_is_too_large) {
    kt_response waiting, streaming;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=9", &waiting);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_WAITS);
    change_things();
    rest_watch_read(&server, watch);
    assert_string_equal(events(), "MODIFIED p2 10; DELETED p2 11; DELETED p1 12; ");
    watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=99" STREAM, &streaming);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_true(rest_has(&server, "Too large resource version: 99, current: 12"));
    kt_response_free(&waiting);
    kt_response_free(&streaming);
}

static void take_note(void *user) {
    ++*(int *)user;
}

REST_WATCH_TEST(a_watch_is_woken_once_until_it_has_read_all) {
    int woken = 0;
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1&resourceVersion=7", &response);
    kt_watch_set_wake(watch, take_note, &woken);
    change_things();
    assert_int_equal(woken, 1);
    rest_watch_read(&server, watch);
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p3\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    assert_int_equal(woken, 2);
    kt_response_free(&response);
}

REST_WATCH_TEST(a_reader_takes_as_much_as_it_wants) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1", &response);
    kt_watch_state now;
    for (int i = 0; i < 2; i++) {
        ki_buffer_reset(&server.text, SIZE_MAX);
        assert_int_equal(kt_watch_read(watch, server.now_ms, &server.text, 1, NULL, &now), KI_OK);
        ki_buffer_append(&server.text, "", 0);
        assert_string_equal(events(), i ? "ADDED p2 7; " : "ADDED p1 6; ");
        assert_int_equal(now, i ? KT_WATCH_WAITS : KT_WATCH_MORE);
    }
    kt_response_free(&response);
}

REST_WATCH_TEST(a_first_state_stays_as_it_was_however_slowly_it_is_read) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, PODS "?watch=1", &response);
    change_things();
    rest_watch_read(&server, watch);
    assert_string_equal(events(),
                        "ADDED p1 6; ADDED p2 7; MODIFIED p1 8; MODIFIED p2 9; MODIFIED p2 10; DELETED p2 11; "
                        "DELETED p1 12; ");
    kt_response_free(&response);
}

REST_WATCH_TEST(a_table_is_watched_with_its_columns_once) {
    const kt_request request = { .method = "GET",
                                 .target = PODS "?watch=1",
                                 .accept = "application/json;as=Table;v=v1;g=meta.k8s.io" };
    kt_response response;
    assert_int_equal(kt_rest_handle(server.cluster, &request, server.now_ms, &response), KI_OK);
    rest_watch_read(&server, response.watch);
    assert_true(rest_has(&server, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\""));
    const char *columns = strstr(server.text.data, "\"columnDefinitions\":[");
    assert_non_null(columns);
    assert_null(strstr(columns + 1, "\"columnDefinitions\":["));
    kt_response_free(&response);
}

REST_WATCH_TEST(a_server_without_streaming_lists_rejects_them) {
    kt_cluster_options options = { .no_streaming_list = true };
    rest_server old;
    rest_server_start(&old, &options);
    assert_int_equal(rest_get(&old, PODS "?watch=1" STREAM), 422);
    assert_true(
        rest_has(&old, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"));
    rest_server_stop(&old);
}

REST_WATCH_TEST(a_large_object_is_shared_by_those_who_watch_it) {
    enum {
        WATCHES = 3,
        SIZE = 2 * KT_WATCH_SHARED_MIN
    };
    static char body[SIZE + 128];
    kt_response responses[WATCHES];
    kt_watch *watches[WATCHES];
    kt_object *first = NULL;
    for (size_t i = 0; i < WATCHES; i++)
        watches[i] = rest_watch_open(&server, "/api/v1/configmaps?watch=1&resourceVersion=7", &responses[i]);
    int head = snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"large\"},\"data\":{\"k\":\"");
    memset(body + head, 'x', SIZE);
    snprintf(body + head + SIZE, 128 - (size_t)head, "\"}}");
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/default/configmaps", body), 201);
    rest_send(&server, "PATCH", "/api/v1/namespaces/default/configmaps/large", MERGE, "{\"data\":null}");

    rest_watch_read(&server, watches[0]); /* whole */
    for (size_t i = 1; i < WATCHES; i++) {
        kt_object *object = NULL;
        kt_watch_state is;
        ki_buffer out;
        ki_buffer_init(&out, &ki_allocator_default, 0);
        assert_int_equal(kt_watch_read(watches[i], server.now_ms, &out, 1 << 20, &object, &is), KI_OK);
        assert_int_equal(is, KT_WATCH_MORE);
        assert_string_equal(out.data, "{\"type\":\"ADDED\",\"object\":");
        assert_non_null(object);
        first = first ? first : object;
        assert_ptr_equal(object, first);
        ki_buffer_append_view(&out, object->json);
        ki_buffer_append_string(&out, KT_WATCH_FRAME_END);
        kt_object_unref(object);
        object = NULL;
        assert_int_equal(kt_watch_read(watches[i], server.now_ms, &out, 1 << 20, &object, &is), KI_OK);
        assert_int_equal(is, KT_WATCH_WAITS);
        assert_null(object);
        assert_string_equal(out.data, server.text.data);
        ki_buffer_free(&out);
    }
    for (size_t i = 0; i < WATCHES; i++)
        kt_response_free(&responses[i]);
}
