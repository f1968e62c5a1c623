/* test_versions.c: one object in several versions: of custom resources, events and autoscalers; and the scale of a
 * custom resource. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"
#include "testing/values/version.h"

#include <stdio.h>
#include <string.h>

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define FOOS(version) "/apis/example.com/" version "/namespaces/default/foos"
#define MERGE "application/merge-patch+json"
#define JSON "application/json"

#define SCHEMA(properties) \
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\"," \
    "\"properties\":{" properties \
    "}},\"status\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}"
#define BOTH "\"a\":{\"type\":\"string\"},\"replicas\":{\"type\":\"integer\"}"
#define VERSION(name, storage, schema, more) \
    "{\"name\":\"" name "\",\"served\":true,\"storage\":" storage "," SCHEMA(schema) more "}"
#define CRD(versions) \
    "{\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\"," \
    "\"names\":{" \
    "\"plural\":\"foos\",\"kind\":\"Foo\"},\"versions\":[" versions "]}}"
#define SCALED \
    ",\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":" \
    "\".status.replicas\",\"labelSelectorPath\":\".status.sel\"}}"
#define ALL_VERSIONS \
    VERSION("v1alpha1", "false", BOTH, "") \
    "," VERSION("v1beta2", "false", BOTH, ",\"deprecated\":true") "," VERSION("v1", "true", BOTH, SCALED) "," VERSION( \
        "v10beta3", "false", BOTH, \
        ",\"deprecated\":true,\"deprecationWarning\":\"use v1\"") "," VERSION("v2", "false", \
                                                                              "\"a\":{\"type\":\"string\"},\"b\":{" \
                                                                              "\"type\":\"string\",\"default\":" \
                                                                              "\"x\"}", \
                                                                              ",\"selectableFields\":[{\"jsonPath\":" \
                                                                              "\".spec.b\"}]") "," VERSION("foo1", \
                                                                                                           "false", \
                                                                                                           BOTH, "")

static int set_up(void **state) {
    rest_set_up(state);
    assert_int_equal(rest_post(&server, CRDS, CRD(ALL_VERSIONS)), 201);
    assert_int_equal(rest_post(&server, FOOS("v1"),
                               "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f\"},"
                               "\"spec\":{\"a\":\"1\",\"replicas\":2}}"),
                     201);
    return 0;
}

#define VERSIONS_TEST(name) REST_TEST_WITH(set_up, name)

VERSIONS_TEST(versions_come_in_kubernetes_order) {
    static const char *const sorted[] = { "v11",     "v2",   "v1",    "v10beta3", "v3beta1", "v1beta2",
                                          "v1beta1", "foo1", "foo10", "v01",      "v2alpha" };
    for (size_t i = 0; i < sizeof sorted / sizeof sorted[0]; i++) {
        for (size_t k = 0; k < sizeof sorted / sizeof sorted[0]; k++) {
            int order = kt_version_compare(sorted[i], sorted[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
    assert_int_equal(rest_get(&server, "/apis/example.com"), 200);
    static const char *const served[] = { "v2", "v1", "v10beta3", "v1beta2", "v1alpha1", "foo1" };
    const char *at = server.text.data;
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        char part[64];
        snprintf(part, sizeof part, "\"version\":\"%s\"", served[i]);
        const char *found = strstr(server.text.data, part);
        assert_non_null(found);
        assert_true(found > at);
        at = found;
    }
}

VERSIONS_TEST(an_object_is_there_in_each_version) {
    static const struct {
        const char *method, *target, *body;
        int status;
        const char *part, *absent;
    } rows[] = {
        { "GET", FOOS("v1beta2") "/f", NULL, 200, "\"apiVersion\":\"example.com/v1beta2\",\"metadata\":{\"name\":\"f\"",
          NULL },
        { "GET", FOOS("v2") "/f", NULL, 200, "\"spec\":{\"a\":\"1\"}", "replicas\":2" },
        { "GET", FOOS("v2"), NULL, 200, "\"spec\":{\"a\":\"1\"}", "replicas\":2" },
        { "PATCH", FOOS("v1beta2") "/f", "{\"spec\":{\"a\":\"2\"}}", 200,
          "\"kind\":\"Foo\",\"apiVersion\":\"example.com/v1beta2\"", NULL },
        { "GET", FOOS("v1") "/f", NULL, 200, "\"spec\":{\"a\":\"2\",\"replicas\":2}", NULL },
        { "GET", FOOS("v1") "/f", NULL, 200, "\"generation\":2", NULL },
        { "PATCH", FOOS("v2") "/f", "{\"spec\":{\"b\":\"x\"}}", 200, "\"spec\":{\"a\":\"2\",\"b\":\"x\"}", NULL },
        { "GET", FOOS("v2") "?fieldSelector=spec.b%3Dx", NULL, 200, "\"name\":\"f\"", NULL },
        { "GET", FOOS("v2") "?fieldSelector=spec.b%3Dy", NULL, 200, "\"items\":[]", NULL },
        { "POST", FOOS("v2"), "{\"apiVersion\":\"example.com/v2\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f\"}}", 409,
          NULL, NULL },
        { "DELETE", FOOS("v1alpha1") "/f", NULL, 200, NULL, NULL },
        { "GET", FOOS("v1") "/f", NULL, 404, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *type = strcmp(rows[i].method, "PATCH") == 0 ? MERGE : JSON;
        assert_int_equal(rest_send(&server, rows[i].method, rows[i].target, type, rows[i].body), rows[i].status);
        if (rows[i].part)
            assert_true(rest_has(&server, rows[i].part));
        if (rows[i].absent)
            assert_null(strstr(server.text.data, rows[i].absent));
    }
}

VERSIONS_TEST(a_watch_shows_changes_of_all_versions_in_its_own) {
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, FOOS("v2") "?watch=1", &response);
    rest_watch_read(&server, watch);
    assert_true(
        rest_has(&server, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Foo\",\"apiVersion\":\"example.com/v2\""));
    assert_int_equal(rest_send(&server, "PATCH", FOOS("v1") "/f", MERGE, "{\"spec\":{\"a\":\"3\"}}"), 200);
    rest_watch_read(&server, watch);
    assert_true(
        rest_has(&server, "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Foo\",\"apiVersion\":\"example.com/v2\""));
    assert_true(rest_has(&server, "\"spec\":{\"a\":\"3\"}"));
    assert_int_equal(rest_send(&server, "DELETE", FOOS("v1beta2") "/f", NULL, NULL), 200);
    rest_watch_read(&server, watch);
    assert_true(
        rest_has(&server, "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Foo\",\"apiVersion\":\"example.com/v2\""));
    kt_response_free(&response);
}

VERSIONS_TEST(objects_stay_while_a_version_is_served) {
    kt_response response;
    assert_int_equal(rest_send(&server, "PATCH", CRDS "/foos.example.com", MERGE, CRD(VERSION("v2", "true", BOTH, ""))),
                     200);
    assert_int_equal(rest_get(&server, FOOS("v1") "/f"), 404);
    assert_int_equal(rest_get(&server, FOOS("v2") "/f"), 200);
    assert_true(rest_has(&server, "\"spec\":{\"a\":\"1\",\"replicas\":2}"));
    assert_int_equal(rest_send(&server, "PATCH", CRDS "/foos.example.com", MERGE, CRD(ALL_VERSIONS)), 200);
    assert_int_equal(rest_get(&server, FOOS("v1") "/f"), 200);
    assert_int_equal(rest_send(&server, "DELETE", CRDS "/foos.example.com", NULL, NULL), 200);
    assert_int_equal(rest_post(&server, CRDS, CRD(ALL_VERSIONS)), 201);
    assert_int_equal(rest_get(&server, FOOS("v1")), 200);
    assert_true(rest_has(&server, "\"items\":[]"));
    kt_watch *watch = rest_watch_open(&server, FOOS("v2") "?watch=1&resourceVersion=10",
                                      &response); /* history is told in every version */
    rest_watch_read(&server, watch);
    assert_true(
        rest_has(&server, "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Foo\",\"apiVersion\":\"example.com/v2\""));
    kt_response_free(&response);
}

