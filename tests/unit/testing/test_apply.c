/* Server-side apply: who owns which fields, what is a conflict, what goes once nobody applies it any more. */
#include "tests/support/rest_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPLOYMENT "/apis/apps/v1/namespaces/default/deployments/d"
#define SERVICE "/api/v1/namespaces/default/services/s"
#define MAP "/api/v1/namespaces/default/configmaps/m"
#define APPLY "application/apply-patch+yaml"
#define STRATEGIC "application/strategic-merge-patch+json"
#define MERGE "application/merge-patch+json"

/* What the server adds to a container. */
#define FILLED \
    "\"resources\":{},\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\""
#define PULLED FILLED ",\"imagePullPolicy\":\"Always\""

static int apply(const char *target, const char *parameters, const char *config) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s?%s", target, parameters);
    return rest_send(&server, "PATCH", whole, APPLY, config);
}

#define DEPLOYMENT_HEAD "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\"},\"spec\":{"
#define CONTAINERS(list) "\"template\":{\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{\"containers\":[" list "]}}"
#define SELECTOR "\"selector\":{\"matchLabels\":{\"app\":\"d\"}},"

REST_TEST(applied_fields_are_listed_by_the_keys_of_their_lists) {
    assert_int_equal(
        apply(DEPLOYMENT, "fieldManager=me",
              DEPLOYMENT_HEAD "\"replicas\":2," SELECTOR CONTAINERS(
                  "{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":80}],\"env\":[{\"name\":\"A\","
                  "\"value\":\"1\"}],\"args\":[\"x\"]}") "}}"),
        201);
    assert_true(rest_has(
        &server,
        "{\"manager\":\"me\",\"operation\":\"Apply\",\"apiVersion\":\"apps/v1\",\"time\":\"2026-05-28T20:26:40Z\","
        "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:replicas\":{},\"f:selector\":{},"
        "\"f:template\":{\"f:metadata\":{\"f:labels\":{\"f:app\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":"
        "\\\"c\\\"}\":{\".\":{},\"f:args\":{},"
        "\"f:env\":{\"k:{\\\"name\\\":\\\"A\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}},\"f:image\":{},"
        "\"f:name\":{},\"f:ports\":{\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},"
        "\"f:containerPort\":{}}}}}}}}}}"));
}

REST_TEST(what_another_manager_set_is_a_conflict_until_it_is_forced) {
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=a",
                           DEPLOYMENT_HEAD
                           "\"replicas\":2," SELECTOR CONTAINERS("{\"name\":\"c\",\"image\":\"i\"}") "}}"),
                     201);
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=b", DEPLOYMENT_HEAD "\"replicas\":2}}"), 200); /* shared */
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=b", DEPLOYMENT_HEAD "\"replicas\":3}}"), 409);
    assert_true(rest_has(
        &server,
        "\"message\":\"Apply failed with 1 conflict: conflict with \\\"a\\\": .spec.replicas\",\"reason\":\"Conflict\","
        "\"details\":{\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
        "\\\"a\\\"\",\"field\":\".spec.replicas\"}]}"));
    assert_int_equal(rest_send(&server, "PATCH", DEPLOYMENT "?fieldManager=k", MERGE, "{\"spec\":{\"replicas\":7}}"),
                     200);
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=b",
                           DEPLOYMENT_HEAD "\"replicas\":3," CONTAINERS("{\"name\":\"c\",\"image\":\"j\"}") "}}"),
                     409);
    assert_true(rest_has(&server, "Apply failed with 2 conflicts: conflicts with \\\"a\\\":\\n- "
                                  ".spec.template.spec.containers[name=\\\"c\\\"].image\\n"
                                  "conflicts with \\\"k\\\" using apps/v1:\\n- .spec.replicas"));
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=b&force=true",
                           DEPLOYMENT_HEAD "\"replicas\":3," CONTAINERS("{\"name\":\"c\",\"image\":\"j\"}") "}}"),
                     200);
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=a", DEPLOYMENT_HEAD SELECTOR CONTAINERS("{\"name\":\"c\"}") "}}"),
                     200);
    assert_true(rest_has(&server, "\"replicas\":3"));
    assert_true(rest_has(&server, "\"image\":\"j\""));
    assert_null(strstr(server.text.data, "\"manager\":\"k\""));
}

