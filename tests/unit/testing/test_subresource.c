/* Scale, eviction, binding, tokens of service accounts, finalize: what each changes and returns. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>

#define DEPLOYMENT "/apis/apps/v1/namespaces/default/deployments/d"
#define POD "/api/v1/namespaces/default/pods/p"
#define JSON "application/json"
#define MERGE "application/merge-patch+json"

static int start(void **state) {
    rest_set_up(state);
    assert_int_equal(
        rest_post(&server, "/apis/apps/v1/namespaces/default/deployments",
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"b\":\"2\","
                  "\"a\":\"1\"},"
                  "\"matchExpressions\":[{\"key\":\"t\",\"operator\":\"In\",\"values\":[\"x\",\"y\"]},{\"key\":\"u\","
                  "\"operator\":"
                  "\"DoesNotExist\"}]},\"template\":{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"t\":\"x\"}},"
                  "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
        201);
    assert_int_equal(
        rest_post(&server, "/api/v1/namespaces/default/pods",
                  "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
        201);
    return 0;
}

#define SUBRESOURCE_TEST(name) REST_TEST_WITH(start, name)

SUBRESOURCE_TEST(a_scale_shows_and_sets_the_replicas) {
    assert_int_equal(rest_get(&server, DEPLOYMENT "/scale"), 200);
    assert_true(rest_has(&server, "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/"
                                  "v1\",\"metadata\":{\"name\":\"d\",\"namespace\":\"default\""));
    assert_true(rest_has(
        &server, "\"spec\":{\"replicas\":2},\"status\":{\"replicas\":0,\"selector\":\"a=1,b=2,t in (x,y),!u\"}}"));
    assert_int_equal(rest_send(&server, "PUT", DEPLOYMENT "/scale", JSON,
                               "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":5}}"),
                     200);
    assert_true(rest_has(&server, "\"spec\":{\"replicas\":5}"));
    assert_int_equal(rest_send(&server, "PATCH", DEPLOYMENT "/scale", MERGE, "{\"spec\":{\"replicas\":7}}"), 200);
    assert_int_equal(rest_send(&server, "PATCH", DEPLOYMENT "/scale", "application/json-patch+json",
                               "[{\"op\":\"test\",\"path\":\"/spec/"
                               "replicas\",\"value\":7},{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":8}]"),
                     200);
    assert_int_equal(rest_get(&server, DEPLOYMENT), 200);
    assert_true(rest_has(&server, "\"replicas\":8"));
    assert_true(rest_has(&server, "\"generation\":4"));
    assert_true(rest_has(&server, "\"fieldsV1\":{\"f:spec\":{\"f:replicas\":{}}},\"subresource\":\"scale\""));
}

SUBRESOURCE_TEST(bad_scales_are_rejected) {
    static const struct {
        const char *method;
        const char *type;
        const char *body;
        int status;
    } cases[] = {
        { "PUT", JSON, "{\"spec\":{\"replicas\":-1}}", 422 },
        { "PUT", JSON, "{\"spec\":{\"replicas\":\"x\"}}", 400 },
        { "PUT", JSON, "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"replicas\":1}}", 409 },
        { "PUT", JSON, "{\"metadata\":{\"name\":\"e\"},\"spec\":{\"replicas\":1}}", 400 },
        { "PUT", JSON, "[", 400 },
        { "PATCH", MERGE, "[", 400 },
        { "PATCH", JSON, "{}", 415 },
        { "PATCH", "application/json-patch+json", "[{\"op\":\"test\",\"path\":\"/spec/replicas\",\"value\":9}]", 422 },
        { "DELETE", JSON, "{}", 405 },
    };
    uint64_t before = kt_cluster_revision(server.cluster);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(rest_send(&server, cases[i].method, DEPLOYMENT "/scale", cases[i].type, cases[i].body),
                         cases[i].status);
    assert_int_equal(rest_get(&server, POD "/scale"), 404);
    assert_int_equal(rest_get(&server, "/apis/apps/v1/namespaces/default/deployments/x/scale"), 404);
    assert_int_equal(kt_cluster_revision(server.cluster), before);
}

SUBRESOURCE_TEST(a_binding_puts_a_pod_on_its_node_once) {
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\"},\"target\":{"
                               "\"kind\":\"Node\",\"name\":\"n1\"}}";
    assert_int_equal(rest_send(&server, "POST", POD "/binding", JSON, "{\"metadata\":{\"name\":\"p\"},\"target\":{}}"),
                     500);
    assert_int_equal(rest_send(&server, "POST", POD "/binding", JSON, body), 201);
    assert_true(rest_has(&server, "\"status\":\"Success\",\"code\":201"));
    assert_int_equal(rest_get(&server, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"), 200);
    assert_true(rest_has(&server, "\"type\":\"PodScheduled\",\"status\":\"True\""));
    assert_int_equal(rest_send(&server, "POST", POD "/binding", JSON, body), 409);
    assert_true(rest_has(&server, "pod p is already assigned to node \\\"n1\\\""));
}

SUBRESOURCE_TEST(an_eviction_deletes_the_pod) {
    static const char eviction[] = "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"}}";
    static const char dry[] =
        "{\"apiVersion\":\"policy/"
        "v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"},\"deleteOptions\":{\"dryRun\":[\"All\"]}}";
    assert_int_equal(rest_send(&server, "POST", POD "/eviction", JSON, dry), 201);
    assert_int_equal(rest_get(&server, POD), 200);
    assert_int_equal(rest_send(&server, "POST", POD "/eviction", JSON, eviction), 201);
    assert_int_equal(rest_get(&server, POD), 404);
    assert_int_equal(rest_send(&server, "POST", POD "/eviction", JSON, eviction), 404);
}

SUBRESOURCE_TEST(a_service_account_gets_a_token) {
    static const char target[] = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    assert_int_equal(
        rest_post(&server, "/api/v1/namespaces/default/serviceaccounts", "{\"metadata\":{\"name\":\"robot\"}}"), 201);
    assert_int_equal(rest_post(&server, target, "{\"spec\":{\"expirationSeconds\":7200}}"), 201);
    assert_true(rest_has(&server, "\"token\":\"eyJhbGciOiJub25lIn0."));
    assert_true(rest_has(&server, "\"expirationTimestamp\":\"2026-05-28T22:26:40Z\""));
    assert_int_equal(rest_post(&server, target, "{\"spec\":{\"expirationSeconds\":1}}"), 422);
    assert_true(rest_has(&server, "may not specify a duration less than 10 minutes"));
}

SUBRESOURCE_TEST(a_namespace_that_is_deleted_goes_once_it_is_finalized) {
    assert_int_equal(rest_post(&server, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/n/configmaps",
                               "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"x/y\"]}}"),
                     201);
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/n", NULL, NULL), 200);
    assert_int_equal(rest_send(&server, "PUT", "/api/v1/namespaces/n/finalize", JSON,
                               "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[\"a/b\"]}}"),
                     200);
    assert_true(rest_has(&server, "\"finalizers\":[\"a/b\"]"));
    assert_int_equal(
        rest_send(&server, "PUT", "/api/v1/namespaces/n/finalize", JSON, "{\"metadata\":{\"name\":\"n\"},\"spec\":{}}"),
        200);
    assert_int_equal(rest_get(&server, "/api/v1/namespaces/n"), 404);
}

SUBRESOURCE_TEST(tables_show_containers_images_and_selectors) {
    assert_int_equal(rest_get_as(&server, "/apis/apps/v1/namespaces/default/deployments",
                                 "application/json;as=Table;v=v1;g=meta.k8s.io"),
                     200);
    assert_true(rest_has(&server, "{\"cells\":[\"d\",\"0/2\",0,0,\"0s\",\"c\",\"i\",\"a=1,b=2,t in (x,y),!u\"]"));
    assert_int_equal(rest_post(&server, "/apis/batch/v1/namespaces/default/jobs",
                               "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":"
                               "\"Never\",\"containers\":[{"
                               "\"name\":\"c\",\"image\":\"i\"}]}}}}"),
                     201);
    assert_int_equal(
        rest_get_as(&server, "/apis/batch/v1/namespaces/default/jobs", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        200);
    assert_true(rest_has(
        &server,
        "{\"cells\":[\"j\",\"Running\",\"0/1\",\"\",\"0s\",\"c\",\"i\",\"batch.kubernetes.io/controller-uid="));
}