VERSIONS_TEST(going_back_brings_objects_back_in_each_version) {
    assert_int_equal(rest_send(&server, "DELETE", FOOS("v1") "/f", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, FOOS("v2")), 200);
    assert_int_equal(kt_cluster_rewind(server.cluster, 1, server.now_ms), KI_OK);
    assert_int_equal(rest_get(&server, FOOS("v2") "/f"), 200);
    assert_int_equal(rest_get(&server, FOOS("v2")), 200);
    assert_true(rest_has(&server, "\"name\":\"f\""));
}

VERSIONS_TEST(a_namespace_is_emptied_of_them) {
    assert_int_equal(rest_post(&server, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(rest_post(&server, "/apis/example.com/v2/namespaces/a/foos",
                               "{\"apiVersion\":\"example.com/v2\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"g\"}}"),
                     201);
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/a", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, "/api/v1/namespaces/a"), 404);
    assert_int_equal(rest_get(&server, "/apis/example.com/v1/namespaces/a/foos/g"), 404);
}

VERSIONS_TEST(a_deprecated_version_warns) {
    static const char *const warnings[][2] = {
        { FOOS("v1beta2"), "example.com/v1beta2 Foo is deprecated; use example.com/v2 Foo\n" },
        { FOOS("v1beta2") "/f", "example.com/v1beta2 Foo is deprecated; use example.com/v2 Foo\n" },
        { FOOS("v10beta3") "/f", "use v1\n" },
        { FOOS("v1") "/f", NULL },
    };
    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
        assert_int_equal(rest_get(&server, warnings[i][0]), 200);
        if (warnings[i][1])
            assert_string_equal(server.response.warnings.data, warnings[i][1]);
        else
            assert_int_equal(server.response.warnings.size, 0);
    }
}

VERSIONS_TEST(a_custom_resource_is_scaled_by_its_paths) {
#define SCALE FOOS("v1") "/f/scale"
    assert_int_equal(
        rest_send(&server, "PATCH", FOOS("v1") "/f/status", MERGE, "{\"status\":{\"replicas\":3,\"sel\":\"a=b\"}}"),
        200);
    assert_int_equal(rest_get(&server, SCALE), 200);
    assert_true(rest_has(&server, "\"spec\":{\"replicas\":2},\"status\":{\"replicas\":3,\"selector\":\"a=b\"}}"));
    assert_int_equal(rest_send(&server, "PATCH", SCALE, MERGE, "{\"spec\":{\"replicas\":7}}"), 200);
    assert_int_equal(rest_get(&server, FOOS("v1") "/f"), 200);
    assert_true(rest_has(&server, "\"replicas\":7"));
    assert_int_equal(rest_send(&server, "PATCH", SCALE, MERGE, "{\"spec\":{\"replicas\":-1}}"), 422);
    assert_true(rest_has(&server,
                         "Foo.example.com \\\"f\\\" is invalid: .spec.replicas: Invalid value: -1: should be a "
                         "non-negative integer"));
    assert_int_equal(rest_send(&server, "PATCH", FOOS("v1") "/f", MERGE, "{\"spec\":{\"replicas\":null}}"), 200);
    assert_int_equal(rest_get(&server, SCALE), 500);
    assert_true(rest_has(&server, "the spec replicas field \\\".spec.replicas\\\" does not exist"));
    assert_int_equal(rest_get(&server, "/apis/example.com/v1"), 200);
    assert_true(rest_has(&server, "{\"name\":\"foos/scale\""));
    assert_int_equal(rest_get(&server, FOOS("v2") "/f/scale"), 404);
}

VERSIONS_TEST(wrong_paths_of_a_scale_are_rejected) {
    static const char *const cases[][2] = {
        { "{\"specReplicasPath\":\".x.replicas\",\"statusReplicasPath\":\".status.a\"}",
          "specReplicasPath: Invalid value: \\\".x.replicas\\\": should be a json path under .spec" },
        { "{\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":\".status[0]\"}",
          "statusReplicasPath: Invalid value: \\\".status[0]\\\": should be a json path under .status" },
        { "{\"specReplicasPath\":\".spec\",\"statusReplicasPath\":\".status.a.\"}",
          "specReplicasPath: Invalid value: \\\".spec\\\"" },
        { "{}", "specReplicasPath: Required value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"bars.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":"
                 "\"Namespaced\","
                 "\"names\":{\"plural\":\"bars\",\"kind\":\"Bar\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
                 "\"storage\":"
                 "true," SCHEMA(BOTH) ",\"subresources\":{\"scale\":%s}}]}}",
                 cases[i][0]);
        assert_int_equal(rest_post(&server, CRDS "?dryRun=All", body), 422);
        assert_true(rest_has(&server, cases[i][1]));
    }
}

#define CORE "/api/v1/namespaces/default/events"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"

VERSIONS_TEST(an_event_is_in_both_groups) {
    assert_int_equal(
        rest_post(
            &server, CORE,
            "{\"metadata\":{\"name\":\"c\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":"
            "\"p\"},\"reason\":\"R\",\"message\":\"M\",\"source\":{\"component\":\"s\"},\"count\":3,\"type\":"
            "\"Normal\"}"),
        201);
    assert_int_equal(rest_get(&server, EVENTS "/c"), 200);
    assert_true(rest_has(&server, "\"apiVersion\":\"events.k8s.io/v1\""));
    assert_true(rest_has(
        &server, "\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"p\"},\"note\":\"M\",\"type\":"
                 "\"Normal\",\"deprecatedSource\":{\"component\":\"s\"}"));
    assert_true(rest_has(&server, "\"deprecatedCount\":3"));
    kt_response response;
    kt_watch *watch = rest_watch_open(&server, CORE "?watch=1&fieldSelector=involvedObject.name%3Dq", &response);
    rest_watch_read(&server, watch);
    assert_int_equal(
        rest_post(
            &server, EVENTS,
            "{\"metadata\":{\"name\":\"e\"},\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"q\"},"
            "\"reason\":"
            "\"R\",\"note\":\"N\",\"type\":\"Warning\",\"action\":\"A\",\"reportingController\":\"example.com/c\","
            "\"reportingInstance\":\"i\",\"eventTime\":\"2026-01-01T00:00:00.123456Z\"}"),
        201);
    rest_watch_read(&server, watch);
    assert_true(rest_has(&server, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Event\",\"apiVersion\":\"v1\""));
    assert_true(rest_has(&server, "\"message\":\"N\",\"source\":{},\"firstTimestamp\":null,\"lastTimestamp\":null"));
    kt_response_free(&response);
    assert_int_equal(rest_send(&server, "PATCH", CORE "/e", MERGE, "{\"message\":\"changed\"}"), 200);
    assert_int_equal(rest_get(&server, EVENTS "?fieldSelector=regarding.name%3Dq,reportingController%3Dexample.com/c"),
                     200);
    assert_true(rest_has(&server, "\"note\":\"changed\""));
    assert_null(strstr(server.text.data, "\"name\":\"c\""));
    assert_int_equal(rest_get(&server, EVENTS "?fieldSelector=involvedObject.name%3Dq"), 400);
    ki_str json;
    assert_int_equal(kt_cluster_get(server.cluster, KI_EVENTS, "default", "e", &json), KI_OK);
    assert_non_null(strstr(json.data, "\"apiVersion\":\"v1\""));
    assert_int_equal(kt_cluster_count(server.cluster, KI_EVENTS), 2);
    assert_int_equal(rest_send(&server, "DELETE", EVENTS "/c", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, CORE "/c"), 404);
}

#define SCALERS(version) "/apis/autoscaling/" version "/namespaces/default/horizontalpodautoscalers"
#define TARGET \
    "\"maxReplicas\":5,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"}"

