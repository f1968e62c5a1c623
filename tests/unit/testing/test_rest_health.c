/* test_rest_health.c: what monitoring asks the test server. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

REST_TEST(health_is_reported_in_a_word_or_check_by_check) {
    static const struct {
        const char *target;
        int status;
        const char *text;
    } rows[] = {
        { "/healthz", 200, "ok" },
        { "/livez", 200, "ok" },
        { "/readyz/ping", 200, "ok" },
        { "/readyz/nothing", 404, "404 page not found\n" },
        { "/readyz/ping/more", 404, "404 page not found\n" },
        { "/readyz?verbose", 200,
          "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]informer-sync ok\n[+]shutdown ok\nreadyz check passed\n" },
        { "/livez?verbose=1&exclude=etcd&exclude=x&exclude=y", 200,
          "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]informer-sync ok\n[+]shutdown ok\nwarn: some health checks "
          "cannot be "
          "excluded: no matches for \"x\", \"y\"\nlivez check passed\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(rest_get(&server, rows[i].target), rows[i].status);
        assert_string_equal(server.text.data, rows[i].text);
    }
}

REST_TEST(metrics_count_objects_and_watches) {
    kt_response response;
    rest_post(&server, "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    rest_watch_open(&server, "/api/v1/configmaps?watch=1", &response);
    assert_int_equal(rest_get(&server, "/metrics"), 200);
    assert_string_equal(server.response.content_type, "text/plain; version=0.0.4; charset=utf-8");
    assert_true(rest_has(&server, "\napiserver_resource_objects{group=\"\",resource=\"configmaps\"} 1\n"));
    assert_true(rest_has(&server, "\napiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 0\n"));
    assert_true(rest_has(&server, "\napiserver_longrunning_requests{component=\"apiserver\",group=\"\",version=\"v1\","
                                  "resource=\"configmaps\",verb=\"WATCH\"} 1\n"));
    kt_response_free(&response);
    assert_int_equal(rest_get(&server, "/metrics/more"), 404);
}