REST_TEST(a_list_element_goes_once_its_last_manager_leaves_it_out) {
    assert_int_equal(
        apply(DEPLOYMENT, "fieldManager=a",
              DEPLOYMENT_HEAD SELECTOR CONTAINERS("{\"name\":\"c\",\"image\":\"i\"},{\"name\":\"d\",\"image\":\"j\"},{"
                                                  "\"name\":\"e\",\"image\":\"k\"}") "}}"),
        201);
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=b",
                           DEPLOYMENT_HEAD CONTAINERS("{\"name\":\"d\",\"image\":\"j\",\"args\":[\"x\"]}") "}}"),
                     200);
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=a",
                           DEPLOYMENT_HEAD SELECTOR CONTAINERS(
                               "{\"name\":\"e\",\"image\":\"k\"},{\"name\":\"f\",\"image\":\"l\"}") "}}"),
                     200);
    /* c is gone; d stays with what b applied; e and f in the order of the configuration. */
    assert_null(strstr(server.text.data, "\"name\":\"c\""));
    assert_true(rest_has(&server, "\"containers\":[{\"name\":\"d\",\"image\":\"j\"," PULLED
                                  ",\"args\":[\"x\"]},{\"name\":\"e\",\"image\":\"k\"," PULLED
                                  "},{\"name\":\"f\",\"image\":\"l\"," PULLED "}]"));
}

REST_TEST(metadata_stays_when_the_last_applied_label_goes) {
    assert_int_equal(apply(MAP, "fieldManager=a",
                           "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\",\"labels\":{"
                           "\"a\":\"b\"}},\"data\":{\"k\":\"1\",\"l\":\"2\"}}"),
                     201);
    assert_int_equal(apply(MAP, "fieldManager=a",
                           "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{"
                           "\"k\":\"2\",\"n\":\"3\"}}"),
                     200);
    assert_true(rest_has(&server, "\"data\":{\"k\":\"2\",\"n\":\"3\"}"));
    assert_null(strstr(server.text.data, "labels"));
}