VERSIONS_TEST(an_autoscaler_is_in_both_versions) {
    assert_int_equal(rest_post(&server, SCALERS("v1"),
                               "{\"metadata\":{\"name\":\"a\"},\"spec\":{" TARGET
                               ",\"targetCPUUtilizationPercentage\":70}}"),
                     201);
    assert_int_equal(rest_get(&server, SCALERS("v2") "/a"), 200);
    assert_true(rest_has(&server,
                         "\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":"
                         "\"Utilization\",\"averageUtilization\":70}}}]"));
    assert_null(strstr(server.text.data, "\"targetCPUUtilizationPercentage\":70"));
    assert_int_equal(
        rest_post(
            &server, SCALERS("v2"),
            "{\"metadata\":{\"name\":\"b\"},\"spec\":{" TARGET
            ",\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"target\":{\"type\":"
            "\"AverageValue\","
            "\"averageValue\":\"1Gi\"}}},{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":"
            "\"Utilization\",\"averageUtilization\":60}}}]}}"),
        201);
    assert_int_equal(rest_get(&server, SCALERS("v1") "/b"), 200);
    assert_true(rest_has(&server, "\"targetCPUUtilizationPercentage\":60"));
    assert_true(rest_has(&server, "\"autoscaling.alpha.kubernetes.io/metrics\":"));
    assert_int_equal(rest_send(&server, "PATCH", SCALERS("v1") "/b", MERGE,
                               "{\"spec\":{\"maxReplicas\":9,\"targetCPUUtilizationPercentage\":61}}"),
                     200);
    assert_int_equal(rest_get(&server, SCALERS("v2") "/b"), 200);
    assert_true(rest_has(&server, "\"maxReplicas\":9"));
    assert_true(rest_has(
        &server, "{\"name\":\"memory\",\"target\":{\"type\":\"AverageValue\",\"averageValue\":\"1Gi\"}}},{\"type\":"
                 "\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
                 "\"averageUtilization\":61}}}]"));
    assert_null(strstr(server.text.data, "autoscaling.alpha"));
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    static const rest_call calls[] = {
        { "POST", CRDS, JSON, CRD(ALL_VERSIONS) },
        { "POST", FOOS("v1"), JSON,
          "{\"apiVersion\":\"example.com/"
          "v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f\"},\"spec\":{\"replicas\":1}}" },
        { "GET", FOOS("v2"), NULL, NULL },
        { "GET", FOOS("v2") "/f", NULL, NULL },
        { "PATCH", FOOS("v1") "/f/scale", MERGE, "{\"spec\":{\"replicas\":7}}" },
        { "POST", CORE, JSON,
          "{\"metadata\":{\"name\":\"c\"},\"involvedObject\":{\"namespace\":\"default\"},\"message\":\"M\"}" },
        { "GET", EVENTS, NULL, NULL },
        { "POST", SCALERS("v1"), JSON,
          "{\"metadata\":{\"name\":\"a\"},\"spec\":{" TARGET ",\"targetCPUUtilizationPercentage\":70}}" },
        { "GET", SCALERS("v2") "/a", NULL, NULL },
    };
    rest_run_short_of_memory(calls, sizeof calls / sizeof *calls);
}