REST_TEST(ports_of_the_same_number_and_another_protocol_are_two) {
    assert_int_equal(
        apply(SERVICE, "fieldManager=a",
              "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{"
              "\"port\":53,\"protocol\":\"TCP\",\"name\":\"t\"},{\"port\":53,\"protocol\":\"UDP\",\"name\":\"u\"}]}}"),
        201);
    assert_int_equal(apply(SERVICE, "fieldManager=a",
                           "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":{"
                           "\"ports\":[{\"port\":53,\"protocol\":\"UDP\",\"name\":\"u\"}]}}"),
                     200);
    assert_true(rest_has(&server, "\"ports\":[{\"port\":53,\"protocol\":\"UDP\",\"name\":\"u\",\"targetPort\":53}]"));
}

REST_TEST(what_is_no_object_of_its_type_is_rejected) {
    static const struct {
        const char *target;
        const char *config;
        int status;
        const char *part;
    } cases[] = {
        { DEPLOYMENT, DEPLOYMENT_HEAD "\"nonsense\":1}}", 500,
          "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.nonsense: field not "
          "declared in schema" },
        { DEPLOYMENT, DEPLOYMENT_HEAD CONTAINERS("{\"image\":\"i\"}") "}}", 422,
          "\"reason\":\"FieldValueRequired\",\"message\":\"Required "
          "value\",\"field\":\"spec.template.spec.containers[0].name\"" },
        { DEPLOYMENT,
          DEPLOYMENT_HEAD CONTAINERS("{\"name\":\"a\"},{\"name\":\"b\",\"ports\":[{\"containerPort\":1},{}]}") "}}",
          422, "\"field\":\"spec.template.spec.containers[1].ports[1].containerPort\"" },
        { DEPLOYMENT, DEPLOYMENT_HEAD CONTAINERS("{\"name\":\"a\"},{\"name\":\"a\"}") "}}", 500,
          ".spec.template.spec.containers: duplicate entries for key [name=\\\"a\\\"]" },
        { DEPLOYMENT,
          DEPLOYMENT_HEAD CONTAINERS("{\"name\":\"a\",\"ports\":[{\"containerPort\":1},{\"containerPort\":1}]}") "}}",
          500, ".containers[name=\\\"a\\\"].ports: duplicate entries for key [containerPort=1,protocol=\\\"TCP\\\"]" },
        { DEPLOYMENT, DEPLOYMENT_HEAD "\"replicas\":\"2\"}}", 500,
          ".spec.replicas: expected numeric (int or float), got string\"" },
        { DEPLOYMENT, DEPLOYMENT_HEAD "\"paused\":1}}", 500, ".spec.paused: expected boolean, got &{1}\"" },
        { DEPLOYMENT, DEPLOYMENT_HEAD "\"nonsense\":1,\"more\":2},\"odd\":{}}", 500,
          "Kind=Deployment): errors:\\n  .spec.nonsense: field not declared in schema\\n  .odd: field not declared in "
          "schema\"" },
        { DEPLOYMENT,
          DEPLOYMENT_HEAD CONTAINERS("{\"name\":\"a\",\"x\":1},{\"name\":\"b\"},{\"name\":\"b\",\"y\":1}") "}}", 500,
          "errors:\\n  .spec.template.spec.containers[name=\\\"a\\\"].x: field not declared in schema\\n  "
          ".spec.template.spec.containers: duplicate entries for key [name=\\\"b\\\"]\\n  "
          ".spec.template.spec.containers[name=\\\"b\\\"].y: field not declared in schema\"" },
        { DEPLOYMENT, DEPLOYMENT_HEAD CONTAINERS("1") "}}", 500,
          "containers: element 0: associative list with keys may not have non-map elements\"" },
        { MAP, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":1}}", 500,
          "(/m; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}\"" },
        { MAP,
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":{\"l\":[1,\"x\","
          "null]}}}",
          500,
          ".data.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{\\\"l\\\":[]interface "
          "{}{1, \\\"x\\\", interface {}(nil)}}}\"" },
        { MAP,
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\",\"finalizers\":[\"a/b\",\"a/"
          "b\"]}}",
          500, ".metadata.finalizers: duplicate entries for key [=\\\"a/b\\\"]" },
        { DEPLOYMENT, DEPLOYMENT_HEAD "\"template\":[{\"a\":1}]}}", 500,
          ".spec.template: expected map, got &{[map[a:1]]}\"" },
        { DEPLOYMENT, DEPLOYMENT_HEAD "\"replicas\":{}}}", 500,
          ".spec.replicas: expected numeric (int or float), got map[string]interface {}\"" },
        { MAP, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\",\"managedFields\":[{}]}}",
          400, "metadata.managedFields must be nil" },
        { MAP, "{\"kind\":\"ConfigMap\"}", 400, "invalid object type" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(apply(cases[i].target, "fieldManager=a", cases[i].config), cases[i].status);
        assert_true(rest_has(&server, cases[i].part));
    }
}

REST_TEST(updates_by_many_managers_become_one_entry) {
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"m\"}}"),
                     201);
    for (int i = 0; i < 40; i++) {
        char target[128], patch[64];
        snprintf(target, sizeof target, MAP "?fieldManager=m%d", i);
        snprintf(patch, sizeof patch, "{\"data\":{\"k%d\":\"v\"}}", i);
        server.now_ms += 1000;
        assert_int_equal(rest_send(&server, "PATCH", target, MERGE, patch), 200);
    }
    size_t entries = 0;
    for (const char *at = server.text.data; (at = strstr(at, "\"manager\":")) != NULL; at++)
        entries++;
    assert_int_equal(entries, 10);
    assert_true(rest_has(&server, "\"manager\":\"ancient-changes\",\"operation\":\"Update\""));
    assert_true(rest_has(&server, "\"manager\":\"m39\""));
    assert_null(strstr(server.text.data, "\"manager\":\"m30\""));
}

REST_TEST(an_object_with_thousands_of_members_is_merged_at_once) {
    enum {
        MEMBERS = 20000
    };
    char *config = malloc(MEMBERS * 32 + 256);
    for (int round = 0; round < 3; round++) {
        size_t size = (size_t)sprintf(
            config, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{");
        for (int i = 0; i < MEMBERS; i++)
            size +=
                (size_t)sprintf(config + size, "%s\"key-%d\":\"%d\"", i ? "," : "", (i * 7919) % MEMBERS + round, i);
        sprintf(config + size, "}}");
        if (round < 2)
            assert_int_equal(apply(MAP, "fieldManager=a", config), round ? 200 : 201);
        else
            assert_int_equal(rest_send(&server, "PATCH", MAP, STRATEGIC, config), 200);
    }
    free(config);
}

/* Any text as a patch or as managedFields gets a response. */
REST_TEST(spoilt_patches_get_a_response) {
    static const char config[] = DEPLOYMENT_HEAD
        "\"replicas\":2," SELECTOR CONTAINERS("{\"name\":\"c\",\"$patch\":\"delete\",\"ports\":[{\"containerPort\":80}]"
                                              "},{\"name\":\"d\"}") ",\"$retainKeys\":[\"replicas\"],\"strategy\":{\"$"
                                                                    "retainKeys\":[\"type\"],\"type\":\"Recreate\"}}}";
    static const char *const types[] = { APPLY, STRATEGIC, MERGE };
    assert_int_equal(apply(DEPLOYMENT, "fieldManager=me",
                           DEPLOYMENT_HEAD SELECTOR CONTAINERS("{\"name\":\"c\",\"image\":\"i\"}") "}}"),
                     201);
    for (size_t i = 0; i < sizeof config - 1; i++) {
        static const char changes[] = "{}[]\",:$0nx";
        for (size_t c = 0; c < sizeof changes - 1; c++) {
            char copy[sizeof config];
            memcpy(copy, config, sizeof config);
            copy[i] = changes[c];
            for (size_t t = 0; t < 3; t++) {
                int status =
                    rest_send(&server, "PATCH", DEPLOYMENT "?dryRun=All&force=true&fieldManager=m", types[t], copy);
                if (t && status == 500)
                    print_error("%s\n%s\n", copy, server.text.data);
                assert_true(status == 200 || (status >= 400 && status < 500) || (t == 0 && status == 500));
            }
        }
    }
}

/* Requests in turn while allocation number n fails: each gets a response or KI_ERR_NO_MEMORY, and nothing leaks. */
REST_TEST(whatever_allocation_fails_nothing_is_lost) {
    static const rest_call requests[] = {
        { "PATCH", DEPLOYMENT "?fieldManager=a", APPLY,
          DEPLOYMENT_HEAD "\"replicas\":2," CONTAINERS("{\"name\":\"c\",\"image\":\"i\"}") "}}" },
        { "PATCH", DEPLOYMENT "?fieldManager=b", APPLY,
          DEPLOYMENT_HEAD "\"replicas\":3," CONTAINERS("{\"name\":\"c\",\"image\":\"j\"}") "}}" },
        { "PATCH", DEPLOYMENT "?fieldManager=a", APPLY,
          DEPLOYMENT_HEAD CONTAINERS("{\"name\":\"d\",\"image\":\"i\"}") "}}" },
        { "PATCH", DEPLOYMENT "?fieldManager=a", APPLY, DEPLOYMENT_HEAD "\"nonsense\":3}}" },
        { "PATCH", DEPLOYMENT, STRATEGIC,
          "{\"spec\":{\"template\":{\"spec\":{\"$setElementOrder/"
          "containers\":[{\"name\":\"e\"},{\"name\":\"d\"}],\"containers\":[{\"name\":\"e\",\"x\":1}]}}}}" },
        { "PATCH", DEPLOYMENT "?fieldValidation=Strict", STRATEGIC, "{\"spec\":{\"x\":1,\"$retainKeys\":[\"x\"]}}" },
        { "PATCH", DEPLOYMENT "/scale", MERGE, "{\"spec\":{\"replicas\":4}}" },
        { "GET", "/openapi/v3/apis/policy/v1", NULL, NULL },
        { "PATCH", MAP "?fieldManager=me", APPLY,
          "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: b, a: c}}" },
        { "PATCH", MAP "?fieldManager=me&fieldValidation=Strict", APPLY,
          "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: b, a: c}}" },
    };
    for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            kt_cluster *cluster = NULL;
            assert_int_equal(kt_cluster_new(&memory.allocator, NULL, &cluster, NULL), KI_OK);
            for (size_t i = 0; i <= r; i++) {
                kt_request request = { .method = requests[i].method,
                                       .target = requests[i].target,
                                       .content_type = requests[i].type,
                                       .body = ki_str_of(requests[i].body) };
                kt_response response;
                if (i == r)
                    scarce_memory_begin(&memory);
                ki_status status = kt_rest_handle(cluster, &request, server.now_ms, &response);
                assert_true(status == KI_OK || (i == r && status == KI_ERR_NO_MEMORY));
                if (!status)
                    kt_response_free(&response);
            }
            kt_cluster_free(cluster);
        }
    }
}
